//! `run`: starts a command, passes its output on, and reports what it did.

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint};

use super::{
    args,
    child::{self, Child},
    complain, describe,
    live::{Live, Snapshot},
    output::{Channel, Reports},
    passthrough::{self, Inbox, Outcome, Passthrough, Supervisor},
    pipe,
    plan::{self, Variables, parse_duration},
    print::{PrintMode, Printer},
    signal::Received,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, Facts, Name, ledger::Ledger},
    input::{Limits, Origin, Relay, Source, Stop},
    measure::{Prices, calendar::Zone},
    report::{self, Gate, Names, View},
    scan::Options,
};

/// How long to wait for more output after the command has ended, if other processes hold the stream open.
const LINGER: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The command and its arguments, after --
    #[arg(value_name = "COMMAND", required = true, last = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// Format and destination of the report.
    #[command(flatten)]
    pub output: args::Output,
    /// Options for the stream that is passed through.
    #[command(flatten)]
    pub stream: Stream,
    /// Write a copy of the stream to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "While it runs")]
    pub tee: Option<PathBuf>,
    /// The live display.
    #[command(flatten)]
    pub live: Live,
    /// Price files.
    #[command(flatten)]
    pub pricing: args::Pricing,
    /// Skip records larger than this, such as 512K, 64M or 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = args::size, help_heading = "While it runs")]
    pub max_record: usize,
    /// How much the screen shows.
    #[command(flatten)]
    pub screen: args::Screen,
    /// Gates on the run.
    #[command(flatten)]
    pub gates: args::Gates,
    /// Output for GitHub Actions.
    #[command(flatten)]
    pub github: args::Github,
    /// Stop the command as soon as it exceeds --max-cost, --max-duration or --max-agents
    ///
    /// Sends SIGINT, then SIGTERM, then SIGKILL; on Windows sends Ctrl-Break, then terminates the command and
    /// everything it started. Until a result arrives, the cost is the minimum cost of the input and cache
    /// tokens.
    #[arg(long, help_heading = "Gates")]
    pub stop_on_gate: bool,
    /// Wait this long between SIGINT, SIGTERM and SIGKILL, or after Ctrl-Break, when stopping the command
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "Gates")]
    pub grace: Duration,
}

/// Options for the stream.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub struct Stream {
    /// Print the assistant's messages and tool calls as readable text, instead of the stream itself
    ///
    /// This shows content: messages, tool inputs and tool results. Filters apply to it too; a pipe is then
    /// printed at its end, when it is known which records match.
    #[arg(long, value_name = "AS", value_enum)]
    pub print: Option<Print>,
    /// Read the stream to its end even if nobody reads standard output any more
    ///
    /// Without this option, the program that writes the stream gets a closed pipe at its next write, as it
    /// would without ccstat, and usually ends. The report is written in either case.
    #[arg(long)]
    pub keep_running: bool,
}

/// How a stream is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// As readable text
    Text,
}

/// Runs the command.
pub(super) fn run(run: &Run, variables: &Variables) -> Result<ExitStatus, Error> {
    let args::Gates { max_cost, max_duration, max_agents, .. } = &run.gates;
    if run.stop_on_gate && max_cost.is_none() && max_duration.is_none() && max_agents.is_none() {
        let wrong = "--stop-on-gate needs --max-cost, --max-duration or --max-agents: the other gates are \
                     evaluated at the end";
        return Err(Error::Usage(wrong.to_owned()));
    }
    run.output.fits("summary")?;
    let prices = plan::prices(&run.pricing)?;
    let mut outlets: Vec<_> = run.tee.as_deref().map(pipe::copy).transpose()?.into_iter().collect();
    let keep_running = run.stream.keep_running;
    if run.stream.print.is_none() {
        outlets.insert(0, pipe::stdout(!keep_running)?);
    }
    let inbox = Inbox::new();
    inbox.listen(child::SIGNALS).map_err(Error::Write)?;
    let (child, stdout) = match Child::start(&run.command, run.stop_on_gate, run.grace, &inbox.sender) {
        Ok(started) => started,
        Err(error) => {
            // Programs that read the report get zeros and nulls.
            let empty = Outcome { facts: Some(Facts::default()), ..Outcome::default() };
            report(run, empty, &prices, variables)?;
            return Ok(not_started(run, &error));
        }
    };
    pipe::widen(&stdout);
    let input = if keep_running {
        Box::new(stdout)
    } else {
        pipe::until_stdout_closes(stdout).map_err(Error::Write)?
    };
    let mut supervisor =
        CommandSupervisor { child, gates: &run.gates, stops: run.stop_on_gate, has_warned: false };
    let limits = Limits { max_record: run.max_record, ..Limits::default() };
    // Before the first result, the cost is estimated from single responses.
    let live = Detail::RESPONSES | Detail::AGENTS | Detail::EVENTS;
    let live = if run.output.draws() { live | Detail::ROWS } else { live };
    let texts = run.output.content(&report::SUMMARY, Channel::Stderr);
    let detail = run.gates.gates().iter().map(Gate::detail).fold(live | texts, Detail::and);
    let options = Options { limits, stop: Stop::default(), detail, ..Options::default() };
    let passthrough = Passthrough {
        input,
        outlets,
        printer: run.stream.print.map(|Print::Text| PrintMode::Live(Printer::new(variables.style()))),
        display: run.live.start(run.output.quiet, run.stream.print.is_none()),
        checked: run.stop_on_gate || max_agents.is_some(),
        options,
        prices: &prices,
    };
    let outcome = passthrough.run(inbox, &mut supervisor);
    supervisor.child.kill_leftovers();
    let ended = supervisor.child.status().map_err(Error::Write)?;
    let status = report(run, outcome, &prices, variables)?;
    Ok(match status {
        ExitStatus::GateFailed => status,
        _ => ExitStatus::Child(child::code(ended)),
    })
}

