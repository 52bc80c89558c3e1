//! What is counted per record counts once per `uuid`: a fork, a file given twice, or the other dialect of the same run
//! repeats records without anything having happened twice.

use smallvec::SmallVec;

use super::{
    key::{Id, Keyed, Name, SessionKey},
    merge::Merge,
};
use crate::{
    event::{BlockId, Dialect},
    input::Place,
};

/// What one record counts for.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    pub(crate) place: Place,
    /// Its blocks that the table knows.
    pub(crate) blocks: SmallVec<[BlockId; 16]>,
    /// What few records have.
    pub(crate) rare: Option<Box<Rare>>,
}

/// What few records count for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// Names of blocks that no table knows.
    pub(crate) unknown_blocks: Vec<Name>,
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
        Self { place, blocks: SmallVec::new(), rare: None }
    }

    /// What few records have, made when it is needed.
    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn block_count(&self) -> usize {
        self.blocks.len() + self.rare.as_ref().map_or(0, |rare| rare.unknown_blocks.len())
    }
}

/// Of two copies the one with more blocks counts, then the one that stands first.
impl Merge for Once {
    fn merge(&mut self, other: Self) {
        let rank = |one: &Self| (std::cmp::Reverse(one.block_count()), one.place);
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
        match self.by_uuid.entry(uuid) {
            hashbrown::hash_map::Entry::Occupied(known) => known.into_mut().merge(once),
            hashbrown::hash_map::Entry::Vacant(free) => {
                free.insert(once);
            }
        }
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
