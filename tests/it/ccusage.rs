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

/// Four responses within 47 minutes, the last one three minutes ago. The figures are those of ccusage 20.0.24.
#[test]
fn a_running_window_has_a_burn_rate_and_a_projection() {
    let now = jiff::Timestamp::now();
    let response = |at: usize, minutes: i64| {
        let time = (now - jiff::SignedDuration::from_mins(minutes)).strftime("%Y-%m-%dT%H:%M:%S.000Z");
        let tokens = 100 * (at + 1);
        format!(
            r#"{{"type":"assistant","sessionId":"s","isSidechain":false,"timestamp":"{time}","message":{{"id":"m{at}","model":"claude-haiku-4-5","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":{tokens},"output_tokens":100,"cache_read_input_tokens":10000}}}}}}"#
        )
    };
    let log: Vec<String> = [50, 31, 12, 3].iter().enumerate().map(|(at, ago)| response(at, *ago)).collect();
    let log = crate::support::log(log.join("\n"));
    let blocks = json(&["blocks", "--ccusage", log.path().to_str().unwrap()]);
    let block = blocks["blocks"].as_array().unwrap().iter().find(|block| block["isActive"] == true).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let near =
        |value: &Value, expected: f64| assert!((number(value) - expected).abs() < 1e-6, "{value} {expected}");
    let (rate, projection) = (&block["burnRate"], &block["projection"]);
    near(&rate["tokensPerMinute"], 41_400.0 / 47.0);
    near(&rate["tokensPerMinuteForIndicator"], 1_400.0 / 47.0);
    near(&rate["costPerHour"], number(&block["costUSD"]) / 47.0 * 60.0);
    let minutes = number(&projection["remainingMinutes"]);
    // It began at the full hour before the first response.
    assert!((190.0..=250.0).contains(&minutes), "{projection}");
    let tokens = number(&block["totalTokens"]) + number(&rate["tokensPerMinute"]) * minutes;
    near(&projection["totalTokens"], tokens.round());
    near(&projection["totalCost"], number(&block["costUSD"]) + number(&rate["costPerHour"]) / 60.0 * minutes);
    let past = json(&["blocks", "--ccusage", TRANSCRIPTS]);
    assert_eq!(
        (&past["blocks"][0]["burnRate"], &past["blocks"][0]["projection"]),
        (&Value::Null, &Value::Null)
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
