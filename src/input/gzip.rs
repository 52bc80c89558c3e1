//! Gzip, member by member, up to the very byte where it is broken.
//!
//! flate2's own reader gives what it has unpacked in a call, or an error: what was unpacked in the same call as a flaw is lost, and that
//! is up to a block of good lines.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Flags of a member: what stands between its header and its content.
const HEADER_SUM: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// Reads all members one after another.
pub(super) struct Gunzip<R> {
    packed: R,
    unpack: Decompress,
    sum: Crc,
    next: Next,
    /// What comes after the bytes that were given last.
    flaw: Option<io::Error>,
}

/// What comes next.
enum Next {
    /// A member, or nothing if it is not the first.
    Member {
        first: bool,
    },
    Content,
    /// Sum and length of a member.
    Trailer,
}

impl<R: BufRead> Gunzip<R> {
    pub(super) fn new(packed: R) -> Self {
        let next = Next::Member { first: true };
        Self { packed, unpack: Decompress::new(false), sum: Crc::new(), next, flaw: None }
    }

    /// Passes over the header of a member.
    fn header(&mut self) -> io::Result<()> {
        let mut header = [0; 10];
        self.packed.read_exact(&mut header)?;
        let [0x1f, 0x8b, 8, flags, ..] = header else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "invalid gzip header"));
        };
        if flags & EXTRA != 0 {
            let mut length = [0; 2];
            self.packed.read_exact(&mut length)?;
            self.skip(u16::from_le_bytes(length).into())?;
        }
        for _ in [NAME, COMMENT].iter().filter(|flag| flags & **flag != 0) {
            self.packed.skip_until(0)?; // without an end of it nothing follows, and that is said then
        }
        self.skip(if flags & HEADER_SUM != 0 { 2 } else { 0 })
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.packed.by_ref().take(count), &mut io::sink())?;
        if skipped < count { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Unpacks once; how much, and what is wrong after that.
    fn content(&mut self, buffer: &mut [u8]) -> (usize, io::Result<()>) {
        let packed = match self.packed.fill_buf() {
            Ok(packed) => packed,
            Err(error) => return (0, Err(error)),
        };
        let before = (self.unpack.total_in(), self.unpack.total_out());
        let (ended, flush) = match packed {
            [] => (true, FlushDecompress::Finish),
            _ => (false, FlushDecompress::None),
        };
        let status = self.unpack.decompress(packed, buffer, flush);
        let grown = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
        let (taken, count) =
            (grown(self.unpack.total_in(), before.0), grown(self.unpack.total_out(), before.1));
        self.packed.consume(taken);
        self.sum.update(&buffer[..count]);
        let result = match status {
            Ok(Status::StreamEnd) => {
                self.next = Next::Trailer;
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
        self.packed.read_exact(&mut trailer)?;
        let wanted = [self.sum.sum(), self.sum.amount()].map(u32::to_le_bytes);
        if trailer != *wanted.as_flattened() {
            let what = "corrupt gzip stream does not have a matching checksum";
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(flaw) = self.flaw.take() {
                return Err(flaw);
            }
            match self.next {
                Next::Member { first: false } if self.packed.fill_buf()?.is_empty() => return Ok(0),
                Next::Member { .. } => {
                    self.header()?;
                    self.unpack.reset(false);
                    self.sum.reset();
                    self.next = Next::Content;
                }
                Next::Content => {
                    let (count, result) = self.content(buffer);
                    self.flaw = result.err();
                    if count > 0 {
                        return Ok(count);
                    }
                }
                Next::Trailer => {
                    self.trailer()?;
                    self.next = Next::Member { first: false };
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

    /// All that can be had, so much at once, and the kind of error that ends it.
    fn had(mut from: impl Read, at_once: usize) -> (Vec<u8>, Option<ErrorKind>) {
        let (mut all, mut buffer) = (Vec::new(), vec![0; at_once]);
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
        let mut packer = builder.write(Vec::new(), Compression::fast());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    /// Text that is packed to about a half, and not to nothing.
    fn text(seed: u64) -> Vec<u8> {
        let number = |at: u64| (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..400).flat_map(|at| format!("{}\n", number(at)).into_bytes()).collect()
    }

    proptest! {
        #[test]
        fn whole_or_cut_or_with_something_behind_it_it_is_what_flate2_reads(
            members in prop::collection::vec((0..1000u64, any::<u8>()), 1..4),
            behind in prop_oneof![3 => Just(&b""[..]), 1 => Just(&b"no gzip follows"[..]), 1 => Just(&b"\0\0"[..])],
            cut in prop::option::of(0..8000usize),
            at_once in 1..5000usize,
            held in 1..500usize,
        ) {
            let mut packed: Vec<u8> =
                members.iter().flat_map(|&(seed, flags)| member(&text(seed), flags)).chain(behind.to_vec()).collect();
            packed.truncate(cut.unwrap_or(usize::MAX));
            let ours = had(Gunzip::new(io::BufReader::with_capacity(held, &packed[..])), at_once);
            let theirs = had(MultiGzDecoder::new(&packed[..]), at_once);
            prop_assert_eq!(&ours.0, &theirs.0);
            prop_assert_eq!(ours.1.is_some(), theirs.1.is_some(), "{:?} {:?}", ours.1, theirs.1);
        }

        #[test]
        fn of_a_broken_one_as_much_is_had_whatever_is_asked_for_at_once(at in 20..1500usize, value: u8, at_once in 1..100_000usize) {
            let mut packed = member(&text(7), 0);
            let at = at.min(packed.len() - 1);
            packed[at] = value;
            let ours = had(Gunzip::new(&packed[..]), at_once);
            prop_assert_eq!(&ours, &had(Gunzip::new(&packed[..]), 1));
            let slowly = had(MultiGzDecoder::new(&packed[..]), 1); // the last one is lost with its error
            prop_assert!(ours.0.starts_with(&slowly.0) && ours.0.len() <= slowly.0.len() + 1);
            prop_assert_eq!(ours.1, slowly.1);
        }
    }
}
