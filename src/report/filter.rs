//! Filters: which rows count. A filter means the same in every report.
//!
//! Rows that a filter cannot evaluate are excluded: a row without a time is in no time range, a row without a
//! session is in no project, and a turn has no tool.

mod attribution;

pub use attribution::Attributions;
pub(super) use attribution::server_of;
use attribution::{RowAttributions, workflow_of};
use globset::{GlobBuilder, GlobMatcher};

use super::{Names, names_id};
use crate::{
    facts::Detail,
    facts::ledger::{
        AgentIndex, Call, CallIndex, Context, ExchangeIndex, Ledger, PromptIndex, ResponseIndex, Role,
        SessionIndex, Turn,
    },
    measure::{Time, Usd},
};

/// Which rows count.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Start of the time range, inclusive.
    pub since: Option<Time>,
    /// End of the time range, exclusive.
    pub until: Option<Time>,
    /// Only this many sessions, the latest ones.
    pub last: Option<usize>,
    /// Machines whose sessions count; all if empty. A session outside of archives has none.
    pub machines: Vec<Pattern>,
    /// Projects; empty for all.
    pub projects: Vec<Pattern>,
    /// Models; empty for all.
    pub models: Vec<Pattern>,
    /// Sessions; empty for all.
    pub sessions: Vec<Pattern>,
    /// Tools; empty for all.
    pub tools: Vec<Pattern>,
    /// Main agent, subagents or both.
    pub agents: Agents,
    /// Outcomes of sessions; empty for all.
    pub outcomes: Vec<super::Outcome>,
    /// Branches, pull requests and others.
    pub attributed: Attributions,
}

/// Which agents' rows count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agents {
    /// All agents.
    #[default]
    All,
    /// The main agent only.
    Main,
    /// Subagents only.
    Sub,
}

/// A name, part of a name, or a glob with `*`, `?` and `[`.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    glob: Option<GlobMatcher>,
}

impl Pattern {
    /// Parses a pattern as typed on the command line.
    pub fn new(text: &str) -> Result<Self, String> {
        let glob = text.contains(['*', '?', '[']).then(|| {
            let glob = GlobBuilder::new(text).literal_separator(false).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
        });
        Ok(Self { text: text.to_owned(), glob: glob.transpose()? })
    }

    /// Whether it names this project.
    pub(super) fn is_part_of(&self, project: &str) -> bool {
        self.matches(project, holds)
    }

    fn matches(&self, name: &str, plainly: impl Fn(&str, &str) -> bool) -> bool {
        match &self.glob {
            Some(glob) => glob.is_match(name),
            None => plainly(name, &self.text),
        }
    }
}

/// Whether a name matches one of the patterns; without patterns every name matches.
fn wanted(patterns: &[Pattern], name: Option<&str>, plainly: impl Fn(&str, &str) -> bool) -> bool {
    patterns.is_empty()
        || name.is_some_and(|name| patterns.iter().any(|pattern| pattern.matches(name, &plainly)))
}

fn holds(name: &str, part: &str) -> bool {
    name.to_lowercase().contains(&part.to_lowercase())
}

/// The folder below `projects` that contains a saved session.
fn project_folder(source: &str) -> Option<String> {
    let mut parts = source.split(['/', '\\']);
    parts.find(|part| *part == "projects")?;
    let folder = parts.next()?;
    parts.next().map(|_| folder.to_owned())
}

impl Filter {
    /// Whether no filter is set.
    pub fn is_empty(&self) -> bool {
        let Self {
            since,
            until,
            last,
            projects,
            machines,
            models,
            sessions,
            tools,
            agents,
            outcomes,
            attributed,
        } = self;
        since.is_none()
            && until.is_none()
            && last.is_none()
            && [projects, machines, models, sessions, tools].iter().all(|patterns| patterns.is_empty())
            && outcomes.is_empty()
            && *agents == Agents::All
            && attributed.is_empty()
    }

    /// Whether parts of records are selected: responses and calls.
    pub fn selects_parts(&self) -> bool {
        !self.tools.is_empty() || !self.models.is_empty() || self.attributed.is_by_response()
    }

    /// The same filter without those that select parts of records.
    #[must_use]
    pub fn of_whole_records(&self) -> Self {
        let attributed = self.attributed.without_responses();
        Self { tools: Vec::new(), models: Vec::new(), attributed, ..self.clone() }
    }

