//! What it means to put two halves of the facts together.
//!
//! [`Merge`] is commutative and associative for every type here, so a source may be cut anywhere and its pieces may
//! arrive in any order. Where one of two has to be chosen, places are compared.

use std::{collections::BTreeMap, hash::Hash};

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::{input::Place, measure::Time};

/// Takes in the other half.
pub(crate) trait Merge {
    /// Afterwards `self` is what reading both halves would have made.
    fn merge(&mut self, other: Self);
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

/// What one half has and the other has not is kept; what both have is merged.
impl<T: Merge> Merge for Option<T> {
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }
}

/// Key by key: the values of a shared key merge, they never replace each other.
impl<K: Eq + Hash, V: Merge, S: std::hash::BuildHasher> Merge for HashMap<K, V, S> {
    fn merge(&mut self, mut other: Self) {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        for (key, theirs) in other {
            match self.entry(key) {
                hashbrown::hash_map::Entry::Occupied(mine) => mine.into_mut().merge(theirs),
                hashbrown::hash_map::Entry::Vacant(free) => {
                    free.insert(theirs);
                }
            }
        }
    }
}

/// Key by key, as for the hashed maps.
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

/// Rows that are sorted by place when they are used, so here their order means nothing.
impl<T> Merge for Vec<T> {
    fn merge(&mut self, mut other: Self) {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        self.extend(other);
    }
}

/// The value that stands first.
#[derive(Clone, Debug)]
pub(crate) struct First<T> {
    pub(crate) place: Place,
    pub(crate) value: T,
}

impl<T> Merge for First<T> {
    fn merge(&mut self, other: Self) {
        if other.place < self.place {
            *self = other;
        }
    }
}

/// The offset that stands last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Last(pub(crate) u64);

impl Merge for Last {
    fn merge(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

/// The earliest moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Earliest(pub(crate) Time);

impl Merge for Earliest {
    fn merge(&mut self, other: Self) {
        *self = (*self).min(other);
    }
}

/// From the earliest moment to the latest.
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

/// A few distinct values, kept sorted: nearly always there is one.
#[derive(Clone, Debug)]
pub(crate) struct Few<T>(SmallVec<[T; 1]>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T: Ord> Few<T> {
    pub(crate) fn one(value: T) -> Self {
        Self(smallvec::smallvec![value])
    }

    pub(crate) fn insert(&mut self, value: T) {
        if let Err(at) = self.0.binary_search(&value) {
            self.0.insert(at, value);
        }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Ord> Merge for Few<T> {
    fn merge(&mut self, other: Self) {
        let Self(values) = other;
        for value in values {
            self.insert(value);
        }
    }
}
