//! `redact`: a redacted log has the same reports as the original and none of its texts.

use std::{
    collections::BTreeSet,
    io::{Cursor, Write},
    path::{Path, PathBuf},
};

use ccstat::internal::{
    event,
    facts::Account,
    input::{self, Bytes, Limits, Range, Roots, Source, Stop},
    redact::{Redactor, StreamRedactor},
    report::REPORTS,
};
use proptest::{prelude::*, sample::select};
use serde_json::Value;

use crate::{
    formats::words,
    support::{account_of, cases, ccstat, log, read, run, run_with, testdata},
};

const DENIED: &str = "recordings/2.1.325/stream/34-permission-denied-bash.jsonl";

/// Redacts bytes that are read within these limits.
fn redacted_in(bytes: &[u8], limits: Limits) -> Vec<u8> {
    let (mut redactor, stop, mut out) = (Redactor::new(), Stop::default(), Vec::new());
    let mut feed = StreamRedactor::new(&mut redactor, limits.max_record, &stop, &mut out);
    let mut stream = Bytes::Stream(Box::new(Cursor::new(bytes.to_vec())));
    input::read_all(&mut stream, Range::ALL, &limits, &mut Vec::new(), &mut feed).1.unwrap();
    feed.finish().unwrap();
    out
}

fn redacted(bytes: &[u8]) -> Vec<u8> {
    redacted_in(bytes, Limits::default())
}

/// Returns the names of the sources below a path, in their order.
fn sources(path: &Path) -> Vec<String> {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    search.sources.iter().map(Source::name).collect()
}

/// Columns with paths, which differ.
const PATHS: &[&str] = &["source", "project", "place", "places"];

/// Columns that show content, by report.
const CONTENT: &[(&str, &[&str])] = &[
    ("hooks", &["command"]),
    ("permissions", &["what", "rule"]),
    ("questions", &["header", "question", "options", "answer"]),
];

/// Reports that show only content, or search it.
const SHOWN: &[&str] = &["contents", "suggestions", "search"];

/// Parses a report and removes paths and content; sorts rows whose order depends on paths.
fn masked(report: &str, json: &str, sources: &[String]) -> Value {
    let content = CONTENT.iter().find(|(name, _)| *name == report).map_or(&[][..], |(_, columns)| columns);
    let mut value: Value =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{report}: {error}: {json}"));
    mask(&mut value, &[PATHS, content].concat(), sources);
    if let Some(rows) =
        value.get_mut("rows").and_then(Value::as_array_mut).filter(|_| ["cost", "hooks"].contains(&report))
    {
        rows.sort_by_key(Value::to_string);
    }
    value
}

fn mask(value: &mut Value, hidden: &[&str], sources: &[String]) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(key, value)| {
            if hidden.contains(&&**key) { *value = Value::Null } else { mask(value, hidden, sources) }
        }),
        Value::Array(values) => values.iter_mut().for_each(|value| mask(value, hidden, sources)),
        // Longer names first, since one may be a prefix of another.
        Value::String(text) => {
            let mut named: Vec<(usize, &String)> = sources.iter().enumerate().collect();
            named.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
            named.iter().for_each(|(index, name)| *text = text.replace(&***name, &format!("log {index}")));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Runs `ccstat redact` on a file or a folder, and returns the output path with the temporary folder that
/// holds it.
fn redact_to_folder(path: &Path) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join(if path.is_dir() { "shown" } else { "shown.jsonl" });
    let into = if path.is_dir() { format!("{}/", new.display()) } else { new.display().to_string() };
    let (code, stdout, stderr) = run_with(&["redact", path.to_str().unwrap(), "-o", &into]);
    assert!(code == 0 || code == 3, "{}: {code} {stderr}", path.display());
    assert_eq!(stdout, "");
    (folder, new)
}

#[test]
fn every_report_of_all_logs_is_the_same_after_redaction() {
    for path in [
        "recordings/2.1.325/stream",
        "recordings/2.1.325/transcript",
        "recordings/2.1.50",
        "logs",
        "bad",
        "kinds",
    ] {
        let old = testdata(path);
        let (_folder, new) = redact_to_folder(&old);
        let (old_names, new_names) = (sources(&old), sources(&new));
        assert_eq!(old_names.len(), new_names.len(), "{path}");
        for spec in REPORTS.iter().filter(|spec| spec.reads_logs() && !SHOWN.contains(&spec.name)) {
            let report = |path: &Path| {
                let path = path.to_str().unwrap();
                let words = [&words(spec, &[path])[..], &["--format", "json"]].concat();
                let (code, stdout, stderr) = run_with(&words);
                // Notes suggest commands that name the logs.
                (
                    code,
                    stdout.replace(&format!(" {path}\""), " LOGS\"").replace(&format!(" {path}`"), " LOGS`"),
                    stderr,
                )
            };
            let (before, after) = (report(&old), report(&new));
            assert_eq!(before.0, after.0, "{path} {}: {}", spec.name, after.2);
            assert_eq!(
                masked(spec.name, &before.1, &old_names),
                masked(spec.name, &after.1, &new_names),
                "{path} {}",
                spec.name
            );
        }
    }
}

