//! Ids of traces and spans, derived from the ids in the log: the same log always gives the same ids.

use std::hash::BuildHasher;

use sha2::{Digest, Sha256};

/// Id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// Id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

/// Derives the ids of one session.
#[derive(Clone, Debug)]
pub(super) enum Ids {
    /// Ids that are unique and never change. Changing how they are derived would duplicate spans that were exported
    /// before.
    Lasting(Sha256),
    /// Ids for one run of the program.
    Brief(foldhash::quality::RandomState),
}

impl Ids {
    pub(super) fn of(session: &str) -> Self {
        Self::Lasting(Sha256::new_with_prefix(format!("trace 1\0{session}\0")))
    }

    /// Ids that are unique within the session and not exported.
    pub(super) fn of_session() -> Self {
        Self::Brief(foldhash::quality::RandomState::default())
    }

    pub(super) fn trace(&self, interaction: &str) -> TraceId {
        TraceId(self.hash("trace", interaction))
    }

    /// `kind` is that of the span, `id` that of its prompt, response or call.
    pub(super) fn span(&self, kind: &str, id: &str) -> SpanId {
        SpanId(self.hash(kind, id))
    }

    fn hash<const N: usize>(&self, kind: &str, id: &str) -> [u8; N] {
        let mut bytes = [0; N];
        match self {
            Self::Lasting(session) => {
                let mut hasher = session.clone();
                for part in [kind, "\0", id] {
                    hasher.update(part);
                }
                bytes.copy_from_slice(&hasher.finalize()[..N]);
            }
            Self::Brief(state) => bytes[..8].copy_from_slice(&state.hash_one((kind, id)).to_le_bytes()),
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_never_change() {
        let ids = Ids::of("0a1b");
        assert_eq!(ids.trace("prompt 1"), ids.trace("prompt 1"));
        assert_ne!(ids.trace("prompt 1"), ids.trace("prompt 2"));
        assert_ne!(ids.span("tool", "a"), ids.span("request", "a"));
        assert_ne!(ids.span("tool", "a"), Ids::of("0a1c").span("tool", "a"));
        assert_eq!(data_encoding::HEXLOWER.encode(&ids.span("tool", "a").0), "66ce2c96f41079ce");
    }
}
