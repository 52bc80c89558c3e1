//! The end: what was kept apart is put together, once.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Account, Facts, Hashed, HashedSet,
    account::{Denials, Durations, Errors, Input, InvalidPlace, Latencies, ToolCount, Tools, Turns, Unknown},
    calls::{Call, Ending},
    cost::{Owners, bills, cost},
    difference::{Difference, Marks, differences},
    key::{Name, SessionKey},
    ledger::Lines,
    merge::Span,
    once::Records,
};
use crate::{
    event::{BlockId, Dialect, KindId},
    input::{Place, SourceId},
    measure::{Millis, Prices, Tokens},
};

/// Name of a tool that no record names.
pub(super) const NO_TOOL: &str = "unknown";

/// Name of a turn's end that says no `subtype`.
pub(super) const NO_SUBTYPE: &str = "(none)";

impl Facts {
    /// Every number as it is reported.
    pub fn settle(mut self, prices: &Prices) -> Account {
        self.close();
        let input = self.input();
        let (blocks, unknown_blocks) = self.blocks();
        let (turns, loose_denials) = self.turns();
        let api = self.api_errors();
        // Nearly half of all memory, and nobody needs it from here on.
        self.records = Records::default();
        let differences = differences(&self.chain);
        let (bills, computed) = bills(&self, &differences, prices);
        let cost = cost(&bills, computed);
        drop(bills);
        let tools = self.tools(&loose_denials);
        let answered = self.responses.values().filter_map(|one| one.model.get()).map(Name::as_str);
        let models: BTreeSet<&str> = answered.chain(cost.by_model.keys().map(String::as_str)).collect();
        Account {
            input,
            kinds: self.kinds(),
            unknown_kinds: self.unknown_kinds(),
            blocks,
            unknown_blocks,
            sessions: self.named_sessions().count() as u64,
            prompts: self.prompts.len() as u64,
            responses: self.responses.len() as u64,
            denials: self.denials(&loose_denials),
            errors: Errors { tool: tools.total.errors, turn: turns.errors, ..api },
            duration: self.durations(&differences, &tools),
            models: models.into_iter().map(str::to_owned).collect(),
            tokens: cost.by_model.values().map(|model| model.tokens).sum::<Tokens>(),
            turns,
            tools,
            cost,
            versions: self.versions.iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn input(&self) -> Input {
        let counts = self.input;
        let dialects =
            Dialect::ALL.into_iter().map(|dialect| (dialect.name(), self.dialects[dialect as usize]));
        let place = |invalid: &super::Invalid| InvalidPlace {
            source: invalid.place.source,
            line: self.line(invalid.place),
            offset: invalid.place.offset,
            reason: invalid.reason.clone(),
        };
        Input {
            sources: counts.sources,
            bytes: counts.bytes,
            lines: counts.lines,
            blank: counts.blank,
            records: counts.records,
            invalid: self.invalids.count,
            truncated: self.tails.truncated(),
            copies: self.records.copies(),
            dialects: dialects.filter(|&(_, count)| count > 0).collect(),
            invalid_places: self.invalids.first.iter().map(place).collect(),
            interrupted: self.interrupted,
        }
    }

    /// The line of a place in its source, from 1.
    pub(super) fn line(&self, place: Place) -> u64 {
        let before = self.units.range((place.source, 0)..(place.source, place.unit));
        before.map(|(_, lines)| lines.count).sum::<u64>() + place.line + 1
    }

    fn kinds(&self) -> BTreeMap<String, u64> {
        let known = KindId::all().map(|id| (id.row().name.to_owned(), self.kinds.0[id.index()]));
        let strangers = self.strangers.iter().map(|(name, stranger)| (name.to_string(), stranger.count));
        known.filter(|&(_, count)| count > 0).chain(strangers).collect()
    }

    fn unknown_kinds(&self) -> BTreeMap<String, Unknown> {
        let strangers = self.strangers.iter().filter(|(_, stranger)| !stranger.known);
        let around = Around::of(self);
        let unknown = |(name, stranger): (&Name, &super::Stranger)| {
            (name.to_string(), around.unknown(stranger.count, stranger.place, stranger.version.as_ref()))
        };
        strangers.map(unknown).collect()
    }

    fn blocks(&self) -> (BTreeMap<String, u64>, BTreeMap<String, Unknown>) {
        let mut known = [0u64; BlockId::COUNT];
        let mut unknown: BTreeMap<&Name, (u64, Place, Option<&Name>)> = BTreeMap::new();
        self.records.blocks().for_each(|id| known[id.index()] += 1);
        for rare in self.records.rare() {
            rare.more_blocks.iter().for_each(|id| known[id.index()] += 1);
            for (name, place, version) in &rare.unknown_blocks {
                let first = unknown.entry(name).or_insert((0, *place, version.as_ref()));
                first.0 += 1;
                if *place < first.1 {
                    (first.1, first.2) = (*place, version.as_ref());
                }
            }
        }
        let blocks = BlockId::all().map(|id| (id.name(), known[id.index()])).filter(|&(_, count)| count > 0);
        let strangers = unknown.iter().map(|(name, (count, ..))| (name.to_string(), *count));
        let around = Around::of(self);
        let places = unknown.iter().map(|(name, &(count, place, version))| {
            (name.to_string(), around.unknown(count, place, version))
        });
        (blocks.chain(strangers).collect(), places.collect())
    }

    fn named_sessions(&self) -> impl Iterator<Item = (&SessionKey, &super::Session)> {
        self.sessions.iter().filter(|(key, _)| matches!(key, SessionKey::Named(_)))
    }

    /// The ends of turns, and beside them the refused calls that have no id, by tool.
    fn turns(&self) -> (Turns, BTreeMap<Name, u64>) {
        let mut turns = Turns { no_result_sessions: self.no_result_sessions(), ..Turns::default() };
        let mut denials = BTreeMap::new();
        for rare in self.records.rare() {
            for tool in &rare.denials {
                *denials.entry(tool.clone().unwrap_or_else(|| Name::from(NO_TOOL))).or_default() += 1;
            }
            let Some(turn) = &rare.turn else { continue };
            let subtype = turn.subtype.as_deref().unwrap_or(NO_SUBTYPE);
            let ok = subtype == "success" && !turn.is_error;
            turns.total += 1;
            if ok {
                turns.ok += 1;
            } else {
                turns.errors += 1;
                *turns.failed_by_subtype.entry(subtype.to_owned()).or_default() += 1;
            }
            *turns.by_subtype.entry(subtype.to_owned()).or_default() += 1;
            turns.num_turns = turns.num_turns.saturating_add(turn.num_turns);
        }
        (turns, denials)
    }

    /// Sessions that the CLI printed without an end, unless an end without an id stands in the same source.
    fn no_result_sessions(&self) -> u64 {
        let ended: HashedSet<&SessionKey> = self.chain.results.iter().map(|end| &end.session).collect();
        let ended_source = |source: &SourceId| ended.contains(&SessionKey::Nameless(*source));
        let open = |(key, session): &(&SessionKey, &super::Session)| {
            session.streamed && !ended.contains(key) && !session.sources.iter().any(ended_source)
        };
        self.named_sessions().filter(open).count() as u64
    }

    fn tools(&self, loose_denials: &BTreeMap<Name, u64>) -> Tools {
        let mut tools = Tools::default();
        let mut by_name: Hashed<&str, (ToolCount, Vec<Millis>)> = Hashed::default();
        for (id, call) in self.calls.iter() {
            let Some(name) = call.tool() else {
                tools.orphans += 1;
                continue;
            };
            let (tool, latencies) = by_name.entry(name.map_or(NO_TOOL, Name::as_str)).or_default();
            tool.calls += 1;
            let end = match call.ending() {
                _ if self.denied.get(id).is_some() => &mut tool.denied,
                Ending::Open => &mut tool.open,
                Ending::Failed => &mut tool.errors,
                Ending::Ok => &mut tool.ok,
            };
            *end += 1;
            latencies.extend(call.latency());
        }
        for (name, &count) in loose_denials {
            let Some((tool, _)) = by_name.get_mut(name.as_str()) else { continue };
            let moved = count.min(tool.errors); // a refusal without an id stands for a failed call of its tool
            tool.errors -= moved;
            tool.denied += moved;
        }
        tools.total = total(by_name.values().map(|(tool, _)| tool));
        tools.total.latency =
            Latencies::of(by_name.values().flat_map(|(_, latencies)| latencies).copied().collect());
        let measured = |(name, (tool, all)): (&str, (ToolCount, Vec<Millis>))| {
            (name.to_owned(), ToolCount { latency: Latencies::of(all), ..tool })
        };
        tools.by_name = by_name.into_iter().map(measured).collect();
        tools
    }

    fn denials(&self, loose: &BTreeMap<Name, u64>) -> Denials {
        let mut by_tool: BTreeMap<String, u64> =
            loose.iter().map(|(name, &count)| (name.to_string(), count)).collect();
        for (id, told) in self.denied.iter() {
            let asked = self.calls.get(id).and_then(Call::tool);
            let name = asked.unwrap_or_else(|| told.get());
            *by_tool.entry(name.map_or(NO_TOOL, Name::as_str).to_owned()).or_default() += 1;
        }
        Denials { total: by_tool.values().sum(), by_tool }
    }

    /// Failures of the API; those of tools and turns are counted elsewhere.
    fn api_errors(&self) -> Errors {
        let mut errors = Errors::default();
        let mut retries: Hashed<&SessionKey, [BTreeMap<&Name, u64>; 2]> = Hashed::default();
        for rare in self.records.rare() {
            if let Some(kind) = &rare.api_error {
                errors.api += 1;
                *errors.by_type.entry(kind.to_string()).or_default() += 1;
            }
            if let Some(retry) = &rare.retry {
                let dialects = retries.entry(&retry.session).or_default();
                let dialect = usize::from(retry.dialect == Dialect::Transcript);
                *dialects[dialect].entry(&retry.kind).or_default() += 1;
            }
        }
        for [streamed, saved] in retries.into_values() {
            // One failure has a line in each dialect, under different uuids: the dialect that tells of more counts.
            let sum = |kinds: &BTreeMap<&Name, u64>| kinds.values().sum::<u64>();
            let kinds = if sum(&saved) > sum(&streamed) { saved } else { streamed };
            errors.api_retries += sum(&kinds);
            for (kind, count) in kinds {
                *errors.by_type.entry(kind.to_string()).or_default() += count;
            }
        }
        errors
    }

    fn durations(&self, differences: &[Difference<'_>], tools: &Tools) -> Durations {
        let mut walls: Hashed<&SessionKey, Millis> = Hashed::default();
        let mut api = None;
        for one in differences {
            if let Some(wall) = one.end.wall {
                *walls.entry(&one.end.session).or_default() += wall;
            }
            if let Some(millis) = one.api {
                *api.get_or_insert(Millis::ZERO) += millis;
            }
        }
        let owners = Owners::new(self);
        let mut turns: Hashed<&SessionKey, Millis> = Hashed::default();
        for one in self.durations.values() {
            let Some(owner) = owners.owner(&one.sessions) else { continue };
            if !walls.contains_key(owner)
                && let Some(wall) = one.wall.get()
            {
                *turns.entry(owner).or_default() += *wall;
            }
        }
        let any_wall = !walls.is_empty() || !turns.is_empty();
        Durations {
            wall: any_wall.then(|| walls.into_values().chain(turns.into_values()).sum()),
            api,
            tool: tools.total.latency.map(|latency| latency.total),
            first: self.span.map(|Span { first, .. }| first),
            last: self.span.map(|Span { last, .. }| last),
        }
    }
}

/// What stands around a place: looked up in order, as there may be a million names that nobody knows.
struct Around<'a> {
    lines: Lines,
    marks: Marks<'a>,
}

impl<'a> Around<'a> {
    fn of(facts: &'a Facts) -> Self {
        Self { lines: Lines::of(facts), marks: Marks::of(&facts.chain) }
    }

    /// What is told of a name that no table knows: its own version, else the one that prints there.
    fn unknown(&self, count: u64, place: Place, version: Option<&Name>) -> Unknown {
        let version = version.map(Name::as_str).or_else(|| self.marks.version(place));
        let line = self.lines.get(place.source, place.offset, place.line);
        Unknown { count, source: place.source, line, version: version.map(str::to_owned) }
    }
}

fn total<'a>(tools: impl Iterator<Item = &'a ToolCount>) -> ToolCount {
    tools.fold(ToolCount::default(), |mut sum, tool| {
        sum.calls += tool.calls;
        sum.ok += tool.ok;
        sum.errors += tool.errors;
        sum.denied += tool.denied;
        sum.open += tool.open;
        sum
    })
}
