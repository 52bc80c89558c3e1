//! Hooks: number of runs, outcomes and durations.

use std::collections::BTreeMap;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    spec::CALLED,
    sum::{HasLocation, has, place_columns},
};
use crate::{
    facts::{
        Detail, Latencies, Name,
        ledger::Location,
        trace::hook::{Hook, HookEnd, hooks as runs},
    },
    measure::{Millis, Time},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: CALLED.and(Detail::HOOKS),
    make: Some(hooks),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "Show hooks: runs, errors, what they blocked, durations",
        details: "One row per hook and command. The output of the CLI contains hooks only on request, and never their commands or \
            durations; saved sessions contain both. A run that occurs in both counts once.",
        examples: &[
            ("Which hooks block or fail", "ccstat hooks ~/.claude/projects --sort blocked"),
            (
                "The slowest hooks of the last week",
                "ccstat hooks ~/.claude/projects --since 7d --sort max_ms",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("hooks", "Hooks: runs, failures, blocks and durations.", || heads(&columns()))
};

#[derive(Default)]
struct Row {
    event: Option<Name>,
    name: Option<Name>,
    command: Option<Name>,
    runs: u64,
    ok: u64,
    failed: u64,
    blocked: u64,
    open: u64,
    took: Option<Latencies>,
    first: Option<Time>,
    last: Option<Time>,
    at: Option<Location>,
    source: Value,
}

has! { HasLocation for Row: source, at }

impl Row {
    fn of<'h>(hooks: impl IntoIterator<Item = &'h Hook>) -> Self {
        let (mut row, mut took) = (Self::default(), Vec::new());
        for hook in hooks {
            row.runs += 1;
            *match hook.end {
                HookEnd::Ok => &mut row.ok,
                HookEnd::Failed => &mut row.failed,
                HookEnd::Blocked => &mut row.blocked,
                HookEnd::Open => &mut row.open,
            } += 1;
            took.extend(hook.took);
            row.first = row.first.into_iter().chain(hook.context.time).min();
            row.last = row.last.max(hook.context.time);
            row.at = row.at.into_iter().chain(hook.context.location).min();
        }
        Self { took: Latencies::of(took), ..row }
    }
}

fn took(row: &Row, of: fn(&Latencies) -> Millis) -> Value {
    row.took.as_ref().map(of).into()
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text event "Event" [data] "Event that triggers the hook." => &row.event;
        text hook "Hook" "The event, with its tool or source." => &row.name;
        text command "Command" "Command of the hook; only saved sessions contain it." => &row.command;
        ..end_columns();
        ..time_columns();
        ..place_columns();
    }
}

fn end_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        count runs "Runs" "Number of runs." => row.runs;
        count ok "Ok" [wide] "Runs that did not block." => row.ok;
        count errors "Errors" "Runs that failed or were cancelled without blocking." => row.failed;
        count blocked "Blocked" "Runs that blocked: by exit code 2, by their output, or by denying a call."
            => row.blocked;
        count open "Open" [wide] "Runs without an end in the log." => row.open;
    }
}

fn time_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        millis p50_ms "p50" [no_sum] "Median duration, if the log has durations." => took(row, |all| all.p50);
        millis max_ms "Max" [no_sum] "Longest duration." => took(row, |all| all.max);
        millis total_ms "Total" [wide] "Sum of the durations; hooks of one event run in parallel."
            => took(row, |all| all.total);
        time first "First" [wide] "Time of the first run." => row.first;
        time last "Last" [wide] "Time of the last run." => row.last;
    }
}

/// One row per event, hook and command, most frequent first.
fn hooks(view: &View<'_>) -> Report {
    let all = runs(view.ledger);
    let mut same: BTreeMap<(&Name, &Name, Option<&Name>), Vec<&Hook>> = BTreeMap::new();
    for hook in &all {
        same.entry((&hook.event, &hook.name, hook.command.as_ref())).or_default().push(hook);
    }
    let row = |((event, name, command), hooks): ((&Name, &Name, Option<&Name>), Vec<&Hook>)| {
        let row = Row::of(hooks);
        Row {
            event: Some(Name::clone(event)),
            name: Some(Name::clone(name)),
            command: command.cloned(),
            source: view.source(row.at),
            ..row
        }
    };
    let mut rows: Vec<Row> = same.into_iter().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.runs), row.at));
    let total = Row { at: None, ..Row::of(&all) };
    let columns = columns();
    let table = Table::of("Hooks", &columns, &rows).with_total(&columns, &total).on_screen(30);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no hook ran"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
