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
