//! Tool calls. `tool_use` and `tool_result` are matched by id, in any order and across chunks and files.

use super::{
    key::Name,
    merge::{CompactPlace, Earliest, Merge},
};
use crate::measure::{Millis, Time};

/// One call; either half may still be missing. A gigabyte has a hundred thousand calls, so rows are small.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Place of the first `tool_use`.
    ask: CompactPlace,
    /// The tool that it names.
    tool: Option<Name>,
    /// Earliest time of a `tool_use`.
    asked: Earliest,
    /// Time and place of the earliest result.
    answered: (Earliest, CompactPlace),
    /// Whether that result is an error.
    failed: bool,
}

/// How a call ended, without regard to permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Ok,
    Failed,
    Open,
}

impl Call {
    /// Creates a call from its `tool_use`.
    pub(crate) fn asked(place: CompactPlace, tool: Option<Name>, time: Option<Time>) -> Self {
        Self { ask: place, tool, asked: time.into(), ..Self::answered(CompactPlace::NOWHERE, false, None) }
    }

    /// Creates a call from its `tool_result`.
    pub(crate) fn answered(place: CompactPlace, failed: bool, time: Option<Time>) -> Self {
        let (ask, asked) = (CompactPlace::NOWHERE, Earliest::default());
        Self { ask, tool: None, asked, answered: (time.into(), place), failed }
    }

    /// Returns the tool; `None` without a `tool_use`, `Some(None)` if the `tool_use` does not name its tool.
    pub(crate) fn tool(&self) -> Option<Option<&Name>> {
        self.ask.is_somewhere().then_some(self.tool.as_ref())
    }

    /// Returns place and time of the `tool_use`.
    pub(crate) fn ask(&self) -> (CompactPlace, Option<Time>) {
        (self.ask, self.asked.get())
    }

    pub(crate) fn ending(&self) -> Ending {
        match self.answered.1.is_somewhere() {
            false => Ending::Open,
            true if self.failed => Ending::Failed,
            true => Ending::Ok,
        }
    }

    /// Returns the time from the earliest `tool_use` to the earliest result, if both have a time.
    pub(crate) fn latency(&self) -> Option<Millis> {
        Some(self.answered.0.get()?.since(self.asked.get()?))
    }
}

/// The first `tool_use` and the earliest result count. Results without a time are ordered by place, after
/// those with a time.
impl Merge for Call {
    fn merge(&mut self, other: Self) {
        let Self { ask, tool, asked, answered, failed } = other;
        if ask < self.ask {
            (self.ask, self.tool) = (ask, tool);
        }
        self.asked.merge(asked);
        if answered < self.answered {
            (self.answered, self.failed) = (answered, failed);
        }
    }
}
