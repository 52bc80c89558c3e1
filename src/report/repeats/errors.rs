//! Errors of tools, results and the API.

use super::{ON_SCREEN, Occurrence, Repeats, Row, loop_note, sorted, time_columns};
use crate::{
    facts::{
        Detail,
        ledger::{Call, End, Turn},
    },
    report::{
        Column, CommandGroup, CommandSpec, Report, ReportSpec, Table, Value, View, column::columns, heads,
    },
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(errors),
    content: Detail::EXCERPTS,
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List errors with their reasons, most frequent first",
        details: "Tables group the errors of all sessions by tool and message, with the newest command or path. Formats for \
            programs have a row for each input that failed in a session. The same input that failed three times or more \
            in a session is marked as a loop.",
        examples: &[
            ("Errors of a run", "ccstat errors run.jsonl"),
            ("What failed last night, and why", "ccstat errors ~/.claude/projects --since yesterday"),
            ("Where API retries cost time", "ccstat errors ~/.claude/projects --sort wait_ms"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "errors",
        "Errors of tools, turns and the API: location, number of repetitions, and time lost.",
        || heads(&columns()),
    )
};

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text sort "Kind" [data] "Where the error occurred: `tool`, `turn`, `api` (request failed for good) or `retry` (request was retried)."
            => &row.kind;
        text name "Name" [data] "Name of the tool, subtype of the turn, or type of the API error." => &row.name;
        text what "Source" [screen] "Name of the tool, or where else the error occurred." => label(row);
        text message "Error" [content] "The line of the newest error that says what went wrong." => &row.message;
        count errors "Errors" "Number of times with the same input in the same session; in tables, with the same message." => row.count;
        text input "Input" [content, data] "Command, path or other main input of the newest call." => &row.input;
        text newest "Input" [content, below] "Command, path or other main input of the newest call." => &row.input;
        millis wait_ms "Waited" [nullable, wide] "Time spent waiting before retries." => row.wait;
        ..time_columns();
    }
}

/// The tool, or where else the error occurred.
fn label(row: &Row) -> Value {
    let (Value::Text(kind), Value::Text(name)) = (&row.kind, &row.name) else { return Value::Missing };
    let name = &**name;
    match &**kind {
        "api" => format!("API: {name}").into(),
        "retry" => format!("retry: {name}").into(),
        "turn" if name == SUCCESS_WITH_ERROR => "result".into(),
        "turn" => format!("result: {}", name.strip_prefix("error_").unwrap_or(name)).into(),
        _ => row.name.clone(),
    }
}

/// The calls that failed.
pub(super) fn failed_calls<'a>(view: &'a View<'a>) -> impl Iterator<Item = Occurrence<'a>> {
    let failed = view.ledger.calls.iter().filter(|call: &&Call| call.end == End::Error);
    failed.map(|call| Occurrence {
        id: call.id.as_ref(),
        input: Some(call.input),
        brief: call.brief.as_ref(),
        message: call.failure.as_ref(),
        ..Occurrence::new("tool", &call.tool, &call.context)
    })
}

const SUCCESS_WITH_ERROR: &str = "success with is_error";

/// How a turn failed. The CLI reports API failures as `success` with a flag.
pub(in crate::report) fn failure(turn: &Turn) -> &str {
    if &*turn.subtype == "success" { SUCCESS_WITH_ERROR } else { &turn.subtype }
}

/// All errors: of tools, results and the API.
pub(super) fn occurrences<'a>(view: &'a View<'a>) -> impl Iterator<Item = Occurrence<'a>> {
    let ledger = view.ledger;
    let turns = ledger.turns.iter().filter(|turn| turn.counted && !turn.ok).map(|turn| Occurrence {
        message: turn.failure.as_ref(),
        ..Occurrence::new("turn", failure(turn), &turn.context)
    });
    let requests = ledger.api_failures.iter().map(|failure| Occurrence {
        wait: failure.wait,
        message: failure.message.as_ref(),
        ..Occurrence::new(if failure.retried { "retry" } else { "api" }, &failure.kind, &failure.context)
    });
    failed_calls(view).chain(turns).chain(requests)
}

/// Errors, with repetitions grouped.
fn errors(view: &View<'_>) -> Report {
    let repeats = Repeats::new(view, occurrences(view));
    let rows = repeats.rows();
    let groups = Table::of("Errors", &columns(), repeats.groups(&rows)).with_sums().on_screen(ON_SCREEN);
    let rows = sorted(rows);
    let table = Table::of("Errors", &columns(), &rows).with_sums().on_screen(ON_SCREEN);
    Report::of(SPEC.name, table, loop_note(&rows, "failed", "nothing failed")).with_screen_rows(groups)
}
