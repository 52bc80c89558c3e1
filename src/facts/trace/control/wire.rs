//! Control lines as they stand.

use serde_json::Value;

use super::Decision;
use crate::facts::ledger::{Ledger, Record};

/// One control line.
pub(super) struct Half<'a> {
    pub(super) record: &'a Record,
    /// `request_id`.
    pub(super) id: String,
    pub(super) said: Said,
}

/// What a control line says.
pub(super) enum Said {
    /// Something is asked for.
    Request {
        subtype: Option<String>,
        tool: Option<String>,
        /// The call that it is about.
        call: Option<String>,
    },
    /// It was answered.
    Response {
        decision: Decision,
        always: bool,
        /// The request that alone is answered like this.
        answers: Option<&'static str>,
    },
    /// It was taken back.
    Cancel,
}

/// What tells a request by its response: a member that the response has, whether it must be the only one, and the request
/// that is answered like this (recordings 53, 54 and 80).
const ANSWERS: &[(&str, bool, &str)] = &[
    ("behavior", false, "can_use_tool"),
    ("commands", false, "initialize"),
    ("still_queued", true, "interrupt"),
    ("model", true, "set_model"),
    ("mode", true, "set_permission_mode"),
];

/// Every control line that has an id, in the order they stand.
pub(super) fn halves(ledger: &Ledger) -> Vec<Half<'_>> {
    ledger.records.iter().filter_map(half).collect()
}

fn half(record: &Record) -> Option<Half<'_>> {
    let kind = record.kind.split('/').next()?;
    if !kind.starts_with("control_") {
        return None;
    }
    let line: Value = serde_json::from_str(record.text.as_deref()?).ok()?;
    let (id, said) = match kind {
        "control_request" => (text(&line, "request_id"), request(&line["request"])),
        "control_response" => (text(&line["response"], "request_id"), response(&line["response"])),
        "control_cancel_request" => (text(&line, "request_id"), Said::Cancel),
        _ => return None,
    };
    Some(Half { record, id: id?, said })
}

fn request(request: &Value) -> Said {
    Said::Request {
        subtype: text(request, "subtype"),
        tool: text(request, "tool_name"),
        call: text(request, "tool_use_id"),
    }
}

fn response(response: &Value) -> Said {
    let told = &response["response"];
    let decision = match (response["subtype"].as_str(), told["behavior"].as_str()) {
        (Some("error"), _) => Decision::Error,
        (_, Some("allow")) => Decision::Allow,
        (_, Some("deny")) => Decision::Deny,
        _ => Decision::Success,
    };
    let answers = told.as_object().and_then(|members| {
        let fits = |&&(name, alone, _): &&(&str, bool, &str)| {
            members.contains_key(name) && (!alone || members.len() == 1)
        };
        ANSWERS.iter().find(fits).map(|&(.., subtype)| subtype)
    });
    let always = told["updatedPermissions"].as_array().is_some_and(|rules| !rules.is_empty());
    Said::Response { decision, always: always && decision == Decision::Allow, answers }
}

/// A text that says something.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
