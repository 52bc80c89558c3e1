//! A record as a row, and many of them packed.

use super::{AgentIndex, Context, Location, SessionIndex};
use crate::{
    event::Dialect,
    facts::{
        Name,
        detail::{dialect_number, pack_blocks, unpack_blocks},
        pack::{Pack, PackedRows, Packer, Unpacker},
    },
    input::SourceId,
    measure::Time,
};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Session, agent, time and location.
    pub context: Context,
    /// Type and discriminator.
    pub kind: Name,
    /// Whether its kind is known.
    pub known: bool,
    pub dialect: Dialect,
    /// Whether it is a copy: another record with its uuid counts.
    pub copy: bool,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its blocks, unless it is a copy: name, whether it is known, length.
    pub blocks: Vec<(Name, bool, u64)>,
}

/// Records in a fraction of their memory, for reports that only list them.
#[derive(Clone, Debug, Default)]
pub struct PackedRecords(PackedRows<Record>);

impl PackedRecords {
    /// Adds a record; they are added in log order.
    pub(super) fn push(&mut self, record: &Record) {
        self.0.push(record);
    }

    /// The records, in log order.
    pub fn iter(&self) -> impl Iterator<Item = Record> {
        self.0.iter()
    }

    /// Removes the records for which `keep` returns false.
    pub fn retain(&mut self, keep: impl Fn(&Record) -> bool) {
        self.0.update(|record| keep(record));
    }

    /// Changes the contexts of all records.
    pub(super) fn update_contexts(&mut self, update: &mut dyn FnMut(&mut Context)) {
        self.0.update(|record| {
            update(&mut record.context);
            true
        });
    }
}

/// The record before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    source: u64,
    line: u64,
    offset: u64,
    time: u64,
}

const KNOWN: u8 = 1;
const COPY: u8 = 1 << 1;
const HAS_PLACE: u8 = 1 << 2;
const HAS_BRANCH: u8 = 1 << 3;
/// The dialect is in the bits above.
const DIALECT: u32 = 4;

impl Pack for Record {
    type Key = Option<Location>;
    type Base = Base;

    fn key(&self) -> Option<Location> {
        self.context.location
    }

    fn pack(&self, base: &mut Base, packer: &mut Packer) {
        let Self { context, kind, known, dialect, copy, bytes, blocks } = self;
        let Context { session, agent, time, location, version, branch } = context;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(*known, KNOWN)
            | flag(*copy, COPY)
            | flag(location.is_some(), HAS_PLACE)
            | flag(branch.is_some(), HAS_BRANCH);
        packer.byte(flags | dialect_number(*dialect) << DIALECT);
        if let Some(Location { source, line, offset }) = *location {
            packer.difference(u64::from(source.0), &mut base.source);
            packer.difference(line, &mut base.line);
            packer.difference(offset, &mut base.offset);
        }
        packer.difference(time.unwrap_or(Time::NEVER).micros().cast_unsigned(), &mut base.time);
        packer.number(session.map_or(0, |session| session.get() as u64 + 1));
        packer.number(agent.map_or(0, |agent| agent.get() as u64 + 1));
        packer.maybe_name(version.as_ref());
        if branch.is_some() {
            packer.maybe_name(branch.as_ref());
        }
        packer.name(kind);
        packer.number(*bytes);
        pack_blocks(blocks, packer);
    }

    fn unpack(base: &mut Base, unpacker: &mut Unpacker<'_>) -> Self {
        let flags = unpacker.byte();
        let location = (flags & HAS_PLACE != 0).then(|| Location {
            source: SourceId(u32::try_from(unpacker.difference(&mut base.source)).unwrap_or(u32::MAX)),
            line: unpacker.difference(&mut base.line),
            offset: unpacker.difference(&mut base.offset),
        });
        let time = Time::from_micros(unpacker.difference(&mut base.time).cast_signed());
        let index = |number: u64| usize::try_from(number.checked_sub(1)?).ok();
        let context = Context {
            session: index(unpacker.number()).map(SessionIndex::new),
            agent: index(unpacker.number()).map(AgentIndex::new),
            time: Some(time).filter(|time| *time != Time::NEVER),
            location,
            version: unpacker.maybe_name(),
            branch: (flags & HAS_BRANCH != 0).then(|| unpacker.name()),
        };
        Self {
            context,
            kind: unpacker.name(),
            known: flags & KNOWN != 0,
            copy: flags & COPY != 0,
            dialect: Dialect::ALL[usize::from(flags >> DIALECT) % Dialect::ALL.len()],
            bytes: unpacker.number(),
            blocks: unpack_blocks(unpacker).into_vec(),
        }
    }
}
