//! Gates: for each a case that passes and one that fails, with its figure and its place.

use std::collections::BTreeSet;

use ccstat::internal::report::Kind;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::support::{ccstat, log, run, run_with, testdata};

const STREAM: &str = "recordings/2.1.325/stream";
const DENIED: &str = "logs/nightly-denied.jsonl";

/// A response of the main agent that the CLI prints while it runs: its output tokens are a placeholder.
/// Without a price for output, a million of its input tokens cost a dollar.
fn response(id: &str, model: &str, input: u64, blocks: &Value) -> String {
    let usage = json!({"input_tokens": input, "output_tokens": 700_000});
    let message = json!({"id": id, "model": model, "content": blocks, "usage": usage});
    json!({"type": "assistant", "session_id": "s", "uuid": id, "message": message}).to_string()
}

fn priced(id: &str, input: u64) -> String {
    response(id, "claude-haiku-4-5", input, &json!([]))
}

fn call(id: &str, tool: &str, input: &str) -> String {
    let block = json!([{"type": "tool_use", "id": id, "name": tool, "input": {"command": input}}]);
    response(&format!("m-{id}"), "claude-haiku-4-5", 1, &block)
}

fn answer(id: &str, is_error: bool) -> String {
    let block = json!([{"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": "x"}]);
    json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": block}}).to_string()
}

fn result(fields: &Value) -> String {
    let mut record = json!({"type": "result", "subtype": "success", "session_id": "s", "is_error": false});
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record.to_string()
}

fn init(servers: &Value) -> String {
    json!({"type": "system", "subtype": "init", "session_id": "s", "mcp_servers": servers}).to_string()
}

/// The same response in a saved session.
fn saved(id: &str, input: u64) -> String {
    let printed: Value = serde_json::from_str(&priced(id, input)).unwrap();
    json!({"type": "assistant", "sessionId": "s", "parentUuid": null, "uuid": id, "message": printed["message"]}).to_string()
}

/// A saved session of a local command, which calls no model.
const LOCAL: &str = r#"{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"timestamp":"2026-11-15T08:00:00Z","message":{"role":"user","content":"<command-name>/help</command-name>"}}"#;

