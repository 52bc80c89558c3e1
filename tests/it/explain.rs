//! `explain cost`: the steps that lead to the cost of each session.

use std::path::Path;

use ccstat::internal::{
    facts::{
        Detail,
        ledger::{Ledger, SessionIndex, StepKind},
    },
    input::{self, Roots},
    measure::{Prices, Usd},
    scan::{self, Options, Progress},
};
use serde_json::Value;

use crate::support::{cases, ccstat, run, run_with, testdata};

fn explained(path: &Path) -> Ledger {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    let options = Options { detail: Detail::ROWS | Detail::COST_STEPS, ..Options::default() };
    scan::scan(&search.sources, &options, &Progress::default()).facts.ledger(&Prices::built_in())
}

fn sum(amounts: impl Iterator<Item = Option<Usd>>) -> Option<Usd> {
    amounts.flatten().reduce(|mut sum, amount| {
        sum += amount;
        sum
    })
}

#[test]
fn the_lines_that_count_add_up_to_the_cost_of_every_session_of_every_recording() {
    let folders = ["recordings", "logs", "bad"].map(testdata);
    let mut explained_sessions = 0;
    for path in folders.iter().flat_map(|folder| cases(folder)).chain(folders.clone()) {
        let ledger = explained(&path);
        for (at, session) in SessionIndex::each(&ledger.sessions) {
            let cost =
                sum(ledger.charges.iter().filter(|one| one.context.session == Some(at)).map(|one| one.cost));
            let counted = sum(session.steps.iter().filter(|step| step.counts).map(|step| step.amount));
            let total = session.steps.iter().find(|step| step.kind == StepKind::Total);
            let session_name = format!("{} {:?}", path.display(), session.id);
            assert_eq!(counted, cost, "{session_name}");
            assert_eq!(total.and_then(|total| total.amount), cost, "{session_name}");
            let figure = session.steps.iter().find(|step| matches!(step.kind, StepKind::Figure(_)));
            assert_eq!(figure.and_then(|figure| figure.amount), cost, "{session_name}");
            explained_sessions += usize::from(total.is_some());
        }
    }
    assert!(explained_sessions > 200, "{explained_sessions}");
}

#[test]
fn models_of_a_reported_session_add_up_to_its_figure() {
    for session in explained(&testdata("recordings")).sessions {
        let models =
            session.steps.iter().filter(|step| matches!(step.kind, StepKind::Model | StepKind::NoModel));
        let models: Vec<_> = models.collect();
        if models.iter().all(|step| step.amount.is_some()) && !models.is_empty() {
            let total = session.steps.last().unwrap().amount;
            assert_eq!(sum(models.iter().map(|step| step.amount)), total, "{:?}", session.id);
        }
    }
}

#[test]
fn explanations_on_a_screen() {
    for path in [
        "stream/02-single-bash.jsonl",
        "stream/34-permission-denied-bash.jsonl",
        "transcript/36-subagent",
        "stream/40-compact.jsonl",
        "stream/45-api-retry-529.jsonl",
        "transcript/50-resume",
    ] {
        let path = format!("recordings/2.1.325/{path}");
        let (code, stdout, stderr) = run(ccstat(&["explain", "cost", &path]).env("COLUMNS", "80"));
        assert_eq!((code, &*stderr), (0, ""));
        insta::assert_snapshot!(format!("explain-{}", path.replace('/', "-")), stdout);
    }
}

#[test]
fn a_session_without_a_reported_cost_is_explained_by_tokens_and_prices() {
    let path = "recordings/2.1.50/transcript/02-single-bash";
    let (code, stdout, _) = run(ccstat(&["explain", "cost", path]).env("COLUMNS", "80"));
    assert_eq!(code, 0);
    insta::assert_snapshot!("explain-by-tokens", stdout);
}

#[test]
fn one_session_of_many_is_chosen_by_its_id() {
    let id = "00021325-0000-4000-8000-000000000040";
    let words = ["explain", "cost", "recordings/2.1.325/stream", "--session", id, "--format", "jsonl"];
    let (code, stdout, _) = run_with(&words);
    assert_eq!(code, 0);
    let rows: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().all(|row| row["session"] == id));
    let steps: Vec<&str> = rows.iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(steps[..4], ["figure", "result", "difference", "result"]);
}
