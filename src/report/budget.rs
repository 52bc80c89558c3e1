//! Budgets: how much of each is used, and whether the pace exceeds it.

use std::ops::Range;

use super::{
    Data,
    Key::{self, List, Maybe, Object, One},
    Line, Pattern, Report, Tone, Unit, Value, Verdict, View,
    spec::object,
    sum::share,
};
use crate::measure::{Time, Usd, add, calendar::Zone};

/// An amount for each day, week or month, of all projects or of some.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The projects that count, as the option for projects names them; `None` for all.
    project: Option<(String, Pattern)>,
    period: Period,
    amount: Usd,
}

names! {
    /// The period of a budget.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Period {
        /// From midnight to midnight.
        Day = "day",
        /// From Monday.
        Week = "week",
        /// From the first day of the month.
        Month = "month",
    }
}

/// Prefix of the budget of a project.
const PROJECT: &str = "project:";

impl Budget {
    /// Parses `day=20`, `week=100`, `month=300` or `project:NAME=5`, which is for each day.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || "not a budget: give day=20, week=100, month=300 or project:NAME=5, in dollars".to_owned();
        let (name, amount) = text.rsplit_once('=').ok_or_else(wrong)?;
        let amount = amount.trim().trim_start_matches('$');
        let is_plain =
            !amount.is_empty() && amount.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        let amount: f64 = amount.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
        let amount = Usd::from_dollars(amount);
        if amount <= Usd::ZERO {
            return Err("a budget must be more than nothing".to_owned());
        }
        match name.trim().strip_prefix(PROJECT) {
            Some(project) if !project.is_empty() => {
                let project = Some((project.to_owned(), Pattern::new(project)?));
                Ok(Self { project, period: Period::Day, amount })
            }
            Some(_) => Err(wrong()),
            None => {
                let period = Period::ALL.into_iter().find(|period| period.name() == name.trim());
                Ok(Self { project: None, period: period.ok_or_else(wrong)?, amount })
            }
        }
    }

    /// The period around a time.
    fn range(&self, zone: &Zone, now: Time) -> Option<Range<Time>> {
        let name = match self.period {
            Period::Day => "today",
            Period::Week => "this week",
            Period::Month => "this month",
        };
        // Midnight belongs to the day that it ends.
        let at = Time::from_micros(now.micros() - 1);
        let bound = |is_end| zone.parse_time(name, at, is_end).ok();
        Some(bound(false)?..bound(true)?)
    }
}

/// The time at which budgets are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetTime {
    /// The end of what is counted.
    pub now: Time,
    /// The time before which a filter left nothing.
    pub since: Option<Time>,
}

/// How much of a budget is used.
struct Use<'a> {
    budget: &'a Budget,
    range: Range<Time>,
    /// `None` if a filter left out a part of the period.
    cost: Option<Usd>,
    /// Whether a response has no price.
    is_minimum: bool,
    /// Estimate of the cost at the end of the period.
    estimated: Option<Usd>,
}

impl<'a> Use<'a> {
    fn of(view: &View<'_>, budget: &'a Budget, at: BudgetTime) -> Option<Self> {
        let range = budget.range(view.zone, at.now)?;
        let mut one = Self { budget, cost: None, is_minimum: false, estimated: None, range };
        if at.since.is_some_and(|since| since > one.range.start) {
            return Some(one);
        }
        let mut cost = Some(Usd::ZERO);
        let period = one.range.start..one.range.end.min(at.now);
        let is_in = |time: Time| period.contains(&time);
        for charge in view.ledger.charges.iter().filter(|charge| charge.context.time.is_some_and(is_in)) {
            let project = || view.session(&charge.context).and_then(|session| session.project.as_deref());
            let counts =
                |(_, pattern): &(String, Pattern)| project().is_some_and(|name| pattern.is_part_of(name));
            if budget.project.as_ref().is_none_or(counts) {
                add(&mut cost, charge.cost);
                one.is_minimum |= charge.known && charge.cost.is_none();
            }
        }
        one.cost = cost;
        one.estimated = one.at_end(at.now);
        Some(one)
    }

    /// The cost at the end of the period if it goes on like this.
    fn at_end(&self, now: Time) -> Option<Usd> {
        let passed = now.since(self.range.start).as_f64();
        let whole = self.range.end.since(self.range.start).as_f64();
        let cost = Value::from(self.cost?);
        match cost.like(cost.number()? * whole / passed) {
            Value::Usd(amount) if passed > 0.0 => Some(amount),
            _ => None,
        }
    }

    fn used(&self) -> Option<f64> {
        share(self.cost, Some(self.budget.amount))
    }

    fn is_exceeded(&self) -> bool {
        self.cost.is_some_and(|cost| cost > self.budget.amount)
    }

    /// Whether the pace exceeds it.
    fn exceeds(&self) -> Option<bool> {
        self.estimated.map(|estimated| estimated > self.budget.amount)
    }

    fn named(&self, line: Line) -> Line {
        let line = line.word("budget of the ").word(self.budget.period.name());
        match &self.budget.project {
            Some((project, _)) => line.word(" for ").value(project.as_str()),
            None => line,
        }
    }

    fn line(&self) -> Line {
        let tone = match (self.is_exceeded(), self.exceeds()) {
            (true, _) => Tone::Bad,
            (false, Some(true)) => Tone::Warning,
            (false, _) => Tone::Plain,
        };
        self.figures(self.named(Line::new(tone)).word(": "))
    }

