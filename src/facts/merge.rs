//! Merging: the trait, and small types that know how to merge.
//!
//! [`Merge`] is commutative and associative for every type here, so a source may be split anywhere and its
//! pieces may arrive in any order. If one of two values has to be chosen, their places decide.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, Hash},
    ops::{Deref, DerefMut},
};

use super::Interrupted;
use crate::{
    input::{Place, SourceId},
    measure::Time,
};
use hashbrown::HashMap;

/// A value that can be combined with another of its type.
pub(crate) trait Merge {
    /// Makes `self` what reading both inputs would have made.
    fn merge(&mut self, other: Self);

    /// Inserts pending rows, so that they can be read.
    fn flush(&mut self) {}
}

/// Declares a struct that merges field by field.
macro_rules! merged {
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty,)+
    }) => {
        $(#[$about])*
        $vis struct $name { $($(#[$doc])* $field_vis $field: $type,)+ }

        impl $crate::facts::Merge for $name {
            fn merge(&mut self, other: Self) {
                let Self { $($field),+ } = other;
                $($crate::facts::Merge::merge(&mut self.$field, $field);)+
            }

            fn flush(&mut self) {
                $($crate::facts::Merge::flush(&mut self.$field);)+
            }
        }
    };
}

impl Merge for () {
    fn merge(&mut self, (): Self) {}
}

impl Merge for u64 {
    fn merge(&mut self, other: Self) {
        *self += other;
    }
}

impl Merge for bool {
    fn merge(&mut self, other: Self) {
        *self |= other;
    }
}

/// Keeps a value that only one side has, and merges values that both have.
impl<T: Merge> Merge for Option<T> {
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }

    fn flush(&mut self) {
        self.iter_mut().for_each(T::flush);
    }
}

impl<T: Merge> Merge for Box<T> {
    fn merge(&mut self, other: Self) {
        (**self).merge(*other);
    }

    fn flush(&mut self) {
        (**self).flush();
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

/// Merges the values of shared keys. Neither replaces the other.
impl<K: Eq + Hash, V: Merge, S: BuildHasher> Merge for HashMap<K, V, S> {
    fn merge(&mut self, mut other: Self) {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        other.into_iter().for_each(|(key, theirs)| insert(self, key, theirs));
    }
}

/// Inserts a value. Merges it with the value that the key already has.
pub(crate) fn insert<K: Eq + Hash, V: Merge, S: BuildHasher>(map: &mut HashMap<K, V, S>, key: K, value: V) {
    match map.entry(key) {
        hashbrown::hash_map::Entry::Occupied(known) => known.into_mut().merge(value),
        hashbrown::hash_map::Entry::Vacant(free) => {
            free.insert(value);
        }
    }
}

/// Merges the values of shared keys.
impl<K: Ord, V: Merge> Merge for BTreeMap<K, V> {
    fn merge(&mut self, other: Self) {
        for (key, theirs) in other {
            match self.entry(key) {
                std::collections::btree_map::Entry::Occupied(mine) => mine.into_mut().merge(theirs),
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(theirs);
                }
            }
        }
    }
}

/// Concatenates. Rows are sorted by place when they are used, so their order here has no meaning.
impl<T> Merge for Vec<T> {
    fn merge(&mut self, mut other: Self) {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        self.extend(other);
    }
}

/// Source and offset in eight bytes, ordered like [`Place`]: 24 bits for the source and 40 bits for the
/// offset, which is a terabyte. Larger values are clamped and sort last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CompactPlace(u64);

impl CompactPlace {
    /// No place; sorts after every other.
    pub(crate) const NOWHERE: Self = Self(u64::MAX);

    const OFFSET_BITS: u32 = 40;

    pub(crate) fn source(self) -> SourceId {
        SourceId((self.0 >> Self::OFFSET_BITS) as u32)
    }

    pub(crate) fn offset(self) -> u64 {
        self.0 & ((1 << Self::OFFSET_BITS) - 1)
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn of_number(number: u64) -> Self {
        Self(number)
    }

    /// Returns whether it is a place at all.
    pub(crate) fn is_somewhere(self) -> bool {
        self != Self::NOWHERE
    }
}

impl From<Place> for CompactPlace {
    fn from(place: Place) -> Self {
        let offset = place.offset.min((1 << Self::OFFSET_BITS) - 2);
        Self(u64::from(place.source.0).min((1 << 24) - 1) << Self::OFFSET_BITS | offset)
    }
}

/// The value of the first record that has one.
#[derive(Clone, Debug)]
pub(crate) struct First<T> {
    place: CompactPlace,
    value: Option<T>,
}

impl<T> First<T> {
    /// Creates the value of the record at `place`.
    pub(crate) fn at(place: CompactPlace, value: Option<T>) -> Self {
        Self { place: if value.is_some() { place } else { CompactPlace::NOWHERE }, value }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// Returns whether a value at `place` would replace this one.
    pub(crate) fn is_after(&self, place: CompactPlace) -> bool {
        place < self.place
    }
}

impl<T> Default for First<T> {
    fn default() -> Self {
        Self { place: CompactPlace::NOWHERE, value: None }
    }
}

impl<T> Merge for First<T> {
    fn merge(&mut self, other: Self) {
        if other.place < self.place {
            *self = other;
        }
    }
}

impl Merge for Interrupted {
    fn merge(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl<T: Ord> Merge for BTreeSet<T> {
    fn merge(&mut self, other: Self) {
        self.extend(other);
    }
}

/// The largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Last<T>(pub(crate) T);

impl<T: Ord + Copy> Merge for Last<T> {
    fn merge(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

/// State of one reader, such as a cache. Merging drops that of the other reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unmerged<T>(pub(crate) T);

impl<T> Merge for Unmerged<T> {
    fn merge(&mut self, _: Self) {}
}

impl<T> Deref for Unmerged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Unmerged<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// The earliest time. A missing time is later than all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Earliest(Time);

impl Earliest {
    pub(crate) fn get(self) -> Option<Time> {
        (self.0 != Time::NEVER).then_some(self.0)
    }
}

impl From<Option<Time>> for Earliest {
    fn from(time: Option<Time>) -> Self {
        Self(time.unwrap_or(Time::NEVER))
    }
}

impl Default for Earliest {
    fn default() -> Self {
        Self(Time::NEVER)
    }
}

impl Merge for Earliest {
    fn merge(&mut self, other: Self) {
        *self = (*self).min(other);
    }
}

/// The earliest and the latest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: Time,
    pub(crate) last: Time,
}

impl Span {
    pub(crate) fn at(time: Time) -> Self {
        Self { first: time, last: time }
    }
}

impl Merge for Span {
    fn merge(&mut self, other: Self) {
        let Self { first, last } = other;
        self.first = self.first.min(first);
        self.last = self.last.max(last);
    }
}

/// A set that nearly always has one element.
#[derive(Clone, Debug, Default)]
pub(crate) enum SmallSet<T> {
    #[default]
    None,
    One(T),
    /// A sorted set: a hostile log may have a million sessions share one response, so an insertion must not
    /// move the other elements.
    #[expect(clippy::box_collection, reason = "a row must stay small, and this is rare")]
    Many(Box<BTreeSet<T>>),
}

impl<T: Ord + Clone> SmallSet<T> {
    pub(crate) fn insert(&mut self, value: T) {
        match self {
            Self::None => *self = Self::One(value),
            Self::One(one) if *one == value => {}
            Self::One(one) => {
                *self = Self::Many(Box::new(BTreeSet::from([one.clone(), value])));
            }
            Self::Many(many) => {
                many.insert(value);
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let (one, many) = match self {
            Self::None => (None, None),
            Self::One(one) => (Some(one), None),
            Self::Many(many) => (None, Some(many)),
        };
        one.into_iter().chain(many.into_iter().flat_map(|many| many.iter()))
    }
}

impl<T: Ord + Clone> Merge for SmallSet<T> {
    fn merge(&mut self, other: Self) {
        match other {
            Self::None => {}
            Self::One(value) => self.insert(value),
            // The smaller set is added to the larger one.
            Self::Many(mut values) => match self {
                Self::Many(mine) => {
                    if mine.len() < values.len() {
                        std::mem::swap(mine, &mut values);
                    }
                    mine.extend(*values);
                }
                Self::One(_) | Self::None => {
                    if let Self::One(one) = std::mem::take(self) {
                        values.insert(one);
                    }
                    *self = Self::Many(values);
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::SourceId;

    #[test]
    fn compact_places_are_ordered_like_places_and_clamped_ones_are_last() {
        let place =
            |source, offset| CompactPlace::from(Place { source: SourceId(source), offset, unit: 0, line: 0 });
        assert!(
            place(0, 5) < place(0, 6)
                && place(0, u64::MAX) < place(1, 0)
                && place(u32::MAX, u64::MAX) < CompactPlace::NOWHERE
        );
    }

    #[test]
    fn first_keeps_the_value_of_the_first_record_that_has_one() {
        let first = |offset, value| First::at(CompactPlace(offset), value);
        let mut merged = first(1, None);
        merged.merge(first(7, Some('b')));
        merged.merge(first(5, Some('a')));
        merged.merge(first(2, None));
        assert_eq!(merged.get(), Some(&'a'));
    }
}