/// A log, or a part of `testdata/`.
enum Log {
    Lines(Vec<String>),
    At(&'static str),
}

use Log::{At, Lines};

/// Options of a gate, a log, whether the gate passes, its figure, and the line of its place.
type Story = (&'static str, Log, bool, Value, Option<u64>);

fn limits() -> Vec<Story> {
    let ended = |cost: f64| result(&json!({"total_cost_usd": cost, "num_turns": 3, "duration_ms": 5000}));
    let three =
        || vec![call("a", "Bash", "1"), answer("a", true), call("b", "Read", "2"), answer("b", false)];
    vec![
        ("--max-cost=0.01", At(DENIED), true, json!(0.007_968), None),
        ("--max-cost=$0.005", At(DENIED), false, json!(0.007_968), Some(6)),
        // Before a result: input tokens count, the placeholder of the output does not.
        ("--max-cost=0.6", Lines(vec![priced("a", 500_000)]), true, json!(0.5), None),
        (
            "--max-cost=0.6",
            Lines(vec![priced("a", 500_000), priced("b", 200_000)]),
            false,
            json!(0.7),
            Some(2),
        ),
        // Killed in a later turn: the cost of the result, and of the responses after it.
        (
            "--max-cost=1",
            Lines(vec![priced("a", 9), ended(0.5), priced("b", 400_000)]),
            true,
            json!(0.9),
            None,
        ),
        (
            "--max-cost=0.8",
            Lines(vec![priced("a", 9), ended(0.5), priced("b", 400_000)]),
            false,
            json!(0.9),
            Some(3),
        ),
        // The saved session has the same responses again, after the result: they are not charged twice.
        (
            "--max-cost=1",
            Lines(vec![priced("a", 300_000), ended(0.5), priced("b", 400_000), saved("a", 300_000)]),
            true,
            json!(0.9),
            None,
        ),
        // A cost that the CLI reports needs no price; other costs do.
        (
            "--max-cost=9",
            Lines(vec![response("a", "house", 9, &json!([])), ended(0.5)]),
            true,
            json!(0.5),
            None,
        ),
        ("--max-cost=9", At("logs/gateway.jsonl"), false, Value::Null, Some(2)),
        // Killed before its first response, or with a result that has no cost.
        ("--max-cost=9", Lines(vec![init(&json!([]))]), false, Value::Null, None),
        ("--max-cost=9", Lines(vec![result(&json!({}))]), false, Value::Null, None),
        ("--max-rebuilt-cost=0.0288", At("logs/cache/idle-5m.jsonl"), true, json!(0.0288), None),
        ("--max-rebuilt-cost=0.02", At("logs/cache/idle-5m.jsonl"), false, json!(0.0288), Some(7)),
        ("--max-rebuilt-cost=0", At(DENIED), false, json!(0.001_008), Some(6)),
        ("--max-rebuilt-cost=9", At("logs/cache/unpriced.jsonl"), false, Value::Null, Some(4)),
        // A saved session without a response costs nothing.
        ("--max-cost=0", Lines(vec![LOCAL.to_owned()]), true, json!(0), None),
        ("--max-turns=3", At(DENIED), true, json!(3), None),
        ("--max-turns=2", At(DENIED), false, json!(3), Some(10)),
        ("--max-turns=2", Lines(vec![priced("a", 1), priced("b", 1)]), true, json!(2), None),
        ("--max-turns=1", Lines(vec![priced("a", 1), priced("b", 1)]), false, json!(2), Some(2)),
        ("--max-duration=1s", At(DENIED), true, json!(409), None),
        ("--max-duration=300ms", At(DENIED), false, json!(409), Some(10)),
        // Without a result: from the first record to the last.
        ("--max-duration=1", At("recordings/2.1.325/stream/49-killed-midway.jsonl"), true, json!(290), None),
        (
            "--max-duration=0.1",
            At("recordings/2.1.325/stream/49-killed-midway.jsonl"),
            false,
            json!(290),
            None,
        ),
        // No timestamps: the duration is unknown.
        ("--max-duration=1h", Lines(vec![priced("a", 1)]), false, Value::Null, None),
        ("--max-tool-errors=1", Lines(three()), true, json!(1), Some(1)),
        ("--max-tool-errors=0", Lines(three()), false, json!(1), Some(1)),
        ("--max-tool-error-rate=50%", Lines(three()), true, json!(0.5), Some(1)),
        ("--max-tool-error-rate=0.49", Lines(three()), false, json!(0.5), Some(1)),
        // Denied calls count as unanswered.
        ("--max-tool-error-rate=0", At(DENIED), true, Value::Null, None),
        // A run with two subagents: the stream with their rows, the saved session without.
        ("--max-agents=2", At("recordings/2.1.325/stream/87-parallel-subagents.jsonl"), true, json!(2), None),
        (
            "--max-agents=1",
            At("recordings/2.1.325/stream/87-parallel-subagents.jsonl"),
            false,
            json!(2),
            Some(5),
        ),
        (
            "--max-agents=1",
            At(
                "recordings/2.1.325/transcript/87-parallel-subagents/00021325-0000-4000-8000-000000000087.jsonl",
            ),
            false,
            json!(2),
            Some(22),
        ),
        // The subagents of a workflow have no call.
        ("--max-agents=1", At("logs/attribution"), false, json!(2), None),
        // A call whose subagent left no row counts, unless it failed.
        (
            "--max-agents=1",
            Lines(vec![call("a", "Agent", "x"), call("b", "Agent", "y")]),
            false,
            json!(2),
            Some(2),
        ),
        ("--max-agents=0", Lines(vec![call("a", "Agent", "x"), answer("a", true)]), true, json!(0), None),
        ("--max-denials=2", At(DENIED), true, json!(2), Some(4)),
        ("--max-denials=1", At(DENIED), false, json!(2), Some(4)),
    ]
}

fn kinds() -> Vec<Story> {
    let again = |times: usize, error: bool| {
        (0..times)
            .flat_map(move |at| [call(&format!("c{at}"), "Bash", "same"), answer(&format!("c{at}"), error)])
    };
    let ended = || result(&json!({"total_cost_usd": 0.5}));
    let retry = json!({"type": "system", "subtype": "api_retry", "session_id": "s", "error": "overloaded"});
    let failed = json!([{"name": "docs", "status": "connected"}, {"name": "mail", "status": "failed"}]);
    let asks = json!([{"name": "docs", "status": "connected"}, {"name": "mail", "status": "needs-auth"}]);
    vec![
        ("--fail-on=denial", At("recordings/2.1.325/stream/02-single-bash.jsonl"), true, json!(0), None),
        ("--fail-on=denial", At(DENIED), false, json!(2), Some(4)),
        ("--fail-on=error", Lines(vec![retry.to_string(), ended()]), true, json!(0), None),
        ("--fail-on=error", At("recordings/2.1.325/stream/32-max-turns.jsonl"), false, json!(1), Some(6)),
        ("--fail-on=error", At("recordings/2.1.325/stream/47-auth-401.jsonl"), false, json!(2), None),
        ("--fail-on=tool-error", At(DENIED), true, json!(0), None),
        (
            "--fail-on=tool-error",
            At("recordings/2.1.325/stream/22-tool-failure.jsonl"),
            false,
            json!(2),
            None,
        ),
        ("--fail-on=no-result", At(DENIED), true, json!(0), None),
        ("--fail-on=no-result", Lines(vec![init(&json!([])), priced("a", 1)]), false, json!(1), Some(2)),
        ("--fail-on=open-call", At(DENIED), true, json!(0), None),
        (
            "--fail-on=open-call",
            Lines(vec![priced("x", 1), call("a", "Bash", "1")]),
            false,
            json!(1),
            Some(2),
        ),
        ("--fail-on=orphan", At(DENIED), true, json!(0), None),
        ("--fail-on=orphan", Lines(vec![ended(), answer("z", false)]), false, json!(1), Some(2)),
        ("--fail-on=invalid", At("bad/torn-last-line.jsonl"), true, json!(0), None),
        ("--fail-on=invalid", At("bad/five-broken-lines.jsonl"), false, json!(5), Some(1)),
        ("--strict", At(DENIED), true, json!(0), None),
        ("--strict", At("bad/five-broken-lines.jsonl"), false, json!(5), Some(1)),
        ("--fail-on=truncated", At("bad/five-broken-lines.jsonl"), true, json!(0), None),
        (
            "--fail-on=truncated",
            Lines(vec![ended(), "{\"type\":\"assis".to_owned()]),
            false,
            json!(1),
            Some(2),
        ),
        ("--fail-on=unknown", At(DENIED), true, json!(0), None),
        (
            "--fail-on=unknown",
            Lines(vec![
                ended(),
                r#"{"type":"zeal"}"#.to_owned(),
                response("q", "claude-haiku-4-5", 1, &json!([{"type": "odd"}])),
                r#"{"type":"zeal"}"#.to_owned(),
            ]),
            false,
            json!(2),
            Some(2),
        ),
        ("--fail-on=unpriced", At(DENIED), true, json!(0), None),
        ("--fail-on=unpriced", At("logs/gateway.jsonl"), false, json!(1), Some(2)),
        ("--fail-on=incomplete", At(DENIED), true, json!(0), None),
        (
            "--fail-on=incomplete",
            Lines(vec![priced("a", 1), ended(), priced("b", 1)]),
            false,
            json!(1),
            Some(3),
        ),
        ("--fail-on=mcp-failed", At("recordings/2.1.325/stream/44-mcp-tool.jsonl"), true, json!(0), None),
        ("--fail-on=mcp-failed", Lines(vec![init(&asks), ended()]), true, json!(0), None),
        (
            "--fail-on=mcp-failed",
            Lines(vec![ended(), init(&failed), init(&failed)]),
            false,
            json!(1),
            Some(2),
        ),
        ("--fail-on=loop", Lines(again(3, false).collect()), true, json!(0), None),
        ("--fail-on=loop", Lines(again(2, true).collect()), true, json!(0), None),
        ("--fail-on=loop", Lines(again(3, true).collect()), false, json!(1), Some(1)),
    ]
}

/// Runs the program and returns its gates, exit code and standard error.
fn judged(words: &[&str]) -> (i32, Vec<Value>, String) {
    let (code, stdout, stderr) = run_with(words);
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    (code, report["gates"].as_array().cloned().unwrap_or_default(), stderr)
}

#[test]
fn every_gate_passes_and_fails_as_its_cases_expect() {
    for (asked, story, held, figure, line) in limits().into_iter().chain(kinds()) {
        let file = match &story {
            Lines(lines) => Some(log(lines.join("\n"))),
            At(_) => None,
        };
        let path = match (&file, &story) {
            (Some(file), _) => file.path().to_str().unwrap(),
            (None, At(path)) => path,
            (None, Lines(_)) => unreachable!("lines are a file"),
        };
        for command in ["summarize", "check"] {
            for threads in ["1", "2"] {
                let (code, gates, stderr) = judged(&[command, "--json", "--threads", threads, asked, path]);
                let context = format!("{command} {asked} {path}: {gates:?} {stderr}");
                assert_eq!(gates.len(), 1, "{context}");
                assert_eq!((code, &gates[0]["held"]), (i32::from(!held), &Value::Bool(held)), "{context}");
                assert_eq!(gates[0]["figure"], figure, "{context}");
                if let Some(line) = line {
                    assert_eq!(
                        (&gates[0]["line"], &gates[0]["source"]),
                        (&json!(line), &json!(path)),
                        "{context}"
                    );
                }
                let name = asked.trim_start_matches("--").trim_start_matches("fail-on=");
                let name = name.split('=').next().unwrap().replace("strict", "invalid");
                let failed = format!("ccstat: gate {name} failed");
                assert_eq!(gates[0]["gate"], json!(name));
                assert_eq!(
                    (stderr.lines().count(), stderr.starts_with(&failed)),
                    (usize::from(!held), !held),
                    "{context}"
                );
            }
        }
    }
}

#[test]
fn every_gate_has_a_passing_and_a_failing_case() {
    let stories = kinds();
    let endings: BTreeSet<(&str, bool)> =
        stories.iter().map(|(asked, _, held, ..)| (*asked, *held)).collect();
    for kind in Kind::value_variants() {
        let asked = format!("--fail-on={}", kind.name());
        assert!(endings.contains(&(&*asked, true)) && endings.contains(&(&*asked, false)), "{asked}");
    }
}

#[test]
fn one_thread_and_two_give_the_same_verdicts() {
    let kinds: Vec<&str> = Kind::value_variants().iter().map(|kind| kind.name()).collect();
    let kinds = kinds.join(",");
    let limits = ["--max-cost=0.01", "--max-turns=2", "--max-duration=1s", "--max-tool-error-rate=0"];
    for command in ["summarize", "check"] {
        let words = [&[command, "--json", "recordings", "bad", "--fail-on", &kinds], &limits[..]].concat();
        let one = run_with(&[&words[..], &["--threads", "1"]].concat());
        assert_eq!(one, run_with(&[&words[..], &["--threads", "2"]].concat()));
        assert!(one.0 == 1 && one.2.lines().count() > 10);
    }
}

#[test]
fn a_denied_write_says_which_tool_which_call_and_how_to_allow_it() {
    let (code, stdout, stderr) = run_with(&["summarize", "--fail-on", "denial", DENIED]);
    assert_eq!(code, 1);
    let line = "denial failed at logs/nightly-denied.jsonl:4: \
                2 calls were denied: Bash, Write; first toolu_2132534000101 (Bash)";
    assert!(stdout.contains(&format!("\nGates\n✗ {line}\n")), "{stdout}");
    assert!(stdout.contains("add --allowedTools \"Bash,Write\" to the claude command"), "{stdout}");
    assert!(stdout.contains("Success, but 2 calls were denied"), "the report is printed: {stdout}");
    assert_eq!(stderr, format!("ccstat: gate {line}\n"));
    // If the report is not for people, or not printed, standard error gives the advice, too.
    for words in [["-q", "--fail-on", "denial"], ["--json", "--fail-on", "denial"]] {
        let (code, _, stderr) = run_with(&[&["summarize", DENIED], &words[..]].concat());
        assert_eq!((code, stderr.lines().count()), (1, 1));
        assert!(stderr.contains(line) && stderr.contains("--allowedTools \"Bash,Write\""), "{stderr}");
    }
    let markdown = run_with(&["summarize", "-f", "md", "--fail-on", "denial,error", DENIED]).1;
    assert!(markdown.contains("### Gates\n\n- ✗ denial failed at "), "{markdown}");
    assert!(markdown.contains("- ✗ 1 gate failed, 1 held"), "{markdown}");
}

#[test]
fn an_unsafe_name_is_never_part_of_a_suggested_command() {
    let denial = json!({"type": "system", "subtype": "permission_denied", "session_id": "s",
        "tool_name": "x\" && rm -rf ~ \u{1b}[2J", "tool_use_id": "t"});
    let file = log(denial.to_string());
    let (_, stdout, stderr) = run_with(&["summarize", "--fail-on", "denial", file.path().to_str().unwrap()]);
    assert!(stdout.contains("add --allowedTools TOOL to the claude command"), "{stdout}");
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'));
}

#[test]
fn without_gates_the_report_does_not_mention_them() {
    let (code, stdout, stderr) = run_with(&["summarize", DENIED]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(!stdout.contains("Gates"));
    assert_eq!(judged(&["summarize", "--json", DENIED]).1, Vec::<Value>::new());
    // With gates the summary is the same, although it is computed differently.
    let gated = run_with(&["summarize", "--max-turns", "9", DENIED]).1;
    assert_eq!(gated.replace("Gates\n✓ 1 gate held\n\n", ""), stdout);
}

#[test]
fn check_has_a_row_for_each_run() {
    let files = std::fs::read_dir(testdata(STREAM)).unwrap().count();
    let sessions: Value = serde_json::from_str(&run_with(&["sessions", "--json", STREAM]).1).unwrap();
    let named: BTreeSet<&str> =
        sessions["rows"].as_array().unwrap().iter().filter_map(|row| row["session"].as_str()).collect();
    let words = ["check", STREAM, "--fail-on", "denial,error,no-result"];
    let (code, stdout, _) = run_with(&[&words[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let runs: BTreeSet<&str> = rows.iter().filter_map(|row| row["session"].as_str()).collect();
    assert_eq!((code, &runs), (1, &named), "every session is a run");
    assert!(runs.len() <= rows.len() && rows.len() <= files + 5, "{} of {files}", rows.len());
    let is_failed = |row: &Value| !row["failed"].as_array().unwrap().is_empty();
    assert!(rows.is_sorted_by_key(|row| !is_failed(row)), "failed runs come first");
    for row in rows {
        assert_eq!(row["verdict"], if is_failed(row) { "FAILED" } else { "ok" });
        assert_eq!(row["outcome"] == "denied", row["denied"] != 0 && row["outcome"] != "error", "{row}");
    }
    assert_eq!(report["gates"].as_array().unwrap().len(), rows.len() * 3, "every gate for every run");
    let screen = run_with(&[&words[..], &["--limit", "0"]].concat()).1;
    let lines = screen.lines().filter(|line| line.starts_with("ok ") || line.starts_with("FAILED "));
    assert_eq!(lines.count(), rows.len(), "{screen}");
    let failed = rows.iter().filter(|row| is_failed(row)).count();
    let note = format!("✗ {} runs: {} passed, {failed} failed", rows.len(), rows.len() - failed);
    assert!(screen.starts_with(&note), "{screen}");
}

#[test]
fn the_rows_of_check_add_up_to_the_summary() {
    for logs in [STREAM, "logs", "recordings"] {
        let parsed = |words: &[&str]| -> Value { serde_json::from_str(&run_with(words).1).unwrap() };
        let (check, summary) = (parsed(&["check", "--json", logs]), parsed(&["summarize", "--json", logs]));
        let (totals, tools) = (&check["totals"], &summary["tools"]);
        assert_eq!(totals["cost_usd"], summary["cost"]["total_usd"], "{logs}");
        for key in ["calls", "ok", "errors", "denied", "open"] {
            assert_eq!(totals[key], tools[key], "{logs} {key}");
        }
        assert_eq!(totals["turns"], summary["turns"]["total"], "{logs}");
    }
}

#[test]
fn each_run_is_judged_by_itself() {
    let (quiet, dear) = (log(result(&json!({"total_cost_usd": 0.5}))), log(""));
    let other = result(&json!({"total_cost_usd": 2.0})).replace("\"s\"", "\"t\"") + "\nnoise\n";
    std::fs::write(dear.path(), other).unwrap();
    let empty = log("\n\n");
    let paths = [&quiet, &dear, &empty].map(|file| file.path().to_str().unwrap().to_owned());
    let words = ["check", "--json", "--max-cost", "1", "--fail-on", "invalid,no-result"];
    let words = [&words[..], &[&*paths[0], &*paths[1], &*paths[2]]].concat();
    let report: Value = serde_json::from_str(&run_with(&words).1).unwrap();
    let row = |path: &str| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["source"] == path).unwrap_or_else(|| panic!("{path}: {report}")).clone()
    };
    assert_eq!(row(&paths[0])["failed"], json!([]));
    assert_eq!(
        row(&paths[1])["failed"],
        json!(["max-cost", "invalid"]),
        "a broken line belongs to the run of its source"
    );
    assert_eq!(
        row(&paths[2])["failed"],
        json!(["max-cost", "no-result"]),
        "a log without records is a run without figures"
    );
    assert_eq!(row(&paths[2])["outcome"], "no-result");
    let gates = report["gates"].as_array().unwrap();
    let failed: Vec<&Value> =
        gates.iter().filter(|gate| gate["held"] == false).map(|gate| &gate["run"]).collect();
    assert_eq!(failed, [&json!("t"), &json!("t"), &json!(paths[2]), &json!(paths[2])]);
}

#[test]
fn without_a_gate_check_applies_error_no_result_and_denial_and_says_so() {
    let (code, stdout, stderr) = run_with(&["check", DENIED]);
    assert_eq!(code, 1);
    assert!(stderr.starts_with("ccstat: gate denial failed for 00021325-"), "{stderr}");
    let note = "no gate was given, so the default gates apply: error, no-result, denial";
    assert!(stdout.contains(note), "{stdout}");
    let failed = |words: &[&str]| -> Vec<Value> {
        let gates = judged(&[&["check", "--json"], words].concat()).1;
        assert_eq!(gates.len(), 3, "{words:?}");
        gates.into_iter().filter(|gate| gate["held"] == false).map(|gate| gate["gate"].clone()).collect()
    };
    let stream = |name: &str| format!("{STREAM}/{name}.jsonl");
    assert_eq!(failed(&[DENIED]), ["denial"]);
    assert_eq!(failed(&[&*stream("32-max-turns")]), ["error"]);
    assert_eq!(failed(&[&*stream("49-killed-midway")]), ["no-result"]);
    assert_eq!(run_with(&["check", &*stream("02-single-bash")]).0, 0);
    // Requested gates replace the default ones.
    let (code, stdout, stderr) = run_with(&["check", "--max-turns", "9", DENIED]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(!stdout.contains("default gates"), "{stdout}");
    let help = run_with(&["check", "--help"]).1;
    assert!(help.contains("--fail-on error,no-result,denial"), "{help}");
    let piped =
        run(ccstat(&["check", "--fail-on", "denial"]).write_stdin(std::fs::read(testdata(DENIED)).unwrap()));
    assert_eq!(piped.0, 1, "piped input is read: {}", piped.1);
}

/// Returns every gate, and whether it can be judged by the bytes alone.
fn every_gate() -> Vec<(String, bool)> {
    let limits = [
        "--max-cost=9",
        "--max-rebuilt-cost=9",
        "--max-turns=9",
        "--max-duration=9h",
        "--max-tool-errors=9",
        "--max-tool-error-rate=100%",
        "--max-denials=9",
    ];
    let kinds = Kind::value_variants().iter().map(|kind| {
        let by_bytes = [Kind::Invalid, Kind::Truncated].contains(kind);
        (format!("--fail-on={}", kind.name()), by_bytes)
    });
    limits.iter().map(|limit| ((*limit).to_owned(), false)).chain(kinds).collect()
}

#[test]
fn no_gate_passes_on_input_that_is_not_a_log() {
    // Objects with a `type` that Claude Code did not write.
    let stranger = log("{\"type\":\"module\",\"name\":\"x\"}\n{\"type\":\"commonjs\"}\n");
    let stranger = stranger.path().to_str().unwrap();
    for (gate, by_bytes) in every_gate() {
        for command in ["summarize", "check"] {
            let (code, gates, stderr) = judged(&[command, "--json", &gate, stranger]);
            assert_eq!(code, i32::from(!by_bytes), "{command} {gate}: {stderr}");
            assert_eq!(gates[0]["held"], by_bytes, "{command} {gate}");
            assert!(by_bytes || stderr.contains(" failed"), "{command} {gate}: {stderr}");
        }
    }
    // Empty input is 3, which overrides 1; the gates are judged nevertheless.
    let (empty, text) = (log("\n"), log("no log\n"));
    for path in [&empty, &text].map(|file| file.path().to_str().unwrap()) {
        for (gate, by_bytes) in every_gate().into_iter().filter(|(_, by_bytes)| !by_bytes) {
            for command in ["summarize", "check"] {
                let (code, gates, _) = judged(&[command, "--json", &gate, path]);
                assert_eq!((code, &gates[0]["held"]), (3, &Value::Bool(by_bytes)), "{command} {gate}");
            }
        }
    }
}

#[test]
fn a_log_without_a_record_beside_a_good_one_fails_every_gate_of_check() {
    let (good, empty) = (log(result(&json!({"total_cost_usd": 0.5, "duration_ms": 5}))), log("\n"));
    let paths = [&good, &empty].map(|file| file.path().to_str().unwrap());
    for (gate, by_bytes) in every_gate() {
        let (code, gates, stderr) = judged(&["check", "--json", &gate, paths[0], paths[1]]);
        let held = |path: &str| gates.iter().find(|gate| gate["run"] == path).unwrap()["held"] == true;
        assert_eq!(
            (code, held("s"), held(paths[1])),
            (i32::from(!by_bytes), true, by_bytes),
            "{gate}: {stderr}"
        );
    }
}

#[test]
fn a_filter_without_matches_fails_no_gate() {
    for (gate, _) in every_gate() {
        let words = ["summarize", "--json", &gate, DENIED, "--since", "2099-01-01"];
        let (code, _, stderr) = judged(&words);
        assert_eq!((code, &*stderr), (0, ""), "{gate}");
    }
}

#[test]
fn the_code_of_a_failed_gate_overrides_an_unreadable_source_but_not_empty_input() {
    for command in ["summarize", "check"] {
        let code = |words: &[&str]| run_with(&[&[command], words].concat()).0;
        assert_eq!(code(&["--fail-on", "denial", DENIED, "no-such-log.jsonl"]), 1);
        assert_eq!(code(&["--fail-on", "error", DENIED, "no-such-log.jsonl"]), 4);
        assert_eq!(code(&["--fail-on", "no-result", "no-such-log.jsonl"]), 3);
        assert_eq!(code(&["--fail-on", "invalid", "bad/plain-text.txt"]), 3);
    }
}

#[test]
fn an_invalid_limit_is_a_usage_error() {
    for words in [
        ["--max-cost", "x"],
        ["--max-cost", "-1"],
        ["--max-rebuilt-cost", "-1"],
        ["--max-turns", "1.5"],
        ["--max-duration", "soon"],
        ["--max-tool-errors", "few"],
        ["--max-tool-error-rate", "10"],
        ["--max-denials", ""],
        ["--fail-on", "nonsense"],
        ["--fail-on", "denial,nonsense"],
    ] {
        for command in ["summarize", "check"] {
            let (code, stdout, stderr) = run_with(&[&[command, DENIED], &words[..]].concat());
            assert_eq!((code, &*stdout), (2, ""), "{words:?}");
            assert!(stderr.contains(words[0]), "{stderr}");
        }
    }
    assert!(run_with(&["check", "--max-cost", "x"]).2.contains("give dollars such as 5 or 0.50"));
}

#[test]
fn gates_judge_only_rows_that_match_the_filter() {
    let held = |words: &[&str]| {
        judged(&[&["summarize", "--json"], words, &["--fail-on", "denial", DENIED]].concat()).1
    };
    assert_eq!(held(&["--tool", "Write"])[0]["figure"], 1);
    assert_eq!(held(&["--tool", "Read"])[0]["held"], true);
}
