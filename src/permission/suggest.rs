//! Allow rules that would have let refused calls through: few, and never broader than asked.

use serde_json::json;

mod list;

use list::{DEEPER, RUNNERS, SUBCOMMANDS, is_from_network};

use super::{
    Call,
    command::{Judge, Need, writes_protected},
    context::{Context, exact, exact_command, literal},
    danger::{danger, may_destroy},
    flow::{Decision, check},
    path::{below, resolve},
    pattern::Ground,
    protect::is_protected,
    rule::{Content, Rule},
    scope::{Behaviour, Mode, Scope},
    shell::{Part, Word, pieces, program, split, unversioned},
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
const ANY_READ: &str = "allows reading every file, also keys and settings outside the project folder";
const ANY_ADDRESS: &str = "allows every address, so that anything can be sent anywhere";
const NETWORK: &str = "runs code from the network";
const NO_RULE: &str = "no rule can say exactly this";
const NO_NEED: &str = "it needs no rule: something else refused it";
const PROTECTED: &str = "it writes a protected file, which no rule allows";
const WILD: &str = "it has a `*`, which in a rule stands for anything";
const NOT_ENOUGH: &str = "no rule of this breadth lets it through";
const PERSON: &str = "it is a question to a person, which no rule answers";

/// Suggests allow rules for refused calls.
///
/// * No rule is broader than asked; a part of a command that a prefix would make dangerous gets its exact text.
/// * A dangerous call gets a rule for its whole exact text, with the danger as warning. So does what runs code from the
///   network, in the breadth that was asked for.
/// * A compound command gets a rule for each part that needs one, and for each file that it reads or writes elsewhere.
/// * What no rule can let through gets none, with the reason.
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
    let edits = matches!(tool.family, Family::Edit(_));
    if edits && tool::path_of(call).is_some_and(|path| is_protected(&path)) {
        return Err(PROTECTED.to_owned());
    }
    let whole = || Rule::of(call.tool, None).ok();
    let narrow = || exact(call);
    let (rule, warning) = match (danger(call, project), breadth, tool.family) {
        (Some(reason), ..) => (narrow(), Some(reason)),
        (None, Breadth::Tool, Family::Edit(_)) => (whole(), Some(ANY_EDIT)),
        (None, Breadth::Tool, Family::Read(_)) => (whole(), Some(ANY_READ)),
        (None, Breadth::Tool, Family::Web) => (whole(), Some(ANY_ADDRESS)),
        (None, Breadth::Tool, _) => (whole(), None),
        (None, Breadth::Prefix, Family::Edit(_) | Family::Read(_)) => {
            (folder_rule(call, project).or_else(narrow), None)
        }
        (None, Breadth::Prefix | Breadth::Exact, _) => (narrow(), None),
    };
    rule.map(|rule| vec![(rule, warning)]).ok_or_else(|| NO_RULE.to_owned())
}

fn wanted_command(call: &Call<'_>, breadth: Breadth, project: Option<&str>) -> Result<Vec<Wanted>, String> {
    let command = call.text("command").unwrap_or_default();
    let (pieces, ground) = (pieces(command), Ground::new(call.cwd, project));
    let none = || NO_RULE.to_owned();
    // A rule with a `*` in it means more than the command.
    let exactly = |text: &str| match text.contains('*') {
        true => Err(WILD.to_owned()),
        false => exact_command(text).ok_or_else(none),
    };
    if writes_protected(&ground, &pieces) {
        return Err(PROTECTED.to_owned());
    }
    let nothing = Context::new(Mode::Default);
    let judge = Judge { context: &nothing, ground: &ground, command, pieces: &pieces };
    let needs = judge.needs()?;
    let danger = danger(call, project);
    if breadth == Breadth::Tool && danger.is_none() && !needs.is_empty() {
        return Ok(vec![(Rule::of(call.tool, None).map_err(|_| none())?, Some(ANY_COMMAND))]);
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for need in &needs {
        let path = |tool: &str, path: &str| Rule::of(tool, Some(&literal(path))).map_err(|_| none());
        wanted.push(match need {
            Need::Read(file) => (path("Read", file)?, None),
            Need::Edit(file) => (path("Edit", file)?, danger_of_writing(file, call, project)),
            // Parts that are harmless alone may be dangerous together.
            Need::Command(_) if danger.is_some() => (exactly(command)?, danger),
            Need::Command(part) => {
                let prefix = if breadth == Breadth::Prefix { prefix_rule(part) } else { None };
                let rule = prefix.map_or_else(|| exactly(&part.spelt()), Ok)?;
                (rule, is_from_network(part.core()).then_some(NETWORK))
            }
        });
    }
    if danger.is_some() && wanted.iter().all(|(_, warning)| warning.is_none()) {
        wanted.iter_mut().for_each(|(_, warning)| *warning = danger);
    }
    if wanted.is_empty() { Err(NO_NEED.to_owned()) } else { Ok(wanted) }
}

/// Why writing this file alone is dangerous, if it is.
fn danger_of_writing(file: &str, call: &Call<'_>, project: Option<&str>) -> Option<&'static str> {
    let input = json!({ "file_path": file });
    danger(&Call { tool: "Write", input: &input, cwd: call.cwd }, project)
}

/// A rule for commands that begin like the part, if such a rule would let nothing dangerous through.
fn prefix_rule(part: &Part) -> Option<Rule> {
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
    rule.says(&part.bare()).then_some(rule)
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
    (file && !inside.is_empty() && !hidden)
        .then(|| Rule::of(tool, Some(&format!("{}/**", literal(folder)))).ok())?
}

/// The rules as a piece of `settings.json`.
pub fn snippet(rules: &[Suggested]) -> String {
    let allow: Vec<String> = rules.iter().map(|suggested| suggested.rule.to_string()).collect();
    let settings = json!({ "permissions": { "allow": allow } });
    serde_json::to_string_pretty(&settings).unwrap_or_default()
}

/// Whether `--allowed-tools` honours the rule: one with escaped parentheses works in settings only (measured on 2.1.326).
pub fn fits_command_line(rule: &Rule) -> bool {
    let text = rule.to_string();
    !text.contains("\\(") && !text.contains("\\)")
}

/// The rules as an argument for a shell, without those that work in settings only: `--allowed-tools 'Bash(npm test)' Read`.
pub fn allowed_tools(rules: &[Suggested]) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut text = "--allowed-tools".to_owned();
    for suggested in rules.iter().filter(|suggested| fits_command_line(&suggested.rule)) {
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
