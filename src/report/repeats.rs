//! Denials and errors: repetitions of the same input in one row for programs, everything of one kind in one row
//! for people.

mod denials;
mod errors;
mod failures;

use std::collections::{BTreeMap, BTreeSet};

use denials::Remedy;
pub(crate) use denials::SPEC as DENIALS;
pub use denials::denials;
pub(crate) use errors::SPEC as ERRORS;
pub(super) use errors::failure;
pub(crate) use failures::SPEC as FAILURES;

use super::{
    Column, Line, Tone, Value, View,
    column::columns,
    sum::{HasContext, RowContext, agent_column, has, place_column, place_columns, session_columns, text},
};
use crate::{
    facts::{
        Name,
        ledger::{AgentIndex, Context, Location, SessionIndex},
    },
    measure::{Millis, Time},
};

/// Number of repetitions from which the same input is a loop. Two may be a retry.
const LOOP: u64 = 3;

/// Maximum number of rows on screen.
const ON_SCREEN: usize = 30;

/// A denial or a failure.
struct Occurrence<'a> {
    kind: &'static str,
    /// Name of the tool, subtype of the result, or type of the API error.
    name: &'a str,
    context: &'a Context,
    /// Id of the call.
    id: Option<&'a Name>,
    /// Hash of a call's input.
    input: Option<u64>,
    wait: Option<Millis>,
    /// Command or path, if kept.
    brief: Option<&'a Name>,
    /// The error, if kept.
    message: Option<&'a Name>,
    /// The source of a refusal, and how the call can be allowed.
    refusal: Option<Refusal>,
}

/// The source of a refusal, and how the call can be allowed.
#[derive(Clone, Debug, Default)]
struct Refusal {
    by: &'static str,
    remedy: Remedy,
}

/// Occurrences with equal keys are repetitions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RepeatKey<'a> {
    kind: &'static str,
    name: &'a str,
    session: Option<SessionIndex>,
    agent: Option<AgentIndex>,
    input: Option<u64>,
}

/// Occurrences with equal keys are one row for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey<'a> {
    kind: &'static str,
    name: &'a str,
    /// The error of a failure, or the input of a denied call.
    text: Option<&'a str>,
    refused_by: Option<&'static str>,
}

#[derive(Default)]
struct Row {
    kind: Value,
    name: Value,
    context: RowContext,
    count: u64,
    sessions: BTreeSet<Option<SessionIndex>>,
    first: Option<Time>,
    last: Option<Time>,
    wait: Option<Millis>,
    is_loop: bool,
    /// Command or path of the newest one.
    input: Value,
    /// Error of the newest one.
    message: Value,
    refusal: Option<Refusal>,
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

impl<'a> Occurrence<'a> {
    fn new(kind: &'static str, name: &'a str, context: &'a Context) -> Self {
        Self {
            kind,
            name,
            context,
            id: None,
            input: None,
            wait: None,
            brief: None,
            message: None,
            refusal: None,
        }
    }

    fn repeat_key(&self) -> RepeatKey<'a> {
        let Context { session, agent, .. } = *self.context;
        RepeatKey { kind: self.kind, name: self.name, session, agent, input: self.input }
    }

    fn group_key(&self) -> GroupKey<'a> {
        let text = if self.refusal.is_some() { self.brief } else { self.message };
        GroupKey {
            kind: self.kind,
            name: self.name,
            text: text.map(|text| &**text),
            refused_by: self.refusal.as_ref().map(|refusal| refusal.by),
        }
    }
}

impl Row {
    /// A row without occurrences.
    fn of(occurrence: &Occurrence<'_>) -> Self {
        Self { kind: occurrence.kind.into(), name: occurrence.name.into(), ..Self::default() }
    }

    fn add(&mut self, occurrence: &Occurrence<'_>) {
        let Occurrence { context, wait, brief, message, refusal, .. } = occurrence;
        if self.count == 0 || context.time >= self.last {
            (self.input, self.message) = (text(*brief), text(*message));
            self.refusal.clone_from(refusal);
        }
        self.count += 1;
        self.sessions.insert(context.session);
        self.first = self.first.into_iter().chain(context.time).min();
        self.last = self.last.max(context.time);
        if let Some(wait) = wait {
            *self.wait.get_or_insert(Millis::ZERO) += *wait;
        }
    }
}

