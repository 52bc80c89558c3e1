//! JSON lines: one compact object per row, without the envelope. A report that is an object is one line.

use std::io::{self, Write};

use super::json::{Envelope, Row, compact};
use crate::report::{Data, Report};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    match &report.data {
        Data::Tree(_) | Data::Bare(_) => writeln!(out, "{}", compact(&Envelope(report))?),
        Data::Rows(table) => {
            let heads = table.for_programs();
            table
                .rows
                .iter()
                .try_for_each(|cells| writeln!(out, "{}", compact(&Row { heads: &heads, cells })?))
        }
    }
}
