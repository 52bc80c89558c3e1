//! `--tee`, `--print` and `--live`: a pipe that is passed on while it is read.

use std::{
    fs,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{recording, run_with, testdata};

fn summarize(options: &[&str]) -> Child {
    let mut command = Command::new(crate::support::program());
    command.env_remove("COLUMNS").env("TZ", "UTC").arg("summarize").args(options);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the output for a pipe with these bytes.
fn piped(options: &[&str], bytes: &[u8]) -> Output {
    let mut child = summarize(options);
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(bytes).unwrap());
        child.wait_with_output().unwrap()
    })
}

fn denied() -> PathBuf {
    recording("stream/34-permission-denied-bash.jsonl")
}

fn report(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(bytes)))
}

#[test]
fn a_pipe_passes_unchanged_and_the_report_is_that_of_the_file() {
    let bytes = fs::read(denied()).unwrap();
    let seen = piped(&["--tee", "--json"], &bytes);
    assert_eq!((seen.status.code(), seen.stdout == bytes), (Some(0), true));
    let file = run_with(&["summarize", "--json", denied().to_str().unwrap()]).1;
    let (mut piped, mut file) = (report(&seen.stderr), report(file.as_bytes()));
    piped["input"].as_object_mut().unwrap().remove("invalid_places");
    file["input"].as_object_mut().unwrap().remove("invalid_places");
    assert_eq!(piped, file, "latencies by arrival appear only on request");
}

#[test]
fn every_recording_passes_unchanged() {
    for log in crate::support::cases(&testdata("recordings/2.1.325/stream")) {
        let bytes = fs::read(&log).unwrap();
        let seen = piped(&["--tee", "-q"], &bytes);
        assert!(seen.stdout == bytes, "{}", log.display());
    }
}

#[test]
fn a_line_comes_out_before_the_next_one_goes_in() {
    let mut child = summarize(&["--tee", "-q"]);
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for line in fs::read_to_string(denied()).unwrap().split_inclusive('\n') {
        let begun = Instant::now();
        to.write_all(line.as_bytes()).unwrap();
        let mut back = vec![0; line.len()];
        from.read_exact(&mut back).unwrap();
        assert_eq!(back, line.as_bytes());
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    // Half a line is passed on, too.
    to.write_all(b"{\"type\":").unwrap();
    from.read_exact(&mut [0; 8]).unwrap();
    drop(to);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_copy_is_kept_beside_what_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let bytes = fs::read(denied()).unwrap();
    let seen = piped(&[&format!("--tee={}", copy.display()), "-q"], &bytes);
    assert_eq!((seen.stdout == bytes, fs::read(copy).unwrap() == bytes), (true, true));
}

#[test]
fn with_a_file_for_the_report_standard_error_stays_silent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let seen = piped(&["--tee", "-o", file.to_str().unwrap()], &fs::read(denied()).unwrap());
    assert_eq!(String::from_utf8(seen.stderr).unwrap(), "");
    assert_eq!(report(&fs::read(file).unwrap())["denials"]["total"], 2);
}

#[cfg(unix)]
#[test]
fn the_writer_ends_and_is_reported_when_the_reader_closes() {
    let mut child = summarize(&["--tee", "--json"]);
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let bytes = fs::read(denied()).unwrap();
    to.write_all(&bytes).unwrap();
    from.read_exact(&mut vec![0; bytes.len()]).unwrap();
    drop(from);
    let begun = Instant::now();
    // An endless writer ends.
    while to.write_all(&bytes).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    let seen = child.wait_with_output().unwrap();
    let report = report(&seen.stderr);
    assert_eq!((seen.status.code(), &report["input"]["interrupted"]), (Some(0), &true.into()));
    assert!(report["input"]["records"].as_u64().unwrap() >= 10);
}

