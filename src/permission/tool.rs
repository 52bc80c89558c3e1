//! What is known of the tools: which field a rule looks at, and what the tool answers when it is asked.

use super::{Call, path::is_glob};

/// What the content of a rule for a tool is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A shell command.
    Command,
    /// A path that is read; the field that has it.
    Read(&'static str),
    /// A path that is written; the field that has it.
    Edit(&'static str),
    /// An address.
    Web,
    /// The name of an agent.
    Agent,
    /// The name of a skill.
    Skill,
    /// Nothing: its rules have no content.
    Other,
}

/// What becomes of a call of the tool that no rule and no mode decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// A person is asked.
    Asks,
    /// It runs.
    Runs,
    /// By where its files are, or by its command, or its host.
    Looks,
    /// It is a question to a person (`requiresUserInteraction`).
    Interacts,
    /// A log does not tell.
    Unknown,
}

/// A tool of the program.
pub(super) struct Tool {
    name: &'static str,
    pub(super) family: Family,
    pub(super) own: Own,
}

const fn tool(name: &'static str, family: Family, own: Own) -> Tool {
    Tool { name, family, own }
}

const PATH: &str = "path";
const FILE: &str = "file_path";
const NOTEBOOK: &str = "notebook_path";

/// The tools, as measured on 2.1.326 and recorded on 2.1.325 (55, 78: tools that only touch the session run without a
/// rule). `Agent` is `Task` since 2.1; `MultiEdit`, `LS` and `NotebookRead` are gone since 2.0.
const TOOLS: &[Tool] = &[
    tool("Bash", Family::Command, Own::Looks),
    tool("Read", Family::Read(FILE), Own::Looks),
    tool("Glob", Family::Read(PATH), Own::Looks),
    tool("Grep", Family::Read(PATH), Own::Looks),
    tool("LS", Family::Read(PATH), Own::Looks),
    tool("NotebookRead", Family::Read(NOTEBOOK), Own::Looks),
    tool("Edit", Family::Edit(FILE), Own::Looks),
    tool("MultiEdit", Family::Edit(FILE), Own::Looks),
    tool("Write", Family::Edit(FILE), Own::Looks),
    tool("NotebookEdit", Family::Edit(NOTEBOOK), Own::Looks),
    tool("TaskCreate", Family::Other, Own::Runs),
    tool("TaskUpdate", Family::Other, Own::Runs),
    tool("TaskList", Family::Other, Own::Runs),
    tool("TaskGet", Family::Other, Own::Runs),
    tool("TaskOutput", Family::Other, Own::Runs),
    tool("TaskStop", Family::Other, Own::Runs),
    tool("TodoWrite", Family::Other, Own::Runs),
    tool("BashOutput", Family::Other, Own::Runs),
    tool("KillShell", Family::Other, Own::Runs),
    tool("StructuredOutput", Family::Other, Own::Runs),
    tool("ToolSearch", Family::Other, Own::Runs),
    tool("EnterPlanMode", Family::Other, Own::Runs),
    tool("AskUserQuestion", Family::Other, Own::Interacts),
    tool("ExitPlanMode", Family::Other, Own::Interacts),
    tool("WebSearch", Family::Other, Own::Asks),
    tool("WebFetch", Family::Web, Own::Looks),
    tool("Task", Family::Agent, Own::Runs),
    tool("Agent", Family::Agent, Own::Runs),
    tool("Skill", Family::Skill, Own::Runs),
];

const MCP: Tool = tool("mcp__", Family::Other, Own::Asks);
const UNKNOWN: Tool = tool("", Family::Other, Own::Unknown);

/// Whether a tool belongs to an MCP server.
pub(super) fn is_mcp(name: &str) -> bool {
    name.starts_with(MCP.name)
}

/// Whether a name is that of a tool but for its capitals.
pub(super) fn misspelt(name: &str) -> bool {
    TOOLS.iter().all(|tool| tool.name != name)
        && TOOLS.iter().any(|tool| tool.name.eq_ignore_ascii_case(name))
}

/// What is known of the tool by this name.
pub(super) fn known(name: &str) -> &'static Tool {
    let listed = TOOLS.iter().find(|tool| tool.name == name);
    listed.unwrap_or(if is_mcp(name) { &MCP } else { &UNKNOWN })
}

