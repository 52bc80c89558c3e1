//! `archive`: keeps compressed copies of logs.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use clap::{Args, ValueHint};

use super::{
    args::{Arrange, Input, Output},
    complain, nothing_read, on_interrupt,
    plan::{self, Variables},
    progress::Bar,
    scan_options,
};
use crate::{
    archive::{Archive as Folder, OpenError, Outcome, Update, relative_paths},
    error::{Error, ExitStatus},
    facts::{self, Detail},
    input::{self, Origin, Source, Stop},
    render::Style,
    report::{self, ArchivedLogs},
    scan::{Options, Progress},
};

/// Arguments of `archive`.
#[derive(Debug, Args)]
pub struct Archive {
    /// The logs.
    #[command(flatten)]
    pub input: Input,
    /// Keep the copies in this folder
    ///
    /// It is created if necessary. Folders and files are readable by their owner alone. Required here or in
    /// the configuration; from there, `doctor` and `overview` know the archive too.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,
    /// Keep no texts: only what reports without content need
    ///
    /// A lean archive takes about a hundredth of the size of the logs. It contains no messages, tool inputs
    /// or results; names of tools, models, commands, hooks and projects are kept. Lines, offsets and sizes in
    /// reports are those of the original. The archive remembers that it is lean.
    #[arg(long)]
    pub lean: bool,
    /// Name of this machine, and of its folder in the archive
    ///
    /// Without this option it is the name that the archive remembers from its first run, which is the host's
    /// name unless one was given then.
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Format and destination.
    #[command(flatten)]
    pub output: Output,
    /// Order and selection of rows and columns.
    #[command(flatten)]
    pub arrange: Arrange,
}

pub(super) fn archive(archive: &Archive, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Archive { input, to, lean, machine, output, arrange } = archive;
    let Some(to) = to else {
        let hint =
            "say where to keep the archive: add --to DIR, or set `to` in [archive] of your configuration";
        return Err(Error::Usage(hint.to_owned()));
    };
    output.fits(report::ARCHIVE.name)?;
    let arrangement = arrange.arrangement(&report::ARCHIVE, output)?;
    let roots = plan::wanted(input, variables)?;
    let mut search = input::find(&roots);
    if search.sources.iter().any(|source| source.origin == Origin::Stdin) {
        return Err(Error::Usage(
            "standard input cannot be archived: give a path, or redirect it from /dev/null for the saved sessions"
                .to_owned(),
        ));
    }
    let real = to.canonicalize().ok();
    let is_inside = |source: &Source| match (&source.origin, &real) {
        (Origin::File(path), Some(real)) => path.canonicalize().is_ok_and(|path| path.starts_with(real)),
        _ => false,
    };
    search.sources.retain(|source| !is_inside(source)); // an archive does not archive itself
    output.refuse_overwrite(&search.sources)?;
    search.errors.iter().for_each(|missing| complain(&missing.to_string()));
    if search.sources.is_empty() {
        complain(&nothing_read(&facts::Input::default(), &search.sources));
        return Ok(ExitStatus::NothingRead);
    }
    let wait = |process: Option<u32>| {
        let holder = process.map_or_else(String::new, |id| format!(" (process {id})"));
        complain(&format!("waiting for another run that writes the archive{holder}"));
    };
    let folder = Folder::open(to, machine.as_deref(), &host_name(), *lean, wait).map_err(open_error)?;
    let stop = Stop::default();
    on_interrupt(&stop);
    let options = Options { stop: stop.clone(), threads: 1, ..scan_options(input, Detail::TOTALS) };
    let progress = Arc::new(Progress::default());
    let bar = Bar::watch(&progress, !input.no_progress && !output.quiet);
    let jobs = jobs(&search.sources, relative_paths(&roots, &search.sources));
    let updates = run(&folder, &jobs, input.threads, &options, &progress);
    drop(bar);
    let failed = updates.iter().any(|update| update.outcome == Outcome::Failed);
    let report =
        report::archive(&rows(&updates), &folder.machine, folder.is_lean()).arranged(&arrangement)?;
    let status = match () {
        () if stop.is_set() => ExitStatus::Interrupted,
        () if updates.iter().all(|update| matches!(update.outcome, Outcome::Failed | Outcome::Empty)) => {
            ExitStatus::NothingRead
        }
        () if failed || !search.errors.is_empty() => ExitStatus::Partial,
        () => ExitStatus::Done,
    };
    if status == ExitStatus::NothingRead && !failed {
        complain("nothing to archive: no source has a whole line");
    }
    output.deliver(&report.into(), status, style)
}

fn open_error(error: OpenError) -> Error {
    match error {
        OpenError::Io { path, source } => Error::WriteFile { path, source },
        other => Error::Usage(other.to_string()),
    }
}

/// Logs with the same path in the archive, which must not be written at the same time.
type Job<'a> = (PathBuf, Vec<&'a Source>);

fn jobs(sources: &[Source], paths: Vec<Option<PathBuf>>) -> Vec<Job<'_>> {
    let mut jobs: BTreeMap<PathBuf, Vec<&Source>> = BTreeMap::new();
    for (source, path) in sources.iter().zip(paths) {
        jobs.entry(path.unwrap_or_default()).or_default().push(source);
    }
    jobs.into_iter().collect()
}

/// Archives all logs, on several threads. Reports those that fail.
fn run(
    folder: &Folder,
    jobs: &[Job<'_>],
    threads: usize,
    options: &Options,
    progress: &Progress,
) -> Vec<Update> {
    let length = |source: &&Source| match &source.origin {
        Origin::Stdin => 0,
        Origin::File(path) => path.metadata().map_or(0, |about| about.len()),
    };
    let total = jobs.iter().flat_map(|(_, sources)| sources).map(length).sum();
    progress.total.store(total, Ordering::Relaxed);
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let (next, updates) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((path, sources)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            for source in sources {
                if options.stop.is_set() {
                    return;
                }
                let update = folder.update(source, path, options).unwrap_or_else(|error| {
                    if !options.stop.is_set() {
                        complain(&format!("cannot archive `{}`: {error}", source.name()));
                    }
                    Update { outcome: Outcome::Failed, added: 0, stored: 0 }
                });
                progress.done.fetch_add(length(source), Ordering::Relaxed);
                updates.lock().unwrap_or_else(PoisonError::into_inner).push(update);
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads.min(jobs.len())).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    updates.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// One row for each outcome that occurred.
fn rows(updates: &[Update]) -> Vec<ArchivedLogs> {
    let mut rows: BTreeMap<Outcome, ArchivedLogs> = BTreeMap::new();
    for update in updates {
        let row = rows.entry(update.outcome).or_default();
        row.outcome = update.outcome.name();
        row.files += 1;
        row.added += update.added;
        row.stored += update.stored;
    }
    rows.into_values().collect()
}

/// The name of this host, without its domain.
#[cfg(unix)]
fn host_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    host.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(windows)]
fn host_name() -> String {
    use winapi_util::sysinfo::{ComputerNameKind, get_computer_name};

    let host = get_computer_name(ComputerNameKind::PhysicalDnsHostname);
    host.map_or_else(|_| String::new(), |host| host.to_string_lossy().into_owned())
}

#[cfg(not(any(unix, windows)))]
fn host_name() -> String {
    String::new()
}
