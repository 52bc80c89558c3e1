//! The permission model beside what 2.1.325 really decided.

use ccstat::permission::{Behaviour, Breadth, Call, Context, Decision, Mode, Rule, Scope, check, suggest};
use serde_json::Value;

use crate::support::recording;

/// The calls of a recording, in order: tool and input.
fn calls(name: &str) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(recording(&format!("stream/{name}.jsonl"))).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let blocks = lines
        .filter(|line| line["type"] == "assistant")
        .flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
    let uses = blocks.filter(|block| block["type"] == "tool_use");
    uses.map(|block| (block["name"].as_str().unwrap().to_owned(), block["input"].clone())).collect()
}

/// The context of a run: what was given on its command line, and whether somebody could be asked.
fn context(mode: Mode, rules: &[(Behaviour, &str)], avoid_prompts: bool) -> Context {
    let mut context = Context::new(mode);
    context.avoid_prompts = avoid_prompts;
    for (behaviour, rule) in rules {
        context.add(*behaviour, Scope::CliArg, Rule::parse(rule).unwrap());
    }
    context
}

fn decisions(name: &str, context: &Context) -> Vec<(String, Decision)> {
    let decide = |(tool, input): (String, Value)| {
        let call = Call { tool: &tool, input: &input, cwd: Some("/home/dev/project") };
        let decision = check(context, &call).decision;
        (tool, decision)
    };
    calls(name).into_iter().map(decide).collect()
}

/// Tools, each with what becomes of its call.
type Decided = &'static [(&'static str, Decision)];

#[test]
fn the_model_decides_as_the_recordings_do() {
    use Behaviour::{Allow, Deny};
    let alone = context(Mode::Default, &[], true);
    let hosted = context(Mode::Default, &[], false);
    let plan = context(Mode::Plan, &[], true);
    let hosted_plan = context(Mode::Plan, &[], false);
    let no_curl = context(Mode::Default, &[(Allow, "Bash"), (Deny, "Bash(curl:*)")], true);
    let any_bash = context(Mode::Default, &[(Allow, "Bash")], true);
    let demo = context(Mode::Default, &[(Allow, "mcp__demo__add")], true);
    let cases: [(&str, &Context, Decided); 10] = [
        ("34-permission-denied-bash", &alone, &[("Bash", Decision::Deny), ("Write", Decision::Deny)]),
        ("35-permission-deny-rule", &no_curl, &[("Bash", Decision::Deny)]),
        ("44-mcp-tool", &demo, &[("mcp__demo__add", Decision::Allow)]),
        ("53-control-protocol", &hosted, &[("Bash", Decision::Ask), ("Bash", Decision::Ask)]),
        // Let through without a rule: the tool decided.
        ("55-json-schema", &alone, &[("StructuredOutput", Decision::ToolDecides)]),
        ("73-plan-mode-denied-write", &plan, &[("Write", Decision::Deny)]),
        ("77-askuserquestion-host", &hosted, &[("AskUserQuestion", Decision::Ask)]),
        ("78-enterplanmode-host", &hosted, &[("EnterPlanMode", Decision::ToolDecides)]),
        ("96-exitplanmode-host", &hosted_plan, &[("ExitPlanMode", Decision::Ask)]),
        ("98-long-tool-40s", &any_bash, &[("Bash", Decision::Allow)]),
    ];
    for (name, context, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(tool, decision)| ((*tool).to_owned(), *decision)).collect();
        assert_eq!(decisions(name, context), expected, "{name}");
    }
}

#[test]
fn suggestions_for_a_recording_let_its_refused_calls_through() {
    let calls = calls("34-permission-denied-bash");
    let denied: Vec<Call<'_>> =
        calls.iter().map(|(tool, input)| Call { tool, input, cwd: Some("/home/dev/project") }).collect();
    let suggestions = suggest(&denied, Breadth::Exact, Some("/home/dev/project"));
    let rules: Vec<String> = suggestions.rules.iter().map(|one| one.rule.to_string()).collect();
    assert_eq!(rules, ["Bash(touch denied.txt)", "Edit(//home/dev/project/denied2.txt)"]);
    assert!(suggestions.refused.is_empty() && suggestions.rules.iter().all(|one| one.warning.is_none()));
}
