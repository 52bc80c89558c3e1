//! Requests over a bridge: approvals, answers to questions, and starting or stopping sessions.

use std::collections::{BTreeMap, VecDeque};

use super::{Decision, Direction, Lookup, Request, Seen};
use crate::{
    event::trace::{ApprovalStep, Bridge, Trace},
    facts::{
        Name,
        ledger::{Context, Traced},
    },
    input::SourceId,
};

/// Returns the requests of both directions.
pub(super) fn requests(lookup: &Lookup<'_>) -> Vec<Request> {
    let mut all = approvals(lookup);
    all.extend(client_requests(lookup));
    all
}

/// A request for approval and its answer.
#[derive(Clone, Copy, Default)]
struct Approval<'a> {
    asked: Option<(&'a Context, Option<&'a Name>)>,
    answered: Option<(&'a Context, ApprovalStep)>,
}

fn approvals(lookup: &Lookup<'_>) -> Vec<Request> {
    let mut by_call: BTreeMap<&Name, Approval<'_>> = BTreeMap::new();
    for Traced { context, trace, .. } in &lookup.ledger.traces {
        let Trace::Approval(decoded) = trace else { continue };
        let approval = by_call.entry(&decoded.call).or_default();
        match decoded.step {
            ApprovalStep::Asked => _ = approval.asked.get_or_insert((context, decoded.tool.as_ref())),
            step => _ = approval.answered.get_or_insert((context, step)),
        }
    }
    by_call.into_iter().filter_map(|(call, approval)| approved(lookup, call, approval)).collect()
}

fn approved(lookup: &Lookup<'_>, id: &Name, approval: Approval<'_>) -> Option<Request> {
    let Approval { asked, answered } = approval;
    let call = lookup.calls.get(&**id).copied();
    let (answer, step) = answered.unzip();
    // A question is asked by its call; a bridge may request approval in addition.
    let question = step == Some(ApprovalStep::Answered) && asked.is_none();
    let first = asked.map(|(context, _)| context);
    let context = match call.filter(|_| question) {
        Some(call) => &call.context,
        None => first.or(answer)?,
    };
    let asked_at = if first.is_some() || (question && call.is_some()) { context.time } else { None };
    let decision = match step {
        Some(_) if question => Decision::Success,
        Some(ApprovalStep::Rejected) => Decision::Deny,
        Some(_) => Decision::Allow,
        None => lookup.ended(Some(id)).unwrap_or(Decision::Unanswered),
    };
    let own = |context: &Context| lookup.session(context);
    Some(Request {
        direction: Direction::ToClient,
        subtype: Some(Name::from(if question { "answer" } else { "permission_request" })),
        tool: asked.and_then(|(_, tool)| tool).or_else(|| call.map(|call| &call.tool)).cloned(),
        decision: Some(decision),
        always: step == Some(ApprovalStep::ApprovedAlways),
        latency: asked_at.zip(answer.and_then(|context| context.time)).map(|(from, to)| to.since(from)),
        session: answer.and_then(own).or_else(|| first.and_then(own)).or_else(|| lookup.session(context)),
        time: context.time,
        location: context.location,
        seen: match (first.is_some() || (question && call.is_some()), answer.is_some()) {
            (true, true) => Seen::Both,
            (true, false) => Seen::Request,
            (false, _) => Seen::Response,
        },
        id: Some(Name::clone(id)),
    })
}

/// Returns the requests of clients to their bridge. They have no id, so replies are matched by their order in
/// a source.
fn client_requests(lookup: &Lookup<'_>) -> Vec<Request> {
    let mut all: Vec<Request> = Vec::new();
    let mut waiting: BTreeMap<SourceId, VecDeque<(usize, &[&str])>> = BTreeMap::new();
    for Traced { context, trace, .. } in &lookup.ledger.traces {
        let (Trace::Bridge(decoded), Some(at)) = (trace, context.location) else { continue };
        let waiting = waiting.entry(at.source).or_default();
        let reply = match *decoded {
            Bridge::Request { kind, answers, names_session } => {
                if !answers.is_empty() {
                    waiting.push_back((all.len(), answers));
                }
                let session = if names_session { lookup.session(context) } else { None };
                all.push(Request { session, ..client_request(context, kind, !answers.is_empty()) });
                continue;
            }
            Bridge::Reply(reply) => reply,
        };
        let failed = reply == Bridge::FAILED;
        let answered = |(_, answers): &(usize, &[&str])| failed || answers.contains(&reply);
        let Some(found) = waiting.iter().position(answered).and_then(|place| waiting.remove(place)) else {
            continue;
        };
        let request = &mut all[found.0];
        request.decision = Some(if failed { Decision::Error } else { Decision::Success });
        request.latency = request.time.zip(context.time).map(|(from, to)| to.since(from));
        request.seen = Seen::Both;
        if !failed {
            request.session = request.session.or_else(|| lookup.session(context));
        }
    }
    all
}

/// A request without a session is not about the running session: it may start another one.
fn client_request(context: &Context, kind: &str, is_answered: bool) -> Request {
    Request {
        direction: Direction::ToBridge,
        subtype: Some(Name::from(kind)),
        tool: None,
        decision: is_answered.then_some(Decision::Unanswered),
        always: false,
        latency: None,
        id: None,
        session: None,
        time: context.time,
        location: context.location,
        seen: Seen::Request,
    }
}
