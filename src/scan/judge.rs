//! Lines become facts: each is judged by itself, and what is no record is noted with its place.

use std::sync::atomic::Ordering;

use super::{Count, Observer, Options, Progress};
use crate::{
    event::{self, DecodeError, Event, KeyPredictor, Skimmer},
    facts::{Counts, Facts},
    input::{Amount, Piece, Place, Sink, SourceId, Splitter, Stop},
};

/// Judges the lines of one unit.
pub(super) struct Judge<'a> {
    facts: &'a mut Facts,
    source: SourceId,
    count: Count,
    max_record: usize,
    predictor: &'a mut KeyPredictor,
    pub(super) rest: Rest,
    stop: &'a Stop,
    progress: &'a Progress,
    pub(super) watch: Option<&'a mut dyn Observer>,
}

/// What a unit leaves for its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    blank: u64,
    /// The last line so far that is not blank: its offset and its number.
    last: Option<(u64, u64)>,
    /// Why it is unfinished, if it is.
    unfinished: Option<String>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        facts: &'a mut Facts,
        source: SourceId,
        count: Count,
        predictor: &'a mut KeyPredictor,
        options: &'a Options,
        progress: &'a Progress,
    ) -> Self {
        let Options { limits, stop, .. } = options;
        let (max_record, rest) = (limits.max_record, Rest::default());
        Self { facts, source, count, max_record, predictor, rest, stop, progress, watch: None }
    }

    /// Takes in a record; its text is for whoever looks on.
    #[inline]
    fn absorb(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        self.facts.absorb(place, event);
        if let Some(watch) = &mut self.watch {
            watch.record(place, event, text);
        }
    }

    fn place(&self, offset: u64, line: u64) -> Place {
        Place { source: self.source, offset, unit: self.count.since, line }
    }

    /// A line that is not blank, or a thing that was cut out: what was unfinished before it was not the last.
    #[inline]
    fn follow(&mut self, place: Place) {
        if let Some((last, reason)) = self.last().zip(self.rest.unfinished.take()) {
            self.facts.invalid(last, reason);
        }
        self.rest.last = Some((place.offset, place.line));
    }

    fn last(&self) -> Option<Place> {
        self.rest.last.map(|(offset, line)| self.place(offset, line))
    }

    /// Takes in a line that is simply one record; the end of that line.
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
        self.follow(place);
        self.absorb(place, event, &block[from..end]);
        Some(end)
    }

    fn line(&mut self, offset: u64, line: u64, whole: &[u8]) {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        let skipped = whole.iter().take_while(|byte| blank(byte) || **byte == 0).count();
        let trailing = whole[skipped..].iter().rev().take_while(|byte| blank(byte)).count();
        let bytes = &whole[skipped..whole.len() - trailing];
        if bytes.is_empty() {
            self.rest.blank += 1;
            return;
        }
        let place = self.place(offset + skipped as u64, line);
        self.follow(place);
        if whole.len() > self.max_record {
            // It was held by chance: had less been read at once, it would have been cut as it came.
            return self.cut_line(place, bytes, |_| "broken JSON".to_owned());
        }
        match event::decode(bytes) {
            Ok(event) => self.absorb(place, &event, bytes),
            Err(_) => self.cut_line(place, bytes, reason),
        }
    }

    /// A line that is not one record: glued objects, an array, or noise.
    fn cut_line(&mut self, place: Place, bytes: &[u8], reason: fn(&[u8]) -> String) {
        let mut splitter = Splitter::line(place.offset, place.line, self.max_record);
        let mut tell = |offset: u64, line, found: Piece<'_>| match found {
            Piece::Broken => {
                let at = usize::try_from(offset - place.offset).unwrap_or(bytes.len());
                self.facts.invalid(self.place(offset, line), reason(&bytes[at..]));
            }
            other => self.absorb_piece(offset, line, other),
        };
        splitter.feed(bytes, &mut tell);
        splitter.end(&mut tell);
    }

    /// A piece of something that is not simply one object per line.
    fn absorb_piece(&mut self, offset: u64, line: u64, found: Piece<'_>) {
        let place = self.place(offset, line);
        if found != Piece::Blank {
            self.follow(place);
        }
        match found {
            Piece::Value(bytes) => self.value(place, bytes),
            Piece::Noise => self.facts.invalid(place, "expected a JSON object".to_owned()),
            Piece::Broken => self.facts.invalid(place, "broken JSON".to_owned()),
            Piece::Unfinished => self.rest.unfinished = Some("unfinished object".to_owned()),
            Piece::TooLarge => self.facts.invalid(place, "larger than --max-record".to_owned()),
            Piece::Blank => self.rest.blank += 1,
        }
    }

    fn value(&mut self, place: Place, bytes: &[u8]) {
        match event::decode(bytes) {
            Ok(event) => self.absorb(place, &event, bytes),
            Err(flaw) => self.facts.invalid(place, flaw.to_string()),
        }
    }

    /// Notes what there was in all.
    pub(super) fn tally(&mut self, amount: Amount, is_start: bool) {
        let Amount { first, bytes, lines } = amount;
        self.facts.unit(self.source, self.count.since, first, lines);
        let (sources, blank) = (u64::from(is_start), self.rest.blank);
        self.facts.count(Counts { sources, bytes, lines, blank, records: 0 });
    }

    pub(super) fn finish(&mut self) {
        if let Some(last) = self.last() {
            self.facts.tail(last, self.rest.unfinished.take());
        }
    }
}

/// What is wrong with a broken object, in the words of the parser.
fn reason(bytes: &[u8]) -> String {
    match event::decode(bytes) {
        Err(DecodeError::NotJson(what, byte)) => format!("broken JSON: {what} at byte {byte} of the record"),
        Err(flaw) => flaw.to_string(),
        Ok(_) => "broken JSON".to_owned(),
    }
}

impl Sink for Judge<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        // UTF-8 is checked for all lines at once, and line by line only where that fails.
        let mut predictor = std::mem::replace(self.predictor, KeyPredictor::NONE);
        let text = simdutf8::basic::from_utf8(block);
        let mut skimmer = text.ok().map(|text| Skimmer::new(text, &mut predictor));
        let line = self.count.lines + line;
        let (mut start, mut count) = (0, 0);
        while start < block.len() {
            let (here, number) = (offset + start as u64, line + count);
            let skimmed = skimmer.as_mut().and_then(|skimmer| self.skim(skimmer, block, start, here, number));
            let end = skimmed.unwrap_or_else(|| {
                let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end);
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

    fn piece(&mut self, offset: u64, line: u64, found: Piece<'_>) {
        self.absorb_piece(offset, self.count.lines + line, found);
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.progress.done.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    fn should_stop(&self) -> bool {
        self.stop.is_set()
    }
}
