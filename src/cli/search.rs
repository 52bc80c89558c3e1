//! `search`: finds texts in logs.

use std::sync::Arc;

use clap::Args;

use super::{
    args::Rows,
    plan::Variables,
    rows::{ReportRequest, write_report},
};
use crate::{
    error::{Error, ExitStatus},
    event::Query,
    render::{Format, Style},
    report::{self, View},
};

/// Arguments of `search`.
#[derive(Debug, Args)]
pub struct Search {
    /// Text to search for; case is ignored unless it has capitals
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: String,
    /// TEXT is a regular expression
    ///
    /// The syntax is that of Rust's regex crate, without look-around and backreferences. ^ and $ match at the
    /// lines of a text.
    #[arg(long)]
    pub regex: bool,
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
}

pub(super) fn search(search: &mut Search, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Search { text, regex, rows } = search;
    if text.is_empty() {
        return Err(Error::Usage("nothing to search for: give a text".to_owned()));
    }
    let query = if *regex { Query::regex(text) } else { Query::plain(text) };
    let query = query.map_err(|error| Error::Usage(format!("not a regular expression: {error}")))?;
    rows.query.input.search = Some(Arc::new(query));
    let most = most_rows(rows);
    let make = |view: &View<'_>| report::search(view, most);
    write_report(rows, &ReportRequest::of(&report::SEARCH, &make), variables, style)
}

/// The number of rows that are shown, if only a table is written. A frequent word has too many matches to make a row for each.
fn most_rows(rows: &Rows) -> Option<usize> {
    let Rows { output, arrange, .. } = rows;
    let is_table = output.format() == Format::Table && output.output.is_empty() && arrange.sort.is_none();
    let most = arrange.limit.unwrap_or(report::SEARCH_ROWS);
    (is_table && most > 0).then_some(most)
}
