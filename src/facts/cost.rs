//! What it cost: what the CLI reported, what the tokens come to, and which of the two counts for which session.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    Facts, Hashed,
    account::{Cost, ModelCost},
    difference::Difference,
    key::{Name, SessionKey},
    merge::Few,
    responses::Response,
    sessions::{ModelUse, Session},
};
use crate::measure::{Prices, Time, Tokens, Usd, canonical};

/// The model of a response that names none.
const NO_MODEL: &str = "unknown";

/// One API response with its price.
struct Priced<'a> {
    response: &'a Response,
    model: Name,
    tokens: Tokens,
    /// What its tokens come to, if its model has a price.
    price: Option<Usd>,
}

impl<'a> Priced<'a> {
    fn of(response: &'a Response, prices: &Prices) -> Self {
        let model = response.requested.get().or(response.model.get());
        let model = model.map_or_else(|| Name::from(NO_MODEL), Name::clone);
        let tokens = response.tokens();
        let price = if response.has_usage {
            prices.cost(&model, &tokens, response.fast, response.in_us)
        } else {
            None
        };
        Self { response, model, tokens, price }
    }

    /// Its price, where its counts can be final at all: a stream alone has only placeholders.
    fn computed(&self) -> Option<Usd> {
        self.price.filter(|_| self.response.saved || self.response.delta)
    }

    fn is_final(&self) -> bool {
        let Response { has_usage, saved, stopped, delta, .. } = *self.response;
        has_usage && (saved && stopped || delta)
    }
}

/// Sessions in the order in which they own what they share: by their first moment, then by name.
pub(super) struct Owners<'a> {
    sessions: &'a Hashed<SessionKey, Session>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(sessions: &'a Hashed<SessionKey, Session>) -> Self {
        Self { sessions }
    }

    fn order<'k>(&self, key: &'k SessionKey) -> (bool, Option<Time>, &'k SessionKey) {
        let start = self.sessions.get(key).and_then(|session| session.start.get());
        (start.is_none(), start, key)
    }

    /// The session that something counts for; for the others it is a copy.
    pub(super) fn owner<'k>(&self, of: &'k Few<SessionKey>) -> Option<&'k SessionKey> {
        of.iter().min_by_key(|key| self.order(key))
    }
}

/// A session's own responses, and those that it copied when it was forked.
#[derive(Default)]
struct Share<'a> {
    owned: Vec<&'a Priced<'a>>,
    copied: Vec<&'a Priced<'a>>,
    reported: Vec<&'a Difference<'a>>,
}

/// Sums while sessions are added up.
#[derive(Default)]
struct Sums {
    total: Option<Usd>,
    reported: Option<Usd>,
    incomplete: bool,
    unpriced: BTreeSet<Name>,
    by_model: BTreeMap<Name, ModelCost>,
}

/// The cost of everything.
pub(super) fn cost(facts: &Facts, differences: &[Difference<'_>], prices: &Prices) -> Cost {
    let priced: Vec<Priced<'_>> =
        facts.responses.values().map(|response| Priced::of(response, prices)).collect();
    let shares = shares(facts, &priced, differences);
    let mut sums = Sums::default();
    for (key, session) in &facts.sessions {
        if let Some(share) = shares.get(key) {
            sums.session(facts, key, session, share);
        } else if session.state.is_some() {
            sums.session(facts, key, session, &Share::default());
        }
    }
    let computed: Vec<Usd> = priced.iter().filter_map(Priced::computed).collect();
    Cost {
        total: sums.total,
        reported: sums.reported,
        computed: (!computed.is_empty()).then(|| computed.into_iter().sum()),
        complete: !sums.incomplete && sums.unpriced.is_empty(),
        unpriced_models: sums.unpriced.iter().map(ToString::to_string).collect(),
        by_model: sums.by_model.into_iter().map(|(model, cost)| (model.to_string(), cost)).collect(),
    }
}

fn shares<'a>(
    facts: &'a Facts,
    priced: &'a [Priced<'a>],
    differences: &'a [Difference<'a>],
) -> HashMap<&'a SessionKey, Share<'a>> {
    let owners = Owners::new(&facts.sessions);
    let mut shares: HashMap<&SessionKey, Share<'_>> = HashMap::new();
    for one in priced {
        let owner = owners.owner(&one.response.sessions);
        for key in one.response.sessions.iter() {
            let share = shares.entry(key).or_default();
            if Some(key) == owner { share.owned.push(one) } else { share.copied.push(one) }
        }
    }
    for one in differences {
        shares.entry(&one.end.session).or_default().reported.push(one);
    }
    shares
}

