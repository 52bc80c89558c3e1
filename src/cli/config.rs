//! Defaults of options from `CCSTAT_*` variables, the project's `ccstat.toml` and the user configuration.
//!
//! Every option with a long name can be set; the table in `config/key.rs` says where. The command line is
//! parsed twice: first as typed, to find the options that were not given, then with the defaults of those
//! options added as arguments.

mod file;
mod find;
mod key;
mod setting;

use std::{
    borrow::Cow,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, ArgMatches, Command, error::ContextValue, parser::ValueSource};

pub(super) use self::key::pairs as keys;
use self::{
    file::{File, Table},
    find::Trust,
    key::Accepted,
    setting::{Origin, Setting, SettingValue},
};
use super::plan::{MAX_CONFIG, PREFIX, Variables, too_large};
use crate::{error::Error, report::is_slip};

/// For `fuzz/fuzz_targets/config.rs` alone: `cargo fuzz` sets this cfg, no other build does.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn check_config(text: &str) {
    file::check(text);
}

/// The option for price files. A configuration file with prices is added as one of its values.
const PRICING: &str = "pricing";

/// The command that writes an archive, and its option for the folder.
const ARCHIVE: (&str, &str) = ("archive", "to");

/// Commands that say how far back the archive reaches.
const DESCRIBING: &[&str] = &["doctor", "overview"];

/// Why the arguments cannot be used.
pub(super) enum Problem {
    /// They are invalid or ask for help; with the origins of the defaults that the error is about.
    Arguments(clap::Error, Vec<Origin>),
    /// A default is invalid.
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

/// The parsed command line, with defaults.
pub(super) struct Parsed {
    pub(super) matches: ArgMatches,
    /// Price files named by an automatically found `ccstat.toml`, or that file itself if it has prices.
    pub(super) found_prices: Vec<String>,
    /// The configuration files that were read.
    pub(super) configuration: Vec<String>,
    /// The archive that they name, for commands that describe it.
    pub(super) archive: Option<PathBuf>,
}

impl From<ArgMatches> for Parsed {
    fn from(matches: ArgMatches) -> Self {
        Self { matches, found_prices: Vec::new(), configuration: Vec::new(), archive: None }
    }
}

/// Parses the arguments together with the defaults from variables and configuration files.
pub(super) fn parse(
    mut command: Command,
    arguments: &[OsString],
    variables: &Variables,
) -> Result<Parsed, Problem> {
    let typed = command.try_get_matches_from_mut(arguments)?;
    let files = find::files(&typed, variables)?;
    if files.is_empty() && variables.options.is_empty() {
        std::mem::forget(command); // freeing each argument would only take time
        return Ok(typed.into());
    }
    let Defaults { arguments: added, origins } = Program(&command).defaults(&typed, &files, variables)?;
    let configuration: Vec<String> =
        files.iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
    let describes = typed.subcommand_name().is_some_and(|name| DESCRIBING.contains(&name));
    let archive = if describes { Program(&command).archive(&files, variables)? } else { None };
    if added.is_empty() {
        return Ok(Parsed { configuration, archive, ..typed.into() });
    }
    let is_found = |argument: &&Argument| {
        argument.option == PRICING && argument.file.is_some_and(|index| files[index].1 == Trust::Found)
    };
    let found_prices = added.iter().filter(is_found).filter_map(|argument| argument.value.as_ref());
    let found_prices = found_prices.map(|path| path.to_string_lossy().into_owned()).collect();
    let mut arguments = arguments.to_vec();
    let after = Program(&command).position(&arguments, &typed) + 1;
    arguments.splice(after..after, added.iter().map(Argument::to_os_string));
    let matches = command.try_get_matches_from_mut(arguments).map_err(|error| {
        let named = named_options(&error);
        let is_named = |(option, _): &(String, Origin)| named.contains(option);
        let origins = origins.into_iter().filter(is_named).map(|(_, origin)| origin).collect();
        Problem::Arguments(error, origins)
    })?;
    Ok(Parsed { matches, found_prices, configuration, archive })
}

/// Parses the arguments if nothing but they can set an option. `command` may lack commands that were not typed.
pub(super) fn parse_alone(command: Command, arguments: &[OsString], variables: &Variables) -> Option<Parsed> {
    if !variables.options.is_empty() {
        return None;
    }
    let typed = command.try_get_matches_from(arguments).ok()?;
    find::files(&typed, variables).ok()?.is_empty().then(|| typed.into())
}

/// Defaults as arguments to add to the command line.
#[derive(Default)]
struct Defaults {
    arguments: Vec<Argument>,
    /// Each option with its origin.
    origins: Vec<(String, Origin)>,
}

/// An option to add to the command line.
struct Argument {
    option: String,
    /// `None` for a switch.
    value: Option<OsString>,
    /// Index of its configuration file, in the order of precedence; `None` for a variable.
    file: Option<usize>,
}

impl Argument {
    /// `--option=value`, or `--option` for a switch.
    fn to_os_string(&self) -> OsString {
        let mut text = OsString::from(format!("--{}", self.option));
        if let Some(value) = &self.value {
            text.push("=");
            text.push(value);
        }
        text
    }
}

/// The settings of all variables, or of one table of a file. Earlier levels take precedence.
struct Level {
    file: Option<usize>,
    settings: Vec<Setting>,
}

/// Long names of the options that an error is about.
fn named_options(error: &clap::Error) -> Vec<String> {
    let texts = error.context().flat_map(|(_, value)| match value {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        _ => Vec::new(),
    });
    let long = |text: String| {
        let name = text.strip_prefix("--")?.split([' ', '=']).next()?;
        Some(name.to_owned())
    };
    texts.filter_map(long).collect()
}

/// The program's options, by command.
struct Program<'a>(&'a Command);

