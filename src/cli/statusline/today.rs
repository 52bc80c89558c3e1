//! The cost of today, from the sessions that changed today.

use std::{
    collections::HashSet,
    fmt,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::dollars;
use crate::{
    cli::doctor::time_of,
    facts::Detail,
    input::{self, Environment, Limits, Origin, Roots, Source, Stop},
    measure::{Prices, Time, Usd, calendar, calendar::Zone},
    scan::{self, Options, Progress},
};

/// A cost, and whether all of it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    amount: Usd,
    /// Whether a response has no price.
    is_minimum: bool,
}

/// Marked as an estimate.
impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_minimum { "≥" } else { "≈" }, dollars(self.amount))
    }
}

/// Returns the cost of all saved sessions since midnight; `None` if logs cannot be read, or not in time. With a
/// timeout of zero they are not read.
pub(super) fn cost(
    environment: &Environment,
    transcript: Option<&str>,
    prices: Prices,
    zone: Zone,
    timeout: Duration,
) -> Option<Sum> {
    if timeout.is_zero() {
        return None;
    }
    let mut folders = environment.saved_sessions();
    folders.extend(transcript.and_then(|path| folder_of(Path::new(path), &folders)));
    let (send, receive) = mpsc::channel();
    // The thread ends with the program if the logs take too long.
    thread::spawn(move || send.send(since_midnight(folders, &prices, &zone)));
    receive.recv_timeout(timeout).ok().flatten()
}

/// The projects folder of the session, if it is not among the known ones.
fn folder_of(transcript: &Path, known: &[PathBuf]) -> Option<PathBuf> {
    let is_known = known.iter().any(|folder| transcript.starts_with(folder));
    let folder = transcript.parent()?.parent()?;
    (!is_known && folder.is_dir()).then(|| folder.to_owned())
}

fn since_midnight(folders: Vec<PathBuf>, prices: &Prices, zone: &Zone) -> Option<Sum> {
    let midnight = zone.parse_time("today", calendar::now(), false).ok()?;
    let search = input::find(&Roots::Paths(folders));
    let sources = changed_since(search.sources, midnight);
    let options = Options {
        threads: 0,
        limits: Limits::default(),
        detail: Detail::RESPONSES,
        stop: Stop::default(),
        search: None,
    };
    let scan = scan::scan(&sources, &options, &Progress::default());
    if !scan.unread.is_empty() {
        return None;
    }
    let ledger = scan.facts.ledger(prices);
    let of_today =
        ledger.charges.iter().filter(|charge| charge.context.time.is_some_and(|time| time >= midnight));
    Some(of_today.fold(Sum { amount: Usd::ZERO, is_minimum: false }, |sum, charge| Sum {
        amount: sum.amount + charge.cost.unwrap_or(Usd::ZERO),
        is_minimum: sum.is_minimum || (charge.known && charge.cost.is_none()),
    }))
}

/// The files of sessions of which at least one changed since then. A file that did not change has no record of
/// today, but the cost that a session reports is divided over all its responses, also those of subagents.
fn changed_since(sources: Vec<Source>, since: Time) -> Vec<Source> {
    let has_changed = |path: &Path| modified(path).is_none_or(|time| time >= since);
    let changed: HashSet<PathBuf> =
        sources.iter().filter_map(file).filter(|path| has_changed(path)).map(session_path).collect();
    sources
        .into_iter()
        .filter(|source| file(source).is_some_and(|path| changed.contains(&session_path(path))))
        .collect()
}

fn file(source: &Source) -> Option<&Path> {
    match &source.origin {
        Origin::File(path) => Some(path),
        Origin::Stdin => None,
    }
}

fn modified(path: &Path) -> Option<Time> {
    time_of(path.metadata().ok()?.modified().ok()?)
}

/// The path of the session without an ending: subagents are in `SESSION/subagents/` beside `SESSION.jsonl`.
fn session_path(path: &Path) -> PathBuf {
    let above = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
    match above.and_then(Path::parent) {
        Some(session) => session.to_owned(),
        None => path.with_extension(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subagents_belong_to_the_session_beside_their_folder() {
        let session = session_path(Path::new("/p/-home-dev/1234.jsonl"));
        assert_eq!(session, Path::new("/p/-home-dev/1234"));
        assert_eq!(session_path(Path::new("/p/-home-dev/1234/subagents/agent-1.jsonl")), session);
        let workflow = Path::new("/p/-home-dev/1234/subagents/workflows/w1/agent-2.jsonl");
        assert_eq!(session_path(workflow), session);
    }

    #[test]
    fn a_sum_says_that_it_is_an_estimate() {
        let sum = |is_minimum| Sum { amount: Usd::from_dollars(3.184), is_minimum }.to_string();
        assert_eq!((sum(false).as_str(), sum(true).as_str()), ("≈$3.18", "≥$3.18"));
    }
}
