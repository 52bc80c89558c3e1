//! `redact`: writes logs with placeholders instead of texts, so that they can be shared.

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
    plan::{self, Variables},
    progress::Bar,
    whole::write_whole,
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
    /// Without a path, standard input is read if it is a pipe, a socket or a file, and the saved sessions if
    /// it is a terminal, a device such as /dev/null, or closed. An empty pipe is an error (exit 3). Folders
    /// are searched for .jsonl, .ndjson and .json files, also with .gz or .zst; a .json file is read only if
    /// it begins with a record. The output is never compressed.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read paths from this file, one per line; - for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// Write to this file, or write several logs to this folder
    ///
    /// Several logs need a folder. It keeps their folder structure, with numbers for names; ids of sessions
    /// and agents are kept. A log is written completely or not at all, and never over one that is read.
    #[arg(long, short = 'o', value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub into: Option<PathBuf>,
    /// Treat records larger than this as invalid, such as 512K, 64M or 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub max_record: usize,
    /// Hide the progress bar
    #[arg(long)]
    pub no_progress: bool,
}

pub(super) fn redact(redact: &Redact, variables: &Variables) -> Result<ExitStatus, Error> {
    let Redact { paths, files_from, into, max_record, no_progress } = redact;
    let (paths, files_from) = (paths.clone(), files_from.clone());
    let input = Input {
        paths,
        files_from,
        threads: 1,
        max_record: *max_record,
        no_progress: *no_progress,
        search: None,
    };
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
    let mut run = Run {
        redactor: Redactor::new(),
        options: Options { threads: 1, limits, stop: stop.clone(), ..Options::default() },
        progress,
        records: 0,
        unread: Vec::new(),
    };
    let done = search.sources.iter().zip(0..).zip(&targets).try_for_each(|((source, id), target)| {
        if stop.is_set() { Ok(()) } else { run.log(source, SourceId(id), target) }
    });
    drop(bar);
    run.unread.iter().for_each(|unread| complain(&describe(unread, &search.sources)));
    done?;
    let partial = !search.errors.is_empty() || !run.unread.is_empty();
    Ok(match () {
        () if stop.is_set() => ExitStatus::Interrupted,
        () if run.records == 0 => {
            if run.progress.done.load(Ordering::Relaxed) == 0 {
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

/// The destination of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Stdout,
    File(PathBuf),
    /// A folder, and the path of a file in it.
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

/// Returns the destination of each log. Fails if one of them is a log to be read.
fn targets(sources: &[Source], into: Option<&Path>) -> Result<Vec<Target>, Error> {
    let targets: Vec<Target> = match (sources, into) {
        ([] | [_], None) => vec![Target::Stdout; sources.len()],
        (_, None) => {
            let count = sources.len();
            return Err(Error::Usage(format!("{count} logs need an output folder: add -o FOLDER")));
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
    let canonical = |path: PathBuf| fs::canonicalize(&path).ok();
    for target in targets.iter().filter_map(Target::path) {
        let Some(path) = canonical(target.clone()) else { continue };
        let is_target = |source: &Source| match &source.origin {
            Origin::Stdin => false,
            Origin::File(log) => canonical(log.clone()).is_some_and(|log| log == path),
        };
        if sources.iter().any(is_target) {
            return Err(Error::Overwrite(target));
        }
    }
    Ok(targets)
}

fn ends_as_folder(path: &Path) -> bool {
    path.to_string_lossy().ends_with(std::path::is_separator)
}

/// The state that is kept from log to log.
struct Run {
    redactor: Redactor,
    options: Options,
    progress: Arc<Progress>,
    records: u64,
    unread: Vec<Unread>,
}

impl Run {
    /// Reads one log and writes it to its destination.
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
            create_below(root, folder).map_err(failed)?;
        }
        write_whole(&path, |out| self.pass(bytes, id, out)).map_err(failed)
    }

    /// Reads a log and writes it redacted. Returns write errors; read errors are added to `unread`.
    fn pass(&mut self, mut bytes: input::Bytes, id: SourceId, out: &mut dyn Write) -> io::Result<()> {
        let mut out = CountingWriter { out, progress: &self.progress };
        let Options { limits, stop, .. } = &self.options;
        let mut feed = StreamRedactor::new(&mut self.redactor, limits.max_record, stop, &mut out);
        let (amount, read) = input::read_all(&mut bytes, Range::ALL, limits, &mut Vec::new(), &mut feed);
        self.records += feed.finish()?;
        if let Err(error) = read {
            self.unread.push(Unread { source: id, offset: Some(amount.bytes), error });
        }
        // An error discards the incomplete file.
        if stop.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

/// Creates a folder below `root`. Refuses symbolic links on the way, since they may lead elsewhere.
fn create_below(root: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(root)?;
    let mut path = root.to_owned();
    for part in folder.strip_prefix(root).unwrap_or(folder) {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(io::Error::other("a symbolic link leads out of the folder"));
            }
            Ok(_) => {}
            Err(_) => fs::create_dir(&path)?,
        }
    }
    Ok(())
}

/// Counts written bytes as progress: redaction keeps the length of a log.
struct CountingWriter<'a> {
    out: &'a mut dyn Write,
    progress: &'a Progress,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.progress.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
