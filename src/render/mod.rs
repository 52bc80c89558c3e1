//! Reports become text: how it looks, never what it says.

pub mod human;
mod json;
#[cfg(feature = "cli")]
mod table;

use std::io::{self, Write};

use crate::report::Report;

/// The formats, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// Tables for people
    #[cfg(feature = "cli")]
    Table,
    /// One JSON object
    Json,
}

/// How text for people is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Columns to stay within; `None` for no limit.
    pub width: Option<u16>,
    /// Whether colours may be used. No meaning is in the colour alone.
    pub color: bool,
}

/// Writes a report.
pub fn render(report: &Report, format: Format, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match format {
        #[cfg(feature = "cli")]
        Format::Table => table::write(report, style, out),
        Format::Json => {
            let _ = style; // JSON has one look
            json::write(report, out)
        }
    }
}
