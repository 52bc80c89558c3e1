//! An index of the quotes and backslashes ahead of a walk, which finds the end of a string without reading
//! its bytes.

#[cfg(any(test, fuzzing))]
pub(in crate::event) mod reference;
#[cfg(test)]
mod tests;

use super::kernel::{CHUNK, Kernel, Masks, Task};

/// The end of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringEnd {
    /// Index of the closing quote.
    pub(super) at: usize,
    /// Whether the string may hold an escape. `false` is certain; `true` means that there is a backslash
    /// nearby.
    pub(super) escaped: bool,
}

/// Chunks that are indexed at a time. One chunk takes 75 instructions this way, and 115 if each is indexed by
/// itself.
const LOOKAHEAD: usize = 16;

/// Chunks that the index holds: the new ones, and one or two that are still needed when they are added.
const CAPACITY: usize = 32;

/// Number of bits that one load from any position returns at least: the position may be up to 7 bits into a
/// byte.
const WINDOW: usize = CHUNK - 7;

/// Quotes that begin or end strings, and backslashes, in the chunks ahead of a walk.
///
/// Finding the end of a short string takes no branch on chunk boundaries. Such a branch is unpredictable, and
/// cost 10 % of the time on short lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StringIndex {
    quotes: Bitmap,
    backslashes: Bitmap,
    /// Offset of the byte that bit 0 belongs to.
    start: usize,
    /// Offset of the first byte that is not indexed. It is not a whole number of chunks after `start` if
    /// indexing stopped at the end of a line or of the text.
    end: usize,
    /// State at `end`.
    state: ScanState,
}

/// One bit per indexed byte. The bits are stored as bytes, so that a single load returns those from any
/// position on. Positions are taken modulo the capacity, which saves bounds checks.
#[derive(Clone, Copy, Debug)]
struct Bitmap([u8; (CAPACITY + 1) * 8]);

impl Default for Bitmap {
    fn default() -> Self {
        Self([0; (CAPACITY + 1) * 8])
    }
}

impl Bitmap {
    /// Returns at least [`WINDOW`] bits from position `at` on.
    #[inline(always)]
    fn window(&self, at: usize) -> u64 {
        let byte = at / 8 % (CAPACITY * 8);
        let (word, _) = self.0[byte..byte + 8].as_chunks::<8>();
        u64::from_le_bytes(word[0]) >> (at % 8)
    }

    /// Returns the bits of a chunk.
    #[inline(always)]
    fn get(&self, chunk: usize) -> u64 {
        u64::from_le_bytes(self.0.as_chunks::<8>().0[chunk % CAPACITY])
    }

    #[inline(always)]
    fn set(&mut self, chunk: usize, bits: u64) {
        self.0.as_chunks_mut::<8>().0[chunk % CAPACITY] = bits.to_le_bytes();
    }
}

/// State that is carried from one chunk to the next.
#[derive(Clone, Copy, Debug, Default)]
struct ScanState {
    /// Whether the last byte is a backslash that escapes the next one.
    escape: bool,
    /// Whether a string is open.
    in_string: bool,
}

impl StringIndex {
    /// Clears the index. Indexing continues at `at`, outside of strings.
    #[inline]
    pub(super) fn reset(&mut self, at: usize) {
        (self.start, self.end, self.state) = (at, at, ScanState::default());
    }

    /// Finds the end of the string whose opening quote is at `at`.
    ///
    /// Returns `None` if there is no quote at `at`, or the string is invalid or has no end.
    #[inline(always)]
    pub(super) fn string_end<K: Kernel>(&mut self, kernel: K, bytes: &[u8], at: usize) -> Option<StringEnd> {
        if at + WINDOW > self.end {
            kernel.run(Extend { index: self, bytes, at })?;
        }
        let from = at.wrapping_sub(self.start);
        let quotes = self.quotes.window(from);
        let ends = quotes & quotes.wrapping_sub(1); // without the first
        if quotes & 1 == 0 {
            return None;
        }
        if ends == 0 {
            return kernel.run(LongString {
                index: self,
                bytes,
                chunk: from / CHUNK,
                remaining: u64::MAX << (from % CHUNK) << 1,
            });
        }
        let inside = ends ^ ends.wrapping_sub(1);
        Some(StringEnd {
            at: at + ends.trailing_zeros() as usize,
            escaped: self.backslashes.window(from) & inside != 0,
        })
    }
}

