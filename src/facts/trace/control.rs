//! Who asked whom for what, and how it was decided: requests of the CLI, of its host, and over a bridge.

mod bridge;
mod pair;

use std::collections::HashMap;

use super::calls;
use crate::{
    event::{
        Dialect,
        trace::{Trace, Verdict},
    },
    facts::{
        Name,
        ledger::{Call, Context, End, Ledger, Location, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

names! {
    /// Who asks whom.
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
    /// What became of a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Decision {
        /// The tool may run.
        Allow = "allow",
        /// The tool may not run.
        Deny = "deny",
        /// It was done.
        Success = "success",
        /// It failed.
        Error = "error",
        /// Who asked took it back.
        Cancelled = "cancelled",
        /// No response was seen.
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
    /// Which halves of a request stand in what was read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Seen {
        /// Both.
        Both = "both",
        /// The request alone.
        Request = "request",
        /// The response alone: the request is in the log of the other side.
        Response = "response",
    }
}

/// One request, with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks whom.
    pub direction: Direction,
    /// What for. Of a response alone it is known where nothing else is answered like this.
    pub subtype: Option<Name>,
    /// The tool that is asked about.
    pub tool: Option<Name>,
    /// How it was decided; nothing where the protocol knows no response.
    pub decision: Option<Decision>,
    /// Whether a tool may run from then on, too.
    pub always: bool,
    /// Time from the request to what decided it.
    pub latency: Option<Millis>,
    /// What pairs it: `request_id`, or the id of a call.
    pub id: Option<Name>,
    /// Its session, where that is clear.
    pub session: Option<SessionIndex>,
    /// When it was asked, else when it was answered.
    pub time: Option<Time>,
    /// Where it stands, else where its response does.
    pub location: Option<Location>,
    /// Which halves were seen.
    pub seen: Seen,
}

/// Every request once, in the order of time where all say when, else in the order they stand.
pub fn requests(ledger: &Ledger) -> Vec<Request> {
    let scene = Scene::of(ledger);
    let mut all: Vec<Request> = pair::paired(ledger.traces.iter().filter_map(Half::of).collect())
        .iter()
        .map(|pair| scene.control(pair))
        .chain(bridge::requests(&scene))
        .collect();
    // Two logs of one run tell it from two sides: only times put them in one order.
    let timed = all.iter().all(|request| request.time.is_some());
    all.sort_by_key(|request| (request.time.filter(|_| timed), request.location));
    all
}

/// One line of the control protocol.
struct Half<'a> {
    row: &'a Traced,
    /// `request_id`.
    id: &'a Name,
}

impl<'a> Half<'a> {
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

/// The halves of one request.
struct Pair<'a> {
    request: Option<Half<'a>>,
    response: Option<Half<'a>>,
    cancel: Option<Half<'a>>,
}

/// What is around requests: calls, and the sessions that run.
struct Scene<'a> {
    ledger: &'a Ledger,
    calls: HashMap<&'a str, &'a Call>,
}

impl<'a> Scene<'a> {
    fn of(ledger: &'a Ledger) -> Self {
        Self { ledger, calls: calls(ledger) }
    }

    /// The session that a record is of: the one it names, else the one that runs around it.
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

    /// Whether a tool was allowed to run, by how its call ended: a log of one side alone has no response.
    fn ended(&self, call: Option<&str>) -> Option<Decision> {
        match self.calls.get(call?)?.end {
            End::Denied => Some(Decision::Deny),
            End::Ok | End::Error => Some(Decision::Allow),
            End::Open => None,
        }
    }

    /// A request of the control protocol.
    fn control(&self, pair: &Pair<'a>) -> Request {
        let Pair { request, response, cancel } = pair;
        let (asked, answered) = (request.as_ref(), response.as_ref());
        let first = asked.or(answered).or(cancel.as_ref()).map(|half| half.row);
        let (subtype, tool, call) = match asked.map(|half| &half.row.trace) {
            Some(Trace::Request(told)) => (told.subtype.clone(), told.tool.clone(), told.call.as_deref()),
            _ => (None, None, None),
        };
        let (answer, always, known) = match answered.map(|half| &half.row.trace) {
            Some(Trace::Response(told)) => (Some(Decision::of(told.verdict)), told.always, told.answers),
            _ => (None, false, None),
        };
        // What was cancelled was still waiting: a response that stands beside it came too late.
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

    fn direction(&self, pair: &Pair<'_>) -> Direction {
        let is_hosts = |row: &Traced| {
            row.dialect == Dialect::Input
                || row.context.location.is_some_and(|at| self.ledger.hosts.contains(&at.source))
        };
        let asked_by_host = match pair {
            Pair { request: Some(request), .. } => request.row.dialect == Dialect::Input,
            Pair { response: Some(response), .. } => !is_hosts(response.row),
            Pair { cancel, .. } => cancel.as_ref().is_some_and(|half| is_hosts(half.row)),
        };
        if asked_by_host { Direction::ToCli } else { Direction::ToHost }
    }
}
