//! Requests between the CLI and its host, and between a bridge and its client, record by record.

use super::{Decoder, Object, QUESTION_TOOL, Text, Trace, Traces, hook::blocks};
use crate::event::json::Json;

/// A request of the control protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<T> {
    /// `request_id`.
    pub id: T,
    /// What for.
    pub subtype: Option<T>,
    /// The tool that it is about.
    pub tool: Option<T>,
    /// The call that it is about.
    pub call: Option<T>,
    /// Why the CLI asks.
    pub reason: Option<T>,
    /// The rule that makes it ask.
    pub rule: Option<T>,
    /// The questions to people that are to be allowed, as JSON.
    pub questions: Option<T>,
}

/// A response of the control protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<T> {
    /// `request_id`.
    pub id: T,
    /// What it says.
    pub verdict: Verdict,
    /// Whether a tool may run from then on, too.
    pub always: bool,
    /// The request that alone is answered like this.
    pub answers: Option<&'static str>,
    /// Whether a hook that the host ran blocks, where it may be the answer of one.
    pub blocks: Option<bool>,
    /// The answers of people, as JSON.
    pub given: Option<T>,
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tool may run.
    Allow,
    /// The tool may not run.
    Deny,
    /// It was done.
    Success,
    /// It failed.
    Error,
}

/// A bridge asks for approval, or its client answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval<T> {
    /// The call.
    pub call: T,
    /// Its tool.
    pub tool: Option<T>,
    /// What is asked or answered.
    pub step: ApprovalStep,
}

/// A step of an approval over a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStep {
    /// The bridge asks.
    Asked,
    /// The client allows it.
    Approved,
    /// The client allows it from then on.
    ApprovedAlways,
    /// The client refuses it.
    Rejected,
    /// People answered a question.
    Answered,
}

/// The kinds of records that are a step of an approval.
const STEPS: &[(&str, ApprovalStep)] = &[
    ("permission_request", ApprovalStep::Asked),
    ("approve", ApprovalStep::Approved),
    ("approve_always", ApprovalStep::ApprovedAlways),
    ("reject", ApprovalStep::Rejected),
    ("answer", ApprovalStep::Answered),
];

/// A client asks its bridge for something, or the bridge answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bridge {
    /// The client asks.
    Wish {
        /// The kind of the record.
        kind: &'static str,
        /// The kinds of records that answer it.
        answers: &'static [&'static str],
        /// Whether it names a session.
        names_session: bool,
    },
    /// A record that may be an answer, by its kind.
    Reply(&'static str),
}

impl Bridge {
    /// The kind of the record that says that a wish failed.
    pub const FAILED: &'static str = "error";
}

/// How a bridge answers when it begins a session.
const BEGUN: &[&str] = &["system/session_created", "system/init"];

/// What a client asks of its bridge, and the kinds of records that answer it. Some are answered by nothing that has a name.
const WISHES: &[(&str, &[&str])] = &[
    ("start", BEGUN),
    ("resume_session", BEGUN),
    ("get_history", &["history"]),
    ("stop_session", &[]),
    ("list_sessions", &[]),
    ("list_recent_sessions", &[]),
];

/// What tells a request by its response: a member that the response has, whether it must be the only one, and the request
/// that is answered like this (recordings 53, 54 and 80).
const ANSWERS: &[(&str, bool, &str)] = &[
    ("behavior", false, "can_use_tool"),
    ("commands", false, "initialize"),
    ("still_queued", true, "interrupt"),
    ("model", true, "set_model"),
    ("mode", true, "set_permission_mode"),
];

impl<'a, T> Decoder<'_, 'a, T> {
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
            id: (self.own)(id),
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
        let told = response.object("response");
        if let Some(told) = &told
            && self.wants(Traces::SERVERS)
        {
            self.servers(record, told);
        }
        let others = Traces::CONTROL | Traces::DECISIONS | Traces::QUESTIONS | Traces::HOOKS;
        let Some(id) = self.text(&response, &["request_id"]).filter(|_| self.wants(others)) else { return };
        let succeeded = subtype.as_deref() == Some("success");
        let told = told.unwrap_or_default();
        let verdict = match (subtype.as_deref(), told.text(&["behavior"]).as_deref()) {
            (Some("error"), _) => Verdict::Error,
            (_, Some("allow")) => Verdict::Allow,
            (_, Some("deny")) => Verdict::Deny,
            _ => Verdict::Success,
        };
        let fits = |&&(name, alone, _): &&(&str, bool, &str)| {
            told.get(name).is_some() && (!alone || told.len() == 1)
        };
        let given = || told.object("updatedInput")?.get("answers").filter(|answers| answers.is_object());
        let given = if self.wants(Traces::QUESTIONS) { given() } else { None };
        let response = Response {
            id,
            verdict,
            always: verdict == Verdict::Allow && !told.list("updatedPermissions").is_empty(),
            answers: ANSWERS.iter().find(fits).map(|&(.., subtype)| subtype),
            blocks: (succeeded && response.get("response").is_some()).then(|| blocks(&told)),
            given: given.map(|answers| self.json(answers)),
        };
        self.found.push(Trace::Response(Box::new(response)));
    }

    /// A line between a bridge and its client, or one that may answer it.
    pub(super) fn bridge(&mut self, kind: &str, record: &Object<'a>) {
        if let Some(&(_, step)) = STEPS.iter().find(|(name, _)| *name == kind) {
            return self.approval(step, record);
        }
        if !self.wants(Traces::CONTROL) {
            return;
        }
        if let Some(&(kind, answers)) = WISHES.iter().find(|(name, _)| *name == kind) {
            let names_session = record.text(&["sessionId"]).is_some();
            self.found.push(Trace::Bridge(Bridge::Wish { kind, answers, names_session }));
        }
        let replies = WISHES.iter().flat_map(|(_, answers)| answers.iter().copied()).chain([Bridge::FAILED]);
        let reply = replies.into_iter().find(|reply| *reply == kind);
        self.found.extend(reply.map(|reply| Trace::Bridge(Bridge::Reply(reply))));
    }

    fn approval(&mut self, step: ApprovalStep, record: &Object<'a>) {
        let call: Option<Text<'a>> = record.text(&["toolUseId"]).or_else(|| record.text(&["id"]));
        let Some(call) = call else { return };
        if step == ApprovalStep::Answered && self.wants(Traces::QUESTIONS) {
            let result = record.get("result").unwrap_or(Json::checked("null"));
            let (call, answers) = ((self.own)(call.clone()), self.json(result));
            self.found.push(Trace::Given(super::Given { call, answers }));
        }
        if self.wants(Traces::CONTROL | Traces::DECISIONS) {
            let (call, tool) = ((self.own)(call), self.text(record, &["toolName"]));
            self.found.push(Trace::Approval(Approval { call, tool, step }));
        }
    }
}
