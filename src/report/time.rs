//! Wall time, divided into what happened: the model, tools, hooks, people, retries, and what the log does not explain.

mod activity;
mod part;
mod sweep;

use std::cmp::Reverse;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Section, Shown, Table, Tone, Unit, Value,
    View,
    column::columns,
    heads,
    sum::{ratio, text},
    trace::Traces,
};
use crate::{
    facts::{
        Detail, Hashed,
        ledger::{Context, Exchanges, MomentKind, Session, SessionIndex, Turn},
        trace::hook::{Hook, hooks},
    },
    measure::{Millis, Time, add},
};
use activity::{Activities, Facts};
use part::{Division, Part, PartSet};
use sweep::{Divided, divide};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::CALLS
        .and(Detail::RESPONSES)
        .and(Detail::AGENTS)
        .and(Detail::EVENTS)
        .and(Detail::TIMING)
        .and(Detail::HOOKS)
        .and(Detail::DECISIONS),
    content: Detail::TITLES.and(Detail::EXCERPTS),
    make: Some(|view| time(view, TimeBy::Session)),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show where wall time went: model, tools, hooks, waiting, retries",
        details: "Each moment from the first to the last record of a session counts once, so the parts add up to the wall time. If \
            several things happen at once, the first of these gets the time: compaction, writing, hooks, tools, the wait for \
            the first token, retries, the wait for a person, the CLI itself, the call that started a subagent. Time in \
            which no prompt was worked on is idle. Parts that the log only implies are listed as estimated. Without times in \
            the log, parts are unknown.",
        examples: &[
            ("Why yesterday's sessions took so long", "ccstat time --since yesterday"),
            (
                "The prompts that waited longest for a person",
                "ccstat time --by prompt --sort waiting_ms --limit 10",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("time", "Wall time of sessions or prompts, and its parts without overlap.", || {
        heads(&columns(None))
    })
};

/// `time --by prompt`, which shows the texts of prompts.
#[cfg(feature = "cli")]
pub(crate) const BY_PROMPT: ReportSpec = ReportSpec { content: Detail::EXCERPTS, ..SPEC };

names! {
    /// Grouping of wall time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
    pub enum TimeBy {
        /// Sessions
        Session = "session",
        /// Prompts with the work that they started, or turns of printed runs
        Prompt = "prompt",
        /// Working directories of sessions
        Project = "project",
    }
}

impl TimeBy {
    /// Whether rows of this kind have a column.
    fn has(self, key: &str) -> bool {
        match key {
            "started" | "session" | "ttft_ms" => self != Self::Project,
            "title" => self == Self::Session,
            "number" | "prompt" => self == Self::Prompt,
            "sessions" => self == Self::Project,
            _ => true,
        }
    }
}

#[derive(Clone, Default)]
struct Row {
    started: Option<Time>,
    session: Value,
    title: Value,
    prompt: Value,
    project: Value,
    number: Option<u64>,
    sessions: u64,
    /// Wall time, also if its parts are unknown.
    wall: Option<Millis>,
    division: Option<Division>,
    api: Option<Millis>,
    first_token: Option<Millis>,
}

impl Row {
    fn part(&self, part: Part) -> Option<Millis> {
        self.division.map(|division| division.part(part))
    }

    fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        add(&mut self.wall, other.wall);
        add(&mut self.api, other.api);
        if let Some(division) = &other.division {
            self.division.get_or_insert_default().add(division);
        }
    }

    /// Makes the parts of several rows add up: nothing explains the wall time of rows without parts.
    fn complete(&mut self) {
        if let (Some(division), Some(wall)) = (&mut self.division, self.wall) {
            let rest = wall.saturating_sub(division.wall());
            division.add_time(Part::Unexplained, rest.micros() / 1000, false);
            self.wall = Some(division.wall());
        }
    }
}

