//! `diff`: two runs, or two sets of runs, side by side.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{ccstat, recording, run, run_with};

const FIVE: &str = "recordings/2.1.325/stream/05-parallel-tools.jsonl";
const SIX: &str = "recordings/2.1.325/stream/06-multi-turn-stdin.jsonl";

/// Returns the rows of a comparison as in JSON, and the whole report.
fn compared(words: &[&str]) -> (Vec<Value>, Value) {
    let (code, stdout, stderr) = run_with(&[&["diff", "--json"], words].concat());
    assert_eq!((code, &*stderr), (0, ""), "{words:?}");
    let whole: Value = serde_json::from_str(&stdout).unwrap();
    (whole["rows"].as_array().unwrap().clone(), whole)
}

/// Returns the row of this group and name.
fn row<'a>(rows: &'a [Value], group: &str, name: &str) -> &'a Value {
    let found: Vec<&Value> = rows.iter().filter(|row| row["group"] == group && row["name"] == name).collect();
    assert_eq!(found.len(), 1, "{group} {name}");
    found[0]
}

fn notes(whole: &Value) -> String {
    whole["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_recording_differs_from_itself_by_nothing() {
    let logs = ["05-parallel-tools", "06-multi-turn-stdin", "22-tool-failure", "34-permission-denied-bash"];
    let logs = logs.map(|log| format!("recordings/2.1.325/stream/{log}.jsonl"));
    let others = ["recordings/2.1.325/transcript/36-subagent", "recordings/2.1.325/stream", "logs/week"];
    for log in logs.iter().map(String::as_str).chain(others) {
        let (rows, _) = compared(&[log, log]);
        assert!(rows.len() > 20, "{log}");
        for row in &rows {
            assert_eq!(row["base"], row["head"], "{log}: {row}");
            let known = !row["base"].is_null();
            assert_eq!(row["change"], if known { json!(0) } else { Value::Null }, "{log}: {row}");
            let divides = known && row["base"] != json!(0);
            assert_eq!(row["relative"], if divides { json!(0) } else { Value::Null }, "{log}: {row}");
        }
    }
}

#[test]
fn equal_sides_pass_every_gate() {
    let gates = ["cost", "duration", "tokens", "turns", "tool-errors", "denials"];
    let gates: Vec<String> = gates.iter().map(|name| format!("--max-{name}-increase=0%")).collect();
    let words: Vec<&str> = ["diff", FIVE, FIVE].into_iter().chain(gates.iter().map(String::as_str)).collect();
    let (code, _, stderr) = run_with(&words);
    assert_eq!((code, &*stderr), (0, ""));
}

#[test]
fn recording_06_against_05_is_as_counted_by_hand() {
    let (rows, whole) = compared(&[FIVE, SIX]);
    // From the `result` lines: one in 05; three in 06, with cumulative cost, tokens and API time and the wall
    // time of each turn (350 + 193 + 303). Spans and latencies come from the timestamps.
    let expected = [
        ("cost", "all", json!(0.005294), json!(0.012), json!(0.006706)),
        ("model-cost", "claude-opus-5-5", json!(0.005294), json!(0.012), json!(0.006706)),
        ("tokens", "all", json!(6993), json!(7100), json!(107)),
        ("tokens", "input", json!(211), json!(1000), json!(789)),
        ("tokens", "output", json!(52), json!(100), json!(48)),
        ("tokens", "cache_read", json!(6300), json!(5000), json!(-1300)),
        ("tokens", "cache_write_5m", json!(430), json!(1000), json!(570)),
        ("tokens", "cache_write_1h", json!(0), json!(0), json!(0)),
        ("model-tokens", "claude-opus-5-5", json!(6993), json!(7100), json!(107)),
        ("duration", "wall", json!(481), json!(846), json!(365)),
        ("duration", "api", json!(203), json!(302), json!(99)),
        ("duration", "tool", json!(305), json!(88), json!(-217)),
        ("duration", "span", json!(299), json!(532), json!(233)),
        ("turns", "all", json!(1), json!(3), json!(2)),
        ("turns", "num_turns", json!(3), json!(4), json!(1)),
        ("turns", "prompts", json!(0), json!(0), json!(0)),
        ("turns", "responses", json!(2), json!(4), json!(2)),
        ("calls", "all", json!(2), json!(1), json!(-1)),
        ("calls", "Bash", json!(2), json!(1), json!(-1)),
        ("tool-errors", "all", json!(0), json!(0), json!(0)),
        ("denials", "all", json!(0), json!(0), json!(0)),
        ("errors", "turns", json!(0), json!(0), json!(0)),
        ("errors", "api", json!(0), json!(0), json!(0)),
        ("errors", "api_retries", json!(0), json!(0), json!(0)),
        ("kinds", "assistant", json!(3), json!(4), json!(1)),
        ("kinds", "user", json!(2), json!(1), json!(-1)),
        ("kinds", "system/init", json!(1), json!(3), json!(2)),
        ("kinds", "result/success", json!(1), json!(3), json!(2)),
    ];
    assert_eq!(rows.len(), expected.len());
    for (group, name, base, head, change) in expected {
        let row = row(&rows, group, name);
        assert_eq!((&row["base"], &row["head"], &row["change"]), (&base, &head, &change), "{group} {name}");
        assert_eq!((&row["base_runs"], &row["head_runs"]), (&json!(1), &json!(1)), "{group} {name}");
        for key in ["low", "high", "base_sd", "head_sd"] {
            assert_eq!(row[key], Value::Null, "{group} {name}: {key} of one run");
        }
    }
    assert_eq!(row(&rows, "cost", "all")["relative"], json!(1.266717)); // 0.006706 / 0.005294
    assert_eq!(row(&rows, "calls", "all")["relative"], json!(-0.5));
    assert!(notes(&whole).contains("1 run against 1: totals are compared"));
}

#[test]
fn a_change_has_its_sign_and_unit_in_every_format() {
    let words = |format| ["diff", FIVE, SIX, "--format", format];
    let table = run_with(&words("table")).1;
    for cell in ["+$0.006706", "+126.7 %", "-1,300", "+365 ms", "-217 ms", "-50.0 %"] {
        assert!(table.contains(cell), "{cell}: {table}");
    }
    let markdown = run_with(&words("markdown")).1;
    assert!(markdown.contains("| +$0.006706 | +126.7 % |"), "{markdown}");
    for (format, blank) in [("csv", ","), ("tsv", "\t")] {
        let text = run_with(&words(format)).1;
        let line = text.lines().find(|line| line.starts_with(&format!("calls{blank}all"))).unwrap();
        assert!(line.starts_with(&["calls", "all", "count", "2", "1", "-1", "-0.5"].join(blank)), "{line}");
    }
}

#[test]
fn rows_of_several_units_are_sorted_as_numbers() {
    let (code, stdout, _) = run_with(&["diff", FIVE, SIX, "--sort", "change", "--format", "jsonl"]);
    let changes: Vec<f64> = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["change"].as_f64().unwrap())
        .collect();
    assert_eq!(code, 0);
    assert!(changes.is_sorted_by(|one, two| one >= two), "{changes:?}");
}