    fn figures(&self, line: Line) -> Line {
        let amount = self.budget.amount;
        let (Some(cost), Some(used)) = (self.cost, self.used()) else {
            return line.word("unknown, since the filter leaves out a part of it");
        };
        let line = if self.is_minimum { line.word("at least ") } else { line };
        let line =
            line.value(cost).word(" of ").value(amount).word(" used (").value(Value::Share(used)).word(")");
        let Some(estimated) = self.estimated.filter(|_| cost > Usd::ZERO && !self.is_exceeded()) else {
            return line;
        };
        let line = line.word("; about ").value(estimated).word(" at this pace, ");
        line.word(if estimated > amount {
            "which exceeds it (an estimate)"
        } else {
            "which is within it (an estimate)"
        })
    }
}

const TEXT: Key = One(Unit::Text);
const USD: Key = Maybe(&One(Unit::Usd));

/// Schema of the key `budgets`.
pub(super) const BUDGETS: Key = List(&Object(BUDGET));

object! { BUDGET, budget(one: &Use<'_>)
    period: "`day`, `week` or `month`.", TEXT => one.budget.period.name();
    project: "Projects that count; null for all.", Maybe(&TEXT) => one.budget.project.as_ref().map(|(name, _)| name.as_str());
    since: "Beginning of the period.", One(Unit::Time) => one.range.start;
    until: "End of the period, exclusive.", One(Unit::Time) => one.range.end;
    budget_usd: "The budget.", One(Unit::Usd) => one.budget.amount;
    cost_usd: "Cost in the period so far; null if a filter leaves out a part of it.", USD => one.cost;
    used: "Used share; 1 is all of it.", Maybe(&One(Unit::Share)) => one.used().map(Value::Share);
    estimated_usd: "Estimate: cost at the end of the period, if it goes on like this.", USD => one.estimated;
    estimated_exceeds: "Estimate: whether that is more than the budget.", Maybe(&One(Unit::Flag)) => one.exceeds();
}

/// Says how much of each budget is used.
#[must_use]
pub fn with_budgets(mut report: Report, view: &View<'_>, budgets: &[Budget], at: BudgetTime) -> Report {
    let uses: Vec<Use<'_>> = budgets.iter().filter_map(|budget| Use::of(view, budget, at)).collect();
    if let Data::Tree(members) = &mut report.data
        && let Some((_, value)) = members.iter_mut().find(|(key, _)| key == "budgets")
    {
        *value = Value::List(uses.iter().map(|one| Value::Map(budget(one))).collect());
    }
    report.notes.splice(0..0, uses.iter().map(Use::line));
    report
}

/// Judges whether at most this share of each budget is used: one verdict, about the budget of which most is used.
pub fn judge_budgets(view: &View<'_>, budgets: &[Budget], at: BudgetTime, most: f64) -> Option<Verdict> {
    let uses = budgets.iter().filter_map(|budget| Use::of(view, budget, at));
    // An unknown share counts as the largest: a gate fails if the value it needs is unknown.
    let order = |one: &Use<'_>| one.used().unwrap_or(f64::INFINITY);
    let worst = uses.max_by(|one, two| order(one).total_cmp(&order(two)))?;
    let held = worst.used().is_some_and(|used| used <= most);
    let hint = Line::new(Tone::Plain).words("see where the cost comes from: {cost --by project,model}");
    Some(Verdict {
        gate: "max-budget-used",
        run: None,
        wall: None,
        held,
        limit: Value::Share(most),
        figure: worst.used().map_or(Value::Missing, Value::Share),
        at: None,
        what: worst.figures(worst.named(Line::new(if held { Tone::Good } else { Tone::Bad })).word(": ")),
        hint: Some(hint).filter(|_| !held),
    })
}

/// No budgets, as data.
pub(super) fn none() -> Value {
    Value::List(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_for_a_period_or_a_project() {
        for text in ["day=20", "week=$100.50", "month=300", "project:shop=5", "project:a=b=0.5", " day = 1"] {
            assert!(Budget::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "day",
            "day=",
            "=5",
            "year=5",
            "day=0",
            "day=-1",
            "day=1e3",
            "project:=5",
            "project=5",
            "day=nan",
        ] {
            assert!(Budget::parse(text).is_err(), "{text}");
        }
        let shop = Budget::parse("project:shop=5").unwrap();
        assert_eq!((shop.period, shop.amount), (Period::Day, Usd::from_dollars(5.0)));
    }

    #[test]
    fn periods_begin_and_end_in_the_time_zone() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        // 01:30 on Monday, the day after clocks were set back.
        let now = Time::parse("2026-10-26T00:30:00Z").unwrap();
        let range = |text: &str| {
            let range = Budget::parse(text).unwrap().range(&zone, now).unwrap();
            [range.start, range.end].map(|time| time.to_string())
        };
        assert_eq!(range("day=1"), ["2026-10-25T23:00:00.000Z", "2026-10-26T23:00:00.000Z"]);
        assert_eq!(range("week=1"), ["2026-10-25T23:00:00.000Z", "2026-11-01T23:00:00.000Z"]);
        assert_eq!(range("month=1"), ["2026-09-30T22:00:00.000Z", "2026-10-31T23:00:00.000Z"]);
        assert_eq!(range("project:shop=1"), range("day=1"));
    }
}
