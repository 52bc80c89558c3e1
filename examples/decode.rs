//! Decodes a log in one of two ways, and does nothing else with it. `scripts/cross instructions` counts the instructions of
//! both on a processor that is only emulated, where seconds say nothing.
//!
//! `decode skim|obvious FILE` prints the number of records.

use std::{env, fs, hint::black_box, io, process::ExitCode};

use ccstat::internal::event::{self, KeyPredictor, Skimmer};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the count is its output")]
fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = env::args().skip(1).collect();
    let way = match words.first().map(String::as_str) {
        Some("skim") if words.len() == 2 => skimmed,
        Some("obvious") if words.len() == 2 => obvious,
        _ => {
            eprintln!("usage: decode skim|obvious FILE");
            return Ok(ExitCode::from(2));
        }
    };
    println!("{}", way(&fs::read(&words[1])?));
    Ok(ExitCode::SUCCESS)
}

/// The records that the fast path takes. All of them have to be, or what is counted is not the fast path.
fn skimmed(log: &[u8]) -> usize {
    let text = simdutf8::basic::from_utf8(log).expect("a corpus is text");
    let mut predictor = KeyPredictor::default();
    let (mut skimmer, mut records, mut start) = (Skimmer::new(text, &mut predictor), 0, 0);
    while start < text.len() {
        let (event, end) = skimmer.read(start).expect("no line of a corpus is odd");
        black_box(event);
        records += 1;
        start = end + 1;
    }
    records
}

/// The same records by serde_json.
fn obvious(log: &[u8]) -> usize {
    let (mut records, mut start) = (0, 0);
    for end in memchr::memchr_iter(b'\n', log) {
        black_box(event::obvious(&log[start..end]).expect("a record"));
        records += 1;
        start = end + 1;
    }
    records
}
