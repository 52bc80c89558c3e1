//! Cuts text that is not simply one object per line: glued objects, arrays, pretty-printed objects.

use super::validator::{Validation, Validator};

/// Indentation beyond this is not remembered: a crashed machine can leave gigabytes of NULs on a line.
const DEEPEST_INDENT: usize = 1024;

/// What stands in a source, one thing after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The bytes of one JSON value.
    Value(&'a [u8]),
    /// Something that does not begin a record.
    Noise,
    /// An object that breaks the grammar.
    Broken,
    /// An object that is not finished where its line or the input ends.
    Unfinished,
    /// A value larger than the limit.
    TooLarge,
    /// A line with nothing on it.
    Blank,
}

/// Cuts bytes that come in blocks of any size into values, in flat memory.
///
/// For a *line* the end of the line ends everything; what is unreadable makes the rest of it one piece of noise. In a
/// *document* a value may go on over many lines, and after a broken object reading goes on at the next line, at or after
/// the break, that begins an object with the same indentation.
#[derive(Clone, Debug)]
pub struct Splitter {
    document: bool,
    max: usize,
    /// Inside an array of records.
    array: bool,
    state: State,
    /// Offset of the next byte.
    offset: u64,
    /// Number of the line it is on.
    line: u64,
    /// Blank bytes at the beginning of the line.
    indent: Vec<u8>,
    /// Something else stands on the line already.
    busy: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// Between values.
    Between,
    /// After a `[` that begins an array if an object or its end follows; where it stands.
    Bracket { offset: u64, line: u64 },
    /// In a value.
    Value(Box<OpenValue>),
    /// In noise, up to the end of the line.
    Skip,
    /// After a broken object: looking for a line that begins with this and `{`.
    Resync {
        indent: Vec<u8>,
        /// Where the object began, if all that follows it so far are blanks: at the end of the input it is not broken but
        /// torn, since a torn string and a line's end look like a broken one.
        torn: Option<(u64, u64)>,
    },
}

/// A value on its way.
#[derive(Clone, Debug)]
struct OpenValue {
    validator: Validator,
    offset: u64,
    line: u64,
    indent: Vec<u8>,
    bytes: Vec<u8>,
    /// It outgrew the limit, and its bytes are not kept.
    too_large: bool,
    /// Where its latest line begins in `bytes`; 0 is the line it began on.
    line_start: usize,
    object: bool,
}

impl Splitter {
    /// For one line at an offset.
    pub fn line(offset: u64, line: u64, max: usize) -> Self {
        Self { document: false, ..Self::document(offset, line, max) }
    }

    /// For a document, or what is left of it from an offset on.
    pub fn document(offset: u64, line: u64, max: usize) -> Self {
        let (indent, busy, array) = (Vec::new(), false, false);
        Self { document: true, max, array, state: State::Between, offset, line, indent, busy }
    }

    /// Goes on with these bytes and tells what it finds, with the offset and line where it begins.
    pub fn feed(&mut self, bytes: &[u8], found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let mut at = 0;
        while at < bytes.len() {
            at += match &self.state {
                State::Value(_) => self.value(&bytes[at..], found),
                State::Skip => self.skip(&bytes[at..]),
                State::Resync { .. } => self.resync(&bytes[at..], found),
                State::Between | State::Bracket { .. } if bytes[at] == 0 && !self.busy => {
                    self.hole(&bytes[at..])
                }
                State::Between | State::Bracket { .. } => {
                    self.between(bytes[at], found);
                    1
                }
            };
        }
    }

