//! What the lines look like, copied from recordings of 2.1.325. `$name` is a hole; line ends here are not in the log.

use super::text::{FILE, PROMPT};

/// A tool: how often it is called, what it is asked, and what comes back as text and as `toolUseResult`.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Of a hundred calls.
    pub(super) share: u64,
    pub(super) asks: &'static [(u64, u64)],
    pub(super) input: &'static str,
    pub(super) content: &'static str,
    pub(super) result: &'static str,
}

#[rustfmt::skip]
pub(super) const TOOLS: [Tool; 5] = [
    Tool {
        name: "Bash", share: 45, asks: PROMPT,
        input: r#"{"command":"$text","description":"Run check $file"}"#,
        content: "$text",
        result: r#"{"stdout":"$text","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}"#,
    },
    Tool {
        name: "Read", share: 30, asks: PROMPT,
        input: r#"{"file_path":"/home/dev/project/src/part_$file.rs"}"#,
        content: "$text",
        result: r#"{"type":"text","file":{"filePath":"/home/dev/project/src/part_$file.rs","content":"$text",
"numLines":$file,"startLine":1,"totalLines":$file}}"#,
    },
    Tool {
        name: "Grep", share: 10, asks: PROMPT,
        input: r#"{"pattern":"part_$file","path":"/home/dev/project/src","output_mode":"content"}"#,
        content: "$text",
        result: r#"{"mode":"content","numFiles":0,"filenames":[],"content":"$text","numLines":$file,"totalLines":$file}"#,
    },
    Tool {
        name: "Edit", share: 10, asks: FILE,
        input: r#"{"replace_all":false,"file_path":"/home/dev/project/src/part_$file.rs","old_string":"part_$file","new_string":"$text"}"#,
        content: "The file /home/dev/project/src/part_$file.rs has been updated successfully. (file state is current in your context — no need to Read it back)",
        result: r#"{"filePath":"/home/dev/project/src/part_$file.rs","oldString":"part_$file","newString":"part",
"originalFile":"$text","structuredPatch":[{"oldStart":$file,"oldLines":1,"newStart":$file,"newLines":1,
"lines":["-part_$file","+part"]}],"userModified":false,"replaceAll":false}"#,
    },
    Tool {
        name: "Write", share: 5, asks: FILE,
        input: r#"{"file_path":"/home/dev/project/src/part_$file.rs","content":"$text"}"#,
        content: "File created successfully at: /home/dev/project/src/part_$file.rs (file state is current in your context — no need to Read it back)",
        result: r#"{"type":"create","filePath":"/home/dev/project/src/part_$file.rs","content":"$text",
"structuredPatch":[],"originalFile":null,"userModified":false}"#,
    },
];

// Answers of tools, in both dialects.
pub(super) const CONTENT: &str =
    r#"{"tool_use_id":"$call","type":"tool_result","content":"$content","is_error":false}"#;
pub(super) const CONTENT_ERROR: &str =
    r#"{"type":"tool_result","content":"$content","is_error":true,"tool_use_id":"$call"}"#;
pub(super) const DENIAL_TEXT: &str =
    "Claude requested permissions to use $tool, but you haven't granted it yet.";

macro_rules! saved_tail {
    () => {
        r#""userType":"external","entrypoint":"sdk-cli","cwd":"/home/dev/$project","sessionId":"$session",
"version":"2.1.325","gitBranch":"HEAD"}"#
    };
}

/// How an answer goes on after its result when the call was allowed: saved, streamed.
pub(super) const ACCEPTED: [&str; 2] = [
    concat!(
        r#""sourceToolAssistantUUID":"$asked","permissionDecision":{"decision":"accept","source":"config",
"reasonType":"rule","ruleSource":"cliArg"},"#,
        saved_tail!()
    ),
    r#""tool_result_meta":[{"id":"$call","permission_decision":{"decision":"accept","source":"config",
"reason_type":"rule"}}]}"#,
];
/// The same when it was denied.
pub(super) const REJECTED: [&str; 2] = [
    concat!(
        r#""toolDenialKind":"user-rejected","sourceToolAssistantUUID":"$asked","permissionDecision":
{"decision":"reject","source":"config","reasonCode":"unknown"},"#,
        saved_tail!()
    ),
    r#""tool_result_meta":[{"id":"$call","non_execution_kind":"user-rejected","permission_decision":
{"decision":"reject","source":"config"}}]}"#,
];

