//! Verdicts as text for people and as data for programs.

use super::Verdict;
use crate::report::{
    Key::{self, List, Maybe, Object, One},
    Line, Part, Tone, Unit, Value,
    spec::object,
};

impl Verdict {
    /// Gate, run, location, value, limit and description in one line. Nothing is said twice: most descriptions contain the
    /// value, and a gate on any occurrence has no limit.
    pub fn line(&self) -> Line {
        let line = Line::new(if self.held { Tone::Good } else { Tone::Bad });
        let line = line.word(self.gate).word(if self.held { " held" } else { " failed" });
        let line = match &self.run {
            Some(run) => line.word(" for ").value(&**run),
            None => line,
        };
        let line = match &self.at {
            Some((source, number)) => line.word(" at ").value(format!("{source}:{number}")),
            None => line,
        };
        let figure = Part::Value(self.figure.clone());
        let line = match &self.figure {
            Value::Missing => line,
            _ if self.what.parts.contains(&figure) => line,
            value => line.word(": ").value(value.clone()),
        };
        let line = match &self.limit {
            Value::Count(0) => line,
            limit => line.word(", limit ").value(limit.clone()),
        };
        let mut line = line.word(": ");
        line.parts.extend(self.what.parts.iter().cloned());
        line
    }
}

/// Lines for people: each failed gate with its hint, then the number of gates that held. A gate on several runs
/// has one line for all of them.
pub fn gate_lines(verdicts: &[Verdict]) -> Vec<(Line, Option<Line>)> {
    let mut gates: Vec<(&str, Vec<&Verdict>)> = Vec::new();
    for verdict in verdicts {
        match gates.iter_mut().find(|(gate, _)| *gate == verdict.gate) {
            Some((_, all)) => all.push(verdict),
            None => gates.push((verdict.gate, vec![verdict])),
        }
    }
    let several = gates.iter().any(|(_, all)| all.len() > 1);
    let (mut lines, mut said): (Vec<_>, Vec<&Line>) = (Vec::new(), Vec::new());
    for (_, all) in &gates {
        let first = all.iter().find(|verdict| !verdict.held);
        if first.is_none() && !several {
            continue;
        }
        // The same advice for several gates is given once.
        let hint = first.and_then(|first| first.hint.as_ref()).filter(|hint| !said.contains(hint));
        said.extend(hint);
        let line = match (&all[..], first) {
            ([alone], Some(_)) => alone.line(),
            _ => line_of_runs(all),
        };
        lines.push((line, hint.cloned()));
    }
    if !several {
        let failed = verdicts.iter().filter(|verdict| !verdict.held).count() as u64;
        lines.extend(held(verdicts.len() as u64 - failed, failed).map(|line| (line, None)));
    }
    lines
}

/// One gate on several runs: how many failed, and the first of them.
fn line_of_runs(all: &[&Verdict]) -> Line {
    let failed: Vec<&&Verdict> = all.iter().filter(|verdict| !verdict.held).collect();
    let (runs, name) = (all.len() as u64, all[0].gate);
    let Some(first) = failed.first() else {
        return Line::new(Tone::Good).word(name).word(" held for ").count(runs, " run", " runs");
    };
    let line = Line::new(Tone::Bad).word(name).word(" failed for ").value(failed.len() as u64);
    let line = line.word(" of ").count(runs, " run", " runs");
    let line = match &first.limit {
        Value::Count(0) => line,
        limit => line.word(", limit ").value(limit.clone()),
    };
    let line = line.word(if failed.len() > 1 { "; first " } else { "; " });
    let line = match (&first.at, &first.run) {
        (Some((source, number)), _) => line.word("at ").value(format!("{source}:{number}")),
        (None, Some(run)) => line.value(&**run),
        (None, None) => line,
    };
    let mut line = line.word(": ");
    line.parts.extend(first.what.parts.iter().cloned());
    line
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
