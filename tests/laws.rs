//! Laws: the size of units and the order of logs change nothing, and one thread equals many.
//!
//! The logs are generated but plausible: a few sessions in both dialects that share message ids, uuids and
//! calls, so that copies, forks and runs in both dialects are common. Between the records are cut, joined,
//! blank and noisy lines.

use std::{fmt::Write as _, path::PathBuf, sync::Arc};

use ccstat::internal::{
    archive,
    event::{self, DecodeError, Query},
    facts::{Account, Counts, Detail, Facts, Name, ledger::Charge},
    input::{Limits, Origin, Place, Source, SourceId},
    measure::{Prices, Time, Usd, calendar::Zone},
    render::{self, Format, Style},
    report::{self, Attributions, By, Data, Filter, Names, Pattern, Report, ReportSpec, TimeBy, View},
    scan::{self, Options, Progress},
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use tempfile::TempDir;

const SESSIONS: &[&str] = &["s-one", "s-two", "00021325-0000-4000-8000-000000000058"];
const MESSAGES: &[&str] = &["msg_1", "msg_2", "msg_3"];
const CALLS: &[&str] = &["toolu_1", "toolu_2", "toolu_3", "toolu_4"];
const UUIDS: &[&str] = &[
    "u-1",
    "u-2",
    "u-3",
    "u-4",
    "u-5",
    "00021325-0000-4000-8000-000000000001",
    "00021325-0000-4000-8000-000000000002",
    "00021325-0000-4000-8000-000000000003",
];
const TOOLS: &[&str] = &["Bash", "Read", "Write", "mcp__x__y"];
const VERSIONS: &[&str] = &["1.0.128", "2.1.50", "2.1.197", "2.1.280", "2.1.311", "2.1.325"];
const MODELS: &[&str] =
    &["claude-opus-4-8", "claude-opus-4-8[1m]", "claude-haiku-4-5", "claude-sonnet-4-5", "mystery-1"];
const BRANCHES: &[&str] = &["main", "basket", "HEAD", ""];
const TEXTS: &[&str] = &["go on", "API Error: 529", "<command-name>/clear", "é😀", ""];
const REPLIES: &[&str] = &[
    "done",
    "Exit code 1",
    "This command requires approval",
    "Permission to use Bash has been denied",
    "Permission rule 'Bash' from project settings requires approval",
];
const NOISE: &[&str] = &[
    "[DEBUG] x",
    "null",
    "[1,2]",
    "{}",
    "{\"type\":7}",
    "{\"type\":\"x\"} rest",
    "[{\"type\":\"x\"},5]",
    "{\"type\":\"x\",\"n\":NaN}",
    "}",
    "{\"type\":\"x\",\"u\":\"\\ud800\"}",
];

// The contents of a log.

fn usage() -> BoxedStrategy<Value> {
    // Some prompts are so long that old versions surcharge them.
    let input = select(&[0u64, 100, 200, 90_000][..]);
    let read = select(&[0u64, 1, 2, 120][..]);
    (input, 0u64..4, read, 0u64..3, any::<bool>())
        .prop_map(|(input, output, read, write, fast)| {
            let cache = json!({"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": read});
            json!({"input_tokens": input, "output_tokens": output * 7, "cache_read_input_tokens": read * 1000,
            "cache_creation_input_tokens": write * 10, "cache_creation": cache,
            "speed": if fast { "fast" } else { "standard" }})
        })
        .boxed()
}

fn model_usage() -> BoxedStrategy<Value> {
    prop::collection::vec((select(MODELS), 0u64..4, 0u64..4, 0u64..4), 0..3).prop_map(|uses| {
        let one = |(model, input, output, cost): (&str, u64, u64, u64)| {
            let use_ = json!({"inputTokens": input * 100, "outputTokens": output * 7, "costUSD": cost as f64 / 1000.0});
            (model.to_owned(), use_)
        };
        Value::Object(uses.into_iter().map(one).collect())
    })
    .boxed()
}

fn assistant_block() -> BoxedStrategy<Value> {
    prop_oneof![
        2 => select(TEXTS).prop_map(|text| json!({"type": "text", "text": text})),
        4 => (select(CALLS), select(TOOLS)).prop_map(|(id, tool)| json!({"type": "tool_use", "id": id, "name": tool})),
        1 => Just(json!({"type": "tool_use", "name": "Bash"})),
        1 => Just(json!({"type": "telepathy"})),
    ]
    .boxed()
}

fn user_block() -> BoxedStrategy<Value> {
    let result = (select(CALLS), select(REPLIES), any::<bool>()).prop_map(
        |(id, text, failed)| json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}),
    );
    prop_oneof![
        6 => result,
        1 => select(REPLIES).prop_map(|text| json!({"type": "tool_result", "content": text, "is_error": true})),
        1 => select(TEXTS).prop_map(|text| json!({"type": "text", "text": text})),
        1 => Just(json!({"type": "hologram"})),
    ]
    .boxed()
}

fn assistant() -> BoxedStrategy<Value> {
    let model = prop_oneof![9 => select(MODELS), 1 => Just("<synthetic>")];
    let blocks = prop::collection::vec(assistant_block(), 0..3);
    let extra = prop_oneof![
        6 => Just(json!({})),
        1 => Just(json!({"error": "rate_limit"})),
        1 => Just(json!({"isApiErrorMessage": true, "apiErrorStatus": 529})),
        1 => select(MODELS).prop_map(|model| json!({"requestedModel": model})),
        1 => select(SESSIONS).prop_map(|session| json!({"requestSessionId": session})),
        2 => (select(&["low", "high"][..]), select(&["review", "greet"][..]))
            .prop_map(|(effort, skill)| json!({"effort": effort, "attributionSkill": skill})),
        1 => select(&["x", "demo"][..]).prop_map(|server| json!({"attributionMcpServer": server})),
    ];
    (
        prop::option::weighted(0.9, select(MESSAGES)),
        model,
        blocks,
        prop::option::of(usage()),
        any::<bool>(),
        extra,
    )
        .prop_map(|(id, model, blocks, usage, stopped, extra)| {
            let mut message = json!({"role": "assistant", "model": model, "content": blocks,
                "stop_reason": stopped.then_some("end_turn")});
            id.inspect(|id| message["id"] = json!(id));
            usage.inspect(|usage| message["usage"] = usage.clone());
            with(json!({"type": "assistant", "message": message}), &extra)
        })
        .boxed()
}

fn user() -> BoxedStrategy<Value> {
    let content = prop_oneof![
        4 => prop::collection::vec(user_block(), 0..3).prop_map(Value::Array),
        1 => select(TEXTS).prop_map(|text| json!(text)),
    ];
    let extra = prop_oneof![
        6 => Just(json!({})),
        1 => Just(json!({"isMeta": true})),
        1 => select(CALLS).prop_map(|id| json!({"tool_result_meta": [{"id": id, "non_execution_kind": "permission"}]})),
        1 => Just(json!({"permissionDecision": {"decision": "reject"}})),
        1 => select(CALLS).prop_map(|id| json!({"sourceToolUseID": id})),
    ];
    (content, extra)
        .prop_map(|(content, extra)| {
            with(json!({"type": "user", "message": {"role": "user", "content": content}}), &extra)
        })
        .boxed()
}

