//! The processes of a command on Windows: job, process group and console events.
//!
//! A stoppable command runs in its own job and process group. It is asked to end by Ctrl-Break, the only
//! event that can be sent to a single group; after the grace period its job is terminated. Windows does not
//! deliver Ctrl-C to such a group, so Ctrl-C is forwarded as Ctrl-Break.
//!
//! Any other command shares our group, and the console sends its events to both programs.

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

/// The events to catch, so that they do not end this program while the command runs.
pub(in crate::cli) const SIGNALS: &[i32] = &[SIGINT, SIGBREAK, SIGHUP, SIGTERM];

/// `STATUS_CONTROL_C_EXIT`, the exit code of a program ended by Ctrl-C or Ctrl-Break.
const INTERRUPTED: u32 = 0xc000_013a;

/// A command and the processes it started.
pub(super) struct Processes {
    /// Kept open so that the system cannot reuse the process id.
    process: OwnedHandle,
    /// Job and process group id of a stoppable command.
    job: Option<(Job, u32)>,
}

impl Processes {
    /// Starts a command, in its own job if it is `stoppable`.
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

    /// Returns a function that waits for the command to end.
    pub(super) fn wait(&self) -> impl FnOnce() + Send + 'static {
        let process = self.process.try_clone();
        move || {
            if let Ok(process) = process {
                windows::wait(process.as_handle());
            }
        }
    }

    /// Forwards an event, unless the command has received it already. Closing the window notifies every
    /// process.
    pub(super) fn forward(&mut self, received: Received) {
        if [SIGINT, SIGBREAK].contains(&received.number) {
            self.ask(Request::Interrupt);
        }
    }

    /// Does nothing: Windows cannot suspend programs from the console.
    pub(super) fn suspend_together(&mut self) {}

    /// Asks the command and everything it started to end. A command in our group is not asked, since it
    /// receives the console events itself.
    pub(super) fn ask(&mut self, request: Request) {
        let Some((job, group)) = &self.job else { return };
        let asked = match request {
            Request::Interrupt => windows::send_break(*group).is_ok(),
            Request::Terminate | Request::Kill => false,
        };
        // If the request cannot be delivered, waiting would only cost money.
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

/// The batch files that a command without an extension may refer to. Windows tries only `.exe`, but `npm`
/// installs `.cmd` files.
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

/// Returns the exit code in one byte: 130 after Ctrl-C, as in a shell, and 255 for larger codes, whose last
/// byte may be 0.
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
