//! Requests between the CLI and its host and over a bridge, checked against figures counted by hand; and the
//! other reports on logs of hosts, bridges and chained runs.

use serde_json::Value;

use crate::support::{account, account_of, ccstat, run, run_with, testdata};

/// Returns the rows of `control`, and its notes.
fn control(logs: &[&str]) -> (Vec<Value>, Vec<String>) {
    let (code, stdout, stderr) = run_with(&[&["control"], logs, &["--format", "json"]].concat());
    assert_eq!((code, &*stderr), (0, ""), "{logs:?}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let notes = report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned());
    (report["rows"].as_array().unwrap().clone(), notes.collect())
}

/// Joins the cells that say what was asked and how it was answered; `-` for a missing one.
fn brief(row: &Value) -> String {
    let words =
        ["direction", "subtype", "tool", "decision", "seen"].map(|key| row[key].as_str().unwrap_or("-"));
    words.join(" | ")
}

fn briefs(logs: &[&str]) -> Vec<String> {
    control(logs).0.iter().map(brief).collect()
}

fn stream(name: &str) -> String {
    format!("recordings/2.1.325/stream/{name}.jsonl")
}

#[test]
fn recording_53_asks_twice_for_a_tool_and_answers_its_host_three_times() {
    let log = stream("53-control-protocol");
    let (rows, notes) = control(&[&log]);
    assert_eq!(
        rows.iter().map(brief).collect::<Vec<_>>(),
        [
            "host to cli | initialize | - | success | response",
            "cli to host | can_use_tool | Bash | allow | request",
            "cli to host | can_use_tool | Bash | deny | request",
            "host to cli | set_model | - | success | response",
            "host to cli | set_permission_mode | - | success | response",
        ]
    );
    let lines: Vec<u64> = rows.iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 4, 7, 12, 13]);
    let ids: Vec<&str> = rows.iter().map(|row| row["request_id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[3], ids[4]), ("req_1", "req_2", "req_3"));
    assert_eq!(ids[1], "d38234fb-4326-4f6c-9ed8-0071b5510bad");
    for row in &rows {
        assert_eq!(row["session"], "00021325-0000-4000-8000-000000000053");
        assert_eq!((&row["time"], &row["latency_ms"]), (&Value::Null, &Value::Null), "no line has a time");
    }
    assert_eq!(
        notes,
        [
            "5 requests: 1 allow, 1 deny, 3 success",
            "3 responses have no request in these logs: give the log of the other side too"
        ]
    );
}

#[test]
fn recordings_54_77_80_and_96_have_one_request_each() {
    for (name, expected) in [
        ("54-interrupt", "host to cli | interrupt | - | success | response"),
        ("77-askuserquestion-host", "cli to host | can_use_tool | AskUserQuestion | deny | request"),
        ("80-interrupt-while-streaming", "host to cli | interrupt | - | success | response"),
        ("96-exitplanmode-host", "cli to host | can_use_tool | ExitPlanMode | allow | request"),
    ] {
        let (rows, _) = control(&[&stream(name)]);
        assert_eq!(rows.iter().map(brief).collect::<Vec<_>>(), [expected], "{name}");
        assert_eq!(rows[0]["session"], format!("00021325-0000-4000-8000-0000000000{}", &name[..2]));
    }
}

#[test]
fn an_older_cli_answers_set_model_without_naming_the_request() {
    let rows = briefs(&["recordings/2.1.50/stream/53-control-protocol.jsonl"]);
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[3], "host to cli | - | - | success | response");
}

/// Both sides of the story of a host, in the order of time: what was asked, and the latency.
const HOST: [(&str, Option<u64>); 8] = [
    ("host to cli | initialize | - | success | both", Some(120)),
    ("cli to host | can_use_tool | Bash | allow | both", Some(1500)),
    ("cli to host | can_use_tool | Write | deny | both", Some(250)),
    ("host to cli | set_model | - | error | both", Some(40)),
    ("cli to host | hook_callback | - | error | both", Some(500)),
    ("cli to host | can_use_tool | Bash | cancelled | both", Some(510)),
    ("host to cli | interrupt | - | success | both", Some(20)),
    ("host to cli | mcp_status | - | unanswered | request", None),
];

