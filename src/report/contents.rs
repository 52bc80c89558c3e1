//! Tool calls with what they were given and what they answered: the one report of rows that shows content.

use super::{
    Column, Report, ReportSpec, Shown, Table, Unit, Value, View, heads,
    sum::{Stands, place_columns, text},
};
use crate::facts::{
    Detail,
    ledger::{At, Call},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::INPUTS).and(Detail::OUTPUTS),
    make: Some(contents),
    sample: &["export", "calls", "--include-content"],
    ..ReportSpec::rows(
        "contents",
        "Tool calls, one a row, with their inputs and outputs as they stand in the log.",
        || heads(&columns()),
    )
};

struct Row<'a> {
    call: &'a Call,
    session: Value,
    project: Value,
    agent: &'a str,
    source: Value,
}

impl<'a> Row<'a> {
    fn of(view: &View<'a>, call: &'a Call) -> Self {
        let mark = &call.mark;
        let (session, project, source) = (view.session_id(mark), view.project(mark), view.source(mark.at));
        Self { call, session, project, agent: view.agent(mark), source }
    }
}

impl Stands for Row<'_> {
    fn source(&self) -> &Value {
        &self.source
    }

    fn at(&self) -> Option<At> {
        self.call.mark.at
    }
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    let mut columns: Vec<Column<Row<'a>>> = vec![
        Column::new(Unit::Time, "started", "Time", "When it was asked.", |row: &Row<'_>| {
            row.call.mark.time.into()
        }),
        Column::new(Unit::Text, "session", "Session", "Its session.", |row: &Row<'_>| row.session.clone()),
        Column::new(Unit::Text, "project", "Project", "The folder of the session.", |row: &Row<'_>| {
            row.project.clone()
        })
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "agent",
            "Agent",
            "`main`, or the type of the subagent that asked.",
            |row: &Row<'_>| row.agent.into(),
        )
        .known(),
        Column::new(Unit::Text, "model", "Model", "The model that asked.", |row: &Row<'_>| {
            text(row.call.model.as_deref())
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "version", "Version", "The CLI version.", |row: &Row<'_>| {
            text(row.call.mark.version.as_deref())
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "tool", "Tool", "Which tool.", |row: &Row<'_>| (&*row.call.tool).into())
            .known(),
        Column::new(Unit::Text, "id", "Id", "`tool_use.id`, where the log says it.", |row: &Row<'_>| {
            text(row.call.id.as_deref())
        })
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "end",
            "End",
            "How it ended: ok, error, denied or open (no answer seen).",
            |row: &Row<'_>| row.call.end.name().into(),
        )
        .known(),
        Column::new(Unit::Millis, "latency_ms", "Latency", "Time from ask to answer.", |row: &Row<'_>| {
            row.call.latency.into()
        }),
        Column::new(
            Unit::Bytes,
            "result_bytes",
            "Result",
            "Bytes of its result, as they stand in the log.",
            |row: &Row<'_>| row.call.result_bytes.map_or(Value::Missing, Value::Bytes),
        )
        .maybe()
        .shown(Shown::Data),
    ];
    columns.extend(place_columns());
    columns.extend(texts());
    columns
}

/// The content itself.
fn texts<'a>() -> [Column<Row<'a>>; 2] {
    [
        Column::new(Unit::Text, "input", "Input", "What it was given, as JSON text.", |row: &Row<'_>| {
            text(row.call.input_text.as_deref())
        }),
        Column::new(Unit::Text, "output", "Output", "What it answered, as JSON text.", |row: &Row<'_>| {
            text(row.call.output_text.as_deref())
        }),
    ]
}

/// One row a call, in the order they stand, with content where the scan kept it.
fn contents(view: &View<'_>) -> Report {
    let rows: Vec<Row<'_>> = view.ledger.calls.iter().map(|call| Row::of(view, call)).collect();
    let table = Table::of("Calls", &columns(), &rows).on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
