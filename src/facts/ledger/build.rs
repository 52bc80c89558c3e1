//! Facts become rows, once, at the end.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use hashbrown::hash_map::Entry;

use super::{
    Agent, AgentIndex, Call, CallIndex, Context, Ledger, Location, Response, ResponseIndex, Session,
    SessionIndex,
    split::{Part, Split},
};
use crate::{
    event::trace::QUESTION_TOOL,
    facts::{
        Facts, Hashed, Name,
        cost::{Bill, NO_MODEL, Owners, computed},
        detail::{Detail, Details, Moment, Seat, Whose},
        key::{Id, SessionKey},
        merge::{Earliest, Merge},
        responses,
        settled::{Settled, SettledCall},
    },
    input::SourceId,
    measure::Prices,
};

impl Facts {
    /// Makes the rows that were kept.
    pub fn ledger(mut self, prices: &Prices) -> Ledger {
        self.close();
        let records = std::mem::take(&mut self.records);
        let mut details = self.details.take().unwrap_or_else(|| Box::new(Details::new(Detail::ROWS)));
        let explained = details.kept.contains(Detail::COST_STEPS);
        let traces = std::mem::take(&mut details.traces);
        let settled = Settled::of(&self, &records);
        let input = settled.input(&records);
        // Nearly half of what was kept for totals, and only the rows of records need it from here on.
        let rows = std::mem::take(&mut details.records);
        let records = (!rows.is_empty()).then_some(records);
        let (bills, _) = settled.bills(prices);
        let mut book = Book::new(&settled, &details);
        book.settle_sessions(&bills);
        book.responses(prices);
        book.unbilled(prices, &bills);
        book.calls();
        book.charges(prices, &bills);
        if explained {
            book.explain(prices, &bills);
        }
        book.turns();
        book.denials();
        book.happenings();
        if let Some(records) = &records {
            book.records(rows, records);
        }
        book.traces(traces);
        book.agents_tree();
        book.sources();
        let mut ledger = Ledger { input, ..book.ledger };
        if !explained {
            // An explanation keeps the figures of records without a session apart.
            ledger.attach();
        }
        ledger
    }
}

/// The ledger while it is written.
pub(super) struct Book<'a> {
    pub(super) facts: &'a Facts,
    pub(super) details: &'a Details,
    pub(super) settled: &'a Settled<'a>,
    pub(super) ledger: Ledger,
    pub(super) sessions: Hashed<&'a SessionKey, SessionIndex>,
    agents: Hashed<(Option<SessionIndex>, Whose), AgentIndex>,
    pub(super) responses: Hashed<Id, ResponseIndex>,
    pub(super) calls: Hashed<Id, CallIndex>,
    /// What the facts know of each response.
    pub(super) told: Vec<&'a responses::Response>,
    /// Index of the response, and tool, of each call.
    tools: Vec<(ResponseIndex, Name)>,
}

impl<'a> Book<'a> {
    fn new(settled: &'a Settled<'a>, details: &'a Details) -> Self {
        let mut book = Self {
            facts: settled.facts,
            details,
            settled,
            ledger: Ledger::default(),
            sessions: Hashed::default(),
            agents: Hashed::default(),
            responses: Hashed::default(),
            calls: Hashed::default(),
            told: Vec::new(),
            tools: Vec::new(),
        };
        book.sessions();
        book
    }

    fn sessions(&mut self) {
        let mut all: Vec<_> = self.facts.sessions.iter().collect();
        all.sort_unstable_by_key(|(key, session)| (session.start, *key));
        for (key, session) in all {
            let source = session.sources.iter().min().copied();
            self.sessions.insert(key, SessionIndex::new(self.ledger.sessions.len()));
            self.ledger.sessions.push(Session {
                id: match key {
                    SessionKey::Named(id) => Some(Name::clone(id)),
                    SessionKey::Nameless(_) => None,
                },
                source: source.unwrap_or(SourceId(0)),
                project: session.cwd.get().cloned(),
                version: session.version.get().cloned(),
                started: session.start.get(),
                ended: session.end,
                streamed: session.streamed,
                has_result: self.settled.has_result(key, session),
                complete: true,
                unpriced: BTreeSet::new(),
                steps: Vec::new(),
            });
        }
    }

