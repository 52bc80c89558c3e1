//! Faults of the file system: files that change or vanish, special files, names that are not UTF-8, corrupt
//! archives, full disks. The program always ends in time with the right exit code and message, and counts the
//! good logs.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::{Command as Process, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{ccstat, gzip, recording, run};

/// The longest time that anything here may take, even on a busy machine: beyond it the program hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with one good log of ten records.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(recording("stream/34-permission-denied-bash.jsonl"), folder.path().join("good.jsonl")).unwrap();
    folder
}

fn record(number: usize) -> String {
    format!("{{\"type\":\"user\",\"uuid\":\"{number}\"}}\n")
}

/// Runs a command to its end within the time limit: exit code and output.
fn ended(command: &mut Command) -> (i32, String, String) {
    run(command.timeout(PATIENCE))
}

/// Runs the program in a folder.
fn run_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    ended(ccstat(arguments).current_dir(folder))
}

/// Returns the summary of these paths: the exit code, the counts of the input, and standard error.
fn summary(folder: &Path, paths: &[&str]) -> (i32, Value, String) {
    let (code, stdout, stderr) =
        run_in(folder, &[&["summarize", "--json", "--threads", "1"], paths].concat());
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    (code, report["input"].clone(), stderr)
}

fn fifo(path: &Path) {
    assert!(Process::new("mkfifo").arg(path).status().unwrap().success());
}

/// Changes something between the listing of all sources and the opening of the log. A FIFO is read before all
/// files, and opening it for writing waits for its reader.
fn meanwhile(folder: &Path, happens: impl FnOnce(&Path)) -> (i32, Value, String) {
    let (pipe, log) = (folder.join("pipe"), folder.join("log.jsonl"));
    fifo(&pipe);
    std::thread::scope(|scope| {
        let seen = scope.spawn(|| summary(folder, &["pipe", "log.jsonl", "good.jsonl"]));
        let mut pipe = File::options().write(true).open(&pipe).unwrap();
        happens(&log);
        pipe.write_all(record(0).as_bytes()).unwrap();
        drop(pipe);
        seen.join().unwrap()
    })
}

/// Sizes of logs that are read in one unit, and in several.
fn sizes() -> [usize; 2] {
    [100, 300_000] // lines of about 30 bytes; units have 8 MiB
}

fn lines(count: usize) -> String {
    (0..count).map(record).collect()
}

#[test]
fn a_file_that_vanishes_before_opening_is_reported_once_and_the_others_count() {
    for size in sizes() {
        let folder = folder();
        fs::write(folder.path().join("log.jsonl"), lines(size)).unwrap();
        let (code, input, said) = meanwhile(folder.path(), |log| fs::remove_file(log).unwrap());
        assert_eq!((code, &input["records"], &input["invalid"]), (4, &11.into(), &0.into()), "{said}");
        assert_eq!(said, "ccstat: cannot read `log.jsonl`: No such file or directory (os error 2)\n");
    }
}

#[test]
fn a_file_that_shrinks_before_reading_is_read_to_its_new_end() {
    for size in sizes() {
        let folder = folder();
        let all = lines(size);
        fs::write(folder.path().join("log.jsonl"), &all).unwrap();
        let half = all[..all.len() / 2].rfind('\n').unwrap() + 5; // within a record
        let whole = all[..half].lines().count() - 1;
        let (code, input, said) = meanwhile(folder.path(), |log| {
            File::options().write(true).open(log).unwrap().set_len(half as u64).unwrap();
        });
        assert_eq!((code, &*said), (0, ""));
        assert_eq!(input["records"], 11 + whole);
        assert_eq!((&input["invalid"], &input["truncated"]), (&0.into(), &1.into()));
    }
}

#[test]
fn a_file_that_grows_before_reading_is_read_to_its_new_end() {
    for size in sizes() {
        let folder = folder();
        fs::write(folder.path().join("log.jsonl"), lines(size)).unwrap();
        let (code, input, said) = meanwhile(folder.path(), |log| {
            let mut log = File::options().append(true).open(log).unwrap();
            log.write_all((lines(size + 7)[lines(size).len()..].to_owned() + "{\"type\":\"us").as_bytes())
                .unwrap();
        });
        assert_eq!((code, &*said), (0, ""));
        assert_eq!(input["records"], 11 + size + 7);
        assert_eq!((&input["invalid"], &input["truncated"]), (&0.into(), &1.into()));
    }
}

