//! What was typed.

use std::path::PathBuf;

use clap::{
    ArgMatches, Args, ColorChoice, FromArgMatches, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};

pub use super::{
    diff::Diff,
    explain::Explain,
    export::Export,
    gate::{Check, Gates},
    generate::{Generate, Shell, What},
    github::Github,
    narrow::Narrow,
    output::{Arrange, Output, Shape, Target},
    permission::Permissions,
    redact::Redact,
    run::Run,
    show::Show,
    tee::Tee,
};
use crate::report::{self, By, Outcome, REPORTS, ReportSpec};

/// What a Claude Code run really did: accounts for every line of its JSON logs
///
/// Reads what the CLI prints with --output-format stream-json and what it saves of its sessions, in any mixture, and counts
/// each session, response, tool call and denial once. Reports are tables for people, or JSON, CSV and more for
/// programs. They carry no message text, and all costs are estimates at API prices.
#[derive(Debug, Parser)]
#[command(name = "ccstat", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: ColorChoice,
    /// Read this configuration file, not the nearest ccstat.toml
    ///
    /// Defaults of options are taken from variables such as CCSTAT_FORMAT, then from this file or else the nearest ccstat.toml in
    /// the current folder or above, then from the user configuration: ~/.config/ccstat/config.toml (or below XDG_CONFIG_HOME),
    /// ~/Library/Application Support/ccstat/config.toml on macOS, %APPDATA%\ccstat\config.toml on Windows. Keys are the long
    /// names of options; those in a table named after a command hold for that command alone. A ccstat.toml that was only found
    /// may not set everything: ccstat(1) lists what.
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    pub config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long, global = true)]
    pub no_config: bool,
}

/// What to do. What the help says of the commands that write reports is in the reports' specs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a report that needs no arguments of its own.
    #[command(flatten)]
    Report(ReportCommand),
    /// Says what happened.
    Summarize(Summarize),
    /// Start a command, pass its output on, and say what it did
    ///
    /// The output of the command goes to standard output byte for byte and at once; the report goes to standard error, or to the
    /// files of -o. Signals go to the command, and `run` ends as it ended unless a gate failed.
    Run(Run),
    /// Checks runs against gates.
    Check(Check),
    /// Shows who allowed or refused calls.
    Permissions(Box<Permissions>),
    /// Shows one session.
    Show(Show),
    /// Compares two runs, or two sets of them.
    Diff(Diff),
    /// Shows tokens and cost.
    Cost(Cost),
    /// Explains a cost.
    Explain(Explain),
    /// Lists sessions.
    #[command(visible_alias = SESSION)]
    Sessions(Sessions),
    /// Write all columns of a report's rows, for other programs
    ///
    /// CSV unless --format says otherwise. The columns are those that `--format json` has in the report of the same name.
    /// Message text, tool input and tool output are left out unless --include-content asks for them.
    Export(Export),
    /// Write a log without its texts, to show it to others
    ///
    /// Everything that was said, given to tools, returned by them or named by a path becomes a placeholder of the same length: the
    /// same text the same one, in all logs of one command. Records, ids, times, names of tools, models, commands and
    /// agents and all numbers stay, so that the reports of the new log are those of the old one. A text whose first words decide
    /// what it counts as, such as a refusal, keeps these words. What stays is listed; whatever is not known is replaced.
    /// Ids and names are no secrets here: look at the log before you pass it on.
    Redact(Redact),
    /// Prints prices.
    Prices(Prices),
    /// Print the JSON Schema of a report, or the list of reports
    ///
    /// The schema (draft 2020-12) says which keys a report has in JSON, of which type they are and which may be null. The
    /// same keys are the heads of CSV and TSV. Without REPORT the reports are listed.
    Schema(Schema),
    /// Make man pages and shell completions
    ///
    /// Both are made of the help of this very program, so they are those of the version that is installed.
    Generate(Generate),
}

/// What to read, and what of it counts.
#[derive(Debug, Args)]
pub struct Asked {
    /// What to read.
    #[command(flatten)]
    pub input: Input,
    /// Go on reading as files grow and appear, and show the report as it changes
    ///
    /// On a terminal the report is drawn again a few times a second while something happens; Ctrl-C ends, and prints the
    /// last one. Elsewhere, and for data, -q and -o, it is written once, at the end. The exit status is then that of the
    /// signal. Files may be cut, replaced or removed meanwhile, and what is named need not exist yet.
    #[arg(long)]
    pub follow: bool,
    /// Prices.
    #[command(flatten)]
    pub pricing: Pricing,
    /// What of it counts.
    #[command(flatten)]
    pub narrow: Narrow,
}

/// Arguments of a command that shows rows.
#[derive(Debug, Args)]
pub struct Rows {
    /// What to read.
    #[command(flatten)]
    pub asked: Asked,
    /// How to write it.
    #[command(flatten)]
    pub output: Output,
    /// Which rows and columns.
    #[command(flatten)]
    pub arrange: Arrange,
}

/// The command of a report, made of its spec: it has the arguments that every report of rows has.
#[derive(Debug)]
pub struct ReportCommand {
    /// The report.
    pub spec: &'static ReportSpec,
    /// What every report has.
    pub rows: Rows,
    /// Whether the shape of ccusage was asked for.
    pub ccusage: bool,
}

