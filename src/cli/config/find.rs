//! Finds the configuration files to read, and decides how far each is trusted.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::ArgMatches;

use super::setting::{Origin, not_a_switch, parse_switch};
use crate::{
    cli::plan::{PREFIX, Variables},
    error::Error,
};

/// Name of the file that is searched for in the current folder and above.
const FILE: &str = "ccstat.toml";

/// How far a configuration file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The user wrote it or named it: the user configuration, or the file of `--config`.
    Chosen,
    /// It was found automatically, and may have come with a cloned repository.
    Found,
}

/// The configuration files to read. The first one that sets an option wins.
pub(super) fn files(typed: &ArgMatches, variables: &Variables) -> Result<Vec<(PathBuf, Trust)>, Error> {
    if typed.get_flag("no_config") {
        return Ok(Vec::new());
    }
    let named = typed.get_one::<PathBuf>("config").map(|path| (path.clone(), Trust::Chosen));
    // A file given with --config is read even if `CCSTAT_NO_CONFIG` is on.
    if is_off(variables)? {
        return Ok(named.into_iter().collect());
    }
    let named = named.or_else(|| Some((variable(variables, "CONFIG")?.into(), Trust::Chosen)));
    let project = named.or_else(|| Some((nearest()?, Trust::Found)));
    let user = variables.user_config.as_deref().filter(|path| exists(path));
    Ok(project.into_iter().chain(user.map(|path| (path.to_owned(), Trust::Chosen))).collect())
}

/// Whether `CCSTAT_NO_CONFIG` is on.
fn is_off(variables: &Variables) -> Result<bool, Error> {
    let Some(value) = variable(variables, "NO_CONFIG") else { return Ok(false) };
    parse_switch(value).ok_or_else(|| not_a_switch(&Origin::Variable(format!("{PREFIX}NO_CONFIG"))))
}

fn variable<'v>(variables: &'v Variables, name: &str) -> Option<&'v OsString> {
    let has_name = |(whole, _): &&(String, OsString)| whole.strip_prefix(PREFIX) == Some(name);
    variables.options.iter().find(has_name).map(|(_, value)| value)
}

/// The `ccstat.toml` in the current folder or the nearest one above. The path is relative if it is in the
/// current folder.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let folder = here.ancestors().find(|folder| exists(&folder.join(FILE)))?;
    Some(if folder == here { PathBuf::from(FILE) } else { folder.join(FILE) })
}

/// Whether anything with this name exists. If it is not a regular file, reading it fails: its gates must not
/// be skipped silently.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
