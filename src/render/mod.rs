//! Writes reports in all formats. Decides how a report looks, never its content.

#[cfg(feature = "cli")]
mod buffer;
mod comment;
mod csv;
mod foreign;
mod html;
pub mod human;
mod json;
mod jsonl;
mod junit;
mod markdown;
#[cfg(feature = "cli")]
pub mod otlp;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "cli")]
pub mod perfetto;
mod prometheus;
mod rows;
mod schema;
#[cfg(feature = "cli")]
mod sparkline;
#[cfg(feature = "cli")]
mod table;
mod tsv;
#[cfg(feature = "cli")]
pub mod wrap;

use std::io::{self, Write};

pub use comment::folded;
pub use markdown::code;
pub use rows::{RowWriter, row_writer};
pub use schema::schema;

use crate::report::{Data, Report, ReportSpec, Value, Verdict};

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Format {
    /// Tables for people
    #[cfg(feature = "cli")]
    Table,
    /// One JSON object
    Json,
    /// The rows as JSON, one object per line
    Jsonl,
    /// The rows as comma-separated values, under a line of keys
    Csv,
    /// The rows as tab-separated values, under a line of keys
    Tsv,
    /// The rows as Parquet, with typed columns; binary, for files and pipes
    #[cfg(feature = "parquet")]
    Parquet,
    /// Markdown for people: headings, lists and pipe tables
    #[cfg_attr(feature = "cli", value(alias = "md"))]
    Markdown,
    /// A page with charts for browsers: one file that loads nothing
    Html,
    /// Markdown for a comment on a pull request: the headline, with collapsed tables
    Comment,
    /// JUnit XML for CI systems: a test for each gate, for reports that accept gates
    Junit,
    /// Metrics for Prometheus: a gauge for each number, in base units
    #[cfg_attr(feature = "cli", value(alias = "prom"))]
    Prometheus,
}

impl Format {
    /// File name extensions of this format.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => &["txt"],
            Self::Json => &["json"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Csv => &["csv"],
            Self::Tsv => &["tsv"],
            #[cfg(feature = "parquet")]
            Self::Parquet => &["parquet"],
            Self::Markdown => &["md", "markdown"],
            Self::Html => &["html", "htm"],
            Self::Comment => &[],
            Self::Junit => &["xml"],
            Self::Prometheus => &["prom"],
        }
    }

    /// Whether it is for people: numbers are rounded, and long tables shortened.
    pub fn is_for_people(self) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => true,
            Self::Markdown | Self::Html | Self::Comment => true,
            #[cfg(feature = "parquet")]
            Self::Parquet => false,
            Self::Json | Self::Jsonl | Self::Csv | Self::Tsv | Self::Junit | Self::Prometheus => false,
        }
    }

    /// Whether it is not text, which must not be written to a terminal.
    pub fn is_binary(self) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => false,
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
            Self::Json | Self::Jsonl | Self::Csv | Self::Tsv | Self::Markdown => false,
            Self::Html | Self::Comment | Self::Junit | Self::Prometheus => false,
        }
    }

    /// Whether a report can be written in this format.
    pub fn fits(self, report: &str) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => true,
            Self::Json | Self::Jsonl | Self::Csv | Self::Tsv | Self::Markdown => true,
            #[cfg(feature = "parquet")]
            Self::Parquet => ReportSpec::named(report).is_some_and(|spec| !spec.heads().is_empty()),
            // Tests are verdicts, which only these reports have.
            Self::Junit => ReportSpec::named(report).is_some_and(|spec| spec.is_gated),
            // `ccusage` has neither a screen nor described keys.
            Self::Html | Self::Comment | Self::Prometheus => report != "ccusage",
        }
    }
}

/// Layout of text for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Width in columns; `None` for no limit.
    pub width: Option<u16>,
    /// Whether to use colours. Meaning is never conveyed by colour alone.
    pub color: bool,
}

/// Writes a report.
pub fn render(report: &Report, format: Format, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let _ = style; // used by tables only
    match format {
        #[cfg(feature = "cli")]
        Format::Table => table::write(report, style, out),
        Format::Json => json::write(report, out),
        Format::Jsonl => jsonl::write(report, out),
        Format::Csv => csv::write(report, out),
        Format::Tsv => tsv::write(report, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(report, out),
        Format::Markdown => markdown::write(report, out),
        Format::Html => html::write(report, out),
        Format::Comment => comment::write(report, out),
        Format::Junit => junit::write(report, out),
        Format::Prometheus => prometheus::write(report, out),
    }
}

/// The most important figures: heading, and path in the summary.
const FIGURES: &[(&str, &str)] = &[
    ("Cost", "cost.total_usd"),
    ("Input", "tokens.input"),
    ("Output", "tokens.output"),
    ("Cache read", "tokens.cache_read"),
    ("Prompts", "turns.total"),
    ("Duration", "duration.wall_ms"),
    ("Calls", "tools.calls"),
    ("Errors", "tools.errors"),
    ("Denied", "tools.denied"),
];

/// The value at a path such as `cost.total_usd` in a report that is an object.
fn at<'a>(data: &'a Data, path: &str) -> Option<&'a Value> {
    let Data::Tree(members) = data else { return None };
    let find = |members: &'a [(String, Value)], key: &str| {
        members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    };
    let mut keys = path.split('.');
    let first = find(members, keys.next()?)?;
    keys.try_fold(first, |value, key| match value {
        Value::Map(members) => find(members, key),
        _ => None,
    })
}

/// Lines about a failed gate: description, value and limit, location, hint.
pub fn gate_lines(verdict: &Verdict) -> Vec<String> {
    let figures = (verdict.limit != Value::Missing).then(|| {
        format!("found {}, allowed {}", human::value(&verdict.figure), human::value(&verdict.limit))
    });
    let place = verdict.at.as_ref().map(|(source, line)| format!("at {}:{line}", human::text(source)));
    let lines = [Some(human::words(&verdict.what)), figures, place, verdict.hint.as_ref().map(human::words)];
    lines.into_iter().flatten().collect()
}

/// A verdict for tests: it held, everything else is empty.
#[cfg(test)]
pub(crate) fn held(gate: &'static str, run: Option<&str>) -> Verdict {
    Verdict {
        gate,
        run: run.map(str::to_owned),
        wall: None,
        held: true,
        limit: Value::Missing,
        figure: Value::Missing,
        at: None,
        what: crate::report::Line::new(crate::report::Tone::Plain),
        hint: None,
    }
}
