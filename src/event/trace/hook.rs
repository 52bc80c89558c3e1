//! Decodes runs of hooks.

use super::{Decoder, Object, Text, ToolResult, Trace, content};
use crate::{
    event::{
        fields::{DecisionFields, DecisionKey},
        json::{self, Json},
        obvious::Obvious,
        record::Parser,
    },
    measure::Millis,
};

/// A run of a hook, as one record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook<T> {
    /// Kind of the record.
    pub record_kind: HookRecordKind,
    /// Id of the run, or of its cause: a call, or the event.
    pub id: Option<T>,
    /// Event of the hook: `PreToolUse`, `Stop` and so on.
    pub event: Option<T>,
    /// Event and matcher: `PreToolUse:Bash`.
    pub name: Option<T>,
    pub command: Option<T>,
    /// Its duration.
    pub took: Option<Millis>,
    /// How it ended.
    pub end: HookEnd,
    /// Session in the input of a request to the host.
    pub session: Option<T>,
}

/// Kind of a record about a run. A run has at most one record of each kind except the last two, so two
/// records of one kind are two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRecordKind {
    /// A printed line, or a request to the host that runs the hook. It has the id of the run.
    Printed,
    /// The start of a run.
    Beginning,
    /// The end of a run.
    Ending,
    /// An entry of the summary at the end of a turn.
    Summary,
    /// A denied call. A call is denied once, however many records repeat it.
    Refusal,
    /// The hook added context, or stopped the run.
    SideEffect,
}

