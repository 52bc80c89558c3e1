//! The command-line program: runs ccstat and turns the outcome into an exit code.

use std::process::ExitCode;

use ccstat::{ExitStatus, internal::cli};

fn main() -> ExitCode {
    match cli::run(std::env::args_os()) {
        Ok(status) => status.into(),
        Err(error) if error.is_broken_pipe() => ExitStatus::Done.into(), // `ccstat | head` is not a failure
        Err(error) => {
            cli::complain(&error.to_string());
            error.status().into()
        }
    }
}
