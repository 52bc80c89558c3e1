//! What stays of a record: one row for each key whose values are not replaced, object by object. What has no row is replaced.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::known::FIELDS;
use crate::event;

/// Objects that are told apart, because the same key means different things in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Zone {
    /// A record.
    Record,
    /// `message`.
    Message,
    /// An element of `message.content`.
    Block,
    /// An element of the content of a `tool_result`.
    Part,
    /// `event`.
    Event,
    /// `attachment`.
    Attachment,
    /// `data` of a `progress`.
    Data,
    /// `request` of a `control_request`.
    Request,
    /// `response` of a `control_response`.
    Response,
    /// What was answered: `response.response`.
    Answer,
    /// What a hook answers, also as JSON in its output.
    HookAnswer,
    /// What the CLI passes to a hook of its host.
    Callback,
    /// What a call is given that starts a subagent.
    AgentInput,
    /// What a call is given that loads a skill.
    SkillInput,
    /// What a call is given that runs a slash command.
    CommandInput,
    /// What a tool returned to the CLI.
    Outcome,
    /// Something that has an id and a status: a task, or a change.
    Task,
    /// An MCP server.
    Server,
    /// Something that has a name.
    Named,
    /// What is known of a permission: the decision, the call, the limit and so on.
    Verdict,
    /// `usage`, and an entry of `modelUsage`.
    Usage,
    /// `modelUsage`: its keys are names of models.
    Models,
    /// A refused call: which, and what it was given.
    Denied,
    /// An error of the API.
    Fault,
    /// Everything else: nothing stays.
    Free,
}

/// What becomes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays: kinds are counted by their names.
    Stays,
    /// It stays if it is one word, as ids, times, versions and all fixed values are.
    Word,
    /// It stays if it is a name as tools, servers, agents and models have.
    Name,
    /// It stays if it is one word in small letters, as what became of something is.
    Status,
    /// It stays if it is the name of a command, and nothing else.
    Listed,
    /// Its first word stays, if that is the name of a command.
    Command,
    /// It is replaced.
    Text,
    /// It is replaced but for the words that decide whether a call was refused or the API failed.
    Said,
    /// It is replaced but for the words that decide whether a person typed it, and the command that it begins with.
    Typed,
    /// It is replaced but for the commands of hooks in it, which stay the same as where they stand alone.
    Mentions,
    /// It is replaced part by part.
    Path,
    /// It may be JSON, of which the decision stays.
    Json,
}

/// What becomes of a value: of a string, and of what stands in it if it is an object or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) fate: Fate,
    pub(super) zone: Zone,
}

impl Rule {
    const fn of(fate: Fate, zone: Zone) -> Self {
        Self { fate, zone }
    }

    /// A whole record.
    pub(super) const RECORD: Self = Self::of(Fate::Text, Zone::Record);

    /// Nothing stays.
    pub(super) const NOTHING: Self = Self::of(Fate::Text, Zone::Free);
}

/// Keys whose strings have one fate in an object.
type Row = (Zone, Fate, Zone, &'static [&'static str]);

