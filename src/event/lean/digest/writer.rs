//! Writes digests.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    AgentDigest, AnswerDigest, AskDigest, CallCursor, Delta, HAS_AGENT, HAS_ANSWER_TIME, HAS_ASK_TIME,
    HAS_MODEL, HAS_REQUESTED, HAS_TIME, HAS_TOOL, HAS_USAGE, HAS_VERSION, IS_ANSWERED, IS_ASKED, IS_FAILED,
    IS_STOPPED, MAX_BLOCKS, SessionDigest,
};
use crate::{
    event::{
        BlockKind, Body, Dialect, Event, Kind, Message, Response, ToolPart, ToolUse, Usage,
        lean::{
            ChunkWriter, Position,
            bytes::{put_number, put_slice, put_usage, zigzag},
            writer::{Table, uuid_bytes},
        },
    },
    measure::{Time, Version},
};

/// Collects the records of a digest.
#[derive(Clone, Debug, Default)]
pub struct DigestWriter {
    texts: Table<String>,
    kinds: BTreeMap<(usize, usize), u64>,
    versions: BTreeSet<usize>,
    /// Numbers of sessions by the index of their id plus one.
    session_numbers: Table<usize>,
    sessions: Vec<SessionDigest>,
    /// Whether it is a prompt, and role and type of its blocks.
    forms: Table<(bool, Vec<(usize, usize)>)>,
    records: Vec<u8>,
    uuids: Vec<u8>,
    /// Offsets of the last record, and of the last one with a uuid.
    last: u64,
    last_with_uuid: u64,
    responses: Rows<ResponseRow>,
    calls: Rows<CallRow>,
    /// Records of other forms, and notes.
    pub others: ChunkWriter,
}

/// Rows in the order of their first line. Several rows may have the same id.
#[derive(Clone, Debug)]
struct Rows<T> {
    rows: Vec<(String, T)>,
    /// The last row of each id.
    last: HashMap<String, usize>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), last: HashMap::new() }
    }
}

impl<T> Rows<T> {
    /// Merges a row into the last one with this id, if `merge` can do that.
    fn add(&mut self, id: &str, row: T, merge: impl FnOnce(&mut T, &T) -> bool) {
        if let Some(&at) = self.last.get(id)
            && merge(&mut self.rows[at].1, &row)
        {
            return;
        }
        self.last.insert(id.to_owned(), self.rows.len());
        self.rows.push((id.to_owned(), row));
    }
}

/// Lines of a response that agree in everything but usage and time.
#[derive(Clone, Copy, Debug)]
struct ResponseRow {
    offset: u64,
    /// Session, model, requested model and version.
    fields: (usize, Option<usize>, Option<usize>, Option<usize>),
    agent: AgentDigest,
    usage: Option<Usage>,
    is_stopped: bool,
    time: Option<Time>,
}

impl ResponseRow {
    /// Adds a later line: the maximum of each count and the earliest time, as facts merge them.
    fn merge(&mut self, later: &Self) -> bool {
        if (self.fields, self.agent) != (later.fields, later.agent) {
            return false;
        }
        self.is_stopped |= later.is_stopped;
        self.time = self.time.into_iter().chain(later.time).min();
        self.usage = match (self.usage, later.usage) {
            (Some(mine), Some(theirs)) => Some(Usage {
                input: mine.input.max(theirs.input),
                output: mine.output.max(theirs.output),
                cache_read: mine.cache_read.max(theirs.cache_read),
                cache_write: mine.cache_write.max(theirs.cache_write),
                cache_write_1h: mine.cache_write_1h.max(theirs.cache_write_1h),
                web_searches: mine.web_searches.max(theirs.web_searches),
                fast: mine.fast || theirs.fast,
                in_us: mine.in_us || theirs.in_us,
            }),
            (mine, theirs) => mine.or(theirs),
        };
        true
    }
}

/// One or both halves of a call.
#[derive(Clone, Copy, Debug, Default)]
struct CallRow {
    ask: Option<AskDigest>,
    answer: Option<AnswerDigest>,
}

impl CallRow {
    /// Adds the half that is missing.
    fn merge(&mut self, other: &Self) -> bool {
        if self.ask.is_some() && other.ask.is_some() || self.answer.is_some() && other.answer.is_some() {
            return false;
        }
        *self = Self { ask: self.ask.or(other.ask), answer: self.answer.or(other.answer) };
        true
    }
}

