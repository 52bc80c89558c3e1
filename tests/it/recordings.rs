//! Every recorded run, compared with a simple reader of the same file and with what the CLI reported.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use ccstat::internal::{
    facts::{Account, ToolCount},
    measure::{Tokens, Usd},
};
use serde_json::Value;

use crate::{
    plain::{self, label, nanos, number, records},
    support::{account, json, recording, testdata},
};

/// Streams of 2.1.325 that continue a session: their totals begin where the resumed run ended, so their own
/// cost is in `model_usage_since_last_result` (PROTOCOL 10a). 2.1.50 begins at zero again.
const RESUMED: [&str; 3] = ["50b", "50c", "97b"];

/// Recorded runs that were killed: no result, no `cost-state`, and a last line that is cut.
const KILLED: &str = "49";

/// Saved sessions of 2.1.325 whose cost cannot be computed from their lines (PROTOCOL 10b), and why.
const NOT_REBUILT: [(&str, &str); 9] = [
    ("40", "the call that compacts has no line"),
    ("51", "the attempt that the connection cut has no line"),
    ("58", "the last state is that of the session after `/clear` alone"),
    ("67", "the empty response has no line"),
    ("76", "the call that compacts has no line"),
    ("80", "the interrupted response has a line, but the CLI charges nothing for it"),
    ("89", "the helper call that sums tools up has no line"),
    ("90", "the helper call that suggests prompts has no line"),
    ("95", "the search's inner call has no line"),
];

/// One recording, read by the simple reader and by ccstat.
struct Recording {
    path: PathBuf,
    records: Vec<Value>,
    account: Account,
}

/// All recordings, read once for all tests: streams, then transcripts.
static RECORDINGS: LazyLock<[Vec<Recording>; 2]> = LazyLock::new(|| {
    let read = |path: PathBuf| {
        let (records, account) = (records(&path), account(&[&path]));
        Recording { path, records, account }
    };
    ["stream", "transcript"].map(|dialect| plain::all(dialect).into_iter().map(read).collect())
});

fn streams() -> impl Iterator<Item = &'static Recording> {
    RECORDINGS[0].iter()
}

fn every_recording() -> impl Iterator<Item = &'static Recording> {
    RECORDINGS.iter().flatten()
}

fn is_resumed(path: &Path) -> bool {
    label(path).starts_with("2.1.325") && RESUMED.contains(&&*number(path))
}

fn is_killed(path: &Path) -> bool {
    number(path) == KILLED
}

fn usd(nanos: i128) -> Option<Usd> {
    Some(Usd::from_nanos(nanos))
}

#[test]
fn all_recordings_are_present() {
    let count = |version, dialect| plain::recorded(version, dialect).len();
    assert_eq!((count("2.1.325", "stream"), count("2.1.325", "transcript")), (102, 96));
    assert_eq!((count("2.1.50", "stream"), count("2.1.50", "transcript")), (41, 39));
}

#[test]
fn every_record_is_counted_under_its_kind() {
    for Recording { path, records, account } in every_recording() {
        assert_eq!(account.kinds, plain::kinds(records), "{}", label(path));
        assert_eq!(account.input.records, records.len() as u64, "{}", label(path));
    }
}

#[test]
fn nothing_in_a_recording_is_invalid_or_unknown() {
    for Recording { path, account, .. } in every_recording() {
        assert_eq!(account.input.invalid_places, [], "{}", label(path));
        assert!(account.unknown_kinds.is_empty(), "{}: {:?}", label(path), account.unknown_kinds);
        assert!(account.unknown_blocks.is_empty(), "{}: {:?}", label(path), account.unknown_blocks);
    }
}

#[test]
fn every_block_in_a_recording_is_counted() {
    for Recording { path, records, account } in every_recording() {
        for (role, block) in plain::blocks(records) {
            let name = format!("{role}/{}", block["type"].as_str().unwrap());
            assert!(account.blocks.contains_key(&name), "{}: {name}", label(path));
        }
    }
}

#[test]
fn a_stream_has_the_cost_that_the_cli_reported_last() {
    for Recording { path, records, account } in streams() {
        let ends = plain::last_results(records);
        let expected = if is_resumed(path) {
            share(records).map(|model| nanos(&model["costUSD"])).sum()
        } else {
            ends.iter().map(|end| nanos(&end["total_cost_usd"])).sum()
        };
        let cost = &account.cost;
        assert_eq!(cost.reported, (!ends.is_empty()).then(|| Usd::from_nanos(expected)), "{}", label(path));
        assert_eq!(cost.total, cost.reported, "{}", label(path));
        assert_eq!(cost.complete, !is_killed(path), "{}", label(path));
    }
}

