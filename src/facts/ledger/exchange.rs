//! Exchanges: a prompt and the work that it started.
//!
//! Rows are assigned by time, because every version writes the times of prompts and of what follows them, and
//! copies of a record keep the earliest. Log order decides where times are missing or equal. `promptId` would
//! not help: only user lines have it, and only since 2.1.3xx. A subagent belongs to the exchange of the call
//! that started it, even if it ends after the next prompt.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{AgentIndex, Context, End, ExchangeIndex, Ledger, Location, PromptIndex, SessionIndex, Turn};
use crate::{
    input::SourceId,
    measure::{Millis, Time},
};

/// A prompt and everything up to the next one. A session without prompts, such as a printed run, has an
/// exchange for each turn instead, which ends with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its session, if known.
    pub session: Option<SessionIndex>,
    /// Its number in the session, from 1.
    pub number: u64,
    /// The prompt, unless a filter removed it.
    pub prompt: Option<PromptIndex>,
    /// Whether it begins with a prompt. If not, it ends with the result of a turn.
    pub begins: bool,
    /// Time of the prompt or of the result.
    pub time: Option<Time>,
    /// Location of the prompt or of the result.
    pub location: Option<Location>,
    /// Time of the prompt; of the first row if there is none.
    pub started: Option<Time>,
    /// Time of the last row of the main agent.
    pub ended: Option<Time>,
    /// How it ended, if calls and responses are kept.
    pub end: Option<ExchangeEnd>,
}

names! {
    /// How an exchange ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ExchangeEnd {
        /// The model answered, or the turn succeeded.
        Ok = "ok",
        /// The turn failed, or the API did.
        Error = "error",
        /// A call was denied, although the exchange did not fail.
        Denied = "denied",
        /// A person interrupted it.
        Interrupted = "interrupted",
        /// The log has no end of it: killed, or still running.
        Open = "open",
    }
}

/// The exchanges of one session.
#[derive(Clone, Debug)]
struct SessionExchanges {
    /// Their indices, in order of time.
    range: Range<usize>,
    begin: bool,
    /// Whether all of them have a time.
    timed: bool,
    /// Source and offset of each, sorted.
    places: Vec<(SourceId, u64, ExchangeIndex)>,
}

/// Finds the exchange of a row.
#[derive(Clone, Debug)]
pub struct Exchanges<'l> {
    ledger: &'l Ledger,
    sessions: BTreeMap<Option<SessionIndex>, SessionExchanges>,
}

impl Ledger {
    /// Builds the exchanges, and assigns subagents to them. How they ended is known if there are rows of calls
    /// and responses.
    pub(super) fn build_exchanges(&mut self, has_rows: bool) {
        let mut exchanges: Vec<Exchange> = PromptIndex::each(&self.prompts)
            .map(|(at, prompt)| Exchange { prompt: Some(at), ..exchange(&prompt.context, true) })
            .collect();
        let prompted: BTreeSet<Option<SessionIndex>> = exchanges.iter().map(|one| one.session).collect();
        let turns = self.turns.iter().filter(|turn: &&Turn| turn.counted);
        let turns = turns.filter(|turn| !prompted.contains(&turn.context.session));
        exchanges.extend(turns.map(|turn| exchange(&turn.context, false)));
        exchanges.sort_by_key(|one| (one.session, one.time.is_none(), one.time, one.location));
        for session in exchanges.chunk_by_mut(|one, two| one.session == two.session) {
            session.iter_mut().zip(1..).for_each(|(one, number)| one.number = number);
        }
        self.exchanges = exchanges;
        for (agent, exchange) in self.exchanges_of_agents() {
            self.agents[agent].exchange = exchange;
        }
        let signs = self.signs();
        for (exchange, signs) in self.exchanges.iter_mut().zip(signs) {
            exchange.started = exchange.started.or(signs.first);
            exchange.ended = signs.last;
            exchange.end = has_rows.then(|| signs.end());
        }
    }

