//! Details of single rows, kept only if a report needs rows.

mod excerpt;
mod found;
mod note;
mod record;
mod record_time;
mod timing;
mod traced;

use std::{borrow::Cow, collections::BTreeMap, ops::BitOr, sync::Arc};

pub(crate) use excerpt::{ExcerptOf, Titles};
pub(crate) use found::FoundRow;
pub(crate) use note::AGENT_TOOLS;
pub(crate) use record::{Record, dialect_number, pack_blocks, unpack_blocks};
pub(super) use record_time::RecordOwners;
pub use record_time::RecordTime;
pub use timing::MomentKind;
pub(crate) use timing::{Moment, ResponseTiming};
pub(crate) use traced::{SessionSpan, Traced, Writers};

use super::{
    HashedSet,
    key::{Id, Keyed, Name, SessionKey},
    merge::{CompactPlace, Earliest, First, Merge, Unmerged},
    pack::PackedRows,
};
use crate::{
    event::{
        Compaction, Dialect, PullRequest, Query,
        trace::{LastDecoded, Traces},
    },
    input::{Place, SourceId},
    measure::Millis,
};

/// Position of the bits of [`Traces`] in [`Detail`].
const TRACES: u32 = 32;

/// Which rows are kept besides the totals: a set of flags. The default keeps totals alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail(u64);

impl Detail {
    /// Nothing beyond the totals.
    pub const TOTALS: Self = Self(0);
    /// The cost of each response at its time, which the totals have. Nothing more is kept while reading.
    pub const CHARGES: Self = Self(1 << 9);
    /// Rows of calls.
    pub const CALLS: Self = Self(1);
    /// Rows of responses.
    pub const RESPONSES: Self = Self(1 << 1);
    /// The agent of each row, and ids of responses and calls.
    pub const AGENTS: Self = Self(1 << 2);
    /// Prompts, interruptions, denials, API failures, compactions, durations of interactive turns and tools of the server.
    pub const EVENTS: Self = Self(1 << 3);
    /// The MCP servers of each process.
    pub const SERVERS: Self = Self(1 << 4);
    /// Every record, without its text.
    pub const RECORDS: Self = Self(1 << 5);
    /// The inputs of calls.
    pub const INPUTS: Self = Self(1 << 6);
    /// The outputs of calls.
    pub const OUTPUTS: Self = Self(1 << 7);
    /// Hashes of the inputs of calls, which find repeated calls.
    pub const INPUT_HASHES: Self = Self(1 << 8);

    /// First lines of prompts, inputs and errors.
    pub const EXCERPTS: Self = Self(1 << 16);
    /// First lines of the texts of responses.
    pub const MESSAGES: Self = Self(1 << 17);
    /// Titles of sessions.
    pub const TITLES: Self = Self(1 << 18);
    /// Whole texts instead of first lines.
    pub const WHOLE_TEXTS: Self = Self(1 << 19);
    /// Lines around the matches of a search.
    pub const MATCHES: Self = Self(1 << 20);
    /// All short texts of a log.
    pub const CONTENT: Self = Self::EXCERPTS.and(Self::MESSAGES).and(Self::TITLES).and(Self::MATCHES);

    /// Rows of texts that a search finds.
    pub const FOUND: Self = Self(1 << 21);

    /// When requests were sent, answered and why they ended, and how long tools ran.
    pub const TIMING: Self = Self(1 << 22);

    /// Attributions of responses and other rows: branches, pull requests, skills, MCP servers and efforts.
    pub const ATTRIBUTION: Self = Self(1 << 26);

    /// Traces of hooks.
    pub const HOOKS: Self = Self::trace(Traces::HOOKS);
    /// Traces of tasks.
    pub const TASKS: Self = Self::trace(Traces::TASKS);
    /// Traces of limits.
    pub const LIMITS: Self = Self::trace(Traces::LIMITS);
    /// Traces of MCP servers and their tools.
    pub const MCP: Self = Self::trace(Traces::SERVERS);
    /// Traces of requests between the CLI, its host and a bridge.
    pub const CONTROL: Self = Self::trace(Traces::CONTROL);
    /// Traces of permission decisions and modes, and the parts of inputs that rules look at.
    pub const DECISIONS: Self = Self::trace(Traces::DECISIONS);
    /// Traces of slash commands, skills and agents.
    pub const COMMANDS: Self = Self::trace(Traces::COMMANDS);
    /// Traces of questions to people.
    pub const QUESTIONS: Self = Self::trace(Traces::QUESTIONS);
    /// Traces of requests to the API, and which request each response answers.
    pub const REQUESTS: Self = Self::trace(Traces::REQUESTS);

