//! Runs of hooks, each once, whichever records tell of it.
//!
//! Three sorts of records do. The CLI's output has a start and an end under an id of the hook, but says neither the call nor
//! the command. A saved session says event, call and command. And a call that a hook refused says so in its answer, often
//! the only trace of that hook. Call and event join the last two. The first has nothing in common with them but session,
//! event and name, so its runs are joined in order, those that ended alike first: of hooks that ran at the same time the
//! command and the duration of one may go to the other, but each is counted once.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::member::{answers, calls, content, list, member, mentions, millis, opened, text};
use crate::{
    facts::{
        Name,
        ledger::{Call, Ledger, Mark, Record, SessionIndex},
    },
    measure::Millis,
};

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// When and where it is first told of.
    pub mark: Mark,
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

/// How a run of a hook ended. Of two tellings the later one in this order knows more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEnd {
    /// No end was seen.
    Open,
    /// It let things go on.
    Ok,
    /// It failed or was cancelled, and things went on.
    Failed,
    /// It blocked what it was asked about.
    Blocked,
}

impl HookEnd {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

impl Hook {
    fn new(record: &Record, event: &str, name: &str, end: HookEnd) -> Self {
        let mark = record.mark.clone();
        Self { mark, event: event.into(), name: name.into(), command: None, took: None, end }
    }

    /// Whether both may be one run: a name without a matcher goes with any.
    fn goes_with(&self, other: &Self) -> bool {
        let bare = |hook: &Self| hook.name == hook.event;
        self.event == other.event && (self.name == other.name || bare(self) || bare(other))
    }

