//! `diff`: compares two runs, two sets of runs, or two periods of the same logs.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, Args};

use super::{
    args::Rows,
    complain, nothing_read,
    plan::{self, Variables},
    rows::{Filtered, read_filtered_roots},
    stdin,
};
use crate::{
    error::{Error, ExitStatus},
    input::Roots,
    measure::{Time, calendar},
    render::Style,
    report::{self, Allowance, Filter, Growth, Part, PeriodSide, Verdict, View},
};

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(mut_arg("paths", two_sides), mut_arg("files_from", unwanted))]
pub struct Diff {
    /// Options of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// Gates on growth.
    #[command(flatten)]
    pub limits: Limits,
    /// Compare this period of the logs, such as this-month, last-week, 2026-06 or 7d
    ///
    /// Takes the forms of --since. The paths are then logs, as with every command: all periods are in the same logs,
    /// which are read once.
    #[arg(long, value_name = "PERIOD", conflicts_with_all = ["since", "until"], help_heading = "Periods")]
    pub period: Option<String>,
    /// Compare it with this period; the default is the one before, of the same length
    #[arg(long, value_name = "PERIOD", requires = "period", help_heading = "Periods")]
    pub with: Option<String>,
}

/// Turns the paths into BASE and HEAD.
fn two_sides(paths: Arg) -> Arg {
    paths
        .value_names(["BASE", "HEAD"])
        .action(ArgAction::Set)
        .num_args(1..)
        .required_unless_present("period")
        .help("What to compare with, and what to compare: a file, a folder, a pattern, or -")
        .long_help(
            "What to compare with, and what to compare: each a file, a folder, a pattern, or - for standard input\n\n\
             Folders are searched as by every command. Each session in them is a run. Without HEAD, standard input is compared \
             with BASE. With --period, all paths are logs, by default the saved sessions.",
        )
}

/// Returns BASE and HEAD. If only BASE was given, standard input is HEAD, never the saved sessions.
fn sides(paths: &[PathBuf]) -> Result<(PathBuf, PathBuf), Error> {
    let stdin = Path::new("-");
    let wrong = match paths {
        [base, head] if base == stdin && head == stdin => {
            "standard input cannot be both sides: give a file instead of one `-`"
        }
        [base, head] => return Ok((base.clone(), head.clone())),
        [base] if base == stdin => "standard input is only one side: give HEAD too",
        [base] if stdin::is_input() => return Ok((base.clone(), stdin.to_owned())),
        _ => "diff needs two sides: give BASE and HEAD, or BASE and a pipe",
    };
    Err(Error::Usage(wrong.to_owned()))
}

/// Hides `--files-from`, since a list of paths has no sides.
fn unwanted(files_from: Arg) -> Arg {
    files_from.hide(true).conflicts_with("paths")
}

/// Gates on the growth from BASE to HEAD.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gates")]
pub struct Limits {
    /// Exit with 1 if the cost grows by more than this, such as 10% or $0.50
    #[arg(long, value_name = "INCREASE", value_parser = |text: &str| Growth::Cost.allow(text))]
    pub max_cost_increase: Option<Allowance>,
    /// Exit with 1 if the wall time grows by more than this, such as 10%, 30s or 1h30m
    #[arg(long, value_name = "INCREASE", value_parser = |text: &str| Growth::Duration.allow(text))]
    pub max_duration_increase: Option<Allowance>,
    /// Exit with 1 if tokens grow by more than this, such as 10% or 5000
    #[arg(long, value_name = "INCREASE", value_parser = |text: &str| Growth::Tokens.allow(text))]
    pub max_tokens_increase: Option<Allowance>,
    /// Exit with 1 if steps grow by more than this, such as 10% or 2
    #[arg(long, value_name = "INCREASE", value_parser = |text: &str| Growth::Turns.allow(text))]
    pub max_turns_increase: Option<Allowance>,
    /// Exit with 1 if failed calls grow by more than this, such as 10% or 0
    #[arg(long, value_name = "INCREASE", value_parser = |text: &str| Growth::ToolErrors.allow(text))]
    pub max_tool_errors_increase: Option<Allowance>,
    /// Exit with 1 if denied calls grow by more than this, such as 10% or 0
    #[arg(long, value_name = "INCREASE", value_parser = |text: &str| Growth::Denials.allow(text))]
    pub max_denials_increase: Option<Allowance>,
}

impl Limits {
    /// The gates that were given.
    fn given(&self) -> Vec<(Growth, Allowance)> {
        let Self {
            max_cost_increase,
            max_duration_increase,
            max_tokens_increase,
            max_turns_increase,
            max_tool_errors_increase,
            max_denials_increase,
        } = self;
        let all = [
            (Growth::Cost, max_cost_increase),
            (Growth::Duration, max_duration_increase),
            (Growth::Tokens, max_tokens_increase),
            (Growth::Turns, max_turns_increase),
            (Growth::ToolErrors, max_tool_errors_increase),
            (Growth::Denials, max_denials_increase),
        ];
        all.into_iter().filter_map(|(growth, allowance)| Some((growth, (*allowance)?))).collect()
    }
}

