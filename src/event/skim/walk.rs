//! A validating walk over JSON text: everything that is passed is checked, nothing is built.
//!
//! What a walk does for each token is inlined into the task that it is part of, since only there the kernel's
//! instructions are known; and a walk never leaves its task, so that its position can stay in a register.

use std::marker::PhantomData;

use super::{
    ahead::{Ahead, End},
    kernel::{Kernel, Task},
    predictor::{Cursor, KeyPredictor, Slot},
};
use crate::event::{
    fields::{Fields, Key},
    json::Json,
};

/// Why the walk stops: broken, or something that the obvious path should look at.
///
/// It carries nothing, since the obvious path gives the verdict and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odd;

/// Result of a step of the walk.
pub(super) type Step<T> = Result<T, Odd>;

/// Deeper than this the obvious path takes over.
const DEEPEST: u32 = 63;

/// Where a walk begins, or goes on in another task.
#[derive(Debug)]
pub(super) struct Start<'w, 'a> {
    text: &'a str,
    at: usize,
    ahead: &'w mut Ahead,
    predictor: &'w mut KeyPredictor,
    /// Whether a line's end is a blank like others.
    over_lines: bool,
}

impl<'w, 'a> Start<'w, 'a> {
    /// At a byte of a text, with what was seen ahead from there; a line's end ends everything.
    #[inline]
    pub(super) fn at(
        text: &'a str,
        at: usize,
        ahead: &'w mut Ahead,
        predictor: &'w mut KeyPredictor,
    ) -> Self {
        Self { text, at, ahead, predictor, over_lines: false }
    }

    /// At the beginning of a text of perhaps several lines.
    #[inline]
    pub(super) fn over_lines(text: &'a str, ahead: &'w mut Ahead, predictor: &'w mut KeyPredictor) -> Self {
        Self { over_lines: true, ..Self::at(text, 0, ahead, predictor) }
    }

    /// Walks from here.
    #[inline(always)]
    pub(super) fn walk<K: Kernel>(self, kernel: K) -> Walk<'w, 'a, K> {
        let Self { text, at, ahead, predictor, over_lines } = self;
        Walk { kernel, text, bytes: text.as_bytes(), at, ahead, predictor, over_lines }
    }
}

/// What comes next in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A value, for this slot.
    Value(Slot),
    /// Nothing.
    End,
}

/// A position in a text.
#[derive(Debug)]
pub(super) struct Walk<'w, 'a, K> {
    kernel: K,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    ahead: &'w mut Ahead,
    predictor: &'w mut KeyPredictor,
    over_lines: bool,
}

