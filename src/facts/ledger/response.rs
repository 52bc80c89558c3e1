//! Rows of responses: from the lines that were kept of each, or from totals alone.

use super::{
    Context, Response, ResponseIndex, ResponseMore,
    build::{LedgerBuilder, merged_rows},
};
use crate::{
    facts::{
        Name,
        cost::{NO_MODEL, computed},
        detail::{Attribution, Detail, ExcerptOf, ResponseTiming},
        key::Id,
        merge::{First, Last},
        repeat::LastLookup,
        responses,
    },
    measure::{Price, Prices, Tokens, Usd},
};

/// Details that fill [`ResponseMore`].
const MORE: Detail = Detail::TIMING.and(Detail::REQUESTS).and(Detail::ATTRIBUTION).and(Detail::MESSAGES);

impl LedgerBuilder<'_> {
    /// Adds a row per response, in the order of their first lines: rows that are used together are close in
    /// memory.
    pub(super) fn responses(&mut self, prices: &Prices) {
        let kept = self.details.kept;
        if kept.contains(Detail::RESPONSES) {
            self.kept_responses(prices);
        } else if kept.contains(Detail::CHARGES) {
            self.plain_responses(prices);
        }
    }

    /// Adds the responses of which rows were kept.
    fn kept_responses(&mut self, prices: &Prices) {
        let facts = self.facts;
        let rows = merged_rows(&self.details.responses, |row| &row.context, &self.settled.owners);
        self.ledger.responses.reserve(rows.len());
        self.responses.reserve(rows.len());
        let has_more = self.details.kept.intersects(MORE);
        let (mut sessions, mut rates) = (LastLookup::default(), LastLookup::default());
        for (id, merged, row) in rows {
            let Some(facts) = facts.responses.get(id) else { continue };
            // Stream events without an id have no row here.
            let owner = self.settled.owners.of_response(id, facts).unwrap_or(merged.owner);
            let session = sessions.get(owner, |owner| self.sessions.get(owner).copied());
            let context = self.context_in(session, &merged);
            let more = has_more.then(|| Box::new(self.more(prices, id, facts)));
            self.responses.insert(id, ResponseIndex::new(self.ledger.responses.len()));
            self.response_facts.push(facts);
            let response = response(facts, context, prices, &mut rates);
            self.ledger.responses.push(Response { id: row.id.clone(), more, ..response });
        }
    }

    /// Adds all responses with session and time: totals know no more of them.
    fn plain_responses(&mut self, prices: &Prices) {
        let mut all: Vec<_> = self.facts.responses.iter().collect();
        all.sort_unstable_by_key(|(_, facts)| facts.position.place());
        self.ledger.responses.reserve(all.len());
        let (mut sessions, mut rates) = (LastLookup::default(), LastLookup::default());
        for (id, facts) in all {
            let Some(owner) = self.settled.owners.of_response(id, facts) else { continue };
            let session = sessions.get(owner, |owner| self.sessions.get(owner).copied());
            let context = Context { session, time: facts.position.time(), ..Context::default() };
            self.response_facts.push(facts);
            self.ledger.responses.push(response(facts, context, prices, &mut rates));
        }
    }

    fn more(&self, prices: &Prices, id: Id, facts: &responses::Response) -> ResponseMore {
        let details = self.details;
        let (timing, attribution) = (details.timings.get(id), details.attributions.get(id));
        let attributed = |of: fn(&Attribution) -> &First<Name>| {
            attribution.and_then(|attribution| of(attribution).get()).cloned()
        };
        let timed =
            |of: fn(&ResponseTiming) -> &First<Name>| timing.and_then(|timing| of(timing).get()).cloned();
        let has_requests = details.kept.contains(Detail::REQUESTS);
        ResponseMore {
            said: details.excerpt(ExcerptOf::Response, id),
            ended: timing.and_then(|timing| timing.last).map(|Last(time)| time),
            stop_reason: timed(|timing| &timing.stop_reason),
            request: timed(|timing| &timing.request),
            request_record: timed(|timing| &timing.request_record),
            prefix_price: if has_requests { prefix_price(prices, facts) } else { None },
            effort: attributed(|attribution| &attribution.effort),
            skill: attributed(|attribution| &attribution.skill),
            mcp_server: attributed(|attribution| &attribution.mcp_server),
        }
    }
}

/// Returns the row of a response without its id.
fn response<'p>(
    facts: &responses::Response,
    context: Context,
    prices: &'p Prices,
    rates: &mut LastLookup<Name, Option<&'p Price>>,
) -> Response {
    let model = facts.requested.get().or(facts.model.get()).cloned().unwrap_or_else(|| Name::from(NO_MODEL));
    let tokens = facts.tokens();
    let rates = rates.get(Name::clone(&model), |model| prices.find(model));
    let price = rates.map(|rates| rates.cost(&tokens, facts.terms())).filter(|_| facts.has_usage);
    Response {
        context,
        id: None,
        model,
        tokens,
        price,
        computed: computed(facts, price),
        unbilled: None,
        answered: facts.model.get().cloned(),
        is_final: facts.has_usage && (facts.saved && facts.stopped || facts.delta),
        calls: 0,
        more: None,
    }
}

/// Price of a million tokens at the beginning of the prompt of a response.
fn prefix_price(prices: &Prices, facts: &responses::Response) -> Option<Usd> {
    const MILLION: u64 = 1_000_000;
    let (model, own) = (facts.requested.get().or(facts.model.get())?, facts.tokens());
    let none = Tokens::default();
    let tokens = match () {
        () if own.cache_read > 0 => Tokens { cache_read: MILLION, ..none },
        () if own.cache_write_1h > 0 => Tokens { cache_write_1h: MILLION, ..none },
        () if own.cache_write_5m > 0 => Tokens { cache_write_5m: MILLION, ..none },
        () => Tokens { input: MILLION, ..none },
    };
    prices.cost(model, &tokens, facts.terms())
}