/// Removes the folder of the session: redaction replaces paths.
fn without_folder(mut account: Account) -> Account {
    if let Some(session) = &mut account.only_session {
        session.project = None;
    }
    account
}

#[test]
fn the_summary_of_every_single_log_is_the_same_after_redaction() {
    for path in ["recordings", "logs", "bad", "kinds"].iter().flat_map(|folder| cases(&testdata(folder))) {
        for source in sources(&path) {
            let bytes = std::fs::read(&source).unwrap();
            let new = redacted(&bytes);
            assert_eq!(new.len(), bytes.len(), "{source}");
            assert_eq!(without_folder(account_of(&new)), without_folder(account_of(&bytes)), "{source}");
        }
    }
}

// No text is left.

/// Keys whose values are kept, listed independently of the table in `src/redact`.
const KEPT: &[&str] = &[
    "type",
    "subtype",
    "operation",
    "role",
    "uuid",
    "id",
    "model",
    "name",
    "tool_name",
    "timestamp",
    "version",
    "status",
    "session_id",
    "sessionId",
    "slash_commands",
    "skills",
    "agents",
    "tools",
    "capabilities",
    "subagent_type",
    "agentType",
    "agent_type",
    "hookName",
    "hook_name",
    "hookEvent",
    "permissionMode",
    "error",
    "stop_reason",
    "terminal_reason",
    "querySource",
    "canonicalModel",
    "skill",
    "task_type",
    "task_id",
    "command_name",
    "agentId",
    "tool_use_id",
    "decision_reason_type",
    "startup_failure_reason",
    "requestedModel",
];

