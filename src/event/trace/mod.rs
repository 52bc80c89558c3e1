//! Decodes traces: what records say about hooks, tasks, limits, servers, requests, decisions, commands,
//! questions and the API.
//!
//! One table lists which kinds of records have which traces. A record is decoded only if a report needs a
//! trace that its kind can have.

mod api_request;
mod command;
mod control;
mod decision;
mod hook;
mod limit;
mod question;
mod server;
mod task;

use std::{
    ops::BitOr,
    sync::{Arc, LazyLock},
};

use memchr::memmem::Finder;

pub use api_request::{ApiRequest, CacheMiss, Parameters, Shape, ShapePart, ShapeTool};
pub use command::{CommandKind, Form, Offer, Typed, used};
pub use control::{Approval, ApprovalStep, Bridge, Request, Response, Verdict};
use decision::Decided;
pub use decision::Decision;
pub use hook::{Hook, HookEnd, HookRecordKind};
pub use limit::{Limit, LimitKind};
pub use question::{DeniedQuestion, GivenAnswers, QUESTION_TOOL};
pub use server::{Server, Servers};
pub use task::{Task, TaskOutcome, TaskRecordKind, TaskUsage};

use super::{
    Body, Event, Kind, KindId, Text, ToolPart, ToolResult,
    json::{self, Json, Object},
};

/// Kinds of traces: a set of flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces(u16);

