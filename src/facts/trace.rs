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

use std::cell::OnceCell;

use super::{
    Hashed, Name,
    ledger::{Call, Ledger},
};

/// Finds calls by id. Records about calls are in the order of the calls, except if several run at once, so that a map
/// is hardly ever needed.
struct CallFinder<'l> {
    calls: &'l [Call],
    /// Position after the call that was found last.
    next: usize,
    by_id: OnceCell<Hashed<&'l Name, usize>>,
}

impl<'l> CallFinder<'l> {
    /// Number of calls before and after the last one that are compared.
    const NEAR: usize = 8;

    fn of(calls: &'l [Call]) -> Self {
        Self { calls, next: 0, by_id: OnceCell::new() }
    }

    /// Returns the index of a call.
    fn find(&mut self, id: &Name) -> Option<usize> {
        let (from, until) = (self.next.saturating_sub(Self::NEAR), self.next.saturating_add(Self::NEAR));
        let near = (self.next..until).chain(from..self.next);
        let found =
            near.filter(|&at| at < self.calls.len()).find(|&at| self.calls[at].id.as_ref() == Some(id));
        let found = found.or_else(|| self.by_id.get_or_init(|| by_id(self.calls)).get(id).copied());
        self.next = found.map_or(self.next, |at| at + 1);
        found
    }
}

fn by_id(calls: &[Call]) -> Hashed<&Name, usize> {
    calls.iter().enumerate().filter_map(|(at, call)| Some((call.id.as_ref()?, at))).collect()
}

/// Calls by id.
type CallsById<'l> = Hashed<&'l str, &'l Call>;

/// Returns the calls by id.
fn calls(ledger: &Ledger) -> CallsById<'_> {
    ledger.calls.iter().filter_map(|call| Some((call.id.as_deref()?, call))).collect()
}
