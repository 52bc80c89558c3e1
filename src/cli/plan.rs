//! Resolves arguments with the environment: sources, prices, width and colours.

#[cfg(unix)]
use std::os::fd::AsFd as AsStream;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsStream;
use std::{
    ffi::OsString,
    io::{self, BufRead, IsTerminal, Read},
    path::{Path, PathBuf},
};

use clap::ColorChoice;

use super::{args, config, hint::CommandHints, stdin};
pub(super) use crate::measure::calendar::parse_duration;
use crate::{
    error::Error,
    input::{self, Environment, Roots},
    measure::Prices,
    render::Style,
};

/// Prefix of the variables that set options.
pub(super) const PREFIX: &str = "CCSTAT_";

/// The environment, and settings derived from it and from the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    /// The value of `--color`.
    pub(super) color: ColorChoice,
    config_dir: Option<String>,
    home: Option<PathBuf>,
    columns: Option<u16>,
    no_color: bool,
    force_color: bool,
    /// The file from which GitHub Actions reads the summary of a step.
    pub(super) github_summary: Option<PathBuf>,
    /// The file from which it reads the outputs of a step.
    pub(super) github_output: Option<PathBuf>,
    /// The typed arguments, for the commands that hints suggest.
    pub(super) hints: CommandHints,
    /// Variables that set options, by their full names.
    pub(super) options: Vec<(String, OsString)>,
    /// Path of the user configuration, whether or not it exists.
    pub(super) user_config: Option<PathBuf>,
    /// Price files from a `ccstat.toml` that was found automatically.
    pub(super) found_prices: Vec<String>,
    /// The configuration files that were read.
    pub(super) configuration: Vec<String>,
    /// The archive that they name, for commands that describe it.
    pub(super) archive: Option<PathBuf>,
    /// Whether `TZ` is set.
    pub(super) has_zone: bool,
    dumb: bool,
}

impl Variables {
    /// Reads the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(super) fn read() -> Self {
        let get = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| get(name).and_then(|value: OsString| value.into_string().ok());
        let option = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX))?;
            (!value.is_empty()).then_some((name, value))
        };
        let home = std::env::home_dir();
        let forced = |name: &str| text(name).is_some_and(|value| value != "0");
        Self {
            color: ColorChoice::Auto,
            config_dir: text("CLAUDE_CONFIG_DIR"),
            user_config: user_config(&get, home.as_deref()),
            found_prices: Vec::new(),
            configuration: Vec::new(),
            archive: None,
            has_zone: std::env::var_os("TZ").is_some(),
            home,
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()),
            no_color: get("NO_COLOR").is_some(),
            force_color: forced("FORCE_COLOR") || forced("CLICOLOR_FORCE"),
            github_summary: get("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            github_output: get("GITHUB_OUTPUT").map(PathBuf::from),
            hints: CommandHints::default(),
            options: std::env::vars_os().filter_map(option).collect(),
            dumb: text("TERM").is_none_or(|name| name == "dumb"),
        }
    }

    /// Whether standard output is a terminal with cursor control.
    pub(super) fn can_draw(&self) -> bool {
        io::stdout().is_terminal() && !self.dumb
    }

    /// Width and colour of standard output. The width of a terminal is its current one.
    pub(super) fn style(&self) -> Style {
        self.style_of(&io::stdout())
    }

    /// Width and colour of this stream.
    pub(super) fn style_of(&self, stream: &(impl IsTerminal + AsStream)) -> Style {
        let terminal = stream.is_terminal();
        let color = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if self.no_color => false,
            ColorChoice::Auto => self.force_color || terminal,
        };
        let terminal_width =
            || terminal.then(|| terminal_size::terminal_size_of(stream)).flatten().map(|(width, _)| width.0);
        // Tables need at least forty columns. A narrower terminal truncates them.
        Style { width: self.columns.or_else(terminal_width).map(|width| width.max(40)), color }
    }

    /// The home folder, if its path is valid UTF-8.
    pub(super) fn home(&self) -> Option<&str> {
        self.home.as_deref().and_then(Path::to_str)
    }

    pub(super) fn environment(&self) -> Environment {
        Environment { config_dir: self.config_dir.clone(), home: self.home.clone() }
    }
}

