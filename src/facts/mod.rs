//! Events become facts: owned, mergeable, order-free.
//!
//! [`Facts`] is a commutative monoid: reading a log in pieces, in any order, on any number of threads, and merging the
//! pieces gives the same facts. Nothing is settled before the end: [`Facts::settle`] takes the differences, pairs what
//! belongs together, and prices it.

mod account;
mod calls;
mod cost;
mod difference;
mod key;
mod merge;
mod once;
mod responses;
mod sessions;
mod settle;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

pub use account::{
    Account, Cost, Denials, Durations, Errors, Input, InvalidPlace, Latencies, ModelCost, ToolCount, Tools,
    Turns, Unknown,
};
use calls::Call;
use key::{Id, Keyed, Name, Names, SessionKey};
use merge::{Few, First, Last, Merge, Span, Spot};
use once::{Once, Records, Retry, Turn};
use responses::{Lane, Lanes, Response};
use sessions::{Chain, CostState, Ending, ModelUse, Session, TurnDuration, TurnEnd};
use trouble::{Invalid, Invalids, Stranger, Tail, Tails};

use crate::{
    event::{self, BlockKind, Body, Dialect, Event, Half, Kind, KindId, Part},
    input::{Place, SourceId},
    measure::{Time, Tokens},
};

/// Everything that was learnt from the records read so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    input: Counts,
    /// Lines of each unit, by source and offset, so that a place can tell its line.
    units: BTreeMap<(SourceId, u64), u64>,
    invalids: Invalids,
    tails: Tails,
    dialects: [u64; Dialect::ALL.len()],
    kinds: KindCounts,
    strangers: Hashed<Name, Stranger>,
    records: Records,
    span: Option<Span>,
    versions: BTreeSet<Name>,
    sessions: Hashed<SessionKey, Session>,
    chain: Chain,
    endings: Hashed<(SourceId, SessionKey), Ending>,
    durations: Keyed<TurnDuration>,
    prompts: Keyed<()>,
    responses: Keyed<Response>,
    lanes: Lanes,
    calls: Keyed<Call>,
    denied: Keyed<First<Name>>,
    names: Names,
    run: Option<Run>,
}

/// A hashed map; the seed is random, as keys come from strangers.
type Hashed<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Records of one session in one source usually follow each other: what they tell of it is gathered here first, so that
/// most records look up neither.
#[derive(Clone, Debug)]
struct Run {
    source: SourceId,
    key: SessionKey,
    session: Session,
    ending: Ending,
}

/// What is counted of the bytes themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sources that could be opened.
    pub sources: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Physical lines.
    pub lines: u64,
    /// Lines with nothing on them.
    pub blank: u64,
    /// Records.
    pub records: u64,
}

impl Merge for Counts {
    fn merge(&mut self, other: Self) {
        let Self { sources, bytes, lines, blank, records } = other;
        self.sources += sources;
        self.bytes += bytes;
        self.lines += lines;
        self.blank += blank;
        self.records += records;
    }
}

/// Counts by row of the table of kinds.
#[derive(Clone, Debug)]
struct KindCounts(Box<[u64; KindId::COUNT]>);

impl Default for KindCounts {
    fn default() -> Self {
        Self(Box::new([0; KindId::COUNT]))
    }
}

