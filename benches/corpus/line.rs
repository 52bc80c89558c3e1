//! Templates of the lines, copied from recordings of 2.1.325. `$name` is a placeholder; line ends here are
//! not in the log.

use super::text::{FILE, PROMPT};

/// A tool: how often it is called, its input, and its result as text and as `toolUseResult`.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Share of calls, in thousandths.
    pub(super) share: u64,
    pub(super) asks: &'static [(u64, u64)],
    pub(super) input: &'static str,
    pub(super) content: &'static str,
    pub(super) result: &'static str,
}

#[rustfmt::skip]
pub(super) const TOOLS: [Tool; 9] = [
    Tool {
        name: "Bash", share: 440, asks: PROMPT,
        input: r#"{"command":"$text","description":"Run check $file"}"#,
        content: "$text",
        result: r#"{"stdout":"$text","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}"#,
    },
    Tool {
        name: "Read", share: 295, asks: PROMPT,
        input: r#"{"file_path":"/home/dev/project/src/part_$file.rs"}"#,
        content: "$text",
        result: r#"{"type":"text","file":{"filePath":"/home/dev/project/src/part_$file.rs","content":"$text",
"numLines":$file,"startLine":1,"totalLines":$file}}"#,
    },
    Tool {
        name: "Grep", share: 95, asks: PROMPT,
        input: r#"{"pattern":"part_$file","path":"/home/dev/project/src","output_mode":"content"}"#,
        content: "$text",
        result: r#"{"mode":"content","numFiles":0,"filenames":[],"content":"$text","numLines":$file,"totalLines":$file}"#,
    },
    Tool {
        name: "Edit", share: 96, asks: FILE,
        input: r#"{"replace_all":false,"file_path":"/home/dev/project/src/part_$file.rs","old_string":"part_$file","new_string":"$text"}"#,
        content: "The file /home/dev/project/src/part_$file.rs has been updated successfully. (file state is current in your context — no need to Read it back)",
        result: r#"{"filePath":"/home/dev/project/src/part_$file.rs","oldString":"part_$file","newString":"part",
"originalFile":"$text","structuredPatch":[{"oldStart":$file,"oldLines":1,"newStart":$file,"newLines":1,
"lines":["-part_$file","+part"]}],"userModified":false,"replaceAll":false}"#,
    },
    Tool {
        name: "Write", share: 45, asks: FILE,
        input: r#"{"file_path":"/home/dev/project/src/part_$file.rs","content":"$text"}"#,
        content: "File created successfully at: /home/dev/project/src/part_$file.rs (file state is current in your context — no need to Read it back)",
        result: r#"{"type":"create","filePath":"/home/dev/project/src/part_$file.rs","content":"$text",
"structuredPatch":[],"originalFile":null,"userModified":false}"#,
    },
    Tool {
        name: "mcp__tracker__search", share: 20, asks: PROMPT,
        input: r#"{"query":"part $file"}"#,
        content: "$text",
        result: r#""$text""#,
    },
    Tool {
        name: "TaskCreate", share: 4, asks: PROMPT,
        input: r#"{"subject":"Part $file","description":"$text","activeForm":"Doing part $file"}"#,
        content: "Task #$file created successfully: Part $file",
        result: r#"{"task":{"id":"$file","subject":"Part $file","description":"Part $file"}}"#,
    },
    Tool {
        name: "Skill", share: 3, asks: PROMPT,
        input: r#"{"skill":"verify"}"#,
        content: "Launching skill: verify",
        result: r#"{"success":true,"commandName":"verify"}"#,
    },
    Tool {
        name: QUESTION, share: 2, asks: PROMPT,
        input: r#"{"questions":[{"question":"Which part after $file?","header":"Part","multiSelect":false,
"options":[{"label":"Parser","description":"The parser"},{"label":"Reader","description":"The reader"}]}]}"#,
        content: r#"User has answered your questions: \"Which part after $file?\"=\"Parser\". You can now continue with the user's answers in mind."#,
        result: r#"{"questions":[{"question":"Which part after $file?","header":"Part","multiSelect":false,
"options":[{"label":"Parser","description":"The parser"},{"label":"Reader","description":"The reader"}]}],
"answers":{"Which part after $file?":"Parser"}}"#,
    },
];

/// The tool that asks people.
pub(super) const QUESTION: &str = "AskUserQuestion";
/// The tool whose commands can run in the background.
pub(super) const SHELL: &str = "Bash";

// Answers of tools, in both dialects.
pub(super) const CONTENT: &str =
    r#"{"tool_use_id":"$call","type":"tool_result","content":"$content","is_error":false}"#;
pub(super) const CONTENT_ERROR: &str =
    r#"{"type":"tool_result","content":"$content","is_error":true,"tool_use_id":"$call"}"#;
