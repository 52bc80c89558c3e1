//! The dependencies of ccstat follow `deny.toml`. `cargo deny check` knows more; this needs only cargo.
#![cfg(feature = "cli")]

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use toml::de::{DeTable, DeValue};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the texts of a list in the policy. In a list of tables, they are under `crate`.
fn listed(section: &str, list: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("deny.toml")).expect("a policy");
    let policy = DeTable::parse(&text).expect("a policy that can be read").into_inner();
    let text = |item: &DeValue<'_>| match item {
        DeValue::Table(table) => table["crate"].get_ref().as_str().expect("a name").to_owned(),
        item => item.as_str().expect("a text").to_owned(),
    };
    let items =
        policy[section].get_ref().get(list).and_then(|list| list.get_ref().as_array()).expect("a list");
    items.iter().map(|item| text(item.get_ref())).collect()
}

/// A crate that the program depends on.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    /// Its version, and its source if that is not the registry.
    version: String,
    licence: String,
}

/// Returns the dependencies of the program on this system, without those of tests and benches.
fn packages() -> BTreeSet<Package> {
    let cargo = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--all-features", "--edges", "normal,build"])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let package = |line: &str| {
        let (package, licence) = line.split_once('|').expect("two fields");
        let (name, version) = package.split_once(' ').expect("a name and a version");
        Package { name: name.to_owned(), version: version.to_owned(), licence: licence.to_owned() }
    };
    let text = String::from_utf8(cargo.stdout).expect("a text");
    text.lines().map(package).filter(|package| package.name != env!("CARGO_PKG_NAME")).collect()
}

/// Whether these licences satisfy an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0`.
fn satisfies(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    satisfies_normalized(&words.join(" "), allowed)
}

fn satisfies_normalized(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let ways = parts(expression, " OR ");
    let all = |way: &&str| {
        let needed = parts(way, " AND ");
        needed.iter().all(|one| match one.strip_prefix('(').and_then(|one| one.strip_suffix(')')) {
            Some(inner) => satisfies_normalized(inner, allowed),
            None => allowed.contains(*one),
        })
    };
    ways.iter().any(all)
}

/// Splits an expression at a separator, outside of parentheses.
fn parts<'a>(expression: &'a str, between: &str) -> Vec<&'a str> {
    let depth = |text: &str| text.matches('(').count() - text.matches(')').count();
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in expression.match_indices(between) {
        if depth(&expression[..at]) == 0 {
            parts.push(expression[from..at].trim());
            from = at + between.len();
        }
    }
    parts.push(expression[from..].trim());
    parts
}

#[test]
fn every_licence_is_allowed() {
    let allowed = listed("licenses", "allow");
    let packages = packages();
    assert!(packages.len() > 20, "{}", packages.len());
    for Package { name, licence, .. } in &packages {
        assert!(satisfies(licence, &allowed), "{name}: {licence}");
    }
}

#[test]
fn licence_expressions_are_evaluated() {
    let allowed = BTreeSet::from(["MIT", "Unicode-3.0"].map(str::to_owned));
    for (expression, enough) in [
        ("MIT", true),
        ("Apache-2.0/MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("Apache-2.0 AND MIT", false),
        ("GPL-3.0 OR Apache-2.0", false),
        ("(GPL-3.0 AND MIT) OR (MIT AND Unicode-3.0)", true),
        ("", false),
    ] {
        assert_eq!(satisfies(expression, &allowed), enough, "{expression}");
    }
}

#[test]
fn every_crate_comes_from_the_registry() {
    for Package { name, version, .. } in packages() {
        // Cargo marks a procedural macro in the same place.
        let version = version.trim_end_matches(" (proc-macro)");
        assert!(!version.contains(' '), "{name} {version}");
    }
}

#[test]
fn no_crate_is_duplicated_or_banned() {
    let (banned, skipped) = (listed("bans", "deny"), listed("bans", "skip"));
    let (mut seen, mut unused) = (BTreeSet::new(), skipped.clone());
    for Package { name, version, .. } in packages() {
        assert!(!banned.contains(&name), "{name}");
        let is_old = |skipped: &&String| {
            let (skipped, old) = skipped.split_once('@').expect("a name and a version");
            skipped == name
                && version.strip_prefix(&format!("v{old}")).is_some_and(|rest| rest.starts_with('.'))
        };
        match skipped.iter().find(is_old) {
            Some(skipped) => drop(unused.remove(skipped)),
            None => assert!(seen.insert(name.clone()), "{name} in two versions"),
        }
    }
    assert!(unused.is_empty(), "no longer there: {unused:?}");
}