    /// The line or the input ends here.
    pub fn end(&mut self, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Value(piece) if piece.too_large => found(piece.offset, piece.line, Piece::TooLarge),
            State::Value(piece) if piece.object => self.unfinished(&piece, found),
            State::Value(piece) if piece.validator.is_whole() => {
                found(piece.offset, piece.line, Piece::Value(&piece.bytes))
            }
            State::Value(piece) => found(piece.offset, piece.line, Piece::Noise),
            State::Bracket { offset, line } => found(offset, line, Piece::Noise),
            // A last line that ends with the input is blank if it has blanks on it; after a line's end there is none.
            State::Between if !self.busy && !self.indent.is_empty() => {
                found(self.offset, self.line, Piece::Blank)
            }
            State::Resync { torn: Some((offset, line)), .. } => found(offset, line, Piece::Unfinished),
            State::Between | State::Skip | State::Resync { .. } => {}
        }
    }

    /// The input ends inside an object. In a document it swallowed what follows, unless the last line begins another.
    fn unfinished(&mut self, piece: &OpenValue, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let Some(tail) = piece.last_line().filter(|_| self.document) else {
            return found(piece.offset, piece.line, Piece::Unfinished);
        };
        found(piece.offset, piece.line, Piece::Broken);
        self.offset -= tail.len() as u64;
        self.line -= memchr::memchr_iter(b'\n', tail).count() as u64;
        self.indent.clear();
        self.busy = false;
        self.feed(tail, found);
        self.end(found);
    }

    fn newline(&mut self) {
        self.offset += 1;
        self.line += 1;
        self.indent.clear();
        self.busy = false;
    }

    /// One byte between values.
    fn between(&mut self, byte: u8, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        match byte {
            b'\n' => {
                if !self.busy {
                    found(self.offset, self.line, Piece::Blank);
                }
                return self.newline();
            }
            b' ' | b'\t' | b'\r' => self.blank(byte),
            _ => return self.begin(byte, found),
        }
        self.offset += 1;
    }

    /// NULs before the first value of a line, all at once: a sparse file may have gigabytes of them. How many they are.
    fn hole(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
        (0..count.min(DEEPEST_INDENT)).for_each(|_| self.blank(0));
        self.offset += count as u64;
        count
    }

    fn blank(&mut self, byte: u8) {
        if !self.busy && self.indent.len() < DEEPEST_INDENT {
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
        self.busy = true;
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
        let piece = OpenValue {
            validator: Validator::new(),
            offset: self.offset,
            line: self.line,
            indent: self.indent.clone(),
            bytes: Vec::new(),
            too_large: false,
            line_start: 0,
            object: byte == b'{',
        };
        self.state = State::Value(Box::new(piece));
        let taken = self.value(&[byte], found);
        if taken == 0 {
            // The byte cannot begin any value, and `value` left it to be skipped.
            self.offset += 1;
        }
    }

    /// Bytes of a value; how many of them were taken.
    fn value(&mut self, bytes: &[u8], found: &mut dyn FnMut(u64, u64, Piece<'_>)) -> usize {
        let State::Value(piece) = &mut self.state else { return 0 };
        let step = piece.validator.feed(bytes);
        let taken = match step {
            Validation::Incomplete => bytes.len(),
            Validation::Complete(end) | Validation::Invalid(end) => end,
        };
        let start = piece.bytes.len();
        piece.keep(&bytes[..taken], self.max);
        if let Some(last) = memchr::memrchr(b'\n', &bytes[..taken]) {
            piece.line_start = start + last + 1;
            self.line += memchr::memchr_iter(b'\n', &bytes[..taken]).count() as u64;
        }
        self.offset += taken as u64;
        match step {
            Validation::Incomplete => {}
            Validation::Complete(_) => {
                let result = if piece.too_large { Piece::TooLarge } else { Piece::Value(&piece.bytes) };
                found(piece.offset, piece.line, result);
                self.state = State::Between;
            }
            Validation::Invalid(at) => self.broken(bytes[at], found),
        }
        taken
    }

    fn broken(&mut self, by: u8, found: &mut dyn FnMut(u64, u64, Piece<'_>)) {
        let State::Value(piece) = std::mem::replace(&mut self.state, State::Skip) else { return };
        if self.document && by == b'\n' && piece.object && !piece.too_large && !piece.latest_line_restarts() {
            self.busy = true;
            self.state = State::Resync { torn: Some((piece.offset, piece.line)), indent: piece.indent };
            return;
        }
        let what = match piece {
            _ if piece.too_large => Piece::TooLarge,
            _ if piece.object => Piece::Broken,
            _ => Piece::Noise,
        };
        found(piece.offset, piece.line, what);
        if !self.document || !piece.object {
            return;
        }
        self.state = State::Resync { indent: piece.indent, torn: None };
        // The line of the break is where reading may go on, unless the broken object began on it.
        if piece.line_start > 0 && !piece.too_large {
            let tail = &piece.bytes[piece.line_start..];
            self.offset -= tail.len() as u64;
            self.indent.clear();
            self.busy = false;
            self.feed(tail, found);
        } else {
            self.busy = true;
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

    /// Looks, byte by byte at the beginning of a line, for the indentation and `{`.
    fn resync(&mut self, bytes: &[u8], found: &mut dyn FnMut(u64, u64, Piece<'_>)) -> usize {
        let State::Resync { indent: wanted, torn } = &mut self.state else { return 0 };
        let byte = bytes[0];
        if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
            && let Some((offset, line)) = torn.take()
        {
            found(offset, line, Piece::Broken);
        }
        if byte == b'\n' {
            self.newline();
            return 1;
        }
        if self.busy {
            let blank = torn.is_some(); // only blanks so far: every byte counts
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
            self.busy = true;
        }
        self.offset += 1;
        1
    }
}

impl OpenValue {
    /// Whether its latest line, not being its first, looks like the beginning of another object.
    fn latest_line_restarts(&self) -> bool {
        let latest = &self.bytes[self.line_start..];
        self.line_start > 0 && latest.strip_prefix(&*self.indent).is_some_and(|rest| rest.starts_with(b"{"))
    }

    /// The last line that is not blank and all after it, if it is not the first and begins an object like this one.
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

    /// What is found, in blocks of every size: `(offset, line, what)`.
    fn cut(text: &str, document: bool, max: usize) -> Vec<(u64, u64, String)> {
        let run = |size: usize| {
            let mut all = Vec::new();
            let mut found = |offset, line, what: Piece<'_>| {
                let what = match what {
                    Piece::Value(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    other => format!("{other:?}"),
                };
                all.push((offset, line, what));
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
        cut(text, document, 1000).into_iter().map(|(_, line, what)| (line, what)).collect()
    }

    fn is(line: u64, what: &str) -> (u64, String) {
        (line, what.to_owned())
    }

    #[test]
    fn glued_objects_are_cut_and_the_unreadable_rest_is_one_piece_of_noise() {
        assert_eq!(
            found(r#"{"a":1}{"b":2} {"c":3}"#, false),
            [is(0, r#"{"a":1}"#), is(0, r#"{"b":2}"#), is(0, r#"{"c":3}"#)]
        );
        assert_eq!(found(r#"{"a":1} oops {"b":2}"#, false), [is(0, r#"{"a":1}"#), is(0, "Noise")]);
        assert_eq!(found("[DEBUG] {} {}", false), [is(0, "Noise")]);
        assert_eq!(found("\0\0{}", false), [is(0, "{}")]);
    }

    #[test]
    fn an_array_on_a_line_gives_its_elements() {
        assert_eq!(
            found(r#"[{"a":1},5,"x",[2]]{}"#, false),
            [is(0, r#"{"a":1}"#), is(0, "5"), is(0, "\"x\""), is(0, "[2]"), is(0, "{}")]
        );
        assert_eq!(found("[]", false), []);
        assert_eq!(found("[", false), [is(0, "Noise")]);
        assert_eq!(found("[{},", false), [is(0, "{}")]);
    }

    #[test]
    fn an_object_that_its_line_does_not_finish_is_unfinished() {
        assert_eq!(found(r#"{}{"a":"#, false), [is(0, "{}"), is(0, "Unfinished")]);
        assert_eq!(found(r#"{"a":1x"#, false), [is(0, "Broken")]);
    }

    #[test]
    fn a_pretty_document_gives_its_objects_with_the_lines_where_they_begin() {
        let text = "[\n  {\n    \"a\": 1\n  },\n\n  {\n    \"b\": 2\n  }\n]\n";
        let objects = cut(text, true, 1000);
        assert_eq!(objects[0], (4, 1, "{\n    \"a\": 1\n  }".to_owned()));
        assert_eq!(objects[1], (22, 4, "Blank".to_owned()));
        assert_eq!(objects[2].1, 5);
        assert_eq!(objects.len(), 3);
    }

    #[test]
    fn after_a_broken_object_reading_goes_on_at_the_same_indentation() {
        let text = "[\n  {\n    \"a\": oops\n    {\n    }\n  },\n  {\n    \"b\": 2\n  }\n]";
        assert_eq!(found(text, true), [is(1, "Broken"), is(6, "{\n    \"b\": 2\n  }")]);
    }

    #[test]
    fn the_line_of_the_break_may_begin_the_next_object() {
        let text = "{\n \"a\": 1\n{\n \"b\": 2\n}\n";
        assert_eq!(found(text, true), [is(0, "Broken"), is(2, "{\n \"b\": 2\n}")]);
    }

    #[test]
    fn without_such_a_line_the_rest_belongs_to_the_broken_one() {
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
    fn a_value_above_the_limit_is_passed_over() {
        let text = format!("[{{\"a\":\"{}\"}},{{\"b\":1}}]", "x".repeat(50));
        let what: Vec<String> = cut(&text, true, 20).into_iter().map(|(_, _, what)| what).collect();
        assert_eq!(what, ["TooLarge", "{\"b\":1}"]);
    }

    #[test]
    fn a_string_torn_at_the_end_of_a_document_is_unfinished_whatever_blanks_follow() {
        assert_eq!(found("[{}]\n{\"b\":\"y\n", true), [is(0, "{}"), is(1, "Unfinished")]);
        assert_eq!(found("[{}]\n{\"b\":\"y\n \n\n", true), [is(0, "{}"), is(1, "Unfinished")]);
        assert_eq!(found("[{}]\n{\"b\":\"y\n  x\n", true), [is(0, "{}"), is(1, "Broken")]);
        assert_eq!(found("[{}]\n{\"b\":\"y\n{}\n", true), [is(0, "{}"), is(1, "Broken"), is(2, "{}")]);
    }

    #[test]
    fn noise_in_a_document_is_one_a_line() {
        assert_eq!(found("{\n}\nnoise {} \n{\n}\n", true), [is(0, "{\n}"), is(2, "Noise"), is(3, "{\n}")]);
    }
}
