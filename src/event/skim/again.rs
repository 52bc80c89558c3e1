//! Lines that repeat the one before them, but for texts that nobody reads.
//!
//! A streamed response is a long row of `stream_event` lines that differ in a few words and numbers. What they have in
//! common was checked once: then it is enough to compare it, and to check the texts in between. Their events are the
//! same.

use super::{
    kernel::{Ahead, Kernel, Quotes, Task},
    walk::number_end,
};
use crate::event::{
    Body, Event,
    fields::{EventFields, Fields, Key, RecordFields},
    kind::Kind,
};

/// How often in one text a pattern is made: where lines do not repeat, making them would only take time.
const MOST: u32 = 64;

/// How many patterns are kept: a streamed response has about six sorts of lines.
const KEPT: usize = 8;

/// The patterns that the lines of a text were found to repeat.
#[derive(Clone, Debug, Default)]
pub(super) struct Again<'a> {
    patterns: Vec<Pattern<'a>>,
    /// The one that the last line began like.
    found: Option<usize>,
    made: u32,
}

/// What lines have in common, and the event that they share.
#[derive(Clone, Debug)]
struct Pattern<'a> {
    event: Event<'a>,
    parts: Vec<Part>,
    /// What follows the last part.
    tail: (usize, usize),
}

/// Text that is the same, from here to there, and what follows it.
#[derive(Clone, Copy, Debug)]
struct Part {
    same: (usize, usize),
    then: Then,
}

/// What may differ.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// The inside of a string.
    Text,
    /// A number.
    Number,
}

impl<'a> Again<'a> {
    /// Whether the line at `from` begins like a pattern; a cheap question before the dear one.
    #[inline]
    pub(super) fn begins(&mut self, bytes: &[u8], from: usize) -> bool {
        let begins = |pattern: &Pattern<'_>| {
            let (start, end) = pattern.parts[0].same;
            bytes.get(from..from + (end - start)) == Some(&bytes[start..end])
        };
        self.found = self.patterns.iter().position(begins);
        self.found.is_some()
    }

    /// The event of a line of this length that matched.
    #[inline]
    pub(super) fn event(&self, bytes: u64) -> Option<Event<'a>> {
        self.found.map(|at| Event { bytes, ..self.patterns[at].event.clone() })
    }

    /// Makes a pattern of a line that was walked over, if lines like it have nothing to tell.
    #[inline]
    pub(super) fn learn(&mut self, bytes: &[u8], (from, end): (usize, usize), event: &Event<'a>) {
        // With blanks around it a record is shorter than its line.
        if self.made < MOST && tells_nothing(event) && event.bytes == (end - from) as u64 {
            self.make(bytes, (from, end), event);
        }
    }

    /// In place of the pattern that the line began like, else beside the others.
    #[cold]
    fn make(&mut self, bytes: &[u8], ends: (usize, usize), event: &Event<'a>) {
        self.made += 1;
        let (parts, tail) = parts(bytes, ends);
        if parts.is_empty() {
            return;
        }
        let pattern = Pattern { event: event.clone(), parts, tail };
        match self.found {
            Some(at) => self.patterns[at] = pattern,
            None if self.patterns.len() < KEPT => self.patterns.push(pattern),
            None => self.patterns[self.made as usize % KEPT] = pattern,
        }
    }
}

/// What is the same in lines like this one, and what may differ.
fn parts(bytes: &[u8], (from, end): (usize, usize)) -> (Vec<Part>, (usize, usize)) {
    let mut parts = Vec::new();
    let (mut same, mut at, mut key) = (from, from, &[][..]);
    while at < end {
        let (then, begin, stop) = match bytes[at] {
            b'"' => {
                let stop = string_end(bytes, at + 1);
                let after = bytes[stop + 1..end].iter().find(|byte| !byte.is_ascii_whitespace());
                if after == Some(&b':') {
                    key = &bytes[at + 1..stop];
                    at = stop + 1;
                    continue;
                }
                (Then::Text, at + 1, stop)
            }
            b'-' | b'0'..=b'9' => (Then::Number, at, number_end(bytes, at).unwrap_or(end)),
            _ => {
                at += 1;
                continue;
            }
        };
        if !decides(key) {
            parts.push(Part { same: (same, begin), then });
            same = stop;
        }
        at = stop + usize::from(matches!(then, Then::Text));
    }
    (parts, (same, end))
}

/// Whether the value of a key decides what a record without facts is, or whose.
fn decides(key: &[u8]) -> bool {
    let wanted = RecordFields::slot(Key::new(key)).is_some() || EventFields::slot(Key::new(key)).is_some();
    wanted && !matches!(key, b"uuid" | b"api_message_id")
}

/// Events of a streamed response that carry no fact: neither its first nor its last word. Their uuid counts for nothing.
fn tells_nothing(event: &Event<'_>) -> bool {
    let Kind::Known(id) = event.kind else { return false };
    let part = id.row().name.strip_prefix("stream_event/");
    event.body == Body::Plain && part.is_some_and(|part| !matches!(part, "message_start" | "message_delta"))
}

/// The quote that ends a string that was checked.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += 1 + usize::from(bytes[at] == b'\\');
    }
    at.min(bytes.len())
}

/// Compares a line with a pattern; where it ends, and the quotes ahead from there.
pub(super) struct Compare<'w, 'a> {
    pub(super) again: &'w Again<'a>,
    pub(super) bytes: &'a [u8],
    pub(super) from: usize,
    pub(super) quotes: Quotes,
    pub(super) ahead: &'w mut Ahead,
}

impl Task for Compare<'_, '_> {
    type Done = Option<(usize, Quotes)>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Self::Done {
        let Self { again, bytes, from: mut at, mut quotes, ahead } = self;
        let pattern = again.patterns.get(again.found?)?;
        let same = |at: usize, (start, end): (usize, usize)| {
            let to = at + (end - start);
            (bytes.get(at..to)? == &bytes[start..end]).then_some(to)
        };
        for part in &pattern.parts {
            at = same(at, part.same)?;
            at = match part.then {
                Then::Text => {
                    quotes.skip_to(kernel, ahead, bytes, at)?;
                    quotes.close(kernel, ahead, bytes, at)?.at
                }
                Then::Number => number_end(bytes, at).ok()?,
            };
        }
        at = same(at, pattern.tail)?;
        match bytes.get(at) {
            Some(b'\n') => quotes.skip_to(kernel, ahead, bytes, at).map(|()| (at, quotes)),
            _ => None, // blanks, or the end of the text: the walk knows what to do
        }
    }
}
