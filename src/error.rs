//! Errors that end the program, and its exit codes.

use std::{io, path::PathBuf, process::ExitCode};

use crate::{measure::PricingError, report::UnknownColumn};

/// An error that ends the program early. A broken record is not an error: it is counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file other than a log, such as a settings file, that cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A pricing file that cannot be used.
    #[error(transparent)]
    Pricing(#[from] PricingError),
    /// A column that the report does not have.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// An output file that is also read as a log.
    #[error("a report would take the place of a log, give it another name than `{}`", .0.display())]
    Overwrite(PathBuf),
    /// An invalid argument.
    #[error("{0}")]
    Usage(String),
    /// A file that could not be written.
    #[error("cannot write `{}`: {source}", path.display())]
    WriteFile {
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Write(#[source] io::Error),
}

impl Error {
    /// Returns whether the reader of the output has closed it. `ccstat | head` is not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit status for this error.
    pub fn status(&self) -> ExitStatus {
        match self {
            Self::Write(_) | Self::WriteFile { .. } => ExitStatus::Partial,
            Self::Open { .. } | Self::Pricing(_) | Self::Column(_) | Self::Usage(_) | Self::Overwrite(_) => {
                ExitStatus::Usage
            }
        }
    }
}

/// The exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// Success.
    Done,
    /// Done, but a gate failed.
    GateFailed,
    /// Invalid arguments, or a file for configuration or prices that cannot be used.
    Usage,
    /// Nothing could be read.
    NothingRead,
    /// Done, but some source could not be read to its end.
    Partial,
    /// Stopped by an interrupt, after the report of what was read.
    Interrupted,
    /// Stopped by the end of the terminal, after the last report.
    HungUp,
    /// Stopped by a request to terminate, after the last report.
    Terminated,
    /// The exit code of the command that `run` started.
    Child(u8),
}

impl ExitStatus {
    /// All but `Child`, in the order of their codes.
    pub const ALL: [Self; 8] = [
        Self::Done,
        Self::GateFailed,
        Self::Usage,
        Self::NothingRead,
        Self::Partial,
        Self::HungUp,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The exit code, and a description for the help.
    fn row(self) -> (u8, &'static str) {
        match self {
            Self::Done => (0, "done"),
            Self::GateFailed => (
                1,
                "done, and a gate that was asked for did not hold (--fail-on, --max-cost and so on, --strict)",
            ),
            Self::Usage => (2, "wrong usage, or a pricing file that cannot be used"),
            Self::NothingRead => (3, "nothing could be read"),
            Self::Partial => {
                (4, "done, but some source could not be read to its end, or a report could not be written")
            }
            Self::HungUp => (129, "stopped by SIGHUP, after the report of what was read"),
            Self::Interrupted => (130, "stopped by SIGINT, after the report of what was read"),
            Self::Terminated => (143, "stopped by SIGTERM, after the report of what was read"),
            Self::Child(code) => (code, "as the command of run ended"),
        }
    }

    /// A description for the help.
    pub fn meaning(self) -> &'static str {
        self.row().1
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        self.row().0
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
