//! The conductor: input → event → facts, on as many threads as there is work for.

pub mod follow;

use std::{
    io::{self, Read},
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use crate::{
    event::{self, Event, Flaw, Skimmer},
    facts::{Counts, Detail, Facts},
    input::{
        self, Amount, Bytes, Cutter, Feed, Found, Limits, Opened, Origin, Place, Range, Shape, Source,
        SourceId, Stop,
    },
};

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
    /// Bytes in all, where every source says so.
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
    all.unread.extend(plan.unread);
    all.unread.sort_by_key(|unread| unread.source);
    all
}

/// Lets several workers do the work, and puts together what they learnt. Without a pool the caller does it all.
fn in_pool(threads: usize, work: &(impl Fn() -> Scan + Sync)) -> Scan {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return work() };
    let parts = pool.broadcast(|_| work());
    pool.install(|| {
        parts.into_iter().fold(Scan::default(), |mut all, part| {
            all.facts.merge(part.facts);
            all.unread.extend(part.unread);
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
}

/// Where lines are counted from: a unit that goes on with an earlier one counts on.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Offset where counting began.
    since: u64,
    /// Lines counted already.
    lines: u64,
}

/// Looks at each record of a stream as it comes, beside the facts.
pub trait Watch {
    /// A record, and its text.
    fn record(&mut self, event: &Event<'_>, text: &[u8]);
    /// Nothing more of what came at once.
    fn pause(&mut self);
}

/// Reads one stream as it comes. The facts are shared: whoever holds the lock sees those of all that came so far.
pub fn scan_stream(
    stream: Box<dyn Read + Send>,
    options: &Options,
    facts: &Mutex<Facts>,
    watch: &mut dyn Watch,
) -> Option<Unread> {
    let source = SourceId(0);
    match Opened::stream(stream) {
        Ok(opened) => watched(source, opened.bytes, options, facts, watch),
        Err(error) => Some(Unread { source, offset: None, error }),
    }
}

/// Reads sources one after another, front to back, while someone looks on.
pub fn scan_watched(sources: &[Source], options: &Options, watch: &mut dyn Watch) -> Scan {
    let facts = Mutex::new(Facts::new(options.detail));
    let mut unread = Vec::new();
    for (source, id) in sources.iter().zip(0..).take_while(|_| !options.stop.is_set()) {
        unread.extend(match open(source, options) {
            Ok(Some(bytes)) => watched(SourceId(id), bytes, options, &facts, watch),
            Ok(None) => None,
            Err(error) => Some(Unread { source: SourceId(id), offset: None, error }),
        });
    }
    Scan { facts: facts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner), unread }
}

fn watched(
    source: SourceId,
    mut bytes: Bytes,
    options: &Options,
    facts: &Mutex<Facts>,
    watch: &mut dyn Watch,
) -> Option<Unread> {
    let progress = Progress::default();
    let mut feed = Shared { facts, source, watch, options, progress: &progress, rest: Rest::default() };
    let (amount, result) =
        input::read_all(&mut bytes, Range::ALL, &options.limits, &mut Vec::new(), &mut feed);
    feed.judge(|judge| {
        judge.finish();
        judge.tally(amount, true);
    });
    result.err().map(|error| Unread { source, offset: Some(amount.bytes), error })
}

/// A feed that holds the facts only while it judges what came at once.
struct Shared<'a> {
    facts: &'a Mutex<Facts>,
    source: SourceId,
    watch: &'a mut dyn Watch,
    options: &'a Options,
    progress: &'a Progress,
    rest: Rest,
}

impl Shared<'_> {
    fn judge<R>(&mut self, judge: impl FnOnce(&mut Judge<'_>) -> R) -> R {
        let mut facts = self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut one = Judge {
            watch: Some(&mut *self.watch),
            rest: std::mem::take(&mut self.rest),
            ..Judge::new(&mut facts, self.source, Count::default(), self.options, self.progress)
        };
        let done = judge(&mut one);
        self.rest = one.rest;
        done
    }
}

impl Feed for Shared<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        let lines = self.judge(|judge| judge.lines(offset, line, block));
        self.watch.pause();
        lines
    }

    fn found(&mut self, offset: u64, line: u64, found: Found<'_>) {
        self.judge(|judge| judge.found(offset, line, found));
        self.watch.pause();
    }

    fn stopped(&self) -> bool {
        self.options.stop.is_set()
    }
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
        let whole = Unit::whole(id, stored.unwrap_or(u64::MAX));
        if stored.is_none_or(|stored| stored <= options.limits.unit) {
            return self.units.push(whole);
        }
        match Opened::open(&source.origin, &options.stop) {
            Ok(Opened { bytes: Bytes::File(mut file, length), .. }) => {
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
            self.units.push(Unit { source, range, size: unit, count: Count { since: start, lines: 0 } });
            start = next;
        }
    }
}

