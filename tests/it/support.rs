//! Helpers that the tests share: paths of the logs, and ways to read them with ccstat.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use ccstat::internal::{
    facts::{Account, Name},
    input::{self, Limits, Roots},
    measure::Prices,
    render::{self, Format, Style},
    report::{self, Names, Report},
    scan::{self, Options, Progress},
};
use serde_json::Value;
use tempfile::NamedTempFile;

/// Returns a path below `testdata/`.
pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

/// Returns a recording of 2.1.325, by its path below `stream/` or `transcript/`.
pub(crate) fn recording(path: &str) -> PathBuf {
    testdata("recordings/2.1.325").join(path)
}

/// Returns every case below a folder: each file, and each folder of a saved session.
pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let deeper = |path: &Path| {
        path.is_dir()
            && (["stream", "transcript"].contains(&name(path))
                || path.parent().is_some_and(|parent| name(parent) == "recordings"))
    };
    cases.iter().flat_map(|path| if deeper(path) { self::cases(path) } else { vec![path.clone()] }).collect()
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Writes a log that is deleted at the end of the test.
pub(crate) fn log(bytes: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes.as_ref()).unwrap();
    file
}

/// Reads these files and folders.
pub(crate) fn account<P: AsRef<Path>>(paths: &[P]) -> Account {
    read(paths, Limits::default()).0
}

/// Reads one file with these bytes.
pub(crate) fn account_of(bytes: impl AsRef<[u8]>) -> Account {
    account(&[log(bytes).path()])
}

/// Returns the summary of these files and folders as JSON.
pub(crate) fn json<P: AsRef<Path>>(paths: &[P]) -> Value {
    let (account, names) = read(paths, Limits::default());
    report_json(&report::summary(&account, Names(&names)))
}

/// Renders a report as JSON.
pub(crate) fn report_json(report: &Report) -> Value {
    let mut out = Vec::new();
    render::render(report, Format::Json, Style::default(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Reads these files and folders within these limits; also returns the names of the sources.
pub(crate) fn read<P: AsRef<Path>>(paths: &[P], limits: Limits) -> (Account, Vec<Name>) {
    let wanted = Roots::Paths(paths.iter().map(|path| path.as_ref().to_owned()).collect());
    let search = input::find(&wanted);
    assert!(search.errors.is_empty(), "{:?}", search.errors);
    let options = Options { limits, ..Options::default() };
    let scan = scan::scan(&search.sources, &options, &Progress::default());
    assert!(scan.unread.is_empty(), "{:?}", scan.unread);
    let names = search.sources.iter().map(|source| source.name().into()).collect();
    (scan.facts.settle(&Prices::built_in()), names)
}

/// Returns the lines of invalid records, from 1.
pub(crate) fn invalid_lines(account: &Account) -> Vec<u64> {
    account.input.invalid_places.iter().map(|place| place.line).collect()
}

/// Returns the tested program. `.ci/run` sets `TESTED_PROGRAM` to a release build, which omits clap's checks
/// of arguments.
#[expect(clippy::disallowed_methods, reason = "tests have no other input")]
pub(crate) fn program() -> PathBuf {
    std::env::var_os("TESTED_PROGRAM")
        .map_or_else(|| assert_cmd::cargo::cargo_bin!("ccstat").to_owned(), PathBuf::from)
}

/// Returns the program in a clean environment.
pub(crate) fn ccstat(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    let spoken = ["CLAUDE_CONFIG_DIR", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"];
    for variable in
        spoken.iter().chain(&["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "XDG_CONFIG_HOME", "APPDATA"])
    {
        command.env_remove(variable);
    }
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CCSTAT_"))
    {
        command.env_remove(variable);
    }
    command.env("TZ", "UTC").env("HOME", testdata("no-such-home")).current_dir(testdata("")).args(arguments);
    command
}

/// Runs a command and returns its exit code, standard output and standard error.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs the program with these arguments alone.
pub(crate) fn run_with(arguments: &[&str]) -> (i32, String, String) {
    run(&mut ccstat(arguments))
}

/// Returns the output of a successful command with `--format json`.
pub(crate) fn printed_json(arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = run_with(&[arguments, &["--format", "json"]].concat());
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
    serde_json::from_str(&stdout).unwrap()
}

/// Returns the rows of a successful command with `--format json`.
pub(crate) fn printed_rows(arguments: &[&str]) -> Vec<Value> {
    printed_json(arguments)["rows"].as_array().unwrap().clone()
}

/// Compresses bytes with gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Waits until a process catches SIGINT. Only Linux shows whether it does; elsewhere a second must be enough.
#[cfg(unix)]
pub(crate) fn wait_for_handler(pid: u32) {
    if !cfg!(target_os = "linux") {
        return std::thread::sleep(std::time::Duration::from_secs(1));
    }
    let begun = std::time::Instant::now();
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        // The second bit is SIGINT.
        if u64::from_str_radix(caught, 16).unwrap() & 0b10 != 0 {
            return;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it catches no signals");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
