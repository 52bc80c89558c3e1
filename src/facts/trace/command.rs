//! Slash commands, skills and agents: which were offered, which were used, and which responses each use led
//! to.

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
    /// Command, skill or agent.
    pub kind: CommandKind,
    /// Its name without a slash. Unknown for some agents.
    pub name: Option<Name>,
    /// Session, agent, time and location.
    pub context: Context,
    /// The call that used it; `None` if a person typed it.
    pub call: Option<CallIndex>,
    /// Whether that call was denied or failed.
    pub failed: bool,
    /// The responses that it led to.
    pub responses: Vec<ResponseIndex>,
}

/// All commands, skills and agents that were offered or used.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// For each, the sessions that offered it.
    pub offers: BTreeMap<(CommandKind, Name), BTreeSet<SessionIndex>>,
    /// Uses, in log order.
    pub uses: Vec<Use>,
}

/// Returns the offers and uses of a ledger.
pub fn commands(ledger: &Ledger) -> Commands {
    let mut offers = Offers::default();
    let mut evidence = Vec::new();
    for row in &ledger.traces {
        match &row.trace {
            Trace::Offer(offer) => offers.read(row.context.session, offer),
            Trace::Typed(typed) => evidence.extend(Evidence::of(row, typed)),
            _ => {}
        }
    }
    let mut uses = called(ledger, &offers);
    offers.learn(&uses);
    let typed = typed::typed(ledger, evidence, &offers, &uses);
    turn::add_typed(ledger, &typed, &mut uses, &offers);
    uses.sort_by_key(|one| one.context.location);
    Commands { offers: offers.listed(), uses }
}

/// Returns the uses by calls. The responses of a subagent belong to the call that started it.
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

/// Commands, skills and agents that were offered.
#[derive(Default)]
struct Offers {
    all: BTreeMap<(CommandKind, Name), BTreeSet<SessionIndex>>,
    /// Names that the model called as skills: a saved session may not list its skills.
    skills: BTreeSet<Name>,
    /// Sessions that list their commands.
    listed_sessions: BTreeSet<Option<SessionIndex>>,
}

impl Offers {
    fn read(&mut self, session: Option<SessionIndex>, offer: &trace::Offer<Name>) {
        if offer.kind == CommandKind::Command {
            self.listed_sessions.insert(session);
        }
        for name in &offer.names {
            self.all.entry((offer.kind, Name::clone(name))).or_default().extend(session);
        }
    }

    fn has(&self, kind: CommandKind, name: &Name) -> bool {
        self.all.contains_key(&(kind, Name::clone(name)))
    }

    /// Returns whether a text that begins with this name is a command: it is offered, or the session does not
    /// list its commands.
    fn allows(&self, session: Option<SessionIndex>, name: &Name) -> bool {
        !self.listed_sessions.contains(&session)
            || self.has(CommandKind::Command, name)
            || self.has(CommandKind::Skill, name)
    }

    /// Adds the names that were used as skills.
    fn learn(&mut self, uses: &[Use]) {
        let skills = uses.iter().filter(|one| one.kind == CommandKind::Skill && !one.failed);
        self.skills.extend(skills.filter_map(|one| one.name.clone()));
    }

    /// Returns the kind of a name: as offered, else as the model called it, else as used.
    fn kind_of(&self, name: Option<&Name>, used: CommandKind) -> CommandKind {
        let is = |kind: &CommandKind| name.is_some_and(|name| self.has(*kind, name));
        let called = || name.is_some_and(|name| self.skills.contains(name)).then_some(CommandKind::Skill);
        [CommandKind::Skill, CommandKind::Command].into_iter().find(is).or_else(called).unwrap_or(used)
    }

    /// Returns the offers. A skill is not listed again as a command.
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
