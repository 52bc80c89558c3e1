//! Requests between the CLI and its host, and over a bridge: one a row, with what became of it.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    spec::CALLED,
    sum::{HasLocation, place_columns, text},
};
use crate::{
    facts::{
        Detail,
        ledger::Location,
        trace::control::{Decision, Request, Seen, requests},
    },
    measure::Millis,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: CALLED.and(Detail::CONTROL),
    make: Some(control),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "List control requests: who asked for what, decisions, latencies",
        details: "What the CLI asked its host and the host asked the CLI, and what went over a bridge; requests and responses \
            are paired by id, also those of two logs of one run. Control lines have no session id: the session is the \
            one that runs around them. Where the response stands in another log, how the call ended tells whether it was \
            allowed.",
        examples: &[
            ("What the CLI and its host asked of each other", "ccstat control run.jsonl"),
            (
                "Both sides of a run, with the time that approvals took",
                "ccstat control stdin.jsonl stdout.jsonl --sort latency_ms",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "control",
        "Requests between the CLI and its host, or over a bridge: who asked for what, how it was decided, and when.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row {
    request: Option<Request>,
    latency: Option<Millis>,
    session: Value,
    project: Value,
    source: Value,
    place: Value,
}

impl Row {
    fn of(view: &View<'_>, request: Request) -> Self {
        let session = request.session.map(|at| &view.ledger.sessions[at]);
        Self {
            latency: request.latency,
            session: text(session.and_then(|session| session.id.as_deref())),
            project: text(session.and_then(|session| session.project.as_deref())),
            source: view.source(request.location),
            place: view.place(request.location),
            request: Some(request),
        }
    }
}

impl HasLocation for Row {
    fn source(&self) -> &Value {
        &self.source
    }

    fn location(&self) -> Option<Location> {
        self.request.as_ref().and_then(|request| request.location)
    }
}

fn of<T: Into<Value>>(row: &Row, value: impl Fn(&Request) -> T) -> Value {
    row.request.as_ref().map_or(Value::Missing, |request| value(request).into())
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time time "Time" "When it was asked, else when it was answered." => of(row, |request| request.time);
        text direction "Direction" [required] "Who asks whom: cli to host, host to cli, bridge to client, or client to bridge."
            => of(row, |request| request.direction.name());
        text subtype "Request" "What is asked for; of a response alone, where nothing else is answered like this."
            => of(row, |request| text(request.subtype.as_deref()));
        text tool "Tool" "The tool that is asked about." => of(row, |request| text(request.tool.as_deref()));
        text decision "Decision" "What the response says: allow, deny, success or error; or cancelled, or unanswered. Where a log has no response, \
             how the call ended tells whether it was allowed."
            => of(row, |request| request.decision.map(Decision::name));
        millis latency_ms "Latency" [no_sum] "Time until it was decided, where both lines say when." => row.latency;
        ..halves();
        ..place_columns();
    }
}

/// What a request is known by, and where it belongs.
fn halves() -> Vec<Column<Row>> {
    columns! { |row: Row|
        flag always "Always" [data] "Whether the tool was allowed from then on, too."
            => of(row, |request| Value::Flag(request.always));
        text seen "Seen" [required, wide] "Which of its two lines were read: both, request or response."
            => of(row, |request| request.seen.name());
        text request_id "Request id" [data] "What pairs the two: `request_id`, or the id of the call that a bridge asks about."
            => of(row, |request| text(request.id.as_deref()));
        text session "Session" [data] "Id of the session that runs around it, where that is clear." => &row.session;
        text project "Project" [data] "The folder of that session." => &row.project;
        text place "Place" [screen] "Where it stands." => &row.place;
    }
}

/// One row a request.
fn control(view: &View<'_>) -> Report {
    let rows: Vec<Row> = requests(view.ledger).into_iter().map(|request| Row::of(view, request)).collect();
    let columns = columns();
    let table = Table::of("Requests", &columns, &rows).on_screen(50);
    Report::of(SPEC.name, table, notes(&rows))
}

fn notes(rows: &[Row]) -> Vec<Line> {
    let requests = || rows.iter().filter_map(|row| row.request.as_ref());
    let decided = |decision| requests().filter(|one| one.decision == Some(decision)).count() as u64;
    if rows.is_empty() {
        return vec![
            Line::new(Tone::Plain)
                .word("no control requests: neither CLI, host nor bridge asked for anything"),
        ];
    }
    let mut line = Line::new(Tone::Plain).count(rows.len() as u64, " request", " requests");
    let mut before = ": ";
    for decision in Decision::ALL {
        let count = decided(decision);
        if count > 0 {
            line = line.word(before).value(count).word(" ").word(decision.name());
            before = ", ";
        }
    }
    let mut notes = vec![line];
    let lone = requests().filter(|one| one.seen == Seen::Response).count() as u64;
    if lone > 0 {
        let line = Line::new(Tone::Plain).count(lone, " response has", " responses have");
        notes.push(line.word(" no request in what was read: give the log of the other side, too"));
    }
    notes
}
