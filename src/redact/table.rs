//! The table of keys whose values are kept or treated specially, by kind of object. Strings under other keys
//! are replaced.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::known::FIELDS;
use crate::event;

/// Kinds of JSON objects. The same key can mean different things in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// A whole record.
    Record,
    Message,
    /// An element of `message.content`.
    Block,
    /// An element of the content of a `tool_result`.
    ResultBlock,
    Event,
    Attachment,
    /// `data` of a `progress`.
    ProgressData,
    /// `request` of a `control_request`.
    Request,
    /// `response` of a `control_response`.
    Response,
    /// `response.response` of a `control_response`.
    ResponseBody,
    /// The output of a hook.
    HookOutput,
    /// The input of a hook callback of the host.
    HookInput,
    /// The input of a tool that starts a subagent.
    AgentInput,
    /// The input of a tool that loads a skill.
    SkillInput,
    /// The input of a tool that runs a slash command.
    CommandInput,
    /// `toolUseResult`: the structured result of a tool.
    ToolOutcome,
    /// A task, or a change of one: ids and a status.
    Task,
    /// An MCP server.
    Server,
    /// A command, skill or agent in a list.
    Named,
    /// Details of a decision, a rate limit or a compaction, also nested.
    Metadata,
    /// `usage`, and an entry of `modelUsage`.
    Usage,
    /// `modelUsage`: its keys are names of models.
    Models,
    /// An entry of `permission_denials`.
    DeniedCall,
    /// An error of the API.
    ApiError,
    /// `params` of a request to the API, and `output_config` in it.
    Params,
    /// `shape` of requests to the API.
    Shape,
    /// A tool in a shape.
    ShapeTool,
    /// `diagnostics` of a message.
    Diagnostics,
    /// `cache_miss_reason` of the diagnostics.
    MissReason,
    /// Any other object. Nothing in it is kept except paths, in part.
    Other,
}

/// How a string is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Keep it: records and blocks are counted by these names.
    Keep,
    /// Keep it if it is one word, as ids, times, versions and all fixed values are.
    KeepWord,
    /// Keep it if it has the form of a name of a tool, server, agent or model.
    KeepName,
    /// Keep it if it is one word in lower case, as every status is.
    KeepStatus,
    /// Keep it if it is the name of a command and nothing else.
    KeepCommand,
    /// Keep the first word if it is the name of a command; replace the rest.
    CommandLine,
    /// Replace it. A path is replaced as by `Path`.
    Replace,
    /// Replace it except for the words that decide whether a call was denied or the API failed.
    ToolText,
    /// Replace it except for the words that decide whether a person typed it, and the slash command at its
    /// start.
    Prompt,
    /// Replace it; commands of hooks in it get the same placeholder as elsewhere.
    HookErrors,
    /// Replace it name by name; separators stay.
    Path,
    /// If it is JSON, redact it as the output of a hook, which keeps the decision. Otherwise replace it.
    HookJson,
}

/// How a value is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// How strings are redacted: the value itself, or the elements of a list.
    pub(super) treatment: Treatment,
    /// The kind of the object, if the value is one or a list of them.
    pub(super) object: Object,
}

impl Rule {
    const fn new(treatment: Treatment, object: Object) -> Self {
        Self { treatment, object }
    }

    /// The rule for a whole record.
    pub(super) const RECORD: Self = Self::new(Treatment::Replace, Object::Record);

    /// The rule for keys without a row.
    pub(super) const REPLACE_ALL: Self = Self::new(Treatment::Replace, Object::Other);
}

