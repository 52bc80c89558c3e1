//! Allow rules that would have let refused calls through: few, and never broader than asked.

use serde_json::json;

use super::{
    Call,
    context::{Context, exact, exact_command},
    danger::{danger, may_destroy},
    flow::{Decision, check},
    path::{below, resolve},
    rule::{Content, Rule},
    scope::{Behaviour, Mode, Scope},
    shell::{Part, Word, program, split, unversioned},
    tool::{self, Family, Own},
};

/// How broad a suggested rule may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Breadth {
    /// The very command, file, host or name.
    Exact,
    /// Commands that begin alike (`npm test:*`), files of the same folder.
    Prefix,
    /// Any use of the tool.
    Tool,
}

/// Rules for some calls, and the calls that get none.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Suggestions {
    /// The rules, in the order in which calls first needed them.
    pub rules: Vec<Suggested>,
    /// The calls without a suggestion.
    pub refused: Vec<Refused>,
}

/// A rule with the calls that it helps through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggested {
    /// The rule.
    pub rule: Rule,
    /// The calls that need it, as indices into what was given. A compound command may need several rules.
    pub covers: Vec<usize>,
    /// What to think of before the rule is taken.
    pub warning: Option<&'static str>,
}

/// A call that gets no suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its index into what was given.
    pub call: usize,
    /// Why.
    pub reason: String,
}

const ANY_COMMAND: &str = "allows every command, also those that destroy";
const ANY_EDIT: &str = "allows edits of every file, also outside the project folder";
const NO_COMMAND: &str = "it has no command";
const NO_RULE: &str = "no rule can say exactly this";
const WILD: &str = "it has a `*`, which in a rule of newer versions stands for anything";
const NOT_ENOUGH: &str = "no rule of this breadth lets it through";
const PERSON: &str = "it is a question to a person, which no rule answers";

