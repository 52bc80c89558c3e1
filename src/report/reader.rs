//! Facts about the reader of a screen, by which long names are shortened.

use std::sync::Arc;

use super::{Part, Report, Value};
use crate::facts::Name;

/// Shortest prefix of a session id on screen.
const SHORTEST_ID: usize = 8;

/// The home folder of the reader, and the sessions that an id must be told apart from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// The home folder, shown as `~`.
    pub home: Option<Arc<str>>,
    /// Ids of all sessions that were read, sorted, including those that a filter excluded. Empty if unknown.
    pub ids: Arc<[Name]>,
}

impl Reader {
    /// The id as a screen shows it: its shortest prefix that finds the session again. `None` if it is not the id
    /// of a session that was read.
    pub fn short_id<'a>(&self, id: &'a str) -> Option<&'a str> {
        let at = self.ids.binary_search_by(|other| other.as_str().cmp(id)).ok()?;
        Some(unique_prefix(
            id,
            at.checked_sub(1).map(|at| &*self.ids[at]),
            self.ids.get(at + 1).map(|id| &**id),
        ))
    }

    /// The path with `~` for the home folder; `None` if it is not below it.
    pub fn below_home(&self, path: &str) -> Option<String> {
        let home = self.home.as_deref().filter(|home| home.len() > 1)?;
        let rest = path.strip_prefix(home.trim_end_matches(['/', '\\']))?;
        (rest.is_empty() || rest.starts_with(['/', '\\'])).then(|| format!("~{rest}"))
    }
}

impl Report {
    /// Sets the home folder of the reader, and writes paths in lines with `~`.
    #[must_use]
    pub fn with_home(mut self, home: Option<&str>) -> Self {
        self.reader.home = home.map(Arc::from);
        let reader = self.reader.clone();
        for part in self.parts() {
            if let Part::Value(Value::Text(text)) = part
                && let Some(short) = reader.below_home(text)
            {
                *text = short.into();
            }
        }
        self
    }

    /// Sets the ids that a short id must be told apart from.
    #[must_use]
    pub fn with_ids(mut self, ids: Arc<[Name]>) -> Self {
        self.reader.ids = ids;
        self
    }
}

/// The shortest prefix of at least eight characters that the neighbours in sorted order do not start with.
pub fn unique_prefix<'a>(id: &'a str, before: Option<&str>, after: Option<&str>) -> &'a str {
    let shared = |other: &str| id.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count();
    let shared = before.into_iter().chain(after).filter(|other| *other != id).map(shared).max().unwrap_or(0);
    let mut length = shared.saturating_add(1).max(SHORTEST_ID);
    while id.as_bytes().get(length - 1) == Some(&b'-') || (length < id.len() && !id.is_char_boundary(length))
    {
        length += 1;
    }
    id.get(..length).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(home: &str, ids: &[&str]) -> Reader {
        Reader { home: Some(home.into()), ids: ids.iter().map(|id| Name::from(*id)).collect() }
    }

    #[test]
    fn an_id_is_as_short_as_it_can_be_and_finds_its_session() {
        let ids = ["0a1b2c3d-1111", "0a1b2c3d-2222", "5b1f6c1e-0f6b", "run", "run-2"];
        let reader = reader("/home/me", &ids);
        let short: Vec<&str> = ids.iter().filter_map(|id| reader.short_id(id)).collect();
        assert_eq!(short, ["0a1b2c3d-1", "0a1b2c3d-2", "5b1f6c1e", "run", "run-2"]);
        for (id, short) in ids.iter().zip(short) {
            assert_eq!(
                ids.iter().filter(|other| other.starts_with(short)).count(),
                1 + usize::from(*id == "run")
            );
        }
        assert_eq!(reader.short_id("logs/a.jsonl"), None);
    }

    #[test]
    fn only_paths_below_the_home_folder_begin_with_a_tilde() {
        let reader = reader("/home/me/", &[]);
        assert_eq!(reader.below_home("/home/me/src/app").as_deref(), Some("~/src/app"));
        assert_eq!(reader.below_home("/home/me").as_deref(), Some("~"));
        assert_eq!(reader.below_home("/home/melanie/app"), None);
        assert_eq!(super::Reader::default().below_home("/home/me"), None);
    }
}
