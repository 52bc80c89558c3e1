//! Divides the cost of a session over its responses and their calls.
//!
//! The cost is that of the account: reported by the CLI, else computed. It is divided by model as
//! `modelUsage` says, and within a model in proportion to the prices of the responses. Cost that belongs to
//! no response, such as calls of a helper model that no record shows, becomes a charge of the session alone.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{Charge, Context, Response, ResponseIndex, SessionIndex, divide::divide};
use crate::{
    facts::{
        Hashed, Name,
        cost::{Bill, Paid, Reported, added},
        repeat::LastLookup,
        sessions::ModelUse,
    },
    measure::{Price, Prices, Terms, Tokens, Usd, canonical},
};

/// A response of the session that is divided.
pub(super) struct Part<'r> {
    pub(super) index: ResponseIndex,
    pub(super) response: &'r Response,
    /// Its cost if the CLI reported none.
    pub(super) computed: Option<Usd>,
    /// Whether it has usage.
    pub(super) has_usage: bool,
    pub(super) terms: Terms,
    /// The tools that it calls, with the number of calls.
    pub(super) tools: SmallVec<[(Name, u64); 1]>,
}

/// Builds the charges of one session.
pub(super) struct Split<'a> {
    pub(super) prices: &'a Prices,
    pub(super) session: SessionIndex,
    pub(super) parts: Vec<Part<'a>>,
    pub(super) charges: &'a mut Vec<Charge>,
}

impl Split<'_> {
    pub(super) fn bill(mut self, bill: &Bill<'_>) {
        match &bill.reported {
            None => self.computed(),
            Some(Reported { total, models: Some(models), .. }) => self.by_model(*total, models),
            Some(Reported { total, models: None, .. }) => self.without_models(*total, bill.share.owned.len()),
        }
    }

    /// Adds charges by model only, for ledgers without rows of responses.
    pub(super) fn bill_by_model(mut self, bill: &Bill<'_>) {
        let begun = self.charges.len();
        bill.paid().into_iter().for_each(|Paid { model, tokens, cost }| self.alone(model, tokens, cost));
        self.alone(None, Tokens::default(), None);
        for charge in &mut self.charges[begun..] {
            charge.reported = bill.reported.is_some();
        }
        if let Some(last) = self.charges.last_mut() {
            last.responses = bill.share.owned.values().map(|answered| answered.count).sum();
        }
    }

    /// Charges each response with its own tokens and price.
    fn computed(&mut self) {
        for part in std::mem::take(&mut self.parts) {
            let tokens = if part.has_usage { part.response.tokens } else { Tokens::default() };
            let price = self.prices.find(&part.response.model);
            self.response(
                &part,
                Some(Name::clone(&part.response.model)),
                price,
                tokens,
                part.computed,
                false,
            );
        }
    }

    /// The CLI reported a total without models: tokens are those of the responses, and the cost has a model
    /// only if there is just one.
    fn without_models(&mut self, total: Usd, models: usize) {
        let parts = std::mem::take(&mut self.parts);
        let costs = divide(total.nanos(), parts.iter().map(weight));
        if parts.is_empty() {
            self.alone(None, Tokens::default(), Some(total));
        }
        for (part, cost) in parts.iter().zip(costs) {
            let tokens = if part.has_usage { part.response.tokens } else { Tokens::default() };
            let (model, cost) = (Some(Name::clone(&part.response.model)), Some(Usd::from_nanos(cost)));
            let price = self.prices.find(&part.response.model);
            if models == 1 {
                self.response(part, model, price, tokens, cost, true);
            } else {
                self.response(part, model, price, tokens, None, true);
                self.response(part, None, None, Tokens::default(), cost, true);
            }
        }
    }

    fn by_model(&mut self, total: Usd, models: &[ModelUse]) {
        let uses = added(models);
        let mut rest = total.nanos();
        let parts = std::mem::take(&mut self.parts);
        let mut of: Vec<Vec<&Part<'_>>> = uses.iter().map(|_| Vec::new()).collect();
        let places = Places::of(&uses);
        let mut last = LastLookup::default();
        for part in &parts {
            match last.get(&part.response.model, |model| places.find(model)) {
                Some(at) => of[at].push(part),
                // Tokens are those of `modelUsage`, which does not have this model: the response has neither
                // tokens nor cost.
                None => self.response(part, None, None, Tokens::default(), None, true),
            }
        }
        for (one, parts) in uses.iter().zip(of) {
            rest -= one.cost.nanos();
            self.model(one, &parts);
        }
        // Without usage the cost is known to be zero.
        if rest != 0 || uses.is_empty() {
            self.alone(None, Tokens::default(), Some(Usd::from_nanos(rest)));
        }
    }

    /// Divides tokens and cost of one model over its responses.
    fn model(&mut self, one: &ModelUse, parts: &[&Part<'_>]) {
        let model = Some(Name::clone(&one.model));
        if parts.is_empty() {
            return self.alone(model, one.tokens, Some(one.cost));
        }
        let costs = divide(one.cost.nanos(), parts.iter().map(|part| weight(part)));
        let own: Vec<Tokens> = parts.iter().map(|part| part.response.tokens).collect();
        let tokens = divide_tokens(&one.tokens, &own);
        let price = self.prices.find(&one.model);
        for ((part, cost), tokens) in parts.iter().zip(costs).zip(tokens) {
            self.response(part, model.clone(), price, tokens, Some(Usd::from_nanos(cost)), true);
        }
    }

    /// Adds a charge without a response.
    fn alone(&mut self, model: Option<Name>, tokens: Tokens, cost: Option<Usd>) {
        let price = model.as_deref().and_then(|model| self.prices.find(model));
        let saved = price.map(|price| saved(price, &tokens, Terms::default()));
        let context = Context { session: Some(self.session), ..Context::default() };
        self.charges.push(Charge {
            context,
            response: None,
            responses: 0,
            model,
            tool: None,
            tokens,
            cost,
            saved,
            known: true,
            reported: true,
        });
    }

    /// Adds the charges of a response, divided over the tools that it calls.
    fn response(
        &mut self,
        part: &Part<'_>,
        model: Option<Name>,
        price: Option<&Price>,
        tokens: Tokens,
        cost: Option<Usd>,
        reported: bool,
    ) {
        let saved = price.map(|price| saved(price, &tokens, part.terms));
        let whole = Charge {
            context: part.response.context.clone(),
            response: Some(part.index),
            responses: 0,
            model,
            tool: None,
            tokens,
            cost,
            saved,
            known: part.has_usage || cost.is_some(),
            reported,
        };
        if part.tools.len() < 2 {
            self.charges
                .push(Charge { tool: part.tools.first().map(|(tool, _)| Name::clone(tool)), ..whole });
            return;
        }
        let weights = || part.tools.iter().map(|&(_, calls)| u128::from(calls));
        let money = |amount: Option<Usd>| {
            let parts = amount.map(|amount| divide(amount.nanos(), weights()));
            move |at: usize| parts.as_ref().map(|parts| Usd::from_nanos(parts[at]))
        };
        let (costs, savings) = (money(whole.cost), money(whole.saved));
        let even: Vec<Tokens> =
            part.tools.iter().map(|&(_, calls)| Tokens::from_fields([calls; 6])).collect();
        for (at, ((tool, _), tokens)) in
            part.tools.iter().zip(divide_tokens(&whole.tokens, &even)).enumerate()
        {
            let tool = Some(Name::clone(tool));
            let (cost, saved) = (costs(at), savings(at));
            self.charges.push(Charge { tool, tokens, cost, saved, ..whole.clone() });
        }
    }
}

