//! What the arguments mean here: which sources, how wide, in which colours.

use std::{
    ffi::OsString,
    io::{self, BufRead, IsTerminal, Read},
    os::fd::AsFd,
    path::{Path, PathBuf},
};

use clap::ColorChoice;

use super::{args, config, stdin};
pub(super) use crate::measure::calendar::duration;
use crate::{
    error::Error,
    input::{Environment, Wanted},
    measure::Prices,
    render::Style,
};

/// How the names of variables begin that stand for options.
pub(super) const PREFIX: &str = "CCSTAT_";

/// The variables that are obeyed.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    /// What was said of colours.
    pub(super) color: ColorChoice,
    config_dir: Option<String>,
    home: Option<PathBuf>,
    columns: Option<u16>,
    no_color: bool,
    force_color: bool,
    /// Where GitHub Actions reads the summary of a step.
    pub(super) github_summary: Option<PathBuf>,
    /// Where it reads the outputs of a step.
    pub(super) github_output: Option<PathBuf>,
    /// Those that stand for options, by their whole names.
    pub(super) options: Vec<(String, OsString)>,
    dumb: bool,
}

impl Variables {
    /// Those of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that looks at the environment")]
    pub(super) fn read() -> Self {
        let get = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| get(name).and_then(|value: OsString| value.into_string().ok());
        let option = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX))?;
            (!value.is_empty()).then_some((name, value))
        };
        let forced = |name: &str| text(name).is_some_and(|value| value != "0");
        Self {
            color: ColorChoice::Auto,
            config_dir: text("CLAUDE_CONFIG_DIR"),
            home: std::env::home_dir(),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()),
            no_color: get("NO_COLOR").is_some(),
            force_color: forced("FORCE_COLOR") || forced("CLICOLOR_FORCE"),
            github_summary: get("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            github_output: get("GITHUB_OUTPUT").map(PathBuf::from),
            options: std::env::vars_os().filter_map(option).collect(),
            dumb: text("TERM").is_none_or(|name| name == "dumb"),
        }
    }

    /// Whether standard output is a screen that can be drawn on.
    pub(super) fn can_draw(&self) -> bool {
        io::stdout().is_terminal() && !self.dumb
    }

    /// How text on standard output is laid out; of a terminal, as large as it is now.
    pub(super) fn style(&self) -> Style {
        self.style_of(&io::stdout())
    }

    /// How text on this stream is laid out.
    pub(super) fn style_of(&self, stream: &(impl IsTerminal + AsFd)) -> Style {
        let terminal = stream.is_terminal();
        let color = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if self.no_color => false,
            ColorChoice::Auto => self.force_color || terminal,
        };
        let terminal_width =
            || terminal.then(|| terminal_size::terminal_size_of(stream)).flatten().map(|(width, _)| width.0);
        // Below forty columns nothing can be laid out; it is cut by the terminal then.
        Style { width: self.columns.or_else(terminal_width).map(|width| width.max(40)), color }
    }

    fn environment(&self) -> Environment {
        Environment { config_dir: self.config_dir.clone(), home: self.home.clone() }
    }
}

/// What a command reads: the paths that were given, else standard input if it is an input, else the saved sessions.
pub(super) fn wanted(input: &args::Input, variables: &Variables) -> Result<Wanted, Error> {
    let mut paths = input.paths.clone();
    if let Some(list) = &input.files_from {
        paths.extend(listed(list)?);
    } else if paths.is_empty() && stdin::is_input() {
        paths.push(PathBuf::from("-"));
    }
    if paths.is_empty() && input.files_from.is_none() {
        return Ok(Wanted::Saved(variables.environment()));
    }
    Ok(Wanted::Paths(paths))
}

/// Paths, one a line. Blank lines are passed over.
fn listed(list: &Path) -> Result<Vec<PathBuf>, Error> {
    let open = |source| Error::Open { path: list.to_owned(), source };
    let reader: Box<dyn Read> =
        if list == Path::new("-") { Box::new(io::stdin()) } else { Box::new(open_file(list).map_err(open)?) };
    let lines = io::BufReader::new(reader).split(b'\n').collect::<Result<Vec<_>, _>>().map_err(open)?;
    Ok(lines
        .into_iter()
        .map(|line| path_of(line.strip_suffix(b"\r").unwrap_or(&line)))
        .filter(|path| !path.as_os_str().is_empty())
        .collect())
}

/// The bytes of a name as they are: names need not be UTF-8.
#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The prices in force.
pub(super) fn prices(pricing: &args::Pricing) -> Result<Prices, Error> {
    pricing.pricing.iter().try_fold(Prices::built_in(), |prices, path| {
        let text = read_text(path)?;
        // The prices of a `ccstat.toml` stand there among other things.
        let inline = config::prices(path, &text)?;
        Ok(prices.with_file(&path.to_string_lossy(), inline.as_deref().unwrap_or(&text))?)
    })
}

/// The whole text of a file that holds no records.
pub(super) fn read_text(path: &Path) -> Result<String, Error> {
    let open = |source| Error::Open { path: path.to_owned(), source };
    let mut text = String::new();
    open_file(path).map_err(open)?.read_to_string(&mut text).map_err(open)?;
    Ok(text)
}

#[expect(
    clippy::disallowed_methods,
    reason = "lists, prices, settings and defaults are the files that hold no records"
)]
pub(super) fn open_file(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::open(path)
}
