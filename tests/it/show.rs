//! `show`: one session as a timeline.

use serde_json::Value;

use crate::support::{ccstat, log, run, run_with};

const STREAM: &str = "recordings/2.1.325/stream";

/// Returns the table of one recording at a width.
fn screen(recording: &str, width: &str) -> String {
    let path = format!("{STREAM}/{recording}.jsonl");
    let (code, stdout, stderr) =
        run(ccstat(&["show", "latest", "--timezone", "UTC", &path]).env("COLUMNS", width));
    assert_eq!((code, &*stderr), (0, ""));
    stdout
}

fn rows(arguments: &[&str]) -> Vec<Value> {
    let (code, stdout, stderr) = run_with(&[&["show"], arguments, &["--format", "jsonl"]].concat());
    assert_eq!((code, &*stderr), (0, ""));
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn column<'a>(rows: &'a [Value], key: &str) -> Vec<&'a str> {
    rows.iter().map(|row| row[key].as_str().unwrap_or("-")).collect()
}

#[test]
fn sessions_on_a_screen() {
    for recording in [
        "02-single-bash",
        "34-permission-denied-bash",
        "36-subagent",
        "40-compact",
        "45-api-retry-529",
        "50-resume.c",
    ] {
        for width in ["80", "140"] {
            insta::assert_snapshot!(format!("show-{recording}-{width}"), screen(recording, width));
        }
    }
}

#[test]
fn a_subagent_works_while_its_call_waits() {
    let rows = rows(&["latest", &format!("{STREAM}/36-subagent.jsonl")]);
    assert_eq!(column(&rows, "what"), ["response", "call", "response", "call", "response", "turn"]);
    assert_eq!(column(&rows, "name")[1], "Agent");
    assert_eq!(
        column(&rows, "agent"),
        ["main", "main", "general-purpose", "general-purpose", "main", "main"]
    );
    let number = |at: usize, key: &str| rows[at][key].as_f64().unwrap();
    assert!(number(1, "offset_ms") + number(1, "wall_ms") >= number(3, "offset_ms") + number(3, "wall_ms"));
}

#[test]
fn a_compaction_says_how_large_the_conversation_was() {
    let rows = rows(&["latest", "recordings/2.1.325/transcript/40-compact"]);
    let compaction = rows.iter().find(|row| row["what"] == "compaction").unwrap();
    assert!(compaction["context_before"].as_u64() > compaction["context"].as_u64(), "{compaction}");
}

#[test]
fn responses_of_a_session_cost_what_the_session_did() {
    let path = format!("{STREAM}/34-permission-denied-bash.jsonl");
    let rows = rows(&["latest", &path]);
    let of = |what: &str| -> f64 {
        rows.iter().filter(|row| row["what"] == what).filter_map(|row| row["cost_usd"].as_f64()).sum()
    };
    assert!((of("response") - 0.007968).abs() < 1e-9);
    assert!((of("turn") - 0.007968).abs() < 1e-9);
}

#[test]
fn a_unique_prefix_of_an_id_is_enough() {
    let folder = "recordings/2.1.325/stream";
    let (code, stdout, stderr) = run_with(&["show", "00021325-0000-4000-8000-00000000003", folder]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("several sessions start with") && stderr.contains("000000000034"), "{stderr}");
    let whole = rows(&["00021325-0000-4000-8000-000000000034", folder]);
    assert_eq!(whole.len(), 6);
    let (code, _, stderr) = run_with(&["show", "nowhere", folder]);
    assert_eq!(code, 2);
    assert!(stderr.contains("no session starts with `nowhere`"), "{stderr}");
}

#[test]
fn a_whole_id_wins_over_longer_ids_with_that_prefix() {
    let line = |id: &str| {
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"{id}\",\"isSidechain\":false,\"message\":{{\"content\":\"x\"}}}}\n"
        )
    };
    let log = log(line("ab") + &line("abc"));
    let path = log.path().to_str().unwrap();
    assert_eq!(run_with(&["show", "ab", path]).0, 0);
    assert_eq!(run_with(&["show", "a", path]).0, 2);
}

#[test]
fn events_without_times_keep_their_order_and_have_no_bars() {
    let lines = [
        r#"{"type":"assistant","session_id":"s","message":{"id":"m","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t","name":"Bash"}]}}"#,
        r#"{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true}]}}"#,
        r#"{"type":"result","subtype":"success","session_id":"s"}"#,
    ];
    let log = log(lines.join("\n"));
    let path = log.path().to_str().unwrap();
    let rows = rows(&["s", path]);
    assert_eq!(column(&rows, "what"), ["response", "call", "turn"]);
    assert_eq!(column(&rows, "end"), ["-", "error", "success"]);
    let (_, stdout, _) = run_with(&["show", "s", path]);
    assert!(!stdout.contains('█'), "{stdout}");
}

