//! Tools: number of calls, outcomes and latencies.

use std::collections::BTreeMap;

use super::{
    Chart, Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    figure, heads,
    sum::{HasCalls, call_columns, has, latency, latency_columns, ratio},
};
use crate::facts::{Detail, ToolCount, ledger::Call, trace::server::parts};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::CALLS.and(Detail::EVENTS),
    make: Some(tools),
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "Show tools: calls, errors, denials, latencies, size of results",
        details: "MCP tools are listed by server. The error rate is the share of failed calls among calls with a result; the \
            latency is the time from call to result, if the log has both times.",
        examples: &[
            ("Which tools failed in a run", "ccstat tools run.jsonl --sort errors"),
            (
                "The slowest MCP tools of the last week",
                "ccstat tools ~/.claude/projects --since 7d --tool mcp__* --sort p90_ms",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("tools", "Tools: calls by outcome, latencies and size of results.", || {
        heads(&columns())
    })
};

#[derive(Default)]
struct Row {
    tool: String,
    kind: &'static str,
    server: Option<String>,
    calls: ToolCount,
    result_bytes: Option<u64>,
    server_uses: Option<u64>,
}

has! { HasCalls for Row: calls -> ToolCount }

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text tool "Tool" [required] "Name of the tool." => &row.tool;
        text sort "Kind" [wide] "`built-in`, `mcp`, `server`, or `unknown` for a call without a name."
            => Some(row.kind).filter(|kind| !kind.is_empty());
        text server "Server" [data] "MCP server of the tool." => &row.server;
        ..call_columns();
        share error_rate "Error rate" [nullable] "Share of failed calls among calls with a result."
            => {
            let answered = row.calls.ok + row.calls.errors;
            ratio(row.calls.errors, answered).map_or(Value::Missing, Value::Share)
        };
        ..latency_columns();
        millis tool_ms "Total" [nullable, wide] "Sum of the latencies; calls in parallel overlap."
            => latency(row, |all| all.total);
        bytes result_bytes "Results" [nullable] "Size of the results in the log." => row.result_bytes;
        count server_uses "On server" [nullable] "Uses of tools that run on the server, within a response; these are not calls of the CLI."
            => row.server_uses;
    }
}

/// Kind of a tool, and its server for names such as `mcp__server__tool`.
fn kind_of(tool: &str) -> (&'static str, Option<String>) {
    match parts(tool, |_| false) {
        Some((server, _)) => ("mcp", Some(server.to_owned())),
        None if tool == "unknown" => ("unknown", None),
        None => ("built-in", None),
    }
}

fn row<'a>(tool: &str, calls: impl Iterator<Item = &'a Call> + Clone) -> Row {
    let (kind, server) = kind_of(tool);
    let bytes = calls.clone().filter_map(|call| call.result_bytes);
    Row {
        tool: tool.to_owned(),
        kind,
        server,
        server_uses: None,
        result_bytes: bytes.fold(None, |sum, bytes| Some(sum.unwrap_or(0) + bytes)),
        calls: ToolCount::of(calls),
    }
}

/// One row per tool, most used first.
fn tools(view: &View<'_>) -> Report {
    let mut by_name: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &view.ledger.calls {
        by_name.entry(&call.tool).or_default().push(call);
    }
    let mut rows: Vec<Row> = by_name.iter().map(|(tool, calls)| row(tool, calls.iter().copied())).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls.calls));
    rows.extend(on_server(view));
    let uses = view.ledger.server_uses.len() as u64;
    let server_uses = (uses > 0).then_some(uses);
    let total = Row { kind: "", server_uses, ..row("Total", view.ledger.calls.iter()) };
    let columns = columns();
    let table = Table::of("Tools", &columns, &rows).with_total(&columns, &total).on_screen(50);
    let charts = [figure::calls_by_tool(view), figure::latencies(view)].into_iter().flatten();
    Report::of(SPEC.name, table, notes(view)).with_charts(charts.map(Chart::page_only))
}

/// Tools that run on the server, most used first.
fn on_server(view: &View<'_>) -> Vec<Row> {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    view.ledger.server_uses.iter().for_each(|one| *by_name.entry(&one.tool).or_default() += 1);
    let row = |(tool, uses): (&str, u64)| Row {
        tool: tool.to_owned(),
        kind: "server",
        server_uses: Some(uses),
        ..Row::default()
    };
    let mut rows: Vec<Row> = by_name.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.server_uses));
    rows
}

fn notes(view: &View<'_>) -> Vec<Line> {
    let ledger = view.ledger;
    let mut notes = Vec::new();
    let orphans = ledger.orphans.len() as u64;
    if orphans > 0 {
        notes.push(
            Line::new(Tone::Warning)
                .count(orphans, " tool result", " tool results")
                .word(" without a call: the log with the call was not read"),
        );
    }
    let untimed = ledger.calls.iter().filter(|call| call.latency.is_none()).count() as u64;
    if untimed > 0 && untimed < ledger.calls.len() as u64 {
        notes.push(
            Line::new(Tone::Plain)
                .count(untimed, " call has", " calls have")
                .word(" no latency: the time of the call or its result is missing"),
        );
    }
    notes
}
