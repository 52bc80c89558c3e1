//! The files of an archive: zstd frames with the content of a log, each followed by a frame that commits it.
//!
//! A file begins with a header, a skippable frame that other programs ignore. A commit is a skippable frame too: it
//! says how much of the log the file holds, and how to recognise the log again. A run that was killed leaves data
//! without a commit behind; readers stop at the last commit, and the next run overwrites what follows it.

use std::{
    fs::{File, Metadata},
    hash::Hasher,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use siphasher::sip::SipHasher13;

use super::{
    Fingerprint,
    chain::{ChainEnd, Marks},
    open::open_checked,
};

/// The file in the folder of an archive that marks it as one.
pub const MARKER: &str = "ccstat-archive.json";

/// Magic number of our skippable frames.
pub(super) const MAGIC: [u8; 4] = 0x184D_2A5C_u32.to_le_bytes();

/// Start of the payload of a header and of a commit.
const HEADER: &[u8; 8] = b"ccstat h";
const COMMIT: &[u8; 8] = b"ccstat c";

/// Version of the format. Earlier forms of lean logs, which were never released, cannot be read any more.
const FORMAT: u64 = 4;

/// Length of a header, with the frame around it.
pub const HEADER_BYTES: usize = 8 + 24;

/// Length of a commit, with the frame around it.
pub const COMMIT_BYTES: usize = 8 + 72;

/// Block size of the search for the last commit.
const SEARCH_BLOCK: u64 = 64 << 10;

/// Size and time of a log when it was archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStamp {
    /// Length in bytes.
    pub length: u64,
    /// Time of the last write, in nanoseconds since 1970; 0 if unknown.
    pub modified: u64,
}

impl LogStamp {
    /// The stamp of a file.
    pub fn of(metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since);
        let modified = modified.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        Self { length: metadata.len(), modified }
    }
}

/// The state of an archived log: what the file holds up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Bytes of the log that are archived, after decompression.
    pub bytes: u64,
    /// The log as it was found.
    pub stamp: LogStamp,
    /// Fingerprint of the archived part of the log, as it is on disk.
    pub fingerprint: Fingerprint,
    /// Whether the log ends with an unfinished line that is not archived yet.
    pub waits: bool,
    /// Length of the frame with marks of lines, which ends where the commit begins; 0 if there is none.
    pub marks: u64,
}

impl Commit {
    /// The frame of a commit that is written at this offset of its file.
    pub fn frame(&self, at: u64) -> [u8; COMMIT_BYTES] {
        let Self { bytes, stamp: LogStamp { length, modified }, fingerprint, waits, marks } = *self;
        let (until, hash) = fingerprint.parts();
        let fields = [bytes, length, modified, until, hash, u64::from(waits) | marks << 1, at];
        let mut frame = [0; COMMIT_BYTES];
        frame[..4].copy_from_slice(&MAGIC);
        frame[4..8].copy_from_slice(&(COMMIT_BYTES as u32 - 8).to_le_bytes());
        frame[8..16].copy_from_slice(COMMIT);
        for (room, field) in frame[16..72].chunks_exact_mut(8).zip(fields) {
            room.copy_from_slice(&field.to_le_bytes());
        }
        let check = checksum(&frame[..72]);
        frame[72..].copy_from_slice(&check.to_le_bytes());
        frame
    }

    /// Parses a frame that was read at this offset. A copy of it at another offset is not a commit.
    fn parse(frame: &[u8], at: u64) -> Option<Self> {
        let frame: &[u8; COMMIT_BYTES] = frame.try_into().ok()?;
        let field = |index: usize| {
            let start = 16 + 8 * index;
            u64::from_le_bytes(frame[start..start + 8].try_into().expect("eight bytes"))
        };
        let valid = frame[..4] == MAGIC
            && frame[8..16] == *COMMIT
            && field(6) == at
            && field(7) == checksum(&frame[..72]);
        valid.then(|| Self {
            bytes: field(0),
            stamp: LogStamp { length: field(1), modified: field(2) },
            fingerprint: Fingerprint::from_parts(field(3), field(4)),
            waits: field(5) & 1 != 0,
            marks: field(5) >> 1,
        })
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The header of a file of an archive.
pub fn header(lean: bool) -> [u8; HEADER_BYTES] {
    let mut frame = [0; HEADER_BYTES];
    frame[..4].copy_from_slice(&MAGIC);
    frame[4..8].copy_from_slice(&(HEADER_BYTES as u32 - 8).to_le_bytes());
    frame[8..16].copy_from_slice(HEADER);
    frame[16..24].copy_from_slice(&FORMAT.to_le_bytes());
    frame[24..32].copy_from_slice(&u64::from(lean).to_le_bytes());
    frame
}

/// A log in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Version of the format.
    pub format: u64,
    /// Whether it is a lean log, without content.
    pub lean: bool,
    /// The last commit, and the offset after it; `None` if there is none.
    pub commit: Option<(Commit, u64)>,
}

impl Archived {
    /// Reads the state of a file. `None` if it is not a file of an archive.
    pub fn read(file: &mut File) -> io::Result<Option<Self>> {
        let mut head = [0; HEADER_BYTES];
        file.rewind()?;
        if file.read_exact(&mut head).is_err() || head[..4] != MAGIC || head[8..16] != *HEADER {
            return Ok(None);
        }
        let format = u64::from_le_bytes(head[16..24].try_into().expect("eight bytes"));
        if format > FORMAT {
            let message = format!("is of archive format {format}, which a newer ccstat wrote");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(Self { format, lean: head[24] != 0, commit: last_commit(file)? }))
    }

