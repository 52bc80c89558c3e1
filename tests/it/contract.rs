//! Rules of the contract for old and new versions of the CLI: denial texts, prompts of tools, surcharges for
//! long prompts, and the session that requested a copied response.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{account, account_of, json, log, printed_rows, run_with, testdata};

fn story(name: &str) -> PathBuf {
    testdata("logs/contract").join(name)
}

#[test]
fn every_denial_text_of_an_old_version_is_recognized() {
    let account = account(&[story("denial-texts.jsonl")]);
    assert_eq!((account.tools.total.denied, account.tools.total.errors), (9, 1), "ssh denies nothing here");
    assert_eq!(account.denials.total, 9);
    assert_eq!(account.errors.tool, 1);
}

#[test]
fn text_written_by_a_tool_is_not_a_prompt() {
    let story = story("prompt-by-tool.jsonl");
    assert_eq!(account(&[&story]).prompts, 1);
    let text = std::fs::read_to_string(story).unwrap();
    let by_hand = text.replace(r#""sourceToolUseID": "toolu_1""#, r#""sourceToolUseID": """#);
    assert_ne!(by_hand, text);
    assert_eq!(account_of(by_hand).prompts, 2, "an empty id does not count");
}

#[test]
fn kinds_that_the_newest_version_may_write_are_known() {
    let account = account(&[story("new-kinds.jsonl")]);
    assert_eq!(account.input.records, 32);
    assert_eq!(account.unknown_kinds.keys().collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn prompts_above_200_000_tokens_are_surcharged_up_to_version_2_1_74() {
    let cost = &json(&[story("long-prompts.jsonl")])["cost"];
    assert_eq!(cost["computed_usd"], json!(0.9907328));
    let models = &cost["by_model"];
    assert_eq!(
        models["claude-sonnet-4-20250514"]["total_usd"],
        json!(0.2382087),
        "one of two is long enough"
    );
    assert_eq!(models["claude-sonnet-4-5-20250929"]["total_usd"], json!(0.2163054));
    assert_eq!(models["claude-opus-4-6"]["total_usd"], json!(0.26051));
}

#[test]
fn explain_cost_names_the_surcharge_and_what_it_adds() {
    let path = story("long-prompts.jsonl");
    let rows = printed_rows(&["explain", "cost", path.to_str().unwrap()]);
    let surcharges: Vec<(&str, &str, f64)> = rows
        .iter()
        .filter(|row| row["step"] == "long-prompt surcharge")
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (text("model"), text("what"), row["amount_usd"].as_f64().unwrap())
        })
        .collect();
    let what = "prompts > 200000 up to CLI 2.1.74: 1 response";
    let expected = [
        ("claude-opus-4-6", what, 0.124005),
        ("claude-sonnet-4-20250514", what, 0.074403),
        ("claude-sonnet-4-5-20250929", what, 0.1044027),
    ];
    assert_eq!(surcharges, expected);
    let counted: f64 =
        rows.iter().filter(|row| row["counts"] == true).filter_map(|row| row["amount_usd"].as_f64()).sum();
    assert!((counted - 0.9907328).abs() < 1e-9, "{counted}");
}

/// A printed response with a prompt of 250,000 tokens and final counts. Each version is that of an `init`
/// before it.
fn printed(versions: &[&str]) -> String {
    let mut log = String::new();
    for (at, version) in versions.iter().enumerate() {
        if !version.is_empty() {
            log += &format!(
                r#"{{"type":"system","subtype":"init","session_id":"s","claude_code_version":"{version}","uuid":"i{at}"}}"#
            );
            log += "\n";
        }
        log += &format!(
            r#"{{"type":"stream_event","session_id":"s","event":{{"type":"message_start","message":{{"id":"m{at}","model":"claude-sonnet-4-5","usage":{{"input_tokens":50000,"cache_read_input_tokens":100000,"cache_creation_input_tokens":100000,"output_tokens":1}}}}}}}}
{{"type":"stream_event","session_id":"s","event":{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":1000}}}}}}
"#
        );
    }
    log
}

#[test]
fn a_printed_response_has_the_version_of_the_last_init_before_it() {
    // 0.15 + 0.03 + 0.375 + 0.015; the surcharge is twice that, but one and a half times for the output.
    let (flat, surcharged) = (0.57, 1.1325);
    let cost = |log: String| json(&[self::log(log).path()])["cost"]["computed_usd"].as_f64().unwrap();
    for (versions, expected) in [
        (&["2.1.74"][..], surcharged),
        (&["2.1.75"], flat),
        (&[""], flat),
        (&["2.1.50", "2.1.80"], surcharged + flat),
        (&["2.1.80", "2.1.50", ""], flat + 2.0 * surcharged),
        (&["odd", "2.1.50"], flat + surcharged),
    ] {
        let found = cost(printed(versions));
        assert!((found - expected).abs() < 1e-9, "{versions:?}: {found}");
    }
    // The version of another source does not apply.
    let (one, two) = (log(printed(&["2.1.50"])), log(printed(&["", ""]).replace("\"m0\"", "\"m9\"")));
    let both = json(&[one.path(), two.path()])["cost"]["computed_usd"].as_f64().unwrap();
    assert!((both - (surcharged + 2.0 * flat)).abs() < 1e-9, "{both}");
}

#[test]
fn a_copied_response_belongs_to_the_session_that_asked_for_it() {
    let folder = story("request-session");
    let sessions = printed_rows(&["sessions", folder.to_str().unwrap()]);
    let cost = |start: &str| {
        let found = sessions.iter().find(|row| row["session"].as_str().unwrap().starts_with(start)).unwrap();
        (found["cost_usd"].clone(), found["responses"].clone(), found["calls"].clone())
    };
    // Both begin at the same time, and the fork's id is the smaller one.
    assert_eq!(cost("b"), (json!(0.007), json!(1), json!(1)), "the origin");
    assert_eq!(cost("a"), (json!(0.002), json!(1), json!(0)), "the fork");
    let fork = folder.join("fork.jsonl");
    let alone = printed_rows(&["sessions", fork.to_str().unwrap()]);
    assert_eq!(alone[0]["cost_usd"], json!(0.009), "without its origin the fork has the whole cost");
    assert_eq!(alone[0]["calls"], json!(1));
}

#[test]
fn a_redacted_copy_still_names_the_session_that_asked() {
    let fork = story("request-session/fork.jsonl");
    let (code, stdout, stderr) = run_with(&["redact", fork.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains(r#""requestSessionId":"b0000000-0000-4000-8000-000000000326""#), "{stdout}");
}
