//! Records that name no session, in a source that tells of one alone: they are that session's.

use std::collections::BTreeMap;

use super::{Ledger, Session, SessionIndex};

impl Ledger {
    /// Gives what the nameless session of a source has to the one session that the source names. Control lines never name
    /// theirs, hosts and bridges seldom do, and the seed documents name it in the first line alone. Where a source names
    /// several, nothing tells which of them it is.
    pub(super) fn attach(&mut self) {
        let adopted = self.adopted();
        if adopted.is_empty() {
            return;
        }
        for (&nameless, &named) in &adopted {
            let other = self.sessions[nameless].clone();
            take_in(&mut self.sessions[named], other);
        }
        let mut order: Vec<SessionIndex> = SessionIndex::each(&self.sessions)
            .map(|(at, _)| at)
            .filter(|at| !adopted.contains_key(at))
            .collect();
        // A session may have got an earlier moment. Those without one are the last.
        order.sort_by_key(|&at| (self.sessions[at].started.is_none(), self.sessions[at].started));
        let mut moved: Vec<Option<SessionIndex>> = vec![None; self.sessions.len()];
        order.iter().enumerate().for_each(|(to, from)| moved[from.get()] = Some(SessionIndex::new(to)));
        adopted.iter().for_each(|(nameless, named)| moved[nameless.get()] = moved[named.get()]);
        let moved = |at: SessionIndex| moved[at.get()];
        self.sessions = order.iter().map(|&at| self.sessions[at].clone()).collect();
        self.contexts_mut().for_each(|context| context.session = context.session.and_then(moved));
        self.agents.iter_mut().for_each(|agent| agent.session = agent.session.and_then(moved));
        for span in &mut self.spans {
            span.session = moved(span.session).unwrap_or(span.session);
        }
        for source in &mut self.sources {
            source.sessions = source.sessions.iter().copied().filter_map(moved).collect();
            source.sessions.sort_unstable();
            source.sessions.dedup();
        }
    }

    /// Each nameless session that another takes in, with that one.
    fn adopted(&self) -> BTreeMap<SessionIndex, SessionIndex> {
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

/// What a session gains. Whether it was streamed is told by lines that name it: one that was only saved has no result.
fn take_in(session: &mut Session, other: Session) {
    let Session {
        id: _,
        source: _,
        project,
        version,
        started,
        ended,
        streamed: _,
        has_result,
        complete,
        unpriced,
        steps: _, // told session by session, before any is taken in
    } = other;
    session.project = session.project.take().or(project);
    session.version = session.version.take().or(version);
    session.started = session.started.into_iter().chain(started).min();
    session.ended = session.ended.max(ended);
    session.has_result |= has_result;
    session.complete &= complete;
    session.unpriced.extend(unpriced);
}