    /// Opens a file and reads its state.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        Self::read(&mut open_checked(path)?)
    }

    /// Whether it has the form that is written now.
    pub fn is_current(&self) -> bool {
        self.format == FORMAT || !self.lean
    }

    /// The offset of the last commit.
    pub fn commit_at(&self) -> Option<u64> {
        self.commit.map(|(_, end)| end - COMMIT_BYTES as u64)
    }

    /// Length of the part of the file that is committed.
    pub fn committed(&self) -> u64 {
        self.commit.map_or(HEADER_BYTES as u64, |(_, end)| end)
    }
}

/// The last commit of a file, and the offset after it. It is the end of the file unless a run was killed.
fn last_commit(file: &mut File) -> io::Result<Option<(Commit, u64)>> {
    let length = file.metadata()?.len();
    let size = COMMIT_BYTES as u64;
    let mut end = length;
    let mut block = Vec::new();
    // The first block is just as long as a commit.
    let mut step = size;
    while end >= size {
        let start = end.saturating_sub(step).max(HEADER_BYTES as u64);
        block.clear();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(end - start).read_to_end(&mut block)?;
        for found in memchr::memmem::rfind_iter(&block, &MAGIC) {
            let at = start + found as u64;
            let frame = block.get(found..found + COMMIT_BYTES);
            if let Some(commit) = frame.and_then(|frame| Commit::parse(frame, at)) {
                return Ok(Some((commit, at + size)));
            }
        }
        if start <= HEADER_BYTES as u64 {
            return Ok(None);
        }
        // Blocks overlap, so that a commit on their border is found.
        end = start + size - 1;
        step = SEARCH_BLOCK;
    }
    Ok(None)
}

/// Start of the payload of a frame of marks.
const MARKS: &[u8; 8] = b"ccstat m";

/// Length of a frame of marks without the marks themselves.
const MARKS_BYTES: usize = 8 + 56;

/// The marks of the lines that one frame added, and the chain up to there.
struct MarksFrame {
    end: ChainEnd,
    /// Offset of the commit with the marks of the lines before; 0 if there are none.
    previous: u64,
    lines: Vec<u32>,
}

