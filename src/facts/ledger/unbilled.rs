//! Lower bounds for the cost of responses that the cost of their session does not include: runs that are
//! still going, or were cut off.

use std::collections::HashSet;

use super::{ResponseIndex, build::LedgerBuilder};
use crate::{
    facts::{cost::Bill, detail::Detail, key::SessionKey},
    measure::{Prices, Tokens, Usd},
};

impl LedgerBuilder<'_> {
    /// Sets `unbilled` of each response. Until a `result` is printed, the output tokens of a stream are
    /// placeholders, so only input and cache tokens are priced.
    pub(super) fn unbilled(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        if !self.details.kept.contains(Detail::RESPONSES) {
            return; // which lines follow the last result is not known
        }
        let unpaid = self.unpaid(bills);
        let mut reported = vec![false; self.ledger.sessions.len()];
        for bill in bills.iter().filter(|bill| bill.reported.is_some()) {
            if let Some(&session) = self.sessions.get(bill.key) {
                reported[session.get()] = true;
            }
        }
        for (at, (response, facts)) in self.ledger.responses.iter_mut().zip(&self.response_facts).enumerate()
        {
            let counts = if response.context.session.is_some_and(|session| reported[session.get()]) {
                unpaid.contains(&ResponseIndex::new(at))
            } else {
                response.computed.is_none() // the cost of the session includes it
            };
            if !counts {
                continue;
            }
            let floor = || -> Option<Usd> {
                let tokens = Tokens { output: 0, ..response.tokens };
                prices.cost(&response.model, &tokens, facts.terms()).filter(|_| facts.has_usage)
            };
            response.unbilled = if response.is_final { response.price } else { floor() };
        }
    }

    /// Returns the responses after the last result of their session, in sources where it was cut off. A
    /// response that is also before a result is paid.
    fn unpaid(&self, bills: &[Bill<'_>]) -> HashSet<ResponseIndex> {
        let cut =
            |bill: &&Bill<'_>| bill.cut && bill.reported.as_ref().is_some_and(|reported| !reported.saved);
        let cut: HashSet<&SessionKey> = bills.iter().filter(cut).map(|bill| bill.key).collect();
        let (mut unpaid, mut paid) = (HashSet::new(), HashSet::new());
        if cut.is_empty() {
            return unpaid; // nearly always, and then no lookup is needed
        }
        for (id, row) in &self.details.responses {
            let context = &row.context;
            if !cut.contains(&context.session) {
                continue;
            }
            let (source, offset) = (context.place.source(), context.place.compact.offset());
            let Some(ending) = self.facts.endings.get(&(source, context.session.clone())) else { continue };
            let Some(&at) = self.responses.get(id) else { continue };
            match ending.result {
                Some(result) if offset < result.0 => paid.insert(at),
                _ => unpaid.insert(at),
            };
        }
        unpaid.retain(|at| !paid.contains(at));
        unpaid
    }
}
