//! Rebuilds of the prompt cache as rows, each with its cause.
//!
//! The cause is the first of these that the log shows: the server's own reason, another shape (tools or system
//! prompt), other parameters (model, effort, betas), a conversation that was rewritten, a compaction, another model,
//! a fork or a resumed session, and a pause that is longer than the lifetime of the cache.

use std::collections::BTreeSet;

use super::{Context, Response, ResponseIndex, Traced, build::LedgerBuilder};
use crate::{
    event::trace::{ApiRequest, Shape, ShapeTool, Trace},
    facts::{Hashed, Name, cost::Bill, rebuild::Rebuilt},
    measure::{Millis, Usd},
};

/// A response that wrote tokens to the cache again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// Session, agent, time and location of the response.
    pub context: Context,
    pub response: ResponseIndex,
    /// Tokens that were written again, at most.
    pub tokens: u64,
    /// Tokens that were cached before.
    pub cached: u64,
    /// Cost beyond that of reading the tokens, if the model has a price.
    pub cost: Option<Usd>,
    pub cause: Cause,
    /// How the cause is known; `None` if it is not.
    pub evidence: Option<Evidence>,
    pub changes: Vec<Change>,
    /// Time since the request before, if the log has both times.
    pub gap: Option<Millis>,
    /// How long the tokens were to be kept.
    pub lifetime: Millis,
}

names! {
    /// Why tokens were not in the cache any more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Cause {
        /// Other tools.
        Tools = "tools",
        /// Another system prompt.
        System = "system",
        /// Another system prompt or other tools; the log does not show which.
        Shape = "shape",
        Model = "model",
        Effort = "effort",
        /// Other beta features.
        Betas = "betas",
        /// Earlier messages were changed or removed.
        Rewritten = "rewritten",
        Compaction = "compaction",
        /// The conversation was continued as another session.
        Fork = "fork",
        /// Another process continued the session.
        Resume = "resume",
        /// The cache had expired.
        Idle = "idle",
        /// Another reason of the server.
        Server = "server",
        Unknown = "unknown",
    }
}

names! {
    /// How a cause is known.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Evidence {
        /// The server says it.
        Server = "server",
        /// The records of two requests differ.
        Request = "request",
        /// Other records say it: a compaction, models, sessions, versions or times.
        Log = "log",
    }
}

/// A difference between two requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The server's own words.
    Reason(Name),
    /// A tool or beta that was added.
    Added(Name),
    /// A tool or beta that was removed.
    Removed(Name),
    /// A tool with another definition.
    Changed(Name),
    /// The same tools in another order.
    Reordered,
    /// The text of the system prompt.
    System,
    /// A model, effort or version, before and after.
    Replaced(Option<Name>, Option<Name>),
    /// Messages that were kept, and how many there were.
    Kept(u64, u64),
    /// The conversation was compacted in between.
    Compacted,
    /// Another process sent the request.
    NewProcess,
}

const FIVE_MINUTES: Millis = Millis::new(5 * 60 * 1000);
const HOUR: Millis = Millis::new(60 * 60 * 1000);

impl LedgerBuilder<'_> {
    /// Adds a row for each rebuild, by time and place.
    pub(super) fn rebuilds(&mut self, bills: &[Bill<'_>]) {
        let records = Records::of(&self.ledger.traces);
        let mut rows: Vec<Rebuild> = Vec::new();
        for rebuilt in bills.iter().flat_map(|bill| &bill.rebuilds) {
            let Some(&at) = self.responses.get(&rebuilt.response) else { continue };
            let before = self.responses.get(&rebuilt.before).map(|&before| &self.ledger.responses[before]);
            rows.push(records.row(at, &self.ledger.responses[at], before, rebuilt));
        }
        rows.sort_by_key(|row| (row.context.time.is_none(), row.context.time, row.context.location));
        self.ledger.rebuilds = rows;
    }
}

/// The records of requests, by their ids.
#[derive(Default)]
struct Records<'l> {
    requests: Hashed<&'l str, (&'l Context, &'l ApiRequest<Name>)>,
    shapes: Hashed<&'l str, &'l Shape<Name>>,
    /// Reasons of the server by response.
    reasons: Hashed<&'l str, &'l Name>,
}

/// A cause with its evidence.
type Found = (Cause, Option<Evidence>, Vec<Change>);

