//! Builds the ledger from facts, at the end.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use hashbrown::hash_map::Entry;

use super::{
    Agent, AgentIndex, Call, CallIndex, Context, Ledger, Location, ResponseIndex, Session, SessionIndex,
    split::{Part, Split},
};
use crate::{
    event::trace::QUESTION_TOOL,
    facts::{
        Facts, Hashed, Name,
        cost::{Bill, Owners},
        detail::{AgentRef, Detail, Details, EventContext, ExcerptOf, LinePlace, RecordOwners},
        key::{Id, SessionKey},
        merge::{Earliest, Last, Merge},
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
        let kept = details.kept;
        let explained = kept.contains(Detail::COST_STEPS);
        let traces = std::mem::take(&mut details.traces);
        let moments = std::mem::take(&mut details.moments);
        let settled = Settled::of(&self, &records);
        let input = settled.input(&records);
        // Nearly half of the memory; only the rows of records need it from here on.
        let rows = std::mem::take(&mut details.records);
        let records = (!rows.is_empty()).then_some(records);
        let (bills, _) = settled.bills(prices);
        let mut builder = LedgerBuilder::new(&settled, &details, input.copies > 0);
        builder.settle_sessions(&bills);
        builder.responses(prices);
        builder.unbilled(prices, &bills);
        builder.calls();
        builder.charges(prices, &bills);
        if explained {
            builder.explain(prices, &bills);
        }
        builder.found();
        builder.turns();
        builder.denials();
        builder.session_events();
        if let Some(records) = &records {
            builder.records(rows, records);
        }
        builder.traces(traces);
        builder.rebuilds(&bills);
        builder.moments(moments);
        builder.link_agents();
        builder.sources();
        let is_attributed = kept.contains(Detail::ATTRIBUTION);
        let has_content = kept.intersects(Detail::CONTENT);
        let mut ledger = Ledger { input, has_content, ..builder.ledger };
        if !explained {
            // An explanation keeps the figures of records without a session apart.
            ledger.attach();
        }
        if is_attributed {
            ledger.settle_attributions();
        }
        if kept.contains(Detail::EVENTS) {
            ledger.build_exchanges(kept.contains(Detail::CALLS | Detail::RESPONSES));
        }
        ledger
    }
}

pub(super) struct LedgerBuilder<'a> {
    pub(super) facts: &'a Facts,
    pub(super) details: &'a Details,
    pub(super) settled: &'a Settled<'a>,
    pub(super) ledger: Ledger,
    pub(super) sessions: Hashed<&'a SessionKey, SessionIndex>,
    agents: Hashed<(Option<SessionIndex>, AgentRef), AgentIndex>,
    pub(super) responses: Hashed<Id, ResponseIndex>,
    pub(super) calls: Hashed<Id, CallIndex>,
    /// The facts of each response in the ledger.
    pub(super) response_facts: Vec<&'a responses::Response>,
    /// Response and tool of each call.
    tools: Vec<(ResponseIndex, Name)>,
}

impl<'a> LedgerBuilder<'a> {
    fn new(settled: &'a Settled<'a>, details: &'a Details, has_copies: bool) -> Self {
        let mut builder = Self {
            facts: settled.facts,
            details,
            settled,
            ledger: Ledger::default(),
            sessions: Hashed::default(),
            agents: Hashed::default(),
            responses: Hashed::default(),
            calls: Hashed::default(),
            response_facts: Vec::new(),
            tools: Vec::new(),
        };
        builder.sessions(has_copies);
        builder
    }

