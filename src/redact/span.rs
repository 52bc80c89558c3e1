//! Divides a text into spans that are kept and spans that get a placeholder of their own.

use std::ops::Range;

use super::table::is_word;
use crate::event::{self, NO_SUCH_TOOL, TASK_NOTICE};

/// A range of a text and how it is redacted. The text between spans is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Keep(Range<usize>),
    /// Replace it by the placeholder that it would have as a text of its own.
    Replace(Range<usize>),
}

impl Span {
    fn range(&self) -> &Range<usize> {
        match self {
            Self::Keep(range) | Self::Replace(range) => range,
        }
    }
}

/// Start of the result of `AskUserQuestion`; pairs like `"question"="answer"` follow.
const ANSWERED: &str = "User has answered your questions: ";

/// Separators after a closing quote of such a result. They are kept.
const SEPARATORS: &[&str] = &["=", ", ", ". You can now", " user notes:", " selected preview:"];

/// Tags of a task notification that separate the text of the CLI from the text of the task. They are kept.
const MARKS: &[&str] = &["<result>", "<usage>"];

/// Tags of a task notification whose content is kept if it is one word.
const TAGS: &[&str] =
    &["task-id", "tool-use-id", "status", "subagent_tokens", "total_tokens", "tool_uses", "duration_ms"];

/// The tag around the name of a typed slash command.
const COMMAND_TAG: &str = "command-name";

/// Returns the spans of the result of a tool or of a text of the model.
pub(super) fn of_tool_text(text: &str) -> Vec<Span> {
    let mut spans = of_verdict(text);
    if text.starts_with(ANSWERED) {
        spans.extend(answers(text));
    }
    ordered(spans)
}

/// Returns the spans of a text that say whether a call was denied or the API failed.
pub(super) fn of_verdict(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = event::deciding_ranges(text).into_iter().map(Span::Keep).collect();
    spans.extend(hook_error(text).into_iter().flatten());
    spans.extend(hook_denial(text));
    spans.extend(text.find(NO_SUCH_TOOL).map(|at| Span::Keep(at..at + NO_SUCH_TOOL.len())));
    ordered(spans)
}

/// Returns the spans of a text that a person may have typed.
pub(super) fn of_prompt(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = event::deciding_ranges(text).into_iter().map(Span::Keep).collect();
    if let Some(name) = text.strip_prefix('/').and_then(command_and_space) {
        spans.push(Span::Keep(0..1 + name));
    }
    if let Some(word) = text.strip_prefix("<command-").and_then(|rest| rest.find('>')) {
        // For commands that users define, `<command-message>` comes first.
        spans.extend(
            is_word(&text["<command-".len()..][..word])
                .then_some(Span::Keep(0.."<command-".len() + word + 1)),
        );
    }
    spans.extend(tag(text, COMMAND_TAG, |inner| is_command(inner.strip_prefix('/').unwrap_or(inner))));
    if text.trim_start().starts_with(TASK_NOTICE) {
        spans.extend(
            MARKS.iter().filter_map(|mark| text.find(mark).map(|at| Span::Keep(at..at + mark.len()))),
        );
        spans.extend(TAGS.iter().filter_map(|name| tag(text, name, is_word)));
    }
    ordered(spans)
}

/// Returns the first occurrence of each hook command in a text.
pub(super) fn of_hook_errors(text: &str, commands: &[String]) -> Vec<Span> {
    let found = commands.iter().filter(|command| !command.is_empty());
    ordered(
        found
            .filter_map(|command| text.find(&**command).map(|at| Span::Replace(at..at + command.len())))
            .collect(),
    )
}

/// Returns the spans of a path: separators, drive, `.`, `..` and `~` are kept, each name gets its own
/// placeholder.
pub(super) fn of_path(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = 0;
    for (at, letter) in text.char_indices().chain([(text.len(), '/')]) {
        if !matches!(letter, '/' | '\\') {
            continue;
        }
        let part = &text[start..at];
        let drive = start == 0 && part.len() == 2 && part.ends_with(':');
        spans.push(if matches!(part, "" | "." | ".." | "~") || drive {
            Span::Keep(start..at)
        } else {
            Span::Replace(start..at)
        });
        if at < text.len() {
            spans.push(Span::Keep(at..at + 1));
        }
        start = at + 1;
    }
    spans
}

