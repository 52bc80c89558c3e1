//! Figures of each run, by which two sides are compared.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use crate::{
    facts::ledger::{Context, End, Ledger, Session},
    input::SourceId,
    measure::{Millis, Time, Tokens, Usd, add},
    report::{Value, View},
};

names! {
    /// Group of a figure, in the order of the report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Group {
        Cost = "cost",
        ProjectCost = "project-cost",
        ModelCost = "model-cost",
        ToolCost = "tool-cost",
        Tokens = "tokens",
        ModelTokens = "model-tokens",
        Duration = "duration",
        Turns = "turns",
        Calls = "calls",
        ToolErrors = "tool-errors",
        Denials = "denials",
        Errors = "errors",
        Kinds = "kinds",
    }
}

impl Group {
    pub(super) fn measure(self) -> Measure {
        match self {
            Self::Cost | Self::ProjectCost | Self::ModelCost | Self::ToolCost => Measure::Usd,
            Self::Duration => Measure::Millis,
            Self::Tokens | Self::ModelTokens | Self::Turns | Self::Calls => Measure::Count,
            Self::ToolErrors | Self::Denials | Self::Errors | Self::Kinds => Measure::Count,
        }
    }
}

names! {
    /// Unit of a figure. Figures are whole numbers of the smallest unit, so equal figures have a difference
    /// of exactly 0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Measure {
        Usd = "usd",
        Millis = "ms",
        Count = "count",
    }
}

impl Measure {
    /// Converts a figure to a value with its unit.
    pub(super) fn value(self, figure: f64) -> Value {
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
        match self {
            Self::Usd => Value::Usd(Usd::from_nanos(figure.round() as i128)),
            Self::Millis => Value::Millis(Millis::from_f64(figure)),
            Self::Count => Value::Number(figure),
        }
    }
}

/// Name of a figure that covers the whole group.
pub(super) const ALL: &str = "all";

