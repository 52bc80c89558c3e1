//! Recognises denied calls by the text of their result, for versions without a field for it.
//!
//! The sentences come from recordings and public logs. Only failed results without structured fields are
//! checked. A new sentence is one row.

use std::ops::Range;

use smallvec::SmallVec;

names! {
    /// A reason for a denial that no allow rule can remove, with its text in reports: the reason and a
    /// remedy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Obstacle {
        /// A hook denied it.
        Hook = "refused by a hook, which no rule overrides: change the hook",
        /// A person or a host was asked, and denied it.
        Person = "refused by a person or a host who was asked",
        /// A person denied it, or interrupted the run at the prompt.
        Interrupt = "refused or interrupted by a person",
        /// Plan mode denied it.
        PlanMode = "refused by plan mode, which no rule overrides: leave plan mode",
        /// A deny or ask rule, which takes precedence over allow rules.
        Rule = "refused by a deny or ask rule, which goes before allow rules: change that rule",
    } => reason
}

/// Sentences of denials: the text starts with the first part, and the others follow in this order. `None`
/// means that a permission was missing, which an allow rule can grant.
const SENTENCES: &[(&[&str], Option<Obstacle>)] = {
    use Obstacle::{Hook, Interrupt, Person, PlanMode, Rule};
    &[
        (&["The user doesn't want to proceed with this tool use"], Some(Interrupt)),
        (&["The user doesn't want to take this action"], Some(Interrupt)),
        (&["Claude requested permissions to ", "but you haven't granted it yet"], None),
        (&["This command requires approval"], None),
        (&["This Bash command contains multiple operations. The following part requires approval"], None),
        (&["This Bash command contains multiple operations. The following parts require approval"], None),
        (&["This Bash command contains multiple operations. The following part require approval"], None),
        (&["This Bash command contains multiple operations. The following parts requires approval"], None),
        (&["Permission to ", " has been denied"], Some(Rule)),
        (&["Permission denied by user"], Some(Person)),
        (&["Permission prompt was aborted"], Some(Interrupt)),
        (&["Tool permission request failed"], None),
        (&["Cannot write to ", " while in plan mode"], Some(PlanMode)),
        (&["Commands that change directories ", " require explicit approval"], None),
        (&["Contains shell syntax ", "cannot be statically analyzed"], None),
        (&["Newline followed by # inside a quoted argument"], None),
        (&["Execute skill: "], None),
        // Denied calls of subagents, 2.1.20 to 2.1.50.
        (&["Permission for this tool use was denied."], None),
        // Messages of deny and ask decisions in the program text of old versions.
        (&["Claude requested permissions to edit ", " which is a sensitive file"], None),
        (&["Claude requested permissions to read from ", ", which contains a suspicious Windows path"], None),
        (&["Permission denied by hook"], Some(Hook)),
        (&["Permission to use ", " has been auto-denied"], None),
        (&["Permission rule '", "' from ", " requires approval"], Some(Rule)),
        (&["Hook '", "' requires approval"], Some(Hook)),
        (&["Output redirection to '", "' was blocked by a deny rule"], Some(Rule)),
        (&["Denied by Bash prompt rule:"], Some(Rule)),
        (&["MCP tool ", " has been denied"], Some(Rule)),
        (&["User denied permission"], Some(Person)),
        (&["Skill execution blocked by permission rules"], Some(Rule)),
        (&["Slash command execution blocked by permission rules"], Some(Rule)),
        (&["sed command requires approval"], None),
        (&["Shell expansion syntax in paths requires manual approval"], None),
        (&["Process substitution ", " requires manual approval"], None),
        (&["Execute slash command: /"], None),
    ]
};

/// Prompts that are returned as the result.
const QUESTIONS: &[&str] = &["Answer questions?", "Exit plan mode?"];

/// Ends of sentences that begin with a command and a quoted path, such as `cat in '/etc' was blocked. …`.
const AFTER_QUOTED: &[&str] = &["' was blocked. For security, Claude Code", "' needs approval. "];

/// Maximum number of characters before the quoted path.
const QUOTE_WITHIN: usize = 80;

/// Denials by hooks: text before and after the name of the tool.
const HOOKS: &[(&str, &str)] = &[("PreToolUse:", " hook error:"), ("Hook PreToolUse:", " denied this tool")];

/// Returns whether the text of a failed result is a denial.
pub(super) fn is_refusal(text: &str) -> bool {
    SENTENCES.iter().any(|(sentence, _)| fixed_parts(text, sentence).is_some())
        || is_question(text)
        || is_blocked_path(text)
        || is_hook(text)
}

/// Returns the obstacle that the text of a denial names, if there is one.
pub(super) fn obstacle(text: &str) -> Option<Obstacle> {
    let found = SENTENCES.iter().find(|(sentence, _)| fixed_parts(text, sentence).is_some());
    found.and_then(|(_, obstacle)| *obstacle).or_else(|| is_hook(text).then_some(Obstacle::Hook))
}

/// Ranges of a text. Sentences have at most three fixed parts, so nothing is allocated.
type Parts = SmallVec<[Range<usize>; 3]>;

/// Returns the ranges of the parts of a sentence in a text; `None` if a part is missing.
fn fixed_parts(text: &str, sentence: &[&str]) -> Option<Parts> {
    let (first, others) = sentence.split_first()?;
    if !text.starts_with(first) {
        return None;
    }
    let mut end = first.len();
    let mut parts = Parts::new();
    parts.push(0..end);
    for part in others {
        let start = end + text[end..].find(part)?;
        end = start + part.len();
        parts.push(start..end);
    }
    Some(parts)
}

