//! The string kernel: where JSON strings begin and end, 64 bytes a look.
//!
//! Over half of all bytes in a log stand inside long strings that nobody reads, and all of them are checked: control
//! characters, escapes, and the quote that ends them. In safe Rust with memchr2 that took 3.3 times as long as counting
//! newlines, with vectors about twice: so this one small module may use `unsafe`. SSE2 is always there on x86-64; AVX2 is
//! used where the processor has it.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

#[cfg(any(test, fuzzing))]
pub(in crate::event) mod twin;

use std::{arch::x86_64::*, sync::LazyLock};

/// Bytes that are looked at at once.
const STEP: usize = 64;

/// Where a string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Index of the closing quote.
    pub(super) at: usize,
    /// Whether it may hold an escape: there is one near.
    pub(super) escaped: bool,
}

/// What one look finds, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    quote: u64,
    backslash: u64,
    control: u64,
}

/// A way to look at bytes with vectors. Who holds one knows that the processor has the instructions.
pub(super) trait Kernel: Copy {
    /// Quotes, backslashes and control characters.
    fn masks(self, bytes: &[u8; STEP]) -> Masks;
    /// Bytes that may follow a backslash.
    fn letters(self, bytes: &[u8; STEP]) -> u64;
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

/// The quotes that begin and end strings, as far ahead as the last look went.
///
/// A string is found by taking two bits off a word. Looks for each string by itself were as fast, within the noise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quotes {
    /// Where the look began.
    from: usize,
    /// Those that were not passed yet.
    ahead: u64,
    /// Where the last backslash ends that was seen so far.
    backslash: usize,
    /// Whether the last byte is a backslash that escapes the next.
    carry: bool,
}

impl Quotes {
    /// Passes over the quote at `at`, which begins a string, if it was seen ahead.
    #[inline(always)]
    pub(super) fn opens(&mut self, at: usize) -> bool {
        let opens = self.ahead != 0 && self.next() == at;
        if opens {
            self.pass();
        }
        opens
    }

    /// The same after a look from there.
    #[inline(always)]
    pub(super) fn open<K: Kernel>(&mut self, kernel: K, bytes: &[u8], at: usize) -> Option<()> {
        if self.ahead == 0 {
            *self = kernel.run(Look { bytes, from: at, carry: false, inside: false })?;
        }
        self.opens(at).then_some(())
    }

    /// Passes over the quote that ends the string which began before `from`; `None` if the string is broken or has no end.
    #[inline(always)]
    pub(super) fn close<K: Kernel>(&mut self, kernel: K, bytes: &[u8], from: usize) -> Option<End> {
        let mut escaped = self.backslash > from;
        if self.ahead == 0 {
            *self = kernel.run(Look { bytes, from: self.from + STEP, carry: self.carry, inside: true })?;
            escaped |= self.backslash > from;
        }
        let at = self.next();
        self.pass();
        Some(End { at, escaped })
    }

    #[inline(always)]
    fn next(&self) -> usize {
        self.from + self.ahead.trailing_zeros() as usize
    }

    #[inline(always)]
    fn pass(&mut self) {
        self.ahead &= self.ahead.wrapping_sub(1);
    }
}

/// Looks for quotes from a byte on, until there are any; and at everything on the way that may not stand in a string.
#[derive(Clone, Copy)]
struct Look<'a> {
    bytes: &'a [u8],
    from: usize,
    /// Whether the first byte is escaped.
    carry: bool,
    /// Whether a string has begun before.
    inside: bool,
}

impl Task for Look<'_> {
    type Done = Option<Quotes>;

    #[inline(always)]
    fn run<K: Kernel>(mut self, kernel: K) -> Option<Quotes> {
        let mut backslash = 0;
        while let Some(step) = self.bytes.get(self.from..).and_then(<[u8]>::first_chunk) {
            let quotes = self.step(kernel, step)?;
            backslash = backslash.max(quotes.backslash);
            if quotes.ahead != 0 {
                return Some(Quotes { backslash, ..quotes });
            }
            self.from += STEP;
            self.carry = quotes.carry;
        }
        // Less than a step is left: padded with NULs, which no string may hold.
        let rest = self.bytes.get(self.from..)?;
        let mut last = [0; STEP];
        last[..rest.len()].copy_from_slice(rest);
        let quotes = self.step(kernel, &last)?;
        (quotes.ahead != 0).then_some(Quotes { backslash: backslash.max(quotes.backslash), ..quotes })
    }
}

impl Look<'_> {
    /// The quotes of one step; `None` if a string in it is broken. What is wrong beyond the end of a line is not this
    /// line's fault.
    #[inline(always)]
    fn step<K: Kernel>(&self, kernel: K, step: &[u8; STEP]) -> Option<Quotes> {
        match self.judge(kernel, step, u64::MAX) {
            None => kernel.run(OneLine(*self, step)),
            quotes => quotes,
        }
    }

    /// The same for those of its bytes that count.
    #[inline(always)]
    fn judge<K: Kernel>(&self, kernel: K, step: &[u8; STEP], line: u64) -> Option<Quotes> {
        let Masks { quote, backslash, control } = kernel.masks(step);
        let (mut ahead, backslash, mut carry) = (quote & line, backslash & line, self.carry);
        if backslash != 0 || carry {
            let escaped = escaped_bytes(backslash, &mut carry);
            ahead &= !escaped;
            if escaped & !kernel.letters(step) != 0 || !hex_follows(escaped, self.bytes, self.from) {
                return None;
            }
        }
        if control != 0 && control & line & inside(ahead, self.inside) != 0 {
            return None;
        }
        let backslash = match backslash {
            0 => 0,
            some => self.from + STEP - some.leading_zeros() as usize,
        };
        Some(Quotes { from: self.from, ahead, backslash, carry })
    }
}

/// Judges a step in which something is wrong, up to the end of a line. Hardly ever run, and so not part of `Look`.
struct OneLine<'s, 'a>(Look<'a>, &'s [u8; STEP]);

impl Task for OneLine<'_, '_> {
    type Done = Option<Quotes>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<Quotes> {
        let Self(look, step) = self;
        let newline = step.iter().position(|&byte| byte == b'\n')?;
        look.judge(kernel, step, u64::MAX >> (STEP - 1 - newline))
    }
}

/// Which bytes stand inside strings: each has an odd number of quotes at or before it.
#[inline(always)]
fn inside(quotes: u64, already: bool) -> u64 {
    let mut odd = quotes;
    for shift in [1, 2, 4, 8, 16, 32] {
        odd ^= odd << shift;
    }
    if already { !odd } else { odd }
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
    fn letters(self, bytes: &[u8; STEP]) -> u64 {
        let mut letters = 0;
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
                let found = _mm_or_si128(any(*b"\"/bfnrtu"), slash);
                letters |= u64::from(_mm_movemask_epi8(found) as u16) << (part * 16);
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
    fn detect() -> Option<Self> {
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
    fn letters(self, bytes: &[u8; STEP]) -> u64 {
        let mut letters = 0;
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
                letters |= u64::from(!_mm256_movemask_epi8(none) as u32) << (part * 32);
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