impl Traces {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Runs of hooks.
    pub const HOOKS: Self = Self(1);
    pub const TASKS: Self = Self(1 << 1);
    /// Limits that were reached.
    pub const LIMITS: Self = Self(1 << 2);
    /// MCP servers and their tools.
    pub const SERVERS: Self = Self(1 << 3);
    /// Requests between the CLI, its host and a bridge.
    pub const CONTROL: Self = Self(1 << 4);
    /// Permission decisions and modes.
    pub const DECISIONS: Self = Self(1 << 5);
    /// Slash commands, skills and agents.
    pub const COMMANDS: Self = Self(1 << 6);
    /// Questions to people.
    pub const QUESTIONS: Self = Self(1 << 7);
    /// Requests to the API, and why the server did not find them in its cache.
    pub const REQUESTS: Self = Self(1 << 8);
    /// All of them.
    pub const ALL: Self = Self(u16::MAX);

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether both have a flag in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Traces {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

/// Kinds of records and the traces they can have. A `*` matches any suffix; all rows that match apply.
const KINDS: &[(&str, Traces)] = {
    use Traces as T;
    &[
        ("user", T::HOOKS.and(T::TASKS).and(T::DECISIONS).and(T::COMMANDS).and(T::QUESTIONS)),
        ("assistant", T::LIMITS.and(T::REQUESTS)),
        ("api-request", T::REQUESTS),
        ("api-request-shape", T::REQUESTS),
        ("stream_event/message_delta", T::LIMITS),
        ("result*", T::LIMITS.and(T::COMMANDS).and(T::QUESTIONS)),
        ("rate_limit_event", T::LIMITS),
        ("system*", T::DECISIONS),
        ("system/init", T::SERVERS.and(T::COMMANDS).and(T::CONTROL)),
        ("system/session_created", T::CONTROL),
        ("system/commands_changed", T::COMMANDS),
        ("system/local_command", T::COMMANDS),
        ("system/compact_boundary", T::COMMANDS),
        ("system/microcompact_boundary", T::LIMITS),
        ("system/status", T::LIMITS),
        ("system/model_*", T::LIMITS),
        ("system/hook_*", T::HOOKS),
        ("system/stop_hook_summary", T::HOOKS),
        ("system/task_*", T::TASKS),
        ("system/background_tasks_changed", T::TASKS),
        ("progress/hook_progress", T::HOOKS),
        ("queue-operation/enqueue", T::TASKS.and(T::COMMANDS)),
        ("permission-mode", T::DECISIONS),
        ("attachment/hook_*", T::HOOKS),
        ("attachment/async_hook_response", T::HOOKS),
        ("attachment/queued_command", T::TASKS.and(T::COMMANDS)),
        ("attachment/skill_listing", T::COMMANDS),
        ("attachment/agent_listing_delta", T::COMMANDS),
        ("attachment/max_turns_reached", T::LIMITS),
        ("control_request*", T::CONTROL.and(T::DECISIONS).and(T::QUESTIONS)),
        ("control_request/hook_callback", T::HOOKS),
        ("control_response*", T::CONTROL.and(T::DECISIONS).and(T::QUESTIONS).and(T::HOOKS)),
        ("control_response/success", T::SERVERS),
        ("control_cancel_request", T::CONTROL),
        // The bridge.
        ("permission_request", T::CONTROL.and(T::DECISIONS)),
        ("approve", T::CONTROL.and(T::DECISIONS)),
        ("approve_always", T::CONTROL.and(T::DECISIONS)),
        ("reject", T::CONTROL.and(T::DECISIONS)),
        ("answer", T::CONTROL.and(T::QUESTIONS)),
        ("input", T::COMMANDS),
        ("start", T::CONTROL.and(T::DECISIONS)),
        ("resume_session", T::CONTROL.and(T::DECISIONS)),
        ("get_history", T::CONTROL),
        ("stop_session", T::CONTROL),
        ("list_sessions", T::CONTROL),
        ("list_recent_sessions", T::CONTROL),
        ("history", T::CONTROL),
        ("error", T::CONTROL),
    ]
};

/// The traces of each known kind.
static BY_ID: LazyLock<Vec<Traces>> =
    LazyLock::new(|| KindId::all().map(|id| of_name(id.row().name)).collect());

fn of_name(name: &str) -> Traces {
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    KINDS.iter().filter(|(pattern, _)| fits(pattern)).fold(Traces::NONE, |all, (_, one)| all | *one)
}

/// Returns the traces that a kind of records can have.
fn of_kind(kind: &Kind<'_>) -> Traces {
    match kind {
        Kind::Known(id) => BY_ID[id.index()],
        other => of_name(&other.name()),
    }
}

/// A decoded trace. `T` is the type of its texts: borrowed from the record, or owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace<T> {
    /// A hook ran, or denied a call.
    Hook(Box<Hook<T>>),
    /// A task started, progressed or ended.
    Task(Box<Task<T>>),
    /// A tool returned something about tasks.
    TaskOutcome(Box<TaskOutcome<T>>),
    /// A limit was reached.
    Limit(Box<Limit<T>>),
    /// MCP servers and tools.
    Servers(Box<Servers<T>>),
    /// A request of the control protocol.
    Request(Box<Request<T>>),
    /// A response of the control protocol.
    Response(Box<Response<T>>),
    /// A request with this id was cancelled.
    Cancel(T),
    /// A bridge requests approval, or its client answers.
    Approval(Approval<T>),
    /// A request of a client to its bridge, or a reply.
    Bridge(Bridge),
    /// A call was allowed or denied.
    Decision(Box<Decision<T>>),
    /// The permission mode of the following records.
    Mode(T),
    /// Commands, skills or agents that can be used.
    Offer(Offer<T>),
    /// A command may have been typed.
    Typed(Typed<T>),
    /// A question was denied, as the end of the turn lists it.
    DeniedQuestion(Box<DeniedQuestion<T>>),
    /// People answered.
    GivenAnswers(GivenAnswers<T>),
    /// A request to the API.
    ApiRequest(Box<ApiRequest<T>>),
    /// System prompt and tools of requests.
    Shape(Box<Shape<T>>),
    /// The server did not find a prompt in its cache.
    CacheMiss(Box<CacheMiss<T>>),
}

/// Converts texts of records to the type that rows keep.
pub trait Owner<T> {
    /// Converts a text that many records repeat.
    fn own(&mut self, text: Text<'_>) -> T;

    /// Converts an id, which few records repeat.
    fn own_id(&mut self, id: Text<'_>) -> T {
        self.own(id)
    }

    /// Returns where texts are kept that the next record probably repeats.
    fn last(&mut self) -> Option<&mut LastDecoded<T>> {
        None
    }
}

impl<T, F: FnMut(Text<'_>) -> T> Owner<T> for F {
    fn own(&mut self, text: Text<'_>) -> T {
        self(text)
    }
}

/// Values of earlier records with their JSON text. Most records repeat them, and need not be parsed again.
#[derive(Clone, Debug)]
pub struct LastDecoded<T> {
    parameters: Option<(Box<str>, Arc<Parameters<T>>)>,
    decision: Option<(Box<str>, Decided<T>)>,
}

impl<T> Default for LastDecoded<T> {
    fn default() -> Self {
        Self { parameters: None, decision: None }
    }
}

/// Decodes the wanted traces of a record.
pub fn traces<T: Clone>(event: &Event<'_>, wanted: Traces, owner: &mut dyn Owner<T>) -> Vec<Trace<T>> {
    let wanted = Traces(of_kind(&event.kind).0 & wanted.0);
    if wanted == Traces::NONE {
        return Vec::new();
    }
    let mut decoder = Decoder { event, wanted, owner, found: Vec::new() };
    decoder.record();
    decoder.found
}

/// Returns the uuid of a record, also for kinds that repeat uuids. Stream events have none that is useful.
pub fn uuid<'a>(event: &Event<'a>) -> Option<Text<'a>> {
    static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("uuid"));
    static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\\u"));
    let known = event.uuid.clone();
    known.or_else(|| {
        let text = event.text.as_bytes();
        // A name can be written with escapes.
        let has_name = || NAME.find(text).is_some() || ESCAPE.find(text).is_some();
        let opened = || json::object(event.text).ok()?.text(&["uuid"]);
        if matches!(event.body, Body::Stream(_)) || !has_name() { None } else { opened() }
    })
}