/// A folder of runs with these costs and durations.
fn folder(runs: &[(&str, f64, u64)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, cost, wall) in runs {
        let result = json!({
            "type": "result", "subtype": "success", "session_id": name, "uuid": name, "num_turns": 1,
            "duration_ms": wall, "total_cost_usd": cost,
        });
        std::fs::write(folder.path().join(format!("{name}.jsonl")), result.to_string()).unwrap();
    }
    folder
}

fn path(folder: &tempfile::TempDir) -> &str {
    folder.path().to_str().unwrap()
}

const THREE: &[(&str, f64, u64)] = &[("a", 0.10, 1000), ("b", 0.12, 1000), ("c", 0.14, 1000)];
const TWO: &[(&str, f64, u64)] = &[("d", 0.20, 1500), ("e", 0.26, 1500)];

#[test]
fn several_runs_are_compared_by_their_means_with_an_interval() {
    let (base, head) = (folder(THREE), folder(TWO));
    let (rows, whole) = compared(&[path(&base), path(&head)]);
    let cost = row(&rows, "cost", "all");
    // Welch: errors 0.02²/3 and 0.0424²/2, 1.30393 degrees of freedom, quantile 7.46242 (Student's density
    // integrated).
    let expected = [
        ("base", 0.12),
        ("head", 0.23),
        ("change", 0.11),
        ("relative", 0.916_667),
        ("base_sd", 0.02),
        ("head_sd", 0.042_426_407),
        ("low", -0.129_883_148),
        ("high", 0.349_883_148),
        ("base_runs", 3.0),
        ("head_runs", 2.0),
        ("base_total", 0.36),
        ("head_total", 0.46),
    ];
    for (key, expected) in expected {
        let found = cost[key].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-8, "{key}: {found}, expected {expected}");
    }
    let wall = row(&rows, "duration", "wall");
    assert_eq!((&wall["base"], &wall["head"], &wall["base_sd"]), (&json!(1000), &json!(1500), &json!(0)));
    assert_eq!((&wall["low"], &wall["high"]), (&Value::Null, &Value::Null), "no interval without variance");
    assert!(notes(&whole).contains("3 runs against 2: means per run are compared"), "{whole}");
    let screen = run_with(&["diff", path(&base), path(&head)]).1;
    assert!(screen.contains("± 95 %") && screen.contains("$0.2399"), "{screen}");
}

