//! Compact keys: ids of records, calls and responses, keys of sessions, and shared names.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::LazyLock,
};

use arcstr::ArcStr;
use rayon::prelude::*;
use siphasher::sip128::{Hasher128, SipHasher13};

use super::{HashedSet, merge::Merge, shard::Shard};
use crate::input::{Place, SourceId};

/// A name that many rows share: a reference-counted string of eight bytes.
pub type Name = ArcStr;

/// Number of shards in a [`Keyed`] map. Shards grow one at a time and merge in parallel.
const SHARDS: usize = 16;

/// Maps with fewer rows are merged on one thread.
const MIN_PARALLEL_MERGE: usize = 10_000;

/// Number of pending rows: enough to overlap several cache misses, few enough to stay in the L1 cache.
const MAX_PENDING: usize = 64;

/// A sharded map from ids to rows.
///
/// Insertions are batched: the slots of a large table are rarely cached, and pending for one cache miss after
/// another took a twentieth of the run time on a gigabyte of logs. Call [`Keyed::flush`] before reading.
#[derive(Clone, Debug)]
pub(crate) struct Keyed<V> {
    shards: [Shard<V>; SHARDS],
    /// Rows that are not inserted yet.
    pending: Vec<(Id, V)>,
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Shard::default()), pending: Vec::new() }
    }
}

impl<V> Keyed<V> {
    fn shard(id: Id) -> usize {
        // The last digit of a uuid is random; some of the others are fixed by its version.
        id.0 as usize % SHARDS
    }

