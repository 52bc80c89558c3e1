//! Costs of sessions: the reported cost, the computed cost, and which of the two counts.

use std::collections::BTreeMap;

use hashbrown::hash_map::Entry;

use super::{
    Facts, Hashed,
    difference::Difference,
    key::{Id, Name, SessionKey},
    merge::{First, SmallSet},
    rebuild::{CacheHistory, Rebuilt},
    responses::Response,
    sessions::{ModelUse, Session},
};
use crate::measure::{Prices, Time, Tokens, Usd, add, canonical};

/// Name of the model if a response has none.
pub(super) const NO_MODEL: &str = "unknown";

/// Sum over the responses of one model in one session.
#[derive(Default)]
pub(super) struct Answered {
    pub(super) tokens: Tokens,
    pub(super) count: u64,
    /// Whether some response has usage.
    has_usage: bool,
    /// Computed cost of the responses whose token counts can be final: a stream alone has only placeholders.
    pub(super) computed: Option<Usd>,
    /// Whether the model has no price.
    pub(super) unpriced: bool,
}

/// A response that a fork copied from its original session.
pub(super) struct Copied {
    model: Name,
    pub(super) tokens: Tokens,
    price: Usd,
}

/// The responses and results of one session.
#[derive(Default)]
pub(super) struct Share<'a> {
    pub(super) owned: BTreeMap<Name, Answered>,
    pub(super) copied: Vec<Copied>,
    pub(super) reported: Vec<&'a Difference<'a>>,
    /// Whether some response never got its final counts.
    unfinished: bool,
    cache: CacheHistory<'a>,
}

impl Share<'_> {
    fn own(&mut self, response: &Response, model: &Name, price: Option<Usd>) {
        let Response { has_usage, saved, stopped, delta, .. } = *response;
        self.unfinished |= !(has_usage && (saved && stopped || delta));
        let answered = self.owned.entry(Name::clone(model)).or_default();
        answered.count += 1;
        answered.has_usage |= has_usage;
        answered.unpriced |= has_usage && price.is_none();
        if has_usage {
            answered.tokens += response.tokens();
        }
        if let Some(price) = computed(response, price) {
            add(&mut answered.computed, price);
        }
    }
}

/// Returns the price if the token counts of the response can be final.
pub(super) fn computed(response: &Response, price: Option<Usd>) -> Option<Usd> {
    price.filter(|_| response.saved || response.delta)
}

/// Decides which session owns a row that several sessions contain: the one that a line names as the
/// requester, else the one that starts first, then by name.
pub(super) struct Owners<'a> {
    sessions: &'a Hashed<SessionKey, Session>,
    /// The session that requested a response. Only copied lines of 2.1.326 and later have it.
    request_sessions: &'a Hashed<Id, First<SessionKey>>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        Self { sessions: &facts.sessions, request_sessions: &facts.request_sessions }
    }

    /// Returns the session that requested a response, if a line names it and that session was read.
    pub(super) fn asked_by(&self, response: Id) -> Option<&'a SessionKey> {
        let session = self.request_sessions.get(&response)?.get()?;
        self.sessions.contains_key(session).then_some(session)
    }

    /// Returns the session that a response counts for.
    pub(super) fn of_response<'k>(&self, id: Id, response: &'k Response) -> Option<&'k SessionKey>
    where
        'a: 'k,
    {
        self.asked_by(id).or_else(|| self.owner(&response.sessions))
    }

    fn order<'k>(&self, key: &'k SessionKey) -> (bool, Option<Time>, &'k SessionKey) {
        let start = self.sessions.get(key).and_then(|session| session.start.get());
        (start.is_none(), start, key)
    }

    /// Returns the session that a row counts for. The others have a copy.
    pub(super) fn owner<'k>(&self, of: &'k SmallSet<SessionKey>) -> Option<&'k SessionKey> {
        match of {
            SmallSet::One(only) => Some(only),
            of => of.iter().min_by_key(|key| self.order(key)),
        }
    }

    /// Returns which of two sessions owns a row that both contain.
    pub(super) fn earlier<'k>(&self, one: &'k SessionKey, two: &'k SessionKey) -> &'k SessionKey {
        if self.order(two) < self.order(one) { two } else { one }
    }
}

