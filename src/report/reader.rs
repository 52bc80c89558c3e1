//! Facts about the reader of a screen, by which long names are shortened.

use std::sync::Arc;

use super::{Part, Report, Value};
use crate::facts::Name;

/// Shortest prefix of a session id on screen.
const SHORTEST_ID: usize = 8;

/// Longest prefix of an id on screen. If sessions cannot be told apart by it, both ends are shown.
const LONGEST_PREFIX: usize = 16;

/// Fewest letters that are shown of the end of an id.
const SHORTEST_END: usize = 4;

/// Maximum number of ids with equal beginnings whose ends are compared.
const MAX_ALIKE: usize = 1000;

/// Letters that a screen left out of an id or name. Typed in an id, it matches anything.
pub const LEFT_OUT: char = '…';

/// The home folder of the reader, and the sessions that an id must be told apart from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// The home folder, shown as `~`.
    pub home: Option<Arc<str>>,
    /// Ids of all sessions that were read, sorted, including those that a filter excluded. Empty if unknown.
    pub ids: Arc<[Name]>,
}

impl Reader {
    /// The id as a screen shows it. `None` if it is not the id of a session that was read.
    pub fn short_id(&self, id: &str) -> Option<String> {
        short_id(id, &self.ids)
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

/// The shortest form of an id that finds it again among these sorted ids: its beginning, or both ends if sessions have long
/// beginnings in common. `None` if it is not one of them.
pub fn short_id<I: AsRef<str>>(id: &str, sorted: &[I]) -> Option<String> {
    let at = sorted.binary_search_by(|other| other.as_ref().cmp(id)).ok()?;
    let neighbour = |at: Option<usize>| at.and_then(|at| sorted.get(at)).map(AsRef::as_ref);
    let prefix = unique_prefix(id, neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
    if prefix.len() <= LONGEST_PREFIX {
        return Some(prefix.to_owned());
    }
    let ends = both_ends(id, sorted, at).filter(|ends| ends.len() < prefix.len());
    Some(ends.unwrap_or_else(|| prefix.to_owned()))
}

/// The beginning of an id and as much of its end as tells it apart from ids with the same beginning.
fn both_ends<I: AsRef<str>>(id: &str, sorted: &[I], at: usize) -> Option<String> {
    let start = id.get(..SHORTEST_ID)?;
    let is_alike = |other: &&I| other.as_ref().starts_with(start);
    let before = sorted[..at].iter().rev().take_while(is_alike);
    let alike: Vec<&str> = before
        .chain(sorted[at + 1..].iter().take_while(is_alike))
        .take(MAX_ALIKE + 1)
        .map(AsRef::as_ref)
        .collect();
    if alike.len() > MAX_ALIKE {
        return None;
    }
    let shared =
        |other: &&str| id.bytes().rev().zip(other.bytes().rev()).take_while(|(one, two)| one == two).count();
    let end = alike.iter().map(shared).max().unwrap_or(0).saturating_add(1).max(SHORTEST_END);
    let end = id.get(id.len().checked_sub(end)?.max(SHORTEST_ID)..)?;
    Some(format!("{start}{LEFT_OUT}{end}"))
}

/// Whether a typed text names an id: it begins like this, or has these ends if the text has an ellipsis.
pub fn names_id(typed: &str, id: &str) -> bool {
    match typed.split_once(LEFT_OUT) {
        Some((start, end)) => id.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
        None => id.starts_with(typed),
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
        let short: Vec<String> = ids.iter().filter_map(|id| reader.short_id(id)).collect();
        assert_eq!(short, ["0a1b2c3d-1", "0a1b2c3d-2", "5b1f6c1e", "run", "run-2"]);
        for (id, short) in ids.iter().zip(short) {
            assert_eq!(
                ids.iter().filter(|other| names_id(&short, other)).count(),
                1 + usize::from(*id == "run")
            );
        }
        assert_eq!(reader.short_id("logs/a.jsonl"), None);
    }

    #[test]
    fn ids_with_long_equal_beginnings_show_both_ends_and_find_their_sessions() {
        let ids: Vec<String> =
            (1..300).map(|number| format!("00021326-0000-4000-8000-{number:012}")).collect();
        for id in &ids {
            let short = short_id(id, &ids).unwrap();
            assert!(short.chars().count() <= 13, "{short}");
            assert_eq!(
                ids.iter().filter(|other| names_id(&short, other)).collect::<Vec<_>>(),
                [id],
                "{short}"
            );
        }
        assert_eq!(short_id(&ids[0], &ids).as_deref(), Some("00021326…0001"));
        assert!(!names_id("ab…ba", "aba"), "both ends must fit");
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