/// A kind of object, how to redact strings in it, which kind the objects in it are, and the keys to which
/// that applies.
type Row = (Object, Treatment, Object, &'static [&'static str]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Object::Record, Treatment::Keep, Object::Other, &["type", "subtype", "operation"]),
    (Object::Record, Treatment::KeepWord, Object::Other, &[
        "uuid", "session_id", "sessionId", "parentUuid", "parent_tool_use_id", "parentToolUseID", "agentId",
        "agent_id", "request_id", "requestId", "tool_use_id", "toolUseId", "toolUseID", "id",
        "api_message_id", "leafUuid", "messageId", "promptId", "hook_id", "task_id", "run_id",
        "logicalParentUuid", "logical_parent_uuid", "command_uuid", "commandUuid", "user_message_uuid",
        "user_message_uuids", "sourceToolAssistantUUID", "sourceToolUseID", "requestSessionId",
        "new_conversation_id", "refusedMessageId", "refused_message_id", "base", "requestRef",
        "turnAttributionKey", "preceding_tool_use_ids", "summarizedTurnPromptUuids", "deliveryId",
        "timestamp", "version", "claude_code_version", "permissionMode", "mode", "level", "effort",
        "entrypoint", "userType", "stop_reason", "stopReason", "apiKeySource", "terminal_reason", "trigger",
        "decision_reason_type", "toolDenialKind", "hook_event", "outcome", "status", "task_type", "state",
        "apiError", "api_error", "apiErrorType", "api_error_type", "startup_failure_reason",
        "fast_mode_state", "compact_result", "api_refusal_category", "apiRefusalCategory", "promptSource",
        "querySource", "turnOrigin", "renderedRole", "capabilities", "perTurnEffort", "promptCacheRequested",
    ]),
    (Object::Record, Treatment::KeepName, Object::Other, &[
        "model", "requestedModel", "originalModel", "original_model", "fallbackModel", "fallback_model",
        "tool_name", "toolName", "last_tool_name", "subagent_type", "attributionAgent",
        "attributionMcpServer", "attributionMcpTool", "attributionSkill", "tools", "hook_name",
    ]),
    (Object::Record, Treatment::KeepCommand, Object::Named, &[
        "slash_commands", "skills", "agents", "commands",
    ]),
    (Object::Record, Treatment::CommandLine, Object::Other, &["local_command"]),
    (Object::Record, Treatment::Replace, Object::Named, &["commandRun", "local_command_run"]),
    (Object::Record, Treatment::Prompt, Object::Other, &["content", "text"]),
    (Object::Record, Treatment::HookErrors, Object::Other, &["hookErrors"]),
    (Object::Record, Treatment::HookJson, Object::Other, &["stdout"]),
    (Object::Record, Treatment::Replace, Object::Message, &["message"]),
    (Object::Record, Treatment::Replace, Object::Event, &["event"]),
    (Object::Record, Treatment::Replace, Object::Attachment, &["attachment"]),
    (Object::Record, Treatment::Replace, Object::ProgressData, &["data"]),
    (Object::Record, Treatment::Replace, Object::Request, &["request"]),
    (Object::Record, Treatment::Replace, Object::Response, &["response"]),
    (Object::Record, Treatment::Replace, Object::Record, &["messages"]),
    (Object::Record, Treatment::Replace, Object::ToolOutcome, &["toolUseResult", "tool_use_result"]),
    (Object::Record, Treatment::Replace, Object::Task, &["patch", "tasks"]),
    (Object::Record, Treatment::Replace, Object::Server, &["mcp_servers"]),
    (Object::Record, Treatment::Replace, Object::Usage, &["usage"]),
    (Object::Record, Treatment::Replace, Object::Params, &["params"]),
    (Object::Record, Treatment::Replace, Object::Shape, &["shape"]),
    (Object::Record, Treatment::Replace, Object::Models, &["modelUsage", "model_usage_since_last_result"]),
    (Object::Record, Treatment::Replace, Object::DeniedCall, &["permission_denials"]),
    (Object::Record, Treatment::KeepWord, Object::ApiError, &["error"]),
    (Object::Record, Treatment::Replace, Object::ApiError, &["errors"]),
    (Object::Record, Treatment::Replace, Object::Metadata, &[
        "tool_result_meta", "permissionDecision", "origin", "rate_limit_info", "compact_metadata",
        "compactMetadata", "microcompact_metadata", "microcompactMetadata",
    ]),

    (Object::Message, Treatment::Keep, Object::Other, &["role"]),
    (Object::Message, Treatment::KeepWord, Object::Other, &["type", "id", "stop_reason"]),
    (Object::Message, Treatment::KeepName, Object::Other, &["model"]),
    (Object::Message, Treatment::Prompt, Object::Block, &["content"]),
    (Object::Message, Treatment::Replace, Object::Usage, &["usage"]),
    (Object::Message, Treatment::Replace, Object::Diagnostics, &["diagnostics"]),
    (Object::Diagnostics, Treatment::KeepWord, Object::MissReason, &["cache_miss_reason"]),
    (Object::MissReason, Treatment::KeepWord, Object::Other, &["type"]),

    (Object::Params, Treatment::KeepName, Object::Other, &["model"]),
    (Object::Params, Treatment::KeepWord, Object::Params, &["betas", "output_config", "effort"]),
    (Object::Shape, Treatment::Replace, Object::ShapeTool, &["tools"]),
    (Object::ShapeTool, Treatment::KeepName, Object::Other, &["name"]),

    (Object::Block, Treatment::Keep, Object::Other, &["type"]),
    (Object::Block, Treatment::KeepWord, Object::Other, &["id", "tool_use_id"]),
    (Object::Block, Treatment::KeepName, Object::Other, &["name"]),
    (Object::Block, Treatment::Prompt, Object::Other, &["text"]),
    (Object::Block, Treatment::ToolText, Object::ResultBlock, &["content"]),

    (Object::ResultBlock, Treatment::KeepWord, Object::Other, &["type"]),
    (Object::ResultBlock, Treatment::KeepName, Object::Other, &["tool_name"]),
    (Object::ResultBlock, Treatment::ToolText, Object::Other, &["text"]),

    (Object::Event, Treatment::Keep, Object::Other, &["type"]),
    (Object::Event, Treatment::Replace, Object::Message, &["message"]),
    (Object::Event, Treatment::Replace, Object::Usage, &["usage"]),
    (Object::Event, Treatment::Replace, Object::Metadata, &["delta"]),
    (Object::Event, Treatment::Replace, Object::Block, &["content_block"]),

    (Object::Attachment, Treatment::Keep, Object::Other, &["type"]),
    (Object::Attachment, Treatment::KeepWord, Object::Other, &[
        "hookEvent", "toolUseID", "decision", "source_uuid", "commandMode", "timestamp", "delivery_id",
    ]),
    (Object::Attachment, Treatment::KeepName, Object::Other, &["hookName"]),
    (Object::Attachment, Treatment::KeepCommand, Object::Named, &["names", "addedTypes"]),
    (Object::Attachment, Treatment::Prompt, Object::Other, &["prompt"]),
    (Object::Attachment, Treatment::HookJson, Object::Other, &["stdout"]),

    (Object::ProgressData, Treatment::Keep, Object::Other, &["type"]),
    (Object::ProgressData, Treatment::KeepWord, Object::Other, &["agentId", "hookEvent"]),
    (Object::ProgressData, Treatment::KeepName, Object::Other, &["hookName"]),
    (Object::ProgressData, Treatment::Replace, Object::Record, &["message"]),

    (Object::Request, Treatment::Keep, Object::Other, &["subtype"]),
    (Object::Request, Treatment::KeepWord, Object::Other, &[
        "tool_use_id", "decision_reason_type", "mode", "callback_id",
    ]),
    (Object::Request, Treatment::KeepName, Object::Other, &["tool_name", "server_name", "model"]),

    (Object::Response, Treatment::Keep, Object::Other, &["subtype"]),
    (Object::Response, Treatment::KeepWord, Object::Other, &["request_id"]),
    (Object::Response, Treatment::Replace, Object::ResponseBody, &["response"]),

    (Object::ResponseBody, Treatment::KeepWord, Object::Other, &[
        "behavior", "decision", "mode", "current_permission_mode", "claude_code_version",
    ]),
    (Object::ResponseBody, Treatment::KeepName, Object::Other, &["model"]),
    (Object::ResponseBody, Treatment::Replace, Object::HookOutput, &["hookSpecificOutput"]),
    (Object::ResponseBody, Treatment::Replace, Object::Server, &["mcp_servers", "mcpServers"]),
    (Object::ResponseBody, Treatment::KeepCommand, Object::Named, &["commands", "agents"]),

    (Object::HookOutput, Treatment::KeepWord, Object::HookOutput, &[
        "decision", "permissionDecision", "behavior", "hookEventName", "hookSpecificOutput",
    ]),
    (Object::HookInput, Treatment::KeepWord, Object::Other, &[
        "hook_event_name", "session_id", "tool_use_id", "permission_mode",
    ]),
    (Object::HookInput, Treatment::KeepName, Object::Other, &["tool_name"]),
    (Object::AgentInput, Treatment::KeepName, Object::Other, &["subagent_type"]),
    (Object::SkillInput, Treatment::CommandLine, Object::Other, &["skill", "command"]),
    (Object::CommandInput, Treatment::CommandLine, Object::Other, &["command"]),

    (Object::ToolOutcome, Treatment::KeepWord, Object::Other, &[
        "agentId", "backgroundTaskId", "task_id", "shellId", "shell_id", "taskId",
    ]),
    (Object::ToolOutcome, Treatment::KeepStatus, Object::Other, &["status"]),
    (Object::ToolOutcome, Treatment::KeepName, Object::Other, &["agentType"]),
    (Object::ToolOutcome, Treatment::Replace, Object::Task, &["task", "tasks", "statusChange"]),

    (Object::Task, Treatment::KeepWord, Object::Other, &[
        "id", "task_id", "tool_use_id", "task_type", "run_id", "subagent_type",
    ]),
    (Object::Task, Treatment::KeepStatus, Object::Other, &["status", "from", "to"]),

    (Object::Server, Treatment::KeepWord, Object::Other, &["status", "source"]),
    (Object::Server, Treatment::KeepName, Object::Server, &["name", "tools"]),

    (Object::Named, Treatment::CommandLine, Object::Other, &["name", "command"]),

    (Object::Metadata, Treatment::KeepWord, Object::Metadata, &[
        "id", "type", "kind", "non_execution_kind", "permission_decision", "decision", "source",
        "reason_type", "reasonType", "ruleSource", "reasonCode", "reason_code", "grantScope", "status",
        "rateLimitType", "rate_limit_type", "trigger", "stop_reason", "producer", "runId", "anchorUuid",
        "anchor_uuid", "headUuid", "head_uuid", "tailUuid", "tail_uuid", "uuids", "allUuids", "all_uuids",
        "preservedMessages", "preserved_messages", "preservedSegment", "preserved_segment",
        "compactedToolIds",
    ]),

    (Object::Usage, Treatment::KeepWord, Object::Other, &[
        "service_tier", "speed", "inference_geo", "provider", "costBasis",
    ]),
    (Object::Usage, Treatment::KeepName, Object::Other, &["canonicalModel"]),

    (Object::DeniedCall, Treatment::KeepWord, Object::Other, &["tool_use_id"]),
    (Object::DeniedCall, Treatment::KeepName, Object::Other, &["tool_name"]),

    (Object::ApiError, Treatment::KeepWord, Object::Other, &["type", "code", "requestId"]),
];

