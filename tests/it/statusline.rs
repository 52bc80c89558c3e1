//! The status line: one line from what the CLI says, and from the saved sessions of today.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::json;
use tempfile::TempDir;

use crate::support::{ccstat, run};

/// One response with a million input tokens of a model at four dollars per million.
fn response(id: &str, time: &str) -> String {
    let usage = json!({"input_tokens": 1_000_000, "output_tokens": 0});
    let message = json!({"id": id, "role": "assistant", "type": "message", "model": "claude-opus-5-5", "content": [],
        "stop_reason": "end_turn", "usage": usage});
    let record = json!({"type": "assistant", "uuid": format!("u-{id}"), "sessionId": "s", "timestamp": time, "message": message});
    format!("{record}\n")
}

/// The time so long ago, as logs write it.
fn ago(hours: u64) -> String {
    let time = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours.cast_signed());
    time.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}

/// A home folder with these saved files, by path below the folder of a project.
fn home(files: &[(&str, String)]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(".claude/projects/-home-dev").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home
}

/// Prints the line for this input, in a time zone in which the last hour is always part of today.
fn line(home: &Path, input: &str, arguments: &[&str]) -> (i32, String, String) {
    let hour = jiff::Timestamp::now().strftime("%H").to_string().parse::<i64>().unwrap();
    let zone = format!("{:+03}:00", 12 - hour);
    line_in(&zone, home, input, arguments)
}

fn line_in(zone: &str, home: &Path, input: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = ccstat(&[&["statusline", "--timezone", zone, "--timeout", "60s"], arguments].concat());
    run(command.env("HOME", home).write_stdin(input))
}

fn status() -> serde_json::Value {
    json!({
        "session_id": "s", "cwd": "/home/dev/shop", "version": "2.1.326",
        "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
        "workspace": {"current_dir": "/home/dev/shop", "project_dir": "/home/dev"},
        "cost": {"total_cost_usd": 0.4213, "total_duration_ms": 65000, "total_lines_added": 12, "total_lines_removed": 3},
        "context_window": {"used_percentage": 42, "context_window_size": 200000},
        "rate_limits": {
            "five_hour": {"used_percentage": 61.6, "resets_at": 1_800_000_000},
            "seven_day": {"used_percentage": 112, "resets_at": 1_800_400_000},
        },
    })
}

#[test]
fn the_line_says_what_the_cli_says_and_what_today_cost() {
    let old = ago(30);
    let home = home(&[
        ("s.jsonl", response("m0", &old) + &response("m1", &ago(0)) + &response("m1", &ago(0))),
        ("s/subagents/agent-a.jsonl", response("m2", &ago(0))),
        ("t.jsonl", response("m3", &old)),
    ]);
    let (code, stdout, stderr) = line(home.path(), &status().to_string(), &[]);
    assert_eq!((code, &*stderr), (0, ""));
    let start = "Opus 5.5 · 42% context · $0.42 session · ≈$8.00 today · 5h 62% until ";
    assert!(stdout.starts_with(start), "{stdout}");
    assert!(stdout.ends_with(", 7d 112%\n"), "{stdout}");
}

#[test]
fn the_cost_of_today_is_that_of_daily() {
    let home = home(&[("s.jsonl", (0..7).map(|at| response(&format!("m{at}"), &ago(at * 4))).collect())]);
    let (_, stdout, _) = line_in("UTC", home.path(), "{}", &["--template", "{today}"]);
    let mut daily = ccstat(&["daily", "--since", "today", "--timezone", "UTC", "--format", "json"]);
    let (code, daily, _) = run(daily.env("HOME", home.path()).arg(home.path().join(".claude/projects")));
    assert_eq!(code, 0);
    let rows: serde_json::Value = serde_json::from_str(&daily).unwrap();
    let cost = rows["rows"][0]["cost_usd"].as_f64().unwrap();
    assert_eq!(stdout, format!("≈${cost:.2}\n"));
}

#[test]
fn only_sessions_that_changed_today_are_read() {
    let home = home(&[("old.jsonl", response("m1", &ago(0)))]);
    let path = home.path().join(".claude/projects/-home-dev/old.jsonl");
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365)).unwrap();
    let (_, stdout, _) = line(home.path(), "{}", &["--template", "{today}"]);
    assert_eq!(stdout, "≈$0.00\n");
}

#[test]
fn a_session_saved_elsewhere_counts_too() {
    let (elsewhere, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let project = elsewhere.path().join("projects/-home-dev");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("s.jsonl"), response("m1", &ago(0))).unwrap();
    let input = json!({"transcript_path": project.join("s.jsonl")}).to_string();
    let (_, stdout, _) = line(home.path(), &input, &["--template", "{today}"]);
    assert_eq!(stdout, "≈$4.00\n");
}

#[test]
fn logs_that_take_too_long_are_not_waited_for() {
    let home = home(&[("s.jsonl", response("m1", &ago(0)))]);
    let mut command = ccstat(&["statusline", "--timeout", "0s"]);
    let (code, stdout, _) = run(command.env("HOME", home.path()).write_stdin(status().to_string()));
    assert_eq!(code, 0);
    assert!(stdout.starts_with("Opus 5.5 · 42% context · $0.42 session · 5h 62%"), "{stdout}");
}

#[test]
fn a_model_without_a_price_makes_the_cost_a_minimum() {
    let home =
        home(&[("s.jsonl", response("m1", &ago(0)) + &response("m2", &ago(0)).replace("opus-5-5", "new-9"))]);
    let (_, stdout, _) = line(home.path(), "{}", &["--template", "{today}"]);
    assert_eq!(stdout, "≥$4.00\n");
}

#[test]
fn no_input_fails_the_prompt() {
    let home = tempfile::tempdir().unwrap();
    for input in
        ["", "null", "[]", "{\"model\": 3, \"cost\": []}", "not JSON", "{\"model\": {\"id\": \"x\"}", "\u{0}"]
    {
        let (code, stdout, stderr) = line(home.path(), input, &[]);
        assert_eq!((code, &*stderr), (0, ""), "{input}");
        assert_eq!(stdout.lines().count(), 1, "{input}: {stdout}");
    }
}

#[test]
fn a_broken_configuration_does_not_blank_the_line() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("ccstat.toml"), "format = [").unwrap();
    let mut command = ccstat(&["statusline", "--template", "{model}"]);
    let (code, stdout, _) =
        run(command.env("HOME", home.path()).current_dir(home.path()).write_stdin(status().to_string()));
    assert_eq!((code, &*stdout), (0, "Opus 5.5\n"));
}

#[test]
fn text_from_the_input_cannot_control_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let input = json!({"model": {"display_name": "a\u{1b}[31mb\nc\u{202e}"}}).to_string();
    let (_, stdout, _) = line(home.path(), &input, &["--template", "{model}"]);
    assert_eq!(stdout.lines().count(), 1, "{stdout:?}");
    assert!(!stdout.contains(['\u{1b}', '\u{202e}']), "{stdout:?}");
}

#[test]
fn a_wrong_template_names_the_fields() {
    let home = tempfile::tempdir().unwrap();
    let (code, _, stderr) = line(home.path(), "{}", &["--template", "{modle}"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("the fields are model, effort, context"), "{stderr}");
}
