//! `show`: one session as a timeline.

use clap::Args;

use super::{
    args::Rows,
    plan::Variables,
    rows::{Question, narrowed},
};
use crate::{
    error::{Error, ExitStatus},
    facts::ledger::Ledger,
    render::Style,
    report::{self, Ask, NotOne, View},
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
    // While it is followed, the session may be yet to come.
    let make = |view: &View<'_>| report::show(view, report::find_session(view.ledger, id).ok());
    let question = Question::of(&report::SHOW, &make);
    let narrowed = narrowed(&rows.asked, &question, variables, &rows.output, &arrangement)?;
    let session = match report::find_session(&narrowed.ledger, id) {
        Ok(session) => Some(session),
        // Where nothing was read or nothing is left, that is what there is to say.
        Err(_) if narrowed.ledger.sessions.is_empty() => None,
        Err(not_one) => {
            let list = variables.again.typed(&Ask::Report(report::SESSIONS.name));
            return Err(Error::Usage(describe(&not_one, id, &narrowed.ledger, &list)));
        }
    };
    narrowed.deliver(report::show(&narrowed.view(), session), rows, &arrangement, style)
}

fn describe(not_one: &NotOne, start: &str, ledger: &Ledger, list: &str) -> String {
    match not_one {
        NotOne::Several(ids) => {
            let more = ids.len().saturating_sub(CANDIDATES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let some: Vec<&str> = ids.iter().take(CANDIDATES).map(String::as_str).collect();
            format!("several sessions begin with `{start}`: {}{more}", some.join(", "))
        }
        NotOne::None => {
            let latest = ledger.sessions.iter().rev().find_map(|session| session.id.as_deref());
            let latest = latest.map(|id| format!(", the latest is `{id}`")).unwrap_or_default();
            format!("no session begins with `{start}`{latest}; `{list}` lists them")
        }
    }
}
