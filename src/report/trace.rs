//! Sessions as traces: prompts, requests and tool calls as spans with a start, an end and a parent.
//!
//! Spans have the tree and the names of the CLI's own telemetry. A span exists only if the log has the times
//! for it; what is missing is counted. A time or number that the log only implies is marked as estimated.

mod attribute;
mod build;
mod id;
mod interaction;
mod log;
mod metric;
mod request;
mod rows;

use crate::{
    facts::{Detail, Name},
    measure::{Millis, Time, Tokens, Usd},
};

pub use attribute::{Attribute, Attributes};
pub use id::{SpanId, TraceId};
pub use log::LogRecord;
pub use metric::{Metric, Point};
pub use rows::Traces;

/// Facts that traces need.
pub const TRACE_DETAIL: Detail = Detail::ROWS.and(Detail::TIMING).and(Detail::DECISIONS);

/// Texts that traces contain if content is wanted.
pub const TRACE_CONTENT: Detail = Detail::EXCERPTS.and(Detail::MESSAGES);

/// Version of the OpenTelemetry semantic conventions whose names the attributes have.
pub const SEMANTIC_CONVENTIONS: &str = "1.42.0";

/// The spans of one session.
#[derive(Clone, Debug, Default)]
pub struct SessionTrace {
    /// Id of the session; the name of its source if it has none.
    pub session: Name,
    /// The CLI version that began it.
    pub version: Option<Name>,
    /// The folder it began in.
    pub project: Option<Name>,
    /// The machine that wrote it, if it is in an archive.
    pub machine: Option<Name>,
    /// The main agent, then the subagents that have spans.
    pub agents: Vec<TraceAgent>,
    /// The spans of all agents, by start.
    pub spans: Vec<Span>,
    /// Events without a duration, by time.
    pub marks: Vec<Mark>,
    /// Rows without a span.
    pub omitted: Omitted,
}

/// An agent of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAgent {
    /// `main`, or the type of the subagent.
    pub name: Name,
    /// Id of the subagent, if the log has it.
    pub id: Option<Name>,
}

/// Rows that have no span, because the log lacks a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Prompts and turns without a time.
    pub interactions: u64,
    /// Responses and failed requests without a time, and compactions without a duration.
    pub requests: u64,
    /// Calls without a time.
    pub tools: u64,
    /// Calls without a result.
    pub open: u64,
    /// Calls without a time between waiting and execution.
    pub borders: u64,
}

impl Omitted {
    /// Adds the counts of another trace.
    pub fn add(&mut self, other: Self) {
        let Self { interactions, requests, tools, open, borders } = other;
        self.interactions += interactions;
        self.requests += requests;
        self.tools += tools;
        self.open += open;
        self.borders += borders;
    }
}

/// A part of a run with a start and an end.
#[derive(Clone, Debug)]
pub struct Span {
    pub id: SpanId,
    /// The trace: all spans of one prompt.
    pub trace: TraceId,
    pub parent: Option<SpanId>,
    /// Index of the agent in [`SessionTrace::agents`].
    pub agent: usize,
    pub start: Time,
    pub end: Time,
    pub estimated: Estimated,
    /// Why it failed, in a word; `None` if it did not.
    pub error: Option<Name>,
    pub body: SpanBody,
}

impl Span {
    /// Returns its duration.
    pub fn duration(&self) -> Millis {
        self.end.since(self.start)
    }
}

/// The parts of a span that the log only implies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimated {
    pub start: bool,
    pub end: bool,
    /// Token counts and cost.
    pub usage: bool,
}

/// The subject of a span.
#[derive(Clone, Debug)]
pub enum SpanBody {
    /// A prompt and the work that it started.
    Interaction(Interaction),
    /// A request to the model, with all its attempts.
    Request(Box<Request>),
    Tool(Box<Tool>),
    /// The part of a call before it was allowed or denied.
    Waiting(Waiting),
    /// The part of a call in which the tool ran: the id of the call.
    Execution(Option<Name>),
}

