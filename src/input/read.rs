//! Reading: a reused buffer, whole lines at a time, compressed or not, in flat memory.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::Duration,
};

use super::{
    Cutter, Found, Origin, Shape,
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

/// A wish to stop reading, which anyone may set at any time.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Who takes what is read.
pub trait Feed {
    /// Whole lines, the last one perhaps without its end; how many they are.
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64;
    /// A piece of something that is not simply one object per line.
    fn found(&mut self, offset: u64, line: u64, found: Found<'_>);
    /// Whether to stop here.
    fn stopped(&self) -> bool;
}

/// The bytes of a source.
pub enum Bytes {
    /// A file that may be read in several places at once; its length.
    File(File, u64),
    /// What can only be read from front to back.
    Stream(Box<dyn Read + Send>),
}

/// A source that could be opened.
pub struct Opened {
    /// Its bytes.
    pub bytes: Bytes,
    /// Bytes on the disk, where that is known.
    pub stored: Option<u64>,
}

impl Opened {
    /// Opens a source. What is compressed is known by its first bytes, whatever its name.
    pub fn open(origin: &Origin, stop: &Stop) -> io::Result<Self> {
        match origin {
            Origin::Stdin => Ok(Self { bytes: plain(Box::new(stream_stdin(stop)))?, stored: None }),
            Origin::File(path) => Self::open_file(path),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    fn open_file(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
        }
        if !about.is_file() {
            return Ok(Self { bytes: plain(Box::new(file))?, stored: None });
        }
        let (head, length) = magic(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let bytes = match Packing::of(&head[..length]) {
            None => Bytes::File(file, about.len()),
            Some(packing) => Bytes::Stream(packing.unpack(Box::new(file))?),
        };
        Ok(Self { bytes, stored: Some(about.len()) })
    }
}

/// A stream as it is, or unpacked.
fn plain(mut stream: Box<dyn Read + Send>) -> io::Result<Bytes> {
    let (head, length) = magic(&mut stream)?;
    let packing = Packing::of(&head[..length]);
    let head = Cursor::new(head[..length].to_vec());
    let whole: Box<dyn Read + Send> = Box::new(head.chain(stream));
    Ok(Bytes::Stream(match packing {
        None => whole,
        Some(packing) => packing.unpack(whole)?,
    }))
}

fn magic(reader: &mut dyn Read) -> io::Result<([u8; 4], usize)> {
    let mut head = [0; 4];
    let mut length = 0;
    while length < head.len() {
        match reader.read(&mut head[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !b"\x1f\x8b".starts_with(&head[..length.min(2)]) && !ZSTD.starts_with(&head[..length]) {
            break; // a live pipe must not wait for four bytes
        }
    }
    Ok((head, length))
}

const ZSTD: &[u8; 4] = b"\x28\xb5\x2f\xfd";

enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            _ if head == ZSTD => Some(Self::Zstd),
            _ => None,
        }
    }

    /// All members or frames, one after another.
    fn unpack(self, packed: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(128 << 10, packed)))
            }
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
        })
    }
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
    /// Bytes, after decompression.
    pub bytes: u64,
    /// Physical lines.
    pub lines: u64,
}

/// Reads what begins in a range, and how much that was; after an error, how much it was until then.
pub fn read_all(
    bytes: &mut Bytes,
    range: Range,
    limits: &Limits,
    feed: &mut dyn Feed,
) -> (Amount, io::Result<()>) {
    let mut reader: Box<dyn Read + '_> = match bytes {
        Bytes::Stream(stream) => Box::new(stream),
        Bytes::File(file, _) => {
            // The line that begins at `start` is ours only if the byte before it ends a line.
            if let Err(error) = file.seek(SeekFrom::Start(range.start.saturating_sub(1))) {
                return (Amount::default(), Err(error));
            }
            Box::new(file)
        }
    };
    let mut reader = Reader::new(&mut *reader, range.start.saturating_sub(1), limits);
    let result = reader.run(range, feed);
    let bytes = reader.offset.saturating_sub(reader.first);
    (Amount { bytes, lines: reader.line }, result)
}