/// Objects that hold the input of a tool: the key of the input, and the key of the tool's name, which decides
/// the kind of the input.
const INPUTS: &[(Object, &str, &str)] = &[
    (Object::Block, "input", "name"),
    (Object::Request, "input", "tool_name"),
    (Object::DeniedCall, "tool_input", "tool_name"),
];

/// Tools whose input names something that reports count.
const TOOLS: &[(&str, Object)] = &[
    ("Agent", Object::AgentInput),
    ("Task", Object::AgentInput),
    ("Skill", Object::SkillInput),
    ("SlashCommand", Object::CommandInput),
];

/// Key and value of a control request whose `input` goes to a hook of the host.
const CALLBACK: (&str, &str) = ("subtype", "hook_callback");

/// Keys of paths in all objects.
const PATHS: &[&str] = &[
    "cwd",
    "original_cwd",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "projectPath",
    "planFilePath",
    "workingDirectory",
    "outputFile",
    "output_file",
    "transcript_path",
    "persistedOutputPath",
    "blocked_path",
    "directories",
    "filenames",
    "additionalDirectories",
    "team_file_path",
];

static RULES: LazyLock<HashMap<(Object, &str), Rule, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let paths = PATHS.iter().map(|key| ((Object::Other, *key), Rule::new(Treatment::Path, Object::Other)));
    let rows = ROWS.iter().flat_map(|(object, treatment, inner, keys)| {
        keys.iter().map(|key| ((*object, *key), Rule::new(*treatment, *inner)))
    });
    paths.chain(rows).collect()
});

