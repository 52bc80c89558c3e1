//! `--tee`, `--print`, `--live`: a pipe that is passed on or shown while it is accounted for.

use std::{
    io,
    path::PathBuf,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use clap::{Args, ColorChoice, ValueHint};

use super::{
    Reading, args,
    live::{Live, Now},
    output::Channel,
    pass::{self, Keeper, Pass, Passed, Wires},
    plan::Variables,
    print::Printer,
    run::{Print, Stream},
};
use crate::{
    error::Error,
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

    /// Where the report goes.
    pub(super) fn channel(&self) -> Channel {
        if self.uses_stdout() { Channel::Stderr } else { Channel::Stdout }
    }

    /// Whether latencies were measured because someone asked for it.
    pub(super) fn is_live(&self) -> bool {
        self.live.live.is_some()
    }

    /// Reads standard input in one of these ways, if it is asked for or someone would see it; else it is read as ever.
    pub(super) fn read(
        &self,
        sources: &[Source],
        input: &args::Input,
        output: &args::Output,
        detail: Detail,
        prices: &Prices,
        (variables, color): (&Variables, ColorChoice),
    ) -> Result<Option<(Reading, Arrived)>, Error> {
        if !matches!(sources, [Source { origin: Origin::Stdin, .. }]) {
            self.refuse()?;
            return Ok(self
                .stream
                .print
                .map(|Print::Text| self.read_files(sources, input, detail, variables, color)));
        }
        let show = self.live.start(output.quiet || input.no_progress, self.uses_stdout());
        if !self.uses_stdout() && !show.is_wanted() {
            return Ok(None);
        }
        let copy = self.tee.iter().flatten().map(|path| pass::copy(path));
        let mut outlets = copy.collect::<Result<Vec<_>, _>>()?;
        if self.tee.is_some() && self.stream.print.is_none() {
            outlets.insert(0, pass::stdout()?);
        }
        let wires = Wires::new();
        wires.listen().map_err(Error::Write)?;
        let stop = Stop::default();
        let mut keeper = Piping { stop: stop.clone(), interrupted: None };
        let limits = Limits { max_record: input.max_record, ..Limits::default() };
        let pass = Pass {
            from: Box::new(io::stdin()),
            outlets,
            printer: self.stream.print.map(|Print::Text| Printer::new(variables.style(color).color)),
            show,
            watched: false,
            options: Options { threads: 1, limits, stop: stop.clone(), detail },
            prices,
        };
        let Passed { facts, unread, arrived, lost } = pass.run(wires, &mut keeper);
        let incomplete = pass::complain_of(&lost) || facts.is_none();
        let scan =
            Scan { facts: facts.unwrap_or_else(|| Facts::new(detail)), unread: unread.into_iter().collect() };
        if keeper.interrupted.is_some() {
            stop.flag().store(true, Ordering::Relaxed);
        }
        let partial = incomplete || !scan.unread.is_empty();
        Ok(Some((Reading { sources: sources.to_vec(), scan, stop, partial }, arrived)))
    }

    /// Prints what stands in files, one after another.
    fn read_files(
        &self,
        sources: &[Source],
        input: &args::Input,
        detail: Detail,
        variables: &Variables,
        color: ColorChoice,
    ) -> (Reading, Arrived) {
        let stop = Stop::default();
        super::on_interrupt(&stop);
        let limits = Limits { max_record: input.max_record, ..Limits::default() };
        let options = Options { threads: 1, limits, stop: stop.clone(), detail };
        let scan = scan::scan_watched(sources, &options, &mut Printer::new(variables.style(color).color));
        let partial = !scan.unread.is_empty();
        (Reading { sources: sources.to_vec(), scan, stop, partial }, Arrived::default())
    }

    /// Files are not passed on: whoever has them can read them.
    fn refuse(&self) -> Result<(), Error> {
        let wrong = match () {
            () if self.tee.is_some() => "--tee passes standard input on: it cannot be used with files",
            () if self.live.live.is_some() => {
                "--live shows what comes through a pipe: it cannot be used with files"
            }
            () => return Ok(()),
        };
        Err(Error::Usage(wrong.to_owned()))
    }
}

/// Keeps a pipe.
struct Piping {
    stop: Stop,
    interrupted: Option<Instant>,
}

impl Keeper for Piping {
    /// The first signal ends it when whoever writes has said its last words, a second one at once.
    fn signal(&mut self, _: i32, _: bool) {
        if self.interrupted.replace(Instant::now()).is_some() {
            self.stop.flag().store(true, Ordering::Relaxed);
        }
    }

    fn look(&mut self, _: &Now) {}

    fn is_over(&mut self, _: &Relay) -> bool {
        self.stop.is_set() || self.interrupted.is_some_and(|since| since.elapsed() > LAST_WORDS)
    }
}
