//! Facts become rows, once, at the end.

use std::collections::{BTreeMap, HashMap, HashSet, btree_map};

use hashbrown::hash_map::Entry;

use super::{
    Agent, AgentIndex, At, Call, CallIndex, End, Ledger, Mark, Response, ResponseIndex, Session,
    SessionIndex,
    split::{Part, Split},
};
use crate::{
    facts::{
        Facts, Hashed, Name,
        calls::{self, Ending},
        cost::{Bill, NO_MODEL, Owners, bills, computed},
        detail::{Detail, Details, Moment, Seat, Whose},
        difference::differences,
        key::{Id, SessionKey},
        merge::{Earliest, Merge, Spot},
        once::Records,
        responses,
        settle::NO_TOOL,
    },
    input::SourceId,
    measure::Prices,
};

impl Facts {
    /// Every row, for facts that keep rows.
    pub fn ledger(self, prices: &Prices) -> Ledger {
        self.written(prices, false)
    }

    /// The same, and of every session how its cost came about.
    pub fn explained(self, prices: &Prices) -> Ledger {
        self.written(prices, true)
    }

    fn written(mut self, prices: &Prices, explained: bool) -> Ledger {
        self.close();
        let input = self.input();
        let counted = self.counted();
        // Nearly half of what was kept for totals, and no row needs it.
        self.records = Records::default();
        let details = self.details.take().unwrap_or_else(|| Box::new(Details::new(Detail::ROWS)));
        let differences = differences(&self.chain);
        let (bills, _) = bills(&self, &differences, prices);
        let mut book = Book::new(&self, &details, &bills, counted);
        book.responses(prices);
        book.owed(prices, &bills);
        book.calls();
        book.entries(prices, &bills);
        if explained {
            book.explain(prices, &bills);
        }
        book.turns(&differences);
        book.denials();
        book.happenings(&differences);
        book.records();
        book.agents_tree();
        book.sources();
        let mut ledger = Ledger { input, ..book.ledger };
        if !explained {
            // What is explained is each figure by itself, also that of the lines that name no session.
            ledger.adopt();
        }
        ledger
    }
}

impl Facts {
    /// Which record counts for each uuid that ends a turn or tells of something that counts once.
    fn counted(&self) -> Hashed<Id, Spot> {
        let ends = self.chain.results.iter().filter_map(|end| end.uuid);
        let happened = self.details.iter().flat_map(|details| &details.happenings);
        let happened =
            happened.filter(|(_, one)| one.what.counts_per_record()).filter_map(|(_, one)| one.uuid);
        ends.chain(happened).filter_map(|uuid| Some((uuid, self.records.counted(uuid)?))).collect()
    }
}

/// The ledger while it is written.
pub(super) struct Book<'a> {
    pub(super) facts: &'a Facts,
    pub(super) details: &'a Details,
    pub(super) owners: Owners<'a>,
    pub(super) lines: Lines,
    pub(super) ledger: Ledger,
    pub(super) sessions: Hashed<&'a SessionKey, SessionIndex>,
    agents: Hashed<(Option<SessionIndex>, Whose), AgentIndex>,
    pub(super) responses: Hashed<Id, ResponseIndex>,
    pub(super) calls: Hashed<Id, CallIndex>,
    /// Where the record stands that counts for a uuid.
    pub(super) counted: Hashed<Id, Spot>,
    /// What the facts know of each response.
    pub(super) told: Vec<&'a responses::Response>,
    /// Index of the response, and tool, of each call.
    tools: Vec<(ResponseIndex, Name)>,
}

