//! Adds the rows of one record, if rows are kept.

use std::{hash::BuildHasher, sync::LazyLock};

use smallvec::SmallVec;

use super::{
    Agent, AgentRef, Attribution, Content, Detail, Details, EventContext, EventKind, ExcerptOf, Record,
    ResponseRow, SessionEvent, ToolResultRow, ToolUseRow,
};
use crate::{
    event::{
        self, BlockKind, Body, Event, INTERRUPTION, Kind, ToolPart,
        trace::{self, QUESTION_TOOL, Traces},
    },
    facts::{
        absorb::RecordAbsorber,
        key::{Id, Name},
        ledger::MessageKind,
        merge::{First, Last, Merge},
        sessions::Message,
    },
    measure::Time,
};

/// Hashes an input. The seed is random, so nobody can construct inputs that collide.
fn fingerprint(text: &str) -> u64 {
    static SEED: LazyLock<foldhash::quality::RandomState> =
        LazyLock::new(foldhash::quality::RandomState::default);
    SEED.hash_one(text)
}

/// Maximum length of the answer to a question, in bytes.
const MAX_ANSWER_BYTES: usize = 2048;

/// The input of a call, unless a lean log has kept only its hash.
fn text_of_input<'a>(ask: &event::ToolUse<'a>) -> Option<&'a str> {
    ask.input.filter(|input| !event::lean::is_hashed_input(input))
}

/// Tools whose input names a type of subagent.
pub(crate) const AGENT_TOOLS: [&str; 2] = ["Agent", "Task"];

