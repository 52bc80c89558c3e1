//! One session as a timeline.

mod event;

use std::collections::BTreeMap;

use super::{
    Column, CommandGroup, CommandSpec, Line, Outcome, Report, ReportSpec, Section, Shown, Table, Tone, Value,
    View,
    column::{columns, shown_as},
    figure, heads, names_id, outcomes,
    sum::{HasLocation, MAIN, Sum, has, place_columns, text},
    summary::doubted,
};
use crate::{
    facts::{
        Detail, Name,
        ledger::{Context, End, Ledger, Session, SessionIndex},
    },
    measure::{Millis, Time},
};
use event::{Event, EventKind, events};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| show(view, find_session(view.ledger, LATEST).ok(), false)),
    content: Detail::CONTENT,
    keeps: Detail::ROWS.and(Detail::HOOKS).and(Detail::LIMITS).and(Detail::TASKS),
    sample: &["show", "latest", "--timezone", "UTC"],
    command: Some(CommandSpec {
        group: CommandGroup::Run,
        about: "Show one session as a timeline: prompts, calls, failures",
        details: "SESSION is an id or its beginning, or `latest`. Every event has its time, outcome, duration and context \
            size. A terminal also shows prompts, what was said, commands, paths and errors; a wide one has bars for the \
            position within the session. If rows are left out, on screen or by --limit, the newest ones are kept.",
        examples: &[
            ("The latest session", "ccstat show latest"),
            ("The same with whole texts", "ccstat show latest --full"),
            (
                "One session, by the first 8 digits of its id as shown by `ccstat sessions`",
                "ccstat show 0a1b2c3d runs/",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "show",
        "One session as a timeline: prompts, responses, calls, failures, limits, hooks that blocked, tasks and ends of turns.",
        || heads(&columns()),
    )
};

/// Maximum number of rows on screen.
const ON_SCREEN: usize = 200;

/// Why a session was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindSessionError {
    /// No id starts with the given text.
    NotFound,
    /// Several ids start with it.
    Ambiguous(Vec<String>),
}

/// Name for the session that started last.
pub const LATEST: &str = "latest";

/// Finds a session by its id, a unique prefix of it, or both ends as a screen shows them; `latest` is the session that started last.
pub fn find_session(ledger: &Ledger, start: &str) -> Result<SessionIndex, FindSessionError> {
    let ids = || SessionIndex::each(&ledger.sessions).filter_map(|(at, one)| Some((at, one.id.as_deref()?)));
    if let Some((at, _)) = ids().find(|&(_, id)| id == start) {
        return Ok(at);
    }
    let found: Vec<(SessionIndex, &str)> = ids().filter(|(_, id)| names_id(start, id)).collect();
    match &found[..] {
        [] if start == LATEST => latest(ledger).ok_or(FindSessionError::NotFound),
        [] => Err(FindSessionError::NotFound),
        &[(at, _)] => Ok(at),
        several => Err(FindSessionError::Ambiguous(several.iter().map(|&(_, id)| id.to_owned()).collect())),
    }
}

/// Sessions are sorted by start time, those without a time last.
fn latest(ledger: &Ledger) -> Option<SessionIndex> {
    let dated = ledger.sessions.iter().rposition(|session| session.started.is_some());
    dated.or(ledger.sessions.len().checked_sub(1)).map(SessionIndex::new)
}

struct Row {
    event: Event,
    /// Local time of day.
    clock: Value,
    offset: Option<Millis>,
    agent: String,
    /// Description on screen.
    label: String,
    bar: Value,
    source: Value,
}

has! { HasLocation for Row: source, event.at }

/// Description of an event on screen, indented and with the name of the subagent for events of subagents.
fn label(event: &Event, agent: &str, usual: Option<&str>) -> String {
    let label = event.kind.label(event.name.as_deref(), usual);
    if agent == MAIN { label } else { format!("  {label} [{agent}]") }
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time time "Time" [data] "Time, if the log has it." => row.event.time;
        text clock "Time" [screen] "The time of day." => &row.clock;
        millis offset_ms "Offset" [no_sum, data] "Time since the session began." => row.offset;
        text what "Event kind" [required, data] "Kind of event: prompt, response, call, retry, api_error, compaction, rate_limit, fallback, refusal, hook (one \
             that blocked), task_begin and task_end (background tasks), or turn (end of a turn)."
            => row.event.kind.name();
        text label "Event" [screen] "Description of the event." => row.label.as_str();
        ..text_columns();
        text agent "Agent" [required, data] "`main`, or the type of the subagent." => &row.agent;
        text name "Name" [data] "Tool of a call, model of a response, type of an error, name of a hook, or type of a task."
            => &row.event.name;
        ..outcome_columns();
        ..figure_columns();
        ..place_columns();
    }
}

