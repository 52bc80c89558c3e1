//! The walk over a command, letter by letter.

use super::{Part, Redirect, Unsplit, Word};

/// How deep substitutions may nest.
const DEEPEST: usize = 32;

/// Words of the shell's grammar. A part that begins with one belongs to something larger.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "[[", "!",
];

/// Words that group commands.
const BRACES: &[&str] = &["{", "}"];

/// How far the end of a list `{a,b}` is looked for.
const LIST: usize = 256;

/// Commands that run their arguments, or a file, as text of the shell.
const EVALS: &[&str] = &["eval", "source", "."];

/// Walks over a command and gathers its parts.
pub(super) struct Scanner {
    letters: Vec<char>,
    at: usize,
    parts: Vec<Part>,
    problem: Option<Unsplit>,
    depth: usize,
    pipelines: usize,
    /// The ends of documents whose text begins on the next line, and whether tabs before them are dropped.
    documents: Vec<(String, bool)>,
}

/// The part that is being read.
#[derive(Default)]
struct Draft {
    part: Part,
    word: Option<Word>,
    /// The redirection whose target the next word is.
    redirect: Option<Redirect>,
    /// Whether an operator before it needs it.
    needed: bool,
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Input,
    Letter(char),
}

impl Scanner {
    pub(super) fn new(command: &str) -> Self {
        let letters = command.chars().collect();
        let documents = Vec::new();
        Self { letters, at: 0, parts: Vec::new(), problem: None, depth: 0, pipelines: 0, documents }
    }

    pub(super) fn run(mut self) -> (Vec<Part>, Option<Unsplit>) {
        self.list(End::Input);
        (self.parts, self.problem)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// Whether the text goes on like this.
    fn sees(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    fn doubt(&mut self, why: Unsplit) {
        self.problem.get_or_insert(why);
    }

    /// Reads commands with operators between them, up to the end or the letter that closes them.
    fn list(&mut self, end: End) {
        if self.depth > DEEPEST {
            self.doubt(Unsplit::Deep);
            self.at = self.letters.len();
            return;
        }
        self.depth += 1;
        let mut draft =
            Draft { part: Part { pipeline: self.next_pipeline(), ..Part::default() }, ..Draft::default() };
        let mut closed = end == End::Input;
        while let Some(letter) = self.peek(0) {
            if end == End::Letter(letter) {
                self.at += 1;
                closed = true;
                break;
            }
            self.step(letter, &mut draft);
        }
        if !closed {
            self.doubt(Unsplit::Quote);
        }
        if draft.needed && draft.part.text.trim_ascii().is_empty() {
            self.doubt(Unsplit::Empty);
        }
        self.finish(&mut draft);
        self.depth -= 1;
    }

    fn next_pipeline(&mut self) -> usize {
        self.pipelines += 1;
        self.pipelines
    }

    fn step(&mut self, letter: char, draft: &mut Draft) {
        match letter {
            // To a shell the two are not there at all: a word goes on.
            '\\' if self.peek(1) == Some('\n') => self.at += 2,
            '\\' => self.escape(draft),
            '\'' => self.single(draft),
            '"' => self.double(draft),
            // `$"…"` is a text that is translated.
            '$' if self.peek(1) == Some('"') => {
                self.doubt(Unsplit::Expansion);
                self.plain(draft, letter);
            }
            '$' => self.dollar(draft),
            '`' => self.nested(draft, 1, '`', Unsplit::Substitution),
            '(' => self.nested(draft, 1, ')', Unsplit::Group),
            ')' => {
                self.doubt(Unsplit::Group);
                self.plain(draft, letter);
            }
            '#' if draft.word.is_none() => self.comment(),
            '<' | '>' => self.redirect(draft),
            '&' if self.peek(1) == Some('>') => self.redirect(draft),
            '\n' | ';' | '&' | '|' => self.operator(letter, draft),
            // To a shell other blanks are letters of a word.
            ' ' | '\t' => {
                self.at += 1;
                draft.end_word();
                draft.part.text.push(letter);
            }
            _ => {
                let pattern = self.is_pattern(letter);
                self.plain(draft, letter);
                if pattern {
                    draft.word.get_or_insert_default().varies = true;
                }
            }
        }
    }

    fn plain(&mut self, draft: &mut Draft, letter: char) {
        self.at += 1;
        draft.push(&[letter], &letter.to_string());
    }

    /// Whether a letter outside of quotes begins a pattern or a list (`{a,b}`), which the shell replaces.
    fn is_pattern(&self, letter: char) -> bool {
        // Far enough for any list that a person writes; what is longer is taken for one.
        let list = || {
            let blank = |letter: &&char| !letter.is_ascii_whitespace();
            let run: Vec<&char> = self.letters[self.at + 1..].iter().take_while(blank).take(LIST).collect();
            run.len() == LIST || run.contains(&&'}') && run.iter().any(|letter| ",.".contains(**letter))
        };
        "*?[".contains(letter) || letter == '{' && list()
    }

    fn escape(&mut self, draft: &mut Draft) {
        let Some(next) = self.peek(1) else {
            self.doubt(Unsplit::Quote);
            return self.plain(draft, '\\');
        };
        self.at += 2;
        draft.push(&['\\', next], &next.to_string());
    }

    fn single(&mut self, draft: &mut Draft) {
        let start = self.at;
        self.at += 1;
        while self.peek(0).is_some_and(|letter| letter != '\'') {
            self.at += 1;
        }
        let inside: String = self.letters[start + 1..self.at].iter().collect();
        if self.peek(0).is_none() {
            self.doubt(Unsplit::Quote);
        }
        self.at = (self.at + 1).min(self.letters.len());
        draft.push(&self.letters[start..self.at], &inside);
    }

    fn double(&mut self, draft: &mut Draft) {
        draft.push(&['"'], "");
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.doubt(Unsplit::Quote),
                Some('"') => break,
                Some('\\') => match self.peek(1) {
                    Some('\n') => self.at += 2,
                    Some(next) if "$`\"\\".contains(next) => self.escape(draft),
                    Some(_) | None => self.plain(draft, '\\'),
                },
                Some('$') => self.dollar(draft),
                Some('`') => self.nested(draft, 1, '`', Unsplit::Substitution),
                Some(letter) => self.plain(draft, letter),
            }
        }
        self.at += 1;
        draft.push(&['"'], "");
    }

