//! Absorbs one record: adds its body to the facts.

use super::{
    Facts,
    calls::Call,
    detail::{Detail, EventKind, ExcerptOf},
    key::{Id, Name, SessionKey},
    merge::{CompactPlace, First, Last, Merge, SmallSet, insert},
    once::Once,
    rebuild::Position,
    responses::{Lane, Response},
    sessions::{CostState, Ending, ModelUse, Session, TurnDuration, TurnEnd},
};
use crate::{
    event::{self, BlockKind, Body, Dialect, Event, StreamPayload, ToolPart},
    input::Place,
    measure::{MIN_SURCHARGED_PROMPT, Time, Tokens, Version},
};

/// A record that is being absorbed.
pub(super) struct RecordAbsorber<'f, 'e, 'a> {
    pub(super) facts: &'f mut Facts,
    pub(super) place: Place,
    pub(super) compact_place: CompactPlace,
    pub(super) uuid: Option<Id>,
    pub(super) event: &'e Event<'a>,
    once: Once,
    /// Tools of denials without a call id.
    loose_denials: Vec<Option<Name>>,
}

impl<'f, 'e, 'a> RecordAbsorber<'f, 'e, 'a> {
    pub(super) fn new(facts: &'f mut Facts, place: Place, uuid: Option<Id>, event: &'e Event<'a>) -> Self {
        let once = Once::at(place);
        Self { facts, place, compact_place: place.into(), uuid, event, once, loose_denials: Vec::new() }
    }

    /// Absorbs the record. Returns the contents that count once per uuid.
    pub(super) fn absorb(mut self) -> Once {
        self.absorb_body();
        if !self.facts.keeps_totals_alone() {
            self.absorb_detail();
        }
        let loose = std::mem::take(&mut self.loose_denials);
        if !loose.is_empty() {
            self.note_event(EventKind::Denials(loose));
        }
        self.once
    }

    fn absorb_detail(&mut self) {
        self.detail_agent();
        self.detail_record();
        self.detail_traces();
        self.detail_moment();
        self.detail_record_time();
        self.detail_excerpts();
        self.detail_last_message();
        self.detail_found();
        if self.event.prompt {
            self.note_event(EventKind::Prompt);
        } else if self.keeps(Detail::EVENTS) && event::is_interruption(self.event) {
            self.note_event(EventKind::Interruption);
        }
    }

    fn absorb_body(&mut self) {
        match &self.event.body {
            Body::Plain => {}
            Body::Compaction(compaction) => {
                let position = self.position(self.event.time);
                self.facts.compactions.push((self.session(), position));
                let &event::Compaction { before, after, ref trigger, took } = compaction;
                let trigger = trigger.as_deref().map(|trigger| self.facts.names.get(trigger));
                self.note_event(EventKind::Compaction(event::Compaction { before, after, trigger, took }));
            }
            Body::Message(message) => {
                self.count_message(message);
                self.message(message, self.event.time);
            }
            Body::Nested(message, time) => self.message(message, time.or(self.event.time)),
            Body::TurnEnd(end) => self.turn_end(end),
            Body::Reset => self.facts.chain.resets.push(self.place),
            Body::Stream(part) => self.stream_part(part),
            Body::Denial(denial) => self.denial(denial.id.as_deref(), denial.tool.as_deref()),
            Body::Retry(kind, wait) => {
                let kind = self.facts.names.get(kind);
                self.note_event(EventKind::Retry(kind, *wait, self.event.dialect));
            }
            Body::TurnDuration(wall) => {
                let key = self.record_id();
                let duration = TurnDuration {
                    sessions: SmallSet::One(self.session()),
                    wall: First::at(self.compact_place, Some(*wall)),
                };
                self.facts.durations.insert(key, duration);
                self.note_event(EventKind::TurnDuration(*wall));
            }
            Body::CostState(total, models) => {
                let models = ModelUse::all(models, &mut self.facts.names);
                let state = CostState { total: *total, place: self.place, models };
                let session = Session { state: Some(state), ..Session::default() };
                let key = self.session();
                insert(&mut self.facts.sessions, key, session);
            }
            Body::BridgeResult(answer) => self.answer(answer, self.event.time, 0),
            Body::Servers(servers) => self.detail_servers(servers),
            Body::PullRequest(link) => self.detail_pull_request(link),
        }
    }

