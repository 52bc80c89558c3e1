//! Facts become rows, once, at the end.

use std::collections::{HashMap, HashSet};

use super::{
    Agent, At, Call, End, Entry, Ledger, Mark, Response, Session,
    split::{Part, Split},
};
use crate::{
    facts::{
        Facts, Hashed, Name,
        calls::{self, Ending},
        cost::{Bill, NO_MODEL, Owners, bills, computed},
        detail::{Detail, Details, Gathered, Moment, Seat, Whose},
        difference::differences,
        key::{Id, SessionKey},
        merge::{Earliest, Merge},
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
        let details = self.details.take().unwrap_or_else(|| Box::new(Details::new(Detail::Rows)));
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
    pub(super) sessions: Hashed<&'a SessionKey, usize>,
    agents: Hashed<(usize, Whose), usize>,
    pub(super) responses: Hashed<Id, usize>,
    pub(super) calls: Hashed<Id, usize>,
    /// Response and tool of each call.
    tools: Gathered<Name>,
}

impl<'a> Book<'a> {
    fn new(facts: &'a Facts, details: &'a Details, bills: &[Bill<'a>]) -> Self {
        let mut book = Self {
            facts,
            details,
            owners: Owners::new(&facts.sessions),
            lines: Lines::of(facts),
            ledger: Ledger::default(),
            sessions: Hashed::default(),
            agents: Hashed::default(),
            responses: Hashed::default(),
            calls: Hashed::default(),
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

    /// Where something stands that several records tell of: first place, earliest time, and the session that owns it.
    pub(super) fn mark<'m>(&mut self, moments: impl Iterator<Item = &'m Moment>) -> Mark {
        let (mut first, mut owner, mut time) = (None::<&Moment>, None::<&SessionKey>, Earliest::default());
        for moment in moments {
            time.merge(moment.time);
            if first.is_none_or(|first| moment.seat < first.seat) {
                first = Some(moment);
            }
            owner = match owner {
                Some(owner) if *owner != moment.session => Some(self.owners.earlier(owner, &moment.session)),
                _ => Some(&moment.session),
            };
        }
        let session = owner.and_then(|key| self.sessions.get(key)).copied().unwrap_or(0);
        let Some(first) = first else { return Mark { session, ..Mark::default() } };
        let began = self.ledger.sessions.get(session).and_then(|one| one.version.as_ref());
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
    pub(super) fn agent(&mut self, session: usize, whose: &Whose) -> Option<usize> {
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
            agents.push(Agent {
                session,
                id: told.and_then(|agent| agent.id.get()).cloned(),
                kind: told.and_then(|agent| agent.kind.get()).cloned(),
                call: None,
                parent: None,
            });
            agents.len() - 1
        }))
    }

    fn responses(&mut self, prices: &Prices) {
        let facts = self.facts;
        let tellings = Groups::of(&self.details.tellings);
        let mut all: Vec<_> = facts
            .responses
            .iter()
            .map(|(id, told)| (tellings.of_one(id).map(|one| one.moment.seat).min(), id, told))
            .collect();
        all.sort_unstable_by_key(|&(seat, id, _)| (seat.is_none(), seat, id));
        self.ledger.responses.reserve(all.len());
        for (_, id, told) in all {
            let mut mark = self.mark(tellings.of_one(id).map(|one| &one.moment));
            // Events without an id tell of a response, but are no rows.
            let owner = self.owners.owner(&told.sessions);
            mark.session = owner.and_then(|key| self.sessions.get(key)).copied().unwrap_or(mark.session);
            let model =
                told.requested.get().or(told.model.get()).cloned().unwrap_or_else(|| Name::from(NO_MODEL));
            let tokens = told.tokens();
            let price = prices.cost(&model, &tokens, told.fast, told.in_us).filter(|_| told.has_usage);
            self.responses.insert(id, self.ledger.responses.len());
            self.ledger.responses.push(Response {
                mark,
                id: tellings.of_one(id).find_map(|one| one.id.clone()),
                model,
                tokens,
                price,
                computed: computed(told, price),
                answered: told.model.get().cloned(),
                is_final: told.has_usage && (told.saved && told.stopped || told.delta),
                calls: 0,
            });
        }
    }

    fn calls(&mut self) {
        let facts = self.facts;
        let (asks, answers) = (Groups::of(&self.details.asks), Groups::of(&self.details.answers));
        let mut all: Vec<_> = facts
            .calls
            .iter()
            .map(|(id, call)| (asks.of_one(id).min_by_key(|ask| ask.moment.seat), id, call))
            .collect();
        all.sort_unstable_by_key(|(ask, id, _)| (ask.map(|ask| ask.moment.seat), *id));
        self.ledger.calls.reserve(all.len());
        for (ask, id, call) in all {
            let Some(tool) = call.tool() else {
                let mark = self.mark(answers.of_one(id).map(|one| &one.moment));
                self.ledger.orphans.push(mark);
                continue;
            };
            let tool = tool.cloned().unwrap_or_else(|| Name::from(NO_TOOL));
            let mut mark = self.mark(asks.of_one(id).map(|one| &one.moment));
            // The answer that counts is the earliest, as for its ending.
            let answer = answers.of_one(id).min_by_key(|one| (one.moment.time, one.moment.seat));
            mark.time = mark.time.or(answer.and_then(|one| one.moment.time.get()));
            let response = ask.and_then(|ask| ask.response);
            let of = response.and_then(|id| self.responses.get(&id)).copied();
            if let (Some(id), Some(at)) = (response, of) {
                self.ledger.responses[at].calls += 1;
                self.tools.push((id, Name::clone(&tool)));
            }
            let content = self.details.contents.get(id);
            self.calls.insert(id, self.ledger.calls.len());
            self.ledger.calls.push(Call {
                mark,
                id: ask.and_then(|ask| ask.id.clone()),
                tool,
                model: of.map(|at| Name::clone(&self.ledger.responses[at].model)),
                end: end(call, facts.denied.get(id).is_some()),
                latency: call.latency(),
                result_bytes: answer.map(|one| one.bytes),
                input: ask.map_or(0, |ask| ask.input),
                input_text: content.and_then(|content| content.input.get()).cloned(),
                output_text: content.and_then(|content| content.output.get()).cloned(),
            });
        }
    }

    fn entries(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        let mut parts: Vec<Vec<Part<'_>>> = self.ledger.sessions.iter().map(|_| Vec::new()).collect();
        let (responses, tools) = (&self.ledger.responses, Groups::of(&self.tools));
        for (id, told) in self.facts.responses.iter() {
            let Some(&index) = self.responses.get(&id) else { continue };
            let response = &responses[index];
            parts[response.mark.session].push(Part {
                index,
                response,
                computed: response.computed,
                has_usage: told.has_usage,
                fast: told.fast,
                in_us: told.in_us,
                tools: counted(tools.of_one(id)),
            });
        }
        let mut bills: Vec<(usize, &Bill<'_>)> =
            bills.iter().filter_map(|bill| Some((*self.sessions.get(bill.key)?, bill))).collect();
        bills.sort_unstable_by_key(|&(session, _)| session);
        let mut entries: Vec<Entry> = Vec::with_capacity(responses.len());
        for (session, bill) in bills {
            let mut parts = std::mem::take(&mut parts[session]);
            parts.sort_unstable_by_key(|part| part.index);
            Split { prices, session, parts, entries: &mut entries }.bill(bill);
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

/// Names and how often each comes, in the order of the names.
fn counted<'n>(names: impl Iterator<Item = &'n Name>) -> Vec<(Name, u64)> {
    let mut counts: Vec<(Name, u64)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((Name::clone(name), 1)),
        }
    }
    counts.sort_unstable();
    counts
}

fn end(call: &calls::Call, denied: bool) -> End {
    match call.ending() {
        _ if denied => End::Denied,
        Ending::Open => End::Open,
        Ending::Failed => End::Error,
        Ending::Ok => End::Ok,
    }
}

/// Gathered rows by identity: the last of each, and from each the one before.
pub(super) struct Groups<'r, T> {
    rows: &'r [(Id, T)],
    last: Hashed<Id, usize>,
    before: Vec<usize>,
}

impl<'r, T> Groups<'r, T> {
    pub(super) fn of(rows: &'r [(Id, T)]) -> Self {
        let mut last = Hashed::with_capacity_and_hasher(rows.len(), foldhash::fast::RandomState::default());
        let before =
            rows.iter().zip(0..).map(|((id, _), at)| last.insert(*id, at).unwrap_or(usize::MAX)).collect();
        Self { rows, last, before }
    }

    /// The rows of one identity, in no order.
    pub(super) fn of_one(&self, id: Id) -> impl Iterator<Item = &'r T> {
        let first = self.last.get(&id).copied();
        let chain = std::iter::successors(first, |&at| Some(self.before[at]).filter(|&at| at != usize::MAX));
        chain.map(|at| &self.rows[at].1)
    }

    /// Of each identity the row that stands first.
    pub(super) fn firsts(&self, seat: impl Fn(&T) -> Seat) -> impl Iterator<Item = (Id, &'r T)> {
        self.last.keys().filter_map(move |&id| Some((id, self.of_one(id).min_by_key(|one| seat(one))?)))
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