impl<'a> Program<'a> {
    /// All commands except `help`, which clap adds.
    fn commands(&self) -> impl Iterator<Item = &'a Command> + use<'a> {
        self.0.get_subcommands().filter(|command| command.get_name() != "help")
    }

    /// The command with this name or alias.
    fn command(&self, name: &str) -> Option<&'a Command> {
        self.0.find_subcommand(name).filter(|command| command.get_name() != "help")
    }

    /// The options of a command that can have a default, including global options.
    fn options(&self, command: &'a Command) -> impl Iterator<Item = &'a Arg> + use<'a> {
        let global = self.0.get_arguments().filter(|arg| arg.is_global_set());
        command.get_arguments().chain(global).filter(|arg| is_key(arg))
    }

    fn option(&self, command: &'a Command, name: &str) -> Option<&'a Arg> {
        self.options(command).find(|arg| arg.get_long() == Some(name))
    }

    /// Long names of all options that can have a default.
    fn names(&self) -> Vec<&'a str> {
        self.commands().flat_map(|command| self.options(command)).filter_map(Arg::get_long).collect()
    }

    /// Names of the commands that have this option.
    fn owners(&self, name: &str) -> Vec<&'a str> {
        let has = |command: &&Command| self.option(command, name).is_some();
        self.commands().filter(has).map(Command::get_name).collect()
    }

    /// The settings from `CCSTAT_*` variables.
    fn variables(&self, variables: &[(String, OsString)]) -> Result<Vec<Setting>, Error> {
        let mut settings = Vec::new();
        for (whole, value) in variables {
            let option = whole.strip_prefix(PREFIX).unwrap_or(whole).to_ascii_lowercase().replace('_', "-");
            if key::group(&option).is_some_and(|group| group.accepted == Accepted::Variable) {
                continue;
            }
            if self.owners(&option).is_empty() {
                let name =
                    |option: &str| format!("{PREFIX}{}", option.to_ascii_uppercase().replace('-', "_"));
                let hint = did_you_mean(closest(&option, &self.names()).map(name));
                return Err(Error::Usage(format!("unknown variable `{}`{hint}", shortened(whole))));
            }
            let origin = Origin::Variable(whole.clone());
            settings.push(Setting { option, value: SettingValue::Text(value.clone()), origin });
        }
        Ok(settings)
    }

    /// The settings of a file, table by table. Fails if a key does not exist or may not be set there.
    fn tables(&self, file: &File, trust: Trust, variables: &Variables) -> Result<Vec<Table>, Error> {
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
                if trust == Trust::Found {
                    self.check_found(setting, variables)?;
                }
            }
        }
        Ok(tables)
    }

    /// Refuses keys and paths that only a trusted file may set.
    fn check_found(&self, setting: &Setting, variables: &Variables) -> Result<(), Error> {
        let Setting { option, origin, .. } = setting;
        let group = key::group(option);
        let user = variables.user_config.as_deref().map(|path| format!("`{}`", path.display()));
        let user = user.unwrap_or_else(|| "the user configuration".to_owned());
        let elsewhere = format!("set it in {user}, or name this file with --config");
        match group.map(|group| group.accepted) {
            Some(Accepted::Anywhere) => Ok(()),
            Some(Accepted::BelowFolder) => match self.outside(setting) {
                None => Ok(()),
                Some(path) => Err(Error::Usage(format!(
                    "{origin} names a file outside the folder of this configuration file, which was found automatically; \
                     {elsewhere}: `{}`",
                    path.display()
                ))),
            },
            Some(Accepted::Trusted | Accepted::Variable | Accepted::Typed) | None => {
                let effect = group.map_or("has an unknown effect", |group| group.effect);
                Err(Error::Usage(format!(
                    "{origin} is not accepted in a configuration file that was found automatically, because it {effect}; \
                     {elsewhere}"
                )))
            }
        }
    }

    /// Returns a path of a setting that is not below the folder of its file, after following links. A path
    /// that does not exist is allowed: nothing can be read from it.
    fn outside(&self, setting: &Setting) -> Option<PathBuf> {
        let Origin::Key(_, file, _) = &setting.origin else { return None };
        let arg = self.commands().find_map(|command| self.option(command, &setting.option))?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().ok();
        let values = match &setting.value {
            SettingValue::List(values) => &values[..],
            SettingValue::Flag(_) | SettingValue::Text(_) => &[],
        };
        values.iter().map(|value| PathBuf::from(setting.resolve_path(arg, value))).find(|path| {
            path.canonicalize()
                .is_ok_and(|path| folder.as_ref().is_none_or(|folder| !path.starts_with(folder)))
        })
    }

    /// The error for a key that does not exist in its table.
    fn unknown(&self, setting: &Setting, command: Option<&'a Command>, owners: &[&str]) -> Error {
        let origin = &setting.origin;
        let names: Vec<&str> = match command {
            Some(command) if !owners.is_empty() => {
                return Error::Usage(format!(
                    "{origin} is not an option of `{}`, but of {}",
                    command.get_name(),
                    owners.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                ));
            }
            Some(command) => self.options(command).filter_map(Arg::get_long).collect(),
            None => match &setting.value {
                SettingValue::List(values) if values.is_empty() => {
                    self.commands().map(Command::get_name).collect()
                }
                SettingValue::List(_) | SettingValue::Flag(_) | SettingValue::Text(_) => self.names(),
            },
        };
        let hint = did_you_mean(closest(&setting.option, &names).map(str::to_owned));
        Error::Usage(format!("unknown key {origin}{hint}"))
    }

    /// The defaults for the command that was typed.
    fn defaults(
        &self,
        typed: &ArgMatches,
        files: &[(PathBuf, Trust)],
        variables: &Variables,
    ) -> Result<Defaults, Error> {
        let Some((name, matches)) = typed.subcommand() else { return Ok(Defaults::default()) };
        let Some(command) = self.command(name) else { return Ok(Defaults::default()) };
        let (command, matches) = innermost(command, matches);
        let mut levels = vec![Level { file: None, settings: self.variables(&variables.options)? }];
        let mut prices = Vec::new();
        for (index, (path, trust)) in files.iter().enumerate() {
            let file = File::read(path)?;
            let mut tables = self.tables(&file, *trust, variables)?;
            if file.prices()?.is_some() && self.option(command, PRICING).is_some() {
                let value = Some(path.clone().into_os_string());
                prices.push(Argument { option: PRICING.to_owned(), value, file: Some(index) });
            }
            // The table of the command overrides the keys at the top.
            for wanted in [Some(name), None] {
                let table = tables.iter_mut().find(|table| table.command.as_deref() == wanted);
                let settings = table.map(|table| std::mem::take(&mut table.settings)).unwrap_or_default();
                levels.push(Level { file: Some(index), settings });
            }
        }
        let mut defaults = self.resolve(command, matches, levels)?;
        defaults.arguments.splice(0..0, prices);
        // The last price file wins, so those of the user configuration come first and those of variables
        // last.
        defaults.arguments.sort_by_key(|one| std::cmp::Reverse(one.file.map_or(0, |index| index + 1)));
        Ok(defaults)
    }

    /// The archive that `ccstat archive` would write to.
    fn archive(&self, files: &[(PathBuf, Trust)], variables: &Variables) -> Result<Option<PathBuf>, Error> {
        let (name, option) = ARCHIVE;
        let Some(arg) = self.command(name).and_then(|command| self.option(command, option)) else {
            return Ok(None);
        };
        let mut levels = vec![self.variables(&variables.options)?];
        for (path, trust) in files {
            let tables = self.tables(&File::read(path)?, *trust, variables)?;
            let of = |wanted: Option<&str>| tables.iter().find(|table| table.command.as_deref() == wanted);
            levels
                .extend([of(Some(name)), of(None)].into_iter().flatten().map(|table| table.settings.clone()));
        }
        let setting = levels.iter().flatten().find(|setting| setting.option == option);
        let values = setting.map(|setting| setting.values(arg)).transpose()?.unwrap_or_default();
        Ok(values.into_iter().flatten().next().map(PathBuf::from))
    }

    /// The defaults of the options that were not typed. The first level that sets an option wins, and a set
    /// option excludes conflicting options of later levels.
    fn resolve(
        &self,
        command: &'a Command,
        typed: &ArgMatches,
        levels: Vec<Level>,
    ) -> Result<Defaults, Error> {
        let is_typed = |arg: &&Arg| {
            let source = typed.value_source(arg.get_id().as_str());
            source.is_some_and(|source| source != ValueSource::DefaultValue)
        };
        let mut present: Vec<&Arg> = command.get_arguments().filter(is_typed).collect();
        let mut decided: Vec<&str> = present.iter().filter_map(|arg| arg.get_long()).collect();
        let mut defaults = Defaults::default();
        for Level { file, settings } in levels {
            let mut here = Vec::new();
            for setting in settings {
                let Some(arg) = self.option(command, &setting.option) else { continue };
                let excluded = present.iter().any(|other| conflict(command, arg, other));
                if excluded || decided.contains(&&*setting.option) {
                    continue;
                }
                let values = setting.values(arg)?;
                here.push((arg, !values.is_empty()));
                let argument = |value| Argument { option: setting.option.clone(), value, file };
                defaults.arguments.extend(values.into_iter().map(argument));
                defaults.origins.push((setting.option, setting.origin));
            }
            decided.extend(here.iter().filter_map(|(arg, _)| arg.get_long()));
            present.extend(here.into_iter().filter(|(_, is_set)| *is_set).map(|(arg, _)| arg));
        }
        Ok(defaults)
    }

    /// The index of the command's name in the arguments: the first that is neither an option nor its value.
    /// For a nested command (`permissions test`), the index of the inner name.
    fn position(&self, arguments: &[OsString], typed: &ArgMatches) -> usize {
        let takes_next = |word: &str| {
            let option = word
                .strip_prefix("--")
                .and_then(|long| self.0.get_arguments().find(|arg| arg.get_long() == Some(long)));
            option.is_some_and(|arg| arg.get_action().takes_values())
        };
        let mut index = 1;
        while let Some(word) =
            arguments.get(index).and_then(|word| word.to_str()).filter(|word| word.starts_with('-'))
        {
            index += if takes_next(word) { 2 } else { 1 };
        }
        let inner = typed.subcommand().and_then(|(_, matches)| matches.subcommand_name());
        let after =
            arguments.iter().skip(index + 1).position(|word| inner.is_some_and(|inner| word == inner));
        after.map_or(index, |after| index + 1 + after)
    }
}

