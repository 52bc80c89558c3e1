//! Man pages and completions.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{plain, support::run_with};

fn texts(folder: &Path) -> BTreeMap<String, String> {
    let text = |path: &std::path::PathBuf| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
    };
    plain::listing(folder).iter().map(text).collect()
}

#[test]
fn the_committed_man_pages_are_current() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = run_with(&["generate", "man", folder.path().to_str().unwrap()]);
    assert_eq!((code, &*stdout, &*stderr), (0, "", ""));
    let (made, kept) = (texts(folder.path()), texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("man")));
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&made), names(&kept), "update them: cargo run -- generate man man");
    for (name, page) in made {
        assert!(page == kept[&name], "{name} has changed, write it anew: cargo run -- generate man man");
    }
}

#[test]
fn every_option_has_a_text_in_the_man_pages() {
    for (name, page) in texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("man")) {
        let lines: Vec<&str> = page.lines().filter(|line| !line.is_empty()).collect();
        for entry in lines.windows(3).filter(|lines| lines[0] == ".TP") {
            assert!(!entry[2].starts_with(".TP") && !entry[2].starts_with(".SH"), "{name}: {}", entry[1]);
        }
    }
}

#[test]
fn man_pages_that_cannot_be_written_end_with_4() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (code, _, stderr) = run_with(&["generate", "man", file.path().to_str().unwrap()]);
    assert_eq!(code, 4);
    assert!(stderr.starts_with("ccstat: cannot write `"), "{stderr}");
}

/// Asks a shell to complete a line; `None` if the shell is not installed.
fn ask(shell: &str, question: &str) -> Option<String> {
    let (code, script, _) = run_with(&["generate", "completions", shell]);
    assert_eq!(code, 0);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), script).unwrap();
    let asked = Command::new(shell)
        .args(["-c", question, shell, file.path().to_str().unwrap()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    assert!(asked.status.success() && asked.stderr.is_empty(), "{}", String::from_utf8_lossy(&asked.stderr));
    Some(String::from_utf8(asked.stdout).unwrap())
}

#[test]
fn bash_completes_commands_and_formats() {
    let question = r#"source "$1"
        COMP_WORDS=(ccstat su); COMP_CWORD=1; _ccstat ccstat su ccstat; echo "${COMPREPLY[@]}"
        COMP_WORDS=(ccstat summarize --format m); COMP_CWORD=3; _ccstat ccstat m --format; echo "${COMPREPLY[@]}""#;
    if let Some(answer) = ask("bash", question) {
        assert_eq!(answer, "summarize\nmarkdown\n");
    }
}

#[test]
fn zsh_loads_its_completions() {
    let question = r#"autoload -U compinit; compinit -u -D; source "$1"; print ${_comps[ccstat]}"#;
    if let Some(answer) = ask("zsh", question) {
        assert_eq!(answer, "_ccstat\n");
    }
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let (code, script, _) = run_with(&["generate", "completions", shell]);
        assert_eq!(code, 0);
        assert!(script.contains("summarize") && script.contains("quiet"), "{shell}");
    }
}

/// Returns the commands under each heading of the help, in its order.
fn groups() -> Vec<(String, Vec<String>)> {
    let (_, help, _) = run_with(&["help", "all"]);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in help.lines().skip_while(|line| !line.starts_with("A run")) {
        match (line.strip_suffix(':'), line.split_whitespace().next()) {
            (Some("Options"), _) => break,
            (Some(heading), _) => groups.push((heading.to_lowercase(), Vec::new())),
            (None, Some(command)) => groups.last_mut().unwrap().1.push(command.to_owned()),
            (None, None) => {}
        }
    }
    groups
}

#[test]
fn the_guide_lists_every_command_in_its_group() {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide.md")).unwrap();
    let rows = guide.lines().skip_while(|line| !line.starts_with("| a run |"));
    let row = |line: &str| {
        let (heading, commands) = line.trim_matches('|').split_once('|').unwrap();
        let names = commands.split("`ccstat ").skip(1);
        let name = |text: &str| text.split([' ', '`']).next().unwrap().to_owned();
        (heading.trim().to_owned(), names.map(name).collect::<Vec<String>>())
    };
    let listed: Vec<_> = rows.take_while(|line| line.starts_with('|')).map(row).collect();
    assert_eq!(listed, groups());
}
