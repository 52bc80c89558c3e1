//! The kernel for 64-bit ARM. Every such processor with an operating system has NEON, so nothing needs to be detected.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

use std::arch::aarch64::*;

use super::{Kernel, Masks, Run, SHORT, STEP, Task};

/// NEON, which is compiled only for targets that have it.
#[derive(Clone, Copy, Debug)]
pub struct Neon;

/// A step in four vectors.
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
        // SAFETY: the target has NEON.
        bits(load(step).map(|text| unsafe { vcltq_u8(text, vdupq_n_u8(0x20)) }))
    }

    #[inline(always)]
    fn not_short(self, step: &[u8; STEP], escaped: u64) -> u64 {
        let short = load(step).map(|text| {
            // SAFETY: the table is 16 bytes; the target has NEON.
            unsafe {
                let table = vld1q_u8(SHORT.as_ptr());
                let most = vceqq_u8(vqtbl1q_u8(table, vandq_u8(text, vdupq_n_u8(0xf))), text);
                let quote = vceqq_u8(text, vdupq_n_u8(b'"'));
                vorrq_u8(most, vorrq_u8(quote, vceqq_u8(text, vdupq_n_u8(b'r'))))
            }
        });
        escaped & !bits(short)
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
    // SAFETY: each part is 16 bytes; the target has NEON.
    [0, 1, 2, 3].map(|part| unsafe { vld1q_u8(parts[part].as_ptr()) })
}

/// All bits of each byte that equals `byte`.
#[inline(always)]
fn equal(text: Vectors, byte: u8) -> Vectors {
    // SAFETY: the target has NEON.
    text.map(|text| unsafe { vceqq_u8(text, vdupq_n_u8(byte)) })
}

/// A bit for each byte of a step, of vectors in which all bits of a byte are the same: every byte keeps the bit of its
/// position among eight, and three additions of neighbours bring these bits together.
#[inline(always)]
fn bits(found: Vectors) -> u64 {
    const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: the weights are 16 bytes; the target has NEON.
    unsafe {
        let weights = vld1q_u8(WEIGHTS.as_ptr());
        let [a, b, c, d] = found.map(|found| vandq_u8(found, weights));
        let pairs = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
    }
}
