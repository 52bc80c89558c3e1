//! Splits text into JSON values if it is not one object per line: adjacent objects, arrays, pretty-printed
//! objects.

use super::validator::{Validation, Validator};

/// Maximum indentation that is stored. A crashed machine can leave gigabytes of NULs on a line.
const MAX_INDENT: usize = 1024;

/// A piece of a source, in the order of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The bytes of one JSON value.
    Value(&'a [u8]),
    /// Text that is not the beginning of a record.
    Noise,
    /// An object with a syntax error.
    Broken,
    /// An object that is incomplete at the end of its line or of the input.
    Unfinished,
    /// A value larger than the limit.
    TooLarge,
    /// An empty line.
    Blank,
}

/// Splits bytes into values. The bytes may be fed in blocks of any size; at most one value is kept in memory.
///
/// A *line* ends all values that it contains, and unreadable text makes the rest of the line one piece of
/// noise. In a *document* a value may span lines. After a broken object, splitting resumes at the first line,
/// beginning with the line of the error, that begins an object with the same indentation.
#[derive(Clone, Debug)]
pub struct Splitter {
    document: bool,
    max: usize,
    /// Whether the position is inside an array of records.
    array: bool,
    state: State,
    /// Offset of the next byte.
    offset: u64,
    /// Line of the next byte.
    line: u64,
    /// Blank bytes at the start of the line.
    indent: Vec<u8>,
    /// Whether the line has anything but blanks so far.
    has_content: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// Between values.
    Between,
    /// After a `[` at this position. It begins an array if `{` or `]` follows.
    Bracket {
        offset: u64,
        line: u64,
    },
    Value(Box<OpenValue>),
    /// In noise, which ends with the line.
    Skip,
    /// After a broken object: searching for a line that begins with this indentation and `{`.
    Resync {
        indent: Vec<u8>,
        /// Start of the object if only blanks follow it so far. At the end of the input such an object is
        /// unfinished, not broken: a truncated string followed by a line feed looks like a syntax error.
        maybe_unfinished: Option<(u64, u64)>,
    },
}

/// A value that is not complete yet.
#[derive(Clone, Debug)]
struct OpenValue {
    validator: Validator,
    offset: u64,
    line: u64,
    indent: Vec<u8>,
    bytes: Vec<u8>,
    /// Whether it exceeds the maximum size. Then its bytes are dropped.
    too_large: bool,
    /// Start of its latest line in `bytes`; 0 for its first line.
    line_start: usize,
    object: bool,
}

impl Splitter {
    /// Splits one line that begins at an offset.
    pub fn line(offset: u64, line: u64, max: usize) -> Self {
        Self { document: false, ..Self::document(offset, line, max) }
    }

    /// Splits a document, or the rest of one from an offset on.
    pub fn document(offset: u64, line: u64, max: usize) -> Self {
        let (indent, has_content, array) = (Vec::new(), false, false);
        Self { document: true, max, array, state: State::Between, offset, line, indent, has_content }
    }

    /// Continues with these bytes. Calls `found` for each piece with its offset and line.
    pub fn feed(&mut self, bytes: &[u8], found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let mut at = 0;
        while at < bytes.len() {
            at += match &self.state {
                State::Value(_) => self.value(&bytes[at..], found),
                State::Skip => self.skip(&bytes[at..]),
                State::Resync { .. } => self.resync(&bytes[at..], found),
                State::Between | State::Bracket { .. } if bytes[at] == 0 && !self.has_content => {
                    self.skip_nuls(&bytes[at..])
                }
                State::Between | State::Bracket { .. } => {
                    self.between(bytes[at], found);
                    1
                }
            };
        }
    }

