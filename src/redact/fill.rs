//! What is no record becomes unreadable byte by byte, and stays what it was: noise is noise, and what breaks breaks where it did.

use crate::input::{Validation, Validator};

/// What letters become.
const LETTER: u8 = b'x';

/// What a byte becomes that is no UTF-8: none either.
const STRAY: u8 = 0xff;

/// Replaces what is no record.
#[derive(Clone, Debug, Default)]
pub(super) struct Fill {
    state: State,
    /// Inside an array of records, where everything is a value.
    array: bool,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Between values.
    #[default]
    Between,
    /// After a `[` that begins an array if an object or its end follows.
    Bracket {
        /// Whether its line has ended.
        in_new_line: bool,
    },
    /// In a value.
    Object(Box<Object>),
    /// In what can be no object, up to the end of the line.
    Noise,
}

#[derive(Clone, Debug)]
struct Object {
    validator: Validator,
    place: Place,
    /// Whether it goes on in another line than it began in, of which only blanks were seen.
    in_new_line: bool,
}

/// Where in the JSON of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Not in a string.
    Outside,
    /// In a string.
    String,
    /// After its backslash.
    Escape,
    /// In the digits of an escape: how many are to come.
    Digits(u8),
}

impl Fill {
    /// A record stands here.
    pub(super) fn pass(&mut self) {
        self.array |= matches!(self.state, State::Bracket { .. });
        self.state = State::Between;
    }

    /// Goes on with these bytes; a character must not be cut.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        blind(bytes, out);
        let mut at = 0;
        while at < bytes.len() {
            at += match &mut self.state {
                State::Between | State::Bracket { .. } => self.between(bytes[at], &mut out[from + at..]),
                State::Noise => self.noise(&bytes[at..], &mut out[from + at..]),
                State::Object(_) => self.object(&bytes[at..], &mut out[from + at..]),
            };
        }
    }

    fn between(&mut self, byte: u8, out: &mut [u8]) -> usize {
        let bracket = matches!(self.state, State::Bracket { .. });
        // A second bracket makes the line of the first one noise, and may begin an array itself.
        let can_begin = matches!(self.state, State::Between | State::Bracket { in_new_line: true });
        match byte {
            b'\n' if bracket => self.state = State::Bracket { in_new_line: true },
            b' ' | b'\t' | b'\r' | b'\n' | b',' | 0 => {}
            b'[' if !self.array && can_begin => self.state = State::Bracket { in_new_line: false },
            b']' => (self.state, self.array) = (State::Between, false),
            _ if byte == b'{' || self.array => {
                self.array |= bracket;
                self.state = State::Object(Box::new(Object {
                    validator: Validator::new(),
                    place: Place::Outside,
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

    /// The part of an object that fits the grammar: structure, numbers and literals stay.
    fn object(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        let State::Object(object) = &mut self.state else { return 0 };
        let step = object.validator.feed(bytes);
        let sound = match step {
            Validation::Incomplete => bytes.len(),
            Validation::Complete(end) | Validation::Invalid(end) => end,
        };
        for (new, &byte) in out.iter_mut().zip(&bytes[..sound]) {
            object.place = object.place.after(byte, new);
            object.in_new_line = byte == b'\n' || object.in_new_line && byte.is_ascii_whitespace();
        }
        match step {
            Validation::Incomplete => {}
            Validation::Complete(_) => self.state = State::Between,
            // A line that breaks what stands before it may be something by itself.
            Validation::Invalid(_) if object.in_new_line => self.state = State::Between,
            Validation::Invalid(_) => self.state = State::Noise,
        }
        sound
    }
}

impl Place {
    /// What comes after a byte, which is written if it stays.
    fn after(self, byte: u8, new: &mut u8) -> Self {
        match (self, byte) {
            (Self::Outside, b'"') => {
                *new = byte;
                Self::String
            }
            (Self::Outside, _) => {
                *new = byte;
                self
            }
            (Self::String, b'"') => {
                *new = byte;
                Self::Outside
            }
            (Self::String, b'\\') => {
                *new = byte;
                Self::Escape
            }
            (Self::String, _) => self,
            (Self::Escape, b'u') => {
                *new = byte;
                Self::Digits(4)
            }
            (Self::Escape, _) => {
                *new = byte;
                Self::String
            }
            (Self::Digits(left), _) => {
                *new = b'0';
                if left == 1 { Self::String } else { Self::Digits(left - 1) }
            }
        }
    }
}

/// Letters for all bytes, and stray bytes for those that are no UTF-8.
fn blind(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        out.resize(out.len() + chunk.valid().len(), LETTER);
        out.resize(out.len() + chunk.invalid().len(), STRAY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Fill::default().feed(bytes, &mut out);
        out
    }

    #[test]
    fn noise_keeps_its_structure_alone() {
        assert_eq!(filled(b"[DEBUG] key=\"5\"\n"), b"[xxxxx] xxxx\"x\"\n");
        assert_eq!(filled("[\"é\", true]".as_bytes()), b"[\"xx\", xxxx]");
        assert_eq!(
            filled(b"[{\"a\":1}, \"two\", true, 3]\ntrue 3\n"),
            b"[{\"x\":1}, \"xxx\", true, 3]\nxxxx x\n"
        );
        assert_eq!(filled(b" \t\r\n,[]\0"), b" \t\r\n,[]\0");
        // A bracket that is alone in its line is noise; the next line is judged by itself.
        assert_eq!(filled(b"[\n[{\"type\":7}"), b"[\n[{\"xxxx\":7}");
        assert_eq!(filled(b"[ [{\"type\":7}"), b"[ [{\"xxxx\":x}");
    }

    #[test]
    fn an_object_breaks_where_it_broke() {
        assert_eq!(filled(br#"{"a":[1,true,"b\n\u00e9"],"c"#), br#"{"x":[1,true,"x\n\u0000"],"x"#);
        assert_eq!(filled(br#"{"key":nothing, "b":"c"}"#), br#"{"xxx":nxxxxxx, "x":"x"}"#);
        assert_eq!(filled(b"{\"k\":1}{\"l\":"), b"{\"x\":1}{\"x\":");
        assert_eq!(filled(b"{\n{\"k\":7}\n{\n noise 5"), b"{\n{\"x\":7}\n{\n xxxxx x");
        assert_eq!(filled(b"{\"a\":\"\xff\xfe b\"}"), b"{\"x\":\"\xff\xffxx\"}");
    }

    #[test]
    fn pieces_make_no_difference() {
        let bytes: &[u8] = b"noise {\n{\"a\":\"b\\\"c\",\"d\":nulx}\n  [{\"e\":\"f\"}]\n";
        for size in 1..bytes.len() {
            let (mut fill, mut out) = (Fill::default(), Vec::new());
            bytes.chunks(size).for_each(|piece| fill.feed(piece, &mut out));
            assert_eq!(out, filled(bytes), "{size}");
        }
    }
}
