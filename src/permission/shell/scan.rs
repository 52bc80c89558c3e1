//! Scans a command character by character.

mod heredoc;

use heredoc::Document;

use super::{
    ParsedCommand, Part, Redirect, SplitError, Unchecked, Word,
    builder::{PartBuilder, trimmed},
};

/// Maximum nesting of substitutions.
const MAX_DEPTH: usize = 32;

/// Keywords of the shell. A part that begins with one belongs to a compound command.
pub(super) const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "!",
];

/// The keywords after which a command can still be split with certainty.
const CERTAIN_KEYWORDS: &[&str] = &["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!"];

/// Keywords that group commands.
const BRACES: &[&str] = &["{", "}"];

/// Maximum length of a list `{a,b}` or a calculation; longer text is not searched for its end.
const MAX_LIST: usize = 256;

/// Commands that run their arguments or a file as shell code.
const EVALS: &[&str] = &["eval", "source", "."];

/// Scans a command and collects its parts.
#[derive(Default)]
pub(super) struct Scanner {
    letters: Vec<char>,
    at: usize,
    parts: Vec<Part>,
    split_error: Option<SplitError>,
    unchecked: Option<Unchecked>,
    depth: usize,
    pipelines: usize,
    /// Here-documents whose text begins on the next line.
    documents: Vec<Document>,
    /// Whether a `$(cat <<'END'` had no end. The rest is then not searched again, which would take quadratic
    /// time.
    heredoc_unclosed: bool,
}

/// The end of a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Input,
    Letter(char),
}

impl Scanner {
    pub(super) fn new(command: &str) -> Self {
        Self { letters: command.chars().collect(), ..Self::default() }
    }

