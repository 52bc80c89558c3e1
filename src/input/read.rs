//! Reading: a reused buffer, whole lines at a time, compressed or not, in flat memory.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use super::{
    Bytes, Piece, Shape, Splitter,
    buffer::Reader,
    shape::{Sniff, sniff},
};

/// How much is read, kept and cut at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A record larger than this many bytes is one invalid record.
    pub max_record: usize,
    /// Bytes that are read at once. Reads of 128 KiB to 4 MiB cost the same.
    pub block: usize,
    /// Files larger than this many bytes are read in several units.
    pub unit: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_record: 64 << 20, block: 256 << 10, unit: 8 << 20 }
    }
}

/// The byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Who takes what is read.
pub trait Sink {
    /// Whole lines, the last one perhaps without its end; how many they are.
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64;
    /// A piece of something that is not simply one object per line.
    fn piece(&mut self, offset: u64, line: u64, found: Piece<'_>);
    /// Bytes that are not handed over as lines, all of them, before what is found in them.
    fn raw(&mut self, _bytes: &[u8]) {}
    /// Whether to stop here.
    fn should_stop(&self) -> bool;
}

/// Which lines of a source to read: those that begin in here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte; `None` up to the end of the source.
    pub end: Option<u64>,
    /// The shape, where it is known already.
    pub shape: Option<Shape>,
}

impl Range {
    /// The whole source, whatever its shape.
    pub const ALL: Self = Self { start: 0, end: None, shape: None };
}

/// Bytes and lines that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Where the first line begins.
    pub first: u64,
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Physical lines.
    pub lines: u64,
}

/// Reads what begins in a range, and how much that was; after an error, how much it was until then. The buffer is the
/// caller's, so that ten thousand small files need but one.
pub fn read_all(
    bytes: &mut Bytes,
    range: Range,
    limits: &Limits,
    buffer: &mut Vec<u8>,
    sink: &mut dyn Sink,
) -> (Amount, io::Result<()>) {
    let mut reader: Box<dyn Read + '_> = match bytes {
        Bytes::Stream(stream) => Box::new(stream),
        Bytes::File(file) => {
            // The line that begins at `start` is ours only if the byte before it ends a line.
            if range.start > 0
                && let Err(error) = file.seek(SeekFrom::Start(range.start - 1))
            {
                return (Amount::default(), Err(error));
            }
            Box::new(file)
        }
    };
    let mut reader = Reader::new(&mut *reader, range.start.saturating_sub(1), limits, buffer);
    let result = reader.run(range, sink);
    let bytes = reader.offset.saturating_sub(reader.first);
    (Amount { first: reader.first, bytes, lines: reader.line }, result)
}

/// The shape of a file; of one that ends before it is decided, what it is by then.
pub fn shape_of(file: &mut File, limits: &Limits) -> io::Result<Shape> {
    // Where nothing is decided there was no object to go on, and no array of any.
    Ok(settled_shape(file, limits)?.unwrap_or(Shape::Lines))
}

/// The shape of a file, if it is decided whatever may be written behind it.
pub(super) fn settled_shape(file: &mut File, limits: &Limits) -> io::Result<Option<Shape>> {
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = Vec::new();
    let mut reader = Reader::new(file, 0, limits, &mut buffer);
    reader.skip_mark()?;
    loop {
        match sniff(reader.held(), false, limits.max_record) {
            Sniff::Is(shape) => return Ok(Some(shape)),
            Sniff::More(noise) => reader.consume(noise),
        }
        if reader.ended {
            return Ok(None);
        }
        reader.fill()?;
    }
}

