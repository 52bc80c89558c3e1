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
