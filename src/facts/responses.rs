//! API responses: one entry each, however often and in however many files their lines are written.

use super::{
    key::{Id, Name, Names, SessionKey},
    merge::{Few, First, Merge},
};
use crate::{
    event::{self, Dialect},
    input::{Place, SourceId},
    measure::Tokens,
};

/// One API response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    /// The sessions it was seen in: its own, and those that were forked from it.
    pub(crate) sessions: Few<SessionKey>,
    /// The model that answered.
    pub(crate) model: Option<First<Name>>,
    /// The model that was asked.
    pub(crate) requested: Option<First<Name>>,
    /// Its tokens, where any line had usage.
    pub(crate) usage: Option<Usage>,
    /// A line said why it stopped.
    pub(crate) stopped: bool,
    /// A `message_delta` gave its final counts.
    pub(crate) delta: bool,
    /// A saved session holds it.
    pub(crate) saved: bool,
}

impl Response {
    /// What a message says of its response.
    pub(crate) fn told(
        place: Place,
        dialect: Dialect,
        session: SessionKey,
        response: &event::Response<'_>,
        names: &mut Names,
    ) -> Self {
        let mut name = |text: &Option<event::Text<'_>>| {
            text.as_ref().map(|text| First { place, value: names.get(text) })
        };
        Self {
            model: name(&response.model),
            requested: name(&response.requested),
            usage: response.usage.as_ref().map(|usage| Usage::of(place, usage, names)),
            stopped: response.stopped,
            delta: false,
            saved: dialect == Dialect::Transcript,
            sessions: Few::one(session),
        }
    }

    /// What a streamed response says of itself.
    pub(crate) fn streamed(
        session: SessionKey,
        model: Option<First<Name>>,
        usage: Option<Usage>,
        last: bool,
    ) -> Self {
        let delta = last && usage.is_some();
        Self { sessions: Few::one(session), model, usage, delta, ..Self::default() }
    }
}

impl Merge for Response {
    fn merge(&mut self, other: Self) {
        let Self { sessions, model, requested, usage, stopped, delta, saved } = other;
        self.sessions.merge(sessions);
        self.model.merge(model);
        self.requested.merge(requested);
        self.usage.merge(usage);
        self.stopped.merge(stopped);
        self.delta.merge(delta);
        self.saved.merge(saved);
    }
}

/// The tokens of a response: of every field the largest that a line has, since lines repeat and grow, never add.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_1h: u64,
    web_searches: u64,
    /// Whether the fast table applies.
    pub(crate) fast: bool,
    geo: Option<First<Name>>,
}

impl Usage {
    pub(crate) fn of(place: Place, usage: &event::Usage<'_>, names: &mut Names) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cache_write_1h: usage.cache_write_1h,
            web_searches: usage.web_searches,
            fast: usage.fast,
            geo: usage.geo.as_ref().map(|geo| First { place, value: names.get(geo) }),
        }
    }

    /// Tokens by the rate they are charged at.
    pub(crate) fn tokens(&self) -> Tokens {
        let hour = self.cache_write_1h.min(self.cache_write);
        Tokens {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write - hour,
            cache_write_1h: hour,
            web_searches: self.web_searches,
        }
    }

    /// Whether it was computed at the dearer place.
    pub(crate) fn in_us(&self) -> bool {
        self.geo.as_ref().is_some_and(|geo| &*geo.value == "us")
    }
}

impl Merge for Usage {
    fn merge(&mut self, other: Self) {
        let Self { input, output, cache_read, cache_write, cache_write_1h, web_searches, fast, geo } = other;
        self.input = self.input.max(input);
        self.output = self.output.max(output);
        self.cache_read = self.cache_read.max(cache_read);
        self.cache_write = self.cache_write.max(cache_write);
        self.cache_write_1h = self.cache_write_1h.max(cache_write_1h);
        self.web_searches = self.web_searches.max(web_searches);
        self.fast.merge(fast);
        self.geo.merge(geo);
    }
}

/// The events of streamed responses in versions whose events carry no id: a `message_delta` belongs to the last
/// `message_start` before it in its lane, which only the end can tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    starts: Vec<(Lane, u64, Id)>,
    deltas: Vec<(Lane, u64, Response)>,
}

/// One row of events after another: a source, a session in it, and a subagent's call or none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(pub(crate) SourceId, pub(crate) SessionKey, pub(crate) Option<Id>);

impl Lanes {
    pub(crate) fn start(&mut self, lane: Lane, offset: u64, response: Id) {
        self.starts.push((lane, offset, response));
    }

    pub(crate) fn delta(&mut self, lane: Lane, offset: u64, response: Response) {
        self.deltas.push((lane, offset, response));
    }

    /// The deltas with the response each belongs to; one without a start before it tells of nothing.
    pub(crate) fn resolve(mut self) -> impl Iterator<Item = (Id, Response)> {
        self.starts.sort_unstable_by(|one, two| (&one.0, one.1).cmp(&(&two.0, two.1)));
        let starts = self.starts;
        self.deltas.into_iter().filter_map(move |(lane, offset, response)| {
            let after = starts.partition_point(|start| (&start.0, start.1) < (&lane, offset));
            let (of, _, id) = starts.get(after.checked_sub(1)?)?;
            (*of == lane).then_some((*id, response))
        })
    }
}

impl Merge for Lanes {
    fn merge(&mut self, other: Self) {
        let Self { starts, deltas } = other;
        self.starts.merge(starts);
        self.deltas.merge(deltas);
    }
}
