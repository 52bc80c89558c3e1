//! Reads chunks of lean logs: a table of texts, then records that are decoded straight into events.
//!
//! A chunk is complete by itself. Numbers are LEB128; texts are in the table if they repeat. Only records of messages and those
//! that are counted alone have the compact form, since nothing but their fields is needed; all others are JSON.
//!
//! Half of the records of a saved session are only counted. They are a stream of their own, behind the others, which has
//! tallies of them. So most reports do not read them at all.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{
    Gap,
    bytes::{Rest, unzigzag, write_uuid},
    form::{
        BLOCKS_SHIFT, CALL, FORM, HAS_API_ERROR, HAS_CONTEXT, HAS_CWD, HAS_EFFORT, HAS_GAP, HAS_ID,
        HAS_MCP_SERVER, HAS_MODEL, HAS_ODD_UUID, HAS_REQUEST, HAS_REQUEST_RECORD, HAS_REQUEST_SESSION,
        HAS_REQUESTED, HAS_RESPONSE, HAS_SKILL, HAS_STOP_REASON, HAS_TEXT, HAS_TIME, HAS_USAGE, HAS_UUID,
        HAS_VERSION, IS_DENIED, IS_ERROR, IS_PROMPT, IS_STOPPED, JSON, MESSAGE, NO_PART, NOTE, OWN_VERSION,
        PART, PART_CONTENT, PART_DECISION, PART_ID, PART_INPUT, PART_OUTCOME, PART_REFUSAL, PART_TOOL, PLAIN,
        RECORD_VERSION, SAME_ID, SAME_REQUEST, SERVER, Shared, TALLY,
    },
};
use crate::{
    event::{
        Agent, Block, BlockKind, Body, Dialect, Event, Kind, Message, Response, Text, ToolPart, ToolResult,
        ToolUse,
    },
    measure::{Time, Version},
};

/// A position in the original log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub offset: u64,
    pub line: u64,
}

impl Position {
    /// Moves over a gap, and returns the start of a record. It is behind the record then.
    fn pass(&mut self, gap: Gap, bytes: u64) -> Self {
        let start =
            Self { offset: self.offset.saturating_add(gap.bytes), line: self.line.saturating_add(gap.lines) };
        *self = Self { offset: start.offset.saturating_add(bytes), line: start.line };
        start
    }
}

