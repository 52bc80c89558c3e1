//! Requests of the CLI, of its host and over a bridge, and how each was decided.

mod bridge;
mod pair;

use super::{CallsById, calls};
use crate::{
    event::{
        Dialect,
        trace::{Trace, Verdict},
    },
    facts::{
        Name,
        ledger::{Context, End, Ledger, Location, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

names! {
    /// Sender and receiver of a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// The CLI asks its host.
        ToHost = "cli to host",
        /// The host asks the CLI.
        ToCli = "host to cli",
        /// A bridge asks its client.
        ToClient = "bridge to client",
        /// A client asks its bridge.
        ToBridge = "client to bridge",
    }
}

names! {
    /// How a request was decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Decision {
        /// The tool may run.
        Allow = "allow",
        /// The tool may not run.
        Deny = "deny",
        /// The request succeeded.
        Success = "success",
        /// The request failed.
        Error = "error",
        /// The sender cancelled it.
        Cancelled = "cancelled",
        /// There is no response.
        Unanswered = "unanswered",
    }
}

impl Decision {
    fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allow,
            Verdict::Deny => Self::Deny,
            Verdict::Success => Self::Success,
            Verdict::Error => Self::Error,
        }
    }
}

names! {
    /// Which lines of an exchange the logs contain.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Seen {
        Both = "both",
        /// The request alone.
        Request = "request",
        /// The response alone: the request is in the log of the other side.
        Response = "response",
    }
}

/// One request and its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Sender and receiver of the request.
    pub direction: Direction,
    /// Its subtype. Without the request it is known only if no other request has such a response.
    pub subtype: Option<Name>,
    /// The tool that it is about.
    pub tool: Option<Name>,
    /// The decision; `None` if the protocol has no response to it.
    pub decision: Option<Decision>,
    /// Whether the tool is allowed from then on.
    pub always: bool,
    /// Time from the request to the response or cancellation.
    pub latency: Option<Millis>,
    /// Id that matches request and response: `request_id`, or the id of a call.
    pub id: Option<Name>,
    /// Its session, if known.
    pub session: Option<SessionIndex>,
    /// Time of the request, else of the response.
    pub time: Option<Time>,
    /// Location of the request, else of the response.
    pub location: Option<Location>,
    /// Which lines the logs contain.
    pub seen: Seen,
}

/// Returns every request once, in time order if all have a time, else in log order.
pub fn requests(ledger: &Ledger) -> Vec<Request> {
    let lookup = Lookup::of(ledger);
    let mut all: Vec<Request> = pair::exchanges(ledger.traces.iter().filter_map(ControlLine::of).collect())
        .iter()
        .map(|pair| lookup.control(pair))
        .chain(bridge::requests(&lookup))
        .collect();
    // If two logs show one run from two sides, only times give a common order.
    let timed = all.iter().all(|request| request.time.is_some());
    all.sort_by_key(|request| (request.time.filter(|_| timed), request.location));
    all
}

/// A request, response or cancellation of the control protocol.
struct ControlLine<'a> {
    row: &'a Traced,
    /// `request_id`.
    id: &'a Name,
}

impl<'a> ControlLine<'a> {
    fn of(row: &'a Traced) -> Option<Self> {
        let id = match &row.trace {
            Trace::Request(request) => &request.id,
            Trace::Response(response) => &response.id,
            Trace::Cancel(id) => id,
            _ => return None,
        };
        Some(Self { row, id })
    }
}

/// A request with its response and its cancellation.
struct Exchange<'a> {
    request: Option<ControlLine<'a>>,
    response: Option<ControlLine<'a>>,
    cancel: Option<ControlLine<'a>>,
}

/// Finds the calls and sessions that requests belong to.
struct Lookup<'a> {
    ledger: &'a Ledger,
    calls: CallsById<'a>,
}

impl<'a> Lookup<'a> {
    fn of(ledger: &'a Ledger) -> Self {
        Self { ledger, calls: calls(ledger) }
    }

    /// Returns the session of a record: the one it names, else the one of the records around it.
    fn session(&self, context: &Context) -> Option<SessionIndex> {
        if let Some(session) = self.ledger.named_session(context) {
            return Some(session);
        }
        let at = context.location?;
        let (before, next) = self.ledger.spans_around(at);
        let after = before.filter(|before| before.last > at.offset).or(next);
        match (before, after) {
            (Some(before), Some(after)) => (before.session == after.session).then_some(before.session),
            (one, other) => one.or(other).map(|span| span.session),
        }
    }

    /// Returns the decision that follows from how the call ended: a log of one side has no response.
    fn ended(&self, call: Option<&str>) -> Option<Decision> {
        match self.calls.get(call?)?.end {
            End::Denied => Some(Decision::Deny),
            End::Ok | End::Error => Some(Decision::Allow),
            End::Open => None,
        }
    }

    /// Builds a request of the control protocol.
    fn control(&self, pair: &Exchange<'a>) -> Request {
        let Exchange { request, response, cancel } = pair;
        let (asked, answered) = (request.as_ref(), response.as_ref());
        let first = asked.or(answered).or(cancel.as_ref()).map(|half| half.row);
        let (subtype, tool, call) = match asked.map(|half| &half.row.trace) {
            Some(Trace::Request(decoded)) => {
                (decoded.subtype.clone(), decoded.tool.clone(), decoded.call.as_deref())
            }
            _ => (None, None, None),
        };
        let (answer, always, known) = match answered.map(|half| &half.row.trace) {
            Some(Trace::Response(decoded)) => {
                (Some(Decision::of(decoded.verdict)), decoded.always, decoded.answers)
            }
            _ => (None, false, None),
        };
        // A cancelled request was still open, so a response beside the cancellation came too late.
        let cancelled = cancel.as_ref().map(|_| Decision::Cancelled);
        let decision = cancelled.or(answer).or_else(|| self.ended(call)).unwrap_or(Decision::Unanswered);
        let end = cancel.as_ref().or(answered).and_then(|half| half.row.context.time);
        let called = call.and_then(|call| self.calls.get(call)).copied();
        let halves = || [asked, answered, cancel.as_ref()].into_iter().flatten();
        Request {
            direction: self.direction(pair),
            subtype: subtype.or_else(|| known.map(Name::from)),
            tool: tool.or_else(|| called.map(|call| Name::clone(&call.tool))),
            decision: Some(decision),
            always,
            latency: asked.and_then(|half| half.row.context.time).zip(end).map(|(from, to)| to.since(from)),
            id: halves().next().map(|half| Name::clone(half.id)),
            session: called
                .and_then(|call| self.session(&call.context))
                .or_else(|| halves().find_map(|half| self.session(&half.row.context))),
            time: first.and_then(|row| row.context.time),
            location: first.and_then(|row| row.context.location),
            seen: match (asked.is_some(), answered.is_some() || cancel.is_some()) {
                (true, true) => Seen::Both,
                (true, false) => Seen::Request,
                (false, _) => Seen::Response,
            },
        }
    }

    fn direction(&self, pair: &Exchange<'_>) -> Direction {
        let is_hosts = |row: &Traced| {
            row.dialect == Dialect::Input
                || row.context.location.is_some_and(|at| self.ledger.hosts.contains(&at.source))
        };
        let asked_by_host = match pair {
            Exchange { request: Some(request), .. } => request.row.dialect == Dialect::Input,
            Exchange { response: Some(response), .. } => !is_hosts(response.row),
            Exchange { cancel, .. } => cancel.as_ref().is_some_and(|half| is_hosts(half.row)),
        };
        if asked_by_host { Direction::ToCli } else { Direction::ToHost }
    }
}
