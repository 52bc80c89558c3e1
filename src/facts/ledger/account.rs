//! The account of the rows that are left: the same figures as of everything, by another way.

use std::collections::{BTreeMap, BTreeSet};

use super::{Call, End, Ledger, Record};
use crate::{
    facts::account::{
        Account, Cost, Denials, Durations, Errors, Latencies, ModelCost, ToolCount, Tools, Turns, Unknown,
    },
    measure::{Millis, Tokens, add},
};

impl Ledger {
    /// Every number as it is reported. Kinds, blocks, versions and the span of time need the records.
    pub fn account(&self) -> Account {
        let (turns, tools, cost) = (self.turn_counts(), self.tool_counts(), self.cost());
        let api = self.api_errors();
        let answered = self.responses.iter().filter_map(|one| one.answered.as_deref());
        let models: BTreeSet<&str> = answered.chain(cost.by_model.keys().map(String::as_str)).collect();
        let versions: BTreeSet<&str> =
            self.records.iter().filter_map(|record| record.mark.version.as_deref()).collect();
        Account {
            input: self.input.clone(),
            kinds: self.counted(|record| vec![(&*record.kind, record.known)]).0,
            unknown_kinds: self.counted(|record| vec![(&*record.kind, record.known)]).1,
            blocks: self.counted(block_names).0,
            unknown_blocks: self.counted(block_names).1,
            sessions: self.sessions.iter().filter(|session| session.id.is_some()).count() as u64,
            prompts: self.prompts.len() as u64,
            responses: self.responses.len() as u64,
            denials: self.denial_counts(),
            errors: Errors { tool: tools.total.errors, turn: turns.errors, ..api },
            tokens: cost.by_model.values().map(|model| model.tokens).sum::<Tokens>(),
            duration: self.durations(&tools),
            models: models.into_iter().map(str::to_owned).collect(),
            versions: versions.into_iter().map(str::to_owned).collect(),
            turns,
            tools,
            cost,
        }
    }

    /// Names by count, and the strangers among them with their first place.
    fn counted<'a>(
        &'a self,
        names: impl Fn(&'a Record) -> Vec<(&'a str, bool)>,
    ) -> (BTreeMap<String, u64>, BTreeMap<String, Unknown>) {
        let (mut counts, mut unknown) = (BTreeMap::new(), BTreeMap::<String, Unknown>::new());
        for record in &self.records {
            for (name, known) in names(record) {
                *counts.entry(name.to_owned()).or_default() += 1;
                let (false, Some(at)) = (known, record.mark.at) else { continue };
                let version = || record.mark.version.as_ref().map(ToString::to_string);
                let first = || Unknown { count: 0, source: at.source, line: at.line, version: version() };
                unknown.entry(name.to_owned()).or_insert_with(first).count += 1;
            }
        }
        (counts, unknown)
    }

    fn turn_counts(&self) -> Turns {
        let open =
            |session: &&super::Session| session.id.is_some() && session.streamed && !session.has_result;
        let no_result_sessions = self.sessions.iter().filter(open).count() as u64;
        let mut turns = Turns { no_result_sessions, ..Turns::default() };
        for turn in self.turns.iter().filter(|turn| turn.counted) {
            turns.total += 1;
            *turns.by_subtype.entry(turn.subtype.to_string()).or_default() += 1;
            turns.num_turns = turns.num_turns.saturating_add(turn.num_turns);
            if turn.ok {
                turns.ok += 1;
            } else {
                turns.errors += 1;
                *turns.failed_by_subtype.entry(turn.subtype.to_string()).or_default() += 1;
            }
        }
        turns
    }

    fn tool_counts(&self) -> Tools {
        let mut by_name: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in &self.calls {
            by_name.entry(&call.tool).or_default().push(call);
        }
        Tools {
            total: ToolCount::of(self.calls.iter()),
            orphans: self.orphans.len() as u64,
            by_name: by_name
                .into_iter()
                .map(|(name, calls)| (name.to_owned(), ToolCount::of(calls.into_iter())))
                .collect(),
        }
    }

    fn denial_counts(&self) -> Denials {
        let mut by_tool = BTreeMap::new();
        for denial in &self.denials {
            *by_tool.entry(denial.tool.to_string()).or_default() += 1;
        }
        Denials { total: self.denials.len() as u64, by_tool }
    }

    fn api_errors(&self) -> Errors {
        let mut errors = Errors::default();
        for fault in &self.faults {
            *(if fault.retried { &mut errors.api_retries } else { &mut errors.api }) += 1;
            *errors.by_type.entry(fault.kind.to_string()).or_default() += 1;
        }
        errors
    }

    fn cost(&self) -> Cost {
        let unpriced: BTreeSet<&str> =
            self.sessions.iter().flat_map(|session| &session.unpriced).map(|model| &**model).collect();
        let mut cost = Cost {
            complete: self.sessions.iter().all(|session| session.complete),
            unpriced_models: unpriced.into_iter().map(str::to_owned).collect(),
            ..Cost::default()
        };
        for entry in &self.entries {
            if let Some(amount) = entry.cost {
                add(&mut cost.total, amount);
                if entry.reported {
                    add(&mut cost.reported, amount);
                }
            }
            let Some(model) = &entry.model else { continue };
            if !entry.told {
                continue;
            }
            let sum: &mut ModelCost = cost.by_model.entry(model.to_string()).or_default();
            sum.tokens += entry.tokens;
            if let Some(amount) = entry.cost {
                add(&mut sum.total, amount);
            }
        }
        self.responses.iter().filter_map(|one| one.computed).for_each(|one| add(&mut cost.computed, one));
        cost
    }

    fn durations(&self, tools: &Tools) -> Durations {
        let times = || self.records.iter().filter_map(|record| record.mark.time);
        let walls = self.turns.iter().filter_map(|turn| turn.wall);
        Durations {
            wall: sum(walls.chain(self.waits.iter().map(|wait| wait.wall))),
            api: sum(self.turns.iter().filter_map(|turn| turn.api)),
            tool: tools.total.latency.map(|latency| latency.total),
            first: times().min(),
            last: times().max(),
        }
    }
}

impl ToolCount {
    /// Counts calls.
    pub fn of<'a>(calls: impl Iterator<Item = &'a Call>) -> Self {
        let (mut count, mut latencies) = (Self::default(), Vec::new());
        for call in calls {
            count.calls += 1;
            *match call.end {
                End::Ok => &mut count.ok,
                End::Error => &mut count.errors,
                End::Denied => &mut count.denied,
                End::Open => &mut count.open,
            } += 1;
            latencies.extend(call.latency);
        }
        Self { latency: Latencies::of(latencies), ..count }
    }
}

fn block_names(record: &Record) -> Vec<(&str, bool)> {
    record.blocks.iter().map(|(name, known, _)| (&**name, *known)).collect()
}

fn sum(all: impl Iterator<Item = Millis>) -> Option<Millis> {
    all.fold(None, |mut sum, one| {
        add(&mut sum, one);
        sum
    })
}
