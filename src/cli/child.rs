//! The command that `run` starts: its life, its signals, and its end.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    ffi::OsString,
    io,
    process::{ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use super::{pass::News, signal::Received};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(super) use system::{SIGNALS, code};

/// A request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Interrupt,
    Terminate,
    Kill,
}

/// The requests to end, in the order in which they are made.
const REQUESTS: [Request; 3] = [Request::Interrupt, Request::Terminate, Request::Kill];

/// A command that runs.
pub(super) struct Child {
    child: std::process::Child,
    processes: system::Processes,
    ended: Option<Instant>,
    /// The next request to end, and when it is due.
    stopping: Option<(usize, Instant)>,
    grace: Duration,
}

impl Child {
    /// Starts a command with a pipe as its standard output. It inherits everything else. `stoppable` says whether it may have
    /// to be stopped.
    pub(super) fn start(
        command: &[OsString],
        stoppable: bool,
        grace: Duration,
        news: &Sender<News>,
    ) -> io::Result<(Self, ChildStdout)> {
        let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped());
        let (mut child, processes) = system::Processes::start(&mut command, stoppable)?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("the command has no output"))?;
        let (news, wait) = (news.clone(), processes.wait());
        std::thread::spawn(move || {
            wait();
            let _ = news.send(News::ChildEnded);
        });
        Ok((Self { child, processes, ended: None, stopping: None, grace }, stdout))
    }

    /// Passes a signal on, unless the command got it too.
    pub(super) fn pass_on(&mut self, received: Received) {
        if self.ended.is_none() {
            self.processes.pass_on(received);
        }
    }

    /// Asks the command to end, and continues to ask.
    pub(super) fn stop(&mut self) {
        self.stopping.get_or_insert((0, Instant::now()));
        self.tick();
    }

    /// Suspends this program if the command was suspended with it, and makes the next request to end if it is due.
    pub(super) fn tick(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.processes.suspend_together();
        let Some((step, due)) = self.stopping else { return };
        let Some(request) = REQUESTS.get(step).filter(|_| Instant::now() >= due) else { return };
        self.processes.ask(*request);
        self.stopping = Some((step + 1, Instant::now() + self.grace));
    }

    /// Notes that the command ended.
    pub(super) fn end(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
    }

    /// How long ago the command ended.
    pub(super) fn gone_for(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.elapsed())
    }

    /// Whether the command was asked to end.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopping.is_some()
    }

    /// How the command ended.
    pub(super) fn status(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Kills what a stopped command left behind: a process that ignores signals must not continue to cost money.
    pub(super) fn sweep(&mut self) {
        if self.was_stopped() {
            self.processes.ask(Request::Kill);
        }
    }
}
