//! Compares two periods of the same logs: totals, their drivers, and which changes are larger than the changes from
//! day to day.

use std::ops::Range;

use super::{
    Allowance, Figures, Group, Growth, Report, Row, Run, SPEC, View, arrange, columns, compare, cost_notes,
    judged, run::days,
};
use crate::{
    measure::{Spread, Time},
    report::{Line, Section, Table, Tone, Value},
};

/// One of two periods: its time, and the rows of the logs in it.
#[derive(Clone, Debug)]
pub struct PeriodSide<'a> {
    /// Rows of the period.
    pub view: View<'a>,
    /// Beginning and end. The end is not after now, and the beginning not before the logs begin.
    pub range: Range<Time>,
}

/// Compares two periods and evaluates the limits on growth.
pub fn diff_periods(base: &PeriodSide<'_>, head: &PeriodSide<'_>, limits: &[(Growth, Allowance)]) -> Report {
    let sides = [base, head].map(|side| days(&side.view, &side.range));
    let mut rows = compare(&sides[0], &sides[1], whole);
    let total = rows.iter().find(|row| row.group == Group::Cost).and_then(Row::change);
    for row in &mut rows {
        let is_cost = matches!(row.group, Group::ProjectCost | Group::ModelCost | Group::ToolCost);
        let total = total.filter(|total| is_cost && *total != 0.0);
        row.contribution = row.change().zip(total).map(|(change, total)| change / total);
    }
    let verdicts = judged(&rows, [&base.view, &head.view], &sides, limits);
    let headline = headline(&rows, base, head);
    let shown = arrange(&mut rows);
    let table = Table::of("Difference", &columns(), &rows).on_screen(shown);
    let mut notes = vec![days_note(&sides)];
    notes.extend(cost_notes(&base.view, &head.view));
    let report = Report::of(SPEC.name, table, notes);
    let screen = headline.into_iter().chain(report.screen).collect();
    Report { verdicts, screen, ..report }
}

/// The sum over all days, and the spread from day to day.
fn whole(days: &[Run], figure: &dyn Fn(&Run) -> Option<f64>) -> Figures {
    let known: Vec<f64> = days.iter().filter_map(figure).collect();
    let daily = Spread::of(&known);
    let sum = daily.and_then(|daily| Spread::of(&[daily.total]));
    Figures { spread: sum, unknown: days.len() - known.len(), daily }
}

/// The cost of the period against that of the other, and the times of both.
fn headline(rows: &[Row], base: &PeriodSide<'_>, head: &PeriodSide<'_>) -> [Section; 2] {
    let line = Line::new(Tone::Plain).word("Cost ");
    let line = match rows.iter().find(|row| row.group == Group::Cost) {
        Some(row) => {
            let mean = |side: &Figures| row.value(side.spread.map(|spread| spread.mean));
            let line = line.value(mean(&row.head)).word(" against ").value(mean(&row.base)).word(": ");
            let line = line.value(row.difference(row.change()));
            match row.relative() {
                Some(part) => line.word(" (").value(Value::Change(Box::new(Value::Share(part)))).word(")"),
                None => line,
            }
        }
        None => line.word("unknown"),
    };
    let span = |line: Line, side: &PeriodSide<'_>| match side.range.is_empty() {
        true => line.word("no logs before ").value(side.range.end),
        false => line.value(side.range.start).word(" to ").value(side.range.end),
    };
    let times = span(span(Line::new(Tone::Plain), head).word(" against "), base);
    [Section::Verdict(line), Section::About(times)]
}

/// How many days each side has, and what is marked as certain.
fn days_note(sides: &[Vec<Run>; 2]) -> Line {
    let [base, head] = [sides[0].len() as u64, sides[1].len() as u64];
    let line = Line::new(Tone::Plain).count(head, " day", " days").word(" against ").value(base);
    let line = line.word(": totals are compared; a change is certain if the means per day differ by more than the 95 % interval (Welch)");
    if base == head { line } else { line.word("; the periods differ in length") }
}
