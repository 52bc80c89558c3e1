//! The wanted fields of each kind of object, and a perfect hash table that finds the field of a key.

mod key;

pub(super) use key::Key;
use key::KeyTable;

use super::{Text, json::Json};

/// The wanted fields of one kind of object.
pub(super) trait Fields<'a>: Default {
    /// Returns the index of a key in the list; `None` if it is not wanted.
    fn slot(key: Key<'_>) -> Option<usize>;
    /// Stores a value. The last of duplicate keys wins.
    fn put(&mut self, slot: usize, value: Json<'a>);
    /// Removes all values.
    fn clear(&mut self);
}

/// State of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldState {
    /// The object does not have it.
    Missing,
    /// It has a value.
    Value,
    /// Its value is a string without escapes.
    PlainString,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $fields:ident by $key:ident { $($name:ident = $text:literal)* })*) => {
        $(fields! { @ $(#[$doc])* $fields by $key { $($name = $text)* } })*

        /// Iterates over the names of all wanted fields. Some occur twice.
        pub fn names() -> impl Iterator<Item = &'static str> {
            [$($key::NAMES),*].into_iter().flatten().copied()
        }
    };
    (@ $(#[$doc:meta])* $fields:ident by $key:ident { $($name:ident = $text:literal)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $key { $($name),* }

        impl $key {
            const NAMES: &'static [&'static str] = &[$($text),*];
            const TABLE: &'static KeyTable = &KeyTable::of(Self::NAMES);
        }

        #[doc = concat!("The fields named by [`", stringify!($key), "`], as far as the object has them.")]
        #[derive(Clone, Debug)]
        pub(super) struct $fields<'a> {
            texts: [&'a str; $key::NAMES.len()],
            /// Which texts are valid. This is a separate array, so that few stores clear the fields of a
            /// record: clearing the texts of each record took 4 % of the time on short lines.
            states: [FieldState; $key::NAMES.len()],
        }

        impl Default for $fields<'_> {
            fn default() -> Self {
                Self { texts: [""; $key::NAMES.len()], states: [FieldState::Missing; $key::NAMES.len()] }
            }
        }

        impl<'a> Fields<'a> for $fields<'a> {
            #[inline(always)]
            fn slot(key: Key<'_>) -> Option<usize> {
                $key::TABLE.find($key::NAMES, key)
            }
            #[inline(always)]
            fn put(&mut self, slot: usize, value: Json<'a>) {
                self.texts[slot] = value.source();
                self.states[slot] =
                    if value.is_plain() { FieldState::PlainString } else { FieldState::Value };
            }
            #[inline(always)]
            fn clear(&mut self) {
                self.states = [FieldState::Missing; $key::NAMES.len()];
            }
        }

        #[allow(dead_code, reason = "not every list needs every getter")]
        impl<'a> $fields<'a> {
            /// Returns the value of any type.
            #[inline]
            pub(super) fn get(&self, key: $key) -> Option<Json<'a>> {
                let (text, state) = (self.texts[key as usize], self.states[key as usize]);
                (state != FieldState::Missing).then(|| Json::scanned(text, state == FieldState::PlainString))
            }
            /// Returns whether the object has the key, with any value.
            #[inline]
            pub(super) fn has(&self, key: $key) -> bool {
                self.states[key as usize] != FieldState::Missing
            }
            /// Returns the value if it is a string and not empty.
            #[inline]
            pub(super) fn text(&self, key: $key) -> Option<Text<'a>> {
                self.get(key)?.text()
            }
            /// Returns the value if it is a number, see [`Json::number`].
            #[inline]
            pub(super) fn number(&self, key: $key) -> Option<f64> {
                self.get(key)?.number()
            }
            /// Returns the value as a count, and 0 if it is missing, see [`Json::count`].
            #[inline]
            pub(super) fn count(&self, key: $key) -> u64 {
                self.get(key).map_or(0, Json::count)
            }
            /// Returns whether the value is `true`.
            #[inline]
            pub(super) fn is_true(&self, key: $key) -> bool {
                self.get(key).is_some_and(Json::is_true)
            }
        }
    };
}

