//! Brings the file of one log up to date.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{
    Archive, create_folder,
    lean::{LeanPart, LeanWriter, Secret},
    private,
};
use crate::{
    event,
    input::{
        self, Bytes, Fingerprint, FollowMode, Origin, Source,
        archive::{Archived, Commit, HEADER_BYTES, LogStamp, header, marks_frame},
        chain::{Chained, LineChain, Marks},
    },
    scan::{self, Options},
};

/// Level of compression. Higher levels take several times as long for a few percent.
const LEVEL: i32 = 3;

/// Level of compression of the records of lean logs, which are small.
const LEAN_LEVEL: i32 = 9;

/// Level of compression of digests. Most of their bytes are ids, which are random. Negative levels do not try to make them
/// shorter, and are decompressed in half the time.
const DIGEST_LEVEL: i32 = -1;

names! {
    /// The outcome of a run for a log.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Outcome {
        /// The log was archived for the first time.
        New = "new",
        /// Lines were added.
        Grown = "grown",
        /// The log was not the one that was archived before, and was archived beside it.
        Rewritten = "rewritten",
        /// Nothing was added.
        Unchanged = "unchanged",
        /// The log has no whole line yet, or is not a log.
        Empty = "empty",
        /// The log could not be read, or the archive could not be written.
        Failed = "failed",
    }
}

/// The result for one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    pub outcome: Outcome,
    /// Bytes of the log that were added.
    pub added: u64,
    /// Size of its file in the archive.
    pub stored: u64,
}

/// A file in the archive that may hold a log.
struct Slot {
    path: PathBuf,
    archived: Archived,
}

impl Archive {
    /// Archives what is new in a log.
    pub fn update(&self, source: &Source, relative: &Path, options: &Options) -> io::Result<Update> {
        let Origin::File(log) = &source.origin else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "standard input cannot be archived"));
        };
        // Taken first, so that the next run notices what is written from now on.
        let stamp = LogStamp::of(&log.metadata()?);
        let target = self.folder.join(relative);
        let slots = slots(&target)?;
        let same = |slot: &&Slot| slot.commit().is_some_and(|commit| commit.stamp == stamp);
        let known = slots.iter().find(same);
        let is_complete =
            |slot: &&Slot| slot.is_current() && slot.commit().is_some_and(|commit| !commit.waits);
        if let Some(slot) = known.filter(is_complete) {
            return Ok(Update { outcome: Outcome::Unchanged, added: 0, stored: slot.archived.committed() });
        }
        match scan::open(source, options)? {
            None => return Ok(Update { outcome: Outcome::Empty, added: 0, stored: 0 }),
            Some(Bytes::Lean(_)) => return Err(is_lean()),
            Some(_) => {}
        }
        let continues = |slot: &&Slot| slot.commit().is_some_and(|commit| commit.fingerprint.matches(log));
        let base = known.or_else(|| slots.iter().rev().find(continues));
        let outcome = match base {
            Some(_) => Outcome::Grown,
            None if slots.is_empty() => Outcome::New,
            None => Outcome::Rewritten,
        };
        let path = base.map_or_else(|| numbered(&target, slots.len() + 1), |slot| slot.path.clone());
        let update = match self.lean {
            Some(secret) => lean_log(source, log, stamp, base, &path, secret, options)?,
            None => whole_log(log, stamp, base, known.is_some(), &path, options)?,
        };
        Ok(match update {
            (added, stored) if stored > 0 => {
                let outcome = if base.is_some() && added == 0 { Outcome::Unchanged } else { outcome };
                Update { outcome, added, stored }
            }
            _ => Update { outcome: Outcome::Empty, added: 0, stored: 0 },
        })
    }
}

impl Slot {
    fn commit(&self) -> Option<Commit> {
        self.archived.commit.map(|(commit, _)| commit)
    }

    /// Whether the file is as this version writes it.
    fn is_current(&self) -> bool {
        self.archived.is_current() && self.commit().is_some_and(|commit| commit.marks > 0)
    }
}