    /// Ends the line or the input, and reports a piece that is still open.
    pub fn end(&mut self, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Value(value) if value.too_large => found(value.offset, value.line, Piece::TooLarge),
            State::Value(value) if value.object => self.unfinished(&value, found),
            State::Value(value) if value.validator.is_complete() => {
                found(value.offset, value.line, Piece::Value(&value.bytes))
            }
            State::Value(value) => found(value.offset, value.line, Piece::Noise),
            State::Bracket { offset, line } => found(offset, line, Piece::Noise),
            // Blanks after the last line feed are a blank line; without them there is no further line.
            State::Between if !self.has_content && !self.indent.is_empty() => {
                found(self.offset, self.line, Piece::Blank)
            }
            State::Resync { maybe_unfinished: Some((offset, line)), .. } => {
                found(offset, line, Piece::Unfinished)
            }
            State::Between | State::Skip | State::Resync { .. } => {}
        }
    }

    /// Handles an input that ends inside an object. If the last line of a document begins another object, the
    /// open object is broken, and the last line is split by itself.
    fn unfinished(&mut self, value: &OpenValue, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let Some(tail) = value.last_line().filter(|_| self.document) else {
            return found(value.offset, value.line, Piece::Unfinished);
        };
        found(value.offset, value.line, Piece::Broken);
        self.offset -= tail.len() as u64;
        self.line -= memchr::memchr_iter(b'\n', tail).count() as u64;
        self.indent.clear();
        self.has_content = false;
        self.feed(tail, found);
        self.end(found);
    }

    fn newline(&mut self) {
        self.offset += 1;
        self.line += 1;
        self.indent.clear();
        self.has_content = false;
    }

    /// Handles one byte between values.
    fn between(&mut self, byte: u8, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        match byte {
            b'\n' => {
                if !self.has_content {
                    found(self.offset, self.line, Piece::Blank);
                }
                return self.newline();
            }
            b' ' | b'\t' | b'\r' => self.blank(byte),
            _ => return self.begin(byte, found),
        }
        self.offset += 1;
    }

    /// Skips NULs before the first value of a line and returns their number. A sparse file may have gigabytes
    /// of them.
    fn skip_nuls(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        (0..count.min(MAX_INDENT)).for_each(|_| self.blank(0));
        self.offset += count as u64;
        count
    }

    fn blank(&mut self, byte: u8) {
        if !self.has_content && self.indent.len() < MAX_INDENT {
            self.indent.push(byte);
        }
    }

    fn begin(&mut self, byte: u8, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        if let State::Bracket { offset, line } = self.state {
            self.array = matches!(byte, b'{' | b']');
            self.state = State::Between;
            if !self.array {
                found(offset, line, Piece::Noise);
                if line == self.line {
                    self.state = State::Skip;
                    self.offset += 1;
                    return;
                }
            }
        }
        self.has_content = true;
        match byte {
            b',' if self.array => self.offset += 1,
            b']' if self.array => {
                self.array = false;
                self.offset += 1;
            }
            b'[' if !self.array => {
                self.state = State::Bracket { offset: self.offset, line: self.line };
                self.offset += 1;
            }
            _ if byte == b'{' || self.array => self.begin_value(byte, found),
            _ => {
                found(self.offset, self.line, Piece::Noise);
                self.state = State::Skip;
                self.offset += 1;
            }
        }
    }

    fn begin_value(&mut self, byte: u8, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let value = OpenValue {
            validator: Validator::new(),
            offset: self.offset,
            line: self.line,
            indent: self.indent.clone(),
            bytes: Vec::new(),
            too_large: false,
            line_start: 0,
            object: byte == b'{',
        };
        self.state = State::Value(Box::new(value));
        let taken = self.value(&[byte], found);
        if taken == 0 {
            // The byte cannot begin any value, and `value` left it to be skipped.
            self.offset += 1;
        }
    }

    /// Adds bytes to the open value and returns how many were used.
    fn value(&mut self, bytes: &[u8], found: &mut dyn FnMut(u64, u64, Piece<'_>)) -> usize {
        let State::Value(value) = &mut self.state else { return 0 };
        let validation = value.validator.feed(bytes);
        let taken = match validation {
            Validation::Incomplete => bytes.len(),
            Validation::Complete(end) | Validation::Invalid(end) => end,
        };
        let start = value.bytes.len();
        value.keep(&bytes[..taken], self.max);
        if let Some(last) = memchr::memrchr(b'\n', &bytes[..taken]) {
            value.line_start = start + last + 1;
            self.line += memchr::memchr_iter(b'\n', &bytes[..taken]).count() as u64;
        }
        self.offset += taken as u64;
        match validation {
            Validation::Incomplete => {}
            Validation::Complete(_) => {
                let result = if value.too_large { Piece::TooLarge } else { Piece::Value(&value.bytes) };
                found(value.offset, value.line, result);
                self.state = State::Between;
            }
            Validation::Invalid(at) => self.broken(bytes[at], found),
        }
        taken
    }

    fn broken(&mut self, byte: u8, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let State::Value(value) = std::mem::replace(&mut self.state, State::Skip) else { return };
        if self.document && byte == b'\n' && value.object && !value.too_large && !value.latest_line_restarts()
        {
            self.has_content = true;
            self.state =
                State::Resync { maybe_unfinished: Some((value.offset, value.line)), indent: value.indent };
            return;
        }
        let piece = match value {
            _ if value.too_large => Piece::TooLarge,
            _ if value.object => Piece::Broken,
            _ => Piece::Noise,
        };
        found(value.offset, value.line, piece);
        if !self.document || !value.object {
            return;
        }
        self.state = State::Resync { indent: value.indent, maybe_unfinished: None };
        // The line of the error may begin the next object, unless the broken object began on it.
        if value.line_start > 0 && !value.too_large {
            let tail = &value.bytes[value.line_start..];
            self.offset -= tail.len() as u64;
            self.indent.clear();
            self.has_content = false;
            self.feed(tail, found);
        } else {
            self.has_content = true;
        }
    }

    fn skip(&mut self, bytes: &[u8]) -> usize {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.offset += bytes.len() as u64;
            return bytes.len();
        };
        self.offset += end as u64;
        self.newline();
        self.state = State::Between;
        end + 1
    }

    /// Searches for a line that begins with the indentation and `{`, byte by byte at the start of each line.
    fn resync(&mut self, bytes: &[u8], found: &mut dyn FnMut(u64, u64, Piece<'_>)) -> usize {
        let State::Resync { indent: wanted, maybe_unfinished } = &mut self.state else { return 0 };
        let byte = bytes[0];
        if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
            && let Some((offset, line)) = maybe_unfinished.take()
        {
            found(offset, line, Piece::Broken);
        }
        if byte == b'\n' {
            self.newline();
            return 1;
        }
        if self.has_content {
            let blank = maybe_unfinished.is_some(); // only blanks so far: examine every byte
            let end = if blank { 1 } else { memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()) };
            self.offset += end as u64;
            return end;
        }
        if byte == b'{' && *wanted == self.indent {
            self.state = State::Between;
            return 0;
        }
        if wanted.get(self.indent.len()) == Some(&byte) {
            self.indent.push(byte);
        } else {
            self.has_content = true;
        }
        self.offset += 1;
        1
    }
}

