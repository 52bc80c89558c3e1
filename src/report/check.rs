//! The `check` report: evaluates gates on each run, one row per run.

mod chart;

use super::{
    Column, CommandGroup, CommandSpec, Gate, Line, Outcome, Report, ReportSpec, RunOutcome, Section, Shown,
    Table, Tone, Value, Verdict, View,
    column::{columns, shown_as},
    gate::{Run, Runs, judge_each, turn_counts},
    heads, outcomes,
    repeats::failure,
    sessions::cost_notes,
    short_id,
    sum::{HasCalls, call_columns, has, text},
};
use crate::{
    facts::{ToolCount, ledger::Call},
    measure::{Usd, add},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| check(view, &[])),
    is_gated: true,
    sample: &["check", "--max-turns", "1000"],
    command: Some(CommandSpec {
        group: CommandGroup::Run,
        about: "Check runs against gates, one line per run; exit 1 if one fails",
        details: "Without a gate, the default gates apply: --fail-on error,no-result,denial. A gate fails if the value it \
            needs is unknown.\n\nGates are evaluated for each run: a session, or a source without a session id. Failed \
            runs come first. Records without a session id, and lines that are not records, belong to the first session \
            of their source.",
        examples: &[
            ("Fail a job if a run failed, had a denied call or did not end", "ccstat check run.jsonl"),
            ("Limit cost and steps of nightly runs", "ccstat check runs/ --max-cost 0.50 --max-turns 30"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "check",
        "Runs checked against gates, one per row: failed gates, and how each run ended.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row {
    verdict: Value,
    short: Value,
    session: Value,
    file: Value,
    source: Value,
    outcome: Option<Outcome>,
    /// Subtype of its last failed turn.
    failure: Value,
    turns: u64,
    num_turns: u64,
    calls: ToolCount,
    cost: Option<Usd>,
    failed: Vec<Value>,
    verdicts: Vec<Verdict>,
}

has! { HasCalls for Row: calls -> ToolCount }

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text verdict "Verdict" "`ok` or `FAILED`." => &row.verdict;
        text run "Run" [screen] "Beginning of the session id, or the log of a run without one." => if row.short == Value::Missing { &row.file } else { &row.short };
        text session "Session" [data] "Session id." => &row.session;
        text file "Log" [wide_screen] "File name of the log with the first response of the main agent." => &row.file;
        text source "Source" [data] "Log with the first response of the main agent." => &row.source;
        text outcome "Outcome" "Outcome: ok, error, denied (a call was denied), no-result (killed, running or empty); for saved sessions as in `sessions`."
            => row.outcome.map(Outcome::name);
        list failed "Failed" "Failed gates." => Value::List(row.failed.clone());
        count turns "Prompts" [wide] "Turns." => row.turns;
        count num_turns "Steps" [data] "Agentic turns, as `--max-turns` counts them." => row.num_turns;
        // On a narrow screen the failed gates are more important than the counts.
        ..shown_as(Shown::Wide, &["calls"], shown_as(Shown::Data, &["ok", "open"], call_columns()));
        usd cost_usd "Cost" "Cost at API prices: reported by the CLI, otherwise computed from tokens." => row.cost;
    }
}

/// One row per run, failed ones first. Without a gate, [`Gate::DEFAULT`] applies.
pub fn check(view: &View<'_>, asked: &[Gate]) -> Report {
    let gates = if asked.is_empty() { &Gate::DEFAULT } else { asked };
    let runs = Runs::each(view.ledger);
    let mut rows = rows(view, &runs);
    for (row, verdicts) in rows.iter_mut().zip(judge_each(view, gates, &runs)) {
        row.failed = verdicts.iter().filter(|one| !one.held).map(|one| one.gate.into()).collect();
        row.verdict = if row.failed.is_empty() { "ok" } else { "FAILED" }.into();
        row.verdicts = verdicts;
    }
    let pictures = chart::sections(&rows);
    rows.sort_by_key(|row| row.failed.is_empty());
    let table = Table::of("Runs", &columns(), &rows).with_sums().on_screen(30);
    let mut screen = vec![Section::Verdict(verdict(&rows)), Section::Gates];
    screen.extend(pictures);
    screen.push(Section::Rows);
    let mut notes: Vec<Line> = asked.is_empty().then(default_note).into_iter().collect();
    notes.extend(cost_notes(view.ledger));
    let run_outcomes = rows.iter().map(run_outcome).collect();
    let verdicts = rows.into_iter().flat_map(|row| row.verdicts).collect();
    Report { verdicts, run_outcomes, screen, ..Report::of(SPEC.name, table, notes) }
}

/// Outcome of a run. A denied call does not make it fail; there is a gate for that.
fn run_outcome(row: &Row) -> RunOutcome {
    let line = Line::new(Tone::Bad);
    let failure = match row.outcome {
        Some(Outcome::Error) => Some(line.word("the run failed: ").value(row.failure.clone())),
        Some(Outcome::NoResult) => Some(line.word("no result: killed, or still running")),
        Some(Outcome::Ok | Outcome::Denied | Outcome::Unknown) | None => None,
        Some(Outcome::Interrupted | Outcome::InCall | Outcome::ApiError) => None,
        Some(Outcome::Unanswered | Outcome::Ended) => None,
    };
    // Every row has at least one verdict, and all have the same run and duration.
    let judged = row.verdicts.first();
    let run = judged.and_then(|verdict| verdict.run.clone());
    RunOutcome { run, wall: judged.and_then(|verdict| verdict.wall), failure }
}

fn rows(view: &View<'_>, runs: &Runs) -> Vec<Row> {
    let ledger = view.ledger;
    let (outcomes, shorts) = (outcomes(ledger), shorts(view, runs));
    let row = |(run, short): (&Run, Value)| {
        let session = run.session.and_then(|at| ledger.sessions[at].id.as_deref());
        Row {
            short,
            session: text(session),
            file: file(view.names.get(run.source)).into(),
            source: view.names.get(run.source).into(),
            // A source without records is a run without a result.
            outcome: Some(run.session.map_or(Outcome::NoResult, |at| outcomes[at.get()])),
            ..Row::default()
        }
    };
    let mut rows: Vec<Row> = runs.iter().zip(shorts).map(row).collect();
    let mut calls: Vec<Vec<&Call>> = vec![Vec::new(); rows.len()];
    for call in &ledger.calls {
        if let Some(run) = runs.of_context(&call.context) {
            calls[run].push(call);
        }
    }
    for ((row, calls), turns) in rows.iter_mut().zip(calls).zip(turn_counts(view, runs)) {
        row.calls = ToolCount::of(calls.into_iter());
        row.num_turns = turns;
    }
    for turn in ledger.turns.iter().filter(|turn| turn.counted) {
        if let Some(run) = runs.of_context(&turn.context) {
            rows[run].turns += 1;
            if !turn.ok {
                rows[run].failure = failure(turn).into();
            }
        }
    }
    for charge in &ledger.charges {
        if let Some(run) = runs.of_context(&charge.context) {
            add(&mut rows[run].cost, charge.cost);
        }
    }
    rows
}

/// The file name of a path.
fn file(source: &str) -> &str {
    source.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(source)
}

/// The short form of each run's id.
fn shorts(view: &View<'_>, runs: &Runs) -> Vec<Value> {
    let id = |run: &Run| run.session.and_then(|at| view.ledger.sessions[at].id.as_deref());
    let mut sorted: Vec<&str> = runs.iter().filter_map(id).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let short = |run: &Run| id(run).and_then(|id| short_id(id, &sorted)).into();
    runs.iter().map(short).collect()
}

/// The number of passed and failed runs.
fn verdict(rows: &[Row]) -> Line {
    let (all, failed) = (rows.len() as u64, rows.iter().filter(|row| !row.failed.is_empty()).count() as u64);
    let line = Line::new(if failed == 0 { Tone::Good } else { Tone::Bad });
    let line = line.count(all, " run: ", " runs: ");
    line.value(all - failed).word(" passed, ").value(failed).word(" failed")
}

/// Note about the default gates.
fn default_note() -> Line {
    let mut line = Line::new(Tone::Plain).word("no gate was given, so the default gates apply: ");
    for (at, gate) in Gate::DEFAULT.iter().enumerate() {
        line = line.word(if at == 0 { "" } else { ", " }).word(gate.name());
    }
    line.word("; see ccstat help check for others")
}
