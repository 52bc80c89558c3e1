//! Tool calls: `tool_use` and `tool_result` find each other by id, in whatever order, chunk or file they stand.

use super::{
    key::Name,
    merge::{Earliest, First, Merge},
};
use crate::{
    input::Place,
    measure::{Millis, Time},
};

/// One call, each half of it optional until the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The first ask, and the tool it names.
    pub(crate) ask: Option<First<Option<Name>>>,
    /// The earliest ask that has a time.
    pub(crate) asked: Option<Earliest>,
    /// The first answer.
    pub(crate) answer: Option<Answer>,
}

impl Call {
    /// The half that asks.
    pub(crate) fn asked(place: Place, tool: Option<Name>, time: Option<Time>) -> Self {
        Self { ask: Some(First { place, value: tool }), asked: time.map(Earliest), answer: None }
    }

    /// The half that answers.
    pub(crate) fn answered(place: Place, is_error: bool, time: Option<Time>) -> Self {
        Self { answer: Some(Answer { time, place, is_error }), ..Self::default() }
    }

    /// Time from the earliest ask to the earliest answer, where both say when.
    pub(crate) fn latency(&self) -> Option<Millis> {
        let Earliest(asked) = self.asked?;
        Some(self.answer.as_ref()?.time?.since(asked))
    }
}

impl Merge for Call {
    fn merge(&mut self, other: Self) {
        let Self { ask, asked, answer } = other;
        self.ask.merge(ask);
        self.asked.merge(asked);
        self.answer.merge(answer);
    }
}

/// An answer to a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) time: Option<Time>,
    pub(crate) place: Place,
    pub(crate) is_error: bool,
}

/// The earliest answer counts; one without a time comes after all that have one, and then the place decides.
impl Merge for Answer {
    fn merge(&mut self, other: Self) {
        let order = |answer: &Self| (answer.time.is_none(), answer.time, answer.place);
        if order(&other) < order(self) {
            *self = other;
        }
    }
}
