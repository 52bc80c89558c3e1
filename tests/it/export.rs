//! `export`: the rows of a report with all columns, for other programs.

use ccstat::internal::report::ReportSpec;
use serde_json::Value;

use crate::support::{printed_json, run_with};

const ALL: &str = "recordings/2.1.325/transcript";
const DENIED: &str = "recordings/2.1.325/stream/34-permission-denied-bash.jsonl";

#[test]
fn a_table_is_csv_unless_another_format_is_asked_for() {
    for table in ReportSpec::exports() {
        let (code, stdout, _) = run_with(&["export", table.name, DENIED]);
        let heads = stdout.lines().next().unwrap();
        assert_eq!(code, 0);
        assert!(heads.contains("session,"), "{}: {heads}", table.name);
        let rows = printed_json(&["export", table.name, DENIED]);
        let rows = rows["rows"].as_array().unwrap();
        assert_eq!(stdout.lines().count(), rows.len() + 1, "{}", table.name);
        let keys = rows.iter().flat_map(|row| row.as_object().unwrap().keys());
        assert!(keys.into_iter().all(|key| heads.split(',').any(|head| head == key)), "{}", table.name);
    }
}

#[test]
fn responses_add_up_to_the_summary() {
    for path in [ALL, DENIED, "recordings/2.1.325/stream", "recordings/2.1.50"] {
        let summary = printed_json(&["summarize", path]);
        let export = printed_json(&["export", "responses", path]);
        let rows = export["rows"].as_array().unwrap();
        for (key, whole) in [
            ("cost_usd", &summary["cost"]["total_usd"]),
            ("output", &summary["tokens"]["output"]),
            ("responses", &summary["responses"]),
        ] {
            assert_eq!(&export["totals"][key], whole, "{path} {key}");
            let sum: f64 = rows.iter().filter_map(|row| row[key].as_f64()).sum();
            assert!((sum - whole.as_f64().unwrap()).abs() < 1e-9, "{path} {key}: {sum} {whole}");
        }
    }
}

#[test]
fn charges_add_up_to_the_summary_and_to_the_cost_by_model_and_tool() {
    for path in [ALL, DENIED, "recordings/2.1.325", "recordings/2.1.50"] {
        let summary = printed_json(&["summarize", path]);
        let charges = printed_json(&["export", "charges", path]);
        for (key, whole) in [
            ("cost_usd", &summary["cost"]["total_usd"]),
            ("computed_usd", &summary["cost"]["computed_usd"]),
            ("output", &summary["tokens"]["output"]),
            ("web_searches", &summary["tokens"]["web_searches"]),
            ("responses", &summary["responses"]),
        ] {
            assert_eq!(&charges["totals"][key], whole, "{path} {key}");
        }
        for (by, responses) in [("model", "model_responses"), ("tool", "tool_responses")] {
            for row in printed_json(&["cost", "--by", by, path])["rows"].as_array().unwrap() {
                let own = charges["rows"].as_array().unwrap().iter().filter(|charge| charge[by] == row[by]);
                let count: u64 = own.map(|charge| charge[responses].as_u64().unwrap()).sum();
                assert_eq!(row["responses"], count, "{path} {by} {}", row[by]);
            }
        }
    }
}

#[test]
fn failures_are_the_denials_and_errors_one_by_one() {
    for path in [ALL, DENIED, "recordings/2.1.325", "recordings/2.1.50"] {
        let summary = printed_json(&["summarize", path]);
        let failures = printed_json(&["export", "failures", path]);
        let of = |kind: &str| {
            failures["rows"].as_array().unwrap().iter().filter(|row| row["sort"] == kind).count() as u64
        };
        assert_eq!(summary["denials"]["total"], of("denial"), "{path}");
        for (kind, key) in [("tool", "tool"), ("turn", "turn"), ("api", "api"), ("retry", "api_retries")] {
            assert_eq!(summary["errors"][key], of(kind), "{path} {kind}");
        }
    }
}

#[test]
fn every_record_is_a_row_with_its_place() {
    let (summary, export) =
        (printed_json(&["summarize", DENIED]), printed_json(&["export", "records", DENIED]));
    let rows = export["rows"].as_array().unwrap();
    assert_eq!(rows.len() as u64, summary["input"]["records"].as_u64().unwrap());
    assert_eq!(
        (&rows[3]["kind"], &rows[3]["line"], &rows[3]["known"]),
        (&"system/permission_denied".into(), &4.into(), &true.into())
    );
    assert_eq!(rows[1]["blocks"], serde_json::json!(["assistant/text"]));
}

#[test]
fn content_is_exported_only_on_request() {
    let secret = "touch denied.txt";
    for table in ReportSpec::exports() {
        let (_, stdout, _) = run_with(&["export", table.name, "--format", "json", DENIED]);
        assert!(!stdout.contains(secret), "{}", table.name);
    }
    let calls = printed_json(&["export", "calls", "--include-content", DENIED]);
    let input: Value = serde_json::from_str(calls["rows"][0]["input"].as_str().unwrap()).unwrap();
    assert_eq!(input["command"], secret);
    assert!(calls["rows"][0]["output"].as_str().unwrap().contains("needs approval"));
}

#[test]
fn a_column_with_content_needs_the_option() {
    let (code, stdout, stderr) = run_with(&["sessions", "--columns", "session,title", DENIED]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("the column `title` shows text of the logs: add --content"), "{stderr}");
    let (code, stdout, _) = run_with(&["sessions", "--content", "--columns", "title", "-f", "csv", DENIED]);
    assert_eq!((code, stdout.lines().next()), (0, Some("title")));
}

#[test]
fn an_unknown_table_is_a_usage_error_that_lists_the_tables() {
    let (code, _, stderr) = run_with(&["export", "wishes", DENIED]);
    assert_eq!(code, 2);
    assert!(ReportSpec::exports().all(|table| stderr.contains(table.name)), "{stderr}");
}