#[test]
fn keep_running_reads_a_pipe_to_its_end_after_its_reader_closes() {
    let mut child = summarize(&["--tee", "--json", "--keep-running"]);
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    stdin.write_all(&fs::read(denied()).unwrap().repeat(50)).unwrap();
    drop(stdin);
    let seen = child.wait_with_output().unwrap();
    let report = report(&seen.stderr);
    assert_eq!((seen.status.code(), &report["input"]["records"]), (Some(0), &500.into()));
    assert_eq!(report["input"]["interrupted"], false);
}

#[test]
fn gates_apply_to_a_pipe_as_to_a_file() {
    let bytes = fs::read(denied()).unwrap();
    let seen = piped(&["--tee", "--fail-on", "denial"], &bytes);
    assert_eq!((seen.status.code(), seen.stdout == bytes), (Some(1), true));
    assert!(String::from_utf8(seen.stderr).unwrap().contains("--allowedTools"));
    assert_eq!(piped(&["--tee", "--max-denials", "2"], &bytes).status.code(), Some(0));
}

#[test]
fn an_interrupt_waits_for_the_remaining_output_and_reports_it() {
    let mut child = summarize(&["--tee", "--json"]);
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let bytes = fs::read(denied()).unwrap();
    let (first, last) = bytes.split_at(4000);
    to.write_all(first).unwrap();
    from.read_exact(&mut vec![0; first.len()]).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    to.write_all(last).unwrap();
    from.read_exact(&mut vec![0; last.len()]).unwrap();
    // The writer stays open: the program waits for it, but not forever.
    let seen = child.wait_with_output().unwrap();
    let report = report(&seen.stderr);
    assert_eq!((seen.status.code(), &report["input"]["records"]), (Some(130), &10.into()));
    assert_eq!(report["input"]["interrupted"], true);
    drop(to);
}

#[test]
fn a_pipe_is_printed_like_its_file() {
    let seen = piped(&["--print", "text", "-q"], &fs::read(denied()).unwrap());
    let (code, file, _) = run_with(&["summarize", "--print", "text", "-q", denied().to_str().unwrap()]);
    assert_eq!((code, String::from_utf8(seen.stdout).unwrap()), (0, file.clone()));
    assert!(file.contains("→ Bash  touch denied.txt"), "{file}");
}

#[test]
fn options_that_need_a_pipe_are_refused_for_files() {
    let log = denied();
    for option in ["--tee", "--live"] {
        let (code, out, stderr) = run_with(&["summarize", option, log.to_str().unwrap()]);
        assert_eq!((code, &*out), (2, ""), "{option}");
        assert!(stderr.contains(option) && stderr.contains("cannot be used with files"), "{stderr}");
    }
}

#[test]
fn live_latencies_by_arrival_have_their_own_keys() {
    let seen = piped(&["--live=plain", "--json"], &fs::read(denied()).unwrap());
    let report = report(&seen.stdout);
    assert_eq!(report["by_arrival"]["tools"]["Bash"]["count"], 1);
    assert_eq!(report["tools"]["by_name"]["Bash"]["latency_ms"]["p50"], 68, "the latency of the log is kept");
    let silent = piped(&["--json"], &fs::read(denied()).unwrap());
    assert!(self::report(&silent.stdout)["by_arrival"].is_null());
}

#[test]
fn the_passed_on_stream_ends_before_the_report_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    assert!(Command::new("mkfifo").arg(&report).status().unwrap().success());
    // Nobody reads the report yet, so the program cannot end.
    let mut child = summarize(&["--tee", "-o", &format!("json={}", report.display())]);
    child.stdin.take().unwrap().write_all(&fs::read(denied()).unwrap()).unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).unwrap();
        sender.send(bytes.len()).unwrap();
    });
    let passed = receiver.recv_timeout(Duration::from_secs(20));
    assert_eq!(passed.map(|length| length as u64), Ok(fs::metadata(denied()).unwrap().len()));
    assert_eq!(self::report(&fs::read(&report).unwrap())["denials"]["total"], 2);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
