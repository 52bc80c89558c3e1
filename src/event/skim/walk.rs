//! A walk over JSON text that validates every byte it passes and builds nothing.
//!
//! All methods are inlined into the task that runs the walk, because only there the compiler may use the
//! kernel's instructions. A `Walk` never leaves its task, so that its position stays in a register.

use std::marker::PhantomData;

use super::{
    kernel::{Kernel, Task},
    predictor::{Cursor, KeyPredictor, Slot},
    string_index::{StringEnd, StringIndex},
};
use crate::event::{
    fields::{Fields, Key},
    json::Json,
};

/// Ends the walk: the text is invalid, or the fast path does not handle it. The caller falls back to the
/// obvious path.
///
/// It carries no message, because the obvious path decides and reports the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fallback;

/// Result of a method of the walk.
pub(super) type WalkResult<T> = Result<T, Fallback>;

/// Nesting depth up to which containers are skipped: one bit of a `u64` per level.
const MAX_DEPTH: u32 = 63;

/// The state from which a walk starts, or continues in another task.
#[derive(Debug)]
pub(super) struct WalkStart<'w, 'a> {
    text: &'a str,
    at: usize,
    index: &'w mut StringIndex,
    predictor: &'w mut KeyPredictor,
    /// Whether a newline is whitespace. Otherwise it ends the record.
    multiline: bool,
}

impl<'w, 'a> WalkStart<'w, 'a> {
    /// Starts at offset `at` of a text of lines.
    #[inline]
    pub(super) fn at(
        text: &'a str,
        at: usize,
        index: &'w mut StringIndex,
        predictor: &'w mut KeyPredictor,
    ) -> Self {
        Self { text, at, index, predictor, multiline: false }
    }

    /// Starts at the beginning of a text that is one value, possibly on several lines.
    #[inline]
    pub(super) fn multiline(
        text: &'a str,
        index: &'w mut StringIndex,
        predictor: &'w mut KeyPredictor,
    ) -> Self {
        Self { multiline: true, ..Self::at(text, 0, index, predictor) }
    }

    #[inline(always)]
    pub(super) fn walk<K: Kernel>(self, kernel: K) -> Walk<'w, 'a, K> {
        let Self { text, at, index, predictor, multiline } = self;
        Walk { kernel, text, bytes: text.as_bytes(), at, index, predictor, multiline }
    }
}

/// The next part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextKey {
    /// A key was skipped, and its value follows.
    Value(Slot),
    /// The object was closed.
    End,
}

/// A walk over a text, at position `at`.
#[derive(Debug)]
pub(super) struct Walk<'w, 'a, K> {
    kernel: K,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    index: &'w mut StringIndex,
    predictor: &'w mut KeyPredictor,
    multiline: bool,
}

