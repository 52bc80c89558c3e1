//! Which files are read: those given, those found in folders, and those skipped.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ccstat::internal::input::{self, Environment, Roots, Search, Source};
use serde_json::Value;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::support::testdata;
use crate::support::{account, ccstat, log, run, run_with};

const STREAMS: &str = "recordings/2.1.325/stream";

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// A record whose kind is its only content.
fn record(kind: &str) -> String {
    format!("{{\"type\":\"{kind}\"}}\n")
}

/// Returns the number of sources in a report.
fn sources(arguments: &[&str]) -> u64 {
    let (code, stdout, stderr) = run_with(&[&["summarize", "--json"], arguments].concat());
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
    serde_json::from_str::<Value>(&stdout).unwrap()["input"]["sources"].as_u64().unwrap()
}

#[test]
fn paths_may_come_from_a_file_or_a_pipe() {
    let list = format!(
        "{STREAMS}/01-simple-text.jsonl\n\n{STREAMS}/02-single-bash.jsonl\r\n\n{STREAMS}/03-two-sequential-bash.jsonl"
    );
    let file = log(&list);
    let path = file.path().to_str().unwrap();
    assert_eq!(sources(&["--files-from", path]), 3);
    assert_eq!(sources(&["--files-from", path, &format!("{STREAMS}/04-text-plus-tool.jsonl")]), 4);
    let piped = run(ccstat(&["summarize", "--json", "--files-from", "-"]).write_stdin(list));
    assert_eq!(piped.1, run_with(&["summarize", "--json", "--files-from", path]).1);
}

#[test]
fn an_empty_list_of_paths_does_not_mean_the_saved_sessions() {
    let (code, _, stderr) = run(ccstat(&["summarize", "--files-from", "-"]).write_stdin("\n"));
    assert_eq!(code, 3);
    assert!(stderr.starts_with("ccstat: nothing to read"), "{stderr}");
}

#[test]
fn a_pattern_that_the_shell_did_not_expand_is_expanded() {
    assert_eq!(sources(&[&format!("{STREAMS}/0[1-3]-*.jsonl")]), 3);
    assert_eq!(sources(&[&format!("{STREAMS}/50-resume.?.jsonl")]), 3);
    assert_eq!(sources(&[&format!("{STREAMS}/{{01,02}}-*.jsonl")]), 2);
    assert_eq!(sources(&["recordings/*/stream/01-simple-text.jsonl"]), 2);
    assert_eq!(sources(&["recordings/**/agent-*.jsonl"]), 10);
    assert_eq!(sources(&["recordings/*/transcript/50-resume"]), 4, "a matching folder is searched");
}

#[test]
fn a_pattern_without_matches_is_reported() {
    let (code, _, stderr) =
        run_with(&["summarize", "no-such-*.jsonl", &format!("{STREAMS}/01-simple-text.jsonl")]);
    assert_eq!((code, &*stderr), (4, "ccstat: no file matches `no-such-*.jsonl`\n"));
}

