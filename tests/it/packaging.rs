//! The packages and the GitHub Action, without GitHub: their files agree, and the scripts work with
//! environment files in a temporary folder.

#![expect(clippy::disallowed_methods, reason = "reads whether this is CI and which programs are installed")]
#![expect(clippy::print_stderr, reason = "prints which tests were skipped")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{ccstat, run, run_with, testdata};

const NAME: &str = env!("CARGO_PKG_NAME");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether these programs are installed. CI requires them; elsewhere the test is skipped without them.
fn has(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        let check = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program]).output();
        !check.is_ok_and(|output| output.status.success())
    });
    missing.is_none_or(|missing| left_out(&format!("{missing} is not installed")))
}

fn left_out(why: &str) -> bool {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("left out: {why}");
    false
}

// The files.

/// Returns the rows of packaging/targets: target, runner, platform of Node.js, machine of GitHub.
fn targets() -> Vec<[String; 4]> {
    let rows = read("packaging/targets");
    let rows = rows.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("four cells: {cells:?}"))
    })
    .collect()
}

#[test]
fn package_files_agree_with_cargo_toml_and_do_not_repeat_its_version() {
    assert!(read("packaging/python/pyproject.toml").lines().any(|line| line == format!("name = \"{NAME}\"")));
    let readme = read("README.md");
    for command in
        [format!("npx {NAME}"), format!("uvx --from {NAME} ccstat"), format!("cargo binstall {NAME}")]
    {
        assert!(readme.contains(&command), "README.md lacks `{command}`");
    }
    for file in [
        "action.yml",
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        "packaging/make",
        "packaging/test",
        "packaging/npm/start.js",
        "packaging/python/pyproject.toml",
        "packaging/homebrew/formula.rb",
        "packaging/docker/Dockerfile",
    ] {
        for line in read(file).lines().filter(|line| line.contains("ccstat") || line.contains("version =")) {
            assert!(!line.contains(VERSION), "{file} repeats the version: {line}");
        }
    }
}

#[test]
fn every_packaging_file_lists_every_target() {
    let (policy, manifest, formula) =
        (read("deny.toml"), read("Cargo.toml"), read("packaging/homebrew/formula.rb"));
    let targets = targets();
    assert_eq!(targets.len(), 6);
    for [target, ..] in &targets {
        assert!(policy.contains(&format!("\"{target}\"")), "deny.toml lacks {target}");
        let zipped =
            manifest.contains(&format!("[package.metadata.binstall.overrides.{target}]\npkg-fmt = \"zip\""));
        assert_eq!(zipped, target.contains("windows"), "{target}");
        assert_eq!(formula.contains(&format!("@url:{target}@")), !target.contains("windows"), "{target}");
    }
    for column in 0..4 {
        let cells: BTreeSet<&str> = targets.iter().map(|row| &*row[column]).collect();
        assert_eq!(cells.len(), targets.len(), "column {column} repeats itself");
    }
}

/// Returns the names below `inputs:` or `outputs:` of action.yml.
fn declared(section: &str) -> BTreeSet<String> {
    let action = read("action.yml");
    let lines = action.lines().skip_while(|line| *line != format!("{section}:")).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    names.filter(|name| !name.starts_with(' ')).map(str::to_owned).collect()
}

#[test]
fn the_action_has_every_gate_and_every_output_of_the_program() {
    let help = run_with(&["summarize", "--help"]).1;
    let section = |head: &str| -> Vec<&str> {
        let lines = help.lines().skip_while(|line| *line != head).skip(1);
        lines.take_while(|line| line.is_empty() || line.starts_with(' ')).collect()
    };
    let outputs: BTreeSet<String> = section("Outputs for GitHub:")
        .into_iter()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        // Outputs of `run`, which the script of the action sets.
        .chain(["log".to_owned()])
        .collect();
    assert!(outputs.len() > 15, "{outputs:?}");
    assert_eq!(declared("outputs"), outputs);
    let action = read("action.yml");
    for output in &outputs {
        assert!(action.contains(&format!("value: ${{{{ steps.judge.outputs.{output} }}}}\n")), "{output}");
    }

    let gates: Vec<&str> = section("Gates:")
        .into_iter()
        .filter_map(|line| line.trim_start().strip_prefix("--")?.split([' ', '=']).next())
        .collect();
    assert!(gates.len() > 7, "{gates:?}");
    for gate in gates {
        assert!(declared("inputs").contains(gate), "{gate}");
        let variable = format!("CCSTAT_{}", gate.to_uppercase().replace('-', "_"));
        assert!(action.contains(&format!("        {variable}: ${{{{ inputs.{gate} }}}}\n")), "{variable}");
    }
}

