//! The walk over a command, letter by letter.

use super::{
    Part, Pieces, Redirect, Unchecked, Unsplit, Word,
    draft::{Draft, trimmed},
};

/// How deep substitutions may nest.
const DEEPEST: usize = 32;

/// Words of the shell's grammar. A part that begins with one belongs to something larger.
pub(super) const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "!",
];

/// Those of them that leave the parts between them certain.
const PLAIN: &[&str] = &["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!"];

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
    unchecked: Option<Unchecked>,
    depth: usize,
    pipelines: usize,
    /// The documents whose text begins on the next line.
    documents: Vec<Document>,
    /// Whether a text `$(cat <<'END'` had no end, so that none is looked for again.
    unclosed: bool,
}

/// A document `<<END` that is announced.
struct Document {
    end: String,
    /// Whether tabs before its lines are dropped.
    tabs: bool,
    /// Whether its end is quoted, so that nothing in it is replaced.
    quoted: bool,
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
        let (problem, unchecked, unclosed) = (None, None, false);
        let parts = Vec::new();
        Self { letters, at: 0, parts, problem, unchecked, depth: 0, pipelines: 0, documents, unclosed }
    }

    pub(super) fn run(mut self) -> Pieces {
        self.list(End::Input);
        Pieces { parts: self.parts, doubt: self.problem, unchecked: self.unchecked }
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

    fn caution(&mut self, why: Unchecked) {
        self.unchecked.get_or_insert(why);
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
            '\\' if self.peek(1) == Some('\n') => {
                self.caution(Unchecked::Continuation);
                self.at += 2;
                if let Some(word) = &mut draft.word {
                    word.continued = true;
                }
            }
            '\\' => {
                if self.peek(1).is_some_and(|next| " \t;|&<>(){}".contains(next)) {
                    self.caution(Unchecked::Escape);
                    draft.word.get_or_insert_default().escapes = true;
                }
                self.escape(draft);
            }
            '\'' => self.single(draft),
            '"' => self.double(draft),
            // `$"…"` is a text that is translated.
            '$' if self.peek(1) == Some('"') => {
                self.doubt(Unsplit::Expansion);
                self.plain(draft, letter);
            }
            '$' => self.dollar(draft),
            '`' => self.nested(draft, 1, '`', Unsplit::Substitution),
            // The name of a function: what follows is a command of its own.
            '(' if self.peek(1) == Some(')') => {
                self.doubt(Unsplit::Group);
                self.at += 2;
                self.finish(draft);
            }
            '(' => self.nested(draft, 1, ')', Unsplit::Group),
            // The end of a pattern of `case`, or a mistake: what follows is a command of its own.
            ')' => {
                self.doubt(Unsplit::Group);
                self.at += 1;
                self.finish(draft);
            }
            '#' if draft.word.is_none() => self.comment(),
            '<' | '>' | '&' | '|' if draft.in_test() => self.plain(draft, letter),
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
                    let word = draft.word.get_or_insert_default();
                    word.varies = true;
                    word.lists |= letter == '{';
                }
                if pattern && letter == '{' {
                    self.caution(Unchecked::Braces);
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
        if inside.contains("\n#") {
            self.caution(Unchecked::QuotedComment);
        }
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
                Some('$') if self.hands_over(draft) => {}
                Some('$') => self.dollar(draft),
                Some('`') => self.nested(draft, 1, '`', Unsplit::Substitution),
                Some('\n') if self.peek(1) == Some('#') => {
                    self.caution(Unchecked::QuotedComment);
                    self.plain(draft, '\n');
                }
                Some(letter) => self.plain(draft, letter),
            }
        }
        self.at += 1;
        draft.push(&['"'], "");
    }

    fn dollar(&mut self, draft: &mut Draft) {
        match self.peek(1) {
            Some('(') if self.peek(2) == Some('(') && self.arithmetic(draft) => return,
            Some('(') => return self.nested(draft, 2, ')', Unsplit::Substitution),
            Some('{') if !self.names_variable() => self.doubt(Unsplit::Expansion),
            Some('\'') => self.doubt(Unsplit::Expansion),
            // The name goes on in the next line.
            Some('\\') if self.peek(2) == Some('\n') => self.doubt(Unsplit::Expansion),
            // `$` before a blank or a quote stands for itself.
            Some(next) if !next.is_alphanumeric() && !"_{?!$#@*-".contains(next) => {
                self.caution(Unchecked::Dollar);
                return self.plain(draft, '$');
            }
            None => return self.plain(draft, '$'),
            Some(_) => {}
        }
        self.plain(draft, '$');
        draft.expands();
    }

    /// Takes `$((1 + 2))` as one word: a calculation that runs nothing.
    fn arithmetic(&mut self, draft: &mut Draft) -> bool {
        let rest = self.letters.get(self.at + 3..).unwrap_or_default();
        let letter =
            |letter: &&char| letter.is_ascii_alphanumeric() || "_ +-*/%<>=!&|^~?:,".contains(**letter);
        let length = rest.iter().take(LIST).take_while(letter).count();
        if rest.get(length) != Some(&')') || rest.get(length + 1) != Some(&')') {
            return false;
        }
        let end = self.at + 3 + length + 2;
        let raw: String = self.letters[self.at..end].iter().collect();
        draft.push(&self.letters[self.at..end], &raw);
        draft.expands();
        self.at = end;
        true
    }

    /// Takes `$(cat <<'END' … END)` within quotes as the text that it is: the CLI does (measured).
    fn hands_over(&mut self, draft: &mut Draft) -> bool {
        let opening = "$(cat <<'";
        if self.unclosed || !self.sees(opening) {
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
            self.unclosed = true;
            return false;
        };
        let inside = &text[..length];
        // A line before it that says the same ends the document, and what follows runs.
        if inside.lines().any(|line| line == tag) {
            return false;
        }
        let end = begin + inside.chars().count() + closing.chars().count();
        draft.push(&self.letters[self.at..end], inside);
        draft.word.get_or_insert_default().document = true;
        self.at = end;
        true
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
        if operator == "<<<" {
            self.caution(Unchecked::Text);
        }
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
        let (mut end, mut quoted) = (String::new(), false);
        while let Some(letter) =
            self.peek(0).filter(|letter| !letter.is_whitespace() && !";|&<>()".contains(*letter))
        {
            draft.part.text.push(letter);
            match "'\"\\".contains(letter) {
                true => quoted = true,
                false => end.push(letter),
            }
            self.at += 1;
        }
        let quoted = quoted || end.is_empty();
        self.documents.push(Document { end, tabs, quoted });
    }

    fn pass_documents(&mut self) {
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
                self.replaced(start, stop);
            }
        }
    }

    /// Finds the commands that run within a document.
    fn replaced(&mut self, start: usize, stop: usize) {
        if self.depth > DEEPEST {
            return self.doubt(Unsplit::Deep);
        }
        let letters = self.letters[start..stop].to_vec();
        let mut inner = Self { letters, depth: self.depth + 1, pipelines: self.pipelines, ..Self::new("") };
        let mut draft = Draft::default();
        while let Some(letter) = inner.peek(0) {
            match letter {
                '\\' => inner.at += 2,
                '$' => inner.dollar(&mut draft),
                '`' => inner.nested(&mut draft, 1, '`', Unsplit::Substitution),
                _ => inner.at += 1,
            }
        }
        self.pipelines = inner.pipelines;
        self.parts.append(&mut inner.parts);
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
        if letter == '&' && !double {
            self.caution(Unchecked::Background);
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
        part.guarded = before > 0;
        for word in part.words.drain(..before) {
            match &*word.raw {
                raw if PLAIN.contains(&raw) => {}
                raw if BRACES.contains(&raw) => self.doubt(Unsplit::Group),
                _ => self.doubt(Unsplit::Control),
            }
        }
        let test = |word: Option<&Word>, raw: &str| word.is_some_and(|word| word.raw == raw);
        if test(part.words.first(), "[[") && !test(part.words.last(), "]]") {
            self.doubt(Unsplit::Control);
        }
        if let Some(first) = part.core().first() {
            let why = match first.text.as_str() {
                name if EVALS.contains(&name) => Some(Unsplit::Eval),
                _ if KEYWORDS.contains(&first.raw.as_str()) => Some(Unsplit::Control),
                _ if first.expands || first.varies && !["[", "[["].contains(&&*first.text) => {
                    Some(Unsplit::Variable)
                }
                _ => None,
            };
            why.into_iter().for_each(|why| self.doubt(why));
        }
        if !part.words.is_empty() || !part.redirects.is_empty() {
            self.parts.push(part);
        }
    }
}
