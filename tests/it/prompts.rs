//! Prompts with the work that they started: `prompts` and `cost --by prompt`.

use std::path::Path;

use ccstat::internal::{
    facts::{Detail, Name},
    input::{self, Roots},
    measure::{Prices, Time, calendar::Zone},
    report::{self, Agents, By, Filter, Names, Pattern, View},
    scan::{self, Options, Progress},
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::support::{cases, log, printed_rows, recording, report_json, run_with, testdata};

/// Fails unless the rows of `prompts` and `cost --by prompt` add up to the totals of `summarize`.
fn assert_adds_up(path: &Path, filter: &Filter) {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    let options = Options { detail: Detail::ROWS | Detail::RECORDS, ..Options::default() };
    let scan = scan::scan(&search.sources, &options, &Progress::default());
    let mut ledger = scan.facts.ledger(&Prices::built_in());
    filter.apply(&mut ledger);
    let names: Vec<Name> = search.sources.iter().map(|source| source.name().into()).collect();
    let zone = Zone::named("UTC").unwrap();
    let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
    let prompts = report_json(&report::prompts(&view));
    let by_prompt = report_json(&report::cost(&view, &[By::Prompt]));
    let whole = report_json(&report::summary(&ledger.account(), Names(&names)));
    let expected = [
        ("prompts", &whole["prompts"]),
        ("responses", &whole["responses"]),
        ("calls", &whole["tools"]["calls"]),
        ("ok", &whole["tools"]["ok"]),
        ("errors", &whole["tools"]["errors"]),
        ("denied", &whole["tools"]["denied"]),
        ("open", &whole["tools"]["open"]),
        ("input", &whole["tokens"]["input"]),
        ("output", &whole["tokens"]["output"]),
        ("cache_read", &whole["tokens"]["cache_read"]),
        ("cache_write_5m", &whole["tokens"]["cache_write_5m"]),
        ("cache_write_1h", &whole["tokens"]["cache_write_1h"]),
        ("turns", &whole["turns"]["total"]),
    ];
    let rows = prompts["rows"].as_array().unwrap();
    for (key, total) in expected {
        let sum: u64 = rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
        assert_eq!(Value::from(sum), *total, "{key} of {} {filter:?}", path.display());
    }
    let dollars = |value: &Value| (value.as_f64().unwrap_or(0.0) * 1e9).round();
    for report in [&prompts, &by_prompt] {
        let sum: f64 = report["rows"].as_array().unwrap().iter().map(|row| dollars(&row["cost_usd"])).sum();
        assert_eq!(sum, dollars(&whole["cost"]["total_usd"]), "{} {filter:?}", path.display());
    }
}

#[test]
fn the_rows_of_every_recording_add_up() {
    let folders = ["recordings", "logs", "bad"].map(testdata);
    for path in folders.iter().flat_map(|folder| cases(folder)).chain(folders.clone()) {
        assert_adds_up(&path, &Filter::default());
    }
}

#[test]
fn filtered_rows_add_up_too() {
    let pattern = |text: &str| vec![Pattern::new(text).unwrap()];
    for filter in [
        Filter { tools: pattern("Bash"), ..Filter::default() },
        Filter { models: pattern("opus"), ..Filter::default() },
        Filter { sessions: pattern("00021325-0000-4000-8000-0000000000"), ..Filter::default() },
        Filter { agents: Agents::Sub, ..Filter::default() },
        Filter { agents: Agents::Main, ..Filter::default() },
        Filter { since: Time::parse("2026-11-15T23:45:00Z"), ..Filter::default() },
    ] {
        assert_adds_up(&testdata("recordings/2.1.325"), &filter);
    }
}

const SESSION: &str = "33333333-0000-4000-8000-000000000003";

/// Builds a saved session, one record per second.
#[derive(Default)]
struct Saved(Vec<Value>);

impl Saved {
    fn record(mut self, record: Value) -> Self {
        let at = self.0.len();
        let mut record = record;
        for (key, value) in [
            ("sessionId", json!(SESSION)),
            ("uuid", json!(format!("uuid-{at}"))),
            ("timestamp", json!(format!("2026-03-02T10:00:{at:02}.000Z"))),
            ("version", json!("2.1.325")),
            ("cwd", json!("/home/dev/shop")),
        ] {
            record[key] = value;
        }
        if record.get("isSidechain").is_none() {
            record["isSidechain"] = false.into();
        }
        self.0.push(record);
        self
    }

    fn prompt(self, text: &str) -> Self {
        self.record(json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    fn says(self, id: &str, text: &str) -> Self {
        self.assistant(id, &json!({"type": "text", "text": text}), &json!({}))
    }

    fn calls(self, id: &str, call: &str, tool: &str) -> Self {
        self.assistant(id, &json!({"type": "tool_use", "id": call, "name": tool, "input": {}}), &json!({}))
    }

    fn assistant(self, id: &str, block: &Value, more: &Value) -> Self {
        let message = json!({"id": id, "role": "assistant", "model": "claude-opus-4-8", "content": [block],
            "stop_reason": "end_turn", "usage": {"input_tokens": 1000, "output_tokens": 100}});
        let mut record = json!({"type": "assistant", "message": message});
        more.as_object().unwrap().iter().for_each(|(key, value)| record[key] = value.clone());
        self.record(record)
    }

    fn answers(self, call: &str, content: &str, more: &Value) -> Self {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": content});
        let mut record = json!({"type": "user", "message": {"role": "user", "content": [block]}});
        more.as_object().unwrap().iter().for_each(|(key, value)| record[key] = value.clone());
        self.record(record)
    }

    fn log(&self) -> NamedTempFile {
        log(self.0.iter().map(|record| format!("{record}\n")).collect::<String>())
    }

    /// Prompt, end, steps and calls of each row, oldest first.
    fn rows(&self) -> Vec<(Option<String>, Option<String>, u64, u64)> {
        let log = self.log();
        let mut rows = printed_rows(&["prompts", "--content", log.path().to_str().unwrap()]);
        rows.reverse();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let count = |value: &Value| value.as_u64().unwrap();
        let row = |row: &Value| {
            (text(&row["prompt"]), text(&row["end"]), count(&row["responses"]), count(&row["calls"]))
        };
        rows.iter().map(row).collect()
    }
}

fn row(prompt: &str, end: &str, steps: u64, calls: u64) -> (Option<String>, Option<String>, u64, u64) {
    (Some(prompt.to_owned()), Some(end.to_owned()), steps, calls)
}

#[test]
fn a_prompt_has_everything_up_to_the_next_one() {
    let saved = Saved::default().prompt("list files").calls("m1", "c1", "Bash");
    let saved = saved.answers("c1", "a b", &json!({})).says("m2", "two files");
    let saved = saved.prompt("thanks").says("m3", "welcome");
    assert_eq!(saved.rows(), [row("list files", "ok", 2, 1), row("thanks", "ok", 1, 0)]);
    let log = saved.log();
    let rows = printed_rows(&["prompts", log.path().to_str().unwrap()]);
    assert_eq!(rows[1]["asked"], "2026-03-02T10:00:00.000Z");
    assert_eq!(rows[1]["took_ms"], 3000);
    assert_eq!((&rows[1]["number"], &rows[0]["number"]), (&1.into(), &2.into()));
    assert_eq!(rows[1]["session"], SESSION);
    assert!(rows[0].get("prompt").is_none(), "data has no text unless asked: {}", rows[0]);
}

#[test]
fn a_background_agent_belongs_to_the_prompt_that_started_it() {
    let side = json!({"isSidechain": true, "agentId": "a1"});
    let saved = Saved::default().prompt("explore").calls("m1", "c1", "Task");
    let outcome =
        json!({"toolUseResult": {"agentId": "a1", "agentType": "Explore", "status": "async_launched"}});
    let saved = saved.answers("c1", "started", &outcome).says("m2", "it runs");
    let saved = saved.prompt("meanwhile").says("m3", "yes");
    let saved = saved.assistant("m4", &json!({"type": "text", "text": "found"}), &side);
    assert_eq!(saved.rows(), [row("explore", "ok", 3, 1), row("meanwhile", "ok", 1, 0)]);
}

#[test]
fn the_end_is_what_the_log_says() {
    let begun = || Saved::default().prompt("go").calls("m1", "c1", "Bash");
    let end = |saved: Saved| saved.rows()[0].1.clone().unwrap();
    assert_eq!(end(begun()), "open", "a call without a result");
    assert_eq!(end(begun().answers("c1", "x", &json!({}))), "open", "no answer after the result");
    assert_eq!(end(Saved::default().prompt("go")), "open", "no answer at all");
    let denied = begun()
        .answers("c1", "no", &json!({"toolDenialKind": "user-rejected", "toolUseResult": "Error: no"}))
        .says("m2", "ok then");
    assert_eq!(end(denied), "denied");
    let interrupted = begun().record(json!({"type": "user", "message": {"role": "user",
        "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}}));
    assert_eq!(end(interrupted), "interrupted");
    let failed = Saved::default().prompt("go").record(json!({"type": "assistant", "isApiErrorMessage": true, "error": "overloaded",
        "message": {"id": "x", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "API Error: 529"}]}}));
    assert_eq!(end(failed), "error");
}

#[test]
fn work_before_the_first_prompt_is_a_row_without_a_prompt() {
    let saved = Saved::default().says("m0", "resumed").prompt("go").says("m1", "done");
    assert_eq!(saved.rows(), [(None, None, 1, 0), row("go", "ok", 1, 0)]);
}

#[test]
fn a_printed_run_has_a_row_per_turn_without_a_text() {
    let path = recording("stream/06-multi-turn-stdin.jsonl");
    let rows = printed_rows(&["prompts", "--content", path.to_str().unwrap()]);
    let seen: Vec<(&Value, u64, u64)> = rows
        .iter()
        .map(|row| {
            (
                &row["prompt"],
                row["responses"].as_u64().unwrap(),
                (row["cost_usd"].as_f64().unwrap() * 1e7) as u64,
            )
        })
        .collect();
    assert_eq!(seen.len(), 3, "{rows:?}");
    assert!(seen.iter().all(|(text, ..)| text.is_null()));
    assert_eq!(seen.iter().map(|&(_, steps, _)| steps).collect::<Vec<_>>(), [2, 1, 1]);
    assert!(rows.iter().all(|row| row["prompts"] == 0 && row["turns"] == 1 && row["end"] == "ok"));
}

#[test]
fn a_filter_leaves_out_the_text_but_not_the_assignment() {
    let saved = Saved::default().prompt("first").calls("m1", "c1", "Bash").answers("c1", "a", &json!({}));
    let saved =
        saved.says("m2", "done").prompt("second").calls("m3", "c2", "Read").answers("c2", "b", &json!({}));
    let log = saved.says("m4", "done").log();
    let path = log.path().to_str().unwrap();
    let rows = printed_rows(&["prompts", "--content", "--tool", "Read", path]);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["number"], &rows[0]["calls"], &rows[0]["end"]),
        (&2.into(), &1.into(), &"ok".into())
    );
    assert!(rows[0]["prompt"].is_null(), "a prompt has no tool: {}", rows[0]);
    // The work of the first prompt that is left belongs to it still.
    let rows = printed_rows(&["prompts", "--content", "--since", "2026-03-02T10:00:02Z", path]);
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[1]["number"], &rows[1]["prompt"], &rows[1]["responses"]),
        (&1.into(), &Value::Null, &1.into())
    );
    assert_eq!(rows[0]["prompt"], "second");
}

#[test]
fn cost_by_prompt_has_ids_and_shows_texts_on_request() {
    let log = Saved::default().prompt("go on").says("m1", "a").prompt("go on").says("m2", "b").log();
    let path = log.path().to_str().unwrap();
    let ids = |rows: &[Value]| {
        rows.iter().map(|row| row["prompt"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let plain = printed_rows(&["cost", "--by", "prompt", path]);
    assert_eq!(ids(&plain), [format!("{SESSION}#1"), format!("{SESSION}#2")]);
    assert!(plain.iter().all(|row| row.get("prompt_text").is_none()));
    let shown = printed_rows(&["cost", "--by", "prompt", "--content", path]);
    assert_eq!(ids(&shown), ids(&plain), "the same text twice is two rows");
    assert!(shown.iter().all(|row| row["prompt_text"] == "go on"), "{shown:?}");
    let (_, table, _) = run_with(&["cost", "--by", "prompt", path]);
    assert!(table.contains(&format!("{SESSION}#1")) && !table.contains("go on"), "{table}");
    let (_, table, _) = run_with(&["cost", "--by", "prompt", "--content", path]);
    assert!(!table.contains(&format!("{SESSION}#1")) && table.contains("go on"), "{table}");
}
