//! Keeps when requests were sent and answered, and how long tools ran, for traces.

use super::{Detail, EventContext};
use crate::{
    event::{self, Event},
    facts::{
        absorb::RecordAbsorber,
        key::{Id, Name},
        merge::{CompactPlace, First, Last},
    },
    measure::Time,
};

/// A record that says when the CLI did something.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) context: EventContext,
    pub(crate) kind: MomentKind,
}

/// An activity of the CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MomentKind {
    /// It sent a request to the API: id of the record, and the part of the CLI that asked.
    Request { id: Option<Name>, source: Option<Name> },
    /// It took a message from its queue and began to work on it.
    Dequeue,
}

merged! {
    /// End and ids of a response.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct ResponseTiming {
        /// Time of its last line.
        pub(crate) last: Option<Last<Time>>,
        pub(crate) stop_reason: First<Name>,
        /// Id that the API gave to the request.
        pub(crate) request: First<Name>,
        /// Id of the record of the request.
        pub(crate) request_record: First<Name>,
    }
}

/// The last line whose ids were kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastTimed {
    id: Id,
    place: CompactPlace,
    /// Whether this line, or one before it, had the id of the request.
    has_request: bool,
    /// Whether this line, or one before it, had the id of the record of the request.
    has_record: bool,
}

impl RecordAbsorber<'_, '_, '_> {
    /// Notes when a request was sent or a message was taken from the queue.
    pub(in crate::facts) fn detail_moment(&mut self) {
        if !self.keeps(Detail::TIMING) {
            return;
        }
        let Some(kind) = self.moment_kind(self.event) else { return };
        let context = self.context(self.event.time);
        if let Some(details) = self.facts.details.as_deref_mut() {
            details.moments.push(Moment { context, kind });
        }
    }

    fn moment_kind(&mut self, event: &Event<'_>) -> Option<MomentKind> {
        match &*event.kind.name() {
            "queue-operation/dequeue" => Some(MomentKind::Dequeue),
            "api-request" => {
                let (id, source) = event::request_of(event.text);
                let source = source.map(|source| self.facts.names.get(&source));
                // Each request has its own id, so it is not interned.
                Some(MomentKind::Request { id: id.as_deref().map(Name::from), source })
            }
            _ => None,
        }
    }

    /// Notes the time, the stop reason and the request of one line of a response.
    pub(in crate::facts) fn detail_timing(
        &mut self,
        id: Id,
        response: &event::Response<'_>,
        time: Option<Time>,
    ) {
        let (place, names) = (self.compact_place, &mut self.facts.names);
        let Some(details) = self.facts.details.as_deref_mut() else { return };
        // The lines of a response repeat its ids. Only a line that comes first has to keep them.
        let known = details.timed.take().filter(|last| last.id == id && last.place < place);
        let own = |text: &Option<event::Text<'_>>, is_known: bool| {
            text.as_deref().filter(|_| !is_known).map(Name::from)
        };
        let has_request = known.as_ref().is_some_and(|last| last.has_request);
        let has_record = known.as_ref().is_some_and(|last| last.has_record);
        let stop_reason = response.stop_reason.as_deref().map(|reason| names.get(reason));
        let timing = ResponseTiming {
            last: time.map(Last),
            stop_reason: First::at(place, stop_reason),
            request: First::at(place, own(&response.request, has_request)),
            request_record: First::at(place, own(&response.request_record, has_record)),
        };
        *details.timed = Some(LastTimed {
            id,
            place,
            has_request: has_request || response.request.is_some(),
            has_record: has_record || response.request_record.is_some(),
        });
        details.timings.insert(id, timing);
    }
}
