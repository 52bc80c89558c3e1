//! Runs of hooks, each once, whichever records tell of it.
//!
//! Three kinds of records do. The CLI's output has a start and an end under an id of the hook, but says neither the call nor
//! the command. A saved session says event, call and command. And a call that a hook refused says so in its answer, often
//! the only trace of that hook. Call and event join the last two. The first has nothing in common with them but session,
//! event and name, so its runs are joined in order, those that ended alike first: of hooks that ran at the same time the
//! command and the duration of one may go to the other, but each is counted once.

use std::collections::HashMap;

use super::calls;
pub use crate::event::trace::HookEnd;
use crate::{
    event::trace::{self, HookSign, Response, Trace},
    facts::{
        Name,
        key::Id,
        ledger::{Call, Context, Ledger, SessionIndex, Traced},
    },
    measure::Millis,
};

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// When and where it is first told of.
    pub context: Context,
    /// What it waited for: `PreToolUse`, `Stop` and so on.
    pub event: Name,
    /// The event, and what of it: `PreToolUse:Bash`.
    pub name: Name,
    /// What ran, where the log says so.
    pub command: Option<Name>,
    /// How long, where the log says so.
    pub took: Option<Millis>,
    /// How it ended.
    pub end: HookEnd,
}

impl Hook {
    /// What one record says. The end of a turn is that of the main agent or of a subagent.
    fn of(context: &Context, told: &trace::Hook<Name>, calls: &HashMap<&str, &Call>) -> Self {
        let event = told.event.clone().unwrap_or_else(|| {
            Name::from(match told.sign {
                HookSign::Summary if context.agent.is_some() => "SubagentStop",
                HookSign::Summary => "Stop",
                _ => "PreToolUse",
            })
        });
        let tool = told.id.as_deref().filter(|_| told.sign == HookSign::Refusal).and_then(|id| calls.get(id));
        let of_tool = || Some(Name::from(format!("{event}:{}", tool?.tool)));
        let name = told.name.clone().or_else(of_tool).unwrap_or_else(|| Name::clone(&event));
        let trace::Hook { command, took, end, .. } = told;
        Self { context: context.clone(), event, name, command: command.clone(), took: *took, end: *end }
    }

    /// Whether both may be one run: a name without a matcher goes with any.
    fn goes_with(&self, other: &Self) -> bool {
        let bare = |hook: &Self| hook.name == hook.event;
        self.event == other.event && (self.name == other.name || bare(self) || bare(other))
    }

    /// Learns what another telling of the same run knows.
    fn learn(&mut self, other: Self) {
        let Self { context, event: _, name, command, took, end } = other;
        if self.name == self.event {
            self.name = name;
        }
        self.command = self.command.take().or(command);
        self.took = self.took.or(took);
        self.end = self.end.max(end);
        // A fork tells again what its origin did.
        self.context.prefer_earlier_session(&context);
        self.context.time = self.context.time.into_iter().chain(context.time).min();
        if context.location < self.context.location {
            (self.context.location, self.context.version) = (context.location, context.version);
        }
    }
}

/// What one record tells of a run that belongs to a call or to something else with an id.
struct Telling {
    hook: Hook,
    /// The call, or an id that stands for the event.
    cause: Option<Name>,
    by: HookSign,
}

/// The runs of all hooks, in the order they are first told of.
pub fn hooks(ledger: &Ledger) -> Vec<Hook> {
    let calls = calls(ledger);
    let mut runs = saved(ledger, &calls);
    join(&mut runs, printed(ledger, &calls));
    runs.sort_by_key(|hook| hook.context.location);
    runs
}

/// Runs that the CLI's output tells of, by the id of each.
fn printed(ledger: &Ledger, calls: &HashMap<&str, &Call>) -> Vec<Hook> {
    let sessions: HashMap<&str, SessionIndex> =
        SessionIndex::each(&ledger.sessions).filter_map(|(at, one)| Some((one.id.as_deref()?, at))).collect();
    let mut index: HashMap<&Name, usize> = HashMap::new();
    let mut runs: Vec<Hook> = Vec::new();
    for Traced { context, trace, .. } in &ledger.traces {
        match trace {
            // Most answers are to other requests; a callback's says what the hook decided.
            Trace::Response(answer) => {
                let Response { id, blocks, .. } = &**answer;
                if let (Some(&at), Some(blocks)) = (index.get(id), blocks) {
                    let end = if *blocks { HookEnd::Blocked } else { HookEnd::Ok };
                    runs[at].end = runs[at].end.max(end);
                }
            }
            Trace::Hook(told) if told.sign == HookSign::Printed => {
                let Some(id) = &told.id else { continue };
                let mut hook = Hook::of(context, told, calls);
                if let Some(&session) = told.session.as_deref().and_then(|id| sessions.get(id)) {
                    hook.context.session = Some(session);
                }
                match index.get(id) {
                    Some(&at) => runs[at].learn(hook),
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

/// Runs that saved sessions and the answers of calls tell of.
fn saved(ledger: &Ledger, calls: &HashMap<&str, &Call>) -> Vec<Hook> {
    let mut tellings: Vec<Telling> = Vec::new();
    // Forks and files that are given twice tell the same again.
    let mut seen: HashMap<Id, &Context> = HashMap::new();
    for Traced { context, uuid, trace, .. } in &ledger.traces {
        let Trace::Hook(told) = trace else { continue };
        if told.sign == HookSign::Printed {
            continue;
        }
        let is_new = uuid.is_none_or(|uuid| seen.entry(uuid).or_insert(context).location == context.location);
        if is_new || told.sign == HookSign::Refusal {
            tellings.push(Telling {
                hook: Hook::of(context, told, calls),
                cause: told.id.clone(),
                by: told.sign,
            });
        }
    }
    let is_beside = |telling: &Telling| telling.by == HookSign::Beside;
    let (beside, plain): (Vec<Telling>, Vec<Telling>) = tellings.into_iter().partition(is_beside);
    let mut runs = Runs::default();
    plain.into_iter().chain(beside).for_each(|telling| runs.add(telling));
    runs.all.into_iter().map(|(hook, _)| hook).collect()
}

/// Runs by event and by what caused them, each with those who tell of it.
#[derive(Default)]
struct Runs {
    all: Vec<(Hook, Vec<HookSign>)>,
    index: HashMap<(Name, Name), Vec<usize>>,
}

impl Runs {
    fn add(&mut self, telling: Telling) {
        let Telling { hook, cause, by } = telling;
        let Some(cause) = cause else { return self.all.push((hook, vec![by])) };
        let same = self.index.entry((Name::clone(&hook.event), cause)).or_default();
        let fits = |at: &&usize| {
            let (known, told) = &self.all[**at];
            let alike = known.command.is_none() || hook.command.is_none() || known.command == hook.command;
            match by {
                HookSign::Printed | HookSign::Beginning | HookSign::Ending | HookSign::Summary => {
                    alike && !told.contains(&by)
                }
                HookSign::Refusal | HookSign::Beside => alike,
            }
        };
        match same.iter().find(fits) {
            Some(&at) => {
                let (known, told) = &mut self.all[at];
                known.learn(hook);
                told.push(by);
            }
            None => {
                same.push(self.all.len());
                self.all.push((hook, vec![by]));
            }
        }
    }
}

/// Adds the runs that the CLI's output tells of to those of saved sessions, each once.
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
                run.learn(hook);
                *alone = false;
            }
        }
    }
    runs.extend(free.into_values().flatten().flatten());
}