/// The rows: in which objects, what becomes of strings there, what objects there are, under which keys.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Zone::Record, Fate::Stays, Zone::Free, &["type", "subtype", "operation"]),
    (Zone::Record, Fate::Word, Zone::Free, &[
        "uuid", "session_id", "sessionId", "parentUuid", "parent_tool_use_id", "parentToolUseID", "agentId", "agent_id",
        "request_id", "requestId", "tool_use_id", "toolUseId", "toolUseID", "id", "api_message_id", "leafUuid",
        "messageId", "promptId", "hook_id", "task_id", "run_id", "logicalParentUuid", "logical_parent_uuid",
        "command_uuid", "commandUuid", "user_message_uuid", "user_message_uuids", "sourceToolAssistantUUID",
        "sourceToolUseID", "requestSessionId", "new_conversation_id", "refusedMessageId", "refused_message_id", "base", "requestRef",
        "turnAttributionKey", "preceding_tool_use_ids", "summarizedTurnPromptUuids", "deliveryId",
        "timestamp", "version", "claude_code_version",
        "permissionMode", "mode", "level", "effort", "entrypoint", "userType", "stop_reason", "stopReason", "apiKeySource",
        "terminal_reason", "trigger", "decision_reason_type", "toolDenialKind", "hook_event", "outcome", "status", "task_type",
        "state", "apiError", "api_error", "apiErrorType", "api_error_type", "startup_failure_reason",
        "fast_mode_state", "compact_result", "api_refusal_category", "apiRefusalCategory", "promptSource",
        "querySource", "turnOrigin", "renderedRole", "capabilities", "perTurnEffort", "promptCacheRequested",
    ]),
    (Zone::Record, Fate::Name, Zone::Free, &[
        "model", "requestedModel", "originalModel", "original_model", "fallbackModel", "fallback_model",
        "tool_name", "toolName", "last_tool_name", "subagent_type", "attributionAgent", "attributionMcpServer",
        "attributionMcpTool", "attributionSkill", "tools", "hook_name",
    ]),
    (Zone::Record, Fate::Listed, Zone::Named, &["slash_commands", "skills", "agents", "commands"]),
    (Zone::Record, Fate::Command, Zone::Free, &["local_command"]),
    (Zone::Record, Fate::Text, Zone::Named, &["commandRun", "local_command_run"]),
    (Zone::Record, Fate::Typed, Zone::Free, &["content", "text"]),
    (Zone::Record, Fate::Mentions, Zone::Free, &["hookErrors"]),
    (Zone::Record, Fate::Json, Zone::Free, &["stdout"]),
    (Zone::Record, Fate::Text, Zone::Message, &["message"]),
    (Zone::Record, Fate::Text, Zone::Event, &["event"]),
    (Zone::Record, Fate::Text, Zone::Attachment, &["attachment"]),
    (Zone::Record, Fate::Text, Zone::Data, &["data"]),
    (Zone::Record, Fate::Text, Zone::Request, &["request"]),
    (Zone::Record, Fate::Text, Zone::Response, &["response"]),
    (Zone::Record, Fate::Text, Zone::Record, &["messages"]),
    (Zone::Record, Fate::Text, Zone::Outcome, &["toolUseResult", "tool_use_result"]),
    (Zone::Record, Fate::Text, Zone::Task, &["patch", "tasks"]),
    (Zone::Record, Fate::Text, Zone::Server, &["mcp_servers"]),
    (Zone::Record, Fate::Text, Zone::Usage, &["usage"]),
    (Zone::Record, Fate::Text, Zone::Models, &["modelUsage", "model_usage_since_last_result"]),
    (Zone::Record, Fate::Text, Zone::Denied, &["permission_denials"]),
    (Zone::Record, Fate::Word, Zone::Fault, &["error"]),
    (Zone::Record, Fate::Text, Zone::Fault, &["errors"]),
    (Zone::Record, Fate::Text, Zone::Verdict, &[
        "tool_result_meta", "permissionDecision", "origin", "rate_limit_info", "compact_metadata", "compactMetadata",
        "microcompact_metadata", "microcompactMetadata",
    ]),

    (Zone::Message, Fate::Stays, Zone::Free, &["role"]),
    (Zone::Message, Fate::Word, Zone::Free, &["type", "id", "stop_reason"]),
    (Zone::Message, Fate::Name, Zone::Free, &["model"]),
    (Zone::Message, Fate::Typed, Zone::Block, &["content"]),
    (Zone::Message, Fate::Text, Zone::Usage, &["usage"]),

    (Zone::Block, Fate::Stays, Zone::Free, &["type"]),
    (Zone::Block, Fate::Word, Zone::Free, &["id", "tool_use_id"]),
    (Zone::Block, Fate::Name, Zone::Free, &["name"]),
    (Zone::Block, Fate::Typed, Zone::Free, &["text"]),
    (Zone::Block, Fate::Said, Zone::Part, &["content"]),

    (Zone::Part, Fate::Word, Zone::Free, &["type"]),
    (Zone::Part, Fate::Name, Zone::Free, &["tool_name"]),
    (Zone::Part, Fate::Said, Zone::Free, &["text"]),

    (Zone::Event, Fate::Stays, Zone::Free, &["type"]),
    (Zone::Event, Fate::Text, Zone::Message, &["message"]),
    (Zone::Event, Fate::Text, Zone::Usage, &["usage"]),
    (Zone::Event, Fate::Text, Zone::Verdict, &["delta"]),
    (Zone::Event, Fate::Text, Zone::Block, &["content_block"]),

    (Zone::Attachment, Fate::Stays, Zone::Free, &["type"]),
    (Zone::Attachment, Fate::Word, Zone::Free, &[
        "hookEvent", "toolUseID", "decision", "source_uuid", "commandMode", "timestamp", "delivery_id",
    ]),
    (Zone::Attachment, Fate::Name, Zone::Free, &["hookName"]),
    (Zone::Attachment, Fate::Listed, Zone::Named, &["names", "addedTypes"]),
    (Zone::Attachment, Fate::Typed, Zone::Free, &["prompt"]),
    (Zone::Attachment, Fate::Json, Zone::Free, &["stdout"]),

    (Zone::Data, Fate::Stays, Zone::Free, &["type"]),
    (Zone::Data, Fate::Word, Zone::Free, &["agentId", "hookEvent"]),
    (Zone::Data, Fate::Name, Zone::Free, &["hookName"]),
    (Zone::Data, Fate::Text, Zone::Record, &["message"]),

    (Zone::Request, Fate::Stays, Zone::Free, &["subtype"]),
    (Zone::Request, Fate::Word, Zone::Free, &["tool_use_id", "decision_reason_type", "mode", "callback_id"]),
    (Zone::Request, Fate::Name, Zone::Free, &["tool_name", "server_name", "model"]),

    (Zone::Response, Fate::Stays, Zone::Free, &["subtype"]),
    (Zone::Response, Fate::Word, Zone::Free, &["request_id"]),
    (Zone::Response, Fate::Text, Zone::Answer, &["response"]),

    (Zone::Answer, Fate::Word, Zone::Free, &["behavior", "decision", "mode", "current_permission_mode", "claude_code_version"]),
    (Zone::Answer, Fate::Name, Zone::Free, &["model"]),
    (Zone::Answer, Fate::Text, Zone::HookAnswer, &["hookSpecificOutput"]),
    (Zone::Answer, Fate::Text, Zone::Server, &["mcp_servers", "mcpServers"]),
    (Zone::Answer, Fate::Listed, Zone::Named, &["commands", "agents"]),

    (Zone::HookAnswer, Fate::Word, Zone::HookAnswer, &[
        "decision", "permissionDecision", "behavior", "hookEventName", "hookSpecificOutput",
    ]),
    (Zone::Callback, Fate::Word, Zone::Free, &["hook_event_name", "session_id", "tool_use_id", "permission_mode"]),
    (Zone::Callback, Fate::Name, Zone::Free, &["tool_name"]),
    (Zone::AgentInput, Fate::Name, Zone::Free, &["subagent_type"]),
    (Zone::SkillInput, Fate::Command, Zone::Free, &["skill", "command"]),
    (Zone::CommandInput, Fate::Command, Zone::Free, &["command"]),

    (Zone::Outcome, Fate::Word, Zone::Free, &[
        "agentId", "backgroundTaskId", "task_id", "shellId", "shell_id", "taskId",
    ]),
    (Zone::Outcome, Fate::Status, Zone::Free, &["status"]),
    (Zone::Outcome, Fate::Name, Zone::Free, &["agentType"]),
    (Zone::Outcome, Fate::Text, Zone::Task, &["task", "tasks", "statusChange"]),

    (Zone::Task, Fate::Word, Zone::Free, &["id", "task_id", "tool_use_id", "task_type", "run_id", "subagent_type"]),
    (Zone::Task, Fate::Status, Zone::Free, &["status", "from", "to"]),

    (Zone::Server, Fate::Word, Zone::Free, &["status", "source"]),
    (Zone::Server, Fate::Name, Zone::Server, &["name", "tools"]),

    (Zone::Named, Fate::Command, Zone::Free, &["name", "command"]),

    (Zone::Verdict, Fate::Word, Zone::Verdict, &[
        "id", "type", "kind", "non_execution_kind", "permission_decision", "decision", "source", "reason_type", "reasonType",
        "ruleSource", "reasonCode", "reason_code", "grantScope", "status", "rateLimitType", "rate_limit_type", "trigger",
        "stop_reason", "producer", "runId", "anchorUuid", "anchor_uuid", "headUuid", "head_uuid", "tailUuid", "tail_uuid", "uuids",
        "allUuids", "all_uuids", "preservedMessages", "preserved_messages", "preservedSegment", "preserved_segment", "compactedToolIds",
    ]),

    (Zone::Usage, Fate::Word, Zone::Free, &["service_tier", "speed", "inference_geo", "provider", "costBasis"]),
    (Zone::Usage, Fate::Name, Zone::Free, &["canonicalModel"]),

    (Zone::Denied, Fate::Word, Zone::Free, &["tool_use_id"]),
    (Zone::Denied, Fate::Name, Zone::Free, &["tool_name"]),

    (Zone::Fault, Fate::Word, Zone::Free, &["type", "code", "requestId"]),
];

