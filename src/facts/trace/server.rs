//! MCP servers: how each was when it was last told, and what it offered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    event::trace::{Server, Servers, Trace},
    facts::{
        Name,
        ledger::{Context, Ledger, SessionIndex},
    },
    input::SourceId,
    measure::Time,
};

/// What a log says of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is told last.
    pub context: Context,
    /// How it was then: `connected`, `failed`, `needs-auth`, `pending` and others.
    pub status: Option<Name>,
    /// All tools that it ever offered, where the log lists tools.
    pub tools: Option<BTreeSet<Name>>,
}

/// The name of a server as it stands in the names of its tools.
pub fn plain_name(server: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    server.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect()
}

/// Server and tool out of `mcp__server__tool`. Of the servers that are known the longest name that fits is taken, because a
/// name may hold the context that parts it from the tool.
pub fn parts(tool: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let rest = tool.strip_prefix("mcp__")?;
    let mut contexts = (0..rest.len()).rev().filter(|&at| rest.as_bytes()[at..].starts_with(b"__"));
    match contexts.find(|&at| is_known(&rest[..at])) {
        Some(at) => Some((&rest[..at], &rest[at + 2..])),
        None => rest.split_once("__"),
    }
}

/// The servers that the beginnings of processes and the answers to hosts list, by name.
pub fn servers(ledger: &Ledger) -> BTreeMap<Name, Listed> {
    let begun = begun(ledger);
    let mut told: Vec<(&Context, &Servers<Name>)> = ledger
        .traces
        .iter()
        .filter_map(|row| match &row.trace {
            Trace::Servers(told) => Some((&row.context, &**told)),
            _ => None,
        })
        .collect();
    // The last one says how a server is: the source that has the latest session, and then the last record of it.
    told.sort_by_key(|(context, _)| {
        (context.location.and_then(|at| begun.get(&at.source).copied()).flatten(), context.location)
    });
    let mut servers: BTreeMap<Name, Listed> = BTreeMap::new();
    for (context, listed) in told {
        for Server { name, status, tools } in &listed.servers {
            let new = || Listed { context: context.clone(), status: None, tools: None };
            let known = servers.entry(Name::clone(name)).or_insert_with(new);
            known.status = status.clone().or(known.status.take());
            known.context = context.clone();
            if let Some(tools) = tools {
                known.tools.get_or_insert_default().extend(tools.iter().cloned());
            }
        }
        if let Some(tools) = &listed.tools {
            offer(&mut servers, &listed.servers, tools);
        }
    }
    servers
}

/// What a process can call at its beginning, by the servers that it lists there: those without a tool offer none.
fn offer(servers: &mut BTreeMap<Name, Listed>, listed: &[Server<Name>], tools: &[Name]) {
    let plain: BTreeSet<String> = listed.iter().map(|one| plain_name(&one.name)).collect();
    let mut own: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (server, tool) in tools.iter().filter_map(|tool| parts(tool, |name| plain.contains(name))) {
        own.entry(server).or_default().push(tool);
    }
    for Server { name, .. } in listed {
        let Some(known) = servers.get_mut(name) else { continue };
        let offered = own.get(&*plain_name(name)).into_iter().flatten().map(|tool| Name::from(*tool));
        known.tools.get_or_insert_default().extend(offered);
    }
}

/// When the last session of each source began.
fn begun(ledger: &Ledger) -> HashMap<SourceId, Option<Time>> {
    let last =
        |sessions: &[SessionIndex]| sessions.iter().filter_map(|&at| ledger.sessions[at].started).max();
    ledger.sources.iter().map(|source| (source.id, last(&source.sessions))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_belongs_to_the_longest_server_that_fits() {
        let none = |_: &str| false;
        assert_eq!(parts("mcp__demo__add", none), Some(("demo", "add")));
        assert_eq!(parts("mcp__a__b__c", none), Some(("a", "b__c")));
        assert_eq!(parts("mcp__a__b__c", |name| ["a", "a__b"].contains(&name)), Some(("a__b", "c")));
        assert_eq!(parts("mcp__a___b", |name| name == "a_"), Some(("a_", "b")));
        assert_eq!(parts("Bash", none), None);
        assert_eq!(plain_name("claude.ai My Docs"), "claude_ai_My_Docs");
    }
}
