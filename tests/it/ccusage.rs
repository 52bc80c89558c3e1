//! `--ccusage`: the JSON that dashboards for ccusage read.

use serde_json::Value;

use crate::support::run_with;

const TRANSCRIPTS: &str = "recordings/2.1.325/transcript";

fn json(arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = run_with(arguments);
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
    serde_json::from_str(&stdout).unwrap()
}

fn has_keys(value: &Value, keys: &[&str], context: &str) {
    for key in keys {
        assert!(value.get(key).is_some(), "{context}: no `{key}` in {value}");
    }
}

const TOKENS: [&str; 4] = ["inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens"];

/// Every key of a row that ccusage 20.0.24 prints for all agents, and for Claude alone.
const ROW: [&str; 7] =
    ["agent", "metadata", "period", "totalTokens", "totalCost", "modelsUsed", "modelBreakdowns"];

#[test]
fn every_key_of_ccusage_is_present_without_an_envelope() {
    for (command, list, key) in [
        ("daily", "daily", "date"),
        ("weekly", "weekly", "week"),
        ("monthly", "monthly", "month"),
        ("sessions", "session", "sessionId"),
        ("sessions", "sessions", "lastActivity"),
    ] {
        let report = json(&[command, "--ccusage", TRANSCRIPTS]);
        assert!(report.get("schema_version").is_none() && report.get("report").is_none());
        has_keys(&report["totals"], &TOKENS, command);
        has_keys(&report["totals"], &["totalCost", "totalTokens"], command);
        for row in report[list].as_array().unwrap() {
            has_keys(row, &[&ROW[..], &TOKENS, &[key]].concat(), command);
            for model in row["modelBreakdowns"].as_array().unwrap() {
                has_keys(model, &[&TOKENS[..], &["modelName", "cost"]].concat(), command);
            }
        }
    }
    let day = &json(&["daily", "--ccusage", "--timezone", "UTC", TRANSCRIPTS])["daily"][0];
    assert_eq!((&day["date"], &day["metadata"]["agents"][0]), (&"2026-11-15".into(), &"claude".into()));
}

#[test]
fn totals_equal_the_summary_and_the_sum_of_the_rows() {
    let summary = json(&["summarize", "--json", TRANSCRIPTS]);
    for (command, list) in
        [("daily", "daily"), ("weekly", "weekly"), ("monthly", "monthly"), ("sessions", "session")]
    {
        let report = json(&[command, "--ccusage", TRANSCRIPTS]);
        assert_eq!(report["totals"]["totalCost"], summary["cost"]["total_usd"], "{command}");
        assert_eq!(report["totals"]["outputTokens"], summary["tokens"]["output"], "{command}");
        let rows = report[list].as_array().unwrap();
        for key in ["totalCost", "totalTokens", "inputTokens"] {
            let sum: f64 = rows.iter().map(|row| row[key].as_f64().unwrap()).sum();
            assert!((sum - report["totals"][key].as_f64().unwrap()).abs() < 1e-9, "{command} {key}");
        }
        for row in rows {
            // A response without a model and without tokens has no cost of its own.
            let models = row["modelBreakdowns"].as_array().unwrap().iter();
            let models = models.filter(|model| {
                let has_tokens = TOKENS.iter().any(|key| model[key] != 0);
                assert!(has_tokens || model["modelName"] == "unknown", "{command}: {row}");
                has_tokens || !model["cost"].is_null()
            });
            let sum: f64 = models.map(|model| model["cost"].as_f64().unwrap()).sum();
            assert!((sum - row["totalCost"].as_f64().unwrap()).abs() < 1e-9, "{command}: {row}");
        }
    }
}

#[test]
fn blocks_are_windows_of_five_hours() {
    let report = json(&["blocks", "--ccusage", TRANSCRIPTS]);
    let block = &report["blocks"][0];
    let keys = ["actualEndTime", "burnRate", "costUSD", "endTime", "entries", "id", "isActive", "isGap"];
    has_keys(block, &keys, "blocks");
    has_keys(block, &["models", "projection", "startTime", "tokenCounts", "totalTokens"], "blocks");
    assert_eq!(block["id"], "2026-11-15T23:00:00.000Z");
    assert_eq!(block["endTime"], "2026-11-16T04:00:00.000Z");
    has_keys(&block["tokenCounts"], &["cacheCreationInputTokens", "cacheReadInputTokens"], "tokenCounts");
}

