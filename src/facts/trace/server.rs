//! MCP servers: the last known status and the offered tools of each.

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

/// An MCP server in the logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Context of the last record about it.
    pub context: Context,
    /// Its last status: `connected`, `failed`, `needs-auth`, `pending` and others.
    pub status: Option<Name>,
    /// All tools that it offered, if the log lists tools.
    pub tools: Option<BTreeSet<Name>>,
}

/// Returns the name of a server as it is written in the names of its tools.
pub fn plain_name(server: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    server.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect()
}

/// Splits `mcp__server__tool` into server and tool. The longest known server that fits is taken, because the
/// name of a server may contain the separator `__`.
pub fn parts(tool: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let rest = tool.strip_prefix("mcp__")?;
    let mut separators = (0..rest.len()).rev().filter(|&at| rest.as_bytes()[at..].starts_with(b"__"));
    match separators.find(|&at| is_known(&rest[..at])) {
        Some(at) => Some((&rest[..at], &rest[at + 2..])),
        None => rest.split_once("__"),
    }
}

/// Returns the servers that `init` records and responses to hosts list, by name.
pub fn servers(ledger: &Ledger) -> BTreeMap<Name, Listed> {
    let last_start = last_start(ledger);
    let mut listings: Vec<(&Context, &Servers<Name>)> = ledger
        .traces
        .iter()
        .filter_map(|row| match &row.trace {
            Trace::Servers(listed) => Some((&row.context, &**listed)),
            _ => None,
        })
        .collect();
    // The last record decides the status: that of the source with the latest session, then the last in it.
    listings.sort_by_key(|(context, _)| {
        (context.location.and_then(|at| last_start.get(&at.source).copied()).flatten(), context.location)
    });
    let mut servers: BTreeMap<Name, Listed> = BTreeMap::new();
    for (context, listed) in listings {
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

/// Assigns the tools of an `init` record to the servers that it lists. Servers without a tool offer none.
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

/// Returns when the last session of each source started.
fn last_start(ledger: &Ledger) -> HashMap<SourceId, Option<Time>> {
    let last =
        |sessions: &[SessionIndex]| sessions.iter().filter_map(|&at| ledger.sessions[at].started).max();
    ledger.sources.iter().map(|source| (source.id, last(&source.sessions))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_belongs_to_the_longest_known_server_name() {
        let none = |_: &str| false;
        assert_eq!(parts("mcp__demo__add", none), Some(("demo", "add")));
        assert_eq!(parts("mcp__a__b__c", none), Some(("a", "b__c")));
        assert_eq!(parts("mcp__a__b__c", |name| ["a", "a__b"].contains(&name)), Some(("a__b", "c")));
        assert_eq!(parts("mcp__a___b", |name| name == "a_"), Some(("a_", "b")));
        assert_eq!(parts("Bash", none), None);
        assert_eq!(plain_name("claude.ai My Docs"), "claude_ai_My_Docs");
    }
}
