//! Shortens texts of a column: leaves out what all rows share, keeps what differs. Data has everything.

use std::collections::BTreeSet;

use super::cut::{cut_end, cut_middle, cut_start};
use crate::{
    render::human,
    report::{Head, Reader, Value, short_id, unique_prefix},
};

/// The kind of text that a column holds. It decides how the text is shortened, and which end is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    Session,
    /// A folder or file.
    Path,
    /// `file:line`.
    Location,
    /// Sentences, commands and titles: the start matters most.
    Prose,
    /// Names, of which both ends matter.
    Name,
}

impl Words {
    /// Found by the key of the column, which means the same in every report.
    pub(super) fn of(head: &Head) -> Self {
        match head.key {
            "session" => Self::Session,
            "project" | "source" | "file" | "folder" => Self::Path,
            "place" => Self::Location,
            "doc" | "label" | "reason" | "title" | "what" | "why" | "warning" => Self::Prose,
            _ if head.content => Self::Prose,
            _ => Self::Name,
        }
    }

    /// Shortens a text to this width.
    pub(super) fn cut(self, text: &str, room: usize) -> String {
        match self {
            Self::Path | Self::Location => cut_start(text, room),
            Self::Prose if looks_like_path(text) => cut_start(text, room),
            Self::Prose => cut_end(text, room),
            Self::Session | Self::Name => cut_middle(text, room),
        }
    }
}

/// The texts of a column, shortened.
pub(super) struct Shortened {
    pub(super) cells: Vec<String>,
    /// The folder that was left out of every path, if the reader cannot know it.
    pub(super) folder: Option<String>,
}

/// Shortens the texts of a column.
pub(super) fn shorten(head: &Head, values: &[&Value], reader: &Reader) -> Shortened {
    let words = Words::of(head);
    let texts: BTreeSet<&str> = values.iter().filter_map(|value| as_text(value)).collect();
    let (short, folder): Shortener<'_> = match words {
        Words::Session => (Box::new(session(&texts, reader)), None),
        Words::Path => path(&texts, reader),
        Words::Location => location(&texts, reader),
        Words::Prose => (Box::new(|text| prose(text, reader)), None),
        // A fallback is written as two models with an arrow.
        Words::Name => (Box::new(|text| text.split(" → ").map(model).collect::<Vec<_>>().join(" → ")), None),
    };
    let cell = |value: &&Value| match value {
        Value::Text(text) => human::text(&short(text)).into_owned(),
        Value::List(values) if words == Words::Name => {
            let short = |value: &Value| {
                as_text(value)
                    .map_or_else(|| human::value(value), |text| human::text(model(text)).into_owned())
            };
            values.iter().map(short).collect::<Vec<_>>().join(", ")
        }
        other => human::value(other),
    };
    Shortened { cells: values.iter().map(cell).collect(), folder }
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// `opus-5-5` for `claude-opus-5-5`. Agents and servers may also begin with `claude-`, but have no version.
pub(super) fn model(name: &str) -> &str {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-.[]".contains(letter);
    match name.strip_prefix("claude-") {
        Some(rest) if rest.contains(|digit: char| digit.is_ascii_digit()) && rest.chars().all(is_plain) => {
            rest
        }
        _ => name,
    }
}

fn session<'a>(texts: &BTreeSet<&'a str>, reader: &'a Reader) -> impl Fn(&str) -> String + use<'a> {
    let own: Vec<&str> = if reader.ids.is_empty() { texts.iter().copied().collect() } else { Vec::new() };
    move |id| short_id(id, &own).or_else(|| reader.short_id(id)).unwrap_or_else(|| id.to_owned())
}

/// A shortener, and the folder that it leaves out.
type Shortener<'a> = (Box<dyn Fn(&str) -> String + 'a>, Option<String>);

fn path<'a>(texts: &BTreeSet<&str>, reader: &'a Reader) -> Shortener<'a> {
    let shared = shared_folder(texts.iter().copied()).unwrap_or("").to_owned();
    let folder = named_folder(&shared, reader);
    let names: BTreeSet<&str> = texts.iter().map(|path| split_folder(path).1).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let short = move |path: &str| {
        let short = match path.strip_prefix(&*shared) {
            Some(rest) if !shared.is_empty() => rest.to_owned(),
            _ => reader.below_home(path).unwrap_or_else(|| path.to_owned()),
        };
        let (folder, name) = split_folder(&short);
        format!("{folder}{}", short_name(name, &names))
    };
    (Box::new(short), folder)
}