impl<'a, K: Kernel> Walk<'_, 'a, K> {
    /// Where it is.
    #[inline(always)]
    pub(super) fn left(&self) -> usize {
        self.at
    }

    /// Lets another task walk from here, and goes on where that left off. It keeps the code of a record small; in time it
    /// makes no difference that could be measured.
    #[inline(always)]
    pub(super) fn by<'s, T: Task<Done = Step<usize>>>(
        &'s mut self,
        task: impl FnOnce(Start<'s, 'a>) -> T,
    ) -> Step<()> {
        let Self { kernel, text, at, ref mut ahead, ref mut predictor, over_lines, .. } = *self;
        let start = Start { text, at, ahead, predictor, over_lines };
        self.at = kernel.run(task(start))?;
        Ok(())
    }

    /// The next byte that is not blank; 0 at the end of the text, which no value begins with.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u8 {
        match self.bytes.get(self.at) {
            Some(&byte) if byte > b' ' => byte,
            _ => {
                let byte;
                (self.at, byte) = after_blanks(self.bytes, self.at, self.over_lines);
                byte
            }
        }
    }

    /// Whether nothing but blanks is left of the line, or of the text.
    #[inline(always)]
    pub(super) fn ends(&mut self) -> bool {
        self.bytes.get(self.at) == Some(&b'\n') || self.peek() == b'\n' || self.at == self.bytes.len()
    }

    /// Passes over this byte, after blanks.
    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> Step<()> {
        if self.bytes.get(self.at) != Some(&byte) && self.peek() != byte {
            return Err(Odd);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes over a string that begins here; where it is between its quotes.
    #[inline(always)]
    fn string(&mut self) -> Step<(usize, End)> {
        let from = self.at;
        let end = self.ahead.string(self.kernel, self.bytes, from).ok_or(Odd)?;
        self.at = end.at + 1;
        Ok((from + 1, end))
    }

    /// Passes over the bracket that opens an object or an array; whether there is anything in it.
    ///
    /// `close` tells which; it is passed over too if nothing comes before it.
    #[inline(always)]
    pub(super) fn enter(&mut self, close: u8) -> Step<bool> {
        self.expect(close - 2)?; // in ASCII both pairs of brackets are two apart
        if self.peek() == close {
            self.at += 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// Passes over what follows a value in there: a comma, if another one comes, or the bracket that closes it.
    #[inline(always)]
    pub(super) fn more(&mut self, close: u8) -> Step<bool> {
        let next = self.peek();
        if next != b',' && next != close {
            return Err(Odd);
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

    /// Passes over what stands before a key, the key and its colon; or over the bracket that closes the object. Before the
    /// first key stands the bracket that opens it, before the others a comma.
    #[inline(always)]
    pub(super) fn key<F: Fields<'a>>(&mut self, cursor: &mut Cursor, first: bool) -> Step<Next> {
        let rest = self.bytes.get(self.at..).ok_or(Odd)?;
        if let Some(head) = rest.first_chunk()
            && let Some((slot, length)) = self.predictor.predict(cursor, head)
        {
            self.at += length;
            return Ok(Next::Value(slot));
        }
        if !first && self.bytes.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(Next::End);
        }
        let Self { kernel, text, at, ref mut ahead, ref mut predictor, over_lines, .. } = *self;
        let start = Start { text, at, ahead, predictor, over_lines };
        let next;
        (self.at, next, *cursor) = kernel.run(NewKey::<F>(start, *cursor, first, PhantomData))?;
        Ok(next)
    }

    /// Passes over a key that begins here, and its colon; where it stands. One that is spelt with an escape may be one that is
    /// wanted: the obvious path reads it.
    #[inline(always)]
    fn plain_key(&mut self) -> Step<(usize, usize)> {
        let (start, end) = self.string()?;
        if end.escaped && self.bytes[start..end.at].contains(&b'\\') {
            return Err(Odd);
        }
        self.expect(b':')?;
        Ok((start, end.at))
    }

    /// Passes over a key and its colon; the key.
    #[inline(always)]
    pub(super) fn name(&mut self) -> Step<&'a str> {
        if self.peek() != b'"' {
            return Err(Odd);
        }
        let (start, end) = self.plain_key()?;
        self.text.get(start..end).ok_or(Odd)
    }

    /// Passes over a value and keeps its text.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Step<Json<'a>> {
        // Nearly all are strings.
        if self.bytes.get(self.at) == Some(&b'"') {
            let from = self.at;
            let (_, end) = self.string()?;
            return self.since(from, !end.escaped);
        }
        let (from, first) = self.begin();
        let plain = self.pass(first)?;
        self.since(from, plain)
    }

    /// Where the next value begins, and with what.
    #[inline(always)]
    pub(super) fn begin(&mut self) -> (usize, u8) {
        let first = self.peek();
        (self.at, first)
    }

    /// The text of the value that begins there and was just passed over, and whether it is a string without escapes.
    #[inline(always)]
    pub(super) fn since(&self, from: usize, plain: bool) -> Step<Json<'a>> {
        self.text.get(from..self.at).map(|text| Json::walked(text, plain)).ok_or(Odd)
    }

    /// Passes over a value that begins here, with this byte; whether it is a string without escapes.
    #[inline(always)]
    pub(super) fn pass(&mut self, first: u8) -> Step<bool> {
        match first {
            b'"' => return Ok(!self.string()?.1.escaped),
            b'{' | b'[' => self.by(Container)?,
            _ => self.skip_scalar()?,
        }
        Ok(false)
    }

    /// Passes over a value.
    #[inline(always)]
    pub(super) fn skip(&mut self) -> Step<()> {
        let first = self.peek();
        self.pass(first).map(drop)
    }

    /// Passes over a number or a literal.
    #[inline(always)]
    fn skip_scalar(&mut self) -> Step<()> {
        self.at = scalar_end(self.bytes, self.at)?;
        Ok(())
    }
}

