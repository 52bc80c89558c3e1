//! Starts the command of `run`, forwards signals to it, and stops it when asked.

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

use super::{passthrough::Message, signal::Received};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(super) use system::{SIGNALS, code};

/// A request to the command to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Interrupt,
    Terminate,
    Kill,
}

/// The order of escalation.
const REQUESTS: [Request; 3] = [Request::Interrupt, Request::Terminate, Request::Kill];

/// A started command and the processes it starts.
pub(super) struct Child {
    child: std::process::Child,
    processes: system::Processes,
    ended: Option<Instant>,
    /// Index of the next request, and when it is due.
    stopping: Option<(usize, Instant)>,
    grace: Duration,
}

impl Child {
    /// Starts a command with a pipe as its standard output; it inherits everything else.
    ///
    /// [`Self::stop`] works only if `stoppable` is set. Sends [`Message::ChildEnded`] when the command ends.
    pub(super) fn start(
        command: &[OsString],
        stoppable: bool,
        grace: Duration,
        messages: &Sender<Message>,
    ) -> io::Result<(Self, ChildStdout)> {
        let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped());
        let (mut child, processes) = system::Processes::start(&mut command, stoppable)?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("the command has no output"))?;
        let (messages, wait) = (messages.clone(), processes.wait());
        std::thread::spawn(move || {
            wait();
            let _ = messages.send(Message::ChildEnded);
        });
        Ok((Self { child, processes, ended: None, stopping: None, grace }, stdout))
    }

    /// Forwards a signal, unless the command has received it already.
    pub(super) fn forward(&mut self, received: Received) {
        if self.ended.is_none() {
            self.processes.forward(received);
        }
    }

    /// Asks the command to end; [`Self::tick`] escalates if it does not.
    pub(super) fn stop(&mut self) {
        self.stopping.get_or_insert((0, Instant::now()));
        self.tick();
    }

    /// Suspends this program if the command was suspended, and sends the next request to end if it is due.
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

    /// Records that the command has ended.
    pub(super) fn mark_ended(&mut self) {
        self.ended.get_or_insert_with(Instant::now);
    }

    /// Time since the command ended.
    pub(super) fn time_since_end(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.elapsed())
    }

    /// Whether [`Self::stop`] was called.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopping.is_some()
    }

    /// Waits for the command and returns its exit status.
    pub(super) fn status(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Kills processes that a stopped command left behind: one that ignores signals would continue to cost
    /// money.
    pub(super) fn kill_leftovers(&mut self) {
        if self.was_stopped() {
            self.processes.ask(Request::Kill);
        }
    }
}