/// Runs the program without the right to read everything. Root has that right, and tests often run as root.
fn unprivileged(folder: &Path, arguments: &[&str]) -> Command {
    let program = crate::support::program();
    let secret = folder.join("may-not-be-read");
    fs::write(&secret, "x").unwrap();
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o000)).unwrap();
    let mut words: Vec<&std::ffi::OsStr> = Vec::new();
    if fs::read(&secret).is_ok() {
        let lesser = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", "--"];
        words.extend(lesser.map(std::ffi::OsStr::new));
        let mut read = Process::new(words[0]);
        let read = read.args(&words[1..]).arg("cat").arg(&secret).stderr(Stdio::null()).status();
        assert!(
            read.is_ok_and(|status| !status.success()),
            "run this as a user other than root, or install setpriv"
        );
    }
    fs::remove_file(secret).unwrap();
    words.push(program.as_os_str());
    let mut process = Process::new(words[0]);
    process
        .args(&words[1..])
        .args(arguments)
        .current_dir(folder)
        .env("TZ", "UTC")
        .env("HOME", "no-such-home");
    Command::from_std(process)
}

#[test]
fn a_file_that_loses_its_permission_is_reported_and_the_others_count() {
    for size in sizes() {
        let folder = folder();
        let (pipe, log) = (folder.path().join("pipe"), folder.path().join("log.jsonl"));
        fs::write(&log, lines(size)).unwrap();
        let mut command = unprivileged(
            folder.path(),
            &["summarize", "--json", "--threads", "1", "pipe", "log.jsonl", "good.jsonl"],
        );
        fifo(&pipe);
        let (code, stdout, said) = std::thread::scope(|scope| {
            let seen = scope.spawn(move || ended(&mut command));
            let pipe = File::options().write(true).open(&pipe).unwrap();
            fs::set_permissions(&log, PermissionsExt::from_mode(0o000)).unwrap();
            drop(pipe);
            seen.join().unwrap()
        });
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((code, &report["input"]["records"]), (4, &10.into()));
        assert_eq!(said, "ccstat: cannot read `log.jsonl`: Permission denied (os error 13)\n");
    }
}

#[test]
fn unreadable_files_are_reported_and_the_rest_of_the_folder_counts() {
    let folder = folder();
    for closed in ["closed.jsonl", "closed/log.jsonl"] {
        let path = folder.path().join(closed);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, record(1)).unwrap();
    }
    let mut command = unprivileged(folder.path(), &["summarize", "--json", "."]);
    for closed in ["closed.jsonl", "closed"] {
        fs::set_permissions(folder.path().join(closed), PermissionsExt::from_mode(0o000)).unwrap();
    }
    let (code, stdout, said) = ended(&mut command);
    fs::set_permissions(folder.path().join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["input"]["records"]), (4, &10.into()), "{said}");
    for closed in ["./closed", "./closed.jsonl"] {
        assert!(said.contains(&format!("cannot read `{closed}`: Permission denied")), "{said}");
    }
}

#[test]
fn a_named_fifo_is_read_and_a_found_fifo_is_skipped() {
    let folder = folder();
    let pipe = folder.path().join("pipe.jsonl");
    fifo(&pipe);
    let feed = pipe.clone();
    let writer = std::thread::spawn(move || fs::write(feed, record(1)).unwrap());
    let (code, input, said) = summary(folder.path(), &["pipe.jsonl", "good.jsonl"]);
    writer.join().unwrap();
    assert_eq!((code, &input["records"], &*said), (0, &11.into(), ""));
    // Nobody writes: opening it would block forever.
    for found in [".", "*.jsonl", "{pipe,good}.jsonl"] {
        let (code, input, said) = summary(folder.path(), &[found]);
        assert_eq!(
            (code, &input["sources"], &input["records"], &*said),
            (0, &1.into(), &10.into(), ""),
            "{found}"
        );
    }
    let (code, _, said) = summary(folder.path(), &["pi*.jsonl"]);
    assert_eq!((code, said.lines().next().unwrap()), (3, "ccstat: no file matches `pi*.jsonl`"));
}

#[test]
fn a_named_socket_is_reported_and_a_found_socket_is_skipped() {
    let folder = folder();
    let _socket = UnixListener::bind(folder.path().join("socket.jsonl")).unwrap();
    let (code, input, said) = summary(folder.path(), &["."]);
    assert_eq!((code, &input["records"], &*said), (0, &10.into(), ""));
    let (code, input, said) = summary(folder.path(), &["socket.jsonl", "good.jsonl"]);
    assert_eq!((code, &input["records"]), (4, &10.into()));
    assert!(said.starts_with("ccstat: cannot read `socket.jsonl`: "), "{said}");
    assert_eq!(summary(folder.path(), &["socket.jsonl"]).0, 3);
}

