//! Builds the spans of one session from its rows.

use super::{
    Estimated, Mark, MarkKind, Omitted, SessionTrace, Span, SpanBody, SpanId, Tool, TraceAgent, Waiting,
    id::Ids,
    interaction::{Draft, Drafts},
};
use crate::{
    facts::{
        Hashed, Name,
        ledger::{
            AgentIndex, ApiFailure, Call, CallIndex, Charge, Compaction, Context, Denial, End, ExchangeIndex,
            Exchanges, InteractiveTurn, Ledger, Moment, ResponseIndex, Session, Turn,
        },
        trace::{permission::Decision, question::QUESTION_TOOL},
    },
    measure::Time,
    report::sum::{MAIN, SOME_AGENT},
};

/// The rows of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionRows<'l> {
    pub(super) exchanges: Vec<ExchangeIndex>,
    pub(super) agents: Vec<AgentIndex>,
    pub(super) responses: Vec<ResponseIndex>,
    pub(super) calls: Vec<CallIndex>,
    pub(super) turns: Vec<&'l Turn>,
    pub(super) interactive_turns: Vec<&'l InteractiveTurn>,
    pub(super) api_failures: Vec<&'l ApiFailure>,
    pub(super) compactions: Vec<&'l Compaction>,
    pub(super) moments: Vec<&'l Moment>,
    pub(super) denials: Vec<&'l Denial>,
    pub(super) charges: Vec<&'l Charge>,
}

/// Builds the trace of one session.
pub(super) struct Builder<'l> {
    pub(super) ledger: &'l Ledger,
    pub(super) rows: &'l SessionRows<'l>,
    decisions: &'l [Decision],
    pub(super) ids: Ids,
    pub(super) drafts: Drafts<'l>,
    pub(super) trace: SessionTrace,
    /// Positions of the subagents in the trace.
    lanes: Hashed<AgentIndex, usize>,
    /// Types of the subagents that calls started.
    started: Hashed<CallIndex, Option<Name>>,
}

impl<'l> Builder<'l> {
    pub(super) fn new(
        ledger: &'l Ledger,
        exchanges: &'l Exchanges<'l>,
        rows: &'l SessionRows<'l>,
        decisions: &'l [Decision],
        session: Name,
        ids: Ids,
    ) -> Self {
        let started = rows.agents.iter().map(|&at| &ledger.agents[at]);
        let started = started.filter_map(|agent| Some((agent.call?, agent.kind.clone()))).collect();
        let main = TraceAgent { name: arcstr::literal!(MAIN), id: None };
        Self {
            ledger,
            rows,
            decisions,
            drafts: Drafts::of(ledger, exchanges, rows, &ids),
            ids,
            trace: SessionTrace { session, agents: vec![main], ..SessionTrace::default() },
            lanes: Hashed::default(),
            started,
        }
    }

    pub(super) fn build(mut self, session: &Session) -> SessionTrace {
        self.requests();
        self.compactions();
        self.calls();
        self.loose_denials();
        self.interactions();
        let Self { mut trace, .. } = self;
        // Spans are large, so they are moved once.
        trace.spans.sort_by_cached_key(|span| (span.start, std::cmp::Reverse(span.end)));
        trace.marks.sort_by_key(|mark| mark.time);
        SessionTrace {
            version: session.version.clone(),
            project: session.project.clone(),
            machine: session.machine.clone(),
            ..trace
        }
    }

    /// Returns the position of an agent in the trace.
    pub(super) fn lane(&mut self, agent: Option<AgentIndex>) -> usize {
        let Some(agent) = agent else { return 0 };
        let agents = &mut self.trace.agents;
        *self.lanes.entry(agent).or_insert_with(|| {
            let row = &self.ledger.agents[agent];
            let name = row.kind.clone().unwrap_or(arcstr::literal!(SOME_AGENT));
            agents.push(TraceAgent { name, id: row.id.clone() });
            agents.len() - 1
        })
    }

    pub(super) fn agent_id(&self, context: &Context) -> Option<Name> {
        self.ledger.agents[context.agent?].id.clone()
    }

