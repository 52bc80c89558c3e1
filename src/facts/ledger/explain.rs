//! Explains how the cost of a session was computed, step by step.
//!
//! The steps that count add up to the cost exactly; the others show where they come from.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Add,
};

use super::{Location, ResponseIndex, SessionIndex, build::LedgerBuilder};
use crate::{
    facts::{
        Name,
        cost::{Bill, Reported, streamed, without_copied},
        detail::LinePlace,
        difference::Difference,
        responses,
        sessions::CostState,
    },
    measure::{Prices, Rates, Terms, Tokens, Usd},
};

/// One step in the computation of the cost of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Kind of the step, with the data of that kind.
    pub kind: StepKind,
    /// The model, if the step is about one.
    pub model: Option<Name>,
    /// Tokens, if they apply.
    pub tokens: Option<Tokens>,
    /// Amount in US dollars.
    pub amount: Option<Usd>,
    /// Whether it is added to the cost of the session.
    pub counts: bool,
    /// Location of the record it is based on.
    pub location: Option<Location>,
}

/// The kind of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Which cost counts.
    Figure(Figure),
    /// The cumulative total of a result.
    Result,
    /// The total that the result continues.
    Before,
    /// The share of a result: as it says itself, or the difference to the total before it.
    Difference {
        /// Whether the record has the share itself.
        said: bool,
    },
    /// The total that was saved with the session.
    Saved,
    /// The cost of responses that a fork copied, and their number.
    Copied(u64),
    /// The cost of one model.
    Model,
    /// One type of tokens with its price per million, or web searches.
    Price(&'static str, Option<Usd>),
    /// A surcharge for long prompts, as the version of the CLI applied it. The amount is the surcharge alone.
    Surcharge {
        /// Number of responses with the surcharge.
        responses: u64,
        /// The longest prompt without a surcharge.
        above: u64,
    },
    /// Cost that belongs to no model.
    NoModel,
    /// Cost that belongs to no response in the log.
    NoResponse,
    /// Number of responses of a model without a price.
    Unpriced(u64),
    /// Number of responses without final token counts.
    Unfinished(u64),
    /// Responses follow the last result, and their cost is not reported.
    Unpaid,
    /// The computed cost, if another cost counts.
    Computed,
    /// The cost of the session.
    Total,
}

/// Which cost counts, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The sum of the results; there is no saved total.
    Results,
    /// The sum of the results; the saved total is not larger.
    ResultsOverSaved,
    /// The saved total; there are no results.
    Saved,
    /// The saved total; it is larger than the sum of the results.
    SavedOverResults,
    /// The computed cost; the CLI reported none.
    Computed,
    /// No cost is known.
    Nothing,
}

impl Step {
    fn new(kind: StepKind, amount: Option<Usd>) -> Self {
        Self { kind, model: None, tokens: None, amount, counts: false, location: None }
    }
}

/// Key of responses with the same rates: model, rates, and whether they ran in the US.
type Alike = (Name, [u64; 5], bool);

/// Tokens and cost of responses with the same rates.
struct Charged {
    rates: Rates,
    tokens: Tokens,
    amount: Usd,
    /// Their surcharge for long prompts: number of responses, prompt length above which it applies, amount.
    surcharge: Option<(u64, u64, Usd)>,
}

