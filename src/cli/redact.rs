//! `redact`: logs without their texts, to be shown to others.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

use clap::{Args, ValueHint};

use super::{
    args::{Input, size},
    complain, describe, nothing_read, on_interrupt,
    output::write_whole,
    plan::{self, Variables},
    progress::Bar,
};
use crate::{
    error::{Error, ExitStatus},
    facts,
    input::{self, Limits, Origin, Range, Source, SourceId, Stop},
    redact::{Redactor, StreamRedactor, redacted_paths},
    scan::{self, Options, Progress, Unread},
};

/// Arguments of `redact`.
#[derive(Debug, Args)]
pub struct Redact {
    /// Files, folders, patterns, or - for standard input
    ///
    /// Without it standard input is read if it is a pipe, a socket or a file, and the saved sessions if it is a terminal, a
    /// device such as /dev/null, or closed. An empty pipe is an error (exit 3). Folders are searched for .jsonl, .ndjson and
    /// .json files, also with .gz or .zst; a .json file counts only if it begins with a record. What is written is never
    /// packed.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read the paths from a file, one a line; - for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// Write here: to a file, or several logs to a folder
    ///
    /// A folder that exists is written into, and several logs always need one. In it they have the folders that they had, with
    /// numbers for names; ids of sessions and agents stay. A log is written whole or not at all, and never over one that
    /// is read.
    #[arg(long, short = 'o', value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub into: Option<PathBuf>,
    /// Take records larger than this for none, such as 512K, 64M or 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub max_record: usize,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

pub(super) fn redact(redact: &Redact, variables: &Variables) -> Result<ExitStatus, Error> {
    let Redact { paths, files_from, into, max_record, no_progress } = redact;
    let (paths, files_from) = (paths.clone(), files_from.clone());
    let input = Input { paths, files_from, threads: 1, max_record: *max_record, no_progress: *no_progress };
    let search = input::find(&plan::wanted(&input, variables)?);
    let targets = targets(&search.sources, into.as_deref())?;
    search.errors.iter().for_each(|missing| complain(&missing.to_string()));
    if search.sources.is_empty() {
        complain(&nothing_read(&facts::Input::default(), &search.sources));
        return Ok(ExitStatus::NothingRead);
    }
    let stop = Stop::default();
    on_interrupt(&stop);
    let limits = Limits { max_record: *max_record, ..Limits::default() };
    let progress = Arc::new(Progress::default());
    let bar = Bar::watch(&progress, !no_progress);
    let mut work = Work {
        redactor: Redactor::new(),
        options: Options { threads: 1, limits, stop: stop.clone(), ..Options::default() },
        progress,
        records: 0,
        unread: Vec::new(),
    };
    let done = search.sources.iter().zip(0..).zip(&targets).try_for_each(|((source, id), target)| {
        if stop.is_set() { Ok(()) } else { work.log(source, SourceId(id), target) }
    });
    drop(bar);
    work.unread.iter().for_each(|unread| complain(&describe(unread, &search.sources)));
    done?;
    let partial = !search.errors.is_empty() || !work.unread.is_empty();
    Ok(match () {
        () if stop.is_set() => ExitStatus::Interrupted,
        () if work.records == 0 => {
            if work.progress.done.load(Ordering::Relaxed) == 0 {
                complain(&nothing_read(&facts::Input::default(), &search.sources));
            } else {
                complain("no records: none of the lines is a JSON object with a `type`");
            }
            ExitStatus::NothingRead
        }
        () if partial => ExitStatus::Partial,
        () => ExitStatus::Done,
    })
}

/// Where a log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Stdout,
    /// A file.
    File(PathBuf),
    /// A folder, and a file below it.
    Below(PathBuf, PathBuf),
}

impl Target {
    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Stdout => None,
            Self::File(path) => Some(path.clone()),
            Self::Below(folder, path) => Some(folder.join(path)),
        }
    }
}