#[test]
fn a_stream_has_the_tokens_that_the_cli_reported_last() {
    for Recording { path, records, account } in streams().filter(|stream| !is_killed(&stream.path)) {
        let expected: Tokens = if is_resumed(path) {
            share(records).map(|model| tokens(&model)).sum()
        } else {
            let ends = plain::last_results(records);
            ends.iter().flat_map(|end| models(&end["modelUsage"])).map(|model| tokens(&model)).sum()
        };
        assert_eq!(account.tokens, expected, "{}", label(path));
    }
}

/// Returns what the CLI reports of each turn alone, by model.
fn share(records: &[Value]) -> impl Iterator<Item = Value> {
    plain::of_type(records, "result").flat_map(|end| models(&end["model_usage_since_last_result"]))
}

fn models(usage: &Value) -> Vec<Value> {
    usage.as_object().unwrap_or_else(|| panic!("no models: {usage}")).values().cloned().collect()
}

fn tokens(model: &Value) -> Tokens {
    let count = |key: &str| model[key].as_u64().unwrap_or(0);
    let hour = count("cacheCreationEphemeral1hInputTokens");
    Tokens {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cache_read: count("cacheReadInputTokens"),
        cache_write_5m: count("cacheCreationInputTokens") - hour,
        cache_write_1h: hour,
        web_searches: count("webSearchRequests"),
    }
}

#[test]
fn every_call_in_a_recording_is_counted_once() {
    for Recording { path, records, account } in every_recording() {
        let ToolCount { calls, ok, errors, denied, open, .. } = account.tools.total;
        assert_eq!(calls, plain::calls(records).len() as u64, "{}", label(path));
        assert_eq!(calls, ok + errors + denied + open, "{}: a call ends in one way", label(path));
        assert_eq!(account.tools.orphans, 0, "{}", label(path));
    }
}

#[test]
fn a_stream_has_the_denials_that_its_results_list() {
    for Recording { path, records, account } in streams() {
        let listed = plain::denials(records).len() as u64;
        // The CLI calls the interrupted call of 54 `user-rejected`, but does not list it (PROTOCOL 10d).
        let interrupted = u64::from(number(path) == "54");
        assert_eq!(account.denials.total, listed + interrupted, "{}", label(path));
        assert_eq!(account.tools.total.denied, account.denials.total, "{}", label(path));
    }
}

#[test]
fn every_result_is_a_turn() {
    for Recording { path, records, account } in every_recording() {
        let failed = |end: &&Value| end["subtype"] != "success" || end["is_error"] == true;
        let results = || plain::of_type(records, "result");
        let expected = (results().count() as u64, results().filter(failed).count() as u64);
        assert_eq!((account.turns.total, account.turns.errors), expected, "{}", label(path));
    }
}

/// Returns the last `cost-state` of each file that has one: a file is a session.
fn last_states(folder: &Path) -> Vec<i128> {
    let last = |file: &PathBuf| {
        let records = records(file);
        plain::of_type(&records, "cost-state").last().map(|state| nanos(&state["totalCostUSD"]))
    };
    plain::files(folder).iter().filter_map(last).collect()
}

#[test]
fn a_saved_run_can_be_priced_from_its_lines() {
    for folder in plain::recorded("2.1.325", "transcript").into_iter().filter(|folder| !is_killed(folder)) {
        // A fork's state contains that of its origin, so the larger of the two is the last.
        let state = last_states(&folder).into_iter().max();
        // Without a response there is nothing to compute, and nothing was charged.
        let computed = account(&[&folder]).cost.computed.map_or(0, Usd::nanos);
        match NOT_REBUILT.iter().find(|(known, _)| *known == number(&folder)) {
            None => assert_eq!(Some(computed), state, "{}", label(&folder)),
            Some((_, why)) => assert_ne!(Some(computed), state, "{}: although {why}", label(&folder)),
        }
    }
}

