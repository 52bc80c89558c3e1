//! Writes reports to standard output, standard error and files, as the options say.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::{
    Arg, Args, ValueEnum, ValueHint,
    builder::{OsStringValueParser, TypedValueParser},
};

use super::{
    complain,
    whole::{is_special, write_through, write_whole},
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    input::{Origin, Source},
    render::{self, Format, Style, human},
    report::{Arrangement, Head, Report, ReportSpec, Sort, Verdict, gate_lines},
};

/// Format and destination of a report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Write the report in this format
    #[arg(long, short = 'f', value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// The same as --format json
    #[arg(long, short = 'j', conflicts_with = "format")]
    pub json: bool,
    /// Also write the report to this file; may be given several times
    ///
    /// The format is given before an equals sign, as in csv=report.data, or by the extension: .txt (table),
    /// .json, .jsonl, .csv, .tsv, .parquet, .md, .html, .xml (junit) or .prom. A file is written completely or not at all.
    #[arg(long, short = 'o', value_name = "[FORMAT=]FILE", value_hint = ValueHint::FilePath, value_parser = OsStringValueParser::new().try_map(Target::new))]
    pub output: Vec<Target>,
    /// Print nothing to standard output and show no progress
    #[arg(long, short = 'q', hide_short_help = true)]
    pub quiet: bool,
    /// Show short texts of the logs in pipes, files and data too
    ///
    /// These are titles, prompts, commands and errors. By default, tables on a terminal show them and everything else does not. They may contain secrets:
    /// check a file before you share it.
    #[arg(long, alias = "include-content", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub content: Option<bool>,
    /// Show no text of the logs, not even on a terminal
    #[arg(long, conflicts_with = "content", hide_short_help = true)]
    pub no_content: bool,
}

/// A report as the stream shows it, and as files contain it.
pub(super) struct Reports {
    pub(super) shown: Report,
    /// `None` if it is the same.
    pub(super) filed: Option<Report>,
}

impl Reports {
    /// The report for files and for CI systems.
    pub(super) fn filed(&self) -> &Report {
        self.filed.as_ref().unwrap_or(&self.shown)
    }
}

impl From<Report> for Reports {
    fn from(shown: Report) -> Self {
        Self { shown, filed: None }
    }
}

/// The stream that a report is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Stdout,
    /// Because standard output carries something else. Nothing is written if there is an output file.
    Stderr,
}

impl Channel {
    fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }
}

/// An output file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The format of the report in this file.
    pub format: Format,
    /// The path as it was typed.
    pub path: PathBuf,
}

impl Target {
    /// Parses `FORMAT=FILE`, or a file whose extension gives the format.
    fn new(argument: OsString) -> Result<Self, String> {
        if let Some((Some(name), path)) = argument.to_str().map(format_and_path)
            && let Ok(format) = Format::from_str(name, true)
        {
            return match path {
                "" => Err(format!("no file: write {name}=FILE")),
                path => Ok(Self { format, path: path.into() }),
            };
        }
        let path = PathBuf::from(argument);
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let named =
            |format: &&Format| format.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension));
        match Format::value_variants().iter().find(named) {
            Some(&format) => Ok(Self { format, path }),
            None => Err(format!("no format: write FORMAT=FILE with one of {}", names().join(", "))),
        }
    }

    fn write(&self, report: &Report) -> Result<(), Error> {
        self.write_with(|out| render::render(report, self.format, Style::default(), out))
    }

    fn write_with(&self, render: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        // Follow links: `/dev/stdout` is one, and must not be replaced by a file.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let written =
            if is_special(&path) { write_through(&path, render) } else { write_whole(&path, render) };
        written.map_err(|source| Error::WriteFile { path: self.path.clone(), source })
    }
}

fn name(format: &Format) -> Option<String> {
    format.to_possible_value().map(|value| value.get_name().to_owned())
}

/// Splits `FORMAT=PATH`. Without the name of a format, the whole text is the path.
pub(super) fn format_and_path(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, path)) if Format::from_str(name, true).is_ok() => (Some(name), path),
        _ => (None, text),
    }
}

fn names() -> Vec<String> {
    Format::value_variants().iter().filter_map(name).collect()
}

impl Output {
    /// The format on standard output.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Whether the report on this channel shows texts of the logs: on request, and in tables on a terminal.
    pub(super) fn shows_content(&self, channel: Channel) -> bool {
        let looked_at = || self.format() == Format::Table && !self.quiet && channel.is_terminal();
        !self.no_content && self.content.unwrap_or_else(looked_at)
    }

    /// Whether output files contain texts of the logs.
    pub(super) fn files_content(&self) -> bool {
        self.content == Some(true)
    }

    /// Whether a page is written, which has charts that need rows.
    pub(super) fn draws(&self) -> bool {
        self.format() == Format::Html || self.pages().next().is_some()
    }

    /// The files that are pages.
    pub(super) fn pages(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().filter(|target| target.format == Format::Html).map(|target| &*target.path)
    }

