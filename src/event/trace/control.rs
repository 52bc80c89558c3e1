//! Decodes requests and responses between the CLI and its host, and between a bridge and its client.

use super::{Decoder, Object, QUESTION_TOOL, Text, Trace, Traces, hook::blocks};
use crate::event::json::Json;

/// A request of the control protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<T> {
    /// `request_id`.
    pub id: T,
    pub subtype: Option<T>,
    /// Name of the tool it is about.
    pub tool: Option<T>,
    /// Id of the call it is about.
    pub call: Option<T>,
    /// Why the CLI asks for permission.
    pub reason: Option<T>,
    /// The matched ask rule.
    pub rule: Option<T>,
    /// The input of a question tool, as JSON.
    pub questions: Option<T>,
}

/// A response of the control protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<T> {
    /// `request_id`.
    pub id: T,
    pub verdict: Verdict,
    /// Whether the tool is allowed from then on.
    pub always: bool,
    /// Subtype of the only request with such a response.
    pub answers: Option<&'static str>,
    /// Whether a hook that the host ran blocks, if it may be the response of one.
    pub blocks: Option<bool>,
    /// The answers of people, as JSON.
    pub given: Option<T>,
}

/// The verdict of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tool may run.
    Allow,
    /// The tool may not run.
    Deny,
    /// The request succeeded.
    Success,
    /// The request failed.
    Error,
}

/// A request of a bridge for approval, or the answer of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval<T> {
    /// Id of the call.
    pub call: T,
    pub tool: Option<T>,
    /// Request or answer.
    pub step: ApprovalStep,
}

/// A step of an approval over a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStep {
    /// The bridge requests approval.
    Asked,
    /// The client allows the call.
    Approved,
    /// The client allows the tool from then on.
    ApprovedAlways,
    /// The client denies the call.
    Rejected,
    /// People answered a question.
    Answered,
}

/// Kinds of records that are a step of an approval.
const APPROVAL_STEPS: &[(&str, ApprovalStep)] = &[
    ("permission_request", ApprovalStep::Asked),
    ("approve", ApprovalStep::Approved),
    ("approve_always", ApprovalStep::ApprovedAlways),
    ("reject", ApprovalStep::Rejected),
    ("answer", ApprovalStep::Answered),
];

/// A request of a client to its bridge, or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bridge {
    /// A request of the client.
    Request {
        /// The kind of the record.
        kind: &'static str,
        /// Kinds of records that reply to it.
        answers: &'static [&'static str],
        /// Whether it names a session.
        names_session: bool,
    },
    /// A record that may be a reply, by its kind.
    Reply(&'static str),
}

impl Bridge {
    /// Kind of the record that reports a failed request.
    pub const FAILED: &'static str = "error";
}

/// Replies of a bridge that starts a session.
const SESSION_STARTED: &[&str] = &["system/session_created", "system/init"];

/// Requests of a client to its bridge, and the kinds of records that reply. Some have no reply of their own
/// kind.
const BRIDGE_REQUESTS: &[(&str, &[&str])] = &[
    ("start", SESSION_STARTED),
    ("resume_session", SESSION_STARTED),
    ("get_history", &["history"]),
    ("stop_session", &[]),
    ("list_sessions", &[]),
    ("list_recent_sessions", &[]),
];

