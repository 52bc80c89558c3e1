//! The string kernel: where a JSON string ends, 64 bytes a step.
//!
//! Over half of all bytes in a log stand inside long strings that nobody reads, and all of them are checked: control
//! characters, escapes, and the quote that ends them. In safe Rust with memchr2 that took 3.3 times as long as counting
//! newlines, with vectors about twice: so this one small module may use `unsafe`. SSE2 is always there on x86-64; AVX2 is
//! used where the processor has it.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

#[cfg(any(test, fuzzing))]
pub(in crate::event) mod twin;

use std::{arch::x86_64::*, sync::LazyLock};

/// Bytes that are looked at in one step.
const STEP: usize = 64;

/// Where a string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Index of the closing quote.
    pub(super) at: usize,
    /// Whether it holds an escape.
    pub(super) escaped: bool,
}

/// What one step of bytes holds, a bit each.
#[derive(Clone, Copy)]
struct Masks {
    quote: u64,
    backslash: u64,
    control: u64,
}

/// A way to look at 64 bytes.
trait Look {
    /// # Safety
    /// 64 bytes must be readable at `bytes`, and the processor must have the instructions.
    unsafe fn masks(bytes: *const u8) -> Masks;
    /// Bytes that may follow a backslash.
    ///
    /// # Safety
    /// As for `masks`.
    unsafe fn letters(bytes: *const u8) -> u64;
}

/// The end of the string whose first byte after the opening quote is at `from`; `None` if it is broken or has no end.
#[inline]
pub(super) fn string_end(bytes: &[u8], from: usize) -> Option<End> {
    // Most strings are keys, ids and times: a few looks at 16 bytes find their end without a call.
    if let Some(head) = bytes.get(from..from + STEP) {
        for at in [0, 16, 32, 48] {
            // SAFETY: 16 bytes from here are within the 64 of `head`, and SSE2 is part of x86-64.
            let (quote, other) = unsafe { look16(head.as_ptr().add(at)) };
            if quote | other == 0 {
                continue;
            }
            let first = quote.trailing_zeros();
            if quote != 0 && other.trailing_zeros() > first {
                return Some(End { at: from + at + first as usize, escaped: false });
            }
            break;
        }
    }
    KERNEL(bytes, from)
}

/// Finds the end of a string.
type Kernel = fn(&[u8], usize) -> Option<End>;

/// The kernel for this processor.
static KERNEL: LazyLock<Kernel> =
    LazyLock::new(|| if is_x86_feature_detected!("avx2") { avx2 } else { sse2 });

/// Quotes, and backslashes and control characters, in 16 bytes.
///
/// # Safety
/// 16 bytes must be readable at `bytes`.
#[inline]
unsafe fn look16(bytes: *const u8) -> (u32, u32) {
    // SAFETY: the caller's promise; SSE2 is part of x86-64.
    unsafe {
        let text = _mm_loadu_si128(bytes.cast());
        let quote = _mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'"' as i8)));
        let backslash = _mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1f)), text);
        (quote as u32, _mm_movemask_epi8(_mm_or_si128(backslash, control)) as u32)
    }
}

/// For any x86-64.
fn sse2(bytes: &[u8], from: usize) -> Option<End> {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { walk::<Sse2>(bytes, from) }
}

/// For processors with AVX2.
fn avx2(bytes: &[u8], from: usize) -> Option<End> {
    #[target_feature(enable = "avx2")]
    fn inner(bytes: &[u8], from: usize) -> Option<End> {
        // SAFETY: this function runs only where AVX2 is.
        unsafe { walk::<Avx2>(bytes, from) }
    }
    // SAFETY: chosen only after AVX2 was detected.
    unsafe { inner(bytes, from) }
}

