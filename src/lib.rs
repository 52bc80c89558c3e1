//! Reads the JSON logs of Claude Code and accounts for every line: what a run did, what it cost, what was denied and what failed.
//!
//! [`Logs`] names what to read and which rows count. [`Logs::summary`] adds everything up; [`Logs::report`] gives any report of the
//! program as typed rows. Both can be written in every [`Format`].
//!
//! ```
//! use ccstat::{Format, Logs};
//!
//! # fn main() -> Result<(), ccstat::Error> {
//! let summary = Logs::paths(["testdata/logs"]).summary()?;
//! if summary.denials.total > 0 {
//!     println!("{} calls were denied", summary.denials.total);
//! }
//! let tools = Logs::paths(["testdata/logs"]).since("2026-01-01").report("tools")?;
//! for row in tools.rows() {
//!     println!("{:?} {:?}", row.get("tool"), row.get("errors"));
//! }
//! let mut csv = Vec::new();
//! tools.write(Format::Csv, &mut csv).expect("memory takes everything");
//! # Ok(())
//! # }
//! ```
//!
//! [`Stream`] takes the lines of a run one at a time, while it is running.
//!
//! # What is promised
//!
//! * A broken record is counted, with its place; it is never an error and never a panic. [`Error`] is for mistakes of the caller.
//! * Missing is not zero: a figure that the log does not give is `None` or [`Cell::Missing`].
//! * Figures do not depend on the number of threads or the order of sources.
//! * Costs are estimates at API prices.
//!
//! Types that may grow are `#[non_exhaustive]`. The program itself and everything behind this page are in [`internal`], which may
//! change with every version.

#[macro_use]
mod names;

mod api;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod archive;
#[cfg(feature = "cli")]
mod cli;
mod error;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod event;
#[allow(missing_docs, reason = "behind `internal`, but for the account, which asks for them itself")]
mod facts;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod input;
mod measure;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod permission;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod redact;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod render;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod report;
#[allow(missing_docs, reason = "behind `internal`: a comment that repeats a name helps nobody")]
mod scan;

pub use api::{Cell, Column, Logs, Report, Row, Stream, Summary, Unreadable, report_names};
pub use error::{Error, ExitStatus};
pub use facts::{
    Account, Cache, Cost, Denials, Durations, Errors, Input, Interrupted, InvalidPlace, Latencies, ModelCost,
    ToolCount, Tools, Turns, Unknown,
};
pub use input::SourceId;
pub use measure::{Millis, PricingError, Time, Tokens, Usd};
pub use render::Format;
pub use report::UnknownColumn;

/// The stages behind the public interface, for the program, its tests, benches and fuzzing. Nothing here is a promise.
///
/// > Bytes become lines, lines become events, events become facts, facts become reports, reports become text.
///
/// Each stage is a module, and none calls back: [`input`](internal::input) finds and reads sources and splits them into records,
/// [`event`](internal::event) decodes one record, [`facts`](internal::facts) owns and merges in any order,
/// [`report`](internal::report) groups and sorts, [`render`](internal::render) writes. [`scan`](internal::scan) runs the first
/// three in parallel.
pub mod internal {
    macro_rules! stages {
        ($($(#[$about:meta])* $stage:ident)*) => {
            $($(#[$about])* pub mod $stage { pub use crate::$stage::*; })*
        };
    }

    stages! {
        /// Finds and reads sources, and splits them into records.
        input
        /// Decodes one record, borrowing from its text.
        event
        /// Owns what was learnt from records, merges in any order, settles at the end.
        facts
        /// Groups, sorts and cuts facts into tables of typed values.
        report
        /// Writes reports.
        render
        /// Runs input, event and facts in parallel.
        scan
        /// Money, tokens, times, prices.
        measure
        /// A model of Claude Code's permission system.
        permission
        /// Writes a log without its texts.
        redact
        /// Keeps copies of logs.
        archive
        /// The program.
        #[cfg(feature = "cli")]
        cli
    }
}
