//! `ccstat commands`: slash commands, skills and agents, offered and used.

use serde_json::{Value, json};

use crate::support::{printed_json, run_with};

/// Returns the rows of a report about these logs.
fn report(name: &str, logs: &[&str]) -> Value {
    printed_json(&[&[name], logs].concat())
}

/// Returns what was used: sort, name, offered, typed, called, failed, turns, responses, cost.
fn used(logs: &[&str]) -> Vec<Value> {
    let report = report("commands", logs);
    let rows = report["rows"].as_array().unwrap().clone();
    let first_unused = rows.iter().position(|row| row["used"] == 0).unwrap_or(rows.len());
    assert!(rows[first_unused..].iter().all(|row| row["used"] == 0), "those come last");
    let keys = ["sort", "name", "offered", "typed", "called", "failed", "turns", "responses", "cost_usd"];
    let cells = |row: &Value| {
        let both = row["typed"].as_u64().unwrap() + row["called"].as_u64().unwrap();
        assert_eq!(row["used"], both);
        Value::Array(keys.iter().map(|key| row[key].clone()).collect())
    };
    rows[..first_unused].iter().map(cells).collect()
}

/// Returns how many were offered and never used.
fn unused(logs: &[&str]) -> usize {
    let report = report("commands", logs);
    report["rows"].as_array().unwrap().iter().filter(|row| row["used"] == 0).count()
}

/// A recording in each dialect, and in both together in either order.
fn dialects(version: &str, name: &str) -> [Vec<String>; 4] {
    let stream = format!("recordings/{version}/stream/{name}.jsonl");
    let saved = format!("recordings/{version}/transcript/{name}");
    [vec![stream.clone()], vec![saved.clone()], vec![stream.clone(), saved.clone()], vec![saved, stream]]
}

fn check(version: &str, name: &str, stream: &[Value], saved: &[Value], both: &[Value]) {
    for (logs, expected) in dialects(version, name).iter().zip([stream, saved, both, both]) {
        let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
        assert_eq!(used(&logs), expected, "{logs:?}");
    }
}

/// 56, 57: `/context` and `/usage`. The saved session records each with `queue-operation`, `<command-name>`
/// and `system/local_command`, the stream with `local_command` of its result. No response.
#[test]
fn a_command_answered_by_the_cli_counts_once_and_starts_no_turn() {
    for (name, command) in [("56-slash-context", "context"), ("57-slash-cost", "usage")] {
        let stream = [json!(["command", command, 1, 1, 0, 0, 0, null, null])];
        let saved = [json!(["command", command, null, 1, 0, 0, 0, null, null])];
        check("2.1.325", name, &stream, &saved, &stream);
    }
}

/// 58: `/clear` is queued in the first session and run in the second; both offer it.
#[test]
fn a_clear_counts_once_although_two_sessions_record_it() {
    let stream = [json!(["command", "clear", 2, 1, 0, 0, 0, null, null])];
    let saved = [json!(["command", "clear", null, 1, 0, 0, 0, null, null])];
    check("2.1.325", "58-slash-clear-multi", &stream, &saved, &stream);
    let folder = "recordings/2.1.325/transcript/58-slash-clear-multi/";
    let first = format!("{folder}00021325-0000-4000-8000-000000000058.jsonl");
    assert_eq!(used(&[&first]), saved, "the session where it was queued is enough");
    let stream = "recordings/2.1.325/stream/58-slash-clear-multi.jsonl";
    assert_eq!(used(&[&first, stream]), [json!(["command", "clear", 2, 1, 0, 0, 0, null, null])]);
}

/// 40: `/compact` between two prompts. Its own response is in no log; those before and after belong to the
/// prompts. In the stream of 2.1.50 only the manual `compact_boundary` shows it.
#[test]
fn a_compaction_starts_no_turn_with_a_response() {
    for version in ["2.1.325", "2.1.50"] {
        let stream = [json!(["command", "compact", 1, 1, 0, 0, 0, null, null])];
        let saved = [json!(["command", "compact", null, 1, 0, 0, 0, null, null])];
        check(version, "40-compact", &stream, &saved, &stream);
    }
}

/// 75: `/hello world`, a custom command with one response: it has all of the session's 0.00262. A stream does
/// not print prompts, so the command is missing there. 45 commands are offered, of which 16 are skills, and 5
/// agents.
#[test]
fn a_custom_command_starts_a_turn_with_all_its_cost() {
    let saved = [json!(["command", "hello", null, 1, 0, 0, 1, 1, 0.00262])];
    let both = [json!(["command", "hello", 1, 1, 0, 0, 1, 1, 0.00262])];
    check("2.1.325", "75-slash-custom-command", &[], &saved, &both);
    let [stream, saved, both, _] = dialects("2.1.325", "75-slash-custom-command");
    assert_eq!(unused(&[&stream[0]]), 50);
    assert_eq!(unused(&[&saved[0]]), 0, "its lists were cut from the recording");
    assert_eq!(unused(&[&both[0], &both[1]]), 49);
    let report = report("commands", &[&saved[0]]);
    let row = &report["rows"][0];
    let tokens =
        ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"].map(|key| row[key].clone());
    assert_eq!(tokens, [110, 21, 3300, 220, 0], "the usage of `msg_2132575000001`");
    assert_eq!((&row["line"], &row["first"]), (&json!(3), &json!("2026-11-15T23:44:14.203Z")));
    assert!(!report.to_string().contains("world"), "arguments are not shown");
}

/// 74: the model calls the skill `greet`; a prompt started the turn.
#[test]
fn a_skill_called_by_the_model_starts_no_turn() {
    let stream = [json!(["skill", "greet", 1, 0, 1, 0, 0, null, null])];
    let saved = [json!(["skill", "greet", null, 0, 1, 0, 0, null, null])];
    check("2.1.325", "74-skill", &stream, &saved, &stream);
}

