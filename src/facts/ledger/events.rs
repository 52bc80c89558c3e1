//! Adds the rows besides responses and calls: ends of turns, denials, failures, traces and records.

use std::{
    cell::LazyCell,
    collections::{HashMap, HashSet},
};

use super::{
    ApiFailure, CallIndex, Compaction, Context, Denial, End, InteractiveTurn, Ledger, Moment, Prompt,
    PullRequest, Record, Server, ServerUse, SessionIndex, SessionSpan, Traced, Turn,
    build::{LedgerBuilder, Merged, merged_rows},
};
use crate::{
    facts::{
        Hashed, HashedSet, Name,
        detail::{self, Detail, EventContext, EventKind, ExcerptOf, LinePlace},
        key::Id,
        once::Records,
        pack::PackedRows,
        settled::{NO_TOOL, failed_calls},
    },
    input::{Place, SourceId},
    measure::Time,
};

impl LedgerBuilder<'_> {
    pub(super) fn turns(&mut self) {
        // Most logs say the time of every turn.
        let clock = LazyCell::new(|| Clock::of(&self.ledger));
        let mut turns = Vec::new();
        for turn in self.settled.turns() {
            let (one, end) = (turn.difference, turn.difference.end);
            let session = self.sessions.get(&end.session).copied();
            let models = one.models.as_ref();
            turns.push(Turn {
                context: Context {
                    session,
                    agent: None,
                    time: end.time.or_else(|| clock.before(session?, end.place)),
                    location: self.location(LinePlace::from(end.place)),
                    version: session.and_then(|session| self.ledger.sessions[session].version.clone()),
                    branch: None,
                },
                counted: turn.is_counted(),
                ok: turn.is_ok(),
                subtype: Name::clone(turn.subtype()),
                num_turns: turn.num_turns(),
                wall: end.wall,
                api: one.api,
                first_token: turn.result().first_token,
                time_to_request: turn.result().time_to_request,
                cost: one.cost,
                failure: self
                    .details
                    .excerpt(ExcerptOf::TurnEnd, end.uuid.unwrap_or_else(|| Id::at(end.place, 0))),
                models: models.map(|all| all.iter().map(|one| (Name::clone(&one.model), one.cost)).collect()),
            });
        }
        self.ledger.turns = turns;
    }

    pub(super) fn denials(&mut self) {
        let rows: Hashed<Id, Merged<'_>> =
            merged_rows(&self.details.denials, |context| context, &self.settled.owners)
                .into_iter()
                .map(|(id, merged, _)| (id, merged))
                .collect();
        let denials = self.settled.denials();
        let mut all: Vec<_> =
            denials.map(|(id, tool)| (rows.get(&id).map(Merged::order), id, tool)).collect();
        all.sort_unstable_by_key(|&(order, id, _)| (order, id));
        for (_, id, tool) in all {
            let call = self.calls.get(&id).copied();
            let mut context = rows.get(&id).map_or_else(Context::default, |merged| self.context(merged));
            if let Some(call) = call {
                // The line of the denial may have less context than that of the call.
                let asked = &self.ledger.calls[call].context;
                context = Context {
                    session: asked.session,
                    agent: asked.agent,
                    time: context.time.or(asked.time),
                    branch: context.branch.or_else(|| asked.branch.clone()),
                    ..context
                };
            }
            self.ledger.denials.push(Denial { context, tool: Name::clone(tool), call });
        }
    }

    pub(super) fn session_events(&mut self) {
        // Every turn of a process lists its servers again.
        let mut known: HashSet<(Option<SessionIndex>, Name, Option<Name>)> = HashSet::new();
        let mut loose: Vec<(Context, &Name)> = Vec::new();
        let settled = self.settled;
        for (id, merged, one) in merged_rows(settled.events(), |one| &one.context, &settled.owners) {
            let context = self.context(&merged);
            match &one.kind {
                EventKind::ApiError(kind) => {
                    let failure = ApiFailure {
                        context,
                        kind: Name::clone(kind),
                        retried: false,
                        wait: None,
                        message: self.details.excerpt(ExcerptOf::ApiError, id),
                    };
                    self.ledger.api_failures.push(failure);
                }
                EventKind::Retry(kind, wait, _) => {
                    let failure = ApiFailure {
                        context,
                        kind: Name::clone(kind),
                        retried: true,
                        wait: *wait,
                        message: None,
                    };
                    self.ledger.api_failures.push(failure);
                }
                EventKind::Compaction(compaction) => {
                    self.ledger.compactions.push(Compaction { context, fact: compaction.clone() })
                }
                EventKind::Prompt => {
                    let text = self.details.excerpt(ExcerptOf::Prompt, id);
                    self.ledger.prompts.push(Prompt { context, text });
                }
                EventKind::Interruption => self.ledger.interruptions.push(context),
                EventKind::Server(tool, _) => {
                    let tool = Name::clone(tool.as_ref().unwrap_or(&NO_TOOL));
                    self.ledger.server_uses.push(ServerUse { context, tool });
                }
                EventKind::Servers(servers) => {
                    for (name, status) in servers {
                        let (name, status) = (Name::clone(name), status.clone());
                        if known.insert((context.session, Name::clone(&name), status.clone())) {
                            self.ledger.servers.push(Server { context: context.clone(), name, status });
                        }
                    }
                }
                EventKind::PullRequest(link) => {
                    self.ledger.pull_requests.push(PullRequest::of(context, link));
                }
                EventKind::Denials(tools) => {
                    let tools = tools.iter().map(|tool| tool.as_ref().unwrap_or(&NO_TOOL));
                    loose.extend(tools.map(|tool| (context.clone(), tool)));
                }
                &EventKind::TurnDuration(wall) => {
                    if settled.counts_durations(merged.owner) {
                        self.ledger.interactive_turns.push(InteractiveTurn { context, wall });
                    }
                }
            }
        }
        self.loose_denials(loose);
    }

    fn loose_denials(&mut self, denials: Vec<(Context, &Name)>) {
        if denials.is_empty() {
            return;
        }
        let failed = CallIndex::each(&self.ledger.calls).filter(|(_, call)| call.end == End::Error);
        let found = failed_calls(
            failed.map(|(at, call)| (at, &call.tool, call.context.session)),
            denials.iter().map(|(context, tool)| (*tool, context.session)),
        );
        for ((context, tool), call) in denials.into_iter().zip(found) {
            if let Some(call) = call {
                self.ledger.calls[call].end = End::Denied;
            }
            self.ledger.denials.push(Denial { context, tool: Name::clone(tool), call });
        }
    }

    /// Adds the traces, in log order.
    pub(super) fn traces(&mut self, mut traces: Vec<detail::Traced>) {
        traces.sort_by_key(|row| row.context.place);
        self.ledger.traces.reserve_exact(traces.len());
        for detail::Traced { context, uuid, dialect, trace } in traces {
            let context = self.context_of(context);
            self.ledger.traces.push(Traced { context, uuid, dialect, trace });
        }
        self.surroundings();
    }

    /// Adds the moments, in log order.
    pub(super) fn moments(&mut self, mut moments: Vec<detail::Moment>) {
        moments.sort_by_key(|row| row.context.place);
        self.ledger.moments.reserve_exact(moments.len());
        for detail::Moment { context, kind } in moments {
            let context = self.context_of(context);
            self.ledger.moments.push(Moment { context, kind });
        }
    }

    /// Returns the context of a row that is not merged with others.
    fn context_of(&mut self, context: EventContext) -> Context {
        let session = self.sessions.get(&context.session).copied();
        let agent = self.agent(session, &context.agent);
        let at = self.location(context.place);
        let EventContext { time, version, branch, .. } = context;
        Context { session, agent, time: time.get(), location: at, version, branch }
    }

    /// Adds the spans of sessions, and the sources that only a host wrote.
    fn surroundings(&mut self) {
        let mut spans: Vec<SessionSpan> = self
            .details
            .spans
            .iter()
            .filter_map(|span| {
                let session = *self.sessions.get(&span.session)?;
                Some(SessionSpan { source: span.source, first: span.first, last: span.last, session })
            })
            .collect();
        spans.sort_unstable_by_key(|span| (span.source, span.first));
        spans.dedup_by(|later, kept| {
            let same = (later.source, later.session) == (kept.source, kept.session);
            if same {
                kept.last = later.last;
            }
            same
        });
        self.ledger.spans = spans;
        let writers = self.details.writers.iter();
        self.ledger.hosts =
            writers.filter(|(_, by)| by.host && !by.others).map(|(&source, _)| source).collect();
    }

    /// Adds a row per record, in log order. `records` knows which copy counts.
    pub(super) fn records(&mut self, rows: PackedRows<detail::Record>, records: &Records) {
        let has_copies = records.copies() > 0;
        let packs = self.details.kept.contains(Detail::PACKED);
        let mut seen: HashedSet<Id> = HashedSet::default();
        rows.drain_sorted(|record| {
            let context = &record.context;
            let session = self.sessions.get(&context.session).copied();
            let is_counted = |uuid| !has_copies || records.counted(uuid) == Some(context.place.compact);
            let counts = record.uuid.is_none_or(is_counted);
            let agent = self.agent(session, &context.agent);
            let version = context.version.clone().or_else(|| {
                // Only unknown kinds need the version that wrote them.
                let unknown = !record.known || record.blocks.iter().any(|(_, known, _)| !known);
                let (source, offset) = (context.place.source(), context.place.compact.offset());
                let place = Place { source, offset, unit: 0, line: 0 };
                self.settled.versions.version(place).filter(|_| unknown).map(Name::from)
            });
            let row = Record {
                context: Context {
                    session,
                    agent,
                    time: context.time.get(),
                    location: self.location(context.place),
                    version,
                    branch: context.branch.clone(),
                },
                kind: record.kind,
                known: record.known,
                dialect: record.dialect,
                copy: has_copies && record.uuid.is_some_and(|uuid| !seen.insert(uuid)),
                bytes: record.bytes,
                blocks: if counts { record.blocks.into_vec() } else { Vec::new() },
            };
            if packs { self.ledger.packed_records.push(&row) } else { self.ledger.records.push(row) }
        });
    }
}

/// Times of the rows of a session in a source, to estimate the time of rows without one.
struct Clock(HashMap<(SessionIndex, SourceId), Vec<(u64, Time)>>);

impl Clock {
    fn of(ledger: &Ledger) -> Self {
        let mut times: HashMap<(SessionIndex, SourceId), Vec<(u64, Time)>> = HashMap::new();
        let contexts = ledger
            .responses
            .iter()
            .map(|one| &one.context)
            .chain(ledger.calls.iter().map(|one| &one.context));
        for context in contexts {
            if let (Some(session), Some(at), Some(time)) = (context.session, context.location, context.time) {
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
