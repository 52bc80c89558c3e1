//! Commands that the reader can type next: those of reports, with the paths and options that were typed now.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::{Arg, ArgMatches, Args, Command, CommandFactory, parser::ValueSource};
use os_display::Quotable;

use super::{
    args::{Asked, Cli, Pricing},
    narrow::Narrow,
    stdin,
};
use crate::report::{Choice, FollowUp, Report};

/// Paths and options that are longer than this are not repeated: nobody reads a hint of a thousand paths.
const LONGEST: usize = 400;

/// The arguments as they were typed, to be typed again in other commands.
#[derive(Clone, Debug, Default)]
pub(super) struct Again {
    arguments: Vec<OsString>,
}

impl Again {
    pub(super) fn of(arguments: &[OsString]) -> Self {
        Self { arguments: arguments.to_vec() }
    }

    /// The report with commands as they are typed. `whole` says that no filter left out a session.
    pub(super) fn type_out(&self, report: Report, whole: bool) -> Report {
        let mut typist = None;
        let typist = std::cell::RefCell::new(&mut typist);
        report.with_choices(&option_of).with_commands(&|ask| match ask {
            FollowUp::Typed(_) | FollowUp::FirstSession => ask.clone(),
            FollowUp::Report(_) | FollowUp::Prices | FollowUp::AllRows | FollowUp::Session { .. } => {
                // Most reports have no command in them, and reading the arguments again takes a millisecond.
                let mut typist = typist.borrow_mut();
                let typist = typist.get_or_insert_with(|| Typist::of(&self.arguments));
                typist
                    .as_ref()
                    .map_or_else(|| ask.clone(), |typist| FollowUp::Typed(typist.typed(ask, whole)))
            }
        })
    }

    /// A command as it is typed, for a message.
    pub(super) fn typed(&self, ask: &FollowUp) -> String {
        Typist::of(&self.arguments).map_or_else(|| ask.to_string(), |typist| typist.typed(ask, false))
    }
}

/// How a choice is typed.
fn option_of(choice: Choice) -> &'static str {
    match choice {
        Choice::AllRows => "--limit 0",
        Choice::Data => "--format json",
        Choice::PriceFile => "--pricing FILE",
        Choice::NoConfiguration => "--no-config",
        Choice::Suggestions => "--suggest",
        Choice::CompleteGate => "--fail-on incomplete",
        Choice::TimedRun => "run --max-duration",
    }
}

/// Knows what was typed, option by option.
struct Typist {
    cli: Command,
    matches: ArgMatches,
}

/// Which typed arguments are repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// The paths, the prices and the time zone.
    Logs,
    /// The filters too.
    Filtered,
    /// The prices alone.
    Prices,
    /// Everything but how many rows, and where they go.
    Everything,
}

impl Typist {
    fn of(arguments: &[OsString]) -> Option<Self> {
        let mut cli = Cli::command();
        let matches = cli.try_get_matches_from_mut(arguments).ok()?;
        Some(Self { cli, matches })
    }

    fn typed(&self, ask: &FollowUp, whole: bool) -> String {
        match ask {
            FollowUp::Report(words) => self.command(words, None, Repeat::Filtered),
            FollowUp::Prices => self.command("prices", None, Repeat::Prices),
            // Filters are left out: it is shown in full. Then another session may begin with the same letters.
            FollowUp::Session { id, short } => {
                let id = if whole { short } else { id };
                self.command("show", Some(id), Repeat::Logs)
            }
            FollowUp::AllRows => {
                let name = self.matches.subcommand_name().unwrap_or_default();
                self.command(&format!("{name} --limit 0"), None, Repeat::Everything)
            }
            FollowUp::FirstSession | FollowUp::Typed(_) => ask.to_string(),
        }
    }

