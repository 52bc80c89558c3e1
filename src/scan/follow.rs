//! Follows sources while they are written.
//!
//! Facts merge, so the complete lines that were appended to a file are added to the facts once. An incomplete
//! last line is read for each snapshot and not includable, so that a snapshot always equals a
//! [`scan`](super::scan) of the same files. Any other change makes the follower read everything again: a file
//! that was truncated, replaced, rewritten or removed, or a new file that sorts before others, since the
//! order of names decides ties. Such changes are rare.
//!
//! Files are polled, not watched. Polling works on network file systems and in containers, needs no watch for
//! each of ten thousand folders, and cannot lose events. The caller of [`Follower::check`] decides how often
//! to poll.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{LineBase, Options, Plan, Progress, Scan, Scratch, Unit, Unread, begins_with_record, run};
use crate::input::{
    self, Bytes, FindError, Fingerprint, FollowMode, Limits, Origin, Range, Roots, Search, Shape, Source,
    SourceId, Stamp, Stop,
};

/// Number of recently written files that [`Check::Recent`] examines.
const RECENT_FILES: usize = 64;

/// The extent of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The files that were written last. Cheap for any number of files.
    Recent,
    /// All files, and a search for new ones.
    Full,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Nothing has changed.
    Nothing,
    /// A folder with recently written files has changed: a full check may find new files.
    Folder,
    /// Files have changed, and the changes are read.
    Content,
}

/// Follows the sources below some roots.
pub struct Follower {
    roots: Roots,
    options: Options,
    search: Search,
    /// In the order of the sources.
    files: Vec<File>,
    /// Indices of the files that were written last, the latest first.
    recent: Vec<usize>,
    /// The folders of the recent files, and when they changed last.
    folders: Vec<(PathBuf, Option<SystemTime>)>,
    /// The facts of complete lines and whole files.
    base: Scan,
    scratch: Scratch,
}

/// The state of one file.
struct File {
    /// Metadata at the last check; `None` if they could not be read.
    stamp: Option<Stamp>,
    /// Fingerprint of the part that is in the base; `None` if nothing is.
    fingerprint: Option<Fingerprint>,
    included: Included,
    /// Whether it was just written. Two writes within one tick of the file clock leave the same stamp, so the
    /// fingerprint is compared once more.
    just_written: bool,
}

/// How much of a file is in the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Included {
    /// Nothing: its shape is undecided, it is not a log, or it cannot be read. It is read for each snapshot.
    Nothing,
    /// All lines before `until`. `unit` is the offset from which the last of them are counted.
    Lines { until: u64, unit: u64 },
    /// The whole file.
    Whole,
}

/// The change of a file since the last check.
enum FileUpdate {
    None,
    /// Nothing of it was in the base. This is its new state.
    First(File),
    /// It has grown. This is its new state.
    Grown(File),
    /// The part in the base is no longer what the file contains.
    Replaced,
}

impl Follower {
    /// Finds the sources and reads them for the first time.
    pub fn start(roots: Roots, options: Options, progress: &Progress) -> Self {
        let mut followed = Self {
            roots,
            options,
            search: Search::default(),
            files: Vec::new(),
            recent: Vec::new(),
            folders: Vec::new(),
            base: Scan::default(),
            scratch: Scratch::default(),
        };
        followed.rebuild(progress);
        // A stop request ends the first read early; later reads are short and are completed.
        followed.options.stop = Stop::default();
        followed
    }

    /// The sources found by the last search.
    pub fn sources(&self) -> &[Source] {
        &self.search.sources
    }

    /// The errors of the last search.
    pub fn errors(&self) -> &[FindError] {
        &self.search.errors
    }

    /// Checks for changes and reads them.
    pub fn check(&mut self, check: Check) -> Update {
        let changed = self.read_changes(check);
        if check == Check::Full {
            self.record_folder_times();
        }
        if changed {
            return Update::Content; // the next check sees whether a folder has changed too
        }
        if self.folders.iter().all(|(folder, time)| input::folder_modified(folder) == *time) {
            return Update::Nothing;
        }
        self.record_folder_times();
        Update::Folder
    }

    /// Records the times of the folders of recent files, where new files are most likely to appear.
    fn record_folder_times(&mut self) {
        let folders: BTreeSet<&Path> =
            self.recent.iter().filter_map(|at| path(&self.search.sources[*at]).ok()?.parent()).collect();
        self.folders =
            folders.into_iter().map(|folder| (folder.to_owned(), input::folder_modified(folder))).collect();
    }

