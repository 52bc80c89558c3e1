//! Writes chunks of lean logs.

use std::collections::{BTreeMap, HashMap};

use super::{
    Gap,
    bytes::{put_number, put_slice, put_usage, zigzag},
    chunk::Position,
    exact::{kept_text, traced_if_exact},
    form::{
        BLOCKS_SHIFT, CALL, HAS_API_ERROR, HAS_CONTEXT, HAS_CWD, HAS_EFFORT, HAS_GAP, HAS_ID, HAS_MCP_SERVER,
        HAS_MODEL, HAS_ODD_UUID, HAS_REQUEST, HAS_REQUEST_RECORD, HAS_REQUEST_SESSION, HAS_REQUESTED,
        HAS_RESPONSE, HAS_SKILL, HAS_STOP_REASON, HAS_TEXT, HAS_TIME, HAS_USAGE, HAS_UUID, HAS_VERSION,
        IS_DENIED, IS_ERROR, IS_PROMPT, IS_STOPPED, JSON, MESSAGE, NO_PART, NOTE, OWN_VERSION, PART_CONTENT,
        PART_DECISION, PART_ID, PART_INPUT, PART_OUTCOME, PART_REFUSAL, PART_TOOL, PLAIN, RECORD_VERSION,
        RESULT, SAME_ID, SAME_REQUEST, SERVER, TALLY,
    },
};
use crate::{
    event::{Agent, BlockKind, Body, Dialect, Event, Kind, Message, Response, Text, ToolPart, ToolResult},
    measure::{Time, Version},
};

/// Size of a chunk in bytes, without its tables. Larger ones do not compress better.
const CHUNK_BYTES: usize = 192 << 10;

/// Collects the records of a chunk.
#[derive(Clone, Debug, Default)]
pub struct ChunkWriter {
    texts: Table<String>,
    kinds: Table<(usize, usize)>,
    blocks: Table<(usize, usize)>,
    records: Vec<u8>,
    /// Records that are only counted.
    counted: Vec<u8>,
    tally: Tally,
    /// End of the records of earlier chunks, of the last record of each stream, and of all.
    start: Position,
    last: Position,
    last_counted: Position,
    end: Position,
    /// Shared fields of the last record, in their written form.
    shared: Option<Vec<u8>>,
    /// Those that a record of a saved session may repeat or leave out without any news.
    seen: Option<Seen>,
    time: i64,
    counted_time: i64,
    response: Option<String>,
    request: Option<String>,
}

/// Fields of the last record that has its own place in the chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    session: Option<String>,
    version: Option<String>,
    cwd: Option<String>,
}

impl Seen {
    fn of(event: &Event<'_>) -> Self {
        let own = |text: &Option<Text<'_>>| text.as_deref().map(str::to_owned);
        Self { session: own(&event.session), version: own(&event.version), cwd: own(&event.cwd) }
    }
}

/// Counts of records that are only counted, since the last tally.
#[derive(Clone, Debug, Default)]
struct Tally {
    kinds: BTreeMap<usize, u64>,
    /// Earliest and latest time.
    times: Option<(i64, i64)>,
}

