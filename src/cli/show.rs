//! `show`: one session as a timeline.

use clap::Args;

use super::{
    args::Rows,
    options,
    plan::{self, Variables},
    read_spared,
    rows::{Narrowed, Question, Scope, narrowed},
    spare,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, ledger::Ledger},
    input,
    render::Style,
    report::{self, FindSessionError, FollowUp, LATEST, View},
    scan::{Locator, Target},
};

/// Candidates that an ambiguous beginning names.
const CANDIDATES: usize = 10;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// Id of the session or its beginning; latest for the one that began last
    #[arg(value_name = "SESSION")]
    pub id: String,
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
}

pub(super) fn show(show: &Show, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Show { id, rows } = show;
    let arrangement = rows.arrange.arrangement(&report::SHOW)?;
    let make = |view: &View<'_>| report::show(view, report::find_session(view.ledger, id).ok());
    let question = Question::of(&report::SHOW, &make);
    // While it is followed, the session may be yet to come, in any folder.
    let narrowed = if rows.asked.follow {
        narrowed(&rows.asked, &question, variables, &rows.output, &arrangement)?
    } else {
        let narrowed = read_for(id, rows, question.detail, variables)?;
        narrowed.reading.complain_of_unread();
        narrowed
    };
    let session = match report::find_session(&narrowed.ledger, id) {
        Ok(session) => Some(session),
        // Where nothing was read or nothing is left, that is what there is to say.
        Err(_) if narrowed.ledger.sessions.is_empty() => None,
        Err(error) => {
            let list = variables.again.typed(&FollowUp::Report(report::SESSIONS.name));
            return Err(Error::Usage(describe(&error, id, &narrowed.ledger, &list)));
        }
    };
    narrowed.deliver(report::show(&narrowed.view(), session), rows, &arrangement, style)
}

/// Reads the project folders that hold a part of the session, or everything if these cannot be told from names and first records.
fn read_for(id: &str, rows: &Rows, detail: Detail, variables: &Variables) -> Result<Narrowed, Error> {
    let Rows { asked, output, .. } = rows;
    output.fits(report::SHOW.name)?;
    let scope = Scope::of(asked, detail, &[], variables)?;
    let search = input::find(&plan::wanted(&asked.input, variables)?);
    spare(&search, output)?;
    let read = |search| {
        let reading = read_spared(search, &asked.input, scope.detail, output.quiet);
        scope.narrow(reading)
    };
    // A filter may leave another session than the one that is found here.
    let locate = || Locator::of(&search.sources, &options(&asked.input, scope.detail));
    let locator = scope.is_whole()?.then(locate).flatten();
    let target = if id == LATEST { Target::Latest } else { Target::Id(id) };
    if let Some((locator, chosen)) = locator.and_then(|one| one.choose(target).map(|chosen| (one, chosen))) {
        let mut narrowed = read(search.some(|source| chosen.contains(source)))?;
        let session = report::find_session(&narrowed.ledger, id).map(|at| &narrowed.ledger.sessions[at]);
        let is_same = session.is_ok_and(|session| locator.covers(&chosen, target, session));
        if is_same || narrowed.reading.stop.is_some() {
            narrowed.reading.partial |= !search.errors.is_empty();
            return Ok(narrowed);
        }
    }
    read(search)
}

fn describe(error: &FindSessionError, start: &str, ledger: &Ledger, list: &str) -> String {
    match error {
        FindSessionError::Ambiguous(ids) => {
            let more = ids.len().saturating_sub(CANDIDATES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let some: Vec<&str> = ids.iter().take(CANDIDATES).map(String::as_str).collect();
            format!("several sessions begin with `{start}`: {}{more}", some.join(", "))
        }
        FindSessionError::NotFound => {
            let latest = ledger.sessions.iter().rev().find_map(|session| session.id.as_deref());
            let latest = latest.map(|id| format!(", the latest is `{id}`")).unwrap_or_default();
            format!("no session begins with `{start}`{latest}; `{list}` lists them")
        }
    }
}