// Lines of transcripts. Those that end in a comma go on with the tail.
pub(super) const SAVED_TAIL: &str = saved_tail!();
pub(super) const ENQUEUE: &str = r#"{"type":"queue-operation","operation":"enqueue","timestamp":"$time",
"sessionId":"$session","content":"$text"}"#;
pub(super) const DEQUEUE: &str =
    r#"{"type":"queue-operation","operation":"dequeue","timestamp":"$time","sessionId":"$session"}"#;
pub(super) const PROMPT_LINE: &str = r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user",
"message":{"role":"user","content":"$text"},"uuid":"$uuid","timestamp":"$time","permissionMode":"default",
"promptSource":"sdk","turnOrigin":"sdk","turnPosition":{"promptIndex":$turns,"turnIndex":1},"#;
pub(super) const USER_SAVED: &str = r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user",
"message":{"role":"user","content":[$block]},"uuid":"$uuid","timestamp":"$time","toolUseResult":$result,"#;
pub(super) const ASSISTANT_SAVED: &str = r#"{"parentUuid":$parent,"isSidechain":false,"message":{"id":"$message",
"type":"message","role":"assistant","model":"claude-opus-5-5","content":[$block],"stop_reason":"$stop",
"stop_sequence":null,"usage":$usage,"stop_details":null},$timing"apiBlockIndex":$index,"requestId":"$request",
"requestRef":"$api","requestedModel":"claude-opus-5-5","promptCacheRequested":"$cache","type":"assistant",
"uuid":"$uuid","timestamp":"$time","effort":"medium","perTurnEffort":"medium","madeBy":"model","#;
pub(super) const STOP_HOOKS: &str = r#"{"parentUuid":$parent,"isSidechain":false,"type":"system",
"subtype":"stop_hook_summary","hookCount":1,"hookInfos":[{"command":"true","durationMs":$ms}],"hookErrors":[],
"hookAdditionalContext":[],"preventedContinuation":false,"stopReason":"","hasOutput":false,"level":"suggestion",
"timestamp":"$time","uuid":"$uuid","toolUseID":"$prompt","#;
pub(super) const LAST_PROMPT: &str =
    r#"{"type":"last-prompt","lastPrompt":"$text","leafUuid":$leaf,"sessionId":"$session"}"#;
pub(super) const ATIS_LATCH: &str = r#"{"type":"atis-latch","atis":"","sessionId":"$session"}"#;
pub(super) const TOOLS_USED: &str =
    r#"{"type":"tools-used","tools":["Read","Edit","Bash"],"sessionId":"$session"}"#;
pub(super) const API_REQUEST: &str = r#"{"type":"api-request","sessionId":"$session","id":"$api","timestamp":"$time",
"version":"2.1.325","querySource":"sdk","shapeHash":"$api","params":{"model":"claude-opus-5-5",
"betas":["claude-code-20250219","interleaved-thinking-2025-05-14","context-management-2025-06-27",
"per-turn-control-2026-07-01","thinking-token-count-2026-05-13","effort-2025-11-24"],
"max_tokens":128000,"thinking":{"type":"adaptive","display":"updates"},"context_management":{"edits":
[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"medium"}},"base":"$tail","keep":2,
"tail":["$tail"],"cacheControl":[{"path":["system",0],"value":{"type":"ephemeral"}},
{"path":["messages",3,"content",0],"value":{"type":"ephemeral"}}],"requestDigest":"$tail"}"#;
pub(super) const COST_STATE: &str = r#"{"type":"cost-state","sessionId":"$session","totalCostUSD":$usd,
"totalAPIDuration":$ms,"totalAPIDurationWithoutRetries":$ms,"totalToolDuration":$ms,"totalLinesAdded":0,
"totalLinesRemoved":0,"totalDuration":$ms,"startTime":$began,"modelUsage":$model,"hasUnknownModelCost":false}"#;

