//! The activities of one session, from its trace: the trace says when requests, calls and prompts began and ended.

use super::sweep::{Activity, Rank, Stretch};
use crate::{
    facts::{
        AGENT_TOOLS, Hashed,
        ledger::{End, Session, Turn},
        trace::{hook::Hook, question::QUESTION_TOOL},
    },
    measure::{Millis, Time},
    report::trace::{Mark, MarkKind, Request, SessionTrace, Span, SpanBody, SpanId, Tool, TraceId, Waiting},
};

/// Tools that take no noticeable time themselves: if a person was asked, the call is the wait for the answer.
const QUICK_TOOLS: [&str; 6] =
    ["Edit", "ExitPlanMode", "EnterPlanMode", "MultiEdit", "NotebookEdit", "Write"];

/// Whole milliseconds since 1970.
fn millis(time: Time) -> i64 {
    time.micros().div_euclid(1000)
}

fn before(time: Time, took: Millis) -> Time {
    Time::from_micros(time.micros().saturating_sub(took.micros().max(0)))
}

/// Facts of a session besides its trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts<'l> {
    pub(super) hooks: Vec<&'l Hook>,
    /// When the CLI took messages from its queue.
    pub(super) dequeued: Vec<Time>,
    /// Records that end the work on a prompt: interruptions and durations of turns.
    pub(super) ends: Vec<Time>,
    /// The turns of each prompt, by its number in the session.
    pub(super) turns: Hashed<Option<u64>, Vec<&'l Turn>>,
    /// Whether a response or call has no time.
    pub(super) is_untimed: bool,
}

/// When a session did what.
#[derive(Clone, Debug)]
pub(super) struct Activities {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) all: Vec<Activity>,
    /// The stretches of prompts, each with the number of its prompt. A prompt has another stretch for each message that
    /// the CLI took from its queue meanwhile.
    pub(super) stretches: Vec<(Option<u64>, Stretch)>,
    /// Time from the first request of a prompt to its first token.
    pub(super) first_tokens: Hashed<u64, Millis>,
    /// Calls that a person approved and that do not say how long they ran.
    pub(super) undivided: u64,
}

impl Activities {
    /// Returns `None` if no record of the session has a time.
    pub(super) fn of(trace: &SessionTrace, session: &Session, facts: &Facts<'_>) -> Option<Self> {
        let (first, last) = (session.times.first()?.time, session.times.last()?.time);
        let mut builder = Builder::of(trace, facts);
        trace.spans.iter().for_each(|span| builder.span(span));
        builder.hooks();
        builder.preparations();
        builder.arrivals();
        // A printed run has no record of its prompt, but its result says how long it took.
        let starts = builder.prompts.iter().filter(|prompt| !prompt.is_recorded);
        let first = starts.map(|prompt| prompt.start).min().map_or(first, |start| first.min(start));
        let stretches = builder.stretches(session, millis(last));
        let Builder { all, first_tokens, undivided, .. } = builder;
        Some(Self { first: millis(first), last: millis(last), all, stretches, first_tokens, undivided })
    }
}

/// When the work on a prompt began.
struct Prompt {
    start: Time,
    number: u64,
    /// Whether the log has a record of it.
    is_recorded: bool,
}

struct Builder<'t> {
    trace: &'t SessionTrace,
    facts: &'t Facts<'t>,
    prompts: Vec<Prompt>,
    /// Numbers of the prompts, by their traces.
    numbers: Hashed<TraceId, u64>,
    /// Start of each call, by its span and by that of its execution.
    calls: Hashed<SpanId, Time>,
    /// Start of the execution, by the span of the call.
    executions: Hashed<SpanId, Time>,
    /// Whether the log says who decided about calls.
    has_decisions: bool,
    /// Ends of steps and starts of prompts, for each agent.
    steps: Hashed<usize, Vec<Time>>,
    /// Start of each request that the log has a record of, and of the call that started its agent.
    sent: Vec<(usize, Time, Option<Time>)>,
    all: Vec<Activity>,
    first_tokens: Hashed<u64, Millis>,
    undivided: u64,
}

