//! The ledger: settled facts as rows, each with its context and cost.
//!
//! Reports sort, group and filter these rows. Money and tokens are divided over responses and their calls so
//! that the charges of any grouping add up to the totals of the account.

mod account;
mod attach;
mod attribution;
mod build;
mod contexts;
mod divide;
mod events;
mod exchange;
mod explain;
mod fan_out;
mod found;
mod index;
mod more;
mod rebuild;
mod record;
mod response;
mod source;
mod split;
mod unbilled;

use std::{collections::BTreeSet, sync::Arc};

pub use attribution::{PullRequest, Timelines};
pub(crate) use divide::divide;
pub use exchange::{Exchange, ExchangeEnd, Exchanges};
pub use explain::{Figure, Step, StepKind};
pub use found::{Found, Query, Role, TextPart};
pub use index::{AgentIndex, CallIndex, ExchangeIndex, PromptIndex, ResponseIndex, SessionIndex};
pub use more::ResponseMore;
pub use rebuild::{Cause, Change, Evidence, Rebuild};
pub use record::{PackedRecords, Record};

pub use super::detail::{MomentKind, RecordTime};
use super::{Name, account::Input, key::Id, settled::lacks_result};
use crate::{
    event::{self, Dialect, trace::Trace},
    input::SourceId,
    measure::{Millis, Time, Tokens, Usd},
};

/// All rows that were kept.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Counts of the input.
    pub input: Input,
    /// Sessions, by the time they started.
    pub sessions: Vec<Session>,
    /// Subagents of all sessions.
    pub agents: Vec<Agent>,
    /// Responses, in log order.
    pub responses: Vec<Response>,
    /// Costs, divided over responses and tools.
    pub charges: Vec<Charge>,
    /// Tool calls, in log order.
    pub calls: Vec<Call>,
    /// Tool results without a call.
    pub orphans: Vec<Context>,
    /// Tools that ran on the server, inside responses.
    pub server_uses: Vec<ServerUse>,
    /// Ends of turns, in log order.
    pub turns: Vec<Turn>,
    /// Turns of interactive sessions, which have no `result` record.
    pub interactive_turns: Vec<InteractiveTurn>,
    /// Denied calls.
    pub denials: Vec<Denial>,
    /// Failures of the API.
    pub api_failures: Vec<ApiFailure>,
    /// Compactions of the conversation.
    pub compactions: Vec<Compaction>,
    /// Responses that wrote tokens to the prompt cache again, by time. Most causes need
    /// [`Detail::REQUESTS`](super::Detail::REQUESTS).
    pub rebuilds: Vec<Rebuild>,
    /// Prompts that people typed.
    pub prompts: Vec<Prompt>,
    /// Interruptions by a person.
    pub interruptions: Vec<Context>,
    /// Texts that match the query of a search.
    pub found: Vec<Found>,
    /// The query, if there is a search.
    pub query: Option<Arc<Query>>,
    /// Prompts with the work that they started, by session and time, if events are kept.
    pub exchanges: Vec<Exchange>,
    /// MCP servers, one row per session, server and status.
    pub servers: Vec<Server>,
    /// Pull requests, each once per session, if attributions are kept.
    pub pull_requests: Vec<PullRequest>,
    /// All records, if [`Detail::RECORDS`](super::Detail::RECORDS) is kept.
    pub records: Vec<Record>,
    /// The same instead, if they are [packed](super::Detail::PACKED).
    pub packed_records: PackedRecords,
    /// Decoded traces of hooks, tasks and so on, as far as they are kept.
    pub traces: Vec<Traced>,
    /// When the CLI sent requests and began to work on messages, in log order, if timing is kept.
    pub moments: Vec<Moment>,
    /// Spans of records that name the same session, if requests or commands are kept.
    pub(crate) spans: Vec<SessionSpan>,
    /// Sources that only a host wrote, if requests or commands are kept.
    pub(crate) hosts: BTreeSet<SourceId>,
    /// The sources that were read.
    pub sources: Vec<Source>,
    /// Whether short texts of the log were kept: titles, prompts, inputs and errors.
    pub has_content: bool,
}

/// Whose a row is, when it was written, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Its session, if known.
    pub session: Option<SessionIndex>,
    /// Its subagent; `None` for the main agent.
    pub agent: Option<AgentIndex>,
    /// Its time, if the log has one.
    pub time: Option<Time>,
    /// Its location in the log.
    pub location: Option<Location>,
    /// The CLI version that wrote it.
    pub version: Option<Name>,
    /// The branch that was checked out, if attributions are kept: that of its record, or else the one at its time.
    pub branch: Option<Name>,
}

