//! Verdicts as text for people and as data for programs.

use super::Verdict;
use crate::report::{
    Key::{self, List, Maybe, Object, One},
    Line, Tone, Unit, Value,
    spec::object,
};

/// Maximum number of failed gates on screen.
const SHOWN: usize = 30;

impl Verdict {
    /// Gate, value, limit, location and description in one line.
    pub fn line(&self) -> Line {
        let line = Line::new(if self.held { Tone::Good } else { Tone::Bad });
        let line = line.word(self.gate).word(if self.held { " held" } else { " failed" });
        let line = match &self.run {
            Some(run) => line.word(" for ").value(&**run),
            None => line,
        };
        let line = line.word(": ").value(self.figure.clone()).word(", limit ").value(self.limit.clone());
        let line = match &self.at {
            Some((source, number)) => line.word(", at ").value(format!("{source}:{number}")),
            None => line,
        };
        let mut line = line.word(": ");
        line.parts.extend(self.what.parts.iter().cloned());
        line
    }
}

/// Lines for people: each failed gate with its hint, then the number of gates that held.
pub fn gate_lines(verdicts: &[Verdict]) -> Vec<(Line, Option<Line>)> {
    let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.held).collect();
    let mut lines = Vec::new();
    let mut said: Vec<&Line> = Vec::new();
    for verdict in failed.iter().take(SHOWN) {
        // The same hint for several runs is shown once.
        let hint = verdict.hint.as_ref().filter(|hint| !said.contains(hint));
        said.extend(hint);
        lines.push((verdict.line(), hint.cloned()));
    }
    if let Some(more @ 1..) = failed.len().checked_sub(SHOWN) {
        let line = Line::new(Tone::Bad).word("and ");
        let line = line.count(more as u64, " more failed gate", " more failed gates");
        lines.push((line.word(" (JSON lists all)"), None));
    }
    let held = held((verdicts.len() - failed.len()) as u64, failed.len() as u64);
    lines.extend(held.map(|line| (line, None)));
    lines
}

fn held(held: u64, failed: u64) -> Option<Line> {
    match (held, failed) {
        (0, 0) => None,
        (0, failed) => {
            Some(Line::new(Tone::Bad).count(failed, " gate failed", " gates failed").word(", none held"))
        }
        (held, 0) => Some(Line::new(Tone::Good).count(held, " gate held", " gates held")),
        (held, failed) => {
            let line = Line::new(Tone::Bad).count(failed, " gate failed", " gates failed");
            Some(line.word(", ").value(held).word(" held"))
        }
    }
}

const TEXT: Key = One(Unit::Text);
/// A number of any unit.
const NUMBER: Key = Maybe(&One(Unit::Share));

/// Schema of the key `gates`.
pub(crate) const GATES: Key = List(&Object(GATE));

object! { GATE, gate(verdict: &Verdict, words: fn(&Line) -> String)
    gate: "Name of the gate's option or kind.", TEXT => verdict.gate;
    run: "Session id, or the source of a run without an id; null for everything that was read.",
        Maybe(&TEXT) => verdict.run.clone();
    held: "Whether the gate held.", One(Unit::Flag) => verdict.held;
    limit: "The limit: dollars, a count, milliseconds, or a ratio.", NUMBER =>
        verdict.limit.clone();
    figure: "The measured value in the same unit; null if it is unknown.", NUMBER =>
        verdict.figure.clone();
    source: "Source of the first occurrence.", Maybe(&TEXT) =>
        verdict.at.as_ref().map(|(source, _)| source.clone());
    line: "Line of the first occurrence, starting at 1.", Maybe(&One(Unit::Count)) => verdict.at.as_ref().map(|(_, line)| *line);
    what: "Description of the result.", TEXT => words(&verdict.what);
    hint: "Advice if the gate failed.", Maybe(&TEXT) => verdict.hint.as_ref().map(words);
}

/// The verdicts as data. `words` converts a line to text.
pub(crate) fn gates(verdicts: &[Verdict], words: fn(&Line) -> String) -> Value {
    Value::List(verdicts.iter().map(|verdict| gate(verdict, words).into()).collect())
}
