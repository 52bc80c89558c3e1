//! Tasks: commands and subagents in the background and in the foreground, workflows, and the model's own
//! list.

use std::collections::HashMap;

use super::{CallsById, calls};
use crate::{
    event::trace::{self, TaskOutcome, TaskRecordKind, TaskUsage, Trace},
    facts::{
        Name,
        ledger::{Context, End, Ledger, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Context of the first record about it.
    pub context: Context,
    /// Its id, if the log has it.
    pub id: Option<Name>,
    /// `bash`, `agent`, `workflow` and so on; `todo` for an entry of the model's own list.
    pub kind: Option<Name>,
    /// The type of a subagent.
    pub agent_type: Option<Name>,
    /// Id of the call that started it.
    pub call: Option<Name>,
    /// The tool of that call.
    pub tool: Option<Name>,
    /// Whether it ran in the background.
    pub background: Option<bool>,
    /// Its last status; `running` without an end.
    pub status: Name,
    /// When it started.
    pub started: Option<Time>,
    /// When it first ended: a resumed task may end again.
    pub ended: Option<Time>,
    /// Duration.
    pub took: Option<Millis>,
    /// Tokens of its last prompt and response.
    pub tokens: Option<u64>,
    /// Number of tool calls.
    pub tool_uses: Option<u64>,
}

/// Status of a running task.
const RUNNING: &str = "running";

/// Kind of an entry of the model's own list.
pub const LIST_ENTRY: &str = "todo";

/// Returns all tasks, in log order.
pub fn tasks(ledger: &Ledger) -> Vec<Task> {
    let calls = calls(ledger);
    let mut known = Known::default();
    for Traced { context, trace, .. } in &ledger.traces {
        match trace {
            Trace::Task(decoded) if decoded.record_kind == TaskRecordKind::Notice => {
                known.notice(context, decoded)
            }
            Trace::Task(decoded) => known.line(context, decoded),
            Trace::TaskOutcome(decoded) => answered(&mut known, context, decoded, &calls),
            _ => {}
        }
    }
    let mut tasks = known.tasks;
    tasks.iter_mut().for_each(|task| settle(task, &calls));
    tasks.sort_by_key(|task| task.context.location);
    tasks
}

/// Tasks, indexed by id and by the call that started them.
#[derive(Default)]
struct Known {
    tasks: Vec<Task>,
    ids: HashMap<(Option<SessionIndex>, bool, Name), usize>,
    calls: HashMap<Name, usize>,
}

impl Known {
    /// Returns the task with this id or of this call, and creates it if needed. List ids count from 1 in
    /// every session, while call ids are unique.
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

    /// Adds a line about one task, or an entry of the list of background tasks.
    fn line(&mut self, context: &Context, decoded: &trace::Task<Name>) {
        let task = self.task(context, Some(&decoded.id), decoded.call.as_ref(), false);
        task.kind = task.kind.take().or(decoded.kind.clone());
        task.agent_type = task.agent_type.take().or(decoded.agent_type.clone());
        task.usage(&decoded.usage, decoded.record_kind != TaskRecordKind::Progress);
        task.background = decoded.background.or(task.background);
        decoded.status.iter().for_each(|status| task.is(status));
        task.ends(decoded.ended);
    }

    /// Adds the message that the model gets when a task ends.
    fn notice(&mut self, context: &Context, decoded: &trace::Task<Name>) {
        let task = self.task(context, Some(&decoded.id), decoded.call.as_ref(), false);
        decoded.status.iter().for_each(|status| task.is(status));
        task.ends(context.time);
        let TaskUsage { tokens, tool_uses, took } = decoded.usage;
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

    /// Sets the status. `running` does not replace an end: the other dialect repeats the whole history.
    fn is(&mut self, status: &str) {
        if status != RUNNING {
            self.status = Name::from(status);
        }
    }

    fn ends(&mut self, time: Option<Time>) {
        self.ended = self.ended.into_iter().chain(time).min();
    }

    /// Adds usage. Counts grow while the task runs.
    fn usage(&mut self, usage: &TaskUsage, last: bool) {
        self.tokens = usage.tokens.max(self.tokens);
        self.tool_uses = usage.tool_uses.max(self.tool_uses);
        if last {
            self.took = self.took.or(usage.took);
        }
    }
}

/// Adds the outcome of a tool call, depending on the tool.
fn answered(known: &mut Known, context: &Context, decoded: &TaskOutcome<Name>, calls: &CallsById<'_>) {
    match calls.get(&*decoded.call).map_or("", |call| &*call.tool) {
        "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => listed(known, context, decoded),
        "TaskOutput" | "AgentOutputTool" | "BashOutput" => {
            if let Some((id, status)) = &decoded.output {
                known.task(context, Some(id), None, false).is(status);
            }
        }
        "TaskStop" | "KillShell" | "KillBash" => {
            let Some(id) = &decoded.stopped else { return };
            let task = known.task(context, Some(id), None, false);
            task.is("killed");
            task.ends(context.time);
        }
        _ => began(known, context, decoded),
    }
}

/// Adds a command in the background, or a subagent: launched, or run to its end.
fn began(known: &mut Known, context: &Context, decoded: &TaskOutcome<Name>) {
    if let Some(id) = &decoded.background {
        let task = known.task(context, Some(id), Some(&decoded.call), false);
        task.kind = Some(Name::from("bash"));
        task.background = Some(true);
        return;
    }
    // Versions before 2.0 gave subagents no id.
    if decoded.agent.is_none() && !decoded.counts_tools {
        return;
    }
    let task = known.task(context, decoded.agent.as_ref(), Some(&decoded.call), false);
    task.kind = task.kind.take().or(Some(Name::from("agent")));
    task.agent_type = task.agent_type.take().or(decoded.agent_type.clone());
    task.background = task.background.or(Some(decoded.launched));
    if !decoded.launched {
        task.usage(&decoded.usage, true);
        task.is(decoded.status.as_deref().unwrap_or("completed"));
        task.ends(context.time);
    }
}

/// Adds entries of the model's own list.
fn listed(known: &mut Known, context: &Context, decoded: &TaskOutcome<Name>) {
    if let Some((id, status)) = &decoded.changed {
        entry(known, context, id, status);
    }
    for (id, status) in &decoded.entries {
        match status {
            Some(status) => entry(known, context, id, status),
            None => {
                let task = known.task(context, Some(id), Some(&decoded.call), true);
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

/// Completes a task with data of the call that started it.
fn settle(task: &mut Task, calls: &CallsById<'_>) {
    let call = task.call.as_deref().and_then(|id| calls.get(id));
    if let Some(call) = call {
        task.tool = Some(Name::clone(&call.tool));
        task.started = task.started.or(call.context.time);
        if task.agent_type.is_none() && task.kind.as_deref() == Some("agent") {
            task.agent_type = call.used.clone();
        }
        let answered = call.context.time.zip(call.latency).map(|(asked, took)| asked.plus(took));
        // The turn waits for a task in the foreground, so the call ends when the task does.
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
