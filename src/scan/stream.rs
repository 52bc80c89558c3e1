//! Streams, read as they come, while someone looks on.

use std::{io::Read, sync::Mutex};

use super::{
    Count, Options, Progress, Scan, Unread,
    judge::{Judge, Rest},
    open,
};
use crate::{
    event::{Event, KeyPredictor},
    facts::Facts,
    input::{self, Amount, Bytes, Piece, Place, Range, Sink, Source, SourceId},
};

/// Looks at each record of a stream as it comes, beside the facts.
pub trait Observer {
    /// A record, where it stands, and its text.
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]);
    /// Nothing more of what came at once.
    fn batch_end(&mut self);
}

/// Reads one stream as it comes. The facts are shared: whoever holds the lock sees those of all that came so far.
pub fn scan_stream(
    stream: Box<dyn Read + Send>,
    options: &Options,
    facts: &Mutex<Facts>,
    watch: &mut dyn Observer,
) -> Option<Unread> {
    let source = SourceId(0);
    match Bytes::stream(stream) {
        Ok(bytes) => watched(source, bytes, options, facts, watch),
        Err(error) => Some(Unread { source, offset: None, error }),
    }
}

/// Reads sources one after another, front to back, while someone looks on.
pub fn scan_observed(sources: &[Source], options: &Options, watch: &mut dyn Observer) -> Scan {
    let facts = Mutex::new(Facts::new(options.detail));
    let mut unread = Vec::new();
    for (source, id) in sources.iter().zip(0..).take_while(|_| !options.stop.is_set()) {
        unread.extend(match open(source, options) {
            Ok(Some(bytes)) => watched(SourceId(id), bytes, options, &facts, watch),
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

fn watched(
    source: SourceId,
    mut bytes: Bytes,
    options: &Options,
    facts: &Mutex<Facts>,
    watch: &mut dyn Observer,
) -> Option<Unread> {
    let progress = Progress::default();
    let (predictor, rest) = (KeyPredictor::default(), Rest::default());
    let mut feed = Shared { facts, source, watch, options, progress: &progress, predictor, rest };
    let (amount, result) =
        input::read_all(&mut bytes, Range::ALL, &options.limits, &mut Vec::new(), &mut feed);
    feed.judge(|judge| {
        judge.finish();
        judge.tally(amount, true);
    });
    if options.stop.is_set() {
        facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).interrupt(None);
    }
    result.err().map(|error| Unread { source, offset: Some(amount.bytes), error })
}

/// A feed that holds the facts only while it judges what came at once.
struct Shared<'a> {
    facts: &'a Mutex<Facts>,
    source: SourceId,
    watch: &'a mut dyn Observer,
    options: &'a Options,
    progress: &'a Progress,
    predictor: KeyPredictor,
    rest: Rest,
}

impl Shared<'_> {
    fn judge<R>(&mut self, judge: impl FnOnce(&mut Judge<'_>) -> R) -> R {
        let mut facts = self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (count, predictor) = (Count::default(), &mut self.predictor);
        let mut one = Judge::new(&mut facts, self.source, count, predictor, self.options, self.progress);
        one.watch = Some(&mut *self.watch);
        one.rest = std::mem::take(&mut self.rest);
        let done = judge(&mut one);
        self.rest = one.rest;
        done
    }
}

impl Sink for Shared<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        let lines = self.judge(|judge| judge.lines(offset, line, block));
        self.watch.batch_end();
        lines
    }

    fn piece(&mut self, offset: u64, line: u64, found: Piece<'_>) {
        self.judge(|judge| judge.piece(offset, line, found));
        self.watch.batch_end();
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
    rest: Rest,
    amount: Amount,
    options: Options,
    progress: Progress,
}

impl LineReader {
    /// No line yet.
    pub fn new(options: Options) -> Self {
        Self {
            facts: Facts::new(options.detail),
            predictor: KeyPredictor::default(),
            rest: Rest::default(),
            amount: Amount { first: 0, bytes: 0, lines: 0 },
            options,
            progress: Progress::default(),
        }
    }

    /// Takes one line, with or without its line end.
    pub fn push(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let Self { facts, predictor, rest, amount, options, progress } = self;
        let mut judge = Judge::new(facts, SourceId(0), Count::default(), predictor, options, progress);
        judge.rest = std::mem::take(rest);
        // An empty slice would be no line at all.
        let block = if line.is_empty() { b"\n" } else { line };
        amount.lines += judge.lines(amount.bytes, amount.lines, block);
        amount.bytes += line.len() as u64 + 1;
        *rest = judge.rest;
    }

    /// The facts of all lines so far, as if the input ended here.
    pub fn facts(&self) -> Facts {
        let (mut facts, mut predictor) = (self.facts.clone(), KeyPredictor::default());
        let count = Count::default();
        let mut judge =
            Judge::new(&mut facts, SourceId(0), count, &mut predictor, &self.options, &self.progress);
        judge.rest = self.rest.clone();
        judge.finish();
        judge.tally(self.amount, true);
        facts
    }
}
