//! Arguments become sources: files, folders, patterns that the shell left alone, and the saved sessions.

use std::{
    collections::HashSet,
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

use globset::GlobBuilder;
use walkdir::{DirEntry, WalkDir};

/// One place to read records from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where the bytes come from.
    pub origin: Origin,
    /// A `.json` file that was found, not named: it is a source only if it begins with a record.
    pub unverified: bool,
}

/// Where bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// How it is called in reports.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::Stdin => "-".to_owned(),
            Origin::File(path) => spelled(path),
        }
    }
}

/// A path as text. Bytes that are no UTF-8 are spelled out, so that two names that differ only there look different. On Windows
/// all separators are backslashes, also those that were typed as slashes.
fn spelled(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    // After this prefix a slash is a letter of a name.
    if cfg!(windows) && !text.starts_with(r"\\?\") {
        return text.replace('/', r"\");
    }
    text
}

/// What the environment says about where sessions are saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `CLAUDE_CONFIG_DIR`.
    pub config_dir: Option<String>,
    /// The home folder.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// The folders of saved sessions that exist.
    pub fn saved_sessions(&self) -> Vec<PathBuf> {
        let configured = self.config_dir.as_deref().filter(|list| !list.trim().is_empty());
        let folders: Vec<PathBuf> = match configured {
            Some(list) => {
                list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(projects).collect()
            }
            None => {
                let below = |parts: &str| self.home.as_ref().map(|home| home.join(parts));
                [below(".config/claude/projects"), below(".claude/projects")].into_iter().flatten().collect()
            }
        };
        folders.into_iter().filter(|folder| folder.is_dir()).collect()
    }
}

/// An entry of `CLAUDE_CONFIG_DIR` is the config folder or its `projects/`.
fn projects(entry: &str) -> PathBuf {
    let entry = Path::new(entry);
    if entry.file_name() == Some(OsStr::new("projects")) { entry.to_owned() } else { entry.join("projects") }
}

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roots {
    /// What was named: `-`, files, folders, patterns.
    Paths(Vec<PathBuf>),
    /// The saved sessions.
    SavedSessions(Environment),
}

/// What was found.
#[derive(Debug, Default)]
pub struct Search {
    /// Each source once, in the order of their names.
    pub sources: Vec<Source>,
    /// What was named and could not be had.
    pub errors: Vec<FindError>,
    /// A link was followed, so one file may have two names.
    linked: bool,
}

/// Something that was named and could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// It cannot be looked at.
    #[error("cannot read `{}`: {source}", spelled(path))]
    Unreadable {
        /// What was named.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A folder without logs.
    #[error("no logs below `{}`: looked for .jsonl, .ndjson and .json, also with .gz or .zst", spelled(path))]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// A pattern that fits nothing.
    #[error("no file matches `{}`", spelled(path))]
    NoMatch {
        /// The pattern.
        path: PathBuf,
    },
    /// A pattern that is none.
    #[error("`{}` is neither a file nor a pattern: {reason}", spelled(path))]
    BadPattern {
        /// What was named.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// Finds the sources.
pub fn find(wanted: &Roots) -> Search {
    let mut search = Search::default();
    match wanted {
        Roots::Paths(paths) => paths.iter().for_each(|path| search.named(path)),
        Roots::SavedSessions(environment) => {
            environment.saved_sessions().iter().for_each(|folder| search.folder(folder))
        }
    }
    search.sources.sort_by_cached_key(|source| order(&source.origin));
    search.sources.dedup_by(|one, two| one.origin == two.origin);
    let named_once = matches!(wanted, Roots::Paths(paths) if paths.len() == 1);
    if !named_once || search.linked {
        search.drop_other_names();
    }
    search
}

/// Bytes that compare as origins do. A path that is compared is taken apart each time, and to sort ten thousand took as long as to
/// open them.
fn order(origin: &Origin) -> Vec<u8> {
    let Origin::File(path) = origin else { return Vec::new() };
    let mut order = Vec::with_capacity(path.as_os_str().len() + 16);
    for component in path.components() {
        let (sort, name) = match component {
            Component::Prefix(prefix) => (1, prefix.as_os_str()),
            Component::RootDir => (2, OsStr::new("")),
            Component::CurDir => (3, OsStr::new("")),
            Component::ParentDir => (4, OsStr::new("")),
            Component::Normal(name) => (5, name),
        };
        order.push(sort);
        order.extend(name.as_encoded_bytes());
        order.push(0); // no name holds it, and it is below all that a longer name goes on with
    }
    order
}

impl Search {
    /// Some of the sources, chosen by index, in the same order. Says nothing of what could not be found.
    pub fn some(&self, chosen: impl Fn(usize) -> bool) -> Self {
        let sources = self.sources.iter().enumerate().filter(|&(at, _)| chosen(at));
        let sources = sources.map(|(_, source)| source.clone()).collect();
        Self { sources, errors: Vec::new(), linked: self.linked }
    }

    /// The same file by two names, or through a link, is one source. Asking for the true name of each of ten thousand
    /// files takes longer than reading them, so that is done only where it can matter.
    fn drop_other_names(&mut self) {
        let mut seen = HashSet::new();
        self.sources.retain(|source| match &source.origin {
            Origin::Stdin => true,
            Origin::File(path) => seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())),
        });
    }

    fn named(&mut self, path: &Path) {
        if path == Path::new("-") {
            return self.sources.push(Source { origin: Origin::Stdin, unverified: false });
        }
        match path.metadata() {
            Ok(about) if about.is_dir() => self.folder(path),
            Ok(_) => self.file(path.to_owned(), false),
            Err(_) if is_pattern(path) => self.pattern(path),
            Err(source) => self.errors.push(FindError::Unreadable { path: path.to_owned(), source }),
        }
    }

    fn file(&mut self, path: PathBuf, unverified: bool) {
        self.sources.push(Source { origin: Origin::File(path), unverified });
    }

    fn folder(&mut self, folder: &Path) {
        let before = (self.sources.len(), self.errors.len());
        let walk = WalkDir::new(folder).follow_links(true);
        for entry in walk.into_iter().filter_entry(|entry| !holds_results(entry)) {
            self.linked |= entry.as_ref().is_ok_and(DirEntry::path_is_symlink);
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    if let Some(unverified) = is_log_name(entry.file_name()) {
                        self.file(entry.into_path(), unverified);
                    }
                }
                Ok(_) => {}
                Err(error) => self.walk_error(folder, error),
            }
        }
        if (self.sources.len(), self.errors.len()) == before {
            self.errors.push(FindError::Empty { path: folder.to_owned() });
        }
    }

    fn walk_error(&mut self, folder: &Path, error: walkdir::Error) {
        if error.loop_ancestor().is_some() {
            return; // a link to a folder above: what it holds is found without it
        }
        let path = error.path().unwrap_or(folder).to_owned();
        if path.is_symlink() && path.file_name().is_none_or(|name| is_log_name(name).is_none()) {
            return; // a link to nowhere or to itself, and not by the name of a log: nobody misses it
        }
        let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("cannot be looked into"));
        self.errors.push(FindError::Unreadable { path, source });
    }

    /// A pattern that the shell did not expand. A folder that fits it is searched like one that was named.
    fn pattern(&mut self, pattern: &Path) {
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
        let deepest = if text.contains("**") {
            usize::MAX
        } else {
            pattern.components().count() - root.components().count()
        };
        for entry in
            WalkDir::new(walked).max_depth(deepest).follow_links(true).into_iter().filter_map(Result::ok)
        {
            let path = if root.as_os_str().is_empty() { below_here(entry.path()) } else { entry.path() };
            if !glob.is_match(path) {
                continue;
            }
            match entry.file_type() {
                kind if kind.is_dir() => self.folder(path),
                kind if kind.is_file() => self.file(path.to_owned(), false),
                _ => {} // to open a pipe that was only found could wait for ever
            }
        }
        if (self.sources.len(), self.errors.len()) == before {
            self.errors.push(FindError::NoMatch { path: pattern.to_owned() });
        }
    }
}

