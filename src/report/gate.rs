//! Gates: what was asked to hold, and whether it did.

use super::{Line, Value};
use crate::measure::Millis;

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
