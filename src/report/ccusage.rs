//! Figures of ccstat in the JSON format of ccusage, for its dashboards.
//!
//! Keys follow ccusage 20.0.24: both its reports over all agents and those for Claude only, whose keys
//! (`date`, `week`, `month`, `sessionId`) older versions use too.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Data, Reader, Report, Value, View, Windows,
    cost::window::{BurnRate, Projection, WINDOW, is_active, start_of},
    spec::PERIOD,
    sum::Sum,
};
use crate::{
    facts::{
        Detail,
        ledger::{Charge, Session},
    },
    measure::{Time, Usd, calendar},
};

/// A report of ccusage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// By day.
    Daily,
    /// By week, from Monday.
    Weekly,
    /// By month.
    Monthly,
    /// By session.
    Sessions,
    /// By window of five hours.
    Blocks,
}

impl Preset {
    /// Detail that must be kept for it.
    pub fn keeps(self) -> Detail {
        match self {
            Self::Daily | Self::Weekly | Self::Monthly | Self::Blocks => PERIOD,
            Self::Sessions => Detail::ROWS,
        }
    }
}

/// Name for an unknown model.
const UNKNOWN: &str = "unknown";

/// Charges of one row.
#[derive(Default)]
struct Group<'a> {
    sum: Sum,
    models: BTreeMap<&'a str, Sum>,
    /// Models without a price.
    unpriced: BTreeSet<&'a str>,
    first: Option<Time>,
    last: Option<Time>,
}

impl<'a> Group<'a> {
    fn add(&mut self, view: &View<'a>, charge: &'a Charge) {
        let model = charge.model.as_deref().unwrap_or(UNKNOWN);
        self.sum.add(charge);
        self.models.entry(model).or_default().add(charge);
        let session = view.session(&charge.context);
        if session.is_some_and(|session| session.unpriced.contains(model)) {
            self.unpriced.insert(model);
        }
        if let Some(time) = charge.context.time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = self.last.max(Some(time));
        }
    }

    fn of(view: &View<'a>, charges: impl IntoIterator<Item = &'a Charge>) -> Self {
        charges.into_iter().fold(Self::default(), |mut group, charge| {
            group.add(view, charge);
            group
        })
    }

    /// Whether there is nothing to show: no responses, no tokens, no cost.
    fn is_nothing(&self) -> bool {
        let Sum { responses, cost, .. } = &self.sum;
        *responses == 0 && self.sum.all_tokens() == 0 && cost.unwrap_or_default() == Usd::ZERO
    }

    /// Models with a name.
    fn used(&self) -> Value {
        let named = self.models.keys().filter(|&&model| model != UNKNOWN);
        Value::List(named.map(|&model| Value::text(model)).collect())
    }

    /// Keys of every row.
    fn row(&self) -> Map {
        let mut row = counts(&self.sum);
        row.push(("totalTokens", self.sum.all_tokens().into()));
        row.push(("totalCost", cost(&self.sum)));
        row.push(("modelsUsed", self.used()));
        let mut models: Vec<(&&str, &Sum)> = self.models.iter().collect();
        models.sort_by_key(|(name, sum)| (std::cmp::Reverse(sum.cost), **name));
        let breakdown = |(name, sum): (&&str, &Sum)| {
            let mut model = vec![("modelName", Value::text(*name))];
            model.extend(counts(sum));
            model.push(("cost", cost(sum)));
            if self.unpriced.contains(*name) {
                model.push(("missingPricing", Value::Flag(true)));
            }
            Value::map(model)
        };
        row.push(("modelBreakdowns", Value::List(models.into_iter().map(breakdown).collect())));
        row
    }
}