#[test]
fn a_long_session_is_cut_on_a_screen_and_whole_for_programs() {
    let line = |at: usize| {
        format!(
            "{{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{{\"id\":\"m{at}\",\"model\":\"model-{at:03}\",\"content\":[]}}}}\n"
        )
    };
    let log = log((0..250).map(line).collect::<String>());
    let path = log.path().to_str().unwrap();
    assert_eq!(rows(&["s", path]).len(), 250);
    let (_, stdout, _) = run_with(&["show", "s", path]);
    let all = format!("50 earlier rows are left out; all of them: ccstat show --limit 0 s {path}\n");
    assert!(stdout.contains(&all), "{stdout}");
    assert!(!stdout.contains("model-049") && stdout.contains("model-050"), "the newest stay: {stdout}");
    assert!(stdout.contains("model-249"), "{stdout}");
    let (_, stdout, _) = run_with(&["show", "s", "--limit", "0", path]);
    assert!(!stdout.contains("earlier rows"));
    let last = rows(&["s", path, "--limit", "2"]);
    assert_eq!(column(&last, "name"), ["model-248", "model-249"], "a limit keeps the newest");
    let first = rows(&["s", path, "--limit", "1", "--sort", "line:asc"]);
    assert_eq!(column(&first, "name"), ["model-000"], "in another order, a limit keeps the first");
}

#[test]
fn a_piped_session_is_shown() {
    let log = r#"{"type":"result","subtype":"success","session_id":"s"}"#;
    let (code, stdout, _) = run(ccstat(&["show", "s"]).write_stdin(log));
    assert_eq!(code, 0);
    assert!(stdout.contains("■ end"), "{stdout}");
}

// Only the project folder of a session is read.

const FIRST: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const SECOND: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000003";

/// A record of a response, as the CLI saves it.
fn response(session: &str, message: &str, second: u32) -> String {
    format!(
        "{{\"type\":\"assistant\",\"uuid\":\"uuid-{message}\",\"sessionId\":\"{session}\",\"isSidechain\":false,\
         \"timestamp\":\"2026-11-01T10:00:{second:02}.000Z\",\"message\":{{\"id\":\"{message}\",\"model\":\"claude-opus-5-5\",\
         \"content\":[],\"usage\":{{\"input_tokens\":100,\"output_tokens\":10}}}}}}\n"
    )
}

/// Folders of saved sessions: files by path, below `projects`.
struct Saved(tempfile::TempDir);

impl Saved {
    fn new(files: &[(&str, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join("projects").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn shown(&self, id: &str) -> (i32, String, String) {
        run_with(&["show", id, self.0.path().to_str().unwrap()])
    }

    /// Returns the rows if everything is read: standard input cannot be read twice.
    fn shown_of_everything(&self, id: &str) -> (i32, String, String) {
        run(ccstat(&["show", id, self.0.path().to_str().unwrap(), "-"]).write_stdin(""))
    }

    /// Returns the rows, which must be the same if everything is read.
    fn agreed(&self, id: &str) -> String {
        let (alone, all) = (self.shown(id), self.shown_of_everything(id));
        assert_eq!(alone, all, "{id}");
        assert_eq!(alone.0, 0, "{}", alone.2);
        alone.1
    }
}

/// Makes it visible if a session of this project is read along with others: most of its lines are invalid.
fn unlike_a_log(session: &str) -> String {
    response(session, "noise", 0) + &"not a record\n".repeat(20)
}

const DOUBT: &str = "This may not be a Claude Code log";

#[test]
fn only_the_project_folder_of_a_session_is_read() {
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("two/{OTHER}.jsonl"), unlike_a_log(OTHER)),
    ]);
    for id in [FIRST, "aaaa", "latest"] {
        let (code, stdout, stderr) = saved.shown(id);
        assert_eq!((code, &*stderr), (0, ""));
        assert!(stdout.contains(FIRST) && !stdout.contains(DOUBT), "{id}: {stdout}");
        assert!(saved.shown_of_everything(id).1.contains(DOUBT));
    }
    assert!(saved.shown("nowhere").2.contains("no session starts with `nowhere`"));
}

