//! Counts each record once per `uuid`. A fork, a file given twice, or the other dialect of the same run
//! repeats records.

use std::cmp::Reverse;

use super::{
    key::{Id, Keyed, Name},
    merge::{CompactPlace, Merge},
};
use crate::{event::BlockId, input::Place};

/// The contents of one record that are counted.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    row: Row,
    /// Contents that few records have.
    rare: Option<Box<Rare>>,
}

/// Contents that every record has, in 16 bytes: a gigabyte has hundreds of thousands of records.
#[derive(Clone, Copy, Debug)]
struct Row {
    place: CompactPlace,
    /// The first known blocks: row number in the table of blocks plus one, or 0 for none.
    blocks: [u8; 7],
    /// Number of blocks, known or unknown.
    count: u8,
}

impl Row {
    /// Ranks copies: the one with more blocks counts, then the first in log order.
    fn rank(&self) -> (Reverse<u8>, CompactPlace) {
        (Reverse(self.count), self.place)
    }
}

impl Merge for Row {
    fn merge(&mut self, other: Self) {
        if other.rank() < self.rank() {
            *self = other;
        }
    }
}

/// Contents that few records have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// Known blocks beyond those that fit into the row.
    pub(crate) more_blocks: Vec<BlockId>,
    /// Unknown blocks: name, and place and version of the record.
    pub(crate) unknown_blocks: Vec<(Name, Place, Option<Name>)>,
}

/// Rare contents, with the row that ranks copies of the record.
#[derive(Clone, Debug)]
struct Uncommon {
    row: Row,
    rare: Box<Rare>,
}

impl Merge for Uncommon {
    fn merge(&mut self, other: Self) {
        if other.row.rank() < self.row.rank() {
            *self = other;
        }
    }
}

impl Once {
    /// Creates a record without contents.
    pub(crate) fn at(place: Place) -> Self {
        Self { row: Row { place: place.into(), blocks: [0; 7], count: 0 }, rare: None }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Counts a known block.
    pub(crate) fn block(&mut self, id: BlockId) {
        self.row.count = self.row.count.saturating_add(1);
        match self.row.blocks.iter_mut().find(|free| **free == 0) {
            Some(free) => *free = id.number() + 1,
            None => self.rare().more_blocks.push(id),
        }
    }

    /// Counts an unknown block.
    pub(crate) fn unknown_block(&mut self, name: Name, place: Place, version: Option<Name>) {
        self.row.count = self.row.count.saturating_add(1);
        self.rare().unknown_blocks.push((name, place, version));
    }
}

merged! {
    /// All records, copies merged.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Records {
        /// Records with a uuid.
        rows: Keyed<Row>,
        /// Rare contents of records with a uuid.
        uncommon: Keyed<Uncommon>,
        /// Records without a uuid. Each counts.
        nameless: Vec<Once>,
        /// Number of records with a uuid, including copies.
        with_uuid: u64,
    }
}

impl Records {
    pub(crate) fn insert(&mut self, uuid: Option<Id>, once: Once) {
        let Some(uuid) = uuid else {
            if once.row.count > 0 || once.rare.is_some() {
                self.nameless.push(once);
            }
            return;
        };
        self.with_uuid += 1;
        let Once { row, rare } = once;
        self.rows.insert(uuid, row);
        if let Some(rare) = rare {
            self.uncommon.insert(uuid, Uncommon { row, rare });
        }
    }

    /// Returns the place of the copy that counts.
    pub(crate) fn counted(&self, uuid: Id) -> Option<CompactPlace> {
        self.rows.get(uuid).map(|row| row.place)
    }

    /// Returns the number of records whose uuid was seen before.
    pub(crate) fn copies(&self) -> u64 {
        self.with_uuid - self.rows.len() as u64
    }

    /// Returns the known blocks in the rows.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockId> {
        let rows = self.rows.values().chain(self.nameless.iter().map(|once| &once.row));
        // Blocks fill the row from the front, and most records have at most one.
        rows.flat_map(|row| row.blocks.iter().map_while(|number| BlockId::of_number(number.checked_sub(1)?)))
    }

    /// Returns the rare contents of the copies that count, in no order.
    pub(crate) fn rare(&self) -> impl Iterator<Item = &Rare> {
        let counts = |id, row: &Row| self.rows.get(id).is_some_and(|counted| counted.rank() == row.rank());
        let uncommon = self.uncommon.iter().filter(move |(id, one)| counts(*id, &one.row));
        uncommon
            .map(|(_, one)| &*one.rare)
            .chain(self.nameless.iter().filter_map(|once| once.rare.as_deref()))
    }
}
