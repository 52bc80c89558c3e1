//! Commands that a person typed, each once, however many records tell of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::{Offers, Use, name};
use crate::{
    event::Dialect,
    facts::{
        ledger::{At, Ledger, Mark, Record, SessionIndex},
        trace::text,
    },
    input::SourceId,
    measure::{Millis, Time},
};

/// How a record tells of a command. Where several tell of the same uses equally often, the first of these says where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// `<command-name>` in a user's message of a saved session.
    Marked,
    /// A text that begins with a slash and a name.
    Text,
    /// `system/local_command`, which names it in `commandRun`, before 2.1.300 in `<command-name>`.
    Local,
    /// `local_command` of the result of a turn that the CLI answered itself.
    Ended,
    /// A summary that a person asked for: before 2.1.197 a stream tells of `/compact` by nothing else.
    Compacted,
    /// A message that came while a turn was running.
    Folded,
    /// A message that waits for its turn.
    Queued,
}

impl Form {
    /// Whether it is a field or a tag that says that this is a command; else it may be any text.
    fn is_sure(self) -> bool {
        match self {
            Self::Marked | Self::Local | Self::Ended | Self::Compacted => true,
            Self::Text | Self::Folded | Self::Queued => false,
        }
    }
}

/// A record tells that a command was typed.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) form: Form,
    pub(super) name: String,
    pub(super) mark: Mark,
    dialect: Dialect,
    uuid: Option<String>,
}

/// What was typed.
pub(super) struct Typed {
    /// One for each use.
    pub(super) uses: Vec<Evidence>,
    /// Where every record stands that tells of one.
    pub(super) places: BTreeSet<At>,
}

/// What ends a session: it waits in one and is run in the next.
const CLEAR: &str = "clear";

/// How far apart these two can be.
const MOMENT: Millis = Millis::new(60_000);

/// Commands that were typed, of what the records tell.
pub(super) fn typed(ledger: &Ledger, told: Vec<Evidence>, offers: &Offers, called: &[Use]) -> Typed {
    let homes = Homes::of(ledger);
    let mut all = told;
    all.iter_mut().for_each(|one| one.mark.session = homes.session(&one.mark));
    all.retain(|one| one.form.is_sure() || offers.allows(one.mark.session, &one.name));
    all.retain(|one| one.form != Form::Marked || !is_loaded(ledger, one, called));
    let places = all.iter().filter_map(|one| one.mark.at).collect();
    date(&mut all, ledger);
    all.sort_by_key(|one| (one.mark.session, one.mark.at));
    once(&mut all, ledger);
    Typed { uses: counted(all, ledger), places }
}

impl Evidence {
    /// What a record tells, if it may tell of a command.
    pub(super) fn of(record: &Record, value: &Value) -> Option<Self> {
        // What a subagent is told was typed by nobody.
        if record.mark.agent.is_some() {
            return None;
        }
        let (form, name, uuid) = told(record, value)?;
        let (name, uuid) = (name.to_owned(), uuid.map(str::to_owned));
        Some(Self { form, name, mark: record.mark.clone(), dialect: record.dialect, uuid })
    }
}

/// What a record tells: how, of which command, and under which uuid.
fn told<'v>(record: &Record, value: &'v Value) -> Option<(Form, &'v str, Option<&'v str>)> {
    let uuid = text(&value["uuid"]);
    let typed = |said: &'v Value| text(said).filter(|said| said.starts_with('/')).and_then(name);
    match &*record.kind {
        // What the CLI adds by itself was not typed, such as the text of a skill that the model called.
        "user" if value["isMeta"] == true || value["isSynthetic"] == true => None,
        "user" if !value["sourceToolUseID"].is_null() => None,
        "user" => {
            let content = &value["message"]["content"];
            let said = if content.is_array() { &content[0]["text"] } else { content };
            let marked = text(said).filter(|said| said.starts_with("<command-")).and_then(tagged);
            match marked {
                Some(name) => Some((Form::Marked, name, uuid)),
                None => Some((Form::Text, typed(said)?, uuid)),
            }
        }
        // Of a bridge.
        "input" => Some((Form::Text, typed(&value["text"])?, uuid)),
        "system/local_command" => {
            let run = text(&value["commandRun"]["command"]).and_then(name);
            Some((Form::Local, run.or_else(|| tagged(text(&value["content"])?))?, uuid))
        }
        "system/compact_boundary" => {
            let told = ["compact_metadata", "compactMetadata"].map(|key| &value[key]["trigger"]);
            told.into_iter().any(|trigger| trigger == "manual").then_some((Form::Compacted, "compact", uuid))
        }
        "queue-operation/enqueue" => Some((Form::Queued, typed(&value["content"])?, uuid)),
        "attachment/queued_command" => Some((
            Form::Folded,
            typed(&value["attachment"]["prompt"])?,
            text(&value["attachment"]["source_uuid"]),
        )),
        kind if kind.starts_with("result") => {
            Some((Form::Ended, name(text(&value["local_command"])?)?, uuid))
        }
        _ => None,
    }
}

