//! A validating walk over JSON text: everything that is passed is checked, nothing is built.

use super::kernel::{End, string_end};
use crate::event::json::Json;

/// Why the walk stops: broken, or something that the obvious path should look at.
///
/// It carries nothing, since the obvious path gives the verdict and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odd;

/// Result of a step of the walk.
pub(super) type Step<T> = Result<T, Odd>;

/// Deeper than this the obvious path takes over.
const DEEPEST: u32 = 63;

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Whether a line's end is a blank like others.
    over_lines: bool,
}

impl<'a> Walk<'a> {
    /// At a byte of a text; a line's end ends everything.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, bytes: text.as_bytes(), at, over_lines: false }
    }

    /// At the beginning of a text of perhaps several lines.
    pub(super) fn over_lines(text: &'a str) -> Self {
        Self { over_lines: true, ..Self::new(text, 0) }
    }

    /// Where it is.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is not blank; 0 at the end of the text, which no value begins with.
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.bytes.get(self.at) {
                Some(&byte) if byte > b' ' => return byte,
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') if self.over_lines => self.at += 1,
                Some(&byte) => return byte,
                None => return 0,
            }
        }
    }

    /// Passes over this byte, after blanks.
    #[inline]
    fn expect(&mut self, byte: u8) -> Step<()> {
        if self.peek() != byte {
            return Err(Odd);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes over a string; where it is between its quotes.
    #[inline]
    fn string(&mut self) -> Step<(usize, End)> {
        let from = self.at + 1;
        let end = string_end(self.bytes, from).ok_or(Odd)?;
        self.at = end.at + 1;
        Ok((from, end))
    }

    /// Walks over an object: `field` is given each key, and must pass over its value.
    #[inline]
    pub(super) fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Step<()>) -> Step<()> {
        self.expect(b'{')?;
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != b'"' {
                return Err(Odd);
            }
            let (from, end) = self.string()?;
            if end.escaped {
                return Err(Odd); // a key spelt with an escape may be one that is wanted
            }
            self.expect(b':')?;
            field(self, &self.bytes[from..end.at])?;
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Odd),
            }
        }
    }

    /// Walks over an array: `element` must pass over each element.
    #[inline]
    pub(super) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Step<()>) -> Step<()> {
        self.expect(b'[')?;
        if self.peek() == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Odd),
            }
        }
    }

    /// Passes over a value and keeps its text.
    #[inline]
    pub(super) fn value(&mut self) -> Step<Json<'a>> {
        let from = self.begin();
        self.skip()?;
        self.since(from)
    }

    /// Where the next value begins.
    #[inline]
    pub(super) fn begin(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The text of the value that begins there and was just passed over.
    #[inline]
    pub(super) fn since(&self, from: usize) -> Step<Json<'a>> {
        self.text.get(from..self.at).map(Json::checked).ok_or(Odd)
    }

    /// Passes over a value.
    #[inline]
    pub(super) fn skip(&mut self) -> Step<()> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.skip_container(),
            _ => self.skip_scalar(),
        }
    }

    /// Passes over an object or array. The open containers are a bit each, set for an object.
    fn skip_container(&mut self) -> Step<()> {
        let (mut objects, mut depth) = (0u64, 0u32);
        'value: loop {
            // Before a value.
            match self.peek() {
                b'"' => drop(self.string()?),
                open @ (b'{' | b'[') => {
                    if depth == DEEPEST {
                        return Err(Odd);
                    }
                    self.at += 1;
                    let object = open == b'{';
                    objects = objects << 1 | u64::from(object);
                    depth += 1;
                    if self.peek() == if object { b'}' } else { b']' } {
                        // Empty: falls through to what follows a value, which closes it.
                    } else if object {
                        self.key()?;
                        continue 'value;
                    } else {
                        continue 'value;
                    }
                }
                _ => self.skip_scalar()?,
            }
            // After a value.
            loop {
                let object = objects & 1 == 1;
                match self.peek() {
                    b',' => {
                        self.at += 1;
                        if object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    b'}' if object => {}
                    b']' if !object => {}
                    _ => return Err(Odd),
                }
                self.at += 1;
                objects >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(());
                }
            }
        }
    }

    /// Passes over a key and its colon.
    #[inline]
    fn key(&mut self) -> Step<()> {
        if self.peek() != b'"' {
            return Err(Odd);
        }
        self.string()?;
        self.expect(b':')
    }

    /// Passes over a number or a literal.
    fn skip_scalar(&mut self) -> Step<()> {
        let rest = &self.bytes[self.at..];
        let length = match (rest.first_chunk(), rest.get(4)) {
            (Some(b"true" | b"null"), _) => 4,
            (Some(b"fals"), Some(b'e')) => 5,
            _ => return self.skip_number(),
        };
        self.at += length;
        Ok(())
    }

    fn skip_number(&mut self) -> Step<()> {
        self.take(b'-');
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is);
        is
    }

    /// At least one digit.
    #[inline]
    fn digits(&mut self) -> Step<()> {
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == from { Err(Odd) } else { Ok(()) }
    }
}