/// Returns the lines of each script in a workflow or an action.
fn script_lines(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(script) = line.trim_start().trim_start_matches("- ").strip_prefix("run: ") else { continue };
        found.push(script);
        let inside = |next: &&str| next.is_empty() || next.len() - next.trim_start().len() > indent;
        while let Some(next) = lines.next_if(inside) {
            found.push(next);
        }
    }
    found
}

#[test]
fn no_workflow_script_contains_an_expression() {
    let mut scripts = 0;
    for file in ["action.yml", ".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        for line in script_lines(&read(file)) {
            scripts += 1;
            assert!(!line.contains("${{"), "{file}: `{line}` is open to injection, use `env`");
        }
    }
    assert!(scripts > 30, "{scripts}");
}

#[test]
fn actions_are_pinned_by_commit_and_jobs_ask_for_their_permissions() {
    for file in [".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let text = read(file);
        for line in text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("uses: "))
        {
            let Some((_, pin)) = line.split_once('@') else {
                assert!(line.starts_with("./ "), "{line}");
                continue;
            };
            let (commit, version) = pin.split_once(" # v").unwrap_or_else(|| panic!("{file}: {line}"));
            assert!(
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{file}: {line}"
            );
            assert!(version.starts_with(|letter: char| letter.is_ascii_digit()), "{file}: {line}");
        }
        assert!(text.contains("\npermissions: {}\n"), "{file}");
        assert_eq!(
            text.matches("    runs-on: ").count(),
            text.matches("    permissions:\n").count(),
            "{file}"
        );
    }
}

// packaging/make.

fn make(words: &[&str]) -> (i32, String, String) {
    run(assert_cmd::Command::new("python3")
        .arg(root().join("packaging/make"))
        .args(words)
        .env("SOURCE_DATE_EPOCH", "1700000000"))
}

/// Whether there is a Python that can read TOML.
fn has_python() -> bool {
    let check = Command::new("python3").args(["-c", "import tomllib"]).output();
    check.is_ok_and(|output| output.status.success())
        || left_out("python3 is not installed, or older than 3.11")
}

#[test]
fn an_archive_contains_the_program_its_pages_and_all_completions() {
    if !has_python() || !has(&["tar"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("program"), "a program for another machine").unwrap();
    let runnable = crate::support::program();
    let runnable = runnable.to_str().unwrap();
    let target = "aarch64-unknown-linux-musl";
    let words = ["archive", target, &path("program"), "--runnable", runnable, "--out", &path("dist")];
    let (code, _, stderr) = make(&words);
    assert_eq!((code, &*stderr), (0, ""));
    let stem = format!("ccstat-{VERSION}-{target}");
    let listed = Command::new("tar").arg("-tzf").arg(path(&format!("dist/{stem}.tar.gz"))).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let files: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.strip_prefix(&format!("{stem}/"))).collect();
    let documents = ["README.md", "docs/guide.md", "docs/nightly.svg", "LICENSE-MIT", "LICENSE-APACHE"];
    for file in documents.into_iter().chain(["ccstat", "man/ccstat.1", "man/ccstat-check.1"]) {
        assert!(files.contains(file), "{file}: {files:?}");
    }
    let help = run_with(&["generate", "completions", "--help"]).1;
    let shells =
        help.split("[possible values: ").nth(1).unwrap().split(']').next().unwrap().split(", ").count();
    assert_eq!(files.iter().filter(|file| file.starts_with("completions/")).count(), shells);

    let first = fs::read(path(&format!("dist/{stem}.tar.gz"))).unwrap();
    assert_eq!(make(&words).0, 0);
    assert!(
        first == fs::read(path(&format!("dist/{stem}.tar.gz"))).unwrap(),
        "the same files give the same bytes"
    );
}

