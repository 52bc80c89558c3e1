//! `doctor`: the places of logs, how long they stay, and what is unknown about them.

use std::{fs, time::SystemTime};

use serde_json::Value;

use crate::support::{ccstat, printed_json, run, run_with, testdata};

#[expect(clippy::disallowed_methods, reason = "the age of a file is compared with the clock of the machine")]
/// A home folder with two saved sessions, the older one changed 20 days ago.
fn home(settings: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join(".claude/projects/-home-dev-shop");
    fs::create_dir_all(&project).unwrap();
    fs::write(home.path().join(".claude/settings.json"), settings).unwrap();
    for (name, days) in [("a.jsonl", 20), ("b.jsonl", 0)] {
        fs::copy(testdata("logs/gateway.jsonl"), project.join(name)).unwrap();
        let changed = SystemTime::now() - std::time::Duration::from_secs(days * 24 * 3600);
        fs::File::options().write(true).open(project.join(name)).unwrap().set_modified(changed).unwrap();
    }
    home
}

fn checked(home: &tempfile::TempDir) -> Value {
    let (code, stdout, stderr) = run(ccstat(&["doctor", "--json"]).env("HOME", home.path()));
    assert_eq!((code, &*stderr), (0, ""));
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn the_oldest_session_is_deleted_after_the_days_of_the_settings() {
    for (settings, days, due) in [
        ("{}", 30, 0),
        ("{\"cleanupPeriodDays\": 10}", 10, 1),
        ("{\"cleanupPeriodDays\": \"soon\"}", 30, 0),
        ("not json", 30, 0),
        ("{\"cleanupPeriodDays\": 18446744073709551615}", u64::MAX, 0),
    ] {
        let home = home(settings);
        let retention = &checked(&home)["retention"];
        assert_eq!((&retention["days"], &retention["due"]), (&days.into(), &due.into()), "{settings}");
        assert_eq!(retention["settings"].is_null(), days == 30, "{settings}");
    }
}

#[test]
fn places_models_and_standard_input_are_described() {
    let json = checked(&home("{}"));
    let places = json["places"].as_array().unwrap();
    assert_eq!((&places[0]["exists"], &places[0]["files"]), (&false.into(), &0.into()));
    assert_eq!((&places[1]["exists"], &places[1]["files"]), (&true.into(), &2.into()));
    assert_eq!(places[1]["bytes"], 2 * fs::metadata(testdata("logs/gateway.jsonl")).unwrap().len());
    assert_eq!(json["unpriced_models"], serde_json::json!(["house-model-1"]));
    assert_eq!(json["stdin"], "pipe or file", "it is not read");
    assert_eq!(json["logs"]["days"], 1);
}

#[test]
fn it_reports_even_if_there_is_nothing() {
    let (code, stdout, _) = run_with(&["doctor"]);
    assert!(code == 3 && stdout.starts_with("✗ No logs were found"), "{stdout}");
    assert!(stdout.contains("does not exist"), "{stdout}");
}

#[test]
fn invalid_lines_and_unknown_kinds_are_listed() {
    let json = printed_json(&["doctor", "bad/five-broken-lines.jsonl"]);
    assert_eq!((&json["logs"]["invalid"], &json["retention"]["days"]), (&5.into(), &Value::Null));
    let unknown = crate::support::log("{\"type\":\"news\",\"session_id\":\"s\"}");
    let json = printed_json(&["doctor", unknown.path().to_str().unwrap()]);
    assert_eq!(json["unknown_kinds"], serde_json::json!(["news"]));
}
