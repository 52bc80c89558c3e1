//! Predicts the next key of an object, so that most keys need no lookup.
//!
//! Claude Code writes the keys of its records in a fixed order. The predictor compares the 32 bytes at the
//! current position with the key that followed last time: 30 instructions per key, compared with 100 to find
//! the quotes, the colon and the slot.
//!
//! A prediction is never trusted blindly. It only counts if the text matches byte for byte, and a stored key
//! was parsed in full at the same position of the same kind of object.

/// Length of the longest key that is stored, including the bracket or comma before it, its quotes and its
/// colon.
const MAX_KEY: usize = 32;

/// Capacity of the trie. A log with records of every kind has a few hundred keys.
const MAX_NODES: usize = 1024;

/// Maximum number of alternatives at one position: enough for the kinds of records that differ there.
const MAX_ALTERNATIVES: usize = 8;

/// The index of no node.
const NONE: u16 = u16::MAX;

/// Index of the field that a key's value is stored in, if the field is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u8);

impl Slot {
    const NONE: Self = Self(u8::MAX);

    /// Converts an index into a list of fields. No list has 100 fields, so the index fits.
    pub(super) fn of(index: Option<usize>) -> Self {
        index.and_then(|index| u8::try_from(index).ok()).map_or(Self::NONE, Self)
    }

    /// Returns the index into the list of fields; `None` if the field is not wanted.
    #[inline(always)]
    pub(super) fn index(self) -> Option<usize> {
        (self != Self::NONE).then_some(usize::from(self.0))
    }
}

/// A position in the trie: after a key, or inside its value before the first key there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// Node that is tried first.
    next: u16,
    /// Node of the key times two, plus one if the position is inside the key's value.
    position: u16,
}

impl Cursor {
    /// A position outside the trie, where nothing is predicted or learned.
    pub(super) const UNKNOWN: Self = Self { next: NONE, position: NONE };
}

/// A key that was seen at some position.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Node {
    /// The key from the bracket or comma before it to its colon, padded with zeros.
    text: [u8; MAX_KEY],
    /// All bits of the bytes of `text` that belong to the key.
    mask: [u64; 4],
    length: u8,
    slot: Slot,
    /// Another key that was seen at this position.
    alternative: u16,
    /// The first key after this one, and the first key inside its value.
    next: [u16; 2],
}

/// Predicts the next key of a record from the keys that earlier records had in the same position.
///
/// Programs write keys in a fixed order, so one comparison replaces a table lookup for nearly every key. The
/// keys form a trie: each node knows the first key seen after it, the first key seen inside its value, and an
/// alternative to itself.
#[derive(Clone, Debug)]
pub struct KeyPredictor {
    /// Node 0 is the root: its children are the first keys of records.
    nodes: Vec<Node>,
}

impl Default for KeyPredictor {
    fn default() -> Self {
        Self { nodes: vec![Node::new(b"", Slot::NONE, NONE)] }
    }
}

impl KeyPredictor {
    /// A predictor that learns nothing, for text that is read once.
    pub const NONE: Self = Self { nodes: Vec::new() };

    /// Positions the cursor at the start of a record. Forgets everything when the trie is full.
    #[inline]
    pub(super) fn start(&mut self) -> Cursor {
        if self.nodes.len() == MAX_NODES {
            *self = Self::default();
        }
        self.descend(Cursor { next: NONE, position: 0 })
    }

    /// Moves from after a key to inside its value.
    #[inline(always)]
    pub(super) fn descend(&self, after: Cursor) -> Cursor {
        match self.nodes.get(usize::from(after.position / 2)) {
            Some(node) => Cursor { next: node.next[1], position: after.position | 1 },
            None => Cursor::UNKNOWN,
        }
    }

    /// Returns the predicted key's slot and length if `text` begins with it, and advances the cursor.
    #[inline(always)]
    pub(super) fn predict(&self, cursor: &mut Cursor, text: &[u8; MAX_KEY]) -> Option<(Slot, usize)> {
        let mut next = cursor.next;
        while let Some(node) = self.nodes.get(usize::from(next)) {
            if node.matches(text) {
                *cursor = Cursor { next: node.next[0], position: next * 2 };
                return Some((node.slot, usize::from(node.length)));
            }
            next = node.alternative;
        }
        None
    }

    /// Stores a key that was seen at the cursor, and returns the position after it.
    ///
    /// Returns [`Cursor::UNKNOWN`] if the key is too long, or there is no room for it.
    pub(super) fn learn(&mut self, cursor: Cursor, text: &[u8], slot: Slot) -> Cursor {
        self.insert(cursor, text, slot).unwrap_or(Cursor::UNKNOWN)
    }

