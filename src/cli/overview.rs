//! `overview`, which is also what a bare `ccstat` shows on a terminal.

use std::path::Path;

use clap::Args;

use super::{
    Reading, args,
    output::{Channel, print},
    plan::{self, Variables},
    read_or_follow,
    rows::{Filtered, Scope},
    scan_options,
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    input::{self, Roots},
    measure::calendar,
    render::{Style, human},
    report::{self, ArchiveReach, Arrangement, Periods, View},
    scan,
};

/// Arguments of `overview`.
#[derive(Debug, Args)]
pub struct Overview {
    /// The logs and filters.
    #[command(flatten)]
    pub query: args::Query,
    /// Format and destination.
    #[command(flatten)]
    pub output: args::Output,
    /// Budgets.
    #[command(flatten)]
    pub budgets: args::Budgets,
}

pub(super) fn overview(
    overview: &Overview,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    let Overview { query, output, budgets } = overview;
    output.fits(report::OVERVIEW.name)?;
    let detail = report::OVERVIEW.keeps | output.content(&report::OVERVIEW, Channel::Stdout);
    // The period before is needed too, so times are not filtered before the report is made.
    let scope = Scope::of(query, detail, &[], variables)?.of_all_times();
    let periods = || -> Result<Periods, Error> {
        let (zone, now) = (query.filters.zone()?, calendar::now());
        let (since, until) = query.filters.times(&zone, now)?;
        Periods::of(&zone, since, until, now).map_err(Error::Usage)
    };
    periods()?;
    let wanted = plan::wanted(&query.input, variables)?;
    let is_saved = matches!(wanted, Roots::SavedSessions(_));
    let apply = |reading: Reading| -> Result<(Filtered, Periods), Error> {
        let (mut filtered, periods) = (scope.apply(reading)?, periods()?);
        if query.filters.since.is_some() || query.filters.until.is_some() {
            filtered.ledger.hide_texts_outside(&periods.whole());
        }
        Ok((filtered, periods))
    };
    let arrangement = Arrangement::default();
    let show = |view: &View<'_>, periods: &Periods, archive: Option<&ArchiveReach>| {
        let report = report::overview(view, periods, archive, output.draws());
        budgets.told_of_all(report, view, &query.filters)
    };
    let history = || variables.archive.as_deref().map(|path| history(path, query));
    let make = |reading: Reading| {
        let ((mut filtered, periods), archive) = (apply(reading)?, history());
        let make = |view: &View<'_>| show(view, &periods, archive.as_ref());
        Ok(filtered.reports(&make, output, &arrangement)?.shown)
    };
    let reading = read_or_follow(wanted, query, scope.detail, output, variables, &make)?;
    if is_saved && reading.sources.is_empty() && output.format().is_for_people() && !output.quiet {
        print(|out| out.write_all(first_steps(variables).as_bytes()))?;
        return Ok(ExitStatus::NothingRead);
    }
    let ((mut filtered, periods), archive) = (apply(reading)?, history());
    let make = |view: &View<'_>| show(view, &periods, archive.as_ref());
    let reports = filtered.reports(&make, output, &arrangement)?;
    let status = filtered.deliver(&reports, output, style);
    std::mem::forget(filtered);
    status
}

/// The archive that the configuration names.
fn history(path: &Path, query: &args::Query) -> ArchiveReach {
    let found = input::find(&Roots::Paths(vec![path.to_owned()]));
    let first = scan::earliest(&found.sources, &scan_options(&query.input, Detail::TOTALS));
    ArchiveReach { path: path.to_string_lossy().into_owned(), first: first.get() }
}

/// The text for someone without saved sessions: where they are looked for, and what to type.
fn first_steps(variables: &Variables) -> String {
    let places: String = variables
        .environment()
        .places()
        .iter()
        .map(|place| {
            let state = if place.is_dir() { "empty" } else { "does not exist" };
            format!("  {} ({state})\n", human::text(&place.to_string_lossy()))
        })
        .collect();
    format!(
        "There are no saved sessions yet. ccstat looked in\n{places}\n\
         Claude Code saves each session there. To count one run, now:\n  \
         ccstat run -- claude -p 'say hello' --output-format stream-json --verbose\n\
         To read logs from elsewhere:\n  \
         ccstat FILE-OR-FOLDER\n\
         To see what ccstat finds on this machine, and all commands:\n  \
         ccstat doctor\n  \
         ccstat --help\n"
    )
}
