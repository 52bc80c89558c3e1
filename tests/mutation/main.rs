//! Mutation: whatever happens to a log, nothing panics or hangs, every line is accounted for, and every
//! untouched record is counted.
//!
//! All stories of `testdata/` are mutated: lines are cut at every byte; bytes are flipped, dropped, doubled
//! and swapped; lines are dropped, doubled and swapped; files are spliced and cut; and every field of every
//! kind gets values of wrong types. The mutants are in logs between untouched records. The checks of these
//! logs are in `fuzz/checks.rs`: one thread equals two with blocks and units of odd sizes, and the obvious
//! decoder, line by line, gives the same account with the same places of invalid lines.
//!
//! Every run tries 200,000 mutated lines; `CCSTAT_MUTATIONS=5000000` tries more mutations of more lines.
//! `CCSTAT_MUTATION_SEED` selects other mutants. A failure names its job, and `CCSTAT_MUTATION_JOB` runs that
//! one again.

#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "test helpers may unwrap and print, and the environment sets how long a test runs"
)]

#[path = "../../fuzz/checks.rs"]
#[allow(dead_code, reason = "other tests use its other checks")]
mod checks;
#[path = "../../fuzz/reports.rs"]
mod reports;

mod edit;
mod log;
mod story;
mod types;
mod watch;

use std::{
    collections::BTreeMap,
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use edit::{FileEdit, Random};
use log::Log;
use story::Stories;
use watch::Watch;

/// Mutated lines in every run.
const ALWAYS: u64 = 200_000;

/// One in this many logs is also shown in every report. It takes longer than everything else, so a long run
/// does it less often.
const SHOWN: u64 = 192;

/// How often a long run prints its progress.
const TOLD: u64 = 500_000;

/// A job. Jobs are independent of each other, so that one can be run again.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// This line of the stories, cut at every byte.
    Cut(usize),
    /// This line of the stories, with a wrong value in each of its fields.
    Types(usize),
    /// This file, with its last line cut at every byte, or at some.
    End(usize),
    /// Files with lines dropped, doubled or swapped, spliced, or with bytes changed anywhere.
    Files,
    /// Lines with bytes changed.
    Bytes,
}

/// One run.
struct Run {
    stories: Stories,
    wanted: u64,
    seed: u64,
    fixed: Vec<Job>,
    /// Mutated lines by operator.
    tried: Mutex<BTreeMap<&'static str, u64>>,
    total: AtomicU64,
    logs: AtomicU64,
    texts: AtomicU64,
    next: AtomicU64,
    failed: AtomicBool,
}