/// Extends the index, so that it holds the next [`WINDOW`] bytes from `at` on, or all that are left.
///
/// Returns `None` if not even the byte at `at` can be indexed.
struct Extend<'s, 'a> {
    index: &'s mut StringIndex,
    bytes: &'a [u8],
    at: usize,
}

impl Task for Extend<'_, '_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { index, bytes, at } = self;
        if at >= index.end {
            index.reset(at); // the walk itself has checked the bytes that were not indexed
        }
        let (length, whole) = (index.end - index.start, (index.end - index.start).is_multiple_of(CHUNK));
        if whole {
            // Drop the chunks before `at` and move the others to the front.
            let (passed, indexed) = ((at - index.start) / CHUNK, length.div_ceil(CHUNK));
            for bits in [&mut index.quotes, &mut index.backslashes] {
                bits.0.copy_within(passed * 8..indexed * 8, 0);
            }
            index.start += passed * CHUNK;
            index.store(indexed - passed, Marks::default());
            kernel.run(IndexChunks { index, bytes, kept: indexed - passed });
        }
        (at < index.end).then_some(())
    }
}

/// Finds the end of a string that does not end within the window of its opening quote.
struct LongString<'s, 'a> {
    index: &'s mut StringIndex,
    bytes: &'a [u8],
    /// The chunk of the opening quote.
    chunk: usize,
    /// The bits of that chunk after the quote.
    remaining: u64,
}

impl Task for LongString<'_, '_> {
    type Output = Option<StringEnd>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<StringEnd> {
        let Self { index, bytes, mut chunk, mut remaining } = self;
        let mut escaped = false;
        loop {
            let count = (index.end - index.start).div_ceil(CHUNK);
            while chunk < count {
                let quotes = index.quotes.get(chunk) & remaining;
                escaped |= index.backslashes.get(chunk) & remaining != 0;
                if quotes != 0 {
                    let at = index.start + chunk * CHUNK + quotes.trailing_zeros() as usize;
                    return Some(StringEnd { at, escaped });
                }
                chunk += 1;
                remaining = u64::MAX;
            }
            if !(index.end - index.start).is_multiple_of(CHUNK) {
                return None;
            }
            escaped |= index.skip_inside_string(kernel, bytes);
            chunk = 0;
            kernel.run(IndexChunks { index, bytes, kept: 0 })?;
        }
    }
}

impl StringIndex {
    /// Skips the chunks that lie entirely inside the current string, as most of a log does, and returns
    /// whether they hold a backslash.
    ///
    /// Their bits are not stored: storing them and searching them again cost 8 % of the time on long lines.
    #[inline(always)]
    fn skip_inside_string<K: Kernel>(&mut self, kernel: K, bytes: &[u8]) -> bool {
        let (chunks, _) = bytes.get(self.end..).unwrap_or_default().as_chunks();
        let (mut at, mut escape, mut backslashes) = (self.end, self.state.escape, 0);
        for chunk in chunks {
            let chunk = Chunk { bytes, at, chunk, state: ScanState { escape, in_string: true } };
            let Some((Marks { quotes: 0, backslashes: some }, carried)) = chunk.marks(kernel, u64::MAX)
            else {
                break;
            };
            if kernel.has_controls(chunk.chunk) {
                break;
            }
            backslashes |= some;
            escape = carried;
            at += CHUNK;
        }
        (self.start, self.end, self.state.escape) = (at, at, escape);
        backslashes != 0
    }
}

/// Indexes the next chunks and checks the strings in them: no control characters, only valid escapes.
///
/// Returns `None` if the first chunk is invalid. If a later one is, indexing stops before it: the error may
/// be in another line, and then it does not concern this one.
struct IndexChunks<'s, 'a> {
    index: &'s mut StringIndex,
    bytes: &'a [u8],
    /// Number of chunks that are indexed already and stay.
    kept: usize,
}

impl Task for IndexChunks<'_, '_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { index, bytes, kept } = self;
        let (start, mut at, mut state) = (index.end, index.end, index.state);
        let (chunks, _) = bytes.get(at..)?.as_chunks();
        for (number, chunk) in (kept..kept + LOOKAHEAD).zip(chunks) {
            let chunk = Chunk { bytes, at, chunk, state };
            let Some((marks, carried)) = chunk.scan(kernel, u64::MAX) else { break };
            index.store(number, marks);
            state = carried;
            at += CHUNK;
        }
        if at == start {
            return kernel.run(IndexLastChunk { index, bytes, kept });
        }
        index.store(kept + (at - start) / CHUNK, Marks::default()); // a window may reach beyond the end
        (index.end, index.state) = (at, state);
        Some(())
    }
}

