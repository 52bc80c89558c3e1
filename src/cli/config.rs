//! Defaults of options: the variables `CCSTAT_*` and a file `ccstat.toml`.
//!
//! Whatever has a long name can be set, so a new option needs no line here. What was typed is parsed alone first: then
//! it is known which options are left open, and those that have a default are parsed as if they had been typed too.

mod file;

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, error::ContextValue, parser::ValueSource};

use self::file::{File, Table};
use super::plan::{PREFIX, Variables};
use crate::error::Error;

/// For `fuzz/fuzz_targets/config.rs` alone: `cargo fuzz` sets this cfg, no other build does.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn config_is_judged(text: &str) {
    file::is_judged(text);
}

/// The name of the file.
const FILE: &str = "ccstat.toml";

/// Options that say where defaults are, and cannot be among them.
const NOT_HERE: [&str; 2] = ["config", "no-config"];

/// The option for files of prices, of which the file of defaults is one if it has some.
const PRICING: &str = "pricing";

/// Why the arguments cannot be used.
pub(super) enum Problem {
    /// They are wrong, or ask for help; and where those come from that were not typed.
    Arguments(clap::Error, Vec<Origin>),
    /// The defaults are wrong.
    Settings(Error),
}

impl From<clap::Error> for Problem {
    fn from(error: clap::Error) -> Self {
        Self::Arguments(error, Vec::new())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Settings(error)
    }
}

/// Where a default comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A variable of this name.
    Variable(String),
    /// A key, in this file and line.
    Key(String, PathBuf, usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Key(key, file, line) => write!(f, "`{key}` in `{}`, line {line}", file.display()),
        }
    }
}

/// One default.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// Long name of the option.
    option: String,
    /// What it is set to.
    given: Given,
    /// Where that stands.
    origin: Origin,
}

/// What an option is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    /// On or off.
    Flag(bool),
    /// A text, or several.
    Values(Vec<OsString>),
    /// A text that may mean on or off, as variables have no types.
    Text(OsString),
}

/// The arguments, with the defaults that variables and a file give.
pub(super) fn matches(
    mut command: Command,
    mut arguments: Vec<OsString>,
    variables: &Variables,
) -> Result<ArgMatches, Problem> {
    let typed = command.try_get_matches_from_mut(&arguments)?;
    let file = found(&typed, variables)?;
    if file.is_none() && variables.options.is_empty() {
        std::mem::forget(command); // giving every argument back by itself would only take time
        return Ok(typed);
    }
    let Added { words, origins } = Program(&command).added(&typed, file.as_deref(), variables)?;
    if words.is_empty() {
        return Ok(typed);
    }
    let after = Program(&command).position(&arguments) + 1;
    arguments.splice(after..after, words);
    command.try_get_matches_from_mut(arguments).map_err(|error| {
        let named = named(&error);
        let is_named = |(option, _): &(String, Origin)| named.contains(option);
        let origins = origins.into_iter().filter(is_named).map(|(_, origin)| origin).collect();
        Problem::Arguments(error, origins)
    })
}

/// What is parsed beside what was typed.
#[derive(Default)]
struct Added {
    /// As it would be typed.
    words: Vec<OsString>,
    /// Where each option of it comes from.
    origins: Vec<(String, Origin)>,
}

/// The options that an error is about, by their long names.
fn named(error: &clap::Error) -> Vec<String> {
    let texts = error.context().flat_map(|(_, value)| match value {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        _ => Vec::new(),
    });
    let long = |text: String| {
        let word = text.strip_prefix("--")?.split([' ', '=']).next()?;
        Some(word.to_owned())
    };
    texts.filter_map(long).collect()
}

/// The file to read: the one that is named, or the nearest.
fn found(typed: &ArgMatches, variables: &Variables) -> Result<Option<PathBuf>, Error> {
    let variable = |name: &str| {
        variables
            .options
            .iter()
            .find(|(whole, _)| whole.strip_prefix(PREFIX) == Some(name))
            .map(|(_, value)| value)
    };
    if typed.get_flag("no_config") {
        return Ok(None);
    }
    if let Some(path) = typed.get_one::<PathBuf>("config") {
        return Ok(Some(path.clone()));
    }
    if let Some(value) = variable("NO_CONFIG") {
        let off = switch(value).ok_or_else(|| no_switch(&Origin::Variable(format!("{PREFIX}NO_CONFIG"))))?;
        if off {
            return Ok(None);
        }
    }
    Ok(variable("CONFIG").map(PathBuf::from).or_else(nearest))
}

/// The file in the current folder or the nearest one above, named from here where it is here.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let folder = here.ancestors().find(|folder| folder.join(FILE).is_file())?;
    Some(if folder == here { PathBuf::from(FILE) } else { folder.join(FILE) })
}

/// On or off, as variables say it.
fn switch(text: &OsStr) -> Option<bool> {
    match text.to_str()?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn no_switch(origin: &Origin) -> Error {
    Error::Usage(format!("an option is on or off: write true or false for {origin}"))
}

/// The program's options, by command.
struct Program<'a>(&'a Command);