/// Responses so many minutes ago, with 10,000 tokens from the cache, 100 of output and 100 more of input each time.
fn log_of(minutes: &[i64]) -> tempfile::NamedTempFile {
    let now = jiff::Timestamp::now();
    let response = |(at, ago): (usize, &i64)| {
        let time = (now - jiff::SignedDuration::from_mins(*ago)).strftime("%Y-%m-%dT%H:%M:%S.000Z");
        let tokens = 100 * (at + 1);
        format!(
            r#"{{"type":"assistant","sessionId":"s","isSidechain":false,"timestamp":"{time}","message":{{"id":"m{at}","model":"claude-haiku-4-5","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":{tokens},"output_tokens":100,"cache_read_input_tokens":10000}}}}}}"#
        )
    };
    let log: Vec<String> = minutes.iter().enumerate().map(response).collect();
    crate::support::log(log.join("\n"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn assert_near(value: &Value, expected: f64) {
    assert!((number(value) - expected).abs() < 1e-6, "{value} {expected}");
}

/// Four responses within 47 minutes, the last one three minutes ago. The figures are those of ccusage 20.0.24.
#[test]
fn a_running_window_has_a_burn_rate_and_a_projection() {
    let log = log_of(&[50, 31, 12, 3]);
    let blocks = json(&["blocks", "--ccusage", log.path().to_str().unwrap()]);
    let block = blocks["blocks"].as_array().unwrap().iter().find(|block| block["isActive"] == true).unwrap();
    let (rate, projection) = (&block["burnRate"], &block["projection"]);
    assert_near(&rate["tokensPerMinute"], 41_400.0 / 47.0);
    assert_near(&rate["tokensPerMinuteForIndicator"], 1_400.0 / 47.0);
    assert_near(&rate["costPerHour"], number(&block["costUSD"]) / 47.0 * 60.0);
    let minutes = number(&projection["remainingMinutes"]);
    // It began at the full hour before the first response.
    assert!((190.0..=250.0).contains(&minutes), "{projection}");
    let tokens = number(&block["totalTokens"]) + number(&rate["tokensPerMinute"]) * minutes;
    assert_near(&projection["totalTokens"], tokens.round());
    assert_near(
        &projection["totalCost"],
        number(&block["costUSD"]) + number(&rate["costPerHour"]) / 60.0 * minutes,
    );
    let past = json(&["blocks", "--ccusage", TRANSCRIPTS]);
    assert_eq!(
        (&past["blocks"][0]["burnRate"], &past["blocks"][0]["projection"]),
        (&Value::Null, &Value::Null)
    );
}

/// 1,000 tokens of input, 400 of output and 40,000 from the cache are 0.1, 0.2 and 0.4 cents.
#[test]
fn the_running_window_has_a_rate_and_an_estimate_in_every_format() {
    let log = log_of(&[50, 31, 12, 3]);
    let path = log.path().to_str().unwrap();
    let report = json(&["blocks", "--active", "--json", path]);
    let row = report["rows"].as_array().unwrap().first().unwrap();
    assert_eq!((&row["active"], &row["cost_usd"]), (&true.into(), &0.007.into()), "{row}");
    assert_near(&row["cost_per_hour_usd"], 0.007 / 47.0 * 60.0);
    assert_near(&row["tokens_per_minute"], 41_400.0 / 47.0);
    let minutes = (number(&row["remaining_ms"]) / 60_000.0).round();
    assert_near(&row["projected_cost_usd"], 0.007 + 0.007 / 47.0 * minutes);
    assert_near(&row["projected_tokens"], (41_400.0 + 41_400.0 / 47.0 * minutes).round());
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("is running: $0.007 so far") && note.contains("(an estimate)"), "{note}");
    let (code, table, _) = run_with(&["blocks", "--active", path]);
    assert_eq!(code, 0);
    for word in ["Per hour", "Est. cost", "so far", "(an estimate)"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let (_, csv, _) = run_with(&["blocks", "--active", "--format", "csv", path]);
    assert!(csv.contains("projected_cost_usd") && csv.lines().count() == 2, "{csv}");
}

#[test]
fn one_response_is_not_enough_for_a_rate() {
    let log = log_of(&[3]);
    let report = json(&["blocks", "--active", "--json", log.path().to_str().unwrap()]);
    let row = &report["rows"][0];
    assert_eq!((&row["active"], &row["cost_per_hour_usd"]), (&true.into(), &Value::Null));
    assert!(report["notes"][0].as_str().unwrap().contains("not enough to estimate"), "{report}");
}

#[test]
fn recent_windows_began_in_the_last_three_days() {
    const DAY: i64 = 24 * 60;
    let log = log_of(&[10 * DAY, 2 * DAY, 3]);
    let path = log.path().to_str().unwrap();
    for (option, windows) in [(None, 3), (Some("--recent"), 2), (Some("--active"), 1)] {
        let arguments: Vec<&str> =
            [Some("blocks"), option, Some("--json"), Some(path)].into_iter().flatten().collect();
        let report = json(&arguments);
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), windows, "{option:?}");
        assert_eq!(rows.iter().filter(|row| row["active"] == true).count(), 1, "{option:?}");
        let sum: f64 = rows.iter().map(|row| number(&row["cost_usd"])).sum();
        assert_near(&report["totals"]["cost_usd"], sum);
        let arguments: Vec<&str> =
            [Some("blocks"), option, Some("--ccusage"), Some(path)].into_iter().flatten().collect();
        let blocks = json(&arguments);
        let is_window = |block: &&Value| block["isGap"] == false;
        assert_eq!(
            blocks["blocks"].as_array().unwrap().iter().filter(is_window).count(),
            windows,
            "{option:?}"
        );
    }
}

#[test]
fn without_a_running_window_the_report_says_when_the_last_one_ended() {
    let report = json(&["blocks", "--active", "--json", "--timezone", "UTC", TRANSCRIPTS]);
    assert_eq!(report["rows"].as_array().unwrap().len(), 0);
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("no window is running: the last response was at 2026-11-1"), "{note}");
    assert_eq!(
        json(&["blocks", "--active", "--ccusage", TRANSCRIPTS])["blocks"].as_array().unwrap().len(),
        0
    );
    let empty =
        crate::support::log(r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"x"}}"#);
    let report = json(&["blocks", "--active", "--json", empty.path().to_str().unwrap()]);
    assert_eq!(report["notes"][0], "no window is running: no response has a time");
    // Nothing is recent either.
    let report = json(&["blocks", "--recent", "--json", "--timezone", "UTC", "logs/week"]);
    assert_eq!(report["rows"].as_array().unwrap().len(), 0);
    assert_eq!(
        report["notes"][0],
        "no window is running: the last response was at 2026-11-12 16:31, and its window ended at 2026-11-12 21:00"
    );
}

