//! The command-line program. The only module that knows about terminals.

mod archive;
pub mod args;
mod budget;
mod child;
mod complete;
mod config;
mod context;
mod diff;
mod doctor;
mod explain;
mod export;
mod filter;
mod follow;
mod gate;
mod generate;
mod github;
mod help;
mod hint;
mod line;
mod live;
mod output;
mod overview;
mod passthrough;
mod permission;
mod pipe;
mod plan;
mod print;
mod progress;
mod redact;
mod rows;
mod run;
mod screen;
mod search;
mod show;
mod signal;
mod statusline;
mod stdin;
mod summarize;
mod tee;
mod trace;
mod typed;
mod typo;
mod whole;
#[cfg(windows)]
mod windows;

use std::{ffi::OsString, io::Write, sync::Arc};

use clap::{CommandFactory, FromArgMatches, error::ErrorKind};

use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, Input},
    input::{self, Limits, Origin, Roots, Search, Source, Stop},
    measure::calendar,
    render::{self, Format, Style, human},
    report::{self, By, Preset, Report, ReportSpec, TimeBy, View, Windows},
    scan::{self, Options, Progress, Unread},
};
use args::{Cli, Command, ReportCommand};
use config::Problem;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use config::check_config;
use follow::Follow;
use hint::CommandHints;
use output::print;
use plan::Variables;
use progress::Bar;
use rows::{ReportRequest, write_report};
use signal::on_interrupt;

/// Parses the arguments, runs the command and returns its exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitStatus, Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    arguments.extend(typed::bare(&arguments).map(OsString::from));
    if arguments.len() == 3 && arguments[1] == "help" && arguments[2] == "all" {
        help::print_all().map_err(Error::Write)?;
        return Ok(ExitStatus::Done);
    }
    // Building the help of all commands takes longer than reading a line of a log.
    let help = ["-h", "--help", "help"].map(OsString::from);
    let needs_help = arguments.len() < 2 || arguments.iter().any(|word| help.contains(word));
    let is_brief = arguments.iter().any(|word| word == "-h");
    let command = || match (needs_help, is_brief) {
        (true, true) => help::brief_command(),
        (true, false) => help::command(),
        (false, _) => Cli::command(),
    };
    let mut variables = Variables::read();
    let mut parsed = match statusline::parse(&arguments, &variables) {
        Some(parsed) => Ok(parsed),
        None => config::parse(command(), &arguments, &variables),
    };
    if let Err(Problem::Arguments(error, _)) = &parsed {
        match typed::with_command(error, &arguments, &command()) {
            Some(with_command) => {
                arguments = with_command;
                parsed = config::parse(command(), &arguments, &variables);
            }
            None => typed::explained(error, &arguments, &command()).map_or(Ok(()), Err)?,
        }
    }
    // A status line must not become blank because of a file in the current folder.
    if matches!(parsed, Err(Problem::Settings(_)))
        && arguments.get(1).is_some_and(|word| word == "statusline")
    {
        arguments.push("--no-config".into());
        parsed = config::parse(command(), &arguments, &variables);
    }
    variables.hints = CommandHints::of(&arguments, variables.home());
    let parsed = parsed.and_then(|parsed| {
        variables.found_prices = parsed.found_prices;
        variables.configuration = parsed.configuration;
        variables.archive = parsed.archive;
        Ok(Cli::from_arg_matches(&parsed.matches)?)
    });
    let mut cli = match parsed {
        Ok(cli) => cli,
        Err(problem) => return report_problem(problem),
    };
    variables.color = cli.global.color;
    let style = variables.style();
    let write =
        |rows: &args::Rows, request: ReportRequest<'_>| write_report(rows, &request, &variables, style);
    match &mut cli.command {
        Command::Summarize(summarize) => summarize::summarize(summarize, &variables),
        Command::Run(run) => run::run(run, &variables),
        Command::Overview(overview) => overview::overview(overview, &variables, style),
        Command::Doctor(doctor) => doctor::doctor(doctor, &variables, style),
        Command::Check(check) => gate::check(check, &variables, style),
        Command::Diff(diff) => diff::diff(diff, &variables, style),
        Command::Permissions(permissions) => permission::permissions(permissions, &variables, style),
        Command::Context(context) => context::context(context, &variables, style),
        Command::Show(show) => show::show(show, &variables, style),
        Command::Search(search) => search::search(search, &variables, style),
        Command::Explain(explain) => explain::explain(explain, &variables, style),
        Command::Export(export) => export::export(export, &variables, style),
        Command::Report(ReportCommand { spec, rows, ccusage, budgets }) => {
            let maker = ReportMaker::of(spec, *ccusage, &rows.output)?;
            let make = |view: &View<'_>| budgets.told(maker.make(view), view, &rows.query.filters);
            write(rows, maker.request(&make))
        }
        Command::Blocks(blocks) => {
            let args::Blocks { rows, compatibility, .. } = &*blocks;
            let maker = ReportMaker::of(&report::BLOCKS, compatibility.ccusage, &rows.output)?;
            let maker = ReportMaker { windows: blocks.windows(), ..maker };
            let make = |view: &View<'_>| match maker.ccusage {
                Some(_) => maker.make(view),
                None => report::blocks(view, maker.windows, Some(calendar::now())),
            };
            write(rows, maker.request(&make))
        }
        Command::Limits(args::Limits { rows, forecast: true }) => {
            let filters = &rows.query.filters;
            let zone = filters.zone()?;
            filters.times(&zone, calendar::now())?;
            let make = |view: &View<'_>| {
                let now = calendar::now();
                let (since, until) = filters.times(view.zone, now).unwrap_or_default();
                report::forecast(view, since, Some(until.unwrap_or(now)))
            };
            let request = ReportRequest::of(&report::FORECAST, &make);
            // Records of rate limits have no time of their own.
            write(rows, ReportRequest { is_timed: false, ..request })
        }
        Command::Limits(args::Limits { rows, forecast: false }) => {
            let maker = ReportMaker::of(&report::LIMITS, false, &rows.output)?;
            write(rows, maker.request(&|view| maker.make(view)))
        }
        Command::Sessions(sessions) => {
            let maker =
                ReportMaker::of(&report::SESSIONS, sessions.compatibility.ccusage, &sessions.rows.output)?;
            let make = |view: &View<'_>| maker.make(view);
            write(&sessions.rows, ReportRequest { outcomes: &sessions.outcome, ..maker.request(&make) })
        }
        Command::Cost(cost) => {
            let make = |view: &View<'_>| report::cost(view, &cost.by);
            let by_prompt = cost.by.contains(&By::Prompt);
            let spec = if by_prompt { &report::COST_BY_PROMPT } else { &report::COST };
            let detail = cost.by.iter().fold(spec.keeps, |all, by| all | by.detail());
            write(&cost.rows, ReportRequest { detail, ..ReportRequest::of(spec, &make) })
        }
        Command::Time(time) => {
            let make = |view: &View<'_>| report::time(view, time.by);
            let is_by_prompt = time.by == TimeBy::Prompt;
            let spec = if is_by_prompt { &report::TIME_BY_PROMPT } else { &report::TIME };
            write(&time.rows, ReportRequest::of(spec, &make))
        }
        Command::Archive(archive) => archive::archive(archive, &variables, style),
        Command::Trace(trace) => trace::trace(trace, &variables),
        Command::Redact(redact) => redact::redact(redact, &variables),
        Command::Prices(prices) => {
            prices.output.fits(report::PRICES.name)?;
            let arrangement = prices.arrange.arrangement(&report::PRICES, &prices.output)?;
            let mut report = report::prices(&plan::prices(&prices.pricing)?).arranged(&arrangement)?;
            report::note_found_prices(&mut report, &variables.found_prices);
            let report = variables.hints.fill_in(report, true);
            prices.output.deliver(&report.into(), ExitStatus::Done, style)
        }
        Command::Statusline(statusline) => statusline::statusline(statusline, &variables),
        Command::Schema(schema) => self::schema(schema, style),
        Command::Generate(generate) => generate::run(generate, &variables),
    }
}