#[test]
fn too_few_runs_for_an_interval_are_noted() {
    let (base, head) = (folder(TWO), folder(&THREE[..1]));
    let (rows, whole) = compared(&[path(&base), path(&head)]);
    assert!(
        notes(&whole).contains("2 runs against 1: means per run are compared; too few runs for an interval")
    );
    let cost = row(&rows, "cost", "all");
    assert_eq!(
        (&cost["change"], &cost["low"], &cost["head_sd"]),
        (&json!(-0.13), &Value::Null, &Value::Null)
    );
}

#[test]
fn records_without_a_session_are_a_run_only_if_their_source_has_no_session() {
    let nameless =
        r#"{"type":"result","subtype":"success","duration_ms":5,"total_cost_usd":0.5,"num_turns":1}"#;
    let folder = folder(TWO);
    std::fs::write(folder.path().join("f.jsonl"), nameless).unwrap();
    let named = std::fs::read_to_string(folder.path().join("d.jsonl")).unwrap();
    std::fs::write(folder.path().join("d.jsonl"), format!("{named}\n{{\"type\":\"keep_alive\"}}\n")).unwrap();
    let (rows, _) = compared(&[path(&folder), path(&folder)]);
    assert_eq!(row(&rows, "cost", "all")["base_runs"], json!(3));
    assert_eq!(row(&rows, "turns", "all")["base"], json!(1));
}

#[test]
fn an_unknown_cost_has_no_change_and_passes_no_gate() {
    let unknown = "recordings/2.1.325/stream/49-killed-midway.jsonl";
    for sides in [[unknown, FIVE], [FIVE, unknown]] {
        let (rows, whole) = compared(&sides);
        let cost = row(&rows, "cost", "all");
        assert_eq!((&cost["change"], &cost["relative"]), (&Value::Null, &Value::Null));
        assert!(notes(&whole).contains("cost is unknown for 1 run of the "), "{whole}");
        let (code, _, stderr) = run_with(&[&["diff", "--max-cost-increase", "1000%"], &sides[..]].concat());
        assert_eq!(code, 1);
        assert_eq!(
            stderr,
            "ccstat: gate max-cost-increase failed, limit 1000.0 %: cost of one side is unknown\n"
        );
    }
}

#[test]
fn tokens_that_are_not_final_pass_no_gate() {
    let unknown = "recordings/2.1.325/stream/49-killed-midway.jsonl";
    for sides in [[unknown, FIVE], [FIVE, unknown]] {
        let (code, _, stderr) = run_with(&[&["diff", "--max-tokens-increase", "1000%"], &sides[..]].concat());
        assert_eq!(code, 1);
        assert!(stderr.contains("tokens are incomplete"), "{stderr}");
    }
}

#[test]
fn a_side_that_is_not_a_log_passes_no_gate() {
    let stranger = crate::support::log("{\"type\":\"module\"}\n");
    let stranger = stranger.path().to_str().unwrap();
    for name in ["cost", "duration", "tokens", "turns", "tool-errors", "denials"] {
        let option = format!("--max-{name}-increase");
        for sides in [[stranger, stranger], [FIVE, stranger], [stranger, FIVE]] {
            let (code, _, stderr) = run_with(&["diff", &option, "1000%", sides[0], sides[1]]);
            assert_eq!(code, 1, "{name}: {stderr}");
            assert!(stderr.contains("no record of a run was read"), "{name}: {stderr}");
        }
    }
}