fn text_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text text "Text" [content] "First line of a prompt or of what the model said, or command, path or other main input of a call; with \
             whole texts, all of it."
            => &row.event.text;
        text whole "Text" [content, below] "The same, below the row." => &row.event.text;
        text message "Error" [content, data] "Error of a call, request or result: the line that says what went wrong." => &row.event.message;
        text failure "Error" [content, below] "The same, below the row." => row.event.message.as_ref().map(|message| format!("✗ {message}"));
    }
}

fn outcome_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text end "End" "Outcome of a call (ok, error, denied, open), or subtype of a turn's result."
            => &row.event.end;
        millis wall_ms "Took" [no_sum] "Latency of a call, wall time of a turn, or wait before a retry."
            => row.event.took;
        count context "Context" [no_sum, nullable, wide] "Prompt tokens of a response, or tokens of the conversation after a compaction."
            => row.event.context;
    }
}

fn figure_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        bar bar "When" [nullable, wide_screen] "Position within the session." => &row.bar;
        count context_before "Before" [no_sum, nullable, data] "Tokens of the conversation before a compaction."
            => row.event.before;
        count output "Output" [no_sum, nullable, wide] "Output tokens of a response, as charged."
            => row.event.output;
        bytes result_bytes "Result" [no_sum, nullable, wide] "Size of a call's result." => row.event.bytes;
        usd cost_usd "Cost" [no_sum, wide] "Share of a response in the session's cost, or cost added by a turn."
            => row.event.cost;
    }
}

/// Builds the timeline of one session; empty without a session. `full` shows texts to their end.
pub fn show(view: &View<'_>, session: Option<SessionIndex>, full: bool) -> Report {
    let Some(session) = session else {
        let table = Table::of::<Row>("Timeline", &columns(), &[]);
        return Report::of(SPEC.name, table, Vec::new());
    };
    let told = &view.ledger.sessions[session];
    let events = events(view.ledger, session);
    let span = Span::of(told, &events);
    let usual = usual_model(&events);
    let row = |event: Event| {
        let agent = view.agent(&Context { agent: event.agent, ..Context::default() }).to_owned();
        Row {
            clock: event.time.and_then(|time| view.zone.clock(time)).into(),
            offset: event.time.zip(told.started).map(|(time, started)| time.since(started)),
            label: label(&event, &agent, usual.as_deref()),
            agent,
            bar: span.bar(&event),
            source: view.source(event.at),
            event,
        }
    };
    let head = header(view, session, told, &events, usual.as_ref());
    let rows: Vec<Row> = events.into_iter().map(row).collect();
    // Whole texts have lines of their own.
    let columns: Vec<Column<Row>> = if full {
        shown_as(Shown::Data, &["text"], columns())
    } else {
        columns().into_iter().filter(|column| column.head.key != "whole").collect()
    };
    let table = Table::of("Timeline", &columns, &rows).on_screen(ON_SCREEN).keeping_last();
    let table = Table { whole_texts: full, ..table };
    let notes = notes(view, session);
    let report = Report::of(SPEC.name, table, notes);
    let report = Report { screen: head.into_iter().chain(report.screen).collect(), ..report };
    report.with_charts(figure::session(view, session))
}

/// The model of most responses.
fn usual_model(events: &[Event]) -> Option<Name> {
    let mut counts: BTreeMap<&Name, u64> = BTreeMap::new();
    let models = events.iter().filter(|event| event.kind == EventKind::Response);
    models.filter_map(|event| event.name.as_ref()).for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().max_by_key(|&(_, count)| count).map(|(name, _)| Name::clone(name))
}

/// Start of the session and its length in milliseconds.
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

