//! `trace`: writes sessions as spans, metrics and events for other programs.

use std::{
    collections::HashSet,
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum, ValueHint};

use super::{
    Reading,
    args::Query,
    complain,
    output::refuse_overwrite,
    plan::{self, Variables},
    read_sources,
    rows::{Filtered, Scope},
    scan_options, show, status_of,
    whole::write_whole,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{
        Detail,
        ledger::{Ledger, SessionIndex},
    },
    input::{self, Origin, Search, Source},
    render::{otlp, perfetto},
    report::{
        Names,
        trace::{Omitted, SessionTrace, TRACE_CONTENT, TRACE_DETAIL, Traces},
    },
    scan::Locator,
};

/// Id of the option that chooses the format.
pub(super) const FORMAT: &str = "trace_format";

/// Bytes of logs that are read together. Memory grows with this, not with all logs. Tests have small logs.
const BATCH: u64 = if cfg!(debug_assertions) { 16 << 10 } else { 64 << 20 };

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub struct Trace {
    /// Id of the session or its first characters; latest for the one that started last
    #[arg(value_name = "SESSION")]
    pub id: Option<String>,
    /// Write in this format
    ///
    /// By default, a file that ends in .json is for Perfetto, and everything else is OTLP.
    #[arg(id = FORMAT, long = "format", short = 'f', value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub format: Option<TraceFormat>,
    /// Write the CLI's metrics instead of spans
    #[arg(long, help_heading = "Output")]
    pub metrics: bool,
    /// Write the CLI's events as log records instead of spans
    #[arg(long, help_heading = "Output")]
    pub logs: bool,
    /// Write to this file, not to standard output; with --split, to files in this folder
    #[arg(long, short = 'o', value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = "Output")]
    pub into: Option<PathBuf>,
    /// Write a file for each session, named by its id, to the folder given with -o
    #[arg(long, requires = "into", help_heading = "Output")]
    pub split: bool,
    /// Add short texts of the logs: prompts, answers, commands, paths and errors
    ///
    /// They may contain secrets: check what you send.
    #[arg(long, alias = "include-content", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, help_heading = "Output")]
    pub content: Option<bool>,
    /// Print no message about rows without a span, and show no progress
    #[arg(long, short = 'q', hide_short_help = true, help_heading = "Output")]
    pub quiet: bool,
    /// The logs and filters.
    #[command(flatten)]
    pub query: Query,
}

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// OTLP JSON lines, as the file exporter of the OpenTelemetry Collector writes them
    Otlp,
    /// Chrome trace events, for ui.perfetto.dev and chrome://tracing
    Perfetto,
}

impl TraceFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Otlp => "otlp.jsonl",
            Self::Perfetto => "perfetto.json",
        }
    }
}

pub(super) fn trace(trace: &mut Trace, variables: &Variables) -> Result<ExitStatus, Error> {
    if let Some(path) = trace.id.take_if(|session| is_path(session)) {
        trace.query.input.paths.insert(0, path.into());
    }
    let format = trace.format();
    if trace.query.follow {
        return Err(Error::Usage("a trace is written once, after reading: leave out --follow".to_owned()));
    }
    if format == TraceFormat::Perfetto && (trace.metrics || trace.logs) {
        return Err(Error::Usage("--metrics and --logs need --format otlp".to_owned()));
    }
    let search = input::find(&plan::wanted(&trace.query.input, variables)?);
    trace
        .into
        .iter()
        .filter(|_| !trace.split)
        .try_for_each(|path| refuse_overwrite(path, &search.sources))?;
    search.errors.iter().for_each(|missing| complain(&missing.to_string()));
    let mut export = Export { trace, format, variables, search, done: Done::default() };
    let written = match &trace.into {
        Some(folder) if trace.split => export.split(folder),
        Some(path) => {
            write_whole(path, |out| export.stream(out)).map_err(|source| export.failed(path, source))
        }
        None => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            export.stream(&mut out).and_then(|()| out.flush()).map_err(|error| export.done.error(error))
        }
    };
    written?;
    Ok(export.finish())
}

/// Whether a first argument is a path, not a session.
fn is_path(text: &str) -> bool {
    text == "-" || text.contains(['*', '?']) || Path::new(text).exists()
}

impl Trace {
    fn format(&self) -> TraceFormat {
        let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        match self.format {
            Some(format) => format,
            None if self.into.as_ref().is_some_and(is_json) => TraceFormat::Perfetto,
            None => TraceFormat::Otlp,
        }
    }

    fn detail(&self) -> Detail {
        if self.content == Some(true) { TRACE_DETAIL | TRACE_CONTENT } else { TRACE_DETAIL }
    }
}

