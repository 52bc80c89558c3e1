//! Reads a source and hands it over in whole lines or split values. Memory does not grow with the length of
//! the source.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use super::{
    Bytes, Piece, Shape, Splitter,
    buffer::BlockReader,
    shape::{Sniff, sniff},
};

/// Sizes that govern reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a record in bytes. A larger record counts as one invalid record.
    pub max_record: usize,
    /// Bytes per read. Reads of 128 KiB to 4 MiB cost the same.
    pub block: usize,
    /// Files larger than this many bytes are split into units of this size, which threads read in parallel.
    pub unit: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_record: 64 << 20, block: 256 << 10, unit: 8 << 20 }
    }
}

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Receives the content of a source.
pub trait Sink {
    /// Receives whole lines and returns their number. Only the last line of a source may lack its line feed.
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64;
    /// Receives one piece of a document, or of a line that is longer than a record may be.
    fn piece(&mut self, offset: u64, line: u64, found: Piece<'_>);
    /// Receives all bytes that are not handed over by `lines`, before the pieces that are split from them.
    fn raw(&mut self, _bytes: &[u8]) {}
    /// Receives a chunk of a lean log. Returns whether the sink can read such logs.
    fn lean(&mut self, _chunk: &[u8]) -> bool {
        false
    }
    /// Receives a digest of the chunks that follow. Returns whether they are not needed any more.
    fn digest(&mut self, _digest: &[u8]) -> bool {
        false
    }
    /// Returns whether reading should stop.
    fn should_stop(&self) -> bool;
}

/// The part of a source to read: all lines that begin in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte; `None` for the end of the source.
    pub end: Option<u64>,
    /// The shape of the source; `None` to detect it.
    pub shape: Option<Shape>,
}

impl Range {
    /// The whole source, of any shape.
    pub const ALL: Self = Self { start: 0, end: None, shape: None };
}

/// Bytes and lines that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Offset where the first line begins.
    pub first: u64,
    /// Number of bytes after decompression.
    pub bytes: u64,
    /// Number of lines.
    pub lines: u64,
}

/// Reads the lines that begin in a range and hands them to a sink. Returns how much was read, also after an
/// error.
///
/// The caller owns the buffer, so that ten thousand small files share one.
pub fn read_all(
    bytes: &mut Bytes,
    range: Range,
    limits: &Limits,
    buffer: &mut Vec<u8>,
    sink: &mut dyn Sink,
) -> (Amount, io::Result<()>) {
    let mut reader: Box<dyn Read + '_> = match bytes {
        Bytes::Stream(stream) => Box::new(stream),
        Bytes::Lean(stream) => {
            let mut amount = Amount::default();
            let result = read_chunks(stream, buffer, sink, &mut amount);
            return (amount, result);
        }
        Bytes::File(file) => {
            // A line begins at `start` only if the byte before it is a line feed.
            if range.start > 0
                && let Err(error) = file.seek(SeekFrom::Start(range.start - 1))
            {
                return (Amount::default(), Err(error));
            }
            Box::new(file)
        }
    };
    let mut reader = BlockReader::new(&mut *reader, range.start.saturating_sub(1), limits, buffer);
    let result = reader.run(range, sink);
    let bytes = reader.offset.saturating_sub(reader.first);
    (Amount { first: reader.first, bytes, lines: reader.line }, result)
}

/// Maximum length of a chunk. Writers end a chunk after the first record that makes it larger than a fraction of a megabyte.
const MAX_CHUNK: usize = 256 << 20;

/// Length of the head of a chunk.
pub const CHUNK_HEAD: usize = 5;

/// The kind of a chunk of a lean log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// Records.
    Records,
    /// A digest of all records up to the next digest.
    Digest,
    /// A digest of all records that follow.
    LastDigest,
}

impl ChunkKind {
    const ALL: [(Self, u8); 3] = [(Self::Records, b'r'), (Self::Digest, b'd'), (Self::LastDigest, b'D')];

