//! Sessions, one by one, and how they ended.

use std::collections::BTreeMap;

use super::{
    Column, CommandGroup, CommandSpec, FollowUp, Line, Preset, Report, ReportSpec, Shown, Table, Tone, Value,
    View,
    column::{columns, shown_as},
    heads,
    sum::{HasCalls, HasCost, Sum, call_columns, cost_columns, has, text},
};
use crate::{
    facts::{
        Detail, ToolCount,
        ledger::{Call, Charge, Context, InteractiveTurn, Ledger, Session, SessionIndex, Turn},
    },
    measure::{Millis, add},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::CALLS.and(Detail::EVENTS),
    make: Some(sessions),
    ccusage: Some(Preset::Sessions),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "List sessions: when, where, what they cost, how they ended",
        details: "The latest first. A session that several logs tell of is one row.",
        examples: &[
            ("The sessions of the last week", "ccstat sessions --since 7d"),
            ("Runs that failed or were refused something", "ccstat sessions --outcome error,denied runs/"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "sessions",
        "Sessions, one a row: when, where, what they did and cost, how they ended.",
        || heads(&columns()),
    )
};

names! {
    /// How a session ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
    pub enum Outcome {
        /// Its last turn succeeded, and nothing was refused
        Ok = "ok",
        /// Its last turn failed
        Error = "error",
        /// A call was refused, although no turn failed
        Denied = "denied",
        /// It was printed without a result: killed, or still running
        NoResult = "no-result",
        /// Saved sessions do not say how they ended
        Unknown = "unknown",
    }
}

/// How a run ended, for formats that judge runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// Which run: a session, or the source of one without an id; `None` for all that was read.
    pub run: Option<String>,
    /// How long it took, where that is known.
    pub wall: Option<Millis>,
    /// Why it failed, if it did.
    pub failure: Option<Line>,
}

/// How each session ended.
pub fn outcomes(ledger: &Ledger) -> Vec<Outcome> {
    let mut denied = vec![false; ledger.sessions.len()];
    for session in ledger.denials.iter().filter_map(|denial| denial.context.session) {
        denied[session.get()] = true;
    }
    let mut last: BTreeMap<SessionIndex, &Turn> = BTreeMap::new();
    for turn in ledger.turns.iter().filter(|turn| turn.counted) {
        if let Some(session) = turn.context.session {
            last.insert(session, turn); // in the order they stand
        }
    }
    let outcome = |(at, session): (SessionIndex, &Session)| match last.get(&at) {
        Some(turn) if !turn.ok => Outcome::Error,
        None if session.lacks_result() => Outcome::NoResult,
        _ if denied[at.get()] => Outcome::Denied,
        Some(_) => Outcome::Ok,
        None => Outcome::Unknown,
    };
    SessionIndex::each(&ledger.sessions).map(outcome).collect()
}

#[derive(Default)]
struct Row {
    session: Option<Session>,
    outcome: Option<Outcome>,
    wall: Option<Millis>,
    api: Option<Millis>,
    turns: u64,
    prompts: u64,
    calls: ToolCount,
    sum: Sum,
}

impl Row {
    /// Whether it is a session at all: control lines name none, and there is none of their own.
    fn is_something(&self) -> bool {
        let Self { session, outcome: _, wall, api, turns, prompts, calls, sum } = self;
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
        time started "Started" "Its earliest record." => of(row, |session| session.started);
        text session "Session" "Its id." => of(row, |session| text(session.id.as_deref()));
        text project "Project" [wide] "The folder it began in." => of(row, |session| text(session.project.as_deref()));
        text outcome "Outcome" "How it ended: ok, error, denied (a call was refused), no-result (killed or running), unknown."
            => row.outcome.map(Outcome::name);
        time ended "Ended" [data] "Its latest record." => of(row, |session| session.ended);
        text version "Version" [data] "The CLI version that began it."
            => of(row, |session| text(session.version.as_deref()));
        millis wall_ms "Wall" [nullable] "Time that its turns took." => row.wall;
        millis span_ms "Span" [nullable, no_sum, wide] "Time from its first to its last record."
            => of(row, |session| session.started.zip(session.ended).map(|(first, last)| last.since(first)));
        millis api_ms "API" [nullable, data] "Time that the API took." => row.api;
        millis tool_ms "Tools" [nullable, data] "Sum of the tools' latencies."
            => row.calls.latency.map(|latency| latency.total);
        count turns "Turns" [wide] "Ends of turns." => row.turns;
        count prompts "Prompts" [wide] "What humans asked." => row.prompts;
        // On a narrow screen how it ended and what it cost comes before how much it did.
        ..shown_as(Shown::Wide, &["calls", "input", "output", "cache_read"], [call_columns(), cost_columns()].concat());
        flag complete "Complete" [nullable, data]
            "Whether the cost holds everything: no unknown price, no unfinished response."
            => of(row, |session| Value::Flag(session.complete));
    }
}

/// One row a session, the latest first.
pub fn sessions(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    // The last row is for everything without a session.
    let no_session = ledger.sessions.len();
    let row = |context: &Context| context.session.map_or(no_session, SessionIndex::get);
    let mut rows: Vec<Row> = (0..=no_session).map(|_| Row::default()).collect();
    let mut calls: Vec<Vec<&Call>> = rows.iter().map(|_| Vec::new()).collect();
    ledger.calls.iter().for_each(|call| calls[row(&call.context)].push(call));
    for (at, row) in rows.iter_mut().enumerate() {
        row.calls = ToolCount::of(calls[at].iter().copied());
        row.session = ledger.sessions.get(at).cloned();
    }
    for (row, outcome) in rows.iter_mut().zip(outcomes(ledger)) {
        row.outcome = Some(outcome);
    }
    ledger.charges.iter().for_each(|charge: &Charge| rows[row(&charge.context)].sum.add(charge));
    ledger.prompts.iter().for_each(|context| rows[row(context)].prompts += 1);
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
    Report::of(SPEC.name, table, notes(ledger))
}

/// What is missing from the cost, and how to see more.
pub(super) fn notes(ledger: &Ledger) -> Vec<Line> {
    let mut notes = cost_notes(ledger);
    if ledger.sessions.iter().any(|session| session.id.is_some()) {
        notes.push(Line::new(Tone::Plain).word("one of them in full: ").follow_up(FollowUp::FirstSession));
    }
    notes
}

/// What every report of money says below its table.
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
                .words(": that cost is missing; add one with {a price file}"),
        );
    }
    let open =
        ledger.sessions.iter().filter(|session| !session.complete && session.unpriced.is_empty()).count();
    if open > 0 {
        notes.push(
            Line::new(Tone::Warning)
                .word("the cost is not complete: ")
                .count(open as u64, " session has", " sessions have")
                .word(" responses without final token counts"),
        );
    }
    let (reported, computed): (Vec<&Charge>, Vec<&Charge>) =
        ledger.charges.iter().filter(|charge| charge.cost.is_some()).partition(|charge| charge.reported);
    let source = match (reported.is_empty(), computed.is_empty()) {
        (true, true) => return notes,
        (false, true) => "cost as the CLI reported it: an estimate at API prices",
        (true, false) => "cost computed from tokens: an estimate at API prices (see `{prices}`)",
        (false, false) => "cost as the CLI reported it, computed where it did not: an estimate at API prices",
    };
    notes.push(Line::new(Tone::Plain).words(source));
    notes
}
