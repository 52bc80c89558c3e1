//! The table of tools: which field of the input rules match, and what happens to a call that no rule decides.

use super::{Call, path::is_glob};

/// The part of a call that the content of a tool's rules matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A shell command.
    Command,
    /// A path that is read, in this field.
    Read(&'static str),
    /// A path that is written, in this field.
    Edit(&'static str),
    /// The host of an address.
    Web,
    /// The name of an agent.
    Agent,
    /// The name of a skill.
    Skill,
    /// Nothing: rules of the tool have no content.
    Other,
}

/// The decision on a call that neither a rule nor the mode decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolPolicy {
    /// A person is asked.
    Ask,
    /// It runs.
    Allow,
    /// Its path, command or host decides.
    ByInput,
    /// The tool itself asks a person (`requiresUserInteraction`).
    Interactive,
    /// The tool is not in the table.
    Unknown,
}

/// A tool of Claude Code.
pub(super) struct Tool {
    names: &'static [&'static str],
    pub(super) family: Family,
    pub(super) policy: ToolPolicy,
}

const fn tool(names: &'static [&'static str], family: Family, policy: ToolPolicy) -> Tool {
    Tool { names, family, policy }
}

const PATH: &str = "path";
const FILE: &str = "file_path";
const NOTEBOOK: &str = "notebook_path";

/// The tools, as measured on 2.1.326 and recorded on 2.1.325 (recordings 55 and 78: tools that only affect
/// the session run without a rule). `Agent` was called `Task` before 2.1; 2.0 removed `MultiEdit`, `LS` and
/// `NotebookRead`.
const TOOLS: &[Tool] = &[
    tool(&["Bash"], Family::Command, ToolPolicy::ByInput),
    tool(&["Read"], Family::Read(FILE), ToolPolicy::ByInput),
    tool(&["Glob", "Grep", "LS"], Family::Read(PATH), ToolPolicy::ByInput),
    tool(&["NotebookRead"], Family::Read(NOTEBOOK), ToolPolicy::ByInput),
    tool(&["Edit", "MultiEdit", "Write"], Family::Edit(FILE), ToolPolicy::ByInput),
    tool(&["NotebookEdit"], Family::Edit(NOTEBOOK), ToolPolicy::ByInput),
    tool(&["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"], Family::Other, ToolPolicy::Allow),
    tool(&["TaskOutput", "TaskStop", "BashOutput", "KillShell"], Family::Other, ToolPolicy::Allow),
    tool(&["TodoWrite", "StructuredOutput", "ToolSearch"], Family::Other, ToolPolicy::Allow),
    tool(&["EnterPlanMode"], Family::Other, ToolPolicy::Allow),
    tool(&["AskUserQuestion", "ExitPlanMode"], Family::Other, ToolPolicy::Interactive),
    tool(&["WebSearch"], Family::Other, ToolPolicy::Ask),
    tool(&["WebFetch"], Family::Web, ToolPolicy::ByInput),
    tool(&["Task", "Agent"], Family::Agent, ToolPolicy::Allow),
    tool(&["Skill"], Family::Skill, ToolPolicy::Allow),
];

const MCP: Tool = tool(&[], Family::Other, ToolPolicy::Ask);
const UNKNOWN: Tool = tool(&[], Family::Other, ToolPolicy::Unknown);

/// Returns whether a tool belongs to an MCP server.
pub(super) fn is_mcp(name: &str) -> bool {
    name.starts_with("mcp__")
}

/// Returns whether a name differs from that of a tool only in case.
pub(super) fn is_misspelled(name: &str) -> bool {
    let mut names = TOOLS.iter().flat_map(|tool| tool.names);
    !names.clone().any(|own| *own == name) && names.any(|own| own.eq_ignore_ascii_case(name))
}

/// Returns the row of a tool.
pub(super) fn lookup(name: &str) -> &'static Tool {
    let listed = TOOLS.iter().find(|tool| tool.names.contains(&name));
    listed.unwrap_or(if is_mcp(name) { &MCP } else { &UNKNOWN })
}

/// Returns the path that a call reads or writes, as written.
///
/// A search without a folder searches the working folder. An absolute pattern of `Glob`, or one with `..`,
/// decides the path; other patterns do not matter (measured on 2.1.326).
pub(super) fn path_of(call: &Call<'_>) -> Option<String> {
    let (Family::Read(field) | Family::Edit(field)) = lookup(call.tool).family else { return None };
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

/// Returns an input of a tool in which the field that its rules match has this text.
pub fn input_for(tool: &str, text: &str) -> serde_json::Value {
    let field = match lookup(tool).family {
        Family::Command => "command",
        Family::Read(field) | Family::Edit(field) => field,
        Family::Web => "url",
        Family::Agent => "subagent_type",
        Family::Skill => "skill",
        Family::Other => "text",
    };
    serde_json::json!({ field: text })
}

/// Returns the host that a call fetches from, in lower case.
pub(super) fn host_of(call: &Call<'_>) -> Option<String> {
    let (_, rest) = call.text("url")?.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// Returns the agent or the skill of a call.
pub(super) fn name_of<'a>(call: &Call<'a>) -> Option<&'a str> {
    match lookup(call.tool).family {
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
    fn the_path_of_a_search_is_the_searched_folder() {
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
    fn the_host_is_the_one_that_a_browser_would_contact() {
        let host = |url: &str| host_of(&Call { tool: "WebFetch", input: &json!({"url": url}), cwd: None });
        assert_eq!(host("https://Docs.Example.com:8443/a?b@c").as_deref(), Some("docs.example.com"));
        assert_eq!(host("https://example.com@evil.test/").as_deref(), Some("evil.test"));
        assert_eq!(host("https://evil.test\\@example.com/").as_deref(), Some("evil.test"));
        assert_eq!(host("https://evil.test/example.com").as_deref(), Some("evil.test"));
        assert_eq!(host("no address"), None);
    }

    #[test]
    fn no_tool_is_listed_twice() {
        let mut seen = std::collections::BTreeSet::new();
        TOOLS.iter().flat_map(|tool| tool.names).for_each(|name| assert!(seen.insert(name), "{name}"));
    }
}
