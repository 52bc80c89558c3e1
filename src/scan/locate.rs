//! Finds the sources that one session needs, by file names and first records.
//!
//! The CLI saves each session in a file that is named by its id, in a folder for the project. To show one
//! session it is enough to read the folders that hold a part of it. Forks copy records with their uuids, so a
//! file whose first records are also in another file belongs to the same conversation, wherever it is.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    path::{Path, PathBuf},
};

use super::{Options, open};
use crate::{
    event,
    facts::{Earliest, Merge, ledger},
    input::{Bytes, Origin, Source},
};

/// Bytes that are read of a file at first, and at most, to learn whose it is.
const HEAD: usize = 16 << 10;
const LONGEST_HEAD: usize = 1 << 20;

/// Records with a uuid that are decoded of a file. A fork copies records from the first one on.
const ENOUGH: usize = 4;

/// Whose sources are, as far as names and first records say it.
#[derive(Debug, Default)]
pub struct Locator {
    /// The project folder of each source. `None` if only its whole content says whose it is.
    folders: Vec<Option<PathBuf>>,
    sessions: HashMap<String, Session>,
    /// Sources by the uuids of their first records.
    uuids: HashMap<String, Vec<usize>>,
}

/// A session in the first records of sources.
#[derive(Debug, Default)]
struct Session {
    sources: Vec<usize>,
    /// The earliest time seen. The session began then or earlier.
    start: Earliest,
}

/// The session that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The one with this id, else the only one whose id begins like this.
    Id(&'a str),
    /// The one that began last.
    Latest,
}

/// Sources to read for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen(Vec<bool>);

impl Chosen {
    /// Whether a source is to be read, by its index.
    pub fn contains(&self, source: usize) -> bool {
        self.0.get(source).copied().unwrap_or(true)
    }
}

impl Locator {
    /// Looks at the names and first records of all sources. `None` if reading only some project folders is not
    /// possible: nothing is saved by session, or in one folder only.
    pub fn of(sources: &[Source], options: &Options) -> Option<Self> {
        let mut folders = sources.iter().filter_map(home).map(|home| home.folder);
        let first = folders.next()?;
        if folders.all(|folder| folder == first) { None } else { Self::read(sources, options) }
    }

    /// Looks at the names and first records of all sources. `None` if a source is not a regular file and cannot
    /// be read twice.
    fn read(sources: &[Source], options: &Options) -> Option<Self> {
        let is_file = |source: &Source| match &source.origin {
            Origin::Stdin => false,
            Origin::File(path) => path.metadata().is_ok_and(|about| about.is_file()),
        };
        if !sources.iter().all(is_file) {
            return None;
        }
        let homes: Vec<Option<Home>> = sources.iter().map(home).collect();
        let mut found = Self::default();
        for (at, (source, home)) in sources.iter().zip(homes).enumerate() {
            let head = home.is_some().then(|| Head::read(source, options)).flatten();
            found.folders.push(head.as_ref().and(home.as_ref()).map(|home| home.folder.to_owned()));
            if let (Some(head), Some(home)) = (head, home) {
                found.add(at, &home, head);
            }
        }
        Some(found)
    }

