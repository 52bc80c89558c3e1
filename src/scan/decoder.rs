//! Decodes lines into facts. Text that is not a record is counted as invalid, with its place.

use std::sync::atomic::Ordering;

use super::{LineBase, Observer, Options, Progress, lean::LeanState};
use crate::{
    event::{
        self, DecodeError, Event, KeyPredictor, Skimmer,
        lean::{Damaged, Digest, Totals},
    },
    facts::{Counts, Facts},
    input::{Amount, Piece, Place, Sink, SourceId, Splitter, Stop},
};

/// Decodes the lines of one unit, each by itself, and absorbs the events into facts.
pub(super) struct UnitDecoder<'a> {
    facts: &'a mut Facts,
    source: SourceId,
    line_base: LineBase,
    max_record: usize,
    predictor: &'a mut KeyPredictor,
    pub(super) state: UnitState,
    only_costs_from: Option<u64>,
    stop: &'a Stop,
    progress: &'a Progress,
    pub(super) observer: Option<&'a mut dyn Observer>,
}

/// State that is evaluated at the end of a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitState {
    blank: u64,
    /// Offset and number of the last non-blank line so far.
    last: Option<(u64, u64)>,
    /// Why that line is unfinished, if it is. At the end of the source it is truncated, otherwise invalid.
    unfinished: Option<String>,
    /// The position in the original log, if the source is a lean one.
    pub(super) lean: Option<LeanState>,
}

impl<'a> UnitDecoder<'a> {
    pub(super) fn new(
        facts: &'a mut Facts,
        source: SourceId,
        line_base: LineBase,
        predictor: &'a mut KeyPredictor,
        options: &'a Options,
        progress: &'a Progress,
    ) -> Self {
        let &Options { ref limits, ref stop, only_costs_from, .. } = options;
        Self {
            facts,
            source,
            line_base,
            max_record: limits.max_record,
            predictor,
            state: UnitState::default(),
            only_costs_from,
            stop,
            progress,
            observer: None,
        }
    }

    /// Absorbs a record, and passes it with its text to the observer.
    #[inline]
    pub(super) fn absorb(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        self.facts.absorb(place, event);
        if let Some(observer) = &mut self.observer {
            observer.record(place, event, text);
        }
    }

    /// Absorbs so many records that are only counted and are like this one.
    pub(super) fn absorb_repeated(&mut self, place: Place, event: &Event<'_>, count: u64) {
        self.facts.absorb_repeated(place, event, count);
    }

    /// Absorbs the records of a digest.
    pub(super) fn absorb_digest(&mut self, digest: &Digest<'_>) -> Result<(), Damaged> {
        self.facts.absorb_digest(self.source, digest)
    }

    /// Whether a digest is enough.
    pub(super) fn keeps_totals_alone(&self) -> bool {
        self.observer.is_none() && self.facts.keeps_totals_alone()
    }

    /// Whether records that are only counted may be absorbed together.
    pub(super) fn is_folded(&self) -> bool {
        self.observer.is_none() && !self.facts.keeps_every_record()
    }

    /// Counts an invalid line or value.
    pub(super) fn invalid(&mut self, place: Place, reason: String) {
        if let Some(observer) = &mut self.observer {
            observer.invalid(place, &reason);
        }
        self.facts.invalid(place, reason);
    }

    pub(super) fn place(&self, offset: u64, line: u64) -> Place {
        Place { source: self.source, offset, unit: self.line_base.offset, line }
    }

    /// Notes a non-blank line or a piece of one. An unfinished line before it was not the last one, so it is
    /// invalid.
    #[inline]
    fn note_content(&mut self, place: Place) {
        if let Some((last, reason)) = self.last().zip(self.state.unfinished.take()) {
            self.invalid(last, reason);
        }
        self.state.last = Some((place.offset, place.line));
    }

    fn last(&self) -> Option<Place> {
        self.state.last.map(|(offset, line)| self.place(offset, line))
    }

    /// Returns the end of a line that need not be decoded.
    fn skip(&self, block: &[u8], from: usize, offset: u64) -> Option<usize> {
        let skips = self.only_costs_from.is_some_and(|first| offset >= first);
        (skips && event::is_free(&block[from..])).then(|| line_end(block, from))
    }

    /// Absorbs a line that is one record, if the fast decoder accepts it, and returns the end of the line.
    #[inline]
    fn skim(
        &mut self,
        skimmer: &mut Skimmer<'_, '_>,
        block: &[u8],
        from: usize,
        offset: u64,
        line: u64,
    ) -> Option<usize> {
        let (event, end) = skimmer.read(from)?;
        if end - from > self.max_record {
            return None;
        }
        let place = self.place(offset, line);
        self.note_content(place);
        self.absorb(place, event, &block[from..end]);
        Some(end)
    }

