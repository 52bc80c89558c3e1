//! Runs: what is judged by itself. A run is a session, or a source that names none.

use std::collections::BTreeMap;

use crate::{
    facts::ledger::{Context, Ledger, Session, SessionIndex},
    input::SourceId,
    report::View,
};

/// To which run a row belongs.
///
/// Records without an id belong to the first session of their source that has one, and so does what is no record at all.
/// A source that holds no record is a run of its own: something was started, and nothing came of it.
#[derive(Clone, Debug)]
pub(in crate::report) struct Runs {
    /// For each run its sessions, or the source that has none.
    all: Vec<Run>,
    of_session: Vec<usize>,
    of_source: BTreeMap<SourceId, usize>,
    /// Everything is one run.
    whole: bool,
}

/// Whether any record belongs to a run.
pub(in crate::report) fn is_log(ledger: &Ledger) -> bool {
    Runs::whole().empty(ledger) == [false]
}

/// One run.
#[derive(Clone, Debug)]
pub(in crate::report) struct Run {
    /// The session that gives it its name; none if its source holds no record.
    pub(in crate::report) session: Option<SessionIndex>,
    /// The source that its main agent was first seen in; subagents may have files of their own.
    pub(in crate::report) source: SourceId,
}

impl Runs {
    /// All that was read as one run.
    pub(super) fn whole() -> Self {
        Self { all: Vec::new(), of_session: Vec::new(), of_source: BTreeMap::new(), whole: true }
    }

    /// Each by itself, by their first moments; sources without a record come last.
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

    /// How many there are.
    pub(in crate::report) fn len(&self) -> usize {
        if self.whole { 1 } else { self.all.len() }
    }

    /// Whether everything is one run.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Each, in order; none where everything is one.
    pub(in crate::report) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.all.iter()
    }

    /// The run of a session.
    pub(in crate::report) fn of_session(&self, session: SessionIndex) -> Option<usize> {
        if self.whole { Some(0) } else { self.of_session.get(session.get()).copied() }
    }

    /// The run of a row.
    pub(in crate::report) fn of_context(&self, context: &Context) -> Option<usize> {
        self.of(context.session, context.location.map(|at| at.source))
    }

    /// The run of a session, or of a source if there is no session.
    pub(super) fn of(&self, session: Option<SessionIndex>, source: Option<SourceId>) -> Option<usize> {
        match (session, source) {
            (Some(session), _) => self.of_session(session),
            (None, Some(source)) => self.of_source(source),
            (None, None) => self.whole.then_some(0),
        }
    }

    /// The run that a source's broken lines count for.
    pub(super) fn of_source(&self, source: SourceId) -> Option<usize> {
        if self.whole { Some(0) } else { self.of_source.get(&source).copied() }
    }

    /// For each run whether nothing is known of it: it has no record, or none that belongs to a session, a response or a
    /// result. Objects with a `type` that are not from Claude Code are such records.
    ///
    /// A run of which a filter left nothing is known: there is nothing that counts.
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

    /// The session's id, or the name of the source; nothing where everything is one run.
    pub(super) fn name(&self, run: usize, view: &View<'_>) -> Option<String> {
        let run = self.all.get(run)?;
        let id = run.session.and_then(|at| view.ledger.sessions[at].id.as_deref());
        Some(id.unwrap_or_else(|| view.names.get(run.source)).to_owned())
    }
}