impl<'a> Program<'a> {
    /// All commands but the one that clap adds.
    fn commands(&self) -> impl Iterator<Item = &'a Command> + use<'a> {
        self.0.get_subcommands().filter(|command| command.get_name() != "help")
    }

    /// The command of this name or alias.
    fn command(&self, name: &str) -> Option<&'a Command> {
        self.0.find_subcommand(name).filter(|command| command.get_name() != "help")
    }

    /// The options of a command that can have a default; those of the program are options of each.
    fn options(&self, command: &'a Command) -> impl Iterator<Item = &'a Arg> + use<'a> {
        let global = self.0.get_arguments().filter(|arg| arg.is_global_set());
        command.get_arguments().chain(global).filter(|arg| is_key(arg))
    }

    fn option(&self, command: &'a Command, name: &str) -> Option<&'a Arg> {
        self.options(command).find(|arg| arg.get_long() == Some(name))
    }

    /// All long names that mean something.
    fn names(&self) -> Vec<&'a str> {
        self.commands().flat_map(|command| self.options(command)).filter_map(Arg::get_long).collect()
    }

    /// The commands that have an option.
    fn owners(&self, name: &str) -> Vec<&'a str> {
        let has = |command: &&Command| self.option(command, name).is_some();
        self.commands().filter(has).map(Command::get_name).collect()
    }

    /// The defaults that variables give.
    fn variables(&self, variables: &[(String, OsString)]) -> Result<Vec<Setting>, Error> {
        let mut settings = Vec::new();
        for (whole, value) in variables {
            let option = whole.strip_prefix(PREFIX).unwrap_or(whole).to_ascii_lowercase().replace('_', "-");
            if NOT_HERE.contains(&&*option) {
                continue;
            }
            if self.owners(&option).is_empty() {
                let name =
                    |option: &str| format!("{PREFIX}{}", option.to_ascii_uppercase().replace('-', "_"));
                let nearest = like(&option, &self.names()).map(name).unwrap_or_default();
                return Err(Error::Usage(format!("unknown variable `{whole}`: did you mean `{nearest}`?")));
            }
            let origin = Origin::Variable(whole.clone());
            settings.push(Setting { option, given: Given::Text(value.clone()), origin });
        }
        Ok(settings)
    }

    /// The defaults that a file gives, table by table, if all of its keys mean something.
    fn tables(&self, file: &File) -> Result<Vec<Table>, Error> {
        let tables = file.tables(|name| self.command(name).map(|command| command.get_name().to_owned()))?;
        for table in &tables {
            for setting in &table.settings {
                let command = table.command.as_deref().and_then(|name| self.command(name));
                let owners = self.owners(&setting.option);
                let known =
                    command.map_or(!owners.is_empty(), |one| self.option(one, &setting.option).is_some());
                if !known {
                    return Err(self.unknown(setting, command, &owners));
                }
            }
        }
        Ok(tables)
    }

    /// What to say about a key that means nothing where it stands.
    fn unknown(&self, setting: &Setting, command: Option<&'a Command>, owners: &[&str]) -> Error {
        let origin = &setting.origin;
        Error::Usage(match command {
            Some(command) if !owners.is_empty() => {
                format!(
                    "{origin} is no option of `{}`, but of {}",
                    command.get_name(),
                    owners.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                )
            }
            Some(command) => {
                let names: Vec<&str> = self.options(command).filter_map(Arg::get_long).collect();
                let nearest = like(&setting.option, &names).unwrap_or_default();
                format!("unknown key {origin}: did you mean `{nearest}`?")
            }
            None => {
                let commands = self.commands().map(Command::get_name);
                let is_table = matches!(&setting.given, Given::Values(values) if values.is_empty());
                let names = if is_table { commands.collect() } else { self.names() };
                let nearest = like(&setting.option, &names).unwrap_or_default();
                format!("unknown key {origin}: did you mean `{nearest}`?")
            }
        })
    }

    /// The defaults for the command that was typed.
    fn added(&self, typed: &ArgMatches, path: Option<&Path>, variables: &Variables) -> Result<Added, Error> {
        let mut levels = vec![self.variables(&variables.options)?];
        let file = path.map(File::read).transpose()?;
        let tables = file.as_ref().map(|file| self.tables(file)).transpose()?.unwrap_or_default();
        let has_prices = file.as_ref().map(File::prices).transpose()?.flatten().is_some();
        let Some((name, matches)) = typed.subcommand() else { return Ok(Added::default()) };
        let Some(command) = self.command(name) else { return Ok(Added::default()) };
        for wanted in [Some(name), None] {
            let table = tables.iter().find(|table| table.command.as_deref() == wanted);
            levels.extend(table.map(|table| table.settings.clone()));
        }
        let mut added = self.open(command, matches, levels)?;
        if let Some(path) = path.filter(|_| has_prices && self.option(command, PRICING).is_some()) {
            // Before all other files, as later ones win.
            added.words.insert(0, word(PRICING, path.as_os_str()));
        }
        Ok(added)
    }

    /// The defaults of what is left open. The first level that has one counts, and none counts beside an option that
    /// rules it out.
    fn open(
        &self,
        command: &'a Command,
        typed: &ArgMatches,
        levels: Vec<Vec<Setting>>,
    ) -> Result<Added, Error> {
        let is_typed = |arg: &&Arg| {
            let source = typed.value_source(arg.get_id().as_str());
            source.is_some_and(|source| source != ValueSource::DefaultValue)
        };
        let mut present: Vec<&Arg> = command.get_arguments().filter(is_typed).collect();
        let mut decided: Vec<&str> = present.iter().filter_map(|arg| arg.get_long()).collect();
        let mut added = Added::default();
        for level in levels {
            let mut here = Vec::new();
            for setting in level {
                let Some(arg) = self.option(command, &setting.option) else { continue };
                let ruled_out = present.iter().any(|other| conflict(command, arg, other));
                if ruled_out || decided.contains(&&*setting.option) {
                    continue;
                }
                let words = setting.words(arg)?;
                here.push((arg, !words.is_empty()));
                added.words.extend(words);
                added.origins.push((setting.option, setting.origin));
            }
            decided.extend(here.iter().filter_map(|(arg, _)| arg.get_long()));
            present.extend(here.into_iter().filter(|(_, is_given)| *is_given).map(|(arg, _)| arg));
        }
        Ok(added)
    }

    /// Where the name of the command stands among the arguments: the first that is neither an option nor its value.
    fn position(&self, arguments: &[OsString]) -> usize {
        let takes_next = |word: &str| {
            let option = word
                .strip_prefix("--")
                .and_then(|long| self.0.get_arguments().find(|arg| arg.get_long() == Some(long)));
            option.is_some_and(|arg| arg.get_action().takes_values())
        };
        let mut at = 1;
        while let Some(word) =
            arguments.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-'))
        {
            at += if takes_next(word) { 2 } else { 1 };
        }
        at
    }
}

