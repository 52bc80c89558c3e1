//! Short logs for rules that no recording covers. The numbers N1 … N20 are the contract's settled cases.

use ccstat::internal::{facts::Account, measure::Usd};

use crate::support::account_of;

fn account(lines: &[&str]) -> Account {
    account_of(lines.join("\n"))
}

#[test]
fn a_prompt_is_what_a_human_asked() {
    for (fields, content, prompts) in [
        ("", r#""fix it""#, 1),
        ("", r#"[{"type":"text","text":"fix it"},{"type":"image"}]"#, 1),
        ("", r#""<command-message>hello</command-message>\n<command-name>/hello</command-name>""#, 1),
        (r#","origin":{"kind":"human"}"#, r#""fix it""#, 1),
        (r#","origin":{"kind":"task-notification"}"#, r#""fix it""#, 0),
        (r#","origin":{"kind":"peer"}"#, r#""fix it""#, 0),
        (r#","isMeta":true"#, r#""fix it""#, 0),
        (r#","isMeta":false"#, r#""fix it""#, 1),
        (r#","isSynthetic":true"#, r#""fix it""#, 0),
        (r#","isReplay":true"#, r#""fix it""#, 0),
        (r#","isCompactSummary":true"#, r#""fix it""#, 0),
        (r#","isSidechain":true"#, r#""fix it""#, 0),
        (r#","parent_tool_use_id":"toolu_1""#, r#""fix it""#, 0),
        (r#","parent_tool_use_id":null"#, r#""fix it""#, 1),
        (r#","toolUseResult":{"stdout":""}"#, r#""fix it""#, 0),
        ("", r#"[{"type":"tool_result","tool_use_id":"t"}]"#, 0),
        ("", r#"[{"type":"text","text":"ok"},{"type":"tool_result","tool_use_id":"t"}]"#, 0),
        ("", "[]", 0),
        ("", r#""<local-command-stdout>x</local-command-stdout>""#, 0),
        ("", r#""<command-name>/clear</command-name>""#, 0),
        ("", r#""<task-notification>x""#, 0),
        ("", r#""<bash-input>ls</bash-input>""#, 0),
        ("", r#""<bash-stdout>x</bash-stdout>""#, 0),
        ("", r#""[Request interrupted by user]""#, 0),
        ("", r#"[{"type":"text","text":"[Request interrupted by user for tool use]"}]"#, 0),
        ("", r#""This session is being continued from a previous conversation that ran out of context.""#, 0),
    ] {
        let line = format!(
            r#"{{"type":"user","sessionId":"s"{fields},"message":{{"role":"user","content":{content}}}}}"#
        );
        assert_eq!(account(&[&line]).prompts, prompts, "{line}");
    }
}

/// One call of Bash, and a result with these fields and this text.
fn answered(fields: &str, is_error: bool, text: &str) -> Account {
    let ask = r#"{"type":"assistant","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t","name":"Bash"}]}}"#;
    let text = serde_json::Value::from(text);
    let answer = format!(
        r#"{{"type":"user","sessionId":"s"{fields},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":{text}}}]}}}}"#
    );
    account(&[ask, &answer])
}

#[test]
fn a_denial_without_a_field_is_recognized_by_its_text() {
    for text in [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "The user doesn't want to take this action right now.",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
        "This command requires approval",
        "Permission to use Bash with command rm has been denied.",
        "PreToolUse:Bash hook error: [guard.sh]: no",
        "Permission denied by user",
        "Cannot write to /x while in plan mode",
    ] {
        let refused = answered("", true, text);
        assert_eq!((refused.denials.total, refused.tools.total.denied), (1, 1), "{text}");
        let quoted = answered("", false, text);
        assert_eq!((quoted.denials.total, quoted.tools.total.ok), (0, 1), "a success that quotes it: {text}");
    }
    for text in ["exit code 1", "[Request interrupted by user for tool use]", "<tool_use_error>No such tool"]
    {
        let failed = answered("", true, text);
        assert_eq!((failed.denials.total, failed.tools.total.errors), (0, 1), "{text}");
    }
}

#[test]
fn a_denial_field_overrides_any_text() {
    let refusal = "The user doesn't want to proceed with this tool use.";
    for (fields, denied) in [
        (r#","toolDenialKind":"user-rejected""#, 1),
        (r#","permissionDecision":{"decision":"reject","source":"config"}"#, 1),
        (r#","tool_result_meta":[{"id":"t","non_execution_kind":"permission-rule"}]"#, 1),
        (r#","tool_result_meta":[{"id":"t","permission_decision":{"decision":"reject"}}]"#, 1),
        (r#","permissionDecision":{"decision":"accept","source":"config"}"#, 0),
        (r#","tool_result_meta":[{"id":"t","permission_decision":{"decision":"accept"}}]"#, 0),
    ] {
        assert_eq!(answered(fields, true, "exit code 1").tools.total.denied, denied, "{fields}");
        assert_eq!(answered(fields, true, refusal).tools.total.denied, denied, "{fields}");
    }
}

#[test]
fn a_denial_without_an_id_is_matched_to_a_failed_call_of_its_tool() {
    let call = |id: &str, error: bool| {
        [
            format!(r#"{{"type":"assistant","session_id":"s","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"Bash"}}]}}}}"#),
            format!(r#"{{"type":"user","session_id":"s","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{error}}}]}}}}"#),
        ]
        .join("\n")
    };
    let end = r#"{"type":"result","subtype":"success","session_id":"s","permission_denials":[{"tool_name":"Bash"}]}"#;
    let account = account(&[&call("one", true), &call("two", false), end]);
    let tools = account.tools.total;
    assert_eq!((account.denials.total, tools.denied, tools.errors, tools.ok), (1, 1, 0, 1));
}

#[test]
fn the_bridge_answers_and_refuses_calls_too() {
    let ask = |id: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"Bash"}}]}}}}"#
        )
    };
    let account = account(&[
        &ask("one"),
        r#"{"type":"tool_result","sessionId":"s","toolUseId":"one","toolName":"Bash","content":"ok"}"#,
        &ask("two"),
        r#"{"type":"reject","sessionId":"s","id":"two"}"#,
        r#"{"type":"result","sessionId":"s","cost":0.25,"duration":1500}"#,
    ]);
    let tools = account.tools.total;
    assert_eq!((tools.calls, tools.ok, tools.denied, tools.open), (2, 1, 1, 0));
    assert_eq!(account.cost.total, Some(Usd::from_nanos(250_000_000)));
    assert_eq!(account.duration.wall.unwrap().as_f64().to_string(), "1500");
}

#[test]
fn a_subagent_inside_progress_counts_once_beside_its_own_file() {
    let message = r#"{"id":"m","model":"claude-haiku-4-5","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Grep"}],"stop_reason":"tool_use","usage":{"input_tokens":1000,"output_tokens":100}}"#;
    let nested = format!(
        r#"{{"type":"progress","sessionId":"s","isSidechain":false,"data":{{"type":"agent_progress","message":{{"type":"assistant","message":{message}}}}}}}"#
    );
    let own = format!(
        r#"{{"type":"assistant","sessionId":"s","isSidechain":true,"uuid":"u","message":{message}}}"#
    );
    let alone = account(&[&nested]);
    assert_eq!((alone.responses, alone.tools.total.calls, alone.blocks.len()), (1, 1, 0));
    let both = account(&[&nested, &own]);
    assert_eq!((both.responses, both.tools.total.calls, both.blocks.len()), (1, 1, 1));
    assert_eq!((both.tokens.input, both.tokens.output), (1000, 100));
}

#[test]
fn a_stream_with_final_counts_can_be_priced_without_a_result() {
    let start = r#"{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m","model":"claude-opus-5-5","usage":{"input_tokens":1000,"output_tokens":1}}}}"#;
    let line = r#"{"type":"assistant","session_id":"s","message":{"id":"m","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":1000,"output_tokens":1}}}"#;
    let delta = r#"{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":500}}}"#;
    let cut = account(&[start, line]).cost;
    assert_eq!((cut.computed, cut.complete), (None, false), "one output token is a placeholder");
    let whole = account(&[start, line, delta]).cost;
    assert_eq!((whole.computed, whole.complete), (Some(Usd::from_nanos(14_000_000)), true));
}

#[test]
fn a_result_may_precede_its_call_or_have_none() {
    let ask = r#"{"type":"assistant","sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"content":[{"type":"tool_use","id":"t","name":"Bash"}]}}"#;
    let answer = r#"{"type":"user","sessionId":"s","timestamp":"2026-01-01T00:00:01.500Z","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}"#;
    for lines in [[ask, answer], [answer, ask]] {
        let tools = account(&lines).tools;
        assert_eq!((tools.total.ok, tools.orphans), (1, 0));
        assert_eq!(tools.total.latency.unwrap().max.as_f64().to_string(), "1500");
    }
    let tools = account(&[answer]).tools;
    assert_eq!((tools.total.calls, tools.orphans), (0, 1));
    assert_eq!(account(&[ask]).tools.total.open, 1);
}

#[test]
fn two_logs_in_one_file_are_charged_separately() {
    let run = |session: &str, usd: f64, tokens: u64| {
        format!(
            r#"{{"type":"result","subtype":"success","session_id":"{session}","total_cost_usd":{usd},"usage":{{"input_tokens":{tokens}}},"modelUsage":{{"m":{{"inputTokens":{tokens},"costUSD":{usd}}}}}}}"#
        )
    };
    let total = |lines: [&str; 2]| account(&lines).cost.total.unwrap().to_string();
    assert_eq!(total([&run("a", 0.5, 100), &run("b", 0.7, 140)]), "1.2", "another process, another session");
    assert_eq!(total([&run("a", 0.5, 100), &run("a", 0.75, 150)]), "0.75", "the same session keeps counting");
    assert_eq!(total([&run("a", 0.5, 100), &run("a", 0.25, 50)]), "0.75", "a falling total starts from zero");
}
