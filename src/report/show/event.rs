//! Events of a session, in chronological order.

use std::collections::HashMap;

use crate::{
    facts::{
        Name,
        ledger::{AgentIndex, Context, Ledger, Location, Response, ResponseIndex, SessionIndex},
        trace::{
            hook::{Hook, HookEnd, hooks},
            limit::{self, limits},
            task::tasks,
        },
    },
    measure::{Millis, Time, Tokens, Usd},
};

names! {
    /// Kind of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum EventKind {
        /// A person's prompt.
        Prompt = "prompt",
        /// An API response.
        Response = "response",
        /// A tool call, possibly denied.
        Call = "call",
        /// An API error that was retried.
        Retry = "retry",
        ApiError = "api_error",
        /// The conversation was compacted.
        Compaction = "compaction",
        /// A rate limit was reported.
        RateLimit = "rate_limit",
        /// A fallback model was used.
        Fallback = "fallback",
        /// A model refused to answer.
        Refusal = "refusal",
        /// A hook blocked something.
        Hook = "hook",
        /// A background task started.
        TaskBegin = "task_begin",
        /// A background task ended.
        TaskEnd = "task_end",
        /// A turn ended.
        Turn = "turn",
    }
}

impl EventKind {
    /// Text on screen. Responses of the `usual` model do not repeat its name.
    pub(super) fn label(self, name: Option<&str>, usual: Option<&str>) -> String {
        let name = name.unwrap_or_default();
        match self {
            Self::Prompt => "› prompt".to_owned(),
            Self::Response if usual == Some(name) => "● step".to_owned(),
            Self::Response => format!("● {}", name.strip_prefix("claude-").unwrap_or(name)),
            Self::Call => format!("  {name}"),
            Self::Retry => format!("↻ retry: {name}"),
            Self::ApiError => format!("✗ API error: {name}"),
            Self::Compaction => "≈ compaction".to_owned(),
            Self::RateLimit => "! rate limit".to_owned(),
            Self::Fallback => format!("! fallback: {name}"),
            Self::Refusal if name.is_empty() => "! refusal".to_owned(),
            Self::Refusal => format!("! refusal: {name}"),
            Self::Hook => format!("  ✗ hook {name}"),
            Self::TaskBegin => format!("▸ task {name}"),
            Self::TaskEnd => format!("▪ end of task {name}"),
            Self::Turn => "■ end".to_owned(),
        }
    }
}

/// An event of the timeline.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) kind: EventKind,
    pub(super) time: Option<Time>,
    pub(super) at: Option<Location>,
    pub(super) agent: Option<AgentIndex>,
    pub(super) name: Option<Name>,
    pub(super) end: Option<Name>,
    pub(super) took: Option<Millis>,
    pub(super) context: Option<u64>,
    pub(super) before: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) cost: Option<Usd>,
    /// Text of a prompt or response, or main input of a call, if kept.
    pub(super) text: Option<Name>,
    /// Error of a failed call, request or turn, if kept.
    pub(super) message: Option<Name>,
}

impl Event {
    fn new(kind: EventKind, context: &Context) -> Self {
        Self {
            kind,
            time: context.time,
            at: context.location,
            agent: context.agent,
            name: None,
            end: None,
            took: None,
            context: None,
            before: None,
            output: None,
            bytes: None,
            cost: None,
            text: None,
            message: None,
        }
    }

    /// Start and end. Turns have none, since their record only marks the end.
    pub(super) fn span(&self) -> Option<(Time, Time)> {
        let begins = self.time.filter(|_| self.kind != EventKind::Turn)?;
        Some((begins, self.took.map_or(begins, |took| begins.plus(took))))
    }
}

