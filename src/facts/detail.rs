//! What single rows need beyond the totals: kept only when a report asks for rows.

mod note;

use smallvec::SmallVec;

use super::{
    key::{Id, Keyed, Name, SessionKey},
    merge::{Earliest, Few, First, Merge, Spot},
};
use crate::{
    event::{self, Dialect},
    input::{Place, SourceId},
    measure::{Millis, Time},
};

/// How much is kept of what is read. Each level keeps what the ones before it do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// What totals need.
    #[default]
    Totals,
    /// Calls, responses, turns and troubles, one by one.
    Rows,
    /// Every record.
    Records,
    /// What calls were given and what they answered.
    Content,
}

/// Where a row stands: a source and an offset, and the line within its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seat {
    pub(crate) spot: Spot,
    pub(crate) line: u32,
}

impl Seat {
    /// Where nothing stands.
    pub(crate) const NOWHERE: Self = Self { spot: Spot::NOWHERE, line: 0 };

    /// Which source.
    pub(crate) fn source(self) -> SourceId {
        self.spot.source()
    }
}

impl From<Place> for Seat {
    fn from(place: Place) -> Self {
        Self { spot: place.into(), line: u32::try_from(place.line).unwrap_or(u32::MAX) }
    }
}

impl Default for Seat {
    fn default() -> Self {
        Self::NOWHERE
    }
}

/// The first place of several.
impl Merge for Seat {
    fn merge(&mut self, other: Self) {
        *self = (*self).min(other);
    }
}

/// Whose something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Whose {
    /// The main agent's.
    #[default]
    Main,
    /// Of the subagent that this call started.
    Started(Id),
    /// Of the subagent with this id.
    Named(Id),
    /// Of some subagent.
    Side,
}

impl Whose {
    fn of(agent: &event::Agent<'_>) -> Self {
        match agent {
            event::Agent { call: Some(call), .. } => Self::Started(Id::of(call)),
            event::Agent { id: Some(id), .. } => Self::Named(Id::of(id)),
            event::Agent { side: true, .. } => Self::Side,
            _ => Self::Main,
        }
    }
}

/// What is known of a subagent, by its id or by the call that started it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    /// The call that started it.
    pub(crate) call: First<Id>,
    /// Its type.
    pub(crate) kind: First<Name>,
    /// Its id as it is written.
    pub(crate) name: First<Name>,
}

impl Merge for Agent {
    fn merge(&mut self, other: Self) {
        let Self { call, kind, name } = other;
        self.call.merge(call);
        self.kind.merge(kind);
        self.name.merge(name);
    }
}

/// A moment in a session: what every row has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) sessions: Few<SessionKey>,
    pub(crate) time: Earliest,
    pub(crate) seat: Seat,
    pub(crate) whose: First<Whose>,
    pub(crate) version: First<Name>,
}

impl Merge for Moment {
    fn merge(&mut self, other: Self) {
        let Self { sessions, time, seat, whose, version } = other;
        self.sessions.merge(sessions);
        self.time.merge(time);
        self.seat.merge(seat);
        self.whose.merge(whose);
        self.version.merge(version);
    }
}

/// The ask of a call.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: Option<Name>,
    /// The response that asks.
    pub(crate) response: Option<Id>,
    /// Tells the same input from another.
    pub(crate) input: u64,
    pub(crate) content: Option<Box<str>>,
}

/// The answer of a call: the earliest, then the one that stands first.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    time: Earliest,
    seat: Seat,
    pub(crate) bytes: u64,
    pub(crate) content: Option<Box<str>>,
}

impl Merge for Answered {
    fn merge(&mut self, other: Self) {
        if (other.time, other.seat) < (self.time, self.seat) {
            *self = other;
        }
    }
}

/// A call, one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Of its asks.
    pub(crate) moment: Moment,
    pub(crate) asked: First<Asked>,
    pub(crate) answered: Option<Answered>,
    /// Of its answers, for those whose ask was never seen.
    pub(crate) answer: Moment,
}

impl Merge for Call {
    fn merge(&mut self, other: Self) {
        let Self { moment, asked, answered, answer } = other;
        self.moment.merge(moment);
        self.asked.merge(asked);
        self.answered.merge(answered);
        self.answer.merge(answer);
    }
}

/// A response, one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    pub(crate) moment: Moment,
    pub(crate) id: First<Name>,
}

impl Merge for Response {
    fn merge(&mut self, other: Self) {
        let Self { moment, id } = other;
        self.moment.merge(moment);
        self.id.merge(id);
    }
}

/// Something that happened once in a session.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The API failed, with this type.
    ApiError(Name),
    /// The API failed and was asked again after this wait. Both dialects tell of it, under different uuids.
    Retry(Name, Option<Millis>, Dialect),
    /// The conversation was summarised: tokens before and after.
    Compaction(Option<u64>, Option<u64>),
    /// A human asked.
    Prompt,
    /// Calls without an id were refused, of these tools.
    Denials(Vec<Option<Name>>),
    /// An interactive turn took this long.
    TurnDuration(Millis),
}

impl What {
    /// Tells the things apart that one record may tell.
    fn sort(&self) -> &'static str {
        match self {
            Self::ApiError(_) => "api error",
            Self::Retry(..) => "retry",
            Self::Compaction(..) => "compaction",
            Self::Prompt => "prompt",
            Self::Denials(_) => "denials",
            Self::TurnDuration(_) => "duration",
        }
    }
}

/// What happened, and when.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) moment: Moment,
    pub(crate) what: What,
    first: Spot,
}

impl Merge for Happening {
    fn merge(&mut self, other: Self) {
        let Self { moment, what, first } = other;
        self.moment.merge(moment);
        if first < self.first {
            (self.what, self.first) = (what, first);
        }
    }
}

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) seat: Seat,
    pub(crate) session: SessionKey,
    pub(crate) time: Option<Time>,
    pub(crate) whose: Whose,
    pub(crate) version: Option<Name>,
    pub(crate) kind: Name,
    pub(crate) known: bool,
    pub(crate) dialect: Dialect,
    pub(crate) uuid: Option<Id>,
    pub(crate) bytes: u64,
    /// Its blocks: name, whether a table knows it, length.
    pub(crate) blocks: SmallVec<[(Name, bool, u64); 1]>,
}

/// Everything that is kept row by row.
#[derive(Clone, Debug)]
pub(crate) struct Details {
    level: Detail,
    pub(crate) calls: Keyed<Call>,
    pub(crate) responses: Keyed<Response>,
    pub(crate) denials: Keyed<Moment>,
    pub(crate) happenings: Keyed<Happening>,
    pub(crate) agents: Keyed<Agent>,
    pub(crate) records: Vec<Record>,
}

impl Details {
    pub(crate) fn new(level: Detail) -> Self {
        Self {
            level,
            calls: Keyed::default(),
            responses: Keyed::default(),
            denials: Keyed::default(),
            happenings: Keyed::default(),
            agents: Keyed::default(),
            records: Vec::new(),
        }
    }
}

impl Merge for Details {
    fn merge(&mut self, other: Self) {
        let Self { level, calls, responses, denials, happenings, agents, records } = other;
        self.level = self.level.max(level);
        self.calls.merge(calls);
        self.responses.merge(responses);
        self.denials.merge(denials);
        self.happenings.merge(happenings);
        self.agents.merge(agents);
        self.records.merge(records);
    }
}
