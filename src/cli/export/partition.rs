//! `--partition-by day`: a folder per day, as Hive names them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::ExportedRows;
use crate::{
    cli::{
        args::Rows,
        complain,
        output::Target,
        plan::Variables,
        rows::{ReportRequest, read_filtered},
        whole::WholeFile,
    },
    error::{Error, ExitStatus},
    measure::Time,
    render::{RowWriter, row_writer},
    report::{ReportSpec, Unit, Value},
};

/// Days whose files are open at the same time.
const MAX_OPEN: usize = 64;

/// Rows of the days whose files are open: a Parquet file keeps up to a row group in memory.
const MAX_ROWS: u64 = 240_000;

/// Hive's name for a missing value.
const NO_DAY: &str = "__HIVE_DEFAULT_PARTITION__";

/// Writes a folder per day to each output.
pub(super) fn by_day(
    rows: &Rows,
    request: &ReportRequest<'_>,
    variables: &Variables,
) -> Result<ExitStatus, Error> {
    let output = &rows.output;
    if let Some(target) = output.output.iter().find(|target| !target.format.is_rows()) {
        return Err(Error::Usage(format!(
            "--partition-by needs a format of rows, such as parquet or csv: `{}`",
            target.path.display()
        )));
    }
    let time = time_column(request.spec)?;
    let arrangement = rows.arrange.arrangement(request.spec, output)?;
    let filtered = read_filtered(&rows.query, request, variables, output, &arrangement)?;
    let exported = ExportedRows::of(&filtered, request, &arrangement)?;
    let mut status = exported.status();
    for target in &output.output {
        if let Err(source) = write(&exported, time, target) {
            complain(&Error::WriteFile { path: target.path.clone(), source }.to_string());
            status = if status == ExitStatus::Done { ExitStatus::Partial } else { status };
        }
    }
    filtered.complain_of_nothing(status);
    std::mem::forget(filtered); // as in `write_report`
    Ok(status)
}

/// The key of the column that decides the day of a row.
fn time_column(spec: &ReportSpec) -> Result<&'static str, Error> {
    let heads = spec.heads();
    let time = heads.iter().find(|head| head.unit == Unit::Time && head.shown.is_for_programs());
    time.map(|head| head.key).ok_or_else(|| Error::Usage(format!("`{}` has no times", spec.name)))
}

/// Days since 1970, in UTC; `None` for rows without a time.
type Day = Option<i64>;

const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

fn day(value: &Value) -> Day {
    match value {
        Value::Time(time) | Value::Local(time, _) => Some(time.micros().div_euclid(MICROS_PER_DAY)),
        _ => None,
    }
}

/// `DIR/day=2026-11-01/part-0.parquet`.
fn path(folder: &Path, day: Day, extension: &str) -> PathBuf {
    let name = match day {
        Some(day) => {
            let time = Time::from_micros(day.saturating_mul(MICROS_PER_DAY)).to_string();
            time.split('T').next().unwrap_or_default().to_owned()
        }
        None => NO_DAY.to_owned(),
    };
    folder.join(format!("day={name}")).join(format!("part-0.{extension}"))
}

/// Writes the rows of a few days at a time, so that neither open files nor memory grow with the number of days.
fn write(exported: &ExportedRows<'_>, time: &str, target: &Target) -> io::Result<()> {
    let at = exported.columns.iter().position(|head| head.key == time);
    let day_of = |cells: &[Value]| at.and_then(|at| day(&cells[at]));
    let mut days: BTreeMap<Day, u64> = BTreeMap::new();
    exported.each(&mut |cells| {
        *days.entry(day_of(cells)).or_default() += 1;
        Ok(())
    })?;
    if days.is_empty() {
        days.insert(None, 0); // a file with the columns
    }
    let mut days = days.into_iter().peekable();
    while days.peek().is_some() {
        let (mut batch, mut rows) = (Vec::new(), 0);
        while let Some((day, more)) = days.next_if(|_| batch.len() < MAX_OPEN && rows < MAX_ROWS) {
            rows += more;
            batch.push(day);
        }
        write_days(exported, &batch, &day_of, target)?;
    }
    Ok(())
}

/// Writes the files of these days, which are sorted.
fn write_days(
    exported: &ExportedRows<'_>,
    days: &[Day],
    day_of: &dyn Fn(&[Value]) -> Day,
    target: &Target,
) -> io::Result<()> {
    let extension = target.format.extensions().first().copied().unwrap_or_default();
    let create = |day: &Day| {
        let path = path(&target.path, *day, extension);
        fs::create_dir_all(path.parent().unwrap_or(&target.path))?;
        WholeFile::create(&path)
    };
    let mut files = days.iter().map(create).collect::<io::Result<Vec<_>>>()?;
    let heads = exported.heads();
    let start = |file| row_writer(target.format, exported.spec.name, &heads, Box::new(file));
    let mut writers: Vec<Box<dyn RowWriter + '_>> = files.iter_mut().map(start).collect::<io::Result<_>>()?;
    exported.each(&mut |cells| match days.binary_search(&day_of(cells)) {
        Ok(at) => writers[at].row(cells),
        Err(_) => Ok(()),
    })?;
    writers.into_iter().try_for_each(RowWriter::finish)?;
    files.into_iter().try_for_each(WholeFile::persist)
}