/// A lean log is part of an archive already, and its records have no text.
fn is_lean() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "is a lean log of another archive: copy that folder instead")
}

/// The files that exist for a path: the path itself, and those with numbers.
fn slots(target: &Path) -> io::Result<Vec<Slot>> {
    let mut slots = Vec::new();
    loop {
        let path = numbered(target, slots.len() + 1);
        match Archived::open(&path) {
            Ok(Some(archived)) => slots.push(Slot { path, archived }),
            Ok(None) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("`{}` is not a file of an archive", path.display()),
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(slots),
            Err(error) => return Err(error),
        }
    }
}

/// The name of the n-th file for a path: `a.jsonl.zst`, `a.2.jsonl.zst` and so on.
fn numbered(target: &Path, number: usize) -> PathBuf {
    if number < 2 {
        return target.to_owned();
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let ending =
        [".jsonl.zst", ".ndjson.zst"].into_iter().find(|ending| name.ends_with(ending)).unwrap_or_default();
    let stem = name.strip_suffix(ending).unwrap_or(&name);
    target.with_file_name(format!("{stem}.{number}{ending}"))
}

/// Adds the new lines of a log as a further frame. Returns how many bytes were added, and the size of the file.
fn whole_log(
    log: &Path,
    stamp: LogStamp,
    base: Option<&Slot>,
    is_final: bool,
    path: &Path,
    options: &Options,
) -> io::Result<(u64, u64)> {
    let from = base.and_then(Slot::commit).map_or(0, |commit| commit.bytes);
    let bytes = Bytes::file(log)?;
    let commit = match &bytes {
        Bytes::File(_) => commit(log, stamp, from, is_final, options)?,
        // A compressed log is archived to its end, whole lines or not: it is rarely written to.
        Bytes::Stream(_) => {
            let fingerprint = Fingerprint::of_path(log, stamp.length)?;
            Commit { bytes: u64::MAX, stamp, fingerprint, waits: false, marks: 0 }
        }
        Bytes::Lean(_) => return Err(is_lean()),
    };
    if commit.bytes == 0 {
        return Ok((0, 0));
    }
    let mut content = NewContent::of(base, bytes, from, commit.bytes)?;
    let size = append(base, path, commit, &mut content, options)?;
    Ok((content.count, size))
}

/// The part of a log that is not archived yet. The chain of its lines is computed while it is read.
struct NewContent {
    reader: Box<dyn Read>,
    chain: LineChain,
    /// Offset of the commit that the chain continues; 0 if it begins with the log.
    previous: u64,
    /// Offset in the log where it begins.
    from: u64,
    /// Bytes that were read.
    count: u64,
}

impl NewContent {
    /// Skips what is archived. The chain begins anew if the archived part ends within a line or has no chain.
    fn of(base: Option<&Slot>, bytes: Bytes, from: u64, until: u64) -> io::Result<Self> {
        let end = base.and_then(|slot| slot.archived.chain_end(&slot.path).ok().flatten());
        let at = base.and_then(|slot| slot.archived.commit_at());
        let resumed = end.filter(|end| !end.is_open).zip(at);
        let mut chain = resumed.map_or_else(LineChain::default, |(end, _)| LineChain::resume(end));
        let (mut reader, skipped): (Box<dyn Read>, u64) = match bytes {
            Bytes::File(mut file) => {
                let skipped = if resumed.is_some() { file.seek(SeekFrom::Start(from))? } else { 0 };
                (Box::new(file.take(until - skipped)), skipped)
            }
            Bytes::Stream(stream) => (stream, 0),
            Bytes::Lean(_) => return Err(is_lean()),
        };
        let mut archived = reader.by_ref().take(from - skipped);
        let skipped = match resumed {
            Some(_) => skipped + io::copy(&mut archived, &mut io::sink())?,
            None => io::copy(&mut Chained::new(archived, &mut chain), &mut io::sink())?,
        };
        if skipped < from {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "is shorter than its archived part"));
        }
        Ok(Self { reader, chain, previous: resumed.map_or(0, |(_, at)| at), from, count: 0 })
    }
}

