use serde_json::{Value, json};

use super::*;

const PROJECT: &str = "/home/dev/project";

fn call<'a>(tool: &'a str, input: &'a Value) -> Call<'a> {
    Call { tool, input, cwd: Some(PROJECT) }
}

fn commands(commands: &[&str], breadth: Breadth) -> Suggestions {
    let inputs: Vec<Value> = commands.iter().map(|command| json!({ "command": command })).collect();
    let calls: Vec<Call<'_>> = inputs.iter().map(|input| call("Bash", input)).collect();
    suggest(&calls, breadth, Some(PROJECT))
}

fn shown(suggestions: &Suggestions) -> Vec<(String, Vec<usize>, bool)> {
    let row = |one: &Suggested| (one.rule.to_string(), one.covers.clone(), one.warning.is_some());
    suggestions.rules.iter().map(row).collect()
}

fn texts(list: &[&str], breadth: Breadth) -> Vec<String> {
    shown(&commands(list, breadth)).into_iter().map(|(rule, ..)| rule).collect()
}

fn allows(suggestions: &Suggestions, command: &str) -> bool {
    let mut context = Context::new(Mode::Default);
    for one in &suggestions.rules {
        context.add(Behaviour::Allow, Scope::Session, one.rule.clone());
    }
    check(&context, &call("Bash", &json!({ "command": command }))).decision == Decision::Allow
}

#[test]
fn a_rule_is_suggested_once_with_all_its_calls() {
    let suggestions = commands(&["npm test", "npm ci && npm test", "npm test"], Breadth::Exact);
    let expected =
        [("Bash(npm test)".to_owned(), vec![0, 1, 2], false), ("Bash(npm ci)".to_owned(), vec![1], true)];
    assert_eq!(shown(&suggestions), expected);
}

#[test]
fn a_suggestion_for_one_part_does_not_cover_another() {
    let suggestions = commands(&["npm test"], Breadth::Exact);
    assert!(allows(&suggestions, "npm test"));
    assert!(!allows(&suggestions, "rm -rf / && npm test"));
    let broader = commands(&["npm test"], Breadth::Prefix);
    assert!(allows(&broader, "npm test -- --watch"));
    assert!(!allows(&broader, "rm -rf / && npm test"));
    assert!(!allows(&broader, "npm test $(rm -rf /)"));
    assert!(!allows(&broader, "npm test > ~/.bashrc"));
    assert!(!allows(&broader, "npm publish"));
}

#[test]
fn dangerous_commands_get_their_exact_text_and_a_warning_at_every_breadth() {
    for breadth in [Breadth::Exact, Breadth::Prefix, Breadth::Tool] {
        for command in
            ["rm -rf x && npm test", "git status; curl x | sh", "git push --force", "npm ci; kill -9 1"]
        {
            let suggestions = commands(&[command], breadth);
            assert_eq!(shown(&suggestions), [(format!("Bash({command})"), vec![0], true)], "{breadth:?}");
            assert!(
                !allows(&suggestions, "curl x")
                    && !allows(&suggestions, "sh")
                    && !allows(&suggestions, "npm test")
            );
        }
    }
}

#[test]
fn a_prefix_never_allows_a_dangerous_form() {
    for (command, rule) in [
        ("git fetch -p", "Bash(git fetch:*)"),
        ("npm run build -- --x", "Bash(npm run build:*)"),
        ("cargo test", "Bash(cargo test:*)"),
        ("eslint -x", "Bash(eslint:*)"),
        ("./scripts/build.sh now", "Bash(./scripts/build.sh:*)"),
        ("git push origin main", "Bash(git push origin main)"),
        ("git checkout main", "Bash(git checkout main)"),
        ("git -C sub status", "Bash(git -C sub status)"),
        ("npm test > out.txt", "Edit(//home/dev/project/out.txt)"),
        ("rm x", "Bash(rm x)"),
        ("cp a b", "Bash(cp a b)"),
        ("python3 x.py", "Bash(python3 x.py)"),
        ("python3.12 x.py", "Bash(python3.12 x.py)"),
        ("docker run x", "Bash(docker run x)"),
        ("npx vitest", "Bash(npx vitest)"),
        ("timeout 5 npm test", "Bash(timeout 5 npm test)"),
        ("A=b npm test", "Bash(A=b npm test)"),
        ("git", "Bash(git)"),
        ("\"npm\" x", "Bash(\"npm\" x)"),
        ("kill 5", "Bash(kill 5)"),
    ] {
        assert_eq!(texts(&[command], Breadth::Prefix).first().map(String::as_str), Some(rule), "{command}");
    }
}

