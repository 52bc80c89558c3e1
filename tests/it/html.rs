//! Pages: well-formed, complete, harmless and small. `scripts/browser-test` opens them in a browser.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use ccstat::internal::report::REPORTS;
use data_encoding::BASE64;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    foreign::{HOSTILE, hostile_log, poisoned_log},
    formats::{files, stories, words},
    support::{ccstat, log, run, run_with},
};

/// Returns the text between two markers.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
}

fn style(page: &str) -> &str {
    between(page, "<style>", "</style>")
}

fn script(page: &str) -> &str {
    between(page, "<script>", "</script>")
}

fn data(page: &str) -> &str {
    between(page, r#"<script type="application/json" id="data">"#, "</script>")
}

/// Replaces what all pages share, so that a snapshot shows what is its own.
pub(crate) fn own_part(page: &str) -> String {
    let page = page.replace(style(page), "STYLE").replace(script(page), "SCRIPT");
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"").to_owned();
    page.replace(&policy, "POLICY")
}

/// Asserts that a page is well-formed and contains only elements and attributes that do nothing.
fn assert_harmless(what: &str, page: &str) {
    let text = own_part(page).replacen("<!DOCTYPE html>", "", 1).replace(data(page), "");
    let tree = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    let elements: BTreeSet<&str> = "html head meta link title style body header main footer section div h1 h2 p \
        ul li b i code dl dt dd figure figcaption details summary svg desc g rect line text table thead tbody tfoot \
        tr th td script"
        .split_whitespace()
        .collect();
    let attributes: BTreeSet<&str> = "lang charset http-equiv content name rel href class id role tabindex scope \
        title type viewBox preserveAspectRatio aria-label aria-labelledby data-v x y x1 x2 y1 y2 width height colspan \
        text-anchor"
        .split_whitespace()
        .collect();
    let mut ids = BTreeSet::new();
    for node in tree.descendants().filter(roxmltree::Node::is_element) {
        assert!(elements.contains(node.tag_name().name()), "{what}: {node:?}");
        for attribute in node.attributes() {
            assert!(attributes.contains(attribute.name()), "{what}: {attribute:?}");
            assert!(attribute.name() != "href" || attribute.value() == "data:,", "{what}: {attribute:?}");
        }
        assert!(node.attribute("id").is_none_or(|id| ids.insert(id)), "{what}: an id twice");
    }
    assert_eq!(text.matches("<script").count(), 2, "{what}: the data and our own script");
}

/// Adds `--content`, unless it is there.
fn with_content<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let own: &[&str] = if words.contains(&"--content") { &[] } else { &["--content"] };
    [words, own].concat()
}

fn page(words: &[&str]) -> String {
    let (code, stdout, stderr) = run_with(&[words, &["--format", "html"]].concat());
    assert!(stdout.starts_with("<!DOCTYPE html>"), "{words:?}: {code} {stderr}");
    stdout
}

#[test]
fn every_page_is_well_formed_and_harmless() {
    let (hostile, poisoned) = (log(hostile_log()), log(poisoned_log()));
    for spec in REPORTS {
        assert_harmless(spec.name, &page(&words(spec, stories(spec.name))));
        for log in [&hostile, &poisoned] {
            let words = words(spec, &[log.path().to_str().unwrap()]);
            assert_harmless(spec.name, &page(&with_content(&words)));
            assert_harmless(spec.name, &page(&words));
        }
    }
}

#[test]
fn hostile_names_in_the_charts_of_a_period_are_only_shown() {
    let session = log(hostile_session());
    let month = ["--since", "2026-11-01", "--until", "2026-11-30", "--content"];
    let page = page(&[&["overview", session.path().to_str().unwrap()], &month[..]].concat());
    for title in ["by model", "by project", "weekday and hour", "from the cache", "denials", "prompts"] {
        assert!(page.contains(title), "{title}");
    }
    assert_harmless("overview", &page);
}

