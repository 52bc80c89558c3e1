//! Which parts of a text stay, and which are texts of their own in it.

use std::ops::Range;

use super::table::is_word;
use crate::event::{self, NO_SUCH_TOOL, TASK_NOTICE};

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// It stays.
    Stays(Range<usize>),
    /// It is replaced by itself, as where it stands alone.
    Apart(Range<usize>),
}

impl Span {
    fn range(&self) -> &Range<usize> {
        match self {
            Self::Stays(range) | Self::Apart(range) => range,
        }
    }
}

/// How the answers to questions begin: `… "question"="answer", …`.
const ANSWERED: &str = "User has answered your questions: ";

/// What may stand between the quotes of such a text, beside questions and answers: it stays, and so does how it begins.
const BETWEEN: &[&str] = &["=", ", ", ". You can now", " user notes:", " selected preview:"];

/// Marks in a message about the end of a task that part what the CLI says from what the task wrote.
const MARKS: &[&str] = &["<result>", "<usage>"];

/// Tags of such a message whose content stays, if it is one word.
const TAGS: &[&str] =
    &["task-id", "tool-use-id", "status", "subagent_tokens", "total_tokens", "tool_uses", "duration_ms"];

/// The tag that holds the name of a typed command.
const COMMAND: &str = "command-name";

/// The parts of what a tool answers or the model says.
pub(super) fn of_said(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = event::deciding(text).into_iter().map(Span::Stays).collect();
    spans.extend(hook_error(text).into_iter().flatten());
    spans.extend(hook_denial(text));
    spans.extend(text.find(NO_SUCH_TOOL).map(|at| Span::Stays(at..at + NO_SUCH_TOOL.len())));
    if text.starts_with(ANSWERED) {
        spans.extend(answers(text));
    }
    ordered(spans)
}

/// The parts of what may have been typed.
pub(super) fn of_typed(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = event::deciding(text).into_iter().map(Span::Stays).collect();
    if let Some(name) = text.strip_prefix('/').and_then(command_and_blank) {
        spans.push(Span::Stays(0..1 + name));
    }
    if let Some(word) = text.strip_prefix("<command-").and_then(|rest| rest.find('>')) {
        // `<command-message>` stands first where the command is one of the user's own.
        spans.extend(
            is_word(&text["<command-".len()..][..word])
                .then_some(Span::Stays(0.."<command-".len() + word + 1)),
        );
    }
    spans.extend(tag(text, COMMAND, |inner| is_command(inner.strip_prefix('/').unwrap_or(inner))));
    if text.trim_start().starts_with(TASK_NOTICE) {
        spans.extend(
            MARKS.iter().filter_map(|mark| text.find(mark).map(|at| Span::Stays(at..at + mark.len()))),
        );
        spans.extend(TAGS.iter().filter_map(|name| tag(text, name, is_word)));
    }
    ordered(spans)
}

/// The commands of hooks in a text.
pub(super) fn of_mentions(text: &str, commands: &[String]) -> Vec<Span> {
    let found = commands.iter().filter(|command| !command.is_empty());
    ordered(
        found
            .filter_map(|command| text.find(&**command).map(|at| Span::Apart(at..at + command.len())))
            .collect(),
    )
}

/// The parts of a path: what stands between the separators is replaced by itself.
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
            Span::Stays(start..at)
        } else {
            Span::Apart(start..at)
        });
        if at < text.len() {
            spans.push(Span::Stays(at..at + 1));
        }
        start = at + 1;
    }
    spans
}

/// Whether a text is a path and nothing else.
pub(super) fn is_path(text: &str) -> bool {
    let drive = |text: &str| matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let begins = ["/", "./", "../", "~/"].iter().any(|begin| text.starts_with(begin)) || drive(text);
    begins
        && text.len() <= 4096
        && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Whether a text is the name of a command and nothing else.
pub(super) fn is_command(text: &str) -> bool {
    command(text) == Some(text.len())
}

/// How much of a text stays that begins with a command: its name and the blank behind it.
pub(super) fn command_and_blank(text: &str) -> Option<usize> {
    let name = command(text)?;
    Some(name + text[name..].chars().next().map_or(0, char::len_utf8))
}

/// How long the name of a command is that a text begins with: letters, digits, `-`, `_` and `:`, up to a blank.
fn command(text: &str) -> Option<usize> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':');
    (end > 0 && text[..end].chars().all(plain)).then_some(end)
}

