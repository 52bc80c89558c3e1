//! Detects how a followed file has changed, and how much of what was read from it can be reused.

use std::{
    fs::{File, Metadata},
    hash::Hasher,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    time::SystemTime,
};

use siphasher::sip::SipHasher13;

use super::{
    Bytes, Limits, Shape,
    open::{check_regular, open_checked},
    read::decided_shape,
};

/// Bytes at the start and at the end of the reused part that the fingerprint covers.
const FINGERPRINT_BYTES: u64 = 4096;

/// Block size of the backward search for a line feed.
const SEARCH_BLOCK: u64 = 64 << 10;

/// The metadata of a file. While it is unchanged, the file was not written, within the resolution of file
/// times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Length in bytes.
    pub length: u64,
    identity: (u64, u64),
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

impl Stamp {
    /// Reads the metadata of a regular file. A pipe or a device is an error: it cannot be read twice, so it
    /// cannot be followed.
    pub fn of(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        check_regular(&metadata)?;
        let (identity, changed) = identity(path, &metadata)?;
        Ok(Self { length: metadata.len(), identity, modified: metadata.modified().ok(), changed })
    }

    /// Returns whether the file may be the earlier one with bytes appended: it is the same file and longer.
    pub fn may_continue(&self, earlier: &Self) -> bool {
        self.identity == earlier.identity && self.length > earlier.length
    }

    /// Time of the last write. Used for ordering only.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }
}

/// Device and inode, and the time of the last change of the inode.
#[cfg(unix)]
fn identity(_: &Path, metadata: &Metadata) -> io::Result<((u64, u64), (i64, i64))> {
    use std::os::unix::fs::MetadataExt;
    Ok(((metadata.dev(), metadata.ino()), (metadata.ctime(), metadata.ctime_nsec())))
}

/// Serial number of the volume and index of the file. Windows has no change time; the time of the last write
/// has to do.
#[cfg(windows)]
fn identity(path: &Path, _: &Metadata) -> io::Result<((u64, u64), (i64, i64))> {
    let metadata = winapi_util::file::information(winapi_util::Handle::from_path_any(path)?)?;
    Ok(((metadata.volume_serial_number(), metadata.file_index()), (0, 0)))
}

/// Time of the last addition to or removal from a folder; `None` if it cannot be read.
pub fn folder_modified(folder: &Path) -> Option<SystemTime> {
    folder.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// How a file that may grow has to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowMode {
    /// Line by line. All lines before this offset are complete and can be reused.
    Lines(u64),
    /// As a whole, since it is compressed or a document: appended bytes may change the meaning of what was
    /// read.
    Whole,
    /// Unknown: the file is too short to detect its shape.
    Undecided,
}

/// A hash of the start and the end of the reused part of a file. It detects files that were rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    until: u64,
    hash: u64,
}

impl Fingerprint {
    /// Computes the fingerprint of the first `until` bytes.
    fn of(file: &mut File, until: u64) -> io::Result<Self> {
        let mut hasher = SipHasher13::new();
        let mut bytes = Vec::new();
        for start in [0, until.saturating_sub(FINGERPRINT_BYTES)] {
            bytes.clear();
            file.seek(SeekFrom::Start(start))?;
            file.by_ref().take(FINGERPRINT_BYTES.min(until)).read_to_end(&mut bytes)?;
            hasher.write(&bytes);
            hasher.write_usize(bytes.len());
        }
        Ok(Self { until, hash: hasher.finish() })
    }

    /// Length and hash, to be stored.
    pub(super) fn parts(self) -> (u64, u64) {
        (self.until, self.hash)
    }

    pub(super) fn from_parts(until: u64, hash: u64) -> Self {
        Self { until, hash }
    }

    /// Length of the part that it covers.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// Computes the fingerprint of the first `until` bytes of a file at a path.
    pub fn of_path(path: &Path, until: u64) -> io::Result<Self> {
        Self::of(&mut open_checked(path)?, until)
    }

    /// Returns whether a file still has this fingerprint.
    pub fn matches(&self, path: &Path) -> bool {
        open_checked(path)
            .and_then(|mut file| Self::of(&mut file, self.until))
            .is_ok_and(|fingerprint| fingerprint == *self)
    }
}

