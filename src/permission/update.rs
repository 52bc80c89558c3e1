//! Changes of the context: the rule operations (5.6), and further ones that 2.1.325 offers (recording 53).

use serde_json::Value;

use super::{
    context::Context,
    rule::{Rule, RuleError},
    scope::{Behaviour, Mode, Scope},
};

/// A change of the context, as in `permission_suggestions` and in the operations of 5.6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// `addRules`.
    Add(Rules),
    Remove(Rules),
    /// `replaceRules`: replaces all rules with the same behaviour and scope.
    Replace(Rules),
    /// `setMode`.
    SetMode(Mode),
    /// `addDirectories`.
    AddDirectories(Vec<String>, Scope),
    /// `removeDirectories`. Never recorded; assumed as the counterpart of `addDirectories`.
    RemoveDirectories(Vec<String>, Scope),
}

/// Rules with a common behaviour and scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub rules: Vec<Rule>,
    /// Whether the rules allow, deny or ask.
    pub behaviour: Behaviour,
    /// The settings that store the rules.
    pub scope: Scope,
}

/// Why a change is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// A field is missing or has the wrong type.
    #[error("a change of permissions needs `{0}`")]
    Missing(&'static str),
    /// A field has an unknown value.
    #[error("no such `{field}` of a change of permissions: `{word}`")]
    Word {
        /// Name of the field.
        field: &'static str,
        /// The unknown value.
        word: String,
    },
    /// The rule with this index is invalid.
    #[error("rule {0} of a change of permissions: {1}")]
    Rule(usize, RuleError),
    /// A session cannot change rules of this scope.
    #[error("rules of this scope are read only: `{0}`")]
    ReadOnly(Scope),
}

impl Update {
    /// Parses the wire format: `{type, rules, behavior, destination}`, `{type, mode}` or
    /// `{type, directories, destination}`. Rules are strings or `{toolName, ruleContent?}`.
    pub fn from_json(value: &Value) -> Result<Self, UpdateError> {
        match text(value, "type")? {
            "addRules" => rules(value).map(Self::Add),
            "removeRules" => rules(value).map(Self::Remove),
            "replaceRules" => rules(value).map(Self::Replace),
            "setMode" => word(value, "mode", Mode::named).map(Self::SetMode),
            "addDirectories" => Ok(Self::AddDirectories(directories(value)?, scope(value)?)),
            "removeDirectories" => Ok(Self::RemoveDirectories(directories(value)?, scope(value)?)),
            other => Err(UpdateError::Word { field: "type", word: other.to_owned() }),
        }
    }
}

impl Context {
    /// Applies a change. What is already there is not added twice.
    pub fn apply(&mut self, update: Update) {
        match update {
            Update::Add(Rules { rules, behaviour, scope }) => self.add_all(rules, behaviour, scope),
            Update::Remove(Rules { rules, behaviour, scope }) => {
                rules.iter().for_each(|rule| self.remove(behaviour, scope, rule));
            }
            Update::Replace(Rules { rules, behaviour, scope }) => {
                self.clear(behaviour, scope);
                self.add_all(rules, behaviour, scope);
            }
            Update::SetMode(mode) => self.mode = mode,
            Update::AddDirectories(paths, scope) => {
                for path in paths {
                    if !self.directories.iter().any(|(known, _)| *known == path) {
                        self.directories.push((path, scope));
                    }
                }
            }
            Update::RemoveDirectories(paths, scope) => {
                self.directories.retain(|(path, at)| !(*at == scope && paths.contains(path)));
            }
        }
    }

    fn add_all(&mut self, rules: Vec<Rule>, behaviour: Behaviour, scope: Scope) {
        rules.into_iter().for_each(|rule| self.add(behaviour, scope, rule));
    }
}

fn text<'v>(value: &'v Value, field: &'static str) -> Result<&'v str, UpdateError> {
    value.get(field).and_then(Value::as_str).ok_or(UpdateError::Missing(field))
}

fn word<T>(value: &Value, field: &'static str, named: fn(&str) -> Option<T>) -> Result<T, UpdateError> {
    let word = text(value, field)?;
    named(word).ok_or_else(|| UpdateError::Word { field, word: word.to_owned() })
}

fn scope(value: &Value) -> Result<Scope, UpdateError> {
    let scope = word(value, "destination", Scope::named)?;
    if scope.is_read_only() { Err(UpdateError::ReadOnly(scope)) } else { Ok(scope) }
}

fn list<'v>(value: &'v Value, field: &'static str) -> Result<&'v Vec<Value>, UpdateError> {
    value.get(field).and_then(Value::as_array).ok_or(UpdateError::Missing(field))
}

