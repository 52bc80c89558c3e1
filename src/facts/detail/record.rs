//! The row of a record, packed: reports of records have one for each line of a log.

use smallvec::SmallVec;

use super::{AgentRef, EventContext, LinePlace};
use crate::{
    event::Dialect,
    facts::{
        key::{Id, Name, SessionKey},
        merge::CompactPlace,
        pack::{Pack, Packer, Unpacker},
    },
    input::SourceId,
    measure::Time,
};

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) context: EventContext,
    pub(crate) kind: Name,
    pub(crate) known: bool,
    pub(crate) dialect: Dialect,
    pub(crate) uuid: Option<Id>,
    pub(crate) bytes: u64,
    pub(crate) blocks: Blocks,
}

/// Blocks of a record: name, whether it is known, length.
pub(crate) type Blocks = SmallVec<[(Name, bool, u64); 1]>;

/// The record before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    place: u64,
    line: u64,
    time: u64,
}

const KNOWN: u8 = 1;
const HAS_UUID: u8 = 1 << 1;
const HAS_BRANCH: u8 = 1 << 2;
/// The dialect is in the bits above.
const DIALECT: u32 = 3;

/// Position of a dialect in `Dialect::ALL`.
#[expect(clippy::cast_possible_truncation, reason = "there are few dialects")]
pub(crate) fn dialect_number(dialect: Dialect) -> u8 {
    Dialect::ALL.iter().position(|one| *one == dialect).unwrap_or_default() as u8
}

impl Pack for Record {
    type Key = LinePlace;
    type Base = Base;

    fn key(&self) -> LinePlace {
        self.context.place
    }

    /// Other threads read the units in between.
    fn follows(before: LinePlace, key: LinePlace) -> bool {
        before.source() == key.source() && before < key && before.line < key.line
    }

    fn pack(&self, base: &mut Base, packer: &mut Packer) {
        let Self { context, kind, known, dialect, uuid, bytes, blocks } = self;
        let EventContext { session, time, place, agent, version, branch } = context;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(*known, KNOWN) | flag(uuid.is_some(), HAS_UUID) | flag(branch.is_some(), HAS_BRANCH);
        packer.byte(flags | dialect_number(*dialect) << DIALECT);
        packer.difference(place.compact.number(), &mut base.place);
        packer.difference(u64::from(place.line), &mut base.line);
        packer.difference(time.get().unwrap_or(Time::NEVER).micros().cast_unsigned(), &mut base.time);
        match session {
            SessionKey::Named(id) => packer.name(id),
            SessionKey::Nameless(source) => {
                packer.maybe_name(None);
                packer.number(u64::from(source.0));
            }
        }
        pack_agent(agent, packer);
        packer.maybe_name(version.as_ref());
        if branch.is_some() {
            packer.maybe_name(branch.as_ref());
        }
        packer.name(kind);
        if let Some(uuid) = uuid {
            packer.whole(uuid.number());
        }
        packer.number(*bytes);
        pack_blocks(blocks, packer);
    }

    fn unpack(base: &mut Base, unpacker: &mut Unpacker<'_>) -> Self {
        let flags = unpacker.byte();
        let place = CompactPlace::of_number(unpacker.difference(&mut base.place));
        let line = u32::try_from(unpacker.difference(&mut base.line)).unwrap_or(u32::MAX);
        let time = Time::from_micros(unpacker.difference(&mut base.time).cast_signed());
        let session = match unpacker.maybe_name() {
            Some(id) => SessionKey::Named(id),
            None => SessionKey::Nameless(SourceId(u32::try_from(unpacker.number()).unwrap_or(u32::MAX))),
        };
        let agent = unpack_agent(unpacker);
        let version = unpacker.maybe_name();
        let branch = (flags & HAS_BRANCH != 0).then(|| unpacker.name());
        let time = Some(time).filter(|time| *time != Time::NEVER).into();
        let place = LinePlace { compact: place, line };
        let context = EventContext { session, time, place, agent, version, branch };
        Self {
            context,
            kind: unpacker.name(),
            known: flags & KNOWN != 0,
            dialect: Dialect::ALL[usize::from(flags >> DIALECT) % Dialect::ALL.len()],
            uuid: (flags & HAS_UUID != 0).then(|| Id::of_number(unpacker.whole())),
            bytes: unpacker.number(),
            blocks: unpack_blocks(unpacker),
        }
    }
}

fn pack_agent(agent: &AgentRef, packer: &mut Packer) {
    let (number, name) = match agent {
        AgentRef::Main => (0, None),
        AgentRef::Side => (1, None),
        AgentRef::Started(call) => (2, Some(call)),
        AgentRef::Named(id) => (3, Some(id)),
    };
    packer.byte(number);
    if name.is_some() {
        packer.maybe_name(name);
    }
}

fn unpack_agent(unpacker: &mut Unpacker<'_>) -> AgentRef {
    match unpacker.byte() {
        0 => AgentRef::Main,
        1 => AgentRef::Side,
        2 => AgentRef::Started(unpacker.name()),
        _ => AgentRef::Named(unpacker.name()),
    }
}

pub(crate) fn pack_blocks(blocks: &[(Name, bool, u64)], packer: &mut Packer) {
    packer.number(blocks.len() as u64);
    for (name, known, bytes) in blocks {
        packer.name(name);
        packer.byte(u8::from(*known));
        packer.number(*bytes);
    }
}

pub(crate) fn unpack_blocks(unpacker: &mut Unpacker<'_>) -> Blocks {
    (0..unpacker.number()).map(|_| (unpacker.name(), unpacker.byte() != 0, unpacker.number())).collect()
}
