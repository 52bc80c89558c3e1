//! What was typed.

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand};

pub use super::{
    export::Export,
    narrow::Narrow,
    output::{Arrange, Output, Target},
};
use crate::report::Outcome;

/// What a Claude Code run really did: reads its JSON logs and accounts for every line.
#[derive(Debug, Parser)]
#[command(name = "ccstat", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize
  ccstat summarize ~/.claude/projects
  ccstat summarize --format json run.jsonl | jq .cost.total_usd")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what happened: how it ended, what needs attention, tools, tokens, cost
    ///
    /// Reads stream-json output, saved sessions, and what hosts and bridges write, in any mixture. Without PATH it reads
    /// standard input, or the saved sessions if nothing is piped into it.
    #[command(after_long_help = "Exit status:
  0    done
  1    done, and a record is invalid under --strict
  2    wrong usage
  3    nothing could be read
  4    done, but some source could not be read to its end
  130  stopped by SIGINT, after the report of what was read

Examples:
  claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize
  ccstat summarize ~/.claude/projects/my-project
  find . -name '*.jsonl.zst' | ccstat summarize --files-from -")]
    Summarize(Summarize),
    /// List sessions: when, where, what they did and cost, how they ended
    ///
    /// Reads the saved sessions unless a PATH is given; - reads standard input.
    #[command(
        visible_alias = "session",
        after_long_help = "Examples:
  ccstat sessions --since 7d
  ccstat sessions --outcome error,denied --sort cost_usd runs/"
    )]
    Sessions(Sessions),
    /// Write the rows of a report with all columns, for spreadsheets and scripts
    ///
    /// CSV unless --format says otherwise. The columns are those that `--format json` has in the report of the same name.
    /// Message text, tool input and tool output are left out unless --include-content asks for them.
    #[command(after_long_help = "Examples:
  ccstat export responses --since 30d > responses.csv
  ccstat export calls --include-content --format jsonl run.jsonl")]
    Export(Export),
    /// Print the table of prices in force
    ///
    /// Costs that the CLI did not report are computed from tokens with these prices.
    #[command(after_long_help = "Examples:
  ccstat prices
  ccstat prices --pricing model_prices.json --format json")]
    Prices(Prices),
}

/// What to read, and what of it counts.
#[derive(Debug, Args)]
pub struct Asked {
    /// What to read.
    #[command(flatten)]
    pub input: Input,
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

/// Arguments of `sessions`.
#[derive(Debug, Args)]
pub struct Sessions {
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
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
    /// Exit with 1 if a record is invalid
    #[arg(long)]
    pub strict: bool,
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

/// What to read, and how.
#[derive(Debug, Args)]
pub struct Input {
    /// Files, folders, patterns, or - for standard input
    ///
    /// Folders are searched for .jsonl, .ndjson and .json files, also with .gz or .zst; a .json file counts only if it
    /// begins with a record.
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
    /// per million tokens, or the widespread model_prices form with `input_cost_per_token` and so on. May be given several
    /// times; later files win.
    #[arg(long, value_name = "FILE")]
    pub pricing: Vec<PathBuf>,
}

/// A number of bytes, perhaps with a unit of 1024.
fn size(text: &str) -> Result<usize, String> {
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
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
