//! Rebuilds of the prompt cache: tokens that were written again although they had been cached.
//!
//! The requests of a conversation, which is a session and an agent, repeat the beginning of the prompt. After a
//! request, the cache holds what it read and what it wrote. The next request of the conversation that uses the
//! cache should read all of it. The part that it does not read but writes is rebuilt:
//!
//! ```text
//! rebuilt = min(written, cached before − read)
//! ```
//!
//! After a compaction only the beginning of the conversation can have been cached before: at most what its first
//! request had cached. A first write is never a rebuild. A log does not say which text was written, so all of this
//! is an upper bound: a conversation that was rewound or rewritten may have new text in place of the old one.

use std::hash::BuildHasher;

use super::{
    key::Id,
    merge::{CompactPlace, Earliest, Merge},
    responses::Response,
};
use crate::{
    event,
    measure::{Price, Prices, Terms, Time, Tokens, Usd},
};

/// Position of a response or compaction in its conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    time: Earliest,
    place: CompactPlace,
    agent: AgentKey,
}

impl Position {
    pub(crate) fn new(place: CompactPlace, time: Option<Time>, agent: &event::Agent<'_>) -> Self {
        Self { time: time.into(), place, agent: AgentKey::of(agent) }
    }

    pub(super) fn time(&self) -> Option<Time> {
        self.time.get()
    }

    pub(super) fn place(&self) -> CompactPlace {
        self.place
    }
}

impl Default for Position {
    fn default() -> Self {
        Self { time: None.into(), place: CompactPlace::NOWHERE, agent: AgentKey::MAIN }
    }
}

impl Merge for Position {
    fn merge(&mut self, other: Self) {
        let Self { time, place, agent } = other;
        self.time.merge(time);
        self.place = self.place.min(place);
        self.agent = self.agent.max(agent);
    }
}

/// Which agent of a session a record belongs to, in eight bytes. Saved sessions name a subagent by its id and
/// printed runs by its call: of both, the larger key is kept, which is that of the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AgentKey(u64);

impl AgentKey {
    const MAIN: Self = Self(0);
    /// A subagent without call or id. All of them have this key, so their conversations cannot be told apart.
    const SIDE: Self = Self(1);
    const NAMED: u64 = 1 << 63;

    fn of(agent: &event::Agent<'_>) -> Self {
        // Equal in every run, so that the larger of two keys is.
        let hash = |text: &str| foldhash::quality::FixedState::with_seed(0).hash_one(text) & !Self::NAMED;
        match agent {
            event::Agent { id: Some(id), .. } => Self(hash(id) | Self::NAMED),
            event::Agent { call: Some(call), .. } => Self(hash(call).max(2)),
            event::Agent { sidechain: true, .. } => Self::SIDE,
            _ => Self::MAIN,
        }
    }
}

/// The cache-related events of a session, in no order.
#[derive(Default)]
pub(super) struct CacheHistory<'a>(Vec<(Position, Step<'a>)>);

/// A change of the cache.
enum Step<'a> {
    /// A row of a response that used it, and whether the session owns it: a fork has copies.
    Response(&'a (Id, Response), bool),
    Compaction,
}

/// A response that wrote tokens again.
pub(super) struct Rebuilt {
    pub(super) response: Id,
    /// The response before it, which had used the cache.
    pub(super) before: Id,
    /// The tokens that were written again.
    pub(super) tokens: u64,
    /// Tokens that were cached before.
    pub(super) cached: u64,
    /// Whether the conversation was compacted in between.
    pub(super) is_compacted: bool,
    /// Whether the last tokens that were written before were to be kept for an hour; otherwise for five minutes.
    pub(super) is_hour: bool,
    /// Cost beyond that of reading the tokens, if the model has a price.
    pub(super) cost: Option<Usd>,
}

impl<'a> CacheHistory<'a> {
    /// Adds a response, unless it did not use the cache.
    pub(super) fn respond(&mut self, row: &'a (Id, Response), is_own: bool) {
        let (_, response) = row;
        if response.cached() > 0 && response.position.agent != AgentKey::SIDE {
            self.0.push((response.position, Step::Response(row, is_own)));
        }
    }

    pub(super) fn compact(&mut self, position: Position) {
        self.0.push((position, Step::Compaction));
    }

    /// Returns the rebuilds of the session, by agent and time.
    pub(super) fn rebuilds(mut self, prices: &Prices) -> Vec<Rebuilt> {
        // Times are missing in printed runs of old versions. The order of sources means nothing then.
        let has_times = self.0.iter().all(|(position, _)| position.time.get().is_some());
        if has_times {
            self.0.sort_unstable_by_key(|(position, _)| (position.agent, position.time, position.place));
        } else {
            self.0.sort_unstable_by_key(|(position, _)| (position.agent, position.place));
        }
        let is_same = |one: &Position, two: &Position| {
            one.agent == two.agent && (has_times || one.place.source() == two.place.source())
        };
        let conversations = self.0.chunk_by(|(one, _), (two, _)| is_same(one, two));
        conversations.flat_map(|steps| rebuilds_of(steps, prices)).collect()
    }
}

/// Returns the rebuilds of one conversation.
fn rebuilds_of(steps: &[(Position, Step<'_>)], prices: &Prices) -> Vec<Rebuilt> {
    let mut rebuilds = Vec::new();
    let mut first = None;
    let mut last: Option<(Id, u64)> = None;
    let (mut is_compacted, mut is_hour) = (false, false);
    for (_, step) in steps {
        let &Step::Response(&(id, ref response), is_own) = step else {
            is_compacted = true;
            continue;
        };
        let tokens = response.tokens();
        let cached = response.cached();
        let first = *first.get_or_insert(cached);
        if let Some((before, held)) = last.replace((id, cached)) {
            let held = if is_compacted { held.min(first) } else { held };
            let again = (cached - tokens.cache_read).min(held.saturating_sub(tokens.cache_read));
            if again > 0 && is_own {
                let price = prices.find(response.billed_model());
                let cost = price.map(|price| extra_cost(price, &tokens, response.terms(), again));
                let (response, tokens, cached) = (id, again, held);
                rebuilds.push(Rebuilt { response, before, tokens, cached, is_compacted, is_hour, cost });
            }
        }
        is_compacted = false;
        // If both lifetimes were written, the shorter one ends first.
        if tokens.cache_write_5m > 0 || tokens.cache_write_1h > 0 {
            is_hour = tokens.cache_write_5m == 0;
        }
    }
    rebuilds
}

/// Returns the cost of writing tokens again beyond that of reading them. The beginning of a prompt is cached for
/// an hour if any part of it is, because the API demands that order.
fn extra_cost(price: &Price, tokens: &Tokens, terms: Terms, again: u64) -> Usd {
    let hour = again.min(tokens.cache_write_1h);
    let read = Tokens {
        cache_read: tokens.cache_read + again,
        cache_write_1h: tokens.cache_write_1h - hour,
        cache_write_5m: tokens.cache_write_5m - (again - hour),
        ..*tokens
    };
    let [written, read] = [tokens, &read].map(|tokens| price.cost(tokens, terms));
    Usd::from_nanos(written.nanos() - read.nanos())
}
