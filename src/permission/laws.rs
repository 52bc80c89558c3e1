//! Properties that hold for every text.

use proptest::prelude::*;
use serde_json::json;

use super::{context::exact_rule, *};

/// Texts of characters that are special in rules and shells.
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

/// Simple commands, harmless and dangerous.
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

/// Denied commands of every kind that suggestions distinguish.
const REFUSED: &[&str] = &[
    "npm test",
    "npm run build && npm test",
    "npm ci | tail -5",
    "npm install left-pad",
    "git push origin main",
    "echo x > out.txt",
    "npm test > /tmp/log",
    "cat /etc/hostname",
    "ls /srv && npm test",
    "touch ../x",
    "cp a.txt /srv/b.txt",
    "touch x &",
    "touch .git/x",
    "cd sub && touch x",
    "rm -rf build",
    "timeout 5 npm test",
    "NODE_ENV=x npm test",
    "if true; then npm test; fi",
    "make 'a b'",
];

/// Words that may change the meaning of a command.
const WORDS: &[&str] = &[
    "-rf",
    "/",
    "~",
    "..",
    "&&",
    ";",
    "|",
    "&",
    ">",
    "<",
    "rm",
    "sh",
    "sudo",
    "cat",
    "/etc/passwd",
    "$HOME",
    "$(x)",
    "x",
    "npm",
    "test",
    "--force",
    "../y",
    ".git/x",
    "{a,b}",
    "*",
    "#",
    "timeout",
    "5",
    "FOO=1",
    "cd",
    "git",
];

fn allows(context: &Context, command: &str) -> bool {
    let input = json!({ "command": command });
    check(context, &Call { tool: "Bash", input: &input, cwd: Some("/p") }).decision == Decision::Allow
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
        let _ = (split(&command), Settings::read("s.json", &rule, None), Settings::scope_of(&path, Some(&rule)));
        for mode in [Mode::Default, Mode::AcceptEdits] {
            let mut context = Context::new(mode);
            for rule in parsed.iter().flatten() {
                Behaviour::ALL.iter().for_each(|behaviour| context.add(*behaviour, Scope::User, rule.clone()));
                prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule.clone()));
            }
            let input = json!({"command": command, "file_path": path, "url": path, "pattern": path});
            for tool in ["Bash", "Edit", "Glob", "WebFetch", &*rule] {
                let call = Call { tool, input: &input, cwd: Some(&rule) };
                let _ = (check(&context, &call), danger(&call, Some(&path)), exact_rule(&call));
                let _ = (suggest(&[call], Breadth::Prefix, None), unmatched_rules(&context, [call]));
            }
        }
    }

    #[test]
    fn halves_of_a_rule_survive_writing(content in hostile()) {
        if let Ok(rule) = Rule::new("Bash", Some(&content)) {
            prop_assert_eq!(Rule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn an_exact_rule_allows_its_call_where_one_rule_can_do_that(command in hostile()) {
        let input = json!({ "command": command });
        let call = Call { tool: "Bash", input: &input, cwd: None };
        let mut context = Context::new(Mode::Default);
        let needed = suggest(&[call], Breadth::Exact, None).rules;
        let alone = !needed.is_empty() && needed.iter().all(|one| one.rule.tool == "Bash");
        if let Some(rule) = exact_rule(&call).filter(|_| alone) {
            context.add(Behaviour::Allow, Scope::Session, rule);
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
                let warned = |one: &Suggested| one.covers.contains(&at) && one.warning.is_some();
                prop_assert!(
                    !dangerous || !covered || suggestions.rules.iter().any(warned),
                    "a dangerous call needs a rule with a warning"
                );
            }
        }
        let exact = context(&suggest(&calls, Breadth::Exact, Some("/p")).rules);
        if allows(&exact, &probe) && !denied.contains(&probe) {
            let mut known: Vec<String> = denied.iter().filter_map(|command| parts(command)).flatten().collect();
            known.extend(known.clone().into_iter().map(|part| part.split(" > ").next().unwrap().to_owned()));
            let harmless = |part: &str| allows(&Context::new(Mode::Default), part);
            let spellings = |part: &String| {
                let bare = part.split(" > ").next().unwrap();
                known.iter().any(|known| known == part || known == bare) || harmless(part) || harmless(bare)
            };
            prop_assert!(parts(&probe).is_some_and(|parts| parts.iter().all(spellings)), "{probe}");
        }
    }

    #[test]
    fn a_changed_command_is_allowed_only_as_far_as_the_breadth_says(
        denied in proptest::sample::select(REFUSED),
        at in any::<proptest::sample::Index>(),
        word in proptest::sample::select(WORDS),
        change in 0_u8..4,
    ) {
        let mut words: Vec<&str> = denied.split(' ').collect();
        let at = at.index(words.len());
        match change {
            0 => words[at] = word,
            1 => words.insert(at, word),
            2 => words.push(word),
            _ => { words.remove(at); }
        }
        let changed = words.join(" ");
        let input = json!({ "command": denied });
        let call = Call { tool: "Bash", input: &input, cwd: Some("/p") };
        let nothing = Context::new(Mode::Default);
        for breadth in [Breadth::Exact, Breadth::Prefix] {
            let rules = suggest(&[call], breadth, Some("/p")).rules;
            let context = context(&rules);
            prop_assert!(rules.is_empty() || allows(&context, denied), "{denied} by {rules:?}");
            if changed == denied || !allows(&context, &changed) || allows(&nothing, &changed) {
                continue;
            }
            // An exact rule fixes the words of a command, but not its redirections and pipes.
            let kept = |rule: &Rule| match &rule.content {
                Some(Content::Command(text)) => changed.contains(text.as_str()),
                Some(Content::Prefix(text)) => breadth == Breadth::Prefix && changed.contains(text.as_str()),
                Some(Content::Path(_)) => true,
                _ => false,
            };
            prop_assert!(rules.iter().any(|one| kept(&one.rule)), "{changed} by {rules:?}");
            let judged = json!({ "command": changed });
            let probed = Call { tool: "Bash", input: &judged, cwd: Some("/p") };
            let warned = rules.iter().any(|one| one.warning.is_some());
            prop_assert!(warned || danger(&probed, Some("/p")).is_none(), "{changed} by {rules:?}");
        }
    }

    #[test]
    fn a_prefix_never_allows_what_is_dangerous(denied in compound(), probe in compound()) {
        let input = json!({ "command": denied });
        let call = Call { tool: "Bash", input: &input, cwd: Some("/p") };
        // A rule with a warning allows the danger that it warns of.
        let mut rules = suggest(&[call], Breadth::Prefix, Some("/p")).rules;
        rules.retain(|one| one.warning.is_none());
        let other = json!({ "command": probe });
        let probed = Call { tool: "Bash", input: &other, cwd: Some("/p") };
        if probe != denied && check(&context(&rules), &probed).decision == Decision::Allow {
            // Harmless parts can be dangerous in a pipe; that is checked when the command runs.
            prop_assert!(probe.contains('|') || danger(&probed, Some("/p")).is_none(), "{probe} by {rules:?}");
        }
    }
}
