//! Operations on all tables of a ledger: the contexts of their rows, and their texts.

use std::ops::Range;

use super::{Context, Ledger, Location, Session, SessionIndex, SessionSpan};
use crate::{facts::Name, input::SourceId, measure::Time};

/// The contexts of all rows. Destructured, so that a new table that is not listed here does not compile.
macro_rules! contexts {
    ($ledger:ident, $iter:ident $($mutable:tt)?) => {{
        let Self {
            input: _,
            sessions: _,
            agents: _,
            responses,
            charges,
            calls,
            orphans,
            server_uses,
            turns,
            interactive_turns,
            denials,
            api_failures,
            compactions,
            rebuilds,
            prompts,
            interruptions,
            found,
            query: _,
            exchanges: _,
            servers,
            pull_requests: _, // not rows: what rows belong to
            records,
            packed_records: _, // unpacked one by one
            traces,
            moments,
            spans: _,
            hosts: _,
            sources: _,
            has_content: _,
        } = $ledger;
        let own = orphans.$iter().chain(prompts.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(interruptions.$iter());
        let own = own.chain(found.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(responses.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(charges.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(calls.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(server_uses.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(turns.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(interactive_turns.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(denials.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(api_failures.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(compactions.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(rebuilds.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(servers.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(moments.$iter().map(|one| &$($mutable)? one.context));
        let own = own.chain(traces.$iter().map(|one| &$($mutable)? one.context));
        own.chain(records.$iter().map(|one| &$($mutable)? one.context))
    }};
}

impl Ledger {
    /// Sets the machine of sessions to that of the first of their sources that has one.
    pub fn name_machines(&mut self, machine: impl Fn(SourceId) -> Option<Name>) {
        for source in &self.sources {
            let Some(machine) = machine(source.id) else { continue };
            for &session in &source.sessions {
                self.sessions[session].machine.get_or_insert_with(|| Name::clone(&machine));
            }
        }
    }

    /// Sets the project of sessions without a folder to the one that their source suggests.
    pub fn suggest_projects(&mut self, folder: impl Fn(SourceId) -> Option<String>) {
        for session in self.sessions.iter_mut().filter(|session| session.project.is_none()) {
            session.project = folder(session.source).map(Name::from);
        }
    }

    /// Removes the texts that may be from outside of a period: prompts of other times, and those without a time.
    pub fn hide_texts_outside(&mut self, period: &Range<Time>) {
        let is_outside = |context: &Context| context.time.is_none_or(|time| !period.contains(&time));
        self.sessions.iter_mut().for_each(|session| session.last_prompt = None);
        let outside = self.prompts.iter_mut().filter(|prompt| is_outside(&prompt.context));
        outside.for_each(|prompt| prompt.text = None);
    }

    /// Removes all texts of the log, for output that must not contain them. Names of tools, models, projects and
    /// the like stay.
    pub fn strip_content(&mut self) {
        self.has_content = false;
        for session in &mut self.sessions {
            (session.title, session.last_prompt) = (None, None);
        }
        self.prompts.iter_mut().for_each(|prompt| prompt.text = None);
        let more = self.responses.iter_mut().filter_map(|response| response.more.as_mut());
        more.for_each(|more| more.said = None);
        for call in &mut self.calls {
            (call.brief, call.failure) = (None, None);
        }
        self.turns.iter_mut().for_each(|turn| turn.failure = None);
        self.found.iter_mut().for_each(|found| found.line = None);
        self.api_failures.iter_mut().for_each(|failure| failure.message = None);
    }

    /// Returns the session of a row.
    pub fn session(&self, context: &Context) -> Option<&Session> {
        context.session.map(|session| &self.sessions[session])
    }

    /// Returns the session of a row, if it has an id.
    pub fn named_session(&self, context: &Context) -> Option<SessionIndex> {
        context.session.filter(|&session| self.sessions[session].id.is_some())
    }

    /// Returns the last span of a source that begins before a location, and the next span.
    pub(in crate::facts) fn spans_around(
        &self,
        at: Location,
    ) -> (Option<&SessionSpan>, Option<&SessionSpan>) {
        let next = self.spans.partition_point(|span| (span.source, span.first) < (at.source, at.offset));
        let own = |span: &&SessionSpan| span.source == at.source;
        (next.checked_sub(1).map(|last| &self.spans[last]).filter(own), self.spans.get(next).filter(own))
    }

    /// Returns the contexts of all rows that are not packed.
    pub fn contexts(&self) -> impl Iterator<Item = &Context> {
        contexts!(self, iter)
    }

    /// Changes the contexts of all rows.
    pub fn update_contexts(&mut self, mut update: impl FnMut(&mut Context)) {
        self.packed_records.update_contexts(&mut update);
        contexts!(self, iter_mut mut).for_each(update);
    }
}
