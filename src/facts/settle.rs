//! Computes the account from settled facts.

use std::collections::BTreeMap;

use super::{
    Account, Facts, HashedSet, Name,
    account::{AccountBuilder, At, OnlySession, Unknown, last_error},
    cost::Bill,
    detail::EventKind,
    key::{Id, SessionKey},
    ledger::End,
    once::Records,
    sessions::Session,
    settled::{NO_TOOL, Settled, failed_calls, lacks_result},
};
use crate::{
    event::{BlockId, KindId},
    input::Place,
    measure::{Prices, Tokens},
};

impl Facts {
    /// Computes all reported numbers.
    pub fn settle(mut self, prices: &Prices) -> Account {
        self.close();
        let records = std::mem::take(&mut self.records);
        let settled = Settled::of(&self, &records);
        let mut builder = AccountBuilder::default();
        builder.account = settled.counts(&records);
        // Nearly half of the memory, and not needed any more.
        drop(records);
        settled.pay(prices, &mut builder);
        settled.add_rows(&mut builder);
        settled.add_unbilled(prices, &mut builder);
        builder.account.only_session = settled.only_session();
        builder.finish()
    }
}

impl<'a> Settled<'a> {
    /// Returns the plain counts.
    fn counts(&self, records: &Records) -> Account {
        let facts = self.facts;
        let (blocks, unknown_blocks) = self.blocks(records);
        let mut account = Account {
            input: self.input(records),
            kinds: self.kinds(),
            unknown_kinds: self.unknown_kinds(),
            blocks,
            unknown_blocks,
            prompts: facts.prompts.len() as u64,
            responses: facts.responses.len() as u64,
            versions: facts.versions.iter().map(ToString::to_string).collect(),
            ..Account::default()
        };
        account.duration.first = facts.span.map(|span| span.first);
        account.duration.last = facts.span.map(|span| span.last);
        account.tools.orphans = facts.calls.values().filter(|call| call.tool().is_none()).count() as u64;
        account
    }

    fn kinds(&self) -> BTreeMap<String, u64> {
        let facts = self.facts;
        let known = KindId::all().map(|id| (id.row().name.to_owned(), facts.kinds.0[id.index()]));
        let unknown_kinds =
            facts.unknown_kinds.iter().map(|(name, unknown)| (name.to_string(), unknown.count));
        known.filter(|&(_, count)| count > 0).chain(unknown_kinds).collect()
    }

    fn unknown_kinds(&self) -> BTreeMap<String, Unknown> {
        let unknown_kinds = self.facts.unknown_kinds.iter().filter(|(_, unknown)| !unknown.known);
        let unknown = |(name, unknown): (&Name, &super::UnknownKind)| {
            (name.to_string(), self.unknown(unknown.count, unknown.place, unknown.version.as_ref()))
        };
        unknown_kinds.map(unknown).collect()
    }

    fn blocks(&self, records: &Records) -> (BTreeMap<String, u64>, BTreeMap<String, Unknown>) {
        let mut known = [0u64; BlockId::COUNT];
        let mut unknown: BTreeMap<&Name, (u64, Place, Option<&Name>)> = BTreeMap::new();
        records.blocks().for_each(|id| known[id.index()] += 1);
        for rare in records.rare() {
            rare.more_blocks.iter().for_each(|id| known[id.index()] += 1);
            for (name, place, version) in &rare.unknown_blocks {
                let first = unknown.entry(name).or_insert((0, *place, version.as_ref()));
                first.0 += 1;
                if *place < first.1 {
                    (first.1, first.2) = (*place, version.as_ref());
                }
            }
        }
        let blocks = BlockId::all().map(|id| (id.name(), known[id.index()])).filter(|&(_, count)| count > 0);
        let unknown_kinds = unknown.iter().map(|(name, (count, ..))| (name.to_string(), *count));
        let places = unknown
            .iter()
            .map(|(name, &(count, place, version))| (name.to_string(), self.unknown(count, place, version)));
        (blocks.chain(unknown_kinds).collect(), places.collect())
    }

    fn pay(&self, prices: &Prices, builder: &mut AccountBuilder<'a>) {
        let (bills, computed) = self.bills(prices);
        builder.account.cost.complete = bills.iter().all(Bill::is_complete);
        let mut unpriced: Vec<String> =
            bills.iter().flat_map(Bill::unpriced).map(ToString::to_string).collect();
        unpriced.sort_unstable();
        unpriced.dedup();
        builder.account.cost.unpriced_models = unpriced;
        builder.computed(computed);
        for bill in &bills {
            bill.rebuilds.iter().for_each(|rebuilt| builder.rebuilt(rebuilt.tokens, rebuilt.cost));
            for paid in bill.paid() {
                builder.paid(paid.model.as_deref(), paid.tokens, paid.cost, bill.reported.is_some());
            }
        }
    }

    /// Returns whether the CLI printed a session without a result.
    fn lacks_result(&self, key: &SessionKey, session: &Session) -> bool {
        let is_named = matches!(key, SessionKey::Named(_));
        lacks_result(is_named, session.streamed, self.has_result(key, session))
    }