impl Merge for KindCounts {
    fn merge(&mut self, other: Self) {
        let Self(theirs) = other;
        self.0.iter_mut().zip(*theirs).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Merge for Facts {
    fn merge(&mut self, other: Self) {
        let Self {
            input,
            units,
            invalids,
            tails,
            dialects,
            kinds,
            strangers,
            records,
            span,
            versions,
            sessions,
            chain,
            endings,
            durations,
            prompts,
            responses,
            lanes,
            calls,
            denied,
            names: _, // a cache: whoever holds a name keeps it alive
            run,
        } = other;
        self.input.merge(input);
        Merge::merge(&mut self.units, units);
        self.invalids.merge(invalids);
        self.tails.merge_into(tails, &mut self.invalids);
        self.dialects.iter_mut().zip(dialects).for_each(|(mine, theirs)| *mine += theirs);
        self.kinds.merge(kinds);
        self.strangers.merge(strangers);
        self.records.merge(records);
        self.span.merge(span);
        self.versions.extend(versions);
        self.sessions.merge(sessions);
        self.chain.merge(chain);
        self.endings.merge(endings);
        self.durations.merge(durations);
        self.prompts.merge(prompts);
        self.responses.merge(responses);
        self.lanes.merge(lanes);
        self.calls.merge(calls);
        self.denied.merge(denied);
        self.end_run(run);
    }
}

impl Facts {
    /// Takes in what was learnt elsewhere: in another unit, on another thread, in whatever order.
    pub fn merge(&mut self, other: Self) {
        Merge::merge(self, other);
    }

    /// Counts bytes and lines of a unit, or a source that was opened.
    pub fn count(&mut self, counts: Counts) {
        self.input.merge(counts);
    }

    /// Notes how many lines a unit has.
    pub fn unit(&mut self, source: SourceId, offset: u64, lines: u64) {
        *self.units.entry((source, offset)).or_default() += lines;
    }

    /// Notes something that is no record.
    pub fn invalid(&mut self, place: Place, reason: String) {
        self.invalids.push(Invalid { place, reason });
    }

    /// Notes the last line of a unit that is not blank, and why it is unfinished if it is.
    pub fn tail(&mut self, place: Place, unfinished: Option<String>) {
        let unfinished = unfinished.map(|reason| Invalid { place, reason });
        self.tails.insert(place.source, Tail { offset: place.offset, unfinished }, &mut self.invalids);
    }

    /// How many records were read.
    pub fn records(&self) -> u64 {
        self.input.records
    }

    /// Takes in one record: the one place where borrowed becomes owned. What is not taken here is gone with its chunk.
    pub fn absorb(&mut self, place: Place, event: &Event<'_>) {
        self.input.records += 1;
        self.dialects[event.dialect as usize] += 1;
        self.span.merge(event.time.map(Span::at));
        self.absorb_kind(place, event);
        self.absorb_version(place, event);
        self.absorb_session(place, event);
        let uuid = event.uuid.as_deref().map(Id::of);
        if event.prompt {
            self.prompts.insert(uuid.unwrap_or_else(|| Id::at(place, 0)), ());
        }
        let mut record =
            Reading { facts: self, place, spot: place.into(), uuid, event, once: Once::at(place) };
        record.absorb_body();
        let once = record.once;
        self.records.insert(uuid, once);
    }

    fn absorb_kind(&mut self, place: Place, event: &Event<'_>) {
        match &event.kind {
            Kind::Known(id) => self.kinds.0[id.index()] += 1,
            other => {
                let version = event.version.as_deref().map(|version| self.names.get(version));
                let stranger = Stranger { count: 1, place, version, known: other.is_known() };
                insert(&mut self.strangers, self.names.get(&other.name()), stranger);
            }
        }
    }

    fn absorb_version(&mut self, place: Place, event: &Event<'_>) {
        let Some(version) = event.version.as_deref() else { return };
        if event.dialect == Dialect::Stream {
            let version = self.names.get(version);
            self.chain.versions.push((place, version));
        }
        if !self.versions.contains(version) {
            self.versions.insert(self.names.get(version));
        }
    }

    /// Makes this record's session the one that runs.
    fn absorb_session(&mut self, place: Place, event: &Event<'_>) {
        if let Some(run) = &mut self.run
            && run.source == place.source
            && run.key.is(event.session.as_deref())
        {
            return run.session.see(event);
        }
        let key = match &event.session {
            Some(id) => SessionKey::Named(self.names.get(id)),
            None => SessionKey::Nameless(place.source),
        };
        let session = Session::seen(place.source, event);
        let before = self.run.replace(Run { source: place.source, key, session, ending: Ending::default() });
        self.end_run(before);
    }

    fn end_run(&mut self, run: Option<Run>) {
        let Some(Run { source, key, session, ending }) = run else { return };
        if ending.response.is_some() || ending.result.is_some() {
            insert(&mut self.endings, (source, key.clone()), ending);
        }
        insert(&mut self.sessions, key, session);
    }
}

fn insert<K: Eq + std::hash::Hash, V: Merge, S: std::hash::BuildHasher>(
    map: &mut HashMap<K, V, S>,
    key: K,
    value: V,
) {
    match map.entry(key) {
        hashbrown::hash_map::Entry::Occupied(known) => known.into_mut().merge(value),
        hashbrown::hash_map::Entry::Vacant(free) => {
            free.insert(value);
        }
    }
}

/// One record while it is taken in.
struct Reading<'f, 'e, 'a> {
    facts: &'f mut Facts,
    place: Place,
    spot: Spot,
    uuid: Option<Id>,
    event: &'e Event<'a>,
    once: Once,
}

impl Reading<'_, '_, '_> {
    fn absorb_body(&mut self) {
        match &self.event.body {
            Body::Plain | Body::Compaction(..) => {}
            Body::Message(message) => {
                self.count_message(message);
                self.message(message, self.event.time);
            }
            Body::Nested(message, time) => self.message(message, time.or(self.event.time)),
            Body::TurnEnd(end) => self.turn_end(end),
            Body::Reset => self.facts.chain.resets.push(self.place),
            Body::Stream(part) => self.stream_part(part),
            Body::Denial(denial) => self.denial(denial.id.as_deref(), denial.tool.as_deref()),
            Body::Retry(kind, _) => {
                let (session, dialect) = (self.session(), self.event.dialect);
                let kind = self.facts.names.get(kind);
                self.once.rare().retry = Some(Retry { session, dialect, kind });
            }
            Body::TurnDuration(wall) => {
                let key = self.uuid.unwrap_or_else(|| Id::at(self.place, 0));
                let duration = TurnDuration { sessions: Few::One(self.session()), wall: *wall };
                self.facts.durations.insert(key, duration);
            }
            Body::CostState(total, models) => {
                let models = ModelUse::all(models, &mut self.facts.names);
                let state = CostState { total: *total, place: self.place, models };
                let session = Session { state: Some(state), ..Session::default() };
                let key = self.session();
                insert(&mut self.facts.sessions, key, session);
            }
            Body::Answer(answer) => self.answer(answer, self.event.time, 0),
        }
    }

