//! Runs, the unit that gates evaluate. A run is a session, or a source without a session id.

use std::collections::BTreeMap;

use crate::{
    facts::ledger::{Context, Ledger, Session, SessionIndex},
    input::SourceId,
    report::View,
};

/// Maps rows to runs.
///
/// Records without a session id, and lines that are not records, belong to the first session with an id in
/// their source. A source without records is a run of its own: something was started, but nothing was
/// written.
#[derive(Clone, Debug)]
pub(in crate::report) struct Runs {
    /// Empty if everything is one run.
    all: Vec<Run>,
    of_session: Vec<usize>,
    of_source: BTreeMap<SourceId, usize>,
    whole: bool,
}

/// Whether there is any record of a run.
pub(in crate::report) fn is_log(ledger: &Ledger) -> bool {
    Runs::whole().empty(ledger) == [false]
}

/// One run.
#[derive(Clone, Debug)]
pub(in crate::report) struct Run {
    /// The session that names it; `None` if its source has no records.
    pub(in crate::report) session: Option<SessionIndex>,
    /// The source with the first response of its main agent; subagents may have their own files.
    pub(in crate::report) source: SourceId,
}

impl Runs {
    /// Everything that was read as one run.
    pub(super) fn whole() -> Self {
        Self { all: Vec::new(), of_session: Vec::new(), of_source: BTreeMap::new(), whole: true }
    }

    /// One run per session, sorted by start time; sources without records come last.
    pub(in crate::report) fn each(ledger: &Ledger) -> Self {
        let named = |&&at: &&SessionIndex| ledger.sessions[at].id.is_some();
        let mut leads: Vec<SessionIndex> = SessionIndex::each(&ledger.sessions).map(|(at, _)| at).collect();
        for source in &ledger.sources {
            let Some(&lead) = source.sessions.iter().find(named) else { continue };
            source.sessions.iter().filter(|at| !named(at)).for_each(|at| leads[at.get()] = lead);
        }
        let mut main: Vec<Option<SourceId>> = vec![None; ledger.sessions.len()];
        for context in
            ledger.responses.iter().rev().map(|one| &one.context).filter(|context| context.agent.is_none())
        {
            if let (Some(session), Some(at)) = (context.session, context.location) {
                main[session.get()] = Some(at.source);
            }
        }
        let mut runs = Self { whole: false, ..Self::whole() };
        let mut of_lead = vec![0; leads.len()];
        for (at, session) in SessionIndex::each(&ledger.sessions).filter(|(at, _)| leads[at.get()] == *at) {
            of_lead[at.get()] = runs.all.len();
            runs.all.push(Run { session: Some(at), source: main[at.get()].unwrap_or(session.source) });
        }
        runs.of_session = leads.iter().map(|lead| of_lead[lead.get()]).collect();
        for source in &ledger.sources {
            let first = source.sessions.iter().find(named).or(source.sessions.first());
            let run = first.map_or(runs.all.len(), |at| runs.of_session[at.get()]);
            if first.is_none() {
                runs.all.push(Run { session: None, source: source.id });
            }
            runs.of_source.insert(source.id, run);
        }
        runs
    }

    pub(in crate::report) fn len(&self) -> usize {
        if self.whole { 1 } else { self.all.len() }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// All runs in order; empty if everything is one run.
    pub(in crate::report) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.all.iter()
    }

    pub(in crate::report) fn of_session(&self, session: SessionIndex) -> Option<usize> {
        if self.whole { Some(0) } else { self.of_session.get(session.get()).copied() }
    }

    pub(in crate::report) fn of_context(&self, context: &Context) -> Option<usize> {
        self.of(context.session, context.location.map(|at| at.source))
    }

    /// The run of a session, or of the source if there is no session.
    pub(super) fn of(&self, session: Option<SessionIndex>, source: Option<SourceId>) -> Option<usize> {
        match (session, source) {
            (Some(session), _) => self.of_session(session),
            (None, Some(source)) => self.of_source(source),
            (None, None) => self.whole.then_some(0),
        }
    }

    /// The run to which invalid lines of a source count.
    pub(super) fn of_source(&self, source: SourceId) -> Option<usize> {
        if self.whole { Some(0) } else { self.of_source.get(&source).copied() }
    }

    /// For each run, whether it has no record with a session id, a response or a result. Objects with a
    /// `type` that do not come from Claude Code have none of these.
    ///
    /// A run without rows after filtering is not empty in this sense: its counts are known to be zero.
    pub(super) fn empty(&self, ledger: &Ledger) -> Vec<bool> {
        let known = |session: &Session| session.id.is_some() || !session.streamed || session.has_result;
        let known = SessionIndex::each(&ledger.sessions).filter(|(_, session)| known(session));
        let known = known.filter_map(|(at, _)| self.of_session(at));
        let mut empty = vec![true; self.len()];
        for run in known.chain(ledger.responses.iter().filter_map(|one| self.of_context(&one.context))) {
            empty[run] = false;
        }
        let narrowed = ledger.input.records > 0 && ledger.sessions.is_empty();
        if self.whole && narrowed { vec![false] } else { empty }
    }

    /// Session id, or name of the source; `None` if everything is one run.
    pub(super) fn name(&self, run: usize, view: &View<'_>) -> Option<String> {
        let run = self.all.get(run)?;
        let id = run.session.and_then(|at| view.ledger.sessions[at].id.as_deref());
        Some(id.unwrap_or_else(|| view.names.get(run.source)).to_owned())
    }
}
