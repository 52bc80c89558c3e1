//! Keeps compressed copies of logs, which outlive them.
//!
//! An archive is a folder: a file that marks it, and a folder for each machine with one file for each log. Files
//! are described in [`input::archive`](crate::input::archive). A log that has grown gets a further frame, and a
//! log that was rewritten gets a further file, so nothing is ever removed. Which file belongs to a log is decided
//! by content: it is the one that holds a beginning of the log.
//!
//! A lean archive holds lean logs (`lean.rs`). A lean log is a few hundredths of the original, so it is written anew when the
//! original has grown, and then replaces the old one as a whole.

mod file;
mod lean;
mod state;

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

pub use file::{Outcome, Update};
#[doc(hidden)]
pub use lean::{lean_log, lean_record};
pub use state::{Archive, OpenError};

use crate::input::{Environment, Origin, Roots, Source};

/// The path of each source in the folder of its machine; `None` for standard input.
pub fn relative_paths(roots: &Roots, sources: &[Source]) -> Vec<Option<PathBuf>> {
    let folders = match roots {
        Roots::Paths(paths) => paths.iter().filter(|path| path.is_dir()).cloned().collect(),
        Roots::SavedSessions(environment) => Environment::saved_sessions(environment),
    };
    let relative = |source: &Source| match &source.origin {
        Origin::Stdin => None,
        Origin::File(path) => Some(with_endings(&below(&folders, path))),
    };
    sources.iter().map(relative).collect()
}

/// A path below the folder it was found in, beginning with the name of that folder. A file that was named itself
/// keeps the folders of its name.
fn below(folders: &[PathBuf], path: &Path) -> PathBuf {
    let folder = folders
        .iter()
        .filter(|folder| path.starts_with(folder))
        .max_by_key(|folder| folder.as_os_str().len());
    if let Some(folder) = folder
        && let Ok(rest) = path.strip_prefix(folder)
    {
        let real = folder.canonicalize();
        let name = folder.file_name().or_else(|| real.as_deref().ok()?.file_name());
        return name.map_or_else(PathBuf::new, PathBuf::from).join(plain(rest));
    }
    // On Windows, a path with a root but without a drive is not absolute.
    if path.has_root() || path.is_absolute() {
        path.file_name().map_or_else(PathBuf::new, PathBuf::from)
    } else {
        plain(path)
    }
}

/// The names in a path, without `.`, `..` and roots.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// The same path as a compressed file of lines.
fn with_endings(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    for ending in ["gz", "zst"] {
        if Path::new(&name).extension().is_some_and(|own| own == ending) {
            name = Path::new(&name).file_stem().unwrap_or_default().to_owned();
        }
    }
    if !Path::new(&name).extension().is_some_and(|own| own == "jsonl" || own == "ndjson") {
        name.push(".jsonl");
    }
    name.push(".zst");
    path.with_file_name(name)
}

/// Creates a folder and those above it, readable by the owner alone.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Options for a new file that only the owner can read.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_path_below_the_folder_it_was_found_in() {
        let folders = [PathBuf::from("/home/dev/.claude/projects"), PathBuf::from("logs")];
        let path = |path: &str| below(&folders, Path::new(path));
        assert_eq!(path("/home/dev/.claude/projects/-x/a.jsonl"), Path::new("projects/-x/a.jsonl"));
        assert_eq!(path("logs/a.jsonl"), Path::new("logs/a.jsonl"));
        assert_eq!(path("../other/./a.jsonl"), Path::new("other/a.jsonl"));
        assert_eq!(path("/var/log/run.jsonl"), Path::new("run.jsonl"));
    }

    #[test]
    fn every_archived_log_is_found_by_its_ending() {
        assert_eq!(with_endings(Path::new("a/b.jsonl")), Path::new("a/b.jsonl.zst"));
        let name = |name: &str| with_endings(Path::new(name)).display().to_string();
        assert_eq!(name("b.ndjson.gz"), "b.ndjson.zst");
        assert_eq!(name("b.jsonl.zst"), "b.jsonl.zst");
        assert_eq!(name("run.json"), "run.json.jsonl.zst");
        assert_eq!(name("log"), "log.jsonl.zst");
    }
}
