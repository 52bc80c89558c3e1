//! Understands command lines that name no command: a bare `ccstat`, a log in place of a command, and typos.

use std::{
    ffi::{OsStr, OsString},
    io::{self, IsTerminal},
    path::Path,
};

use clap::{Command, error::ContextKind, error::ContextValue, error::ErrorKind};
use os_display::Quotable;

use super::{config, stdin};
use crate::error::Error;

/// The command that a bare `ccstat` means: at a terminal the overview, or the summary of what is piped in.
/// Without a terminal it means nothing, so that scripts get the help and an error.
pub(super) fn bare(arguments: &[OsString]) -> Option<&'static str> {
    if !has_global_options_only(arguments) || !io::stdout().is_terminal() {
        return None;
    }
    Some(if stdin::is_input() { "summarize" } else { "overview" })
}

/// Whether nothing but options of every command was typed.
fn has_global_options_only(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--no-config") => {}
            Some("--color" | "--config") => drop(words.next()),
            Some(word) if word.starts_with("--color=") || word.starts_with("--config=") => {}
            _ => return false,
        }
    }
    true
}

/// Inserts `summarize` before a file or folder that was typed in place of a command.
pub(super) fn with_command(
    error: &clap::Error,
    arguments: &[OsString],
    command: &Command,
) -> Option<Vec<OsString>> {
    let (at, typed) = in_place_of_command(error, arguments, command)?;
    if typed != "-" && !Path::new(typed).exists() {
        return None;
    }
    let mut arguments = arguments.to_vec();
    arguments.insert(at, "summarize".into());
    Some(arguments)
}

/// The argument that was typed in place of a command, and its position.
fn in_place_of_command<'a>(
    error: &clap::Error,
    arguments: &'a [OsString],
    command: &Command,
) -> Option<(usize, &'a OsStr)> {
    let wrong = context(error, ErrorKind::InvalidSubcommand, ContextKind::InvalidSubcommand)?;
    let at = arguments.iter().skip(1).position(|typed| typed.to_string_lossy() == wrong)? + 1;
    // `generate` and `help` have commands of their own.
    let is_command =
        |typed: &OsString| typed == "help" || command.get_subcommands().any(|one| typed == one.get_name());
    (!arguments[1..at].iter().any(is_command)).then(|| (at, arguments[at].as_os_str()))
}

/// The subject of an error of this kind.
fn context(error: &clap::Error, kind: ErrorKind, about: ContextKind) -> Option<&str> {
    match error.get(about).filter(|_| error.kind() == kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// A better message than that of the parser, for mistakes that it does not understand.
pub(super) fn explained(error: &clap::Error, arguments: &[OsString], command: &Command) -> Option<Error> {
    let message = match in_place_of_command(error, arguments, command) {
        Some((_, typed)) => no_command(&typed.to_string_lossy(), command),
        None => no_dashes(error, arguments)?,
    };
    Some(Error::Usage(message))
}

/// The message for something that is neither a command nor a file.
fn no_command(typed: &str, command: &Command) -> String {
    if typed.contains(['/', '\\']) || Path::new(typed).extension().is_some() {
        return format!("no such file or folder: `{typed}`");
    }
    let names: Vec<&str> =
        command.get_subcommands().flat_map(Command::get_name_and_visible_aliases).collect();
    let hint = config::closest(typed, &names).map(|near| format!(" (did you mean `{near}`?)"));
    let hint = hint.unwrap_or_default();
    format!("neither a command nor a file: `{typed}`{hint}; `ccstat --help` lists the commands")
}

/// The message for `run` without `--` before the command to run.
fn no_dashes(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let wrong = context(error, ErrorKind::UnknownArgument, ContextKind::InvalidArg)?;
    let is_run = arguments.get(1).is_some_and(|typed| typed == "run") && !wrong.starts_with('-');
    let at = arguments.iter().skip(2).position(|typed| typed.to_string_lossy() == wrong)? + 2;
    if !is_run || arguments.iter().any(|typed| typed == "--") {
        return None;
    }
    let word = |typed: &OsString| format!(" {}", typed.maybe_quote());
    let (ours, theirs) = arguments[1..].split_at(at - 1);
    let line: String =
        ours.iter().map(word).chain([" --".to_owned()]).chain(theirs.iter().map(word)).collect();
    Some(format!("the command to run comes after `--`: type `ccstat{line}`"))
}