pub(super) fn diff(diff: &Diff, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Diff { rows, limits, period, with } = diff;
    rows.output.fits(report::DIFF.name)?;
    let arrangement = rows.arrange.arrangement(&report::DIFF, &rows.output)?;
    if rows.query.follow {
        return Err(Error::Usage("diff compares two sides once: --follow cannot be used with it".to_owned()));
    }
    if let Some(period) = period {
        return periods(period, with.as_deref(), rows, &limits.given(), variables, style);
    }
    let (base, head) = sides(&rows.query.input.paths)?;
    let base = read(Some(&base), rows, variables)?;
    // After an interrupt, the second side is not read.
    let head = read(Some(&head).filter(|_| base.reading.stop.is_none()), rows, variables)?;
    let mut report = report::diff(&base.view(), &head.view(), &limits.given());
    for (side, name) in [(&base, "base: "), (&head, "head: ")] {
        let notes = side.nothing_matches().into_iter().chain(report::interrupted(&side.ledger.input));
        report.notes.extend(notes.map(|mut line| {
            line.parts.insert(0, Part::Word(name));
            line
        }));
    }
    let status = status(&base, &head, &report.verdicts);
    report = report.arranged(&arrangement)?;
    report::note_found_prices(&mut report, &variables.found_prices);
    let report = variables.hints.fill_in(report, true);
    let status = rows.output.deliver(&report.into(), status, style)?;
    complain_of_nothing(&base, "BASE");
    complain_of_nothing(&head, "HEAD");
    Ok(status)
}

/// Compares two periods of the same logs.
fn periods(
    period: &str,
    with: Option<&str>,
    rows: &Rows,
    limits: &[(Growth, Allowance)],
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    let arrangement = rows.arrange.arrangement(&report::DIFF, &rows.output)?;
    let (zone, now) = (rows.query.filters.zone()?, calendar::now());
    let parsed = |text: &str| zone.parse_period(text, now).map_err(Error::Usage);
    let head = parsed(period)?;
    let base = with.map_or_else(|| Ok(zone.period_before(&head)), parsed)?;
    if base.start < head.end && head.start < base.end {
        return Err(Error::Usage(format!(
            "the periods `{period}` and `{}` overlap: give --with another one",
            with.unwrap_or_default()
        )));
    }
    let wanted = plan::wanted(&rows.query.input, variables)?;
    let mut whole = read_filtered_roots(&wanted, &rows.query, report::DIFF.keeps, variables, &rows.output)?;
    let begin = whole.ledger.sessions.iter().filter_map(|session| session.started).min();
    let narrowed = |range: &Range<Time>| {
        let mut ledger = whole.ledger.clone();
        let filter = Filter { since: Some(range.start), until: Some(range.end), ..Filter::default() };
        filter.apply(&mut ledger);
        // Days before the first record and after now are not days without activity.
        let start = begin.unwrap_or(range.start).clamp(range.start, range.end);
        (ledger, start..range.end.min(now).max(start))
    };
    let (base, head) = (narrowed(&base), narrowed(&head));
    if !whole.ledger.sessions.is_empty() && base.0.sessions.is_empty() && head.0.sessions.is_empty() {
        let end = whole.ledger.sessions.iter().filter_map(|session| session.ended).max();
        whole.nothing = Some((begin, end));
    }
    let sides = [&base, &head]
        .map(|(ledger, range)| PeriodSide { view: View { ledger, ..whole.view() }, range: range.clone() });
    let report = report::diff_periods(&sides[0], &sides[1], limits);
    let report = whole.finish(report, &arrangement)?;
    let status = whole.deliver(&report.into(), &rows.output, style);
    std::mem::forget((whole, base, head));
    status
}

fn read(side: Option<&PathBuf>, rows: &Rows, variables: &Variables) -> Result<Filtered, Error> {
    let wanted = Roots::Paths(side.cloned().into_iter().collect());
    read_filtered_roots(&wanted, &rows.query, report::DIFF.keeps, variables, &rows.output)
}

/// The exit status. If nothing was read from a side, there is nothing to compare.
fn status(base: &Filtered, head: &Filtered, verdicts: &[Verdict]) -> ExitStatus {
    let any = |is: fn(&Filtered) -> bool| is(base) || is(head);
    match () {
        () if any(|side| side.reading.stop.is_some()) => ExitStatus::Interrupted,
        () if any(|side| side.ledger.input.records == 0) => ExitStatus::NothingRead,
        () if verdicts.iter().any(|verdict| !verdict.held) => ExitStatus::GateFailed,
        () if any(|side| side.reading.partial) => ExitStatus::Partial,
        () => ExitStatus::Done,
    }
}

/// Reports an empty side, unless an error about its source was printed already.
fn complain_of_nothing(side: &Filtered, name: &str) {
    let input = &side.ledger.input;
    if input.records == 0 && side.reading.stop.is_none() && !(side.reading.partial && input.bytes == 0) {
        complain(&format!("{name}: {}", nothing_read(input, &side.reading.sources)));
    }
}
