//! Whatever is read, ccstat opens no network connection and starts no process, except for the command of
//! `run`. The kernel enforces it: a system call that would do so ends the program.

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::{
    formats::words,
    support::{recording, testdata},
};
use ccstat::internal::report::REPORTS;

/// System calls to reach another machine or a listening process. A pair of sockets is not among them: both
/// ends stay in the process, and a signal handler wakes its thread through one.
const NETWORK: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
];

/// System calls that start a process. `clone` also makes threads, so it has its own rule.
#[cfg(target_arch = "x86_64")]
const PROCESS: &[i64] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const PROCESS: &[i64] = &[];

/// Applies the action to these calls under these conditions, or always for calls without conditions.
fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, action: SeccompAction) -> BpfProgram {
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, action, std::env::consts::ARCH.try_into().unwrap());
    filter.unwrap().try_into().unwrap()
}

/// Returns the filters. The flags of `clone3` are in memory, which the kernel's filter cannot read, so the
/// call is reported as missing and everyone falls back to `clone`.
fn filters() -> [BpfProgram; 2] {
    let thread = libc::CLONE_THREAD as u64;
    let no_thread =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0).unwrap();
    let mut ends: BTreeMap<i64, Vec<SeccompRule>> =
        NETWORK.iter().chain(PROCESS).map(|call| (*call, Vec::new())).collect();
    ends.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread]).unwrap()]);
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    [filter(absent, SeccompAction::Errno(libc::ENOSYS as u32)), filter(ends, SeccompAction::KillProcess)]
}

/// Runs a program under the filters.
fn watched(program: &str, arguments: &[&str], stdin: Stdio) -> Command {
    let filters = filters();
    let mut command = Command::new(program);
    command.args(arguments).stdin(stdin).current_dir(testdata("")).env("TZ", "Europe/Berlin");
    #[expect(unsafe_code, reason = "the filters must apply before the program starts")]
    // SAFETY: between fork and exec only two system calls are made, on memory that was filled before.
    unsafe {
        command.pre_exec(move || {
            filters
                .iter()
                .try_for_each(|law| seccompiler::apply_filter(law).map_err(|_| io::ErrorKind::Other.into()))
        });
    }
    command
}

fn ccstat() -> String {
    crate::support::program().to_str().unwrap().to_owned()
}

/// Runs ccstat, which must not be killed.
fn lives(arguments: &[&str], stdin: Stdio) -> Output {
    let output = watched(&ccstat(), arguments, stdin).output().unwrap();
    assert_eq!(output.status.signal(), None, "{arguments:?} made a forbidden call");
    assert!(output.status.code().is_some_and(|code| code <= 1), "{arguments:?}: {output:?}");
    output
}

fn from(log: &str) -> Stdio {
    #[expect(clippy::disallowed_methods, reason = "it is handed over and read there")]
    std::fs::File::open(recording(log)).unwrap().into()
}

#[test]
fn no_report_opens_a_connection_or_starts_a_process() {
    for spec in REPORTS {
        let output = lives(&words(spec, &["logs/week", "recordings/2.1.325/stream"]), Stdio::null());
        assert!(!output.stdout.is_empty(), "{}", spec.name);
    }
}

#[test]
fn nothing_that_watches_a_stream_opens_a_connection_or_starts_a_process() {
    let stream = "stream/34-permission-denied-bash.jsonl";
    for options in [&["--tee"][..], &["--live"], &["--print", "text"], &["--threads", "2"], &["--github"]] {
        lives(&[&["summarize"], options].concat(), from(stream));
    }
    lives(&["check", "--max-cost", "1", "--fail-on", "denial"], from(stream));
}

#[test]
fn a_file_is_followed_without_a_connection_or_a_process() {
    let mut command =
        watched(&ccstat(), &["summarize", "--follow", "logs/nightly-denied.jsonl"], Stdio::null());
    let mut follower = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_secs(2));
    assert_eq!(follower.try_wait().unwrap(), None, "it made a forbidden call");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn the_filter_detects_a_connection_and_a_process() {
    for (program, arguments) in
        [("bash", ["-c", "echo > /dev/tcp/127.0.0.1/9", ""]), (&*ccstat(), ["run", "--", "true"])]
    {
        let status = watched(program, &arguments, Stdio::null()).output().unwrap().status;
        assert_eq!(status.signal(), Some(libc::SIGSYS), "{program} {arguments:?}: {status}");
    }
}
