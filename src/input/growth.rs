//! Files that are written while they are followed: what tells that one has changed, and how far it can be kept.

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
    open::{check_regular, open_seen},
    read::settled_shape,
};

/// Bytes at the beginning of what is kept, and at its end, by which a file is known again.
const KNOWN_BY: u64 = 4096;

/// Bytes that are searched at once for the end of a line, from the back.
const STEP: u64 = 64 << 10;

/// What a folder says of a file: if none of it has changed, nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub length: u64,
    identity: (u64, u64),
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

impl Stamp {
    /// That of a regular file. A pipe or a device cannot be read twice, and so not be followed.
    pub fn of(path: &Path) -> io::Result<Self> {
        let about = path.metadata()?;
        check_regular(&about)?;
        let (identity, changed) = identity(path, &about)?;
        Ok(Self { length: about.len(), identity, modified: about.modified().ok(), changed })
    }

    /// Whether the file may be the earlier one with more behind it.
    pub fn may_continue(&self, earlier: &Self) -> bool {
        self.identity == earlier.identity && self.length > earlier.length
    }

    /// When it was written last; for an order only.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }
}

/// Which file it is, whatever its name, and when anything about it changed.
#[cfg(unix)]
fn identity(_: &Path, about: &Metadata) -> io::Result<((u64, u64), (i64, i64))> {
    use std::os::unix::fs::MetadataExt;
    Ok(((about.dev(), about.ino()), (about.ctime(), about.ctime_nsec())))
}

/// The same on Windows: the serial number of the volume, the index of the file on it, and nothing about changes but the time
/// of the last write, which every system has.
#[cfg(windows)]
fn identity(path: &Path, _: &Metadata) -> io::Result<((u64, u64), (i64, i64))> {
    let about = winapi_util::file::information(winapi_util::Handle::from_path_any(path)?)?;
    Ok(((about.volume_serial_number(), about.file_index()), (0, 0)))
}

/// When something was added to a folder or removed from it; `None` if it cannot be looked at.
pub fn folder_modified(folder: &Path) -> Option<SystemTime> {
    folder.metadata().and_then(|about| about.modified()).ok()
}

/// How a file is read that may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowMode {
    /// Line by line; all lines before this offset are whole.
    Lines(u64),
    /// Packed, or a document: more of it may change the meaning of what was read.
    Whole,
    /// There is too little of it to tell, whatever may follow.
    Undecided,
}

/// Beginning and end of what is kept of a file: a file that was written anew has others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    until: u64,
    hash: u64,
}

impl Fingerprint {
    /// Of the file as it is now.
    fn of(file: &mut File, until: u64) -> io::Result<Self> {
        let mut hasher = SipHasher13::new();
        let mut bytes = Vec::new();
        for start in [0, until.saturating_sub(KNOWN_BY)] {
            bytes.clear();
            file.seek(SeekFrom::Start(start))?;
            file.by_ref().take(KNOWN_BY.min(until)).read_to_end(&mut bytes)?;
            hasher.write(&bytes);
            hasher.write_usize(bytes.len());
        }
        Ok(Self { until, hash: hasher.finish() })
    }

    /// Whether a file still has it.
    pub fn matches(&self, path: &Path) -> bool {
        open_seen(path).and_then(|mut file| Self::of(&mut file, self.until)).is_ok_and(|mark| mark == *self)
    }
}

/// How a file of this length can be read from now on, and what it is known by.
pub fn follow_mode(path: &Path, length: u64, limits: &Limits) -> io::Result<(FollowMode, Fingerprint)> {
    let growth = match Bytes::file(path)? {
        Bytes::Stream(_) => FollowMode::Whole,
        Bytes::File(mut file) => match settled_shape(&mut file, limits)? {
            None => FollowMode::Undecided,
            Some(Shape::Document) => FollowMode::Whole,
            Some(Shape::Lines) => FollowMode::Lines(last_line_end(&mut file, 0, length)?),
        },
    };
    let until = match growth {
        FollowMode::Lines(until) => until,
        FollowMode::Whole => length,
        FollowMode::Undecided => 0,
    };
    // A packed file is known by its bytes as they are stored.
    Ok((growth, Fingerprint::of(&mut open_seen(path)?, until)?))
}

/// How far the lines are whole in a file that has grown to this length, and what it is known by then.
pub fn complete_lines(path: &Path, kept: u64, length: u64) -> io::Result<(u64, Fingerprint)> {
    let mut file = open_seen(path)?;
    let until = last_line_end(&mut file, kept, length)?;
    Ok((until, Fingerprint::of(&mut file, until)?))
}

/// The offset after the last line that ends between two offsets; the first one if none does.
fn last_line_end(file: &mut File, from: u64, to: u64) -> io::Result<u64> {
    let mut block = Vec::new();
    let mut end = to;
    while end > from {
        let start = end.saturating_sub(STEP).max(from);
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
    fn a_shape_is_settled_only_when_nothing_that_follows_can_change_it() {
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
    fn the_end_of_the_last_line_is_found_however_long_the_rest_is() {
        for rest in [0, 1, STEP - 1, STEP, STEP + 1, 3 * STEP] {
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
    fn a_file_that_takes_the_place_of_another_does_not_continue_it() {
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
    fn a_mark_tells_a_file_that_was_written_anew_from_one_that_has_grown() {
        let mut log = file(&[b'a'; 10_000]);
        let (_, mark) = complete_lines(log.path(), 10_000, 10_000).unwrap();
        log.write_all(b"more").unwrap();
        assert!(mark.matches(log.path()));
        for at in [0, 4095, 5904, 9999] {
            let mut bytes = vec![b'a'; 12_000];
            bytes[at] = b'b';
            assert!(!mark.matches(file(&bytes).path()), "{at}");
        }
        assert!(!mark.matches(file(&[b'a'; 9_999]).path()), "shorter");
    }
}
