//! Counts the subagents that were started.

use std::collections::{BTreeMap, BTreeSet};

use super::{AgentIndex, Call, CallIndex, Context, End, Ledger};
use crate::facts::detail::AGENT_TOOLS;

impl Call {
    /// Whether its tool starts a subagent.
    pub fn starts_agent(&self) -> bool {
        AGENT_TOOLS.contains(&&*self.tool)
    }
}

impl Ledger {
    /// Returns where each subagent was started: its call, or else its first row. A call counts too if the log has
    /// no row of its subagent, unless it failed or was denied.
    pub fn started_agents(&self) -> Vec<&Context> {
        let mut first: BTreeMap<AgentIndex, &Context> = BTreeMap::new();
        for context in self.contexts() {
            let Some(agent) = context.agent else { continue };
            let known = first.entry(agent).or_insert(context);
            if (context.location.is_none(), context.location) < (known.location.is_none(), known.location) {
                *known = context;
            }
        }
        let seen: BTreeSet<CallIndex> = first.keys().filter_map(|&at| self.agents[at].call).collect();
        let calls: Vec<&Context> = CallIndex::each(&self.calls)
            .filter(|(at, call)| call.starts_agent() && !seen.contains(at))
            .filter(|(_, call)| matches!(call.end, End::Ok | End::Open))
            .map(|(_, call)| &call.context)
            .collect();
        let agents = first.into_iter().filter_map(|(at, context)| {
            let agent = &self.agents[at];
            match agent.call {
                Some(call) => Some(&self.calls[call].context),
                // Versions 1.0.x say neither which call nor which subagent a line belongs to.
                None if agent.id.is_none() && calls.iter().any(|call| call.session == agent.session) => None,
                None => Some(context),
            }
        });
        agents.chain(calls.iter().copied()).collect()
    }
}
