//! Names of fields and how they are looked up.

/// The name of a field: the first `length` bytes of `text`, which may continue after it.
#[derive(Clone, Copy, Debug)]
pub(in crate::event) struct Key<'a> {
    text: &'a [u8],
    length: usize,
}

impl<'a> Key<'a> {
    /// A name with no text after it.
    pub(in crate::event) const fn new(name: &'a [u8]) -> Self {
        Self { text: name, length: name.len() }
    }

    /// The name that a text begins with. Text after it saves a copy: the hash loads 16 bytes at once.
    #[inline(always)]
    pub(in crate::event) fn before(text: &'a [u8], length: usize) -> Self {
        Self { text, length }
    }

    #[inline(always)]
    const fn fingerprint(self) -> Fingerprint {
        let head = match self.text.first_chunk::<16>() {
            Some(head) => *head,
            None => padded(self.text),
        };
        let kept = if self.length < 16 { self.length } else { 16 };
        let [low, high] = MASKS[kept];
        let word = u128::from_le_bytes(head);
        Fingerprint { low: word as u64 & low, high: (word >> 64) as u64 & high, length: self.length }
    }
}

/// For each length up to 16, a mask of that many bytes in two words.
const MASKS: [[u64; 2]; 17] = {
    let mut masks = [[u64::MAX; 2]; 17];
    let mut length = 0;
    while length < 16 {
        let mask = (1u128 << (length * 8)) - 1;
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

#[cold]
const fn padded(text: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    let (head, _) = padded.split_at_mut(text.len());
    head.copy_from_slice(text);
    padded
}

/// The first 16 bytes of a name, padded with zeros, and its length. Unique for names of up to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    low: u64,
    high: u64,
    length: usize,
}

impl Fingerprint {
    #[inline(always)]
    const fn bucket(self, seed: u64) -> usize {
        let mixed = (self.low ^ self.high.rotate_left(23) ^ self.length as u64).wrapping_mul(seed);
        (mixed >> 54) as usize
    }
}

/// A perfect hash table of names: a lookup takes one probe and one comparison of words.
pub(super) struct KeyTable {
    seed: u64,
    slots: [u8; Self::BUCKETS],
    fingerprints: [Fingerprint; Self::MAX_NAMES],
}

impl KeyTable {
    const BUCKETS: usize = 1024;
    const MAX_NAMES: usize = 96;
    const EMPTY: u8 = Self::MAX_NAMES as u8;

    /// Tries seeds until no two names share a bucket. Runs at compile time.
    pub(super) const fn of(names: &[&str]) -> Self {
        let mut fingerprints = [Fingerprint { low: 0, high: 0, length: usize::MAX }; Self::MAX_NAMES];
        let mut at = 0;
        while at < names.len() {
            fingerprints[at] = Key::new(names[at].as_bytes()).fingerprint();
            at += 1;
        }
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        loop {
            let mut slots = [Self::EMPTY; Self::BUCKETS];
            at = 0;
            while at < names.len() && slots[fingerprints[at].bucket(seed)] == Self::EMPTY {
                #[expect(clippy::cast_possible_truncation, reason = "no list has 96 names")]
                {
                    slots[fingerprints[at].bucket(seed)] = at as u8;
                }
                at += 1;
            }
            if at == names.len() {
                return Self { seed, slots, fingerprints };
            }
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f) | 1;
        }
    }

    #[inline(always)]
    pub(super) fn find(&self, names: &[&str], key: Key<'_>) -> Option<usize> {
        let fingerprint = key.fingerprint();
        let slot = usize::from(self.slots[fingerprint.bucket(self.seed)]);
        let same = *self.fingerprints.get(slot)? == fingerprint
            && (key.length <= 16 || names[slot].as_bytes() == &key.text[..key.length]);
        same.then_some(slot)
    }
}
