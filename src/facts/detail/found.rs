//! Keeps the texts that a search finds.

use std::sync::Arc;

use super::{Detail, EventContext};
use crate::{
    event::{self, Body, Query, Role, TextPart},
    facts::{
        Facts,
        absorb::RecordAbsorber,
        key::{Id, Name},
    },
};

/// A text that matches.
#[derive(Clone, Debug)]
pub(crate) struct FoundRow {
    pub(crate) context: EventContext,
    pub(crate) role: Role,
    pub(crate) part: TextPart,
    /// Name of the tool, if the record has it.
    pub(crate) tool: Option<Name>,
    pub(crate) call: Option<Id>,
    /// The response that says it.
    pub(crate) response: Option<Id>,
    pub(crate) count: u64,
    /// The line around the first match, if kept.
    pub(crate) line: Option<Name>,
}

impl Facts {
    /// Keeps the texts that match a query.
    #[must_use]
    pub fn searching(mut self, query: Option<Arc<Query>>) -> Self {
        if let Some(details) = &mut self.details {
            details.query.0 = query;
        }
        self
    }
}

impl RecordAbsorber<'_, '_, '_> {
    /// Keeps the texts of the record that match.
    pub(in crate::facts) fn detail_found(&mut self) {
        let Some(query) = self.facts.details.as_ref().and_then(|details| details.query.0.clone()) else {
            return;
        };
        let matches = query.matches(self.event);
        if matches.is_empty() {
            return;
        }
        let keeps_lines = self.keeps(Detail::MATCHES);
        let response = match &self.event.body {
            Body::Message(message) => message.response.as_ref(),
            _ => None,
        };
        let response = response.map(|response| {
            response.id.as_deref().map_or_else(|| self.record_id().within("response"), Id::of)
        });
        for (at, found) in matches {
            let event::Match { role, part, tool, call, count, line } = found;
            let tool = tool.as_deref().map(|tool| self.facts.names.get(tool));
            let call = call.as_deref().map(Id::of);
            // Both dialects and forks repeat the record of a call under its id.
            let id = match (call, part) {
                (Some(call), TextPart::Input) => call.within("found input"),
                (Some(call), TextPart::Result) => call.within("found result"),
                // The CLI writes the same title again and again.
                (_, TextPart::Title) => {
                    let session = self.event.session.as_deref().unwrap_or_default();
                    Id::of(session).within(&format!("found title {line}"))
                }
                _ => self.record_id().within(&format!("found {at}")),
            };
            let line = keeps_lines.then(|| Name::from(line));
            let context = self.context(self.event.time);
            let row = FoundRow { context, role, part, tool, call, response, count, line };
            if let Some(details) = self.facts.details.as_deref_mut() {
                details.found.push((id, row));
            }
        }
    }
}