    fn insert(&mut self, cursor: Cursor, text: &[u8], slot: Slot) -> Option<Cursor> {
        let node = |index: u16| self.nodes.get(usize::from(index));
        let alternatives = std::iter::successors(node(cursor.next), |tried| node(tried.alternative)).count();
        let position = usize::from(cursor.position);
        if self.nodes.len() >= MAX_NODES || text.len() > MAX_KEY || alternatives >= MAX_ALTERNATIVES {
            return None;
        }
        let index = u16::try_from(self.nodes.len()).ok()?;
        let first = &mut self.nodes.get_mut(position / 2)?.next[position % 2];
        let node = Node::new(text, slot, std::mem::replace(first, index));
        self.nodes.push(node);
        Some(Cursor { next: NONE, position: index * 2 })
    }
}

impl Node {
    fn new(text: &[u8], slot: Slot, alternative: u16) -> Self {
        let (mut padded, mut mask) = ([0; MAX_KEY], [0; MAX_KEY]);
        padded[..text.len()].copy_from_slice(text);
        mask[..text.len()].fill(u8::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "a longer text would not fit")]
        let length = text.len() as u8;
        Self { text: padded, mask: words(&mask), length, slot, alternative, next: [NONE; 2] }
    }

    /// Returns whether `text` begins with this key.
    #[inline(always)]
    fn matches(&self, text: &[u8; MAX_KEY]) -> bool {
        let (key, text) = (words(&self.text), words(text));
        let differ = |at: usize| (key[at] ^ text[at]) & self.mask[at];
        differ(0) | differ(1) | differ(2) | differ(3) == 0
    }
}

#[inline(always)]
fn words(text: &[u8; MAX_KEY]) -> [u64; 4] {
    let (words, _) = text.as_chunks::<8>();
    // Not `map`: its closure is not always inlined.
    [
        u64::from_le_bytes(words[0]),
        u64::from_le_bytes(words[1]),
        u64::from_le_bytes(words[2]),
        u64::from_le_bytes(words[3]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &str) -> [u8; MAX_KEY] {
        let mut padded = [b'x'; MAX_KEY];
        padded[..text.len()].copy_from_slice(text.as_bytes());
        padded
    }

    fn predicted(
        predictor: &KeyPredictor,
        mut cursor: Cursor,
        text: &str,
    ) -> Option<(Option<usize>, usize, Cursor)> {
        let (slot, length) = predictor.predict(&mut cursor, &padded(text))?;
        Some((slot.index(), length, cursor))
    }

    fn start(predictor: &KeyPredictor) -> Cursor {
        predictor.clone().start()
    }

    #[test]
    fn a_key_is_predicted_only_at_the_position_where_it_was_learned() {
        let mut predictor = KeyPredictor::default();
        let root = predictor.start();
        assert!(predicted(&predictor, root, r#"{"type":"#).is_none());
        let after = predictor.learn(root, br#"{"type":"#, Slot::of(Some(3)));
        predictor.learn(after, br#","event":"#, Slot::of(None));
        let (slot, length, after) =
            predicted(&predictor, start(&predictor), r#"{"type":"#).expect("it was learned");
        assert_eq!((slot, length), (Some(3), 8));
        let (slot, length, _) = predicted(&predictor, after, r#","event":"#).expect("it follows");
        assert_eq!((slot, length), (None, 9));
        assert!(predicted(&predictor, predictor.descend(after), r#","event":"#).is_none());
        assert!(predicted(&predictor, start(&predictor), r#"{"typo":"#).is_none());
    }

    #[test]
    fn a_position_keeps_a_limited_number_of_alternatives() {
        let mut predictor = KeyPredictor::default();
        let keys: Vec<String> =
            (0..2 * MAX_ALTERNATIVES).map(|number| format!(r#"{{"{number:02}":"#)).collect();
        for (slot, key) in keys.iter().enumerate() {
            let root = predictor.start();
            predictor.learn(root, key.as_bytes(), Slot::of(Some(slot)));
        }
        for (slot, key) in keys.iter().enumerate() {
            let found = predicted(&predictor, start(&predictor), key).map(|(slot, ..)| slot);
            assert_eq!(found, (slot < MAX_ALTERNATIVES).then_some(Some(slot)));
        }
    }

    #[test]
    fn long_keys_are_not_learned_and_a_full_trie_is_cleared_at_the_next_record() {
        let mut predictor = KeyPredictor::default();
        let mut cursor = predictor.start();
        for number in 0..2 * MAX_NODES {
            cursor = predictor.learn(cursor, format!(r#","{number}":"#).as_bytes(), Slot::of(None));
        }
        assert_eq!(predictor.nodes.len(), MAX_NODES);
        assert!(predicted(&predictor, cursor, r#","9":"#).is_none());
        let root = predictor.start();
        assert_eq!(predictor.nodes.len(), 1);
        let long = format!(r#"{{"{}":"#, "a".repeat(MAX_KEY));
        predictor.learn(root, long.as_bytes(), Slot::of(None));
        assert_eq!(predictor.nodes.len(), 1);
    }

    #[test]
    fn the_empty_predictor_learns_nothing() {
        let mut none = KeyPredictor::NONE;
        let root = none.start();
        none.learn(root, br#"{"type":"#, Slot::of(Some(1)));
        assert!(none.nodes.is_empty());
        assert!(predicted(&none, none.descend(root), r#"{"type":"#).is_none());
    }
}