pub(super) const DENIAL_TEXT: &str =
    "Claude requested permissions to use $tool, but you haven't granted it yet.";

// Texts that are recognized by their beginning.
pub(super) const COMMAND_TEXT: &str = r"<command-message>review</command-message>\n<command-name>/review</command-name>\n
<command-args>$text</command-args>";
pub(super) const NOTICE: &str = r#"<task-notification>\n<task-id>$task</task-id>\n<tool-use-id>$call</tool-use-id>\n
<output-file>/tmp/claude/tasks/$task.output</output-file>\n<status>completed</status>\n<summary>Background command
 \"Run check\" completed (exit code 0)</summary>\n</task-notification>"#;
pub(super) const BACKGROUND_CONTENT: &str = "Command running in background with ID: $task. Output is being written to: \
/tmp/claude/tasks/$task.output. You will be notified when it completes.";
pub(super) const BACKGROUND_RESULT: &str = r#"{"stdout":"","stderr":"","interrupted":false,"isImage":false,
"noOutputExpected":false,"backgroundTaskId":"$task"}"#;

/// Beginning of the summary of a compaction.
macro_rules! summary {
    () => {
        r"This session is being continued from a previous conversation that ran out of context. The summary below covers
 the earlier portion of the conversation.\n\nSummary:\n$text\n"
    };
}

macro_rules! saved_tail {
    () => {
        r#""userType":"external","entrypoint":"sdk-cli","cwd":"/home/dev/$project","sessionId":"$session",
"version":"2.1.325","gitBranch":"HEAD"}"#
    };
}

/// The end of a tool result when the call was allowed: saved, streamed.
pub(super) const ACCEPTED: [&str; 2] = [
    concat!(
        r#""sourceToolAssistantUUID":"$asked","permissionDecision":{"decision":"accept","source":"config",
"reasonType":"rule","ruleSource":"cliArg"},"#,
        saved_tail!()
    ),
    r#""tool_result_meta":[{"id":"$call","permission_decision":{"decision":"accept","source":"config",
"reason_type":"rule"}}]}"#,
];
/// The end of a tool result when the call was denied.
pub(super) const REJECTED: [&str; 2] = [
    concat!(
        r#""toolDenialKind":"user-rejected","sourceToolAssistantUUID":"$asked","permissionDecision":
{"decision":"reject","source":"config","reasonCode":"unknown"},"#,
        saved_tail!()
    ),
    r#""tool_result_meta":[{"id":"$call","non_execution_kind":"user-rejected","permission_decision":
{"decision":"reject","source":"config"}}]}"#,
];

