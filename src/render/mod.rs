//! Reports become text: how it looks, never what it says.

mod csv;
pub mod human;
mod json;
mod jsonl;
mod markdown;
mod schema;
#[cfg(feature = "cli")]
mod table;
mod tsv;

use std::io::{self, Write};

pub use schema::schema;

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
    /// The rows as JSON, one object a line
    Jsonl,
    /// The rows as comma-separated values, under a line of keys
    Csv,
    /// The rows as tab-separated values, under a line of keys
    Tsv,
    /// Markdown for people: headings, lists and pipe tables
    #[cfg_attr(feature = "cli", value(alias = "md"))]
    Markdown,
}

impl Format {
    /// How the names of files in this format end.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => &["txt"],
            Self::Json => &["json"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Csv => &["csv"],
            Self::Tsv => &["tsv"],
            Self::Markdown => &["md", "markdown"],
        }
    }

    /// Whether people read it: numbers are rounded, and long tables cut.
    pub fn is_for_people(self) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => true,
            Self::Markdown => true,
            Self::Json | Self::Jsonl | Self::Csv | Self::Tsv => false,
        }
    }
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
    let _ = style; // only a screen has one
    match format {
        #[cfg(feature = "cli")]
        Format::Table => table::write(report, style, out),
        Format::Json => json::write(report, out),
        Format::Jsonl => jsonl::write(report, out),
        Format::Csv => csv::write(report, out),
        Format::Tsv => tsv::write(report, out),
        Format::Markdown => markdown::write(report, out),
    }
}
