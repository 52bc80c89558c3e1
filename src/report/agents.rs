//! The tree of subagents, with the activity of each.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    sessions::cost_notes,
    sum::{HasCalls, HasCost, MAIN, SOME_AGENT, Sum, call_columns, cost_columns, has, text},
};
use crate::{
    facts::{
        ToolCount,
        ledger::{AgentIndex, Call, Context, Ledger, SessionIndex},
    },
    measure::{Millis, Time},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(agents),
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "Show the tree of subagents: calls, tokens, time and cost",
        details: "Shows each agent's own activity, without the agents that it started. Sessions without subagents are one row.",
        examples: &[
            ("The agents of a run", "ccstat agents run.jsonl"),
            ("The subagents of one session", "ccstat agents ~/.claude/projects --session 0002 --subagents"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "agents",
        "The tree of subagents: each agent's own calls, tokens, time and cost.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row {
    tree: Value,
    agent: Value,
    id: Value,
    depth: Option<u64>,
    session: Value,
    started: Option<Time>,
    wall: Option<Millis>,
    calls: ToolCount,
    sum: Sum,
}

has! { HasCost for Row: sum -> Sum }

has! { HasCalls for Row: calls -> ToolCount }

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text tree "Agent" [screen] "The agent below the one that started it." => &row.tree;
        text agent "Agent" [data] "`main`, or the type of the subagent; missing for charges without a response."
            => &row.agent;
        text id "Id" [data] "Id of the subagent." => &row.id;
        count depth "Depth" [no_sum, nullable, data] "0 for the main agent, 1 for agents that it started, and so on." => row.depth;
        text session "Session" "Session id." => &row.session;
        time started "Started" [wide] "Time of its first response or call." => row.started;
        millis wall_ms "Wall" [nullable, no_sum] "Latency of the call that started it; for a background agent, the time between its first and last row."
            => row.wall;
        ..call_columns();
        ..cost_columns();
    }
}

/// Maximum indentation on screen; a log may contain far more levels.
const MAX_DEPTH: usize = 32;

/// Row to which calls and charges belong: an agent of a session, charges without a response, or all sessions
/// without subagents together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Agent(Option<SessionIndex>, Option<AgentIndex>),
    NoResponse,
    WithoutSubagents,
}

/// One row per agent, below the agent that started it.
pub fn agents(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    let with: BTreeSet<Option<SessionIndex>> =
        ledger.contexts().filter(|context| context.agent.is_some()).map(|context| context.session).collect();
    let owner = |context: &Context| match with.contains(&context.session) {
        true => Owner::Agent(context.session, context.agent),
        false => Owner::WithoutSubagents,
    };
    let mut calls: BTreeMap<Owner, Vec<&Call>> = BTreeMap::new();
    let mut sums: BTreeMap<Owner, Sum> = BTreeMap::new();
    let mut spans: BTreeMap<Owner, (Time, Time)> = BTreeMap::new();
    for call in &ledger.calls {
        calls.entry(owner(&call.context)).or_default().push(call);
    }
    for charge in &ledger.charges {
        let unknown = charge.response.is_none() && with.contains(&charge.context.session);
        let owner = if unknown { Owner::NoResponse } else { owner(&charge.context) };
        sums.entry(owner).or_default().add(charge);
    }
    let rows = ledger.calls.iter().map(|call| &call.context);
    for context in rows
        .chain(ledger.charges.iter().filter(|charge| charge.response.is_some()).map(|charge| &charge.context))
    {
        let Some(time) = context.time else { continue };
        let span = spans.entry(owner(context)).or_insert((time, time));
        *span = (span.0.min(time), span.1.max(time));
    }
    let mut rows: Vec<Row> = Vec::new();
    for (owner, depth) in order(ledger, &with) {
        let (calls, sum) =
            (calls.remove(&owner).unwrap_or_default(), sums.remove(&owner).unwrap_or_default());
        let is_left = !calls.is_empty() || sum.responses > 0 || sum.cost.is_some();
        if is_left || matches!(owner, Owner::Agent(..)) {
            let span = spans.get(&owner).copied();
            rows.push(Row {
                calls: ToolCount::of(calls.into_iter()),
                sum,
                ..named(view, owner, depth, span)
            });
        }
    }
    let total = Row {
        tree: "Total".into(),
        calls: ToolCount::of(ledger.calls.iter()),
        sum: Sum::of(&ledger.charges),
        ..Row::default()
    };
    let columns = columns();
    let table = Table::of("Agents", &columns, &rows).with_total(&columns, &total).on_screen(50);
    let none = with.is_empty().then(|| Line::new(Tone::Plain).word("no subagents"));
    Report::of(SPEC.name, table, none.into_iter().chain(cost_notes(ledger)).collect())
}