impl Read for NewContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.chain.feed(&buffer[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

/// Decides how much of a log can be archived: whole lines, and all of a document. An unfinished last line waits, unless the log is unchanged
/// since the last run (`is_final`).
fn commit(log: &Path, stamp: LogStamp, from: u64, is_final: bool, options: &Options) -> io::Result<Commit> {
    let (until, fingerprint) = input::complete_lines(log, from, stamp.length)?;
    let mut commit = Commit { bytes: until, stamp, fingerprint, waits: false, marks: 0 };
    if until < stamp.length {
        let (mode, _) = input::follow_mode(log, stamp.length, &options.limits)?;
        if is_final || mode == FollowMode::Whole || is_record(log, until, stamp.length, options)? {
            commit.bytes = stamp.length;
            commit.fingerprint = Fingerprint::of_path(log, stamp.length)?;
        } else {
            commit.waits = true;
        }
    }
    Ok(commit)
}

/// Returns whether a part of a log is one whole record, which only lacks its line end.
fn is_record(log: &Path, from: u64, until: u64, options: &Options) -> io::Result<bool> {
    if until - from > options.limits.max_record as u64 {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    let mut file = input::open_regular(log)?;
    file.seek(SeekFrom::Start(from))?;
    file.take(until - from).read_to_end(&mut bytes)?;
    Ok(event::decode(bytes.trim_ascii()).is_ok())
}

/// Writes a frame and its commit after the last commit of a file, or to a new file. Returns the size of the file.
fn append(
    base: Option<&Slot>,
    path: &Path,
    mut commit: Commit,
    content: &mut NewContent,
    options: &Options,
) -> io::Result<u64> {
    write_frames(base, path, |file, start| {
        let mut end = start;
        // Perhaps only the time of the log has changed.
        if commit.bytes > content.from {
            end = write_frame(file, start, content, LEVEL, options)?;
        }
        let until = content.from + content.count;
        // The log became shorter while it was read: the next run sees that it was rewritten.
        if commit.bytes != u64::MAX && until < commit.bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "became shorter while it was read"));
        }
        commit.bytes = until;
        let (chain, marks) = std::mem::take(&mut content.chain).finish();
        let frame = marks_frame(&chain, &marks, content.previous);
        file.write_all(&frame)?;
        commit.marks = frame.len() as u64;
        Ok((end + commit.marks, commit))
    })
}

/// Appends to the file of a slot, or creates it. After an error the file is as before.
fn write_frames(
    base: Option<&Slot>,
    path: &Path,
    write: impl FnOnce(&mut File, u64) -> io::Result<(u64, Commit)>,
) -> io::Result<u64> {
    let Some(slot) = base else {
        let mut size = 0;
        write_replacing(path, |file| {
            file.write_all(&header(false))?;
            let (end, commit) = write(file, HEADER_BYTES as u64)?;
            size = write_commit(file, end, &commit)?;
            Ok(())
        })?;
        return Ok(size);
    };
    let mut file = private().truncate(false).open(path)?;
    let start = slot.archived.committed();
    file.set_len(start)?; // a run that was killed may have left data without a commit
    file.seek(SeekFrom::Start(start))?;
    let written = write(&mut file, start).and_then(|(end, commit)| {
        // The commit must not reach the disk before the data.
        file.sync_data()?;
        write_commit(&mut file, end, &commit)
    });
    if written.is_err() {
        let _ = file.set_len(start);
    }
    written
}

/// Writes a commit, and returns the offset after it.
fn write_commit(file: &mut File, at: u64, commit: &Commit) -> io::Result<u64> {
    let frame = commit.frame(at);
    file.write_all(&frame)?;
    Ok(at + frame.len() as u64)
}

