//! `context`: shows what filled the context window of a session.

use clap::Args;

use super::{
    args::Rows,
    plan::Variables,
    show::{SessionReport, report_session},
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    render::Style,
    report,
};

/// Arguments of `context`.
#[derive(Debug, Args)]
pub struct Context {
    /// Id of the session or its first characters; latest for the one that started last
    ///
    /// An id in which a screen left out the middle (…) works too. A log or folder alone shows its latest session.
    #[arg(value_name = "SESSION")]
    pub id: String,
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
}

pub(super) fn context(
    context: &mut Context,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    let Context { id, rows } = context;
    let report = SessionReport { spec: &report::CONTEXT, detail: Detail::TOTALS, make: &report::context };
    report_session(id, rows, &report, variables, style)
}