    /// Notes which sessions have a figure that is not complete.
    fn settle_sessions(&mut self, bills: &[Bill<'_>]) {
        for bill in bills {
            let Some(&at) = self.sessions.get(bill.key) else { continue };
            let session = &mut self.ledger.sessions[at];
            session.complete = bill.is_complete();
            session.unpriced = bill.unpriced().cloned().collect();
        }
    }

    /// Where something stands that several records tell of.
    pub(super) fn context(&mut self, gist: &Gist<'_>) -> Context {
        self.context_in(self.sessions.get(gist.owner).copied(), gist)
    }

    /// The same in a session that is known otherwise.
    fn context_in(&mut self, session: Option<SessionIndex>, gist: &Gist<'_>) -> Context {
        let Gist { first, owner: _, time, row: _ } = gist;
        let began = session.and_then(|session| self.ledger.sessions[session].version.as_ref());
        Context {
            session,
            time: time.get(),
            location: self.at(first.seat),
            version: first.version.as_ref().or(began).cloned(),
            agent: self.agent(session, &first.whose),
        }
    }

    pub(super) fn at(&self, seat: Seat) -> Option<Location> {
        seat.spot.is_somewhere().then(|| {
            let (source, offset) = (seat.source(), seat.spot.offset());
            Location { source, line: self.settled.lines.get(source, offset, u64::from(seat.line)), offset }
        })
    }

    /// The index of a subagent, which is known from its first row on; an id leads to the call where the log has both.
    pub(super) fn agent(&mut self, session: Option<SessionIndex>, whose: &Whose) -> Option<AgentIndex> {
        let known = |name: &Name| self.details.agents.get(Id::of(name));
        let whose = match whose {
            Whose::Main => return None,
            Whose::Named(id) => match known(id).and_then(|agent| agent.call.get()) {
                Some(call) => Whose::Started(Name::clone(call)),
                None => whose.clone(),
            },
            other => other.clone(),
        };
        let told = match &whose {
            Whose::Started(name) | Whose::Named(name) => known(name),
            Whose::Main | Whose::Side => None,
        };
        let agents = &mut self.ledger.agents;
        Some(*self.agents.entry((session, whose)).or_insert_with(|| {
            let index = AgentIndex::new(agents.len());
            agents.push(Agent {
                session,
                id: told.and_then(|agent| agent.id.get()).cloned(),
                kind: told.and_then(|agent| agent.kind.get()).cloned(),
                call: None,
                parent: None,
            });
            index
        }))
    }

    /// One row a response, made as it is first told of: rows that are told of together lie together.
    fn responses(&mut self, prices: &Prices) {
        let facts = self.facts;
        let told_of = gists(&self.details.tellings, |telling| &telling.moment, &self.settled.owners);
        self.ledger.responses.reserve(told_of.len());
        self.responses.reserve(told_of.len());
        for (id, gist, telling) in told_of {
            let Some(told) = facts.responses.get(id) else { continue };
            // Events without an id tell of a response, but are no rows.
            let owner = self.settled.owners.of_response(id, told).unwrap_or(gist.owner);
            let context = self.context_in(self.sessions.get(owner).copied(), &gist);
            let model =
                told.requested.get().or(told.model.get()).cloned().unwrap_or_else(|| Name::from(NO_MODEL));
            let tokens = told.tokens();
            let price = prices.cost(&model, &tokens, told.terms()).filter(|_| told.has_usage);
            self.responses.insert(id, ResponseIndex::new(self.ledger.responses.len()));
            self.told.push(told);
            self.ledger.responses.push(Response {
                context,
                id: telling.id.clone(),
                model,
                tokens,
                price,
                computed: computed(told, price),
                unbilled: None,
                answered: told.model.get().cloned(),
                is_final: told.has_usage && (told.saved && told.stopped || told.delta),
                calls: 0,
            });
        }
    }

    /// One row a call, in the order of their asks.
    fn calls(&mut self) {
        let asked = gists(&self.details.asks, |ask| &ask.moment, &self.settled.owners);
        self.ledger.calls.reserve(asked.len());
        self.calls.reserve(asked.len());
        for (id, gist, ask) in asked {
            // A call belongs to the session of its response.
            let owner = ask.response.and_then(|id| self.settled.owners.asked_by(id)).unwrap_or(gist.owner);
            let context = self.context_in(self.sessions.get(owner).copied(), &gist);
            let Some(SettledCall { tool, end, latency }) = self.settled.call(id) else { continue };
            let response = ask.response.and_then(|id| self.responses.get(&id)).copied();
            if let Some(at) = response {
                self.ledger.responses[at].calls += 1;
                self.tools.push((at, Name::clone(tool)));
            }
            let content = self.details.contents.get(id);
            // An answer may have been kept before it was known whose it is.
            let is_output = |_: &&Name| self.details.kept.contains(Detail::OUTPUTS) || tool == QUESTION_TOOL;
            let output_text = content.and_then(|content| content.output.get()).filter(is_output).cloned();
            self.calls.insert(id, CallIndex::new(self.ledger.calls.len()));
            self.ledger.calls.push(Call {
                context,
                id: ask.id.clone(),
                tool: Name::clone(tool),
                model: response.map(|at| Name::clone(&self.ledger.responses[at].model)),
                end,
                latency,
                result_bytes: None,
                input: ask.input,
                input_text: content.and_then(|content| content.input.get()).cloned(),
                output_text,
                used: content.and_then(|content| content.used.get()).cloned(),
            });
        }
        self.answers();
    }

    /// What the answers add to their calls; those without one are orphans.
    fn answers(&mut self) {
        // The answer that counts is the earliest, as for how the call ended.
        let mut best: Vec<Option<(Earliest, Seat)>> = vec![None; self.ledger.calls.len()];
        let mut orphans: BTreeMap<Id, Gist<'_>> = BTreeMap::new();
        for (row, (id, answer)) in self.details.answers.iter().enumerate() {
            let Some(&at) = self.calls.get(id) else {
                match orphans.entry(*id) {
                    btree_map::Entry::Occupied(known) => {
                        known.into_mut().add(&answer.moment, row, &self.settled.owners)
                    }
                    btree_map::Entry::Vacant(free) => drop(free.insert(Gist::of(&answer.moment, row))),
                }
                continue;
            };
            let rank = (answer.moment.time, answer.moment.seat);
            let best = &mut best[at.get()];
            if best.is_none_or(|best| rank < best) {
                *best = Some(rank);
                self.ledger.calls[at].result_bytes = Some(answer.bytes);
            }
        }
        for (call, best) in self.ledger.calls.iter_mut().zip(best) {
            call.context.time = call.context.time.or(best.and_then(|(time, _)| time.get()));
        }
        for gist in orphans.into_values() {
            let context = self.context(&gist);
            self.ledger.orphans.push(context);
        }
        self.ledger.orphans.sort_by_key(|context| context.location);
    }

    fn charges(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        let mut parts: Vec<Vec<Part<'_>>> = self.ledger.sessions.iter().map(|_| Vec::new()).collect();
        self.tools.sort();
        let mut tools = self.tools.chunk_by(|one, two| one.0 == two.0).peekable();
        for ((index, response), told) in ResponseIndex::each(&self.ledger.responses).zip(&self.told) {
            let own = tools.next_if(|tools| tools[0].0 == index).unwrap_or_default();
            let Some(session) = response.context.session else { continue };
            parts[session.get()].push(Part {
                index,
                response,
                computed: response.computed,
                has_usage: told.has_usage,
                terms: told.terms(),
                tools: own
                    .chunk_by(|one, two| one.1 == two.1)
                    .map(|same| (Name::clone(&same[0].1), same.len() as u64))
                    .collect(),
            });
        }
        let mut bills: Vec<(SessionIndex, &Bill<'_>)> =
            bills.iter().filter_map(|bill| Some((*self.sessions.get(bill.key)?, bill))).collect();
        bills.sort_unstable_by_key(|&(session, _)| session);
        let mut charges: Vec<super::Charge> = Vec::with_capacity(self.ledger.responses.len());
        for (session, bill) in bills {
            let parts = std::mem::take(&mut parts[session.get()]);
            let split = Split { prices, session, parts, charges: &mut charges };
            if self.details.kept.contains(Detail::RESPONSES) {
                split.bill(bill)
            } else {
                split.bill_by_model(bill)
            }
        }
        self.ledger.charges = charges;
    }

    /// Who started whom.
    fn agents_tree(&mut self) {
        for ((_, whose), &index) in &self.agents {
            let Whose::Started(call) = whose else { continue };
            let Some(&call) = self.calls.get(&Id::of(call)) else { continue };
            let parent = self.ledger.calls[call].context.agent.filter(|&parent| parent != index);
            let agent = &mut self.ledger.agents[index];
            (agent.call, agent.parent) = (Some(call), parent);
        }
    }
}

/// What several records tell of one thing: the first of them, its earliest time, and the session that owns it.
#[derive(Clone, Copy)]
pub(super) struct Gist<'m> {
    pub(super) first: &'m Moment,
    pub(super) owner: &'m SessionKey,
    time: Earliest,
    /// Which of the gathered rows is the first: those of one record were gathered in its order.
    row: usize,
}

impl<'m> Gist<'m> {
    fn of(moment: &'m Moment, row: usize) -> Self {
        Self { first: moment, owner: &moment.session, time: moment.time, row }
    }

