//! Facts become reports: tables of typed values. What is said is decided here, how it looks is not.

mod arrange;
mod contents;
mod entry;
mod export;
mod filter;
mod prices;
mod records;
mod responses;
mod sessions;
mod sum;
mod summary;
mod table;

pub use arrange::{Arrangement, Order, Sort, UnknownColumn};
pub use contents::contents;
pub use entry::{Entry, Key, Keys, Shape};
pub use export::{Export, TABLES};
pub use filter::{Agents, Filter, Pattern};
pub use prices::prices;
pub use records::records;
pub use responses::responses;
pub use sessions::{Outcome, outcomes, sessions};
pub use sum::View;
pub use summary::{Names, summary};
pub use table::{Column, Data, Head, Line, Part, Report, Section, Shown, Table, Tone, Unit, Value, heads};

/// The reports, each once: schemas, lists and documents follow from it.
pub const REPORTS: &[Entry] =
    &[summary::ENTRY, sessions::ENTRY, prices::ENTRY, responses::ENTRY, records::ENTRY, contents::ENTRY];