/// `basename:line` if no two logs have the same name, else without the shared folder.
fn location<'a>(texts: &BTreeSet<&str>, reader: &'a Reader) -> Shortener<'a> {
    let logs: BTreeSet<&str> = texts.iter().map(|text| log_and_line(text).0).collect();
    let names: BTreeSet<&str> = logs.iter().map(|log| split_folder(log).1).collect();
    if names.len() < logs.len() {
        let (short, folder) = path(&logs, reader);
        let with_line = move |text: &str| {
            let (log, line) = log_and_line(text);
            short(log) + line
        };
        return (Box::new(with_line), folder);
    }
    let folders: BTreeSet<&str> = logs.iter().map(|log| split_folder(log).0).collect();
    let folder =
        folders.first().filter(|_| folders.len() == 1).and_then(|folder| named_folder(folder, reader));
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let short = move |text: &str| {
        let (log, line) = log_and_line(text);
        let name = split_folder(log).1;
        format!("{}{line}", short_name(name, &names))
    };
    (Box::new(short), folder)
}

/// Shortens a file name that is a UUID: `5b1f6c1e….jsonl`. `names` are sorted.
fn short_name(name: &str, names: &[String]) -> String {
    let is_uuid = |stem: &str| {
        let dash = |at: usize| [8, 13, 18, 23].contains(&at);
        stem.len() == 36
            && stem
                .bytes()
                .enumerate()
                .all(|(at, byte)| if dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
    };
    let (Some(stem), Ok(at)) = (
        name.get(..36).filter(|stem| is_uuid(stem)),
        names.binary_search_by(|other| other.as_str().cmp(name)),
    ) else {
        return name.to_owned();
    };
    let neighbour = |at: Option<usize>| at.and_then(|at| names.get(at)).map(String::as_str);
    let short = unique_prefix(stem, neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
    // If names differ only at their ends, these are shown when the column is cut.
    if short.len() > stem.len() / 2 { name.to_owned() } else { format!("{short}…{}", &name[36..]) }
}

/// The folder to name below a table. Folders that are not absolute are known: they were typed.
fn named_folder(folder: &str, reader: &Reader) -> Option<String> {
    let trimmed = folder.trim_end_matches(['/', '\\']);
    let is_absolute =
        folder.starts_with(['/', '\\']) || folder.get(1..).is_some_and(|rest| rest.starts_with(":\\"));
    (is_absolute && !trimmed.is_empty())
        .then(|| reader.below_home(trimmed).unwrap_or_else(|| trimmed.to_owned()))
}

/// Text of a log that is a path below the home folder begins with `~`.
fn prose(text: &str, reader: &Reader) -> String {
    let short = looks_like_path(text).then(|| reader.below_home(text)).flatten();
    short.unwrap_or_else(|| text.to_owned())
}

fn looks_like_path(text: &str) -> bool {
    (text.starts_with(['/', '~']) || text.get(1..).is_some_and(|rest| rest.starts_with(":\\")))
        && !text.contains(char::is_whitespace)
        && text.matches(['/', '\\']).count() > 1
}

/// Splits `file:line`; the second part begins with the colon and is empty if there is no line.
fn log_and_line(text: &str) -> (&str, &str) {
    let digits = text.trim_end_matches(|digit: char| digit.is_ascii_digit());
    match digits.strip_suffix(':') {
        Some(log) if digits.len() < text.len() => text.split_at(log.len()),
        _ => (text, ""),
    }
}

/// Splits a path after its last separator.
fn split_folder(path: &str) -> (&str, &str) {
    let separator = if path.contains('/') { '/' } else { '\\' };
    path.split_at(path.rfind(separator).map_or(0, |at| at + 1))
}

/// The folder that several different paths share, with its final separator. The root alone is not worth leaving out.
fn shared_folder<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut folders = paths.clone().map(|path| split_folder(path).0);
    let first = folders.next()?;
    let shared = folders.fold(first, |shared, folder| {
        let same = shared.bytes().zip(folder.bytes()).take_while(|(one, two)| one == two).count();
        split_folder(shared.get(..same).unwrap_or("")).0
    });
    let is_several = paths.count() > 1;
    (is_several && shared.trim_matches(['/', '\\', '.']).len() > 1).then_some(shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Unit};

    fn shortened(key: &'static str, texts: &[&str], home: Option<&str>) -> (Vec<String>, Option<String>) {
        let column = Column::new(Unit::Text, key, "Head", "A text.", |_: &()| Value::Missing);
        let values: Vec<Value> = texts.iter().map(|text| Value::text(*text)).collect();
        let reader = Reader { home: home.map(Into::into), ..Reader::default() };
        let Shortened { cells, folder } = shorten(&column.head, &values.iter().collect::<Vec<_>>(), &reader);
        (cells, folder)
    }

    #[test]
    fn paths_lose_the_folder_that_all_share_and_it_is_named_once() {
        let (cells, folder) =
            shortened("project", &["/home/me/src/one", "/home/me/src/deep/two"], Some("/home/me"));
        assert_eq!(
            (cells, folder.as_deref()),
            (vec!["one".to_owned(), "deep/two".to_owned()], Some("~/src"))
        );
        let (cells, folder) =
            shortened("project", &["/home/me/src/one", "/home/me/src/one"], Some("/home/me"));
        assert_eq!((&*cells[0], folder), ("~/src/one", None), "a single path is shown whole");
        let (cells, folder) = shortened("project", &["/home/me", "/srv/two"], Some("/home/me"));
        assert_eq!((&*cells[0], &*cells[1], folder), ("~", "/srv/two", None));
        let (cells, folder) = shortened("project", &[r"C:\Users\me\one", r"C:\Users\me\two"], None);
        assert_eq!((&*cells[0], folder.as_deref()), ("one", Some(r"C:\Users\me")));
    }

    #[test]
    fn a_location_is_the_name_of_the_log_and_its_line_unless_two_logs_have_one_name() {
        let (cells, folder) = shortened("place", &["/var/log/a.jsonl:1", "/var/log/b.jsonl:20"], None);
        assert_eq!(
            (&*cells[0], &*cells[1], folder.as_deref()),
            ("a.jsonl:1", "b.jsonl:20", Some("/var/log"))
        );
        let (cells, _) = shortened("place", &["runs/one/out.jsonl:1", "runs/two/out.jsonl:20"], None);
        assert_eq!(cells, ["one/out.jsonl:1", "two/out.jsonl:20"]);
        let uuid = "5b1f6c1e-0f6b-4c52-9a53-0d6d3f6f5a01";
        let (cells, _) = shortened("place", &[&format!("x/{uuid}.jsonl:12"), "y/-:3"], None);
        assert_eq!(cells, ["5b1f6c1e….jsonl:12", "-:3"]);
    }

    #[test]
    fn only_models_lose_the_name_of_their_family() {
        assert_eq!(model("claude-opus-5-5"), "opus-5-5");
        assert_eq!(model("claude-3-5-sonnet-20241022"), "3-5-sonnet-20241022");
        let (cells, _) = shortened("models", &["claude-opus-5-5 → claude-sonnet-5-5"], None);
        assert_eq!(cells, ["opus-5-5 → sonnet-5-5"]);
        assert_eq!([model("claude-code-guide"), model("<synthetic>")], ["claude-code-guide", "<synthetic>"]);
    }

    #[test]
    fn paths_keep_their_end_and_texts_their_start() {
        assert_eq!(Words::Path.cut("deep/inside/a/project", 12), "…e/a/project");
        assert_eq!(Words::Prose.cut("npm error 403 Forbidden", 12), "npm error 4…");
        assert_eq!(Words::Prose.cut("/srv/deep/main.rs", 12), "…eep/main.rs");
        assert_eq!(Words::Name.cut("mcp__confluence__get_page", 13), "mcp__c…t_page");
    }
}