    fn read_changes(&mut self, check: Check) -> bool {
        let mut changed = false;
        if check == Check::Full {
            let search = input::find(&self.roots);
            if !search.sources.starts_with(&self.search.sources) {
                return self.rebuild(&Progress::default());
            }
            changed = search.sources.len() > self.files.len();
            self.search = search;
            for at in self.files.len()..self.search.sources.len() {
                self.files.push(File::new(&self.search.sources[at], &self.options.limits));
                self.read(at, 0);
                self.mark_recent(at);
            }
        }
        let looked_at = match check {
            Check::Recent => self.recent.clone(),
            Check::Full => (0..self.files.len()).collect(),
        };
        for at in looked_at {
            let update = self.files[at].update(&self.search.sources[at], &self.options.limits);
            let (file, from) = match update {
                FileUpdate::None => continue,
                FileUpdate::Replaced => return self.rebuild(&Progress::default()),
                FileUpdate::First(file) => (file, 0),
                FileUpdate::Grown(file) => (file, self.files[at].included.until()),
            };
            self.files[at] = file;
            self.read(at, from);
            self.mark_recent(at);
            changed = true;
        }
        changed
    }

    /// Returns what [`scan`](super::scan) would return for the sources now.
    pub fn snapshot(&mut self) -> Scan {
        let unread = self.base.unread.iter().map(copy_of).collect();
        let mut scan = Scan { facts: self.base.facts.clone(), unread };
        for ((file, named), id) in self.files.iter().zip(&self.search.sources).zip(0..) {
            let source = SourceId(id);
            // Opening a pipe or a device could block forever.
            if file.stamp.is_none()
                && let Err(error) = path(named).and_then(Stamp::of)
            {
                scan.unread.push(Unread { source, offset: None, error });
                continue;
            }
            let Some(unit) = file.rest(source, &scan) else { continue };
            scan.read_unit(
                unit,
                &self.search.sources,
                &self.options,
                &Progress::default(),
                &mut self.scratch,
            );
        }
        scan.unread.sort_by_key(|unread| unread.source);
        scan
    }

    /// Reads everything again.
    fn rebuild(&mut self, progress: &Progress) -> bool {
        self.search = input::find(&self.roots);
        let sources = &self.search.sources;
        self.files = sources.iter().map(|source| File::new(source, &self.options.limits)).collect();
        let mut plan = Plan { total: Some(0), ..Plan::default() };
        for (file, id) in self.files.iter().zip(0..) {
            file.plan(SourceId(id), self.options.limits.unit, &mut plan);
        }
        self.base = Scan::default(); // free the memory before reading again
        self.base = run(plan, sources, &self.options, progress);
        self.recent = (0..self.files.len()).collect();
        let modified = |at: &usize| self.files[*at].stamp.as_ref().and_then(Stamp::modified);
        self.recent.sort_by_key(|at| Reverse(modified(at)));
        // Files that are not recent need no second comparison; ten thousand fingerprints take long.
        self.recent
            .drain(self.recent.len().min(RECENT_FILES)..)
            .for_each(|at| self.files[at].just_written = false);
        self.record_folder_times();
        true
    }

    /// Reads the included part of a file into the base, from an offset on.
    fn read(&mut self, at: usize, from: u64) {
        let source = SourceId(u32::try_from(at).unwrap_or(u32::MAX));
        let unit = match self.files[at].included {
            Included::Nothing => return,
            Included::Whole => Unit::of_file(source, 0),
            Included::Lines { until, .. } if until == from => return,
            Included::Lines { until, unit } => Unit::lines(source, from, Some(until), unit, &self.base),
        };
        self.base.read_unit(
            unit,
            &self.search.sources,
            &self.options,
            &Progress::default(),
            &mut self.scratch,
        );
    }

    /// Moves a file to the front of the recent ones.
    fn mark_recent(&mut self, at: usize) {
        self.recent.retain(|recent| *recent != at);
        self.recent.insert(0, at);
        self.recent.truncate(RECENT_FILES);
    }
}

impl Unit {
    /// A whole regular file. Fails to open if something else has replaced it.
    fn of_file(source: SourceId, size: u64) -> Self {
        Self { is_file: true, ..Self::whole(source, size) }
    }

    /// Lines that follow lines which are counted already.
    fn lines(source: SourceId, start: u64, end: Option<u64>, unit: u64, known: &Scan) -> Self {
        let range = Range { start, end, shape: Some(Shape::Lines) };
        let line_base = LineBase { offset: unit, lines: known.facts.lines_of(source, unit) };
        Self { source, range, size: 0, line_base, is_file: true }
    }
}