/// Reports a command that cannot be started, with the exit code of a shell.
fn not_started(run: &Run, error: &io::Error) -> ExitStatus {
    let program = run.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    complain(&format!("cannot run `{program}`: {error}"));
    ExitStatus::Child(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

fn report(run: &Run, outcome: Outcome, prices: &Prices, variables: &Variables) -> Result<ExitStatus, Error> {
    let sources = [Source { origin: Origin::Stdin, unverified: false, machine: None }];
    let Outcome { facts, unread, arrived, failed_outlets, abandoned } = outcome;
    passthrough::complain_of(&failed_outlets);
    if let Some(unread) = &unread {
        complain(&describe(unread, &sources));
    }
    let Some(mut facts) = facts else {
        complain("no report, because of the failure above; the stream was passed on completely");
        let gates = run.gates.gates();
        gates
            .iter()
            .for_each(|gate| complain(&format!("gate {} failed: it could not be evaluated", gate.name())));
        return Ok(if gates.is_empty() { ExitStatus::Partial } else { ExitStatus::GateFailed });
    };
    if abandoned {
        facts.interrupt(None);
    }
    let account = facts.clone().settle(prices);
    let mut ledger = facts.ledger(prices);
    let names: Vec<Name> = sources.iter().map(|source| source.name().into()).collect();
    let zone = Zone::system();
    let make = |ledger: &Ledger| {
        let view = View { ledger, names: Names(&names), zone: &zone };
        let mut report = report::arrived(report::summary(&account, view.names), &account, &arrived);
        report::note_found_prices(&mut report, &variables.found_prices);
        report = report::with_failure(report, ledger);
        if run.screen.verbose {
            report = report::with_kinds(report, &account);
        }
        if run.output.draws() {
            report = report::with_pictures(report, &view);
        }
        report.verdicts = report::judge(&view, &run.gates.gates(), Some(arrived.elapsed));
        variables.hints.fill_in(report.local(&zone), true)
    };
    let mut reports = Reports::from(make(&ledger));
    if ledger.has_content && !run.output.files_content() {
        ledger.strip_content();
        reports.filed = Some(make(&ledger));
    }
    let nothing = account.input.records == 0;
    if nothing && account.input.sources > 0 && !abandoned {
        complain("the command printed no log: add --output-format stream-json --verbose to `claude -p`");
    }
    let style = variables.style_of(&io::stderr());
    let failed = reports.shown.failed().next().is_some();
    let status = if nothing { ExitStatus::NothingRead } else { ExitStatus::Done };
    let status = run.github.publish(reports.filed(), &account, Names(&names), variables, &run.output, status);
    let status = run.output.deliver_to(Channel::Stderr, &reports, status, style)?;
    Ok(if failed { ExitStatus::GateFailed } else { status })
}

/// Forwards signals to the command, and stops it when a gate fails.
struct CommandSupervisor<'a> {
    child: Child,
    gates: &'a args::Gates,
    /// Whether a gate stops the command.
    stops: bool,
    /// Whether the number of subagents was complained about.
    has_warned: bool,
}

impl CommandSupervisor<'_> {
    /// Warns once if there are too many subagents.
    fn fan_out(&mut self, now: &Snapshot) -> Option<String> {
        let limit = self.gates.max_agents.filter(|limit| now.agents.0 > *limit && !self.has_warned)?;
        self.has_warned = true;
        Some(format!("gate `max-agents` failed: {}, limit {limit}", now.fan_out()?))
    }
}

impl Supervisor for CommandSupervisor<'_> {
    fn signal(&mut self, received: Received) {
        self.child.forward(received);
    }

    fn tick(&mut self) {
        self.child.tick();
    }

    fn child_ended(&mut self) {
        self.child.mark_ended();
    }

    fn check(&mut self, now: &Snapshot) -> Option<String> {
        if !self.stops {
            return self.fan_out(now);
        }
        let gates = (!self.child.was_stopped()).then_some(self.gates)?;
        let gate = match () {
            () if gates.max_agents.is_some_and(|limit| now.agents.0 > limit) => "max-agents",
            () if gates.max_duration.is_some_and(|limit| now.elapsed > limit) => "max-duration",
            () if gates.max_cost.zip(now.minimum_cost()).is_some_and(|(limit, cost)| cost > limit) => {
                "max-cost"
            }
            () => return None,
        };
        self.child.stop();
        Some(format!("stopping the command: gate `{gate}` failed"))
    }

    fn should_stop(&mut self, relay: &Relay) -> bool {
        self.child.time_since_end().is_some_and(|time| time.min(relay.idle_time()) > LINGER)
    }

    fn is_done(&mut self) -> bool {
        self.child.time_since_end().is_some()
    }
}
