//! Gates: conditions on a run, and whether they hold.

mod kind;
mod limit;
mod run;
mod words;

pub use kind::Kind;
pub(super) use limit::turn_counts;
pub(super) use run::{Run, Runs, is_log};
pub use words::gate_lines;
pub(crate) use words::{GATES, gates};

use super::{Line, Tone, Value, View};
use crate::{
    facts::{Detail, ledger::Location},
    measure::{Millis, Usd},
};

/// A condition that a run must meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// Maximum cost.
    MaxCost(Usd),
    /// Maximum cost of writing cached tokens again, beyond that of reading them.
    MaxRebuiltCost(Usd),
    /// Maximum number of agentic turns, as the CLI counts them.
    MaxTurns(u64),
    /// Maximum duration.
    MaxDuration(Millis),
    /// Maximum number of failed calls.
    MaxToolErrors(u64),
    /// Maximum share of failed calls among calls with a result; 1 is 100 %.
    MaxToolErrorRate(f64),
    /// Maximum number of denied calls.
    MaxDenials(u64),
    /// Maximum number of subagents.
    MaxAgents(u64),
    /// Nothing of this kind may occur.
    FailOn(Kind),
}

impl Gate {
    /// Gates that `check` applies by default: the run ended well, and no call was denied.
    pub const DEFAULT: [Self; 3] =
        [Self::FailOn(Kind::Error), Self::FailOn(Kind::NoResult), Self::FailOn(Kind::Denial)];

    /// Name of its option or of its kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxCost(_) => "max-cost",
            Self::MaxRebuiltCost(_) => "max-rebuilt-cost",
            Self::MaxTurns(_) => "max-turns",
            Self::MaxDuration(_) => "max-duration",
            Self::MaxToolErrors(_) => "max-tool-errors",
            Self::MaxToolErrorRate(_) => "max-tool-error-rate",
            Self::MaxDenials(_) => "max-denials",
            Self::MaxAgents(_) => "max-agents",
            Self::FailOn(kind) => kind.name(),
        }
    }

    /// Detail that must be kept to evaluate it.
    pub fn detail(&self) -> Detail {
        match self {
            Self::FailOn(Kind::Invalid) => Detail::TOTALS,
            Self::FailOn(Kind::Unknown) => Detail::ROWS | Detail::RECORDS,
            _ => Detail::ROWS,
        }
    }

    /// Whether it can be evaluated without any record of a run: from the bytes read, or from a clock.
    fn needs_no_record(&self, elapsed: Option<Millis>) -> bool {
        match self {
            Self::FailOn(Kind::Invalid | Kind::Truncated) => true,
            Self::MaxDuration(_) => elapsed.is_some(),
            Self::MaxCost(_)
            | Self::MaxRebuiltCost(_)
            | Self::MaxTurns(_)
            | Self::MaxToolErrors(_)
            | Self::MaxToolErrorRate(_)
            | Self::MaxDenials(_)
            | Self::MaxAgents(_)
            | Self::FailOn(_) => false,
        }
    }

    fn limit(&self) -> Value {
        match *self {
            Self::MaxCost(cost) | Self::MaxRebuiltCost(cost) => cost.into(),
            Self::MaxTurns(count)
            | Self::MaxToolErrors(count)
            | Self::MaxDenials(count)
            | Self::MaxAgents(count) => count.into(),
            Self::MaxDuration(duration) => duration.into(),
            Self::MaxToolErrorRate(rate) => Value::Share(rate),
            Self::FailOn(_) => Value::Count(0),
        }
    }

    /// Evaluates the gate for each run.
    fn findings(&self, input: &GateInput<'_>) -> Vec<Finding> {
        match *self {
            Self::MaxCost(most) => limit::cost(input, most),
            Self::MaxRebuiltCost(most) => limit::rebuilt_cost(input, most),
            Self::MaxTurns(most) => limit::turns(input, most),
            Self::MaxDuration(most) => limit::duration(input, most),
            Self::MaxToolErrors(most) => kind::counted(input, Kind::ToolError, most),
            Self::MaxToolErrorRate(most) => limit::error_rate(input, most),
            Self::MaxDenials(most) => kind::counted(input, Kind::Denial, most),
            Self::MaxAgents(most) => limit::agents(input, most),
            Self::FailOn(kind) => kind::counted(input, kind, 0),
        }
    }
}

