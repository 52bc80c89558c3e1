//! Commands that a person typed, each once, however many records show it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Offers, Use};
use crate::{
    event::{
        Dialect,
        trace::{self, Form},
    },
    facts::{
        Name,
        key::Id,
        ledger::{Context, Ledger, Location, SessionIndex, Traced},
    },
    measure::{Millis, Time},
};

/// A record that shows a typed command.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) form: Form,
    pub(super) name: Name,
    pub(super) context: Context,
    dialect: Dialect,
    uuid: Option<Id>,
}

/// The typed commands.
pub(super) struct Typed {
    /// One record for each use.
    pub(super) uses: Vec<Evidence>,
    /// Locations of all records that show a command.
    pub(super) places: BTreeSet<Location>,
}

/// `/clear` ends a session: it is queued in one session and runs in the next.
const CLEAR: &str = "clear";

/// Maximum time between the queued command and its run.
const MAX_GAP: Millis = Millis::new(60_000);

/// Returns the typed commands from the records that show them.
pub(super) fn typed(ledger: &Ledger, evidence: Vec<Evidence>, offers: &Offers, called: &[Use]) -> Typed {
    let mut all = evidence;
    all.iter_mut().for_each(|one| one.context.session = session_of(ledger, &one.context));
    all.retain(|one| one.form.is_sure() || offers.allows(one.context.session, &one.name));
    all.retain(|one| one.form != Form::Marked || !is_loaded(ledger, one, called));
    let places = all.iter().filter_map(|one| one.context.location).collect();
    fill_times(&mut all, ledger);
    all.sort_by_key(|one| (one.context.session, one.context.location));
    remove_copies(&mut all, ledger);
    Typed { uses: merge_forms(all, ledger), places }
}

impl Evidence {
    /// Converts a trace. Messages to a subagent were not typed by a person.
    pub(super) fn of(row: &Traced, typed: &trace::Typed<Name>) -> Option<Self> {
        let trace::Typed { form, name, uuid } = typed;
        let uuid = match (form, uuid) {
            (Form::Folded, first) => first.as_deref().map(Id::of),
            _ => row.uuid,
        };
        row.context.agent.is_none().then(|| Self {
            form: *form,
            name: Name::clone(name),
            context: row.context.clone(),
            dialect: row.dialect,
            uuid,
        })
    }
}

/// Returns whether the record only shows that the model called the command: there is no response between the
/// call and the record.
fn is_loaded(ledger: &Ledger, evidence: &Evidence, called: &[Use]) -> bool {
    let Some(at) = evidence.context.location else { return false };
    let calls = called
        .iter()
        .filter(|one| one.name.as_ref() == Some(&evidence.name))
        .filter_map(|one| one.context.location);
    let last = calls.filter(|call| call.source == at.source && *call < at).max();
    let between = |call: Location| {
        let places = ledger.responses.iter().filter_map(|response| response.context.location);
        places.filter(|place| place.source == at.source).any(|place| call < place && place < at)
    };
    last.is_some_and(|call| !between(call))
}

/// Sets missing times. A result without a time takes that of its turn, which is the time of the last row
/// before it.
fn fill_times(all: &mut [Evidence], ledger: &Ledger) {
    let turns: BTreeMap<Location, Time> =
        ledger.turns.iter().filter_map(|turn| Some((turn.context.location?, turn.context.time?))).collect();
    for one in all.iter_mut().filter(|one| one.context.time.is_none()) {
        one.context.time = one.context.location.and_then(|at| turns.get(&at).copied());
    }
}

/// Removes copies of a record: in a fork, in a copied file, or written by a host and saved by the session.
fn remove_copies(all: &mut Vec<Evidence>, ledger: &Ledger) {
    let named = |context: &Context| ledger.named_session(context).is_some();
    let known: HashSet<Id> =
        all.iter().filter(|one| named(&one.context)).filter_map(|one| one.uuid).collect();
    // Key of records without a uuid: session, time and name.
    let mut seen = BTreeSet::new();
    let mut seen_uuids = BTreeSet::new();
    all.retain(|one| {
        let again = match (one.uuid, one.context.time) {
            (Some(uuid), _) => !seen_uuids.insert((one.form, one.dialect as u8, uuid)),
            (None, Some(time)) => {
                let same = (one.context.session, time, one.name.clone());
                !seen.insert((one.form, one.dialect as u8, same))
            }
            (None, None) => false,
        };
        let is_known = !named(&one.context) && one.uuid.is_some_and(|uuid| known.contains(&uuid));
        !again && !is_known
    });
}

/// Records that show a command in a session, by form and dialect.
type Forms = BTreeMap<(Form, u8), Vec<Evidence>>;

/// A session and a time in it.
type SessionTime = (Option<SessionIndex>, Option<Time>);

/// Keeps one record per use: of the forms that show a command in a session, the one with the most records.
fn merge_forms(all: Vec<Evidence>, ledger: &Ledger) -> Vec<Evidence> {
    let mut by_name: BTreeMap<(Option<SessionIndex>, Name), Forms> = BTreeMap::new();
    for one in all {
        let same = by_name.entry((one.context.session, one.name.clone())).or_default();
        same.entry((one.form, one.dialect as u8)).or_default().push(one);
    }
    // A session that starts with a command has no row before it.
    let time_of = |context: &Context| -> SessionTime {
        let begun = ledger.session(context).and_then(|session| session.started);
        (context.session, context.time.or(begun))
    };
    let (mut uses, mut waiting): (Vec<Evidence>, Vec<Evidence>) = Default::default();
    // Uses that were not queued in their session; they may be queued in another.
    let mut unqueued: BTreeMap<Name, Vec<SessionTime>> = BTreeMap::new();
    for ((_, name), mut forms) in by_name {
        if name == CLEAR {
            let queued = forms.extract_if(.., |(form, _), _| *form == Form::Queued);
            waiting.extend(queued.flat_map(|(_, all)| all));
        }
        let was_queued = forms.keys().any(|(form, _)| *form == Form::Queued);
        let most = forms.values().map(Vec::len).max().unwrap_or(0);
        let Some(best) = forms.into_values().find(|all| all.len() == most) else { continue };
        if best.iter().any(|one| one.form == Form::Queued) {
            waiting.extend(best);
            continue;
        }
        if !was_queued {
            unqueued.entry(name).or_default().extend(best.iter().map(|one| time_of(&one.context)));
        }
        uses.extend(best);
    }
    waiting.retain(|one| {
        let near = |elsewhere: &SessionTime| is_near(*elsewhere, time_of(&one.context));
        let run =
            unqueued.get_mut(&one.name).and_then(|all| Some(all.swap_remove(all.iter().position(near)?)));
        run.is_none()
    });
    uses.extend(waiting);
    uses
}

/// Returns whether two times of different sessions can be the same use.
fn is_near(one: SessionTime, two: SessionTime) -> bool {
    let (Some(first), Some(second)) = (one.1.min(two.1), one.1.max(two.1)) else { return false };
    one.0 != two.0 && second.since(first) <= MAX_GAP
}

/// Returns the session that a record names, else the one before it in its source, else the next: what a host
/// writes belongs to the session that it talks to.
fn session_of(ledger: &Ledger, context: &Context) -> Option<SessionIndex> {
    let around = || {
        let (before, next) = ledger.spans_around(context.location?);
        before.or(next).map(|span| span.session)
    };
    ledger.named_session(context).or_else(around).or(context.session)
}
