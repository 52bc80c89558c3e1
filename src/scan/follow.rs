//! Sources that are read on while they are written.
//!
//! Facts merge, so a file that has grown is more of the same: whole lines are added to what is known, once. What stands
//! behind the last whole line is read for each snapshot anew and forgotten again, so that a snapshot is always what
//! [`scan`](super::scan) would make of the same files. Whatever is not growth (a file that was cut, replaced, written
//! anew, removed, or found before others in the order of names, which decides ties) makes everything be read again:
//! that is rare, and right.
//!
//! Files are looked at, not watched: looking works on network file systems and in containers, needs no watch for each of
//! ten thousand folders, and tells nothing wrong when events are lost. What that costs is up to who calls
//! [`Follower::check`].

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Count, Desk, Options, Plan, Progress, Scan, Unit, Unread, begins_with_record, carry_out};
use crate::input::{
    self, Bytes, FindError, Fingerprint, FollowMode, Limits, Origin, Range, Roots, Search, Shape, Source,
    SourceId, Stamp, Stop,
};

/// So many files, those that were written last, are looked at by a glance.
const HOT: usize = 64;

/// How far a look goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The files that were written last: cheap, however many there are.
    Recent,
    /// All files, and whether there are others by now.
    Full,
}

/// What a look has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// All is as it was.
    Nothing,
    /// A folder where something lives has changed: a sweep may find more.
    Folder,
    /// News, and they are read.
    Content,
}

/// Sources that are followed.
pub struct Follower {
    wanted: Roots,
    options: Options,
    search: Search,
    /// In the order of the sources.
    files: Vec<File>,
    /// Files that were written last, the latest first.
    hot: Vec<usize>,
    /// The folders that they are in, and when these changed last.
    folders: Vec<(PathBuf, Option<SystemTime>)>,
    /// What is known of whole lines and whole files.
    base: Scan,
    desk: Desk,
}

/// What is known of one file.
struct File {
    /// As it was when it was looked at; `None` if it could not be.
    stamp: Option<Stamp>,
    /// What it is known by as far as it is kept; `None` if nothing is kept.
    mark: Option<Fingerprint>,
    held: Held,
    /// It was written just now. The clock of files has ticks, and whoever writes twice within one leaves the same stamp.
    fresh: bool,
}

/// How much of a file is in the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Nothing: its shape is not decided, it is no log, or it cannot be read. It is read for each snapshot.
    Nothing,
    /// All lines before an offset, the last of them counted from another one.
    Lines { until: u64, unit: u64 },
    /// All of it, as it was.
    Whole,
}

/// What became of a file.
enum News {
    None,
    /// Nothing was held of it, and now it looks like this.
    Known(File),
    /// It has grown; what is held goes up to here now.
    Grown(File),
    /// What is held of it is not what it says.
    Other,
}

impl Follower {
    /// Finds the sources and reads them for the first time.
    pub fn start(wanted: Roots, options: Options, progress: &Progress) -> Self {
        let mut followed = Self {
            wanted,
            options,
            search: Search::default(),
            files: Vec::new(),
            hot: Vec::new(),
            folders: Vec::new(),
            base: Scan::default(),
            desk: Desk::default(),
        };
        followed.rebuild(progress);
        // Who wishes to stop the first read gets what was read until then; a later one is short and comes to its end.
        followed.options.stop = Stop::default();
        followed
    }

    /// The sources as they were found last.
    pub fn sources(&self) -> &[Source] {
        &self.search.sources
    }

    /// What was named and could not be had when it was looked for last.
    pub fn errors(&self) -> &[FindError] {
        &self.search.errors
    }

    /// Looks for news and reads them.
    pub fn check(&mut self, check: Check) -> Update {
        let news = self.has_news(check);
        if check == Check::Full {
            self.note_folders();
        }
        if news {
            return Update::Content; // whether a folder has changed too is seen next time
        }
        if self.folders.iter().all(|(folder, time)| input::folder_modified(folder) == *time) {
            return Update::Nothing;
        }
        self.note_folders();
        Update::Folder
    }

    /// Where new files are to be expected: where others were written last.
    fn note_folders(&mut self) {
        let folders: BTreeSet<&Path> =
            self.hot.iter().filter_map(|at| path(&self.search.sources[*at]).ok()?.parent()).collect();
        self.folders =
            folders.into_iter().map(|folder| (folder.to_owned(), input::folder_modified(folder))).collect();
    }

