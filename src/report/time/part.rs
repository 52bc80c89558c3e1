//! The parts of wall time, and sums of them.

use super::super::Value;
use crate::measure::Millis;

names! {
    /// A part of wall time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Part {
        /// From the request to the first token of the response.
        FirstToken = "first_token",
        /// From the first to the last line of the response.
        Writing = "writing",
        /// Tools ran.
        Tools = "tools",
        /// Hooks ran.
        Hooks = "hooks",
        /// A person was asked: for approval, or a question.
        Waiting = "waiting",
        /// Requests failed, or a delay passed before the next attempt.
        Retries = "retries",
        /// The conversation was summarised.
        Compaction = "compaction",
        /// The CLI prepared a request, or decided about a call.
        Cli = "cli",
        /// No prompt was worked on.
        Idle = "idle",
        /// A prompt was worked on, but the log does not say how.
        Unexplained = "unexplained",
    }
}

impl Part {
    /// Name for people.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::FirstToken => "model, until the first token",
            Self::Writing => "model, writing",
            Self::Tools => "tools",
            Self::Hooks => "hooks",
            Self::Waiting => "waiting for a person",
            Self::Retries => "failed requests and retries",
            Self::Compaction => "compaction",
            Self::Cli => "the CLI itself",
            Self::Idle => "idle, no prompt",
            Self::Unexplained => "unexplained",
        }
    }
}

/// A set of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartSet(u16);

impl PartSet {
    pub(super) fn insert(&mut self, part: Part) {
        self.0 |= 1 << part as u16;
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn contains(self, part: Part) -> bool {
        self.0 & (1 << part as u16) != 0
    }

    /// Its names, as a list.
    pub(super) fn names(self) -> Value {
        let parts = Part::ALL.into_iter().filter(|&part| self.contains(part));
        Value::List(parts.map(|part| Value::text(part.name())).collect())
    }
}

/// Wall time and its parts, in whole milliseconds. The parts add up to the wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Division {
    parts: [i64; Part::ALL.len()],
    /// Time that calls saved because they ran at the same time: the sum of their durations minus the time in
    /// which at least one ran.
    parallel: i64,
    /// Parts with a time that the log only implies.
    pub(super) estimated: PartSet,
}

impl Division {
    pub(super) fn add_time(&mut self, part: Part, millis: i64, is_estimated: bool) {
        let sum = &mut self.parts[part as usize];
        *sum = sum.saturating_add(millis);
        if is_estimated && millis > 0 {
            self.estimated.insert(part);
        }
    }

    pub(super) fn add_parallel(&mut self, millis: i64) {
        self.parallel = self.parallel.saturating_add(millis);
    }

    pub(super) fn add(&mut self, other: &Self) {
        let Self { parts, parallel, estimated } = other;
        for (sum, part) in self.parts.iter_mut().zip(parts) {
            *sum = sum.saturating_add(*part);
        }
        self.add_parallel(*parallel);
        self.estimated.extend(*estimated);
    }

    pub(super) fn part(&self, part: Part) -> Millis {
        Millis::new(self.parts[part as usize])
    }

    pub(super) fn parallel(&self) -> Millis {
        Millis::new(self.parallel)
    }

    /// The wall time.
    pub(super) fn wall(&self) -> Millis {
        Millis::new(self.parts.iter().fold(0, |sum: i64, part| sum.saturating_add(*part)))
    }
}
