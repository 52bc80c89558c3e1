//! A simple reader of logs to compare ccstat with: `serde_json::Value`, line by line, and no code of ccstat.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::testdata;

/// The recorded versions.
pub(crate) const VERSIONS: [&str; 2] = ["2.1.325", "2.1.50"];

/// Returns the entries of a folder, sorted by name.
pub(crate) fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Returns all recordings of one version in one dialect: files of streams, folders of transcripts.
pub(crate) fn recorded(version: &str, dialect: &str) -> Vec<PathBuf> {
    listing(&testdata("recordings").join(version).join(dialect))
}

/// Returns all recordings of both versions in one dialect.
pub(crate) fn all(dialect: &str) -> Vec<PathBuf> {
    VERSIONS.iter().flat_map(|version| recorded(version, dialect)).collect()
}

/// Returns version, number and letter: `2.1.325 50-resume.a`.
pub(crate) fn label(path: &Path) -> String {
    let version = path.ancestors().nth(2).unwrap().file_name().unwrap().to_string_lossy().into_owned();
    format!("{version} {}", path.file_name().unwrap().to_string_lossy().trim_end_matches(".jsonl"))
}

/// Returns number and letter alone: `50a`, `34`.
pub(crate) fn number(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let letter =
        [".a.", ".b.", ".c."].iter().find(|part| name.contains(*part)).map_or("", |part| &part[1..2]);
    format!("{}{letter}", &name[..2])
}

/// Returns the `.jsonl` files of a recording: itself, or all below it.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return listing(path).iter().flat_map(|path| files(path)).collect();
    }
    let is_log = path.extension().is_some_and(|extension| extension == "jsonl");
    is_log.then(|| path.to_owned()).into_iter().collect()
}

/// Returns the records of a recording. Only the killed runs (49) have a line that is not a record, and it is
/// the last.
pub(crate) fn records(path: &Path) -> Vec<Value> {
    files(path).iter().flat_map(|file| records_of(file)).collect()
}

fn records_of(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    if text.starts_with('[') {
        return serde_json::from_str(&text).unwrap();
    }
    let lines: Vec<&str> = text.split('\n').filter(|line| !line.trim().is_empty()).collect();
    let read = |(index, line): (usize, &&str)| match serde_json::from_str(line) {
        Ok(record) => Some(record),
        Err(error) => {
            assert!(number(file) == "49" && index + 1 == lines.len(), "{}: {error}", file.display());
            None
        }
    };
    lines.iter().enumerate().filter_map(read).collect()
}

/// Returns the type, and the discriminator after a slash (CONTRACT 2).
pub(crate) fn kind(record: &Value) -> String {
    let name = record["type"].as_str().unwrap();
    let sub = match name {
        "system" | "result" => &record["subtype"],
        "queue-operation" => &record["operation"],
        "stream_event" => &record["event"]["type"],
        "control_request" => &record["request"]["subtype"],
        "control_response" => &record["response"]["subtype"],
        "attachment" => &record["attachment"]["type"],
        "progress" => &record["data"]["type"],
        _ => &Value::Null,
    };
    sub.as_str().map_or_else(|| name.to_owned(), |sub| format!("{name}/{sub}"))
}

/// Counts the records of each kind.
pub(crate) fn kinds(records: &[Value]) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    records.iter().for_each(|record| *kinds.entry(kind(record)).or_default() += 1);
    kinds
}

/// Returns the records of this type.
pub(crate) fn of_type<'a>(records: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| record["type"] == name)
}

/// Returns the blocks of all messages, with the role of their author.
pub(crate) fn blocks(records: &[Value]) -> Vec<(String, Value)> {
    let messages = records.iter().filter(|record| record["type"] == "user" || record["type"] == "assistant");
    let blocks = |record: &Value| -> Vec<(String, Value)> {
        let message = &record["message"];
        let role = message["role"].as_str().unwrap_or(record["type"].as_str().unwrap()).to_owned();
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        blocks.into_iter().map(|block| (role.clone(), block)).collect()
    };
    messages.flat_map(blocks).collect()
}

/// Returns the ids of all tool calls.
pub(crate) fn calls(records: &[Value]) -> BTreeSet<String> {
    let asked = |(_, block): (String, Value)| {
        (block["type"] == "tool_use").then(|| block["id"].as_str().unwrap().to_owned())
    };
    blocks(records).into_iter().filter_map(asked).collect()
}

/// Returns the ids in all `permission_denials`.
pub(crate) fn denials(records: &[Value]) -> BTreeSet<String> {
    of_type(records, "result")
        .flat_map(|result| result["permission_denials"].as_array().cloned().unwrap_or_default())
        .map(|entry| entry["tool_use_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the last result of each segment: `/clear` prints `conversation_reset` and starts from zero again
/// (PROTOCOL 10a).
pub(crate) fn last_results(records: &[Value]) -> Vec<&Value> {
    let segments = records.split(|record| record["type"] == "conversation_reset");
    segments.filter_map(|segment| segment.iter().rfind(|record| record["type"] == "result")).collect()
}

/// Converts dollars to nano-dollars.
pub(crate) fn nanos(dollars: &Value) -> i128 {
    let dollars = dollars.as_f64().unwrap_or_else(|| panic!("no dollars: {dollars}"));
    #[expect(clippy::cast_possible_truncation, reason = "recorded costs are far below the limit")]
    let nanos = (dollars * 1e9).round() as i128;
    nanos
}
