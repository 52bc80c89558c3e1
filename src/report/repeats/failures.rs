//! Denials and errors, one per row, for programs that group them.

use super::{Occurrence, denials, errors};
use crate::report::{
    Column, Report, ReportSpec, Table, View,
    column::columns,
    heads,
    sum::{Row, RowContext, agent_column, place_columns, session_columns},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(failures),
    is_export: true,
    sample: &["export", "failures"],
    ..ReportSpec::rows(
        "failures",
        "Denied calls and errors of tools, turns and the API, one per row.",
        || heads(&columns()),
    )
};

fn columns<'a>() -> Vec<Column<Row<Occurrence<'a>>>> {
    columns! { |row: Row<Occurrence<'a>>|
        text sort "Kind" "`denial`, or where the error occurred: `tool`, `turn`, `api` (request failed for good) or `retry` (request was retried)."
            => row.fact.kind;
        text name "Name" "Name of the tool, subtype of the turn, or type of the API error." => row.fact.name;
        time started "Time" "Time of the denial or error, or of the call that failed." => row.fact.context.time;
        millis wait_ms "Waited" [nullable, wide] "Time spent waiting before the retry." => row.fact.wait;
        ..[agent_column("`main`, or the type of the subagent.").wide()];
        ..session_columns();
        text version "Version" [data] "CLI version that wrote it." => &row.fact.context.version;
        text tool_use_id "Id of the call" [data] "Id of the call that was denied or failed." => row.fact.id;
        ..place_columns();
    }
}

/// One row per denial and per error, each in log order.
fn failures(view: &View<'_>) -> Report {
    let all = denials::occurrences(view).chain(errors::occurrences(view));
    let rows = all.map(|one| Row { context: RowContext::of(view, one.context), fact: one });
    let table = Table::of("Failures", &columns(), rows).with_sums().on_screen(50);
    Report::of(SPEC.name, table, Vec::new())
}
