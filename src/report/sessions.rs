//! The list of sessions and how each ended.

use std::collections::BTreeMap;

use super::{
    Chart, Column, CommandGroup, CommandSpec, FollowUp, Line, Preset, Report, ReportSpec, Shown, Table, Tone,
    Value, View,
    column::{columns, shown_as},
    figure, heads,
    sum::{HasCalls, HasCost, Sum, call_columns, cost_columns, has, text},
};
use crate::{
    facts::{
        Detail, ToolCount,
        ledger::{
            Call, Charge, Context, End, InteractiveTurn, Ledger, MessageKind, Session, SessionIndex, Turn,
        },
    },
    measure::{Millis, add},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::CALLS.and(Detail::EVENTS),
    content: Detail::TITLES.and(Detail::EXCERPTS),
    make: Some(sessions),
    ccusage: Some(Preset::Sessions),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "List sessions: title, project, calls, cost and outcome",
        details: "Latest first. A session that occurs in several logs is one row. A saved session has no result; its outcome \
            comes from its last message: `ended` after an answer of the model, `interrupted` by a person, `in-call` inside \
            a tool call, `api-error`, or `unanswered`. `--outcome unknown` lists all of these.",
        examples: &[
            ("The sessions of the last week", "ccstat sessions --since 7d"),
            ("Runs that failed or had denied calls", "ccstat sessions --outcome error,denied runs/"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "sessions",
        "Sessions, one per row: time, project, activity, cost and outcome.",
        || heads(&columns()),
    )
};

names! {
    /// How a session ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
    pub enum Outcome {
        /// The last turn succeeded, and no call was denied
        Ok = "ok",
        /// The last turn failed
        Error = "error",
        /// A call was denied, although the last turn did not fail
        Denied = "denied",
        /// A printed run without a result: killed, or still running
        NoResult = "no-result",
        /// A saved session that a person interrupted last
        Interrupted = "interrupted",
        /// A saved session that ends inside a tool call
        InCall = "in-call",
        /// A saved session that ends with an error of the API
        ApiError = "api-error",
        /// A saved session whose last prompt or tool result has no answer
        Unanswered = "unanswered",
        /// A saved session that ends with an answer of the model
        Ended = "ended",
        /// Unknown; as a filter, all saved sessions without denials
        Unknown = "unknown",
    }
}

impl Outcome {
    /// Whether a filter for this outcome includes another one. Before saved sessions had outcomes, theirs was unknown.
    pub(super) fn includes(self, other: Self) -> bool {
        use Outcome::{ApiError, Ended, InCall, Interrupted, Unanswered, Unknown};
        let is_saved = matches!(other, Interrupted | InCall | ApiError | Unanswered | Ended);
        self == other || self == Unknown && is_saved
    }

    /// Outcome of a saved session, by its last message and whether a call of its main agent has no result.
    fn of_saved(last: Option<MessageKind>, has_open_call: bool) -> Self {
        match last {
            None => Self::Unknown,
            Some(MessageKind::Interruption) => Self::Interrupted,
            Some(MessageKind::ApiError) => Self::ApiError,
            Some(MessageKind::Answer) => Self::Ended,
            Some(MessageKind::Call | MessageKind::CallResult) if has_open_call => Self::InCall,
            Some(MessageKind::Prompt | MessageKind::Call | MessageKind::CallResult) => Self::Unanswered,
        }
    }
}

/// Outcome of a run, for formats that report runs as tests.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The run: a session id, or the source of a session without an id; `None` for everything that was read.
    pub run: Option<String>,
    /// Duration, if known.
    pub wall: Option<Millis>,
    /// Reason if it failed.
    pub failure: Option<Line>,
}

