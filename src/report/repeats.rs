//! Denials and errors, with repetitions of the same input grouped in one row.

use std::collections::BTreeMap;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    sum::{HasContext, RowContext, agent_column, has, place_column, place_columns, session_columns},
};
use crate::{
    facts::ledger::{AgentIndex, Call, Context, End, Location, SessionIndex, Turn},
    measure::{Millis, Time},
};

pub(crate) const DENIALS: ReportSpec = ReportSpec {
    make: Some(denials),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List denied calls: tool, location, number of repetitions",
        details: "Repeated denials of the same input in a session are one row, marked as a loop from three times on.",
        examples: &[
            ("Denied calls of a run", "ccstat denials run.jsonl"),
            ("Denied calls since yesterday", "ccstat denials ~/.claude/projects --since yesterday"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "denials",
        "Denied calls: tool, location, number of repetitions, and whether it is a loop.",
        || heads(&denial_columns()),
    )
};
pub(crate) const ERRORS: ReportSpec = ReportSpec {
    make: Some(errors),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List errors of tools, turns and the API; time lost to retries",
        details: "Repeated failures of the same input in a session are one row, marked as a loop from three times on.",
        examples: &[
            ("Errors of a run", "ccstat errors run.jsonl"),
            ("Where API retries cost time", "ccstat errors ~/.claude/projects --sort wait_ms"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "errors",
        "Errors of tools, turns and the API: location, number of repetitions, and time lost.",
        || heads(&error_columns()),
    )
};

/// Number of repetitions from which the same input is a loop. Two may be a retry.
const LOOP: u64 = 3;

/// Events with equal keys are repetitions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RepeatKey<'a> {
    kind: &'static str,
    what: &'a str,
    session: Option<SessionIndex>,
    agent: Option<AgentIndex>,
    /// Hash of a call's input.
    input: Option<u64>,
}

#[derive(Default)]
struct Row {
    kind: Value,
    what: Value,
    context: RowContext,
    count: u64,
    first: Option<Time>,
    last: Option<Time>,
    wait: Option<Millis>,
    is_loop: bool,
}

/// The same tool input, denied or failed repeatedly in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop<'a> {
    pub(super) session: Option<SessionIndex>,
    pub(super) tool: &'a str,
    pub(super) count: u64,
    /// Location of the first one.
    pub(super) at: Option<Location>,
}

has! { HasContext for Row: context -> RowContext }

impl Row {
    fn of(view: &View<'_>, key: &RepeatKey<'_>, context: &Context) -> Self {
        Self {
            kind: key.kind.into(),
            what: key.what.into(),
            context: RowContext::of(view, context),
            ..Self::default()
        }
    }

    fn add(&mut self, time: Option<Time>, wait: Option<Millis>) {
        self.count += 1;
        self.first = self.first.into_iter().chain(time).min();
        self.last = self.last.max(time);
        if let Some(wait) = wait {
            *self.wait.get_or_insert(Millis::ZERO) += wait;
        }
    }
}

/// Groups events by key.
struct Repeats<'a> {
    view: &'a View<'a>,
    rows: BTreeMap<RepeatKey<'a>, Row>,
}

impl<'a> Repeats<'a> {
    fn new(view: &'a View<'a>) -> Self {
        Self { view, rows: BTreeMap::new() }
    }

    fn add(
        &mut self,
        kind: &'static str,
        what: &'a str,
        context: &Context,
        input: Option<u64>,
        wait: Option<Millis>,
    ) {
        let key = RepeatKey { kind, what, session: context.session, agent: context.agent, input };
        let row = match self.rows.entry(key) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let row = Row::of(self.view, free.key(), context);
                free.insert(row)
            }
        };
        row.add(context.time, wait);
        row.is_loop |= input.is_some() && row.count >= LOOP;
    }

    /// The groups that are loops.
    fn loops(self) -> impl Iterator<Item = Loop<'a>> {
        self.rows.into_iter().filter(|(_, row)| row.is_loop).map(|(key, row)| Loop {
            session: key.session,
            tool: key.what,
            count: row.count,
            at: row.context.at,
        })
    }

    /// All rows, most frequent first, and the number of loops.
    fn finish(self) -> (Vec<Row>, u64) {
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        rows.sort_by_key(|row| {
            (std::cmp::Reverse(row.count), row.first.is_none(), row.first, row.context.at)
        });
        let loops = rows.iter().filter(|row| row.is_loop).count() as u64;
        (rows, loops)
    }
}