/// The results of all batches.
#[derive(Default)]
struct Done {
    input: crate::facts::Input,
    omitted: Omitted,
    sessions: u64,
    stop: Option<ExitStatus>,
    partial: bool,
    /// Why reading ended early, apart from write errors.
    error: Option<Error>,
    /// A line if nothing matches the filters.
    nothing: Option<String>,
    sources: Vec<Source>,
}

impl Done {
    /// The error behind a failed write.
    fn error(&mut self, error: io::Error) -> Error {
        self.error.take().unwrap_or(Error::Write(error))
    }
}

/// Reads sessions batch by batch and writes them.
struct Export<'a> {
    trace: &'a Trace,
    format: TraceFormat,
    variables: &'a Variables,
    search: Search,
    done: Done,
}

impl Export<'_> {
    fn failed(&mut self, path: &Path, source: io::Error) -> Error {
        self.done.error.take().unwrap_or_else(|| Error::WriteFile { path: path.to_owned(), source })
    }

    /// Writes all sessions to one stream.
    fn stream(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (format, trace) = (self.format, self.trace);
        let mut writer = SessionWriter::new(format, trace, out)?;
        self.each(|session| writer.write(session))?;
        writer.end()
    }

    /// Writes each session to a file of its own.
    fn split(&mut self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(|source| self.failed(folder, source))?;
        let (format, trace, sources) = (self.format, self.trace, self.search.sources.clone());
        let mut names = HashSet::new();
        let mut place = folder.to_owned();
        let written = self.each(|session| {
            place = folder.join(file_name(&session.session, format, &mut names));
            refuse_overwrite(&place, &sources).map_err(io::Error::other)?;
            write_whole(&place, |out| {
                let mut writer = SessionWriter::new(format, trace, out)?;
                writer.write(session)?;
                writer.end()
            })
        });
        written.map_err(|source| self.failed(&place, source))
    }

    /// Reads the sessions and calls `write` with each. Errors of reading are kept in `done`.
    fn each(&mut self, mut write: impl FnMut(&SessionTrace) -> io::Result<()>) -> io::Result<()> {
        let (trace, variables) = (self.trace, self.variables);
        let batches = match self.batches() {
            Ok(batches) => batches,
            Err(error) => return Err(self.fail(error)),
        };
        for batch in batches {
            let search = self.search.some(|at| batch.as_ref().is_none_or(|batch| batch.contains(&at)));
            let filtered = match &trace.id {
                Some(id) => show::read_for(id, search, &trace.query, trace.detail(), trace.quiet, variables),
                None => self.read(search),
            };
            let filtered = match filtered {
                Ok(filtered) => filtered,
                Err(error) => return Err(self.fail(error)),
            };
            filtered.reading.complain_of_unread();
            self.add(&filtered);
            let chosen = match trace.id.as_deref().map(|id| show::find(id, &filtered.ledger, variables)) {
                None => None,
                Some(Ok(session)) => Some(session),
                Some(Err(error)) => return Err(self.fail(error)),
            };
            let sessions: Vec<SessionIndex> = match chosen {
                Some(session) => session.into_iter().collect(),
                None => SessionIndex::each(&filtered.ledger.sessions).map(|(at, _)| at).collect(),
            };
            self.write(&filtered.ledger, &filtered.names, &sessions, &mut write)?;
            if filtered.reading.stop.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: Error) -> io::Error {
        self.done.error = Some(error);
        io::ErrorKind::Other.into()
    }

    fn write(
        &mut self,
        ledger: &Ledger,
        names: &[crate::facts::Name],
        sessions: &[SessionIndex],
        write: &mut impl FnMut(&SessionTrace) -> io::Result<()>,
    ) -> io::Result<()> {
        let traces = Traces::of(ledger, Names(names));
        for &session in sessions {
            let session = traces.session(session);
            self.done.omitted.add(session.omitted);
            self.done.sessions += 1;
            write(&session)?;
        }
        Ok(())
    }

    fn add(&mut self, filtered: &Filtered) {
        let Reading { stop, partial, sources, .. } = &filtered.reading;
        let done = &mut self.done;
        done.input.records += filtered.ledger.input.records;
        done.input.bytes += filtered.ledger.input.bytes;
        done.input.invalid += filtered.ledger.input.invalid;
        done.input.truncated += filtered.ledger.input.truncated;
        done.stop = *stop;
        done.partial |= partial;
        done.sources.extend(sources.iter().cloned());
        done.nothing = filtered.nothing_matches().map(|line| crate::render::human::words(&line));
    }

    /// The sources to read together; one `None` for all of them. Which sessions are the latest, and which one
    /// an id begins, depends on all logs.
    fn batches(&self) -> Result<Vec<Option<HashSet<usize>>>, Error> {
        let Trace { id, query, .. } = self.trace;
        if id.is_some() || query.filters.last.is_some() {
            return Ok(vec![None]);
        }
        let sources = &self.search.sources;
        let Some(groups) = Locator::groups(sources, &scan_options(&query.input, self.trace.detail())) else {
            return Ok(vec![None]);
        };
        let size = |at: &usize| match &sources[*at].origin {
            Origin::Stdin => 0,
            Origin::File(path) => path.metadata().map_or(0, |about| about.len()),
        };
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for group in groups {
            let more: u64 = group.iter().map(size).sum();
            if batches.is_empty() || bytes + more > BATCH {
                batches.push(Some(HashSet::new()));
                bytes = 0;
            }
            bytes += more;
            batches.last_mut().into_iter().flatten().for_each(|batch| batch.extend(&group));
        }
        Ok(batches)
    }

    fn read(&self, search: Search) -> Result<Filtered, Error> {
        let Trace { query, quiet, .. } = self.trace;
        let scope = Scope::of(query, self.trace.detail(), &[], self.variables)?;
        scope.apply(read_sources(search, &query.input, scope.detail, *quiet))
    }

    /// Says what has no span, and returns the exit status.
    fn finish(self) -> ExitStatus {
        let Done { input, omitted, sessions, stop, partial, nothing, sources, .. } = self.done;
        let partial = partial || !self.search.errors.is_empty();
        let status = status_of(&input, &stop, partial);
        if status == ExitStatus::NothingRead && !(partial && input.bytes == 0) {
            complain(&super::nothing_read(&input, &sources));
        }
        if let Some(line) = nothing.filter(|_| sessions == 0) {
            complain(&line);
        }
        if let Some(line) = words(omitted).filter(|_| !self.trace.quiet) {
            complain(&line);
        }
        status
    }
}

