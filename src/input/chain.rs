//! Chains of line hashes: they tell whether one log is the beginning of another without its content.
//!
//! The hash of a line includes that of the line before it, so equal hashes at the same line mean equal content up
//! to there. A file of an archive keeps 32 bits of each, in frames that readers of the log skip.

use std::{hash::Hasher, io::Read};

use siphasher::sip::SipHasher13;

/// Bytes of a first line that are looked at. A log with a longer one is not compared with others.
const MAX_FIRST_LINE: u64 = 1 << 20;

/// The state of a chain after its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainEnd {
    /// Number of lines.
    pub lines: u64,
    /// Hash of the first line.
    pub first: u64,
    /// Hash of the last line, and so of everything.
    pub last: u64,
    /// Whether the last line has no line end, and may still grow.
    pub is_open: bool,
}

/// Computes the chain of a log, block by block.
#[derive(Clone, Debug, Default)]
pub struct LineChain {
    end: ChainEnd,
    marks: Vec<u32>,
    /// The line that has no end yet.
    line: Option<SipHasher13>,
}

impl LineChain {
    /// Continues a chain that ends with a whole line. Its marks are not repeated.
    pub fn resume(end: ChainEnd) -> Self {
        debug_assert!(!end.is_open, "the hash of an open line cannot be continued");
        Self { end, ..Self::default() }
    }

    /// Adds bytes of the log.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let line_end = memchr::memchr(b'\n', bytes);
            let (line, rest) = bytes.split_at(line_end.unwrap_or(bytes.len()));
            let last = self.end.last;
            let hasher = self.line.get_or_insert_with(|| {
                let mut hasher = SipHasher13::new();
                hasher.write_u64(last);
                hasher
            });
            hasher.write(line);
            bytes = rest;
            if line_end.is_some() {
                self.end_line();
                bytes = &rest[1..];
            }
        }
    }

    fn end_line(&mut self) {
        let Some(hasher) = self.line.take() else { return };
        self.end.last = hasher.finish();
        if self.end.lines == 0 {
            self.end.first = self.end.last;
        }
        self.end.lines += 1;
        #[expect(clippy::cast_possible_truncation, reason = "a mark is the lower half of a hash")]
        self.marks.push(self.end.last as u32);
    }

    /// Ends the chain. Returns its state and the marks of the lines that were added.
    pub fn finish(mut self) -> (ChainEnd, Vec<u32>) {
        self.end.is_open = self.line.is_some();
        self.end_line();
        (self.end, self.marks)
    }
}

/// A reader that adds everything it reads to a chain.
pub struct Chained<'c, R> {
    inner: R,
    chain: &'c mut LineChain,
}

impl<'c, R: Read> Chained<'c, R> {
    pub fn new(inner: R, chain: &'c mut LineChain) -> Self {
        Self { inner, chain }
    }
}

impl<R: Read> Read for Chained<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.chain.feed(&buffer[..count]);
        Ok(count)
    }
}

/// A whole chain, which can be compared with the ends of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub end: ChainEnd,
    /// 32 bits of the hash of each line.
    pub lines: Vec<u32>,
}

impl Marks {
    /// The chain of everything that a reader returns.
    pub fn of(mut reader: impl Read) -> std::io::Result<Self> {
        let mut chain = LineChain::default();
        std::io::copy(&mut Chained::new(&mut reader, &mut chain), &mut std::io::sink())?;
        let (end, lines) = chain.finish();
        Ok(Self { end, lines })
    }

    /// Whether the log begins with all lines of another one.
    pub fn begins_with(&self, other: &ChainEnd) -> bool {
        if other.lines == self.end.lines {
            return other.lines > 0 && other.last == self.end.last;
        }
        let line = other.lines.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        #[expect(clippy::cast_possible_truncation, reason = "a mark is the lower half of a hash")]
        line.and_then(|at| self.lines.get(at)).is_some_and(|mark| *mark == other.last as u32)
    }
}

/// The hash of the first line; `None` if there is none or it is too long.
pub fn first_line(reader: impl Read) -> Option<u64> {
    let (mut head, mut chain) = (Vec::new(), LineChain::default());
    let mut reader = reader.take(MAX_FIRST_LINE);
    loop {
        let seen = head.len();
        let count = reader.by_ref().take(8 << 10).read_to_end(&mut head).ok()?;
        let line_end = memchr::memchr(b'\n', &head[seen..]);
        if line_end.is_some() || count == 0 {
            let is_cut = line_end.is_none() && head.len() as u64 == MAX_FIRST_LINE;
            chain.feed(&head[..line_end.map_or(head.len(), |end| seen + end + 1)]);
            let (end, _) = chain.finish();
            return (end.lines > 0 && !is_cut).then_some(end.first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(bytes: &[u8]) -> Marks {
        Marks::of(bytes).unwrap()
    }

    #[test]
    fn a_chain_does_not_depend_on_blocks_and_can_be_continued() {
        let log = b"one\n\ntwo\nthree";
        let whole = marks(log);
        assert_eq!((whole.end.lines, whole.end.is_open, whole.lines.len()), (4, true, 4));
        for size in 1..log.len() {
            let mut chain = LineChain::default();
            log.chunks(size).for_each(|chunk| chain.feed(chunk));
            assert_eq!(chain.finish(), (whole.end, whole.lines.clone()), "{size}");
        }
        let (end, before) = {
            let mut chain = LineChain::default();
            chain.feed(b"one\n\n");
            chain.finish()
        };
        let mut rest = LineChain::resume(end);
        rest.feed(b"two\nthree");
        let (end, after) = rest.finish();
        assert_eq!((end, [before, after].concat()), (whole.end, whole.lines));
    }

    #[test]
    fn a_log_begins_with_its_beginnings_and_with_nothing_else() {
        let long = marks(b"a\nb\nc\n");
        for beginning in [&b"a\n"[..], b"a", b"a\nb\n", b"a\nb\nc\n", b"a\nb\nc"] {
            assert!(long.begins_with(&marks(beginning).end), "{beginning:?}");
        }
        for other in [&b""[..], b"b\n", b"a\nc\n", b"a\nb\nc\nd\n", b"a\nb\nd\n", b"a\n\n", b"a\nb\nc\n\n"] {
            assert!(!long.begins_with(&marks(other).end), "{other:?}");
        }
    }

    #[test]
    fn the_first_line_has_the_hash_that_the_chain_begins_with() {
        let long = format!("{}\nrest\n", "x".repeat(20_000));
        for log in ["a\nb\n", "a", "\nb", &long] {
            assert_eq!(first_line(log.as_bytes()), Some(marks(log.as_bytes()).end.first), "{log:.9}");
        }
        assert_eq!(first_line(&b""[..]), None);
        assert_eq!(first_line("x".repeat(2 << 20).as_bytes()), None);
    }
}