    /// Rows of calls, responses, turns and events, with their agents.
    pub const ROWS: Self = Self::CALLS
        .and(Self::RESPONSES)
        .and(Self::AGENTS)
        .and(Self::EVENTS)
        .and(Self::SERVERS)
        .and(Self::INPUT_HASHES);

    /// How the cost of each session is computed, step by step. Rows without a session then keep their own
    /// figures.
    pub const COST_STEPS: Self = Self(1 << 31);

    /// Rows of records are packed, for reports that only list them.
    pub const PACKED: Self = Self(1 << 30);

    /// All rows except the steps of costs, which would change the session of rows without a session id. Records
    /// are not packed.
    pub const ALL: Self = Self(!(Self::COST_STEPS.0 | Self::PACKED.0));

    /// Returns the union; a `const` form of `|`.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn trace(traces: Traces) -> Self {
        Self((traces.bits() as u64) << TRACES)
    }

    /// Returns the kinds of traces that are kept.
    pub(crate) const fn traces(self) -> Traces {
        Traces::from_bits((self.0 >> TRACES) as u16)
    }

    /// Returns whether any flag of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Detail {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl Merge for Detail {
    fn merge(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// Source and offset of a row, and the line within its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePlace {
    pub(crate) compact: CompactPlace,
    pub(crate) line: u32,
}

impl LinePlace {
    /// No place.
    pub(crate) const NOWHERE: Self = Self { compact: CompactPlace::NOWHERE, line: 0 };

    pub(crate) fn source(self) -> SourceId {
        self.compact.source()
    }
}

impl From<Place> for LinePlace {
    fn from(place: Place) -> Self {
        Self { compact: place.into(), line: u32::try_from(place.line).unwrap_or(u32::MAX) }
    }
}

impl Default for LinePlace {
    fn default() -> Self {
        Self::NOWHERE
    }
}

/// Reference to the agent that a row belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AgentRef {
    /// The main agent.
    #[default]
    Main,
    /// The subagent that this call started.
    Started(Name),
    /// The subagent with this id.
    Named(Name),
    /// A subagent without call or id.
    Side,
}

merged! {
    /// Data of a subagent, by its id or by the call that started it.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Agent {
        /// The call that started it.
        pub(crate) call: First<Name>,
        pub(crate) kind: First<Name>,
        pub(crate) id: First<Name>,
    }
}

/// Session, agent, time and place of a record.
#[derive(Clone, Debug)]
pub(crate) struct EventContext {
    pub(crate) session: SessionKey,
    pub(crate) time: Earliest,
    pub(crate) place: LinePlace,
    pub(crate) agent: AgentRef,
    pub(crate) version: Option<Name>,
    /// The branch of the record, if attributions are kept.
    pub(crate) branch: Option<Name>,
}

/// A `tool_use` block.
#[derive(Clone, Debug)]
pub(crate) struct ToolUseRow {
    pub(crate) context: EventContext,
    pub(crate) id: Option<Name>,
    /// The response that contains it.
    pub(crate) response: Option<Id>,
    /// Hash of the input; 0 if hashes are not kept.
    pub(crate) input: u64,
}

/// A `tool_result` block.
#[derive(Clone, Debug)]
pub(crate) struct ToolResultRow {
    pub(crate) context: EventContext,
    pub(crate) bytes: u64,
}

/// Lines of a response.
#[derive(Clone, Debug)]
pub(crate) struct ResponseRow {
    pub(crate) context: EventContext,
    pub(crate) id: Option<Name>,
}

/// The kind of a session event.
#[derive(Clone, Debug)]
pub(crate) enum EventKind {
    /// The API failed, with this type.
    ApiError(Name),
    /// The API failed with this type and was called again after this delay. Both dialects record it, under
    /// different uuids.
    Retry(Name, Option<Millis>, Dialect),
    /// The conversation was compacted.
    Compaction(Compaction<Name>),
    /// A person typed a prompt.
    Prompt,
    /// A person interrupted the run.
    Interruption,
    /// Calls without an id were denied, of these tools.
    Denials(Vec<Option<Name>>),
    /// An interactive turn took this long.
    TurnDuration(Millis),
    /// A process started with these MCP servers: name and status.
    Servers(Vec<(Name, Option<Name>)>),
    /// A tool ran on the server; the index of its block.
    Server(Option<Name>, usize),
    /// The session works on a pull request.
    PullRequest(PullRequest<Name>),
}