impl LedgerBuilder<'_> {
    /// Explains the cost of every session that has one.
    pub(super) fn explain(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        let mut answered: HashMap<SessionIndex, Vec<(ResponseIndex, &responses::Response)>> = HashMap::new();
        for (id, facts) in self.facts.responses.iter() {
            let Some(&index) = self.responses.get(&id) else { continue };
            let Some(session) = self.ledger.responses[index].context.session else { continue };
            answered.entry(session).or_default().push((index, facts));
        }
        let mut alone = self.alone();
        for bill in bills {
            let Some(&session) = self.sessions.get(bill.key) else { continue };
            let mut own = answered.remove(&session).unwrap_or_default();
            own.sort_unstable_by_key(|&(index, _)| index);
            let state = self.facts.sessions.get(bill.key).and_then(|session| session.state.as_ref());
            let mut steps = match &bill.reported {
                Some(reported) => self.reported(bill, reported, state, &own),
                None => self.computed(prices, &own),
            };
            steps.extend(alone.remove(&session).unwrap_or_default());
            let counted = steps.iter().filter(|step| step.counts).filter_map(|step| step.amount);
            steps.push(Step::new(StepKind::Total, counted.reduce(Usd::add)));
            self.ledger.sessions[session].steps = steps;
        }
    }

    /// Explains a cost that the CLI reported.
    fn reported(
        &self,
        bill: &Bill<'_>,
        reported: &Reported,
        state: Option<&CostState>,
        own: &[(ResponseIndex, &responses::Response)],
    ) -> Vec<Step> {
        let figure = match (reported.saved, state, streamed(&bill.share)) {
            (false, None, _) => Figure::Results,
            (false, Some(_), _) => Figure::ResultsOverSaved,
            (true, _, None) => Figure::Saved,
            (true, _, Some(_)) => Figure::SavedOverResults,
        };
        let mut steps = vec![Step::new(StepKind::Figure(figure), Some(reported.total))];
        let mut results = bill.share.reported.clone();
        results.sort_unstable_by_key(|one| one.end.place);
        results.iter().for_each(|one| self.result(one, !reported.saved, &mut steps));
        if let Some(state) = state {
            self.saved(bill, state, reported.saved, &mut steps);
        }
        if bill.is_unfinished() {
            steps.push(Step::new(StepKind::Unpaid, None));
        }
        steps.extend(models(bill, reported));
        let computed = own.iter().filter_map(|&(index, _)| self.ledger.responses[index].computed);
        if let Some(computed) = computed.reduce(Usd::add) {
            steps.push(Step::new(StepKind::Computed, Some(computed)));
        }
        steps
    }

    fn result(&self, one: &Difference<'_>, counts: bool, steps: &mut Vec<Step>) {
        let location = self.location(LinePlace::from(one.end.place));
        let said = one.end.since_last.is_some();
        steps.push(Step { location, ..Step::new(StepKind::Result, one.end.total) });
        if let (false, Some((before, total))) = (said, one.before) {
            let location = self.location(LinePlace::from(before.place));
            steps.push(Step { location, ..Step::new(StepKind::Before, Some(total)) });
        }
        if one.cost.is_some() {
            steps.push(Step { location, counts, ..Step::new(StepKind::Difference { said }, one.cost) });
        }
    }

    fn saved(&self, bill: &Bill<'_>, state: &CostState, counts: bool, steps: &mut Vec<Step>) {
        let location = self.location(LinePlace::from(state.place));
        steps.push(Step { location, counts, ..Step::new(StepKind::Saved, Some(state.total)) });
        let copied = &bill.share.copied;
        if copied.is_empty() {
            return;
        }
        let left = without_copied(state.total, &state.models, &bill.share).total;
        let off = Usd::from_nanos(left.nanos() - state.total.nanos());
        let tokens = Some(copied.iter().map(|one| one.tokens).sum());
        steps.push(Step { tokens, counts, ..Step::new(StepKind::Copied(copied.len() as u64), Some(off)) });
    }

    /// Explains a computed cost: tokens times prices.
    fn computed(&self, prices: &Prices, own: &[(ResponseIndex, &responses::Response)]) -> Vec<Step> {
        let mut alike: BTreeMap<Alike, Charged> = BTreeMap::new();
        let (mut unpriced, mut unfinished) = (BTreeMap::new(), BTreeMap::new());
        for &(index, facts) in own {
            let response = &self.ledger.responses[index];
            let note = |all: &mut BTreeMap<Name, (u64, Tokens, Option<Location>)>| {
                let (count, tokens, _) = all.entry(Name::clone(&response.model)).or_insert((
                    0,
                    Tokens::default(),
                    response.context.location,
                ));
                *count += 1;
                *tokens += response.tokens;
            };
            if facts.has_usage && response.price.is_none() {
                note(&mut unpriced);
            }
            if !response.is_final {
                note(&mut unfinished);
            }
            let (Some(amount), Some(price)) = (response.computed, prices.find(&response.model)) else {
                continue;
            };
            let (prompt, terms) = (response.tokens.prompt(), facts.terms());
            let rates = *price.rates(prompt, terms);
            let key = (Name::clone(&response.model), rates.all(), terms.us_inference);
            let new = || Charged { rates, tokens: Tokens::default(), amount: Usd::ZERO, surcharge: None };
            let charged = alike.entry(key).or_insert_with(new);
            charged.tokens += response.tokens;
            charged.amount += amount;
            if let Some(tier) = price.surcharge(prompt, terms) {
                let flat = price.cost(&response.tokens, Terms { surcharged: false, ..terms });
                let none = (0, tier.above_prompt_tokens, Usd::ZERO);
                let (responses, _, more) = charged.surcharge.get_or_insert(none);
                *responses += 1;
                *more += Usd::from_nanos(amount.nanos() - flat.nanos());
            }
        }
        let figure = if alike.is_empty() { Figure::Nothing } else { Figure::Computed };
        let whole = (!alike.is_empty()).then(|| alike.values().map(|charged| charged.amount).sum());
        let mut steps = vec![Step::new(StepKind::Figure(figure), whole)];
        for ((model, _, in_us), Charged { rates, tokens, amount, surcharge }) in alike {
            if let Some((responses, above, more)) = surcharge {
                let kind = StepKind::Surcharge { responses, above };
                steps.push(Step { model: Some(Name::clone(&model)), ..Step::new(kind, Some(more)) });
            }
            let searches = prices.find(&model).map_or(Usd::ZERO, |price| price.web_search);
            steps.extend(priced(&model, &rates, searches, in_us, &tokens));
            let (model, tokens) = (Some(model), Some(tokens));
            steps.push(Step { model, tokens, counts: true, ..Step::new(StepKind::Model, Some(amount)) });
        }
        let lacking = |all: BTreeMap<Name, (u64, Tokens, Option<Location>)>, kind: fn(u64) -> StepKind| {
            all.into_iter().map(move |(model, (count, tokens, location))| Step {
                model: Some(model),
                tokens: Some(tokens),
                location,
                ..Step::new(kind(count), None)
            })
        };
        steps.extend(lacking(unpriced, StepKind::Unpriced));
        steps.extend(lacking(unfinished, StepKind::Unfinished));
        steps
    }

    /// Returns the cost that belongs to no response, by session.
    fn alone(&self) -> HashMap<SessionIndex, Vec<Step>> {
        let mut alone: HashMap<SessionIndex, Vec<Step>> = HashMap::new();
        let of_none = self.ledger.charges.iter().filter(|charge| charge.response.is_none());
        for charge in of_none.filter(|charge| charge.cost.unwrap_or_default() != Usd::ZERO) {
            let Some(session) = charge.context.session else { continue };
            alone.entry(session).or_default().push(Step {
                model: charge.model.clone(),
                tokens: Some(charge.tokens),
                ..Step::new(StepKind::NoResponse, charge.cost)
            });
        }
        alone
    }
}

