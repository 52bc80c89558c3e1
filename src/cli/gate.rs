//! The options that set gates, and `check`, which evaluates them for each run.

use clap::Args;

use super::{
    args::{Github, Rows},
    budget::BudgetGate,
    plan::{self, Variables},
    rows::{ReportRequest, read_filtered},
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    measure::{Millis, Usd},
    render::Style,
    report::{self, Gate, Kind, View},
};

/// Gates. If one fails, the program exits with 1 after the report.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Gates")]
pub struct Gates {
    /// Exit with 1 if it cost more dollars than this, such as 5 or 0.50
    ///
    /// For a run without a result, the minimum cost of its input and cache tokens counts; --fail-on
    /// incomplete fails then. The gate fails if a cost is unknown, for example because a model has no price:
    /// see --pricing.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub max_cost: Option<Usd>,
    /// Exit with 1 if writing cached tokens again cost more dollars than this, beyond reading them
    ///
    /// An estimate, see `ccstat cache`. The gate fails if a model has no price: see --pricing.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true, hide_short_help = true)]
    pub max_rebuilt_cost: Option<Usd>,
    /// Exit with 1 if it took more steps than this
    ///
    /// The number of turns is taken from the results. For a session without a result, the responses of its
    /// main agent count.
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u64>,
    /// Exit with 1 if it took longer than this, such as 90s or 1h30m
    ///
    /// The duration is the sum of the turns, or else the time from the first record to the last. A number
    /// without a unit is in seconds. The gate fails if the log has no times.
    #[arg(long, value_name = "TIME", value_parser = duration, allow_negative_numbers = true)]
    pub max_duration: Option<Millis>,
    /// Exit with 1 if more tool calls than this failed
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub max_tool_errors: Option<u64>,
    /// Exit with 1 if a larger share of the finished tool calls failed, such as 10% or 0.1
    #[arg(long, value_name = "RATE", value_parser = share, allow_negative_numbers = true, hide_short_help = true)]
    pub max_tool_error_rate: Option<f64>,
    /// Exit with 1 if more tool calls than this were refused
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub max_denials: Option<u64>,
    /// Exit with 1 if more subagents than this were started
    ///
    /// `run` warns as soon as there are more, and stops the command with --stop-on-gate.
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub max_agents: Option<u64>,
    /// Exit with 1 if there is any of these, such as denial,no-result
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',')]
    pub fail_on: Vec<Kind>,
    /// The same as --fail-on invalid
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

impl Gates {
    /// The gates that were given, each once.
    pub fn gates(&self) -> Vec<Gate> {
        let Self { max_cost, max_rebuilt_cost, max_turns, max_duration, max_tool_errors, .. } = *self;
        let limits = [
            max_cost.map(Gate::MaxCost),
            max_rebuilt_cost.map(Gate::MaxRebuiltCost),
            max_turns.map(Gate::MaxTurns),
            max_duration.map(Gate::MaxDuration),
            max_tool_errors.map(Gate::MaxToolErrors),
            self.max_tool_error_rate.map(Gate::MaxToolErrorRate),
            self.max_denials.map(Gate::MaxDenials),
            self.max_agents.map(Gate::MaxAgents),
        ];
        let mut kinds: Vec<Kind> = Vec::new();
        for kind in self.fail_on.iter().copied().chain(self.strict.then_some(Kind::Invalid)) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        limits.into_iter().flatten().chain(kinds.into_iter().map(Gate::FailOn)).collect()
    }
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Options of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Gates on each run.
    #[command(flatten)]
    pub gates: Gates,
    /// Budgets, over all runs.
    #[command(flatten)]
    pub budgets: BudgetGate,
    /// Output for GitHub Actions.
    #[command(flatten)]
    pub github: Github,
}

pub(super) fn check(check: &Check, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Check { rows, gates, budgets, github } = check;
    budgets.fits()?;
    let arrangement = rows.arrange.arrangement(&report::CHECK, &rows.output)?;
    let gates = gates.gates();
    let detail = gates.iter().map(Gate::detail).fold(report::CHECK.keeps, Detail::and);
    let make = |view: &View<'_>| budgets.judged(report::check(view, &gates), view, &rows.query.filters);
    let request = ReportRequest { detail, ..ReportRequest::of(&report::CHECK, &make) };
    let mut filtered = read_filtered(&rows.query, &request, variables, &rows.output, &arrangement)?;
    let reports = filtered.reports(&make, &rows.output, &arrangement)?;
    let view = filtered.view();
    let account = view.ledger.account();
    let published =
        github.publish(reports.filed(), &account, view.names, variables, &rows.output, ExitStatus::Done);
    let status = filtered.deliver(&reports, &rows.output, style)?;
    Ok(if status == ExitStatus::Done { published } else { status })
}

/// Parses an amount such as `5`, `$5` or `0.50`.
fn dollars(text: &str) -> Result<Usd, String> {
    let amount = number(text.strip_prefix('$').unwrap_or(text));
    amount.map(Usd::from_dollars).ok_or_else(|| "not an amount: give dollars such as 5 or 0.50".to_owned())
}

/// Parses a share such as `10%` or `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let (digits, whole) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    let rate = number(digits).map(|number| number / whole).filter(|rate| *rate <= 1.0);
    rate.ok_or_else(|| "not a share: give it as 10% or 0.1".to_owned())
}

/// Parses a duration such as `30s`, `10m` or `1h30m`; a number without a unit is in seconds.
fn duration(text: &str) -> Result<Millis, String> {
    plan::parse_duration(text).map(|long| Millis::from_f64(long.as_secs_f64() * 1000.0))
}

/// Parses digits with an optional decimal point; no sign, exponent or `inf`.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.chars().all(|char| char.is_ascii_digit() || char == '.');
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn amounts_are_in_dollars() {
        for (text, nanos) in [("5", 5_000_000_000), ("$5", 5_000_000_000), ("0.50", 500_000_000), ("0", 0)] {
            assert_eq!(dollars(text), Ok(Usd::from_nanos(nanos)), "{text}");
        }
        for text in ["", "$", "x", "-1", "5 USD", "1e3", "inf", "nan", "1.2.3"] {
            assert!(dollars(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_percentages_or_fractions_up_to_one() {
        for (text, rate) in [("10%", 0.1), ("0.1", 0.1), ("100 %", 1.0), ("0", 0.0), ("1", 1.0)] {
            assert_eq!(share(text), Ok(rate), "{text}");
        }
        for text in ["", "%", "10", "101%", "-1%", "x"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_units_and_plain_numbers_are_seconds() {
        let known = [
            ("30s", 30_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("250ms", 250),
            ("90", 90_000),
        ];
        for (text, millis) in known {
            assert_eq!(duration(text), Ok(Millis::new(millis)), "{text}");
        }
        for text in ["", "x", "10x", "m", "1h30", "-5s", "5 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_value_of_fail_on_is_the_name_in_the_verdict() {
        for kind in Kind::value_variants() {
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.name());
        }
    }

    #[test]
    fn a_gate_given_twice_counts_once() {
        let twice = Gates { fail_on: vec![Kind::Invalid, Kind::Invalid], strict: true, ..Gates::default() };
        assert_eq!(twice.gates(), [Gate::FailOn(Kind::Invalid)]);
    }
}
