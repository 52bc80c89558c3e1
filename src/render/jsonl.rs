//! JSON lines: one compact object per row, without the envelope. A report that is an object is one line.

use std::io::{self, Write};

use super::{
    RowWriter,
    json::{Envelope, Row, compact},
    rows::write_all,
};
use crate::report::{Data, Head, Report, Value};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    match &report.data {
        Data::Tree(_) | Data::Bare(_) => writeln!(out, "{}", compact(&Envelope(report))?),
        Data::Rows(table) => {
            write_all(Box::new(Rows { heads: &table.for_programs(), out: Box::new(out) }), &table.rows)
        }
    }
}

/// Writes a line for each row.
pub(super) struct Rows<'o> {
    pub(super) heads: &'o [(usize, &'o Head)],
    pub(super) out: Box<dyn Write + 'o>,
}

impl RowWriter for Rows<'_> {
    fn row(&mut self, cells: &[Value]) -> io::Result<()> {
        writeln!(self.out, "{}", compact(&Row { heads: self.heads, cells })?)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
