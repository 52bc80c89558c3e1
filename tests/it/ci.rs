//! Output for CI systems: metrics, JUnit, comments, and the files of GitHub.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;

use crate::{
    foreign::{hostile_log, is_plain_markdown},
    formats::{tables_are_whole, words},
    support::{ccstat, log, run, run_with},
};
use ccstat::internal::report::REPORTS;

/// One series: its labels and its value.
type Series = (BTreeMap<String, String>, f64);

/// Parses Prometheus' text format strictly: each family once and in one piece, no series twice.
fn metrics(text: &str) -> BTreeMap<String, Vec<Series>> {
    assert!(text.ends_with('\n'));
    let mut families: BTreeMap<String, Vec<Series>> = BTreeMap::new();
    let (mut current, mut typed) = (String::new(), false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help has words");
            assert!(is_name(name) && help.ends_with('.') && !help.contains("\\u{"), "{line}");
            assert!(families.insert(name.to_owned(), Vec::new()).is_none(), "{name} comes twice");
            (current, typed) = (name.to_owned(), false);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest, format!("{current} gauge"));
            assert!(!std::mem::replace(&mut typed, true), "{line}");
            let other = ["_total", "_count", "_sum", "_bucket", "_info"];
            assert!(!other.iter().any(|end| current.ends_with(end)), "{current} is no gauge's name");
        } else {
            assert!(typed, "{line}");
            let (labels, number) = series(line.strip_prefix(&*current).expect("a sample of its family"));
            let family = families.get_mut(&current).unwrap();
            assert!(family.iter().all(|(known, _)| *known != labels), "twice: {line}");
            family.push((labels, number));
        }
    }
    assert!(families.values().all(|family| !family.is_empty()), "a family without a sample");
    families
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Parses `{a="b"} 1`, or `1` alone.
fn series(text: &str) -> Series {
    let mut labels = BTreeMap::new();
    let Some(mut rest) = text.strip_prefix('{') else {
        return (labels, text.strip_prefix(' ').expect("a blank").parse().expect("a number"));
    };
    loop {
        let (name, value) = rest.split_once("=\"").expect("a label");
        assert!(is_name(name) && !name.starts_with("__"), "{name}");
        let mut letters = value.char_indices();
        let mut text = String::new();
        let end = loop {
            match letters.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => text.push(match letters.next().expect("an escape").1 {
                    'n' => '\n',
                    letter @ ('\\' | '"') => letter,
                    other => panic!("no escape: {other}"),
                }),
                (_, letter) => text.push(letter),
            }
        };
        assert!(labels.insert(name.to_owned(), text).is_none(), "{name} comes twice");
        rest = &value[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return (labels, rest.strip_prefix("} ").expect("an end").parse().expect("a number")),
        }
    }
}

#[test]
fn every_report_has_metrics_with_the_numbers_of_its_rows() {
    for spec in REPORTS {
        for log in ["recordings/2.1.325/stream", "recordings/2.1.50/transcript", "logs/week"] {
            let of = |format| run_with(&[&words(spec, &[log])[..], &["--format", format]].concat()).1;
            let metrics = metrics(&of("prometheus"));
            let json: Value = serde_json::from_str(&of("json")).unwrap();
            let Some(rows) = json["rows"].as_array() else { continue };
            assert_eq!(
                metrics[&format!("ccstat_{}_rows", spec.name)],
                [(BTreeMap::new(), rows.len() as f64)]
            );
            let mut compared = 0;
            for key in rows.first().into_iter().flat_map(|row| row.as_object().unwrap().keys()) {
                let Some(family) = metrics.get(&format!("ccstat_{}_{key}", spec.name)) else { continue };
                let written: Vec<f64> = family.iter().map(|series| series.1).collect();
                let number =
                    |value: &Value| value.as_f64().or(value.as_bool().map(|flag| f64::from(u8::from(flag))));
                let known: Vec<f64> = rows.iter().filter_map(|row| number(&row[key])).collect();
                assert_eq!(written, known, "{}.{key}", spec.name);
                compared += 1;
            }
            // Prices, times and durations have their unit in the name, so none of these keys is the name alone.
            let has_units = ["prices", "failures"].contains(&spec.name);
            assert!(compared > 0 || rows.is_empty() || has_units, "{} {log}", spec.name);
        }
    }
}

