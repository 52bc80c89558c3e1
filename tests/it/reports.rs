//! Reports agree with each other: the same rows, grouped and filtered in different ways.

use serde_json::Value;

use crate::support::{ccstat, log, printed_json, recording, run, run_with, testdata};

fn path(path: &std::path::Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Streams and transcripts, alone and together.
fn folders() -> Vec<Vec<String>> {
    let [stream, transcript] = ["stream", "transcript"].map(|name| path(&recording(name)));
    let old = path(&testdata("recordings/2.1.50"));
    vec![vec![stream.clone()], vec![transcript.clone()], vec![stream, transcript, old]]
}

/// Converts an amount to nano-dollars, so that sums are compared exactly.
fn nanos(value: &Value) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded to whole nano-dollars")]
    value.as_f64().map_or(0, |dollars| (dollars * 1e9).round() as i64)
}

const TOKENS: [&str; 5] = ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"];

/// Asserts that the rows and totals of a report add up to the summary.
fn agrees(report: &Value, summary: &Value, context: &str) {
    let rows = report["rows"].as_array().unwrap();
    let cost: i64 = rows.iter().map(|row| nanos(&row["cost_usd"])).sum();
    assert_eq!(cost, nanos(&summary["cost"]["total_usd"]), "{context}: cost of the rows");
    assert_eq!(report["totals"]["cost_usd"], summary["cost"]["total_usd"], "{context}: total cost");
    for key in TOKENS {
        let sum: u64 = rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), summary["tokens"][key].as_u64(), "{context}: {key}");
        assert_eq!(report["totals"][key], summary["tokens"][key], "{context}: total {key}");
    }
}

#[test]
fn costs_grouped_by_any_key_add_up_to_the_summary() {
    const KEYS: [&str; 12] = [
        "day",
        "week",
        "month",
        "hour",
        "window",
        "project",
        "session",
        "model",
        "tool",
        "agent",
        "version",
        "project,model",
    ];
    for folder in &folders()[1..] {
        let logs: Vec<&str> = folder.iter().map(String::as_str).collect();
        let summary = printed_json(&[&["summarize"], &logs[..]].concat());
        for key in KEYS {
            agrees(&printed_json(&[&["cost", "--by", key], &logs[..]].concat()), &summary, key);
        }
        for report in ["daily", "weekly", "monthly", "blocks", "sessions", "agents"] {
            agrees(&printed_json(&[&[report], &logs[..]].concat()), &summary, report);
        }
    }
}

#[test]
fn daily_weekly_and_monthly_equal_cost_by_period() {
    let logs = path(&recording("transcript"));
    for (preset, key) in [("daily", "day"), ("weekly", "week"), ("monthly", "month"), ("blocks", "window")] {
        let [mut preset, cost] =
            [printed_json(&[preset, &logs]), printed_json(&["cost", "--by", key, &logs])];
        for row in preset["rows"].as_array_mut().unwrap() {
            // Only windows can be running.
            let row = row.as_object_mut().unwrap();
            row.retain(|name, _| cost["rows"][0].get(name).is_some());
        }
        assert_eq!(preset["rows"], cost["rows"], "{key}");
        assert_eq!(preset["totals"], cost["totals"], "{key}");
    }
}

#[test]
fn calls_and_failures_add_up_to_the_summary() {
    for folder in folders() {
        let logs: Vec<&str> = folder.iter().map(String::as_str).collect();
        let ask = |words: &[&str]| printed_json(&[words, &logs[..]].concat());
        let summary = ask(&["summarize"]);
        for report in ["tools", "sessions", "agents"] {
            let totals = &ask(&[report])["totals"];
            for key in ["calls", "ok", "errors", "denied", "open"] {
                assert_eq!(totals[key], summary["tools"][key], "{report}: {key}");
            }
        }
        for report in ["sessions", "agents", "daily"] {
            assert_eq!(ask(&[report])["totals"]["responses"], summary["responses"], "{report}");
        }
        let calls = ask(&["calls"]);
        assert_eq!(
            calls["rows"].as_array().unwrap().len() as u64,
            summary["tools"]["calls"].as_u64().unwrap()
        );
        assert_eq!(ask(&["denials"])["totals"]["denied"], summary["denials"]["total"]);
        let errors = &summary["errors"];
        let all: u64 =
            ["tool", "turn", "api", "api_retries"].iter().map(|key| errors[key].as_u64().unwrap()).sum();
        assert_eq!(ask(&["errors"])["totals"]["errors"].as_u64(), Some(all));
        let turns = ask(&["turns"]);
        assert_eq!(
            turns["rows"].as_array().unwrap().len() as u64,
            summary["turns"]["total"].as_u64().unwrap()
        );
        assert_eq!(ask(&["kinds"])["totals"]["count"], summary["input"]["records"]);
    }
}