    fn dollar(&mut self, draft: &mut Draft) {
        match self.peek(1) {
            Some('(') => return self.nested(draft, 2, ')', Unsplit::Substitution),
            Some('{') if !self.names_variable() => self.doubt(Unsplit::Expansion),
            Some('\'') => self.doubt(Unsplit::Expansion),
            // The name goes on in the next line.
            Some('\\') if self.peek(2) == Some('\n') => self.doubt(Unsplit::Expansion),
            // `$` before a blank or a quote stands for itself.
            Some(next) if !next.is_alphanumeric() && !"_{?!$#@*-".contains(next) => {
                return self.plain(draft, '$');
            }
            None => return self.plain(draft, '$'),
            Some(_) => {}
        }
        self.plain(draft, '$');
        draft.expands();
    }

    /// Whether `${NAME}` stands here, with nothing but a name.
    fn names_variable(&self) -> bool {
        let inside = self.letters[self.at..].iter().skip(2).take_while(|letter| **letter != '}');
        inside.clone().all(|letter| letter.is_alphanumeric() || *letter == '_')
            && self.letters.get(self.at + 2 + inside.count()) == Some(&'}')
    }

    /// Reads commands within this one; they are parts of their own.
    fn nested(&mut self, draft: &mut Draft, opening: usize, close: char, why: Unsplit) {
        let start = self.at;
        self.doubt(why);
        self.at += opening;
        self.list(End::Letter(close));
        let raw: String = self.letters[start..self.at].iter().collect();
        draft.push(&self.letters[start..self.at], &raw);
        draft.expands();
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn redirect(&mut self, draft: &mut Draft) {
        if self.sees("<(") || self.sees(">(") {
            return self.nested(draft, 2, ')', Unsplit::Process);
        }
        const OPERATORS: &[&str] = &["&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<&", "<>", ">", "<"];
        let operator = OPERATORS.iter().find(|operator| self.sees(operator)).copied().unwrap_or(">");
        draft.end_descriptor();
        draft.part.text.push_str(operator);
        self.at += operator.len();
        if operator == "<<" || operator == "<<-" {
            return self.document(operator == "<<-", draft);
        }
        let writes = operator.contains('>');
        let copies = operator == ">&" || operator == "<&";
        draft.redirect = Some(Redirect { writes, target: Word::default(), copies });
        // `>&-` is whole: what follows is the next word.
        if copies && self.peek(0) == Some('-') {
            self.plain(draft, '-');
            draft.end_word();
        }
    }

    /// Remembers where a document ends; its text is passed over at the end of the line.
    fn document(&mut self, tabs: bool, draft: &mut Draft) {
        self.doubt(Unsplit::Heredoc);
        let blank = |letter: &char| *letter == ' ' || *letter == '\t';
        while self.peek(0).as_ref().is_some_and(blank) {
            self.at += 1;
        }
        let mut end = String::new();
        while let Some(letter) =
            self.peek(0).filter(|letter| !letter.is_whitespace() && !";|&<>()".contains(*letter))
        {
            draft.part.text.push(letter);
            if !"'\"\\".contains(letter) {
                end.push(letter);
            }
            self.at += 1;
        }
        self.documents.push((end, tabs));
    }

    fn pass_documents(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.documents) {
            while self.at < self.letters.len() {
                let rest = &self.letters[self.at..];
                let length = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.letters.len());
                if if tabs { line.trim_start_matches('\t') } else { &line } == end {
                    break;
                }
            }
        }
    }

    fn operator(&mut self, letter: char, draft: &mut Draft) {
        let double = self.peek(1) == Some(letter) && letter != '\n';
        let pipe = letter == '|' && !double;
        self.at += if double || self.sees("|&") { 2 } else { 1 };
        draft.end_word();
        let empty = draft.part.text.trim_ascii().is_empty();
        if letter == ';' && double {
            self.doubt(Unsplit::Control);
        }
        if empty && letter != '\n' {
            self.doubt(Unsplit::Empty);
        }
        // After `&&` a line may end, and the next one is still needed.
        draft.needed = letter == '|' || letter == '&' && double || letter == '\n' && empty && draft.needed;
        let pipeline = draft.part.pipeline;
        self.finish(draft);
        draft.part.pipeline = if pipe { pipeline } else { self.next_pipeline() };
        if letter == '\n' {
            self.pass_documents();
        }
    }

    /// Closes the part that is being read, and begins the next.
    fn finish(&mut self, draft: &mut Draft) {
        draft.end_word();
        if draft.redirect.take().is_some() {
            self.doubt(Unsplit::Empty);
        }
        let mut part = std::mem::take(&mut draft.part);
        part.text = trimmed(&part.text).to_owned();
        let grammar = |word: &&Word| KEYWORDS.contains(&&*word.raw) || BRACES.contains(&&*word.raw);
        let before = part.words.iter().take_while(grammar).count();
        for word in part.words.drain(..before) {
            self.doubt(if BRACES.contains(&&*word.raw) { Unsplit::Group } else { Unsplit::Control });
        }
        if let Some(first) = part.core().first() {
            let why = match first.text.as_str() {
                name if EVALS.contains(&name) => Some(Unsplit::Eval),
                _ if KEYWORDS.contains(&first.raw.as_str()) => Some(Unsplit::Control),
                _ if first.expands || first.varies && first.text != "[" => Some(Unsplit::Variable),
                _ => None,
            };
            why.into_iter().for_each(|why| self.doubt(why));
        }
        if !part.words.is_empty() || !part.redirects.is_empty() {
            self.parts.push(part);
        }
    }
}

impl Draft {
    /// Adds letters to the word: as written, and as they are without quotes.
    fn push(&mut self, raw: &[char], text: &str) {
        let word = self.word.get_or_insert_default();
        word.raw.extend(raw);
        word.text.push_str(text);
        self.part.text.extend(raw);
    }

    fn expands(&mut self) {
        self.word.get_or_insert_default().expands = true;
    }

    fn end_word(&mut self) {
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
    fn end_descriptor(&mut self) {
        let digits = |word: &Word| word.raw.chars().all(|letter| letter.is_ascii_digit());
        if self.redirect.is_none() && self.word.as_ref().is_some_and(digits) {
            self.word = None;
        } else {
            self.end_word();
        }
    }
}

/// Without the blanks around it; a blank that is escaped is a part of its word.
fn trimmed(text: &str) -> &str {
    let begun = text.trim_ascii_start();
    let ended = begun.trim_ascii_end();
    let escapes = ended.bytes().rev().take_while(|byte| *byte == b'\\').count();
    if escapes % 2 == 1 { begun.get(..ended.len() + 1).unwrap_or(ended) } else { ended }
}
