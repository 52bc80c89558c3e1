//! Where a run met a limit: of the subscription, of the model, of the context, of what was asked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    event::trace::{self, LimitKind, Trace},
    facts::{
        Name,
        key::Id,
        ledger::{Compaction, Context, Ledger, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

/// One moment at which a limit was met.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// When and where.
    pub context: Context,
    /// What kind of limit.
    pub kind: Kind,
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

names! {
    /// What kind of limit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Kind {
        /// What a subscription may use in a window of time.
        RateLimit = "rate_limit",
        /// A model was not to be had, and another one answered.
        Fallback = "fallback",
        /// A model refused to answer, or its answer was stopped.
        Refusal = "refusal",
        /// The conversation was too long, and was summarised.
        Compaction = "compaction",
        /// Old results of tools were dropped from the conversation.
        Microcompaction = "microcompaction",
        /// The turns or the money that were granted came to an end.
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

    fn of(context: &Context, kind: Kind, told: &trace::Limit<Name>) -> Self {
        let trace::Limit { kind: decoded, what, model, fallback, before, after, took, resets, used, ids: _ } =
            told.clone();
        let what = if decoded == LimitKind::FailedCompaction { Some(Name::from("failed")) } else { what };
        Self { context: context.clone(), kind, what, model, fallback, before, after, took, resets, used }
    }

    fn of_compaction(one: &Compaction) -> Self {
        let Compaction { context, before, after, trigger, took } = one.clone();
        Self { before, after, took, ..Self::new(&context, Kind::Compaction, trigger.as_deref()) }
    }

    /// Learns what another telling of the same moment knows.
    fn learn(&mut self, other: Self) {
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

/// Every moment at which a limit was met, once, in the order they stand.
pub fn limits(ledger: &Ledger) -> Vec<Limit> {
    let mut met = Met::default();
    let mut reached: Vec<Limit> = Vec::new();
    let mut seen: HashSet<Id> = HashSet::new();
    let mut stopped = Stopped::default();
    for Traced { context, uuid, trace, .. } in &ledger.traces {
        let Trace::Limit(told) = trace else { continue };
        let kind = match told.kind {
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
        let ids = told.ids.iter().map(|id| Id::of(id)).chain(*uuid).collect();
        met.add(Limit::of(context, kind, told), ids);
    }
    met.stopped(stopped);
    let mut all = met.all;
    all.extend(ledger.compactions.iter().map(Limit::of_compaction));
    all.extend(stops(ledger, reached));
    all.sort_by_key(|limit| limit.context.location);
    all
}

/// What was met, by the ids under which it is told again.
#[derive(Default)]
struct Met {
    all: Vec<Limit>,
    index: HashMap<Id, usize>,
}

impl Met {
    fn add(&mut self, limit: Limit, ids: Vec<Id>) {
        let known = ids.iter().find_map(|id| self.index.get(id).copied());
        let at = known.unwrap_or(self.all.len());
        match known {
            Some(at) => self.all[at].learn(limit),
            None => self.all.push(limit),
        }
        for id in ids {
            self.index.entry(id).or_insert(at);
        }
    }

    /// Adds responses that were stopped and of which nothing else tells.
    fn stopped(&mut self, stopped: Stopped) {
        for (session, (events, stops, context)) in stopped.0 {
            let refusals =
                self.all.iter().filter(|one| one.kind == Kind::Refusal && one.context.session == session);
            let known = refusals.count() as u64;
            let unknown = known..stops.max(events);
            self.all.extend(unknown.map(|_| Limit::new(&context, Kind::Refusal, Some("safety_stop"))));
        }
    }
}

/// How many responses of each session were stopped, as the CLI's output tells it: by events that name no response, and by a
/// count at the end of a turn. Whether that counts the turn or the process no recording shows, so the largest one stands.
#[derive(Default)]
struct Stopped(BTreeMap<Option<SessionIndex>, (u64, u64, Context)>);

impl Stopped {
    fn add(&mut self, context: &Context, events: u64, stops: u64) {
        let known = self.0.entry(context.session).or_insert_with(|| (0, 0, context.clone()));
        known.0 += events;
        known.1 = known.1.max(stops);
    }
}

/// Turns that were stopped. A saved session has no results: what it says counts where no result does.
fn stops(ledger: &Ledger, mut reached: Vec<Limit>) -> Vec<Limit> {
    let is_stop = |subtype: &str| matches!(subtype, "error_max_turns" | "error_max_budget_usd");
    let turns = ledger.turns.iter().filter(|turn| turn.counted && is_stop(&turn.subtype));
    let told: Vec<Limit> = turns
        .map(|turn| Limit::new(&turn.context, Kind::Stop, turn.subtype.strip_prefix("error_")))
        .collect();
    let ended: HashSet<SessionIndex> = ledger.turns.iter().filter_map(|turn| turn.context.session).collect();
    reached.retain(|limit| limit.context.session.is_none_or(|session| !ended.contains(&session)));
    told.into_iter().chain(reached).collect()
}
