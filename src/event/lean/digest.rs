//! Digests: the records of a lean log as totals need them.
//!
//! Reports of totals need the counts of kinds, the times of sessions, and what is counted once by its id: records,
//! responses and calls. A digest has these in columns, with the lines of a response and both halves of a call merged. It
//! precedes the chunks of the same records, so that such reports read nothing else. Records of any other form are an
//! ordinary chunk at the end of the digest.

mod writer;

pub use writer::DigestWriter;

use std::borrow::Cow;

use super::bytes::{Rest, unzigzag};
use crate::{
    event::{BlockId, BlockKind, Kind, KindId, Usage},
    measure::{Time, Version},
};

/// Maximum number of blocks of a record in a digest.
const MAX_BLOCKS: usize = 7;

/// Flags of a response.
const HAS_MODEL: u8 = 1;
const HAS_REQUESTED: u8 = 1 << 1;
const HAS_VERSION: u8 = 1 << 2;
const HAS_USAGE: u8 = 1 << 3;
const IS_STOPPED: u8 = 1 << 4;
const HAS_TIME: u8 = 1 << 5;
const HAS_AGENT: u8 = 1 << 6;

/// Flags of a call.
const IS_ASKED: u8 = 1;
const HAS_TOOL: u8 = 1 << 1;
const HAS_ASK_TIME: u8 = 1 << 2;
const IS_ANSWERED: u8 = 1 << 3;
const HAS_ANSWER_TIME: u8 = 1 << 4;
const IS_FAILED: u8 = 1 << 5;

/// A digest whose tables are read. All its records are of saved sessions.
#[derive(Clone, Debug)]
pub struct Digest<'a> {
    /// Texts that other tables and rows refer to by index.
    pub texts: Vec<&'a str>,
    /// Number of records by kind.
    pub kinds: Vec<(KindId, u64)>,
    /// Versions of the CLI that wrote records.
    pub versions: Vec<usize>,
    pub sessions: Vec<SessionDigest>,
    forms: Vec<RecordForm>,
    records: Column<'a>,
    /// The uuid of each record, in 16 bytes.
    uuids: &'a [u8],
    responses: Column<'a>,
    response_ids: &'a str,
    calls: Column<'a>,
    call_ids: &'a str,
    /// A chunk with the records that are not part of the digest, and the notes.
    pub others: &'a [u8],
}

/// Encoded rows.
#[derive(Clone, Copy, Debug)]
struct Column<'a> {
    count: usize,
    rows: &'a [u8],
}

/// The records of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionDigest {
    /// Index of its id; `None` for records without a session.
    pub id: Option<usize>,
    /// Earliest and latest time.
    pub times: Option<(Time, Time)>,
    /// Index of the first folder, and the offset of its record.
    pub cwd: Option<(usize, u64)>,
    /// Index of the first version, and the offset of its record.
    pub version: Option<(usize, u64)>,
}

/// Properties that many records share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordForm {
    /// Whether it is a prompt that a person typed.
    pub is_prompt: bool,
    pub blocks: Vec<BlockId>,
}

/// Lines of a response that agree in everything but usage and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseDigest<'a> {
    pub id: &'a str,
    /// Offset of the first line.
    pub offset: u64,
    /// Index of the session.
    pub session: usize,
    /// Indexes of texts.
    pub model: Option<usize>,
    pub requested: Option<usize>,
    pub version: Option<Version>,
    /// Maximum of each count.
    pub usage: Option<Usage>,
    pub is_stopped: bool,
    /// Earliest time.
    pub time: Option<Time>,
    pub agent: AgentDigest,
}

/// The subagent of a response, by the indexes of its texts. The default is the main agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentDigest {
    /// The call that started it.
    pub call: Option<usize>,
    pub id: Option<usize>,
    pub sidechain: bool,
}

/// One or both halves of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallDigest<'a> {
    pub id: &'a str,
    pub ask: Option<AskDigest>,
    pub answer: Option<AnswerDigest>,
}

/// A `tool_use`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskDigest {
    pub offset: u64,
    /// Index of the name of the tool.
    pub tool: Option<usize>,
    pub time: Option<Time>,
}