impl EventKind {
    /// Returns whether it counts once per uuid. Totals need these events, so they are always kept.
    pub(crate) fn is_per_record(&self) -> bool {
        matches!(self, Self::ApiError(_) | Self::Retry(..) | Self::Denials(_))
    }

    /// Returns a name that is unique among the events of one record.
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ApiError(_) => "api error",
            Self::Retry(..) => "retry",
            Self::Compaction(..) => "compaction",
            Self::Prompt => "prompt",
            Self::Interruption => "interruption",
            Self::Denials(_) => "denials",
            Self::TurnDuration(_) => "duration",
            Self::Servers(_) => "servers",
            Self::PullRequest(_) => "pull request",
            Self::Server(_, index) => return Cow::Owned(format!("server tool {index}")),
        })
    }
}

/// An event of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionEvent {
    pub(crate) context: EventContext,
    pub(crate) uuid: Option<Id>,
    pub(crate) kind: EventKind,
}

/// Rows with ids, merged and sorted at the end: a map would need a lookup per row.
pub(crate) type RowsById<T> = Vec<(Id, T)>;

merged! {
    /// Input and output of a call.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Content {
        pub(crate) input: First<Name>,
        pub(crate) output: First<Name>,
        /// The command, skill or agent that it uses.
        pub(crate) used: First<Name>,
        /// How long the tool ran, as it says itself.
        pub(crate) run_time: First<Millis>,
    }
}

merged! {
    /// Attributions of the lines of a response.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Attribution {
        pub(crate) effort: First<Name>,
        pub(crate) skill: First<Name>,
        pub(crate) mcp_server: First<Name>,
    }
}

merged! {
    /// All rows that are kept.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Details {
        pub(crate) kept: Detail,
        pub(crate) tool_uses: RowsById<ToolUseRow>,
        pub(crate) tool_results: RowsById<ToolResultRow>,
        pub(crate) responses: RowsById<ResponseRow>,
        pub(crate) denials: RowsById<EventContext>,
        pub(crate) agents: Keyed<Agent>,
        pub(crate) records: PackedRows<Record>,
        pub(crate) contents: Keyed<Content>,
        /// Excerpts of prompts, responses, calls, failures and ends of turns.
        pub(crate) excerpts: Keyed<First<Name>>,
        /// Titles of sessions.
        pub(crate) titles: Titles,
        /// Texts that match the query.
        pub(crate) found: RowsById<FoundRow>,
        pub(crate) query: Unmerged<Option<Arc<Query>>>,
        /// Decoded traces.
        pub(crate) traces: Vec<Traced>,
        last_decoded: Unmerged<LastDecoded<Name>>,
        /// When the CLI sent requests and began to work on messages.
        pub(crate) moments: Vec<Moment>,
        /// End and ids of responses.
        pub(crate) timings: Keyed<ResponseTiming>,
        /// Attributions of responses.
        pub(crate) attributions: Keyed<Attribution>,
        /// The last line of a response whose ids were kept.
        timed: Unmerged<Option<timing::LastTimed>>,
        /// Consecutive records that name the same session.
        pub(crate) spans: Vec<SessionSpan>,
        /// The writers of each source.
        pub(crate) writers: BTreeMap<SourceId, Writers>,
        /// Calls of other tools than questions, without a result so far. Their results need not be kept.
        unanswered: Unmerged<HashedSet<Id>>,
        /// Source, unit and agent of the last record: most records repeat them.
        last: Unmerged<Option<(SourceId, u64, AgentRef, bool)>>,
    }
}

impl Details {
    pub(crate) fn new(kept: Detail) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Returns a kept excerpt.
    pub(crate) fn excerpt(&self, of: ExcerptOf, id: Id) -> Option<Name> {
        if !self.kept.intersects(Detail::CONTENT) {
            return None;
        }
        self.excerpts.get(of.key(id)).and_then(First::get).cloned()
    }
}
