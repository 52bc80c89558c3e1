//! Reports contain no message text, tool input or tool output: none of them shows a secret of a log that is
//! full of them.

use std::{cell::Cell, collections::BTreeSet};

use ccstat::internal::{
    input::{self, Bytes, Roots, Stop},
    report::{REPORTS, ReportSpec},
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::{
    formats::{formats, words},
    parquet,
    support::{ccstat, log, run, run_with},
};

/// Start of every secret.
const MARK: &str = "SECRET";

/// Reports that show content, as their help says.
const SHOWN: &[&str] = &["questions", "permissions", "suggestions", "contents"];

const STREAM: &str = "11111111-0000-4000-8000-000000000001";
const SAVED: &str = "22222222-0000-4000-8000-000000000002";

/// Generates a log with numbered secrets in all its texts.
#[derive(Default)]
struct SecretLog(Cell<u32>);

impl SecretLog {
    /// Returns a new secret.
    fn say(&self) -> String {
        self.0.set(self.0.get() + 1);
        format!("{MARK}-{} is told here", self.0.get())
    }

    /// Returns the blocks of an assistant, with calls of every kind.
    fn calls(&self, side: &str) -> Vec<Value> {
        let question = json!({"question": self.say(), "header": self.say(), "multiSelect": false,
            "options": [{"label": self.say(), "description": self.say()}]});
        let id = |name: &str| format!("toolu_{side}_{name}");
        vec![
            json!({"type": "thinking", "thinking": self.say(), "signature": self.say()}),
            json!({"type": "text", "text": self.say()}),
            json!({"type": "hologram", "light": self.say()}),
            json!({"type": "tool_use", "id": id("bash"), "name": "Bash", "input": {"command": self.say(), "description": self.say()}}),
            json!({"type": "tool_use", "id": id("write"), "name": "Write", "input": {"file_path": "/home/dev/a", "content": self.say()}}),
            json!({"type": "tool_use", "id": id("agent"), "name": "Task", "input": {"subagent_type": "Explore", "prompt": self.say(), "description": self.say()}}),
            json!({"type": "tool_use", "id": id("skill"), "name": "Skill", "input": {"skill": "deploy", "args": self.say()}}),
            json!({"type": "tool_use", "id": id("slash"), "name": "SlashCommand", "input": {"command": format!("/deploy {}", self.say())}}),
            json!({"type": "tool_use", "id": id("ask"), "name": "AskUserQuestion", "input": {"questions": [question]}}),
            json!({"type": "tool_use", "id": id("todo"), "name": "TaskCreate", "input": {"subject": self.say(), "description": self.say()}}),
            json!({"type": "tool_use", "id": id("mcp"), "name": "mcp__docs__find", "input": {"query": self.say(), self.say(): self.say()}}),
            json!({"type": "server_tool_use", "id": id("web"), "name": "web_search", "input": {"query": self.say()}}),
        ]
    }

    /// Returns the results of these calls: the block, and the structured result beside it.
    fn answers(&self, side: &str) -> Vec<(Value, Value)> {
        let answer = |name: &str, is_error: bool, content: Value, beside: Value| {
            let id = format!("toolu_{side}_{name}");
            (
                json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": content}),
                beside,
            )
        };
        let refusal = |start: &str, end: &str| Value::from(format!("{start}{}{end}", self.say()));
        vec![
            answer(
                "bash",
                true,
                refusal("Permission to use Bash with command ", " has been denied."),
                self.say().into(),
            ),
            answer(
                "write",
                true,
                refusal("PreToolUse:Write hook error: [./guard.sh]: ", ""),
                format!("Error: {}", self.say()).into(),
            ),
            answer("skill", true, refusal("MySECRETword is hook error: [", "]: no"), self.say().into()),
            answer("slash", true, self.say().into(), json!([self.say()])),
            answer(
                "agent",
                false,
                json!([{"type": "text", "text": self.say()}]),
                json!({"status": "completed", "prompt": self.say(), "agentId": "a1", "agentType": "Explore", "totalToolUseCount": 1,
                    "totalDurationMs": 5, "totalTokens": 7, "content": [{"type": "text", "text": self.say()}]}),
            ),
            answer("ask", false, self.say().into(), json!({"answers": {self.say(): self.say()}})),
            answer("todo", false, self.say().into(), json!({"task": {"id": "1", "subject": self.say()}})),
            answer(
                "mcp",
                false,
                self.say().into(),
                json!({"stdout": self.say(), "structuredContent": {"found": self.say()}}),
            ),
        ]
    }

    /// Returns a stream as the CLI prints it.
    fn stream(&self) -> Vec<Value> {
        let mut all = vec![
            json!({"type": "system", "subtype": "init", "cwd": "/home/dev/shop", "tools": ["Bash", "mcp__docs__find"], "model": "claude-opus-4-8",
                "mcp_servers": [{"name": "docs", "status": "failed", "error": self.say()}], "slash_commands": ["deploy"], "skills": ["deploy"],
                "agents": ["Explore"], "permissionMode": "default", "claude_code_version": "2.1.325", "output_style": self.say()}),
            json!({"type": "user", "message": {"role": "user", "content": self.say()}}),
            json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": format!("/deploy {}", self.say())}]}}),
            json!({"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": self.say()}}}),
            json!({"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": self.say()}}}),
        ];
        for block in self.calls("stream") {
            all.push(json!({"type": "assistant", "message": {"id": "msg_s", "model": "claude-opus-4-8", "role": "assistant", "content": [block],
                "usage": {"input_tokens": 5, "output_tokens": 7}}}));
        }
        for (block, beside) in self.answers("stream") {
            all.push(json!({"type": "user", "message": {"role": "user", "content": [block]}, "tool_use_result": beside}));
        }
        all.extend([
            json!({"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "toolu_stream_bash", "message": self.say(),
                "decision_reason_type": "rule", "decision_reason": self.say()}),
            json!({"type": "system", "subtype": "hook_started", "hook_id": "h1", "hook_name": "Stop", "hook_event": "Stop"}),
            json!({"type": "system", "subtype": "hook_response", "hook_id": "h1", "hook_name": "Stop", "hook_event": "Stop", "exit_code": 1,
                "stdout": self.say(), "stderr": self.say(), "output": self.say(), "outcome": "error"}),
            json!({"type": "system", "subtype": "api_retry", "error": self.say(), "error_message": self.say(), "retry_delay_ms": 5}),
            json!({"type": "assistant", "error": self.say(), "message": {"model": "<synthetic>", "content": [{"type": "text", "text": format!("API Error: {}", self.say())}]}}),
            json!({"type": "system", "subtype": "task_started", "task_id": "t1", "task_type": "local_bash", "description": self.say(), "prompt": self.say()}),
            json!({"type": "system", "subtype": "task_notification", "task_id": "t1", "status": "completed", "summary": self.say(), "output_file": "/tmp/t1"}),
            json!({"type": "system", "subtype": "status", "status": "compacting", "compact_result": "failed", "compact_error": self.say()}),
            json!({"type": "system", "subtype": "informational", "content": self.say()}),
            json!({"type": "tool_use_summary", "summary": self.say()}),
            json!({"type": "prompt_suggestion", "suggestion": self.say()}),
            json!({"type": "telepathy", "thought": self.say()}),
            json!({"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool", "tool_name": "Write", "tool_use_id": "toolu_stream_write",
                "input": {"content": self.say()}, "description": self.say(), "decision_reason": self.say()}}),
            json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r1", "response": {"behavior": "deny", "message": self.say()}}}),
            json!({"type": "control_response", "response": {"subtype": "error", "request_id": "r2", "error": self.say()}}),
            json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 2, "total_cost_usd": 0.5, "duration_ms": 90,
                "result": self.say(), "errors": [self.say(), {"type": "x", "message": self.say()}], "structured_output": {"told": self.say()},
                "permission_denials": [{"tool_name": "Bash", "tool_use_id": "toolu_stream_bash", "tool_input": {"command": self.say()}}]}),
        ]);
        let named = |(at, mut record): (usize, Value)| {
            record["session_id"] = STREAM.into();
            record["uuid"] = format!("{STREAM}-{at}").into();
            record["timestamp"] = format!("2026-03-01T10:00:{:02}.000Z", at % 60).into();
            record
        };
        all.into_iter().enumerate().map(named).collect()
    }

    /// Returns a transcript as the CLI saves it.
    fn saved(&self) -> Vec<Value> {
        let attached = |attachment: Value| json!({"type": "attachment", "attachment": attachment});
        let command = format!(
            "<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>{}</command-args>",
            self.say()
        );
        let notice = format!(
            "<task-notification>\n<task-id>t9</task-id>\n<status>completed</status>\n<summary>{}</summary>\n<result>{}</result>",
            self.say(),
            self.say()
        );
        let mut all = vec![
            json!({"type": "user", "message": {"role": "user", "content": self.say()}}),
            json!({"type": "user", "message": {"role": "user", "content": command}}),
            json!({"type": "user", "message": {"role": "user", "content": notice}}),
            json!({"type": "user", "isMeta": true, "message": {"role": "user", "content": [{"type": "text", "text": self.say()}]}}),
            json!({"type": "summary", "summary": self.say()}),
            json!({"type": "last-prompt", "lastPrompt": self.say()}),
            json!({"type": "custom-title", "customTitle": self.say()}),
            json!({"type": "queue-operation", "operation": "enqueue", "content": self.say()}),
            json!({"type": "system", "subtype": "local_command", "content": format!("<local-command-stdout>{}</local-command-stdout>", self.say())}),
            json!({"type": "system", "subtype": "api_error", "error": {"status": 529, "message": self.say(), "formatted": self.say()}, "retryInMs": 4}),
            json!({"type": "system", "subtype": "stop_hook_summary", "hookInfos": [{"command": "./lint.sh", "durationMs": 4}], "hookErrors": [self.say()],
                "stopReason": self.say()}),
            attached(
                json!({"type": "hook_success", "hookEvent": "PreToolUse", "hookName": "PreToolUse:Bash", "toolUseID": "toolu_saved_bash",
                "command": "./guard.sh", "stdout": self.say(), "stderr": self.say(), "content": self.say(), "exitCode": 0}),
            ),
            attached(
                json!({"type": "hook_blocking_error", "hookEvent": "PostToolUse", "hookName": "PostToolUse:Bash", "toolUseID": "toolu_saved_mcp",
                "blockingError": {"command": "./after.sh", "blockingError": self.say()}}),
            ),
            attached(json!({"type": "queued_command", "prompt": self.say()})),
            attached(json!({"type": "file", "filename": "a", "content": self.say()})),
            json!({"type": "progress", "data": {"type": "agent_progress", "prompt": self.say(), "agentId": "a1", "message": {"type": "assistant",
                "message": {"id": "msg_n", "model": "claude-opus-4-8", "content": [{"type": "text", "text": self.say()},
                {"type": "tool_use", "id": "toolu_nested", "name": "Grep", "input": {"pattern": self.say()}}]}}}}),
        ];
        for block in self.calls("saved") {
            all.push(json!({"type": "assistant", "message": {"id": "msg_t", "model": "claude-opus-4-8", "role": "assistant", "content": [block],
                "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7}}}));
        }
        for (block, beside) in self.answers("saved") {
            all.push(json!({"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": beside,
                "permissionDecision": {"decision": "accept", "source": "config"}}));
        }
        let named = |(at, mut record): (usize, Value)| {
            for (key, value) in [
                ("sessionId", SAVED),
                ("version", "2.1.325"),
                ("cwd", "/home/dev/shop"),
                ("gitBranch", "main"),
            ] {
                record[key] = value.into();
            }
            record["parentUuid"] = Value::Null;
            record["isSidechain"] = false.into();
            record["slug"] = self.say().into();
            record["uuid"] = format!("{SAVED}-{at}").into();
            record["timestamp"] = format!("2026-03-02T10:00:{:02}.000Z", at % 60).into();
            record
        };
        all.into_iter().enumerate().map(named).collect()
    }

    /// Returns records of a bridge, and lines that are not records.
    fn others(&self) -> String {
        let records = [
            json!({"type": "start", "prompt": self.say()}),
            json!({"type": "system", "subtype": "session_created", "sessionId": "bridge-1"}),
            json!({"type": "input", "sessionId": "bridge-1", "text": self.say()}),
            json!({"type": "stream_delta", "sessionId": "bridge-1", "text": self.say()}),
            json!({"type": "permission_request", "sessionId": "bridge-1", "toolUseId": "b1", "toolName": "Edit", "input": {"old_string": self.say()}}),
            json!({"type": "reject", "sessionId": "bridge-1", "id": "b1", "message": self.say()}),
            json!({"type": "tool_result", "sessionId": "bridge-1", "toolUseId": "b1", "content": self.say(), "isError": true}),
            json!({"type": "error", "sessionId": "bridge-1", "message": self.say(), "error": self.say()}),
        ];
        let records: Vec<String> = records.iter().map(Value::to_string).collect();
        let broken = format!(
            "[DEBUG] {}\n{{\"type\":\"{}\",}}\n{{\"no\":\"{}\"}}\n{{\"type\":\"torn\",\"text\":\"{}",
            self.say(),
            self.say(),
            self.say(),
            self.say()
        );
        records.join("\n") + "\n" + &broken
    }

    /// Returns the whole log.
    fn story(&self) -> String {
        let lines: Vec<String> = self.stream().iter().chain(&self.saved()).map(Value::to_string).collect();
        lines.join("\n") + "\n" + &self.others()
    }
}

fn story() -> NamedTempFile {
    log(SecretLog::default().story())
}

/// Runs a command and returns its standard output and standard error.
fn output_of(words: &[&str]) -> String {
    let (code, stdout, stderr) = run_with(words);
    assert!(code < 2, "{words:?}: {stderr}");
    stdout + &stderr
}

/// Fails if the output contains a secret.
fn assert_no_secret(words: &[&str], output: &str) {
    if let Some(at) = output.find(MARK) {
        let start = output[..at].char_indices().rev().nth(80).map_or(0, |(at, _)| at);
        panic!("{words:?} shows …{}", output[start..].chars().take(160).collect::<String>());
    }
}

#[test]
fn the_log_has_every_kind_of_text() {
    let secrets = SecretLog::default();
    let story = secrets.story();
    assert!(secrets.0.get() > 120, "{}", secrets.0.get());
    assert!((1..=secrets.0.get()).all(|number| story.contains(&format!("{MARK}-{number} "))));
    let summary: Value =
        serde_json::from_str(&output_of(&["summarize", "--json", log(story).path().to_str().unwrap()]))
            .unwrap();
    // Reports about an empty log would prove nothing.
    let dialects = summary["input"]["dialects"].as_object().unwrap();
    assert!(
        ["stream", "transcript", "bridge"].iter().all(|name| dialects.contains_key(*name)),
        "{dialects:?}"
    );
    assert_eq!((&summary["input"]["invalid"], &summary["input"]["truncated"]), (&3.into(), &1.into()));
    for count in [
        &summary["tools"]["errors"],
        &summary["tools"]["denied"],
        &summary["errors"]["api"],
        &summary["errors"]["api_retries"],
    ] {
        assert!(count.as_u64() > Some(0), "{summary}");
    }
}

#[test]
fn no_report_shows_a_secret_in_any_format() {
    let story = story();
    let path = story.path().to_str().unwrap();
    for spec in REPORTS.iter().filter(|spec| !SHOWN.contains(&spec.name)) {
        for format in formats(spec.name) {
            let words = [&words(spec, &[path])[..], &["--format", &format]].concat();
            assert_no_secret(&words, &output_of(&words));
        }
    }
    for table in ReportSpec::exports() {
        for format in formats(table.name) {
            let words = ["export", table.name, path, "--format", &format];
            assert_no_secret(&words, &output_of(&words));
        }
        let words = ["export", table.name, path];
        assert_no_secret(&words, &parquet::piped(&words).text());
    }
    for spec in parquet::reports().filter(|spec| !SHOWN.contains(&spec.name)) {
        let words = words(spec, &[path]);
        assert_no_secret(&words, &parquet::piped(&words).text());
    }
}

#[test]
fn no_other_output_shows_a_secret() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let gates = "denial,error,tool-error,no-result,open-call,orphan,invalid,truncated,unknown,unpriced,incomplete,mcp-failed,loop";
    let lines: &[&[&str]] = &[
        &["show", STREAM, path],
        &["show", SAVED, path, "--format", "json"],
        &["sessions", path, "--ccusage"],
        &["daily", path, "--ccusage"],
        &["blocks", path, "--ccusage"],
        &["summarize", path, "--fail-on", gates, "--max-cost", "0.01", "--format", "junit"],
        &["check", path, "--fail-on", gates, "--format", "markdown"],
        &["cost", path, "--by", "tool,agent,session", "--format", "csv"],
        &["diff", path, path, "--format", "json"],
        &["trace", path],
        &["trace", SAVED, path],
        &["trace", path, "--format", "perfetto"],
        &["trace", path, "--metrics", "--logs"],
    ];
    for words in lines {
        assert_no_secret(words, &output_of(words));
    }
    let folder = tempfile::tempdir().unwrap();
    let [summary, output] = ["summary", "output"].map(|name| folder.path().join(name));
    let mut github = ccstat(&["summarize", path, "--github", "--fail-on", gates]);
    let (_, stdout, stderr) = run(github.env("GITHUB_STEP_SUMMARY", &summary).env("GITHUB_OUTPUT", &output));
    let written = [summary, output].map(|path| std::fs::read_to_string(path).unwrap()).concat();
    assert!(!written.is_empty());
    assert_no_secret(&["summarize", "--github"], &(stdout + &stderr + &written));
    // `run` passes the stream on; its own output has no secret.
    let live = ["run", "--live=plain", "--", "cat", path];
    let (_, stdout, stderr) = run_with(&live);
    assert!(stdout.contains(MARK));
    assert_no_secret(&live, &stderr);
}

#[test]
fn reports_of_content_show_content() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let shown: BTreeSet<&str> =
        REPORTS.iter().map(|spec| spec.name).filter(|name| SHOWN.contains(name)).collect();
    assert_eq!(shown.len(), SHOWN.len());
    for spec in REPORTS.iter().filter(|spec| SHOWN.contains(&spec.name)) {
        let words = [&words(spec, &[path])[..], &["--format", "json"]].concat();
        assert!(output_of(&words).contains(MARK), "{words:?}");
    }
    let (_, stdout, _) = run_with(&["run", "--print", "text", "--", "cat", path]);
    assert!(stdout.contains(MARK));
}

#[test]
fn a_redacted_story_has_no_secret_left() {
    let story = log(SecretLog::default().story());
    let (code, stdout, stderr) = run_with(&["redact", story.path().to_str().unwrap()]);
    assert_eq!((code, &*stderr), (0, ""));
    assert_no_secret(&["redact"], &stdout);
    assert_eq!(stdout.len() as u64, story.path().metadata().unwrap().len());
}

#[test]
fn a_lean_archive_has_no_secret() {
    let story = story();
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().to_str().unwrap();
    let (code, _, stderr) = run_with(&["archive", "--lean", "--to", archive, story.path().to_str().unwrap()]);
    assert_eq!((code, &*stderr), (0, ""));
    let search = input::find(&Roots::Paths(vec![folder.path().to_owned()]));
    let [source] = &search.sources[..] else { panic!("{:?}", search.sources) };
    let Bytes::Lean(mut stream) = Bytes::open(&source.origin, &Stop::default()).unwrap() else {
        panic!("it is lean")
    };
    let mut lean = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut lean).unwrap();
    let lean = String::from_utf8_lossy(&lean);
    assert!(lean.matches("tool_use").count() > 2 && lean.len() > 5000, "{} bytes", lean.len());
    assert_no_secret(&["archive", "--lean"], &lean);
}
