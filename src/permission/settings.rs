//! Reads the permissions of `settings.json` (5.8): rules, the default mode and additional folders.

use serde_json::Value;

use super::{
    path::{below, in_home, resolve},
    rule::{Rule, RuleError},
    scope::{Behaviour, Mode, Scope},
};

/// The permissions of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The scope of the file.
    pub scope: Scope,
    /// The rules: first allow, then deny, then ask.
    pub rules: Vec<(Behaviour, Rule)>,
    /// `defaultMode`, if the file may set it.
    pub mode: Option<Mode>,
    /// `defaultMode`, if it is `bypassPermissions` or `auto` in a file of the project, which may not set
    /// these (measured on 2.1.326 for `settings.json`; a guess for `settings.local.json`).
    pub ignored_mode: Option<Mode>,
    /// `additionalDirectories`.
    pub directories: Vec<String>,
    /// Invalid rules. The CLI ignores them and uses the others (measured on 2.1.326).
    pub broken: Vec<BrokenRule>,
}

/// An invalid rule of a settings file, which is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("settings file `{file}`: `{key}` is not a rule and is dropped: {reason}")]
pub struct BrokenRule {
    /// Name of the file.
    pub file: String,
    /// The key with its path.
    pub key: String,
    /// Why it is invalid.
    pub reason: RuleError,
}

/// Why a settings file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The text is not JSON.
    #[error("settings file `{file}` is not valid JSON, correct it there: {source}")]
    Json {
        /// Name of the file.
        file: String,
        /// The syntax error, with line and column.
        source: serde_json::Error,
    },
    /// A value of the wrong type.
    #[error("settings file `{file}`: `{key}` must be {must}, not `{value}`")]
    Value {
        /// Name of the file.
        file: String,
        /// The key with its path.
        key: String,
        /// Description of the required value.
        must: &'static str,
        /// The value in the file, shortened.
        value: String,
    },
    /// A mode that does not exist.
    #[error(
        "settings file `{file}`: `{key}` is no mode, did you mean `{nearest}`? (known: {}): `{value}`",
        Mode::ALL.iter().map(|mode| mode.name()).collect::<Vec<_>>().join(", ")
    )]
    Mode {
        /// Name of the file.
        file: String,
        /// The key with its path.
        key: String,
        /// The value in the file.
        value: String,
        /// The mode with the most similar name.
        nearest: Mode,
    },
}

impl Settings {
    /// Parses the text of a settings file. Without a scope, the path of the file decides
    /// ([`scope_of`](Self::scope_of)). Keys that are not about permissions are ignored.
    pub fn read(file: &str, text: &str, scope: Option<Scope>) -> Result<Self, SettingsError> {
        let source = Source { file };
        let text = text.trim_start_matches('\u{feff}');
        let whole: Value = serde_json::from_str(text)
            .map_err(|error| SettingsError::Json { file: file.to_owned(), source: error })?;
        if !whole.is_object() {
            return Err(source.value("the whole file", "an object", &whole));
        }
        let mut settings = Self {
            scope: scope.unwrap_or_else(|| Self::scope_of(file, None)),
            rules: Vec::new(),
            mode: None,
            ignored_mode: None,
            directories: Vec::new(),
            broken: Vec::new(),
        };
        let Some(permissions) = given(&whole, "permissions") else { return Ok(settings) };
        if !permissions.is_object() {
            return Err(source.value("permissions", "an object", permissions));
        }
        for behaviour in Behaviour::ALL {
            source.rules(permissions, behaviour, &mut settings)?;
        }
        settings.mode = source.mode(permissions)?;
        let barred = |mode: &mut Mode| matches!(mode, Mode::BypassPermissions | Mode::Auto);
        if matches!(settings.scope, Scope::Project | Scope::Local) {
            settings.ignored_mode = settings.mode.take_if(barred);
        }
        let directories =
            source.texts(permissions, "additionalDirectories", "a list of folders", "a folder")?;
        settings.directories = directories.into_iter().map(|(_, path)| path.to_owned()).collect();
        Ok(settings)
    }

    /// Removes what the CLI uses only in a trusted folder: the allow rules and additional folders of a
    /// project's file (measured on 2.1.326). Returns how many were removed.
    pub fn distrust(&mut self) -> usize {
        if self.scope != Scope::Project {
            return 0;
        }
        let before = self.rules.len() + self.directories.len();
        self.rules.retain(|(behaviour, _)| *behaviour != Behaviour::Allow);
        self.directories.clear();
        before - self.rules.len()
    }