impl ReportCommand {
    /// The reports that have such a command.
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
            return Ok(Self { spec, rows: Rows::from_arg_matches(matches)?, ccusage: false });
        }
        let Preset { rows, shape } = Preset::from_arg_matches(matches)?;
        Ok(Self { spec, rows, ccusage: shape.ccusage })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for ReportCommand {
    fn augment_subcommands(cli: clap::Command) -> clap::Command {
        let command = |(name, spec): (&'static str, &ReportSpec)| match spec.ccusage {
            Some(_) => Preset::augment_args(clap::Command::new(name)),
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

/// Arguments of `cost`.
#[derive(Debug, Args)]
pub struct Cost {
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
    /// Divide by this; several are divided by all of them
    #[arg(long, value_name = "KEY", value_enum, value_delimiter = ',', default_value = "day")]
    pub by: Vec<By>,
}

/// Arguments of `daily` and its like.
#[derive(Debug, Args)]
#[command(mut_arg("format", Shape::format))]
pub struct Preset {
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
    /// In whose shape.
    #[command(flatten)]
    pub shape: Shape,
}

/// Arguments of `sessions`.
#[derive(Debug, Args)]
#[command(mut_arg("format", Shape::format))]
pub struct Sessions {
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
    /// In whose shape.
    #[command(flatten)]
    pub shape: Shape,
    /// Show only sessions that ended like this
    #[arg(long, value_name = "OUTCOME", value_enum, value_delimiter = ',')]
    pub outcome: Vec<Outcome>,
}

/// Arguments of `summarize`.
#[derive(Debug, Args)]
pub struct Summarize {
    /// What to read.
    #[command(flatten)]
    pub asked: Asked,
    /// How to write it.
    #[command(flatten)]
    pub output: Output,
    /// What has to hold.
    #[command(flatten)]
    pub gates: Gates,
    /// What to do with a pipe.
    #[command(flatten)]
    pub tee: Tee,
    /// Whether to tell GitHub.
    #[command(flatten)]
    pub github: Github,
}

/// Arguments of `prices`.
#[derive(Debug, Args)]
pub struct Prices {
    /// How to write it.
    #[command(flatten)]
    pub output: Output,
    /// Which rows and columns.
    #[command(flatten)]
    pub arrange: Arrange,
    /// Prices.
    #[command(flatten)]
    pub pricing: Pricing,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Name of the report, or of a command that makes it
    #[arg(value_name = "REPORT", value_parser = PossibleValuesParser::new(REPORTS.iter().map(possible)).map(report_name))]
    pub report: Option<String>,
}

/// The other name of `sessions`.
const SESSION: &str = "session";

/// Other names of a report: of its command, and of commands that write it too.
fn other_names(spec: &ReportSpec) -> impl Iterator<Item = &'static str> + use<> {
    const OTHERS: &[(&str, &str)] = &[(SESSION, report::SESSIONS.name), ("run", report::SUMMARY.name)];
    let name = spec.name;
    let command = spec.command().map(|(command, _)| command).filter(move |command| *command != name);
    command
        .into_iter()
        .chain(OTHERS.iter().filter(move |(_, report)| *report == name).map(|(other, _)| *other))
}

/// A report as a value that can be typed, by whichever of its names.
fn possible(spec: &ReportSpec) -> PossibleValue {
    PossibleValue::new(spec.name).aliases(other_names(spec))
}

/// The name of the report that was meant.
fn report_name(typed: String) -> String {
    let meant = REPORTS.iter().find(|spec| other_names(spec).any(|name| name == typed));
    meant.map_or(typed, |spec| spec.name.to_owned())
}

/// What to read, and how.
#[derive(Debug, Args)]
pub struct Input {
    /// Files, folders, patterns, or - for standard input
    ///
    /// Without it standard input is read if it is a pipe, a socket or a file, and the saved sessions if it is a terminal, a
    /// device such as /dev/null, or closed. An empty pipe is an error (exit 3). Folders are searched for .jsonl, .ndjson and
    /// .json files, also with .gz or .zst; a .json file counts only if it begins with a record.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read the paths from a file, one a line; - for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// Read with this many threads; 0 for one a processor
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Pass over records larger than this, such as 512K, 64M or 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub max_record: usize,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
}

/// Which prices to use.
#[derive(Debug, Args)]
pub struct Pricing {
    /// Override or add prices from a JSON file
    ///
    /// Either {"models": {"NAME": {"input": 4, "output": 20, "cache_read": 0.2, "cache_write_5m": 5, "cache_write_1h": 8}}} in dollars
    /// per million tokens, or the widespread model_prices form with `input_cost_per_token` and so on. Tables such as
    /// [prices.NAME] of a ccstat.toml are read too. May be given several times; later files win.
    #[arg(long, value_name = "FILE")]
    pub pricing: Vec<PathBuf>,
}

/// A number of bytes, perhaps with a unit of 1024.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        other => return Err(format!("unknown unit `{other}`, use K, M or G")),
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
    fn a_schema_is_found_by_every_name_of_a_command_that_makes_a_report() {
        let cli = crate::cli::help::command();
        let makes_one = |command: &&clap::Command| {
            // `export` names the table that it writes.
            command.get_arguments().any(|argument| argument.get_id() == "format")
                && command.get_name() != "export"
        };
        for command in cli.get_subcommands().filter(makes_one) {
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
