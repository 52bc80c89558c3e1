//! Commands that reports and messages suggest: each works when it is pasted into a shell.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::CommandFactory;

use crate::support::{ccstat, program, recording, run, testdata};

/// Runs the program in a shell, as a person types it, in this folder and with these saved sessions.
fn shell(command: &str, folder: &Path, home: &Path) -> (i32, String, String) {
    let program = program();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ccstat() {{ '{}' \"$@\"; }}; {command}", program.display())]);
    shell.env("HOME", home).env_remove("CLAUDE_CONFIG_DIR").env("TZ", "UTC").env("COLUMNS", "60");
    let output = shell.current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Returns the commands in a text: between backticks, or up to the end of the line or clause.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let starts = line.match_indices("ccstat ").map(|(at, _)| at);
        for at in starts.filter(|&at| at == 0 || [b' ', b'`'].contains(&line.as_bytes()[at - 1])) {
            let rest = &line[at..];
            let end = if line[..at].ends_with('`') { rest.find('`') } else { rest.find("; ") };
            found.push(rest[..end.unwrap_or(rest.len())].trim_end_matches(';').to_owned());
        }
    }
    let names = ccstat::internal::cli::args::Cli::command();
    let is_command = |text: &String| {
        let name = text.split(' ').nth(1).unwrap_or_default();
        names.find_subcommand(name).is_some()
    };
    found.into_iter().filter(is_command).collect()
}

/// A folder with logs under names that a shell would split, and a home with the same logs as saved sessions.
fn logs() -> (tempfile::TempDir, tempfile::TempDir) {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copy = |from: &Path, to: PathBuf| {
        for entry in walkdir::WalkDir::new(from) {
            let entry = entry.unwrap();
            let path = to.join(entry.path().strip_prefix(from).unwrap());
            if entry.file_type().is_dir() {
                fs::create_dir_all(&path).unwrap();
            } else {
                fs::copy(entry.path(), path).unwrap();
            }
        }
    };
    copy(&testdata("logs/week"), folder.path().join("it's $HOME & a \"week\""));
    copy(&testdata("logs/week"), home.path().join(".claude/projects"));
    fs::copy(recording("stream/45-api-retry-529.jsonl"), folder.path().join("-retry *.jsonl")).unwrap();
    fs::copy(testdata("logs/nightly-denied.jsonl"), folder.path().join("denied.jsonl")).unwrap();
    let line = |at: usize| {
        format!(
            "{{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{{\"id\":\"m{at}\",\"content\":[]}}}}\n\
             {{\"type\":\"system\",\"subtype\":\"turn_duration\",\"sessionId\":\"t\",\"durationMs\":5,\"uuid\":\"u{at}\"}}\n"
        )
    };
    fs::write(folder.path().join("long.jsonl"), (0..250).map(line).collect::<String>()).unwrap();
    fs::write(folder.path().join("list"), "denied.jsonl\n").unwrap();
    fs::write(folder.path().join("prices.json"), "{\"models\":{\"x\":{\"input\":1,\"output\":2}}}").unwrap();
    (folder, home)
}

const WEEK: &str = r#""it's \$HOME & a \"week\"""#;

/// Command lines, and the beginnings of the commands that their output suggests.
const TYPED: &[(&str, &[&str])] = &[
    ("ccstat sessions WEEK", &["ccstat prices", "ccstat show e9077c34 "]),
    ("ccstat sessions", &["ccstat prices", "ccstat show e9077c34"]),
    ("ccstat sessions --sort cost_usd:asc WEEK", &["ccstat prices", "ccstat show c41d90aa "]),
    (
        "ccstat sessions --sort cost_usd WEEK --limit 1 --columns cost_usd",
        &["ccstat prices", "ccstat show 5f3a1c20 "],
    ),
    (
        "ccstat sessions --outcome denied WEEK",
        &["ccstat prices", "ccstat show e9077c34-15aa-4f02-94d8-b3c6d5e00004 "],
    ),
    (
        "ccstat sessions --project shop WEEK",
        &["ccstat prices", "ccstat show 8be20d17-2f64-4a0c-8e13-71d2a9c00002 "],
    ),
    ("ccstat session --files-from list", &["ccstat show --files-from list 00021325"]),
    ("ccstat cost WEEK --pricing prices.json", &["ccstat prices --pricing prices.json"]),
    (
        "ccstat summarize WEEK --fail-on loop,tool-error,unknown --max-cost 0.01 --max-duration 1s --since 2026-11-01",
        &[
            "ccstat explain cost --since 2026-11-01 ",
            "ccstat turns --since 2026-11-01 ",
            "ccstat calls --since 2026-11-01 ",
            "ccstat denials --since",
            "ccstat errors --since",
            "ccstat calls --since 2026-11-01 ",
            "ccstat prices",
        ],
    ),
    ("ccstat check denied.jsonl --max-cost 0.001", &["ccstat explain cost denied.jsonl"]),
    ("ccstat limits -- '-retry *.jsonl'", &["ccstat errors -- "]),
    ("ccstat turns long.jsonl", &["ccstat prompts long.jsonl"]),
    ("ccstat show s long.jsonl", &["ccstat show --limit 0 s long.jsonl"]),
    ("ccstat show nobody WEEK", &["ccstat sessions "]),
    ("ccstat run --max-cost 0.001 --tee copy.jsonl -- cat denied.jsonl", &["ccstat explain cost copy.jsonl"]),
    (
        "ccstat summarize --tee=copy.jsonl --max-cost 0.001 < denied.jsonl",
        &["ccstat explain cost copy.jsonl"],
    ),
];