    /// The detail to keep for a report that needs `detail`. Which sessions remain depends on all their
    /// records.
    pub fn detail(&self, detail: Detail) -> Detail {
        match () {
            () if self.is_empty() => detail,
            // A text that was found has its own time, session and tool, and only sessions with such texts matter.
            () if detail.contains(Detail::FOUND) => detail | self.detail_of_found() | self.attribution(),
            () => detail | Detail::ROWS | Detail::RECORDS | self.attribution(),
        }
    }

    /// The detail that says what rows are attributed to.
    fn attribution(&self) -> Detail {
        let rows = Detail::CALLS | Detail::RESPONSES | Detail::AGENTS | Detail::EVENTS;
        if self.attributed.is_empty() { Detail::TOTALS } else { rows | Detail::ATTRIBUTION }
    }

    /// The detail that selects texts that a search found: the responses that belong to a tool or model, and agents.
    fn detail_of_found(&self) -> Detail {
        let by_response = self.selects_parts();
        let responses = if by_response { Detail::CALLS | Detail::RESPONSES } else { Detail::TOTALS };
        responses | if self.agents == Agents::All { Detail::TOTALS } else { Detail::AGENTS }
    }

    /// Names projects after their folders where the log does not, then applies the filter.
    pub fn select(&self, ledger: &mut Ledger, names: Names<'_>) {
        ledger.suggest_projects(|source| project_folder(names.get(source)));
        ledger.name_workflows(|source| workflow_of(names.get(source)));
        self.apply(ledger);
    }

    /// Removes the rows that do not count.
    pub fn apply(&self, ledger: &mut Ledger) {
        if self.is_empty() {
            return;
        }
        let sessions = self.chosen_sessions(ledger);
        let attributions = RowAttributions::of(&self.attributed, ledger);
        let attributed = attributions.includes();
        let seen = |context: &Context| {
            self.is_chosen(context, &sessions) && self.in_time(context.time) && attributed(context)
        };
        let whose = |context: &Context, known: bool| match self.agents {
            Agents::All => true,
            Agents::Main => known && context.agent.is_none(),
            Agents::Sub => known && context.agent.is_some(),
        };
        let counts = |context: &Context| seen(context) && whose(context, true);
        let (no_tool, no_model) = (self.tools.is_empty(), self.models.is_empty());
        let model = |name: Option<&str>| wanted(&self.models, name, holds);
        let tool = |name: Option<&str>| wanted(&self.tools, name, |name, text| name == text);
        let whole = !self.selects_parts();
        let no_parts = no_model && !self.attributed.is_by_response();
        let plain = |context: &Context| whole && counts(context);
        // Destructured, so that a new table does not compile until it is filtered.
        let Ledger {
            input: _,    // about bytes, not rows
            sessions: _, // filtered last, by their remaining rows
            agents,
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
            exchanges,
            servers,
            pull_requests: _, // filtered with their sessions
            records,
            packed_records,
            traces,
            moments,
            spans: _,   // filtered with their sessions
            hosts: _,   // about sources, not rows
            sources: _, // filtered with their sessions
            has_content: _,
        } = ledger;

        let fits: Vec<bool> =
            responses.iter().map(|response| self.attributed.includes_response(Some(response))).collect();
        charges.retain(|charge| {
            let response = charge.response.map(|at| &responses[at.get()]);
            seen(&charge.context)
                && whose(&charge.context, charge.response.is_some())
                && model(charge.model.as_deref())
                && tool(charge.tool.as_deref())
                && self.attributed.includes_response(response)
                && self.attributed.includes_charge(charge, response)
        });
        let mut answered = vec![no_tool && !self.attributed.is_by_response(); responses.len()];
        charges.iter().filter_map(|charge| charge.response).for_each(|at| answered[at.get()] = true);
        let moved =
            keep(responses, |at, one| answered[at] && counts(&one.context) && model(Some(&one.model)));
        let answer = |at: ResponseIndex| moved[at.get()].map(ResponseIndex::new);
        found.iter_mut().for_each(|one| one.response = one.response.and_then(answer));
        charges.iter_mut().for_each(|charge| charge.response = charge.response.and_then(answer));
        let asked = |call: &Call| {
            let fits =
                call.response.map_or_else(|| self.attributed.includes_response(None), |at| fits[at.get()]);
            fits && self.attributed.includes_call(call)
        };
        rebuilds.retain_mut(|rebuild| match answer(rebuild.response) {
            Some(response) => {
                rebuild.response = response;
                true
            }
            None => false,
        });

        denials.retain(|denial| {
            let call = denial.call.map(|call| &calls[call]);
            counts(&denial.context)
                && tool(Some(&denial.tool))
                && model(call.and_then(|call| call.model.as_deref()))
                && call.map_or_else(|| !self.attributed.is_by_response(), asked)
        });
        let moved = keep(calls, |_, call| {
            counts(&call.context) && tool(Some(&call.tool)) && model(call.model.as_deref()) && asked(call)
        });
        calls.iter_mut().for_each(|call| call.response = call.response.and_then(answer));
        let moved = |at: CallIndex| moved[at.get()].map(CallIndex::new);
        found.retain_mut(|one| {
            let called = one.call.map(moved);
            one.call = called.flatten();
            // Texts of a response are selected with it, inputs and results with their call.
            let fits = match (called, one.role) {
                _ if whole => true,
                (Some(call), _) => call.is_some(),
                (None, Role::Tool) => no_parts && tool(one.tool.as_deref()),
                (None, _) => one.response.is_some(),
            };
            fits && counts(&one.context)
        });
        denials.iter_mut().for_each(|denial| denial.call = denial.call.and_then(moved));
        agents.iter_mut().for_each(|agent| agent.call = agent.call.and_then(moved));

        self.narrow_turns(turns, &counts);
        orphans.retain(plain);
        server_uses.retain(|one| no_parts && counts(&one.context) && tool(Some(&one.tool)));
        interactive_turns.retain(|turn| plain(&turn.context));
        api_failures.retain(|failure| plain(&failure.context));
        compactions.retain(|one| plain(&one.context));
        interruptions.retain(plain);
        let moved = keep(prompts, |_, prompt| plain(&prompt.context));
        for exchange in exchanges {
            exchange.prompt = exchange.prompt.and_then(|at| moved[at.get()]).map(PromptIndex::new);
        }
        servers.retain(|server| plain(&server.context));
        records.retain(|record| plain(&record.context));
        packed_records.retain(|record| plain(&record.context));
        traces.retain(|row| plain(&row.context));
        moments.retain(|row| plain(&row.context));
        for session in &mut ledger.sessions {
            session.times.retain(|record| no_tool && no_model && self.in_time(Some(record.time)));
        }
        self.narrow_sessions(ledger, &sessions);
    }

