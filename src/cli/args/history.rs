//! Arguments of the reports about days, windows, limits and sessions.

use clap::Args;

use super::{Budgets, Compatibility, Rows};
use crate::report::{By, Outcome, TimeBy, Windows};

/// Arguments of `cost`.
#[derive(Debug, Args)]
pub struct Cost {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Group by this key, or by several, such as day,model
    #[arg(long, value_name = "KEY", value_enum, value_delimiter = ',', default_value = "day")]
    pub by: Vec<By>,
}

/// Arguments of `time`.
#[derive(Debug, Args)]
pub struct Time {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Group by this key
    #[arg(long, value_name = "KEY", value_enum, default_value = "session")]
    pub by: TimeBy,
}

/// Arguments of `daily`, `weekly` and so on.
#[derive(Debug, Args)]
#[command(mut_arg("format", Compatibility::format))]
pub struct PeriodReport {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Output for programs that read ccusage.
    #[command(flatten)]
    pub compatibility: Compatibility,
    /// Budgets.
    #[command(flatten)]
    pub budgets: Budgets,
}

/// Arguments of `blocks`.
#[derive(Debug, Args)]
#[command(mut_arg("format", Compatibility::format))]
pub struct Blocks {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Output for programs that read ccusage.
    #[command(flatten)]
    pub compatibility: Compatibility,
    /// Show only the window that is running, with its rate and an estimate of its end
    ///
    /// The rate is the use between its first and its last response, divided by the time between them. The estimate assumes
    /// that it stays the same until the window ends; ccusage computes both in the same way.
    #[arg(long)]
    pub active: bool,
    /// Show only windows of the last three days, and the running one
    #[arg(long, conflicts_with = "active")]
    pub recent: bool,
}

impl Blocks {
    /// The windows to show.
    pub(in crate::cli) fn windows(&self) -> Windows {
        match (self.active, self.recent) {
            (true, _) => Windows::Active,
            (_, true) => Windows::Recent,
            _ => Windows::All,
        }
    }
}

/// Arguments of `limits`.
#[derive(Debug, Args)]
pub struct Limits {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Estimate which running rate limit is reached first, and when
    ///
    /// Records of rate limits say which share is used and when the limit resets; only the output of runs with a subscription
    /// has them. Two shares of one window give a pace, and the estimate assumes that it stays the same. The range is
    /// that of the fastest and the slowest pace in the window, with shares rounded to whole percentages. With --until, it is the
    /// forecast at that time.
    #[arg(long)]
    pub forecast: bool,
}

/// Arguments of `sessions`.
#[derive(Debug, Args)]
#[command(mut_arg("format", Compatibility::format))]
pub struct Sessions {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Output for programs that read ccusage.
    #[command(flatten)]
    pub compatibility: Compatibility,
    /// Show only sessions with this outcome
    #[arg(long, value_name = "OUTCOME", value_enum, value_delimiter = ',')]
    pub outcome: Vec<Outcome>,
}