/// Whether an option can have a default.
fn is_key(arg: &Arg) -> bool {
    let sets = matches!(
        arg.get_action(),
        ArgAction::Set | ArgAction::Append | ArgAction::SetTrue | ArgAction::SetFalse
    );
    sets && !arg.is_hide_set() && arg.get_long().is_some_and(|long| !NOT_HERE.contains(&long))
}

/// Whether one of two options rules out the other.
fn conflict(command: &Command, one: &Arg, two: &Arg) -> bool {
    let rules_out = |one: &Arg, two: &Arg| {
        !one.is_global_set()
            && command.get_arg_conflicts_with(one).iter().any(|other| other.get_id() == two.get_id())
    };
    rules_out(one, two) || rules_out(two, one)
}

/// The name that takes the fewest changes to be made of this one.
fn like<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().min_by_key(|known| strsim::damerau_levenshtein(known, name))
}

/// An option and its value as one argument.
fn word(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("--{option}="));
    word.push(value);
    word
}

/// The prices in a text if it is a file of defaults, as a pricing file would have them.
pub(super) fn prices(path: &Path, text: &str) -> Result<Option<String>, Error> {
    let file = File::of(path, text);
    // A file of prices alone is one JSON object, and what is neither is told to be no JSON, unless its name says TOML.
    let is_named = path.extension().is_some_and(|extension| extension == "toml");
    if is_named || file.is_toml() { file.prices() } else { Ok(None) }
}

impl Setting {
    /// The words that say the same on a command line.
    fn words(&self, arg: &Arg) -> Result<Vec<OsString>, Error> {
        let is_flag = !arg.get_action().takes_values();
        let with = |value: &OsStr| word(&self.option, value);
        Ok(match &self.given {
            Given::Flag(on) if is_flag => self.flag(*on),
            Given::Text(text) if is_flag => self.flag(switch(text).ok_or_else(|| no_switch(&self.origin))?),
            Given::Values(_) if is_flag => return Err(no_switch(&self.origin)),
            Given::Flag(on) => vec![with(OsStr::new(if *on { "true" } else { "false" }))],
            Given::Text(text) => vec![with(text)],
            Given::Values(values) => values.iter().map(|value| with(&self.placed(arg, value))).collect(),
        })
    }

    fn flag(&self, on: bool) -> Vec<OsString> {
        if on { vec![OsString::from(format!("--{}", self.option))] } else { Vec::new() }
    }

    /// A path in a file is meant from the folder of that file; a format may stand before it.
    fn placed(&self, arg: &Arg, value: &OsStr) -> OsString {
        let is_path =
            matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath);
        let Origin::Key(_, file, _) = &self.origin else { return value.to_owned() };
        let folder = file.parent().unwrap_or(Path::new(""));
        match value.to_str() {
            Some(text) if is_path && text != "-" => {
                let (format, path) = super::output::format_and_path(text);
                let mut placed =
                    OsString::from(format.map(|format| format!("{format}=")).unwrap_or_default());
                placed.push(folder.join(path));
                placed
            }
            _ => value.to_owned(),
        }
    }
}