/// The columns of a report by `by`; all columns if it is not given.
fn columns(by: Option<TimeBy>) -> Vec<Column<Row>> {
    let all = columns! { |row: Row|
        time started "Started" "Time of the first record; of the prompt if grouped by prompt." => row.started;
        text session "Session" "Session id." => &row.session;
        count number "No." [nullable, no_sum] "Number of the prompt or turn in its session, starting at 1." => row.number;
        text title "Title" [content] "Title of the session, or a prompt if it has none." => &row.title;
        text prompt "Prompt" [content] "First line of the prompt." => &row.prompt;
        text project "Project" [wide] "Working directory of the session." => &row.project;
        count sessions "Sessions" "Number of sessions." => row.sessions;
        millis span_ms "Wall" [nullable] "Wall time: from the first to the last record; without times, as the results report it."
            => row.wall;
        ..part_columns();
        millis parallel_saved_ms "Saved" [nullable, wide]
            "Time that calls saved by running at the same time: the sum of their durations minus the time they took together."
            => row.division.map(|division| division.parallel());
        list estimated "Estimated" [nullable, wide] "Parts with times that the log only implies."
            => row.division.map_or(Value::Missing, |division| division.estimated.names());
        flag has_estimates "Estimates" [nullable, data] "Whether there are such parts."
            => row.division.map(|division| division.estimated != PartSet::default());
        millis ttft_ms "TTFT" [nullable, no_sum, data]
            "Time from the first request to its first token: by the record of the request, else as the result reports it."
            => row.first_token;
        millis api_ms "API" [nullable, data] "Time spent in the API, as the results report it; requests at the same time add up."
            => row.api;
    };
    let Some(by) = by else {
        let is_common = |key: &str| TimeBy::ALL.into_iter().all(|by| by.has(key));
        return all
            .into_iter()
            .map(|one| if is_common(one.head.key) { one } else { one.optional() })
            .collect();
    };
    all.into_iter().filter(|column| by.has(column.head.key)).collect()
}

/// The parts, which add up to the wall time.
fn part_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        millis first_token_ms "First token" [nullable] "Model, until the first token: from the request to the first line of its response."
            => row.part(Part::FirstToken);
        millis writing_ms "Writing" [nullable, wide] "Model, writing: from the first to the last line of a response."
            => row.part(Part::Writing);
        millis tools_ms "Tools" [nullable] "Tools ran; calls at the same time count once." => row.part(Part::Tools);
        millis hooks_ms "Hooks" [nullable, wide] "Hooks ran." => row.part(Part::Hooks);
        millis waiting_ms "Waiting" [nullable] "A person was asked: for approval, or a question." => row.part(Part::Waiting);
        millis retries_ms "Retries" [nullable, wide] "Failed requests, and the delays before they were repeated."
            => row.part(Part::Retries);
        millis compaction_ms "Compaction" [nullable, wide] "The conversation was summarised." => row.part(Part::Compaction);
        millis cli_ms "CLI" [nullable, wide]
            "The CLI itself: from a prompt or result to the next request, and calls that settings denied."
            => row.part(Part::Cli);
        millis idle_ms "Idle" [nullable] "No prompt was worked on: after the last step of a prompt, until the next one."
            => row.part(Part::Idle);
        millis unexplained_ms "Unexplained" [nullable] "A prompt was worked on, but the log does not say how."
            => row.part(Part::Unexplained);
    }
}

/// Wall time and its parts, one row per session, prompt or project.
pub fn time(view: &View<'_>, by: TimeBy) -> Report {
    let mut all = Vec::new();
    let mut notes = Notes::default();
    let traces = Traces::of_times(view.ledger, view.names);
    let (hooks, titles) = (hooks(view.ledger), view.titles());
    for (session, facts) in SessionIndex::each(&view.ledger.sessions).zip(facts(view, &hooks)) {
        let maker = SessionRows::of(view, &traces, session, &facts);
        notes.add(&maker);
        all.extend(maker.rows(by, &titles));
    }
    let mut total = Row::default();
    all.iter().for_each(|row| total.add(row));
    total.complete();
    let rows = if by == TimeBy::Project { by_project(all) } else { sorted(all) };
    let mut columns = columns(Some(by));
    // People do not need columns of zeros.
    for column in columns.iter_mut().filter(|column| column.head.unit == Unit::Millis) {
        if (column.value)(&total) == Value::Millis(Millis::ZERO) {
            column.head.shown = Shown::Data;
        }
    }
    let table = Table::of("Time", &columns, &rows).with_total(&columns, &total).on_screen(30);
    let mut report = Report::of(SPEC.name, table, notes.lines(&total));
    if let Some(division) = &total.division {
        report.screen.insert(0, Section::Table(breakdown(division)));
    }
    report
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.started.is_none(), Reverse((row.started, row.number))));
    rows
}

/// One row per project, the longest first.
fn by_project(all: Vec<Row>) -> Vec<Row> {
    let mut places: Hashed<Option<String>, usize> = Hashed::default();
    let mut rows: Vec<Row> = Vec::new();
    for row in all {
        let name = match &row.project {
            Value::Text(name) => Some(name.to_string()),
            _ => None,
        };
        let at = *places.entry(name).or_insert_with(|| {
            rows.push(Row { project: row.project.clone(), ..Row::default() });
            rows.len() - 1
        });
        rows[at].add(&row);
    }
    rows.iter_mut().for_each(Row::complete);
    rows.sort_by_key(|row| Reverse(row.wall));
    rows
}

