//! Who allowed or refused each call, and in which mode.

mod obstacle;

pub use obstacle::Obstacle;

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{text, traces};
use crate::{
    event,
    facts::ledger::{At, Call, End, Ledger, Mark, Record, SessionIndex},
};

/// What is known of the decision about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it was allowed; nothing where it never came to a decision, or the log does not say.
    pub allowed: Option<bool>,
    /// Whether someone was asked: a person or a host.
    pub asked: bool,
    /// Who decided, as the log writes it: `config`, `hook`, `user_temporary`, `user_reject`, `host` …
    pub source: Option<String>,
    /// Why, as the log writes it: `rule`, `mode`, `hook`, `subcommandResults` …
    pub reason: Option<String>,
    /// The rule, or the scope of the rule, that decided, where the log says it.
    pub rule: Option<String>,
    /// The mode in force when it was asked.
    pub mode: Option<String>,
    /// The obstacle that no allow rule could have removed.
    pub obstacle: Option<Obstacle>,
}

/// A session goes on in another mode, or begins in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// When and where.
    pub mark: Mark,
    /// The mode.
    pub mode: String,
}

/// What a call was made with, in one line: its command, file, address or question.
pub fn subject(call: &Call) -> Option<String> {
    let input: Value = serde_json::from_str(call.input_text.as_deref()?).ok()?;
    let line = event::main_input(&input);
    line.lines().next().map(str::to_owned).filter(|line| !line.is_empty())
}

/// The decision about each call of the ledger, and the modes that were in force.
pub fn decisions(ledger: &Ledger) -> (Vec<Decision>, Vec<ModeChange>) {
    let mut told = Told {
        calls: ledger
            .calls
            .iter()
            .enumerate()
            .filter_map(|(at, call)| Some((call.id.as_deref()?.to_owned(), at)))
            .collect(),
        decisions: vec![Decision::default(); ledger.calls.len()],
        refusals: vec![Refusal::default(); ledger.calls.len()],
        requests: HashMap::new(),
        answers: Vec::new(),
        modes: Vec::new(),
    };
    traces(ledger).for_each(|(record, value)| told.read(record, &value));
    let Told { mut decisions, refusals, requests, answers, mut modes, .. } = told;
    for (request, allowed) in answers {
        if let Some(&call) = requests.get(&request) {
            let decision = &mut decisions[call];
            decision.allowed.get_or_insert(allowed);
            decision.source.get_or_insert_with(|| "host".to_owned());
        }
    }
    for (decision, call) in decisions.iter_mut().zip(&ledger.calls) {
        // A call that answered was allowed, whoever did it; one that failed may never have come so far.
        decision.allowed = match call.end {
            End::Ok => Some(true),
            End::Denied => Some(false),
            End::Error | End::Open => decision.allowed,
        };
    }
    keep_changes(&mut modes);
    in_force(&mut decisions, ledger, &modes);
    for (decision, refusal) in
        decisions.iter_mut().zip(refusals).filter(|(one, _)| one.allowed == Some(false))
    {
        decision.obstacle = Obstacle::of(decision, refusal.kind.as_deref()).or(refusal.said);
    }
    (decisions, modes)
}

/// The answer to a refused call.
#[derive(Clone, Debug, Default)]
struct Refusal {
    /// `non_execution_kind` of a stream, `toolDenialKind` of a saved session.
    kind: Option<String>,
    /// What its text says.
    said: Option<Obstacle>,
}

struct Told {
    calls: HashMap<String, usize>,
    decisions: Vec<Decision>,
    refusals: Vec<Refusal>,
    /// The call that each request of the control protocol asks about.
    requests: HashMap<String, usize>,
    /// What was answered to requests: they may stand before them, in another log.
    answers: Vec<(String, bool)>,
    modes: Vec<ModeChange>,
}

impl Told {
    fn read(&mut self, record: &Record, value: &Value) {
        match &*record.kind {
            "user" => self.user(value),
            "system/permission_denied" => {
                self.decided(&value["tool_use_id"], |told| {
                    told.allowed.get_or_insert(false);
                    set(&mut told.reason, &value["decision_reason_type"]);
                });
                self.refused(&value["tool_use_id"], &value["message"]);
            }
            "control_request/can_use_tool" => self.asked(value),
            kind if kind.starts_with("control_response") => self.answered(value),
            "permission_request" => self.decided(&value["toolUseId"], |told| told.asked = true),
            "approve" | "approve_always" | "reject" => {
                let allowed = &*record.kind != "reject";
                self.decided(&value["id"], |told| {
                    told.asked = true;
                    told.allowed.get_or_insert(allowed);
                    told.source.get_or_insert_with(|| "user".to_owned());
                    if &*record.kind == "approve_always" {
                        told.rule.get_or_insert_with(|| "session".to_owned());
                    }
                });
            }
            _ => {}
        }
        let mode = match &*record.kind {
            "permission-mode" => text(&value["permissionMode"]).or_else(|| text(&value["mode"])),
            _ => text(&value["permissionMode"]),
        };
        if let Some(mode) = mode {
            self.modes.push(ModeChange { mark: record.mark.clone(), mode: mode.to_owned() });
        }
    }

