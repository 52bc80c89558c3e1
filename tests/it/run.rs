//! `run`: the output of a command is passed on unchanged and at once, and there is a report however it ends.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{log, recording};

/// `ccstat run` of a shell script, in which `$1` is a log.
fn run_script(options: &[&str], script: &str, log: &Path) -> Command {
    let mut command = Command::new(crate::support::program());
    command.env_remove("COLUMNS").env("TZ", "UTC").stdin(Stdio::null());
    command.arg("run").args(options).args(["--", "sh", "-c", script, "sh"]).arg(log);
    #[cfg(unix)]
    crate::terminal::without(&mut command);
    command
}

fn output(options: &[&str], script: &str, log: &Path) -> Output {
    run_script(options, script, log).output().unwrap()
}

fn denied() -> PathBuf {
    recording("stream/34-permission-denied-bash.jsonl")
}

/// Parses the JSON report: the last part of standard error, after the command's own.
fn report(output: &Output) -> Value {
    let start = output.stderr.iter().position(|byte| *byte == b'{').unwrap_or(0);
    serde_json::from_slice(&output.stderr[start..])
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn lines_with_pauses_between_them_pass_unchanged() {
    let script = "while IFS= read -r line; do printf '%s\\n' \"$line\"; sleep 0.02; done < \"$1\"";
    let seen = output(&["--json"], script, &denied());
    assert_eq!((code(&seen), seen.stdout == fs::read(denied()).unwrap()), (0, true));
    let report = report(&seen);
    assert_eq!((&report["denials"]["total"], &report["input"]["records"]), (&2.into(), &10.into()));
    let arrived = &report["by_arrival"];
    assert!(arrived["elapsed_ms"].as_u64().unwrap() >= 200, "{arrived}");
    assert!(arrived["tools"]["Bash"]["p50"].as_u64().unwrap() >= 20, "{arrived}");
}

#[test]
fn a_command_that_dies_inside_a_line_ends_run_with_its_status_and_a_report() {
    let whole = fs::read(denied()).unwrap();
    for (end, expected) in [("exit 9", 9), ("kill -KILL $$", 137), ("kill -TERM $$", 143), ("exit 0", 0)] {
        let seen = output(&["--json"], &format!("head -c 4000 \"$1\"; {end}"), &denied());
        assert_eq!((code(&seen), seen.stdout == whole[..4000]), (expected, true), "{end}");
        let report = report(&seen);
        assert_eq!(
            (&report["input"]["truncated"], &report["turns"]["no_result_sessions"]),
            (&1.into(), &1.into())
        );
    }
}

#[test]
fn binary_output_and_lines_of_fifty_megabytes_pass_unchanged() {
    let mut bytes = b"\xff\xfe\0\x1b[2J not a log\r\n".to_vec();
    bytes.extend(b"{\"type\":\"user\",\"message\":{\"content\":\"".iter().chain(&vec![b'x'; 50 << 20]));
    bytes.extend(b"\"}}\n\n\n{\"type\":\"summary\"}\nno end");
    let log = log(&bytes);
    let seen = output(&["--json"], "cat \"$1\"", log.path());
    assert_eq!((code(&seen), seen.stdout == bytes), (0, true));
    let report = report(&seen);
    assert_eq!((&report["input"]["records"], &report["input"]["invalid"]), (&2.into(), &2.into()));
}

/// Runs a command whose reader closes after ten bytes.
fn unread(options: &[&str], script: &str, log: &Path) -> Output {
    let mut command = run_script(options, script, log);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap(); // and dropped
    child.wait_with_output().unwrap()
}

#[test]
fn keep_running_reads_a_command_to_its_end_after_its_reader_closes() {
    let log = log(fs::read(denied()).unwrap().repeat(200));
    let seen = unread(&["--json", "--keep-running"], "cat \"$1\"; exit 5", log.path());
    let report = report(&seen);
    assert_eq!((code(&seen), &report["input"]["records"]), (5, &2000.into()));
    assert_eq!(report["input"]["interrupted"], false);
}

#[cfg(unix)]
#[test]
fn an_endless_command_ends_and_is_reported_when_its_reader_closes() {
    for options in [&["--json"][..], &["--json", "--print", "text"]] {
        let seen = unread(options, "while cat \"$1\"; do :; done; kill -PIPE $$", &denied());
        let report = report(&seen);
        assert_eq!((code(&seen), &report["input"]["interrupted"]), (141, &true.into()), "{options:?}");
        assert!(report["input"]["records"].as_u64().unwrap() >= 1, "{options:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_silent_command_gets_a_closed_pipe_at_its_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let script = "cat \"$1\"; while ! test -e \"$GO\"; do sleep 0.05; done; exec cat \"$1\"";
    let mut command = run_script(&["--json"], script, &denied());
    let mut child = command.env("GO", &go).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut vec![0; fs::read(denied()).unwrap().len()]).unwrap();
    drop(stdout);
    std::thread::sleep(Duration::from_millis(300)); // ccstat notices it at once, but not by a write
    fs::write(go, "").unwrap();
    let seen = child.wait_with_output().unwrap();
    assert_eq!((code(&seen), &report(&seen)["input"]["records"]), (141, &10.into()));
}

#[cfg(unix)]
#[test]
fn a_command_that_writes_no_more_may_finish_after_its_reader_closed() {
    let seen = unread(&["--json"], "cat \"$1\"; sleep 0.3; exit 5", &denied());
    assert_eq!(code(&seen), 5);
}

#[test]
fn a_full_disk_for_the_copy_affects_only_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.jsonl");
    let seen = output(&["--tee", copy.to_str().unwrap()], "cat \"$1\"", &denied());
    let whole = fs::read(denied()).unwrap();
    assert_eq!((code(&seen), seen.stdout == whole, fs::read(&copy).unwrap() == whole), (0, true, true));
    if Path::new("/dev/full").exists() {
        let seen = output(&["--tee", "/dev/full"], "cat \"$1\"", &denied());
        let stderr = String::from_utf8(seen.stderr.clone()).unwrap();
        assert!(stderr.contains("cannot pass the stream on to `/dev/full`"), "{stderr}");
        assert_eq!(
            (code(&seen), seen.stdout == whole, stderr.contains("2 calls were denied")),
            (0, true, true)
        );
    }
}

#[test]
fn run_does_not_wait_for_processes_that_a_command_left_behind() {
    let begun = Instant::now();
    let seen = output(&["--json"], "cat \"$1\"; sleep 60 2> /dev/null & exit 3", &denied());
    assert_eq!((code(&seen), &report(&seen)["input"]["records"]), (3, &10.into()));
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn output_after_a_long_silence_is_not_lost() {
    let seen = output(&["--json"], "cat \"$1\"; sleep 2; printf '%s\\n' '{\"type\":\"summary\"}'", &denied());
    assert_eq!(report(&seen)["input"]["records"], 11);
}

#[test]
fn a_command_that_cannot_be_started_ends_as_in_a_shell() {
    let mut command = Command::new(crate::support::program());
    let seen = command.args(["run", "--json", "--", "no-such-command"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&seen.stderr);
    assert!(code(&seen) == 127 && stderr.contains("cannot run `no-such-command`"), "{stderr}");
    assert!(stderr.contains("\"records\": 0"), "programs get zeros: {stderr}");
    let log = log("no program");
    let mut command = Command::new(crate::support::program());
    assert_eq!(code(&command.args(["run", "-q", "--"]).arg(log.path()).output().unwrap()), 126);
}

#[test]
fn a_command_that_prints_no_log_gets_a_hint() {
    let seen = output(&[], "echo hello", &denied());
    let stderr = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert!(
        code(&seen) == 0 && seen.stdout == b"hello\n" && stderr.contains("--output-format stream-json"),
        "{stderr}"
    );
}

#[test]
fn the_command_inherits_standard_input() {
    let mut command = Command::new(crate::support::program());
    let mut child = command
        .args(["run", "--json", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(denied()).unwrap()).unwrap();
    let seen = child.wait_with_output().unwrap();
    assert_eq!(
        (seen.stdout == fs::read(denied()).unwrap(), &report(&seen)["denials"]["total"]),
        (true, &2.into())
    );
}

/// Starts a command that never ends by itself, and waits for its first output.
fn endless(options: &[&str], script: &str) -> (Child, u32) {
    let mut child =
        run_script(options, script, &denied()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first line is the process id of the shell, the last one says that it waits.
    let mut seen = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while !seen.ends_with("waiting\n") {
        stdout.read_exact(&mut byte).unwrap();
        seen.push(char::from(byte[0]));
    }
    (child, seen.lines().next().unwrap().parse().unwrap())
}

fn signal(process: u32, name: &str) {
    assert!(
        Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap().success()
    );
}

fn is_alive(process: u32) -> bool {
    Command::new("kill").args(["-0", &process.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

/// The status of a shell after SIGUSR1 and SIGUSR2, which have other numbers on macOS.
const USR1: i32 = if cfg!(target_os = "macos") { 158 } else { 138 };
const USR2: i32 = if cfg!(target_os = "macos") { 159 } else { 140 };

#[test]
fn a_signal_reaches_the_command_and_no_process_is_left() {
    for (name, expected) in
        [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131), ("USR1", USR1), ("USR2", USR2)]
    {
        let (child, shell) =
            endless(&["--json"], "echo $$; cat \"$1\"; echo waiting; while :; do sleep 0.1; done");
        signal(child.id(), name);
        let seen = child.wait_with_output().unwrap();
        assert_eq!(code(&seen), expected, "{name}");
        assert_eq!(report(&seen)["input"]["records"], 10, "{name}");
        assert!(!is_alive(shell), "{name}");
    }
}

#[test]
fn a_command_that_handles_a_signal_decides_how_it_ends() {
    let script = "trap 'printf \"%s\\n\" \"{\\\"type\\\":\\\"summary\\\"}\"; exit 4' TERM; echo $$; echo waiting; while :; do sleep 0.1; done";
    let (child, _) = endless(&["--json"], script);
    signal(child.id(), "TERM");
    let seen = child.wait_with_output().unwrap();
    assert_eq!((code(&seen), &report(&seen)["input"]["records"]), (4, &1.into()));
}

#[test]
fn a_command_that_handles_a_user_signal_continues() {
    let script = "trap 'echo one' USR1; trap 'echo two; exit 4' USR2; echo $$; echo waiting; while :; do sleep 0.05; done";
    let (mut child, _) = endless(&["-q"], script);
    let mut seen = [0; 4];
    signal(child.id(), "USR1");
    child.stdout.as_mut().unwrap().read_exact(&mut seen).unwrap();
    assert_eq!(&seen, b"one\n");
    signal(child.id(), "USR2");
    let seen = child.wait_with_output().unwrap();
    assert_eq!((code(&seen), &*seen.stdout), (4, &b"two\n"[..]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_from_the_start_is_ignored_by_the_command_too() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(crate::support::program());
    shell.args(["run", "-q", "--", "sh", "-c", "kill -HUP $$; kill -HUP $PPID; echo 'still here'; exit 3"]);
    let seen = shell.stdin(Stdio::null()).output().unwrap();
    assert_eq!((code(&seen), &*seen.stdout), (3, &b"still here\n"[..]));
}

#[cfg(unix)]
#[test]
fn a_suspended_run_without_a_terminal_suspends_its_command_until_it_is_resumed() {
    let script = "trap 'echo resumed; exit 4' CONT; echo $$; echo waiting; while :; do sleep 0.05; done";
    let (child, shell) = endless(&["-q"], script);
    signal(child.id(), "TSTP");
    for process in [shell, child.id()] {
        let begun = Instant::now();
        let is_suspended = || {
            let state =
                Command::new("ps").args(["-o", "state=", "-p", &process.to_string()]).output().unwrap();
            state.stdout.trim_ascii().starts_with(b"T")
        };
        while !is_suspended() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{process} goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    signal(child.id(), "CONT");
    let seen = child.wait_with_output().unwrap();
    assert_eq!((code(&seen), &*seen.stdout), (4, &b"resumed\n"[..]));
}

#[test]
fn print_text_replaces_the_raw_stream() {
    let seen = output(&["--print", "text", "-q"], "cat \"$1\"", &denied());
    insta::assert_snapshot!("run_print_text", String::from_utf8(seen.stdout).unwrap());
}

#[test]
fn live_plain_prints_progress_lines() {
    let script = "head -n 3 \"$1\"; sleep 1; tail -n +4 \"$1\"";
    let seen = output(
        &["--live=plain", "--live-every", "0.2", "-q"],
        script,
        &recording("stream/02-single-bash.jsonl"),
    );
    let stderr = String::from_utf8(seen.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with("ccstat: ")).collect();
    assert!((2..8).contains(&lines.len()), "{stderr}");
    assert!(lines.iter().any(|line| line.contains("step 1")), "{stderr}");
}

#[test]
fn a_gate_that_fails_ends_run_with_one_and_says_which_call_and_how_to_allow_it() {
    let seen = output(&["--fail-on", "denial"], "cat \"$1\"", &denied());
    let stderr = String::from_utf8(seen.stderr.clone()).unwrap();
    assert_eq!((code(&seen), seen.stdout == fs::read(denied()).unwrap()), (1, true));
    for word in
        ["denial failed at -:4: 2 calls", "toolu_2132534000101 (Bash)", "--allowedTools \"Bash,Write\""]
    {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    let held = output(&["--fail-on", "no-result", "--max-cost", "1"], "cat \"$1\"; exit 6", &denied());
    assert_eq!(code(&held), 6, "if all gates pass, run ends with the code of the command");
}

#[test]
fn a_gate_that_cannot_be_judged_ends_run_with_one_and_says_why() {
    let why = "max-cost failed, limit $1.00: unknown: no record of a run was read";
    for script in ["echo hello", "true", "echo '{\"type\":\"module\"}'"] {
        let seen = output(&["--max-cost", "1"], script, &denied());
        let stderr = String::from_utf8(seen.stderr.clone()).unwrap();
        assert_eq!(code(&seen), 1, "{script}: {stderr}");
        assert!(stderr.contains(why), "{script}: {stderr}");
    }
    // The clock gives the duration, whatever was printed.
    assert_eq!(code(&output(&["--max-duration", "1h"], "echo hello", &denied())), 0);
    assert_eq!(code(&output(&[], "echo hello; exit 5", &denied())), 5, "without gates the command decides");
    let cut = output(&["--max-cost", "1"], "head -n 1 \"$1\"", &denied());
    let stderr = String::from_utf8(cut.stderr.clone()).unwrap();
    assert_eq!(code(&cut), 1);
    assert!(stderr.contains("the cost is unknown: there is neither a result nor a response"), "{stderr}");
}

#[test]
fn a_command_that_takes_too_long_gets_ever_stronger_signals() {
    let begun = Instant::now();
    let script = "trap '' INT TERM; cat \"$1\"; while :; do sleep 0.1; done";
    let options = ["--max-duration", "0.5", "--stop-on-gate", "--grace", "0.3", "--json"];
    let seen = output(&options, script, &denied());
    let report = report(&seen);
    assert_eq!(
        (code(&seen), &report["input"]["records"], &report["gates"][0]["held"]),
        (1, &10.into(), &false.into())
    );
    assert!((1..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[test]
fn a_command_that_costs_too_much_is_stopped_before_its_result() {
    // Nearly all of its cost is in the tokens of its first responses; the result never comes.
    let script = "trap 'exit 130' INT; head -n 4 \"$1\"; while :; do sleep 0.1; done";
    let options = ["--max-cost", "0.000001", "--stop-on-gate", "--json"];
    let seen = output(&options, script, &denied());
    let stderr = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert!(stderr.contains("stopping the command: gate `max-cost` failed"), "{stderr}");
    assert_eq!((code(&seen), &report(&seen)["gates"][0]["gate"]), (1, &"max-cost".into()));
}

#[test]
fn a_command_that_starts_too_many_subagents_is_reported_while_it_runs_and_can_be_stopped() {
    let log = recording("stream/87-parallel-subagents.jsonl");
    // Two calls of the tool that starts subagents, both without a result.
    let script = "head -n 5 \"$1\"; sleep 1";
    let seen = output(&["--max-agents", "1", "--json"], script, &log);
    let stderr = String::from_utf8_lossy(&seen.stderr).into_owned();
    let warning = "gate `max-agents` failed: 2 subagents, 2 running, limit 1";
    assert_eq!(stderr.matches(warning).count(), 1, "{stderr}");
    let script = "trap 'exit 130' INT; head -n 5 \"$1\"; while :; do sleep 0.1; done";
    let seen = output(&["--max-agents", "1", "--stop-on-gate", "--json"], script, &log);
    let stderr = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert!(stderr.contains("stopping the command: gate `max-agents` failed"), "{stderr}");
    assert_eq!(code(&seen), 1);
}

#[test]
fn stop_on_gate_requires_a_gate_that_can_stop_a_run() {
    let seen = output(&["--stop-on-gate", "--fail-on", "denial"], "cat \"$1\"", &denied());
    assert_eq!((code(&seen), seen.stdout.len()), (2, 0));
}

#[test]
fn a_command_that_closed_its_output_still_gets_signals_and_is_still_stopped() {
    let begun = Instant::now();
    let mut child = run_script(&["--json"], "cat \"$1\"; exec >&-; while :; do sleep 0.1; done", &denied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut passed = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut passed).unwrap();
    assert!(passed == fs::read(denied()).unwrap());
    signal(child.id(), "TERM");
    assert_eq!(code(&child.wait_with_output().unwrap()), 143);
    let options = ["--max-duration", "0.5", "--stop-on-gate", "--grace", "0.3", "-q"];
    let script = "trap '' INT TERM; exec >&-; while :; do sleep 0.1; done";
    assert_eq!(code(&output(&options, script, &denied())), 1);
    assert!(begun.elapsed() < Duration::from_secs(30));
}