/// The lines above the timeline.
fn header(
    view: &View<'_>,
    session: SessionIndex,
    told: &Session,
    events: &[Event],
    model: Option<&Name>,
) -> [Section; 2] {
    let ledger = view.ledger;
    let outcome = outcomes(ledger)[session.get()];
    let sum = Sum::of(ledger.charges.iter().filter(|charge| charge.context.session == Some(session)));
    let tone = match outcome {
        Outcome::Ok => Tone::Good,
        Outcome::Error | Outcome::NoResult | Outcome::ApiError => Tone::Bad,
        Outcome::Denied | Outcome::Interrupted | Outcome::InCall | Outcome::Unanswered => Tone::Warning,
        Outcome::Ended | Outcome::Unknown => Tone::Plain,
    };
    let verdict = Line::new(tone).word("session ").value(text(told.id.as_deref())).word(match outcome {
        Outcome::Ok => ": ok",
        Outcome::Error => ": it ended with an error",
        Outcome::Denied => ": calls were denied",
        Outcome::NoResult => ": no result (killed, or still running)",
        Outcome::Interrupted => ": interrupted by a person",
        Outcome::InCall => ": ends inside a tool call",
        Outcome::ApiError => ": ends with an error of the API",
        Outcome::Unanswered => ": its last message has no answer",
        Outcome::Ended => ": ends with an answer",
        Outcome::Unknown => ": the log does not say how it ended",
    });
    let minute = |time: Option<_>| time.and_then(|time| view.zone.minute(time));
    let (started, ended) = (minute(told.started), minute(told.ended));
    let place = Line::new(Tone::Plain)
        .value(text(told.project.as_deref()))
        .word(" · ")
        .value(text(model))
        .word(" · CLI ")
        .value(text(told.version.as_deref()))
        .word(" · ")
        .value(started.clone())
        .word(" to ")
        .value(ended.map(|ended| without_day(&ended, started.as_deref())));
    let counted = counts(ledger, session, events);
    let money = Line::new(Tone::Plain)
        .value(sum.tokens.prompt())
        .word(" tokens in, ")
        .value(sum.tokens.output)
        .word(" out · cost ")
        .value(sum.cost);
    let money = match wall(events) {
        Some(wall) => money.word(" · wall time ").value(wall),
        None => money,
    };
    let title = match view.titles().swap_remove(session.get()) {
        // A prompt that is the title may be kept whole.
        Value::Text(title) => title.lines().next().map(|title| Line::new(Tone::Plain).value(title)),
        _ => None,
    };
    let lines = title.into_iter().chain([place, counted, money]).collect();
    [Section::Verdict(doubted(verdict, &ledger.input)), Section::Attention(lines)]
}

/// A minute without its day, if that is the day of another minute.
fn without_day(minute: &str, other: Option<&str>) -> String {
    let day = other.and_then(|other| other.split_once(' ')).map(|(day, _)| day);
    match minute.split_once(' ') {
        Some((own, time)) if Some(own) == day => time.to_owned(),
        _ => minute.to_owned(),
    }
}

/// Counts of events.
fn counts(ledger: &Ledger, session: SessionIndex, events: &[Event]) -> Line {
    let of = |kind: EventKind| events.iter().filter(|event| event.kind == kind).count() as u64;
    let ended = |end: End| {
        let calls = ledger.calls.iter().filter(|call| call.context.session == Some(session));
        calls.filter(|call| call.end == end).count() as u64
    };
    let denied =
        ledger.denials.iter().filter(|denial| denial.context.session == Some(session)).count() as u64;
    // Streams contain no prompts, but an end for each.
    let prompts = if of(EventKind::Prompt) > 0 { of(EventKind::Prompt) } else { of(EventKind::Turn) };
    let begun = match prompts {
        0 => Line::new(Tone::Plain),
        prompts => Line::new(Tone::Plain).count(prompts, " prompt, ", " prompts, "),
    };
    let line = begun
        .count(of(EventKind::Response), " step, ", " steps, ")
        .count(of(EventKind::Call), " call: ", " calls: ")
        .count(ended(End::Error), " error, ", " errors, ")
        .value(denied)
        .word(" denied, ")
        .value(ended(End::Open))
        .word(" without a result");
    [
        (EventKind::Retry, " retry", " retries"),
        (EventKind::ApiError, " API error", " API errors"),
        (EventKind::Compaction, " compaction", " compactions"),
        (EventKind::RateLimit, " rate limit", " rate limits"),
        (EventKind::Fallback, " fallback", " fallbacks"),
        (EventKind::Refusal, " refusal", " refusals"),
        (EventKind::Hook, " block by a hook", " blocks by hooks"),
        (EventKind::TaskBegin, " background task", " background tasks"),
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

/// Notes about cost that the timeline does not show.
fn notes(view: &View<'_>, session: SessionIndex) -> Vec<Line> {
    let mut notes = Vec::new();
    let alone = view.ledger.charges.iter().filter(|charge| charge.response.is_none());
    let rest = Sum::of(alone.filter(|charge| charge.context.session == Some(session))).cost;
    if let Some(rest) = rest.filter(|rest| rest.nanos() != 0) {
        notes.push(
            Line::new(Tone::Plain)
                .value(rest)
                .words(" of the cost belongs to no step in the log (see `{explain cost}`)"),
        );
    }
    let mut own = view.ledger.charges.iter().filter(|charge| charge.context.session == Some(session));
    if own.any(|charge| charge.reported && charge.response.is_some()) {
        notes.push(Line::new(Tone::Plain).word(
            "the cost of a step is its share of the cost reported for the session, including requests not in the log",
        ));
    }
    notes
}
