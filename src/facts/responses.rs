//! API responses: one row each, however many lines and files repeat them.

use super::{
    cost::NO_MODEL,
    key::{Id, Name, Names, SessionKey},
    merge::{CompactPlace, First, Merge, SmallSet},
    rebuild::Position,
};
use crate::{
    event::{self, Dialect},
    input::SourceId,
    measure::{Terms, Tokens, Version, has_long_prompt_surcharge},
};

merged! {
    /// One API response. A gigabyte has a hundred thousand responses, so rows are small.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Response {
        /// The sessions that contain it: its own, and forks of it.
        pub(crate) sessions: SmallSet<SessionKey>,
        /// The model that answered.
        pub(crate) model: First<Name>,
        /// The model that was requested.
        pub(crate) requested: First<Name>,
        usage: Usage,
        /// Its position in its conversation.
        pub(crate) position: Position,
        /// Whether a line has usage.
        pub(crate) has_usage: bool,
        /// Whether a line has a stop reason.
        pub(crate) stopped: bool,
        /// Whether a `message_delta` has the final counts.
        pub(crate) delta: bool,
        /// Whether a saved session contains it.
        pub(crate) saved: bool,
        /// Whether the prices of fast mode apply.
        pub(crate) fast: bool,
        /// Whether the surcharge for inference in the US applies.
        pub(crate) in_us: bool,
        /// Whether a version wrote it that charged extra for long prompts.
        pub(crate) surcharged: bool,
    }
}

impl Response {
    /// Creates a response from a message at a place.
    pub(crate) fn of_message(
        place: CompactPlace,
        dialect: Dialect,
        session: SessionKey,
        message: &event::Response<'_>,
        names: &mut Names,
    ) -> Self {
        let mut name =
            |model: &Option<event::Text<'_>>| First::at(place, model.as_ref().map(|model| names.get(model)));
        let (model, requested) = (name(&message.model), name(&message.requested));
        let saved = dialect == Dialect::Transcript;
        Self { saved, ..Self::saved(session, model, requested, message.usage.as_ref(), message.stopped) }
    }

    /// Creates a response from a message of a saved session.
    pub(crate) fn saved(
        session: SessionKey,
        model: First<Name>,
        requested: First<Name>,
        usage: Option<&event::Usage>,
        stopped: bool,
    ) -> Self {
        Self { sessions: SmallSet::One(session), model, requested, stopped, saved: true, ..Self::default() }
            .with_usage(usage)
    }

    /// Creates a response from a stream event.
    pub(crate) fn streamed(
        session: SessionKey,
        model: First<Name>,
        usage: Option<&event::Usage>,
        last: bool,
    ) -> Self {
        let delta = last && usage.is_some();
        Self { sessions: SmallSet::One(session), model, delta, ..Self::default() }.with_usage(usage)
    }

    /// Sets where it is in its conversation.
    pub(crate) fn with_position(self, position: Position) -> Self {
        Self { position, ..self }
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

    /// Sets the CLI version that wrote the line.
    pub(crate) fn written_by(mut self, version: Option<Version>) -> Self {
        self.surcharged = version.is_some_and(has_long_prompt_surcharge);
        self
    }

    /// Returns a row that marks a response as printed by a version that charged extra for long prompts.
    pub(crate) fn old() -> Self {
        Self { surcharged: true, ..Self::default() }
    }

    /// Returns what decides the rates besides model and tokens.
    pub(crate) fn terms(&self) -> Terms {
        Terms { fast: self.fast, us_inference: self.in_us, surcharged: self.surcharged }
    }

    /// Returns the name of the model that is billed: the requested one, else the one that answered.
    pub(crate) fn billed_model(&self) -> &str {
        self.requested.get().or(self.model.get()).map_or(NO_MODEL, Name::as_str)
    }

    /// Returns the tokens that are cached after it: those that it read and those that it wrote.
    pub(crate) fn cached(&self) -> u64 {
        self.usage.cache_read.saturating_add(self.usage.cache_write)
    }

    /// Returns the tokens by rate.
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

/// Token counts of a response. Merging keeps the maximum of each field: lines repeat and grow, they never add
/// up.
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

merged! {
    /// Stream events in versions whose events have no message id. A `message_delta` belongs to the last
    /// `message_start` before it in its lane, which is only known at the end.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Lanes {
        starts: Vec<(Lane, u64, Id)>,
        deltas: Vec<(Lane, u64, Response)>,
    }
}

/// A sequence of stream events: a source, a session, and the call of a subagent if there is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(pub(crate) SourceId, pub(crate) SessionKey, pub(crate) Option<Id>);

impl Lanes {
    pub(crate) fn start(&mut self, lane: Lane, offset: u64, response: Id) {
        self.starts.push((lane, offset, response));
    }

    pub(crate) fn delta(&mut self, lane: Lane, offset: u64, response: Response) {
        self.deltas.push((lane, offset, response));
    }

    /// Returns each delta with the id of its response. Deltas without a start before them are dropped.
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