fn result() -> BoxedStrategy<Value> {
    let subtype = select(&["success", "success", "error_max_turns", "error_new"][..]);
    let denial = (prop::option::of(select(CALLS)), select(TOOLS)).prop_map(|(id, tool)| match id {
        Some(id) => json!({"tool_use_id": id, "tool_name": tool}),
        None => json!({"tool_name": tool}),
    });
    let denials = prop::collection::vec(denial, 0..3);
    let models = (prop::option::weighted(0.9, model_usage()), prop::option::weighted(0.3, model_usage()));
    (subtype, any::<bool>(), 0u64..6, 0u64..6, usage(), models, denials)
        .prop_map(|(subtype, failed, cost, api, usage, (models, since), denials)| {
            let mut record = json!({"type": "result", "subtype": subtype, "is_error": failed, "num_turns": 2,
                "total_cost_usd": cost as f64 / 1000.0, "duration_ms": 100, "duration_api_ms": api * 10,
                "usage": usage, "permission_denials": denials});
            models.inspect(|models| record["modelUsage"] = models.clone());
            since.inspect(|since| record["model_usage_since_last_result"] = since.clone());
            record
        })
        .boxed()
}

fn stream_event() -> BoxedStrategy<Value> {
    let start = (select(MESSAGES), select(MODELS), usage()).prop_map(
        |(id, model, usage)| json!({"type": "message_start", "message": {"id": id, "model": model, "usage": usage}}),
    );
    let delta = (usage(), any::<bool>()).prop_map(|(usage, stopped)| {
        let delta = json!({"stop_reason": stopped.then_some("end_turn")});
        json!({"type": "message_delta", "delta": delta, "usage": usage})
    });
    let lane = prop::option::weighted(0.2, select(CALLS));
    let api_id = prop::option::weighted(0.3, select(MESSAGES));
    (prop_oneof![start, delta], lane, api_id)
        .prop_map(|(event, lane, api_id)| {
            let mut record = json!({"type": "stream_event", "event": event, "parent_tool_use_id": lane});
            api_id.inspect(|id| record["api_message_id"] = json!(id));
            record
        })
        .boxed()
}

fn system() -> BoxedStrategy<Value> {
    prop_oneof![
        3 => select(VERSIONS)
            .prop_map(|version| json!({"type": "system", "subtype": "init", "claude_code_version": version, "cwd": "/"})),
        2 => (select(CALLS), select(TOOLS)).prop_map(
            |(id, tool)| json!({"type": "system", "subtype": "permission_denied", "tool_use_id": id, "tool_name": tool})
        ),
        2 => select(&["rate_limit", "overloaded"][..])
            .prop_map(|error| json!({"type": "system", "subtype": "api_retry", "error": error})),
        2 => select(&[429, 529, 500][..])
            .prop_map(|status| json!({"type": "system", "subtype": "api_error", "error": {"status": status}})),
        1 => (1..4).prop_map(|turn| json!({"type": "system", "subtype": "turn_duration", "durationMs": turn * 500})),
        1 => Just(json!({"type": "conversation_reset"})),
    ]
    .boxed()
}

fn other() -> BoxedStrategy<Value> {
    let state = (select(&[0u64, 9, 30][..]), model_usage()).prop_map(
        |(cost, models)| json!({"type": "cost-state", "totalCostUSD": cost as f64 / 1000.0, "modelUsage": models}),
    );
    let nested = prop_oneof![assistant(), user()].prop_map(
        |message| json!({"type": "progress", "data": {"type": "agent_progress", "message": message}}),
    );
    prop_oneof![
        4 => state,
        2 => nested,
        2 => (47u64..49, any::<bool>()).prop_map(|(number, named)| json!({"type": "pr-link", "prNumber": number,
            "prRepository": named.then_some("acme/shop"), "prUrl": format!("https://x/acme/shop/pull/{number}")})),
        1 => Just(json!({"type": "mindread"})),
        1 => Just(json!({"type": "attachment", "attachment": {"type": "novelty"}})),
        1 => select(CALLS).prop_map(|id| json!({"type": "reject", "id": id})),
        1 => (select(CALLS), any::<bool>())
            .prop_map(|(id, failed)| json!({"type": "tool_result", "toolUseId": id, "isError": failed})),
    ]
    .boxed()
}

/// The call that asks people. Ids of calls are unique, so no other tool has this one.
const QUESTION: &str = "toolu_q";

/// Ids of requests, hooks and tasks.
const IDS: &[&str] = &["r-1", "r-2", "r-3"];

fn hook() -> BoxedStrategy<Value> {
    let saved = select(
        &["hook_success", "hook_blocking_error", "hook_additional_context", "async_hook_response"][..],
    );
    let printed = select(&["hook_started", "hook_progress", "hook_response"][..]);
    prop_oneof![
        (saved, select(CALLS), select(&[0, 2][..])).prop_map(|(kind, call, exit)| json!({"type": "attachment",
            "attachment": {"type": kind, "hookEvent": "PreToolUse", "hookName": "PreToolUse:Bash", "toolUseID": call,
            "command": "lint", "exitCode": exit, "durationMs": 5}})),
        (printed, select(IDS), select(&[0, 1, 2][..])).prop_map(|(kind, id, exit)| json!({"type": "system",
            "subtype": kind, "hook_id": id, "hook_event": "PreToolUse", "hook_name": "PreToolUse:Bash", "exit_code": exit})),
        any::<bool>().prop_map(|prevented| json!({"type": "system", "subtype": "stop_hook_summary",
            "hookInfos": [{"command": "a"}, {"command": "b"}], "preventedContinuation": prevented})),
        select(CALLS).prop_map(|call| json!({"type": "progress", "toolUseID": call,
            "data": {"type": "hook_progress", "hookEvent": "PreToolUse", "command": "lint"}})),
        select(CALLS).prop_map(|call| json!({"type": "user", "message": {"content": [{"type": "tool_result",
            "tool_use_id": call, "is_error": true, "content": "PreToolUse:Bash hook error: [lint]: no"}]}})),
    ]
    .boxed()
}