/// A line about rows without a span; `None` if there is none.
fn words(omitted: Omitted) -> Option<String> {
    let Omitted { interactions, requests, tools, open, borders } = omitted;
    let parts = [
        (interactions, "prompt without a time", "prompts without a time"),
        (requests, "request without a time", "requests without a time"),
        (tools, "call without a time", "calls without a time"),
        (open, "call without a result", "calls without a result"),
        (
            borders,
            "wait before a call (the log has no time between waiting and execution)",
            "waits before calls (the log has no time between waiting and execution)",
        ),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|&(count, ..)| count > 0)
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
    (!parts.is_empty()).then(|| format!("no span for {}", parts.join(", ")))
}

/// A file name for a session: its id, as far as it can be part of a name.
fn file_name(session: &str, format: TraceFormat, names: &mut HashSet<String>) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    let stem: String = session.chars().rev().take(100).map(plain).collect();
    let stem: String = stem.chars().rev().collect();
    let stem = if stem.is_empty() { "session".to_owned() } else { stem };
    let numbered = |number: u64| if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
    // Systems that ignore the case of names have one file for both.
    let free = (1..).map(numbered).find(|name| names.insert(name.to_ascii_lowercase()));
    format!("{}.{}", free.unwrap_or(stem), format.extension())
}

/// Writes sessions to one stream.
enum SessionWriter<'w> {
    Otlp { metrics: bool, logs: bool, out: &'w mut dyn Write },
    Perfetto(perfetto::Writer<'w>),
}

impl<'w> SessionWriter<'w> {
    fn new(format: TraceFormat, trace: &Trace, out: &'w mut dyn Write) -> io::Result<Self> {
        let &Trace { metrics, logs, .. } = trace;
        Ok(match format {
            TraceFormat::Otlp => Self::Otlp { metrics, logs, out },
            TraceFormat::Perfetto => Self::Perfetto(perfetto::Writer::new(out)?),
        })
    }

    fn write(&mut self, session: &SessionTrace) -> io::Result<()> {
        match self {
            Self::Otlp { metrics: false, logs: false, out } => otlp::write_spans(session, out),
            Self::Otlp { metrics, logs, out } => {
                if *metrics {
                    otlp::write_metrics(session, out)?;
                }
                if *logs {
                    otlp::write_logs(session, out)?;
                }
                Ok(())
            }
            Self::Perfetto(writer) => writer.session(session),
        }
    }

    fn end(self) -> io::Result<()> {
        match self {
            Self::Otlp { .. } => Ok(()),
            Self::Perfetto(writer) => writer.end(),
        }
    }
}
