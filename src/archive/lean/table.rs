//! The table of members that a lean record keeps, by kind of object. All others are dropped.

/// Kinds of JSON objects in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Record,
    Message,
    Usage,
    CacheCreation,
    ServerTools,
    Model,
    DeniedCall,
    Server,
    Named,
    HookInfo,
    Task,
    TaskPatch,
    Compaction,
    RateLimit,
    ResultMeta,
    Decision,
    Outcome,
    StatusChange,
    Origin,
    Event,
    Delta,
    Attachment,
    BlockingError,
    Progress,
    Request,
    HookInput,
    Response,
    ResponseBody,
    HookOutput,
    HookDecision,
    ApiError,
    Params,
    OutputConfig,
    Shape,
    Diagnostics,
    MissReason,
}

/// How a member is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// As it is. An object or a list is kept as a value that is not empty, or empty.
    Copy,
    /// As it is, unless it is 0, false, null or an empty text, which count as missing.
    Set,
    /// As it is, if it is one word; other texts are kept as a text that is not a word.
    Word,
    /// Only that it is there.
    Presence,
    /// The first word, which may be the name of a command.
    FirstWord,
    /// The words that decide how the text of a tool counts.
    ToolText,
    /// The words that decide how a typed text counts.
    Prompt,
    /// If it is JSON, the decision of a hook.
    HookJson,
    /// An object.
    Object(Object),
    /// A list of objects.
    Each(Object),
    /// An object with names as keys and objects as values.
    Map(Object),
    /// A list of names of commands.
    Names,
    /// A list of tools: those of MCP servers.
    McpTools,
    /// A list of texts that are words.
    Words,
    /// The number of elements of a list.
    Length,
    /// A list: the name, the length and a hash of each element.
    Measured,
    /// Handled by code that knows more of the record.
    Special,
}

