//! Lean logs: chunks of lean records, notes about lines that are not records, and totals.
//!
//! Most records have a compact form ([`read_chunk`]). The others are JSON, and begin with the lengths that reports show:
//! `{"~":[bytes,…],"type":…`. The numbers after the first are the lengths of its blocks, each followed by the length
//! of its result if it is a tool result. [`Note`]s are JSON too.
//!
//! Reports of totals read a [`Digest`] of the records instead.

mod bytes;
mod chunk;
mod digest;
mod exact;
mod form;
#[cfg(test)]
mod laws;
mod writer;

use std::fmt::Write;

use serde_json::{Value, json};
use smallvec::SmallVec;

pub use chunk::{Damaged, Position, Visitor, read_chunk};
pub use digest::{
    AgentDigest, AnswerDigest, AskDigest, CallDigest, Digest, DigestWriter, ResponseDigest, SessionDigest,
};
pub use writer::ChunkWriter;

use super::{Block, Body, Event, ToolPart};

/// Start of a record.
const START: &[u8] = b"{\"~\":[";

/// Distance from the end of the record before: bytes and line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub bytes: u64,
    pub lines: u64,
}

impl Gap {
    /// One line end.
    pub const LINE: Self = Self { bytes: 1, lines: 1 };
}

/// The numbers at the start of a lean record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Length of the record.
    pub bytes: u64,
    /// Lengths of blocks and tool results.
    parts: SmallVec<[u64; 4]>,
}

impl Sizes {
    /// The sizes of a record of a log.
    pub fn of(event: &Event<'_>) -> Self {
        let mut parts = SmallVec::new();
        for block in blocks(&event.body) {
            parts.push(block.bytes);
            if let ToolPart::Result(result) = &block.tool_part {
                parts.push(result.bytes);
            }
        }
        Self { bytes: event.bytes, parts }
    }

    /// Parses the start of a line; `None` if the line is not a lean record.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut rest = line.strip_prefix(START)?;
        let mut parts: SmallVec<[u64; 4]> = SmallVec::new();
        loop {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = rest[..digits].iter().try_fold(0u64, |number, digit| {
                number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
            })?;
            parts.push(number);
            let end = *rest.get(digits).filter(|_| digits > 0)?;
            rest = &rest[digits + 1..];
            match end {
                b',' => {}
                b']' => break,
                _ => return None,
            }
        }
        let bytes = parts.remove(0);
        Some(Self { bytes, parts })
    }

    /// Appends the start of a lean record, without the members that follow.
    pub fn write(&self, out: &mut String) {
        let Self { bytes, parts } = self;
        let _ = write!(out, "{{\"~\":[{bytes}");
        for part in parts {
            let _ = write!(out, ",{part}");
        }
        out.push(']');
    }

    /// Gives the lengths of the original record to its lean form.
    pub fn restore(&self, event: &mut Event<'_>) {
        event.bytes = self.bytes;
        let mut parts = self.parts.iter().copied();
        let message = match &mut event.body {
            Body::Message(message) | Body::Nested(message, _) => message,
            _ => return,
        };
        for block in &mut message.blocks {
            block.bytes = parts.next().unwrap_or(0);
            if let ToolPart::Result(result) = &mut block.tool_part {
                result.bytes = parts.next().unwrap_or(0);
            }
        }
    }
}

/// Whether the input of a call is the stand-in of a lean log: a hash, and at most the names in it. The CLI writes objects
/// with its own keys.
pub fn is_hashed_input(input: &str) -> bool {
    input.starts_with('"') || input.starts_with("{\"~\":")
}

fn blocks<'e, 'a>(body: &'e Body<'a>) -> &'e [Block<'a>] {
    match body {
        Body::Message(message) | Body::Nested(message, _) => &message.blocks,
        _ => &[],
    }
}

/// A part of a lean log that is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// An invalid line or value.
    Invalid { line: u64, offset: u64, reason: String },
    /// The end of the log.
    End(Totals),
}

/// Totals of the original log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub bytes: u64,
    pub lines: u64,
    pub blank: u64,
    /// Line and offset of the last line that is not blank.
    pub last: Option<(u64, u64)>,
    /// Why that line is unfinished, if it is.
    pub unfinished: Option<String>,
}

impl Note {
    /// Parses a line; `None` if it is not a note.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let note: Value = serde_json::from_slice(line).ok()?;
        let number = |key: &str| note[key].as_u64();
        let text = |key: &str| note[key].as_str().map(str::to_owned);
        Some(match note["~"].as_str()? {
            "invalid" => {
                Self::Invalid { line: number("line")?, offset: number("offset")?, reason: text("reason")? }
            }
            "end" => Self::End(Totals {
                bytes: number("bytes")?,
                lines: number("lines")?,
                blank: number("blank")?,
                last: note["last"][0].as_u64().zip(note["last"][1].as_u64()),
                unfinished: text("unfinished"),
            }),
            _ => return None,
        })
    }

    /// Appends the note as JSON.
    pub fn write(&self, out: &mut String) {
        let note = match self {
            Self::Invalid { line, offset, reason } => {
                json!({"~": "invalid", "line": line, "offset": offset, "reason": reason})
            }
            Self::End(Totals { bytes, lines, blank, last, unfinished }) => json!({
                "~": "end", "bytes": bytes, "lines": lines, "blank": blank, "last": last, "unfinished": unfinished,
            }),
        };
        let _ = write!(out, "{note}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::decode;

    #[test]
    fn notes_are_written_and_read_back() {
        let invalid = Note::Invalid { line: 3, offset: 70, reason: "broken \"JSON\"".to_owned() };
        let end = Totals { bytes: 9, lines: 4, blank: 1, last: Some((3, 70)), unfinished: None };
        let unfinished = Totals { unfinished: Some("unfinished object".to_owned()), ..end.clone() };
        for note in [invalid, Note::End(end), Note::End(unfinished), Note::End(Totals::default())] {
            let mut line = String::new();
            note.write(&mut line);
            assert_eq!(Note::parse(line.as_bytes()), Some(note), "{line}");
        }
    }

    #[test]
    fn sizes_are_written_and_read_back() {
        let result = br#"{"type":"user","message":{"content":[{"type":"tool_result","content":"abc"},{"type":"text","text":"x"}]}}"#;
        let event = decode(result).unwrap();
        let sizes = Sizes::of(&event);
        let mut line = String::new();
        sizes.write(&mut line);
        line.push_str(r#","type":"user","message":{"content":[{"type":"tool_result"},{"type":"text"}]}}"#);
        assert_eq!(Sizes::parse(line.as_bytes()), Some(sizes.clone()), "{line}");
        let mut lean = decode(line.as_bytes()).unwrap();
        sizes.restore(&mut lean);
        assert_eq!(Sizes::of(&lean), sizes);
    }

    #[test]
    fn other_lines_are_not_lean_records() {
        for line in [
            r#"{"type":"user"}"#,
            r#"{"~":[],"type":"user"}"#,
            r#"{"~":["#,
            r#"{"~":[1"#,
            r#"{"~":[99999999999999999999]}"#,
            r#"{"~":[1 ,2]}"#,
        ] {
            assert_eq!(Sizes::parse(line.as_bytes()), None, "{line}");
        }
    }
}
