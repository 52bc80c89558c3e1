//! Checks the repository: its module graph, its documents and its files.
#![cfg(feature = "cli")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns all files below a folder, except those of git and of the compiler.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        match () {
            () if name == "target" || name == ".git" => {}
            () if path.is_dir() => found.extend(files(&path)),
            () => found.push(path),
        }
    }
    found.sort();
    found
}

/// Returns a path relative to the repository, with slashes.
fn name(path: &Path) -> String {
    path.strip_prefix(root()).expect("a path of this repository").to_string_lossy().replace('\\', "/")
}

/// Returns the files of `src/`, by name.
fn sources() -> BTreeMap<String, String> {
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a text");
    files(&root().join("src")).iter().map(|path| (name(path), text(path))).collect()
}

/// Returns the texts between backticks, outside of fenced blocks.
fn spans(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
}

/// Returns the contents of fenced blocks.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```").skip(1).step_by(2).collect()
}

// The module graph.

/// Returns the paths below `crate::` that a source names, with the braces of `use` expanded.
fn edges(source: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code: String = code.join(" ").chars().filter(|letter| *letter != ' ').collect();
    let mut edges = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        take(&code[at + start.len()..], "", &mut edges);
    }
    edges
}

/// Takes one path or one pair of braces from the front, and returns the rest of the text.
fn take<'a>(text: &'a str, before: &str, edges: &mut Vec<String>) -> &'a str {
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.is_empty() && !rest.starts_with('}') {
            let left = take(rest, before, edges);
            // Skip anything unexpected, so that the loop ends.
            rest = if left.len() == rest.len() { &rest[1..] } else { left };
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        return rest.strip_prefix('}').unwrap_or(rest);
    }
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let path = if before.is_empty() { word.to_owned() } else { format!("{before}::{word}") };
    match rest.strip_prefix("::") {
        Some(deeper) => take(deeper, &path, edges),
        None => {
            edges.push(path);
            rest
        }
    }
}

#[test]
fn edges_are_read_from_every_form_of_use() {
    let source = "//! [`crate::nothing`]\nuse crate::{\n    a::{self, B},\n    c,\n};\nuse crate::d::{E, f::G as H};\nlet x: crate::i::J = 0;";
    assert_eq!(edges(source), ["a::self", "a::B", "c", "d::E", "d::f::GasH", "i::J"]);
}

/// Returns the table of `ARCHITECTURE.md`: each module with the others it may import.
fn allowed_imports() -> BTreeMap<String, Vec<String>> {
    let page = read("ARCHITECTURE.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("| module | may know |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let known = spans(cells[2]).into_iter().map(str::to_owned).collect();
            (cells[1].trim_matches('`').to_owned(), known)
        })
        .collect()
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let table = allowed_imports();
    for (file, source) in sources() {
        let module = file["src/".len()..].split(['/', '.']).next().expect("a module").to_owned();
        if ["lib", "main", "api", "cli"].contains(&&*module) {
            continue; // entry points may import everything
        }
        let known =
            table.get(&module).unwrap_or_else(|| panic!("{file}: `{module}` has no row in the table"));
        for edge in edges(&source) {
            let covers = |may: &String| edge == *may || edge.starts_with(&format!("{may}::"));
            let own = edge.split("::").next() == Some(&module);
            assert!(own || known.iter().any(covers), "{file} must not know `{edge}`; it may know {known:?}");
        }
    }
}

