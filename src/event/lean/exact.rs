//! Decides which records have a compact form: those that are the same without their text.

use super::{
    chunk::{Position, Visitor, read_chunk},
    writer::ChunkWriter,
};
use crate::event::{
    Body, Event, INTERRUPTION, Message, Text, is_interruption, message_text, request_of,
    trace::{self, Trace, Traces},
};

/// Whether a record is traced, if it can be read back from its compact form and no report misses its text.
pub(super) fn traced_if_exact(event: &Event<'_>) -> Option<bool> {
    if !matches!(event.body, Body::Plain | Body::Message(_)) {
        return None;
    }
    let mut alone = ChunkWriter::default();
    alone.push(Position::default(), event);
    let mut comparison = Comparison { event, traced: None };
    read_chunk(&alone.take(), &mut Position::default(), false, &mut comparison).ok()?;
    comparison.traced
}

/// Compares a record with its compact form.
struct Comparison<'c, 'a> {
    event: &'c Event<'a>,
    /// Whether it is traced, if it is equal.
    traced: Option<bool>,
}

impl Visitor for Comparison<'_, '_> {
    fn record(&mut self, _at: Position, found: &mut Event<'_>) {
        let traces = |event: &Event<'_>| -> Vec<Trace<String>> {
            trace::traces(event, Traces::ALL, &mut |text: Text<'_>| text.into_owned())
        };
        let traced = traces(self.event);
        let interrupts = |text: Text<'_>| text.trim_start().starts_with(INTERRUPTION);
        let is_equal = has_fields_of(found, self.event)
            && traced == traces(found)
            && (traced.is_empty() || trace::uuid(self.event) == trace::uuid(found))
            && (found.body != Body::Plain || request_of(self.event.text) == request_of(found.text))
            && !is_interruption(self.event)
            && !message_text(self.event).is_some_and(interrupts);
        self.traced = is_equal.then_some(!traced.is_empty());
    }

    fn json(&mut self, _at: Position, _line: &[u8]) {}

    fn note(&mut self, _line: &[u8]) {}

    fn tally(&mut self, _at: Position, _event: &Event<'_>, _count: u64) {}
}

/// Compares all fields but the text.
fn has_fields_of(one: &Event<'_>, other: &Event<'_>) -> bool {
    let Event {
        kind,
        dialect,
        uuid,
        session,
        time,
        version,
        prompt,
        cwd,
        branch,
        agent,
        text: _,
        bytes,
        body,
    } = one;
    let same_body = match (body, &other.body) {
        (Body::Plain, Body::Plain) => true,
        (Body::Message(one), Body::Message(other)) => {
            let Message { blocks, response, api_error } = one;
            blocks[..] == other.blocks[..] && *response == other.response && *api_error == other.api_error
        }
        _ => false,
    };
    same_body
        && (kind, dialect, uuid) == (&other.kind, &other.dialect, &other.uuid)
        && (session, time, version) == (&other.session, &other.time, &other.version)
        && (prompt, cwd, branch) == (&other.prompt, &other.cwd, &other.branch)
        && (agent, bytes) == (&other.agent, &other.bytes)
}

/// The text of a record without a message that says what was requested, with that alone.
pub(super) fn kept_text(event: &Event<'_>) -> Option<String> {
    if !matches!(event.body, Body::Plain) {
        return None;
    }
    let (id, source) = request_of(event.text);
    let members = [("id", id), ("querySource", source)];
    let members =
        members.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into_owned().into())));
    let members: serde_json::Map<String, serde_json::Value> = members.collect();
    (!members.is_empty()).then(|| serde_json::Value::from(members).to_string())
}
