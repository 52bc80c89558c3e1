//! The same records in every shape that a log can have: the report is the same, except for the counts of the
//! input.

use std::{fs, path::PathBuf};

use ccstat::internal::{
    facts::Detail,
    input::{self, Limits, Roots},
    measure::Prices,
    scan::{self, Options, Progress},
};
use serde_json::Value;

use crate::{
    plain,
    support::{gzip, json, log, recording},
};

/// Runs with turns, subagents, denials, partial messages, saved sessions and characters beyond ASCII.
fn stories() -> Vec<PathBuf> {
    let mut stories: Vec<PathBuf> = [
        "stream/06-multi-turn-stdin.jsonl",
        "stream/30-partial-messages.jsonl",
        "stream/34-permission-denied-bash.jsonl",
        "stream/36-subagent.jsonl",
        "stream/58-slash-clear-multi.jsonl",
        "stream/99-unicode-and-blank.jsonl",
    ]
    .map(recording)
    .to_vec();
    stories.extend(plain::files(&recording("transcript/50-resume")));
    stories.extend(plain::files(&recording("transcript/36-subagent")));
    stories
}

/// One log: its original lines, and the same records as values.
struct Story {
    lines: Vec<String>,
    records: Vec<Value>,
}

impl Story {
    /// A recording, with an unknown kind and an unknown block at its end.
    fn read(path: &PathBuf) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut lines: Vec<String> =
            text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        lines.push(r#"{"type":"telepathy","session_id":"s"}"#.to_owned());
        lines.push(r#"{"type":"user","session_id":"s","message":{"content":[{"type":"smell"}]}}"#.to_owned());
        let records = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        Self { lines, records }
    }

    fn pretty_objects(&self) -> String {
        self.records.iter().map(|record| format!("{record:#}\n")).collect()
    }

    fn pretty_array(&self) -> String {
        serde_json::to_string_pretty(&self.records).unwrap()
    }

    /// Returns the log in every shape, by name.
    fn shapes(&self) -> Vec<(&'static str, Vec<u8>)> {
        let lines = self.lines.join("\n");
        let text = |name, text: String| (name, text.into_bytes());
        vec![
            text("lines without a last line's end", lines.clone()),
            text("a compact array", format!("[{}]", self.lines.join(","))),
            text("an array with an element a line", format!("[\n{}\n]\n", self.lines.join(",\n"))),
            text("a pretty array", self.pretty_array()),
            text("a pretty array on blanks", format!("\n \n{}\n\n", self.pretty_array())),
            text("objects glued on one line", self.lines.concat()),
            text("objects glued in pairs", self.lines.chunks(2).map(|pair| pair.concat() + "\n").collect()),
            text("objects on one line with blanks between", self.lines.join("  \t ")),
            text("pretty objects one after another", self.pretty_objects()),
            text("pretty objects glued together", self.pretty_objects().replace("}\n{", "}{")),
            text("a byte order mark before lines", format!("\u{feff}{lines}\n")),
            text("a byte order mark before an array", format!("\u{feff}{}", self.pretty_array())),
            text("CRLF", format!("{}\r\n", self.lines.join("\r\n"))),
            text("CRLF in a pretty array", self.pretty_array().replace('\n', "\r\n")),
            text("blank lines between", format!("\n\n{}\n \t\n\r\n", self.lines.join("\n\n"))),
            text("NULs between and before", format!("\0\0\0\n\0{}\n\0\0", self.lines.join("\n\0\0\0\n\0\0"))),
            ("gzip", gzip(lines.as_bytes())),
            ("gzip in two members", [gzip(self.half(0).as_bytes()), gzip(self.half(1).as_bytes())].concat()),
            ("gzip of a pretty array", gzip(self.pretty_array().as_bytes())),
            ("zstd", zstd::encode_all(lines.as_bytes(), 3).unwrap()),
            ("zstd of pretty objects", zstd::encode_all(self.pretty_objects().as_bytes(), 3).unwrap()),
        ]
    }

    fn half(&self, half: usize) -> String {
        let (first, second) = self.lines.split_at(self.lines.len() / 2);
        [first, second][half].iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Returns the report of one log, without the parts that depend on its shape: bytes, lines, and places.
fn report(bytes: &[u8]) -> Value {
    let mut report = json(&[log(bytes).path()]);
    for key in ["bytes", "lines", "blank"] {
        report["input"].as_object_mut().unwrap().remove(key);
    }
    for group in ["kinds", "blocks"] {
        for stranger in report["unknown"][group].as_object_mut().unwrap().values_mut() {
            let stranger = stranger.as_object_mut().unwrap();
            stranger.remove("source");
            stranger.remove("line");
        }
    }
    report
}

#[test]
fn a_log_gives_the_same_report_in_every_shape() {
    for path in stories() {
        let story = Story::read(&path);
        let expected = report((story.lines.join("\n") + "\n").as_bytes());
        assert_eq!(expected["input"]["records"], story.lines.len());
        assert_eq!((&expected["input"]["invalid"], &expected["input"]["truncated"]), (&0.into(), &0.into()));
        assert_eq!(expected["unknown"]["kinds"]["telepathy"]["count"], 1);
        assert_eq!(expected["unknown"]["blocks"]["user/smell"]["count"], 1);
        for (shape, bytes) in story.shapes() {
            assert_eq!(report(&bytes), expected, "{} as {shape}", path.display());
        }
    }
}

#[test]
fn lines_are_physical_lines_in_every_shape() {
    let lines = |text: &str| {
        let input = &json(&[log(text).path()])["input"];
        (input["lines"].as_u64().unwrap(), input["blank"].as_u64().unwrap())
    };
    assert_eq!(lines("{\"type\":\"a\"}\n{\"type\":\"b\"}"), (2, 0), "the last line needs no end");
    assert_eq!(lines("{\"type\":\"a\"}\n{\"type\":\"b\"}\n"), (2, 0));
    assert_eq!(lines("\n{\"type\":\"a\"}\n\0\0\n \t\r\n"), (4, 3), "a line of NULs is blank");
    assert_eq!(lines("[\n  {\n    \"type\": \"a\"\n  }\n]\n"), (5, 0));
    assert_eq!(lines("[\n\n{\"type\":\"a\"}]"), (3, 1));
}

#[test]
fn bytes_are_counted_after_unpacking() {
    let line = b"{\"type\":\"user\"}\n";
    for packed in [gzip(line), zstd::encode_all(&line[..], 3).unwrap()] {
        assert_eq!(json(&[log(packed).path()])["input"]["bytes"], line.len());
    }
}

#[test]
fn a_record_joined_to_a_line_keeps_its_line_number_across_units() {
    let line = r#"{"type":"summary"}"#;
    let text = format!("{line}\n{line}\n{line}{line}{line}\n{line}\n");
    let log = log(&text);
    let search = input::find(&Roots::Paths(vec![log.path().to_owned()]));
    for unit in 1..=text.len() as u64 {
        let limits = Limits { unit, ..Limits::default() };
        let options =
            Options { limits, detail: Detail::ROWS | Detail::RECORDS, threads: 1, ..Options::default() };
        let scan = scan::scan(&search.sources, &options, &Progress::default());
        let ledger = scan.facts.ledger(&Prices::built_in());
        let lines: Vec<u64> =
            ledger.records.iter().map(|record| record.context.location.unwrap().line).collect();
        assert_eq!(lines, [1, 2, 3, 3, 3, 4], "units of {unit} bytes");
    }
}
