//! `ccstat questions`: questions, answers, and how long they took.

use serde_json::{Value, json};

use crate::support::{printed_rows, run_with};

/// Returns the rows of a report about these logs.
fn rows(logs: &[&str]) -> Vec<Value> {
    printed_rows(&[&["questions"], logs].concat())
}

/// Returns the cells of a row except for its location.
fn cells(row: &Value) -> Value {
    let keys = ["header", "question", "options", "multi_select", "answer", "end", "latency_ms", "id"];
    Value::Array(keys.iter().map(|key| row[key].clone()).collect())
}

/// The recordings, read by hand: one call with one question, in both dialects. The times are those of the
/// `tool_use` and of the `tool_result`, in the same file.
#[test]
fn a_recorded_question_has_the_same_row_in_each_dialect_and_in_both() {
    let cases = [
        // 23:42:02.747 and 23:42:02.838; `No such tool available` in a plain `-p`.
        ("2.1.325", "19-askuserquestion", "toolu_2132519000100", "not available", json!(91)),
        // 23:47:23.759 and 23:47:23.875; the host denied it.
        ("2.1.325", "77-askuserquestion-host", "toolu_2132577000100", "denied", json!(116)),
        // 23:54:24.781 and 23:54:24.809, which the stream of this version lacks; denied, since nobody could
        // answer.
        ("2.1.50", "19-askuserquestion", "toolu_215019000100", "denied", json!(28)),
    ];
    for (version, name, id, end, wait) in cases {
        let stream = format!("recordings/{version}/stream/{name}.jsonl");
        let saved = format!("recordings/{version}/transcript/{name}");
        for logs in [&[&*stream][..], &[&*saved], &[&*stream, &*saved], &[&*saved, &*stream]] {
            let rows = rows(logs);
            let untimed = version == "2.1.50" && logs == [&*stream];
            let wait = if untimed { &Value::Null } else { &wait };
            let expected = json!(["Language", "Which language?", ["Go", "Rust"], false, null, end, wait, id]);
            assert_eq!(rows.iter().map(cells).collect::<Vec<_>>(), [expected], "{logs:?}");
            assert_eq!(rows[0]["started"].is_null(), untimed);
            if logs != [&*saved] {
                assert_eq!(rows[0]["line"], 2, "where the stream asks");
            }
        }
    }
}

/// The story: line 2 asks two questions at 09:00:04.000, answered at 09:01:34.500 with both answers in a
/// field; line 4 asks two at 09:01:40, and at 09:01:52 only the text has one answer, with quotes in it; line
/// 6 asks one and the log ends.
#[test]
fn a_saved_session_has_a_row_for_each_question_of_a_call() {
    let rows = rows(&["logs/questions/saved.jsonl"]);
    let short: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!([
                row["header"],
                row["multi_select"],
                row["answer"],
                row["end"],
                row["latency_ms"],
                row["line"]
            ])
        })
        .collect();
    assert_eq!(
        short,
        [
            json!(["Database", false, "PostgreSQL", "answered", 90_500, 2]),
            json!(["Checks", true, "Lint, Unit tests", "answered", 90_500, 2]),
            json!(["Name", false, "the \"cart\" service", "answered", 12_000, 4]),
            json!(["When", false, null, "unanswered", 12_000, 4]),
            json!(["Delete", false, null, "unanswered", null, 6]),
        ]
    );
    assert_eq!(rows[1]["options"], json!(["Lint", "Unit tests", "Load test"]));
    assert_eq!(rows[1]["id"], "toolu_a5_1");
    assert_eq!(rows[0]["started"], "2026-01-12T09:00:04.000Z");
    assert_eq!(rows[0]["project"], "/home/dev/shop");
    assert_eq!(rows[0]["version"], "2.0.76");
}

#[test]
fn an_answer_over_the_control_protocol_may_be_in_another_log() {
    let (stream, input) = ("logs/questions/host-stream.jsonl", "logs/questions/host-input.jsonl");
    for logs in [[stream, input], [input, stream]] {
        let rows: Vec<Value> = rows(&logs).iter().map(cells).collect();
        let expected = [
            json!([
                "Language",
                "Which language?",
                ["Go", "Rust"],
                false,
                "Rust",
                "answered",
                null,
                "toolu_a5b_1"
            ]),
            json!([
                "Systems",
                "Which systems?",
                ["Linux", "macOS"],
                true,
                "Linux, macOS",
                "answered",
                null,
                "toolu_a5b_1"
            ]),
        ];
        assert_eq!(rows, expected, "{logs:?}");
    }
    let alone = rows(&[stream]);
    assert_eq!(alone.len(), 2);
    assert!(alone.iter().all(|row| row["end"] == "unanswered" && row["answer"].is_null()));
    assert!(rows(&[input]).is_empty(), "an answer alone is not a question");
}

#[test]
fn a_bridge_answers_with_a_message_of_its_own() {
    let rows: Vec<Value> = rows(&["logs/questions/bridge.jsonl"]).iter().map(cells).collect();
    let expected =
        json!(["Language", "Which language?", ["Go", "Rust"], false, "Zig", "answered", null, "toolu_a5c_1"]);
    assert_eq!(rows, [expected]);
}

#[test]
fn a_result_alone_shows_a_refused_question() {
    let rows: Vec<Value> = rows(&["logs/questions/result-alone.json"]).iter().map(cells).collect();
    let expected =
        json!(["Language", "Which language?", ["Go", "Rust"], false, null, "denied", null, "toolu_a5d_1"]);
    assert_eq!(rows, [expected]);
}

#[test]
fn a_log_without_questions_says_so_in_one_line() {
    let (code, stdout, stderr) = run_with(&["questions", "recordings/2.1.325/stream/01-simple-text.jsonl"]);
    assert_eq!((code, &*stderr), (0, ""));
    assert_eq!(stdout.lines().last(), Some("no question was asked"));
    assert!(rows(&["recordings/2.1.325/stream/01-simple-text.jsonl"]).is_empty());
}

#[test]
fn filters_apply_to_questions() {
    let all = ["recordings/2.1.325/stream", "recordings/2.1.50/transcript"];
    assert_eq!(rows(&all).len(), 3, "recordings 19 and 77 of 2.1.325, 19 of 2.1.50");
    let one = rows(&["--session", "00021325-0000-4000-8000-000000000077", all[0], all[1]]);
    assert_eq!(one.iter().map(|row| &row["end"]).collect::<Vec<_>>(), ["denied"]);
    assert_eq!(
        rows(&["--since", "2026-11-15T23:50:00Z", all[0], all[1]]).len(),
        1,
        "that of 2.1.50 is of 23:54"
    );
    assert_eq!(rows(&["--tool", "AskUserQuestion", all[0], all[1]]).len(), 3);
    assert!(rows(&["--tool", "Bash", all[0], all[1]]).is_empty());
}