    /// Counts the blocks and the API error of a message. Not for nested messages of subagents, which are
    /// counted in their own records.
    fn count_message(&mut self, message: &event::Message<'_>) {
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Known(id) => self.once.block(*id),
                other => {
                    let name = self.facts.names.get(&other.name());
                    let version = self.event.version.as_deref().map(|version| self.facts.names.get(version));
                    self.once.unknown_block(name, self.place, version);
                }
            }
        }
        if let Some(kind) = &message.api_error {
            let kind = self.facts.names.get(kind);
            self.note_event(EventKind::ApiError(kind));
        }
    }

    fn message(&mut self, message: &event::Message<'_>, time: Option<Time>) {
        let own = || self.record_id().within("response");
        let response =
            message.response.as_ref().map(|response| response.id.as_deref().map_or_else(own, Id::of));
        for (index, block) in message.blocks.iter().enumerate() {
            match &block.tool_part {
                ToolPart::None => {}
                ToolPart::Server(tool) => {
                    let tool = tool.as_deref().map(|tool| self.facts.names.get(tool));
                    self.note_event(EventKind::Server(tool, index));
                }
                ToolPart::Call(ask) => {
                    let tool = ask.tool.as_deref().map(|tool| self.facts.names.get(tool));
                    let id = self.call_id(ask.id.as_deref(), index);
                    self.facts.calls.insert(id, Call::asked(self.compact_place, tool, time));
                    if self.keeps(Detail::CALLS) || self.keeps(Detail::AGENTS) {
                        self.detail_tool_use(id, ask, response, time);
                    }
                }
                ToolPart::Result(answer) => self.answer(answer, time, index),
            }
        }
        let (Some(response), Some(id)) = (&message.response, response) else { return };
        if self.keeps(Detail::RESPONSES) {
            self.detail_response(id, response.id.as_deref(), time);
        }
        if self.keeps(Detail::TIMING) || self.keeps(Detail::REQUESTS) {
            self.detail_timing(id, response, time);
        }
        if self.keeps(Detail::ATTRIBUTION) {
            self.detail_attribution(id, response);
        }
        if self.keeps(Detail::MESSAGES)
            && message.blocks.iter().any(|block| block.tool_part == ToolPart::None)
        {
            self.keep_excerpt(ExcerptOf::Response, id, event::message_text(self.event), event::first_line);
        }
        let dialect = self.event.dialect;
        let position = self.position(time);
        let row = Response::of_message(
            self.compact_place,
            dialect,
            self.session(),
            response,
            &mut self.facts.names,
        )
        .with_position(position);
        let row = match dialect {
            Dialect::Transcript => row.written_by(response.version.or_else(|| self.record_version())),
            Dialect::Stream | Dialect::Input | Dialect::Bridge => {
                self.may_be_long(id, response.usage.as_ref());
                row
            }
        };
        self.facts.responses.insert(id, row);
        if let Some(session) = &response.request_session {
            let session = SessionKey::Named(self.facts.names.get(session));
            insert(&mut self.facts.request_sessions, id, First::at(self.compact_place, Some(session)));
        }
        if dialect == Dialect::Stream {
            self.ending(Ending { response: Some(Last(self.place.offset)), result: None });
        }
    }

    /// Returns where the record is in its conversation.
    fn position(&self, time: Option<Time>) -> Position {
        Position::new(self.compact_place, time, &self.event.agent)
    }

    /// Returns the version that wrote the record. A nested message may not repeat it.
    fn record_version(&self) -> Option<Version> {
        self.event.version.as_deref().and_then(Version::parse)
    }

    /// Notes a printed line of a response with a prompt that may be long enough for a surcharge. Printed
    /// lines have no version: it is that of the last `init` before them, which is only known at the end.
    fn may_be_long(&mut self, id: Id, usage: Option<&event::Usage>) {
        // Merging keeps the maximum of each of the three counts, so one of them is at least a third of the
        // prompt.
        let some_line_has = MIN_SURCHARGED_PROMPT / 3;
        if usage.is_some_and(|usage| usage.prompt() >= some_line_has) {
            self.facts.chain.long_prompts.push((self.place, id));
        }
    }

    /// Returns the session of the record, which is the current run.
    pub(super) fn session(&self) -> SessionKey {
        let nameless = || SessionKey::Nameless(self.place.source);
        self.facts.run.as_ref().map_or_else(nameless, |run| run.key.clone())
    }

    fn ending(&mut self, ending: Ending) {
        if let Some(run) = &mut *self.facts.run {
            run.ending.merge(ending);
        }
    }

    fn answer(&mut self, answer: &event::ToolResult<'_>, time: Option<Time>, index: usize) {
        let id = self.call_id(answer.id.as_deref(), index);
        self.facts.calls.insert(id, Call::answered(self.compact_place, answer.is_error, time));
        if self.keeps(Detail::CALLS) || self.keeps(Detail::AGENTS) {
            self.detail_tool_result(id, answer, time);
        }
        if answer.denied {
            self.denial(answer.id.as_deref(), None);
        }
    }

    /// Returns the id of a call. Without an id each is a separate call.
    fn call_id(&self, id: Option<&str>, index: usize) -> Id {
        id.map_or_else(|| Id::at(self.place, index), Id::of)
    }

    fn denial(&mut self, id: Option<&str>, tool: Option<&str>) {
        let tool = tool.map(|tool| self.facts.names.get(tool));
        match id {
            Some(id) => {
                let id = Id::of(id);
                self.facts.denied.insert(id, First::at(self.compact_place, tool));
                if self.keeps(Detail::EVENTS) {
                    self.detail_denial(id);
                }
            }
            None => self.loose_denials.push(tool),
        }
    }

    fn stream_part(&mut self, stream: &event::StreamPart<'_>) {
        let (place, session) = (self.place, self.session());
        let lane = || Lane(place.source, session.clone(), stream.lane.as_deref().map(Id::of));
        let id = stream.id.as_deref().map(Id::of);
        if let (Some(id), StreamPayload::Start(_, usage) | StreamPayload::Delta(usage, _)) =
            (id, &stream.payload)
        {
            self.may_be_long(id, usage.as_ref());
        }
        let response = match &stream.payload {
            StreamPayload::Start(model, usage) => {
                if let (false, Some(id)) = (stream.has_api_id, id) {
                    self.facts.lanes.start(lane(), place.offset, id);
                }
                let model = model.as_deref().map(|model| self.facts.names.get(model));
                Response::streamed(
                    session.clone(),
                    First::at(self.compact_place, model),
                    usage.as_ref(),
                    false,
                )
            }
            StreamPayload::Delta(usage, stopped) => {
                Response::streamed(session.clone(), First::default(), usage.as_ref(), *stopped)
            }
        };
        match id {
            Some(id) => {
                if self.keeps(Detail::RESPONSES) {
                    self.detail_response(id, stream.id.as_deref(), self.event.time);
                }
                let response = response.with_position(self.position(self.event.time));
                self.facts.responses.insert(id, response);
            }
            // Its position is that of the event that starts it, as in rows.
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
            time: self.event.time,
            subtype: end.subtype.as_deref().map(|subtype| names.get(subtype)),
            is_error: end.is_error,
            num_turns: end.num_turns,
            first_token: end.first_token,
            time_to_request: end.time_to_request,
        };
        self.facts.chain.results.push(result);
        self.ending(Ending { response: None, result: Some(Last(place.offset)) });
    }
}
