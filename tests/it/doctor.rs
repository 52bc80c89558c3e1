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

#[test]
fn it_says_how_far_back_logs_and_the_configured_archive_reach() {
    let home = home("{}");
    let archive = home.path().join("archive");
    let to = archive.to_str().unwrap();
    let week = testdata("logs/week");
    for lean in [&[][..], &["--lean"]] {
        let _ = fs::remove_dir_all(&archive);
        let words = [&["archive", week.to_str().unwrap()], lean].concat();
        // The archive is found by the same setting with which it is written.
        assert_eq!(run(ccstat(&words).env("HOME", home.path()).env("CCSTAT_TO", to)).0, 0);
        let (code, stdout, stderr) =
            run(ccstat(&["doctor", "--json"]).env("HOME", home.path()).env("CCSTAT_TO", to));
        assert_eq!((code, &*stderr), (0, ""));
        let json: Value = serde_json::from_str(&stdout).unwrap();
        let places = json["places"].as_array().unwrap();
        let [.., logs, kept] = &places[..] else { panic!("{places:?}") };
        assert_eq!((&logs["archive"], &logs["first"]), (&false.into(), &json["logs"]["first"]));
        assert_eq!(
            (&kept["archive"], &kept["files"], &*kept["path"].to_string()),
            (&true.into(), &5.into(), &*format!("{to:?}"))
        );
        assert_eq!(kept["first"], "2026-11-09T09:12:05.120Z");
        assert_eq!(json["logs"]["sources"], 2, "the archive is not read");
        let saved = home.path().join(".claude/projects");
        let (_, stdout, _) = run(ccstat(&["overview", saved.to_str().unwrap()]).env("CCSTAT_TO", to));
        let stdout = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stdout.contains(&format!("the archive {to} to 2026-11-09 09:12")), "{stdout}");
    }
    let (code, _, stderr) = run_with(&["archive", week.to_str().unwrap()]);
    assert!(code == 2 && stderr.contains("add --to DIR, or set `to` in [archive]"), "{stderr}");
}