    fn add(&mut self, moment: &'m Moment, row: usize, owners: &Owners<'_>) {
        self.time.merge(moment.time);
        if moment.seat < self.first.seat {
            (self.first, self.row) = (moment, row);
        }
        if *self.owner != moment.session {
            self.owner = owners.earlier(self.owner, &moment.session);
        }
    }

    /// Where it stands, also within a record.
    pub(super) fn order(&self) -> (Seat, usize) {
        (self.first.seat, self.row)
    }
}

/// Gathered rows, those of one identity together, in the order they stand: what they tell, and the first of them.
pub(super) fn gists<'m, T>(
    rows: &'m [(Id, T)],
    moment: impl Fn(&'m T) -> &'m Moment,
    owners: &Owners<'_>,
) -> Vec<(Id, Gist<'m>, &'m T)> {
    let mut index: Hashed<Id, usize> = Hashed::default();
    let mut gists: Vec<(Id, Gist<'m>, &'m T)> = Vec::new();
    for (at, (id, row)) in rows.iter().enumerate() {
        match index.entry(*id) {
            Entry::Occupied(known) => {
                let (_, gist, first) = &mut gists[*known.get()];
                gist.add(moment(row), at, owners);
                if moment(row).seat < moment(first).seat {
                    *first = row;
                }
            }
            Entry::Vacant(free) => {
                free.insert(gists.len());
                gists.push((*id, Gist::of(moment(row), at), row));
            }
        }
    }
    gists.sort_by_key(|(_, gist, _)| gist.order());
    gists
}
