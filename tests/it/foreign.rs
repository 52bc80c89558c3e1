//! Hostile text: text from a log is always shown and never interpreted, in any field and any format.

use std::ffi::OsStr;

use serde_json::{Value, json};

use crate::{
    formats::{agree, formats, words, written},
    plain,
    support::{ccstat, log, run, run_with, testdata},
};
use ccstat::internal::report::REPORTS;

/// Texts that something may interpret.
pub(crate) const HOSTILE: &[&str] = &[
    // By a spreadsheet.
    r#"=cmd|' /C calc'!A0"#,
    "+1",
    "@SUM(1)",
    "-2+3",
    "\t=1",
    // By a parser of cells and rows.
    "a,b;\"c\"\td\ne\r",
    "| a | b |",
    "a\\|b\\\\",
    "\"} 1\nccstat_owned{x=\"",
    // By Markdown and HTML.
    "<script>alert(1)</script>",
    "]]></system-out><testcase name='owned'/>",
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "https://evil.example www.evil.example evil@evil.example",
    "**bold** _it_ `code` ~~gone~~ &lt; $x$",
    "# head",
    "</details><img src=x onerror=alert(1)>",
    "\"'><svg/onload=document.title='owned'>",
    "</script><!--<script>document.title='owned'</script>",
    "</style></title></desc></svg><script>document.title='owned'</script>",
    "' onmouseover='document.title=\"owned\"' x='",
    // By a terminal, or misread by people.
    "\u{1b}[31mred\u{7}\u{9b}2J\u{1b}]0;owned\u{7}",
    "\u{202e}txt.exe\u{2066}\u{200b}\u{200d}\u{feff}",
    "\u{301}\u{301}z\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}",
    "unseen\u{3164}\u{e0041}\u{ad}\u{2060}\u{fe00}",
    "\u{8}\u{8}\u{8}over\u{d}written\u{b}\u{c}\u{85}\u{2028}",
    "{{x}} %s ${x} \u{0}",
    // By the log of a build.
    "::error file=a,line=1::owned%0A::add-mask::x",
    "\n::stop-commands::x\r\n ::debug::y",
    "two ::error::words",
    "x##[error]owned",
    "##vso[task.setvariable variable=x]owned",
    "##teamcity[buildStatus text='owned']",
];

/// A log with each of them as the name of a tool, a model and a session.
pub(crate) fn hostile_log() -> String {
    let line = |(at, name): (usize, &&str)| {
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        let call = json!({"type": "tool_use", "id": format!("t{at}"), "name": name});
        json!({
            "type": "assistant", "session_id": name, "uuid": format!("u{at}"),
            "message": {"id": format!("m{at}"), "model": name, "content": [call], "usage": usage},
        })
        .to_string()
            + "\n"
    };
    let mut log: String = HOSTILE.iter().enumerate().map(line).collect();
    log += &json!({"type": HOSTILE[3], "subtype": HOSTILE[0]}).to_string();
    log
}

/// Keys that decide the kind and the time of a record: with other values the record would not be read.
const STRUCTURE: &[&str] = &["type", "subtype", "role", "operation", "timestamp", "behavior", "status"];

/// Replaces every text of a record by hostile text. Ids keep a unique part, so that records still match.
fn poison(key: &str, value: &mut Value, next: &mut dyn Iterator<Item = &'static str>) {
    match value {
        Value::String(text) if !STRUCTURE.contains(&key) => {
            let is_identity = key.to_lowercase().ends_with("id");
            *text = if is_identity {
                let at = text.bytes().map(usize::from).sum::<usize>() % HOSTILE.len();
                format!("{}{text}", HOSTILE[at])
            } else {
                next.next().unwrap().to_owned()
            };
        }
        Value::Array(values) => values.iter_mut().for_each(|value| poison(key, value, next)),
        Value::Object(members) => {
            // The key is itself a name: of a model, a file, a tool.
            if matches!(key, "modelUsage" | "model_usage" | "input" | "answers") {
                let named = std::mem::take(members);
                members.extend(named.into_iter().map(|(key, value)| (key + next.next().unwrap(), value)));
            }
            members.iter_mut().for_each(|(key, value)| poison(key, value, next));
        }
        _ => {}
    }
}

