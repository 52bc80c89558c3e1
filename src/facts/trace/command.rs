//! Slash commands, skills and agents: what was offered, what was used, and what each use began.

mod turn;
mod typed;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use crate::event::trace::CommandKind;
use crate::{
    event::trace::{self, Trace},
    facts::{
        Name,
        ledger::{Agent, CallIndex, Context, End, Ledger, ResponseIndex, SessionIndex},
    },
};
use typed::Evidence;

/// One use of a command, a skill or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// What it is.
    pub kind: CommandKind,
    /// Its name, without a slash; of an agent perhaps not known.
    pub name: Option<Name>,
    /// When and where.
    pub context: Context,
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
    pub offers: BTreeMap<(CommandKind, Name), BTreeSet<SessionIndex>>,
    /// Uses, in the order they stand.
    pub uses: Vec<Use>,
}

/// What was offered and what was used.
pub fn commands(ledger: &Ledger) -> Commands {
    let mut offers = Offers::default();
    let mut told = Vec::new();
    for row in &ledger.traces {
        match &row.trace {
            Trace::Offer(offer) => offers.read(row.context.session, offer),
            Trace::Typed(typed) => told.extend(Evidence::of(row, typed)),
            _ => {}
        }
    }
    let mut uses = called(ledger, &offers);
    offers.learn(&uses);
    let typed = typed::typed(ledger, told, &offers, &uses);
    turn::begin(ledger, &typed, &mut uses, &offers);
    uses.sort_by_key(|one| one.context.location);
    Commands { offers: offers.listed(), uses }
}

/// The uses that are calls. What a subagent answered that a call started was begun by it.
fn called(ledger: &Ledger, offers: &Offers) -> Vec<Use> {
    let starts = ledger.agents.iter().filter_map(|agent| Some((agent.call?, agent)));
    let started: HashMap<CallIndex, &Agent> = starts.collect();
    let mut begun: HashMap<CallIndex, Vec<ResponseIndex>> = HashMap::new();
    for (index, response) in ResponseIndex::each(&ledger.responses) {
        let agent = response.context.agent.map(|agent| &ledger.agents[agent]);
        if let Some(call) = agent.and_then(|agent| agent.call) {
            begun.entry(call).or_default().push(index);
        }
    }
    let mut uses = Vec::new();
    for (at, call) in CallIndex::each(&ledger.calls) {
        let Some((kind, _)) = trace::used(&call.tool, None) else { continue };
        let named = call.used.clone();
        let agent = started.get(&at).and_then(|agent| agent.kind.clone());
        let (kind, name) = match kind {
            CommandKind::Agent => (kind, agent.or(named)),
            CommandKind::Command | CommandKind::Skill if named.is_none() => continue,
            CommandKind::Command | CommandKind::Skill => (offers.kind_of(named.as_ref(), kind), named),
        };
        let failed = matches!(call.end, End::Denied | End::Error);
        let responses = begun.remove(&at).unwrap_or_default();
        uses.push(Use { kind, name, context: call.context.clone(), call: Some(at), failed, responses });
    }
    uses
}

/// What was offered.
#[derive(Default)]
struct Offers {
    all: BTreeMap<(CommandKind, Name), BTreeSet<SessionIndex>>,
    /// Names that the model called as skills: a saved session may list none.
    skills: BTreeSet<Name>,
    /// Sessions whose commands are all known.
    told: BTreeSet<Option<SessionIndex>>,
}

impl Offers {
    fn read(&mut self, session: Option<SessionIndex>, offer: &trace::Offer<Name>) {
        if offer.kind == CommandKind::Command {
            self.told.insert(session);
        }
        for name in &offer.names {
            self.all.entry((offer.kind, Name::clone(name))).or_default().extend(session);
        }
    }

    fn has(&self, kind: CommandKind, name: &Name) -> bool {
        self.all.contains_key(&(kind, Name::clone(name)))
    }

    /// Whether a text that begins with this name is a command: it is offered, or nobody knows what is.
    fn allows(&self, session: Option<SessionIndex>, name: &Name) -> bool {
        !self.told.contains(&session)
            || self.has(CommandKind::Command, name)
            || self.has(CommandKind::Skill, name)
    }

    /// Takes in which names turned out to be skills.
    fn learn(&mut self, uses: &[Use]) {
        let skills = uses.iter().filter(|one| one.kind == CommandKind::Skill && !one.failed);
        self.skills.extend(skills.filter_map(|one| one.name.clone()));
    }

    /// What a name is: as it was offered, else as the model called it, else as it was used.
    fn kind_of(&self, name: Option<&Name>, used: CommandKind) -> CommandKind {
        let is = |kind: &CommandKind| name.is_some_and(|name| self.has(*kind, name));
        let called = || name.is_some_and(|name| self.skills.contains(name)).then_some(CommandKind::Skill);
        [CommandKind::Skill, CommandKind::Command].into_iter().find(is).or_else(called).unwrap_or(used)
    }

    /// Each name once: a skill is not listed again as a command.
    fn listed(self) -> BTreeMap<(CommandKind, Name), BTreeSet<SessionIndex>> {
        let skills: BTreeSet<Name> = self
            .all
            .keys()
            .filter(|(kind, _)| *kind == CommandKind::Skill)
            .map(|(_, name)| name.clone())
            .collect();
        let mut all = self.all;
        all.retain(|(kind, name), _| *kind != CommandKind::Command || !skills.contains(name));
        all
    }
}
