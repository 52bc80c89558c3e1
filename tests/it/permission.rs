//! Compares the permission model with the decisions of 2.1.325 and 2.1.326, and its command parser with bash.

use std::{fs, process::Command};

use ccstat::internal::permission::{
    Behaviour, Breadth, Call, Context, Decision, Mode, Rule, Scope, Settings, check, folder_after, split,
    suggest,
};
use serde_json::{Value, json};

use crate::support::{recording, run_with, testdata};

/// Returns the calls of a recording, in order: tool and input.
fn calls(name: &str) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(recording(&format!("stream/{name}.jsonl"))).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let blocks = lines
        .filter(|line| line["type"] == "assistant")
        .flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
    let uses = blocks.filter(|block| block["type"] == "tool_use");
    uses.map(|block| (block["name"].as_str().unwrap().to_owned(), block["input"].clone())).collect()
}

/// Makes the context of a run with these options; `avoid_prompts` if nobody could be asked.
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

/// Tools of calls, each with the decision.
type Decided = &'static [(&'static str, Decision)];

#[test]
fn the_model_agrees_with_the_recordings() {
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
        // Allowed without a rule.
        ("55-json-schema", &alone, &[("StructuredOutput", Decision::Allow)]),
        ("73-plan-mode-denied-write", &plan, &[("Write", Decision::Deny)]),
        ("77-askuserquestion-host", &hosted, &[("AskUserQuestion", Decision::Ask)]),
        ("78-enterplanmode-host", &hosted, &[("EnterPlanMode", Decision::Allow)]),
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
fn the_suggestions_for_a_recording_allow_its_denied_calls() {
    let calls = calls("34-permission-denied-bash");
    let denied: Vec<Call<'_>> =
        calls.iter().map(|(tool, input)| Call { tool, input, cwd: Some("/home/dev/project") }).collect();
    let suggestions = suggest(&denied, Breadth::Exact, Some("/home/dev/project"));
    let rules: Vec<String> = suggestions.rules.iter().map(|one| one.rule.to_string()).collect();
    assert_eq!(rules, ["Bash(touch denied.txt)", "Edit(//home/dev/project/denied2.txt)"]);
    assert!(suggestions.refused.is_empty() && suggestions.rules.iter().all(|one| one.warning.is_none()));
}

/// Returns the labelled calls: settings, calls, and the decisions of 2.1.326.
fn cases() -> Vec<Value> {
    let text = fs::read_to_string(testdata("permissions/cases.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the decisions of the model about the calls of a case, in order.
fn predicted(case: &Value) -> Vec<Decision> {
    let files: Vec<Settings> = case["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let path = format!("/{}", file["path"].as_str().unwrap());
            let scope = Settings::scope_of(&path, Some("/home/dev"));
            Settings::read(&path, &file["json"].to_string(), Some(scope)).unwrap()
        })
        .collect();
    let mut context = Context::from_settings(&files);
    if files.iter().all(|file| file.mode.is_none()) {
        context.mode = Mode::named(case["mode"].as_str().unwrap()).unwrap();
    }
    let project = case["cwd"].as_str().unwrap();
    context.project = Some(project.to_owned());
    let mut folder = project.to_owned();
    let decide = |made: &Value| {
        let cwd = folder.clone();
        let call = Call { tool: made["tool"].as_str().unwrap(), input: &made["input"], cwd: Some(&cwd) };
        let decision = check(&context, &call).decision;
        if decision == Decision::Allow {
            folder = folder_after(&context, &call).unwrap_or(cwd.clone());
        }
        decision
    };
    case["calls"].as_array().unwrap().iter().map(decide).collect()
}

/// The accuracy of the model. It is wrong only about symbolic links, which logs do not show.
#[test]
fn the_model_decides_as_the_cli_did_in_97_of_100_labelled_calls() {
    let (mut all, mut right, mut open, mut allowed, mut unsafe_) = (0, 0, 0, 0, 0);
    let mut wrong = Vec::new();
    for case in cases() {
        for (made, would) in case["calls"].as_array().unwrap().iter().zip(predicted(&case)) {
            let Some(real) = made["real"].as_str() else { continue };
            let agrees = would.to_string() == real;
            all += 1;
            right += usize::from(agrees);
            open += usize::from(would == Decision::ToolDecides);
            allowed += usize::from(would == Decision::Allow);
            unsafe_ += usize::from(would == Decision::Allow && !agrees);
            if !agrees {
                wrong.push(format!(
                    "{} {} {}: says {would}, the CLI {real}",
                    case["group"], made["tool"], made["input"]
                ));
            }
        }
    }
    assert!(all > 1_700, "{all}");
    let listed = wrong.join("\n");
    assert!(right * 100 >= all * 97, "right in {right} of {all}:\n{listed}");
    assert!(unsafe_ * 100 <= allowed, "{unsafe_} of {allowed} allows are wrong:\n{listed}");
    assert!(open * 100 <= all * 3, "no prediction for {open} of {all}");
}

/// Writes a log of a case in the form of 2.1.325: each call with its decision. Questions are alternately
/// approved and denied by a person.
fn log_of(case: &Value) -> String {
    let session = "00000000-0000-4000-8000-000000000001";
    let mut lines = vec![
        json!({"type": "system", "subtype": "init", "cwd": case["cwd"], "session_id": session, "permissionMode": case["mode"],
        "tools": [], "model": "claude-opus-5-5", "claude_code_version": "2.1.326"}),
    ];
    for (at, made) in case["calls"].as_array().unwrap().iter().enumerate() {
        let id = format!("toolu_{at}");
        let (decision, source) = match made["real"].as_str() {
            Some("allow") => ("accept", "config"),
            Some("deny") => ("reject", "config"),
            Some("ask") if at % 2 == 0 => ("accept", "user_temporary"),
            Some("ask") => ("reject", "user_reject"),
            _ => continue,
        };
        let ended = decision == "reject";
        lines.push(json!({"type": "assistant", "session_id": session, "message": {"id": format!("msg_{at}"), "role": "assistant",
            "content": [{"type": "tool_use", "id": id, "name": made["tool"], "input": made["input"]}]}}));
        lines.push(json!({"type": "user", "session_id": session,
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "", "is_error": ended}]},
            "tool_result_meta": [{"id": id, "permission_decision": {"decision": decision, "source": source}}]}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn with_the_settings_of_a_log_few_rows_differ_and_the_agreement_is_shown() {
    let (mut rows, mut differing, mut noted) = (0, 0, 0);
    // Each case runs the program, so every fifth one is enough.
    for case in cases().iter().step_by(5) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home/dev");
        let log = folder.path().join("run.jsonl");
        fs::write(&log, log_of(case)).unwrap();
        let mut words = vec!["permissions".to_owned(), "--json".to_owned(), log.to_str().unwrap().to_owned()];
        for file in case["settings"].as_array().unwrap() {
            let path = folder.path().join(file["path"].as_str().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, file["json"].to_string()).unwrap();
            words.extend(["--settings".to_owned(), path.to_str().unwrap().to_owned()]);
        }
        let mut command = Command::new(crate::support::program());
        let output = command.args(&words).env("HOME", &home).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        for row in report["rows"].as_array().unwrap() {
            rows += 1;
            if row["differs"] == true {
                differing += 1;
                assert!(row["why"].is_string(), "each row that differs says why it may: {row}");
            }
        }
        let notes = report["notes"].to_string();
        noted += usize::from(notes.contains("the settings agree with"));
    }
    assert!(rows > 200, "{rows}");
    assert!(differing * 100 <= rows * 3, "{differing} of {rows} rows differ");
    assert!(noted > 20, "{noted}");
}

#[test]
fn the_suggestions_for_every_denied_call_allow_it() {
    for case in cases() {
        let project = case["cwd"].as_str().unwrap();
        let made: Vec<&Value> =
            case["calls"].as_array().unwrap().iter().filter(|made| made["real"] == "ask").collect();
        for breadth in [Breadth::Exact, Breadth::Prefix, Breadth::Tool] {
            for made in &made {
                let call =
                    Call { tool: made["tool"].as_str().unwrap(), input: &made["input"], cwd: Some(project) };
                let suggestions = suggest(&[call], breadth, Some(project));
                let mut context = Context::new(Mode::Default);
                for one in &suggestions.rules {
                    context.add(Behaviour::Allow, Scope::Session, one.rule.clone());
                    assert!(one.rule.no_effect(Behaviour::Allow).is_none(), "{}", one.rule);
                }
                let promised = !suggestions.rules.is_empty();
                assert_eq!(promised, suggestions.refused.is_empty(), "{made}");
                assert!(
                    !promised || check(&context, &call).decision == Decision::Allow,
                    "{made} by {suggestions:?}"
                );
            }
        }
    }
}

#[test]
fn a_rule_can_be_tested_on_a_command_without_a_log() {
    let tried = |words: &[&str]| {
        let (code, stdout, stderr) =
            run_with(&[&["permissions", "test", "--json", "--folder", "/home/dev/project"], words].concat());
        assert_eq!(code, 0, "{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let cell =
            |row: &Value| ["what", "would", "would_by"].map(|key| row[key].as_str().unwrap().to_owned());
        let rows: Vec<[String; 3]> = report["rows"].as_array().unwrap().iter().map(cell).collect();
        (rows, report["notes"].to_string())
    };
    let (rows, notes) = tried(&["Bash(npm run *)", "--", "npm run build && rm -rf x"]);
    let expected = [
        ["npm run build && rm -rf x", "ask", "no rule"],
        ["npm run build", "allow", "Bash(npm run *) (cliArg)"],
        ["rm -rf x", "ask", "no rule"],
    ];
    assert_eq!(rows, expected.map(|row| row.map(str::to_owned)));
    assert!(notes.contains("a person would be asked: no rule"), "{notes}");
    let (rows, _) = tried(&["--deny", "Read(./secret/**)", "Bash", "--", "cat", "secret/k"]);
    assert_eq!(rows[0][1..], ["deny", "Read(./secret/**) (cliArg)"]);
    let (rows, notes) = tried(&["Write(src/**)", "--tool", "Write", "--", "src/a"]);
    assert_eq!((&*rows[0][1], notes.contains("only `Edit(path)`")), ("ask", true), "{notes}");
    let (rows, _) = tried(&["--mode", "acceptEdits", "--", "touch x"]);
    assert_eq!(rows[0][1..], ["allow", "mode acceptEdits"]);
}

/// Asks bash which commands it would run. All programs are unknown, and the handler for unknown commands
/// prints the words.
fn bash(command: &str) -> Option<Vec<Vec<String>>> {
    let handler = "command_not_found_handle() { printf '%s\\x1f' \"$@\" >&9; printf '\\x1e' >&9; }\n";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let script = format!("{handler}exec 9>'{}'\n{command}\nwait\n", out.display());
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &script])
        .env_clear()
        .env("PATH", "/nowhere")
        .current_dir(folder.path())
        .output()
        .ok()?;
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.contains("syntax error"), "{command}: {output}");
    let text = fs::read_to_string(&out).ok()?;
    let words = |part: &str| part.split_terminator('\u{1f}').map(str::to_owned).collect();
    Some(text.split_terminator('\u{1e}').map(words).collect())
}

/// The programs `a` to `c` do not exist, and running them succeeds. Every command that bash runs must be
/// among the parts, word by word, except for the values of expansions.
#[test]
fn commands_are_split_as_in_bash() {
    for command in [
        "a x",
        "a 'x y' \"z w\"",
        "a || b",
        "a; b; c",
        "a x || b y; c",
        "! a && b",
        "a\nb\n\nc",
        "a 2> err; b > out x",
        "a < /dev/null; b",
        "a # b\nc",
        "a x\\y",
        "\\a x",
        "\"a\" x",
        "a''b x",
        "a \\\n x",
        "ab\\\ncd x",
        "if ! a; then b; fi",
        "if a; then b; else c; fi",
        "while ! a; do b; break; done",
        "until a; do b; break; done",
        "[[ -f nothing && x < y ]] || a",
        "[[ x == x || -f y ]] && a",
        "a $((1 + 2))",
        "a \"$(cat <<'EOF'\nx; y\nEOF\n)\" && b || c",
    ] {
        let Some(ran) = bash(command) else { return };
        let parts = split(command).unwrap_or_else(|why| panic!("{command}: {why}"));
        for one in &ran {
            let same = |(word, other): (&ccstat::internal::permission::Word, &String)| {
                word.text == *other || word.expands
            };
            let known = |part: &ccstat::internal::permission::Part| {
                part.core().len() == one.len() && part.core().iter().zip(one).all(same)
            };
            assert!(parts.iter().any(known), "bash runs {one:?} of `{command}`, the parts are {parts:?}");
        }
        assert!(!ran.is_empty(), "{command}");
    }
}

/// Deny rules match everything that bash runs of these commands, although they cannot be split.
#[test]
fn commands_in_functions_cases_and_variables_are_denied() {
    let rule = Rule::parse("Bash(zz:*)").unwrap();
    for command in [
        "(zz x)",
        "{ zz x; }",
        "f() { zz x; }; f",
        "case x in x) zz x;; esac",
        "X=zz; $X x",
        "for i in a; do zz $i; done",
        "if true; then zz x; fi",
        "while true; do zz x; break; done",
        "[[ -d . ]] && zz x",
        "! zz x",
        "echo $(zz x)",
        "echo `zz x`",
        "Y=$(zz x)",
        "read -r y <<EOF\n$(zz x)\nEOF",
        "z''z x",
        "\"zz\" x",
        "\\zz x",
        "true & zz x",
    ] {
        let Some(ran) = bash(command) else { return };
        assert!(ran.iter().any(|one| one[0] == "zz"), "bash runs it: {command}: {ran:?}");
        let input = json!({ "command": command });
        assert!(rule.matches(&Call { tool: "Bash", input: &input, cwd: None }), "{command}");
    }
}
