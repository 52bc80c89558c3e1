//! The kernels for x86-64: SSE2, which every x86-64 has, and AVX2 for processors that have it.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

use std::{arch::x86_64::*, sync::LazyLock};

use super::{CHUNK, Kernel, Masks, Run, SHORT_ESCAPES, Task};

/// Chooses AVX2 if the processor has it, else SSE2.
#[derive(Clone, Copy, Debug)]
pub struct Best;

impl Run for Best {
    #[inline]
    fn run<T: Task>(self, task: T) -> T::Output {
        static AVX2: LazyLock<Option<Avx2>> = LazyLock::new(Avx2::detect);
        match *AVX2 {
            Some(avx2) => avx2.run(task),
            None => Sse2.run(task),
        }
    }
}

/// Uses SSE2, which is part of x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Sse2;

/// Returns one bit per byte of a chunk, by a test on 16 bytes that sets the highest bit of each matching
/// byte.
///
/// This is a macro, because a closure might not be inlined, and would then be compiled without the kernel's
/// instructions.
macro_rules! sse2_bits {
    ($chunk:ident, $text:ident => $test:expr) => {{
        let mut bits = 0;
        for (part, bytes) in $chunk.as_chunks::<16>().0.iter().enumerate() {
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
    fn masks(self, chunk: &[u8; CHUNK]) -> Masks {
        Masks {
            quote: sse2_bits!(chunk, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'"' as i8))),
            backslash: sse2_bits!(chunk, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8))),
        }
    }

    #[inline(always)]
    fn has_controls(self, chunk: &[u8; CHUNK]) -> bool {
        self.controls(chunk) != 0
    }

    #[inline(always)]
    fn controls(self, chunk: &[u8; CHUNK]) -> u64 {
        sse2_bits!(chunk, text => _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1f)), text))
    }

    #[inline(always)]
    fn not_short_escape(self, chunk: &[u8; CHUNK], escaped: u64) -> u64 {
        let short: u64 = sse2_bits!(chunk, text => {
            let mut any = _mm_setzero_si128();
            for letter in *b"\"\\/bfnrt" {
                any = _mm_or_si128(any, _mm_cmpeq_epi8(text, _mm_set1_epi8(letter as i8)));
            }
            any
        });
        escaped & !short
    }

    #[inline(always)]
    fn find_u(self, chunk: &[u8; CHUNK]) -> u64 {
        sse2_bits!(chunk, text => _mm_cmpeq_epi8(text, _mm_set1_epi8(b'u' as i8)))
    }
}

impl Run for Sse2 {
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

/// Uses AVX2, and the bit manipulation instructions that come with it. A value proves that the processor has
/// them.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// Returns the kernel if the processor supports it.
    pub fn detect() -> Option<Self> {
        let bits = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        (bits && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }
}

/// Like `sse2_bits`, by a test on 32 bytes.
macro_rules! avx2_bits {
    ($chunk:ident, $text:ident => $test:expr) => {{
        let mut bits = 0;
        for (part, bytes) in $chunk.as_chunks::<32>().0.iter().enumerate() {
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
    fn masks(self, chunk: &[u8; CHUNK]) -> Masks {
        Masks {
            quote: avx2_bits!(chunk, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8))),
            backslash: avx2_bits!(chunk, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\\' as i8))),
        }
    }

    #[inline(always)]
    fn has_controls(self, chunk: &[u8; CHUNK]) -> bool {
        let (halves, _) = chunk.as_chunks::<32>();
        // SAFETY: each half is 32 bytes, and `self` proves AVX2.
        unsafe {
            let low = _mm256_loadu_si256(halves[0].as_ptr().cast());
            let least = _mm256_min_epu8(low, _mm256_loadu_si256(halves[1].as_ptr().cast()));
            let found = _mm256_cmpeq_epi8(_mm256_min_epu8(least, _mm256_set1_epi8(0x1f)), least);
            _mm256_movemask_epi8(found) != 0
        }
    }

    #[inline(always)]
    fn controls(self, chunk: &[u8; CHUNK]) -> u64 {
        avx2_bits!(chunk, text => _mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(0x1f)), text))
    }

    #[inline(always)]
    fn not_short_escape(self, chunk: &[u8; CHUNK], escaped: u64) -> u64 {
        let short: u64 = avx2_bits!(chunk, text => {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(SHORT_ESCAPES.as_ptr().cast()));
            // `pshufb` maps non-ASCII bytes to 0, which never equals the input.
            let most = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, text), text);
            let quote = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8));
            let r = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'r' as i8));
            _mm256_or_si256(most, _mm256_or_si256(quote, r))
        });
        escaped & !short
    }

    #[inline(always)]
    fn find_u(self, chunk: &[u8; CHUNK]) -> u64 {
        avx2_bits!(chunk, text => _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'u' as i8)))
    }
}

impl Run for Avx2 {
    #[inline(always)]
    fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        #[inline(never)]
        fn inner<T: Task>(task: T, kernel: Avx2) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: `self` proves the instructions.
        unsafe { inner(task, self) }
    }
}