/// # Safety
/// The processor must have the instructions of `L`.
#[inline(always)]
unsafe fn walk<L: Look>(bytes: &[u8], from: usize) -> Option<End> {
    let (mut at, mut carry, mut escaped) = (from, false, false);
    while let Some(step) = bytes.get(at..at + STEP) {
        // SAFETY: `step` is 64 readable bytes.
        match unsafe { look::<L>(step.as_ptr(), bytes, at, &mut carry, &mut escaped) } {
            Seen::More => at += STEP,
            Seen::End(end) => return Some(End { at: end, escaped }),
            Seen::Broken => return None,
        }
    }
    // Less than a step is left: padded with NULs, which no string may hold, so it ends within.
    let rest = bytes.get(at..)?;
    let mut last = [0; STEP];
    last[..rest.len()].copy_from_slice(rest);
    // SAFETY: `last` is 64 readable bytes.
    match unsafe { look::<L>(last.as_ptr(), bytes, at, &mut carry, &mut escaped) } {
        Seen::End(end) if end < bytes.len() => Some(End { at: end, escaped }),
        _ => None,
    }
}

enum Seen {
    More,
    End(usize),
    Broken,
}

/// Judges one step. `carry`: the step before ended with a backslash that escapes the first byte of this one.
///
/// # Safety
/// 64 bytes must be readable at `step`, and the processor must have the instructions of `L`.
#[inline(always)]
unsafe fn look<L: Look>(
    step: *const u8,
    bytes: &[u8],
    at: usize,
    carry: &mut bool,
    escaped: &mut bool,
) -> Seen {
    // SAFETY: the caller's promise.
    let Masks { quote, backslash, control } = unsafe { L::masks(step) };
    let (mut end, mut after_backslash) = (quote, 0);
    if backslash != 0 || *carry {
        after_backslash = escaped_bytes(backslash, carry);
        end = quote & !after_backslash;
    }
    let stop = end | control;
    let before_stop = if stop == 0 { u64::MAX } else { (stop & stop.wrapping_neg()) - 1 };
    *escaped |= backslash & before_stop != 0;
    let checked = after_backslash & before_stop;
    if checked != 0 {
        // SAFETY: the caller's promise.
        let letters = unsafe { L::letters(step) };
        if checked & !letters != 0 || !hex_follows(checked, bytes, at) {
            return Seen::Broken;
        }
    }
    let first = stop.trailing_zeros();
    match stop {
        0 => Seen::More,
        _ if end >> first & 1 == 1 => Seen::End(at + first as usize),
        _ => Seen::Broken,
    }
}

/// Which bytes stand after a backslash that is not itself escaped. Runs of backslashes are resolved for all 64 bytes at
/// once: adding to the start of a run that begins at an odd position carries through the run.
#[inline(always)]
fn escaped_bytes(backslash: u64, carry: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let first = u64::from(*carry);
    let backslash = backslash & !first;
    let follows = backslash << 1 | first;
    let odd_starts = backslash & !EVEN & !follows;
    let (even_runs, overflow) = odd_starts.overflowing_add(backslash);
    *carry = overflow;
    (EVEN ^ even_runs << 1) & follows
}

/// Whether each escaped `u` is followed by four hexadecimal digits.
#[inline(always)]
fn hex_follows(mut escaped: u64, bytes: &[u8], at: usize) -> bool {
    while escaped != 0 {
        let letter = at + escaped.trailing_zeros() as usize;
        escaped &= escaped - 1;
        if bytes.get(letter) == Some(&b'u') {
            let digits = bytes.get(letter + 1..letter + 5);
            if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                return false;
            }
        }
    }
    true
}

struct Sse2;

impl Look for Sse2 {
    #[inline(always)]
    unsafe fn masks(bytes: *const u8) -> Masks {
        let mut masks = Masks { quote: 0, backslash: 0, control: 0 };
        for part in 0..4 {
            // SAFETY: the caller promises 64 bytes; SSE2 is part of x86-64.
            unsafe {
                let text = _mm_loadu_si128(bytes.add(part * 16).cast());
                let bits = |found: __m128i| u64::from(_mm_movemask_epi8(found) as u16) << (part * 16);
                masks.quote |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'"' as i8)));
                masks.backslash |= bits(_mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8)));
                masks.control |= bits(_mm_cmpeq_epi8(_mm_min_epu8(text, _mm_set1_epi8(0x1f)), text));
            }
        }
        masks
    }

    #[inline(always)]
    unsafe fn letters(bytes: *const u8) -> u64 {
        let mut letters = 0;
        for part in 0..4 {
            // SAFETY: the caller promises 64 bytes; SSE2 is part of x86-64.
            unsafe {
                let text = _mm_loadu_si128(bytes.add(part * 16).cast());
                let any = |set: [u8; 8]| {
                    set.iter().fold(_mm_setzero_si128(), |all, &one| {
                        _mm_or_si128(all, _mm_cmpeq_epi8(text, _mm_set1_epi8(one as i8)))
                    })
                };
                let slash = _mm_cmpeq_epi8(text, _mm_set1_epi8(b'\\' as i8));
                let found = _mm_or_si128(any(*b"\"/bfnrtu"), slash);
                letters |= u64::from(_mm_movemask_epi8(found) as u16) << (part * 16);
            }
        }
        letters
    }
}

