//! The 29 scenarios of the seed documents, in the documents' own spelling (`testdata/logs/seed`), each beside
//! its recording. The table explains every difference.

use ccstat::internal::facts::Account;

use crate::support::{account, account_of, cases, recording, run_with, testdata};

/// How often calls of a tool ended in this way.
type Calls = &'static [(&'static str, &'static str, u64)];

/// The expected figures of a scenario as documented.
struct Seed {
    story: &'static str,
    records: u64,
    prompts: u64,
    /// Turns that succeeded, and turns that failed.
    turns: (u64, u64),
    calls: Calls,
    /// The first line of the summary.
    verdict: &'static str,
    /// The recording's records, turns and calls.
    recorded: (u64, (u64, u64), Calls),
    /// Why turns or calls of the two differ.
    differs: &'static str,
}

const SUCCESS: &str = "✓ Success";
const LEFT_OUT: &str = "the document leaves the calls out and shows the last text alone";
const NO_SUCH_TOOL: &str = "2.1.325 has no such tool unless a host answers";
const NO_TEAMS: &str = "2.1.325 has no team tools any more";

/// Most scenarios: one prompt, one turn, and no call in the document.
const PLAIN: Seed = Seed {
    story: "",
    records: 4,
    prompts: 1,
    turns: (1, 0),
    calls: &[],
    verdict: SUCCESS,
    recorded: (3, (1, 0), &[]),
    differs: "",
};

/// The same, with calls in the recording.
const fn called(story: &'static str, records: u64, calls: Calls) -> Seed {
    Seed { story, recorded: (records, (1, 0), calls), differs: LEFT_OUT, ..PLAIN }
}

const SEEDS: &[Seed] = &[
    Seed { story: "01-simple-text", ..PLAIN },
    called("02-single-bash", 5, &[("Bash", "ok", 1)]),
    called("03-two-sequential-bash", 7, &[("Bash", "ok", 2)]),
    called("04-text-plus-tool", 6, &[("Bash", "ok", 1)]),
    called("05-parallel-tools", 7, &[("Bash", "ok", 2)]),
    Seed {
        story: "06-multi-turn-stdin",
        records: 7,
        prompts: 2,
        turns: (2, 0),
        verdict: SUCCESS,
        recorded: (11, (3, 0), &[("Bash", "ok", 1)]),
        differs: "three turns were recorded, one of them with a call; each has an init of its own",
        ..PLAIN
    },
    Seed {
        story: "07-max-tokens",
        turns: (0, 1),
        verdict: "✗ Failed: the result says is_error",
        recorded: (10, (0, 1), &[]),
        ..PLAIN
    },
    Seed { story: "08-extended-thinking", records: 5, recorded: (6, (1, 0), &[]), ..PLAIN },
    called("09-read", 5, &[("Read", "ok", 1)]),
    called("10-write", 5, &[("Write", "ok", 1)]),
    called("11-edit", 7, &[("Edit", "ok", 1), ("Read", "ok", 1)]),
    called("12-glob", 5, &[("Glob", "ok", 1)]),
    called("13-grep", 5, &[("Grep", "ok", 1)]),
    Seed {
        story: "14-todowrite",
        recorded: (5, (1, 0), &[("TodoWrite", "error", 1)]),
        differs: "the document leaves the call out, and the tool is off in 2.1.325 unless it is asked for",
        ..PLAIN
    },
    called("15-read-edit-bash-chain", 9, &[("Bash", "ok", 1), ("Edit", "ok", 1), ("Read", "ok", 1)]),
    called("16-thinking-then-tool", 8, &[("Bash", "ok", 1)]),
    Seed { story: "17-request-recording", ..PLAIN },
    called("18-notebookedit", 7, &[("NotebookEdit", "ok", 1), ("Read", "ok", 1)]),
    Seed {
        story: "19-askuserquestion",
        records: 6,
        calls: &[("AskUserQuestion", "denied", 1)],
        verdict: "! Success, but 1 call was denied: AskUserQuestion 1",
        recorded: (5, (1, 0), &[("AskUserQuestion", "error", 1)]),
        differs: NO_SUCH_TOOL,
        ..PLAIN
    },
    Seed {
        story: "20-enterplanmode",
        records: 7,
        calls: &[("EnterPlanMode", "ok", 1)],
        recorded: (5, (1, 0), &[("EnterPlanMode", "error", 1)]),
        differs: NO_SUCH_TOOL,
        ..PLAIN
    },
    Seed {
        story: "21-webfetch",
        records: 5,
        calls: &[("WebFetch", "error", 1)],
        recorded: (5, (1, 0), &[("WebFetch", "error", 1)]),
        ..PLAIN
    },
    called("22-tool-failure", 7, &[("Bash", "error", 1), ("Read", "error", 1)]),
    Seed {
        story: "23-api-sse-error",
        records: 3,
        turns: (0, 1),
        verdict: "✗ Failed: error_during_execution",
        recorded: (3, (0, 1), &[]),
        ..PLAIN
    },
    Seed { story: "24-multiple-text-blocks", records: 5, recorded: (4, (1, 0), &[]), ..PLAIN },
    Seed {
        story: "25-teamcreate",
        records: 6,
        calls: &[("TeamCreate", "ok", 1)],
        recorded: (5, (1, 0), &[("TeamCreate", "error", 1)]),
        differs: NO_TEAMS,
        ..PLAIN
    },
    Seed {
        story: "26-teamdelete",
        records: 6,
        calls: &[("TeamDelete", "ok", 1)],
        recorded: (5, (1, 0), &[("TeamDelete", "error", 1)]),
        differs: NO_TEAMS,
        ..PLAIN
    },
    Seed {
        story: "27-sendmessage",
        records: 6,
        calls: &[("SendMessage", "ok", 1)],
        recorded: (5, (1, 0), &[("SendMessage", "ok", 1)]),
        ..PLAIN
    },
    Seed {
        story: "28-task-spawn-teammate",
        records: 7,
        calls: &[("Task", "ok", 1), ("TeamCreate", "ok", 1)],
        recorded: (16, (2, 0), &[("Agent", "ok", 1), ("TeamCreate", "error", 1)]),
        differs: "no team tools, Task is now Agent, and the end of the background agent starts a turn by itself",
        ..PLAIN
    },
    Seed {
        story: "29-team-lifecycle-multi-turn",
        records: 11,
        prompts: 2,
        turns: (2, 0),
        calls: &[("TeamCreate", "ok", 1), ("TeamDelete", "ok", 1)],
        verdict: SUCCESS,
        recorded: (10, (2, 0), &[("TeamCreate", "error", 1), ("TeamDelete", "error", 1)]),
        differs: NO_TEAMS,
    },
];

