//! A buffer over a reader: what is held of a source, and how more of it is read.

use std::io::{self, Read};

use super::Limits;

/// A buffer of so many blocks is kept after a long line: to get the memory for the next one anew takes longer than to read it.
const KEPT: usize = 16;

/// Bytes of a line of the processor's cache. What is held may begin anywhere in the first one.
pub(super) const LINE: usize = 64;

/// A buffer over a reader.
pub(super) struct Reader<'r> {
    reader: &'r mut dyn Read,
    pub(super) limits: &'r Limits,
    pub(super) buffer: &'r mut Vec<u8>,
    /// How much of the buffer is in use: a block, and more for a long line. It does not depend on what was read before, nor does
    /// what is asked for at once: what a decoder unpacks in one call with a flaw may be lost, so that decides how much is had.
    size: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Offset of `buffer[start]` in the source.
    pub(super) offset: u64,
    /// Offset of the first byte that is ours.
    pub(super) first: u64,
    /// Lines before it that are ours.
    pub(super) line: u64,
    pub(super) ended: bool,
}

impl<'r> Reader<'r> {
    pub(super) fn new(
        reader: &'r mut dyn Read,
        offset: u64,
        limits: &'r Limits,
        buffer: &'r mut Vec<u8>,
    ) -> Self {
        let block = limits.block.max(16);
        if buffer.len() < block + LINE || buffer.len() > KEPT * block + LINE {
            *buffer = vec![0; block + LINE];
        }
        let (start, end) = (0, 0);
        Self { reader, limits, buffer, size: block, start, end, offset, first: offset, line: 0, ended: false }
    }

    pub(super) fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Reads once, behind what is held. After a long line no more is read at once than before, since larger reads are slower; its
    /// memory is given back only after a very long one.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let (block, held) = (self.limits.block.max(16), self.end - self.start);
        if held == self.size {
            self.size *= 2;
            self.buffer.resize(self.buffer.len().max(self.size + LINE), 0);
        } else if held < block && self.size > block {
            self.size = block;
        }
        if held == 0 || self.start > LINE {
            self.move_to(self.front(held), held);
        }
        if self.size == block && self.buffer.len() > KEPT * block + LINE {
            self.buffer.truncate(block + LINE);
            self.buffer.shrink_to_fit();
        }
        let room = self.start + self.size;
        loop {
            match self.reader.read(&mut self.buffer[self.end..room]) {
                Ok(count) => {
                    self.ended = count == 0;
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where what is held has to begin so that what is read behind it comes to stand in its cache line as it stands in the file. A
    /// copy to a little further on in a page than it comes from takes five times as long on Zen 3, and memory that was got for a
    /// buffer begins 16 bytes into its page: 7 % of all time on a gigabyte.
    fn front(&self, held: usize) -> usize {
        let behind = self.buffer.as_ptr().addr().wrapping_add(held);
        #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits count")]
        let next = self.offset.wrapping_add(held as u64) as usize;
        next.wrapping_sub(behind) % LINE
    }

    fn move_to(&mut self, front: usize, held: usize) {
        self.buffer.copy_within(self.start..self.end, front);
        (self.start, self.end) = (front, front + held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads to the end, whole lines at a time; how many there are.
    fn lines(mut reader: Reader<'_>) -> usize {
        let mut lines = 0;
        while !reader.ended {
            reader.fill().unwrap();
            if let Some(last) = memchr::memrchr(b'\n', reader.held()) {
                lines += memchr::memchr_iter(b'\n', reader.held()).count();
                reader.consume(last + 1);
            }
        }
        lines
    }

    /// Notes how much is asked for at once.
    struct Asked<'a>(&'a [u8], Vec<usize>);

    impl Read for Asked<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1.push(buffer.len());
            self.0.read(buffer)
        }
    }

    #[test]
    fn after_a_long_line_its_memory_is_kept_up_to_a_bound_and_reads_are_as_large_as_before() {
        let limits = Limits { block: 1000, ..Limits::default() };
        for (length, kept) in [(500, 1000), (10_000, 16_000), (100_000, 1000)] {
            let log = [&vec![b'x'; length][..], &b"\nshort".repeat(10_000)].concat();
            let (mut asked, mut buffer) = (Asked(&log, Vec::new()), Vec::new());
            let lines = lines(Reader::new(&mut asked, 0, &limits, &mut buffer));
            assert_eq!((lines, buffer.len()), (10_000, kept + LINE));
            assert!(asked.1.iter().rev().take(5).all(|&asked| asked <= 1000), "{:?}", asked.1);
        }
    }

    #[test]
    fn what_is_asked_for_at_once_does_not_depend_on_what_was_read_before() {
        let limits = Limits { block: 1000, ..Limits::default() };
        let asked = |log: &[u8], buffer: &mut Vec<u8>| {
            let mut asked = Asked(log, Vec::new());
            lines(Reader::new(&mut asked, 0, &limits, buffer));
            asked.1
        };
        let long =
            |length| [&vec![b'x'; length][..], &[&b"\n"[..], &[b'y'; 700]].concat().repeat(50)].concat();
        for before in [500, 10_000, 100_000] {
            let mut buffer = Vec::new();
            asked(&long(before), &mut buffer);
            for length in [600, 3_000, 20_000] {
                let fresh = asked(&long(length), &mut Vec::new());
                assert_eq!(asked(&long(length), &mut buffer), fresh, "{before} {length}");
            }
        }
    }

    /// Notes where in a cache line it is read to, and whether that is where the byte stands in the log.
    struct Aligned<'a>(&'a [u8], usize, Vec<bool>);

    impl Read for Aligned<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.2.push(buffer.as_ptr().addr() % LINE == self.1 % LINE);
            let count = self.0.read(buffer)?;
            self.1 += count;
            Ok(count)
        }
    }

    #[test]
    fn what_is_read_comes_to_stand_in_its_cache_line_as_it_stands_in_the_file() {
        let limits = Limits { block: 1000, ..Limits::default() };
        let log = [&[b'x'; 10_000][..], &b"\nshort".repeat(10_000)].concat();
        for (offset, mut buffer) in [(0, Vec::new()), (4095, Vec::new()), (77, vec![0; 5000])] {
            let mut aligned = Aligned(&log, offset, Vec::new());
            lines(Reader::new(&mut aligned, offset as u64, &limits, &mut buffer));
            assert!(aligned.2[0], "{offset}");
            let others = aligned.2.iter().filter(|&&aligned| !aligned).count();
            assert!(others <= 4, "{others} of {} reads, while one long line grows", aligned.2.len());
        }
    }
}
