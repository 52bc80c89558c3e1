//! `--tee`, `--print`, `--live`: a pipe that is passed on or shown while it is accounted for.

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
    pass::{self, Keeper, Pass, Passed, Wires},
    pipe,
    print::{Prints, Shelf},
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

/// What is said last by whoever writes into a pipe, after an interrupt that both got, is waited for so long.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What to do with a pipe beside reading it.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub struct Tee {
    /// Pass standard input on to standard output, byte for byte and at once; --tee=FILE keeps a copy too
    ///
    /// The report then goes to standard error, or to the files of -o.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_hint = ValueHint::FilePath)]
    pub tee: Option<Option<PathBuf>>,
    /// What to print of it.
    #[command(flatten)]
    pub stream: Stream,
    /// What to show meanwhile.
    #[command(flatten)]
    pub live: Live,
}

impl Tee {
    /// Whether standard output carries something else than the report.
    fn uses_stdout(&self) -> bool {
        self.tee.is_some() || self.stream.print.is_some()
    }

    /// Whether the stream itself fills standard output; what is printed in readable form makes room for a line.
    fn scrolls(&self) -> bool {
        self.tee.is_some() && self.stream.print.is_none()
    }

    /// Where the report goes.
    pub(super) fn channel(&self) -> Channel {
        if self.uses_stdout() { Channel::Stderr } else { Channel::Stdout }
    }

    /// Whether latencies were measured because someone asked for it.
    pub(super) fn is_live(&self) -> bool {
        self.live.live.is_some()
    }

    /// Whether these sources are to be read while they are passed on, printed or shown.
    pub(super) fn looks_at(&self, sources: &[Source]) -> Result<bool, Error> {
        let wrong = match (is_pipe(sources), &self.tee, self.live.live) {
            (false, Some(_), _) => "--tee passes standard input on: it cannot be used with files",
            (false, None, Some(_)) => "--live shows what comes through a pipe: it cannot be used with files",
            (false, None, None) => return Ok(self.stream.print.is_some()),
            (true, ..) => return Ok(self.uses_stdout() || self.live.would_show(self.scrolls())),
        };
        Err(Error::Usage(wrong.to_owned()))
    }

    /// Whether content is printed.
    pub(super) fn prints(&self) -> bool {
        self.stream.print.is_some()
    }

    /// Reads standard input so; also when its records arrived.
    pub(super) fn read(
        &self,
        sources: &[Source],
        input: &args::Input,
        output: &args::Output,
        detail: Detail,
        prices: &Prices,
        printer: Option<Prints>,
    ) -> Result<(Reading, Option<Arrived>), Error> {
        let stop = Stop::default();
        let limits = Limits { max_record: input.max_record, ..Limits::default() };
        let options = Options { threads: 1, limits, stop: stop.clone(), detail };
        let copy = self.tee.iter().flatten().map(|path| pipe::copy(path));
        let mut outlets = copy.collect::<Result<Vec<_>, _>>()?;
        let keeps = self.stream.keep_running || !self.uses_stdout();
        if self.tee.is_some() && self.stream.print.is_none() {
            outlets.insert(0, pipe::stdout(!keeps)?);
        }
        pipe::widen(io::stdin());
        let stdin = pipe::stdin().map_err(Error::Write)?;
        let from = if keeps { Box::new(stdin) } else { pipe::while_read(stdin).map_err(Error::Write)? };
        let wires = Wires::new();
        wires.listen(signal::OF_A_PIPE).map_err(Error::Write)?;
        let mut keeper = Piping { stop: stop.clone(), interrupted: None, left: false };
        let show = self.live.start(output.quiet || input.no_progress, self.scrolls());
        // What has no result yet is told by its responses.
        let detail = if show.is_wanted() {
            detail | Detail::RESPONSES | Detail::AGENTS | Detail::EVENTS
        } else {
            detail
        };
        let options = Options { detail, ..options };
        let pass = Pass { from, outlets, printer, show, watched: false, options, prices };
        let Passed { facts, unread, arrived, lost, left } = pass.run(wires, &mut keeper);
        let incomplete = pass::complain_of(&lost) || facts.is_none();
        let mut facts = facts.unwrap_or_else(|| Facts::new(detail));
        if left || keeper.left {
            facts.interrupt(None);
        }
        let scan = Scan { facts, unread: unread.into_iter().collect() };
        let stopped = keeper.interrupted.map(|(signal, _)| signal);
        Ok((told(sources, scan, stopped, incomplete), Some(arrived)))
    }
}

/// Reads sources one after another, and keeps what they say.
pub(super) fn held(sources: &[Source], input: &args::Input, detail: Detail, shelf: &mut Shelf) -> Reading {
    let stop = Stop::default();
    on_interrupt(&stop);
    let limits = Limits { max_record: input.max_record, ..Limits::default() };
    let options = Options { threads: 1, limits, stop: stop.clone(), detail };
    let scan = scan::scan_observed(sources, &options, shelf);
    let stopped = stop.is_set().then_some(ExitStatus::Interrupted);
    told(sources, scan, stopped, false)
}

/// Whether standard input is all there is.
pub(super) fn is_pipe(sources: &[Source]) -> bool {
    matches!(sources, [Source { origin: Origin::Stdin, .. }])
}

/// Says what could not be read.
fn told(sources: &[Source], scan: Scan, stop: Option<ExitStatus>, incomplete: bool) -> Reading {
    scan.unread.iter().for_each(|unread| complain(&describe(unread, sources)));
    let partial = incomplete || !scan.unread.is_empty();
    Reading { sources: sources.to_vec(), scan, stop, style: None, partial }
}

/// Keeps a pipe.
struct Piping {
    stop: Stop,
    /// How the program ends with the signal that came, and when it came.
    interrupted: Option<(ExitStatus, Instant)>,
    /// The pipe was left before its end.
    left: bool,
}

impl Keeper for Piping {
    /// The first signal ends it when whoever writes has said its last words, a second one at once.
    fn signal(&mut self, received: Received) {
        if self.interrupted.replace((signal::ending(received.number), Instant::now())).is_some() {
            self.stop.flag().store(true, Ordering::Relaxed);
        }
    }

    fn is_over(&mut self, _: &Relay) -> bool {
        self.left =
            self.stop.is_set() || self.interrupted.is_some_and(|(_, since)| since.elapsed() > LAST_WORDS);
        self.left
    }
}