impl OpenValue {
    /// Returns whether its latest line, if that is not its first, looks like the start of another object.
    fn latest_line_restarts(&self) -> bool {
        let latest = &self.bytes[self.line_start..];
        self.line_start > 0 && latest.strip_prefix(&*self.indent).is_some_and(|rest| rest.starts_with(b"{"))
    }

    /// The last non-blank line and everything after it, if it is not the first line and begins an object with
    /// the same indentation.
    fn last_line(&self) -> Option<&[u8]> {
        let text = self.bytes.trim_ascii_end();
        let start = memchr::memrchr(b'\n', text)? + 1;
        text[start..].strip_prefix(&*self.indent)?.starts_with(b"{").then_some(&self.bytes[start..])
    }

    fn keep(&mut self, bytes: &[u8], max: usize) {
        if self.bytes.len() + bytes.len() > max {
            self.too_large = true;
            self.bytes = Vec::new();
        } else if !self.too_large {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a text in blocks of every size, and returns `(offset, line, piece)` for each piece.
    fn split(text: &str, document: bool, max: usize) -> Vec<(u64, u64, String)> {
        let run = |size: usize| {
            let mut all = Vec::new();
            let mut found = |offset, line, piece: Piece<'_>| {
                let piece = match piece {
                    Piece::Value(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    other => format!("{other:?}"),
                };
                all.push((offset, line, piece));
            };
            let mut splitter =
                if document { Splitter::document(0, 0, max) } else { Splitter::line(0, 0, max) };
            text.as_bytes().chunks(size).for_each(|block| splitter.feed(block, &mut found));
            splitter.end(&mut found);
            all
        };
        let all = run(text.len().max(1));
        for size in 1..text.len() {
            assert_eq!(run(size), all, "in blocks of {size}");
        }
        all
    }

    fn found(text: &str, document: bool) -> Vec<(u64, String)> {
        split(text, document, 1000).into_iter().map(|(_, line, piece)| (line, piece)).collect()
    }

    fn is(line: u64, piece: &str) -> (u64, String) {
        (line, piece.to_owned())
    }

    #[test]
    fn adjacent_objects_are_split_and_the_unreadable_rest_is_one_piece_of_noise() {
        assert_eq!(
            found(r#"{"a":1}{"b":2} {"c":3}"#, false),
            [is(0, r#"{"a":1}"#), is(0, r#"{"b":2}"#), is(0, r#"{"c":3}"#)]
        );
        assert_eq!(found(r#"{"a":1} oops {"b":2}"#, false), [is(0, r#"{"a":1}"#), is(0, "Noise")]);
        assert_eq!(found("[DEBUG] {} {}", false), [is(0, "Noise")]);
        assert_eq!(found("\0\0{}", false), [is(0, "{}")]);
    }

    #[test]
    fn an_array_on_a_line_yields_its_elements() {
        assert_eq!(
            found(r#"[{"a":1},5,"x",[2]]{}"#, false),
            [is(0, r#"{"a":1}"#), is(0, "5"), is(0, "\"x\""), is(0, "[2]"), is(0, "{}")]
        );
        assert_eq!(found("[]", false), []);
        assert_eq!(found("[", false), [is(0, "Noise")]);
        assert_eq!(found("[{},", false), [is(0, "{}")]);
    }

    #[test]
    fn an_object_that_is_incomplete_at_the_end_of_its_line_is_unfinished() {
        assert_eq!(found(r#"{}{"a":"#, false), [is(0, "{}"), is(0, "Unfinished")]);
        assert_eq!(found(r#"{"a":1x"#, false), [is(0, "Broken")]);
    }

    #[test]
    fn a_pretty_printed_document_yields_its_objects_with_their_first_lines() {
        let text = "[\n  {\n    \"a\": 1\n  },\n\n  {\n    \"b\": 2\n  }\n]\n";
        let objects = split(text, true, 1000);
        assert_eq!(objects[0], (4, 1, "{\n    \"a\": 1\n  }".to_owned()));
        assert_eq!(objects[1], (22, 4, "Blank".to_owned()));
        assert_eq!(objects[2].1, 5);
        assert_eq!(objects.len(), 3);
    }

    #[test]
    fn after_a_broken_object_splitting_resumes_at_the_same_indentation() {
        let text = "[\n  {\n    \"a\": oops\n    {\n    }\n  },\n  {\n    \"b\": 2\n  }\n]";
        assert_eq!(found(text, true), [is(1, "Broken"), is(6, "{\n    \"b\": 2\n  }")]);
    }

    #[test]
    fn the_line_of_the_error_may_begin_the_next_object() {
        let text = "{\n \"a\": 1\n{\n \"b\": 2\n}\n";
        assert_eq!(found(text, true), [is(0, "Broken"), is(2, "{\n \"b\": 2\n}")]);
    }

    #[test]
    fn without_a_line_of_the_same_indentation_the_rest_belongs_to_the_broken_object() {
        assert_eq!(found("[\n  {\"a\": 1,},\n {}\n", true), [is(1, "Broken")]);
        assert_eq!(found("[\n {\"a\": 1,},\n {}\n", true), [is(1, "Broken"), is(2, "{}")]);
    }

    #[test]
    fn an_unfinished_object_does_not_swallow_the_last_line() {
        assert_eq!(
            found("{\n}\n{\"a\":\n{\"b\":2}\n\n", true)[1..],
            [is(2, "Broken"), is(3, "{\"b\":2}"), is(4, "Blank")]
        );
        assert_eq!(found("[\n {\"a\":\n {\"b\":", true), [is(1, "Broken"), is(2, "Unfinished")]);
        assert_eq!(found("[\n {\"a\":\n  {\"b\":2}", true), [is(1, "Unfinished")]);
    }

    #[test]
    fn a_value_above_the_maximum_size_is_skipped() {
        let text = format!("[{{\"a\":\"{}\"}},{{\"b\":1}}]", "x".repeat(50));
        let pieces: Vec<String> = split(&text, true, 20).into_iter().map(|(_, _, piece)| piece).collect();
        assert_eq!(pieces, ["TooLarge", "{\"b\":1}"]);
    }

    #[test]
    fn a_string_truncated_at_the_end_of_a_document_is_unfinished_even_if_blanks_follow() {
        assert_eq!(found("[{}]\n{\"b\":\"y\n", true), [is(0, "{}"), is(1, "Unfinished")]);
        assert_eq!(found("[{}]\n{\"b\":\"y\n \n\n", true), [is(0, "{}"), is(1, "Unfinished")]);
        assert_eq!(found("[{}]\n{\"b\":\"y\n  x\n", true), [is(0, "{}"), is(1, "Broken")]);
        assert_eq!(found("[{}]\n{\"b\":\"y\n{}\n", true), [is(0, "{}"), is(1, "Broken"), is(2, "{}")]);
    }

    #[test]
    fn each_line_of_noise_in_a_document_is_one_piece() {
        assert_eq!(found("{\n}\nnoise {} \n{\n}\n", true), [is(0, "{\n}"), is(2, "Noise"), is(3, "{\n}")]);
    }
}