#[test]
fn gates_accept_percentages_and_amounts() {
    // 05 to 06: cost +126.7 %, +$0.006706; wall +75.9 %, +365 ms; tokens +107; turns +2.
    let cases = [
        ("cost", "127%", 0),
        ("cost", "126%", 1),
        ("cost", "$0.0068", 0),
        ("cost", "0.0067", 1),
        ("duration", "76%", 0),
        ("duration", "365ms", 0),
        ("duration", "0.3s", 1),
        ("duration", "1h30m", 0),
        ("duration", "1h 30m", 0),
        ("duration", "1.5 h", 0),
        ("duration", "0.5sec", 0),
        ("duration", "5min", 0),
        ("tokens", "107", 0),
        ("tokens", "106", 1),
        ("turns", "200%", 0),
        ("turns", "1", 1),
        ("tool-errors", "0", 0),
        ("denials", "0%", 0),
    ];
    for (name, allowed, expected) in cases {
        let option = format!("--max-{name}-increase");
        let (code, _, stderr) = run_with(&["diff", FIVE, SIX, &option, allowed]);
        assert_eq!(code, expected, "{name} {allowed}: {stderr}");
        assert_eq!(stderr.starts_with(&format!("ccstat: gate max-{name}-increase failed")), expected == 1);
    }
    let (_, _, stderr) = run_with(&["diff", FIVE, SIX, "--max-cost-increase", "10%"]);
    assert_eq!(
        stderr,
        "ccstat: gate max-cost-increase failed, limit 10.0 %: cost +$0.006706 (+126.7 %), from $0.005294 to $0.012\n"
    );
}

#[test]
fn a_percentage_of_zero_is_explained() {
    let denied = "recordings/2.1.325/stream/34-permission-denied-bash.jsonl";
    let (code, _, stderr) = run_with(&["diff", FIVE, denied, "--max-denials-increase", "50%"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("the base is zero, so any increase exceeds the percentage"), "{stderr}");
}

#[test]
fn an_invalid_increase_is_a_usage_error() {
    for (name, text) in [("cost", "x"), ("cost", "-1%"), ("duration", "10"), ("turns", "$1"), ("tokens", "")]
    {
        let (code, _, stderr) = run_with(&["diff", FIVE, SIX, &format!("--max-{name}-increase={text}")]);
        assert_eq!(code, 2, "{name} {text}");
        assert!(stderr.contains(&format!("--max-{name}-increase")), "{stderr}");
    }
}

#[test]
fn exactly_two_sides_are_required() {
    for words in [&["diff"][..], &["diff", "-"], &["diff", FIVE, SIX, FIVE], &["diff", "-", "-"]] {
        assert_eq!(run_with(words).0, 2, "{words:?}");
    }
    assert_eq!(run_with(&["diff", FIVE, SIX, "--files-from", "list"]).0, 2, "a list cannot be a side");
    let mut piped = ccstat(&["diff", "-", SIX, "--json"]);
    let (code, stdout, _) =
        run(piped.write_stdin(std::fs::read(recording("stream/05-parallel-tools.jsonl")).unwrap()));
    assert_eq!(code, 0);
    let (rows, _) = compared(&[FIVE, SIX]);
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["rows"], Value::Array(rows));
}

#[test]
fn an_unreadable_side_ends_the_comparison() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let empty = empty.path().to_str().unwrap();
    for sides in [[FIVE, empty], [empty, FIVE]] {
        let (code, stdout, stderr) =
            run_with(&[&["diff", "--json", "--max-turns-increase", "0"], &sides[..]].concat());
        assert_eq!(code, 3, "empty input overrides a failed gate");
        let name = if sides[0] == empty { "BASE" } else { "HEAD" };
        assert!(stderr.contains(&format!("ccstat: {name}: no records: the sources are empty\n")), "{stderr}");
        let whole: Value = serde_json::from_str(&stdout).unwrap();
        let rows = whole["rows"].as_array().unwrap();
        assert_eq!(row(rows, "turns", "all")["change"], Value::Null);
    }
    let (code, _, stderr) = run_with(&["diff", FIVE, "no-such-file"]);
    assert_eq!((code, stderr.lines().count()), (3, 1), "{stderr}");
}

#[test]
fn a_partly_read_side_is_compared_with_a_note() {
    let folder = folder(TWO);
    std::fs::write(folder.path().join("broken.jsonl.gz"), b"\x1f\x8b\x08\x00 no more").unwrap();
    let (code, stdout, stderr) = run_with(&["diff", path(&folder), FIVE]);
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("broken.jsonl.gz") && stdout.contains("cost"), "{stdout}{stderr}");
}

#[test]
fn filters_apply_to_both_sides() {
    let (rows, _) = compared(&["logs/week", "logs/week", "--model", "haiku"]);
    assert!(
        rows.iter().filter(|row| row["group"] == "model-cost").all(|row| row["name"] == "claude-haiku-5-5")
    );
    let (rows, whole) = compared(&[FIVE, SIX, "--session", "00021325-0000-4000-8000-000000000005"]);
    assert_eq!(row(&rows, "cost", "all")["head"], Value::Null);
    assert!(notes(&whole).contains("head: nothing matches the filters"), "{whole}");
}

