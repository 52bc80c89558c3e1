//! Tool calls, one by one.

use super::{
    Column, CommandGroup, CommandSpec, Report, ReportSpec, Table, Text, View,
    column::columns,
    contents, heads,
    sum::{HasContext, RowContext, agent_column, has, place_column, place_columns, session_columns},
};
use crate::facts::ledger::{Call, End};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(calls),
    is_export: true,
    with_content: Some(&contents::SPEC),
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List tool calls: the failed ones first, then the slowest",
        details: "Each with the place of its record. Inputs and results are not shown; see `ccstat export --help`.",
        examples: &[
            ("What failed, and where", "ccstat calls run.jsonl --limit 20"),
            (
                "All calls of a tool, for a spreadsheet",
                "ccstat calls ~/.claude/projects --tool Bash -q -o calls.csv",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("calls", "Tool calls, one a row: the failed ones first, then the slowest.", || {
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
        text end "End" "How it ended: ok, error, denied, or open for no answer." => Text::fixed(row.call.end.name());
        millis latency_ms "Latency" [nullable] "Time from ask to answer." => row.call.latency;
        time started "Started" "When it was asked." => row.call.context.time;
        bytes result_bytes "Result" [nullable, wide] "Bytes of its result, as they stand in the log." => row.call.result_bytes;
        ..[agent_column("`main`, or the type of the subagent that called.").wide()];
        text model "Model" [data] "The model that called." => &row.call.model;
        ..session_columns();
        text version "Version" [data] "The CLI version that wrote it."
            => &row.call.context.version;
        text id "Id" [data] "Id of the call." => &row.call.id;
        ..[place_column("Where it was asked.")];
        ..place_columns();
    }
}

/// One row a call: those that were refused, failed or have no answer first, then the slowest.
fn calls(view: &View<'_>) -> Report {
    let mut calls: Vec<&Call> = view.ledger.calls.iter().collect();
    let rank = |end: End| match end {
        End::Denied | End::Error => 0,
        End::Open => 1,
        End::Ok => 2,
    };
    calls.sort_by_key(|call| (rank(call.end), std::cmp::Reverse(call.latency), call.context.location));
    let row = |call| Row { call, context: RowContext::of(view, &call.context) };
    let table = Table::of("Calls", &columns(), calls.into_iter().map(row)).with_sums().on_screen(30);
    Report::of(SPEC.name, table, Vec::new())
}