/// A process that is killed if a test ends before it does.
struct Running(std::process::Child);

impl Running {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = Process::new(crate::support::program());
        process.args(arguments).current_dir(folder).env("TZ", "UTC");
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(process.spawn().unwrap())
    }

    /// Returns a line of the process's status in `/proc`.
    fn status(&self, key: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned()
    }

    fn wait_for(&self, what: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !what(self) {
            assert!(begun.elapsed() < PATIENCE, "the condition never became true");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether it has a handler for SIGINT: the second bit of the signals that it catches.
    fn listens(&self) -> bool {
        u64::from_str_radix(&self.status("SigCgt:"), 16).is_ok_and(|caught| caught & 0b10 != 0)
    }

    /// Whether it has read this many bytes.
    fn has_read(&self, bytes: u64) -> bool {
        let counts = fs::read_to_string(format!("/proc/{}/io", self.0.id())).unwrap();
        let read = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        read.parse::<u64>().unwrap() > bytes
    }

    /// Returns the peak memory so far, in MB.
    fn peak(&self) -> u64 {
        self.status("VmHWM:").trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1000
    }

    fn interrupt(mut self) -> (Option<i32>, String) {
        assert!(Process::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap().success());
        let begun = Instant::now();
        let mut report = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut report).unwrap();
        assert!(begun.elapsed() < PATIENCE);
        (self.0.wait().unwrap().code(), report)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_wait_for_a_fifo_without_a_writer() {
    let folder = folder();
    fifo(&folder.path().join("pipe"));
    let running = Running::start(folder.path(), &["summarize", "--json", "pipe", "good.jsonl"]);
    running.wait_for(Running::listens);
    std::thread::sleep(Duration::from_millis(300));
    let (code, report) = running.interrupt();
    assert_eq!(code, Some(130), "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_device_takes_constant_memory_and_can_be_interrupted() {
    let folder = folder();
    let running =
        Running::start(folder.path(), &["summarize", "--json", "--max-record", "1000000", "/dev/zero"]);
    running.wait_for(|running| running.listens() && running.has_read(32_000_000));
    let early = running.peak();
    running.wait_for(|running| running.has_read(96_000_000));
    let late = running.peak();
    assert!(late <= early + 4 && late < 64, "{early} MB, then {late} MB");
    let (code, report) = running.interrupt();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((code, &report["input"]["records"]), (Some(130), &0.into()));
}

#[test]
fn an_empty_device_is_an_empty_source() {
    let folder = folder();
    let (code, input, said) = summary(folder.path(), &["/dev/null"]);
    assert_eq!(
        (code, &input["bytes"], &*said),
        (3, &0.into(), "ccstat: no records: the sources are empty\n")
    );
    assert_eq!(summary(folder.path(), &["/dev/null", "good.jsonl"]).0, 0);
}

#[test]
fn a_folder_given_as_a_file_is_reported_as_a_folder() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub.jsonl")).unwrap();
    fs::write(folder.path().join("sub.jsonl/inner.jsonl"), record(1)).unwrap();
    let (code, input, said) = summary(folder.path(), &["."]);
    assert_eq!(
        (code, &input["records"], &*said),
        (0, &11.into(), ""),
        "a folder with the name of a log is a folder"
    );
    for (arguments, code, says) in [
        (["--files-from", "sub.jsonl"], 2, "cannot read `sub.jsonl`: Is a directory"),
        (["--pricing", "sub.jsonl"], 2, "cannot read `sub.jsonl`: Is a directory"),
        (["-o", "json=sub.jsonl"], 4, "cannot write `sub.jsonl`: Is a directory"),
    ] {
        let seen = run_in(folder.path(), &[&["summarize", "good.jsonl"], &arguments[..]].concat());
        assert_eq!(seen.0, code, "{seen:?}");
        assert!(seen.2.contains(says), "{}", seen.2);
    }
    let (code, _, said) =
        ended(ccstat(&["summarize", "--tee=sub.jsonl"]).current_dir(folder.path()).write_stdin(record(1)));
    assert_eq!((code, said.contains("cannot write `sub.jsonl`: Is a directory")), (4, true), "{said}");
}

#[test]
fn broken_and_circular_links_are_reported_only_if_a_log_is_missing() {
    let folder = folder();
    let link = |to: &str, name: &str| symlink(to, folder.path().join(name)).unwrap();
    link("nowhere", "cache");
    link("itself", "itself");
    let (code, input, said) = summary(folder.path(), &["."]);
    assert_eq!((code, &input["records"], &*said), (0, &10.into(), ""));
    link("nowhere", "gone.jsonl");
    link("two.jsonl", "one.jsonl");
    link("one.jsonl", "two.jsonl");
    let (code, input, said) = summary(folder.path(), &["."]);
    assert_eq!((code, &input["records"], said.lines().count()), (4, &10.into(), 3), "{said}");
    assert!(
        said.contains("`./gone.jsonl`: No such file") && said.contains("`./one.jsonl`: Too many levels"),
        "{said}"
    );
    let (code, _, said) = summary(folder.path(), &["itself"]);
    assert!(code == 3 && said.contains("cannot read `itself`: Too many levels of symbolic links"), "{said}");
}

/// Names that are not UTF-8, that contain terminal escapes, and that contain row separators.
const NAMES: [(&[u8], &str); 3] =
    [(b"a\xff.jsonl", "a\\xff.jsonl"), (b"a\xfe.jsonl", "a\\xfe.jsonl"), (b"b\x1b[31m\n|,\".jsonl", "")];

#[test]
fn a_name_that_is_not_utf8_is_escaped_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for (name, _) in NAMES {
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), record(1) + "{broken\n").unwrap();
    }
    for format in ["table", "json", "jsonl", "csv", "tsv", "markdown", "comment", "junit"] {
        let command = match format {
            "junit" => vec!["check", "--fail-on", "invalid", "."],
            "comment" => vec!["check", "--fail-on", "invalid", "."],
            _ => vec!["export", "records", "--columns", "source,kind", "."],
        };
        let (code, stdout, said) = run_in(folder.path(), &[&command[..], &["-f", format]].concat());
        assert!(code == 0 || command[0] == "check" && code == 1, "{format}: {code} {said}");
        assert!(!stdout.contains('\x1b') && !said.contains("\x1b[31m\n"), "{format}: {stdout}");
        for (_, spelled) in &NAMES[..2] {
            let spelled = match format {
                "json" | "jsonl" | "tsv" | "markdown" | "comment" => spelled.replace('\\', "\\\\"),
                _ => (*spelled).to_owned(),
            };
            assert!(stdout.contains(&spelled), "{format}: {stdout}");
        }
    }
    let missing = PathBuf::from(std::ffi::OsStr::from_bytes(b"no\xff\x1b[2J"));
    let (code, _, said) = ended(ccstat(&["summarize"]).arg(missing));
    assert_eq!((code, said.contains('\x1b'), said.contains("`no\\xff")), (3, false, true), "{said}");
}

