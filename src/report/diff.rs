//! Compares two runs or two sets of runs: what changed, by how much, and how certain that is.

use std::collections::BTreeSet;

use super::{
    Column, CommandGroup, CommandSpec, Line, Part, Reads, Report, ReportSpec, Table, Tone, Value, Verdict,
    View, column::columns, gate::is_log, heads, sessions,
};
use crate::{facts::Detail, measure::Spread};

mod chart;
mod gate;
mod period;
mod run;

pub use gate::{Allowance, Growth};
pub use period::{PeriodSide, diff_periods};
use run::{Group, METRICS, Run, runs};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::RECORDS),
    is_gated: true,
    reads: Reads::TwoSides,
    command: Some(CommandSpec {
        group: CommandGroup::Run,
        about: "Compare two runs, or two sets of them: cost, time, failures",
        details: "BASE and HEAD are each a file, a folder, a pattern, or - for standard input; a log that is piped in is HEAD \
            if only BASE is given. With one run on each side, totals are compared. With several runs (a run is a session, \
            or a source without a session id), means are compared, with their standard deviation and the 95 % interval \
            of the difference. If a figure is unknown on one side, there is no difference. With --period and --with, two \
            periods of the same logs are compared by their totals: which projects, models and tools changed the cost, \
            and which changes are larger than the variation from day to day.",
        examples: &[
            ("The effect of a new prompt", "ccstat diff before.jsonl after.jsonl"),
            (
                "Fail if runs of a branch cost a tenth more than those of main",
                "ccstat diff runs/main runs/branch --max-cost-increase 10%",
            ),
            ("Why this month is more expensive", "ccstat diff --period this-month --with last-month"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "diff",
        "Two sides compared: cost, tokens, time, turns, calls, failures and kinds of records, and what changed.",
        || heads(&columns()),
    )
};

/// Maximum number of rows of a group on screen.
const GROUP_ROWS: usize = 6;

/// One figure of both sides.
struct Row {
    group: Group,
    name: String,
    /// Whether it is shown even if both sides are equal.
    is_headline: bool,
    base: Figures,
    head: Figures,
    /// Share of the change of the cost, for parts of the cost of a period.
    contribution: Option<f64>,
}

/// One figure of all runs of a side.
#[derive(Default)]
struct Figures {
    /// Mean and deviation over the runs where it is known; of a period, the total.
    spread: Option<Spread>,
    /// Number of runs, or days of a period, where it is unknown.
    unknown: usize,
    /// Mean and deviation over the days of a period.
    daily: Option<Spread>,
}

impl Figures {
    fn of(runs: &[Run], figure: &dyn Fn(&Run) -> Option<f64>) -> Self {
        let known: Vec<f64> = runs.iter().filter_map(figure).collect();
        Self { spread: Spread::of(&known), unknown: runs.len() - known.len(), daily: None }
    }
}

impl Row {
    fn change(&self) -> Option<f64> {
        Some(self.head.spread?.mean - self.base.spread?.mean)
    }

    fn relative(&self) -> Option<f64> {
        let base = self.base.spread?.mean;
        Some(self.change()? / base).filter(|_| base != 0.0)
    }

    fn interval(&self) -> Option<(f64, f64)> {
        self.base.spread?.interval_to(&self.head.spread?)
    }

    /// Whether the change is larger than random variation from run to run, or from day to day, explains.
    fn is_certain(&self) -> Option<bool> {
        let daily = || self.base.daily?.interval_to(&self.head.daily?);
        let (low, high) = self.interval().or_else(daily)?;
        Some(low > 0.0 || high < 0.0)
    }

    /// The mark on screen, where no margin is shown.
    fn mark(&self) -> Option<&'static str> {
        self.base.daily.or(self.head.daily)?;
        Some(if self.is_certain() == Some(true) { "certain" } else { "" })
    }

    /// Whether both sides are equal. A figure known on only one side is a difference.
    fn is_equal(&self) -> bool {
        match (self.base.spread, self.head.spread) {
            (Some(base), Some(head)) => base.mean == head.mean,
            (one, two) => one.is_none() && two.is_none(),
        }
    }

    /// Group and name on a screen, where a prompt is what a person asked and a step is one response of the model.
    fn words(&self) -> (&'static str, &str) {
        match (self.group, &*self.name) {
            (Group::Turns, run::ALL) => ("prompts", "with a result"),
            (Group::Turns, "prompts") => ("prompts", "typed"),
            (Group::Turns, "num_turns") => ("steps", "as the CLI counts"),
            (Group::Turns, "responses") => ("steps", run::ALL),
            (Group::Errors, "turns") => (Group::Errors.name(), "prompts"),
            (group, name) => (group.name(), name),
        }
    }

    fn value(&self, figure: Option<f64>) -> Value {
        figure.map_or(Value::Missing, |figure| self.group.measure().value(figure))
    }

    fn of(&self, side: &Figures, figure: fn(&Spread) -> Option<f64>) -> Value {
        self.value(side.spread.as_ref().and_then(figure))
    }

    fn difference(&self, figure: Option<f64>) -> Value {
        figure.map_or(Value::Missing, |figure| Value::Change(Box::new(self.group.measure().value(figure))))
    }
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text group "Group" [required, data] "Group of the figure." => row.group.name();
        text figures "Group" [screen] "Group of the figure." => row.words().0;
        text part "Name" [screen] "Part of the group." => row.words().1;
        text name "Name" [required, data] "Tool, model, kind of record or other part; `all` for the whole group." => &row.name;
        text unit "Unit" [required, data] "Unit of the figures: `usd`, `ms` or `count`." => row.group.measure().name();
        number base "Base" "Figure of the base; the mean if there are several runs."
            => row.of(&row.base, |spread| Some(spread.mean));
        number head "Head" "Figure of the head; the mean if there are several runs."
            => row.of(&row.head, |spread| Some(spread.mean));
        number change "Change" "Head minus base." => row.difference(row.change());
        // Before the percentage: if only one fits, the margin matters more.
        number margin "± 95 %" [screen] "Half of the 95 % interval of the change."
            => row.value(row.interval().map(|(low, high)| (high - low) / 2.0));
        share relative "Relative" "Change relative to the base; missing if the base is zero."
            => row.relative().map_or(Value::Missing, |part| Value::Change(Box::new(Value::Share(part))));
        share contribution "Of the change" [nullable] "Share of the change of the cost, for parts of the cost of a period."
            => row.contribution;
        text certain "Certainty" [screen] "`certain` if the change is larger than the variation from day to day explains."
            => row.mark();
        flag significant "Significant" [nullable, data] "Whether the 95 % interval of the change, of means per run or per day, excludes zero."
            => row.is_certain();
        number low "Low" [data] "Lower end of the 95 % interval of the change, by Welch's t."
            => row.difference(row.interval().map(|(low, _)| low));
        number high "High" [data] "Upper end of the 95 % interval of the change, by Welch's t." => row.difference(row.interval().map(|(_, high)| high));
        count base_runs "Base runs" [no_sum, data] "Runs of the base with a known figure." => count(&row.base);
        count head_runs "Head runs" [no_sum, data] "Runs of the head with a known figure." => count(&row.head);
        number base_sd "Base sd" [wide] "Standard deviation of the base; missing for one run."
            => row.of(&row.base, |spread| spread.deviation);
        number head_sd "Head sd" [wide] "Standard deviation of the head; missing for one run."
            => row.of(&row.head, |spread| spread.deviation);
        number base_total "Base total" [data] "Sum over the runs of the base."
            => row.of(&row.base, |spread| Some(spread.total));
        number head_total "Head total" [data] "Sum over the runs of the head."
            => row.of(&row.head, |spread| Some(spread.total));
    }
}

