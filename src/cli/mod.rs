//! Arguments: the only module that knows a terminal.

mod again;
pub mod args;
mod child;
mod config;
mod diff;
mod explain;
mod export;
mod follow;
mod gate;
mod generate;
mod github;
mod help;
mod line;
mod live;
mod narrow;
mod output;
mod pass;
mod permission;
mod pipe;
mod plan;
mod print;
mod progress;
mod redact;
mod rows;
mod run;
mod screen;
mod show;
mod signal;
mod stdin;
mod summarize;
mod tee;
#[cfg(windows)]
mod windows;

use std::{ffi::OsString, io::Write, sync::Arc};

use clap::{CommandFactory, FromArgMatches};

use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, Input},
    input::{self, Limits, Origin, Roots, Search, Source, Stop},
    measure::calendar,
    render::{self, Format, Style, human},
    report::{self, Preset, Report, ReportSpec, View},
    scan::{self, Options, Progress, Unread},
};
use again::Again;
use args::{Cli, Command, ReportCommand};
use config::Problem;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use config::config_is_judged;
use follow::Follow;
use output::print;
use plan::Variables;
use progress::Bar;
use rows::{Question, answer};
use signal::on_interrupt;

/// Runs the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitStatus, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Making the help of all commands takes longer than reading a line of a log.
    let asked = ["-h", "--help", "help"].map(OsString::from);
    let is_asked = arguments.len() < 2 || arguments.iter().any(|word| asked.contains(word));
    let command = if is_asked { help::command() } else { Cli::command() };
    let mut variables = Variables::read();
    variables.again = Again::of(&arguments);
    let parsed = config::parse(command, arguments, &variables).and_then(|parsed| {
        variables.found_prices = parsed.found_prices;
        Ok(Cli::from_arg_matches(&parsed.matches)?)
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(problem) => return wrong(problem),
    };
    variables.color = cli.color;
    let style = variables.style();
    let ask = |rows: &args::Rows, question: Question<'_>| answer(rows, &question, &variables, style);
    match &cli.command {
        Command::Summarize(summarize) => summarize::summarize(summarize, &variables),
        Command::Run(run) => run::run(run, &variables),
        Command::Check(check) => gate::check(check, &variables, style),
        Command::Diff(diff) => diff::diff(diff, &variables, style),
        Command::Permissions(asked) => permission::permissions(asked, &variables, style),
        Command::Show(show) => show::show(show, &variables, style),
        Command::Explain(explain) => explain::explain(explain, &variables, style),
        Command::Export(export) => export::export(export, &variables, style),
        Command::Report(ReportCommand { spec, rows, ccusage }) => {
            let made = Made::of(spec, *ccusage, &rows.output)?;
            ask(rows, made.question(&|view| made.make(view)))
        }
        Command::Sessions(sessions) => {
            let made = Made::of(&report::SESSIONS, sessions.shape.ccusage, &sessions.rows.output)?;
            let make = |view: &View<'_>| made.make(view);
            ask(&sessions.rows, Question { outcomes: &sessions.outcome, ..made.question(&make) })
        }
        Command::Cost(cost) => {
            let make = |view: &View<'_>| report::cost(view, &cost.by);
            ask(&cost.rows, Question::of(&report::COST, &make))
        }
        Command::Redact(redact) => redact::redact(redact, &variables),
        Command::Prices(prices) => {
            prices.output.fits(report::PRICES.name)?;
            let arrangement = prices.arrange.arrangement(&report::PRICES)?;
            let mut report = report::prices(&plan::prices(&prices.pricing)?).arranged(&arrangement)?;
            report::note_found_prices(&mut report, &variables.found_prices);
            let report = variables.again.type_out(report, true);
            prices.output.deliver(&report, ExitStatus::Done, style)
        }
        Command::Schema(schema) => self::schema(schema, style),
        Command::Generate(generate) => generate::run(generate),
    }
}

/// A report in its own shape, or in the one that dashboards read.
struct Made {
    spec: &'static ReportSpec,
    make: fn(&View<'_>) -> Report,
    ccusage: Option<Preset>,
}

impl Made {
    fn of(spec: &'static ReportSpec, ccusage: bool, output: &args::Output) -> Result<Self, Error> {
        let ccusage = spec.ccusage.filter(|_| ccusage);
        if ccusage.is_some() {
            output.fits("ccusage")?;
        }
        let make =
            spec.make.ok_or_else(|| Error::Usage(format!("`{}` is made by another command", spec.name)))?;
        Ok(Self { spec, make, ccusage })
    }

