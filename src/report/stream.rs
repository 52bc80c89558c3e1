//! Rows of exports, one after another. All rows as a table would take more memory than the facts they are made from.

use std::{borrow::Borrow, io};

use super::{Column, Value, View};

/// Takes the cells of a row.
pub type RowSink<'s> = dyn FnMut(&[Value]) -> io::Result<()> + 's;

/// Makes the rows of a report, in its order, with all its columns.
pub type RowStream = fn(&View<'_>, &mut RowSink<'_>) -> io::Result<()>;

/// Sends the cells of each row.
pub(super) fn send<R>(
    columns: &[Column<R>],
    rows: impl IntoIterator<Item: Borrow<R>>,
    sink: &mut RowSink<'_>,
) -> io::Result<()> {
    let mut cells = Vec::with_capacity(columns.len());
    for row in rows {
        cells.clear();
        cells.extend(columns.iter().map(|column| (column.value)(row.borrow())));
        sink(&cells)?;
    }
    Ok(())
}