names! {
    /// How a run of a hook ended. If records differ, the greater value counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum HookEnd {
        /// There is no record of its end.
        Open = "open",
        /// It did not block.
        Ok = "ok",
        /// It failed or was cancelled, without blocking.
        Failed = "failed",
        /// It blocked the event.
        Blocked = "blocked",
    }
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    fn hook(&mut self, record_kind: HookRecordKind, end: HookEnd, fields: HookFields<'a>) {
        let HookFields { id, event, name, command, took, session } = fields;
        let hook = Hook {
            record_kind,
            id: self.own(id),
            name: self.own(name.or_else(|| event.clone())),
            event: self.own(event),
            command: self.own(command),
            took,
            end,
            session: self.own(session),
        };
        self.found.push(Trace::Hook(Box::new(hook)));
    }

    /// Decodes `system/hook_started`, `hook_progress` and `hook_response`, and the summary at the end of a
    /// turn.
    pub(super) fn printed_hook(&mut self, sub: &str, record: &Object<'a>) {
        if sub == "stop_hook_summary" {
            return self.hook_summary(record);
        }
        let end = match sub {
            "hook_started" | "hook_progress" => HookEnd::Open,
            "hook_response" => ended(record),
            _ => return,
        };
        let (Some(id), Some(event)) = (record.text(&["hook_id"]), record.text(&["hook_event"])) else {
            return;
        };
        let name = record.text(&["hook_name"]);
        self.hook(
            HookRecordKind::Printed,
            end,
            HookFields { id: Some(id), event: Some(event), name, ..HookFields::default() },
        );
    }

    /// Decodes a hook that the host runs. Its request has the session only in the input.
    pub(super) fn hook_callback(&mut self, id: Text<'a>, request: &Object<'a>) {
        let Some(input) = request.object("input") else { return };
        let Some(event) = input.text(&["hook_event_name"]) else { return };
        let name = input.text(&["tool_name"]).map(|tool| format!("{event}:{tool}").into());
        let session = input.text(&["session_id"]);
        let fields = HookFields { id: Some(id), event: Some(event), name, session, ..HookFields::default() };
        self.hook(HookRecordKind::Printed, HookEnd::Open, fields);
    }

    /// Decodes the hooks at the end of a turn. Whether it is the turn of the main agent or a subagent follows
    /// from other records.
    fn hook_summary(&mut self, record: &Object<'a>) {
        let infos: Vec<Object<'a>> = record.list("hookInfos").into_iter().filter_map(Json::object).collect();
        let errors: Vec<Text<'a>> = record.list("hookErrors").into_iter().filter_map(Json::string).collect();
        let prevented = record.is_true("preventedContinuation");
        for (at, info) in infos.iter().enumerate() {
            let command = info.text(&["command"]);
            let named =
                || errors.iter().any(|error| command.as_ref().is_some_and(|one| error.contains(&**one)));
            let end = match () {
                // The summary does not say which hook blocked, so the first is taken.
                () if prevented && at == 0 => HookEnd::Blocked,
                () if !errors.is_empty() && (infos.len() == 1 || named()) => HookEnd::Failed,
                () => HookEnd::Ok,
            };
            let fields = HookFields {
                id: record.text(&["toolUseID"]),
                took: took(info),
                command,
                ..HookFields::default()
            };
            self.hook(HookRecordKind::Summary, end, fields);
        }
    }

    /// Decodes the start of a hook, as older versions saved it.
    pub(super) fn progress(&mut self, record: &Object<'a>) {
        let Some(data) = record.object("data") else { return };
        let Some(event) = data.text(&["hookEvent"]) else { return };
        let fields = HookFields {
            id: record.text(&["toolUseID"]),
            event: Some(event),
            name: data.text(&["hookName"]),
            command: data.text(&["command"]),
            ..HookFields::default()
        };
        self.hook(HookRecordKind::Beginning, HookEnd::Open, fields);
    }

    /// Decodes an attachment of a saved session about a hook.
    pub(super) fn saved_hook(&mut self, sub: &str, attachment: &Object<'a>) {
        let Some(event) = attachment.text(&["hookEvent"]) else { return };
        let (end, record_kind) = match sub {
            "hook_success" | "async_hook_response" => (ended(attachment), HookRecordKind::Ending),
            "hook_blocking_error" => (HookEnd::Blocked, HookRecordKind::Ending),
            "hook_non_blocking_error" | "hook_error_during_execution" | "hook_cancelled" => {
                (HookEnd::Failed, HookRecordKind::Ending)
            }
            "hook_stopped_continuation" => (HookEnd::Blocked, HookRecordKind::SideEffect),
            "hook_permission_decision" if attachment.text(&["decision"]).as_deref() == Some("deny") => {
                (HookEnd::Blocked, HookRecordKind::SideEffect)
            }
            // Context and messages that a hook added: it ran and did not block.
            _ => (HookEnd::Ok, HookRecordKind::SideEffect),
        };
        let inner = || attachment.object("blockingError")?.text(&["command"]);
        let fields = HookFields {
            id: attachment.text(&["toolUseID"]),
            event: Some(event),
            name: attachment.text(&["hookName"]),
            command: attachment.text(&["command"]).or_else(inner),
            took: took(attachment),
            session: None,
        };
        self.hook(record_kind, end, fields);
    }

    /// Decodes a call that a hook denied: by the fields of the decision, or by the sentence in the result.
    pub(super) fn hook_refusal(&mut self, answer: &ToolResult<'a>) {
        let Some(id) = answer.id.clone() else { return };
        let by_hook = answer
            .decision
            .and_then(|json| Obvious::fields::<DecisionFields<'_>>(Json::checked(json)))
            .filter(|decision| {
                decision.text(DecisionKey::Source).as_deref() == Some("hook")
                    && decision.text(DecisionKey::Decision).as_deref() == Some("reject")
            });
        let text = answer.content.and_then(|json| content(Json::checked(json)));
        let said = text.as_deref().and_then(sentence);
        if by_hook.is_none() && said.is_none() {
            return;
        }
        let code = by_hook.and_then(|decision| {
            decision.text(DecisionKey::CamelCode).or_else(|| decision.text(DecisionKey::SnakeCode))
        });
        let event = said.map(|(name, _)| name.split(':').next().unwrap_or(name).to_owned().into());
        let coded = || Some(code.as_deref()?.strip_prefix("hook:")?.to_owned().into());
        let hook = Hook {
            record_kind: HookRecordKind::Refusal,
            id: Some(self.owner.own(id)),
            event: self.own(event.or_else(coded)),
            // Without the sentence the name follows from the tool of the call.
            name: self.own(said.map(|(name, _)| name.to_owned().into())),
            command: self.own(said.and_then(|(_, command)| command).map(|command| command.to_owned().into())),
            took: None,
            end: HookEnd::Blocked,
            session: None,
        };
        self.found.push(Trace::Hook(Box::new(hook)));
    }
}

/// Borrowed fields of a run.
#[derive(Default)]
struct HookFields<'a> {
    id: Option<Text<'a>>,
    event: Option<Text<'a>>,
    name: Option<Text<'a>>,
    command: Option<Text<'a>>,
    took: Option<Millis>,
    session: Option<Text<'a>>,
}