macro_rules! attachment {
    ($inner:literal) => {
        concat!(
            r#"{"parentUuid":$parent,"isSidechain":false,"attachment":{"type":"#,
            $inner,
            r#"},"type":"attachment","uuid":"$uuid","timestamp":"$time","rendered":[{"content":
"<system-reminder>\n$text\n</system-reminder>"}],"renderedRole":"system","#
        )
    };
}

/// What the CLI attaches to the first prompt of a session.
pub(super) const ATTACHMENTS: [&str; 5] = [
    attachment!(
        r#""environment","snapshot":{"workingDirectory":"/home/dev/$project","isWorktree":false,"isGitRepo":true,
"additionalWorkingDirectories":[],"platform":"linux","shell":"bash","osVersion":"Linux 6.0.0"}"#
    ),
    attachment!(
        r#""model","identity":{"modelId":"claude-opus-5-5","marketingName":"Opus 5.5","knowledgeCutoff":"June 2026"},"text":"claude-opus-5-5""#
    ),
    attachment!(
        r#""deferred_tools_delta","addedNames":["CronCreate","WebFetch"],"addedLines":[],"removedNames":[],
"wireHiddenNames":[],"readdedNames":[],"pendingMcpServers":[],"needsAuthMcpServers":[],"failedMcpServers":[]"#
    ),
    attachment!(
        r#""skill_listing","content":"$text","skillCount":13,"isInitial":true,"names":[],"digests":[]"#
    ),
    attachment!(r#""date","date":"2026-11-15""#),
];

// Lines of streams.
pub(super) const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/home/dev/$project","session_id":"$session",
"tools":["Task","Bash","Edit","Glob","Grep","NotebookEdit","Read","Skill","ToolSearch","WebFetch","WebSearch","Write"],
"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"default","slash_commands":["verify","debug",
"code-review","clear","compact","context","init","usage"],"terminal_slash_commands":["doctor","color"],
"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.325","output_style":"default","agents":["claude",
"Explore","general-purpose","Plan"],"skills":["verify","debug","code-review"],"plugins":[{"name":"cc-plugin-agents-md",
"path":"builtin","source":"cc-plugin-agents-md@builtin"}],"capabilities":["interrupt_receipt_v1","msg_lifecycle_v1"],
"analytics_disabled":true,"product_feedback_disabled":true,"uuid":"$uuid","memory_paths":{"auto":
"/home/dev/.claude/projects/-home-dev-$project/memory/"},"original_cwd":"/home/dev/$project",
"additional_directories":[],"messaging_socket_path":"/tmp/cc-socks/1234.sock","fast_mode_state":"off",
"fast_mode_disabled_reason":"sdk_opt_in_required","per_turn_effort_active":true,"ultrathink_available":false,
"ultrathink_typed_raises":false,"view_mode":"default"}"#;
pub(super) const ASSISTANT: &str = r#"{"type":"assistant","message":{"id":"$message","type":"message",
"role":"assistant","model":"claude-opus-5-5","content":[$block],"stop_reason":null,"stop_sequence":null,
"usage":$usage,"context_management":null},"parent_tool_use_id":null,"session_id":"$session","uuid":"$uuid",
"timestamp":"$time","request_id":"$request"$timing}"#;
pub(super) const USER: &str = r#"{"type":"user","message":{"role":"user","content":[$block]},
"parent_tool_use_id":null,"session_id":"$session","uuid":"$uuid","timestamp":"$time","tool_use_result":$result,"#;
pub(super) const STATUS: &str =
    r#"{"type":"system","subtype":"status","status":"requesting","session_id":"$session","uuid":"$uuid"}"#;
pub(super) const THINKING_TOKENS: &str = r#"{"type":"system","subtype":"thinking_tokens","estimated_tokens":$tokens,
"estimated_tokens_delta":$tokens,"session_id":"$session","uuid":"$uuid"}"#;
pub(super) const PERMISSION_DENIED: &str = r#"{"type":"system","subtype":"permission_denied","tool_name":"$tool",
"tool_use_id":"$call","message":"$text","uuid":"$uuid","session_id":"$session"}"#;
pub(super) const PERMISSION_DENIAL: &str =
    r#"{"tool_name":"$tool","tool_use_id":"$call","tool_input":$input}"#;
