//! Attributes rows: to the branch and the pull request of their time, and to the run of a workflow.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Ledger, Location, SessionIndex};
use crate::{event, facts::Name, input::SourceId, measure::Time};

/// A pull request that a session worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Context of the first record about it in the session.
    pub context: Context,
    /// Its name in reports, such as `acme/shop#47`.
    pub name: Name,
    /// Its address, if the log has it.
    pub url: Option<Name>,
}

impl PullRequest {
    pub(super) fn of(context: Context, link: &event::PullRequest<Name>) -> Self {
        let event::PullRequest { number, repository, url } = link;
        let repository = repository.as_deref().or_else(|| repository_of(url.as_deref()?));
        let name = match (number, repository, url) {
            (Some(number), repository, _) => {
                Name::from(format!("{}#{number}", repository.unwrap_or_default()))
            }
            (None, _, url) => url.clone().unwrap_or_default(),
        };
        Self { context, name, url: url.clone() }
    }
}

/// Returns `owner/name` in the address of a pull request.
fn repository_of(url: &str) -> Option<&str> {
    let (_, path) = url.split_once("://")?.1.split_once('/')?;
    path.split_once("/pull/").map(|(repository, _)| repository)
}

/// The name that holds at each time of a session: its branch, or its pull request.
#[derive(Clone, Debug, Default)]
pub struct Timelines(BTreeMap<Option<SessionIndex>, Timeline>);

#[derive(Clone, Debug, Default)]
struct Timeline {
    /// From when a name holds, in order.
    changes: Vec<(Time, Name)>,
    /// The only name of the session.
    only: Option<Name>,
}

impl Timelines {
    fn of<'l>(rows: impl Iterator<Item = (&'l Context, &'l Name)>) -> Self {
        type Seen<'l> = Vec<(Option<Time>, Option<Location>, &'l Name)>;
        let mut sessions: BTreeMap<Option<SessionIndex>, Seen<'l>> = BTreeMap::new();
        for (context, name) in rows {
            let seen = sessions.entry(context.session).or_default();
            // Most rows repeat the name and the time of the row before.
            if seen.last().is_none_or(|last| (last.0, last.2) != (context.time, name)) {
                seen.push((context.time, context.location, name));
            }
        }
        let timeline = |mut seen: Seen<'l>| {
            seen.sort_unstable();
            let names: BTreeSet<&Name> = seen.iter().map(|(.., name)| *name).collect();
            let only = names.first().filter(|_| names.len() == 1).map(|name| Name::clone(name));
            let mut changes: Vec<(Time, Name)> =
                seen.into_iter().filter_map(|(time, _, name)| Some((time?, Name::clone(name)))).collect();
            changes.dedup_by(|later, kept| later.1 == kept.1);
            Timeline { changes, only }
        };
        Self(sessions.into_iter().map(|(session, seen)| (session, timeline(seen))).collect())
    }

    /// Returns the name at the time of a row: the last one before it, or else the first of the session. A row
    /// without a time has one only if its session has no other.
    pub fn at(&self, context: &Context) -> Option<&Name> {
        let Timeline { changes, only } = self.0.get(&context.session)?;
        if only.is_some() {
            return only.as_ref();
        }
        let time = context.time?;
        let after = changes.partition_point(|(from, _)| *from <= time);
        changes.get(after.saturating_sub(1)).map(|(_, name)| name)
    }
}

impl Ledger {
    /// Gives rows without a branch that of their time, and keeps the first link to each pull request of a
    /// session. The CLI repeats the links.
    pub(super) fn settle_attributions(&mut self) {
        let rows = self.responses.iter().map(|one| &one.context);
        let rows = rows.chain(self.calls.iter().map(|one| &one.context));
        let rows = rows.chain(self.prompts.iter().map(|one| &one.context));
        let branches = Timelines::of(rows.filter_map(|context| Some((context, context.branch.as_ref()?))));
        self.update_contexts(|context| {
            if context.branch.is_none() {
                context.branch = branches.at(context).cloned();
            }
        });
        let order = |one: &PullRequest| {
            let Context { session, time, location, .. } = one.context;
            (session, time.is_none(), time, location)
        };
        self.pull_requests.sort_by_key(order);
        let mut known = BTreeSet::new();
        self.pull_requests.retain(|one| known.insert((one.context.session, Name::clone(&one.name))));
    }

    /// Returns the pull request of each time. Work before the first link of a session belongs to that link:
    /// it led to it.
    pub fn pull_request_times(&self) -> Timelines {
        Timelines::of(self.pull_requests.iter().map(|one| (&one.context, &one.name)))
    }

    /// Sets the run of a workflow that sources belong to.
    pub fn name_workflows(&mut self, workflow: impl Fn(SourceId) -> Option<String>) {
        for source in &mut self.sources {
            source.workflow = workflow(source.id).map(Name::from);
        }
    }

    /// Returns the run of a workflow that wrote a row.
    pub fn workflow(&self, context: &Context) -> Option<&Name> {
        let id = context.location?.source;
        let at = self.sources.binary_search_by_key(&id, |source| source.id).ok()?;
        self.sources[at].workflow.as_ref()
    }
}
