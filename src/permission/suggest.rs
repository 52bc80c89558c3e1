//! Suggests allow rules for denied calls: as few as possible, and never broader than requested.

use serde_json::json;

mod list;

use list::{NESTED, RUNNERS, SUBCOMMANDS, is_from_network};

use super::{
    Call,
    command::{CommandCheck, Need, writes_protected},
    context::{Context, exact_command, exact_rule, literal_pattern},
    danger::{danger, may_destroy},
    flow::{Decision, check},
    path::{below, resolve},
    pattern::Folders,
    protect::is_protected,
    rule::{Content, Rule},
    scope::{Behaviour, Mode, Scope},
    shell::{Part, Word, parse, program, split, unversioned},
    tool::{self, Family, ToolPolicy},
};

/// How broad a suggested rule may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Breadth {
    /// Exactly this command, file, host or name
    Exact,
    /// Commands with the same prefix, files in the same folder
    Prefix,
    /// Any use of the tool
    Tool,
}

/// Suggested rules, and the calls without a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Suggestions {
    /// The rules, in the order in which the calls need them.
    pub rules: Vec<Suggested>,
    /// The calls without a suggestion.
    pub refused: Vec<Refused>,
}

/// A suggested rule with the calls that need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggested {
    /// The allow rule.
    pub rule: Rule,
    /// Indices of the calls that need it. A compound command may need several rules.
    pub covers: Vec<usize>,
    /// The risk of the rule, if there is one.
    pub warning: Option<&'static str>,
}

/// A call without a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Index of the call.
    pub call: usize,
    /// Why there is no suggestion.
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

