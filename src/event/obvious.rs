//! The obvious decoder: serde_json validates the whole record, and each nested object is parsed by itself.
//!
//! It is the reference for the fast decoder in `skim`, and decodes everything that `skim` does not handle.

use smallvec::SmallVec;

use super::{
    DecodeError, Event, Text,
    decode::decode_record,
    fields::{BlockFields, Fields, Key, MessageFields, MessageKey},
    json::{self, Json, Object},
    record::{Blocks, Parser, RawMessage, RawUsage, Record, keep_last_of_each},
};

/// Parses JSON values with serde_json.
pub(super) struct Obvious;

/// Decodes one record: `bytes` must be a single JSON object with a string `type`.
///
/// This decoder handles every input and reports all errors. Tests hold the fast one equal to it.
pub fn obvious(bytes: &[u8]) -> Result<Event<'_>, DecodeError> {
    let text = simdutf8::basic::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8)?;
    if !text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') {
        return Err(json::is_valid(text).map_or_else(|error| not_json(&error), |()| DecodeError::NotARecord));
    }
    let record = json::object(text).map_err(|error| not_json(&error))?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let mut event = Event::blank();
    decode_record::<Obvious>(&Record::from_fields::<Obvious>(wanted_fields(&record)), text, &mut event)
        .ok_or(DecodeError::NotARecord)?;
    Ok(event)
}

/// Takes the message of serde_json without its line number, which counts from the start of the record.
fn not_json(error: &serde_json::Error) -> DecodeError {
    let message = error.to_string();
    let message = message.split_once(" at line ").map_or(&*message, |(message, _)| message);
    DecodeError::NotJson(message.to_owned(), error.column())
}

fn wanted_fields<'a, F: Fields<'a>>(object: &Object<'a>) -> F {
    let mut fields = F::default();
    for (name, value) in object.iter() {
        if let Some(slot) = F::slot(Key::new(name.as_bytes())) {
            fields.put(slot, value);
        }
    }
    fields
}

impl<'a> Parser<'a> for Obvious {
    fn fields<F: Fields<'a>>(json: Json<'a>) -> Option<F> {
        json.object().map(|object| wanted_fields(&object))
    }

    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>> {
        json.array().map(SmallVec::from_vec)
    }

    fn entries(json: Json<'a>) -> Option<Vec<(Text<'a>, Json<'a>)>> {
        let mut entries: Vec<(Text<'a>, Json<'a>)> = json.object()?.iter().collect();
        keep_last_of_each(&mut entries);
        Some(entries)
    }

    fn message(json: Json<'a>) -> Option<RawMessage<'a>> {
        let object = json.object()?;
        let fields: MessageFields<'a> = wanted_fields(&object);
        let block = |json: Json<'a>| Some((Self::fields::<BlockFields<'a>>(json)?, json.length()));
        let blocks = fields.get(MessageKey::Content).and_then(Self::elements).map(|elements| Blocks {
            has_elements: !elements.is_empty(),
            objects: elements.into_iter().filter_map(block).collect(),
        });
        let blocks = blocks.unwrap_or_default();
        let usage = fields.get(MessageKey::Usage).and_then(Self::fields).map(RawUsage::from_fields::<Self>);
        Some(RawMessage { fields, has_fields: object.iter().next().is_some(), blocks, usage: usage.into() })
    }
}
