//! Finds the saved sessions that changed since a time.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::SystemTime,
};

use super::{Origin, Search, Source};

/// Finds the files of sessions of which at least one changed since then, below folders of saved sessions.
///
/// A file that did not change has no record since then, but the cost that a session reports is divided over all its responses,
/// also those of subagents, which have files of their own. Folders of projects are searched by two threads: almost all of the
/// time is the file system's.
pub fn find_changed(folders: &[PathBuf], since: SystemTime) -> Search {
    let mut search = Search::default();
    let mut projects = Vec::new();
    for folder in folders {
        match fs::read_dir(folder) {
            Ok(entries) => projects.extend(entries.flatten().map(|entry| entry.path())),
            Err(source) => search.unreadable(folder, source),
        }
    }
    let rest = Mutex::new(projects.into_iter());
    let work = || {
        let mut found = Search::default();
        // The lock is held for the call of `next` alone.
        while let Some(project) = { rest.lock().ok().and_then(|mut rest| rest.next()) } {
            found.add_changed(&project, since);
        }
        found
    };
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, work).ok();
        search.extend(work());
        search.extend(other.and_then(|other| other.join().ok()).unwrap_or_default());
    });
    search.settle(folders.len() == 1);
    search
}

impl Search {
    fn add_changed(&mut self, project: &Path, since: SystemTime) {
        let mut all = Self::default();
        let mut changed: Vec<PathBuf> = Vec::new();
        all.walk(project, |entry| {
            let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
            if modified.is_none_or(|modified| modified >= since) {
                changed.push(session_path(entry.path()));
            }
        });
        changed.sort_unstable();
        changed.dedup();
        all.sources
            .retain(|source| file(source).is_some_and(|path| changed.iter().any(|one| is_of(path, one))));
        self.extend(all);
    }

    fn extend(&mut self, other: Self) {
        let Self { sources, errors, linked } = other;
        self.sources.extend(sources);
        self.errors.extend(errors);
        self.linked |= linked;
    }
}

fn file(source: &Source) -> Option<&Path> {
    match &source.origin {
        Origin::File(path) => Some(path),
        Origin::Stdin => None,
    }
}

/// Whether a file belongs to a session. Comparing the beginning first makes this fast for files of other sessions.
fn is_of(path: &Path, session: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(session.as_os_str().as_encoded_bytes())
        && session_path(path) == session
}

/// The path of the session without an ending: subagents are in `SESSION/subagents/` beside `SESSION.jsonl`.
fn session_path(path: &Path) -> PathBuf {
    let above = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
    match above.and_then(Path::parent) {
        Some(session) => session.to_owned(),
        None => path.with_extension(""),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn subagents_belong_to_the_session_beside_their_folder() {
        let session = session_path(Path::new("/p/-home-dev/1234.jsonl"));
        assert_eq!(session, Path::new("/p/-home-dev/1234"));
        assert_eq!(session_path(Path::new("/p/-home-dev/1234/subagents/agent-1.jsonl")), session);
        let workflow = Path::new("/p/-home-dev/1234/subagents/workflows/w1/agent-2.jsonl");
        assert_eq!(session_path(workflow), session);
    }

    #[test]
    fn all_files_of_a_session_are_found_if_one_of_them_changed() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50);
        let file = |name: &str, hours: u64| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(&path).unwrap();
            file.set_modified(now - Duration::from_hours(hours)).unwrap();
        };
        file("p/new.jsonl", 1);
        file("p/new/subagents/agent-1.jsonl", 50);
        file("p/old.jsonl", 50);
        file("p/old/subagents/agent-2.jsonl", 50);
        file("p/by-agent.jsonl", 50);
        file("p/by-agent/subagents/agent-3.jsonl", 1);
        file("p/new/tool-results/x.jsonl", 1);
        file("q/notes.txt", 1);
        file("q/other.jsonl.gz", 2);
        file("loose.jsonl", 2);
        let found = find_changed(&[folder.path().to_owned()], now - Duration::from_hours(3));
        assert!(found.errors.is_empty(), "{:?}", found.errors);
        let names: Vec<String> =
            found.sources.iter().map(|source| source.name().replace('\\', "/")).collect();
        let names: Vec<&str> =
            names.iter().map(|name| &name[folder.path().to_str().unwrap().len() + 1..]).collect();
        assert_eq!(
            names,
            [
                "loose.jsonl",
                "p/by-agent/subagents/agent-3.jsonl",
                "p/by-agent.jsonl",
                "p/new/subagents/agent-1.jsonl",
                "p/new.jsonl",
                "q/other.jsonl.gz",
            ]
        );
        let twice = [folder.path().to_owned(), folder.path().join("p")];
        let found = find_changed(&twice, now - Duration::from_hours(3));
        assert_eq!(found.sources.len(), 6, "each file once: {:?}", found.sources);
    }
}