/// Keys of what a call is given, and of what names its tool; which object it is depends on the tool.
const INPUTS: &[(Zone, &str, &str)] = &[
    (Zone::Block, "input", "name"),
    (Zone::Request, "input", "tool_name"),
    (Zone::Denied, "tool_input", "tool_name"),
];

/// Tools whose input names something that is counted.
const TOOLS: &[(&str, Zone)] = &[
    ("Agent", Zone::AgentInput),
    ("Task", Zone::AgentInput),
    ("Skill", Zone::SkillInput),
    ("SlashCommand", Zone::CommandInput),
];

/// The request that passes something to a hook of the host: its input is that.
const CALLBACK: (&str, &str) = ("subtype", "hook_callback");

/// Keys of paths, wherever they stand.
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

static RULES: LazyLock<HashMap<(Zone, &str), Rule, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let paths = PATHS.iter().map(|key| ((Zone::Free, *key), Rule::of(Fate::Path, Zone::Free)));
    let rows = ROWS.iter().flat_map(|(zone, fate, inner, keys)| {
        keys.iter().map(|key| ((*zone, *key), Rule::of(*fate, *inner)))
    });
    paths.chain(rows).collect()
});

/// Names of fields: keys that tell nothing of what a log is about.
static KNOWN: LazyLock<HashSet<&str, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let keys = ROWS.iter().flat_map(|(.., keys)| keys.iter().copied());
    let inputs = INPUTS.iter().map(|(_, key, _)| *key);
    keys.chain(inputs)
        .chain(event::field_names())
        .chain(PATHS.iter().copied())
        .chain(FIELDS.iter().copied())
        .collect()
});