fn is_host(rows: &[Value], context: &str) {
    let found: Vec<(String, Option<u64>)> =
        rows.iter().map(|row| (brief(row), row["latency_ms"].as_u64())).collect();
    let found: Vec<(&str, Option<u64>)> = found.iter().map(|(words, latency)| (&**words, *latency)).collect();
    assert_eq!(found, HOST, "{context}");
}

#[test]
fn both_sides_of_a_run_are_joined_in_any_order_of_files_and_lines() {
    let texts = ["host/stdin", "host/stdout"]
        .map(|name| std::fs::read_to_string(testdata(&format!("logs/{name}.jsonl"))).unwrap());
    let [stdin, stdout] = &texts;
    let folder = tempfile::tempdir().unwrap();
    let backwards = |text: &str| text.lines().rev().map(|line| format!("{line}\n")).collect::<String>();
    let both = |one: &str, two: &str| [("a.jsonl", one.to_owned()), ("b.jsonl", two.to_owned())].to_vec();
    let cases = [
        both(stdin, stdout),
        both(stdout, stdin),
        both(&backwards(stdin), &backwards(stdout)),
        vec![("a.jsonl", format!("{stdin}{stdout}"))],
        vec![("a.jsonl", format!("{stdout}{stdin}"))],
    ];
    for (number, files) in cases.iter().enumerate() {
        let run = folder.path().join(number.to_string());
        std::fs::create_dir(&run).unwrap();
        for (name, text) in files {
            std::fs::write(run.join(name), text).unwrap();
        }
        let (rows, notes) = control(&[run.to_str().unwrap()]);
        is_host(&rows, &number.to_string());
        for row in rows.iter().filter(|row| row["seen"] == "both") {
            assert_eq!(row["session"], "0000b057-0000-4000-8000-000000000001", "{number}");
        }
        assert_eq!(
            notes,
            ["8 requests: 1 allow, 1 deny, 2 success, 2 error, 1 cancelled, 1 unanswered"],
            "{number}"
        );
    }
}

