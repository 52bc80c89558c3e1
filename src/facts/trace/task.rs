//! Tasks: commands and subagents in the background and in the foreground, workflows, and what is on the model's own list.

use std::collections::HashMap;

use super::calls;
use crate::{
    event::trace::{self, TaskOutcome, TaskSign, TaskUsage, Trace},
    facts::{
        Name,
        ledger::{Call, Context, End, Ledger, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Where it is first told of.
    pub context: Context,
    /// Its id, where the log says it.
    pub id: Option<Name>,
    /// `bash`, `agent`, `workflow` and so on; `todo` for an entry of the model's own list.
    pub kind: Option<Name>,
    /// The type of a subagent.
    pub agent_type: Option<Name>,
    /// The id of the call that began it.
    pub call: Option<Name>,
    /// The tool of that call.
    pub tool: Option<Name>,
    /// Whether the turn went on without it.
    pub background: Option<bool>,
    /// How it is, as it was told last; `running` if no end was seen.
    pub status: Name,
    /// When it began.
    pub started: Option<Time>,
    /// When it ended first: one that is resumed may end again.
    pub ended: Option<Time>,
    /// How long it ran.
    pub took: Option<Millis>,
    /// Tokens of its last prompt and answer.
    pub tokens: Option<u64>,
    /// Tools that it called.
    pub tool_uses: Option<u64>,
}

/// What a task is that is running.
const RUNNING: &str = "running";

/// The kind of what is on the model's own list.
pub const LIST_ENTRY: &str = "todo";

/// All tasks, in the order they are first told of.
pub fn tasks(ledger: &Ledger) -> Vec<Task> {
    let calls = calls(ledger);
    let mut known = Known::default();
    for Traced { context, trace, .. } in &ledger.traces {
        match trace {
            Trace::Task(told) if told.sign == TaskSign::Notice => known.notice(context, told),
            Trace::Task(told) => known.told(context, told),
            Trace::TaskOutcome(told) => answered(&mut known, context, told, &calls),
            _ => {}
        }
    }
    let mut tasks = known.tasks;
    tasks.iter_mut().for_each(|task| settle(task, &calls));
    tasks.sort_by_key(|task| task.context.location);
    tasks
}

/// Tasks by their ids, and by the calls that began them.
#[derive(Default)]
struct Known {
    tasks: Vec<Task>,
    ids: HashMap<(Option<SessionIndex>, bool, Name), usize>,
    calls: HashMap<Name, usize>,
}

impl Known {
    /// The task with this id or of this call, perhaps a new one. Ids of lists count from 1 in every session, calls do not.
    fn task(&mut self, context: &Context, id: Option<&Name>, call: Option<&Name>, todo: bool) -> &mut Task {
        // An entry of a list and a command may have the same id.
        let key = |id: &Name| (context.session, todo, Name::clone(id));
        let by_id = id.and_then(|id| self.ids.get(&key(id)).copied());
        let by_call = call.and_then(|call| self.calls.get(call).copied());
        let by_call = by_call
            .filter(|&at| id.is_none() || self.tasks[at].id.is_none() || self.tasks[at].id.as_ref() == id);
        let at = by_id.or(by_call).unwrap_or_else(|| {
            self.tasks.push(Task::new(context));
            self.tasks.len() - 1
        });
        id.map(|id| self.ids.entry(key(id)).or_insert(at));
        call.map(|call| self.calls.entry(Name::clone(call)).or_insert(at));
        let task = &mut self.tasks[at];
        task.id = task.id.take().or(id.cloned());
        task.call = task.call.take().or(call.cloned());
        if todo {
            task.kind = Some(Name::from(LIST_ENTRY));
        }
        task
    }

    /// A line about one task, or an entry of the list of those in the background.
    fn told(&mut self, context: &Context, told: &trace::Task<Name>) {
        let task = self.task(context, Some(&told.id), told.call.as_ref(), false);
        task.kind = task.kind.take().or(told.kind.clone());
        task.agent_type = task.agent_type.take().or(told.agent_type.clone());
        task.usage(&told.usage, told.sign != TaskSign::Progress);
        task.background = told.background.or(task.background);
        told.status.iter().for_each(|status| task.is(status));
        task.ends(told.ended);
    }

    /// What the model is told when a task ends.
    fn notice(&mut self, context: &Context, told: &trace::Task<Name>) {
        let task = self.task(context, Some(&told.id), told.call.as_ref(), false);
        told.status.iter().for_each(|status| task.is(status));
        task.ends(context.time);
        let TaskUsage { tokens, tool_uses, took } = told.usage;
        task.tokens = task.tokens.or(tokens);
        task.tool_uses = task.tool_uses.or(tool_uses);
        task.took = task.took.or(took);
        task.background = task.background.or(Some(true));
    }
}

impl Task {
    fn new(context: &Context) -> Self {
        Self { context: context.clone(), status: Name::from(RUNNING), ..Self::default() }
    }

    /// An end is not undone by a record that tells of the beginning: the other dialect tells all of it again.
    fn is(&mut self, status: &str) {
        if status != RUNNING {
            self.status = Name::from(status);
        }
    }

    fn ends(&mut self, time: Option<Time>) {
        self.ended = self.ended.into_iter().chain(time).min();
    }

    /// What it used; while it runs the figures grow.
    fn usage(&mut self, usage: &TaskUsage, last: bool) {
        self.tokens = usage.tokens.max(self.tokens);
        self.tool_uses = usage.tool_uses.max(self.tool_uses);
        if last {
            self.took = self.took.or(usage.took);
        }
    }
}

/// What a tool returned to the CLI, by the tool.
fn answered(known: &mut Known, context: &Context, told: &TaskOutcome<Name>, calls: &HashMap<&str, &Call>) {
    match calls.get(&*told.call).map_or("", |call| &*call.tool) {
        "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => listed(known, context, told),
        "TaskOutput" | "AgentOutputTool" | "BashOutput" => {
            if let Some((id, status)) = &told.output {
                known.task(context, Some(id), None, false).is(status);
            }
        }
        "TaskStop" | "KillShell" | "KillBash" => {
            let Some(id) = &told.stopped else { return };
            let task = known.task(context, Some(id), None, false);
            task.is("killed");
            task.ends(context.time);
        }
        _ => began(known, context, told),
    }
}

/// A command that went to the background, or a subagent: launched, or run to its end.
fn began(known: &mut Known, context: &Context, told: &TaskOutcome<Name>) {
    if let Some(id) = &told.background {
        let task = known.task(context, Some(id), Some(&told.call), false);
        task.kind = Some(Name::from("bash"));
        task.background = Some(true);
        return;
    }
    // Versions before 2.0 gave subagents no id.
    if told.agent.is_none() && !told.counts_tools {
        return;
    }
    let task = known.task(context, told.agent.as_ref(), Some(&told.call), false);
    task.kind = task.kind.take().or(Some(Name::from("agent")));
    task.agent_type = task.agent_type.take().or(told.agent_type.clone());
    task.background = task.background.or(Some(told.launched));
    if !told.launched {
        task.usage(&told.usage, true);
        task.is(told.status.as_deref().unwrap_or("completed"));
        task.ends(context.time);
    }
}

/// Entries of the model's own list.
fn listed(known: &mut Known, context: &Context, told: &TaskOutcome<Name>) {
    if let Some((id, status)) = &told.changed {
        entry(known, context, id, status);
    }
    for (id, status) in &told.entries {
        match status {
            Some(status) => entry(known, context, id, status),
            None => {
                let task = known.task(context, Some(id), Some(&told.call), true);
                task.started = task.started.into_iter().chain(context.time).min();
                if &*task.status == RUNNING {
                    task.status = Name::from("pending");
                }
            }
        }
    }
}

fn entry(known: &mut Known, context: &Context, id: &Name, status: &Name) {
    let task = known.task(context, Some(id), None, true);
    task.status = Name::clone(status);
    if status == "completed" {
        task.ends(context.time);
    }
}

/// What the call that began a task knows of it.
fn settle(task: &mut Task, calls: &HashMap<&str, &Call>) {
    let call = task.call.as_deref().and_then(|id| calls.get(id));
    if let Some(call) = call {
        task.tool = Some(Name::clone(&call.tool));
        task.started = task.started.or(call.context.time);
        if task.agent_type.is_none() && task.kind.as_deref() == Some("agent") {
            task.agent_type = call.used.clone();
        }
        let answered = call.context.time.zip(call.latency).map(|(asked, took)| asked.plus(took));
        // The turn waits for what is in the foreground, so the call ends when the task does.
        if task.background == Some(false) && call.end != End::Open {
            task.ended = task.ended.or(answered);
            if &*task.status == RUNNING {
                task.status = Name::from(if call.end == End::Ok { "completed" } else { "failed" });
            }
        }
    }
    let whole = task.started.zip(task.ended).map(|(started, ended)| ended.since(started));
    task.took = task.took.or(whole);
}
