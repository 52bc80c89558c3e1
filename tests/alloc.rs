//! Zero-copy is a test, not a word: allocations per record are counted, and bounded by kind.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use allocation_counter::measure;
use ccstat::{
    event::{self, Body, Event},
    facts::Facts,
    input::{Place, SourceId},
};
use serde_json::Value;

/// What a record may allocate at most: its kind, when it is decoded, when a copy of it is absorbed. Records of all other
/// kinds allocate nothing.
const BOUNDS: &[(&str, u64, u64)] = &[
    // Large and rare: boxed, with a list of models, one since the last result, and one of denials.
    ("result", 6, 3),
    ("cost-state", 2, 1),
    // What is rare about a record is kept apart from its row.
    ("system/api_error", 0, 1),
    ("system/api_retry", 0, 1),
];

/// The row of a kind, or of all kinds of its type.
fn bounds(kind: &str) -> (u64, u64) {
    let of = |name: &str| kind == name || kind.split('/').next() == Some(name);
    BOUNDS.iter().find(|(name, ..)| of(name)).map_or((0, 0), |(_, decoded, absorbed)| (*decoded, *absorbed))
}

/// All logs in a folder of `testdata/`.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
    let mut logs: Vec<PathBuf> = folders.iter().flat_map(|folder| logs(folder)).collect();
    logs.extend(files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")));
    logs.sort();
    logs
}

/// The lines of all samples and recordings that are one record.
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

/// What a message may allocate: its lists hold one block in place and double when there are more, and a text that is
/// looked at loses its escapes.
fn message(line: &str) -> u64 {
    let record: Value = serde_json::from_str(line).unwrap();
    let message = &record["message"];
    let content = &message["content"];
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let lists = 2 * u64::from(blocks.len().max(1).next_power_of_two().ilog2()); // as found, and as understood
    // Prompts may be commands, failed results may be refusals, and what the CLI says itself may be an error.
    let refusals = blocks.iter().filter(|block| block["is_error"] == true).map(|block| &block["content"]);
    let own = blocks.iter().filter(|_| message["model"] == "<synthetic>").map(|block| &block["text"]);
    let looked_at = std::iter::once(content).filter(|content| content.is_string()).chain(refusals).chain(own);
    lists + looked_at.filter(|text| text.to_string().contains('\\')).count() as u64
}

#[test]
fn decoding_allocates_nothing_but_for_what_is_large_and_rare() {
    let mut most_seen = BTreeMap::new();
    for line in lines() {
        let kind = event::decode(line.as_bytes()).unwrap().kind.name().into_owned();
        let used = measure(|| assert!(event::skim(&line, 0).is_some())).count_total;
        let (bound, more) = (bounds(&kind).0, message(&line));
        assert!(used <= bound + more, "{used} instead of {bound} + {more}: {line}");
        let most = most_seen.entry(bound).or_insert(0);
        *most = used.saturating_sub(more).max(*most);
    }
    assert!(most_seen.iter().all(|(bound, most)| bound == most), "a bound is too wide: {most_seen:?}");
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
    // Rows wait until there are some dozens of them: after a second time all are in their tables.
    for event in events.iter().chain(&events) {
        absorb(event);
    }
    // Lists that keep every record of a kind grow now and then.
    let mut growth = 0;
    for event in &events {
        let api_error = matches!(&event.body, Body::Message(message) if message.api_error.is_some());
        let bound = bounds(&event.kind.name()).1 + u64::from(api_error);
        growth += absorb(event).saturating_sub(bound);
    }
    assert!(growth <= 4, "{growth} more than the bounds for {} records", events.len());
}
