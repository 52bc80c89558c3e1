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
    report::ReportSpec,
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
}

pub(super) fn export(export: &Export, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let table = ReportSpec::exports().find(|spec| spec.name == export.table);
    let table = table.ok_or_else(|| Error::Usage(format!("no table `{}`", export.table)))?;
    // With content, calls have their whole inputs and outputs.
    let with_content = table.with_content.filter(|_| export.rows.output.files_content());
    let spec = with_content.unwrap_or(table);
    let make = spec.make.ok_or_else(|| Error::Usage(format!("`{}` cannot be exported", spec.name)))?;
    write_report(&export.rows, &ReportRequest::of(spec, &make), variables, style)
}
