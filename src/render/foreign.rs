//! Escapes text from logs: characters that are never written raw, in any format. Each format additionally
//! escapes its own markup.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Maximum number of combining marks on one character. No script needs more, and more would overlap other
/// lines.
const MAX_MARKS: usize = 4;

/// Escapes text from a log for terminals and build logs. Borrows if there is nothing to escape.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut found = unsafe_chars(text).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut safe, mut plain) = (String::with_capacity(text.len() + 8), 0);
    for (at, letter) in found {
        safe.push_str(&text[plain..at]);
        safe.extend(letter.escape_unicode());
        plain = at + letter.len_utf8();
    }
    safe.push_str(&text[plain..]);
    Cow::Owned(safe)
}

/// Characters that must be escaped, with their byte offsets.
pub(super) fn unsafe_chars(text: &str) -> impl Iterator<Item = (usize, char)> {
    let text = if is_plain(text) { "" } else { text };
    let (mut marks, mut is_first) = (MAX_MARKS, true);
    text.char_indices().filter(move |&(at, letter)| {
        // A combining mark at the start of the text would modify the character before it.
        let is_mark = !letter.is_ascii() && letter.width() == Some(0);
        marks = if is_mark { marks + 1 } else { 0 };
        let is_unsafe = is_unseen(letter) || marks > MAX_MARKS || commands(letter, is_first, &text[at..]);
        is_first = letter.is_whitespace() && !is_unsafe;
        is_unsafe
    })
}

/// Whether every byte is printable ASCII that begins no command. Checking bytes first made `export records` a
/// seventh faster.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b':' && byte != b'#')
}

/// Whether a character is invisible or changes the text around it.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a command for a CI system starts here: `::error::` at the start of a line or after whitespace, and
/// `##[error]`, `##vso[…]` or `##teamcity[…]` anywhere.
fn commands(letter: char, is_first: bool, rest: &str) -> bool {
    match letter {
        ':' => is_first && rest.starts_with("::"),
        '#' => rest.strip_prefix("##").is_some_and(|rest| {
            rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()).starts_with('[')
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_command_a_terminal() {
        assert_eq!(text("Bash"), "Bash");
        assert_eq!(text("\u{1b}[2Jx\r\n"), "\\u{1b}[2Jx\\u{d}\\u{a}");
        assert_eq!(text("a\u{202e}b\u{9b}c\u{200b}"), "a\\u{202e}b\\u{9b}c\\u{200b}");
        assert!(matches!(text("日本語 😀 ❤\u{fe0f}"), Cow::Borrowed(_)));
    }

    #[test]
    fn invisible_characters_are_shown() {
        for unseen in ['\u{3164}', '\u{ffa0}', '\u{e0041}', '\u{e0101}', '\u{fe00}', '\u{34f}', '\u{feff}'] {
            assert_eq!(text(&format!("a{unseen}b")), format!("a{}b", unseen.escape_unicode()));
        }
    }

    #[test]
    fn combining_marks_are_limited_and_need_a_base_character() {
        assert!(matches!(text("cafe\u{301} e\u{301}\u{327}"), Cow::Borrowed(_)));
        assert_eq!(text("\u{301}a"), "\\u{301}a");
        let marks = "\u{301}".repeat(6);
        assert_eq!(text(&format!("a{marks}b")), format!("a{}\\u{{301}}\\u{{301}}b", &marks[..8]));
    }

    #[test]
    fn foreign_text_cannot_command_a_build() {
        assert_eq!(text("::error::x"), "\\u{3a}:error::x");
        assert_eq!(text("x ::add-mask::y"), "x \\u{3a}:add-mask::y");
        assert_eq!(text("\u{a0}::debug::y"), "\u{a0}\\u{3a}:debug::y");
        assert_eq!(text("x##[error]y"), "x\\u{23}#[error]y");
        assert_eq!(text("##vso[task.x] ###[a]"), "\\u{23}#vso[task.x] #\\u{23}#[a]");
        assert!(matches!(text("std::io::Error ## a [b] :: #1"), Cow::Owned(_)));
        assert!(matches!(text("std::io::Error ## a [b] : #1"), Cow::Borrowed(_)));
    }
}
