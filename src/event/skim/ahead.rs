//! Where strings begin and end, seen ahead of a walk.

#[cfg(test)]
mod tests;
#[cfg(any(test, fuzzing))]
pub(in crate::event) mod twin;

use super::kernel::{Kernel, Masks, STEP, Task};

/// Where a string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Index of the closing quote.
    pub(super) at: usize,
    /// Whether it may hold an escape: there is one near.
    pub(super) escaped: bool,
}

/// Steps that are looked at in one go: 75 instructions a step, where a look for each step by itself took 115.
const AHEAD: usize = 16;

/// Steps that are remembered: of those before a look, one or two are still of use.
const KEPT: usize = 32;

/// Bytes after a place of which one load tells.
const NEAR: usize = STEP - 7;

/// What was seen ahead of a walk: of each byte, whether it is a quote that begins or ends a string, or a backslash.
///
/// The end of a short string is found without a branch on where steps begin and end, which nothing predicts: that took a tenth
/// of all time on short lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    quotes: Bits,
    backslashes: Bits,
    /// The byte of the first bit.
    start: usize,
    /// Where the next look begins. It is no whole number of steps from the start if a look ended at the end of a line or of
    /// the text.
    end: usize,
    /// What the next look has to know.
    state: State,
}

/// A bit for each byte of the steps that were seen. It is kept in bytes, so that one load finds those from any place on; none
/// goes beyond the end.
#[derive(Clone, Copy, Debug)]
struct Bits([u8; (KEPT + 1) * 8]);

impl Default for Bits {
    fn default() -> Self {
        Self([0; (KEPT + 1) * 8])
    }
}

impl Bits {
    /// Those of the next bytes from here on, at least [`NEAR`] of them.
    #[inline(always)]
    fn from(&self, at: usize) -> u64 {
        let byte = at / 8 % (KEPT * 8);
        let (word, _) = self.0[byte..byte + 8].as_chunks::<8>();
        u64::from_le_bytes(word[0]) >> (at % 8)
    }

    /// Those of a step.
    #[inline(always)]
    fn of(&self, step: usize) -> u64 {
        u64::from_le_bytes(self.0.as_chunks::<8>().0[step % KEPT])
    }

    #[inline(always)]
    fn put(&mut self, step: usize, bits: u64) {
        self.0.as_chunks_mut::<8>().0[step % KEPT] = bits.to_le_bytes();
    }
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
        (self.start, self.end, self.state) = (at, at, State::default());
    }

    /// The end of the string that begins with the quote at `at`, where no string is open; `None` if there is none, or it is
    /// broken, or has no end.
    #[inline(always)]
    pub(super) fn string<K: Kernel>(&mut self, kernel: K, bytes: &[u8], at: usize) -> Option<End> {
        if at + NEAR > self.end {
            kernel.run(Reach { ahead: self, bytes, at })?;
        }
        let from = at.wrapping_sub(self.start);
        let quotes = self.quotes.from(from);
        let ends = quotes & quotes.wrapping_sub(1); // without the first
        if quotes & 1 == 0 {
            return None;
        }
        if ends == 0 {
            return kernel.run(Long {
                ahead: self,
                bytes,
                step: from / STEP,
                unseen: u64::MAX << (from % STEP) << 1,
            });
        }
        let within = ends ^ ends.wrapping_sub(1);
        Some(End {
            at: at + ends.trailing_zeros() as usize,
            escaped: self.backslashes.from(from) & within != 0,
        })
    }
}

/// Looks on, so that the next bytes from `at` are seen as far as there are any; `None` if not even the first is.
struct Reach<'s, 'a> {
    ahead: &'s mut Ahead,
    bytes: &'a [u8],
    at: usize,
}

impl Task for Reach<'_, '_> {
    type Done = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { ahead, bytes, at } = self;
        if at >= ahead.end {
            ahead.reset(at); // a walk that came here has checked what it did not see
        }
        let (seen, whole) = (ahead.end - ahead.start, (ahead.end - ahead.start).is_multiple_of(STEP));
        if whole {
            // What is before stays away, what is from here on is kept.
            let (passed, kept) = ((at - ahead.start) / STEP, seen.div_ceil(STEP));
            for bits in [&mut ahead.quotes, &mut ahead.backslashes] {
                bits.0.copy_within(passed * 8..kept * 8, 0);
            }
            ahead.start += passed * STEP;
            ahead.see(kept - passed, Seen::default());
            kernel.run(Look { ahead, bytes, kept: kept - passed });
        }
        (at < ahead.end).then_some(())
    }
}

/// The end of a string that is not near its beginning in this step.
struct Long<'s, 'a> {
    ahead: &'s mut Ahead,
    bytes: &'a [u8],
    step: usize,
    /// The bits of what comes after it there.
    unseen: u64,
}

impl Task for Long<'_, '_> {
    type Done = Option<End>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<End> {
        let Self { ahead, bytes, mut step, mut unseen } = self;
        let mut escaped = false;
        loop {
            let count = (ahead.end - ahead.start).div_ceil(STEP);
            while step < count {
                let quotes = ahead.quotes.of(step) & unseen;
                escaped |= ahead.backslashes.of(step) & unseen != 0;
                if quotes != 0 {
                    let at = ahead.start + step * STEP + quotes.trailing_zeros() as usize;
                    return Some(End { at, escaped });
                }
                step += 1;
                unseen = u64::MAX;
            }
            if !(ahead.end - ahead.start).is_multiple_of(STEP) {
                return None;
            }
            escaped |= ahead.pass(kernel, bytes);
            step = 0;
            kernel.run(Look { ahead, bytes, kept: 0 })?;
        }
    }
}