/// A log with records of every kind, and with runs for every report, with hostile text in every field.
pub(crate) fn poisoned_log() -> String {
    let recorded = |name: &str| {
        plain::listing(&testdata("recordings/2.1.325/stream")).into_iter().filter({
            let name = name.to_owned();
            move |path| path.file_name().unwrap().to_string_lossy().contains(&name)
        })
    };
    let files = ["denied", "hook", "mcp", "task", "subagent", "question", "retry"]
        .iter()
        .flat_map(|name| recorded(name));
    let mut next = HOSTILE.iter().copied().cycle();
    let mut log = String::new();
    for path in plain::listing(&testdata("kinds")).into_iter().chain(files) {
        if path.extension() == Some(OsStr::new("jsonl")) {
            for mut record in plain::records(&path) {
                poison("", &mut record, &mut next);
                log += &format!("{record}\n");
            }
        }
    }
    log
}

/// Whether a terminal interprets it, it changes the text direction, or it is invisible.
fn is_harmful(letter: char) -> bool {
    (letter.is_control() && letter != '\n')
        || matches!(letter,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{3164}' | '\u{fe00}' | '\u{feff}' | '\u{e0041}')
}

/// Asserts that a terminal, a person's eye or the log of a build interprets nothing in it.
fn is_only_text(what: &str, text: &str) {
    let harm: Vec<char> = text.chars().filter(|&letter| is_harmful(letter)).collect();
    assert!(harm.is_empty(), "{what}: {harm:?}\n{text}");
    assert!(!text.contains("\u{304}\u{305}\u{306}"), "{what}: too many marks\n{text}");
    for line in text.lines() {
        let begins = line.trim_start();
        assert!(!begins.starts_with("::") && !begins.starts_with('\u{301}'), "{what}: {line}");
        assert!(
            ["##[", "##vso[", "##teamcity["].iter().all(|command| !line.contains(command)),
            "{what}: {line}"
        );
    }
}

#[test]
fn hostile_text_in_any_field_is_escaped_in_every_format() {
    for text in [hostile_log(), poisoned_log()] {
        let log = log(text);
        let path = log.path().to_str().unwrap();
        for spec in REPORTS.iter().filter(|spec| spec.reads_logs()) {
            let (_, written) = written(spec.name, &words(spec, &[path]));
            agree(spec.name, &written);
            for cell in written.csv.iter().flatten() {
                assert!(!cell.starts_with(['=', '+', '@', '\t']), "{cell}");
                assert!(!cell.starts_with('-') || cell.parse::<f64>().is_ok(), "{cell}");
            }
            is_plain_markdown(&written.markdown);
            for format in formats(spec.name) {
                let (_, stdout, stderr) = run_with(&[&words(spec, &[path])[..], &["-f", &format]].concat());
                let shown = if format == "tsv" { stdout.replace('\t', " ") } else { stdout };
                is_only_text(&format!("{} {format}", spec.name), &shown);
                is_only_text(&format!("{} {format}", spec.name), &stderr);
            }
        }
    }
}

#[test]
fn hostile_text_is_escaped_on_a_narrow_screen_with_colours() {
    let log = log(poisoned_log());
    for spec in REPORTS.iter().filter(|spec| spec.reads_logs()) {
        for width in ["40", "80"] {
            let mut command = ccstat(&words(spec, &[log.path().to_str().unwrap()]));
            let (_, stdout, _) = run(command.args(["--color", "always"]).env("COLUMNS", width));
            is_only_text(spec.name, &without_paint(&stdout));
        }
    }
}

/// Removes our own colours from a text: `ESC [ numbers m`.
fn without_paint(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| {
        let (paint, rest) = piece.split_once('m').unwrap_or_else(|| panic!("no paint: {piece:?}"));
        assert!(paint.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{paint:?}");
        plain + rest
    })
}

#[cfg(unix)]
#[test]
fn hostile_file_names_are_escaped_in_every_format() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = [
        b"evil\x1b[31m\xe2\x80\xae\n::error::x.jsonl",
        b"=1+1,\"|<b>.jsonl",
        b"not-utf8-\xff\xfe-##[error].jsonl",
        b"::error::first.jsonl",
    ];
    for name in names {
        std::fs::write(folder.path().join(OsStr::from_bytes(name)), hostile_log() + "\n{\"type\":\n[]\n")
            .unwrap();
    }
    for spec in REPORTS.iter().filter(|spec| spec.reads_logs() && spec.name != "diff") {
        for format in formats(spec.name) {
            // Inside of the folder, so that names come first.
            let mut command = ccstat(&[&words(spec, &["."])[..], &["-f", &format]].concat());
            let (_, stdout, stderr) = run(command.current_dir(folder.path()));
            let shown = if format == "tsv" { stdout.replace('\t', " ") } else { stdout };
            is_only_text(&format!("{} {format}", spec.name), &shown);
            is_only_text(&format!("{} {format}", spec.name), &stderr);
        }
    }
}

