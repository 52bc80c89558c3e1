//! Spells the commands that reports suggest, with the paths and options of the current command line.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::{Arg, ArgMatches, Args, Command, CommandFactory, parser::ValueSource};
use os_display::Quotable;

use super::{
    args::{Cli, Pricing, Query},
    filter::Filters,
    stdin,
};
use crate::report::{Choice, FollowUp, Report};

/// Longer lists of paths are not repeated in hints.
const MAX_LENGTH: usize = 400;

/// The typed arguments, which hints repeat, and the home folder.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandHints {
    arguments: Vec<OsString>,
    home: Option<String>,
}

impl CommandHints {
    pub(super) fn of(arguments: &[OsString], home: Option<&str>) -> Self {
        Self { arguments: arguments.to_vec(), home: home.map(str::to_owned) }
    }

    /// Spells out the commands and the home folder in a report. `whole` says that no filter excluded a session.
    pub(super) fn fill_in(&self, report: Report, whole: bool) -> Report {
        let report = report.with_home(self.home.as_deref());
        let mut writer = None;
        let writer = std::cell::RefCell::new(&mut writer);
        report.with_choices(&option_of).with_commands(&|ask| match ask {
            FollowUp::Typed(_) | FollowUp::FirstSession => ask.clone(),
            FollowUp::Report(_)
            | FollowUp::Prices
            | FollowUp::AllowRules
            | FollowUp::AllRows
            | FollowUp::AllRowsOf(_)
            | FollowUp::Session { .. } => {
                // Most reports have no hints, and parsing the arguments again takes a millisecond.
                let mut writer = writer.borrow_mut();
                let writer = writer.get_or_insert_with(|| CommandWriter::of(&self.arguments));
                writer
                    .as_ref()
                    .map_or_else(|| ask.clone(), |writer| FollowUp::Typed(writer.typed(ask, whole)))
            }
        })
    }

    /// Spells a command for a message.
    pub(super) fn typed(&self, ask: &FollowUp) -> String {
        CommandWriter::of(&self.arguments).map_or_else(|| ask.to_string(), |writer| writer.typed(ask, false))
    }
}

/// The spelling of an option.
fn option_of(choice: Choice) -> &'static str {
    match choice {
        Choice::AllRows => "--limit 0",
        Choice::Data => "--format json",
        Choice::PriceFile => "--pricing FILE",
        Choice::NoConfiguration => "--no-config",
        Choice::Suggestions => "--suggest",
        Choice::CompleteGate => "--fail-on incomplete",
        Choice::TimedRun => "run --max-duration",
        Choice::Archive => "ccstat archive",
    }
}

/// Writes commands that repeat typed arguments.
struct CommandWriter {
    cli: Command,
    matches: ArgMatches,
}

/// The typed arguments that a command repeats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// Paths, price files and time zone.
    Logs,
    /// Paths, price files, time zone and filters.
    Filtered,
    /// Price files only.
    Prices,
    /// Everything except the number of rows and the output options.
    Everything,
}

impl CommandWriter {
    fn of(arguments: &[OsString]) -> Option<Self> {
        let mut cli = Cli::command();
        let matches = cli.try_get_matches_from_mut(arguments).ok()?;
        Some(Self { cli, matches })
    }

    fn typed(&self, ask: &FollowUp, whole: bool) -> String {
        match ask {
            FollowUp::Report(words) => self.command(words, None, Repeat::Filtered),
            FollowUp::Prices => self.command("prices", None, Repeat::Prices),
            FollowUp::AllowRules => self.command("permissions --suggest", None, Repeat::Filtered),
            // Without filters the whole session is shown, but then another session may start with the same
            // short id.
            FollowUp::Session { id, short } => {
                let id = if whole { short } else { id };
                self.command("show", Some(id), Repeat::Logs)
            }
            FollowUp::AllRowsOf(words) => self.command(&format!("{words} --limit 0"), None, Repeat::Filtered),
            FollowUp::AllRows => {
                let name = self.matches.subcommand_name().unwrap_or_default();
                self.command(&format!("{name} --limit 0"), None, Repeat::Everything)
            }
            FollowUp::FirstSession | FollowUp::Typed(_) => ask.to_string(),
        }
    }

