//! The rows of a ledger by session, so that each session is built from its own rows only.

use super::{
    SessionTrace,
    build::{Builder, SessionRows},
    id::Ids,
};
use crate::{
    facts::{
        Name,
        ledger::{AgentIndex, CallIndex, ExchangeIndex, Exchanges, Ledger, ResponseIndex, SessionIndex},
        trace::permission::{Decision, decisions},
    },
    report::Names,
};

/// Builds the traces of the sessions of a ledger, one at a time.
pub struct Traces<'l> {
    ledger: &'l Ledger,
    names: Names<'l>,
    exchanges: Exchanges<'l>,
    rows: Vec<SessionRows<'l>>,
    decisions: Vec<Decision>,
    is_exported: bool,
}

impl<'l> Traces<'l> {
    /// Groups the rows of a ledger by session.
    pub fn of(ledger: &'l Ledger, names: Names<'l>) -> Self {
        Self::new(ledger, names, true)
    }

    /// Traces for reports on times: spans have ids that are unique in their session only, and no costs.
    pub fn of_times(ledger: &'l Ledger, names: Names<'l>) -> Self {
        Self::new(ledger, names, false)
    }

    fn new(ledger: &'l Ledger, names: Names<'l>, is_exported: bool) -> Self {
        let mut rows = vec![SessionRows::default(); ledger.sessions.len()];
        macro_rules! add {
            ($($table:ident: $each:expr;)*) => {$(
                for (context, row) in $each {
                    if let Some(session) = context.session {
                        rows[session.get()].$table.push(row);
                    }
                }
            )*};
        }
        add! {
            responses: ResponseIndex::each(&ledger.responses).map(|(at, one)| (&one.context, at));
            calls: CallIndex::each(&ledger.calls).map(|(at, one)| (&one.context, at));
            turns: ledger.turns.iter().map(|one| (&one.context, one));
            interactive_turns: ledger.interactive_turns.iter().map(|one| (&one.context, one));
            api_failures: ledger.api_failures.iter().map(|one| (&one.context, one));
            compactions: ledger.compactions.iter().map(|one| (&one.context, one));
            moments: ledger.moments.iter().map(|one| (&one.context, one));
            denials: ledger.denials.iter().map(|one| (&one.context, one));
            charges: ledger.charges.iter().filter(|_| is_exported).map(|one| (&one.context, one));
        }
        for (at, exchange) in ExchangeIndex::each(&ledger.exchanges) {
            if let Some(session) = exchange.session {
                rows[session.get()].exchanges.push(at);
            }
        }
        for (at, agent) in AgentIndex::each(&ledger.agents) {
            if let Some(session) = agent.session {
                rows[session.get()].agents.push(at);
            }
        }
        let (exchanges, decisions) = (Exchanges::of(ledger), decisions(ledger).0);
        Self { ledger, names, exchanges, rows, decisions, is_exported }
    }

    /// Returns the trace of a session.
    pub fn session(&self, session: SessionIndex) -> SessionTrace {
        let told = &self.ledger.sessions[session];
        let id = told.id.clone().unwrap_or_else(|| Name::from(self.names.get(told.source)));
        let ids = if self.is_exported { Ids::of(&id) } else { Ids::of_session() };
        Builder::new(self.ledger, &self.exchanges, &self.rows[session.get()], &self.decisions, id, ids)
            .build(told)
    }
}
