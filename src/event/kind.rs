//! The table of record kinds, one row per kind.
//!
//! The name of a kind is the `type` of the record and, for types that have one, a slash and the
//! discriminator. Facts are computed from rows marked `facts`, and each of these has a sample in
//! `testdata/kinds/`. The other rows are only counted. A kind without a row is unknown: it is counted under
//! its own name and reported.

use std::borrow::Cow;

/// The field that holds the discriminator, the second part of a kind's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discriminator {
    /// The type has no discriminator.
    None,
    Subtype,
    Operation,
    /// `event.type`
    Event,
    /// `request.subtype`
    Request,
    /// `response.subtype`
    Response,
    /// `attachment.type`
    Attachment,
    /// `data.type`
    Data,
}

macro_rules! types {
    ($($type:ident = $name:literal, $discriminator:ident;)*) => {
        /// A type with facts or a discriminator. The name is matched once, and decoding then matches on this.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Type { $($type,)* Other }

        impl Type {
            pub(super) fn of(name: &str) -> Self {
                match name { $($name => Self::$type,)* _ => Self::Other }
            }

            /// Returns the row of a record without a discriminator.
            #[inline]
            pub(super) fn row(self) -> Option<KindId> {
                match self { $(Self::$type => const { row_of($name) },)* Self::Other => None }
            }

            #[inline]
            pub(super) fn discriminator(self) -> Discriminator {
                match self { $(Self::$type => Discriminator::$discriminator,)* Self::Other => Discriminator::None }
            }
        }
    };
}

types! {
    User = "user", None;
    Assistant = "assistant", None;
    System = "system", Subtype;
    Result = "result", Subtype;
    StreamEvent = "stream_event", Event;
    Attachment = "attachment", Attachment;
    Progress = "progress", Data;
    QueueOperation = "queue-operation", Operation;
    ControlRequest = "control_request", Request;
    ControlResponse = "control_response", Response;
    ConversationReset = "conversation_reset", None;
    CostState = "cost-state", None;
    ToolResult = "tool_result", None;
    Reject = "reject", None;
    PullRequestLink = "pr-link", None;
}

impl Type {
    /// Returns whether a second record with the same `uuid` is a copy.
    #[inline]
    pub(super) fn is_identified(self) -> bool {
        matches!(self, Self::User | Self::Assistant | Self::System | Self::Attachment | Self::Result)
    }
}

/// The protocol that a kind belongs to. It decides the dialect of records without a session id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The output of the CLI.
    Stream,
    /// Saved sessions.
    Transcript,
    /// The control protocol between host and CLI.
    Control,
    /// The bridge protocol of the seed documents.
    Bridge,
}

/// A row of the table of kinds.
#[derive(Debug)]
pub struct KindRow {
    /// Type, and discriminator after a slash.
    pub name: &'static str,
    /// The protocol that the kind belongs to.
    pub protocol: Protocol,
    /// Whether facts are computed from it. Records of other kinds are only counted.
    pub facts: bool,
}

/// The kind of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A row of the table.
    Known(KindId),
    /// A kind that has no row.
    Other {
        /// The record's `type`.
        kind: Cow<'a, str>,
        /// The discriminator, if the type has one and the record contains it.
        sub: Option<Cow<'a, str>>,
    },
}

/// Index of a row in the table of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(u16);

impl KindId {
    /// Number of rows.
    pub const COUNT: usize = KINDS.len();