    /// Returns the span that the spans of an agent belong to: that of the call which started a subagent.
    fn parent_of_agent(&self, context: &Context) -> Option<SpanId> {
        let call = self.ledger.agents[context.agent?].call?;
        let row = &self.ledger.calls[call];
        let (key, (_, end)) = (call_key(call, row), times(row)?);
        let kind = if execution_start(row, end).is_some() { EXECUTION } else { TOOL };
        Some(self.ids.span(kind, &key))
    }

    /// Adds a span to its interaction. Returns its id.
    pub(super) fn add(&mut self, context: &Context, key: SpanKey<'_>, span: Timed, body: SpanBody) -> SpanId {
        let at = self.drafts.find(context, &self.ids);
        self.add_to(at, context, key, span, body)
    }

    /// Adds a span to the interaction at this position.
    pub(super) fn add_to(
        &mut self,
        at: usize,
        context: &Context,
        key: SpanKey<'_>,
        span: Timed,
        body: SpanBody,
    ) -> SpanId {
        let Timed { start, end, estimated, error } = span;
        let draft = self.drafts.at(at);
        // A subagent in the background may end after the interaction that started it.
        if context.agent.is_none() {
            draft.cover(start, end);
        } else {
            draft.cover(start, start);
        }
        let (trace, root) = (draft.trace, draft.span);
        let parent = key.parent.or_else(|| self.parent_of_agent(context)).unwrap_or(root);
        let id = self.ids.span(key.kind, key.id);
        let agent = self.lane(context.agent);
        let span = Span { id, trace, parent: Some(parent), agent, start, end, estimated, error, body };
        self.trace.spans.push(span);
        id
    }

    /// Adds a mark, if it has a time.
    pub(super) fn mark(
        &mut self,
        context: &Context,
        kind: MarkKind,
        span: Option<SpanId>,
    ) -> Option<&mut Mark> {
        let time = context.time?;
        let at = self.drafts.find(context, &self.ids);
        let draft: &Draft<'_> = self.drafts.at(at);
        let owner = Some((draft.trace, span.unwrap_or(draft.span)));
        let agent = self.lane(context.agent);
        self.trace.marks.push(Mark {
            kind,
            time,
            agent,
            span: owner,
            name: None,
            call: None,
            tokens: (None, None),
            took: None,
            message: None,
        });
        self.trace.marks.last_mut()
    }

    pub(super) fn omitted(&mut self) -> &mut Omitted {
        &mut self.trace.omitted
    }

    fn calls(&mut self) {
        let ledger = self.ledger;
        for &at in &self.rows.calls {
            let call = &ledger.calls[at];
            match times(call) {
                Some((start, end)) => self.call(at, call, start, end),
                None if call.end == End::Open => {
                    self.omitted().open += 1;
                    if let Some(mark) = self.mark(&call.context, MarkKind::OpenCall, None) {
                        (mark.name, mark.call) = (Some(Name::clone(&call.tool)), call.id.clone());
                    }
                }
                None => self.omitted().tools += 1,
            }
        }
    }

    fn call(&mut self, at: CallIndex, call: &Call, start: Time, end: Time) {
        let (key, decision) = (call_key(at, call), self.decision(at));
        let border = execution_start(call, end);
        let waited = waited(call, start, end, border);
        let error = match call.end {
            End::Denied => Some(reason_of_denial(&decision)),
            End::Error => Some(arcstr::literal!("tool_error")),
            End::Ok | End::Open => None,
        };
        let body = Tool {
            name: Name::clone(&call.tool),
            id: call.id.clone(),
            outcome: call.end.name(),
            subagent: self.started.get(&at).cloned().flatten(),
            agent: self.agent_id(&call.context),
            model: call.model.clone(),
            decision: decision.clone(),
            result_bytes: call.result_bytes,
            run_time: call.run_time,
            input: call.brief.clone(),
            failure: call.failure.clone(),
        };
        let timed = Timed { start, end, estimated: Estimated::default(), error: error.clone() };
        let tool = self.add(&call.context, SpanKey::new(TOOL, &key), timed, SpanBody::Tool(Box::new(body)));
        if let Some((kind, context)) = match call.end {
            End::Denied => Some((MarkKind::Denial, Context { time: Some(end), ..call.context.clone() })),
            End::Error => Some((MarkKind::ToolError, Context { time: Some(end), ..call.context.clone() })),
            End::Ok | End::Open => None,
        } && let Some(mark) = self.mark(&context, kind, Some(tool))
        {
            (mark.name, mark.call) = (Some(Name::clone(&call.tool)), call.id.clone());
        }
        if let Some((waited_until, is_estimated)) = waited {
            let estimated = Estimated { end: is_estimated, ..Estimated::default() };
            let timed = Timed { start, end: waited_until, estimated, error: None };
            let key = SpanKey { parent: Some(tool), ..SpanKey::new(WAITING, &key) };
            self.add(&call.context, key, timed, SpanBody::Waiting(decision));
        }
        if let Some(border) = border {
            let estimated = Estimated { start: true, ..Estimated::default() };
            let timed = Timed { start: border.max(start), end, estimated, error };
            let key = SpanKey { parent: Some(tool), ..SpanKey::new(EXECUTION, &key) };
            self.add(&call.context, key, timed, SpanBody::Execution(call.id.clone()));
        }
        if waited.is_none() && border.is_none() {
            self.omitted().borders += 1;
        }
    }

