//! Limits that a run reached: of the subscription, the model, the context, or the options of the run.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    event::{
        self,
        trace::{self, LimitKind, Trace},
    },
    facts::{
        Name,
        key::Id,
        ledger::{Compaction, Context, Ledger, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

/// One limit that was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Session, agent, time and location.
    pub context: Context,
    /// Kind of limit.
    pub kind: Kind,
    /// Details from the log: status, trigger, category or subtype.
    pub what: Option<Name>,
    /// The model that was requested.
    pub model: Option<Name>,
    /// The model that was used instead.
    pub fallback: Option<Name>,
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
}

names! {
    /// Kind of limit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kind {
        /// A rate limit of the subscription.
        RateLimit = "rate_limit",
        /// A model was not available, and another one answered.
        Fallback = "fallback",
        /// A model refused to answer, or its answer was stopped.
        Refusal = "refusal",
        /// The conversation was compacted.
        Compaction = "compaction",
        /// Old results of tools were dropped from the conversation.
        Microcompaction = "microcompaction",
        /// The maximum number of turns or the budget was reached.
        Stop = "stop",
    }
}

impl Limit {
    fn new(context: &Context, kind: Kind, what: Option<&str>) -> Self {
        Self {
            context: context.clone(),
            kind,
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

    fn of(context: &Context, kind: Kind, decoded: &trace::Limit<Name>) -> Self {
        let trace::Limit { kind: decoded, what, model, fallback, before, after, took, resets, used, ids: _ } =
            decoded.clone();
        let what = if decoded == LimitKind::FailedCompaction { Some(Name::from("failed")) } else { what };
        Self { context: context.clone(), kind, what, model, fallback, before, after, took, resets, used }
    }

    fn of_compaction(one: &Compaction) -> Self {
        let event::Compaction { before, after, trigger, took } = &one.fact;
        let limit = Self::new(&one.context, Kind::Compaction, trigger.as_deref());
        Self { before: *before, after: *after, took: *took, ..limit }
    }

    /// Adds what another record about the same limit knows.
    fn merge(&mut self, other: Self) {
        let Self { context, kind: _, what, model, fallback, before, after, took, resets, used } = other;
        self.what = self.what.take().or(what);
        self.model = self.model.take().or(model);
        self.fallback = self.fallback.take().or(fallback);
        self.before = self.before.or(before);
        self.after = self.after.or(after);
        self.took = self.took.or(took);
        self.resets = self.resets.or(resets);
        self.used = self.used.or(used);
        self.context.time = self.context.time.into_iter().chain(context.time).min();
        self.context.prefer_earlier_session(&context);
    }
}

/// Returns every limit that was reached, once, in log order.
pub fn limits(ledger: &Ledger) -> Vec<Limit> {
    let mut table = LimitTable::default();
    let mut reached: Vec<Limit> = Vec::new();
    let mut seen: HashSet<Id> = HashSet::new();
    let mut stopped = StoppedCounts::default();
    for Traced { context, uuid, trace, .. } in &ledger.traces {
        let Trace::Limit(decoded) = trace else { continue };
        let kind = match decoded.kind {
            LimitKind::RateLimit => Kind::RateLimit,
            LimitKind::Fallback => Kind::Fallback,
            LimitKind::Refusal => Kind::Refusal,
            LimitKind::FailedCompaction => Kind::Compaction,
            LimitKind::Microcompaction => Kind::Microcompaction,
            LimitKind::MaxTurns => {
                if uuid.is_none_or(|uuid| seen.insert(uuid)) {
                    reached.push(Limit::new(context, Kind::Stop, Some("max_turns")));
                }
                continue;
            }
            LimitKind::StoppedEvent => {
                stopped.add(context, 1, 0);
                continue;
            }
            LimitKind::StoppedResponses(stops) => {
                stopped.add(context, 0, stops);
                continue;
            }
        };
        let ids = decoded.ids.iter().map(|id| Id::of(id)).chain(*uuid).collect();
        table.add(Limit::of(context, kind, decoded), ids);
    }
    table.stopped(stopped);
    let mut all = table.all;
    all.extend(ledger.compactions.iter().map(Limit::of_compaction));
    all.extend(stops(ledger, reached));
    all.sort_by_key(|limit| limit.context.location);
    all
}

/// Limits, indexed by the ids under which other records repeat them.
#[derive(Default)]
struct LimitTable {
    all: Vec<Limit>,
    index: HashMap<Id, usize>,
}

impl LimitTable {
    fn add(&mut self, limit: Limit, ids: Vec<Id>) {
        let known = ids.iter().find_map(|id| self.index.get(id).copied());
        let at = known.unwrap_or(self.all.len());
        match known {
            Some(at) => self.all[at].merge(limit),
            None => self.all.push(limit),
        }
        for id in ids {
            self.index.entry(id).or_insert(at);
        }
    }

    /// Adds stopped responses that have no other record.
    fn stopped(&mut self, stopped: StoppedCounts) {
        for (session, (events, stops, context)) in stopped.0 {
            let refusals =
                self.all.iter().filter(|one| one.kind == Kind::Refusal && one.context.session == session);
            let known = refusals.count() as u64;
            let unknown = known..stops.max(events);
            self.all.extend(unknown.map(|_| Limit::new(&context, Kind::Refusal, Some("safety_stop"))));
        }
    }
}

/// Number of stopped responses per session in the printed stream: by events without a message id, and by a
/// count at the end of a turn. No recording shows whether that count is per turn or per process, so the
/// maximum is taken.
#[derive(Default)]
struct StoppedCounts(BTreeMap<Option<SessionIndex>, (u64, u64, Context)>);

impl StoppedCounts {
    fn add(&mut self, context: &Context, events: u64, stops: u64) {
        let known = self.0.entry(context.session).or_insert_with(|| (0, 0, context.clone()));
        known.0 += events;
        known.1 = known.1.max(stops);
    }
}

/// Returns the turns that were stopped. Records of saved sessions count only if the session has no result.
fn stops(ledger: &Ledger, mut reached: Vec<Limit>) -> Vec<Limit> {
    let is_stop = |subtype: &str| matches!(subtype, "error_max_turns" | "error_max_budget_usd");
    let turns = ledger.turns.iter().filter(|turn| turn.counted && is_stop(&turn.subtype));
    let stops: Vec<Limit> = turns
        .map(|turn| Limit::new(&turn.context, Kind::Stop, turn.subtype.strip_prefix("error_")))
        .collect();
    let ended: HashSet<SessionIndex> = ledger.turns.iter().filter_map(|turn| turn.context.session).collect();
    reached.retain(|limit| limit.context.session.is_none_or(|session| !ended.contains(&session)));
    stops.into_iter().chain(reached).collect()
}