/// Passes over a key that was not expected, and remembers it.
struct NewKey<'w, 'a, F>(Start<'w, 'a>, Cursor, bool, PhantomData<F>);

impl<'a, F: Fields<'a>> Task for NewKey<'_, 'a, F> {
    type Done = Step<(usize, Next, Cursor)>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Self::Done {
        let Self(start, cursor, first, _) = self;
        let mut walk = start.walk(kernel);
        let (from, before) = walk.begin();
        walk.at += 1;
        match (first, before) {
            (true, b'{') | (false, b',') => {}
            (false, b'}') => return Ok((walk.left(), Next::End, cursor)),
            _ => return Err(Odd),
        }
        match (first, walk.peek()) {
            (_, b'"') => {}
            (true, b'}') => {
                walk.at += 1;
                return Ok((walk.left(), Next::End, cursor));
            }
            _ => return Err(Odd),
        }
        let (start, end) = walk.plain_key()?;
        let slot = Slot::of(F::slot(Key::before(&walk.bytes[start..], end - start)));
        // Blanks are no part of what is remembered.
        let tight = start == from + 2 && walk.at == end + 2;
        let text = walk.bytes.get(from..walk.at).filter(|_| tight);
        let cursor = text.map_or(Cursor::UNKNOWN, |text| walk.predictor.learn(cursor, text, slot));
        Ok((walk.left(), Next::Value(slot), cursor))
    }
}

/// Passes over an object or array.
struct Container<'w, 'a>(Start<'w, 'a>);

impl Task for Container<'_, '_> {
    type Done = Step<usize>;

    /// The open containers are a bit each, set for an object.
    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<usize> {
        let mut walk = self.0.walk(kernel);
        let (mut objects, mut depth) = (0u64, 0u32);
        'value: loop {
            // Before a value, or a key and a value.
            if objects & 1 == 1 {
                if walk.peek() != b'"' {
                    return Err(Odd);
                }
                walk.string()?;
                walk.expect(b':')?;
            }
            match walk.peek() {
                b'"' => drop(walk.string()?),
                open @ (b'{' | b'[') => {
                    if depth == DEEPEST {
                        return Err(Odd);
                    }
                    walk.at += 1;
                    objects = objects << 1 | u64::from(open == b'{');
                    depth += 1;
                    if walk.peek() != open + 2 {
                        continue 'value;
                    }
                    // Empty: what follows a value closes it.
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
                    return Err(Odd);
                }
                objects >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(walk.left());
                }
            }
        }
    }
}

/// The next byte that is not blank, and where; 0 at the end of the text.
#[cold]
#[inline(never)]
fn after_blanks(bytes: &[u8], mut at: usize, over_lines: bool) -> (usize, u8) {
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r') => at += 1,
            Some(b'\n') if over_lines => at += 1,
            Some(&byte) => return (at, byte),
            None => return (at, 0),
        }
    }
}

/// The end of a number or a literal.
#[inline(always)]
fn scalar_end(bytes: &[u8], at: usize) -> Step<usize> {
    let rest = bytes.get(at..).ok_or(Odd)?;
    let Some(head) = rest.first_chunk::<8>() else { return number_end(bytes, at) };
    let digits = digits(*head);
    match (head[digits % 8], head) {
        // A whole number, which nearly all are.
        (b',' | b'}' | b']', _) if digits == 1 || digits > 1 && head[0] != b'0' => Ok(at + digits),
        (_, [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..]) => Ok(at + 4),
        (_, [b'f', b'a', b'l', b's', b'e', ..]) => Ok(at + 5),
        _ => number_end(bytes, at),
    }
}

/// How many digits stand first. All eight bytes are looked at in one go.
#[inline(always)]
fn digits(head: [u8; 8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = u64::from_le_bytes(head) ^ (b'0' as u64 * EACH);
    // What is not below ten has its high bit set, or gets it by adding; no byte can carry into the next.
    let others = (low | ((low & (0x7f * EACH)) + 0x76 * EACH)) & (0x80 * EACH);
    others.trailing_zeros() as usize / 8
}

/// The end of a number of any sort, or of a literal that stands last.
#[inline(never)]
fn number_end(bytes: &[u8], mut at: usize) -> Step<usize> {
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
        if *at == from { Err(Odd) } else { Ok(()) }
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
