//! Typed indices into the tables of a ledger. An index of one table cannot be used for another.

use std::{
    num::NonZeroUsize,
    ops::{Index, IndexMut},
};

use super::{Agent, Call, Exchange, Prompt, Response, Session};

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident of $row:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// An `Option` of it has the size of a `usize`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(
            /// One more than the index, so that `None` needs no space of its own.
            NonZeroUsize,
        );

        impl $name {
            /// Index of the row at this position, from 0.
            pub const fn new(position: usize) -> Self {
                Self(NonZeroUsize::MIN.saturating_add(position))
            }

            /// Position of the row, from 0.
            pub const fn get(self) -> usize {
                self.0.get() - 1
            }

            /// The rows of a table with their indices.
            pub fn each(rows: &[$row]) -> impl DoubleEndedIterator<Item = (Self, &$row)> + Clone {
                rows.iter().enumerate().map(|(at, row)| (Self::new(at), row))
            }
        }

        impl Index<$name> for Vec<$row> {
            type Output = $row;

            fn index(&self, index: $name) -> &$row {
                &self[index.get()]
            }
        }

        impl IndexMut<$name> for Vec<$row> {
            fn index_mut(&mut self, index: $name) -> &mut $row {
                let position = index.get();
                &mut self[position]
            }
        }
    )*};
}

indices! {
    /// Index of a session in [`Ledger::sessions`](super::Ledger::sessions).
    SessionIndex of Session;
    /// Index of a subagent in [`Ledger::agents`](super::Ledger::agents).
    AgentIndex of Agent;
    /// Index of a tool call in [`Ledger::calls`](super::Ledger::calls).
    CallIndex of Call;
    /// Index of a response in [`Ledger::responses`](super::Ledger::responses).
    ResponseIndex of Response;
    /// Index of a prompt in [`Ledger::prompts`](super::Ledger::prompts).
    PromptIndex of Prompt;
    /// Index of an exchange in [`Ledger::exchanges`](super::Ledger::exchanges).
    ExchangeIndex of Exchange;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_index_is_as_small_as_a_usize() {
        assert_eq!(size_of::<Option<SessionIndex>>(), size_of::<usize>());
        assert_eq!(SessionIndex::new(0).get(), 0);
        assert_eq!(CallIndex::new(41).get(), 41);
        assert!(AgentIndex::new(1) < AgentIndex::new(2));
    }
}