#[test]
fn an_unknown_cost_is_null_and_never_zero() {
    let response = |model: &str, second: u32| {
        format!(
            r#"{{"type":"assistant","sessionId":"{model}","isSidechain":false,"timestamp":"2026-11-15T23:42:{second}.014Z","message":{{"id":"{model}","model":"{model}","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":1000000,"output_tokens":2}}}}}}"#
        )
    };
    let alone = crate::support::log(response("strange-model", 40));
    let alone = alone.path().to_str().unwrap();
    for (command, list) in
        [("daily", "daily"), ("weekly", "weekly"), ("monthly", "monthly"), ("sessions", "sessions")]
    {
        let report = json(&[command, "--ccusage", alone]);
        let row = &report[list][0];
        assert_eq!(
            (&row["totalCost"], &report["totals"]["totalCost"]),
            (&Value::Null, &Value::Null),
            "{command}"
        );
        assert_eq!(row["modelBreakdowns"][0]["cost"], Value::Null, "{command}");
        assert_eq!(row["totalTokens"], 1_000_002, "{command}");
    }
    assert_eq!(json(&["blocks", "--ccusage", alone])["blocks"][0]["costUSD"], Value::Null);
    // Beside a model with a price, the known part is a number and the other model is marked.
    let both = [response("strange-model", 40), response("claude-haiku-4-5", 41)].join("\n");
    let both = crate::support::log(both);
    let report = json(&["daily", "--ccusage", both.path().to_str().unwrap()]);
    assert!(report["daily"][0]["totalCost"].as_f64() > Some(0.9), "{report}");
    let models = report["daily"][0]["modelBreakdowns"].as_array().unwrap();
    let strange = models.iter().find(|model| model["modelName"] == "strange-model").unwrap();
    assert_eq!((&strange["cost"], &strange["missingPricing"]), (&Value::Null, &Value::Bool(true)));
}

#[test]
fn a_model_without_a_price_is_marked() {
    let log = crate::support::log(
        r#"{"type":"assistant","sessionId":"s","isSidechain":false,"timestamp":"2026-11-15T23:42:40.014Z","message":{"id":"m","model":"strange-model","stop_reason":"end_turn","content":[],"usage":{"input_tokens":1,"output_tokens":2}}}"#,
    );
    let report = json(&["daily", "--ccusage", log.path().to_str().unwrap()]);
    assert_eq!(report["totals"]["unpricedModels"][0], "strange-model");
    assert_eq!(report["daily"][0]["modelBreakdowns"][0]["missingPricing"], true);
    assert_eq!(report["daily"][0]["totalCost"], Value::Null);
}

#[test]
fn ccusage_output_is_json_only() {
    let (code, _, stderr) = run_with(&["sessions", "--ccusage", "--format", "csv", TRANSCRIPTS]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--ccusage"), "{stderr}");
    json(&["sessions", "--ccusage", "--json", TRANSCRIPTS]);
}
