//! Two ways to the same figures: the lean totals, and the sum of the rows.

use std::path::Path;

use ccstat::internal::{
    facts::{Account, Detail, ledger::Ledger},
    input::{self, Roots},
    measure::{Prices, Time, calendar::Zone},
    report::{self, Filter, Names, Outcome, Pattern, View},
    scan::{self, Options, Progress},
};

use crate::support::{cases, recording, report_json, testdata};

fn scanned(path: &Path, detail: Detail) -> scan::Scan {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    scan::scan(&search.sources, &Options { detail, ..Options::default() }, &Progress::default())
}

fn lean(path: &Path) -> Account {
    scanned(path, Detail::TOTALS).facts.settle(&Prices::built_in())
}

fn ledger(path: &Path) -> Ledger {
    scanned(path, Detail::ROWS | Detail::RECORDS).facts.ledger(&Prices::built_in())
}

#[test]
fn the_rows_of_every_recording_add_up_to_its_totals() {
    let folders = ["recordings", "logs", "bad"].map(testdata);
    for path in folders.iter().flat_map(|folder| cases(folder)).chain(folders.clone()) {
        assert_eq!(ledger(&path).account(), lean(&path), "{}", path.display());
    }
}

/// The charges of a ledger that have a time, in order.
fn timed_charges(scan: scan::Scan) -> Vec<(Option<Time>, Option<String>, bool)> {
    let ledger = scan.facts.ledger(&Prices::built_in());
    let timed = ledger.charges.iter().filter(|charge| charge.context.time.is_some());
    let cost = |cost: ccstat::internal::measure::Usd| cost.to_string();
    timed.map(|charge| (charge.context.time, charge.cost.map(cost), charge.known)).collect()
}

#[test]
fn costs_are_the_same_without_the_records_that_have_none() {
    // Not `bad`: there a response follows a prompt on the same line, and is skipped with it.
    let folders = ["recordings", "logs"].map(testdata);
    let mut compared = 0;
    for path in folders.iter().flat_map(|folder| cases(folder)) {
        let sources = input::find(&Roots::Paths(vec![path.clone()])).sources;
        let charges = |only_costs_from| {
            let options = Options { detail: Detail::RESPONSES, only_costs_from, ..Options::default() };
            timed_charges(scan::scan(&sources, &options, &Progress::default()))
        };
        let all = charges(None);
        compared += all.len();
        assert_eq!(charges(Some(0)), all, "{}", path.display());
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn the_first_of_two_copies_of_a_turn_duration_counts() {
    let line = |millis: u64| {
        format!(
            r#"{{"durationMs":{millis},"subtype":"turn_duration","type":"system","uuid":"00021325-0000-4000-8000-000000000002"}}"#
        )
    };
    for (one, two) in [(500, 1000), (1000, 500)] {
        let account = crate::support::account_of(format!("{}\n{}\n", line(one), line(two)));
        assert_eq!(account.duration.wall.map(|wall| wall.to_string()), Some(one.to_string()));
    }
}

/// Two sessions: the first has no denial, the second has two.
fn quiet_and_denied(detail: Detail) -> Ledger {
    let paths = ["stream/02-single-bash.jsonl", "stream/34-permission-denied-bash.jsonl"].map(recording);
    let search = input::find(&Roots::Paths(paths.to_vec()));
    let options = Options { detail, ..Options::default() };
    scan::scan(&search.sources, &options, &Progress::default()).facts.ledger(&Prices::built_in())
}

#[test]
fn a_denial_whose_session_was_not_kept_is_not_a_denial_of_the_first_session() {
    let ledger = quiet_and_denied(Detail::TOTALS);
    assert_eq!(ledger.denials.len(), 2);
    assert_eq!(report::outcomes(&ledger), [Outcome::Ok, Outcome::Ok]);
    assert!(ledger.denials.iter().all(|denial| denial.context.session.is_none()));
}

/// Returns the same ledger after every row has lost its session.
fn without_sessions() -> Ledger {
    let mut ledger = quiet_and_denied(Detail::ROWS | Detail::RECORDS);
    ledger.update_contexts(|context| context.session = None);
    ledger
}

#[test]
fn a_filter_on_sessions_excludes_rows_without_a_session() {
    let pattern = |text: &str| vec![Pattern::new(text).unwrap()];
    let all = without_sessions().contexts().count();
    assert!(all > 20, "{all}");
    for filter in [
        Filter { sessions: pattern("0"), ..Filter::default() },
        Filter { projects: pattern("*"), ..Filter::default() },
        Filter { outcomes: vec![Outcome::Ok, Outcome::Denied], ..Filter::default() },
        Filter { last: Some(2), ..Filter::default() },
    ] {
        let mut ledger = without_sessions();
        filter.apply(&mut ledger);
        assert_eq!(ledger.contexts().count(), 0, "{filter:?}");
    }
}

#[test]
fn other_filters_keep_rows_without_a_session() {
    let mut ledger = without_sessions();
    Filter { tools: vec![Pattern::new("Write").unwrap()], ..Filter::default() }.apply(&mut ledger);
    assert_eq!(ledger.calls.len(), 1);
    assert_eq!(ledger.denials.len(), 1);
    assert!(ledger.contexts().all(|context| context.session.is_none()));
    let mut ledger = without_sessions();
    let timed = ledger.contexts().filter(|context| context.time.is_some()).count();
    Filter { since: Time::parse("2020-01-01T00:00:00Z"), ..Filter::default() }.apply(&mut ledger);
    assert_eq!(ledger.contexts().count(), timed);
    assert!(ledger.sessions.is_empty(), "no sessions are left");
}

#[test]
fn rows_without_a_session_are_a_row_of_their_own_and_add_up() {
    let mut ledger = without_sessions();
    let names = ["one".into(), "two".into()];
    let zone = Zone::named("UTC").unwrap();
    let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
    let sessions = report_json(&report::sessions(&view));
    let rows = sessions["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["session"].is_null()).expect("a row without a session");
    assert_eq!(row["calls"], sessions["totals"]["calls"]);
    assert_eq!(row["denied"], 2);
    assert_eq!(rows.iter().filter(|row| row["calls"] != 0).count(), 1);
    ledger.sessions.clear();
    ledger.sources.clear();
    let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
    assert_eq!(report_json(&report::denials(&view))["totals"]["denied"], 2);
    assert_eq!(report_json(&report::agents(&view))["totals"]["calls"], 3);
}
