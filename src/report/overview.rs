//! The overview: today, this week against last week, cost by day, sessions, and what failed.

mod chart;
mod keys;
mod period;
mod prompt;
mod rows;
mod screen;
mod slot;

use super::{CommandGroup, CommandSpec, Data, Reader, Report, ReportSpec, View};
use crate::{facts::Detail, facts::trace::limit::Kind, facts::trace::limit::limits, measure::Time};

pub use period::Periods;
use period::Tally;
use prompt::PromptRow;
use rows::{DayRow, FailureRow, LimitRow, NamedRow, SessionRow};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::LIMITS),
    content: Detail::TITLES.and(Detail::EXCERPTS),
    sample: &["overview", "--until", "2026-11-16", "--timezone", "UTC"],
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show today, this week, cost by day, sessions and failures",
        details: "On a terminal, `ccstat` without arguments shows the same. It is about the last 14 days; --since and --until choose \
            another period, which is compared with the one before it. With --until, it shows what it would have shown \
            at that time.",
        examples: &[
            ("How today and this week are going", "ccstat overview"),
            (
                "Last month, compared with the month before",
                "ccstat overview --since last-month --until last-month",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::tree(
        "overview",
        "Overview: today, this week and the last one, cost by day, model and project, sessions, failures and limits.",
        keys::KEYS,
    )
};

/// An archive beside the logs, and how far back it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveReach {
    /// Its folder.
    pub path: String,
    /// Earliest time in the first records of its logs.
    pub first: Option<Time>,
}

/// Everything that the overview shows.
struct Overview<'a> {
    periods: &'a Periods,
    /// Start of the first session in the logs.
    first: Option<Time>,
    archive: Option<&'a ArchiveReach>,
    today: Tally,
    yesterday: Tally,
    this_week: Tally,
    /// The part of last week up to the same time as this week.
    last_week_so_far: Tally,
    last_week: Tally,
    period: Tally,
    before: Tally,
    days: Vec<DayRow>,
    models: Vec<NamedRow>,
    projects: Vec<NamedRow>,
    sessions: Vec<SessionRow>,
    prompts: Vec<PromptRow>,
    failures: Vec<FailureRow>,
    limits: Vec<LimitRow>,
}

/// Builds the overview. `is_drawn` adds the charts of pages.
pub fn overview(
    view: &View<'_>,
    periods: &Periods,
    archive: Option<&ArchiveReach>,
    is_drawn: bool,
) -> Report {
    let tally = |range: &std::ops::Range<Time>| Tally::of(view, range);
    let all = Overview {
        periods,
        first: view.ledger.sessions.iter().filter_map(|session| session.started).min(),
        archive,
        today: tally(&periods.today),
        yesterday: tally(&periods.yesterday),
        this_week: tally(&periods.this_week),
        last_week_so_far: tally(&periods.last_week_so_far),
        last_week: tally(&periods.last_week),
        period: tally(&periods.period),
        before: tally(&periods.before),
        days: rows::days(view, &periods.period),
        models: rows::by(view, periods, rows::model),
        projects: rows::by(view, periods, rows::project),
        sessions: rows::sessions(view, &periods.period),
        prompts: prompt::prompts(view, &periods.period),
        failures: rows::failures(view, &periods.recent),
        limits: rows::limits(
            limits(view.ledger).into_iter().filter(|limit| limit.kind == Kind::RateLimit),
            periods.period.end,
        ),
    };
    let report = Report {
        name: SPEC.name,
        data: Data::Tree(keys::all(&all)),
        notes: screen::notes(view, &all),
        verdicts: Vec::new(),
        run_outcomes: Vec::new(),
        screen: screen::screen(&all),
        reader: Reader::default(),
    };
    if is_drawn { report.with_charts(chart::charts(view, &all)) } else { report }
}
