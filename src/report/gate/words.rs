//! Verdicts as people read them, and as programs do.

use super::Verdict;
use crate::report::{
    Key::{self, List, Maybe, Object, One},
    Line, Tone, Unit, Value,
    spec::object,
};

/// Failed gates that a person reads before asking for more.
const SHOWN: usize = 30;

impl Verdict {
    /// Which gate, what was found, what was allowed, where, and in words what it is.
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

/// What a person reads of the gates: the failed ones, each with what to do about it, and how many held.
pub fn gate_lines(verdicts: &[Verdict]) -> Vec<(Line, Option<Line>)> {
    let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.held).collect();
    let mut lines = Vec::new();
    let mut said: Vec<&Line> = Vec::new();
    for verdict in failed.iter().take(SHOWN) {
        // The same advice for every run is said once.
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
/// Of whatever unit: every one of them is a number.
const NUMBER: Key = Maybe(&One(Unit::Share));

/// What programs find under `gates`, where gates were asked for.
pub(crate) const GATES: Key = List(&Object(GATE));

object! { GATE, gate(verdict: &Verdict, words: fn(&Line) -> String)
    gate: "Its name: that of its option or of its kind.", TEXT => verdict.gate;
    run: "The session that it judges, or the source of a run without an id; null for all that was read.",
        Maybe(&TEXT) => verdict.run.clone();
    held: "Whether it held.", One(Unit::Flag) => verdict.held;
    limit: "What was allowed: dollars, a count, milliseconds, or a part of 1.", NUMBER =>
        verdict.limit.clone();
    figure: "What was found, in the same unit; null where it cannot be known.", NUMBER =>
        verdict.figure.clone();
    source: "Source of the first thing that counts.", Maybe(&TEXT) =>
        verdict.at.as_ref().map(|(source, _)| source.clone());
    line: "Its line, from 1.", Maybe(&One(Unit::Count)) => verdict.at.as_ref().map(|(_, line)| *line);
    what: "What was found, in words.", TEXT => words(&verdict.what);
    hint: "What to do about it.", Maybe(&TEXT) => verdict.hint.as_ref().map(words);
}

/// The verdicts as programs read them; how a line becomes words is for the renderer to say.
pub(crate) fn gates(verdicts: &[Verdict], words: fn(&Line) -> String) -> Value {
    Value::List(verdicts.iter().map(|verdict| gate(verdict, words).into()).collect())
}
