//! `run`: starts a command, passes its output on, and says what it did.

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint};

use super::{
    args,
    child::{self, Child},
    complain, describe,
    live::{Live, Now},
    output::Channel,
    pass::{self, Keeper, Pass, Passed, Wires},
    pipe,
    plan::{self, Variables, parse_duration},
    print::{Printer, Prints},
    signal::Received,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, Facts, Name},
    input::{Limits, Origin, Relay, Source, Stop},
    measure::{Prices, calendar::Zone},
    report::{self, Gate, Names, View},
    scan::Options,
};

/// After its command ended, a stream that is held open by others is waited for so long, while nothing comes.
const LINGER: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The command and its arguments, after --
    #[arg(value_name = "COMMAND", required = true, last = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// How to write the report.
    #[command(flatten)]
    pub output: args::Output,
    /// What to do with the stream.
    #[command(flatten)]
    pub stream: Stream,
    /// Keep a copy of the stream in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "While it runs")]
    pub tee: Option<PathBuf>,
    /// What to show meanwhile.
    #[command(flatten)]
    pub live: Live,
    /// Prices.
    #[command(flatten)]
    pub pricing: args::Pricing,
    /// Pass over records larger than this, such as 512K, 64M or 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = args::size, help_heading = "While it runs")]
    pub max_record: usize,
    /// What has to hold.
    #[command(flatten)]
    pub gates: args::Gates,
    /// Whether to tell GitHub.
    #[command(flatten)]
    pub github: args::Github,
    /// Stop the command as soon as it costs or takes more than --max-cost or --max-duration allows
    ///
    /// By SIGINT, then SIGTERM, then SIGKILL; on Windows by Ctrl-Break, then by terminating it and all it started. Before a
    /// result comes, the cost is what input and cache tokens cost at least.
    #[arg(long, help_heading = "Gates")]
    pub stop_on_gate: bool,
    /// Wait so long between SIGINT, SIGTERM and SIGKILL, or after Ctrl-Break, when the command is stopped
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "Gates")]
    pub grace: Duration,
}

/// What to do with a stream.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub struct Stream {
    /// Print what the assistant says and which tools it calls, instead of the stream itself
    ///
    /// This shows content: messages, and what tools were given and answered. A filter narrows it too; a pipe is then printed
    /// at its end, since only then it is known what matches.
    #[arg(long, value_name = "AS", value_enum)]
    pub print: Option<Print>,
    /// Read the stream to its end, also when nobody reads standard output any more
    ///
    /// Without this, whoever writes the stream meets a closed pipe at the next write, as without ccstat, and usually ends. The
    /// report is made in either case.
    #[arg(long)]
    pub keep_running: bool,
}

/// As what a stream is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// As a person reads it
    Text,
}

/// Runs the command.
pub(super) fn run(run: &Run, variables: &Variables) -> Result<ExitStatus, Error> {
    if run.stop_on_gate && run.gates.max_cost.is_none() && run.gates.max_duration.is_none() {
        let wrong =
            "--stop-on-gate needs --max-cost or --max-duration: the other gates are judged at the end";
        return Err(Error::Usage(wrong.to_owned()));
    }
    run.output.fits("summary")?;
    let prices = plan::prices(&run.pricing)?;
    let mut outlets: Vec<_> = run.tee.as_deref().map(pipe::copy).transpose()?.into_iter().collect();
    let keeps = run.stream.keep_running;
    if run.stream.print.is_none() {
        outlets.insert(0, pipe::stdout(!keeps)?);
    }
    let wires = Wires::new();
    wires.listen(child::SIGNALS).map_err(Error::Write)?;
    let (child, stdout) = match Child::start(&run.command, run.stop_on_gate, run.grace, &wires.sender) {
        Ok(started) => started,
        Err(error) => {
            // Programs find zeros and nulls where nothing happened.
            let nothing = Passed { facts: Some(Facts::default()), ..Passed::default() };
            report(run, nothing, &prices, variables)?;
            return Ok(not_started(run, &error));
        }
    };
    pipe::widen(&stdout);
    let from = if keeps { Box::new(stdout) } else { pipe::while_read(stdout).map_err(Error::Write)? };
    let mut keeper = Keeping { child, gates: run.stop_on_gate.then_some(&run.gates) };
    let limits = Limits { max_record: run.max_record, ..Limits::default() };
    // What has no result yet is told by its responses.
    let live = Detail::RESPONSES | Detail::AGENTS | Detail::EVENTS;
    let detail = run.gates.gates().iter().map(Gate::detail).fold(live, Detail::and);
    let options = Options { limits, stop: Stop::default(), detail, ..Options::default() };
    let pass = Pass {
        from,
        outlets,
        printer: run.stream.print.map(|Print::Text| Prints::Live(Printer::new(variables.style().color))),
        show: run.live.start(run.output.quiet, run.stream.print.is_none()),
        watched: run.stop_on_gate,
        options,
        prices: &prices,
    };
    let passed = pass.run(wires, &mut keeper);
    keeper.child.sweep();
    let ended = keeper.child.status().map_err(Error::Write)?;
    let status = report(run, passed, &prices, variables)?;
    Ok(match status {
        ExitStatus::GateFailed => status,
        _ => ExitStatus::Child(child::code(ended)),
    })
}

