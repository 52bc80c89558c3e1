//! Scans here-documents (`<<END`).

use super::{MAX_DEPTH, Scanner};
use crate::permission::shell::{SplitError, builder::PartBuilder};

/// A here-document `<<END` whose text follows on a later line.
pub(super) struct Document {
    end: String,
    /// Whether leading tabs of its lines are removed (`<<-`).
    tabs: bool,
    /// Whether its end mark is quoted, so that the shell expands nothing in it.
    quoted: bool,
}

impl Scanner {
    /// Scans the end mark of a here-document. Its text is skipped after the end of the line.
    pub(super) fn document(&mut self, tabs: bool, builder: &mut PartBuilder) {
        self.fail(SplitError::Heredoc);
        let blank = |letter: &char| *letter == ' ' || *letter == '\t';
        while self.peek(0).as_ref().is_some_and(blank) {
            self.at += 1;
        }
        let (mut end, mut quoted) = (String::new(), false);
        while let Some(letter) =
            self.peek(0).filter(|letter| !letter.is_whitespace() && !";|&<>()".contains(*letter))
        {
            builder.part.text.push(letter);
            match "'\"\\".contains(letter) {
                true => quoted = true,
                false => end.push(letter),
            }
            self.at += 1;
        }
        let quoted = quoted || end.is_empty();
        self.documents.push(Document { end, tabs, quoted });
    }

    pub(super) fn skip_documents(&mut self) {
        for Document { end, tabs, quoted } in std::mem::take(&mut self.documents) {
            let start = self.at;
            let mut stop = self.at;
            while self.at < self.letters.len() {
                let rest = &self.letters[self.at..];
                let length = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.letters.len());
                if if tabs { line.trim_start_matches('\t') } else { &line } == end {
                    break;
                }
                stop = self.at;
            }
            if !quoted {
                self.scan_document(start, stop);
            }
        }
    }

    /// Finds substitutions in the text of a here-document.
    fn scan_document(&mut self, start: usize, stop: usize) {
        if self.depth > MAX_DEPTH {
            return self.fail(SplitError::Deep);
        }
        let letters = self.letters[start..stop].to_vec();
        let mut inner = Self { letters, depth: self.depth + 1, pipelines: self.pipelines, ..Self::default() };
        let mut builder = PartBuilder::default();
        while let Some(letter) = inner.peek(0) {
            match letter {
                '\\' => inner.at += 2,
                '$' => inner.dollar(&mut builder),
                '`' => inner.nested(&mut builder, 1, '`', SplitError::Substitution),
                _ => inner.at += 1,
            }
        }
        self.pipelines = inner.pipelines;
        self.parts.append(&mut inner.parts);
    }
}
