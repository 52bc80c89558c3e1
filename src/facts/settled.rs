//! Settled facts: every rule that chooses between records is applied. The account and the ledger are both
//! computed from them.

use std::collections::VecDeque;

use super::{
    Facts, Hashed, HashedSet, Name,
    account::{Input, InvalidPlace, Unknown},
    calls::{Call, Ending},
    cost::{Bill, Owners, bills},
    detail::{EventKind, SessionEvent},
    difference::{Difference, ResetsAndVersions, differences},
    key::{Id, SessionKey},
    ledger::{End, Location},
    once::Records,
    sessions::{Session, TurnEnd},
};
use crate::{
    event::Dialect,
    input::{Place, SourceId},
    measure::{Millis, Prices, Usd},
};

/// Name of a tool if no record has one.
pub(super) static NO_TOOL: Name = arcstr::literal!("unknown");

/// Subtype of a result without `subtype`.
static NO_SUBTYPE: Name = arcstr::literal!("(none)");

/// The facts that count.
pub(super) struct Settled<'a> {
    pub(super) facts: &'a Facts,
    pub(super) owners: Owners<'a>,
    pub(super) lines: Lines,
    /// Which version wrote the stream where.
    pub(super) versions: ResetsAndVersions<'a>,
    /// The share of each result, in log order.
    pub(super) differences: Vec<Difference<'a>>,
    /// For each difference, the copy of its result that counts as a turn, if there is one.
    counted: Vec<Option<&'a TurnEnd>>,
    events: Vec<(Id, &'a SessionEvent)>,
    /// Sessions with a result.
    ended: HashedSet<&'a SessionKey>,
    /// Sessions with a result that has a wall time.
    timed: HashedSet<&'a SessionKey>,
}