/// A `tool_result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerDigest {
    pub offset: u64,
    pub time: Option<Time>,
    pub is_failed: bool,
}

impl<'a> Digest<'a> {
    /// Reads the tables. `None` if the digest is damaged, or if it has a kind that this version does not know: then the
    /// records themselves have to be read.
    pub fn open(digest: &'a [u8]) -> Option<Self> {
        let mut rest = Rest(digest);
        let texts = rest.list(Rest::text)?;
        let text = |rest: &mut Rest<'a>| texts.get(rest.index()?).copied();
        let kinds = rest.list(|rest| {
            let kind = Cow::Borrowed(text(rest)?);
            let sub = rest.optional_index()?;
            let sub = sub.map(|at| texts.get(at).copied().map(Cow::Borrowed));
            let Kind::Known(id) = Kind::of(kind, sub.unwrap_or(None)) else { return None };
            Some((id, rest.number()?))
        })?;
        let versions = rest.list(Rest::index)?;
        let sessions = rest.list(SessionDigest::read)?;
        let forms = rest.list(|rest| {
            let is_prompt = rest.byte()? != 0;
            let blocks = rest.list(|rest| {
                let (role, kind) = (Cow::Borrowed(text(rest)?), Cow::Borrowed(text(rest)?));
                match BlockKind::of(&role, kind) {
                    BlockKind::Known(id) => Some(id),
                    BlockKind::Other { .. } => None,
                }
            })?;
            (blocks.len() <= MAX_BLOCKS).then_some(RecordForm { is_prompt, blocks })
        })?;
        let records = rest.column()?;
        let uuids = rest.take(records.count.checked_mul(16)?)?;
        let (responses, response_ids) = (rest.column()?, rest.text()?);
        let (calls, call_ids) = (rest.column()?, rest.text()?);
        let others = rest.0;
        Some(Self {
            texts,
            kinds,
            versions,
            sessions,
            forms,
            records,
            uuids,
            responses,
            response_ids,
            calls,
            call_ids,
            others,
        })
    }

    /// Hands over offset, uuid and form of each record with a uuid. `None` if the digest is damaged.
    pub fn each_record(&self, mut see: impl FnMut(u64, u128, &RecordForm)) -> Option<()> {
        let (mut rest, mut offset) = (Rest(self.records.rows), 0u64);
        for uuid in self.uuids.as_chunks().0 {
            offset = offset.checked_add(rest.number()?)?;
            let form = rest.index()?;
            see(offset, u128::from_be_bytes(*uuid), self.forms.get(form)?);
        }
        Some(())
    }