    /// Spells a command: `words`, the repeated options, the session and the repeated paths.
    fn command(&self, words: &str, session: Option<&str>, repeat: Repeat) -> String {
        let Some((name, matches)) = self.matches.subcommand() else { return format!("ccstat {words}") };
        let Some(own) = self.cli.find_subcommand(name) else { return format!("ccstat {words}") };
        let target = words.split(' ').next().and_then(|name| self.cli.find_subcommand(name));
        let values = |arg: &&Arg| matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        let typed =
            |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let fits = |arg: &&Arg| {
            target.is_some_and(|target| target.get_arguments().any(|other| other.get_id() == arg.get_id()))
        };
        // A page does not have all rows.
        let is_page = |arg: &&Arg| {
            arg.get_id() == "format" && values(arg).any(|format| format.eq_ignore_ascii_case("html"))
        };
        let wanted = own.get_arguments().filter(typed).filter(fits).filter(|arg| repeat.has(arg));
        let wanted = wanted.filter(|arg| !is_page(arg));
        let (positional, options): (Vec<&Arg>, Vec<&Arg>) = wanted.partition(|arg| arg.is_positional());
        let options: String = options.into_iter().map(|arg| option(arg, matches)).collect();
        let paths: Vec<&OsStr> = positional.iter().flat_map(values).collect();
        let input = if repeat == Repeat::Prices { Input::Repeatable(paths) } else { input(matches, paths) };
        let paths = match &input {
            Input::Repeatable(paths) => &paths[..],
            Input::Stdin | Input::Once => &[],
        };
        let is_long = paths.iter().map(|path| path.len() + 1).sum::<usize>() > MAX_LENGTH;
        let paths = paths.iter().copied().filter(|_| !is_long);
        let operands = operands(&session.map(OsStr::new).into_iter().chain(paths).collect::<Vec<_>>());
        let command = format!("ccstat {words}{options}{operands}");
        match input {
            Input::Stdin => format!("… | {command}"),
            Input::Repeatable(_) if !is_long => command,
            Input::Once | Input::Repeatable(_) => format!("{command} …"),
        }
    }
}

/// Returns the kind of input; `paths` are the typed ones.
fn input<'a>(matches: &'a ArgMatches, paths: Vec<&'a OsStr>) -> Input<'a> {
    let raw = |id: &str| matches.try_get_raw(id).ok().flatten().into_iter().flatten();
    // A stream that is passed on can be read again if a copy is kept.
    let mut copies = raw("tee").filter(|copy| !copy.is_empty());
    let list = raw("files_from").next();
    // clap checks only in debug builds whether an id exists, so look for values.
    let is_run = raw("command").next().is_some();
    if let Some(copy) = copies.next() {
        return Input::Repeatable(vec![copy]);
    }
    let named = raw("paths").next().is_some() || list.is_some();
    if is_run || (!named && stdin::is_input()) {
        return Input::Stdin;
    }
    let names = || raw("paths").chain(list);
    match () {
        () if names().any(|name| name == "-") => Input::Stdin,
        () if names().any(is_read_once) => Input::Once,
        () => Input::Repeatable(paths),
    }
}

/// The kind of input that was read.
enum Input<'a> {
    /// Standard input, or the output of a command.
    Stdin,
    /// A named pipe, which can be read only once.
    Once,
    /// The saved sessions, or files that can be read again by these paths.
    Repeatable(Vec<&'a OsStr>),
}

fn is_read_once(name: &OsStr) -> bool {
    Path::new(name).metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

impl Repeat {
    /// Whether this argument is repeated.
    fn has(self, arg: &Arg) -> bool {
        let is_of = |group: fn(Command) -> Command| {
            group(Command::new("")).get_arguments().any(|own| own.get_id() == arg.get_id())
        };
        // These change how logs are read and what is shown meanwhile, not what is reported.
        let is_incidental = ["follow", "threads", "no_progress"].contains(&arg.get_id().as_str());
        let is_config = ["config", "no_config"].contains(&arg.get_id().as_str());
        let is_filter = is_of(Filters::augment_args) && arg.get_id() != "timezone";
        match self {
            Self::Prices => is_config || is_of(Pricing::augment_args),
            Self::Logs => is_config || (is_of(Query::augment_args) && !is_incidental && !is_filter),
            Self::Filtered => is_config || (is_of(Query::augment_args) && !is_incidental),
            Self::Everything => {
                !is_incidental && !["limit", "output", "quiet"].contains(&arg.get_id().as_str())
            }
        }
    }
}

/// Spells operands, each after a space, and after `--` if one of them starts with a dash.
fn operands(values: &[&OsStr]) -> String {
    let dashed = values.iter().any(|value| value.as_encoded_bytes().starts_with(b"-"));
    let values = values.iter().map(|value| format!(" {}", quoted(value)));
    if dashed { std::iter::once(" --".to_owned()).chain(values).collect() } else { values.collect() }
}

/// Quotes a word for a shell of this system. On Windows, a plain word such as a session id is not quoted:
/// PowerShell does not need it, and `cmd` would take the quotes as a part of the word.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/\\".contains(byte);
    match word.to_str() {
        Some(plain) if cfg!(windows) && !plain.is_empty() && plain.as_bytes().iter().all(is_plain) => {
            plain.to_owned()
        }
        _ => word.maybe_quote().to_string(),
    }
}

/// Spells an option with its values, after a space.
fn option(arg: &Arg, matches: &ArgMatches) -> String {
    let Some(long) = arg.get_long() else { return String::new() };
    if !arg.get_action().takes_values() {
        return format!(" --{long}");
    }
    let typed = |value: &OsStr| match value.as_encoded_bytes().first() {
        Some(b'-') => format!(" --{long}={}", quoted(value)),
        _ => format!(" --{long} {}", quoted(value)),
    };
    matches.get_raw(arg.get_id().as_str()).into_iter().flatten().map(typed).collect()
}
