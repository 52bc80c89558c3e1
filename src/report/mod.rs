//! Facts become reports: tables of typed values. What is said is decided here, how it looks is not.

mod agents;
mod arrange;
mod calls;
mod ccusage;
mod check;
mod commands;
mod contents;
mod control;
mod cost;
mod diff;
mod entry;
mod explain;
mod export;
mod filter;
mod gate;
mod hooks;
mod kinds;
mod limits;
mod line;
mod local;
mod mcp;
mod permission;
mod prices;
mod questions;
mod records;
mod repeats;
mod responses;
mod sessions;
mod show;
mod sum;
mod summary;
mod table;
mod tasks;
mod tools;
mod turns;

pub use agents::agents;
pub use arrange::{Arrangement, Order, Sort, UnknownColumn};
pub use calls::calls;
pub use ccusage::{Preset, ccusage};
pub use check::check;
pub use commands::commands;
pub use contents::contents;
pub use control::control;
pub use cost::{By, blocks, cost, daily, monthly, weekly};
pub use diff::{Allowance, Growth, diff};
pub use entry::{Entry, Key, Keys, Shape, reports};
pub use explain::explain;
pub use export::{Export, TABLES};
pub use filter::{Agents, Filter, Pattern};
pub(crate) use gate::{GATES, gates};
pub use gate::{Gate, Kind, Verdict, gate_lines, judge};
pub use hooks::hooks;
pub use kinds::kinds;
pub use limits::limits;
pub use line::{Ask, Line, Part, Tone};
pub use mcp::mcp;
pub use permission::{Trial, Tried, permissions, suggestions, verdicts};
pub use prices::{note_found_prices, prices};
pub use questions::questions;
pub use records::records;
pub use repeats::{denials, errors};
pub use responses::responses;
pub use sessions::{Ending, Outcome, outcomes, sessions};
pub use show::{NotOne, find_session, show};
pub use sum::View;
pub use summary::{Names, arrived, interrupted, summary};
pub use table::{Column, Data, Head, Report, Section, Shown, Table, Unit, Value, heads};
pub use tasks::tasks;
pub use tools::tools;
pub use turns::turns;

/// The reports, each once: schemas, lists and documents follow from it.
pub const REPORTS: &[Entry] = &[
    summary::ENTRY,
    sessions::ENTRY,
    show::ENTRY,
    check::ENTRY,
    turns::ENTRY,
    tools::ENTRY,
    calls::ENTRY,
    repeats::DENIALS,
    repeats::ERRORS,
    kinds::ENTRY,
    agents::ENTRY,
    permission::ENTRY,
    permission::SUGGESTIONS,
    permission::VERDICTS,
    hooks::ENTRY,
    mcp::ENTRY,
    tasks::ENTRY,
    limits::ENTRY,
    questions::ENTRY,
    commands::ENTRY,
    control::ENTRY,
    cost::ENTRY,
    cost::DAILY,
    cost::WEEKLY,
    cost::MONTHLY,
    cost::BLOCKS,
    prices::ENTRY,
    responses::ENTRY,
    records::ENTRY,
    contents::ENTRY,
    explain::ENTRY,
    diff::ENTRY,
];
