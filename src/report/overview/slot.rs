//! The bars of a period: its days, or its hours if it is short.

use std::ops::Range;

use super::rows::each_failure;
use crate::{
    facts::ledger::Context,
    measure::{Millis, Time, calendar::Zone},
    report::{Text, View},
};

/// Up to this time from the first activity to the end, there is a bar for each hour.
const SHORT: Millis = Millis::new(2 * 24 * 3_600_000);

/// Maximum number of days, before neighbours are merged. A time in the far past is not worth more.
const MAX_DAYS: i64 = 4000;

/// Consecutive parts of a period, each with its name.
pub(super) struct Slots {
    /// End of each slot, exclusive.
    ends: Vec<Time>,
    labels: Vec<Text>,
    start: Time,
    /// The slot that was found last, because rows of one slot follow each other.
    last: usize,
}

impl Slots {
    /// The slots from the first activity to the end of a period.
    pub(super) fn of(view: &View<'_>, period: &Range<Time>) -> Self {
        let start = first_activity(view, period).unwrap_or(period.end);
        Self::between(view.zone, start, period.end)
    }

    fn between(zone: &Zone, start: Time, end: Time) -> Self {
        let (mut ends, mut labels) = (Vec::<Time>::new(), Vec::<Text>::new());
        let is_short = end.since(start) <= SHORT;
        let earliest = Time::from_micros(end.micros() - MAX_DAYS * 24 * 3_600_000_000);
        // Slots before 1970 cannot be told apart.
        let start = start.max(earliest).max(Time::from_micros(0));
        let mut time = start;
        while time < end {
            let (slot, label) = if is_short {
                let slot = zone.same_hour(time);
                (slot.end, zone.minute(slot.start))
            } else {
                (zone.same_day(time).end, zone.day(time))
            };
            let Some(label) = label.filter(|_| slot > time) else { break };
            // A day has two parts if a clock changes in it.
            match labels.last() {
                Some(last) if **last == *label => ends.pop(),
                _ => {
                    labels.push(label.into());
                    None
                }
            };
            time = slot.min(end);
            ends.push(time);
        }
        Self { ends, labels, start, last: 0 }
    }

    /// The index of the slot of a row; `None` outside of the period.
    pub(super) fn find(&mut self, context: &Context) -> Option<usize> {
        let time = context.time.filter(|time| *time >= self.start)?;
        let start = if self.last == 0 { self.start } else { self.ends[self.last - 1] };
        if time < start || self.ends.get(self.last).is_none_or(|end| time >= *end) {
            let at = self.ends.partition_point(|end| *end <= time);
            self.last = Some(at).filter(|at| *at < self.ends.len())?;
        }
        Some(self.last)
    }

    pub(super) fn labels(&self) -> Vec<Text> {
        self.labels.clone()
    }
}

/// The time of the first charge, call or failure in a period.
fn first_activity(view: &View<'_>, period: &Range<Time>) -> Option<Time> {
    let charges = view.ledger.charges.iter().map(|charge| &charge.context);
    let calls = view.ledger.calls.iter().map(|call| &call.context);
    let contexts = charges.chain(calls).chain(each_failure(view).map(|failure| failure.context));
    contexts.filter_map(|context| context.time.filter(|time| period.contains(time))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        Time::parse(text).expect("a time")
    }

    fn at(micros: i64) -> Context {
        Context { time: Some(Time::from_micros(micros)), ..Context::default() }
    }

    #[test]
    fn slots_cover_a_period_without_gaps_also_when_clocks_change() {
        let zone = Zone::named("Europe/Berlin").expect("a zone");
        for (from, to, count) in [
            ("2026-10-23T10:00:00Z", "2026-10-28T23:00:00Z", 6),
            ("2026-03-27T10:00:00Z", "2026-03-31T10:00:00Z", 5),
            // An hour that occurs twice has one name and one bar.
            ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 24),
            ("2026-11-12T16:10:00Z", "2026-11-12T18:00:00Z", 2),
        ] {
            let (from, to) = (time(from), time(to));
            let mut slots = Slots::between(&zone, from, to);
            assert_eq!(slots.labels.len(), count, "{:?}", slots.labels);
            assert_eq!((slots.ends.len(), slots.ends.last()), (count, Some(&to)));
            assert!(slots.ends.is_sorted());
            let mut found = vec![0; count];
            for micros in (from.micros()..to.micros()).step_by(600_000_000) {
                let slot = slots.find(&at(micros)).expect("every time is in a slot");
                let name = if count == 2 || count == 24 { Zone::minute } else { Zone::day };
                let name = name(&zone, Time::from_micros(micros)).unwrap_or_default();
                assert_eq!(slots.labels[slot][..13.min(name.len())], name[..13.min(name.len())]);
                found[slot] += 1;
            }
            assert!(found.iter().all(|count| *count > 0), "{found:?}");
            assert_eq!(slots.find(&at(from.micros() - 1)), None);
            assert_eq!(slots.find(&at(to.micros())), None);
            assert_eq!(slots.find(&Context::default()), None);
            assert_eq!(slots.find(&at(from.micros())), Some(0), "also after a later time");
        }
    }

    #[test]
    fn a_time_in_the_far_past_does_not_make_millions_of_bars() {
        let (from, to) = (time("0001-01-01T00:00:00Z"), time("2026-11-12T00:00:00Z"));
        assert_eq!(Slots::between(&Zone::default(), from, to).labels.len(), 4000);
        assert!(Slots::between(&Zone::default(), to, to).labels.is_empty());
        assert!(Slots::between(&Zone::default(), from, time("1969-01-01T00:00:00Z")).labels.is_empty());
    }
}
