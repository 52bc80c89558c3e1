//! Runs of hooks, each once, from three kinds of records.
//!
//! The printed stream has a start and an end with an id of the run, but neither the call nor the command. A
//! saved session has event, call and command. The result of a call that a hook denied says so, and is often
//! the only trace of that hook. The last two are matched by call and event. The first has only session, event
//! and name in common with them, so its runs are matched in order, those with the same end first. If hooks
//! ran at the same time, command and duration of one may be assigned to the other, but each is counted once.

use std::collections::HashMap;

use super::{CallsById, calls};
pub use crate::event::trace::HookEnd;
use crate::{
    event::trace::{self, HookRecordKind, Response, Trace},
    facts::{
        Name,
        key::Id,
        ledger::{Context, Ledger, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Context of the first record about it.
    pub context: Context,
    /// Event of the hook: `PreToolUse`, `Stop` and so on.
    pub event: Name,
    /// Event and matcher: `PreToolUse:Bash`.
    pub name: Name,
    /// Its command, if the log has it.
    pub command: Option<Name>,
    /// Its duration, if the log has it.
    pub took: Option<Millis>,
    /// Time of the record of its end, if the log has one.
    pub ended: Option<Time>,
    /// How it ended.
    pub end: HookEnd,
}

impl Hook {
    /// Builds a run from one record. A summary at the end of a turn is about the main agent or a subagent.
    fn of(context: &Context, decoded: &trace::Hook<Name>, calls: &CallsById<'_>) -> Self {
        let event = decoded.event.clone().unwrap_or_else(|| {
            Name::from(match decoded.record_kind {
                HookRecordKind::Summary if context.agent.is_some() => "SubagentStop",
                HookRecordKind::Summary => "Stop",
                _ => "PreToolUse",
            })
        });
        let tool = decoded
            .id
            .as_deref()
            .filter(|_| decoded.record_kind == HookRecordKind::Refusal)
            .and_then(|id| calls.get(id));
        let of_tool = || Some(Name::from(format!("{event}:{}", tool?.tool)));
        let name = decoded.name.clone().or_else(of_tool).unwrap_or_else(|| Name::clone(&event));
        let trace::Hook { command, took, end, .. } = decoded;
        let is_end = matches!(decoded.record_kind, HookRecordKind::Ending | HookRecordKind::Summary);
        let (command, ended) = (command.clone(), context.time.filter(|_| is_end));
        Self { context: context.clone(), event, name, command, took: *took, ended, end: *end }
    }

    /// Returns whether both may be the same run. A name without a matcher fits any.
    fn goes_with(&self, other: &Self) -> bool {
        let bare = |hook: &Self| hook.name == hook.event;
        self.event == other.event && (self.name == other.name || bare(self) || bare(other))
    }

    /// Adds what another record about the same run knows.
    fn merge(&mut self, other: Self) {
        let Self { context, event: _, name, command, took, ended, end } = other;
        if self.name == self.event {
            self.name = name;
        }
        self.command = self.command.take().or(command);
        self.took = self.took.or(took);
        self.ended = self.ended.into_iter().chain(ended).min();
        self.end = self.end.max(end);
        // A fork repeats records of its original session.
        self.context.prefer_earlier_session(&context);
        self.context.time = self.context.time.into_iter().chain(context.time).min();
        if context.location < self.context.location {
            (self.context.location, self.context.version) = (context.location, context.version);
        }
    }
}

/// A record about a run that belongs to a call or an event.
struct HookEvidence {
    hook: Hook,
    /// The call, or the id of the event.
    cause: Option<Name>,
    record_kind: HookRecordKind,
}

/// Returns the runs of all hooks, in log order.
pub fn hooks(ledger: &Ledger) -> Vec<Hook> {
    let is_refusal = |row: &Traced| match &row.trace {
        Trace::Hook(hook) => hook.record_kind == HookRecordKind::Refusal,
        _ => false,
    };
    let has_refusals = ledger.traces.iter().any(is_refusal);
    let calls = if has_refusals { calls(ledger) } else { CallsById::default() };
    let mut runs = saved(ledger, &calls);
    join(&mut runs, printed(ledger, &calls));
    runs.sort_by_key(|hook| hook.context.location);
    runs
}

/// Returns the runs in the printed stream.
fn printed(ledger: &Ledger, calls: &CallsById<'_>) -> Vec<Hook> {
    let sessions: HashMap<&str, SessionIndex> =
        SessionIndex::each(&ledger.sessions).filter_map(|(at, one)| Some((one.id.as_deref()?, at))).collect();
    let mut index: HashMap<&Name, usize> = HashMap::new();
    let mut runs: Vec<Hook> = Vec::new();
    for Traced { context, trace, .. } in &ledger.traces {
        match trace {
            // Most responses belong to other requests; that of a callback has the decision of the hook.
            Trace::Response(answer) => {
                let Response { id, blocks, .. } = &**answer;
                if let (Some(&at), Some(blocks)) = (index.get(id), blocks) {
                    let end = if *blocks { HookEnd::Blocked } else { HookEnd::Ok };
                    runs[at].end = runs[at].end.max(end);
                }
            }
            Trace::Hook(decoded) if decoded.record_kind == HookRecordKind::Printed => {
                let Some(id) = &decoded.id else { continue };
                let mut hook = Hook::of(context, decoded, calls);
                if let Some(&session) = decoded.session.as_deref().and_then(|id| sessions.get(id)) {
                    hook.context.session = Some(session);
                }
                match index.get(id) {
                    Some(&at) => runs[at].merge(hook),
                    None => {
                        index.insert(id, runs.len());
                        runs.push(hook);
                    }
                }
            }
            _ => {}
        }
    }
    runs
}

/// Returns the runs in saved sessions and in results of calls.
fn saved(ledger: &Ledger, calls: &CallsById<'_>) -> Vec<Hook> {
    let mut all: Vec<HookEvidence> = Vec::new();
    // Forks and files that are given twice repeat records.
    let mut seen: HashMap<Id, &Context> = HashMap::new();
    for Traced { context, uuid, trace, .. } in &ledger.traces {
        let Trace::Hook(decoded) = trace else { continue };
        if decoded.record_kind == HookRecordKind::Printed {
            continue;
        }
        let is_new = uuid.is_none_or(|uuid| seen.entry(uuid).or_insert(context).location == context.location);
        if is_new || decoded.record_kind == HookRecordKind::Refusal {
            all.push(HookEvidence {
                hook: Hook::of(context, decoded, calls),
                cause: decoded.id.clone(),
                record_kind: decoded.record_kind,
            });
        }
    }
    let is_side_effect = |evidence: &HookEvidence| evidence.record_kind == HookRecordKind::SideEffect;
    let (side_effects, plain): (Vec<HookEvidence>, Vec<HookEvidence>) =
        all.into_iter().partition(is_side_effect);
    let mut runs = Runs::default();
    plain.into_iter().chain(side_effects).for_each(|evidence| runs.add(evidence));
    runs.all.into_iter().map(|(hook, _)| hook).collect()
}

/// Runs by event and cause, each with the kinds of records about it.
#[derive(Default)]
struct Runs {
    all: Vec<(Hook, Vec<HookRecordKind>)>,
    index: HashMap<(Name, Name), Vec<usize>>,
}

impl Runs {
    fn add(&mut self, evidence: HookEvidence) {
        let HookEvidence { hook, cause, record_kind } = evidence;
        let Some(cause) = cause else { return self.all.push((hook, vec![record_kind])) };
        let same = self.index.entry((Name::clone(&hook.event), cause)).or_default();
        let fits = |at: &&usize| {
            let (known, seen) = &self.all[**at];
            let alike = known.command.is_none() || hook.command.is_none() || known.command == hook.command;
            match record_kind {
                HookRecordKind::Printed
                | HookRecordKind::Beginning
                | HookRecordKind::Ending
                | HookRecordKind::Summary => alike && !seen.contains(&record_kind),
                HookRecordKind::Refusal | HookRecordKind::SideEffect => alike,
            }
        };
        match same.iter().find(fits) {
            Some(&at) => {
                let (known, seen) = &mut self.all[at];
                known.merge(hook);
                seen.push(record_kind);
            }
            None => {
                same.push(self.all.len());
                self.all.push((hook, vec![record_kind]));
            }
        }
    }
}

/// Merges the runs of the printed stream into those of saved sessions.
fn join(runs: &mut Vec<Hook>, printed: Vec<Hook>) {
    let mut free: HashMap<(Option<SessionIndex>, Name), Vec<Option<Hook>>> = HashMap::new();
    for hook in printed {
        free.entry((hook.context.session, Name::clone(&hook.event))).or_default().push(Some(hook));
    }
    let mut alone: Vec<bool> = vec![true; runs.len()];
    for alike in [true, false] {
        for (run, alone) in runs.iter_mut().zip(&mut alone).filter(|(_, alone)| **alone) {
            let Some(same) = free.get_mut(&(run.context.session, Name::clone(&run.event))) else { continue };
            let fits = |hook: &Hook| run.goes_with(hook) && (!alike || run.end == hook.end);
            let Some(found) = same.iter_mut().find(|slot| slot.as_ref().is_some_and(fits)) else { continue };
            if let Some(hook) = found.take() {
                run.merge(hook);
                *alone = false;
            }
        }
    }
    runs.extend(free.into_values().flatten().flatten());
}
