//! `time`: where wall time went. The parts add up to the wall time, to the millisecond.

use std::path::Path;

use ccstat::internal::{
    facts::Name,
    input::{self, Roots},
    measure::{Prices, calendar::Zone},
    report::{self, Filter, Names, ReportSpec, TimeBy, View},
    scan::{self, Options, Progress},
};
use serde_json::{Value, json};

use crate::support::{cases, recording, report_json, run_with, testdata};

/// The parts of wall time, in the order of the columns.
const PARTS: [&str; 10] = [
    "first_token_ms",
    "writing_ms",
    "tools_ms",
    "hooks_ms",
    "waiting_ms",
    "retries_ms",
    "compaction_ms",
    "cli_ms",
    "idle_ms",
    "unexplained_ms",
];

/// The rows and totals of `time` in JSON.
fn time(arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = run_with(&[&["time", "--format", "json"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

fn millis(row: &Value, key: &str) -> Option<i64> {
    row[key].as_i64()
}

/// Fails unless the parts of a row add up to its wall time, or all are unknown.
fn assert_adds_up(row: &Value, about: &str) {
    let parts: Vec<Option<i64>> = PARTS.iter().map(|part| millis(row, part)).collect();
    if parts.iter().all(Option::is_none) {
        return;
    }
    let sum: i64 = parts.iter().map(|part| part.expect("all parts or none")).sum();
    assert_eq!(Some(sum), millis(row, "span_ms"), "{about}: {row}");
    assert!(parts.iter().flatten().all(|&part| part >= 0), "{about}: {row}");
}

/// The parts of all sessions of a log that are not zero.
fn parts(arguments: &[&str]) -> Vec<(&'static str, i64)> {
    let totals = &time(arguments)["totals"];
    let known = |key: &'static str| millis(totals, key).filter(|&part| part > 0).map(|part| (key, part));
    ["span_ms"].into_iter().chain(PARTS).chain(["parallel_saved_ms"]).filter_map(known).collect()
}

#[test]
fn recordings_have_the_parts_that_were_counted_by_hand() {
    let stories: &[(&str, &[(&str, i64)])] = &[
        // Two prompts and `/compact`, which took 34 ms. Each waits for the CLI: 237, 13 and 48 ms.
        (
            "40-compact",
            &[
                ("span_ms", 464),
                ("first_token_ms", 19 + 23),
                ("compaction_ms", 34),
                ("cli_ms", 298),
                ("idle_ms", 90),
            ],
        ),
        // One call of an MCP tool between two requests.
        (
            "44-mcp-tool",
            &[
                ("span_ms", 509),
                ("first_token_ms", 18 + 49),
                ("tools_ms", 39),
                ("cli_ms", 339 + 61),
                ("idle_ms", 3),
            ],
        ),
        // Resumed after 1.6 s, then forked: the fork's copies of records belong to the original session.
        (
            "50-resume",
            &[
                ("span_ms", 3046 + 233),
                ("first_token_ms", 23 + 66 + 12),
                ("cli_ms", 614 + 706 + 218),
                ("idle_ms", 1640),
            ],
        ),
        // `/clear` begins another session.
        (
            "58-slash-clear-multi",
            &[("span_ms", 212 + 109), ("first_token_ms", 32 + 11), ("cli_ms", 157 + 69), ("idle_ms", 52)],
        ),
        // Two calls in a row.
        (
            "71-task-tools",
            &[
                ("span_ms", 820),
                ("first_token_ms", 23 + 7 + 12),
                ("tools_ms", 30 + 14),
                ("cli_ms", 722),
                ("idle_ms", 12),
            ],
        ),
        (
            "74-skill",
            &[
                ("span_ms", 784),
                ("first_token_ms", 69 + 42),
                ("tools_ms", 154),
                ("cli_ms", 376 + 140),
                ("idle_ms", 3),
            ],
        ),
        // The subagent's call took 552 ms; its own steps explain all but 209 of them. A rule denied its call: the CLI
        // took 55 ms for that.
        (
            "88-subagent-denied-tool",
            &[
                ("span_ms", 1359),
                ("first_token_ms", 52 + 65 + 52 + 60),
                ("tools_ms", 209),
                ("cli_ms", 590 + 111 + 55 + 60 + 102),
                ("idle_ms", 3),
            ],
        ),
    ];
    for (name, expected) in stories {
        let path = recording("transcript").join(name);
        assert_eq!(parts(&[path.to_str().unwrap()]), *expected, "{name}");
    }
}

#[test]
fn parallel_subagents_count_once_and_say_what_they_saved() {
    let path = recording("transcript/87-parallel-subagents");
    // The calls took 2824 and 2176 ms, and the second began and ended within the first.
    assert_eq!(time(&[path.to_str().unwrap()])["totals"]["parallel_saved_ms"], 2176);
}

#[test]
fn the_time_of_people_is_never_that_of_tools() {
    let log = testdata("logs/time/office.jsonl");
    let seconds = |key, seconds: i64| (key, seconds * 1000);
    let expected = [
        seconds("span_ms", 620),
        seconds("first_token_ms", 59),
        seconds("writing_ms", 2),
        // 4 s as the tool says, and two calls at once for 40 s, without 2 s of writing and 1 s of a hook.
        seconds("tools_ms", 4 + 37),
        seconds("hooks_ms", 1),
        // An edit, 6 of 10 s of a search, and a question.
        seconds("waiting_ms", 20 + 6 + 60),
        // From the result to the end of the delay after the failure.
        seconds("retries_ms", 6),
        seconds("idle_ms", 375),
        // A command that a person approved, and a request that was interrupted.
        seconds("unexplained_ms", 30 + 20),
        seconds("parallel_saved_ms", 28),
    ];
    assert_eq!(parts(&[log.to_str().unwrap()]), expected);
    let report = time(&[log.to_str().unwrap()]);
    assert_eq!(rows(&report)[0]["estimated"], json!(["first_token", "tools", "waiting", "retries"]));
    let notes = report["notes"].to_string();
    assert!(notes.contains("estimated") && notes.contains("1 call that a person approved"), "{notes}");
}

#[test]
fn rows_by_prompt_and_by_project_add_up_to_the_sessions() {
    let log = testdata("logs/time/office.jsonl");
    let log = log.to_str().unwrap();
    let prompts = time(&["--by", "prompt", log]);
    let numbers: Vec<(Option<u64>, i64)> =
        rows(&prompts).iter().map(|row| (row["number"].as_u64(), row["span_ms"].as_i64().unwrap())).collect();
    assert_eq!(numbers, [(Some(2), 20_000), (Some(1), 225_000), (None, 375_000)]);
    let projects = time(&["--by", "project", log]);
    assert_eq!(rows(&projects)[0]["project"], "/home/dev/shop");
    assert_eq!(prompts["totals"]["span_ms"], 620_000);
    assert_eq!(projects["totals"]["span_ms"], 620_000);
}

#[test]
fn a_filter_of_time_leaves_the_time_between_the_records_that_are_left() {
    let log = testdata("logs/time/office.jsonl");
    let log = log.to_str().unwrap();
    assert_eq!(
        parts(&["--since", "2026-11-16T09:10", "--timezone", "UTC", log]),
        [("span_ms", 20_000), ("unexplained_ms", 20_000)]
    );
    // Records are about no tool, so the wall time of a tool is not known.
    let report = time(&["--tool", "Bash", log]);
    assert!(rows(&report).iter().all(|row| row["span_ms"].is_null()), "{report}");
}

#[test]
fn without_times_the_parts_are_unknown_and_not_zero() {
    let path = testdata("recordings/2.1.50/stream/03-two-sequential-bash.jsonl");
    let report = time(&[path.to_str().unwrap()]);
    let row = &rows(&report)[0];
    assert!(row["span_ms"].as_i64().is_some_and(|wall| wall > 0), "{row}");
    assert!(PARTS.iter().all(|part| row[part].is_null()), "{row}");
    assert!(report["notes"].to_string().contains("1 session lacks times"), "{report}");
}

#[test]
fn a_printed_run_has_the_first_token_that_its_result_reports() {
    let path = recording("stream/02-single-bash.jsonl");
    let report = time(&["--by", "prompt", path.to_str().unwrap()]);
    // `ttft_ms` is 221 and `time_to_request_ms` is 204; both count from the start of the turn.
    assert_eq!(rows(&report)[0]["ttft_ms"], 17);
    assert_adds_up(&rows(&report)[0], "02-single-bash");
}

/// Makes `time` of a log, by session and by prompt.
fn reports(path: &Path, filter: &Filter) -> [Value; 2] {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    let spec = ReportSpec::named("time").unwrap();
    let options = Options { detail: filter.detail(spec.keeps), ..Options::default() };
    let scan = scan::scan(&search.sources, &options, &Progress::default());
    let mut ledger = scan.facts.ledger(&Prices::built_in());
    filter.apply(&mut ledger);
    let names: Vec<Name> = search.sources.iter().map(|source| source.name().into()).collect();
    let zone = Zone::named("UTC").unwrap();
    let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
    [TimeBy::Session, TimeBy::Prompt].map(|by| report_json(&report::time(&view, by)))
}

#[test]
fn the_parts_of_every_log_add_up_to_its_wall_time() {
    let folders = [
        "recordings",
        "logs",
        "logs/contract",
        "logs/seed",
        "logs/week",
        "kinds",
        "bad",
        "telemetry/transcript",
    ];
    let mut divided = 0;
    for path in folders.iter().flat_map(|folder| cases(&testdata(folder))) {
        let about = path.display().to_string();
        let [sessions, prompts] = reports(&path, &Filter::default());
        for row in rows(&sessions).iter().chain(rows(&prompts)) {
            assert_adds_up(row, &about);
        }
        for key in ["span_ms"].iter().chain(&PARTS).chain(&["parallel_saved_ms"]) {
            let [one, two] =
                [&sessions, &prompts].map(|report| millis(&report["totals"], key).unwrap_or_default());
            assert_eq!(one, two, "{about}: {key} of sessions and of prompts");
        }
        divided += u64::from(millis(&sessions["totals"], "idle_ms").is_some());
    }
    assert!(divided > 200, "only {divided} logs have times");
}

#[test]
fn nearly_all_of_the_work_on_a_prompt_is_explained() {
    for path in cases(&recording("transcript")) {
        let [report, _] = reports(&path, &Filter::default());
        let of = |key: &str| millis(&report["totals"], key).unwrap_or_default();
        let work = of("span_ms") - of("idle_ms");
        assert!(
            of("unexplained_ms") * 20 <= work,
            "{}: {} of {work} ms",
            path.display(),
            of("unexplained_ms")
        );
    }
}

/// Requests with failed attempts: their results count from the first attempt, `time` from the last one.
const RETRIED: [&str; 4] =
    ["45-api-retry-529", "51-stream-cut", "52-sse-error-midstream", "67-empty-response"];

#[test]
fn the_first_token_is_where_the_result_of_the_same_run_says() {
    let mut differences = Vec::new();
    for path in cases(&recording("transcript")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let stream = recording("stream").join(format!("{name}.jsonl"));
        let ([_, saved], true) = (reports(&path, &Filter::default()), stream.exists()) else { continue };
        let [_, printed] = reports(&stream, &Filter::default());
        let firsts = [&saved, &printed].map(|report| {
            let mut firsts = rows(report).iter().filter(|row| row["number"] == 1);
            firsts.next().and_then(|row| millis(row, "ttft_ms"))
        });
        if let ([Some(own), Some(reported)], false) = (firsts, RETRIED.contains(&name)) {
            differences.push((own - reported).abs());
        }
    }
    differences.sort_unstable();
    assert!(differences.len() > 70, "{}", differences.len());
    assert!(differences[differences.len() / 2] <= 2, "{differences:?}");
    assert!(differences.iter().all(|&difference| difference <= 25), "{differences:?}");
}
