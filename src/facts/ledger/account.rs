//! Computes the account of a ledger. Without a filter it equals the account of the facts.

use std::collections::BTreeSet;

use super::{Context, End, Ledger};
use crate::facts::account::{Account, AccountBuilder, NameCounts, OnlySession, Unknown, last_error};

impl Ledger {
    /// Computes all reported numbers. Kinds, blocks, versions and the time span need
    /// [`Detail::RECORDS`](crate::facts::Detail::RECORDS).
    pub fn account(&self) -> Account {
        let mut builder = AccountBuilder::default();
        builder.account = self.counts();
        for session in &self.sessions {
            builder.session(session.id.is_some(), session.lacks_result());
        }
        let at = |context: &Context| context.location.map(|at| (at.source, at.offset));
        let errors = || self.api_failures.iter().filter(|failure| !failure.retried);
        let errors = || errors().filter_map(|failure| Some((at(&failure.context)?, &*failure.kind)));
        let mut before = None;
        for turn in &self.turns {
            let end = at(&turn.context);
            if turn.counted {
                let error = || last_error(errors(), before, end?);
                builder.turn(&turn.subtype, turn.ok, turn.num_turns, error);
            }
            before = end;
            builder.time(turn.wall, turn.api);
        }
        self.interactive_turns.iter().for_each(|turn| builder.time(Some(turn.wall), None));
        self.calls.iter().for_each(|call| builder.call(&call.tool, call.end, call.latency));
        self.denials.iter().for_each(|denial| builder.denial(&denial.tool));
        self.api_failures.iter().for_each(|failure| builder.api_failure(&failure.kind, failure.retried));
        for response in &self.responses {
            builder.model(response.answered.as_deref());
            builder.computed(response.computed);
        }
        self.rebuilds.iter().for_each(|rebuild| builder.rebuilt(rebuild.tokens, rebuild.cost));
        for charge in &self.charges {
            let model = charge.model.as_deref().filter(|_| charge.known);
            builder.paid(model, charge.tokens, charge.cost, charge.reported);
        }
        if builder.has_unbilled() {
            self.responses.iter().for_each(|response| builder.unbilled(response.unbilled));
        }
        builder.account.only_session = self.only_session();
        builder.finish()
    }

    fn only_session(&self) -> Option<OnlySession> {
        let mut named = self.sessions.iter().filter(|session| session.id.is_some());
        let only = named.next().filter(|_| named.next().is_none())?;
        let open = self.calls.iter().filter(|call| call.end == End::Open);
        let open = open.max_by_key(|call| (call.context.location, &call.tool));
        Some(OnlySession {
            id: only.id.as_ref()?.to_string(),
            project: only.project.as_ref().map(ToString::to_string),
            started: only.started,
            open_call: open.map(|call| (call.tool.to_string(), call.context.time)),
        })
    }

    /// Returns the plain counts, with one pass over the records.
    fn counts(&self) -> Account {
        let (mut kinds, mut blocks) = (NameCounts::default(), NameCounts::default());
        let mut versions: BTreeSet<&str> = BTreeSet::new();
        let mut account = Account {
            input: self.input.clone(),
            prompts: self.prompts.len() as u64,
            responses: self.responses.len() as u64,
            ..Account::default()
        };
        let duration = &mut account.duration;
        for record in &self.records {
            let context = &record.context;
            let first = || {
                let version = context.version.as_ref().map(ToString::to_string);
                context.location.map(|at| Unknown { count: 1, source: at.source, line: at.line, version })
            };
            kinds.add(&record.kind, record.known, first);
            record.blocks.iter().for_each(|(name, known, _)| blocks.add(name, *known, first));
            versions.extend(context.version.as_deref());
            duration.first = duration.first.into_iter().chain(context.time).min();
            duration.last = duration.last.max(context.time);
        }
        account.tools.orphans = self.orphans.len() as u64;
        account.cost.complete = self.sessions.iter().all(|session| session.complete);
        let unpriced: BTreeSet<&str> =
            self.sessions.iter().flat_map(|session| &session.unpriced).map(|model| &**model).collect();
        account.cost.unpriced_models = unpriced.into_iter().map(str::to_owned).collect();
        Account {
            kinds: kinds.counts,
            unknown_kinds: kinds.unknown,
            blocks: blocks.counts,
            unknown_blocks: blocks.unknown,
            versions: versions.into_iter().map(str::to_owned).collect(),
            ..account
        }
    }
}