impl<'a, K: Kernel> Walk<'_, 'a, K> {
    #[inline(always)]
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Lets another task walk from here, and continues where it stopped.
    ///
    /// A task is a function of its own. That keeps the code for a record small, and made no measurable
    /// difference in speed.
    #[inline(always)]
    pub(super) fn delegate<'s, T: Task<Output = WalkResult<usize>>>(
        &'s mut self,
        task: impl FnOnce(WalkStart<'s, 'a>) -> T,
    ) -> WalkResult<()> {
        let Self { kernel, text, at, ref mut index, ref mut predictor, multiline, .. } = *self;
        let start = WalkStart { text, at, index, predictor, multiline };
        self.at = kernel.run(task(start))?;
        Ok(())
    }

    /// Skips whitespace and returns the next byte, or 0 at the end of the text. No value begins with 0.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u8 {
        match self.bytes.get(self.at) {
            Some(&byte) if byte > b' ' => byte,
            _ => {
                let byte;
                (self.at, byte) = skip_blanks(self.bytes, self.at, self.multiline);
                byte
            }
        }
    }

    /// Returns whether only whitespace is left of the line, or of the text.
    #[inline(always)]
    pub(super) fn at_line_end(&mut self) -> bool {
        self.bytes.get(self.at) == Some(&b'\n') || self.peek() == b'\n' || self.at == self.bytes.len()
    }

    /// Skips whitespace and this byte.
    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> WalkResult<()> {
        if self.bytes.get(self.at) != Some(&byte) && self.peek() != byte {
            return Err(Fallback);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips the string that begins here. Returns the offset after its opening quote, and its end.
    #[inline(always)]
    fn string(&mut self) -> WalkResult<(usize, StringEnd)> {
        let from = self.at;
        let end = self.index.string_end(self.kernel, self.bytes, from).ok_or(Fallback)?;
        self.at = end.at + 1;
        Ok((from + 1, end))
    }

    /// Enters the object or array that ends with `close`, and returns whether it has an element.
    ///
    /// If it is empty, the closing bracket is skipped too.
    #[inline(always)]
    pub(super) fn enter(&mut self, close: u8) -> WalkResult<bool> {
        self.expect(close - 2)?; // in ASCII both pairs of brackets are two apart
        if self.peek() == close {
            self.at += 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// Skips the comma or closing bracket after an element, and returns whether another element follows.
    #[inline(always)]
    pub(super) fn more(&mut self, close: u8) -> WalkResult<bool> {
        let next = self.peek();
        if next != b',' && next != close {
            return Err(Fallback);
        }
        self.at += 1;
        Ok(next == b',')
    }

    /// Positions the key cursor at the start of a record.
    #[inline(always)]
    pub(super) fn start(&mut self) -> Cursor {
        self.predictor.start()
    }

    /// Moves from after a key to inside its value.
    #[inline(always)]
    pub(super) fn descend(&self, after: Cursor) -> Cursor {
        self.predictor.descend(after)
    }

    /// Skips the next key with the bracket or comma before it and the colon after it, or the closing bracket
    /// of the object.
    ///
    /// `first` says whether it is the first key, which follows the opening bracket.
    #[inline(always)]
    pub(super) fn key<F: Fields<'a>>(&mut self, cursor: &mut Cursor, first: bool) -> WalkResult<NextKey> {
        let rest = self.bytes.get(self.at..).ok_or(Fallback)?;
        if let Some(head) = rest.first_chunk()
            && let Some((slot, length)) = self.predictor.predict(cursor, head)
        {
            self.at += length;
            return Ok(NextKey::Value(slot));
        }
        if !first && self.bytes.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(NextKey::End);
        }
        let Self { kernel, text, at, ref mut index, ref mut predictor, multiline, .. } = *self;
        let start = WalkStart { text, at, index, predictor, multiline };
        let next;
        (self.at, next, *cursor) = kernel.run(ReadKey::<F>(start, *cursor, first, PhantomData))?;
        Ok(next)
    }

    /// Skips a key and its colon, and returns the offsets of its text.
    ///
    /// Falls back if the key has an escape: it may be a wanted key in another spelling.
    #[inline(always)]
    fn plain_key(&mut self) -> WalkResult<(usize, usize)> {
        let (start, end) = self.string()?;
        if end.escaped && self.bytes[start..end.at].contains(&b'\\') {
            return Err(Fallback);
        }
        self.expect(b':')?;
        Ok((start, end.at))
    }

    /// Skips a key and its colon, and returns the key.
    #[inline(always)]
    pub(super) fn key_text(&mut self) -> WalkResult<&'a str> {
        if self.peek() != b'"' {
            return Err(Fallback);
        }
        let (start, end) = self.plain_key()?;
        self.text.get(start..end).ok_or(Fallback)
    }

    /// Skips a value and returns it.
    #[inline(always)]
    pub(super) fn value(&mut self) -> WalkResult<Json<'a>> {
        // Nearly all values are strings.
        if self.bytes.get(self.at) == Some(&b'"') {
            let from = self.at;
            let (_, end) = self.string()?;
            return self.value_since(from, !end.escaped);
        }
        let (from, first) = self.value_start();
        let plain = self.skip_value(first)?;
        self.value_since(from, plain)
    }

    /// Skips whitespace, and returns the position and first byte of the next value.
    #[inline(always)]
    pub(super) fn value_start(&mut self) -> (usize, u8) {
        let first = self.peek();
        (self.at, first)
    }

    /// Returns the value that was just skipped. It began at `from`; `plain` says that it is a string without
    /// escapes.
    #[inline(always)]
    pub(super) fn value_since(&self, from: usize, plain: bool) -> WalkResult<Json<'a>> {
        self.text.get(from..self.at).map(|text| Json::scanned(text, plain)).ok_or(Fallback)
    }

    /// Skips the value that begins here with the byte `first`, and returns whether it is a string without
    /// escapes.
    #[inline(always)]
    pub(super) fn skip_value(&mut self, first: u8) -> WalkResult<bool> {
        match first {
            b'"' => return Ok(!self.string()?.1.escaped),
            b'{' | b'[' => self.delegate(SkipContainer)?,
            _ => self.skip_scalar()?,
        }
        Ok(false)
    }

    /// Skips a value.
    #[inline(always)]
    pub(super) fn skip(&mut self) -> WalkResult<()> {
        let first = self.peek();
        self.skip_value(first).map(drop)
    }

    /// Skips a number, `true`, `false` or `null`.
    #[inline(always)]
    fn skip_scalar(&mut self) -> WalkResult<()> {
        self.at = scalar_end(self.bytes, self.at)?;
        Ok(())
    }
}

/// Skips a key that was not predicted, looks up its slot, and teaches it to the predictor.
struct ReadKey<'w, 'a, F>(WalkStart<'w, 'a>, Cursor, bool, PhantomData<F>);