/// Makes a report, or its form for programs that read ccusage.
struct ReportMaker {
    spec: &'static ReportSpec,
    make: fn(&View<'_>) -> Report,
    ccusage: Option<Preset>,
    /// The windows of `blocks` to show.
    windows: Windows,
}

impl ReportMaker {
    fn of(spec: &'static ReportSpec, ccusage: bool, output: &args::Output) -> Result<Self, Error> {
        let ccusage = spec.ccusage.filter(|_| ccusage);
        if ccusage.is_some() {
            output.fits("ccusage")?;
        }
        let make =
            spec.make.ok_or_else(|| Error::Usage(format!("`{}` is made by another command", spec.name)))?;
        Ok(Self { spec, make, ccusage, windows: Windows::All })
    }

    fn request<'a>(&self, make: &'a dyn Fn(&View<'_>) -> Report) -> ReportRequest<'a> {
        let detail = self.ccusage.map_or(self.spec.keeps, Preset::keeps);
        ReportRequest { detail, ..ReportRequest::of(self.spec, make) }
    }

    /// With --follow, this is called repeatedly, each time with the current time.
    fn make(&self, view: &View<'_>) -> Report {
        match self.ccusage {
            Some(preset) => report::ccusage(view, preset, self.windows, calendar::now()),
            None => (self.make)(view),
        }
    }
}

/// Prints an error of the arguments, or the help or version that was requested.
fn report_problem(problem: Problem) -> Result<ExitStatus, Error> {
    let (error, origins) = match problem {
        Problem::Arguments(error, origins) => (typo::keep_near(error), origins),
        Problem::Settings(error) => return Err(error),
    };
    match error.kind() {
        ErrorKind::DisplayHelp => help::print(&error).map_err(Error::Write)?,
        _ => error.print().map_err(Error::Write)?,
    }
    for origin in origins {
        complain(&format!("that value was not typed: it comes from {origin}"));
    }
    Ok(if error.use_stderr() { ExitStatus::Usage } else { ExitStatus::Done })
}

fn schema(schema: &args::Schema, style: Style) -> Result<ExitStatus, Error> {
    let spec = schema.report.as_deref().and_then(ReportSpec::named);
    let render = |style: Style, out: &mut dyn Write| match spec {
        Some(spec) => render::schema(spec, out),
        None => render::render(&report::reports(), Format::Table, style, out),
    };
    match &schema.output {
        Some(path) => whole::write_whole(path, |out| render(Style::default(), out))
            .map_err(|source| Error::WriteFile { path: path.clone(), source })?,
        None => print(|out| render(style, out))?,
    }
    Ok(ExitStatus::Done)
}

/// The result of reading sources. Errors have been reported already.
struct Reading {
    sources: Vec<Source>,
    scan: scan::Scan,
    /// The exit status of the signal that ended reading.
    stop: Option<ExitStatus>,
    /// The style after following, during which the window may have changed its size.
    style: Option<Style>,
    /// A source could not be read to its end.
    partial: bool,
}

/// Reads the sources once, or follows them until a signal arrives; `make` makes the report that is shown
/// meanwhile.
fn read_or_follow(
    wanted: Roots,
    query: &args::Query,
    detail: Detail,
    output: &args::Output,
    variables: &Variables,
    make: &dyn Fn(Reading) -> Result<Report, Error>,
) -> Result<Reading, Error> {
    let args::Query { input, follow, .. } = query;
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
    check_search(&search, output)?;
    let reading = read_sources(search, input, detail, output.quiet);
    reading.complain_of_unread();
    Ok(reading)
}

/// Reads sources after [`check_search`]. Does not report sources that could not be read.
fn read_sources(search: Search, input: &args::Input, detail: Detail, quiet: bool) -> Reading {
    let stop = Stop::default();
    on_interrupt(&stop);
    let options = Options { stop: stop.clone(), ..scan_options(input, detail) };
    let progress = Arc::new(Progress::default());
    let bar = Bar::watch(&progress, !input.no_progress && !quiet);
    let scan = scan::scan(&search.sources, &options, &progress);
    drop(bar);
    let partial = !search.errors.is_empty() || !scan.unread.is_empty();
    let stop = stop.is_set().then_some(ExitStatus::Interrupted);
    Reading { sources: search.sources, scan, stop, style: None, partial }
}

/// The scan options that the arguments ask for.
fn scan_options(input: &args::Input, detail: Detail) -> Options {
    let limits = Limits { max_record: input.max_record, ..Limits::default() };
    Options { threads: input.threads, limits, detail, search: input.search.clone(), ..Options::default() }
}

impl Reading {
    fn complain_of_unread(&self) {
        self.scan.unread.iter().for_each(|unread| complain(&describe(unread, &self.sources)));
    }
}

/// Refuses to overwrite a log, and reports sources that were not found.
fn check_search(search: &Search, output: &args::Output) -> Result<(), Error> {
    output.refuse_overwrite(&search.sources)?;
    search.errors.iter().for_each(|missing| complain(&missing.to_string()));
    Ok(())
}

fn describe(unread: &Unread, sources: &[Source]) -> String {
    unread.describe(&sources.get(unread.source.0 as usize).map_or_else(String::new, Source::name))
}

fn status(input: &Input, stop: &Option<ExitStatus>, partial: bool, report: &Report) -> ExitStatus {
    match status_of(input, stop, partial) {
        ExitStatus::Done | ExitStatus::Partial if report.failed().next().is_some() => ExitStatus::GateFailed,
        status => status,
    }
}

/// The exit status of a command without gates.
fn status_of(input: &Input, stop: &Option<ExitStatus>, partial: bool) -> ExitStatus {
    match stop {
        Some(stopped) => *stopped,
        None if input.records == 0 => ExitStatus::NothingRead,
        None if partial => ExitStatus::Partial,
        None => ExitStatus::Done,
    }
}

/// The message for an input without records: the reason and the next step.
fn nothing_read(input: &Input, sources: &[Source]) -> String {
    const FLAGS: &str = "claude -p PROMPT --output-format stream-json --verbose | ccstat summarize";
    let piped = matches!(sources, [Source { origin: Origin::Stdin, .. }]);
    match (input, piped) {
        _ if sources.is_empty() => {
            format!("nothing to read: give a log or a folder of logs, or pipe a run into ccstat: {FLAGS}")
        }
        (input, true) if input.bytes == 0 => {
            format!(
                "standard input is empty: pipe a log into ccstat or give a path; to read the saved sessions, redirect \
                 it from {}",
                if cfg!(windows) { "NUL" } else { "/dev/null" }
            )
        }
        (input, true) if input.invalid > 0 => {
            format!("standard input is not a log: if it comes from `claude -p`, add these flags: {FLAGS}")
        }
        (input, _) if input.invalid + input.truncated > 0 => {
            "no records: none of the lines is a JSON object with a `type`".to_owned()
        }
        _ => "no records: the sources are empty".to_owned(),
    }
}

/// Prints a message to standard error. Ignores errors of writing.
pub fn complain(message: &str) {
    let paint = anstyle::AnsiColor::Red.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{paint}ccstat:{paint:#} {}", human::text(message));
}
