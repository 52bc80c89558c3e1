//! Runs the seeds of every target in `fuzz/`, and mutations of them, through the same checks as fuzzing: for
//! seconds on stable, not hours on nightly. Inputs that fuzzing found are in `testdata/fuzz/`, by target.

#![cfg(feature = "cli")]

#[path = "../fuzz/checks.rs"]
#[allow(dead_code, reason = "other tests use its other checks")]
mod checks;
#[path = "../fuzz/parsers.rs"]
mod parsers;
#[path = "../fuzz/reports.rs"]
mod reports;
#[path = "../fuzz/seeds.rs"]
mod seeds;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use seeds::TARGETS;

/// A check of the bytes of a target.
type Check = fn(&[u8]);

/// The checks by target, with the number of mutations per seed. Those of `kernel`, `config` and `spool` are
/// private: the tests beside them run them.
const CHECKS: &[(&str, Check, usize)] = &[
    ("skim", checks::skim, 20),
    ("twins", twins, 1),
    ("scan", scan, 4),
    ("report", report, 0),
    ("rule", parsers::rule, 100),
    ("shell", parsers::shell, 100),
    ("settings", parsers::settings, 100),
    ("pricing", parsers::pricing, 100),
    ("time", parsers::time, 20),
];

fn twins(bytes: &[u8]) {
    checks::twins(bytes);
    checks::spliced(bytes);
}

fn scan(bytes: &[u8]) {
    let [block, low, high, source @ ..] = bytes else { return };
    let unit = u64::from(u16::from_le_bytes([*low, *high])).max(1 + source.len() as u64 / 64);
    let _ = checks::scan(source, usize::from(*block), unit);
}

fn report(bytes: &[u8]) {
    let [_, log @ ..] = bytes else { return };
    assert!(reports::every_report(log) > 200, "31 reports in up to 9 formats");
}

/// Returns a pseudo-random number; the sequence is the same in every run.
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 16) as usize
}

/// Returns a seed with a few bytes changed, or spliced with another.
fn changed(seeds: &[(String, Vec<u8>)], seed: &[u8], state: &mut u64) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + random(state) % 3 {
        let at = random(state) % (bytes.len() + 1);
        match random(state) % 6 {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << (random(state) % 8),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.insert(
                at,
                *b"\"\\{}[]():,.*$'`&|;<>~/0\n\0 \xff"[..].get(random(state) % 27).unwrap_or(&b'x'),
            ),
            4 => {
                let other = &seeds[random(state) % seeds.len()].1;
                let from = random(state) % (other.len() + 1);
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            _ => {
                let part = bytes[at..].iter().take(1 + random(state) % 20).copied().collect::<Vec<u8>>();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

/// Runs the check of a target on its seeds and on mutations of each.
fn replay(target: &str) {
    let (_, check, changes) = CHECKS.iter().find(|(name, ..)| *name == target).expect("a check");
    let seeds = seeds::seeds(target);
    assert!(!seeds.is_empty(), "{target} has no seeds");
    let mut state = 20_261_116;
    for (name, seed) in &seeds {
        let held = |bytes: &[u8]| {
            let outcome = catch_unwind(AssertUnwindSafe(|| check(bytes)));
            assert!(outcome.is_ok(), "{target}, seed {name}: {}", bytes.escape_ascii());
        };
        held(seed);
        (0..*changes).for_each(|_| held(&changed(&seeds, seed, &mut state)));
    }
}

#[test]
fn every_target_has_seeds_and_a_check() {
    let manifest = include_str!("../fuzz/Cargo.toml");
    let targets: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
        .collect();
    let mut named = TARGETS.to_vec();
    named.sort_unstable();
    let mut sorted = targets.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, named, "fuzz/Cargo.toml and fuzz/seeds.rs name the same targets");
    for target in targets {
        assert!(!seeds::seeds(target).is_empty(), "{target} has no seeds");
        let private = ["kernel", "config", "spool"].contains(&target);
        assert!(private || CHECKS.iter().any(|(name, ..)| *name == target), "{target} has no check here");
    }
}

#[test]
fn seeds_of_the_decoders_hold() {
    replay("skim");
    replay("twins");
}

#[test]
fn seeds_of_the_scan_hold() {
    replay("scan");
}

#[test]
fn seeds_of_the_reports_hold() {
    replay("report");
}

#[test]
fn seeds_of_rules_and_commands_hold() {
    replay("rule");
    replay("shell");
}

#[test]
fn seeds_of_settings_prices_and_times_hold() {
    replay("settings");
    replay("pricing");
    replay("time");
}

#[test]
fn text_on_the_line_after_a_record_is_not_ignored() {
    let bytes = include_bytes!("../testdata/fuzz/skim/text-on-the-line-after-a-record");
    assert!(ccstat::internal::event::decode(bytes).is_err(), "the whole must be one record");
    assert_eq!(
        ccstat::internal::event::decode(b"{\"type\":\"a\"}\n"),
        ccstat::internal::event::obvious(b"{\"type\":\"a\"}\n")
    );
    assert!(ccstat::internal::event::decode(b"{\"type\":\"a\"}\n \n").is_ok(), "blanks are nothing");
    checks::skim(bytes);
}

#[test]
fn a_block_size_of_zero_is_accepted() {
    let account = checks::scan(b"{\"type\":\"a\"}\n", 0, 1).expect("no packed file");
    assert_eq!((account.input.sources, account.input.records), (1, 1));
}

#[test]
#[ignore = "writes fuzz/corpus: fuzz/seed runs it"]
fn write_the_seeds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for target in TARGETS {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder).expect("a folder");
        for (name, seed) in seeds::seeds(target) {
            fs::write(folder.join(name), seed).expect("a seed");
        }
    }
}
