//! Redacted names of log files and folders: ids of sessions and agents are kept, other names become numbers.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Component, Path, PathBuf},
};

/// Suffixes of compressed logs. They are dropped, since the output is not compressed.
const COMPRESSED: &[&str] = &[".gz", ".zst"];

/// Suffixes of logs.
const SUFFIXES: &[&str] = &[".jsonl", ".ndjson", ".json"];

/// The names of folders of subagents, and of those of workflows.
const SUBAGENTS: [&str; 2] = ["subagents", "workflows"];

/// Start of the name of a subagent's log.
const AGENT_PREFIX: &str = "agent-";

/// Returns redacted paths of logs, relative to the folder that contains all of them. No two are equal.
///
/// Ids of sessions and agents are kept, because reports identify sessions by them. All other names are
/// numbered in their sort order, so that the order of the logs does not change.
pub fn redacted_paths(logs: &[PathBuf]) -> Vec<PathBuf> {
    let common = common_folder(logs);
    let parts: Vec<Vec<String>> =
        logs.iter().map(|log| parts(log.strip_prefix(&common).unwrap_or(log))).collect();
    let private: BTreeSet<&String> = parts.iter().flatten().filter(|part| !is_id(split(part).0)).collect();
    let width = private.len().to_string().len();
    let numbers: BTreeMap<&String, usize> = private.into_iter().zip(1..).collect();
    let redacted = |part: &String| {
        let (name, suffix) = split(part);
        match numbers.get(part) {
            Some(number) => format!("redacted-{number:0width$}{suffix}"),
            None => format!("{name}{suffix}"),
        }
    };
    let mut taken = HashSet::new();
    let unique = |parts: &Vec<String>| {
        let path: PathBuf = parts.iter().map(redacted).collect();
        let numbered = |count: usize| match path.extension() {
            Some(suffix) => path.with_extension(format!("{count}.{}", suffix.to_string_lossy())),
            None => path.with_extension(count.to_string()),
        };
        // A log and its compressed copy would have the same name.
        let mut candidates = [path.clone()].into_iter().chain((2..).map(numbered));
        candidates.find(|path| taken.insert(path.clone())).unwrap_or(path)
    };
    parts.iter().map(unique).collect()
}

/// Returns the innermost folder that contains all logs.
fn common_folder(logs: &[PathBuf]) -> PathBuf {
    let folders = logs.iter().map(|log| log.parent().unwrap_or(Path::new("")));
    let common_prefix = |a: PathBuf, b: &Path| -> PathBuf {
        let pairs = a.components().zip(b.components());
        pairs.take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    };
    let mut folders = folders.map(Path::to_path_buf);
    let first = folders.next().unwrap_or_default();
    folders.fold(first, |common, folder| common_prefix(common, &folder))
}

/// Returns the names in a path. Drops `..` and the root, so that no redacted path leads out of the output
/// folder.
fn parts(path: &Path) -> Vec<String> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    };
    path.components().filter_map(name).collect()
}

/// Splits a name into stem and suffix; drops the suffix of a compressed file.
fn split(name: &str) -> (&str, &str) {
    let plain = COMPRESSED.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let suffix = SUFFIXES.iter().find(|suffix| plain.ends_with(**suffix)).map_or(0, |suffix| suffix.len());
    plain.split_at(plain.len() - suffix)
}

/// Returns whether a name is that of a session, of a subagent, or of a folder of subagents.
fn is_id(name: &str) -> bool {
    let agent =
        |id: &str| !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    SUBAGENTS.contains(&name) || is_uuid(name) || name.strip_prefix(AGENT_PREFIX).is_some_and(agent)
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
    fn ids_of_sessions_are_kept_and_names_of_projects_replaced() {
        let id = "5f3a1c20-7d41-4e8b-9a55-0c6be1f00001";
        let logs = [
            format!("/x/projects/-home-me-api/{id}.jsonl"),
            format!("/x/projects/-home-me-shop/{id}.jsonl.gz"),
            format!("/x/projects/-home-me-shop/{id}/subagents/agent-a77b.jsonl"),
            "/x/projects/-home-me-shop/notes.json".to_owned(),
        ];
        let new = redacted_paths(&logs.map(PathBuf::from));
        let expected = [
            format!("redacted-1/{id}.jsonl"),
            format!("redacted-2/{id}.jsonl"),
            format!("redacted-2/{id}/subagents/agent-a77b.jsonl"),
            "redacted-2/redacted-3.json".to_owned(),
        ];
        assert_eq!(new, expected.map(PathBuf::from));
    }

    #[test]
    fn redacted_paths_are_unique_and_do_not_leave_their_folder() {
        let id = "5f3a1c20-7d41-4e8b-9a55-0c6be1f00001";
        let logs = [
            "../a/x.jsonl".to_owned(),
            format!("b/{id}.jsonl"),
            format!("b/{id}.jsonl.zst"),
            "/etc/y.jsonl".to_owned(),
        ];
        let new = redacted_paths(&logs.map(PathBuf::from));
        let all: HashSet<&PathBuf> = new.iter().collect();
        assert_eq!(all.len(), 4, "{new:?}");
        assert!(
            new.iter().all(|path| path.components().all(|part| matches!(part, Component::Normal(_)))),
            "{new:?}"
        );
        assert_eq!(redacted_paths(&[PathBuf::from("secret.jsonl")]), [PathBuf::from("redacted-1.jsonl")]);
    }
}
