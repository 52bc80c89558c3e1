//! The permission state that calls are checked against (5.5).

use super::{
    Call, Settings,
    rule::Rule,
    scope::{Behaviour, Mode, Scope},
    tool,
};

/// Mode, rules and folders: everything that decides about a call, apart from the call itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The permission mode.
    pub mode: Mode,
    /// Additional working folders (`additionalWorkingDirectories`), each with the scope that added it.
    pub directories: Vec<(String, Scope)>,
    /// Whether `bypassPermissions` could be chosen. If so, `plan` allows everything (5.7).
    pub bypass_available: bool,
    /// The folder in which the session started: a working folder, and the root of the project's rules. `None`
    /// uses the folder of each call.
    pub project: Option<String>,
    /// Whether nobody can be asked, as in `-p` without a host. Calls that need an answer are then denied.
    pub avoid_prompts: bool,
    rules: Vec<(Behaviour, Scope, Rule)>,
}

/// A rule of a context with its behaviour and its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopedRule<'c> {
    /// Whether it allows, denies or asks.
    pub behaviour: Behaviour,
    /// The settings that store the rule.
    pub scope: Scope,
    /// The rule itself.
    pub rule: &'c Rule,
}

impl Context {
    /// Returns a context without rules.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            directories: Vec::new(),
            bypass_available: false,
            project: None,
            avoid_prompts: false,
            rules: Vec::new(),
        }
    }

    /// Combines settings files: the rules of all, and the mode of the file with the highest precedence.
    ///
    /// Managed settings have the highest precedence, then settings given with `--settings`, then the other
    /// files in the order of [`Scope`] (published).
    pub fn from_settings<'s>(settings: impl IntoIterator<Item = &'s Settings>) -> Self {
        let mut context = Self::new(Mode::Default);
        let mut strongest = None;
        for settings in settings {
            for (behaviour, rule) in &settings.rules {
                context.add(*behaviour, settings.scope, rule.clone());
            }
            let directories = settings.directories.iter().map(|path| (path.clone(), settings.scope));
            context.directories.extend(directories);
            let rank = (!settings.scope.is_read_only(), settings.scope);
            if let Some(mode) = settings.mode
                && strongest.is_none_or(|best| rank < best)
            {
                (context.mode, strongest) = (mode, Some(rank));
            }
        }
        context
    }

    /// Adds a rule, unless it exists.
    pub fn add(&mut self, behaviour: Behaviour, scope: Scope, rule: Rule) {
        let row = (behaviour, scope, rule);
        if !self.rules.contains(&row) {
            let after = self.rules.partition_point(|(other, at, _)| (*other, *at) <= (behaviour, scope));
            self.rules.insert(after, row);
        }
    }

    /// Returns the rules with this behaviour, sorted by scope.
    pub fn rules(&self, behaviour: Behaviour) -> impl Iterator<Item = ScopedRule<'_>> {
        self.all_rules().filter(move |scoped| scoped.behaviour == behaviour)
    }

    /// Returns all rules, sorted by behaviour and scope.
    pub fn all_rules(&self) -> impl Iterator<Item = ScopedRule<'_>> {
        self.rules.iter().map(|(behaviour, scope, rule)| ScopedRule {
            behaviour: *behaviour,
            scope: *scope,
            rule,
        })
    }
}

/// Returns the narrowest rule that matches a call.
///
/// Paths are absolute (`//x`), which means the same in every version and folder. The tool is `Edit` for all
/// edits and `Read` for all reads: newer versions ignore rules with a path and another tool (published).
pub(super) fn exact_rule(call: &Call<'_>) -> Option<Rule> {
    use tool::Family;
    let of = |tool: &str, content: Option<&str>| Rule::new(tool, content).ok();
    match tool::lookup(call.tool).family {
        Family::Command => exact_command(call.text("command")?),
        Family::Read(_) => of("Read", Some(&exact_path(call)?)),
        Family::Edit(_) => of("Edit", Some(&exact_path(call)?)),
        Family::Web => of(call.tool, Some(&format!("domain:{}", tool::host_of(call)?))),
        Family::Agent | Family::Skill => of(call.tool, tool::name_of(call)),
        Family::Other => of(call.tool, None),
    }
}

/// Returns a rule for exactly this command. `None` if the rule would match more, as with `x:*` and `*`.
pub(super) fn exact_command(command: &str) -> Option<Rule> {
    let command = command.trim_ascii();
    let rule = Rule::new("Bash", Some(command)).ok()?;
    matches!(&rule.content, Some(super::Content::Command(text)) if text == command).then_some(rule)
}

fn exact_path(call: &Call<'_>) -> Option<String> {
    let path = tool::path_of(call).filter(|path| path.trim() == path && !path.is_empty())?;
    Some(literal_pattern(&super::path::resolve(&path, call.cwd).unwrap_or(path)))
}

/// Returns the absolute pattern for one resolved path and everything below it, with special characters
/// escaped.
pub(super) fn literal_pattern(path: &str) -> String {
    let mut pattern = if path.starts_with('/') { "/".to_owned() } else { String::new() };
    for letter in path.chars() {
        if "*?[]\\!#".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text).expect("a rule")
    }

    #[test]
    fn rules_are_sorted_by_scope() {
        let mut context = Context::new(Mode::Default);
        for scope in Scope::ALL.iter().rev() {
            context.add(Behaviour::Allow, *scope, rule("Read"));
            context.add(Behaviour::Deny, *scope, rule("Read"));
            context.add(Behaviour::Deny, *scope, rule("Read"));
        }
        let scopes: Vec<Scope> = context.rules(Behaviour::Deny).map(|scoped| scoped.scope).collect();
        assert_eq!(scopes, Scope::ALL, "each once");
        assert_eq!(context.rules(Behaviour::Ask).count(), 0);
    }

    #[test]
    fn the_exact_rule_of_a_call_is_narrow() {
        let approve = |tool: &str, input: Value| {
            let rule = exact_rule(&Call { tool, input: &input, cwd: Some("/home/dev/project") });
            rule.map(|rule| rule.to_string())
        };
        let ok = |text: &str| Some(text.to_owned());
        assert_eq!(approve("Bash", json!({"command": "touch ok.txt"})), ok("Bash(touch ok.txt)"));
        assert_eq!(approve("Bash", json!({"command": "npm:*"})), None, "it would match more");
        assert_eq!(approve("Write", json!({"file_path": "a/b"})), ok("Edit(//home/dev/project/a/b)"));
        assert_eq!(approve("Grep", json!({"pattern": "x"})), ok("Read(//home/dev/project)"));
        assert_eq!(approve("Write", json!({"file_path": "a*"})), ok(r"Edit(//home/dev/project/a\*)"));
        assert_eq!(
            approve("Write", json!({"file_path": "[id].txt"})),
            ok(r"Edit(//home/dev/project/\[id\].txt)")
        );
        assert_eq!(approve("WebFetch", json!({"url": "https://a.b/c"})), ok("WebFetch(domain:a.b)"));
        assert_eq!(approve("mcp__demo__add", json!({})), ok("mcp__demo__add"));
        assert_eq!(approve("Agent", json!({"subagent_type": "Explore"})), ok("Agent(Explore)"));
        assert_eq!(approve("Bash", json!({})), None);
    }
}