/// A command that cannot be started ends as a shell would say it.
fn not_started(run: &Run, error: &io::Error) -> ExitStatus {
    let program = run.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    complain(&format!("cannot run `{program}`: {error}"));
    ExitStatus::Child(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

fn report(run: &Run, passed: Passed, prices: &Prices, variables: &Variables) -> Result<ExitStatus, Error> {
    let sources = [Source { origin: Origin::Stdin, unverified: false }];
    let Passed { facts, unread, arrived, lost, left } = passed;
    pass::complain_of(&lost);
    if let Some(unread) = &unread {
        complain(&describe(unread, &sources));
    }
    let Some(mut facts) = facts else {
        complain("no report: it failed as said above; the stream was passed on all the same");
        let gates = run.gates.gates();
        gates
            .iter()
            .for_each(|gate| complain(&format!("gate {} failed: it could not be judged", gate.name())));
        return Ok(if gates.is_empty() { ExitStatus::Partial } else { ExitStatus::GateFailed });
    };
    if left {
        facts.interrupt(None);
    }
    let account = facts.clone().settle(prices);
    let ledger = facts.ledger(prices);
    let names: Vec<Name> = sources.iter().map(|source| source.name().into()).collect();
    let view = View { ledger: &ledger, names: Names(&names), zone: &Zone::default() };
    let mut report = report::arrived(report::summary(&account, view.names), &account, &arrived);
    report::note_found_prices(&mut report, &variables.found_prices);
    report.verdicts = report::judge(&view, &run.gates.gates(), Some(arrived.elapsed));
    let report = variables.again.type_out(report, true);
    let nothing = account.input.records == 0;
    if nothing && account.input.sources > 0 && !left {
        complain("the command printed no log: add --output-format stream-json --verbose to `claude -p`");
    }
    let style = variables.style_of(&io::stderr());
    let failed = report.failed().next().is_some();
    let status = if nothing { ExitStatus::NothingRead } else { ExitStatus::Done };
    let status = run.github.tell(&report, &account, view.names, variables, status);
    let status = run.output.deliver_to(Channel::Stderr, &report, status, style)?;
    Ok(if failed { ExitStatus::GateFailed } else { status })
}

/// Keeps the command.
struct Keeping<'a> {
    child: Child,
    /// What it must not do, or be stopped.
    gates: Option<&'a args::Gates>,
}

impl Keeper for Keeping<'_> {
    fn signal(&mut self, received: Received) {
        self.child.pass_on(received);
    }

    fn tick(&mut self) {
        self.child.tick();
    }

    fn child_ended(&mut self) {
        self.child.end();
    }

    fn look(&mut self, now: &Now) -> Option<String> {
        let gates = self.gates.filter(|_| !self.child.was_stopped())?;
        let gate = match () {
            () if gates.max_duration.is_some_and(|most| now.elapsed > most) => "max-duration",
            () if gates.max_cost.zip(now.least()).is_some_and(|(most, cost)| cost > most) => "max-cost",
            () => return None,
        };
        self.child.stop();
        Some(format!("stopping the command: gate `{gate}` failed"))
    }

    fn is_over(&mut self, relay: &Relay) -> bool {
        self.child.gone_for().is_some_and(|gone| gone.min(relay.idle_time()) > LINGER)
    }

    fn is_done(&mut self) -> bool {
        self.child.gone_for().is_some()
    }
}