fn below_here(path: &Path) -> &Path {
    path.strip_prefix(Component::CurDir).unwrap_or(path)
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Large tool outputs are saved beside the sessions; they are no records.
fn holds_results(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_type().is_dir() && entry.file_name() == OsStr::new("tool-results")
}

/// Whether a file found in a folder is a log by its name, and if so, whether only its content can tell.
fn is_log_name(name: &OsStr) -> Option<bool> {
    let name = name.to_string_lossy();
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
    fn logs_are_known_by_their_names() {
        let name = |name: &str| is_log_name(OsStr::new(name));
        assert_eq!(name("a.jsonl"), Some(false));
        assert_eq!(name("a.ndjson.zst"), Some(false));
        assert_eq!(name("a.json.gz"), Some(true));
        assert_eq!(name("agent-a1.meta.json"), None);
        assert_eq!(name("notes.txt"), None);
        assert_eq!(name("a.gz"), None);
    }

    #[test]
    fn sources_are_sorted_as_their_paths_compare() {
        let names =
            ["-", "a", "a-b", "a.b", "a/b", "a/b/c", "a b", "b", "..", "../a", ".", "./a", "é", "Z", "~"];
        let below = ["", "/", "x/", "/-/"].map(|folder| names.map(|name| format!("{folder}{name}")));
        let files = below.iter().flatten().map(|path| Origin::File(path.into()));
        let all: Vec<Origin> = files.chain([Origin::Stdin, Origin::File("/".into())]).collect();
        for one in &all {
            for two in &all {
                assert_eq!(order(one).cmp(&order(two)), one.cmp(two), "{one:?} {two:?}");
            }
        }
    }

    #[cfg(windows)]
    #[test]
    fn separators_are_not_mixed() {
        let saved = Path::new(r"C:\Users\me").join(".config/claude/projects");
        assert_eq!(spelled(&saved), r"C:\Users\me\.config\claude\projects");
        assert_eq!(spelled(&Path::new("logs/deep").join("a.jsonl")), r"logs\deep\a.jsonl");
        assert_eq!(spelled(Path::new("//server/share").join("a").as_path()), r"\\server\share\a");
        assert_eq!(spelled(Path::new(r"\\?\C:\a/b")), r"\\?\C:\a/b");
    }

    #[test]
    fn the_config_folder_may_be_named_with_or_without_projects() {
        assert_eq!(projects("/x/claude"), Path::new("/x/claude/projects"));
        assert_eq!(projects("/x/claude/projects"), Path::new("/x/claude/projects"));
    }
}
