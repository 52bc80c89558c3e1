//! Records, one by one: the log as it was read.

use super::{
    Column, Report, ReportSpec, Shown, Table, Unit, Value, View, heads,
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
    let mut columns = place_columns();
    for column in &mut columns {
        column.head.shown = Shown::Always;
    }
    columns.extend([
        Column::new(Unit::Count, "offset", "Offset", "Byte in the source, from 0.", |row: &Row<'_>| {
            row.at().map(|at| at.offset).into()
        })
        .alone()
        .maybe()
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "kind",
            "Kind",
            "Its type, and its discriminator after a slash.",
            |row: &Row<'_>| of(row, |record| Value::text(&*record.kind)),
        )
        .known(),
        Column::new(Unit::Flag, "known", "Known", "Whether ccstat knows this kind.", |row: &Row<'_>| {
            of(row, |record| Value::Flag(record.known))
        })
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "dialect",
            "Dialect",
            "Who wrote it: stream, transcript, input or bridge.",
            |row: &Row<'_>| of(row, |record| record.dialect.name()),
        )
        .known(),
        Column::new(Unit::Time, "time", "Time", "When, where it says so.", |row: &Row<'_>| {
            of(row, |record| record.mark.time)
        }),
        Column::new(
            Unit::Text,
            "session",
            "Session",
            "The session it names, else the only one that its log names.",
            |row: &Row<'_>| row.session.clone(),
        )
        .shown(Shown::Roomy),
    ]);
    columns.extend(contents());
    columns
}

/// Whose a record is, and what it holds.
fn contents<'a>() -> [Column<Row<'a>>; 5] {
    [
        Column::new(
            Unit::Text,
            "agent",
            "Agent",
            "`main`, or the type of the subagent that wrote it.",
            |row: &Row<'_>| row.agent.clone(),
        )
        .known()
        .shown(Shown::Roomy),
        Column::new(Unit::Text, "version", "Version", "The CLI version it names.", |row: &Row<'_>| {
            of(row, |record| text(record.mark.version.as_deref()))
        })
        .shown(Shown::Data),
        Column::new(Unit::Bytes, "bytes", "Bytes", "Its length.", |row: &Row<'_>| Value::Bytes(row.bytes)),
        Column::new(
            Unit::Flag,
            "copy",
            "Copy",
            "Whether its uuid was seen before, in this log or another.",
            |row: &Row<'_>| of(row, |record| Value::Flag(record.copy)),
        ),
        Column::new(
            Unit::List,
            "blocks",
            "Blocks",
            "Its content blocks by role and type, unless another copy counts for them.",
            |row: &Row<'_>| {
                of(row, |record| {
                    Value::List(record.blocks.iter().map(|(name, ..)| Value::text(&**name)).collect())
                })
            },
        ),
    ]
}

/// One row a record, in the order they stand.
fn records(view: &View<'_>) -> Report {
    let rows: Vec<Row<'_>> = view.ledger.records.iter().map(|record| Row::of(view, record)).collect();
    let total = Row { bytes: rows.iter().map(|row| row.bytes).sum(), ..Row::default() };
    let columns = columns();
    let table = Table::of("Records", &columns, &rows).with_total(&columns, &total).on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
