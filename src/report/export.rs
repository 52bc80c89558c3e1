//! The tables that can be exported.

use super::{Report, View, calls, contents, records, repeats, responses, sessions, turns};
use crate::facts::Detail;

/// One table: the rows of a report, with all its columns.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its name.
    pub name: &'static str,
    /// The report whose rows they are; it differs only where content is asked for.
    pub report: &'static str,
    /// How much has to be kept for it.
    pub detail: Detail,
    /// Makes it.
    pub make: fn(&View<'_>) -> Report,
}

impl Export {
    const fn rows(name: &'static str, make: fn(&View<'_>) -> Report) -> Self {
        Self { name, report: name, detail: Detail::ROWS, make }
    }

    /// The table of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// The same with message text, tool input and tool output, if it has any.
    pub fn with_content(&self) -> Option<Self> {
        (self.name == calls::ENTRY.name).then_some(Self {
            report: contents::ENTRY.name,
            detail: Detail::ROWS.and(Detail::INPUTS).and(Detail::OUTPUTS),
            make: contents::contents,
            ..*self
        })
    }
}

/// The tables, each once. A table that is a command too is made of the same rows.
pub const TABLES: &[Export] = &[
    Export::rows("sessions", sessions::sessions),
    Export::rows("turns", turns::turns),
    Export::rows("responses", responses::responses),
    Export::rows("calls", calls::calls),
    Export::rows("denials", repeats::denials),
    Export::rows("errors", repeats::errors),
    Export { detail: Detail::ROWS.and(Detail::RECORDS), ..Export::rows("records", records::records) },
];