/// The cost of one session.
pub(super) struct Bill<'a> {
    pub(super) key: &'a SessionKey,
    pub(super) share: Share<'a>,
    /// The reported cost, if there is one.
    pub(super) reported: Option<Reported>,
    /// Whether responses follow the last result. They are not in the reported cost.
    pub(super) cut: bool,
    /// Tokens that were written to the cache again.
    pub(super) rebuilds: Vec<Rebuilt>,
}

impl Bill<'_> {
    /// Returns the models without a price. Empty if the cost was reported.
    pub(super) fn unpriced(&self) -> impl Iterator<Item = &Name> {
        let counts = self.reported.is_none();
        self.share
            .owned
            .iter()
            .filter(move |(_, answered)| counts && answered.unpriced)
            .map(|(model, _)| model)
    }

    /// Returns whether some token counts are not final.
    pub(super) fn is_unfinished(&self) -> bool {
        match &self.reported {
            Some(reported) => self.cut && !reported.saved,
            None => self.share.unfinished,
        }
    }

    /// Returns whether the cost covers all usage.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_unfinished() && self.unpriced().next().is_none()
    }

    /// Returns the cost by model, as far as it is known.
    pub(super) fn paid(&self) -> Vec<Paid> {
        let owned = &self.share.owned;
        let paid = |model: &Name, tokens, cost| Paid { model: Some(Name::clone(model)), tokens, cost };
        let of_responses = || owned.iter().filter(|(_, answered)| answered.has_usage);
        let of_none = |cost| Paid { model: None, tokens: Tokens::default(), cost: Some(cost) };
        match &self.reported {
            None => of_responses().map(|(model, one)| paid(model, one.tokens, one.computed)).collect(),
            Some(Reported { total, models: Some(models), .. }) => {
                let uses = added(models);
                let mut all: Vec<Paid> =
                    uses.iter().map(|one| paid(&one.model, one.tokens, Some(one.cost))).collect();
                let rest = total.nanos() - uses.iter().map(|one| one.cost.nanos()).sum::<i128>();
                // Without usage the cost is known to be zero.
                if rest != 0 || models.is_empty() {
                    all.push(of_none(Usd::from_nanos(rest)));
                }
                all
            }
            // The CLI reported a total without models: tokens are those of the responses, and the cost has a
            // model only if there is just one.
            Some(Reported { total, models: None, .. }) => {
                let mut all: Vec<Paid> =
                    of_responses().map(|(model, one)| paid(model, one.tokens, None)).collect();
                let model = owned.keys().next().filter(|_| owned.len() == 1).cloned();
                all.push(Paid { model, ..of_none(*total) });
                all
            }
        }
    }
}

/// A part of the cost of a session: tokens of one model, or cost that has no model.
pub(super) struct Paid {
    pub(super) model: Option<Name>,
    pub(super) tokens: Tokens,
    pub(super) cost: Option<Usd>,
}

/// Computes the cost of every session, and the computed cost of all responses.
pub(super) fn bills<'a>(
    facts: &'a Facts,
    differences: &'a [Difference<'a>],
    prices: &Prices,
) -> (Vec<Bill<'a>>, Option<Usd>) {
    let mut shares: Hashed<&SessionKey, Share<'a>> = Hashed::default();
    let computed = share_out(facts, prices, &mut shares);
    for (key, position) in &facts.compactions {
        if let Some(share) = shares.get_mut(key) {
            share.cache.compact(*position);
        }
    }
    for one in differences {
        shares.entry(&one.end.session).or_default().reported.push(one);
    }
    let mut bills = Vec::with_capacity(shares.len());
    for (key, session) in &facts.sessions {
        let share = shares.remove(key);
        if share.is_none() && session.state.is_none() {
            continue;
        }
        let mut share = share.unwrap_or_default();
        let rebuilds = std::mem::take(&mut share.cache).rebuilds(prices);
        let cut = |source| facts.endings.get(&(source, key.clone())).is_some_and(|ending| ending.is_cut());
        let cut = session.sources.iter().any(|&source| cut(source));
        bills.push(Bill { key, reported: reported(session, &share), share, cut, rebuilds });
    }
    (bills, computed)
}