impl Context {
    /// Takes session and agent from another row about the same thing if its session started earlier. Session
    /// indices are in the order of their start, and a row without a session does not know its owner.
    pub(in crate::facts) fn prefer_earlier_session(&mut self, other: &Self) {
        if let Some(session) = other.session
            && self.session.is_none_or(|own| session < own)
        {
            (self.session, self.agent) = (Some(session), other.agent);
        }
    }
}

/// A position in a source, for people and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub source: SourceId,
    /// Line, from 1.
    pub line: u64,
    /// Byte offset, from 0.
    pub offset: u64,
}

/// A session: the records with one session id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id. Records without a session id form one session per source, without an id.
    pub id: Option<Name>,
    /// The first source that contains it.
    pub source: SourceId,
    /// The folder it began in.
    pub project: Option<Name>,
    /// The machine that wrote it, if it is in an archive.
    pub machine: Option<Name>,
    /// The version that began it.
    pub version: Option<Name>,
    /// Earliest time of its records.
    pub started: Option<Time>,
    /// Latest time of its records.
    pub ended: Option<Time>,
    /// Whether the printed stream of the CLI contains it.
    pub streamed: bool,
    /// Whether it has a `result`: its own, or one without a session id in one of its sources.
    pub has_result: bool,
    /// The last message of its main agent.
    pub last_message: Option<MessageKind>,
    /// Whether its cost covers all usage.
    pub complete: bool,
    /// Models without a price.
    pub unpriced: BTreeSet<Name>,
    /// How its cost was computed, if that was requested.
    pub steps: Vec<Step>,
    /// Its title, if kept: written by a person or a model, or an old summary.
    pub title: Option<Name>,
    /// Its last prompt, if the log has a record of it and titles are kept.
    pub last_prompt: Option<Name>,
    /// When its records were written, sorted, if timing is kept.
    pub times: Vec<RecordTime>,
}

impl Session {
    /// Returns whether the CLI printed it without a result.
    pub fn lacks_result(&self) -> bool {
        lacks_result(self.id.is_some(), self.streamed, self.has_result)
    }
}

names! {
    /// Kind of message, as far as it says how a conversation ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum MessageKind {
        /// A prompt of a person.
        Prompt = "prompt",
        /// Text of the model.
        Answer = "answer",
        /// A tool call.
        Call = "call",
        /// The result of a tool call.
        CallResult = "result",
        /// An error of the API.
        ApiError = "api-error",
        /// The note that a person interrupted the model.
        Interruption = "interruption",
    }
}

/// A subagent of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its session, if known.
    pub session: Option<SessionIndex>,
    /// Its id, if the log has it.
    pub id: Option<Name>,
    /// Its type, if the log has it.
    pub kind: Option<Name>,
    /// The call that started it.
    pub call: Option<CallIndex>,
    /// The subagent that started it; `None` for the main agent.
    pub parent: Option<AgentIndex>,
    /// The exchange in which it was started.
    pub exchange: Option<ExchangeIndex>,
}

/// An API response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Session, agent, time and location.
    pub context: Context,
    /// `message.id`.
    pub id: Option<Name>,
    /// The model that is billed: the requested one, else the one that answered.
    pub model: Name,
    /// The model that answered.
    pub answered: Option<Name>,
    /// Token counts as logged; in a stream they may be placeholders.
    pub tokens: Tokens,
    /// Price of its tokens, if the model has a price.
    pub price: Option<Usd>,
    /// Its price if the token counts can be final. A stream alone has only placeholders.
    pub computed: Option<Usd>,
    /// Lower bound of its cost, if the cost of its session does not include it: its price if the token counts
    /// are final, else the price of input and cache tokens. Needs rows of responses.
    pub unbilled: Option<Usd>,
    /// Whether its token counts are final.
    pub is_final: bool,
    /// Number of tool calls in it.
    pub calls: u64,
    /// Fields that only some reports need.
    more: Option<Box<ResponseMore>>,
}

/// A part of the cost of a session: the share of one response and tool, or cost that belongs to no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Context of the response; without a response only the session is set.
    pub context: Context,
    /// The response, if there is one.
    pub response: Option<ResponseIndex>,
    /// Number of responses it covers if responses are not kept as rows.
    pub responses: u64,
    /// The model, if known.
    pub model: Option<Name>,
    /// The tool that the response calls. A response that calls several tools has a charge for each.
    pub tool: Option<Name>,
    /// Billed tokens.
    pub tokens: Tokens,
    /// Cost of the tokens.
    pub cost: Option<Usd>,
    /// Savings by the prompt cache; negative if writing the cache cost more than it saved.
    pub saved: Option<Usd>,
    /// Whether tokens or cost are known. If not, only the model is.
    pub known: bool,
    /// Whether the CLI reported the cost; else it is computed.
    pub reported: bool,
}

names! {
    /// How a call ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum End {
        Denied = "denied",
        /// It failed.
        Error = "error",
        /// It has no result.
        Open = "open",
        /// It succeeded.
        Ok = "ok",
    }
}

