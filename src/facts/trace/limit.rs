//! Where a run met a limit: of the subscription, of the model, of the context, of what was asked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::member::{count, member, millis, opened, text};
use crate::{
    facts::{
        Name,
        ledger::{Ledger, Mark, Record, SessionIndex},
    },
    measure::{Millis, Time},
};

/// One moment at which a limit was met.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// When and where.
    pub mark: Mark,
    /// What sort of limit.
    pub sort: Sort,
    /// What the log says of it: status, trigger, category or subtype.
    pub what: Option<Name>,
    /// The model that was asked.
    pub model: Option<Name>,
    /// The model that was asked instead.
    pub fallback: Option<Name>,
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
}

/// What sort of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// What a subscription may use in a window of time.
    RateLimit,
    /// A model was not to be had, and another one answered.
    Fallback,
    /// A model refused to answer, or its answer was stopped.
    Refusal,
    /// The conversation was too long, and was summarised.
    Compaction,
    /// Old results of tools were dropped from the conversation.
    Microcompaction,
    /// The turns or the money that were granted came to an end.
    Stop,
}

impl Sort {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Fallback => "fallback",
            Self::Refusal => "refusal",
            Self::Compaction => "compaction",
            Self::Microcompaction => "microcompaction",
            Self::Stop => "stop",
        }
    }
}

impl Limit {
    fn new(mark: &Mark, sort: Sort, what: Option<&str>) -> Self {
        Self {
            mark: mark.clone(),
            sort,
            what: what.map(Name::from),
            model: None,
            fallback: None,
            before: None,
            after: None,
            took: None,
            resets: None,
            used: None,
        }
    }

    /// Learns what another telling of the same moment knows.
    fn learn(&mut self, other: Self) {
        let Self { mark, sort: _, what, model, fallback, before, after, took, resets, used } = other;
        self.what = self.what.take().or(what);
        self.model = self.model.take().or(model);
        self.fallback = self.fallback.take().or(fallback);
        self.before = self.before.or(before);
        self.after = self.after.or(after);
        self.took = self.took.or(took);
        self.resets = self.resets.or(resets);
        self.used = self.used.or(used);
        self.mark.time = self.mark.time.into_iter().chain(mark.time).min();
        self.mark.prefer_earlier_session(&mark);
    }
}

/// Every moment at which a limit was met, once, in the order they stand.
pub fn limits(ledger: &Ledger) -> Vec<Limit> {
    let mut met = Met::default();
    let mut reached: Vec<Limit> = Vec::new();
    let mut stopped = Stopped::default();
    for (record, json) in opened(ledger, leaves_trace) {
        match &*record.kind {
            "attachment/max_turns_reached" if record.copy => {}
            "attachment/max_turns_reached" => {
                reached.push(Limit::new(&record.mark, Sort::Stop, Some("max_turns")));
            }
            "assistant" => met.add(refused(record, &json), record),
            "stream_event/message_delta" if !record.copy => {
                stopped.add(record, u64::from(is_refusal(&json)), 0)
            }
            "stream_event/message_delta" => {}
            kind if kind.starts_with("result") => stopped.add(record, 0, safety_stops(&json)),
            _ => met.add(told(record, &json), record),
        }
    }
    met.stopped(stopped);
    let mut all = met.all;
    all.extend(stops(ledger, reached));
    all.sort_by_key(|limit| limit.mark.at);
    all
}

fn leaves_trace(record: &Record) -> bool {
    match &*record.kind {
        "rate_limit_event" | "assistant" | "stream_event/message_delta" | "attachment/max_turns_reached" => {
            true
        }
        "system/compact_boundary" | "system/microcompact_boundary" | "system/status" => true,
        kind if kind.starts_with("result") => true,
        kind => kind.strip_prefix("system/model_").is_some_and(|kind| kind.contains("fallback")),
    }
}

/// What was met, by the ids under which it is told again.
#[derive(Default)]
struct Met {
    all: Vec<Limit>,
    index: HashMap<Name, usize>,
}

impl Met {
    fn add(&mut self, told: Option<(Limit, Vec<Name>)>, record: &Record) {
        let Some((limit, ids)) = told else { return };
        let known = ids.iter().find_map(|id| self.index.get(id).copied());
        let at = match known {
            Some(at) => {
                self.all[at].learn(limit);
                at
            }
            None if ids.is_empty() && record.copy => return,
            None => {
                self.all.push(limit);
                self.all.len() - 1
            }
        };
        for id in ids {
            self.index.entry(id).or_insert(at);
        }
    }

    /// Adds responses that were stopped and of which nothing else tells.
    fn stopped(&mut self, stopped: Stopped) {
        for (session, (events, stops, mark)) in stopped.0 {
            let refusals =
                self.all.iter().filter(|one| one.sort == Sort::Refusal && one.mark.session == session);
            let known = refusals.count() as u64;
            let unknown = known..stops.max(events);
            self.all.extend(unknown.map(|_| Limit::new(&mark, Sort::Refusal, Some("safety_stop"))));
        }
    }
}

/// How many responses of each session were stopped, as the CLI's output tells it: by events that name no response, and by a
/// count at the end of a turn. Whether that counts the turn or the process no recording shows, so the largest one stands.
#[derive(Default)]
struct Stopped(BTreeMap<Option<SessionIndex>, (u64, u64, Mark)>);

