//! One default: which option, its value, and where it comes from.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

use clap::{Arg, ValueHint};

use super::shortened;
use crate::{cli::output, error::Error};

/// The origin of a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Origin {
    /// A variable of this name.
    Variable(String),
    /// A key, in this file and line.
    Key(String, PathBuf, usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Key(key, file, line) => {
                write!(f, "`{}` in `{}`, line {line}", shortened(key), file.display())
            }
        }
    }
}

/// One default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Long name of the option.
    pub(super) option: String,
    /// Its value.
    pub(super) given: Given,
    /// Its origin.
    pub(super) origin: Origin,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// On or off.
    Flag(bool),
    /// A text, or several.
    Values(Vec<OsString>),
    /// A text that may mean on or off, as variables have no types.
    Text(OsString),
}

impl Setting {
    /// The values that say the same on a command line: `None` for a switch that is on, nothing for one that is off.
    pub(super) fn values(&self, arg: &Arg) -> Result<Vec<Option<OsString>>, Error> {
        let is_flag = !arg.get_action().takes_values();
        let flag = |on: bool| if on { vec![None] } else { Vec::new() };
        Ok(match &self.given {
            Given::Flag(on) if is_flag => flag(*on),
            Given::Text(text) if is_flag => flag(switch(text).ok_or_else(|| no_switch(&self.origin))?),
            Given::Values(_) if is_flag => return Err(no_switch(&self.origin)),
            Given::Flag(on) => vec![Some(OsString::from(if *on { "true" } else { "false" }))],
            Given::Text(text) => vec![Some(text.clone())],
            Given::Values(values) => values.iter().map(|value| Some(self.placed(arg, value))).collect(),
        })
    }

    /// A path in a file is meant from the folder of that file; a format may stand before it.
    pub(super) fn placed(&self, arg: &Arg, value: &OsStr) -> OsString {
        let is_path =
            matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath);
        let Origin::Key(_, file, _) = &self.origin else { return value.to_owned() };
        let folder = file.parent().unwrap_or(Path::new(""));
        match value.to_str() {
            Some(text) if is_path && text != "-" => {
                let (format, path) = output::format_and_path(text);
                let mut placed =
                    OsString::from(format.map(|format| format!("{format}=")).unwrap_or_default());
                placed.push(folder.join(path));
                placed
            }
            _ => value.to_owned(),
        }
    }
}

/// On or off, as variables say it.
pub(super) fn switch(text: &OsStr) -> Option<bool> {
    match text.to_str()?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

pub(super) fn no_switch(origin: &Origin) -> Error {
    Error::Usage(format!("an option is on or off: write true or false for {origin}"))
}
