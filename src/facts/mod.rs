//! Collects events into facts: owned, mergeable, independent of order.
//!
//! [`Facts`] is a commutative monoid: reading a log in pieces, in any order, on any number of threads, and
//! merging the pieces gives the same facts. Nothing is decided before the end: [`Facts::settle`] computes
//! differences between cumulative totals, pairs calls with results, and prices responses.

#[macro_use]
mod merge;

mod absorb;
mod account;
mod arrival;
mod calls;
mod cost;
mod detail;
mod difference;
mod digest;
mod key;
pub mod ledger;
mod once;
mod pack;
mod rebuild;
mod repeat;
mod responses;
mod sessions;
mod settle;
mod settled;
mod shard;
pub mod trace;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};

use absorb::RecordAbsorber;
pub use account::{
    Account, Cache, Cost, Denials, Durations, Errors, Input, Interrupted, InvalidPlace, Latencies, ModelCost,
    OnlySession, ToolCount, Tools, Turns, Unknown,
};
pub use arrival::{Arrivals, Arrived};
use calls::Call;
pub(crate) use detail::AGENT_TOOLS;
pub use detail::Detail;
use detail::{Details, RowsById, SessionEvent};
use difference::ResetsAndVersions;
pub use key::Name;
use key::{Id, Keyed, Names, SessionKey};
pub(crate) use merge::{Earliest, Merge};
use merge::{First, Span, Unmerged, insert};
use once::Records;
use rebuild::Position;
use responses::{Lanes, Response};
use sessions::{Chain, Ending, Session, TurnDuration};
use trouble::{Invalid, Invalids, Tail, UnknownKind};

use crate::{
    event::{Body, Dialect, Event, Kind, KindId},
    input::{Place, SourceId},
    measure::{Version, has_long_prompt_surcharge},
};

merged! {
    /// Everything learned from the records read so far.
    #[derive(Clone, Debug, Default)]
    pub struct Facts {
        input: Counts,
        /// Lines of each unit, by source and offset: a place only knows the line within its unit.
        units: BTreeMap<(SourceId, u64), UnitLines>,
        /// Sources without content: lean logs of an archive.
        lean: BTreeSet<SourceId>,
        invalids: Invalids,
        dialects: [u64; Dialect::ALL.len()],
        kinds: KindCounts,
        unknown_kinds: Hashed<Name, UnknownKind>,
        records: Records,
        span: Option<Span>,
        versions: BTreeSet<Name>,
        sessions: Hashed<SessionKey, Session>,
        chain: Chain,
        endings: Hashed<(SourceId, SessionKey), Ending>,
        durations: Keyed<TurnDuration>,
        prompts: Keyed<()>,
        responses: Keyed<Response>,
        /// The session that requested a response, if a copied line names it.
        request_sessions: Hashed<Id, First<SessionKey>>,
        lanes: Lanes,
        /// Compactions of conversations.
        compactions: Vec<(SessionKey, Position)>,
        calls: Keyed<Call>,
        denied: Keyed<First<Name>>,
        /// API failures and denials without an id; other events only if rows are kept.
        session_events: RowsById<SessionEvent>,
        names: Unmerged<Names>,
        run: Unmerged<Option<Run>>,
        details: Option<Box<Details>>,
        interrupted: Option<Interrupted>,
    }
}

/// A hash map with a random seed, since keys come from untrusted logs.
pub(crate) type Hashed<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A hash set with a random seed.
type HashedSet<K> = HashSet<K, foldhash::fast::RandomState>;

/// The session of the last record. Records of one session in one source usually follow each other, so their
/// data is collected here first and most records need no hash lookup.
#[derive(Clone, Debug)]
struct Run {
    source: SourceId,
    key: SessionKey,
    session: Session,
    ending: Ending,
}

/// Number of lines of a unit.
#[derive(Clone, Copy, Debug, Default)]
struct UnitLines {
    count: u64,
    /// Offset of the first line that begins in the unit.
    first: Option<u64>,
}

impl Merge for UnitLines {
    fn merge(&mut self, other: Self) {
        let Self { count, first } = other;
        self.count += count;
        self.first = self.first.into_iter().chain(first).min();
    }
}

merged! {
    /// Counts of bytes and lines.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Counts {
        /// Sources that could be opened.
        pub sources: u64,
        /// Bytes after decompression.
        pub bytes: u64,
        /// Physical lines.
        pub lines: u64,
        /// Blank lines.
        pub blank: u64,
        /// JSON objects with a `type`.
        pub records: u64,
    }
}

/// Records per row of the table of kinds.
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
        self.0.merge(theirs);
    }
}

impl Facts {
    /// Creates empty facts that keep the given detail.
    pub fn new(detail: Detail) -> Self {
        let details = (detail != Detail::TOTALS).then(|| Box::new(Details::new(detail)));
        Self { details, ..Self::default() }
    }

    /// Adds the facts of another unit or thread. The order of merges does not matter.
    pub fn merge(&mut self, mut other: Self) {
        other.end_run();
        Merge::merge(self, other);
    }

    /// Adds counts of bytes and lines of a unit, or of a source that was opened.
    pub fn count(&mut self, counts: Counts) {
        self.input.merge(counts);
    }

