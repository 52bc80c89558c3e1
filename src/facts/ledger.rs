//! The settled facts row by row: who did what, when, where, and what it cost.
//!
//! Reports sort, group and cut these rows. Money and tokens are divided over responses and their calls so that any
//! grouping of the charges adds up to the totals of the account.

mod account;
mod attach;
mod build;
mod divide;
mod events;
mod explain;
mod index;
mod source;
mod split;
mod unbilled;

use std::collections::BTreeSet;

pub use explain::{Figure, Step, StepKind};
pub use index::{AgentIndex, CallIndex, ResponseIndex, SessionIndex};

use super::{Name, account::Input, key::Id, settled::lacks_result};
use crate::{
    event::{Dialect, trace::Trace},
    input::SourceId,
    measure::{Millis, Time, Tokens, Usd},
};

/// Every row that was kept.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The bytes and what they held.
    pub input: Input,
    /// Sessions, by their first moment.
    pub sessions: Vec<Session>,
    /// Subagents.
    pub agents: Vec<Agent>,
    /// Responses, in the order they stand.
    pub responses: Vec<Response>,
    /// What was paid for what.
    pub charges: Vec<Charge>,
    /// Tool calls, in the order they stand.
    pub calls: Vec<Call>,
    /// Answers without a call.
    pub orphans: Vec<Context>,
    /// Tools that ran on the server, within responses.
    pub server_uses: Vec<ServerUse>,
    /// Ends of turns, in the order they stand.
    pub turns: Vec<Turn>,
    /// Turns of interactive sessions, which have no end of their own.
    pub interactive_turns: Vec<InteractiveTurn>,
    /// Refused calls.
    pub denials: Vec<Denial>,
    /// Failures of the API.
    pub api_failures: Vec<ApiFailure>,
    /// Summaries of the conversation.
    pub compactions: Vec<Compaction>,
    /// What humans asked.
    pub prompts: Vec<Context>,
    /// MCP servers, each once a session and status.
    pub servers: Vec<Server>,
    /// Every record, where that was asked for.
    pub records: Vec<Record>,
    /// What records say beside what is counted, where that was asked for.
    pub traces: Vec<Traced>,
    /// Which session runs where, where requests or commands were asked for.
    pub(crate) spans: Vec<SessionSpan>,
    /// Sources that only a host wrote, where requests or commands were asked for.
    pub(crate) hosts: BTreeSet<SourceId>,
    /// What was read, one by one.
    pub sources: Vec<Source>,
}

/// Where and when something happened, and to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Its session; `None` if no session is known to own it.
    pub session: Option<SessionIndex>,
    /// Its subagent; the main agent's have none.
    pub agent: Option<AgentIndex>,
    /// When, where the log says so.
    pub time: Option<Time>,
    /// Where it stands.
    pub location: Option<Location>,
    /// The CLI version that wrote it.
    pub version: Option<Name>,
}

impl Context {
    /// Takes the session and agent of another row about the same thing if its session began earlier. Sessions are sorted by
    /// their beginnings, and a row without a session does not know the owner.
    pub(in crate::facts) fn prefer_earlier_session(&mut self, other: &Self) {
        if let Some(session) = other.session
            && self.session.is_none_or(|own| session < own)
        {
            (self.session, self.agent) = (Some(session), other.agent);
        }
    }
}

/// A place in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Which source.
    pub source: SourceId,
    /// Line, from 1.
    pub line: u64,
    /// Byte offset, from 0.
    pub offset: u64,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id; the records of a source that name none are a session of their own.
    pub id: Option<Name>,
    /// The first source it was seen in.
    pub source: SourceId,
    /// The folder it began in.
    pub project: Option<Name>,
    /// The version that began it.
    pub version: Option<Name>,
    /// The earliest moment in it.
    pub started: Option<Time>,
    /// The latest moment in it.
    pub ended: Option<Time>,
    /// Whether the CLI's output tells of it.
    pub streamed: bool,
    /// Whether an end of a turn was seen, its own or a nameless one of its source.
    pub has_result: bool,
    /// Whether every token of it is counted.
    pub complete: bool,
    /// Models of it that have no price.
    pub unpriced: BTreeSet<Name>,
    /// How its cost came about, where that was asked for.
    pub steps: Vec<Step>,
}

impl Session {
    /// Whether the CLI printed it without a result.
    pub fn lacks_result(&self) -> bool {
        lacks_result(self.id.is_some(), self.streamed, self.has_result)
    }
}

