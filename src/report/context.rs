//! The context window of a session when it was largest: what it held, what compactions removed, and what carrying
//! MCP servers cost.

use super::{
    Column, CommandGroup, CommandSpec, LATEST, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    find_session, heads,
    sum::{ratio, text},
};
use crate::{
    facts::{
        Detail,
        ledger::{Compaction, SessionIndex},
        trace::context::{Part, PartKind, Window, window},
    },
    measure::{Time, Usd},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| context(view, find_session(view.ledger, LATEST).ok())),
    keeps: Detail::ROWS.and(Detail::RECORDS).and(Detail::REQUESTS),
    sample: &["context", "latest"],
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "Show what filled the context window of a session",
        details: "Shows the prompt of the main agent when it was largest: system prompt, tools by MCP server, attachments, \
            messages and results by tool. Its size is exact; the tokens of its parts are estimates by their length in the log, \
            which add up to it. The system prompt and the tools are in saved sessions of 2.1.291 and later; without them, four \
            bytes count as a token, and the rest is a row `unknown`. What a server costs to carry is the price of its tools in all \
            requests of the session. Compactions are rows with the tokens that they removed, as the CLI says.",
        examples: &[
            ("The latest session", "ccstat context latest"),
            ("One session, by the beginning of its id", "ccstat context 0a1b2c3d runs/"),
            ("For programs", "ccstat context latest --json"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "context",
        "The context window of a session when it was largest: parts with estimated tokens, compactions, and the cost of carrying servers.",
        || heads(&columns()),
    )
};

/// Kind of the rows of compactions.
const COMPACTION: &str = "compaction";

#[derive(Default)]
struct Row {
    part: Option<&'static str>,
    name: Value,
    time: Option<Time>,
    items: Option<u64>,
    bytes: Option<u64>,
    tokens: Option<u64>,
    share: Option<f64>,
    calls: Option<u64>,
    carried: Option<Usd>,
    removed: Option<u64>,
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text part "Part" [required] "system, tools (of the CLI), server (tools of an MCP server), memory, attachments, messages, \
             results (of a tool), unknown (not in the log), or compaction."
            => text(row.part);
        text name "Name" "MCP server, tool, or kind of message, attachment or compaction." => row.name.clone();
        time time "Time" [data] "Time of a compaction." => row.time;
        count items "Items" [nullable, no_sum, wide] "Number of tools, messages, attachments or results." => row.items;
        bytes bytes "Size" [nullable] "Length in the log." => row.bytes;
        count estimated_tokens "≈ Tokens" [nullable] "Tokens, estimated by the length; the sum is exact." => row.tokens;
        share estimated_share "≈ Share" [nullable, wide] "Estimated share of the window." => row.share;
        count calls "Calls" [nullable] "Calls of these tools in the whole session." => row.calls;
        usd estimated_carried_usd "≈ Carried" "Estimated cost of these tokens in all requests of the session that had them." => row.carried;
        count removed_tokens "Removed" [nullable] "Tokens that a compaction removed, as the CLI says." => row.removed;
    }
}

/// The largest window of a session, and its compactions.
pub fn context(view: &View<'_>, session: Option<SessionIndex>) -> Report {
    let window = session.and_then(|session| window(view.ledger, session));
    let compactions: Vec<&Compaction> = view
        .ledger
        .compactions
        .iter()
        .filter(|one| session.is_some() && one.context.session == session && one.context.agent.is_none())
        .collect();
    let parts = window.iter().flat_map(|window| window.parts.iter().map(|part| row(part, window.tokens)));
    let rows: Vec<Row> = parts.chain(compactions.iter().map(|one| removed(one))).collect();
    let sum = |of: fn(&Row) -> Option<u64>| rows.iter().filter_map(of).reduce(|one, two| one + two);
    let carried: Vec<Usd> = rows.iter().filter_map(|row| row.carried).collect();
    let total = Row {
        bytes: sum(|row| row.bytes),
        tokens: window.as_ref().map(|window| window.tokens),
        share: window.as_ref().map(|_| 1.0),
        calls: sum(|row| row.calls),
        carried: (!carried.is_empty()).then(|| carried.into_iter().sum()),
        removed: sum(|row| row.removed),
        ..Row::default()
    };
    let columns = columns();
    let table = Table::of("Context", &columns, &rows).with_total(&columns, &total).on_screen(50);
    Report::of(SPEC.name, table, notes(window.as_ref()))
}

fn row(part: &Part, whole: u64) -> Row {
    Row {
        part: Some(part.kind.name()),
        name: text(part.name.as_ref()),
        items: part.items,
        bytes: part.bytes,
        tokens: Some(part.tokens),
        share: ratio(part.tokens, whole),
        calls: part.calls,
        carried: part.carried,
        ..Row::default()
    }
}

fn removed(compaction: &Compaction) -> Row {
    let fact = &compaction.fact;
    Row {
        part: Some(COMPACTION),
        name: text(fact.trigger.as_ref()),
        time: compaction.context.time,
        removed: fact.before.zip(fact.after).map(|(before, after)| before.saturating_sub(after)),
        ..Row::default()
    }
}

fn notes(window: Option<&Window>) -> Vec<Line> {
    let Some(window) = window else {
        return vec![
            Line::new(Tone::Plain).word("no response has tokens, so the size of the window is not known"),
        ];
    };
    let largest = Line::new(Tone::Plain).value(window.tokens);
    let largest = largest.word(" tokens were in the prompt when it was largest");
    let largest = match window.context.time {
        Some(time) => largest.word(", at ").value(time),
        None => largest,
    };
    let mut notes = vec![largest];
    notes.extend(window.parts.iter().filter_map(unused));
    notes.push(match window.has_shape {
        true => Line::new(Tone::Plain)
            .word("tokens of parts and the cost of carrying them are estimates by their length; the total is exact"),
        false => Line::new(Tone::Plain).word(
            "tokens of parts are estimates, 4 bytes each, because the log has neither the system prompt nor the tools; the total \
             is exact",
        ),
    });
    notes
}

/// Advice about a server whose tools were never called.
fn unused(part: &Part) -> Option<Line> {
    if part.kind != PartKind::Server || part.calls != Some(0) {
        return None;
    }
    let line = Line::new(Tone::Warning).word("no tool of the MCP server ").value(text(part.name.as_ref()));
    let line =
        line.word(" was called: carrying it took about ").value(part.tokens).word(" tokens in each request");
    Some(match part.carried {
        Some(cost) => line.word(", about ").value(cost).word(" in all"),
        None => line,
    })
}
