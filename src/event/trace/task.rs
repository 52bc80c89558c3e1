//! Decodes tasks.

use super::{Decoder, Form, Object, Text, ToolResult, Trace, Traces, question};
use crate::{
    event::{
        TASK_NOTICE,
        fields::{OutcomeFields, OutcomeKey},
        json::Json,
        record::Parser,
        skim::Skim,
    },
    measure::{Millis, Time},
};

/// A task, as one record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task<T> {
    /// Kind of the record.
    pub record_kind: TaskRecordKind,
    pub id: T,
    /// Id of the call that started it.
    pub call: Option<T>,
    /// `bash`, `agent`, `workflow` and so on.
    pub kind: Option<T>,
    /// The type of a subagent.
    pub agent_type: Option<T>,
    pub usage: TaskUsage,
    /// Whether it runs in the background.
    pub background: Option<bool>,
    pub status: Option<T>,
    /// When it ended.
    pub ended: Option<Time>,
}

/// Kind of a record about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskRecordKind {
    /// A line about one task.
    Line,
    /// Progress of a running task: its counts grow.
    Progress,
    /// The list of tasks in the background.
    Listed,
    /// The message for the model when a task ends.
    Notice,
}

/// Usage of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskUsage {
    /// Tokens of its last prompt and response.
    pub tokens: Option<u64>,
    /// Number of tool calls.
    pub tool_uses: Option<u64>,
    /// Duration.
    pub took: Option<Millis>,
}

