//! Combines the traces of a log: each hook, task, limit, server, request, decision, command and question
//! once.
//!
//! The records are decoded in [`event::trace`](crate::event::trace). Here rows about the same thing are
//! merged, in log order.

pub mod command;
pub mod context;
pub mod control;
pub mod hook;
pub mod limit;
pub mod permission;
pub mod question;
pub mod server;
pub mod task;

use super::{
    Hashed,
    ledger::{Call, Ledger},
};

/// Calls by id.
type CallsById<'l> = Hashed<&'l str, &'l Call>;

/// Returns the calls by id.
fn calls(ledger: &Ledger) -> CallsById<'_> {
    ledger.calls.iter().filter_map(|call| Some((call.id.as_deref()?, call))).collect()
}
