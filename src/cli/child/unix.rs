//! The processes of a command on Unix: process group, terminal and signals.
//!
//! With a controlling terminal, the command stays in our process group. It can then read the terminal, and
//! the terminal suspends, interrupts and resumes both programs together, as it would the command alone.
//! Without a terminal, as in CI, the command leads its own group, so a signal reaches everything it started.
//!
//! In a shared group, the command would receive a typed Ctrl-C twice if we forwarded it. If the system
//! reports the sender of a signal, signals from the kernel are not forwarded. macOS does not report it:
//! there, the signals a terminal can send are not forwarded while the group is in the foreground, so `kill
//! -INT` of ccstat alone does not reach the command in that case.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
};

use super::Request;
use crate::cli::signal::{Origin, Received};

/// The signals to catch: those that are forwarded, and SIGCHLD, which reports that the command was suspended
/// or ended.
pub(in crate::cli) const SIGNALS: &[i32] =
    &[SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD];

/// Signals that a terminal sends to its foreground group.
const TERMINAL_SIGNALS: [Signal; 4] = [Signal::INT, Signal::QUIT, Signal::TSTP, Signal::WINCH];

/// A command and the processes it started.
pub(super) struct Processes {
    /// The command. It is not reaped while signals are sent, so the system cannot reuse its id.
    pid: Pid,
    /// The controlling terminal. Without one, the command leads a process group.
    terminal: Option<File>,
    /// SIGTSTP was received: we suspend ourselves once the command is suspended.
    suspending: bool,
    /// Processes that were asked to end.
    asked: BTreeSet<Process>,
}

impl Processes {
    /// Starts a command. On Unix any command can be stopped.
    pub(super) fn start(command: &mut Command, _stoppable: bool) -> io::Result<(std::process::Child, Self)> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok();
        if terminal.is_none() {
            command.process_group(0);
        }
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the command has no process id"))?;
        Ok((child, Self { pid, terminal, suspending: false, asked: BTreeSet::new() }))
    }

    /// Returns a function that waits for the command to end and leaves its status to be read.
    pub(super) fn wait(&self) -> impl FnOnce() + Send + 'static {
        let pid = self.pid;
        move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(rustix::process::waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {
            }
        }
    }

    /// Forwards a signal, unless the command has received it already.
    pub(super) fn forward(&mut self, received: Received) {
        let Some(signal) = Signal::from_named_raw(received.number) else { return };
        match signal {
            Signal::CHILD => return,
            Signal::TSTP => self.suspending = true,
            Signal::CONT => {
                self.suspending = false;
                // A shell resumes the whole group, so the command may be running already.
                if !self.is_suspended() {
                    return;
                }
            }
            _ => {}
        }
        if !self.already_received(signal, received.origin) {
            self.send(signal);
        }
    }

    /// Whether a signal that we received was also sent to the command.
    fn already_received(&self, signal: Signal, origin: Origin) -> bool {
        let ours = rustix::process::getpgrp();
        if rustix::process::getpgid(Some(self.pid)) != Ok(ours) {
            return false;
        }
        match origin {
            // The kernel sends a hangup only to the session leader; everything else goes to a group.
            Origin::Kernel => signal != Signal::HUP || !leads_session(),
            Origin::Process(sender) => sender == self.pid.as_raw_nonzero().get(),
            Origin::Unknown => {
                let in_foreground = || rustix::termios::tcgetpgrp(self.terminal.as_ref()?).ok();
                TERMINAL_SIGNALS.contains(&signal) && in_foreground() == Some(ours)
            }
        }
    }

    fn send(&self, signal: Signal) {
        // Fails only if the process has ended.
        let _ = match self.terminal {
            None => rustix::process::kill_process_group(self.pid, signal),
            Some(_) => rustix::process::kill_process(self.pid, signal),
        };
    }

    fn is_suspended(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        rustix::process::waitid(WaitId::Pid(self.pid), options).is_ok_and(|status| status.is_some())
    }

    /// Suspends this program if SIGTSTP has suspended the command. If the command ignores SIGTSTP, both
    /// continue.
    pub(super) fn suspend_together(&mut self) {
        if self.suspending && self.is_suspended() {
            self.suspending = false;
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        }
    }

    /// Asks the command and everything it started to end.
    ///
    /// A shared process group includes our caller, so in that case the processes are looked up one by one.
    pub(super) fn ask(&mut self, request: Request) {
        let signal = match request {
            Request::Interrupt => Signal::INT,
            Request::Terminate => Signal::TERM,
            Request::Kill => Signal::KILL,
        };
        if self.terminal.is_some() {
            // Before signalling the command: when it ends, its children lose their parent and cannot be
            // found.
            self.asked = family(&processes(), self.pid.as_raw_nonzero().get(), &self.asked);
        }
        self.send(signal);
        let others = self.asked.iter().filter_map(|process| Pid::from_raw(process.pid));
        for pid in others.filter(|pid| *pid != self.pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
        if self.is_suspended() {
            self.send(Signal::CONT);
        }
    }
}