/// Receives the content of a chunk, in the order of the log.
pub trait Visitor {
    /// A compact record, with its lengths in the log.
    fn record(&mut self, at: Position, event: &mut Event<'_>);
    /// A lean record as JSON, which begins with its sizes.
    fn json(&mut self, at: Position, line: &[u8]);
    /// A note.
    fn note(&mut self, line: &[u8]);
    /// So many records that are only counted, if records are folded.
    fn tally(&mut self, at: Position, event: &Event<'_>, count: u64);
}

/// A chunk that was not written like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Reads a chunk that begins at this position, and moves the position to its end. What precedes a damage is handed over.
///
/// If records are folded, those that are only counted come as tallies.
pub fn read_chunk(
    chunk: &[u8],
    position: &mut Position,
    folded: bool,
    visitor: &mut impl Visitor,
) -> Result<(), Damaged> {
    let mut read = || {
        let mut reader = ChunkReader::open(chunk, *position)?;
        *position = reader.end;
        if folded { reader.read_folded(visitor) } else { reader.read_all(visitor) }
    };
    read().ok_or(Damaged)
}

struct ChunkReader<'a> {
    rest: Rest<'a>,
    /// Records that are only counted.
    counted: Rest<'a>,
    /// End of the chunk in the log.
    end: Position,
    /// Ends of the last record of each stream.
    last: Position,
    last_counted: Position,
    texts: Vec<&'a str>,
    kinds: Vec<Kind<'a>>,
    blocks: Vec<BlockKind<'a>>,
    shared: Shared<'a>,
    dialect: Dialect,
    /// The version of the shared fields.
    version: Option<Version>,
    time: i64,
    counted_time: i64,
    /// Id of the last response, and of its request.
    response: Option<&'a str>,
    request: Option<&'a str>,
}

impl<'a> ChunkReader<'a> {
    fn open(chunk: &'a [u8], start: Position) -> Option<Self> {
        let mut rest = Rest(chunk);
        let count = rest.index()?;
        let mut texts = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            texts.push(rest.text()?);
        }
        let pair = |rest: &mut Rest<'a>| {
            let first = *texts.get(rest.index()?)?;
            let second = rest.index()?.checked_sub(1).map(|at| texts.get(at).copied());
            match second {
                None => Some((first, None)),
                Some(second) => Some((first, Some(second?))),
            }
        };
        let (mut kinds, mut blocks) = (Vec::new(), Vec::new());
        for _ in 0..rest.index()? {
            let (kind, sub) = pair(&mut rest)?;
            kinds.push(Kind::of(kind.into(), sub.map(Cow::Borrowed)));
        }
        for _ in 0..rest.index()? {
            let (role, kind) = pair(&mut rest)?;
            blocks.push(BlockKind::of(&role.into(), kind?.into()));
        }
        let mut end = start;
        end.pass(Gap { bytes: rest.number()?, lines: rest.number()? }, 0);
        let length = rest.index()?;
        let records = rest.take(length)?;
        Some(Self {
            rest: Rest(records),
            counted: rest,
            end,
            last: start,
            last_counted: start,
            texts,
            kinds,
            blocks,
            shared: Shared::default(),
            dialect: Dialect::Stream,
            version: None,
            time: 0,
            counted_time: 0,
            response: None,
            request: None,
        })
    }

    /// Reads the records, with tallies of those that are only counted.
    fn read_folded(&mut self, visitor: &mut impl Visitor) -> Option<()> {
        while !self.rest.0.is_empty() {
            let head = self.rest.byte()?;
            match head {
                TALLY => self.tally(Some(visitor))?,
                _ => {
                    let gap = gap(&mut self.rest, head)?;
                    self.record(head, gap, visitor)?;
                }
            }
        }
        Some(())
    }

    /// Reads all records, in the order of the log.
    fn read_all(&mut self, visitor: &mut impl Visitor) -> Option<()> {
        let mut next = None;
        while !self.counted.0.is_empty() {
            let head = self.counted.byte()?;
            let own = gap(&mut self.counted, head)?;
            let start = self.last_counted.offset.saturating_add(own.bytes);
            while self.is_before(start, &mut next)? {
                let (head, gap) = next.take()?;
                self.record(head, gap, visitor)?;
            }
            self.counted(head, own, visitor)?;
        }
        while self.is_before(u64::MAX, &mut next)? {
            let (head, gap) = next.take()?;
            self.record(head, gap, visitor)?;
        }
        Some(())
    }

    /// Whether the next record begins before this offset. Passes over tallies. The outer `None` is a damage.
    fn is_before(&mut self, offset: u64, next: &mut Option<(u8, Gap)>) -> Option<bool> {
        while next.is_none() && !self.rest.0.is_empty() {
            let head = self.rest.byte()?;
            match head {
                TALLY => self.tally(None::<&mut Nobody>)?,
                _ => *next = Some((head, gap(&mut self.rest, head)?)),
            }
        }
        Some(next.is_some_and(|(_, gap)| self.last.offset.saturating_add(gap.bytes) < offset))
    }

    /// Reads the record with this head.
    #[inline]
    fn record(&mut self, head: u8, gap: Gap, visitor: &mut impl Visitor) -> Option<()> {
        match head & FORM {
            NOTE => visitor.note(self.rest.slice()?),
            JSON => {
                let bytes = self.rest.number()?;
                let at = self.last.pass(gap, bytes);
                visitor.json(at, self.rest.slice()?);
            }
            _ => self.compact(head, gap, visitor)?,
        }
        Some(())
    }

    /// Reads a record that is only counted.
    fn counted(&mut self, head: u8, gap: Gap, visitor: &mut impl Visitor) -> Option<()> {
        let kind = self.counted.index()?;
        let kind: Kind<'a> = self.kinds.get(kind)?.clone();
        let bytes = self.counted.number()?;
        let mut time = None;
        if head & HAS_TIME != 0 {
            self.counted_time = self.counted_time.wrapping_add(unzigzag(self.counted.number()?));
            time = Some(Time::from_micros(self.counted_time));
        }
        let at = self.last_counted.pass(gap, bytes);
        let text = if head & HAS_TEXT != 0 { *self.texts.get(self.counted.index()?)? } else { "" };
        let mut event = self.counted_event(kind, time, bytes);
        event.text = text;
        event.version = borrowed(self.shared.version.filter(|_| head & HAS_VERSION != 0));
        event.cwd = borrowed(self.shared.cwd.filter(|_| head & HAS_CWD != 0));
        visitor.record(at, &mut event);
        Some(())
    }

    /// Reads a tally of the records before, and hands it over.
    fn tally(&mut self, mut visitor: Option<&mut impl Visitor>) -> Option<()> {
        let mut times = None;
        if self.rest.byte()? != 0 {
            let first = unzigzag(self.rest.number()?);
            let last = first.wrapping_add(unzigzag(self.rest.number()?));
            times = Some((Time::from_micros(first), Time::from_micros(last)));
        }
        let mut first = times.map(|(first, _)| first);
        for _ in 0..self.rest.index()? {
            let kind = self.rest.index()?;
            let kind: &Kind<'a> = self.kinds.get(kind)?;
            let mut count = self.rest.number()?;
            let Some(visitor) = &mut visitor else { continue };
            let mut hand_over = |time: Option<Time>, count: u64| {
                if count > 0 {
                    visitor.tally(self.last, &self.counted_event(kind.clone(), time, 0), count);
                }
            };
            // One record has the earliest time, and the others the latest.
            if count > 0 && first.is_some() {
                hand_over(first.take(), 1);
                count -= 1;
            }
            hand_over(times.map(|(_, last)| last), count);
        }
        Some(())
    }

    /// A record that is only counted: nothing but its kind, time and session is known.
    fn counted_event<'s>(&self, kind: Kind<'s>, time: Option<Time>, bytes: u64) -> Event<'s>
    where
        'a: 's,
    {
        let session = borrowed(self.shared.session);
        Event { kind, dialect: self.dialect, session, time, bytes, ..Event::blank() }
    }

    /// A record without content of its own, with the shared fields.
    fn plain<'s>(&self, kind: Kind<'s>, time: Option<Time>, bytes: u64) -> Event<'s>
    where
        'a: 's,
    {
        let shared = self.shared;
        Event {
            kind,
            dialect: self.dialect,
            uuid: None,
            session: borrowed(shared.session),
            time,
            version: borrowed(shared.version),
            prompt: false,
            cwd: borrowed(shared.cwd),
            branch: borrowed(shared.branch),
            agent: Agent {
                call: borrowed(shared.agent_call),
                id: borrowed(shared.agent_id),
                kind: borrowed(shared.agent_kind),
                sidechain: shared.is_sidechain,
            },
            text: "",
            bytes,
            body: Body::Plain,
        }
    }

    /// A text of the table.
    #[inline]
    fn known(&mut self) -> Option<&'a str> {
        let index = self.rest.index()?;
        self.texts.get(index).copied()
    }

    /// A text of the table, if this flag is set. The outer `None` is a damage.
    #[inline]
    fn known_if(&mut self, is_set: bool) -> Option<Option<&'a str>> {
        if is_set { Some(Some(self.known()?)) } else { Some(None) }
    }

    fn text_if(&mut self, is_set: bool) -> Option<Option<&'a str>> {
        if is_set { Some(Some(self.rest.text()?)) } else { Some(None) }
    }

    fn share(&mut self) -> Option<()> {
        let flags = self.rest.number()?;
        let flag = |bit: u32| flags >> bit & 1 != 0;
        let dialect = self.rest.byte()?;
        self.dialect = *Dialect::ALL.get(usize::from(dialect))?;
        self.shared = Shared {
            dialect,
            is_sidechain: flag(0),
            session: self.known_if(flag(1))?,
            version: self.known_if(flag(2))?,
            cwd: self.known_if(flag(3))?,
            agent_call: self.known_if(flag(4))?,
            agent_id: self.known_if(flag(5))?,
            agent_kind: self.known_if(flag(6))?,
            branch: self.known_if(flag(7))?,
        };
        self.version = self.shared.version.and_then(Version::parse);
        Some(())
    }

    #[inline]
    fn compact(&mut self, head: u8, gap: Gap, visitor: &mut impl Visitor) -> Option<()> {
        if head & HAS_CONTEXT != 0 {
            self.share()?;
        }
        let kind = self.rest.index()?;
        let kind: Kind<'a> = self.kinds.get(kind)?.clone();
        let bytes = self.rest.number()?;
        let mut digits = [0; 36];
        let uuid = match head & (HAS_UUID | HAS_ODD_UUID) {
            0 => None,
            HAS_UUID => {
                write_uuid(self.rest.take(16)?.try_into().ok()?, &mut digits);
                Some(std::str::from_utf8(&digits).ok()?)
            }
            _ => Some(self.rest.text()?),
        };
        let mut time = None;
        if head & HAS_TIME != 0 {
            self.time = self.time.wrapping_add(unzigzag(self.rest.number()?));
            time = Some(Time::from_micros(self.time));
        }
        let mut event = self.plain(kind, time, bytes);
        event.uuid = borrowed(uuid);
        if head & FORM == PLAIN && head & HAS_TEXT != 0 {
            event.text = self.known()?;
        }
        if head & FORM == MESSAGE {
            event.prompt = head & IS_PROMPT != 0;
            event.body = Body::Message(self.message()?);
        }
        visitor.record(self.last.pass(gap, bytes), &mut event);
        Some(())
    }

    #[inline]
    fn message<'s>(&mut self) -> Option<Message<'s>>
    where
        'a: 's,
    {
        let flags = self.rest.number()?;
        let mut message = Message::default();
        if flags & HAS_RESPONSE != 0 {
            message.response = Some(self.response()?);
        }
        message.api_error = borrowed(self.known_if(flags & HAS_API_ERROR != 0)?);
        message.blocks = self.blocks(flags >> BLOCKS_SHIFT)?;
        Some(message)
    }

    fn response(&mut self) -> Option<Response<'a>> {
        let flags = self.rest.number()?;
        let has = |flag: u64| flags & flag != 0;
        if has(HAS_ID) {
            self.response = Some(self.rest.text()?);
        }
        let id = if has(HAS_ID | SAME_ID) { self.response } else { None };
        let model = self.known_if(has(HAS_MODEL))?;
        let requested = self.known_if(has(HAS_REQUESTED))?;
        let usage = if has(HAS_USAGE) { Some(self.rest.usage()?) } else { None };
        let request_session = self.known_if(has(HAS_REQUEST_SESSION))?;
        let version = match () {
            () if has(RECORD_VERSION) => self.version,
            () if has(OWN_VERSION) => Some(Version::parse(self.known()?)?),
            () => None,
        };
        let stop_reason = borrowed(self.known_if(has(HAS_STOP_REASON))?);
        if has(HAS_REQUEST) {
            self.request = Some(self.rest.text()?);
        }
        let request = borrowed(self.request.filter(|_| has(HAS_REQUEST | SAME_REQUEST)));
        let request_record = borrowed(self.text_if(has(HAS_REQUEST_RECORD))?);
        let effort = borrowed(self.known_if(has(HAS_EFFORT))?);
        let skill = borrowed(self.known_if(has(HAS_SKILL))?);
        let mcp_server = borrowed(self.known_if(has(HAS_MCP_SERVER))?);
        Some(Response {
            effort,
            skill,
            mcp_server,
            stop_reason,
            request,
            request_record,
            id: borrowed(id),
            model: borrowed(model),
            requested: borrowed(requested),
            usage,
            stopped: has(IS_STOPPED),
            request_session: borrowed(request_session),
            version,
        })
    }

    fn blocks<'s>(&mut self, count: u64) -> Option<SmallVec<[Block<'s>; 1]>>
    where
        'a: 's,
    {
        let mut blocks = SmallVec::new();
        for _ in 0..count {
            let flags = self.rest.number()?;
            let kind = self.rest.index()?;
            let kind: BlockKind<'s> = self.blocks.get(kind)?.clone();
            let bytes = self.rest.number()?;
            blocks.push(Block { kind, tool_part: self.part(flags)?, bytes });
        }
        Some(blocks)
    }

    fn part(&mut self, flags: u64) -> Option<ToolPart<'a>> {
        let has = |flag: u64| flags & flag != 0;
        Some(match flags & PART {
            NO_PART => ToolPart::None,
            CALL => ToolPart::Call(ToolUse {
                id: borrowed(self.text_if(has(PART_ID))?),
                tool: borrowed(self.known_if(has(PART_TOOL))?),
                input: self.text_if(has(PART_INPUT))?,
            }),
            SERVER => ToolPart::Server(borrowed(self.known_if(has(PART_TOOL))?)),
            _ => ToolPart::Result(ToolResult {
                id: borrowed(self.text_if(has(PART_ID))?),
                is_error: has(IS_ERROR),
                denied: has(IS_DENIED),
                bytes: self.rest.number()?,
                content: self.text_if(has(PART_CONTENT))?,
                outcome: self.text_if(has(PART_OUTCOME))?,
                decision: self.known_if(has(PART_DECISION))?,
                refusal: self.known_if(has(PART_REFUSAL))?,
            }),
        })
    }
}

/// The distance of a record from the one before it.
#[inline]
fn gap(rest: &mut Rest<'_>, head: u8) -> Option<Gap> {
    if head & HAS_GAP == 0 {
        return Some(Gap::LINE);
    }
    Some(Gap { bytes: rest.number()?, lines: rest.number()? })
}

/// Receives nothing.
struct Nobody;

impl Visitor for Nobody {
    fn record(&mut self, _at: Position, _event: &mut Event<'_>) {}
    fn json(&mut self, _at: Position, _line: &[u8]) {}
    fn note(&mut self, _line: &[u8]) {}
    fn tally(&mut self, _at: Position, _event: &Event<'_>, _count: u64) {}
}

#[inline]
fn borrowed(text: Option<&str>) -> Option<Text<'_>> {
    text.map(Cow::Borrowed)
}