#[test]
fn every_command_that_is_suggested_works_when_it_is_pasted() {
    let (folder, home) = logs();
    for (typed, starts) in TYPED {
        let (code, stdout, stderr) = shell(&typed.replace("WEEK", WEEK), folder.path(), home.path());
        let stdout = if typed.contains("tee") { String::new() } else { stdout };
        let found = commands(&(stdout + &stderr.replace("; `", "\n`")));
        let mut wanted = starts.to_vec();
        let mut seen: Vec<&str> = found.iter().map(String::as_str).collect();
        wanted.sort_unstable();
        seen.sort_unstable();
        seen.dedup();
        wanted.dedup();
        let fit = wanted.iter().zip(&seen).all(|(start, command)| command.starts_with(start));
        assert!(fit && wanted.len() == seen.len(), "{typed} ({code}): {seen:#?} for {wanted:#?}");
        for command in &found {
            let (code, stdout, stderr) = shell(command, folder.path(), home.path());
            assert_eq!((code, &*stderr), (0, ""), "{typed}: {command}");
            assert!(!stdout.trim().is_empty(), "{typed}: {command}");
        }
    }
}

#[test]
fn a_hint_does_not_name_logs_that_cannot_be_read_again() {
    let log = fs::read(testdata("logs/nightly-denied.jsonl")).unwrap();
    let (_, stdout, _) = run(ccstat(&["sessions"]).write_stdin(log));
    assert!(stdout.ends_with("show one session in full: … | ccstat show 00021325\n"), "{stdout}");
    let many = vec!["logs/nightly-denied.jsonl"; 100];
    let (_, stdout, _) = run(&mut ccstat(&[&["sessions"], &many[..]].concat()));
    assert!(stdout.ends_with("show one session in full: ccstat show 00021325 …\n"), "{stdout}");
}

/// Ids come from logs, whose author may want the reader to paste something harmful.
#[test]
fn an_id_cannot_inject_a_shell_command() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for id in ["$(touch pwned)", "; touch pwned", "`touch pwned`", "--help", "a'b", "a\nb", "a\u{202e}b"] {
        let record = serde_json::json!({"type": "result", "subtype": "success", "session_id": id});
        fs::write(folder.path().join("log.jsonl"), record.to_string()).unwrap();
        let (_, stdout, _) = shell("ccstat sessions log.jsonl", folder.path(), home.path());
        let command = stdout
            .lines()
            .last()
            .unwrap()
            .rsplit_once("full: ")
            .map_or_else(|| stdout.lines().last().unwrap().to_owned(), |(_, command)| command.to_owned());
        let mut shell = Command::new("bash");
        let program = program();
        shell.args(["-c", &format!("ccstat() {{ '{}' \"$@\"; }}; {command}", program.display())]);
        let Ok(output) = shell.current_dir(folder.path()).env("HOME", home.path()).output() else { return };
        assert!(!folder.path().join("pwned").exists(), "{command}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("■ end"), "{id:?}: {command}");
    }
}

/// Returns the code of a report without comments and without its spec, whose examples are whole command lines
/// for the help.
fn without_help(code: &str) -> Vec<&str> {
    let mut in_spec = false;
    let is_said = |line: &&str| {
        let begins = line.contains(": ReportSpec = ReportSpec {");
        let is_said = !(in_spec || begins || line.trim().starts_with("//"));
        in_spec = begins || (in_spec && *line != "};");
        is_said
    };
    code.lines().filter(is_said).collect()
}

/// A report marks a command in its text, and the command line writes it with the right paths. A command
/// written as plain text would work only by chance.
#[test]
fn reports_contain_no_hard_coded_commands() {
    let names = ccstat::internal::cli::args::Cli::command();
    for entry in walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report")) {
        let path = entry.unwrap().into_path();
        if !path.is_file() || path.ends_with("line.rs") {
            continue;
        }
        for line in without_help(&fs::read_to_string(&path).unwrap()) {
            for (at, _) in line.match_indices("ccstat ") {
                let name = line[at..].split([' ', '`', '"', ';', '.']).nth(1).unwrap_or_default();
                assert!(names.find_subcommand(name).is_none(), "{}: {line}", path.display());
            }
        }
    }
}

/// Options of ccstat that a report may not spell: it names the choice, and the command line writes it.
#[test]
fn reports_and_renderers_name_no_option_in_a_sentence() {
    let options =
        ["--limit", "--pricing", "--no-config", "--suggest", "--fail-on", "--format json", "--max-duration"];
    for folder in ["src/report", "src/render"] {
        for entry in walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
            let path = entry.unwrap().into_path();
            // A schema describes keys for every way to request them.
            if !path.is_file() || path.ends_with("schema.rs") {
                continue;
            }
            for line in without_help(&fs::read_to_string(&path).unwrap()) {
                let spelled = options.iter().find(|option| line.contains(*option));
                assert_eq!(spelled, None, "{}: {line}", path.display());
            }
        }
    }
}

#[test]
fn a_command_is_never_wrapped() {
    let (folder, home) = logs();
    let (_, stdout, _) = shell(&format!("ccstat sessions {WEEK}"), folder.path(), home.path());
    let last = stdout.lines().last().unwrap();
    assert!(last.starts_with("ccstat show e9077c34 ") && last.len() > 40, "{stdout}");
}