#[test]
fn hostile_names_stay_inside_labels() {
    let log = log(hostile_log());
    for spec in REPORTS.iter().filter(|spec| spec.reads_logs()) {
        let words = words(spec, &[log.path().to_str().unwrap()]);
        let text = run_with(&[&words[..], &["--format", "prometheus"]].concat()).1;
        let families = metrics(&text);
        let ours = |name: &String| {
            name.starts_with(&format!("ccstat_{}", spec.name)) || name.starts_with("ccstat_gate_")
        };
        assert!(families.keys().all(ours), "{}", spec.name);
    }
}

#[test]
fn metrics_of_the_summary_use_base_units() {
    let text = run_with(&["summarize", "logs/nightly-denied.jsonl", "--format", "prometheus"]).1;
    let metrics = metrics(&text);
    let one = |name: &str| metrics[name].iter().map(|series| series.1).collect::<Vec<_>>();
    assert_eq!(one("ccstat_summary_cost_total_usd"), [0.007968]);
    assert_eq!(one("ccstat_summary_duration_wall_seconds"), [0.409]);
    assert_eq!(one("ccstat_summary_duration_first_timestamp_seconds"), [1_794_786_160.014]);
    assert_eq!(one("ccstat_summary_turns"), [1.0]);
    let tools: Vec<&str> =
        metrics["ccstat_summary_denials_by_tool"].iter().map(|series| &*series.0["tool"]).collect();
    assert_eq!(tools, ["Bash", "Write"]);
    assert!(!metrics.contains_key("ccstat_summary_cost_computed_usd"), "a missing value has no sample");
}

