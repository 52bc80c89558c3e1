//! The first lines of `summarize`: how a run ended and why, which run it is, and what is not repeated below.

use crate::support::{ccstat, log, printed_json, printed_rows, run, run_with, testdata};

/// The headline of a recording's summary, and the line below it.
fn headline(stream: &str) -> (String, String) {
    let path = format!("recordings/2.1.325/stream/{stream}.jsonl");
    let (code, stdout, _) = run_with(&["summarize", &path]);
    assert_eq!(code, 0, "{stdout}");
    let mut lines = stdout.lines().map(str::to_owned);
    (lines.next().unwrap(), lines.next().unwrap())
}

#[test]
fn a_failed_run_says_why_and_never_success() {
    for (stream, expected) in [
        ("47-auth-401", "✗ Failed: authentication_failed · 1 prompt · "),
        ("46-rate-limit-429", "✗ Failed: rate_limit · 1 prompt · "),
        ("32-max-turns", "✗ Failed: error_max_turns · 1 prompt · 2 steps · "),
        ("33-max-budget", "✗ Failed: error_max_budget_usd · 1 prompt · 2 steps · "),
        (
            "49-killed-midway",
            "✗ No result: the run was killed, or is still running · 2 steps · at least $0.004108",
        ),
    ] {
        let (first, second) = headline(stream);
        assert!(first.starts_with(expected), "{first}");
        assert!(second.starts_with("  session 00021325 · /home/dev/project · 2026-11-15 23:4"), "{second}");
    }
    let untyped = log(r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s"}"#);
    let stdout = run_with(&["summarize", untyped.path().to_str().unwrap()]).1;
    assert!(stdout.starts_with("✗ Failed: the result says is_error · 1 prompt"), "{stdout}");
}

#[test]
fn the_reason_of_a_failure_is_data_too() {
    let json = printed_json(&["summarize", "recordings/2.1.325/stream/47-auth-401.jsonl"]);
    assert_eq!(json["turns"]["failed_by_reason"]["authentication_failed"], 1);
    assert_eq!(json["turns"]["failed_by_subtype"]["success"], 1);
    assert_eq!(json["only_session"]["project"], "/home/dev/project");
    let filtered = printed_json(&["summarize", "--last", "1", "recordings/2.1.325/stream/47-auth-401.jsonl"]);
    assert_eq!(filtered["turns"], json["turns"]);
    assert_eq!(filtered["only_session"], json["only_session"]);
}

#[test]
fn the_summary_says_nothing_twice() {
    let stdout = run_with(&["summarize", "recordings/2.1.325/stream/34-permission-denied-bash.jsonl"]).1;
    assert_eq!(stdout.matches("denied").count(), 1, "{stdout}");
    let stdout = run_with(&["summarize", "recordings/2.1.325/stream/32-max-turns.jsonl"]).1;
    assert_eq!(stdout.matches("error_max_turns").count(), 1, "{stdout}");
    let stdout = run_with(&["summarize", "recordings/2.1.325/stream/49-killed-midway.jsonl"]).1;
    assert_eq!(stdout.matches("killed").count(), 1, "{stdout}");
}

#[test]
fn kinds_are_listed_if_one_is_unknown_or_on_request() {
    let known = "logs/nightly-denied.jsonl";
    assert!(!run_with(&["summarize", known]).1.contains("Kind of record"));
    assert!(run_with(&["summarize", "-v", known]).1.contains("Kind of record"));
    let unknown = log("{\"type\":\"user\",\"session_id\":\"s\"}\n{\"type\":\"news\",\"session_id\":\"s\"}");
    let path = unknown.path().to_str().unwrap();
    for words in [&["summarize", path][..], &["summarize", "--verbose", path]] {
        assert_eq!(run_with(words).1.matches("Kind of record").count(), 1, "{words:?}");
    }
}

#[test]
fn a_log_in_place_of_a_command_is_summarized() {
    let named = run_with(&["summarize", "logs/nightly-denied.jsonl"]);
    assert_eq!(run_with(&["logs/nightly-denied.jsonl"]), named);
    assert_eq!(run_with(&["--color", "never", "logs/nightly-denied.jsonl"]), named);
    assert_eq!(run_with(&["logs/week", "--json"]), run_with(&["summarize", "logs/week", "--json"]));
    let piped = std::fs::read(testdata("logs/nightly-denied.jsonl")).unwrap();
    let (code, stdout, _) = run(ccstat(&["-", "--json"]).write_stdin(piped));
    assert!(code == 0 && stdout.contains("\"report\": \"summary\""), "{stdout}");
}

#[test]
fn a_typo_is_explained_and_only_near_names_are_suggested() {
    let wrong = |words: &[&str]| {
        let (code, stdout, stderr) = run_with(words);
        assert_eq!((code, &*stdout), (2, ""), "{words:?}");
        stderr
    };
    assert_eq!(
        wrong(&["sumarise"]),
        "ccstat: neither a command nor a file: `sumarise` (did you mean `summarize`?); `ccstat --help` lists the commands\n"
    );
    assert_eq!(
        wrong(&["frobnicate", "run.jsonl"]),
        "ccstat: neither a command nor a file: `frobnicate`; `ccstat --help` lists the commands\n"
    );
    assert_eq!(wrong(&["run.jsnl"]), "ccstat: no such file or folder: `run.jsnl`\n");
    assert_eq!(
        wrong(&["run", "--max-cost", "1", "claude", "-p", "fix it"]),
        "ccstat: the command to run comes after `--`: type `ccstat run --max-cost 1 -- claude -p 'fix it'`\n"
    );
    assert!(wrong(&["help", "logs"]).contains("logs"), "a file after `help` is not summarized");
    assert!(wrong(&["generate", "logs"]).contains("logs"), "a file after `generate` is not summarized");
}

#[test]
fn a_filter_that_matches_nothing_says_what_the_logs_cover() {
    let line = "! nothing matches the filters: the logs cover 2026-11-09 09:12 to 2026-11-12 16:";
    for report in ["sessions", "summarize", "tools", "daily", "errors"] {
        let (code, stdout, _) = run_with(&[report, "logs/week", "--since", "2030-01-01"]);
        assert!(code == 0 && stdout.starts_with(line) && stdout.lines().count() == 1, "{report}: {stdout}");
    }
    let (_, stdout, _) =
        run_with(&["sessions", "logs/week", "--since", "2030-01-01", "--timezone", "Europe/Berlin"]);
    assert!(stdout.contains("2026-11-09 10:12"), "{stdout}");
    assert_eq!(printed_rows(&["sessions", "logs/week", "--since", "2030-01-01"]).len(), 0);
}

#[test]
fn a_saved_session_has_an_outcome() {
    for (session, expected) in [
        ("80-interrupt-while-streaming", "interrupted"),
        ("49-killed-midway", "in-call"),
        ("47-auth-401", "api-error"),
        ("32-max-turns", "unanswered"),
        ("02-single-bash", "ended"),
        ("34-permission-denied-bash", "denied"),
    ] {
        let path = format!("recordings/2.1.325/transcript/{session}");
        assert_eq!(printed_rows(&["sessions", &path])[0]["outcome"], expected, "{session}");
        let count = |outcome: &str| printed_rows(&["sessions", &path, "--outcome", outcome]).len();
        assert_eq!(count(expected), 1, "{session}");
        assert_eq!(count("unknown"), usize::from(expected != "denied"), "{session}");
    }
}
