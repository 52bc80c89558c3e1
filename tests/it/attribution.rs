//! Attribution of tokens and cost: to branches, pull requests, skills, MCP servers, efforts and workflows.
//!
//! In the written log, response N has N thousand input tokens, so the figures below can be added up by hand.

use std::{collections::BTreeMap, path::Path};

use ccstat::internal::{
    facts::{Detail, Name},
    input::{self, Roots},
    measure::{Prices, calendar::Zone},
    report::{self, By, Filter, Names, View},
    scan::{self, Options, Progress},
};
use serde_json::{Value, json};

use crate::support::{cases, log, printed_rows, recording, report_json, run_with, testdata};

const LOG: &str = "logs/attribution";

/// Runs ccstat on the written log and returns the report.
fn report_of(words: &[&str]) -> Value {
    let path = testdata(LOG);
    let words = [words, &["--json", path.to_str().unwrap()]].concat();
    let (code, stdout, stderr) = run_with(&words);
    assert_eq!(code, 0, "{words:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// The input tokens of each row, in thousands, by its name; the row without a name is the empty one.
fn thousands(report: &Value, key: &str) -> BTreeMap<String, u64> {
    let rows = report["rows"].as_array().unwrap().iter();
    let name = |row: &Value| row[key].as_str().unwrap_or_default().to_owned();
    rows.map(|row| (name(row), row["input"].as_u64().unwrap() / 1000)).collect()
}

fn by(by: &str, rest: &[&str]) -> BTreeMap<String, u64> {
    let report = report_of(&[&["cost", "--by", by], rest].concat());
    thousands(&report, &by.replace('-', "_"))
}

fn map(rows: &[(&str, u64)]) -> BTreeMap<String, u64> {
    rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn a_session_with_several_branches_is_divided_by_time() {
    // Response 3 names no branch: `basket` was checked out at its time.
    assert_eq!(by("branch", &[]), map(&[("main", 1), ("basket", 2 + 3 + 4), ("prices", 5 + 6 + 7 + 8)]));
}

#[test]
fn a_pull_request_counts_from_its_first_link_and_repeated_links_change_nothing() {
    // 47 is linked before response 4, 48 before response 6. Later repetitions of 47 do not take the work back.
    let expected = map(&[("acme/shop#47", 1 + 2 + 3 + 4 + 5), ("acme/shop#48", 6 + 7 + 8)]);
    assert_eq!(by("pr", &[]), expected);
}

#[test]
fn responses_are_attributed_to_skills_servers_efforts_and_workflows() {
    assert_eq!(by("skill", &[]), map(&[("review", 4), ("", 36 - 4)]));
    // Response 2 calls the server, response 3 reads the result.
    assert_eq!(by("mcp-server", &[]), map(&[("shop", 2 + 3), ("", 36 - 5)]));
    assert_eq!(by("effort", &[]), map(&[("medium", 1 + 2), ("high", 3 + 4 + 5), ("low", 7 + 8), ("", 6)]));
    assert_eq!(by("workflow", &[]), map(&[("wf_1a2b3c", 7 + 8), ("", 36 - 15)]));
    let session = "5e551000-0000-4000-8000-000000000001";
    let prompts = [(1, 1), (2, 2 + 3), (3, 4), (4, 5 + 6 + 7 + 8)];
    let prompts = prompts.map(|(number, count)| (format!("{session}#{number}"), count));
    assert_eq!(by("prompt", &[]), prompts.into_iter().collect());
}

#[test]
fn every_filter_selects_the_rows_that_the_grouping_names() {
    for (filter, input) in [
        (&["--branch", "basket"][..], 9),
        (&["--branch", "ba*"], 9),
        (&["--branch", "bask"], 0),
        (&["--branch", "main", "--branch", "basket"], 10),
        (&["--pr", "47"], 15),
        (&["--pr", "#48"], 21),
        (&["--pr", "acme/shop#47"], 15),
        (&["--pr", "https://github.com/acme/shop/pull/48"], 21),
        (&["--pr", "4"], 0),
        (&["--pr", "acme/*"], 36),
        (&["--skill", "review"], 4),
        (&["--mcp-server", "shop"], 5),
        (&["--effort", "high"], 12),
        (&["--workflow", "wf_1a"], 15),
        (&["--prompt", "5e551000#2"], 5),
        (&["--prompt", "5e551000"], 36),
        (&["--branch", "prices", "--workflow", "wf_*"], 15),
        (&["--branch", "prices", "--since", "2026-11-10T10:12:00Z", "--by", "pr"], 21),
    ] {
        let words = [&["cost", "--by", "session"], filter].concat();
        let words: Vec<&str> = if filter.contains(&"--by") { [&["cost"], filter].concat() } else { words };
        let total: u64 = thousands(&report_of(&words), "session").values().sum();
        assert_eq!(total, input, "{filter:?}");
        let summary = report_of(
            &[
                &["summarize"],
                &filter.iter().copied().filter(|word| !["--by", "pr"].contains(word)).collect::<Vec<_>>()[..],
            ]
            .concat(),
        );
        assert_eq!(summary["tokens"]["input"], json!(input * 1000), "summarize {filter:?}");
    }
}

#[test]
fn filters_on_attributions_select_calls_and_prompts_too() {
    let calls = |filter: &[&str]| {
        let report = report_of(&[&["calls"], filter].concat());
        let rows = report["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["tool"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(calls(&["--branch", "basket"]), ["mcp__shop__add"]);
    assert_eq!(calls(&["--branch", "main"]), [""; 0]);
    assert_eq!(calls(&["--mcp-server", "shop"]), ["mcp__shop__add"]);
    assert_eq!(calls(&["--effort", "medium"]), ["mcp__shop__add"]);
    assert_eq!(calls(&["--pr", "48"]), ["Workflow"]);
    let prompts = |filter: &[&str]| report_of(&[&["summarize"], filter].concat())["prompts"].clone();
    assert_eq!(prompts(&["--branch", "basket"]), json!(2));
    // Prompts are no responses.
    assert_eq!(prompts(&["--skill", "review"]), json!(0));
}

#[test]
fn a_sentence_says_why_cost_has_no_name() {
    let path = testdata(LOG);
    let path = path.to_str().unwrap();
    for (by, why) in [
        ("skill", "belongs to no skill"),
        ("mcp-server", "belongs to no MCP server"),
        ("effort", "has no effort"),
        ("workflow", "belongs to no workflow"),
    ] {
        let (_, stdout, _) = run_with(&["cost", "--by", by, path]);
        assert!(stdout.contains(why), "{by}: {stdout}");
    }
    let stream = recording("stream/02-single-bash.jsonl");
    for (by, why) in [("branch", "has no branch"), ("pr", "belongs to no pull request")] {
        let (_, stdout, _) = run_with(&["cost", "--by", by, stream.to_str().unwrap()]);
        assert!(stdout.contains(why), "{by}: {stdout}");
    }
}

#[test]
fn recordings_have_the_figures_counted_by_hand() {
    // 74: the response after the call of the skill `greet` is attributed to it. 44: one response calls the server
    // `demo`, the next one reads the result.
    for (case, by, expected) in [
        ("transcript/74-skill", "skill", vec![(json!(null), 101), (json!("greet"), 110)]),
        ("transcript/75-slash-custom-command", "skill", vec![(json!("hello"), 110)]),
        ("transcript/44-mcp-tool", "mcp_server", vec![(json!("demo"), 211)]),
        ("transcript/44-mcp-tool", "effort", vec![(json!("medium"), 211)]),
        ("transcript/44-mcp-tool", "branch", vec![(json!("HEAD"), 211)]),
    ] {
        let path = recording(case);
        let words = ["cost", "--by", &by.replace('_', "-"), path.to_str().unwrap()];
        let mut rows: Vec<(Value, u64)> = printed_rows(&words)
            .iter()
            .map(|row| (row[by].clone(), row["input"].as_u64().unwrap()))
            .collect();
        rows.sort_by_key(|row| row.1);
        assert_eq!(rows, expected, "{case} by {by}");
    }
}

/// Fails unless the rows of every grouping add up to the totals.
fn assert_adds_up(path: &Path) {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    let options = Options { detail: Detail::ROWS | Detail::ATTRIBUTION, ..Options::default() };
    let scan = scan::scan(&search.sources, &options, &Progress::default());
    let mut ledger = scan.facts.ledger(&Prices::built_in());
    let names: Vec<Name> = search.sources.iter().map(|source| source.name().into()).collect();
    Filter::default().select(&mut ledger, Names(&names));
    let zone = Zone::named("UTC").unwrap();
    let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
    let whole = ledger.account();
    let dollars = |value: &Value| (value.as_f64().unwrap_or(0.0) * 1e9).round();
    let total = report_json(&report::summary(&whole, Names(&names)));
    for by in By::ALL {
        let report = report_json(&report::cost(&view, &[by]));
        let rows = report["rows"].as_array().unwrap();
        for key in ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"] {
            let sum: u64 = rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
            assert_eq!(json!(sum), total["tokens"][key], "{key} of {} by {by:?}", path.display());
        }
        let sum: f64 = rows.iter().map(|row| dollars(&row["cost_usd"])).sum();
        assert_eq!(sum, dollars(&total["cost"]["total_usd"]), "{} by {by:?}", path.display());
    }
}

#[test]
fn the_rows_of_every_grouping_add_up_for_every_recording() {
    for path in cases(&testdata("recordings")).into_iter().chain([testdata("recordings"), testdata("logs")]) {
        assert_adds_up(&path);
    }
}

#[test]
fn a_link_without_repository_or_number_has_the_name_that_is_left() {
    let link = |fields: &Value| {
        let mut record = json!({"type": "pr-link", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"});
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let message = json!({"id": "m", "role": "assistant", "model": "claude-haiku-4-5", "content": [],
            "stop_reason": "end_turn", "usage": {"input_tokens": 1000, "output_tokens": 1}});
        let response = json!({"type": "assistant", "sessionId": "s", "uuid": "u", "parentUuid": null, "message": message});
        let file = log(format!("{record}\n{response}\n"));
        printed_rows(&["cost", "--by", "pr", file.path().to_str().unwrap()])[0]["pr"].clone()
    };
    let url = "https://github.com/acme/shop/pull/47";
    assert_eq!(link(&json!({"prNumber": 47, "prUrl": url, "prRepository": "acme/shop"})), "acme/shop#47");
    assert_eq!(link(&json!({"prNumber": 47, "prUrl": url})), "acme/shop#47");
    assert_eq!(link(&json!({"prNumber": 47})), "#47");
    assert_eq!(link(&json!({"prUrl": url})), json!(url));
    assert_eq!(link(&json!({"prNumber": "47", "prRepository": "acme/shop"})), Value::Null);
}