/// The nested command that was typed, or the command itself.
fn innermost<'c, 'm>(command: &'c Command, matches: &'m ArgMatches) -> (&'c Command, &'m ArgMatches) {
    let inner = matches.subcommand();
    let found = inner.and_then(|(name, below)| Some((command.find_subcommand(name)?, below)));
    found.unwrap_or((command, matches))
}

/// Whether an option can have a default.
fn is_key(arg: &Arg) -> bool {
    let sets = matches!(
        arg.get_action(),
        ArgAction::Set | ArgAction::Append | ArgAction::SetTrue | ArgAction::SetFalse
    );
    // An option that is missing in the table is a key too, but not accepted in an automatically found file.
    let is_listed = |long: &str| key::group(long).is_none_or(|group| group.accepted.is_key());
    // The formats of traces are not those of reports.
    let is_own = arg.get_id() == super::trace::FORMAT;
    sets && !is_own && !arg.is_hide_set() && arg.get_long().is_some_and(is_listed)
}

/// Whether two options exclude each other.
fn conflict(command: &Command, one: &Arg, two: &Arg) -> bool {
    let excludes = |one: &Arg, two: &Arg| {
        !one.is_global_set()
            && command.get_arg_conflicts_with(one).iter().any(|other| other.get_id() == two.get_id())
    };
    excludes(one, two) || excludes(two, one)
}

/// Maximum characters of a name in errors and comparisons: a file may have names of any length.
const MAX_NAME: usize = 64;

/// Truncates a name to [`MAX_NAME`].
fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}

/// The name that the given one is a misspelling of.
pub(super) fn closest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let near = names.iter().copied().filter(|known| is_slip(name, known));
    near.min_by_key(|known| strsim::damerau_levenshtein(known, name))
}

fn did_you_mean(name: Option<String>) -> String {
    name.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
}

/// The prices of a configuration file, in the format of a price file. `None` if it has none or is not a
/// configuration file.
pub(super) fn prices(path: &Path, text: &str) -> Result<Option<String>, Error> {
    let file = File::of(path, text);
    // A price file is a JSON object. Any other text is reported as invalid JSON, unless its name ends in
    // `.toml`.
    let is_named = path.extension().is_some_and(|extension| extension == "toml");
    if !is_named && (text.len() > MAX_CONFIG || !file.is_toml()) {
        return Ok(None);
    }
    if text.len() > MAX_CONFIG {
        return Err(Error::Open { path: path.to_owned(), source: too_large(MAX_CONFIG) });
    }
    file.prices()
}