#[test]
fn a_report_never_overwrites_a_log_of_either_side() {
    let log = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    let six = recording("stream/06-multi-turn-stdin.jsonl");
    std::fs::copy(&six, log.path()).unwrap();
    let target: &Path = log.path();
    let (code, _, stderr) =
        run_with(&["diff", FIVE, target.to_str().unwrap(), "-o", target.to_str().unwrap()]);
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(std::fs::read(target).unwrap(), std::fs::read(six).unwrap());
}

#[test]
fn two_periods_of_the_same_logs_are_compared_by_their_totals() {
    let words = ["diff", "logs/week", "--period", "2026-11-10", "--with", "2026-11-09"];
    let rows = crate::support::printed_rows(&words);
    let daily = crate::support::printed_rows(&["daily", "logs/week"]);
    let day = |name: &str| daily.iter().find(|row| row["day"] == name).unwrap()["cost_usd"].as_f64().unwrap();
    let cost = rows.iter().find(|row| row["group"] == "cost").unwrap();
    assert_eq!(cost["base"].as_f64().unwrap(), day("2026-11-09"));
    assert_eq!(cost["head"].as_f64().unwrap(), day("2026-11-10"));
    for group in ["project-cost", "model-cost", "tool-cost"] {
        let parts: Vec<_> = rows.iter().filter(|row| row["group"] == group).collect();
        let sum = |key: &str| parts.iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
        assert!((sum("change") - cost["change"].as_f64().unwrap()).abs() < 1e-9, "{group}");
        assert!((sum("contribution") - 1.0).abs() < 1e-5, "{group}");
        let sizes: Vec<f64> = parts.iter().map(|row| row["change"].as_f64().unwrap().abs()).collect();
        assert!(sizes.is_sorted_by(|one, two| one >= two), "{group}: {sizes:?}");
    }
    let before = [&words[..4], &["--format", "csv"]].concat();
    assert_eq!(
        crate::support::run_with(&before).1,
        crate::support::run_with(&[&words[..], &["--format", "csv"]].concat()).1
    );
}

#[test]
fn a_change_beyond_the_variation_from_day_to_day_is_marked() {
    let day = |month: u32, day: u32, input: u64| {
        format!(
            r#"{{"type":"assistant","sessionId":"s-{month}-{day}","uuid":"u-{month}-{day}","parentUuid":null,"isSidechain":false,"timestamp":"2026-{month:02}-{day:02}T08:00:00Z","requestId":"r-{month}-{day}","message":{{"id":"m-{month}-{day}","model":"claude-opus-5-5","role":"assistant","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":{input},"output_tokens":5}}}}}}"#
        )
    };
    // February has twice the tokens of January, on 28 days each; both vary by a tenth.
    let month = |month: u32, tokens: u64| {
        (1..=28).map(move |at| day(month, at, tokens + u64::from(at % 3) * tokens / 20))
    };
    let lines: Vec<String> = month(1, 1_000_000).chain(month(2, 2_000_000)).collect();
    let log = crate::support::log(lines.join("\n"));
    let path = log.path().to_str().unwrap();
    let significant = |period: &str, with: &str| {
        let rows = crate::support::printed_rows(&["diff", path, "--period", period, "--with", with]);
        rows.iter().find(|row| row["group"] == "cost").unwrap()["significant"].clone()
    };
    assert_eq!(significant("2026-02", "2026-01"), true);
    assert_eq!(
        significant("2026-02-04", "2026-02-03"),
        serde_json::Value::Null,
        "single days have no variation"
    );
    let stdout = crate::support::run_with(&["diff", path, "--period", "2026-02"]).1;
    assert!(stdout.starts_with("Cost $") && stdout.contains("certain"), "{stdout}");
}

#[test]
fn periods_that_overlap_or_have_no_logs_are_explained() {
    let wrong = |words: &[&str]| {
        let (code, _, stderr) = crate::support::run_with(&[&["diff", "logs/week"][..], words].concat());
        assert_eq!(code, 2, "{stderr}");
        stderr
    };
    assert!(wrong(&["--period", "2026-11", "--with", "2026"]).contains("overlap"));
    assert!(wrong(&["--period", "soon"]).contains("not a time: `soon`"));
    assert!(wrong(&["--with", "2026"]).contains("--period"));
    assert!(wrong(&["--period", "2026", "--since", "2025"]).contains("cannot be used with"));
    let (code, stdout, _) = crate::support::run_with(&["diff", "logs/week", "--period", "2030-01"]);
    assert!(code == 0 && stdout.starts_with("! nothing matches the filters: the logs cover"), "{stdout}");
}
