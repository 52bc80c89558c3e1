//! `overview`, and a bare `ccstat`.

use crate::support::{log, printed_json, run_with};

const WEEK: [&str; 4] = ["overview", "logs/week", "--until", "2026-11-12"];

#[test]
fn the_periods_of_an_overview_add_up() {
    let json = printed_json(&WEEK);
    let cost = |key: &str| json[key]["cost_usd"].as_f64().unwrap();
    let daily = printed_json(&["daily", "logs/week"]);
    let total: f64 =
        daily["rows"].as_array().unwrap().iter().map(|row| row["cost_usd"].as_f64().unwrap()).sum();
    assert!((cost("period") - total).abs() < 1e-9, "{json}");
    assert!((cost("this_week") - total).abs() < 1e-9, "the week begins on Monday, the 9th");
    let days = json["days"].as_array().unwrap();
    assert_eq!(
        (days.len(), &days[0]["day"], &days[13]["day"]),
        (14, &"2026-10-30".into(), &"2026-11-12".into())
    );
    let sum: f64 = days.iter().filter_map(|day| day["cost_usd"].as_f64()).sum();
    assert!((sum - total).abs() < 1e-9, "{days:?}");
    assert_eq!((&json["today"]["sessions"], &json["today"]["denied"]), (&1.into(), &1.into()));
    assert_eq!(json["last_week"]["cost_usd"], serde_json::Value::Null);
    assert_eq!(json["sessions"].as_array().unwrap().len(), 4);
}

#[test]
fn a_chosen_period_is_compared_with_the_one_before() {
    let chosen = ["overview", "logs/week", "--since", "2026-11-10", "--until", "2026-11-10"];
    let json = printed_json(&chosen);
    let daily = printed_json(&["daily", "logs/week"]);
    let day = |day: &str| {
        let rows = daily["rows"].as_array().unwrap();
        rows.iter().find(|row| row["day"] == day).unwrap()["cost_usd"].clone()
    };
    assert_eq!(json["period"]["cost_usd"], day("2026-11-10"));
    assert_eq!(json["before"]["cost_usd"], day("2026-11-09"));
    let (code, stdout, _) = run_with(&chosen);
    assert!(code == 0 && stdout.starts_with("2026-11-10 00:00 to 2026-11-11 00:00: $0.0"), "{stdout}");
    assert!(stdout.contains("Cost by model") && stdout.contains("Most expensive sessions"), "{stdout}");
}

#[test]
fn texts_are_shown_on_request_and_only_those_of_the_period() {
    let line = |time: &str, text: &str| {
        format!(
            r#"{{"type":"user","sessionId":"5e55105e-0000","uuid":"{text}","parentUuid":null,"isSidechain":false,"timestamp":"{time}","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let both = log([line("2026-11-10T08:00:00Z", "EARLY"), line("2026-11-12T08:00:00Z", "LATE")].join("\n"));
    let path = both.path().to_str().unwrap();
    let shown = |words: &[&str]| run_with(&[&["overview", path][..], words].concat()).1;
    let until = ["--until", "2026-11-12"];
    assert!(!shown(&until).contains("EARLY") && !shown(&until).contains("LATE"));
    assert!(shown(&["--until", "2026-11-12", "--content"]).contains("EARLY"));
    for format in ["table", "json", "markdown"] {
        let text = shown(&["--since", "2026-11-12", "--until", "2026-11-12", "--content", "-f", format]);
        assert!(text.contains("LATE") && !text.contains("EARLY"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn without_saved_sessions_it_says_where_they_are_looked_for() {
    let (code, shown) = crate::terminal::screen(80, &["overview"]);
    assert_eq!(code, 3, "{shown}");
    assert!(
        shown.contains("/.claude/projects (does not exist)") && shown.contains("ccstat run -- claude"),
        "{shown}"
    );
    let (code, shown) = crate::terminal::screen(80, &["overview", "--json"]);
    assert!(code == 3 && shown.contains("\"sessions\": []"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_bare_ccstat_shows_the_overview_on_a_terminal_and_else_its_help() {
    let (code, shown) = crate::terminal::screen(80, &[]);
    assert!(code == 3 && shown.contains("There are no saved sessions yet"), "{shown}");
    let (code, shown) = crate::terminal::screen(80, &WEEK);
    assert!(code == 0 && shown.contains("Limit th"), "titles are shown: {shown}");
    insta::assert_snapshot!("overview-80", shown);
    insta::assert_snapshot!("overview-140", crate::terminal::screen(140, &WEEK).1);
    let (code, stdout, stderr) = run_with(&[]);
    assert!(code == 2 && stdout.is_empty() && stderr.contains("Usage: ccstat"), "{stderr}");
}
