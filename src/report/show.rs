//! One session as a timeline: what happened, in the order it happened.

mod event;

use super::{
    Column, CommandGroup, CommandSpec, Line, Outcome, Report, ReportSpec, Section, Table, Tone, Value, View,
    column::columns,
    heads, outcomes,
    sum::{HasLocation, MAIN, Sum, has, place_columns, text},
    summary::doubted,
};
use crate::{
    facts::{
        Detail,
        ledger::{Context, End, Ledger, Session, SessionIndex},
    },
    measure::{Millis, Time},
};
use event::{Event, EventKind, events};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| show(view, find_session(view.ledger, LATEST).ok())),
    keeps: Detail::ROWS.and(Detail::HOOKS).and(Detail::LIMITS).and(Detail::TASKS),
    sample: &["show", "latest", "--timezone", "UTC"],
    command: Some(CommandSpec {
        group: CommandGroup::Run,
        about: "Show one session as a timeline: prompts, calls, failures",
        details: "SESSION is an id or its beginning, or `latest`. Every event has its time, how it ended, how long it took and \
            how large the context was; a bar shows when it was within the session. Message text is not shown. Where rows \
            are left out, on a screen or by --limit, the newest ones stay.",
        examples: &[
            ("The session that began last", "ccstat show latest"),
            (
                "What happened in a run, from the 8 digits that `ccstat sessions` shows",
                "ccstat show 0a1b2c3d runs/",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "show",
        "One session as a timeline: prompts, responses, calls, failures, limits, blocks, tasks and ends of turns.",
        || heads(&columns()),
    )
};

/// Rows that a person reads before asking for more.
const ON_SCREEN: usize = 200;

/// Why there is no one session to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindSessionError {
    /// No id begins like this.
    NotFound,
    /// Several do.
    Ambiguous(Vec<String>),
}

/// The word for the session that began last.
pub const LATEST: &str = "latest";

/// The session with this id, else the only one whose id begins like this; `latest` is the one that began last.
pub fn find_session(ledger: &Ledger, start: &str) -> Result<SessionIndex, FindSessionError> {
    let ids = || SessionIndex::each(&ledger.sessions).filter_map(|(at, one)| Some((at, one.id.as_deref()?)));
    if let Some((at, _)) = ids().find(|&(_, id)| id == start) {
        return Ok(at);
    }
    let found: Vec<(SessionIndex, &str)> = ids().filter(|(_, id)| id.starts_with(start)).collect();
    match &found[..] {
        [] if start == LATEST => latest(ledger).ok_or(FindSessionError::NotFound),
        [] => Err(FindSessionError::NotFound),
        &[(at, _)] => Ok(at),
        several => Err(FindSessionError::Ambiguous(several.iter().map(|&(_, id)| id.to_owned()).collect())),
    }
}

/// Sessions stand in the order of their beginnings, those without a time at the end.
fn latest(ledger: &Ledger) -> Option<SessionIndex> {
    let dated = ledger.sessions.iter().rposition(|session| session.started.is_some());
    dated.or(ledger.sessions.len().checked_sub(1)).map(SessionIndex::new)
}

struct Row {
    event: Event,
    /// The time of day, where the reader lives.
    clock: Value,
    offset: Option<Millis>,
    agent: String,
    bar: Value,
    source: Value,
}

has! { HasLocation for Row: source, event.at }

impl Row {
    /// What a person reads: indented below what it belongs to, and with the subagent whose it is.
    fn label(&self) -> String {
        let Event { kind, name, .. } = &self.event;
        let label = kind.label(name.as_deref());
        if self.agent == MAIN { label } else { format!("  {label} [{}]", self.agent) }
    }
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time time "Time" [data] "When, where the log says so." => row.event.time;
        text clock "Time" [screen] "The time of day." => &row.clock;
        millis offset_ms "Offset" [no_sum, data] "Time since the session began." => row.offset;
        text what "What" [required, data] "What happened: prompt, response, call, retry, api_error, compaction, rate_limit, fallback, refusal, hook (that \
             blocked), task_begin and task_end (in the background), or turn (its end)."
            => row.event.kind.name();
        text label "Event" [screen] "What happened, in words." => row.label();
        text agent "Agent" [required, data] "`main`, or the type of the subagent." => &row.agent;
        text name "Name" [data] "The tool of a call, the model of a response, the type of a failure, the hook, what a task is."
            => &row.event.name;
        ..outcome_columns();
        ..figure_columns();
        ..place_columns();
    }
}