    /// Returns the scope of a settings file by its path.
    ///
    /// `settings.local.json` is local and `managed-settings.json` managed. `settings.json` in a `.claude`
    /// folder is the user's if that is in the home folder, otherwise the project's. Any other file counts as
    /// given with `--settings`.
    ///
    /// If `home` is unknown, the usual locations of home folders are assumed.
    pub fn scope_of(file: &str, home: Option<&str>) -> Scope {
        let file = file.replace('\\', "/");
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
        let resolved = resolve(folder, None).unwrap_or_else(|| folder.to_owned());
        let own = match home.and_then(|home| resolve(home, None)) {
            Some(home) => below(&resolved, &home) == Some(".claude") || resolved == "~/.claude",
            None => in_home(&resolved) == Some(".claude"),
        };
        let claude = resolved.rsplit('/').next() == Some(".claude");
        match name {
            _ if name.starts_with("managed-settings") || folder.ends_with("managed-settings.d") => {
                Scope::Policy
            }
            "settings.local.json" => Scope::Local,
            "settings.json" if own => Scope::User,
            "settings.json" if claude => Scope::Project,
            _ => Scope::Flag,
        }
    }
}

/// Name of the file, for errors.
struct Source<'f> {
    file: &'f str,
}

impl Source<'_> {
    fn value(&self, key: &str, must: &'static str, value: &Value) -> SettingsError {
        let text = value.to_string();
        let short: String = text.chars().take(40).collect();
        let value = if short.len() < text.len() { format!("{short}…") } else { short };
        SettingsError::Value { file: self.file.to_owned(), key: key.to_owned(), must, value }
    }

    /// Returns a list of strings, each with its key.
    fn texts<'v>(
        &self,
        permissions: &'v Value,
        name: &str,
        must: &'static str,
        each: &'static str,
    ) -> Result<Vec<(String, &'v str)>, SettingsError> {
        let key = format!("permissions.{name}");
        let Some(value) = given(permissions, name) else { return Ok(Vec::new()) };
        let Some(list) = value.as_array() else { return Err(self.value(&key, must, value)) };
        let text = |(at, value): (usize, &'v Value)| {
            let key = format!("{key}[{at}]");
            let text = value.as_str().ok_or_else(|| self.value(&key, each, value))?;
            Ok((key, text))
        };
        list.iter().enumerate().map(text).collect()
    }

    fn rules(
        &self,
        permissions: &Value,
        behaviour: Behaviour,
        settings: &mut Settings,
    ) -> Result<(), SettingsError> {
        for (key, text) in self.texts(permissions, behaviour.name(), "a list of rules", "a rule in quotes")? {
            match Rule::parse(text) {
                Ok(rule) => settings.rules.push((behaviour, rule)),
                Err(reason) => settings.broken.push(BrokenRule { file: self.file.to_owned(), key, reason }),
            }
        }
        Ok(())
    }

    fn mode(&self, permissions: &Value) -> Result<Option<Mode>, SettingsError> {
        let key = "permissions.defaultMode";
        let Some(value) = given(permissions, "defaultMode") else { return Ok(None) };
        let Some(word) = value.as_str() else { return Err(self.value(key, "the name of a mode", value)) };
        let unknown = || SettingsError::Mode {
            file: self.file.to_owned(),
            key: key.to_owned(),
            value: word.to_owned(),
            nearest: Mode::nearest(word),
        };
        Mode::named(word).ok_or_else(unknown).map(Some)
    }
}

