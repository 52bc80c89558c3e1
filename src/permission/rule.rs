//! A rule: `Tool` or `Tool(content)`.

use std::fmt;

use super::{
    Call,
    path::{Pattern, glob},
    shell::{guises, pieces},
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
    /// `Edit(src/**)`: paths.
    Path(Pattern),
    /// `WebFetch(domain:example.com)`: this host.
    Domain(String),
    /// `Agent(Explore)`, `Skill(greet)`: the one of this name.
    Named(String),
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

    /// Whether it is about the call; of a compound command, whether it is about any part.
    ///
    /// That is how a rule that denies or asks matches. For allowing, [`check`](super::check) wants every part covered.
    pub fn matches(&self, call: &Call<'_>) -> bool {
        let parts = call.text("command").filter(|_| self.names(call.tool));
        self.matches_guises(call, &parts.map(|command| guises(&pieces(command).0)).unwrap_or_default())
    }

    /// The same for a call whose command is taken apart already.
    pub(super) fn matches_guises(&self, call: &Call<'_>, guises: &[String]) -> bool {
        if !self.names(call.tool) {
            return false;
        }
        match &self.content {
            None => true,
            Some(Content::Command(_) | Content::Prefix(_)) => {
                let whole = call.text("command").is_some_and(|command| self.says(command));
                whole || guises.iter().any(|guise| self.says(guise))
            }
            Some(Content::Path(pattern)) => {
                tool::path_of(call).is_some_and(|path| pattern.matches(&path, call.cwd))
            }
            Some(Content::Domain(domain)) => tool::host_of(call).as_ref() == Some(domain),
            Some(Content::Named(name)) => tool::name_of(call) == Some(name),
            Some(Content::Other(_)) => false,
        }
    }

    /// Whether it is about a tool of this name.
    ///
    /// * `mcp__server` is about all tools of the server (published), as is `mcp__server__*`; a `*` elsewhere in a
    ///   name is a guess;
    /// * `Task` and `Agent` are one tool (recording 36);
    /// * with a path, `Edit` is about all tools that edit and `Read` about all that read (published); without, only
    ///   about itself ("any use of the Read tool", 5.2).
    pub fn names(&self, tool: &str) -> bool {
        let family = |name: &str| tool::known(name).family;
        if self.tool == tool || self.tool.contains('*') && glob(&self.tool, tool) {
            return true;
        }
        if let Some(rest) = tool.strip_prefix(&self.tool) {
            return is_server(&self.tool) && rest.starts_with("__");
        }
        matches!(
            (&self.content, self.tool.as_str(), family(tool)),
            (_, "Task" | "Agent", Family::Agent)
                | (Some(Content::Path(_)), "Edit", Family::Edit(_))
                | (Some(Content::Path(_)), "Read", Family::Read(_))
        )
    }

    /// Whether it is about a command with exactly this text.
    ///
    /// A prefix ends at the end of a word: `npm:*` is about `npm` and `npm test`, not about `npmx`. The specification
    /// says only "starting with"; a rule that allowed `npmx` too would allow more than anyone asked for.
    pub(super) fn says(&self, command: &str) -> bool {
        let command = command.trim_ascii();
        match &self.content {
            None => true,
            Some(Content::Command(exact)) => exact == command,
            Some(Content::Prefix(prefix)) => {
                let rest = command.strip_prefix(prefix.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n']))
            }
            Some(Content::Path(_) | Content::Domain(_) | Content::Named(_) | Content::Other(_)) => false,
        }
    }

    /// Whether it is about writing a file at the path.
    pub(super) fn writes(&self, path: &str, cwd: Option<&str>) -> bool {
        let edits = matches!(tool::known(&self.tool).family, Family::Edit(_));
        match &self.content {
            None => edits,
            Some(Content::Path(pattern)) => edits && pattern.matches(path, cwd),
            Some(Content::Command(_) | Content::Prefix(_) | Content::Domain(_)) => false,
            Some(Content::Named(_) | Content::Other(_)) => false,
        }
    }

    /// Why the rule may not do what its writer thinks, if so.
    ///
    /// Newer versions read `Bash(npm run *)` with a wildcard (published); the specification has `:*` alone, and neither
    /// it nor a recording says what such a `*` takes in. So it is not modelled, and said.
    pub fn doubt(&self) -> Option<&'static str> {
        match &self.content {
            Some(Content::Other(_)) => {
                Some("no content is known for rules of this tool, so it matches nothing")
            }
            Some(Content::Command(command)) if command.contains('*') => Some(
                "a `*` that is not `:*` at the end is taken as written here, newer versions may take it for anything",
            ),
            _ => None,
        }
    }
}

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
    // Other blanks are letters to a shell.
    let content = content.trim_ascii();
    let content = match tool::known(tool).family {
        // Published: the same as no content.
        Family::Command if content == "*" => return Ok(None),
        Family::Command => match content.strip_suffix(":*").map(str::trim_ascii_end) {
            Some("") => return Err(RuleError::NoPrefix(text.to_owned())),
            Some(prefix) => Content::Prefix(prefix.to_owned()),
            None => Content::Command(content.to_owned()),
        },
        Family::Read(_) | Family::Edit(_) => Content::Path(Pattern::parse(content)),
        Family::Web => match content.strip_prefix("domain:") {
            Some(domain) => Content::Domain(domain.trim().trim_end_matches('.').to_lowercase()),
            None => Content::Other(content.to_owned()),
        },
        Family::Agent | Family::Skill => Content::Named(content.to_owned()),
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
    for letter in content.chars() {
        if "()\\".contains(letter) {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn matches(text: &str, tool: &str, input: &Value) -> bool {
        rule(text).matches(&Call { tool, input, cwd: Some("/home/dev/project") })
    }

    #[test]
    fn a_rule_is_given_back_as_it_was_written() {
        for text in ["Read", "Bash(npm:*)", "Edit(.claude)", "mcp__a__*", r"Bash(echo \(a\))", "Bash(f (x))"]
        {
            assert_eq!(rule(text).to_string(), text);
        }
        assert_eq!(rule("Bash(npm:*)").content, Some(Content::Prefix("npm".to_owned())));
        assert_eq!(rule("Bash(git status)").content, Some(Content::Command("git status".to_owned())));
        assert_eq!(rule(r"Bash(echo \(a\))").content, Some(Content::Command("echo (a)".to_owned())));
        assert_eq!(rule("Bash(*)").content, None);
    }

    #[test]
    fn halves_and_text_are_the_same_rule() {
        for content in ["git status", r"grep \( x", r"a\\b", "echo (x", "npm:*"] {
            let made = Rule::of("Bash", Some(content)).expect("a rule");
            assert_eq!(rule(&made.to_string()), made, "{content}");
        }
        assert_eq!(Rule::of("Read", None).expect("a rule"), rule("Read"));
        assert!(Rule::of("", Some("x")).is_err() && Rule::of("Bash", Some(" ")).is_err());
    }

    #[test]
    fn a_broken_rule_is_told_with_its_reason() {
        let told = |text: &str| Rule::parse(text).expect_err(text).to_string();
        for (text, reason) in [
            ("", "the rule is empty"),
            ("  ", "the rule is empty"),
            ("(npm)", "no tool before the parenthesis"),
            (" (npm)", "no tool before the parenthesis"),
            ("Bash(npm", "a parenthesis is not closed in `Bash(npm`"),
            ("Bash(a (b)", "a parenthesis is not closed"),
            ("Bash npm)", "closed that was not opened"),
            ("Bash(a))", "closed that was not opened"),
            ("Bash(a)b", "must be the end of the rule"),
            ("Bash()", "nothing between the parentheses"),
            ("Bash( )", "nothing between the parentheses"),
            ("Bash(:*)", "no command before `:*`"),
            ("Bash (npm)", "a tool's name has no blanks"),
            ("npm test", "a tool's name has no blanks"),
            ("Read,Edit", "a tool's name has no blanks"),
        ] {
            assert!(told(text).contains(reason), "{text}: {}", told(text));
        }
    }

    /// Rule, tool, input, and whether they match.
    fn cases() -> Vec<(&'static str, &'static str, Value, bool)> {
        let bash = |command: &str| json!({ "command": command });
        let file = |path: &str| json!({ "file_path": path });
        vec![
            ("Read", "Read", file("/any"), true),
            ("Read", "Glob", json!({"pattern": "*"}), false),
            ("Bash(npm:*)", "Bash", bash("npm"), true),
            ("Bash(npm:*)", "Bash", bash("npm test"), true),
            ("Bash(npm:*)", "Bash", bash("npmx"), false),
            ("Bash(npm:*)", "Bash", bash("npm-check"), false),
            ("Bash(npm:*)", "Bash", bash("npm\u{a0}x"), false),
            ("Bash(npm:*)", "Write", bash("npm"), false),
            ("Bash(npm:*)", "Bash", json!({}), false),
            ("Bash(npm run:*)", "Bash", bash("npm run build"), true),
            ("Bash(npm run:*)", "Bash", bash("npm test"), false),
            ("Bash(git status)", "Bash", bash("git status"), true),
            ("Bash(git status)", "Bash", bash(" git status\n"), true),
            ("Bash(git status)", "Bash", bash("git status -s"), false),
            ("Bash(rm:*)", "Bash", bash("ls && rm -rf x"), true),
            ("Bash(rm:*)", "Bash", bash("echo $(rm -rf x)"), true),
            ("Bash(rm:*)", "Bash", bash("sudo -u me rm x"), true),
            ("Bash(rm:*)", "Bash", bash("A=b timeout 5 rm x"), true),
            ("Bash(rm:*)", "Bash", bash("if true; then rm x; fi"), true),
            ("Bash(rm:*)", "Bash", bash("echo 'a; rm x'"), false),
            ("Bash(rm:*)", "Bash", bash("\"rm\" x"), true),
            ("Bash(rm:*)", "Bash", bash("r\\m x"), true),
            ("Bash(rm -rf:*)", "Bash", bash("rm   -rf x"), true),
            ("Bash(rm -rf:*)", "Bash", bash("> log rm -rf x"), true),
            ("Edit(.claude)", "Edit", file("/home/dev/project/.claude/settings.json"), true),
            ("Edit(.claude)", "Write", file("/home/dev/project/.claude/settings.json"), true),
            ("Edit(.claude)", "Read", file("/home/dev/project/.claude/settings.json"), false),
            ("Write(/etc/*)", "Write", file("/etc/hosts"), true),
            ("Write(/etc/*)", "Edit", file("/etc/hosts"), false),
            ("Write(/etc/*)", "Write", file("/var/etc/hosts"), false),
            ("Read(src/**)", "Grep", json!({"pattern": "x", "path": "src/a"}), true),
            ("Edit(n/*)", "NotebookEdit", json!({"notebook_path": "n/a.ipynb"}), true),
            ("WebFetch(domain:example.com)", "WebFetch", json!({"url": "https://example.com/a"}), true),
            ("WebFetch(domain:example.com)", "WebFetch", json!({"url": "https://a.example.com/"}), false),
            ("WebFetch(domain:Example.com)", "WebFetch", json!({"url": "https://EXAMPLE.com"}), true),
            ("WebFetch(example.com)", "WebFetch", json!({"url": "https://example.com/a"}), false),
            ("mcp__demo", "mcp__demo__add", json!({}), true),
            ("mcp__demo__*", "mcp__demo__add", json!({}), true),
            ("mcp__demo__add", "mcp__demo__add", json!({}), true),
            ("mcp__demo__add", "mcp__demo__add__more", json!({}), false),
            ("mcp__dem", "mcp__demo__add", json!({}), false),
            ("mcp__demo__add", "mcp__demo__sub", json!({}), false),
            ("mcp__demo", "Read", json!({}), false),
            ("Agent(Explore)", "Agent", json!({"subagent_type": "Explore"}), true),
            ("Task(Explore)", "Agent", json!({"subagent_type": "Explore"}), true),
            ("Agent(Explore)", "Task", json!({"subagent_type": "Plan"}), false),
            ("Task", "Agent", json!({}), true),
            ("Task", "TaskCreate", json!({}), false),
            ("Skill(greet)", "Skill", json!({"skill": "greet"}), true),
            ("Skill(greet)", "Skill", json!({"command": "other"}), false),
            ("TodoWrite(x)", "TodoWrite", json!({"x": "x"}), false),
        ]
    }

    #[test]
    fn rules_match_as_the_table_says() {
        for (text, tool, input, expected) in cases() {
            assert_eq!(matches(text, tool, &input), expected, "{text} and {tool} {input}");
        }
    }

    #[test]
    fn doubtful_rules_say_so() {
        assert!(rule("Bash(npm run *)").doubt().is_some_and(|doubt| doubt.contains("as written")));
        assert!(rule("TodoWrite(x)").doubt().is_some());
        assert!(rule("Bash(npm:*)").doubt().is_none() && rule("Edit(src/*)").doubt().is_none());
    }
}
