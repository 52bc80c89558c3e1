//! Which key comes next. A program writes the keys of its records in the same order again and again, so what followed a key
//! before is compared with what stands there, 32 bytes at once, before anything is looked up: 30 instructions a key, where
//! finding its quotes, its colon and its slot took 100.
//!
//! Nothing is taken on trust: a guess holds only if the text is the same to the byte, and what was remembered is a key that
//! was read in full, at the same place of the same sort of object.

/// The longest text of a key, with all from the bracket or comma before it to its colon, that is remembered.
const LONGEST: usize = 32;

/// How many keys are remembered; a log of all kinds has a few hundred.
const MOST: usize = 1024;

/// How many keys are tried in one place: enough for the sorts of records that differ there.
const TRIED: usize = 8;

/// No key.
const NONE: u16 = u16::MAX;

/// The slot of a key's value, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u8);

impl Slot {
    /// Of a key that is not wanted.
    const NONE: Self = Self(u8::MAX);

    /// As it was found in the list of fields, which has fewer than a hundred.
    pub(super) fn of(number: Option<usize>) -> Self {
        number.and_then(|number| u8::try_from(number).ok()).map_or(Self::NONE, Self)
    }

    /// Its number, if there is one.
    #[inline(always)]
    pub(super) fn number(self) -> Option<usize> {
        (self != Self::NONE).then_some(usize::from(self.0))
    }
}

/// A place among keys: what comes after one of them, or first inside its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// The key that is tried first.
    next: u16,
    /// Which place it is: the start, then after and inside of each key.
    place: u16,
}

impl Spot {
    /// Somewhere that nothing is known of.
    pub(super) const UNKNOWN: Self = Self { next: NONE, place: NONE };
}

/// A key that came before in some place.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Known {
    /// With all from the bracket or comma before it to its colon.
    text: [u8; LONGEST],
    /// The bits of its bytes.
    mask: [u64; 4],
    length: u8,
    /// The slot of its value.
    slot: Slot,
    /// Another key that came in its place.
    or: u16,
    /// The first key after it, and inside its value.
    then: [u16; 2],
}

/// What was learnt of the keys of a log.
#[derive(Clone, Debug)]
pub struct Habits {
    /// The first is none: what comes inside it is how records begin.
    keys: Vec<Known>,
}

impl Default for Habits {
    fn default() -> Self {
        Self { keys: vec![Known::new(b"", Slot::NONE, NONE)] }
    }
}

impl Habits {
    /// Some that learn nothing, for what is read once.
    pub const NONE: Self = Self { keys: Vec::new() };

    /// Where a record begins. If there is no room for more, all is learnt anew.
    #[inline]
    pub(super) fn start(&mut self) -> Spot {
        if self.keys.len() == MOST {
            *self = Self::default();
        }
        self.inside(Spot { next: NONE, place: 0 })
    }

    /// From the place after a key to the one inside its value.
    #[inline(always)]
    pub(super) fn inside(&self, after: Spot) -> Spot {
        match self.keys.get(usize::from(after.place / 2)) {
            Some(key) => Spot { next: key.then[1], place: after.place | 1 },
            None => Spot::UNKNOWN,
        }
    }

    /// The key that a text begins with, if it came here before: the slot of its value and its length. The place becomes the
    /// one after it.
    #[inline(always)]
    pub(super) fn guess(&self, spot: &mut Spot, head: &[u8; LONGEST]) -> Option<(Slot, usize)> {
        let mut next = spot.next;
        while let Some(key) = self.keys.get(usize::from(next)) {
            if key.begins(head) {
                *spot = Spot { next: key.then[0], place: next * 2 };
                return Some((key.slot, usize::from(key.length)));
            }
            next = key.or;
        }
        None
    }

    /// Remembers a key by its text; the place after it.
    pub(super) fn learn(&mut self, spot: Spot, text: &[u8], slot: Slot) -> Spot {
        self.remember(spot, text, slot).unwrap_or(Spot::UNKNOWN)
    }

    fn remember(&mut self, spot: Spot, text: &[u8], slot: Slot) -> Option<Spot> {
        let key = |number: u16| self.keys.get(usize::from(number));
        let tried = std::iter::successors(key(spot.next), |tried| key(tried.or)).count();
        let place = usize::from(spot.place);
        if self.keys.len() >= MOST || text.len() > LONGEST || tried >= TRIED {
            return None;
        }
        let number = u16::try_from(self.keys.len()).ok()?;
        let first = &mut self.keys.get_mut(place / 2)?.then[place % 2];
        let key = Known::new(text, slot, std::mem::replace(first, number));
        self.keys.push(key);
        Some(Spot { next: NONE, place: number * 2 })
    }
}