#[test]
fn the_table_of_modules_is_unchanged() {
    let table = allowed_imports();
    let row = |module: &str| table[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert!(row("input").is_empty() && row("measure").is_empty() && row("permission").is_empty());
    assert_eq!(row("event"), ["measure"]);
    assert_eq!(row("facts"), ["event", "measure", "input::Place", "input::SourceId"]);
    assert_eq!(row("report"), ["facts", "measure", "permission", "input::SourceId"]);
    assert_eq!(row("render"), ["report", "measure"]);
    assert_eq!(row("error"), ["measure", "report::UnknownColumn"]);
    assert_eq!(row("scan"), ["input", "event", "facts"]);
    assert_eq!(row("redact"), ["input", "event"]);
    assert!(table.values().flatten().all(|known| known != "cli"), "nothing imports the program");
}

// The documents.

/// Returns the pages for users: the README and all of `docs/`.
fn manual() -> Vec<String> {
    let docs = files(&root().join("docs"));
    let pages = docs.iter().map(|path| name(path)).filter(|path| path.ends_with(".md"));
    std::iter::once("README.md".to_owned()).chain(pages).collect()
}

#[test]
fn the_version_is_in_the_changelog() {
    let heading = format!("## {}", env!("CARGO_PKG_VERSION"));
    let changelog = read("CHANGELOG.md");
    assert!(changelog.lines().any(|line| line == heading || line.starts_with(&format!("{heading} "))));
}

#[test]
fn files_that_the_documents_name_exist() {
    let others = ["ARCHITECTURE.md", "CONTRIBUTING.md", "RELIABILITY.md", "SECURITY.md"].map(str::to_owned);
    for page in manual().into_iter().chain(others) {
        for span in spans(&read(&page)) {
            let is_path = span.contains('.') && !span.contains([' ', '*', '<', '~', '…']);
            let folders = ["", "src/"];
            let begins =
                ["src/", "tests/", "testdata/", ".ci/", "docs/", "input/", "event/", "facts/", "measure/"];
            let begins =
                begins.iter().chain(&["report/", "render/", "redact/", "cli/", "benches/", "examples/"]);
            if is_path && begins.into_iter().any(|begin| span.starts_with(begin)) {
                let exists = folders.iter().any(|folder| root().join(folder).join(span).exists());
                assert!(exists, "{page} names `{span}`");
            }
        }
    }
}

#[test]
fn tests_and_soak_steps_named_in_reliability_exist() {
    let page = read("RELIABILITY.md");
    let tests = files(&root().join("tests")).into_iter().chain(files(&root().join("src")));
    let tests: String = tests
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| fs::read_to_string(path).expect("a text"))
        .collect();
    let is_test = |span: &&str| {
        span.matches('_').count() > 2 && span.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let named: Vec<&str> = spans(&page).into_iter().filter(is_test).collect();
    assert!(named.len() > 50, "{}", named.len());
    for test in named {
        assert!(tests.contains(&format!("fn {test}(")), "`{test}`");
    }
    let soak = read("scripts/soak");
    for (_, rest) in page.match_indices("soak: ").map(|(at, word)| page.split_at(at + word.len())) {
        let step: String = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        assert!(step == "NAME" || soak.contains(&format!("step_{step}()")), "there is no step `{step}`");
    }
}

/// A script that is lost, or that nobody documents, is noticed here.
#[test]
fn the_architecture_lists_every_script() {
    let page = read("ARCHITECTURE.md");
    let row = page.lines().find(|line| line.starts_with("| `scripts` |")).expect("a row for scripts");
    let named: BTreeSet<&str> = row.split('`').skip(3).step_by(2).collect();
    let files = fs::read_dir(root().join("scripts")).unwrap();
    let files: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let scripts: BTreeSet<&str> =
        files.iter().map(String::as_str).filter(|name| !name.contains('.')).collect();
    assert_eq!(named, scripts);
}

/// `scripts/cross` skips some tests under qemu, by the beginning of their names.
#[test]
fn tests_that_cross_skips_exist() {
    let script = read("scripts/cross");
    let list = script.split("declare -A emulated=(").nth(1).and_then(|rest| rest.split("\n)").next());
    let names =
        list.expect("a list").lines().filter_map(|line| line.trim().strip_prefix('[')?.split(']').next());
    let names: Vec<&str> = names.collect();
    assert!(!names.is_empty());
    for name in names {
        let (module, test) = name.split_once("::").expect("a module");
        let source = read(&format!("tests/it/{module}.rs"));
        assert!(source.contains(&format!("fn {test}")), "`{name}` of scripts/cross");
    }
}

fn help(arguments: &[&str]) -> String {
    let asked: &[&str] = if arguments.is_empty() { &["help", "all"] } else { &["--help"] };
    let output = Command::new(env!("CARGO_BIN_EXE_ccstat")).args(arguments).args(asked).output();
    String::from_utf8(output.expect("the program starts").stdout).expect("text")
}

/// Returns the commands that `ccstat --help` lists, by group.
fn commands() -> Vec<String> {
    let help = help(&[]);
    let list = help.lines().skip_while(|line| !line.starts_with("Usage:")).skip(1);
    let commands = list.take_while(|line| *line != "Options:").filter(|line| line.starts_with("  "));
    commands.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Returns the invocations of the program on a page: the words after its name.
fn invocations(page: &str) -> Vec<Vec<String>> {
    let shown = |block: &&str| block.starts_with("console\n");
    let (shown, typed): (Vec<&str>, Vec<&str>) = blocks(page).into_iter().partition(shown);
    // A typo is shown with its exit code.
    let is_meant = |pair: &&[&str]| pair[0].starts_with("$ ") && pair[1] != "? 2";
    let meant = |block: &str| {
        let lines: Vec<&str> = block.lines().collect();
        lines.windows(2).filter(is_meant).map(|pair| pair[0].to_owned()).collect::<Vec<_>>()
    };
    let shown: Vec<String> = shown.into_iter().flat_map(meant).collect();
    let shown = shown.iter().map(String::as_str);
    let code = typed.into_iter().flat_map(str::lines).chain(shown).chain(spans(page));
    let calls = code.filter_map(|line| line.split("ccstat ").nth(1));
    // A command in JSON ends with a quote.
    calls.map(|call| call.split([' ', '|', '"']).map(str::to_owned).collect()).collect()
}

#[test]
fn commands_formats_and_options_that_the_pages_name_exist() {
    let commands = commands();
    assert!(commands.len() > 3, "{commands:?}");
    let everything: String = commands.iter().map(|name| help(&[name])).collect();
    let everything = everything + &help(&["permissions", "test"]);
    // `--live=plain` is `--live[=<HOW>]` in the help.
    let has_flag = |flag: &str| {
        let name = flag.split('=').next();
        everything.split([' ', '\n', ',']).any(|word| word.split(['=', '[']).next() == name)
    };
    let mut total = 0;
    for page in manual() {
        let text = read(&page);
        let invocations = invocations(&text);
        total += invocations.len();
        for words in &invocations {
            // A log in place of a command is summarized.
            let is_log = words[0].ends_with(".jsonl");
            let is_command = is_log || words[0] == "help" || commands.contains(&words[0]);
            assert!(is_command || words[0].starts_with("--"), "{page}: no command `{}`", words[0]);
            for pair in words.windows(2).filter(|pair| pair[0] == "--format") {
                assert!(everything.contains(&format!("- {}:", pair[1])), "{page}: no format `{}`", pair[1]);
            }
        }
        // Words after `--` belong to another program.
        let words = invocations.iter().flat_map(|words| words.iter().take_while(|word| *word != "--"));
        let spans = spans(&text);
        let named = spans.iter().filter_map(|span| span.split(' ').next());
        for flag in words.map(String::as_str).chain(named).filter(|flag| flag.len() > 2) {
            assert!(!flag.starts_with("--") || has_flag(flag), "{page}: no option `{flag}`");
        }
    }
    assert!(total > 50, "{total}");
}

#[test]
fn every_command_is_in_the_guide() {
    let invocations = invocations(&read("docs/guide.md"));
    for command in commands() {
        assert!(invocations.iter().any(|words| words[0] == command), "`ccstat {command}` is missing");
    }
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    let readme = read("README.md");
    let lines =
        blocks(&readme).into_iter().filter_map(|block| block.strip_prefix("sh\n")).flat_map(str::lines);
    let tests: Vec<&str> = lines.filter(|line| line.starts_with("cargo test")).collect();
    assert_eq!(tests.len(), 1, "one command runs all tests");
    assert!(read(".ci/run").lines().any(|line| line == format!("run {}", tests[0])));
}

// The files.

#[test]
fn source_files_have_at_most_500_lines() {
    for (file, source) in sources() {
        let lines = source.lines().count();
        assert!(lines <= 500, "{file} has {lines} lines, cut it at a seam");
    }
}

/// `Cargo.toml` denies `unsafe`; a file that uses it expects the lint.
#[test]
fn unsafe_code_is_only_in_the_listed_files() {
    let files: Vec<String> = sources()
        .into_iter()
        .filter(|(_, source)| source.contains("expect(unsafe_code") || source.contains("allow(unsafe_code"))
        .map(|(file, _)| file)
        .collect();
    let kernels =
        ["event/skim/kernel/neon.rs", "event/skim/kernel/x86.rs", "event/skim/string_index/reference.rs"];
    let expected = ["cli/windows.rs"].into_iter().chain(kernels).map(|file| format!("src/{file}"));
    assert_eq!(files, expected.collect::<Vec<_>>());
}

#[test]
fn no_file_holds_a_path_of_one_machine() {
    for path in files(root()) {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
        for folder in ["root", "work"].map(|folder| format!("/{folder}")) {
            for (at, _) in text.match_indices(&folder) {
                let joins = |letter: char| letter.is_alphanumeric() || "_-.~*".contains(letter);
                let begins = !text[..at].ends_with(joins);
                let ends = !text[at + folder.len()..].starts_with(|letter: char| letter.is_alphanumeric());
                assert!(!(begins && ends), "{} holds `{folder}`", name(&path));
            }
        }
    }
}