/// Group, name and value of a figure.
type Metric = (Group, &'static str, fn(&Run) -> Option<f64>);

/// Figures of every run. Gates use the first of a group.
pub(super) const METRICS: &[Metric] = &[
    (Group::Cost, ALL, |run| run.cost.map(nanos)),
    (Group::Tokens, ALL, |run| {
        let Tokens { output, .. } = run.tokens;
        Some(count(run.tokens.prompt().saturating_add(output)))
    }),
    (Group::Tokens, "input", |run| Some(count(run.tokens.input))),
    (Group::Tokens, "output", |run| Some(count(run.tokens.output))),
    (Group::Tokens, "cache_read", |run| Some(count(run.tokens.cache_read))),
    (Group::Tokens, "cache_write_5m", |run| Some(count(run.tokens.cache_write_5m))),
    (Group::Tokens, "cache_write_1h", |run| Some(count(run.tokens.cache_write_1h))),
    (Group::Duration, "wall", |run| run.wall.map(Millis::as_f64)),
    (Group::Duration, "api", |run| run.api.map(Millis::as_f64)),
    (Group::Duration, "tool", |run| run.tool.map(Millis::as_f64)),
    (Group::Duration, "span", |run| run.span.map(|(first, last)| last.since(first).as_f64())),
    (Group::Turns, ALL, |run| Some(count(run.turns))),
    (Group::Turns, "num_turns", |run| Some(count(run.num_turns))),
    (Group::Turns, "prompts", |run| Some(count(run.prompts))),
    (Group::Turns, "responses", |run| Some(count(run.responses))),
    (Group::Calls, ALL, |run| Some(run.sum(Group::Calls))),
    (Group::ToolErrors, ALL, |run| Some(run.sum(Group::ToolErrors))),
    (Group::Denials, ALL, |run| Some(run.sum(Group::Denials))),
    (Group::Errors, "turns", |run| Some(count(run.failed_turns))),
    (Group::Errors, "api", |run| Some(count(run.api_errors))),
    (Group::Errors, "api_retries", |run| Some(count(run.api_retries))),
];

#[expect(clippy::cast_precision_loss, reason = "exact up to 9 million dollars")]
fn nanos(amount: Usd) -> f64 {
    amount.nanos() as f64
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn count(count: u64) -> f64 {
    count as f64
}

/// One run: a session, or a source without a session id.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) cost: Option<Usd>,
    /// Whether its cost is complete.
    pub(super) complete: bool,
    /// Whether its token counts are final.
    pub(super) counted: bool,
    tokens: Tokens,
    wall: Option<Millis>,
    api: Option<Millis>,
    tool: Option<Millis>,
    /// Times of its first and last record.
    span: Option<(Time, Time)>,
    turns: u64,
    num_turns: u64,
    prompts: u64,
    responses: u64,
    failed_turns: u64,
    api_errors: u64,
    api_retries: u64,
    /// Figures by name. An absent name is zero; a name without a figure is unknown.
    named: BTreeMap<(Group, String), Option<f64>>,
}

impl Run {
    /// Names that occur in the run.
    pub(super) fn names(&self) -> impl Iterator<Item = &(Group, String)> {
        self.named.keys()
    }

    /// The figure of a name; zero if the name does not occur.
    pub(super) fn named(&self, key: &(Group, String)) -> Option<f64> {
        self.named.get(key).copied().unwrap_or(Some(0.0))
    }

    fn sum(&self, group: Group) -> f64 {
        self.named.iter().filter(|((of, _), _)| *of == group).filter_map(|(_, figure)| *figure).sum()
    }

    fn add(&mut self, group: Group, name: &str, figure: Option<f64>) {
        let sum = self.named.entry((group, name.to_owned())).or_default();
        if let Some(figure) = figure {
            *sum.get_or_insert_default() += figure;
        }
    }

    /// Takes over whether the figures of a session are complete.
    fn complete_if(&mut self, session: &Session) {
        self.complete &= session.complete;
        // A model without a price makes a cost incomplete, not the tokens.
        self.counted &= session.complete || !session.unpriced.is_empty();
    }

    fn extend_span(&mut self, time: Option<Time>) {
        if let Some(time) = time {
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((first.min(time), last.max(time)));
        }
    }
}

/// Maps rows of a ledger to runs.
struct RunNumbers {
    of_session: Vec<usize>,
    /// Number of runs with a session. Rows without a session form one more.
    sessions: usize,
}

impl RunNumbers {
    /// Records without a session id belong to the first session of their source; they are a run only if the
    /// source has no session id at all.
    fn of(ledger: &Ledger) -> Self {
        let mut named: HashMap<SourceId, usize> = HashMap::new();
        for (at, session) in ledger.sessions.iter().enumerate().filter(|(_, one)| one.id.is_some()) {
            named.entry(session.source).or_insert(at);
        }
        let owner = |(at, session): (usize, &Session)| match &session.id {
            Some(_) => at,
            None => named.get(&session.source).copied().unwrap_or(at),
        };
        let owners: Vec<usize> = ledger.sessions.iter().enumerate().map(owner).collect();
        let mut numbers = vec![0; owners.len()];
        let mut sessions = 0;
        for (at, _) in owners.iter().enumerate().filter(|&(at, &owner)| at == owner) {
            numbers[at] = sessions;
            sessions += 1;
        }
        Self { of_session: owners.iter().map(|&owner| numbers[owner]).collect(), sessions }
    }

    fn get(&self, context: &Context) -> usize {
        context.session.map_or(self.sessions, |session| self.of_session[session.get()])
    }
}

/// Computes the runs of a ledger.
pub(super) fn runs(ledger: &Ledger) -> Vec<Run> {
    let numbers = RunNumbers::of(ledger);
    let has_rows_without_session = ledger.contexts().any(|context| context.session.is_none());
    let count = numbers.sessions + usize::from(has_rows_without_session);
    let mut runs = vec![Run { complete: true, counted: true, ..Run::default() }; count];
    for (session, &number) in ledger.sessions.iter().zip(&numbers.of_session) {
        runs[number].complete_if(session);
    }
    take_rows(ledger, &mut runs, &mut |context| Some(numbers.get(context)));
    runs
}

/// Computes the days of a period, each as a run. A day without a charge cost nothing.
pub(super) fn days(view: &View<'_>, period: &Range<Time>) -> Vec<Run> {
    let names = view.zone.days(period);
    let idle = Run { complete: true, counted: true, cost: Some(Usd::ZERO), ..Run::default() };
    let mut runs = vec![idle; names.len()];
    let (Some(first), ledger) = (runs.first_mut(), view.ledger) else { return runs };
    ledger.sessions.iter().for_each(|session| first.complete_if(session));
    let numbers: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (&**name, at)).collect();
    let mut last: (Range<Time>, Option<usize>) = (period.start..period.start, None);
    let mut number = |context: &Context| {
        let time = context.time.filter(|time| period.contains(time))?;
        // Rows of one day follow each other, and finding the day of a time is slow.
        if !last.0.contains(&time) {
            let day = view.zone.day(time);
            last = (view.zone.same_day(time), day.and_then(|day| numbers.get(&*day).copied()));
        }
        last.1
    };
    for charge in &ledger.charges {
        let Some(at) = number(&charge.context) else { continue };
        runs[at].cost = None; // as far as its charges are known
        let project = view.session(&charge.context).and_then(|session| session.project.as_deref());
        let cost = charge.cost.map(nanos);
        runs[at].add(Group::ProjectCost, project.unwrap_or("(no project)"), cost);
        runs[at].add(Group::ToolCost, charge.tool.as_deref().unwrap_or("(no tool)"), cost);
    }
    take_rows(ledger, &mut runs, &mut number);
    runs
}

