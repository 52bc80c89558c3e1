//! Control requests between the CLI and its host or over a bridge, with their outcome.

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
        about: "List control requests: direction, subtype, decision, latency",
        details: "Requests from the CLI to its host and back, and over a bridge. Requests and responses are paired by id, even \
            across two logs of one run. Control lines have no session id, so they are assigned to the session around \
            them. If the response is in a log that was not read, the outcome of the call shows whether it was allowed.",
        examples: &[
            ("Requests between the CLI and its host", "ccstat control run.jsonl"),
            (
                "Both sides of a run, with the time of approvals",
                "ccstat control stdin.jsonl stdout.jsonl --sort latency_ms",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "control",
        "Requests between the CLI and its host or over a bridge: direction, subtype, decision and time.",
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
        time time "Time" "Time of the request, otherwise of the response." => of(row, |request| request.time);
        text direction "Direction" [required] "Direction of the request: cli to host, host to cli, bridge to client, or client to bridge."
            => of(row, |request| request.direction.name());
        text subtype "Request" "Subtype of the request; for a response without its request, only if its content is unambiguous."
            => of(row, |request| text(request.subtype.as_deref()));
        text tool "Tool" "Tool that the request is about." => of(row, |request| text(request.tool.as_deref()));
        text decision "Decision" "Decision in the response: allow, deny, success or error; otherwise cancelled or unanswered. If the log has \
             no response, it is derived from the outcome of the call."
            => of(row, |request| request.decision.map(Decision::name));
        millis latency_ms "Latency" [no_sum] "Time from request to decision, if both lines have a time." => row.latency;
        ..halves();
        ..place_columns();
    }
}

/// Columns that identify a request and its session.
fn halves() -> Vec<Column<Row>> {
    columns! { |row: Row|
        flag always "Always" [data] "Whether the tool was allowed permanently."
            => of(row, |request| Value::Flag(request.always));
        text seen "Seen" [required, wide] "Which of the two lines were read: both, request or response."
            => of(row, |request| request.seen.name());
        text request_id "Request id" [data] "Id that pairs request and response: `request_id`, or the id of the call for a bridge."
            => of(row, |request| text(request.id.as_deref()));
        text session "Session" [data] "Id of the session around it, if unambiguous." => &row.session;
        text project "Project" [data] "Working directory of that session." => &row.project;
        text place "Location" [screen] "Location of the record." => &row.place;
    }
}

/// One row per request.
fn control(view: &View<'_>) -> Report {
    let rows: Vec<Row> = requests(view.ledger).into_iter().map(|request| Row::of(view, request)).collect();
    let columns = columns();
    let table = Table::of("Requests", &columns, &rows).on_screen(50).keeping_last();
    Report::of(SPEC.name, table, notes(&rows))
}

fn notes(rows: &[Row]) -> Vec<Line> {
    let requests = || rows.iter().filter_map(|row| row.request.as_ref());
    let decided = |decision| requests().filter(|one| one.decision == Some(decision)).count() as u64;
    if rows.is_empty() {
        return vec![Line::new(Tone::Plain).word("no control requests between CLI, host and bridge")];
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
        notes.push(line.word(" no request in these logs: give the log of the other side too"));
    }
    notes
}