impl DigestWriter {
    /// Adds a record. Returns whether that was possible: a digest has no room for what is rare.
    pub fn record(&mut self, at: Position, event: &Event<'_>) -> bool {
        let uuid = event.uuid.as_deref().map(uuid_bytes);
        let uuid = match uuid {
            Some(None) => return false,
            uuid => uuid.flatten(),
        };
        if event.dialect != Dialect::Transcript || event.prompt && uuid.is_none() {
            return false;
        }
        let message = match &event.body {
            Body::Plain => None,
            Body::Message(message) if is_usual(message) => Some(message),
            _ => return false,
        };
        let Kind::Known(kind) = &event.kind else { return false };
        let blocks = message.map_or(&[][..], |message| &message.blocks[..]);
        if uuid.is_none() && !blocks.is_empty() || at.offset < self.last {
            return false;
        }
        let (name, sub) = kind.row().name.split_once('/').unwrap_or((kind.row().name, ""));
        let sub = if sub.is_empty() { 0 } else { self.text(sub) + 1 };
        let kind = (self.text(name), sub);
        *self.kinds.entry(kind).or_default() += 1;
        self.last = at.offset;
        let session = self.session(at.offset, event);
        if let Some(uuid) = uuid {
            let blocks = blocks.iter().filter_map(|block| match &block.kind {
                BlockKind::Known(id) => Some((self.text(id.role()), self.text(id.kind()))),
                BlockKind::Other { .. } => None,
            });
            let form = (event.prompt, blocks.collect());
            let form = self.forms.number(form);
            put_number(&mut self.records, at.offset - self.last_with_uuid);
            put_number(&mut self.records, form as u64);
            self.uuids.extend(uuid);
            self.last_with_uuid = at.offset;
        }
        if let Some(message) = message {
            self.message(at.offset, session, event, message);
        }
        true
    }

    /// The digest. The next one is empty.
    pub fn take(&mut self) -> Vec<u8> {
        let mut all = std::mem::take(self);
        let mut out = Vec::new();
        let (mut responses, mut response_ids) = (Vec::new(), Vec::new());
        let (mut offset, mut time) = (0, Delta::default());
        for (id, row) in &all.responses.rows {
            response_ids.extend(id.as_bytes());
            put_number(&mut responses, id.len() as u64);
            put_number(&mut responses, row.offset - offset);
            offset = row.offset;
            row.put(&mut time, &mut responses);
        }
        let (mut calls, mut call_ids, mut cursor) = (Vec::new(), Vec::new(), CallCursor::default());
        for (id, row) in &all.calls.rows {
            call_ids.extend(id.as_bytes());
            put_number(&mut calls, id.len() as u64);
            row.put(&mut cursor, &mut calls);
        }
        all.put_tables(&mut out);
        let rows = [
            (all.uuids.len() / 16, &all.records, &all.uuids),
            (all.responses.rows.len(), &responses, &response_ids),
            (all.calls.rows.len(), &calls, &call_ids),
        ];
        for (at, (count, rows, ids)) in rows.into_iter().enumerate() {
            put_number(&mut out, count as u64);
            put_slice(&mut out, rows);
            match at {
                0 => out.extend(ids),
                _ => put_slice(&mut out, ids),
            }
        }
        out.extend(all.others.take());
        out
    }

    fn put_tables(&self, out: &mut Vec<u8>) {
        let list = |out: &mut Vec<u8>, count: usize| put_number(out, count as u64);
        list(out, self.texts.values.len());
        self.texts.values.iter().for_each(|text| put_slice(out, text.as_bytes()));
        list(out, self.kinds.len());
        for ((kind, sub), count) in &self.kinds {
            [*kind as u64, *sub as u64, *count].into_iter().for_each(|number| put_number(out, number));
        }
        list(out, self.versions.len());
        self.versions.iter().for_each(|version| put_number(out, *version as u64));
        list(out, self.sessions.len());
        self.sessions.iter().for_each(|session| session.put(out));
        list(out, self.forms.values.len());
        for (is_prompt, blocks) in &self.forms.values {
            out.push(u8::from(*is_prompt));
            list(out, blocks.len());
            for (role, kind) in blocks {
                put_number(out, *role as u64);
                put_number(out, *kind as u64);
            }
        }
    }

    fn text(&mut self, text: &str) -> usize {
        self.texts.number(text.to_owned())
    }

    /// Adds a record to its session, and returns the number of the session.
    fn session(&mut self, offset: u64, event: &Event<'_>) -> usize {
        let id = event.session.as_deref().map(|id| self.text(id));
        let cwd = event.cwd.as_deref().map(|cwd| (self.text(cwd), offset));
        let version = event.version.as_deref().map(|version| (self.text(version), offset));
        self.versions.extend(version.map(|(version, _)| version));
        let number = self.session_numbers.number(id.map_or(0, |id| id + 1));
        if number == self.sessions.len() {
            self.sessions.push(SessionDigest { id, times: None, cwd: None, version: None });
        }
        let session = &mut self.sessions[number];
        session.cwd = session.cwd.or(cwd);
        session.version = session.version.or(version);
        if let Some(time) = event.time {
            let (first, last) = session.times.unwrap_or((time, time));
            session.times = Some((first.min(time), last.max(time)));
        }
        number
    }

