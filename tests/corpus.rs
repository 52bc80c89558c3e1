//! The corpus has valid lines, a right answer, the same bytes for the same seed, and realistic lengths.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use corpus::{Answer, Corpus, Shape, Tokens};

#[path = "../benches/corpus.rs"]
mod corpus;

const SIZE: u64 = 6_000_000;

fn written(corpus: &Corpus) -> (Vec<u8>, Answer) {
    let mut log = Vec::new();
    let answer = corpus.write(&mut log).unwrap();
    (log, answer)
}

fn records(shape: Shape, log: &[u8]) -> Vec<Value> {
    if shape == Shape::Pretty {
        return serde_json::from_slice(log).unwrap();
    }
    log.strip_suffix(b"\n")
        .unwrap()
        .split(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Counts the answer with a simple reader.
fn counted(log: &[u8], records: &[Value]) -> Answer {
    let mut answer = Answer {
        bytes: log.len() as u64,
        lines: log.iter().filter(|byte| **byte == b'\n').count() as u64,
        records: records.len() as u64,
        ..Answer::default()
    };
    let (mut sessions, mut responses, mut calls) = (HashSet::new(), HashSet::new(), HashMap::new());
    for record in records {
        let session =
            if record["sessionId"].is_null() { &record["session_id"] } else { &record["sessionId"] };
        // Requests to the host have no session.
        sessions.extend(session.as_str());
        around(&mut answer, record);
        match record["type"].as_str().unwrap() {
            "assistant" => {
                responses.insert(record["message"]["id"].as_str().unwrap());
                let block = &record["message"]["content"][0];
                if block["type"] == "tool_use" {
                    answer.questions += u64::from(block["name"] == "AskUserQuestion");
                    calls.entry(block["id"].as_str().unwrap()).or_insert("open");
                }
            }
            "user" if record["message"]["content"].is_string() => {
                let text = record["message"]["content"].as_str().unwrap();
                let begins = |start: &str| text.starts_with(start);
                let written_by_cli = begins("<command-name>")
                    || begins("<local-command-caveat>")
                    || begins("<task-notification>")
                    || begins("This session is being continued");
                answer.prompts += u64::from(!written_by_cli);
                answer.commands += u64::from(begins("<command-name>") || begins("<command-message>"));
            }
            "user" if record["isMeta"] == true => {}
            "user" => {
                let block = &record["message"]["content"][0];
                let denied = !record["toolDenialKind"].is_null()
                    || !record["tool_result_meta"][0]["non_execution_kind"].is_null();
                let end = if denied {
                    "denied"
                } else if block["is_error"] == true {
                    "errors"
                } else {
                    "ok"
                };
                *calls.get_mut(block["tool_use_id"].as_str().unwrap()).unwrap() = end;
            }
            "result" => {
                answer.turns += 1;
                spend(&mut answer, &record["model_usage_since_last_result"]);
            }
            "cost-state" => spend(&mut answer, &record["modelUsage"]),
            _ => {}
        }
    }
    let ended = |end| calls.values().filter(|found| **found == end).count() as u64;
    Answer {
        sessions: sessions.len() as u64,
        responses: responses.len() as u64,
        calls: calls.len() as u64,
        ok: ended("ok"),
        errors: ended("errors"),
        denied: ended("denied"),
        open: ended("open"),
        ..answer
    }
}

/// Counts the events beside calls and responses.
fn around(answer: &mut Answer, record: &Value) {
    let hook = record["attachment"]["hookName"].is_string() || record["subtype"] == "hook_response";
    answer.hooks += u64::from(hook);
    let task = record["toolUseResult"]["backgroundTaskId"].is_string() || record["subtype"] == "task_started";
    answer.tasks += u64::from(task);
    answer.compactions += u64::from(record["subtype"] == "compact_boundary");
    answer.control += u64::from(record["type"] == "control_request");
}

fn spend(answer: &mut Answer, usage: &Value) {
    let model = &usage["claude-opus-5-5"];
    let tokens = |key: &str| model[key].as_u64().unwrap();
    let Tokens { input, output, cache_read, cache_write_5m, cache_write_1h } = &mut answer.tokens;
    *input += tokens("inputTokens");
    *output += tokens("outputTokens");
    *cache_read += tokens("cacheReadInputTokens");
    *cache_write_5m += tokens("cacheCreationEphemeral5mInputTokens");
    *cache_write_1h += tokens("cacheCreationEphemeral1hInputTokens");
    answer.cost += (model["costUSD"].as_f64().unwrap() * 1e9).round() as u64;
}

#[test]
fn a_simple_reader_finds_the_answer() {
    for shape in Shape::ALL {
        let corpus = Corpus { sessions: 60, ..Corpus::new(shape, 3, SIZE) };
        let (log, answer) = written(&corpus);
        let records = records(shape, &log);
        assert_eq!(counted(&log, &records), answer, "{shape}");
        assert!(answer.bytes.abs_diff(SIZE) < SIZE / 10, "{shape}: {} bytes", answer.bytes);
        for (thing, count) in [("errors", answer.errors), ("denied", answer.denied), ("open", answer.open)] {
            assert!(count > 0, "{shape}: no {thing}");
        }
    }
}

#[test]
fn no_record_is_a_copy() {
    for shape in Shape::ALL {
        let (log, _) = written(&Corpus::new(shape, 5, SIZE));
        let mut seen = HashSet::new();
        for record in records(shape, &log) {
            let Some(uuid) = record["uuid"].as_str() else { continue };
            assert!(seen.insert(uuid.to_owned()), "{shape}: {uuid} twice");
        }
    }
}

#[test]
fn deltas_add_up_to_their_block() {
    let (log, _) = written(&Corpus::new(Shape::Events, 9, 1_000_000));
    let mut said = String::new();
    for record in records(Shape::Events, &log) {
        if record["event"]["type"] == "content_block_start" {
            said.clear();
        }
        for key in ["text", "thinking", "partial_json"] {
            said += record["event"]["delta"][key].as_str().unwrap_or_default();
        }
        if record["type"] != "assistant" {
            continue;
        }
        let block = &record["message"]["content"][0];
        match block["type"].as_str().unwrap() {
            "tool_use" => assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), block["input"]),
            kind => assert_eq!(said, block[kind].as_str().unwrap()),
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for shape in Shape::ALL {
        let hash = |seed| {
            let mut hasher = DefaultHasher::new();
            written(&Corpus::new(shape, seed, 1_000_000)).0.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(1), hash(1), "{shape}");
        assert_ne!(hash(1), hash(2), "{shape}");
    }
}

#[test]
fn files_hold_the_same_lines_as_one_stream() {
    let corpus = Corpus { sessions: 40, ..Corpus::new(Shape::Transcript, 4, 2_000_000) };
    let (log, answer) = written(&corpus);
    let folder = std::env::temp_dir().join(format!("ccstat-corpus-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut names = Vec::new();
    let create = |name: &str| {
        names.push(folder.join(name.replace('/', "_")));
        std::fs::File::create(&names[names.len() - 1])
    };
    assert_eq!(corpus.write_files(create).unwrap(), answer);
    let files: Vec<Vec<u8>> = names.iter().map(|name| std::fs::read(name).unwrap()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(files.len(), 40);
    assert!(files.concat() == log, "files and one stream have different bytes");
}

#[test]
fn hooks_tasks_and_limits_are_as_rare_as_in_real_logs() {
    for shape in [Shape::Transcript, Shape::Stream] {
        let (log, answer) = written(&Corpus::new(shape, 8, 20_000_000));
        assert_eq!(counted(&log, &records(shape, &log)), answer, "{shape}");
        let Answer { hooks, tasks, compactions, questions, commands, control, .. } = answer;
        let around =
            [("hooks", hooks), ("tasks", tasks), ("compactions", compactions), ("questions", questions)];
        let of_dialect = match shape {
            Shape::Transcript => ("commands", commands),
            Shape::Stream | Shape::Events | Shape::Pretty => ("control requests", control),
        };
        for (thing, count) in around.into_iter().chain([of_dialect]) {
            assert!(count > 0, "{shape}: no {thing}");
            assert!(count < answer.records / 20, "{shape}: {count} {thing}");
        }
    }
}

#[test]
fn lines_are_as_long_as_in_real_logs() {
    for shape in [Shape::Transcript, Shape::Stream] {
        let (log, answer) = written(&Corpus::new(shape, 8, 60_000_000));
        let lines = || log.split_inclusive(|byte| *byte == b'\n');
        let mut lengths: Vec<usize> = lines().map(<[u8]>::len).collect();
        lengths.sort_unstable();
        let at = |percent| lengths[lengths.len() * percent / 100];
        let (p50, p90, p99) = (at(50), at(90), at(99));
        assert!((800..1300).contains(&p50), "{shape}: p50 {p50}");
        assert!((4800..6700).contains(&p90), "{shape}: p90 {p90}");
        assert!((30_000..50_000).contains(&p99), "{shape}: p99 {p99}");
        assert!(lengths.last() > Some(&1_000_000), "{shape}: no huge line");
        let of_gigabyte = |count| count * 1000 / (answer.bytes / 1_000_000);
        assert!((270_000..400_000).contains(&of_gigabyte(answer.records)), "{shape}: {answer:?}");
        assert!((50_000..110_000).contains(&of_gigabyte(answer.responses)), "{shape}: {answer:?}");
        assert!((60_000..130_000).contains(&of_gigabyte(answer.calls)), "{shape}: {answer:?}");
        let user = |line: &&[u8]| memchr::memmem::find(&line[..200], br#""type":"user""#).is_some();
        let share = lines().filter(|line| line.len() > 200).filter(user).map(<[u8]>::len).sum::<usize>()
            * 100
            / log.len();
        assert!((60..75).contains(&share), "{shape}: {share} % of the bytes are user lines");
    }
}
