//! How the program ends, and the few errors that end it early.

use std::{io, path::PathBuf, process::ExitCode};

use crate::{measure::PricingError, report::UnknownColumn};

/// What keeps the program from its work. A bad record is not an error but a fact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that was named for something else than records.
    #[error("cannot read `{}`: {source}", path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A pricing file that cannot be used.
    #[error(transparent)]
    Pricing(#[from] PricingError),
    /// A column that was asked for and is not there.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// A file that is asked for as a report and read as a log.
    #[error("a report would take the place of a log, give it another name than `{}`", .0.display())]
    Overwrite(PathBuf),
    /// An argument that means nothing.
    #[error("{0}")]
    Usage(String),
    /// A file that could not be written.
    #[error("cannot write `{}`: {source}", path.display())]
    WriteFile {
        /// Its path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Write(#[source] io::Error),
}

impl Error {
    /// The reader of our output went away: `ccstat | head` is not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// How the program ends with it.
    pub fn status(&self) -> ExitStatus {
        match self {
            Self::Write(_) | Self::WriteFile { .. } => ExitStatus::Partial,
            Self::Open { .. } | Self::Pricing(_) | Self::Column(_) | Self::Usage(_) | Self::Overwrite(_) => {
                ExitStatus::Usage
            }
        }
    }
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// Done.
    Done,
    /// Done, and a gate that was asked for did not hold.
    GateFailed,
    /// Wrong usage.
    Usage,
    /// Nothing could be read.
    NothingRead,
    /// Done, but some source could not be read to its end.
    Partial,
    /// Stopped by an interrupt, after the report of what was read.
    Interrupted,
    /// Following or passing on was ended by the end of its terminal, after the last report.
    HungUp,
    /// Following or passing on was ended from outside, after the last report.
    Terminated,
    /// As the command of `run` ended: its own code.
    Child(u8),
}

impl ExitStatus {
    /// All, in the order of their numbers.
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

    /// What it says.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::GateFailed => {
                "done, and a gate that was asked for did not hold (--fail-on, --max-cost and so on, --strict)"
            }
            Self::Usage => "wrong usage, or a pricing file that cannot be used",
            Self::NothingRead => "nothing could be read",
            Self::Partial => {
                "done, but some source could not be read to its end, or a report could not be written"
            }
            Self::Interrupted => "stopped by SIGINT, after the report of what was read",
            Self::HungUp => "stopped by SIGHUP, after the report of what was read",
            Self::Terminated => "stopped by SIGTERM, after the report of what was read",
            Self::Child(_) => "as the command of run ended",
        }
    }

    /// The number that a shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::GateFailed => 1,
            Self::Usage => 2,
            Self::NothingRead => 3,
            Self::Partial => 4,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::Child(code) => code,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
