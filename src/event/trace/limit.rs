//! Decodes limits that were reached.

use super::{Decoder, Object, Trace, Traces};
use crate::{
    event::{Event, json::Json},
    measure::{Millis, Time},
};

/// A limit, as one record has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit<T> {
    /// Kind of limit, or number of stopped responses.
    pub kind: LimitKind,
    /// Status, trigger, category or subtype.
    pub what: Option<T>,
    /// The model that was requested.
    pub model: Option<T>,
    /// The model that was used instead.
    pub fallback: Option<T>,
    /// Tokens of the conversation before a compaction.
    pub before: Option<u64>,
    /// Tokens of the conversation after it.
    pub after: Option<u64>,
    /// Duration.
    pub took: Option<Millis>,
    /// When the limit resets.
    pub resets: Option<Time>,
    /// Used share of the limit; 1 is all of it.
    pub used: Option<f64>,
    /// Other ids under which records repeat it, besides the uuid.
    pub ids: Vec<T>,
}

/// Kind of limit in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// A rate limit of the subscription.
    RateLimit,
    /// A model was not available, and another one answered.
    Fallback,
    /// A model refused to answer, or its answer was stopped.
    Refusal,
    /// A compaction failed. Successful ones are [`Compaction`](crate::event::Compaction)s.
    FailedCompaction,
    /// Old results of tools were dropped from the conversation.
    Microcompaction,
    /// The maximum number of turns was reached.
    MaxTurns,
    /// A stream event ended a response with a refusal, without naming the response.
    StoppedEvent,
    /// Number of stopped responses of a turn.
    StoppedResponses(u64),
}

/// Stop reason of a refusal. Only these responses have a trace.
const REFUSED: &[u8] = br#""stop_reason":"refusal""#;

/// Returns whether a response may be a refusal. The text may also be in what the model wrote.
pub(super) fn is_refused(event: &Event<'_>) -> bool {
    memchr::memmem::find(event.text.as_bytes(), REFUSED).is_some()
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    pub(super) fn limit(&mut self, name: &str, record: &Object<'a>) {
        if !self.wants(Traces::LIMITS) {
            return;
        }
        let limit = match name {
            "rate_limit_event" => record.object("rate_limit_info").map(|info| self.rate_limit(&info)),
            "assistant" => record.object("message").and_then(|message| self.refused(record, &message)),
            "stream_event/message_delta" => {
                let delta = record.object("event").and_then(|event| event.object("delta"));
                let reason = delta.and_then(|delta| delta.text(&["stop_reason"]));
                (reason.as_deref() == Some("refusal")).then(|| blank(LimitKind::StoppedEvent))
            }
            "attachment/max_turns_reached" => Some(blank(LimitKind::MaxTurns)),
            "system/microcompact_boundary" => Some(self.microcompaction(record)),
            // A successful compaction has a `compact_boundary` record.
            "system/status" => (record.text(&["compact_result"]).as_deref() == Some("failed"))
                .then(|| blank(LimitKind::FailedCompaction)),
            _ if name.starts_with("result") => stopped(record).map(blank),
            _ if name.starts_with("system/model_") && name.contains("fallback") => {
                Some(self.fallback(name, record))
            }
            _ => None,
        };
        self.found.extend(limit.map(|limit| Trace::Limit(Box::new(limit))));
    }

    /// Decodes a response that ended with a refusal. A record about the fallback model may have the same
    /// request id.
    fn refused(&mut self, record: &Object<'a>, message: &Object<'a>) -> Option<Limit<T>> {
        if message.text(&["stop_reason"]).as_deref() != Some("refusal") {
            return None;
        }
        let ids = [message.text(&["id"]), record.text(&["request_id"]), record.text(&["requestId"])];
        Some(Limit {
            model: self.text(message, &["model"]),
            ids: ids.into_iter().flatten().map(|id| self.owner.own(id)).collect(),
            ..blank(LimitKind::Refusal)
        })
    }

    fn fallback(&mut self, name: &str, record: &Object<'a>) -> Limit<T> {
        let refusal = name.starts_with("system/model_refusal");
        let (kind, what): (LimitKind, &[&str]) = if refusal {
            (LimitKind::Refusal, &["api_refusal_category", "apiRefusalCategory"])
        } else {
            (LimitKind::Fallback, &["trigger"])
        };
        let ids = [record.text(&["request_id"]), record.text(&["requestId"])];
        Limit {
            what: self.text(record, what),
            model: self.text(record, &["original_model", "originalModel"]),
            fallback: self.text(record, &["fallback_model", "fallbackModel"]),
            ids: ids.into_iter().flatten().filter(|_| refusal).map(|id| self.owner.own(id)).collect(),
            ..blank(kind)
        }
    }

    fn microcompaction(&mut self, record: &Object<'a>) -> Limit<T> {
        let metadata = record.member(&["microcompact_metadata", "microcompactMetadata"]);
        let metadata = metadata.and_then(Json::object).unwrap_or_default();
        let before = metadata.count(&["pre_tokens", "preTokens"]);
        let saved = metadata.count(&["tokens_saved", "tokensSaved"]);
        let rest = before.zip(saved).map(|(before, saved)| before.saturating_sub(saved));
        let took = metadata.member(&["duration_ms", "durationMs"]).and_then(Json::number);
        Limit {
            what: self.text(&metadata, &["trigger"]),
            before,
            after: metadata.count(&["post_tokens", "postTokens"]).or(rest),
            took: took.map(Millis::from_f64),
            ..blank(LimitKind::Microcompaction)
        }
    }

    fn rate_limit(&mut self, info: &Object<'a>) -> Limit<T> {
        let what = match (info.text(&["status"]), info.text(&["rateLimitType", "rate_limit_type"])) {
            (Some(status), Some(window)) => Some(format!("{status} {window}").into()),
            (status, window) => status.or(window),
        };
        let resets = info.member(&["resetsAt", "resets_at"]);
        let seconds: Option<i64> = resets.and_then(|seconds| seconds.source().parse().ok());
        Limit {
            what: self.own(what),
            resets: seconds.map(|seconds| Time::from_micros(seconds.saturating_mul(1_000_000))),
            used: info.member(&["utilization"]).and_then(Json::number),
            ..blank(LimitKind::RateLimit)
        }
    }
}

/// Returns how many responses of the turn were stopped: at least the last one, if the turn ended with it.
fn stopped(record: &Object<'_>) -> Option<LimitKind> {
    let last = u64::from(record.text(&["stop_reason"]).as_deref() == Some("refusal"));
    let stops = record.count(&["safety_stops"]).unwrap_or(0).max(last);
    (stops > 0).then_some(LimitKind::StoppedResponses(stops))
}

fn blank<T>(kind: LimitKind) -> Limit<T> {
    Limit {
        kind,
        what: None,
        model: None,
        fallback: None,
        before: None,
        after: None,
        took: None,
        resets: None,
        used: None,
        ids: Vec::new(),
    }
}
