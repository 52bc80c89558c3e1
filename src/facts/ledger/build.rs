//! Facts become rows, once, at the end.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    Agent, At, Call, End, Entry, Ledger, Mark, Response, Session,
    split::{Part, Split},
};
use crate::{
    facts::{
        Facts, Name,
        calls::{self, Ending},
        cost::{Bill, NO_MODEL, Owners, bills, computed},
        detail::{self, Details, Moment, Seat, Whose},
        difference::differences,
        key::{Id, SessionKey},
        merge::Few,
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
        let run = self.run.take();
        self.end_run(run);
        for (id, response) in std::mem::take(&mut self.lanes).resolve() {
            self.responses.insert(id, response);
        }
        let details = self.details.take().unwrap_or_else(|| Box::new(Details::new(detail::Detail::Rows)));
        let differences = differences(&self.chain);
        let (bills, _) = bills(&self, &differences, prices);
        let mut book = Book::new(&self, &details, &bills);
        book.responses(prices);
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
        Ledger { input: self.input(), ..book.ledger }
    }
}

/// The ledger while it is written.
pub(super) struct Book<'a> {
    pub(super) facts: &'a Facts,
    pub(super) details: &'a Details,
    pub(super) owners: Owners<'a>,
    lines: Lines,
    pub(super) ledger: Ledger,
    pub(super) sessions: HashMap<&'a SessionKey, usize>,
    agents: HashMap<(usize, Whose), usize>,
    pub(super) responses: HashMap<Id, usize>,
    pub(super) calls: HashMap<Id, usize>,
    /// The tools that each response calls.
    tools: HashMap<Id, BTreeMap<Name, u64>>,
}

