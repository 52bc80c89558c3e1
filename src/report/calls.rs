//! Tool calls, one by one.

use super::{
    Column, CommandGroup, CommandSpec, Report, ReportSpec, Table, Value, View,
    column::columns,
    contents, heads,
    sum::{Spot, Spotted, agent_column, place_column, place_columns, session_columns, text},
};
use crate::{
    facts::ledger::{Call, End},
    measure::Millis,
};

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

#[derive(Default)]
struct Row {
    call: Option<Call>,
    latency: Option<Millis>,
    result_bytes: Option<u64>,
    spot: Spot,
}

impl Spotted for Row {
    fn spot(&self) -> &Spot {
        &self.spot
    }
}

fn of<T: Into<Value>>(row: &Row, value: impl Fn(&Call) -> T) -> Value {
    row.call.as_ref().map_or(Value::Missing, |call| value(call).into())
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text tool "Tool" "Name of the tool." => of(row, |call| Value::text(call.tool.as_str()));
        text end "End" "How it ended: ok, error, denied, or open for no answer." => of(row, |call| call.end.name());
        millis latency_ms "Latency" [maybe] "Time from ask to answer." => row.latency;
        time started "Started" "When it was asked." => of(row, |call| call.mark.time);
        bytes result_bytes "Result" [maybe, roomy] "Bytes of its result, as they stand in the log." => row.result_bytes;
        ..[agent_column("`main`, or the type of the subagent that called.").roomy()];
        text model "Model" [data] "The model that called." => of(row, |call| text(call.model.as_deref()));
        ..session_columns();
        text version "Version" [data] "The CLI version that wrote it."
            => of(row, |call| text(call.mark.version.as_deref()));
        text id "Id" [data] "Id of the call." => of(row, |call| text(call.id.as_deref()));
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
    calls.sort_by_key(|call| (rank(call.end), std::cmp::Reverse(call.latency), call.mark.at));
    let row = |call: &&Call| Row {
        latency: call.latency,
        result_bytes: call.result_bytes,
        spot: Spot::of(view, &call.mark),
        call: Some((*call).clone()),
    };
    let rows: Vec<Row> = calls.iter().map(row).collect();
    let total = rows.iter().fold(Row::default(), |mut total, row| {
        if let Some(latency) = row.latency {
            *total.latency.get_or_insert(Millis::ZERO) += latency;
        }
        total.result_bytes =
            total.result_bytes.into_iter().chain(row.result_bytes).reduce(|one, two| one + two);
        total
    });
    let columns = columns();
    let table = Table::of("Calls", &columns, &rows).with_total(&columns, &total).on_screen(30);
    Report::of(SPEC.name, table, Vec::new())
}
