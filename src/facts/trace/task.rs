//! Tasks: commands and subagents in the background and in the foreground, workflows, and what is on the model's own list.

use std::collections::HashMap;

use serde_json::Value;

use super::member::{answers, calls, content, count, list, member, mentions, millis, opened, text};
use crate::{
    event::TASK_NOTICE,
    facts::{
        Name,
        ledger::{Call, End, Ledger, Mark, Record, SessionIndex},
    },
    measure::{Millis, Time},
};

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Where it is first told of.
    pub mark: Mark,
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
    for (record, json) in opened(ledger, leaves_trace) {
        match &*record.kind {
            "system/background_tasks_changed" => list(&json, &["tasks"]).iter().for_each(|one| {
                if let Some(task) = known.told(record, one) {
                    task.background = Some(true);
                }
            }),
            "user" => {
                answered(&mut known, record, &json, &calls);
                json.get("message").and_then(content).into_iter().for_each(|text| known.notice(record, text));
            }
            "queue-operation/enqueue" => {
                text(&json, &["content"]).into_iter().for_each(|text| known.notice(record, text));
            }
            "attachment/queued_command" => {
                let prompt = json.get("attachment").and_then(|own| text(own, &["prompt"]));
                prompt.into_iter().for_each(|text| known.notice(record, text));
            }
            _ => drop(known.told(record, &json)),
        }
    }
    let mut tasks = known.tasks;
    tasks.iter_mut().for_each(|task| settle(task, &calls));
    tasks.sort_by_key(|task| task.mark.at);
    tasks
}

fn leaves_trace(record: &Record) -> bool {
    match &*record.kind {
        "user" => mentions(record, &["tool_use_result", "toolUseResult", TASK_NOTICE]),
        "queue-operation/enqueue" | "attachment/queued_command" => mentions(record, &[TASK_NOTICE]),
        kind => {
            matches!(kind, "system/task_started" | "system/task_progress" | "system/task_updated")
                || matches!(kind, "system/task_notification" | "system/background_tasks_changed")
        }
    }
}

/// Tasks by their ids, and by the calls that began them.
#[derive(Default)]
struct Known {
    tasks: Vec<Task>,
    ids: HashMap<(Option<SessionIndex>, String), usize>,
    calls: HashMap<String, usize>,
}

impl Known {
    /// The task with this id or of this call, perhaps a new one. Ids of lists count from 1 in every session, calls do not.
    fn task(&mut self, record: &Record, id: Option<&str>, call: Option<&str>, todo: bool) -> &mut Task {
        let session = record.mark.session;
        // An entry of a list and a command may have the same id.
        let key = |id: &str| (session, if todo { format!("#{id}") } else { id.to_owned() });
        let by_id = id.and_then(|id| self.ids.get(&key(id)).copied());
        let by_call = call.and_then(|call| self.calls.get(call).copied());
        let by_call = by_call
            .filter(|&at| id.is_none() || self.tasks[at].id.is_none() || self.tasks[at].id.as_deref() == id);
        let at = by_id.or(by_call).unwrap_or_else(|| {
            self.tasks.push(Task::new(&record.mark));
            self.tasks.len() - 1
        });
        id.map(|id| self.ids.entry(key(id)).or_insert(at));
        call.map(|call| self.calls.entry(call.to_owned()).or_insert(at));
        let task = &mut self.tasks[at];
        task.id = task.id.take().or(id.map(Name::from));
        task.call = task.call.take().or(call.map(Name::from));
        if todo {
            task.kind = Some(Name::from(LIST_ENTRY));
        }
        task
    }

    /// What a line about one task tells, or an entry of the list of those in the background.
    fn told(&mut self, record: &Record, told: &Value) -> Option<&mut Task> {
        let id = text(told, &["task_id"])?;
        let task = self.task(record, Some(id), text(told, &["tool_use_id"]), false);
        let kind = text(told, &["task_type"]).map(|kind| kind.strip_prefix("local_").unwrap_or(kind));
        task.kind = task.kind.take().or(kind.map(Name::from));
        task.agent_type = task.agent_type.take().or(text(told, &["subagent_type"]).map(Name::from));
        task.usage(told.get("usage").unwrap_or(&Value::Null), &record.kind != "system/task_progress");
        let patch = told.get("patch").unwrap_or(told);
        if let Some(background) = patch.get("is_backgrounded").and_then(Value::as_bool) {
            task.background = Some(background);
        }
        if let Some(status) = text(patch, &["status"]) {
            task.is(status);
        }
        let ended = patch
            .get("end_time")
            .and_then(Value::as_i64)
            .map(|ms| Time::from_micros(ms.saturating_mul(1000)));
        task.ends(ended);
        Some(task)
    }

    /// What the model is told when a task ends.
    fn notice(&mut self, record: &Record, message: &str) {
        let Some(notice) = message.trim_start().strip_prefix(TASK_NOTICE) else { return };
        // What the task itself wrote may hold tags too, and stands behind the others.
        let head = notice.split("<result>").next().unwrap_or(notice);
        let usage = notice.rsplit_once("<usage>").map_or("", |(_, usage)| usage);
        // Some tasks tell of what they saw while they go on.
        let (Some(id), Some(status)) = (tag(head, "task-id"), tag(head, "status")) else { return };
        let task = self.task(record, Some(id), tag(head, "tool-use-id"), false);
        task.is(status);
        task.ends(record.mark.time);
        let number = |names: &[&str]| names.iter().find_map(|name| tag(usage, name)?.parse::<u64>().ok());
        task.tokens = task.tokens.or(number(&["subagent_tokens", "total_tokens"]));
        task.tool_uses = task.tool_uses.or(number(&["tool_uses"]));
        let took = number(&["duration_ms"]).and_then(|ms| i64::try_from(ms).ok()).map(Millis::new);
        task.took = task.took.or(took);
        task.background = task.background.or(Some(true));
    }
}

