//! Removes the texts from a log: records, ids and numbers stay, and every other text becomes a placeholder.
//!
//! The output is as long as the input, and every record keeps its offset and length, so reports about the two
//! logs are equal. `table.rs` lists what is kept; everything that is not listed is replaced. The same text
//! has the same placeholder in all logs that one [`Redactor`] processes. Placeholders are numbered in the
//! order of appearance. Some texts decide how a record is counted, such as the message of a denied call; they
//! keep the deciding words.
//!
//! Nothing here opens files: bytes come in through [`input::Sink`](crate::input::Sink) and go out through a
//! writer.

mod known;
mod mask;
mod name;
mod placeholder;
mod span;
mod stream;
mod table;
mod walk;

pub use name::redacted_paths;
pub use stream::StreamRedactor;

use crate::event;
use placeholder::Placeholders;
use span::Span;

/// Returns the words of a typed text that decide how it counts: whether a person typed it, its slash command, the
/// ids of a task. All other text is one dot.
pub(crate) fn deciding_prompt(text: &str) -> String {
    kept(text, &span::of_prompt(text))
}

/// Returns the words of a tool's or the model's text that decide how it counts, such as a denial. The name and the
/// command of a hook are kept. All other text is one dot.
pub(crate) fn deciding_tool_text(text: &str) -> String {
    kept(text, &span::of_verdict(text))
}

/// Returns the commands of hooks that a text contains. All other text is one dot.
pub(crate) fn hook_commands_in(text: &str, commands: &[String]) -> String {
    kept(text, &span::of_hook_errors(text, commands))
}

/// Returns whether a text is the name of a command and nothing else.
pub(crate) fn is_command_name(text: &str) -> bool {
    span::is_command(text)
}

/// The spans of a text, and a dot for the text between them.
fn kept(text: &str, spans: &[Span]) -> String {
    let (mut words, mut end) = (String::new(), 0);
    for span in spans {
        let (Span::Keep(range) | Span::Replace(range)) = span;
        if range.start > end {
            words.push('.');
        }
        words.push_str(&text[range.clone()]);
        end = range.end;
    }
    if end < text.len() {
        words.push('.');
    }
    words
}

/// Replaces texts by placeholders, and remembers them for the next record or log.
#[derive(Debug, Default)]
pub struct Redactor {
    placeholders: Placeholders,
}

impl Redactor {
    /// Returns a redactor without placeholders.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a record without its texts to `out`, and returns whether `bytes` are a record.
    ///
    /// The appended record has as many bytes and counts as the same in every report. If `bytes` are not a
    /// record, nothing is written.
    pub fn record(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(record) = event::decode(bytes) else { return false };
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        walk::record(text, &record.kind.name(), &mut self.placeholders, out);
        true
    }
}
