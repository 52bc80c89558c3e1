//! Questions to people, as records beside their calls tell of them.

use super::{Decoder, Object, Trace};
use crate::event::json::Json;

/// The tool that asks people.
pub const QUESTION_TOOL: &str = "AskUserQuestion";

/// A call that asked and was refused, as the end of a turn lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<T> {
    /// The call.
    pub call: T,
    /// Its input, as JSON.
    pub input: Option<T>,
}

/// What people answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The call that asked.
    pub call: T,
    /// The answers, as JSON.
    pub answers: T,
}

impl<'a, T> Decoder<'_, 'a, T> {
    /// The questions among the refused calls of a turn.
    pub(super) fn denied_questions(&mut self, record: &Object<'a>) {
        for denial in record.list("permission_denials").into_iter().filter_map(Json::object) {
            if denial.text(&["tool_name"]).as_deref() != Some(QUESTION_TOOL) {
                continue;
            }
            let Some(call) = self.text(&denial, &["tool_use_id"]) else { continue };
            let input = denial.get("tool_input").map(|input| self.json(input));
            self.found.push(Trace::Asked(Box::new(Asked { call, input })));
        }
    }
}
