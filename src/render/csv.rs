//! CSV: a line of keys, then the rows, with exact values and without spreadsheet formulas.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::{
    RowWriter, human,
    json::{Tree, compact},
    rows::write_all,
};
use crate::report::{Data, Head, Report, Value};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_with(&csv::WriterBuilder::new(), cell, report, out)
}

/// Starts to write rows under a line of keys.
pub(super) fn rows<'o>(heads: &[(usize, &Head)], out: Box<dyn Write + 'o>) -> io::Result<Rows<'o>> {
    Rows::new(&csv::WriterBuilder::new(), cell, heads, out)
}

/// Escapes the text of a cell.
pub(super) type Escape = fn(&str) -> Cow<'_, str>;

/// Writes the keys and the rows. A report that is an object is one row.
pub(super) fn write_with(
    builder: &csv::WriterBuilder,
    escape: Escape,
    report: &Report,
    out: &mut dyn Write,
) -> io::Result<()> {
    match &report.data {
        Data::Tree(entries) | Data::Bare(entries) => {
            let mut writer = builder.from_writer(out);
            let mut flat = Vec::new();
            entries.iter().for_each(|(key, value)| flatten(key, value, &mut flat));
            writer.write_record(flat.iter().map(|(key, _)| escape(key).into_owned()))?;
            for (_, value) in &flat {
                writer.write_field(text(value, escape)?.as_bytes())?;
            }
            writer.write_record(None::<&[u8]>)?;
            writer.flush()
        }
        Data::Rows(table) => {
            let rows = Rows::new(builder, escape, &table.for_programs(), Box::new(out))?;
            write_all(Box::new(rows), &table.rows)
        }
    }
}

/// Writes rows under a line of keys.
pub(super) struct Rows<'o> {
    writer: csv::Writer<Box<dyn Write + 'o>>,
    /// Indices of the cells to write.
    cells: Vec<usize>,
    escape: Escape,
}

impl<'o> Rows<'o> {
    pub(super) fn new(
        builder: &csv::WriterBuilder,
        escape: Escape,
        heads: &[(usize, &Head)],
        out: Box<dyn Write + 'o>,
    ) -> io::Result<Self> {
        let mut writer = builder.from_writer(out);
        writer.write_record(heads.iter().map(|(_, head)| head.key))?;
        Ok(Self { writer, cells: heads.iter().map(|&(at, _)| at).collect(), escape })
    }
}

impl RowWriter for Rows<'_> {
    fn row(&mut self, cells: &[Value]) -> io::Result<()> {
        for &at in &self.cells {
            self.writer.write_field(text(&cells[at], self.escape)?.as_bytes())?;
        }
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}

/// `tools.by_name.Bash.calls`: the path to each value that is not an object.
fn flatten<'a>(path: &str, value: &'a Value, flat: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Map(entries) => {
            entries.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, flat));
        }
        value => flat.push((path.to_owned(), value)),
    }
}

fn text(value: &Value, escape: Escape) -> io::Result<Cow<'_, str>> {
    Ok(match value {
        Value::Missing => Cow::Borrowed(""),
        Value::Text(text) => escape(text),
        Value::Time(time) | Value::Local(time, _) => time.to_string().into(),
        // Lists are JSON text, whose escapes must reach the reader unchanged.
        Value::List(_) | Value::Map(_) | Value::Bar(..) => {
            escape(&compact(&Tree(value))?).into_owned().into()
        }
        Value::Count(count) | Value::Bytes(count) => count.to_string().into(),
        Value::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        Value::Number(_) | Value::Usd(_) | Value::Millis(_) | Value::Share(_) | Value::Change(_) => {
            compact(&Tree(value))?.into()
        }
    })
}

/// Makes text from a log safe for terminals, and for spreadsheets, which treat some first characters as a
/// formula.
fn cell(text: &str) -> Cow<'_, str> {
    let runs = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if text.starts_with(runs) {
        return Cow::Owned(format!("'{}", human::text(text)));
    }
    human::text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreadsheet_formulas_are_defused() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert!(cell(text).starts_with('\''), "{text:?}");
        }
        assert!(matches!(cell("mcp__a-b"), Cow::Borrowed("mcp__a-b")));
    }

    #[test]
    fn a_negative_number_is_not_escaped() {
        let values = [Value::Usd(crate::measure::Usd::from_dollars(-0.5)), Value::Missing];
        assert_eq!(values.each_ref().map(|value| text(value, cell).unwrap()), ["-0.5", ""]);
    }
}
