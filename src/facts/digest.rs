//! Absorbs digests of lean logs: the same facts as those of their records, if only totals are kept.

use std::borrow::Cow;

use super::{
    Facts, Name,
    calls::Call,
    key::{Id, Names, SessionKey},
    merge::{CompactPlace, First, Last, Merge, SmallSet, Span, insert},
    once::Once,
    rebuild::Position,
    responses::Response,
    sessions::Session,
};
use crate::{
    event::{
        Agent, Dialect,
        lean::{AgentDigest, CallDigest, Damaged, Digest, ResponseDigest, SessionDigest},
    },
    input::{Place, SourceId},
};

impl Facts {
    /// Absorbs the records of a digest, as far as it is not damaged.
    pub fn absorb_digest(&mut self, source: SourceId, digest: &Digest<'_>) -> Result<(), Damaged> {
        let mut absorber = DigestAbsorber {
            names: Interned { texts: &digest.texts, names: vec![None; digest.texts.len()] },
            facts: self,
            source,
            sessions: Vec::new(),
        };
        absorber.absorb(digest).ok_or(Damaged)
    }
}

/// A digest that is being absorbed.
struct DigestAbsorber<'f, 'd> {
    facts: &'f mut Facts,
    source: SourceId,
    names: Interned<'d>,
    /// The sessions of the digest.
    sessions: Vec<SessionKey>,
}

/// The texts of a digest as names, interned when they are needed.
struct Interned<'d> {
    texts: &'d [&'d str],
    names: Vec<Option<Name>>,
}

impl Interned<'_> {
    /// The name with this index. The outer `None` is a damage.
    fn get(&mut self, index: usize, names: &mut Names) -> Option<Name> {
        let known = self.names.get_mut(index)?;
        Some(Name::clone(known.get_or_insert_with(|| names.get(self.texts[index]))))
    }
}

impl DigestAbsorber<'_, '_> {
    fn absorb(&mut self, digest: &Digest<'_>) -> Option<()> {
        for &(kind, count) in &digest.kinds {
            self.facts.input.records += count;
            self.facts.dialects[Dialect::Transcript as usize] += count;
            self.facts.kinds.0[kind.index()] += count;
        }
        for &version in &digest.versions {
            let version = self.names.get(version, &mut self.facts.names)?;
            self.facts.versions.insert(version);
        }
        for session in &digest.sessions {
            self.session(session)?;
        }
        let source = self.source;
        digest.each_record(|offset, uuid, form| {
            let uuid = Id::of_number(uuid);
            if form.is_prompt {
                self.facts.prompts.insert(uuid, ());
            }
            let mut once = Once::at(place(source, offset));
            form.blocks.iter().for_each(|block| once.block(*block));
            self.facts.records.insert(Some(uuid), once);
        })?;
        let mut is_whole = true;
        digest.each_response(|response| is_whole &= self.response(response).is_some())?;
        digest.each_call(|call| is_whole &= self.call(call).is_some())?;
        is_whole.then_some(())
    }

    fn session(&mut self, session: &SessionDigest) -> Option<()> {
        let &SessionDigest { id, times, cwd, version } = session;
        let key = match id {
            Some(id) => SessionKey::Named(self.names.get(id, &mut self.facts.names)?),
            None => SessionKey::Nameless(self.source),
        };
        let mut first = |placed: Option<(usize, u64)>| {
            let Some((text, offset)) = placed else { return Some(First::default()) };
            let name = self.names.get(text, &mut self.facts.names)?;
            Some(First::at(place(self.source, offset).into(), Some(name)))
        };
        let seen = Session {
            start: times.map(|(start, _)| start).into(),
            end: times.map(|(_, end)| Last(end)),
            cwd: first(cwd)?,
            version: first(version)?,
            sources: SmallSet::One(self.source),
            ..Session::default()
        };
        self.facts.span.merge(times.map(|(first, last)| Span { first, last }));
        self.sessions.push(key.clone());
        insert(&mut self.facts.sessions, key, seen);
        Some(())
    }

    fn response(&mut self, digest: &ResponseDigest<'_>) -> Option<()> {
        let &ResponseDigest {
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
        } = digest;
        let session = self.sessions.get(session)?.clone();
        let place = self.place(offset);
        let mut name = |index: Option<usize>| match index {
            Some(index) => Some(First::at(place, Some(self.names.get(index, &mut self.facts.names)?))),
            None => Some(First::default()),
        };
        let (model, requested) = (name(model)?, name(requested)?);
        let position = Position::new(place, time, &self.agent(agent)?);
        let row = Response::saved(session, model, requested, usage.as_ref(), is_stopped)
            .written_by(version)
            .with_position(position);
        self.facts.responses.insert(Id::of(id), row);
        Some(())
    }

    /// Returns the agent, without its type. `None` if the digest is damaged.
    fn agent(&self, digest: AgentDigest) -> Option<Agent<'_>> {
        let text = |index: Option<usize>| match index {
            Some(index) => Some(Some(Cow::Borrowed(*self.names.texts.get(index)?))),
            None => Some(None),
        };
        let AgentDigest { call, id, sidechain } = digest;
        Some(Agent { call: text(call)?, id: text(id)?, kind: None, sidechain })
    }

    fn call(&mut self, digest: &CallDigest<'_>) -> Option<()> {
        let &CallDigest { id, ask, answer } = digest;
        let mut call = None;
        if let Some(ask) = ask {
            let tool = match ask.tool {
                Some(tool) => Some(self.names.get(tool, &mut self.facts.names)?),
                None => None,
            };
            call = Some(Call::asked(self.place(ask.offset), tool, ask.time));
        }
        let answer =
            answer.map(|answer| Call::answered(self.place(answer.offset), answer.is_failed, answer.time));
        call.merge(answer);
        self.facts.calls.insert(Id::of(id), call?);
        Some(())
    }

    fn place(&self, offset: u64) -> CompactPlace {
        place(self.source, offset).into()
    }
}

/// A place of which only the offset is known. Totals show no lines.
fn place(source: SourceId, offset: u64) -> Place {
    Place { source, offset, unit: 0, line: 0 }
}