impl<'t> Builder<'t> {
    fn of(trace: &'t SessionTrace, facts: &'t Facts<'t>) -> Self {
        let mut builder = Self {
            trace,
            facts,
            prompts: Vec::new(),
            numbers: Hashed::default(),
            calls: Hashed::default(),
            executions: Hashed::default(),
            has_decisions: false,
            steps: Hashed::default(),
            sent: Vec::new(),
            all: Vec::with_capacity(trace.spans.len() * 2),
            first_tokens: Hashed::default(),
            undivided: 0,
        };
        for span in &trace.spans {
            builder.note(span);
        }
        let starts = builder.prompts.iter().map(|prompt| prompt.start);
        builder.steps.entry(0).or_default().extend(starts.chain(facts.dequeued.iter().copied()));
        builder
    }

    /// Notes what other spans need.
    fn note(&mut self, span: &Span) {
        match &span.body {
            SpanBody::Interaction(interaction) => {
                if let Some(number) = interaction.exchange {
                    let is_recorded = !span.estimated.start;
                    self.prompts.push(Prompt { start: span.start, number, is_recorded });
                    self.numbers.insert(span.trace, number);
                }
            }
            SpanBody::Tool(tool) => {
                self.calls.insert(span.id, span.start);
                self.has_decisions |= tool.decision.source.is_some();
                self.steps.entry(span.agent).or_default().push(span.end);
            }
            SpanBody::Execution(_) => {
                let Some(call) = span.parent else { return };
                self.executions.insert(call, span.start);
                let start = self.calls.get(&call).copied().unwrap_or(span.start);
                self.calls.insert(span.id, start);
            }
            SpanBody::Request(_) => self.steps.entry(span.agent).or_default().push(span.end),
            SpanBody::Waiting(_) => {}
        }
    }

    fn add(&mut self, rank: Rank, agent: usize, start: Time, end: Time, is_estimated: bool) {
        let (start, end) = (millis(start), millis(end));
        if start < end {
            self.all.push(Activity { rank, start, end, agent, is_estimated });
        }
    }

    fn span(&mut self, span: &Span) {
        match &span.body {
            SpanBody::Request(request) if request.compacts => {
                // The record of a compaction says how long it took.
                self.add(Rank::Compaction, span.agent, span.start, span.end, false);
                self.sent.push((span.agent, span.start, None));
            }
            SpanBody::Request(request) => self.request(span, request),
            SpanBody::Tool(tool) => self.call(span, tool),
            SpanBody::Interaction(_) | SpanBody::Waiting(_) | SpanBody::Execution(_) => {}
        }
    }

    fn request(&mut self, span: &Span, request: &Request) {
        let (agent, is_implied) = (span.agent, span.estimated.start);
        let call = span.parent.and_then(|parent| self.calls.get(&parent)).copied();
        let Some(token) = request.first_line else {
            if !is_implied {
                self.sent.push((agent, span.start, call));
            }
            return self.add(Rank::Retry, agent, span.start, span.end, is_implied);
        };
        let attempt = request.attempt_times.last().copied();
        let reported = self.reported(span).filter(|_| attempt.is_none());
        let sent = attempt.or(reported.map(|(took, _)| before(token, took)));
        let is_estimated = attempt.is_none() && !reported.is_some_and(|(_, is_exact)| is_exact);
        let start = if is_implied && sent.is_some() { sent } else { Some(span.start) };
        let sent = sent.unwrap_or_else(|| self.after_failures(span, token));
        let start = start.unwrap_or(sent).min(sent);
        self.add(Rank::Retry, agent, start, sent, is_implied);
        self.add(Rank::FirstToken, agent, sent, token, is_estimated);
        self.add(Rank::Writing, agent, token, span.end, false);
        if !is_estimated {
            self.sent.push((agent, start, call));
            if let Some(number) = self.number(span) {
                self.first_tokens.entry(number).or_insert_with(|| token.since(sent));
            }
        }
    }

