//! The state that a call is checked against (5.5).

use super::{
    Call, Settings,
    rule::Rule,
    scope::{Behaviour, Mode, Scope},
    tool,
};

/// Mode, rules and folders: all that the flow looks at besides the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// How much is asked.
    pub mode: Mode,
    /// Folders that count as the project too (`additionalWorkingDirectories`), with where they were named.
    pub directories: Vec<(String, Scope)>,
    /// Whether `bypassPermissions` could be chosen; then `plan` lets everything through (5.7).
    pub bypass_available: bool,
    /// The folder that the session began in: rules of the project start there, and what is below it is inside. Without it,
    /// the folder of each call is it.
    pub project: Option<String>,
    /// Whether nobody can be asked, so that what would be asked is refused (`-p` without a host).
    pub avoid_prompts: bool,
    rules: Vec<(Behaviour, Scope, Rule)>,
}

/// A rule, what it does, and where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'c> {
    /// What it does.
    pub behaviour: Behaviour,
    /// Where it is kept.
    pub scope: Scope,
    /// The rule.
    pub rule: &'c Rule,
}

impl Context {
    /// A context without rules.
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

    /// The context of some settings files, in the mode that the strongest of them names.
    ///
    /// Strongest are the rules of the organisation, then the settings given at the start, then those nearest to the
    /// session (published). Rules of all files count together.
    pub fn of_settings<'s>(settings: impl IntoIterator<Item = &'s Settings>) -> Self {
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

    /// Adds a rule, once.
    pub fn add(&mut self, behaviour: Behaviour, scope: Scope, rule: Rule) {
        let row = (behaviour, scope, rule);
        if !self.rules.contains(&row) {
            let after = self.rules.partition_point(|(other, at, _)| (*other, *at) <= (behaviour, scope));
            self.rules.insert(after, row);
        }
    }

    /// Removes a rule, however it was written (`Bash` and `Bash(*)` are the same one).
    pub fn remove(&mut self, behaviour: Behaviour, scope: Scope, rule: &Rule) {
        let is_it = |other: &Rule| other.tool == rule.tool && other.content == rule.content;
        self.rules.retain(|(what, at, other)| !(*what == behaviour && *at == scope && is_it(other)));
    }

    /// Removes all rules of a behaviour and a scope.
    pub fn clear(&mut self, behaviour: Behaviour, scope: Scope) {
        self.rules.retain(|(what, at, _)| !(*what == behaviour && *at == scope));
    }

    /// The rules of a behaviour, scope by scope.
    pub fn rules(&self, behaviour: Behaviour) -> impl Iterator<Item = Placed<'_>> {
        self.all_rules().filter(move |placed| placed.behaviour == behaviour)
    }

    /// All rules, behaviour by behaviour and scope by scope.
    pub fn all_rules(&self) -> impl Iterator<Item = Placed<'_>> {
        self.rules.iter().map(|(behaviour, scope, rule)| Placed {
            behaviour: *behaviour,
            scope: *scope,
            rule,
        })
    }

    /// Takes `approve_always` (8.1) or "Yes, for this session" (5.9): an allow rule of the session.
    ///
    /// The rule is as narrow as the call: recording 53 offers the exact command. `None` if the call names nothing
    /// that a rule could be about.
    pub fn approve_always(&mut self, call: &Call<'_>) -> Option<Rule> {
        let rule = exact(call)?;
        self.add(Behaviour::Allow, Scope::Session, rule.clone());
        Some(rule)
    }
}

/// The narrowest rule about a call.
///
/// Paths are written from the top (`//x`), which means the same in every version and folder. Edits are named `Edit`
/// and reads `Read`: rules with other names and a path are not looked at by newer versions (published).
pub(super) fn exact(call: &Call<'_>) -> Option<Rule> {
    use tool::Family;
    let of = |tool: &str, content: Option<&str>| Rule::of(tool, content).ok();
    match tool::known(call.tool).family {
        Family::Command => exact_command(call.text("command")?),
        Family::Read(_) => of("Read", Some(&exact_path(call)?)),
        Family::Edit(_) => of("Edit", Some(&exact_path(call)?)),
        Family::Web => of(call.tool, Some(&format!("domain:{}", tool::host_of(call)?))),
        Family::Agent | Family::Skill => of(call.tool, tool::name_of(call)),
        Family::Other => of(call.tool, None),
    }
}

/// A rule about this very command, if its text can be one: `x:*` and `*` would mean more.
pub(super) fn exact_command(command: &str) -> Option<Rule> {
    let command = command.trim_ascii();
    let rule = Rule::of("Bash", Some(command)).ok()?;
    matches!(&rule.content, Some(super::Content::Command(text)) if text == command).then_some(rule)
}

fn exact_path(call: &Call<'_>) -> Option<String> {
    let path = tool::path_of(call).filter(|path| path.trim() == path && !path.is_empty())?;
    Some(literal(&super::path::resolve(&path, call.cwd).unwrap_or(path)))
}

/// The pattern that means one resolved path and what is below it: from the top, with all that is special escaped.
pub(super) fn literal(path: &str) -> String {
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
    fn rules_come_in_the_order_of_their_scopes() {
        let mut context = Context::new(Mode::Default);
        for scope in Scope::ALL.iter().rev() {
            context.add(Behaviour::Allow, *scope, rule("Read"));
            context.add(Behaviour::Deny, *scope, rule("Read"));
            context.add(Behaviour::Deny, *scope, rule("Read"));
        }
        let scopes: Vec<Scope> = context.rules(Behaviour::Deny).map(|placed| placed.scope).collect();
        assert_eq!(scopes, Scope::ALL, "each once");
        assert_eq!(context.rules(Behaviour::Ask).count(), 0);
    }

    #[test]
    fn a_rule_is_removed_from_its_place_only() {
        let mut context = Context::new(Mode::Default);
        context.add(Behaviour::Allow, Scope::Session, rule("Bash(*)"));
        context.add(Behaviour::Allow, Scope::User, rule("Bash"));
        context.remove(Behaviour::Allow, Scope::Session, &rule("Bash"));
        let left: Vec<Scope> = context.all_rules().map(|placed| placed.scope).collect();
        assert_eq!(left, [Scope::User]);
    }

    #[test]
    fn approving_always_makes_a_narrow_rule_of_the_session() {
        let approve = |tool: &str, input: Value| {
            let mut context = Context::new(Mode::Default);
            let rule = context.approve_always(&Call { tool, input: &input, cwd: Some("/home/dev/project") });
            assert!(context.rules(Behaviour::Allow).all(|placed| placed.scope == Scope::Session));
            rule.map(|rule| rule.to_string())
        };
        let ok = |text: &str| Some(text.to_owned());
        assert_eq!(approve("Bash", json!({"command": "touch ok.txt"})), ok("Bash(touch ok.txt)"));
        assert_eq!(approve("Bash", json!({"command": "npm:*"})), None, "it would mean more");
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
