//! Redacts one source while it is read: records one by one, and the bytes between them by masking.

use std::io::{self, Write};

use super::{Redactor, mask::Mask};
use crate::input::{Piece, Sink, Splitter, Stop};

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Output is written in blocks of about this many bytes.
const BLOCK: usize = 256 << 10;

/// Receives the bytes of one source and writes them without their texts.
pub struct StreamRedactor<'a> {
    redactor: &'a mut Redactor,
    out: &'a mut dyn Write,
    stop: &'a Stop,
    max_record: usize,
    /// Redacted bytes that are not written yet.
    output: Vec<u8>,
    /// Received bytes that may still turn out to be part of a record.
    pending: Vec<u8>,
    /// Offset of the first pending byte.
    offset: u64,
    mask: Mask,
    records: u64,
    error: Option<io::Error>,
}

impl<'a> StreamRedactor<'a> {
    /// Starts a new source. Values larger than `max_record` do not count as records.
    pub fn new(
        redactor: &'a mut Redactor,
        max_record: usize,
        stop: &'a Stop,
        out: &'a mut dyn Write,
    ) -> Self {
        let (output, pending, mask) = (Vec::new(), Vec::new(), Mask::default());
        Self { redactor, out, stop, max_record, output, pending, offset: 0, mask, records: 0, error: None }
    }

    /// Writes the remaining bytes and returns the number of records.
    pub fn finish(mut self) -> io::Result<u64> {
        self.mask_pending(self.pending.len());
        self.flush(0);
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.records),
        }
    }

    /// Writes the output if it has more than `limit` bytes. After an error it is discarded.
    fn flush(&mut self, limit: usize) {
        if self.output.len() > limit && self.error.is_none() {
            self.error = self.out.write_all(&self.output).err();
        }
        if self.output.len() > limit || self.error.is_some() {
            self.output.clear();
        }
    }

    /// Masks the first `count` pending bytes, which are not part of a record.
    fn mask_pending(&mut self, count: usize) {
        self.mask.feed(&self.pending[..count], &mut self.output);
        self.pending.drain(..count);
        self.offset += count as u64;
        self.flush(BLOCK);
    }

    /// Keeps bytes until it is known whether they are part of a record.
    fn keep_pending(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        // A record has at most `max_record` bytes, so earlier bytes cannot be part of one that is still open.
        if self.pending.len() > self.max_record.saturating_mul(2).max(BLOCK) {
            let mut count = self.pending.len() - self.max_record;
            // Do not cut inside a UTF-8 character.
            let inside = |byte: &u8| *byte & 0xc0 == 0x80;
            count -=
                self.pending[..count].iter().rev().take(4).take_while(|byte| inside(byte)).count().min(3);
            let lead = self.pending[..count].last().is_some_and(|byte| *byte >= 0xc0);
            self.mask_pending(count - usize::from(lead));
        }
    }

    /// Redacts a value that was found in the pending bytes, if it is a record, and masks the bytes before it.
    fn redact_value(&mut self, offset: u64, piece: Piece<'_>) {
        let Piece::Value(bytes) = piece else { return };
        let Some(start) = offset.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok())
        else {
            return;
        };
        let mut record = Vec::with_capacity(bytes.len());
        if self.pending.get(start..start + bytes.len()) == Some(bytes)
            && self.redactor.record(bytes, &mut record)
        {
            self.mask_pending(start);
            self.output.append(&mut record);
            self.pending.drain(..bytes.len());
            self.offset += bytes.len() as u64;
            self.mask.skip_record();
            self.records += 1;
            self.flush(BLOCK);
        }
    }

    /// Redacts one line, given with its line end.
    fn line(&mut self, offset: u64, number: u64, line: &[u8]) {
        let end = usize::from(line.last() == Some(&b'\n'));
        let (whole, end) = line.split_at(line.len() - end);
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        let skipped = whole.iter().take_while(|byte| blank(byte) || **byte == 0).count();
        let trailing = whole[skipped..].iter().rev().take_while(|byte| blank(byte)).count();
        let (before, rest) = whole.split_at(skipped);
        let (bytes, after) = rest.split_at(rest.len() - trailing);
        self.output.extend_from_slice(before);
        let is_record = whole.len() <= self.max_record && self.redactor.record(bytes, &mut self.output);
        if is_record {
            self.records += 1;
        } else {
            self.split_line(offset + skipped as u64, number, bytes);
        }
        self.output.extend_from_slice(after);
        self.output.extend_from_slice(end);
    }

    /// Redacts a line that is not exactly one record. It may contain several.
    fn split_line(&mut self, offset: u64, number: u64, bytes: &[u8]) {
        (self.offset, self.mask) = (offset, Mask::default());
        self.pending.extend_from_slice(bytes);
        let mut splitter = Splitter::line(offset, number, self.max_record);
        splitter.feed(bytes, &mut |offset, _, piece| self.redact_value(offset, piece));
        splitter.end(&mut |offset, _, piece| self.redact_value(offset, piece));
        self.mask_pending(self.pending.len());
    }
}

impl Sink for StreamRedactor<'_> {
    fn lines(&mut self, offset: u64, line: u64, block: &[u8]) -> u64 {
        self.mask_pending(self.pending.len());
        let (mut start, mut count) = (0, 0);
        while start < block.len() {
            let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end + 1);
            self.line(offset + start as u64, line + count, &block[start..end]);
            self.flush(BLOCK);
            start = end;
            count += 1;
        }
        self.offset = offset + block.len() as u64;
        self.mask = Mask::default();
        count
    }

    fn raw(&mut self, bytes: &[u8]) {
        if self.offset == 0 && self.pending.is_empty() && bytes == BOM {
            self.output.extend_from_slice(bytes);
            self.offset = BOM.len() as u64;
        } else {
            self.keep_pending(bytes);
        }
    }

    fn piece(&mut self, offset: u64, _line: u64, piece: Piece<'_>) {
        self.redact_value(offset, piece);
    }

    fn should_stop(&self) -> bool {
        self.error.is_some() || self.stop.is_set()
    }
}
