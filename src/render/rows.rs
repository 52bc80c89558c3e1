//! Formats that are nothing but rows, written one after another.

use std::io::{self, Write};

use super::{Format, csv, jsonl, tsv};
use crate::report::{Head, Value};

/// Writes the rows of one report.
pub trait RowWriter {
    /// Writes a row. It has a cell for every column of the report, also for those that are not written.
    fn row(&mut self, cells: &[Value]) -> io::Result<()>;

    /// Writes what remains, and flushes.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Format {
    /// Whether it can be written row by row: it has no totals, notes or layout.
    pub fn is_rows(self) -> bool {
        match self {
            #[cfg(feature = "cli")]
            Self::Table => false,
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
            Self::Jsonl | Self::Csv | Self::Tsv => true,
            Self::Json | Self::Markdown | Self::Html | Self::Comment | Self::Junit | Self::Prometheus => {
                false
            }
        }
    }
}

/// Starts to write rows of a report with these columns, each with the index of its cell.
pub fn row_writer<'o>(
    format: Format,
    report: &'o str,
    heads: &'o [(usize, &'o Head)],
    out: Box<dyn Write + 'o>,
) -> io::Result<Box<dyn RowWriter + 'o>> {
    let _ = report; // described by Parquet only
    Ok(match format {
        Format::Csv => Box::new(csv::rows(heads, out)?),
        Format::Tsv => Box::new(tsv::rows(heads, out)?),
        Format::Jsonl => Box::new(jsonl::Rows { heads, out }),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(super::parquet::Writer::new(report, heads, out)?),
        _ => return Err(io::Error::other("a format that is more than rows")),
    })
}

/// Writes all rows.
pub(super) fn write_all(mut writer: Box<dyn RowWriter + '_>, rows: &[Vec<Value>]) -> io::Result<()> {
    rows.iter().try_for_each(|cells| writer.row(cells))?;
    writer.finish()
}
