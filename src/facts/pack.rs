//! Many rows in few bytes: numbers of variable length, differences to the row before, and names that a chunk of rows shares.
//!
//! A gigabyte of logs has hundreds of thousands of records. As a struct, each takes 180 bytes; packed, 30.

use super::{key::Name, merge::Merge};

/// Bytes and names after which a chunk ends. Names are looked up one by one.
const MAX_BYTES: usize = 64 << 10;
const MAX_NAMES: usize = 64;

/// A row that can be packed.
pub(crate) trait Pack: Sized {
    /// Order of rows. Rows of a chunk are in this order.
    type Key: Copy + Ord + std::fmt::Debug;
    /// The row that the next one is a difference to.
    type Base: Clone + Default + std::fmt::Debug;

    fn key(&self) -> Self::Key;

    /// Whether a row may be in the chunk of the row before. Chunks that overlap must be unpacked together.
    fn follows(before: Self::Key, key: Self::Key) -> bool {
        before < key
    }

    fn pack(&self, base: &mut Self::Base, packer: &mut Packer);
    /// Unpacks what `pack` wrote.
    fn unpack(base: &mut Self::Base, unpacker: &mut Unpacker<'_>) -> Self;
}

/// Packed rows.
#[derive(Clone, Debug)]
pub(crate) struct PackedRows<T: Pack> {
    chunks: Vec<Chunk<T::Key>>,
    /// The row that the next one is a difference to; `None` if it begins a chunk.
    base: Option<T::Base>,
}

#[derive(Clone, Debug)]
struct Chunk<K> {
    first: K,
    last: K,
    packer: Packer,
}

impl<T: Pack> Default for PackedRows<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), base: None }
    }
}

impl<T: Pack> PackedRows<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(crate) fn push(&mut self, row: &T) {
        let key = row.key();
        let continues = |chunk: &Chunk<T::Key>| T::follows(chunk.last, key) && !chunk.packer.is_full();
        if self.base.is_some() && !self.chunks.last().is_some_and(continues) {
            self.close();
        }
        let base = self.base.get_or_insert_with(|| {
            self.chunks.push(Chunk { first: key, last: key, packer: Packer::default() });
            T::Base::default()
        });
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.last = key;
            row.pack(base, &mut chunk.packer);
        }
    }

    /// Ends the last chunk.
    fn close(&mut self) {
        self.base = None;
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.packer.bytes.shrink_to_fit();
            chunk.packer.names.shrink_to_fit();
        }
    }

    /// The rows, in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        self.chunks.iter().flat_map(Chunk::rows)
    }

    /// Takes all rows out, sorted. Holds few of them unpacked.
    pub(crate) fn drain_sorted(self, mut take: impl FnMut(T)) {
        let mut chunks = self.chunks;
        chunks.sort_unstable_by_key(|chunk| chunk.first);
        let mut chunks = chunks.into_iter().peekable();
        while let Some(chunk) = chunks.next() {
            let (mut rows, mut last) = (chunk.rows().collect::<Vec<T>>(), chunk.last);
            drop(chunk);
            while let Some(next) = chunks.next_if(|next| next.first <= last) {
                last = last.max(next.last);
                rows.extend(next.rows());
            }
            rows.sort_by_key(T::key);
            rows.into_iter().for_each(&mut take);
        }
    }

    /// Changes rows, and removes those for which `update` returns false.
    pub(crate) fn update(&mut self, mut update: impl FnMut(&mut T) -> bool) {
        let mut updated = Self::default();
        for chunk in std::mem::take(&mut self.chunks) {
            for mut row in chunk.rows() {
                if update(&mut row) {
                    updated.push(&row);
                }
            }
        }
        *self = updated;
    }
}

impl<T: Pack> Merge for PackedRows<T> {
    fn merge(&mut self, mut other: Self) {
        other.close();
        self.close();
        self.chunks.extend(other.chunks);
    }
}

impl<K> Chunk<K> {
    fn rows<T: Pack>(&self) -> impl Iterator<Item = T> {
        let mut base = T::Base::default();
        let mut unpacker = Unpacker { bytes: &self.packer.bytes, names: &self.packer.names };
        std::iter::from_fn(move || (!unpacker.bytes.is_empty()).then(|| T::unpack(&mut base, &mut unpacker)))
    }
}

