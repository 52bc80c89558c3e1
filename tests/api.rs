//! The interface of the library: its three ways to read agree, and a snapshot makes changes to its public
//! items visible.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{fmt::Write as _, fs, path::Path};

use ccstat::{Cell, Format, Logs, Stream, report_names};
use serde_json::Value;

const LOG: &str = "testdata/logs/seed";

fn summary_of_files(paths: &[&Path]) -> Value {
    written(|out| Logs::paths(paths).summary().unwrap().write(Format::Json, out))
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Value {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Removes the names of sources, which a stream does not have.
fn without_sources(mut summary: Value) -> Value {
    for place in summary["input"]["invalid_places"].as_array_mut().into_iter().flatten() {
        place["source"].take();
    }
    for group in ["kinds", "blocks"] {
        for place in summary["unknown"][group].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
            place["source"].take();
        }
    }
    summary
}

#[test]
fn a_file_a_reader_and_pushed_lines_give_the_same_summary() {
    let mut count = 0;
    for entry in ["testdata/logs", "testdata/recordings"].into_iter().flat_map(walkdir::WalkDir::new) {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        // Only a file of whole lines can be pushed line by line.
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if bytes.last() != Some(&b'\n') || serde_json::from_slice::<Value>(first).is_err() {
            continue;
        }
        let file = without_sources(summary_of_files(&[&path]));
        let mut stream = Stream::new();
        bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| stream.push(line));
        let pushed = written(|out| stream.summary().write(Format::Json, out));
        assert_eq!(without_sources(pushed), file, "{}", path.display());
        let reader = Logs::reader(std::io::Cursor::new(bytes)).summary().unwrap();
        let read = written(|out| reader.write(Format::Json, out));
        assert_eq!(without_sources(read), file, "{}", path.display());
        count += 1;
    }
    assert!(count > 20, "only {count} logs were compared");
}

#[test]
fn a_stream_can_be_summed_up_between_two_lines() {
    let mut stream = Stream::default();
    assert_eq!(stream.summary().input.records, 0);
    stream.push(br#"{"type":"result","subtype":"success","session_id":"s","total_cost_usd":0.5}"#);
    assert_eq!(stream.summary().turns.ok, 1);
    stream.push(b"not a record\n");
    stream.push(b"\n");
    let summary = stream.summary();
    assert_eq!((summary.input.lines, summary.input.invalid, summary.input.blank), (3, 1, 1));
    assert_eq!(summary.cost.total.map(|cost| cost.to_string()).as_deref(), Some("0.5"));
}

#[test]
fn every_named_report_has_the_rows_of_its_json() {
    for name in report_names() {
        let report = Logs::paths([LOG]).time_zone("UTC").report(name).unwrap();
        assert_eq!(report.name(), name);
        let json = written(|out| report.write(Format::Json, out));
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(report.rows().len(), rows.len(), "{name}");
        for (row, json) in report.rows().zip(rows) {
            for (column, cell) in row.iter() {
                let found = &json[column.key];
                match cell {
                    Cell::Missing => assert!(found.is_null(), "{name}.{}: {found}", column.key),
                    Cell::Count(count) => assert_eq!(found, count, "{name}.{}", column.key),
                    Cell::Text(text) => assert_eq!(found, text, "{name}.{}", column.key),
                    Cell::Flag(flag) => assert_eq!(found, flag, "{name}.{}", column.key),
                    Cell::Usd(amount) => assert_eq!(found.to_string(), amount.to_string(), "{name}"),
                    _ => assert!(!found.is_null(), "{name}.{}", column.key),
                }
            }
        }
    }
}

#[test]
fn a_filter_means_the_same_in_the_summary_and_in_a_report() {
    let summary = Logs::paths(["testdata/logs"]).tool("Bash").summary().unwrap();
    let report = Logs::paths(["testdata/logs"]).tool("Bash").report("tools").unwrap();
    let calls: u64 = report
        .rows()
        .map(|row| match row.get("calls") {
            Some(Cell::Count(count)) => *count,
            _ => 0,
        })
        .sum();
    assert!(summary.tools.total.calls > 0);
    assert_eq!(calls, summary.tools.total.calls);
    assert_eq!(report.rows().next().and_then(|row| row.get("no such key")), None);
}

#[test]
fn mistakes_of_the_caller_are_errors_and_missing_files_are_listed() {
    assert!(Logs::paths([LOG]).report("tool").unwrap_err().to_string().contains("no report `tool`"));
    assert!(Logs::paths([LOG]).since("soon").summary().is_err());
    assert!(Logs::paths([LOG]).time_zone("Nowhere/Land").summary().is_err());
    assert!(Logs::paths([LOG]).prices("not JSON").is_err());
    let summary = Logs::paths([LOG, "testdata/no-such-file.jsonl"]).threads(1).summary().unwrap();
    assert!(summary.input.records > 0);
    assert!(summary.unreadable()[0].reason.contains("no-such-file.jsonl"), "{:?}", summary.unreadable());
}

/// The public items of `src/api`, and those that `src/lib.rs` re-exports.
#[test]
fn the_public_items_are_these() {
    let mut items = String::new();
    let library = fs::read_to_string("src/lib.rs").unwrap();
    for item in library.split(';').map(str::trim).filter_map(|item| item.rsplit("\n\n").next()) {
        let item = item.trim_start_matches(['#', '[']);
        if let Some(at) = item.find("pub use ").filter(|_| !item.contains("$stage")) {
            let words: Vec<&str> = item[at..].split_whitespace().collect();
            writeln!(items, "{}", words.join(" ")).unwrap();
        }
    }
    for file in ["src/api.rs", "src/api/stream.rs", "src/api/table.rs"] {
        let text = fs::read_to_string(file).unwrap();
        for line in text.lines().filter(|line| line.trim_start().starts_with("pub ")) {
            let item = line.trim().trim_end_matches([' ', '{', ';', ',']);
            if !item.starts_with("pub use") {
                writeln!(items, "{item}").unwrap();
            }
        }
    }
    insta::assert_snapshot!(items);
}

#[test]
fn the_machine_of_an_archived_session_is_known() {
    let folder = tempfile::tempdir().unwrap();
    for (machine, log) in [("alpha", "02-single-bash"), ("beta", "03-two-sequential-bash")] {
        let below = folder.path().join(machine);
        fs::create_dir_all(&below).unwrap();
        let log = format!("testdata/recordings/2.1.325/stream/{log}.jsonl");
        let packed = zstd::encode_all(&*fs::read(&log).unwrap(), 1).unwrap();
        fs::write(below.join("run.jsonl.zst"), packed).unwrap();
    }
    fs::write(folder.path().join("ccstat-archive.json"), "{\"format\":1,\"machine\":\"alpha\"}").unwrap();
    let sessions = |pattern: &str| Logs::paths([folder.path()]).machine(pattern).summary().unwrap().sessions;
    assert_eq!((sessions("alpha"), sessions("b*"), sessions("*"), sessions("gamma")), (1, 1, 2, 0));
}
