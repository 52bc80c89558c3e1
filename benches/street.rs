//! The street, arrow by arrow and as a whole, beside the newline floor and the obvious path.
//!
//! Every iteration asserts the answer that the corpus knows, so a fast wrong way fails instead of winning.

use std::hint::black_box;
use std::io::{Read, Write};

use ccstat::{
    event::{
        self, Event,
        kernel::{self, Run},
    },
    facts::{Account, Facts},
    input::{Limits, Origin, Place, Source, SourceId},
    measure::Prices,
    render::{self, Format, Style},
    report::{self, Names},
    scan::{self, Options, Progress},
};
use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use serde::de::IgnoredAny;
use tempfile::NamedTempFile;

use corpus::{Answer, Corpus, Shape};
use told::Told;

mod corpus;
mod told;

const SEED: u64 = 1;
const SIZE: u64 = 16_000_000;

/// A corpus in memory and what must be found in it.
struct Log {
    id: String,
    text: String,
    answer: Answer,
}

impl Log {
    fn new(shape: Shape) -> Self {
        let mut bytes = Vec::new();
        let answer = Corpus::new(shape, SEED, SIZE).write(&mut bytes).expect("a Vec takes everything");
        Self::named(&shape.to_string(), String::from_utf8(bytes).expect("a corpus is text"), answer)
    }

    fn named(name: &str, text: String, answer: Answer) -> Self {
        let hash = siphasher::sip::SipHasher13::new().hash(text.as_bytes());
        Self { id: format!("{name}-{}-{hash:016x}", text.len()), text, answer }
    }

    /// All of these, one after another.
    fn joined(logs: &[Self]) -> Self {
        let sum = |of: fn(&Answer) -> u64| logs.iter().map(|log| of(&log.answer)).sum();
        let answer = Answer {
            lines: sum(|answer| answer.lines),
            records: sum(|answer| answer.records),
            calls: sum(|answer| answer.calls),
            ..Answer::default()
        };
        Self::named("all", logs.iter().map(|log| log.text.as_str()).collect(), answer)
    }

    fn all() -> [Self; 3] {
        [Shape::Transcript, Shape::Stream, Shape::Events].map(Self::new)
    }

    /// The lines in blocks of the size that the street reads.
    fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.text.as_bytes();
        std::iter::from_fn(move || {
            let from = Limits::default().block.min(rest.len());
            let end = memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |end| from + end + 1);
            let (block, after) = rest.split_at(end);
            rest = after;
            (!block.is_empty()).then_some(block)
        })
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        lines(self.text.as_bytes())
    }

    /// The core facts, by the obvious path, which the corpus agrees with as far as it knows them.
    fn told(&self) -> Told {
        let mut told = Told::default();
        self.lines().for_each(|line| told.event(&event::obvious(line).expect("a record")));
        assert_eq!((told.records, told.calls), self.counts());
        told
    }

    /// Records and calls.
    fn counts(&self) -> (u64, u64) {
        (self.answer.records, self.answer.calls)
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', text).map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

type Group<'c> = BenchmarkGroup<'c, WallTime>;

fn group<'c>(criterion: &'c mut Criterion, arrow: &str) -> Group<'c> {
    let mut group = criterion.benchmark_group(arrow);
    group.sample_size(20);
    group
}

/// One row that gives the same answer every time.
fn row<T: PartialEq + std::fmt::Debug>(
    group: &mut Group<'_>,
    way: &str,
    log: &Log,
    answer: &T,
    find: impl Fn(&Log) -> T,
) {
    group.throughput(Throughput::Bytes(log.text.len() as u64));
    group.bench_function(BenchmarkId::new(way, &log.id), |b| {
        b.iter(|| assert_eq!(find(black_box(log)), *answer));
    });
}

