//! `export`: the rows of a report with all columns, for other programs.

use std::path::Path;

use ccstat::internal::report::{ReportSpec, Unit};
use serde_json::Value;

use crate::{
    plain,
    support::{log, printed_json, run_with},
};

const ALL: &str = "recordings/2.1.325/transcript";
const DENIED: &str = "recordings/2.1.325/stream/34-permission-denied-bash.jsonl";

#[test]
fn a_table_is_csv_unless_another_format_is_asked_for() {
    for table in ReportSpec::exports() {
        let (code, stdout, _) = run_with(&["export", table.name, DENIED]);
        let heads = stdout.lines().next().unwrap();
        assert_eq!(code, 0);
        // All but totals have a row for something that happened in a session.
        assert!(heads.contains("session,") || table.name == "cache_causes", "{}: {heads}", table.name);
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

#[test]
fn rows_are_the_same_whether_they_are_written_one_by_one_or_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    for spec in ReportSpec::exports() {
        let column = if spec.name == "cache_causes" { "cause" } else { "session" };
        let choices: [&[&str]; 4] =
            [&[], &["--limit", "7"], &["--columns", column], &["--since", "2026-01-01"]];
        for (log, choice) in
            [ALL, "logs"].into_iter().flat_map(|log| choices.iter().map(move |one| (log, *one)))
        {
            for format in ["csv", "tsv", "jsonl"] {
                let words = [&["export", spec.name, log], choice].concat();
                let (code, rows, stderr) = run_with(&[&words[..], &["-f", format]].concat());
                // A table needs all rows.
                let target = format!("{format}={}", path.display());
                let together = run_with(&[&words[..], &["-f", "table", "-o", &target]].concat());
                assert_eq!((code, &*stderr), (together.0, &*together.2), "{words:?}");
                assert_eq!(rows, std::fs::read_to_string(&path).unwrap(), "{words:?}");
            }
        }
    }
}

/// Reads the rows of a partitioned folder, by the name of their folder.
fn partitions(folder: &Path, extension: &str) -> Vec<(String, String)> {
    let days = plain::listing(folder).into_iter();
    days.map(|day| {
        let files = plain::listing(&day);
        let [file] = &files[..] else { panic!("{files:?}") };
        assert_eq!(file.file_name().unwrap().to_str(), Some(&*format!("part-0.{extension}")));
        (day.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(file).unwrap())
    })
    .collect()
}

#[test]
fn a_folder_per_day_has_all_rows_once() {
    for spec in ReportSpec::exports() {
        let folder = tempfile::tempdir().unwrap();
        let target = format!("jsonl={}", folder.path().join("rows").display());
        let words = ["export", spec.name, "logs", "--partition-by", "day", "-o", &target];
        let (code, stdout, stderr) = run_with(&words);
        if spec.name == "cache_causes" {
            assert_eq!((code, &*stderr), (2, "ccstat: `cache_causes` has no times\n"));
            continue;
        }
        assert_eq!((code, &*stdout), (0, ""), "{}: {stderr}", spec.name);
        let parts = partitions(&folder.path().join("rows"), "jsonl");
        let times =
            spec.heads().into_iter().filter(|head| head.unit == Unit::Time && head.shown.is_for_programs());
        let time = times.map(|head| head.key).next().unwrap();
        for (name, rows) in &parts {
            for row in rows.lines() {
                let row: Value = serde_json::from_str(row).unwrap();
                let day = row[time].as_str().map_or("__HIVE_DEFAULT_PARTITION__", |time| &time[..10]);
                assert_eq!(*name, format!("day={day}"), "{}: {row}", spec.name);
            }
        }
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let all: String = parts.into_iter().map(|(_, rows)| rows).collect();
        assert_eq!(
            sorted(&all),
            sorted(&run_with(&["export", spec.name, "logs", "-f", "jsonl"]).1),
            "{}",
            spec.name
        );
    }
}

#[test]
fn a_year_of_days_needs_few_open_files() {
    let record = |day: i64| {
        let time = jiff::Timestamp::from_second(1_767_225_600 + day * 86_400).unwrap();
        format!("{{\"type\":\"user\",\"uuid\":\"{day}\",\"sessionId\":\"s\",\"timestamp\":\"{time}\"}}\n")
    };
    let log = log((0..365).rev().map(record).collect::<String>());
    let folder = tempfile::tempdir().unwrap();
    let target = format!("csv={}", folder.path().display());
    let words = ["export", "records", log.path().to_str().unwrap(), "--partition-by", "day", "-o", &target];
    assert_eq!(run_with(&words), (0, String::new(), String::new()));
    let parts = partitions(folder.path(), "csv");
    assert_eq!((parts.len(), &*parts[0].0, &*parts[364].0), (365, "day=2026-01-01", "day=2026-12-31"));
    assert!(parts.iter().all(|(_, rows)| rows.lines().count() == 2));
    // Another export replaces the days that it writes and leaves the others.
    let again = [&words[..], &["--since", "2026-12-31"]].concat();
    assert_eq!(run_with(&again).0, 0);
    assert_eq!(partitions(folder.path(), "csv"), parts);
}

#[test]
fn partitions_need_a_folder_and_a_format_of_rows() {
    let (code, _, stderr) = run_with(&["export", "calls", DENIED, "--partition-by", "day"]);
    assert_eq!(code, 2, "{stderr}");
    let words = ["export", "calls", DENIED, "--partition-by", "day", "-o", "calls.json"];
    let (code, _, stderr) = run_with(&words);
    assert_eq!(code, 2);
    assert!(stderr.contains("--partition-by needs a format of rows"), "{stderr}");
    let (folder, empty) = (tempfile::tempdir().unwrap(), log(""));
    let target = format!("csv={}", folder.path().display());
    let words = ["export", "calls", empty.path().to_str().unwrap(), "--partition-by", "day", "-o", &target];
    assert_eq!(run_with(&words).0, 3);
    let [(name, rows)] = &partitions(folder.path(), "csv")[..] else { panic!("one folder with the columns") };
    assert_eq!((&**name, rows.lines().count()), ("day=__HIVE_DEFAULT_PARTITION__", 1));
}