#[test]
fn the_calls_of_a_session_are_as_many_as_its_row_says() {
    let logs = path(&recording("transcript"));
    let sessions = printed_json(&["sessions", &logs]);
    let rows = sessions["rows"].as_array().unwrap();
    assert!(rows.len() > 50);
    for row in rows.iter().filter(|row| row["session"].is_string()).step_by(7) {
        let session = row["session"].as_str().unwrap();
        let calls = printed_json(&["calls", &logs, "--session", session]);
        assert_eq!(
            calls["rows"].as_array().unwrap().len() as u64,
            row["calls"].as_u64().unwrap(),
            "{session}"
        );
    }
}

#[test]
fn a_filter_means_the_same_in_every_report() {
    const FILTERS: &[&[&str]] = &[
        &["--since", "2026-11-15T23:42:00Z", "--until", "2026-11-15T23:45:00Z"],
        &["--session", "00021325-0000-4000-8000-00000000003"],
        &["--model", "opus"],
        &["--tool", "Bash"],
        &["--main"],
        &["--subagents"],
        &["--last", "20"],
        &["--project", "/home/*"],
    ];
    let folders = folders();
    let logs: Vec<&str> = folders[2].iter().map(String::as_str).collect();
    for filter in FILTERS {
        let ask = |words: &[&str]| printed_json(&[words, &logs[..], *filter].concat());
        let summary = ask(&["summarize"]);
        assert!(summary["responses"].as_u64() > Some(0), "{filter:?} leaves something");
        for report in ["daily", "sessions", "agents"] {
            agrees(&ask(&[report]), &summary, &format!("{report} {filter:?}"));
        }
        let sessions = ask(&["sessions"]);
        let named = sessions["rows"].as_array().unwrap().iter().filter(|row| row["session"].is_string());
        assert_eq!(Some(named.count() as u64), summary["sessions"].as_u64(), "{filter:?}");
        assert_eq!(sessions["totals"]["calls"], summary["tools"]["calls"], "{filter:?}");
        assert_eq!(ask(&["tools"])["totals"]["denied"], summary["tools"]["denied"], "{filter:?}");
    }
}