fn is_question(text: &str) -> bool {
    QUESTIONS.contains(&text.strip_suffix('\n').unwrap_or(text))
}

fn is_blocked_path(text: &str) -> bool {
    blocked_path(text).is_some()
}

/// Returns the ranges of the quote before such a path and of the sentence after it.
fn blocked_path(text: &str) -> Option<[Range<usize>; 2]> {
    let quote = text.char_indices().skip(1).take(QUOTE_WITHIN).find(|&(_, letter)| letter == '\'');
    let (at, _) = quote?;
    AFTER_QUOTED.iter().find_map(|end| {
        let start = at + 1 + text[at + 1..].find(end)?;
        Some([at..at + 1, start..start + end.len()])
    })
}

fn is_hook(text: &str) -> bool {
    hook(text).is_some()
}

/// Returns the range of the sentence of a hook, with the name of the tool.
fn hook(text: &str) -> Option<Range<usize>> {
    HOOKS.iter().find_map(|(start, end)| {
        let rest = text.strip_prefix(start)?;
        let name = rest.find(char::is_whitespace).unwrap_or(rest.len());
        (name > 0 && rest[name..].starts_with(end)).then_some(0..start.len() + name + end.len())
    })
}

/// Returns the parts of a text that make it a denial; empty if it is not one.
pub(super) fn parts(text: &str) -> Vec<Range<usize>> {
    let sentence =
        SENTENCES.iter().find_map(|(sentence, _)| fixed_parts(text, sentence)).map(Parts::into_vec);
    let question = || is_question(text).then(|| std::iter::once(0..text.len()).collect());
    let path = || blocked_path(text).map(Vec::from);
    let hook = || hook(text).map(|part| vec![part]);
    sentence.or_else(question).or_else(path).or_else(hook).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_of_every_version_are_recognised() {
        for text in [
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            "Claude requested permissions to write to /x, but you haven't granted it yet.",
            "This command requires approval",
            "This Bash command contains multiple operations. The following parts require approval: a, b",
            "cd to '/tmp' was blocked. For security, Claude Code may only change directories to",
            "touch in '/home/dev/project/denied.txt' needs approval. more",
            "Permission to use Bash with command x has been denied.",
            "Cannot write to /x while in plan mode",
            "PreToolUse:Bash hook error: [exit 2]: no",
            "Hook PreToolUse:Bash denied this tool",
            "Answer questions?",
            "Execute skill: deploy",
            "Permission for this tool use was denied. The tool use was rejected (eg. if it was a file edit, …).",
            "Claude requested permissions to edit /home/dev/.bashrc which is a sensitive file.",
            "Claude requested permissions to read from //host/x, which contains a suspicious Windows path pattern",
            "Permission denied by hook",
            "Permission to use Bash has been auto-denied (prompts unavailable).",
            "Permission rule 'Bash(rm:*)' from project settings requires approval for this Bash command",
            "Hook 'PreToolUse:Bash' requires approval for this Bash command",
            "Output redirection to '/etc/x' was blocked by a deny rule.",
            "Denied by Bash prompt rule: no pushes",
            "MCP tool mcp__demo__add has been denied",
            "User denied permission",
            "Skill execution blocked by permission rules",
            "Slash command execution blocked by permission rules",
            "sed command requires approval (contains potentially dangerous operations)",
            "Shell expansion syntax in paths requires manual approval",
            "Process substitution in this command requires manual approval",
            "Execute slash command: /deploy",
            "Permission to use\nBash has been denied",
        ] {
            assert!(is_refusal(text), "{text}");
        }
    }

    #[test]
    fn other_failures_are_not_denials() {
        for text in [
            "Exit code 1\nThis command requires approval",
            "Permission to speak",
            "<tool_use_error>No such tool</tool_use_error>",
            "[Request interrupted by user for tool use]",
            "Answer questions? Yes",
            "' was blocked. For security, Claude Code",
            "PreToolUse: hook error:",
            "Permission denied (publickey)",
            "Permission rule 'x' requires approval from y",
            "Permission for this tool use",
            "Hook 'x",
            "Execute slash command: deploy",
            " User denied permission",
            "",
        ] {
            assert!(!is_refusal(text), "{text}");
        }
    }

    #[test]
    fn the_text_of_a_denial_names_the_obstacle() {
        for (text, named) in [
            ("PreToolUse:Bash hook error: [exit 2]: no", Obstacle::Hook),
            ("Hook PreToolUse:Bash denied this tool", Obstacle::Hook),
            ("The user doesn't want to proceed with this tool use. The tool", Obstacle::Interrupt),
            ("The user doesn't want to take this action right now.", Obstacle::Interrupt),
            ("Permission denied by user", Obstacle::Person),
            ("Cannot write to /x while in plan mode.", Obstacle::PlanMode),
            ("Permission to use Bash with command curl x has been denied.", Obstacle::Rule),
            ("Permission rule 'Bash(git push:*)' from project settings requires approval", Obstacle::Rule),
        ] {
            assert_eq!(obstacle(text), Some(named), "{text}");
        }
    }

    #[test]
    fn a_missing_permission_is_not_an_obstacle() {
        for text in [
            "Claude requested permissions to write to /x, but you haven't granted it yet.",
            "This command requires approval",
            "touch in '/x' was blocked. For security, Claude Code may only create",
            "touch in '/x' needs approval. The path",
            "This Bash command contains multiple operations. The following part requires approval: a",
            "Permission to use Bash has been auto-denied (prompts unavailable).",
            "",
        ] {
            assert_eq!(obstacle(text), None, "{text}");
        }
    }
}
