//! Charts of a period.

use std::collections::HashMap;

use super::{
    Overview,
    rows::{NameOf, each_failure, model, project},
    slot::Slots,
};
use crate::{
    measure::{Tokens, Usd},
    report::{
        By, Text, Tone, Value, View,
        chart::{Bars, Chart},
        cost::chart::title,
        figure,
    },
};

/// The charts of the period, for pages: terminals have tables of the same.
pub(super) fn charts(view: &View<'_>, all: &Overview<'_>) -> impl Iterator<Item = Chart> {
    let period = &all.periods.period;
    let mut slots = Slots::of(view, period);
    let costs = all.sessions.iter().filter_map(|row| row.cost.map(Value::Usd)).collect();
    [
        cost(view, &mut slots, By::Model, model),
        cost(view, &mut slots, By::Project, project).filter(Chart::is_stacked),
        figure::hours(view, Some(period)),
        cache_hits(view, &mut slots),
        failures(view, &mut slots),
        Chart::distribution("Cost of sessions", "sessions", costs),
    ]
    .into_iter()
    .flatten()
    .map(Chart::page_only)
}

/// Cost over time, stacked by name.
fn cost(view: &View<'_>, slots: &mut Slots, by: By, name: NameOf) -> Option<Chart> {
    let mut amounts: HashMap<(usize, Option<Text>), Usd> = HashMap::new();
    for charge in &view.ledger.charges {
        if let (Some(cost), Some(slot)) = (charge.cost, slots.find(&charge.context)) {
            *amounts.entry((slot, name(view, charge))).or_default() += cost;
        }
    }
    let amounts = amounts.into_iter().map(|((slot, name), amount)| (slot, name, amount.into()));
    Chart::bars(title(by), Bars::stacked(slots.labels(), amounts))
}

/// Share of prompt tokens that were read from the cache.
fn cache_hits(view: &View<'_>, slots: &mut Slots) -> Option<Chart> {
    let labels = slots.labels();
    let mut tokens = vec![Tokens::default(); labels.len()];
    for charge in &view.ledger.charges {
        if let Some(slot) = slots.find(&charge.context) {
            tokens[slot] += charge.tokens;
        }
    }
    let parts: Vec<(u64, u64)> = tokens.iter().map(|tokens| (tokens.cache_read, tokens.prompt())).collect();
    Chart::bars("Prompt tokens read from the cache", Bars::ratios("cache hits", labels, &parts))
}

/// Kinds of failures: the name of the kind, its name in a legend, and its tone.
const FAILURES: [(&str, &str, Tone); 4] = [
    ("denied", "denied calls", Tone::Warning),
    ("tool", "failed calls", Tone::Bad),
    ("prompt", "failed prompts", Tone::Plain),
    ("api", "API errors", Tone::Plain),
];

/// Failures and denials.
fn failures(view: &View<'_>, slots: &mut Slots) -> Option<Chart> {
    let mut amounts = Vec::new();
    for failure in each_failure(view) {
        let name =
            FAILURES.iter().find(|(kind, ..)| *kind == failure.kind).map(|(_, name, _)| Text::from(*name));
        amounts.extend(slots.find(failure.context).map(|slot| (slot, name, Value::Count(1))));
    }
    let tones = FAILURES.map(|(_, name, tone)| (name, tone));
    Chart::bars("Failures and denials", Bars::stacked(slots.labels(), amounts).with_tones(&tones))
}
