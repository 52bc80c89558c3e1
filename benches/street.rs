//! Benchmarks of each stage from bytes to reports and of all stages together, next to two baselines: counting
//! newlines ("floor") and the obvious decoder.
//!
//! Every iteration asserts the expected answer of the corpus, so a fast but wrong implementation fails.

use std::hint::black_box;
use std::io::{Read, Write};

use ccstat::internal::{
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
use totals::Totals;

mod corpus;
mod totals;

const SEED: u64 = 1;
const SIZE: u64 = 16_000_000;

/// A corpus in memory and its expected answer.
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

    /// Concatenates several logs.
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

    /// Iterates over blocks of whole lines, of the size that `scan` reads.
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

    /// Computes the totals with the obvious decoder, and checks them against the answer of the corpus.
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.lines().for_each(|line| totals.event(&event::obvious(line).expect("a record")));
        assert_eq!((totals.records, totals.calls), self.counts());
        totals
    }

    /// Returns the number of records and of calls.
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

/// Adds a benchmark that asserts `answer` in every iteration.
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

/// Lines → events. Every decoder that keeps anything computes the same totals. All validate UTF-8, except the
/// one whose name says otherwise.
fn lines_to_events(criterion: &mut Criterion) {
    let mut group = group(criterion, "decode");
    let shapes = Log::all();
    for log in shapes.iter().chain([&Log::joined(&shapes)]) {
        let totals = &log.totals();
        row(&mut group, "floor", log, &log.answer.lines, floor);
        row(&mut group, "skim", log, totals, |log| {
            let (mut predictor, mut totals) = (event::KeyPredictor::default(), Totals::default());
            for block in log.blocks() {
                let text = simdutf8::basic::from_utf8(block).expect("a corpus is text");
                skim(kernel::Best, text, &mut predictor, &mut totals);
            }
            totals
        });
        row(&mut group, "skim without UTF-8", log, totals, |log| {
            let mut totals = Totals::default();
            skim(kernel::Best, &log.text, &mut event::KeyPredictor::default(), &mut totals);
            totals
        });
        row(&mut group, "simd-json tape", log, totals, simd_json_tape);
        row(&mut group, "simd-json tape, new for each line", log, totals, simd_json_new_tape);
        row(&mut group, "serde_json, nothing kept", log, &log.answer.records, |log| {
            log.lines().filter(|line| serde_json::from_slice::<IgnoredAny>(line).is_ok()).count() as u64
        });
        row(&mut group, "obvious", log, totals, |log| {
            let mut totals = Totals::default();
            log.lines().for_each(|line| totals.event(&event::obvious(line).expect("a record")));
            totals
        });
    }
}

fn skim(kernel: impl Run, text: &str, predictor: &mut event::KeyPredictor, totals: &mut Totals) {
    let (mut skimmer, mut start) = (event::Skimmer::new(text, predictor), 0);
    while start < text.len() {
        let (event, end) =
            skimmer.read_with(kernel, start).expect("the fast decoder takes every line of a corpus");
        totals.event(event);
        start = end + 1;
    }
}

/// Lines → events without UTF-8 validation, with each kernel that this processor supports.
fn kernels(criterion: &mut Criterion) {
    fn with(kernel: impl Run) -> impl Fn(&Log) -> Totals {
        move |log| {
            let mut totals = Totals::default();
            skim(kernel, &log.text, &mut event::KeyPredictor::default(), &mut totals);
            totals
        }
    }
    let mut group = group(criterion, "kernel");
    let shapes = Log::all();
    for log in shapes.iter().chain([&Log::joined(&shapes)]) {
        let totals = &log.totals();
        row(&mut group, "best", log, totals, with(kernel::Best));
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = kernel::Avx2::detect() {
            row(&mut group, "AVX2", log, totals, with(avx2));
        }
        #[cfg(target_arch = "x86_64")]
        row(&mut group, "SSE2", log, totals, with(kernel::Sse2));
        row(&mut group, "portable", log, totals, with(kernel::Portable));
    }
}

/// simd-json writes into its input, so each line is copied once, into a buffer with the padding it needs.
/// Buffers and tape are reused.
fn simd_json_tape(log: &Log) -> Totals {
    let mut totals = Totals::default();
    let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
    let mut tape = simd_json::Tape::null();
    for line in log.lines() {
        copy.clear();
        copy.extend_from_slice(line);
        copy.resize(line.len() + simd_json::INPUT_PADDING, 0);
        let mut filled = tape.reset();
        simd_json::fill_tape_padded(&mut copy, line.len(), &mut buffers, &mut filled).expect("a record");
        totals.value(&filled.as_value());
        tape = filled.reset();
    }
    totals
}

