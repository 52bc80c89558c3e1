//! `--tee`, `--print` and `--live`: pass a pipe on or show it while counting it.

use std::{
    io,
    path::PathBuf,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use clap::{Args, ValueHint};

use super::{
    Reading, args, complain, describe,
    live::Live,
    on_interrupt,
    output::Channel,
    passthrough::{self, Inbox, Outcome, Passthrough, Supervisor},
    pipe,
    print::{PrintMode, RecordStore},
    run::Stream,
    signal::{self, Received},
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Arrived, Detail, Facts},
    input::{Limits, Origin, Relay, Source, Stop},
    measure::Prices,
    scan::{self, Options, Scan},
};

/// How long to wait for the last output of the writer after an interrupt, which both programs received.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);

/// Options for a pipe that is read while it is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub struct Tee {
    /// Copy standard input to standard output unchanged and without delay; --tee=FILE also writes it to a
    /// file
    ///
    /// The report then goes to standard error, or to the files given with -o.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_hint = ValueHint::FilePath)]
    pub tee: Option<Option<PathBuf>>,
    /// Options for printing the stream.
    #[command(flatten)]
    pub stream: Stream,
    /// The live display.
    #[command(flatten)]
    pub live: Live,
}

impl Tee {
    /// Whether standard output carries the stream, so the report cannot use it.
    fn uses_stdout(&self) -> bool {
        self.tee.is_some() || self.stream.print.is_some()
    }

    /// Whether the raw stream is written to standard output. Printed text leaves room for a status line, raw
    /// output does not.
    fn writes_raw(&self) -> bool {
        self.tee.is_some() && self.stream.print.is_none()
    }

    /// The stream that the report is written to.
    pub(super) fn channel(&self) -> Channel {
        if self.uses_stdout() { Channel::Stderr } else { Channel::Stdout }
    }

    /// Whether `--live` was given, which adds latencies to the report.
    pub(super) fn is_live(&self) -> bool {
        self.live.live.is_some()
    }

    /// Whether [`Self::read`] must read these sources, because they are passed on, printed or displayed
    /// meanwhile.
    pub(super) fn applies_to(&self, sources: &[Source]) -> Result<bool, Error> {
        let wrong = match (is_pipe(sources), &self.tee, self.live.live) {
            (false, Some(_), _) => "--tee copies standard input: it cannot be used with files",
            (false, None, Some(_)) => "--live shows a pipe while it is read: it cannot be used with files",
            (false, None, None) => return Ok(self.stream.print.is_some()),
            (true, ..) => return Ok(self.uses_stdout() || self.live.would_show(self.writes_raw())),
        };
        Err(Error::Usage(wrong.to_owned()))
    }

    /// Whether `--print` was given.
    pub(super) fn prints(&self) -> bool {
        self.stream.print.is_some()
    }

    /// Reads standard input while passing it on, printing it or showing its state. Also returns the arrival
    /// times.
    pub(super) fn read(
        &self,
        sources: &[Source],
        input: &args::Input,
        output: &args::Output,
        detail: Detail,
        prices: &Prices,
        printer: Option<PrintMode>,
    ) -> Result<(Reading, Option<Arrived>), Error> {
        let stop = Stop::default();
        let limits = Limits { max_record: input.max_record, ..Limits::default() };
        let options = Options { threads: 1, limits, stop: stop.clone(), detail, ..Options::default() };
        let copy = self.tee.iter().flatten().map(|path| pipe::copy(path));
        let mut outlets = copy.collect::<Result<Vec<_>, _>>()?;
        let keep_running = self.stream.keep_running || !self.uses_stdout();
        if self.tee.is_some() && self.stream.print.is_none() {
            outlets.insert(0, pipe::stdout(!keep_running)?);
        }
        pipe::widen(io::stdin());
        let stdin = pipe::stdin().map_err(Error::Write)?;
        let from = if keep_running {
            Box::new(stdin)
        } else {
            pipe::until_stdout_closes(stdin).map_err(Error::Write)?
        };
        let inbox = Inbox::new();
        inbox.listen(signal::PIPE_SIGNALS).map_err(Error::Write)?;
        let mut supervisor = PipeSupervisor { stop: stop.clone(), interrupted: None, stopped: false };
        let display = self.live.start(output.quiet || input.no_progress, self.writes_raw());
        // Before the first result, the cost is estimated from single responses.
        let detail = if display.is_visible() {
            detail | Detail::RESPONSES | Detail::AGENTS | Detail::EVENTS
        } else {
            detail
        };
        let options = Options { detail, ..options };
        let passthrough =
            Passthrough { input: from, outlets, printer, display, checked: false, options, prices };
        let Outcome { facts, unread, arrived, failed_outlets, abandoned } =
            passthrough.run(inbox, &mut supervisor);
        let incomplete = passthrough::complain_of(&failed_outlets) || facts.is_none();
        let mut facts = facts.unwrap_or_else(|| Facts::new(detail));
        if abandoned || supervisor.stopped {
            facts.interrupt(None);
        }
        let scan = Scan { facts, unread: unread.into_iter().collect() };
        let stop = supervisor.interrupted.map(|(status, _)| status);
        Ok((finish(sources, scan, stop, incomplete), Some(arrived)))
    }
}

/// Reads sources one after another, and stores the records of those that cannot be read again.
pub(super) fn read_into(
    store: &mut RecordStore,
    sources: &[Source],
    input: &args::Input,
    detail: Detail,
) -> Reading {
    let stop = Stop::default();
    on_interrupt(&stop);
    let limits = Limits { max_record: input.max_record, ..Limits::default() };
    let options = Options { threads: 1, limits, stop: stop.clone(), detail, ..Options::default() };
    let scan = scan::scan_observed(sources, &options, store);
    let stop = stop.is_set().then_some(ExitStatus::Interrupted);
    finish(sources, scan, stop, false)
}

/// Whether standard input is the only source.
pub(super) fn is_pipe(sources: &[Source]) -> bool {
    matches!(sources, [Source { origin: Origin::Stdin, .. }])
}

/// Reports what could not be read, and returns the reading.
fn finish(sources: &[Source], scan: Scan, stop: Option<ExitStatus>, incomplete: bool) -> Reading {
    scan.unread.iter().for_each(|unread| complain(&describe(unread, sources)));
    let partial = incomplete || !scan.unread.is_empty();
    Reading { sources: sources.to_vec(), scan, stop, style: None, partial }
}

/// Decides when to stop reading a pipe.
struct PipeSupervisor {
    stop: Stop,
    /// The exit status of the last signal, and when it was received.
    interrupted: Option<(ExitStatus, Instant)>,
    /// Reading stopped before the end of the pipe.
    stopped: bool,
}

impl Supervisor for PipeSupervisor {
    /// The first signal stops reading after [`INTERRUPT_GRACE`], a second one at once.
    fn signal(&mut self, received: Received) {
        if self.interrupted.replace((signal::exit_status(received.number), Instant::now())).is_some() {
            self.stop.flag().store(true, Ordering::Relaxed);
        }
    }

    fn should_stop(&mut self, _: &Relay) -> bool {
        self.stopped = self.stop.is_set()
            || self.interrupted.is_some_and(|(_, since)| since.elapsed() > INTERRUPT_GRACE);
        self.stopped
    }
}
