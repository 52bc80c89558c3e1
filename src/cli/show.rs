//! `show`: shows one session as a timeline.

use std::path::Path;

use clap::Args;

use super::{
    args::{Query, Rows},
    check_search,
    output::Channel,
    plan::{self, Variables},
    read_sources,
    rows::{Filtered, ReportRequest, Scope, read_filtered},
    scan_options,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{
        Detail,
        ledger::{Ledger, SessionIndex},
    },
    input::{self, Search},
    render::Style,
    report::{self, FindSessionError, FollowUp, LATEST, Report, ReportSpec, View},
    scan::{Locator, Target},
};

/// Maximum number of candidates in the message about an ambiguous id.
const CANDIDATES: usize = 10;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// Id of the session or its first characters; latest for the one that started last
    ///
    /// An id in which a screen left out the middle (…) works too. A log or folder alone shows its latest session.
    #[arg(value_name = "SESSION")]
    pub id: String,
    /// Show whole texts below the rows, not only their first lines
    ///
    /// Prompts, what the model said, inputs and errors are wrapped at words. Output that is not a table on a
    /// terminal needs --content too.
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
}

pub(super) fn show(show: &mut Show, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Show { id, full, rows } = show;
    if *full && !rows.output.shows_content(Channel::Stdout) {
        return Err(Error::Usage("--full shows texts of the logs: add --content".to_owned()));
    }
    let detail = if *full { Detail::WHOLE_TEXTS } else { Detail::TOTALS };
    let make = |view: &View<'_>, session: Option<SessionIndex>| report::show(view, session, *full);
    report_session(id, rows, &SessionReport { spec: &report::SHOW, detail, make: &make }, variables, style)
}

/// A report about one session.
pub(super) struct SessionReport<'a> {
    pub(super) spec: &'static ReportSpec,
    /// Detail that it needs besides that of its spec.
    pub(super) detail: Detail,
    pub(super) make: &'a dyn Fn(&View<'_>, Option<SessionIndex>) -> Report,
}

/// Reads what is needed for one session, and writes the report.
pub(super) fn report_session(
    id: &mut String,
    rows: &mut Rows,
    report: &SessionReport<'_>,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    // `show run.jsonl` has a path in place of the session.
    if id != LATEST && rows.query.input.paths.is_empty() && Path::new(id).exists() {
        rows.query.input.paths.push(std::mem::replace(id, LATEST.to_owned()).into());
    }
    let (id, rows) = (&*id, &*rows);
    let SessionReport { spec, detail, make } = report;
    let arrangement = rows.arrange.arrangement(spec, &rows.output)?;
    let make_found = |view: &View<'_>| make(view, report::find_session(view.ledger, id).ok());
    let request = ReportRequest::of(spec, &make_found);
    let request = ReportRequest { detail: request.detail | *detail, ..request };
    // With --follow, the session may still appear, in any folder.
    let mut filtered = if rows.query.follow {
        read_filtered(&rows.query, &request, variables, &rows.output, &arrangement)?
    } else {
        let detail = request.detail | rows.output.content(request.spec, Channel::Stdout);
        rows.output.fits(spec.name)?;
        let search = input::find(&plan::wanted(&rows.query.input, variables)?);
        check_search(&search, &rows.output)?;
        let filtered = read_for(id, search, &rows.query, detail, rows.output.quiet, variables)?;
        filtered.reading.complain_of_unread();
        filtered
    };
    let session = find(id, &filtered.ledger, variables)?;
    let make_session = |view: &View<'_>| make(view, session);
    let reports = filtered.reports(&make_session, &rows.output, &arrangement)?;
    filtered.deliver(&reports, &rows.output, style)
}

/// Reads the project folders that contain the session, or everything if file names and first records do not
/// show which these are.
pub(super) fn read_for(
    id: &str,
    search: Search,
    query: &Query,
    detail: Detail,
    quiet: bool,
    variables: &Variables,
) -> Result<Filtered, Error> {
    let scope = Scope::of(query, detail, &[], variables)?;
    let read = |search| {
        let reading = read_sources(search, &query.input, scope.detail, quiet);
        scope.apply(reading)
    };
    // A filter may select another session than the one that is found here.
    let locate = || Locator::of(&search.sources, &scan_options(&query.input, scope.detail));
    let locator = scope.is_whole()?.then(locate).flatten();
    let target = if id == LATEST { Target::Latest } else { Target::Id(id) };
    if let Some((locator, chosen)) = locator.and_then(|one| one.choose(target).map(|chosen| (one, chosen))) {
        let mut filtered = read(search.some(|source| chosen.contains(source)))?;
        let session = report::find_session(&filtered.ledger, id).map(|at| &filtered.ledger.sessions[at]);
        let is_same = session.is_ok_and(|session| locator.covers(&chosen, target, session));
        if is_same || filtered.reading.stop.is_some() {
            filtered.reading.partial |= !search.errors.is_empty();
            return Ok(filtered);
        }
    }
    read(search)
}

/// Finds the session with this id; `None` if there is no session at all: that nothing was read or nothing matches
/// the filters is reported instead.
pub(super) fn find(id: &str, ledger: &Ledger, variables: &Variables) -> Result<Option<SessionIndex>, Error> {
    match report::find_session(ledger, id) {
        Ok(session) => Ok(Some(session)),
        Err(_) if ledger.sessions.is_empty() => Ok(None),
        Err(error) => {
            let list = variables.hints.typed(&FollowUp::Report(report::SESSIONS.name));
            Err(Error::Usage(describe(&error, id, ledger, &list)))
        }
    }
}

fn describe(error: &FindSessionError, start: &str, ledger: &Ledger, list: &str) -> String {
    match error {
        FindSessionError::Ambiguous(ids) => {
            let more = ids.len().saturating_sub(CANDIDATES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let some: Vec<&str> = ids.iter().take(CANDIDATES).map(String::as_str).collect();
            format!("several sessions start with `{start}`: {}{more}", some.join(", "))
        }
        FindSessionError::NotFound => {
            let latest = ledger.sessions.iter().rev().find_map(|session| session.id.as_deref());
            let latest = latest.map(|id| format!(", the latest is `{id}`")).unwrap_or_default();
            format!("no session starts with `{start}`{latest}; `{list}` lists all sessions")
        }
    }
}