impl Known {
    fn new(text: &[u8], slot: Slot, or: u16) -> Self {
        let (mut padded, mut mask) = ([0; LONGEST], [0; LONGEST]);
        padded[..text.len()].copy_from_slice(text);
        mask[..text.len()].fill(u8::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "a longer text would not fit")]
        let length = text.len() as u8;
        Self { text: padded, mask: words(&mask), length, slot, or, then: [NONE; 2] }
    }

    /// Whether a text begins with it.
    #[inline(always)]
    fn begins(&self, head: &[u8; LONGEST]) -> bool {
        let (known, head) = (words(&self.text), words(head));
        let differ = |at: usize| (known[at] ^ head[at]) & self.mask[at];
        differ(0) | differ(1) | differ(2) | differ(3) == 0
    }
}

#[inline(always)]
fn words(text: &[u8; LONGEST]) -> [u64; 4] {
    let (words, _) = text.as_chunks::<8>();
    // Not with `map`, whose closure is not always inlined.
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

    fn head(text: &str) -> [u8; LONGEST] {
        let mut head = [b'x'; LONGEST];
        head[..text.len()].copy_from_slice(text.as_bytes());
        head
    }

    fn guessed(habits: &Habits, mut spot: Spot, text: &str) -> Option<(Option<usize>, usize, Spot)> {
        let (slot, length) = habits.guess(&mut spot, &head(text))?;
        Some((slot.number(), length, spot))
    }

    fn begins(habits: &Habits) -> Spot {
        habits.clone().start()
    }

    #[test]
    fn a_key_is_expected_where_it_came_before_and_nowhere_else() {
        let mut habits = Habits::default();
        let start = habits.start();
        assert!(guessed(&habits, start, r#"{"type":"#).is_none());
        let after = habits.learn(start, br#"{"type":"#, Slot::of(Some(3)));
        habits.learn(after, br#","event":"#, Slot::of(None));
        let (slot, length, after) = guessed(&habits, begins(&habits), r#"{"type":"#).expect("it was learnt");
        assert_eq!((slot, length), (Some(3), 8));
        let (slot, length, _) = guessed(&habits, after, r#","event":"#).expect("it follows");
        assert_eq!((slot, length), (None, 9));
        assert!(guessed(&habits, habits.inside(after), r#","event":"#).is_none());
        assert!(guessed(&habits, begins(&habits), r#"{"typo":"#).is_none());
    }

    #[test]
    fn of_several_keys_in_one_place_each_is_found_up_to_a_bound() {
        let mut habits = Habits::default();
        let names: Vec<String> = (0..2 * TRIED).map(|number| format!(r#"{{"{number:02}":"#)).collect();
        for (slot, name) in names.iter().enumerate() {
            let start = habits.start();
            habits.learn(start, name.as_bytes(), Slot::of(Some(slot)));
        }
        for (slot, name) in names.iter().enumerate() {
            let known = guessed(&habits, begins(&habits), name).map(|(slot, ..)| slot);
            assert_eq!(known, (slot < TRIED).then_some(Some(slot)));
        }
    }

    #[test]
    fn what_is_full_or_too_long_is_not_learnt_and_a_new_record_begins_anew() {
        let mut habits = Habits::default();
        let mut spot = habits.start();
        for number in 0..2 * MOST {
            spot = habits.learn(spot, format!(r#","{number}":"#).as_bytes(), Slot::of(None));
        }
        assert_eq!(habits.keys.len(), MOST);
        assert!(guessed(&habits, spot, r#","9":"#).is_none());
        let start = habits.start();
        assert_eq!(habits.keys.len(), 1);
        let long = format!(r#"{{"{}":"#, "a".repeat(LONGEST));
        habits.learn(start, long.as_bytes(), Slot::of(None));
        assert_eq!(habits.keys.len(), 1);
    }

    #[test]
    fn without_habits_nothing_is_learnt() {
        let mut none = Habits::NONE;
        let start = none.start();
        none.learn(start, br#"{"type":"#, Slot::of(Some(1)));
        assert!(none.keys.is_empty());
        assert!(guessed(&none, none.inside(start), r#"{"type":"#).is_none());
    }
}