    /// Iterates over all rows, sorted by name.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).filter_map(|index| u16::try_from(index).ok().map(Self))
    }

    /// Returns the row.
    pub fn row(self) -> &'static KindRow {
        &KINDS[usize::from(self.0)]
    }

    /// Returns the index, for tables with an entry per kind.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl<'a> Kind<'a> {
    /// Returns the kind of a record by its type and discriminator.
    pub fn of(kind: Cow<'a, str>, sub: Option<Cow<'a, str>>) -> Self {
        match find(&kind, sub.as_deref()) {
            Some(id) => Self::Known(id),
            None => Self::Other { kind, sub },
        }
    }

    /// Returns the kind of a record of this type. Messages, which are most records, have no discriminator: their
    /// row is a constant.
    #[inline]
    pub(super) fn of_type(named: Type, kind: Cow<'a, str>, sub: Option<Cow<'a, str>>) -> Self {
        match (&sub, named.row()) {
            (None, Some(row)) => Self::Known(row),
            _ => Self::of(kind, sub),
        }
    }

    /// Returns the name that the kind is counted under.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Known(id) => Cow::Borrowed(id.row().name),
            Self::Other { kind, sub: None } => Cow::Borrowed(kind),
            Self::Other { kind, sub: Some(sub) } => Cow::Owned(format!("{kind}/{sub}")),
        }
    }

    /// Returns whether the kind is known. The kinds `system/ui_…` of the user interface are known without
    /// rows.
    pub fn is_known(&self) -> bool {
        match self {
            Self::Known(_) => true,
            Self::Other { kind, sub } => {
                kind == "system" && sub.as_deref().is_some_and(|sub| sub.starts_with("ui_"))
            }
        }
    }
}

/// Returns the row with this name.
const fn row_of(name: &str) -> Option<KindId> {
    let mut row = 0;
    while row < KINDS.len() {
        let (own, name) = (KINDS[row].name.as_bytes(), name.as_bytes());
        let mut same = 0;
        while same < own.len() && same < name.len() && own[same] == name[same] {
            same += 1;
        }
        if same == own.len() && same == name.len() {
            #[expect(clippy::cast_possible_truncation, reason = "the table has a few hundred rows")]
            return Some(KindId(row as u16));
        }
        row += 1;
    }
    None
}

/// Returns the protocol of a type, if the table has a row for the type without a discriminator.
pub(super) fn protocol_of(kind: &str) -> Option<Protocol> {
    find(kind, None).map(|id| id.row().protocol)
}

/// Finds the row of a type and discriminator in a hash table.
///
/// This happens for every record: a binary search took 10 % of the time on short lines.
fn find(kind: &str, sub: Option<&str>) -> Option<KindId> {
    let mut bucket = bucket(kind.as_bytes(), sub.unwrap_or_default().as_bytes());
    loop {
        let id = KindId(BUCKETS[bucket]);
        let name = KINDS.get(id.index())?.name.as_bytes();
        let matches = match (name.split_at_checked(kind.len()), sub) {
            (Some((first, [])), None) => equal(first, kind.as_bytes()),
            (Some((first, [b'/', second @ ..])), Some(sub)) => {
                equal(first, kind.as_bytes()) && equal(second, sub.as_bytes())
            }
            _ => false,
        };
        if matches {
            return Some(id);
        }
        bucket = (bucket + 1) % BUCKETS.len();
    }
}

/// Compares two names. They are short, and calls of `memcmp` took 2 % of the time on short lines.
#[inline]
fn equal(one: &[u8], two: &[u8]) -> bool {
    /// Compares the first and the last `N` bytes, which may overlap; `None` if these are not all bytes.
    #[inline(always)]
    fn ends_equal<const N: usize>(one: &[u8], two: &[u8]) -> Option<bool> {
        let first = one.first_chunk::<N>()? == two.first_chunk()?;
        (one.len() <= 2 * N).then_some(first & (one.last_chunk::<N>() == two.last_chunk()))
    }
    let short = || {
        ends_equal::<16>(one, two).or_else(|| ends_equal::<8>(one, two)).or_else(|| ends_equal::<4>(one, two))
    };
    one.len() == two.len() && short().unwrap_or_else(|| one == two)
}

/// Returns the first bucket to look for a name in.
const fn bucket(kind: &[u8], sub: &[u8]) -> usize {
    const fn fingerprint(text: &[u8]) -> u32 {
        let length = text.len();
        if length == 0 {
            return 0;
        }
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits of the length matter")]
        let length_bits = (length as u32) << 24;
        text[0] as u32 | (text[length / 2] as u32) << 8 | (text[length - 1] as u32) << 16 | length_bits
    }
    let mixed = fingerprint(kind).wrapping_mul(0x9e37_79b1) ^ fingerprint(sub).wrapping_mul(0x85eb_ca77);
    (mixed.wrapping_mul(0xc2b2_ae3d) >> 21) as usize
}

