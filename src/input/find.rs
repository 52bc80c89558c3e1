//! Finds the logs to read: files, folders, patterns that the shell did not expand, and saved sessions.

mod changed;

use std::{
    collections::HashSet,
    ffi::OsStr,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use globset::GlobBuilder;
use walkdir::{DirEntry, WalkDir};

use super::{archive, copies};
pub use changed::find_changed;

/// A file or stream to read records from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file or stream to read.
    pub origin: Origin,
    /// Whether the content has to be checked first: a `.json` file found in a folder is a log only if it
    /// begins with a record.
    pub unverified: bool,
    /// The machine that wrote it, if it is or was archived.
    pub machine: Option<Arc<str>>,
}

/// A file or standard input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Standard input.
    Stdin,
    File(PathBuf),
}

impl Source {
    /// The name in reports.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::Stdin => "-".to_owned(),
            Origin::File(path) => display_name(path),
        }
    }
}

/// A path as text. Bytes that are not UTF-8 are escaped, so that two different names never look the same. On
/// Windows all separators are backslashes, also those that were typed as slashes.
fn display_name(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    // After this prefix a slash is part of a name.
    if cfg!(windows) && !text.starts_with(r"\\?\") {
        return text.replace('/', r"\");
    }
    text
}

/// The environment variables that say where sessions are saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The value of `CLAUDE_CONFIG_DIR`: folders separated by commas.
    pub config_dir: Option<String>,
    /// The home folder.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// The folders of saved sessions that exist.
    pub fn saved_sessions(&self) -> Vec<PathBuf> {
        self.places().into_iter().filter(|folder| folder.is_dir()).collect()
    }

    /// The folders where saved sessions are looked for, whether or not they exist.
    pub fn places(&self) -> Vec<PathBuf> {
        let configured = self.config_dir.as_deref().filter(|list| !list.trim().is_empty());
        match configured {
            Some(list) => list
                .split(',')
                .map(str::trim)
                .filter(|entry| !entry.is_empty())
                .map(projects_folder)
                .collect(),
            None => {
                let below = |parts: &str| self.home.as_ref().map(|home| home.join(parts));
                [below(".config/claude/projects"), below(".claude/projects")].into_iter().flatten().collect()
            }
        }
    }
}

/// The projects folder of an entry of `CLAUDE_CONFIG_DIR`, which may name the config folder or its
/// `projects/`.
fn projects_folder(entry: &str) -> PathBuf {
    let entry = Path::new(entry);
    if entry.file_name() == Some(OsStr::new("projects")) { entry.to_owned() } else { entry.join("projects") }
}

/// The files and folders to search for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roots {
    /// The arguments: `-`, files, folders, patterns.
    Paths(Vec<PathBuf>),
    /// The folders of saved sessions.
    SavedSessions(Environment),
}

/// The result of [`find`].
#[derive(Debug, Default)]
pub struct Search {
    /// The sources, sorted by name, without duplicates.
    pub sources: Vec<Source>,
    /// Arguments that could not be read or matched nothing.
    pub errors: Vec<FindError>,
    /// Whether a link was followed. Then a file may have two names.
    linked: bool,
}

/// An argument that could not be read or matched nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// A file or folder that cannot be read.
    #[error("cannot read `{}`: {source}", display_name(path))]
    Unreadable {
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A folder without logs.
    #[error(
        "no logs below `{}`: looked for .jsonl, .ndjson and .json, also with .gz or .zst",
        display_name(path)
    )]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// A pattern that matches nothing.
    #[error("no file matches `{}`", display_name(path))]
    NoMatch {
        /// The pattern.
        path: PathBuf,
    },
    /// An invalid pattern.
    #[error("`{}` is neither a file nor a pattern: {reason}", display_name(path))]
    BadPattern {
        /// The pattern.
        path: PathBuf,
        reason: String,
    },
}

/// Finds the sources below the roots.
pub fn find(wanted: &Roots) -> Search {
    let mut search = Search::default();
    match wanted {
        Roots::Paths(paths) => paths.iter().for_each(|path| search.add_named(path)),
        Roots::SavedSessions(environment) => {
            environment.saved_sessions().iter().for_each(|folder| search.add_folder(folder))
        }
    }
    search.settle(matches!(wanted, Roots::Paths(paths) if paths.len() == 1));
    search
}