#[test]
fn a_fork_and_subagents_count_as_if_everything_was_read() {
    let copied = || response(SECOND, "a", 10);
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("one/{SECOND}.jsonl"), copied() + &response(SECOND, "b", 20)),
        (&format!("one/{FIRST}/subagents/agent-x.jsonl"), response(FIRST, "c", 12)),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 5)),
    ]);
    assert!(saved.agreed(FIRST).contains("2 steps"));
    assert!(saved.agreed(SECOND).contains("$0.0006"), "the copied response belongs to the first session");
    saved.agreed("latest");
}

#[test]
fn a_fork_in_another_folder_is_found_by_its_records() {
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("two/{SECOND}.jsonl"), response(SECOND, "a", 10) + &response(SECOND, "b", 20)),
        (&format!("three/{OTHER}.jsonl"), response(OTHER, "d", 5)),
    ]);
    for id in [FIRST, SECOND, "latest"] {
        saved.agreed(id);
    }
}

#[test]
fn a_session_in_two_folders_is_read_from_both() {
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("worktree/{FIRST}.jsonl"), response(FIRST, "b", 20)),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 5)),
    ]);
    assert!(saved.agreed(FIRST).contains("2 steps"));
    assert!(saved.agreed("latest").contains("2 steps"));
}

#[test]
fn an_id_that_only_records_name_is_found() {
    let inside = response(SECOND, "b", 20);
    let late = response(FIRST, "a", 10).repeat(2000) + &inside;
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), inside),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 5)),
    ]);
    assert!(saved.agreed(SECOND).contains("1 step"));
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), late),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 5)),
    ]);
    assert!(saved.agreed(SECOND).contains("1 step"), "everything is read if no first record names it");
}

#[test]
fn a_prefix_of_sessions_in_two_folders_is_ambiguous() {
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("two/{SECOND}.jsonl"), response(SECOND, "b", 20)),
    ]);
    let (code, _, stderr) = saved.shown("aaaa");
    assert_eq!(code, 2);
    assert!(stderr.contains("several sessions start with") && stderr.contains(SECOND), "{stderr}");
    saved.agreed(SECOND);
}

#[test]
fn latest_considers_all_sessions_that_began_at_the_same_time() {
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("three/{SECOND}.jsonl"), response(SECOND, "b", 10)),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 10)),
    ]);
    saved.agreed("latest");
    // The last session by its first record has an earlier record further on.
    let early = response(FIRST, "a", 30).repeat(2000) + &response(FIRST, "b", 1);
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), early),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 20)),
    ]);
    assert!(saved.agreed("latest").contains(OTHER));
}

#[test]
fn a_stream_beside_saved_sessions_is_always_read() {
    let saved = Saved::new(&[
        (&format!("one/{FIRST}.jsonl"), response(FIRST, "a", 10)),
        (&format!("two/{OTHER}.jsonl"), response(OTHER, "d", 5)),
        ("run.jsonl", response(FIRST, "b", 20) + &response(SECOND, "c", 30)),
    ]);
    assert!(saved.agreed(FIRST).contains("2 steps"));
    assert!(saved.agreed("latest").contains(SECOND));
}

#[test]
fn saved_recordings_are_shown_as_if_everything_was_read() {
    let folder = "recordings/2.1.325/transcript";
    for end in ["036", "050", "058", "087"] {
        let id = format!("00021325-0000-4000-8000-000000000{end}");
        let alone = run_with(&["show", &id, folder, "--limit", "0"]);
        let all = run(ccstat(&["show", &id, folder, "-", "--limit", "0"]).write_stdin(""));
        assert_eq!(alone, all);
        assert_eq!(alone.0, 0, "{}", alone.2);
    }
}

#[test]
fn an_id_that_a_screen_shortened_and_a_path_alone_are_found() {
    let folder = "recordings/2.1.325/transcript";
    let (_, screen, _) = run(ccstat(&["sessions", folder]).env("COLUMNS", "80"));
    let shown =
        screen.split_whitespace().find(|word| word.contains('…')).unwrap_or_else(|| panic!("{screen}"));
    let (code, timeline, stderr) = run_with(&["show", shown, folder, "--json"]);
    assert_eq!(code, 0, "{shown}: {stderr}");
    assert!(!timeline.is_empty());
    let (code, _, stderr) = run_with(&["sessions", "--session", shown, folder, "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let log = "recordings/2.1.325/stream/02-single-bash.jsonl";
    let (alone, latest) = (run_with(&["show", log]), run_with(&["show", "latest", log]));
    assert_eq!((alone.0, alone.1), (0, latest.1));
}