impl<'a, F: Fields<'a>> Task for ReadKey<'_, 'a, F> {
    type Output = WalkResult<(usize, NextKey, Cursor)>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Self::Output {
        let Self(start, cursor, first, _) = self;
        let mut walk = start.walk(kernel);
        let (from, before) = walk.value_start();
        walk.at += 1;
        match (first, before) {
            (true, b'{') | (false, b',') => {}
            (false, b'}') => return Ok((walk.position(), NextKey::End, cursor)),
            _ => return Err(Fallback),
        }
        match (first, walk.peek()) {
            (_, b'"') => {}
            (true, b'}') => {
                walk.at += 1;
                return Ok((walk.position(), NextKey::End, cursor));
            }
            _ => return Err(Fallback),
        }
        let (start, end) = walk.plain_key()?;
        let slot = Slot::of(F::slot(Key::before(&walk.bytes[start..], end - start)));
        // Only keys without whitespace around them are learned.
        let tight = start == from + 2 && walk.at == end + 2;
        let text = walk.bytes.get(from..walk.at).filter(|_| tight);
        let cursor = text.map_or(Cursor::UNKNOWN, |text| walk.predictor.learn(cursor, text, slot));
        Ok((walk.position(), NextKey::Value(slot), cursor))
    }
}

/// Skips an object or array.
struct SkipContainer<'w, 'a>(WalkStart<'w, 'a>);

impl Task for SkipContainer<'_, '_> {
    type Output = WalkResult<usize>;

    /// `objects` has one bit per open container, which is set for an object.
    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> WalkResult<usize> {
        let mut walk = self.0.walk(kernel);
        let (mut objects, mut depth) = (0u64, 0u32);
        'value: loop {
            // Before a value, or before a key and its value.
            if objects & 1 == 1 {
                if walk.peek() != b'"' {
                    return Err(Fallback);
                }
                walk.string()?;
                walk.expect(b':')?;
            }
            match walk.peek() {
                b'"' => drop(walk.string()?),
                open @ (b'{' | b'[') => {
                    if depth == MAX_DEPTH {
                        return Err(Fallback);
                    }
                    walk.at += 1;
                    objects = objects << 1 | u64::from(open == b'{');
                    depth += 1;
                    if walk.peek() != open + 2 {
                        continue 'value;
                    }
                    // It is empty: the loop below closes it.
                }
                _ => walk.skip_scalar()?,
            }
            // After a value.
            loop {
                let next = walk.peek();
                walk.at += 1;
                if next == b',' {
                    continue 'value;
                }
                if next != if objects & 1 == 1 { b'}' } else { b']' } {
                    return Err(Fallback);
                }
                objects >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(walk.position());
                }
            }
        }
    }
}

/// Returns the next byte that is not whitespace and its offset; the byte is 0 at the end of the text.
#[cold]
#[inline(never)]
fn skip_blanks(bytes: &[u8], mut at: usize, multiline: bool) -> (usize, u8) {
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r') => at += 1,
            Some(b'\n') if multiline => at += 1,
            Some(&byte) => return (at, byte),
            None => return (at, 0),
        }
    }
}

/// Returns the end of a number, `true`, `false` or `null`.
#[inline(always)]
fn scalar_end(bytes: &[u8], at: usize) -> WalkResult<usize> {
    let rest = bytes.get(at..).ok_or(Fallback)?;
    let Some(head) = rest.first_chunk::<8>() else { return number_end(bytes, at) };
    let digits = digits(*head);
    match (head[digits % 8], head) {
        // Nearly all numbers are short and whole.
        (b',' | b'}' | b']', _) if digits == 1 || digits > 1 && head[0] != b'0' => Ok(at + digits),
        (_, [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..]) => Ok(at + 4),
        (_, [b'f', b'a', b'l', b's', b'e', ..]) => Ok(at + 5),
        _ => number_end(bytes, at),
    }
}

/// Counts the leading digits, eight bytes at a time.
#[inline(always)]
fn digits(head: [u8; 8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = u64::from_le_bytes(head) ^ (b'0' as u64 * EACH);
    // A byte that is not below ten has its highest bit set, or gets it by the addition. No byte carries into
    // the next.
    let others = (low | ((low & (0x7f * EACH)) + 0x76 * EACH)) & (0x80 * EACH);
    others.trailing_zeros() as usize / 8
}

/// Like [`scalar_end`], for numbers with a sign, fraction or exponent and at the end of the text.
#[inline(never)]
fn number_end(bytes: &[u8], mut at: usize) -> WalkResult<usize> {
    for literal in ["true", "false", "null"] {
        if bytes[at..].starts_with(literal.as_bytes()) {
            return Ok(at + literal.len());
        }
    }
    let take = |at: &mut usize, byte: u8| {
        let is = bytes.get(*at) == Some(&byte);
        *at += usize::from(is);
        is
    };
    let digits = |at: &mut usize| {
        let from = *at;
        while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        if *at == from { Err(Fallback) } else { Ok(()) }
    };
    take(&mut at, b'-');
    if !take(&mut at, b'0') {
        digits(&mut at)?;
    }
    if take(&mut at, b'.') {
        digits(&mut at)?;
    }
    if take(&mut at, b'e') || take(&mut at, b'E') {
        if !take(&mut at, b'+') {
            take(&mut at, b'-');
        }
        digits(&mut at)?;
    }
    Ok(at)
}
