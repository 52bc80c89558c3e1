//! What was typed.

use std::path::PathBuf;

use clap::{
    Args, ColorChoice, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
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
use crate::report::{By, Entry, Outcome, REPORTS};

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

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what happened: how it ended, what needs a look, its cost
    ///
    /// Reads stream-json output, saved sessions, and what hosts and bridges write, in any mixture.
    Summarize(Summarize),
    /// Start a command, pass its output on, and say what it did
    ///
    /// The output of the command goes to standard output byte for byte and at once; the report goes to standard error, or to the
    /// files of -o. Signals go to the command, and `run` ends as it ended unless a gate failed.
    Run(Run),
    /// Check runs against gates, one line a run; exit 1 if one fails
    ///
    /// Without a gate, the default gates apply: --fail-on error,no-result,denial. A gate fails if the value it needs is
    /// unknown.
    ///
    /// Every gate is judged for each run by itself: a session, or a source that names none. Failed runs come first. What has
    /// no session id belongs to the first session of its source, and so do lines that are no record.
    Check(Check),
    /// Show tools: calls, errors, denials, latencies, size of results
    ///
    /// MCP tools are told apart by their server. An error rate is of the calls that were answered; latencies are from ask
    /// to answer, where the log has both times.
    Tools(Rows),
    /// List turns: how long, at what cost, how they ended
    ///
    /// One row for each `result` record. Its cost is the difference to the total before it, so that the rows add up.
    Turns(Rows),
    /// List tool calls: the failed ones first, then the slowest
    ///
    /// Each with the place of its record. Inputs and results are not shown; see `ccstat export --help`.
    Calls(Rows),
    /// List refused calls: which tool, where, how often
    ///
    /// The same input refused again and again in a session is one row, marked as a loop from three times on.
    Denials(Rows),
    /// List what failed: tools, turns, the API; time lost to retries
    ///
    /// The same input that fails again and again in a session is one row, marked as a loop from three times on.
    Errors(Rows),
    /// Count kinds of records and blocks, unknown ones first
    ///
    /// Says how many bytes each takes, and where the first stands.
    Kinds(Rows),
    /// Show the tree of subagents: calls, tokens, time and cost
    ///
    /// What an agent did by itself, without those that it started. Sessions without subagents are one row.
    Agents(Rows),
    /// Show who allowed or refused calls; try settings, get rules
    ///
    /// One row a call: the decision, who took it and by which rule as far as the log says, and the mode in force; modes are rows
    /// where they change. With --settings it says what those rules would have done to every recorded call, with --suggest which
    /// rules would have let the refused calls through. `permissions test` tries rules on a command without a log. This report
    /// shows content: what tools were called with.
    Permissions(Box<Permissions>),
    /// Show hooks: runs, errors, what they blocked, durations
    ///
    /// One row for each hook and command. The output of the CLI has hooks only where it was asked for them, and never their
    /// commands or durations; saved sessions have both. A run that both tell of counts once.
    Hooks(Rows),
    /// Show MCP servers: status, tools, calls, errors, latencies
    ///
    /// Servers are listed where a process begins, so a saved session knows only those that were called.
    Mcp(Rows),
    /// List tasks: background and foreground, how long, how they ended
    ///
    /// Commands, subagents and workflows that run beside the turn or within it, and entries of the model's own list.
    Tasks(Rows),
    /// List limits: rate limits, fallbacks, refusals, compactions
    ///
    /// Retries of the API are among the failures: see `ccstat errors`.
    Limits(Rows),
    /// List what the model asked people, and what they answered
    ///
    /// One row for each question of AskUserQuestion. This report exists to show content: questions, options and answers stand in it
    /// as they do in the log, without --include-content.
    Questions(Rows),
    /// Show commands, skills, agents: offered, used, what they began
    ///
    /// Counts each use once, however many records tell of it. Names are shown, arguments are not. What was offered and never
    /// used is listed after what was, in data and with --limit 0.
    Commands(Rows),
    /// List control requests: who asked for what, decisions, latencies
    ///
    /// What the CLI asked its host and the host asked the CLI, and what went over a bridge; requests and responses are
    /// paired by id, also those of two logs of one run. Control lines have no session id: the session is the one that runs
    /// around them. Where the response stands in another log, how the call ended tells whether it was allowed.
    Control(Rows),
    /// Show one session as a timeline: prompts, calls, failures
    ///
    /// SESSION is an id or its beginning, or `latest`. Every event has its time, how it ended, how long it took and how large
    /// the context was; a bar shows when it was within the session. Message text is not shown. Where rows are left out, on a
    /// screen or by --limit, the newest ones stay.
    Show(Show),
    /// Compare two runs, or two sets of them: cost, time, failures
    ///
    /// BASE and HEAD are each a file, a folder, a pattern, or - for standard input; a log that is piped in is HEAD if only
    /// BASE is given. One run a side is compared by its totals. Of several runs (a run is a session, or a source that names none) the means are compared, with their standard
    /// deviation and the 95 % interval of the difference. What is not known on one side has no difference.
    Diff(Diff),
    /// Show tokens and cost by day, project, model, tool and more
    ///
    /// A session's cost is divided over its responses in proportion to what their tokens cost, and by model as the CLI
    /// says. What has no owner is a row without a name, so that rows always add up to the total.
    Cost(Cost),
    /// Explain how the cost of each session came about, line by line
    ///
    /// Says which figure counts (what the results add up to, the saved total, or tokens times prices) and why, and how it is
    /// put together. The lines that count add up to the session's cost. Filters choose sessions; those that are chosen are
    /// explained whole.
    Explain(Explain),
    /// Show tokens and cost by day
    ///
    /// The same as `cost --by day`.
    Daily(Preset),
    /// Show tokens and cost by week
    ///
    /// The same as `cost --by week`: weeks begin on Monday.
    Weekly(Preset),
    /// Show tokens and cost by month
    ///
    /// The same as `cost --by month`.
    Monthly(Preset),
    /// Show tokens and cost by window of five hours
    ///
    /// The same as `cost --by window`: a window begins with the full hour of its first response and lasts five hours, as
    /// subscriptions count.
    Blocks(Preset),
    /// List sessions: when, where, what they cost, how they ended
    ///
    /// The latest first. A session that several logs tell of is one row.
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
    /// Print the table of prices in force
    ///
    /// Costs that the CLI did not report are computed from tokens with these prices.
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

/// Names of commands, and other names of them, that make a report of another name.
const SAME_REPORT: &[(&str, &str)] = &[(SESSION, "sessions"), ("summarize", "summary"), ("run", "summary")];

/// A report as a value that can be typed, by whichever of its names.
fn possible(entry: &Entry) -> PossibleValue {
    let others = SAME_REPORT.iter().filter(|(_, report)| *report == entry.name).map(|(name, _)| *name);
    PossibleValue::new(entry.name).aliases(others)
}

/// The name of the report that was meant.
fn report_name(typed: String) -> String {
    let report = SAME_REPORT.iter().find(|(name, _)| *name == typed).map(|(_, report)| (*report).to_owned());
    report.unwrap_or(typed)
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
                assert!(schema.report.as_deref().is_some_and(|name| Entry::named(name).is_some()), "{name}");
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
