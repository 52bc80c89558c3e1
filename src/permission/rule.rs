//! Permission rules: parsing `Tool` and `Tool(content)`, matching calls, and finding rules without effect.

use std::fmt;

use super::{
    Call,
    glob::{glob, matches, parse_wildcard},
    pattern::{Folders, Pattern, RuleRole},
    scope::{Behaviour, Scope},
    shell::{Spellings, parse},
    tool::{self, Family},
};

/// A rule as written in settings: a tool, and optionally which of its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name of the tool; may contain `*`.
    pub tool: String,
    /// Which calls of the tool it matches; `None` matches all.
    pub content: Option<Content>,
    /// The rule as written.
    text: String,
}

/// Which calls of a tool a rule matches: the text between the parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// `Bash(git status)`: exactly this command.
    Command(String),
    /// `Bash(npm:*)`: commands that begin with these words.
    Prefix(String),
    /// `Bash(npm run *)`: commands of this form; `*` matches any text.
    Wildcard(String),
    /// `Edit(src/**)`: paths.
    Path(Pattern),
    /// `WebFetch(domain:example.com)`: this host.
    Domain(String),
    /// `Agent(Explore)`, `Skill(greet)`: the agent or skill with this name.
    Name(String),
    /// `Skill(gr:*)`: agents or skills whose name begins with this.
    NamePrefix(String),
    /// Content that no source explains; it matches nothing.
    Other(String),
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The text is empty.
    #[error("the rule is empty, write a tool as `Read` or a tool with its content as `Bash(npm:*)`")]
    Empty,
    /// There is no tool before the parenthesis.
    #[error("no tool before the parenthesis, write it as `Bash(npm:*)`, not `{0}`")]
    NoTool(String),
    /// The name contains characters that no tool's name has.
    #[error("a tool's name has no blanks, quotes or commas: `{0}`")]
    ToolName(String),
    /// `(` without `)`.
    #[error("a parenthesis is not closed in `{0}`")]
    NotClosed(String),
    /// `)` without `(`.
    #[error("a parenthesis is closed that was not opened in `{0}`, write `\\)` if it is meant")]
    NotOpened(String),
    /// There is text after the last parenthesis.
    #[error("the parenthesis must be the end of the rule, not `{0}`")]
    After(String),
    /// `Tool()`.
    #[error("nothing between the parentheses, leave them out to mean any use: `{0}`")]
    NoContent(String),
    /// `Bash(:*)`.
    #[error("no command before `:*`, leave out the parentheses to mean any use: `{0}`")]
    NoPrefix(String),
}