    /// The number of the prompt that a request of the main agent belongs to.
    fn number(&self, span: &Span) -> Option<u64> {
        self.numbers.get(&span.trace).copied().filter(|_| span.agent == 0)
    }

    /// Time to the first token as the result reports it, if this is the first request of its prompt, and whether it is
    /// counted from the request. A result counts both from the start of the turn.
    fn reported(&self, span: &Span) -> Option<(Millis, bool)> {
        let number = self.number(span)?;
        let turn = self.facts.turns.get(&Some(number))?.first()?;
        let took = turn.first_token?.saturating_sub(turn.time_to_request.unwrap_or_default());
        (!self.first_tokens.contains_key(&number)).then_some((took, turn.time_to_request.is_some()))
    }

    /// When the last attempt began of a request without a record: after the delay that followed the last failure.
    fn after_failures(&self, span: &Span, token: Time) -> Time {
        let marks = &self.trace.marks;
        let from = marks.partition_point(|mark| mark.time < span.start);
        let until = marks.partition_point(|mark| mark.time <= token).max(from);
        let is_own = |mark: &&Mark| mark.kind == MarkKind::Retry && mark.agent == span.agent;
        let last = marks[from..until].iter().rfind(is_own);
        last.map_or(span.start, |mark| mark.time.plus(mark.took.unwrap_or_default()).min(token))
    }

    fn call(&mut self, span: &Span, tool: &Tool) {
        let (agent, start, end) = (span.agent, span.start, span.end);
        let rank = if AGENT_TOOLS.contains(&&*tool.name) { Rank::AgentCall } else { Rank::Tool };
        let decider = Decider::of(&tool.decision, self.has_decisions);
        if tool.outcome == End::Denied.name() {
            let (rank, is_estimated) = match decider {
                Decider::Person => (Rank::Waiting, false),
                Decider::Unknown => (Rank::Waiting, true),
                Decider::Hook => (Rank::Hook, true),
                Decider::Settings => (Rank::Cli, false),
            };
            return self.add(rank, agent, start, end, is_estimated);
        }
        let border = self.executions.get(&span.id).copied();
        match (decider, border) {
            _ if *tool.name == *QUESTION_TOOL && tool.outcome == End::Ok.name() => {
                self.add(Rank::Waiting, agent, start, end, false);
            }
            (Decider::Person | Decider::Unknown, Some(border)) => {
                self.add(Rank::Waiting, agent, start, border, true);
                self.add(rank, agent, border, end, true);
            }
            (Decider::Person, None) if QUICK_TOOLS.contains(&&*tool.name) => {
                self.add(Rank::Waiting, agent, start, end, true);
            }
            // Nobody knows which part of it was the wait.
            (Decider::Person, None) => self.undivided += 1,
            (Decider::Unknown, None) => self.add(rank, agent, start, end, true),
            (Decider::Settings | Decider::Hook, _) => self.add(rank, agent, start, end, false),
        }
    }

    fn hooks(&mut self) {
        for hook in &self.facts.hooks {
            let Some((time, took)) = hook.context.time.zip(hook.took) else { continue };
            let (start, end) = match hook.ended {
                Some(end) => (before(end, took), end),
                None => (time, time.plus(took)),
            };
            self.add(Rank::Hook, 0, start, end, false);
        }
    }

    /// Adds the time from the step before a request to the request.
    fn preparations(&mut self) {
        let mut steps = std::mem::take(&mut self.steps);
        steps.values_mut().for_each(|times| times.sort_unstable());
        for (agent, sent, call) in std::mem::take(&mut self.sent) {
            let times = steps.get(&agent).map_or(&[][..], Vec::as_slice);
            let step = times[..times.partition_point(|&time| time <= sent)].last().copied();
            // The first step of a subagent follows the call that started it.
            if let Some(from) = step.max(call.filter(|&call| call <= sent)) {
                self.add(Rank::Cli, agent, from, sent, false);
            }
        }
        self.steps = steps;
    }

