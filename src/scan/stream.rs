//! Reads streams as they arrive, and shows each record to an observer.

use std::{io::Read, sync::Mutex};

use super::{
    LineBase, Options, Progress, Scan, Unread,
    decoder::{UnitDecoder, UnitState},
    open,
};
use crate::{
    event::{Event, KeyPredictor, lean::Totals},
    facts::Facts,
    input::{self, Amount, Bytes, Piece, Place, Range, Sink, Source, SourceId},
};

/// Sees each record of a stream when it is absorbed.
pub trait Observer {
    /// Called for each record, with its place and text.
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]);
    /// Called after the records of one read.
    fn batch_end(&mut self);
    /// Called for each invalid line or value, with the reason.
    fn invalid(&mut self, _place: Place, _reason: &str) {}
    /// Called at the end of a source.
    fn end(&mut self, _totals: &Totals) {}
}

/// Reads one stream as it arrives. While another thread holds the lock, it sees the facts of everything read
/// so far.
pub fn scan_stream(
    stream: Box<dyn Read + Send>,
    options: &Options,
    facts: &Mutex<Facts>,
    observer: &mut dyn Observer,
) -> Option<Unread> {
    let source = SourceId(0);
    match Bytes::stream(stream) {
        Ok(bytes) => observe(source, bytes, options, facts, observer),
        Err(error) => Some(Unread { source, offset: None, error }),
    }
}

/// Reads sources one after another, from front to back, and shows each record to an observer.
pub fn scan_observed(sources: &[Source], options: &Options, observer: &mut dyn Observer) -> Scan {
    let facts = Mutex::new(options.facts());
    let mut unread = Vec::new();
    for (source, id) in sources.iter().zip(0..).take_while(|_| !options.stop.is_set()) {
        unread.extend(match open(source, options) {
            Ok(Some(bytes)) => observe(SourceId(id), bytes, options, &facts, observer),
            Ok(None) => None,
            Err(error) => Some(Unread { source: SourceId(id), offset: None, error }),
        });
    }
    let mut facts = facts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if options.stop.is_set() {
        facts.interrupt(None);
    }
    Scan { facts, unread }
}

fn observe(
    source: SourceId,
    mut bytes: Bytes,
    options: &Options,
    facts: &Mutex<Facts>,
    observer: &mut dyn Observer,
) -> Option<Unread> {
    let progress = Progress::default();
    let (predictor, state) = (KeyPredictor::default(), UnitState::default());
    let mut sink = SharedSink { facts, source, observer, options, progress: &progress, predictor, state };
    let (amount, result) =
        input::read_all(&mut bytes, Range::ALL, &options.limits, &mut Vec::new(), &mut sink);
    sink.with_decoder(|decoder| decoder.finish(amount, true));
    if options.stop.is_set() {
        facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).interrupt(None);
    }
    result.err().map(|error| Unread { source, offset: Some(amount.bytes), error })
}

/// A sink that locks the facts only while it decodes the lines of one read.
struct SharedSink<'a> {
    facts: &'a Mutex<Facts>,
    source: SourceId,
    observer: &'a mut dyn Observer,
    options: &'a Options,
    progress: &'a Progress,
    predictor: KeyPredictor,
    state: UnitState,
}

impl SharedSink<'_> {
    fn with_decoder<R>(&mut self, run: impl FnOnce(&mut UnitDecoder<'_>) -> R) -> R {
        let mut facts = self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (line_base, predictor) = (LineBase::default(), &mut self.predictor);
        let mut decoder =
            UnitDecoder::new(&mut facts, self.source, line_base, predictor, self.options, self.progress);
        decoder.observer = Some(&mut *self.observer);
        decoder.state = std::mem::take(&mut self.state);
        let result = run(&mut decoder);
        self.state = decoder.state;
        result
    }
}

impl Sink for SharedSink<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        let lines = self.with_decoder(|decoder| decoder.lines(offset, line, block));
        self.observer.batch_end();
        lines
    }

    fn piece(&mut self, offset: u64, line: u64, piece: Piece<'_>) {
        self.with_decoder(|decoder| decoder.piece(offset, line, piece));
        self.observer.batch_end();
    }

    fn lean(&mut self, chunk: &[u8]) -> bool {
        self.with_decoder(|decoder| decoder.lean(chunk))
    }

    fn should_stop(&self) -> bool {
        self.options.stop.is_set()
    }
}

/// Lines that are pushed one at a time, instead of being read.
#[derive(Debug)]
pub struct LineReader {
    facts: Facts,
    predictor: KeyPredictor,
    state: UnitState,
    amount: Amount,
    options: Options,
    progress: Progress,
}

impl LineReader {
    /// No line yet.
    pub fn new(options: Options) -> Self {
        Self {
            facts: options.facts(),
            predictor: KeyPredictor::default(),
            state: UnitState::default(),
            amount: Amount { first: 0, bytes: 0, lines: 0 },
            options,
            progress: Progress::default(),
        }
    }

    /// Takes one line, with or without its line end.
    pub fn push(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let Self { facts, predictor, state, amount, options, progress } = self;
        let mut decoder =
            UnitDecoder::new(facts, SourceId(0), LineBase::default(), predictor, options, progress);
        decoder.state = std::mem::take(state);
        // An empty slice would be no line at all.
        let block = if line.is_empty() { b"\n" } else { line };
        amount.lines += decoder.lines(amount.bytes, amount.lines, block);
        amount.bytes += line.len() as u64 + 1;
        *state = decoder.state;
    }

    /// The facts of all lines so far, as if the input ended here.
    pub fn facts(&self) -> Facts {
        let (mut facts, mut predictor) = (self.facts.clone(), KeyPredictor::default());
        let count = LineBase::default();
        let mut decoder =
            UnitDecoder::new(&mut facts, SourceId(0), count, &mut predictor, &self.options, &self.progress);
        decoder.state = self.state.clone();
        decoder.finish(self.amount, true);
        facts
    }
}
