//! Budgets: how much is used, whether the pace exceeds it, and the gate. Figures are counted by hand.

use serde_json::{Value, json};

use crate::support::{ccstat, log, run, run_with};

/// Responses of a model at four dollars per million tokens of input, a million each: day, hour and project.
fn week() -> tempfile::NamedTempFile {
    let responses = [
        ("2026-11-10T12", "api"),
        ("2026-11-16T06", "shop"),
        ("2026-11-16T09", "api"),
        ("2026-11-17T06", "shop"),
        ("2026-11-17T12", "shop"),
        ("2026-11-17T20", "api"),
    ];
    let line = |(at, (hour, project)): (usize, &(&str, &str))| {
        let usage = json!({"input_tokens": 1_000_000, "output_tokens": 0});
        let message = json!({"id": format!("m{at}"), "role": "assistant", "type": "message", "model": "claude-opus-5-5",
            "content": [], "stop_reason": "end_turn", "usage": usage});
        let record = json!({"type": "assistant", "uuid": format!("u{at}"), "sessionId": format!("s-{project}"),
            "cwd": format!("/home/dev/{project}"), "timestamp": format!("{hour}:00:00.000Z"), "message": message});
        format!("{record}\n")
    };
    log(responses.iter().enumerate().map(line).collect::<String>())
}

const BUDGETS: &str = "day=10,week=20,month=100,project:shop=5";

fn summary(arguments: &[&str]) -> (i32, Value) {
    let log = week();
    let words =
        [&["summarize", "--json", "--timezone", "UTC"], arguments, &[log.path().to_str().unwrap()]].concat();
    let (code, stdout, stderr) = run_with(&words);
    assert!(!stdout.is_empty(), "{arguments:?}: {stderr}");
    (code, serde_json::from_str(&stdout).unwrap())
}

/// Cost, used share, estimate, and whether it exceeds the budget.
fn figures(budget: &Value) -> (f64, f64, f64, bool) {
    let number = |key: &str| budget[key].as_f64().unwrap_or_else(|| panic!("{key}: {budget}"));
    let round = |number: f64| (number * 100.0).round() / 100.0;
    (
        number("cost_usd"),
        round(number("used")),
        round(number("estimated_usd")),
        budget["estimated_exceeds"].as_bool().unwrap(),
    )
}

/// At 18:00 on Tuesday, three quarters of the day, a quarter of the week and 16.75 of 30 days have passed.
#[test]
fn the_cost_of_each_period_is_compared_with_its_budget() {
    let (code, report) = summary(&["--until", "2026-11-17T18:00Z", "--budget", BUDGETS]);
    assert_eq!(code, 0);
    let budgets = report["budgets"].as_array().unwrap();
    let found: Vec<_> = budgets.iter().map(figures).collect();
    assert_eq!(
        found,
        [
            (8.0, 0.8, 10.67, true),
            (16.0, 0.8, 64.0, true),
            (20.0, 0.2, 35.82, false),
            (8.0, 1.6, 10.67, true)
        ]
    );
    assert_eq!(budgets[3]["project"], "shop");
    assert_eq!(budgets[1]["since"], "2026-11-16T00:00:00.000Z");
    assert_eq!(budgets[2]["until"], "2026-12-01T00:00:00.000Z");
    let (_, none) = summary(&[]);
    assert_eq!(none["budgets"], json!([]));
}

#[test]
fn every_report_about_cost_says_how_much_is_used() {
    let log = week();
    let path = log.path().to_str().unwrap();
    for command in ["summarize", "daily", "weekly", "monthly", "overview"] {
        let words = [command, "--until", "2026-11-17T18:00Z", "--timezone", "UTC", "--budget", BUDGETS, path];
        let (code, stdout, _) = run(ccstat(&words).env("COLUMNS", "200"));
        assert_eq!(code, 0, "{command}");
        for words in [
            "budget of the day: $8.00 of $10.00 used (80.0 %); about $10.67 at this pace, which exceeds it (an estimate)",
            "budget of the month: $20.00 of $100.00 used (20.0 %); about $35.82 at this pace, which is within it (an estimate)",
            "budget of the day for shop: $8.00 of $5.00 used (160.0 %)",
        ] {
            assert!(stdout.contains(words), "{command}: {words}: {stdout}");
        }
    }
}

