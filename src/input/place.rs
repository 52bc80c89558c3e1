//! Positions in logs.

use std::cmp::Ordering;

/// Index of a source. Sources are numbered in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// The position of a record: its source and byte offset.
///
/// Ties between records are decided by place, never by the time of arrival, so the result does not depend on
/// threads.
///
/// A source may be read in several units at once, and a unit does not know how many lines precede it. A place
/// therefore keeps the line within its unit; the lines of earlier units are added when the place is shown.
/// Only source and offset are compared.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The source of the record.
    pub source: SourceId,
    /// Byte offset where the record begins.
    pub offset: u64,
    /// Byte offset where the unit of the record begins.
    pub unit: u64,
    /// Line within the unit, counted from 0.
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