impl<'l> Records<'l> {
    /// Indexes traces in log order. The first record of an id counts: later ones are copies.
    fn of(traces: &'l [Traced]) -> Self {
        let mut records = Self::default();
        for row in traces {
            match &row.trace {
                Trace::ApiRequest(request) => {
                    if let Some(id) = &request.id {
                        records.requests.entry(id).or_insert((&row.context, request));
                    }
                }
                Trace::Shape(shape) => {
                    if let Some(id) = &shape.id {
                        records.shapes.entry(id).or_insert(shape);
                    }
                }
                Trace::CacheMiss(miss) => {
                    records.reasons.entry(&miss.response).or_insert(&miss.reason);
                }
                _ => {}
            }
        }
        records
    }

    fn request(&self, response: &Response) -> Option<(&'l Context, &'l ApiRequest<Name>)> {
        self.requests.get(response.more().request_record.as_deref()?).copied()
    }

    fn row(
        &self,
        at: ResponseIndex,
        now: &Response,
        before: Option<&Response>,
        rebuilt: &Rebuilt,
    ) -> Rebuild {
        let sent = |response: &Response| self.request(response).and_then(|(context, _)| context.time);
        // The lifetime begins anew with each request. Without its record, the response is the best estimate.
        let times = before.and_then(|before| sent(before).zip(sent(now)));
        let times = times.or_else(|| before.and_then(|before| before.context.time.zip(now.context.time)));
        let gap = times.map(|(before, now)| now.since(before));
        let lifetime = if rebuilt.is_hour { HOUR } else { FIVE_MINUTES };
        let found = before.and_then(|before| self.cause(before, now, rebuilt));
        let idle =
            || gap.filter(|gap| *gap > lifetime).map(|_| (Cause::Idle, Some(Evidence::Log), Vec::new()));
        let (cause, evidence, changes) = found.or_else(idle).unwrap_or((Cause::Unknown, None, Vec::new()));
        let &Rebuilt { tokens, cached, cost, .. } = rebuilt;
        let context = now.context.clone();
        Rebuild { context, response: at, tokens, cached, cost, cause, evidence, changes, gap, lifetime }
    }

    /// Returns the first cause, other than a pause, that there is evidence for.
    fn cause(&self, before: &Response, now: &Response, rebuilt: &Rebuilt) -> Option<Found> {
        let requests = self.request(before).zip(self.request(now));
        let requests = requests.map(|((_, before), (_, now))| (before, now));
        let by_request = |(cause, changes)| (cause, Some(Evidence::Request), changes);
        let by_log = |(cause, changes)| (cause, Some(Evidence::Log), changes);
        let shape = || requests.and_then(|(before, now)| self.shape(before, now));
        let rewritten = || self.rewritten(self.request(now)?.1, rebuilt.is_compacted);
        self.reason(before, now, rebuilt)
            .or_else(|| shape().map(by_request))
            .or_else(|| requests.and_then(|(before, now)| parameters(before, now)).map(by_request))
            .or_else(|| rewritten().map(by_request))
            .or_else(|| rebuilt.is_compacted.then_some((Cause::Compaction, Vec::new())).map(by_log))
            .or_else(|| model(before, now).map(by_log))
            .or_else(|| self.continued(before, now))
    }

    /// Returns the server's own reason, and what the log says about it.
    fn reason(&self, before: &Response, now: &Response, rebuilt: &Rebuilt) -> Option<Found> {
        let reason = *self.reasons.get(now.id.as_deref()?)?;
        let requests = self.request(before).zip(self.request(now));
        let (cause, more) = match reason.as_str() {
            // The server could not compare the requests.
            "unavailable" | "previous_message_not_found" => return None,
            "model_changed" => (Cause::Model, model(before, now)),
            "system_changed" => (Cause::System, None),
            "tools_changed" => {
                (Cause::Tools, requests.and_then(|((_, before), (_, now))| self.shape(before, now)))
            }
            "messages_changed" => {
                let rewritten =
                    self.request(now).and_then(|(_, now)| self.rewritten(now, rebuilt.is_compacted));
                let compacted = rebuilt.is_compacted.then(|| (Cause::Compaction, vec![Change::Compacted]));
                (Cause::Rewritten, rewritten.or(compacted))
            }
            _ => (Cause::Server, None),
        };
        let mut changes = vec![Change::Reason(Name::clone(reason))];
        changes.extend(more.into_iter().flat_map(|(_, changes)| changes));
        Some((cause, Some(Evidence::Server), changes))
    }