/// Where each log goes; refused if that is a log that is read.
fn targets(sources: &[Source], into: Option<&Path>) -> Result<Vec<Target>, Error> {
    let targets: Vec<Target> = match (sources, into) {
        ([] | [_], None) => vec![Target::Stdout; sources.len()],
        (_, None) => {
            let many = sources.len();
            return Err(Error::Usage(format!("{many} logs need a folder to be written to, add -o FOLDER")));
        }
        ([_], Some(path)) if !path.is_dir() && !ends_as_folder(path) => vec![Target::File(path.to_owned())],
        (_, Some(folder)) => {
            let path = |source: &Source| match &source.origin {
                Origin::Stdin => PathBuf::from("stdin.jsonl"),
                Origin::File(path) => path.clone(),
            };
            let logs: Vec<PathBuf> = sources.iter().map(path).collect();
            redacted_paths(&logs).into_iter().map(|name| Target::Below(folder.to_owned(), name)).collect()
        }
    };
    let true_name = |path: PathBuf| fs::canonicalize(&path).ok();
    for target in targets.iter().filter_map(Target::path) {
        let Some(path) = true_name(target.clone()) else { continue };
        let is_it = |source: &Source| match &source.origin {
            Origin::Stdin => false,
            Origin::File(log) => true_name(log.clone()).is_some_and(|log| log == path),
        };
        if sources.iter().any(is_it) {
            return Err(Error::Overwrite(target));
        }
    }
    Ok(targets)
}

fn ends_as_folder(path: &Path) -> bool {
    path.to_string_lossy().ends_with(std::path::is_separator)
}

/// What goes on from log to log.
struct Work {
    redactor: Redactor,
    options: Options,
    progress: Arc<Progress>,
    records: u64,
    unread: Vec<Unread>,
}

impl Work {
    /// Reads one log and writes it to its place.
    fn log(&mut self, source: &Source, id: SourceId, target: &Target) -> Result<(), Error> {
        let bytes = match scan::open(source, &self.options) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.unread.push(Unread { source: id, offset: None, error });
                return Ok(());
            }
        };
        let Some(path) = target.path() else {
            let mut out = io::stdout().lock();
            return self.pass(bytes, id, &mut out).and_then(|()| out.flush()).map_err(Error::Write);
        };
        let failed = |source| Error::WriteFile { path: path.clone(), source };
        if let (Target::Below(root, _), Some(folder)) = (target, path.parent()) {
            below(root, folder).map_err(failed)?;
        }
        write_whole(&path, |out| self.pass(bytes, id, out)).map_err(failed)
    }

    /// Reads a log and writes it without its texts. Errors are those of writing: what cannot be read is noted.
    fn pass(&mut self, mut bytes: input::Bytes, id: SourceId, out: &mut dyn Write) -> io::Result<()> {
        let mut out = Counted { out, progress: &self.progress };
        let Options { limits, stop, .. } = &self.options;
        let mut feed = StreamRedactor::new(&mut self.redactor, limits.max_record, stop, &mut out);
        let (amount, read) = input::read_all(&mut bytes, Range::ALL, limits, &mut Vec::new(), &mut feed);
        self.records += feed.finish()?;
        if let Err(error) = read {
            self.unread.push(Unread { source: id, offset: Some(amount.bytes), error });
        }
        // Half a log is no log.
        if stop.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

/// Makes a folder below another one, and follows no link on the way, since it may lead elsewhere.
fn below(root: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(root)?;
    let mut path = root.to_owned();
    for part in folder.strip_prefix(root).unwrap_or(folder) {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(known) if known.is_symlink() => {
                return Err(io::Error::other("a link leads out of the folder"));
            }
            Ok(_) => {}
            Err(_) => fs::create_dir(&path)?,
        }
    }
    Ok(())
}

/// Tells how far it is: as much is written as was read.
struct Counted<'a> {
    out: &'a mut dyn Write,
    progress: &'a Progress,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.progress.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