// Lines of transcripts. Those that end in a comma are continued by the tail.
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
pub(super) const HOOK_DONE: &str = r#"{"parentUuid":$parent,"isSidechain":false,"attachment":{"type":"hook_success",
"hookName":"$name","toolUseID":"$cause","hookEvent":"$event","content":"","stdout":"","stderr":"","exitCode":0,
"command":"scripts/check $event","durationMs":$ms},"type":"attachment","uuid":"$uuid","timestamp":"$time","#;
pub(super) const HOOK_BLOCKED: &str = r#"{"parentUuid":$parent,"isSidechain":false,"attachment":
{"type":"hook_blocking_error","hookName":"$name","toolUseID":"$cause","hookEvent":"$event","blockingError":
{"blockingError":"[scripts/check $event]: not formatted\n","command":"scripts/check $event"}},"type":"attachment",
"uuid":"$uuid","timestamp":"$time","#;
pub(super) const MAX_TURNS: &str = r#"{"parentUuid":$parent,"isSidechain":false,"attachment":{"type":"max_turns_reached",
"maxTurns":20,"turnCount":21,"exitCommitted":false},"type":"attachment","uuid":"$uuid","timestamp":"$time","#;
pub(super) const RETRY: &str = r#"{"parentUuid":$parent,"isSidechain":false,"type":"system","subtype":"api_error",
"level":"error","error":{"message":"529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":
\"Overloaded\"},\"request_id\":\"$request\"}","status":529,"requestId":"$request","formatted":"529 Overloaded",
"connection":null,"isNetworkDown":false,"rateLimits":null,"noResponse":null},"retryInMs":$ms,"retryAttempt":1,
"maxRetries":10,"source":"request_retry","timestamp":"$time","uuid":"$uuid","#;
pub(super) const COMPACTED_SAVED: &str = r#"{"parentUuid":null,"logicalParentUuid":$parent,"isSidechain":false,
"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"$time",
"uuid":"$uuid","level":"info","compactMetadata":{"trigger":"auto","preTokens":$before,"durationMs":$ms,
"postTokens":$after,"cumulativeDroppedTokens":$before},"#;
pub(super) const SUMMARY_SAVED: &str = concat!(
    r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user","message":{"role":"user","content":""#,
    summary!(),
    r#""},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"$uuid","timestamp":"$time","#
);
pub(super) const NOTICE_LINE: &str = r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user",
"message":{"role":"user","content":"$text"},"uuid":"$uuid","timestamp":"$time","permissionMode":"default",
"origin":{"kind":"task-notification","producer":"session-task"},"promptSource":"system",
"turnOrigin":"task_notification","queueSkipAttachments":true,"#;
pub(super) const CAVEAT: &str = r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user",
"message":{"role":"user","content":"<local-command-caveat>The command below was run directly in Claude Code, not sent to
 you as a request.</local-command-caveat>"},"isMeta":true,"uuid":"$uuid","timestamp":"$time","#;
pub(super) const LOCAL_COMMAND: &str = r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user",
"message":{"role":"user","content":"<command-name>/context</command-name>\n            <command-message>context
</command-message>\n            <command-args></command-args>"},"uuid":"$uuid","timestamp":"$time","#;
pub(super) const LOCAL_ANSWER: &str = r#"{"parentUuid":$parent,"isSidechain":false,"type":"system",
"subtype":"local_command","content":"<local-command-stdout>$text</local-command-stdout>","level":"info",
"timestamp":"$time","uuid":"$uuid","isMeta":false,"#;
pub(super) const COMPANION: &str = r#"{"parentUuid":$parent,"isSidechain":false,"promptId":"$prompt","type":"user",
"message":{"role":"user","content":[{"type":"text","text":"$text"}]},"isMeta":true,"turnCompanion":true,"uuid":"$uuid",
"timestamp":"$time","#;
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

/// Attachments of the CLI to the first prompt of a session.
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
pub(super) const HOOK_STARTED: &str = r#"{"type":"system","subtype":"hook_started","hook_id":"$hook","hook_name":"$name",
"hook_event":"$event","uuid":"$uuid","session_id":"$session"}"#;
pub(super) const HOOK_RESPONSE: &str = r#"{"type":"system","subtype":"hook_response","hook_id":"$hook",
"hook_name":"$name","hook_event":"$event","output":"","stdout":"","stderr":"","exit_code":0,"outcome":"success",
"uuid":"$uuid","session_id":"$session"}"#;
pub(super) const HOOK_REFUSED: &str = r#"{"type":"system","subtype":"hook_response","hook_id":"$hook",
"hook_name":"$name","hook_event":"$event","output":"not formatted\n","stdout":"","stderr":"not formatted\n",
"exit_code":2,"outcome":"error","uuid":"$uuid","session_id":"$session"}"#;
pub(super) const TASK_STARTED: &str = r#"{"type":"system","subtype":"task_started","task_id":"$task",
"tool_use_id":"$call","description":"Run check","is_backgrounded":true,"task_type":"local_bash","uuid":"$uuid",
"session_id":"$session"}"#;
pub(super) const TASK_NOTIFICATION: &str = r#"{"type":"system","subtype":"task_notification","task_id":"$task",
"tool_use_id":"$call","status":"completed","output_file":"/tmp/claude/tasks/$task.output","summary":
"Background command \"Run check\" completed (exit code 0)","uuid":"$uuid","session_id":"$session"}"#;
pub(super) const COMPACTED: &str = r#"{"type":"system","subtype":"compact_boundary","session_id":"$session",
"uuid":"$uuid","compact_metadata":{"trigger":"auto","pre_tokens":$before,"post_tokens":$after,"duration_ms":$ms}}"#;
pub(super) const SUMMARY: &str = concat!(
    r#"{"type":"user","message":{"role":"user","content":""#,
    summary!(),
    r#""},"parent_tool_use_id":null,"session_id":"$session","uuid":"$uuid","timestamp":"$time","isSynthetic":true}"#
);
pub(super) const RATE_LIMIT: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning",
"resetsAt":$resets,"rateLimitType":"five_hour","utilization":0.8},"uuid":"$uuid","session_id":"$session"}"#;
pub(super) const CAN_USE_TOOL: &str = r#"{"type":"control_request","request_id":"$request","request":
{"subtype":"can_use_tool","tool_name":"$tool","display_name":"$tool","input":$input,"permission_suggestions":[],
"tool_use_id":"$call"}}"#;
pub(super) const HOST_ALLOWS: &str = r#"{"type":"control_response","response":{"subtype":"success",
"request_id":"$request","response":{"behavior":"allow","updatedInput":$input}}}"#;
pub(super) const HOST_DENIES: &str = r#"{"type":"control_response","response":{"subtype":"success",
"request_id":"$request","response":{"behavior":"deny","message":"not now"}}}"#;
/// In 2.1.325 a result does not begin with its type: `type` is in the middle.
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
