//! `run` at a terminal: under a shell with job control it behaves as the command alone would. Each test has
//! its own pseudo-terminal.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::{
        fd::OwnedFd,
        unix::{fs::OpenOptionsExt, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pty, termios,
};
use tempfile::TempDir;

use crate::support::{recording, testdata};

/// The longest time that anything here may take, even on a busy machine: beyond it the program hangs.
const PATIENCE: Duration = Duration::from_secs(60);

const INTERRUPT: &str = "\x03";
const QUIT: &str = "\x1c";
const SUSPEND: &str = "\x1a";

/// Opens a terminal of this size: the program's side, and the person's side. Programs that other tests start
/// meanwhile must not inherit either, or the terminal would not hang up.
pub(crate) fn open(columns: u16, rows: u16) -> (OwnedFd, File) {
    let flags = pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY;
    #[cfg(target_os = "linux")]
    let flags = flags | pty::OpenptFlags::CLOEXEC;
    let person = pty::openpt(flags).unwrap();
    rustix::io::fcntl_setfd(&person, rustix::io::FdFlags::CLOEXEC).unwrap();
    pty::grantpt(&person).unwrap();
    pty::unlockpt(&person).unwrap();
    let name = pty::ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let program = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).unwrap();
    let size = termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    termios::tcsetwinsize(&program, size).unwrap();
    (program.into(), person.into())
}

/// Returns what ccstat prints on a terminal of this width, without colours, and its exit code.
pub(crate) fn screen(columns: u16, arguments: &[&str]) -> (i32, String) {
    let (drawn, mut seen) = open(columns, 24);
    let mut command = Command::new(crate::support::program());
    command.args(arguments).args(["--color", "never", "--no-config"]).current_dir(testdata(""));
    command.env("TZ", "UTC").env("HOME", testdata("no-such-home")).env("TERM", "xterm").env_remove("COLUMNS");
    let mut child = command.stdin(Stdio::null()).stdout(drawn).stderr(Stdio::piped()).spawn().unwrap();
    drop(command); // it holds the terminal too
    let mut all = Vec::new();
    let _ = seen.read_to_end(&mut all); // a terminal without an open writer ends with an error
    let code = child.wait().unwrap().code().unwrap();
    (code, String::from_utf8(all).unwrap().replace("\r\n", "\n"))
}

/// Makes a program the leader of a session whose terminal is its standard error.
#[expect(unsafe_code, reason = "the session must exist before the program starts")]
fn lead_session(command: &mut Command) {
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stderr())?)
        });
    }
}

/// Starts a program without a terminal, as in CI, even if the tests run at one.
#[expect(unsafe_code, reason = "the session must exist before the program starts")]
pub(crate) fn without(command: &mut Command) {
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
}

/// Whether there is something to read, now or in a moment.
fn is_readable(file: &File) -> bool {
    let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&moment)).is_ok_and(|ready| ready > 0)
}

/// A person at a terminal, in a folder of their own.
struct Person {
    /// Nobody else keeps this side open for long, so the terminal hangs up when it is dropped.
    keys: Option<Arc<File>>,
    screen: Arc<Mutex<Vec<u8>>>,
    /// How much of the screen was read.
    read: usize,
    program: Child,
    folder: TempDir,
}

impl Person {
    /// Starts a shell with job control.
    fn at_a_shell() -> Self {
        let mut shell = Command::new("sh");
        let mut person = Self::at(shell.arg("-i").env("PS1", "ready> ").env_remove("ENV"));
        person.sees("ready> ");
        person
    }