/// 36: one subagent, `Agent` in 2.1.325 and `Task` in 2.1.50. It answers twice; the stream shows only the
/// first answer. Its cost is that of its row in `ccstat agents`.
#[test]
fn an_agent_costs_what_its_subagents_cost() {
    for version in ["2.1.325", "2.1.50"] {
        for (logs, responses) in dialects(version, "36-subagent").iter().zip([1, 2, 2, 2]) {
            let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
            let agents = report("agents", &logs);
            let rows = agents["rows"].as_array().unwrap();
            let own = rows.iter().find(|row| row["agent"] == "general-purpose").unwrap();
            let offered = if logs.len() == 1 && responses == 2 { Value::Null } else { json!(1) };
            let expected =
                json!(["agent", "general-purpose", offered, 0, 1, 0, 1, responses, own["cost_usd"].clone()]);
            assert_eq!(used(&logs), [expected], "{logs:?}");
            assert!(own["cost_usd"].as_f64().unwrap() > 0.0);
        }
    }
}

/// All recordings of 2.1.325 at once, streams and saved sessions: `/clear`, `/compact`, `/context`, `/hello`,
/// `/model` (of the control protocol, 53) and `/usage` once each, the skill `greet` once; `grep -o
/// '"name":"Agent"'` finds the calls of agents.
#[test]
fn nothing_is_counted_twice_over_many_sessions() {
    let rows = used(&["recordings/2.1.325"]);
    let typed: Vec<&str> = rows.iter().filter(|row| row[3] == 1).filter_map(|row| row[1].as_str()).collect();
    assert_eq!(typed, ["clear", "compact", "context", "hello", "model", "usage"]);
    assert_eq!(rows.iter().filter(|row| row[0] == "command").count(), 6);
    let greet = rows.iter().find(|row| row[1] == "greet").unwrap();
    assert_eq!((&greet[3], &greet[4]), (&json!(0), &json!(1)));
}

/// The story of 1.0: `<command-name>init` without a slash starts three responses, one of a subagent.
/// `/tmp/build …` is a path. The model calls `clean` through SlashCommand, and its marker (line 10) is not a
/// second use; then it is typed, which starts one response. A response costs 1000 × $3 + 100 × $15 a million
/// = 0.0045.
#[test]
fn commands_of_older_versions_are_recognized() {
    let expected = [
        json!(["command", "clean", null, 1, 1, 0, 1, 1, 0.0045]),
        json!(["command", "init", null, 1, 0, 0, 1, 3, 0.0135]),
        json!(["agent", "general-purpose", null, 0, 1, 0, 1, 1, 0.0045]),
    ];
    assert_eq!(used(&["logs/commands/saved-1.0.jsonl"]), expected);
}

/// The story of 2.0: `/usage` as two `local_command` records; the skill `pdf` is called, loaded (line 6, not
/// a second use), then typed during a turn and run after it, with one response; `no-such` fails.
#[test]
fn a_typed_skill_is_still_a_skill() {
    let expected = [
        json!(["skill", "pdf", null, 1, 1, 0, 1, 1, 0.0045]),
        json!(["command", "usage", null, 1, 0, 0, 0, null, null]),
        json!(["skill", "no-such", null, 0, 1, 1, 0, null, null]),
    ];
    assert_eq!(used(&["logs/commands/saved-2.0.jsonl"]), expected);
}

/// The story of a host: `/deploy` is written (line 1) and replayed (line 4); `/tmp/x` is a path, and `/home`
/// is not offered; `/greet` is a skill. Five responses cost 0.004 together, divided evenly: one belongs to
/// `deploy`, two to `greet`.
#[test]
fn a_prompt_of_a_host_is_a_command_if_its_name_is_offered() {
    let expected = [
        json!(["command", "deploy", 1, 1, 0, 0, 1, 1, 0.0008]),
        json!(["skill", "greet", 1, 1, 0, 0, 1, 2, 0.0016]),
    ];
    assert_eq!(used(&["logs/commands/host.jsonl"]), expected);
    assert_eq!(unused(&["logs/commands/host.jsonl"]), 2, "compact and Explore");
    // Without `init` the offered names are unknown, so any name is taken for a command.
    let bridge = [json!(["command", "port", null, 1, 0, 0, 1, 1, null])];
    assert_eq!(used(&["logs/questions/bridge.jsonl"]), bridge);
}

#[test]
fn the_table_lists_used_commands_and_counts_the_rest() {
    let log = "recordings/2.1.325/stream/74-skill.jsonl";
    let (code, stdout, _) = run_with(&["commands", log]);
    assert_eq!(code, 0);
    let (above, below) = stdout.split_once("49 offered but never used (--limit 0 lists them)\n").unwrap();
    assert!(above.contains("greet") && below.contains("Total"), "the total is the last row: {stdout}");
    assert!(stdout.contains("greet") && !stdout.contains("deep-research"), "{stdout}");
    let all = run_with(&["commands", "--limit", "0", log]).1;
    assert!(all.contains("deep-research") && !all.contains("never used"), "{all}");
    let sorted = run_with(&["commands", "--sort", "name:asc", log]).1;
    assert!(sorted.contains("auto-mode-setup") && !sorted.contains("never used"), "{sorted}");
}

#[test]
fn a_log_without_commands_says_so_in_one_line() {
    let log = "recordings/2.1.325/transcript/01-simple-text";
    let (code, stdout, stderr) = run_with(&["commands", log]);
    assert_eq!((code, &*stderr), (0, ""));
    assert_eq!(stdout.lines().last(), Some("no command, skill or agent was used"));
    assert!(report("commands", &[log])["rows"].as_array().unwrap().is_empty());
}
