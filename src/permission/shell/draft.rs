//! The part of a command that is being read.

use super::{Part, Redirect, Word, scan::KEYWORDS};

/// The part that is being read.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) part: Part,
    pub(super) word: Option<Word>,
    /// The redirection whose target the next word is.
    pub(super) redirect: Option<Redirect>,
    /// Whether an operator before it needs it.
    pub(super) needed: bool,
}

impl Draft {
    /// Adds letters to the word: as written, and as they are without quotes.
    pub(super) fn push(&mut self, raw: &[char], text: &str) {
        let word = self.word.get_or_insert_default();
        word.raw.extend(raw);
        word.text.push_str(text);
        self.part.text.extend(raw);
    }

    pub(super) fn expands(&mut self) {
        self.word.get_or_insert_default().expands = true;
    }

    /// Whether a test `[[ … ]]` is open, in which operators are words.
    pub(super) fn in_test(&self) -> bool {
        let grammar = |word: &&Word| KEYWORDS.contains(&&*word.raw);
        let mut words = self.part.words.iter().skip_while(grammar);
        // After a redirection `[[` is the name of a command.
        self.part.redirects.is_empty()
            && words.next().is_some_and(|word| word.raw == "[[")
            && words.all(|word| word.raw != "]]")
    }

    pub(super) fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            Some(Redirect { writes, copies, .. }) => {
                // `>&1` and `>&-` copy or close, `>&file` writes.
                let number = word.raw.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
                self.part.redirects.push(Redirect { writes, copies: copies && number, target: word });
            }
            None => self.part.words.push(word),
        }
    }

    /// Digits right before a redirection belong to it.
    pub(super) fn end_descriptor(&mut self) {
        let digits = |word: &Word| word.raw.chars().all(|letter| letter.is_ascii_digit());
        if self.redirect.is_none() && self.word.as_ref().is_some_and(digits) {
            self.word = None;
        } else {
            self.end_word();
        }
    }
}

/// Without the blanks around it; a blank that is escaped is a part of its word.
pub(super) fn trimmed(text: &str) -> &str {
    let begun = text.trim_ascii_start();
    let ended = begun.trim_ascii_end();
    let escapes = ended.bytes().rev().take_while(|byte| *byte == b'\\').count();
    if escapes % 2 == 1 { begun.get(..ended.len() + 1).unwrap_or(ended) } else { ended }
}
