//! Builds an account from rows: those of the facts, or those of a filtered ledger.

use std::collections::{BTreeMap, BTreeSet};

use super::{Account, Latencies, ToolCount, Unknown};
use crate::{
    facts::{
        Hashed,
        ledger::{Call, End},
    },
    input::SourceId,
    measure::{Millis, Tokens, Usd, add},
};

/// Builds an [`Account`].
#[derive(Default)]
pub(in crate::facts) struct AccountBuilder<'a> {
    /// The account so far. Callers set the fields that no method updates.
    pub(in crate::facts) account: Account,
    tools: Hashed<&'a str, CallSum>,
    models: BTreeSet<&'a str>,
    /// Cost of writing cached tokens again, and whether that of a model is unknown.
    extra: (Usd, bool),
}

impl<'a> AccountBuilder<'a> {
    /// Adds a session.
    pub(in crate::facts) fn session(&mut self, is_named: bool, lacks_result: bool) {
        self.account.sessions += u64::from(is_named);
        self.account.turns.no_result_sessions += u64::from(lacks_result);
    }

    /// Adds the end of a turn. `api_error` returns the API error that a failed turn ended with.
    pub(in crate::facts) fn turn(
        &mut self,
        subtype: &str,
        ok: bool,
        num_turns: u64,
        api_error: impl FnOnce() -> Option<&'a str>,
    ) {
        let turns = &mut self.account.turns;
        turns.total += 1;
        *if ok { &mut turns.ok } else { &mut turns.errors } += 1;
        count(&mut turns.by_subtype, subtype);
        if !ok {
            count(&mut turns.failed_by_subtype, subtype);
            // The CLI reports a failure of the API as `success` with a flag.
            let reason = if subtype == "success" { api_error().unwrap_or("is_error") } else { subtype };
            count(&mut turns.failed_by_reason, reason);
        }
        turns.num_turns = turns.num_turns.saturating_add(num_turns);
    }

    /// Adds wall and API time of a turn.
    pub(in crate::facts) fn time(&mut self, wall: Option<Millis>, api: Option<Millis>) {
        wall.into_iter().for_each(|wall| add(&mut self.account.duration.wall, wall));
        api.into_iter().for_each(|api| add(&mut self.account.duration.api, api));
    }

    pub(in crate::facts) fn call(&mut self, tool: &'a str, end: End, latency: Option<Millis>) {
        self.tools.entry(tool).or_default().add(end, latency);
    }

    pub(in crate::facts) fn denial(&mut self, tool: &str) {
        self.account.denials.total += 1;
        count(&mut self.account.denials.by_tool, tool);
    }

    /// Adds a failure of the API.
    pub(in crate::facts) fn api_failure(&mut self, kind: &str, retried: bool) {
        let errors = &mut self.account.errors;
        *if retried { &mut errors.api_retries } else { &mut errors.api } += 1;
        count(&mut errors.by_type, kind);
    }

    /// Adds a model that answered.
    pub(in crate::facts) fn model(&mut self, model: Option<&'a str>) {
        self.models.extend(model);
    }

    /// Adds tokens of a model and their cost. `reported` says whether the CLI reported the cost.
    pub(in crate::facts) fn paid(
        &mut self,
        model: Option<&str>,
        tokens: Tokens,
        amount: Option<Usd>,
        reported: bool,
    ) {
        let cost = &mut self.account.cost;
        if let Some(amount) = amount {
            add(&mut cost.total, amount);
            if reported {
                add(&mut cost.reported, amount);
            }
        }
        let Some(model) = model else { return };
        let sum = slot(&mut cost.by_model, model);
        sum.tokens += tokens;
        self.account.tokens += tokens;
        amount.into_iter().for_each(|amount| add(&mut sum.total, amount));
    }

    /// Adds tokens that were written to the cache again, with the cost beyond reading them.
    pub(in crate::facts) fn rebuilt(&mut self, tokens: u64, extra: Option<Usd>) {
        let cache = &mut self.account.cache;
        cache.rebuilt = cache.rebuilt.saturating_add(tokens);
        match extra {
            Some(extra) => self.extra.0 += extra,
            None => self.extra.1 = true,
        }
    }

