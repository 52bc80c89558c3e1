//! Gates: what was asked to hold, and whether it did.

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

/// Something that is asked to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// It costs no more than this.
    MaxCost(Usd),
    /// No more agentic turns than this, as the CLI counts them.
    MaxTurns(u64),
    /// It takes no longer than this.
    MaxDuration(Millis),
    /// No more calls fail than this.
    MaxToolErrors(u64),
    /// No greater part of the answered calls fails than this, 1 for all of them.
    MaxToolErrorRate(f64),
    /// No more calls are refused than this.
    MaxDenials(u64),
    /// There is none of these.
    FailOn(Kind),
}

impl Gate {
    /// The gates that `check` applies where none is asked for: the run ended well, and nothing was refused.
    pub const DEFAULT: [Self; 3] =
        [Self::FailOn(Kind::Error), Self::FailOn(Kind::NoResult), Self::FailOn(Kind::Denial)];

    /// Its name: that of its option, or of its kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxCost(_) => "max-cost",
            Self::MaxTurns(_) => "max-turns",
            Self::MaxDuration(_) => "max-duration",
            Self::MaxToolErrors(_) => "max-tool-errors",
            Self::MaxToolErrorRate(_) => "max-tool-error-rate",
            Self::MaxDenials(_) => "max-denials",
            Self::FailOn(kind) => kind.name(),
        }
    }

    /// How much has to be kept of what is read, to judge it.
    pub fn detail(&self) -> Detail {
        match self {
            Self::FailOn(Kind::Invalid) => Detail::TOTALS,
            Self::FailOn(Kind::Unknown) => Detail::ROWS | Detail::RECORDS,
            _ => Detail::ROWS,
        }
    }

    /// Whether it can be judged without any record of a run: by the bytes that were read, or by a clock.
    fn needs_no_record(&self, elapsed: Option<Millis>) -> bool {
        match self {
            Self::FailOn(Kind::Invalid | Kind::Truncated) => true,
            Self::MaxDuration(_) => elapsed.is_some(),
            Self::MaxCost(_)
            | Self::MaxTurns(_)
            | Self::MaxToolErrors(_)
            | Self::MaxToolErrorRate(_)
            | Self::MaxDenials(_)
            | Self::FailOn(_) => false,
        }
    }

    fn limit(&self) -> Value {
        match *self {
            Self::MaxCost(cost) => cost.into(),
            Self::MaxTurns(count) | Self::MaxToolErrors(count) | Self::MaxDenials(count) => count.into(),
            Self::MaxDuration(duration) => duration.into(),
            Self::MaxToolErrorRate(rate) => Value::Share(rate),
            Self::FailOn(_) => Value::Count(0),
        }
    }

    /// What it finds, run by run.
    fn findings(&self, input: &GateInput<'_>) -> Vec<Finding> {
        match *self {
            Self::MaxCost(most) => limit::cost(input, most),
            Self::MaxTurns(most) => limit::turns(input, most),
            Self::MaxDuration(most) => limit::duration(input, most),
            Self::MaxToolErrors(most) => kind::counted(input, Kind::ToolError, most),
            Self::MaxToolErrorRate(most) => limit::error_rate(input, most),
            Self::MaxDenials(most) => kind::counted(input, Kind::Denial, most),
            Self::FailOn(kind) => kind::counted(input, kind, 0),
        }
    }
}

/// One gate that was asked for, and how it turned out.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its name: that of its option or of its kind, such as `max-cost` or `denial`.
    pub gate: &'static str,
    /// The run that it judges: a session, or the source of one without an id; `None` for all that was read.
    pub run: Option<String>,
    /// How long that run took, where it is known.
    pub wall: Option<Millis>,
    /// Whether it held.
    pub held: bool,
    /// What was allowed.
    pub limit: Value,
    /// What was found; missing where it cannot be known.
    pub figure: Value,
    /// Where the first thing that counts stands: the name of its source, and its line from 1.
    pub at: Option<(String, u64)>,
    /// What was found, in words: which tools, which call.
    pub what: Line,
    /// What to do about it.
    pub hint: Option<Line>,
}

/// What one gate finds in one run.
struct Finding {
    held: bool,
    figure: Value,
    at: Option<Location>,
    what: Line,
    hint: Option<Line>,
}

impl Finding {
    /// A figure that is not known: the gate fails.
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

/// What is judged: the rows, and to which run each belongs.
struct GateInput<'a> {
    view: &'a View<'a>,
    runs: &'a Runs,
    /// How long it took by the clock of whoever ran it.
    elapsed: Option<Millis>,
}

/// Judges everything that was read as one. Whoever ran it knows how long it took; else the log is asked.
pub fn judge(view: &View<'_>, gates: &[Gate], elapsed: Option<Millis>) -> Vec<Verdict> {
    judge_runs(view, gates, &Runs::whole(), elapsed).pop().unwrap_or_default()
}

/// Judges every run by itself: the verdicts of each, in the order of the runs.
pub(super) fn judge_each(view: &View<'_>, gates: &[Gate], runs: &Runs) -> Vec<Vec<Verdict>> {
    judge_runs(view, gates, runs, None)
}

const NO_RUN: &str = "not known, since no record of a run was read";
const LOGS: &str = "give it what claude -p --output-format stream-json --verbose prints, or a saved session";

fn judge_runs(view: &View<'_>, gates: &[Gate], runs: &Runs, elapsed: Option<Millis>) -> Vec<Vec<Verdict>> {
    let mut all: Vec<Vec<Verdict>> = vec![Vec::with_capacity(gates.len()); runs.len()];
    if gates.is_empty() {
        return all;
    }
    let input = GateInput { view, runs, elapsed };
    let (walls, empty) = (limit::walls(&input), runs.empty(view.ledger));
    for gate in gates {
        for (run, mut finding) in gate.findings(&input).into_iter().enumerate() {
            // Zero in an input that is not a log is not a figure.
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