fn task() -> BoxedStrategy<Value> {
    let kind = select(&["task_started", "task_progress", "task_updated", "task_notification"][..]);
    let outcome = prop_oneof![
        select(IDS).prop_map(|id| json!({"backgroundTaskId": id})),
        (select(IDS), any::<bool>()).prop_map(
            |(id, launched)| json!({"agentId": id, "isAsync": launched, "totalTokens": 9, "totalToolUseCount": 2})
        ),
        select(IDS).prop_map(|id| json!({"tasks": [{"id": id, "status": "completed"}]})),
        select(IDS).prop_map(|id| json!({"task_id": id, "status": "completed"})),
    ];
    let notice = |id: &str| format!("<task-notification><task-id>{id}</task-id><status>completed</status>");
    prop_oneof![
        (kind, select(IDS), select(CALLS), select(&["running", "completed"][..])).prop_map(
            |(kind, id, call, status)| json!({"type": "system", "subtype": kind, "task_id": id, "tool_use_id": call,
                "task_type": "local_bash", "status": status, "usage": {"total_tokens": 3, "duration_ms": 7}})
        ),
        select(IDS).prop_map(|id| json!({"type": "system", "subtype": "background_tasks_changed", "tasks": [{"task_id": id}]})),
        (select(CALLS), outcome).prop_map(|(call, outcome)| json!({"type": "user", "toolUseResult": outcome,
            "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": "x"}]}})),
        select(IDS).prop_map(move |id| json!({"type": "user", "message": {"content": notice(id)}})),
        select(IDS).prop_map(move |id| json!({"type": "queue-operation", "operation": "enqueue", "content": notice(id)})),
    ]
    .boxed()
}

fn limit() -> BoxedStrategy<Value> {
    prop_oneof![
        select(&["allowed_warning", "rejected"][..]).prop_map(|status| json!({"type": "rate_limit_event",
            "rate_limit_info": {"status": status, "rateLimitType": "five_hour", "utilization": 0.9}})),
        (select(IDS), select(&["model_fallback", "model_refusal_fallback"][..])).prop_map(
            |(id, kind)| json!({"type": "system", "subtype": kind, "request_id": id, "original_model": "a"})
        ),
        (select(IDS), select(MESSAGES)).prop_map(|(id, message)| json!({"type": "assistant", "requestId": id,
            "message": {"id": message, "model": "claude-opus-4-8", "stop_reason": "refusal", "content": []}})),
        Just(json!({"type": "stream_event", "event": {"type": "message_delta", "delta": {"stop_reason": "refusal"}}})),
        select(&["manual", "auto"][..]).prop_map(|trigger| json!({"type": "system", "subtype": "compact_boundary",
            "compactMetadata": {"trigger": trigger, "preTokens": 900, "postTokens": 90}})),
        Just(json!({"type": "system", "subtype": "microcompact_boundary",
            "microcompactMetadata": {"preTokens": 900, "tokensSaved": 90}})),
        Just(json!({"type": "system", "subtype": "status", "compact_result": "failed", "permissionMode": "plan"})),
        Just(json!({"type": "attachment", "attachment": {"type": "max_turns_reached"}})),
        Just(json!({"type": "result", "subtype": "success", "safety_stops": 2, "local_command": "/cost"})),
    ]
    .boxed()
}

fn control() -> BoxedStrategy<Value> {
    let answered = prop_oneof![
        Just(
            json!({"behavior": "allow", "updatedPermissions": [1], "updatedInput": {"answers": {"Which?": "A"}}})
        ),
        Just(json!({"behavior": "deny"})),
        Just(json!({"decision": "block"})),
        Just(json!({"mcpServers": [{"name": "demo", "status": "connected", "tools": [{"name": "add"}]}]})),
    ];
    let call = prop_oneof![select(CALLS), Just(QUESTION)];
    let bridged = select(&["permission_request", "approve", "approve_always", "reject", "answer"][..]);
    let wish = select(&["start", "resume_session", "get_history", "stop_session", "history", "error"][..]);
    prop_oneof![
        (select(IDS), call).prop_map(|(id, call)| json!({"type": "control_request", "request_id": id,
            "request": {"subtype": "can_use_tool", "tool_use_id": call, "decision_reason_type": "mode",
            "tool_name": if call == QUESTION { "AskUserQuestion" } else { "Bash" }, "input": {"questions": []}}})),
        select(IDS).prop_map(|id| json!({"type": "control_request", "request_id": id, "request": {"subtype":
            "hook_callback", "input": {"hook_event_name": "Stop", "session_id": "s-one"}}})),
        select(IDS).prop_map(|id| json!({"type": "control_request", "request_id": id, "request": {"subtype": "interrupt"}})),
        (select(IDS), answered).prop_map(|(id, answered)| json!({"type": "control_response",
            "response": {"subtype": "success", "request_id": id, "response": answered}})),
        select(IDS).prop_map(|id| json!({"type": "control_cancel_request", "request_id": id})),
        (bridged, select(CALLS)).prop_map(|(kind, call)| json!({"type": kind, "toolUseId": call, "result": "A"})),
        wish.prop_map(|kind| json!({"type": kind, "permissionMode": "default"})),
    ]
    .boxed()
}

fn decision() -> BoxedStrategy<Value> {
    let told = json!({"decision": "accept", "source": "user_temporary", "reasonCode": "rule"});
    let streamed = json!({"decision": "reject", "source": "hook", "reason_type": "hook"});
    prop_oneof![
        select(CALLS).prop_map(move |call| json!({"type": "user", "permissionDecision": told, "message": {"content":
            [{"type": "tool_result", "tool_use_id": call, "content": "x"}]}})),
        select(CALLS).prop_map(move |call| json!({"type": "user", "message": {"content": [{"type": "tool_result",
            "tool_use_id": call, "is_error": true, "content": "User denied permission"}]},
            "tool_result_meta": [{"id": call, "non_execution_kind": "permission-rule", "permission_decision": streamed}]})),
        select(&["plan", "default"][..]).prop_map(|mode| json!({"type": "permission-mode", "permissionMode": mode})),
        select(&["plan", "acceptEdits"][..]).prop_map(
            |mode| json!({"type": "user", "permissionMode": mode, "message": {"content": "go"}})
        ),
    ]
    .boxed()
}

fn command() -> BoxedStrategy<Value> {
    let text = select(&["/compact now", "/clear", "<command-name>/review</command-name>", "/tmp/x"][..]);
    let uses = prop_oneof![
        Just(json!({"name": "Skill", "input": {"skill": "review"}})),
        Just(json!({"name": "Agent", "input": {"subagent_type": "Explore", "prompt": "p"}})),
    ];
    prop_oneof![
        text.clone().prop_map(|text| json!({"type": "user", "message": {"content": text}})),
        text.clone().prop_map(|text| json!({"type": "queue-operation", "operation": "enqueue", "content": text})),
        (text.clone(), select(UUIDS)).prop_map(|(text, uuid)| json!({"type": "attachment",
            "attachment": {"type": "queued_command", "prompt": text, "source_uuid": uuid}})),
        text.prop_map(|text| json!({"type": "input", "text": text})),
        Just(json!({"type": "system", "subtype": "local_command", "commandRun": {"command": "/cost"}})),
        Just(json!({"type": "system", "subtype": "init", "slash_commands": ["compact", "review"], "skills": ["review"],
            "tools": ["Bash", "mcp__demo__add"], "mcp_servers": [{"name": "demo", "status": "failed"}]})),
        Just(json!({"type": "attachment", "attachment": {"type": "skill_listing", "names": ["review"]}})),
        (select(CALLS), uses).prop_map(|(id, uses)| json!({"type": "assistant", "message": {"id": "msg_1",
            "content": [with(json!({"type": "tool_use", "id": id}), &uses)]}})),
    ]
    .boxed()
}