/// Assigns every response to the session that owns it, and as a copy to the others. Returns the computed cost
/// of all.
fn share_out<'a>(
    facts: &'a Facts,
    prices: &Prices,
    shares: &mut Hashed<&'a SessionKey, Share<'a>>,
) -> Option<Usd> {
    let owners = Owners::new(facts);
    let no_model = Name::from(NO_MODEL);
    let mut sum = None;
    for row in facts.responses.rows() {
        let (id, response) = row;
        let model = response.requested.get().or(response.model.get()).unwrap_or(&no_model);
        let tokens = response.tokens();
        let price = prices.cost(model, &tokens, response.terms()).filter(|_| response.has_usage);
        if let Some(price) = computed(response, price) {
            add(&mut sum, price);
        }
        let Some(owner) = owners.of_response(*id, response) else { continue };
        let share = shares.entry(owner).or_default();
        share.own(response, model, price);
        share.cache.respond(row, true);
        for key in response.sessions.iter().filter(|key| *key != owner) {
            let share = shares.entry(key).or_default();
            share.cache.respond(row, false);
            if let Some(price) = price {
                share.copied.push(Copied { model: Name::clone(model), tokens, price });
            }
        }
    }
    sum
}

/// Cost of one session as the CLI reported it.
pub(super) struct Reported {
    pub(super) total: Usd,
    pub(super) models: Option<Vec<ModelUse>>,
    /// Whether it is the saved total. A killed process did not write one.
    pub(super) saved: bool,
}

/// Adds up uses of the same model, in the order of their first occurrence.
pub(super) fn added(models: &[ModelUse]) -> Vec<ModelUse> {
    let mut uses: Vec<ModelUse> = Vec::new();
    let mut places: Hashed<&str, usize> = Hashed::default();
    for one in models {
        match places.entry(one.model.as_str()) {
            Entry::Occupied(known) => {
                let known = &mut uses[*known.get()];
                known.tokens += one.tokens;
                known.cost += one.cost;
            }
            Entry::Vacant(free) => {
                free.insert(uses.len());
                uses.push(one.clone());
            }
        }
    }
    uses
}

/// Returns the larger of the sum of printed results and the saved total. A killed run has no saved total, and
/// the saved total includes late calls after the last result.
fn reported(session: &Session, share: &Share<'_>) -> Option<Reported> {
    let streamed = streamed(share);
    let saved = session.state.as_ref().map(|state| without_copied(state.total, &state.models, share));
    match (streamed, saved) {
        (Some(streamed), Some(saved)) if saved.total <= streamed.total => Some(streamed),
        (streamed, saved) => saved.or(streamed),
    }
}

pub(super) fn streamed(share: &Share<'_>) -> Option<Reported> {
    let mut total = None;
    let mut models: Option<Vec<ModelUse>> = None;
    for one in &share.reported {
        if let Some(cost) = one.cost {
            add(&mut total, cost);
        }
        if let Some(uses) = &one.models {
            models.get_or_insert_default().extend(uses.iter().cloned());
        }
    }
    Some(Reported { total: total?, models, saved: false })
}

/// Subtracts the copied responses: the saved total of a fork includes that of its original session.
pub(super) fn without_copied(total: Usd, models: &[ModelUse], share: &Share<'_>) -> Reported {
    let (mut total, mut models) = (total, models.to_vec());
    for Copied { model, tokens, price } in &share.copied {
        let same = models.iter().position(|one| one.model == *model);
        let same = same.or_else(|| models.iter().position(|one| canonical(&one.model) == canonical(model)));
        let Some(at) = same else { continue };
        total = total.saturating_sub(*price);
        models[at].cost = models[at].cost.saturating_sub(*price);
        models[at].tokens = models[at].tokens.zip_with(*tokens, u64::saturating_sub);
    }
    Reported { total, models: Some(models), saved: true }
}
