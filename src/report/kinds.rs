//! Counts kinds of records and content blocks.

use std::collections::BTreeMap;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    sum::{HasLocation, has, place_columns, ratio},
};
use crate::facts::{
    Detail,
    ledger::{Location, Record},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::RECORDS,
    make: Some(kinds),
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "Count kinds of records and blocks, unknown ones first",
        details: "Shows the size of each kind and the location of its first occurrence.",
        examples: &[
            ("The contents of a log", "ccstat kinds run.jsonl"),
            (
                "Kinds of a new CLI version that ccstat does not know yet",
                "ccstat kinds ~/.claude/projects --sort known:asc",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("kinds", "Kinds of records and blocks: count and size, unknown ones first.", || {
        heads(&columns())
    })
};

#[derive(Default)]
struct Row {
    kind: &'static str,
    name: String,
    known: bool,
    count: u64,
    bytes: u64,
    all_bytes: u64,
    version: Option<String>,
    at: Option<Location>,
    source: Value,
    place: Value,
}

has! { HasLocation for Row: source, at }

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text name "Name" "Type and discriminator of a record, role and type of a block." => &row.name;
        text sort "Kind" "`record` or `block`." => Some(row.kind).filter(|kind| !kind.is_empty());
        flag known "Known" "Whether ccstat knows it." => row.known;
        count count "Count" "Number of occurrences; the total counts records only." => row.count;
        bytes bytes "Bytes" "Size; the total counts records only." => row.bytes;
        share share "Share" [nullable] "Share of the size of all records." => ratio(row.bytes, row.all_bytes);
        text version "Version" [wide] "CLI version that wrote the first occurrence, if known." => &row.version;
        text place "First location" [wide_screen] "Location of the first occurrence." => &row.place;
        ..place_columns();
    }
}

/// One row per kind: unknown ones first, then the largest.
fn kinds(view: &View<'_>) -> Report {
    let records = &view.ledger.records;
    let all_bytes = records.iter().map(|record| record.bytes).sum();
    let mut rows: BTreeMap<(&'static str, &str), Row> = BTreeMap::new();
    for record in records {
        let mut add = |kind: &'static str, name, known, bytes| {
            let row = rows.entry((kind, name)).or_insert_with(|| first(view, record, kind, name, known));
            row.count += 1;
            row.bytes += bytes;
            row.all_bytes = all_bytes;
        };
        add("record", &record.kind, record.known, record.bytes);
        record.blocks.iter().for_each(|(name, known, bytes)| add("block", name, *known, *bytes));
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| (row.known, row.kind == "block", std::cmp::Reverse(row.bytes)));
    let count = records.len() as u64;
    let total = Row {
        name: "All records".to_owned(),
        known: true,
        count,
        bytes: all_bytes,
        all_bytes,
        ..Row::default()
    };
    let unknown = rows.iter().filter(|row| !row.known).count() as u64;
    let note = (unknown > 0).then(|| {
        let line = Line::new(Tone::Warning).count(unknown, " name is", " names are");
        let line =
            line.word(" unknown to ccstat: counted like the others, but not interpreted; the first is at ");
        line.value(rows.first().map_or(Value::Missing, |row| row.place.clone()))
    });
    let columns = columns();
    let table = Table::of("Kinds", &columns, &rows).with_total(&columns, &total);
    Report::of(SPEC.name, table, note.into_iter().collect())
}

fn first(view: &View<'_>, record: &Record, kind: &'static str, name: &str, known: bool) -> Row {
    let at = record.context.location;
    let session = view.session(&record.context).and_then(|session| session.version.as_deref());
    Row {
        kind,
        name: name.to_owned(),
        known,
        version: record.context.version.as_deref().or(session).map(str::to_owned),
        at,
        source: view.source(at),
        place: view.place(at),
        ..Row::default()
    }
}