/// Outcome of each session.
pub fn outcomes(ledger: &Ledger) -> Vec<Outcome> {
    let mut denied = vec![false; ledger.sessions.len()];
    for session in ledger.denials.iter().filter_map(|denial| denial.context.session) {
        denied[session.get()] = true;
    }
    let mut last: BTreeMap<SessionIndex, &Turn> = BTreeMap::new();
    for turn in ledger.turns.iter().filter(|turn| turn.counted) {
        if let Some(session) = turn.context.session {
            last.insert(session, turn); // turns are in log order
        }
    }
    let mut is_open = vec![false; ledger.sessions.len()];
    for call in ledger.calls.iter().filter(|call| call.end == End::Open && call.context.agent.is_none()) {
        if let Some(session) = call.context.session {
            is_open[session.get()] = true;
        }
    }
    let outcome = |(at, session): (SessionIndex, &Session)| match last.get(&at) {
        Some(turn) if !turn.ok => Outcome::Error,
        None if session.lacks_result() => Outcome::NoResult,
        _ if denied[at.get()] => Outcome::Denied,
        Some(_) => Outcome::Ok,
        None => Outcome::of_saved(session.last_message, is_open[at.get()]),
    };
    SessionIndex::each(&ledger.sessions).map(outcome).collect()
}

#[derive(Default)]
struct Row {
    session: Option<Session>,
    title: Value,
    outcome: Option<Outcome>,
    wall: Option<Millis>,
    api: Option<Millis>,
    turns: u64,
    prompts: u64,
    calls: ToolCount,
    sum: Sum,
}

impl Row {
    /// Whether the row has an id or any activity. Control lines without a session id are not a session.
    fn is_something(&self) -> bool {
        let Self { session, title: _, outcome: _, wall, api, turns, prompts, calls, sum } = self;
        session.as_ref().is_some_and(|session| session.id.is_some())
            || wall.is_some()
            || api.is_some()
            || turns + prompts + calls.calls + sum.responses > 0
            || sum.cost.is_some()
    }
}

has! { HasCost for Row: sum -> Sum }

has! { HasCalls for Row: calls -> ToolCount }

fn of<T: Into<Value>>(row: &Row, value: impl Fn(&Session) -> T) -> Value {
    row.session.as_ref().map_or(Value::Missing, |session| value(session).into())
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time started "Started" "Time of the first record." => of(row, |session| session.started);
        text session "Session" "Session id." => of(row, |session| text(session.id.as_deref()));
        text title "Title" [content] "Title, or a prompt if it has none." => &row.title;
        text project "Project" "Working directory in which it started." => of(row, |session| text(session.project.as_deref()));
        text outcome "Outcome" "Outcome: ok, error, denied (a call was denied), no-result (killed or running); of a saved session: ended (normally), interrupted (by a person), in-call (ends inside a call), api-error, unanswered, unknown."
            => row.outcome.map(Outcome::name);
        time ended "Ended" [data] "Time of the last record." => of(row, |session| session.ended);
        text version "Version" [data] "CLI version that started it."
            => of(row, |session| text(session.version.as_deref()));
        millis wall_ms "Wall" [nullable, wide] "Sum of the durations of its prompts, as logged." => row.wall;
        millis span_ms "Span" [nullable, no_sum, wide] "Time between its first and last record."
            => of(row, |session| session.started.zip(session.ended).map(|(first, last)| last.since(first)));
        millis api_ms "API" [nullable, data] "Time spent in the API." => row.api;
        millis tool_ms "Tools" [nullable, data] "Sum of tool latencies."
            => row.calls.latency.map(|latency| latency.total);
        count turns "Turns" [data] "Turns: results of a printed run." => row.turns;
        count prompts "Prompts" [data] "Prompts by people." => row.prompts;
        // A printed run has no record of its prompts, but a result for each.
        count asked "Prompts" [wide_screen] "Prompts, or results of a printed run." => row.turns.max(row.prompts);
        // On a narrow screen outcome and cost are more important than tokens.
        ..shown_as(Shown::Wide, &["denied", "input", "output", "cache_read"], [call_columns(), cost_columns()].concat());
        flag complete "Complete" [nullable, data]
            "Whether the cost is complete: every price is known and every response finished."
            => of(row, |session| Value::Flag(session.complete));
        list unpriced "Unpriced" [nullable, data] "Models without a price, if the CLI reported no cost."
            => of(row, |session| Value::List(session.unpriced.iter().map(Value::text).collect()));
        text machine "Machine" [data] "Machine on which it was archived."
            => of(row, |session| text(session.machine.as_ref()));
    }
}