    /// The texts to keep for a report on this channel.
    pub(super) fn content(&self, spec: &ReportSpec, channel: Channel) -> Detail {
        if self.shows_content(channel) { spec.content } else { Detail::TOTALS }
    }

    /// Refuses formats that cannot hold this report, and binary ones on a terminal, before anything is read.
    pub(super) fn fits(&self, report: &str) -> Result<(), Error> {
        let targets = self.output.iter().map(|target| target.format);
        let unfit = |format: &Format| !format.fits(report);
        let Some(format) = [self.format()].into_iter().chain(targets).find(unfit) else {
            return self.refuse_terminal();
        };
        let fit: Vec<String> =
            Format::value_variants().iter().filter(|format| format.fits(report)).filter_map(name).collect();
        Err(Error::Usage(format!(
            "the report `{report}` cannot be written as {}: use one of {}",
            name(&format).unwrap_or_default(),
            fit.join(", ")
        )))
    }

    /// Refuses to print a binary format to a terminal.
    fn refuse_terminal(&self) -> Result<(), Error> {
        if self.quiet || !self.format().is_binary() || !io::stdout().is_terminal() {
            return Ok(());
        }
        let name = name(&self.format()).unwrap_or_default();
        let extension = self.format().extensions().first().unwrap_or(&"FILE");
        Err(Error::Usage(format!(
            "{name} is not text and is not printed to a terminal: write it to a file with `-q -o FILE.{extension}`, or to a pipe"
        )))
    }

    /// Refuses to overwrite a log that is read.
    pub(super) fn refuse_overwrite(&self, sources: &[Source]) -> Result<(), Error> {
        self.output.iter().try_for_each(|target| refuse_overwrite(&target.path, sources))
    }

    /// Whether everything that is written can be written row by row.
    pub(super) fn is_rows(&self) -> bool {
        let printed = (!self.quiet).then(|| self.format());
        printed.into_iter().chain(self.output.iter().map(|target| target.format)).all(Format::is_rows)
    }

    /// Writes rows to standard output and to all output files. Like [`deliver`](Self::deliver), for formats that are rows.
    pub(super) fn deliver_rows(
        &self,
        status: ExitStatus,
        render: &dyn Fn(Format, &mut dyn Write) -> io::Result<()>,
    ) -> Result<ExitStatus, Error> {
        let mut failed = false;
        for target in &self.output {
            if let Err(error) = target.write_with(|out| render(target.format, out)) {
                complain(&error.to_string());
                failed = true;
            }
        }
        if !self.quiet {
            print(|out| render(self.format(), out))?;
        }
        Ok(if failed && status == ExitStatus::Done { ExitStatus::Partial } else { status })
    }

    /// Writes a report to standard output and to all output files.
    pub(super) fn deliver(
        &self,
        reports: &Reports,
        status: ExitStatus,
        style: Style,
    ) -> Result<ExitStatus, Error> {
        self.deliver_to(Channel::Stdout, reports, status, style)
    }

    /// Writes a report to this channel and to all output files. Returns `status`, or `Partial` if something
    /// could not be written.
    ///
    /// If nothing was read, formats for programs get zeros and nulls, but no empty table is shown.
    pub(super) fn deliver_to(
        &self,
        channel: Channel,
        reports: &Reports,
        status: ExitStatus,
        style: Style,
    ) -> Result<ExitStatus, Error> {
        let report = &reports.shown;
        let mut failed = false;
        for target in &self.output {
            if let Err(error) = target.write(reports.filed()) {
                complain(&error.to_string());
                failed = true;
            }
        }
        let silent = status == ExitStatus::NothingRead && self.format().is_for_people();
        let hidden = self.quiet || silent || (channel == Channel::Stderr && !self.output.is_empty());
        let shown = !hidden && self.format().is_for_people();
        // On standard error, a table shows the gates itself; data comes after all messages.
        if channel == Channel::Stderr && !shown {
            complain_of_gates(report, shown);
        }
        let render = |out: &mut dyn Write| render::render(report, self.format(), style, out);
        let printed = match channel {
            _ if hidden => Ok(()),
            Channel::Stdout => print(render),
            Channel::Stderr => {
                // Standard error may be closed like the stream. Files and the exit code still matter.
                let mut out = io::BufWriter::new(io::stderr().lock());
                if shown && io::stdout().is_terminal() && io::stderr().is_terminal() {
                    failed |= writeln!(out).is_err(); // below the stream, on the same terminal
                }
                failed |= render(&mut out).and_then(|()| out.flush()).is_err();
                Ok(())
            }
        };
        // A report on a terminal shows its gates already.
        if channel == Channel::Stdout && !(shown && io::stdout().is_terminal()) {
            complain_of_gates(report, shown);
        }
        match printed {
            // If the reader closed the pipe, the exit code still says whether the gates passed.
            Err(error) if error.is_broken_pipe() && status == ExitStatus::GateFailed => {}
            printed => printed?,
        }
        Ok(if failed && status == ExitStatus::Done { ExitStatus::Partial } else { status })
    }
}

