//! The list of tool calls.

use std::io;

use super::{
    Column, CommandGroup, CommandSpec, Report, ReportSpec, RowSink, Table, View,
    column::columns,
    contents, heads,
    stream::send,
    sum::{HasContext, RowContext, agent_column, has, place_column, place_columns, session_columns},
};
use crate::facts::{
    Detail,
    ledger::{Call, End},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(calls),
    stream: Some(stream),
    content: Detail::EXCERPTS,
    is_export: true,
    with_content: Some(&contents::SPEC),
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List tool calls: failed ones first, then the slowest",
        details: "Shows the command or path of each call, and the error of failed ones. Whole inputs and results are not shown; see \
            `ccstat export --help`.",
        examples: &[
            ("Failed calls and their locations", "ccstat calls run.jsonl --limit 20"),
            (
                "All calls of a tool, for a spreadsheet",
                "ccstat calls ~/.claude/projects --tool Bash -q -o calls.csv",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("calls", "Tool calls, one per row: failed ones first, then the slowest.", || {
        heads(&columns())
    })
};

struct Row<'a> {
    call: &'a Call,
    context: RowContext,
}

has! { HasContext for Row<'_>: context -> RowContext }

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        text tool "Tool" "Name of the tool." => &row.call.tool;
        text input "Input" [content] "Command, path or other main input." => &row.call.brief;
        text end "End" "Outcome: ok, error, denied, or open (no result in the log)." => row.call.end.text();
        millis latency_ms "Latency" [nullable] "Time from call to result." => row.call.latency;
        text message "Error" [content, data] "The line of a failed result that says what went wrong." => &row.call.failure;
        text failure "Error" [content, below] "The line of a failed result that says what went wrong." => &row.call.failure;
        time started "Started" [wide] "Time of the call." => row.call.context.time;
        bytes result_bytes "Result" [nullable, wide] "Size of the result in the log." => row.call.result_bytes;
        ..[agent_column("`main`, or the type of the subagent that called.").wide()];
        text model "Model" [data] "Model that made the call." => &row.call.model;
        ..session_columns();
        text version "Version" [data] "CLI version that wrote it."
            => &row.call.context.version;
        text id "Id" [data] "Id of the call." => &row.call.id;
        ..[place_column("Location of the call.").wide_screen()];
        ..place_columns();
    }
}

/// One row per call: denied, failed and open calls first, then the slowest.
fn rows<'a>(view: &View<'a>) -> impl Iterator<Item = Row<'a>> {
    let mut calls: Vec<&Call> = view.ledger.calls.iter().collect();
    let rank = |end: End| match end {
        End::Denied | End::Error => 0,
        End::Open => 1,
        End::Ok => 2,
    };
    calls.sort_by_key(|call| (rank(call.end), std::cmp::Reverse(call.latency), call.context.location));
    calls.into_iter().map(|call| Row { call, context: RowContext::of(view, &call.context) })
}

fn stream(view: &View<'_>, sink: &mut RowSink<'_>) -> io::Result<()> {
    send(&columns(), rows(view), sink)
}

fn calls(view: &View<'_>) -> Report {
    let table = Table::of("Calls", &columns(), rows(view)).with_sums().on_screen(30);
    Report::of(SPEC.name, table, Vec::new())
}