impl Rule {
    /// Parses a rule.
    ///
    /// In the specification a rule has the form `^([^(]+)\(([^)]+)\)$`, and every other text is the name of a
    /// tool. Names that no tool can have are errors here, since such a rule never has an effect. Like newer
    /// versions, this accepts parentheses in the content, escaped with `\` or in pairs.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(RuleError::Empty);
        }
        let Some((tool, rest)) = trimmed.split_once('(') else {
            let closed = trimmed.contains(')');
            return if closed {
                Err(RuleError::NotOpened(text.to_owned()))
            } else {
                Self::build(trimmed, None, text)
            };
        };
        check_balanced(rest, text)?;
        let Some(inside) = rest.strip_suffix(')') else { return Err(RuleError::After(text.to_owned())) };
        if tool.trim().is_empty() {
            return Err(RuleError::NoTool(text.to_owned()));
        }
        if inside.trim().is_empty() {
            return Err(RuleError::NoContent(text.to_owned()));
        }
        Self::build(tool, Some(&unescaped(inside)), text)
    }

    /// Makes a rule of a tool and a content, which are separate on the wire (`toolName`, `ruleContent`).
    pub fn new(tool: &str, content: Option<&str>) -> Result<Self, RuleError> {
        let text = content.map_or_else(|| tool.to_owned(), |content| format!("{tool}({})", escaped(content)));
        match content {
            Some(content) if content.trim().is_empty() => Err(RuleError::NoContent(text)),
            Some(_) | None if tool.trim().is_empty() => Err(RuleError::NoTool(text)),
            Some(_) | None => Self::build(tool, content, &text),
        }
    }

    fn build(tool: &str, content: Option<&str>, text: &str) -> Result<Self, RuleError> {
        if tool.contains(|letter: char| letter.is_whitespace() || "()'\",`".contains(letter)) {
            return Err(RuleError::ToolName(text.to_owned()));
        }
        let content = match content {
            Some(content) => parse_content(tool, content, text)?,
            None => None,
        };
        Ok(Self { tool: tool.to_owned(), content, text: text.trim().to_owned() })
    }

    /// Returns whether the rule, as a deny rule of the project, matches the call or any part of a compound
    /// command.
    ///
    /// To allow a compound command, [`check`](super::check) needs a rule for every part.
    pub fn matches(&self, call: &Call<'_>) -> bool {
        let command = call.text("command").filter(|_| tool::lookup(call.tool).family == Family::Command);
        let spellings = command.map(|command| Spellings::of(&parse(command).parts)).unwrap_or_default();
        let role = RuleRole { behaviour: Behaviour::Deny, scope: Scope::Project };
        self.matches_call(call, &spellings, &Folders::new(call.cwd, None), role)
    }

    /// Returns whether the rule matches a call whose command is already parsed.
    pub(super) fn matches_call(
        &self,
        call: &Call<'_>,
        spellings: &Spellings,
        folders: &Folders,
        role: RuleRole,
    ) -> bool {
        if !self.covers_tool(call.tool, role.behaviour) || self.no_effect(role.behaviour).is_some() {
            return false;
        }
        match &self.content {
            None => true,
            Some(Content::Command(_) | Content::Prefix(_) | Content::Wildcard(_)) => {
                let whole = call.text("command").is_some_and(|command| self.matches_command(command));
                whole || spellings.iter().any(|text| self.matches_command(text))
            }
            Some(Content::Path(_)) => {
                let path = tool::path_of(call).and_then(|path| folders.resolve(&path));
                path.is_some_and(|path| self.matches_path(&path, folders, role))
            }
            Some(Content::Domain(_) | Content::Name(_) | Content::NamePrefix(_)) => self.matches_name(call),
            Some(Content::Other(_)) => false,
        }
    }

    /// Returns whether the rule matches the host, agent or skill of a call.
    pub(super) fn matches_name(&self, call: &Call<'_>) -> bool {
        match &self.content {
            Some(Content::Domain(domain)) => {
                tool::host_of(call).is_some_and(|host| glob(domain, &host) || *domain == host)
            }
            Some(Content::Name(name)) => tool::name_of(call) == Some(name),
            Some(Content::NamePrefix(begin)) => {
                tool::name_of(call).is_some_and(|name| name.starts_with(begin.as_str()))
            }
            None => true,
            Some(Content::Command(_) | Content::Prefix(_) | Content::Wildcard(_)) => false,
            Some(Content::Path(_) | Content::Other(_)) => false,
        }
    }

    /// Returns whether the rule's pattern matches a resolved path.
    pub(super) fn matches_path(&self, path: &str, folders: &Folders, role: RuleRole) -> bool {
        matches!(&self.content, Some(Content::Path(pattern)) if pattern.matches(path, folders, role))
    }

    /// Returns whether the rule applies to a tool (measured on 2.1.326).
    ///
    /// * `mcp__server` applies to all tools of the server, `mcp__server__a*` to some. Any other `*` in a name
    ///   works only in deny and ask rules.
    /// * `Task` and `Agent` are the same tool (recording 36).
    /// * With a path, `Edit` applies to all tools that edit and `Read` to all that read; without a path, only
    ///   to itself. A deny rule for `Read` also denies edits, since a file must be read before it is edited.
    pub(super) fn covers_tool(&self, tool: &str, behaviour: Behaviour) -> bool {
        let family = tool::lookup(tool).family;
        if self.tool == tool || self.tool.contains('*') && glob(&self.tool, tool) {
            return true;
        }
        if let Some(rest) = tool.strip_prefix(&self.tool) {
            return is_server(&self.tool) && rest.starts_with("__");
        }
        let path = matches!(self.content, Some(Content::Path(_)));
        match (self.tool.as_str(), family) {
            ("Task" | "Agent", Family::Agent) => true,
            ("Edit", Family::Edit(_)) | ("Read", Family::Read(_)) => path,
            ("Read", Family::Edit(_)) => path && behaviour == Behaviour::Deny,
            _ => false,
        }
    }

    /// Returns whether the rule matches a simple command with this text.
    ///
    /// A prefix ends at a word boundary: `npm:*` matches `npm` and `npm test`, but not `npmx`. A ` *` at the
    /// end may match nothing, so `npm run *` also matches `npm run`.
    pub(super) fn matches_command(&self, command: &str) -> bool {
        let command = command.trim_ascii();
        match &self.content {
            None => true,
            Some(Content::Command(exact)) => exact == command,
            Some(Content::Prefix(prefix)) => {
                let rest = command.strip_prefix(prefix.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n']))
            }
            Some(Content::Wildcard(pattern)) => {
                let bare = pattern.strip_suffix(" *").filter(|rest| !rest.contains('*'));
                bare == Some(command) || matches(&parse_wildcard(pattern), command)
            }
            Some(Content::Path(_) | Content::Domain(_) | Content::Name(_)) => false,
            Some(Content::NamePrefix(_) | Content::Other(_)) => false,
        }
    }

    /// Returns why the rule has no effect; `None` if it has one (measured on 2.1.326).
    pub fn no_effect(&self, behaviour: Behaviour) -> Option<&'static str> {
        let allows = behaviour == Behaviour::Allow;
        let known = tool::lookup(&self.tool);
        let some_of_server = || {
            let rest = self.tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
            rest.is_some_and(|(server, _)| !server.contains('*'))
        };
        match &self.content {
            _ if tool::is_misspelled(&self.tool) => Some(CASE),
            _ if allows && self.tool.contains('*') && !some_of_server() => Some(STAR),
            Some(Content::Path(_)) if !["Edit", "Read"].contains(&&*self.tool) => Some(PATH),
            Some(Content::Path(pattern)) if pattern.matches_nothing() => Some(NO_PATH),
            Some(Content::Name(_)) if behaviour == Behaviour::Ask && known.family == Family::Agent => {
                Some(ONE_AGENT)
            }
            Some(Content::Other(_)) => Some(NO_CONTENT),
            Some(Content::Command(text) | Content::Prefix(text) | Content::Wildcard(text))
                if text.trim_ascii() != text =>
            {
                Some(BLANKS)
            }
            Some(_) | None => None,
        }
    }
}