struct Avx2;

/// For each low half of a byte, the high halves with which it is a letter that may follow a backslash: bit 0 for 2,
/// bit 1 for 5, bit 2 for 6, bit 3 for 7.
const LOW: [u8; 16] = [0, 0, 1 | 4 | 8, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1];

/// For each high half, its bit in `LOW`.
const HIGH: [u8; 16] = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0];

impl Look for Avx2 {
    #[inline(always)]
    unsafe fn masks(bytes: *const u8) -> Masks {
        let mut masks = Masks { quote: 0, backslash: 0, control: 0 };
        for part in 0..2 {
            // SAFETY: the caller promises 64 bytes and AVX2.
            unsafe {
                let text = _mm256_loadu_si256(bytes.add(part * 32).cast());
                let bits = |found: __m256i| u64::from(_mm256_movemask_epi8(found) as u32) << (part * 32);
                masks.quote |= bits(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'"' as i8)));
                masks.backslash |= bits(_mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\\' as i8)));
                masks.control |= bits(_mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(0x1f)), text));
            }
        }
        masks
    }

    #[inline(always)]
    unsafe fn letters(bytes: *const u8) -> u64 {
        let mut letters = 0;
        for part in 0..2 {
            // SAFETY: the caller promises 64 bytes and AVX2; both tables are 16 bytes.
            unsafe {
                let text = _mm256_loadu_si256(bytes.add(part * 32).cast());
                let table =
                    |table: &[u8; 16]| _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
                let half = _mm256_set1_epi8(0x0f);
                let low = _mm256_shuffle_epi8(table(&LOW), _mm256_and_si256(text, half));
                let high =
                    _mm256_shuffle_epi8(table(&HIGH), _mm256_and_si256(_mm256_srli_epi16(text, 4), half));
                let none = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
                letters |= u64::from(!_mm256_movemask_epi8(none) as u32) << (part * 32);
            }
        }
        letters
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::twin::kernels_agree;

    fn agree(bytes: &[u8]) {
        for from in 0..=bytes.len().min(3) {
            kernels_agree(bytes, from);
        }
    }

    #[test]
    fn every_byte_at_every_place_gets_the_scalar_verdict() {
        for length in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 130] {
            for at in 0..length {
                for byte in [0, 0x1f, 0x20, b'"', b'\\', b'n', b'u', 0x7f, 0x80, 0xff] {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    text.push(b'"');
                    agree(&text);
                }
            }
        }
    }

    #[test]
    fn every_letter_after_a_backslash_gets_the_scalar_verdict() {
        for byte in 0..=255 {
            for before in [0, 14, 15, 62, 63, 64] {
                let mut text = vec![b'x'; before];
                text.extend([b'\\', byte]);
                text.extend(b"00e9 tail\"");
                agree(&text);
            }
        }
    }

    #[test]
    fn runs_of_backslashes_over_the_border_of_a_step_are_paired() {
        for before in 50..70 {
            for run in 0..80 {
                let mut text = vec![b'x'; before];
                text.extend(vec![b'\\'; run]);
                text.extend(b"\" \"");
                agree(&text);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn kernels_agree_with_the_scalar_walk(
            text in proptest::collection::vec(prop_oneof![
                8 => 0x20u8..0x7f, 2 => Just(b'\\'), 1 => Just(b'"'), 1 => Just(b'u'), 1 => Just(b'n'), 1 => Just(b'0'), 1 => any::<u8>()
            ], 0..300)
        ) {
            agree(&text);
        }
    }
}
