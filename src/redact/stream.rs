//! One source as it is read: records are replaced one by one, and what stands between them as it comes.

use std::io::{self, Write};

use super::{Redactor, fill::Fill};
use crate::input::{Piece, Sink, Splitter, Stop};

/// The mark that a file may begin with.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that are written at once.
const BLOCK: usize = 256 << 10;

/// Takes what is read of one source, and writes it without its texts.
pub struct Redacting<'a> {
    redactor: &'a mut Redactor,
    out: &'a mut dyn Write,
    stop: &'a Stop,
    max_record: usize,
    /// What is to be written.
    ready: Vec<u8>,
    /// What came and belongs to no record yet.
    held: Vec<u8>,
    /// Offset of its first byte.
    offset: u64,
    fill: Fill,
    records: u64,
    failed: Option<io::Error>,
}

impl<'a> Redacting<'a> {
    /// A source of which nothing was read, and where it goes. Records larger than the limit are none.
    pub fn new(
        redactor: &'a mut Redactor,
        max_record: usize,
        stop: &'a Stop,
        out: &'a mut dyn Write,
    ) -> Self {
        let (ready, held, fill) = (Vec::new(), Vec::new(), Fill::default());
        Self { redactor, out, stop, max_record, ready, held, offset: 0, fill, records: 0, failed: None }
    }

    /// Writes what is left; how many records there were.
    pub fn finish(mut self) -> io::Result<u64> {
        self.release(self.held.len());
        self.write(0);
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.records),
        }
    }

    fn write(&mut self, most: usize) {
        if self.ready.len() > most && self.failed.is_none() {
            self.failed = self.out.write_all(&self.ready).err();
        }
        if self.ready.len() > most || self.failed.is_some() {
            self.ready.clear();
        }
    }

    /// Lets the first of the held bytes go, as what they are: no record.
    fn release(&mut self, count: usize) {
        self.fill.feed(&self.held[..count], &mut self.ready);
        self.held.drain(..count);
        self.offset += count as u64;
        self.write(BLOCK);
    }

    /// Holds bytes until it is known whether they are records.
    fn hold(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        // What turns out to be a record is no longer than a record may be, so what came before it is none.
        if self.held.len() > self.max_record.saturating_mul(2).max(BLOCK) {
            let mut count = self.held.len() - self.max_record;
            // A character stays whole.
            let inside = |byte: &u8| *byte & 0xc0 == 0x80;
            count -= self.held[..count].iter().rev().take(4).take_while(|byte| inside(byte)).count().min(3);
            let lead = self.held[..count].last().is_some_and(|byte| *byte >= 0xc0);
            self.release(count - usize::from(lead));
        }
    }

    /// Something was found in what is held.
    fn redact_piece(&mut self, offset: u64, found: Piece<'_>) {
        let Piece::Value(bytes) = found else { return };
        let Some(start) = offset.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok())
        else {
            return;
        };
        let mut record = Vec::with_capacity(bytes.len());
        if self.held.get(start..start + bytes.len()) == Some(bytes)
            && self.redactor.record(bytes, &mut record)
        {
            self.release(start);
            self.ready.append(&mut record);
            self.held.drain(..bytes.len());
            self.offset += bytes.len() as u64;
            self.fill.pass();
            self.records += 1;
            self.write(BLOCK);
        }
    }

    /// One line with its end.
    fn line(&mut self, offset: u64, number: u64, line: &[u8]) {
        let end = usize::from(line.last() == Some(&b'\n'));
        let (whole, end) = line.split_at(line.len() - end);
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        let skipped = whole.iter().take_while(|byte| blank(byte) || **byte == 0).count();
        let trailing = whole[skipped..].iter().rev().take_while(|byte| blank(byte)).count();
        let (before, rest) = whole.split_at(skipped);
        let (bytes, after) = rest.split_at(rest.len() - trailing);
        self.ready.extend_from_slice(before);
        let is_record = whole.len() <= self.max_record && self.redactor.record(bytes, &mut self.ready);
        if is_record {
            self.records += 1;
        } else {
            self.pieces(offset + skipped as u64, number, bytes);
        }
        self.ready.extend_from_slice(after);
        self.ready.extend_from_slice(end);
    }

    /// A line that is not simply a record: there may be some on it.
    fn pieces(&mut self, offset: u64, number: u64, bytes: &[u8]) {
        (self.offset, self.fill) = (offset, Fill::default());
        self.held.extend_from_slice(bytes);
        let mut splitter = Splitter::line(offset, number, self.max_record);
        splitter.feed(bytes, &mut |offset, _, found| self.redact_piece(offset, found));
        splitter.end(&mut |offset, _, found| self.redact_piece(offset, found));
        self.release(self.held.len());
    }
}

impl Sink for Redacting<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        self.release(self.held.len());
        let (mut start, mut count) = (0, 0);
        while start < block.len() {
            let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end + 1);
            self.line(offset + start as u64, line + count, &block[start..end]);
            self.write(BLOCK);
            start = end;
            count += 1;
        }
        self.offset = offset + block.len() as u64;
        self.fill = Fill::default();
        count
    }

    fn raw(&mut self, bytes: &[u8]) {
        if self.offset == 0 && self.held.is_empty() && bytes == MARK {
            self.ready.extend_from_slice(bytes);
            self.offset = MARK.len() as u64;
        } else {
            self.hold(bytes);
        }
    }

    fn piece(&mut self, offset: u64, _line: u64, piece: Piece<'_>) {
        self.redact_piece(offset, piece);
    }

    fn should_stop(&self) -> bool {
        self.failed.is_some() || self.stop.is_set()
    }
}