impl Ahead {
    /// Passes over the next steps that are all inside a string, as most of a log is, and keeps nothing of them but whether there
    /// was a backslash. A look would keep their bits, to be looked for again: that took 8 % of all time on long lines.
    #[inline(always)]
    fn pass<K: Kernel>(&mut self, kernel: K, bytes: &[u8]) -> bool {
        let (steps, _) = bytes.get(self.end..).unwrap_or_default().as_chunks();
        let (mut at, mut carry, mut backslashes) = (self.end, self.state.carry, 0);
        for step in steps {
            let step = Step { bytes, at, step, state: State { carry, inside: true } };
            let Some((Seen { quotes: 0, backslashes: some }, left)) = step.marks(kernel, u64::MAX) else {
                break;
            };
            if kernel.has_controls(step.step) {
                break;
            }
            backslashes |= some;
            carry = left;
            at += STEP;
        }
        (self.start, self.end, self.state.carry) = (at, at, carry);
        backslashes != 0
    }
}

/// Looks for quotes in the next steps, and at everything in them that may not stand in a string; `None` if there is such a
/// thing in the first of them. If it is in a later one, the look ends before: that may be another line, and then it is not
/// this line's fault.
struct Look<'s, 'a> {
    ahead: &'s mut Ahead,
    bytes: &'a [u8],
    /// How many steps are kept.
    kept: usize,
}

impl Task for Look<'_, '_> {
    type Done = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { ahead, bytes, kept } = self;
        let (start, mut at, mut state) = (ahead.end, ahead.end, ahead.state);
        let (steps, _) = bytes.get(at..)?.as_chunks();
        for (number, step) in (kept..kept + AHEAD).zip(steps) {
            let step = Step { bytes, at, step, state };
            let Some((seen, left)) = step.judge(kernel, u64::MAX) else { break };
            ahead.see(number, seen);
            state = left;
            at += STEP;
        }
        if at == start {
            return kernel.run(OneStep { ahead, bytes, kept });
        }
        ahead.see(kept + (at - start) / STEP, Seen::default()); // beyond the end there is nothing
        (ahead.end, ahead.state) = (at, state);
        Some(())
    }
}

/// Looks at a step in which something is wrong, up to the end of a line; or at the last one of a text, which has an end of
/// its own. Hardly ever run, and so not part of `Look`.
struct OneStep<'s, 'a> {
    ahead: &'s mut Ahead,
    bytes: &'a [u8],
    kept: usize,
}

impl Task for OneStep<'_, '_> {
    type Done = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { ahead, bytes, kept } = self;
        let rest = bytes.get(ahead.end..).filter(|rest| !rest.is_empty())?;
        // Padded with NULs, which no string may hold.
        let mut padded = [0; STEP];
        let length = rest.len().min(STEP);
        padded[..length].copy_from_slice(&rest[..length]);
        let step = Step { bytes, at: ahead.end, step: &padded, state: ahead.state };
        let ((seen, state), length) = match step.judge(kernel, u64::MAX) {
            Some(found) => (found, length),
            None => {
                let newline = padded.iter().position(|&byte| byte == b'\n')?;
                (step.judge(kernel, u64::MAX >> (STEP - 1 - newline))?, newline + 1)
            }
        };
        ahead.see(kept, seen);
        ahead.see(kept + 1, Seen::default());
        (ahead.end, ahead.state) = (ahead.end + length, state);
        Some(())
    }
}

/// What was seen in one step, a bit each: quotes that begin or end strings, and backslashes.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    quotes: u64,
    backslashes: u64,
}

impl Ahead {
    #[inline(always)]
    fn see(&mut self, step: usize, seen: Seen) {
        self.quotes.put(step, seen.quotes);
        self.backslashes.put(step, seen.backslashes);
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
        let (seen, carry) = self.marks(kernel, line)?;
        let inside = self.state.inside;
        if kernel.has_controls(self.step)
            && kernel.controls(self.step) & line & within(seen.quotes, inside) != 0
        {
            return None;
        }
        Some((seen, State { carry, inside: inside ^ (seen.quotes.count_ones() % 2 == 1) }))
    }

    /// Its quotes and backslashes, and whether the last of its bytes escapes the next; `None` if an escape in it is none.
    #[inline(always)]
    fn marks<K: Kernel>(&self, kernel: K, line: u64) -> Option<(Seen, bool)> {
        let Masks { quote, backslash } = kernel.masks(self.step);
        let (mut quotes, backslashes, mut carry) = (quote & line, backslash & line, self.state.carry);
        if backslashes != 0 || carry {
            let escaped = escaped_bytes(backslashes, &mut carry);
            quotes &= !escaped;
            let others = kernel.not_short(self.step, escaped);
            if others != 0
                && (others & !kernel.codes(self.step) != 0 || !hex_follows(others, self.bytes, self.at))
            {
                return None;
            }
        }
        Some((Seen { quotes, backslashes }, carry))
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