    fn message(&mut self, offset: u64, session: usize, event: &Event<'_>, message: &Message<'_>) {
        let time = event.time;
        for block in &message.blocks {
            match &block.tool_part {
                ToolPart::Call(ToolUse { id: Some(id), tool, .. }) => {
                    let tool = tool.as_deref().map(|tool| self.text(tool));
                    let ask = Some(AskDigest { offset, tool, time });
                    self.calls.add(id, CallRow { ask, answer: None }, CallRow::merge);
                }
                ToolPart::Result(result) => {
                    let answer = Some(AnswerDigest { offset, time, is_failed: result.is_error });
                    let id = result.id.as_deref().unwrap_or_default();
                    self.calls.add(id, CallRow { ask: None, answer }, CallRow::merge);
                }
                ToolPart::None | ToolPart::Server(_) | ToolPart::Call(_) => {}
            }
        }
        let Some(response) = &message.response else { return };
        let Some(id) = response.id.as_deref() else { return };
        let model = response.model.as_deref().map(|model| self.text(model));
        let requested = response.requested.as_deref().map(|model| self.text(model));
        let version = response.version.or_else(|| event.version.as_deref().and_then(Version::parse));
        let version = version.map(|version| self.text(&version.to_string()));
        let fields = (session, model, requested, version);
        let agent = AgentDigest {
            call: event.agent.call.as_deref().map(|call| self.text(call)),
            id: event.agent.id.as_deref().map(|id| self.text(id)),
            sidechain: event.agent.sidechain,
        };
        let (usage, is_stopped) = (response.usage, response.stopped);
        let row = ResponseRow { offset, fields, agent, usage, is_stopped, time };
        self.responses.add(id, row, ResponseRow::merge);
    }
}

/// Whether a message has nothing that is rare: all its parts have ids and known types, and nothing was denied.
fn is_usual(message: &Message<'_>) -> bool {
    let Message { blocks, response, api_error } = message;
    let is_usual_part = |part: &ToolPart<'_>| match part {
        ToolPart::None => true,
        ToolPart::Server(_) => false,
        ToolPart::Call(call) => call.id.is_some(),
        ToolPart::Result(result) => result.id.is_some() && !result.denied,
    };
    let has_id = |response: &Response<'_>| response.id.is_some() && response.request_session.is_none();
    api_error.is_none()
        && blocks.len() <= MAX_BLOCKS
        && blocks.iter().all(|block| matches!(block.kind, BlockKind::Known(_)))
        && blocks.iter().all(|block| is_usual_part(&block.tool_part))
        && response.as_ref().is_none_or(has_id)
}

impl ResponseRow {
    fn put(&self, last_time: &mut Delta, out: &mut Vec<u8>) {
        let Self { offset: _, fields, agent, usage, is_stopped, time } = self;
        let (session, model, requested, version) = fields;
        let has_agent = *agent != AgentDigest::default();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(model.is_some(), HAS_MODEL)
            | flag(requested.is_some(), HAS_REQUESTED)
            | flag(version.is_some(), HAS_VERSION)
            | flag(usage.is_some(), HAS_USAGE)
            | flag(*is_stopped, IS_STOPPED)
            | flag(time.is_some(), HAS_TIME)
            | flag(has_agent, HAS_AGENT);
        out.push(flags);
        put_number(out, *session as u64);
        for index in [model, requested, version].into_iter().flatten() {
            put_number(out, *index as u64);
        }
        if let Some(usage) = usage {
            put_usage(out, usage);
        }
        if let Some(time) = time {
            last_time.put(time.micros(), out);
        }
        if has_agent {
            out.push(u8::from(agent.sidechain));
            for index in [agent.call, agent.id] {
                put_number(out, index.map_or(0, |index| index as u64 + 1));
            }
        }
    }
}

impl CallRow {
    fn put(&self, at: &mut CallCursor, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let mut flags = 0;
        if let Some(AskDigest { offset: _, tool, time }) = self.ask {
            flags |= IS_ASKED | flag(tool.is_some(), HAS_TOOL) | flag(time.is_some(), HAS_ASK_TIME);
        }
        if let Some(AnswerDigest { offset: _, time, is_failed }) = self.answer {
            flags |= IS_ANSWERED | flag(time.is_some(), HAS_ANSWER_TIME) | flag(is_failed, IS_FAILED);
        }
        out.push(flags);
        if let Some(AskDigest { offset, tool, time }) = self.ask {
            at.put(offset, time, out);
            if let Some(tool) = tool {
                put_number(out, tool as u64);
            }
        }
        if let Some(AnswerDigest { offset, time, is_failed: _ }) = self.answer {
            at.put(offset, time, out);
        }
    }
}

impl Delta {
    fn put(&mut self, number: i64, out: &mut Vec<u8>) {
        put_number(out, zigzag(number.wrapping_sub(self.0)));
        self.0 = number;
    }
}

impl CallCursor {
    fn put(&mut self, offset: u64, time: Option<Time>, out: &mut Vec<u8>) {
        self.offset.put(offset.cast_signed(), out);
        if let Some(time) = time {
            self.time.put(time.micros(), out);
        }
    }
}

impl SessionDigest {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { id, times, cwd, version } = self;
        put_number(out, id.map_or(0, |id| id as u64 + 1));
        out.push(u8::from(times.is_some()));
        if let Some((first, last)) = times.map(|(first, last)| (first.micros(), last.micros())) {
            put_number(out, zigzag(first));
            put_number(out, zigzag(last.wrapping_sub(first)));
        }
        for placed in [cwd, version] {
            put_number(out, placed.map_or(0, |(index, _)| index as u64 + 1));
            if let Some((_, offset)) = placed {
                put_number(out, *offset);
            }
        }
    }
}
