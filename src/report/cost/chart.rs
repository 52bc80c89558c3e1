//! Charts of cost: over time, and as shares.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::{By, Keys};
use crate::{
    measure::{Time, Usd, calendar},
    report::{
        Text, Value, View,
        chart::{Bars, Chart},
    },
};

/// Charts for a grouping: over time if it begins with a period, else the shares of its first part.
pub(super) fn charts(view: &View<'_>, by: &[By]) -> Vec<Chart> {
    let charts = match by {
        [first, second, ..] if first.is_time() => [over_time(view, *first, *second), None],
        [first] if first.is_time() => [
            over_time(view, *first, By::Model),
            over_time(view, *first, By::Project).filter(Chart::is_stacked).map(Chart::page_only),
        ],
        [first, ..] => [share(view, *first).map(Chart::page_only), None],
        [] => [None, None],
    };
    charts.into_iter().flatten().collect()
}

/// Cost by period, stacked. Cost without a time is not in it.
pub(in crate::report) fn over_time(view: &View<'_>, period: By, series: By) -> Option<Chart> {
    let mut keys = Keys::new(view, &[period, series]);
    let mut amounts: HashMap<(Text, Option<Text>), Usd, foldhash::fast::RandomState> = HashMap::default();
    for charge in &view.ledger.charges {
        if let (Some(cost), Some(label)) = (charge.cost, keys.of(period, charge)) {
            *amounts.entry((label, keys.of(series, charge))).or_default() += cost;
        }
    }
    let labels = labels(period, amounts.keys().map(|(label, _)| label).collect());
    let bar = |label: &Text| labels.binary_search(label).unwrap_or(usize::MAX);
    let amounts: Vec<_> =
        amounts.iter().map(|((label, name), &amount)| (bar(label), name.clone(), amount.into())).collect();
    let shown = labels.iter().map(|label| shown(view, period, label)).collect();
    Chart::bars(title(series), Bars::stacked(shown, amounts))
}

/// Cost by part.
pub(in crate::report) fn share(view: &View<'_>, by: By) -> Option<Chart> {
    let mut keys = Keys::new(view, &[by]);
    let mut parts: BTreeMap<Option<Text>, Value> = BTreeMap::new();
    for charge in &view.ledger.charges {
        if let Some(cost) = charge.cost {
            let part = parts.entry(keys.of(by, charge)).or_default();
            *part = std::mem::take(part).plus(&cost.into());
        }
    }
    Chart::share(title_of_share(by), parts)
}

/// Names of all periods from the first to the last, with those in which nothing happened.
fn labels(period: By, mut known: Vec<&Text>) -> Vec<Text> {
    known.sort_unstable();
    known.dedup();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return Vec::new() };
    let all = match period {
        By::Day => calendar::each_day(first, last, 1),
        By::Week => calendar::each_day(first, last, 7),
        By::Month => calendar::each_month(first, last),
        // Mostly nights and weekends: showing all of them would hide the others.
        _ => Vec::new(),
    };
    // Times in the far past or future are not worth thousands of empty bars.
    let is_whole = known.iter().all(|label| all.binary_search_by(|one| (**one).cmp(label)).is_ok());
    if is_whole { all.into_iter().map(Text::from).collect() } else { known.into_iter().cloned().collect() }
}

fn shown(view: &View<'_>, period: By, label: &Text) -> Text {
    let local = || view.zone.minute(Time::parse(label)?);
    match period {
        By::Window => local().map_or_else(|| label.clone(), Text::from),
        _ => label.clone(),
    }
}

pub(in crate::report) fn title(series: By) -> &'static str {
    match series {
        By::Model => "Cost over time, by model",
        By::Project => "Cost over time, by project",
        By::Session => "Cost over time, by session",
        By::Prompt => "Cost over time, by prompt",
        By::Tool => "Cost over time, by tool",
        By::Agent => "Cost over time, by agent",
        By::Version => "Cost over time, by CLI version",
        By::Machine => "Cost over time, by machine",
        By::Branch => "Cost over time, by branch",
        By::Pr => "Cost over time, by pull request",
        By::Skill => "Cost over time, by skill",
        By::McpServer => "Cost over time, by MCP server",
        By::Effort => "Cost over time, by effort",
        By::Workflow => "Cost over time, by workflow",
        By::Day | By::Week | By::Month | By::Hour | By::Window => "Cost over time",
    }
}

fn title_of_share(by: By) -> &'static str {
    match by {
        By::Model => "Cost by model",
        By::Project => "Cost by project",
        By::Session => "Cost by session",
        By::Prompt => "Cost by prompt",
        By::Tool => "Cost by tool",
        By::Agent => "Cost by agent",
        By::Version => "Cost by CLI version",
        By::Machine => "Cost by machine",
        By::Branch => "Cost by branch",
        By::Pr => "Cost by pull request",
        By::Skill => "Cost by skill",
        By::McpServer => "Cost by MCP server",
        By::Effort => "Cost by effort",
        By::Workflow => "Cost by workflow",
        By::Day | By::Week | By::Month | By::Hour | By::Window => "Cost by period",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(period: By, known: &[&str]) -> Vec<String> {
        let known: Vec<Text> = known.iter().map(|label| Text::from(*label)).collect();
        labels(period, known.iter().collect()).iter().map(Text::to_string).collect()
    }

    #[test]
    fn days_without_cost_are_bars_too() {
        let days = labels_of(By::Day, &["2026-03-01", "2026-02-27", "2026-02-27"]);
        assert_eq!(days, ["2026-02-27", "2026-02-28", "2026-03-01"]);
        assert_eq!(labels_of(By::Month, &["2025-12", "2026-02"]), ["2025-12", "2026-01", "2026-02"]);
        assert_eq!(labels_of(By::Week, &["2026-11-02", "2026-11-16"]).len(), 3);
        assert_eq!(labels_of(By::Hour, &["b", "a"]), ["a", "b"]);
    }

    #[test]
    fn centuries_of_nothing_are_not_shown() {
        assert_eq!(labels_of(By::Day, &["0001-01-01", "2026-11-15"]), ["0001-01-01", "2026-11-15"]);
        assert_eq!(labels_of(By::Month, &["odd", "2026-11"]), ["2026-11", "odd"]);
    }
}
