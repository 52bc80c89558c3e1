//! Slash commands, skills and agents: what was offered, what was used, and what each use began.

mod turn;
mod typed;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::{text, traces};
use crate::facts::ledger::{Agent, Call, CallIndex, End, Ledger, Mark, ResponseIndex, SessionIndex};
use typed::Evidence;

/// What can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// A slash command.
    Command,
    /// A skill. Each is a slash command too, and is not listed again as one.
    Skill,
    /// A type of subagent.
    Agent,
}

impl Sort {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Skill => "skill",
            Self::Agent => "agent",
        }
    }
}

/// One use of a command, a skill or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// What it is.
    pub sort: Sort,
    /// Its name, without a slash; of an agent perhaps not known.
    pub name: Option<String>,
    /// When and where.
    pub mark: Mark,
    /// The call that used it; a person typed it where there is none.
    pub call: Option<CallIndex>,
    /// Whether that call was refused or failed.
    pub failed: bool,
    /// Indices of the responses that it began.
    pub responses: Vec<ResponseIndex>,
}

/// Everything that was offered or used.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// The sessions that each was offered in.
    pub offers: BTreeMap<(Sort, String), BTreeSet<SessionIndex>>,
    /// Uses, in the order they stand.
    pub uses: Vec<Use>,
}

/// Records that say what there is: where in them, of what sort. The lists hold names, or objects with a `name`.
const LISTS: &[(&str, &str, Sort)] = &[
    ("system/init", "/slash_commands", Sort::Command),
    ("system/init", "/skills", Sort::Skill),
    ("system/init", "/agents", Sort::Agent),
    ("system/commands_changed", "/commands", Sort::Command),
    ("attachment/skill_listing", "/attachment/names", Sort::Skill),
    ("attachment/agent_listing_delta", "/attachment/addedTypes", Sort::Agent),
];

/// Tools through which the model uses one: the keys of the name in their input, and of what sort it is if it was never
/// offered. `SlashCommand` is of 1.0.123 to 2.0, `Task` became `Agent` in 2.1.
const TOOLS: &[(&str, &[&str], Sort)] = &[
    ("Skill", &["skill", "command"], Sort::Skill),
    ("SlashCommand", &["command"], Sort::Command),
    ("Agent", &["subagent_type"], Sort::Agent),
    ("Task", &["subagent_type"], Sort::Agent),
];

/// What was offered and what was used.
pub fn commands(ledger: &Ledger) -> Commands {
    let mut offers = Offers::default();
    let mut told = Vec::new();
    for (record, value) in traces(ledger) {
        offers.read(&record.kind, record.mark.session, &value);
        told.extend(Evidence::of(record, &value));
    }
    let mut uses = called(ledger, &offers);
    offers.learn(&uses);
    let typed = typed::typed(ledger, told, &offers, &uses);
    turn::begin(ledger, &typed, &mut uses, &offers);
    uses.sort_by_key(|one| one.mark.at);
    Commands { offers: offers.listed(), uses }
}

/// The uses that are calls. What a subagent answered that a call started was begun by it.
fn called(ledger: &Ledger, offers: &Offers) -> Vec<Use> {
    let starts = ledger.agents.iter().filter_map(|agent| Some((agent.call?, agent)));
    let started: HashMap<CallIndex, &Agent> = starts.collect();
    let mut begun: HashMap<CallIndex, Vec<ResponseIndex>> = HashMap::new();
    for (index, response) in ResponseIndex::each(&ledger.responses) {
        let agent = response.mark.agent.map(|agent| &ledger.agents[agent]);
        if let Some(call) = agent.and_then(|agent| agent.call) {
            begun.entry(call).or_default().push(index);
        }
    }
    let mut uses = Vec::new();
    for (at, call) in CallIndex::each(&ledger.calls) {
        let Some((sort, named)) = named(call) else { continue };
        let kind = started.get(&at).and_then(|agent| agent.kind.as_deref().map(str::to_owned));
        let (sort, name) = match sort {
            Sort::Agent => (sort, kind.or(named)),
            Sort::Command | Sort::Skill if named.is_none() => continue,
            Sort::Command | Sort::Skill => (offers.sort(named.as_deref(), sort), named),
        };
        let failed = matches!(call.end, End::Denied | End::Error);
        let responses = begun.remove(&at).unwrap_or_default();
        uses.push(Use { sort, name, mark: call.mark.clone(), call: Some(at), failed, responses });
    }
    uses
}

