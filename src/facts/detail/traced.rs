//! Adds the traces of one record, if a report needs them.

use super::{Details, EventContext};
use crate::{
    event::{
        Dialect, Text,
        trace::{self, LastDecoded, Owner, Trace, Traces},
    },
    facts::{
        absorb::RecordAbsorber,
        key::{Id, Name, Names, SessionKey},
    },
    input::{Place, SourceId},
};

/// A trace with the context of its record.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    pub(crate) context: EventContext,
    pub(crate) uuid: Option<Id>,
    pub(crate) dialect: Dialect,
    pub(crate) trace: Trace<Name>,
}

/// Records of one unit that name the same session. Records in between name none.
#[derive(Clone, Debug)]
pub(crate) struct SessionSpan {
    pub(crate) source: SourceId,
    unit: u64,
    pub(crate) session: SessionKey,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

merged! {
    /// The writers of a source.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Writers {
        /// Whether a host wrote to it.
        pub(crate) host: bool,
        /// Whether the CLI or a bridge wrote to it.
        pub(crate) others: bool,
    }
}

impl Details {
    /// Adds the session that a record names. The records of a unit arrive in log order.
    fn name_session(&mut self, place: Place, session: SessionKey) {
        let Place { source, offset, unit, line: _ } = place;
        match self.spans.last_mut() {
            Some(last) if last.source == source && last.unit == unit && last.session == session => {
                last.last = offset;
            }
            _ => self.spans.push(SessionSpan { source, unit, session, first: offset, last: offset }),
        }
    }
}

/// Converts texts to names. Ids are not interned: the table would grow with each of them.
struct Interner<'f> {
    names: &'f mut Names,
    last: &'f mut LastDecoded<Name>,
}

impl Owner<Name> for Interner<'_> {
    fn own(&mut self, text: Text<'_>) -> Name {
        self.names.get(&text)
    }

    fn own_id(&mut self, id: Text<'_>) -> Name {
        Name::from(&*id)
    }

    fn last(&mut self) -> Option<&mut LastDecoded<Name>> {
        Some(self.last)
    }
}

impl RecordAbsorber<'_, '_, '_> {
    /// Adds the traces of the record.
    pub(in crate::facts) fn detail_traces(&mut self) {
        let wanted = self.facts.details.as_ref().map_or(Traces::NONE, |details| details.kept.traces());
        if wanted == Traces::NONE {
            return;
        }
        if wanted.intersects(Traces::CONTROL | Traces::COMMANDS) {
            self.detail_surroundings();
        }
        let Some(details) = self.facts.details.as_deref_mut() else { return };
        let mut owner = Interner { names: &mut self.facts.names, last: &mut details.last_decoded };
        let traces = trace::traces(self.event, wanted, &mut owner);
        if traces.is_empty() {
            return;
        }
        let (context, dialect) = (self.context(self.event.time), self.event.dialect);
        let uuid = self.uuid.or_else(|| trace::uuid(self.event).as_deref().map(Id::of));
        let Some(details) = self.facts.details.as_deref_mut() else { return };
        let row = |trace| Traced { context: context.clone(), uuid, dialect, trace };
        details.traces.extend(traces.into_iter().map(row));
    }

    /// Adds the session of the record and the writer of its source.
    fn detail_surroundings(&mut self) {
        let (place, dialect) = (self.place, self.event.dialect);
        let session = self.event.session.is_some().then(|| self.session());
        // A response looks the same from both sides, unless it decides about a tool.
        let kind = self.event.kind.name();
        let either = kind.starts_with("control_response") || kind == "control_cancel_request";
        let Some(details) = self.facts.details.as_deref_mut() else { return };
        if let Some(session) = session {
            details.name_session(place, session);
        }
        let writers = details.writers.entry(place.source).or_default();
        match dialect {
            Dialect::Input => writers.host = true,
            _ if either => {}
            Dialect::Stream | Dialect::Transcript | Dialect::Bridge => writers.others = true,
        }
    }
}