/// The path that a call reads or writes, as it was written.
///
/// A search without a folder is one in the folder that the call ran in. A pattern of `Glob` that is absolute or leads
/// outside says where it looks; one below the folder does not count (measured on 2.1.326).
pub(super) fn path_of(call: &Call<'_>) -> Option<String> {
    let (Family::Read(field) | Family::Edit(field)) = known(call.tool).family else { return None };
    let folder = call.text(field).map(str::to_owned);
    if field != PATH {
        return folder;
    }
    let folder = folder.or_else(|| call.cwd.map(str::to_owned));
    let pattern = if call.tool == "Glob" { call.text("pattern").unwrap_or_default() } else { "" };
    let fixed: Vec<&str> = pattern.split('/').take_while(|part| !is_glob(part)).collect();
    match (fixed.join("/"), folder) {
        (fixed, _) if fixed.is_empty() && pattern.starts_with('/') => Some("/".to_owned()),
        (fixed, _) if fixed.starts_with('/') || fixed.starts_with("~/") => Some(fixed),
        (fixed, Some(folder)) if fixed.split('/').any(|name| name == "..") => {
            Some(format!("{folder}/{fixed}"))
        }
        (_, folder) => folder,
    }
}

/// What a tool is given, when the text that its rules look at is this.
pub fn input_for(tool: &str, text: &str) -> serde_json::Value {
    let field = match known(tool).family {
        Family::Command => "command",
        Family::Read(field) | Family::Edit(field) => field,
        Family::Web => "url",
        Family::Agent => "subagent_type",
        Family::Skill => "skill",
        Family::Other => "text",
    };
    serde_json::json!({ field: text })
}

/// The host that a call fetches from, in lower case.
pub(super) fn host_of(call: &Call<'_>) -> Option<String> {
    let (_, rest) = call.text("url")?.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// The agent or the skill that a call names.
pub(super) fn name_of<'a>(call: &Call<'a>) -> Option<&'a str> {
    match known(call.tool).family {
        Family::Agent => call.text("subagent_type"),
        // Older versions named the skill in `command`.
        Family::Skill => call.text("skill").or_else(|| call.text("command")),
        Family::Command | Family::Read(_) | Family::Edit(_) | Family::Web | Family::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_of_a_search_is_where_it_looks() {
        let path = |tool, input| path_of(&Call { tool, input: &input, cwd: Some("/p") });
        assert_eq!(path("Grep", json!({"pattern": "x"})).as_deref(), Some("/p"));
        assert_eq!(path("Glob", json!({"pattern": "src/**/*.rs"})).as_deref(), Some("/p"));
        assert_eq!(path("Glob", json!({"pattern": "../q/*.rs"})).as_deref(), Some("/p/../q"));
        assert_eq!(path("Glob", json!({"pattern": "/etc/*"})).as_deref(), Some("/etc"));
        assert_eq!(path("Glob", json!({"pattern": "/*"})).as_deref(), Some("/"));
        assert_eq!(path("Glob", json!({"pattern": "*", "path": "/q"})).as_deref(), Some("/q"));
        assert_eq!(path("Read", json!({"pattern": "*"})), None);
    }

    #[test]
    fn the_host_is_what_a_browser_would_ask() {
        let host = |url: &str| host_of(&Call { tool: "WebFetch", input: &json!({"url": url}), cwd: None });
        assert_eq!(host("https://Docs.Example.com:8443/a?b@c").as_deref(), Some("docs.example.com"));
        assert_eq!(host("https://example.com@evil.test/").as_deref(), Some("evil.test"));
        assert_eq!(host("https://evil.test\\@example.com/").as_deref(), Some("evil.test"));
        assert_eq!(host("https://evil.test/example.com").as_deref(), Some("evil.test"));
        assert_eq!(host("no address"), None);
    }

    #[test]
    fn every_tool_stands_once_in_the_list() {
        for (at, tool) in TOOLS.iter().enumerate() {
            assert!(TOOLS[at + 1..].iter().all(|other| other.name != tool.name), "{}", tool.name);
        }
    }
}
