//! Relative links lead to files and headings that exist.

use std::collections::BTreeMap;

use crate::{docs, pages, read, root};

/// Returns the text without fenced blocks and code in backticks.
fn prose(text: &str) -> String {
    let outside: String = text.split("```").step_by(2).collect();
    outside.split('`').step_by(2).collect::<Vec<_>>().join("x")
}

/// Returns the targets of inline links and pictures.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let rest = prose.split("](").skip(1);
    rest.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned())).collect()
}

/// Returns the anchors that GitHub gives to the headings of a page: lower case, hyphens for spaces, no
/// punctuation, and a number after a repeated heading.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let outside: String = text.split("```").step_by(2).collect();
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    let mut anchors = Vec::new();
    for heading in headings {
        let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let kept = |letter: &char| letter.is_alphanumeric() || "-_".contains(*letter);
        let anchor: String = heading.chars().filter(kept).collect();
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let others = ["ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "RELIABILITY", "SECURITY"];
    let others = others.map(|name| format!("{name}.md"));
    let below = ["packaging/README.md".to_owned(), "fuzz/README.md".to_owned(), "fleet/README.md".to_owned()];
    let mut followed = 0;
    for page in pages().into_iter().chain(others).chain(below) {
        let text = read(&page);
        for target in targets(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
            let path = if file.is_empty() { page.clone() } else { format!("{folder}/{file}") };
            let path = path.trim_start_matches('/');
            assert!(root().join(path).exists(), "{page} links to `{target}`, which does not exist");
            if !anchor.is_empty() {
                let anchors = anchors(&read(path));
                assert!(
                    anchors.iter().any(|known| known == anchor),
                    "{page}: `{target}` is not in {anchors:?}"
                );
            }
            followed += 1;
        }
    }
    assert!(followed > 20, "{followed}");
}

#[test]
fn the_readme_leads_to_every_page() {
    let targets = targets(&read("README.md"));
    for page in docs("md") {
        assert!(targets.contains(&page), "README.md does not link to {page}");
    }
}

#[test]
fn anchors_are_those_of_github() {
    let page = "# A page\n## `run`, in a pipe\n```sh\n# no heading\n```\n## What's 5 % + x_y?\n## A page\n";
    assert_eq!(anchors(page), ["a-page", "run-in-a-pipe", "whats-5---x_y", "a-page-1"]);
}
