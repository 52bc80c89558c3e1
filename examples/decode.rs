//! Decodes a log with one of the two decoders and does nothing else. `scripts/cross instructions` counts the
//! instructions of both on an emulated processor, where times mean nothing.
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

/// Counts the records with the fast decoder. It must accept every line, or its instructions are not what is
/// counted.
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

/// Counts the records with the obvious decoder.
fn obvious(log: &[u8]) -> usize {
    let (mut records, mut start) = (0, 0);
    for end in memchr::memchr_iter(b'\n', log) {
        black_box(event::obvious(&log[start..end]).expect("a record"));
        records += 1;
        start = end + 1;
    }
    records
}