/// Groups occurrences, in log order.
struct Repeats<'a> {
    view: &'a View<'a>,
    all: Vec<Occurrence<'a>>,
}

impl<'a> Repeats<'a> {
    fn new(view: &'a View<'a>, all: impl IntoIterator<Item = Occurrence<'a>>) -> Self {
        Self { view, all: all.into_iter().collect() }
    }

    /// Rows of repetitions, each with the location of its first occurrence.
    fn rows(&self) -> BTreeMap<RepeatKey<'a>, Row> {
        let mut rows: BTreeMap<RepeatKey<'a>, Row> = BTreeMap::new();
        for one in &self.all {
            let row = rows
                .entry(one.repeat_key())
                .or_insert_with(|| Row { context: RowContext::of(self.view, one.context), ..Row::of(one) });
            row.add(one);
            row.is_loop |= one.input.is_some() && row.count >= LOOP;
        }
        rows
    }

    /// Rows for people, each with the location of its newest occurrence: most frequent first, then the newest.
    fn groups(&self, rows: &BTreeMap<RepeatKey<'a>, Row>) -> Vec<Row> {
        let mut groups: BTreeMap<GroupKey<'a>, (Row, &'a Context)> = BTreeMap::new();
        for one in &self.all {
            let (row, newest) = groups.entry(one.group_key()).or_insert_with(|| (Row::of(one), one.context));
            row.add(one);
            row.is_loop |= rows.get(&one.repeat_key()).is_some_and(|row| row.is_loop);
            if one.context.time >= newest.time {
                *newest = one.context;
            }
        }
        let finish =
            |(row, newest): (Row, &Context)| Row { context: RowContext::of(self.view, newest), ..row };
        let mut groups: Vec<Row> = groups.into_values().map(finish).collect();
        groups.sort_by_key(|row| std::cmp::Reverse((row.count, row.last, row.context.at)));
        groups
    }

    /// The groups that are loops.
    fn loops(self) -> impl Iterator<Item = Loop<'a>> {
        self.rows().into_iter().filter(|(_, row)| row.is_loop).map(|(key, row)| Loop {
            session: key.session,
            tool: key.name,
            count: row.count,
            at: row.context.at,
        })
    }
}

/// Rows for programs: most frequent first, then the oldest.
fn sorted(rows: BTreeMap<RepeatKey<'_>, Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.count), row.first.is_none(), row.first, row.context.at));
    rows
}

fn time_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time first "First" [data] "Time of the first occurrence." => row.first;
        time last "Last" [wide] "Time of the last occurrence." => row.last;
        flag loop "Loop" [data] "Whether the same input had this outcome three times or more in its session."
            => row.is_loop;
        text again "Repeats" [screen] "`loop` if the same input was repeated three times or more in a session." => row.is_loop.then_some(arcstr::literal!("loop"));
        count sessions "Sessions" [no_sum, wide_screen] "Number of sessions in which it occurred." => row.sessions.len() as u64;
        ..[agent_column("`main`, or the type of the subagent.").data()];
        ..session_columns();
        ..[place_column("Location of the newest occurrence.").wide_screen()];
        ..place_columns();
    }
}

/// All loops, by location.
pub(super) fn loops<'a>(view: &'a View<'a>) -> Vec<Loop<'a>> {
    let denied = Repeats::new(view, denials::occurrences(view));
    let failed = Repeats::new(view, errors::failed_calls(view));
    let mut loops: Vec<Loop<'a>> = denied.loops().chain(failed.loops()).collect();
    loops.sort_by_key(|one| one.at);
    loops
}

/// A note about loops, or that nothing happened.
fn loop_note(rows: &[Row], what: &'static str, nothing: &'static str) -> Vec<Line> {
    let loops = rows.iter().filter(|row| row.is_loop).count() as u64;
    let nothing = rows.is_empty().then(|| Line::new(Tone::Good).word(nothing));
    let looped = (loops > 0).then(|| {
        Line::new(Tone::Warning)
            .count(loops, " loop", " loops")
            .word(": the same input ")
            .word(what)
            .word(" repeatedly")
    });
    nothing.into_iter().chain(looped).collect()
}
