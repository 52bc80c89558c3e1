//! Reports match their JSON Schema.

use std::path::PathBuf;

use serde_json::Value;

use crate::{
    plain,
    support::{json, log, run_with, testdata},
};
use ccstat::internal::report::REPORTS;

fn schema(report: &str) -> Value {
    let (code, stdout, stderr) = run_with(&["schema", report]);
    assert_eq!((code, &*stderr), (0, ""));
    serde_json::from_str(&stdout).unwrap()
}

/// Validates a report against its schema, and rejects keys that the schema lacks.
fn holds(schema: &Value, report: &Value, what: &str) {
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}");
    explained(schema, report, what);
}

/// Asserts that every key of the value is in the schema.
fn explained(schema: &Value, value: &Value, path: &str) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let schema = schema["properties"].get(key).or_else(|| schema.get("additionalProperties"));
                let schema = schema.unwrap_or_else(|| panic!("{path}: `{key}` is not in the schema"));
                explained(schema, value, &format!("{path}.{key}"));
            }
        }
        Value::Array(values) => values.iter().for_each(|value| explained(&schema["items"], value, path)),
        _ => {}
    }
}

#[test]
fn every_summary_matches_its_schema() {
    let schema = schema("summary");
    let mut paths: Vec<PathBuf> = plain::all("stream");
    paths.extend(plain::all("transcript"));
    paths.extend(plain::listing(&testdata("logs")));
    paths.extend(plain::listing(&testdata("bad")));
    paths.extend([testdata("kinds"), testdata("recordings")]);
    for path in paths {
        holds(&schema, &json(&[&path]), &path.display().to_string());
    }
    holds(&schema, &json(&[log("").path()]), "nothing");
}

#[test]
fn every_report_of_rows_matches_its_schema() {
    for spec in REPORTS.iter().filter(|spec| spec.name != "summary") {
        let schema = schema(spec.name);
        let empty = log("");
        for path in [
            "logs",
            "recordings",
            "recordings/2.1.325/stream",
            "recordings/2.1.50/transcript",
            empty.path().to_str().unwrap(),
        ] {
            let words = [&super::formats::words(spec, &[path])[..], &["--json"]].concat();
            let report: Value = serde_json::from_str(&run_with(&words).1).unwrap();
            holds(&schema, &report, &format!("{} {path}", spec.name));
        }
    }
}

#[test]
fn gates_match_the_schemas() {
    for (report, command) in [("summary", "summarize"), ("check", "check")] {
        let schema = schema(report);
        let gates =
            ["--fail-on", "denial,invalid,no-result", "--max-cost", "0.01", "--max-tool-error-rate", "0"];
        for log in ["logs", "recordings/2.1.325/stream", "bad/five-broken-lines.jsonl"] {
            let words = [&[command, "--json", log], &gates[..]].concat();
            let report: Value = serde_json::from_str(&run_with(&words).1).unwrap();
            assert!(report["gates"].as_array().is_some_and(|gates| gates.len() >= 5));
            holds(&schema, &report, &format!("{command} {log}"));
        }
    }
    assert!(schema("turns")["properties"].get("gates").is_none(), "it has no gates");
}

#[test]
fn a_schema_rejects_wrong_values() {
    let schema = schema("summary");
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut report = json(&[log("").path()]);
    assert!(validator.is_valid(&report));
    report["tools"]["calls"] = "many".into();
    assert!(!validator.is_valid(&report));
    report["tools"].as_object_mut().unwrap().remove("calls");
    assert!(!validator.is_valid(&report));
}

#[test]
fn without_a_name_the_reports_are_listed() {
    let (code, stdout, _) = run_with(&["schema"]);
    assert_eq!(code, 0);
    for entry in ccstat::internal::report::REPORTS {
        assert!(stdout.contains(entry.name) && stdout.contains(entry.doc), "{stdout}");
    }
    let (code, _, stderr) = run_with(&["schema", "sumary"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("summary"), "{stderr}");
}

#[test]
fn a_schema_is_found_by_the_name_of_its_command_too() {
    assert_eq!(run_with(&["schema", "session"]), run_with(&["schema", "sessions"]));
    assert_eq!(run_with(&["schema", "summarize"]), run_with(&["schema", "summary"]));
    assert_eq!(run_with(&["schema", "session"]).0, 0);
}