macro_rules! kinds {
    ($( $protocol:ident $mark:ident { $($name:literal)* } )*) => {
        const KINDS: &[KindRow] = &[ $( $( KindRow { name: $name, protocol: Protocol::$protocol, facts: kinds!(@ $mark) }, )* )* ];
    };
    (@ facts) => { true };
    (@ name) => { false };
}

kinds! {
    // The output of the CLI (PROTOCOL 2, 4).
    Stream facts {
        "assistant" "user" "conversation_reset" "system/init" "system/api_retry" "system/permission_denied"
        "result" "result/success" "result/error_during_execution" "result/error_max_turns"
        "result/error_max_budget_usd" "result/error_max_structured_output_retries"
        "stream_event/message_start" "stream_event/message_delta" "system/compact_boundary"
    }
    Stream name {
        "system" "stream_event"
        "tool_progress" "tool_use_summary" "auth_status" "rate_limit_event" "prompt_suggestion" "active_goal"
        "command_lifecycle" "system/status" "system/model_refusal_fallback" "system/model_refusal_no_fallback"
        "system/model_fallback" "system/hook_started" "system/hook_progress" "system/hook_response"
        "system/task_started" "system/task_progress" "system/task_updated" "system/task_notification"
        "system/background_tasks_changed" "system/thinking_tokens" "system/informational"
        "system/notification"
        "system/local_command_output" "system/session_state_changed" "system/commands_changed"
        "system/files_persisted"
        "system/memory_recall" "system/plugin_install" "system/elicitation_complete" "system/mirror_error"
        "system/control_request_progress" "system/worker_shutting_down" "system/session_writes_lost"
        "stream_event/content_block_start" "stream_event/content_block_delta"
        "stream_event/content_block_stop" "stream_event/message_stop" "stream_event/ping" "stream_event/error"
    }
    // Subtypes that the executable has for other user interfaces.
    Stream name {
        "system/agents_killed" "system/away_summary" "system/bridge_state" "system/bridge_status"
        "system/checkpoint_done"
        "system/cloud_session_delta" "system/cloud_session_status" "system/code_change_published"
        "system/dev_intent"
        "system/feedback_draft_queued" "system/file_attachments_missing" "system/file_snapshot"
        "system/inherited_asks_settled" "system/instruction_size_warning" "system/memory_saved"
        "system/model_consent_fallback" "system/peer_message_hold" "system/per_turn_effort_changed"
        "system/permission_check_status" "system/permission_retry" "system/placed" "system/post_turn_summary"
        "system/rewind_stand_in" "system/scheduled_task_fire" "system/session_metadata"
        "system/session_title_changed"
        "system/start_folder" "system/task_summary" "system/tool_host_result" "system/turn_began_before_init"
        "system/turn_handoff_available" "system/turn_preempted" "system/turn_starting"
        "system/vcs_state_changed" "system/voice_call_talk" "system/late_allow_not_run"
    }
    // The control protocol, both directions (PROTOCOL 8).
    Control name {
        "control_cancel_request" "keep_alive"
        "control_response" "control_response/success" "control_response/error"
        "control_request" "control_request/can_use_tool" "control_request/hook_callback"
        "control_request/mcp_message" "control_request/elicitation" "control_request/request_user_dialog"
        "control_request/interrupt" "control_request/initialize" "control_request/set_permission_mode"
        "control_request/set_model" "control_request/set_max_thinking_tokens" "control_request/rename_session"
        "control_request/set_color" "control_request/mcp_status" "control_request/get_context_usage"
        "control_request/get_session_cost" "control_request/list_models" "control_request/get_usage"
        "control_request/get_binary_version" "control_request/mcp_call" "control_request/file_suggestions"
        "control_request/rewind_files" "control_request/cancel_async_message" "control_request/read_file"
        "control_request/seed_read_state" "control_request/mcp_set_servers"
        "control_request/register_repo_root" "control_request/reload_plugins" "control_request/reload_skills"
        "control_request/reload_output_styles"
        "control_request/mcp_reconnect" "control_request/mcp_toggle" "control_request/set_has_subscribers"
        "control_request/stop_task" "control_request/background_tasks" "control_request/get_task_output"
        "control_request/apply_flag_settings" "control_request/get_settings"
        "control_request/get_hooks_listing"
        "control_request/update_settings" "control_request/list_permission_rules"
        "control_request/mcp_read_resource"
        "control_request/prompt_draft_activity" "control_request/set_message_waiting"
    }
    // Saved sessions (PROTOCOL 9.3).
    Transcript facts {
        "cost-state" "pr-link" "system/api_error" "system/turn_duration" "progress/agent_progress"
    }
    Transcript name {
        "attachment" "progress" "queue-operation"
        "system/local_command" "system/stop_hook_summary" "system/microcompact_boundary"
        "progress/bash_progress" "progress/hook_progress" "progress/mcp_progress" "progress/query_update"
        "progress/search_results_received" "progress/waiting_for_task"
        "queue-operation/enqueue" "queue-operation/dequeue" "queue-operation/remove" "queue-operation/popAll"
        "summary" "last-prompt" "mode" "permission-mode" "tools-used" "atis-latch" "api-request"
        "api-request-shape"
        "api-request-blob" "file-history-snapshot" "file-history-delta" "content-replacement" "custom-title"
        "ai-title" "tag" "agent-name" "agent-color" "agent-setting" "relocated" "worktree-state"
        "bridge-session"
        "history-suppression" "attribution-snapshot" "isolation-latch" "session-owner" "dev-mods"
        "memory-mode"
        "continued-in" "resume-head-vouch" "data-flow-records" "data-flow-incomplete" "derived-from"
        "fork-context-ref"
        "frame-link" "ended-by-model" "artifact-comment-monitor" "artifact-autoreact-ledger" "observer-ref"
        "repl-mode" "late-allow-ended"
        "attachment/environment" "attachment/model" "attachment/date" "attachment/session_context"
        "attachment/prompt_snapshot" "attachment/skill_listing" "attachment/agent_listing_delta"
        "attachment/deferred_tools_delta" "attachment/remote_session_change" "attachment/hook_success"
        "attachment/hook_blocking_error" "attachment/max_turns_reached" "attachment/budget_usd"
        "attachment/plan_mode"
        "attachment/structured_output" "attachment/queued_command" "attachment/command_permissions"
        "attachment/total_tokens_reminder" "attachment/plan_mode_exit" "attachment/deferred_tools_record"
        "attachment/hook_additional_context" "attachment/task_reminder" "attachment/todo_reminder"
        "attachment/goal_status" "attachment/mcp_instructions_delta" "attachment/file"
        "attachment/compact_file_reference"
        "attachment/hook_non_blocking_error" "attachment/hook_error_during_execution"
        "attachment/hook_cancelled" "attachment/hook_stopped_continuation" "attachment/hook_system_message"
        "attachment/hook_permission_decision"
        "attachment/async_hook_response" "attachment/selected_lines_in_ide"
    }
    // Attachments that the code of the CLI (2.1.50 to 2.1.326) can create, but that are in no recorded log.
    Transcript name {
        "attachment/opened_file_in_ide" "attachment/edited_text_file" "attachment/edited_image_file"
        "attachment/directory" "attachment/already_read_file" "attachment/diagnostics"
        "attachment/nested_memory"
        "attachment/relevant_memories" "attachment/mcp_resource" "attachment/invoked_skills"
        "attachment/dynamic_skill"
        "attachment/plan_file_reference" "attachment/plan_mode_reentry" "attachment/output_style"
        "attachment/pdf_reference" "attachment/task_status" "attachment/team_context"
        "attachment/teammate_shutdown_batch" "attachment/token_usage" "attachment/critical_system_reminder"
        "attachment/agent_mention" "attachment/async_hook_response_batch" "attachment/selected_lines_in_diff"
        "attachment/plugin_note" "attachment/date_change" "attachment/at_mention_reference"
    }
    // The bridge of the seed documents: client to server, then server to client (their `system`, `assistant`
    // and `result` are rows above).
    Bridge facts { "reject" "tool_result" }
    Bridge name {
        "start" "input" "approve" "approve_always" "answer" "list_sessions" "stop_session" "get_history"
        "list_recent_sessions" "resume_session"
        "error" "status" "history" "permission_request" "stream_delta" "thinking_delta"
        "system/session_created"
    }
}

