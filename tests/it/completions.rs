//! Completions, in the shells themselves. Shells that are not installed are skipped, except bash.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::support::{ccstat, run_with};

const NEW: &str = "5b1f6c1e-0f6b-4c52-9a53-0d6d3f6f5a01";
const OLD: &str = "c41d90aa-0f6b-4c52-9a53-0d6d3f6f5a02";

/// A home with two saved sessions, and the script of a shell.
fn home(shell: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/projects/-home-me");
    fs::create_dir_all(&folder).unwrap();
    for (id, day) in [(OLD, 1), (NEW, 2)] {
        let path = folder.join(format!("{id}.jsonl"));
        fs::write(&path, format!("{{\"type\":\"user\",\"sessionId\":\"{id}\"}}\n")).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(day * 86_400);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let (code, script, stderr) = run_with(&["generate", "completions", shell]);
    assert_eq!(code, 0, "{stderr}");
    fs::write(home.path().join("script"), script).unwrap();
    home
}

/// Runs a shell in this home, with the program on its path. `None` if it is not installed.
fn output(home: &Path, shell: &str, arguments: &[&str]) -> Option<String> {
    let program = ccstat(&[]).get_program().to_owned();
    let folder = Path::new(&program).parent().unwrap().to_owned();
    let script =
        "PATH=\"$1:$PATH\"; export PATH; shift; command -v \"$1\" >/dev/null || exit 127; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(folder).arg(shell).args(arguments);
    command.current_dir(home).env("HOME", home).env_remove("CLAUDE_CONFIG_DIR").env_remove("XDG_CONFIG_HOME");
    let output = command.output().unwrap();
    if output.status.code() == Some(127) {
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

/// The completions of the last word in bash.
fn bash(words: &[&str]) -> Vec<String> {
    let home = home("bash");
    let script = "source ./script
        COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1))
        name=$(complete -p ccstat | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        $name ccstat \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let arguments = [&["--norc", "-c", script, "bash"], words].concat();
    let output = output(home.path(), "bash", &arguments).expect("bash is installed");
    output.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_columns_and_lists_of_them() {
    assert_eq!(bash(&["ccstat", "tools", "--sort", "p"]), ["p50_ms", "p90_ms", "p99_ms"]);
    assert_eq!(bash(&["ccstat", "tools", "--columns", "serv"]), ["server", "server_uses"]);
    assert_eq!(bash(&["ccstat", "tools", "--columns", "tool,p9"]), ["tool,p90_ms", "tool,p99_ms"]);
    assert!(bash(&["ccstat", "sessions", "--sort", ""]).contains(&"cost_usd".to_owned()));
}

#[test]
fn bash_completes_sessions_newest_first() {
    assert_eq!(bash(&["ccstat", "show", ""]), ["latest", NEW, OLD]);
    assert_eq!(bash(&["ccstat", "show", "c4"]), [OLD]);
    assert_eq!(bash(&["ccstat", "show", "--full", "la"]), ["latest"]);
    assert_eq!(bash(&["ccstat", "tools", "--session", "5b"]), [NEW]);
    assert!(bash(&["ccstat", "show", "--fu"]).contains(&"--full".to_owned()));
    assert_eq!(bash(&["ccstat", "show", NEW, "zz"]), [""; 0], "a path follows");
    assert!(bash(&["ccstat", "sess"]).contains(&"sessions".to_owned()));
}

#[test]
fn fish_completes_columns_and_sessions() {
    let home = home("fish");
    let complete = |line: &str| {
        output(home.path(), "fish", &["--no-config", "-c", &format!("source ./script; complete -C '{line}'")])
    };
    let Some(columns) = complete("ccstat tools --sort p") else { return };
    assert!(columns.contains("p90_ms"), "{columns}");
    let sessions = complete("ccstat show ").unwrap();
    let lines: Vec<&str> = sessions.lines().filter_map(|line| line.split('\t').next()).collect();
    let at = |word: &str| {
        lines.iter().position(|line| *line == word).unwrap_or_else(|| panic!("{word}: {sessions}"))
    };
    assert!(at(NEW) < at(OLD) && lines.contains(&"latest"), "{sessions}");
    assert!(complete("ccstat tools --session 5b").unwrap().contains(NEW));
}

#[test]
fn elvish_completes_columns_and_sessions() {
    let home = home("elvish");
    let complete = |words: &str| {
        let script = format!(
            "eval (slurp < ./script); $edit:completion:arg-completer[ccstat] {words} | each {{|one| echo $one }}"
        );
        output(home.path(), "elvish", &["-norc", "-c", &script])
    };
    // Without a terminal there is no `edit:`, so only the syntax can be checked.
    let Some(text) = complete("ccstat tools --sort ''") else { return };
    let checked = output(home.path(), "elvish", &["-norc", "-compileonly", "./script"]).unwrap();
    let is_edit = |line: &str| line.contains("edit:") || line.contains("error: ") || line.contains("errors:");
    assert!(!checked.contains("parse error"), "{checked}{text}");
    assert!(checked.lines().all(|line| is_edit(line) || !line.contains("rror")), "{checked}");
}

#[test]
fn every_shell_has_columns_and_sessions() {
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let (_, script, _) = run_with(&["generate", "completions", shell]);
        for value in ["p99_ms", "generate session-ids", "latest"] {
            assert!(script.contains(value), "{shell}: {value}");
        }
    }
}
