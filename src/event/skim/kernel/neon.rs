//! The kernel for 64-bit ARM. Every such processor with an operating system has NEON, so nothing needs to be detected.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

use std::arch::aarch64::*;

use super::{Kernel, Masks, Run, SHORT, STEP, Task};

/// NEON, which is compiled only for targets that have it.
#[derive(Clone, Copy, Debug)]
pub struct Neon;

/// A step in four vectors. They are taken apart by hand: the closure of an array's `map` is not always inlined, and then a step
/// takes twenty times the instructions.
type Vectors = [uint8x16_t; 4];

impl Kernel for Neon {
    #[inline(always)]
    fn masks(self, step: &[u8; STEP]) -> Masks {
        let text = load(step);
        Masks { quote: bits(equal(text, b'"')), backslash: bits(equal(text, b'\\')) }
    }

    #[inline(always)]
    fn has_controls(self, step: &[u8; STEP]) -> bool {
        let [a, b, c, d] = load(step);
        // SAFETY: the target has NEON.
        unsafe { vminvq_u8(vminq_u8(vminq_u8(a, b), vminq_u8(c, d))) < 0x20 }
    }

    #[inline(always)]
    fn controls(self, step: &[u8; STEP]) -> u64 {
        let [a, b, c, d] = load(step);
        // SAFETY: the target has NEON.
        bits(unsafe {
            let bound = vdupq_n_u8(0x20);
            [vcltq_u8(a, bound), vcltq_u8(b, bound), vcltq_u8(c, bound), vcltq_u8(d, bound)]
        })
    }

    #[inline(always)]
    fn not_short(self, step: &[u8; STEP], escaped: u64) -> u64 {
        let [a, b, c, d] = load(step);
        escaped & !bits([short(a), short(b), short(c), short(d)])
    }

    #[inline(always)]
    fn codes(self, step: &[u8; STEP]) -> u64 {
        bits(equal(load(step), b'u'))
    }
}

impl Run for Neon {
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Done {
        task.run(self)
    }
}

#[inline(always)]
fn load(step: &[u8; STEP]) -> Vectors {
    let (parts, _) = step.as_chunks::<16>();
    // SAFETY: each of the four parts is 16 bytes; the target has NEON.
    unsafe {
        [
            vld1q_u8(parts[0].as_ptr()),
            vld1q_u8(parts[1].as_ptr()),
            vld1q_u8(parts[2].as_ptr()),
            vld1q_u8(parts[3].as_ptr()),
        ]
    }
}

/// All bits of each byte that is a letter of a short escape.
#[inline(always)]
fn short(text: uint8x16_t) -> uint8x16_t {
    // SAFETY: the table is 16 bytes; the target has NEON.
    unsafe {
        let table = vld1q_u8(SHORT.as_ptr());
        let most = vceqq_u8(vqtbl1q_u8(table, vandq_u8(text, vdupq_n_u8(0xf))), text);
        let quote = vceqq_u8(text, vdupq_n_u8(b'"'));
        vorrq_u8(most, vorrq_u8(quote, vceqq_u8(text, vdupq_n_u8(b'r'))))
    }
}

/// All bits of each byte that equals `byte`.
#[inline(always)]
fn equal([a, b, c, d]: Vectors, byte: u8) -> Vectors {
    // SAFETY: the target has NEON.
    unsafe {
        let byte = vdupq_n_u8(byte);
        [vceqq_u8(a, byte), vceqq_u8(b, byte), vceqq_u8(c, byte), vceqq_u8(d, byte)]
    }
}

/// A bit for each byte of a step, of vectors in which all bits of a byte are the same: every byte keeps the bit of its
/// position among eight, and three additions of neighbours bring these bits together.
#[inline(always)]
fn bits([a, b, c, d]: Vectors) -> u64 {
    const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: the weights are 16 bytes; the target has NEON.
    unsafe {
        let weights = vld1q_u8(WEIGHTS.as_ptr());
        let low = vpaddq_u8(vandq_u8(a, weights), vandq_u8(b, weights));
        let high = vpaddq_u8(vandq_u8(c, weights), vandq_u8(d, weights));
        let pairs = vpaddq_u8(low, high);
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
    }
}
