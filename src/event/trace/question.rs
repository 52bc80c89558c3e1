//! Decodes questions to people in records other than their calls.

use super::{Decoder, Object, Trace};
use crate::event::json::Json;

/// The tool that asks people.
pub const QUESTION_TOOL: &str = "AskUserQuestion";

/// A call of the question tool that was denied, as the end of a turn lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedQuestion<T> {
    /// Id of the call.
    pub call: T,
    /// Its input, as JSON.
    pub input: Option<T>,
}

/// Answers of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswers<T> {
    /// Id of the call.
    pub call: T,
    /// The answers, as JSON.
    pub answers: T,
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    /// Decodes the questions among the denied calls of a turn.
    pub(super) fn denied_questions(&mut self, record: &Object<'a>) {
        for denial in record.list("permission_denials").into_iter().filter_map(Json::object) {
            if denial.text(&["tool_name"]).as_deref() != Some(QUESTION_TOOL) {
                continue;
            }
            let Some(call) = self.text(&denial, &["tool_use_id"]) else { continue };
            let input = denial.get("tool_input").map(|input| self.json(input));
            self.found.push(Trace::DeniedQuestion(Box::new(DeniedQuestion { call, input })));
        }
    }
}