/// A byte string that sorts as the origin does. Comparing paths parses both of them each time: sorting ten
/// thousand took as long as opening them.
fn sort_key(origin: &Origin) -> Vec<u8> {
    let Origin::File(path) = origin else { return Vec::new() };
    let mut key = Vec::with_capacity(path.as_os_str().len() + 16);
    for component in path.components() {
        let (rank, name) = match component {
            Component::Prefix(prefix) => (1, prefix.as_os_str()),
            Component::RootDir => (2, OsStr::new("")),
            Component::CurDir => (3, OsStr::new("")),
            Component::ParentDir => (4, OsStr::new("")),
            Component::Normal(name) => (5, name),
        };
        key.push(rank);
        key.extend(name.as_encoded_bytes());
        key.push(0); // no name contains 0, and 0 sorts before every byte of a longer name
    }
    key
}

impl Search {
    /// The sources whose index is chosen, in the same order and without the errors.
    pub fn some(&self, chosen: impl Fn(usize) -> bool) -> Self {
        let sources = self.sources.iter().enumerate().filter(|&(at, _)| chosen(at));
        let sources = sources.map(|(_, source)| source.clone()).collect();
        Self { sources, errors: Vec::new(), linked: self.linked }
    }

    /// Sorts the sources and keeps each file once. `named_once` if no file can be found twice without a link.
    fn settle(&mut self, named_once: bool) {
        self.sources.sort_by_cached_key(|source| sort_key(&source.origin));
        self.sources.dedup_by(|one, two| one.origin == two.origin);
        if !named_once || self.linked {
            self.remove_aliases();
        }
        copies::settle(&mut self.sources);
    }

    /// Keeps each file once, even if it was named twice or reached through a link. Only called if that can
    /// happen: canonicalizing ten thousand paths takes longer than reading the files.
    fn remove_aliases(&mut self) {
        let mut seen = HashSet::new();
        self.sources.retain(|source| match &source.origin {
            Origin::Stdin => true,
            Origin::File(path) => seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())),
        });
    }

    fn add_named(&mut self, path: &Path) {
        if path == Path::new("-") {
            return self.sources.push(Source { origin: Origin::Stdin, unverified: false, machine: None });
        }
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => self.add_folder(path),
            Ok(_) => self.add_file(path.to_owned(), false),
            Err(_) if is_pattern(path) => self.add_matches(path),
            Err(source) => self.unreadable(path, source),
        }
    }

    fn unreadable(&mut self, path: &Path, source: std::io::Error) {
        self.errors.push(FindError::Unreadable { path: path.to_owned(), source });
    }

    fn add_file(&mut self, path: PathBuf, unverified: bool) {
        self.sources.push(Source { origin: Origin::File(path), unverified, machine: None });
    }

    fn add_folder(&mut self, folder: &Path) {
        let before = (self.sources.len(), self.errors.len());
        self.walk(folder, |_| ());
        if (self.sources.len(), self.errors.len()) == before {
            self.errors.push(FindError::Empty { path: folder.to_owned() });
        }
    }

    /// Adds the logs below a folder, or one that is a log itself. Shows each to `visit`.
    fn walk(&mut self, folder: &Path, mut visit: impl FnMut(&DirEntry)) {
        let walk = WalkDir::new(folder).follow_links(true);
        for entry in walk.into_iter().filter_entry(|entry| !is_tool_results(entry)) {
            self.linked |= entry.as_ref().is_ok_and(DirEntry::path_is_symlink);
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    if let Some(unverified) = classify_name(entry.file_name()) {
                        visit(&entry);
                        self.add_file(entry.into_path(), unverified);
                    }
                }
                Ok(_) => {}
                Err(error) => self.walk_error(folder, error),
            }
        }
    }

    fn walk_error(&mut self, folder: &Path, error: walkdir::Error) {
        if error.loop_ancestor().is_some() {
            return; // a link to a parent folder: its content is found without the link
        }
        let path = error.path().unwrap_or(folder).to_owned();
        if path.is_symlink() && path.file_name().is_none_or(|name| classify_name(name).is_none()) {
            return; // a dangling or circular link that is not named like a log
        }
        let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("cannot be searched"));
        self.unreadable(&path, source);
    }

    /// Adds the matches of a pattern that the shell did not expand. A folder that matches is searched like a
    /// folder argument.
    fn add_matches(&mut self, pattern: &Path) {
        let text = pattern.to_string_lossy();
        let glob = match GlobBuilder::new(&text).literal_separator(true).build() {
            Ok(glob) => glob.compile_matcher(),
            Err(error) => {
                let reason = error.kind().to_string();
                return self.errors.push(FindError::BadPattern { path: pattern.to_owned(), reason });
            }
        };
        let before = (self.sources.len(), self.errors.len());
        let root: PathBuf = pattern.components().take_while(|part| !is_pattern(Path::new(part))).collect();
        let walked = if root.as_os_str().is_empty() { Path::new(".") } else { &root };
        let max_depth = if text.contains("**") {
            usize::MAX
        } else {
            pattern.components().count() - root.components().count()
        };
        for entry in
            WalkDir::new(walked).max_depth(max_depth).follow_links(true).into_iter().filter_map(Result::ok)
        {
            let path =
                if root.as_os_str().is_empty() { strip_current_dir(entry.path()) } else { entry.path() };
            if !glob.is_match(path) {
                continue;
            }
            match entry.file_type() {
                kind if kind.is_dir() => self.add_folder(path),
                kind if kind.is_file() => self.add_file(path.to_owned(), false),
                _ => {} // a pipe could block forever: it is read only if it is an argument itself
            }
        }
        if (self.sources.len(), self.errors.len()) == before {
            self.errors.push(FindError::NoMatch { path: pattern.to_owned() });
        }
    }
}