    /// What a message counts for by itself: not for a subagent's, which is counted where it was written first.
    fn count_message(&mut self, message: &event::Message<'_>) {
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Known(id) => self.once.block(*id),
                other => {
                    let name = self.facts.names.get(&other.name());
                    self.once.unknown_block(name, self.place);
                }
            }
        }
        if let Some(kind) = &message.api_error {
            let kind = self.facts.names.get(kind);
            self.once.rare().api_error = Some(kind);
        }
    }

    fn message(&mut self, message: &event::Message<'_>, time: Option<Time>) {
        for (index, block) in message.blocks.iter().enumerate() {
            match &block.half {
                Half::Neither => {}
                Half::Ask(ask) => {
                    let tool = ask.tool.as_deref().map(|tool| self.facts.names.get(tool));
                    let id = self.call_id(ask.id.as_deref(), index);
                    self.facts.calls.insert(id, Call::asked(self.spot, tool, time));
                }
                Half::Answer(answer) => self.answer(answer, time, index),
            }
        }
        let Some(response) = &message.response else { return };
        let own = || self.uuid.unwrap_or_else(|| Id::at(self.place, 0)).within("response");
        let id = response.id.as_deref().map_or_else(own, Id::of);
        let dialect = self.event.dialect;
        let told = Response::told(self.spot, dialect, self.session(), response, &mut self.facts.names);
        self.facts.responses.insert(id, told);
        if dialect == Dialect::Stream {
            self.ending(Ending { response: Some(Last(self.place.offset)), result: None });
        }
    }

    /// This record's session, which is the one that runs.
    fn session(&self) -> SessionKey {
        let nameless = || SessionKey::Nameless(self.place.source);
        self.facts.run.as_ref().map_or_else(nameless, |run| run.key.clone())
    }

    fn ending(&mut self, ending: Ending) {
        if let Some(run) = &mut self.facts.run {
            run.ending.merge(ending);
        }
    }

    fn answer(&mut self, answer: &event::ToolResult<'_>, time: Option<Time>, index: usize) {
        let id = self.call_id(answer.id.as_deref(), index);
        self.facts.calls.insert(id, Call::answered(self.spot, answer.is_error, time));
        if answer.denied {
            self.denial(answer.id.as_deref(), None);
        }
    }

    /// A call without an id is one of its own.
    fn call_id(&self, id: Option<&str>, index: usize) -> Id {
        id.map_or_else(|| Id::at(self.place, index), Id::of)
    }

    fn denial(&mut self, id: Option<&str>, tool: Option<&str>) {
        let tool = tool.map(|tool| self.facts.names.get(tool));
        match id {
            Some(id) => self.facts.denied.insert(Id::of(id), First::at(self.spot, tool)),
            None => self.once.rare().denials.push(tool),
        }
    }

    fn stream_part(&mut self, stream: &event::StreamPart<'_>) {
        let (place, session) = (self.place, self.session());
        let lane = || Lane(place.source, session.clone(), stream.lane.as_deref().map(Id::of));
        let id = stream.id.as_deref().map(Id::of);
        let response = match &stream.part {
            Part::Start(model, usage) => {
                if let (false, Some(id)) = (stream.has_api_id, id) {
                    self.facts.lanes.start(lane(), place.offset, id);
                }
                let model = model.as_deref().map(|model| self.facts.names.get(model));
                Response::streamed(session.clone(), First::at(self.spot, model), usage.as_ref(), false)
            }
            Part::Delta(usage, stopped) => {
                Response::streamed(session.clone(), First::default(), usage.as_ref(), *stopped)
            }
        };
        match id {
            Some(id) => self.facts.responses.insert(id, response),
            None => self.facts.lanes.delta(lane(), place.offset, response),
        }
    }

    fn turn_end(&mut self, end: &event::TurnEnd<'_>) {
        let place = self.place;
        for denial in &end.denials {
            self.denial(denial.id.as_deref(), denial.tool.as_deref());
        }
        let session = self.session();
        let names = &mut self.facts.names;
        self.once.rare().turn = Some(Turn {
            subtype: end.subtype.as_deref().map(|subtype| names.get(subtype)),
            is_error: end.is_error,
            num_turns: end.num_turns.unwrap_or(0),
        });
        let mut own =
            |uses: &Option<Vec<event::ModelUse<'_>>>| uses.as_deref().map(|uses| ModelUse::all(uses, names));
        let result = TurnEnd {
            place,
            session,
            uuid: self.uuid,
            total: end.total,
            models: own(&end.models),
            since_last: own(&end.since_last),
            turn: Tokens {
                input: end.usage.input,
                output: end.usage.output,
                cache_read: end.usage.cache_read,
                cache_write_5m: end.usage.cache_write,
                ..Tokens::default()
            },
            api: end.api,
            wall: end.wall,
        };
        self.facts.chain.results.push(result);
        self.ending(Ending { response: None, result: Some(Last(place.offset)) });
    }
}
