//! Builds one part of a command while it is scanned.

use super::{Part, Redirect, Word, scan::KEYWORDS};

/// The part that is being scanned.
#[derive(Default)]
pub(super) struct PartBuilder {
    pub(super) part: Part,
    pub(super) word: Option<Word>,
    /// The redirection whose target the next word is.
    pub(super) redirect: Option<Redirect>,
    /// Whether an operator before it requires a command here.
    pub(super) needed: bool,
}

impl PartBuilder {
    /// Appends characters to the current word: `raw` as written, `text` without quotes and escapes.
    pub(super) fn push(&mut self, raw: &[char], text: &str) {
        let word = self.word.get_or_insert_default();
        word.raw.extend(raw);
        word.text.push_str(text);
        self.part.text.extend(raw);
    }

    pub(super) fn expands(&mut self) {
        self.word.get_or_insert_default().expands = true;
    }

    /// Returns whether a test `[[ … ]]` is open. Operators in it are words.
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
            Some(Redirect { writes, duplicates, .. }) => {
                // `>&1` and `>&-` copy or close, `>&file` writes.
                let number = word.raw.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
                self.part.redirects.push(Redirect { writes, duplicates: duplicates && number, target: word });
            }
            None => self.part.words.push(word),
        }
    }

    /// Ends the word before a redirection. If it consists of digits, it is the redirected descriptor.
    pub(super) fn end_descriptor(&mut self) {
        let digits = |word: &Word| word.raw.chars().all(|letter| letter.is_ascii_digit());
        if self.redirect.is_none() && self.word.as_ref().is_some_and(digits) {
            self.word = None;
        } else {
            self.end_word();
        }
    }
}

/// Trims spaces, but keeps an escaped space at the end, which is part of a word.
pub(super) fn trimmed(text: &str) -> &str {
    let begun = text.trim_ascii_start();
    let ended = begun.trim_ascii_end();
    let escapes = ended.bytes().rev().take_while(|byte| *byte == b'\\').count();
    if escapes % 2 == 1 { begun.get(..ended.len() + 1).unwrap_or(ended) } else { ended }
}