/// The path of the user configuration in the system's folder for such files. A variable with a relative path
/// is ignored, as the XDG specification requires.
fn user_config(get: &dyn Fn(&str) -> Option<OsString>, home: Option<&Path>) -> Option<PathBuf> {
    let folder = |name: &str| get(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let below_home = |folder: &str| home.map(|home| home.join(folder));
    let folder = if cfg!(windows) {
        folder("APPDATA")
    } else if cfg!(target_os = "macos") {
        below_home("Library/Application Support")
    } else {
        folder("XDG_CONFIG_HOME").or_else(|| below_home(".config"))
    };
    Some(folder?.join("ccstat").join("config.toml"))
}

/// Returns the sources of a command: the given paths, or else standard input if it can be read, or else the
/// saved sessions.
pub(super) fn wanted(input: &args::Input, variables: &Variables) -> Result<Roots, Error> {
    let mut paths = input.paths.clone();
    if let Some(list) = &input.files_from {
        paths.extend(listed(list)?);
    } else if paths.is_empty() && stdin::is_input() {
        paths.push(PathBuf::from("-"));
    }
    if paths.is_empty() && input.files_from.is_none() {
        return Ok(Roots::SavedSessions(variables.environment()));
    }
    Ok(Roots::Paths(paths))
}

/// Maximum bytes of a path in a list: more than any system allows, so that an endless line is soon an error.
const MAX_PATH: usize = 64 << 10;

/// Reads a list of paths, one per line, from a file, a pipe or a device. Empty lines are skipped.
fn listed(list: &Path) -> Result<Vec<PathBuf>, Error> {
    let open = |source| Error::Open { path: list.to_owned(), source };
    let reader: Box<dyn Read> =
        if list == Path::new("-") { Box::new(io::stdin()) } else { Box::new(open_list(list).map_err(open)?) };
    let mut reader = io::BufReader::new(reader);
    let (mut paths, mut line, mut number) = (Vec::new(), Vec::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        // One byte more than allowed, and the line end.
        let limit = MAX_PATH as u64 + 2;
        if reader.by_ref().take(limit).read_until(b'\n', &mut line).map_err(open)? == 0 {
            return Ok(paths);
        }
        let path = line.strip_suffix(b"\n").unwrap_or(&line);
        let path = path.strip_suffix(b"\r").unwrap_or(path);
        let wrong = match () {
            () if path.contains(&0) => "contains a NUL byte",
            () if path.len() > MAX_PATH => "is longer than 64 KiB",
            () if path.is_empty() => continue,
            () => {
                paths.push(path_of(path));
                continue;
            }
        };
        let list = list.display();
        return Err(Error::Usage(format!("line {number} of `{list}` {wrong}: give one path per line")));
    }
}

/// Keeps the bytes: names need not be UTF-8.
#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The built-in prices, overridden by the files of `--pricing`.
pub(super) fn prices(pricing: &args::Pricing) -> Result<Prices, Error> {
    pricing.pricing.iter().try_fold(Prices::built_in(), |prices, path| {
        let text = read_text(path, MAX_PRICING)?;
        // A `ccstat.toml` holds prices among other settings.
        let inline = config::prices(path, &text)?;
        Ok(prices.with_file(&path.to_string_lossy(), inline.as_deref().unwrap_or(&text))?)
    })
}

/// Maximum bytes of a configuration or settings file. Real ones have a few kilobytes.
pub(super) const MAX_CONFIG: usize = 1 << 20;

/// Maximum bytes of a price file: the widespread `model_prices` map had 1.6 MB in 2026.
const MAX_PRICING: usize = 16 << 20;

/// Reads a configuration, settings or price file. It must be a regular file of at most `limit` bytes: a
/// device would be read until memory runs out, and a pipe would block.
pub(super) fn read_text(path: &Path, limit: usize) -> Result<String, Error> {
    let open = |source| Error::Open { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = input::open_regular(path).map_err(open)?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(open)?;
    if bytes.len() > limit {
        return Err(open(too_large(limit)));
    }
    String::from_utf8(bytes)
        .map_err(|error| open(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))
}

/// The error for a file of more than `limit` bytes.
pub(super) fn too_large(limit: usize) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("is larger than {} MiB", limit >> 20))
}

#[expect(clippy::disallowed_methods, reason = "a list of paths is not a log, and may be a pipe")]
fn open_list(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::open(path)
}
