//! The command line: commands and their arguments.

mod history;

use std::{path::PathBuf, sync::Arc};

use clap::{
    ArgMatches, Args, ColorChoice, FromArgMatches, Parser, Subcommand, ValueHint,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};

pub use super::{
    archive::Archive,
    budget::{BudgetGate, Budgets},
    context::Context,
    diff::Diff,
    doctor::Doctor,
    explain::Explain,
    export::Export,
    filter::Filters,
    gate::{Check, Gates},
    generate::{Artifact, Generate, Shell},
    github::Github,
    output::{Arrange, Compatibility, Output, Target},
    overview::Overview,
    permission::Permissions,
    redact::Redact,
    run::Run,
    search::Search,
    show::Show,
    statusline::Statusline,
    tee::Tee,
    trace::Trace,
};
pub use history::{Blocks, Cost, Limits, PeriodReport, Sessions, Time};

use crate::{
    event::Query as TextQuery,
    report::{self, REPORTS, ReportSpec},
};

/// What a Claude Code run really did: accounts for every line of its JSON logs
///
/// Reads the output of --output-format stream-json and saved sessions, in any mixture, and counts each
/// session, response, tool call and denial once. Reports are tables for people, or JSON, CSV and other
/// formats for programs, which contain no message text unless --content is given. All costs are estimates at API prices.
#[derive(Debug, Parser)]
#[command(name = "ccstat", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_short_help = true
    )]
    pub color: ColorChoice,
    /// Read this configuration file, not the nearest ccstat.toml
    ///
    /// Defaults of options are taken from variables such as CCSTAT_FORMAT, then from this file or else the
    /// nearest ccstat.toml in the current folder or above, then from the user configuration:
    /// ~/.config/ccstat/config.toml (or below XDG_CONFIG_HOME), ~/Library/Application
    /// Support/ccstat/config.toml on macOS, %APPDATA%\ccstat\config.toml on Windows. Keys are the long names
    /// of options; a table named after a command sets options of that command only. A ccstat.toml that was
    /// found automatically may not set every option: see ccstat(1).
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        conflicts_with = "no_config",
        help_heading = "Reading",
        hide_short_help = true
    )]
    pub config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long, global = true, help_heading = "Reading", hide_short_help = true)]
    pub no_config: bool,
}

/// The commands. The help of commands that write reports comes from the specs of the reports.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A report without special arguments.
    #[command(flatten)]
    Report(ReportCommand),
    /// Reports totals.
    Summarize(Summarize),
    /// Start a command, pass its output on, and report what it did
    ///
    /// The output of the command is copied to standard output unchanged and without delay; the report goes to
    /// standard error, or to the files given with -o. Signals are forwarded to the command. The exit code is
    /// that of the command, unless a gate failed.
    Run(Run),
    /// Checks each run against gates.
    Check(Check),
    /// Shows who allowed or denied calls.
    Permissions(Box<Permissions>),
    /// Shows one session as a timeline.
    Show(Show),
    /// Shows what filled the context window of a session.
    Context(Context),
    /// Finds texts.
    Search(Search),
    /// Compares two runs, or two sets of runs.
    Diff(Diff),
    /// Shows tokens and cost by day, model and so on.
    Cost(Cost),
    /// Shows tokens and cost by window of five hours.
    Blocks(Blocks),
    /// Lists limits, or estimates when one is reached.
    Limits(Limits),
    /// Shows where wall time went.
    Time(Time),
    /// Explains how a cost was computed.
    Explain(Explain),
    /// Shows today, this week, cost by day, sessions and failures.
    Overview(Overview),
    /// Lists sessions.
    #[command(visible_alias = SESSION)]
    Sessions(Sessions),
    /// Keeps compressed copies of logs.
    Archive(Box<Archive>),
    /// Write the rows of a report with all columns, for other programs
    ///
    /// Writes CSV by default. The columns are those of `--format json` in the report of the same name.
    /// Message text, tool input and tool output are left out unless --content is given; with it, `calls`
    /// have their whole inputs and outputs as JSON text.
    Export(Export),
    /// Write sessions as traces for OpenTelemetry tools, Perfetto and Chrome
    ///
    /// Prompts, requests and tool calls become spans, with the names that the CLI's own telemetry gives them. SESSION is an id
    /// or its beginning, or `latest`; without it, all sessions are written. A first argument that is the path of a file or
    /// folder is taken as a path. Spans have no text of the logs unless --content is given. A row without a time has no span:
    /// a message says how many there are. Times and numbers that the log only implies are named in the attribute
    /// `ccstat.estimated`.
    Trace(Box<Trace>),
    /// Write a log without its texts, so that it can be shared
    ///
    /// Replaces messages, tool inputs, tool results and paths by placeholders of the same length; in all logs
    /// of one command, the same text gets the same placeholder. Keeps records, ids, times, all numbers, and
    /// names of tools, models, commands and agents, so that the reports of the new log are those of the old
    /// one. A text whose first words decide how it is counted, such as a denial, keeps these words. Only
    /// listed fields are kept; everything unknown is replaced. Ids and names are not treated as secrets:
    /// check the log before you share it.
    Redact(Redact),
    /// Lists prices.
    Prices(Prices),
    /// Says which logs are found.
    Doctor(Doctor),
    /// Print one line for the status line of Claude Code
    ///
    /// Reads the JSON that Claude Code gives to a status line command from standard input: model, context, cost of the
    /// session, limits. The cost of today is computed from the saved sessions that changed today; it is left out if
    /// reading them takes longer than a quarter of a second. The exit code is 0 whatever the input is.
    Statusline(Statusline),
    /// Print the JSON Schema of a report, or the list of reports
    ///
    /// The schema (draft 2020-12) lists the JSON keys of a report with their types, and says which may be
    /// null. CSV and TSV have the same keys as column headings. Without REPORT, lists the reports.
    Schema(Schema),
    /// Generate man pages and shell completions
    ///
    /// Both come from the help of this program, so they match the installed version.
    Generate(Generate),
}