/// A skippable frame with the marks of new lines.
pub fn marks_frame(end: &ChainEnd, lines: &[u32], previous: u64) -> Vec<u8> {
    let length = u32::try_from(MARKS_BYTES - 8 + 4 * lines.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(length as usize + 8);
    frame.extend(MAGIC);
    frame.extend(length.to_le_bytes());
    frame.extend(MARKS);
    for field in [previous, end.lines, end.first, end.last, u64::from(end.is_open)] {
        frame.extend(field.to_le_bytes());
    }
    lines.iter().for_each(|mark| frame.extend(mark.to_le_bytes()));
    let check = checksum(&frame);
    frame.extend(check.to_le_bytes());
    frame
}

impl MarksFrame {
    /// Reads the frame that belongs to a commit at this offset; `None` if there is none, or it is damaged.
    fn read(file: &mut File, commit: &Commit, at: u64) -> io::Result<Option<Self>> {
        let Some(start) = at.checked_sub(commit.marks).filter(|_| commit.marks >= MARKS_BYTES as u64) else {
            return Ok(None);
        };
        let mut frame = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(commit.marks).read_to_end(&mut frame)?;
        let field =
            |index: usize| frame.get(index..index + 8).map(|bytes| bytes.try_into().expect("eight bytes"));
        let number = |index: usize| field(index).map_or(0, u64::from_le_bytes);
        let Some(body) = frame.len().checked_sub(8) else { return Ok(None) };
        if frame.len() < MARKS_BYTES || frame[8..16] != *MARKS || number(body) != checksum(&frame[..body]) {
            return Ok(None);
        }
        let end =
            ChainEnd { lines: number(24), first: number(32), last: number(40), is_open: number(48) != 0 };
        let mark = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let lines = frame[56..body].chunks_exact(4).map(mark).collect();
        Ok(Some(Self { end, previous: number(16), lines }))
    }
}

impl Archived {
    /// The chain of the lines in a file of an archive; `None` if the file has none.
    pub fn chain_end(&self, path: &Path) -> io::Result<Option<ChainEnd>> {
        let Some(((commit, _), at)) = self.commit.zip(self.commit_at()) else { return Ok(None) };
        Ok(MarksFrame::read(&mut open_checked(path)?, &commit, at)?.map(|frame| frame.end))
    }

    /// The marks of all lines in a file of an archive; `None` if one is missing.
    pub fn marks(&self, path: &Path) -> io::Result<Option<Marks>> {
        let mut file = open_checked(path)?;
        let (mut parts, mut end) = (Vec::new(), None);
        let mut next = self.commit.map(|(commit, _)| commit).zip(self.commit_at());
        while let Some((commit, at)) = next {
            let Some(frame) = MarksFrame::read(&mut file, &commit, at)? else { return Ok(None) };
            let MarksFrame { end: own, previous, lines } = frame;
            end.get_or_insert(own);
            parts.push(lines);
            if previous == 0 || previous >= at {
                break;
            }
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(previous))?;
            file.by_ref().take(COMMIT_BYTES as u64).read_to_end(&mut bytes)?;
            next = Commit::parse(&bytes, previous).zip(Some(previous));
        }
        let lines: Vec<u32> = parts.into_iter().rev().flatten().collect();
        Ok(end.filter(|end| end.lines == lines.len() as u64).map(|end| Marks { end, lines }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{super::chain::LineChain, *};

    fn commit(bytes: u64) -> Commit {
        let stamp = LogStamp { length: bytes, modified: 7 };
        Commit {
            bytes,
            stamp,
            fingerprint: Fingerprint::from_parts(bytes, 9),
            waits: bytes % 2 == 1,
            marks: 0,
        }
    }

    #[test]
    fn the_last_whole_commit_counts_whatever_follows_it() {
        for rest in [0, 1, 79, 80, 81, 100_000, 200_000] {
            let mut bytes = header(true).to_vec();
            for number in [3, 4] {
                bytes.extend(vec![1; 1000]);
                let at = bytes.len() as u64;
                bytes.extend(commit(number).frame(at));
            }
            let end = bytes.len() as u64;
            // A torn commit, and a whole one at the wrong place.
            bytes.extend(&commit(5).frame(end)[..rest.min(79)]);
            bytes.extend(commit(6).frame(1)[..rest.min(80)].iter());
            bytes.extend(vec![b'x'; rest]);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let archived = Archived::read(&mut file).unwrap().unwrap();
            assert_eq!(
                archived,
                Archived { format: FORMAT, lean: true, commit: Some((commit(4), end)) },
                "{rest}"
            );
        }
    }

    #[test]
    fn a_file_without_a_commit_is_empty_and_another_file_is_not_of_an_archive() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&header(false)).unwrap();
        file.write_all(&[0; 500]).unwrap();
        let archived = Archived::read(&mut file).unwrap().unwrap();
        assert_eq!((archived.commit, archived.committed()), (None, HEADER_BYTES as u64));
        let mut other = tempfile::tempfile().unwrap();
        other.write_all(b"{}\n").unwrap();
        assert_eq!(Archived::read(&mut other).unwrap(), None);
    }

    #[test]
    fn marks_are_read_back_over_several_commits() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let (mut bytes, mut chain, mut previous) = (header(false).to_vec(), LineChain::default(), 0);
        for part in [&b"one\ntwo\n"[..], b"", b"three\n"] {
            chain.feed(part);
            let (end, lines) = chain.finish();
            bytes.extend(vec![7; 100]);
            let frame = marks_frame(&end, &lines, previous);
            bytes.extend(&frame);
            previous = bytes.len() as u64;
            bytes.extend(Commit { marks: frame.len() as u64, ..commit(4) }.frame(previous));
            chain = LineChain::resume(end);
        }
        file.write_all(&bytes).unwrap();
        let archived = Archived::open(file.path()).unwrap().unwrap();
        let whole = Marks::of(&b"one\ntwo\nthree\n"[..]).unwrap();
        assert_eq!(archived.chain_end(file.path()).unwrap(), Some(whole.end));
        assert_eq!(archived.marks(file.path()).unwrap(), Some(whole));
        // A damaged mark does not make a log the copy of another.
        let at = usize::try_from(previous).unwrap() - 12;
        bytes[at] ^= 1;
        std::fs::write(file.path(), &bytes).unwrap();
        assert_eq!(archived.chain_end(file.path()).unwrap(), None);
        assert_eq!(archived.marks(file.path()).unwrap(), None);
    }
}
