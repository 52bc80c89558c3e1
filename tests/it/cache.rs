//! Rebuilds of the prompt cache: hand-counted figures of written logs and recordings.
//!
//! In most logs of `testdata/logs/cache` the first response caches 10,000 tokens, and the second one reads 4,000 and
//! writes 7,000: 6,000 are rebuilt.

use serde_json::{Value, json};

use crate::support::{cases, printed_rows, recording, run_with, testdata};

fn log(name: &str) -> String {
    testdata(&format!("logs/cache/{name}")).to_str().unwrap().to_owned()
}

fn rows(path: &str) -> Vec<Value> {
    printed_rows(&["cache", path])
}

/// Cause, evidence, details, tokens and cost of the only rebuild of a log.
fn only(name: &str) -> (String, String, Value, u64, Value) {
    let rows = rows(&log(name));
    assert_eq!(rows.len(), 1, "{name}: {rows:#?}");
    let text = |key: &str| rows[0][key].as_str().unwrap_or_default().to_owned();
    let tokens = rows[0]["rebuilt_estimate"].as_u64().unwrap();
    (
        text("cause"),
        text("evidence"),
        rows[0]["details"].clone(),
        tokens,
        rows[0]["extra_estimate_usd"].clone(),
    )
}

#[test]
fn the_first_cause_with_evidence_is_named_with_what_changed() {
    // Opus 5.5 writes for 5 dollars a million (8 for an hour) and reads for 0.20: 6,000 tokens cost 0.0288 more
    // (0.0468), and 2,000 cost 0.0096 more.
    let cases = [
        ("tools", "tools", "request", json!("~Bash, +mcp__docs__find, -Read"), 6000, json!(0.0288)),
        ("system", "system", "request", json!("system prompt"), 6000, json!(0.0288)),
        ("effort", "effort", "request", json!("medium → high"), 6000, json!(0.0288)),
        (
            "betas",
            "betas",
            "request",
            json!("+context-1m-2025-08-07, -effort-2025-11-24"),
            6000,
            json!(0.0288),
        ),
        ("rewritten", "rewritten", "request", json!("1 of 2 messages kept"), 6000, json!(0.0288)),
        // The first request had cached 5,000 tokens. 3,000 of them are read, so at most 2,000 can be old.
        ("compaction", "compaction", "log", Value::Null, 2000, json!(0.0096)),
        ("resume", "resume", "request", json!("a new process"), 6000, json!(0.0288)),
        ("idle-5m", "idle", "log", json!("expired after 5 minutes"), 6000, json!(0.0288)),
        ("idle-1h", "idle", "log", json!("expired after 1 hour"), 6000, json!(0.0468)),
        // Twenty minutes are less than the hour that was written.
        ("unknown-1h", "unknown", "", Value::Null, 6000, json!(0.0468)),
        ("server", "system", "server", json!("server: system_changed"), 6000, json!(0.0288)),
        // Haiku 4.5: 1.15 dollars a million more; Sonnet 4.5: 3.45.
        ("model", "model", "request", json!("claude-opus-5-5 → claude-haiku-4-5"), 6000, json!(0.0069)),
        ("old-model", "model", "log", json!("claude-opus-5-5 → claude-sonnet-4-5"), 6000, json!(0.0207)),
        ("unpriced", "unknown", "", Value::Null, 6000, Value::Null),
    ];
    for (name, cause, evidence, details, tokens, cost) in cases {
        let expected = (cause.to_owned(), evidence.to_owned(), details, tokens, cost);
        assert_eq!(only(&format!("{name}.jsonl")), expected, "{name}");
    }
}

#[test]
fn a_fork_is_a_cause_if_its_origin_is_read_or_not() {
    let (cause, evidence, ..) = only("fork-copy.jsonl");
    // Alone, the copied response belongs to the fork, and nothing says why the cache was lost.
    assert_eq!((&*cause, &*evidence), ("unknown", ""));
    let [origin, fork] = ["fork-origin.jsonl", "fork-copy.jsonl"].map(log);
    let rows = printed_rows(&["cache", &origin, &fork]);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!((&rows[0]["cause"], &rows[0]["evidence"]), (&json!("fork"), &json!("log")));
    assert_eq!(rows[0]["session"], "00cac4e0-0000-4000-8000-000000000015");
    assert_eq!(rows[0]["rebuilt_estimate"], 6000);
}

#[test]
fn a_pause_is_from_request_to_request() {
    let rows = rows(&log("idle-5m.jsonl"));
    assert_eq!((&rows[0]["gap_ms"], &rows[0]["lifetime_ms"]), (&json!(360_000), &json!(300_000)));
    assert_eq!((&rows[0]["cached"], &rows[0]["cache_read"]), (&json!(10_000), &json!(4000)));
}

#[test]
fn first_writes_are_not_rebuilds() {
    // 44, 74: the second response reads more than the first had cached. 58: a cleared conversation is another
    // session. 40: nothing is cached after the compaction. 50: everything is read again. 88: no cache at all.
    for name in [
        "40-compact",
        "44-mcp-tool",
        "50-resume",
        "58-slash-clear-multi",
        "74-skill",
        "88-subagent-denied-tool",
    ] {
        let path = recording(&format!("transcript/{name}"));
        assert_eq!(rows(path.to_str().unwrap()), [] as [Value; 0], "{name}");
    }
}