    fn add_rows(&self, builder: &mut AccountBuilder<'a>) {
        let facts = self.facts;
        for (key, session) in &facts.sessions {
            builder.session(matches!(key, SessionKey::Named(_)), self.lacks_result(key, session));
        }
        let mut before = None;
        for turn in self.turns() {
            let Place { source, offset, .. } = turn.difference.end.place;
            if turn.is_counted() {
                let error = || last_error(self.api_errors(), before, (source, offset));
                builder.turn(turn.subtype(), turn.is_ok(), turn.num_turns(), error);
            }
            before = Some((source, offset));
            builder.time(turn.difference.end.wall, turn.difference.api);
        }
        for duration in facts.durations.values() {
            let owner = self.owners.owner(&duration.sessions);
            if owner.is_some_and(|owner| self.counts_durations(owner)) {
                builder.time(duration.wall.get().copied(), None);
            }
        }
        let mut loose: Vec<&Name> = Vec::new();
        for (_, event) in self.events() {
            match &event.kind {
                EventKind::ApiError(kind) => builder.api_failure(kind, false),
                EventKind::Retry(kind, ..) => builder.api_failure(kind, true),
                EventKind::Denials(tools) => {
                    loose.extend(tools.iter().map(|tool| tool.as_ref().unwrap_or(&NO_TOOL)));
                }
                EventKind::Compaction(..)
                | EventKind::Prompt
                | EventKind::Interruption
                | EventKind::TurnDuration(_)
                | EventKind::Servers(_)
                | EventKind::PullRequest(_)
                | EventKind::Server(..) => {} // counted elsewhere, or not at all
            }
        }
        let denials = self.denials().map(|(_, tool)| tool).chain(loose.iter().copied());
        denials.for_each(|tool| builder.denial(tool));
        let denied = self.loosely_denied(&loose);
        for (id, call) in self.calls() {
            let end = if denied.contains(&id) { End::Denied } else { call.end };
            builder.call(call.tool, end, call.latency);
        }
        facts.responses.values().for_each(|one| builder.model(one.model.get().map(Name::as_str)));
    }

    /// Returns place and type of the API errors.
    fn api_errors(&self) -> impl Iterator<Item = (At, &'a str)> {
        self.events().iter().filter_map(|&(_, event)| match &event.kind {
            EventKind::ApiError(kind) => {
                let place = event.context.place;
                Some(((place.source(), place.compact.offset()), kind.as_str()))
            }
            _ => None,
        })
    }

    /// Returns the session, if there is exactly one.
    fn only_session(&self) -> Option<OnlySession> {
        let named = self.facts.sessions.iter().filter_map(|(key, session)| match key {
            SessionKey::Named(id) => Some((id, session)),
            SessionKey::Nameless(_) => None,
        });
        let mut named = named.take(2);
        let (id, session) = named.next().filter(|_| named.next().is_none())?;
        // Records without a session id belong to the session that their source names.
        let mut parts: Vec<(&SessionKey, &Session)> = self.facts.sessions.iter().collect();
        parts.retain(|(key, _)| match key {
            SessionKey::Named(_) => false,
            SessionKey::Nameless(source) => session.sources.iter().any(|own| own == source),
        });
        parts.sort_unstable_by_key(|(key, part)| (part.start, *key));
        let parts = || std::iter::once(session).chain(parts.iter().map(|&(_, part)| part));
        let open = self.calls().filter(|(_, call)| call.end == End::Open);
        let open = open.filter_map(|(id, call)| Some((self.facts.calls.get(id)?.ask(), call.tool)));
        let open = open.max_by_key(|&((place, _), tool)| (place, tool));
        Some(OnlySession {
            id: id.to_string(),
            project: parts().find_map(|part| part.cwd.get()).map(ToString::to_string),
            started: parts().filter_map(|part| part.start.get()).min(),
            open_call: open.map(|((_, time), tool)| (tool.to_string(), time)),
        })
    }

    /// Adds the lower bound of the cost of runs without a result. Their output tokens are placeholders, so only input
    /// and cache tokens are priced.
    fn add_unbilled(&self, prices: &Prices, builder: &mut AccountBuilder<'a>) {
        if !builder.has_unbilled() {
            return; // nearly always
        }
        let responses = self.facts.responses.values();
        for response in responses.filter(|one| one.has_usage && !one.saved && !one.delta) {
            let tokens = Tokens { output: 0, ..response.tokens() };
            builder.unbilled(prices.cost(response.billed_model(), &tokens, response.terms()));
        }
    }

    /// Returns the calls that were denied by denials without an id. Which calls of a tool are chosen does not
    /// change any sum.
    fn loosely_denied(&self, tools: &[&Name]) -> HashedSet<Id> {
        if tools.is_empty() {
            return HashedSet::default();
        }
        let failed = self.calls().filter(|(_, call)| call.end == End::Error);
        let found =
            failed_calls(failed.map(|(id, call)| (id, call.tool, ())), tools.iter().map(|tool| (*tool, ())));
        found.into_iter().flatten().collect()
    }
}