type Map = Vec<(&'static str, Value)>;

fn counts(sum: &Sum) -> Map {
    let tokens = &sum.tokens;
    vec![
        ("inputTokens", tokens.input.into()),
        ("outputTokens", tokens.output.into()),
        ("cacheCreationTokens", tokens.cache_write_5m.saturating_add(tokens.cache_write_1h).into()),
        ("cacheReadTokens", tokens.cache_read.into()),
    ]
}

/// The known part of a cost; null if nothing is known. Models without a price are listed separately.
fn cost(sum: &Sum) -> Value {
    sum.cost.into()
}

/// Builds a report in the format of ccusage. A window that has not ended at `now` is active.
pub fn ccusage(view: &View<'_>, by: Preset, windows: Windows, now: Time) -> Report {
    let mut data: Vec<(String, Value)> = Vec::new();
    let mut put = |key: &str, value: Value| data.push((key.to_owned(), value));
    let zone = view.zone;
    match by {
        Preset::Daily => put("daily", periods(view, "date", |time| zone.day(time))),
        Preset::Weekly => put("weekly", periods(view, "week", |time| zone.week(time))),
        Preset::Monthly => put("monthly", periods(view, "month", |time| zone.month(time))),
        Preset::Sessions => {
            let sessions = sessions(view);
            put("session", sessions.clone());
            put("sessions", sessions); // the key in the report for Claude only, and in older versions
        }
        Preset::Blocks => put("blocks", blocks(view, windows, now)),
    }
    if by != Preset::Blocks {
        put("totals", totals(view));
    }
    Report {
        name: "ccusage",
        data: Data::Bare(data),
        notes: Vec::new(),
        verdicts: Vec::new(),
        run_outcomes: Vec::new(),
        screen: Vec::new(),
        reader: Reader::default(),
    }
}

fn totals(view: &View<'_>) -> Value {
    let all = Group::of(view, &view.ledger.charges);
    let mut totals = counts(&all.sum);
    totals.push(("totalTokens", all.sum.all_tokens().into()));
    totals.push(("totalCost", cost(&all.sum)));
    if !all.unpriced.is_empty() {
        let unpriced = all.unpriced.iter().map(|&model| Value::text(model));
        totals.push(("unpricedModels", Value::List(unpriced.collect())));
    }
    Value::map(totals)
}

/// One row per period, and a last one for charges without a time, so that rows add up.
fn periods(view: &View<'_>, key: &'static str, period: impl Fn(Time) -> Option<String>) -> Value {
    let mut groups: BTreeMap<(bool, Option<String>), Group<'_>> = BTreeMap::new();
    for charge in &view.ledger.charges {
        let period = charge.context.time.and_then(&period);
        groups.entry((period.is_none(), period)).or_default().add(view, charge);
    }
    let row = |((_, period), group): ((bool, Option<String>), Group<'_>)| {
        let period = Value::from(period);
        let mut row = vec![("period", period.clone()), (key, period), ("agent", "all".into())];
        row.extend(group.row());
        row.push(("metadata", Value::map([("agents", Value::List(vec!["claude".into()]))])));
        Value::map(row)
    };
    Value::List(groups.into_iter().filter(|(_, group)| !group.is_nothing()).map(row).collect())
}

/// One row per session, most expensive first.
fn sessions(view: &View<'_>) -> Value {
    let mut groups: Vec<Group<'_>> = view.ledger.sessions.iter().map(|_| Group::default()).collect();
    for charge in &view.ledger.charges {
        // Every cost belongs to a session.
        if let Some(session) = charge.context.session {
            groups[session.get()].add(view, charge);
        }
    }
    let all = view.ledger.sessions.iter().zip(groups);
    let mut all: Vec<(&Session, Group<'_>)> = all.filter(|(_, group)| !group.is_nothing()).collect();
    all.sort_by_key(|(_, group)| std::cmp::Reverse(group.sum.cost));
    let row = |(session, group): (&Session, Group<'_>)| {
        let id = Value::from(session.id.as_deref());
        let last = Value::from(group.last.or(session.ended));
        let mut row = vec![
            ("period", id.clone()),
            ("sessionId", id),
            ("projectPath", session.project.as_deref().into()),
            ("agent", "claude".into()),
            ("firstActivity", group.first.or(session.started).into()),
            ("lastActivity", last.clone()),
        ];
        row.extend(group.row());
        row.push(("metadata", Value::map([("lastActivity", last)])));
        Value::map(row)
    };
    Value::List(all.into_iter().map(row).collect())
}

/// One row per window, with the gaps between them, and a last one for charges without a time.
fn blocks(view: &View<'_>, windows: Windows, now: Time) -> Value {
    let charges = &view.ledger.charges;
    let starts = calendar::window_starts(charges.iter().filter_map(|charge| charge.context.time).collect());
    let mut groups: BTreeMap<(bool, Option<Time>), Group<'_>> = BTreeMap::new();
    for charge in charges {
        let start = charge.context.time.and_then(|time| start_of(&starts, time));
        groups.entry((start.is_none(), start)).or_default().add(view, charge);
    }
    let mut rows = Vec::new();
    let mut before: Option<Time> = None;
    for ((_, start), group) in groups.iter().filter(|(_, group)| !group.is_nothing()) {
        if let (Some(last), Some(first)) = (before, group.first)
            && first.since(last) > WINDOW
            && windows.has(last.plus(WINDOW), false, now)
        {
            rows.push(gap(last.plus(WINDOW), first));
        }
        before = group.last.or(before);
        let is_active = start.zip(group.last).is_some_and(|(start, last)| is_active(start, last, now));
        if start.map_or(windows == Windows::All, |start| windows.has(start, is_active, now)) {
            rows.push(block(*start, group, is_active, now));
        }
    }
    Value::List(rows)
}

fn block(start: Option<Time>, group: &Group<'_>, is_active: bool, now: Time) -> Value {
    let end = start.map(|start| start.plus(WINDOW));
    let rate = group.first.zip(group.last).and_then(|(first, last)| BurnRate::of(&group.sum, first, last));
    let rate = rate.filter(|_| is_active);
    let projected = |(rate, end): (BurnRate, Time)| {
        (rate_value(rate), projection_value(rate.projection(&group.sum, end.since(now))))
    };
    window(
        start.map(|start| start.to_string()).into(),
        [start, end],
        group,
        cost(&group.sum),
        is_active,
        rate.zip(end).map(projected),
        false,
    )
}

fn rate_value(rate: BurnRate) -> Value {
    Value::map([
        ("tokensPerMinute", Value::Number(rate.tokens)),
        ("tokensPerMinuteForIndicator", Value::Number(rate.uncached)),
        ("costPerHour", rate.cost.map_or(Value::Missing, Value::Number)),
    ])
}

fn projection_value(end: Projection) -> Value {
    let Projection { tokens, cost, minutes } = end;
    Value::map([("totalTokens", tokens), ("totalCost", cost), ("remainingMinutes", minutes)])
}

/// A gap without responses between two windows.
fn gap(start: Time, end: Time) -> Value {
    let times = [Some(start), Some(end)];
    window(format!("gap-{start}").into(), times, &Group::default(), Usd::ZERO.into(), false, None, true)
}

fn window(
    id: Value,
    [start, end]: [Option<Time>; 2],
    group: &Group<'_>,
    cost: Value,
    is_active: bool,
    rate: Option<(Value, Value)>,
    is_gap: bool,
) -> Value {
    let (rate, projection) = rate.unwrap_or_default();
    Value::map([
        ("id", id),
        ("startTime", start.into()),
        ("endTime", end.into()),
        ("actualEndTime", group.last.into()),
        ("isActive", is_active.into()),
        ("isGap", is_gap.into()),
        ("entries", group.sum.responses.into()),
        ("tokenCounts", token_counts(&group.sum)),
        ("totalTokens", group.sum.all_tokens().into()),
        ("costUSD", cost),
        ("models", group.used()),
        ("burnRate", rate),
        ("projection", projection),
    ])
}

fn token_counts(sum: &Sum) -> Value {
    let tokens = &sum.tokens;
    Value::map([
        ("inputTokens", tokens.input.into()),
        ("outputTokens", tokens.output.into()),
        ("cacheCreationInputTokens", tokens.cache_write_5m.saturating_add(tokens.cache_write_1h).into()),
        ("cacheReadInputTokens", tokens.cache_read.into()),
    ])
}