/// `PreToolUse:Bash hook error: [command]: …`: the sentence stays, and the command is one.
fn hook_error(text: &str) -> Option<[Span; 3]> {
    const ERROR: &str = " hook error: ";
    // Whatever else stands before these words is no name of a hook.
    let named = text.starts_with(|letter: char| letter.is_ascii_uppercase());
    let at = named.then(|| text.find(ERROR)).flatten()?;
    let plain = is_word(&text[..at]);
    let open = at + ERROR.len();
    let rest = text[open..].strip_prefix('[').filter(|_| plain);
    let close = rest.and_then(|rest| rest.find("]: "));
    Some(match close {
        Some(close) => {
            let (start, end) = (open + 1, open + 1 + close);
            [Span::Stays(0..start), Span::Apart(start..end), Span::Stays(end..end + 3)]
        }
        None if plain => [Span::Stays(0..open), Span::Stays(open..open), Span::Stays(open..open)],
        None => return None,
    })
}

/// `Hook PreToolUse:Bash denied this tool`.
fn hook_denial(text: &str) -> Option<Span> {
    const DENIED: &str = " denied this tool";
    const HOOK: &str = "Hook ";
    let end = text.strip_prefix(HOOK)?.find(DENIED)? + HOOK.len();
    is_word(&text[HOOK.len()..end]).then_some(Span::Stays(0..end + DENIED.len()))
}

/// The quotes of `"question"="answer"`, and what stands between them by itself.
fn answers(text: &str) -> Vec<Span> {
    let mut spans = vec![Span::Stays(0..ANSWERED.len())];
    let mut start = ANSWERED.len();
    for (at, _) in text.match_indices('"').chain([(text.len(), "")]) {
        if let Some(part) = text.get(start..at) {
            let between =
                BETWEEN.iter().find(|words| part.starts_with(**words)).map_or(0, |words| words.len());
            spans.push(Span::Stays(start..start + between));
            spans.push(Span::Apart(start + between..at));
            spans.push(Span::Stays(at..(at + 1).min(text.len())));
            start = at + 1;
        }
    }
    spans
}

/// The first of a tag with its content and its end, if the content is as it must be.
fn tag(text: &str, name: &str, fits: impl Fn(&str) -> bool) -> Option<Span> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let start = text.find(&begin)?;
    let inner = start + begin.len();
    let length = text[inner..].find(&end)?;
    fits(text[inner..inner + length].trim()).then_some(Span::Stays(start..inner + length + end.len()))
}

/// In order, without what overlaps or is empty.
fn ordered(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range().start, std::cmp::Reverse(span.range().end)));
    let mut end = 0;
    spans.retain_mut(|span| {
        let (Span::Stays(range) | Span::Apart(range)) = span;
        range.start = range.start.max(end);
        let some = range.start < range.end;
        if some {
            end = range.end;
        }
        some
    });
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `x` for what is replaced, and blanks around what is replaced by itself.
    fn left(text: &str, spans: Vec<Span>) -> String {
        let (mut left, mut at) = (String::new(), 0);
        for span in spans {
            left += &"x".repeat(span.range().start - at);
            at = span.range().end;
            match span {
                Span::Stays(range) => left += &text[range],
                Span::Apart(range) => left += &"y".repeat(range.len()),
            }
        }
        left + &"x".repeat(text.len() - at)
    }

    #[test]
    fn a_typed_command_keeps_its_name_alone() {
        let typed = |text: &str| left(text, of_typed(text));
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
    fn a_notice_keeps_what_it_says_of_the_task() {
        let text = "<task-notification>\n<task-id>a1</task-id>\n<output-file>/tmp/a</output-file>\n<status>completed</status>\n<summary>s</summary><result>r</result><usage><tool_uses>1</tool_uses></usage>";
        assert_eq!(
            left(text, of_typed(text)),
            "<task-notification>x<task-id>a1</task-id>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx<status>completed</status>xxxxxxxxxxxxxxxxxxxxx<result>xxxxxxxxxx<usage><tool_uses>1</tool_uses>xxxxxxxx"
        );
    }

    #[test]
    fn a_refusal_by_a_hook_keeps_its_sentence_and_the_command_apart() {
        let said = |text: &str| left(text, of_said(text));
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
    fn answers_stand_apart() {
        let text = "User has answered your questions: \"A?\"=\"one\", \"B?\"=\"two\" user notes: x. You can now go on.";
        assert_eq!(
            left(text, of_said(text)),
            "User has answered your questions: \"yy\"=\"yyy\", \"yy\"=\"yyy\" user notes:yyyyyyyyyyyyyyyyyyyyyy"
        );
    }

    #[test]
    fn a_path_keeps_its_separators() {
        let path = |text: &str| left(text, of_path(text));
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
