//! The turns that typed commands began: which responses are theirs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Offers, Sort, Use, typed::Typed};
use crate::{
    event::trace::Form,
    facts::ledger::{AgentIndex, At, Ledger, Mark, ResponseIndex, SessionIndex},
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
    at: Option<At>,
    step: Step,
}

/// Adds the uses that were typed, each with the responses up to the next prompt or result of its session.
pub(super) fn begin(ledger: &Ledger, typed: &Typed, uses: &mut Vec<Use>, offers: &Offers) {
    let first = uses.len();
    uses.extend(typed.uses.iter().map(|one| Use {
        sort: offers.sort(Some(&one.name), Sort::Command),
        name: Some(one.name.clone()),
        mark: one.mark.clone(),
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
    let mut ends: BTreeMap<At, usize> = BTreeMap::new();
    for (index, one) in typed.uses.iter().enumerate() {
        let own = sessions.entry(one.mark.session).or_default();
        match (one.form, one.mark.at) {
            (Form::Ended, Some(at)) => drop(ends.insert(at, first + index)),
            _ => own.push(stand(&one.mark, Step::Prompt(Some(first + index)))),
        }
    }
    let mut add = |session: Option<SessionIndex>, mark: &Mark, step: Step| {
        if let Some(own) = sessions.get_mut(&session) {
            own.push(stand(mark, step));
        }
    };
    // What a command's own records tell is no other prompt.
    let others = |mark: &&Mark| mark.at.is_none_or(|at| !typed.places.contains(&at));
    for mark in ledger.prompts.iter().filter(others) {
        add(mark.session, mark, Step::Prompt(None));
    }
    for turn in &ledger.turns {
        let own = turn.mark.at.and_then(|at| ends.get(&at).copied());
        add(turn.mark.session, &turn.mark, Step::End(own));
    }
    let mut roots = HashMap::new();
    for (index, response) in ResponseIndex::each(&ledger.responses) {
        add(response.mark.session, root(ledger, &response.mark, &mut roots), Step::Response(index));
    }
    sessions
}

fn stand(mark: &Mark, step: Step) -> Stand {
    Stand { time: mark.time, at: mark.at, step }
}

/// Where the main agent made the call that a subagent's response goes back to; agents of which that is known are not followed
/// again.
fn root<'l>(ledger: &'l Ledger, mark: &'l Mark, roots: &mut HashMap<AgentIndex, &'l Mark>) -> &'l Mark {
    let (mut mark, mut passed) = (mark, Vec::new());
    while let Some(agent) = mark.agent {
        if let Some(known) = roots.get(&agent) {
            mark = known;
            break;
        }
        let Some(call) = ledger.agents[agent].call else { break };
        mark = &ledger.calls[call].mark;
        // Two that each claim to have started the other are in no tree: the second time it is known.
        roots.insert(agent, mark);
        passed.push(agent);
    }
    for agent in passed {
        roots.insert(agent, mark);
    }
    mark
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
