//! The conductor: input → event → facts, on as many threads as there is work for.

pub mod follow;
mod judge;
mod locate;
mod stream;

use std::{
    io::{self, Read},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

pub use locate::{Chosen, Locator, Target};
pub use stream::{LineReader, Observer, scan_observed, scan_stream};

use crate::{
    event::{self, KeyPredictor},
    facts::{Detail, Facts},
    input::{self, Bytes, Limits, Origin, Range, Shape, Source, SourceId, Stop},
};
use judge::Judge;

/// Below this many bytes no thread is started: a pool costs a millisecond.
const WORTH_A_POOL: u64 = 1 << 20;

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads; 0 for as many as there are processors, 1 for none but the caller's.
    pub threads: usize,
    /// What is read, kept and cut at once.
    pub limits: Limits,
    /// A wish to stop early.
    pub stop: Stop,
    /// How much is kept of what is read.
    pub detail: Detail,
}

/// How far reading is. Anyone may look at it meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read, after decompression.
    pub done: AtomicU64,
    /// Bytes in all; 0 if that is not known.
    pub total: AtomicU64,
}

/// What came of reading.
#[derive(Debug, Default)]
pub struct Scan {
    /// What was learnt.
    pub facts: Facts,
    /// Sources that could not be opened, or not read to their end.
    pub unread: Vec<Unread>,
}

/// A source that could not be read to its end.
#[derive(Debug)]
pub struct Unread {
    /// Which.
    pub source: SourceId,
    /// How far it was read; `None` if it could not be opened.
    pub offset: Option<u64>,
    /// Why.
    pub error: io::Error,
}

impl Unread {
    /// What could not be read and why, in one sentence.
    pub fn describe(&self, name: &str) -> String {
        match self.offset {
            None => format!("cannot read `{name}`: {}", self.error),
            Some(offset) => format!(
                "cannot read `{name}` to its end: {} after {offset} bytes; what came before is counted",
                self.error
            ),
        }
    }
}

/// Reads all sources.
pub fn scan(sources: &[Source], options: &Options, progress: &Progress) -> Scan {
    carry_out(Plan::of(sources, options), sources, options, progress)
}

/// Reads all units of a plan.
fn carry_out(mut plan: Plan, sources: &[Source], options: &Options, progress: &Progress) -> Scan {
    progress.total.store(plan.total.unwrap_or(0), Ordering::Relaxed);
    plan.units.sort_by_key(|unit| std::cmp::Reverse(unit.size));
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let threads = if plan.size < WORTH_A_POOL { 1 } else { threads.min(plan.units.len()) };
    let next = AtomicUsize::new(0);
    let work = || worker(sources, &plan.units, &next, options, progress);
    let mut all = if threads > 1 { in_pool(threads, &work) } else { work() };
    if all.facts.is_interrupted() {
        let total = progress.total.load(Ordering::Relaxed);
        all.facts.interrupt((total > 0).then_some(total));
    }
    all.unread.extend(plan.unread);
    // Where a file is gone, each of its units finds that out.
    all.unread.sort_by_key(|unread| (unread.source, unread.offset));
    all.unread.dedup_by_key(|unread| unread.source);
    all
}

/// Lets several workers do the work, and puts together what they learnt. Without a pool the caller does it all.
fn in_pool(threads: usize, work: &(impl Fn() -> Scan + Sync)) -> Scan {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return work() };
    let parts = pool.broadcast(|_| work());
    pool.install(|| {
        parts.into_iter().fold(Scan::default(), |mut all, part| {
            all.add(part);
            all
        })
    })
}

/// What one worker reads at a time.
#[derive(Clone, Copy, Debug)]
struct Unit {
    source: SourceId,
    range: Range,
    size: u64,
    count: Count,
    /// Whether its source was seen to be a file.
    is_file: bool,
}

/// Where lines are counted from: a unit that goes on with an earlier one counts on.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Offset where counting began.
    since: u64,
    /// Lines counted already.
    lines: u64,
}

/// All units, largest first when they are read.
#[derive(Debug, Default)]
struct Plan {
    units: Vec<Unit>,
    unread: Vec<Unread>,
    /// Bytes to read, as far as they are known.
    size: u64,
    /// The same, if all are known.
    total: Option<u64>,
}

impl Plan {
    fn of(sources: &[Source], options: &Options) -> Self {
        let mut plan = Self { total: Some(0), ..Self::default() };
        for (source, id) in sources.iter().zip(0..) {
            plan.add(source, SourceId(id), options);
        }
        plan
    }

    fn add(&mut self, source: &Source, id: SourceId, options: &Options) {
        let stored = match &source.origin {
            Origin::Stdin => None,
            Origin::File(path) => {
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|about| about.len())
            }
        };
        self.total = self.total.zip(stored).map(|(total, stored)| total + stored);
        self.size += stored.unwrap_or(0);
        let is_file = stored.is_some();
        let whole = Unit { is_file, ..Unit::whole(id, stored.unwrap_or(u64::MAX)) };
        let Some(length) = stored.filter(|&stored| stored > options.limits.unit) else {
            return self.units.push(whole);
        };
        match Bytes::open(&source.origin, &options.stop) {
            Ok(Bytes::File(mut file)) => {
                let shape = input::shape_of(&mut file, &options.limits).unwrap_or(Shape::Document);
                match shape {
                    Shape::Lines => self.cut(id, length, None, options.limits.unit),
                    Shape::Document => self.units.push(whole),
                }
            }
            Ok(_) => {
                self.total = None; // packed: how much comes out is not known
                self.units.push(whole);
            }
            Err(error) => self.unread.push(Unread { source: id, offset: None, error }),
        }
    }

    /// Cuts a file of lines. The last unit goes on to this end, or to whatever it is by then.
    fn cut(&mut self, source: SourceId, length: u64, last: Option<u64>, unit: u64) {
        let mut start = 0;
        while start < length {
            let next = start + unit.max(1);
            let end = if next < length { Some(next) } else { last };
            let range = Range { start, end, shape: Some(Shape::Lines) };
            let count = Count { since: start, lines: 0 };
            self.units.push(Unit { source, range, size: unit, count, is_file: true });
            start = next;
        }
    }
}