impl<'a> Settled<'a> {
    /// Applies the rules to closed facts. `records` belong to the same facts and may be dropped afterwards.
    pub(super) fn of(facts: &'a Facts, records: &Records) -> Self {
        let differences = differences(&facts.chain);
        let results = &facts.chain.results;
        let counts = |uuid: Option<Id>, place| uuid.is_none_or(|uuid| records.counted(uuid) == Some(place));
        // If a result is in several files, one copy has the smallest difference, and another one may be the
        // one that counts.
        let by_uuid: Hashed<Id, &TurnEnd> = results
            .iter()
            .filter_map(|end| Some((end.uuid?, end)))
            .filter(|(uuid, end)| counts(Some(*uuid), end.place.into()))
            .collect();
        let counted = |one: &Difference<'a>| match one.end.uuid {
            Some(uuid) => by_uuid.get(&uuid).copied(),
            None => Some(one.end),
        };
        let events = facts.session_events.iter();
        let events = events
            .filter(|(_, one)| !one.kind.is_per_record() || counts(one.uuid, one.context.place.compact));
        Self {
            facts,
            owners: Owners::new(facts),
            lines: Lines::of(facts),
            versions: ResetsAndVersions::of(&facts.chain),
            counted: differences.iter().map(counted).collect(),
            events: without_other_dialect(events.map(|(id, one)| (*id, one)).collect()),
            ended: results.iter().map(|end| &end.session).collect(),
            timed: differences
                .iter()
                .filter(|one| one.end.wall.is_some())
                .map(|one| &one.end.session)
                .collect(),
            differences,
        }
    }

    /// Returns the ends of turns in log order.
    pub(super) fn turns(&self) -> impl Iterator<Item = Turn<'_>> {
        let all = self.differences.iter().zip(&self.counted);
        all.map(|(difference, &counted)| Turn { difference, counted })
    }

    /// Returns API failures, denials without an id, and other events if they are kept. Events that count once
    /// per record occur once, and retries in one dialect only.
    pub(super) fn events(&self) -> &[(Id, &'a SessionEvent)] {
        &self.events
    }

    /// Returns the calls that have a `tool_use`, in no order.
    pub(super) fn calls(&self) -> impl Iterator<Item = (Id, SettledCall<'a>)> {
        self.facts.calls.iter().filter_map(|(id, call)| Some((id, self.settled_call(id, call)?)))
    }

    /// Returns a call, if it has a `tool_use`.
    pub(super) fn call(&self, id: Id) -> Option<SettledCall<'a>> {
        self.settled_call(id, self.facts.calls.get(id)?)
    }

    fn settled_call(&self, id: Id, call: &'a Call) -> Option<SettledCall<'a>> {
        let end = match call.ending() {
            _ if self.facts.denied.get(id).is_some() => End::Denied,
            Ending::Failed => End::Error,
            Ending::Ok => End::Ok,
            Ending::Open => End::Open,
        };
        Some(SettledCall { tool: call.tool()?.unwrap_or(&NO_TOOL), end, latency: call.latency() })
    }

    /// Returns the denials with a call id, in no order, and the tool of each: that of the call, else that of
    /// the denial.
    pub(super) fn denials(&self) -> impl Iterator<Item = (Id, &'a Name)> {
        let facts = self.facts;
        facts.denied.iter().map(|(id, denial)| {
            let asked = facts.calls.get(id).and_then(Call::tool);
            (id, asked.unwrap_or_else(|| denial.get()).unwrap_or(&NO_TOOL))
        })
    }

    /// Returns whether a session has a result: its own, or one without a session id in one of its sources.
    pub(super) fn has_result(&self, key: &SessionKey, session: &Session) -> bool {
        let nameless = |source: &SourceId| self.ended.contains(&SessionKey::Nameless(*source));
        self.ended.contains(key) || session.sources.iter().any(nameless)
    }

    /// Returns whether the durations of interactive turns count. They do not if results have the wall time.
    pub(super) fn counts_durations(&self, owner: &SessionKey) -> bool {
        !self.timed.contains(owner)
    }

    /// Computes the cost of every session, and the computed cost of all responses.
    pub(super) fn bills(&self, prices: &Prices) -> (Vec<Bill<'_>>, Option<Usd>) {
        bills(self.facts, &self.differences, prices)
    }

    /// Returns the location of a place: its line counts from the start of the source.
    pub(super) fn location(&self, place: Place) -> Location {
        let Place { source, offset, unit: _, line } = place;
        Location { source, line: self.lines.get(source, offset, line), offset }
    }

    /// Returns an unknown name with its version: that of the record, else the one that wrote the stream
    /// there.
    pub(super) fn unknown(&self, count: u64, place: Place, version: Option<&Name>) -> Unknown {
        let version = version.map(Name::as_str).or_else(|| self.versions.version(place));
        let Location { source, line, offset: _ } = self.location(place);
        Unknown { count, source, line, version: version.map(str::to_owned) }
    }

    /// Returns the counts of the input.
    pub(super) fn input(&self, records: &Records) -> Input {
        let facts = self.facts;
        let counts = facts.input;
        let dialects =
            Dialect::ALL.into_iter().map(|dialect| (dialect.name(), facts.dialects[dialect as usize]));
        let place = |invalid: &super::Invalid| {
            let Location { source, line, offset } = self.location(invalid.place);
            InvalidPlace { source, line, offset, reason: invalid.reason.clone() }
        };
        Input {
            sources: counts.sources,
            bytes: counts.bytes,
            lines: counts.lines,
            blank: counts.blank,
            records: counts.records,
            invalid: facts.invalids.count,
            truncated: facts.invalids.truncated().count() as u64,
            copies: records.copies(),
            dialects: dialects.filter(|&(_, count)| count > 0).collect(),
            invalid_places: facts.invalids.first.iter().map(place).collect(),
            interrupted: facts.interrupted,
        }
    }
}

/// One end of a turn.
pub(super) struct Turn<'s> {
    pub(super) difference: &'s Difference<'s>,
    /// The copy of its result that counts as a turn, if one does.
    counted: Option<&'s TurnEnd>,
}

impl Turn<'_> {
    pub(super) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// The copy of the result to report.
    pub(super) fn result(&self) -> &TurnEnd {
        self.counted.unwrap_or(self.difference.end)
    }

    pub(super) fn subtype(&self) -> &Name {
        self.result().subtype.as_ref().unwrap_or(&NO_SUBTYPE)
    }

    pub(super) fn is_ok(&self) -> bool {
        self.subtype() == "success" && !self.result().is_error
    }

    pub(super) fn num_turns(&self) -> u64 {
        self.result().num_turns.unwrap_or(0)
    }
}