    fn has_news(&mut self, check: Check) -> bool {
        let mut changed = false;
        if check == Check::Full {
            let search = input::find(&self.wanted);
            if !search.sources.starts_with(&self.search.sources) {
                return self.rebuild(&Progress::default());
            }
            changed = search.sources.len() > self.files.len();
            self.search = search;
            for at in self.files.len()..self.search.sources.len() {
                self.files.push(File::new(&self.search.sources[at], &self.options.limits));
                self.read(at, 0);
                self.heat(at);
            }
        }
        let looked_at = match check {
            Check::Recent => self.hot.clone(),
            Check::Full => (0..self.files.len()).collect(),
        };
        for at in looked_at {
            let news = self.files[at].news(&self.search.sources[at], &self.options.limits);
            let (file, from) = match news {
                News::None => continue,
                News::Other => return self.rebuild(&Progress::default()),
                News::Known(file) => (file, 0),
                News::Grown(file) => (file, self.files[at].held.until()),
            };
            self.files[at] = file;
            self.read(at, from);
            self.heat(at);
            changed = true;
        }
        changed
    }

    /// What [`scan`](super::scan) would make of the sources now.
    pub fn snapshot(&mut self) -> Scan {
        let unread = self.base.unread.iter().map(again).collect();
        let mut scan = Scan { facts: self.base.facts.clone(), unread };
        for ((file, named), id) in self.files.iter().zip(&self.search.sources).zip(0..) {
            let source = SourceId(id);
            // To open a pipe or a device could wait for ever, or never come to an end.
            if file.stamp.is_none()
                && let Err(error) = path(named).and_then(Stamp::of)
            {
                scan.unread.push(Unread { source, offset: None, error });
                continue;
            }
            let Some(unit) = file.rest(source, &scan) else { continue };
            scan.take(unit, &self.search.sources, &self.options, &Progress::default(), &mut self.desk);
        }
        scan.unread.sort_by_key(|unread| unread.source);
        scan
    }

    /// Reads everything again.
    fn rebuild(&mut self, progress: &Progress) -> bool {
        self.search = input::find(&self.wanted);
        let sources = &self.search.sources;
        self.files = sources.iter().map(|source| File::new(source, &self.options.limits)).collect();
        let mut plan = Plan { total: Some(0), ..Plan::default() };
        for (file, id) in self.files.iter().zip(0..) {
            file.plan(SourceId(id), self.options.limits.unit, &mut plan);
        }
        self.base = Scan::default(); // let go before the new one is made
        self.base = carry_out(plan, sources, &self.options, progress);
        self.hot = (0..self.files.len()).collect();
        let modified = |at: &usize| self.files[*at].stamp.as_ref().and_then(Stamp::modified);
        self.hot.sort_by_key(|at| Reverse(modified(at)));
        // What was written long before others was not written just now, and ten thousand marks take their time.
        self.hot.drain(self.hot.len().min(HOT)..).for_each(|at| self.files[at].fresh = false);
        self.note_folders();
        true
    }

    /// Reads into the base what is held of a file from an offset on.
    fn read(&mut self, at: usize, from: u64) {
        let source = SourceId(u32::try_from(at).unwrap_or(u32::MAX));
        let unit = match self.files[at].held {
            Held::Nothing => return,
            Held::Whole => Unit::of_file(source, 0),
            Held::Lines { until, .. } if until == from => return,
            Held::Lines { until, unit } => Unit::lines(source, from, Some(until), unit, &self.base),
        };
        self.base.take(unit, &self.search.sources, &self.options, &Progress::default(), &mut self.desk);
    }

    /// A file that was written just now is looked at more often.
    fn heat(&mut self, at: usize) {
        self.hot.retain(|hot| *hot != at);
        self.hot.insert(0, at);
        self.hot.truncate(HOT);
    }
}

impl Unit {
    /// A regular file that is read by one worker; whatever replaces it is refused.
    fn of_file(source: SourceId, size: u64) -> Self {
        Self { is_file: true, ..Self::whole(source, size) }
    }

    /// Lines that go on where others were counted already.
    fn lines(source: SourceId, start: u64, end: Option<u64>, unit: u64, known: &Scan) -> Self {
        let range = Range { start, end, shape: Some(Shape::Lines) };
        let count = Count { since: unit, lines: known.facts.lines_of(source, unit) };
        Self { source, range, size: 0, count, is_file: true }
    }
}