/// Identifies a request by its response: a member of the response, whether it must be the only one, and the
/// subtype of the request (recordings 53, 54 and 80).
const RESPONSE_SHAPES: &[(&str, bool, &str)] = &[
    ("behavior", false, "can_use_tool"),
    ("commands", false, "initialize"),
    ("still_queued", true, "interrupt"),
    ("model", true, "set_model"),
    ("mode", true, "set_permission_mode"),
];

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    pub(super) fn control(&mut self, kind: &str, record: &Object<'a>) {
        match kind {
            "control_request" => self.request(record),
            "control_response" => self.response(record),
            _ => {
                let id = self.text(record, &["request_id"]);
                self.found.extend(id.map(Trace::Cancel));
            }
        }
    }

    fn request(&mut self, record: &Object<'a>) {
        let Some(id) = record.text(&["request_id"]) else { return };
        let request = record.object("request").unwrap_or_default();
        let subtype = request.text(&["subtype"]);
        if subtype.as_deref() == Some("hook_callback") && self.wants(Traces::HOOKS) {
            self.hook_callback(id.clone(), &request);
        }
        let about_call = subtype.as_deref() == Some("can_use_tool");
        if !(self.wants(Traces::CONTROL) || about_call && self.wants(Traces::DECISIONS | Traces::QUESTIONS)) {
            return;
        }
        let tool = request.text(&["tool_name"]);
        let asks = tool.as_deref() == Some(QUESTION_TOOL) && self.wants(Traces::QUESTIONS);
        let questions = request.get("input").filter(|_| asks);
        let request = Request {
            id: self.owner.own(id),
            subtype: self.own(subtype),
            tool: self.own(tool),
            call: self.text(&request, &["tool_use_id"]),
            reason: self.text(&request, &["decision_reason_type"]),
            rule: self.text(&request, &["matched_ask_rule"]),
            questions: questions.map(|input| self.json(input)),
        };
        self.found.push(Trace::Request(Box::new(request)));
    }

    fn response(&mut self, record: &Object<'a>) {
        let Some(response) = record.object("response") else { return };
        let subtype = response.text(&["subtype"]);
        let payload = response.object("response");
        if let Some(payload) = &payload
            && self.wants(Traces::SERVERS)
        {
            self.servers(record, payload);
        }
        let others = Traces::CONTROL | Traces::DECISIONS | Traces::QUESTIONS | Traces::HOOKS;
        let Some(id) = self.text(&response, &["request_id"]).filter(|_| self.wants(others)) else { return };
        let succeeded = subtype.as_deref() == Some("success");
        let payload = payload.unwrap_or_default();
        let verdict = match (subtype.as_deref(), payload.text(&["behavior"]).as_deref()) {
            (Some("error"), _) => Verdict::Error,
            (_, Some("allow")) => Verdict::Allow,
            (_, Some("deny")) => Verdict::Deny,
            _ => Verdict::Success,
        };
        let fits = |&&(name, alone, _): &&(&str, bool, &str)| {
            payload.get(name).is_some() && (!alone || payload.len() == 1)
        };
        let given = || payload.object("updatedInput")?.get("answers").filter(|answers| answers.is_object());
        let given = if self.wants(Traces::QUESTIONS) { given() } else { None };
        let response = Response {
            id,
            verdict,
            always: verdict == Verdict::Allow && !payload.list("updatedPermissions").is_empty(),
            answers: RESPONSE_SHAPES.iter().find(fits).map(|&(.., subtype)| subtype),
            blocks: (succeeded && response.get("response").is_some()).then(|| blocks(&payload)),
            given: given.map(|answers| self.json(answers)),
        };
        self.found.push(Trace::Response(Box::new(response)));
    }

    /// Decodes a line between a bridge and its client, or one that may reply to it.
    pub(super) fn bridge(&mut self, kind: &str, record: &Object<'a>) {
        if let Some(&(_, step)) = APPROVAL_STEPS.iter().find(|(name, _)| *name == kind) {
            return self.approval(step, record);
        }
        if !self.wants(Traces::CONTROL) {
            return;
        }
        if let Some(&(kind, answers)) = BRIDGE_REQUESTS.iter().find(|(name, _)| *name == kind) {
            let names_session = record.text(&["sessionId"]).is_some();
            self.found.push(Trace::Bridge(Bridge::Request { kind, answers, names_session }));
        }
        let replies =
            BRIDGE_REQUESTS.iter().flat_map(|(_, answers)| answers.iter().copied()).chain([Bridge::FAILED]);
        let reply = replies.into_iter().find(|reply| *reply == kind);
        self.found.extend(reply.map(|reply| Trace::Bridge(Bridge::Reply(reply))));
    }

    fn approval(&mut self, step: ApprovalStep, record: &Object<'a>) {
        let call: Option<Text<'a>> = record.text(&["toolUseId"]).or_else(|| record.text(&["id"]));
        let Some(call) = call else { return };
        if step == ApprovalStep::Answered && self.wants(Traces::QUESTIONS) {
            let result = record.get("result").unwrap_or(Json::checked("null"));
            let (call, answers) = (self.owner.own(call.clone()), self.json(result));
            self.found.push(Trace::GivenAnswers(super::GivenAnswers { call, answers }));
        }
        if self.wants(Traces::CONTROL | Traces::DECISIONS) {
            let (call, tool) = (self.owner.own(call), self.text(record, &["toolName"]));
            self.found.push(Trace::Approval(Approval { call, tool, step }));
        }
    }
}
