//! Decodes lists of MCP servers in `init` records and in responses to hosts.

use super::{Decoder, Object, Trace};
use crate::event::json::Json;

/// The servers that one record lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers<T> {
    pub servers: Vec<Server<T>>,
    /// The tools of all servers that a process can call.
    pub tools: Option<Vec<T>>,
}

/// A server in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server<T> {
    pub name: T,
    pub status: Option<T>,
    /// The tools that are listed with it.
    pub tools: Option<Vec<T>>,
}

/// Prefix of the tool names of MCP servers.
const PREFIX: &str = "mcp__";

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    /// Decodes the servers in `listing`, and the tools in the record.
    pub(super) fn servers(&mut self, record: &Object<'a>, listing: &Object<'a>) {
        let listed = listing.member(&["mcp_servers", "mcpServers"]).and_then(Json::array).unwrap_or_default();
        let servers: Vec<Server<T>> =
            listed.into_iter().filter_map(Json::object).filter_map(|server| self.server(&server)).collect();
        let mcp = |tool: &Json<'a>| tool.source().get(1..).is_some_and(|name| name.starts_with(PREFIX));
        let tools = record.get("tools").and_then(Json::array);
        let tools = tools.map(|tools| {
            tools.into_iter().filter(mcp).filter_map(Json::string).map(|tool| self.owner.own(tool)).collect()
        });
        if !servers.is_empty() {
            self.found.push(Trace::Servers(Box::new(Servers { servers, tools })));
        }
    }

    fn server(&mut self, server: &Object<'a>) -> Option<Server<T>> {
        let name = self.text(server, &["name"])?;
        let tools = server.get("tools").and_then(Json::array).map(|tools| {
            let tools = tools.into_iter().filter_map(Json::object);
            tools.filter_map(|tool| self.text(&tool, &["name"])).collect()
        });
        Some(Server { name, status: self.text(server, &["status"]), tools })
    }
}
