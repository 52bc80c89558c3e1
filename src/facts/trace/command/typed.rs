//! Commands that a person typed, each once, however many records tell of it.

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

/// A record tells that a command was typed.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) form: Form,
    pub(super) name: Name,
    pub(super) context: Context,
    dialect: Dialect,
    uuid: Option<Id>,
}

/// What was typed.
pub(super) struct Typed {
    /// One for each use.
    pub(super) uses: Vec<Evidence>,
    /// Where every record stands that tells of one.
    pub(super) places: BTreeSet<Location>,
}

/// What ends a session: it waits in one and is run in the next.
const CLEAR: &str = "clear";

/// How far apart these two can be.
const MOMENT: Millis = Millis::new(60_000);

/// Commands that were typed, of what the records tell.
pub(super) fn typed(ledger: &Ledger, told: Vec<Evidence>, offers: &Offers, called: &[Use]) -> Typed {
    let mut all = told;
    all.iter_mut().for_each(|one| one.context.session = home(ledger, &one.context));
    all.retain(|one| one.form.is_sure() || offers.allows(one.context.session, &one.name));
    all.retain(|one| one.form != Form::Marked || !is_loaded(ledger, one, called));
    let places = all.iter().filter_map(|one| one.context.location).collect();
    date(&mut all, ledger);
    all.sort_by_key(|one| (one.context.session, one.context.location));
    once(&mut all, ledger);
    Typed { uses: counted(all, ledger), places }
}

impl Evidence {
    /// What a record tells. What a subagent is told was typed by nobody.
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

/// Whether a context only shows that the model called the command: no response stands between the call and it.
fn is_loaded(ledger: &Ledger, context: &Evidence, called: &[Use]) -> bool {
    let Some(at) = context.context.location else { return false };
    let calls = called
        .iter()
        .filter(|one| one.name.as_ref() == Some(&context.name))
        .filter_map(|one| one.context.location);
    let last = calls.filter(|call| call.source == at.source && *call < at).max();
    let between = |call: Location| {
        let places = ledger.responses.iter().filter_map(|response| response.context.location);
        places.filter(|place| place.source == at.source).any(|place| call < place && place < at)
    };
    last.is_some_and(|call| !between(call))
}

/// A result says no time of its own: that of its turn is the one of the last row before it.
fn date(all: &mut [Evidence], ledger: &Ledger) {
    let turns: BTreeMap<Location, Time> =
        ledger.turns.iter().filter_map(|turn| Some((turn.context.location?, turn.context.time?))).collect();
    for one in all.iter_mut().filter(|one| one.context.time.is_none()) {
        one.context.time = one.context.location.and_then(|at| turns.get(&at).copied());
    }
}

/// Leaves each record once: of a fork, of a file that was copied, and of what a host wrote and a session saved.
fn once(all: &mut Vec<Evidence>, ledger: &Ledger) {
    let named = |context: &Context| ledger.named_session(context).is_some();
    let known: HashSet<Id> =
        all.iter().filter(|one| named(&one.context)).filter_map(|one| one.uuid).collect();
    // Of a record without a uuid: its session, time and name.
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
        let told = !named(&one.context) && one.uuid.is_some_and(|uuid| known.contains(&uuid));
        !again && !told
    });
}

/// What tells of a command in a session: each form of each dialect by itself.
type Forms = BTreeMap<(Form, u8), Vec<Evidence>>;

/// A session, and a moment in it.
type Moment = (Option<SessionIndex>, Option<Time>);

/// One for each use: of the forms that tell of a command in a session, the one that tells of the most.
fn counted(all: Vec<Evidence>, ledger: &Ledger) -> Vec<Evidence> {
    let mut told: BTreeMap<(Option<SessionIndex>, Name), Forms> = BTreeMap::new();
    for one in all {
        let same = told.entry((one.context.session, one.name.clone())).or_default();
        same.entry((one.form, one.dialect as u8)).or_default().push(one);
    }
    // A session that a command begins has no row before it.
    let moment = |context: &Context| -> Moment {
        let begun = ledger.session(context).and_then(|session| session.started);
        (context.session, context.time.or(begun))
    };
    let (mut uses, mut waiting): (Vec<Evidence>, Vec<Evidence>) = Default::default();
    // Uses of which nothing tells that they waited, in case that stands in another session.
    let mut sudden: BTreeMap<Name, Vec<Moment>> = BTreeMap::new();
    for ((_, name), mut forms) in told {
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
            sudden.entry(name).or_default().extend(best.iter().map(|one| moment(&one.context)));
        }
        uses.extend(best);
    }
    waiting.retain(|one| {
        let near = |elsewhere: &Moment| is_near(*elsewhere, moment(&one.context));
        let run = sudden.get_mut(&one.name).and_then(|all| Some(all.swap_remove(all.iter().position(near)?)));
        run.is_none()
    });
    uses.extend(waiting);
    uses
}

/// Whether two moments of different sessions can be one.
fn is_near(one: Moment, two: Moment) -> bool {
    let (Some(first), Some(second)) = (one.1.min(two.1), one.1.max(two.1)) else { return false };
    one.0 != two.0 && second.since(first) <= MOMENT
}

/// The session that a record names, else the one before it in its source, else the next: what a host writes belongs to the
/// session that it talks to.
fn home(ledger: &Ledger, context: &Context) -> Option<SessionIndex> {
    let around = || {
        let (before, next) = ledger.spans_around(context.location?);
        before.or(next).map(|span| span.session)
    };
    ledger.named_session(context).or_else(around).or(context.session)
}