#[test]
fn a_thousand_files_are_one_report() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1000 {
        let name = format!("{}/{number}.jsonl", number % 10);
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, record(number)).unwrap();
    }
    let (code, input, _) = summary(folder.path(), &["."]);
    assert_eq!((code, &input["sources"], &input["records"]), (0, &1000.into(), &1000.into()));
}

#[test]
fn a_hole_in_a_file_is_a_blank_line_and_later_records_are_read() {
    let folder = folder();
    let mut log = File::create(folder.path().join("log.jsonl")).unwrap();
    log.write_all(record(1).as_bytes()).unwrap();
    log.set_len(20 << 20).unwrap();
    let mut log = File::options().append(true).open(folder.path().join("log.jsonl")).unwrap();
    log.write_all(format!("\n{}", record(2)).as_bytes()).unwrap();
    let (code, input, said) = summary(folder.path(), &["log.jsonl"]);
    assert_eq!(
        (code, &input["records"], &input["lines"], &input["invalid"]),
        (0, &2.into(), &3.into(), &0.into()),
        "{said}"
    );
    assert_eq!(input["blank"], 1);
}

#[test]
fn an_empty_archive_has_no_records_and_is_not_a_failure() {
    let folder = folder();
    for (name, bytes) in [
        ("empty.jsonl.gz", gzip(b"")),
        ("empty.jsonl.zst", zstd::encode_all(&b""[..], 1).unwrap()),
        ("nothing.jsonl.gz", Vec::new()),
        ("nothing.jsonl.zst", Vec::new()),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
        let (code, input, said) = summary(folder.path(), &[name]);
        assert_eq!((code, &input["records"], &input["bytes"]), (3, &0.into(), &0.into()), "{name}");
        assert_eq!(said, "ccstat: no records: the sources are empty\n", "{name}");
    }
    let (code, input, said) = summary(folder.path(), &["."]);
    assert_eq!((code, &input["records"], &*said), (0, &10.into(), ""));
}

