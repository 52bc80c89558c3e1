//! MCP servers: status, tools offered, and calls.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, View,
    column::columns,
    heads,
    spec::CALLED,
    sum::{HasCalls, call_columns, has, latency_columns},
};
use crate::facts::{
    Detail, Name, ToolCount,
    ledger::Call,
    trace::server::{Listed, parts, plain_name, servers},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: CALLED.and(Detail::MCP),
    make: Some(mcp),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "Show MCP servers: status, tools, calls, errors, latencies",
        details: "The list of servers is written when a process starts; saved sessions show only servers that were called.",
        examples: &[
            ("The servers of a run and their status", "ccstat mcp run.jsonl"),
            ("Which servers are slow", "ccstat mcp ~/.claude/projects --sort p90_ms"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "mcp",
        "MCP servers: status, tools, calls by outcome, latencies and size of results.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row {
    server: Option<String>,
    status: Option<Name>,
    offered: Option<u64>,
    used: u64,
    calls: ToolCount,
    result_bytes: Option<u64>,
}

has! { HasCalls for Row: calls -> ToolCount }

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text server "Server" "Name of the server." => &row.server;
        text status "Status" "Last status in the log; saved sessions have none." => &row.status;
        count tools "Tools" [nullable] "Tools that it offered." => row.offered;
        count tools_used "Used" "Tools that were called." => row.used;
        ..call_columns();
        ..latency_columns();
        bytes result_bytes "Results" [nullable, wide] "Size of the results in the log." => row.result_bytes;
    }
}

/// Row of a server; `listed` is `None` if no list contains it.
fn row(server: Option<String>, listed: Option<&Listed>, calls: &[(&str, &Call)]) -> Row {
    let bytes = calls.iter().filter_map(|(_, call)| call.result_bytes);
    Row {
        server,
        status: listed.and_then(|one| one.status.clone()),
        offered: listed.and_then(|one| one.tools.as_ref()).map(|tools| tools.len() as u64),
        used: calls.iter().map(|(tool, _)| *tool).collect::<BTreeSet<_>>().len() as u64,
        result_bytes: bytes.reduce(|one, two| one + two),
        calls: ToolCount::of(calls.iter().map(|(_, call)| *call)),
    }
}

/// One row per server, most used first.
fn mcp(view: &View<'_>) -> Report {
    let listed = servers(view.ledger);
    // Tool names contain the server name without the characters that tool names cannot have.
    let plain: BTreeMap<String, &Name> = listed.keys().map(|name| (plain_name(name), name)).collect();
    let mut called: BTreeMap<String, Vec<(&str, &Call)>> =
        listed.keys().map(|name| (name.to_string(), Vec::new())).collect();
    for call in &view.ledger.calls {
        let Some((server, tool)) = parts(&call.tool, |name| plain.contains_key(name)) else { continue };
        let name = plain.get(server).map_or(server, |name| name.as_str());
        called.entry(name.to_owned()).or_default().push((tool, call));
    }
    let mut rows: Vec<Row> =
        called.iter().map(|(name, calls)| row(Some(name.clone()), listed.get(&**name), calls)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls.calls));
    let all: Vec<(&str, &Call)> = called.into_values().flatten().collect();
    let offered = rows.iter().filter_map(|row| row.offered).reduce(|one, two| one + two);
    let used = rows.iter().map(|row| row.used).sum();
    let total = Row { offered, used, ..row(None, None, &all) };
    let columns = columns();
    let table = Table::of("MCP servers", &columns, &rows).with_total(&columns, &total).on_screen(50);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no MCP server was listed or called"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
