//! Removes sources that are the beginning of another source, where an archive is read.
//!
//! Logs are compared by content, so a copy is found under any name and on any machine. A log without an archived copy is left
//! alone: there the uuids of its records decide.

use std::{
    cell::OnceCell,
    cmp::Reverse,
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Bytes, Fingerprint, Origin, Source,
    archive::{Archived, Commit, MARKER},
    chain::{ChainEnd, Marks, first_line},
};

/// Ending of compressed files, as all files of an archive are.
const ENDING: &str = ".zst";

/// Names the machines of archived logs, and removes sources that another source holds: the log itself, or a longer
/// or equal log in an archive. The remaining source takes over the machine.
pub(super) fn settle(sources: &mut Vec<Source>) {
    let mut logs: Vec<Log> = Vec::new();
    let mut machines = Machines::default();
    for (at, source) in sources.iter_mut().enumerate() {
        let Origin::File(path) = &source.origin else { continue };
        if path.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes()) {
            source.machine = machines.of(path);
            logs.extend(Log::archived(at, path));
        }
    }
    if logs.is_empty() {
        return;
    }
    let is_archived: Vec<usize> = logs.iter().map(|log| log.at).collect();
    let others = sources.iter().enumerate().filter(|(at, _)| is_archived.binary_search(at).is_err());
    logs.extend(others.filter_map(|(at, source)| match &source.origin {
        Origin::Stdin => None,
        Origin::File(path) => Log::plain(at, path),
    }));
    let mut groups: HashMap<u64, Vec<Log>> = HashMap::new();
    for log in logs {
        if let Some(first) = log.first {
            groups.entry(first).or_default().push(log);
        }
    }
    let mut removed = vec![false; sources.len()];
    for group in groups.into_values() {
        if group.len() < 2 || group.iter().all(|log| log.archived.is_none()) {
            continue;
        }
        for (copy, kept) in copies(group) {
            removed[copy] = true;
            if sources[kept].machine.is_none() {
                sources[kept].machine = sources[copy].machine.clone();
            }
        }
    }
    let mut at = 0..;
    sources.retain(|_| !at.next().is_some_and(|at| removed[at]));
}

/// Pairs of sources with the same first line: a copy, and the source that holds all of it.
fn copies(mut group: Vec<Log>) -> Vec<(usize, usize)> {
    // Among equal logs, the original remains, then one with content, then the first by name.
    group.sort_by_key(|log| {
        let lean = log.archived.as_ref().map(|archived| archived.lean);
        (Reverse(log.length), lean, log.at)
    });
    let (mut found, mut kept): (Vec<(usize, usize)>, Vec<Log>) = (Vec::new(), Vec::new());
    for log in group {
        match kept.iter().find(|other| other.holds(&log)) {
            Some(other) => found.push((log.at, other.at)),
            None => kept.push(log),
        }
    }
    found
}

/// A source that may be a copy or have one.
struct Log {
    at: usize,
    path: PathBuf,
    /// Length of its content; the maximum for a compressed log outside of an archive.
    length: u64,
    /// Hash of its first line, if it can be compared.
    first: Option<u64>,
    archived: Option<ArchivedLog>,
    marks: OnceCell<Option<Marks>>,
}

/// A log in an archive.
struct ArchivedLog {
    archived: Archived,
    commit: Commit,
    end: ChainEnd,
    lean: bool,
}

impl Log {
    /// A file of an archive; `None` if it is another file.
    fn archived(at: usize, path: &Path) -> Option<Self> {
        let archived = Archived::open(path).ok()?.filter(Archived::is_current)?;
        let (commit, _) = archived.commit?;
        let end = archived.chain_end(path).ok().flatten();
        let path = path.to_owned();
        Some(Self {
            at,
            path,
            length: commit.bytes,
            first: end.map(|end| end.first),
            archived: end.map(|end| ArchivedLog { archived, commit, end, lean: archived.lean }),
            marks: OnceCell::new(),
        })
    }

    /// A log outside of an archive; `None` if it is not a regular file.
    fn plain(at: usize, path: &Path) -> Option<Self> {
        let length = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        let (first, length) = match Bytes::file(path).ok()? {
            Bytes::File(file) => (first_line(file), length),
            Bytes::Stream(stream) => (first_line(stream), u64::MAX),
            Bytes::Lean(_) => return None,
        };
        Some(Self { at, path: path.to_owned(), length, first, archived: None, marks: OnceCell::new() })
    }

    /// Whether this log begins with everything that another one holds, which is not longer.
    fn holds(&self, other: &Self) -> bool {
        match (&self.archived, &other.archived) {
            (None, None) => {
                let Ok(metadata) = other.path.metadata() else { return false };
                let print = Fingerprint::of_path(&other.path, metadata.len());
                print.is_ok_and(|print| print.matches(&self.path))
            }
            (None, Some(archived)) if archived.commit.fingerprint.matches(&self.path) => true,
            (_, Some(archived)) => self.marks().is_some_and(|marks| marks.begins_with(&archived.end)),
            (Some(_), None) => {
                let ends = other.marks().map(|marks| marks.end);
                ends.zip(self.marks()).is_some_and(|(end, marks)| marks.begins_with(&end))
            }
        }
    }

    /// The marks of all lines: kept in the archive, or computed from the log.
    fn marks(&self) -> Option<&Marks> {
        let marks = || match &self.archived {
            Some(archived) => archived.archived.marks(&self.path).ok().flatten(),
            None => {
                let reader: Box<dyn Read> = match Bytes::file(&self.path).ok()? {
                    Bytes::File(file) => Box::new(file),
                    Bytes::Stream(stream) => stream,
                    Bytes::Lean(_) => return None,
                };
                Marks::of(reader).ok()
            }
        };
        self.marks.get_or_init(marks).as_ref()
    }
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