    /// The head of a chunk: its kind, and its length in four bytes.
    pub fn head(self, length: usize) -> [u8; CHUNK_HEAD] {
        let kind = Self::ALL.into_iter().find(|(kind, _)| *kind == self).map_or(0, |(_, byte)| byte);
        let [one, two, three, four] = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        [kind, one, two, three, four]
    }

    /// Reads the next head; `None` at the end of the log.
    fn read_head(stream: &mut dyn Read) -> io::Result<Option<(Self, usize)>> {
        let mut head = [0; CHUNK_HEAD];
        loop {
            match stream.read(&mut head[..1]) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        stream.read_exact(&mut head[1..])?;
        let [byte, length @ ..] = head;
        let kind = Self::ALL.into_iter().find(|(_, known)| *known == byte).map(|(kind, _)| kind);
        let length = u32::from_le_bytes(length) as usize;
        match kind.filter(|_| length <= MAX_CHUNK) {
            Some(kind) => Ok(Some((kind, length))),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "is a damaged lean log")),
        }
    }
}

/// Reads the chunks of a lean log. Those of a digest that is enough for the sink are skipped.
fn read_chunks(
    stream: &mut dyn Read,
    buffer: &mut Vec<u8>,
    sink: &mut dyn Sink,
    amount: &mut Amount,
) -> io::Result<()> {
    let error = |kind: io::ErrorKind, reason: &'static str| Err(io::Error::new(kind, reason));
    let (mut is_covered, mut is_complete) = (false, false);
    // After the last digest one more head is read: only then the checksum of the digest was verified.
    while let Some((kind, length)) = ChunkKind::read_head(stream)?
        && !is_complete
    {
        buffer.clear();
        let read = stream.take(length as u64).read_to_end(buffer)?;
        if read < length {
            return error(io::ErrorKind::UnexpectedEof, "is a damaged lean log");
        }
        amount.bytes += (CHUNK_HEAD + length) as u64;
        match kind {
            ChunkKind::Digest => is_covered = sink.digest(buffer),
            ChunkKind::LastDigest => {
                is_covered = sink.digest(buffer);
                is_complete = is_covered;
            }
            ChunkKind::Records if is_covered => {}
            ChunkKind::Records => {
                if !sink.lean(buffer) {
                    return error(
                        io::ErrorKind::Unsupported,
                        "is a lean log of an archive, which has no lines",
                    );
                }
            }
        }
        if sink.should_stop() {
            return Ok(());
        }
    }
    Ok(())
}

/// Detects the shape of a file as it is now.
pub fn shape_of(file: &mut File, limits: &Limits) -> io::Result<Shape> {
    // An undecided file has neither an object over several lines nor an array of objects.
    Ok(decided_shape(file, limits)?.unwrap_or(Shape::Lines))
}

/// The shape of a file, or `None` if bytes appended later could still decide it.
pub(super) fn decided_shape(file: &mut File, limits: &Limits) -> io::Result<Option<Shape>> {
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = Vec::new();
    let mut reader = BlockReader::new(file, 0, limits, &mut buffer);
    reader.skip_bom()?;
    loop {
        match sniff(reader.buffered(), false, limits.max_record) {
            Sniff::Decided(shape) => return Ok(Some(shape)),
            Sniff::Undecided(noise) => reader.consume(noise),
        }
        if reader.at_eof {
            return Ok(None);
        }
        reader.fill()?;
    }
}