fn time_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time first "First" "Time of the first occurrence." => row.first;
        time last "Last" [wide] "Time of the last occurrence." => row.last;
        flag loop "Loop" [data] "Whether the same input had this outcome three times or more in its session."
            => row.is_loop;
        text again "Repeats" [screen] "`loop` if the same input was repeated three times or more." => row.is_loop.then_some("loop");
        ..[agent_column("`main`, or the type of the subagent.").wide()];
        ..session_columns();
        ..[place_column("Location of the first occurrence.")];
        ..place_columns();
    }
}

fn denial_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text tool "Tool" "Name of the tool." => &row.what;
        count denied "Denied" "Number of times with the same input in the same session." => row.count;
        ..time_columns();
    }
}

fn error_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text sort "Kind" "Where the error occurred: `tool`, `turn`, `api` (request failed for good) or `retry` (request was retried)."
            => &row.kind;
        text name "Name" "Name of the tool, subtype of the turn, or type of the API error." => &row.what;
        count errors "Errors" "Number of times with the same input in the same session." => row.count;
        millis wait_ms "Waited" [nullable] "Time spent waiting before retries." => row.wait;
        ..time_columns();
    }
}

fn refused<'a>(view: &'a View<'a>) -> Repeats<'a> {
    let mut repeats = Repeats::new(view);
    for denial in &view.ledger.denials {
        let input = denial.call.map(|call| view.ledger.calls[call].input);
        repeats.add("denial", &denial.tool, &denial.context, input, None);
    }
    repeats
}

fn failed<'a>(view: &'a View<'a>) -> Repeats<'a> {
    let mut repeats = Repeats::new(view);
    for call in view.ledger.calls.iter().filter(|call: &&Call| call.end == End::Error) {
        repeats.add("tool", &call.tool, &call.context, Some(call.input), None);
    }
    repeats
}

/// All loops, by location.
pub(super) fn loops<'a>(view: &'a View<'a>) -> Vec<Loop<'a>> {
    let mut loops: Vec<Loop<'a>> = refused(view).loops().chain(failed(view).loops()).collect();
    loops.sort_by_key(|one| one.at);
    loops
}

/// Denied calls, with repetitions grouped.
pub fn denials(view: &View<'_>) -> Report {
    let (rows, loops) = refused(view).finish();
    let table = Table::of("Denials", &denial_columns(), &rows).with_sums().on_screen(30);
    Report::of(
        "denials",
        table,
        loop_note(loops, "was denied", rows.is_empty().then_some("no call was denied")),
    )
}

/// How a turn failed. The CLI reports API failures as `success` with a flag.
pub(super) fn failure(turn: &Turn) -> &str {
    if &*turn.subtype == "success" { "success with is_error" } else { &turn.subtype }
}

/// Errors, with repetitions grouped.
fn errors(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    let mut repeats = failed(view);
    for turn in ledger.turns.iter().filter(|turn| turn.counted && !turn.ok) {
        repeats.add("turn", failure(turn), &turn.context, None, None);
    }
    for failure in &ledger.api_failures {
        let kind = if failure.retried { "retry" } else { "api" };
        repeats.add(kind, &failure.kind, &failure.context, None, failure.wait);
    }
    let (rows, loops) = repeats.finish();
    let table = Table::of("Errors", &error_columns(), &rows).with_sums().on_screen(30);
    Report::of(ERRORS.name, table, loop_note(loops, "failed", rows.is_empty().then_some("nothing failed")))
}

fn loop_note(loops: u64, what: &'static str, nothing: Option<&'static str>) -> Vec<Line> {
    let nothing = nothing.map(|words| Line::new(Tone::Good).word(words));
    let looped = (loops > 0).then(|| {
        Line::new(Tone::Warning)
            .count(loops, " loop", " loops")
            .word(": the same input ")
            .word(what)
            .word(" repeatedly")
    });
    nothing.into_iter().chain(looped).collect()
}
