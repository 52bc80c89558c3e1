//! Which configuration files are read, and how far each is trusted.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::ArgMatches;

use super::setting::{Origin, no_switch, switch};
use crate::{
    cli::plan::{PREFIX, Variables},
    error::Error,
};

/// The name of the file that is looked for in the current folder and above.
const FILE: &str = "ccstat.toml";

/// How far a configuration file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The user wrote it or named it: the user configuration, or the file of `--config`.
    Chosen,
    /// It was only found, and may have come with a cloned repository.
    Found,
}

/// The configuration files to read; the first that sets an option wins.
pub(super) fn files(typed: &ArgMatches, variables: &Variables) -> Result<Vec<(PathBuf, Trust)>, Error> {
    if typed.get_flag("no_config") {
        return Ok(Vec::new());
    }
    let named = typed.get_one::<PathBuf>("config").map(|path| (path.clone(), Trust::Chosen));
    // A file that was typed is read whatever the variables say.
    if is_off(variables)? {
        return Ok(named.into_iter().collect());
    }
    let named = named.or_else(|| Some((variable(variables, "CONFIG")?.into(), Trust::Chosen)));
    let project = named.or_else(|| Some((nearest()?, Trust::Found)));
    let user = variables.user_config.as_deref().filter(|path| exists(path));
    Ok(project.into_iter().chain(user.map(|path| (path.to_owned(), Trust::Chosen))).collect())
}

/// Whether the variable for `--no-config` is on.
fn is_off(variables: &Variables) -> Result<bool, Error> {
    let Some(value) = variable(variables, "NO_CONFIG") else { return Ok(false) };
    switch(value).ok_or_else(|| no_switch(&Origin::Variable(format!("{PREFIX}NO_CONFIG"))))
}

fn variable<'v>(variables: &'v Variables, name: &str) -> Option<&'v OsString> {
    let is_it = |(whole, _): &&(String, OsString)| whole.strip_prefix(PREFIX) == Some(name);
    variables.options.iter().find(is_it).map(|(_, value)| value)
}

/// The `ccstat.toml` in the current folder or in the nearest one above, with a relative path if it is here.
fn nearest() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let folder = here.ancestors().find(|folder| exists(&folder.join(FILE)))?;
    Some(if folder == here { PathBuf::from(FILE) } else { folder.join(FILE) })
}

/// Whether there is anything of this name. If it is not a regular file, that is said when it is read: gates must not be
/// passed over in silence.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
