//! `--print text`: filters apply to printed text as to figures, and the text has a readable order.

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;

use crate::support::{ccstat, log, run, run_with, testdata};

const WEEK: &str = "logs/week";

/// Returns the printed text of these logs.
fn printed(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run_with(&[&["summarize", "--print", "text", "-q"], arguments].concat());
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
    stdout
}

/// Returns the printed text of piped input.
fn piped(arguments: &[&str], stdin: impl Into<Vec<u8>>) -> String {
    let arguments = [&["summarize", "--print", "text", "-q"], arguments].concat();
    let (code, stdout, stderr) = run(ccstat(&arguments).write_stdin(stdin));
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
    stdout
}

/// Returns all logs of the week, concatenated.
fn week() -> Vec<u8> {
    let mut files: Vec<_> = walkdir::WalkDir::new(testdata(WEEK))
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
}

/// Filters, with text that must be printed under each and text that must not.
const FILTERS: &[(&[&str], &[&str], &[&str])] = &[
    (
        &["--session", "e9077"],
        &["Limit the retries", "cargo test billing"],
        &["npm", "checkout", "Where do we"],
    ),
    (&["--project", "shop"], &["checkout test fails", "npm publish"], &["billing"]),
    (&["--last", "1"], &["Limit the retries"], &["npm", "Where do we"]),
    (&["--since", "2026-11-12"], &["Limit the retries"], &["npm", "Where do we"]),
    (&["--until", "2026-11-09"], &["checkout test fails"], &["billing"]),
    (&["--model", "haiku"], &["Grep", "line 41"], &["Find all", "npm", "Where do we", "Edit", "BILL-214"]),
    (
        &["--tool", "Bash"],
        &["npm test", "14 passing", "cargo test"],
        &["Read", "Edit", "Grep", "Publish the", "Find all"],
    ),
    (&["--main"], &["Where do we", "Agent", "BILL-214"], &["Find all retries", "Grep"]),
    (
        &["--subagents"],
        &["Find all retries", "Grep", "subagent Explore"],
        &["Where do we", "npm", "BILL-214"],
    ),
    // These logs are of no archive, so they have no machine.
    (&["--machine", "elsewhere"], &[], &["npm", "Where do we", "Grep"]),
    // They have one branch, and nothing else that work is attributed to.
    (&["--branch", "main"], &["checkout test fails", "Limit the retries", "Find all"], &[]),
    (&["--branch", "basket"], &[], &["npm", "Where do we", "Grep"]),
    (&["--pr", "47"], &[], &["npm", "Where do we", "Grep"]),
    (&["--skill", "review"], &[], &["npm", "Where do we", "Grep"]),
    (&["--mcp-server", "docs"], &[], &["npm", "Where do we", "Grep"]),
    (&["--effort", "high"], &[], &["npm", "Where do we", "Grep"]),
    (&["--workflow", "wf_1"], &[], &["npm", "Where do we", "Grep"]),
    (
        &["--prompt", "e9077c34-15aa-4f02-94d8-b3c6d5e00004#1"],
        &["Limit the retries"],
        &["npm", "Where do we"],
    ),
    (&["--session", "c41d", "--tool", "Grep"], &["Grep"], &["Read", "Find all", "npm", "Where do we"]),
];

#[test]
fn every_filter_applies_to_printed_text() {
    for (filter, has, lacks) in FILTERS {
        let files = printed(&[filter, &[WEEK][..]].concat());
        let pipe = piped(filter, week());
        for (text, kind) in [(&files, "files"), (&pipe, "pipe")] {
            for word in *has {
                assert!(text.contains(word), "{filter:?} of {kind} lacks {word:?}: {text}");
            }
            for word in *lacks {
                assert!(!text.contains(word), "{filter:?} of {kind} has {word:?}: {text}");
            }
        }
    }
}

#[test]
fn every_filter_option_is_tested() {
    let cli = <ccstat::internal::cli::args::Cli as clap::CommandFactory>::command();
    let summarize = cli.find_subcommand("summarize").unwrap();
    let filters = summarize.get_arguments().filter(|one| one.get_help_heading() == Some("Filters"));
    let longs =
        filters.map(|one| format!("--{}", one.get_long().unwrap())).filter(|long| long != "--timezone");
    for long in longs {
        assert!(FILTERS.iter().any(|(filter, ..)| filter.contains(&&*long)), "{long}");
    }
}

#[test]
fn a_filter_that_matches_nothing_prints_nothing() {
    for filter in [&["--session", "nobody"][..], &["--tool", "NoSuchTool"], &["--since", "2030-01-01"]] {
        assert_eq!(printed(&[filter, &[WEEK][..]].concat()), "", "{filter:?}");
        assert_eq!(piped(filter, week()), "", "{filter:?}");
    }
}

#[test]
fn several_sessions_have_a_heading_each_in_the_order_they_began() {
    let text = printed(&[WEEK]);
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("━━ session ")).collect();
    let starts: Vec<&str> = headings.iter().map(|id| &id[..8]).collect();
    assert_eq!(starts, ["5f3a1c20", "8be20d17", "c41d90aa", "e9077c34"]);
    assert!(!printed(&[WEEK, "--session", "e9077"]).contains("━━"), "a single session has no heading");
}

#[test]
fn a_subagent_is_printed_below_the_call_that_started_it() {
    let text = printed(&[WEEK, "--session", "c41d"]);
    insta::assert_snapshot!("printed-subagent", text);
    let both = ["recordings/2.1.325/stream/36-subagent.jsonl", "recordings/2.1.325/transcript/36-subagent"];
    insta::assert_snapshot!("printed-both-dialects", printed(&both));
}

