//! `search`: finds texts in logs, whatever they are written with.

use std::io::Write as _;

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::support::{ccstat, gzip, log, printed_rows, recording, run, run_with, testdata};

const ONE: &str = "44444444-0000-4000-8000-000000000001";
const TWO: &str = "44444444-0000-4000-8000-000000000002";

/// A record of a saved session, at this second.
fn saved(session: &str, second: u64, uuid: &str, record: Value) -> Value {
    let mut record = record;
    record["sessionId"] = session.into();
    record["uuid"] = uuid.into();
    record["timestamp"] = format!("2026-03-02T10:00:{second:02}.000Z").into();
    record["cwd"] = "/home/dev/shop".into();
    record["isSidechain"] = false.into();
    record
}

fn prompt(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn assistant(id: &str, model: &str, block: &Value) -> Value {
    json!({"type": "assistant", "message": {"id": id, "role": "assistant", "model": model, "content": [block], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1}}})
}

fn result(call: &str, text: &str) -> Value {
    let block =
        json!({"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}]});
    json!({"type": "user", "message": {"role": "user", "content": [block]}})
}

/// A log in which everyone says the word.
fn story() -> NamedTempFile {
    let bash = json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "grep needle ."}});
    let read = json!({"type": "tool_use", "id": "c2", "name": "Read", "input": {"file_path": "/needle"}});
    let thinking = json!({"type": "thinking", "thinking": "a needle?", "signature": "needle"});
    let text = json!({"type": "text", "text": "first line\nthe Needle \"is\" here\nlast line"});
    let records = [
        saved(ONE, 0, "u0", prompt("find the needle")),
        saved(ONE, 1, "u1", assistant("m1", "claude-opus-4-8", &thinking)),
        saved(ONE, 2, "u2", assistant("m1", "claude-opus-4-8", &bash)),
        saved(ONE, 3, "u3", result("c1", "./hay: needle")),
        saved(ONE, 4, "u4", assistant("m2", "claude-opus-4-8", &text)),
        saved(TWO, 5, "u5", prompt("nothing")),
        saved(TWO, 6, "u6", assistant("m3", "claude-haiku-4-5", &read)),
        saved(TWO, 7, "u7", json!({"type": "ai-title", "aiTitle": "Needles"})),
    ];
    log(records.iter().map(|record| format!("{record}\n")).collect::<String>())
}

/// Role, tool and part of each row.
fn found(arguments: &[&str]) -> Vec<String> {
    let row = |row: &Value| {
        let cell = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", cell("role"), cell("tool"), cell("part"))
    };
    printed_rows(&[&["search"], arguments].concat()).iter().map(row).collect()
}

#[test]
fn every_text_is_found_newest_first() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let all = [
        "system - title",
        "tool Read input",
        "assistant - text",
        "tool Bash result",
        "tool Bash input",
        "assistant - thinking",
        "user - text",
    ];
    assert_eq!(found(&["needle", path]), all);
    assert_eq!(
        found(&["Needle", path]),
        ["system - title", "assistant - text"],
        "a capital makes case matter"
    );
    assert_eq!(found(&["needle \"is\"", path]), ["assistant - text"]);
    assert_eq!(found(&["line\nthe", path]), ["assistant - text"]);
    assert_eq!(found(&["--regex", "^the n.*here$", path]), ["assistant - text"]);
    assert_eq!(found(&["needle.", path]), [] as [&str; 0], "a plain text is not a pattern");
}

#[test]
fn filters_mean_the_same_as_everywhere() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let with = |filter: &[&str]| found(&[&["needle", path], filter].concat());
    assert_eq!(with(&["--session", TWO]), ["system - title", "tool Read input"]);
    // The response with the call is selected too: its thinking has the word.
    assert_eq!(with(&["--tool", "Bash"]), ["tool Bash result", "tool Bash input", "assistant - thinking"]);
    assert_eq!(with(&["--model", "haiku"]), ["tool Read input"]);
    assert_eq!(
        with(&["--since", "2026-03-02T10:00:04Z", "--until", "2026-03-02T10:00:06Z"]),
        ["assistant - text"]
    );
    assert_eq!(with(&["--subagents"]), [] as [&str; 0]);
    assert_eq!(with(&["--limit", "1"]), ["system - title"]);
}