/// Collects all strings with their keys.
fn strings<'v>(value: &'v Value, key: &str, found: &mut Vec<(String, &'v str)>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| strings(value, key, found)),
        Value::Array(values) => values.iter().for_each(|value| strings(value, key, found)),
        Value::String(text) => found.push((key.to_owned(), text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Words of the CLI by which a report recognizes answers.
const ANSWERED: &str = "User has answered your questions:";

/// Splits a text into the strings to search for: the text without the deciding words, and each line and each
/// content of tags and quotes.
fn needles(text: &str) -> Vec<String> {
    let mut left = vec![text];
    for part in event::deciding_ranges(text).into_iter().rev() {
        let whole = left.pop().unwrap();
        left.extend([&whole[part.end..], &whole[..part.start]]);
    }
    let lines = left.clone().into_iter().flat_map(|text| text.split(['\n', '<', '>', '"']));
    let lines = lines.filter(|line| line.contains(' '));
    let all = left.iter().copied().chain(lines).map(str::trim).filter(|text| text.len() >= 8);
    all.map(str::to_owned).collect()
}

#[test]
fn no_text_of_any_log_is_left() {
    let mut searched = 0;
    for path in ["recordings", "logs", "kinds"].iter().flat_map(|folder| cases(&testdata(folder))) {
        for source in sources(&path) {
            let bytes = std::fs::read(&source).unwrap();
            let new = String::from_utf8(redacted(&bytes)).unwrap();
            let records: Vec<Value> = bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice(line).ok())
                .collect();
            let mut all = Vec::new();
            records.iter().for_each(|record| strings(record, "", &mut all));
            let (kept, texts): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|(key, _)| KEPT.contains(&&**key));
            let kept: BTreeSet<&str> = kept.into_iter().map(|(_, text)| text).collect();
            // Strings of one word are ids, times and fixed values.
            let texts = texts.into_iter().filter(|(_, text)| text.contains([' ', '/', '\n']));
            for needle in texts.flat_map(|(_, text)| needles(text)) {
                // The name of a typed command is kept, as in a list of commands.
                let is_command = needle.starts_with('/') && !needle[1..].contains(['/', ' ']);
                if is_command || needle == ANSWERED || kept.iter().any(|kept| kept.contains(&*needle)) {
                    continue;
                }
                searched += 1;
                let quoted = serde_json::to_string(&needle).unwrap();
                for form in [&*needle, &quoted[1..quoted.len() - 1]] {
                    assert!(!new.contains(form), "{source}: {form}");
                }
            }
        }
    }
    assert!(searched > 5000, "{searched}");
}

// Arbitrary bytes.

/// Pieces of logs, valid and invalid.
const PIECES: &[&str] = &[
    "{\"type\":\"user\",\"session_id\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"secret words\"}}",
    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\\n\\u00e9\"}}]}}",
    "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,\"content\":\"Permission to ls é has been denied\"}]}}",
    "{\"type\":\"user\",\"message\":{\"content\":\" <command-name>/go</command-name> now\"}}",
    "{\"type\":\"new kind\",\"a\":{\"b\":[\"c\",{\"d\":1.5e3}],\"\":null}}",
    "{\"no\":\"type\"}",
    "{\"type\":7}",
    "{\"type\":\"x\",\"u\":\"\\ud800\"}",
    "{\"type\":\"result\",\"modelUsage\":{\"m-1\":{\"costUSD\":1}},\"permission_denials\":[{\"tool_name\":\"Bash\"}]}",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "\\",
    "tru",
    "nul",
    "-1",
    ":",
    "\n",
    "\n\n",
    " ",
    "\t\r",
    "\0\0",
    "é😀",
    "[DEBUG] secret",
    "{\n  \"type\": \"system\",\n  \"text\": \"two\\nlines\"\n}",
];

fn generated_log() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        3 => Just(b"\n".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        // A truncated record.
        1 => (select(PIECES), any::<prop::sample::Index>()).prop_map(|(piece, at)| piece.as_bytes()[..at.index(piece.len() + 1)].to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_keep_their_length_their_lines_and_their_account(bytes in generated_log()) {
        let new = redacted(&bytes);
        prop_assert_eq!(new.len(), bytes.len());
        let ends = |bytes: &[u8]| bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect::<Vec<_>>();
        prop_assert_eq!(ends(&new), ends(&bytes));
        prop_assert!(!String::from_utf8_lossy(&new).contains("secret"), "{}", String::from_utf8_lossy(&new));
        prop_assert_eq!(account_of(&new), account_of(&bytes), "{}\n{}", String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&new));
    }

    #[test]
    fn the_block_size_makes_no_difference(bytes in generated_log(), block in 16usize..64, max_record in 20usize..400) {
        let limits = Limits { block, max_record, ..Limits::default() };
        let new = redacted_in(&bytes, limits);
        prop_assert_eq!(new.len(), bytes.len());
        let account = |bytes: &[u8]| read(&[log(bytes).path()], limits).0;
        prop_assert_eq!(account(&new), account(&bytes), "{}\n{}", String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&new));
    }
}

// The program.

#[test]
fn one_log_goes_to_standard_output_and_equal_texts_have_equal_placeholders() {
    let (code, stdout, stderr) = run_with(&["redact", DENIED]);
    assert_eq!((code, &*stderr), (0, ""));
    let calls: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (asked, denied) = (&calls[2]["message"]["content"][0], &calls[9]["permission_denials"][0]);
    assert_eq!((&asked["name"], &asked["id"]), (&"Bash".into(), &denied["tool_use_id"]));
    assert_eq!(asked["input"]["command"], denied["tool_input"]["command"]);
    assert!(asked["input"]["command"].as_str().unwrap().starts_with("redacted~"), "{asked}");
    assert!(calls[4]["message"]["content"][0]["content"].as_str().unwrap().contains("' needs approval. "));
    let (code, piped, _) = run(ccstat(&["redact"]).write_stdin(std::fs::read(testdata(DENIED)).unwrap()));
    assert_eq!((code, piped), (0, stdout));
}