/// Two subagents work at the same time, and their records alternate; one of them starts a third.
#[test]
fn subagents_that_work_side_by_side_are_printed_one_after_another() {
    let call = |parent: Option<&str>, id: &str, tool: &str, description: &str| {
        let block =
            json!({"type": "tool_use", "id": id, "name": tool, "input": {"description": description}});
        let message = json!({"id": format!("m-{id}"), "model": "claude-opus-5-5", "content": [block]});
        json!({"type": "assistant", "session_id": "s", "parent_tool_use_id": parent, "message": message})
    };
    let answer = |parent: Option<&str>, id: &str, text: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        let message = json!({"role": "user", "content": [block]});
        json!({"type": "user", "session_id": "s", "parent_tool_use_id": parent, "message": message})
    };
    let records = [
        call(None, "a", "Agent", "first"),
        call(None, "b", "Agent", "second"),
        call(Some("a"), "a1", "Read", "a one"),
        call(Some("b"), "b1", "Read", "b one"),
        call(Some("b"), "c", "Agent", "third"),
        answer(Some("a"), "a1", "a found"),
        call(Some("c"), "c1", "Read", "c one"),
        answer(Some("b"), "b1", "b found"),
        answer(None, "a", "a done"),
        answer(None, "b", "b done"),
    ];
    let log = log(records.map(|record| record.to_string()).join("\n"));
    let text = printed(&[log.path().to_str().unwrap()]);
    let wanted = "→ Agent  first\n    → Read  a one\n      a found\n→ Agent  second\n    → Read  b one\n    → Agent  third\n        \
                  → Read  c one\n      b found\n  a done\n  b done\n";
    assert_eq!(text, wanted);
}

#[test]
fn a_chain_of_subagents_may_have_any_depth() {
    let call = |at: usize| {
        let parent = at.checked_sub(1).map(|before| format!("t{before}"));
        let block = json!({"type": "tool_use", "id": format!("t{at}"), "name": "Agent", "input": {}});
        let message = json!({"id": format!("m{at}"), "content": [block]});
        json!({"type": "assistant", "session_id": "s", "parent_tool_use_id": parent, "message": message})
            .to_string()
    };
    let log = log((0..20_000).map(call).collect::<Vec<_>>().join("\n"));
    let text = printed(&[log.path().to_str().unwrap()]);
    assert_eq!(text.matches("→ Agent").count(), 20_000);
}

#[test]
fn packed_logs_pipes_and_documents_are_printed_like_files() {
    let plain = testdata("logs/week/-home-dev-api/e9077c34-15aa-4f02-94d8-b3c6d5e00004.jsonl");
    let bytes = std::fs::read(&plain).unwrap();
    let text = printed(&[plain.to_str().unwrap()]);
    assert!(text.starts_with("> Limit the retries"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let packed = zstd::encode_all(&*bytes, 1).unwrap();
    assert_eq!(printed(&[&file("packed", &packed)]), text);
    assert_eq!(printed(&[&file("packed-again", &packed), "--session", "e9077"]), text);
    assert_eq!(piped(&[], packed), text);
    let lines: Vec<&str> = std::str::from_utf8(&bytes).unwrap().lines().collect();
    assert_eq!(printed(&[&file("array", format!("[{}]", lines.join(",\n  ")).as_bytes())]), text);
    assert_eq!(printed(&[&file("glued", lines.concat().as_bytes())]), text);
    assert_eq!(printed(&[&file("blanks", format!("  \r\n\0\0  {}", lines.join("\r\n  ")).as_bytes())]), text);
    // Standard input beside a file: it cannot be read again, so it is kept.
    let other = file("other", b"{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"z\"}\n");
    assert_eq!(piped(&["-", &other, "--session", "e9077"], bytes), text);
}

/// Nothing of a pipe is printed before it is known to match, and `--last 1` is known only at the end.
#[test]
fn a_pipe_with_a_filter_is_printed_at_its_end() {
    let mut command = Command::new(crate::support::program());
    command
        .args(["summarize", "--print", "text", "-q", "--last", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let line = |session: &str, second: u32| {
        let message = json!({"id": format!("m{second}"), "content": [{"type": "text", "text": format!("words of {session}")}]});
        let time = format!("2026-11-15T10:00:{second:02}Z");
        json!({"type": "assistant", "session_id": session, "timestamp": time, "message": message}).to_string()
            + "\n"
    };
    to.write_all(line("one", 1).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    to.write_all(line("two", 2).as_bytes()).unwrap();
    drop(to);
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(text, "words of two\n");
}

#[test]
fn text_that_a_fork_copied_is_printed_once() {
    let record = |session: &str, uuid: &str, text: &str| {
        json!({"type": "user", "sessionId": session, "uuid": uuid, "isSidechain": false, "message": {"content": text}}).to_string()
    };
    let lines =
        [record("a", "u1", "asked once"), record("b", "u1", "asked once"), record("b", "u2", "asked anew")];
    let log = log(lines.join("\n"));
    let path = log.path().to_str().unwrap();
    let text = printed(&[path]);
    assert_eq!((text.matches("asked once").count(), text.matches("asked anew").count()), (1, 1), "{text}");
    assert!(printed(&[path, "--session", "b"]).contains("asked once"), "a fork alone is printed completely");
}

#[test]
fn printed_text_of_files_cannot_be_followed() {
    let (code, stdout, stderr) = run_with(&["summarize", "--print", "text", "--follow", WEEK]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("--follow"), "{stderr}");
}