impl Unit {
    /// A source that is read by one worker.
    fn whole(source: SourceId, size: u64) -> Self {
        Self { source, range: Range::ALL, size, count: Count::default() }
    }
}

fn worker(
    sources: &[Source],
    units: &[Unit],
    next: &AtomicUsize,
    options: &Options,
    progress: &Progress,
) -> Scan {
    let mut done = Scan { facts: Facts::new(options.detail), unread: Vec::new() };
    let mut buffer = Vec::new();
    while let Some(&unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
        if options.stop.is_set() {
            break;
        }
        done.take(unit, sources, options, progress, &mut buffer);
    }
    done
}

impl Scan {
    /// Reads one more unit.
    fn take(
        &mut self,
        unit: Unit,
        sources: &[Source],
        options: &Options,
        progress: &Progress,
        buffer: &mut Vec<u8>,
    ) {
        match open(&sources[unit.source.0 as usize], options) {
            Ok(Some(mut bytes)) => read(&mut bytes, unit, options, progress, buffer, self),
            Ok(None) => {}
            Err(error) => self.unread.push(Unread { source: unit.source, offset: None, error }),
        }
    }
}

/// Opens a source, unless it was only found and turns out to be no log.
fn open(source: &Source, options: &Options) -> io::Result<Option<Bytes>> {
    if source.doubtful
        && !begins_with_record(Opened::open(&source.origin, &options.stop)?.bytes, &options.limits)?
    {
        return Ok(None);
    }
    Opened::open(&source.origin, &options.stop).map(|opened| Some(opened.bytes))
}

fn begins_with_record(bytes: Bytes, limits: &Limits) -> io::Result<bool> {
    let mut reader: Box<dyn Read> = match bytes {
        Bytes::File(file, _) => Box::new(file),
        Bytes::Stream(stream) => stream,
    };
    let mut head = Vec::new();
    let mut wanted = limits.block;
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

fn read(
    bytes: &mut Bytes,
    unit: Unit,
    options: &Options,
    progress: &Progress,
    buffer: &mut Vec<u8>,
    done: &mut Scan,
) {
    let source = unit.source;
    let start = unit.range.start == 0;
    let mut judge = Judge::new(&mut done.facts, source, unit.count, options, progress);
    let (amount, result) = input::read_all(bytes, unit.range, &options.limits, buffer, &mut judge);
    judge.finish();
    judge.tally(amount, start);
    if let Err(error) = result {
        done.unread.push(Unread { source, offset: Some(unit.range.start + amount.bytes), error });
    }
}

/// Judges the lines of one unit.
struct Judge<'a> {
    facts: &'a mut Facts,
    source: SourceId,
    count: Count,
    max_record: usize,
    rest: Rest,
    stop: &'a Stop,
    progress: &'a Progress,
    watch: Option<&'a mut dyn Watch>,
}

/// What a unit leaves for its end.
#[derive(Debug, Default)]
struct Rest {
    blank: u64,
    /// The last line so far that is not blank, and why it is unfinished if it is.
    tail: Option<(Place, Option<String>)>,
}

impl<'a> Judge<'a> {
    fn new(
        facts: &'a mut Facts,
        source: SourceId,
        count: Count,
        options: &'a Options,
        progress: &'a Progress,
    ) -> Self {
        let Options { limits, stop, .. } = options;
        let (max_record, rest) = (limits.max_record, Rest::default());
        Self { facts, source, count, max_record, rest, stop, progress, watch: None }
    }