#[test]
fn the_page_of_a_command_is_that_of_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.html");
    let log = "recordings/2.1.325/stream/36-subagent.jsonl";
    let words = ["run", "-q", "--max-cost", "1", "-o", path.to_str().unwrap(), "--", "cat", log];
    assert_eq!(run_with(&words).0, 0);
    let live = std::fs::read_to_string(path).unwrap();
    let later = page(&["summarize", "--max-cost", "1", log]);
    let charts = |page: &str| -> Vec<String> {
        page.split("<figure").skip(1).map(|figure| between(figure, "<h2>", "</h2>").to_owned()).collect()
    };
    assert_eq!(charts(&live), charts(&later));
    assert!(live.contains("Agents and calls") && live.contains(">Gates</h2>"), "{:?}", charts(&live));
    assert_harmless("run", &live);
}

#[test]
fn the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else() {
    let page = page(&["prices"]);
    let hash = |text: &str| format!("&#39;sha256-{}&#39;", BASE64.encode(&Sha256::digest(text)));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert_eq!(
        policy,
        format!(
            "default-src &#39;none&#39;; style-src {}; script-src {}; img-src data:; base-uri &#39;none&#39;; form-action \
             &#39;none&#39;",
            hash(style(&page)),
            hash(script(&page))
        )
    );
    assert!(style(&page).is_ascii() && script(&page).is_ascii());
    for outside in ["http:", "https:", "//", "url(", "@import", "eval(", "innerHTML"] {
        let script = script(&page).replace("// ", "");
        assert!(!style(&page).contains(outside) && !script.contains(outside), "{outside}");
    }
}

#[test]
fn a_page_contains_the_data_that_programs_read() {
    for spec in REPORTS {
        let words = words(spec, stories(spec.name));
        let files = files(spec.name, &words);
        let embedded: Value = serde_json::from_str(data(&files.text("html"))).unwrap();
        let written: Value = serde_json::from_str(&files.text("json")).unwrap();
        assert_eq!(embedded, written, "{}", spec.name);
    }
}

#[test]
fn a_page_contains_text_of_the_log_only_on_request() {
    let command =
        json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo SECRET"}});
    let usage = json!({"input_tokens": 5, "output_tokens": 5});
    let lines = [
        json!({"type": "user", "sessionId": "s", "uuid": "u1", "timestamp": "2026-11-15T10:00:00Z",
            "message": {"role": "user", "content": "SECRET prompt"}}),
        json!({"type": "assistant", "sessionId": "s", "uuid": "u2", "timestamp": "2026-11-15T10:00:05Z",
            "message": {"id": "m1", "model": "claude-opus-5-5", "role": "assistant", "content": [command], "usage": usage}}),
        json!({"type": "user", "sessionId": "s", "uuid": "u3", "timestamp": "2026-11-15T10:00:09Z",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "SECRET"}]}}),
    ];
    let text = lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n");
    let log = log(text);
    let path = log.path().to_str().unwrap();
    for words in [&["summarize", path][..], &["show", "latest", path], &["sessions", path]] {
        assert!(!page(words).contains("SECRET"), "{words:?}");
        let shown = page(&[words, &["--content"]].concat());
        assert!(words[0] != "sessions" || shown.contains("SECRET"), "{words:?}");
    }
}

#[test]
fn a_page_of_many_sessions_is_small_and_says_what_it_leaves_out() {
    let mut text = String::new();
    for at in 0..3000 {
        let line = json!({"type": "assistant", "session_id": format!("{at:08x}-0f6b-4c52-9a53-0d6d3f6f5a01"),
            "cwd": format!("/home/dev/{}", "long".repeat(100)), "uuid": format!("u{at}"),
            "timestamp": format!("2026-{:02}-{:02}T10:00:00Z", 1 + at % 12, 1 + at % 28),
            "message": {"id": format!("m{at}"), "model": format!("model-{}", at % 40), "content": [],
                "usage": {"input_tokens": 1, "output_tokens": 1}}});
        let _ = writeln!(text, "{line}");
    }
    let log = log(text);
    let page = page(&["sessions", log.path().to_str().unwrap()]);
    assert!(page.len() < 3_000_000, "{}", page.len());
    let rows = page.matches("<tr>").count();
    assert!((500..1100).contains(&rows), "{rows}");
    assert!(page.contains(" more rows") && page.contains("--limit 0"), "it says what is left out");
    let embedded: Value = serde_json::from_str(data(&page)).unwrap();
    assert!(embedded["notes"].to_string().contains("more rows"), "{}", embedded["notes"]);
    assert_harmless("sessions", &page);
}

