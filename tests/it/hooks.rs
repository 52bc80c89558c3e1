//! Hooks, MCP servers, tasks and limits, compared with rows that were counted by hand in the recordings.

use std::slice::from_ref;

use serde_json::{Value, json};

use crate::support::{log, run_with};

/// The three ways to read a recording: its stream, its transcript, and both.
const STREAM: usize = 0;
const SAVED: usize = 1;
const BOTH: usize = 2;

fn ways(name: &str) -> [Vec<String>; 3] {
    let stream = format!("recordings/2.1.325/stream/{name}.jsonl");
    let saved = format!("recordings/2.1.325/transcript/{name}");
    [vec![stream.clone()], vec![saved.clone()], vec![saved, stream]]
}

/// Returns the rows of a report about these logs.
fn rows<P: AsRef<str>>(report: &str, logs: &[P]) -> Vec<Value> {
    let logs: Vec<&str> = logs.iter().map(AsRef::as_ref).collect();
    let (code, stdout, stderr) = run_with(&[&[report], &logs[..], &["--format", "jsonl"]].concat());
    assert_eq!((code, &*stderr), (0, ""), "{report} {logs:?}");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns these cells of each row.
fn cells(rows: &[Value], keys: &[&str]) -> Vec<Value> {
    rows.iter().map(|row| keys.iter().map(|key| row[key].clone()).collect()).collect()
}

/// Returns the notes of a report about a log.
fn notes(report: &str, logs: &[&str]) -> Value {
    let (code, stdout, _) = run_with(&[&[report], logs, &["--format", "json"]].concat());
    assert_eq!(code, 0, "{report}");
    serde_json::from_str::<Value>(&stdout).unwrap()["notes"].clone()
}

const RUNS: &[&str] = &["hook", "command", "runs", "ok", "errors", "blocked", "open", "max_ms"];

#[test]
fn five_hooks_ran_in_41_and_one_of_them_blocked() {
    // Stream: lines 1 to 4, 7 to 10, 13 and 14 are five pairs of `hook_started` and `hook_response`; the exit
    // codes are 0, 0, 0, 2, 0. Transcript: four attachments (lines 3, 10, 24, 26) and a `stop_hook_summary`
    // of one hook (line 33).
    let row = |name: &str, command: Value, blocked: u64, took: Value| {
        json!([name, command, 1, 1 - blocked, 0, blocked, 0, took])
    };
    let saved = |took: [u64; 4]| {
        vec![
            row("SessionStart:startup", json!("echo session-start"), 0, json!(took[0])),
            row("UserPromptSubmit", json!("echo prompt-context"), 0, json!(took[1])),
            row("PreToolUse:Bash", json!("echo pre-hook-out"), 0, json!(took[2])),
            row("PostToolUse:Bash", json!("echo post-hook-err >&2; exit 2"), 1, Value::Null),
            row("Stop", json!("true"), 0, json!(took[3])),
        ]
    };
    let both = |name: &str| ways(name).map(|logs| cells(&rows("hooks", &logs), RUNS));
    let hooks = both("41-hooks");
    let printed = ["SessionStart:startup", "UserPromptSubmit", "PreToolUse:Bash", "PostToolUse:Bash", "Stop"];
    let printed =
        printed.map(|name| row(name, Value::Null, u64::from(name == "PostToolUse:Bash"), Value::Null));
    assert_eq!(hooks[STREAM], printed);
    assert_eq!(hooks[SAVED], saved([26, 9, 16, 12]));
    assert_eq!(hooks[BOTH], saved([26, 9, 16, 12]), "a run in both dialects counts once");
    // The same hooks without the flag that prints them: the stream has only the one before the session (lines
    // 1 and 2).
    let hooks = both("42-hooks-no-flag");
    assert_eq!(hooks[STREAM], [row("SessionStart:startup", Value::Null, 0, Value::Null)]);
    assert_eq!(hooks[SAVED], saved([21, 11, 11, 15]));
    assert_eq!(hooks[BOTH], saved([21, 11, 11, 15]));
}

#[test]
fn a_hook_that_denies_a_call_is_recognized_by_the_result_alone() {
    // 43 has no record of a hook: the result of the call (stream line 3, transcript line 22) names the hook
    // and its reason.
    let refused = json!(["PreToolUse:Bash", "echo blocked-by-hook >&2; exit 2", 1, 0, 0, 1, 0, null]);
    for logs in ways("43-hook-denies") {
        assert_eq!(cells(&rows("hooks", &logs), RUNS), from_ref(&refused), "{logs:?}");
    }
    let [stream, ..] = ways("43-hook-denies");
    assert_eq!(cells(&rows("hooks", &stream), &["event", "line"]), [json!(["PreToolUse", 3])]);
}

#[test]
fn hooks_of_older_sessions_are_counted_from_their_various_records() {
    // Two callbacks on one call have the same command text and no end. `after.sh` has a start, an end and
    // context, `guard.sh` a start and a denial, `lint.sh` a start, an end and a summary.
    let hooks = cells(&rows("hooks", &["logs/older-hooks.jsonl"]), RUNS);
    let expected = [
        json!(["PreToolUse:Read", "callback", 2, 0, 0, 0, 2, null]),
        json!(["PostToolUse:Read", "./after.sh", 1, 1, 0, 0, 0, 40]),
        json!(["PreToolUse:Bash", "./guard.sh", 1, 0, 0, 1, 0, null]),
        json!(["PreToolUse:Bash", "./missing.sh", 1, 0, 1, 0, 0, 3]),
        json!(["PreToolUse:Bash", "./slow.sh", 1, 0, 1, 0, 0, 60000]),
        json!(["PostToolUse:Bash", null, 1, 0, 0, 1, 0, null]),
        json!(["Stop", "./notify.sh", 1, 1, 0, 0, 0, null]),
        json!(["Stop", "./lint.sh", 1, 0, 1, 0, 0, 70]),
    ];
    assert_eq!(hooks, expected);
    // The same file under another name has the same hooks.
    let again = log(std::fs::read(crate::support::testdata("logs/older-hooks.jsonl")).unwrap());
    let twice = ["logs/older-hooks.jsonl", again.path().to_str().unwrap()];
    let twice = cells(&rows("hooks", &twice), &["hook", "command", "runs"]);
    assert_eq!(twice, cells(&rows("hooks", &["logs/older-hooks.jsonl"]), &["hook", "command", "runs"]));
}

#[test]
fn a_hook_of_the_host_and_its_denial_are_one_run() {
    // The request (line 4), its answer (line 5) and the result of the call (line 6) are one run.
    let hooks = cells(&rows("hooks", &["logs/limits.jsonl"]), RUNS);
    assert_eq!(hooks, [json!(["PreToolUse:mcp__my_docs__find", null, 1, 0, 0, 1, 0, null])]);
}

const SERVERS: &[&str] = &[
    "server",
    "status",
    "tools",
    "tools_used",
    "calls",
    "ok",
    "errors",
    "denied",
    "open",
    "max_ms",
    "result_bytes",
];

#[test]
fn the_server_of_44_offered_one_tool_that_was_called_once() {
    // Called at 53.786, answered at 53.825; the result is `"{\"sum\":5}"`, 13 bytes as written. Only the
    // stream has an `init` that lists the server.
    let row = |status: Value, tools: Value| json!(["demo", status, tools, 1, 1, 1, 0, 0, 0, 39, 13]);
    let servers = ways("44-mcp-tool").map(|logs| cells(&rows("mcp", &logs), SERVERS));
    assert_eq!(servers[STREAM], [row(json!("connected"), json!(1))]);
    assert_eq!(servers[SAVED], [row(Value::Null, Value::Null)]);
    assert_eq!(servers[BOTH], [row(json!("connected"), json!(1))]);
}

#[test]
fn a_server_has_its_last_status_and_its_tools_have_plain_names() {
    // `my docs` was connected at first and failed when a host asked; `off` the other way round; `a__b`
    // contains the separator.
    let servers = cells(&rows("mcp", &["logs/limits.jsonl"]), &SERVERS[..8]);
    let expected = [
        json!(["a__b", "connected", 1, 1, 1, 1, 0, 0]),
        json!(["my docs", "failed", 2, 1, 1, 0, 0, 1]),
        json!(["off", "connected", 1, 0, 0, 0, 0, 0]),
    ];
    assert_eq!(servers, expected);
}

const LIVES: &[&str] =
    &["task", "kind", "tool", "status", "ground", "started", "ended", "wall_ms", "calls", "context"];

#[test]
fn the_command_of_64_ran_and_ended_in_the_background() {
    // The call was made at 37.499. Stream: `task_updated` has the end 1794786218956. Transcript: the
    // notification was queued at 38.957.
    let row = |ended: &str, took: u64| {
        let (started, ended) = ("2026-11-15T23:43:37.499Z", format!("2026-11-15T23:43:{ended}Z"));
        json!(["b5zkswsi9", "bash", "Bash", "completed", "background", started, ended, took, null, null])
    };
    let tasks = ways("64-background-bash").map(|logs| cells(&rows("tasks", &logs), LIVES));
    assert_eq!(tasks[STREAM], [row("38.956", 1457)]);
    assert_eq!(tasks[SAVED], [row("38.957", 1458)]);
    assert_eq!(tasks[BOTH], [row("38.956", 1457)]);
}

#[test]
fn the_task_list_of_71_has_one_pending_entry() {
    // `TaskCreate` was answered at 01.719 with entry 1; `TaskList` reports it as pending.
    let started = "2026-11-15T23:44:01.719Z";
    let entry = json!(["1", "todo", "TaskCreate", "pending", null, started, null, null, null, null]);
    for logs in ways("71-task-tools") {
        assert_eq!(cells(&rows("tasks", &logs), LIVES), from_ref(&entry), "{logs:?}");
    }
}

#[test]
fn subagents_are_foreground_or_background_tasks() {
    // The last notification of each has its figures: 544 ms, 788 tokens and 1 tool in 36; 1604 ms, 788 and 1
    // in 38. The result of the call, the only source in the transcript of 36, says 565 ms.
    let keys = ["kind", "agent_type", "status", "ground", "wall_ms", "calls", "context"];
    let row =
        |ground: &str, took: u64| json!(["agent", "general-purpose", "completed", ground, took, 1, 788]);
    let tasks = ways("36-subagent").map(|logs| cells(&rows("tasks", &logs), &keys));
    assert_eq!(tasks[STREAM], [row("foreground", 544)]);
    assert_eq!(tasks[SAVED], [row("foreground", 565)]);
    assert_eq!(tasks[BOTH].len(), 1);
    for logs in ways("38-subagent-background") {
        assert_eq!(cells(&rows("tasks", &logs), &keys), [row("background", 1604)], "{logs:?}");
    }
    // 87 has two at the same time, of 2600 and 2149 ms.
    let [stream, saved, both] = ways("87-parallel-subagents").map(|logs| rows("tasks", &logs));
    assert_eq!(cells(&stream, &["wall_ms", "context"]), [json!([2600, 88]), json!([2149, 21])]);
    assert_eq!((saved.len(), both.len()), (2, 2));
    // 69 is a command that the turn waits for: it ends with its call, after 4154 ms.
    let [stream, ..] = ways("69-long-bash-progress").map(|logs| rows("tasks", &logs));
    assert_eq!(cells(&stream, &["kind", "ground", "wall_ms"]), [json!(["bash", "foreground", 4154])]);
}

#[test]
fn tasks_of_older_sessions_are_recognized_by_their_tool_results() {
    let tasks = cells(&rows("tasks", &["logs/older-hooks.jsonl"]), LIVES);
    let at = |second: &str| format!("2026-02-03T10:00:{second}Z");
    let expected = [
        json!([
            "bash_1",
            "bash",
            "Bash",
            "killed",
            "background",
            at("04.000"),
            at("06.500"),
            2500,
            null,
            null
        ]),
        json!([null, "agent", "Task", "completed", "foreground", at("07.000"), at("09.000"), 1900, 3, 1234]),
        json!(["1", "todo", "TaskCreate", "completed", null, at("10.100"), at("12.100"), 2000, null, null]),
    ];
    assert_eq!(tasks, expected);
}

#[test]
fn a_resumed_or_watched_task_continues() {
    let notice = |second: u64, text: &str| {
        let text = format!("<task-notification>\n<task-id>m1</task-id>\n{text}\n</task-notification>");
        json!({"type": "user", "sessionId": "s", "isSidechain": false, "uuid": format!("u{second}"),
            "timestamp": format!("2026-01-01T00:00:0{second}.000Z"), "message": {"role": "user", "content": text}})
        .to_string()
    };
    let watched = notice(1, "<event>line</event><result><status>failed</status></result>");
    assert_eq!(rows("tasks", &[log(&watched).path().to_str().unwrap()]), Vec::<Value>::new());
    let ends = [notice(2, "<status>completed</status>"), notice(3, "<status>failed</status>")].join("\n");
    let tasks = rows("tasks", &[log(ends).path().to_str().unwrap()]);
    assert_eq!(cells(&tasks, &["status", "ended"]), [json!(["failed", "2026-01-01T00:00:02.000Z"])]);
}

const MET: &[&str] = &["sort", "what", "model", "fallback_model", "context_before", "context", "wall_ms"];

#[test]
fn compactions_say_why_and_how_large_the_conversation_was() {
    for (name, row) in [
        ("40-compact", json!(["compaction", "manual", null, null, 5110, 2527, 34])),
        ("76-auto-compact", json!(["compaction", "auto", null, null, 151_225, 3277, 278])),
    ] {
        for logs in ways(name) {
            assert_eq!(cells(&rows("limits", &logs), MET), from_ref(&row), "{logs:?}");
        }
    }
    // Only the transcript has the time.
    let times = ways("40-compact").map(|logs| cells(&rows("limits", &logs), &["time"]));
    assert_eq!(times[STREAM], [json!([null])]);
    assert_eq!(times[SAVED], [json!(["2026-11-15T23:42:48.508Z"])]);
    assert_eq!(times[BOTH], times[SAVED]);
}

#[test]
fn fallbacks_refusals_and_stops_are_limits() {
    let fallback =
        json!(["fallback", "overloaded", "claude-opus-5-5", "claude-sonnet-5-5", null, null, null]);
    for logs in ways("66-fallback-model") {
        assert_eq!(cells(&rows("limits", &logs), MET), from_ref(&fallback), "{logs:?}");
    }
    // The stream of 63 only reports at its end that one response was refused; the transcript shows which.
    let refusals = ways("63-refusal").map(|logs| cells(&rows("limits", &logs), &["sort", "what", "model"]));
    assert_eq!(refusals[STREAM], [json!(["refusal", "safety_stop", null])]);
    assert_eq!(refusals[SAVED], [json!(["refusal", null, "claude-opus-5-5"])]);
    assert_eq!(refusals[BOTH], refusals[SAVED]);
    for logs in ways("32-max-turns") {
        assert_eq!(
            cells(&rows("limits", &logs), &["sort", "what"]),
            [json!(["stop", "max_turns"])],
            "{logs:?}"
        );
    }
    // A saved session does not record that its budget was spent.
    let stops = ways("33-max-budget").map(|logs| cells(&rows("limits", &logs), &["sort", "what"]));
    assert_eq!(
        stops,
        [vec![json!(["stop", "max_budget_usd"])], vec![], vec![json!(["stop", "max_budget_usd"])]]
    );
}

#[test]
fn rate_limits_say_how_much_is_used_and_when_they_are_lifted() {
    // 91 has the headers of a limit, but no event: it was run with an API key.
    for logs in ways("91-rate-limit-headers") {
        assert_eq!(rows("limits", &logs), Vec::<Value>::new());
    }
    let limits = rows("limits", &["logs/limits.jsonl"]);
    let keys = ["sort", "what", "model", "used", "resets"];
    let resets = "2026-11-16T01:00:00.000Z"; // 1794790800
    let expected = [
        json!(["rate_limit", "allowed_warning five_hour", null, 0.92, resets]),
        json!(["refusal", "cyber", "claude-opus-5-5", null, null]),
        json!(["refusal", null, "claude-sonnet-5-5", null, null]),
        json!(["compaction", "failed", null, null, null]),
        json!(["rate_limit", "rejected five_hour", null, null, resets]),
    ];
    assert_eq!(cells(&limits, &keys), expected, "the result's count has no refusal that other records lack");
    let older = cells(&rows("limits", &["logs/older-hooks.jsonl"]), MET);
    assert_eq!(older, [json!(["microcompaction", "auto", null, null, 18_000, 14_800, null])]);
}

#[test]
fn retries_are_failures_and_limits_only_point_to_them() {
    // 45: 529 and 500, then an answer: two retries. 46: 429 three times: two retries and a failure.
    for (name, note) in [("45-api-retry-529", "2 API failures"), ("46-rate-limit-429", "3 API failures")] {
        let [stream, ..] = ways(name);
        assert_eq!(rows("limits", &stream), Vec::<Value>::new());
        let notes = notes("limits", &[&stream[0]]).to_string();
        assert!(notes.contains(note) && notes.contains("ccstat errors"), "{name}: {notes}");
        let errors: u64 = rows("errors", &stream)
            .iter()
            .filter(|row| ["api", "retry"].contains(&row["sort"].as_str().unwrap()))
            .map(|row| row["errors"].as_u64().unwrap())
            .sum();
        assert!(note.starts_with(&errors.to_string()), "{name}: {errors}");
    }
}

#[test]
fn a_log_without_rows_says_so_in_one_line() {
    let plain = "recordings/2.1.325/stream/01-simple-text.jsonl";
    for (report, words) in [
        ("hooks", "no hook ran"),
        ("mcp", "no MCP server was listed or called"),
        ("tasks", "no task was started"),
        ("limits", "no limit was reached"),
    ] {
        assert_eq!(notes(report, &[plain]), json!([words]));
        let (code, stdout, stderr) = run_with(&[report, plain]);
        assert_eq!((code, &*stderr), (0, ""));
        assert_eq!(stdout.lines().filter(|line| line.contains(words)).count(), 1, "{stdout}");
    }
}

#[test]
fn the_timeline_has_limits_blocks_and_background_tasks() {
    let events = |name: &str, way: usize, wanted: &str| {
        let logs = &ways(name)[way];
        let rows = rows("show", &[&["latest".to_owned()], &logs[..]].concat());
        cells(&rows.into_iter().filter(|row| row["what"] == wanted).collect::<Vec<_>>(), &["name", "end"])
    };
    for way in [STREAM, SAVED, BOTH] {
        assert_eq!(events("41-hooks", way, "hook"), [json!(["PostToolUse:Bash", "blocked"])]);
        assert_eq!(events("43-hook-denies", way, "hook"), [json!(["PreToolUse:Bash", "blocked"])]);
        assert_eq!(
            events("66-fallback-model", way, "fallback"),
            [json!(["claude-sonnet-5-5", "overloaded"])]
        );
        assert_eq!(events("63-refusal", way, "refusal").len(), 1);
        assert_eq!(events("64-background-bash", way, "task_begin"), [json!(["bash", null])]);
        assert_eq!(events("64-background-bash", way, "task_end"), [json!(["bash", "completed"])]);
        assert_eq!(events("40-compact", way, "compaction").len(), 1);
        assert_eq!(
            events("36-subagent", way, "task_begin"),
            Vec::<Value>::new(),
            "a foreground task is shown as its call"
        );
    }
    let limits = rows("show", &["latest", "logs/limits.jsonl"]);
    let rates = limits.into_iter().filter(|row| row["what"] == "rate_limit").collect::<Vec<_>>();
    assert_eq!(
        cells(&rates, &["end"]),
        [json!(["allowed_warning five_hour"]), json!(["rejected five_hour"])]
    );
}

#[test]
fn filters_apply_to_hooks_tasks_and_limits() {
    let folder = "recordings/2.1.325/transcript";
    let session = "00021325-0000-4000-8000-000000000041";
    assert_eq!(rows("hooks", &[folder, "--session", session]).len(), 5);
    assert_eq!(rows("limits", &[folder, "--session", session]).len(), 0);
    assert_eq!(rows("tasks", &[folder, "--session", "00021325-0000-4000-8000-000000000064"]).len(), 1);
    // Three hooks of 41 ran after the call began at 49.95: before and after it, and at the end of the turn.
    // turn.
    assert_eq!(
        rows("hooks", &[folder, "--session", session, "--since", "2026-11-15T23:42:49.900Z"]).len(),
        3
    );
}