    fn sessions(&mut self, has_copies: bool) {
        let titles = self.details.titles.settle();
        let mut records = RecordOwners::new(has_copies);
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
                machine: None,
                version: session.version.get().cloned(),
                started: session.start.get(),
                ended: session.end.map(|Last(end)| end),
                streamed: session.streamed,
                has_result: self.settled.has_result(key, session),
                last_message: session.last.map(|Last(message)| message.kind),
                complete: true,
                unpriced: BTreeSet::new(),
                steps: Vec::new(),
                title: titles.title(key),
                last_prompt: titles.last_prompt(key),
                times: records.own(&session.times),
            });
        }
    }

    /// Sets which sessions have an incomplete cost.
    fn settle_sessions(&mut self, bills: &[Bill<'_>]) {
        for bill in bills {
            let Some(&at) = self.sessions.get(bill.key) else { continue };
            let session = &mut self.ledger.sessions[at];
            session.complete = bill.is_complete();
            session.unpriced = bill.unpriced().cloned().collect();
        }
    }

    /// Returns the context of merged rows.
    pub(super) fn context(&mut self, merged: &Merged<'_>) -> Context {
        self.context_in(self.sessions.get(merged.owner).copied(), merged)
    }

    /// Returns the context of merged rows in a given session.
    pub(super) fn context_in(&mut self, session: Option<SessionIndex>, merged: &Merged<'_>) -> Context {
        let Merged { first, owner: _, time, branch, row: _ } = merged;
        let began = session.and_then(|session| self.ledger.sessions[session].version.as_ref());
        Context {
            session,
            time: time.get(),
            location: self.location(first.place),
            version: first.version.as_ref().or(began).cloned(),
            agent: self.agent(session, &first.agent),
            branch: branch.map(|(_, branch)| Name::clone(branch)),
        }
    }

    pub(super) fn location(&self, place: LinePlace) -> Option<Location> {
        place.compact.is_somewhere().then(|| {
            let (source, offset) = (place.source(), place.compact.offset());
            Location { source, line: self.settled.lines.get(source, offset, u64::from(place.line)), offset }
        })
    }

    /// Returns the index of a subagent and creates its row if needed. An id is replaced by the call that
    /// started the subagent if the log has both.
    pub(super) fn agent(
        &mut self,
        session: Option<SessionIndex>,
        agent_ref: &AgentRef,
    ) -> Option<AgentIndex> {
        let known = |name: &Name| self.details.agents.get(Id::of(name));
        let agent_ref = match agent_ref {
            AgentRef::Main => return None,
            AgentRef::Named(id) => match known(id).and_then(|agent| agent.call.get()) {
                Some(call) => AgentRef::Started(Name::clone(call)),
                None => agent_ref.clone(),
            },
            other => other.clone(),
        };
        let agent = match &agent_ref {
            AgentRef::Started(name) | AgentRef::Named(name) => known(name),
            AgentRef::Main | AgentRef::Side => None,
        };
        let agents = &mut self.ledger.agents;
        Some(*self.agents.entry((session, agent_ref)).or_insert_with(|| {
            let index = AgentIndex::new(agents.len());
            agents.push(Agent {
                session,
                id: agent.and_then(|agent| agent.id.get()).cloned(),
                kind: agent.and_then(|agent| agent.kind.get()).cloned(),
                call: None,
                parent: None,
                exchange: None,
            });
            index
        }))
    }

    /// Adds a row per call, in the order of the `tool_use` blocks.
    fn calls(&mut self) {
        let asked = merged_rows(&self.details.tool_uses, |ask| &ask.context, &self.settled.owners);
        self.ledger.calls.reserve(asked.len());
        let has_contents = self.details.contents.len() > 0;
        self.calls.reserve(asked.len());
        for (id, merged, ask) in asked {
            // A call belongs to the session of its response.
            let owner = ask.response.and_then(|id| self.settled.owners.asked_by(id)).unwrap_or(merged.owner);
            let context = self.context_in(self.sessions.get(owner).copied(), &merged);
            let Some(SettledCall { tool, end, latency }) = self.settled.call(id) else { continue };
            let response = ask.response.and_then(|id| self.responses.get(&id)).copied();
            if let Some(at) = response {
                self.ledger.responses[at].calls += 1;
                self.tools.push((at, Name::clone(tool)));
            }
            let content = has_contents.then(|| self.details.contents.get(id)).flatten();
            // A result may have been kept before its tool was known.
            let is_output = |_: &&Name| self.details.kept.contains(Detail::OUTPUTS) || tool == QUESTION_TOOL;
            let output_text = content.and_then(|content| content.output.get()).filter(is_output).cloned();
            self.calls.insert(id, CallIndex::new(self.ledger.calls.len()));
            self.ledger.calls.push(Call {
                context,
                id: ask.id.clone(),
                tool: Name::clone(tool),
                model: response.map(|at| Name::clone(&self.ledger.responses[at].model)),
                response,
                end,
                latency,
                result_bytes: None,
                input: ask.input,
                input_text: content.and_then(|content| content.input.get()).cloned(),
                output_text,
                used: content.and_then(|content| content.used.get()).cloned(),
                brief: self.details.excerpt(ExcerptOf::Input, id),
                failure: self.details.excerpt(ExcerptOf::Failure, id),
                run_time: content.and_then(|content| content.run_time.get()).copied(),
            });
        }
        self.answers();
    }

    /// Adds the results to their calls. Results without a call are orphans.
    fn answers(&mut self) {
        // The earliest result counts, as for how the call ended.
        let mut best: Vec<Option<(Earliest, LinePlace)>> = vec![None; self.ledger.calls.len()];
        let mut orphans: BTreeMap<Id, Merged<'_>> = BTreeMap::new();
        for (row, (id, answer)) in self.details.tool_results.iter().enumerate() {
            let Some(&at) = self.calls.get(id) else {
                match orphans.entry(*id) {
                    btree_map::Entry::Occupied(known) => {
                        known.into_mut().add(&answer.context, row, &self.settled.owners)
                    }
                    btree_map::Entry::Vacant(free) => drop(free.insert(Merged::of(&answer.context, row))),
                }
                continue;
            };
            let rank = (answer.context.time, answer.context.place);
            let best = &mut best[at.get()];
            if best.is_none_or(|best| rank < best) {
                *best = Some(rank);
                self.ledger.calls[at].result_bytes = Some(answer.bytes);
            }
        }
        for (call, best) in self.ledger.calls.iter_mut().zip(best) {
            call.context.time = call.context.time.or(best.and_then(|(time, _)| time.get()));
        }
        for merged in orphans.into_values() {
            let context = self.context(&merged);
            self.ledger.orphans.push(context);
        }
        self.ledger.orphans.sort_by_key(|context| context.location);
    }

    fn charges(&mut self, prices: &Prices, bills: &[Bill<'_>]) {
        let mut parts: Vec<Vec<Part<'_>>> = self.ledger.sessions.iter().map(|_| Vec::new()).collect();
        self.tools.sort();
        let mut tools = self.tools.chunk_by(|one, two| one.0 == two.0).peekable();
        for ((index, response), facts) in
            ResponseIndex::each(&self.ledger.responses).zip(&self.response_facts)
        {
            let own = tools.next_if(|tools| tools[0].0 == index).unwrap_or_default();
            let Some(session) = response.context.session else { continue };
            parts[session.get()].push(Part {
                index,
                response,
                computed: response.computed,
                has_usage: facts.has_usage,
                terms: facts.terms(),
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
            if self.details.kept.intersects(Detail::RESPONSES | Detail::CHARGES) {
                split.bill(bill)
            } else {
                split.bill_by_model(bill)
            }
        }
        self.ledger.charges = charges;
    }

    /// Sets the call and the parent of each subagent.
    fn link_agents(&mut self) {
        for ((_, agent_ref), &index) in &self.agents {
            let AgentRef::Started(call) = agent_ref else { continue };
            let Some(&call) = self.calls.get(&Id::of(call)) else { continue };
            let parent = self.ledger.calls[call].context.agent.filter(|&parent| parent != index);
            let agent = &mut self.ledger.agents[index];
            (agent.call, agent.parent) = (Some(call), parent);
        }
    }
}

/// Rows with the same id, merged: the first of them, the earliest time, and the session that owns them.
#[derive(Clone, Copy)]
pub(super) struct Merged<'m> {
    pub(super) first: &'m EventContext,
    pub(super) owner: &'m SessionKey,
    time: Earliest,
    /// Place and branch of the first row that has a branch.
    branch: Option<(LinePlace, &'m Name)>,
    /// Index of the first row. Rows of one record are in the order of its contents.
    row: usize,
}

impl<'m> Merged<'m> {
    fn of(context: &'m EventContext, row: usize) -> Self {
        let branch = branch_of(context);
        Self { first: context, owner: &context.session, time: context.time, branch, row }
    }

    fn add(&mut self, context: &'m EventContext, row: usize, owners: &Owners<'_>) {
        self.time.merge(context.time);
        if let Some(branch) = branch_of(context) {
            self.branch = Some(self.branch.map_or(branch, |known| known.min(branch)));
        }
        if context.place < self.first.place {
            (self.first, self.row) = (context, row);
        }
        if *self.owner != context.session {
            self.owner = owners.earlier(self.owner, &context.session);
        }
    }

    /// Returns the sort key: the place, then the order within a record.
    pub(super) fn order(&self) -> (LinePlace, usize) {
        (self.first.place, self.row)
    }
}

fn branch_of(context: &EventContext) -> Option<(LinePlace, &Name)> {
    context.branch.as_ref().map(|branch| (context.place, branch))
}

/// Merges rows with the same id. Returns them in log order, each with the first of its rows.
pub(super) fn merged_rows<'m, T>(
    rows: &'m [(Id, T)],
    context: impl Fn(&'m T) -> &'m EventContext,
    owners: &Owners<'_>,
) -> Vec<(Id, Merged<'m>, &'m T)> {
    let mut index: Hashed<Id, usize> = Hashed::with_capacity_and_hasher(rows.len(), Default::default());
    let mut merged_rows: Vec<(Id, Merged<'m>, &'m T)> = Vec::with_capacity(rows.len());
    for (at, (id, row)) in rows.iter().enumerate() {
        match index.entry(*id) {
            Entry::Occupied(known) => {
                let (_, merged, first) = &mut merged_rows[*known.get()];
                merged.add(context(row), at, owners);
                if context(row).place < context(first).place {
                    *first = row;
                }
            }
            Entry::Vacant(free) => {
                free.insert(merged_rows.len());
                merged_rows.push((*id, Merged::of(context(row), at), row));
            }
        }
    }
    merged_rows.sort_by_key(|(_, merged, _)| merged.order());
    merged_rows
}
