//! Names of fields that are kept as keys although their values are replaced.
//!
//! They come from the recordings and from the documented inputs and outputs of tools. Fields that have a row
//! in `table.rs` or that the decoder reads are not repeated here.

/// The names, sorted.
#[rustfmt::skip]
pub(super) const FIELDS: &[&str] = &[
    "$schema", "abandoned_blocks", "aborted", "account", "activeForm", "addedLines", "addedNames",
    "additionalProperties", "additionalWorkingDirectories", "additional_directories", "agent_type", "aliases",
    "allowedTools", "analytics_disabled", "answers", "apiBlockIndex", "apiErrorIsTransient", "apiErrorParams",
    "apiProvider", "api_error_params", "api_refusal_explanation", "args", "argumentHint", "atis", "attempt",
    "auto", "available_output_styles", "background", "base64", "bashCount", "betas", "blockedBy",
    "blockingError", "budget", "budget_tokens", "builtInPluginTypes", "builtInTypes", "builtin", "by_type",
    "bytes", "cacheControl", "cacheCreationEphemeral5mInputTokens", "cache_control", "canContinueAgent",
    "canReadOutputFile", "categories", "cause", "cellType", "cell_id", "cell_type", "cells", "citations",
    "cliPrefix", "codeText", "color", "commandName", "compact_output_chars", "completed", "concurrency_limit",
    "connection", "container", "context", "contextRendering", "contextUsage", "contextWindow",
    "context_management", "context_usage", "continue", "countIsComplete", "cumulativeDroppedTokens",
    "cumulative_dropped_tokens", "date", "decision_reason", "defer_loading", "depth_limit", "description",
    "destination", "diagnostics", "digests", "dimensions", "display", "displayHeight", "displayName",
    "displayWidth", "display_name", "document", "durationSeconds", "echoWireToolInputs", "editFileCount",
    "edit_mode", "edits", "elapsed_time_seconds", "elicitation_id", "encrypted_content", "end_time", "entries",
    "enum", "errorCode", "errorDetails", "error_code", "estimated_tokens", "estimated_tokens_delta", "exitCode",
    "exitCommitted", "exit_code", "failed", "failedMcpServers", "failedResponseHadNoToolCall",
    "fallback_credit", "fast_mode_disabled_reason", "feedback_mode", "file", "file_id", "files",
    "first_content_frame_ms", "first_request_cache_read_input_tokens", "first_request_input_tokens",
    "foreground", "formatted", "from_block_index", "glob", "harnessNoteCount",
    "harnessSectionHash", "harnessTailCount", "hasOutput", "hasUnknownModelCost", "hash", "header", "heartbeat",
    "history", "holdsPersonsWords", "hook", "hookAdditionalContext", "hookCount", "hookInfos",
    "hook_on_failure_supported", "ide_rc_auto_enable_gate", "identity", "index", "inlineTools", "input_schema",
    "interrupted", "isAbortedMidStream", "isAgent", "isAsync", "isGitRepo", "isImage", "isInitial",
    "isNetworkDown", "isSSLError", "isSnapshotUpdate", "isSubAgent", "isUsingOverage",
    "isVisibleInTranscriptOnly", "isWorktree", "is_backgrounded", "is_splitpane", "iterations", "keep",
    "keptReminders", "killed", "knowledgeCutoff", "label", "language", "lastPrompt", "lead_agent_id", "limit",
    "limitScope", "lines", "linesAdded", "linesRemoved", "local_command_source", "madeBy", "managedCommit",
    "managedPr", "marketingName", "matched_ask_rule", "matches", "maxOutputTokens", "maxRetries", "maxTurns",
    "max_depth", "max_results", "max_retries", "max_tokens", "max_turns", "mcpCallNotReadOnly", "mcpMeta",
    "mcp_tools", "media_type", "memory_files", "memory_paths", "messageCount", "message_uuid",
    "messaging_socket_path", "modelId", "models", "multiSelect", "needsAuthMcpServers", "newLines", "newStart",
    "newString", "newTodos", "new_source", "new_string", "noOutputExpected", "noResponse", "normalizedMessages",
    "numFiles", "numLines", "offset", "oldLines", "oldStart", "oldString", "oldTodos", "old_string", "options",
    "originalFile", "originalHeight", "originalSize", "originalWidth", "original_file", "osVersion",
    "otherToolCount", "other_hook_ask_outranks_host", "output", "output_config", "output_mode", "output_style",
    "output_tokens_details", "overageDisabledReason", "overageInUse", "overageResetsAt", "overageStatus",
    "page_age", "params", "parent", "parent_task_id", "partial_json", "pattern", "payload", "pendingMcpServers",
    "pending_permission_requests", "pending_user_dialog_requests", "per_turn_effort_active", "percentage",
    "permission_suggestions", "persistedOutputSize", "plan", "planExists", "plan_mode_required", "platform",
    "plugins", "preventedContinuation", "priority", "product_feedback_disabled", "promptIndex", "properties",
    "query", "question", "questions", "queueSkipAttachments", "queued_turn_count", "rateLimits",
    "raw_max_tokens", "readCount", "readdedNames", "reason", "recipient", "recipient_kind", "refused",
    "remaining", "reminderFold", "reminderType", "remote_control_auto_connect_default",
    "remote_control_auto_enable", "remote_control_auto_on_by_default", "remote_control_available",
    "removedNames", "removedTypes", "rendered", "renderedBesideToolResult", "replaceAll", "replace_all",
    "requestDigest", "request_sent_wall_ms", "requested", "required", "requires_user_interaction", "resetsAt",
    "resets_at", "resolvedModel", "result", "result_index", "results", "retryAttempt",
    "returnCodeInterpretation", "ruleContent", "rules", "run_in_background", "runningTurnPrompt",
    "safety_stops", "sandboxed", "scope", "searchCount", "sendUserFileHint", "serverClassifierRequest",
    "serverName", "server_display_name", "session_state", "settings", "shape", "shapeHash", "shell",
    "showConcurrencyNote", "signature", "skillCount", "slug", "snapshot", "spawn_depth", "spawned",
    "spawned_by_subagents", "startLine", "startTime", "started_in_background", "stderr", "still_queued",
    "stop_details", "stop_sequence", "structuredContent", "structuredPatch", "structured_output",
    "subagent_stats", "subagent_tokens", "subject", "success", "suggestion", "summary", "supportedEffortLevels",
    "supportsAdaptiveThinking", "supportsAutoMode", "supportsEffort", "supportsFastMode", "supportsThinkingOff",
    "surpassedThreshold", "system", "systemPrompt", "systemTurns", "tail", "task_description", "team_name",
    "teammate_id", "terminal_slash_commands", "thinking", "thinkingDisplay", "thinkingDurationMs",
    "thinkingMetadata", "thinkingTokens", "thinking_display", "thinking_duration_ms", "thinking_tokens",
    "time_origin_ms", "time_to_request_ms", "timeout", "timeout_ms", "title", "tmux_pane_id",
    "tmux_session_name", "tmux_window_name", "todos", "tokenSource", "tokens", "tokensSaved", "tokens_saved",
    "toolChangeHeader", "toolEndsTurn", "toolInputStreamMs", "toolStats", "tool_use_meta", "tool_uses",
    "toolsUsed", "total", "totalAPIDuration", "totalAPIDurationWithoutRetries", "totalDuration",
    "totalDurationMs", "totalLines", "totalLinesAdded", "totalLinesRemoved", "totalMatches", "totalTokens",
    "totalToolDuration", "totalToolUseCount", "total_deferred_tools", "total_tokens", "trackedFileBackups",
    "truncated", "ttft_stream_ms", "turnCompanion", "turnCount", "turnIndex", "turnPosition",
    "ultrathink_available", "ultrathink_typed_raises", "unset", "updatedInput", "updatedPermissions",
    "updated_file", "uri", "url", "used", "user", "userModified", "user_message_id", "user_output_styles_dir",
    "utilization", "value", "view_mode", "web_fetch_requests", "wireHiddenNames", "workflow_name", "workingDir",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted_and_unique() {
        assert!(FIELDS.is_sorted_by(|a, b| a < b));
    }
}