const STAR: &str = "an allow rule with `*` in the name of a tool does nothing, except after the server as in `mcp__server__a*`";
const PATH: &str = "only `Edit(path)` and `Read(path)` take paths, so it does nothing: `Edit` speaks for all tools that write, `Read` for all that read";
const NO_PATH: &str = "a path with `..`, or one that begins with `!` or `#`, never matches";
const ONE_AGENT: &str = "asking about a single agent does nothing: deny it, or ask about `Agent`";
const NO_CONTENT: &str = "rules of this tool have no content, so it does nothing";
const CASE: &str = "no tool has this name: names of tools are written with capitals, as `Bash`";
const BLANKS: &str = "the blanks inside the parentheses count, so it matches nothing";

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns whether a name is that of an MCP server, not of one of its tools.
fn is_server(tool: &str) -> bool {
    tool.strip_prefix("mcp__").is_some_and(|server| !server.is_empty() && !server.contains("__"))
}

/// Parses the content of a tool's rule; `None` if it matches every call.
fn parse_content(tool: &str, content: &str, text: &str) -> Result<Option<Content>, RuleError> {
    let family = tool::lookup(tool).family;
    let content = match family {
        // Equivalent to no content (published, and measured for `Bash` and `Edit`).
        Family::Command | Family::Read(_) | Family::Edit(_) if content == "*" => return Ok(None),
        Family::Command => match content.strip_suffix(":*").map(str::trim_ascii_end) {
            Some("") => return Err(RuleError::NoPrefix(text.to_owned())),
            Some(prefix) => Content::Prefix(prefix.to_owned()),
            None if content.contains('*') => Content::Wildcard(content.to_owned()),
            None => Content::Command(content.to_owned()),
        },
        Family::Read(_) | Family::Edit(_) => Content::Path(Pattern::parse(content)),
        Family::Web => match content.strip_prefix("domain:") {
            Some(domain) => Content::Domain(domain.trim().trim_end_matches('.').to_lowercase()),
            None => Content::Other(content.to_owned()),
        },
        Family::Agent | Family::Skill => match content.strip_suffix(":*") {
            Some(begin) => Content::NamePrefix(begin.to_owned()),
            None => Content::Name(content.to_owned()),
        },
        Family::Other => Content::Other(content.to_owned()),
    };
    Ok(Some(content))
}

/// Fails unless the unescaped parentheses after the first one are balanced.
fn check_balanced(rest: &str, text: &str) -> Result<(), RuleError> {
    let mut open = 1_usize;
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '(' => open += 1,
            ')' if open == 0 => return Err(RuleError::NotOpened(text.to_owned())),
            ')' => open -= 1,
            _ => {}
        }
    }
    if open > 0 { Err(RuleError::NotClosed(text.to_owned())) } else { Ok(()) }
}

fn unescaped(content: &str) -> String {
    let mut plain = String::with_capacity(content.len());
    let mut letters = content.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes = letter == '\\' && letters.peek().is_some_and(|next| "()\\".contains(*next));
        plain.push(if escapes { letters.next().unwrap_or(letter) } else { letter });
    }
    plain
}

fn escaped(content: &str) -> String {
    let mut safe = String::with_capacity(content.len());
    let mut letters = content.chars().peekable();
    while let Some(letter) = letters.next() {
        // A backslash before another character is literal, as in the path `\\[id\\]`.
        let special = letters.peek().is_none_or(|next| "()\\".contains(*next));
        if "()".contains(letter) || letter == '\\' && special {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

#[cfg(test)]
mod tests;