fn directories(value: &Value) -> Result<Vec<String>, UpdateError> {
    let paths = list(value, "directories")?.iter().map(|path| path.as_str().map(str::to_owned));
    paths.collect::<Option<_>>().ok_or(UpdateError::Missing("directories"))
}

fn rules(value: &Value) -> Result<Rules, UpdateError> {
    let read = |(at, value): (usize, &Value)| {
        let rule = match value {
            Value::String(text) => Rule::parse(text),
            _ => Rule::new(text(value, "toolName")?, value.get("ruleContent").and_then(Value::as_str)),
        };
        rule.map_err(|error| UpdateError::Rule(at, error))
    };
    let rules = list(value, "rules")?.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok(Rules { rules, behaviour: word(value, "behavior", Behaviour::named)?, scope: scope(value)? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(value: &Value) -> Update {
        Update::from_json(value).unwrap_or_else(|error| panic!("{value}: {error}"))
    }

    fn shown(context: &Context) -> Vec<String> {
        let show = |scoped: super::super::ScopedRule<'_>| {
            format!("{} {} {}", scoped.behaviour, scoped.scope, scoped.rule)
        };
        context.all_rules().map(show).collect()
    }

    #[test]
    fn rules_are_added_removed_and_replaced() {
        let mut context = Context::new(Mode::Default);
        let change = |kind: &str, rules: Value| {
            update(&json!({"type": kind, "rules": rules, "behavior": "allow", "destination": "session"}))
        };
        context.add(Behaviour::Allow, Scope::User, Rule::parse("Read").expect("a rule"));
        context.apply(change("addRules", json!(["Edit", {"toolName": "Bash", "ruleContent": "npm:*"}])));
        assert_eq!(
            shown(&context),
            ["allow session Edit", "allow session Bash(npm:*)", "allow userSettings Read"]
        );
        context.apply(change("removeRules", json!([{"toolName": "Edit"}])));
        assert_eq!(shown(&context), ["allow session Bash(npm:*)", "allow userSettings Read"]);
        context.apply(change("replaceRules", json!(["Write"])));
        assert_eq!(shown(&context), ["allow session Write", "allow userSettings Read"]);
        context.apply(change("replaceRules", json!([])));
        assert_eq!(shown(&context), ["allow userSettings Read"]);
    }

    #[test]
    fn the_suggestions_of_recording_53_can_be_applied() {
        let log = include_str!("../../testdata/recordings/2.1.325/stream/53-control-protocol.jsonl");
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let offers: Vec<Update> = lines
            .filter_map(|line| line.pointer("/request/permission_suggestions")?.as_array().cloned())
            .flat_map(|offers| offers.iter().map(update).collect::<Vec<_>>())
            .collect();
        assert_eq!(offers.len(), 6);
        let mut context = Context::new(Mode::Default);
        offers.into_iter().for_each(|offer| context.apply(offer));
        assert_eq!(
            shown(&context),
            ["allow localSettings Bash(touch ok.txt)", "allow localSettings Bash(touch no.txt)"]
        );
        assert_eq!(context.mode, Mode::AcceptEdits);
        assert_eq!(context.directories, [("/home/dev/project".to_owned(), Scope::Session)]);
        let drop = json!({"type": "removeDirectories", "directories": ["/home/dev/project"], "destination": "session"});
        context.apply(update(&drop));
        assert!(context.directories.is_empty());
    }

    #[test]
    fn an_invalid_change_is_an_error() {
        let told = |value: Value| Update::from_json(&value).expect_err("broken").to_string();
        let rules = |rules: Value, behavior: &str, to: &str| {
            told(json!({"type": "addRules", "rules": rules, "behavior": behavior, "destination": to}))
        };
        assert_eq!(told(json!({})), "a change of permissions needs `type`");
        assert_eq!(told(json!({"type": "x"})), "no such `type` of a change of permissions: `x`");
        assert!(rules(json!(["Bash("]), "allow", "session").starts_with("rule 0 of a change"));
        assert!(rules(json!([{}]), "allow", "session").contains("`toolName`"));
        assert!(rules(json!([]), "maybe", "session").contains("`behavior`"));
        assert!(rules(json!([]), "allow", "here").contains("`destination`"));
        assert_eq!(
            rules(json!([]), "allow", "policySettings"),
            "rules of this scope are read only: `policySettings`"
        );
        assert!(told(json!({"type": "setMode", "mode": "yolo"})).contains("`yolo`"));
    }
}
