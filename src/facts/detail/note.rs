//! What one record adds to the rows, if rows are kept.

use std::{hash::BuildHasher, sync::LazyLock};

use smallvec::SmallVec;

use super::{Agent, Answer, Ask, Content, Detail, Details, Happening, Moment, Record, Telling, What, Whose};
use crate::{
    event::{
        self, BlockKind, Kind,
        trace::{self, QUESTION_TOOL, Traces},
    },
    facts::{
        absorb::Reading,
        key::{Id, Name},
        merge::{First, Merge},
    },
    measure::Time,
};

/// Tells equal inputs, in this process alone; a stranger must not be able to make two equal.
fn fingerprint(text: &str) -> u64 {
    static SEED: LazyLock<foldhash::quality::RandomState> =
        LazyLock::new(foldhash::quality::RandomState::default);
    SEED.hash_one(text)
}

/// Bytes of the answer to a question that are kept at most.
const SHORT: usize = 2048;

/// Tools whose input names a type of subagent.
const STARTERS: [&str; 2] = ["Agent", "Task"];

impl Reading<'_, '_, '_> {
    /// Whether every flag of the set is kept.
    pub(in crate::facts) fn keeps(&self, detail: Detail) -> bool {
        self.facts.details.as_ref().is_some_and(|details| details.kept.contains(detail))
    }

    fn details(&mut self) -> Option<&mut Details> {
        self.facts.details.as_deref_mut()
    }

    pub(super) fn moment(&mut self, time: Option<Time>) -> Moment {
        Moment {
            session: self.session(),
            time: time.into(),
            seat: self.place.into(),
            whose: self.whose(),
            version: self.version(),
        }
    }

    /// The name of the version, which is nearly always the one that began the session.
    fn version(&mut self) -> Option<Name> {
        let text = self.event.version.as_deref()?;
        let run = self.facts.run.as_ref().and_then(|run| run.session.version.get());
        match run.filter(|known| ***known == *text) {
            Some(known) => Some(Name::clone(known)),
            None => Some(self.facts.names.get(text)),
        }
    }

    fn whose(&mut self) -> Whose {
        if !self.keeps(Detail::AGENTS) {
            return Whose::Main;
        }
        let names = &mut self.facts.names;
        match &self.event.agent {
            event::Agent { call: Some(call), .. } => Whose::Started(names.get(call)),
            event::Agent { id: Some(id), .. } => Whose::Named(names.get(id)),
            event::Agent { sidechain: true, .. } => Whose::Side,
            _ => Whose::Main,
        }
    }

    /// Notes what the record says of its agent.
    pub(in crate::facts) fn detail_agent(&mut self) {
        let whose = self.whose();
        if matches!(whose, Whose::Main | Whose::Side) {
            return;
        }
        let (agent, spot, names) = (&self.event.agent, self.spot, &mut self.facts.names);
        let mut name = |text: &Option<event::Text<'_>>| text.as_deref().map(|text| names.get(text));
        let (call, id, kind) = (name(&agent.call), name(&agent.id), name(&agent.kind));
        let last = (self.place.source, self.place.unit, whose, kind.is_some());
        let Some(details) = self.details() else { return };
        if details.last.as_ref() == Some(&last) {
            return;
        }
        details.last = Some(last);
        // Either name leads to the other, for the dialect that has only one of them.
        for key in [&call, &id].into_iter().flatten() {
            let told = Agent {
                call: First::at(spot, call.clone()),
                kind: First::at(spot, kind.clone()),
                id: First::at(spot, id.clone()),
            };
            details.agents.insert(Id::of(key), told);
        }
    }

    pub(in crate::facts) fn detail_ask(
        &mut self,
        call: Id,
        ask: &event::ToolUse<'_>,
        response: Option<Id>,
        time: Option<Time>,
    ) {
        let (moment, spot) = (self.moment(time), self.spot);
        let keeps_agents = self.keeps(Detail::AGENTS);
        let kind = match (ask.tool.as_deref(), ask.input) {
            (Some(tool), Some(input)) if keeps_agents && STARTERS.contains(&tool) => {
                event::agent_of_input(input)
            }
            _ => None,
        };
        let kind = kind.map(|kind| self.facts.names.get(&kind));
        let Some(details) = self.details() else { return };
        let (keeps_calls, id) = (details.kept.contains(Detail::CALLS), ask.id.as_deref());
        let id = id.filter(|_| keeps_agents && (keeps_calls || kind.is_some())).map(Name::from);
        if kind.is_some() {
            let told =
                Agent { kind: First::at(spot, kind), call: First::at(spot, id.clone()), ..Agent::default() };
            details.agents.insert(call, told);
        }
        if keeps_calls {
            let input = if keeps_agents { fingerprint(ask.input.unwrap_or_default()) } else { 0 };
            details.asks.push((call, Ask { moment, id, response, input }));
        }
        self.keep_input(call, ask);
    }

    /// Keeps as much of the input of a call as reports need.
    fn keep_input(&mut self, call: Id, ask: &event::ToolUse<'_>) {
        let spot = self.spot;
        let Some(kept) = self.facts.details.as_ref().map(|details| details.kept) else { return };
        let traces = kept.traces();
        let asks = ask.tool.as_deref() == Some(QUESTION_TOOL) && traces.intersects(Traces::QUESTIONS);
        let input = match ask.input {
            Some(input) if kept.contains(Detail::INPUTS) || asks => Some(input.into()),
            Some(input) if traces.intersects(Traces::DECISIONS) => Some(event::brief_input(input)),
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
                input: First::at(spot, input.map(Name::from)),
                used: First::at(spot, used),
                ..Content::default()
            };
            details.contents.insert(call, content);
        }
    }

    pub(in crate::facts) fn detail_answer(
        &mut self,
        call: Id,
        answer: &event::ToolResult<'_>,
        time: Option<Time>,
    ) {
        let (moment, spot) = (self.moment(time), self.spot);
        let outcome = answer.outcome.filter(|_| self.keeps(Detail::AGENTS));
        let agent = outcome.and_then(event::agent_of_outcome).map(|(id, kind)| {
            let names = &mut self.facts.names;
            let call = answer.id.as_deref().map(|call| names.get(call));
            (names.get(&id), kind.map(|kind| names.get(&kind)), call)
        });
        let Some(details) = self.details() else { return };
        let bytes = answer.content.map_or(0, |content| content.len() as u64);
        if details.kept.contains(Detail::CALLS) {
            details.answers.push((call, Answer { moment, bytes }));
        }
        // Which tool answers may be said elsewhere: only answers that are known to be of other tools are left out.
        let may_tell =
            details.kept.traces().intersects(Traces::QUESTIONS) && !details.unanswered.remove(&call);
        let whole = details.kept.contains(Detail::OUTPUTS);
        if let Some(content) = answer.content.filter(|text| whole || may_tell && text.len() <= SHORT) {
            let output = First::at(spot, Some(content.into()));
            details.contents.insert(call, Content { output, ..Content::default() });
        }
        if let Some((id, kind, started)) = agent {
            for key in [Id::of(&id), call] {
                let told = Agent {
                    call: First::at(spot, started.clone()),
                    kind: First::at(spot, kind.clone()),
                    id: First::at(spot, Some(Name::clone(&id))),
                };
                details.agents.insert(key, told);
            }
        }
    }

    pub(in crate::facts) fn detail_response(&mut self, response: Id, id: Option<&str>, time: Option<Time>) {
        let moment = self.moment(time);
        let Some(details) = self.details() else { return };
        // The lines of a response follow each other. One row holds what they say together: the first place, the earliest time.
        if let Some((last, telling)) = details.tellings.last_mut()
            && *last == response
            && telling.moment.is_before(&moment)
        {
            telling.moment.time.merge(moment.time);
            return;
        }
        details.tellings.push((response, Telling { moment, id: id.map(Name::from) }));
    }

    pub(in crate::facts) fn detail_denial(&mut self, call: Id) {
        let moment = self.moment(self.event.time);
        if let Some(details) = self.details() {
            details.denials.push((call, moment));
        }
    }

    pub(in crate::facts) fn happened(&mut self, what: What) {
        if !what.is_per_record() && !self.keeps(Detail::EVENTS) {
            return;
        }
        let moment = self.moment(self.event.time);
        let key = self.uuid.unwrap_or_else(|| Id::at(self.place, 0)).within(&what.sort());
        let uuid = self.uuid;
        self.facts.happenings.push((key, Happening { moment, uuid, what }));
    }

    /// Notes the MCP servers of a process. Most have none.
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
            self.happened(What::Servers(servers));
        }
    }

    pub(in crate::facts) fn detail_record(&mut self) {
        if !self.keeps(Detail::RECORDS) {
            return;
        }
        let moment = self.moment(self.event.time);
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
            moment,
            kind: names.get(&kind.name()),
            known: kind.is_known(),
            dialect: self.event.dialect,
            uuid: self.uuid,
            bytes: self.event.text.len() as u64,
            blocks,
        };
        if let Some(details) = self.details() {
            details.records.push(record);
        }
    }
}
