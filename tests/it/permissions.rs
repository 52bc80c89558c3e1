//! `permissions`: who decided about each call, what other settings would decide, and suggested rules.

use std::fs;

use serde_json::Value;

use crate::support::{ccstat, log, run, run_with};

fn rows(words: &[&str]) -> Vec<Value> {
    let (code, stdout, stderr) = run_with(&[&["permissions", "--json"], words].concat());
    // A broken rule is complained of, and the report is made.
    assert_eq!(code, 0, "{words:?}: {stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    report["rows"].as_array().unwrap().clone()
}

fn both(name: &str) -> [String; 2] {
    [format!("recordings/2.1.325/stream/{name}.jsonl"), format!("recordings/2.1.325/transcript/{name}")]
}

/// Tool, decision, who decided, the reason, the rule's scope, and whether someone was asked.
type DecisionRow<'a> = (&'a str, &'a str, &'a str, Option<&'a str>, Option<&'a str>, bool);

/// The owned form of a row.
type OwnedRow = (String, String, String, Option<String>, Option<String>, bool);

fn decision_rows(rows: &[Value]) -> Vec<OwnedRow> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let must = |value: &Value| value.as_str().unwrap_or("missing").to_owned();
    rows.iter()
        .filter(|row| row["sort"] == "call")
        .map(|row| {
            let (reason, rule) = (text(&row["reason"]), text(&row["rule"]));
            (
                must(&row["tool"]),
                must(&row["decision"]),
                must(&row["decided_by"]),
                reason,
                rule,
                row["asked"] == true,
            )
        })
        .collect()
}