/// One subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its session; `None` if no session is known to own it.
    pub session: Option<SessionIndex>,
    /// Its id, where the log says it.
    pub id: Option<Name>,
    /// Its type, where the log says it.
    pub kind: Option<Name>,
    /// The call that started it.
    pub call: Option<CallIndex>,
    /// The subagent that started it; `None` for the main agent.
    pub parent: Option<AgentIndex>,
}

/// One API response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// When and where.
    pub context: Context,
    /// `message.id`.
    pub id: Option<Name>,
    /// The model that is charged.
    pub model: Name,
    /// The model that answered.
    pub answered: Option<Name>,
    /// Its own tokens, which may be placeholders in a stream.
    pub tokens: Tokens,
    /// What its tokens come to, where the model has a price.
    pub price: Option<Usd>,
    /// The same where its counts can be final at all: a stream alone has only placeholders.
    pub computed: Option<Usd>,
    /// What it costs at least, where its session's figure does not hold it: its price if its counts are final, else that of
    /// its input and cache tokens alone.
    pub unbilled: Option<Usd>,
    /// Whether its token counts are final.
    pub is_final: bool,
    /// How many calls it asks for.
    pub calls: u64,
}

/// What was paid for what: a response's part of its session's figure, or what belongs to no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// When and where; without a response only the session is known.
    pub context: Context,
    /// Its response.
    pub response: Option<ResponseIndex>,
    /// How many responses it stands for where they are not kept one by one.
    pub responses: u64,
    /// The model, where it is known.
    pub model: Option<Name>,
    /// The tool that the response calls; one with several calls has a charge for each tool.
    pub tool: Option<Name>,
    /// Tokens that were charged.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Option<Usd>,
    /// What the cache saved, and less than nothing where writing it cost more.
    pub saved: Option<Usd>,
    /// Whether anything tells of tokens or cost; else it is only known that the model answered.
    pub known: bool,
    /// Whether the CLI said it; else it is computed.
    pub reported: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It was refused.
    Denied,
    /// It failed.
    Error,
    /// No answer was seen.
    Open,
    /// It answered.
    Ok,
}

impl End {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Error => "error",
            Self::Open => "open",
            Self::Ok => "ok",
        }
    }
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it was asked, and where.
    pub context: Context,
    /// `tool_use.id`.
    pub id: Option<Name>,
    /// Which tool.
    pub tool: Name,
    /// The model that asked.
    pub model: Option<Name>,
    /// How it ended.
    pub end: End,
    /// Time from ask to answer.
    pub latency: Option<Millis>,
    /// Bytes of its answer as they stand in the log.
    pub result_bytes: Option<u64>,
    /// Equal for equal inputs.
    pub input: u64,
    /// Its input, as far as it was asked for.
    pub input_text: Option<Name>,
    /// Its answer, as far as it was asked for.
    pub output_text: Option<Name>,
    /// The command, skill or agent that it uses, where that was asked for.
    pub used: Option<Name>,
}

/// A tool that ran on the server, within a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUse {
    /// When and where.
    pub context: Context,
    /// Which tool.
    pub tool: Name,
}

/// One end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When and where. Where the record says no time, that of the last row before it.
    pub context: Context,
    /// Whether it is counted as a turn: not if another record has its uuid and counts for that.
    pub counted: bool,
    /// How it ended.
    pub subtype: Name,
    /// Whether it succeeded.
    pub ok: bool,
    /// The CLI's own count.
    pub num_turns: u64,
    /// Wall time.
    pub wall: Option<Millis>,
    /// API time.
    pub api: Option<Millis>,
    /// Time until the first token.
    pub first_token: Option<Millis>,
    /// What it cost.
    pub cost: Option<Usd>,
    /// Models it used, where it says so, with cost.
    pub models: Option<Vec<(Name, Usd)>>,
}

/// A turn of an interactive session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteractiveTurn {
    /// When and where.
    pub context: Context,
    /// Wall time.
    pub wall: Millis,
}

/// One refused call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// When and where.
    pub context: Context,
    /// Which tool.
    pub tool: Name,
    /// The call, where the log has it.
    pub call: Option<CallIndex>,
}

/// One failure of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiFailure {
    /// When and where.
    pub context: Context,
    /// What failed.
    pub kind: Name,
    /// Whether it was tried again.
    pub retried: bool,
    /// The wait before the next attempt.
    pub wait: Option<Millis>,
}