    /// Starts a program as the leader of a session, as a terminal window does.
    fn at(program: &mut Command) -> Self {
        let (folder, (drawn, seen)) = (tempfile::tempdir().unwrap(), open(100, 24));
        let stream = || Stdio::from(drawn.try_clone().unwrap());
        program.env("ccstat", crate::support::program());
        program.env("log", recording("stream/34-permission-denied-bash.jsonl"));
        program
            .env("TZ", "UTC")
            .env("HOME", testdata("no-such-home"))
            .env_remove("COLUMNS")
            .env("TERM", "xterm");
        program.current_dir(folder.path()).stdin(stream()).stdout(stream()).stderr(stream());
        lead_session(program);
        let child = program.spawn().unwrap();
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()); // the command keeps it open
        let keys = Arc::new(seen);
        let (screen, looked) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::downgrade(&keys));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Some(seen) = looked.upgrade() {
                if is_readable(&seen) {
                    // A terminal without an open program side ends with an error.
                    let Ok(count @ 1..) = (&*seen).read(&mut some) else { return };
                    shown.lock().unwrap().extend(&some[..count]);
                }
            }
        });
        Self { keys: Some(keys), screen, read: 0, program: child, folder }
    }

    fn types(&mut self, text: &str) {
        let mut keys: &File = self.keys.as_ref().unwrap();
        keys.write_all(text.as_bytes()).unwrap();
    }

    /// Runs a line in the shell.
    fn runs(&mut self, line: &str) {
        self.types(line);
        self.types("\n");
    }

    /// Writes a script, to be run with `sh NAME`.
    fn writes(&self, name: &str, script: &str) {
        fs::write(self.path(name), script).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the end of the screen.
    fn shown(&self) -> String {
        let screen = self.screen.lock().unwrap();
        String::from_utf8_lossy(&screen[screen.len().saturating_sub(1000)..]).into_owned()
    }

    /// Waits until a text appears after everything seen before, and returns everything up to its end.
    fn sees(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let screen = String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned();
            if let Some(at) = screen[self.read..].find(text) {
                let (from, to) = (self.read, self.read + at + text.len());
                self.read = to;
                return screen[from..to].to_owned();
            }
            assert!(begun.elapsed() < PATIENCE, "{text:?} is not on the screen: {:?}", self.shown());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a condition holds.
    fn waits(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what}: {:?}", self.shown());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the number in a file that a script writes.
    fn number(&self, name: &str) -> u32 {
        let read = || fs::read_to_string(self.path(name)).ok()?.trim().parse().ok();
        self.waits(name, || read().is_some());
        read().unwrap()
    }

    /// Waits until a process is suspended.
    fn waits_for_suspension(&self, process: u32) {
        self.waits("it is not suspended", || state(process).starts_with('T'));
    }

    /// Returns the status of the last command.
    fn status(&mut self) -> String {
        self.sees("ready> ");
        self.runs("echo \"status:\" $?.");
        self.sees("status: ");
        self.sees(".").trim_end_matches('.').to_owned()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.keys = None;
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Returns the state of a process: `T` is suspended, an empty text is ended.
fn state(process: u32) -> String {
    let output = Command::new("ps").args(["-o", "state=", "-p", &process.to_string()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn kill(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Asks for a line at the terminal, whatever standard input is.
const ASKS: &str = "echo $$ > asks.pid; echo 'who?'; read name < /dev/tty; echo \"hello $name\"";

/// Counts interrupts until it gets SIGQUIT, and then ends with 7.
const COUNTS: &str = "echo $PPID > ccstat.pid; count=0
trap 'count=$((count+1)); echo \"interrupt $count\"' INT
trap 'echo \"$count in all\"; kill $!; exit 7' QUIT
sleep 600 & echo 'counting'
while :; do wait; done";

/// Continues when there is a file `go`.
const WAITS: &str =
    "echo $$ > waits.pid; echo 'waiting'; while ! test -e go; do sleep 0.05; done; echo 'gone on'; exit 6";

#[test]
fn a_command_reads_the_terminal_although_its_input_is_a_pipe() {
    let mut person = Person::at_a_shell();
    person.writes("asks", ASKS);
    person.runs("echo p | \"$ccstat\" run -q -- sh asks");
    person.sees("who?");
    person.types("Ada\n");
    person.sees("hello Ada");
    assert_eq!(person.status(), "0");
}

/// Types Ctrl-C twice and Ctrl-\ at a command that counts them, with this standard input.
fn interrupts(input: &str, environment: &str) {
    let mut person = Person::at_a_shell();
    person.writes("counts", COUNTS);
    person.runs(&format!("{input} {environment} \"$ccstat\" run -q -- sh counts"));
    person.sees("counting");
    for count in ["interrupt 1", "interrupt 2"] {
        person.types(INTERRUPT);
        person.sees(count);
    }
    person.types(QUIT);
    person.sees("2 in all");
    assert_eq!(person.status(), "7");
}

#[test]
fn a_typed_signal_reaches_a_command_once() {
    interrupts("", "");
    interrupts("echo p |", "");
}

#[cfg(debug_assertions)] // only such builds can hide the sender of a signal
#[test]
fn a_typed_signal_reaches_a_command_once_if_its_sender_is_unknown() {
    interrupts("", "TEST_SIGNALS_WITHOUT_ORIGIN=1");
    interrupts("echo p |", "TEST_SIGNALS_WITHOUT_ORIGIN=1");
}

#[test]
fn the_status_shows_the_typed_signal_that_killed_a_command() {
    for (key, status) in [(INTERRUPT, "130"), (QUIT, "131")] {
        let mut person = Person::at_a_shell();
        person.writes("waits", WAITS);
        person.runs("echo p | \"$ccstat\" run -q -o report.json -- sh waits");
        person.sees("waiting");
        person.types(key);
        assert_eq!(person.status(), status);
        assert!(person.path("report.json").exists());
    }
}

#[test]
fn ctrl_z_suspends_a_command_with_piped_input_and_fg_resumes_it() {
    let mut person = Person::at_a_shell();
    person.writes("asks", ASKS);
    person.runs("echo p | \"$ccstat\" run -q -- sh asks");
    person.sees("who?");
    person.types(SUSPEND);
    person.sees("ready> ");
    person.waits_for_suspension(person.number("asks.pid"));
    person.runs("fg");
    person.sees("sh asks");
    person.types("Ada\n");
    person.sees("hello Ada");
    assert_eq!(person.status(), "0");
}

#[test]
fn a_suspended_command_continues_in_the_background() {
    let mut person = Person::at_a_shell();
    person.writes("waits", WAITS);
    person.runs("echo p | \"$ccstat\" run -q -- sh waits");
    person.sees("waiting");
    person.types(SUSPEND);
    person.sees("ready> ");
    person.waits_for_suspension(person.number("waits.pid"));
    person.writes("go", "");
    person.runs("bg");
    person.sees("gone on");
    person.runs("wait");
    person.sees("ready> ");
}

#[test]
fn ccstat_continues_with_a_command_that_ignores_ctrl_z() {
    let mut person = Person::at_a_shell();
    person.writes("waits", &format!("trap '' TSTP; {WAITS}"));
    person.runs("\"$ccstat\" run -q -- sh waits");
    person.sees("waiting");
    person.types(SUSPEND);
    person.writes("go", "");
    person.sees("gone on");
    assert_eq!(person.status(), "6");
}

#[test]
fn a_command_in_the_background_is_suspended_when_it_reads_the_terminal() {
    let mut person = Person::at_a_shell();
    person.writes("asks", ASKS);
    person.runs("\"$ccstat\" run -q -- sh asks &");
    person.waits_for_suspension(person.number("asks.pid"));
    person.runs("fg");
    person.sees("sh asks");
    person.types("Ada\n");
    person.sees("hello Ada");
    assert_eq!(person.status(), "0");
}

#[test]
fn a_suspended_run_that_is_resumed_alone_resumes_its_command() {
    let mut person = Person::at_a_shell();
    let script = "trap 'echo gone on; kill -KILL $!; exit 6' CONT; sleep 600 & echo 'waiting'; wait";
    person.writes("waits", &format!("echo $PPID > ccstat.pid; echo $$ > waits.pid; {script}"));
    person.runs("\"$ccstat\" run -q -- sh waits");
    person.sees("waiting");
    person.types(SUSPEND);
    let (ccstat, command) = (person.number("ccstat.pid"), person.number("waits.pid"));
    person.waits_for_suspension(ccstat);
    person.waits_for_suspension(command);
    kill("-CONT", ccstat);
    person.sees("gone on");
}

#[test]
fn a_signal_from_a_process_is_forwarded_at_a_terminal() {
    let mut person = Person::at_a_shell();
    person.writes("counts", COUNTS);
    person.runs("\"$ccstat\" run -q -- sh counts");
    person.sees("counting");
    let ccstat = person.number("ccstat.pid");
    kill("-INT", ccstat);
    person.sees("interrupt 1");
    kill("-QUIT", ccstat);
    person.sees("1 in all");
    assert_eq!(person.status(), "7");
}

#[cfg(debug_assertions)] // only such builds can hide the sender of a signal
#[test]
fn signals_of_unknown_origin_are_forwarded_in_the_background_or_if_no_terminal_sends_them() {
    let mut person = Person::at_a_shell();
    person.writes("waits", &format!("echo $PPID > ccstat.pid; {WAITS}"));
    person.runs("TEST_SIGNALS_WITHOUT_ORIGIN=1 \"$ccstat\" run -q -- sh waits");
    person.sees("waiting");
    kill("-TERM", person.number("ccstat.pid"));
    assert_eq!(person.status(), "143");
    fs::remove_file(person.path("ccstat.pid")).unwrap();
    person.runs("TEST_SIGNALS_WITHOUT_ORIGIN=1 \"$ccstat\" run -q -- sh waits & job=$!");
    person.sees("waiting");
    kill("-INT", person.number("ccstat.pid"));
    person.runs("wait $job");
    assert_eq!(person.status(), "130");
}

#[test]
fn closing_the_terminal_hangs_up_the_command_and_a_report_is_written() {
    let mut person = Person::at_a_shell();
    person.writes("hangs", "trap 'echo hung up > hangup; exit 3' HUP; cat \"$log\"; echo 'hanging'\nwhile :; do sleep 0.05; done");
    person.runs("\"$ccstat\" run -q -o report.json -- sh hangs");
    person.sees("hanging");
    hangs_up(&mut person);
}

#[test]
fn closing_the_window_hangs_up_the_command_that_ccstat_runs_in_it() {
    let mut program = Command::new("sh");
    let script = "trap 'echo hung up > hangup; exit 3' HUP; cat \"$log\"; echo 'hanging'; while :; do sleep 0.05; done";
    program.args(["-c", "exec \"$ccstat\" run -q -o report.json -- sh -c \"$1\"", "sh", script]);
    let mut person = Person::at(&mut program);
    person.sees("hanging");
    hangs_up(&mut person);
}

fn hangs_up(person: &mut Person) {
    person.keys = None;
    person.waits("no hangup", || person.path("hangup").exists());
    let report =
        || serde_json::from_slice::<serde_json::Value>(&fs::read(person.path("report.json")).ok()?).ok();
    person.waits("no report", || report().is_some());
    assert_eq!(report().unwrap()["input"]["records"], 10);
}

#[test]
fn a_stop_reaches_children_of_the_command_but_not_the_parent_of_ccstat() {
    let mut person = Person::at_a_shell();
    person.writes(
        "stubborn",
        "trap '' INT TERM; echo $$ > stubborn.pid; echo 'stubborn'; while :; do sleep 0.05; done",
    );
    person.writes("command", "cat \"$log\"; sh stubborn & wait");
    person.writes(
        "caller",
        "\"$ccstat\" run -q --max-duration 0.5 --stop-on-gate --grace 0.3 -- sh command; echo \"caller saw $?\"",
    );
    person.runs("sh caller");
    person.sees("stubborn");
    person.sees("caller saw 1");
    assert_eq!(person.status(), "0");
    let stubborn = person.number("stubborn.pid");
    person.waits("it goes on", || matches!(state(stubborn).as_bytes(), [] | [b'Z', ..]));
}

/// A log of two records that takes long to read: the hole after them takes no space on disk.
fn long_log(person: &Person) {
    person.writes("long.jsonl", "{\"type\":\"user\"}\n{\"type\":\"user\"}\n");
    File::options().write(true).open(person.path("long.jsonl")).unwrap().set_len(40_000_000_000).unwrap();
}

#[test]
fn ctrl_c_while_a_file_is_read_says_how_much_was_read_and_clears_the_bar() {
    let mut person = Person::at_a_shell();
    long_log(&person);
    person.runs("\"$ccstat\" --color never summarize --max-record 1M long.jsonl");
    let bar = person.sees(" left");
    assert!(bar.contains("reading ") && bar.contains(" of 40.0 GB · "), "{bar:?}");
    // At most a few hundred GB can be read in half a second, even on a fast machine.
    let rate = bar.rsplit(" · ").nth(1).unwrap();
    assert!([" kB/s", " MB/s", " GB/s"].iter().any(|unit| rate.ends_with(unit)), "{bar:?}");
    person.types(INTERRUPT);
    let screen = person.sees("! Interrupted: ");
    // The terminal writes `^C` after the bar: on the same line, or the bar could not be cleared.
    let (frame, cleared) = screen.split_once("^C").unwrap();
    let frame = frame.rsplit("\x1b[2K").next().unwrap();
    assert!(frame.chars().count() <= 100 - "^C".len(), "{frame:?}");
    assert!(cleared.starts_with("\r\x1b[2K"), "{cleared:?}");
    assert!(!cleared.rsplit("\x1b[2K").next().unwrap().contains("reading"), "{cleared:?}");
    let headline = person.sees(" read");
    assert!(headline.ends_with("B of 40.0 GB read"), "{headline}");
    assert_eq!(person.status(), "130");
}

#[test]
fn ctrl_c_clears_the_progress_line() {
    let mut person = Person::at_a_shell();
    person.writes("waits", "trap 'exit 4' INT; sleep 600 & echo $$ > waits.pid; wait");
    person.runs("\"$ccstat\" run -q --live=line -- sh waits");
    person.sees("waiting for ");
    person.number("waits.pid");
    person.types(INTERRUPT);
    let before = person.sees("^C");
    let frame = before.rsplit("\x1b[2K").next().unwrap();
    assert!(frame.chars().count() <= 100, "{frame:?}");
    person.sees("\r\x1b[2K");
    assert_eq!(person.status(), "4");
}

#[test]
fn ctrl_c_during_a_report_of_rows_is_noted_below_them_and_in_json() {
    let mut person = Person::at_a_shell();
    long_log(&person);
    person.runs("\"$ccstat\" --color never kinds --max-record 1M long.jsonl");
    person.sees(" left");
    person.types(INTERRUPT);
    person.sees("Interrupted: ");
    person.sees("B of 40.0 GB read");
    assert_eq!(person.status(), "130");
    person.runs("\"$ccstat\" summarize --max-record 1M --json long.jsonl > report");
    person.sees(" left");
    person.types(INTERRUPT);
    assert_eq!(person.status(), "130");
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(person.path("report")).unwrap()).unwrap();
    assert_eq!(report["input"]["interrupted"], true);
}
