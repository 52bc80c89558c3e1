//! The rows of an overview: days, models and projects, sessions, failures and limits.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::Periods;
use crate::{
    facts::{
        Name,
        ledger::{Charge, Context, End, SessionIndex},
        trace::limit::Limit,
    },
    measure::{Time, Usd, add},
    report::{Outcome, Value, View, outcomes, repeats::failure, sum::text},
};

/// A day with its cost.
#[derive(Clone, Debug, Default)]
pub(super) struct DayRow {
    pub(super) day: String,
    pub(super) cost: Option<Usd>,
    pub(super) sessions: u64,
    pub(super) calls: u64,
    pub(super) errors: u64,
}

/// All days of a period, with and without activity.
pub(super) fn days(view: &View<'_>, period: &Range<Time>) -> Vec<DayRow> {
    let mut rows: BTreeMap<String, (DayRow, Vec<SessionIndex>)> = BTreeMap::new();
    for day in view.zone.days(period) {
        rows.insert(day.clone(), (DayRow { day, ..DayRow::default() }, Vec::new()));
    }
    let mut last: (Range<Time>, Option<String>) = (period.start..period.start, None);
    let mut day = |context: &Context| {
        let time = context.time.filter(|time| period.contains(time))?;
        // Rows of one day follow each other, and finding the day of a time is slow.
        if !last.0.contains(&time) {
            last = (view.zone.same_day(time), view.zone.day(time));
        }
        last.1.clone()
    };
    for charge in &view.ledger.charges {
        if let Some((row, sessions)) = day(&charge.context).and_then(|day| rows.get_mut(&day)) {
            add(&mut row.cost, charge.cost);
            sessions.extend(charge.context.session.filter(|session| sessions.last() != Some(session)));
        }
    }
    for call in &view.ledger.calls {
        if let Some((row, _)) = day(&call.context).and_then(|day| rows.get_mut(&day)) {
            row.calls += 1;
            row.errors += u64::from(call.end == End::Error);
        }
    }
    let finish = |(mut row, mut sessions): (DayRow, Vec<SessionIndex>)| {
        sessions.sort_unstable();
        sessions.dedup();
        row.sessions = sessions.len() as u64;
        row
    };
    rows.into_values().map(finish).collect()
}

/// The cost of a model or project.
#[derive(Clone, Debug)]
pub(super) struct NamedRow {
    pub(super) name: Option<Name>,
    pub(super) cost: Option<Usd>,
    /// Its cost in the period before.
    pub(super) before: Option<Usd>,
}

/// Returns the name by which the cost of a charge is grouped.
pub(super) type NameOf = fn(&View<'_>, &Charge) -> Option<Name>;

pub(super) fn model(_: &View<'_>, charge: &Charge) -> Option<Name> {
    charge.model.clone()
}

pub(super) fn project(view: &View<'_>, charge: &Charge) -> Option<Name> {
    view.session(&charge.context).and_then(|session| session.project.clone())
}

/// The cost of a period and of the one before by name, the largest first. Names that had a cost only before come last.
pub(super) fn by(view: &View<'_>, periods: &Periods, name: NameOf) -> Vec<NamedRow> {
    let mut rows: BTreeMap<Option<Name>, [Option<Usd>; 2]> = BTreeMap::new();
    for charge in &view.ledger.charges {
        let Some(time) = charge.context.time else { continue };
        let of_period = [&periods.period, &periods.before].into_iter().position(|one| one.contains(&time));
        if let Some(at) = of_period {
            add(&mut rows.entry(name(view, charge)).or_default()[at], charge.cost);
        }
    }
    let mut rows: Vec<NamedRow> = rows
        .into_iter()
        .map(|(name, [cost, before])| NamedRow { name, cost, before })
        .filter(|row| row.cost.is_some() || row.before.is_some())
        .collect();
    rows.sort_by_key(|row| (Reverse(row.cost), Reverse(row.before)));
    rows
}

/// A session with activity in the period.
#[derive(Clone, Debug)]
pub(super) struct SessionRow {
    /// Time of its last activity in the period.
    pub(super) last: Time,
    /// The same as a time of day.
    pub(super) clock: Option<String>,
    pub(super) session: Value,
    pub(super) title: Value,
    pub(super) project: Value,
    pub(super) outcome: Outcome,
    pub(super) calls: u64,
    pub(super) errors: u64,
    /// Its cost in the period.
    pub(super) cost: Option<Usd>,
}

/// The sessions with activity in a period, the latest first.
pub(super) fn sessions(view: &View<'_>, period: &Range<Time>) -> Vec<SessionRow> {
    let ledger = view.ledger;
    let (outcomes, titles) = (outcomes(ledger), view.titles());
    let mut rows: BTreeMap<SessionIndex, SessionRow> = BTreeMap::new();
    let mut row = |context: &Context| {
        let time = context.time.filter(|time| period.contains(time));
        let Some((time, at)) = time.zip(context.session) else { return };
        let session = &ledger.sessions[at];
        let row = rows.entry(at).or_insert_with(|| SessionRow {
            last: time,
            clock: None,
            session: text(session.id.as_ref()),
            title: titles[at.get()].clone(),
            project: text(session.project.as_ref()),
            outcome: outcomes[at.get()],
            calls: 0,
            errors: 0,
            cost: None,
        });
        row.last = row.last.max(time);
    };
    ledger.prompts.iter().for_each(|prompt| row(&prompt.context));
    ledger.responses.iter().for_each(|response| row(&response.context));
    ledger.calls.iter().for_each(|call| row(&call.context));
    ledger.charges.iter().for_each(|charge| row(&charge.context));
    let is_in = |context: &Context| context.time.is_some_and(|time| period.contains(&time));
    for charge in ledger.charges.iter().filter(|charge| is_in(&charge.context)) {
        if let Some(row) = charge.context.session.and_then(|at| rows.get_mut(&at)) {
            add(&mut row.cost, charge.cost);
        }
    }
    for call in ledger.calls.iter().filter(|call| is_in(&call.context)) {
        if let Some(row) = call.context.session.and_then(|at| rows.get_mut(&at)) {
            row.calls += 1;
            row.errors += u64::from(call.end == End::Error);
        }
    }
    let mut rows: Vec<SessionRow> = rows.into_values().collect();
    rows.iter_mut().for_each(|row| row.clock = view.zone.clock(row.last));
    rows.sort_by_key(|row| Reverse(row.last));
    rows
}

/// Failures or denials that are alike.
#[derive(Clone, Debug)]
pub(super) struct FailureRow {
    /// `denied`, `tool`, `prompt` or `api`.
    pub(super) kind: &'static str,
    pub(super) name: Name,
    /// The error, or the call that was denied; missing unless texts are kept.
    pub(super) reason: Option<Name>,
    pub(super) count: u64,
    pub(super) last: Option<Time>,
}

/// One failure or denial.
pub(super) struct Failure<'a> {
    /// As in [`FailureRow`].
    pub(super) kind: &'static str,
    name: &'a str,
    reason: Option<&'a Name>,
    pub(super) context: &'a Context,
}