/// Decodes the traces of one record.
struct Decoder<'d, 'a, T> {
    event: &'d Event<'a>,
    wanted: Traces,
    owner: &'d mut dyn Owner<T>,
    found: Vec<Trace<T>>,
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    fn wants(&self, traces: Traces) -> bool {
        self.wanted.intersects(traces)
    }

    fn own(&mut self, text: Option<Text<'a>>) -> Option<T> {
        text.map(|text| self.owner.own(text))
    }

    /// Returns the text of a member, owned.
    fn text(&mut self, object: &Object<'a>, names: &[&str]) -> Option<T> {
        let text = object.text(names);
        self.own(text)
    }

    /// Returns JSON text, owned, without lone surrogates.
    fn json(&mut self, json: Json<'a>) -> T {
        self.owner.own(super::surrogate::replace_lone_surrogates(json.source()))
    }

    fn record(&mut self) {
        let name = self.event.kind.name();
        if &*name == "user" {
            return self.user();
        }
        if let Body::Compaction(compaction) = &self.event.body {
            self.compacted(compaction);
        }
        if &*name == "assistant" {
            self.cache_miss();
        }
        if matches!(&*name, "assistant" | "stream_event/message_delta")
            && !(self.wants(Traces::LIMITS) && limit::is_refused(self.event))
        {
            return;
        }
        let Ok(record) = json::object(self.event.text) else { return };
        if self.wants(Traces::DECISIONS) {
            self.mode(&record);
        }
        let (kind, sub) = name.split_once('/').unwrap_or((&*name, ""));
        match kind {
            "assistant" | "stream_event" | "rate_limit_event" => self.limit(&name, &record),
            "result" => self.result(&name, &record),
            "system" => self.system(&name, sub, &record),
            "progress" => self.progress(&record),
            "queue-operation" => self.message(record.text(&["content"]), Form::Queued, None),
            "attachment" => self.attachment(&name, sub, &record),
            "api-request" => self.api_request(&record),
            "api-request-shape" => self.shape(&record),
            "control_request" | "control_response" | "control_cancel_request" => self.control(kind, &record),
            "input" => self.message(record.text(&["text"]), Form::Text, None),
            _ => self.bridge(kind, &record),
        }
    }

    /// Decodes `user` records, which are two thirds of all bytes. Fields of tool results are already decoded,
    /// and other texts are short.
    fn user(&mut self) {
        let Body::Message(message) = &self.event.body else { return };
        let answers = message.blocks.iter().filter_map(|block| match &block.tool_part {
            ToolPart::Result(answer) => Some(answer),
            _ => None,
        });
        // A record has one outcome: that of its first result.
        if let Some(answer) = answers.clone().find(|answer| answer.id.is_some())
            && self.wants(Traces::TASKS | Traces::QUESTIONS)
        {
            self.outcome(answer);
        }
        answers.for_each(|answer| self.answer(answer));
        let says = message.blocks.iter().any(|block| matches!(block.tool_part, ToolPart::None));
        if says && self.wants(Traces::TASKS | Traces::COMMANDS | Traces::DECISIONS) {
            let Ok(record) = json::object(self.event.text) else { return };
            self.mode(&record);
            self.said(&record);
        }
    }

