//! Budgets: the options, and the time at which they are looked at.

use clap::Args;

use super::filter::Filters;
use crate::{
    error::Error,
    measure::calendar,
    report::{self, Budget, BudgetTime, Report, Verdict, View},
};

/// Budgets.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Gates")]
pub struct Budgets {
    /// Say how much of a budget is used, such as day=20, week=100, month=300 or project:shop=5
    ///
    /// Compares the cost of the current day, week or month with this many dollars, in the time zone of the report, and estimates
    /// the cost at the end of the period, if it goes on at the same pace. The budget of a project is for each day; its name is
    /// part of the path, as in the filter on projects. The cost is that of the logs that are read, as filtered. In a
    /// configuration file, budgets are the table `budget`.
    #[arg(long, value_name = "PERIOD=USD", value_parser = Budget::parse, value_delimiter = ',', hide_short_help = true)]
    pub budget: Vec<Budget>,
}

impl Budgets {
    /// Says in a report how much of each budget is used.
    pub(super) fn told(&self, report: Report, view: &View<'_>, filters: &Filters) -> Report {
        match self.time(view, filters) {
            Some(time) => report::with_budgets(report, view, &self.budget, time),
            None => report,
        }
    }

    /// The same for rows of all times, whatever the filter says about its beginning.
    pub(super) fn told_of_all(&self, report: Report, view: &View<'_>, filters: &Filters) -> Report {
        match self.time(view, filters) {
            Some(time) => {
                report::with_budgets(report, view, &self.budget, BudgetTime { since: None, ..time })
            }
            None => report,
        }
    }

    /// The end of the filter if it is in the past, else now.
    fn time(&self, view: &View<'_>, filters: &Filters) -> Option<BudgetTime> {
        let now = calendar::now();
        let (since, until) = filters.times(view.zone, now).ok()?;
        (!self.budget.is_empty())
            .then(|| BudgetTime { now: until.map_or(now, |until| until.min(now)), since })
    }
}

/// Budgets, and the gate on them.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Gates")]
pub struct BudgetGate {
    /// The budgets.
    #[command(flatten)]
    pub budgets: Budgets,
    /// Exit with 1 if more of a budget is used than this share, such as 100% or 0.8
    ///
    /// Every budget that is given or configured counts. The gate fails if a filter leaves out a part of its period.
    #[arg(long, value_name = "SHARE", value_parser = used_share, allow_negative_numbers = true, hide_short_help = true)]
    pub max_budget_used: Option<f64>,
}

impl BudgetGate {
    /// Refuses a gate without a budget.
    pub(super) fn fits(&self) -> Result<(), Error> {
        if self.max_budget_used.is_some() && self.budgets.budget.is_empty() {
            return Err(Error::Usage(
                "--max-budget-used needs a budget: give --budget day=20, or set day = 20 below [budget] in the configuration"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Whether budgets are given, for which rows are needed.
    pub(super) fn is_given(&self) -> bool {
        !self.budgets.budget.is_empty()
    }

    /// Says in a report how much of each budget is used, and judges it.
    pub(super) fn judged(&self, mut report: Report, view: &View<'_>, filters: &Filters) -> Report {
        report.verdicts.extend(self.verdict(view, filters));
        self.budgets.told(report, view, filters)
    }

    fn verdict(&self, view: &View<'_>, filters: &Filters) -> Option<Verdict> {
        report::judge_budgets(
            view,
            &self.budgets.budget,
            self.budgets.time(view, filters)?,
            self.max_budget_used?,
        )
    }
}

/// Parses a share such as `100%`, `150%` or `0.8`.
fn used_share(text: &str) -> Result<f64, String> {
    let (digits, whole) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    super::gate::number(digits)
        .map(|number| number / whole)
        .ok_or_else(|| "not a share: give it as 100% or 0.8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_budgets_may_exceed_one() {
        for (text, share) in [("100%", 1.0), ("0.8", 0.8), ("150 %", 1.5), ("0", 0.0)] {
            assert_eq!(used_share(text), Ok(share), "{text}");
        }
        for text in ["", "%", "-1%", "x", "inf"] {
            assert!(used_share(text).is_err(), "{text}");
        }
    }
}