impl<'a> Book<'a> {
    fn new(facts: &'a Facts, details: &'a Details, bills: &[Bill<'a>], counted: Hashed<Id, Spot>) -> Self {
        let mut book = Self {
            facts,
            details,
            owners: Owners::new(facts),
            lines: Lines::of(facts),
            ledger: Ledger::default(),
            sessions: Hashed::default(),
            agents: Hashed::default(),
            responses: Hashed::default(),
            calls: Hashed::default(),
            counted,
            told: Vec::new(),
            tools: Vec::new(),
        };
        book.sessions(bills);
        book
    }

    fn sessions(&mut self, bills: &[Bill<'a>]) {
        let facts = self.facts;
        let bills: HashMap<&SessionKey, &Bill<'_>> = bills.iter().map(|bill| (bill.key, bill)).collect();
        let ended: HashSet<&SessionKey> = facts.chain.results.iter().map(|end| &end.session).collect();
        let mut all: Vec<_> = facts.sessions.iter().collect();
        all.sort_unstable_by_key(|(key, session)| (session.start, *key));
        for (key, session) in all {
            let bill = bills.get(key);
            let source = session.sources.iter().min().copied();
            let nameless = |source: &SourceId| ended.contains(&SessionKey::Nameless(*source));
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
                has_result: ended.contains(key) || session.sources.iter().any(nameless),
                complete: bill.is_none_or(|bill| !bill.is_unfinished() && bill.unpriced().next().is_none()),
                unpriced: bill.into_iter().flat_map(|bill| bill.unpriced().cloned()).collect(),
                steps: Vec::new(),
            });
        }
    }

    /// Where something stands that several records tell of.
    pub(super) fn mark(&mut self, gist: &Gist<'_>) -> Mark {
        self.mark_in(self.sessions.get(gist.owner).copied(), gist)
    }

    /// The same in a session that is known otherwise.
    fn mark_in(&mut self, session: Option<SessionIndex>, gist: &Gist<'_>) -> Mark {
        let Gist { first, owner: _, time, row: _ } = gist;
        let began = session.and_then(|session| self.ledger.sessions[session].version.as_ref());
        Mark {
            session,
            time: time.get(),
            at: self.at(first.seat),
            version: first.version.as_ref().or(began).cloned(),
            agent: self.agent(session, &first.whose),
        }
    }