impl Unit {
    /// A source that is read by one worker.
    fn whole(source: SourceId, size: u64) -> Self {
        Self { source, range: Range::ALL, size, count: Count::default(), is_file: false }
    }
}

/// Of so many records a worker reads units by themselves and then puts them together, since the tables have left the caches:
/// what is put in by the thousand waits for memory together. Ten million calls take three quarters of the time.
const LARGE: u64 = 1 << 20;

fn worker(
    sources: &[Source],
    units: &[Unit],
    next: &AtomicUsize,
    options: &Options,
    progress: &Progress,
) -> Scan {
    let mut done = Scan { facts: Facts::new(options.detail), unread: Vec::new() };
    let mut desk = Desk::default();
    while let Some(&unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
        if options.stop.is_set() {
            done.facts.interrupt(None);
            break;
        }
        if done.facts.records() < LARGE {
            done.take(unit, sources, options, progress, &mut desk);
        } else {
            let mut part = Scan { facts: Facts::new(options.detail), unread: Vec::new() };
            part.take(unit, sources, options, progress, &mut desk);
            done.add(part);
        }
    }
    done
}

impl Scan {
    /// Takes in what another worker, or this one by itself, has learnt.
    fn add(&mut self, part: Self) {
        self.facts.merge(part.facts);
        self.unread.extend(part.unread);
    }

    /// Reads one more unit.
    fn take(
        &mut self,
        unit: Unit,
        sources: &[Source],
        options: &Options,
        progress: &Progress,
        desk: &mut Desk,
    ) {
        let source = &sources[unit.source.0 as usize];
        let opened = match &source.origin {
            Origin::File(path) if unit.is_file => if_log(source, options, || Bytes::file(path)),
            _ => open(source, options),
        };
        match opened {
            Ok(Some(mut bytes)) => {
                if matches!(bytes, Bytes::Stream(_)) {
                    progress.total.store(0, Ordering::Relaxed); // packed: how much comes out is not known
                }
                read(&mut bytes, unit, options, progress, desk, self);
            }
            Ok(None) => {}
            Err(error) => {
                // It could be opened when the plan was made, and what stands before this unit is read by others.
                let offset = (unit.range.start > 0).then_some(unit.range.start);
                self.unread.push(Unread { source: unit.source, offset, error });
            }
        }
    }
}

/// Opens a source, unless it was only found and turns out to be no log.
pub fn open(source: &Source, options: &Options) -> io::Result<Option<Bytes>> {
    if_log(source, options, || Bytes::open(&source.origin, &options.stop))
}

/// The bytes of a source, unless it was only found and does not begin with a record.
fn if_log(
    source: &Source,
    options: &Options,
    open: impl Fn() -> io::Result<Bytes>,
) -> io::Result<Option<Bytes>> {
    if source.unverified && !begins_with_record(open()?, &options.limits)? {
        return Ok(None);
    }
    open().map(Some)
}

fn begins_with_record(bytes: Bytes, limits: &Limits) -> io::Result<bool> {
    let mut reader: Box<dyn Read> = match bytes {
        Bytes::File(file) => Box::new(file),
        Bytes::Stream(stream) => stream,
    };
    let mut head = Vec::new();
    let mut wanted = limits.block.max(1); // nothing would stay nothing, however often it is doubled
    loop {
        let more = (wanted - head.len()) as u64;
        let read = reader.by_ref().take(more).read_to_end(&mut head)?;
        if let Some(value) = input::first_value(&head) {
            return Ok(event::decode(value).is_ok());
        }
        if (read as u64) < more || wanted > limits.max_record {
            return Ok(false);
        }
        wanted *= 2;
    }
}

/// What is used again from unit to unit.
#[derive(Debug, Default)]
struct Desk {
    buffer: Vec<u8>,
    predictor: KeyPredictor,
}

fn read(
    bytes: &mut Bytes,
    unit: Unit,
    options: &Options,
    progress: &Progress,
    desk: &mut Desk,
    done: &mut Scan,
) {
    let source = unit.source;
    let start = unit.range.start == 0;
    let Desk { buffer, predictor } = desk;
    let mut judge = Judge::new(&mut done.facts, source, unit.count, predictor, options, progress);
    let (amount, result) = input::read_all(bytes, unit.range, &options.limits, buffer, &mut judge);
    judge.finish();
    judge.tally(amount, start);
    if options.stop.is_set() {
        done.facts.interrupt(None);
    }
    if let Err(error) = result {
        done.unread.push(Unread { source, offset: Some(unit.range.start + amount.bytes), error });
    }
}