#[test]
fn an_archive_with_trailing_garbage_or_a_missing_end_is_reported_and_its_lines_count() {
    let folder = folder();
    let all = lines(50_000);
    let (packed, squeezed) = (gzip(all.as_bytes()), zstd::encode_all(all.as_bytes(), 1).unwrap());
    for (name, bytes, whole) in [
        ("garbage.gz", [&packed[..], b"no gzip follows"].concat(), true),
        ("garbage.zst", [&squeezed[..], b"no frame follows"].concat(), true),
        ("torn.gz", packed[..packed.len() / 2].to_vec(), false),
        ("torn.zst", squeezed[..squeezed.len() / 2].to_vec(), false),
        ("tail.gz", packed[..packed.len() - 4].to_vec(), true),
    ] {
        let name = format!("log.jsonl.{name}");
        fs::write(folder.path().join(&name), bytes).unwrap();
        let (code, input, said) = summary(folder.path(), &[&name, "good.jsonl"]);
        let records = input["records"].as_u64().unwrap();
        assert_eq!((code, records == 50_010, records > 1_000), (4, whole, true), "{name}: {input} {said}");
        assert!(said.starts_with(&format!("ccstat: cannot read `{name}` to its end: ")), "{said}");
        assert!(said.ends_with("bytes; what came before is counted\n"), "{said}");
    }
}

