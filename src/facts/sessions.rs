//! Sessions, and the rows that only make sense in the order they stand: results, resets and versions.

use super::{
    key::{Id, Name, Names, SessionKey},
    merge::{CompactPlace, Earliest, First, Last, Merge, SmallSet},
};
use crate::{
    event::{self, Dialect},
    input::{Place, SourceId},
    measure::{Millis, Time, Tokens, Usd},
};

/// One session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    /// The earliest moment in it.
    pub(crate) start: Earliest,
    /// The latest moment in it.
    pub(crate) end: Option<Time>,
    /// The folder it began in.
    pub(crate) cwd: First<Name>,
    /// The version that began it.
    pub(crate) version: First<Name>,
    /// Whether the CLI's output tells of it.
    pub(crate) streamed: bool,
    /// The sources it was seen in.
    pub(crate) sources: SmallSet<SourceId>,
    /// What it cost, as it was saved.
    pub(crate) state: Option<CostState>,
}

impl Session {
    /// What any record tells of its session.
    pub(crate) fn seen(place: Place, event: &event::Event<'_>, names: &mut Names) -> Self {
        let mut name = |text: &Option<event::Text<'_>>| {
            First::at(place.into(), text.as_deref().map(|text| names.get(text)))
        };
        Self {
            start: event.time.into(),
            end: event.time,
            cwd: name(&event.cwd),
            version: name(&event.version),
            streamed: event.dialect == Dialect::Stream,
            sources: SmallSet::One(place.source),
            state: None,
        }
    }
}

impl Session {
    /// What another record of the same source tells of it.
    pub(crate) fn see(&mut self, place: Place, event: &event::Event<'_>, names: &mut Names) {
        self.start.merge(event.time.into());
        self.end = self.end.max(event.time);
        let place = CompactPlace::from(place);
        for (kept, told) in [(&mut self.cwd, &event.cwd), (&mut self.version, &event.version)] {
            if let Some(text) = told
                && kept.is_after(place)
            {
                *kept = First::at(place, Some(names.get(text)));
            }
        }
        self.streamed |= event.dialect == Dialect::Stream;
    }
}

impl Merge for Session {
    fn merge(&mut self, other: Self) {
        let Self { start, end, cwd, version, streamed, sources, state } = other;
        self.start.merge(start);
        self.end = self.end.max(end);
        self.cwd.merge(cwd);
        self.version.merge(version);
        self.streamed.merge(streamed);
        self.sources.merge(sources);
        self.state.merge(state);
    }
}

/// A saved total. It only grows, so the largest is the last.
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

/// One `result` record. There are few, and differences between them are taken once, at the end.
#[derive(Clone, Debug)]
pub(crate) struct TurnEnd {
    pub(crate) place: Place,
    pub(crate) session: SessionKey,
    pub(crate) uuid: Option<Id>,
    /// Cost so far.
    pub(crate) total: Option<Usd>,
    /// By model so far; `None` where the record does not say.
    pub(crate) models: Option<Vec<ModelUse>>,
    /// By model since the last result.
    pub(crate) since_last: Option<Vec<ModelUse>>,
    /// Of this turn's main loop: all cache writes are counted as one.
    pub(crate) turn: Tokens,
    /// API time so far.
    pub(crate) api: Option<Millis>,
    /// Wall time of this turn.
    pub(crate) wall: Option<Millis>,
    /// When it was written, where it says so.
    pub(crate) time: Option<Time>,
    /// How it ended.
    pub(crate) subtype: Option<Name>,
    /// Whether it says that it failed.
    pub(crate) is_error: bool,
    /// Its own count of turns.
    pub(crate) num_turns: Option<u64>,
    /// Time until the first token.
    pub(crate) first_token: Option<Millis>,
}

/// What has to be read in the order it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// Ends of turns.
    pub(crate) results: Vec<TurnEnd>,
    /// `/clear`: totals begin anew.
    pub(crate) resets: Vec<Place>,
    /// From here on this version prints.
    pub(crate) versions: Vec<(Place, Name)>,
    /// Printed lines of responses whose prompts may be so long that the version decides their price.
    pub(crate) long_prompts: Vec<(Place, Id)>,
}

impl Merge for Chain {
    fn merge(&mut self, other: Self) {
        let Self { results, resets, versions, long_prompts } = other;
        self.results.merge(results);
        self.resets.merge(resets);
        self.versions.merge(versions);
        self.long_prompts.merge(long_prompts);
    }
}

/// Where a session's last response and last result stand in one source: a response after the result was never paid.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) response: Option<Last>,
    pub(crate) result: Option<Last>,
}

impl Ending {
    /// Whether responses follow the last result.
    pub(crate) fn is_cut(self) -> bool {
        self.response > self.result
    }
}

impl Merge for Ending {
    fn merge(&mut self, other: Self) {
        let Self { response, result } = other;
        self.response.merge(response);
        self.result.merge(result);
    }
}

/// Wall time of one interactive turn. A fork copies the record, so it can belong to several sessions.
#[derive(Clone, Debug)]
pub(crate) struct TurnDuration {
    pub(crate) sessions: SmallSet<SessionKey>,
    pub(crate) wall: First<Millis>,
}

impl Merge for TurnDuration {
    fn merge(&mut self, other: Self) {
        let Self { sessions, wall } = other;
        self.sessions.merge(sessions);
        self.wall.merge(wall);
    }
}