#[test]
fn data_and_pipes_have_the_text_only_on_request() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let rows = printed_rows(&["search", "the needle", path]);
    assert!(rows.iter().all(|row| row.get("text").is_none()), "{rows:?}");
    assert_eq!((&rows[0]["session"], &rows[0]["line"]), (&ONE.into(), &5.into()));
    let rows = printed_rows(&["search", "the needle", path, "--content"]);
    assert_eq!(rows[0]["text"], "the Needle \"is\" here");
    let (_, table, _) = run_with(&["search", "the needle", path]);
    assert!(!table.contains("is\" here") && table.contains("assistant"), "{table}");
    let (_, table, _) = run_with(&["search", "the needle", path, "--content"]);
    assert!(table.contains("the Needle \"is\" here") && !table.contains("last line"), "{table}");
}

#[test]
fn copies_are_one_row() {
    let story = story();
    let text = std::fs::read_to_string(story.path()).unwrap();
    // A fork copies all records under a new id.
    let fork = log(text.replace(ONE, "44444444-0000-4000-8000-000000000009"));
    let (one, two) = (story.path().to_str().unwrap(), fork.path().to_str().unwrap());
    assert_eq!(found(&["needle", one, two]).len(), found(&["needle", one]).len());
    let both = ["stream/02-single-bash.jsonl", "transcript/02-single-bash"].map(recording);
    let [stream, saved] = both.each_ref().map(|path| path.to_str().unwrap());
    let word = "tool-use-test";
    let union = found(&[word, stream, saved]).len();
    assert_eq!(union, found(&[word, saved]).len());
    assert!(union > 0);
}

#[test]
fn compressed_logs_pipes_and_threads_give_the_same_rows() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let bytes = std::fs::read(path).unwrap();
    let packed = tempfile::Builder::new().suffix(".jsonl.gz").tempfile().unwrap();
    packed.as_file().write_all(&gzip(&bytes)).unwrap();
    assert_eq!(found(&["needle", packed.path().to_str().unwrap()]), found(&["needle", path]));
    let mut piped = ccstat(&["search", "needle", "-", "--format", "csv"]);
    let (code, stdout, _) = run(piped.write_stdin(bytes));
    assert_eq!((code, stdout.lines().count()), (0, 8), "{stdout}");
    let folder = testdata("recordings");
    let folder = folder.to_str().unwrap();
    let of = |threads: &str| {
        run_with(&["search", "echo", folder, "--format", "csv", "--content", "--threads", threads])
    };
    assert_eq!(of("1"), of("3"));
    assert!(of("1").1.lines().count() > 10);
}

#[test]
fn no_match_is_not_an_error_and_says_what_was_searched() {
    let story = story();
    let path = story.path().to_str().unwrap();
    let (code, stdout, stderr) = run_with(&["search", "absent", path, "--timezone", "UTC"]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(stdout.contains("no match in 2 sessions, from 2026-03-02 10:00 to 2026-03-02 10:00"), "{stdout}");
    for (arguments, message) in [
        (&["search", "", path][..], "nothing to search for"),
        (&["search", "--regex", "(", path], "not a regular expression"),
    ] {
        let (code, _, stderr) = run_with(arguments);
        assert_eq!(code, 2);
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn control_characters_of_a_match_never_reach_a_terminal() {
    let log = log(format!("{}\n", saved(ONE, 0, "u0", prompt("a needle \u{1b}[2J\u{202e} here"))));
    let (_, stdout, _) = run_with(&["search", "needle", log.path().to_str().unwrap(), "--content"]);
    assert!(stdout.contains("needle"), "{stdout}");
    assert!(!stdout.contains('\u{1b}') && !stdout.contains('\u{202e}'), "{stdout:?}");
}

#[test]
fn a_frequent_word_has_as_many_rows_as_people_read_and_all_of_them_in_data() {
    let record = |second: u64| saved("s", second, &format!("u{second}"), prompt("needle"));
    let log = log((0..40).map(|second| record(second).to_string() + "\n").collect::<String>());
    let path = log.path().to_str().unwrap();
    let table = |arguments: &[&str]| run_with(&[&["search", "needle", path], arguments].concat()).1;
    let rows = |table: &str| table.lines().filter(|line| line.contains("user")).count();
    for (arguments, shown) in [(&[][..], 30), (&["--limit", "5"], 5), (&["--limit", "39"], 39)] {
        let table = table(arguments);
        assert_eq!(rows(&table), shown, "{arguments:?}: {table}");
        assert!(table.contains(&format!("and {} more row", 40 - shown)), "{arguments:?}: {table}");
    }
    assert_eq!(rows(&table(&["--limit", "0"])), 40);
    assert_eq!(found(&["needle", path]).len(), 40);
}
