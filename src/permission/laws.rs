//! What holds for any text.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Texts of the letters that matter to rules and shells.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(
            proptest::sample::select(
                &[
                    "npm", "rm", " -rf ", "git", "/", "x", " ", "&&", "||", ";", "|", "&", "\n", "'", "\"",
                    "\\", "$", "(", ")", "${", "}", "`", "<", ">", "<<", "<<-", "EOF", ":*", "*", "**", "~",
                    "..", "é", "=", "#", "sudo ", "xargs ", "eval ", "if ", "{", "2>&1", "\u{a0}", "\u{b}",
                    "\r", "🦀",
                ][..]
            ),
            0..24
        )
        .prop_map(|words| words.concat()),
        any::<String>(),
    ]
}

/// Simple commands without danger, and some with.
fn simple() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(
        &[
            "npm test",
            "npm ci",
            "npm test -- --watch",
            "ls -la",
            "git status",
            "git push",
            "git push --force",
            "rm x",
            "rm -rf x",
            "echo 'a; b'",
            "curl x",
            "sh",
            "cat a > b",
            "A=b npm test",
            "echo $(date)",
            "cargo build",
        ][..],
    )
}

fn compound() -> impl Strategy<Value = String> {
    let operator = proptest::sample::select(&[" && ", "; ", " | ", " || ", "\n"][..]);
    (simple(), proptest::collection::vec((operator, simple()), 0..3)).prop_map(|(first, rest)| {
        rest.into_iter().fold(first.to_owned(), |text, (operator, next)| text + operator + next)
    })
}

fn parts(command: &str) -> Option<Vec<String>> {
    split(command).ok().map(|parts| parts.into_iter().map(|part| part.text).collect())
}

fn context(rules: &[Suggested]) -> Context {
    let mut context = Context::new(Mode::Default);
    for one in rules {
        context.add(Behaviour::Allow, Scope::Session, one.rule.clone());
    }
    context
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_anything_panic(rule in hostile(), command in hostile(), path in hostile()) {
        let parsed = [Rule::parse(&rule), Rule::parse(&format!("Bash({rule})")), Rule::parse(&format!("Edit({rule})"))];
        let _ = (rule_list(&rule), split(&command), Settings::read("s.json", &rule, None), Settings::scope_of(&path));
        for mode in [Mode::Default, Mode::AcceptEdits] {
            let mut context = Context::new(mode);
            for rule in parsed.iter().flatten() {
                Behaviour::ALL.iter().for_each(|behaviour| context.add(*behaviour, Scope::User, rule.clone()));
                prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule.clone()));
            }
            let input = json!({"command": command, "file_path": path, "url": path, "pattern": path});
            for tool in ["Bash", "Edit", "Glob", "WebFetch", &*rule] {
                let call = Call { tool, input: &input, cwd: Some(&rule) };
                let _ = (check(&context, &call), danger(&call, Some(&path)), context.clone().approve_always(&call));
                let _ = (suggest(&[call], Breadth::Prefix, None), unmatched(&context, [call]));
            }
        }
    }

    #[test]
    fn halves_of_a_rule_survive_writing(content in hostile()) {
        if let Ok(rule) = Rule::of("Bash", Some(&content)) {
            prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn what_is_approved_always_is_allowed(command in hostile()) {
        let input = json!({ "command": command });
        let call = Call { tool: "Bash", input: &input, cwd: None };
        let mut context = Context::new(Mode::Default);
        if context.approve_always(&call).is_some() {
            prop_assert_eq!(check(&context, &call).decision, Decision::Allow);
        }
    }

    #[test]
    fn suggestions_let_through_what_they_cover_and_no_part_that_nobody_ran(
        denied in proptest::collection::vec(compound(), 1..4),
        probe in compound(),
    ) {
        let inputs: Vec<_> = denied.iter().map(|command| json!({ "command": command })).collect();
        let calls: Vec<_> = inputs.iter().map(|input| Call { tool: "Bash", input, cwd: Some("/p") }).collect();
        for breadth in [Breadth::Exact, Breadth::Prefix, Breadth::Tool] {
            let suggestions = suggest(&calls, breadth, Some("/p"));
            let context = context(&suggestions.rules);
            for (at, call) in calls.iter().enumerate() {
                let covered = suggestions.rules.iter().any(|one| one.covers.contains(&at));
                let refused = suggestions.refused.iter().any(|refused| refused.call == at);
                prop_assert!(covered != refused, "every call is covered or refused");
                if covered {
                    prop_assert_eq!(check(&context, call).decision, Decision::Allow);
                }
                let dangerous = danger(call, Some("/p")).is_some();
                let warned = |one: &Suggested| !one.covers.contains(&at) || one.warning.is_some();
                prop_assert!(!dangerous || suggestions.rules.iter().all(warned), "no danger without a warning");
            }
        }
        let exact = context(&suggest(&calls, Breadth::Exact, Some("/p")).rules);
        let input = json!({ "command": probe });
        let allowed = check(&exact, &Call { tool: "Bash", input: &input, cwd: Some("/p") }).decision;
        if allowed == Decision::Allow && !denied.contains(&probe) {
            let known: Vec<String> = denied.iter().filter_map(|command| parts(command)).flatten().collect();
            prop_assert!(parts(&probe).is_some_and(|parts| parts.iter().all(|part| known.contains(part))));
        }
    }

    #[test]
    fn a_prefix_never_allows_what_is_dangerous(denied in compound(), probe in compound()) {
        let input = json!({ "command": denied });
        let call = Call { tool: "Bash", input: &input, cwd: Some("/p") };
        let rules = suggest(&[call], Breadth::Prefix, Some("/p")).rules;
        let other = json!({ "command": probe });
        let probed = Call { tool: "Bash", input: &other, cwd: Some("/p") };
        if probe != denied && check(&context(&rules), &probed).decision == Decision::Allow {
            // A pipe can join harmless parts to something that is not; that is judged where it is run.
            prop_assert!(probe.contains('|') || danger(&probed, Some("/p")).is_none(), "{probe} by {rules:?}");
        }
    }
}