/// The simpler call: buffers are reused, the tape is not, and simd-json adds the padding itself.
fn simd_json_new_tape(log: &Log) -> Totals {
    let mut totals = Totals::default();
    let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
    for line in log.lines() {
        copy.clear();
        copy.extend_from_slice(line);
        let tape = simd_json::to_tape_with_buffers(&mut copy, &mut buffers).expect("a record");
        totals.value(&tape.as_value());
    }
    totals
}

/// Decoding the runs of hooks, which only some reports ask for, from records whose event is decoded already.
/// The other two parsers read the same members from the text of the record.
fn traces(criterion: &mut Criterion) {
    let all = Log::new(Shape::Transcript);
    let lines: Vec<&str> = all.text.lines().filter(|line| line.contains(r#""type":"hook_"#)).collect();
    // Enough records that a sample takes milliseconds.
    let text = format!("{}\n", lines.join("\n")).repeat(20);
    let log = Log::named("hooks", text, all.answer);
    let events = events(&log);
    let runs = events.len();
    assert!(runs > 500, "the corpus has {runs} runs of hooks");
    let mut group = group(criterion, "trace");
    row(&mut group, "lazy view", &log, &runs, |_| {
        let decode = |(_, event): &(Place, Event<'_>)| {
            event::trace::traces(event, event::trace::Traces::HOOKS, &mut |text: event::Text<'_>| text.len())
                .len()
        };
        events.iter().map(decode).sum()
    });
    row(&mut group, "serde_json value", &log, &runs, |log| {
        let read = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).expect("a record");
        let is_run = |record: serde_json::Value| hook_members(|key| record["attachment"].get(key).is_some());
        log.lines().filter(|line| is_run(read(line))).count()
    });
    row(&mut group, "simd-json tape", &log, &runs, |log| {
        let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
        let mut tape = simd_json::Tape::null();
        let mut count = 0;
        for line in log.lines() {
            copy.clear();
            copy.extend_from_slice(line);
            copy.resize(line.len() + simd_json::INPUT_PADDING, 0);
            let mut filled = tape.reset();
            simd_json::fill_tape_padded(&mut copy, line.len(), &mut buffers, &mut filled).expect("a record");
            let value = filled.as_value();
            let hook = value.get("attachment").expect("an attachment");
            count += usize::from(hook_members(|key| hook.get(key).is_some()));
            tape = filled.reset();
        }
        count
    });
}

/// Reads the members of a hook's run that the decoder reads; whether it is one.
fn hook_members(mut has: impl FnMut(&str) -> bool) -> bool {
    let members = ["hookName", "toolUseID", "exitCode", "stdout", "command", "durationMs"];
    members.into_iter().filter(|key| black_box(has(key))).count() > 0 && has("hookEvent")
}

/// Events → facts, and facts merged and settled.
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
        let source =
            Source { origin: Origin::File(file.path().to_owned()), unverified: false, machine: None };
        row(&mut group, "floor", log, &log.answer.lines, |_| read(&file, newlines));
        row(&mut group, "obvious", log, &log.counts(), |_| obvious_street(&file));
        for threads in [1, all] {
            row(&mut group, &format!("file to JSON, threads {threads}"), log, &log.counts(), |_| {
                let options = Options { threads, ..Options::default() };
                let scan = scan::scan(std::slice::from_ref(&source), &options, &Progress::default());
                render_counts(&scan.facts.settle(&Prices::built_in()))
            });
        }
        let account = absorb(&events(log)).settle(&Prices::built_in());
        row(&mut group, "render JSON", log, &log.counts(), |_| render_counts(&account));
    }
}

/// Renders an account as JSON, and returns its number of records and of calls.
fn render_counts(account: &Account) -> (u64, u64) {
    let mut out = Vec::new();
    let report = report::summary(account, Names(&["log.jsonl".into()]));
    render::render(&report, Format::Json, Style::default(), &mut out).expect("a Vec takes everything");
    assert!(black_box(out).ends_with(b"}\n"));
    (account.input.records, account.tools.total.calls)
}

/// Reads a file in blocks as `scan` does, and sums up what `take` returns for each. Blocks may end within a
/// line.
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

/// From a file to JSON on one thread, with every line decoded by serde_json.
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
    render_counts(&facts.settle(&Prices::built_in()))
}

criterion_group!(street, bytes_to_lines, lines_to_events, kernels, traces, events_to_facts, bytes_to_text);
criterion_main!(street);