#[test]
fn the_gate_fails_if_more_of_a_budget_is_used() {
    let until = ["--until", "2026-11-17T18:00Z"];
    for (budgets, most, held, figure) in [
        ("day=10", "100%", true, 0.8),
        ("day=10,month=100", "75%", false, 0.8),
        (BUDGETS, "100%", false, 1.6),
        (BUDGETS, "1.6", true, 1.6),
    ] {
        let (code, report) =
            summary(&[&until[..], &["--budget", budgets, "--max-budget-used", most]].concat());
        let gate = &report["gates"][0];
        assert_eq!((code, &gate["held"]), (i32::from(!held), &held.into()), "{budgets} {most}");
        assert_eq!((&gate["gate"], &gate["figure"]), (&"max-budget-used".into(), &figure.into()));
    }
    let log = week();
    let path = log.path().to_str().unwrap();
    let words = [
        "check",
        "--until",
        "2026-11-17T18:00Z",
        "--budget",
        "day=5",
        "--max-budget-used",
        "100%",
        "--fail-on",
        "invalid",
        path,
    ];
    let (code, stdout, stderr) = run_with(&words);
    assert_eq!(code, 1, "{stderr}");
    assert!(stdout.contains("max-budget-used failed") && stdout.contains("$8.00 of $5.00"), "{stdout}");
}

#[test]
fn a_budget_whose_period_is_filtered_is_unknown() {
    let since = ["--since", "2026-11-17T10:00Z", "--until", "2026-11-17T18:00Z", "--budget", "day=10"];
    let (code, report) = summary(&[&since[..], &["--max-budget-used", "100%"]].concat());
    assert_eq!((code, &report["budgets"][0]["cost_usd"]), (1, &Value::Null));
    assert_eq!(report["gates"][0]["figure"], Value::Null);
}

#[test]
fn days_begin_in_the_time_zone_and_equal_those_of_daily() {
    let log = week();
    let path = log.path().to_str().unwrap();
    for zone in ["UTC", "America/New_York", "Asia/Kolkata", "+10:00"] {
        for until in ["2026-11-16T08:00Z", "2026-11-16T22:30Z", "2026-11-17T12:30Z", "2026-11-18T00:00Z"] {
            let words = [&["--json", "--timezone", zone, "--until", until][..], &[path]].concat();
            let ask = |command: &[&str]| -> Value {
                let (code, stdout, stderr) = run_with(&[command, &words].concat());
                assert_eq!((code, &*stderr), (0, ""), "{zone} {until}");
                serde_json::from_str(&stdout).unwrap()
            };
            let budget = &ask(&["summarize", "--budget", "day=10"])["budgets"][0];
            let (start, end) = (budget["since"].as_str().unwrap(), budget["until"].as_str().unwrap());
            assert!(start < until && until[..16] <= end[..16], "{zone} {until}: {budget}");
            let days = ask(&["daily", "--since", start]);
            assert_eq!(
                days["totals"]["cost_usd"].as_f64().unwrap_or(0.0),
                budget["cost_usd"].as_f64().unwrap(),
                "{zone} {until}"
            );
            assert!(days["rows"].as_array().unwrap().len() <= 1, "{zone} {until}: one day");
        }
    }
}

#[test]
fn budgets_are_a_table_of_the_configuration() {
    let (folder, log) = (tempfile::tempdir().unwrap(), week());
    let configured = |text: &str, words: &[&str]| {
        std::fs::write(folder.path().join("ccstat.toml"), text).unwrap();
        run(ccstat(words).current_dir(folder.path()).arg(log.path()))
    };
    let words = ["summarize", "--json", "--until", "2026-11-17T18:00Z", "--timezone", "UTC"];
    let table = "max-budget-used = \"150%\"\n[budget]\nday = 10\nmonth = 100.5\nproject.\"shop\" = 5\n";
    let (code, stdout, stderr) = configured(table, &words);
    assert_eq!((code, stderr.is_empty()), (1, false), "{stdout}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let amounts: Vec<_> =
        report["budgets"].as_array().unwrap().iter().map(|one| &one["budget_usd"]).collect();
    assert_eq!(amounts.len(), 3);
    assert!(amounts.contains(&&json!(100.5)) && amounts.contains(&&json!(5)), "{amounts:?}");
    // The command line replaces the table.
    let (_, stdout, _) = configured(table, &[&words[..], &["--budget", "week=1000"]].concat());
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["budgets"].as_array().unwrap().len(), 1);
    // Commands without budgets do not mind.
    assert_eq!(configured(table, &["tools"]).0, 0);
    let (code, _, stderr) = configured("[budget]\nyear = 10\n", &words);
    assert_eq!(code, 2);
    assert!(stderr.contains("not a budget") && stderr.contains("ccstat.toml"), "{stderr}");
    let (code, _, stderr) = configured("max-budget-used = \"1\"\n", &words);
    assert_eq!(code, 2);
    assert!(stderr.contains("needs a budget"), "{stderr}");
}