    fn answer(&mut self, answer: &ToolResult<'a>) {
        if answer.is_error && self.wants(Traces::HOOKS) {
            self.hook_refusal(answer);
        }
        if self.wants(Traces::DECISIONS) {
            self.decided(answer);
        }
    }

    fn result(&mut self, name: &str, record: &Object<'a>) {
        if self.wants(Traces::LIMITS) {
            self.limit(name, record);
        }
        if self.wants(Traces::COMMANDS) {
            self.ended(record);
        }
        if self.wants(Traces::QUESTIONS) {
            self.denied_questions(record);
        }
    }

    fn system(&mut self, name: &str, sub: &str, record: &Object<'a>) {
        if self.wants(Traces::LIMITS) {
            self.limit(name, record);
        }
        if self.wants(Traces::HOOKS) {
            self.printed_hook(sub, record);
        }
        if self.wants(Traces::TASKS) {
            self.task(sub, record);
        }
        if self.wants(Traces::SERVERS) && sub == "init" {
            self.servers(record, record);
        }
        if self.wants(Traces::CONTROL) {
            self.bridge(name, record);
        }
        if self.wants(Traces::COMMANDS) {
            self.offers(name, record);
            self.local_command(sub, record);
        }
        if self.wants(Traces::DECISIONS) && sub == "permission_denied" {
            self.denied(record);
        }
    }

    fn attachment(&mut self, name: &str, sub: &str, record: &Object<'a>) {
        let Some(attachment) = record.object("attachment") else { return };
        match sub {
            "queued_command" => {
                self.message(attachment.text(&["prompt"]), Form::Folded, attachment.text(&["source_uuid"]));
            }
            "max_turns_reached" => self.limit(name, record),
            "skill_listing" | "agent_listing_delta" => self.offers(name, &attachment),
            _ => self.saved_hook(sub, &attachment),
        }
    }

    /// Decodes the permission mode.
    fn mode(&mut self, record: &Object<'a>) {
        if !self.wants(Traces::DECISIONS) {
            return;
        }
        let other: &[&str] = if self.event.kind.name() == "permission-mode" { &["mode"] } else { &[] };
        let mode = record.text(&["permissionMode"]).or_else(|| record.text(other));
        if let Some(mode) = self.own(mode) {
            self.found.push(Trace::Mode(mode));
        }
    }
}

/// Returns the text of a message or a result: the string itself, or its first text block.
pub(super) fn content<'a>(content: Json<'a>) -> Option<Text<'a>> {
    match content.string() {
        Some(text) => Some(text),
        None => content.array()?.into_iter().find_map(|block| block.object()?.text(&["text"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::decode;

    fn traced(record: &str, wanted: Traces) -> Vec<Trace<String>> {
        traces(&decode(record.as_bytes()).unwrap(), wanted, &mut |text: Text<'_>| text.into_owned())
    }

    #[test]
    fn a_record_is_decoded_only_if_its_trace_is_wanted() {
        let record = r#"{"type":"control_cancel_request","request_id":"1"}"#;
        assert_eq!(traced(record, Traces::CONTROL), [Trace::Cancel("1".to_owned())]);
        assert_eq!(traced(record, Traces::HOOKS), []);
        assert_eq!(traced(r#"{"type":"assistant","message":{"content":[]}}"#, Traces::LIMITS), []);
    }

    #[test]
    fn every_row_of_the_table_names_a_kind() {
        for (pattern, _) in KINDS {
            let start = pattern.strip_suffix('*').unwrap_or(pattern);
            assert!(KindId::all().any(|id| id.row().name.starts_with(start)), "{pattern}");
        }
    }

    #[test]
    fn a_lone_surrogate_does_not_lose_the_trace() {
        let record = r#"{"type":"permission-mode","mode":"plan \ud83d","sessionId":"s"}"#;
        assert_eq!(traced(record, Traces::DECISIONS), [Trace::Mode("plan \u{fffd}".to_owned())]);
    }
}
