//! The turns that typed commands began: which responses are theirs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{CommandKind, Offers, Use, typed::Typed};
use crate::{
    event::trace::Form,
    facts::ledger::{AgentIndex, Context, Ledger, Location, ResponseIndex, SessionIndex},
    input::SourceId,
    measure::Time,
};

/// What stands in a session, as far as turns begin and end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A person asks, with a command or without.
    Prompt(Option<usize>),
    /// The model answers.
    Response(ResponseIndex),
    /// A turn ends, perhaps that of a command of which nothing else tells.
    End(Option<usize>),
}

/// When and where a step stands.
struct Stand {
    time: Option<Time>,
    at: Option<Location>,
    step: Step,
}

/// Adds the uses that were typed, each with the responses up to the next prompt or result of its session.
pub(super) fn begin(ledger: &Ledger, typed: &Typed, uses: &mut Vec<Use>, offers: &Offers) {
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
        walk(steps, uses);
    }
}

/// What stands in each session that a command was typed in.
fn steps(ledger: &Ledger, typed: &Typed, first: usize) -> BTreeMap<Option<SessionIndex>, Vec<Stand>> {
    let mut sessions: BTreeMap<Option<SessionIndex>, Vec<Stand>> = BTreeMap::new();
    let mut ends: BTreeMap<Location, usize> = BTreeMap::new();
    for (index, one) in typed.uses.iter().enumerate() {
        let own = sessions.entry(one.context.session).or_default();
        match (one.form, one.context.location) {
            (Form::Ended, Some(at)) => drop(ends.insert(at, first + index)),
            _ => own.push(stand(&one.context, Step::Prompt(Some(first + index)))),
        }
    }
    let mut add = |session: Option<SessionIndex>, context: &Context, step: Step| {
        if let Some(own) = sessions.get_mut(&session) {
            own.push(stand(context, step));
        }
    };
    // What a command's own records tell is no other prompt.
    let others = |context: &&Context| context.location.is_none_or(|at| !typed.places.contains(&at));
    for context in ledger.prompts.iter().filter(others) {
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

fn stand(context: &Context, step: Step) -> Stand {
    Stand { time: context.time, at: context.location, step }
}

/// Where the main agent made the call that a subagent's response goes back to; agents of which that is known are not followed
/// again.
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
        // Two that each claim to have started the other are in no tree: the second time it is known.
        roots.insert(agent, context);
        passed.push(agent);
    }
    for agent in passed {
        roots.insert(agent, context);
    }
    context
}

/// In one log by place; where several tell of a session by time, and what has none stands with what is before it.
fn order(steps: &mut [Stand]) {
    steps.sort_by_key(|stand| (stand.at, stand.step));
    let sources: BTreeSet<SourceId> = steps.iter().filter_map(|stand| stand.at).map(|at| at.source).collect();
    if sources.len() < 2 {
        return;
    }
    let mut last: Option<(SourceId, Time)> = None;
    for stand in steps.iter_mut() {
        let source = stand.at.map(|at| at.source);
        let before = last.filter(|(of, _)| Some(*of) == source).map(|(_, time)| time);
        stand.time = stand.time.or(before);
        last = source.zip(stand.time).or(last);
    }
    // A result has the time of the last response before it.
    let rank = |step: Step| match step {
        Step::Prompt(_) => 0,
        Step::Response(_) => 1,
        Step::End(_) => 2,
    };
    steps.sort_by_key(|stand| (stand.time, rank(stand.step), stand.at));
}

/// Gives each response to the command that began its turn.
fn walk(steps: &[Stand], uses: &mut [Use]) {
    let mut owner: Option<usize> = None;
    let mut since: Vec<ResponseIndex> = Vec::new();
    for stand in steps {
        match stand.step {
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
