//! TSV: like CSV without quotes. Tabs and newlines within a text are written as `\t` and `\n`.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::{
    csv::{Rows, write_with},
    human,
};
use crate::report::{Head, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_with(&builder(), cell, report, out)
}

/// Starts to write rows under a line of keys.
pub(super) fn rows<'o>(heads: &[(usize, &Head)], out: Box<dyn Write + 'o>) -> io::Result<Rows<'o>> {
    Rows::new(&builder(), cell, heads, out)
}

fn builder() -> csv::WriterBuilder {
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(b'\t').quote_style(csv::QuoteStyle::Never);
    builder
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