#[test]
fn broader_rules_replace_narrower_ones() {
    let one = ["aws s3 ls", "aws s3 ls x", "npm test a", "npm test b"];
    let expected = [
        ("Bash(aws s3 ls:*)".to_owned(), vec![0, 1], false),
        ("Bash(npm test:*)".to_owned(), vec![2, 3], false),
    ];
    assert_eq!(shown(&commands(&one, Breadth::Prefix)), expected);
}

#[test]
fn a_star_is_never_written_into_an_exact_rule() {
    assert_eq!(texts(&["eslint *.js"], Breadth::Prefix), ["Bash(eslint:*)"]);
    for (command, breadth) in [
        ("eslint *.js", Breadth::Exact),
        ("eslint * --rm -rf", Breadth::Exact),
        ("git add *.o", Breadth::Exact),
    ] {
        let suggestions = commands(&[command], breadth);
        assert!(suggestions.rules.is_empty() && suggestions.refused[0].reason.contains("`*`"), "{command}");
    }
}

#[test]
fn a_rule_for_every_command_has_a_warning() {
    let suggestions = commands(&["npm test", "npm ci"], Breadth::Tool);
    assert_eq!(shown(&suggestions), [("Bash".to_owned(), vec![0, 1], true)]);
}

#[test]
fn a_command_that_cannot_be_split_gets_no_suggestion() {
    for breadth in [Breadth::Exact, Breadth::Prefix, Breadth::Tool] {
        let suggestions = commands(
            &["echo $(date)", "for i in a; do ls; done", "eval x", "echo 'a", "", "npm x &"],
            breadth,
        );
        assert!(suggestions.rules.is_empty());
        let refused: Vec<usize> = suggestions.refused.iter().map(|refused| refused.call).collect();
        assert_eq!(refused, [0, 1, 2, 3, 4, 5]);
        assert!(suggestions.refused[0].reason.contains("`$(…)`"));
    }
}

fn for_call(tool: &str, input: &Value, breadth: Breadth) -> Option<(String, bool)> {
    let suggestions = suggest(&[call(tool, input)], breadth, Some(PROJECT));
    assert_eq!(suggestions.rules.len() + suggestions.refused.len(), 1);
    suggestions.rules.first().map(|one| (one.rule.to_string(), one.warning.is_some()))
}

#[test]
fn other_tools_get_the_rules_that_they_support() {
    let src = || json!({"file_path": "/home/dev/project/src/a.rs"});
    let some = |text: &str, warns: bool| Some((text.to_owned(), warns));
    let top = || json!({"file_path": "/home/dev/project/a.rs"});
    let cases = [
        ("Write", src(), Breadth::Exact, some("Edit(//home/dev/project/src/a.rs)", false)),
        ("Write", src(), Breadth::Prefix, some("Edit(//home/dev/project/src/**)", false)),
        ("Write", src(), Breadth::Tool, some("Write", true)),
        ("Write", top(), Breadth::Prefix, some("Edit(//home/dev/project/a.rs)", false)),
        ("Write", json!({"file_path": "/etc/x"}), Breadth::Tool, some("Edit(//etc/x)", true)),
        ("Edit", json!({"file_path": ".git/config"}), Breadth::Prefix, None),
        (
            "Write",
            json!({"file_path": "/home/dev/project/a*"}),
            Breadth::Exact,
            some(r"Edit(//home/dev/project/a\*)", false),
        ),
        (
            "Write",
            json!({"file_path": "src/[id].txt"}),
            Breadth::Exact,
            some(r"Edit(//home/dev/project/src/\[id\].txt)", false),
        ),
        ("Read", json!({"file_path": "/etc/x"}), Breadth::Tool, some("Read", true)),
        (
            "Read",
            json!({"file_path": "/home/dev/other/x"}),
            Breadth::Prefix,
            some("Read(//home/dev/other/x)", false),
        ),
        ("WebFetch", json!({"url": "https://a.b/c"}), Breadth::Prefix, some("WebFetch(domain:a.b)", false)),
        ("WebFetch", json!({"url": "https://a.b/c"}), Breadth::Tool, some("WebFetch", true)),
        ("mcp__demo__add", json!({}), Breadth::Tool, some("mcp__demo__add", false)),
        ("Agent", json!({"subagent_type": "Explore"}), Breadth::Exact, some("Agent(Explore)", false)),
        ("AskUserQuestion", json!({}), Breadth::Tool, None),
        ("ExitPlanMode", json!({}), Breadth::Exact, None),
    ];
    for (tool, input, breadth, expected) in cases {
        assert_eq!(for_call(tool, &input, breadth), expected, "{tool} {input} {breadth:?}");
    }
}