/// The logs to read and the filters to apply.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct Query {
    /// The logs.
    #[command(flatten)]
    pub input: Input,
    /// Continue to read as files grow and appear, and update the report
    ///
    /// On a terminal, the report is redrawn a few times per second while files change; Ctrl-C ends and prints
    /// the last report. Otherwise, and with -q, -o or a format for programs, it is written once, at the end.
    /// The exit code is that of the signal. Files may be truncated, replaced or removed meanwhile, and the
    /// given paths need not exist yet.
    #[arg(long)]
    pub follow: bool,
    /// Price files.
    #[command(flatten)]
    pub pricing: Pricing,
    /// Filters.
    #[command(flatten)]
    pub filters: Filters,
}

/// Arguments of every report of rows.
#[derive(Debug, Args)]
pub struct Rows {
    /// The logs and filters.
    #[command(flatten)]
    pub query: Query,
    /// Format and destination.
    #[command(flatten)]
    pub output: Output,
    /// Order and selection of rows and columns.
    #[command(flatten)]
    pub arrange: Arrange,
}

/// A command created from the spec of its report, with the arguments of every report of rows.
#[derive(Debug)]
pub struct ReportCommand {
    /// The report.
    pub spec: &'static ReportSpec,
    /// Arguments of every report.
    pub rows: Rows,
    /// Whether `--ccusage` was given.
    pub ccusage: bool,
    /// Budgets, for reports by period.
    pub budgets: Budgets,
}

impl ReportCommand {
    /// The reports that have such a command, with its name.
    fn specs() -> impl Iterator<Item = (&'static str, &'static ReportSpec)> {
        let command =
            |spec: &'static ReportSpec| spec.command().filter(|(_, command)| !command.has_arguments);
        REPORTS.iter().filter_map(move |spec| Some((command(spec)?.0, spec)))
    }

    fn named(name: &str) -> Option<&'static ReportSpec> {
        Self::specs().find(|(own, _)| *own == name).map(|(_, spec)| spec)
    }
}

impl FromArgMatches for ReportCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = matches.subcommand().and_then(|(name, matches)| Some((Self::named(name)?, matches)));
        let (spec, matches) = typed.ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))?;
        if spec.ccusage.is_none() {
            let (rows, budgets) = (Rows::from_arg_matches(matches)?, Budgets::default());
            return Ok(Self { spec, rows, ccusage: false, budgets });
        }
        let PeriodReport { rows, compatibility, budgets } = PeriodReport::from_arg_matches(matches)?;
        Ok(Self { spec, rows, ccusage: compatibility.ccusage, budgets })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for ReportCommand {
    fn augment_subcommands(cli: clap::Command) -> clap::Command {
        let command = |(name, spec): (&'static str, &ReportSpec)| match spec.ccusage {
            Some(_) => PeriodReport::augment_args(clap::Command::new(name)),
            None => Rows::augment_args(clap::Command::new(name)),
        };
        cli.subcommands(Self::specs().map(command))
    }

    fn augment_subcommands_for_update(cli: clap::Command) -> clap::Command {
        Self::augment_subcommands(cli)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::named(name).is_some()
    }
}

/// Arguments of `summarize`.
#[derive(Debug, Args)]
pub struct Summarize {
    /// The logs and filters.
    #[command(flatten)]
    pub query: Query,
    /// Format and destination.
    #[command(flatten)]
    pub output: Output,
    /// Gates on the totals.
    #[command(flatten)]
    pub gates: Gates,
    /// Budgets.
    #[command(flatten)]
    pub budgets: BudgetGate,
    /// Options for a stream that is passed through.
    #[command(flatten)]
    pub tee: Tee,
    /// Output for GitHub Actions.
    #[command(flatten)]
    pub github: Github,
    /// How much the screen shows.
    #[command(flatten)]
    pub screen: Screen,
}

