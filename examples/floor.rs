//! The newline floor: what it costs to read the input and find its lines, and nothing else.
//!
//! Every speed is given as a multiple of this one, measured in the same run.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr_iter;

#[expect(clippy::print_stdout, reason = "the count is its output")]
fn main() -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    let mut lines = 0;
    let mut paths = env::args_os().skip(1).peekable();
    if paths.peek().is_none() {
        lines = count(&mut io::stdin().lock(), &mut buffer)?;
    }
    for path in paths {
        lines += walk(Path::new(&path), &mut buffer)?;
    }
    println!("{lines}");
    Ok(())
}

/// Counts a file that was named, or all logs in a folder.
#[expect(clippy::disallowed_methods, reason = "the floor stands beside the street, not on it")]
fn walk(path: &Path, buffer: &mut [u8]) -> io::Result<usize> {
    if !path.is_dir() {
        return count(&mut File::open(path)?, buffer);
    }
    let mut lines = 0;
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let log = path.extension().is_some_and(|end| end == "jsonl" || end == "json" || end == "ndjson");
        if log || path.is_dir() {
            lines += walk(&path, buffer)?;
        }
    }
    Ok(lines)
}

fn count(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut lines = 0;
    loop {
        match input.read(buffer) {
            Ok(0) => return Ok(lines),
            Ok(read) => lines += memchr_iter(b'\n', &buffer[..read]).count(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
