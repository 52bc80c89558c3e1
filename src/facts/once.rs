//! What is counted per record counts once per `uuid`: a fork, a file given twice, or the other dialect of the same run
//! repeats records without anything having happened twice.

use super::{
    key::{Id, Keyed, Name, SessionKey},
    merge::{Merge, Spot},
};
use crate::{
    event::{BlockId, Dialect},
    input::Place,
};

/// What one record counts for. There are hundreds of thousands in a gigabyte, so a row is small.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    spot: Spot,
    blocks: Packed,
    /// What few records have.
    pub(crate) rare: Option<Box<Rare>>,
}

/// Up to eight blocks that the table knows, a byte each: one more than the number of its row, and 0 for none.
#[derive(Clone, Copy, Debug, Default)]
struct Packed([u8; 8]);

/// What few records count for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// Blocks beyond the eighth.
    more_blocks: Vec<BlockId>,
    /// Names of blocks that no table knows, and the place of the record.
    pub(crate) unknown_blocks: Vec<(Name, Place)>,
    /// It tells of a failed API call, of this type.
    pub(crate) api_error: Option<Name>,
    /// It tells of an attempt that is repeated.
    pub(crate) retry: Option<Retry>,
    /// It ends a turn.
    pub(crate) turn: Option<Turn>,
    /// Refused calls that have no id, by tool.
    pub(crate) denials: Vec<Option<Name>>,
}

/// A failed attempt at the API.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) session: SessionKey,
    /// Both dialects tell of the same failure under different uuids.
    pub(crate) dialect: Dialect,
    pub(crate) kind: Name,
}

/// The end of a turn, as far as it counts by itself.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) subtype: Option<Name>,
    pub(crate) is_error: bool,
    pub(crate) num_turns: u64,
}

impl Once {
    /// A record that counts for nothing yet.
    pub(crate) fn at(place: Place) -> Self {
        Self { spot: place.into(), blocks: Packed::default(), rare: None }
    }

    /// What few records have, made when it is needed.
    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Counts a block that the table knows.
    pub(crate) fn block(&mut self, id: BlockId) {
        match self.blocks.0.iter_mut().find(|free| **free == 0) {
            Some(free) => *free = id.number() + 1,
            None => self.rare().more_blocks.push(id),
        }
    }

    /// The blocks that the table knows.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockId> {
        let packed = self.blocks.0.iter().filter_map(|number| BlockId::of_number(number.checked_sub(1)?));
        packed.chain(self.rare.iter().flat_map(|rare| rare.more_blocks.iter().copied()))
    }

    fn block_count(&self) -> usize {
        self.blocks().count() + self.rare.as_ref().map_or(0, |rare| rare.unknown_blocks.len())
    }
}

/// Of two copies the one with more blocks counts, then the one that stands first.
impl Merge for Once {
    fn merge(&mut self, other: Self) {
        let rank = |one: &Self| (std::cmp::Reverse(one.block_count()), one.spot);
        if rank(&other) < rank(self) {
            *self = other;
        }
    }
}

/// All records that count for something, copies apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Records that have an identity.
    by_uuid: Keyed<Once>,
    /// Records that have none: each is its own.
    nameless: Vec<Once>,
    /// How many records had an identity.
    with_uuid: u64,
}

impl Records {
    pub(crate) fn insert(&mut self, uuid: Option<Id>, once: Once) {
        let Some(uuid) = uuid else {
            if once.block_count() > 0 || once.rare.is_some() {
                self.nameless.push(once);
            }
            return;
        };
        self.with_uuid += 1;
        self.by_uuid.insert(uuid, once);
    }

    /// Records whose uuid was seen before.
    pub(crate) fn copies(&self) -> u64 {
        self.with_uuid - self.by_uuid.len() as u64
    }

    /// What counts, copies apart, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Once> {
        self.by_uuid.values().chain(&self.nameless)
    }
}

impl Merge for Records {
    fn merge(&mut self, other: Self) {
        let Self { by_uuid, nameless, with_uuid } = other;
        self.by_uuid.merge(by_uuid);
        self.nameless.merge(nameless);
        self.with_uuid.merge(with_uuid);
    }
}