    pub(crate) fn get(&self, id: Id) -> Option<&V> {
        self.shards()[Self::shard(id)].get(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.shards().iter().map(Shard::len).sum()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &(Id, V)> {
        self.shards().iter().flat_map(Shard::iter)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &V)> {
        self.rows().map(|(id, value)| (*id, value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.rows().map(|(_, value)| value)
    }

    /// Returns the shards for reading.
    fn shards(&self) -> &[Shard<V>; SHARDS] {
        debug_assert!(self.pending.is_empty(), "rows are flushed before they are read");
        &self.shards
    }
}

impl<V: Merge> Keyed<V> {
    /// Inserts a value. Merges it with the value that the key already has.
    #[inline]
    pub(crate) fn insert(&mut self, id: Id, value: V) {
        self.pending.push((id, value));
        if self.pending.len() == MAX_PENDING {
            self.flush();
        }
    }

    /// Inserts the pending rows.
    #[inline(never)]
    pub(crate) fn flush(&mut self) {
        let mut hashes = [0; MAX_PENDING];
        for (hash, (id, _)) in hashes.iter_mut().zip(&self.pending) {
            *hash = self.shards[Self::shard(*id)].touch(*id);
        }
        for (hash, (id, value)) in hashes.into_iter().zip(self.pending.drain(..)) {
            self.shards[Self::shard(id)].insert_hashed(hash, id, value);
        }
    }
}

impl<V: Merge + Send> Merge for Keyed<V> {
    fn merge(&mut self, mut other: Self) {
        self.flush();
        other.flush();
        let theirs = other.shards;
        if theirs.iter().map(Shard::len).sum::<usize>() < MIN_PARALLEL_MERGE {
            self.shards.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs));
        } else {
            self.shards
                .par_iter_mut()
                .zip(theirs.into_par_iter())
                .for_each(|(mine, theirs)| mine.merge(theirs));
        }
    }

    fn flush(&mut self) {
        Keyed::flush(self);
    }
}

/// An id in 16 bytes: a uuid as it is, any other text as a keyed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(u128);

/// Hashers of texts and of places, with random keys: logs are untrusted, and nobody must be able to construct
/// ids that collide.
static TEXTS: LazyLock<SipHasher13> = LazyLock::new(secret);
static PLACES: LazyLock<SipHasher13> = LazyLock::new(secret);

fn secret() -> SipHasher13 {
    let [one, two] = [0, 1].map(|n: u64| RandomState::new().hash_one(n));
    SipHasher13::new_with_keys(one, two)
}

impl Id {
    /// Returns the id of a text.
    pub(crate) fn of(text: &str) -> Self {
        uuid(text.as_bytes()).unwrap_or_else(|| Self(TEXTS.hash(text.as_bytes()).as_u128()))
    }

    /// Returns the id of something that has none: its place and its index there.
    pub(crate) fn at(place: Place, index: usize) -> Self {
        let Place { source: SourceId(source), offset, unit: _, line: _ } = place;
        Self::hash(&[b"here", &source.to_le_bytes(), &offset.to_le_bytes(), &index.to_le_bytes()])
    }

    /// Returns the id of the one thing of this kind in a record that has an id.
    pub(crate) fn within(self, kind: &str) -> Self {
        Self::hash(&[b"within", kind.as_bytes(), &self.0.to_le_bytes()])
    }

    pub(crate) fn number(self) -> u128 {
        self.0
    }

    pub(crate) fn of_number(number: u128) -> Self {
        Self(number)
    }

    fn hash(parts: &[&[u8]]) -> Self {
        let mut hasher = *PLACES;
        for part in parts {
            hasher.write(part);
        }
        Self(hasher.finish128().as_u128())
    }
}

/// Parses a uuid in the spelling that the CLI writes: lower case, with hyphens. Any other spelling is just a
/// text.
fn uuid(text: &[u8]) -> Option<Id> {
    let text: &[u8; 36] = text.try_into().ok()?;
    if [text[8], text[13], text[18], text[23]] != [b'-'; 4] {
        return None;
    }
    let part = |one: usize, two: usize| {
        let mut digits = [0; 8];
        digits[..4].copy_from_slice(&text[one..one + 4]);
        digits[4..].copy_from_slice(&text[two..two + 4]);
        eight_digits(digits)
    };
    let parts = [part(0, 4)?, part(9, 14)?, part(19, 24)?, part(28, 32)?];
    Some(Id(parts.into_iter().fold(0, |value, part| value << 32 | u128::from(part))))
}

/// Parses eight lower-case hexadecimal digits at once, with half the instructions of a loop. `None` if a byte
/// is not such a digit.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u32> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let text = u64::from_be_bytes(text);
    let values = (text & (0x0f * EACH)) + (text >> 6 & EACH) * 9; // letters have bit 6 set, and the low bits of `a` are 1
    let letters = (values + 6 * EACH) >> 4 & EACH;
    // Encoding the values again must give the same text. Values above 15 would, too.
    if values + 0x30 * EACH + letters * 0x27 != text || values & (0xf0 * EACH) != 0 {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    #[expect(clippy::cast_possible_truncation, reason = "the digits were moved to the low 32 bits")]
    Some((fours | fours >> 16) as u32)
}

/// The session that a record counts for: the one it names, else the nameless session of its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SessionKey {
    /// The records of this source that do not name a session.
    Nameless(SourceId),
    /// A session with this id.
    Named(Name),
}

impl SessionKey {
    /// Returns whether a record of the same source with this session id belongs to the session.
    pub(crate) fn is(&self, name: Option<&str>) -> bool {
        match (self, name) {
            (Self::Named(known), Some(name)) => known == name,
            (Self::Nameless(_), None) => true,
            _ => false,
        }
    }
}

/// Interned names: each distinct text is allocated once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(HashedSet<Name>);

impl Names {
    pub(crate) fn get(&mut self, text: &str) -> Name {
        match self.0.get(text) {
            Some(name) => Name::clone(name),
            None => {
                let name = Name::from(text);
                self.0.insert(Name::clone(&name));
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn keyed(numbers: &[u32]) -> Keyed<u64> {
        let mut keyed = Keyed::default();
        numbers.iter().for_each(|number| keyed.insert(Id::of(&number.to_string()), 1));
        keyed
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pending_rows_are_neither_lost_nor_counted_twice(
            one in prop::collection::vec(0..200u32, 0..3 * MAX_PENDING),
            two in prop::collection::vec(0..200u32, 0..3 * MAX_PENDING),
        ) {
            let mut plain = BTreeMap::new();
            one.iter().chain(&two).for_each(|number| *plain.entry(*number).or_insert(0) += 1);
            let (mut merged, mut whole) = (keyed(&one), keyed(&[&one[..], &two].concat()));
            merged.merge(keyed(&two));
            whole.flush();
            for keyed in [merged, whole] {
                prop_assert_eq!(keyed.len(), plain.len());
                for (number, count) in &plain {
                    prop_assert_eq!(keyed.get(Id::of(&number.to_string())), Some(count));
                }
            }
        }
    }

    #[test]
    fn a_uuid_is_its_own_key_but_not_in_another_spelling() {
        let lower = Id::of("00021325-0000-4000-8000-00000000003a");
        assert_eq!(lower, Id(0x0002_1325_0000_4000_8000_0000_0000_003a));
        assert_ne!(lower, Id::of("00021325-0000-4000-8000-00000000003A"));
        assert_ne!(lower, Id::of("00021325000040008000-00000000003a-00"));
        assert_eq!(Id::of("toolu_01"), Id::of("toolu_01"));
        assert_ne!(Id::of("toolu_01"), Id::of("toolu_02"));
    }

    #[test]
    fn digits_are_parsed_like_in_the_standard_library_but_only_in_lower_case() {
        for at in 0..8 {
            for byte in 0..=u8::MAX {
                for others in *b"09af" {
                    let mut text = [others; 8];
                    text[at] = byte;
                    let plain = matches!(byte, b'0'..=b'9' | b'a'..=b'f')
                        .then(|| u32::from_str_radix(std::str::from_utf8(&text).unwrap(), 16).unwrap());
                    assert_eq!(eight_digits(text), plain, "{text:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_uuid_is_parsed_as_the_number_its_digits_spell(number: u128) {
            let digits = format!("{number:032x}");
            let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
            prop_assert_eq!(Id::of(&groups.join("-")), Id(number));
        }
    }

    /// An attacker can search for colliding ids, but this process has another seed.
    #[test]
    fn ids_that_collide_under_one_seed_do_not_under_another() {
        let (mine, theirs) = (foldhash::fast::RandomState::default(), foldhash::fast::RandomState::default());
        let slot = |state: &foldhash::fast::RandomState, id: Id| state.hash_one(id) % 1024;
        let all = (0..1_000_000u128).map(|number| Id(number << 64 | 0x4000_8000));
        let collide: Vec<Id> = all.filter(|id| slot(&theirs, *id) == 0).collect();
        let slots: std::collections::BTreeSet<u64> = collide.iter().map(|id| slot(&mine, *id)).collect();
        assert!(collide.len() > 500 && slots.len() > 300, "{} ids in {} slots", collide.len(), slots.len());
    }

    #[test]
    fn a_name_is_allocated_once() {
        let mut names = Names::default();
        let (one, two) = (names.get("Bash"), names.get("Bash"));
        assert!(Name::ptr_eq(&one, &two));
    }
}
