//! What one record adds to the rows, if rows are kept.

use std::{hash::BuildHasher, sync::LazyLock};

use smallvec::SmallVec;

use super::{
    Agent, Answered, Asked, Call, Detail, Details, Happening, Moment, Record, Response, What, Whose,
};
use crate::{
    event::{self, BlockKind, Kind},
    facts::{
        absorb::Reading,
        key::{Id, Name},
        merge::{Few, First},
    },
    measure::Time,
};

/// Tells equal inputs, in this process alone; a stranger must not be able to make two equal.
fn fingerprint(text: &str) -> u64 {
    static SEED: LazyLock<foldhash::quality::RandomState> =
        LazyLock::new(foldhash::quality::RandomState::default);
    SEED.hash_one(text)
}

/// Tools whose input names a type of subagent.
const STARTERS: [&str; 2] = ["Agent", "Task"];

impl Reading<'_, '_, '_> {
    pub(in crate::facts) fn is_detailed(&self) -> bool {
        self.facts.details.is_some()
    }

    fn details(&mut self) -> Option<&mut Details> {
        self.facts.details.as_deref_mut()
    }

    fn moment(&mut self, time: Option<Time>) -> Moment {
        let version = self.event.version.as_deref().map(|version| self.facts.names.get(version));
        Moment {
            sessions: Few::One(self.session()),
            time: time.into(),
            seat: self.place.into(),
            whose: First::at(self.spot, Some(self.whose())),
            version: First::at(self.spot, version),
        }
    }

    fn whose(&self) -> Whose {
        Whose::of(&self.event.agent)
    }

    /// Notes what the record says of its agent.
    pub(in crate::facts) fn detail_agent(&mut self) {
        let whose = self.whose();
        let agent = &self.event.agent;
        let key = match whose {
            Whose::Main | Whose::Side => return,
            Whose::Started(id) | Whose::Named(id) => id,
        };
        let kind = agent.kind.as_deref().map(|kind| self.facts.names.get(kind));
        let name = agent.id.as_deref().map(|id| self.facts.names.get(id));
        let (spot, call) = (self.spot, agent.call.as_deref().map(Id::of));
        let Some(details) = self.details() else { return };
        // The subagent's own id leads to the call as well, for the dialect that has only the id.
        let ids = [Some(key), name.as_deref().map(Id::of)];
        for id in ids.into_iter().flatten() {
            let told = Agent {
                call: First::at(spot, call),
                kind: First::at(spot, kind.clone()),
                name: First::at(spot, name.clone()),
            };
            details.agents.insert(id, told);
        }
    }

    pub(in crate::facts) fn detail_ask(
        &mut self,
        call: Id,
        ask: &event::ToolUse<'_>,
        response: Option<Id>,
        time: Option<Time>,
    ) {
        let moment = self.moment(time);
        let spot = self.spot;
        let kind = match (ask.tool.as_deref(), ask.input) {
            (Some(tool), Some(input)) if STARTERS.contains(&tool) => event::agent_of_input(input),
            _ => None,
        };
        let kind = kind.map(|kind| self.facts.names.get(&kind));
        let Some(details) = self.details() else { return };
        let asked = Asked {
            id: ask.id.as_deref().map(Name::from),
            response,
            input: fingerprint(ask.input.unwrap_or_default()),
            content: ask.input.filter(|_| details.level >= Detail::Content).map(Into::into),
        };
        let told = Call { moment, asked: First::at(spot, Some(asked)), ..Call::default() };
        details.calls.insert(call, told);
        if kind.is_some() {
            let agent =
                Agent { kind: First::at(spot, kind), call: First::at(spot, Some(call)), ..Agent::default() };
            details.agents.insert(call, agent);
        }
    }

    pub(in crate::facts) fn detail_answer(
        &mut self,
        call: Id,
        answer: &event::ToolResult<'_>,
        time: Option<Time>,
    ) {
        let moment = self.moment(time);
        let (spot, seat) = (self.spot, moment.seat);
        let agent = answer.outcome.and_then(event::agent_of_outcome).map(|(id, kind)| {
            let names = &mut self.facts.names;
            (names.get(&id), kind.map(|kind| names.get(&kind)))
        });
        let Some(details) = self.details() else { return };
        let answered = Answered {
            time: time.into(),
            seat,
            bytes: answer.content.map_or(0, |content| content.len() as u64),
            content: answer.content.filter(|_| details.level >= Detail::Content).map(Into::into),
        };
        details.calls.insert(call, Call { answered: Some(answered), answer: moment, ..Call::default() });
        if let Some((name, kind)) = agent {
            let id = Id::of(&name);
            let told = Agent {
                call: First::at(spot, Some(call)),
                kind: First::at(spot, kind),
                name: First::at(spot, Some(name)),
            };
            details.agents.insert(id, told.clone());
            details.agents.insert(call, told);
        }
    }

    pub(in crate::facts) fn detail_response(&mut self, response: Id, id: Option<&str>, time: Option<Time>) {
        let moment = self.moment(time);
        let spot = self.spot;
        let Some(details) = self.details() else { return };
        let told = Response { moment, id: First::at(spot, id.map(Name::from)) };
        details.responses.insert(response, told);
    }

    pub(in crate::facts) fn detail_denial(&mut self, call: Id) {
        let moment = self.moment(self.event.time);
        if let Some(details) = self.details() {
            details.denials.insert(call, moment);
        }
    }

    pub(in crate::facts) fn happened(&mut self, what: What) {
        if !self.is_detailed() {
            return;
        }
        let moment = self.moment(self.event.time);
        let key = self.uuid.unwrap_or_else(|| Id::at(self.place, 0)).within(what.sort());
        let first = self.spot;
        if let Some(details) = self.details() {
            details.happenings.insert(key, Happening { moment, what, first });
        }
    }

    pub(in crate::facts) fn detail_record(&mut self) {
        if self.facts.details.as_ref().is_none_or(|details| details.level < Detail::Records) {
            return;
        }
        let (session, whose, names) = (self.session(), self.whose(), &mut self.facts.names);
        let blocks = match &self.event.body {
            event::Body::Message(message) => message
                .blocks
                .iter()
                .map(|block| {
                    (names.get(&block.kind.name()), matches!(block.kind, BlockKind::Known(_)), block.bytes)
                })
                .collect(),
            _ => SmallVec::new(),
        };
        let kind: &Kind<'_> = &self.event.kind;
        let record = Record {
            seat: self.place.into(),
            session,
            time: self.event.time,
            whose,
            version: self.event.version.as_deref().map(|version| names.get(version)),
            kind: names.get(&kind.name()),
            known: kind.is_known(),
            dialect: self.event.dialect,
            uuid: self.uuid,
            bytes: self.event.bytes,
            blocks,
        };
        if let Some(details) = self.details() {
            details.records.push(record);
        }
    }
}
