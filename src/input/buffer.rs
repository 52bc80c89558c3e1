//! The buffer between a source and the code that splits it into lines.

use std::io::{self, Read};

use super::Limits;

/// A buffer that grew for a long line is kept if it has at most this many blocks. Allocating it again for the
/// next long line takes longer than reading that line.
const MAX_KEPT_BLOCKS: usize = 16;

/// Size of a cache line in bytes. The buffered bytes may begin anywhere within the first one.
pub(super) const CACHE_LINE: usize = 64;

/// Reads a source in blocks and keeps the bytes that are not consumed yet.
pub(super) struct BlockReader<'r> {
    reader: &'r mut dyn Read,
    pub(super) limits: &'r Limits,
    pub(super) buffer: &'r mut Vec<u8>,
    /// How much of the buffer may be filled: one block, or more for a long line. It does not depend on
    /// earlier sources, and so neither does the size of a read. A decoder may drop the bytes of the call in
    /// which it meets an error, so with reads of varying size the same corrupt file could give different
    /// results.
    size: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Offset of `buffer[start]` in the source.
    pub(super) offset: u64,
    /// Offset of the first byte of the range that is read.
    pub(super) first: u64,
    /// Lines consumed so far.
    pub(super) line: u64,
    pub(super) at_eof: bool,
}

impl<'r> BlockReader<'r> {
    pub(super) fn new(
        reader: &'r mut dyn Read,
        offset: u64,
        limits: &'r Limits,
        buffer: &'r mut Vec<u8>,
    ) -> Self {
        let block = limits.block.max(16);
        if buffer.len() < block + CACHE_LINE || buffer.len() > MAX_KEPT_BLOCKS * block + CACHE_LINE {
            *buffer = vec![0; block + CACHE_LINE];
        }
        let (start, end) = (0, 0);
        Self {
            reader,
            limits,
            buffer,
            size: block,
            start,
            end,
            offset,
            first: offset,
            line: 0,
            at_eof: false,
        }
    }

    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Appends one read to the buffer.
    ///
    /// After a long line, reads shrink to one block again, since larger reads are slower. The memory is
    /// released only after a very long line, see [`MAX_KEPT_BLOCKS`].
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let (block, held) = (self.limits.block.max(16), self.end - self.start);
        if held == self.size {
            self.size *= 2;
            self.buffer.resize(self.buffer.len().max(self.size + CACHE_LINE), 0);
        } else if held < block && self.size > block {
            self.size = block;
        }
        if held == 0 || self.start > CACHE_LINE {
            self.move_to(self.aligned_start(held), held);
        }
        if self.size == block && self.buffer.len() > MAX_KEPT_BLOCKS * block + CACHE_LINE {
            self.buffer.truncate(block + CACHE_LINE);
            self.buffer.shrink_to_fit();
        }
        let room = self.start + self.size;
        loop {
            match self.reader.read(&mut self.buffer[self.end..room]) {
                Ok(count) => {
                    self.at_eof = count == 0;
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the index at which the buffered bytes must begin so that the next read lands at the same position within a cache
    /// line as in the file.
    ///
    /// On Zen 3 the kernel's copy takes five times as long if the target lies slightly further into its page
    /// than the source, and a large allocation begins 16 bytes into its page. This saves 7 % of the time on a
    /// gigabyte.
    fn aligned_start(&self, held: usize) -> usize {
        let behind = self.buffer.as_ptr().addr().wrapping_add(held);
        #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits count")]
        let next = self.offset.wrapping_add(held as u64) as usize;
        next.wrapping_sub(behind) % CACHE_LINE
    }

    fn move_to(&mut self, aligned_start: usize, held: usize) {
        self.buffer.copy_within(self.start..self.end, aligned_start);
        (self.start, self.end) = (aligned_start, aligned_start + held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads to the end, whole lines at a time, and returns their number.
    fn lines(mut reader: BlockReader<'_>) -> usize {
        let mut lines = 0;
        while !reader.at_eof {
            reader.fill().unwrap();
            if let Some(last) = memchr::memrchr(b'\n', reader.buffered()) {
                lines += memchr::memchr_iter(b'\n', reader.buffered()).count();
                reader.consume(last + 1);
            }
        }
        lines
    }

    /// Records the size of each read.
    struct ReadSizes<'a>(&'a [u8], Vec<usize>);

    impl Read for ReadSizes<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1.push(buffer.len());
            self.0.read(buffer)
        }
    }

    #[test]
    fn after_a_long_line_the_buffer_is_kept_up_to_a_limit_and_reads_shrink_again() {
        let limits = Limits { block: 1000, ..Limits::default() };
        for (length, kept) in [(500, 1000), (10_000, 16_000), (100_000, 1000)] {
            let log = [&vec![b'x'; length][..], &b"\nshort".repeat(10_000)].concat();
            let (mut asked, mut buffer) = (ReadSizes(&log, Vec::new()), Vec::new());
            let lines = lines(BlockReader::new(&mut asked, 0, &limits, &mut buffer));
            assert_eq!((lines, buffer.len()), (10_000, kept + CACHE_LINE));
            assert!(asked.1.iter().rev().take(5).all(|&asked| asked <= 1000), "{:?}", asked.1);
        }
    }

    #[test]
    fn the_size_of_a_read_does_not_depend_on_earlier_sources() {
        let limits = Limits { block: 1000, ..Limits::default() };
        let asked = |log: &[u8], buffer: &mut Vec<u8>| {
            let mut asked = ReadSizes(log, Vec::new());
            lines(BlockReader::new(&mut asked, 0, &limits, buffer));
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

    /// Records for each read whether the target has the same position within a cache line as the byte has in
    /// the log.
    struct Aligned<'a>(&'a [u8], usize, Vec<bool>);

    impl Read for Aligned<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.2.push(buffer.as_ptr().addr() % CACHE_LINE == self.1 % CACHE_LINE);
            let count = self.0.read(buffer)?;
            self.1 += count;
            Ok(count)
        }
    }

    #[test]
    fn reads_are_aligned_to_cache_lines_as_in_the_file() {
        let limits = Limits { block: 1000, ..Limits::default() };
        let log = [&[b'x'; 10_000][..], &b"\nshort".repeat(10_000)].concat();
        for (offset, mut buffer) in [(0, Vec::new()), (4095, Vec::new()), (77, vec![0; 5000])] {
            let mut aligned = Aligned(&log, offset, Vec::new());
            lines(BlockReader::new(&mut aligned, offset as u64, &limits, &mut buffer));
            assert!(aligned.2[0], "{offset}");
            let others = aligned.2.iter().filter(|&&aligned| !aligned).count();
            assert!(others <= 4, "{others} of {} reads, while one long line grows", aligned.2.len());
        }
    }
}