impl<'a> Book<'a> {
    fn new(facts: &'a Facts, details: &'a Details, bills: &[Bill<'a>]) -> Self {
        let mut book = Self {
            facts,
            details,
            owners: Owners::new(&facts.sessions),
            lines: Lines::of(facts),
            ledger: Ledger::default(),
            sessions: HashMap::new(),
            agents: HashMap::new(),
            responses: HashMap::new(),
            calls: HashMap::new(),
            tools: HashMap::new(),
        };
        book.sessions(bills);
        book.call_tools();
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
            self.sessions.insert(key, self.ledger.sessions.len());
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

    /// The session that something counts for.
    pub(super) fn session(&self, of: &Few<SessionKey>) -> usize {
        self.owners.owner(of).and_then(|key| self.sessions.get(key)).copied().unwrap_or(0)
    }

    pub(super) fn mark(&mut self, moment: &Moment) -> Mark {
        let session = self.session(&moment.sessions);
        let whose = moment.whose.get().copied().unwrap_or_default();
        let version =
            moment.version.get().or(self.ledger.sessions.get(session).and_then(|one| one.version.as_ref()));
        Mark {
            session,
            time: moment.time.get(),
            at: self.at(moment.seat),
            version: version.cloned(),
            agent: self.agent(session, whose),
        }
    }

    pub(super) fn at(&self, seat: Seat) -> Option<At> {
        seat.spot.is_somewhere().then(|| {
            let (source, offset) = (seat.source(), seat.spot.offset());
            At { source, line: self.lines.get(source, offset, u64::from(seat.line)), offset }
        })
    }

    /// The index of a subagent, which is known from its first row on; an id leads to the call where the log has both.
    pub(super) fn agent(&mut self, session: usize, whose: Whose) -> Option<usize> {
        let known = |id: Id| self.details.agents.get(id);
        let whose = match whose {
            Whose::Main => return None,
            Whose::Named(id) => {
                known(id).and_then(|agent| agent.call.get()).map_or(whose, |&call| Whose::Started(call))
            }
            other => other,
        };
        let told = match whose {
            Whose::Started(id) | Whose::Named(id) => known(id),
            Whose::Main | Whose::Side => None,
        };
        let agents = &mut self.ledger.agents;
        Some(*self.agents.entry((session, whose)).or_insert_with(|| {
            agents.push(Agent {
                session,
                id: told.and_then(|agent| agent.name.get()).cloned(),
                kind: told.and_then(|agent| agent.kind.get()).cloned(),
                call: None,
                parent: None,
            });
            agents.len() - 1
        }))
    }

    /// Which tools each response calls.
    fn call_tools(&mut self) {
        for (id, call) in self.facts.calls.iter() {
            let response =
                self.details.calls.get(id).and_then(|call| call.asked.get()).and_then(|asked| asked.response);
            if let (Some(response), Some(tool)) = (response, call.tool()) {
                let tool = tool.cloned().unwrap_or_else(|| Name::from(NO_TOOL));
                *self.tools.entry(response).or_default().entry(tool).or_default() += 1;
            }
        }
    }

    fn responses(&mut self, prices: &Prices) {
        let empty = detail::Response::default();
        let facts = self.facts;
        let mut all: Vec<_> = facts
            .responses
            .iter()
            .map(|(id, told)| (id, told, self.details.responses.get(id).unwrap_or(&empty)))
            .collect();
        all.sort_unstable_by_key(|(id, _, detail)| (detail.moment.seat, *id));
        for (id, told, detail) in all {
            let mut mark = self.mark(&detail.moment);
            mark.session = self.session(&told.sessions);
            let model =
                told.requested.get().or(told.model.get()).cloned().unwrap_or_else(|| Name::from(NO_MODEL));
            let tokens = told.tokens();
            let price = prices.cost(&model, &tokens, told.fast, told.in_us).filter(|_| told.has_usage);
            self.responses.insert(id, self.ledger.responses.len());
            let calls = self.tools.get(&id).map_or(0, |tools| tools.values().sum());
            self.ledger.responses.push(Response {
                mark,
                id: detail.id.get().cloned(),
                model,
                tokens,
                price,
                computed: computed(told, price),
                answered: told.model.get().cloned(),
                is_final: told.has_usage && (told.saved && told.stopped || told.delta),
                calls,
            });
        }
    }

    fn calls(&mut self) {
        let empty = detail::Call::default();
        let facts = self.facts;
        let mut all: Vec<_> = facts
            .calls
            .iter()
            .map(|(id, call)| (id, call, self.details.calls.get(id).unwrap_or(&empty)))
            .collect();
        all.sort_unstable_by_key(|(id, _, detail)| (detail.moment.seat, detail.answer.seat, *id));
        for (id, call, detail) in all {
            let Some(tool) = call.tool() else {
                let mark = self.mark(&detail.answer);
                self.ledger.orphans.push(mark);
                continue;
            };
            let mut mark = self.mark(&detail.moment);
            mark.time = mark.time.or(detail.answer.time.get());
            let asked = detail.asked.get();
            let response = asked.and_then(|asked| asked.response).and_then(|id| self.responses.get(&id));
            self.calls.insert(id, self.ledger.calls.len());
            self.ledger.calls.push(Call {
                mark,
                id: asked.and_then(|asked| asked.id.clone()),
                tool: tool.cloned().unwrap_or_else(|| Name::from(NO_TOOL)),
                model: response.map(|&at| Name::clone(&self.ledger.responses[at].model)),
                end: end(call, self.facts.denied.get(id).is_some()),
                latency: call.latency(),
                result_bytes: detail.answered.as_ref().map(|answered| answered.bytes),
                input: asked.map_or(0, |asked| asked.input),
                input_text: asked.and_then(|asked| asked.content.clone()),
                output_text: detail.answered.as_ref().and_then(|answered| answered.content.clone()),
            });
        }
    }

    fn entries(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        let mut parts: HashMap<usize, Vec<Part<'_>>> = HashMap::new();
        let responses = &self.ledger.responses;
        for (id, told) in self.facts.responses.iter() {
            let Some(&index) = self.responses.get(&id) else { continue };
            let response = &responses[index];
            parts.entry(response.mark.session).or_default().push(Part {
                index,
                response,
                computed: response.computed,
                has_usage: told.has_usage,
                fast: told.fast,
                in_us: told.in_us,
                tools: self.tools.remove(&id).unwrap_or_default(),
            });
        }
        let mut bills: Vec<(usize, &Bill<'_>)> =
            bills.iter().filter_map(|bill| Some((*self.sessions.get(bill.key)?, bill))).collect();
        bills.sort_unstable_by_key(|&(session, _)| session);
        let mut entries: Vec<Entry> = Vec::with_capacity(responses.len());
        for (session, bill) in bills {
            let mut parts = parts.remove(&session).unwrap_or_default();
            parts.sort_unstable_by_key(|part| part.index);
            Split { prices, session, parts, entries: &mut entries }.bill(bill);
        }
        self.ledger.entries = entries;
    }

    /// Who started whom.
    fn agents_tree(&mut self) {
        for (&(_, whose), &index) in &self.agents {
            let Whose::Started(call) = whose else { continue };
            let Some(&call) = self.calls.get(&call) else { continue };
            let parent = self.ledger.calls[call].mark.agent.filter(|&parent| parent != index);
            let agent = &mut self.ledger.agents[index];
            (agent.call, agent.parent) = (Some(call), parent);
        }
    }
}

fn end(call: &calls::Call, denied: bool) -> End {
    match call.ending() {
        _ if denied => End::Denied,
        Ending::Open => End::Open,
        Ending::Failed => End::Error,
        Ending::Ok => End::Ok,
    }
}

/// How many lines stand before each unit of each source: a row keeps only the line within its unit.
struct Lines(HashMap<SourceId, Vec<(u64, u64)>>);

impl Lines {
    fn of(facts: &Facts) -> Self {
        let mut units: HashMap<SourceId, Vec<(u64, u64)>> = HashMap::new();
        let mut before = 0;
        for (&(source, unit), lines) in &facts.units {
            let all = units.entry(source).or_default();
            before = if all.is_empty() { 0 } else { before };
            all.push((unit, before));
            before += lines;
        }
        Self(units)
    }

    /// The line of a record in its source, from 1.
    fn get(&self, source: SourceId, offset: u64, line: u64) -> u64 {
        let before = self.0.get(&source).map_or(0, |units| {
            let after = units.partition_point(|&(unit, _)| unit <= offset);
            after.checked_sub(1).map_or(0, |at| units[at].1)
        });
        before + line + 1
    }
}