impl Included {
    fn until(self) -> u64 {
        match self {
            Self::Lines { until, .. } => until,
            Self::Nothing | Self::Whole => 0,
        }
    }
}

impl File {
    /// Examines a file for the first time. Its stamp is taken first, so that the next check notices later
    /// writes.
    fn new(source: &Source, limits: &Limits) -> Self {
        let stamp = path(source).and_then(Stamp::of).ok();
        let includable = stamp.as_ref().and_then(|stamp| includable(source, stamp, limits).ok()?);
        let (included, fingerprint) = includable
            .map_or((Included::Nothing, None), |(included, fingerprint)| (included, Some(fingerprint)));
        Self { stamp, fingerprint, included, just_written: true }
    }

    /// Returns the change since the last check.
    fn update(&mut self, source: &Source, limits: &Limits) -> FileUpdate {
        let Ok(path) = path(source) else { return FileUpdate::None };
        let stamp = Stamp::of(path).ok();
        if stamp == self.stamp {
            let just_written = std::mem::take(&mut self.just_written);
            let same = !just_written || self.fingerprint.is_none_or(|fingerprint| fingerprint.matches(path));
            return if same { FileUpdate::None } else { FileUpdate::Replaced };
        }
        match (self.included, &self.stamp, stamp) {
            (Included::Nothing, ..) => FileUpdate::First(Self::new(source, limits)),
            (Included::Lines { until, unit }, Some(before), Some(now)) if now.may_continue(before) => {
                self.grown(path, until, unit, now)
            }
            // Written but not longer: the lines in the base may have changed.
            (Included::Lines { .. } | Included::Whole, ..) => FileUpdate::Replaced,
        }
    }

    /// The new fingerprint is taken before the old one is compared, so that a rewrite in between is noticed.
    fn grown(&self, path: &Path, until: u64, unit: u64, now: Stamp) -> FileUpdate {
        let Ok((until, fingerprint)) = input::complete_lines(path, until, now.length) else {
            return FileUpdate::Replaced;
        };
        match self.fingerprint {
            Some(before) if before.matches(path) => FileUpdate::Grown(Self {
                stamp: Some(now),
                fingerprint: Some(fingerprint),
                included: Included::Lines { until, unit },
                just_written: true,
            }),
            _ => FileUpdate::Replaced,
        }
    }

    /// Adds the part that belongs in the base to the plan.
    fn plan(&self, source: SourceId, unit: u64, plan: &mut Plan) {
        let size = self.stamp.as_ref().map_or(0, |stamp| stamp.length);
        match self.included {
            Included::Nothing => return,
            Included::Whole => plan.units.push(Unit::of_file(source, size)),
            Included::Lines { until, .. } => plan.split(source, until, Some(until), unit),
        }
        plan.size += size;
        plan.total = plan.total.map(|total| total + size);
    }

    /// The part that is not in the base, to be added to a snapshot.
    fn rest(&self, source: SourceId, known: &Scan) -> Option<Unit> {
        match self.included {
            Included::Nothing => Some(Unit::of_file(source, 0)),
            Included::Whole => None,
            Included::Lines { until, unit } => {
                let all = until > 0 && self.stamp.as_ref().is_some_and(|stamp| stamp.length == until);
                (!all).then(|| Unit::lines(source, until, None, unit, known))
            }
        }
    }
}

/// Returns the part of a file that can go into the base, with its fingerprint. `None` if it is not a log, or
/// not yet.
fn includable(
    source: &Source,
    stamp: &Stamp,
    limits: &Limits,
) -> io::Result<Option<(Included, Fingerprint)>> {
    let path = path(source)?;
    if source.unverified && !begins_with_record(Bytes::file(path)?, limits)? {
        return Ok(None);
    }
    let (mode, fingerprint) = input::follow_mode(path, stamp.length, limits)?;
    Ok(match mode {
        FollowMode::Undecided => None,
        FollowMode::Whole => Some((Included::Whole, fingerprint)),
        // Lines are counted from the start of the last unit, see `Plan::split`.
        FollowMode::Lines(until) => {
            let unit = limits.unit.max(1);
            Some((Included::Lines { until, unit: until.saturating_sub(1) / unit * unit }, fingerprint))
        }
    })
}

fn path(source: &Source) -> io::Result<&Path> {
    match &source.origin {
        Origin::File(path) => Ok(path),
        Origin::Stdin => Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file")),
    }
}

/// Copies an error, since `io::Error` is not `Clone`.
fn copy_of(unread: &Unread) -> Unread {
    let Unread { source, offset, error } = unread;
    Unread { source: *source, offset: *offset, error: io::Error::new(error.kind(), error.to_string()) }
}
