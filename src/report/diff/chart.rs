//! Charts of both sides.

use super::{
    Row,
    run::{ALL, Group, Run},
};
use crate::report::{
    Text, Value,
    chart::{Bars, Chart},
};

const SIDES: [&str; 2] = ["base", "head"];

/// Cost by model and calls by tool of both sides, and the cost of each run if there are several.
pub(super) fn charts(rows: &[Row], sides: &[Vec<Run>; 2]) -> impl Iterator<Item = Chart> {
    let models = both(rows, "Cost per run, by model", Group::ModelCost);
    let tools = both(rows, "Calls per run, by tool", Group::Calls);
    let runs = if sides.iter().any(|runs| runs.len() > 1) { each(sides) } else { None };
    [runs, models, tools].into_iter().flatten().map(Chart::page_only)
}

/// Figures of a group, one bar for each side.
fn both(rows: &[Row], title: &'static str, group: Group) -> Option<Chart> {
    let own = rows.iter().filter(|row| row.group == group && row.name != ALL);
    let amounts = own.flat_map(|row| {
        [&row.base, &row.head].into_iter().enumerate().filter_map(|(side, figures)| {
            Some((side, Some(Text::from(row.name.as_str())), row.group.measure().value(figures.spread?.mean)))
        })
    });
    Chart::bars(title, Bars::stacked(SIDES.map(Text::from).to_vec(), amounts).without_sum())
}

/// The cost of each run, coloured by its side.
fn each(sides: &[Vec<Run>; 2]) -> Option<Chart> {
    let runs = SIDES
        .into_iter()
        .zip(sides)
        .flat_map(|(side, runs)| runs.iter().enumerate().map(move |(number, run)| (side, number + 1, run)));
    let runs: Vec<(&str, usize, &Run)> = runs.collect();
    let labels = runs.iter().map(|(side, number, _)| Text::from(format!("{side} {number}"))).collect();
    let amounts = runs
        .iter()
        .enumerate()
        .filter_map(|(bar, (side, _, run))| Some((bar, Some(Text::from(*side)), Value::Usd(run.cost?))));
    Chart::bars("Cost of each run", Bars::stacked(labels, amounts))
}
