//! `explain`: how a figure came about.

use clap::{Args, ValueEnum};

use super::{
    args::Rows,
    plan::Variables,
    rows::{Question, answer},
};
use crate::{
    error::{Error, ExitStatus},
    render::Style,
    report,
};

/// What can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Figure {
    /// The cost of each session
    Cost,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Which figure
    #[arg(value_name = "FIGURE", value_enum)]
    pub figure: Figure,
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
}

pub(super) fn explain(explain: &Explain, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Explain { figure: Figure::Cost, rows } = explain;
    answer(rows, &Question::of(&report::EXPLAIN, &report::explain), variables, style)
}
