//! The files of an archive: zstd frames with the content of a log, each followed by a frame that commits it.
//!
//! A file begins with a header, a skippable frame that other programs ignore. A commit is a skippable frame too: it
//! says how much of the log the file holds, and how to recognise the log again. A run that was killed leaves data
//! without a commit behind; readers stop at the last commit, and the next run overwrites what follows it.

use std::{
    collections::HashMap,
    fs::{File, Metadata},
    hash::Hasher,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use siphasher::sip::SipHasher13;

use super::{Fingerprint, Origin, Source, open::open_checked};

/// The file in the folder of an archive that marks it as one.
pub const MARKER: &str = "ccstat-archive.json";

/// Magic number of our skippable frames.
pub(super) const MAGIC: [u8; 4] = 0x184D_2A5C_u32.to_le_bytes();

/// Start of the payload of a header and of a commit.
const HEADER: &[u8; 8] = b"ccstat h";
const COMMIT: &[u8; 8] = b"ccstat c";

/// Version of the format.
const FORMAT: u64 = 1;

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
}

impl Commit {
    /// The frame of a commit that is written at this offset of its file.
    pub fn frame(&self, at: u64) -> [u8; COMMIT_BYTES] {
        let Self { bytes, stamp: LogStamp { length, modified }, fingerprint, waits } = *self;
        let (until, hash) = fingerprint.parts();
        let fields = [bytes, length, modified, until, hash, u64::from(waits), at];
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
            waits: field(5) != 0,
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
        Ok(Some(Self { lean: head[24] != 0, commit: last_commit(file)? }))
    }

    /// Opens a file and reads its state.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        Self::read(&mut open_checked(path)?)
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

/// Finds the machines of archived logs, by the folders they are in.
#[derive(Debug, Default)]
struct Machines {
    by_folder: HashMap<PathBuf, Option<Arc<str>>>,
}

impl Machines {
    fn of(&mut self, path: &Path) -> Option<Arc<str>> {
        let folder = path.parent()?;
        if let Some(known) = self.by_folder.get(folder) {
            return known.clone();
        }
        let found = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize().ok();
        let machine = found.as_deref().and_then(|real| {
            let root = real.ancestors().find(|above| above.join(MARKER).is_file())?;
            let machine = real.strip_prefix(root).ok()?.components().next()?;
            Some(machine.as_os_str().to_string_lossy().into())
        });
        self.by_folder.insert(folder.to_owned(), machine.clone());
        machine
    }
}

/// Names the machines of archived logs, and removes those that are copies of another source: of the log itself, as
/// far as it is archived, or of an equal log in an archive. The remaining source takes over the machine.
pub(super) fn settle_copies(sources: &mut Vec<Source>) {
    if !sources.iter().any(is_zstd) {
        return;
    }
    let mut machines = Machines::default();
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, source) in sources.iter_mut().enumerate() {
        let Origin::File(path) = &source.origin else { continue };
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.ends_with(ENDING) {
            source.machine = machines.of(path);
        }
        groups.entry(stem(name).to_owned()).or_default().push(at);
    }
    let mut removed = vec![false; sources.len()];
    for group in groups.into_values().filter(|group| group.len() > 1) {
        let logs: Vec<GroupedLog> = group.into_iter().map(|at| GroupedLog::of(at, &sources[at])).collect();
        for (copy, kept) in copies(&logs) {
            removed[copy] = true;
            if sources[kept].machine.is_none() {
                sources[kept].machine = sources[copy].machine.clone();
            }
        }
    }
    let mut at = 0..;
    sources.retain(|_| !at.next().is_some_and(|at| removed[at]));
}

/// Ending of compressed files, as all files of an archive are.
const ENDING: &str = ".zst";

fn is_zstd(source: &Source) -> bool {
    matches!(&source.origin, Origin::File(path) if path.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes()))
}

/// A source among those with a similar name.
struct GroupedLog {
    at: usize,
    path: Option<PathBuf>,
    archived: Option<(Commit, bool)>,
}

impl GroupedLog {
    fn of(at: usize, source: &Source) -> Self {
        let path = match &source.origin {
            Origin::Stdin => None,
            Origin::File(path) => Some(path.clone()),
        };
        let archived = path.as_deref().filter(|_| is_zstd(source));
        let archived = archived.and_then(|path| Archived::open(path).ok()?);
        let archived = archived.and_then(|own| own.commit.map(|(commit, _)| (commit, own.lean)));
        Self { at, path, archived }
    }
}

/// Pairs of sources: a copy, and the source that holds all of it.
fn copies(logs: &[GroupedLog]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (index, log) in logs.iter().enumerate() {
        let Some((commit, lean)) = log.archived else { continue };
        let original = logs.iter().find(|other| {
            let path = other.path.as_deref().filter(|_| other.archived.is_none());
            path.is_some_and(|path| commit.fingerprint.matches(path))
        });
        // If logs are equal, the first one with content remains.
        let equal = || {
            logs.iter().enumerate().find(|(at, other)| {
                let same = |(own, other_lean): (Commit, bool)| {
                    own.fingerprint == commit.fingerprint
                        && own.bytes == commit.bytes
                        && (other_lean, *at) < (lean, index)
                };
                other.archived.is_some_and(same)
            })
        };
        if let Some(kept) = original.or_else(|| equal().map(|(_, other)| other)) {
            found.push((log.at, kept.at));
        }
    }
    found
}

/// The name of a log without endings and without the number that tells a rewritten log from the one before it.
fn stem(name: &str) -> &str {
    let mut stem = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    while let Some(shorter) = [".jsonl", ".ndjson", ".json"].iter().find_map(|end| stem.strip_suffix(end)) {
        stem = shorter;
    }
    match stem.rsplit_once('.') {
        Some((before, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            before
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn commit(bytes: u64) -> Commit {
        let stamp = LogStamp { length: bytes, modified: 7 };
        Commit { bytes, stamp, fingerprint: Fingerprint::from_parts(bytes, 9), waits: bytes % 2 == 1 }
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
            assert_eq!(archived, Archived { lean: true, commit: Some((commit(4), end)) }, "{rest}");
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
    fn names_are_compared_without_endings_and_numbers() {
        for name in ["a.jsonl", "a.jsonl.zst", "a.2.jsonl.zst", "a.jsonl.gz", "a.json", "a.json.jsonl.zst"] {
            assert_eq!(stem(name), "a", "{name}");
        }
        assert_eq!(stem("a.b.jsonl"), "a.b");
    }
}
