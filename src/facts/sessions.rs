//! Sessions, and the records that only have a meaning in log order: results, resets and versions.

use super::{
    detail::RecordTime,
    key::{Id, Name, Names, SessionKey},
    ledger::MessageKind,
    merge::{CompactPlace, Earliest, First, Last, Merge, SmallSet},
};
use crate::{
    event::{self, Dialect},
    input::{Place, SourceId},
    measure::{Millis, Time, Tokens, Usd},
};

merged! {
    /// A session.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Session {
        /// Earliest time of a record.
        pub(crate) start: Earliest,
        /// Latest time of a record.
        pub(crate) end: Option<Last<Time>>,
        /// The folder it began in.
        pub(crate) cwd: First<Name>,
        /// The version that began it.
        pub(crate) version: First<Name>,
        /// Whether the printed stream of the CLI contains it.
        pub(crate) streamed: bool,
        /// The sources it was seen in.
        pub(crate) sources: SmallSet<SourceId>,
        /// Its saved cost.
        pub(crate) state: Option<CostState>,
        /// Its last message, if events are kept.
        pub(crate) last: Option<Last<Message>>,
        /// When its records were written, if timing is kept.
        pub(crate) times: Vec<RecordTime>,
    }
}

impl Session {
    /// Creates a session from its first record.
    pub(crate) fn seen(place: Place, event: &event::Event<'_>, names: &mut Names) -> Self {
        let mut name = |text: &Option<event::Text<'_>>| {
            First::at(place.into(), text.as_deref().map(|text| names.get(text)))
        };
        Self {
            start: event.time.into(),
            end: event.time.map(Last),
            cwd: name(&event.cwd),
            version: name(&event.version),
            streamed: event.dialect == Dialect::Stream,
            sources: SmallSet::One(place.source),
            state: None,
            last: None,
            times: Vec::new(),
        }
    }

    /// Adds another record of the same source.
    pub(crate) fn see(&mut self, place: Place, event: &event::Event<'_>, names: &mut Names) {
        self.start.merge(event.time.into());
        self.end.merge(event.time.map(Last));
        let place = CompactPlace::from(place);
        for (kept, new) in [(&mut self.cwd, &event.cwd), (&mut self.version, &event.version)] {
            if let Some(text) = new
                && kept.is_after(place)
            {
                *kept = First::at(place, Some(names.get(text)));
            }
        }
        self.streamed |= event.dialect == Dialect::Stream;
    }
}

/// A message of a session's main agent, ordered by time and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    pub(crate) time: Option<Time>,
    pub(crate) place: CompactPlace,
    pub(crate) kind: MessageKind,
}

/// A saved total of a session. Totals only grow, so the largest is the last.
#[derive(Clone, Debug)]
pub(crate) struct CostState {
    pub(crate) total: Usd,
    pub(crate) place: Place,
    pub(crate) models: Vec<ModelUse>,
}

impl Merge for CostState {
    fn merge(&mut self, other: Self) {
        if (other.total, other.place) > (self.total, self.place) {
            *self = other;
        }
    }
}

/// Tokens and cost of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelUse {
    pub(crate) model: Name,
    pub(crate) tokens: Tokens,
    pub(crate) cost: Usd,
}

impl ModelUse {
    pub(crate) fn all(uses: &[event::ModelUse<'_>], names: &mut Names) -> Vec<Self> {
        let own = |one: &event::ModelUse<'_>| Self {
            model: names.get(&one.model),
            tokens: one.tokens,
            cost: one.cost,
        };
        uses.iter().map(own).collect()
    }
}

/// One `result` record. Differences between results are computed at the end.
#[derive(Clone, Debug)]
pub(crate) struct TurnEnd {
    pub(crate) place: Place,
    pub(crate) session: SessionKey,
    pub(crate) uuid: Option<Id>,
    /// Cumulative cost.
    pub(crate) total: Option<Usd>,
    /// Cumulative tokens and cost by model; `None` if the record has none.
    pub(crate) models: Option<Vec<ModelUse>>,
    /// Tokens and cost by model since the last result.
    pub(crate) since_last: Option<Vec<ModelUse>>,
    /// Tokens of the main loop in this turn. All cache writes are in one field.
    pub(crate) turn: Tokens,
    /// Cumulative API time.
    pub(crate) api: Option<Millis>,
    /// Wall time of this turn.
    pub(crate) wall: Option<Millis>,
    /// Time of the record, if it has one.
    pub(crate) time: Option<Time>,
    /// `subtype` of the record.
    pub(crate) subtype: Option<Name>,
    /// `is_error` of the record.
    pub(crate) is_error: bool,
    /// `num_turns` of the record.
    pub(crate) num_turns: Option<u64>,
    /// Time until the first token.
    pub(crate) first_token: Option<Millis>,
    /// Time until the first request.
    pub(crate) time_to_request: Option<Millis>,
}

merged! {
    /// Records that have to be evaluated in log order.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Chain {
        /// Ends of turns.
        pub(crate) results: Vec<TurnEnd>,
        /// `/clear` records: totals start again from zero.
        pub(crate) resets: Vec<Place>,
        /// Versions, each with the place of the record that first names it.
        pub(crate) versions: Vec<(Place, Name)>,
        /// Printed lines of responses with a prompt so long that the price depends on the version.
        pub(crate) long_prompts: Vec<(Place, Id)>,
    }
}

merged! {
    /// Offsets of the last response and the last result of a session in one source. A response after the last
    /// result was never billed.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Ending {
        pub(crate) response: Option<Last<u64>>,
        pub(crate) result: Option<Last<u64>>,
    }
}

impl Ending {
    /// Returns whether responses follow the last result.
    pub(crate) fn is_cut(self) -> bool {
        self.response > self.result
    }
}

merged! {
    /// Wall time of one interactive turn. A fork copies the record, so it can belong to several sessions.
    #[derive(Clone, Debug)]
    pub(crate) struct TurnDuration {
        pub(crate) sessions: SmallSet<SessionKey>,
        pub(crate) wall: First<Millis>,
    }
}