#[test]
fn a_saved_session_costs_what_its_last_state_says() {
    for folder in plain::recorded("2.1.325", "transcript").into_iter().filter(|folder| !is_killed(folder)) {
        for file in plain::files(&folder) {
            let (records, account) = (records(&file), account(&[&file]));
            let Some(state) = plain::of_type(&records, "cost-state").last() else {
                assert_eq!(account.cost.reported, None, "{}: its parent's state has it", file.display());
                continue;
            };
            let spent: Tokens = models(&state["modelUsage"]).iter().map(tokens).sum();
            assert_eq!(account.cost.reported, usd(nanos(&state["totalCostUSD"])), "{}", file.display());
            assert_eq!(account.tokens, spent, "{}", file.display());
        }
    }
}

#[test]
fn a_saved_session_of_2_1_50_has_no_reported_cost() {
    let saved = RECORDINGS[1].iter().filter(|saved| label(&saved.path).starts_with("2.1.50"));
    for Recording { path, account, .. } in saved {
        assert_eq!(account.cost.reported, None, "{}", label(path));
        assert_eq!(account.cost.complete, account.responses == 0, "{}: placeholders", label(path));
    }
}

#[test]
fn a_clear_leaves_a_cost_state_on_both_sides() {
    let folder = recording("transcript/58-slash-clear-multi");
    assert_eq!(last_states(&folder), [600_000, 1_200_000]);
    let cost = account(&[folder]).cost;
    assert_eq!((cost.reported, cost.computed), (usd(1_800_000), usd(1_800_000)));
}

/// A run that was recorded in both dialects: its streams and the folder of its saved sessions.
fn runs() -> Vec<(Vec<PathBuf>, PathBuf)> {
    let pair = |folder: PathBuf| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let streams = folder.ancestors().nth(2).unwrap().join("stream");
        let of_run = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&name);
        (plain::listing(&streams).into_iter().filter(of_run).collect(), folder)
    };
    plain::all("transcript").into_iter().map(pair).collect()
}

/// Returns the figures that count each thing once, however often it is written.
fn each_thing_once(account: &Account) -> (u64, &ToolCount, u64) {
    (account.sessions, &account.tools.total, account.denials.total)
}

fn without_latency(mut account: Account) -> Account {
    account.tools.total.latency = None;
    account
}

#[test]
fn a_run_in_both_dialects_is_one_run() {
    for (streams, folder) in runs() {
        let stream = without_latency(account(&streams));
        let saved = without_latency(account(&[&folder]));
        let both: Vec<&PathBuf> = streams.iter().chain([&folder]).collect();
        let both = without_latency(account(&both));
        // 82 printed one result and none of its calls: only the saved session has them.
        let printed = if number(&folder) == "82" { &saved } else { &stream };
        assert_eq!(each_thing_once(&both), each_thing_once(printed), "{}", label(&folder));
        // A stream has prompts only if it was asked to replay them.
        assert_eq!(both.prompts, saved.prompts, "{}", label(&folder));
        assert_eq!(both.turns, stream.turns, "{}", label(&folder));
        let total = match &*number(&folder) {
            KILLED => saved.cost.total, // a killed stream reports no cost
            "90" => saved.cost.total,   // the state has a late call that no result has
            _ => stream.cost.total,
        };
        assert_eq!(both.cost.total, total, "{}", label(&folder));
        assert_eq!(both.cost.complete, !is_killed(&folder), "{}", label(&folder));
    }
}

#[test]
fn the_order_of_the_dialects_does_not_matter() {
    for name in ["31-replay-user-messages", "34-permission-denied-bash", "36-subagent"] {
        let (stream, saved) =
            (recording("stream").join(name).with_extension("jsonl"), recording("transcript").join(name));
        assert_eq!(json(&[&stream, &saved]), json(&[&saved, &stream]), "{name}");
    }
}

#[test]
fn each_response_of_a_resumed_or_forked_run_is_charged_once() {
    let streams = ["a", "b", "c"].map(|part| recording(&format!("stream/50-resume.{part}.jsonl")));
    let alone = streams.each_ref().map(|stream| account(&[stream]).cost.total);
    assert_eq!(alone, [usd(5_600_000), usd(1_400_000), usd(2_000_000)]);
    assert_eq!(account(&streams).cost.total, usd(9_000_000));

    let saved = plain::files(&recording("transcript/50-resume"));
    assert_eq!(saved.len(), 2, "a fork has a file of its own");
    let together = account(&saved);
    assert_eq!(together.cost.total, usd(9_000_000));
    assert_eq!((together.sessions, together.responses), (2, 3));
    assert_eq!(account(&[recording("transcript/50-resume")]).cost, together.cost);
}