    /// Adds the time from taking a prompt from the queue to its record.
    fn arrivals(&mut self) {
        let starts: Hashed<u64, Time> =
            self.prompts.iter().map(|prompt| (prompt.number, prompt.start)).collect();
        for mark in self.trace.marks.iter().filter(|mark| mark.kind == MarkKind::Prompt) {
            let number = mark.span.and_then(|(trace, _)| self.numbers.get(&trace));
            if let Some(&start) = number.and_then(|number| starts.get(number)) {
                self.add(Rank::Cli, 0, start, mark.time, false);
            }
        }
    }

    /// Returns the stretches of all prompts, sorted and disjoint.
    fn stretches(&self, session: &Session, last: i64) -> Vec<(Option<u64>, Stretch)> {
        let prompts = self.prompts.iter().map(|prompt| (millis(prompt.start), Some(prompt.number)));
        let mut starts: Vec<(i64, Option<u64>)> = prompts.collect();
        let earliest = starts.iter().map(|&(start, _)| start).min();
        // Work before the first prompt belongs to none.
        let loose = self.all.iter().map(|one| one.start).min();
        starts.extend(
            loose.filter(|&start| earliest.is_none_or(|first| start < first)).map(|start| (start, None)),
        );
        starts.extend(self.facts.dequeued.iter().map(|&time| (millis(time), None)));
        starts.sort_unstable_by_key(|&(start, number)| (start, number.is_none()));
        starts.dedup_by_key(|&mut (start, _)| start);
        let mut work_ends: Vec<i64> = starts.iter().map(|&(start, _)| start).collect();
        let steps = self.all.iter().map(|one| (one.start, one.end));
        let ends = self.facts.ends.iter().map(|&time| (millis(time), millis(time)));
        for (from, to) in steps.chain(ends) {
            let at = starts.partition_point(|&(start, _)| start <= from);
            if let Some(at) = at.checked_sub(1) {
                work_ends[at] = work_ends[at].max(to);
            }
        }
        let mut number = None;
        let stretch = |at: usize| {
            let (start, own) = starts[at];
            number = own.or(number);
            let next = starts.get(at + 1).copied();
            let limit = next.map_or(last.max(start), |(start, _)| start);
            let work_end = work_ends[at].min(limit);
            let is_continued = next.is_some_and(|(_, number)| number.is_none());
            let record = last_record(session, start, next.map(|(start, _)| start));
            let end = match number {
                None => start,
                Some(_) if is_continued => limit,
                Some(_) => record.unwrap_or(start).max(work_end),
            };
            (number, Stretch { start, work_end, end })
        };
        (0..starts.len()).map(stretch).collect()
    }
}

/// Time of the last record of the work between two times.
fn last_record(session: &Session, from: i64, until: Option<i64>) -> Option<i64> {
    let position = |time: i64| session.times.partition_point(|record| millis(record.time) < time);
    let end = until.map_or(session.times.len(), position);
    let record = session.times[position(from).min(end)..end].iter().rfind(|record| record.is_work);
    record.map(|record| millis(record.time))
}

/// The decider of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decider {
    /// A person, or the program that runs the CLI.
    Person,
    Hook,
    /// Rules or the permission mode: nobody was asked.
    Settings,
    Unknown,
}

impl Decider {
    fn of(decision: &Waiting, has_decisions: bool) -> Self {
        match decision.source.as_deref() {
            Some("hook") => Self::Hook,
            Some("host") => Self::Person,
            Some(source) if source.starts_with("user") => Self::Person,
            Some(_) => Self::Settings,
            // The CLI rejected the call before anybody had to decide.
            None if has_decisions => Self::Settings,
            None => Self::Unknown,
        }
    }
}
