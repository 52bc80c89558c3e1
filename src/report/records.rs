//! The list of records as they were read.

use std::{borrow::Cow, io};

use super::{
    Column, Report, ReportSpec, RowSink, Shown, Table, Value, View,
    column::{columns, shown_as},
    heads,
    stream::send,
    sum::{HasLocation, has, place_columns},
};
use crate::facts::{Detail, ledger::Record};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::RECORDS.and(Detail::AGENTS).and(Detail::PACKED),
    make: Some(records),
    stream: Some(stream),
    is_export: true,
    sample: &["export", "records"],
    ..ReportSpec::rows("records", "Records, one per row: location, kind, writer and time.", || {
        heads(&columns())
    })
};

struct Row<'a> {
    record: Cow<'a, Record>,
    session: Value,
    agent: Value,
    source: Value,
}

impl<'a> Row<'a> {
    fn of(view: &View<'_>, record: Cow<'a, Record>) -> Self {
        let context = &record.context;
        let (source, session, agent) =
            (view.source(context.location), view.session_id(context), view.agent_text(context));
        Self { source, session, agent, record }
    }
}

has! { HasLocation for Row<'_>: source, record.context.location }

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        ..shown_as(Shown::Always, &["source", "line"], place_columns());
        count offset "Offset" [no_sum, nullable, data] "Byte offset in the source, starting at 0." => row.location().map(|at| at.offset);
        text kind "Kind" [required] "Type, and discriminator after a slash."
            => &row.record.kind;
        flag known "Known" [data] "Whether ccstat knows this kind." => row.record.known;
        text dialect "Dialect" [required] "Who wrote it: stream, transcript, input or bridge."
            => row.record.dialect.text();
        time time "Time" "Time, if the record has one." => row.record.context.time;
        text session "Session" [wide] "Session id of the record, otherwise the only session id of its log." => &row.session;
        text agent "Agent" [required, wide] "`main`, or the type of the subagent that wrote it." => &row.agent;
        text version "Version" [data] "CLI version in the record."
            => &row.record.context.version;
        bytes bytes "Bytes" "Length of the record." => row.record.bytes;
        flag copy "Copy" "Whether its uuid was seen before, in this log or another."
            => row.record.copy;
        list blocks "Blocks" "Content blocks by role and type, unless they are counted in another copy."
            => Value::List(row.record.blocks.iter().map(|(name, ..)| Value::text(name)).collect());
    }
}

/// One row per record, in log order.
fn rows<'a>(view: &View<'a>) -> impl Iterator<Item = Row<'a>> {
    let ledger = view.ledger;
    let packed = ledger.packed_records.iter().map(Cow::Owned);
    ledger.records.iter().map(Cow::Borrowed).chain(packed).map(|record| Row::of(view, record))
}

fn stream(view: &View<'_>, sink: &mut RowSink<'_>) -> io::Result<()> {
    send(&columns(), rows(view), sink)
}

fn records(view: &View<'_>) -> Report {
    let table = Table::of("Records", &columns(), rows(view)).with_sums().on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