/// One row per session, latest first.
pub fn sessions(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    // The last row collects everything without a session.
    let no_session = ledger.sessions.len();
    let row = |context: &Context| context.session.map_or(no_session, SessionIndex::get);
    let mut rows: Vec<Row> = (0..=no_session).map(|_| Row::default()).collect();
    let mut calls: Vec<Vec<&Call>> = rows.iter().map(|_| Vec::new()).collect();
    ledger.calls.iter().for_each(|call| calls[row(&call.context)].push(call));
    for (at, row) in rows.iter_mut().enumerate() {
        row.calls = ToolCount::of(calls[at].iter().copied());
        row.session = ledger.sessions.get(at).cloned();
    }
    for ((row, outcome), title) in rows.iter_mut().zip(outcomes(ledger)).zip(view.titles()) {
        (row.outcome, row.title) = (Some(outcome), title);
    }
    ledger.charges.iter().for_each(|charge: &Charge| rows[row(&charge.context)].sum.add(charge));
    ledger.prompts.iter().for_each(|prompt| rows[row(&prompt.context)].prompts += 1);
    for turn in &ledger.turns {
        let own = &mut rows[row(&turn.context)];
        own.turns += u64::from(turn.counted);
        add(&mut own.wall, turn.wall);
        add(&mut own.api, turn.api);
    }
    ledger
        .interactive_turns
        .iter()
        .for_each(|turn: &InteractiveTurn| add(&mut rows[row(&turn.context)].wall, Some(turn.wall)));
    rows.retain(Row::is_something);
    let start = |row: &Row| row.session.as_ref().and_then(|session| session.started);
    rows.sort_by_key(|row| (start(row).is_none(), std::cmp::Reverse(start(row))));
    let table = Table::of("Sessions", &columns(), &rows).with_sums().on_screen(30);
    let charts = [figure::outcomes(ledger), figure::session_costs(view)].into_iter().flatten();
    Report::of(SPEC.name, table, notes(ledger)).with_charts(charts.map(Chart::page_only))
}

/// Notes about the cost, and the command that shows one session.
pub(super) fn notes(ledger: &Ledger) -> Vec<Line> {
    let mut notes = cost_notes(ledger);
    if ledger.sessions.iter().any(|session| session.id.is_some()) {
        notes.push(
            Line::new(Tone::Plain).word("show one session in full: ").follow_up(FollowUp::FirstSession),
        );
    }
    notes
}

/// Notes about the cost, shown below every table with costs.
pub(super) fn cost_notes(ledger: &Ledger) -> Vec<Line> {
    let mut notes = Vec::new();
    let mut unpriced: Vec<&str> =
        ledger.sessions.iter().flat_map(|session| &session.unpriced).map(|model| &**model).collect();
    unpriced.sort_unstable();
    unpriced.dedup();
    if !unpriced.is_empty() {
        let models = Value::List(unpriced.iter().map(|model| Value::text(*model)).collect());
        notes.push(
            Line::new(Tone::Warning)
                .word("no price for ")
                .value(models)
                .words(": cost unknown; add a price with {a price file}"),
        );
    }
    let open =
        ledger.sessions.iter().filter(|session| !session.complete && session.unpriced.is_empty()).count();
    if open > 0 {
        notes.push(
            Line::new(Tone::Warning)
                .word("the cost is incomplete: ")
                .count(open as u64, " session has", " sessions have")
                .word(" responses without final token counts"),
        );
    }
    let (reported, computed): (Vec<&Charge>, Vec<&Charge>) =
        ledger.charges.iter().filter(|charge| charge.cost.is_some()).partition(|charge| charge.reported);
    let source = match (reported.is_empty(), computed.is_empty()) {
        (true, true) => return notes,
        (false, true) => "cost reported by the CLI: an estimate at API prices",
        (true, false) => "cost computed from tokens: an estimate at API prices (see `{prices}`)",
        (false, false) => {
            "cost reported by the CLI, or computed from tokens where it is not: an estimate at API prices"
        }
    };
    notes.push(Line::new(Tone::Plain).words(source));
    notes
}
