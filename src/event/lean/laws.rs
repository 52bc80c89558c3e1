//! Laws of chunks: every record comes back, folding loses no count, and damage never panics.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{ChunkWriter, Position, Visitor, read_chunk};
use crate::event::{Event, decode};

/// The records that a reader returns.
#[derive(Default)]
struct Seen {
    /// Position and fields of each record.
    records: Vec<(Position, String)>,
    json: Vec<Position>,
    /// Records by kind, tallied ones included.
    kinds: BTreeMap<String, u64>,
    /// Earliest and latest time.
    times: Option<(String, String)>,
}

/// All fields but the text.
fn fields(event: &Event<'_>) -> String {
    format!("{:?}", Event { text: "", ..event.clone() })
}

impl Seen {
    fn count(&mut self, event: &Event<'_>, count: u64) {
        *self.kinds.entry(event.kind.name().into_owned()).or_default() += count;
        if let Some(time) = event.time.map(|time| time.to_string()) {
            let (first, last) = self.times.take().unwrap_or((time.clone(), time.clone()));
            self.times = Some((first.min(time.clone()), last.max(time)));
        }
    }
}

impl Visitor for Seen {
    fn record(&mut self, at: Position, event: &mut Event<'_>) {
        self.records.push((at, fields(event)));
        self.count(event, 1);
    }

    fn json(&mut self, at: Position, line: &[u8]) {
        self.json.push(at);
        self.count(&decode(line).unwrap(), 1);
    }

    fn note(&mut self, _line: &[u8]) {}

    fn tally(&mut self, _at: Position, event: &Event<'_>, count: u64) {
        self.count(event, count);
    }
}

/// A saved session: messages and records that are only counted, in any order.
fn log() -> impl Strategy<Value = Vec<String>> {
    let line = (0..5u8, 0..3u8, 0..60u8, any::<u128>(), "[a-z]{0,9}").prop_map(|(kind, session, second, id, text)| {
        let uuid = format!("{id:032x}");
        let uuid = [&uuid[..8], &uuid[8..12], &uuid[12..16], &uuid[16..20], &uuid[20..]].join("-");
        let shared = format!(
            "\"sessionId\":\"s{session}\",\"version\":\"2.1.{session}\",\"timestamp\":\"2026-01-01T00:00:{second:02}.000Z\""
        );
        match kind {
            0 => format!("{{\"type\":\"tools-used\",{shared}}}"),
            1 => format!("{{\"type\":\"api-request\",\"sessionId\":\"s{session}\"}}"),
            2 => format!(
                "{{\"type\":\"assistant\",\"uuid\":\"{uuid}\",\"parentUuid\":0,{shared},\"message\":{{\"id\":\"m{text}\",\"role\":\"assistant\",\"model\":\"x\",\"usage\":{{\"input_tokens\":{second}}},\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{text}\",\"name\":\"Bash\",\"input\":\"{text}\"}}]}}}}"
            ),
            3 => format!(
                "{{\"type\":\"user\",\"uuid\":\"{text}\",\"parentUuid\":0,{shared},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{text}\",\"is_error\":true,\"content\":\"{text}\"}}]}}}}"
            ),
            _ => format!("{{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"s{session}\"}}"),
        }
    });
    prop::collection::vec(line, 0..40)
}

/// The chunks of a log, and the position of each of its records.
fn written(lines: &[String], each: usize, blank: u64) -> (Vec<Vec<u8>>, Vec<Position>) {
    let (mut writer, mut chunks, mut places) = (ChunkWriter::default(), Vec::new(), Vec::new());
    let mut at = Position::default();
    for (index, line) in lines.iter().enumerate() {
        let event = decode(line.as_bytes()).unwrap();
        if !writer.record(at, &event) {
            writer.json(at, event.bytes, line);
        }
        places.push(at);
        at.offset += event.bytes + 1 + blank * (index as u64 % 2);
        at.line += 1 + blank * (index as u64 % 2);
        if index % each == each - 1 {
            chunks.push(writer.take());
        }
    }
    chunks.push(writer.take());
    (chunks, places)
}

fn read(chunks: &[Vec<u8>], folded: bool) -> Seen {
    let (mut seen, mut position) = (Seen::default(), Position::default());
    for chunk in chunks {
        read_chunk(chunk, &mut position, folded, &mut seen).unwrap();
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_record_comes_back_at_its_place(lines in log(), each in 1..50usize, blank in 0..3u64) {
        let (chunks, places) = written(&lines, each, blank);
        let all = read(&chunks, false);
        let mut found: Vec<Position> = all.records.iter().map(|record| record.0).collect();
        prop_assert!(found.is_sorted(), "records are in the order of the log");
        found.extend(&all.json);
        found.sort_unstable();
        prop_assert_eq!(found, places.clone());
        for (at, found) in &all.records {
            let event = decode(lines[places.binary_search(at).unwrap()].as_bytes()).unwrap();
            prop_assert_eq!(&fields(&event), found);
        }
    }

    #[test]
    fn folding_loses_no_record_and_no_time(lines in log(), each in 1..50usize) {
        let (chunks, _) = written(&lines, each, 0);
        let (all, folded) = (read(&chunks, false), read(&chunks, true));
        prop_assert_eq!(all.kinds, folded.kinds);
        prop_assert_eq!(all.times, folded.times);
        prop_assert!(all.json == folded.json && all.records.len() >= folded.records.len());
        let is_kept = |record: &&(Position, String)| folded.records.contains(record);
        prop_assert_eq!(all.records.iter().filter(is_kept).count(), folded.records.len());
    }

    #[test]
    fn a_damaged_chunk_never_panics(lines in log(), at: prop::sample::Index, byte: u8, cut: bool) {
        struct Anything;
        impl Visitor for Anything {
            fn record(&mut self, _at: Position, _event: &mut Event<'_>) {}
            fn json(&mut self, _at: Position, _line: &[u8]) {}
            fn note(&mut self, _line: &[u8]) {}
            fn tally(&mut self, _at: Position, _event: &Event<'_>, _count: u64) {}
        }
        let (chunks, _) = written(&lines, 100, 0);
        let mut chunk = chunks.concat();
        let at = at.index(chunk.len());
        if cut { chunk.truncate(at) } else { chunk[at] = byte }
        for folded in [false, true] {
            let _ = read_chunk(&chunk, &mut Position::default(), folded, &mut Anything);
        }
    }
}
