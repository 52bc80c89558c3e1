//! An incremental JSON validator.
//!
//! It finds where a value ends or becomes invalid, and needs one bit of memory per level of nesting. At the
//! end of the input it knows whether the bytes are the beginning of a valid value, which distinguishes a
//! truncated record from a broken one.

/// The state of a value after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// All bytes are valid, and the value needs more of them.
    Incomplete,
    /// The value ends before the byte at this index.
    Complete(usize),
    /// The byte at this index is invalid.
    Invalid(usize),
}

/// Validates one JSON value that is fed in pieces of any size.
#[derive(Clone, Debug)]
pub struct Validator {
    state: State,
    levels: Levels,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Value,
    /// After `[`: a value or `]`.
    FirstValue,
    /// After `{`: a key or `}`.
    FirstKey,
    /// After `,` in an object.
    Key,
    Colon,
    /// After a value inside a container.
    Next,
    /// In a string. The flag says whether it is a key.
    String(bool),
    Escape(bool),
    Hex(bool, u8),
    /// The remaining letters of `true`, `false` or `null`.
    Literal(&'static [u8]),
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    Invalid,
}

impl Default for Validator {
    fn default() -> Self {
        Self::new()
    }
}

impl Validator {
    /// Expects the first byte of a value.
    pub fn new() -> Self {
        Self { state: State::Value, levels: Levels::default() }
    }

    /// Continues with these bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Validation {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let State::String(_) = self.state {
                let plain = bytes[at..].iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..0x20));
                let Some(plain) = plain else { return Validation::Incomplete };
                at += plain;
                self.in_string(bytes[at]);
                if self.state == State::Invalid {
                    return Validation::Invalid(at);
                }
                at += 1;
                if let Some(done) = self.done(at) {
                    return done;
                }
                continue;
            }
            match self.byte(byte) {
                Some(true) => at += 1,
                Some(false) => {}
                None => return Validation::Invalid(at),
            }
            if let Some(done) = self.done(at) {
                return done;
            }
        }
        Validation::Incomplete
    }

    /// Returns whether the value is complete if nothing follows. Only a number can be: all other values
    /// report their end.
    pub fn is_complete(&self) -> bool {
        let number =
            matches!(self.state, State::Zero | State::Digits | State::Fraction | State::ExponentDigits);
        number && self.levels.is_empty()
    }

    fn done(&self, at: usize) -> Option<Validation> {
        (self.state == State::Next && self.levels.is_empty()).then_some(Validation::Complete(at))
    }

    /// Handles a quote, a backslash or a control character in a string. The last sets `State::Invalid`.
    fn in_string(&mut self, byte: u8) {
        let State::String(key) = self.state else { return };
        self.state = match byte {
            b'"' if key => State::Colon,
            b'"' => State::Next,
            b'\\' => State::Escape(key),
            _ => State::Invalid,
        };
    }

    /// Handles one byte outside the plain part of a string. Returns `Some(false)` if a number ended before
    /// the byte, which must then be handled again, and `None` if the byte is invalid.
    fn byte(&mut self, byte: u8) -> Option<bool> {
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') && self.allows_space() {
            return Some(true);
        }
        let next = match (self.state, byte) {
            (State::Value | State::FirstValue, _) if byte != b']' => self.begin(byte)?,
            (State::FirstValue, b']') => self.close(false)?,
            (State::FirstKey | State::Key, b'"') => State::String(true),
            (State::FirstKey, b'}') => self.close(true)?,
            (State::Colon, b':') => State::Value,
            (State::Next, b',') => {
                if self.levels.in_object()? {
                    State::Key
                } else {
                    State::Value
                }
            }
            (State::Next, b'}') => self.close(true)?,
            (State::Next, b']') => self.close(false)?,
            (State::Escape(key), b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                State::String(key)
            }
            (State::Escape(key), b'u') => State::Hex(key, 4),
            (State::Hex(key, left), _) if byte.is_ascii_hexdigit() => {
                if left == 1 {
                    State::String(key)
                } else {
                    State::Hex(key, left - 1)
                }
            }
            (State::Literal([expected, rest @ ..]), _) if byte == *expected => {
                if rest.is_empty() {
                    State::Next
                } else {
                    State::Literal(rest)
                }
            }
            _ => return self.number(byte),
        };
        self.state = next;
        Some(true)
    }

    fn allows_space(&self) -> bool {
        use State::{Colon, FirstKey, FirstValue, Key, Next, Value};
        matches!(self.state, Value | FirstValue | FirstKey | Key | Colon | Next)
    }

    fn begin(&mut self, byte: u8) -> Option<State> {
        Some(match byte {
            b'{' => {
                self.levels.push(true);
                State::FirstKey
            }
            b'[' => {
                self.levels.push(false);
                State::FirstValue
            }
            b'"' => State::String(false),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            b'-' => State::Minus,
            b'0' => State::Zero,
            b'1'..=b'9' => State::Digits,
            _ => return None,
        })
    }

    fn close(&mut self, object: bool) -> Option<State> {
        (self.levels.pop()? == object).then_some(State::Next)
    }

    fn number(&mut self, byte: u8) -> Option<bool> {
        use State::{Digits, Exponent, ExponentDigits, ExponentSign, Fraction, Minus, Next, Point, Zero};
        let next = match (self.state, byte) {
            (Minus, b'0') => Zero,
            (Minus, b'1'..=b'9') | (Digits, b'0'..=b'9') => Digits,
            (Zero | Digits, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Digits | Fraction, b'e' | b'E') => Exponent,
            (Exponent, b'+' | b'-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => ExponentDigits,
            (Zero, b'0'..=b'9') => return None,
            (Zero | Digits | Fraction | ExponentDigits, _) => {
                self.state = Next;
                return Some(false);
            }
            _ => return None,
        };
        self.state = next;
        Some(true)
    }
}

