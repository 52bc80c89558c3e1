//! Gates on growth: how much a figure may increase from base to head.

use super::{
    Row,
    run::{Group, Measure},
};
use crate::{
    measure::calendar,
    report::{Line, Tone, Value, Verdict},
};

/// A figure whose growth is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    Cost,
    /// Wall time of the turns.
    Duration,
    /// Tokens of all types.
    Tokens,
    Turns,
    /// Failed calls.
    ToolErrors,
    /// Denied calls.
    Denials,
}

impl Growth {
    /// Name of the gate and its option, group of the figure, and its noun.
    const fn spec(self) -> (&'static str, Group, &'static str) {
        match self {
            Self::Cost => ("max-cost-increase", Group::Cost, "cost"),
            Self::Duration => ("max-duration-increase", Group::Duration, "duration"),
            Self::Tokens => ("max-tokens-increase", Group::Tokens, "tokens"),
            Self::Turns => ("max-turns-increase", Group::Turns, "turns"),
            Self::ToolErrors => ("max-tool-errors-increase", Group::ToolErrors, "failed calls"),
            Self::Denials => ("max-denials-increase", Group::Denials, "denied calls"),
        }
    }

    /// Name of the gate and its option.
    pub fn gate(self) -> &'static str {
        self.spec().0
    }

    fn group(self) -> Group {
        self.spec().1
    }

    fn noun(self) -> &'static str {
        self.spec().2
    }

    /// Parses the allowed growth: a percentage, or an amount in the unit of the figure.
    pub fn allow(self, text: &str) -> Result<Allowance, String> {
        let measure = self.group().measure();
        let allowance = match (text.strip_suffix('%'), measure) {
            (Some(percent), _) => number(percent).map(|percent| Allowance::Part(percent * 0.01)),
            (None, Measure::Usd) => {
                number(text.strip_prefix('$').unwrap_or(text)).map(|dollars| Allowance::Amount(dollars * 1e9))
            }
            (None, Measure::Count) => number(text).map(Allowance::Amount),
            // A bare number could be meant as a percentage.
            (None, Measure::Millis) if number(text).is_some() => None,
            (None, Measure::Millis) => {
                calendar::parse_duration(text).ok().map(|long| Allowance::Amount(long.as_secs_f64() * 1000.0))
            }
        };
        let example = match measure {
            Measure::Usd => "such as 10% or $0.50",
            Measure::Millis => "such as 10%, 30s or 1h30m",
            Measure::Count => "such as 10% or 3",
        };
        allowance.ok_or_else(|| format!("not an increase; use a value {example}"))
    }
}

/// Parses a finite, non-negative number.
fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

/// Allowed growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Relative to the base.
    Part(f64),
    /// An amount in nano-dollars, milliseconds or a count.
    Amount(f64),
}

/// Which figures are complete on both sides.
#[derive(Clone, Copy)]
pub(super) struct Completeness {
    /// Both sides have a record of a run.
    pub(super) is_log: bool,
    /// All costs are complete.
    pub(super) costs: bool,
    /// All token counts are final.
    pub(super) tokens: bool,
}

/// Evaluates a limit on growth. A gate fails if a value it needs is unknown.
pub(super) fn judge(rows: &[Row], growth: Growth, allowance: &Allowance, complete: Completeness) -> Verdict {
    let group = growth.group();
    let row = rows.iter().find(|row| row.is_headline && row.group == group);
    let limit = match *allowance {
        Allowance::Part(part) => Value::Share(part),
        Allowance::Amount(amount) => group.measure().value(amount),
    };
    let finding = row.map_or(Finding::unknown(growth, " of one side is unknown"), |row| {
        finding(row, growth, allowance, complete)
    });
    Verdict {
        gate: growth.gate(),
        run: None,
        wall: None,
        held: finding.held,
        limit,
        figure: finding.figure,
        at: None,
        what: finding.what,
        hint: None,
    }
}

/// Result of a gate.
struct Finding {
    held: bool,
    figure: Value,
    what: Line,
}

impl Finding {
    fn unknown(growth: Growth, why: &'static str) -> Self {
        let what = Line::new(Tone::Bad).word(growth.noun()).word(why);
        Self { held: false, figure: Value::Missing, what }
    }
}

fn finding(row: &Row, growth: Growth, allowance: &Allowance, complete: Completeness) -> Finding {
    if !complete.is_log {
        return Finding::unknown(growth, " of one side is unknown: no record of a run was read");
    }
    let (Some(base), Some(head), Some(change)) = (row.base.spread, row.head.spread, row.change()) else {
        return Finding::unknown(growth, " of one side is unknown");
    };
    if row.base.unknown + row.head.unknown > 0 {
        return Finding::unknown(growth, " of some runs is unknown");
    }
    let doubt = match growth {
        Growth::Cost if !complete.costs => Some(" is incomplete: see the notes of the report"),
        Growth::Tokens if !complete.tokens => {
            Some(" are incomplete: some responses have no final token counts")
        }
        Growth::Cost
        | Growth::Tokens
        | Growth::Duration
        | Growth::Turns
        | Growth::ToolErrors
        | Growth::Denials => None,
    };
    if let Some(doubt) = doubt {
        return Finding::unknown(growth, doubt);
    }
    let held = match *allowance {
        // Tolerance for numbers without an exact binary form, such as 0.1.
        Allowance::Part(part) => change <= part * base.mean * (1.0 + 1e-12),
        Allowance::Amount(amount) => change <= amount,
    };
    let figure = match allowance {
        Allowance::Part(_) => {
            row.relative().map_or(Value::Missing, |part| Value::Change(Box::new(Value::Share(part))))
        }
        Allowance::Amount(_) => row.difference(Some(change)),
    };
    let mut what = Line::new(if held { Tone::Good } else { Tone::Bad })
        .word(growth.noun())
        .word(" ")
        .value(row.difference(Some(change)));
    if let Some(part) = row.relative() {
        what = what.word(" (").value(Value::Change(Box::new(Value::Share(part)))).word(")");
    }
    what =
        what.word(", from ").value(row.value(Some(base.mean))).word(" to ").value(row.value(Some(head.mean)));
    if base.count > 1 || head.count > 1 {
        what = what.word(" on average");
    }
    if !held && base.mean == 0.0 && matches!(allowance, Allowance::Part(_)) {
        what = what.word(": the base is zero, so any increase exceeds the percentage");
    }
    Finding { held, figure, what }
}