impl SpanBody {
    /// Returns the name that the CLI gives to such spans.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Interaction(_) => "claude_code.interaction",
            Self::Request(_) => "claude_code.llm_request",
            Self::Tool(_) => "claude_code.tool",
            Self::Waiting(_) => "claude_code.tool.blocked_on_user",
            Self::Execution(_) => "claude_code.tool.execution",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Interaction {
    /// Its number in the session, from 1.
    pub number: u64,
    /// Number of its prompt or turn in the session.
    pub exchange: Option<u64>,
    /// How it ended, if the log says it.
    pub outcome: Option<&'static str>,
    /// First line of the prompt, if content is kept.
    pub prompt: Option<Name>,
}

#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The model that is billed.
    pub model: Option<Name>,
    /// The model that answered.
    pub answered: Option<Name>,
    /// `message.id` of the response.
    pub response: Option<Name>,
    /// Id that the API gave to the request.
    pub id: Option<Name>,
    /// The part of the CLI that asked.
    pub source: Option<Name>,
    /// Id of the subagent that asked.
    pub agent: Option<Name>,
    pub stop_reason: Option<Name>,
    /// Tokens. In a printed stream alone, the output tokens are unknown.
    pub tokens: Option<Tokens>,
    /// Whether the count of output tokens is known.
    pub has_output: bool,
    pub cost: Option<Usd>,
    /// Number of attempts, if the log says it.
    pub attempts: Option<u64>,
    /// When each attempt began, as far as the log has it.
    pub attempt_times: Vec<Time>,
    /// Time of the first line of the response.
    pub first_line: Option<Time>,
    /// Time until the first line of the response, if the start is known.
    pub first_token: Option<Millis>,
    /// First line of the text, if content is kept.
    pub said: Option<Name>,
    /// Message of the API, if it failed and content is kept.
    pub message: Option<Name>,
    /// Whether it summarised the conversation.
    pub compacts: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Tool {
    pub name: Name,
    /// Id of the call.
    pub id: Option<Name>,
    /// `ok`, `error` or `denied`.
    pub outcome: &'static str,
    /// Type of the subagent that it started.
    pub subagent: Option<Name>,
    /// Id of the subagent that called it.
    pub agent: Option<Name>,
    /// The model that called it.
    pub model: Option<Name>,
    /// Id that the API gave to the request of the response that called it.
    pub decision: Waiting,
    pub result_bytes: Option<u64>,
    /// How long the tool ran, as it says itself.
    pub run_time: Option<Millis>,
    /// Command, path or other main input, if content is kept.
    pub input: Option<Name>,
    /// The line that says what went wrong, if content is kept.
    pub failure: Option<Name>,
}

/// The decision about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub allowed: Option<bool>,
    /// Source of the decision: `config`, `hook`, `user_temporary` and so on.
    pub source: Option<Name>,
    /// Why: `rule`, `mode`, `hook` and so on.
    pub reason: Option<Name>,
}

/// An event without a duration.
#[derive(Clone, Debug)]
pub struct Mark {
    pub kind: MarkKind,
    pub time: Time,
    /// Index of the agent in [`SessionTrace::agents`].
    pub agent: usize,
    /// The span that it belongs to.
    pub span: Option<(TraceId, SpanId)>,
    /// Tool of a denial or open call, type of an error.
    pub name: Option<Name>,
    /// Id of the call.
    pub call: Option<Name>,
    /// Tokens of the conversation before and after a compaction.
    pub tokens: (Option<u64>, Option<u64>),
    /// How long a compaction took, or the delay before a retry.
    pub took: Option<Millis>,
    /// Message of the API, if content is kept.
    pub message: Option<Name>,
}

names! {
    /// Kind of a mark.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MarkKind {
        /// A person's prompt.
        Prompt = "prompt",
        /// A denied call.
        Denial = "denial",
        /// A failed call.
        ToolError = "tool_error",
        /// A failed request.
        ApiError = "api_error",
        /// A failed request that was repeated.
        Retry = "retry",
        /// The conversation was summarised.
        Compaction = "compaction",
        /// A call without a result.
        OpenCall = "open_call",
    }
}
