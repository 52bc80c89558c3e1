//! What happened again and again: refusals and failures, the same ones together.

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
        about: "List refused calls: which tool, where, how often",
        details: "The same input refused again and again in a session is one row, marked as a loop from three times on.",
        examples: &[
            ("What was refused in a run", "ccstat denials run.jsonl"),
            ("What was refused since yesterday", "ccstat denials ~/.claude/projects --since yesterday"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "denials",
        "Refused calls: which tool, where, how often, and whether it is a loop.",
        || heads(&denial_columns()),
    )
};
pub(crate) const ERRORS: ReportSpec = ReportSpec {
    make: Some(errors),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List what failed: tools, turns, the API; time lost to retries",
        details: "The same input that fails again and again in a session is one row, marked as a loop from three times on.",
        examples: &[
            ("What failed in a run", "ccstat errors run.jsonl"),
            ("Where the API kept people waiting", "ccstat errors ~/.claude/projects --sort wait_ms"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "errors",
        "Failures of tools, turns and the API: where, how often, and at what cost of time.",
        || heads(&error_columns()),
    )
};

/// From this often on the same input is a loop: twice is a second try.
const LOOP: u64 = 3;

/// What may happen again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RepeatKey<'a> {
    kind: &'static str,
    what: &'a str,
    session: Option<SessionIndex>,
    agent: Option<AgentIndex>,
    /// Tells the inputs of calls apart.
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

/// The same input to the same tool, refused or failed again and again in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop<'a> {
    /// Its session.
    pub(super) session: Option<SessionIndex>,
    /// Which tool.
    pub(super) tool: &'a str,
    /// How often.
    pub(super) count: u64,
    /// Where it began.
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

/// Rows by what is the same, in the order in which it first happened.
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

    /// Those that are loops.
    fn loops(self) -> impl Iterator<Item = Loop<'a>> {
        self.rows.into_iter().filter(|(_, row)| row.is_loop).map(|(key, row)| Loop {
            session: key.session,
            tool: key.what,
            count: row.count,
            at: row.context.at,
        })
    }

    /// The most frequent first, and how many are loops.
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
        time first "First" "When it happened first." => row.first;
        time last "Last" [wide] "When it happened last." => row.last;
        flag loop "Loop" [data] "Whether the same input came to this three times or more in its session."
            => row.is_loop;
        text again "Again" [screen] "The same input again and again." => row.is_loop.then_some("loop");
        ..[agent_column("`main`, or the type of the subagent.").wide()];
        ..session_columns();
        ..[place_column("Where it stands first.")];
        ..place_columns();
    }
}

fn denial_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text tool "Tool" "The tool that was refused." => &row.what;
        count denied "Denied" "How often, with the same input in the same session." => row.count;
        ..time_columns();
    }
}

fn error_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text sort "Sort" "What failed: a `tool`, a `turn`, the `api` for good, or an attempt at it (`retry`)."
            => &row.kind;
        text name "Name" "The tool, the turn's subtype, or the API's type of error." => &row.what;
        count errors "Errors" "How often, with the same input in the same session." => row.count;
        millis wait_ms "Waited" [nullable] "Time spent waiting before the next attempt." => row.wait;
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

/// The same input to the same tool, refused or failed again and again.
pub(super) fn loops<'a>(view: &'a View<'a>) -> Vec<Loop<'a>> {
    let mut loops: Vec<Loop<'a>> = refused(view).loops().chain(failed(view).loops()).collect();
    loops.sort_by_key(|one| one.at);
    loops
}

/// Refused calls, the same ones together.
pub fn denials(view: &View<'_>) -> Report {
    let (rows, loops) = refused(view).finish();
    let table = Table::of("Denials", &denial_columns(), &rows).with_sums().on_screen(30);
    Report::of(
        "denials",
        table,
        loop_note(loops, "was refused", rows.is_empty().then_some("no call was refused")),
    )
}

/// How a turn failed: the CLI reports API failures as `success` with a flag.
pub(super) fn failure(turn: &Turn) -> &str {
    if &*turn.subtype == "success" { "success with is_error" } else { &turn.subtype }
}

/// Failures, the same ones together.
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
            .word(" again and again")
    });
    nothing.into_iter().chain(looped).collect()
}