#[test]
fn a_page_is_written_by_its_extension() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.html", "a.HTM", "html=a.x"] {
        let path = name.split_once('=').map_or(name, |(_, path)| path);
        let target = name.replace(path, folder.path().join(path).to_str().unwrap());
        assert_eq!(run_with(&["summarize", "logs/week", "-q", "-o", &target]).0, 0);
        let written = std::fs::read_to_string(folder.path().join(path)).unwrap();
        assert_eq!(written, page(&["summarize", "logs/week"]), "{name}");
    }
}

/// One session with hostile texts as the names of tools, models and subagents, and as prompts and commands.
fn hostile_session() -> String {
    let mut text = String::new();
    for (at, name) in HOSTILE.iter().enumerate() {
        let time = |second: usize| format!("2026-11-{:02}T10:{at:02}:{second:02}Z", 1 + at % 28);
        let input = json!({"command": name, "description": name, "subagent_type": name});
        let call = json!({"type": "tool_use", "id": format!("t{at}"), "name": name, "input": input});
        let usage = json!({"input_tokens": 1000 + at, "output_tokens": 100, "cache_read_input_tokens": 500});
        let result = json!({"type": "tool_result", "tool_use_id": format!("t{at}"), "is_error": at % 3 == 0, "content": name});
        for (number, second, role, content) in [
            (0, 1, "user", json!(name)),
            (1, 9, "assistant", json!([call])),
            (2, 20, "user", json!([result])),
        ] {
            let line = json!({"type": role, "sessionId": "s", "uuid": format!("u{at}-{number}"), "cwd": name,
                "version": name, "timestamp": time(second), "message": {"id": format!("m{at}"), "role": role,
                "model": if at % 2 == 0 { "claude-opus-5-5" } else { "claude-haiku-5-5" }, "content": content, "usage": usage}});
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// Writes the pages that `scripts/browser-test` opens, into the folder that `PAGES` names.
#[test]
#[ignore = "for scripts/browser-test"]
#[expect(clippy::disallowed_methods, reason = "the script names the folder")]
fn pages_for_the_browser() {
    let folder = std::env::var_os("PAGES").expect("the folder for the pages");
    let folder = Path::new(&folder);
    let write = |name: String, words: &[&str]| {
        let path = folder.join(name + ".html");
        let (code, _, stderr) = run(ccstat(words).arg("-q").arg("-o").arg(&path));
        assert!(path.exists(), "{words:?}: {code} {stderr}");
    };
    let hostile = log(poisoned_log() + &hostile_log());
    for spec in REPORTS {
        write(spec.name.to_owned(), &words(spec, stories(spec.name)));
        let words = words(spec, &[hostile.path().to_str().unwrap()]);
        write(format!("hostile-{}", spec.name), &with_content(&words));
    }
    write(
        "run".to_owned(),
        &["summarize", "recordings/2.1.325/transcript/36-subagent", "--fail-on", "denial"],
    );
    write("runs".to_owned(), &["check", "recordings", "--max-cost", "0.02"]);
    let live = folder.join("live.html");
    let run_live = ["run", "-q", "--fail-on", "denial", "-o", live.to_str().unwrap(), "--"];
    let (code, _, stderr) =
        run(&mut ccstat(&[&run_live[..], &["cat", "recordings/2.1.325/stream/36-subagent.jsonl"]].concat()));
    assert!(code == 0 && live.exists(), "{stderr}");
    write("period".to_owned(), &["overview", "logs/week", "--since", "2026-11-10", "--until", "2026-11-12"]);
    let session = log(hostile_session());
    let session = session.path().to_str().unwrap();
    let month = ["--since", "2026-11-01", "--until", "2026-11-30"];
    write("hostile-period".to_owned(), &[&["overview", session, "--content"], &month[..]].concat());
    write("hostile-session".to_owned(), &["show", "latest", session, "--content"]);
    write("hostile-run".to_owned(), &["summarize", session, "--content"]);
    write("hostile-days".to_owned(), &["cost", "--by", "day,tool", session, "--content"]);
}