/// A call that has a `tool_use`.
pub(super) struct SettledCall<'a> {
    pub(super) tool: &'a Name,
    pub(super) end: End,
    pub(super) latency: Option<Millis>,
}

/// Returns whether the CLI printed a session without a result.
pub(super) fn lacks_result(is_named: bool, streamed: bool, has_result: bool) -> bool {
    is_named && streamed && !has_result
}

/// Keeps the retries of one dialect per session. Both dialects record a retry, under different uuids; the
/// dialect with more of them counts.
fn without_other_dialect(events: Vec<(Id, &SessionEvent)>) -> Vec<(Id, &SessionEvent)> {
    let saved = |one: &SessionEvent| match one.kind {
        EventKind::Retry(_, _, dialect) => Some(dialect == Dialect::Transcript),
        _ => None,
    };
    let mut counts: Hashed<&SessionKey, [u64; 2]> = Hashed::default();
    for (_, one) in &events {
        if let Some(saved) = saved(one) {
            counts.entry(&one.context.session).or_default()[usize::from(saved)] += 1;
        }
    }
    let counts_in = |one: &SessionEvent, saved: bool| {
        let [streamed, stored] = counts.get(&one.context.session).copied().unwrap_or_default();
        saved == (stored > streamed)
    };
    events.into_iter().filter(|(_, one)| saved(one).is_none_or(|saved| counts_in(one, saved))).collect()
}

/// Finds the call of each denial without an id: the first failed call of its tool in its session that is not
/// taken yet, else the first in any session.
pub(super) fn failed_calls<'a, C, S>(
    failed: impl Iterator<Item = (C, &'a Name, S)>,
    denials: impl Iterator<Item = (&'a Name, S)>,
) -> Vec<Option<C>>
where
    C: Copy + Eq + std::hash::Hash,
    S: Eq + std::hash::Hash,
{
    let mut of_session: Hashed<(&Name, S), VecDeque<C>> = Hashed::default();
    let mut of_tool: Hashed<&Name, VecDeque<C>> = Hashed::default();
    for (call, tool, session) in failed {
        of_session.entry((tool, session)).or_default().push_back(call);
        of_tool.entry(tool).or_default().push_back(call);
    }
    let mut taken: HashedSet<C> = HashedSet::default();
    let find = |(tool, session): (&'a Name, S)| {
        let queues = [of_session.get_mut(&(tool, session)), of_tool.get_mut(tool)];
        queues
            .into_iter()
            .flatten()
            .find_map(|queue| std::iter::from_fn(|| queue.pop_front()).find(|call| taken.insert(*call)))
    };
    denials.map(find).collect()
}

/// Number of lines before each unit of each source. Rows only keep the line within their unit.
pub(super) struct Lines(Hashed<SourceId, Vec<(u64, u64)>>);

impl Lines {
    fn of(facts: &Facts) -> Self {
        let mut units: Hashed<SourceId, Vec<(u64, u64)>> = Hashed::default();
        let mut before = 0;
        // A unit inside one long line has no line of its own; everything on that line belongs to an earlier
        // unit.
        for (&(source, unit), lines) in facts.units.iter().filter(|(_, lines)| lines.count > 0) {
            let all = units.entry(source).or_default();
            before = if all.is_empty() { 0 } else { before };
            // A record belongs to the unit in which its line begins, even if the record itself begins later.
            all.push((lines.first.unwrap_or(unit), before));
            before += lines.count;
        }
        Self(units)
    }

    /// Returns the line of a record in its source, from 1.
    pub(super) fn get(&self, source: SourceId, offset: u64, line: u64) -> u64 {
        let before = self.0.get(&source).map_or(0, |units| {
            let after = units.partition_point(|&(unit, _)| unit <= offset);
            after.checked_sub(1).map_or(0, |at| units[at].1)
        });
        before + line + 1
    }
}
