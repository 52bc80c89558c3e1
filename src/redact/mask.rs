//! Masks the bytes that are not part of a record, one by one. Noise stays noise, and broken JSON breaks at
//! the same byte.

use crate::input::{Validation, Validator};

/// Replaces bytes of valid UTF-8.
const LETTER: u8 = b'x';

/// Replaces bytes that are not valid UTF-8; not valid either.
const INVALID: u8 = 0xff;

/// Masks bytes that are not part of a record. Keeps its state between calls, so input may arrive in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Mask {
    state: State,
    /// Inside an array of records, where every element is a value.
    in_array: bool,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Between values.
    #[default]
    Between,
    /// After a `[`. It starts an array if an object or a `]` follows.
    Bracket {
        /// Whether the line of the bracket has ended.
        in_new_line: bool,
    },
    /// In a JSON value.
    Value(Box<Value>),
    /// In text that is not JSON, up to the end of the line.
    Noise,
}

#[derive(Clone, Debug)]
struct Value {
    validator: Validator,
    lexer: Lexer,
    /// Only whitespace was seen since the last line end in the value.
    in_new_line: bool,
}

/// Position relative to the strings of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lexer {
    /// Not in a string.
    Outside,
    String,
    /// After the backslash of an escape.
    Escape,
    /// In the hexadecimal digits of an escape, with so many to come.
    Digits(u8),
}

impl Mask {
    /// Notes that a record, which was written by other code, comes next.
    pub(super) fn skip_record(&mut self) {
        self.in_array |= matches!(self.state, State::Bracket { .. });
        self.state = State::Between;
    }

    /// Appends the masked bytes to `out`. A piece must not end inside a UTF-8 character.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        mask_all(bytes, out);
        let mut at = 0;
        while at < bytes.len() {
            at += match &mut self.state {
                State::Between | State::Bracket { .. } => self.between(bytes[at], &mut out[from + at..]),
                State::Noise => self.noise(&bytes[at..], &mut out[from + at..]),
                State::Value(_) => self.value(&bytes[at..], &mut out[from + at..]),
            };
        }
    }

    fn between(&mut self, byte: u8, out: &mut [u8]) -> usize {
        let after_bracket = matches!(self.state, State::Bracket { .. });
        // A second bracket in the same line makes the line noise; in a new line it may start an array itself.
        let can_start = matches!(self.state, State::Between | State::Bracket { in_new_line: true });
        match byte {
            b'\n' if after_bracket => self.state = State::Bracket { in_new_line: true },
            b' ' | b'\t' | b'\r' | b'\n' | b',' | 0 => {}
            b'[' if !self.in_array && can_start => self.state = State::Bracket { in_new_line: false },
            b']' => (self.state, self.in_array) = (State::Between, false),
            _ if byte == b'{' || self.in_array => {
                self.in_array |= after_bracket;
                self.state = State::Value(Box::new(Value {
                    validator: Validator::new(),
                    lexer: Lexer::Outside,
                    in_new_line: false,
                }));
                return 0;
            }
            _ => {
                self.state = State::Noise;
                return 0;
            }
        }
        out[0] = byte;
        1
    }

    fn noise(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        let end = memchr::memchr(b'\n', bytes);
        let length = end.map_or(bytes.len(), |end| end + 1);
        for (new, &byte) in out.iter_mut().zip(&bytes[..length]) {
            if byte < b' ' || b"{}[],:\"\\ ".contains(&byte) {
                *new = byte;
            }
        }
        if end.is_some() {
            self.state = State::Between;
        }
        length
    }

    /// Masks the part of a value that is valid JSON: structure, numbers and literals are kept.
    fn value(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        let State::Value(value) = &mut self.state else { return 0 };
        let step = value.validator.feed(bytes);
        let valid = match step {
            Validation::Incomplete => bytes.len(),
            Validation::Complete(end) | Validation::Invalid(end) => end,
        };
        for (new, &byte) in out.iter_mut().zip(&bytes[..valid]) {
            value.lexer = value.lexer.advance(byte, new);
            value.in_new_line = byte == b'\n' || value.in_new_line && byte.is_ascii_whitespace();
        }
        match step {
            Validation::Incomplete => {}
            Validation::Complete(_) => self.state = State::Between,
            // The line that broke the value may start another one.
            Validation::Invalid(_) if value.in_new_line => self.state = State::Between,
            Validation::Invalid(_) => self.state = State::Noise,
        }
        valid
    }
}

