//! The cost of today, from the sessions that changed today.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, SystemTime},
};

use super::dollars;
use crate::{
    facts::Detail,
    input::{self, Environment},
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

/// Bytes of each log in which all records are decoded.
const BEGINNING: u64 = 64 << 10;

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
    thread::spawn(move || send.send(since_midnight(&folders, &prices, &zone)));
    receive.recv_timeout(timeout).ok().flatten()
}

/// The projects folder of the session, if it is not among the known ones.
fn folder_of(transcript: &Path, known: &[PathBuf]) -> Option<PathBuf> {
    let is_known = known.iter().any(|folder| transcript.starts_with(folder));
    let folder = transcript.parent()?.parent()?;
    (!is_known && folder.is_dir()).then(|| folder.to_owned())
}

fn since_midnight(folders: &[PathBuf], prices: &Prices, zone: &Zone) -> Option<Sum> {
    let midnight = zone.parse_time("today", calendar::now(), false).ok()?;
    let found = input::find_changed(folders, system_time(midnight)?);
    let options = Options { detail: Detail::CHARGES, only_costs_from: Some(BEGINNING), ..Options::default() };
    let scan = scan::scan(&found.sources, &options, &Progress::default());
    if !scan.unread.is_empty() {
        return None;
    }
    let ledger = scan.facts.ledger(prices);
    let of_today =
        ledger.charges.iter().filter(|charge| charge.context.time.is_some_and(|time| time >= midnight));
    let sum = of_today.fold(Sum { amount: Usd::ZERO, is_minimum: false }, |sum, charge| Sum {
        amount: sum.amount + charge.cost.unwrap_or(Usd::ZERO),
        is_minimum: sum.is_minimum || (charge.known && charge.cost.is_none()),
    });
    // The program ends now: freeing each row would only take time.
    std::mem::forget(ledger);
    Some(sum)
}

fn system_time(time: Time) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(u64::try_from(time.micros()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_says_that_it_is_an_estimate() {
        let sum = |is_minimum| Sum { amount: Usd::from_dollars(3.184), is_minimum }.to_string();
        assert_eq!((sum(false).as_str(), sum(true).as_str()), ("≈$3.18", "≥$3.18"));
    }
}