/// What a call uses, as its input says.
fn named(call: &Call) -> Option<(Sort, Option<String>)> {
    let (_, keys, sort) = TOOLS.iter().find(|(tool, ..)| *tool == &*call.tool)?;
    let input: Value =
        call.input_text.as_deref().and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
    let named = keys.iter().find_map(|key| text(&input[*key])).and_then(name);
    Some((*sort, named.map(str::to_owned)))
}

/// A name as it is typed or told: with or without a slash, and with what follows it.
///
/// A name is made of letters, digits, `-`, `_` and `:`. A path is none: a slash follows, or a dot.
fn name(said: &str) -> Option<&str> {
    let said = said.trim_start();
    let name = said.strip_prefix('/').unwrap_or(said).split(char::is_whitespace).next()?;
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// What was offered.
#[derive(Default)]
struct Offers {
    all: BTreeMap<(Sort, String), BTreeSet<SessionIndex>>,
    /// Names that the model called as skills: a saved session may list none.
    skills: BTreeSet<String>,
    /// Sessions whose commands are all known.
    told: BTreeSet<Option<SessionIndex>>,
}

impl Offers {
    fn read(&mut self, kind: &str, session: Option<SessionIndex>, value: &Value) {
        for (_, pointer, sort) in LISTS.iter().filter(|(list, ..)| *list == kind) {
            let Some(names) = value.pointer(pointer).and_then(Value::as_array) else { continue };
            if *sort == Sort::Command {
                self.told.insert(session);
            }
            // A listing that was shortened says so in words, and words are no name.
            let known = |one: &&str| name(one).is_some_and(|plain| plain.len() == one.len());
            for name in names.iter().filter_map(|one| text(one).or(text(&one["name"]))).filter(known) {
                self.all.entry((*sort, name.to_owned())).or_default().extend(session);
            }
        }
    }

    fn has(&self, sort: Sort, name: &str) -> bool {
        self.all.contains_key(&(sort, name.to_owned()))
    }

    /// Whether a text that begins with this name is a command: it is offered, or nobody knows what is.
    fn allows(&self, session: Option<SessionIndex>, name: &str) -> bool {
        !self.told.contains(&session) || self.has(Sort::Command, name) || self.has(Sort::Skill, name)
    }

    /// Takes in which names turned out to be skills.
    fn learn(&mut self, uses: &[Use]) {
        let skills = uses.iter().filter(|one| one.sort == Sort::Skill && !one.failed);
        self.skills.extend(skills.filter_map(|one| one.name.clone()));
    }

    /// What a name is: as it was offered, else as the model called it, else as it was used.
    fn sort(&self, name: Option<&str>, used: Sort) -> Sort {
        let is = |sort: &Sort| name.is_some_and(|name| self.has(*sort, name));
        let called = || name.is_some_and(|name| self.skills.contains(name)).then_some(Sort::Skill);
        [Sort::Skill, Sort::Command].into_iter().find(is).or_else(called).unwrap_or(used)
    }

    /// Each name once: a skill is not listed again as a command.
    fn listed(self) -> BTreeMap<(Sort, String), BTreeSet<SessionIndex>> {
        let skills: BTreeSet<String> =
            self.all.keys().filter(|(sort, _)| *sort == Sort::Skill).map(|(_, name)| name.clone()).collect();
        let mut all = self.all;
        all.retain(|(sort, name), _| *sort != Sort::Command || !skills.contains(name));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_command() {
        assert_eq!(name("/compact now, please"), Some("compact"));
        assert_eq!(name("plugin:review"), Some("plugin:review"));
        for none in ["/tmp/x is full", "/", "/ x", "//x", "/etc.", "", "/a,b"] {
            assert_eq!(name(none), None, "{none}");
        }
    }
}
