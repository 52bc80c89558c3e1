//! Requests over a bridge: a tool needs approval, a question needs an answer, a session is started or stopped.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::{Decision, Direction, Request, Scene, Seen, wire::text};
use crate::{facts::ledger::Record, input::SourceId};

/// What a client asks of its bridge, and the kinds of records that answer it. Some are answered by nothing that has a name.
const ASKED: &[(&str, &[&str])] = &[
    ("start", &["system/session_created", "system/init"]),
    ("resume_session", &["system/session_created", "system/init"]),
    ("get_history", &["history"]),
    ("stop_session", &[]),
    ("list_sessions", &[]),
    ("list_recent_sessions", &[]),
];

/// What a client says to a request for approval.
const DECIDED: &[(&str, Decision)] = &[
    ("approve", Decision::Allow),
    ("approve_always", Decision::Allow),
    ("reject", Decision::Deny),
    ("answer", Decision::Allow),
];

/// Every request of both directions.
pub(super) fn requests(scene: &Scene<'_>) -> Vec<Request> {
    let mut all = approvals(scene);
    all.extend(wishes(scene));
    all
}

/// The halves of a request for approval.
#[derive(Default)]
struct Approval<'a> {
    asked: Option<(&'a Record, Option<String>)>,
    answered: Option<(&'a Record, Decision)>,
}

fn approvals(scene: &Scene<'_>) -> Vec<Request> {
    let mut by_call: BTreeMap<String, Approval<'_>> = BTreeMap::new();
    for record in &scene.ledger.records {
        let decided = DECIDED.iter().find(|(kind, _)| **kind == *record.kind);
        if decided.is_none() && &*record.kind != "permission_request" {
            continue;
        }
        let Some(line) = opened(record) else { continue };
        let Some(call) = text(&line, "toolUseId").or_else(|| text(&line, "id")) else { continue };
        let approval = by_call.entry(call).or_default();
        match decided {
            Some(&(_, decision)) => _ = approval.answered.get_or_insert((record, decision)),
            None => _ = approval.asked.get_or_insert_with(|| (record, text(&line, "toolName"))),
        }
    }
    by_call.into_iter().filter_map(|(call, approval)| approved(scene, call, approval)).collect()
}

fn approved(scene: &Scene<'_>, id: String, approval: Approval<'_>) -> Option<Request> {
    let Approval { asked, answered } = approval;
    let call = scene.calls.get(&*id).copied();
    let answer = answered.map(|(record, _)| record);
    let is_answer = answer.is_some_and(|record| &*record.kind == "answer");
    // A question is asked by its call; a bridge may ask for approval besides.
    let question = is_answer && asked.is_none();
    let first = asked.as_ref().map(|(record, _)| *record);
    let mark = match call.filter(|_| question) {
        Some(call) => &call.mark,
        None => &first.or(answer)?.mark,
    };
    let asked_at = if first.is_some() || (question && call.is_some()) { mark.time } else { None };
    let decision = match answered {
        Some(_) if question => Decision::Success,
        Some((_, decision)) => decision,
        None => scene.ended(Some(&id)).unwrap_or(Decision::Unanswered),
    };
    let own = |record: &Record| scene.session(&record.mark);
    Some(Request {
        direction: Direction::ToClient,
        subtype: Some(if question { "answer" } else { "permission_request" }.to_owned()),
        tool: asked.and_then(|(_, tool)| tool).or_else(|| call.map(|call| call.tool.to_string())),
        decision: Some(decision),
        always: answer.is_some_and(|record| &*record.kind == "approve_always"),
        latency: asked_at.zip(answer.and_then(|record| record.mark.time)).map(|(from, to)| to.since(from)),
        session: answer.and_then(own).or_else(|| first.and_then(own)).or_else(|| scene.session(mark)),
        time: mark.time,
        at: mark.at,
        seen: match (first.is_some() || (question && call.is_some()), answer.is_some()) {
            (true, true) => Seen::Both,
            (true, false) => Seen::Request,
            (false, _) => Seen::Response,
        },
        id: Some(id),
    })
}

/// What a client wants of its bridge. Nothing pairs these but their order in a source.
fn wishes(scene: &Scene<'_>) -> Vec<Request> {
    let mut all: Vec<Request> = Vec::new();
    let mut waiting: BTreeMap<SourceId, VecDeque<(usize, &[&str])>> = BTreeMap::new();
    for record in &scene.ledger.records {
        let Some(at) = record.mark.at else { continue };
        let waiting = waiting.entry(at.source).or_default();
        if let Some((_, answers)) = ASKED.iter().find(|(kind, _)| **kind == *record.kind) {
            if !answers.is_empty() {
                waiting.push_back((all.len(), answers));
            }
            all.push(wish(scene, record, !answers.is_empty()));
            continue;
        }
        let failed = &*record.kind == "error";
        let answered = |(_, answers): &(usize, &[&str])| failed || answers.contains(&&*record.kind);
        let Some(found) = waiting.iter().position(answered).and_then(|place| waiting.remove(place)) else {
            continue;
        };
        let request = &mut all[found.0];
        request.decision = Some(if failed { Decision::Error } else { Decision::Success });
        request.latency = request.time.zip(record.mark.time).map(|(from, to)| to.since(from));
        request.seen = Seen::Both;
        if !failed {
            request.session = request.session.or_else(|| scene.session(&record.mark));
        }
    }
    all
}

fn wish(scene: &Scene<'_>, record: &Record, is_answered: bool) -> Request {
    // What names no session is not about the one that runs: it may begin another.
    let named = opened(record).is_some_and(|line| text(&line, "sessionId").is_some());
    Request {
        direction: Direction::ToBridge,
        subtype: Some(record.kind.to_string()),
        tool: None,
        decision: is_answered.then_some(Decision::Unanswered),
        always: false,
        latency: None,
        id: None,
        session: if named { scene.session(&record.mark) } else { None },
        time: record.mark.time,
        at: record.mark.at,
        seen: Seen::Request,
    }
}

fn opened(record: &Record) -> Option<Value> {
    serde_json::from_str(record.text.as_deref()?).ok()
}