/// The expected rows were read by a person from `tool_result_meta`, `permission_denied` and
/// `permissionDecision` of the recordings. For recording 73 the stream has the reason `mode`; the saved
/// session has a code (`mode:plan`) and the scopes of rules.
#[test]
fn decisions_are_as_recorded_in_both_dialects() {
    let cases: &[(&str, [&[DecisionRow<'_>]; 2])] = &[
        (
            "34-permission-denied-bash",
            [&[
                ("Bash", "denied", "config", None, None, false),
                ("Write", "denied", "config", None, None, false),
            ]; 2],
        ),
        (
            "35-permission-deny-rule",
            [
                &[("Bash", "denied", "config", Some("subcommandResults"), None, false)],
                &[("Bash", "denied", "config", Some("subcommandResults"), Some("cliArg"), false)],
            ],
        ),
        ("43-hook-denies", [&[("Bash", "denied", "hook", Some("hook"), None, false)]; 2]),
        (
            "53-control-protocol",
            [&[
                ("Bash", "allowed", "user_temporary", None, None, true),
                ("Bash", "denied", "user_reject", None, None, true),
            ]; 2],
        ),
        (
            "73-plan-mode-denied-write",
            [
                &[("Write", "denied", "config", Some("mode"), None, false)],
                &[("Write", "denied", "config", Some("mode:plan"), None, false)],
            ],
        ),
        ("77-askuserquestion-host", [&[("AskUserQuestion", "denied", "user_reject", None, None, true)]; 2]),
        (
            "88-subagent-denied-tool",
            [
                &[
                    ("Agent", "allowed", "config", Some("rule"), None, false),
                    ("Bash", "denied", "config", None, None, false),
                ],
                &[
                    ("Bash", "denied", "config", None, None, false),
                    ("Agent", "allowed", "config", Some("rule"), Some("cliArg"), false),
                ],
            ],
        ),
    ];
    for (name, dialects) in cases {
        for (path, wanted) in both(name).iter().zip(dialects) {
            let own = |text: Option<&str>| text.map(str::to_owned);
            let wanted: Vec<_> = wanted
                .iter()
                .map(|(tool, decision, by, reason, rule, asked)| {
                    (
                        (*tool).to_owned(),
                        (*decision).to_owned(),
                        (*by).to_owned(),
                        own(*reason),
                        own(*rule),
                        *asked,
                    )
                })
                .collect();
            assert_eq!(decision_rows(&rows(&[path])), wanted, "{path}");
        }
        // Read together, each call is still one row.
        let [stream, transcript] = both(name);
        assert_eq!(decision_rows(&rows(&[&stream, &transcript])).len(), dialects[0].len(), "{name}");
    }
}

#[test]
fn the_first_mode_and_each_change_of_it_are_rows() {
    for path in both("53-control-protocol") {
        let all = rows(&[&path]);
        let modes: Vec<&str> =
            all.iter().filter(|row| row["sort"] == "mode").map(|row| row["mode"].as_str().unwrap()).collect();
        assert_eq!(modes, ["default", "plan"], "{path}");
        assert!(all.iter().filter(|row| row["sort"] == "call").all(|row| row["mode"] == "default"));
    }
    assert_eq!(rows(&[&both("73-plan-mode-denied-write")[0]])[1]["mode"], "plan");
}

fn settings(permissions: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".claude/settings.json");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, format!(r#"{{"permissions":{permissions}}}"#)).unwrap();
    (folder, path.to_str().unwrap().to_owned())
}

#[test]
fn calls_that_a_rule_would_have_denied_come_first() {
    let log = "recordings/2.1.325/stream/15-read-edit-bash-chain.jsonl";
    let all = rows(&[log]);
    let last = all.iter().rfind(|row| row["tool"] == "Bash").unwrap();
    let (_folder, file) = settings(r#"{"deny":["Bash"],"allow":["Edit","Read","WebFetch(domain:x.org)"]}"#);
    let tried = rows(&["--settings", &file, log]);
    assert_eq!((&tried[0]["id"], &tried[0]["differs"]), (&last["id"], &true.into()));
    assert_eq!(
        (&tried[0]["would"], &tried[0]["would_by"]),
        (&"deny".into(), &"Bash (projectSettings)".into())
    );
    assert!(tried[1..].iter().all(|row| row["differs"] != true), "{tried:?}");
    let (_, screen, _) = run_with(&["permissions", "--settings", &file, log]);
    assert!(screen.contains("1 call would have been decided differently"), "{screen}");
    assert!(
        screen.contains("rules that match no call: allow WebFetch(domain:x.org) (projectSettings)"),
        "{screen}"
    );
}

#[test]
fn the_mode_of_a_trial_is_that_of_the_option_the_settings_or_the_recording() {
    let log = &both("73-plan-mode-denied-write")[0];
    let (_folder, none) = settings("{}");
    let (_other, accepts) = settings(r#"{"defaultMode":"acceptEdits"}"#);
    let would = |words: &[&str]| rows(&[words, &[log]].concat())[0]["would"].as_str().unwrap().to_owned();
    assert_eq!(would(&["--settings", &none]), "ask", "in plan mode, as recorded");
    assert_eq!(would(&["--settings", &accepts]), "allow");
    assert_eq!(would(&["--settings", &accepts, "--mode", "dontAsk"]), "deny");
}

#[test]
fn reading_in_the_folder_of_the_log_needs_no_rule() {
    let log = "recordings/2.1.325/stream/09-read.jsonl";
    let (_folder, file) = settings("{}");
    let tried = rows(&["--settings", &file, log]);
    assert_eq!((&tried[0]["would"], &tried[0]["differs"]), (&"allow".into(), &false.into()));
    assert_eq!(tried[0]["would_by"], "inside the working folders");
}

#[test]
fn a_call_that_a_person_approved_does_not_differ_from_a_question() {
    let (_folder, file) = settings("{}");
    for log in both("53-control-protocol") {
        let tried = rows(&["--settings", &file, &log]);
        let ended: Vec<_> =
            tried.iter().map(|row| (&row["decision"], &row["would"], &row["differs"])).collect();
        assert!(ended.contains(&(&"allowed".into(), &"ask".into(), &false.into())), "{log}: {ended:?}");
        let (_, screen, _) = run_with(&["permissions", "--settings", &file, &log]);
        assert!(screen.contains("the settings agree with 2 of them (100 %)"), "{screen}");
    }
}

#[test]
fn rules_without_effect_are_named() {
    let log = &both("34-permission-denied-bash")[0];
    let (_folder, file) =
        settings(r#"{"deny":["Write(src/**)","Grep(x)"],"allow":["mcp__*","Bash(npm run *)"]}"#);
    let (_, screen, _) = run_with(&["permissions", "--settings", &file, log]);
    for rule in ["deny Write(src/**)", "deny Grep(x)", "allow mcp__*"] {
        assert!(screen.contains(&format!("! {rule} (projectSettings): ")), "{rule}: {screen}");
    }
    assert!(!screen.contains("! allow Bash(npm run *)"), "{screen}");
}

#[test]
fn an_invalid_rule_is_ignored_and_reported_and_fails_if_requested() {
    let log = &both("34-permission-denied-bash")[0];
    let (_folder, file) = settings(r#"{"allow":["Bash(npm","Bash(touch:*)"]}"#);
    let broken = "`permissions.allow[0]` is not a rule and is dropped";
    for format in ["table", "json", "markdown"] {
        let (code, stdout, stderr) = run_with(&["permissions", "--format", format, "--settings", &file, log]);
        assert_eq!(code, 0, "{stderr}");
        assert!(stderr.contains(broken) && stdout.contains("is dropped"), "{format}: {stderr}{stdout}");
    }
    assert_eq!(rows(&["--settings", &file, log])[0]["would"], "allow", "the other rule holds");
    let fail = |file: &str| run_with(&["permissions", "--settings", file, "--fail-on", "invalid", log]).0;
    assert_eq!(fail(&file), 1);
    let (_other, good) = settings(r#"{"allow":["Bash(npm:*)"]}"#);
    assert_eq!(fail(&good), 0);
    // The kinds are the same as for other commands, so a default for all commands works here too.
    assert_eq!(run_with(&["permissions", "--fail-on", "denial", log]).0, 1);
    assert_eq!(run_with(&["permissions", "--fail-on", "invalid", log]).0, 0);
}

#[test]
fn defaults_of_a_configuration_file_apply_to_subcommands() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("ccstat.toml");
    fs::write(&config, "format = \"json\"\nfail-on = \"denial\"\n[permissions]\nmode = \"acceptEdits\"\n")
        .unwrap();
    let config = config.to_str().unwrap();
    let (code, stdout, stderr) = run_with(&["--config", config, "permissions", "test", "--", "touch x"]);
    assert_eq!(code, 0, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["rows"][0]["would_by"], "mode acceptEdits");
}

#[test]
fn the_scope_of_a_file_is_that_of_its_path_or_of_the_option() {
    let log = &both("34-permission-denied-bash")[0];
    let (folder, project) = settings(r#"{"allow":["Bash(touch:*)"]}"#);
    let other = folder.path().join("strict.json");
    fs::copy(&project, &other).unwrap();
    let other = other.to_str().unwrap();
    let by = |words: &[&str]| rows(&[words, &[log]].concat())[0]["would_by"].as_str().unwrap().to_owned();
    assert_eq!(by(&["--settings", &project]), "Bash(touch:*) (projectSettings)");
    assert_eq!(by(&["--settings", other]), "Bash(touch:*) (flagSettings)");
    assert_eq!(by(&["--settings", other, "--scope", "userSettings"]), "Bash(touch:*) (userSettings)");
    let two =
        ["--settings", other, "--scope", "userSettings", "--settings", &project, "--scope", "localSettings"];
    assert_eq!(by(&two), "Bash(touch:*) (localSettings)");
    let three = [&two[..], &["--scope", "session", log]].concat();
    assert_eq!(run_with(&[&["permissions"], &three[..]].concat()).0, 2, "one for each file");
}

#[test]
fn the_allow_rules_of_an_untrusted_checkout_are_ignored() {
    let log = &both("34-permission-denied-bash")[0];
    let (_folder, file) = settings(r#"{"allow":["Bash(touch:*)"],"deny":["Edit(denied2.txt)"]}"#);
    let would = |words: &[&str]| {
        let rows = rows(&[&["--settings", &file], words, &[log]].concat());
        let of = |tool: &str| rows.iter().find(|row| row["tool"] == tool).unwrap()["would"].clone();
        (of("Bash"), of("Write"))
    };
    assert_eq!(would(&[]), ("allow".into(), "deny".into()));
    assert_eq!(would(&["--untrusted"]), ("ask".into(), "deny".into()));
    assert_eq!(would(&["--untrusted", "--scope", "localSettings"]), ("allow".into(), "deny".into()));
    let (_, screen, _) = run_with(&["permissions", "--settings", &file, log]);
    assert!(
        screen.contains("1 allow rule or folder in the project's file: valid only in a trusted folder"),
        "{screen}"
    );
}

#[test]
fn an_invalid_settings_file_is_reported_with_key_and_reason() {
    let log = &both("34-permission-denied-bash")[0];
    for (permissions, words) in [
        (r#"{"deny":"Bash"}"#, ["permissions.deny", "a list"]),
        (r#"{"defaultMode":"acceptEdit"}"#, ["permissions.defaultMode", "acceptEdits"]),
    ] {
        let (_folder, file) = settings(permissions);
        let (code, stdout, stderr) = run_with(&["permissions", "--settings", &file, log]);
        assert_eq!((code, &*stdout), (2, ""), "{stderr}");
        assert!(
            stderr.contains("settings.json") && words.iter().all(|word| stderr.contains(word)),
            "{stderr}"
        );
    }
}

fn suggested(words: &[&str]) -> Vec<(Option<String>, u64, Option<String>)> {
    rows(&[&["--suggest"], words].concat())
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().map(str::to_owned);
            (text("rule"), row["calls"].as_u64().unwrap(), text("warning"))
        })
        .collect()
}

#[test]
fn no_covered_call_is_denied_with_the_suggested_rules() {
    for name in ["34-permission-denied-bash", "88-subagent-denied-tool"] {
        let log = &both(name)[0];
        for breadth in ["exact", "prefix", "tool"] {
            let suggested = rows(&["--suggest", "--breadth", breadth, log]);
            let rules: Vec<&str> = suggested.iter().filter_map(|row| row["rule"].as_str()).collect();
            // The hook denied a command that needs no rule.
            assert_eq!(rules.is_empty(), name == "43-hook-denies", "{name} {breadth}: {suggested:?}");
            let covered: Vec<&Value> = suggested
                .iter()
                .filter(|row| !row["rule"].is_null())
                .flat_map(|row| row["covers"].as_array().unwrap())
                .collect();
            let (_folder, file) = settings(&serde_json::json!({ "allow": rules }).to_string());
            for row in rows(&["--settings", &file, log]) {
                if covered.contains(&&row["id"]) {
                    assert_eq!(row["would"], "allow", "{name} {breadth}: {row}");
                }
            }
        }
    }
}

#[test]
fn a_call_that_no_rule_can_allow_gets_a_reason() {
    for (name, reason) in [
        ("35-permission-deny-rule", "refused by a deny or ask rule"),
        ("43-hook-denies", "refused by a hook"),
        ("53-control-protocol", "refused by a person or a host"),
        ("54-interrupt", "refused or interrupted by a person"),
        ("73-plan-mode-denied-write", "refused by plan mode"),
    ] {
        for log in both(name) {
            for breadth in ["exact", "prefix", "tool"] {
                let seen = suggested(&["--breadth", breadth, &log]);
                assert!(!seen.is_empty(), "{log}");
                for (rule, _, warning) in &seen {
                    assert!(rule.is_none(), "{log} {breadth}: {seen:?}");
                    assert!(warning.as_ref().is_some_and(|why| why.starts_with(reason)), "{log}: {seen:?}");
                }
            }
            let (code, stdout, _) = run_with(&["permissions", "--suggest", &log]);
            assert!(code == 0 && stdout.contains(&format!("1 call gets no rule: {reason}")), "{stdout}");
            assert!(!stdout.contains("--allowed-tools"), "{stdout}");
        }
    }
}

#[test]
fn denials_of_old_versions_are_distinguished_by_their_texts() {
    let seen = |text: &str| {
        let ask = serde_json::json!({"type": "assistant", "sessionId": "s", "uuid": "a", "parentUuid": null, "message": {"id": "m",
            "role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "npm test"}}]}});
        let answer = serde_json::json!({"type": "user", "sessionId": "s", "uuid": "b", "parentUuid": "a", "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": text}]}});
        let log = log(format!("{ask}\n{answer}\n"));
        suggested(&[log.path().to_str().unwrap()])
    };
    let rule = |rule: &str| vec![(Some(rule.to_owned()), 1, None)];
    assert_eq!(seen("This command requires approval"), rule("Bash(npm test)"));
    for text in [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "Permission to use Bash with command npm test has been denied.",
        "PreToolUse:Bash hook error: [exit 2]: no",
    ] {
        assert!(matches!(&seen(text)[..], [(None, 1, Some(_))]), "{text}");
    }
}

#[test]
fn text_to_paste_is_never_wrapped() {
    let long = format!("make {}", "word ".repeat(30).trim_end());
    let log = refused(&[&long, "npm test", &format!("rm -rf {}", "folder ".repeat(20).trim_end())]);
    let path = log.path().to_str().unwrap();
    for columns in ["40", "80"] {
        let (_, stdout, _) = run(ccstat(&["permissions", "--suggest", path]).env("COLUMNS", columns));
        let pasted: Vec<&str> = stdout.lines().filter(|line| line.starts_with(['{', '-'])).collect();
        let snippet: Value = serde_json::from_str(pasted[pasted.len() - 2]).unwrap();
        let rules = [format!("Bash({long})"), "Bash(npm test)".to_owned()];
        assert_eq!(snippet, serde_json::json!({"permissions": {"allow": rules}}), "{stdout}");
        let command = format!("--allowed-tools 'Bash({long})' 'Bash(npm test)'");
        assert_eq!(pasted[pasted.len() - 1], command, "{stdout}");
        let warned = format!("\nBash(rm -rf {})\n", "folder ".repeat(20).trim_end());
        assert!(stdout.contains(&warned), "{stdout}");
    }
}

#[test]
fn rules_that_help_the_most_runs_come_first() {
    let logs = [
        refused_in("a", &["npm test", "npm test", "npm test"]),
        refused_in("b", &["make"]),
        refused_in("c", &["make"]),
    ];
    let paths: Vec<&str> = logs.iter().map(|log| log.path().to_str().unwrap()).collect();
    let ranked: Vec<_> = rows(&[&["--suggest"], &paths[..]].concat())
        .iter()
        .map(|row| (row["rule"].clone(), row["runs"].clone(), row["calls"].clone()))
        .collect();
    assert_eq!(
        ranked,
        [("Bash(make)".into(), 2.into(), 2.into()), ("Bash(npm test)".into(), 1.into(), 3.into())]
    );
}

/// Writes a log in which these commands were denied.
fn refused(commands: &[&str]) -> tempfile::NamedTempFile {
    refused_in("s", commands)
}

/// Writes a log of a session with this id in which these commands were denied.
fn refused_in(session: &str, commands: &[&str]) -> tempfile::NamedTempFile {
    let mut lines = String::new();
    for (at, command) in commands.iter().enumerate() {
        let at = format!("{session}{at}");
        let ask = serde_json::json!({"type": "assistant", "session_id": session, "message": {"id": format!("m{at}"), "role": "assistant",
            "content": [{"type": "tool_use", "id": format!("t{at}"), "name": "Bash", "input": {"command": command}}]}});
        let denial = serde_json::json!({"type": "system", "subtype": "permission_denied", "session_id": session, "tool_name": "Bash",
            "tool_use_id": format!("t{at}")});
        lines.push_str(&format!("{ask}\n{denial}\n"));
    }
    log(lines)
}

#[test]
fn destructive_commands_get_a_warning_and_no_rule_for_other_commands_covers_them() {
    let log = refused(&["npm test", "rm -rf / && npm test", "git status; curl x | sh", "echo $(date)"]);
    let path = log.path().to_str().unwrap();
    let seen = suggested(&["--breadth", "prefix", path]);
    let plain: Vec<_> =
        seen.iter().filter(|(rule, _, warning)| rule.is_some() && warning.is_none()).collect();
    assert!(
        plain.iter().all(|(rule, ..)| !["(rm", "curl", "| sh"]
            .iter()
            .any(|word| rule.as_ref().unwrap().contains(word)))
    );
    let warned: Vec<&String> = seen
        .iter()
        .filter(|(_, _, warning)| warning.is_some())
        .filter_map(|(rule, ..)| rule.as_ref())
        .collect();
    assert!(
        warned.iter().all(|rule| !rule.contains(":*")),
        "a dangerous command is allowed exactly or not at all: {seen:?}"
    );
    assert!(seen.iter().any(|(rule, _, warning)| rule.is_none() && warning.is_some()), "{seen:?}");
    // The rule for `npm test` does not allow the other command.
    let alone = refused(&["npm test"]);
    let rules: Vec<String> =
        suggested(&[alone.path().to_str().unwrap()]).into_iter().filter_map(|(rule, ..)| rule).collect();
    let (_folder, file) = settings(&serde_json::json!({ "allow": rules }).to_string());
    let would: Vec<Value> = rows(&["--settings", &file, "--mode", "default", path])
        .iter()
        .map(|row| row["would"].clone())
        .collect();
    assert_eq!(would.iter().filter(|would| *would == "allow").count(), 1, "{would:?}");
}

#[test]
fn a_log_without_calls_or_denials_is_reported_as_such() {
    let none = "recordings/2.1.325/stream/01-simple-text.jsonl";
    let (code, stdout, _) = run_with(&["permissions", none]);
    assert!(code == 0 && stdout.contains("no tool was called"), "{stdout}");
    let (code, stdout, _) = run_with(&["permissions", "--suggest", none]);
    assert!(code == 0 && stdout.contains("nothing to suggest"), "{stdout}");
}
