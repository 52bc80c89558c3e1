//! Texts that decide how a message or result counts: as refused, as an API error, or as not typed by a
//! person.

use std::ops::Range;

use super::{
    decode::{API_ERROR, NOT_HUMAN},
    denial,
};

/// Text of the result of a call to a tool that the version lacks in this mode: 2.1.197 and 2.1.325 under
/// plain `-p`.
pub const NO_SUCH_TOOL: &str = "No such tool available";

/// Prefix of the message that a person interrupted the model.
pub const INTERRUPTION: &str = "[Request interrupted";

/// Prefix of the message that reports the end of a task.
pub const TASK_NOTICE: &str = "<task-notification>";

/// Returns the ranges of a text that decide how it counts; none for most texts. A program that replaces texts
/// without changing any figure must keep these ranges.
pub fn deciding_ranges(text: &str) -> Vec<Range<usize>> {
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

    /// Replaces everything but the deciding ranges.
    fn masked(text: &str) -> String {
        let mut left = "x".repeat(text.len());
        deciding_ranges(text).into_iter().for_each(|part| left.replace_range(part.clone(), &text[part]));
        left
    }

    #[test]
    fn the_deciding_ranges_are_found() {
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
            assert_eq!(masked(text), left);
            assert_eq!(denial::is_refusal(&masked(text)), denial::is_refusal(text), "{text}");
        }
    }
}
