//! API responses: one entry each, however often and in however many files their lines are written.

use super::{
    key::{Id, Name, Names, SessionKey},
    merge::{CompactPlace, First, Merge, SmallSet},
};
use crate::{
    event::{self, Dialect},
    input::SourceId,
    measure::{Terms, Tokens, Version, has_long_prompt_surcharge},
};

/// One API response. There are a hundred thousand in a gigabyte, so a row is small.
#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    /// The sessions it was seen in: its own, and those that were forked from it.
    pub(crate) sessions: SmallSet<SessionKey>,
    /// The model that answered.
    pub(crate) model: First<Name>,
    /// The model that was asked.
    pub(crate) requested: First<Name>,
    usage: Usage,
    /// A line had usage.
    pub(crate) has_usage: bool,
    /// A line said why it stopped.
    pub(crate) stopped: bool,
    /// A `message_delta` gave its final counts.
    pub(crate) delta: bool,
    /// A saved session holds it.
    pub(crate) saved: bool,
    /// Whether the fast table applies.
    pub(crate) fast: bool,
    /// Whether it was computed at the dearer place.
    pub(crate) in_us: bool,
    /// A version wrote it that surcharged long prompts.
    pub(crate) surcharged: bool,
}

impl Response {
    /// What a message says of its response.
    pub(crate) fn told(
        place: CompactPlace,
        dialect: Dialect,
        session: SessionKey,
        told: &event::Response<'_>,
        names: &mut Names,
    ) -> Self {
        Self {
            sessions: SmallSet::One(session),
            model: First::at(place, told.model.as_ref().map(|model| names.get(model))),
            requested: First::at(place, told.requested.as_ref().map(|model| names.get(model))),
            stopped: told.stopped,
            saved: dialect == Dialect::Transcript,
            ..Self::default()
        }
        .with_usage(told.usage.as_ref())
    }

    /// What a streamed response says of itself.
    pub(crate) fn streamed(
        session: SessionKey,
        model: First<Name>,
        usage: Option<&event::Usage>,
        last: bool,
    ) -> Self {
        let delta = last && usage.is_some();
        Self { sessions: SmallSet::One(session), model, delta, ..Self::default() }.with_usage(usage)
    }

    fn with_usage(mut self, usage: Option<&event::Usage>) -> Self {
        if let Some(usage) = usage {
            self.has_usage = true;
            self.fast = usage.fast;
            self.in_us = usage.in_us;
            self.usage = Usage {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                cache_write_1h: usage.cache_write_1h,
                web_searches: usage.web_searches,
            };
        }
        self
    }

    /// The same, of a line that this version wrote.
    pub(crate) fn written_by(mut self, version: Option<Version>) -> Self {
        self.surcharged = version.is_some_and(has_long_prompt_surcharge);
        self
    }

    /// Marks a response that was printed by a version that surcharged long prompts.
    pub(crate) fn old() -> Self {
        Self { surcharged: true, ..Self::default() }
    }

    /// What decides its rates, beside its model and its tokens.
    pub(crate) fn terms(&self) -> Terms {
        Terms { fast: self.fast, us_inference: self.in_us, surcharged: self.surcharged }
    }

    /// Tokens by the rate they are charged at.
    pub(crate) fn tokens(&self) -> Tokens {
        let Usage { input, output, cache_read, cache_write, cache_write_1h, web_searches } = self.usage;
        let hour = cache_write_1h.min(cache_write);
        Tokens {
            input,
            output,
            cache_read,
            cache_write_5m: cache_write - hour,
            cache_write_1h: hour,
            web_searches,
        }
    }
}

impl Merge for Response {
    fn merge(&mut self, other: Self) {
        let Self {
            sessions,
            model,
            requested,
            usage,
            has_usage,
            stopped,
            delta,
            saved,
            fast,
            in_us,
            surcharged,
        } = other;
        self.sessions.merge(sessions);
        self.model.merge(model);
        self.requested.merge(requested);
        self.usage.merge(usage);
        self.has_usage.merge(has_usage);
        self.stopped.merge(stopped);
        self.delta.merge(delta);
        self.saved.merge(saved);
        self.fast.merge(fast);
        self.in_us.merge(in_us);
        self.surcharged.merge(surcharged);
    }
}

/// The tokens of a response: of every field the largest that a line has, since lines repeat and grow, never add.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_1h: u64,
    web_searches: u64,
}

impl Merge for Usage {
    fn merge(&mut self, other: Self) {
        let Self { input, output, cache_read, cache_write, cache_write_1h, web_searches } = other;
        self.input = self.input.max(input);
        self.output = self.output.max(output);
        self.cache_read = self.cache_read.max(cache_read);
        self.cache_write = self.cache_write.max(cache_write);
        self.cache_write_1h = self.cache_write_1h.max(cache_write_1h);
        self.web_searches = self.web_searches.max(web_searches);
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