impl BlockReader<'_> {
    fn run(&mut self, range: Range, sink: &mut dyn Sink) -> io::Result<()> {
        let mut end = range.end;
        if range.start > 0 {
            self.skip_line(end)?;
            self.first = self.offset;
            if end.is_some_and(|end| self.offset >= end) {
                return Ok(());
            }
        } else {
            if self.skip_bom()? {
                sink.raw(BOM);
            }
            // The line that begins with the byte order mark is in the range too.
            end = end.map(|end| end.max(self.offset + 1));
        }
        let shape = match range.shape {
            Some(shape) => shape,
            None => self.detect_shape(sink)?,
        };
        match shape {
            Shape::Lines => self.read_lines(end, sink),
            Shape::Document => self.read_document(sink),
        }
    }

    /// Skips the rest of a line that begins before the range, but not beyond the range: otherwise each of a
    /// hundred units within one long line would read that line to its end.
    fn skip_line(&mut self, end: Option<u64>) -> io::Result<()> {
        loop {
            let inside = end.map_or(u64::MAX, |end| end.saturating_sub(self.offset));
            let seen = self.buffered().len().min(usize::try_from(inside).unwrap_or(usize::MAX));
            if let Some(line_end) = memchr::memchr(b'\n', &self.buffered()[..seen]) {
                self.consume(line_end + 1);
                return Ok(());
            }
            self.consume(seen);
            if self.at_eof || end.is_some_and(|end| self.offset >= end) {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// Skips a byte order mark, and returns whether there was one.
    fn skip_bom(&mut self) -> io::Result<bool> {
        while !self.at_eof && self.buffered().len() < BOM.len() && BOM.starts_with(self.buffered()) {
            self.fill()?;
        }
        let has_bom = self.buffered().starts_with(BOM);
        if has_bom {
            self.consume(BOM.len());
        }
        Ok(has_bom)
    }

    fn sniff(&self) -> Sniff {
        sniff(self.buffered(), self.at_eof, self.limits.max_record)
    }

    /// Reads until the shape is known. Lines of noise before the first value are handed over at once.
    fn detect_shape(&mut self, sink: &mut dyn Sink) -> io::Result<Shape> {
        let mut next_check = 0;
        loop {
            let unseen = &self.buffered()[self.buffered().len().min(next_check / 2)..];
            // A long first value is examined again after a line feed, or when twice as much of it is
            // buffered.
            if self.at_eof || self.buffered().len() >= next_check || memchr::memchr(b'\n', unseen).is_some() {
                match self.sniff() {
                    Sniff::Decided(shape) => return Ok(shape),
                    Sniff::Undecided(noise) => self.emit_lines(noise, sink),
                }
                next_check = self.buffered().len() * 2;
            }
            if sink.should_stop() {
                return Ok(Shape::Lines);
            }
            self.fill()?;
        }
    }

    fn emit_lines(&mut self, count: usize, sink: &mut dyn Sink) {
        if count > 0 {
            self.line += sink.lines(self.offset, self.line, &self.buffer[self.start..self.start + count]);
            self.consume(count);
        }
    }

    fn read_lines(&mut self, end: Option<u64>, sink: &mut dyn Sink) -> io::Result<()> {
        let mut searched = 0;
        loop {
            if let Some(last) = self.last_line_of_range(end) {
                self.emit_lines(last, sink);
                return Ok(());
            }
            if let Some(last) = memchr::memrchr(b'\n', &self.buffered()[searched..]) {
                self.emit_lines(searched + last + 1, sink);
            }
            if sink.should_stop() {
                return Ok(());
            }
            if self.at_eof {
                self.emit_lines(self.buffered().len(), sink);
                return Ok(());
            }
            if self.buffered().len() > self.limits.max_record {
                if self.split_long_line(sink)? && end.is_some_and(|end| self.offset >= end) {
                    return Ok(());
                }
                searched = 0;
                continue;
            }
            searched = self.buffered().len();
            self.fill()?;
        }
    }

    /// Length of the remaining lines of the range, if the end of the last one is buffered.
    fn last_line_of_range(&self, end: Option<u64>) -> Option<usize> {
        let inside = usize::try_from(end?.saturating_sub(self.offset)).ok()?;
        let Some(from) = inside.checked_sub(1) else { return Some(0) };
        let line_end = memchr::memchr(b'\n', self.buffered().get(from..)?)?;
        Some(from + line_end + 1)
    }

    /// Splits a line that is longer than a record may be, block by block. Returns whether the line feed was
    /// reached.
    fn split_long_line(&mut self, sink: &mut dyn Sink) -> io::Result<bool> {
        let mut splitter = Splitter::line(self.offset, self.line, self.limits.max_record);
        let mut found = |sink: &mut dyn Sink, bytes: Option<&[u8]>| {
            let mut emit = |offset, line, piece: Piece<'_>| sink.piece(offset, line, piece);
            match bytes {
                Some(bytes) => splitter.feed(bytes, &mut emit),
                None => splitter.end(&mut emit),
            }
        };
        loop {
            let line_end = memchr::memchr(b'\n', self.buffered());
            let rest = line_end.unwrap_or(self.buffered().len());
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
            let content = rest - self.buffered()[..rest].iter().rev().take_while(blank).count();
            if line_end.is_some() || self.at_eof || sink.should_stop() {
                sink.raw(&self.buffered()[..line_end.map_or(rest, |end| end + 1)]);
                found(sink, Some(&self.buffered()[..content]));
                found(sink, None);
                self.consume(line_end.map_or(rest, |end| end + 1));
                self.line += 1;
                return Ok(line_end.is_some());
            }
            // Blanks are held back: at the end of a line they mean nothing, even within a truncated string.
            let only_blanks = content == 0 && rest > self.limits.max_record;
            let taken = if only_blanks { rest } else { content };
            sink.raw(&self.buffered()[..taken]);
            found(sink, Some(&self.buffered()[..taken]));
            self.consume(taken);
            self.fill()?;
        }
    }

    fn read_document(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let mut splitter = Splitter::document(self.offset, self.line, self.limits.max_record);
        let mut ends_line = true;
        let result = loop {
            let held = self.buffered().len();
            if let Some(last) = self.buffered().last() {
                ends_line = *last == b'\n';
                self.line += memchr::memchr_iter(b'\n', self.buffered()).count() as u64;
            }
            sink.raw(self.buffered());
            let emit = &mut |offset, line, piece: Piece<'_>| sink.piece(offset, line, piece);
            splitter.feed(&self.buffer[self.start..self.end], emit);
            self.consume(held);
            if self.at_eof || sink.should_stop() {
                break Ok(());
            }
            if let Err(error) = self.fill() {
                break Err(error);
            }
        };
        self.line += u64::from(!ends_line);
        splitter.end(&mut |offset, line, piece| sink.piece(offset, line, piece));
        result
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Counts lines.
    struct Lines(u64);

    impl Sink for Lines {
        fn lines(&mut self, _: u64, _: u64, block: &[u8]) -> u64 {
            let count = memchr::memchr_iter(b'\n', block).count() as u64;
            self.0 += count;
            count
        }
        fn piece(&mut self, _: u64, _: u64, _: Piece<'_>) {}
        fn should_stop(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_unit_within_a_long_line_is_not_read_beyond_its_end() {
        let mut log = tempfile::tempfile().unwrap();
        log.write_all(&[&[b'x'; 100_000][..], b"\nshort\n"].concat()).unwrap();
        let limits = Limits { block: 1000, ..Limits::default() };
        let mut bytes = Bytes::File(log);
        let mut read = |start, end| {
            let (mut lines, shape) = (Lines(0), Some(Shape::Lines));
            let range = Range { start, end: Some(end), shape };
            let (amount, result) = read_all(&mut bytes, range, &limits, &mut Vec::new(), &mut lines);
            result.unwrap();
            let Bytes::File(file) = &mut bytes else { panic!("it is a file") };
            (amount, lines.0, file.stream_position().unwrap())
        };
        let (amount, lines, until) = read(10_000, 20_000);
        assert_eq!((amount, lines), (Amount { first: 20_000, bytes: 0, lines: 0 }, 0));
        assert!(until < 22_000, "{until}");
        // A line that begins at the start of the next unit belongs to the next unit.
        assert_eq!(read(90_000, 100_001).1, 0);
        assert_eq!(read(100_001, 100_007).1, 1);
        assert_eq!(read(90_000, 100_002).1, 1);
    }
}