    pub(super) fn at(&self, seat: Seat) -> Option<At> {
        seat.spot.is_somewhere().then(|| {
            let (source, offset) = (seat.source(), seat.spot.offset());
            At { source, line: self.lines.get(source, offset, u64::from(seat.line)), offset }
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
        let told_of = gists(&self.details.tellings, |telling| &telling.moment, &self.owners);
        self.ledger.responses.reserve(told_of.len());
        for (id, gist, telling) in told_of {
            let Some(told) = facts.responses.get(id) else { continue };
            // Events without an id tell of a response, but are no rows.
            let owner = self.owners.of_response(id, told).unwrap_or(gist.owner);
            let mark = self.mark_in(self.sessions.get(owner).copied(), &gist);
            let model =
                told.requested.get().or(told.model.get()).cloned().unwrap_or_else(|| Name::from(NO_MODEL));
            let tokens = told.tokens();
            let price = prices.cost(&model, &tokens, told.terms()).filter(|_| told.has_usage);
            self.responses.insert(id, ResponseIndex::new(self.ledger.responses.len()));
            self.told.push(told);
            self.ledger.responses.push(Response {
                mark,
                id: telling.id.clone(),
                model,
                tokens,
                price,
                computed: computed(told, price),
                owed: None,
                answered: told.model.get().cloned(),
                is_final: told.has_usage && (told.saved && told.stopped || told.delta),
                calls: 0,
            });
        }
    }

    /// One row a call, in the order of their asks.
    fn calls(&mut self) {
        let facts = self.facts;
        let asked = gists(&self.details.asks, |ask| &ask.moment, &self.owners);
        self.ledger.calls.reserve(asked.len());
        for (id, gist, ask) in asked {
            // A call belongs to the session of its response.
            let owner = ask.response.and_then(|id| self.owners.asked_by(id)).unwrap_or(gist.owner);
            let mark = self.mark_in(self.sessions.get(owner).copied(), &gist);
            let call = facts.calls.get(id);
            let tool =
                call.and_then(calls::Call::tool).flatten().cloned().unwrap_or_else(|| Name::from(NO_TOOL));
            let response = ask.response.and_then(|id| self.responses.get(&id)).copied();
            if let Some(at) = response {
                self.ledger.responses[at].calls += 1;
                self.tools.push((at, Name::clone(&tool)));
            }
            let content = self.details.contents.get(id);
            self.calls.insert(id, CallIndex::new(self.ledger.calls.len()));
            self.ledger.calls.push(Call {
                mark,
                id: ask.id.clone(),
                tool,
                model: response.map(|at| Name::clone(&self.ledger.responses[at].model)),
                end: end(call, facts.denied.get(id).is_some()),
                latency: call.and_then(calls::Call::latency),
                result_bytes: None,
                input: ask.input,
                input_text: content.and_then(|content| content.input.get()).cloned(),
                output_text: content.and_then(|content| content.output.get()).cloned(),
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
                        known.into_mut().add(&answer.moment, row, &self.owners)
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
            call.mark.time = call.mark.time.or(best.and_then(|(time, _)| time.get()));
        }
        for gist in orphans.into_values() {
            let mark = self.mark(&gist);
            self.ledger.orphans.push(mark);
        }
        self.ledger.orphans.sort_by_key(|mark| mark.at);
    }

    fn entries(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        let mut parts: Vec<Vec<Part<'_>>> = self.ledger.sessions.iter().map(|_| Vec::new()).collect();
        self.tools.sort();
        let mut tools = self.tools.chunk_by(|one, two| one.0 == two.0).peekable();
        for ((index, response), told) in ResponseIndex::each(&self.ledger.responses).zip(&self.told) {
            let own = tools.next_if(|tools| tools[0].0 == index).unwrap_or_default();
            let Some(session) = response.mark.session else { continue };
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
        let mut entries: Vec<super::Entry> = Vec::with_capacity(self.ledger.responses.len());
        for (session, bill) in bills {
            let parts = std::mem::take(&mut parts[session.get()]);
            let split = Split { prices, session, parts, entries: &mut entries };
            if self.details.kept.contains(Detail::RESPONSES) {
                split.bill(bill)
            } else {
                split.bill_by_model(bill)
            }
        }
        self.ledger.entries = entries;
    }

    /// Who started whom.
    fn agents_tree(&mut self) {
        for ((_, whose), &index) in &self.agents {
            let Whose::Started(call) = whose else { continue };
            let Some(&call) = self.calls.get(&Id::of(call)) else { continue };
            let parent = self.ledger.calls[call].mark.agent.filter(|&parent| parent != index);
            let agent = &mut self.ledger.agents[index];
            (agent.call, agent.parent) = (Some(call), parent);
        }
    }
}

fn end(call: Option<&calls::Call>, denied: bool) -> End {
    match call.map(calls::Call::ending) {
        _ if denied => End::Denied,
        Some(Ending::Failed) => End::Error,
        Some(Ending::Ok) => End::Ok,
        Some(Ending::Open) | None => End::Open,
    }
}

/// What several records tell of one thing: the first of them, its earliest time, and the session that owns it.
#[derive(Clone, Copy)]
pub(super) struct Gist<'m> {
    pub(super) first: &'m Moment,
    owner: &'m SessionKey,
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

/// How many lines stand before each unit of each source: a row keeps only the line within its unit.
pub(in crate::facts) struct Lines(HashMap<SourceId, Vec<(u64, u64)>>);

impl Lines {
    pub(in crate::facts) fn of(facts: &Facts) -> Self {
        let mut units: HashMap<SourceId, Vec<(u64, u64)>> = HashMap::new();
        let mut before = 0;
        // A unit within one long line has no line of its own, and nothing on that line is its.
        for (&(source, unit), lines) in facts.units.iter().filter(|(_, lines)| lines.count > 0) {
            let all = units.entry(source).or_default();
            before = if all.is_empty() { 0 } else { before };
            // What stands on a line belongs to the unit that the line begins in, wherever it stands itself.
            all.push((lines.first.unwrap_or(unit), before));
            before += lines.count;
        }
        Self(units)
    }

    /// The line of a record in its source, from 1.
    pub(in crate::facts) fn get(&self, source: SourceId, offset: u64, line: u64) -> u64 {
        let before = self.0.get(&source).map_or(0, |units| {
            let after = units.partition_point(|&(unit, _)| unit <= offset);
            after.checked_sub(1).map_or(0, |at| units[at].1)
        });
        before + line + 1
    }
}