/// Suggests allow rules for denied calls.
///
/// * No rule is broader than requested. If a prefix rule would allow dangerous commands, the part gets an
///   exact rule.
/// * A dangerous call gets a rule for its exact text, with a warning. A command that runs code from the
///   network gets a rule of the requested breadth, with a warning.
/// * A compound command gets a rule for each part that needs one, and for each file that it reads or writes
///   outside the working folders.
/// * A call that no rule can allow gets a reason instead.
/// * The suggestions are verified: with all rules, in `default` mode, [`check`] allows each covered call.
pub fn suggest(denied: &[Call<'_>], breadth: Breadth, project: Option<&str>) -> Suggestions {
    let mut suggestions = Suggestions::default();
    for (at, call) in denied.iter().enumerate() {
        match rules_for(call, breadth, project) {
            Ok(rules) => rules.into_iter().for_each(|(rule, warning)| suggestions.add(rule, warning, at)),
            Err(reason) => suggestions.refused.push(Refused { call: at, reason }),
        }
    }
    suggestions.without_redundant().verified(denied)
}

/// A rule that a call needs, and its risk if there is one.
type RuleAndWarning = (Rule, Option<&'static str>);

impl Suggestions {
    fn add(&mut self, rule: Rule, warning: Option<&'static str>, call: usize) {
        match self.rules.iter_mut().find(|known| known.rule == rule) {
            Some(known) if known.covers.last() == Some(&call) => {}
            Some(known) => known.covers.push(call),
            None => self.rules.push(Suggested { rule, covers: vec![call], warning }),
        }
    }

    /// Removes rules that a broader one includes, except those with a warning, which must stay visible.
    fn without_redundant(mut self) -> Self {
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

    /// Checks all calls against the rules, and withdraws suggestions for calls that are still not allowed.
    fn verified(mut self, denied: &[Call<'_>]) -> Self {
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

/// Returns whether the first rule matches everything that the second one matches.
fn includes(broad: &Rule, narrow: &Rule) -> bool {
    if broad.tool != narrow.tool {
        return false;
    }
    match (&broad.content, &narrow.content) {
        (None, _) => true,
        (Some(Content::Prefix(_)), Some(Content::Prefix(words))) => broad.matches_command(words),
        (Some(Content::Prefix(_)), Some(Content::Command(text))) => {
            // A redirection that writes needs a rule for the file too.
            broad.matches_command(text)
                && split(text).is_ok_and(|parts| parts.len() == 1 && parts[0].written().count() == 0)
        }
        _ => false,
    }
}

fn rules_for(
    call: &Call<'_>,
    breadth: Breadth,
    project: Option<&str>,
) -> Result<Vec<RuleAndWarning>, String> {
    let tool = tool::lookup(call.tool);
    if tool.policy == ToolPolicy::Interactive {
        return Err(PERSON.to_owned());
    }
    if tool.family == Family::Command {
        return rules_for_command(call, breadth, project);
    }
    let edits = matches!(tool.family, Family::Edit(_));
    if edits && tool::path_of(call).is_some_and(|path| is_protected(&path)) {
        return Err(PROTECTED.to_owned());
    }
    let whole = || Rule::new(call.tool, None).ok();
    let narrow = || exact_rule(call);
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

fn rules_for_command(
    call: &Call<'_>,
    breadth: Breadth,
    project: Option<&str>,
) -> Result<Vec<RuleAndWarning>, String> {
    let command = call.text("command").unwrap_or_default();
    let (parsed, folders) = (parse(command), Folders::new(call.cwd, project));
    let none = || NO_RULE.to_owned();
    // A rule with a `*` matches more than the command.
    let exactly = |text: &str| match text.contains('*') {
        true => Err(WILD.to_owned()),
        false => exact_command(text).ok_or_else(none),
    };
    if writes_protected(&folders, &parsed) {
        return Err(PROTECTED.to_owned());
    }
    let nothing = Context::new(Mode::Default);
    let command_check = CommandCheck { context: &nothing, folders: &folders, command, parsed: &parsed };
    let needs = command_check.needs()?;
    let danger = danger(call, project);
    if breadth == Breadth::Tool && danger.is_none() && !needs.is_empty() {
        return Ok(vec![(Rule::new(call.tool, None).map_err(|_| none())?, Some(ANY_COMMAND))]);
    }
    let mut wanted: Vec<RuleAndWarning> = Vec::new();
    for need in &needs {
        let path = |tool: &str, path: &str| Rule::new(tool, Some(&literal_pattern(path))).map_err(|_| none());
        wanted.push(match need {
            Need::Read(file) => (path("Read", file)?, None),
            Need::Edit(file) => (path("Edit", file)?, danger_of_writing(file, call, project)),
            // Parts that are harmless alone can be dangerous together.
            Need::Command(_) if danger.is_some() => (exactly(command)?, danger),
            Need::Command(part) => {
                let prefix = if breadth == Breadth::Prefix { prefix_rule(part) } else { None };
                let rule = prefix.map_or_else(|| exactly(&part.rule_text()), Ok)?;
                (rule, is_from_network(part.core()).then_some(NETWORK))
            }
        });
    }
    if danger.is_some() && wanted.iter().all(|(_, warning)| warning.is_none()) {
        wanted.iter_mut().for_each(|(_, warning)| *warning = danger);
    }
    if wanted.is_empty() { Err(NO_NEED.to_owned()) } else { Ok(wanted) }
}

/// Returns why writing this file is dangerous, if it is.
fn danger_of_writing(file: &str, call: &Call<'_>, project: Option<&str>) -> Option<&'static str> {
    let input = json!({ "file_path": file });
    danger(&Call { tool: "Write", input: &input, cwd: call.cwd }, project)
}

/// Returns a rule for commands that begin like the part; `None` if it would allow dangerous commands.
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
    let length = listed + usize::from(NESTED.contains(&(name, second)));
    let words = words.get(..length)?;
    let runs = RUNNERS.iter().any(|(runner, command)| {
        [name, unversioned(name)].contains(runner) && (command.is_empty() || *command == second)
    });
    if runs || may_destroy(name, &words[1..]) {
        return None;
    }
    let rule = Rule::new("Bash", Some(&format!("{}:*", words.join(" ")))).ok()?;
    rule.matches_command(&part.bare()).then_some(rule)
}

/// Returns a rule for all files in the folder of a call's file. `None` unless the folder is strictly inside
/// the project and not hidden (`.git`, `.claude`).
fn folder_rule(call: &Call<'_>, project: Option<&str>) -> Option<Rule> {
    let family = tool::lookup(call.tool).family;
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
        .then(|| Rule::new(tool, Some(&format!("{}/**", literal_pattern(folder)))).ok())?
}

/// Returns whether a rule works in `--allowed-tools`. Rules with escaped parentheses work only in settings
/// (measured on 2.1.326).
pub fn fits_command_line(rule: &Rule) -> bool {
    let text = rule.to_string();
    !text.contains("\\(") && !text.contains("\\)")
}

/// Formats rules as a command-line option, quoted for a shell: `--allowed-tools 'Bash(npm test)' Read`. Rules
/// that work only in settings are left out.
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
