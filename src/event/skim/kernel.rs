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
}

/// A way to look at bytes with vectors. Who holds one knows that the processor has the instructions.
pub(super) trait Kernel: Copy {
    /// Quotes and backslashes.
    fn masks(self, bytes: &[u8; STEP]) -> Masks;
    /// Whether there are control characters at all: hardly ever, and then it is asked which.
    fn has_controls(self, bytes: &[u8; STEP]) -> bool;
    /// Control characters, a bit each.
    fn controls(self, bytes: &[u8; STEP]) -> u64;
    /// Letters that are an escape after a backslash, a bit each.
    fn letters(self, bytes: &[u8; STEP]) -> u64;
    /// The letter that begins an escape of four more digits, a bit each.
    fn codes(self, bytes: &[u8; STEP]) -> u64;
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

/// A bit for each byte of a step that a test of sixteen bytes holds for. A closure for the test would be a function that does
/// not know of the instructions.
macro_rules! sse2_bits {
    ($step:ident, $text:ident => $test:expr) => {{
        let mut bits = 0;
        for (part, bytes) in $step.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: `bytes` is 16 bytes; SSE2 is part of x86-64.
            let found = unsafe {
                let $text = _mm_loadu_si128(bytes.as_ptr().cast());
                _mm_movemask_epi8($test)
            };
            bits |= u64::from(found as u16) << (part * 16);
        }
        bits
    }};
}

impl Kernel for Sse2 {
    #[inline(always)]
    fn masks(self, step: &[u8; STEP]) -> Masks {
        Masks {
            quote: sse2_bits!(step, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'"' as i8))),
            backslash: sse2_bits!(step, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8))),
        }
    }

    #[inline(always)]
    fn has_controls(self, step: &[u8; STEP]) -> bool {
        self.controls(step) != 0
    }

    #[inline(always)]
    fn controls(self, step: &[u8; STEP]) -> u64 {
        sse2_bits!(step, text => _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1f)), text))
    }

    #[inline(always)]
    fn letters(self, step: &[u8; STEP]) -> u64 {
        sse2_bits!(step, text => {
            let mut any = _mm_setzero_si128();
            for letter in *b"\"\\/bfnrt" {
                any = _mm_or_si128(any, _mm_cmpeq_epi8(text, _mm_set1_epi8(letter as i8)));
            }
            any
        })
    }

    #[inline(always)]
    fn codes(self, step: &[u8; STEP]) -> u64 {
        sse2_bits!(step, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'u' as i8)))
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

/// For each low half of a byte, the letter of an escape that has it, but for `"` and `r`, which share theirs with `b`. Where
/// there is none stands a byte with another low half, so that nothing equals it.
const LETTERS: [u8; 16] = {
    let mut letters = [0xff; 16];
    letters[0xf] = b'/';
    letters[0x2] = b'b';
    letters[0x4] = b't';
    letters[0x6] = b'f';
    letters[0xc] = b'\\';
    letters[0xe] = b'n';
    letters
};

/// The same for a test of half a step.
macro_rules! avx2_bits {
    ($step:ident, $text:ident => $test:expr) => {{
        let mut bits = 0;
        for (part, bytes) in $step.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: `bytes` is 32 bytes, the table of letters is 16, and a kernel proves AVX2.
            let found = unsafe {
                let $text = _mm256_loadu_si256(bytes.as_ptr().cast());
                _mm256_movemask_epi8($test)
            };
            bits |= u64::from(found as u32) << (part * 32);
        }
        bits
    }};
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn masks(self, step: &[u8; STEP]) -> Masks {
        Masks {
            quote: avx2_bits!(step, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8))),
            backslash: avx2_bits!(step, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\\' as i8))),
        }
    }

    #[inline(always)]
    fn has_controls(self, step: &[u8; STEP]) -> bool {
        let (halves, _) = step.as_chunks::<32>();
        // SAFETY: each half is 32 bytes, and `self` proves AVX2.
        unsafe {
            let low = _mm256_loadu_si256(halves[0].as_ptr().cast());
            let least = _mm256_min_epu8(low, _mm256_loadu_si256(halves[1].as_ptr().cast()));
            let found = _mm256_cmpeq_epi8(_mm256_min_epu8(least, _mm256_set1_epi8(0x1f)), least);
            _mm256_movemask_epi8(found) != 0
        }
    }

    #[inline(always)]
    fn controls(self, step: &[u8; STEP]) -> u64 {
        avx2_bits!(step, text => _mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(0x1f)), text))
    }

    #[inline(always)]
    fn letters(self, step: &[u8; STEP]) -> u64 {
        avx2_bits!(step, text => {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(LETTERS.as_ptr().cast()));
            // What is no ASCII is looked up as 0, which it is not.
            let most = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, text), text);
            let quote = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8));
            let r = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'r' as i8));
            _mm256_or_si256(most, _mm256_or_si256(quote, r))
        })
    }

    #[inline(always)]
    fn codes(self, step: &[u8; STEP]) -> u64 {
        avx2_bits!(step, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'u' as i8)))
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