/// Writes the fields of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    names: Vec<Name>,
}

impl Packer {
    fn is_full(&self) -> bool {
        self.bytes.len() >= MAX_BYTES || self.names.len() >= MAX_NAMES
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Writes seven bits per byte, the lowest first.
    #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits are wanted")]
    pub(crate) fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes a number from `base`, which it replaces. Any two numbers have a difference, modulo 2^64.
    pub(crate) fn difference(&mut self, number: u64, base: &mut u64) {
        let difference = number.wrapping_sub(std::mem::replace(base, number)).cast_signed();
        // The sign becomes the lowest bit, so that small negative numbers are short too.
        self.number((difference << 1 ^ difference >> 63).cast_unsigned());
    }

    pub(crate) fn whole(&mut self, number: u128) {
        self.bytes.extend(number.to_le_bytes());
    }

    pub(crate) fn name(&mut self, name: &Name) {
        self.maybe_name(Some(name));
    }

    pub(crate) fn maybe_name(&mut self, name: Option<&Name>) {
        let Some(name) = name else { return self.number(0) };
        // Names of one log are shared, so the text need not be compared.
        let known = self.names.iter().position(|known| Name::ptr_eq(known, name));
        let at = known.unwrap_or_else(|| {
            self.names.push(Name::clone(name));
            self.names.len() - 1
        });
        self.number(at as u64 + 1);
    }
}

/// Reads the fields of rows.
#[derive(Debug)]
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    names: &'a [Name],
}

impl Unpacker<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        byte
    }

    pub(crate) fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 || shift > 63 {
                return number;
            }
        }
    }

    pub(crate) fn difference(&mut self, base: &mut u64) -> u64 {
        let packed = self.number();
        let difference = packed >> 1 ^ 0_u64.wrapping_sub(packed & 1);
        *base = base.wrapping_add(difference);
        *base
    }

    pub(crate) fn whole(&mut self) -> u128 {
        let Some((number, rest)) = self.bytes.split_first_chunk() else { return 0 };
        self.bytes = rest;
        u128::from_le_bytes(*number)
    }

    pub(crate) fn name(&mut self) -> Name {
        self.maybe_name().unwrap_or_default()
    }

    pub(crate) fn maybe_name(&mut self) -> Option<Name> {
        let at = usize::try_from(self.number().checked_sub(1)?).ok()?;
        self.names.get(at).cloned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Row {
        key: u64,
        name: Option<Name>,
        whole: u128,
    }

    impl Pack for Row {
        type Key = u64;
        type Base = u64;

        fn key(&self) -> u64 {
            self.key
        }

        fn pack(&self, base: &mut u64, packer: &mut Packer) {
            packer.difference(self.key, base);
            packer.maybe_name(self.name.as_ref());
            packer.whole(self.whole);
        }

        fn unpack(base: &mut u64, unpacker: &mut Unpacker<'_>) -> Self {
            Self { key: unpacker.difference(base), name: unpacker.maybe_name(), whole: unpacker.whole() }
        }
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (any::<u64>(), any::<Option<u8>>(), any::<u128>()).prop_map(|(key, name, whole)| Row {
            key,
            name: name.map(|name| name.to_string().into()),
            whole,
        });
        proptest::collection::vec(row, 0..300)
    }

    proptest! {
        #[test]
        fn packed_rows_are_the_same_in_any_number_of_parts(rows in rows(), cut in any::<prop::sample::Index>()) {
            let (mut all, mut rest) = (PackedRows::default(), PackedRows::default());
            let cut = cut.index(rows.len() + 1);
            rows[..cut].iter().for_each(|row| all.push(row));
            rows[cut..].iter().for_each(|row| rest.push(row));
            all.merge(rest);
            prop_assert_eq!(all.iter().collect::<Vec<Row>>(), rows.clone());
            let mut updated = all.clone();
            updated.update(|row| row.key % 2 == 0);
            let even: Vec<Row> = rows.iter().filter(|row| row.key % 2 == 0).cloned().collect();
            prop_assert_eq!(updated.iter().collect::<Vec<Row>>(), even);
            let (mut sorted, mut drained) = (rows, Vec::new());
            sorted.sort_by_key(|row| row.key);
            all.drain_sorted(|row| drained.push(row));
            prop_assert_eq!(drained, sorted);
        }
    }
}
