//! Facts become reports: tables of typed values. What is said is decided here, how it looks is not.

mod prices;
mod summary;
mod table;

pub use prices::prices;
pub use summary::{Names, summary};
pub use table::{Column, Data, Head, Line, Part, Report, Section, Shown, Table, Tone, Unit, Value};