/// A hash table of rows with linear probing. Empty buckets hold `u16::MAX`, which is no index of a row.
static BUCKETS: [u16; 2048] = buckets();

const fn buckets() -> [u16; 2048] {
    let mut buckets = [u16::MAX; 2048];
    let mut row = 0;
    while row < KINDS.len() {
        let name = KINDS[row].name.as_bytes();
        let mut slash = 0;
        while slash < name.len() && name[slash] != b'/' {
            slash += 1;
        }
        let (kind, rest) = name.split_at(slash);
        let sub = if let [_, sub @ ..] = rest { sub } else { rest };
        let mut at = bucket(kind, sub);
        while buckets[at] != u16::MAX {
            at = (at + 1) % buckets.len();
        }
        #[expect(clippy::cast_possible_truncation, reason = "there are a few hundred rows")]
        {
            buckets[at] = row as u16;
        }
        row += 1;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind<'a>(kind: &'a str, sub: Option<&'a str>) -> Kind<'a> {
        Kind::of(Cow::Borrowed(kind), sub.map(Cow::Borrowed))
    }

    #[test]
    fn the_table_names_each_kind_once() {
        let mut seen = std::collections::BTreeSet::new();
        KINDS.iter().for_each(|row| assert!(seen.insert(row.name), "{}", row.name));
    }

    #[test]
    fn every_row_is_found_by_its_own_name() {
        for id in KindId::all() {
            let (name, sub) = match id.row().name.split_once('/') {
                Some((name, sub)) => (name, Some(sub)),
                None => (id.row().name, None),
            };
            assert_eq!(kind(name, sub), Kind::Known(id));
        }
    }

    #[test]
    fn the_row_of_a_type_is_the_one_that_its_name_finds() {
        let types = KINDS.iter().map(|row| (row.name, Type::of(row.name)));
        let types: Vec<_> = types.filter(|(_, named)| *named != Type::Other).collect();
        types.iter().for_each(|(name, named)| assert_eq!(named.row(), find(name, None), "{name}"));
        assert!(types.len() > 10, "{types:?}");
    }

    #[test]
    fn names_that_differ_in_one_letter_are_not_equal() {
        for length in 0..70 {
            let one = vec![b'a'; length];
            assert!(equal(&one, &one.clone()));
            assert!(!equal(&one, &vec![b'a'; length + 1]));
            for at in 0..length {
                let mut two = one.clone();
                two[at] = b'b';
                assert!(!equal(&one, &two), "{length} letters, at {at}");
            }
        }
    }

    #[test]
    fn a_kind_without_a_row_keeps_its_own_name() {
        assert_eq!(kind("result", Some("error")).name(), "result/error");
        assert!(!kind("result", Some("error")).is_known());
        assert!(!kind("telepathy", None).is_known());
        assert!(kind("system", Some("ui_toast")).is_known());
        assert!(!kind("user", Some("ui_toast")).is_known());
    }

    #[test]
    fn a_type_alone_has_a_protocol() {
        assert_eq!(protocol_of("summary"), Some(Protocol::Transcript));
        assert_eq!(protocol_of("approve"), Some(Protocol::Bridge));
        assert_eq!(protocol_of("progress"), Some(Protocol::Transcript));
        assert_eq!(protocol_of("telepathy"), None);
    }
}