/// One summary of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// When and where.
    pub context: Context,
    /// Tokens before.
    pub before: Option<u64>,
    /// Tokens after.
    pub after: Option<u64>,
    /// What made the CLI do it: `auto` or `manual`.
    pub trigger: Option<Name>,
    /// How long it took.
    pub took: Option<Millis>,
}

/// An MCP server of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// When and where it was first told to be so.
    pub context: Context,
    /// Its name.
    pub name: Name,
    /// How it is: `connected`, `failed`, `needs-auth`, `pending` and others.
    pub status: Option<Name>,
}

/// A source that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which.
    pub id: SourceId,
    /// The sessions that it tells of, in order; none if it holds no record.
    pub sessions: Vec<SessionIndex>,
    /// How much of it is no record.
    pub invalid: u64,
    /// The first of that, if it is among the first of all sources.
    pub first_invalid: Option<Location>,
    /// Where the record begins that its end cuts off.
    pub truncated: Option<Location>,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When and where.
    pub context: Context,
    /// Type and discriminator.
    pub kind: Name,
    /// Whether a table knows its kind.
    pub known: bool,
    /// Who wrote it.
    pub dialect: Dialect,
    /// Whether its uuid was seen before.
    pub copy: bool,
    /// Its length.
    pub bytes: u64,
    /// Its blocks, unless another copy counts for them: name, whether a table knows it, length.
    pub blocks: Vec<(Name, bool, u64)>,
}

/// What a record says beside what is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// When and where.
    pub context: Context,
    /// The id of the record.
    pub(in crate::facts) uuid: Option<Id>,
    /// Who wrote it.
    pub dialect: Dialect,
    /// What it says.
    pub trace: Trace<Name>,
}

/// Records of a source that name the same session, with none between them that names another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionSpan {
    pub(crate) source: SourceId,
    /// Offset of the first record.
    pub(crate) first: u64,
    /// Offset of the last record.
    pub(crate) last: u64,
    pub(crate) session: SessionIndex,
}

/// The contexts of all rows; a new sort of rows that is forgotten here does not compile.
macro_rules! contexts {
    ($ledger:ident, $iter:ident $($mutable:tt)?) => {{
        let Self {
            input: _,
            sessions: _,
            agents: _,
            responses,
            charges,
            calls,
            orphans,
            server_uses,
            turns,
            interactive_turns,
            denials,
            api_failures,
            compactions,
            prompts,
            servers,
            records,
            traces,
            spans: _,
            hosts: _,
            sources: _,
        } = $ledger;
        let own = orphans.$iter().chain(prompts.$iter());
        let own = own.chain(responses.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(charges.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(calls.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(server_uses.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(turns.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(interactive_turns.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(denials.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(api_failures.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(compactions.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(servers.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(traces.$iter().map(|one| &$($mutable)? one.context));
        own.chain(records.$iter().map(|one| &$($mutable)? one.context))
    }};
}

impl Ledger {
    /// Gives the sessions that name no folder the one that their source suggests.
    pub fn suggest_projects(&mut self, folder: impl Fn(SourceId) -> Option<String>) {
        for session in self.sessions.iter_mut().filter(|session| session.project.is_none()) {
            session.project = folder(session.source).map(Name::from);
        }
    }

    /// The session of a row.
    pub fn session(&self, context: &Context) -> Option<&Session> {
        context.session.map(|session| &self.sessions[session])
    }

    /// The session of a row, if it has an id.
    pub fn named_session(&self, context: &Context) -> Option<SessionIndex> {
        context.session.filter(|&session| self.sessions[session].id.is_some())
    }

    /// The part of a source, in which records name the same session, that begins last before a place; and the next part.
    pub(in crate::facts) fn spans_around(
        &self,
        at: Location,
    ) -> (Option<&SessionSpan>, Option<&SessionSpan>) {
        let next = self.spans.partition_point(|span| (span.source, span.first) < (at.source, at.offset));
        let own = |span: &&SessionSpan| span.source == at.source;
        (next.checked_sub(1).map(|last| &self.spans[last]).filter(own), self.spans.get(next).filter(own))
    }

    /// Where every row stands.
    pub fn contexts(&self) -> impl Iterator<Item = &Context> {
        contexts!(self, iter)
    }

    /// The same, to be changed.
    pub fn contexts_mut(&mut self) -> impl Iterator<Item = &mut Context> {
        contexts!(self, iter_mut mut)
    }
}