    /// Hands over each response. `None` if the digest is damaged.
    pub fn each_response(&self, mut see: impl FnMut(&ResponseDigest<'a>)) -> Option<()> {
        let (mut rest, mut offset, mut ids) = (Rest(self.responses.rows), 0u64, self.response_ids);
        let mut last_time = Delta::default();
        // Nearly all responses of a log have the same version.
        let mut parsed: Option<(usize, Option<Version>)> = None;
        for _ in 0..self.responses.count {
            let id = next_id(&mut ids, rest.index()?)?;
            offset = offset.checked_add(rest.number()?)?;
            let flags = rest.byte()?;
            let session = rest.index()?;
            let model = rest.index_if(flags & HAS_MODEL != 0)?;
            let requested = rest.index_if(flags & HAS_REQUESTED != 0)?;
            let version = match rest.index_if(flags & HAS_VERSION != 0)? {
                Some(at) => match parsed {
                    Some((known, version)) if known == at => version,
                    _ => parsed.insert((at, Version::parse(self.texts.get(at)?))).1,
                },
                None => None,
            };
            let usage = if flags & HAS_USAGE != 0 { Some(rest.usage()?) } else { None };
            let is_stopped = flags & IS_STOPPED != 0;
            let time = last_time.read_time(&mut rest, flags & HAS_TIME != 0)?;
            let agent =
                if flags & HAS_AGENT != 0 { AgentDigest::read(&mut rest)? } else { AgentDigest::default() };
            see(&ResponseDigest {
                id,
                offset,
                session,
                model,
                requested,
                version,
                usage,
                is_stopped,
                time,
                agent,
            });
        }
        Some(())
    }

    /// Hands over each call. `None` if the digest is damaged.
    pub fn each_call(&self, mut see: impl FnMut(&CallDigest<'a>)) -> Option<()> {
        let (mut rest, mut at, mut ids) = (Rest(self.calls.rows), CallCursor::default(), self.call_ids);
        for _ in 0..self.calls.count {
            let id = next_id(&mut ids, rest.index()?)?;
            let flags = rest.byte()?;
            let (mut ask, mut answer) = (None, None);
            if flags & IS_ASKED != 0 {
                let (offset, time) = at.read(&mut rest, flags & HAS_ASK_TIME != 0)?;
                ask = Some(AskDigest { offset, tool: rest.index_if(flags & HAS_TOOL != 0)?, time });
            }
            if flags & IS_ANSWERED != 0 {
                let (offset, time) = at.read(&mut rest, flags & HAS_ANSWER_TIME != 0)?;
                answer = Some(AnswerDigest { offset, time, is_failed: flags & IS_FAILED != 0 });
            }
            see(&CallDigest { id, ask, answer });
        }
        Some(())
    }
}

impl AgentDigest {
    fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let sidechain = rest.byte()? != 0;
        Some(Self { sidechain, call: rest.optional_index()?, id: rest.optional_index()? })
    }
}

impl SessionDigest {
    fn read(rest: &mut Rest<'_>) -> Option<Self> {
        let id = rest.optional_index()?;
        let mut times = None;
        if rest.byte()? != 0 {
            let first = unzigzag(rest.number()?);
            let last = first.wrapping_add(unzigzag(rest.number()?));
            times = Some((Time::from_micros(first), Time::from_micros(last)));
        }
        let mut placed = || {
            Some(match rest.optional_index()? {
                Some(index) => Some((index, rest.number()?)),
                None => None,
            })
        };
        Some(Self { id, times, cwd: placed()?, version: placed()? })
    }
}

/// A number of a column, as its difference to the one before. Keeps that one.
#[derive(Clone, Copy, Debug, Default)]
struct Delta(i64);

impl Delta {
    #[inline]
    fn read(&mut self, rest: &mut Rest<'_>) -> Option<i64> {
        self.0 = self.0.wrapping_add(unzigzag(rest.number()?));
        Some(self.0)
    }

    /// Reads a time, if there is one. The outer `None` is a damage.
    #[inline]
    #[expect(clippy::option_option, reason = "the outer one is a damage")]
    fn read_time(&mut self, rest: &mut Rest<'_>, has_time: bool) -> Option<Option<Time>> {
        if has_time { Some(Some(Time::from_micros(self.read(rest)?))) } else { Some(None) }
    }
}

/// The last offset and time of the column of calls.
#[derive(Clone, Copy, Debug, Default)]
struct CallCursor {
    offset: Delta,
    time: Delta,
}

impl CallCursor {
    #[inline]
    fn read(&mut self, rest: &mut Rest<'_>, has_time: bool) -> Option<(u64, Option<Time>)> {
        Some((self.offset.read(rest)?.cast_unsigned(), self.time.read_time(rest, has_time)?))
    }
}

/// Takes an id of this length from the start of all ids.
fn next_id<'a>(ids: &mut &'a str, length: usize) -> Option<&'a str> {
    let (id, rest) = ids.split_at_checked(length)?;
    *ids = rest;
    Some(id)
}

impl<'a> Rest<'a> {
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.index()?;
        let mut all = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            all.push(read(self)?);
        }
        Some(all)
    }

    fn column(&mut self) -> Option<Column<'a>> {
        Some(Column { count: self.index()?, rows: self.slice()? })
    }

    /// An index plus one, or 0 for none. The outer `None` is a damage.
    #[expect(clippy::option_option, reason = "the outer one is a damage")]
    fn optional_index(&mut self) -> Option<Option<usize>> {
        Some(self.index()?.checked_sub(1))
    }

    /// An index, if this flag is set. The outer `None` is a damage.
    #[inline]
    #[expect(clippy::option_option, reason = "the outer one is a damage")]
    fn index_if(&mut self, is_set: bool) -> Option<Option<usize>> {
        if is_set { Some(Some(self.index()?)) } else { Some(None) }
    }
}