fn took(object: &Object<'_>) -> Option<Millis> {
    object.member(&["durationMs"])?.number().map(Millis::from_f64)
}

/// Returns how a run ended, by its exit code, its outcome or its output.
fn ended(record: &Object<'_>) -> HookEnd {
    let exit: Option<i64> =
        record.member(&["exit_code", "exitCode"]).and_then(|exit| exit.source().parse().ok());
    let blocks = record
        .text(&["stdout"])
        .is_some_and(|text| json::object(&text).is_ok_and(|decision| blocks(&decision)));
    match (exit, record.text(&["outcome"]).as_deref()) {
        // Exit code 2 means that the hook blocks.
        (Some(2), _) => HookEnd::Blocked,
        _ if blocks => HookEnd::Blocked,
        (_, Some("error" | "cancelled")) => HookEnd::Failed,
        (Some(exit), _) if exit != 0 => HookEnd::Failed,
        _ => HookEnd::Ok,
    }
}

/// Returns whether the output of a hook blocks the event.
pub(super) fn blocks(decision: &Object<'_>) -> bool {
    let is = |object: &Object<'_>, name: &str, value: &str| object.text(&[name]).as_deref() == Some(value);
    let specific = decision.object("hookSpecificOutput").unwrap_or_default();
    is(decision, "decision", "block")
        || decision.get("continue").is_some_and(|json| json.source() == "false")
        || is(&specific, "permissionDecision", "deny")
        || specific.object("decision").is_some_and(|own| is(&own, "behavior", "deny"))
}

/// Parses name and command from `PreToolUse:Bash hook error: [command]: …` and `Hook PreToolUse:Bash denied
/// this tool`.
fn sentence(text: &str) -> Option<(&str, Option<&str>)> {
    // Other output of a tool before these words is not the name of a hook.
    let plain = |name: &&str| {
        let event = name.split(':').next().unwrap_or_default();
        event.starts_with(|letter: char| letter.is_ascii_uppercase())
            && event.chars().all(char::is_alphanumeric)
            && !name.contains(char::is_whitespace)
    };
    if let Some((name, rest)) = text.split_once(" hook error: ").filter(|(name, _)| plain(name)) {
        let command =
            rest.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(command, _)| command);
        return Some((name, command));
    }
    let (name, _) = text.strip_prefix("Hook ")?.split_once(" denied this tool")?;
    Some(name).filter(plain).map(|name| (name, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_of_a_denied_call_names_the_hook_and_its_command() {
        let parsed = sentence("PreToolUse:Bash hook error: [echo no >&2; exit 2]: no");
        assert_eq!(parsed, Some(("PreToolUse:Bash", Some("echo no >&2; exit 2"))));
        assert_eq!(sentence("PreToolUse:Bash hook error: no"), Some(("PreToolUse:Bash", None)));
        assert_eq!(sentence("Hook PreToolUse:Write denied this tool"), Some(("PreToolUse:Write", None)));
        assert_eq!(sentence("the log says: x hook error: [a]: b"), None);
        assert_eq!(sentence("Password:it is x hook error: [a]: b"), None);
        assert_eq!(sentence("password hook error: no"), None);
        assert_eq!(sentence("exit code 1"), None);
    }

    #[test]
    fn a_hook_blocks_by_its_exit_code_or_its_output() {
        let end = |text: &str| ended(&json::object(text).unwrap());
        assert_eq!(end(r#"{"exit_code":0,"outcome":"success"}"#), HookEnd::Ok);
        assert_eq!(end(r#"{"exit_code":2,"outcome":"error"}"#), HookEnd::Blocked);
        assert_eq!(end(r#"{"exitCode":1}"#), HookEnd::Failed);
        assert_eq!(end(r#"{"outcome":"cancelled"}"#), HookEnd::Failed);
        assert_eq!(end(r#"{"exitCode":0,"stdout":"{\"decision\":\"block\"}"}"#), HookEnd::Blocked);
        assert_eq!(end(r#"{"exitCode":0,"stdout":"{\"continue\":false}"}"#), HookEnd::Blocked);
        let deny = r#"{"stdout":"{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}"}"#;
        assert_eq!(end(deny), HookEnd::Blocked);
        assert_eq!(end(r#"{"exitCode":0,"stdout":"block"}"#), HookEnd::Ok);
    }
}