impl Held {
    fn until(self) -> u64 {
        match self {
            Self::Lines { until, .. } => until,
            Self::Nothing | Self::Whole => 0,
        }
    }
}

impl File {
    /// Looks at a file for the first time. Its stamp is taken before anything else: what is written after that shows
    /// when it is looked at again.
    fn new(source: &Source, limits: &Limits) -> Self {
        let stamp = path(source).and_then(Stamp::of).ok();
        let kept = stamp.as_ref().and_then(|stamp| kept(source, stamp, limits).ok()?);
        let (held, mark) = kept.map_or((Held::Nothing, None), |(held, mark)| (held, Some(mark)));
        Self { stamp, mark, held, fresh: true }
    }

    /// What became of it since it was looked at.
    fn news(&mut self, source: &Source, limits: &Limits) -> News {
        let Ok(path) = path(source) else { return News::None };
        let stamp = Stamp::of(path).ok();
        if stamp == self.stamp {
            let fresh = std::mem::take(&mut self.fresh);
            let same = !fresh || self.mark.is_none_or(|mark| mark.matches(path));
            return if same { News::None } else { News::Other };
        }
        match (self.held, &self.stamp, stamp) {
            (Held::Nothing, ..) => News::Known(Self::new(source, limits)),
            (Held::Lines { until, unit }, Some(before), Some(now)) if now.may_continue(before) => {
                self.grown(path, until, unit, now)
            }
            // Written, and no longer than before: the lines that are held may be others.
            (Held::Lines { .. } | Held::Whole, ..) => News::Other,
        }
    }

    /// The new mark is taken before the old one is compared: a file that is written anew in between has one of them wrong.
    fn grown(&self, path: &Path, until: u64, unit: u64, now: Stamp) -> News {
        let Ok((until, mark)) = input::complete_lines(path, until, now.length) else { return News::Other };
        match self.mark {
            Some(before) if before.matches(path) => News::Grown(Self {
                stamp: Some(now),
                mark: Some(mark),
                held: Held::Lines { until, unit },
                fresh: true,
            }),
            _ => News::Other,
        }
    }

    /// Adds what is held of it to what has to be read.
    fn plan(&self, source: SourceId, unit: u64, plan: &mut Plan) {
        let size = self.stamp.as_ref().map_or(0, |stamp| stamp.length);
        match self.held {
            Held::Nothing => return,
            Held::Whole => plan.units.push(Unit::of_file(source, size)),
            Held::Lines { until, .. } => plan.cut(source, until, Some(until), unit),
        }
        plan.size += size;
        plan.total = plan.total.map(|total| total + size);
    }

    /// What is not in the base, for a snapshot that has all that is.
    fn rest(&self, source: SourceId, known: &Scan) -> Option<Unit> {
        match self.held {
            Held::Nothing => Some(Unit::of_file(source, 0)),
            Held::Whole => None,
            Held::Lines { until, unit } => {
                let all = until > 0 && self.stamp.as_ref().is_some_and(|stamp| stamp.length == until);
                (!all).then(|| Unit::lines(source, until, None, unit, known))
            }
        }
    }
}

/// How much of a file can be held, and what it is known by then; `None` if it is no log, or none yet.
fn kept(source: &Source, stamp: &Stamp, limits: &Limits) -> io::Result<Option<(Held, Fingerprint)>> {
    let path = path(source)?;
    if source.unverified && !begins_with_record(Bytes::file(path)?, limits)? {
        return Ok(None);
    }
    let (growth, mark) = input::follow_mode(path, stamp.length, limits)?;
    Ok(match growth {
        FollowMode::Undecided => None,
        FollowMode::Whole => Some((Held::Whole, mark)),
        // Lines are counted from where the last unit begins, see `Plan::cut`.
        FollowMode::Lines(until) => {
            let unit = limits.unit.max(1);
            Some((Held::Lines { until, unit: until.saturating_sub(1) / unit * unit }, mark))
        }
    })
}

fn path(source: &Source) -> io::Result<&Path> {
    match &source.origin {
        Origin::File(path) => Ok(path),
        Origin::Stdin => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no file")),
    }
}

/// The same error once more: a snapshot tells it too.
fn again(unread: &Unread) -> Unread {
    let Unread { source, offset, error } = unread;
    Unread { source: *source, offset: *offset, error: io::Error::new(error.kind(), error.to_string()) }
}
