//! Tool calls with what they were given and what they answered: the one report of rows that shows content.

use super::{
    Column, Report, ReportSpec, Table, Value, View,
    column::columns,
    heads,
    sum::{HasLocation, has, place_columns},
};
use crate::facts::{Detail, ledger::Call};

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
        let context = &call.context;
        let (session, project, source) =
            (view.session_id(context), view.project(context), view.source(context.location));
        Self { call, session, project, agent: view.agent(context), source }
    }
}

has! { HasLocation for Row<'_>: source, call.context.location }

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        time started "Time" "When it was asked." => row.call.context.time;
        text session "Session" "Its session." => &row.session;
        text project "Project" [data] "The folder of the session." => &row.project;
        text agent "Agent" [required] "`main`, or the type of the subagent that asked." => row.agent;
        text model "Model" [data] "The model that asked." => &row.call.model;
        text version "Version" [data] "The CLI version." => &row.call.context.version;
        text tool "Tool" [required] "Which tool." => &row.call.tool;
        text id "Id" [data] "`tool_use.id`, where the log says it." => &row.call.id;
        text end "End" [required] "How it ended: ok, error, denied or open (no answer seen)." => row.call.end.name();
        millis latency_ms "Latency" "Time from ask to answer." => row.call.latency;
        bytes result_bytes "Result" [nullable, data] "Bytes of its result, as they stand in the log."
            => row.call.result_bytes;
        ..place_columns();
        ..texts();
    }
}

/// The content itself.
fn texts<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        text input "Input" "What it was given, as JSON text." => row.call.input_text.as_deref();
        text output "Output" "What it answered, as JSON text." => row.call.output_text.as_deref();
    }
}

/// One row a call, in the order they stand, with content where the scan kept it.
fn contents(view: &View<'_>) -> Report {
    let rows: Vec<Row<'_>> = view.ledger.calls.iter().map(|call| Row::of(view, call)).collect();
    let table = Table::of("Calls", &columns(), &rows).on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
