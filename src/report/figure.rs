//! Charts that several reports share: the timeline of a session, its context, latencies, hours.

use std::{collections::BTreeMap, ops::Range};

use super::{
    By, Outcome, Text, Value, View,
    chart::{Activity, Bars, Chart, Merge, Span, Timeline},
    cost::chart::{over_time, share},
    sum::{MAIN, SOME_AGENT},
};
use crate::{
    facts::ledger::{AgentIndex, Call, Context, End, Ledger, Response, SessionIndex},
    measure::{Millis, Time},
};

/// The charts of one session.
pub(super) fn session(view: &View<'_>, session: SessionIndex) -> impl Iterator<Item = Chart> {
    [timeline(view, session), context_growth(view, session)].into_iter().flatten()
}

/// Activity of an agent at a time.
enum Event<'a> {
    Prompt,
    Response(&'a Response),
    Call(&'a Call),
}

/// The agents of a session as lanes: model, calls, and waiting for a prompt.
pub(super) fn timeline(view: &View<'_>, session: SessionIndex) -> Option<Chart> {
    let ledger = view.ledger;
    let mut agents: BTreeMap<Option<AgentIndex>, Vec<(Time, Event<'_>)>> = BTreeMap::new();
    let own = |context: &Context| context.session == Some(session);
    for prompt in ledger.prompts.iter().filter(|prompt| own(&prompt.context)) {
        let events = agents.entry(prompt.context.agent).or_default();
        events.extend(prompt.context.time.map(|time| (time, Event::Prompt)));
    }
    for response in ledger.responses.iter().filter(|response| own(&response.context)) {
        let events = agents.entry(response.context.agent).or_default();
        events.extend(response.context.time.map(|time| (time, Event::Response(response))));
    }
    for call in ledger.calls.iter().filter(|call| own(&call.context)) {
        let events = agents.entry(call.context.agent).or_default();
        events.extend(call.context.time.map(|time| (time, Event::Call(call))));
    }
    let mut lanes: Vec<(Time, Text, Vec<Span>)> = Vec::new();
    for (agent, mut events) in agents {
        events.sort_by_key(|(time, _)| *time);
        let started = agent.and_then(|agent| ledger.calls[ledger.agents[agent].call?].context.time);
        let Some(first) = started.or(events.first().map(|(time, _)| *time)) else { continue };
        lanes.push((first, lane_name(ledger, agent), spans(first, &events)));
    }
    lanes.sort_by_key(|(first, name, _)| (&**name != MAIN, *first));
    let lanes = lanes.into_iter().map(|(_, name, spans)| (name, spans)).collect();
    let clock = |time: Time| view.zone.second(time).into();
    Chart::timeline("Agents and calls", Timeline::of(lanes, clock)?)
}

fn lane_name(ledger: &Ledger, agent: Option<AgentIndex>) -> Text {
    match agent.map(|agent| &ledger.agents[agent].kind) {
        None => Text::from(MAIN),
        Some(None) => Text::from(SOME_AGENT),
        Some(Some(kind)) => Text::from(kind),
    }
}

/// The spans of one agent. A log has the time at which a response arrived: until then, since the last result or prompt,
/// the model worked. Before a prompt, the agent waited.
fn spans(first: Time, events: &[(Time, Event<'_>)]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut busy_until = first;
    for (time, event) in events {
        let before = |activity, name| Span { from: busy_until, to: *time, activity, name, count: 1 };
        let gap = match event {
            Event::Prompt => Some(before(Activity::Waiting, Text::from("no prompt"))),
            Event::Response(response) => Some(before(Activity::Model, Text::from(&response.model))),
            Event::Call(_) => None,
        };
        spans.extend(gap.filter(|gap| gap.from < gap.to));
        busy_until = busy_until.max(*time);
        if let Event::Call(call) = event {
            let to = time.plus(call.latency.unwrap_or(Millis::ZERO).max(Millis::ZERO));
            busy_until = busy_until.max(to);
            spans.push(Span {
                from: *time,
                to,
                activity: activity(call.end),
                name: call_name(call),
                count: 1,
            });
        }
    }
    spans
}

fn activity(end: End) -> Activity {
    match end {
        End::Ok => Activity::Call,
        End::Open => Activity::Open,
        End::Denied => Activity::Denied,
        End::Error => Activity::Failed,
    }
}

/// The tool, and its command or path where content may be shown.
fn call_name(call: &Call) -> Text {
    match &call.brief {
        Some(brief) => Text::from(format!("{} {brief}", call.tool)),
        None => Text::from(&call.tool),
    }
}

/// Prompt tokens of each response of the main agent.
pub(super) fn context_growth(view: &View<'_>, session: SessionIndex) -> Option<Chart> {
    let own =
        |response: &&Response| response.context.session == Some(session) && response.context.agent.is_none();
    let mut responses: Vec<&Response> = view.ledger.responses.iter().filter(own).collect();
    responses.sort_by_key(|response| (response.context.time, response.context.location));
    let labels = (1..=responses.len()).map(|number| Text::from(format!("response {number}"))).collect();
    let values = responses.iter().map(|response| Value::Count(response.tokens.prompt())).collect();
    Chart::bars("Context, in tokens", Bars::single("tokens", labels, values, Merge::Max))
}

/// Latencies of calls.
pub(super) fn latencies(view: &View<'_>) -> Option<Chart> {
    let values = view.ledger.calls.iter().filter_map(|call| Some(call.latency?.into())).collect();
    Chart::distribution("Latency of calls", "calls", values)
}

/// Calls by tool.
pub(super) fn calls_by_tool(view: &View<'_>) -> Option<Chart> {
    let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
    view.ledger.calls.iter().for_each(|call| *tools.entry(&call.tool).or_default() += 1);
    let parts = tools.into_iter().map(|(tool, calls)| (Some(Text::from(tool)), Value::Count(calls)));
    Chart::share("Calls by tool", parts)
}

/// Cost by weekday and hour, of all times or of a period.
pub(super) fn hours(view: &View<'_>, period: Option<&Range<Time>>) -> Option<Chart> {
    let amounts = view.ledger.charges.iter().filter_map(|charge| {
        let time = charge.context.time.filter(|time| period.is_none_or(|period| period.contains(time)))?;
        let at = view.zone.weekday_and_hour(time)?;
        Some((at, Value::Usd(charge.cost?)))
    });
    Chart::heat_map("Cost by weekday and hour", amounts)
}

/// Cost of each session.
pub(super) fn session_costs(view: &View<'_>) -> Option<Chart> {
    let mut costs: BTreeMap<SessionIndex, Value> = BTreeMap::new();
    for charge in &view.ledger.charges {
        if let (Some(session), Some(cost)) = (charge.context.session, charge.cost) {
            let sum = costs.entry(session).or_default();
            *sum = std::mem::take(sum).plus(&cost.into());
        }
    }
    Chart::distribution("Cost of sessions", "sessions", costs.into_values().collect())
}

/// Sessions by outcome.
pub(super) fn outcomes(ledger: &Ledger) -> Option<Chart> {
    let mut counts: BTreeMap<Outcome, u64> = BTreeMap::new();
    super::outcomes(ledger).into_iter().for_each(|outcome| *counts.entry(outcome).or_default() += 1);
    let part = |(outcome, count): (Outcome, u64)| (Some(Text::from(outcome.name())), Value::Count(count));
    Chart::share("Sessions by outcome", counts.into_iter().map(part))
}

/// Charts of everything that was read: of the session if there is one, else of all sessions together.
pub(super) fn overall(view: &View<'_>) -> Vec<Chart> {
    let charts: Vec<Option<Chart>> = match &*view.ledger.sessions {
        [_] => session(view, SessionIndex::new(0)).map(Some).chain([latencies(view)]).collect(),
        _ => {
            let period = period(view);
            let by_project = over_time(view, period, By::Project).filter(Chart::is_stacked);
            let over_time = [over_time(view, period, By::Model), by_project, hours(view, None)];
            over_time
                .into_iter()
                .chain([session_costs(view), latencies(view), outcomes(view.ledger)])
                .collect()
        }
    };
    // Charts of one height are neighbours.
    charts.into_iter().chain([share(view, By::Model), calls_by_tool(view)]).flatten().collect()
}

/// Days, or hours if everything happened within two days.
fn period(view: &View<'_>) -> By {
    let times = || view.ledger.charges.iter().filter_map(|charge| charge.context.time);
    match times().min().zip(times().max()) {
        Some((first, last)) if last.since(first) < Millis::new(2 * 24 * 3_600_000) => By::Hour,
        _ => By::Day,
    }
}
