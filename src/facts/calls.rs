//! Tool calls: `tool_use` and `tool_result` find each other by id, in whatever order, chunk or file they stand.

use super::{
    key::Name,
    merge::{CompactPlace, Earliest, Merge},
};
use crate::measure::{Millis, Time};

/// One call, each half of it missing until it is found. There are a hundred thousand in a gigabyte, so a row is small.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Where the first ask stands.
    ask: CompactPlace,
    /// The tool that it names.
    tool: Option<Name>,
    /// The earliest ask that has a time.
    asked: Earliest,
    /// The earliest answer, and where it stands.
    answered: (Earliest, CompactPlace),
    /// Whether that answer is a failure.
    failed: bool,
}

/// How a call ended, its permission apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Ok,
    Failed,
    Open,
}

impl Call {
    /// The half that asks.
    pub(crate) fn asked(place: CompactPlace, tool: Option<Name>, time: Option<Time>) -> Self {
        Self { ask: place, tool, asked: time.into(), ..Self::answered(CompactPlace::NOWHERE, false, None) }
    }

    /// The half that answers.
    pub(crate) fn answered(place: CompactPlace, failed: bool, time: Option<Time>) -> Self {
        let (ask, asked) = (CompactPlace::NOWHERE, Earliest::default());
        Self { ask, tool: None, asked, answered: (time.into(), place), failed }
    }

    /// The tool that was asked; `None` if nothing was asked, `Some(None)` if the ask names no tool.
    pub(crate) fn tool(&self) -> Option<Option<&Name>> {
        self.ask.is_somewhere().then_some(self.tool.as_ref())
    }

    /// How it ended.
    pub(crate) fn ending(&self) -> Ending {
        match self.answered.1.is_somewhere() {
            false => Ending::Open,
            true if self.failed => Ending::Failed,
            true => Ending::Ok,
        }
    }

    /// Time from the earliest ask to the earliest answer, where both say when.
    pub(crate) fn latency(&self) -> Option<Millis> {
        Some(self.answered.0.get()?.since(self.asked.get()?))
    }
}

/// The first ask and the earliest answer count. An answer without a time comes after all that have one, and then the place
/// decides.
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