/// A part of all wall time, for people.
struct PartRow {
    part: Part,
    time: Millis,
    wall: Millis,
    is_estimated: bool,
}

impl PartRow {
    fn share(&self) -> Option<f64> {
        ratio(self.time.micros().unsigned_abs(), self.wall.micros().unsigned_abs())
    }
}

/// The parts of all wall time, one per row.
fn breakdown(division: &Division) -> Table {
    let wall = division.wall();
    let row = |part: Part| PartRow {
        part,
        time: division.part(part),
        wall,
        is_estimated: division.estimated.contains(part),
    };
    let rows: Vec<PartRow> = Part::ALL
        .into_iter()
        .map(row)
        .filter(|row| row.time > Millis::ZERO || row.part == Part::Unexplained)
        .collect();
    let columns = columns! { |row: PartRow|
        text part "Part" "What happened." => row.part.title();
        millis time "Time" "Wall time." => row.time;
        share share "Share" [nullable] "Share of the wall time." => row.share();
        bar bar "" [nullable, screen] "Share of the wall time."
            => row.share().filter(|share| *share > 0.0).map_or(Value::from(""), |share| Value::Bar(0.0, share));
        text estimated "" [screen] "Whether the log only implies some of it."
            => if row.is_estimated { "estimated" } else { "" };
    };
    Table::of("Wall time by part", &columns, rows)
}

/// Counts for notes.
#[derive(Default)]
struct Notes {
    undivided: u64,
    untimed: u64,
}

impl Notes {
    fn add(&mut self, session: &SessionRows<'_, '_>) {
        match &session.divided {
            Some((activities, _)) => self.undivided += activities.undivided,
            None => self.untimed += 1,
        }
    }

    fn lines(&self, total: &Row) -> Vec<Line> {
        let mut lines = Vec::new();
        let estimated = total.division.map_or(Value::Missing, |division| division.estimated.names());
        if matches!(&estimated, Value::List(names) if !names.is_empty()) {
            let line =
                Line::new(Tone::Plain).word("estimated, since the log only implies some of their times: ");
            lines.push(line.value(estimated));
        }
        if self.undivided > 0 {
            let line = Line::new(Tone::Plain).count(
                self.undivided,
                " call that a person approved does",
                " calls that people approved do",
            );
            lines.push(line.word(" not say how long the tool ran: this time is unexplained"));
        }
        if self.untimed > 0 {
            let line = Line::new(Tone::Plain).count(self.untimed, " session lacks", " sessions lack");
            lines.push(line.word(" times, so the parts are unknown: nothing explains this time in sums"));
        }
        lines
    }
}

/// Collects what the activities of each session need besides its trace.
fn facts<'l>(view: &View<'l>, hooks: &'l [Hook]) -> Vec<Facts<'l>> {
    let ledger = view.ledger;
    let mut all: Vec<Facts<'l>> = ledger.sessions.iter().map(|_| Facts::default()).collect();
    for hook in hooks {
        if let Some(session) = hook.context.session {
            all[session.get()].hooks.push(hook);
        }
    }
    let mut note = |context: &Context, note: fn(&mut Facts<'l>, Time)| {
        if let Some((session, time)) = context.session.zip(context.time) {
            note(&mut all[session.get()], time);
        }
    };
    for moment in ledger.moments.iter().filter(|moment| moment.kind == MomentKind::Dequeue) {
        note(&moment.context, |facts, time| facts.dequeued.push(time));
    }
    ledger.interruptions.iter().for_each(|context| note(context, |facts, time| facts.ends.push(time)));
    for turn in &ledger.interactive_turns {
        note(&turn.context, |facts, time| facts.ends.push(time));
    }
    let untimed =
        ledger.responses.iter().map(|one| &one.context).chain(ledger.calls.iter().map(|one| &one.context));
    for session in untimed.filter(|context| context.time.is_none()).filter_map(|context| context.session) {
        all[session.get()].is_untimed = true;
    }
    for (at, number, turn) in turns(view) {
        let facts = &mut all[at.get()];
        facts.turns.entry(number).or_default().push(turn);
    }
    all
}