type Row = (Object, Keep, &'static [&'static str]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Object::Record, Keep::Copy, &[
        "type", "subtype", "operation", "uuid", "session_id", "sessionId", "timestamp", "version",
        "claude_code_version", "cwd", "requestedModel", "error_status", "api_error_status", "apiErrorStatus",
        "toolDenialKind", "parent_tool_use_id", "api_message_id", "tool_use_id", "tool_name", "durationMs",
        "totalCostUSD", "duration_api_ms", "duration_ms", "duration", "cost", "total_cost_usd", "num_turns",
        "toolUseId", "parentToolUseID", "agentId", "agent_id", "subagent_type", "attributionAgent", "ttft_ms",
        "time_to_request_ms",
        "retry_delay_ms", "retryInMs", "requestSessionId", "sourceToolUseID", "permissionMode", "mode",
        "hook_id", "hook_event", "hook_name", "exit_code", "exitCode", "outcome", "toolUseID", "task_id",
        "task_type", "compact_result", "trigger", "original_model", "originalModel", "fallback_model",
        "fallbackModel", "api_refusal_category", "apiRefusalCategory", "safety_stops", "decision_reason_type",
        "toolName", "status", "end_time", "is_backgrounded", "querySource", "requestRef", "shapeHash", "base",
        "keep", "gitBranch", "effort", "attributionSkill", "attributionMcpServer", "prNumber", "prUrl",
        "prRepository",
    ]),
    (Object::Record, Keep::Set, &[
        "is_api_error_message", "isApiErrorMessage", "isReplay", "isSynthetic", "isMeta", "isCompactSummary",
        "is_error", "isError", "preventedContinuation",
    ]),
    (Object::Record, Keep::McpTools, &["tools"]),
    (Object::Record, Keep::Length, &["tail"]),
    (Object::Record, Keep::Object(Object::Params), &["params"]),
    (Object::Record, Keep::Object(Object::Shape), &["shape"]),
    (Object::Params, Keep::Copy, &["model"]),
    (Object::Params, Keep::Words, &["betas"]),
    (Object::Params, Keep::Object(Object::OutputConfig), &["output_config"]),
    (Object::OutputConfig, Keep::Word, &["effort"]),
    (Object::Shape, Keep::Measured, &["system", "tools"]),
    (Object::Record, Keep::Names, &["slash_commands", "skills", "agents", "commands"]),
    (Object::Record, Keep::FirstWord, &["local_command"]),
    (Object::Record, Keep::HookJson, &["stdout"]),
    (Object::Record, Keep::Object(Object::Named), &["commandRun"]),
    (Object::Record, Keep::Object(Object::Event), &["event"]),
    (Object::Record, Keep::Object(Object::Attachment), &["attachment"]),
    (Object::Record, Keep::Object(Object::Progress), &["data"]),
    (Object::Record, Keep::Object(Object::Request), &["request"]),
    (Object::Record, Keep::Object(Object::Response), &["response"]),
    (Object::Record, Keep::Object(Object::TaskPatch), &["patch"]),
    (Object::Record, Keep::Each(Object::Task), &["tasks"]),
    (Object::Record, Keep::Each(Object::Server), &["mcp_servers"]),
    (Object::Record, Keep::Object(Object::Usage), &["usage"]),
    (Object::Record, Keep::Map(Object::Model), &["modelUsage", "model_usage_since_last_result"]),
    (Object::Record, Keep::Each(Object::DeniedCall), &["permission_denials"]),
    (Object::Record, Keep::Each(Object::ResultMeta), &["tool_result_meta"]),
    (Object::Record, Keep::Object(Object::Decision), &["permissionDecision"]),
    (Object::Record, Keep::Object(Object::Origin), &["origin"]),
    (Object::Record, Keep::Object(Object::RateLimit), &["rate_limit_info"]),
    (Object::Record, Keep::Object(Object::Compaction), &[
        "compact_metadata", "compactMetadata", "microcompact_metadata", "microcompactMetadata",
    ]),
    (Object::Record, Keep::Each(Object::HookInfo), &["hookInfos"]),
    (Object::Record, Keep::Special, &[
        "message", "parentUuid", "isSidechain", "error", "id", "request_id", "requestId", "content", "text",
        "toolUseResult", "tool_use_result", "hookErrors", "stop_reason",
    ]),

    (Object::Message, Keep::Copy, &["role", "id", "model"]),
    (Object::Message, Keep::Object(Object::Usage), &["usage"]),
    (Object::Message, Keep::Object(Object::Diagnostics), &["diagnostics"]),
    (Object::Message, Keep::Special, &["content", "stop_reason"]),
    (Object::Diagnostics, Keep::Special, &["cache_miss_reason"]),
    (Object::MissReason, Keep::Word, &["type"]),

    (Object::Usage, Keep::Set, &[
        "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    ]),
    (Object::Usage, Keep::Object(Object::CacheCreation), &["cache_creation"]),
    (Object::Usage, Keep::Object(Object::ServerTools), &["server_tool_use"]),
    (Object::Usage, Keep::Copy, &[
        "total_tokens", "totalTokens", "tool_uses", "totalToolUseCount", "duration_ms", "totalDurationMs",
    ]),
    (Object::Usage, Keep::Special, &["speed", "inference_geo"]),
    (Object::CacheCreation, Keep::Set, &["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]),
    (Object::ServerTools, Keep::Set, &["web_search_requests"]),
    (Object::Model, Keep::Set, &[
        "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens",
        "cacheCreationEphemeral1hInputTokens", "webSearchRequests", "costUSD",
    ]),

    (Object::DeniedCall, Keep::Copy, &["tool_use_id", "tool_name"]),
    (Object::Server, Keep::Copy, &["name", "status"]),
    (Object::Server, Keep::Each(Object::Named), &["tools"]),
    (Object::Named, Keep::Copy, &["name"]),
    (Object::Named, Keep::FirstWord, &["command"]),
    (Object::HookInfo, Keep::Copy, &["command", "durationMs"]),
    (Object::Task, Keep::Copy, &[
        "task_id", "shellId", "id", "tool_use_id", "task_type", "subagent_type", "status", "end_time",
        "is_backgrounded",
    ]),
    (Object::Task, Keep::Object(Object::Usage), &["usage"]),
    (Object::Task, Keep::Object(Object::TaskPatch), &["patch"]),
    (Object::TaskPatch, Keep::Copy, &["status", "end_time", "is_backgrounded"]),
    (Object::Compaction, Keep::Copy, &[
        "pre_tokens", "preTokens", "post_tokens", "postTokens", "duration_ms", "durationMs", "trigger",
        "tokens_saved", "tokensSaved",
    ]),
    (Object::RateLimit, Keep::Copy, &[
        "status", "rateLimitType", "rate_limit_type", "resetsAt", "resets_at", "utilization",
    ]),
    (Object::ResultMeta, Keep::Copy, &["id", "non_execution_kind"]),
    (Object::ResultMeta, Keep::Object(Object::Decision), &["permission_decision"]),
    (Object::Decision, Keep::Copy, &[
        "decision", "source", "reason_type", "reasonType", "reason_code", "reasonCode", "ruleSource",
    ]),
    (Object::Outcome, Keep::Copy, &[
        "backgroundTaskId", "agentId", "agentType", "isAsync", "totalTokens", "totalToolUseCount",
        "totalDurationMs", "durationMs", "durationSeconds", "task_id", "taskId", "shell_id", "shellId",
    ]),
    (Object::Outcome, Keep::Word, &["status"]),
    (Object::Outcome, Keep::Object(Object::Task), &["task"]),
    (Object::Outcome, Keep::Each(Object::Task), &["tasks"]),
    (Object::Outcome, Keep::Object(Object::StatusChange), &["statusChange"]),
    (Object::StatusChange, Keep::Copy, &["to"]),
    (Object::Origin, Keep::Copy, &["kind"]),

    (Object::Event, Keep::Copy, &["type"]),
    (Object::Event, Keep::Object(Object::Message), &["message"]),
    (Object::Event, Keep::Object(Object::Delta), &["delta"]),
    (Object::Event, Keep::Object(Object::Usage), &["usage"]),
    (Object::Delta, Keep::Special, &["stop_reason"]),

    (Object::Attachment, Keep::Copy, &[
        "type", "hookEvent", "hookName", "toolUseID", "source_uuid", "exitCode", "exit_code",
        "outcome", "durationMs",
    ]),
    (Object::Attachment, Keep::Word, &["decision"]),
    (Object::Attachment, Keep::Special, &["command"]),
    (Object::Attachment, Keep::Names, &["names", "addedTypes"]),
    (Object::Attachment, Keep::Prompt, &["prompt"]),
    (Object::Attachment, Keep::HookJson, &["stdout"]),
    (Object::Attachment, Keep::Object(Object::BlockingError), &["blockingError"]),
    (Object::BlockingError, Keep::Copy, &["command"]),
    (Object::Progress, Keep::Copy, &["type", "hookEvent", "hookName"]),
    (Object::Progress, Keep::Special, &["command"]),
    (Object::Progress, Keep::Object(Object::Record), &["message"]),

    (Object::Request, Keep::Copy, &[
        "subtype", "tool_name", "tool_use_id", "decision_reason_type", "matched_ask_rule",
    ]),
    (Object::Request, Keep::Special, &["input"]),
    (Object::HookInput, Keep::Copy, &["hook_event_name", "tool_name", "session_id"]),
    (Object::Response, Keep::Copy, &["subtype", "request_id"]),
    (Object::Response, Keep::Object(Object::ResponseBody), &["response"]),
    (Object::ResponseBody, Keep::Word, &["behavior", "decision"]),
    (Object::ResponseBody, Keep::Copy, &["continue", "updatedPermissions"]),
    (Object::ResponseBody, Keep::Presence, &["commands", "still_queued", "model", "mode"]),
    (Object::ResponseBody, Keep::Object(Object::HookOutput), &["hookSpecificOutput"]),
    (Object::ResponseBody, Keep::Each(Object::Server), &["mcp_servers", "mcpServers"]),
    (Object::HookOutput, Keep::Word, &["permissionDecision"]),
    (Object::HookOutput, Keep::Copy, &["continue"]),
    (Object::HookOutput, Keep::Object(Object::HookOutput), &["hookSpecificOutput"]),
    (Object::HookOutput, Keep::Special, &["decision"]),
    (Object::HookDecision, Keep::Word, &["behavior"]),
    (Object::ApiError, Keep::Copy, &["status"]),
];

/// Returns how a member is kept; `None` if it is dropped.
pub(super) fn keep(object: Object, key: &str) -> Option<Keep> {
    let mut rows = ROWS.iter().filter(|(own, ..)| *own == object);
    rows.find(|(.., keys)| keys.contains(&key)).map(|&(_, keep, _)| keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_an_object_has_one_row() {
        let mut all: Vec<(String, &str)> = ROWS
            .iter()
            .flat_map(|(object, _, keys)| keys.iter().map(move |key| (format!("{object:?}"), *key)))
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