fields! {
    /// Fields of a record. The fast parser reads the first ones as nested objects, see `record.rs`.
    RecordFields by RecordKey {
        Message = "message"
        Event = "event"
        Attachment = "attachment"
        ToolResultMeta = "tool_result_meta"
        Usage = "usage"
        ModelUsage = "modelUsage"
        SinceLast = "model_usage_since_last_result"
        Type = "type"
        Subtype = "subtype"
        Operation = "operation"
        Uuid = "uuid"
        SnakeSession = "session_id"
        CamelSession = "sessionId"
        Timestamp = "timestamp"
        Version = "version"
        CliVersion = "claude_code_version"
        ParentUuid = "parentUuid"
        IsSidechain = "isSidechain"
        Tools = "tools"
        Cwd = "cwd"
        Request = "request"
        Response = "response"
        Data = "data"
        RequestedModel = "requestedModel"
        Error = "error"
        ErrorStatus = "error_status"
        SnakeApiError = "is_api_error_message"
        CamelApiError = "isApiErrorMessage"
        SnakeApiStatus = "api_error_status"
        CamelApiStatus = "apiErrorStatus"
        ToolDenialKind = "toolDenialKind"
        PermissionDecision = "permissionDecision"
        IsReplay = "isReplay"
        IsSynthetic = "isSynthetic"
        IsMeta = "isMeta"
        IsCompactSummary = "isCompactSummary"
        ParentToolUse = "parent_tool_use_id"
        ToolUseResult = "toolUseResult"
        Origin = "origin"
        ApiMessage = "api_message_id"
        ToolUse = "tool_use_id"
        ToolName = "tool_name"
        DurationMs = "durationMs"
        SavedCost = "totalCostUSD"
        ApiMillis = "duration_api_ms"
        WallMillis = "duration_ms"
        Duration = "duration"
        Cost = "cost"
        TotalCost = "total_cost_usd"
        IsError = "is_error"
        NumTurns = "num_turns"
        Denials = "permission_denials"
        BridgeToolUse = "toolUseId"
        BridgeIsError = "isError"
        Id = "id"
        ProgressOf = "parentToolUseID"
        CamelAgent = "agentId"
        SnakeAgent = "agent_id"
        SubagentType = "subagent_type"
        AttributionAgent = "attributionAgent"
        SnakeToolUseResult = "tool_use_result"
        FirstToken = "ttft_ms"
        TimeToRequest = "time_to_request_ms"
        SnakeRetryDelay = "retry_delay_ms"
        CamelRetryDelay = "retryInMs"
        SnakeCompaction = "compact_metadata"
        CamelCompaction = "compactMetadata"
        McpServers = "mcp_servers"
        RequestSession = "requestSessionId"
        SourceToolUse = "sourceToolUseID"
        CamelRequest = "requestId"
        SnakeRequest = "request_id"
        RequestRef = "requestRef"
        GitBranch = "gitBranch"
        Effort = "effort"
        AttributionSkill = "attributionSkill"
        AttributionServer = "attributionMcpServer"
        PullNumber = "prNumber"
        PullUrl = "prUrl"
        PullRepository = "prRepository"
    }

    /// Fields of a `message`.
    MessageFields by MessageKey {
        Role = "role"
        Content = "content"
        Id = "id"
        Model = "model"
        StopReason = "stop_reason"
        Usage = "usage"
    }

    /// Fields of an element of `content`.
    BlockFields by BlockKey {
        Type = "type"
        Text = "text"
        Id = "id"
        Name = "name"
        ToolUse = "tool_use_id"
        IsError = "is_error"
        Content = "content"
        Input = "input"
    }

    /// Fields of an API event.
    EventFields by EventKey {
        Type = "type"
        Message = "message"
        Delta = "delta"
        Usage = "usage"
    }

    /// Fields of several small objects, most of which only name their type.
    PartFields by PartKey {
        Type = "type"
        Subtype = "subtype"
        Message = "message"
        Response = "response"
        Behavior = "behavior"
        Status = "status"
        Kind = "kind"
    }

    /// Fields of a `usage`.
    UsageFields by UsageKey {
        Input = "input_tokens"
        Output = "output_tokens"
        CacheRead = "cache_read_input_tokens"
        CacheWrite = "cache_creation_input_tokens"
        CacheCreation = "cache_creation"
        ServerToolUse = "server_tool_use"
        Speed = "speed"
        Geo = "inference_geo"
    }

    /// Fields of a `cache_creation`.
    SplitFields by SplitKey {
        FiveMinutes = "ephemeral_5m_input_tokens"
        OneHour = "ephemeral_1h_input_tokens"
    }

    /// Fields of a `server_tool_use` in a `usage`.
    SearchFields by SearchKey {
        WebSearches = "web_search_requests"
    }

    /// Fields of a `delta`.
    DeltaFields by DeltaKey {
        StopReason = "stop_reason"
    }

    /// Fields of a decision about a call.
    DecisionFields by DecisionKey {
        Decision = "decision"
        Source = "source"
        SnakeReason = "reason_type"
        CamelReason = "reasonType"
        SnakeCode = "reason_code"
        CamelCode = "reasonCode"
        Rule = "ruleSource"
    }

    /// Fields of a model's entry in `modelUsage`.
    ModelFields by ModelKey {
        Input = "inputTokens"
        Output = "outputTokens"
        CacheRead = "cacheReadInputTokens"
        CacheWrite = "cacheCreationInputTokens"
        OneHour = "cacheCreationEphemeral1hInputTokens"
        WebSearches = "webSearchRequests"
        Cost = "costUSD"
    }

    /// Fields of `compact_metadata` and `compactMetadata`.
    CompactionFields by CompactionKey {
        SnakeBefore = "pre_tokens"
        CamelBefore = "preTokens"
        SnakeAfter = "post_tokens"
        CamelAfter = "postTokens"
        SnakeTook = "duration_ms"
        CamelTook = "durationMs"
        Trigger = "trigger"
    }

    /// Wanted fields of a tool's result object: tasks and answers to questions.
    OutcomeFields by OutcomeKey {
        Answers = "answers"
        BackgroundTask = "backgroundTaskId"
        Agent = "agentId"
        AgentType = "agentType"
        IsAsync = "isAsync"
        Status = "status"
        Tokens = "totalTokens"
        ToolUses = "totalToolUseCount"
        Took = "totalDurationMs"
        Task = "task"
        Tasks = "tasks"
        SnakeTask = "task_id"
        CamelTask = "taskId"
        SnakeShell = "shell_id"
        CamelShell = "shellId"
        StatusChange = "statusChange"
    }

    /// Fields of a tool's result object that say how long the tool ran.
    RunTimeFields by RunTimeKey {
        Total = "totalDurationMs"
        Millis = "durationMs"
        Seconds = "durationSeconds"
    }

    /// Fields of the input and the result of a call that starts a subagent.
    AgentFields by AgentKey {
        Id = "agentId"
        Type = "agentType"
        Wanted = "subagent_type"
    }

    /// Fields of an entry of `mcp_servers`.
    ServerFields by ServerKey {
        Name = "name"
        Status = "status"
    }

    /// Fields of an entry of `tool_result_meta` or `permission_denials`.
    CallFields by CallKey {
        Id = "id"
        NonExecution = "non_execution_kind"
        Decision = "permission_decision"
        ToolUse = "tool_use_id"
        ToolName = "tool_name"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(key: &[u8]) -> Option<usize> {
        let alone = RecordFields::slot(Key::new(key));
        let followed = [key, b"\":\"and whatever follows\""].concat();
        assert_eq!(RecordFields::slot(Key::before(&followed, key.len())), alone);
        alone
    }

    #[test]
    fn only_the_wanted_keys_are_found() {
        for (at, name) in RecordKey::NAMES.iter().enumerate() {
            assert_eq!(slot(name.as_bytes()), Some(at), "{name}");
            assert_eq!(slot(format!("{name}x").as_bytes()), None);
            assert_eq!(slot(format!("{name}\0").as_bytes()), None);
            assert_eq!(slot(&name.as_bytes()[1..]), None);
        }
        assert_eq!(slot(b""), None);
        assert_eq!(slot(b"model_usage_sincX_last_result"), None);
        assert_eq!(UsageFields::slot(Key::new(b"output_tokens")), Some(UsageKey::Output as usize));
    }
}
