//! Runs of hooks, as single records tell of them.

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

/// What one record says of a run of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook<T> {
    /// What kind of record it is.
    pub sign: HookSign,
    /// The id of the run, or of what caused it: a call, or the event.
    pub id: Option<T>,
    /// What it waited for: `PreToolUse`, `Stop` and so on.
    pub event: Option<T>,
    /// The event, and what of it: `PreToolUse:Bash`.
    pub name: Option<T>,
    /// What ran.
    pub command: Option<T>,
    /// How long.
    pub took: Option<Millis>,
    /// How it ended.
    pub end: HookEnd,
    /// The session that a request names in what it passes on.
    pub session: Option<T>,
}

/// What kind of record tells of a run. Each but the last two tells of a run once, so two of one kind are two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSign {
    /// A line of the CLI's output, or a request to the host that runs the hook: under an id of the run.
    Printed,
    /// It began.
    Beginning,
    /// It ended.
    Ending,
    /// It was among those at the end of a turn.
    Summary,
    /// It refused a call. A call is refused once, however often that is told.
    Refusal,
    /// It added something, or stopped something.
    Beside,
}

names! {
    /// How a run of a hook ended. Of two records about a run the later one in this order knows more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum HookEnd {
        /// No end was seen.
        Open = "open",
        /// It let things go on.
        Ok = "ok",
        /// It failed or was cancelled, and things went on.
        Failed = "failed",
        /// It blocked what it was asked about.
        Blocked = "blocked",
    }
}

