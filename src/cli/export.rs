//! `export`: writes the rows of a report with all columns, for other programs.

use clap::{Args, builder::PossibleValuesParser};

use super::{
    args::Rows,
    plan::Variables,
    rows::{ReportRequest, write_report},
};
use crate::{
    error::{Error, ExitStatus},
    render::Style,
    report::{FollowUp, ReportSpec},
};

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(mut_arg("format", |format| format.default_value("csv")))]
pub struct Export {
    /// The rows to export
    #[arg(value_name = "TABLE", value_parser = PossibleValuesParser::new(ReportSpec::exports().map(|spec| spec.name)))]
    pub table: String,
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Add the inputs and results of calls as JSON text
    ///
    /// Only `export calls` has content. It may contain secrets: check it before you share it.
    #[arg(long)]
    pub include_content: bool,
}

pub(super) fn export(export: &Export, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let table = ReportSpec::exports().find(|spec| spec.name == export.table);
    let table = table.ok_or_else(|| Error::Usage(format!("no table `{}`", export.table)))?;
    let spec = if export.include_content {
        table.with_content.ok_or_else(|| {
            let calls = variables.hints.typed(&FollowUp::Report("export calls --include-content"));
            Error::Usage(format!("`{}` has no content: use `{calls}`", table.name))
        })?
    } else {
        table
    };
    let make = spec.make.ok_or_else(|| Error::Usage(format!("`{}` cannot be exported", spec.name)))?;
    write_report(&export.rows, &ReportRequest::of(spec, &make), variables, style)
}