    /// Collects the rows that say how each exchange ended.
    fn signs(&self) -> Vec<Signs> {
        let exchanges = Exchanges::of(self);
        let mut all = vec![Signs::default(); self.exchanges.len()];
        let mut note = |context: &Context, note: &dyn Fn(&mut Signs, Order)| {
            if let Some(at) = exchanges.find(context) {
                note(&mut all[at.get()], (context.time, context.location));
            }
        };
        for response in self.responses.iter().filter(|one| one.context.agent.is_none()) {
            note(&response.context, &|signs, order| {
                signs.time(&response.context, None);
                signs.answer = signs.answer.max(Some((order, response.calls > 0)));
            });
        }
        for call in &self.calls {
            note(&call.context, &|signs, _| {
                signs.time(&call.context, call.latency);
                signs.denied |= call.end == End::Denied;
            });
        }
        for failure in self.api_failures.iter().filter(|failure| !failure.retried) {
            note(&failure.context, &|signs, order| {
                signs.time(&failure.context, None);
                signs.failure = signs.failure.max(Some(order));
            });
        }
        for turn in self.turns.iter().filter(|turn| turn.counted) {
            note(&turn.context, &|signs, order| {
                signs.time(&turn.context, None);
                signs.turn = signs.turn.max(Some((order, turn.ok)));
            });
        }
        for interruption in &self.interruptions {
            note(interruption, &|signs, _| {
                signs.time(interruption, None);
                signs.interrupted = true;
            });
        }
        all
    }

    /// Returns the exchange in which each subagent was started, by its main agent or by another subagent.
    fn exchanges_of_agents(&self) -> Vec<(AgentIndex, Option<ExchangeIndex>)> {
        let exchanges = Exchanges::of(self);
        let mut found: Vec<Option<Option<ExchangeIndex>>> = vec![None; self.agents.len()];
        for (agent, _) in AgentIndex::each(&self.agents) {
            // A log may nest subagents deeply, or in a circle.
            let mut path = Vec::new();
            let mut next = Some(agent);
            let exchange = loop {
                let Some(at) = next else { break None };
                if let Some(known) = found[at.get()] {
                    break known;
                }
                found[at.get()] = Some(None);
                path.push(at);
                let one = &self.agents[at];
                if let (None, Some(call)) = (one.parent, one.call) {
                    break exchanges.find(&self.calls[call].context);
                }
                next = one.parent;
            };
            path.into_iter().for_each(|at| found[at.get()] = Some(exchange));
        }
        AgentIndex::each(&self.agents).map(|(at, _)| at).zip(found.into_iter().map(Option::flatten)).collect()
    }
}

fn exchange(context: &Context, begins: bool) -> Exchange {
    let &Context { session, time, location, .. } = context;
    let started = time.filter(|_| begins);
    Exchange { session, number: 0, prompt: None, begins, time, location, started, ended: None, end: None }
}

/// Position of a row among the rows of an exchange.
type Order = (Option<Time>, Option<Location>);

/// The rows of an exchange that say how it ended.
#[derive(Clone, Debug, Default)]
struct Signs {
    first: Option<Time>,
    last: Option<Time>,
    /// The last response of the main agent, and whether it has calls.
    answer: Option<(Order, bool)>,
    /// The last failure of the API that was not retried.
    failure: Option<Order>,
    /// Whether the last turn succeeded.
    turn: Option<(Order, bool)>,
    denied: bool,
    interrupted: bool,
}

impl Signs {
    fn time(&mut self, context: &Context, took: Option<Millis>) {
        let Some(time) = context.time.filter(|_| context.agent.is_none()) else { return };
        self.first = self.first.into_iter().chain([time]).min();
        let end = took.map_or(time, |took| time.plus(took));
        self.last = self.last.max(Some(end));
    }