impl Lexer {
    /// Returns the state after `byte`, and writes the byte to `new` unless it is masked.
    fn advance(self, byte: u8, new: &mut u8) -> Self {
        let (kept, next) = match (self, byte) {
            (Self::Outside, b'"') => (byte, Self::String),
            (Self::Outside, _) => (byte, self),
            (Self::String, b'"') => (byte, Self::Outside),
            (Self::String, b'\\') => (byte, Self::Escape),
            (Self::String, _) => return self,
            (Self::Escape, b'u') => (byte, Self::Digits(4)),
            (Self::Escape, _) => (byte, Self::String),
            (Self::Digits(1), _) => (b'0', Self::String),
            (Self::Digits(left), _) => (b'0', Self::Digits(left - 1)),
        };
        *new = kept;
        next
    }
}

/// Appends one masking byte for each byte.
fn mask_all(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        out.resize(out.len() + chunk.valid().len(), LETTER);
        out.resize(out.len() + chunk.invalid().len(), INVALID);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Mask::default().feed(bytes, &mut out);
        out
    }

    #[test]
    fn noise_keeps_only_its_punctuation() {
        assert_eq!(masked(b"[DEBUG] key=\"5\"\n"), b"[xxxxx] xxxx\"x\"\n");
        assert_eq!(masked("[\"é\", true]".as_bytes()), b"[\"xx\", xxxx]");
        assert_eq!(
            masked(b"[{\"a\":1}, \"two\", true, 3]\ntrue 3\n"),
            b"[{\"x\":1}, \"xxx\", true, 3]\nxxxx x\n"
        );
        assert_eq!(masked(b" \t\r\n,[]\0"), b" \t\r\n,[]\0");
        // A bracket alone in its line is noise; the next line is masked on its own.
        assert_eq!(masked(b"[\n[{\"type\":7}"), b"[\n[{\"xxxx\":7}");
        assert_eq!(masked(b"[ [{\"type\":7}"), b"[ [{\"xxxx\":x}");
    }

    #[test]
    fn a_broken_object_breaks_at_the_same_byte() {
        assert_eq!(masked(br#"{"a":[1,true,"b\n\u00e9"],"c"#), br#"{"x":[1,true,"x\n\u0000"],"x"#);
        assert_eq!(masked(br#"{"key":nothing, "b":"c"}"#), br#"{"xxx":nxxxxxx, "x":"x"}"#);
        assert_eq!(masked(b"{\"k\":1}{\"l\":"), b"{\"x\":1}{\"x\":");
        assert_eq!(masked(b"{\n{\"k\":7}\n{\n noise 5"), b"{\n{\"x\":7}\n{\n xxxxx x");
        assert_eq!(masked(b"{\"a\":\"\xff\xfe b\"}"), b"{\"x\":\"\xff\xffxx\"}");
    }

    #[test]
    fn the_size_of_pieces_makes_no_difference() {
        let bytes: &[u8] = b"noise {\n{\"a\":\"b\\\"c\",\"d\":nulx}\n  [{\"e\":\"f\"}]\n";
        for size in 1..bytes.len() {
            let (mut mask, mut out) = (Mask::default(), Vec::new());
            bytes.chunks(size).for_each(|piece| mask.feed(piece, &mut out));
            assert_eq!(out, masked(bytes), "{size}");
        }
    }
}
