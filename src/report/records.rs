//! Records, one by one: the log as it was read.

use super::{
    Column, Report, ReportSpec, Shown, Table, Value, View,
    column::{columns, seen},
    heads,
    sum::{Stands, place_columns, text},
};
use crate::facts::{
    Detail,
    ledger::{At, Record},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::RECORDS),
    make: Some(records),
    is_export: true,
    sample: &["export", "records"],
    ..ReportSpec::rows(
        "records",
        "Records, one a row: where they stand, of which kind they are, who wrote them and when.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row<'a> {
    record: Option<&'a Record>,
    source: Value,
    session: Value,
    agent: Value,
    bytes: u64,
}

impl<'a> Row<'a> {
    fn of(view: &View<'a>, record: &'a Record) -> Self {
        let mark = &record.mark;
        let (source, session, agent) = (view.source(mark.at), view.session_id(mark), view.agent(mark).into());
        Self { source, session, agent, bytes: record.bytes, record: Some(record) }
    }
}

impl Stands for Row<'_> {
    fn source(&self) -> &Value {
        &self.source
    }

    fn at(&self) -> Option<At> {
        self.record.and_then(|record| record.mark.at)
    }
}

fn of<T: Into<Value>>(row: &Row<'_>, value: impl Fn(&Record) -> T) -> Value {
    row.record.map_or(Value::Missing, |record| value(record).into())
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        ..seen(Shown::Always, &["source", "line"], place_columns());
        count offset "Offset" [alone, maybe, data] "Byte in the source, from 0." => row.at().map(|at| at.offset);
        text kind "Kind" [known] "Its type, and its discriminator after a slash."
            => of(row, |record| Value::text(&*record.kind));
        flag known "Known" [data] "Whether ccstat knows this kind." => of(row, |record| Value::Flag(record.known));
        text dialect "Dialect" [known] "Who wrote it: stream, transcript, input or bridge."
            => of(row, |record| record.dialect.name());
        time time "Time" "When, where it says so." => of(row, |record| record.mark.time);
        text session "Session" [roomy] "The session it names, else the only one that its log names." => &row.session;
        text agent "Agent" [known, roomy] "`main`, or the type of the subagent that wrote it." => &row.agent;
        text version "Version" [data] "The CLI version it names."
            => of(row, |record| text(record.mark.version.as_deref()));
        bytes bytes "Bytes" "Its length." => row.bytes;
        flag copy "Copy" "Whether its uuid was seen before, in this log or another."
            => of(row, |record| Value::Flag(record.copy));
        list blocks "Blocks" "Its content blocks by role and type, unless another copy counts for them."
            => of(row, |record| { Value::List(record.blocks.iter().map(|(name, ..)| Value::text(&**name)).collect()) });
    }
}

/// One row a record, in the order they stand.
fn records(view: &View<'_>) -> Report {
    let rows: Vec<Row<'_>> = view.ledger.records.iter().map(|record| Row::of(view, record)).collect();
    let total = Row { bytes: rows.iter().map(|row| row.bytes).sum(), ..Row::default() };
    let columns = columns();
    let table = Table::of("Records", &columns, &rows).with_total(&columns, &total).on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
