//! A validating walk over JSON text: everything that is passed is checked, nothing is built.
//!
//! What a walk does for each token is inlined into the task that it is part of, since only there the kernel's
//! instructions are known; and a walk never leaves its task, so that its position can stay in a register.

use super::kernel::{Ahead, End, Kernel, Quotes, Task};
use crate::event::{fields::Key, json::Json};

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
    quotes: Quotes,
    ahead: &'w mut Ahead,
    /// Whether a line's end is a blank like others.
    over_lines: bool,
}

impl<'w, 'a> Start<'w, 'a> {
    /// At a byte of a text, with the quotes that were seen ahead from there; a line's end ends everything.
    #[inline]
    pub(super) fn at(text: &'a str, (at, quotes): Left, ahead: &'w mut Ahead) -> Self {
        Self { text, at, quotes, ahead, over_lines: false }
    }

    /// At the beginning of a text of perhaps several lines.
    #[inline]
    pub(super) fn over_lines(text: &'a str, ahead: &'w mut Ahead) -> Self {
        Self { over_lines: true, ..Self::at(text, Left::default(), ahead) }
    }

    /// Walks from here.
    #[inline(always)]
    pub(super) fn walk<K: Kernel>(self, kernel: K) -> Walk<'w, 'a, K> {
        let Self { text, at, quotes, ahead, over_lines } = self;
        Walk { kernel, text, bytes: text.as_bytes(), at, quotes, ahead, over_lines }
    }
}

/// Where a task left off: the position, and the quotes from there.
pub(super) type Left = (usize, Quotes);

/// A position in a text.
#[derive(Debug)]
pub(super) struct Walk<'w, 'a, K> {
    kernel: K,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    quotes: Quotes,
    ahead: &'w mut Ahead,
    over_lines: bool,
}

impl<'a, K: Kernel> Walk<'_, 'a, K> {
    /// Where it is.
    #[inline(always)]
    pub(super) fn left(&self) -> Left {
        (self.at, self.quotes)
    }

    /// Lets another task walk from here, and goes on where that left off. It keeps the code of a record small; in time it
    /// makes no difference that could be measured.
    #[inline(always)]
    pub(super) fn by<'s, T: Task<Done = Step<Left>>>(
        &'s mut self,
        task: impl FnOnce(Start<'s, 'a>) -> T,
    ) -> Step<()> {
        let Self { kernel, text, at, quotes, ref mut ahead, over_lines, .. } = *self;
        let start = Start { text, at, quotes, ahead, over_lines };
        (self.at, self.quotes) = kernel.run(task(start))?;
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

    /// Passes over a string; where it is between its quotes. Nearly always its first quote stands here and was seen.
    #[inline(always)]
    fn string(&mut self) -> Step<(usize, End)> {
        if !self.quotes.opens(self.at) {
            if self.peek() != b'"' {
                return Err(Odd);
            }
            self.quotes.open(self.kernel, self.ahead, self.bytes, self.at).ok_or(Odd)?;
        }
        self.rest_of_string()
    }

    #[inline(always)]
    fn rest_of_string(&mut self) -> Step<(usize, End)> {
        let from = self.at;
        let end = self.quotes.close(self.kernel, self.ahead, self.bytes, from).ok_or(Odd)?;
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

    /// Passes over the comma after a value in there, if another one comes.
    #[inline(always)]
    pub(super) fn comma(&mut self) -> bool {
        let comma = self.peek() == b',';
        self.at += usize::from(comma);
        comma
    }

    /// Passes over a key and its colon. A key that is spelt with an escape may be one that is wanted: the obvious path
    /// reads it.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Step<Key<'a>> {
        let (from, end) = self.string()?;
        if end.escaped && self.bytes[from..end.at].contains(&b'\\') {
            return Err(Odd);
        }
        self.expect(b':')?;
        Ok(Key::before(&self.bytes[from..], end.at - from))
    }

    /// Passes over a value and keeps its text.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Step<Json<'a>> {
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

/// Passes over an object or array.
struct Container<'w, 'a>(Start<'w, 'a>);

impl Task for Container<'_, '_> {
    type Done = Step<Left>;

    /// The open containers are a bit each, set for an object.
    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<Left> {
        let mut walk = self.0.walk(kernel);
        let (mut objects, mut depth) = (0u64, 0u32);
        'value: loop {
            // Before a value, or a key and a value.
            if objects & 1 == 1 {
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
    match (rest.first_chunk(), rest.get(4)) {
        (Some(b"true" | b"null"), _) => Ok(at + 4),
        (Some(b"fals"), Some(b'e')) => Ok(at + 5),
        _ => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match rest.get(digits) {
                // A whole number, which nearly all are.
                Some(b',' | b'}' | b']') if digits == 1 || digits > 1 && rest[0] != b'0' => Ok(at + digits),
                _ => number_end(bytes, at),
            }
        }
    }
}

/// The end of a number of any sort.
#[inline(never)]
fn number_end(bytes: &[u8], mut at: usize) -> Step<usize> {
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
