//! The command that `run` starts: its life, its signals, and its end.

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::pass::News;

/// How a child is asked to end, ever more firmly.
const FIRMNESS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::KILL];

/// A command that runs.
pub(super) struct Child {
    child: std::process::Child,
    pid: Pid,
    /// Whether it leads a process group of its own, which then gets its signals.
    leads: bool,
    ended: Option<Instant>,
    /// The next step of asking it to end, and when.
    stopping: Option<(usize, Instant)>,
    grace: Duration,
}

impl Child {
    /// Starts a command. What it prints is ours, all else is as for this program.
    ///
    /// With a terminal as its input it stays in our process group: in one of its own it could not read from the terminal. Else
    /// it leads a group, so that a stop reaches what it started too.
    pub(super) fn start(
        command: &[OsString],
        grace: Duration,
        news: &Sender<News>,
    ) -> io::Result<(Self, ChildStdout)> {
        let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
        let leads = !io::stdin().is_terminal();
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped());
        if leads {
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let gone = || io::Error::other("it has no output or no process id");
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
        let news = news.clone();
        std::thread::spawn(move || {
            // It is only looked at here, so that its number stays its own until no one signals it any more.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(rustix::process::waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {
            }
            let _ = news.send(News::ChildEnded);
        });
        Ok((Self { child, pid, leads, ended: None, stopping: None, grace }, stdout))
    }

    /// Passes a signal on, unless the terminal gave it to the child already.
    pub(super) fn pass_on(&self, number: i32, typed: bool) {
        if (self.leads || !typed)
            && let Some(signal) = Signal::from_named_raw(number)
        {
            self.signal(signal);
        }
    }

    /// Who is gone already needs no signal.
    fn signal(&self, signal: Signal) {
        if self.ended.is_some() {
            return;
        }
        let _ = match self.leads {
            true => rustix::process::kill_process_group(self.pid, signal),
            false => rustix::process::kill_process(self.pid, signal),
        };
    }

    /// Asks it to end, and goes on asking.
    pub(super) fn stop(&mut self) {
        self.stopping.get_or_insert((0, Instant::now()));
        self.press();
    }

    /// Takes the next step of asking, if it is time.
    pub(super) fn press(&mut self) {
        let Some((step, when)) = self.stopping else { return };
        let Some(signal) = FIRMNESS.get(step).filter(|_| Instant::now() >= when) else { return };
        self.signal(*signal);
        self.stopping = Some((step + 1, Instant::now() + self.grace));
    }

    /// Notes that it ended.
    pub(super) fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
    }

    /// How long ago it ended, if it did.
    pub(super) fn gone_for(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.elapsed())
    }

    /// Whether it was asked to end.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopping.is_some()
    }

    /// How it ended.
    pub(super) fn status(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Ends what it left behind, after a stop: whoever ignores signals must not go on spending.
    pub(super) fn sweep(&mut self) {
        if self.leads && self.was_stopped() {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
    }
}

/// The number that a shell would see.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}