/// Returns whether a text is an absolute or explicitly relative path and nothing else.
pub(super) fn is_path(text: &str) -> bool {
    let drive = |text: &str| matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let begins = ["/", "./", "../", "~/"].iter().any(|begin| text.starts_with(begin)) || drive(text);
    begins
        && text.len() <= 4096
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Returns whether a text is the name of a command and nothing else.
pub(super) fn is_command(text: &str) -> bool {
    command_length(text) == Some(text.len())
}

/// Returns the length of the command at the start of a text, with the whitespace character after it.
pub(super) fn command_and_space(text: &str) -> Option<usize> {
    let name = command_length(text)?;
    Some(name + text[name..].chars().next().map_or(0, char::len_utf8))
}

/// Returns the length of the command at the start of a text: letters, digits, `-`, `_` and `:`, up to
/// whitespace.
fn command_length(text: &str) -> Option<usize> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':');
    (end > 0 && text[..end].chars().all(plain)).then_some(end)
}

/// Parses `PreToolUse:Bash hook error: [command]: …`. The sentence is kept, the command gets its own
/// placeholder.
fn hook_error(text: &str) -> Option<[Span; 3]> {
    const ERROR: &str = " hook error: ";
    // Names of hooks begin with a capital letter.
    let named = text.starts_with(|letter: char| letter.is_ascii_uppercase());
    let at = named.then(|| text.find(ERROR)).flatten()?;
    let plain = is_word(&text[..at]);
    let open = at + ERROR.len();
    let rest = text[open..].strip_prefix('[').filter(|_| plain);
    let close = rest.and_then(|rest| rest.find("]: "));
    Some(match close {
        Some(close) => {
            let (start, end) = (open + 1, open + 1 + close);
            [Span::Keep(0..start), Span::Replace(start..end), Span::Keep(end..end + 3)]
        }
        None if plain => [Span::Keep(0..open), Span::Keep(open..open), Span::Keep(open..open)],
        None => return None,
    })
}

/// Parses `Hook PreToolUse:Bash denied this tool`, which is kept.
fn hook_denial(text: &str) -> Option<Span> {
    const DENIED: &str = " denied this tool";
    const HOOK: &str = "Hook ";
    let end = text.strip_prefix(HOOK)?.find(DENIED)? + HOOK.len();
    is_word(&text[HOOK.len()..end]).then_some(Span::Keep(0..end + DENIED.len()))
}

/// Returns the spans of `"question"="answer", …`: quotes and separators are kept, each text gets its own
/// placeholder.
fn answers(text: &str) -> Vec<Span> {
    let mut spans = vec![Span::Keep(0..ANSWERED.len())];
    let mut start = ANSWERED.len();
    for (at, _) in text.match_indices('"').chain([(text.len(), "")]) {
        if let Some(part) = text.get(start..at) {
            let separator = SEPARATORS.iter().find(|words| part.starts_with(**words));
            let text_start = start + separator.map_or(0, |words| words.len());
            spans.push(Span::Keep(start..text_start));
            spans.push(Span::Replace(text_start..at));
            spans.push(Span::Keep(at..(at + 1).min(text.len())));
            start = at + 1;
        }
    }
    spans
}

/// Returns the first element with this tag, if its content satisfies `fits`.
fn tag(text: &str, name: &str, fits: impl Fn(&str) -> bool) -> Option<Span> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let start = text.find(&begin)?;
    let inner = start + begin.len();
    let length = text[inner..].find(&end)?;
    fits(text[inner..inner + length].trim()).then_some(Span::Keep(start..inner + length + end.len()))
}