impl Stopped {
    fn add(&mut self, record: &Record, events: u64, stops: u64) {
        let known = self.0.entry(record.mark.session).or_insert_with(|| (0, 0, record.mark.clone()));
        if known.0 + known.1 == 0 {
            known.2 = record.mark.clone();
        }
        *known = (known.0 + events, known.1.max(stops), known.2.clone());
    }
}

/// How many responses of the turn were stopped: at least the last one, if the turn ended with it.
fn safety_stops(json: &Value) -> u64 {
    count(json, &["safety_stops"])
        .unwrap_or(0)
        .max(u64::from(text(json, &["stop_reason"]) == Some("refusal")))
}

/// Whether an event ends a response with a refusal.
fn is_refusal(json: &Value) -> bool {
    let delta = json.get("event").and_then(|event| event.get("delta"));
    delta.and_then(|delta| text(delta, &["stop_reason"])) == Some("refusal")
}

fn names(json: &Value, ids: &[&str]) -> Vec<Name> {
    ids.iter().filter_map(|id| text(json, &[id])).map(Name::from).collect()
}

/// A response that ended with a refusal. A line about the model that was asked instead may name the same request.
fn refused(record: &Record, json: &Value) -> Option<(Limit, Vec<Name>)> {
    let message = json.get("message")?;
    // The words may stand in what the model wrote.
    text(message, &["stop_reason"]).filter(|reason| *reason == "refusal")?;
    let mut limit = Limit::new(&record.mark, Sort::Refusal, None);
    limit.model = text(message, &["model"]).map(Name::from);
    Some((limit, [names(message, &["id"]), names(json, &["request_id", "requestId", "uuid"])].concat()))
}

fn told(record: &Record, json: &Value) -> Option<(Limit, Vec<Name>)> {
    let mut ids = names(json, &["uuid"]);
    let limit = match &*record.kind {
        "rate_limit_event" => rate_limit(record, json.get("rate_limit_info")?),
        "system/compact_boundary" => {
            compaction(record, Sort::Compaction, member(json, &["compact_metadata", "compactMetadata"]))
        }
        "system/microcompact_boundary" => {
            let told = member(json, &["microcompact_metadata", "microcompactMetadata"]);
            compaction(record, Sort::Microcompaction, told)
        }
        // A compaction that succeeded has a boundary.
        "system/status" => {
            text(json, &["compact_result"]).filter(|result| *result == "failed")?;
            Limit::new(&record.mark, Sort::Compaction, Some("failed"))
        }
        kind => {
            let (sort, what): (Sort, &[&str]) = if kind.starts_with("system/model_refusal") {
                ids.extend(names(json, &["request_id", "requestId"]));
                (Sort::Refusal, &["api_refusal_category", "apiRefusalCategory"])
            } else {
                (Sort::Fallback, &["trigger"])
            };
            let mut limit = Limit::new(&record.mark, sort, text(json, what));
            limit.model = text(json, &["original_model", "originalModel"]).map(Name::from);
            limit.fallback = text(json, &["fallback_model", "fallbackModel"]).map(Name::from);
            limit
        }
    };
    Some((limit, ids))
}

fn compaction(record: &Record, sort: Sort, told: Option<&Value>) -> Limit {
    let told = told.unwrap_or(&Value::Null);
    let mut limit = Limit::new(&record.mark, sort, text(told, &["trigger"]));
    limit.before = count(told, &["pre_tokens", "preTokens"]);
    let saved = count(told, &["tokens_saved", "tokensSaved"]);
    let rest = limit.before.zip(saved).map(|(before, saved)| before.saturating_sub(saved));
    limit.after = count(told, &["post_tokens", "postTokens"]).or(rest);
    limit.took = millis(told, &["duration_ms", "durationMs"]);
    limit
}

fn rate_limit(record: &Record, told: &Value) -> Limit {
    let window = text(told, &["rateLimitType", "rate_limit_type"]);
    let what = match (text(told, &["status"]), window) {
        (Some(status), Some(window)) => Some(format!("{status} {window}")),
        (status, window) => status.or(window).map(str::to_owned),
    };
    let mut limit = Limit::new(&record.mark, Sort::RateLimit, what.as_deref());
    let seconds = member(told, &["resetsAt", "resets_at"]).and_then(Value::as_i64);
    limit.resets = seconds.map(|seconds| Time::from_micros(seconds.saturating_mul(1_000_000)));
    limit.used = member(told, &["utilization"]).and_then(Value::as_f64);
    limit
}

/// Turns that were stopped. A saved session has no results: what it says counts where no result does.
fn stops(ledger: &Ledger, mut reached: Vec<Limit>) -> Vec<Limit> {
    let is_stop = |subtype: &str| matches!(subtype, "error_max_turns" | "error_max_budget_usd");
    let turns = ledger.turns.iter().filter(|turn| turn.counted && is_stop(&turn.subtype));
    let told: Vec<Limit> =
        turns.map(|turn| Limit::new(&turn.mark, Sort::Stop, turn.subtype.strip_prefix("error_"))).collect();
    let ended: HashSet<SessionIndex> = ledger.turns.iter().filter_map(|turn| turn.mark.session).collect();
    reached.retain(|limit| limit.mark.session.is_none_or(|session| !ended.contains(&session)));
    told.into_iter().chain(reached).collect()
}