impl Reader<'_> {
    fn run(&mut self, range: Range, sink: &mut dyn Sink) -> io::Result<()> {
        let mut end = range.end;
        if range.start > 0 {
            self.skip_line(end)?;
            self.first = self.offset;
            if end.is_some_and(|end| self.offset >= end) {
                return Ok(());
            }
        } else {
            if self.skip_mark()? {
                sink.raw(MARK);
            }
            end = end.map(|end| end.max(self.offset + 1)); // the line that the mark begins is ours too
        }
        let shape = match range.shape {
            Some(shape) => shape,
            None => self.find_shape(sink)?,
        };
        match shape {
            Shape::Lines => self.lines(end, sink),
            Shape::Document => self.document(sink),
        }
    }

    /// Passes over the rest of a line that begins before the range, but not beyond the range: a line as long as a hundred
    /// units would be read by each of them to its end.
    fn skip_line(&mut self, end: Option<u64>) -> io::Result<()> {
        loop {
            let inside = end.map_or(u64::MAX, |end| end.saturating_sub(self.offset));
            let seen = self.held().len().min(usize::try_from(inside).unwrap_or(usize::MAX));
            if let Some(line_end) = memchr::memchr(b'\n', &self.held()[..seen]) {
                self.consume(line_end + 1);
                return Ok(());
            }
            self.consume(seen);
            if self.ended || end.is_some_and(|end| self.offset >= end) {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// Passes over a byte order mark, if there is one.
    fn skip_mark(&mut self) -> io::Result<bool> {
        while !self.ended && self.held().len() < MARK.len() && MARK.starts_with(self.held()) {
            self.fill()?;
        }
        let marked = self.held().starts_with(MARK);
        if marked {
            self.consume(MARK.len());
        }
        Ok(marked)
    }

    fn sniff(&self) -> Sniff {
        sniff(self.held(), self.ended, self.limits.max_record)
    }

    /// Reads on until the shape is known; noise before the first value is noise in either shape.
    fn find_shape(&mut self, sink: &mut dyn Sink) -> io::Result<Shape> {
        let mut next_look = 0;
        loop {
            let news = &self.held()[self.held().len().min(next_look / 2)..];
            // A long first value is looked at again when there is a line's end or twice as much of it.
            if self.ended || self.held().len() >= next_look || memchr::memchr(b'\n', news).is_some() {
                match self.sniff() {
                    Sniff::Is(shape) => return Ok(shape),
                    Sniff::More(noise) => self.hand_over(noise, sink),
                }
                next_look = self.held().len() * 2;
            }
            if sink.should_stop() {
                return Ok(Shape::Lines);
            }
            self.fill()?;
        }
    }

    fn hand_over(&mut self, count: usize, sink: &mut dyn Sink) {
        if count > 0 {
            self.line += sink.lines(self.offset, self.line, &self.buffer[self.start..self.start + count]);
            self.consume(count);
        }
    }

    fn lines(&mut self, end: Option<u64>, sink: &mut dyn Sink) -> io::Result<()> {
        let mut searched = 0;
        loop {
            if let Some(last) = self.last_line_of_range(end) {
                self.hand_over(last, sink);
                return Ok(());
            }
            if let Some(last) = memchr::memrchr(b'\n', &self.held()[searched..]) {
                self.hand_over(searched + last + 1, sink);
            }
            if sink.should_stop() {
                return Ok(());
            }
            if self.ended {
                self.hand_over(self.held().len(), sink);
                return Ok(());
            }
            if self.held().len() > self.limits.max_record {
                if self.long_line(sink)? && end.is_some_and(|end| self.offset >= end) {
                    return Ok(());
                }
                searched = 0;
                continue;
            }
            searched = self.held().len();
            self.fill()?;
        }
    }

    /// How many bytes the last lines of the range take, if their end is in sight.
    fn last_line_of_range(&self, end: Option<u64>) -> Option<usize> {
        let inside = usize::try_from(end?.saturating_sub(self.offset)).ok()?;
        let Some(from) = inside.checked_sub(1) else { return Some(0) };
        let line_end = memchr::memchr(b'\n', self.held().get(from..)?)?;
        Some(from + line_end + 1)
    }

    /// A line that is longer than a record may be: cut as it comes, and not kept. Whether its end was seen.
    fn long_line(&mut self, sink: &mut dyn Sink) -> io::Result<bool> {
        let mut splitter = Splitter::line(self.offset, self.line, self.limits.max_record);
        let mut found = |sink: &mut dyn Sink, bytes: Option<&[u8]>| {
            let mut tell = |offset, line, what: Piece<'_>| sink.piece(offset, line, what);
            match bytes {
                Some(bytes) => splitter.feed(bytes, &mut tell),
                None => splitter.end(&mut tell),
            }
        };
        loop {
            let line_end = memchr::memchr(b'\n', self.held());
            let rest = line_end.unwrap_or(self.held().len());
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
            let solid = rest - self.held()[..rest].iter().rev().take_while(blank).count();
            if line_end.is_some() || self.ended || sink.should_stop() {
                sink.raw(&self.held()[..line_end.map_or(rest, |end| end + 1)]);
                found(sink, Some(&self.held()[..solid]));
                found(sink, None);
                self.consume(line_end.map_or(rest, |end| end + 1));
                self.line += 1;
                return Ok(line_end.is_some());
            }
            // Blanks may turn out to be the end of the line, where they mean nothing even in a torn string.
            let endless = solid == 0 && rest > self.limits.max_record;
            let taken = if endless { rest } else { solid };
            sink.raw(&self.held()[..taken]);
            found(sink, Some(&self.held()[..taken]));
            self.consume(taken);
            self.fill()?;
        }
    }

    fn document(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let mut splitter = Splitter::document(self.offset, self.line, self.limits.max_record);
        let mut ends_line = true;
        let result = loop {
            let held = self.held().len();
            if let Some(last) = self.held().last() {
                ends_line = *last == b'\n';
                self.line += memchr::memchr_iter(b'\n', self.held()).count() as u64;
            }
            sink.raw(self.held());
            let tell = &mut |offset, line, what: Piece<'_>| sink.piece(offset, line, what);
            splitter.feed(&self.buffer[self.start..self.end], tell);
            self.consume(held);
            if self.ended || sink.should_stop() {
                break Ok(());
            }
            if let Err(error) = self.fill() {
                break Err(error);
            }
        };
        self.line += u64::from(!ends_line);
        splitter.end(&mut |offset, line, what| sink.piece(offset, line, what));
        result
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Counts lines and forgets them.
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
    fn a_unit_inside_of_a_long_line_is_not_read_beyond_its_end() {
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
        // The line that begins with the next unit is not this one's, and the next unit finds it.
        assert_eq!(read(90_000, 100_001).1, 0);
        assert_eq!(read(100_001, 100_007).1, 1);
        assert_eq!(read(90_000, 100_002).1, 1);
    }
}
