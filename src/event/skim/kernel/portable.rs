//! The kernel for all other processors: safe Rust that handles eight bytes at a time in a 64-bit word.
//!
//! Words are read as little endian everywhere, so the first byte is always the lowest.

use super::{CHUNK, Kernel, Masks, Run, SHORT_ESCAPES, Task};

/// Uses plain 64-bit arithmetic, which every processor has.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// 1 in each byte.
const ONES: u64 = u64::MAX / 0xff;

/// The highest bit of each byte.
const HIGH: u64 = 0x80 * ONES;

impl Kernel for Portable {
    #[inline(always)]
    fn masks(self, chunk: &[u8; CHUNK]) -> Masks {
        let (mut quote, mut backslash) = (0, 0);
        for (part, word) in words(chunk).enumerate() {
            quote |= pack_high_bits(equal(word, b'"')) << (part * 8);
            backslash |= pack_high_bits(equal(word, b'\\')) << (part * 8);
        }
        Masks { quote, backslash }
    }

    #[inline(always)]
    fn has_controls(self, chunk: &[u8; CHUNK]) -> bool {
        // A byte borrows from the next one only if it is below 0x20. So whether there is such a byte is
        // exact, but not which.
        words(chunk).fold(0, |found, word| found | word.wrapping_sub(0x20 * ONES) & !word) & HIGH != 0
    }

    #[inline(always)]
    fn controls(self, chunk: &[u8; CHUNK]) -> u64 {
        // Adding 0x60 to the low seven bits sets the highest bit if they are at least 0x20. No byte carries
        // into the next.
        mask(chunk, |word| !(((word & !HIGH) + 0x60 * ONES) | word) & HIGH)
    }

    /// Checks the escaped bytes one by one: there are few of them, and eight comparisons per word would take
    /// longer.
    #[inline(always)]
    fn not_short_escape(self, chunk: &[u8; CHUNK], escaped: u64) -> u64 {
        let (mut left, mut others) = (escaped, 0);
        while left != 0 {
            let at = left.trailing_zeros();
            let byte = chunk[at as usize];
            let short = (SHORT_ESCAPES[usize::from(byte & 0xf)] == byte) | (byte == b'"') | (byte == b'r');
            others |= u64::from(!short) << at;
            left &= left - 1;
        }
        others
    }

    #[inline(always)]
    fn find_u(self, chunk: &[u8; CHUNK]) -> u64 {
        mask(chunk, |word| equal(word, b'u'))
    }
}

impl Run for Portable {
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

#[inline(always)]
fn words(chunk: &[u8; CHUNK]) -> impl Iterator<Item = u64> {
    chunk.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Returns one bit per byte of a chunk. `test` sets the highest bit of each matching byte, and no other bit.
#[inline(always)]
fn mask(chunk: &[u8; CHUNK], test: impl Fn(u64) -> u64) -> u64 {
    words(chunk).enumerate().fold(0, |bits, (part, word)| bits | pack_high_bits(test(word)) << (part * 8))
}

/// Sets the highest bit of each byte that equals `byte`.
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    let differ = word ^ (u64::from(byte) * ONES);
    // A nonzero byte has its highest bit set, or gets it when 0x7f is added to the other bits. No byte
    // carries into the next.
    !(((differ & !HIGH) + !HIGH) | differ) & HIGH
}

/// Moves the highest bit of each byte into the lowest byte.
#[inline(always)]
fn pack_high_bits(high: u64) -> u64 {
    // Bit 7 + 8n has to move to bit 56 + n: by 49 - 7n.
    const MOVES: u64 = 0x0002_0408_1020_4081;
    high.wrapping_mul(MOVES) >> 56
}