#[test]
fn a_file_whose_name_looks_like_a_pattern_is_a_file() {
    let folder = folder(&[("run[1].jsonl", record("a").as_bytes()), ("run1.jsonl", record("b").as_bytes())]);
    let account = account(&[folder.path().join("run[1].jsonl")]);
    assert_eq!(account.kinds.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn only_the_logs_of_a_folder_are_read() {
    let packed = zstd::encode_all(record("zst").as_bytes(), 1).unwrap();
    let folder = folder(&[
        ("a.jsonl", record("jsonl").as_bytes()),
        ("deep/er/b.ndjson", record("ndjson").as_bytes()),
        ("c.jsonl.zst", &packed),
        ("record.json", record("object").as_bytes()),
        ("array.json", format!("[\n  {},\n  {}\n]", record("first"), record("second")).as_bytes()),
        ("session/tool-results/output.jsonl", record("tool-output").as_bytes()),
        ("session/tool-results/output.json", record("tool-output").as_bytes()),
        ("session/subagents/agent-1.meta.json", br#"{"type":"meta","agentType":"Explore"}"#),
        ("package.json", br#"{"name":"not a log","version":"1.0.0"}"#),
        ("numbers.json", b"[1, 2, 3]"),
        ("empty.json", b""),
        ("broken.json", br#"{"type":"#),
        ("notes.txt", record("text").as_bytes()),
    ]);
    let account = account(&[folder.path()]);
    let kinds: Vec<&str> = account.kinds.keys().map(|kind| &**kind).collect();
    assert_eq!(kinds, ["first", "jsonl", "ndjson", "object", "second", "zst"]);
    assert_eq!((account.input.sources, account.input.invalid, account.input.truncated), (5, 0, 0));
}

#[test]
fn a_file_given_by_path_is_read_whatever_its_name() {
    let folder =
        folder(&[("log.txt", record("a").as_bytes()), ("tool-results/b.meta.json", record("b").as_bytes())]);
    let named = ["log.txt", "tool-results/b.meta.json"].map(|name| folder.path().join(name));
    assert_eq!(account(&named).input.sources, 2);
    assert_eq!(account(&[folder.path().join("tool-results").join("b.meta.json")]).input.records, 1);
}

#[test]
fn a_json_file_given_by_path_is_not_skipped() {
    let folder = folder(&[("package.json", br#"{"name":"not a log"}"#)]);
    assert_eq!(account(&[folder.path().join("package.json")]).input.invalid, 1);
}

#[test]
fn the_same_file_is_read_once_however_often_it_is_named() {
    let folder = folder(&[("a.jsonl", record("a").as_bytes()), ("sub/b.jsonl", record("b").as_bytes())]);
    let file = folder.path().join("a.jsonl");
    let again = folder.path().join("sub").join("..").join("a.jsonl");
    let account = account(&[&file, &file, &again, &folder.path().to_owned()]);
    assert_eq!((account.input.sources, account.input.records), (2, 2));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_or_a_folder_adds_nothing() {
    let folder = folder(&[("sub/a.jsonl", record("a").as_bytes())]);
    let link =
        |to: &str, name: &str| std::os::unix::fs::symlink(folder.path().join(to), folder.path().join(name));
    link("sub/a.jsonl", "b.jsonl").unwrap();
    link("sub", "other").unwrap();
    link("", "sub/loop").unwrap();
    let account = account(&[folder.path()]);
    assert_eq!((account.input.sources, account.input.records), (1, 1));
}

#[test]
fn the_order_of_the_paths_does_not_matter() {
    let (one, two) = (format!("{STREAMS}/50-resume.b.jsonl"), format!("{STREAMS}/50-resume.a.jsonl"));
    let report = |paths: [&str; 2]| run_with(&["summarize", "--json", paths[0], paths[1]]).1;
    assert_eq!(report([&one, &two]), report([&two, &one]));
}

/// Returns the files among the saved sessions, relative to their common folder.
fn saved(root: &Path, config_dir: Option<&str>) -> Vec<PathBuf> {
    let config_dir = config_dir.map(|list| list.replace('~', root.to_str().unwrap()));
    let environment = Environment { config_dir, home: Some(root.to_owned()) };
    let Search { sources, errors, .. } = input::find(&Roots::SavedSessions(environment));
    assert!(errors.is_empty(), "{errors:?}");
    let below = |source: &Source| Path::new(&source.name()).strip_prefix(root).unwrap().to_owned();
    sources.iter().map(below).collect()
}

#[test]
fn saved_sessions_are_where_the_environment_says() {
    let home = folder(&[
        (".claude/projects/-home-dev/a.jsonl", b""),
        (".claude/history.jsonl", b""),
        (".config/claude/projects/-home-dev/b.jsonl", b""),
        ("work/projects/-srv/c.jsonl", b""),
        ("play/projects/-tmp/d.jsonl", b""),
    ]);
    let saved = |config_dir| {
        let paths = saved(home.path(), config_dir).into_iter();
        paths.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(saved(None), ["a.jsonl", "b.jsonl"], "the folders of older and newer versions");
    assert_eq!(saved(Some(" ")), ["a.jsonl", "b.jsonl"], "an empty variable is ignored");
    assert_eq!(saved(Some("~/work")), ["c.jsonl"]);
    assert_eq!(saved(Some("~/work/projects")), ["c.jsonl"], "its `projects` folder works, too");
    assert_eq!(saved(Some("~/work, ~/play")), ["d.jsonl", "c.jsonl"]);
    assert_eq!(saved(Some("~/no-such-folder")), [""; 0]);
}

#[test]
fn a_pipe_takes_precedence_over_saved_sessions() {
    let home = folder(&[(".claude/projects/p/a.jsonl", record("saved").as_bytes())]);
    let mut command = ccstat(&["summarize", "--json"]);
    let (code, stdout, _) = run(command.env("HOME", home.path()).write_stdin(record("piped")));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["kinds"]), (0, &serde_json::json!({"piped": 1})));
}

/// Runs the program with a terminal as its standard input, which `script` creates.
#[cfg(target_os = "linux")]
fn on_a_terminal(variables: &[(&str, &Path)]) -> Option<String> {
    let program = crate::support::program();
    let mut script = assert_cmd::Command::new("script");
    script.args(["-qec", &format!("'{}' summarize --json", program.display()), "/dev/null"]);
    script.env_remove("CLAUDE_CONFIG_DIR").envs(variables.iter().copied()).current_dir(testdata(""));
    let output = script.output().ok()?; // without `script` there is nothing to test
    Some(String::from_utf8(output.stdout).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_saved_sessions_are_read() {
    let home = folder(&[
        (".claude/projects/p/a.jsonl", record("at-home").as_bytes()),
        ("work/projects/p/b.jsonl", record("at-work").as_bytes()),
    ]);
    let work = home.path().join("work");
    for (variables, kind) in [
        (vec![("HOME", home.path())], "at-home"),
        (vec![("HOME", home.path()), ("CLAUDE_CONFIG_DIR", &*work)], "at-work"),
    ] {
        let Some(stdout) = on_a_terminal(&variables) else { return };
        let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
        assert_eq!(report["kinds"], serde_json::json!({kind: 1}));
    }
}