/// Returns a step per model of the report.
fn models(bill: &Bill<'_>, reported: &Reported) -> Vec<Step> {
    let Some(models) = &reported.models else {
        let owned = bill.share.owned.iter();
        return owned
            .map(|(model, answered)| Step {
                model: Some(Name::clone(model)),
                tokens: Some(answered.tokens),
                ..Step::new(StepKind::Model, None)
            })
            .collect();
    };
    let mut sums: BTreeMap<&Name, (Tokens, Usd)> = BTreeMap::new();
    for one in models {
        let (tokens, cost) = sums.entry(&one.model).or_default();
        *tokens += one.tokens;
        *cost += one.cost;
    }
    let rest = reported.total.nanos() - sums.values().map(|(_, cost)| cost.nanos()).sum::<i128>();
    let mut steps: Vec<Step> = sums
        .into_iter()
        .map(|(model, (tokens, cost))| Step {
            model: Some(Name::clone(model)),
            tokens: Some(tokens),
            ..Step::new(StepKind::Model, Some(cost))
        })
        .collect();
    if rest != 0 {
        steps.push(Step::new(StepKind::NoModel, Some(Usd::from_nanos(rest))));
    }
    steps
}

/// Returns a step per type of tokens. Each step is rounded, while the cost of a model is rounded once per
/// response.
fn priced(model: &Name, rates: &Rates, search: Usd, in_us: bool, tokens: &Tokens) -> Vec<Step> {
    let tenths = if in_us { 11 } else { 10 };
    let Rates { input, output, cache_write_5m, cache_write_1h, cache_read } = *rates;
    let of = |fields: [u64; 6]| Tokens::from_fields(fields);
    let types = [
        ("input", input, of([tokens.input, 0, 0, 0, 0, 0])),
        ("output", output, of([0, tokens.output, 0, 0, 0, 0])),
        ("cache read", cache_read, of([0, 0, tokens.cache_read, 0, 0, 0])),
        ("cache write 5m", cache_write_5m, of([0, 0, 0, tokens.cache_write_5m, 0, 0])),
        ("cache write 1h", cache_write_1h, of([0, 0, 0, 0, tokens.cache_write_1h, 0])),
    ];
    let mut steps = Vec::new();
    for (name, rate, tokens) in types {
        let count: u64 = tokens.fields().iter().sum();
        // A pico-dollar per token is a thousandth of a nano-dollar; per million tokens it is a thousand
        // nano-dollars.
        let million = Usd::from_nanos(i128::from(rate) * tenths * 100);
        let amount =
            Usd::from_nanos((i128::from(count) * i128::from(rate) * tenths + 5_000).div_euclid(10_000));
        if count > 0 {
            let (model, tokens) = (Some(Name::clone(model)), Some(tokens));
            steps.push(Step {
                model,
                tokens,
                ..Step::new(StepKind::Price(name, Some(million)), Some(amount))
            });
        }
    }
    if tokens.web_searches > 0 {
        let amount = Usd::from_nanos(search.nanos() * i128::from(tokens.web_searches));
        let searches = Tokens { web_searches: tokens.web_searches, ..Tokens::default() };
        let (model, tokens) = (Some(Name::clone(model)), Some(searches));
        steps.push(Step { model, tokens, ..Step::new(StepKind::Price("web searches", None), Some(amount)) });
    }
    steps
}