/// Parses JUnit's XML: suites with the attributes that every reader wants, and counts that match the tests.
fn tests(xml: &str) -> Vec<(String, String, Option<String>)> {
    let document = roxmltree::Document::parse(xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let root = document.root_element();
    assert!(root.has_tag_name("testsuites"));
    let mut tests = Vec::new();
    let number =
        |node: roxmltree::Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<usize>().unwrap();
    for suite in root.children().filter(roxmltree::Node::is_element) {
        assert!(suite.has_tag_name("testsuite") && suite.attribute("name").is_some());
        let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
        let with = |tag: &str| {
            cases.iter().filter(|case| case.children().any(|node| node.has_tag_name(tag))).count()
        };
        assert_eq!(number(suite, "tests"), cases.len());
        assert_eq!((number(suite, "failures"), number(suite, "errors")), (with("failure"), with("error")));
        for case in cases {
            assert_eq!(case.attribute("classname"), suite.attribute("name"));
            let problem = case.first_element_child().map(|node| {
                assert!(node.attribute("type").is_some() && node.attribute("message").is_some());
                node.tag_name().name().to_owned()
            });
            let text = |name: &str| case.attribute(name).unwrap().to_owned();
            tests.push((text("classname"), text("name"), problem));
        }
    }
    assert_eq!(number(root, "tests"), tests.len());
    tests
}

#[test]
fn without_gates_a_run_is_one_test() {
    let xml = run_with(&["summarize", "logs/nightly-denied.jsonl", "--format", "junit"]).1;
    assert_eq!(tests(&xml), [("summary".to_owned(), "run".to_owned(), None)]);
    assert!(xml.contains(r#" time="0.409">"#), "{xml}");
    let hostile = log(hostile_log());
    assert_eq!(tests(&run_with(&["summarize", hostile.path().to_str().unwrap(), "-f", "junit"]).1).len(), 1);
}

#[test]
fn a_failed_run_is_a_failure_with_and_without_gates() {
    let stream = |name: &str| format!("recordings/2.1.325/stream/{name}.jsonl");
    let (failed, killed, good) =
        (stream("32-max-turns"), stream("49-killed-midway"), stream("02-single-bash"));
    let junit = |words: &[&str]| {
        let (code, xml, _) = run_with(&[words, &["--format", "junit"]].concat());
        (code, tests(&xml), xml)
    };
    let ran = |tests: &[(String, String, Option<String>)]| {
        let runs = tests.iter().filter(|(_, name, _)| name == "run");
        runs.map(|(.., problem)| problem.clone()).collect::<Vec<_>>()
    };
    let failure = || vec![Some("failure".to_owned())];
    for (log, why) in [
        (&failed, "message=\"Failed: error_max_turns\""),
        (&killed, "message=\"No result: the run was killed, or is still running\""),
    ] {
        let (code, tests, xml) = junit(&["summarize", log]);
        assert_eq!((code, ran(&tests)), (0, failure()), "{xml}");
        assert!(xml.contains(why), "{xml}");
        // A passing gate does not hide it.
        let (code, tests, xml) = junit(&["summarize", log, "--max-turns", "99"]);
        assert_eq!((code, tests.len(), ran(&tests)), (0, 2, failure()), "{xml}");
        let (_, tests, xml) = junit(&["check", log, "--max-turns", "99"]);
        assert_eq!((tests.len(), ran(&tests)), (2, failure()), "{xml}");
    }
    let (_, _, xml) = junit(&["check", &failed]);
    assert!(xml.contains("message=\"the run failed: error_max_turns\""), "{xml}");
    // Each run alone; together, one that did not end makes all fail.
    let (_, tests, xml) = junit(&["check", &good, &killed, "--max-turns", "99"]);
    let mut runs = ran(&tests);
    runs.sort();
    assert_eq!(runs, [None, Some("failure".to_owned())], "{xml}");
    let (_, tests, xml) = junit(&["summarize", &good, &killed]);
    assert_eq!(ran(&tests), failure(), "{xml}");
    assert!(xml.contains("message=\"1 session without a result: killed, or still running\""), "{xml}");
    assert_eq!(ran(&junit(&["summarize", &good]).1), [None]);
}

#[test]
fn a_run_without_readable_records_is_not_a_passing_test() {
    let empty = log("");
    let (code, xml, _) = run_with(&["summarize", empty.path().to_str().unwrap(), "--format", "junit"]);
    assert_eq!(code, 3);
    assert_eq!(tests(&xml), [("summary".to_owned(), "run".to_owned(), Some("error".to_owned()))]);
}

/// Two records among nine lines of prose.
const PAGE: &str = "bad/page-that-quotes-a-run.md";
const DOUBT: &str = "This may not be a Claude Code log: 9 invalid lines, 2 records · Success";

#[test]
fn every_headline_warns_about_a_mostly_invalid_log() {
    let headline = |words: &[&str]| {
        let (code, stdout, _) = run_with(words);
        assert_eq!(code, 0, "{words:?}");
        stdout
    };
    let screen = headline(&["summarize", PAGE]);
    assert!(screen.starts_with(&format!("! {DOUBT} · 1 prompt · ")), "{screen}");
    for format in ["markdown", "comment"] {
        let text = headline(&["summarize", PAGE, "--format", format]);
        assert!(text.contains(&format!("**! {DOUBT}")) && !text.contains('✓'), "{text}");
    }
    let xml = headline(&["summarize", PAGE, "--format", "junit"]);
    assert!(xml.contains(&format!("<system-out>{DOUBT}")), "{xml}");
    let folder = tempfile::tempdir().unwrap();
    let (code, _, summary, _) = run_github(folder.path(), &["summarize", PAGE]);
    assert!(code == 0 && summary.contains(&format!("**! {DOUBT}")) && !summary.contains('✓'), "{summary}");
    let (code, _, stderr) = run_with(&["run", "--", "cat", PAGE]);
    assert!(code == 0 && stderr.contains(&format!("! {DOUBT}")) && !stderr.contains('✓'), "{stderr}");
    // A failure remains one, and as many records as invalid lines are no reason for a warning.
    let failed = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s"}"#;
    let doubtful = log(format!("a\nb\n{failed}\n"));
    let screen = headline(&["summarize", doubtful.path().to_str().unwrap()]);
    let doubt = "✗ This may not be a Claude Code log: 2 invalid lines, 1 record · Failed: error_max_turns";
    assert!(screen.starts_with(doubt), "{screen}");
    let even = log(format!("a\n{failed}\n"));
    assert!(headline(&["summarize", even.path().to_str().unwrap()]).starts_with("✗ Failed"));
}

#[test]
fn input_without_records_gets_a_warning_with_both_counts() {
    let (code, xml, _) = run_with(&["summarize", "bad/plain-text.txt", "--format", "junit"]);
    assert_eq!(code, 3);
    let doubt = "<system-out>This may not be a Claude Code log: 2 invalid lines, 0 records · ";
    assert!(xml.contains(doubt), "{xml}");
}

#[test]
fn an_unsupported_format_is_a_usage_error_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for words in [
        &["tools", "no-such-log.jsonl", "--format", "junit"][..],
        &["prices", "-o", &file("a.xml")],
        &["show", "latest", "no-such-log.jsonl", "-o", &file("a.xml")],
        &["daily", "--ccusage", "no-such-log.jsonl", "-o", &file("a.prom")],
        &["sessions", "--ccusage", "no-such-log.jsonl", "-o", &format!("comment={}", file("a"))],
    ] {
        let (code, stdout, stderr) = run_with(words);
        assert_eq!((code, &*stdout), (2, ""), "{words:?}");
        assert!(stderr.contains("cannot be written as ") && stderr.contains("use one of "), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(run_with(&["summarize", "logs/gateway.jsonl", "-q", "-o", &file("a.xml")]).0, 0);
    assert!(!tests(&fs::read_to_string(file("a.xml")).unwrap()).is_empty());
}

#[test]
fn a_comment_is_folded_and_escapes_markup_in_names() {
    let hostile = log(hostile_log());
    for spec in REPORTS {
        for log in ["recordings/2.1.325/stream", hostile.path().to_str().unwrap()] {
            let text = run_with(&[&words(spec, &[log])[..], &["--format", "comment"]].concat()).1;
            let marker =
                if ["summary", "check"].contains(&spec.name) { "" } else { &format!(" {}", spec.name) };
            assert!(text.starts_with(&format!("<!-- ccstat{marker} -->\n")), "{text}");
            assert!(text.encode_utf16().count() <= 65_536);
            tables_are_whole(&text);
            let ours = |line: &&str| !line.starts_with(['<']) || line.starts_with("<!-- -->");
            let (foreign, tags): (Vec<&str>, Vec<&str>) = text.lines().partition(ours);
            let known = |tag: &&str| {
                ["<!-- ccstat", "</details>"].iter().any(|known| tag.starts_with(known))
                    || tag.strip_prefix("<details><summary>").is_some_and(|tag| tag.ends_with("</summary>"))
            };
            assert!(tags.iter().all(known), "{tags:?}");
            // A bar is escaped between backticks.
            if spec.name != "show" {
                is_plain_markdown(&foreign.join("\n"));
            }
        }
    }
}

#[test]
fn an_incomplete_cost_is_a_lower_bound_in_a_comment() {
    let hostile = log(hostile_log());
    let of = |logs: &[&str]| run_with(&[&["summarize", "-f", "comment"], logs].concat()).1;
    let whole = of(&["logs/nightly-denied.jsonl"]);
    assert!(whole.contains("| $0.007968 | 312 |") && !whole.contains("at least"), "{whole}");
    let lacking = of(&["logs/nightly-denied.jsonl", hostile.path().to_str().unwrap()]);
    assert!(lacking.contains("| at least $0.007968 | "), "{lacking}");
}

/// Parses the file of outputs as GitHub does.
fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (equals, here) = (line.find('='), line.find("<<"));
        let (name, value) = match (equals, here) {
            (Some(equals), here) if here.is_none_or(|here| equals < here) => {
                (&line[..equals], line[equals + 1..].to_owned())
            }
            (_, Some(here)) => {
                let end = &line[here + 2..];
                let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
                (&line[..here], value.join("\n"))
            }
            _ => panic!("no output: {line}"),
        };
        outputs.insert(name.to_owned(), value);
    }
    outputs
}

/// Runs with `--github` in a folder: exit code, standard error, the summary of the step, its outputs.
fn run_github(folder: &Path, words: &[&str]) -> (i32, String, String, BTreeMap<String, String>) {
    let (summary, output) = (folder.join("summary.md"), folder.join("output"));
    let mut command = ccstat(&[words, &["--github", "-q"]].concat());
    command.env("GITHUB_STEP_SUMMARY", &summary).env("GITHUB_OUTPUT", &output);
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(stdout, "");
    (code, stderr, fs::read_to_string(summary).unwrap(), outputs(&fs::read_to_string(output).unwrap()))
}

#[test]
fn the_summary_of_a_step_names_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("run`1`.html");
    let page = page.to_str().unwrap();
    for command in ["summarize", "check"] {
        let words = [command, "logs/week", "-o", page];
        let (code, _, summary, _) = run_github(folder.path(), &words);
        assert!(code < 2 && Path::new(page).exists());
        assert!(summary.trim_end().ends_with(&format!("\n\nCharts and all rows: ``{page}``")), "{summary}");
    }
}

#[test]
fn summary_and_outputs_are_appended_to_the_files_of_github() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("summary.md"), "before").unwrap();
    fs::write(folder.path().join("output"), "other=1").unwrap();
    let (code, stderr, summary, outputs) =
        run_github(folder.path(), &["summarize", "logs/nightly-denied.jsonl"]);
    assert_eq!(code, 0);
    assert_eq!(
        stderr,
        "::warning title=Call denied::1 call denied: Bash\n::warning title=Call denied::1 call denied: Write\n"
    );
    let comment = run_with(&["summarize", "logs/nightly-denied.jsonl", "-f", "comment"]).1;
    let (marker, body) = comment.trim_end().split_once('\n').unwrap();
    assert_eq!(marker, "<!-- ccstat -->");
    assert_eq!(summary.trim_end(), format!("before\n{body}"));
    assert_eq!(outputs["comment"], comment.trim_end(), "a value of several lines is read back whole");
    for (name, value) in [
        ("other", "1"),
        ("result", "denied"),
        ("cost_usd", "0.007968"),
        ("cost_complete", "true"),
        ("turns", "3"),
        ("turns_total", "1"),
        ("denials", "2"),
        ("errors", "0"),
        ("calls", "2"),
        ("duration_ms", "409"),
        ("models", "claude-opus-5-5"),
        ("gates", ""),
        ("failed_gates", ""),
    ] {
        assert_eq!(outputs[name], value, "{name}");
    }
}