/// Order of the rows with their depth: by session, each agent below its parent, then the remaining rows.
fn order(ledger: &Ledger, sessions: &BTreeSet<Option<SessionIndex>>) -> Vec<(Owner, usize)> {
    let mut children: BTreeMap<(Option<SessionIndex>, Option<AgentIndex>), Vec<AgentIndex>> = BTreeMap::new();
    for (at, agent) in AgentIndex::each(&ledger.agents) {
        children.entry((agent.session, agent.parent)).or_default().push(at);
    }
    // Reversed, since they are popped from the end.
    children.values_mut().for_each(|all| {
        all.sort_by_key(|&at| ledger.agents[at].call);
        all.reverse();
    });
    let mut lost: BTreeMap<Option<SessionIndex>, BTreeSet<AgentIndex>> = BTreeMap::new();
    for (at, agent) in AgentIndex::each(&ledger.agents) {
        lost.entry(agent.session).or_default().insert(at);
    }
    let mut order = Vec::new();
    for &session in sessions {
        let mut lost = lost.remove(&session).unwrap_or_default();
        let mut open = vec![(None, 0)];
        while let Some((agent, depth)) = open.pop() {
            order.push((Owner::Agent(session, agent), depth));
            let below = children.remove(&(session, agent)).unwrap_or_default();
            for at in &below {
                lost.remove(at);
            }
            open.extend(below.into_iter().map(|at| (Some(at), depth + 1)));
        }
        // Agents in a cycle of parents are not in any tree.
        order.extend(lost.into_iter().map(|at| (Owner::Agent(session, Some(at)), 1)));
    }
    order.extend([(Owner::NoResponse, 0), (Owner::WithoutSubagents, 0)]);
    order
}

fn named(view: &View<'_>, owner: Owner, depth: usize, span: Option<(Time, Time)>) -> Row {
    let ledger = view.ledger;
    let id = |session: Option<SessionIndex>| {
        text(session.and_then(|session| ledger.sessions[session].id.as_deref()))
    };
    let started = span.map(|(first, _)| first);
    let lasted = span.map(|(first, last)| last.since(first));
    match owner {
        Owner::NoResponse => Row { tree: "charges without a response".into(), ..Row::default() },
        Owner::WithoutSubagents => {
            Row { tree: "other sessions".into(), agent: MAIN.into(), depth: Some(0), ..Row::default() }
        }
        Owner::Agent(session, None) => Row {
            tree: MAIN.into(),
            agent: MAIN.into(),
            depth: Some(0),
            session: id(session),
            started,
            wall: lasted,
            ..Row::default()
        },
        Owner::Agent(session, Some(at)) => {
            let agent = &ledger.agents[at];
            let kind = agent.kind.as_deref().unwrap_or(SOME_AGENT);
            let call = agent.call.map(|call| &ledger.calls[call]);
            // The call that starts a background agent returns at once, long before the agent is done.
            let wall = call.and_then(|call| call.latency).into_iter().chain(lasted).max();
            Row {
                tree: format!("{}└ {kind}", "  ".repeat((depth - 1).min(MAX_DEPTH))).into(),
                agent: kind.into(),
                id: text(agent.id.as_deref()),
                depth: Some(depth as u64),
                session: id(session),
                started: call.and_then(|call| call.context.time).or(started),
                wall,
                ..Row::default()
            }
        }
    }
}