fn question() -> BoxedStrategy<Value> {
    let input = json!({"questions": [{"question": "Which?", "options": [{"label": "A"}]}]});
    let denials = json!([{"tool_name": "AskUserQuestion", "tool_use_id": QUESTION, "tool_input": input}]);
    let said =
        select(&["User has answered your questions: \"Which?\"=\"A\".", "No such tool available", "B"][..]);
    prop_oneof![
        Just(json!({"type": "assistant", "message": {"id": "msg_2", "content": [{"type": "tool_use", "id": QUESTION,
            "name": "AskUserQuestion", "input": input}]}})),
        (said, any::<bool>()).prop_map(|(said, failed)| json!({"type": "user", "message": {"content": [{
            "type": "tool_result", "tool_use_id": QUESTION, "content": said, "is_error": failed}]}})),
        Just(json!({"type": "user", "toolUseResult": {"answers": {"Which?": "C"}}, "message": {"content": [{
            "type": "tool_result", "tool_use_id": QUESTION, "content": "x"}]}})),
        Just(json!({"type": "result", "subtype": "success", "permission_denials": denials})),
    ]
    .boxed()
}

/// When the CLI did something.
fn moment() -> BoxedStrategy<Value> {
    let source = select(&["sdk", "compact"][..]);
    let ran = json!({"durationMs": 1500});
    prop_oneof![
        Just(json!({"type": "queue-operation", "operation": "dequeue"})),
        (select(IDS), source).prop_map(|(id, source)| json!({"type": "api-request", "id": id, "querySource": source})),
        (select(IDS), select(MESSAGES)).prop_map(|(id, message)| json!({"type": "assistant", "requestRef": id,
            "message": {"id": message, "model": "claude-opus-4-8", "content": [{"type": "text", "text": "x"}]}})),
        select(TEXTS).prop_map(|text| json!({"type": "user", "message": {"role": "user", "content": text}})),
        select(CALLS).prop_map(move |call| json!({"type": "user", "toolUseResult": ran, "message": {"content":
            [{"type": "tool_result", "tool_use_id": call, "content": "x"}]}})),
        Just(json!({"type": "system", "subtype": "compact_boundary",
            "compactMetadata": {"trigger": "manual", "durationMs": 2500}})),
        Just(json!({"type": "system", "subtype": "api_error", "error": {"status": 529}, "retryInMs": 700})),
        Just(json!({"type": "result", "subtype": "success", "duration_ms": 9000, "ttft_ms": 800, "time_to_request_ms": 300})),
        Just(json!({"type": "system", "subtype": "away_summary"})),
    ]
    .boxed()
}

/// Records of requests, and responses that use the cache, answer them or say why the cache was lost.
fn request() -> BoxedStrategy<Value> {
    let cached = select(&[0u64, 900, 1000, 5000][..]);
    let usage = (cached.clone(), cached, any::<bool>()).prop_map(|(read, write, hour)| {
        json!({"input_tokens": 1, "cache_read_input_tokens": read, "cache_creation_input_tokens": write,
            "cache_creation": {"ephemeral_1h_input_tokens": if hour { write } else { 0 }}})
    });
    let miss = prop::option::weighted(
        0.2,
        select(&["tools_changed", "messages_changed", "unavailable", "unheard_of"][..]),
    );
    let agent = prop::option::weighted(0.3, select(&["agent-1", "agent-2"][..]));
    let message = (select(&["msg_4", "msg_5", "msg_6", "msg_7"][..]), select(MODELS), usage, miss);
    let tools = prop::collection::vec(select(TOOLS), 0..3);
    prop_oneof![
        4 => (message, prop::option::of(select(IDS)), agent).prop_map(|((id, model, usage, miss), request, agent)| {
            let mut message = json!({"id": id, "role": "assistant", "model": model, "content": [], "usage": usage});
            miss.inspect(|miss| message["diagnostics"] = json!({"cache_miss_reason": {"type": miss}}));
            let mut record = json!({"type": "assistant", "requestRef": request, "message": message});
            agent.inspect(|agent| record["agentId"] = json!(agent));
            record
        }),
        2 => (select(IDS), prop::option::of(select(IDS)), 0u64..4, select(&["a", "b"][..]), select(MODELS)).prop_map(
            |(id, base, keep, shape, model)| json!({"type": "api-request", "id": id, "base": base, "keep": keep,
                "tail": ["x"], "shapeHash": shape, "params": {"model": model, "betas": [shape]}})
        ),
        1 => (select(&["a", "b"][..]), tools).prop_map(|(id, tools)| {
            let tools: Vec<Value> = tools.into_iter().map(|tool| json!({"name": tool})).collect();
            json!({"type": "api-request-shape", "shapeHash": id, "shape": {"system": [id], "tools": tools}})
        }),
    ]
    .boxed()
}

/// A record in one of the dialects, with its ids and its time.
fn record() -> BoxedStrategy<Value> {
    let body = prop_oneof![
        4 => assistant(),
        3 => user(),
        4 => result(),
        3 => stream_event(),
        3 => system(),
        3 => other(),
        6 => prop_oneof![hook(), task(), limit(), control(), decision(), command(), question(), request()],
        3 => moment(),
    ];
    let session = prop::option::weighted(0.9, select(SESSIONS));
    let uuid = prop::option::weighted(0.7, select(UUIDS));
    let time = prop::option::weighted(0.6, 0u32..600);
    let branch = prop::option::weighted(0.5, select(BRANCHES));
    (body, 0..5, session, uuid, time, select(VERSIONS), branch)
        .prop_map(|(mut record, dialect, session, uuid, time, version, branch)| {
            branch.inspect(|branch| record["gitBranch"] = json!(branch));
            if dialect < 3 {
                session.inspect(|id| record["session_id"] = json!(id));
            } else {
                session.inspect(|id| record["sessionId"] = json!(id));
            }
            if dialect == 3 {
                record = with(record, &json!({"parentUuid": null, "isSidechain": false, "version": version}));
            }
            uuid.inspect(|uuid| record["uuid"] = json!(uuid));
            time.inspect(|at| {
                record["timestamp"] = json!(format!("2026-01-01T00:{:02}:{:02}.5Z", at / 60, at % 60))
            });
            record
        })
        .boxed()
}

fn with(mut record: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        record[key] = value.clone();
    }
    record
}