fn outcome_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text end "End" "How a call ended (ok, error, denied, open), or the subtype of a turn's result."
            => &row.event.end;
        millis wall_ms "Took" [no_sum] "From the ask of a call to its answer, the wall time of a turn, the wait before a retry."
            => row.event.took;
        count context "Context" [no_sum, nullable] "Tokens of a response's prompt, or of the conversation after a compaction."
            => row.event.context;
    }
}

fn figure_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        bar bar "When" [nullable, screen] "From when to when within the session." => &row.bar;
        count context_before "Before" [no_sum, nullable, data] "Tokens of the conversation before a compaction."
            => row.event.before;
        count output "Output" [no_sum, nullable, wide] "Tokens that a response wrote, as it was charged."
            => row.event.output;
        bytes result_bytes "Result" [no_sum, nullable, wide] "Bytes of a call's answer." => row.event.bytes;
        usd cost_usd "Cost" [no_sum, wide] "Of a response its share of the session's cost; of a turn all that it added."
            => row.event.cost;
    }
}

/// The timeline of one session; an empty one without a session.
pub fn show(view: &View<'_>, session: Option<SessionIndex>) -> Report {
    let Some(session) = session else {
        let table = Table::of::<Row>("Timeline", &columns(), &[]);
        return Report::of(SPEC.name, table, Vec::new());
    };
    let told = &view.ledger.sessions[session];
    let events = events(view.ledger, session);
    let span = Span::of(told, &events);
    let row = |event: Event| Row {
        clock: event.time.and_then(|time| view.zone.clock(time)).into(),
        offset: event.time.zip(told.started).map(|(time, started)| time.since(started)),
        agent: view.agent(&Context { agent: event.agent, ..Context::default() }).to_owned(),
        bar: span.bar(&event),
        source: view.source(event.at),
        event,
    };
    let head = header(view, session, told, &events);
    let rows: Vec<Row> = events.into_iter().map(row).collect();
    let table = Table::of("Timeline", &columns(), &rows).on_screen(ON_SCREEN).keeping_last();
    let notes = notes(view, session);
    let report = Report::of(SPEC.name, table, notes);
    Report { screen: head.into_iter().chain(report.screen).collect(), ..report }
}

/// From the first moment to the last, in milliseconds.
struct Span(Option<(Time, f64)>);

impl Span {
    fn of(session: &Session, events: &[Event]) -> Self {
        let last = events.iter().filter_map(Event::span).map(|(_, end)| end).chain(session.ended).max();
        let whole = session.started.zip(last).map(|(first, last)| (first, last.since(first).as_f64()));
        Self(whole.filter(|&(_, whole)| whole > 0.0))
    }

    fn bar(&self, event: &Event) -> Value {
        let Some(((first, whole), (from, to))) = self.0.zip(event.span()) else {
            return Value::Missing;
        };
        let share = |time: Time| time.since(first).as_f64() / whole;
        Value::Bar(share(from), share(to))
    }
}

