//! `explain`: shows how a figure was computed.

use clap::{Args, ValueEnum};

use super::{
    args::Rows,
    plan::Variables,
    rows::{ReportRequest, write_report},
};
use crate::{
    error::{Error, ExitStatus},
    render::Style,
    report,
};

/// Figures that can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Figure {
    /// The cost of each session
    Cost,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The figure to explain
    #[arg(value_name = "FIGURE", value_enum)]
    pub figure: Figure,
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
}

pub(super) fn explain(explain: &Explain, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Explain { figure: Figure::Cost, rows } = explain;
    write_report(rows, &ReportRequest::of(&report::EXPLAIN, &report::explain), variables, style)
}
