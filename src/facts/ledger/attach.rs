//! Attaches records without a session id to the only session of their source.

use std::collections::BTreeMap;

use super::{Ledger, Session, SessionIndex};

impl Ledger {
    /// Merges the nameless session of a source into the one session that the source names. Control lines
    /// never name their session, hosts and bridges seldom do, and seed documents only in the first line. If a
    /// source names several sessions, nothing is attached.
    pub(super) fn attach(&mut self) {
        let attached = self.attached();
        if attached.is_empty() {
            return;
        }
        for (&nameless, &named) in &attached {
            let other = self.sessions[nameless].clone();
            merge_session(&mut self.sessions[named], other);
        }
        let mut order: Vec<SessionIndex> = SessionIndex::each(&self.sessions)
            .map(|(at, _)| at)
            .filter(|at| !attached.contains_key(at))
            .collect();
        // A session may start earlier now. Sessions without a time are last.
        order.sort_by_key(|&at| (self.sessions[at].started.is_none(), self.sessions[at].started));
        let mut moved: Vec<Option<SessionIndex>> = vec![None; self.sessions.len()];
        order.iter().enumerate().for_each(|(to, from)| moved[from.get()] = Some(SessionIndex::new(to)));
        attached.iter().for_each(|(nameless, named)| moved[nameless.get()] = moved[named.get()]);
        let moved = |at: SessionIndex| moved[at.get()];
        self.sessions = order.iter().map(|&at| self.sessions[at].clone()).collect();
        self.update_contexts(|context| context.session = context.session.and_then(moved));
        self.agents.iter_mut().for_each(|agent| agent.session = agent.session.and_then(moved));
        for one in &mut self.pull_requests {
            one.context.session = one.context.session.and_then(moved);
        }
        for span in &mut self.spans {
            span.session = moved(span.session).unwrap_or(span.session);
        }
        for source in &mut self.sources {
            source.sessions = source.sessions.iter().copied().filter_map(moved).collect();
            source.sessions.sort_unstable();
            source.sessions.dedup();
        }
    }

    /// Maps each nameless session to the session it is merged into.
    fn attached(&self) -> BTreeMap<SessionIndex, SessionIndex> {
        let pair = |source: &super::Source| {
            let (named, nameless): (Vec<SessionIndex>, Vec<SessionIndex>) =
                source.sessions.iter().partition(|&&at| self.sessions[at].id.is_some());
            match (&named[..], &nameless[..]) {
                (&[named], &[nameless]) => Some((nameless, named)),
                _ => None,
            }
        };
        self.sources.iter().filter_map(pair).collect()
    }
}

/// Merges a nameless session into a named one. `streamed` only depends on lines that name the session: a
/// session that was only saved needs no result.
fn merge_session(session: &mut Session, other: Session) {
    let Session {
        id: _,
        source: _,
        project,
        machine,
        version,
        started,
        ended,
        streamed: _,
        has_result,
        last_message,
        complete,
        unpriced,
        steps: _, // explained per session, before sessions are merged
        title,
        last_prompt,
        times,
    } = other;
    session.project = session.project.take().or(project);
    session.machine = session.machine.take().or(machine);
    session.version = session.version.take().or(version);
    session.started = session.started.into_iter().chain(started).min();
    session.ended = session.ended.max(ended);
    session.has_result |= has_result;
    session.last_message = session.last_message.or(last_message);
    session.complete &= complete;
    session.unpriced.extend(unpriced);
    session.title = session.title.take().or(title);
    session.last_prompt = session.last_prompt.take().or(last_prompt);
    session.times.extend(times);
    session.times.sort_unstable();
}