/// What a person reads first.
fn header(view: &View<'_>, session: SessionIndex, told: &Session, events: &[Event]) -> [Section; 2] {
    let ledger = view.ledger;
    let outcome = outcomes(ledger)[session.get()];
    let sum = Sum::of(ledger.charges.iter().filter(|charge| charge.context.session == Some(session)));
    let tone = match outcome {
        Outcome::Ok => Tone::Good,
        Outcome::Error | Outcome::NoResult => Tone::Bad,
        Outcome::Denied => Tone::Warning,
        Outcome::Unknown => Tone::Plain,
    };
    let verdict = Line::new(tone).word("session ").value(text(told.id.as_deref())).word(match outcome {
        Outcome::Ok => ": ok",
        Outcome::Error => ": its last turn failed",
        Outcome::Denied => ": calls were denied",
        Outcome::NoResult => ": no result, killed or still running",
        Outcome::Unknown => ": a saved session, which does not say how it ended",
    });
    let moment = |time: Option<_>| Value::from(time.and_then(|time| view.zone.minute(time)));
    let place = Line::new(Tone::Plain)
        .value(text(told.project.as_deref()))
        .word(" · CLI ")
        .value(text(told.version.as_deref()))
        .word(" · ")
        .value(moment(told.started))
        .word(" to ")
        .value(moment(told.ended));
    let counted = counts(ledger, session, events);
    let money = Line::new(Tone::Plain)
        .value(sum.tokens.prompt())
        .word(" tokens in, ")
        .value(sum.tokens.output)
        .word(" out · cost ")
        .value(sum.cost)
        .word(" · wall time ")
        .value(wall(events));
    [Section::Verdict(doubted(verdict, &ledger.input)), Section::Attention(vec![place, counted, money])]
}

/// How much of everything there was.
fn counts(ledger: &Ledger, session: SessionIndex, events: &[Event]) -> Line {
    let of = |kind: EventKind| events.iter().filter(|event| event.kind == kind).count() as u64;
    let ended = |end: End| {
        let calls = ledger.calls.iter().filter(|call| call.context.session == Some(session));
        calls.filter(|call| call.end == end).count() as u64
    };
    let denied =
        ledger.denials.iter().filter(|denial| denial.context.session == Some(session)).count() as u64;
    // Streams have no prompts, saved sessions no ends of turns.
    let begun = [(EventKind::Prompt, " prompt, ", " prompts, "), (EventKind::Turn, " turn, ", " turns, ")]
        .into_iter()
        .filter(|&(kind, ..)| of(kind) > 0)
        .fold(Line::new(Tone::Plain), |line, (kind, one, many)| line.count(of(kind), one, many));
    let line = begun
        .count(of(EventKind::Response), " response, ", " responses, ")
        .count(of(EventKind::Call), " call: ", " calls: ")
        .count(ended(End::Error), " error, ", " errors, ")
        .value(denied)
        .word(" denied, ")
        .value(ended(End::Open))
        .word(" without an answer");
    [
        (EventKind::Retry, " retry", " retries"),
        (EventKind::ApiError, " API error", " API errors"),
        (EventKind::Compaction, " compaction", " compactions"),
        (EventKind::RateLimit, " rate limit", " rate limits"),
        (EventKind::Fallback, " fallback", " fallbacks"),
        (EventKind::Refusal, " refusal", " refusals"),
        (EventKind::Hook, " block by a hook", " blocks by hooks"),
        (EventKind::TaskBegin, " task in the background", " tasks in the background"),
    ]
    .into_iter()
    .filter(|&(kind, ..)| of(kind) > 0)
    .fold(line, |line, (kind, one, many)| line.word(", ").count(of(kind), one, many))
}

fn wall(events: &[Event]) -> Option<Millis> {
    let turns = events.iter().filter(|event| event.kind == EventKind::Turn);
    turns.filter_map(|event| event.took).fold(None, |sum, took| {
        let mut sum = sum.unwrap_or(Millis::ZERO);
        sum += took;
        Some(sum)
    })
}

/// What is missing from the timeline.
fn notes(view: &View<'_>, session: SessionIndex) -> Vec<Line> {
    let mut notes = Vec::new();
    let alone = view.ledger.charges.iter().filter(|charge| charge.response.is_none());
    let rest = Sum::of(alone.filter(|charge| charge.context.session == Some(session))).cost;
    if let Some(rest) = rest.filter(|rest| rest.nanos() != 0) {
        notes.push(
            Line::new(Tone::Plain)
                .value(rest)
                .words(" of the cost belongs to no response in the log (see `{explain cost}`)"),
        );
    }
    let mut own = view.ledger.charges.iter().filter(|charge| charge.context.session == Some(session));
    if own.any(|charge| charge.reported && charge.response.is_some()) {
        notes.push(Line::new(Tone::Plain).word(
            "a response costs its share of what the CLI reported for the session, hidden calls included",
        ));
    }
    notes
}