/// Compresses content as one frame, and returns the offset after it.
fn write_frame(
    file: &mut File,
    start: u64,
    content: &mut dyn Read,
    level: i32,
    options: &Options,
) -> io::Result<u64> {
    let mut encoder = zstd::Encoder::new(BufWriter::with_capacity(256 << 10, &mut *file), level)?;
    encoder.include_checksum(true)?;
    let mut block = vec![0; 256 << 10];
    loop {
        if options.stop.is_set() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match content.read(&mut block) {
            Ok(0) => break,
            Ok(count) => encoder.write_all(&block[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    let end = file.stream_position()?;
    debug_assert!(end > start);
    Ok(end)
}

/// Writes a lean log anew. Returns how much longer the log is than before, and the size of the file.
fn lean_log(
    source: &Source,
    log: &Path,
    stamp: LogStamp,
    base: Option<&Slot>,
    path: &Path,
    secret: Secret,
    options: &Options,
) -> io::Result<(u64, u64)> {
    let compressed = !matches!(Bytes::file(log)?, Bytes::File(_));
    let before = base.and_then(Slot::commit).map_or(0, |commit| commit.bytes);
    let (mut bytes, mut size) = (0, 0);
    let done = write_replacing(path, |file| {
        file.write_all(&header(true))?;
        let mut failed = None;
        let mut emit = |part: LeanPart, start: &[u8], rest: &[u8]| {
            if failed.is_none() {
                failed = write_lean_frame(file, part, start, rest).err();
            }
        };
        let mut writer = LeanWriter::new(secret, &mut emit);
        let done = scan::scan_observed(std::slice::from_ref(source), options, &mut writer);
        bytes = writer.bytes;
        if let Some(unread) = done.unread.into_iter().next() {
            return Err(unread.error);
        }
        if options.stop.is_set() || bytes == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let end = file.stream_position()?;
        let fingerprint = Fingerprint::of_path(log, if compressed { stamp.length } else { bytes })?;
        let marks = match Bytes::file(log)? {
            Bytes::File(file) => Marks::of(file.take(bytes))?,
            Bytes::Stream(stream) => Marks::of(stream)?,
            Bytes::Lean(_) => return Err(is_lean()),
        };
        let frame = marks_frame(&marks.end, &marks.lines, 0);
        file.write_all(&frame)?;
        let marks = frame.len() as u64;
        let commit = Commit { bytes, stamp, fingerprint, waits: false, marks };
        size = write_commit(file, end + marks, &commit)?;
        Ok(())
    });
    match done {
        Err(_) if bytes == 0 && !options.stop.is_set() => Ok((0, 0)),
        Err(error) => Err(error),
        Ok(()) => Ok((bytes.saturating_sub(before), size)),
    }
}

/// Compresses a part of a lean log as one frame. Its start is a block of its own, which is cheap to decompress.
fn write_lean_frame(file: &mut File, part: LeanPart, start: &[u8], rest: &[u8]) -> io::Result<()> {
    let level = match part {
        LeanPart::Digest => DIGEST_LEVEL,
        LeanPart::Records => LEAN_LEVEL,
    };
    let mut encoder = zstd::Encoder::new(BufWriter::with_capacity(256 << 10, file), level)?;
    encoder.include_checksum(true)?;
    encoder.write_all(start)?;
    encoder.flush()?;
    encoder.write_all(rest)?;
    encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

/// Writes a file that replaces another one as a whole, also if the machine stops in between. The folder is created.
///
/// The temporary file has a fixed name, so that the next run replaces what a killed one left behind.
pub(super) fn write_replacing(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let mut file = private().truncate(true).open(&part)?;
    let written = write(&mut file).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
        return written;
    }
    // The new name must reach the disk too; not every system can do that for a folder.
    #[cfg(unix)]
    let _ = fs::OpenOptions::new().read(true).open(folder).and_then(|folder| folder.sync_all());
    written
}