#[test]
fn parts_of_a_log_add_up_to_the_whole() {
    let logs = path(&recording("stream"));
    let cost =
        |words: &[&str]| nanos(&printed_json(&[&["summarize", &logs], words].concat())["cost"]["total_usd"]);
    let before = cost(&["--until", "2026-11-15T23:43:00Z"]);
    let after = cost(&["--since", "2026-11-15T23:43:00Z"]);
    let whole = printed_json(&["daily", &logs]);
    let untimed: i64 = whole["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["day"].is_null())
        .map(|row| nanos(&row["cost_usd"]))
        .sum();
    assert!(before > 0 && after > 0 && untimed > 0);
    assert_eq!(before + after + untimed, cost(&[]));
    let agents = cost(&["--main"]) + cost(&["--subagents"]);
    assert!(agents < cost(&[]), "a cost without a response belongs to no agent");
}

#[test]
fn rows_without_an_owner_are_noted() {
    let logs = path(&recording("stream"));
    for (key, words) in
        [("tool", "belongs to no tool"), ("agent", "belongs to no agent"), ("day", "has no time")]
    {
        let report = printed_json(&["cost", "--by", key, &logs]);
        let notes: Vec<&str> =
            report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
        assert!(notes.iter().any(|note| note.contains(words)), "{key}: {notes:?}");
        assert!(report["rows"].as_array().unwrap().iter().any(|row| row[key].is_null()));
    }
}

#[test]
fn a_filter_that_matches_nothing_says_so() {
    let logs = path(&recording("stream"));
    for words in [
        ["sessions", "--project", "no-such"],
        ["tools", "--tool", "NoSuch"],
        ["summarize", "--since", "2099-01-01"],
    ] {
        let (code, stdout, _) = run_with(&[&words[..], &[&logs]].concat());
        assert_eq!(code, 0);
        assert!(stdout.contains("nothing matches the filters"), "{words:?}: {stdout}");
    }
}

#[test]
fn an_invalid_filter_is_a_usage_error() {
    for words in [
        ["tools", "--since", "soon"],
        ["daily", "--timezone", "Mars/Olympus"],
        ["cost", "--by", "colour"],
        ["sessions", "--outcome", "great"],
        ["calls", "--sort", "speed"],
        ["calls", "--columns", "tool,colour"],
    ] {
        let (code, stdout, stderr) = run_with(&words);
        assert_eq!((code, &*stdout), (2, ""), "{words:?}");
        assert!(stderr.contains(words[2].split(',').next_back().unwrap()), "{words:?}: {stderr}");
    }
}

/// A saved session of three responses, an hour apart, at these times.
fn session_at(times: [&str; 3]) -> String {
    let line = |(at, time): (usize, &str)| {
        format!(
            r#"{{"type":"assistant","uuid":"00000000-0000-4000-8000-00000000000{at}","sessionId":"s","isSidechain":false,"timestamp":"{time}","cwd":"/home/dev/night","version":"2.1.325","message":{{"id":"msg_{at}","role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":1000,"output_tokens":100}}}}}}"#
        )
    };
    times.into_iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns keys and numbers of responses of a report, in a time zone.
fn days(log: &str, words: &[&str], zone: &str) -> Vec<(String, u64)> {
    let (_, stdout, _) =
        run(ccstat(&[words, &[log, "--timezone", zone, "-j"]].concat()).env("TZ", "Asia/Tokyo"));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let key = words.last().unwrap();
    let row = |row: &Value| (row[key].as_str().unwrap().to_owned(), row["responses"].as_u64().unwrap());
    report["rows"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_session_across_midnight_is_split_in_the_time_zone_of_the_reader() {
    let log =
        log(session_at(["2026-11-15T22:30:00.000Z", "2026-11-15T23:30:00.000Z", "2026-11-16T00:30:00.000Z"]));
    let log = path(log.path());
    let by = |zone| days(&log, &["cost", "--by", "day"], zone);
    let day = |day: &str, count| (day.to_owned(), count);
    assert_eq!(by("UTC"), [day("2026-11-15", 2), day("2026-11-16", 1)]);
    assert_eq!(by("Europe/Berlin"), [day("2026-11-15", 1), day("2026-11-16", 2)]);
    assert_eq!(by("America/New_York"), [day("2026-11-15", 3)]);
    assert_eq!(by("+14:00"), [day("2026-11-16", 3)]);
    assert_eq!(by("-05:00"), [day("2026-11-15", 3)], "an offset may begin with a hyphen");
    assert_eq!(by("local"), [day("2026-11-16", 3)], "TZ says Tokyo");
    let first_day =
        printed_json(&["summarize", &log, "--timezone", "Europe/Berlin", "--until", "2026-11-15"]);
    assert_eq!(first_day["responses"], 1, "a day ends at midnight there");
}

#[test]
fn the_night_the_clocks_go_back_is_one_day_with_an_hour_twice() {
    let log =
        log(session_at(["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z", "2026-10-25T22:59:00.000Z"]));
    let log = path(log.path());
    let is =
        |all: &[(&str, u64)]| all.iter().map(|&(key, count)| (key.to_owned(), count)).collect::<Vec<_>>();
    assert_eq!(days(&log, &["cost", "--by", "day"], "Europe/Berlin"), is(&[("2026-10-25", 3)]));
    assert_eq!(
        days(&log, &["cost", "--by", "hour"], "Europe/Berlin"),
        is(&[("2026-10-25T02:00+01:00", 1), ("2026-10-25T02:00+02:00", 1), ("2026-10-25T23:00+01:00", 1)])
    );
    // The day has 25 hours, and its last one still belongs to it.
    assert_eq!(
        printed_json(&["summarize", &log, "--timezone", "Europe/Berlin", "--until", "2026-10-25"])["responses"],
        3
    );
    assert_eq!(
        printed_json(&["summarize", &log, "--timezone", "Europe/Berlin", "--since", "2026-10-26"])["responses"],
        0
    );
}

#[test]
fn a_month_given_to_since_and_until_is_the_whole_month() {
    let log =
        log(session_at(["2026-06-01T00:00:00.000Z", "2026-06-30T23:59:59.999Z", "2026-07-01T00:00:00.000Z"]));
    let log = path(log.path());
    let month = ["--since", "2026-06", "--until", "2026-06", "--timezone", "UTC"];
    let summary = printed_json(&[&["summarize", &*log], &month[..]].concat());
    assert_eq!(summary["responses"], 2);
    for report in ["cost", "daily", "blocks", "sessions"] {
        let rows = printed_json(&[&[report, &*log], &month[..]].concat());
        assert_eq!(rows["totals"]["cost_usd"], summary["cost"]["total_usd"], "{report}");
    }
    let diff = printed_json(&[&["diff", &*log, &*log], &month[..]].concat());
    let rows = diff["rows"].as_array().unwrap();
    let responses = rows.iter().find(|row| row["group"] == "turns" && row["name"] == "responses");
    assert_eq!(responses.unwrap()["head"], 2, "{diff}");
    // A year, and a month by its name.
    for (since, until) in [("2026", "2026"), ("june 2026", "june 2026"), ("jun-2026", "2026-06-30")] {
        let words = ["summarize", &log, "--since", since, "--until", until, "--timezone", "UTC"];
        assert_eq!(printed_json(&words)["responses"], if since == "2026" { 3 } else { 2 }, "{since}");
    }
}

#[test]
fn both_options_accept_named_periods() {
    let log =
        log(session_at(["2020-06-01T00:00:00.000Z", "2020-06-30T23:59:59.999Z", "2020-07-01T00:00:00.000Z"]));
    let log = path(log.path());
    for name in [
        "last month",
        "this month",
        "last week",
        "this week",
        "last year",
        "this year",
        "yesterday",
        "today",
        "monday",
        "june",
        "2026",
        "last-month",
    ] {
        // All of it is long ago, whenever this test runs.
        assert_eq!(printed_json(&["summarize", &log, "--since", name])["responses"], 0, "{name}");
        assert_eq!(printed_json(&["summarize", &log, "--until", name])["responses"], 3, "{name}");
    }
}

#[test]
fn a_period_that_ends_before_it_begins_is_a_usage_error() {
    for command in [&["summarize"][..], &["tools"], &["diff", "a.jsonl", "b.jsonl"]] {
        let words = ["--since", "2026-06", "--until", "2026-04", "--timezone", "UTC"];
        let (code, stdout, stderr) = run_with(&[command, &words].concat());
        assert_eq!((code, &*stdout), (2, ""), "{command:?}");
        assert!(stderr.contains("--until `2026-04` ends before --since `2026-06` begins"), "{stderr}");
    }
}

#[test]
fn repeated_calls_with_the_same_input_are_a_loop() {
    let call = |at: usize, input: &str| {
        let ask = format!(
            r#"{{"type":"assistant","session_id":"s","uuid":"a{at}","message":{{"id":"m{at}","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"tool_use","id":"toolu_{at}","name":"Bash","input":{{"command":"{input}"}}}}]}}}}"#
        );
        let answer = format!(
            r#"{{"type":"user","session_id":"s","uuid":"u{at}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{at}","is_error":true,"content":"no"}}]}}}}"#
        );
        format!("{ask}\n{answer}\n")
    };
    let log = log([call(1, "make"), call(2, "ls"), call(3, "make"), call(4, "make")].concat());
    let report = printed_json(&["errors", &path(log.path())]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["errors"], &rows[0]["loop"]), (2, &3.into(), &true.into()));
    assert_eq!((&rows[1]["errors"], &rows[1]["loop"]), (&1.into(), &false.into()));
    assert_eq!(rows[0]["line"], 1, "the place of the first call");
    assert_eq!(report["notes"], serde_json::json!(["1 loop: the same input failed repeatedly"]));
}

#[test]
fn subagents_are_distinguished_from_the_main_agent_in_both_dialects() {
    let id = "36-subagent";
    let [stream, transcript] =
        [recording(&format!("stream/{id}.jsonl")), recording(&format!("transcript/{id}"))]
            .map(|log| path(&log));
    for logs in [vec![&*stream], vec![&*transcript], vec![&*stream, &*transcript]] {
        let report = printed_json(&[&["agents"], &logs[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        let of = |agent: &str| rows.iter().filter(|row| row["agent"] == agent).collect::<Vec<_>>();
        assert_eq!((of("main").len(), of("general-purpose").len()), (1, 1), "{logs:?}: {rows:?}");
        assert_eq!(of("general-purpose")[0]["calls"], 1, "its own Bash");
        assert_eq!(of("main")[0]["calls"], 1, "the call that started it");
        assert_eq!(of("general-purpose")[0]["depth"], 1);
    }
}

#[test]
fn calls_keep_the_order_of_their_record() {
    let block =
        |id: u32| format!(r#"{{"type":"tool_use","id":"toolu_{id}","name":"Bash","input":{{"n":{id}}}}}"#);
    let blocks: Vec<String> = (0..12).map(block).collect();
    let record = format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"id":"m","role":"assistant","content":[{}]}}}}"#,
        blocks.join(",")
    );
    let log = log(record);
    // Ids are hashed with a key of the process: an order that depended on the hashes would change from run to
    // run.
    let ids: Vec<String> = (0..12).map(|id| format!("toolu_{id}")).collect();
    for _ in 0..3 {
        let (_, out, _) = run_with(&["calls", "--json", log.path().to_str().unwrap()]);
        let report: Value = serde_json::from_str(&out).unwrap();
        let seen: Vec<&str> =
            report["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(seen, ids);
    }
}
