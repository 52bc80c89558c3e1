//! Assigns responses to the typed commands that started their turn.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{CommandKind, Offers, Use, typed::Typed};
use crate::{
    event::trace::Form,
    facts::ledger::{AgentIndex, Context, Ledger, Location, ResponseIndex, SessionIndex},
    input::SourceId,
    measure::Time,
};

/// A row of a session that starts, continues or ends a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A prompt, with the index of its use if it is a command.
    Prompt(Option<usize>),
    Response(ResponseIndex),
    /// The end of a turn, with the index of the use if only this record shows the command.
    End(Option<usize>),
}

/// A step with its time and location.
struct TimedStep {
    time: Option<Time>,
    location: Option<Location>,
    step: Step,
}

/// Adds the typed uses, each with the responses up to the next prompt or result of its session.
pub(super) fn add_typed(ledger: &Ledger, typed: &Typed, uses: &mut Vec<Use>, offers: &Offers) {
    let first = uses.len();
    uses.extend(typed.uses.iter().map(|one| Use {
        kind: offers.kind_of(Some(&one.name), CommandKind::Command),
        name: Some(one.name.clone()),
        context: one.context.clone(),
        call: None,
        failed: false,
        responses: Vec::new(),
    }));
    let mut sessions = steps(ledger, typed, first);
    for steps in sessions.values_mut() {
        order(steps);
        assign_responses(steps, uses);
    }
}

/// Returns the steps of each session with a typed command.
fn steps(ledger: &Ledger, typed: &Typed, first: usize) -> BTreeMap<Option<SessionIndex>, Vec<TimedStep>> {
    let mut sessions: BTreeMap<Option<SessionIndex>, Vec<TimedStep>> = BTreeMap::new();
    let mut ends: BTreeMap<Location, usize> = BTreeMap::new();
    for (index, one) in typed.uses.iter().enumerate() {
        let own = sessions.entry(one.context.session).or_default();
        match (one.form, one.context.location) {
            (Form::Ended, Some(at)) => drop(ends.insert(at, first + index)),
            _ => own.push(timed(&one.context, Step::Prompt(Some(first + index)))),
        }
    }
    let mut add = |session: Option<SessionIndex>, context: &Context, step: Step| {
        if let Some(own) = sessions.get_mut(&session) {
            own.push(timed(context, step));
        }
    };
    // The records of a command itself are not prompts.
    let others = |context: &&Context| context.location.is_none_or(|at| !typed.places.contains(&at));
    for context in ledger.prompts.iter().map(|prompt| &prompt.context).filter(others) {
        add(context.session, context, Step::Prompt(None));
    }
    for turn in &ledger.turns {
        let own = turn.context.location.and_then(|at| ends.get(&at).copied());
        add(turn.context.session, &turn.context, Step::End(own));
    }
    let mut roots = HashMap::new();
    for (index, response) in ResponseIndex::each(&ledger.responses) {
        add(response.context.session, root(ledger, &response.context, &mut roots), Step::Response(index));
    }
    sessions
}

fn timed(context: &Context, step: Step) -> TimedStep {
    TimedStep { time: context.time, location: context.location, step }
}

/// Returns the context of the main agent's call that led to a response of a subagent. Agents that are already
/// resolved are not followed again.
fn root<'l>(
    ledger: &'l Ledger,
    context: &'l Context,
    roots: &mut HashMap<AgentIndex, &'l Context>,
) -> &'l Context {
    let (mut context, mut passed) = (context, Vec::new());
    while let Some(agent) = context.agent {
        if let Some(known) = roots.get(&agent) {
            context = known;
            break;
        }
        let Some(call) = ledger.agents[agent].call else { break };
        context = &ledger.calls[call].context;
        // If two agents claim to have started each other, the second visit ends the loop.
        roots.insert(agent, context);
        passed.push(agent);
    }
    for agent in passed {
        roots.insert(agent, context);
    }
    context
}

/// Sorts steps by location; with several logs by time. A step without a time takes that of the step before
/// it.
fn order(steps: &mut [TimedStep]) {
    steps.sort_by_key(|timed| (timed.location, timed.step));
    let sources: BTreeSet<SourceId> =
        steps.iter().filter_map(|timed| timed.location).map(|at| at.source).collect();
    if sources.len() < 2 {
        return;
    }
    let mut last: Option<(SourceId, Time)> = None;
    for timed in steps.iter_mut() {
        let source = timed.location.map(|at| at.source);
        let before = last.filter(|(of, _)| Some(*of) == source).map(|(_, time)| time);
        timed.time = timed.time.or(before);
        last = source.zip(timed.time).or(last);
    }
    // A result has the time of the last response before it.
    let rank = |step: Step| match step {
        Step::Prompt(_) => 0,
        Step::Response(_) => 1,
        Step::End(_) => 2,
    };
    steps.sort_by_key(|timed| (timed.time, rank(timed.step), timed.location));
}

/// Assigns each response to the command that started its turn.
fn assign_responses(steps: &[TimedStep], uses: &mut [Use]) {
    let mut owner: Option<usize> = None;
    let mut since: Vec<ResponseIndex> = Vec::new();
    for timed in steps {
        match timed.step {
            Step::Prompt(command) => {
                owner = command;
                since.clear();
            }
            Step::Response(response) => match owner {
                Some(command) => uses[command].responses.push(response),
                None => since.push(response),
            },
            Step::End(command) => {
                if let (Some(command), None) = (command, owner) {
                    uses[command].responses.append(&mut since);
                }
                owner = None;
                since.clear();
            }
        }
    }
}
