//! Reports become text: how it looks, never what it says.

mod comment;
mod csv;
mod foreign;
pub mod human;
mod json;
mod jsonl;
mod junit;
mod markdown;
mod prometheus;
mod schema;
#[cfg(feature = "cli")]
mod table;
mod tsv;

use std::io::{self, Write};

pub use comment::folded;
pub use schema::schema;

use crate::report::{Data, Report, ReportSpec, Value, Verdict};

/// The formats, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
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
    /// Markdown for a comment on a pull request: the answer, and the tables folded
    Comment,
    /// JUnit XML for CI systems: a test for each gate, of reports that can have gates
    Junit,
    /// Metrics for Prometheus: a gauge for each number, in base units
    #[cfg_attr(feature = "cli", value(alias = "prom"))]
    Prometheus,
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
            Self::Comment => &[],
            Self::Junit => &["xml"],
            Self::Prometheus => &["prom"],
        }
    }

    /// Whether people read it: numbers are rounded, and long tables cut.
    pub fn is_for_people(self) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => true,
            Self::Markdown | Self::Comment => true,
            Self::Json | Self::Jsonl | Self::Csv | Self::Tsv | Self::Junit | Self::Prometheus => false,
        }
    }

    /// Whether a report of this name can be written so. `ccusage` is the shape of another program.
    pub fn fits(self, report: &str) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => true,
            Self::Json | Self::Jsonl | Self::Csv | Self::Tsv | Self::Markdown => true,
            // Only these can carry verdicts, and a test is a verdict.
            Self::Junit => ReportSpec::named(report).is_some_and(|spec| spec.is_gated),
            // It has neither a screen to fold nor keys that are explained.
            Self::Comment | Self::Prometheus => report != "ccusage",
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
        Format::Comment => comment::write(report, out),
        Format::Junit => junit::write(report, out),
        Format::Prometheus => prometheus::write(report, out),
    }
}

/// The value at a path such as `cost.total_usd` of a report with keys of its own.
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

/// What a gate that failed has to say, a line each: what was found, how much of what is allowed, where, what to do.
pub fn gate_lines(verdict: &Verdict) -> Vec<String> {
    let figures = (verdict.limit != Value::Missing).then(|| {
        format!("found {}, allowed {}", human::value(&verdict.figure), human::value(&verdict.limit))
    });
    let place = verdict.at.as_ref().map(|(source, line)| format!("at {}:{line}", human::text(source)));
    let lines = [Some(human::words(&verdict.what)), figures, place, verdict.hint.as_ref().map(human::words)];
    lines.into_iter().flatten().collect()
}

/// A verdict for tests: it holds, and nothing more is known of it.
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