/// Bytes → lines.
fn bytes_to_lines(criterion: &mut Criterion) {
    let mut group = group(criterion, "lines");
    for log in &Log::all() {
        row(&mut group, "floor", log, &log.answer.lines, floor);
        row(&mut group, "floor and UTF-8", log, &log.answer.lines, |log| {
            let text = |block| simdutf8::basic::from_utf8(block).expect("a corpus is text");
            log.blocks().map(|block| newlines(text(block).as_bytes())).sum()
        });
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn floor(log: &Log) -> u64 {
    log.blocks().map(newlines).sum()
}

/// Lines → events, and the same core facts from all that keep anything. All ways check UTF-8 themselves, but for the one
/// that says so.
fn lines_to_events(criterion: &mut Criterion) {
    let mut group = group(criterion, "decode");
    let shapes = Log::all();
    for log in shapes.iter().chain([&Log::joined(&shapes)]) {
        let told = &log.told();
        row(&mut group, "floor", log, &log.answer.lines, floor);
        row(&mut group, "skim", log, told, |log| {
            let (mut predictor, mut told) = (event::KeyPredictor::default(), Told::default());
            for block in log.blocks() {
                let text = simdutf8::basic::from_utf8(block).expect("a corpus is text");
                skim(kernel::Best, text, &mut predictor, &mut told);
            }
            told
        });
        row(&mut group, "skim without UTF-8", log, told, |log| {
            let mut told = Told::default();
            skim(kernel::Best, &log.text, &mut event::KeyPredictor::default(), &mut told);
            told
        });
        row(&mut group, "simd-json tape", log, told, simd_json_tape);
        row(&mut group, "simd-json tape, new for each line", log, told, simd_json_new_tape);
        row(&mut group, "serde_json, nothing kept", log, &log.answer.records, |log| {
            log.lines().filter(|line| serde_json::from_slice::<IgnoredAny>(line).is_ok()).count() as u64
        });
        row(&mut group, "obvious", log, told, |log| {
            let mut told = Told::default();
            log.lines().for_each(|line| told.event(&event::obvious(line).expect("a record")));
            told
        });
    }
}

fn skim(kernel: impl Run, text: &str, predictor: &mut event::KeyPredictor, told: &mut Told) {
    let (mut skimmer, mut start) = (event::Skimmer::new(text, predictor), 0);
    while start < text.len() {
        let (event, end) = skimmer.read_with(kernel, start).expect("no line of a corpus is odd");
        told.event(event);
        start = end + 1;
    }
}

/// Lines → events, without UTF-8, with each kernel that this processor can run.
fn kernels(criterion: &mut Criterion) {
    fn with(kernel: impl Run) -> impl Fn(&Log) -> Told {
        move |log| {
            let mut told = Told::default();
            skim(kernel, &log.text, &mut event::KeyPredictor::default(), &mut told);
            told
        }
    }
    let mut group = group(criterion, "kernel");
    let shapes = Log::all();
    for log in shapes.iter().chain([&Log::joined(&shapes)]) {
        let told = &log.told();
        row(&mut group, "best", log, told, with(kernel::Best));
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = kernel::Avx2::detect() {
            row(&mut group, "AVX2", log, told, with(avx2));
        }
        #[cfg(target_arch = "x86_64")]
        row(&mut group, "SSE2", log, told, with(kernel::Sse2));
        row(&mut group, "portable", log, told, with(kernel::Portable));
    }
}

/// simd-json writes into its input, so each line is copied, once: straight into the padding it needs. Buffers and tape
/// are used again.
fn simd_json_tape(log: &Log) -> Told {
    let mut told = Told::default();
    let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
    let mut tape = simd_json::Tape::null();
    for line in log.lines() {
        copy.clear();
        copy.extend_from_slice(line);
        copy.resize(line.len() + simd_json::INPUT_PADDING, 0);
        let mut filled = tape.reset();
        simd_json::fill_tape_padded(&mut copy, line.len(), &mut buffers, &mut filled).expect("a record");
        told.value(&filled.as_value());
        tape = filled.reset();
    }
    told
}

/// The plainer call: buffers are used again, the tape is not, and the padding is simd-json's own business.
fn simd_json_new_tape(log: &Log) -> Told {
    let mut told = Told::default();
    let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
    for line in log.lines() {
        copy.clear();
        copy.extend_from_slice(line);
        let tape = simd_json::to_tape_with_buffers(&mut copy, &mut buffers).expect("a record");
        told.value(&tape.as_value());
    }
    told
}

/// Events → facts, and what becomes of them.
fn events_to_facts(criterion: &mut Criterion) {
    let mut group = group(criterion, "facts");
    let prices = Prices::built_in();
    for log in &Log::all() {
        let events = events(log);
        let (first, second) = events.split_at(events.len() / 2);
        let (all, first, second) = (absorb(&events), absorb(first), absorb(second));
        let Answer { records, calls, .. } = log.answer;
        row(&mut group, "floor", log, &log.answer.lines, floor);
        group.bench_function(BenchmarkId::new("absorb", &log.id), |b| {
            b.iter_with_large_drop(|| {
                let facts = absorb(black_box(&events));
                assert_eq!(facts.records(), records);
                facts
            });
        });
        group.bench_function(BenchmarkId::new("merge two halves", &log.id), |b| {
            let halves = || (first.clone(), second.clone());
            let merge = |(mut first, second): (Facts, Facts)| {
                first.merge(second);
                assert_eq!(first.records(), records);
                first
            };
            b.iter_batched(halves, merge, BatchSize::LargeInput);
        });
        group.bench_function(BenchmarkId::new("settle", &log.id), |b| {
            let settle = |facts: Facts| {
                let account = facts.settle(&prices);
                assert_eq!(account.tools.total.calls, calls);
                account
            };
            b.iter_batched(|| all.clone(), settle, BatchSize::LargeInput);
        });
    }
}

fn events(log: &Log) -> Vec<(Place, Event<'_>)> {
    let start = log.text.as_ptr() as usize;
    let place = |line: &[u8], number| {
        let offset = (line.as_ptr() as usize - start) as u64;
        Place { source: SourceId(0), offset, unit: 0, line: number }
    };
    let read = |(line, number)| (place(line, number), event::decode(line).expect("a record"));
    log.lines().zip(0..).map(read).collect()
}

fn absorb(events: &[(Place, Event<'_>)]) -> Facts {
    let mut facts = Facts::default();
    events.iter().for_each(|(place, event)| facts.absorb(*place, event));
    facts
}

/// Facts → report → text, and all of it from a file to JSON.
fn bytes_to_text(criterion: &mut Criterion) {
    let mut group = group(criterion, "street");
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    for log in &Log::all() {
        let mut file = NamedTempFile::with_suffix(".jsonl").expect("a temporary file");
        file.write_all(log.text.as_bytes()).expect("room for a corpus");
        let source = Source { origin: Origin::File(file.path().to_owned()), unverified: false };
        row(&mut group, "floor", log, &log.answer.lines, |_| read(&file, newlines));
        row(&mut group, "obvious", log, &log.counts(), |_| obvious_street(&file));
        for threads in [1, all] {
            row(&mut group, &format!("file to JSON, threads {threads}"), log, &log.counts(), |_| {
                let options = Options { threads, ..Options::default() };
                let scan = scan::scan(std::slice::from_ref(&source), &options, &Progress::default());
                tell(&scan.facts.settle(&Prices::built_in()))
            });
        }
        let account = absorb(&events(log)).settle(&Prices::built_in());
        row(&mut group, "render JSON", log, &log.counts(), |_| tell(&account));
    }
}

/// Renders an account, and gives what it says.
fn tell(account: &Account) -> (u64, u64) {
    let mut out = Vec::new();
    let report = report::summary(account, Names(&["log.jsonl".to_owned()]));
    render::render(&report, Format::Json, Style::default(), &mut out).expect("a Vec takes everything");
    assert!(black_box(out).ends_with(b"}\n"));
    (account.input.records, account.tools.total.calls)
}

/// Reads a file the way the street does, and adds up what its blocks give. Blocks are cut anywhere.
fn read(file: &NamedTempFile, mut take: impl FnMut(&[u8]) -> u64) -> u64 {
    const LINE: usize = 64; // of a cache, see `examples/floor.rs`
    let mut file = file.reopen().expect("the file is still there");
    let mut memory = vec![0; Limits::default().block + LINE];
    let start = memory.as_ptr().align_offset(LINE);
    let block = &mut memory[start..start + Limits::default().block];
    let mut sum = 0;
    loop {
        match file.read(block).expect("the file is readable") {
            0 => return sum,
            length => sum += take(&block[..length]),
        }
    }
}

/// The same street, one thread, every line by serde_json.
fn obvious_street(file: &NamedTempFile) -> (u64, u64) {
    let (mut facts, mut rest, mut number) = (Facts::default(), Vec::new(), 0);
    read(file, |block| {
        rest.extend_from_slice(block);
        let end = memchr::memrchr(b'\n', &rest).map_or(0, |end| end + 1);
        for line in lines(&rest[..end]) {
            let place = Place { source: SourceId(0), offset: number, unit: 0, line: number };
            facts.absorb(place, &event::obvious(line).expect("a record"));
            number += 1;
        }
        rest.drain(..end);
        end as u64
    });
    tell(&facts.settle(&Prices::built_in()))
}

criterion_group!(street, bytes_to_lines, lines_to_events, kernels, events_to_facts, bytes_to_text);
criterion_main!(street);