impl Run {
    fn new() -> Self {
        let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
        let wanted = number("CCSTAT_MUTATIONS").unwrap_or(ALWAYS);
        let stories = Stories::read();
        let fixed = Self::fixed(&stories, wanted > ALWAYS);
        Self {
            stories,
            wanted,
            seed: number("CCSTAT_MUTATION_SEED").unwrap_or(20_261_116),
            fixed,
            tried: Mutex::default(),
            total: AtomicU64::new(0),
            logs: AtomicU64::new(0),
            texts: AtomicU64::new(0),
            next: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    /// Returns the jobs of every run: all lines in a long run, otherwise one line of each kind.
    fn fixed(stories: &Stories, long: bool) -> Vec<Job> {
        let lines: Vec<usize> = if long { (0..stories.lines.len()).collect() } else { stories.kinds.clone() };
        let mut jobs: Vec<Job> = stories.kinds.iter().map(|&line| Job::Types(line)).collect();
        // Most lines share their fields with others: a few more are enough.
        jobs.extend(
            lines.iter().filter(|&line| long && line.is_multiple_of(8)).map(|&line| Job::Types(line)),
        );
        jobs.extend(lines.iter().map(|&line| Job::Cut(line)));
        jobs.extend((0..stories.files.len()).map(Job::End));
        jobs
    }

    fn job(&self, number: u64) -> Job {
        let fixed = usize::try_from(number).ok().and_then(|number| self.fixed.get(number));
        // Files are expensive: a few among the lines.
        let other = if number.is_multiple_of(8) { Job::Files } else { Job::Bytes };
        fixed.copied().unwrap_or(other)
    }

    /// Works until the wanted number of mutants and all fixed jobs are done.
    fn work(&self, watch: &Watch) {
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.fixed.len() as u64 && self.total.load(Ordering::Relaxed) >= self.wanted {
                return;
            }
            self.run(number, watch);
        }
    }

    fn run(&self, number: u64, watch: &Watch) {
        let job = self.job(number);
        let mut random = Random::new(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let again = format!(
            "CCSTAT_MUTATIONS={} CCSTAT_MUTATION_SEED={} CCSTAT_MUTATION_JOB={number} cargo test --test mutation",
            self.wanted, self.seed
        );
        let outcome = catch_unwind(AssertUnwindSafe(|| self.carry_out(job, &mut random, watch, &again)));
        if outcome.is_err() && !self.failed.swap(true, Ordering::Relaxed) {
            eprintln!("{job:?} failed; once more: {again}");
        }
    }

    fn carry_out(&self, job: Job, random: &mut Random, watch: &Watch, again: &str) {
        let mut log = Log::new(&self.stories);
        let mut put = |mutant: Vec<u8>, operator: &'static str, random: &mut Random| {
            if let Some(full) = log.put(mutant, operator, random) {
                self.try_log(&full, random, watch, again);
            }
        };
        match job {
            Job::Cut(line) => {
                let line = &self.stories.lines[line];
                for end in edit::ends(line.bytes.len(), usize::MAX) {
                    put(line.bytes[..end].to_vec(), "cut", random);
                }
            }
            Job::Types(line) => {
                for (operator, mutant) in types::mutants(&self.stories.lines[line].bytes) {
                    put(mutant, operator, random);
                }
            }
            Job::Bytes => {
                for _ in 0..log::MUTANTS * 4 {
                    let (operator, mutant) = edit::mutant(&self.stories, self.wanted > ALWAYS, random);
                    put(mutant, operator, random);
                }
            }
            Job::End(file) => self.cut_file(file, random, watch, again),
            Job::Files => {
                for _ in 0..8 {
                    let edited = FileEdit::any(&self.stories, random);
                    watch.during(again, || self.try_file(&edited, random));
                }
            }
        }
        for rest in log.rest() {
            self.try_log(&rest, random, watch, again);
        }
    }

    /// Tries a log of mutants between untouched records.
    fn try_log(&self, log: &log::Full, random: &mut Random, watch: &Watch, again: &str) {
        let number = self.logs.fetch_add(1, Ordering::Relaxed);
        let sizes = sizes(random);
        watch.during(again, || {
            if catch_unwind(AssertUnwindSafe(|| log.hold(sizes))).is_err() {
                panic!(
                    "in a log with blocks of {} and units of {}: {}",
                    sizes.0,
                    sizes.1,
                    log.culprit(sizes)
                );
            }
        });
        if number.is_multiple_of(SHOWN * self.wanted.div_ceil(ALWAYS)) {
            let part = log.part(16);
            let texts = watch.during(again, || reports::every_report(&part));
            self.texts.fetch_add(texts as u64, Ordering::Relaxed);
        }
        self.count(log.operators());
    }

    fn try_file(&self, edited: &FileEdit, random: &mut Random) {
        let (block, unit) = sizes(random);
        let account = checks::scan(&edited.bytes, block, unit);
        if let Some(account) = account {
            self.stories.still_counted(edited.untouched.iter().copied(), &account, &edited.bytes);
        }
        self.count([(edited.operator, edited.mutated)]);
    }

    /// Tries a file that ends within its last record: that one is truncated, and all others are counted.
    fn cut_file(&self, file: usize, random: &mut Random, watch: &Watch, again: &str) {
        let file = &self.stories.files[file];
        let Some((last, before)) = file.lines.split_last() else { return };
        let bytes = &self.stories.lines[*last].bytes;
        let most = if self.wanted > ALWAYS { 512 } else { 3 };
        for end in edit::ends(bytes.len(), most) {
            let mut cut: Vec<u8> = before.iter().flat_map(|&line| self.stories.with_end(line)).collect();
            cut.extend(&bytes[..end]);
            let (block, unit) = sizes(random);
            let account = watch.during(again, || checks::scan(&cut, block, unit));
            let Some(account) = account else { continue };
            self.stories.still_counted(before.iter().copied(), &account, &cut);
            // A record that was broken before the cut only has to pass the general checks.
            let torn = u64::from(end > 0);
            let is_reported = account.input.truncated == torn || !self.stories.lines[*last].is_record();
            assert!(is_reported, "{} cut at {end}: {}", file.name, cut.escape_ascii());
            self.count([("cut file", 1)]);
        }
    }

    fn count(&self, operators: impl IntoIterator<Item = (&'static str, u64)>) {
        let mut tried = self.tried.lock().unwrap();
        for (operator, count) in operators {
            *tried.entry(operator).or_default() += count;
            let before = self.total.fetch_add(count, Ordering::Relaxed);
            if before / TOLD < (before + count) / TOLD {
                eprintln!("{} mutated lines so far", before + count);
            }
        }
    }
}

/// Returns sizes of blocks and units: mostly so that a log has a few of each, sometimes so that a line has
/// many.
fn sizes(random: &mut Random) -> (usize, u64) {
    match random.below(16) {
        0 => (random.between(1, 300), random.between(200, 3000) as u64),
        _ => (random.between(1000, 9000), random.between(5000, 30_000) as u64),
    }
}

#[test]
fn after_any_mutation_every_line_and_every_untouched_record_is_accounted_for() {
    let (run, started) = (Run::new(), Instant::now());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let watch = Watch::default();
    if let Ok(job) = env::var("CCSTAT_MUTATION_JOB") {
        run.run(job.parse().unwrap(), &watch);
        assert!(!run.failed.load(Ordering::Relaxed), "as before");
        return;
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| run.work(&watch))).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    let (total, texts) = (run.total.load(Ordering::Relaxed), run.texts.load(Ordering::Relaxed));
    eprintln!(
        "{total} mutated lines in {} logs, {texts} texts of reports, {:.1} s: {:?}",
        run.logs.load(Ordering::Relaxed),
        started.elapsed().as_secs_f64(),
        run.tried.lock().unwrap()
    );
    assert!(!run.failed.load(Ordering::Relaxed), "a job failed, see above");
    assert!(total >= run.wanted, "{total} mutated lines, and {} were wanted", run.wanted);
    assert!(texts > 0, "no log was shown");
}