    fn question<'a>(&self, make: &'a dyn Fn(&View<'_>) -> Report) -> Question<'a> {
        let detail = self.ccusage.map_or(self.spec.keeps, Preset::keeps);
        Question { detail, ..Question::of(self.spec, make) }
    }

    /// Now is when the report is made: with --follow that is again and again.
    fn make(&self, view: &View<'_>) -> Report {
        match self.ccusage {
            Some(preset) => report::ccusage(view, preset, calendar::now()),
            None => (self.make)(view),
        }
    }
}

/// Help and version are answers; everything else is wrong usage.
fn wrong(problem: Problem) -> Result<ExitStatus, Error> {
    let (error, origins) = match problem {
        Problem::Arguments(error, origins) => (error, origins),
        Problem::Settings(error) => return Err(error),
    };
    error.print().map_err(Error::Write)?;
    for origin in origins {
        complain(&format!("that was not typed, it is {origin}"));
    }
    Ok(if error.use_stderr() { ExitStatus::Usage } else { ExitStatus::Done })
}

fn schema(schema: &args::Schema, style: Style) -> Result<ExitStatus, Error> {
    match schema.report.as_deref().and_then(ReportSpec::named) {
        Some(spec) => print(|out| render::schema(spec, out))?,
        None => print(|out| render::render(&report::reports(), Format::Table, style, out))?,
    }
    Ok(ExitStatus::Done)
}

/// What came of reading, with what went wrong said already.
struct Reading {
    sources: Vec<Source>,
    scan: scan::Scan,
    /// A signal ended it.
    stop: Option<ExitStatus>,
    /// How text is laid out by now: while something is followed, windows change their size.
    style: Option<Style>,
    /// Some source could not be read to its end.
    partial: bool,
}

/// Reads what is there, or follows it until a signal comes; `make` makes the report that is shown meanwhile.
fn gather(
    wanted: Roots,
    asked: &args::Asked,
    detail: Detail,
    output: &args::Output,
    variables: &Variables,
    make: &dyn Fn(Reading) -> Result<Report, Error>,
) -> Result<Reading, Error> {
    let args::Asked { input, follow, .. } = asked;
    if *follow {
        return Follow { input, output, variables, detail, make }.read(wanted);
    }
    read(input::find(&wanted), input, detail, output)
}

fn read(
    search: Search,
    input: &args::Input,
    detail: Detail,
    output: &args::Output,
) -> Result<Reading, Error> {
    spare(&search, output)?;
    let reading = read_spared(search, input, detail, output.quiet);
    reading.complain_of_unread();
    Ok(reading)
}

/// Reads sources that are known not to be written over. Says nothing about those that could not be read.
fn read_spared(search: Search, input: &args::Input, detail: Detail, quiet: bool) -> Reading {
    let stop = Stop::default();
    on_interrupt(&stop);
    let options = Options { stop: stop.clone(), ..options(input, detail) };
    let progress = Arc::new(Progress::default());
    let bar = Bar::watch(&progress, !input.no_progress && !quiet);
    let scan = scan::scan(&search.sources, &options, &progress);
    drop(bar);
    let partial = !search.errors.is_empty() || !scan.unread.is_empty();
    let stop = stop.is_set().then_some(ExitStatus::Interrupted);
    Reading { sources: search.sources, scan, stop, style: None, partial }
}

/// How to read, as the arguments say it.
fn options(input: &args::Input, detail: Detail) -> Options {
    let limits = Limits { max_record: input.max_record, ..Limits::default() };
    Options { threads: input.threads, limits, detail, stop: Stop::default() }
}

impl Reading {
    fn complain_of_unread(&self) {
        self.scan.unread.iter().for_each(|unread| complain(&describe(unread, &self.sources)));
    }
}

/// Says what is missing, and refuses to write over a log.
fn spare(search: &Search, output: &args::Output) -> Result<(), Error> {
    output.spare(&search.sources)?;
    search.errors.iter().for_each(|missing| complain(&missing.to_string()));
    Ok(())
}

fn describe(unread: &Unread, sources: &[Source]) -> String {
    unread.describe(&sources.get(unread.source.0 as usize).map_or_else(String::new, Source::name))
}

fn status(input: &Input, stop: &Option<ExitStatus>, partial: bool, report: &Report) -> ExitStatus {
    if let Some(stopped) = stop {
        return *stopped;
    }
    match () {
        () if input.records == 0 => ExitStatus::NothingRead,
        () if report.failed().next().is_some() => ExitStatus::GateFailed,
        () if partial => ExitStatus::Partial,
        () => ExitStatus::Done,
    }
}

/// Why there is nothing to report, and what to do about it.
fn nothing_read(input: &Input, sources: &[Source]) -> String {
    const FLAGS: &str = "claude -p PROMPT --output-format stream-json --verbose | ccstat summarize";
    let piped = matches!(sources, [Source { origin: Origin::Stdin, .. }]);
    match (input, piped) {
        _ if sources.is_empty() => {
            format!("nothing to read: name a log or a folder of logs, or pipe a run into it: {FLAGS}")
        }
        (input, true) if input.bytes == 0 => {
            format!(
                "standard input is empty: pipe a log into it or name a path; redirect it from {} to read the saved sessions",
                if cfg!(windows) { "NUL" } else { "/dev/null" }
            )
        }
        (input, true) if input.invalid > 0 => {
            format!(
                "standard input is not a log: if it comes from `claude -p`, add the flags that make it one: {FLAGS}"
            )
        }
        (input, _) if input.invalid + input.truncated > 0 => {
            "no records: none of the lines is a JSON object with a `type`".to_owned()
        }
        _ => "no records: the sources are empty".to_owned(),
    }
}

/// Says something on standard error; if even that fails, there is nobody to tell.
pub fn complain(message: &str) {
    let paint = anstyle::AnsiColor::Red.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{paint}ccstat:{paint:#} {}", human::text(message));
}