    /// Takes in a record; its text is for whoever looks on.
    #[inline]
    fn absorb(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        self.facts.absorb(place, event);
        if let Some(watch) = &mut self.watch {
            watch.record(event, text);
        }
    }

    fn place(&self, offset: u64, line: u64) -> Place {
        Place { source: self.source, offset, unit: self.count.since, line }
    }

    /// A line that is not blank, or a thing that was cut out: what was unfinished before it was not the last.
    fn follow(&mut self, place: Place) {
        if let Some((place, Some(reason))) = self.rest.tail.replace((place, None)) {
            self.facts.invalid(place, reason);
        }
    }

    /// Takes in a line that is simply one record; the end of that line.
    #[inline]
    fn skim(
        &mut self,
        skimmer: &mut Skimmer<'_>,
        block: &[u8],
        from: usize,
        offset: u64,
        line: u64,
    ) -> Option<usize> {
        let event = skimmer.read(from);
        let event = event.as_ref()?; // an event is large: it stays where it was made
        if skimmer.end() - from > self.max_record {
            return None;
        }
        let place = self.place(offset, line);
        self.follow(place);
        let end = skimmer.end();
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
        let mut cutter = Cutter::line(place.offset, place.line, self.max_record);
        let mut tell = |offset: u64, line, found: Found<'_>| match found {
            Found::Broken => {
                let at = usize::try_from(offset - place.offset).unwrap_or(bytes.len());
                self.facts.invalid(self.place(offset, line), reason(&bytes[at..]));
            }
            other => self.piece(offset, line, other),
        };
        cutter.feed(bytes, &mut tell);
        cutter.end(&mut tell);
    }

    /// A piece of something that is not simply one object per line.
    fn piece(&mut self, offset: u64, line: u64, found: Found<'_>) {
        let place = self.place(offset, line);
        if found != Found::Blank {
            self.follow(place);
        }
        match found {
            Found::Value(bytes) => self.value(place, bytes),
            Found::Noise => self.facts.invalid(place, "expected a JSON object".to_owned()),
            Found::Broken => self.facts.invalid(place, "broken JSON".to_owned()),
            Found::Unfinished => self.rest.tail = Some((place, Some("unfinished object".to_owned()))),
            Found::TooLarge => self.facts.invalid(place, "larger than --max-record".to_owned()),
            Found::Blank => self.rest.blank += 1,
        }
    }

    fn value(&mut self, place: Place, bytes: &[u8]) {
        match event::decode(bytes) {
            Ok(event) => self.absorb(place, &event, bytes),
            Err(flaw) => self.facts.invalid(place, flaw.to_string()),
        }
    }

    /// Notes what there was in all.
    fn tally(&mut self, amount: Amount, is_start: bool) {
        let Amount { bytes, lines } = amount;
        self.facts.unit(self.source, self.count.since, lines);
        let (sources, blank) = (u64::from(is_start), self.rest.blank);
        self.facts.count(Counts { sources, bytes, lines, blank, records: 0 });
    }

    fn finish(&mut self) {
        if let Some((place, unfinished)) = self.rest.tail.take() {
            self.facts.tail(place, unfinished);
        }
    }
}

/// What is wrong with a broken object, in the words of the parser.
fn reason(bytes: &[u8]) -> String {
    match event::decode(bytes) {
        Err(Flaw::NotJson(what, byte)) => format!("broken JSON: {what} at byte {byte} of the record"),
        Err(flaw) => flaw.to_string(),
        Ok(_) => "broken JSON".to_owned(),
    }
}

impl Feed for Judge<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        // UTF-8 is checked for all lines at once, and line by line only where that fails.
        let mut skimmer = simdutf8::basic::from_utf8(block).ok().map(Skimmer::new);
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
        self.progress.done.fetch_add(block.len() as u64, Ordering::Relaxed);
        count
    }

    fn found(&mut self, offset: u64, line: u64, found: Found<'_>) {
        self.piece(offset, self.count.lines + line, found);
    }

    fn stopped(&self) -> bool {
        self.stop.is_set()
    }
}
