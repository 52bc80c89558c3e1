//! The words that decide what a text counts as: a refusal, a failure of the API, something that no human
//! typed.

use std::ops::Range;

use super::{
    decode::{API_ERROR, NOT_HUMAN},
    denial,
};

/// What a version answers that does not have a tool in this mode: 2.1.197 and 2.1.325 under a plain `-p`.
pub const NO_SUCH_TOOL: &str = "No such tool available";

/// The start of a message that tells of the end of a task.
pub const TASK_NOTICE: &str = "<task-notification>";

/// Which parts of a text decide what it counts as; none in most texts. Whoever replaces a text without
/// changing what is counted keeps these where they stand.
pub fn deciding(text: &str) -> Vec<Range<usize>> {
    let blank = text.len() - text.trim_start().len();
    let begins = |words: &&&str| text[blank..].starts_with(**words);
    if let Some(words) = NOT_HUMAN.iter().find(begins) {
        return std::iter::once(0..blank + words.len()).collect();
    }
    if text.starts_with(API_ERROR) {
        return std::iter::once(0..API_ERROR.len()).collect();
    }
    denial::parts(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with everything but its deciding parts replaced.
    fn without(text: &str) -> String {
        let mut left = "x".repeat(text.len());
        deciding(text).into_iter().for_each(|part| left.replace_range(part.clone(), &text[part]));
        left
    }

    #[test]
    fn what_decides_is_found_where_it_stands() {
        for (text, left) in [
            ("  <bash-input>ls", "  <bash-input>xx"),
            ("API Error: 529", "API Errorxxxxx"),
            ("Permission to use Bash has been denied.", "Permission to xxxxxxxx has been deniedx"),
            (
                "cd to '/tmp' was blocked. For security, Claude Code may",
                "xxxxxx'xxxx' was blocked. For security, Claude Codexxxx",
            ),
            ("PreToolUse:Bash hook error: [x]: no", "PreToolUse:Bash hook error:xxxxxxxx"),
            ("Answer questions?\n", "Answer questions?\n"),
            ("hello", "xxxxx"),
            ("", ""),
        ] {
            assert_eq!(without(text), left);
            assert_eq!(denial::is_refusal(&without(text)), denial::is_refusal(text), "{text}");
        }
    }
}
