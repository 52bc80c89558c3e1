//! Output for people: tables, widths, colours, and no terminal escapes.

use std::path::{Path, PathBuf};

use ccstat::internal::{
    input::Limits,
    render::{self, Format, Style},
    report::{self, Names, Report},
};
use unicode_width::UnicodeWidthStr;

use crate::{
    plain,
    support::{ccstat, log, read, recording, run, run_with},
};

/// Returns the summary of these files and folders.
fn summary(paths: &[impl AsRef<Path>]) -> Report {
    let (account, names) = read(paths, Limits::default());
    report::summary(&account, Names(&names))
}

/// Renders a report as a table of this width.
fn drawn(report: &Report, width: u16) -> String {
    let mut out = Vec::new();
    let style = Style { width: Some(width), color: false };
    render::render(report, Format::Table, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Renders the summary as a table of this width.
fn screen(paths: &[impl AsRef<Path>], width: u16) -> String {
    drawn(&summary(paths), width)
}

#[test]
fn a_run_with_denials() {
    insta::assert_snapshot!(screen(&[recording("stream/34-permission-denied-bash.jsonl")], 80));
}

#[test]
fn a_run_of_three_turns() {
    insta::assert_snapshot!(screen(&[recording("stream/06-multi-turn-stdin.jsonl")], 80));
}

#[test]
fn a_run_that_was_killed() {
    insta::assert_snapshot!(screen(&[recording("stream/49-killed-midway.jsonl")], 80));
}

#[test]
fn a_run_with_a_subagent() {
    insta::assert_snapshot!(screen(&[recording("stream/36-subagent.jsonl")], 80));
}

#[test]
fn a_folder_of_saved_sessions() {
    insta::assert_snapshot!(screen(&[recording("transcript")], 80));
}

#[test]
fn an_empty_log() {
    insta::assert_snapshot!(screen(&[log("").path()], 80));
}

#[test]
fn a_broken_log() {
    // The path is part of the output, so it must be the same on every machine.
    let (_, stdout, _) = run(ccstat(&["summarize", "bad/five-broken-lines.jsonl"]).env("COLUMNS", "80"));
    insta::assert_snapshot!(stdout);
}

fn widest(text: &str) -> usize {
    text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

#[test]
fn no_recording_is_wider_than_the_screen() {
    for path in plain::all("stream").into_iter().chain(plain::all("transcript")) {
        let summary = summary(&[&path]);
        for width in [60, 80, 100, 140] {
            let screen = drawn(&summary, width);
            assert!(widest(&screen) <= usize::from(width), "{} in {width}:\n{screen}", path.display());
        }
    }
}

#[test]
fn the_width_in_columns_is_respected() {
    let folders: Vec<PathBuf> = plain::VERSIONS.map(|version| Path::new("recordings").join(version)).to_vec();
    for folder in
        folders.iter().flat_map(|folder| [folder.clone(), folder.join("stream"), folder.join("transcript")])
    {
        for columns in ["80", "140"] {
            let mut command = ccstat(&["summarize", folder.to_str().unwrap()]);
            let (code, stdout, _) = run(command.env("COLUMNS", columns));
            assert_eq!(code, 0);
            assert!(
                widest(&stdout) <= columns.parse().unwrap(),
                "{} in {columns}:\n{stdout}",
                folder.display()
            );
        }
    }
}

#[test]
fn a_name_that_is_too_long_keeps_its_ends_and_a_number_its_digits() {
    let name = format!("mcp__{}__get_page", "confluence".repeat(20));
    let log = log(format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"content":[{{"type":"tool_use","id":"t","name":"{name}"}}]}}}}"#
    ));
    let screen = screen(&[log.path()], 80);
    assert!(screen.contains("mcp__") && screen.contains("get_page"), "{screen}");
    let table = &screen[screen.find("Tools\n").unwrap()..];
    assert!(widest(table) <= 80, "{screen}");
}

#[test]
fn without_a_terminal_there_is_no_limit_and_no_colour() {
    let (_, stdout, _) = run_with(&["summarize", "recordings/2.1.325/transcript"]);
    assert!(stdout.lines().next().unwrap().contains("from first to last record"), "not wrapped: {stdout}");
    assert!(!stdout.contains('\x1b'));
}

#[test]
fn colours_follow_the_environment() {
    let is_coloured = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = ccstat(&["summarize", "recordings/2.1.325/stream/34-permission-denied-bash.jsonl"]);
        command.args(flags).envs(variables.iter().copied());
        run(&mut command).1.contains('\x1b')
    };
    for (flags, variables, expected) in [
        (&[][..], &[][..], false),
        (&[], &[("FORCE_COLOR", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("FORCE_COLOR", "0")], false),
        (&[], &[("FORCE_COLOR", "")], false),
        (&[], &[("NO_COLOR", "1"), ("FORCE_COLOR", "1")], false),
        (&[], &[("NO_COLOR", ""), ("FORCE_COLOR", "1")], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color", "never"], &[("FORCE_COLOR", "1")], false),
        (&["--json"], &[("FORCE_COLOR", "1")], false),
        (&["--json", "--color", "always"], &[], false),
    ] {
        assert_eq!(is_coloured(flags, variables), expected, "{flags:?} {variables:?}");
    }
}

#[test]
fn no_meaning_is_in_the_colour_alone() {
    let path = "recordings/2.1.325/stream/34-permission-denied-bash.jsonl";
    let plain = run_with(&["summarize", path]).1;
    let coloured = run_with(&["summarize", "--color", "always", path]).1;
    let bare: String = coloured
        .split('\x1b')
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once('m').unwrap().1 })
        .collect();
    assert_eq!(bare, plain);
}

#[test]
fn a_report_carries_no_content() {
    let secret = [
        r#"{"type":"user","session_id":"s","message":{"content":"SECRET"}}"#,
        r#"{"type":"assistant","session_id":"s","message":{"content":[{"type":"text","text":"SECRET"},{"type":"thinking","thinking":"SECRET"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"SECRET"}}]}}"#,
        r#"{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"SECRET"}]},"tool_use_result":"SECRET"}"#,
        r#"{"type":"result","subtype":"success","session_id":"s","result":"SECRET","permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"SECRET"}}],"errors":["SECRET"]}"#,
        "SECRET",
        r#"{"type":"user","x":SECRET}"#,
        r#"{"type":"user","SECRET}"#,
    ]
    .join("\n");
    let log = log(secret);
    let path = log.path().to_str().unwrap();
    for flags in [&["summarize", path][..], &["summarize", "--json", path]] {
        let (_, stdout, stderr) = run_with(flags);
        assert!(!stdout.contains("SECRET") && !stderr.contains("SECRET"), "{stdout}{stderr}");
    }
}
