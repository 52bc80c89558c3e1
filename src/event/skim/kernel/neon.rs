//! The kernel for 64-bit ARM. Every such processor with an operating system has NEON, so nothing needs to be
//! detected.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

use std::arch::aarch64::*;

use super::{CHUNK, Kernel, Masks, Run, SHORT_ESCAPES, Task};

/// Uses NEON. It is only compiled for targets that have it.
#[derive(Clone, Copy, Debug)]
pub struct Neon;

/// A chunk in four vectors. The code names them one by one, since the closure of `array::map` is not always
/// inlined, and then a chunk takes twenty times as many instructions.
type Vectors = [uint8x16_t; 4];

impl Kernel for Neon {
    #[inline(always)]
    fn masks(self, chunk: &[u8; CHUNK]) -> Masks {
        let text = load(chunk);
        Masks { quote: bits(equal(text, b'"')), backslash: bits(equal(text, b'\\')) }
    }

    #[inline(always)]
    fn has_controls(self, chunk: &[u8; CHUNK]) -> bool {
        let [a, b, c, d] = load(chunk);
        // SAFETY: the target has NEON.
        unsafe { vminvq_u8(vminq_u8(vminq_u8(a, b), vminq_u8(c, d))) < 0x20 }
    }

    #[inline(always)]
    fn controls(self, chunk: &[u8; CHUNK]) -> u64 {
        let [a, b, c, d] = load(chunk);
        // SAFETY: the target has NEON.
        bits(unsafe {
            let bound = vdupq_n_u8(0x20);
            [vcltq_u8(a, bound), vcltq_u8(b, bound), vcltq_u8(c, bound), vcltq_u8(d, bound)]
        })
    }

    #[inline(always)]
    fn not_short_escape(self, chunk: &[u8; CHUNK], escaped: u64) -> u64 {
        let [a, b, c, d] = load(chunk);
        escaped & !bits([short(a), short(b), short(c), short(d)])
    }

    #[inline(always)]
    fn find_u(self, chunk: &[u8; CHUNK]) -> u64 {
        bits(equal(load(chunk), b'u'))
    }
}

impl Run for Neon {
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

#[inline(always)]
fn load(chunk: &[u8; CHUNK]) -> Vectors {
    let (parts, _) = chunk.as_chunks::<16>();
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

/// Sets all bits of each byte that is a letter of a short escape.
#[inline(always)]
fn short(text: uint8x16_t) -> uint8x16_t {
    // SAFETY: the table is 16 bytes; the target has NEON.
    unsafe {
        let table = vld1q_u8(SHORT_ESCAPES.as_ptr());
        let most = vceqq_u8(vqtbl1q_u8(table, vandq_u8(text, vdupq_n_u8(0xf))), text);
        let quote = vceqq_u8(text, vdupq_n_u8(b'"'));
        vorrq_u8(most, vorrq_u8(quote, vceqq_u8(text, vdupq_n_u8(b'r'))))
    }
}

/// Sets all bits of each byte that equals `byte`.
#[inline(always)]
fn equal([a, b, c, d]: Vectors, byte: u8) -> Vectors {
    // SAFETY: the target has NEON.
    unsafe {
        let byte = vdupq_n_u8(byte);
        [vceqq_u8(a, byte), vceqq_u8(b, byte), vceqq_u8(c, byte), vceqq_u8(d, byte)]
    }
}

/// Packs vectors in which all bits of a byte are the same into one bit per byte.
///
/// Each byte keeps the bit of its position among eight, and three pairwise additions combine these bits.
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
