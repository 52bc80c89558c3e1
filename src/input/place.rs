//! Where a record stands.

use std::cmp::Ordering;

/// Number of a source, in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// Where a record stands: choices between records compare places, never the time of arrival.
///
/// A source may be read in several units at once, and a unit does not know how many lines are before it; so a place
/// keeps the line within its unit, and the lines of earlier units are added when it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which source.
    pub source: SourceId,
    /// Byte offset where the record begins.
    pub offset: u64,
    /// Byte offset where the unit begins in which it was read.
    pub unit: u64,
    /// Line within that unit, counted from 0.
    pub line: u64,
}

impl Place {
    fn key(&self) -> (SourceId, u64) {
        (self.source, self.offset)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