/// The turns that count, each with its session and the number of its prompt there.
fn turns<'l>(view: &View<'l>) -> Vec<(SessionIndex, Option<u64>, &'l Turn)> {
    let exchanges = Exchanges::of(view.ledger);
    let turns = view.ledger.turns.iter().filter(|turn| turn.counted);
    let number = |turn: &Turn| Some(view.ledger.exchanges[exchanges.find(&turn.context)?].number);
    turns.filter_map(|turn| Some((turn.context.session?, number(turn), turn))).collect()
}

/// Makes the rows of one session.
struct SessionRows<'v, 'l> {
    view: &'v View<'l>,
    at: SessionIndex,
    session: &'l Session,
    facts: &'v Facts<'l>,
    divided: Option<(Activities, Divided)>,
}

impl<'v, 'l> SessionRows<'v, 'l> {
    fn of(
        view: &'v View<'l>,
        traces: &Traces<'l>,
        (at, session): (SessionIndex, &'l Session),
        facts: &'v Facts<'l>,
    ) -> Self {
        let trace = (!facts.is_untimed).then(|| traces.session(at));
        let activities = trace.and_then(|trace| Activities::of(&trace, session, facts));
        let divided = activities.map(|activities| {
            let stretches: Vec<_> = activities.stretches.iter().map(|&(_, stretch)| stretch).collect();
            let divided = divide(activities.first, activities.last, &activities.all, &stretches);
            (activities, divided)
        });
        Self { view, at, session, facts, divided }
    }

    fn rows(&self, by: TimeBy, titles: &[Value]) -> Vec<Row> {
        match by {
            TimeBy::Session | TimeBy::Project => self.row(titles).into_iter().collect(),
            TimeBy::Prompt => self.prompts(),
        }
    }

    fn blank(&self) -> Row {
        Row {
            session: text(self.session.id.as_ref()),
            project: text(self.session.project.as_ref()),
            ..Row::default()
        }
    }

    /// The row of the session, unless there is nothing to say about it.
    fn row(&self, titles: &[Value]) -> Option<Row> {
        let title = titles[self.at.get()].clone();
        let mut row = Row { started: self.session.started, title, sessions: 1, ..self.blank() };
        self.facts.turns.keys().for_each(|&number| self.add_turns(&mut row, number));
        if let Some((activities, divided)) = &self.divided {
            (row.wall, row.division) = (Some(divided.all.wall()), Some(divided.all));
            row.first_token = activities.first_tokens.iter().min().map(|(_, &took)| took);
        }
        (self.session.id.is_some() || row.wall.is_some()).then_some(row)
    }

    /// Adds what the results of a prompt report; for `None`, of no prompt.
    fn add_turns(&self, row: &mut Row, number: Option<u64>) {
        for turn in self.facts.turns.get(&number).into_iter().flatten() {
            add(&mut row.wall, turn.wall);
            add(&mut row.api, turn.api);
        }
    }

    /// One row per prompt or turn, and one for the rest of the session.
    fn prompts(&self) -> Vec<Row> {
        let ledger = self.view.ledger;
        // Exchanges are sorted by session.
        let first = ledger.exchanges.partition_point(|one| one.session < Some(self.at));
        let own = ledger.exchanges[first..].iter().take_while(|one| one.session == Some(self.at));
        let mut rows: Vec<Row> = Vec::new();
        for exchange in own {
            let prompt = exchange.prompt.and_then(|at| ledger.prompts[at].text.as_ref());
            let mut row = Row {
                started: exchange.started,
                number: Some(exchange.number),
                prompt: text(prompt),
                ..self.blank()
            };
            self.add_turns(&mut row, Some(exchange.number));
            rows.push(row);
        }
        let mut rest = self.blank();
        self.add_turns(&mut rest, None);
        if let Some((activities, divided)) = &self.divided {
            let mut by_number: Hashed<u64, Division> = Hashed::default();
            rest.division = Some(divided.rest);
            for ((number, _), division) in activities.stretches.iter().zip(&divided.stretches) {
                match number {
                    Some(number) => by_number.entry(*number).or_default().add(division),
                    None => rest.division.get_or_insert_default().add(division),
                }
            }
            for row in &mut rows {
                row.division = row.number.and_then(|number| by_number.remove(&number));
                row.wall = row.division.map(|division| division.wall());
                row.first_token = row.number.and_then(|number| activities.first_tokens.get(&number)).copied();
            }
            rest.wall = rest.division.map(|division| division.wall());
        }
        rows.retain(|row| row.wall.is_some());
        rows.extend(Some(rest).filter(|rest| rest.wall.is_some_and(|wall| wall > Millis::ZERO)));
        rows
    }
}
