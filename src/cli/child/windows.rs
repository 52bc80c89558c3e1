//! The processes of a command on Windows: their job, their process group, and console events.
//!
//! A command that may have to be stopped runs in a job and in a process group of its own. It is asked to end by Ctrl-Break,
//! the only event that can be sent to one group, and after the grace period its job is terminated. The system does not
//! deliver Ctrl-C to such a group, so it is passed on as Ctrl-Break.
//!
//! Any other command shares our group. The console sends its events to both of us, as it would to the command alone.

use std::{
    ffi::OsString,
    io,
    os::windows::io::{AsHandle, OwnedHandle},
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use super::Request;
use crate::cli::{
    signal::{Received, SIGBREAK, SIGHUP, SIGINT, SIGTERM},
    windows::{self, Job},
};

/// The events that do not end this program while the command runs.
pub(in crate::cli) const SIGNALS: &[i32] = &[SIGINT, SIGBREAK, SIGHUP, SIGTERM];

/// The exit code of a program that Ctrl-C or Ctrl-Break has ended, `STATUS_CONTROL_C_EXIT`.
const INTERRUPTED: u32 = 0xc000_013a;

/// A command and what it started.
pub(super) struct Processes {
    /// Kept open, so that the number of the process stays its own.
    process: OwnedHandle,
    /// The job of a command that may have to be stopped, and the number of its process group.
    job: Option<(Job, u32)>,
}

impl Processes {
    /// Starts a command. `stoppable` says whether it may have to be stopped.
    pub(super) fn start(command: &mut Command, stoppable: bool) -> io::Result<(std::process::Child, Self)> {
        let (child, job) = match start(command, stoppable) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let scripts = scripts(command).into_iter();
                scripts
                    .map(|mut script| start(&mut script, stoppable))
                    .find(Result::is_ok)
                    .unwrap_or(Err(error))?
            }
            started => started?,
        };
        let process = child.as_handle().try_clone_to_owned()?;
        let job = job.map(|job| (job, child.id()));
        Ok((child, Self { process, job }))
    }

    /// Waits for the end of the command.
    pub(super) fn wait(&self) -> impl FnOnce() + Send + 'static {
        let process = self.process.try_clone();
        move || {
            if let Ok(process) = process {
                windows::wait(process.as_handle());
            }
        }
    }

    /// Passes an event on, unless the command got it too. A window that is closed tells everyone.
    pub(super) fn pass_on(&mut self, received: Received) {
        if [SIGINT, SIGBREAK].contains(&received.number) {
            self.ask(Request::Interrupt);
        }
    }

    /// There is no suspending on Windows.
    pub(super) fn suspend_together(&mut self) {}

    /// Asks the command and everything it started to end. A command in our group is not asked: it gets the events of the
    /// console itself.
    pub(super) fn ask(&mut self, request: Request) {
        let Some((job, group)) = &self.job else { return };
        let asked = match request {
            Request::Interrupt => windows::send_break(*group).is_ok(),
            Request::Terminate | Request::Kill => false,
        };
        // If the command cannot be asked to stop, waiting would only cost money.
        if !asked {
            job.terminate(INTERRUPTED);
        }
    }
}

fn start(command: &mut Command, stoppable: bool) -> io::Result<(std::process::Child, Option<Job>)> {
    if stoppable {
        let (child, job) = Job::start(command)?;
        return Ok((child, Some(job)));
    }
    Ok((command.spawn()?, None))
}

/// The batch files that a command without an extension may mean. The system itself tries `.exe` alone, but what `npm` installs
/// is a `.cmd`.
fn scripts(command: &Command) -> Vec<Command> {
    let program = command.get_program();
    if Path::new(program).extension().is_some() {
        return Vec::new();
    }
    let script = |extension: &str| {
        let mut name = OsString::from(program);
        name.push(extension);
        let mut script = Command::new(name);
        script.args(command.get_args()).stdout(Stdio::piped());
        script
    };
    [".bat", ".cmd"].map(script).into()
}

/// The exit code in one byte. Larger numbers are 255, never their last byte, which may be 0; the end by Ctrl-C is that of a
/// shell.
pub(in crate::cli) fn code(status: ExitStatus) -> u8 {
    match status.code().map(i32::cast_unsigned) {
        Some(INTERRUPTED) => 130,
        Some(code) => u8::try_from(code).unwrap_or(u8::MAX),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::os::windows::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_large_exit_code_is_never_success() {
        let codes = [0, 7, 255, 256, 0xc000_0005, INTERRUPTED].map(code_of);
        assert_eq!(codes, [0, 7, 255, 255, 255, 130]);
    }

    fn code_of(code: u32) -> u8 {
        super::code(ExitStatus::from_raw(code))
    }

    #[test]
    fn a_name_without_an_extension_may_be_a_batch_file() {
        let names = |program: &str| -> Vec<OsString> {
            scripts(&Command::new(program)).iter().map(|script| script.get_program().to_owned()).collect()
        };
        assert_eq!(names("claude"), ["claude.bat", "claude.cmd"]);
        assert!(names("claude.exe").is_empty());
    }
}