/// Adds the rows of a ledger to the runs that `number` returns.
fn take_rows(ledger: &Ledger, runs: &mut [Run], number: &mut dyn FnMut(&Context) -> Option<usize>) {
    for charge in &ledger.charges {
        let Some(at) = number(&charge.context) else { continue };
        let run = &mut runs[at];
        add(&mut run.cost, charge.cost);
        if let Some(model) = charge.model.as_deref().filter(|_| charge.known) {
            run.tokens += charge.tokens;
            let tokens = self::count(charge.tokens.prompt().saturating_add(charge.tokens.output));
            run.add(Group::ModelTokens, model, Some(tokens));
            run.add(Group::ModelCost, model, charge.cost.map(nanos));
        }
    }
    for call in &ledger.calls {
        let Some(at) = number(&call.context) else { continue };
        let run = &mut runs[at];
        add(&mut run.tool, call.latency);
        run.add(Group::Calls, &call.tool, Some(1.0));
        if call.end == End::Error {
            run.add(Group::ToolErrors, &call.tool, Some(1.0));
        }
    }
    for turn in &ledger.turns {
        let Some(at) = number(&turn.context) else { continue };
        let run = &mut runs[at];
        add(&mut run.wall, turn.wall);
        add(&mut run.api, turn.api);
        if turn.counted {
            run.turns += 1;
            run.num_turns = run.num_turns.saturating_add(turn.num_turns);
            run.failed_turns += u64::from(!turn.ok);
        }
    }
    take_single_rows(ledger, runs, number);
}

/// Counts rows that need no further computation.
fn take_single_rows(ledger: &Ledger, runs: &mut [Run], number: &mut dyn FnMut(&Context) -> Option<usize>) {
    let mut each = |context: &Context, take: &mut dyn FnMut(&mut Run)| {
        if let Some(at) = number(context) {
            take(&mut runs[at]);
        }
    };
    for turn in &ledger.interactive_turns {
        each(&turn.context, &mut |run| add(&mut run.wall, turn.wall));
    }
    ledger.prompts.iter().for_each(|prompt| each(&prompt.context, &mut |run| run.prompts += 1));
    ledger.responses.iter().for_each(|one| each(&one.context, &mut |run| run.responses += 1));
    for denial in &ledger.denials {
        each(&denial.context, &mut |run| run.add(Group::Denials, &denial.tool, Some(1.0)));
    }
    for failure in &ledger.api_failures {
        each(&failure.context, &mut |run| {
            *(if failure.retried { &mut run.api_retries } else { &mut run.api_errors }) += 1;
        });
    }
    for record in &ledger.records {
        each(&record.context, &mut |run| {
            run.extend_span(record.context.time);
            run.add(Group::Kinds, &record.kind, Some(1.0));
        });
    }
}