#[test]
fn a_tag_that_differs_from_the_version_is_refused() {
    if !has_python() {
        return;
    }
    assert_eq!(make(&["version"]).1.trim(), VERSION);
    assert_eq!(make(&["name"]).1.trim(), NAME);
    let (code, _, stderr) = make(&["check-tag", "v999.0.0"]);
    assert_eq!(code, 1);
    assert_eq!(stderr, format!("packaging/make: the tag is `v999.0.0`, but Cargo.toml says `{VERSION}`\n"));
    let matrix: serde_json::Value = serde_json::from_str(&make(&["matrix"]).1).unwrap();
    let rows: Vec<&str> =
        matrix["include"].as_array().unwrap().iter().map(|row| row["target"].as_str().unwrap()).collect();
    assert_eq!(rows, targets().iter().map(|row| row[0].clone()).collect::<Vec<_>>());
}

// The scripts of the action.

/// The folder and variables of a runner.
struct Runner {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl Runner {
    /// Puts `ccstat` on the path, and `gh` if a script is given for it.
    fn new(gh: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(crate::support::program(), bin.join("ccstat")).unwrap();
        if let Some(gh) = gh {
            fs::write(bin.join("gh"), format!("#!/usr/bin/env bash\n{gh}\n")).unwrap();
            fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut runner = Self { folder, variables: BTreeMap::new() };
        runner.set("PATH", &path);
        for (name, file) in [("OUTPUT", "output"), ("STEP_SUMMARY", "summary.md"), ("PATH", "path")] {
            let path = runner.path(file);
            runner.set(&format!("GITHUB_{name}"), path.to_str().unwrap());
        }
        let path = runner.path("temp");
        fs::create_dir(&path).unwrap();
        runner.set("RUNNER_TEMP", path.to_str().unwrap());
        for input in ["LOG", "RUN", "SAVE", "ARGS", "VERSION"] {
            runner.set(input, "");
        }
        runner.set("REPORT", "summarize");
        runner
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Runs a script of the action and returns its exit code and output.
    fn step(&self, script: &str, more: &[(&str, &str)]) -> (i32, String, String) {
        let clean = ccstat(&[]);
        let mut bash = assert_cmd::Command::new("bash");
        bash.arg(root().join("packaging/action").join(script)).current_dir(self.folder.path());
        // The same clean environment as in every other test.
        for (name, value) in clean.get_envs() {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        run(bash.envs(&self.variables).envs(more.iter().copied()))
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }
}

fn denied_log() -> String {
    testdata("logs/nightly-denied.jsonl").to_str().unwrap().to_owned()
}

#[test]
fn the_action_judges_the_execution_file_of_claude_code_action() {
    if !has(&["bash"]) {
        return;
    }
    let mut runner = Runner::new(None);
    // That action writes one array of all messages.
    let lines = fs::read_to_string(denied_log()).unwrap();
    let array = format!("[{}]", lines.lines().collect::<Vec<_>>().join(",\n"));
    let log = runner.path("claude execution.json");
    fs::write(&log, array).unwrap();
    runner.set("LOG", log.to_str().unwrap());
    runner.set("CCSTAT_FAIL_ON", "denial,no-result");
    runner.set("CCSTAT_MAX_COST", "1");
    for (report, head) in
        [("summarize", "! Success, but 2 calls were denied"), ("check", "✗ 1 run: 0 passed, 1 failed")]
    {
        runner.set("REPORT", report);
        let (code, stdout, stderr) = runner.step("judge", &[]);
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.starts_with("::error title=Gate denial failed"), "{stderr}");
        // The runner interprets no command in the report.
        let (stop, rest) = stdout.split_once('\n').unwrap();
        let token = stop.strip_prefix("::stop-commands::").unwrap();
        assert!(
            token.len() == 32 && rest.starts_with(head) && rest.ends_with(&format!("::{token}::\n")),
            "{stdout}"
        );
        let output = runner.file("output");
        for line in ["result=denied", "cost_usd=0.007968", "gates=failed", "failed_gates=denial"] {
            assert!(output.lines().any(|one| one == line), "{line}: {output}");
        }
        assert!(runner.file("summary.md").contains("2 calls were denied"));
        assert!(runner.file("temp/ccstat-comment.md").starts_with("<!-- ccstat -->\n"));
    }
    runner.set("CCSTAT_FAIL_ON", "");
    assert_eq!(runner.step("judge", &[]).0, 0, "an empty input is not set");
}

#[test]
fn the_action_ends_with_the_code_of_its_command_or_gates() {
    if !has(&["bash"]) {
        return;
    }
    let mut runner = Runner::new(None);
    runner.set("DENIED", &denied_log());
    runner.set("RUN", "cat \"$DENIED\"\necho '::error::not for the log of the job'\nexit 7");
    let (code, stdout, stderr) = runner.step("judge", &[]);
    assert_eq!((code, &*stdout), (7, ""), "{stderr}");
    let log = runner.path("temp/ccstat-run.jsonl");
    assert!(runner.file("output").starts_with(&format!("log={}\nresult=denied\n", log.display())));
    assert_eq!(fs::read_to_string(log).unwrap().lines().count(), 11);
    assert!(!stderr.contains("::error::not"), "{stderr}");
    runner.set("CCSTAT_MAX_DENIALS", "0");
    runner.set("SAVE", "run of today.jsonl");
    assert_eq!(runner.step("judge", &[]).0, 1);
    assert!(runner.path("run of today.jsonl").exists());
    runner.set("LOG", &denied_log());
    let (code, stdout, _) = runner.step("judge", &[]);
    assert_eq!((code, &*stdout), (2, "::error title=ccstat::give `log` or `run`, not both\n"));
}

#[test]
fn inputs_of_the_action_are_never_run_as_code_or_options() {
    if !has(&["bash"]) {
        return;
    }
    let mut runner = Runner::new(None);
    let hostile = "$(touch owned)`touch owned`; touch owned \"'";
    let before = fs::read_dir(runner.folder.path()).unwrap().count();
    runner.set("LOG", &format!("{hostile}\n--output=owned\n\n{}\r\n", denied_log()));
    runner.set("ARGS", &format!("--timezone\nEurope/Berlin\n{hostile}"));
    let (code, stdout, stderr) = runner.step("judge", &[]);
    // Lines that are not options are logs: three cannot be read, and one can.
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("touch owned") && stderr.contains("`--output=owned`"), "{stderr}");
    assert!(stdout.contains("2 calls were denied"), "{stdout}");
    let refused =
        [("CCSTAT_MAX_COST", hostile), ("REPORT", "redact"), ("LOG", "\n"), ("ARGS", "--no-such-option")];
    for (name, value) in refused {
        let mut runner = Runner::new(None);
        runner.set("LOG", &denied_log());
        runner.set(name, value);
        assert_eq!(runner.step("judge", &[]).0, 2, "{name}");
        assert!(!runner.path("owned").exists(), "{name}");
    }
    runner.set("VERSION", hostile);
    assert_eq!(runner.step("install", &[]).0, 1);
    runner.set("VERSION", "../../other/repository/releases/download/v1.0.0");
    assert_eq!(runner.step("install", &[]).0, 1);
    // The outputs and the summary, and nothing else.
    assert_eq!(fs::read_dir(runner.folder.path()).unwrap().count(), before + 2);
}

/// A release of this version in a folder, with a script as its program.
fn release(folder: &Path, target: &str) -> PathBuf {
    let stem = format!("ccstat-{VERSION}-{target}");
    let files = folder.join(format!("owner/ccstat/releases/download/v{VERSION}"));
    fs::create_dir_all(files.join(&stem)).unwrap();
    let program = files.join(&stem).join("ccstat");
    fs::write(&program, "#!/bin/sh\necho a release\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let pack = format!(
        "cd '{}' && tar -czf {stem}.tar.gz {stem} && (sha256sum {stem}.tar.gz || shasum -a 256 {stem}.tar.gz) > SHA256SUMS",
        files.display()
    );
    assert!(Command::new("bash").args(["-c", &pack]).status().unwrap().success());
    files.join(format!("{stem}.tar.gz"))
}

#[test]
fn the_action_installs_the_release_of_its_runner_only_with_the_right_checksum() {
    if !has(&["bash", "curl", "tar", "awk"]) {
        return;
    }
    let releases = tempfile::tempdir().unwrap();
    for [target, _, _, machine] in targets().into_iter().filter(|row| !row[0].contains("windows")) {
        let archive = release(releases.path(), &target);
        let mut runner = Runner::new(None);
        let (os, arch) = machine.split_once('-').unwrap();
        runner.set("RUNNER_OS", os);
        runner.set("RUNNER_ARCH", arch);
        runner.set("SERVER", &format!("file://{}", releases.path().display()));
        runner.set("REPOSITORY", "owner/ccstat");
        let (code, stdout, stderr) = runner.step("install", &[]);
        assert_eq!((code, &*stdout), (0, "a release\n"), "{stderr}");
        let folder = runner.path(&format!("temp/ccstat/ccstat-{VERSION}-{target}"));
        assert_eq!(runner.file("path"), format!("{}\n", folder.display()));

        fs::write(archive, "something else").unwrap();
        let (code, stdout, _) = runner.step("install", &[]);
        assert_eq!(code, 1);
        assert!(
            stdout.starts_with("::error title=ccstat::ccstat-") && stdout.contains("checksum"),
            "{stdout}"
        );

        runner.set("VERSION", "999.0.0");
        assert_eq!(runner.step("install", &[]).0, 1, "there is no such release");
        runner.set("RUNNER_ARCH", "RISCV");
        assert!(runner.step("install", &[]).1.contains("there is no release for"));
        runner.set("VERSION", "path");
        assert_eq!(runner.step("install", &[]).1, format!("ccstat {VERSION}\n"));
    }
}

/// A fake `gh`: records its arguments, and knows the comment that `known` names.
const GH: &str = r#"
printf '%s\n' "$*" | head -1 >> asked
case $* in
    *graphql*) cat known 2> /dev/null ;;
    *) [[ ! -e forbidden ]] || exit 1
       for word; do [[ $word != body=@* ]] || cp "${word#body=@}" written; done
       echo https://example.org/comment ;;