    /// Whether the session of a row is selected. A filter on sessions excludes rows without a session.
    fn is_chosen(&self, context: &Context, sessions: &[bool]) -> bool {
        match context.session {
            Some(session) => sessions[session.get()],
            None => !self.has_session_filter(),
        }
    }

    /// Whether sessions are selected by name, project, outcome or age.
    fn has_session_filter(&self) -> bool {
        let Self {
            since: _,
            until: _,
            models: _,
            tools: _,
            agents: _,
            last,
            projects,
            machines,
            sessions,
            outcomes,
            attributed: _,
        } = self;
        last.is_some()
            || !outcomes.is_empty()
            || [projects, machines, sessions].iter().any(|all| !all.is_empty())
    }

    /// Filters turns. A turn may use several models: only the cost of the selected ones remains.
    fn narrow_turns(&self, turns: &mut Vec<Turn>, counts: &impl Fn(&Context) -> bool) {
        let all_models = self.models.is_empty();
        turns.retain_mut(|turn| {
            let by_part = !self.tools.is_empty() || self.attributed.is_by_response();
            if by_part || !counts(&turn.context) {
                return false;
            }
            if all_models {
                return true;
            }
            let Some(models) = &mut turn.models else { return false };
            models.retain(|(model, _)| wanted(&self.models, Some(model), holds));
            turn.cost = (!models.is_empty()).then(|| models.iter().map(|(_, cost)| *cost).sum::<Usd>());
            !models.is_empty()
        });
    }