/// A result does not begin with its type in 2.1.325, and `type` stands in the middle.
pub(super) const RESULT: &str = r#"{"duration_api_ms":$api,"stop_reason":"$stop","session_id":"$session",
"total_cost_usd":$usd,"usage":$usage,"modelUsage":$model,"permission_denials":[$denials],
"terminal_reason":"$reason","fast_mode_state":"off","fast_mode_disabled_reason":"sdk_opt_in_required",
"subagent_stats":{"spawned":0,"requested":{"background":0,"foreground":0,"unset":0},"started_in_background":0,
"max_depth":0,"spawned_by_subagents":0,"completed":0,"failed":0,"killed":{"parent":0,"user":0,"system":0},
"refused":{"depth_limit":0,"concurrency_limit":0,"budget":0},"by_type":{}},"safety_stops":0,"#;
pub(super) const RESULT_SUCCESS: &str = r#""is_error":false,"num_turns":$turns,"subtype":"success",
"api_error_status":null,"result":"$text","ttft_ms":491,"type":"result","duration_ms":$wall,"uuid":"$uuid",
"ttft_stream_ms":489,"time_to_request_ms":474,"first_content_frame_ms":489,"queued_turn_count":0,
"result_index":$index,"model_usage_since_last_result":$since}"#;
pub(super) const RESULT_STOPPED: &str = r#""is_error":true,"num_turns":$turns,"subtype":"error_during_execution",
"errors":["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"],"type":"result",
"duration_ms":$wall,"uuid":"$uuid","queued_turn_count":0,"result_index":$index,
"model_usage_since_last_result":$since}"#;

// Events of streams.
pub(super) const STREAM_EVENT: &str = r#"{"type":"stream_event","event":$event,"session_id":"$session",
"parent_tool_use_id":null,"uuid":"$uuid","api_message_id":"$message"}"#;
pub(super) const MESSAGE_START: &str = r#"{"type":"stream_event","event":{"type":"message_start","message":
{"id":"$message","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,
"stop_sequence":null,"usage":$usage}},"session_id":"$session","parent_tool_use_id":null,"uuid":"$uuid","ttft_ms":$ms,
"thinking_display":"updates","api_message_id":"$message"}"#;
pub(super) const BLOCK_START: &str =
    r#"{"type":"content_block_start","index":$index,"content_block":$start}"#;
pub(super) const BLOCK_STOP: &str = r#"{"type":"content_block_stop","index":$index}"#;
pub(super) const MESSAGE_DELTA: &str = r#"{"type":"message_delta","delta":{"stop_reason":"$stop",
"stop_sequence":null},"usage":$usage}"#;
pub(super) const MESSAGE_STOP: &str = r#"{"type":"message_stop"}"#;
pub(super) const TEXT_DELTA: &str =
    r#"{"type":"content_block_delta","index":$index,"delta":{"type":"text_delta","text":"$piece"}}"#;
pub(super) const THINKING_DELTA: &str =
    r#"{"type":"content_block_delta","index":$index,"delta":{"type":"thinking_delta","thinking":"$piece"}}"#;
pub(super) const SIGNATURE_DELTA: &str = r#"{"type":"content_block_delta","index":$index,"delta":{"type":"signature_delta","signature":"$piece"}}"#;
pub(super) const INPUT_DELTA: &str = r#"{"type":"content_block_delta","index":$index,"delta":{"type":"input_json_delta","partial_json":"$piece"}}"#;

// Blocks.
pub(super) const TEXT: &str = r#"{"type":"text","text":"$text"}"#;
pub(super) const THINKING: &str = r#"{"type":"thinking","thinking":"$text","signature":"$sign"}"#;
pub(super) const TOOL_USE: &str = r#"{"type":"tool_use","name":"$tool","input":$input,"id":"$call"}"#;
pub(super) const SIGNATURE: &str = "c3R1Yi1zaWduYXR1cmU=";
pub(super) const THINKING_TIMING: [&str; 2] = [
    r#""thinkingDurationMs":2,"thinkingDisplay":"updates","#,
    r#","thinking_duration_ms":1,"thinking_display":"updates""#,
];
