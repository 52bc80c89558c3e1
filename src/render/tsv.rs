//! TSV: like CSV without quotes. Tabs and newlines within a text are written as `\t` and `\n`.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::{csv::write_with, human};
use crate::report::Report;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(b'\t').quote_style(csv::QuoteStyle::Never);
    write_with(builder, cell, report, out)
}

/// Makes text from a log safe for terminals and keeps it within its cell.
fn cell(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '\t', '\n', '\r']) {
        return human::text(text);
    }
    let within = text.replace('\\', r"\\").replace('\t', r"\t").replace('\n', r"\n").replace('\r', r"\r");
    Cow::Owned(human::text(&within).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_within_its_row() {
        assert_eq!(cell("a\tb\nc\\d\u{1b}"), r"a\tb\nc\\d\u{1b}");
        assert!(matches!(cell("=1"), Cow::Borrowed("=1")));
    }
}