#[test]
fn several_logs_need_a_folder_and_keep_its_structure() {
    let (code, stdout, stderr) = run_with(&["redact", "logs/week"]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("5 logs need an output folder"), "{stderr}");
    let (_folder, new) = redact_to_folder(&testdata("logs/week"));
    let names: Vec<String> =
        sources(&new).iter().map(|name| name[new.to_str().unwrap().len() + 1..].to_owned()).collect();
    assert_eq!(
        names,
        [
            "redacted-1/c41d90aa-63b8-4d5e-b2f7-5e0a94d00003/subagents/agent-a77b1f.jsonl",
            "redacted-1/c41d90aa-63b8-4d5e-b2f7-5e0a94d00003.jsonl",
            "redacted-1/e9077c34-15aa-4f02-94d8-b3c6d5e00004.jsonl",
            "redacted-2/5f3a1c20-7d41-4e8b-9a55-0c6be1f00001.jsonl",
            "redacted-2/8be20d17-2f64-4a0c-8e13-71d2a9c00002.jsonl",
        ]
    );
    let of = |path: &str| sessions(path);
    let (before, after) = (of("logs/week"), of(new.to_str().unwrap()));
    // Two projects are still two folders below the same one.
    let folders =
        |rows: &[(String, String)]| rows.iter().map(|row| row.1.clone()).collect::<BTreeSet<String>>();
    assert_eq!((folders(&before).len(), folders(&after).len()), (2, 2), "{after:?}");
    let above = |path: &String| path.rsplit_once('/').unwrap().0.to_owned();
    assert_eq!(folders(&after).iter().map(above).collect::<BTreeSet<String>>().len(), 1, "{after:?}");
    assert_eq!(
        before.iter().map(|row| &row.0).collect::<Vec<_>>(),
        after.iter().map(|row| &row.0).collect::<Vec<_>>()
    );
}

/// Returns the sessions of a log, each with its project.
fn sessions(path: &str) -> Vec<(String, String)> {
    let (_, stdout, _) = run_with(&["sessions", "--format", "json", path]);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    json["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["session"]), text(&row["project"])))
        .collect()
}

#[test]
fn an_input_log_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    std::fs::copy(testdata(DENIED), &path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let (code, _, stderr) = run_with(&["redact", path.to_str().unwrap(), "-o", path.to_str().unwrap()]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("take the place of a log"), "{stderr}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_out_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("redacted-1")).unwrap();
    let (code, _, stderr) = run_with(&["redact", "logs/week", "-o", inside.to_str().unwrap()]);
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("leads out"), "{stderr}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_compressed_log_is_written_uncompressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl.gz");
    let mut packer =
        flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    packer.write_all(&std::fs::read(testdata(DENIED)).unwrap()).unwrap();
    packer.finish().unwrap();
    assert_eq!(run_with(&["redact", path.to_str().unwrap()]), run_with(&["redact", DENIED]));
    let new = folder.path().join("shown");
    let (code, ..) = run_with(&["redact", path.to_str().unwrap(), "-o", &format!("{}/", new.display())]);
    assert_eq!((code, sources(&new).len()), (0, 1));
    assert!(new.join("redacted-1.jsonl").exists());
}

#[test]
fn input_without_records_is_masked_and_reported() {
    let (code, stdout, stderr) = run(ccstat(&["redact", "-"]).write_stdin("plain secret text\n"));
    assert_eq!((code, &*stdout), (3, "xxxxx xxxxxx xxxx\n"));
    assert!(stderr.contains("no records"), "{stderr}");
    let (code, _, stderr) = run_with(&["redact", "no-such.jsonl"]);
    assert_eq!(code, 3, "{stderr}");
}

#[test]
fn json_output_of_a_hook_keeps_only_its_decision() {
    let line = r#"{"type":"system","subtype":"hook_response","session_id":"s","hook_id":"h","hook_event":"PreToolUse","hook_name":"PreToolUse:Bash","exit_code":0,"stdout":"{\"decision\":\"block\",\"reason\":\"secret words here\"}\n"}"#;
    let new = String::from_utf8(redacted(line.as_bytes())).unwrap();
    assert!(new.contains(r#"{\"decision\":\"block\",\"reason\":\"redacted~1......."#), "{new}");
    assert_eq!(new.len(), line.len());
}

#[test]
fn keys_that_are_data_are_replaced_and_stay_distinct() {
    let keys: Vec<String> = (0..60)
        .map(|at| format!("\"{}\":{at}", char::from(b'A' + at)))
        .filter(|key| !key.contains(['\\']))
        .collect();
    let line = format!(
        r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t","name":"mcp__x__y","input":{{{},"/home/me/x":1,"command":2,"my key":3}}}}]}}}}"#,
        keys.join(",")
    );
    let new = redacted(line.as_bytes());
    let value: Value = serde_json::from_slice(&new).unwrap();
    let input = value["message"]["content"][0]["input"].as_object().unwrap();
    assert_eq!(input.len(), keys.len() + 3, "{input:?}");
    assert!(
        input.contains_key("command") && !input.contains_key("my key") && !input.contains_key("/home/me/x"),
        "{input:?}"
    );
}
