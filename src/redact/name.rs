//! Names of files and folders: those that mean something to a reader of logs stay, the others become numbers.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Component, Path, PathBuf},
};

/// What a packed log is called after its own name. What is written is not packed.
const PACKED: &[&str] = &[".gz", ".zst"];

/// What a log is called after its own name.
const ENDS: &[&str] = &[".jsonl", ".ndjson", ".json"];

/// The name of a folder of subagents.
const SUBAGENTS: &str = "subagents";

/// How the file of a subagent begins.
const AGENT: &str = "agent-";

/// New names for logs, below the folder that all of them are in.
///
/// Ids of sessions and agents stay, because sessions are known by them. All other names are numbered in their own order, so
/// that the logs stay in their order.
pub fn names(logs: &[PathBuf]) -> Vec<PathBuf> {
    let common = common(logs);
    let parts: Vec<Vec<String>> =
        logs.iter().map(|log| parts(log.strip_prefix(&common).unwrap_or(log))).collect();
    let strange: BTreeSet<&String> = parts.iter().flatten().filter(|part| !stays(split(part).0)).collect();
    let width = strange.len().to_string().len();
    let numbers: BTreeMap<&String, usize> = strange.into_iter().zip(1..).collect();
    let renamed = |part: &String| {
        let (name, end) = split(part);
        match numbers.get(part) {
            Some(number) => format!("redacted-{number:0width$}{end}"),
            None => format!("{name}{end}"),
        }
    };
    let mut taken = HashSet::new();
    let new = |parts: &Vec<String>| {
        let path: PathBuf = parts.iter().map(renamed).collect();
        let other = |count: usize| match path.extension() {
            Some(end) => path.with_extension(format!("{count}.{}", end.to_string_lossy())),
            None => path.with_extension(count.to_string()),
        };
        // The same log packed and not.
        let free = [path.clone()].into_iter().chain((2..).map(other)).find(|path| taken.insert(path.clone()));
        free.unwrap_or(path)
    };
    parts.iter().map(new).collect()
}

/// The folder that all logs are in.
fn common(logs: &[PathBuf]) -> PathBuf {
    let folders = logs.iter().map(|log| log.parent().unwrap_or(Path::new("")));
    let shared = |one: PathBuf, two: &Path| -> PathBuf {
        let pairs = one.components().zip(two.components());
        pairs.take_while(|(one, two)| one == two).map(|(one, _)| one).collect()
    };
    let mut folders = folders.map(Path::to_path_buf);
    let first = folders.next().unwrap_or_default();
    folders.fold(first, |one, two| shared(one, &two))
}

/// The names in a path; what is no name is none, so that nothing leads out of a folder.
fn parts(path: &Path) -> Vec<String> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    };
    path.components().filter_map(name).collect()
}

/// A name and how it ends, without what says that it is packed.
fn split(name: &str) -> (&str, &str) {
    let plain = PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let end = ENDS.iter().find(|end| plain.ends_with(**end)).map_or(0, |end| end.len());
    plain.split_at(plain.len() - end)
}

/// Whether a name is that of a session or of a subagent.
fn stays(name: &str) -> bool {
    let agent =
        |id: &str| !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    name == SUBAGENTS || is_uuid(name) || name.strip_prefix(AGENT).is_some_and(agent)
}

fn is_uuid(name: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits =
        |(at, byte): (usize, u8)| if dashes.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    name.len() == 36 && name.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_keep_their_names_and_projects_do_not() {
        let id = "5f3a1c20-7d41-4e8b-9a55-0c6be1f00001";
        let logs = [
            format!("/x/projects/-home-me-api/{id}.jsonl"),
            format!("/x/projects/-home-me-shop/{id}.jsonl.gz"),
            format!("/x/projects/-home-me-shop/{id}/subagents/agent-a77b.jsonl"),
            "/x/projects/-home-me-shop/notes.json".to_owned(),
        ];
        let new = names(&logs.map(PathBuf::from));
        let expected = [
            format!("redacted-1/{id}.jsonl"),
            format!("redacted-2/{id}.jsonl"),
            format!("redacted-2/{id}/subagents/agent-a77b.jsonl"),
            "redacted-2/redacted-3.json".to_owned(),
        ];
        assert_eq!(new, expected.map(PathBuf::from));
    }

    #[test]
    fn no_two_logs_have_one_name_and_none_leads_elsewhere() {
        let id = "5f3a1c20-7d41-4e8b-9a55-0c6be1f00001";
        let logs = [
            "../a/x.jsonl".to_owned(),
            format!("b/{id}.jsonl"),
            format!("b/{id}.jsonl.zst"),
            "/etc/y.jsonl".to_owned(),
        ];
        let new = names(&logs.map(PathBuf::from));
        let all: HashSet<&PathBuf> = new.iter().collect();
        assert_eq!(all.len(), 4, "{new:?}");
        assert!(
            new.iter().all(|path| path.components().all(|part| matches!(part, Component::Normal(_)))),
            "{new:?}"
        );
        assert_eq!(names(&[PathBuf::from("secret.jsonl")]), [PathBuf::from("redacted-1.jsonl")]);
    }
}