/// Everything that failed or was denied, at any time.
pub(super) fn each_failure<'a>(view: &View<'a>) -> impl Iterator<Item = Failure<'a>> {
    let ledger = view.ledger;
    let denials = ledger.denials.iter().map(|denial| {
        let reason = denial.call.and_then(|call| ledger.calls[call].brief.as_ref());
        Failure { kind: "denied", name: &denial.tool, reason, context: &denial.context }
    });
    let calls = ledger.calls.iter().filter(|call| call.end == End::Error).map(|call| {
        let reason = call.failure.as_ref();
        Failure { kind: "tool", name: &call.tool, reason, context: &call.context }
    });
    let turns = ledger.turns.iter().filter(|turn| turn.counted && !turn.ok).map(|turn| {
        let reason = turn.failure.as_ref();
        Failure { kind: "prompt", name: failure(turn), reason, context: &turn.context }
    });
    let errors = ledger.api_failures.iter().filter(|error| !error.retried).map(|error| {
        let reason = error.message.as_ref();
        Failure { kind: "api", name: &error.kind, reason, context: &error.context }
    });
    denials.chain(calls).chain(turns).chain(errors)
}

/// Failures and denials of a period, the most frequent first.
pub(super) fn failures(view: &View<'_>, period: &Range<Time>) -> Vec<FailureRow> {
    type Key = (&'static str, Name, Option<Name>);
    let mut rows: HashMap<Key, (u64, Option<Time>)> = HashMap::new();
    for Failure { kind, name, reason, context } in each_failure(view) {
        if context.time.is_some_and(|time| period.contains(&time)) {
            let (count, last) = rows.entry((kind, Name::from(name), reason.cloned())).or_default();
            *count += 1;
            *last = (*last).max(context.time);
        }
    }
    let row = |((kind, name, reason), (count, last)): (Key, (u64, Option<Time>))| FailureRow {
        kind,
        name,
        reason,
        count,
        last,
    };
    let mut rows: Vec<FailureRow> = rows.into_iter().map(row).collect();
    rows.sort_by(|one, two| {
        let order = |row: &FailureRow| (Reverse(row.count), Reverse(row.last), row.kind);
        let names = |row: &FailureRow| (row.name.clone(), row.reason.clone());
        order(one).cmp(&order(two)).then_with(|| names(one).cmp(&names(two)))
    });
    rows
}

/// A rate limit that has not been reset.
#[derive(Clone, Debug)]
pub(super) struct LimitRow {
    pub(super) what: Option<Name>,
    pub(super) used: Option<f64>,
    pub(super) resets: Option<Time>,
}

/// The latest state of each rate limit that resets after `now`.
pub(super) fn limits(limits: impl Iterator<Item = Limit>, now: Time) -> Vec<LimitRow> {
    let mut latest: BTreeMap<Option<Name>, (Option<Time>, LimitRow)> = BTreeMap::new();
    let is_current = |limit: &Limit| {
        limit.resets.is_some_and(|resets| resets > now) && limit.context.time.is_none_or(|time| time < now)
    };
    for limit in limits.filter(is_current) {
        let row = LimitRow { what: limit.what.clone(), used: limit.used, resets: limit.resets };
        let known = latest.entry(limit.what).or_insert((limit.context.time, row.clone()));
        if limit.context.time >= known.0 {
            *known = (limit.context.time, row);
        }
    }
    latest.into_values().map(|(_, row)| row).collect()
}
