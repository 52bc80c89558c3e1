//! Limits, as single records tell of them.

use super::{Decoder, Object, Trace, Traces};
use crate::{
    event::{Event, json::Json},
    measure::{Millis, Time},
};

/// What one record says of a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit<T> {
    /// What kind of limit, or how many responses were stopped.
    pub kind: LimitKind,
    /// Status, trigger, category or subtype.
    pub what: Option<T>,
    /// The model that was asked.
    pub model: Option<T>,
    /// The model that was asked instead.
    pub fallback: Option<T>,
    /// Tokens of the conversation before.
    pub before: Option<u64>,
    /// The same after.
    pub after: Option<u64>,
    /// How long it took.
    pub took: Option<Millis>,
    /// When the limit is lifted.
    pub resets: Option<Time>,
    /// How much of it is used, 1 for all of it.
    pub used: Option<f64>,
    /// Ids under which other records tell of it, beside the record's own.
    pub ids: Vec<T>,
}

/// What kind of limit a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// What a subscription may use in a window of time.
    RateLimit,
    /// A model was not to be had, and another one answered.
    Fallback,
    /// A model refused to answer, or its answer was stopped.
    Refusal,
    /// A summary of the conversation failed. Those that succeeded are compactions.
    FailedCompaction,
    /// Old results of tools were dropped from the conversation.
    Microcompaction,
    /// The turns that were granted came to an end.
    MaxTurns,
    /// An event ended a response with a refusal, but names no response.
    StoppedEvent,
    /// So many responses of a turn were stopped.
    StoppedResponses(u64),
}

/// A response that was refused: of all responses only these leave a trace.
const REFUSED: &[u8] = br#""stop_reason":"refusal""#;

/// Whether a response may be refused. The words may also stand in what the model wrote.
pub(super) fn is_refused(event: &Event<'_>) -> bool {
    memchr::memmem::find(event.text.as_bytes(), REFUSED).is_some()
}

impl<'a, T> Decoder<'_, 'a, T> {
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
            // A compaction that succeeded has a boundary.
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

    /// A response that ended with a refusal. A line about the model that was asked instead may name the same request.
    fn refused(&mut self, record: &Object<'a>, message: &Object<'a>) -> Option<Limit<T>> {
        if message.text(&["stop_reason"]).as_deref() != Some("refusal") {
            return None;
        }
        let ids = [message.text(&["id"]), record.text(&["request_id"]), record.text(&["requestId"])];
        Some(Limit {
            model: self.text(message, &["model"]),
            ids: ids.into_iter().flatten().map(|id| (self.own)(id)).collect(),
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
            ids: ids.into_iter().flatten().filter(|_| refusal).map(|id| (self.own)(id)).collect(),
            ..blank(kind)
        }
    }

    fn microcompaction(&mut self, record: &Object<'a>) -> Limit<T> {
        let told = record.member(&["microcompact_metadata", "microcompactMetadata"]);
        let told = told.and_then(Json::object).unwrap_or_default();
        let before = told.count(&["pre_tokens", "preTokens"]);
        let saved = told.count(&["tokens_saved", "tokensSaved"]);
        let rest = before.zip(saved).map(|(before, saved)| before.saturating_sub(saved));
        let took = told.member(&["duration_ms", "durationMs"]).and_then(Json::number);
        Limit {
            what: self.text(&told, &["trigger"]),
            before,
            after: told.count(&["post_tokens", "postTokens"]).or(rest),
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

/// How many responses of the turn were stopped: at least the last one, if the turn ended with it.
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
