//! Reads sources into facts, on several threads: input → event → facts.

mod decoder;
pub mod follow;
mod lean;
mod locate;
#[cfg(feature = "cli")]
mod reach;
mod stream;

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

pub use locate::{Chosen, Locator, Target};
#[cfg(feature = "cli")]
pub(crate) use reach::earliest;
pub use stream::{LineReader, Observer, scan_observed, scan_stream};

use crate::{
    event::{self, KeyPredictor, Query},
    facts::{Detail, Facts, Name},
    input::{self, Bytes, Limits, Origin, Range, Shape, Source, SourceId, Stop},
};
use decoder::UnitDecoder;

/// Minimum input in bytes for which threads are started: starting a pool takes a millisecond.
const MIN_POOL_BYTES: u64 = 1 << 20;

/// Options of a scan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Number of threads: 0 for one per processor, 1 for the caller's thread alone.
    pub threads: usize,
    /// Sizes of records, blocks and units.
    pub limits: Limits,
    /// A request to stop early.
    pub stop: Stop,
    /// The rows to keep in addition to totals.
    pub detail: Detail,
    /// The texts to find, if the detail has [`Detail::FOUND`].
    pub search: Option<Arc<Query>>,
    /// The offset from which only costs count. Records without cost, which are most of the bytes of a log, are then skipped without
    /// decoding them, and counts of records and calls mean nothing. The beginning of a log says when its session started, which
    /// decides who pays for a response that several sessions contain. A record that lost the line feed before it is skipped with
    /// the one that it follows.
    pub only_costs_from: Option<u64>,
}

impl Options {
    /// Empty facts that keep what is asked for.
    fn facts(&self) -> Facts {
        Facts::new(self.detail).searching(self.search.clone())
    }
}

/// Progress of a scan. Other threads may read it at any time.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read, after decompression.
    pub done: AtomicU64,
    /// Total bytes; 0 if unknown.
    pub total: AtomicU64,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    /// The facts of everything that was read.
    pub facts: Facts,
    /// Sources that could not be opened, or not read to their end.
    pub unread: Vec<Unread>,
}

/// A source that could not be read to its end.
#[derive(Debug)]
pub struct Unread {
    /// Index of the source.
    pub source: SourceId,
    /// Offset up to which it was read; `None` if it could not be opened.
    pub offset: Option<u64>,
    /// The reason.
    pub error: io::Error,
}

impl Unread {
    /// A sentence for people that names the source and the reason.
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

/// The machines of archived sources.
pub fn machines(sources: &[Source]) -> impl Fn(SourceId) -> Option<Name> {
    |id| sources.get(id.0 as usize)?.machine.as_deref().map(Name::from)
}

/// Reads all sources.
pub fn scan(sources: &[Source], options: &Options, progress: &Progress) -> Scan {
    run(Plan::of(sources, options), sources, options, progress)
}

/// Reads all units of a plan.
fn run(mut plan: Plan, sources: &[Source], options: &Options, progress: &Progress) -> Scan {
    progress.total.store(plan.total.unwrap_or(0), Ordering::Relaxed);
    plan.units.sort_by_key(|unit| std::cmp::Reverse(unit.size));
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let threads = if plan.size < MIN_POOL_BYTES { 1 } else { threads.min(plan.units.len()) };
    let next = AtomicUsize::new(0);
    let work = || worker(sources, &plan.units, &next, options, progress);
    let mut all = match threads {
        0 | 1 => work(),
        _ if options.only_costs_from.is_some() => run_in_threads(threads, &work),
        _ => run_in_pool(threads, &work),
    };
    if all.facts.is_interrupted() {
        let total = progress.total.load(Ordering::Relaxed);
        all.facts.interrupt((total > 0).then_some(total));
    }
    all.unread.extend(plan.unread);
    // If a file was removed, each of its units reports that.
    all.unread.sort_by_key(|unread| (unread.source, unread.offset));
    all.unread.dedup_by_key(|unread| unread.source);
    all
}

/// Runs the work on several threads and merges the results, for few rows: a pool, which merges many rows faster, takes longer to
/// start.
fn run_in_threads(threads: usize, work: &(impl Fn() -> Scan + Sync)) -> Scan {
    std::thread::scope(|scope| {
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut all = work();
        others.into_iter().filter_map(|other| other.join().ok()).for_each(|part| all.merge(part));
        all
    })
}

/// Runs the work on several threads and merges the results. Without a pool, the caller's thread does
/// everything.
fn run_in_pool(threads: usize, work: &(impl Fn() -> Scan + Sync)) -> Scan {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return work() };
    let parts = pool.broadcast(|_| work());
    pool.install(|| {
        parts.into_iter().fold(Scan::default(), |mut all, part| {
            all.merge(part);
            all
        })
    })
}

/// A part of a source that one worker reads.
#[derive(Clone, Copy, Debug)]
struct Unit {
    source: SourceId,
    range: Range,
    size: u64,
    line_base: LineBase,
    /// Whether the source was a regular file when the plan was made.
    is_file: bool,
}

/// The offset from which lines are counted. A unit that continues an earlier one continues its count.
#[derive(Clone, Copy, Debug, Default)]
struct LineBase {
    offset: u64,
    /// Lines between the offset and the start of the unit.
    lines: u64,
}

