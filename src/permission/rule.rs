//! A rule: `Tool` or `Tool(content)`.

use std::fmt;

use super::{
    Call,
    glob::{glob, matches, starred},
    pattern::{Ground, Pattern, Use},
    scope::{Behaviour, Scope},
    shell::{Spoken, pieces},
    tool::{self, Family},
};

/// A rule as it is written in settings: a tool, and what of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool, or with `*` several.
    pub tool: String,
    /// What of it; all without.
    pub content: Option<Content>,
    /// As it was written.
    text: String,
}

/// What of a tool a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// `Bash(git status)`: this command.
    Command(String),
    /// `Bash(npm:*)`: commands that begin with these words.
    Prefix(String),
    /// `Bash(npm run *)`: commands of this form, in which `*` is anything.
    Wildcard(String),
    /// `Edit(src/**)`: paths.
    Path(Pattern),
    /// `WebFetch(domain:example.com)`: this host.
    Domain(String),
    /// `Agent(Explore)`, `Skill(greet)`: the one of this name.
    Named(String),
    /// `Skill(gr:*)`: those whose name begins like this.
    NamedLike(String),
    /// Something that no source explains; it matches nothing.
    Other(String),
}

/// What is wrong with the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Nothing is there.
    #[error("the rule is empty, write a tool as `Read` or a tool with its content as `Bash(npm:*)`")]
    Empty,
    /// No tool before the parenthesis.
    #[error("no tool before the parenthesis, write it as `Bash(npm:*)`, not `{0}`")]
    NoTool(String),
    /// A name that no tool has.
    #[error("a tool's name has no blanks, quotes or commas: `{0}`")]
    ToolName(String),
    /// `(` without `)`.
    #[error("a parenthesis is not closed in `{0}`")]
    NotClosed(String),
    /// `)` without `(`.
    #[error("a parenthesis is closed that was not opened in `{0}`, write `\\)` if it is meant")]
    NotOpened(String),
    /// Text after the last parenthesis.
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
    /// Reads a rule.
    ///
    /// The specification's form is `^([^(]+)\(([^)]+)\)$`, and all else is the name of a tool; names that no tool can
    /// have are errors here, since such a rule never does anything. Newer versions also read parentheses within the
    /// content, escaped with `\` or in pairs.
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
                Self::made(trimmed, None, text)
            };
        };
        balanced(rest, text)?;
        let Some(inside) = rest.strip_suffix(')') else { return Err(RuleError::After(text.to_owned())) };
        if tool.trim().is_empty() {
            return Err(RuleError::NoTool(text.to_owned()));
        }
        if inside.trim().is_empty() {
            return Err(RuleError::NoContent(text.to_owned()));
        }
        Self::made(tool, Some(&unescaped(inside)), text)
    }

    /// A rule of its two halves, as the wire has them (`toolName`, `ruleContent`).
    pub fn of(tool: &str, content: Option<&str>) -> Result<Self, RuleError> {
        let text = content.map_or_else(|| tool.to_owned(), |content| format!("{tool}({})", escaped(content)));
        match content {
            Some(content) if content.trim().is_empty() => Err(RuleError::NoContent(text)),
            Some(_) | None if tool.trim().is_empty() => Err(RuleError::NoTool(text)),
            Some(_) | None => Self::made(tool, content, &text),
        }
    }

    fn made(tool: &str, content: Option<&str>, text: &str) -> Result<Self, RuleError> {
        if tool.contains(|letter: char| letter.is_whitespace() || "()'\",`".contains(letter)) {
            return Err(RuleError::ToolName(text.to_owned()));
        }
        let content = match content {
            Some(content) => meaning(tool, content, text)?,
            None => None,
        };
        Ok(Self { tool: tool.to_owned(), content, text: text.trim().to_owned() })
    }

    /// Whether a rule of the project that denies this stops the call; of a compound command, any part of it.
    ///
    /// For allowing, [`check`](super::check) wants every part covered.
    pub fn matches(&self, call: &Call<'_>) -> bool {
        let command = call.text("command").filter(|_| tool::known(call.tool).family == Family::Command);
        let spoken = command.map(|command| Spoken::of(&pieces(command).parts)).unwrap_or_default();
        let of = Use { behaviour: Behaviour::Deny, scope: Scope::Project };
        self.stops(call, &spoken, &Ground::new(call.cwd, None), of)
    }

    /// Whether it stops a call whose command is taken apart already.
    pub(super) fn stops(&self, call: &Call<'_>, spoken: &Spoken, ground: &Ground, of: Use) -> bool {
        if !self.names(call.tool, of.behaviour) || self.idle(of.behaviour).is_some() {
            return false;
        }
        match &self.content {
            None => true,
            Some(Content::Command(_) | Content::Prefix(_) | Content::Wildcard(_)) => {
                let whole = call.text("command").is_some_and(|command| self.says(command));
                whole || spoken.iter().any(|text| self.says(text))
            }
            Some(Content::Path(_)) => {
                let path = tool::path_of(call).and_then(|path| ground.resolve(&path));
                path.is_some_and(|path| self.is_about(&path, ground, of))
            }
            Some(Content::Domain(_) | Content::Named(_) | Content::NamedLike(_)) => self.fits(call),
            Some(Content::Other(_)) => false,
        }
    }

    /// Whether the host, the agent or the skill of a call is the one that it names.
    pub(super) fn fits(&self, call: &Call<'_>) -> bool {
        match &self.content {
            Some(Content::Domain(domain)) => {
                tool::host_of(call).is_some_and(|host| glob(domain, &host) || *domain == host)
            }
            Some(Content::Named(name)) => tool::name_of(call) == Some(name),
            Some(Content::NamedLike(begin)) => {
                tool::name_of(call).is_some_and(|name| name.starts_with(begin.as_str()))
            }
            None => true,
            Some(Content::Command(_) | Content::Prefix(_) | Content::Wildcard(_)) => false,
            Some(Content::Path(_) | Content::Other(_)) => false,
        }
    }

    /// Whether its path is about a resolved one.
    pub(super) fn is_about(&self, path: &str, ground: &Ground, of: Use) -> bool {
        matches!(&self.content, Some(Content::Path(pattern)) if pattern.matches(path, ground, of))
    }

    /// Whether it is about a tool of this name, in a rule that does this (measured on 2.1.326).
    ///
    /// * `mcp__server` is about all tools of the server, `mcp__server__a*` about some. Any other `*` in a name counts only
    ///   where a rule denies or asks.
    /// * `Task` and `Agent` are one tool (recording 36).
    /// * With a path, `Edit` is about all tools that edit and `Read` about all that read; without, only about itself. A
    ///   `Read` that denies stops edits too: what must not be read cannot be edited.
    pub(super) fn names(&self, tool: &str, behaviour: Behaviour) -> bool {
        let family = tool::known(tool).family;
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

    /// Whether it is about a command with exactly this text.
    ///
    /// A prefix ends at the end of a word: `npm:*` is about `npm` and `npm test`, not about `npmx`. A ` *` at the end may be
    /// nothing at all, so `npm run *` is about `npm run` too.
    pub(super) fn says(&self, command: &str) -> bool {
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
                bare == Some(command) || matches(&starred(pattern), command)
            }
            Some(Content::Path(_) | Content::Domain(_) | Content::Named(_)) => false,
            Some(Content::NamedLike(_) | Content::Other(_)) => false,
        }
    }

    /// Why the rule does nothing, if so (measured on 2.1.326).
    pub fn idle(&self, behaviour: Behaviour) -> Option<&'static str> {
        let allows = behaviour == Behaviour::Allow;
        let known = tool::known(&self.tool);
        let some_of_server = || {
            let rest = self.tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
            rest.is_some_and(|(server, _)| !server.contains('*'))
        };
        match &self.content {
            _ if tool::misspelt(&self.tool) => Some(CASE),
            _ if allows && self.tool.contains('*') && !some_of_server() => Some(STAR),
            Some(Content::Path(_)) if !["Edit", "Read"].contains(&&*self.tool) => Some(PATH),
            Some(Content::Path(pattern)) if pattern.is_idle() => Some(NO_PATH),
            Some(Content::Named(_)) if behaviour == Behaviour::Ask && known.family == Family::Agent => {
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

/// Whether a name is that of an MCP server and not of one of its tools.
fn is_server(tool: &str) -> bool {
    tool.strip_prefix("mcp__").is_some_and(|server| !server.is_empty() && !server.contains("__"))
}

/// What the content means for the tool; `None` if it is any use.
fn meaning(tool: &str, content: &str, text: &str) -> Result<Option<Content>, RuleError> {
    let family = tool::known(tool).family;
    let content = match family {
        // The same as no content (published, and measured for `Bash` and `Edit`).
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
            Some(begin) => Content::NamedLike(begin.to_owned()),
            None => Content::Named(content.to_owned()),
        },
        Family::Other => Content::Other(content.to_owned()),
    };
    Ok(Some(content))
}

/// Whether the parentheses after the first one are in pairs, but for those that are escaped.
fn balanced(rest: &str, text: &str) -> Result<(), RuleError> {
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
        // A backslash before another letter stands for itself, as in the path `\\[id\\]`.
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
