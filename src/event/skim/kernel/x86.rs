//! The kernels for x86-64: SSE2, which every x86-64 has, and AVX2 for processors that have it.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

use std::{arch::x86_64::*, sync::LazyLock};

use super::{Kernel, Masks, Run, SHORT, STEP, Task};

/// AVX2 if the processor has it, else SSE2.
#[derive(Clone, Copy, Debug)]
pub struct Best;

impl Run for Best {
    #[inline]
    fn run<T: Task>(self, task: T) -> T::Done {
        static AVX2: LazyLock<Option<Avx2>> = LazyLock::new(Avx2::detect);
        match *AVX2 {
            Some(avx2) => avx2.run(task),
            None => Sse2.run(task),
        }
    }
}

/// SSE2, which is part of x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Sse2;

/// A bit for each byte of a step for which a test of sixteen bytes holds. It is a macro, because a closure would be a function
/// that is compiled without the instructions.
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
    fn not_short(self, step: &[u8; STEP], escaped: u64) -> u64 {
        let short: u64 = sse2_bits!(step, text => {
            let mut any = _mm_setzero_si128();
            for letter in *b"\"\\/bfnrt" {
                any = _mm_or_si128(any, _mm_cmpeq_epi8(text, _mm_set1_epi8(letter as i8)));
            }
            any
        });
        escaped & !short
    }

    #[inline(always)]
    fn codes(self, step: &[u8; STEP]) -> u64 {
        sse2_bits!(step, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'u' as i8)))
    }
}

impl Run for Sse2 {
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Done {
        task.run(self)
    }
}

/// AVX2, and the bit instructions that every processor with AVX2 has. A value is a proof that they are there.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// Asks the processor.
    pub fn detect() -> Option<Self> {
        let bits = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        (bits && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }
}

/// The same for a test of 32 bytes.
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
    fn not_short(self, step: &[u8; STEP], escaped: u64) -> u64 {
        let short: u64 = avx2_bits!(step, text => {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(SHORT.as_ptr().cast()));
            // The lookup maps non-ASCII bytes to 0, which never equals the input.
            let most = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, text), text);
            let quote = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8));
            let r = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'r' as i8));
            _mm256_or_si256(most, _mm256_or_si256(quote, r))
        });
        escaped & !short
    }

    #[inline(always)]
    fn codes(self, step: &[u8; STEP]) -> u64 {
        avx2_bits!(step, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'u' as i8)))
    }
}

impl Run for Avx2 {
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
