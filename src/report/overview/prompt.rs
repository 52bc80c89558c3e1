//! The most expensive prompts of a period.

use std::{cmp::Reverse, ops::Range};

use crate::{
    facts::ledger::{Context, ExchangeIndex, Exchanges},
    measure::{Time, Usd, add},
    report::{Value, View, sum::text},
};

/// Maximum number of prompts.
const PROMPTS: usize = 10;

/// A prompt and the cost of the work that it started.
#[derive(Clone, Debug)]
pub(super) struct PromptRow {
    pub(super) asked: Option<Time>,
    pub(super) session: Value,
    pub(super) number: u64,
    /// First line of the prompt, if texts are kept.
    pub(super) text: Value,
    pub(super) project: Value,
    /// Its cost in the period.
    pub(super) cost: Usd,
}

/// The most expensive prompts of a period, the largest first. Prompts without a cost are not among them.
pub(super) fn prompts(view: &View<'_>, period: &Range<Time>) -> Vec<PromptRow> {
    let ledger = view.ledger;
    let exchanges = Exchanges::of(ledger);
    let mut costs: Vec<Option<Usd>> = vec![None; ledger.exchanges.len()];
    let is_in = |context: &Context| context.time.is_some_and(|time| period.contains(&time));
    for charge in ledger.charges.iter().filter(|charge| is_in(&charge.context)) {
        if let Some(at) = exchanges.find(&charge.context) {
            add(&mut costs[at.get()], charge.cost);
        }
    }
    let mut largest: Vec<(Reverse<Usd>, ExchangeIndex)> = ExchangeIndex::each(&ledger.exchanges)
        .zip(costs)
        .filter_map(|((at, _), cost)| Some((Reverse(cost.filter(|cost| *cost > Usd::ZERO)?), at)))
        .collect();
    largest.sort_unstable();
    largest.truncate(PROMPTS);
    largest.into_iter().map(|(Reverse(cost), at)| row(view, at, cost)).collect()
}

fn row(view: &View<'_>, at: ExchangeIndex, cost: Usd) -> PromptRow {
    let ledger = view.ledger;
    let exchange = &ledger.exchanges[at];
    let session = exchange.session.map(|session| &ledger.sessions[session]);
    let prompt = exchange.prompt.map(|prompt| &ledger.prompts[prompt]);
    PromptRow {
        asked: exchange.started,
        session: text(session.and_then(|session| session.id.as_ref())),
        number: exchange.number,
        text: text(prompt.and_then(|prompt| prompt.text.as_ref())),
        project: text(session.and_then(|session| session.project.as_ref())),
        cost,
    }
}
