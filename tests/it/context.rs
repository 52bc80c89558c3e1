//! `context`: what filled the window of a session.
//!
//! In the written log, the parts of the largest prompt have 40,000 bytes and 20,000 tokens, so every estimate is
//! half of the bytes.

use serde_json::{Value, json};

use crate::support::{log, recording, run_with, testdata};

const LOG: &str = "logs/context.jsonl";

fn report_of(words: &[&str]) -> Value {
    let (code, stdout, stderr) = run_with(&[words, &["--json"]].concat());
    assert_eq!(code, 0, "{words:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn context_of(path: &std::path::Path) -> Value {
    report_of(&["context", "latest", path.to_str().unwrap()])
}

/// The value of these columns in each row.
fn cells(report: &Value, keys: &[&str]) -> Vec<Value> {
    let rows = report["rows"].as_array().unwrap().iter();
    rows.map(|row| keys.iter().map(|key| row[*key].clone()).collect()).collect()
}

#[test]
fn the_parts_of_the_largest_prompt_have_the_figures_counted_by_hand() {
    let report = context_of(&testdata(LOG));
    let expected = json!([
        ["system", null, 2, 4000, 2000, 0.1],
        ["tools", null, 2, 3000, 1500, 0.075],
        ["server", "mail", 1, 5000, 2500, 0.125],
        ["server", "docs", 2, 4000, 2000, 0.1],
        ["memory", "nested_memory", 1, 2000, 1000, 0.05],
        ["attachments", "skill_listing", 1, 1000, 500, 0.025],
        ["messages", "calls", 2, 1000, 500, 0.025],
        ["messages", "user", 1, 500, 250, 0.0125],
        ["results", "Bash", 1, 16500, 8250, 0.4125],
        ["results", "mcp__docs__find", 1, 3000, 1500, 0.075],
        ["compaction", "auto", null, null, null, null],
    ]);
    let keys = ["part", "name", "items", "bytes", "estimated_tokens", "estimated_share"];
    assert_eq!(Value::from(cells(&report, &keys)), expected);
    assert_eq!(report["totals"]["estimated_tokens"], 20_000);
    assert_eq!(report["totals"]["removed_tokens"], 16_000);
}

#[test]
fn carrying_a_server_costs_its_tokens_in_every_request() {
    // Four requests: the first writes the cache at 3.75 dollars for a million tokens, three read it at 0.30.
    let report = context_of(&testdata(LOG));
    let rows: Vec<Value> = cells(&report, &["part", "calls", "estimated_carried_usd"]);
    assert_eq!(
        rows[1..4],
        [json!(["tools", 1, 0.006975]), json!(["server", 0, 0.011625]), json!(["server", 1, 0.0093])]
    );
    let notes = report["notes"].to_string();
    assert!(notes.contains("no tool of the MCP server mail was called"), "{notes}");
    assert!(!notes.contains("docs was called"), "{notes}");
    assert!(notes.contains("estimates"), "{notes}");
}

#[test]
fn every_format_says_which_figures_are_estimates() {
    let path = testdata(LOG);
    for format in ["table", "json", "jsonl", "csv", "tsv", "markdown", "html"] {
        let (code, stdout, _) = run_with(&["context", "latest", path.to_str().unwrap(), "--format", format]);
        assert_eq!(code, 0, "{format}");
        assert!(stdout.contains("estimated_tokens") || stdout.contains("≈ Tokens"), "{format}: {stdout}");
        assert!(
            stdout.contains("estimated_carried_usd") || stdout.contains("≈ Carried"),
            "{format}: {stdout}"
        );
    }
}

#[test]
fn without_system_prompt_and_tools_the_rest_of_the_window_is_unknown() {
    // A prompt of 400 bytes in a window of 1,000 tokens: 100 tokens of it, and 900 that the log does not explain.
    let text = "x".repeat(400 - r#"{"type":"text","text":""}"#.len());
    let user = json!({"type": "user", "sessionId": "s", "uuid": "u", "parentUuid": null, "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]}});
    let usage = json!({"input_tokens": 300, "cache_read_input_tokens": 700, "output_tokens": 9});
    let answer = json!({"type": "assistant", "sessionId": "s", "uuid": "a", "parentUuid": "u", "timestamp": "2026-01-01T00:00:05Z",
        "message": {"id": "m", "role": "assistant", "model": "claude-haiku-4-5", "content": [], "stop_reason": "end_turn", "usage": usage}});
    let file = log(format!("{user}\n{answer}\n"));
    let report = context_of(file.path());
    let expected = json!([["messages", "user", 400, 100], ["unknown", null, null, 900]]);
    assert_eq!(Value::from(cells(&report, &["part", "name", "bytes", "estimated_tokens"])), expected);
    assert!(report["notes"].to_string().contains("4 bytes each"), "{report}");
}

#[test]
fn recordings_have_the_figures_counted_by_hand() {
    // The prompt tokens of the largest response, and the tokens that compactions removed.
    for (case, id, largest, removed) in [
        ("transcript/40-compact", "latest", 5100, json!(2583)),
        ("transcript/44-mcp-tool", "latest", 3630, Value::Null),
        ("transcript/50-resume", "00021325", 1200, Value::Null),
        ("transcript/50-resume", "a549d099", 1300, Value::Null),
        ("transcript/58-slash-clear-multi", "00021325", 100, Value::Null),
        ("transcript/58-slash-clear-multi", "a76e366d", 200, Value::Null),
        ("transcript/71-task-tools", "latest", 3630, Value::Null),
        ("transcript/74-skill", "latest", 3630, Value::Null),
        ("transcript/88-subagent-denied-tool", "latest", 1001, Value::Null),
    ] {
        let path = recording(case);
        let report = report_of(&["context", id, path.to_str().unwrap()]);
        assert_eq!(report["totals"]["estimated_tokens"], json!(largest), "{case}");
        assert_eq!(report["totals"]["removed_tokens"], removed, "{case}");
        let rows = report["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().filter_map(|row| row["estimated_tokens"].as_u64()).sum();
        assert_eq!(json!(sum), report["totals"]["estimated_tokens"], "{case}");
    }
}

#[test]
fn a_session_without_tokens_says_so() {
    let file = log(
        r#"{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"message":{"role":"user","content":"hi"}}"#,
    );
    let report = context_of(file.path());
    assert_eq!(report["rows"], json!([]));
    assert!(report["notes"].to_string().contains("size of the window is not known"), "{report}");
}