    /// Returns groups of sources that can be read one after the other, because no session is in two of them. `None`
    /// if only the whole content of a source says which sessions are in it.
    pub fn groups(sources: &[Source], options: &Options) -> Option<Vec<Vec<usize>>> {
        if !sources.iter().all(|source| home(source).is_some()) {
            return None;
        }
        let found = Self::read(sources, options)?;
        if found.folders.iter().any(Option::is_none) {
            return None;
        }
        // Each source leads to the first of its group.
        let mut first: Vec<usize> = (0..sources.len()).collect();
        fn root(first: &mut [usize], mut at: usize) -> usize {
            while first[at] != at {
                first[at] = first[first[at]];
                at = first[at];
            }
            at
        }
        let starts = found.sessions.values().map(|session| &session.sources);
        for group in starts.chain(found.uuids.values()) {
            for pair in group.windows(2) {
                let (one, two) = (root(&mut first, pair[0]), root(&mut first, pair[1]));
                first[one.max(two)] = one.min(two);
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in 0..sources.len() {
            groups.entry(root(&mut first, at)).or_default().push(at);
        }
        let mut start: Vec<Earliest> = vec![Earliest::default(); sources.len()];
        for session in found.sessions.values() {
            session.sources.iter().for_each(|&source| start[source].merge(session.start));
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.sort_by_key(|group| group.iter().map(|&at| start[at].get()).min());
        Some(groups)
    }

    fn add(&mut self, source: usize, home: &Home<'_>, head: Head) {
        let named = home.session.map(|id| (id.to_owned(), Earliest::default()));
        for (id, time) in head.sessions.into_iter().chain(named) {
            let session = self.sessions.entry(id).or_default();
            if session.sources.last() != Some(&source) {
                session.sources.push(source);
            }
            session.start.merge(time);
        }
        for uuid in head.uuids {
            self.uuids.entry(uuid).or_default().push(source);
        }
    }

    /// The sources to read for a session. `None` if it is not known here, or if it could be one of several.
    pub fn choose(&self, target: Target<'_>) -> Option<Chosen> {
        let ids = match target {
            Target::Id(start) => vec![self.named(start)?],
            Target::Latest => {
                let latest = self.sessions.values().filter_map(|session| session.start.get()).max()?;
                let is_latest = |session: &Session| session.start.get() == Some(latest);
                self.sessions.iter().filter(|(_, session)| is_latest(session)).map(|(id, _)| &**id).collect()
            }
        };
        let related: Vec<usize> = ids.into_iter().flat_map(|id| self.related(id)).collect();
        let folders: Vec<&Path> = related.iter().filter_map(|&at| self.folders[at].as_deref()).collect();
        let is_chosen = |folder: &Option<PathBuf>| folder.as_deref().is_none_or(|one| folders.contains(&one));
        Some(Chosen(self.folders.iter().map(is_chosen).collect()))
    }

    /// Whether reading everything would give the same session: all of it was read, and for [`Target::Latest`]
    /// no other session can have begun as late.
    pub fn covers(&self, chosen: &Chosen, target: Target<'_>, session: &ledger::Session) -> bool {
        let all_read = |sources: &[usize]| sources.iter().all(|&source| chosen.contains(source));
        if !session.id.as_deref().is_some_and(|id| all_read(&self.related(id))) {
            return false;
        }
        // A session without a time is never the latest of those that have one.
        let began_before =
            |other: &Session| other.start.get().is_none_or(|start| Some(start) < session.started);
        target != Target::Latest
            || self.sessions.values().all(|other| all_read(&other.sources) || began_before(other))
    }

    /// The session with this id, else the only one whose id begins like this.
    fn named(&self, start: &str) -> Option<&str> {
        if let Some((id, _)) = self.sessions.get_key_value(start) {
            return Some(id);
        }
        let mut found = self.sessions.keys().filter(|id| id.starts_with(start));
        found.next().filter(|_| found.next().is_none()).map(|id| &**id)
    }

    /// The sources of a session, and those that share a record or a session with one of them.
    fn related(&self, id: &str) -> Vec<usize> {
        let mut found = self.sessions.get(id).map_or(Vec::new(), |session| session.sources.clone());
        let groups = || self.sessions.values().map(|session| &session.sources).chain(self.uuids.values());
        loop {
            let before = found.len();
            for group in groups().filter(|group| group.len() > 1) {
                if group.iter().any(|source| found.contains(source)) {
                    found.extend(group);
                }
            }
            found.sort_unstable();
            found.dedup();
            if found.len() == before {
                return found;
            }
        }
    }
}

/// The project folder and file name of a saved session.
struct Home<'a> {
    folder: &'a Path,
    /// The session that its name says.
    session: Option<&'a str>,
}

/// The place of a saved session or of a part of it: `<folder>/<id>.jsonl`, anything below `<folder>/<id>/`,
/// or `<folder>/agent-<id>.jsonl` of older versions.
fn home(source: &Source) -> Option<Home<'_>> {
    let Origin::File(path) = &source.origin else { return None };
    if source.unverified {
        return None;
    }
    let stem = path.file_name()?.to_str()?.split('.').next()?;
    let of_session = |folder: &'_ &Path| folder.file_name().and_then(|name| name.to_str()).is_some_and(is_id);
    if let Some(own) = path.ancestors().skip(1).find(of_session) {
        return Some(Home { folder: own.parent()?, session: own.file_name()?.to_str() });
    }
    let session = is_id(stem).then_some(stem);
    (session.is_some() || stem.starts_with("agent-")).then_some(Home { folder: path.parent()?, session })
}

/// Whether a name is that of a session: a UUID.
fn is_id(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Session ids, uuids and times of the first records of a source.
#[derive(Default)]
struct Head {
    sessions: Vec<(String, Earliest)>,
    uuids: Vec<String>,
}

impl Head {
    /// `None` if the first records do not say whose they are.
    fn read(source: &Source, options: &Options) -> Option<Self> {
        let mut reader: Box<dyn Read> = match open(source, options).ok()?? {
            Bytes::File(file) => Box::new(file),
            Bytes::Stream(stream) => stream,
            Bytes::Lean(_) => return None,
        };
        let (mut bytes, mut length) = (Vec::with_capacity(HEAD), HEAD);
        loop {
            let wanted = length - bytes.len();
            let read = reader.by_ref().take(wanted as u64).read_to_end(&mut bytes).ok()?;
            let whole = read < wanted;
            let head = Self::of(&bytes, whole);
            if whole || (head.is_dated() && !head.uuids.is_empty()) {
                return Some(head);
            }
            if length >= LONGEST_HEAD {
                return None;
            }
            length *= 4;
        }
    }

    /// The records of whole lines, as many as are needed. The last line counts only if the source ends with
    /// it.
    fn of(bytes: &[u8], whole: bool) -> Self {
        let mut head = Self::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !whole && !line.ends_with(b"\n") {
                break;
            }
            let Ok(event) = event::decode(line) else { continue };
            let known = head.sessions.iter_mut().find(|(id, _)| Some(&**id) == event.session.as_deref());
            match (known, event.session) {
                (Some((_, time)), _) => time.merge(event.time.into()),
                (None, Some(id)) => head.sessions.push((id.into_owned(), event.time.into())),
                (None, None) => {}
            }
            head.uuids.extend(event.uuid.map(std::borrow::Cow::into_owned));
            if head.uuids.len() >= ENOUGH && head.is_dated() {
                break;
            }
        }
        head
    }

    fn is_dated(&self) -> bool {
        self.sessions.iter().any(|(_, time)| time.get().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00021325-0000-4000-8000-000000000050";

    fn found(path: &str) -> Option<(String, Option<String>)> {
        let source = Source { origin: Origin::File(path.into()), unverified: false, machine: None };
        let home = home(&source)?;
        Some((home.folder.to_str().unwrap().to_owned(), home.session.map(str::to_owned)))
    }

    #[test]
    fn saved_sessions_are_known_by_their_paths() {
        let in_project = |session: Option<&str>| Some(("p/-home".to_owned(), session.map(str::to_owned)));
        assert_eq!(found(&format!("p/-home/{ID}.jsonl")), in_project(Some(ID)));
        assert_eq!(found(&format!("p/-home/{ID}.jsonl.gz")), in_project(Some(ID)));
        assert_eq!(found(&format!("p/-home/{ID}/subagents/agent-a1.jsonl")), in_project(Some(ID)));
        assert_eq!(found("p/-home/agent-a1.jsonl"), in_project(None));
        assert_eq!(found("p/-home/run.jsonl"), None, "a stream may hold several sessions");
    }
}