/// One line of a log: mostly a record, sometimes the leftovers of a crash or of another program.
fn line() -> BoxedStrategy<String> {
    prop_oneof![
        20 => record().prop_map(|record| record.to_string()),
        2 => (record(), 0.01..0.99).prop_map(|(record, part)| torn(&record.to_string(), part)),
        2 => (record(), record()).prop_map(|(one, two)| format!("{one}{two}")),
        1 => (record(), record(), 0.01..0.99)
            .prop_map(|(one, two, part)| format!("{one} {}", torn(&two.to_string(), part))),
        2 => select(NOISE).prop_map(str::to_owned),
        2 => select(&["", " ", "\t\r", "\0\0\0", "\0 "][..]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn torn(text: &str, part: f64) -> String {
    let at = (text.len() as f64 * part) as usize;
    text[..text.floor_char_boundary(at)].to_owned()
}

/// One file in any of the shapes.
fn log() -> BoxedStrategy<String> {
    let lines = (prop::collection::vec(line(), 0..25), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(lines, mark, windows, ends)| {
            let end = if windows { "\r\n" } else { "\n" };
            let mark = if mark { "\u{feff}" } else { "" };
            format!("{mark}{}{}", lines.join(end), if ends { end } else { "" })
        },
    );
    let document =
        (prop::collection::vec(record(), 1..10), 0..3, 0.5..1.5).prop_map(|(records, form, part)| {
            let text = match form {
                0 => Value::Array(records).to_string(),
                1 => format!("{:#}\n", Value::Array(records)),
                _ => records.iter().fold(String::new(), |mut all, record| {
                    writeln!(all, "{record:#}").expect("a String takes everything");
                    all
                }),
            };
            if part < 1.0 { torn(&text, part) } else { text }
        });
    prop_oneof![5 => lines, 1 => document].boxed()
}

fn logs() -> BoxedStrategy<Vec<String>> {
    prop::collection::vec(log(), 1..4).boxed()
}

// Reading the logs.

/// Logs as files, deleted when dropped.
struct Files {
    sources: Vec<Source>,
    folder: TempDir,
}

impl Files {
    fn of<T: AsRef<[u8]>>(logs: &[T]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let write = |(index, log): (usize, &T)| {
            let path = folder.path().join(format!("{index}.jsonl"));
            std::fs::write(&path, log).expect("written");
            source(path)
        };
        Self { sources: logs.iter().enumerate().map(write).collect(), folder }
    }

    /// Adds a large sparse file that is not a log, since threads are started only for a megabyte or more.
    fn worth_threads(mut self) -> Self {
        let path = self.folder.path().join("settings.json");
        std::fs::write(&path, "{}").expect("written");
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("opened");
        file.set_len(2 << 20).expect("made larger");
        self.sources.push(Source { origin: Origin::File(path), unverified: true, machine: None });
        self
    }

    fn scan(&self, threads: usize, limits: Limits) -> Account {
        self.facts(threads, limits, Detail::TOTALS).settle(&Prices::built_in())
    }

    fn facts(&self, threads: usize, limits: Limits, detail: Detail) -> Facts {
        let options = Options { threads, limits, detail, ..Options::default() };
        let scan = scan::scan(&self.sources, &options, &Progress::default());
        assert!(scan.unread.is_empty(), "{:?}", scan.unread);
        scan.facts
    }

    /// The lean forms of the logs.
    fn lean(&self) -> Self {
        let form = |source: &Source| archive::lean_log(source, &Options::default());
        Self::of(&self.sources.iter().map(form).collect::<Vec<_>>())
    }

    fn json(&self, threads: usize, limits: Limits) -> String {
        let names: Vec<Name> = (0..self.sources.len()).map(|index| format!("{index}.jsonl").into()).collect();
        let report = report::summary(&self.scan(threads, limits), Names(&names));
        let mut text = Vec::new();
        render::render(&report, Format::Json, Style::default(), &mut text).expect("a Vec takes everything");
        String::from_utf8(text).expect("JSON is UTF-8")
    }
}

fn source(path: PathBuf) -> Source {
    Source { origin: Origin::File(path), unverified: false, machine: None }
}

fn cut(unit: u64, block: usize) -> Limits {
    Limits { unit, block, ..Limits::default() }
}

/// Two lines are of the same response. Only one of them names the request, or they name two.
#[test]
fn the_request_of_a_response_is_kept_whichever_line_names_it_and_is_read_first() {
    for (first, second) in [(None, Some("r-1")), (Some("r-1"), None), (Some("r-1"), Some("r-2"))] {
        let lines = [first, second].map(|request| {
            let message = json!({"id": "msg_1", "role": "assistant", "model": "mystery-1", "content": []});
            json!({"type": "assistant", "requestId": request, "sessionId": "s-one", "message": message})
                .to_string()
        });
        for order in [[0, 1], [1, 0]] {
            let mut facts = Facts::new(Detail::ALL);
            for index in order {
                let place = Place { source: SourceId(index), offset: 0, unit: 0, line: 0 };
                facts.unit(place.source, 0, 0, 1);
                facts.absorb(place, &event::decode(lines[index as usize].as_bytes()).expect("an event"));
            }
            let ledger = facts.ledger(&Prices::built_in());
            let request = ledger.responses[0].more().request.as_deref();
            assert_eq!(request, Some("r-1"), "{first:?} and {second:?} in the order {order:?}");
        }
    }
}

/// A log has two lines of a response, the second with a branch. Another log has a line between them.
#[test]
fn the_branch_of_a_response_is_that_of_its_first_line_with_one() {
    let line = |branch: Option<&str>| {
        let message = json!({"id": "msg_1", "role": "assistant", "model": "mystery-1", "content": []});
        json!({"type": "assistant", "gitBranch": branch, "sessionId": "s-one", "message": message})
            .to_string()
    };
    let lines = [(0, line(None)), (20, line(Some("late"))), (10, line(Some("early")))];
    let mut facts = Facts::new(Detail::ALL);
    for (offset, line) in &lines {
        let place = Place { source: SourceId(0), offset: *offset, unit: 0, line: *offset };
        facts.unit(place.source, 0, 0, 1);
        facts.absorb(place, &event::decode(line.as_bytes()).expect("an event"));
    }
    let ledger = facts.ledger(&Prices::built_in());
    assert_eq!(ledger.responses[0].context.branch.as_deref(), Some("early"));
}

/// Every kind of detail: the least and all at once, and each kind of traces alone.
const DETAILS: &[Detail] = &[
    Detail::CHARGES,
    Detail::ALL,
    Detail::ROWS.and(Detail::RECORDS),
    Detail::ROWS.and(Detail::HOOKS),
    Detail::ROWS.and(Detail::TASKS),
    Detail::ROWS.and(Detail::LIMITS),
    Detail::ROWS.and(Detail::MCP),
    Detail::ROWS.and(Detail::CONTROL),
    Detail::ROWS.and(Detail::DECISIONS),
    Detail::ROWS.and(Detail::COMMANDS),
    Detail::ROWS.and(Detail::QUESTIONS),
    Detail::ROWS.and(Detail::ATTRIBUTION),
    Detail::ROWS.and(Detail::REQUESTS),
];

/// Formats every row, and the tables made from the traces among them.
fn rows(facts: Facts) -> String {
    use ccstat::internal::facts::trace::{command, control, hook, limit, permission, question, server, task};
    let ledger = facts.ledger(&Prices::built_in());
    let joined = (
        hook::hooks(&ledger),
        task::tasks(&ledger),
        limit::limits(&ledger),
        server::servers(&ledger),
        control::requests(&ledger),
        permission::decisions(&ledger),
        command::commands(&ledger),
        question::questions(&ledger),
    );
    format!("{ledger:#?}\n{joined:#?}")
}

/// Returns each line as a unit of its own, as the scanner reads a line that is not joined to another.
fn pieces(logs: &[String]) -> Vec<Facts> {
    pieces_with(Detail::TOTALS, logs)
}

fn pieces_with(detail: Detail, logs: &[String]) -> Vec<Facts> {
    let mut pieces = Vec::new();
    for (log, source) in logs.iter().zip(0..) {
        let mut offset = 0;
        for line in log.split_inclusive('\n') {
            pieces.push(piece(detail, SourceId(source), offset, line));
            offset += line.len() as u64;
        }
    }
    pieces
}

fn piece(detail: Detail, source: SourceId, offset: u64, line: &str) -> Facts {
    let place = Place { source, offset, unit: offset, line: 0 };
    let mut facts = Facts::new(detail);
    facts.unit(source, offset, offset, 1);
    facts.count(Counts { lines: 1, bytes: line.len() as u64, ..Counts::default() });
    match event::decode(line.as_bytes()) {
        Ok(event) => {
            facts.absorb(place, &event);
            facts.tail(place, None);
        }
        // Only the place of the error matters here.
        Err(DecodeError::NotJson(reason, _)) => facts.tail(place, Some(reason)),
        Err(flaw) => {
            facts.invalid(place, flaw.to_string());
            facts.tail(place, None);
        }
    }
    facts
}

/// Merges pairs of neighbours, in the order that `turns` gives.
fn merged(mut pieces: Vec<Facts>, turns: &[usize]) -> Facts {
    let mut turns = turns.iter().cycle();
    while pieces.len() > 1 {
        let at = turns.next().copied().unwrap_or(0) % pieces.len();
        let mut one = pieces.swap_remove(at);
        let other = pieces.swap_remove(at % pieces.len());
        one.merge(other);
        pieces.push(one);
    }
    pieces.pop().unwrap_or_default()
}

fn settled(facts: Facts) -> Account {
    facts.settle(&Prices::built_in())
}

/// Formats what the costs of periods are made of: the charges, with the ids of their sessions.
fn charges(facts: Facts) -> Vec<String> {
    let ledger = facts.ledger(&Prices::built_in());
    let charges = ledger.charges.iter().map(|charge| {
        let session = charge.context.session.map(|session| &ledger.sessions[session].id);
        let Charge { model, tokens, cost, saved, known, reported, .. } = charge;
        format!("{:?}", (session, charge.context.time, model, tokens, cost, saved, known, reported))
    });
    charges.collect()
}

/// Returns the sum of a column over all rows.
fn sum(report: &Report, key: &str) -> i128 {
    let Data::Rows(table) = &report.data else { panic!("{} has no rows", report.name) };
    let at = table.columns.iter().position(|head| head.key == key).expect("the column");
    table.rows.iter().map(|row| number(&row[at])).sum()
}

/// Returns a count, an amount of nano-dollars or a time in milliseconds; 0 for other values.
fn number(value: &report::Value) -> i128 {
    match value {
        report::Value::Count(count) => i128::from(*count),
        report::Value::Usd(amount) => amount.nanos(),
        report::Value::Millis(time) => time.as_f64() as i128,
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_size_of_units_changes_nothing(logs in logs(), unit in 64u64..2000, block in 16usize..500) {
        let files = Files::of(&logs);
        let whole = files.scan(1, Limits::default());
        prop_assert_eq!(&files.scan(1, cut(unit, block)), &whole, "in units of {} bytes", unit);
        prop_assert_eq!(&files.scan(1, cut(u64::MAX, block)), &whole, "in blocks of {} bytes", block);
    }

    #[test]
    fn which_records_are_too_large_does_not_depend_on_units(
        logs in logs(),
        unit in 64u64..2000,
        block in 16usize..500,
        max_record in 50usize..600,
    ) {
        let files = Files::of(&logs);
        let whole = files.scan(1, Limits { max_record, ..Limits::default() });
        prop_assert_eq!(&files.scan(1, Limits { max_record, unit, block }), &whole);
    }

    #[test]
    fn the_order_of_logs_changes_nothing(
        logs in logs(),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let pieces = pieces(&logs);
        let turns: Vec<usize> = turns.into_iter().map(|turn| turn.index(1000)).collect();
        let in_order = pieces.iter().cloned().fold(Facts::default(), |mut all, piece| {
            all.merge(piece);
            all
        });
        prop_assert_eq!(settled(merged(pieces, &turns)), settled(in_order));
    }

    #[test]
    fn the_order_of_logs_changes_no_row(
        logs in logs(),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        detail in select(DETAILS),
    ) {
        let pieces = pieces_with(detail, &logs);
        prop_assume!(!pieces.is_empty());
        let turns: Vec<usize> = turns.into_iter().map(|turn| turn.index(1000)).collect();
        let in_order = pieces.iter().cloned().fold(Facts::new(detail), |mut all, piece| {
            all.merge(piece);
            all
        });
        prop_assert_eq!(rows(merged(pieces, &turns)), rows(in_order));
    }

    #[test]
    fn neither_units_nor_threads_change_a_row(
        logs in logs(),
        unit in 64u64..2000,
        block in 16usize..500,
        detail in select(DETAILS),
    ) {
        let files = Files::of(&logs).worth_threads();
        let whole = rows(files.facts(1, Limits::default(), detail));
        prop_assert_eq!(&rows(files.facts(1, cut(unit, block), detail)), &whole, "in units of {} bytes", unit);
        prop_assert_eq!(&rows(files.facts(2, cut(unit, block), detail)), &whole, "on two threads");
    }

    #[test]
    fn the_rows_add_up_to_the_totals(logs in logs()) {
        let files = Files::of(&logs);
        let options = Options { threads: 1, detail: Detail::ROWS | Detail::RECORDS, ..Options::default() };
        let scan = scan::scan(&files.sources, &options, &Progress::default());
        let ledger = scan.facts.ledger(&Prices::built_in());
        prop_assert_eq!(ledger.account(), files.scan(1, Limits::default()));
    }

    #[test]
    fn neither_units_nor_threads_change_what_is_found(
        logs in logs(),
        unit in 64u64..2000,
        word in select(&["go", "approval", "done", "é"][..]),
    ) {
        let files = Files::of(&logs).worth_threads();
        let search = Some(Arc::new(Query::plain(word).unwrap()));
        let found = |threads: usize, limits: Limits| {
            let detail = Detail::FOUND | Detail::MATCHES;
            let options = Options { threads, limits, detail, search: search.clone(), ..Options::default() };
            let scan = scan::scan(&files.sources, &options, &Progress::default());
            scan.facts.ledger(&Prices::built_in()).found
        };
        let whole = found(1, Limits::default());
        prop_assert_eq!(&found(1, cut(unit, 100)), &whole, "in units of {} bytes", unit);
        prop_assert_eq!(&found(2, cut(unit, 100)), &whole, "on two threads");
    }

    #[test]
    fn the_rows_of_prompts_add_up_to_the_totals(logs in logs(), tool in select(&[None, Some("Bash")][..])) {
        let files = Files::of(&logs);
        let names: Vec<Name> = files.sources.iter().map(|source| source.name().into()).collect();
        let mut ledger =
            files.facts(1, Limits::default(), Detail::ROWS | Detail::RECORDS).ledger(&Prices::built_in());
        let tools = tool.map(|tool| Pattern::new(tool).unwrap());
        Filter { tools: tools.into_iter().collect(), ..Filter::default() }.apply(&mut ledger);
        let whole = ledger.account();
        let zone = Zone::named("UTC").unwrap();
        let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
        let (prompts, by_prompt) = (report::prompts(&view), report::cost(&view, &[By::Prompt]));
        for (key, total) in [
            ("prompts", whole.prompts),
            ("responses", whole.responses),
            ("calls", whole.tools.total.calls),
            ("ok", whole.tools.total.ok),
            ("errors", whole.tools.total.errors),
            ("denied", whole.tools.total.denied),
            ("open", whole.tools.total.open),
            ("input", whole.tokens.input),
            ("output", whole.tokens.output),
            ("cache_read", whole.tokens.cache_read),
            ("cache_write_5m", whole.tokens.cache_write_5m),
            ("cache_write_1h", whole.tokens.cache_write_1h),
        ] {
            prop_assert_eq!(sum(&prompts, key), i128::from(total), "{}", key);
        }
        let cost = whole.cost.total.map_or(0, Usd::nanos);
        prop_assert_eq!(sum(&prompts, "cost_usd"), cost);
        prop_assert_eq!(sum(&by_prompt, "cost_usd"), cost);
    }

    #[test]
    fn the_rows_of_every_grouping_add_up_to_the_totals(
        logs in logs(),
        branch in select(&[None, Some("main"), Some("basket")][..]),
    ) {
        let files = Files::of(&logs);
        let names: Vec<Name> = files.sources.iter().map(|source| source.name().into()).collect();
        let detail = Detail::ROWS | Detail::RECORDS | Detail::ATTRIBUTION;
        let mut ledger = files.facts(1, Limits::default(), detail).ledger(&Prices::built_in());
        let branches = branch.into_iter().map(|branch| Pattern::new(branch).unwrap()).collect();
        let attributed = Attributions { branches, ..Attributions::default() };
        Filter { attributed, ..Filter::default() }.select(&mut ledger, Names(&names));
        let whole = ledger.account();
        let zone = Zone::named("UTC").unwrap();
        let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
        for by in By::ALL {
            let report = report::cost(&view, &[by]);
            for (key, total) in [
                ("input", whole.tokens.input),
                ("output", whole.tokens.output),
                ("cache_read", whole.tokens.cache_read),
                ("cache_write_5m", whole.tokens.cache_write_5m),
                ("cache_write_1h", whole.tokens.cache_write_1h),
            ] {
                prop_assert_eq!(sum(&report, key), i128::from(total), "{} by {:?}", key, by);
            }
            prop_assert_eq!(sum(&report, "cost_usd"), whole.cost.total.map_or(0, Usd::nanos), "by {:?}", by);
        }
    }

    #[test]
    fn the_parts_of_time_add_up_to_the_wall_time(logs in logs(), since in prop::option::weighted(0.3, 0u32..10)) {
        let files = Files::of(&logs);
        let names: Vec<Name> = files.sources.iter().map(|source| source.name().into()).collect();
        let time = |minute: u32| Time::parse(&format!("2026-01-01T00:{minute:02}:00Z"));
        let filter = Filter { since: since.and_then(time), ..Filter::default() };
        let detail = filter.detail(ReportSpec::named("time").unwrap().keeps);
        let mut ledger = files.facts(1, Limits::default(), detail).ledger(&Prices::built_in());
        filter.apply(&mut ledger);
        let zone = Zone::named("UTC").unwrap();
        let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
        let reports = TimeBy::ALL.map(|by| report::time(&view, by));
        for report in &reports {
            let Data::Rows(table) = &report.data else { panic!("time has rows") };
            let at = |key: &str| table.columns.iter().position(|head| head.key == key).expect("the column");
            let (wall, first, last) = (at("span_ms"), at("first_token_ms"), at("unexplained_ms"));
            for row in table.rows.iter().filter(|row| row[first] != report::Value::Missing) {
                prop_assert_eq!(row[first..=last].iter().map(number).sum::<i128>(), number(&row[wall]));
            }
        }
        for key in ["span_ms", "first_token_ms", "tools_ms", "idle_ms", "parallel_saved_ms"] {
            let sums = reports.each_ref().map(|report| sum(report, key));
            prop_assert_eq!([sums[0]; 3], sums, "{}", key);
        }
    }

    #[test]
    fn rebuilds_add_up_and_never_exceed_what_was_written(
        logs in logs(),
        model in select(&[None, Some("claude-haiku-4-5")][..]),
    ) {
        let files = Files::of(&logs);
        let names: Vec<Name> = files.sources.iter().map(|source| source.name().into()).collect();
        let detail = Detail::ROWS | Detail::RECORDS | Detail::REQUESTS;
        let mut ledger = files.facts(1, Limits::default(), detail).ledger(&Prices::built_in());
        let models = model.map(|model| Pattern::new(model).unwrap());
        Filter { models: models.into_iter().collect(), ..Filter::default() }.apply(&mut ledger);
        let rebuilt: u64 = ledger.rebuilds.iter().map(|one| one.tokens).sum();
        let extra: i128 = ledger.rebuilds.iter().filter_map(|one| one.cost).map(Usd::nanos).sum();
        let written: u64 =
            ledger.responses.iter().map(|one| one.tokens.cache_write_5m + one.tokens.cache_write_1h).sum();
        prop_assert!(rebuilt <= written, "{rebuilt} of {written}");
        for one in &ledger.rebuilds {
            let tokens = &ledger.responses[one.response].tokens;
            prop_assert!(one.tokens <= tokens.cache_write_5m + tokens.cache_write_1h);
            prop_assert!(one.tokens + tokens.cache_read <= one.cached);
            prop_assert!(one.cost.is_none_or(|cost| cost >= Usd::ZERO));
        }
        let zone = Zone::named("UTC").unwrap();
        let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
        for name in ["cache", "cache_causes"] {
            let make = report::ReportSpec::named(name).and_then(|spec| spec.make).expect("a report");
            let report = make(&view);
            prop_assert_eq!(sum(&report, "rebuilt_estimate"), i128::from(rebuilt), "{}", name);
            prop_assert_eq!(sum(&report, "extra_estimate_usd"), extra, "{}", name);
        }
    }

    #[test]
    fn the_order_of_absorbing_changes_nothing(
        (records, shuffled) in prop::collection::vec(record(), 1..40).prop_flat_map(|records| {
            let order: Vec<usize> = (0..records.len()).collect();
            (Just(records), Just(order).prop_shuffle())
        }),
        sources in 1u32..4,
    ) {
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        let absorb = |order: &mut dyn Iterator<Item = usize>| {
            let mut facts = Facts::default();
            for at in order {
                let event = event::decode(lines[at].as_bytes()).expect("a record");
                let index = at as u64;
                let source = SourceId(at as u32 % sources);
                facts.absorb(Place { source, offset: index * 10, unit: 0, line: index }, &event);
            }
            settled(facts)
        };
        prop_assert_eq!(absorb(&mut shuffled.iter().copied()), absorb(&mut (0..lines.len())));
    }

    #[test]
    fn the_digest_of_a_lean_log_has_the_totals_of_the_log(logs in logs()) {
        let files = Files::of(&logs);
        let (lean, limits) = (files.lean(), Limits::default());
        prop_assert_eq!(lean.json(1, limits), files.json(1, limits));
        // Reports of rows read the records, and totals may be merged with them.
        let rows = |files: &Files| settled(files.facts(1, limits, Detail::ROWS));
        prop_assert_eq!(format!("{:?}", rows(&lean)), format!("{:?}", rows(&files)));
    }

    #[test]
    fn the_costs_of_periods_need_neither_rows_nor_records(logs in logs(), unit in 64u64..2000) {
        let files = Files::of(&logs);
        let limits = Limits::default();
        let by_rows = charges(files.facts(1, limits, Detail::RESPONSES));
        prop_assert_eq!(&charges(files.facts(1, cut(unit, 4096), Detail::CHARGES)), &by_rows);
        prop_assert_eq!(&charges(files.lean().facts(1, limits, Detail::CHARGES)), &by_rows, "from digests");
    }

    #[test]
    fn one_thread_equals_many(logs in logs(), unit in 1500u64..6000) {
        let files = Files::of(&logs).worth_threads();
        prop_assert_eq!(files.json(2, cut(unit, 4096)), files.json(1, cut(unit, 4096)));
        prop_assert_eq!(files.json(2, cut(unit, 4096)), files.json(1, Limits::default()));
    }
}

// Cases that the laws may miss: every unit boundary, in sources where it matters.

fn in_any_units(log: &[u8]) -> Account {
    let files = Files::of(&[log]);
    let whole = files.scan(1, Limits::default());
    for unit in 1..=log.len() as u64 + 1 {
        for block in [16, 23, 64] {
            assert_eq!(files.scan(1, cut(unit, block)), whole, "units of {unit}, blocks of {block}");
        }
    }
    whole
}

#[test]
fn a_line_may_end_exactly_at_a_unit_boundary() {
    let log = "{\"type\":\"mindread\"}\n".repeat(5) + "noise\n{\"type\":\"keep_alive\"}\n";
    let account = in_any_units(log.as_bytes());
    assert_eq!((account.input.records, account.input.invalid, account.input.lines), (6, 1, 7));
    assert_eq!(account.input.invalid_places[0].line, 6);
    assert_eq!(account.unknown_kinds["mindread"].line, 1);
}

#[test]
fn carriage_returns_and_blank_lines_may_be_at_a_unit_boundary() {
    let account = in_any_units(b"{\"type\":\"a\"}\r\n\r\n \r\n\0\0\n{\"type\":\"b\"}\r\noops\r\n\r\n");
    assert_eq!((account.input.records, account.input.blank, account.input.lines), (2, 4, 7));
    assert_eq!(account.input.invalid_places[0].line, 6);
}

#[test]
fn a_byte_order_mark_belongs_only_to_the_first_line() {
    let account =
        in_any_units(b"\xef\xbb\xbf{\"type\":\"a\"}\n\xef\xbb\xbf{\"type\":\"a\"}\n{\"type\":\"a\"}");
    assert_eq!((account.input.records, account.input.invalid, account.input.bytes), (2, 1, 44));
}

#[test]
fn a_line_may_span_many_units() {
    let log =
        format!("{{\"type\":\"a\"}}\n{{\"type\":\"b\",\"x\":\"{}\"}}\n{{\"type\":\"c\"", "y".repeat(300));
    let account = in_any_units(log.as_bytes());
    assert_eq!((account.input.records, account.input.truncated, account.input.lines), (2, 1, 3));
}

#[test]
fn only_the_last_line_can_be_truncated_in_any_units() {
    let account = in_any_units(b"{\"type\":\"a\",\n\n{\"type\":\n\n\0\n{\"type\":\"a\"}{\"ty\n\n \n");
    assert_eq!((account.input.records, account.input.truncated, account.input.invalid), (1, 1, 2));
}

#[test]
fn an_empty_source_has_no_lines() {
    for (log, lines) in [("", 0), ("\n", 1), ("\u{feff}\n", 1)] {
        let account = in_any_units(log.as_bytes());
        assert_eq!((account.input.lines, account.input.bytes), (lines, log.len() as u64), "{log:?}");
    }
}

/// Reads a file that grew past the limit, in blocks that are larger and smaller than it.
fn too_large_in_any_blocks(log: &str, max_record: usize) -> Account {
    let files = Files::of(&[log]);
    let whole = files.scan(1, Limits { max_record, ..Limits::default() });
    for unit in 1..=log.len() as u64 + 1 {
        for block in [16, 23, 64, 128] {
            let limits = Limits { max_record, unit, block };
            assert_eq!(files.scan(1, limits), whole, "units of {unit}, blocks of {block}");
        }
    }
    whole
}

#[test]
fn a_record_above_the_limit_is_invalid_with_any_block_size() {
    let log =
        format!("{{\"type\":\"a\"}}\n{{\"type\":\"b\",\"x\":\"{}\"}}\n{{\"type\":\"a\"}}\n", "y".repeat(100));
    let account = too_large_in_any_blocks(&log, 50);
    assert_eq!((account.input.records, account.input.invalid, account.input.lines), (2, 1, 3));
    assert_eq!(account.input.invalid_places[0].reason, "larger than --max-record");
}

#[test]
fn text_after_an_unfinished_line_makes_it_invalid_even_above_the_limit() {
    let long = format!("{{\"type\":\"b\",\"x\":\"{}\"", "y".repeat(100));
    let account = too_large_in_any_blocks(&format!("{{}}\n{{\"type\":\n{long}}}\n"), 50);
    assert_eq!((account.input.truncated, account.input.invalid), (0, 3));
    let account = too_large_in_any_blocks(&format!("{{}}\n{{\"type\":\n{}\n", " ".repeat(100)), 50);
    assert_eq!((account.input.truncated, account.input.invalid, account.input.blank), (1, 1, 1));
    let glued = "{\"type\":\"a\"}".repeat(10);
    let account = too_large_in_any_blocks(&format!("{{}}\n{{\"type\":\n{glued}{{\"type\":"), 50);
    assert_eq!((account.input.records, account.input.truncated, account.input.invalid), (10, 1, 2));
}

#[test]
fn an_unfinished_line_above_the_limit_may_end_in_whitespace() {
    let log = format!("{{}}\n{}{{\"type\":\"b\t \r\n", "{\"type\":\"a\"}".repeat(10));
    let account = too_large_in_any_blocks(&log, 50);
    assert_eq!((account.input.records, account.input.truncated, account.input.invalid), (10, 1, 1));
}