#[test]
fn rules_are_quoted_for_a_shell() {
    let suggestions = commands(&["npm test", "make 'a'"], Breadth::Exact);
    let text = allowed_tools(&suggestions.rules);
    assert_eq!(text, r"--allowed-tools 'Bash(npm test)' 'Bash(make '\''a'\'')'");
    let mcp = json!({});
    let plain = suggest(&[call("mcp__demo__add", &mcp)], Breadth::Exact, None);
    assert_eq!(allowed_tools(&plain.rules), "--allowed-tools mcp__demo__add");
}

#[test]
fn each_part_gets_only_the_rule_that_the_cli_checks() {
    for (command, rules) in [
        ("npm test > out.txt", &["Edit(//home/dev/project/out.txt)", "Bash(npm test)"][..]),
        ("echo x > out.txt", &["Edit(//home/dev/project/out.txt)"]),
        ("cat /srv/o.txt", &["Read(//srv/o.txt)"]),
        ("ls /srv && npm test", &["Read(//srv)", "Bash(npm test)"]),
        ("cd sub && npm test | tail -5", &["Bash(npm test)"]),
        ("npm ci && npm test; cat a.txt", &["Bash(npm ci)", "Bash(npm test)"]),
        ("if true; then npm test; fi", &["Bash(npm test)"]),
    ] {
        assert_eq!(texts(&[command], Breadth::Exact), rules, "{command}");
    }
    // Outside the project both rules are needed, and both have the warning.
    let outside = commands(&["touch ../x"], Breadth::Exact);
    let expected =
        [("Edit(//home/dev/x)".to_owned(), vec![0], true), ("Bash(touch ../x)".to_owned(), vec![0], true)];
    assert_eq!(shown(&outside), expected);
}

#[test]
fn a_call_that_no_rule_can_allow_has_a_reason() {
    for (command, reason) in [
        ("npm test &", "background"),
        ("touch .git/x", "protected file"),
        ("echo x > .bashrc", "protected file"),
        ("touch {a,b}", "braces"),
        ("touch \"$X\"", "only the shell knows"),
        ("cd sub && touch x", "changes the folder and writes"),
        ("cd sub && git add .", "changes the folder and runs git"),
        ("ls", "needs no rule"),
    ] {
        let suggestions = commands(&[command], Breadth::Exact);
        assert!(suggestions.rules.is_empty(), "{command}");
        assert!(
            suggestions.refused[0].reason.contains(reason),
            "{command}: {}",
            suggestions.refused[0].reason
        );
    }
}

#[test]
fn a_command_that_runs_code_from_the_network_has_a_warning() {
    for command in [
        "npm install",
        "npm i x",
        "npx vitest",
        "pip install x",
        "cargo install x",
        "docker run x",
        "go get x",
    ] {
        for breadth in [Breadth::Exact, Breadth::Prefix] {
            let shown = shown(&commands(&[command], breadth));
            assert!(shown.iter().all(|(.., warned)| *warned) && !shown.is_empty(), "{command}: {shown:?}");
        }
    }
    assert!(!shown(&commands(&["npm test"], Breadth::Exact))[0].2);
}

#[test]
fn a_rule_with_escaped_parentheses_is_for_settings_only() {
    let suggestions = commands(&["git commit -m \"msg (x)\"", "npm test"], Breadth::Exact);
    assert_eq!(suggestions.rules[0].rule.to_string(), r#"Bash(git commit -m "msg \(x\)")"#);
    assert_eq!(allowed_tools(&suggestions.rules), "--allowed-tools 'Bash(npm test)'");
}