fn leads_session() -> bool {
    rustix::process::getsid(None) == Ok(rustix::process::getpid())
}

/// A row of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    group: i32,
    parent: i32,
}

/// Returns `root`, its descendants, and the processes of `before` that still exist with their descendants.
///
/// An orphan is reparented to the system's first process, so it is recognised by its id and group.
fn family(all: &[Process], root: i32, before: &BTreeSet<Process>) -> BTreeSet<Process> {
    let is_known =
        |one: &Process| before.iter().any(|known| (known.pid, known.group) == (one.pid, one.group));
    let mut family: BTreeSet<Process> =
        all.iter().filter(|one| one.pid == root || is_known(one)).copied().collect();
    loop {
        let pids: BTreeSet<i32> = family.iter().map(|one| one.pid).collect();
        let size = family.len();
        family.extend(all.iter().filter(|one| pids.contains(&one.parent)));
        if family.len() == size {
            return family;
        }
    }
}

/// Lists all processes that the system lets us see.
#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let stat = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("stat")).ok();
    entries.flatten().filter_map(stat).filter_map(|stat| from_stat(&stat)).collect()
}

/// Parses `/proc/PID/stat`. The program name may contain spaces and parentheses.
#[cfg(target_os = "linux")]
fn from_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(' ')?;
    let mut fields = rest.rsplit_once(')')?.1.split_whitespace().skip(1).map(str::parse);
    let (parent, group) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(Process { pid: pid.parse().ok()?, group, parent })
}

/// Lists all processes that the system lets us see.
#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<Process> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid=,pgid="]).output();
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().filter_map(from_ps).collect()
}

/// Parses a line of `ps -o pid=,ppid=,pgid=`.
#[cfg(any(test, not(target_os = "linux")))]
fn from_ps(line: &str) -> Option<Process> {
    let mut fields = line.split_whitespace().map(str::parse);
    let (pid, parent, group) = (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
    Some(Process { pid, group, parent })
}

/// Returns the exit code a shell would report: 128 plus the signal number if a signal ended the command.
pub(in crate::cli) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(lines: &str) -> Vec<Process> {
        lines.lines().filter_map(from_ps).collect()
    }

    fn pids(family: &BTreeSet<Process>) -> Vec<i32> {
        family.iter().map(|one| one.pid).collect()
    }

    #[test]
    fn a_family_contains_what_the_command_started_but_not_our_caller() {
        // 10 is a script that started us as 11; 20 is the command.
        let all = listed("1 0 1\n10 1 10\n11 10 10\n20 11 10\n21 20 10\n22 21 22\n30 10 10\n");
        assert_eq!(pids(&family(&all, 20, &BTreeSet::new())), [20, 21, 22]);
    }

    #[test]
    fn an_orphan_stays_in_the_family_but_a_reused_pid_in_another_group_does_not() {
        let before = family(&listed("20 11 10\n21 20 10\n22 20 22\n"), 20, &BTreeSet::new());
        // The command has ended, and the system reused pid 22 for another process.
        let after = listed("21 1 10\n22 1 99\n23 21 10\n24 1 10\n");
        assert_eq!(pids(&family(&after, 20, &before)), [21, 23]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn proc_stat_is_parsed_whatever_the_program_is_called() {
        let read = from_stat("7 (a) b (c)) S 3 5 5 34816 7 4194304 0");
        assert_eq!(read, Some(Process { pid: 7, group: 5, parent: 3 }));
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(processes().iter().any(|one| one.pid == own));
    }
}
