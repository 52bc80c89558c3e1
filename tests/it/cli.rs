//! The program: its exit codes, and its messages when something is wrong.

#[cfg(unix)]
use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

#[cfg(unix)]
use crate::support::wait_for_handler;
use crate::{
    plain,
    support::{ccstat, log, run, run_with, testdata},
};

/// Paths below `testdata/`, where the program is started.
const GOOD: &str = "recordings/2.1.325/stream/34-permission-denied-bash.jsonl";
const TORN: &str = "recordings/2.1.325/stream/49-killed-midway.jsonl";
const FIVE_BROKEN: &str = "bad/five-broken-lines.jsonl";
const PLAIN_TEXT: &str = "bad/plain-text.txt";
const MISSING: &str = "no-such-file.jsonl";

fn code(arguments: &[&str]) -> i32 {
    run_with(arguments).0
}

fn json_of(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[test]
fn a_log_that_can_be_read_ends_with_0() {
    assert_eq!(code(&["summarize", GOOD]), 0);
    assert_eq!(code(&["summarize", FIVE_BROKEN]), 0, "a bad record is a fact, not an error");
    assert_eq!(code(&["summarize", TORN]), 0);
    assert_eq!(code(&["prices"]), 0);
    assert_eq!(code(&["--help"]), 0);
    assert_eq!(code(&["--version"]), 0);
    assert_eq!(code(&["summarize", "--help"]), 0);
}

#[test]
fn a_failed_run_still_ends_with_0() {
    let (code, stdout, _) = run_with(&["summarize", "recordings/2.1.325/stream/47-auth-401.jsonl"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("✗ Failed: authentication_failed · 1 prompt"), "{stdout}");
}

#[test]
fn strict_ends_with_1_if_a_record_is_invalid() {
    let (code, stdout, _) = run_with(&["summarize", "--strict", FIVE_BROKEN]);
    assert_eq!(code, 1);
    assert!(stdout.contains("5 invalid records"), "the report is written nevertheless: {stdout}");
    assert_eq!(self::code(&["summarize", "--strict", GOOD]), 0);
    assert_eq!(self::code(&["summarize", "--strict", TORN]), 0, "an unfinished record is not invalid");
}

#[test]
fn a_usage_error_ends_with_2_and_writes_no_report() {
    for arguments in [
        &[][..],
        &["explain"],
        &["summarize", "--no-such-flag"],
        &["summarize", "--format", "runes", GOOD],
        &["summarize", "--json", "--format", "table", GOOD],
        &["summarize", "--max-record", "0", GOOD],
        &["summarize", "--max-record", "many", GOOD],
        &["summarize", "--threads", "-1", GOOD],
        &["summarize", "--pricing", MISSING, GOOD],
        &["summarize", "--pricing", PLAIN_TEXT, GOOD],
        &["summarize", "--files-from", MISSING],
        &["prices", "--pricing", MISSING],
        &["prices", GOOD],
    ] {
        let (code, stdout, stderr) = run_with(arguments);
        assert_eq!((code, &*stdout), (2, ""), "{arguments:?}");
        assert!(!stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn nothing_to_read_ends_with_3() {
    let empty = tempfile::tempdir().unwrap();
    let folder = empty.path().to_str().unwrap();
    for arguments in [
        &["summarize"][..],
        &["summarize", "-"],
        &["summarize", MISSING],
        &["summarize", PLAIN_TEXT],
        &["summarize", folder],
        &["summarize", "no-such-*.jsonl"],
        &["summarize", "--files-from", "-"],
    ] {
        let (code, stdout, stderr) = run_with(arguments);
        assert_eq!((code, &*stdout), (3, ""), "{arguments:?}");
        assert!(stderr.starts_with("ccstat: "), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_missing_source_ends_with_4_and_the_others_are_read() {
    let (code, stdout, stderr) = run_with(&["summarize", "--json", MISSING, GOOD]);
    assert_eq!(code, 4);
    assert_eq!(stderr, "ccstat: cannot read `no-such-file.jsonl`: No such file or directory (os error 2)\n");
    assert_eq!(json_of(&stdout), json_of(&run_with(&["summarize", "--json", GOOD]).1));
}

#[test]
fn a_source_that_fails_midway_ends_with_4_and_its_earlier_records_count() {
    let text = std::fs::read(testdata(GOOD)).unwrap().repeat(50);
    let packed = zstd::encode_all(&*text, 1).unwrap();
    let torn = log(&packed[..packed.len() - 10]);
    let path = torn.path().to_str().unwrap();
    let (code, stdout, stderr) = run_with(&["summarize", "--json", GOOD, path]);
    assert_eq!(code, 4);
    assert!(stderr.starts_with(&format!("ccstat: cannot read `{path}` to its end: ")), "{stderr}");
    assert!(json_of(&stdout)["input"]["records"].as_u64().unwrap() >= 10);
}

#[test]
fn of_several_exit_codes_the_first_of_2_3_1_4_wins() {
    assert_eq!(code(&["summarize", "--strict", "--pricing", MISSING, PLAIN_TEXT, MISSING]), 2);
    assert_eq!(code(&["summarize", "--strict", PLAIN_TEXT, MISSING]), 3);
    assert_eq!(code(&["summarize", "--strict", FIVE_BROKEN, MISSING]), 1);
    assert_eq!(code(&["summarize", FIVE_BROKEN, MISSING]), 4);
}

/// Returns the names of all keys, nested ones with dots, down to the last level with fixed keys.
fn keys(report: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in report.as_object().unwrap() {
        keys.push(key.clone());
        if !["kinds", "blocks"].contains(&&**key)
            && let Some(inner) = value.as_object()
        {
            keys.extend(inner.keys().map(|inner| format!("{key}.{inner}")));
        }
    }
    keys
}

#[test]
fn json_is_written_with_zeros_and_nulls_when_nothing_could_be_read() {
    let full = json_of(&run_with(&["summarize", "--json", GOOD]).1);
    for arguments in [&["summarize", "--json"][..], &["summarize", "-f", "json", MISSING]] {
        let (code, stdout, _) = run_with(arguments);
        let empty = json_of(&stdout);
        assert_eq!(code, 3, "{arguments:?}");
        assert_eq!(keys(&empty), keys(&full), "{arguments:?}");
        assert_eq!((&empty["schema_version"], &empty["report"]), (&1.into(), &"summary".into()));
        for zero in ["sessions", "prompts", "responses"] {
            assert_eq!(empty[zero], 0, "{zero}");
        }
        for zero in [&empty["input"]["records"], &empty["tools"]["calls"], &empty["tokens"]["input"]] {
            assert_eq!(zero, 0);
        }
        for missing in ["total_usd", "reported_usd", "computed_usd"] {
            assert_eq!(empty["cost"][missing], Value::Null, "{missing}");
        }
        for missing in ["wall_ms", "api_ms", "tool_ms", "first", "last"] {
            assert_eq!(empty["duration"][missing], Value::Null, "{missing}");
        }
    }
}

#[test]
fn empty_standard_input_says_what_to_pipe_into_it() {
    let (_, _, stderr) = run_with(&["summarize"]);
    insta::assert_snapshot!(stderr, @"ccstat: standard input is empty: pipe a log into ccstat or give a path; to read the saved sessions, redirect it from /dev/null");
}

#[test]
fn plain_text_on_standard_input_names_the_flags() {
    let text = std::fs::read(testdata(PLAIN_TEXT)).unwrap();
    let (code, stdout, stderr) = run(ccstat(&["summarize"]).write_stdin(text));
    assert_eq!((code, &*stdout), (3, ""));
    insta::assert_snapshot!(stderr, @"ccstat: standard input is not a log: if it comes from `claude -p`, add these flags: claude -p PROMPT --output-format stream-json --verbose | ccstat summarize");
}

#[test]
fn a_piped_log_gives_the_same_report_as_its_file() {
    let text = std::fs::read(testdata(GOOD)).unwrap();
    let file = run_with(&["summarize", "--json", GOOD]).1;
    for arguments in [&["summarize", "--json"][..], &["summarize", "--json", "-"]] {
        assert_eq!(run(ccstat(arguments).write_stdin(text.clone())).1, file, "{arguments:?}");
    }
    let packed = zstd::encode_all(&*text, 1).unwrap();
    assert_eq!(run(ccstat(&["summarize", "--json"]).write_stdin(packed)).1, file);
}

/// A saved response of an unknown model.
const UNHEARD_OF: &str = r#"{"type":"assistant","sessionId":"s","isSidechain":false,"uuid":"u","message":{"id":"m","role":"assistant","model":"claude-telepathy-1","content":[{"type":"text","text":"hm"}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":500}}}"#;

#[test]
fn a_model_without_a_price_is_named_and_not_free() {
    let log = log(UNHEARD_OF);
    let path = log.path().to_str().unwrap();
    let cost = json_of(&run_with(&["summarize", "--json", path]).1)["cost"].take();
    assert_eq!(cost["unpriced_models"], serde_json::json!(["claude-telepathy-1"]));
    assert_eq!((&cost["complete"], &cost["total_usd"]), (&false.into(), &Value::Null));
    assert_eq!(cost["by_model"]["claude-telepathy-1"]["total_usd"], Value::Null);
    let table = run_with(&["summarize", path]).1;
    assert!(table.contains("cost unknown") && !table.contains("$0"), "{table}");
    assert!(table.contains("no price for claude-telepathy-1"), "{table}");
}

#[test]
fn a_pricing_file_prices_an_unknown_model() {
    let (log, prices) =
        (log(UNHEARD_OF), log(r#"{"models":{"claude-telepathy-1":{"input":3,"output":10}}}"#));
    let (path, prices) = (log.path().to_str().unwrap(), prices.path().to_str().unwrap());
    let cost = json_of(&run_with(&["summarize", "--json", "--pricing", prices, path]).1)["cost"].take();
    assert_eq!((&cost["total_usd"], &cost["complete"]), (&0.008.into(), &true.into()));
    assert_eq!(cost["unpriced_models"], serde_json::json!([]));
}

#[test]
fn an_invalid_pricing_file_is_named_with_the_reason() {
    let complaint = |text: &str| {
        let file = log(text);
        let path = file.path().to_str().unwrap();
        let (code, _, stderr) = run_with(&["prices", "--pricing", path]);
        assert_eq!(code, 2, "{stderr}");
        stderr.replace(path, "prices.json")
    };
    insta::assert_snapshot!(complaint("cheap"), @"ccstat: pricing file `prices.json` is not valid JSON, correct it there: expected value at line 1 column 1");
    insta::assert_snapshot!(complaint(r#"{"models":{"m":{"input":"much"}}}"#), @r#"ccstat: pricing file `prices.json`: `models.m.input` must be a number of dollars per million tokens, not `"much"`"#);
}

#[test]
fn prices_are_printed_in_both_formats() {
    let prices = log(r#"{"models":{"claude-telepathy-1":{"input":3,"output":10}}}"#);
    let path = prices.path().to_str().unwrap();
    let report = json_of(&run_with(&["prices", "--json", "--pricing", path]).1);
    assert_eq!((&report["schema_version"], &report["report"]), (&1.into(), &"prices".into()));
    let rows = report["rows"].as_array().unwrap();
    let row = |model: &str| rows.iter().find(|row| row["model"] == model).unwrap();
    assert_eq!(
        (&row("claude-opus-5-5")["input"], &row("claude-opus-5-5")["output"]),
        (&4.into(), &20.into())
    );
    assert_eq!(
        (&row("claude-telepathy-1")["input"], &row("claude-telepathy-1")["output"]),
        (&3.into(), &10.into())
    );

    let table = run_with(&["prices", "--pricing", path]).1;
    for name in rows.iter().map(|row| row["model"].as_str().unwrap()) {
        assert!(table.contains(name.trim_start_matches("claude-")), "{name}");
    }
    assert!(table.contains("telepathy-1"), "{table}");
}

#[test]
fn threads_change_nothing() {
    let with = |threads: &str| run_with(&["summarize", "--json", "--threads", threads, "recordings"]).1;
    let one = with("1");
    let results = |path| plain::of_type(&plain::records(path), "result").count();
    let all: usize = plain::all("stream").iter().map(|path| results(path)).sum();
    assert_eq!(json_of(&one)["turns"]["total"], all);
    assert_eq!(one, with("2"));
    assert_eq!(one, with("7"));
}

#[test]
fn a_record_above_max_record_is_invalid() {
    let (code, stdout, _) = run_with(&["summarize", "--json", "--strict", "--max-record", "1K", GOOD]);
    let input = json_of(&stdout)["input"].take();
    assert_eq!(code, 1);
    assert_eq!(input["invalid_places"][0]["reason"], "larger than --max-record");
    assert_eq!(input["records"].as_u64().unwrap() + input["invalid"].as_u64().unwrap(), 10);
}

/// Runs a command line in a shell, with the program's path in `$ccstat`, and returns its standard error.
#[cfg(unix)]
fn shell(line: &str) -> String {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).env("ccstat", crate::support::program());
    let output = shell.current_dir(testdata("")).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_not_a_failure() {
    for reader in ["head -c 1", "true", "exec <&-"] {
        for format in ["json", "table"] {
            // The reader closes the pipe before the first word is written.
            let line = format!(
                "{{ sleep 0.2; \"$ccstat\" summarize -f {format} {GOOD}; echo $? >&2; }} | {reader} >/dev/null"
            );
            assert_eq!(shell(&line), "0\n", "{reader}, {format}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_a_failure() {
    if std::path::Path::new("/dev/full").exists() {
        let said = shell("\"$ccstat\" summarize recordings > /dev/full; echo $? >&2");
        assert!(said.starts_with("ccstat: cannot write the report: ") && said.ends_with("\n4\n"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_on_a_live_pipe_reports_what_was_read() {
    let mut child = Command::new(crate::support::program())
        .args(["summarize", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"type\":\"user\"}\n{\"type\":\"user\"}\n{\"type\":\"user\"}\n").unwrap();
    let pid = child.id().to_string();
    wait_for_handler(child.id());
    std::thread::sleep(Duration::from_millis(500)); // for the lines to arrive
    assert!(child.try_wait().unwrap().is_none(), "a live pipe has not ended");
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(pipe); // it stayed open until here
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json_of(std::str::from_utf8(&output.stdout).unwrap());
    assert_eq!((&report["input"]["records"], &report["kinds"]["user"]), (&3.into(), &3.into()));
    assert_eq!(report["input"]["interrupted"], true);
}