/// Returns a value unless it is null.
fn given<'v>(object: &'v Value, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Context;

    fn error(text: &str) -> String {
        Settings::read("s.json", text, None).expect_err(text).to_string()
    }

    #[test]
    fn the_example_of_the_specification_is_parsed() {
        let text = r#"{"model": "opus", "permissions": {
            "allow": ["Bash(npm:*)", "Edit(.claude)", "Read"], "deny": ["Bash(rm -rf:*)"],
            "ask": ["Write(/etc/*)"], "defaultMode": "acceptEdits",
            "additionalDirectories": ["/path/to/extra"], "somethingNew": 4}}"#;
        let settings = Settings::read(".claude/settings.json", text, None).expect("settings");
        let shown: Vec<String> =
            settings.rules.iter().map(|(behaviour, rule)| format!("{behaviour} {rule}")).collect();
        let expected = [
            "allow Bash(npm:*)",
            "allow Edit(.claude)",
            "allow Read",
            "deny Bash(rm -rf:*)",
            "ask Write(/etc/*)",
        ];
        assert_eq!(shown, expected);
        assert_eq!((settings.scope, settings.mode), (Scope::Project, Some(Mode::AcceptEdits)));
        assert_eq!(settings.directories, ["/path/to/extra"]);
        for empty in ["{}", r#"{"permissions": {}}"#, r#"{"permissions": {"allow": null}}"#, "\u{feff}{}"] {
            assert!(Settings::read("s.json", empty, None).is_ok_and(|settings| settings.rules.is_empty()));
        }
    }

    #[test]
    fn an_error_names_file_key_and_reason() {
        assert_eq!(
            error(r#"{"permissions": {"deny": ["Read", 4]}}"#),
            "settings file `s.json`: `permissions.deny[1]` must be a rule in quotes, not `4`"
        );
        assert_eq!(
            error(r#"{"permissions": {"ask": "Read"}}"#),
            "settings file `s.json`: `permissions.ask` must be a list of rules, not `\"Read\"`"
        );
        let mode = error(r#"{"permissions": {"defaultMode": "acceptEdit"}}"#);
        assert!(mode.contains("`permissions.defaultMode` is no mode, did you mean `acceptEdits`?"), "{mode}");
        assert!(mode.ends_with(": `acceptEdit`"), "{mode}");
        assert!(error(r#"{"permissions": {"defaultMode": 1}}"#).contains("must be the name of a mode"));
        assert!(error(r#"{"permissions": []}"#).contains("`permissions` must be an object, not `[]`"));
        assert!(error("[]").contains("must be an object"));
        let folders = error(r#"{"permissions": {"additionalDirectories": [{}]}}"#);
        assert!(folders.contains("`permissions.additionalDirectories[0]` must be a folder"), "{folders}");
    }

    #[test]
    fn an_invalid_rule_is_ignored_and_the_others_are_used() {
        let text = r#"{"permissions": {"allow": ["Read", "Bash(npm", "", "Bash(:*)", "Bash()", "Edit"]}}"#;
        let settings = Settings::read("s.json", text, None).expect("settings");
        let left: Vec<String> = settings.rules.iter().map(|(_, rule)| rule.to_string()).collect();
        assert_eq!(left, ["Read", "Edit"]);
        let keys: Vec<&str> = settings.broken.iter().map(|broken| broken.key.as_str()).collect();
        assert_eq!(keys, [1, 2, 3, 4].map(|at| format!("permissions.allow[{at}]")));
        assert_eq!(
            settings.broken[0].to_string(),
            "settings file `s.json`: `permissions.allow[1]` is not a rule and is dropped: a parenthesis is not closed in `Bash(npm`"
        );
    }

    #[test]
    fn invalid_json_is_reported_with_line_and_column() {
        let told = error("{\n  \"permissions\": {,}\n}");
        assert!(told.starts_with("settings file `s.json` is not valid JSON"), "{told}");
        assert!(told.ends_with("at line 2 column 19"), "{told}");
        assert!(error("").contains("not valid JSON"));
    }

    #[test]
    fn the_path_of_a_file_decides_its_scope() {
        for (file, scope) in [
            (".claude/settings.local.json", Scope::Local),
            (".claude/settings.json", Scope::Project),
            ("/home/dev/project/.claude/settings.json", Scope::Project),
            ("/home/dev/.claude/settings.json", Scope::User),
            ("~/.claude/settings.json", Scope::User),
            ("/Users/dev/.claude/settings.json", Scope::User),
            ("/etc/claude-code/managed-settings.json", Scope::Policy),
            ("/etc/claude-code/managed-settings.d/10.json", Scope::Policy),
            ("settings.json", Scope::Flag),
            ("strict.json", Scope::Flag),
            (".claude/strict.json", Scope::Flag),
        ] {
            assert_eq!(Settings::scope_of(file, None), scope, "{file}");
        }
        let home = Some("/data/me");
        assert_eq!(Settings::scope_of("/data/me/.claude/settings.json", home), Scope::User);
        assert_eq!(Settings::scope_of("/home/dev/.claude/settings.json", home), Scope::Project);
    }

    #[test]
    fn the_file_with_the_highest_precedence_sets_the_mode() {
        let file = |scope: Scope, mode: &str| {
            let text = format!(r#"{{"permissions": {{"defaultMode": "{mode}", "allow": ["Read"]}}}}"#);
            Settings::read("s.json", &text, Some(scope)).expect("settings")
        };
        let user = file(Scope::User, "plan");
        let local = file(Scope::Local, "acceptEdits");
        let policy = file(Scope::Policy, "dontAsk");
        let mode = |files: &[&Settings]| Context::from_settings(files.iter().copied()).mode;
        assert_eq!(mode(&[&user, &local]), Mode::AcceptEdits);
        assert_eq!(mode(&[&policy, &user, &local]), Mode::DontAsk);
        assert_eq!(mode(&[]), Mode::Default);
        assert_eq!(Context::from_settings([&policy, &user, &local]).all_rules().count(), 3);
        // A cloned project cannot turn questions off.
        let project = file(Scope::Project, "bypassPermissions");
        assert_eq!((project.mode, project.ignored_mode), (None, Some(Mode::BypassPermissions)));
        assert_eq!(mode(&[&user, &project]), Mode::Plan);
        assert_eq!(file(Scope::Project, "auto").mode, None);
        assert_eq!(file(Scope::User, "bypassPermissions").mode, Some(Mode::BypassPermissions));
    }

    #[test]
    fn the_allow_rules_of_an_untrusted_folder_are_removed() {
        let text = r#"{"permissions": {"allow": ["Bash"], "deny": ["Read(x)"], "ask": ["WebSearch"],
            "additionalDirectories": ["/srv"], "defaultMode": "plan"}}"#;
        let untrusted = |scope| {
            let mut settings = Settings::read("s.json", text, Some(scope)).expect("settings");
            let lost = settings.distrust();
            (settings.rules.len(), settings.directories.len(), settings.mode, lost)
        };
        assert_eq!(untrusted(Scope::Project), (2, 0, Some(Mode::Plan), 2));
        for scope in [Scope::Local, Scope::User, Scope::Flag] {
            assert_eq!(untrusted(scope), (3, 1, Some(Mode::Plan), 0));
        }
    }
}