#[test]
fn a_resumed_run_of_an_older_version_counts_from_zero() {
    let old = |part: &str| testdata(&format!("recordings/2.1.50/stream/50-resume.{part}.jsonl"));
    assert_eq!(account(&[old("a"), old("b"), old("c")]).cost.total, usd(11_750_000));
}

#[test]
fn a_killed_run_has_no_result_and_no_cost() {
    let stream = recording("stream/49-killed-midway.jsonl");
    let killed = account(&[&stream]);
    assert_eq!((killed.input.truncated, killed.input.invalid), (1, 0));
    assert_eq!((killed.turns.total, killed.turns.no_result_sessions), (0, 1));
    assert_eq!((killed.cost.total, killed.cost.complete), (None, false));

    let saved = recording("transcript/49-killed-midway");
    assert_eq!(account(&[&saved]).cost.total, usd(2_674_000), "the one response that was saved");
    let both = account(&[stream, saved]);
    assert_eq!((both.cost.total, both.cost.complete), (usd(2_674_000), false), "a second one had begun");
}

#[test]
fn a_rate_limit_counts_its_retries_and_the_failure_itself() {
    let limited = account(&[recording("stream/46-rate-limit-429.jsonl")]);
    assert_eq!(limited.errors.by_type.get("rate_limit"), Some(&3));
    assert_eq!(limited.errors.by_type.len(), 1);
    assert_eq!((limited.errors.api, limited.errors.api_retries, limited.turns.errors), (1, 2, 1));

    let both = [recording("stream/46-rate-limit-429.jsonl"), recording("transcript/46-rate-limit-429")];
    assert_eq!(account(&both).errors, limited.errors, "one failure has a line in each dialect");
}

#[test]
fn the_output_of_a_local_command_is_not_a_response() {
    let stream = recording("stream/56-slash-context.jsonl");
    let context = account(&[&stream]);
    assert_eq!((context.responses, context.prompts, context.turns.ok), (0, 0, 1));
    assert!(context.models.is_empty(), "{:?}", context.models);

    // One uuid is an `assistant` in the stream and a `system/local_command` in the transcript.
    let both = account(&[stream, recording("transcript/56-slash-context")]);
    assert!(both.input.copies > 0);
    assert_eq!((both.responses, both.errors.api), (0, 0));
}

#[test]
fn a_replayed_prompt_counts_in_its_saved_session() {
    let stream = recording("stream/31-replay-user-messages.jsonl");
    let saved = recording("transcript/31-replay-user-messages");
    let prompts = |paths: &[&PathBuf]| account(paths).prompts;
    assert_eq!((prompts(&[&stream]), prompts(&[&saved]), prompts(&[&stream, &saved])), (0, 2, 2));
}

#[test]
fn prompts_are_the_records_that_the_cli_marks_as_from_its_host() {
    let saved = RECORDINGS[1].iter().filter(|saved| label(&saved.path).starts_with("2.1.325"));
    for Recording { path, records, account } in saved {
        let asked = |record: &&Value| record["promptSource"] == "sdk" && record["isMeta"] != true;
        // A fork copies its history with the same uuids.
        let asked: BTreeSet<&str> = plain::of_type(records, "user")
            .filter(asked)
            .map(|record| record["uuid"].as_str().unwrap())
            .collect();
        // A custom command (75) is a prompt, but has no source.
        let unsaid = u64::from(number(path) == "75");
        assert_eq!(account.prompts, asked.len() as u64 + unsaid, "{}", label(path));
    }
}

#[test]
fn tools_that_the_api_runs_are_not_tool_calls() {
    let served = account(&[recording("stream/62-redacted-thinking-server-tools.jsonl")]);
    assert_eq!((served.tools.total.calls, served.tools.orphans), (0, 0));
    assert_eq!(served.blocks.get("assistant/server_tool_use"), Some(&1));
    assert_eq!(served.tokens.web_searches, 2);
}

#[test]
fn the_totals_of_three_turns_are_cumulative_and_their_times_are_not() {
    let turns = account(&[recording("stream/06-multi-turn-stdin.jsonl")]);
    assert_eq!((turns.turns.total, turns.turns.num_turns), (3, 4));
    assert_eq!((turns.tokens.input, turns.tokens.output), (1000, 100));
    assert_eq!(turns.cost.total, usd(12_000_000));
    let duration = json(&[recording("stream/06-multi-turn-stdin.jsonl")])["duration"].take();
    assert_eq!((&duration["wall_ms"], &duration["api_ms"]), (&(350 + 193 + 303).into(), &302.into()));
}