/// Distinct values and their numbers.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    numbers: HashMap<T, usize>,
    pub(super) values: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Table<T> {
    pub(super) fn number(&mut self, value: T) -> usize {
        *self.numbers.entry(value.clone()).or_insert_with(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

impl ChunkWriter {
    /// Adds a record. Returns whether that was possible: the compact form has no text of the record, and the reports
    /// may need it.
    pub fn record(&mut self, at: Position, event: &Event<'_>) -> bool {
        let Some(is_traced) = traced_if_exact(event) else { return false };
        if is_traced || !self.count_only(at, event) {
            self.push(at, event);
        }
        true
    }

    /// Adds a lean record as JSON. Its length in the log is `bytes`.
    pub fn json(&mut self, at: Position, bytes: u64, line: &str) {
        let gap = passed(&mut self.last, at, bytes);
        self.end = self.end.max(self.last);
        self.records.push(if gap == Gap::LINE { JSON } else { JSON | HAS_GAP });
        self.gap(gap);
        self.count(bytes);
        self.text(line);
    }

    /// Adds a note.
    pub fn note(&mut self, line: &str) {
        self.records.push(NOTE);
        self.text(line);
    }

    /// Whether it is time to take the chunk.
    pub fn is_full(&self) -> bool {
        self.records.len() + self.counted.len() >= CHUNK_BYTES
    }

    /// The chunk. The next one follows it in the log.
    pub fn take(&mut self) -> Vec<u8> {
        self.flush_tally();
        let end = self.end;
        let next = Self { start: end, last: end, last_counted: end, end, ..Self::default() };
        let Self { texts, kinds, blocks, records, counted, start, .. } = std::mem::replace(self, next);
        let mut chunk = Self::default();
        chunk.number(texts.values.len());
        texts.values.iter().for_each(|text| chunk.text(text));
        for table in [kinds, blocks] {
            chunk.number(table.values.len());
            for (first, second) in table.values {
                chunk.number(first);
                chunk.number(second);
            }
        }
        chunk.count(end.offset - start.offset);
        chunk.count(end.line - start.line);
        chunk.number(records.len());
        chunk.records.extend(records);
        chunk.records.extend(counted);
        chunk.records
    }

    /// Adds a record to those that are only counted, if nothing but its kind and time is new. Returns whether it did.
    fn count_only(&mut self, at: Position, event: &Event<'_>) -> bool {
        let is_plain = matches!((&event.body, &event.kind), (Body::Plain, Kind::Known(_)))
            && event.dialect == Dialect::Transcript
            && event.uuid.is_none()
            && !event.prompt
            && event.branch.is_none()
            && event.agent == Agent::default();
        let own = Seen::of(event);
        let is_known = self.seen.as_ref().is_some_and(|seen| {
            own.session == seen.session
                && (own.version.is_none() || own.version == seen.version)
                && (own.cwd.is_none() || own.cwd == seen.cwd)
        });
        if !is_plain || !is_known {
            return false;
        }
        let kind = self.kind(&event.kind);
        *self.tally.kinds.entry(kind).or_default() += 1;
        let records = std::mem::take(&mut self.counted);
        let records = std::mem::replace(&mut self.records, records);
        let gap = passed(&mut self.last_counted, at, event.bytes);
        self.end = self.end.max(self.last_counted);
        let mut head = if gap == Gap::LINE { PLAIN } else { PLAIN | HAS_GAP };
        head |= if event.version.is_some() { HAS_VERSION } else { 0 };
        head |= if event.cwd.is_some() { HAS_CWD } else { 0 };
        let start = self.records.len();
        self.records.push(head);
        self.gap(gap);
        self.number(kind);
        self.count(event.bytes);
        if let Some(time) = event.time.map(Time::micros) {
            head |= HAS_TIME;
            self.count(zigzag(time.wrapping_sub(self.counted_time)));
            self.counted_time = time;
            let (first, last) = self.tally.times.unwrap_or((time, time));
            self.tally.times = Some((first.min(time), last.max(time)));
        }
        if let Some(text) = kept_text(event) {
            head |= HAS_TEXT;
            self.known(&text);
        }
        self.records[start] = head;
        self.counted = std::mem::replace(&mut self.records, records);
        true
    }

    /// Writes the tally of the records that have the shared fields up to here.
    fn flush_tally(&mut self) {
        let Tally { kinds, times } = std::mem::take(&mut self.tally);
        if kinds.is_empty() {
            return;
        }
        self.records.extend([TALLY, u8::from(times.is_some())]);
        if let Some((first, last)) = times {
            self.count(zigzag(first));
            self.count(zigzag(last.wrapping_sub(first)));
        }
        self.number(kinds.len());
        for (kind, count) in kinds {
            self.number(kind);
            self.count(count);
        }
    }

    fn gap(&mut self, gap: Gap) {
        if gap != Gap::LINE {
            self.count(gap.bytes);
            self.count(gap.lines);
        }
    }

    fn number(&mut self, number: usize) {
        self.count(number as u64);
    }

    fn count(&mut self, number: u64) {
        put_number(&mut self.records, number);
    }

    fn text(&mut self, text: &str) {
        put_slice(&mut self.records, text.as_bytes());
    }

    fn text_if(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn known(&mut self, text: &str) {
        let number = self.texts.number(text.to_owned());
        self.number(number);
    }

    fn known_if(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.known(text);
        }
    }

    /// Adds a record in its compact form, whether or not that is exact.
    pub(super) fn push(&mut self, at: Position, event: &Event<'_>) {
        let shared = self.shared_fields(event);
        let has_news = self.shared.as_ref() != Some(&shared);
        if has_news {
            self.flush_tally();
        }
        let start = self.records.len();
        let mut head = if matches!(event.body, Body::Message(_)) { MESSAGE } else { PLAIN };
        self.records.push(head);
        let gap = passed(&mut self.last, at, event.bytes);
        self.end = self.end.max(self.last);
        self.gap(gap);
        if gap != Gap::LINE {
            head |= HAS_GAP;
        }
        if has_news {
            head |= HAS_CONTEXT;
            self.records.extend(&shared);
            self.shared = Some(shared);
            self.seen = (event.dialect == Dialect::Transcript).then(|| Seen::of(event));
        }
        let kind = self.kind(&event.kind);
        self.number(kind);
        self.count(event.bytes);
        if let Some(uuid) = event.uuid.as_deref() {
            match uuid_bytes(uuid) {
                Some(bytes) => {
                    head |= HAS_UUID;
                    self.records.extend(bytes);
                }
                None => {
                    head |= HAS_ODD_UUID;
                    self.text(uuid);
                }
            }
        }
        if let Some(time) = event.time {
            head |= HAS_TIME;
            self.count(zigzag(time.micros().wrapping_sub(self.time)));
            self.time = time.micros();
        }
        if event.prompt {
            head |= IS_PROMPT;
        }
        if let Some(text) = kept_text(event) {
            head |= HAS_TEXT;
            self.known(&text);
        }
        self.records[start] = head;
        if let Body::Message(message) = &event.body {
            self.message(message, event.version.as_deref());
        }
    }

    /// The shared fields of a record, as they are written.
    fn shared_fields(&mut self, event: &Event<'_>) -> Vec<u8> {
        let start = self.records.len();
        let Agent { call, id, kind, sidechain } = &event.agent;
        let texts = [&event.session, &event.version, &event.cwd, call, id, kind, &event.branch];
        let flags = texts.iter().enumerate().map(|(at, text)| u64::from(text.is_some()) << (at + 1));
        self.count(flags.sum::<u64>() | u64::from(*sidechain));
        self.records.push(event.dialect as u8);
        texts.into_iter().for_each(|text| self.known_if(text.as_deref()));
        self.records.split_off(start)
    }

    fn pair(&mut self, first: &str, second: Option<&str>) -> (usize, usize) {
        let first = self.texts.number(first.to_owned());
        (first, second.map_or(0, |second| self.texts.number(second.to_owned()) + 1))
    }

    fn kind(&mut self, kind: &Kind<'_>) -> usize {
        let pair = match kind {
            Kind::Known(id) => {
                let name = id.row().name;
                let (kind, sub) = name.split_once('/').map_or((name, None), |(kind, sub)| (kind, Some(sub)));
                self.pair(kind, sub)
            }
            Kind::Other { kind, sub } => self.pair(kind, sub.as_deref()),
        };
        self.kinds.number(pair)
    }

    fn message(&mut self, message: &Message<'_>, version: Option<&str>) {
        let Message { blocks, response, api_error } = message;
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let flags = flag(response.is_some(), HAS_RESPONSE) | flag(api_error.is_some(), HAS_API_ERROR);
        self.count(flags | (blocks.len() as u64) << BLOCKS_SHIFT);
        if let Some(response) = response {
            self.response(response, version.and_then(Version::parse));
        }
        self.known_if(api_error.as_deref());
        for block in blocks {
            let flags = part_flags(&block.tool_part);
            self.count(flags);
            let pair = match &block.kind {
                BlockKind::Known(id) => self.pair(id.role(), Some(id.kind())),
                BlockKind::Other { role, kind } => self.pair(role, Some(kind)),
            };
            let kind = self.blocks.number(pair);
            self.number(kind);
            self.count(block.bytes);
            self.part(&block.tool_part);
        }
    }

    fn response(&mut self, response: &Response<'_>, record_version: Option<Version>) {
        let Response {
            id,
            model,
            requested,
            usage,
            stopped,
            stop_reason,
            request,
            request_record,
            request_session,
            version,
            effort,
            skill,
            mcp_server,
        } = response;
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let same = id.is_some() && self.response.as_deref() == id.as_deref();
        let same_request = request.is_some() && self.request.as_deref() == request.as_deref();
        let own_version = version.filter(|_| *version != record_version);
        let flags = flag(same, SAME_ID)
            | flag(id.is_some() && !same, HAS_ID)
            | flag(model.is_some(), HAS_MODEL)
            | flag(requested.is_some(), HAS_REQUESTED)
            | flag(usage.is_some(), HAS_USAGE)
            | flag(*stopped, IS_STOPPED)
            | flag(request_session.is_some(), HAS_REQUEST_SESSION)
            | flag(version.is_some() && own_version.is_none(), RECORD_VERSION)
            | flag(own_version.is_some(), OWN_VERSION)
            | flag(stop_reason.is_some(), HAS_STOP_REASON)
            | flag(same_request, SAME_REQUEST)
            | flag(request.is_some() && !same_request, HAS_REQUEST)
            | flag(request_record.is_some(), HAS_REQUEST_RECORD)
            | flag(effort.is_some(), HAS_EFFORT)
            | flag(skill.is_some(), HAS_SKILL)
            | flag(mcp_server.is_some(), HAS_MCP_SERVER);
        self.count(flags);
        if let Some(id) = id.as_deref().filter(|_| !same) {
            self.text(id);
            self.response = Some(id.to_owned());
        }
        self.known_if(model.as_deref());
        self.known_if(requested.as_deref());
        if let Some(usage) = usage {
            put_usage(&mut self.records, usage);
        }
        self.known_if(request_session.as_deref());
        self.known_if(own_version.map(|version| version.to_string()).as_deref());
        self.known_if(stop_reason.as_deref());
        if let Some(request) = request.as_deref().filter(|_| !same_request) {
            self.text(request);
            self.request = Some(request.to_owned());
        }
        self.text_if(request_record.as_deref());
        [effort, skill, mcp_server].into_iter().for_each(|name| self.known_if(name.as_deref()));
    }

    fn part(&mut self, part: &ToolPart<'_>) {
        match part {
            ToolPart::None => {}
            ToolPart::Call(call) => {
                self.text_if(call.id.as_deref());
                self.known_if(call.tool.as_deref());
                self.text_if(call.input);
            }
            ToolPart::Server(tool) => self.known_if(tool.as_deref()),
            ToolPart::Result(result) => {
                let ToolResult { id, is_error: _, denied: _, content, bytes, outcome, decision, refusal } =
                    result;
                self.text_if(id.as_deref());
                self.count(*bytes);
                self.text_if(*content);
                self.text_if(*outcome);
                self.known_if(*decision);
                self.known_if(*refusal);
            }
        }
    }
}

fn part_flags(part: &ToolPart<'_>) -> u64 {
    let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
    match part {
        ToolPart::None => NO_PART,
        ToolPart::Call(call) => {
            CALL | flag(call.id.is_some(), PART_ID)
                | flag(call.tool.is_some(), PART_TOOL)
                | flag(call.input.is_some(), PART_INPUT)
        }
        ToolPart::Server(tool) => SERVER | flag(tool.is_some(), PART_TOOL),
        ToolPart::Result(result) => {
            RESULT
                | flag(result.id.is_some(), PART_ID)
                | flag(result.is_error, IS_ERROR)
                | flag(result.denied, IS_DENIED)
                | flag(result.content.is_some(), PART_CONTENT)
                | flag(result.outcome.is_some(), PART_OUTCOME)
                | flag(result.decision.is_some(), PART_DECISION)
                | flag(result.refusal.is_some(), PART_REFUSAL)
        }
    }
}

/// The bytes of a uuid in the spelling that the CLI writes.
pub(super) fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.split('-').collect();
    let lengths = text.split('-').map(str::len);
    let is_plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_uuid = is_plain && lengths.eq([8, 4, 4, 4, 12]);
    is_uuid.then(|| u128::from_str_radix(&digits, 16).ok()).flatten().map(u128::to_be_bytes)
}

/// Moves to the end of a record, and returns its distance from the one before.
fn passed(last: &mut Position, at: Position, bytes: u64) -> Gap {
    let gap = Gap { bytes: at.offset.saturating_sub(last.offset), lines: at.line.saturating_sub(last.line) };
    *last = Position { offset: at.offset.saturating_add(bytes), line: at.line };
    gap
}
