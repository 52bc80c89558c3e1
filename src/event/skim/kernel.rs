//! The string kernel: where JSON strings begin and end, 64 bytes a look.
//!
//! Over half of all bytes in a log stand inside long strings that nobody reads, and all of them are checked: control
//! characters, escapes, and the quote that ends them. In safe Rust with memchr2 that took 3.3 times as long as counting
//! newlines, with vectors about twice: so this one small module may use `unsafe`. SSE2 is always there on x86-64; AVX2 is
//! used where the processor has it.
#![expect(unsafe_code, reason = "vector loads; every block says why it is sound")]

#[cfg(test)]
mod tests;
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

/// Letters of escapes, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Letters {
    /// Those that may follow a backslash.
    any: u64,
    /// Those that begin a code of four digits.
    u: u64,
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

/// Steps that are looked at in one go: 75 instructions a step, where a look for each step by itself took 115.
const AHEAD: usize = 16;

/// What was seen ahead of a walk, step by step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    steps: [Seen; AHEAD],
    /// How many of them were seen.
    count: usize,
    /// Where the first of them begins.
    start: usize,
    /// Where the next look begins.
    end: usize,
    /// What it has to know.
    state: State,
}

/// What was seen in one step, a bit each: quotes that begin or end strings, and backslashes.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    quotes: u64,
    backslashes: u64,
}

/// What a step leaves to the next.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Whether the last byte is a backslash that escapes the next.
    carry: bool,
    /// Whether a string has begun and not ended.
    inside: bool,
}

impl Ahead {
    /// Nothing yet; the next look begins at `at`, outside of strings.
    #[inline]
    pub(super) fn reset(&mut self, at: usize) {
        (self.count, self.end, self.state) = (0, at, State::default());
    }
}

/// The quotes of the step that a walk has come to. A string is found by taking two bits off a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quotes {
    /// Where the step begins.
    from: usize,
    /// Its quotes that were not passed yet.
    left: u64,
    /// Its backslashes.
    backslashes: u64,
    /// Which step is the next.
    step: usize,
}

impl Quotes {
    /// Passes over the quote at `at`, which begins a string, if it is in this step.
    #[inline(always)]
    pub(super) fn opens(&mut self, at: usize) -> bool {
        let opens = self.left != 0 && self.next() == at;
        if opens {
            self.pass();
        }
        opens
    }

    /// The same if it is in a later one.
    #[inline(always)]
    pub(super) fn open<K: Kernel>(
        &mut self,
        kernel: K,
        ahead: &mut Ahead,
        bytes: &[u8],
        at: usize,
    ) -> Option<()> {
        while self.left == 0 {
            self.advance(kernel, ahead, bytes)?;
        }
        self.opens(at).then_some(())
    }

    /// Passes over the quote that ends the string whose first quote at `from` was passed; `None` if the string is broken or
    /// has no end.
    #[inline(always)]
    pub(super) fn close<K: Kernel>(
        &mut self,
        kernel: K,
        ahead: &mut Ahead,
        bytes: &[u8],
        from: usize,
    ) -> Option<End> {
        let mut backslashes = self.backslashes >> (from.wrapping_sub(self.from) % STEP);
        while self.left == 0 {
            self.advance(kernel, ahead, bytes)?;
            backslashes |= self.backslashes;
        }
        let at = self.next();
        self.pass();
        Some(End { at, escaped: backslashes != 0 })
    }

    /// Goes to the next step.
    #[inline(always)]
    fn advance<K: Kernel>(&mut self, kernel: K, ahead: &mut Ahead, bytes: &[u8]) -> Option<()> {
        if self.step >= ahead.count {
            kernel.run(Look { bytes, ahead })?;
            self.step = 0;
        }
        let Seen { quotes, backslashes } = ahead.steps[self.step % AHEAD];
        (self.left, self.backslashes) = (quotes, backslashes);
        self.from = ahead.start + self.step * STEP;
        self.step += 1;
        Some(())
    }

    #[inline(always)]
    fn next(&self) -> usize {
        self.from + self.left.trailing_zeros() as usize
    }