/// A tool call and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Session, agent, time and location of the `tool_use`.
    pub context: Context,
    /// `tool_use.id`.
    pub id: Option<Name>,
    /// Name of the tool.
    pub tool: Name,
    /// The model that called it.
    pub model: Option<Name>,
    /// The response that contains it.
    pub response: Option<ResponseIndex>,
    /// How it ended.
    pub end: End,
    /// Time from `tool_use` to `tool_result`.
    pub latency: Option<Millis>,
    /// Length of its result in the log, in bytes.
    pub result_bytes: Option<u64>,
    /// Hash of the input, to find repeated calls.
    pub input: u64,
    /// Its input, as far as it is kept.
    pub input_text: Option<Name>,
    /// Its output, as far as it is kept.
    pub output_text: Option<Name>,
    /// The command, skill or agent that it uses, if kept.
    pub used: Option<Name>,
    /// The part of its input that says most about it, such as the command or path, if kept.
    pub brief: Option<Name>,
    /// The line of its failed result that says what went wrong, if kept.
    pub failure: Option<Name>,
    /// How long the tool ran, as it says itself, if timing is kept.
    pub run_time: Option<Millis>,
}

/// A prompt that a person typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Session, agent, time and location.
    pub context: Context,
    /// Its first line, if kept.
    pub text: Option<Name>,
}

/// A tool that ran on the server, inside a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUse {
    /// Session, agent, time and location.
    pub context: Context,
    /// Name of the tool.
    pub tool: Name,
}

/// One end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Session, agent, time and location. Without a time of its own it has that of the last row before it.
    pub context: Context,
    /// Whether it counts as a turn. It does not if another record with the same uuid counts.
    pub counted: bool,
    /// How it ended.
    pub subtype: Name,
    /// Whether it succeeded.
    pub ok: bool,
    /// `num_turns`, as the CLI counts turns.
    pub num_turns: u64,
    /// Wall time.
    pub wall: Option<Millis>,
    /// API time.
    pub api: Option<Millis>,
    /// Time from the start of the turn to the first token.
    pub first_token: Option<Millis>,
    /// Time from the start of the turn to its first request.
    pub time_to_request: Option<Millis>,
    /// Cost of the turn.
    pub cost: Option<Usd>,
    /// Cost by model, if the record has it.
    pub models: Option<Vec<(Name, Usd)>>,
    /// Why it failed, if kept.
    pub failure: Option<Name>,
}

/// A turn of an interactive session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteractiveTurn {
    /// Session, agent, time and location.
    pub context: Context,
    /// Wall time.
    pub wall: Millis,
}

/// One denied call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Session, agent, time and location.
    pub context: Context,
    /// Name of the tool.
    pub tool: Name,
    /// The call, if the log has it.
    pub call: Option<CallIndex>,
}

/// One failure of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiFailure {
    /// Session, agent, time and location.
    pub context: Context,
    /// Type of the error.
    pub kind: Name,
    /// Whether the CLI retried.
    pub retried: bool,
    /// Delay before the next attempt.
    pub wait: Option<Millis>,
    /// The message of the API, if kept.
    pub message: Option<Name>,
}

/// One compaction of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// Session, agent, time and location.
    pub context: Context,
    pub fact: event::Compaction<Name>,
}

/// An MCP server of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Context of the first record with this status.
    pub context: Context,
    /// Its name in reports.
    pub name: Name,
    /// Its status: `connected`, `failed`, `needs-auth`, `pending` and others.
    pub status: Option<Name>,
}

/// A source that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub id: SourceId,
    /// The sessions in it, in order; empty if it has no record.
    pub sessions: Vec<SessionIndex>,
    /// Whether it is a lean log of an archive, without content.
    pub lean: bool,
    /// The run of a workflow that its subagent belongs to.
    pub workflow: Option<Name>,
    /// Number of invalid lines and values.
    pub invalid: u64,
    /// Location of the first, if it is among the first of all sources.
    pub first_invalid: Option<Location>,
    /// Location of the record that is cut off by its end.
    pub truncated: Option<Location>,
}

/// A trace with the context of its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Session, agent, time and location.
    pub context: Context,
    /// Uuid of the record.
    pub(in crate::facts) uuid: Option<Id>,
    pub dialect: Dialect,
    /// The decoded trace.
    pub trace: Trace<Name>,
}

/// A record that says when the CLI did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Session, agent, time and location.
    pub context: Context,
    pub kind: MomentKind,
}

/// A span of records in a source that name the same session. Records in between name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionSpan {
    pub(crate) source: SourceId,
    /// Offset of the first record.
    pub(crate) first: u64,
    /// Offset of the last record.
    pub(crate) last: u64,
    pub(crate) session: SessionIndex,
}
