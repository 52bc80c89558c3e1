//! The README and `docs/` show the real output of the program, and their links work.
//!
//! Every `console` block is run, and every picture is drawn from the output of its command.
//! `TRYCMD=overwrite cargo test --test readme` rewrites the blocks and the pictures.
#![cfg(feature = "cli")]

mod links;
mod pictures;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const CCSTAT: &str = env!("CARGO_BIN_EXE_ccstat");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    let path = root().join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.replace("\r\n", "\n")
}

/// Returns the files of `docs/` with this extension, as paths from the root.
fn docs(extension: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join("docs")).expect("the folder docs");
    let paths = entries.map(|entry| PathBuf::from("docs").join(entry.expect("an entry").file_name()));
    let paths = paths.filter(|path| path.extension().is_some_and(|end| end == extension));
    let mut names: Vec<String> = paths.map(|path| path.to_string_lossy().replace('\\', "/")).collect();
    names.sort();
    names
}

/// Returns the README and the pages of `docs/`.
fn pages() -> Vec<String> {
    let mut pages = docs("md");
    pages.insert(0, "README.md".to_owned());
    pages
}

/// Returns the bodies of the fenced blocks in this language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fences: Vec<&str> = text.split("```").collect();
    let inside = fences.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

/// Returns the program with the settings that all examples share.
fn ccstat(arguments: &[&str]) -> Command {
    let mut command = Command::new(CCSTAT);
    command
        .args(arguments)
        .env("COLUMNS", "80")
        .env("TZ", "UTC")
        .env("CCSTAT_NO_CONFIG", "1")
        .current_dir(root());
    command
}

fn summary(arguments: &[&str]) -> serde_json::Value {
    let output = ccstat(&[&["summarize", "--format", "json"], arguments].concat()).output();
    serde_json::from_slice(&output.expect("the program starts").stdout).expect("one JSON object")
}

#[test]
fn console_blocks_show_what_is_printed() {
    // The blocks about archives begin without one.
    for folder in ["target/claude-archive", "target/lean-archive"] {
        let _ = fs::remove_dir_all(root().join(folder));
    }
    trycmd::TestCases::new()
        .register_bin("ccstat", Path::new(CCSTAT).to_owned())
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("TZ", "UTC")
        .env("CCSTAT_NO_CONFIG", "1")
        .case("README.md")
        .case("docs/*.md");
}

#[test]
fn the_first_command_draws_the_first_picture() {
    let readme = read("README.md");
    let typed = blocks(&readme, "sh")[0].trim_end().strip_prefix("cargo run --release -- ");
    assert!(typed.is_some());
    assert_eq!(pictures::all(&["README.md".to_owned()])[0].command.strip_prefix("ccstat "), typed);
}

#[test]
fn the_jq_example_asks_for_keys_that_exist() {
    let page = read("docs/formats.md");
    let examples: Vec<&str> = blocks(&page, "sh").into_iter().filter(|block| block.contains("jq ")).collect();
    assert_eq!(examples.len(), 1);
    let summary = summary(&["testdata/logs/nightly-denied.jsonl"]);
    let query = examples[0].split('\'').nth(1).expect("a quoted query");
    let paths: Vec<&str> = query.split(' ').filter(|word| word.starts_with('.')).collect();
    assert_eq!(paths.len(), 3);
    for path in paths {
        let value = summary.pointer(&path.replace('.', "/"));
        assert!(value.is_some_and(|value| !value.is_null()), "{path}: {value:?}");
    }
}

#[test]
fn both_pricing_forms_are_shown_as_they_are_and_price_alike() {
    let page = read("docs/cost.md");
    let files = ["testdata/pricing/per-million.json", "testdata/pricing/per-token.json"];
    assert_eq!(blocks(&page, "json"), files.map(read));
    for file in files {
        let summary = summary(&["--pricing", file, "testdata/logs/gateway.jsonl"]);
        assert_eq!(summary["cost"]["total_usd"], 0.014, "{file}");
    }
}

/// The README says how wrong a sum over lines is; both figures come from this recording.
#[test]
fn a_sum_over_lines_is_as_far_off_as_the_readme_says() {
    let log = "testdata/recordings/2.1.325/stream/05-parallel-tools.jsonl";
    let lines = read(log);
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let tokens = lines.filter_map(|line| line["message"]["usage"]["input_tokens"].as_u64());
    let by_line: u64 = tokens.sum();
    let by_response = &summary(&[log])["tokens"]["input"];
    let claim = format!("{by_line} input tokens instead of {by_response}");
    assert!(read("README.md").contains(&claim), "README.md lacks `{claim}`");
}

/// Tables, code, and lines that are one link or picture cannot be wrapped.
#[test]
fn prose_is_wrapped_at_the_width_of_the_code() {
    let rustfmt = read("rustfmt.toml");
    let width = rustfmt.lines().find_map(|line| line.strip_prefix("max_width = ")).expect("a width");
    let width: usize = width.parse().expect("a number");
    for page in pages() {
        let text = read(&page);
        for prose in text.split("```").step_by(2) {
            for line in prose.lines().filter(|line| !line.starts_with(['|', '!'])) {
                assert!(
                    line.chars().count() <= width,
                    "{page} has a line of over {width} characters: {line}"
                );
            }
        }
    }
}
