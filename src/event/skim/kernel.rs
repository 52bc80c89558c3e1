//! The string kernel: where JSON strings begin and end, 64 bytes a look.
//!
//! Over half of all bytes in a log stand inside long strings that nobody reads, and all of them are checked: control
//! characters, escapes, and the quote that ends them. In safe Rust with memchr2 that took 3.3 times as long as counting
//! newlines, with vectors about twice: so this one small module may use `unsafe`. SSE2 is always there on x86-64; AVX2 is
//! used where the processor has it.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

use std::{arch::x86_64::*, sync::LazyLock};

/// Bytes that are looked at at once.
pub(super) const STEP: usize = 64;

/// What one look finds, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    pub(super) quote: u64,
    pub(super) backslash: u64,
    pub(super) control: u64,
}

/// Letters of escapes, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Letters {
    /// Those that may follow a backslash.
    pub(super) any: u64,
    /// Those that begin a code of four digits.
    pub(super) u: u64,
}

/// A way to look at bytes with vectors. Who holds one knows that the processor has the instructions.
pub(super) trait Kernel: Copy {
    /// Quotes, backslashes and control characters.
    fn masks(self, bytes: &[u8; STEP]) -> Masks;
    /// Letters of escapes.
    fn letters(self, bytes: &[u8; STEP]) -> Letters;
    /// Runs a task in a function of its own, compiled for the instructions of this kernel.
    fn run<T: Task>(self, task: T) -> T::Done;
}

/// Something to do with whatever kernel there is. Whatever looks at bytes on its way must be inlined into it: what is not
/// does not know of the instructions.
pub(super) trait Task {
    /// What comes of it.
    type Done;
    /// Does it.
    fn run<K: Kernel>(self, kernel: K) -> Self::Done;
}

/// Runs a task with the best kernel of this processor.
#[inline]
pub(super) fn run<T: Task>(task: T) -> T::Done {
    static BEST: LazyLock<Option<Avx2>> = LazyLock::new(Avx2::detect);
    match *BEST {
        Some(avx2) => avx2.run(task),
        None => Sse2.run(task),
    }
}

/// What every x86-64 has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sse2;

impl Kernel for Sse2 {
    #[inline(always)]
    fn masks(self, bytes: &[u8; STEP]) -> Masks {
        let mut masks = Masks { quote: 0, backslash: 0, control: 0 };
        for (part, bytes) in bytes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: `bytes` is 16 bytes; SSE2 is part of x86-64.
            unsafe {
                let text = _mm_loadu_si128(bytes.as_ptr().cast());
                let bits = |found: __m128i| u64::from(_mm_movemask_epi8(found) as u16) << (part * 16);
                masks.quote |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'"' as i8)));
                masks.backslash |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8)));
                masks.control |= bits(_mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1f)), text));
            }
        }
        masks
    }

    #[inline(always)]
    fn letters(self, bytes: &[u8; STEP]) -> Letters {
        let mut letters = Letters { any: 0, u: 0 };
        for (part, bytes) in bytes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: `bytes` is 16 bytes; SSE2 is part of x86-64.
            unsafe {
                let text = _mm_loadu_si128(bytes.as_ptr().cast());
                let any = |set: [u8; 8]| {
                    set.iter().fold(_mm_setzero_si128(), |all, &one| {
                        _mm_or_si128(all, _mm_cmpeq_epi8(text, _mm_set1_epi8(one as i8)))
                    })
                };
                let slash = _mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8));
                let bits = |found: __m128i| u64::from(_mm_movemask_epi8(found) as u16) << (part * 16);
                letters.any |= bits(_mm_or_si128(any(*b"\"/bfnrtu"), slash));
                letters.u |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'u' as i8)));
            }
        }
        letters
    }

    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Done {
        task.run(self)
    }
}

/// AVX2, and the bit instructions that every processor with it has: a proof that they are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, if there is one.
    pub(super) fn detect() -> Option<Self> {
        let bits = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        (bits && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }
}

/// For each low half of a byte, the high halves with which it is a letter that may follow a backslash: bit 0 for 2,
/// bit 1 for 5, bit 2 for 6, bit 3 for 7.
const LOW: [u8; 16] = [0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1];

/// For each high half, its bit in `LOW`.
const HIGH: [u8; 16] = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0];

impl Kernel for Avx2 {
    #[inline(always)]
    fn masks(self, bytes: &[u8; STEP]) -> Masks {
        let mut masks = Masks { quote: 0, backslash: 0, control: 0 };
        for (part, bytes) in bytes.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: `bytes` is 32 bytes, and `self` proves AVX2.
            unsafe {
                let text = _mm256_loadu_si256(bytes.as_ptr().cast());
                let bits = |found: __m256i| u64::from(_mm256_movemask_epi8(found) as u32) << (part * 32);
                masks.quote |= bits(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8)));
                masks.backslash |= bits(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\\' as i8)));
                masks.control |= bits(_mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(0x1f)), text));
            }
        }
        masks
    }

    #[inline(always)]
    fn letters(self, bytes: &[u8; STEP]) -> Letters {
        let mut letters = Letters { any: 0, u: 0 };
        for (part, bytes) in bytes.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: `bytes` is 32 bytes, both tables are 16, and `self` proves AVX2.
            unsafe {
                let text = _mm256_loadu_si256(bytes.as_ptr().cast());
                let table =
                    |table: &[u8; 16]| _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
                let half = _mm256_set1_epi8(0x0f);
                let low = _mm256_shuffle_epi8(table(&LOW), _mm256_and_si256(text, half));
                let high =
                    _mm256_shuffle_epi8(table(&HIGH), _mm256_and_si256(_mm256_srli_epi16(text, 4), half));
                let none = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
                let bits = |found: i32| u64::from(found as u32) << (part * 32);
                letters.any |= bits(!_mm256_movemask_epi8(none));
                let u = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'u' as i8));
                letters.u |= bits(_mm256_movemask_epi8(u));
            }
        }
        letters
    }

    #[inline(always)]
    fn run<T: Task>(self, task: T) -> T::Done {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        #[inline(never)]
        fn inner<T: Task>(task: T, kernel: Avx2) -> T::Done {
            task.run(kernel)
        }
        // SAFETY: `self` proves the instructions.
        unsafe { inner(task, self) }
    }
}
