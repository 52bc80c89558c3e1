//! Tool calls with their input and output. This report shows content.

use std::io;

use super::{
    Column, Report, ReportSpec, RowSink, Table, Value, View,
    column::columns,
    heads,
    stream::send,
    sum::{HasLocation, has, place_columns},
};
use crate::facts::{Detail, ledger::Call};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::INPUTS).and(Detail::OUTPUTS),
    make: Some(contents),
    stream: Some(stream),
    sample: &["export", "calls", "--content"],
    ..ReportSpec::rows(
        "contents",
        "Tool calls, one per row, with their inputs and outputs as in the log.",
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
        time started "Time" "Time of the call." => row.call.context.time;
        text session "Session" "Session id." => &row.session;
        text project "Project" [data] "Working directory of the session." => &row.project;
        text agent "Agent" [required] "`main`, or the type of the subagent that called." => row.agent;
        text model "Model" [data] "Model that made the call." => &row.call.model;
        text version "Version" [data] "CLI version." => &row.call.context.version;
        text tool "Tool" [required] "Name of the tool." => &row.call.tool;
        text id "Id" [data] "`tool_use.id`, if the log has it." => &row.call.id;
        text end "End" [required] "Outcome: ok, error, denied, or open (no result in the log)." => row.call.end.name();
        millis latency_ms "Latency" "Time from call to result." => row.call.latency;
        bytes result_bytes "Result" [nullable, data] "Size of the result in the log."
            => row.call.result_bytes;
        ..place_columns();
        ..texts();
    }
}

/// Columns with the content itself.
fn texts<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        text input "Input" "Input as JSON text." => row.call.input_text.as_deref();
        text output "Output" "Output as JSON text." => row.call.output_text.as_deref();
    }
}

/// One row per call, in log order, with content if the scan kept it.
fn rows<'a>(view: &View<'a>) -> impl Iterator<Item = Row<'a>> {
    view.ledger.calls.iter().map(|call| Row::of(view, call))
}

fn stream(view: &View<'_>, sink: &mut RowSink<'_>) -> io::Result<()> {
    send(&columns(), rows(view), sink)
}

fn contents(view: &View<'_>) -> Report {
    let table = Table::of("Calls", &columns(), rows(view)).on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