/// Refuses to overwrite a log that is read: `-o run.jsonl` is easily typed by mistake.
pub(super) fn refuse_overwrite(target: &Path, sources: &[Source]) -> Result<(), Error> {
    let Ok(path) = fs::canonicalize(target) else { return Ok(()) };
    let is_target = |source: &Source| match &source.origin {
        Origin::Stdin => false,
        Origin::File(log) => fs::canonicalize(log).is_ok_and(|log| log == path),
    };
    if sources.iter().any(is_target) { Err(Error::Overwrite(target.to_owned())) } else { Ok(()) }
}

/// Prints a line for each failed gate to standard error, so that the log of a job shows why it failed. Hints
/// are added unless the report shows them.
fn complain_of_gates(report: &Report, shown: bool) {
    let failed: BTreeSet<&str> = report.failed().map(|verdict| verdict.gate).collect();
    let verdicts = report.verdicts.iter().filter(|verdict| failed.contains(verdict.gate));
    let verdicts: Vec<Verdict> = verdicts.cloned().collect();
    // The last line may be a count of gates.
    for (line, hint) in gate_lines(&verdicts).into_iter().take(failed.len()) {
        let hint = hint.filter(|_| !shown).map(|hint| human::words(&hint));
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        complain(&format!("gate {}{hint}", human::words(&line)));
    }
}

/// Writes to standard output.
pub(super) fn print(render: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    render(&mut out).and_then(|()| out.flush()).map_err(Error::Write)
}

/// Layouts of other programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Compatibility {
    /// Write JSON with the keys of ccusage, for dashboards that read it
    ///
    /// The keys are those of ccusage 20, the figures those of this report. The period of a row is null for
    /// records without a time, and so is an unknown cost. --sort, --limit and --columns have no effect.
    #[arg(long, conflicts_with = "format")]
    pub ccusage: bool,
}

impl Compatibility {
    /// Makes JSON the default format of `--ccusage`.
    pub(super) fn format(format: Arg) -> Arg {
        format.default_value_if("ccusage", "true", "json")
    }
}

/// Order and number of rows, and selection of columns.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Arrange {
    /// Sort by this column, such as cost or cost:asc
    ///
    /// A column is named by its heading, its key in JSON, or the beginning of either. With :asc or :desc, it says the order. By default, numbers and times are sorted in descending order, texts in ascending order. Missing values
    /// come last.
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<Sort>,
    /// Write at most this many rows; 0 for all
    ///
    /// By default, tables have as many rows as people read, and the other formats all. Totals are always
    /// those of all rows.
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Write these columns, in this order, such as tool,calls,p90
    ///
    /// A column is named by its heading, its key in JSON and CSV as listed below, or the beginning of either.
    /// Columns that only some formats show by default can be given too.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
}

impl Arrange {
    /// The arrangement for this report. Unknown keys are an error before anything is read.
    pub(super) fn arrangement(&self, spec: &ReportSpec, output: &Output) -> Result<Arrangement, Error> {
        let Self { sort, limit, columns } = self;
        let heads = spec.heads();
        let arrangement = Arrangement { sort: sort.clone(), limit: *limit, columns: columns.clone() };
        let arrangement = arrangement.resolved(&heads)?;
        let hidden = |head: &&Head| head.content && arrangement.names(head.key);
        if let Some(head) = heads.iter().find(hidden)
            && !output.shows_content(Channel::Stdout)
        {
            return Err(Error::Usage(format!(
                "the column `{}` shows text of the logs: add --content",
                head.key
            )));
        }
        Ok(arrangement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(argument: &str) -> Result<(Format, String), String> {
        let target = Target::new(argument.into())?;
        Ok((target.format, target.path.to_str().unwrap().to_owned()))
    }

    #[test]
    fn the_format_is_given_before_an_equals_sign_or_by_the_extension() {
        assert_eq!(target("csv=a.json"), Ok((Format::Csv, "a.json".to_owned())));
        assert_eq!(target("a.JSON"), Ok((Format::Json, "a.JSON".to_owned())));
        assert_eq!(target("b=a.md"), Ok((Format::Markdown, "b=a.md".to_owned())));
        assert_eq!(
            target("a.pdf"),
            Err(format!("no format: write FORMAT=FILE with one of {}", names().join(", ")))
        );
        assert!(target("csv=").is_err() && target("a").is_err());
    }

    #[test]
    fn every_extension_belongs_to_one_format() {
        for &format in Format::value_variants() {
            for extension in format.extensions() {
                assert_eq!(target(&format!("a.{extension}")).map(|target| target.0), Ok(format));
            }
        }
    }

    #[test]
    fn the_help_names_an_extension_of_every_format() {
        let command = Output::augment_args(clap::Command::new("x"));
        let output = command.get_arguments().find(|arg| arg.get_id() == "output").unwrap();
        let help = output.get_long_help().unwrap().to_string();
        for extension in Format::value_variants().iter().filter_map(|format| format.extensions().first()) {
            assert!(help.contains(&format!(".{extension}")), "{extension}: {help}");
        }
    }
}
