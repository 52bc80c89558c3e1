//! Invalid, truncated and unknown input, with places.

use std::collections::BTreeMap;

use super::{key::Name, merge::Merge};
use crate::input::{Place, SourceId};

/// Number of invalid places that are kept.
const KEPT: usize = 100;

/// An invalid line or value.
#[derive(Clone, Debug)]
pub(crate) struct Invalid {
    pub(crate) place: Place,
    pub(crate) reason: String,
}

/// Invalid input: everything is counted, and the first places are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invalids {
    pub(crate) count: u64,
    /// The first ones, sorted by place.
    pub(crate) first: Vec<Invalid>,
    /// Counts by source.
    pub(crate) by_source: BTreeMap<SourceId, u64>,
    /// The last line of each source that is not blank. Only there an unfinished object counts as truncated;
    /// anywhere else it is invalid.
    tails: BTreeMap<SourceId, Tail>,
}

impl Invalids {
    pub(crate) fn push(&mut self, invalid: Invalid) {
        self.count += 1;
        *self.by_source.entry(invalid.place.source).or_default() += 1;
        self.keep(invalid);
    }

    fn keep(&mut self, invalid: Invalid) {
        let at = self.first.partition_point(|known| known.place < invalid.place);
        if at < KEPT {
            self.first.insert(at, invalid);
            self.first.truncate(KEPT);
        }
    }

    /// Adds the last line of a part of a source. An unfinished line that turns out not to be the last becomes
    /// invalid.
    pub(crate) fn tail(&mut self, source: SourceId, mut tail: Tail) {
        let Some(known) = self.tails.get_mut(&source) else {
            self.tails.insert(source, tail);
            return;
        };
        if known.offset < tail.offset {
            std::mem::swap(known, &mut tail);
        }
        if let Some(invalid) = tail.unfinished {
            self.push(invalid);
        }
    }

    /// Returns the places of unfinished objects, one for each source that ends inside an object.
    pub(crate) fn truncated(&self) -> impl Iterator<Item = Place> {
        self.tails.values().filter_map(|tail| tail.unfinished.as_ref()).map(|unfinished| unfinished.place)
    }
}

impl Merge for Invalids {
    fn merge(&mut self, other: Self) {
        let Self { count, first, by_source, tails } = other;
        self.count += count;
        Merge::merge(&mut self.by_source, by_source);
        first.into_iter().for_each(|invalid| self.keep(invalid));
        tails.into_iter().for_each(|(source, tail)| self.tail(source, tail));
    }
}

/// The last line seen so far in a source.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) offset: u64,
    /// Set if it ends inside an object.
    pub(crate) unfinished: Option<Invalid>,
}

/// A kind without a row in our tables.
#[derive(Clone, Debug)]
pub(crate) struct UnknownKind {
    pub(crate) count: u64,
    /// Place of the first occurrence.
    pub(crate) place: Place,
    /// Version of the record there.
    pub(crate) version: Option<Name>,
    /// Whether it belongs to a known family of kinds.
    pub(crate) known: bool,
}

impl Merge for UnknownKind {
    fn merge(&mut self, other: Self) {
        let Self { count, place, version, known } = other;
        self.count += count;
        if place < self.place {
            (self.place, self.version) = (place, version);
        }
        self.known.merge(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(offset: u64) -> Invalid {
        Invalid { place: Place { source: SourceId(0), offset, unit: 0, line: 0 }, reason: String::new() }
    }

    #[test]
    fn an_unfinished_line_is_truncated_only_at_the_end_of_a_source() {
        for order in [[1, 2], [2, 1]] {
            let mut invalids = Invalids::default();
            for offset in order {
                invalids.tail(SourceId(0), Tail { offset, unfinished: Some(invalid(offset)) });
            }
            assert_eq!((invalids.truncated().count(), invalids.count), (1, 1));
            assert_eq!(invalids.first[0].place.offset, 1);
        }
    }

    #[test]
    fn the_first_hundred_places_are_kept_in_any_order_of_arrival() {
        let (mut up, mut down) = (Invalids::default(), Invalids::default());
        (0..250).for_each(|offset| up.push(invalid(offset)));
        (0..250).rev().for_each(|offset| down.push(invalid(offset)));
        for kept in [&up, &down] {
            assert_eq!((kept.count, kept.first.len(), kept.first[99].place.offset), (250, 100, 99));
        }
    }
}