    /// Learns what another telling of the same run knows.
    fn learn(&mut self, other: Self) {
        let Self { mark, event: _, name, command, took, end } = other;
        if self.name == self.event {
            self.name = name;
        }
        self.command = self.command.take().or(command);
        self.took = self.took.or(took);
        self.end = self.end.max(end);
        // A fork tells again what its origin did.
        self.mark.prefer_earlier_session(&mark);
        self.mark.time = self.mark.time.into_iter().chain(mark.time).min();
        if mark.at < self.mark.at {
            (self.mark.at, self.mark.version) = (mark.at, mark.version);
        }
    }
}

/// What one record tells of a run that belongs to a call or to something else with an id.
struct Telling {
    hook: Hook,
    /// The call, or an id that stands for the event.
    cause: Option<Name>,
    by: Teller,
}

/// What sort of record tells of a run. Each tells of a run once, so two of one sort are two runs; but for the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Teller {
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

/// The runs of all hooks, in the order they are first told of.
pub fn hooks(ledger: &Ledger) -> Vec<Hook> {
    let mut runs = saved(ledger);
    join(&mut runs, printed(ledger));
    runs.sort_by_key(|hook| hook.mark.at);
    runs
}

/// Runs that the CLI's output tells of, by the id of each.
fn printed(ledger: &Ledger) -> Vec<Hook> {
    let wanted = |record: &Record| {
        matches!(&*record.kind, "system/hook_started" | "system/hook_progress" | "system/hook_response")
            || matches!(&*record.kind, "control_request/hook_callback" | "control_response/success")
    };
    let sessions: HashMap<&str, SessionIndex> =
        SessionIndex::each(&ledger.sessions).filter_map(|(at, one)| Some((one.id.as_deref()?, at))).collect();
    let mut index: HashMap<String, usize> = HashMap::new();
    let mut runs: Vec<Hook> = Vec::new();
    for (record, json) in opened(ledger, wanted) {
        let (id, hook) = match &*record.kind {
            "control_response/success" => {
                // Most answers are to other requests; a callback's says what the hook decided.
                let Some(answer) = json.get("response") else { continue };
                let known = text(answer, &["request_id"]).and_then(|id| index.get(id));
                if let (Some(&at), Some(decision)) = (known, answer.get("response")) {
                    let end = if decides_to_block(decision) { HookEnd::Blocked } else { HookEnd::Ok };
                    runs[at].end = runs[at].end.max(end);
                }
                continue;
            }
            "control_request/hook_callback" => {
                (text(&json, &["request_id"]), callback(record, &json, &sessions))
            }
            _ => (text(&json, &["hook_id"]), system(record, &json)),
        };
        let (Some(id), Some(hook)) = (id, hook) else { continue };
        match index.get(id) {
            Some(&at) => runs[at].learn(hook),
            None => {
                index.insert(id.to_owned(), runs.len());
                runs.push(hook);
            }
        }
    }
    runs
}

fn system(record: &Record, json: &Value) -> Option<Hook> {
    let event = text(json, &["hook_event"])?;
    let end = if &*record.kind == "system/hook_response" { ended(json) } else { HookEnd::Open };
    Some(Hook::new(record, event, text(json, &["hook_name"]).unwrap_or(event), end))
}

/// A hook that the host runs. Its request names the session only in what it passes on.
fn callback(record: &Record, json: &Value, sessions: &HashMap<&str, SessionIndex>) -> Option<Hook> {
    let input = json.get("request")?.get("input")?;
    let event = text(input, &["hook_event_name"])?;
    let name = text(input, &["tool_name"]).map_or_else(|| event.to_owned(), |tool| format!("{event}:{tool}"));
    let mut hook = Hook::new(record, event, &name, HookEnd::Open);
    if let Some(&session) = text(input, &["session_id"]).and_then(|id| sessions.get(id)) {
        hook.mark.session = Some(session);
    }
    Some(hook)
}

/// How a run ended that says its exit code, its outcome or what it wrote.
fn ended(json: &Value) -> HookEnd {
    let exit = member(json, &["exit_code", "exitCode"]).and_then(Value::as_i64);
    let decision = text(json, &["stdout"]).and_then(|text| serde_json::from_str::<Value>(text).ok());
    match (exit, text(json, &["outcome"])) {
        // Two is the exit code of a hook that blocks.
        (Some(2), _) => HookEnd::Blocked,
        _ if decision.is_some_and(|decision| decides_to_block(&decision)) => HookEnd::Blocked,
        (_, Some("error" | "cancelled")) => HookEnd::Failed,
        (Some(exit), _) if exit != 0 => HookEnd::Failed,
        _ => HookEnd::Ok,
    }
}

/// Whether what a hook answered stops what it was asked about.
fn decides_to_block(decision: &Value) -> bool {
    let specific = decision.get("hookSpecificOutput");
    let behavior = specific.and_then(|own| own.get("decision")).and_then(|own| text(own, &["behavior"]));
    text(decision, &["decision"]) == Some("block")
        || decision.get("continue").and_then(Value::as_bool) == Some(false)
        || specific.and_then(|own| text(own, &["permissionDecision"])) == Some("deny")
        || behavior == Some("deny")
}

/// Runs that saved sessions and the answers of calls tell of.
fn saved(ledger: &Ledger) -> Vec<Hook> {
    let wanted = |record: &Record| match &*record.kind {
        // Nearly all of them have nothing to do with hooks.
        "user" => mentions(record, &["hook", "Hook"]),
        "system/stop_hook_summary" | "progress/hook_progress" | "attachment/async_hook_response" => true,
        kind => kind.starts_with("attachment/hook_"),
    };
    let calls = calls(ledger);
    let mut tellings: Vec<Telling> = Vec::new();
    // Forks and files that are given twice tell the same again.
    let mut seen: HashSet<String> = HashSet::new();
    for (record, json) in opened(ledger, wanted) {
        let told = match &*record.kind {
            "user" => refusals(record, &json, &calls),
            "system/stop_hook_summary" => summary(record, &json),
            "progress/hook_progress" => progress(record, &json).into_iter().collect(),
            kind => attachment(kind, record, &json).into_iter().collect(),
        };
        let is_new = text(&json, &["uuid"]).is_none_or(|uuid| seen.insert(uuid.to_owned()));
        tellings.extend(told.into_iter().filter(|telling| is_new || telling.by == Teller::Refusal));
    }
    let is_beside = |telling: &Telling| telling.by == Teller::Beside;
    let (beside, plain): (Vec<Telling>, Vec<Telling>) = tellings.into_iter().partition(is_beside);
    let mut runs = Runs::default();
    plain.into_iter().chain(beside).for_each(|telling| runs.add(telling));
    runs.all.into_iter().map(|(hook, _)| hook).collect()
}

/// Runs by event and by what caused them, each with those who tell of it.
#[derive(Default)]
struct Runs {
    all: Vec<(Hook, Vec<Teller>)>,
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
                Teller::Beginning | Teller::Ending | Teller::Summary => alike && !told.contains(&by),
                Teller::Refusal | Teller::Beside => alike,
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

fn attachment(kind: &str, record: &Record, json: &Value) -> Option<Telling> {
    let told = json.get("attachment")?;
    let event = text(told, &["hookEvent"])?;
    let (end, by) = match kind.strip_prefix("attachment/")? {
        "hook_success" | "async_hook_response" => (ended(told), Teller::Ending),
        "hook_blocking_error" => (HookEnd::Blocked, Teller::Ending),
        "hook_non_blocking_error" | "hook_error_during_execution" | "hook_cancelled" => {
            (HookEnd::Failed, Teller::Ending)
        }
        "hook_stopped_continuation" => (HookEnd::Blocked, Teller::Beside),
        "hook_permission_decision" if text(told, &["decision"]) == Some("deny") => {
            (HookEnd::Blocked, Teller::Beside)
        }
        // Context and messages that a hook added: it ran, and let things go on.
        _ => (HookEnd::Ok, Teller::Beside),
    };
    let mut hook = Hook::new(record, event, text(told, &["hookName"]).unwrap_or(event), end);
    let inner = told.get("blockingError").unwrap_or(&Value::Null);
    hook.command = text(told, &["command"]).or(text(inner, &["command"])).map(Name::from);
    hook.took = millis(told, &["durationMs"]);
    Some(Telling { hook, cause: text(told, &["toolUseID"]).map(Name::from), by })
}

/// The hooks at the end of a turn, or of a subagent's.
fn summary(record: &Record, json: &Value) -> Vec<Telling> {
    let event = if record.mark.agent.is_some() { "SubagentStop" } else { "Stop" };
    let infos = list(json, &["hookInfos"]);
    let errors: Vec<&str> = list(json, &["hookErrors"]).iter().filter_map(Value::as_str).collect();
    let prevented = json.get("preventedContinuation").and_then(Value::as_bool) == Some(true);
    let telling = |(at, info): (usize, &Value)| {
        let command = text(info, &["command"]);
        let named = || errors.iter().any(|error| command.is_some_and(|command| error.contains(command)));
        let end = match () {
            // Which of several it was the summary does not say: the first stands for it.
            () if prevented && at == 0 => HookEnd::Blocked,
            () if !errors.is_empty() && (infos.len() == 1 || named()) => HookEnd::Failed,
            () => HookEnd::Ok,
        };
        let mut hook = Hook::new(record, event, event, end);
        hook.command = command.map(Name::from);
        hook.took = millis(info, &["durationMs"]);
        Telling { hook, cause: text(json, &["toolUseID"]).map(Name::from), by: Teller::Summary }
    };
    infos.iter().enumerate().map(telling).collect()
}

/// A hook that began, as older versions saved it.
fn progress(record: &Record, json: &Value) -> Option<Telling> {
    let data = json.get("data")?;
    let event = text(data, &["hookEvent"])?;
    let mut hook = Hook::new(record, event, text(data, &["hookName"]).unwrap_or(event), HookEnd::Open);
    hook.command = text(data, &["command"]).map(Name::from);
    Some(Telling { hook, cause: text(json, &["toolUseID"]).map(Name::from), by: Teller::Beginning })
}

/// Calls that a hook refused: by the fields that say who decided, or by the sentence of the answer.
fn refusals(record: &Record, json: &Value, calls: &HashMap<&str, &Call>) -> Vec<Telling> {
    let mut tellings = Vec::new();
    for answer in answers(json).filter(|answer| answer.get("is_error").and_then(Value::as_bool) == Some(true))
    {
        let Some(id) = text(answer, &["tool_use_id"]) else { continue };
        let meta = list(json, &["tool_result_meta"]).iter().find(|meta| text(meta, &["id"]) == Some(id));
        let decision =
            meta.and_then(|meta| meta.get("permission_decision")).or(json.get("permissionDecision"));
        let by_hook = decision.filter(|decision| {
            text(decision, &["source"]) == Some("hook") && text(decision, &["decision"]) == Some("reject")
        });
        let said = content(answer).and_then(sentence);
        if by_hook.is_none() && said.is_none() {
            continue;
        }
        let code = by_hook.and_then(|decision| text(decision, &["reasonCode", "reason_code"]));
        let event = said.map(|(name, _)| name.split(':').next().unwrap_or(name));
        let event = event.or(code.and_then(|code| code.strip_prefix("hook:"))).unwrap_or("PreToolUse");
        let tool = calls.get(id).map(|call| format!("{event}:{}", call.tool));
        let name = said.map(|(name, _)| name.to_owned()).or(tool).unwrap_or_else(|| event.to_owned());
        let mut hook = Hook::new(record, event, &name, HookEnd::Blocked);
        hook.command = said.and_then(|(_, command)| command).map(Name::from);
        tellings.push(Telling { hook, cause: Some(Name::from(id)), by: Teller::Refusal });
    }
    tellings
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

/// Adds the runs that the CLI's output tells of to those of saved sessions, each once.
fn join(runs: &mut Vec<Hook>, printed: Vec<Hook>) {
    let mut free: HashMap<(Option<SessionIndex>, Name), Vec<Option<Hook>>> = HashMap::new();
    for hook in printed {
        free.entry((hook.mark.session, Name::clone(&hook.event))).or_default().push(Some(hook));
    }
    let mut alone: Vec<bool> = vec![true; runs.len()];
    for alike in [true, false] {
        for (run, alone) in runs.iter_mut().zip(&mut alone).filter(|(_, alone)| **alone) {
            let Some(same) = free.get_mut(&(run.mark.session, Name::clone(&run.event))) else { continue };
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
        let end = |text: &str| ended(&serde_json::from_str(text).unwrap());
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