    /// Compares tools and system prompts. Tools are first in a prompt.
    fn shape(&self, before: &ApiRequest<Name>, now: &ApiRequest<Name>) -> Option<(Cause, Vec<Change>)> {
        let (before, now) = (before.shape.as_ref()?, now.shape.as_ref()?);
        if before == now {
            return None;
        }
        let shapes = self.shapes.get(before.as_str()).zip(self.shapes.get(now.as_str()));
        let mut changes = shapes.map(|(before, now)| tools(&before.tools, &now.tools)).unwrap_or_default();
        let has_tools = !changes.is_empty();
        if shapes.is_some_and(|(before, now)| before.system != now.system) {
            changes.push(Change::System);
        }
        let cause = match changes.last() {
            _ if has_tools => Cause::Tools,
            Some(_) => Cause::System,
            None => Cause::Shape,
        };
        Some((cause, changes))
    }

    /// Returns how many messages of the request before were kept, if not all.
    fn rewritten(&self, now: &ApiRequest<Name>, is_compacted: bool) -> Option<(Cause, Vec<Change>)> {
        let (_, base) = self.requests.get(now.base.as_deref()?)?;
        if now.kept >= base.messages() {
            return None;
        }
        let mut changes = vec![Change::Kept(now.kept, base.messages())];
        changes.extend(is_compacted.then_some(Change::Compacted));
        Some((Cause::Rewritten, changes))
    }

    /// Returns whether another session or process continued the conversation.
    fn continued(&self, before: &Response, now: &Response) -> Option<Found> {
        let log = Some(Evidence::Log);
        if before.context.session != now.context.session {
            return Some((Cause::Fork, log, Vec::new()));
        }
        // The first request of a process extends none.
        if self.request(now).is_some_and(|(_, request)| request.base.is_none()) {
            return Some((Cause::Resume, Some(Evidence::Request), vec![Change::NewProcess]));
        }
        let (before, now) = (&before.context.version, &now.context.version);
        let is_updated = before.is_some() && now.is_some() && before != now;
        is_updated.then(|| (Cause::Resume, log, vec![Change::Replaced(before.clone(), now.clone())]))
    }
}

/// Compares model, effort and betas.
fn parameters(before: &ApiRequest<Name>, now: &ApiRequest<Name>) -> Option<(Cause, Vec<Change>)> {
    let replaced = |cause, before: &Option<Name>, now: &Option<Name>| {
        (before != now).then(|| (cause, vec![Change::Replaced(before.clone(), now.clone())]))
    };
    let betas = || {
        let set = |request: &'_ ApiRequest<Name>| -> Option<BTreeSet<Name>> {
            request.parameters.betas.as_ref().map(|betas| betas.iter().cloned().collect())
        };
        let (before, now) = (set(before)?, set(now)?);
        let mut changes: Vec<Change> = now.difference(&before).cloned().map(Change::Added).collect();
        changes.extend(before.difference(&now).cloned().map(Change::Removed));
        (!changes.is_empty()).then_some((Cause::Betas, changes))
    };
    let (old, new) = (&before.parameters, &now.parameters);
    replaced(Cause::Model, &old.model, &new.model)
        .or_else(|| replaced(Cause::Effort, &old.effort, &new.effort))
        .or_else(betas)
}

/// Compares the models of two responses.
fn model(before: &Response, now: &Response) -> Option<(Cause, Vec<Change>)> {
    let own = |response: &Response| Some(Name::clone(&response.model));
    (before.model != now.model).then(|| (Cause::Model, vec![Change::Replaced(own(before), own(now))]))
}

/// Compares two lists of tools.
fn tools(before: &[ShapeTool<Name>], now: &[ShapeTool<Name>]) -> Vec<Change> {
    let index = |tools: &'_ [ShapeTool<Name>]| -> Hashed<Name, ShapeTool<Name>> {
        tools.iter().map(|tool| (Name::clone(&tool.name), tool.clone())).collect()
    };
    let (old, new) = (index(before), index(now));
    let mut changes = Vec::new();
    for tool in now {
        match old.get(&tool.name) {
            None => changes.push(Change::Added(Name::clone(&tool.name))),
            Some(known) if known.definition != tool.definition => {
                changes.push(Change::Changed(Name::clone(&tool.name)));
            }
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|tool| !new.contains_key(&tool.name));
    changes.extend(gone.map(|tool| Change::Removed(Name::clone(&tool.name))));
    if changes.is_empty() && before != now {
        changes.push(Change::Reordered);
    }
    changes
}