/// Result of one gate for one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Name of the gate's option or kind, such as `max-cost` or `denial`.
    pub gate: &'static str,
    /// The run: a session id, or the source of a session without an id; `None` for everything that was read.
    pub run: Option<String>,
    /// Duration of the run, if known.
    pub wall: Option<Millis>,
    /// Whether the gate held.
    pub held: bool,
    pub limit: Value,
    /// The measured value; missing if it is unknown.
    pub figure: Value,
    /// Source and line (from 1) of the first occurrence.
    pub at: Option<(String, u64)>,
    /// Description of the occurrences: which tools, which call.
    pub what: Line,
    /// Advice.
    pub hint: Option<Line>,
}

/// Result of one gate for one run, before names are added.
struct Finding {
    held: bool,
    figure: Value,
    at: Option<Location>,
    what: Line,
    hint: Option<Line>,
}

impl Finding {
    /// An unknown value: the gate fails.
    fn unknown(why: &'static str, hint: &'static str) -> Self {
        Self {
            held: false,
            figure: Value::Missing,
            at: None,
            what: Line::new(Tone::Bad).word(why),
            hint: Some(Line::new(Tone::Plain).words(hint)),
        }
    }
}

/// Input of a gate: the rows, and the run of each row.
struct GateInput<'a> {
    view: &'a View<'a>,
    runs: &'a Runs,
    /// Duration as measured by the caller.
    elapsed: Option<Millis>,
}

/// Evaluates gates on everything that was read as one run. `elapsed` is the duration measured by the caller;
/// without it the duration comes from the log.
pub fn judge(view: &View<'_>, gates: &[Gate], elapsed: Option<Millis>) -> Vec<Verdict> {
    judge_runs(view, gates, &Runs::whole(), elapsed).pop().unwrap_or_default()
}

/// Evaluates gates on each run. Returns the verdicts of each, in the order of the runs.
pub(super) fn judge_each(view: &View<'_>, gates: &[Gate], runs: &Runs) -> Vec<Vec<Verdict>> {
    judge_runs(view, gates, runs, None)
}

const NO_RUN: &str = "unknown: no record of a run was read";
const LOGS: &str =
    "give it the output of claude -p --output-format stream-json --verbose, or a saved session";

fn judge_runs(view: &View<'_>, gates: &[Gate], runs: &Runs, elapsed: Option<Millis>) -> Vec<Vec<Verdict>> {
    let mut all: Vec<Vec<Verdict>> = vec![Vec::with_capacity(gates.len()); runs.len()];
    if gates.is_empty() {
        return all;
    }
    let input = GateInput { view, runs, elapsed };
    let (walls, empty) = (limit::walls(&input), runs.empty(view.ledger));
    for gate in gates {
        for (run, mut finding) in gate.findings(&input).into_iter().enumerate() {
            // A zero from an input that is not a log means nothing.
            let unjudged = finding.held || finding.figure == Value::Missing;
            if empty[run] && unjudged && !gate.needs_no_record(elapsed) {
                finding = Finding::unknown(NO_RUN, LOGS);
            }
            let Finding { held, figure, at, what, hint } = finding;
            all[run].push(Verdict {
                gate: gate.name(),
                run: runs.name(run, view),
                wall: walls[run],
                held,
                limit: gate.limit(),
                figure,
                at: at.map(|at| (view.names.get(at.source).to_owned(), at.line)),
                what,
                hint: hint.filter(|_| !held),
            });
        }
    }
    all
}
