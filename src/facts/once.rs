//! What is counted per record counts once per `uuid`: a fork, a file given twice, or the other dialect of the same run
//! repeats records without anything having happened twice.

use std::cmp::Reverse;

use super::{
    key::{Id, Keyed, Name},
    merge::{CompactPlace, Merge},
};
use crate::{event::BlockId, input::Place};

/// What one record counts for.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    row: Row,
    /// What few records have.
    rare: Option<Box<Rare>>,
}

/// What every record has. There are hundreds of thousands in a gigabyte, so a row is small: sixteen bytes.
#[derive(Clone, Copy, Debug)]
struct Row {
    place: CompactPlace,
    /// The first blocks that the table knows, a byte each: one more than the number of its row, and 0 for none.
    blocks: [u8; 7],
    /// How many blocks there are, known or not.
    count: u8,
}

impl Row {
    /// Of two copies the one with more blocks counts, then the one that stands first.
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

/// What few records count for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// Blocks for which the row has no room.
    pub(crate) more_blocks: Vec<BlockId>,
    /// Names of blocks that no table knows, and place and version of the record.
    pub(crate) unknown_blocks: Vec<(Name, Place, Option<Name>)>,
}

/// What a record has that few have, with the row that decides between copies.
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
    /// A record that counts for nothing yet.
    pub(crate) fn at(place: Place) -> Self {
        Self { row: Row { place: place.into(), blocks: [0; 7], count: 0 }, rare: None }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Counts a block that the table knows.
    pub(crate) fn block(&mut self, id: BlockId) {
        self.row.count = self.row.count.saturating_add(1);
        match self.row.blocks.iter_mut().find(|free| **free == 0) {
            Some(free) => *free = id.number() + 1,
            None => self.rare().more_blocks.push(id),
        }
    }

    /// Counts a block that no table knows.
    pub(crate) fn unknown_block(&mut self, name: Name, place: Place, version: Option<Name>) {
        self.row.count = self.row.count.saturating_add(1);
        self.rare().unknown_blocks.push((name, place, version));
    }
}

/// All records that count for something, copies apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Records that have an identity.
    rows: Keyed<Row>,
    /// Those of them that have what few have.
    uncommon: Keyed<Uncommon>,
    /// Records that have no identity: each is its own.
    nameless: Vec<Once>,
    /// How many records had an identity.
    with_uuid: u64,
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

    /// Puts in what waits.
    pub(crate) fn flush(&mut self) {
        let Self { rows, uncommon, nameless: _, with_uuid: _ } = self;
        rows.flush();
        uncommon.flush();
    }

    /// Where the record stands that counts for its uuid.
    pub(crate) fn counted(&self, uuid: Id) -> Option<CompactPlace> {
        self.rows.get(uuid).map(|row| row.place)
    }

    /// Records whose uuid was seen before.
    pub(crate) fn copies(&self) -> u64 {
        self.with_uuid - self.rows.len() as u64
    }

    /// The blocks that rows have room for, copies apart.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockId> {
        let rows = self.rows.values().chain(self.nameless.iter().map(|once| &once.row));
        // They stand first, and most records have one or none.
        rows.flat_map(|row| row.blocks.iter().map_while(|number| BlockId::of_number(number.checked_sub(1)?)))
    }

    /// What few records have, copies apart, in no order: it counts if the record it is of does.
    pub(crate) fn rare(&self) -> impl Iterator<Item = &Rare> {
        let counts = |id, row: &Row| self.rows.get(id).is_some_and(|counted| counted.rank() == row.rank());
        let uncommon = self.uncommon.iter().filter(move |(id, one)| counts(*id, &one.row));
        uncommon
            .map(|(_, one)| &*one.rare)
            .chain(self.nameless.iter().filter_map(|once| once.rare.as_deref()))
    }
}

impl Merge for Records {
    fn merge(&mut self, other: Self) {
        let Self { rows, uncommon, nameless, with_uuid } = other;
        self.rows.merge(rows);
        self.uncommon.merge(uncommon);
        self.nameless.merge(nameless);
        self.with_uuid.merge(with_uuid);
    }
}