#[test]
fn every_line_before_the_corruption_in_an_archive_counts() {
    let folder = folder();
    let all: String = (0..60_000).map(|number: usize| record(number * number % 99_991)).collect();
    let mut packed = gzip(all.as_bytes());
    let middle = packed.len() / 2;
    packed[middle..middle + 500].fill(0xff);
    // Byte by byte: every line before the corruption counts, except perhaps the last.
    let mut slowly = flate2::bufread::MultiGzDecoder::new(&packed[..]);
    let (mut there, mut byte) = (Vec::new(), [0]);
    while slowly.read(&mut byte).is_ok_and(|count| count == 1) {
        there.push(byte[0]);
    }
    let whole = there.iter().rposition(|byte| *byte == b'\n').unwrap() as u64 + 1;
    fs::write(folder.path().join("log.jsonl.gz"), &packed).unwrap();
    let (code, input, said) = summary(folder.path(), &["log.jsonl.gz"]);
    assert_eq!((code, &input["bytes"]), (4, &whole.into()), "{said}");
    assert!(whole > 500_000 && said.ends_with("bytes; what came before is counted\n"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_nothing_else_is_lost() {
    let folder = folder();
    for arguments in [
        &["summarize", "good.jsonl", "-o", "json=/dev/full"][..],
        &["calls", "good.jsonl", "-o", "csv=/dev/full"],
        &["export", "records", "good.jsonl", "-o", "jsonl=/dev/full"],
        &["check", "--max-turns", "99", "good.jsonl", "-o", "junit=/dev/full"],
    ] {
        let (code, stdout, said) = run_in(folder.path(), arguments);
        assert_eq!(
            (code, &*said),
            (4, "ccstat: cannot write `/dev/full`: No space left on device (os error 28)\n")
        );
        assert!(!stdout.is_empty(), "the report is still shown: {arguments:?}");
    }
    // The code of a failed gate overrides that of a full disk.
    let gated = ["summarize", "good.jsonl", "--fail-on", "denial", "-o", "json=/dev/full"];
    assert_eq!(run_in(folder.path(), &gated).0, 1);
    for arguments in
        ["calls -f csv", "export records", "prices", "schema summary", "generate completions bash", "--help"]
    {
        let line = format!("\"$0\" {arguments} < good.jsonl > /dev/full");
        let (code, _, said) = shell(folder.path(), &line);
        assert!(code == 4 && said.contains("No space left on device"), "{arguments}: {code} {said}");
    }
}

/// Runs a line of a shell, with the program as `$0`.
fn shell(folder: &Path, line: &str) -> (i32, String, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(crate::support::program()).current_dir(folder).env("TZ", "UTC");
    ended(&mut shell)
}

#[cfg(target_os = "linux")]
#[test]
fn a_stream_continues_when_the_disk_for_its_copy_is_full() {
    let folder = folder();
    for (line, code, passed) in [
        ("\"$0\" summarize --tee -o json=/dev/full < good.jsonl", 4, true),
        ("\"$0\" summarize --tee=/dev/full --json < good.jsonl", 4, true),
        ("\"$0\" summarize --tee --json < good.jsonl > /dev/full", 4, false),
        ("\"$0\" run -- cat good.jsonl > /dev/full", 0, false),
        ("\"$0\" run -o json=/dev/full -- cat good.jsonl", 0, true),
    ] {
        let (ended, stdout, said) = shell(folder.path(), line);
        assert_eq!((ended, said.contains("No space left on device")), (code, true), "{line}: {said}");
        assert_eq!(stdout.lines().count(), if passed { 10 } else { 0 }, "{line}");
        if !line.contains("-o ") {
            assert!(
                said.contains("permission_denied") || said.contains("2 calls were denied"),
                "{line}: {said}"
            );
        }
    }
}

#[test]
fn a_stream_continues_when_nothing_can_be_spooled() {
    let folder = folder();
    // More than fits in memory, in one piece: the parser cannot keep up, and there is no folder for the rest.
    let line = |number: usize| {
        format!("{{\"type\":\"user\",\"uuid\":\"{number}\",\"x\":\"{}\"}}\n", "x".repeat(2_000))
    };
    let log: String = (0..20_000).map(line).collect();
    fs::write(folder.path().join("large.jsonl"), &log).unwrap();
    let line = "TMPDIR=/no/such/folder \"$0\" summarize --tee --json < large.jsonl 2> report | cksum; cksum < large.jsonl; cat report >&2";
    let (code, stdout, said) = shell(folder.path(), line);
    let sums: Vec<&str> = stdout.lines().collect();
    assert_eq!((code, sums[0]), (0, sums[1]));
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(report["input"]["records"], 20_000);
}

#[test]
fn a_closed_pipe_is_not_a_failure_for_any_output() {
    let folder = folder();
    for arguments in [
        "summarize good.jsonl -f csv",
        "summarize -q good.jsonl --print text",
        "calls good.jsonl",
        "export records good.jsonl",
        "show latest good.jsonl",
        "summarize -q good.jsonl -o json=/dev/stdout",
        "prices",
        "schema summary",
        "generate completions bash",
        "help summarize",
        "--version",
    ] {
        let line = format!("{{ sleep 0.2; \"$0\" {arguments}; echo $? >&2; }} | true");
        let (_, _, said) = shell(folder.path(), &line);
        assert_eq!(said, "0\n", "{arguments}");
    }
    // Standard output is closed from the start.
    for closed in [">&-", "2>&-", ">&- 2>&-", "<&-"] {
        let (code, _, said) = shell(folder.path(), &format!("\"$0\" summarize good.jsonl {closed}"));
        assert_eq!((code, &*said), (0, ""), "{closed}");
    }
    // The exit code reports a failed gate even if the reader has closed.
    let line = "{ sleep 0.2; \"$0\" summarize good.jsonl --fail-on denial 2>/dev/null; echo $? >&2; } | true";
    assert_eq!(shell(folder.path(), line).2, "1\n");
}

#[test]
fn a_read_only_folder_is_reported_and_the_report_is_printed() {
    let folder = folder();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let ways = [
        (&["summarize", "good.jsonl", "-o", "closed/report.json"][..], 4, "closed/report.json"),
        (&["export", "calls", "good.jsonl", "-o", "closed/calls.csv"], 4, "closed/calls.csv"),
        (&["generate", "man", "closed"], 4, "closed/ccstat"),
        (&["run", "--tee", "closed/copy.jsonl", "--", "cat", "good.jsonl"], 4, "closed/copy.jsonl"),
    ];
    for (arguments, expected, name) in ways {
        let mut command = unprivileged(folder.path(), arguments);
        fs::set_permissions(&closed, PermissionsExt::from_mode(0o555)).unwrap();
        let (code, stdout, said) = ended(&mut command);
        fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(code, expected, "{arguments:?} {said}");
        assert!(
            said.contains(&format!("cannot write `{name}")) && said.contains("ermission denied"),
            "{said}"
        );
        assert_eq!(!stdout.is_empty(), arguments.contains(&"-o"), "{arguments:?}");
        assert_eq!(fs::read_dir(&closed).unwrap().count(), 0, "nothing half written is left");
    }
}