/// What the CLI reported of one session, by model where it says so.
struct Reported {
    total: Usd,
    models: Option<Vec<ModelUse>>,
    /// From a saved total, which a killed process did not write.
    saved: bool,
}

impl Sums {
    fn session(&mut self, facts: &Facts, key: &SessionKey, session: &Session, share: &Share<'_>) {
        let Some(reported) = reported(session, share) else { return self.computed(share) };
        add(&mut self.total, reported.total);
        add(&mut self.reported, reported.total);
        if !reported.saved {
            let cut =
                |source| facts.endings.get(&(source, key.clone())).is_some_and(|ending| ending.is_cut());
            self.incomplete |= session.sources.iter().any(|&source| cut(source));
        }
        match reported.models {
            Some(models) => self.by_reported_model(&models),
            None => self.by_answered_model(reported.total, share),
        }
    }

    fn by_reported_model(&mut self, models: &[ModelUse]) {
        for one in models {
            let sum = self.by_model.entry(Name::clone(&one.model)).or_default();
            sum.tokens += one.tokens;
            add(&mut sum.total, one.cost);
        }
    }

    /// The CLI gave one figure and no models: tokens are the responses', and the cost has an owner only if there is
    /// one model.
    fn by_answered_model(&mut self, total: Usd, share: &Share<'_>) {
        let models: BTreeSet<&Name> = share.owned.iter().map(|one| &one.model).collect();
        self.tokens(share);
        if let (1, Some(&model)) = (models.len(), models.first()) {
            add(&mut self.by_model.entry(Name::clone(model)).or_default().total, total);
        }
    }

    /// A session of which the CLI said no cost.
    fn computed(&mut self, share: &Share<'_>) {
        self.tokens(share);
        for one in &share.owned {
            self.incomplete |= !one.is_final();
            if let Some(price) = one.computed() {
                add(&mut self.total, price);
                add(&mut self.by_model.entry(Name::clone(&one.model)).or_default().total, price);
            } else if one.response.has_usage && one.price.is_none() {
                self.unpriced.insert(Name::clone(&one.model));
            }
        }
    }

    fn tokens(&mut self, share: &Share<'_>) {
        for one in share.owned.iter().filter(|one| one.response.has_usage) {
            self.by_model.entry(Name::clone(&one.model)).or_default().tokens += one.tokens;
        }
    }
}

fn add(sum: &mut Option<Usd>, amount: Usd) {
    *sum.get_or_insert_default() += amount;
}

/// The larger of what the stream's results add up to and what was saved: a killed run has no saved total, and the
/// saved one knows of late calls that no result told of.
fn reported(session: &Session, share: &Share<'_>) -> Option<Reported> {
    let streamed = streamed(share);
    let saved = session.state.as_ref().map(|state| without_copied(state.total, &state.models, share));
    match (streamed, saved) {
        (Some(streamed), Some(saved)) if saved.total <= streamed.total => Some(streamed),
        (streamed, saved) => saved.or(streamed),
    }
}

fn streamed(share: &Share<'_>) -> Option<Reported> {
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

/// A fork's saved total begins with its origin's, so what it copied is taken off again.
fn without_copied(total: Usd, models: &[ModelUse], share: &Share<'_>) -> Reported {
    let (mut total, mut models) = (total, models.to_vec());
    for copied in &share.copied {
        let name = &copied.model;
        let same = models.iter().position(|one| one.model == *name);
        let same = same.or_else(|| models.iter().position(|one| canonical(&one.model) == canonical(name)));
        let (Some(price), Some(at)) = (copied.price, same) else { continue };
        total = total.less(price);
        models[at].cost = models[at].cost.less(price);
        models[at].tokens = models[at].tokens.with(copied.tokens, u64::saturating_sub);
    }
    Reported { total, models: Some(models), saved: true }
}