/// All known names of fields. Such keys are kept, since they say nothing about the content of a log.
static KNOWN: LazyLock<HashSet<&str, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let keys = ROWS.iter().flat_map(|(.., keys)| keys.iter().copied());
    let inputs = INPUTS.iter().map(|(_, key, _)| *key);
    keys.chain(inputs)
        .chain(event::field_names())
        .chain(PATHS.iter().copied())
        .chain(FIELDS.iter().copied())
        .collect()
});

/// Returns the rule for the value under a key.
///
/// The rule for the input of a tool depends on the tool: `sibling` returns the string under another key of
/// the same object.
pub(super) fn rule(object: Object, key: &str, sibling: impl Fn(&str) -> Option<String>) -> Rule {
    if let Some(rule) = RULES.get(&(object, key)).or_else(|| RULES.get(&(Object::Other, key))) {
        return *rule;
    }
    let Some((.., tool)) = INPUTS.iter().find(|(holder, input, _)| *holder == object && *input == key) else {
        // The keys of `modelUsage` are models, so they have no rows.
        let is_usage = object == Object::Models;
        return if is_usage { Rule::new(Treatment::Replace, Object::Usage) } else { Rule::REPLACE_ALL };
    };
    if object == Object::Request && sibling(CALLBACK.0).as_deref() == Some(CALLBACK.1) {
        return Rule::new(Treatment::Replace, Object::HookInput);
    }
    let tool = sibling(tool);
    let known = TOOLS.iter().find(|(name, _)| Some(*name) == tool.as_deref());
    Rule::new(Treatment::Replace, known.map_or(Object::Other, |(_, object)| *object))
}