/// The text between a tag and its end.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim())
}

impl Task {
    fn new(mark: &Mark) -> Self {
        Self {
            mark: mark.clone(),
            id: None,
            kind: None,
            agent_type: None,
            call: None,
            tool: None,
            background: None,
            status: Name::from(RUNNING),
            started: None,
            ended: None,
            took: None,
            tokens: None,
            tool_uses: None,
        }
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
    fn usage(&mut self, usage: &Value, last: bool) {
        self.tokens = count(usage, &["total_tokens", "totalTokens"]).max(self.tokens);
        self.tool_uses = count(usage, &["tool_uses", "totalToolUseCount"]).max(self.tool_uses);
        if last {
            self.took = self.took.or(millis(usage, &["duration_ms", "totalDurationMs"]));
        }
    }
}

/// What the answer of a call tells: tools say more to the CLI than to the model.
fn answered(known: &mut Known, record: &Record, json: &Value, calls: &HashMap<&str, &Call>) {
    let Some(told) = member(json, &["tool_use_result", "toolUseResult"]).filter(|told| told.is_object())
    else {
        return;
    };
    let Some(call) = answers(json).find_map(|answer| text(answer, &["tool_use_id"])) else { return };
    match calls.get(call).map_or("", |call| &*call.tool) {
        "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => listed(known, record, told, call),
        "TaskOutput" | "AgentOutputTool" | "BashOutput" => {
            let task = told.get("task").unwrap_or(told);
            let id = text(task, &["task_id", "shellId"]);
            let Some((id, status)) = id.zip(text(task, &["status"])) else { return };
            known.task(record, Some(id), None, false).is(status);
        }
        "TaskStop" | "KillShell" | "KillBash" => {
            let Some(id) = text(told, &["task_id", "shell_id", "shellId"]) else { return };
            let task = known.task(record, Some(id), None, false);
            task.is("killed");
            task.ends(record.mark.time);
        }
        _ => began(known, record, told, call),
    }
}

/// A command that went to the background, or a subagent: launched, or run to its end.
fn began(known: &mut Known, record: &Record, told: &Value, call: &str) {
    if let Some(id) = text(told, &["backgroundTaskId"]) {
        let task = known.task(record, Some(id), Some(call), false);
        task.kind = Some(Name::from("bash"));
        task.background = Some(true);
        return;
    }
    let agent = text(told, &["agentId"]);
    // Versions before 2.0 gave subagents no id.
    if agent.is_none() && told.get("totalToolUseCount").is_none() {
        return;
    }
    let task = known.task(record, agent, Some(call), false);
    task.kind = task.kind.take().or(Some(Name::from("agent")));
    task.agent_type = task.agent_type.take().or(text(told, &["agentType"]).map(Name::from));
    let launched = told.get("isAsync").and_then(Value::as_bool) == Some(true)
        || text(told, &["status"]).is_some_and(|status| status.ends_with("launched"));
    task.background = task.background.or(Some(launched));
    if !launched {
        task.usage(told, true);
        task.is(text(told, &["status"]).unwrap_or("completed"));
        task.ends(record.mark.time);
    }
}

/// Entries of the model's own list.
fn listed(known: &mut Known, record: &Record, told: &Value, call: &str) {
    if let Some(id) = text(told, &["taskId"]) {
        let change = told.get("statusChange").and_then(|change| text(change, &["to"]));
        if let Some(status) = change {
            entry(known, record, id, status);
        }
    }
    for task in told.get("task").into_iter().chain(list(told, &["tasks"])) {
        let Some(id) = text(task, &["id"]) else { continue };
        match text(task, &["status"]) {
            Some(status) => entry(known, record, id, status),
            None => {
                let task = known.task(record, Some(id), Some(call), true);
                task.started = task.started.into_iter().chain(record.mark.time).min();
                if &*task.status == RUNNING {
                    task.status = Name::from("pending");
                }
            }
        }
    }
}

fn entry(known: &mut Known, record: &Record, id: &str, status: &str) {
    let task = known.task(record, Some(id), None, true);
    task.status = Name::from(status);
    if status == "completed" {
        task.ends(record.mark.time);
    }
}

/// What the call that began a task knows of it.
fn settle(task: &mut Task, calls: &HashMap<&str, &Call>) {
    let call = task.call.as_deref().and_then(|id| calls.get(id));
    if let Some(call) = call {
        task.tool = Some(Name::clone(&call.tool));
        task.started = task.started.or(call.mark.time);
        if task.agent_type.is_none() && task.kind.as_deref() == Some("agent") {
            let input = call.input_text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            task.agent_type =
                input.as_ref().and_then(|input| text(input, &["subagent_type"])).map(Name::from);
        }
        let answered = call.mark.time.zip(call.latency).map(|(asked, took)| asked.plus(took));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_what_stands_between_its_ends() {
        assert_eq!(tag("<a>1</a><status> completed </status>", "status"), Some("completed"));
        assert_eq!(tag("<status>completed", "status"), None);
        assert_eq!(tag("", "status"), None);
    }
}
