//! Counts the allocations of decoding and absorbing each record, and checks them against a limit per kind.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use allocation_counter::measure;
use ccstat::internal::{
    event::{self, Body, Event},
    facts::Facts,
    input::{Place, SourceId},
};
use serde_json::Value;

/// Maximum number of allocations per kind: when a record is decoded, and when a copy of it is absorbed.
/// Records of all other kinds allocate nothing.
const LIMITS: &[(&str, u64, u64)] = &[
    // Large and rare: boxed, with a list of models, one of models since the last result, and one of denials.
    ("result", 6, 3),
    ("cost-state", 2, 1),
    // Rare facts are stored outside of the record's row.
    ("system/api_error", 0, 1),
    ("system/api_retry", 0, 1),
];

/// Returns the limits of a kind, by its name or its type.
fn limits(kind: &str) -> (u64, u64) {
    let matches = |name: &str| kind == name || kind.split('/').next() == Some(name);
    LIMITS
        .iter()
        .find(|(name, ..)| matches(name))
        .map_or((0, 0), |(_, decoded, absorbed)| (*decoded, *absorbed))
}

/// Returns the paths of all logs in a folder.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
    let mut logs: Vec<PathBuf> = folders.iter().flat_map(|folder| logs(folder)).collect();
    logs.extend(files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")));
    logs.sort();
    logs
}

/// Returns the lines of all samples and recordings that are one record.
fn lines() -> Vec<String> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let logs = ["kinds", "recordings"].map(|folder| logs(&testdata.join(folder))).concat();
    let lines = logs.iter().flat_map(|log| {
        let text = fs::read_to_string(log).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let lines: Vec<String> = lines.filter(|line| event::decode(line.as_bytes()).is_ok()).collect();
    assert!(lines.len() > 4000, "{} records", lines.len());
    lines
}

/// Returns how many more allocations a message may take. Its lists hold one block inline and double when
/// there are more, and a text with escapes is copied if its content matters.
fn message_allocations(line: &str) -> u64 {
    let record: Value = serde_json::from_str(line).unwrap();
    let message = &record["message"];
    let content = &message["content"];
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let lists = 2 * u64::from(blocks.len().max(1).next_power_of_two().ilog2()); // as parsed, and as decoded
    // Prompts may be commands, failed results may be refusals, and messages of the CLI itself may be API
    // errors.
    let refusals = blocks.iter().filter(|block| block["is_error"] == true).map(|block| &block["content"]);
    let synthetic = blocks.iter().filter(|_| message["model"] == "<synthetic>").map(|block| &block["text"]);
    let inspected =
        std::iter::once(content).filter(|content| content.is_string()).chain(refusals).chain(synthetic);
    lists + inspected.filter(|text| text.to_string().contains('\\')).count() as u64
}

#[test]
fn decoding_allocates_only_for_large_and_rare_records() {
    let mut highest = BTreeMap::new();
    for line in lines() {
        let kind = event::decode(line.as_bytes()).unwrap().kind.name().into_owned();
        let used = measure(|| assert!(event::skim(&line, 0).is_some())).count_total;
        let (limit, more) = (limits(&kind).0, message_allocations(&line));
        assert!(used <= limit + more, "{used} instead of {limit} + {more}: {line}");
        let seen = highest.entry(limit).or_insert(0);
        *seen = used.saturating_sub(more).max(*seen);
    }
    assert!(highest.iter().all(|(limit, seen)| limit == seen), "a limit is too high: {highest:?}");
}

#[test]
fn a_copy_of_a_record_is_absorbed_in_place() {
    let lines = lines();
    let events: Vec<Event<'_>> = lines.iter().map(|line| event::decode(line.as_bytes()).unwrap()).collect();
    let mut facts = Facts::default();
    let mut number = 0;
    let mut absorb = |event: &Event<'_>| {
        number += 1;
        let place = Place { source: SourceId(0), offset: number, unit: 0, line: number };
        measure(|| facts.absorb(place, event)).count_total
    };
    // New rows are inserted by the dozen: after the second pass all are in their tables.
    for event in events.iter().chain(&events) {
        absorb(event);
    }
    // Lists with an entry per record of a kind, such as compactions, grow now and then.
    let mut growth = 0;
    for event in &events {
        let api_error = matches!(&event.body, Body::Message(message) if message.api_error.is_some());
        let limit = limits(&event.kind.name()).1 + u64::from(api_error);
        growth += absorb(event).saturating_sub(limit);
    }
    assert!(growth <= 5, "{growth} more than the limits for {} records", events.len());
}