/// Data that a tool returned to the CLI about tasks. The meaning depends on the tool, which another record
/// names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOutcome<T> {
    /// Id of the call.
    pub call: T,
    /// Id of a command in the background.
    pub background: Option<T>,
    /// Id of a subagent.
    pub agent: Option<T>,
    /// Type of the subagent.
    pub agent_type: Option<T>,
    /// Whether the subagent was only launched.
    pub launched: bool,
    pub status: Option<T>,
    pub usage: TaskUsage,
    /// Whether it has a number of tool calls: versions before 2.0 gave subagents no id.
    pub counts_tools: bool,
    /// The task whose output was read, and its status.
    pub output: Option<(T, T)>,
    /// The task that was stopped.
    pub stopped: Option<T>,
    /// An entry of the model's own list that changed, and its new status.
    pub changed: Option<(T, T)>,
    /// Entries of the model's own list, with their status.
    pub entries: Vec<(T, Option<T>)>,
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    /// Decodes `system` records about tasks.
    pub(super) fn task(&mut self, sub: &str, record: &Object<'a>) {
        match sub {
            "background_tasks_changed" => {
                for entry in record.list("tasks").into_iter().filter_map(Json::object) {
                    self.task_line(TaskRecordKind::Listed, &entry);
                }
            }
            "task_progress" => self.task_line(TaskRecordKind::Progress, record),
            "task_started" | "task_updated" | "task_notification" => {
                self.task_line(TaskRecordKind::Line, record)
            }
            _ => {}
        }
    }

    fn task_line(&mut self, record_kind: TaskRecordKind, line: &Object<'a>) {
        let Some(id) = self.text(line, &["task_id"]) else { return };
        let kind = line.text(&["task_type"]).map(|kind| match kind.strip_prefix("local_") {
            Some(kind) => kind.to_owned().into(),
            None => kind,
        });
        let usage = line.object("usage").unwrap_or_default();
        let patch = line.object("patch");
        let patch = if line.get("patch").is_some() { &patch.unwrap_or_default() } else { line };
        let ended = patch.get("end_time").and_then(|json| json.source().parse::<i64>().ok());
        let background = patch.get("is_backgrounded").and_then(flag);
        let task = Task {
            record_kind,
            id,
            call: self.text(line, &["tool_use_id"]),
            kind: self.own(kind),
            agent_type: self.text(line, &["subagent_type"]),
            usage: TaskUsage {
                tokens: usage.count(&["total_tokens", "totalTokens"]),
                tool_uses: usage.count(&["tool_uses", "totalToolUseCount"]),
                took: usage
                    .member(&["duration_ms", "totalDurationMs"])
                    .and_then(Json::number)
                    .map(Millis::from_f64),
            },
            background: if record_kind == TaskRecordKind::Listed { Some(true) } else { background },
            status: self.text(patch, &["status"]),
            ended: ended.map(|ms| Time::from_micros(ms.saturating_mul(1000))),
        };
        self.found.push(Trace::Task(Box::new(task)));
    }

    /// Decodes a message that may be a notice about a task, or a typed command.
    pub(super) fn message(&mut self, text: Option<Text<'a>>, form: Form, uuid: Option<Text<'a>>) {
        let Some(text) = text else { return };
        if self.wants(Traces::TASKS) && form != Form::Text {
            self.notice(&text);
        }
        if self.wants(Traces::COMMANDS) {
            self.typed(form, &text, uuid);
        }
    }

    /// Decodes the message that the model gets when a task ends.
    pub(super) fn notice(&mut self, message: &str) {
        let Some(notice) = message.trim_start().strip_prefix(TASK_NOTICE) else { return };
        // The output of the task may contain tags too, and follows the others.
        let head = notice.split("<result>").next().unwrap_or(notice);
        let usage = notice.rsplit_once("<usage>").map_or("", |(_, usage)| usage);
        // Some tasks send notices while they run.
        let (Some(id), Some(status)) = (tag(head, "task-id"), tag(head, "status")) else { return };
        let number = |names: &[&str]| names.iter().find_map(|name| tag(usage, name)?.parse::<u64>().ok());
        let usage = TaskUsage {
            tokens: number(&["subagent_tokens", "total_tokens"]),
            tool_uses: number(&["tool_uses"]),
            took: number(&["duration_ms"]).and_then(|ms| i64::try_from(ms).ok()).map(Millis::new),
        };
        let mut own = |text: &str| self.owner.own(text.to_owned().into());
        let task = Task {
            record_kind: TaskRecordKind::Notice,
            id: own(id),
            call: tag(head, "tool-use-id").map(&mut own),
            kind: None,
            agent_type: None,
            usage,
            background: None,
            status: Some(own(status)),
            ended: None,
        };
        self.found.push(Trace::Task(Box::new(task)));
    }

    /// Decodes the outcome of a call: tools return more to the CLI than to the model.
    pub(super) fn outcome(&mut self, answer: &ToolResult<'a>) {
        let (Some(call), Some(outcome)) = (&answer.id, answer.outcome) else { return };
        // Searching for one key is faster than parsing all of them.
        let answers = || memchr::memmem::find(outcome.as_bytes(), b"\"answers\"").is_some();
        if !self.wants(Traces::TASKS) && !answers() {
            return;
        }
        let Some(fields) = Skim::fields::<OutcomeFields<'a>>(Json::checked(outcome)) else { return };
        if self.wants(Traces::QUESTIONS)
            && let Some(answers) = fields.get(OutcomeKey::Answers).filter(|answers| answers.is_object())
        {
            self.given(call.clone(), answers);
        }
        if self.wants(Traces::TASKS) {
            self.task_outcome(call, &fields);
        }
    }

    fn task_outcome(&mut self, call: &Text<'a>, fields: &OutcomeFields<'a>) {
        use OutcomeKey as Key;
        let inner = fields.get(Key::Task).map(|json| json.object().unwrap_or_default());
        let text = |key| fields.text(key);
        // A task inside the outcome has more data than the outcome around it.
        let (shown, status) = match &inner {
            Some(task) => (task.text(&["task_id", "shellId"]), task.text(&["status"])),
            None => (text(Key::SnakeTask).or_else(|| text(Key::CamelShell)), text(Key::Status)),
        };
        let stopped = [Key::SnakeTask, Key::SnakeShell, Key::CamelShell].into_iter().find_map(text);
        let changed = || {
            let to = fields.get(Key::StatusChange)?.object()?.text(&["to"])?;
            Some((text(Key::CamelTask)?, to))
        };
        let listed = fields.get(Key::Tasks).and_then(Json::array).unwrap_or_default();
        let entries: Vec<Object<'a>> =
            inner.into_iter().chain(listed.into_iter().filter_map(Json::object)).collect();
        let (background, agent) = (text(Key::BackgroundTask), text(Key::Agent));
        let counts_tools = fields.has(Key::ToolUses);
        let (shown, changed) = (shown.zip(status), changed());
        if background.is_none()
            && agent.is_none()
            && !counts_tools
            && shown.is_none()
            && stopped.is_none()
            && changed.is_none()
            && entries.is_empty()
        {
            return;
        }
        let count = |key| fields.get(key).and_then(|json| json.source().parse().ok());
        let launched = fields.is_true(Key::IsAsync)
            || text(Key::Status).is_some_and(|status| status.ends_with("launched"));
        let usage = TaskUsage {
            tokens: count(Key::Tokens),
            tool_uses: count(Key::ToolUses),
            took: fields.number(Key::Took).map(Millis::from_f64),
        };
        let outcome = TaskOutcome {
            call: self.owner.own(call.clone()),
            background: self.own(background),
            agent: self.own(agent),
            agent_type: self.own(text(Key::AgentType)),
            launched,
            status: self.own(text(Key::Status)),
            usage,
            counts_tools,
            output: shown.map(|(id, status)| (self.owner.own(id), self.owner.own(status))),
            stopped: self.own(stopped),
            changed: changed.map(|(id, status)| (self.owner.own(id), self.owner.own(status))),
            entries: entries
                .iter()
                .filter_map(|entry| Some((self.text(entry, &["id"])?, self.text(entry, &["status"]))))
                .collect(),
        };
        self.found.push(Trace::TaskOutcome(Box::new(outcome)));
    }

    fn given(&mut self, call: Text<'a>, answers: Json<'a>) {
        let (call, answers) = (self.owner.own(call), self.json(answers));
        self.found.push(Trace::GivenAnswers(question::GivenAnswers { call, answers }));
    }
}

fn flag(json: Json<'_>) -> Option<bool> {
    match json.source() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Returns the text between a tag and its end.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_contains_the_text_up_to_its_end() {
        assert_eq!(tag("<a>1</a><status> completed </status>", "status"), Some("completed"));
        assert_eq!(tag("<status>completed", "status"), None);
        assert_eq!(tag("", "status"), None);
    }
}
