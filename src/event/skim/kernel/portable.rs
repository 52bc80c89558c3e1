//! The kernel for every other processor: eight bytes at a time in a 64-bit word, in safe Rust.
//!
//! Words are read as little endian on every processor, so the first byte is always the lowest.

use super::{Kernel, Masks, Run, SHORT, STEP, Task};

/// Uses no instructions that a processor might lack.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// One in each byte.
const ONES: u64 = u64::MAX / 0xff;

/// The highest bit of each byte.
const HIGH: u64 = 0x80 * ONES;

impl Kernel for Portable {
    #[inline(always)]
    fn masks(self, step: &[u8; STEP]) -> Masks {
        let (mut quote, mut backslash) = (0, 0);
        for (part, word) in words(step).enumerate() {
            quote |= gathered(equal(word, b'"')) << (part * 8);
            backslash |= gathered(equal(word, b'\\')) << (part * 8);
        }
        Masks { quote, backslash }
    }

    #[inline(always)]
    fn has_controls(self, step: &[u8; STEP]) -> bool {
        // The subtraction borrows from the next byte only if this one is below 0x20, so "any" is exact although "which" is not.
        words(step).fold(0, |found, word| found | word.wrapping_sub(0x20 * ONES) & !word) & HIGH != 0
    }

    #[inline(always)]
    fn controls(self, step: &[u8; STEP]) -> u64 {
        // The low seven bits reach the highest one by adding 0x60 if they are at least 0x20; no byte carries into the next.
        mask(step, |word| !(((word & !HIGH) + 0x60 * ONES) | word) & HIGH)
    }

    /// Looks at the escaped bytes one by one: there are few of them, and eight comparisons a word would take longer.
    #[inline(always)]
    fn not_short(self, step: &[u8; STEP], escaped: u64) -> u64 {
        let (mut left, mut others) = (escaped, 0);
        while left != 0 {
            let at = left.trailing_zeros();
            let byte = step[at as usize];
            let short = (SHORT[usize::from(byte & 0xf)] == byte) | (byte == b'"') | (byte == b'r');
            others |= u64::from(!short) << at;
            left &= left - 1;
        }
        others
    }

    #[inline(always)]
    fn codes(self, step: &[u8; STEP]) -> u64 {
        mask(step, |word| equal(word, b'u'))
    }
}

impl Run for Portable {
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Done {
        task.run(self)
    }
}

#[inline(always)]
fn words(step: &[u8; STEP]) -> impl Iterator<Item = u64> {
    step.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The bits of a step, of a test that sets the highest bit of each byte for which it holds, and no other bit.
#[inline(always)]
fn mask(step: &[u8; STEP], test: impl Fn(u64) -> u64) -> u64 {
    words(step).enumerate().fold(0, |bits, (part, word)| bits | gathered(test(word)) << (part * 8))
}

/// The highest bit of each byte that equals `byte`.
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    let differ = word ^ (u64::from(byte) * ONES);
    // A byte that is not zero has its highest bit set, or gets it by adding 0x7f to the others; no byte carries into the next.
    !(((differ & !HIGH) + !HIGH) | differ) & HIGH
}

/// Moves the highest bit of each byte into the lowest byte.
#[inline(always)]
fn gathered(high: u64) -> u64 {
    // Bit 7 + 8n has to move to bit 56 + n: by 49 - 7n.
    const MOVES: u64 = 0x0002_0408_1020_4081;
    high.wrapping_mul(MOVES) >> 56
}