/// The units to read. They are read largest first.
#[derive(Debug, Default)]
struct Plan {
    units: Vec<Unit>,
    unread: Vec<Unread>,
    /// Bytes to read, without sources of unknown size.
    size: u64,
    /// Bytes to read, if the sizes of all sources are known.
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
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
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
                    Shape::Lines => self.split(id, length, None, options.limits.unit),
                    Shape::Document => self.units.push(whole),
                }
            }
            Ok(_) => {
                self.total = None; // compressed: the size of the content is unknown
                self.units.push(whole);
            }
            Err(error) => self.unread.push(Unread { source: id, offset: None, error }),
        }
    }

    /// Splits a file of lines into units. The last unit ends at `last`, or at the end of the file when it is
    /// read.
    fn split(&mut self, source: SourceId, length: u64, last: Option<u64>, unit: u64) {
        let mut start = 0;
        while start < length {
            let next = start + unit.max(1);
            let end = if next < length { Some(next) } else { last };
            let range = Range { start, end, shape: Some(Shape::Lines) };
            let line_base = LineBase { offset: start, lines: 0 };
            self.units.push(Unit { source, range, size: unit, line_base, is_file: true });
            start = next;
        }
    }
}

impl Unit {
    /// A whole source.
    fn whole(source: SourceId, size: u64) -> Self {
        Self { source, range: Range::ALL, size, line_base: LineBase::default(), is_file: false }
    }
}

/// From this many records on, a worker reads each unit into facts of its own and merges them. The tables no
/// longer fit into the caches then, and a merge of thousands of rows overlaps its memory accesses. It takes
/// three quarters of the time for ten million calls.
const MERGE_THRESHOLD: u64 = 1 << 20;

fn worker(
    sources: &[Source],
    units: &[Unit],
    next: &AtomicUsize,
    options: &Options,
    progress: &Progress,
) -> Scan {
    let mut done = Scan { facts: options.facts(), unread: Vec::new() };
    let mut scratch = Scratch::default();
    while let Some(&unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
        if options.stop.is_set() {
            done.facts.interrupt(None);
            break;
        }
        if done.facts.records() < MERGE_THRESHOLD {
            done.read_unit(unit, sources, options, progress, &mut scratch);
        } else {
            let mut part = Scan { facts: options.facts(), unread: Vec::new() };
            part.read_unit(unit, sources, options, progress, &mut scratch);
            done.merge(part);
        }
    }
    done
}

impl Scan {
    fn merge(&mut self, part: Self) {
        self.facts.merge(part.facts);
        self.unread.extend(part.unread);
    }

    /// Reads one unit into the result.
    fn read_unit(
        &mut self,
        unit: Unit,
        sources: &[Source],
        options: &Options,
        progress: &Progress,
        scratch: &mut Scratch,
    ) {
        let source = &sources[unit.source.0 as usize];
        let opened = match &source.origin {
            Origin::File(path) if unit.is_file => open_if_log(source, options, || Bytes::file(path)),
            _ => open(source, options),
        };
        match opened {
            Ok(Some(mut bytes)) => {
                if !matches!(bytes, Bytes::File(_)) {
                    // Compressed: the size of the content is unknown.
                    progress.total.store(0, Ordering::Relaxed);
                }
                read(&mut bytes, unit, options, progress, scratch, self);
            }
            Ok(None) => {}
            Err(error) => {
                // The file could be opened when the plan was made, and other workers read the bytes before
                // this unit.
                let offset = (unit.range.start > 0).then_some(unit.range.start);
                self.unread.push(Unread { source: unit.source, offset, error });
            }
        }
    }
}

/// Opens a source. `None` if it is unverified and turns out not to be a log.
pub fn open(source: &Source, options: &Options) -> io::Result<Option<Bytes>> {
    open_if_log(source, options, || Bytes::open(&source.origin, &options.stop))
}

/// Opens a source with `open`. `None` if it is unverified and does not begin with a record.
fn open_if_log(
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
        Bytes::Lean(_) => return Ok(true),
    };
    let mut head = Vec::new();
    let mut wanted = limits.block.max(1); // doubling 0 would give 0
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

/// Memory that a worker reuses for every unit.
#[derive(Debug, Default)]
struct Scratch {
    buffer: Vec<u8>,
    predictor: KeyPredictor,
}

fn read(
    bytes: &mut Bytes,
    unit: Unit,
    options: &Options,
    progress: &Progress,
    scratch: &mut Scratch,
    done: &mut Scan,
) {
    let source = unit.source;
    let start = unit.range.start == 0;
    let Scratch { buffer, predictor } = scratch;
    let mut decoder = UnitDecoder::new(&mut done.facts, source, unit.line_base, predictor, options, progress);
    let (amount, result) = input::read_all(bytes, unit.range, &options.limits, buffer, &mut decoder);
    decoder.finish(amount, start);
    if options.stop.is_set() {
        done.facts.interrupt(None);
    }
    if let Err(error) = result {
        done.unread.push(Unread { source, offset: Some(unit.range.start + amount.bytes), error });
    }
}