/// Collects the events of a session.
pub(super) fn events(ledger: &Ledger, session: SessionIndex) -> Vec<Event> {
    let own = |context: &Context| context.session == Some(session);
    let mut events: Vec<Event> = ledger
        .prompts
        .iter()
        .filter(|prompt| own(&prompt.context))
        .map(|prompt| Event { text: prompt.text.clone(), ..Event::new(EventKind::Prompt, &prompt.context) })
        .collect();
    events.extend(responses(ledger, session));
    events.extend(ledger.calls.iter().filter(|call| own(&call.context)).map(|call| Event {
        name: Some(Name::clone(&call.tool)),
        end: Some(Name::from(call.end.name())),
        took: call.latency,
        bytes: call.result_bytes,
        text: call.brief.clone(),
        message: call.failure.clone(),
        ..Event::new(EventKind::Call, &call.context)
    }));
    // A denial of a call in the log is the outcome of that call, not an event of its own.
    let loose = ledger.denials.iter().filter(|denial| own(&denial.context) && denial.call.is_none());
    events.extend(loose.map(|denial| Event {
        name: Some(Name::clone(&denial.tool)),
        end: Some(Name::from("denied")),
        ..Event::new(EventKind::Call, &denial.context)
    }));
    events.extend(ledger.api_failures.iter().filter(|failure| own(&failure.context)).map(|failure| Event {
        name: Some(Name::clone(&failure.kind)),
        took: failure.wait,
        message: failure.message.clone(),
        ..Event::new(if failure.retried { EventKind::Retry } else { EventKind::ApiError }, &failure.context)
    }));
    events.extend(ledger.compactions.iter().filter(|one| own(&one.context)).map(|one| Event {
        context: one.fact.after,
        before: one.fact.before,
        ..Event::new(EventKind::Compaction, &one.context)
    }));
    // These happened before the end of the turn that reports them.
    events.extend(traced(ledger, session));
    events.extend(ledger.turns.iter().filter(|turn| own(&turn.context)).map(|turn| Event {
        end: Some(Name::clone(&turn.subtype)),
        took: turn.wall,
        cost: turn.cost,
        message: turn.failure.clone().filter(|_| !turn.ok),
        ..Event::new(EventKind::Turn, &turn.context)
    }));
    events.extend(
        ledger
            .interactive_turns
            .iter()
            .filter(|turn| own(&turn.context))
            .map(|turn| Event { took: Some(turn.wall), ..Event::new(EventKind::Turn, &turn.context) }),
    );
    in_order(events)
}

/// Rate limits, hooks that blocked, and background tasks. Foreground tasks are already shown as calls, and
/// compactions and stops as events of their own.
fn traced(ledger: &Ledger, session: SessionIndex) -> Vec<Event> {
    let own = |context: &Context| context.session == Some(session);
    let mut events = Vec::new();
    for limit in limits(ledger).into_iter().filter(|limit| own(&limit.context)) {
        let (kind, name) = match limit.kind {
            limit::Kind::RateLimit => (EventKind::RateLimit, None),
            limit::Kind::Fallback => (EventKind::Fallback, limit.fallback.clone()),
            limit::Kind::Refusal => (EventKind::Refusal, limit.fallback.clone().or(limit.model.clone())),
            limit::Kind::Compaction | limit::Kind::Microcompaction | limit::Kind::Stop => continue,
        };
        events.push(Event { name, end: limit.what.clone(), ..Event::new(kind, &limit.context) });
    }
    let blocked = |hook: &Hook| hook.end == HookEnd::Blocked && own(&hook.context);
    events.extend(hooks(ledger).into_iter().filter(blocked).map(|hook| Event {
        end: Some(Name::from(hook.end.name())),
        took: hook.took,
        name: Some(hook.name),
        ..Event::new(EventKind::Hook, &hook.context)
    }));
    for task in tasks(ledger).into_iter().filter(|task| own(&task.context) && task.background == Some(true)) {
        let name = task.agent_type.as_ref().or(task.kind.as_ref());
        let begin = Event { name: name.cloned(), ..Event::new(EventKind::TaskBegin, &task.context) };
        events.push(Event { time: task.started, took: task.took, ..begin.clone() });
        if let Some(ended) = task.ended {
            let end = Some(Name::clone(&task.status));
            events.push(Event { kind: EventKind::TaskEnd, time: Some(ended), end, ..begin });
        }
    }
    events
}

fn responses(ledger: &Ledger, session: SessionIndex) -> Vec<Event> {
    let mut charged: HashMap<ResponseIndex, (Tokens, Option<Usd>)> = HashMap::new();
    for charge in ledger.charges.iter().filter(|charge| charge.context.session == Some(session)) {
        let Some(response) = charge.response else { continue };
        let (tokens, cost) = charged.entry(response).or_default();
        *tokens += charge.tokens;
        if let Some(more) = charge.cost {
            *cost.get_or_insert_default() += more;
        }
    }
    let own = ResponseIndex::each(&ledger.responses).filter(|(_, one)| one.context.session == Some(session));
    let event = |(at, one): (ResponseIndex, &Response)| {
        let (tokens, cost) = charged.get(&at).copied().unwrap_or_default();
        Event {
            name: Some(Name::clone(&one.model)),
            context: Some(one.tokens.prompt()),
            output: Some(tokens.output),
            cost,
            text: one.more().said.clone(),
            ..Event::new(EventKind::Response, &one.context)
        }
    };
    own.map(event).collect()
}

/// Sorts events by time. An event without a time takes the time of the event before it in the same source.
fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| event.at);
    let mut last: Option<(Option<Location>, Time)> = None;
    let mut timed: Vec<(Option<Time>, Event)> = Vec::with_capacity(events.len());
    for event in events {
        let same = |at: Option<Location>| at.map(|at| at.source) == event.at.map(|at| at.source);
        let time = event.time.or(last.filter(|&(at, _)| same(at)).map(|(_, time)| time));
        if let Some(time) = time {
            last = Some((event.at, time));
        }
        timed.push((time, event));
    }
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, event)| event).collect()
}
