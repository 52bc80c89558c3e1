//! Turns facts into reports: tables of typed values and lines of text. `render` decides how they look.

mod agents;
mod archive;
mod arrange;
mod budget;
mod cache;
mod calls;
mod card;
mod ccusage;
mod charges;
mod chart;
mod check;
mod column;
mod commands;
mod contents;
mod context;
mod control;
mod cost;
mod diff;
mod doctor;
mod explain;
mod figure;
mod filter;
mod gate;
mod highlight;
mod hooks;
mod kinds;
mod limits;
mod line;
mod local;
mod mcp;
mod overview;
mod permission;
mod prices;
mod prompts;
mod questions;
mod reader;
mod records;
mod repeats;
mod responses;
mod search;
mod sessions;
mod show;
mod spec;
mod stream;
mod sum;
mod summary;
mod table;
mod tasks;
mod time;
mod tools;
pub mod trace;
mod turns;
mod unit;
mod value;

pub use agents::agents;
pub use archive::{ArchivedLogs, archive};
pub use arrange::{Arrangement, Order, Sort, UnknownColumn, is_slip};
pub use budget::{Budget, BudgetTime, judge_budgets, with_budgets};
pub use card::Card;
pub use ccusage::{Preset, ccusage};
pub use chart::{
    Activity, Bars, Bucket, Chart, Distribution, HOURS, HeatMap, Lane, Merge, Plot, Series, Span, Timeline,
    WEEKDAYS, hour_text, total,
};
pub use check::check;
pub use context::context;
pub use cost::{By, Windows, blocks, cost};
pub use diff::{Allowance, Growth, PeriodSide, diff, diff_periods};
pub use doctor::{Findings, Place, Retention, doctor};
pub use explain::explain;
pub use filter::{Agents, Attributions, Filter, Pattern};
pub(crate) use gate::{GATES, gates};
pub use gate::{Gate, Kind, Verdict, gate_lines, judge};
pub use highlight::Highlight;
pub use limits::forecast;
pub use line::{Choice, FollowUp, Line, Part, Tone};
pub use overview::{ArchiveReach, Periods, overview};
pub use permission::{TestedCall, Trial, permissions, suggestions, verdicts};
pub use prices::{note_found_prices, prices};
pub use prompts::prompts;
pub use reader::{LEFT_OUT, Reader, names_id, short_id, unique_prefix};
pub use repeats::denials;
pub use search::{SCREEN_ROWS as SEARCH_ROWS, search};
pub use sessions::{Outcome, RunOutcome, outcomes, sessions};
pub use show::{FindSessionError, LATEST, find_session, show};
pub use spec::{CommandGroup, CommandSpec, Key, Keys, Reads, ReportSpec, Shape, reports};
pub use stream::{RowSink, RowStream};
pub use sum::View;
pub use summary::{Names, arrived, interrupted, running, summary, with_failure, with_kinds, with_pictures};
pub use table::{Column, Data, Head, PAGE_ROWS, Report, Section, Shown, Table, heads};
pub use time::{TimeBy, time};
pub use unit::Unit;
pub use value::{Members, Value};

/// Text of a cell. Shares the string with the ledger instead of copying it.
pub use crate::facts::Name as Text;

// The reports whose commands have arguments of their own.
#[cfg(feature = "cli")]
pub(crate) use self::{
    archive::SPEC as ARCHIVE,
    check::SPEC as CHECK,
    context::SPEC as CONTEXT,
    cost::{BLOCKS, BY_PROMPT as COST_BY_PROMPT, SPEC as COST},
    diff::SPEC as DIFF,
    doctor::SPEC as DOCTOR,
    explain::SPEC as EXPLAIN,
    limits::{FORECAST, SPEC as LIMITS},
    overview::SPEC as OVERVIEW,
    permission::{SPEC as PERMISSIONS, SUGGESTIONS, VERDICTS},
    prices::SPEC as PRICES,
    search::SPEC as SEARCH,
    sessions::SPEC as SESSIONS,
    show::SPEC as SHOW,
    summary::SPEC as SUMMARY,
    time::{BY_PROMPT as TIME_BY_PROMPT, SPEC as TIME},
};

/// All reports, in the order of the help. Commands, help, schemas, exports, snapshots and documents derive
/// from this list.
pub const REPORTS: &[ReportSpec] = &[
    summary::SPEC,
    check::SPEC,
    show::SPEC,
    diff::SPEC,
    explain::SPEC,
    tools::SPEC,
    turns::SPEC,
    calls::SPEC,
    contents::SPEC,
    repeats::DENIALS,
    repeats::ERRORS,
    repeats::FAILURES,
    agents::SPEC,
    context::SPEC,
    cache::SPEC,
    cache::CAUSES,
    kinds::SPEC,
    permission::SPEC,
    permission::SUGGESTIONS,
    permission::VERDICTS,
    questions::SPEC,
    commands::SPEC,
    hooks::SPEC,
    mcp::SPEC,
    tasks::SPEC,
    limits::SPEC,
    limits::FORECAST,
    control::SPEC,
    overview::SPEC,
    sessions::SPEC,
    prompts::SPEC,
    time::SPEC,
    search::SPEC,
    cost::SPEC,
    cost::DAILY,
    cost::WEEKLY,
    cost::MONTHLY,
    cost::BLOCKS,
    archive::SPEC,
    responses::SPEC,
    charges::SPEC,
    records::SPEC,
    prices::SPEC,
    doctor::SPEC,
];