/// Returns how a file of this length has to be followed, and the fingerprint of the part that can be reused.
pub fn follow_mode(path: &Path, length: u64, limits: &Limits) -> io::Result<(FollowMode, Fingerprint)> {
    let mode = match Bytes::file(path)? {
        Bytes::Stream(_) | Bytes::Lean(_) => FollowMode::Whole,
        Bytes::File(mut file) => match decided_shape(&mut file, limits)? {
            None => FollowMode::Undecided,
            Some(Shape::Document) => FollowMode::Whole,
            Some(Shape::Lines) => FollowMode::Lines(last_line_end(&mut file, 0, length)?),
        },
    };
    let until = match mode {
        FollowMode::Lines(until) => until,
        FollowMode::Whole => length,
        FollowMode::Undecided => 0,
    };
    // For a compressed file, the fingerprint covers the compressed bytes.
    Ok((mode, Fingerprint::of(&mut open_checked(path)?, until)?))
}

/// Returns where the last complete line ends in a file that has grown to this length, and the fingerprint up
/// to there.
pub fn complete_lines(path: &Path, kept: u64, length: u64) -> io::Result<(u64, Fingerprint)> {
    let mut file = open_checked(path)?;
    let until = last_line_end(&mut file, kept, length)?;
    Ok((until, Fingerprint::of(&mut file, until)?))
}

/// The offset after the last line feed between two offsets, or `from` if there is none.
fn last_line_end(file: &mut File, from: u64, to: u64) -> io::Result<u64> {
    let mut block = Vec::new();
    let mut end = to;
    while end > from {
        let start = end.saturating_sub(SEARCH_BLOCK).max(from);
        block.clear();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(end - start).read_to_end(&mut block)?;
        if let Some(at) = memchr::memrchr(b'\n', &block) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn growth_of(bytes: &[u8]) -> FollowMode {
        follow_mode(file(bytes).path(), bytes.len() as u64, &Limits::default()).unwrap().0
    }

    #[test]
    fn a_shape_is_decided_only_when_appended_bytes_cannot_change_it() {
        for unsure in [&b""[..], b"\n", b"{\n", b"[", b"noise\n", b"\xef\xbb", b"\x28\xb5", b"{\"a\":1"] {
            assert_eq!(growth_of(unsure), FollowMode::Undecided, "{unsure:?}");
        }
        assert_eq!(growth_of(b"{}"), FollowMode::Lines(0));
        assert_eq!(growth_of(b"{}\n{}"), FollowMode::Lines(3));
        assert_eq!(growth_of(b"noise\n{}\n"), FollowMode::Lines(9));
        assert_eq!(growth_of(b"[{"), FollowMode::Whole);
        assert_eq!(growth_of(b"{\n}"), FollowMode::Whole);
        assert_eq!(growth_of(b"\x1f\x8b"), FollowMode::Whole);
    }

    #[test]
    fn the_last_line_feed_is_found_before_a_rest_of_any_length() {
        for rest in [0, 1, SEARCH_BLOCK - 1, SEARCH_BLOCK, SEARCH_BLOCK + 1, 3 * SEARCH_BLOCK] {
            let mut bytes = b"{}\n".to_vec();
            bytes.extend(vec![b'x'; usize::try_from(rest).unwrap()]);
            let log = file(&bytes);
            let mut log = log.reopen().unwrap();
            assert_eq!(last_line_end(&mut log, 0, 3 + rest).unwrap(), 3, "{rest}");
            assert_eq!(last_line_end(&mut log, 3, 3 + rest).unwrap(), 3, "{rest}");
            assert_eq!(last_line_end(&mut log, 0, 2).unwrap(), 0, "{rest}");
        }
    }

    #[test]
    fn a_file_that_replaces_another_does_not_continue_it() {
        let folder = tempfile::tempdir().unwrap();
        let (log, other) = (folder.path().join("log"), folder.path().join("other"));
        std::fs::write(&log, "{}\n").unwrap();
        std::fs::write(&other, "{}\n{}\n{}\n").unwrap();
        let before = Stamp::of(&log).unwrap();
        File::options().append(true).open(&log).unwrap().write_all(b"{}\n").unwrap();
        assert!(Stamp::of(&log).unwrap().may_continue(&before));
        std::fs::rename(&other, &log).unwrap();
        assert!(!Stamp::of(&log).unwrap().may_continue(&before));
    }

    #[test]
    fn a_fingerprint_distinguishes_a_rewritten_file_from_one_that_has_grown() {
        let mut log = file(&[b'a'; 10_000]);
        let (_, fingerprint) = complete_lines(log.path(), 10_000, 10_000).unwrap();
        log.write_all(b"more").unwrap();
        assert!(fingerprint.matches(log.path()));
        for at in [0, 4095, 5904, 9999] {
            let mut bytes = vec![b'a'; 12_000];
            bytes[at] = b'b';
            assert!(!fingerprint.matches(file(&bytes).path()), "{at}");
        }
        assert!(!fingerprint.matches(file(&[b'a'; 9_999]).path()), "shorter");
    }
}