/// What becomes of the value under a key. What a call is given depends on its tool: `sibling` finds the string under
/// another key of the same object.
pub(super) fn rule(zone: Zone, key: &str, sibling: impl Fn(&str) -> Option<String>) -> Rule {
    if let Some(rule) = RULES.get(&(zone, key)).or_else(|| RULES.get(&(Zone::Free, key))) {
        return *rule;
    }
    let Some((.., tool)) = INPUTS.iter().find(|(of, input, _)| *of == zone && *input == key) else {
        // Each entry is an object of its own.
        return if zone == Zone::Models { Rule::of(Fate::Text, Zone::Usage) } else { Rule::NOTHING };
    };
    if zone == Zone::Request && sibling(CALLBACK.0).as_deref() == Some(CALLBACK.1) {
        return Rule::of(Fate::Text, Zone::Callback);
    }
    let tool = sibling(tool);
    let known = TOOLS.iter().find(|(name, _)| Some(*name) == tool.as_deref());
    Rule::of(Fate::Text, known.map_or(Zone::Free, |(_, zone)| *zone))
}

/// Whether a key stays: the name of a field, or of a model where those are keys.
pub(super) fn stays(zone: Zone, key: &str) -> bool {
    if zone == Zone::Models { is_name(key) } else { KNOWN.contains(key) }
}

/// Longest word or name that stays.
const LONGEST: usize = 128;

/// Whether a text is one word of the log: an id, a time, a version, a fixed value.
pub(super) fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:@+=#".contains(&byte);
    text.len() <= LONGEST && text.bytes().all(plain)
}

/// Whether a text is what became of something: `completed`, `async_launched`.
pub(super) fn is_status(text: &str) -> bool {
    text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Whether a text is a name: a word, with blanks in it and the marks that models and servers have.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "_-.:@+=#<>[] ".contains(letter);
    text.len() <= LONGEST && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_is_given_depends_on_its_tool() {
        let tool = |name: &'static str| move |key: &str| (key == "name").then(|| name.to_owned());
        assert_eq!(rule(Zone::Block, "input", tool("Bash")).zone, Zone::Free);
        assert_eq!(rule(Zone::Block, "input", tool("Task")).zone, Zone::AgentInput);
        assert_eq!(rule(Zone::Free, "command", tool("Bash")), Rule::NOTHING);
        assert_eq!(rule(Zone::SkillInput, "command", tool("Bash")).fate, Fate::Command);
    }

    #[test]
    fn a_word_has_no_blank_and_a_name_no_slash() {
        assert!(is_word("toolu_01") && is_word("2026-01-01T00:00:00.000Z") && is_word(""));
        assert!(!is_word("two words") && !is_word("a/b") && !is_word(&"x".repeat(129)));
        assert!(is_name("claude.ai My Docs") && is_name("claude-opus-4-8[1m]") && is_name("<synthetic>"));
        assert!(!is_name("/home") && !is_name("a\nb"));
    }

    #[test]
    fn no_key_has_two_rows_in_an_object_but_where_strings_and_objects_differ() {
        let mut seen = HashMap::new();
        for (zone, _, _, keys) in ROWS {
            for key in *keys {
                *seen.entry((*zone, *key)).or_insert(0) += 1;
            }
        }
        let twice: Vec<_> = seen.into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
