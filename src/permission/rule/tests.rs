use serde_json::{Value, json};

use super::*;

fn rule(text: &str) -> Rule {
    Rule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn matches(text: &str, tool: &str, input: &Value) -> bool {
    rule(text).matches(&Call { tool, input, cwd: Some("/home/dev/project") })
}

#[test]
fn a_rule_is_displayed_as_written() {
    for text in ["Read", "Bash(npm:*)", "Edit(.claude)", "mcp__a__*", r"Bash(echo \(a\))", "Bash(f (x))"] {
        assert_eq!(rule(text).to_string(), text);
    }
    assert_eq!(rule("Bash(npm:*)").content, Some(Content::Prefix("npm".to_owned())));
    assert_eq!(rule("Bash(git status)").content, Some(Content::Command("git status".to_owned())));
    assert_eq!(rule(r"Bash(echo \(a\))").content, Some(Content::Command("echo (a)".to_owned())));
    assert_eq!(rule("Bash(*)").content, None);
}

#[test]
fn a_rule_made_of_tool_and_content_equals_the_parsed_one() {
    for content in ["git status", r"grep \( x", r"a\\b", "echo (x", "npm:*"] {
        let made = Rule::new("Bash", Some(content)).expect("a rule");
        assert_eq!(rule(&made.to_string()), made, "{content}");
    }
    assert_eq!(Rule::new("Read", None).expect("a rule"), rule("Read"));
    assert!(Rule::new("", Some("x")).is_err() && Rule::new("Bash", Some(" ")).is_err());
}

#[test]
fn an_invalid_rule_is_an_error_with_a_reason() {
    let told = |text: &str| Rule::parse(text).expect_err(text).to_string();
    for (text, reason) in [
        ("", "the rule is empty"),
        ("  ", "the rule is empty"),
        ("(npm)", "no tool before the parenthesis"),
        (" (npm)", "no tool before the parenthesis"),
        ("Bash(npm", "a parenthesis is not closed in `Bash(npm`"),
        ("Bash(a (b)", "a parenthesis is not closed"),
        ("Bash npm)", "closed that was not opened"),
        ("Bash(a))", "closed that was not opened"),
        ("Bash(a)b", "must be the end of the rule"),
        ("Bash()", "nothing between the parentheses"),
        ("Bash( )", "nothing between the parentheses"),
        ("Bash(:*)", "no command before `:*`"),
        ("Bash (npm)", "a tool's name has no blanks"),
        ("npm test", "a tool's name has no blanks"),
        ("Read,Edit", "a tool's name has no blanks"),
    ] {
        assert!(told(text).contains(reason), "{text}: {}", told(text));
    }
}

/// Rule, tool, input, and whether they match.
fn cases() -> Vec<(&'static str, &'static str, Value, bool)> {
    let bash = |command: &str| json!({ "command": command });
    let file = |path: &str| json!({ "file_path": path });
    vec![
        ("Read", "Read", file("/any"), true),
        ("Read", "Glob", json!({"pattern": "*"}), false),
        ("Bash(npm:*)", "Bash", bash("npm"), true),
        ("Bash(npm:*)", "Bash", bash("npm test"), true),
        ("Bash(npm:*)", "Bash", bash("npmx"), false),
        ("Bash(npm:*)", "Bash", bash("npm-check"), false),
        ("Bash(npm:*)", "Bash", bash("npm\u{a0}x"), false),
        ("Bash(npm:*)", "Write", bash("npm"), false),
        ("Bash(npm:*)", "Bash", json!({}), false),
        ("Bash(npm run:*)", "Bash", bash("npm run build"), true),
        ("Bash(npm run:*)", "Bash", bash("npm test"), false),
        ("Bash(git status)", "Bash", bash("git status"), true),
        ("Bash(git status)", "Bash", bash(" git status\n"), true),
        ("Bash(git status)", "Bash", bash("git status -s"), false),
        ("Bash(rm:*)", "Bash", bash("ls && rm -rf x"), true),
        ("Bash(rm:*)", "Bash", bash("echo $(rm -rf x)"), true),
        ("Bash(rm:*)", "Bash", bash("sudo -u me rm x"), true),
        ("Bash(rm:*)", "Bash", bash("A=b timeout 5 rm x"), true),
        ("Bash(rm:*)", "Bash", bash("if true; then rm x; fi"), true),
        ("Bash(rm:*)", "Bash", bash("echo 'a; rm x'"), false),
        ("Bash(rm:*)", "Bash", bash("\"rm\" x"), true),
        ("Bash(rm:*)", "Bash", bash("r\\m x"), true),
        ("Bash(rm -rf:*)", "Bash", bash("rm   -rf x"), true),
        ("Bash(rm -rf:*)", "Bash", bash("> log rm -rf x"), true),
        ("Edit(.claude)", "Edit", file("/home/dev/project/.claude/settings.json"), true),
        ("Edit(.claude)", "Write", file("/home/dev/project/.claude/settings.json"), true),
        ("Edit(.claude)", "Read", file("/home/dev/project/.claude/settings.json"), false),
        ("Read(.claude)", "Write", file("/home/dev/project/.claude/settings.json"), true),
        ("Write(/etc/*)", "Write", file("/home/dev/project/etc/hosts"), false),
        ("Edit(/etc/*)", "Write", file("/home/dev/project/etc/hosts"), true),
        ("Edit(//etc/*)", "Write", file("/etc/hosts"), true),
        ("Edit(/etc/*)", "Write", file("/etc/hosts"), false),
        ("Bash(npm run *)", "Bash", bash("npm run"), true),
        ("Bash(npm run *)", "Bash", bash("npm run a b"), true),
        ("Bash(npm run *)", "Bash", bash("npm running"), false),
        ("Bash(* --version)", "Bash", bash("node --version"), true),
        ("Bash(touch a\\*)", "Bash", bash("touch ab"), false),
        ("Bash(rm:*)", "Bash", bash("/bin/rm x"), true),
        ("Bash(rm:*)", "Bash", bash("X=rm; $X x"), true),
        ("Bash(rm:*)", "Bash", bash("f() { rm x; }; f"), true),
        ("Bash(rm:*)", "Bash", bash("case x in x) rm x;; esac"), true),
        ("Bash(rm:*)", "Bash", bash("cat <<EOF\n$(rm x)\nEOF"), true),
        ("Bash(rm:*)", "Bash", bash("cat <<'EOF'\n$(rm x)\nEOF"), false),
        ("Bash(rm:*)", "Bash", bash("r\\\nm x"), false),
        ("Bash(rm:*)", "Bash", bash("bash -c 'rm x'"), false),
        ("Read(src/**)", "Grep", json!({"pattern": "x", "path": "src/a"}), true),
        ("Edit(n/*)", "NotebookEdit", json!({"notebook_path": "n/a.ipynb"}), true),
        ("WebFetch(domain:example.com)", "WebFetch", json!({"url": "https://example.com/a"}), true),
        ("WebFetch(domain:example.com)", "WebFetch", json!({"url": "https://a.example.com/"}), false),
        ("WebFetch(domain:Example.com)", "WebFetch", json!({"url": "https://EXAMPLE.com"}), true),
        ("WebFetch(domain:*.example.com)", "WebFetch", json!({"url": "https://a.example.com/"}), true),
        ("WebFetch(domain:*.example.com)", "WebFetch", json!({"url": "https://example.com/"}), false),
        ("WebFetch(domain:*)", "WebFetch", json!({"url": "https://example.com/"}), true),
        ("WebFetch(example.com)", "WebFetch", json!({"url": "https://example.com/a"}), false),
        ("mcp__demo", "mcp__demo__add", json!({}), true),
        ("mcp__demo__*", "mcp__demo__add", json!({}), true),
        ("mcp__demo__add", "mcp__demo__add", json!({}), true),
        ("mcp__demo__add", "mcp__demo__add__more", json!({}), false),
        ("mcp__dem", "mcp__demo__add", json!({}), false),
        ("mcp__demo__add", "mcp__demo__sub", json!({}), false),
        ("mcp__demo", "Read", json!({}), false),
        ("Agent(Explore)", "Agent", json!({"subagent_type": "Explore"}), true),
        ("Task(Explore)", "Agent", json!({"subagent_type": "Explore"}), true),
        ("Agent(Explore)", "Task", json!({"subagent_type": "Plan"}), false),
        ("Task", "Agent", json!({}), true),
        ("Task", "TaskCreate", json!({}), false),
        ("Skill(greet)", "Skill", json!({"skill": "greet"}), true),
        ("Skill(greet)", "Skill", json!({"command": "other"}), false),
        ("Skill(gr:*)", "Skill", json!({"skill": "greet"}), true),
        ("TodoWrite(x)", "TodoWrite", json!({"x": "x"}), false),
    ]
}

#[test]
fn rules_match_as_in_the_table() {
    for (text, tool, input, expected) in cases() {
        assert_eq!(matches(text, tool, &input), expected, "{text} and {tool} {input}");
    }
}

#[test]
fn rules_without_effect_have_a_reason() {
    let idle = |text: &str, behaviour| rule(text).no_effect(behaviour).unwrap_or("it works");
    use Behaviour::{Allow, Ask, Deny};
    for (text, behaviour, reason) in [
        ("Write(src/**)", Deny, "only `Edit(path)`"),
        ("Grep(src/**)", Deny, "only `Edit(path)`"),
        ("Write(src/**)", Allow, "only `Edit(path)`"),
        ("*", Allow, "`*` in the name"),
        ("mcp__*", Allow, "`*` in the name"),
        ("mcp__*__add", Allow, "`*` in the name"),
        ("mcp__demo__add(*)", Allow, "have no content"),
        ("TodoWrite(x)", Allow, "have no content"),
        ("Read(../x/**)", Deny, "never matches"),
        ("Agent(Explore)", Ask, "single agent"),
        ("bash(touch:*)", Allow, "no tool has this name"),
        ("Bash( mkdir:* )", Allow, "blanks"),
        ("Bash( mkdir:*)", Allow, "blanks"),
    ] {
        assert!(idle(text, behaviour).contains(reason), "{text}: {}", idle(text, behaviour));
    }
    for (text, behaviour) in [
        ("mcp__*", Deny),
        ("mcp__demo__a*", Allow),
        ("Agent(Explore)", Deny),
        ("Bash(npm run *)", Allow),
        ("Edit(*)", Allow),
        ("Edit(src/*)", Allow),
        ("Bash", Allow),
        ("Brand", Allow),
    ] {
        assert_eq!(idle(text, behaviour), "it works", "{text}");
    }
}