    fn decided(&mut self, id: &Value, tell: impl FnOnce(&mut Decision)) {
        if let Some(&call) = id.as_str().and_then(|id| self.calls.get(id)) {
            tell(&mut self.decisions[call]);
        }
    }

    /// The text of a refusal.
    fn refused(&mut self, id: &Value, text: &Value) {
        if let Some(&call) = id.as_str().and_then(|id| self.calls.get(id)) {
            let said = &mut self.refusals[call].said;
            *said = said.or_else(|| Obstacle::of_text(text.as_str()?));
        }
    }

    /// The kind of a refusal.
    fn refused_as(&mut self, id: &Value, kind: &Value) {
        if let Some(&call) = id.as_str().and_then(|id| self.calls.get(id)) {
            set(&mut self.refusals[call].kind, kind);
        }
    }

    /// The line of an answer: the stream tells of each call by its id, the saved session of the one that it answers.
    fn user(&mut self, value: &Value) {
        for meta in value["tool_result_meta"].as_array().into_iter().flatten() {
            self.decided(&meta["id"], |told| permission(told, &meta["permission_decision"]));
            self.refused_as(&meta["id"], &meta["non_execution_kind"]);
        }
        for block in value["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_result" && block["is_error"] == true {
                self.refused(&block["tool_use_id"], said(&block["content"]));
                self.refused_as(&block["tool_use_id"], &value["toolDenialKind"]);
            }
        }
        let saved = &value["permissionDecision"];
        let blocks = value["message"]["content"].as_array().into_iter().flatten();
        if let Some(block) = blocks.into_iter().find(|block| block["type"] == "tool_result")
            && saved.is_object()
        {
            self.decided(&block["tool_use_id"], |told| permission(told, saved));
        }
    }

    fn asked(&mut self, value: &Value) {
        let request = &value["request"];
        let Some(&call) = request["tool_use_id"].as_str().and_then(|id| self.calls.get(id)) else { return };
        let told = &mut self.decisions[call];
        told.asked = true;
        set(&mut told.reason, &request["decision_reason_type"]);
        set(&mut told.rule, &request["matched_ask_rule"]);
        if let Some(id) = text(&value["request_id"]) {
            self.requests.insert(id.to_owned(), call);
        }
    }

    fn answered(&mut self, value: &Value) {
        let response = &value["response"];
        let allowed = match response["response"]["behavior"].as_str() {
            Some("allow") => true,
            Some("deny") => false,
            _ => return,
        };
        if let Some(id) = text(&response["request_id"]) {
            self.answers.push((id.to_owned(), allowed));
        }
    }
}

/// What `permission_decision` of a stream and `permissionDecision` of a saved session say.
fn permission(told: &mut Decision, value: &Value) {
    match value["decision"].as_str() {
        Some("accept") => told.allowed = Some(true),
        Some("reject") => told.allowed = Some(false),
        _ => {}
    }
    let source = text(&value["source"]);
    // `user_temporary`, `user_permanent`, `user_reject`: a person or a host was asked.
    told.asked |= source.is_some_and(|source| source.starts_with("user"));
    if let Some(source) = source {
        told.source = Some(source.to_owned());
    }
    set(&mut told.reason, &value["reason_type"]);
    set(&mut told.reason, &value["reasonType"]);
    set(&mut told.rule, &value["ruleSource"]);
    if value["reasonCode"] != "unknown" {
        set(&mut told.reason, &value["reasonCode"]);
    }
}

/// The text of an answer: a string, or the first of its blocks.
fn said(content: &Value) -> &Value {
    if content.is_array() { &content[0]["text"] } else { content }
}

/// Takes what is not known yet.
fn set(known: &mut Option<String>, value: &Value) {
    if let (None, Some(text)) = (&known, text(value)) {
        *known = Some(text.to_owned());
    }
}

/// Leaves the first mode of each session and those that differ from the one before.
fn keep_changes(modes: &mut Vec<ModeChange>) {
    let mut last: BTreeMap<Option<SessionIndex>, String> = BTreeMap::new();
    modes.retain(|change| {
        last.insert(change.mark.session, change.mode.clone()).as_ref() != Some(&change.mode)
    });
}

/// Finds the mode that each call was asked in: the last one of its session that stands before it.
fn in_force(decisions: &mut [Decision], ledger: &Ledger, modes: &[ModeChange]) {
    let before = |mark: &Mark| {
        let stands = |at: Option<At>| at.map(|at| (at.source, at.offset));
        let own = modes.iter().filter(|change| change.mark.session == mark.session);
        let mut same = own.clone().filter(|change| {
            change.mark.at.map(|at| at.source) == mark.at.map(|at| at.source)
                && stands(change.mark.at) <= stands(mark.at)
        });
        // A subagent's own file says no mode: that of its session holds.
        same.next_back().or_else(|| own.clone().next()).map(|change| change.mode.clone())
    };
    for (decision, call) in decisions.iter_mut().zip(&ledger.calls) {
        decision.mode = before(&call.mark);
    }
}