/// Sorts spans, shortens those that overlap and drops empty ones.
fn ordered(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range().start, std::cmp::Reverse(span.range().end)));
    let mut end = 0;
    spans.retain_mut(|span| {
        let (Span::Keep(range) | Span::Replace(range)) = span;
        range.start = range.start.max(end);
        let is_nonempty = range.start < range.end;
        if is_nonempty {
            end = range.end;
        }
        is_nonempty
    });
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `x` for text outside of spans, and `y` for spans that get their own placeholder.
    fn masked(text: &str, spans: Vec<Span>) -> String {
        let (mut masked, mut at) = (String::new(), 0);
        for span in spans {
            masked += &"x".repeat(span.range().start - at);
            at = span.range().end;
            match span {
                Span::Keep(range) => masked += &text[range],
                Span::Replace(range) => masked += &"y".repeat(range.len()),
            }
        }
        masked + &"x".repeat(text.len() - at)
    }

    #[test]
    fn a_typed_command_keeps_only_its_name() {
        let typed = |text: &str| masked(text, of_prompt(text));
        assert_eq!(typed("/deploy the shop"), "/deploy xxxxxxxx");
        assert_eq!(typed("/tmp/x is full"), "xxxxxxxxxxxxxx");
        assert_eq!(
            typed(
                "<command-message>go</command-message>\n<command-name>/go</command-name>\n<command-args>now</command-args>"
            ),
            "<command-message>xxxxxxxxxxxxxxxxxxxxx<command-name>/go</command-name>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        );
        assert_eq!(typed("fix it"), "xxxxxx");
    }

    #[test]
    fn a_task_notification_keeps_ids_status_and_usage() {
        let text = "<task-notification>\n<task-id>a1</task-id>\n<output-file>/tmp/a</output-file>\n<status>completed</status>\n<summary>s</summary><result>r</result><usage><tool_uses>1</tool_uses></usage>";
        assert_eq!(
            masked(text, of_prompt(text)),
            "<task-notification>x<task-id>a1</task-id>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx<status>completed</status>xxxxxxxxxxxxxxxxxxxxx<result>xxxxxxxxxx<usage><tool_uses>1</tool_uses>xxxxxxxx"
        );
    }

    #[test]
    fn a_denial_by_a_hook_keeps_its_sentence_and_the_command_gets_its_own_placeholder() {
        let said = |text: &str| masked(text, of_tool_text(text));
        assert_eq!(
            said("PreToolUse:Bash hook error: [exit 2]: no"),
            "PreToolUse:Bash hook error: [yyyyyy]: xx"
        );
        assert_eq!(said("PreToolUse:Bash hook error: no"), "PreToolUse:Bash hook error: xx");
        assert_eq!(
            said("Hook PostToolUse:Bash denied this tool: no"),
            "Hook PostToolUse:Bash denied this toolxxxx"
        );
        assert_eq!(said("my own hook error: no"), "xxxxxxxxxxxxxxxxxxxxx");
        assert_eq!(said("Error: No such tool available: Ask"), "xxxxxxxNo such tool availablexxxxx");
    }

    #[test]
    fn each_answer_gets_its_own_placeholder() {
        let text = "User has answered your questions: \"A?\"=\"one\", \"B?\"=\"two\" user notes: x. You can now go on.";
        assert_eq!(
            masked(text, of_tool_text(text)),
            "User has answered your questions: \"yy\"=\"yyy\", \"yy\"=\"yyy\" user notes:yyyyyyyyyyyyyyyyyyyyyy"
        );
    }

    #[test]
    fn a_path_keeps_its_separators() {
        let path = |text: &str| masked(text, of_path(text));
        assert_eq!(path("/home/dev/a b.txt"), "/yyyy/yyy/yyyyyyy");
        assert_eq!(path("~/x/../y/"), "~/y/../y/");
        assert_eq!(path(r"C:\Users\me"), r"C:\yyyyy\yy");
        assert!(
            is_path("/tmp")
                && is_path("C:\\x")
                && !is_path("/tmp is full")
                && !is_path("a/b")
                && !is_path("")
        );
    }
}
