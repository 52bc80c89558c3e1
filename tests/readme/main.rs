//! What the README shows is what the program prints.
//!
//! Every `console` block is run; `TRYCMD=overwrite cargo test --test readme` writes the blocks anew.
#![cfg(feature = "cli")]

use std::{fs, path::Path, process::Command};

const CCSTAT: &str = env!("CARGO_BIN_EXE_ccstat");

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The bodies of the fenced blocks in this language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fences: Vec<&str> = text.split("```").collect();
    let inside = fences.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

fn summary(arguments: &[&str]) -> serde_json::Value {
    let output = Command::new(CCSTAT)
        .args(["summarize", "--format", "json"])
        .args(arguments)
        .env("CCSTAT_NO_CONFIG", "1")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn console_blocks_show_what_is_printed() {
    trycmd::TestCases::new()
        .register_bin("ccstat", Path::new(CCSTAT).to_owned())
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("TZ", "UTC")
        .env("CCSTAT_NO_CONFIG", "1")
        .case("README.md");
}

#[test]
fn the_first_block_is_what_the_first_command_prints() {
    let readme = read("README.md");
    let shown = blocks(&readme, "console")[0].lines().next().and_then(|line| line.strip_prefix("$ ccstat "));
    let typed = blocks(&readme, "sh")[0].trim_end().strip_prefix("cargo run --release -- ");
    assert!(typed.is_some());
    assert_eq!(shown, typed);
}

#[test]
fn the_jq_example_asks_for_keys_that_exist() {
    let readme = read("README.md");
    let examples: Vec<&str> =
        blocks(&readme, "sh").into_iter().filter(|block| block.contains("jq ")).collect();
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
    let readme = read("README.md");
    let files = ["testdata/pricing/per-million.json", "testdata/pricing/per-token.json"];
    assert_eq!(blocks(&readme, "json"), files.map(read));
    for file in files {
        let summary = summary(&["--pricing", file, "testdata/logs/gateway.jsonl"]);
        assert_eq!(summary["cost"]["total_usd"], 0.014, "{file}");
    }
}