/// How much the screen of a summary shows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Screen {
    /// Show the kinds of records too, not only if one is unknown
    #[arg(long, short = 'v')]
    pub verbose: bool,
}

/// Arguments of `prices`.
#[derive(Debug, Args)]
pub struct Prices {
    /// Format and destination.
    #[command(flatten)]
    pub output: Output,
    /// Order and selection of rows and columns.
    #[command(flatten)]
    pub arrange: Arrange,
    /// Price files.
    #[command(flatten)]
    pub pricing: Pricing,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Name of the report, or of the command that writes it
    #[arg(value_name = "REPORT", value_parser = PossibleValuesParser::new(REPORTS.iter().map(possible)).map(report_name))]
    pub report: Option<String>,
    /// Write to this file, not to standard output
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// An alias of the command `sessions`.
const SESSION: &str = "session";

/// Other names for a report: its command, and other commands that write it.
fn other_names(spec: &ReportSpec) -> impl Iterator<Item = &'static str> + use<> {
    const OTHERS: &[(&str, &str)] = &[(SESSION, report::SESSIONS.name), ("run", report::SUMMARY.name)];
    let name = spec.name;
    let command = spec.command().map(|(command, _)| command).filter(move |command| *command != name);
    command
        .into_iter()
        .chain(OTHERS.iter().filter(move |(_, report)| *report == name).map(|(other, _)| *other))
}

/// A report as a possible value, with all its names.
fn possible(spec: &ReportSpec) -> PossibleValue {
    PossibleValue::new(spec.name).aliases(other_names(spec))
}

/// Returns the name of the report for any of its names.
fn report_name(typed: String) -> String {
    let found = REPORTS.iter().find(|spec| other_names(spec).any(|name| name == typed));
    found.map_or(typed, |spec| spec.name.to_owned())
}

/// The logs, and how to read them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct Input {
    /// Files, folders, patterns, or - for standard input
    ///
    /// Without a path, standard input is read if it is a pipe, a socket or a file, and the saved sessions if
    /// it is a terminal, a device such as /dev/null, or closed. An empty pipe is an error (exit 3). Folders
    /// are searched for .jsonl, .ndjson and .json files, also with .gz or .zst; a .json file is read only if
    /// it begins with a record.
    #[arg(value_name = "PATH", help_heading = None)]
    pub paths: Vec<PathBuf>,
    /// Read paths from this file, one per line; - for standard input
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub files_from: Option<PathBuf>,
    /// Read with this many threads; 0 for one per processor
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, hide_short_help = true)]
    pub threads: usize,
    /// Skip records larger than this, such as 512K, 64M or 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size, hide_short_help = true)]
    pub max_record: usize,
    /// Hide the progress bar
    #[arg(long, hide_short_help = true)]
    pub no_progress: bool,
    /// The texts to find.
    #[arg(skip)]
    pub search: Option<Arc<TextQuery>>,
}

/// Price files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct Pricing {
    /// Override or add prices from a JSON file
    ///
    /// Either {"models": {"NAME": {"input": 4, "output": 20, "cache_read": 0.2, "cache_write_5m": 5,
    /// "cache_write_1h": 8}}} in dollars per million tokens, or the widespread model_prices format with
    /// `input_cost_per_token` and so on. A ccstat.toml with tables such as [prices.NAME] can be given too.
    /// May be given several times; later files win.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub pricing: Vec<PathBuf>,
}

/// Parses a number of bytes, with an optional unit (powers of 1024).
pub(super) fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        other => return Err(format!("unknown unit `{other}`: use K, M or G")),
    };
    let number: usize = digits.parse().map_err(|_| "not a size: give a number such as 64M".to_owned())?;
    number.checked_mul(unit).filter(|&size| size > 0).ok_or_else(|| "out of range".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        crate::cli::help::command().debug_assert();
    }

    #[test]
    fn a_schema_is_found_by_every_name_of_a_command_that_writes_a_report() {
        let cli = crate::cli::help::command();
        let writes_report = |command: &&clap::Command| {
            // `export` writes the report that its argument names.
            command.get_arguments().any(|argument| argument.get_id() == "format")
                && command.get_name() != "export"
        };
        for command in cli.get_subcommands().filter(writes_report) {
            for name in std::iter::once(command.get_name()).chain(command.get_all_aliases()) {
                let typed = Cli::try_parse_from(["ccstat", "schema", name]);
                let Command::Schema(schema) = typed.unwrap_or_else(|error| panic!("{error}")).command else {
                    panic!("{name}")
                };
                assert!(
                    schema.report.as_deref().is_some_and(|name| ReportSpec::named(name).is_some()),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("512k"), Ok(512 << 10));
        assert_eq!(size("17"), Ok(17));
        assert!(
            size("0").is_err() && size("x").is_err() && size("5Q").is_err() && size("99999999999G").is_err()
        );
    }
}
