use super::*;
use crate::permission::shell::{parse, program};

const PROJECT: &str = "/home/dev/project";

fn words(command: &str) -> Vec<Word> {
    parse(command).parts.remove(0).words
}

#[test]
fn every_row_of_the_list_is_unique_and_read_only() {
    let mut seen = std::collections::BTreeSet::new();
    for row in list::READ_ONLY {
        for name in row.programs {
            assert!(seen.insert((name, row.subcommands)), "{name} {:?}", row.subcommands);
            assert_eq!(program(name), *name);
            assert!(name.is_ascii());
        }
    }
}

#[test]
fn read_only_commands_are_recognized_with_their_flags() {
    for command in [
        "ls -la sub",
        "head -5 a",
        "grep -rn x src",
        "grep -A3 x a",
        "rg -l x",
        "sort -rn a",
        "sort -k 2 a",
        "uniq -c",
        "date +%s",
        "sed -n 1,2p a",
        "sed s/a/b/g",
        "jq -r .x a.json",
        "git log --oneline -5",
        "git branch -a",
        "git branch --list x",
        "git tag -l x",
        "git stash list",
        "git remote -v",
        "git config --get user.name",
        "docker ps -a",
        "ps aux",
        "netstat -an",
        "echo $HOME ${USER} $((1+1))",
        "xargs",
        "xargs grep x",
        "find . -name a",
        "cd -",
    ] {
        assert!(is_read_only(&words(command)), "{command}");
    }
    for command in [
        "time ls",
        "\"ls\"",
        "uniq a",
        "sort -o b a",
        "sort --output=b a",
        "sort -k2 a",
        "find . -delete",
        "find . -exec rm {} +",
        "fd -x rm",
        "rg --files",
        "rg --pre cat x",
        "git log --output=b",
        "git branch new",
        "git branch -D x",
        "git tag v1",
        "git -C sub status",
        "git --no-pager log",
        "git remote add x y",
        "git reflog expire",
        "git config --list",
        "sed -n /x/p a",
        "sed s/a/b/ a",
        "sed -n 1w b a",
        "sed s/a/b/w",
        "sed s/a/b/e",
        "jq -n env",
        "jq -f a",
        "date -s now",
        "hostname new",
        "ps e",
        "ps aux --sort=-rss",
        "node -p 1",
        "python3 -V",
        "pwd -P",
        "file *",
        "echo $X",
        "test x = x",
        "xargs cat",
        "xargs -n1 echo",
        "cd",
        "cd a b",
        "awk 1 a",
        "npm ls",
    ] {
        assert!(!is_read_only(&words(command)), "{command}");
    }
}

#[test]
fn wrappers_and_variables_are_removed_for_allow_rules() {
    let core = |command: &str| joined(stripped(&words(command)));
    for wrapper in [
        "timeout 5",
        "timeout 5s",
        "timeout -k 1 5",
        "timeout --foreground 5",
        "timeout -s KILL 1.5m",
        "time",
        "nice",
        "nice -n 5",
        "nice -5",
        "nohup",
        "stdbuf -o0",
        "stdbuf -oL -eL",
        "command",
        "command -p",
        "builtin",
        "noglob",
        "xargs",
        "CI=1",
        "NODE_ENV=x TZ=y",
        "CI=1 timeout 5 nice",
    ] {
        assert_eq!(core(&format!("{wrapper} npm ci")), "npm ci", "{wrapper}");
    }
    for wrapper in [
        "env",
        "sudo",
        "exec",
        "setsid",
        "xargs -n1",
        "time -p",
        "timeout $X",
        "timeout x",
        "LANG=C",
        "LC_ALL=en_US.UTF-8",
        "ionice -c 3",
        "FOO=1",
        "PATH=.",
        "LANG=1",
        "LANG=$X",
        "CI=$X",
        "watch -n1",
    ] {
        assert_ne!(core(&format!("{wrapper} npm ci")), "npm ci", "{wrapper}");
    }
    assert_eq!(core("timeout 5"), "timeout 5", "a wrapper alone is a command");
}

#[test]
fn the_files_of_a_command_are_those_that_the_cli_checks() {
    let shown = |command: &str| {
        let parts = parse(command).parts;
        let files = files(&parts[0]);
        let texts =
            |words: &[&Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>().join(" ");
        [texts(&files.read), texts(&files.written), texts(&files.redirected)]
    };
    for (command, read, written, redirected) in [
        ("cat a b", "a b", "", ""),
        ("head -n 5 a", "a", "", ""),
        ("grep -r x src", "src", "", ""),
        ("grep -e x src", "src", "", ""),
        ("find src lib -name x", "src lib", "", ""),
        ("cd sub", "sub", "", ""),
        ("tr / _", "", "", ""),
        ("tr a b < c", "c", "", ""),
        ("awk 1 a", "a", "", ""),
        ("sed -n 1p a", "a", "", ""),
        ("sed -i s/a/b/ a", "", "a", ""),
        ("cp a b c", "a b", "c", ""),
        ("mv a b", "a", "a b", ""),
        ("touch a > b 2> /dev/null", "", "a", "b"),
        ("FOO=1 timeout 5 cat a", "a", "", ""),
        ("git show HEAD:a", "", "", ""),
        ("python3 a", "", "", ""),
        ("echo a", "", "", ""),
        ("test -f /a", "/a", "", ""),
        ("tee a", "", "a", ""),
    ] {
        assert_eq!(shown(command), [read, written, redirected], "{command}");
    }
}

#[test]
fn a_pattern_is_checked_by_the_folder_of_its_files() {
    let context = Context::new(Mode::Default);
    let folders = Folders::new(Some(PROJECT), None);
    let reads = |command: &str| {
        let parsed = parse(command);
        let check = CommandCheck { context: &context, folders: &folders, command, parsed: &parsed };
        check.outcome().decision == Decision::Allow
    };
    assert!(reads("cat *.txt") && reads("cat s*t/k") && reads("ls ./*"));
    assert!(!reads("cat /etc/*") && !reads("ls ~/*") && !reads("ls ../*") && !reads("ls ~eve/x"));
}