/// Returns the weight of a response when a cost is divided.
fn weight(part: &Part<'_>) -> u128 {
    part.response.price.map_or(0, |price| price.nanos().unsigned_abs())
}

/// Finds models by name. A hostile log may name a million models, so a linear search is too slow.
struct Places<'u> {
    names: Hashed<&'u str, usize>,
    canonical: Hashed<Cow<'u, str>, usize>,
}

impl<'u> Places<'u> {
    fn of(uses: &'u [ModelUse]) -> Self {
        let mut places = Self { names: Hashed::default(), canonical: Hashed::default() };
        for (at, one) in uses.iter().enumerate() {
            places.names.entry(one.model.as_str()).or_insert(at);
            places.canonical.entry(canonical(&one.model)).or_insert(at);
        }
        places
    }

    /// Returns the index of the same name, else of the same model under another name.
    fn find(&self, model: &str) -> Option<usize> {
        self.names.get(model).or_else(|| self.canonical.get(&*canonical(model))).copied()
    }
}

/// Divides each field in proportion to the same field of the parts.
fn divide_tokens(whole: &Tokens, parts: &[Tokens]) -> Vec<Tokens> {
    let mut divided = vec![Tokens::default().fields(); parts.len()];
    for (field, count) in whole.fields().into_iter().enumerate().filter(|&(_, count)| count > 0) {
        let weights = parts.iter().map(|part| u128::from(part.fields()[field]));
        for (fields, share) in divided.iter_mut().zip(divide(i128::from(count), weights)) {
            fields[field] = u64::try_from(share).unwrap_or(0);
        }
    }
    divided.into_iter().map(Tokens::from_fields).collect()
}

/// Returns the cost of the same tokens without a cache, minus their actual cost.
fn saved(price: &Price, tokens: &Tokens, terms: Terms) -> Usd {
    let uncached =
        Tokens { input: tokens.prompt(), cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, ..*tokens };
    let [without, with] = [&uncached, tokens].map(|tokens| price.cost(tokens, terms));
    Usd::from_nanos(without.nanos() - with.nanos())
}
