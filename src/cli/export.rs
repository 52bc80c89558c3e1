//! `export`: writes the rows of a report with all columns, for other programs.

mod partition;

use std::io::{self, Write};

use clap::{Args, ValueEnum, builder::PossibleValuesParser};

use super::{
    args::Rows,
    plan::Variables,
    rows::{Filtered, ReportRequest, read_filtered, write_report},
    status,
};
use crate::{
    error::{Error, ExitStatus},
    render::{Format, Style, row_writer},
    report::{Arrangement, Data, Head, Report, ReportSpec, RowSink, Table, Value, View},
};

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(mut_arg("format", |format| format.default_value("csv")))]
pub struct Export {
    /// The rows to export
    #[arg(value_name = "TABLE", value_parser = PossibleValuesParser::new(ReportSpec::exports().map(|spec| spec.name)))]
    pub table: String,
    /// Write a folder per day to each -o: DIR/day=2026-11-01/part-0.parquet
    ///
    /// DuckDB, Spark and pandas read such folders and skip the days that a query does not need. Days are those of UTC.
    /// Rows without a time are in `day=__HIVE_DEFAULT_PARTITION__`. Formats are parquet, csv, tsv and jsonl. The days that
    /// are written replace those of an earlier export, others stay. Nothing is printed.
    #[arg(long, value_name = "BY", value_enum, requires = "output", help_heading = "Output")]
    pub partition_by: Option<PartitionBy>,
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
}

/// The key that decides the folder of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartitionBy {
    /// The first time of a row
    Day,
}

pub(super) fn export(export: &Export, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let table = ReportSpec::exports().find(|spec| spec.name == export.table);
    let table = table.ok_or_else(|| Error::Usage(format!("no table `{}`", export.table)))?;
    // With content, calls have their whole inputs and outputs.
    let with_content = table.with_content.filter(|_| export.rows.output.files_content());
    let spec = with_content.unwrap_or(table);
    let make = spec.make.ok_or_else(|| Error::Usage(format!("`{}` cannot be exported", spec.name)))?;
    let (rows, request) = (&export.rows, ReportRequest::of(spec, &make));
    if let Some(PartitionBy::Day) = export.partition_by {
        return partition::by_day(rows, &request, variables);
    }
    // Rows are sorted in memory, and other formats have totals or a layout.
    if spec.stream.is_none() || rows.arrange.sort.is_some() || rows.query.follow || !rows.output.is_rows() {
        return write_report(rows, &request, variables, style);
    }
    let arrangement = rows.arrange.arrangement(spec, &rows.output)?;
    let filtered = read_filtered(&rows.query, &request, variables, &rows.output, &arrangement)?;
    let exported = ExportedRows::of(&filtered, &request, &arrangement)?;
    let status = exported.status();
    let status = rows.output.deliver_rows(status, &|format, out| exported.write(format, out))?;
    filtered.complain_of_nothing(status);
    std::mem::forget(filtered); // as in `write_report`
    Ok(status)
}

/// The rows of an export: made one after another where the report can, otherwise all at once.
struct ExportedRows<'a> {
    spec: &'static ReportSpec,
    filtered: &'a Filtered,
    /// The report without rows, with the columns to write.
    report: Report,
    /// The columns of the cells of a row.
    columns: Vec<Head>,
    /// All rows, if they are not made one after another.
    made: Option<Vec<Vec<Value>>>,
    /// Maximum number of rows.
    limit: usize,
}

impl<'a> ExportedRows<'a> {
    fn of(
        filtered: &'a Filtered,
        request: &ReportRequest<'_>,
        arrangement: &Arrangement,
    ) -> Result<Self, Error> {
        let spec = request.spec;
        let streamed = spec.stream.is_some() && arrangement.sort.is_none();
        let (columns, made) = if streamed {
            (spec.heads(), None)
        } else {
            let order = Arrangement { columns: None, ..arrangement.clone() };
            let table = table(filtered.finish((request.make)(&filtered.view()), &order)?)?;
            (table.columns, Some(table.rows))
        };
        let empty = Table { columns: columns.clone(), ..Table::of::<()>("", &[], [(); 0]) };
        let report = filtered.finish(Report::of(spec.name, empty, Vec::new()), arrangement)?;
        let limit = arrangement.limit.filter(|&limit| limit > 0 && streamed).unwrap_or(usize::MAX);
        Ok(Self { spec, filtered, report, columns, made, limit })
    }

    fn status(&self) -> ExitStatus {
        let reading = &self.filtered.reading;
        status(&self.filtered.ledger.input, &reading.stop, reading.partial, &self.report)
    }

    /// The columns to write, each with the index of its cell.
    fn heads(&self) -> Vec<(usize, &Head)> {
        let Data::Rows(table) = &self.report.data else { return Vec::new() };
        let index = |head: &Head| self.columns.iter().position(|column| column.key == head.key);
        table.for_programs().into_iter().filter_map(|(_, head)| Some((index(head)?, head))).collect()
    }

    /// Makes all rows. May be called several times.
    fn each(&self, sink: &mut RowSink<'_>) -> io::Result<()> {
        if let Some(rows) = &self.made {
            return rows.iter().try_for_each(|cells| sink(cells));
        }
        let Some(stream) = self.spec.stream else { return Ok(()) };
        let view: View<'_> = self.filtered.view();
        let mut left = self.limit;
        stream(&view, &mut |cells| {
            let is_written = left > 0;
            left = left.saturating_sub(1);
            if is_written { sink(cells) } else { Ok(()) }
        })
    }

    fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let heads = self.heads();
        let mut writer = row_writer(format, self.spec.name, &heads, Box::new(out))?;
        self.each(&mut |cells| writer.row(cells))?;
        writer.finish()
    }
}

/// The rows of a report.
fn table(report: Report) -> Result<Table, Error> {
    match report.data {
        Data::Rows(table) => Ok(table),
        Data::Tree(_) | Data::Bare(_) => Err(Error::Usage(format!("`{}` has no rows", report.name))),
    }
}