    fn line(&mut self, offset: u64, line: u64, whole: &[u8]) {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        let skipped = whole.iter().take_while(|byte| blank(byte) || **byte == 0).count();
        let trailing = whole[skipped..].iter().rev().take_while(|byte| blank(byte)).count();
        let bytes = &whole[skipped..whole.len() - trailing];
        if bytes.is_empty() {
            self.state.blank += 1;
            return;
        }
        let place = self.place(offset + skipped as u64, line);
        self.note_content(place);
        if whole.len() > self.max_record {
            // Treated as a line that did not fit into the buffer, so that the result does not depend on the
            // block size.
            return self.split_line(place, bytes, |_| "broken JSON".to_owned());
        }
        match event::decode(bytes) {
            Ok(event) => self.absorb(place, &event, bytes),
            Err(_) => self.split_line(place, bytes, reason),
        }
    }

    /// Handles a line that is not one record: adjacent objects, an array, or noise.
    fn split_line(&mut self, place: Place, bytes: &[u8], reason: fn(&[u8]) -> String) {
        let mut splitter = Splitter::line(place.offset, place.line, self.max_record);
        let mut emit = |offset: u64, line, piece: Piece<'_>| match piece {
            Piece::Broken => {
                let at = usize::try_from(offset - place.offset).unwrap_or(bytes.len());
                self.invalid(self.place(offset, line), reason(&bytes[at..]));
            }
            other => self.absorb_piece(offset, line, other),
        };
        splitter.feed(bytes, &mut emit);
        splitter.end(&mut emit);
    }

    /// Absorbs or counts a piece of a document or of a line that was split.
    fn absorb_piece(&mut self, offset: u64, line: u64, piece: Piece<'_>) {
        let place = self.place(offset, line);
        if piece != Piece::Blank {
            self.note_content(place);
        }
        match piece {
            Piece::Value(bytes) => self.value(place, bytes),
            Piece::Noise => self.invalid(place, "expected a JSON object".to_owned()),
            Piece::Broken => self.invalid(place, "broken JSON".to_owned()),
            Piece::Unfinished => self.state.unfinished = Some("unfinished object".to_owned()),
            Piece::TooLarge => self.invalid(place, "larger than --max-record".to_owned()),
            Piece::Blank => self.state.blank += 1,
        }
    }

    fn value(&mut self, place: Place, bytes: &[u8]) {
        match event::decode(bytes) {
            Ok(event) => self.absorb(place, &event, bytes),
            Err(flaw) => self.invalid(place, flaw.to_string()),
        }
    }

    /// Adds the counts of the unit to the facts, and the place and state of its last line.
    pub(super) fn finish(&mut self, amount: Amount, is_start: bool) {
        let Amount { first, bytes, lines } = amount;
        let UnitState { blank, last, unfinished, lean } = std::mem::take(&mut self.state);
        let totals = match lean {
            Some(lean) => {
                self.facts.lean(self.source);
                lean.totals
            }
            None => {
                Totals { bytes, lines, blank, last: last.map(|(offset, line)| (line, offset)), unfinished }
            }
        };
        if let Some(observer) = &mut self.observer {
            observer.end(&totals);
        }
        let Totals { bytes, lines, blank, last, unfinished } = totals;
        if let Some((line, offset)) = last {
            self.facts.tail(self.place(offset, line), unfinished);
        }
        self.facts.unit(self.source, self.line_base.offset, first, lines);
        self.facts.count(Counts { sources: u64::from(is_start), bytes, lines, blank, records: 0 });
    }
}

/// The end of the line that begins at `start`.
fn line_end(block: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end)
}

/// The parser's message for a broken object.
fn reason(bytes: &[u8]) -> String {
    match event::decode(bytes) {
        Err(DecodeError::NotJson(what, byte)) => format!("broken JSON: {what} at byte {byte} of the record"),
        Err(flaw) => flaw.to_string(),
        Ok(_) => "broken JSON".to_owned(),
    }
}

impl Sink for UnitDecoder<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        // UTF-8 is validated for the whole block at once, and line by line only if that fails.
        let mut predictor = std::mem::replace(self.predictor, KeyPredictor::NONE);
        let text = simdutf8::basic::from_utf8(block);
        let mut skimmer = text.ok().map(|text| Skimmer::new(text, &mut predictor));
        let line = self.line_base.lines + line;
        let (mut start, mut count) = (0, 0);
        while start < block.len() {
            let (here, number) = (offset + start as u64, line + count);
            let done = self.skip(block, start, here).or_else(|| {
                skimmer.as_mut().and_then(|skimmer| self.skim(skimmer, block, start, here, number))
            });
            let end = done.unwrap_or_else(|| {
                let end = line_end(block, start);
                self.line(here, number, &block[start..end]);
                end
            });
            start = end + 1;
            count += 1;
        }
        *self.predictor = predictor;
        self.progress.done.fetch_add(block.len() as u64, Ordering::Relaxed);
        count
    }

    fn piece(&mut self, offset: u64, line: u64, piece: Piece<'_>) {
        self.absorb_piece(offset, self.line_base.lines + line, piece);
    }

    fn lean(&mut self, chunk: &[u8]) -> bool {
        self.lean_chunk(chunk);
        self.progress.done.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        true
    }

    fn digest(&mut self, digest: &[u8]) -> bool {
        let is_enough = self.lean_digest(digest);
        self.progress.done.fetch_add(digest.len() as u64, Ordering::Relaxed);
        is_enough
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.progress.done.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    fn should_stop(&self) -> bool {
        self.stop.is_set()
    }
}