    /// A command of these words, perhaps about one session, and of what is repeated.
    fn command(&self, words: &str, session: Option<&str>, repeat: Repeat) -> String {
        let Some((name, matches)) = self.matches.subcommand() else { return format!("ccstat {words}") };
        let Some(own) = self.cli.find_subcommand(name) else { return format!("ccstat {words}") };
        let target = words.split(' ').next().and_then(|name| self.cli.find_subcommand(name));
        let typed =
            |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let fits = |arg: &&Arg| {
            target.is_some_and(|target| target.get_arguments().any(|other| other.get_id() == arg.get_id()))
        };
        let wanted = own.get_arguments().filter(typed).filter(fits).filter(|arg| repeat.has(arg));
        let (places, options): (Vec<&Arg>, Vec<&Arg>) = wanted.partition(|arg| arg.is_positional());
        let options: String = options.into_iter().map(|arg| option(arg, matches)).collect();
        let values = |arg: &&Arg| matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
        let places: Vec<&OsStr> = places.iter().flat_map(values).collect();
        let input = if repeat == Repeat::Prices { Input::Repeatable(places) } else { input(matches, places) };
        let paths = match &input {
            Input::Repeatable(paths) => &paths[..],
            Input::Stdin | Input::Once => &[],
        };
        let is_long = paths.iter().map(|path| path.len() + 1).sum::<usize>() > LONGEST;
        let paths = paths.iter().copied().filter(|_| !is_long);
        let places = operands(&session.map(OsStr::new).into_iter().chain(paths).collect::<Vec<_>>());
        let command = format!("ccstat {words}{options}{places}");
        match input {
            Input::Stdin => format!("… | {command}"),
            Input::Repeatable(_) if !is_long => command,
            Input::Once | Input::Repeatable(_) => format!("{command} …"),
        }
    }
}

/// Whether what was read can be read again by the same names.
fn input<'a>(matches: &'a ArgMatches, places: Vec<&'a OsStr>) -> Input<'a> {
    let raw = |id: &str| matches.try_get_raw(id).ok().flatten().into_iter().flatten();
    // A stream that is passed on can be read again if a copy is kept.
    let mut copies = raw("tee").filter(|copy| !copy.is_empty());
    let list = raw("files_from").next();
    // Whether an id exists clap knows only in debug builds, so values are looked at.
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
        () => Input::Repeatable(places),
    }
}

/// The kind of input that was read.
enum Input<'a> {
    /// Standard input, or the output of a command.
    Stdin,
    /// A pipe with a name that is good for one time.
    Once,
    /// The saved sessions, or files by their names.
    Repeatable(Vec<&'a OsStr>),
}

fn is_read_once(name: &OsStr) -> bool {
    Path::new(name).metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

impl Repeat {
    /// Whether an option, or what to read, is repeated.
    fn has(self, arg: &Arg) -> bool {
        let is_of = |group: fn(Command) -> Command| {
            group(Command::new("")).get_arguments().any(|own| own.get_id() == arg.get_id())
        };
        // How fast it is read, and what is shown meanwhile, is the same for every command.
        let is_manner = ["follow", "threads", "no_progress"].contains(&arg.get_id().as_str());
        let is_config = ["config", "no_config"].contains(&arg.get_id().as_str());
        let is_filter = is_of(Narrow::augment_args) && arg.get_id() != "timezone";
        match self {
            Self::Prices => is_config || is_of(Pricing::augment_args),
            Self::Logs => is_config || (is_of(Asked::augment_args) && !is_manner && !is_filter),
            Self::Filtered => is_config || (is_of(Asked::augment_args) && !is_manner),
            Self::Everything => !is_manner && !["limit", "output", "quiet"].contains(&arg.get_id().as_str()),
        }
    }
}

/// Sessions and paths as they are typed, with a blank before each; one that looks like an option must not be taken for it.
fn operands(places: &[&OsStr]) -> String {
    let dashed = places.iter().any(|place| place.as_encoded_bytes().starts_with(b"-"));
    let places = places.iter().map(|place| format!(" {}", quoted(place)));
    if dashed { std::iter::once(" --".to_owned()).chain(places).collect() } else { places.collect() }
}

/// A word as it is typed in a shell of this system. On Windows a session id needs no quotes, although it begins with a digit:
/// PowerShell takes it as it is, and `cmd` would take the quotes for a part of it.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/\\".contains(byte);
    match word.to_str() {
        Some(plain) if cfg!(windows) && !plain.is_empty() && plain.as_bytes().iter().all(is_plain) => {
            plain.to_owned()
        }
        _ => word.maybe_quote().to_string(),
    }
}

/// An option as it is typed, with a blank before it.
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