/// Returns whether a key is kept: a known field, or a model's name in `modelUsage`.
pub(super) fn keeps_key(object: Object, key: &str) -> bool {
    if object == Object::Models { is_name(key) } else { KNOWN.contains(key) }
}

/// The longest word or name that is kept, in bytes.
const MAX_LENGTH: usize = 128;

/// Returns whether a text is one word: an id, a time, a version, a fixed value.
pub(super) fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:@+=#".contains(&byte);
    text.len() <= MAX_LENGTH && text.bytes().all(plain)
}

/// Returns whether a text has the form of a status: `completed`, `async_launched`.
pub(super) fn is_status(text: &str) -> bool {
    text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Returns whether a text has the form of a name: a word that may also have spaces, and the brackets of
/// models.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "_-.:@+=#<>[] ".contains(letter);
    text.len() <= MAX_LENGTH && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_for_an_input_depends_on_the_tool() {
        let tool = |name: &'static str| move |key: &str| (key == "name").then(|| name.to_owned());
        assert_eq!(rule(Object::Block, "input", tool("Bash")).object, Object::Other);
        assert_eq!(rule(Object::Block, "input", tool("Task")).object, Object::AgentInput);
        assert_eq!(rule(Object::Other, "command", tool("Bash")), Rule::REPLACE_ALL);
        assert_eq!(rule(Object::SkillInput, "command", tool("Bash")).treatment, Treatment::CommandLine);
    }

    #[test]
    fn a_word_has_no_space_and_a_name_no_slash() {
        assert!(is_word("toolu_01") && is_word("2026-01-01T00:00:00.000Z") && is_word(""));
        assert!(!is_word("two words") && !is_word("a/b") && !is_word(&"x".repeat(129)));
        assert!(is_name("claude.ai My Docs") && is_name("claude-opus-4-8[1m]") && is_name("<synthetic>"));
        assert!(!is_name("/home") && !is_name("a\nb"));
    }

    #[test]
    fn no_key_has_two_rows_for_the_same_kind_of_object() {
        let mut seen = HashMap::new();
        for (object, _, _, keys) in ROWS {
            for key in *keys {
                *seen.entry((*object, *key)).or_insert(0) += 1;
            }
        }
        let twice: Vec<_> = seen.into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