esac
exit 0"#;

#[test]
fn the_action_writes_one_comment_and_updates_it() {
    if !has(&["bash"]) {
        return;
    }
    let mut runner = Runner::new(Some(GH));
    runner.set("GH_TOKEN", "token");
    runner.set("GITHUB_REPOSITORY", "owner/shop");
    runner.set("KEY", "nightly --> /job");
    runner.set("LOG", &denied_log());
    let comment = |number: &str| {
        fs::remove_file(runner.path("asked")).ok();
        assert_eq!(runner.step("judge", &[]).0, 0);
        let (code, stdout, _) = runner.step("comment", &[("NUMBER", number)]);
        assert_eq!(code, 0, "{stdout}");
        (stdout, runner.file("asked").lines().last().unwrap_or_default().to_owned())
    };
    let (stdout, asked) = comment("12");
    assert_eq!(stdout, "https://example.org/comment\n");
    assert!(asked.starts_with("api --method POST repos/owner/shop/issues/12/comments -F body=@"), "{asked}");
    for number in ["", "15; touch owned"] {
        let (stdout, asked) = comment(number);
        assert!(
            stdout.starts_with("::notice title=ccstat::this event is not about a pull request"),
            "{stdout}"
        );
        assert_eq!(asked, "", "{number}");
    }

    let folder = runner.folder.path();
    fs::write(folder.join("known"), "77\n78\n").unwrap();
    let asked = comment("12").1;
    assert!(asked.starts_with("api --method PATCH repos/owner/shop/issues/comments/77 -F body=@"), "{asked}");
    let written = fs::read_to_string(folder.join("written")).unwrap();
    let (first, last) = (written.lines().next().unwrap(), written.lines().last().unwrap());
    assert_eq!(first, "<!-- ccstat -->");
    let key = last.strip_prefix("<!-- ccstat-key ").and_then(|last| last.strip_suffix(" -->")).unwrap();
    assert!(key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{last}");

    fs::write(folder.join("forbidden"), "").unwrap();
    let stdout = comment("12").0;
    assert!(stdout.starts_with("::warning title=ccstat::no comment could be written"), "{stdout}");
    assert!(!folder.join("owned").exists());
}
