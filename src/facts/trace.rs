//! What records leave traces of, beside what is counted: decoded from the text that [`Detail::TRACES`] keeps.
//!
//! [`Detail::TRACES`]: super::Detail::TRACES

pub mod command;
pub mod control;
pub mod hook;
pub mod limit;
mod member;
pub mod permission;
pub mod question;
pub mod server;
pub mod task;

use serde_json::Value;

use super::ledger::{Ledger, Record};

/// The records that left a trace, in the order they stand, with what they hold.
fn traces(ledger: &Ledger) -> impl Iterator<Item = (&Record, Value)> {
    ledger.records.iter().filter_map(|record| {
        let text = record.text.as_deref()?;
        Some((record, serde_json::from_str(text).ok()?))
    })
}

/// A string that is not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}
