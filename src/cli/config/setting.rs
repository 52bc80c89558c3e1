//! One default: an option, its value and its origin.

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
    /// An environment variable.
    Variable(String),
    /// A key, its file and its line.
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
    pub(super) value: SettingValue,
    pub(super) origin: Origin,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SettingValue {
    /// `true` or `false` in a file.
    Flag(bool),
    /// One or more texts in a file.
    List(Vec<OsString>),
    /// The text of a variable, which may mean on or off.
    Text(OsString),
}

impl Setting {
    /// The values to give on the command line: `[None]` for a switch that is on, `[]` for one that is off.
    pub(super) fn values(&self, arg: &Arg) -> Result<Vec<Option<OsString>>, Error> {
        let is_flag = !arg.get_action().takes_values();
        let flag = |on: bool| if on { vec![None] } else { Vec::new() };
        Ok(match &self.value {
            SettingValue::Flag(on) if is_flag => flag(*on),
            SettingValue::Text(text) if is_flag => {
                flag(parse_switch(text).ok_or_else(|| not_a_switch(&self.origin))?)
            }
            SettingValue::List(_) if is_flag => return Err(not_a_switch(&self.origin)),
            SettingValue::Flag(on) => vec![Some(OsString::from(if *on { "true" } else { "false" }))],
            SettingValue::Text(text) => vec![Some(text.clone())],
            SettingValue::List(values) => {
                values.iter().map(|value| Some(self.resolve_path(arg, value))).collect()
            }
        })
    }

    /// Makes a path relative to the folder of its file, also after `FORMAT=`. Other values are returned
    /// unchanged.
    pub(super) fn resolve_path(&self, arg: &Arg, value: &OsStr) -> OsString {
        let is_path =
            matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath);
        let Origin::Key(_, file, _) = &self.origin else { return value.to_owned() };
        let folder = file.parent().unwrap_or(Path::new(""));
        match value.to_str() {
            Some(text) if is_path && text != "-" => {
                let (format, path) = output::format_and_path(text);
                let mut resolved =
                    OsString::from(format.map(|format| format!("{format}=")).unwrap_or_default());
                resolved.push(folder.join(path));
                resolved
            }
            _ => value.to_owned(),
        }
    }
}

/// Parses the value of a variable for a switch.
pub(super) fn parse_switch(text: &OsStr) -> Option<bool> {
    match text.to_str()?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

pub(super) fn not_a_switch(origin: &Origin) -> Error {
    Error::Usage(format!("an option is on or off: write true or false for {origin}"))
}
