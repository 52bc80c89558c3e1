//! The newline floor: the cost of reading the input and finding its lines, and nothing else.
//!
//! Every speed is given as a multiple of this one, measured in the same run.
//!
//! It reads as ccstat does: 256 KiB at once, into a buffer whose cache lines are aligned with those of the
//! file. With `--unaligned` it reads into memory as allocated, 16 bytes into a page. On some processors (Zen
//! 3) the kernel's copy to such an address takes five times as long, and ccstat would be faster than its
//! floor.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr_iter;

/// Bytes per read.
const BLOCK: usize = 256 << 10;

/// Bytes per cache line of the processor.
const LINE: usize = 64;

#[expect(clippy::print_stdout, reason = "the count is its output")]
fn main() -> io::Result<()> {
    let mut paths = env::args_os().skip(1).peekable();
    let unaligned = paths.next_if(|first| first == "--unaligned").is_some();
    let mut memory = vec![0; BLOCK + LINE];
    let start = if unaligned { 0 } else { memory.as_ptr().align_offset(LINE) };
    let buffer = &mut memory[start..start + BLOCK];
    let mut lines = 0;
    if paths.peek().is_none() {
        lines = count(&mut io::stdin().lock(), buffer)?;
    }
    for path in paths {
        lines += walk(Path::new(&path), buffer)?;
    }
    println!("{lines}");
    Ok(())
}

/// Counts the lines of a file, or of all logs in a folder.
#[expect(clippy::disallowed_methods, reason = "the floor does not use the stages of ccstat")]
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