    pub(super) fn run(mut self) -> ParsedCommand {
        self.list(End::Input);
        ParsedCommand { parts: self.parts, split_error: self.split_error, unchecked: self.unchecked }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// Returns whether the rest of the command starts with this text.
    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    fn fail(&mut self, why: SplitError) {
        self.split_error.get_or_insert(why);
    }

    fn note_unchecked(&mut self, why: Unchecked) {
        self.unchecked.get_or_insert(why);
    }

    /// Scans a list of commands up to the end of the input or the closing character.
    fn list(&mut self, end: End) {
        if self.depth > MAX_DEPTH {
            self.fail(SplitError::Deep);
            self.at = self.letters.len();
            return;
        }
        self.depth += 1;
        let mut builder = PartBuilder {
            part: Part { pipeline: self.next_pipeline(), ..Part::default() },
            ..PartBuilder::default()
        };
        let mut closed = end == End::Input;
        while let Some(letter) = self.peek(0) {
            if end == End::Letter(letter) {
                self.at += 1;
                closed = true;
                break;
            }
            self.scan_char(letter, &mut builder);
        }
        if !closed {
            self.fail(SplitError::Quote);
        }
        if builder.needed && builder.part.text.trim_ascii().is_empty() {
            self.fail(SplitError::Empty);
        }
        self.finish(&mut builder);
        self.depth -= 1;
    }

    fn next_pipeline(&mut self) -> usize {
        self.pipelines += 1;
        self.pipelines
    }

    fn scan_char(&mut self, letter: char, builder: &mut PartBuilder) {
        match letter {
            // The shell removes both characters, so the word continues.
            '\\' if self.peek(1) == Some('\n') => {
                self.note_unchecked(Unchecked::Continuation);
                self.at += 2;
                if let Some(word) = &mut builder.word {
                    word.continued = true;
                }
            }
            '\\' => {
                if self.peek(1).is_some_and(|next| " \t;|&<>(){}".contains(next)) {
                    self.note_unchecked(Unchecked::Escape);
                    builder.word.get_or_insert_default().has_escape = true;
                }
                self.escape(builder);
            }
            '\'' => self.single_quoted(builder),
            '"' => self.double_quoted(builder),
            // `$"…"` is a text to be translated.
            '$' if self.peek(1) == Some('"') => {
                self.fail(SplitError::Expansion);
                self.push_char(builder, letter);
            }
            '$' => self.dollar(builder),
            '`' => self.nested(builder, 1, '`', SplitError::Substitution),
            // The definition of a function: its body is a separate part.
            '(' if self.peek(1) == Some(')') => {
                self.fail(SplitError::Group);
                self.at += 2;
                self.finish(builder);
            }
            '(' => self.nested(builder, 1, ')', SplitError::Group),
            // The end of a `case` pattern, or a mistake: a separate part follows.
            ')' => {
                self.fail(SplitError::Group);
                self.at += 1;
                self.finish(builder);
            }
            '#' if builder.word.is_none() => self.comment(),
            '<' | '>' | '&' | '|' if builder.in_test() => self.push_char(builder, letter),
            '<' | '>' => self.redirect(builder),
            '&' if self.peek(1) == Some('>') => self.redirect(builder),
            '\n' | ';' | '&' | '|' => self.operator(letter, builder),
            // Other whitespace is part of a word.
            ' ' | '\t' => {
                self.at += 1;
                builder.end_word();
                builder.part.text.push(letter);
            }
            _ => {
                let pattern = self.is_pattern(letter);
                self.push_char(builder, letter);
                if pattern {
                    let word = builder.word.get_or_insert_default();
                    word.has_pattern = true;
                    word.has_braces |= letter == '{';
                }
                if pattern && letter == '{' {
                    self.note_unchecked(Unchecked::Braces);
                }
            }
        }
    }

    fn push_char(&mut self, builder: &mut PartBuilder, letter: char) {
        self.at += 1;
        builder.push(&[letter], &letter.to_string());
    }

    /// Returns whether an unquoted character starts a pattern or a list (`{a,b}`), which the shell expands.
    fn is_pattern(&self, letter: char) -> bool {
        // Lists that people write are shorter; longer text counts as a list.
        let list = || {
            let blank = |letter: &&char| !letter.is_ascii_whitespace();
            let run: Vec<&char> =
                self.letters[self.at + 1..].iter().take_while(blank).take(MAX_LIST).collect();
            run.len() == MAX_LIST || run.contains(&&'}') && run.iter().any(|letter| ",.".contains(**letter))
        };
        "*?[".contains(letter) || letter == '{' && list()
    }

    fn escape(&mut self, builder: &mut PartBuilder) {
        let Some(next) = self.peek(1) else {
            self.fail(SplitError::Quote);
            return self.push_char(builder, '\\');
        };
        self.at += 2;
        builder.push(&['\\', next], &next.to_string());
    }

    fn single_quoted(&mut self, builder: &mut PartBuilder) {
        let start = self.at;
        self.at += 1;
        while self.peek(0).is_some_and(|letter| letter != '\'') {
            self.at += 1;
        }
        let inside: String = self.letters[start + 1..self.at].iter().collect();
        if inside.contains("\n#") {
            self.note_unchecked(Unchecked::QuotedComment);
        }
        if self.peek(0).is_none() {
            self.fail(SplitError::Quote);
        }
        self.at = (self.at + 1).min(self.letters.len());
        builder.push(&self.letters[start..self.at], &inside);
    }

    fn double_quoted(&mut self, builder: &mut PartBuilder) {
        builder.push(&['"'], "");
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.fail(SplitError::Quote),
                Some('"') => break,
                Some('\\') => match self.peek(1) {
                    Some('\n') => self.at += 2,
                    Some(next) if "$`\"\\".contains(next) => self.escape(builder),
                    Some(_) | None => self.push_char(builder, '\\'),
                },
                Some('$') if self.heredoc_substitution(builder) => {}
                Some('$') => self.dollar(builder),
                Some('`') => self.nested(builder, 1, '`', SplitError::Substitution),
                Some('\n') if self.peek(1) == Some('#') => {
                    self.note_unchecked(Unchecked::QuotedComment);
                    self.push_char(builder, '\n');
                }
                Some(letter) => self.push_char(builder, letter),
            }
        }
        self.at += 1;
        builder.push(&['"'], "");
    }

    fn dollar(&mut self, builder: &mut PartBuilder) {
        match self.peek(1) {
            Some('(') if self.peek(2) == Some('(') && self.arithmetic(builder) => return,
            Some('(') => return self.nested(builder, 2, ')', SplitError::Substitution),
            Some('{') if !self.names_variable() => self.fail(SplitError::Expansion),
            Some('\'') => self.fail(SplitError::Expansion),
            // The name continues on the next line.
            Some('\\') if self.peek(2) == Some('\n') => self.fail(SplitError::Expansion),
            // `$` before a space or a quote is literal.
            Some(next) if !next.is_alphanumeric() && !"_{?!$#@*-".contains(next) => {
                self.note_unchecked(Unchecked::Dollar);
                return self.push_char(builder, '$');
            }
            None => return self.push_char(builder, '$'),
            Some(_) => {}
        }
        self.push_char(builder, '$');
        builder.expands();
    }

    /// Scans `$((1 + 2))` as part of a word, since it runs no command. Returns whether it was one.
    fn arithmetic(&mut self, builder: &mut PartBuilder) -> bool {
        let rest = self.letters.get(self.at + 3..).unwrap_or_default();
        let letter =
            |letter: &&char| letter.is_ascii_alphanumeric() || "_ +-*/%<>=!&|^~?:,".contains(**letter);
        let length = rest.iter().take(MAX_LIST).take_while(letter).count();
        if rest.get(length) != Some(&')') || rest.get(length + 1) != Some(&')') {
            return false;
        }
        let end = self.at + 3 + length + 2;
        let raw: String = self.letters[self.at..end].iter().collect();
        builder.push(&self.letters[self.at..end], &raw);
        builder.expands();
        self.at = end;
        true
    }

    /// Scans `$(cat <<'END' … END)` in quotes as literal text, as the CLI does (measured). Returns whether it
    /// was one.
    fn heredoc_substitution(&mut self, builder: &mut PartBuilder) -> bool {
        let opening = "$(cat <<'";
        if self.heredoc_unclosed || !self.starts_with(opening) {
            return false;
        }
        let rest = &self.letters[self.at + opening.len()..];
        let tag: String =
            rest.iter().take_while(|letter| letter.is_ascii_alphanumeric() || **letter == '_').collect();
        let begin = self.at + opening.len() + tag.len() + 2;
        if tag.is_empty() || self.letters.get(begin - 2..begin) != Some(&['\'', '\n'][..]) {
            return false;
        }
        let text: String = self.letters[begin..].iter().collect();
        let closing = format!("\n{tag}\n)");
        let Some(length) = text.find(&closing) else {
            self.heredoc_unclosed = true;
            return false;
        };
        let inside = &text[..length];
        // An earlier line with the end mark ends the document, and the lines after it run.
        if inside.lines().any(|line| line == tag) {
            return false;
        }
        let end = begin + inside.chars().count() + closing.chars().count();
        builder.push(&self.letters[self.at..end], inside);
        builder.word.get_or_insert_default().is_heredoc = true;
        self.at = end;
        true
    }

    /// Returns whether the rest starts with `${NAME}`, with nothing but a name.
    fn names_variable(&self) -> bool {
        let inside = self.letters[self.at..].iter().skip(2).take_while(|letter| **letter != '}');
        inside.clone().all(|letter| letter.is_alphanumeric() || *letter == '_')
            && self.letters.get(self.at + 2 + inside.count()) == Some(&'}')
    }

    /// Scans nested commands, which become separate parts.
    fn nested(&mut self, builder: &mut PartBuilder, opening: usize, close: char, why: SplitError) {
        let start = self.at;
        self.fail(why);
        self.at += opening;
        self.list(End::Letter(close));
        let raw: String = self.letters[start..self.at].iter().collect();
        builder.push(&self.letters[start..self.at], &raw);
        builder.expands();
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn redirect(&mut self, builder: &mut PartBuilder) {
        if self.starts_with("<(") || self.starts_with(">(") {
            return self.nested(builder, 2, ')', SplitError::Process);
        }
        const OPERATORS: &[&str] = &["&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<&", "<>", ">", "<"];
        let operator = OPERATORS.iter().find(|operator| self.starts_with(operator)).copied().unwrap_or(">");
        builder.end_descriptor();
        builder.part.text.push_str(operator);
        self.at += operator.len();
        if operator == "<<<" {
            self.note_unchecked(Unchecked::Text);
        }
        if operator == "<<" || operator == "<<-" {
            return self.document(operator == "<<-", builder);
        }
        let writes = operator.contains('>');
        let duplicates = operator == ">&" || operator == "<&";
        builder.redirect = Some(Redirect { writes, target: Word::default(), duplicates });
        // `>&-` is complete: the next character starts a new word.
        if duplicates && self.peek(0) == Some('-') {
            self.push_char(builder, '-');
            builder.end_word();
        }
    }

    fn operator(&mut self, letter: char, builder: &mut PartBuilder) {
        let double = self.peek(1) == Some(letter) && letter != '\n';
        let pipe = letter == '|' && !double;
        self.at += if double || self.starts_with("|&") { 2 } else { 1 };
        builder.end_word();
        let empty = builder.part.text.trim_ascii().is_empty();
        if letter == ';' && double {
            self.fail(SplitError::Control);
        }
        if letter == '&' && !double {
            self.note_unchecked(Unchecked::Background);
        }
        if empty && letter != '\n' {
            self.fail(SplitError::Empty);
        }
        // A line may end after `&&`; the command on the next line is still required.
        builder.needed =
            letter == '|' || letter == '&' && double || letter == '\n' && empty && builder.needed;
        let pipeline = builder.part.pipeline;
        self.finish(builder);
        builder.part.pipeline = if pipe { pipeline } else { self.next_pipeline() };
        if letter == '\n' {
            self.skip_documents();
        }
    }

    /// Completes the current part and starts the next one.
    fn finish(&mut self, builder: &mut PartBuilder) {
        builder.end_word();
        if builder.redirect.take().is_some() {
            self.fail(SplitError::Empty);
        }
        let mut part = std::mem::take(&mut builder.part);
        part.text = trimmed(&part.text).to_owned();
        let grammar = |word: &&Word| KEYWORDS.contains(&&*word.raw) || BRACES.contains(&&*word.raw);
        let before = part.words.iter().take_while(grammar).count();
        part.after_keyword = before > 0;
        for word in part.words.drain(..before) {
            match &*word.raw {
                raw if CERTAIN_KEYWORDS.contains(&raw) => {}
                raw if BRACES.contains(&raw) => self.fail(SplitError::Group),
                _ => self.fail(SplitError::Control),
            }
        }
        let test = |word: Option<&Word>, raw: &str| word.is_some_and(|word| word.raw == raw);
        if test(part.words.first(), "[[") && !test(part.words.last(), "]]") {
            self.fail(SplitError::Control);
        }
        if let Some(first) = part.core().first() {
            let why = match first.text.as_str() {
                name if EVALS.contains(&name) => Some(SplitError::Eval),
                _ if KEYWORDS.contains(&first.raw.as_str()) => Some(SplitError::Control),
                _ if first.expands || first.has_pattern && !["[", "[["].contains(&&*first.text) => {
                    Some(SplitError::Variable)
                }
                _ => None,
            };
            why.into_iter().for_each(|why| self.fail(why));
        }
        if !part.words.is_empty() || !part.redirects.is_empty() {
            self.parts.push(part);
        }
    }
}
