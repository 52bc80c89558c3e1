//! Standard input: one rule for every command without a path.

use std::{
    io::Write,
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Command, Stdio},
};

use clap::CommandFactory;

use crate::support::{ccstat, log, run, run_with, testdata};

const RESULT: &str = "{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"s\"}\n";
const NOISE: &str = "not a log\n";

/// Every command that reads logs, with its other required arguments.
const COMMANDS: &[&[&str]] = &[
    &["summarize"],
    &["check"],
    &["tools"],
    &["turns"],
    &["calls"],
    &["denials"],
    &["errors"],
    &["cache"],
    &["kinds"],
    &["agents"],
    &["permissions"],
    &["permissions", "--suggest"],
    &["hooks"],
    &["mcp"],
    &["tasks"],
    &["limits"],
    &["questions"],
    &["commands"],
    &["control"],
    &["show", "latest"],
    &["context", "latest"],
    &["explain", "cost"],
    &["cost"],
    &["daily"],
    &["weekly"],
    &["monthly"],
    &["blocks"],
    &["sessions"],
    &["overview"],
    &["search", "success"],
    &["prompts"],
    &["time"],
    &["export", "sessions"],
    &["export", "prompts"],
    &["export", "time"],
    &["export", "turns"],
    &["export", "responses"],
    &["export", "charges"],
    &["export", "failures"],
    &["export", "calls"],
    &["export", "denials"],
    &["export", "errors"],
    &["export", "records"],
    &["trace"],
    &["redact"],
];

/// Commands that read no log, that start a command instead, that need two logs, or that look at files alone.
const OTHERS: &[&str] = &["archive", "doctor", "run", "diff", "prices", "schema", "statusline", "generate"];

/// A home folder with one saved session that contains this text.
fn home(saved: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/projects/-home-dev");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.jsonl"), saved).unwrap();
    home
}

/// Returns the exit code of a command with this standard input and these saved sessions.
fn code(words: &[&str], home: &Path, stdin: Stdio) -> i32 {
    let program = crate::support::program();
    let mut command = Command::new(program);
    finish(command.args(words), home, stdin)
}

fn finish(command: &mut Command, home: &Path, stdin: Stdio) -> i32 {
    command.env("HOME", home).env_remove("CLAUDE_CONFIG_DIR").current_dir(testdata("")).stdin(stdin);
    command.output().unwrap().status.code().unwrap()
}

/// A pipe that contains this text and whose writer has closed.
fn pipe(text: &str) -> Stdio {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    reader.into()
}

fn socket(text: &str) -> Stdio {
    let (mut one, two) = UnixStream::pair().unwrap();
    one.write_all(text.as_bytes()).unwrap();
    one.shutdown(Shutdown::Both).unwrap();
    OwnedFd::from(two).into()
}

fn file(text: &str) -> Stdio {
    log(text).reopen().unwrap().into()
}

/// Closes the standard input of a command.
fn closed(words: &[&str], home: &Path) -> i32 {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$@\" <&-"]).arg(crate::support::program()).args(words);
    finish(&mut shell, home, Stdio::null())
}

#[test]
fn every_command_that_reads_logs_is_in_the_list() {
    let cli = ccstat::internal::cli::args::Cli::command();
    let names = cli.get_subcommands().map(clap::Command::get_name);
    let mut listed: Vec<&str> = COMMANDS.iter().map(|words| words[0]).chain(OTHERS.iter().copied()).collect();
    listed.sort_unstable();
    listed.dedup();
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(listed, names);
}

#[test]
fn a_pipe_a_socket_and_a_file_are_read_by_every_command() {
    let home = home(NOISE);
    for words in COMMANDS {
        for (kind, stdin) in [("pipe", pipe(RESULT)), ("socket", socket(RESULT)), ("file", file(RESULT))] {
            assert_eq!(code(words, home.path(), stdin), 0, "{words:?} with a {kind}");
        }
    }
}

#[test]
fn a_device_and_a_closed_descriptor_mean_the_saved_sessions_for_every_command() {
    let home = home(RESULT);
    for words in COMMANDS {
        assert_eq!(code(words, home.path(), Stdio::null()), 0, "{words:?} with /dev/null");
        assert_eq!(closed(words, home.path()), 0, "{words:?} with a closed descriptor");
    }
}

#[test]
fn an_empty_pipe_socket_or_file_never_means_the_saved_sessions() {
    let home = home(RESULT);
    for words in COMMANDS {
        for (kind, stdin) in [("pipe", pipe("")), ("socket", socket("")), ("file", file(""))] {
            assert_eq!(code(words, home.path(), stdin), 3, "{words:?} with an empty {kind}");
        }
    }
}

#[test]
fn an_empty_pipe_gets_a_hint_about_the_saved_sessions() {
    for words in [&["cost"][..], &["redact"]] {
        let (code, stdout, stderr) = run(&mut ccstat(words));
        assert_eq!((code, &*stdout), (3, ""), "{words:?}");
        assert!(stderr.contains("standard input is empty") && stderr.contains("/dev/null"), "{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_means_the_saved_sessions_for_every_command() {
    let home = home(RESULT);
    for words in COMMANDS {
        let program = crate::support::program();
        let mut script = Command::new("script");
        script.args(["-qec", &format!("'{}' {}", program.display(), words.join(" ")), "/dev/null"]);
        script.env("HOME", home.path()).env_remove("CLAUDE_CONFIG_DIR").stdin(Stdio::null());
        let Ok(output) = script.output() else { return }; // without `script` there is nothing to test
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {text}");
    }
}

#[test]
fn a_path_or_a_dash_overrides_the_rule() {
    let (home, log) = (home(NOISE), log(RESULT));
    let path = log.path().to_str().unwrap();
    for words in COMMANDS {
        let named = [words, &[path][..]].concat();
        assert_eq!(code(&named, home.path(), pipe(NOISE)), 0, "{words:?}: the path is read, not the pipe");
        let dash = [words, &["-"][..]].concat();
        assert_eq!(
            code(&dash, home.path(), Stdio::null()),
            3,
            "{words:?}: - is standard input, whatever it is"
        );
        assert_eq!(code(&dash, home.path(), pipe(RESULT)), 0, "{words:?}");
    }
}

#[test]
fn diff_takes_a_pipe_for_the_side_that_is_not_named() {
    let base = log(RESULT);
    let path = base.path().to_str().unwrap();
    let (code, stdout, stderr) = run(ccstat(&["diff", path]).write_stdin(RESULT));
    assert_eq!((code, &*stderr), (0, ""));
    assert_eq!(stdout, run(ccstat(&["diff", path, "-"]).write_stdin(RESULT)).1);
    let home = home(RESULT);
    let silent = |words: &[&str]| self::code(words, home.path(), Stdio::null());
    assert_eq!(silent(&["diff", path]), 2, "saved sessions cannot be a side of a comparison");
    assert_eq!(self::code(&["diff", path], home.path(), pipe("")), 3);
    assert_eq!(silent(&["diff"]), 2);
    assert_eq!(run_with(&["diff", "-", "-"]).0, 2);
    assert_eq!(run_with(&["diff", "-"]).0, 2);
}