#[test]
fn the_name_of_a_missing_file_is_escaped() {
    for flags in [&["summarize"][..], &["summarize", "--json"], &["summarize", "--strict"]] {
        let (_, stdout, stderr) = run_with(&[flags, &["missing\x1b]0;x\x07\n::error::y.jsonl"]].concat());
        is_only_text("missing", &stdout);
        is_only_text("missing", &stderr);
        assert!(stderr.contains("1b"), "it is shown, escaped: {stderr}");
    }
}

#[test]
fn printed_text_is_escaped() {
    let said: Vec<Value> = HOSTILE.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let line = json!({"type": "assistant", "session_id": "s", "message": {"id": "m", "content": said}});
    let (_, stdout, stderr) = run(ccstat(&["summarize", "--print", "text"]).write_stdin(format!("{line}\n")));
    assert!(stdout.contains("owned"), "{stdout}");
    is_only_text("text", &stdout);
    is_only_text("report", &stderr);
}

#[test]
fn junit_of_hostile_runs_is_well_formed() {
    let log = log(poisoned_log());
    let words =
        ["check", "--max-cost", "0", "--fail-on", "denial", "-f", "junit", log.path().to_str().unwrap()];
    let (_, xml, _) = run_with(&words);
    let tree = roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let known = ["testsuites", "testsuite", "testcase", "failure", "error", "system-out"];
    let names =
        tree.descendants().filter(roxmltree::Node::is_element).map(|node| node.tag_name().name().to_owned());
    assert!(names.clone().count() > 10);
    names.for_each(|name| assert!(known.contains(&&*name), "{name}"));
}

#[test]
fn json_round_trips_a_hostile_name() {
    let log = log(hostile_log());
    let path = log.path().to_str().unwrap();
    let stdout = run_with(&["summarize", "--json", path]).1;
    let report: Value = serde_json::from_str(&stdout).unwrap();
    for name in HOSTILE {
        assert_eq!(report["tools"]["by_name"][name]["calls"], 1, "{name:?}");
    }
}

/// Removes inline code from a line: a run of backticks up to the next run of the same length.
fn without_commands(line: &str) -> String {
    let mut plain = line.to_owned();
    while let Some(at) = plain.find("`ccstat ").or_else(|| plain.find("` ccstat ")) {
        let from = plain[..at].trim_end_matches('`').len();
        let fence = "`".repeat(at + 1 - from);
        let inside = &plain[at + 1..];
        let mut ends = inside.match_indices(&fence).map(|(end, _)| end);
        let whole =
            |end: &usize| !inside[..*end].ends_with('`') && !inside[end + fence.len()..].starts_with('`');
        let end = ends.find(whole).unwrap_or_else(|| panic!("a command that does not end: {line}"));
        plain.replace_range(from..at + 1 + end + fence.len(), "");
    }
    plain
}

/// Asserts that no markup is left after removing escapes and our own markup.
pub(crate) fn is_plain_markdown(markdown: &str) {
    let ours = ["<!-- -->", "**"];
    for line in markdown.lines() {
        let mut plain = String::new();
        let line = &*without_commands(line.trim_start_matches("- "));
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter == '\\' {
                letters.next();
            } else {
                plain.push(letter);
            }
        }
        assert!(
            !plain.contains("https://") && !plain.contains("http://") && !plain.contains("www."),
            "{line}"
        );
        let plain = ours.iter().fold(plain, |plain, ours| plain.replace(ours, ""));
        assert!(!plain.contains(['<', '>', '[', ']', '*', '`', '~']), "{line}");
    }
}