/// Suggests allow rules for refused calls.
///
/// * No rule is broader than asked; a part of a command that a prefix would make dangerous gets its exact text.
/// * A dangerous call gets a rule for its whole exact text, with the danger as warning.
/// * A compound command gets a rule for each of its parts; one that cannot be split gets none.
/// * What is suggested was tried: with the rules, in `default` mode, each covered call is let through.
pub fn suggest(denied: &[Call<'_>], breadth: Breadth, project: Option<&str>) -> Suggestions {
    let mut suggestions = Suggestions::default();
    for (at, call) in denied.iter().enumerate() {
        match wanted(call, breadth, project) {
            Ok(rules) => rules.into_iter().for_each(|(rule, warning)| suggestions.take(rule, warning, at)),
            Err(reason) => suggestions.refused.push(Refused { call: at, reason }),
        }
    }
    suggestions.without_needless().tried(denied)
}

/// A rule that a call needs, with what to think of before it is taken.
type Wanted = (Rule, Option<&'static str>);

impl Suggestions {
    fn take(&mut self, rule: Rule, warning: Option<&'static str>, call: usize) {
        match self.rules.iter_mut().find(|known| known.rule == rule) {
            Some(known) if known.covers.last() == Some(&call) => {}
            Some(known) => known.covers.push(call),
            None => self.rules.push(Suggested { rule, covers: vec![call], warning }),
        }
    }

    /// Drops rules that say what a broader one says anyway. Those with a warning stay: they are to be seen.
    fn without_needless(mut self) -> Self {
        let mut at = 0;
        while at < self.rules.len() {
            let one = &self.rules[at];
            let broader = |other: &Suggested| other.rule != one.rule && includes(&other.rule, &one.rule);
            match self.rules.iter().position(broader).filter(|_| one.warning.is_none()) {
                Some(other) => {
                    let covers = std::mem::take(&mut self.rules[at].covers);
                    let all = &mut self.rules[other].covers;
                    all.extend(covers);
                    all.sort_unstable();
                    all.dedup();
                    self.rules.remove(at);
                }
                None => at += 1,
            }
        }
        self
    }

    /// Replays the calls, and takes back what was promised and does not hold.
    fn tried(mut self, denied: &[Call<'_>]) -> Self {
        let mut context = Context::new(Mode::Default);
        for suggested in &self.rules {
            context.add(Behaviour::Allow, Scope::Session, suggested.rule.clone());
        }
        for (at, call) in denied.iter().enumerate() {
            let promised = self.rules.iter().any(|suggested| suggested.covers.contains(&at));
            if promised && check(&context, call).decision != Decision::Allow {
                self.rules.iter_mut().for_each(|suggested| suggested.covers.retain(|call| *call != at));
                self.refused.push(Refused { call: at, reason: NOT_ENOUGH.to_owned() });
            }
        }
        self.rules.retain(|suggested| !suggested.covers.is_empty());
        self.refused.sort_by_key(|refused| refused.call);
        self
    }
}

/// Whether the first rule is about everything that the second is about.
fn includes(broad: &Rule, narrow: &Rule) -> bool {
    if broad.tool != narrow.tool {
        return false;
    }
    match (&broad.content, &narrow.content) {
        (None, _) => true,
        (Some(Content::Prefix(_)), Some(Content::Prefix(words))) => broad.says(words),
        (Some(Content::Prefix(_)), Some(Content::Command(text))) => {
            // A redirection that writes needs more than a prefix.
            broad.says(text)
                && split(text).is_ok_and(|parts| parts.len() == 1 && parts[0].written().count() == 0)
        }
        _ => false,
    }
}

fn wanted(call: &Call<'_>, breadth: Breadth, project: Option<&str>) -> Result<Vec<Wanted>, String> {
    let tool = tool::known(call.tool);
    if tool.own == Own::Interacts {
        return Err(PERSON.to_owned());
    }
    if tool.family == Family::Command {
        return wanted_command(call, breadth, project);
    }
    let whole = || Rule::of(call.tool, None).ok();
    let narrow = || exact(call);
    let (rule, warning) = match (danger(call, project), breadth, tool.family) {
        (Some(reason), ..) => (narrow(), Some(reason)),
        (None, Breadth::Tool, Family::Edit(_)) => (whole(), Some(ANY_EDIT)),
        (None, Breadth::Tool, _) => (whole(), None),
        (None, Breadth::Prefix, Family::Edit(_) | Family::Read(_)) => {
            (folder_rule(call, project).or_else(narrow), None)
        }
        (None, Breadth::Prefix | Breadth::Exact, _) => (narrow(), None),
    };
    rule.map(|rule| vec![(rule, warning)]).ok_or_else(|| NO_RULE.to_owned())
}

fn wanted_command(call: &Call<'_>, breadth: Breadth, project: Option<&str>) -> Result<Vec<Wanted>, String> {
    let command = call.text("command").ok_or(NO_COMMAND)?;
    let parts = split(command).map_err(|why| why.to_string())?;
    if parts.is_empty() {
        return Err(NO_COMMAND.to_owned());
    }
    let none = || NO_RULE.to_owned();
    // A rule with a `*` in it is read as broader by newer versions.
    let exactly = |text: &str| match text.contains('*') {
        true => Err(WILD.to_owned()),
        false => exact_command(text).ok_or_else(none),
    };
    if let Some(reason) = danger(call, project) {
        return Ok(vec![(exactly(command)?, Some(reason))]);
    }
    if breadth == Breadth::Tool {
        return Ok(vec![(Rule::of(call.tool, None).map_err(|_| none())?, Some(ANY_COMMAND))]);
    }
    let rule = |part: &Part| {
        let prefix = if breadth == Breadth::Prefix { prefix_rule(part) } else { None };
        let rule = prefix.map_or_else(|| exactly(&part.text), Ok)?;
        Ok((rule, None))
    };
    parts.iter().map(rule).collect()
}

/// Programs whose first words are a command of theirs, and how many words that makes.
const SUBCOMMANDS: &[(&[&str], usize)] = &[
    (&["npm", "pnpm", "yarn", "bun"], 2),
    (&["git", "cargo", "go", "make", "just", "rustup", "dotnet", "gradle", "mvn", "swift"], 2),
    (&["docker", "podman", "kubectl", "helm", "terraform", "tofu", "systemctl", "gh"], 2),
    (&["pip", "pip3", "uv", "poetry", "conda", "bundle", "gem", "composer", "brew", "apt", "apt-get"], 2),
    (&["aws", "gcloud", "az"], 3),
];

/// Commands of such programs whose next word still says what runs: `npm run test`.
const DEEPER: &[(&str, &str)] =
    &[("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"), ("gh", "pr")];

/// Programs, alone or with their command, that run whatever the rest says: a prefix would be a rule for anything.
const RUNNERS: &[(&str, &str)] = &[
    ("alias", ""),
    ("ash", ""),
    ("awk", ""),
    ("bash", ""),
    ("bunx", ""),
    ("command", ""),
    ("dash", ""),
    ("deno", ""),
    ("declare", ""),
    ("doas", ""),
    ("ed", ""),
    ("emacs", ""),
    ("env", ""),
    ("eval", ""),
    ("exec", ""),
    ("export", ""),
    ("find", ""),
    ("fish", ""),
    ("gawk", ""),
    ("ksh", ""),
    ("lua", ""),
    ("make", "-f"),
    ("mysql", ""),
    ("nice", ""),
    ("node", ""),
    ("nohup", ""),
    ("npx", ""),
    ("osascript", ""),
    ("parallel", ""),
    ("perl", ""),
    ("php", ""),
    ("pnpx", ""),
    ("psql", ""),
    ("python", ""),
    ("ruby", ""),
    ("scp", ""),
    ("setsid", ""),
    ("sh", ""),
    ("sqlite3", ""),
    ("ssh", ""),
    ("stdbuf", ""),
    ("sudo", ""),
    ("time", ""),
    ("trap", ""),
    ("timeout", ""),
    ("uvx", ""),
    ("vi", ""),
    ("vim", ""),
    ("watch", ""),
    ("xargs", ""),
    ("zsh", ""),
    ("npm", "exec"),
    ("npm", "x"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("poetry", "run"),
    ("bundle", "exec"),
    ("go", "run"),
    ("docker", "run"),
    ("docker", "exec"),
    ("podman", "run"),
    ("podman", "exec"),
    ("kubectl", "exec"),
    ("git", "config"),
    ("git", "submodule"),
    ("gh", "api"),
];

/// A rule for commands that begin like the part, if such a rule would let nothing dangerous through.
fn prefix_rule(part: &Part) -> Option<Rule> {
    if part.written().next().is_some() {
        return None;
    }
    let plain = |word: &Word| {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "._/:-".contains(letter);
        word.raw == word.text
            && word.text.starts_with(|first: char| first.is_ascii_alphanumeric() || "./".contains(first))
            && word.text.chars().all(letter)
    };
    let words: Vec<&str> =
        part.words.iter().take_while(|word| plain(word)).map(|word| word.text.as_str()).collect();
    let (first, second) = (*words.first()?, words.get(1).copied().unwrap_or_default());
    let name = program(first);
    let listed = SUBCOMMANDS.iter().find(|(names, _)| names.contains(&name)).map_or(1, |(_, length)| *length);
    let length = listed + usize::from(DEEPER.contains(&(name, second)));
    let words = words.get(..length)?;
    let runs = RUNNERS.iter().any(|(runner, command)| {
        [name, unversioned(name)].contains(runner) && (command.is_empty() || *command == second)
    });
    if runs || may_destroy(name, &words[1..]) {
        return None;
    }
    let rule = Rule::of("Bash", Some(&format!("{}:*", words.join(" ")))).ok()?;
    rule.says(&part.text).then_some(rule)
}

/// A rule for the files of a call's folder, if that is within the project, is not all of it, and has no hidden name
/// in it (`.git`, `.claude`).
fn folder_rule(call: &Call<'_>, project: Option<&str>) -> Option<Rule> {
    let family = tool::known(call.tool).family;
    let (tool, file) = match family {
        Family::Edit(_) => ("Edit", true),
        Family::Read(field) => ("Read", field != "path"),
        Family::Command | Family::Web | Family::Agent | Family::Skill | Family::Other => return None,
    };
    let path = resolve(&tool::path_of(call)?, call.cwd)?;
    let (folder, _) = path.rsplit_once('/')?;
    let inside = below(folder, &resolve(project.or(call.cwd)?, None)?)?;
    let hidden = inside.split('/').any(|name| name.starts_with('.'));
    let fixed = !super::path::is_glob(folder);
    (file && fixed && !inside.is_empty() && !hidden)
        .then(|| Rule::of(tool, Some(&format!("/{folder}/**"))).ok())?
}

/// The rules as a piece of `settings.json`.
pub fn snippet(rules: &[Suggested]) -> String {
    let allow: Vec<String> = rules.iter().map(|suggested| suggested.rule.to_string()).collect();
    let settings = json!({ "permissions": { "allow": allow } });
    serde_json::to_string_pretty(&settings).unwrap_or_default()
}

/// The rules as an argument for a shell: `--allowed-tools 'Bash(npm test)' Read`.
pub fn allowed_tools(rules: &[Suggested]) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut text = "--allowed-tools".to_owned();
    for suggested in rules {
        let rule = suggested.rule.to_string();
        let quoted =
            if rule.chars().all(plain) { rule } else { format!("'{}'", rule.replace('\'', r"'\''")) };
        text.push(' ');
        text.push_str(&quoted);
    }
    text
}

#[cfg(test)]
mod tests;
