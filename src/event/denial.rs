//! The words of a refused call, for versions whose records have no field that says so.
//!
//! From the recordings and from public logs; asked only of failed results whose record has none of the structured
//! fields. A new sentence is one row.

use std::ops::Range;

use smallvec::SmallVec;

/// The fixed parts of each sentence: the text starts with the first, and the others follow in this order.
const TEXTS: &[&[&str]] = &[
    &["The user doesn't want to proceed with this tool use"],
    &["The user doesn't want to take this action"],
    &["Claude requested permissions to ", "but you haven't granted it yet"],
    &["This command requires approval"],
    &["This Bash command contains multiple operations. The following part requires approval"],
    &["This Bash command contains multiple operations. The following parts require approval"],
    &["This Bash command contains multiple operations. The following part require approval"],
    &["This Bash command contains multiple operations. The following parts requires approval"],
    &["Permission to ", " has been denied"],
    &["Permission denied by user"],
    &["Permission prompt was aborted"],
    &["Tool permission request failed"],
    &["Cannot write to ", " while in plan mode"],
    &["Commands that change directories ", " require explicit approval"],
    &["Contains shell syntax ", "cannot be statically analyzed"],
    &["Newline followed by # inside a quoted argument"],
    &["Execute skill: "],
    // Refused calls of subagents, 2.1.20 to 2.1.50.
    &["Permission for this tool use was denied."],
    // Messages of deny and ask decisions in the program text of old versions.
    &["Claude requested permissions to edit ", " which is a sensitive file"],
    &["Claude requested permissions to read from ", ", which contains a suspicious Windows path"],
    &["Permission denied by hook"],
    &["Permission to use ", " has been auto-denied"],
    &["Permission rule '", "' from ", " requires approval"],
    &["Hook '", "' requires approval"],
    &["Output redirection to '", "' was blocked by a deny rule"],
    &["Denied by Bash prompt rule:"],
    &["MCP tool ", " has been denied"],
    &["User denied permission"],
    &["Skill execution blocked by permission rules"],
    &["Slash command execution blocked by permission rules"],
    &["sed command requires approval"],
    &["Shell expansion syntax in paths requires manual approval"],
    &["Process substitution ", " requires manual approval"],
    &["Execute slash command: /"],
];

/// A whole question, given back as the result.
const QUESTIONS: &[&str] = &["Answer questions?", "Exit plan mode?"];

/// Ends of sentences that begin with a command and a quoted path: `cat in '/etc' was blocked. For security, …`.
const AFTER_QUOTED: &[&str] = &["' was blocked. For security, Claude Code", "' needs approval. "];

/// How far from the start the quoted path of such a sentence may begin, in characters.
const QUOTE_WITHIN: usize = 80;

/// Hook refusals: what stands before and after the name of the tool.
const HOOKS: &[(&str, &str)] = &[("PreToolUse:", " hook error:"), ("Hook PreToolUse:", " denied this tool")];

/// Whether the text of a failed result is a refusal.
pub(super) fn is_refusal(text: &str) -> bool {
    TEXTS.iter().any(|sentence| fixed_parts(text, sentence).is_some())
        || is_question(text)
        || is_blocked_path(text)
        || is_hook(text)
}

/// Ranges of a text. No sentence has more than three fixed parts, so nothing is allocated.
type Parts = SmallVec<[Range<usize>; 3]>;

/// The ranges of a sentence's parts in a text; `None` if they are not all there.
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

/// The quote that such a path begins with, and the sentence after it.
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

/// The sentence of a hook, with the name of the tool.
fn hook(text: &str) -> Option<Range<usize>> {
    HOOKS.iter().find_map(|(start, end)| {
        let rest = text.strip_prefix(start)?;
        let name = rest.find(char::is_whitespace).unwrap_or(rest.len());
        (name > 0 && rest[name..].starts_with(end)).then_some(0..start.len() + name + end.len())
    })
}

/// The parts of a text that make it a refusal; none if it is no such text.
pub(super) fn parts(text: &str) -> Vec<Range<usize>> {
    let sentence = TEXTS.iter().find_map(|sentence| fixed_parts(text, sentence)).map(Parts::into_vec);
    let question = || is_question(text).then(|| std::iter::once(0..text.len()).collect());
    let path = || blocked_path(text).map(Vec::from);
    let hook = || hook(text).map(|part| vec![part]);
    sentence.or_else(question).or_else(path).or_else(hook).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_every_version_are_recognised() {
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
    fn other_failures_are_not_refusals() {
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
}