    fn end(&self) -> ExchangeEnd {
        let calm = if self.denied { ExchangeEnd::Denied } else { ExchangeEnd::Ok };
        let answered = self.answer.map(|(order, _)| order);
        match (self.turn, self.answer) {
            _ if self.interrupted => ExchangeEnd::Interrupted,
            (Some((_, true)), _) => calm,
            (Some((_, false)), _) => ExchangeEnd::Error,
            _ if self.failure.is_some() && self.failure >= answered => ExchangeEnd::Error,
            // A response without calls ends a turn.
            (None, Some((_, false))) => calm,
            (None, _) => ExchangeEnd::Open,
        }
    }
}

impl<'l> Exchanges<'l> {
    /// Indexes the exchanges of a ledger.
    pub fn of(ledger: &'l Ledger) -> Self {
        let mut sessions = BTreeMap::new();
        let mut start = 0;
        for all in ledger.exchanges.chunk_by(|one, two| one.session == two.session) {
            let range = start..start + all.len();
            start = range.end;
            let place = |(at, one): (usize, &Exchange)| {
                one.location.map(|location| (location.source, location.offset, ExchangeIndex::new(at)))
            };
            let mut places: Vec<_> = range.clone().zip(all).filter_map(place).collect();
            places.sort_unstable();
            let (begin, timed) = (all[0].begins, all.iter().all(|one| one.time.is_some()));
            sessions.insert(all[0].session, SessionExchanges { range, begin, timed, places });
        }
        Self { ledger, sessions }
    }

    /// Returns the exchange of a row; `None` for what comes before the first prompt or after the last turn.
    pub fn find(&self, context: &Context) -> Option<ExchangeIndex> {
        if let Some(exchange) = context.agent.and_then(|agent| self.ledger.agents[agent].exchange) {
            return Some(exchange);
        }
        let session = self.sessions.get(&context.session)?;
        let by_place = || session.by_place(context.location?);
        let by_time = || Some(self.by_time(session, context.time?, context.location));
        let found = if session.timed && session.begin {
            by_time().or_else(by_place)
        } else {
            // The time of a result is an estimate.
            by_place().or_else(by_time)
        };
        // If neither is known, it can only belong to the one exchange of its session.
        found.unwrap_or_else(|| (session.range.len() == 1).then(|| ExchangeIndex::new(session.range.start)))
    }

    fn by_time(
        &self,
        session: &SessionExchanges,
        time: Time,
        location: Option<Location>,
    ) -> Option<ExchangeIndex> {
        let all = &self.ledger.exchanges[session.range.clone()];
        // If times are equal, log order decides within a source.
        let is_before = |one: &Exchange| match (one.time, one.location, location) {
            (Some(own), Some(place), Some(at)) if own == time && place.source == at.source => {
                if session.begin { place.offset <= at.offset } else { place.offset < at.offset }
            }
            (Some(own), ..) => own < time || own == time && session.begin,
            (None, ..) => false,
        };
        session.at(all.partition_point(is_before))
    }
}

impl SessionExchanges {
    /// Returns the exchange of a location. `None` if no prompt or result is in its source.
    fn by_place(&self, at: Location) -> Option<Option<ExchangeIndex>> {
        let start = self.places.partition_point(|&(source, ..)| source < at.source);
        let end = self.places.partition_point(|&(source, ..)| source <= at.source);
        let places = &self.places[start..end];
        let is_before = |&(_, offset, _): &(SourceId, u64, ExchangeIndex)| {
            offset < at.offset || self.begin && offset == at.offset
        };
        let before = places.partition_point(is_before);
        let position = if self.begin { before.checked_sub(1) } else { Some(before) };
        let found = position.and_then(|position| places.get(position)).map(|&(.., index)| index);
        (!places.is_empty()).then_some(found)
    }

    /// Returns the exchange of something that comes after `before` prompts or results.
    fn at(&self, before: usize) -> Option<ExchangeIndex> {
        let position = if self.begin { before.checked_sub(1)? } else { before };
        (position < self.range.len()).then(|| ExchangeIndex::new(self.range.start + position))
    }
}
