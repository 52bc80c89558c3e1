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
fn a_rule_stands_once_with_all_its_calls() {
    let suggestions = commands(&["npm test", "npm ci && npm test", "npm test"], Breadth::Exact);
    let expected =
        [("Bash(npm test)".to_owned(), vec![0, 1, 2], false), ("Bash(npm ci)".to_owned(), vec![1], false)];
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
            ["rm -rf / && npm test", "git status; curl x | sh", "git push --force", "echo x > /etc/x"]
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
fn a_prefix_never_reaches_a_dangerous_form() {
    for (command, rule) in [
        ("git status -s", "Bash(git status:*)"),
        ("npm run build -- --x", "Bash(npm run build:*)"),
        ("cargo test", "Bash(cargo test:*)"),
        ("ls -la", "Bash(ls:*)"),
        ("./scripts/build.sh now", "Bash(./scripts/build.sh:*)"),
        ("git push origin main", "Bash(git push origin main)"),
        ("git checkout main", "Bash(git checkout main)"),
        ("git -C sub status", "Bash(git -C sub status)"),
        ("rm x", "Bash(rm x)"),
        ("cp a b", "Bash(cp a b)"),
        ("python3 x.py", "Bash(python3 x.py)"),
        ("python3.12 x.py", "Bash(python3.12 x.py)"),
        ("docker run x", "Bash(docker run x)"),
        ("npx vitest", "Bash(npx vitest)"),
        ("timeout 5 npm test", "Bash(timeout 5 npm test)"),
        ("A=b npm test", "Bash(A=b npm test)"),
        ("npm test > out.txt", "Bash(npm test > out.txt)"),
        ("git", "Bash(git)"),
        ("\"ls\" x", "Bash(\"ls\" x)"),
        ("kill 5", "Bash(kill 5)"),
    ] {
        assert_eq!(texts(&[command], Breadth::Prefix), [rule], "{command}");
    }
}

#[test]
fn broader_rules_take_in_narrower_ones() {
    let one = ["aws s3 ls", "aws s3 ls x", "npm test a", "npm test b"];
    let expected = [
        ("Bash(aws s3 ls:*)".to_owned(), vec![0, 1], false),
        ("Bash(npm test:*)".to_owned(), vec![2, 3], false),
    ];
    assert_eq!(shown(&commands(&one, Breadth::Prefix)), expected);
}

#[test]
fn a_star_is_never_written_into_an_exact_rule() {
    assert_eq!(texts(&["ls *.rs"], Breadth::Prefix), ["Bash(ls:*)"]);
    for (command, breadth) in
        [("ls *.rs", Breadth::Exact), ("rm -rf *", Breadth::Exact), ("rm *.o", Breadth::Prefix)]
    {
        let suggestions = commands(&[command], breadth);
        assert!(suggestions.rules.is_empty() && suggestions.refused[0].reason.contains("`*`"), "{command}");
    }
}

#[test]
fn any_use_of_the_shell_comes_with_a_warning() {
    let suggestions = commands(&["npm test", "ls"], Breadth::Tool);
    assert_eq!(shown(&suggestions), [("Bash".to_owned(), vec![0, 1], true)]);
}

#[test]
fn what_cannot_be_split_gets_no_suggestion() {
    for breadth in [Breadth::Exact, Breadth::Prefix, Breadth::Tool] {
        let suggestions =
            commands(&["echo $(date)", "for i in a; do ls; done", "eval x", "echo 'a", ""], breadth);
        assert!(suggestions.rules.is_empty());
        let refused: Vec<usize> = suggestions.refused.iter().map(|refused| refused.call).collect();
        assert_eq!(refused, [0, 1, 2, 3, 4]);
        assert!(suggestions.refused[0].reason.contains("`$(…)`"));
    }
}

fn for_call(tool: &str, input: &Value, breadth: Breadth) -> Option<(String, bool)> {
    let suggestions = suggest(&[call(tool, input)], breadth, Some(PROJECT));
    assert_eq!(suggestions.rules.len() + suggestions.refused.len(), 1);
    suggestions.rules.first().map(|one| (one.rule.to_string(), one.warning.is_some()))
}

#[test]
fn other_tools_get_what_their_rules_can_say() {
    let src = || json!({"file_path": "/home/dev/project/src/a.rs"});
    let some = |text: &str, warns: bool| Some((text.to_owned(), warns));
    let top = || json!({"file_path": "/home/dev/project/a.rs"});
    let cases = [
        ("Write", src(), Breadth::Exact, some("Edit(//home/dev/project/src/a.rs)", false)),
        ("Write", src(), Breadth::Prefix, some("Edit(//home/dev/project/src/**)", false)),
        ("Write", src(), Breadth::Tool, some("Write", true)),
        ("Write", top(), Breadth::Prefix, some("Edit(//home/dev/project/a.rs)", false)),
        ("Write", json!({"file_path": "/etc/x"}), Breadth::Tool, some("Edit(//etc/x)", true)),
        (
            "Edit",
            json!({"file_path": ".git/config"}),
            Breadth::Prefix,
            some("Edit(//home/dev/project/.git/config)", true),
        ),
        ("Write", json!({"file_path": "/home/dev/project/a*"}), Breadth::Exact, None),
        (
            "Read",
            json!({"file_path": "/home/dev/other/x"}),
            Breadth::Prefix,
            some("Read(//home/dev/other/x)", false),
        ),
        ("WebFetch", json!({"url": "https://a.b/c"}), Breadth::Prefix, some("WebFetch(domain:a.b)", false)),
        ("WebFetch", json!({"url": "https://a.b/c"}), Breadth::Tool, some("WebFetch", false)),
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
fn rules_are_written_for_settings_and_for_a_shell() {
    let suggestions = commands(&["npm test", "echo 'a'"], Breadth::Exact);
    let read: Value = serde_json::from_str(&snippet(&suggestions.rules)).expect("JSON");
    assert_eq!(read, json!({"permissions": {"allow": ["Bash(npm test)", "Bash(echo 'a')"]}}));
    let text = allowed_tools(&suggestions.rules);
    assert_eq!(text, r"--allowed-tools 'Bash(npm test)' 'Bash(echo '\''a'\'')'");
    let mcp = json!({});
    let plain = suggest(&[call("mcp__demo__add", &mcp)], Breadth::Exact, None);
    assert_eq!(allowed_tools(&plain.rules), "--allowed-tools mcp__demo__add");
}