/// How far the shape of a source could be told.
pub fn shape_of(file: &mut File, limits: &Limits) -> io::Result<Shape> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = Reader::new(file, 0, limits);
    reader.skip_mark()?;
    loop {
        match reader.sniff() {
            Sniff::Is(shape) => return Ok(shape),
            Sniff::More(noise) => reader.consume(noise),
        }
        reader.fill()?;
    }
}

/// A buffer over a reader.
struct Reader<'r> {
    reader: &'r mut dyn Read,
    limits: &'r Limits,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]` in the source.
    offset: u64,
    /// Offset of the first byte that is ours.
    first: u64,
    /// Lines before it that are ours.
    line: u64,
    ended: bool,
}

impl<'r> Reader<'r> {
    fn new(reader: &'r mut dyn Read, offset: u64, limits: &'r Limits) -> Self {
        let buffer = vec![0; limits.block.max(16)];
        Self { reader, limits, buffer, start: 0, end: 0, offset, first: offset, line: 0, ended: false }
    }

    fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Reads once, behind what is held. The buffer grows for a long line, and shrinks after it.
    fn fill(&mut self) -> io::Result<()> {
        let block = self.limits.block.max(16);
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.end * 2, 0);
        } else if self.end < block && self.buffer.len() > block {
            self.buffer.truncate(block);
            self.buffer.shrink_to_fit();
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
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

    fn run(&mut self, range: Range, feed: &mut dyn Feed) -> io::Result<()> {
        let mut end = range.end;
        if range.start > 0 {
            self.skip_line()?;
            self.first = self.offset;
            if end.is_some_and(|end| self.offset >= end) {
                return Ok(());
            }
        } else {
            self.skip_mark()?;
            end = end.map(|end| end.max(self.offset + 1)); // the line that the mark begins is ours too
        }
        let shape = match range.shape {
            Some(shape) => shape,
            None => self.find_shape(feed)?,
        };
        match shape {
            Shape::Lines => self.lines(end, feed),
            Shape::Document => self.document(feed),
        }
    }

    /// Passes over the rest of a line that begins before the range.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', self.held()) {
                self.consume(end + 1);
                return Ok(());
            }
            self.consume(self.held().len());
            if self.ended {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// Passes over a byte order mark.
    fn skip_mark(&mut self) -> io::Result<()> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        while !self.ended && self.held().len() < MARK.len() && MARK.starts_with(self.held()) {
            self.fill()?;
        }
        if self.held().starts_with(MARK) {
            self.consume(MARK.len());
        }
        Ok(())
    }

    fn sniff(&self) -> Sniff {
        sniff(self.held(), self.ended, self.limits.max_record)
    }

    /// Reads on until the shape is known; noise before the first value is noise in either shape.
    fn find_shape(&mut self, feed: &mut dyn Feed) -> io::Result<Shape> {
        let mut next_look = 0;
        loop {
            let news = &self.held()[self.held().len().min(next_look / 2)..];
            // A long first value is looked at again when there is a line's end or twice as much of it.
            if self.ended || self.held().len() >= next_look || memchr::memchr(b'\n', news).is_some() {
                match self.sniff() {
                    Sniff::Is(shape) => return Ok(shape),
                    Sniff::More(noise) => self.hand_over(noise, feed),
                }
                next_look = self.held().len() * 2;
            }
            if feed.stopped() {
                return Ok(Shape::Lines);
            }
            self.fill()?;
        }
    }

    fn hand_over(&mut self, count: usize, feed: &mut dyn Feed) {
        if count > 0 {
            self.line += feed.lines(self.offset, self.line, &self.buffer[self.start..self.start + count]);
            self.consume(count);
        }
    }

    fn lines(&mut self, end: Option<u64>, feed: &mut dyn Feed) -> io::Result<()> {
        let mut searched = 0;
        loop {
            if let Some(last) = self.last_line_of_range(end) {
                self.hand_over(last, feed);
                return Ok(());
            }
            if let Some(last) = memchr::memrchr(b'\n', &self.held()[searched..]) {
                self.hand_over(searched + last + 1, feed);
            }
            if feed.stopped() {
                return Ok(());
            }
            if self.ended {
                self.hand_over(self.held().len(), feed);
                return Ok(());
            }
            if self.held().len() > self.limits.max_record {
                if self.long_line(feed)? && end.is_some_and(|end| self.offset >= end) {
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
    fn long_line(&mut self, feed: &mut dyn Feed) -> io::Result<bool> {
        let mut cutter = Cutter::line(self.offset, self.line, self.limits.max_record);
        let mut found = |feed: &mut dyn Feed, bytes: Option<&[u8]>| {
            let mut tell = |offset, line, what: Found<'_>| feed.found(offset, line, what);
            match bytes {
                Some(bytes) => cutter.feed(bytes, &mut tell),
                None => cutter.end(&mut tell),
            }
        };
        loop {
            let line_end = memchr::memchr(b'\n', self.held());
            let rest = line_end.unwrap_or(self.held().len());
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
            let solid = rest - self.held()[..rest].iter().rev().take_while(blank).count();
            if line_end.is_some() || self.ended || feed.stopped() {
                found(feed, Some(&self.held()[..solid]));
                found(feed, None);
                self.consume(line_end.map_or(rest, |end| end + 1));
                self.line += 1;
                return Ok(line_end.is_some());
            }
            // Blanks may turn out to be the end of the line, where they mean nothing even in a torn string.
            let endless = solid == 0 && rest > self.limits.max_record;
            let taken = if endless { rest } else { solid };
            found(feed, Some(&self.held()[..taken]));
            self.consume(taken);
            self.fill()?;
        }
    }

    fn document(&mut self, feed: &mut dyn Feed) -> io::Result<()> {
        let mut cutter = Cutter::document(self.offset, self.line, self.limits.max_record);
        let mut ends_line = true;
        let result = loop {
            let held = self.held().len();
            if let Some(last) = self.held().last() {
                ends_line = *last == b'\n';
                self.line += memchr::memchr_iter(b'\n', self.held()).count() as u64;
            }
            let tell = &mut |offset, line, what: Found<'_>| feed.found(offset, line, what);
            cutter.feed(&self.buffer[self.start..self.end], tell);
            self.consume(held);
            if self.ended || feed.stopped() {
                break Ok(());
            }
            if let Err(error) = self.fill() {
                break Err(error);
            }
        };
        self.line += u64::from(!ends_line);
        cutter.end(&mut |offset, line, what| feed.found(offset, line, what));
        result
    }
}

/// Standard input, read by a thread of its own that waits only when its few blocks are full. A stop is noticed while
/// nothing arrives.
fn stream_stdin(stop: &Stop) -> impl Read + Send + use<> {
    const BLOCK: usize = 256 << 10;
    const BLOCKS: usize = 4;
    let (sender, receiver) = sync_channel::<io::Result<Vec<u8>>>(BLOCKS);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut block = vec![0; BLOCK];
            let result = stdin.read(&mut block).map(|count| {
                block.truncate(count);
                block
            });
            let over = !matches!(&result, Ok(block) if !block.is_empty());
            let retry = matches!(&result, Err(error) if error.kind() == io::ErrorKind::Interrupted);
            if !retry && (sender.send(result).is_err() || over) {
                return;
            }
        }
    });
    Piped { receiver, block: Cursor::default(), stop: stop.clone() }
}

struct Piped {
    receiver: Receiver<io::Result<Vec<u8>>>,
    block: Cursor<Vec<u8>>,
    stop: Stop,
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.block.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            match self.receiver.recv_timeout(Duration::from_millis(100)) {
                Ok(block) => self.block = Cursor::new(block?),
                Err(RecvTimeoutError::Timeout) if !self.stop.is_set() => continue,
                Err(_) => return Ok(0),
            }
            if self.block.get_ref().is_empty() {
                return Ok(0);
            }
        }
    }
}