#[test]
fn the_rebuilds_of_recordings_are_counted_by_hand() {
    // The stub reads 3,000 tokens twice and writes 210 twice: the second time, they had been cached. Tools,
    // parameters and messages are the same, so the cause is unknown.
    for (name, tokens) in [
        ("transcript/71-task-tools", &[210][..]),
        ("stream/71-task-tools.jsonl", &[210]),
        ("transcript/11-edit", &[210]),
        ("transcript/28-task-spawn-teammate", &[210, 220]),
        ("transcript/64-background-bash", &[220]),
    ] {
        let rows = rows(recording(name).to_str().unwrap());
        let found: Vec<u64> = rows.iter().map(|row| row["rebuilt_estimate"].as_u64().unwrap()).collect();
        assert_eq!(found, tokens, "{name}");
        assert!(rows.iter().all(|row| row["cause"] == "unknown"), "{name}: {rows:#?}");
    }
    // Both dialects of one run are the same conversation. 210 tokens cost 0.001008 dollars more than a read.
    let both = ["stream/71-task-tools.jsonl", "transcript/71-task-tools"].map(recording);
    let [one, two] = both.each_ref().map(|path| path.to_str().unwrap());
    let rows = printed_rows(&["cache", one, two]);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0]["extra_estimate_usd"], json!(0.001_008));
}

#[test]
fn the_totals_of_causes_add_up() {
    let folder = testdata("logs/cache");
    let rows = printed_rows(&["export", "cache_causes", folder.to_str().unwrap()]);
    let sum = |key: &str| -> f64 { rows.iter().filter_map(|row| row[key].as_f64()).sum() };
    // 14 rebuilds of 6,000 and one of 2,000. 5m: 9 * 0.0288 + 0.0096, 1h: 2 * 0.0468, and 0.0069 and 0.0207. One of
    // the models has no price.
    assert_eq!((sum("rebuilds"), sum("rebuilt_estimate")), (15.0, 86_000.0));
    assert!((sum("extra_estimate_usd") - 0.390).abs() < 1e-9, "{}", sum("extra_estimate_usd"));
    let idle = rows.iter().find(|row| row["cause"] == "idle").unwrap();
    assert_eq!((&idle["rebuilds"], &idle["extra_estimate_usd"]), (&json!(2), &json!(0.0756)));
}

/// The object `cache` of the summary.
fn summed(path: &str, options: &[&str]) -> Value {
    let arguments: Vec<&str> =
        ["summarize", path, "--format", "json"].iter().chain(options).copied().collect();
    let (code, stdout, stderr) = run_with(&arguments);
    assert_eq!(code, 0, "{path}: {stderr}");
    serde_json::from_str::<Value>(&stdout).unwrap()["cache"].clone()
}

#[test]
fn the_summary_has_the_sums_of_all_rows() {
    let folders = ["recordings/2.1.325/transcript", "recordings/2.1.325/stream", "logs/cache"].map(testdata);
    for path in folders.iter().flat_map(|folder| cases(folder)).chain(folders.clone()) {
        let path = path.to_str().unwrap();
        for options in [&[][..], &["--since", "2026-11-10T09:01:30Z"], &["--main"]] {
            let arguments: Vec<&str> = ["cache", path].iter().chain(options).copied().collect();
            let (rows, summed) = (printed_rows(&arguments), summed(path, options));
            let tokens: u64 = rows.iter().map(|row| row["rebuilt_estimate"].as_u64().unwrap()).sum();
            assert_eq!(summed["rebuilt_estimate"], tokens, "{path} {options:?}");
            let costs: Option<Vec<f64>> = rows.iter().map(|row| row["extra_estimate_usd"].as_f64()).collect();
            let nanos = |usd: f64| (usd * 1e9).round();
            let sum = costs.map(|costs| costs.into_iter().map(nanos).sum::<f64>());
            assert_eq!(summed["extra_estimate_usd"].as_f64().map(nanos), sum, "{path} {options:?}");
        }
    }
}

#[test]
fn the_summary_says_in_one_line_what_was_reused_and_rebuilt() {
    let line = |name: &str| {
        let (_, stdout, _) = run_with(&["summarize", &log(name)]);
        stdout.lines().find(|line| line.contains("prompt cache")).map(|line| line.trim().to_owned())
    };
    let line = |name: &str| line(&format!("{name}.jsonl")).unwrap();
    let cost =
        "prompt cache: 4,000 tokens reused, 6,000 rebuilt for $0.0288 more (estimate; why: `ccstat cache ";
    assert!(line("idle-5m").starts_with(cost), "{}", line("idle-5m"));
    let unknown = "prompt cache: 4,000 tokens reused, 6,000 rebuilt at unknown cost (estimate)";
    assert!(line("unpriced").starts_with(unknown), "{}", line("unpriced"));
}

#[test]
fn a_filter_keeps_the_rebuilds_of_its_responses_and_their_causes() {
    let folder = testdata("logs/cache");
    let folder = folder.to_str().unwrap();
    // The response before is outside of the period; the cause is known all the same.
    let rows = printed_rows(&["cache", folder, "--since", "2026-11-10T09:01:30Z"]);
    let causes: Vec<&str> = rows.iter().map(|row| row["cause"].as_str().unwrap()).collect();
    assert_eq!(causes, ["compaction", "model", "fork", "unknown"]);
    let rows = printed_rows(&["cache", folder, "--model", "haiku"]);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!((&rows[0]["cause"], &rows[0]["extra_estimate_usd"]), (&json!("model"), &json!(0.0069)));
}

#[test]
fn every_format_says_that_figures_are_estimates() {
    let path = log("idle-5m.jsonl");
    for format in ["table", "markdown", "html", "json", "jsonl", "csv", "tsv"] {
        let (code, stdout, stderr) = run_with(&["cache", &path, "--format", format]);
        assert_eq!(code, 0, "{format}: {stderr}");
        assert!(stdout.contains("est"), "{format}: {stdout}");
        assert!(stdout.contains("idle"), "{format}: {stdout}");
    }
}