#[test]
fn the_github_summary_respects_filters() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["summarize", "logs/nightly-denied.jsonl", "--tool", "Bash"];
    let outputs = run_github(folder.path(), &words).3;
    let json: Value = serde_json::from_str(&run_with(&[&words[..], &["--json"]].concat()).1).unwrap();
    assert_eq!(outputs["denials"], json["denials"]["total"].to_string());
    assert_eq!(outputs["denials"], "1");
}

#[test]
fn every_output_is_in_the_help() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = run_github(folder.path(), &["summarize", "logs/nightly-denied.jsonl"]).3;
    let help = run_with(&["summarize", "--help"]).1;
    let listed: BTreeSet<&str> = help
        .lines()
        .skip_while(|line| *line != "Outputs for GitHub:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(listed, outputs.keys().map(String::as_str).collect());
}

/// A denied call of a tool with this name, a failed turn, and lines that are not records.
fn hostile_run(tool: &str, noise: usize) -> String {
    let denial = serde_json::json!({"tool_name": tool, "tool_use_id": "t1", "tool_input": {}});
    let record = serde_json::json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": "s", "uuid": "u",
        "num_turns": 1, "permission_denials": [denial],
    });
    format!("{record}\n{}", "noise\n".repeat(noise))
}

#[test]
fn names_cannot_inject_github_commands() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(hostile_run("a%0A\n::error::b\r\n::set-output name=x::y", 20));
    let (code, stderr, summary, outputs) =
        run_github(folder.path(), &["summarize", log.path().to_str().unwrap()]);
    assert_eq!((code, &*outputs["result"]), (0, "error"));
    let commands: Vec<&str> = stderr.lines().collect();
    assert_eq!(commands[0], "::error title=Turn failed::1 turn failed: error_during_execution");
    assert_eq!(
        commands[1],
        r"::warning title=Call denied::1 call denied: a%250A\u{a}::error::b\u{d}\u{a}::set-output name=x::y"
    );
    assert!(
        commands[2].starts_with("::warning title=Invalid record,file=") && commands[2].contains(",line=2::")
    );
    let last = "::warning title=ccstat::and 12 more, see the summary of the step";
    assert_eq!((commands.len(), commands.last()), (11, Some(&last)));
    assert!(!summary.lines().any(|line| line.starts_with("::")), "{summary}");
}

#[test]
fn a_missing_github_variable_is_reported_and_a_failed_write_ends_with_4() {
    let words = ["summarize", "logs/gateway.jsonl", "-q", "--github"];
    let (code, _, stderr) = run_with(&words);
    assert_eq!(code, 0, "a dry run outside of GitHub");
    assert!(stderr.contains("`GITHUB_OUTPUT`") && stderr.contains("`GITHUB_STEP_SUMMARY`"), "{stderr}");
    let folder = tempfile::tempdir().unwrap();
    let mut command = ccstat(&words);
    command.env("GITHUB_STEP_SUMMARY", folder.path().join("no/summary.md"));
    command.env("GITHUB_OUTPUT", folder.path().join("output"));
    let (code, _, stderr) = run(&mut command);
    assert_eq!(code, 4);
    assert!(stderr.starts_with("ccstat: cannot write `") && stderr.lines().count() == 1, "{stderr}");
    assert!(folder.path().join("output").exists(), "the other file is written");
}