/// Scenarios that 2.1.50 still ran as documented, with its turns.
const OLDER: &[(&str, u64)] = &[
    ("19-askuserquestion", 1),
    ("20-enterplanmode", 1),
    // TeamCreate starts another turn by itself there.
    ("25-teamcreate", 2),
    ("26-teamdelete", 1),
    ("28-task-spawn-teammate", 1),
    ("29-team-lifecycle-multi-turn", 2),
];

fn path(seed: &Seed) -> String {
    format!("logs/seed/{}.jsonl", seed.story)
}

/// Returns calls by tool and end, in that order.
fn calls(account: &Account) -> Vec<(&str, &'static str, u64)> {
    let of = |(tool, count): (&'_ String, &ccstat::internal::facts::ToolCount)| {
        [("ok", count.ok), ("error", count.errors), ("denied", count.denied), ("open", count.open)]
            .map(|(end, calls)| (tool.clone(), end, calls))
    };
    let all: Vec<(String, &str, u64)> = account.tools.by_name.iter().flat_map(of).collect();
    let name = |tool: &str| account.tools.by_name.keys().find(|key| *key == tool).unwrap().as_str();
    all.iter().filter(|(.., calls)| *calls > 0).map(|(tool, end, calls)| (name(tool), *end, *calls)).collect()
}

fn turns(account: &Account) -> (u64, u64) {
    (account.turns.ok, account.turns.errors)
}

#[test]
fn there_is_a_story_for_each_of_the_29_scenarios() {
    let stories: Vec<String> = SEEDS.iter().map(|seed| format!("{}.jsonl", seed.story)).collect();
    let files: Vec<String> = cases(&testdata("logs/seed"))
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!((stories.len(), stories), (29, files));
}

#[test]
fn every_scenario_gives_the_documented_figures() {
    for seed in SEEDS {
        let account = account(&[testdata(&path(seed))]);
        let name = seed.story;
        assert_eq!((account.input.records, account.input.invalid), (seed.records, 0), "{name}");
        assert_eq!((account.unknown_kinds.len(), account.unknown_blocks.len()), (0, 0), "{name}");
        assert_eq!((account.sessions, account.prompts), (1, seed.prompts), "{name}");
        assert_eq!(turns(&account), seed.turns, "{name}");
        assert_eq!(
            account.turns.no_result_sessions, 0,
            "{name}: the result names no session, and ends this one"
        );
        assert_eq!(calls(&account), seed.calls, "{name}");
        let denied: u64 = seed.calls.iter().filter(|call| call.1 == "denied").map(|call| call.2).sum();
        assert_eq!((account.denials.total, account.tools.orphans), (denied, 0), "{name}");
    }
}