    #[inline(always)]
    fn pass(&mut self) {
        self.left &= self.left.wrapping_sub(1);
    }
}

/// Looks for quotes in the next steps, and at everything in them that may not stand in a string; `None` if there is such a
/// thing in the first of them. If it is in a later one, the look ends before: that may be another line, and then it is not
/// this line's fault.
struct Look<'s, 'a> {
    bytes: &'a [u8],
    ahead: &'s mut Ahead,
}

impl Task for Look<'_, '_> {
    type Done = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { bytes, ahead } = self;
        let (start, mut at, mut state) = (ahead.end, ahead.end, ahead.state);
        for seen in &mut ahead.steps {
            let Some(step) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { break };
            let step = Step { bytes, at, step, state };
            let Some(found) = step.judge(kernel, u64::MAX) else { break };
            (*seen, state) = found;
            at += STEP;
        }
        if at == start {
            return kernel.run(OneStep { bytes, ahead });
        }
        (ahead.start, ahead.end, ahead.count, ahead.state) = (start, at, (at - start) / STEP, state);
        Some(())
    }
}

/// Looks at a step in which something is wrong, up to the end of a line; or at the last one of a text, which has an end of
/// its own. Hardly ever run, and so not part of `Look`.
struct OneStep<'s, 'a> {
    bytes: &'a [u8],
    ahead: &'s mut Ahead,
}

impl Task for OneStep<'_, '_> {
    type Done = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { bytes, ahead } = self;
        let rest = bytes.get(ahead.end..).filter(|rest| !rest.is_empty())?;
        // Padded with NULs, which no string may hold.
        let mut padded = [0; STEP];
        let length = rest.len().min(STEP);
        padded[..length].copy_from_slice(&rest[..length]);
        let step = Step { bytes, at: ahead.end, step: &padded, state: ahead.state };
        let (found, length) = match step.judge(kernel, u64::MAX) {
            Some(found) => (found, STEP),
            None => {
                let newline = padded.iter().position(|&byte| byte == b'\n')?;
                (step.judge(kernel, u64::MAX >> (STEP - 1 - newline))?, newline + 1)
            }
        };
        (ahead.steps[0], ahead.state) = found;
        (ahead.start, ahead.end, ahead.count) = (ahead.end, ahead.end + length, 1);
        Some(())
    }
}

/// One step, and what the one before left to it.
#[derive(Clone, Copy)]
struct Step<'s, 'a> {
    bytes: &'a [u8],
    at: usize,
    step: &'s [u8; STEP],
    state: State,
}

impl Step<'_, '_> {
    /// What is seen in those of its bytes that count; `None` if a string in it is broken.
    #[inline(always)]
    fn judge<K: Kernel>(&self, kernel: K, line: u64) -> Option<(Seen, State)> {
        let Masks { quote, backslash, control } = kernel.masks(self.step);
        let State { mut carry, inside } = self.state;
        let (mut quotes, backslashes) = (quote & line, backslash & line);
        if backslashes != 0 || carry {
            let escaped = escaped_bytes(backslashes, &mut carry);
            quotes &= !escaped;
            let Letters { any, u } = kernel.letters(self.step);
            if escaped & !any != 0 || !hex_follows(escaped & u, self.bytes, self.at) {
                return None;
            }
        }
        if control != 0 && control & line & within(quotes, inside) != 0 {
            return None;
        }
        let inside = inside ^ (quotes.count_ones() % 2 == 1);
        Some((Seen { quotes, backslashes }, State { carry, inside }))
    }
}

/// Which bytes stand inside strings: each has an odd number of quotes at or before it.
#[inline(always)]
fn within(quotes: u64, already: bool) -> u64 {
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

/// Whether four hexadecimal digits follow each of these letters.
#[inline(always)]
fn hex_follows(mut letters: u64, bytes: &[u8], at: usize) -> bool {
    while letters != 0 {
        let letter = at + letters.trailing_zeros() as usize;
        letters &= letters - 1;
        let digits = bytes.get(letter + 1..letter + 5);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return false;
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