    /// Records how many lines begin in a unit, and the offset of the first. That is not the offset of the
    /// unit if a line of the unit before reaches into it.
    pub fn unit(&mut self, source: SourceId, offset: u64, first: u64, lines: u64) {
        let unit = UnitLines { count: lines, first: Some(first) };
        self.units.entry((source, offset)).or_default().merge(unit);
    }

    /// Returns how many lines of a unit were recorded so far.
    pub fn lines_of(&self, source: SourceId, offset: u64) -> u64 {
        self.units.get(&(source, offset)).map_or(0, |lines| lines.count)
    }

    /// Records that a source has no content.
    pub fn lean(&mut self, source: SourceId) {
        self.lean.insert(source);
    }

    /// Records an invalid line or value.
    pub fn invalid(&mut self, place: Place, reason: String) {
        self.invalids.push(Invalid { place, reason });
    }

    /// Records the last line of a unit that is not blank, and if it is unfinished, why.
    pub fn tail(&mut self, place: Place, unfinished: Option<String>) {
        let unfinished = unfinished.map(|reason| Invalid { place, reason });
        self.invalids.tail(place.source, Tail { offset: place.offset, unfinished });
    }

    /// Records that reading was interrupted, and how many bytes there were in total.
    pub fn interrupt(&mut self, total: Option<u64>) {
        self.interrupted.merge(Some(Interrupted { total }));
    }

    /// Returns whether reading was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.is_some()
    }

    /// Returns the number of records read.
    pub fn records(&self) -> u64 {
        self.input.records
    }

    /// Absorbs one record. This is the only place where borrowed data becomes owned.
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
        // Most stream events have nothing more.
        if matches!(event.body, Body::Plain) && uuid.is_none() && self.keeps_totals_alone() {
            return;
        }
        let once = RecordAbsorber::new(self, place, uuid, event).absorb();
        self.records.insert(uuid, once);
    }

    /// Absorbs so many records without a body or a uuid, which are alike.
    pub fn absorb_repeated(&mut self, place: Place, event: &Event<'_>, count: u64) {
        let Some(more) = count.checked_sub(1) else { return };
        debug_assert!(matches!(event.body, Body::Plain) && event.uuid.is_none() && !event.prompt);
        self.absorb(place, event);
        self.input.records += more;
        self.dialects[event.dialect as usize] += more;
        if let Kind::Known(id) = &event.kind {
            self.kinds.0[id.index()] += more;
        }
    }

    /// Whether something is kept of records that are only counted.
    pub fn keeps_every_record(&self) -> bool {
        let each = Detail::RECORDS.and(Detail::CONTROL).and(Detail::COMMANDS);
        let each = each.and(Detail::COST_STEPS).and(Detail::TIMING);
        self.details.as_ref().is_some_and(|details| details.kept.intersects(each))
    }

    /// Whether nothing but totals is kept.
    pub fn keeps_totals_alone(&self) -> bool {
        self.details.as_ref().is_none_or(|details| Detail::CHARGES.contains(details.kept))
    }

    fn absorb_kind(&mut self, place: Place, event: &Event<'_>) {
        match &event.kind {
            Kind::Known(id) => self.kinds.0[id.index()] += 1,
            other => {
                let version = event.version.as_deref().map(|version| self.names.get(version));
                let unknown = UnknownKind { count: 1, place, version, known: other.is_known() };
                insert(&mut self.unknown_kinds, self.names.get(&other.name()), unknown);
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

    /// Makes the session of this record the current run.
    fn absorb_session(&mut self, place: Place, event: &Event<'_>) {
        if let Some(run) = &mut *self.run
            && run.source == place.source
            && run.key.is(event.session.as_deref())
        {
            return run.session.see(place, event, &mut self.names);
        }
        let key = match &event.session {
            Some(id) => SessionKey::Named(self.names.get(id)),
            None => SessionKey::Nameless(place.source),
        };
        let session = Session::seen(place, event, &mut self.names);
        self.end_run();
        *self.run = Some(Run { source: place.source, key, session, ending: Ending::default() });
    }

    /// Ends the current run and flushes pending rows.
    fn close(&mut self) {
        self.end_run();
        for (id, response) in std::mem::take(&mut self.lanes).resolve() {
            self.responses.insert(id, response);
        }
        for id in self.surcharged() {
            self.responses.insert(id, Response::old());
        }
        self.flush();
    }

    /// Responses with a possibly long prompt, printed by a version that charged extra for long prompts.
    fn surcharged(&self) -> Vec<Id> {
        let lines = &self.chain.long_prompts;
        if lines.is_empty() {
            return Vec::new();
        }
        let places = ResetsAndVersions::of(&self.chain);
        let version = |place| places.version(place).and_then(Version::parse);
        let old = |place| version(place).is_some_and(has_long_prompt_surcharge);
        lines.iter().filter(|(place, _)| old(*place)).map(|&(_, id)| id).collect()
    }

    fn end_run(&mut self) {
        let Some(Run { source, key, session, ending }) = self.run.take() else { return };
        if ending.response.is_some() || ending.result.is_some() {
            insert(&mut self.endings, (source, key.clone()), ending);
        }
        insert(&mut self.sessions, key, session);
    }
}