    fn in_time(&self, time: Option<Time>) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        time.is_some_and(|time| {
            self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
        })
    }

    /// Which sessions are selected by name, project, outcome or age.
    fn chosen_sessions(&self, ledger: &Ledger) -> Vec<bool> {
        if !self.has_session_filter() {
            return vec![true; ledger.sessions.len()];
        }
        let outcomes = if self.outcomes.is_empty() { Vec::new() } else { super::outcomes(ledger) };
        let chosen = ledger.sessions.iter().enumerate().map(|(at, session)| {
            wanted(&self.sessions, session.id.as_deref(), |id, typed| names_id(typed, id))
                && wanted(&self.projects, session.project.as_deref(), holds)
                && wanted(&self.machines, session.machine.as_deref(), |name, text| name == text)
                && (self.outcomes.is_empty()
                    || self.outcomes.iter().any(|wanted| wanted.includes(outcomes[at])))
        });
        let mut chosen: Vec<bool> = chosen.collect();
        if let Some(last) = self.last {
            // Sessions are sorted by start time, those without a time last.
            let dated = |at: &usize| ledger.sessions[*at].started.is_some();
            let (dated, undated): (Vec<usize>, Vec<usize>) =
                (0..chosen.len()).filter(|&at| chosen[at]).partition(dated);
            let order: Vec<usize> = undated.into_iter().chain(dated).collect();
            order.iter().take(order.len().saturating_sub(last)).for_each(|&at| chosen[at] = false);
        }
        chosen
    }

    /// Removes sessions that are not selected or have no rows left.
    fn narrow_sessions(&self, ledger: &mut Ledger, chosen: &[bool]) {
        let by_rows = self.since.is_some()
            || self.until.is_some()
            || self.agents != Agents::All
            || self.selects_parts()
            || !self.attributed.is_empty();
        if by_rows {
            // The last prompt may be one of the rows that the filter removes.
            ledger.sessions.iter_mut().for_each(|session| session.last_prompt = None);
        }
        let mut left = vec![!by_rows; chosen.len()];
        ledger
            .contexts()
            .filter_map(|context| context.session)
            .chain(ledger.packed_records.iter().filter_map(|record| record.context.session))
            .for_each(|session| left[session.get()] = true);
        let moved = keep(&mut ledger.sessions, |at, _| chosen[at] && left[at]);
        let moved = |at: SessionIndex| moved[at.get()].map(SessionIndex::new);
        ledger.update_contexts(|context| context.session = context.session.and_then(moved));
        ledger.spans.retain_mut(|span| match moved(span.session) {
            Some(session) => {
                span.session = session;
                true
            }
            None => false,
        });
        ledger.pull_requests.retain_mut(|one| {
            let session = one.context.session;
            one.context.session = session.and_then(moved);
            session.is_none() || one.context.session.is_some()
        });
        // A source without sessions does not belong in a filtered report.
        ledger.sources.retain_mut(|source| {
            source.sessions = source.sessions.iter().copied().filter_map(moved).collect();
            !source.sessions.is_empty()
        });
        // Exchanges stay even if their prompts are removed, so that a filter does not change which one a row
        // belongs to.
        let exchanges =
            keep(&mut ledger.exchanges, |_, one| one.session.is_none_or(|at| moved(at).is_some()));
        for one in &mut ledger.exchanges {
            one.session = one.session.and_then(moved);
        }
        let exchange = |at: ExchangeIndex| exchanges[at.get()].map(ExchangeIndex::new);
        let agents = keep(&mut ledger.agents, |_, agent| agent.session.is_none_or(|at| moved(at).is_some()));
        let agent = |at: AgentIndex| agents[at.get()].map(AgentIndex::new);
        for one in &mut ledger.agents {
            (one.session, one.parent) = (one.session.and_then(moved), one.parent.and_then(agent));
            one.exchange = one.exchange.and_then(exchange);
        }
        ledger.update_contexts(|context| context.agent = context.agent.and_then(agent));
    }
}

/// Removes the rows that do not count. Returns the new index of each former row.
fn keep<T>(rows: &mut Vec<T>, counts: impl Fn(usize, &T) -> bool) -> Vec<Option<usize>> {
    let (mut moved, mut next) = (Vec::with_capacity(rows.len()), 0);
    rows.retain(|row| {
        let kept = counts(moved.len(), row);
        moved.push(kept.then_some(next));
        next += usize::from(kept);
        kept
    });
    moved
}
