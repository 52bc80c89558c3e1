//! Filters on what rows are attributed to.

use std::collections::BTreeMap;

use super::{Pattern, holds, wanted};
use crate::{
    facts::{
        Name,
        ledger::{Call, Charge, Context, Exchanges, Ledger, Response, Timelines},
        trace::server::parts,
    },
    input::SourceId,
    report::names_id,
};

/// The attributions that rows must have; each list is empty for all.
#[derive(Clone, Debug, Default)]
pub struct Attributions {
    /// Branches.
    pub branches: Vec<Pattern>,
    /// Pull requests: a number, `owner/name#number` or an address.
    pub pull_requests: Vec<Pattern>,
    /// Prompts, as `session#number`.
    pub prompts: Vec<Pattern>,
    /// Runs of workflows.
    pub workflows: Vec<Pattern>,
    /// Skills of responses.
    pub skills: Vec<Pattern>,
    /// MCP servers of responses and calls.
    pub mcp_servers: Vec<Pattern>,
    /// Efforts of responses.
    pub efforts: Vec<Pattern>,
}

impl Attributions {
    /// Whether every row counts.
    pub(super) fn is_empty(&self) -> bool {
        let Self { branches, pull_requests, prompts, workflows, .. } = self;
        let by_row = [branches, pull_requests, prompts, workflows];
        !self.is_by_response() && by_row.iter().all(|patterns| patterns.is_empty())
    }

    /// Whether responses and calls are selected, so that rows of other kinds do not count.
    pub(super) fn is_by_response(&self) -> bool {
        let Self { skills, mcp_servers, efforts, .. } = self;
        [skills, mcp_servers, efforts].iter().any(|patterns| !patterns.is_empty())
    }

    /// The same filter without those on responses and calls.
    pub(super) fn without_responses(&self) -> Self {
        let (skills, mcp_servers, efforts) = (Vec::new(), Vec::new(), Vec::new());
        Self { skills, mcp_servers, efforts, ..self.clone() }
    }

    /// Whether a response has the wanted skill and effort.
    pub(super) fn includes_response(&self, response: Option<&Response>) -> bool {
        let Some(response) = response else { return self.skills.is_empty() && self.efforts.is_empty() };
        wanted(&self.skills, response.more().skill.as_deref(), is_equal)
            && wanted(&self.efforts, response.more().effort.as_deref(), is_equal)
    }

    /// Whether a charge is of a wanted server. `response` is the response of the charge.
    pub(super) fn includes_charge(&self, charge: &Charge, response: Option<&Response>) -> bool {
        wanted(&self.mcp_servers, server_of(charge, response), is_equal)
    }

    /// Whether a call is of a wanted server.
    pub(super) fn includes_call(&self, call: &Call) -> bool {
        wanted(&self.mcp_servers, server_of_tool(&call.tool), is_equal)
    }
}

/// Returns the MCP server of a charge: the one that its response is attributed to, or else that of the tool that
/// it calls. The CLI attributes only the response that reads the result of a call (2.1.325).
pub(in crate::report) fn server_of<'l>(
    charge: &'l Charge,
    response: Option<&'l Response>,
) -> Option<&'l str> {
    let attributed = response.and_then(|response| response.more().mcp_server.as_deref());
    attributed.or_else(|| server_of_tool(charge.tool.as_deref()?))
}

fn server_of_tool(tool: &str) -> Option<&str> {
    parts(tool, |_| false).map(|(server, _)| server)
}

fn is_equal(name: &str, text: &str) -> bool {
    name == text
}

/// Finds the attributions of rows while they are filtered.
pub(super) struct RowAttributions<'f> {
    wanted: &'f Attributions,
    pull_requests: Timelines,
    urls: BTreeMap<Name, Name>,
    workflows: BTreeMap<SourceId, Name>,
    /// The exchanges and their sessions, if prompts are selected.
    prompts: Option<Ledger>,
}

impl<'f> RowAttributions<'f> {
    pub(super) fn of(wanted: &'f Attributions, ledger: &Ledger) -> Self {
        let url = |one: &crate::facts::ledger::PullRequest| Some((Name::clone(&one.name), one.url.clone()?));
        let workflow = |one: &crate::facts::ledger::Source| Some((one.id, one.workflow.clone()?));
        Self {
            wanted,
            pull_requests: ledger.pull_request_times(),
            urls: ledger.pull_requests.iter().filter_map(url).collect(),
            workflows: ledger.sources.iter().filter_map(workflow).collect(),
            prompts: (!wanted.prompts.is_empty()).then(|| Ledger {
                exchanges: ledger.exchanges.clone(),
                agents: ledger.agents.clone(),
                sessions: ledger.sessions.clone(),
                ..Ledger::default()
            }),
        }
    }

    /// Returns a function that decides whether the row of a context counts.
    pub(super) fn includes(&self) -> impl Fn(&Context) -> bool {
        let Attributions { branches, pull_requests, workflows, .. } = self.wanted;
        let exchanges = self.prompts.as_ref().map(|ledger| (ledger, Exchanges::of(ledger)));
        move |context: &Context| {
            let source = context.location.map(|at| at.source);
            let workflow = || self.workflows.get(&source?).map(|name| &**name);
            wanted(branches, context.branch.as_deref(), is_equal)
                && (pull_requests.is_empty() || self.includes_pull_request(context))
                && (workflows.is_empty() || wanted(workflows, workflow(), holds))
                && exchanges
                    .as_ref()
                    .is_none_or(|(ledger, exchanges)| self.includes_prompt(ledger, exchanges, context))
        }
    }

    fn includes_pull_request(&self, context: &Context) -> bool {
        let Some(name) = self.pull_requests.at(context) else { return false };
        let url = self.urls.get(name).map(|url| &**url);
        wanted(&self.wanted.pull_requests, Some(name), |name, text| {
            let number = name.rsplit_once('#').map(|(_, number)| number);
            name == text || url == Some(text) || number == Some(text.strip_prefix('#').unwrap_or(text))
        })
    }

    fn includes_prompt(&self, ledger: &Ledger, exchanges: &Exchanges<'_>, context: &Context) -> bool {
        let exchange = exchanges.find(context).map(|at| &ledger.exchanges[at.get()]);
        let id = exchange.and_then(|exchange| {
            let session = ledger.sessions[exchange.session?].id.as_deref()?;
            Some(format!("{session}#{}", exchange.number))
        });
        wanted(&self.wanted.prompts, id.as_deref(), |id, text| {
            let ends =
                |text: &str| text.rsplit_once('#').map(|(id, number)| (id.to_owned(), number.to_owned()));
            match (ends(id), ends(text)) {
                (Some((id, number)), Some((typed, wanted))) => number == wanted && names_id(&typed, &id),
                _ => names_id(text, id),
            }
        })
    }
}

/// Returns the run of a workflow in the path of a subagent's log: `subagents/workflows/<run>/…`.
pub(super) fn workflow_of(source: &str) -> Option<String> {
    let parts: Vec<&str> = source.split(['/', '\\']).collect();
    let at = parts.windows(2).position(|pair| pair == ["subagents", "workflows"])?;
    let run = parts.get(at + 2)?;
    parts.get(at + 3).map(|_| (*run).to_owned())
}
