//! A log without its texts: the same records, ids and numbers, and a placeholder for everything that was said.
//!
//! What is written has as many bytes as what was read, byte for byte in the same places, so a report of the one is a report of
//! the other. What stays is listed (`table.rs`), never what goes. The same text has the same placeholder in all logs that one
//! [`Redactor`] sees, numbered in the order of appearance. A text whose words decide what it counts as keeps these words.
//!
//! Nothing here opens files: bytes come in through [`input::Sink`](crate::input::Sink), and go out through a writer.

mod fill;
mod known;
mod name;
mod said;
mod stream;
mod table;
mod text;
mod walk;

pub use name::names;
pub use stream::Redacting;

use crate::event;
use text::Numbers;

/// Replaces texts by placeholders, which it remembers.
#[derive(Debug, Default)]
pub struct Redactor {
    numbers: Numbers,
}

impl Redactor {
    /// A redactor that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a record without its texts, if the bytes are one record: as many bytes, and a record that counts as the same.
    pub fn record(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(record) = event::decode(bytes) else { return false };
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        walk::record(text, &record.kind.name(), &mut self.numbers, out);
        true
    }
}
