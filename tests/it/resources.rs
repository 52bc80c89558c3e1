//! Files that are not logs, under a memory limit: configuration, settings, prices and lists of paths.
//! Whatever they contain, the program ends soon, says what is wrong, and takes little memory.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::support::testdata;

/// The longest time that anything here may take, even on a busy machine: beyond it the program hangs.
const PATIENCE: &str = "60";

/// Returns a shell that runs ccstat as `"$@"` within this much memory, in a folder, with a home that has no
/// configuration.
fn shell(megabytes: u64, script: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    let script = format!("ulimit -v {}; {script}", megabytes * 1000);
    command.args(["-s", "KILL", PATIENCE, "bash", "-c", &script, "bash"]);
    command.arg(crate::support::program()).args(arguments).current_dir(folder);
    command.env("TZ", "UTC").env("HOME", testdata("no-such-home")).env_remove("XDG_CONFIG_HOME");
    command.stdin(Stdio::null());
    command
}

/// Runs the program within 128 MB: exit code and output.
fn within(folder: &Path, script: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = shell(128, script, folder, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A folder with a log, a named pipe, a link to a device, and a file of 1 GB.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(testdata("logs/gateway.jsonl"), folder.path().join("run.jsonl")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    symlink("/dev/zero", folder.path().join("zero")).unwrap();
    File::create(folder.path().join("large")).unwrap().set_len(1 << 30).unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    folder
}

/// Returns the expected message for each of them, where a file of at most this many MiB is allowed.
fn wrong(most: u32) -> [(&'static str, String); 4] {
    let regular = "is not a regular file".to_owned();
    [
        ("pipe", regular.clone()),
        ("zero", regular),
        ("large", format!("is larger than {most} MiB")),
        ("folder", "Is a directory (os error 21)".to_owned()),
    ]
}

#[test]
fn configuration_settings_and_prices_are_regular_files_of_limited_size() {
    let folder = folder();
    for (option, most) in [("--config", 1), ("--settings", 1), ("--pricing", 16)] {
        for (file, reason) in wrong(most) {
            let arguments = ["permissions", "run.jsonl", option, file];
            let (code, stdout, stderr) = within(folder.path(), "exec \"$@\"", &arguments);
            assert_eq!(stderr, format!("ccstat: cannot read `{file}`: {reason}\n"), "{option}");
            assert_eq!((code, &*stdout), (Some(2), ""), "{option} {file}");
        }
    }
}

#[test]
fn a_found_and_a_user_configuration_are_regular_files_of_limited_size() {
    for (file, reason) in wrong(1) {
        let folder = folder();
        fs::rename(folder.path().join(file), folder.path().join("ccstat.toml")).unwrap();
        let (code, _, stderr) = within(folder.path(), "exec \"$@\"", &["prices"]);
        assert_eq!((code, &*stderr), (Some(2), &*format!("ccstat: cannot read `ccstat.toml`: {reason}\n")));
        let user = folder.path().join(".config/ccstat");
        fs::create_dir_all(&user).unwrap();
        fs::rename(folder.path().join("ccstat.toml"), user.join("config.toml")).unwrap();
        let output = shell(128, "exec \"$@\"", folder.path(), &["prices"])
            .env("HOME", folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.ends_with(&format!("ccstat/config.toml`: {reason}\n")), "{stderr}");
        assert_eq!(output.status.code(), Some(2));
    }
}

/// Texts of almost 1 MiB: the largest that are read.
fn hostile() -> Vec<(&'static str, String)> {
    let lines = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for number in 0.. {
            let line = line(number);
            if text.len() + line.len() >= 1 << 20 {
                break;
            }
            text += &line;
        }
        text
    };
    let long = "x".repeat((1 << 20) - 100);
    vec![
        ("many keys", lines(&|number| format!("k{number}=1\n"))),
        ("many tables", lines(&|number| format!("[k{number}]\n"))),
        ("many keys of a command", "[tools]\n".to_owned() + &lines(&|number| format!("k{number}=1\n"))[9..]),
        ("many models", lines(&|number| format!("[prices.m{number}]\ninput=1\noutput=1\n"))),
        ("a long key", format!("{long} = 1\n")),
        ("a long dotted key", format!("{}a = 1\n", "a.".repeat(500_000))),
        ("a long text", format!("timezone = \"{long}\"\n")),
        ("a long list", format!("columns = [{}]\n", "1,".repeat(500_000))),
        ("deep lists", format!("columns = {}\n", "[".repeat(500_000))),
        ("line ends", "\n".repeat((1 << 20) - 1)),
    ]
}

#[test]
fn the_largest_configuration_is_read_quickly_in_little_memory() {
    for (name, text) in hostile() {
        assert!(text.len() <= 1 << 20, "{name}");
        let folder = folder();
        fs::write(folder.path().join("ccstat.toml"), text).unwrap();
        let begun = Instant::now();
        let output = shell(512, "exec \"$@\"", folder.path(), &["prices", "-q"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{name}: {:?} {said:.200}", output.status);
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_pricing_file_of_two_megabytes_is_accepted() {
    let folder = folder();
    let models: Vec<String> = (0..20_000)
        .map(|number| {
            format!("\"model-{number}\": {{\"input_cost_per_token\": 1e-06, \"output_cost_per_token\": 2e-06, \"mode\": \"chat\"}}")
        })
        .collect();
    let text = format!("{{{}}}", models.join(",\n"));
    assert!(text.len() > 1_600_000, "{}", text.len());
    fs::write(folder.path().join("prices.json"), text).unwrap();
    let arguments = ["prices", "--pricing", "prices.json", "--format", "csv"];
    let (code, stdout, stderr) = within(folder.path(), "exec \"$@\"", &arguments);
    assert_eq!((code, &*stderr), (Some(0), ""));
    assert!(stdout.contains("\nmodel-19999,"));
}

#[test]
fn a_list_of_paths_may_be_a_pipe_a_device_or_a_process() {
    let folder = folder();
    let lists = [
        (
            "exec \"$@\" --files-from <(echo run.jsonl; echo; printf 'run.jsonl\\r\\n')",
            "process substitution",
        ),
        ("echo run.jsonl | \"$@\" --files-from -", "standard input"),
        ("echo run.jsonl | \"$@\" --files-from /dev/stdin", "a device"),
        ("printf run.jsonl > pipe & \"$@\" --files-from pipe", "a named pipe"),
    ];
    for (script, name) in lists {
        let (code, stdout, stderr) = within(folder.path(), script, &["summarize", "--json"]);
        assert_eq!((code, &*stderr), (Some(0), ""), "{name}");
        let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(
            (&report["input"]["sources"], &report["input"]["records"]),
            (&1.into(), &2.into()),
            "{name}"
        );
    }
}

#[test]
fn a_list_of_paths_without_line_ends_is_an_error_within_little_memory() {
    let folder = folder();
    let endless = [
        ("exec \"$@\" --files-from zero", "line 1 of `zero` contains a NUL byte"),
        ("exec \"$@\" --files-from large", "line 1 of `large` contains a NUL byte"),
        ("printf 'run.jsonl\\0run.jsonl\\0' | \"$@\" --files-from -", "line 1 of `-` contains a NUL byte"),
        (
            "(echo run.jsonl; tr '\\0' x </dev/zero) | \"$@\" --files-from -",
            "line 2 of `-` is longer than 64 KiB",
        ),
    ];
    for (script, reason) in endless {
        let (code, stdout, stderr) = within(folder.path(), script, &["summarize"]);
        assert_eq!(stderr, format!("ccstat: {reason}: give one path per line\n"), "{script}");
        assert_eq!((code, &*stdout), (Some(2), ""), "{script}");
    }
}

#[test]
fn a_path_of_64_kib_is_looked_for_and_a_longer_one_is_refused() {
    let folder = folder();
    for (length, reason) in [(64 << 10, "File name too long"), ((64 << 10) + 1, "is longer than 64 KiB")] {
        for end in ["", "\n", "\r\n"] {
            let mut list = File::create(folder.path().join("list")).unwrap();
            list.write_all(("x".repeat(length) + end).as_bytes()).unwrap();
            let (_, _, stderr) = within(folder.path(), "exec \"$@\"", &["tools", "--files-from", "list"]);
            assert!(
                stderr.contains(reason),
                "{length} {end:?}: {}",
                &stderr[stderr.len().saturating_sub(200)..]
            );
        }
    }
}
