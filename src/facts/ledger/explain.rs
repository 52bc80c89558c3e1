//! How a session's cost came about, step by step.
//!
//! The steps that count add up to the session's figure exactly; the others say where they come from.

use std::collections::{BTreeMap, HashMap};

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

/// One step on the way to a session's cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is.
    pub kind: StepKind,
    /// The model, where it is about one.
    pub model: Option<Name>,
    /// Tokens, where they apply.
    pub tokens: Option<Tokens>,
    /// How much.
    pub amount: Option<Usd>,
    /// Whether it adds to the session's figure.
    pub counts: bool,
    /// Where it stands.
    pub location: Option<Location>,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Which figure counts.
    Figure(Figure),
    /// A result's total so far.
    Result,
    /// The total that it goes on from.
    Before,
    /// What a result added: its own statement, or the difference to the total before it.
    Difference {
        /// Whether the record says it itself.
        said: bool,
    },
    /// The total that was saved with the session.
    Saved,
    /// What a fork copied from its origin, in this many responses.
    Copied(u64),
    /// What one model came to.
    Model,
    /// One type of tokens at its price for a million, or searches.
    Price(&'static str, Option<Usd>),
    /// This many responses with long prompts, surcharged as their version of the CLI did; the amount is what that adds.
    Surcharge {
        /// How many responses.
        responses: u64,
        /// The longest prompt without a surcharge.
        above: u64,
    },
    /// What belongs to no model.
    NoModel,
    /// What belongs to no response in the log.
    NoResponse,
    /// Responses of a model without a price, this many.
    Unpriced(u64),
    /// Responses without final token counts, this many.
    Unfinished(u64),
    /// Responses follow the last result, and nobody says what they cost.
    Unpaid,
    /// What the responses come to by their tokens, where another figure counts.
    Computed,
    /// The session's figure.
    Total,
}

/// Which figure counts, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The results are all that the CLI said.
    Results,
    /// The saved total is not larger than what the results add up to.
    ResultsOverSaved,
    /// The saved total is all that the CLI said.
    Saved,
    /// The saved total is larger than what the results add up to.
    SavedOverResults,
    /// The CLI said nothing.
    Computed,
    /// Nothing is known.
    Nothing,
}

impl Step {
    fn new(kind: StepKind, amount: Option<Usd>) -> Self {
        Self { kind, model: None, tokens: None, amount, counts: false, location: None }
    }
}

/// Responses that are charged alike: the model, the rates and whether they are those of the US.
type Alike = (Name, [u64; 5], bool);

/// What responses that are charged alike come to.
struct Charged {
    rates: Rates,
    tokens: Tokens,
    amount: Usd,
    /// Their surcharge for long prompts, if they have one: how many, above which length, and what it adds.
    surcharge: Option<(u64, u64, Usd)>,
}

impl LedgerBuilder<'_> {
    /// Explains every session that has a figure.
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
            let total = counted.reduce(|mut sum, amount| {
                sum += amount;
                sum
            });
            steps.push(Step::new(StepKind::Total, total));
            self.ledger.sessions[session].steps = steps;
        }
    }

    /// The CLI said what it cost.
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
        if let Some(computed) = computed.reduce(|mut sum, one| {
            sum += one;
            sum
        }) {
            steps.push(Step::new(StepKind::Computed, Some(computed)));
        }
        steps
    }

    fn result(&self, one: &Difference<'_>, counts: bool, steps: &mut Vec<Step>) {
        let location = self.at(LinePlace::from(one.end.place));
        let said = one.end.since_last.is_some();
        steps.push(Step { location, ..Step::new(StepKind::Result, one.end.total) });
        if let (false, Some((before, total))) = (said, one.before) {
            let location = self.at(LinePlace::from(before.place));
            steps.push(Step { location, ..Step::new(StepKind::Before, Some(total)) });
        }
        if one.cost.is_some() {
            steps.push(Step { location, counts, ..Step::new(StepKind::Difference { said }, one.cost) });
        }
    }

    fn saved(&self, bill: &Bill<'_>, state: &CostState, counts: bool, steps: &mut Vec<Step>) {
        let location = self.at(LinePlace::from(state.place));
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

    /// The CLI said nothing: tokens times prices.
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

    /// What belongs to no response, by session.
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

/// What the CLI said of each model.
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

/// Each type of tokens at its price. These are rounded each, and the model once per response.
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
        // A pico-dollar a token is a thousandth of a nano-dollar, and a million of them a thousand nano-dollars.
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
