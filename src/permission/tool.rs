//! What is known of the tools: which field a rule looks at, and what the tool answers when it is asked.

use super::{
    Call,
    danger::destroys,
    path::is_glob,
    shell::{Part, Word},
};

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

/// What `tool.checkPermissions()` answers when no rule speaks about the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// It lets a person decide.
    Asks,
    /// It decides by what a log does not hold.
    Decides,
    /// It is a question to a person (`requiresUserInteraction`).
    Interacts,
}

/// A tool of the program.
pub(super) struct Tool {
    name: &'static str,
    pub(super) family: Family,
    /// Let through in `acceptEdits` (5.1).
    pub(super) safe: bool,
    pub(super) own: Own,
}

const fn tool(name: &'static str, family: Family, safe: bool, own: Own) -> Tool {
    Tool { name, family, safe, own }
}

const PATH: &str = "path";
const FILE: &str = "file_path";
const NOTEBOOK: &str = "notebook_path";

/// The tools. `safe` as in 5.1, with the newer and older names of its tools: `Agent` is `Task` since 2.1,
/// `MultiEdit`, `LS` and `NotebookRead` are gone since 2.0.
const TOOLS: &[Tool] = &[
    tool("Bash", Family::Command, false, Own::Asks),
    tool("Read", Family::Read(FILE), true, Own::Decides),
    tool("Glob", Family::Read(PATH), true, Own::Decides),
    tool("Grep", Family::Read(PATH), true, Own::Decides),
    tool("LS", Family::Read(PATH), true, Own::Decides),
    tool("NotebookRead", Family::Read(NOTEBOOK), true, Own::Decides),
    tool("Edit", Family::Edit(FILE), true, Own::Asks),
    tool("MultiEdit", Family::Edit(FILE), true, Own::Asks),
    tool("Write", Family::Edit(FILE), true, Own::Asks),
    tool("NotebookEdit", Family::Edit(NOTEBOOK), true, Own::Asks),
    tool("TaskCreate", Family::Other, true, Own::Decides),
    tool("TaskUpdate", Family::Other, true, Own::Decides),
    tool("TaskList", Family::Other, true, Own::Decides),
    tool("TaskGet", Family::Other, true, Own::Decides),
    tool("EnterPlanMode", Family::Other, true, Own::Decides),
    tool("AskUserQuestion", Family::Other, true, Own::Interacts),
    tool("ExitPlanMode", Family::Other, false, Own::Interacts),
    tool("WebSearch", Family::Other, true, Own::Asks),
    tool("WebFetch", Family::Web, true, Own::Asks),
    tool("Task", Family::Agent, true, Own::Decides),
    tool("Agent", Family::Agent, true, Own::Decides),
    tool("Skill", Family::Skill, true, Own::Decides),
];

const MCP: Tool = tool("mcp__", Family::Other, false, Own::Asks);
const UNKNOWN: Tool = tool("", Family::Other, false, Own::Decides);

/// What is known of the tool by this name.
pub(super) fn known(name: &str) -> &'static Tool {
    let listed = TOOLS.iter().find(|tool| tool.name == name);
    listed.unwrap_or(if name.starts_with(MCP.name) { &MCP } else { &UNKNOWN })
}

/// The path that a call reads or writes, as it was written.
///
/// A search without a folder is one in the folder that the call ran in. The pattern of `Glob` may lead elsewhere, so
/// what comes before its first wildcard belongs to the path.
pub(super) fn path_of(call: &Call<'_>) -> Option<String> {
    let (Family::Read(field) | Family::Edit(field)) = known(call.tool).family else { return None };
    let folder = call.text(field).map(str::to_owned);
    if field != PATH {
        return folder;
    }
    let folder = folder.or_else(|| call.cwd.map(str::to_owned));
    if call.tool != "Glob" {
        return folder;
    }
    let pattern = call.text("pattern").unwrap_or_default();
    let fixed: Vec<&str> = pattern.split('/').take_while(|part| !is_glob(part)).collect();
    let fixed = match fixed.join("/") {
        empty if empty.is_empty() && pattern.starts_with('/') => "/".to_owned(),
        fixed => fixed,
    };
    match folder {
        _ if fixed.starts_with('/') => Some(fixed),
        Some(folder) if fixed.is_empty() => Some(folder),
        Some(folder) => Some(format!("{folder}/{fixed}")),
        None => Some(fixed),
    }
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

/// Commands that only read, as far as is published: first word, and the second if only some forms do. The shell tool
/// has a list of its own; a command on this one *may* be let through by it, so nothing is said about it.
const READING: &[(&str, &[&str])] = &[
    ("basename", &[]),
    ("cat", &[]),
    ("cd", &[]),
    ("cut", &[]),
    ("date", &[]),
    ("diff", &[]),
    ("dirname", &[]),
    ("du", &[]),
    ("echo", &[]),
    ("false", &[]),
    ("file", &[]),
    ("find", &[]),
    ("grep", &[]),
    ("head", &[]),
    ("ls", &[]),
    ("nl", &[]),
    ("printf", &[]),
    ("pwd", &[]),
    ("readlink", &[]),
    ("realpath", &[]),
    ("rg", &[]),
    ("seq", &[]),
    ("sleep", &[]),
    ("sort", &[]),
    ("stat", &[]),
    ("tail", &[]),
    ("test", &[]),
    ("tr", &[]),
    ("tree", &[]),
    ("true", &[]),
    ("uname", &[]),
    ("uniq", &[]),
    ("wc", &[]),
    ("which", &[]),
    ("whoami", &[]),
    (
        "git",
        &["status", "log", "diff", "show", "branch", "blame", "rev-parse", "ls-files", "remote", "describe"],
    ),
];

/// Whether a part is on the list of those that only read, in no form that destroys (`find -delete`), and writes no file
/// by a redirection.
pub(super) fn reads_only(part: &Part) -> bool {
    let word = |at: usize| part.words.get(at).map(|word: &Word| word.text.as_str());
    let Some(first) = word(0) else { return false };
    let listed = READING.iter().find(|(name, _)| *name == first);
    let form = |forms: &[&str]| forms.is_empty() || word(1).is_some_and(|second| forms.contains(&second));
    listed.is_some_and(|(_, forms)| form(forms)) && part.written().next().is_none() && !destroys(part)
}

/// Commands that `acceptEdits` may take for edits: recording 53 offers that mode for a `touch`. Which ones exactly is
/// not documented.
const EDITING: &[&str] = &["touch", "mkdir", "rmdir", "rm", "mv", "cp", "ln", "sed"];

/// Whether a part is one that `acceptEdits` may let through.
pub(super) fn edits(part: &Part) -> bool {
    part.words.first().is_some_and(|word| EDITING.contains(&word.text.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_of_a_search_is_where_it_looks() {
        let path = |tool, input| path_of(&Call { tool, input: &input, cwd: Some("/p") });
        assert_eq!(path("Grep", json!({"pattern": "x"})).as_deref(), Some("/p"));
        assert_eq!(path("Glob", json!({"pattern": "src/**/*.rs"})).as_deref(), Some("/p/src"));
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