/// The name in `<command-name>`. Before 1.0.100 it had no slash.
fn tagged(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("<command-name>")?;
    name(rest.split_once("</command-name>")?.0)
}

/// Whether a mark only shows that the model called the command: no response stands between the call and it.
fn is_loaded(ledger: &Ledger, mark: &Evidence, called: &[Use]) -> bool {
    let Some(at) = mark.mark.at else { return false };
    let calls =
        called.iter().filter(|one| one.name.as_ref() == Some(&mark.name)).filter_map(|one| one.mark.at);
    let last = calls.filter(|call| call.source == at.source && *call < at).max();
    let between = |call: At| {
        let places = ledger.responses.iter().filter_map(|response| response.mark.at);
        places.filter(|place| place.source == at.source).any(|place| call < place && place < at)
    };
    last.is_some_and(|call| !between(call))
}

/// A result says no time of its own: that of its turn is the one of the last row before it.
fn date(all: &mut [Evidence], ledger: &Ledger) {
    let turns: BTreeMap<At, Time> =
        ledger.turns.iter().filter_map(|turn| Some((turn.mark.at?, turn.mark.time?))).collect();
    for one in all.iter_mut().filter(|one| one.mark.time.is_none()) {
        one.mark.time = one.mark.at.and_then(|at| turns.get(&at).copied());
    }
}

/// Leaves each record once: of a fork, of a file that was copied, and of what a host wrote and a session saved.
fn once(all: &mut Vec<Evidence>, ledger: &Ledger) {
    let named = |mark: &Mark| ledger.named_session(mark).is_some();
    let known: HashSet<String> =
        all.iter().filter(|one| named(&one.mark)).filter_map(|one| one.uuid.clone()).collect();
    // Of a record without a uuid: its session, time and name.
    let mut seen = BTreeSet::new();
    let mut seen_uuids = BTreeSet::new();
    all.retain(|one| {
        let again = match (&one.uuid, one.mark.time) {
            (Some(uuid), _) => !seen_uuids.insert((one.form, one.dialect as u8, uuid.clone())),
            (None, Some(time)) => {
                let same = (one.mark.session, time, one.name.clone());
                !seen.insert((one.form, one.dialect as u8, same))
            }
            (None, None) => false,
        };
        let told = !named(&one.mark) && one.uuid.as_ref().is_some_and(|uuid| known.contains(uuid));
        !again && !told
    });
}

/// What tells of a command in a session: each form of each dialect by itself.
type Forms = BTreeMap<(Form, u8), Vec<Evidence>>;

/// A session, and a moment in it.
type Moment = (Option<SessionIndex>, Option<Time>);

/// One for each use: of the forms that tell of a command in a session, the one that tells of the most.
fn counted(all: Vec<Evidence>, ledger: &Ledger) -> Vec<Evidence> {
    let mut told: BTreeMap<(Option<SessionIndex>, String), Forms> = BTreeMap::new();
    for one in all {
        let same = told.entry((one.mark.session, one.name.clone())).or_default();
        same.entry((one.form, one.dialect as u8)).or_default().push(one);
    }
    // A session that a command begins has no row before it.
    let moment = |mark: &Mark| -> Moment {
        let begun = ledger.session(mark).and_then(|session| session.started);
        (mark.session, mark.time.or(begun))
    };
    let (mut uses, mut waiting): (Vec<Evidence>, Vec<Evidence>) = Default::default();
    // Uses of which nothing tells that they waited, in case that stands in another session.
    let mut sudden: BTreeMap<String, Vec<Moment>> = BTreeMap::new();
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
            sudden.entry(name).or_default().extend(best.iter().map(|one| moment(&one.mark)));
        }
        uses.extend(best);
    }
    waiting.retain(|one| {
        let near = |elsewhere: &Moment| is_near(*elsewhere, moment(&one.mark));
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

/// Whose the records are that name no session: what a host writes belongs to the session that it talks to.
struct Homes<'l> {
    ledger: &'l Ledger,
    sources: BTreeMap<SourceId, Vec<(u64, SessionIndex)>>,
}

impl<'l> Homes<'l> {
    fn of(ledger: &'l Ledger) -> Self {
        let mut sources: BTreeMap<SourceId, Vec<(u64, SessionIndex)>> = BTreeMap::new();
        for mark in ledger.records.iter().map(|record| &record.mark) {
            if let (Some(at), Some(session)) = (mark.at, ledger.named_session(mark)) {
                let source = sources.entry(at.source).or_default();
                if source.last().is_none_or(|(_, last)| *last != session) {
                    source.push((at.offset, session));
                }
            }
        }
        Self { ledger, sources }
    }

    /// The session that a record names, else the one before it in its source, else the next.
    fn session(&self, mark: &Mark) -> Option<SessionIndex> {
        let around = || {
            let at = mark.at?;
            let source = self.sources.get(&at.source)?;
            let before = source.partition_point(|(offset, _)| *offset < at.offset);
            source.get(before.saturating_sub(1)).map(|(_, session)| *session)
        };
        self.ledger.named_session(mark).or_else(around).or(mark.session)
    }
}