#[test]
fn an_allowance_for_the_session_differs_from_one_for_a_call() {
    let always = |logs: &[&str]| -> Vec<String> {
        let rows = control(logs).0;
        let always = rows.iter().filter(|row| row["always"] == true);
        always.map(|row| row["request_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(always(&["logs/host"]), ["5e0b8a52-0000-4000-8000-000000000001"]);
    assert_eq!(always(&["logs/bridge/session.jsonl"]), ["toolu_b2"]);
}

#[test]
fn hosts_that_number_requests_from_one_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    for (run, id) in [("one", "5e0b8a52"), ("two", "5e0b8a53")] {
        for side in ["stdin", "stdout"] {
            let text = std::fs::read_to_string(testdata(&format!("logs/host/{side}.jsonl"))).unwrap();
            let text = text.replace("5e0b8a52", id).replace("0000b057", &format!("0000b0{}", &id[6..]));
            // In this order of names the runs are not adjacent.
            std::fs::write(folder.path().join(format!("{side}-{run}.jsonl")), text).unwrap();
        }
    }
    // The first run was cut before its interrupt was answered.
    let cut = folder.path().join("stdout-one.jsonl");
    let text = std::fs::read_to_string(&cut).unwrap();
    let kept: String =
        text.lines().filter(|line| !line.contains("req_3")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&cut, kept).unwrap();
    let (rows, _) = control(&[folder.path().to_str().unwrap()]);
    let interrupts: Vec<(&str, bool)> = rows
        .iter()
        .filter(|row| row["subtype"] == "interrupt")
        .map(|row| (row["decision"].as_str().unwrap(), row["source"].as_str().unwrap().contains("one")))
        .collect();
    assert_eq!(interrupts, [("unanswered", true), ("success", false)]);
    assert_eq!(rows.iter().filter(|row| row["seen"] == "both").count(), 13);
}

#[test]
fn one_side_alone_gives_partial_rows() {
    assert_eq!(
        briefs(&["logs/host/stdin.jsonl"]),
        [
            "host to cli | initialize | - | unanswered | request",
            "cli to host | can_use_tool | - | allow | response",
            "cli to host | can_use_tool | - | deny | response",
            "host to cli | set_model | - | unanswered | request",
            "cli to host | - | - | error | response",
            "host to cli | interrupt | - | unanswered | request",
            "host to cli | mcp_status | - | unanswered | request",
        ]
    );
    let stdout = briefs(&["logs/host/stdout.jsonl"]);
    assert_eq!(stdout[1], "cli to host | can_use_tool | Bash | allow | request", "its call answered");
    assert_eq!(stdout[2], "cli to host | can_use_tool | Write | deny | request", "its call was refused");
    assert_eq!(stdout[4], "cli to host | hook_callback | - | unanswered | request");
}

#[test]
fn a_request_of_the_cli_in_two_logs_is_one_row() {
    let log = stream("77-askuserquestion-host");
    let copy = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(testdata(&log), copy.path()).unwrap();
    assert_eq!(briefs(&[&log, copy.path().to_str().unwrap()]).len(), 1);
}

#[test]
fn requests_over_a_bridge_are_in_the_same_table() {
    assert_eq!(
        briefs(&["logs/bridge/session.jsonl"]),
        [
            "client to bridge | start | - | success | both",
            "bridge to client | permission_request | Bash | allow | both",
            "bridge to client | permission_request | Edit | allow | both",
            "bridge to client | permission_request | Bash | deny | both",
            "bridge to client | answer | AskUserQuestion | success | both",
            "client to bridge | get_history | - | success | both",
            "client to bridge | stop_session | - | - | request",
        ]
    );
    let (rows, _) = control(&["logs/bridge/session.jsonl"]);
    assert!(rows.iter().all(|row| row["session"] == "bridge-1"), "{rows:?}");
    let (rows, _) = control(&["logs/bridge/failed.jsonl"]);
    let found: Vec<(String, &Value)> = rows.iter().map(|row| (brief(row), &row["session"])).collect();
    let second = Value::from("bridge-2");
    let expected = [
        ("client to bridge | list_recent_sessions | - | - | request", &Value::Null),
        ("client to bridge | resume_session | - | error | both", &second),
        ("client to bridge | resume_session | - | success | both", &second),
        ("bridge to client | permission_request | Bash | unanswered | request", &second),
        ("client to bridge | start | - | unanswered | request", &Value::Null),
    ];
    assert_eq!(found, expected.map(|(words, session)| (words.to_owned(), session)));
}

#[test]
fn the_log_of_a_bridge_is_analysed_like_the_others() {
    let found = account(&[testdata("logs/bridge/session.jsonl")]);
    assert_eq!((found.input.records, found.unknown_kinds.len()), (31, 0));
    let tools = &found.tools.total;
    assert_eq!((tools.calls, tools.ok, tools.denied, tools.open, found.tools.orphans), (4, 3, 1, 0, 0));
    assert_eq!(found.denials.by_tool.iter().collect::<Vec<_>>(), [(&"Bash".to_owned(), &1)]);
    assert_eq!((found.turns.ok, found.turns.errors, found.sessions), (1, 0, 1));
    assert_eq!(found.cost.total.unwrap().to_string(), "0.0425");
    assert_eq!(found.duration.wall.unwrap().as_f64().to_string(), "5200");
    assert_eq!(found.prompts, 0, "a prompt is a `user` record (CONTRACT 3), and a bridge writes `input`");
    let failed = account(&[testdata("logs/bridge/failed.jsonl")]);
    assert_eq!((failed.turns.errors, failed.tools.total.open), (1, 1));
}

#[test]
fn a_replayed_history_is_not_counted_again() {
    let log = std::fs::read_to_string(testdata("logs/bridge/session.jsonl")).unwrap();
    let (history, rest): (Vec<&str>, Vec<&str>) =
        log.lines().partition(|line| line.contains(r#""type":"history""#));
    let (with, without) = (account_of(&log), account_of(rest.join("\n")));
    assert_eq!(history.len(), 1);
    assert_eq!((with.responses, &with.tools, &with.cost), (without.responses, &without.tools, &without.cost));
    let alone = account_of(history[0]);
    assert_eq!((alone.input.records, alone.responses, alone.tools.total.calls), (1, 0, 0));
    assert_eq!((alone.turns.total, alone.cost.total), (0, None));
    assert_eq!(alone.kinds.keys().collect::<Vec<_>>(), ["history"]);
}

#[test]
fn the_summary_of_a_host_log_says_that_it_is_one_side() {
    let found = account(&[testdata("logs/host/stdin.jsonl")]);
    assert_eq!((found.prompts, found.turns.total, found.unknown_kinds.len()), (1, 0, 0));
    // An error looks the same from both sides (N4).
    assert_eq!(
        found.input.dialects.iter().map(|(name, count)| (*name, *count)).collect::<Vec<_>>(),
        [("input", 7), ("stream", 1)]
    );
    let only_input: String = std::fs::read_to_string(testdata("logs/host/stdin.jsonl"))
        .unwrap()
        .lines()
        .filter(|line| !line.contains(r#""subtype":"error""#))
        .map(|line| format!("{line}\n"))
        .collect();
    let (code, screen, _) = run(ccstat(&["summarize"]).write_stdin(only_input));
    assert_eq!(
        (code, screen.lines().next().unwrap()),
        (0, "The host's side of a run · 1 prompt · cost unknown · 9.0 s from first to last record")
    );
}

#[test]
fn a_chained_run_is_several_sessions_in_one_source() {
    let found = account(&[testdata("logs/chained.jsonl")]);
    assert_eq!((found.input.sources, found.sessions, found.turns.ok), (1, 2, 2));
    assert_eq!(found.cost.total.unwrap().to_string(), "0.03380425", "each counts from zero");
    let (code, rows, _) = run_with(&["sessions", "logs/chained.jsonl", "--format", "jsonl"]);
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let found: Vec<(&str, u64, u64, f64)> = rows
        .iter()
        .map(|row| {
            let count = |key: &str| row[key].as_u64().unwrap();
            let id = row["session"].as_str().expect("a control line belongs to a session");
            (&id[id.len() - 1..], count("turns"), count("calls"), row["cost_usd"].as_f64().unwrap())
        })
        .collect();
    assert_eq!((code, found), (0, vec![("2", 1, 0, 0.02), ("1", 1, 1, 0.013_804_25)]));
    let (rows, _) = control(&["logs/chained.jsonl"]);
    assert_eq!(
        rows.iter().map(brief).collect::<Vec<_>>(),
        ["cli to host | mcp_message | - | unanswered | request"]
    );
    assert_eq!(rows[0]["session"], "0000c4a1-0000-4000-8000-000000000002", "the session that surrounds it");
}

#[test]
fn a_request_between_two_sessions_has_no_session() {
    let line = |session: &str| format!(r#"{{"type":"system","subtype":"init","session_id":"{session}"}}"#);
    let request = r#"{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message"}}"#;
    for (lines, session) in [
        ([line("a"), request.to_owned(), line("b")], Value::Null),
        ([request.to_owned(), line("a"), line("b")], "a".into()),
        ([line("a"), line("b"), request.to_owned()], "b".into()),
    ] {
        let log = crate::support::log(lines.join("\n"));
        assert_eq!(control(&[log.path().to_str().unwrap()]).0[0]["session"], session, "{lines:?}");
    }
}

#[test]
fn a_session_filter_keeps_the_requests_of_its_log() {
    let logs = ["53-control-protocol", "77-askuserquestion-host"].map(stream);
    let of = |session: &str| briefs(&[&logs[0], &logs[1], "--session", session]).len();
    assert_eq!(of("00021325-0000-4000-8000-000000000053"), 5);
    assert_eq!(of("00021325-0000-4000-8000-000000000077"), 1);
}

#[test]
fn a_log_without_requests_says_so_in_one_line() {
    let (code, screen, stderr) = run_with(&["control", &stream("01-simple-text")]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(screen.ends_with("\nno control requests between CLI, host and bridge\n"), "{screen}");
    let (rows, notes) = control(&[&stream("01-simple-text")]);
    assert_eq!((rows.len(), notes.len()), (0, 1));
}

#[test]
fn the_requests_of_a_host_and_a_bridge_match_their_snapshots() {
    for (name, log) in [("host", "logs/host"), ("bridge", "logs/bridge")] {
        for format in ["table", "json", "csv"] {
            let (code, stdout, _) = run_with(&["control", log, "--format", format]);
            assert_eq!(code, 0);
            let stdout = stdout.replace(concat!("ccstat ", env!("CARGO_PKG_VERSION")), "ccstat VERSION");
            insta::assert_snapshot!(format!("control-of-a-{name}-{format}"), stdout);
        }
    }
}