/// Indexes one chunk: the part before the newline of a chunk that is invalid as a whole, or the last bytes of
/// the text.
///
/// Rarely needed, and therefore not part of [`IndexChunks`].
struct IndexLastChunk<'s, 'a> {
    index: &'s mut StringIndex,
    bytes: &'a [u8],
    kept: usize,
}

impl Task for IndexLastChunk<'_, '_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<()> {
        let Self { index, bytes, kept } = self;
        let rest = bytes.get(index.end..).filter(|rest| !rest.is_empty())?;
        // Padded with NUL, which is invalid in a string.
        let mut padded = [0; CHUNK];
        let length = rest.len().min(CHUNK);
        padded[..length].copy_from_slice(&rest[..length]);
        let chunk = Chunk { bytes, at: index.end, chunk: &padded, state: index.state };
        let ((marks, state), length) = match chunk.scan(kernel, u64::MAX) {
            Some(found) => (found, length),
            None => {
                let newline = padded.iter().position(|&byte| byte == b'\n')?;
                (chunk.scan(kernel, u64::MAX >> (CHUNK - 1 - newline))?, newline + 1)
            }
        };
        index.store(kept, marks);
        index.store(kept + 1, Marks::default());
        (index.end, index.state) = (index.end + length, state);
        Some(())
    }
}

/// Quotes that begin or end strings, and backslashes, of one chunk. Bit `n` belongs to byte `n`.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    quotes: u64,
    backslashes: u64,
}

impl StringIndex {
    #[inline(always)]
    fn store(&mut self, chunk: usize, marks: Marks) {
        self.quotes.set(chunk, marks.quotes);
        self.backslashes.set(chunk, marks.backslashes);
    }
}

/// A chunk at offset `at` of `bytes`, and the state before it.
#[derive(Clone, Copy)]
struct Chunk<'s, 'a> {
    bytes: &'a [u8],
    at: usize,
    chunk: &'s [u8; CHUNK],
    state: ScanState,
}

impl Chunk<'_, '_> {
    /// Finds the marks among the bytes selected by `line`, and the state after them. Returns `None` if a
    /// string is invalid.
    #[inline(always)]
    fn scan<K: Kernel>(&self, kernel: K, line: u64) -> Option<(Marks, ScanState)> {
        let (marks, escape) = self.marks(kernel, line)?;
        let in_string = self.state.in_string;
        if kernel.has_controls(self.chunk)
            && kernel.controls(self.chunk) & line & string_mask(marks.quotes, in_string) != 0
        {
            return None;
        }
        Some((marks, ScanState { escape, in_string: in_string ^ (marks.quotes.count_ones() % 2 == 1) }))
    }

    /// Finds the marks, and whether the last byte escapes the next one. Returns `None` on an invalid escape.
    #[inline(always)]
    fn marks<K: Kernel>(&self, kernel: K, line: u64) -> Option<(Marks, bool)> {
        let Masks { quote, backslash } = kernel.masks(self.chunk);
        let (mut quotes, backslashes, mut escape) = (quote & line, backslash & line, self.state.escape);
        if backslashes != 0 || escape {
            let escaped = escaped_bytes(backslashes, &mut escape);
            quotes &= !escaped;
            let others = kernel.not_short_escape(self.chunk, escaped);
            if others != 0
                && (others & !kernel.find_u(self.chunk) != 0 || !hex_follows(others, self.bytes, self.at))
            {
                return None;
            }
        }
        Some((Marks { quotes, backslashes }, escape))
    }
}

/// Returns the bytes that are inside strings: those with an odd number of quotes at or before them, or an
/// even number if a string was open already.
#[inline(always)]
fn string_mask(quotes: u64, already_open: bool) -> u64 {
    let mut odd = quotes;
    for shift in [1, 2, 4, 8, 16, 32] {
        odd ^= odd << shift;
    }
    if already_open { !odd } else { odd }
}

/// Returns the bytes that follow a backslash that is not escaped itself. Runs of backslashes are resolved for
/// all 64 bytes at once: adding to the start of a run that begins at an odd position carries through the run.
///
/// `carry` says whether the first byte is escaped, and afterwards whether the byte after the chunk is.
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

/// Returns whether four hexadecimal digits follow each of these letters.
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
