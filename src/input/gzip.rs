//! A gzip reader that returns every byte before a corruption.
//!
//! flate2's `MultiGzDecoder` returns either bytes or an error per call: bytes that it decompressed in the
//! same call as the error are lost, which is up to a block of good lines. This reader returns them first and
//! the error on the next call.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Flags of a member header: the optional fields between the fixed header and the content.
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// Decompresses all members, one after another.
pub(super) struct GzipReader<R> {
    compressed: R,
    inflate: Decompress,
    crc: Crc,
    section: Section,
    /// The error to return on the next call.
    pending_error: Option<io::Error>,
}

/// The section of the file that is read next.
enum Section {
    /// The header of a member. After the first member, the file may also end here.
    Member {
        first: bool,
    },
    Content,
    /// Checksum and length of a member.
    Trailer,
}

impl<R: BufRead> GzipReader<R> {
    pub(super) fn new(compressed: R) -> Self {
        let section = Section::Member { first: true };
        Self { compressed, inflate: Decompress::new(false), crc: Crc::new(), section, pending_error: None }
    }

    /// Skips the header of a member.
    fn header(&mut self) -> io::Result<()> {
        let mut header = [0; 10];
        self.compressed.read_exact(&mut header)?;
        let [0x1f, 0x8b, 8, flags, ..] = header else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "invalid gzip header"));
        };
        if flags & EXTRA != 0 {
            let mut length = [0; 2];
            self.compressed.read_exact(&mut length)?;
            self.skip(u16::from_le_bytes(length).into())?;
        }
        for _ in [NAME, COMMENT].iter().filter(|flag| flags & **flag != 0) {
            self.compressed.skip_until(0)?; // a field without an end is reported by the next read
        }
        self.skip(if flags & HEADER_CRC != 0 { 2 } else { 0 })
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.compressed.by_ref().take(count), &mut io::sink())?;
        if skipped < count { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Decompresses once. Returns the number of bytes, and the error that follows them.
    fn content(&mut self, buffer: &mut [u8]) -> (usize, io::Result<()>) {
        let compressed = match self.compressed.fill_buf() {
            Ok(compressed) => compressed,
            Err(error) => return (0, Err(error)),
        };
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let (ended, flush) = match compressed {
            [] => (true, FlushDecompress::Finish),
            _ => (false, FlushDecompress::None),
        };
        let status = self.inflate.decompress(compressed, buffer, flush);
        let grown = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
        let (taken, count) =
            (grown(self.inflate.total_in(), before.0), grown(self.inflate.total_out(), before.1));
        self.compressed.consume(taken);
        self.crc.update(&buffer[..count]);
        let result = match status {
            Ok(Status::StreamEnd) => {
                self.section = Section::Trailer;
                Ok(())
            }
            Ok(_) if taken > 0 || count > 0 => Ok(()),
            Ok(_) if ended => Err(ErrorKind::UnexpectedEof.into()),
            _ => Err(io::Error::new(ErrorKind::InvalidInput, "corrupt deflate stream")),
        };
        (count, result)
    }

    fn trailer(&mut self) -> io::Result<()> {
        let mut trailer = [0; 8];
        self.compressed.read_exact(&mut trailer)?;
        let wanted = [self.crc.sum(), self.crc.amount()].map(u32::to_le_bytes);
        if trailer != *wanted.as_flattened() {
            let message = "corrupt gzip stream does not have a matching checksum";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(pending_error) = self.pending_error.take() {
                return Err(pending_error);
            }
            match self.section {
                Section::Member { first: false } if self.compressed.fill_buf()?.is_empty() => return Ok(0),
                Section::Member { .. } => {
                    self.header()?;
                    self.inflate.reset(false);
                    self.crc.reset();
                    self.section = Section::Content;
                }
                Section::Content => {
                    let (count, result) = self.content(buffer);
                    self.pending_error = result.err();
                    if count > 0 {
                        return Ok(count);
                    }
                }
                Section::Trailer => {
                    self.trailer()?;
                    self.section = Section::Member { first: false };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, GzBuilder, bufread::MultiGzDecoder};
    use proptest::prelude::*;

    use super::*;

    /// Reads everything with a buffer of the given size. Returns the bytes and the kind of error that ended
    /// it.
    fn read_through(mut from: impl Read, size: usize) -> (Vec<u8>, Option<ErrorKind>) {
        let (mut all, mut buffer) = (Vec::new(), vec![0; size]);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return (all, None),
                Ok(count) => all.extend(&buffer[..count]),
                Err(error) => return (all, Some(error.kind())),
            }
        }
    }

    fn member(content: &[u8], flags: u8) -> Vec<u8> {
        let mut builder = GzBuilder::new();
        if flags & EXTRA != 0 {
            builder = builder.extra("extra");
        }
        if flags & NAME != 0 {
            builder = builder.filename("name");
        }
        if flags & COMMENT != 0 {
            builder = builder.comment("comment");
        }
        let mut encoder = builder.write(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Text that compresses to about half its size.
    fn text(seed: u64) -> Vec<u8> {
        let number = |at: u64| (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..400).flat_map(|at| format!("{}\n", number(at)).into_bytes()).collect()
    }

    proptest! {
        #[test]
        fn it_reads_what_flate2_reads_also_when_truncated_or_followed_by_garbage(
            members in prop::collection::vec((0..1000u64, any::<u8>()), 1..4),
            garbage in prop_oneof![
                3 => Just(&b""[..]),
                1 => Just(&b"not a gzip member"[..]),
                1 => Just(&b"\0\0"[..]),
            ],
            cut in prop::option::of(0..8000usize),
            size in 1..5000usize,
            capacity in 1..500usize,
        ) {
            let members = members.iter().flat_map(|&(seed, flags)| member(&text(seed), flags));
            let mut compressed: Vec<u8> = members.chain(garbage.to_vec()).collect();
            compressed.truncate(cut.unwrap_or(usize::MAX));
            let buffered = io::BufReader::with_capacity(capacity, &compressed[..]);
            let ours = read_through(GzipReader::new(buffered), size);
            let theirs = read_through(MultiGzDecoder::new(&compressed[..]), size);
            prop_assert_eq!(&ours.0, &theirs.0);
            prop_assert_eq!(ours.1.is_some(), theirs.1.is_some(), "{:?} {:?}", ours.1, theirs.1);
        }

        #[test]
        fn a_corrupt_archive_gives_the_same_bytes_for_every_buffer_size(
            at in 20..1500usize,
            value: u8,
            size in 1..100_000usize,
        ) {
            let mut compressed = member(&text(7), 0);
            let at = at.min(compressed.len() - 1);
            compressed[at] = value;
            let ours = read_through(GzipReader::new(&compressed[..]), size);
            prop_assert_eq!(&ours, &read_through(GzipReader::new(&compressed[..]), 1));
            // flate2's reader loses the last byte together with the error.
            let slowly = read_through(MultiGzDecoder::new(&compressed[..]), 1);
            prop_assert!(ours.0.starts_with(&slowly.0) && ours.0.len() <= slowly.0.len() + 1);
            prop_assert_eq!(ours.1, slowly.1);
        }
    }
}