    fn decision(&self, call: CallIndex) -> Waiting {
        let Some(Decision { allowed, source, reason, .. }) = self.decisions.get(call.get()) else {
            return Waiting::default();
        };
        Waiting { allowed: *allowed, source: source.clone(), reason: reason.clone() }
    }

    /// Marks the denials of calls that the log does not have.
    fn loose_denials(&mut self) {
        for denial in self.rows.denials.iter().filter(|denial| denial.call.is_none()) {
            if let Some(mark) = self.mark(&denial.context, MarkKind::Denial, None) {
                mark.name = Some(Name::clone(&denial.tool));
            }
        }
    }
}

/// Kinds of spans below an interaction, as their ids are derived.
pub(super) const REQUEST: &str = "request";
const TOOL: &str = "tool";
const WAITING: &str = "waiting";
const EXECUTION: &str = "execution";

/// The data that a span's id is derived from, and its parent if that is not the agent's.
#[derive(Clone, Copy)]
pub(super) struct SpanKey<'k> {
    kind: &'k str,
    id: &'k str,
    parent: Option<SpanId>,
}

impl<'k> SpanKey<'k> {
    pub(super) fn new(kind: &'k str, id: &'k str) -> Self {
        Self { kind, id, parent: None }
    }
}

/// Start, end and error of a span.
pub(super) struct Timed {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) estimated: Estimated,
    pub(super) error: Option<Name>,
}

/// Returns the id of a call. Calls without an id are told apart by their place.
fn call_key(at: CallIndex, call: &Call) -> String {
    call.id.as_deref().map_or_else(|| place_key(&call.context, at.get()), str::to_owned)
}

/// An id for a row that has none: its line, else its position among all rows.
pub(super) fn place_key(context: &Context, position: usize) -> String {
    match context.location {
        Some(at) => format!("line {}", at.line),
        None => format!("row {position}"),
    }
}

/// Returns the start and the end of a call.
fn times(call: &Call) -> Option<(Time, Time)> {
    let start = call.context.time?;
    Some((start, start.plus(call.latency?)))
}

/// Returns when the tool began to run, if it says how long it ran.
fn execution_start(call: &Call, end: Time) -> Option<Time> {
    let ran = call.run_time.filter(|_| matches!(call.end, End::Ok | End::Error))?;
    Some(Time::from_micros(end.micros().saturating_sub(ran.micros())))
}

/// Returns when a subagent can have begun that this call started.
pub(super) fn began(call: &Call) -> Option<Time> {
    let border = times(call).and_then(|(start, end)| Some(execution_start(call, end)?.max(start)));
    border.or(call.context.time)
}

/// Returns when waiting ended, and whether that is an estimate. A denied call and a question only wait.
fn waited(call: &Call, start: Time, end: Time, border: Option<Time>) -> Option<(Time, bool)> {
    match call.end {
        End::Denied => Some((end, false)),
        End::Ok if *call.tool == *QUESTION_TOOL => Some((end, false)),
        End::Ok | End::Error | End::Open => border.map(|border| (border.max(start), true)),
    }
}

fn reason_of_denial(decision: &Waiting) -> Name {
    let Waiting { allowed: _, source, reason } = decision;
    match reason.as_ref().or(source.as_ref()) {
        Some(why) => Name::from(format!("denied: {why}")),
        None => arcstr::literal!("denied"),
    }
}