#[test]
fn the_screen_of_every_scenario_begins_with_how_it_ended() {
    for seed in SEEDS {
        let (code, screen, _) = run_with(&["summarize", &path(seed)]);
        let verdict = screen.lines().next().and_then(|headline| headline.split(" · ").next());
        assert_eq!((code, verdict), (0, Some(seed.verdict)), "{}", seed.story);
        insta::assert_snapshot!(format!("seed-{}", seed.story), screen);
    }
}

#[test]
fn a_recording_that_differs_from_its_document_says_why() {
    for seed in SEEDS {
        let account = account(&[recording(&format!("stream/{}.jsonl", seed.story))]);
        let (records, recorded_turns, recorded_calls) = seed.recorded;
        assert_eq!(account.input.records, records, "{}", seed.story);
        assert_eq!(turns(&account), recorded_turns, "{}", seed.story);
        assert_eq!(calls(&account), recorded_calls, "{}", seed.story);
        let same = (recorded_turns, recorded_calls) == (seed.turns, seed.calls);
        assert_eq!(same, seed.differs.is_empty(), "{}: {}", seed.story, seed.differs);
    }
}

#[test]
fn an_older_cli_followed_more_of_the_documents() {
    for &(story, turns) in OLDER {
        let seed = SEEDS.iter().find(|seed| seed.story == story).unwrap();
        let account = account(&[testdata(&format!("recordings/2.1.50/stream/{story}.jsonl"))]);
        assert_eq!((account.turns.ok, account.turns.errors), (turns, 0), "{story}");
        assert_eq!(calls(&account), seed.calls, "{story}");
    }
}

#[test]
fn an_error_in_the_documents_has_no_flag_and_the_recorded_one_no_subtype() {
    let seed = account(&[testdata("logs/seed/23-api-sse-error.jsonl")]);
    assert_eq!(seed.turns.by_subtype.keys().collect::<Vec<_>>(), ["error_during_execution"]);
    assert_eq!((seed.errors.turn, seed.errors.api), (1, 0), "no assistant record mentions it");
    let recorded = account(&[recording("stream/23-api-sse-error.jsonl")]);
    assert_eq!(recorded.turns.by_subtype.keys().collect::<Vec<_>>(), ["success"]);
    assert_eq!((recorded.errors.turn, recorded.errors.api), (1, 1));
}

#[test]
fn an_error_that_is_a_string_ends_a_turn_like_one_that_is_a_list() {
    for error in
        [r#""error":"Overloaded""#, r#""errors":[{"type":"overloaded_error","message":"Overloaded"}]"#]
    {
        // The specification has a plain `error` too, which no recorded CLI wrote.
        for (subtype, unknown) in [("error_during_execution", 0), ("error", 1)] {
            let end = format!(
                r#"{{"type":"result","subtype":"{subtype}",{error},"is_error":true,"session_id":"s"}}"#
            );
            let account = account_of(&end);
            assert_eq!((turns(&account), account.errors.turn, account.errors.api), ((0, 1), 1, 0), "{end}");
            assert_eq!(account.unknown_kinds.len(), unknown, "{end}");
        }
    }
}

#[test]
fn both_spellings_in_the_documents_give_the_same_figures() {
    for seed in SEEDS {
        let story = std::fs::read_to_string(testdata(&path(seed))).unwrap();
        // The second document writes messages without their role, and the host's protocol writes
        // `session_id`.
        let roleless = story.replace(r#""role":"assistant","#, "").replace(r#""role":"user","#, "");
        let snake = story.replace("sessionId", "session_id");
        assert!(roleless.len() < story.len() && snake.len() > story.len());
        let figures = |text: &str| {
            let account = account_of(text);
            (account.blocks.clone(), account.sessions, account.prompts, turns(&account), account.tools)
        };
        assert_eq!(figures(&roleless), figures(&story), "{}", seed.story);
        assert_eq!(figures(&snake), figures(&story), "{}", seed.story);
    }
}

#[test]
fn lines_without_a_session_belong_to_the_only_session_of_their_log() {
    let (code, rows, _) = run_with(&["sessions", "logs/seed", "--format", "jsonl"]);
    let rows: Vec<serde_json::Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!((code, rows.len()), (0, 29));
    for (row, seed) in rows.iter().zip(SEEDS) {
        assert_eq!(row["session"], format!("abc-{}", &seed.story[..2]), "{}", seed.story);
        assert_eq!((row["project"].as_str(), row["prompts"].as_u64()), (Some("/path"), Some(seed.prompts)));
        assert_eq!(row["turns"].as_u64(), Some(seed.turns.0 + seed.turns.1), "{}", seed.story);
        let outcome = if seed.turns.1 > 0 {
            "error"
        } else if seed.calls.iter().any(|call| call.1 == "denied") {
            "denied"
        } else {
            "ok"
        };
        assert_eq!(row["outcome"], outcome, "{}", seed.story);
    }
}