fn count(side: &Figures) -> Value {
    Value::Count(side.spread.map_or(0, |spread| spread.count as u64))
}

/// Compares two sides and evaluates the limits on growth.
pub fn diff(base: &View<'_>, head: &View<'_>, limits: &[(Growth, Allowance)]) -> Report {
    let sides = [runs(base.ledger), runs(head.ledger)];
    let mut rows = compare(&sides[0], &sides[1], Figures::of);
    let verdicts = judged(&rows, [base, head], &sides, limits);
    let equal = rows.iter().filter(|row| row.is_equal()).count();
    let shown = arrange(&mut rows);
    let table = Table::of("Difference", &columns(), &rows).on_screen(shown);
    let mut notes = run_notes(&rows, sides[0].len() as u64, sides[1].len() as u64);
    if equal > 0 {
        notes.push(Line::new(Tone::Plain).value(equal as u64).word(" of ").count(
            rows.len() as u64,
            " figure is equal on both sides",
            " figures are equal on both sides",
        ));
    }
    notes.extend(cost_notes(base, head));
    let report = Report { verdicts, ..Report::of(SPEC.name, table, notes) };
    report.with_charts(chart::charts(&rows, &sides))
}

/// Evaluates the limits on growth.
fn judged(
    rows: &[Row],
    views: [&View<'_>; 2],
    sides: &[Vec<Run>; 2],
    limits: &[(Growth, Allowance)],
) -> Vec<Verdict> {
    let complete = gate::Completeness {
        is_log: views.iter().all(|side| is_log(side.ledger)),
        costs: sides.iter().flatten().all(|run| run.complete),
        tokens: sides.iter().flatten().all(|run| run.counted),
    };
    limits.iter().map(|(growth, allowance)| gate::judge(rows, *growth, allowance, complete)).collect()
}

/// Computes one figure of a side.
type Measured = fn(&[Run], &dyn Fn(&Run) -> Option<f64>) -> Figures;

/// Rows for the fixed metrics, then for every name that occurs on either side.
fn compare(base: &[Run], head: &[Run], of: Measured) -> Vec<Row> {
    let mut groups = BTreeSet::new();
    let metrics = METRICS.iter().map(|&(group, name, figure)| Row {
        group,
        name: name.to_owned(),
        is_headline: groups.insert(group),
        base: of(base, &figure),
        head: of(head, &figure),
        contribution: None,
    });
    let mut rows: Vec<Row> = metrics.collect();
    let names: BTreeSet<&(Group, String)> = base.iter().chain(head).flat_map(Run::names).collect();
    rows.extend(names.into_iter().map(|key| Row {
        group: key.0,
        name: key.1.clone(),
        is_headline: false,
        base: of(base, &|run| run.named(key)),
        head: of(head, &|run| run.named(key)),
        contribution: None,
    }));
    rows
}

/// Sorts rows by group, largest change first, and moves equal rows and the rest of long groups to the end.
/// Returns the number of rows before these.
fn arrange(rows: &mut Vec<Row>) -> usize {
    let size = |row: &Row| row.change().map_or(f64::INFINITY, f64::abs);
    rows.sort_by(|one, two| {
        let first = |row: &Row| (row.group, !row.is_headline, row.is_equal());
        first(one).cmp(&first(two)).then_with(|| size(two).total_cmp(&size(one)))
    });
    let (mut shown, mut rest): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    let mut group = (None, 0);
    for row in rows.drain(..) {
        group = if group.0 == Some(row.group) { (group.0, group.1 + 1) } else { (Some(row.group), 1) };
        let matters = row.is_headline || (!row.is_equal() && group.1 <= GROUP_ROWS);
        (if matters { &mut shown } else { &mut rest }).push(row);
    }
    let count = shown.len();
    *rows = shown;
    rows.append(&mut rest);
    count
}

/// Notes about the number of runs and what can be concluded from it.
fn run_notes(rows: &[Row], base: u64, head: u64) -> Vec<Line> {
    let line = |tone| Line::new(tone).count(base, " run", " runs").word(" against ").value(head);
    let mut notes = vec![match (base, head) {
        (0, _) | (_, 0) => line(Tone::Warning).word(": nothing to compare on one side"),
        (1, 1) => line(Tone::Plain).word(": totals are compared; single runs do not show random variation"),
        (1, _) | (_, 1) => {
            line(Tone::Warning).word(": means per run are compared; too few runs for an interval")
        }
        _ => line(Tone::Plain).word(
            ": means per run are compared; a change smaller than its ± (the 95 % interval, Welch) may be \
             random",
        ),
    }];
    for row in rows.iter().filter(|row| row.is_headline) {
        let sides = [(&row.base, " of the base"), (&row.head, " of the head")];
        for (side, whose) in sides.into_iter().filter(|(side, _)| side.unknown > 0) {
            let line = Line::new(Tone::Warning).value(row.words().0).word(" is unknown for ");
            let line = line.count(side.unknown as u64, " run", " runs").word(whose);
            notes.push(if side.spread.is_some() { line.word("; the mean covers the others") } else { line });
        }
    }
    notes
}

/// Notes about the cost of each side; a note that applies to both appears once.
fn cost_notes(base: &View<'_>, head: &View<'_>) -> Vec<Line> {
    let [of_base, of_head] = [base, head].map(|side| sessions::cost_notes(side.ledger));
    let with = |side: &'static str, line: &Line| {
        let mut line = line.clone();
        line.parts.insert(0, Part::Word(side));
        line
    };
    let both = of_base.iter().filter(|line| of_head.contains(line)).cloned();
    let one = of_base.iter().filter(|line| !of_head.contains(line)).map(|line| with("base: ", line));
    let other = of_head.iter().filter(|line| !of_base.contains(line)).map(|line| with("head: ", line));
    one.chain(other).chain(both).collect()
}
