//! Reads lean logs: their records have the places and lengths of the original log.

use std::{
    fs::File,
    io::{Read, Seek},
};

use super::decoder::UnitDecoder;
use crate::event::{
    self, Skimmer,
    lean::{HEADER, Note, Sizes, Totals},
};

/// The position in the original log.
#[derive(Clone, Debug, Default)]
pub(super) struct LeanState {
    /// Offset of the end of the last record.
    offset: u64,
    /// Line of the last record.
    line: u64,
    /// Counts of the original log, as far as they are known.
    pub(super) totals: Totals,
}

/// Whether an uncompressed file is a lean log.
pub(super) fn is_lean(file: &mut File) -> bool {
    let mut head = [0; HEADER.len()];
    file.rewind().and_then(|()| file.read_exact(&mut head)).is_ok_and(|()| head == HEADER)
}

impl UnitDecoder<'_> {
    /// Absorbs the line of a lean log that begins at `start`, and returns its end.
    pub(super) fn lean_line(
        &mut self,
        skimmer: Option<&mut Skimmer<'_, '_>>,
        block: &[u8],
        start: usize,
    ) -> usize {
        let Some(sizes) = Sizes::parse(&block[start..]) else {
            let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end);
            self.lean_note(&block[start..end]);
            return end;
        };
        if let Some(skimmer) = skimmer
            && let Some((_, end)) = skimmer.read(start)
        {
            self.lean_record(&sizes, skimmer.event_mut(), &block[start..end]);
            return end;
        }
        let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end);
        let line = &block[start..end];
        match event::decode(line) {
            Ok(mut event) => self.lean_record(&sizes, &mut event, line),
            Err(flaw) => self.damaged(&flaw.to_string()),
        }
        end
    }

    #[inline]
    fn lean_record(&mut self, sizes: &Sizes, event: &mut event::Event<'_>, text: &[u8]) {
        let Some(state) = &mut self.state.lean else { return };
        state.line = state.line.saturating_add(sizes.gap.lines);
        let offset = state.offset.saturating_add(sizes.gap.bytes);
        state.offset = offset.saturating_add(sizes.bytes);
        let line = state.line;
        sizes.restore(event);
        self.absorb(self.place(offset, line), event, text);
    }

    fn lean_note(&mut self, line: &[u8]) {
        let Some(state) = &mut self.state.lean else { return };
        match Note::parse(line) {
            Some(Note::Lean { .. }) => {}
            Some(Note::Invalid { line, offset, reason }) => self.invalid(self.place(offset, line), reason),
            Some(Note::End(totals)) => state.totals = totals,
            None => self.damaged("neither a lean record nor a note"),
        }
    }

    /// Counts a damaged line of the lean log itself.
    fn damaged(&mut self, reason: &str) {
        let Some(state) = &self.state.lean else { return };
        let place = self.place(state.offset, state.line);
        self.invalid(place, format!("damaged archive: {reason}"));
    }
}
