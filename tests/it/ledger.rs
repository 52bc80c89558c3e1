//! Two ways to the same figures: the lean totals, and the rows added up.

use std::path::Path;

use ccstat::{
    facts::{Account, Detail, ledger::Ledger},
    input::{self, Wanted},
    measure::Prices,
    scan::{self, Options, Progress},
};

use crate::support::{cases, testdata};

fn scanned(path: &Path, detail: Detail) -> scan::Scan {
    let search = input::find(&Wanted::Paths(vec![path.to_owned()]));
    scan::scan(&search.sources, &Options { detail, ..Options::default() }, &Progress::default())
}

fn lean(path: &Path) -> Account {
    scanned(path, Detail::Totals).facts.settle(&Prices::built_in())
}

fn ledger(path: &Path) -> Ledger {
    scanned(path, Detail::Records).facts.ledger(&Prices::built_in())
}

#[test]
fn the_rows_of_every_recording_add_up_to_its_totals() {
    let folders = ["recordings", "logs", "bad"].map(testdata);
    for path in folders.iter().flat_map(|folder| cases(folder)).chain(folders.clone()) {
        assert_eq!(ledger(&path).account(), lean(&path), "{}", path.display());
    }
}

#[test]
fn of_two_copies_of_a_turns_duration_the_first_counts() {
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