/// A stack of the open containers. A bit is set for an object and clear for an array.
#[derive(Clone, Debug, Default)]
struct Levels {
    bits: Vec<u64>,
    depth: usize,
}

impl Levels {
    fn is_empty(&self) -> bool {
        self.depth == 0
    }

    fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(object) << bit;
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<bool> {
        let object = self.in_object()?;
        self.depth -= 1;
        Some(object)
    }

    fn in_object(&self) -> Option<bool> {
        let top = self.depth.checked_sub(1)?;
        Some(self.bits[top / 64] >> (top % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Validation {
        Validator::new().feed(text.as_bytes())
    }

    #[test]
    fn the_end_of_a_value_is_found() {
        for text in
            [r#"{"a":[1,-0.5e+3,{"b":"\u00e9\\\""},true,null,[],{}]}"#, "[]", r#""x""#, "{ }", "[ 1 , 2 ]"]
        {
            assert_eq!(whole(&format!("{text} x")), Validation::Complete(text.len()), "{text}");
        }
        assert_eq!(whole("12,"), Validation::Complete(2));
    }

    #[test]
    fn a_value_fed_byte_by_byte_has_the_same_end() {
        let text = r#"{"a":[1,-0.5e+3,{"b":"\u00e9\\\""},true,null,[],{}]}"#;
        let mut validator = Validator::new();
        let results: Vec<Validation> = text.bytes().map(|byte| validator.feed(&[byte])).collect();
        assert!(results[..text.len() - 1].iter().all(|result| *result == Validation::Incomplete));
        assert_eq!(results[text.len() - 1], Validation::Complete(1));
    }

    #[test]
    fn a_byte_that_cannot_follow_is_invalid() {
        for (text, at) in [
            (r#"{"a":01}"#, 6),
            (r#"{"a" 1}"#, 5),
            (r#"{"a":1,}"#, 7),
            (r#"[1,]"#, 3),
            (r#"{"a":NaN}"#, 5),
            ("{\"a\":\"x\ny\"}", 7),
            (r#"{"a":"\x"}"#, 7),
            (r#"{"a":"\u12g4"}"#, 10),
            (r#"{"a":1]"#, 6),
            ("{'a':1}", 1),
            (r#"{"a":+1}"#, 5),
            (r#"{"a":.5}"#, 5),
            (r#"{"a":1.}"#, 7),
            (r#"{"a":tru1}"#, 8),
            ("]", 0),
        ] {
            assert_eq!(whole(text), Validation::Invalid(at), "{text}");
        }
    }

    #[test]
    fn every_prefix_of_a_record_is_incomplete() {
        let text = r#"{"a":[1.5e-7,"\u00e9",true,{"b":-3}],"c":null}"#;
        for end in 0..text.len() {
            assert_eq!(whole(&text[..end]), Validation::Incomplete, "{}", &text[..end]);
        }
    }

    #[test]
    fn a_level_of_nesting_takes_one_bit() {
        let mut validator = Validator::new();
        assert_eq!(validator.feed("[".repeat(1_000_000).as_bytes()), Validation::Incomplete);
        assert!(validator.levels.bits.len() < 16_000);
        assert_eq!(validator.feed("]".repeat(1_000_000).as_bytes()), Validation::Complete(1_000_000));
    }

    #[test]
    fn a_number_alone_is_complete_if_it_could_end_there() {
        let whole = |text: &str| {
            let mut validator = Validator::new();
            assert_eq!(validator.feed(text.as_bytes()), Validation::Incomplete, "{text}");
            validator.is_complete()
        };
        assert!(whole("12") && whole("0") && whole("1.5") && whole("1e5"));
        assert!(!whole("-") && !whole("1.") && !whole("1e") && !whole("[1"));
    }
}
