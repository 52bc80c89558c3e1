//! Fields of records that were kept as they stand, read one by one: one of another type is missing, and the record stays.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    facts::ledger::{Call, Ledger, Record},
    measure::Millis,
};

/// The wanted ones of the records that were kept, in the order they stand, opened.
pub(super) fn opened<'a>(
    ledger: &'a Ledger,
    wanted: impl Fn(&Record) -> bool + 'a,
) -> impl Iterator<Item = (&'a Record, Value)> + 'a {
    let kept = ledger.records.iter().filter(move |record| wanted(record));
    kept.filter_map(|record| Some((record, serde_json::from_str(record.text.as_deref()?).ok()?)))
}

/// Whether a record holds some words, wherever: what does not need not be opened.
pub(super) fn mentions(record: &Record, words: &[&str]) -> bool {
    record.text.as_deref().is_some_and(|text| words.iter().any(|word| text.contains(word)))
}

/// The calls by their ids.
pub(super) fn calls(ledger: &Ledger) -> HashMap<&str, &Call> {
    ledger.calls.iter().filter_map(|call| Some((call.id.as_deref()?, call))).collect()
}

/// The first of these members that is there: the dialects spell names differently.
pub(super) fn member<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().filter_map(|name| value.get(name)).find(|value| !value.is_null())
}

/// The same, where it is a text that says something.
pub(super) fn text<'v>(value: &'v Value, names: &[&str]) -> Option<&'v str> {
    member(value, names)?.as_str().filter(|text| !text.is_empty())
}

/// The same, where it is a count.
pub(super) fn count(value: &Value, names: &[&str]) -> Option<u64> {
    member(value, names)?.as_u64()
}

/// The same, where it is a duration.
pub(super) fn millis(value: &Value, names: &[&str]) -> Option<Millis> {
    member(value, names)?.as_f64().map(Millis::from_f64)
}

/// The same, where it is a list; else an empty one.
pub(super) fn list<'v>(value: &'v Value, names: &[&str]) -> &'v [Value] {
    member(value, names).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The answers to calls in a `user` record.
pub(super) fn answers(record: &Value) -> impl Iterator<Item = &Value> {
    let content = record.get("message").map_or(&[][..], |message| list(message, &["content"]));
    content.iter().filter(|block| text(block, &["type"]) == Some("tool_result"))
}

/// The text of a message or of an answer: itself, or its first block of text.
pub(super) fn content(value: &Value) -> Option<&str> {
    match value.get("content")? {
        Value::String(text) => Some(text),
        Value::Array(blocks) => blocks.iter().find_map(|block| text(block, &["text"])),
        _ => None,
    }
}
