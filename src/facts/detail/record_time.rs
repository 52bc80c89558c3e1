//! Keeps when the records of a session were written, for reports on time.

use std::sync::LazyLock;

use super::Detail;
use crate::{
    event::{Event, Kind, KindId},
    facts::{HashedSet, absorb::RecordAbsorber, key::Id},
    measure::Time,
};

/// The summary that the CLI writes while it waits for a person.
const AWAY: &str = "system/away_summary";

/// Types of records that the CLI writes while it works on a prompt.
const WORK: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

/// When a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordTime {
    pub time: Time,
    /// Whether it is about the work on a prompt, unlike a message that was put into the queue.
    pub is_work: bool,
    /// Hash of the uuid; 0 if it has none. Copies have the same.
    uuid: u64,
}

impl RecordTime {
    fn of(event: &Event<'_>, uuid: Option<Id>) -> Option<Self> {
        static KNOWN: LazyLock<Vec<bool>> =
            LazyLock::new(|| KindId::all().map(|id| is_work(id.row().name)).collect());
        let is_work = match &event.kind {
            Kind::Known(id) => KNOWN[id.index()],
            other => is_work(&other.name()),
        };
        Some(Self { time: event.time?, is_work, uuid: uuid.map_or(0, short) })
    }
}

/// Returns whether records of this kind are about the work on a prompt.
fn is_work(name: &str) -> bool {
    let kind = name.split_once('/').map_or(name, |(kind, _)| kind);
    WORK.contains(&kind) && name != AWAY
}

/// Returns a part of an id that differs from that of nearly all others.
#[expect(clippy::cast_possible_truncation, reason = "both halves count")]
fn short(id: Id) -> u64 {
    let number = id.number();
    (number as u64 ^ (number >> 64) as u64).max(1)
}

impl RecordAbsorber<'_, '_, '_> {
    /// Notes the time of the record.
    pub(in crate::facts) fn detail_record_time(&mut self) {
        if !self.keeps(Detail::TIMING) {
            return;
        }
        let time = RecordTime::of(self.event, self.uuid);
        if let Some(run) = &mut *self.facts.run {
            run.session.times.extend(time);
        }
    }
}

/// Gives each record to the first session that has it: a fork begins with copies of records of its origin.
#[derive(Default)]
pub(in crate::facts) struct RecordOwners {
    /// Records of the sessions so far; `None` if the logs have no copies.
    seen: Option<HashedSet<u64>>,
}

impl RecordOwners {
    pub(in crate::facts) fn new(has_copies: bool) -> Self {
        Self { seen: has_copies.then(HashedSet::default) }
    }

    /// Returns the times of the records of the next session that no session before it has, sorted.
    pub(in crate::facts) fn own(&mut self, times: &[RecordTime]) -> Vec<RecordTime> {
        let mut own = times.to_vec();
        if let Some(seen) = &mut self.seen {
            own.retain(|record| !seen.contains(&record.uuid));
            seen.extend(own.iter().map(|record| record.uuid).filter(|&uuid| uuid != 0));
        }
        own.sort_unstable();
        own.dedup();
        own
    }
}
