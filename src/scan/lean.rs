//! Reads lean logs: their records have the places and lengths of the original log.

use super::decoder::UnitDecoder;
use crate::event::{
    self, Event,
    lean::{Digest, Note, Position, Sizes, Totals, Visitor, read_chunk},
};

/// The position in the original log.
#[derive(Clone, Debug, Default)]
pub(super) struct LeanState {
    /// End of the last chunk.
    position: Position,
    /// Counts of the original log, as far as they are known.
    pub(super) totals: Totals,
}

impl UnitDecoder<'_> {
    /// Absorbs a chunk of a lean log.
    pub(super) fn lean_chunk(&mut self, chunk: &[u8]) {
        let mut position = self.state.lean.get_or_insert_default().position;
        let result = read_chunk(chunk, &mut position, self.is_folded(), self);
        if let Some(state) = &mut self.state.lean {
            state.position = position;
        }
        if result.is_err() {
            self.damaged("a chunk ends early");
        }
    }

    /// Absorbs the digest of a lean log. Returns whether it replaces the records.
    pub(super) fn lean_digest(&mut self, digest: &[u8]) -> bool {
        if !self.keeps_totals_alone() {
            return false;
        }
        let Some(digest) = Digest::open(digest) else { return false };
        self.state.lean.get_or_insert_default();
        let absorbed = self.absorb_digest(&digest);
        let others = read_chunk(digest.others, &mut Position::default(), true, self);
        if absorbed.and(others).is_err() {
            self.damaged("a digest ends early");
        }
        true
    }

    /// Counts a damaged part of the lean log itself.
    fn damaged(&mut self, reason: &str) {
        let Some(LeanState { position, .. }) = &self.state.lean else { return };
        let place = self.place(position.offset, position.line);
        self.invalid(place, format!("damaged archive: {reason}"));
    }
}

impl Visitor for UnitDecoder<'_> {
    #[inline]
    fn record(&mut self, at: Position, event: &mut Event<'_>) {
        self.absorb(self.place(at.offset, at.line), event, b"");
    }

    fn json(&mut self, at: Position, line: &[u8]) {
        let Some(sizes) = Sizes::parse(line) else { return self.damaged("a record without sizes") };
        match event::decode(line) {
            Ok(mut event) => {
                sizes.restore(&mut event);
                self.absorb(self.place(at.offset, at.line), &event, line);
            }
            Err(flaw) => self.damaged(&flaw.to_string()),
        }
    }

    fn tally(&mut self, at: Position, event: &Event<'_>, count: u64) {
        self.absorb_repeated(self.place(at.offset, at.line), event, count);
    }

    fn note(&mut self, line: &[u8]) {
        let Some(state) = &mut self.state.lean else { return };
        match Note::parse(line) {
            Some(Note::Invalid { line, offset, reason }) => self.invalid(self.place(offset, line), reason),
            Some(Note::End(totals)) => state.totals = totals,
            None => self.damaged("an unknown note"),
        }
    }
}