impl<'a, T> Decoder<'_, 'a, T> {
    fn hook(&mut self, sign: HookSign, end: HookEnd, own: Own<'a>) {
        let Own { id, event, name, command, took, session } = own;
        let hook = Hook {
            sign,
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

    /// `system/hook_started`, `hook_progress` and `hook_response`, and the hooks at the end of a turn.
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
        self.hook(HookSign::Printed, end, Own { id: Some(id), event: Some(event), name, ..Own::default() });
    }

    /// A hook that the host runs. Its request names the session only in what it passes on.
    pub(super) fn hook_callback(&mut self, id: Text<'a>, request: &Object<'a>) {
        let Some(input) = request.object("input") else { return };
        let Some(event) = input.text(&["hook_event_name"]) else { return };
        let name = input.text(&["tool_name"]).map(|tool| format!("{event}:{tool}").into());
        let session = input.text(&["session_id"]);
        let own = Own { id: Some(id), event: Some(event), name, session, ..Own::default() };
        self.hook(HookSign::Printed, HookEnd::Open, own);
    }

    /// The hooks at the end of a turn, or of a subagent's: which of the two the rest of the log says.
    fn hook_summary(&mut self, record: &Object<'a>) {
        let infos: Vec<Object<'a>> = record.list("hookInfos").into_iter().filter_map(Json::object).collect();
        let errors: Vec<Text<'a>> = record.list("hookErrors").into_iter().filter_map(Json::string).collect();
        let prevented = record.is_true("preventedContinuation");
        for (at, info) in infos.iter().enumerate() {
            let command = info.text(&["command"]);
            let named =
                || errors.iter().any(|error| command.as_ref().is_some_and(|one| error.contains(&**one)));
            let end = match () {
                // Which of several it was the summary does not say: the first stands for it.
                () if prevented && at == 0 => HookEnd::Blocked,
                () if !errors.is_empty() && (infos.len() == 1 || named()) => HookEnd::Failed,
                () => HookEnd::Ok,
            };
            let own = Own { id: record.text(&["toolUseID"]), took: took(info), command, ..Own::default() };
            self.hook(HookSign::Summary, end, own);
        }
    }

    /// A hook that began, as older versions saved it.
    pub(super) fn progress(&mut self, record: &Object<'a>) {
        let Some(data) = record.object("data") else { return };
        let Some(event) = data.text(&["hookEvent"]) else { return };
        let own = Own {
            id: record.text(&["toolUseID"]),
            event: Some(event),
            name: data.text(&["hookName"]),
            command: data.text(&["command"]),
            ..Own::default()
        };
        self.hook(HookSign::Beginning, HookEnd::Open, own);
    }

    /// An attachment of a saved session about a hook.
    pub(super) fn saved_hook(&mut self, sub: &str, attachment: &Object<'a>) {
        let Some(event) = attachment.text(&["hookEvent"]) else { return };
        let (end, sign) = match sub {
            "hook_success" | "async_hook_response" => (ended(attachment), HookSign::Ending),
            "hook_blocking_error" => (HookEnd::Blocked, HookSign::Ending),
            "hook_non_blocking_error" | "hook_error_during_execution" | "hook_cancelled" => {
                (HookEnd::Failed, HookSign::Ending)
            }
            "hook_stopped_continuation" => (HookEnd::Blocked, HookSign::Beside),
            "hook_permission_decision" if attachment.text(&["decision"]).as_deref() == Some("deny") => {
                (HookEnd::Blocked, HookSign::Beside)
            }
            // Context and messages that a hook added: it ran, and let things go on.
            _ => (HookEnd::Ok, HookSign::Beside),
        };
        let inner = || attachment.object("blockingError")?.text(&["command"]);
        let own = Own {
            id: attachment.text(&["toolUseID"]),
            event: Some(event),
            name: attachment.text(&["hookName"]),
            command: attachment.text(&["command"]).or_else(inner),
            took: took(attachment),
            session: None,
        };
        self.hook(sign, end, own);
    }

    /// A call that a hook refused: by the fields that say who decided, or by the sentence of the answer.
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
            sign: HookSign::Refusal,
            id: Some((self.own)(id)),
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

/// What a record says of a run, before it is owned.
#[derive(Default)]
struct Own<'a> {
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

/// How a run ended that says its exit code, its outcome or what it wrote.
fn ended(record: &Object<'_>) -> HookEnd {
    let exit: Option<i64> =
        record.member(&["exit_code", "exitCode"]).and_then(|exit| exit.source().parse().ok());
    let blocks = record
        .text(&["stdout"])
        .is_some_and(|text| json::object(&text).is_ok_and(|decision| blocks(&decision)));
    match (exit, record.text(&["outcome"]).as_deref()) {
        // Two is the exit code of a hook that blocks.
        (Some(2), _) => HookEnd::Blocked,
        _ if blocks => HookEnd::Blocked,
        (_, Some("error" | "cancelled")) => HookEnd::Failed,
        (Some(exit), _) if exit != 0 => HookEnd::Failed,
        _ => HookEnd::Ok,
    }
}

/// Whether what a hook answered stops what it was asked about.
pub(super) fn blocks(decision: &Object<'_>) -> bool {
    let is = |object: &Object<'_>, name: &str, value: &str| object.text(&[name]).as_deref() == Some(value);
    let specific = decision.object("hookSpecificOutput").unwrap_or_default();
    is(decision, "decision", "block")
        || decision.get("continue").is_some_and(|json| json.source() == "false")
        || is(&specific, "permissionDecision", "deny")
        || specific.object("decision").is_some_and(|own| is(&own, "behavior", "deny"))
}

/// Name and command out of `PreToolUse:Bash hook error: [command]: …` and `Hook PreToolUse:Bash denied this tool`.
fn sentence(text: &str) -> Option<(&str, Option<&str>)> {
    // What else a tool wrote before these words is no name: it may be anything.
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
    fn a_sentence_of_a_refused_call_names_the_hook_and_its_command() {
        let told = sentence("PreToolUse:Bash hook error: [echo no >&2; exit 2]: no");
        assert_eq!(told, Some(("PreToolUse:Bash", Some("echo no >&2; exit 2"))));
        assert_eq!(sentence("PreToolUse:Bash hook error: no"), Some(("PreToolUse:Bash", None)));
        assert_eq!(sentence("Hook PreToolUse:Write denied this tool"), Some(("PreToolUse:Write", None)));
        assert_eq!(sentence("the log says: x hook error: [a]: b"), None);
        assert_eq!(sentence("Password:it is x hook error: [a]: b"), None);
        assert_eq!(sentence("password hook error: no"), None);
        assert_eq!(sentence("exit code 1"), None);
    }

    #[test]
    fn a_hook_blocks_by_its_exit_code_or_by_what_it_answers() {
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
