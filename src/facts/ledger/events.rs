//! What happened in the sessions besides responses and calls: ends of turns, refusals, failures, and the records.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    Call, CallIndex, Compaction, Denial, End, Fault, Ledger, Mark, Record, Server, ServerUse, SessionIndex,
    Turn, Wait,
    build::{Book, Gist, gists},
};
use crate::{
    event::Dialect,
    facts::{
        Hashed, Name,
        detail::{self, Happening, Seat, What},
        difference::{Difference, Marks},
        key::Id,
        sessions::TurnEnd,
        settle::{NO_SUBTYPE, NO_TOOL},
    },
    input::{Place, SourceId},
    measure::Time,
};

impl Book<'_> {
    pub(super) fn turns(&mut self, differences: &[Difference<'_>]) {
        let clock = Clock::of(&self.ledger);
        // Of a result that stands in several files one copy has the smallest difference, and perhaps another counts.
        let counted: Hashed<Id, &TurnEnd> = self
            .facts
            .chain
            .results
            .iter()
            .filter_map(|end| Some((end.uuid?, end)))
            .filter(|(uuid, end)| self.counted.get(uuid) == Some(&end.place.into()))
            .collect();
        let mut all: Vec<&Difference<'_>> = differences.iter().collect();
        all.sort_unstable_by_key(|one| one.end.place);
        for one in all {
            let end = one.end;
            let session = self.sessions.get(&end.session).copied();
            let at = self.at(Seat::from(end.place));
            let told = end.uuid.map_or(Some(end), |uuid| counted.get(&uuid).copied());
            let TurnEnd { subtype, is_error, num_turns, first_token, .. } = told.unwrap_or(end);
            let subtype = subtype.clone().unwrap_or_else(|| Name::from(NO_SUBTYPE));
            let models = one.models.as_ref();
            self.ledger.turns.push(Turn {
                mark: Mark {
                    session,
                    agent: None,
                    time: end.time.or_else(|| clock.before(session?, end.place)),
                    at,
                    version: session.and_then(|session| self.ledger.sessions[session].version.clone()),
                },
                counted: told.is_some(),
                ok: &*subtype == "success" && !is_error,
                subtype,
                num_turns: num_turns.unwrap_or(0),
                wall: end.wall,
                api: one.api,
                first_token: *first_token,
                cost: one.cost,
                models: models.map(|all| all.iter().map(|one| (Name::clone(&one.model), one.cost)).collect()),
            });
        }
    }

    pub(super) fn denials(&mut self) {
        let facts = self.facts;
        let told_of: Hashed<Id, Gist<'_>> = gists(&self.details.denials, |moment| moment, &self.owners)
            .into_iter()
            .map(|(id, gist, _)| (id, gist))
            .collect();
        let mut all: Vec<_> =
            facts.denied.iter().map(|(id, told)| (told_of.get(&id).map(Gist::order), id, told)).collect();
        all.sort_unstable_by_key(|&(order, id, _)| (order, id));
        for (_, id, told) in all {
            let call = self.calls.get(&id).copied();
            let mut mark = told_of.get(&id).map_or_else(Mark::default, |gist| self.mark(gist));
            if let Some(call) = call {
                // The refusal may stand in a line that says less than the call does.
                let asked = &self.ledger.calls[call].mark;
                mark = Mark {
                    session: asked.session,
                    agent: asked.agent,
                    time: mark.time.or(asked.time),
                    ..mark
                };
            }
            let asked = call.map(|call| Name::clone(&self.ledger.calls[call].tool));
            let tool = asked.or_else(|| told.get().cloned()).unwrap_or_else(|| Name::from(NO_TOOL));
            self.ledger.denials.push(Denial { mark, tool, call });
        }
    }

    pub(super) fn happenings(&mut self, differences: &[Difference<'_>]) {
        // Of several records with one identity the first says what happened, or the one that counts.
        let counts = |one: &Happening| {
            let spot =
                one.uuid.filter(|_| one.what.counts_per_record()).and_then(|uuid| self.counted.get(&uuid));
            spot.is_none_or(|spot| *spot == one.moment.seat.spot)
        };
        let rows: Vec<(Id, &Happening)> = self
            .details
            .happenings
            .iter()
            .map(|(id, one)| (*id, one))
            .filter(|(_, one)| counts(one))
            .collect();
        let all = gists(&rows, |one| &one.moment, &self.owners);
        let walls: HashSet<SessionIndex> = differences
            .iter()
            .filter(|one| one.end.wall.is_some())
            .filter_map(|one| self.sessions.get(&one.end.session).copied())
            .collect();
        let mut retries: Vec<(Fault, Dialect)> = Vec::new();
        let mut failed = None;
        // Every turn of a process tells its servers again.
        let mut known: HashSet<(Option<SessionIndex>, Name, Option<Name>)> = HashSet::new();
        for (_, gist, one) in all {
            let mark = self.mark(&gist);
            match &one.what {
                What::ApiError(kind) => {
                    let fault = Fault { mark, kind: Name::clone(kind), retried: false, wait: None };
                    self.ledger.faults.push(fault);
                }
                What::Retry(kind, wait, dialect) => {
                    retries.push((
                        Fault { mark, kind: Name::clone(kind), retried: true, wait: *wait },
                        *dialect,
                    ));
                }
                &What::Compaction(before, after) => {
                    self.ledger.compactions.push(Compaction { mark, before, after })
                }
                What::Prompt => self.ledger.prompts.push(mark),
                What::Server(tool, _) => {
                    let tool = tool.clone().unwrap_or_else(|| Name::from(NO_TOOL));
                    self.ledger.server_uses.push(ServerUse { mark, tool });
                }
                What::Servers(servers) => {
                    for (name, status) in servers {
                        let (name, status) = (Name::clone(name), status.clone());
                        if known.insert((mark.session, Name::clone(&name), status.clone())) {
                            self.ledger.servers.push(Server { mark: mark.clone(), name, status });
                        }
                    }
                }
                What::Denials(tools) => {
                    let failed = failed.get_or_insert_with(|| Failed::of(&self.ledger.calls));
                    tools.iter().for_each(|tool| self.loose_denial(&mark, tool.as_ref(), failed));
                }
                &What::TurnDuration(wall) => {
                    if mark.session.is_none_or(|session| !walls.contains(&session)) {
                        self.ledger.waits.push(Wait { mark, wall });
                    }
                }
            }
        }
        self.retries(retries);
        self.ledger.faults.sort_by_key(|fault| fault.mark.at);
    }

    /// A refusal without an id stands for a failed call of its tool, in its session if there is one.
    fn loose_denial(&mut self, mark: &Mark, tool: Option<&Name>, failed: &mut Failed) {
        let tool = tool.cloned().unwrap_or_else(|| Name::from(NO_TOOL));
        let call = failed.take(&self.ledger.calls, &tool, mark.session);
        if let Some(call) = call {
            self.ledger.calls[call].end = End::Denied;
        }
        self.ledger.denials.push(Denial { mark: mark.clone(), tool, call });
    }

    /// One failure has a line in each dialect, under different uuids: per session the dialect that tells of more counts.
    fn retries(&mut self, retries: Vec<(Fault, Dialect)>) {
        let mut counts: HashMap<Option<SessionIndex>, [u64; 2]> = HashMap::new();
        let saved = |dialect: Dialect| dialect == Dialect::Transcript;
        for (fault, dialect) in &retries {
            counts.entry(fault.mark.session).or_default()[usize::from(saved(*dialect))] += 1;
        }
        for (fault, dialect) in retries {
            let [streamed, stored] = counts.get(&fault.mark.session).copied().unwrap_or_default();
            if saved(dialect) == (stored > streamed) {
                self.ledger.faults.push(fault);
            }
        }
    }

    pub(super) fn records(&mut self) {
        let marks = Marks::of(&self.facts.chain);
        let mut all: Vec<&detail::Record> = self.details.records.iter().collect();
        all.sort_unstable_by_key(|record| record.moment.seat);
        // Of copies the one with more blocks counts for them, then the one that stands first.
        let rank = |record: &detail::Record| (std::cmp::Reverse(record.blocks.len()), record.moment.seat);
        let mut counted: HashMap<Id, (std::cmp::Reverse<usize>, Seat)> = HashMap::new();
        let mut first: HashSet<Id> = HashSet::new();
        for record in &all {
            let Some(uuid) = record.uuid else { continue };
            let best = counted.entry(uuid).or_insert_with(|| rank(record));
            *best = (*best).min(rank(record));
        }
        for record in all {
            let moment = &record.moment;
            let session = self.sessions.get(&moment.session).copied();
            let counts = record.uuid.is_none_or(|uuid| counted.get(&uuid) == Some(&rank(record)));
            let agent = self.agent(session, &moment.whose);
            let version = moment.version.clone().or_else(|| {
                // Only strangers are asked for the version that wrote them.
                let stranger = !record.known || record.blocks.iter().any(|(_, known, _)| !known);
                let (source, offset) = (moment.seat.source(), moment.seat.spot.offset());
                let place = Place { source, offset, unit: 0, line: 0 };
                marks.version(place).filter(|_| stranger).map(Name::from)
            });
            self.ledger.records.push(Record {
                mark: Mark { session, agent, time: moment.time.get(), at: self.at(moment.seat), version },
                kind: Name::clone(&record.kind),
                known: record.known,
                dialect: record.dialect,
                copy: record.uuid.is_some_and(|uuid| !first.insert(uuid)),
                bytes: record.bytes,
                blocks: if counts { record.blocks.to_vec() } else { Vec::new() },
                text: record.text.clone(),
            });
        }
    }
}

/// Calls that failed, by tool and by tool and session, in the order they stand.
#[derive(Default)]
struct Failed {
    of_session: Hashed<(Name, Option<SessionIndex>), VecDeque<CallIndex>>,
    of_tool: Hashed<Name, VecDeque<CallIndex>>,
}

impl Failed {
    fn of(calls: &[Call]) -> Self {
        let mut failed = Self::default();
        for (at, call) in CallIndex::each(calls).filter(|(_, call)| call.end == End::Error) {
            let tool = || Name::clone(&call.tool);
            failed.of_session.entry((tool(), call.mark.session)).or_default().push_back(at);
            failed.of_tool.entry(tool()).or_default().push_back(at);
        }
        failed
    }

    /// The first that still counts as failed, of the session if it has one.
    fn take(&mut self, calls: &[Call], tool: &Name, session: Option<SessionIndex>) -> Option<CallIndex> {
        let own = self.of_session.get_mut(&(Name::clone(tool), session));
        let queues = [own, self.of_tool.get_mut(tool)];
        queues.into_iter().flatten().find_map(|queue| {
            while let Some(at) = queue.pop_front() {
                if calls[at.get()].end == End::Error {
                    return Some(at);
                }
            }
            None
        })
    }
}

/// The times of a session's rows in a source, to tell when something happened that says no time.
struct Clock(HashMap<(SessionIndex, SourceId), Vec<(u64, Time)>>);

impl Clock {
    fn of(ledger: &Ledger) -> Self {
        let mut times: HashMap<(SessionIndex, SourceId), Vec<(u64, Time)>> = HashMap::new();
        let marks =
            ledger.responses.iter().map(|one| &one.mark).chain(ledger.calls.iter().map(|one| &one.mark));
        for mark in marks {
            if let (Some(session), Some(at), Some(time)) = (mark.session, mark.at, mark.time) {
                times.entry((session, at.source)).or_default().push((at.offset, time));
            }
        }
        times.values_mut().for_each(|all| all.sort_unstable());
        Self(times)
    }

    fn before(&self, session: SessionIndex, place: Place) -> Option<Time> {
        let times = self.0.get(&(session, place.source))?;
        let after = times.partition_point(|&(offset, _)| offset < place.offset);
        times.get(after.checked_sub(1)?).map(|&(_, time)| time)
    }
}