    /// Whether runs were printed, and none of them has a result or a reported cost.
    pub(in crate::facts) fn has_unbilled(&self) -> bool {
        let Account { turns, cost, .. } = &self.account;
        turns.no_result_sessions > 0 && turns.total == 0 && cost.reported.is_none()
    }

    /// Adds the lower bound of a response that no result has billed.
    pub(in crate::facts) fn unbilled(&mut self, amount: Option<Usd>) {
        amount.into_iter().for_each(|amount| add(&mut self.account.cost.unbilled, amount));
    }

    /// Adds the computed cost of a response.
    pub(in crate::facts) fn computed(&mut self, amount: Option<Usd>) {
        amount.into_iter().for_each(|amount| add(&mut self.account.cost.computed, amount));
    }

    pub(in crate::facts) fn finish(self) -> Account {
        let Self { mut account, tools, models, extra: (extra, is_unknown) } = self;
        account.cache.extra = (!is_unknown).then_some(extra);
        let mut all = CallSum::default();
        for (name, sum) in tools {
            all.merge(&sum);
            account.tools.by_name.insert(name.to_owned(), sum.finish());
        }
        account.tools.total = all.finish();
        account.errors.tool = account.tools.total.errors;
        account.errors.turn = account.turns.errors;
        account.duration.tool = account.tools.total.latency.map(|latency| latency.total);
        let charged = account.cost.by_model.keys().map(String::as_str);
        let models: BTreeSet<&str> = charged.chain(models).collect();
        account.models = models.into_iter().map(str::to_owned).collect();
        account
    }
}

/// Source and offset of a record.
pub(in crate::facts) type At = (SourceId, u64);

/// The API error that a turn ended with: the last one in its source between the result before it and its own.
pub(in crate::facts) fn last_error<'e>(
    errors: impl Iterator<Item = (At, &'e str)>,
    before: Option<At>,
    end: At,
) -> Option<&'e str> {
    let within = |&(at, _): &(At, &str)| at.0 == end.0 && at < end && before.is_none_or(|before| at > before);
    errors.filter(within).max_by_key(|(at, _)| *at).map(|(_, kind)| kind)
}

/// Counts of names, and the first location of each unknown name.
#[derive(Default)]
pub(in crate::facts) struct NameCounts {
    pub(in crate::facts) counts: BTreeMap<String, u64>,
    pub(in crate::facts) unknown: BTreeMap<String, Unknown>,
}

impl NameCounts {
    /// Counts a name. `first` is called if the name is unknown and was not counted before.
    pub(in crate::facts) fn add(&mut self, name: &str, known: bool, first: impl FnOnce() -> Option<Unknown>) {
        count(&mut self.counts, name);
        if known {
            return;
        }
        match self.unknown.get_mut(name) {
            Some(unknown) => unknown.count += 1,
            None => self.unknown.extend(first().map(|first| (name.to_owned(), first))),
        }
    }
}

/// Counts and latencies of calls.
#[derive(Default)]
struct CallSum {
    count: ToolCount,
    latencies: Vec<Millis>,
}

impl CallSum {
    fn add(&mut self, end: End, latency: Option<Millis>) {
        self.count.calls += 1;
        *match end {
            End::Ok => &mut self.count.ok,
            End::Error => &mut self.count.errors,
            End::Denied => &mut self.count.denied,
            End::Open => &mut self.count.open,
        } += 1;
        self.latencies.extend(latency);
    }

    fn merge(&mut self, other: &Self) {
        let ToolCount { calls, ok, errors, denied, open, latency: _ } = other.count;
        self.count.calls += calls;
        self.count.ok += ok;
        self.count.errors += errors;
        self.count.denied += denied;
        self.count.open += open;
        self.latencies.extend(&other.latencies);
    }

    fn finish(self) -> ToolCount {
        ToolCount { latency: Latencies::of(self.latencies), ..self.count }
    }
}

impl ToolCount {
    /// Counts calls by how they ended.
    pub fn of<'a>(calls: impl Iterator<Item = &'a Call>) -> Self {
        let mut sum = CallSum::default();
        calls.for_each(|call| sum.add(call.end, call.latency));
        sum.finish()
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    *slot(counts, name) += 1;
}

/// Returns the value of a name. Allocates only for a new name.
fn slot<'m, V: Default>(map: &'m mut BTreeMap<String, V>, name: &str) -> &'m mut V {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), V::default());
    }
    map.get_mut(name).expect("it was just inserted")
}