fn strip_current_dir(path: &Path) -> &Path {
    path.strip_prefix(Component::CurDir).unwrap_or(path)
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Returns whether this is the folder where Claude Code saves large tool outputs, which are not records.
fn is_tool_results(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_type().is_dir() && entry.file_name() == OsStr::new("tool-results")
}

/// Returns whether a file in a folder may be a log by its name: `None` if not, `Some(true)` if its content
/// must be checked.
fn classify_name(name: &OsStr) -> Option<bool> {
    let name = name.to_string_lossy();
    if name == archive::MARKER {
        return None;
    }
    let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    if plain.ends_with(".jsonl") || plain.ends_with(".ndjson") {
        return Some(false);
    }
    (plain.ends_with(".json") && !plain.ends_with(".meta.json")).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_recognized_by_their_names() {
        let name = |name: &str| classify_name(OsStr::new(name));
        assert_eq!(name("a.jsonl"), Some(false));
        assert_eq!(name("a.ndjson.zst"), Some(false));
        assert_eq!(name("a.json.gz"), Some(true));
        assert_eq!(name("agent-a1.meta.json"), None);
        assert_eq!(name("notes.txt"), None);
        assert_eq!(name("a.gz"), None);
    }

    #[test]
    fn sort_keys_order_sources_like_their_paths() {
        let names =
            ["-", "a", "a-b", "a.b", "a/b", "a/b/c", "a b", "b", "..", "../a", ".", "./a", "é", "Z", "~"];
        let below = ["", "/", "x/", "/-/"].map(|folder| names.map(|name| format!("{folder}{name}")));
        let files = below.iter().flatten().map(|path| Origin::File(path.into()));
        let all: Vec<Origin> = files.chain([Origin::Stdin, Origin::File("/".into())]).collect();
        for one in &all {
            for two in &all {
                assert_eq!(sort_key(one).cmp(&sort_key(two)), one.cmp(two), "{one:?} {two:?}");
            }
        }
    }

    #[cfg(windows)]
    #[test]
    fn separators_are_not_mixed() {
        let saved = Path::new(r"C:\Users\me").join(".config/claude/projects");
        assert_eq!(display_name(&saved), r"C:\Users\me\.config\claude\projects");
        assert_eq!(display_name(&Path::new("logs/deep").join("a.jsonl")), r"logs\deep\a.jsonl");
        assert_eq!(display_name(Path::new("//server/share").join("a").as_path()), r"\\server\share\a");
        assert_eq!(display_name(Path::new(r"\\?\C:\a/b")), r"\\?\C:\a/b");
    }

    #[test]
    fn the_config_folder_may_be_named_with_or_without_projects() {
        assert_eq!(projects_folder("/x/claude"), Path::new("/x/claude/projects"));
        assert_eq!(projects_folder("/x/claude/projects"), Path::new("/x/claude/projects"));
    }
}