/// Returns the kind of a message of the main agent; `None` if it does not say how a conversation ended.
fn message_kind(event: &Event<'_>) -> Option<MessageKind> {
    let Body::Message(message) = &event.body else { return None };
    let has = |part: fn(&ToolPart<'_>) -> bool| message.blocks.iter().any(|block| part(&block.tool_part));
    let is_interruption =
        || event::message_text(event).is_some_and(|text| text.trim_start().starts_with(INTERRUPTION));
    match () {
        () if event.agent != event::Agent::default() => None,
        () if message.api_error.is_some() => Some(MessageKind::ApiError),
        () if has(|part| matches!(part, ToolPart::Call(_))) => Some(MessageKind::Call),
        () if message.response.is_some() => Some(MessageKind::Answer),
        () if has(|part| matches!(part, ToolPart::Result(_))) => Some(MessageKind::CallResult),
        () if event.prompt => Some(MessageKind::Prompt),
        () => is_interruption().then_some(MessageKind::Interruption),
    }
}

impl RecordAbsorber<'_, '_, '_> {
    /// Notes the last message of a session, which says how a saved session ended.
    pub(in crate::facts) fn detail_last_message(&mut self) {
        if !self.keeps(Detail::EVENTS) {
            return;
        }
        let Some(kind) = message_kind(self.event) else { return };
        let last = Last(Message { time: self.event.time, place: self.compact_place, kind });
        if let Some(run) = &mut *self.facts.run {
            run.session.last.merge(Some(last));
        }
    }

    /// Returns whether all of `detail` is kept.
    pub(in crate::facts) fn keeps(&self, detail: Detail) -> bool {
        self.facts.details.as_ref().is_some_and(|details| details.kept.contains(detail))
    }

    fn details(&mut self) -> Option<&mut Details> {
        self.facts.details.as_deref_mut()
    }

    pub(super) fn context(&mut self, time: Option<Time>) -> EventContext {
        EventContext {
            session: self.session(),
            time: time.into(),
            place: self.place.into(),
            agent: self.agent_ref(),
            version: self.version(),
            branch: self.branch(),
        }
    }

    /// Returns the branch of the record, if attributions are kept.
    fn branch(&mut self) -> Option<Name> {
        let text = self.event.branch.as_deref().filter(|_| self.keeps(Detail::ATTRIBUTION))?;
        Some(self.facts.names.get(text))
    }

    /// Keeps the attributions of one line of a response.
    pub(in crate::facts) fn detail_attribution(&mut self, id: Id, response: &event::Response<'_>) {
        let event::Response { effort, skill, mcp_server, .. } = response;
        if [effort, skill, mcp_server].iter().all(|name| name.is_none()) {
            return;
        }
        let (place, names) = (self.compact_place, &mut self.facts.names);
        let mut first =
            |text: &Option<event::Text<'_>>| First::at(place, text.as_deref().map(|text| names.get(text)));
        let attribution =
            Attribution { effort: first(effort), skill: first(skill), mcp_server: first(mcp_server) };
        if let Some(details) = self.details() {
            details.attributions.insert(id, attribution);
        }
    }

    /// Adds a link to a pull request.
    pub(in crate::facts) fn detail_pull_request(&mut self, link: &event::PullRequest<event::Text<'_>>) {
        if !self.keeps(Detail::ATTRIBUTION) {
            return;
        }
        let event::PullRequest { number, repository, url } = link;
        let names = &mut self.facts.names;
        let mut own = |text: &Option<event::Text<'_>>| text.as_deref().map(|text| names.get(text));
        let (repository, url) = (own(repository), own(url));
        self.note_event(EventKind::PullRequest(event::PullRequest { number: *number, repository, url }));
    }

    /// Returns the version of the record, which nearly always is that of the session.
    fn version(&mut self) -> Option<Name> {
        let text = self.event.version.as_deref()?;
        let run = self.facts.run.as_ref().and_then(|run| run.session.version.get());
        match run.filter(|known| ***known == *text) {
            Some(known) => Some(Name::clone(known)),
            None => Some(self.facts.names.get(text)),
        }
    }

    fn agent_ref(&mut self) -> AgentRef {
        if !self.keeps(Detail::AGENTS) {
            return AgentRef::Main;
        }
        let names = &mut self.facts.names;
        match &self.event.agent {
            event::Agent { call: Some(call), .. } => AgentRef::Started(names.get(call)),
            event::Agent { id: Some(id), .. } => AgentRef::Named(names.get(id)),
            event::Agent { sidechain: true, .. } => AgentRef::Side,
            _ => AgentRef::Main,
        }
    }

    /// Adds the ids and the type of the record's agent.
    pub(in crate::facts) fn detail_agent(&mut self) {
        let agent_ref = self.agent_ref();
        if matches!(agent_ref, AgentRef::Main | AgentRef::Side) {
            return;
        }
        let (agent, place, names) = (&self.event.agent, self.compact_place, &mut self.facts.names);
        let mut name = |text: &Option<event::Text<'_>>| text.as_deref().map(|text| names.get(text));
        let (call, id, kind) = (name(&agent.call), name(&agent.id), name(&agent.kind));
        let last = (self.place.source, self.place.unit, agent_ref, kind.is_some());
        let Some(details) = self.details() else { return };
        if details.last.as_ref() == Some(&last) {
            return;
        }
        *details.last = Some(last);
        // Each id leads to the other, for the dialect that has only one of them.
        for key in [&call, &id].into_iter().flatten() {
            let agent = Agent {
                call: First::at(place, call.clone()),
                kind: First::at(place, kind.clone()),
                id: First::at(place, id.clone()),
            };
            details.agents.insert(Id::of(key), agent);
        }
    }

    pub(in crate::facts) fn detail_tool_use(
        &mut self,
        call: Id,
        ask: &event::ToolUse<'_>,
        response: Option<Id>,
        time: Option<Time>,
    ) {
        let (context, place) = (self.context(time), self.compact_place);
        let keeps_agents = self.keeps(Detail::AGENTS);
        let kind = match (ask.tool.as_deref(), ask.input) {
            (Some(tool), Some(input)) if keeps_agents && AGENT_TOOLS.contains(&tool) => {
                event::agent_of_input(input)
            }
            _ => None,
        };
        let kind = kind.map(|kind| self.facts.names.get(&kind));
        let Some(details) = self.details() else { return };
        let (keeps_calls, id) = (details.kept.contains(Detail::CALLS), ask.id.as_deref());
        let id = id.filter(|_| keeps_agents && (keeps_calls || kind.is_some())).map(Name::from);
        if kind.is_some() {
            let agent = Agent {
                kind: First::at(place, kind),
                call: First::at(place, id.clone()),
                ..Agent::default()
            };
            details.agents.insert(call, agent);
        }
        if keeps_calls {
            let keeps_hashes = details.kept.contains(Detail::INPUT_HASHES);
            let input = if keeps_hashes { fingerprint(ask.input.unwrap_or_default()) } else { 0 };
            details.tool_uses.push((call, ToolUseRow { context, id, response, input }));
        }
        self.keep_input(call, ask);
        if self.keeps(Detail::EXCERPTS) {
            let input = text_of_input(ask).and_then(event::main_input_of);
            self.keep_excerpt(ExcerptOf::Input, call, input, event::first_line);
        }
    }

    /// Keeps the part of the input that reports need.
    fn keep_input(&mut self, call: Id, ask: &event::ToolUse<'_>) {
        let place = self.compact_place;
        let Some(kept) = self.facts.details.as_ref().map(|details| details.kept) else { return };
        let traces = kept.traces();
        let asks = ask.tool.as_deref() == Some(QUESTION_TOOL) && traces.intersects(Traces::QUESTIONS);
        let input = match text_of_input(ask) {
            Some(input) if kept.contains(Detail::INPUTS) || asks => Some(input.into()),
            // Traces show decisions, but no rules.
            Some(input) if traces.intersects(Traces::DECISIONS) && !kept.contains(Detail::TIMING) => {
                Some(event::brief_input(input))
            }
            _ => None,
        };
        let used = ask.tool.as_deref().filter(|_| traces.intersects(Traces::COMMANDS | Traces::TASKS));
        let used = used.and_then(|tool| trace::used(tool, ask.input)?.1);
        let used = used.map(|name| self.facts.names.get(&name));
        let Some(details) = self.details() else { return };
        if traces.intersects(Traces::QUESTIONS) && !asks {
            details.unanswered.insert(call);
        }
        if input.is_some() || used.is_some() {
            let content = Content {
                input: First::at(place, input.map(Name::from)),
                used: First::at(place, used),
                ..Content::default()
            };
            details.contents.insert(call, content);
        }
    }

    pub(in crate::facts) fn detail_tool_result(
        &mut self,
        call: Id,
        answer: &event::ToolResult<'_>,
        time: Option<Time>,
    ) {
        let (context, place) = (self.context(time), self.compact_place);
        if answer.is_error && self.keeps(Detail::EXCERPTS) {
            self.keep_excerpt(ExcerptOf::Failure, call, event::failure(answer), event::error_line);
        }
        let outcome = answer.outcome.filter(|_| self.keeps(Detail::AGENTS));
        let agent = outcome.and_then(event::agent_of_outcome).map(|(id, kind)| {
            let names = &mut self.facts.names;
            let call = answer.id.as_deref().map(|call| names.get(call));
            (names.get(&id), kind.map(|kind| names.get(&kind)), call)
        });
        let Some(details) = self.details() else { return };
        let bytes = answer.bytes;
        if details.kept.contains(Detail::CALLS) {
            details.tool_results.push((call, ToolResultRow { context, bytes }));
        }
        // The tool may be named in another record: only results that are known to be of other tools are left
        // out.
        let may_tell =
            details.kept.traces().intersects(Traces::QUESTIONS) && !details.unanswered.remove(&call);
        let whole = details.kept.contains(Detail::OUTPUTS);
        if let Some(took) = answer
            .outcome
            .filter(|_| details.kept.contains(Detail::TIMING))
            .and_then(event::run_time_of_outcome)
        {
            let run_time = First::at(place, Some(took));
            details.contents.insert(call, Content { run_time, ..Content::default() });
        }
        if let Some(content) =
            answer.content.filter(|text| whole || may_tell && text.len() <= MAX_ANSWER_BYTES)
        {
            let output = First::at(place, Some(content.into()));
            details.contents.insert(call, Content { output, ..Content::default() });
        }
        if let Some((id, kind, started)) = agent {
            for key in [Id::of(&id), call] {
                let agent = Agent {
                    call: First::at(place, started.clone()),
                    kind: First::at(place, kind.clone()),
                    id: First::at(place, Some(Name::clone(&id))),
                };
                details.agents.insert(key, agent);
            }
        }
    }

    pub(in crate::facts) fn detail_response(&mut self, response: Id, id: Option<&str>, time: Option<Time>) {
        // The lines of a response follow each other. One row holds them: the first place and the earliest
        // time. The first branch is that of its own line, so a row without one cannot take it.
        let (place, event) = (self.place, self.event);
        let session = self.facts.run.as_ref().map(|run| &run.key);
        if let Some(details) = self.facts.details.as_deref_mut()
            && let Some((last, row)) = details.responses.last_mut()
            && *last == response
            && session == Some(&row.context.session)
            && row.context.place.source() == place.source
            && row.context.place < place.into()
            && (row.context.branch.is_some()
                || event.branch.is_none()
                || !details.kept.contains(Detail::ATTRIBUTION))
        {
            row.context.time.merge(time.into());
            return;
        }
        let context = self.context(time);
        let Some(details) = self.details() else { return };
        let id = id.filter(|_| details.kept.contains(Detail::AGENTS)).map(Name::from);
        details.responses.push((response, ResponseRow { context, id }));
    }

    pub(in crate::facts) fn detail_denial(&mut self, call: Id) {
        let context = self.context(self.event.time);
        if let Some(details) = self.details() {
            details.denials.push((call, context));
        }
    }

    /// Adds an event and the text that belongs to it.
    pub(in crate::facts) fn note_event(&mut self, kind: EventKind) {
        if !kind.is_per_record() && !self.keeps(Detail::EVENTS) {
            return;
        }
        let context = self.context(self.event.time);
        let key = self.record_id().within(&kind.name());
        let uuid = self.uuid;
        self.keep_event_text(key, &kind);
        self.facts.session_events.push((key, SessionEvent { context, uuid, kind }));
    }

    /// Adds the MCP servers of a process. Most have none.
    pub(in crate::facts) fn detail_servers(&mut self, servers: &str) {
        if !self.keeps(Detail::EVENTS | Detail::SERVERS) {
            return;
        }
        let names = &mut self.facts.names;
        let own = |(name, status): (event::Text<'_>, Option<event::Text<'_>>)| {
            (names.get(&name), status.map(|status| names.get(&status)))
        };
        let servers: Vec<(Name, Option<Name>)> = event::servers_of(servers).into_iter().map(own).collect();
        if !servers.is_empty() {
            self.note_event(EventKind::Servers(servers));
        }
    }

    pub(in crate::facts) fn detail_record(&mut self) {
        if !self.keeps(Detail::RECORDS) {
            return;
        }
        let context = self.context(self.event.time);
        let names = &mut self.facts.names;
        let blocks = match &self.event.body {
            event::Body::Message(message) => message
                .blocks
                .iter()
                .map(|block| {
                    let known = matches!(block.kind, BlockKind::Known(_));
                    (names.get(&block.kind.name()), known, block.bytes)
                })
                .collect(),
            _ => SmallVec::new(),
        };
        let kind: &Kind<'_> = &self.event.kind;
        let record = Record {
            context,
            kind: names.get(&kind.name()),
            known: kind.is_known(),
            dialect: self.event.dialect,
            uuid: self.uuid,
            bytes: self.event.bytes,
            blocks,
        };
        if let Some(details) = self.details() {
            details.records.push(&record);
        }
    }
}
