//! Shell commands taken apart: at `&&`, `||`, `;`, `|`, `&` and line ends, with quotes and escapes respected.
//!
//! This is no shell. What it cannot split with certainty it says so about ([`Unsplit`]) and never guesses: then nothing
//! may be concluded from the parts except that something dangerous stands there.

mod draft;
mod scan;

use scan::Scanner;

/// One simple command of a compound one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Part {
    /// As it was written, without the operators around it.
    pub text: String,
    /// Its words, without redirections.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// Parts with the same number are joined by pipes.
    pub pipeline: usize,
    /// Whether words of the shell's grammar (`if`, `then`, `!`) were taken off its beginning.
    pub guarded: bool,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Word {
    /// Without quotes and escapes.
    pub text: String,
    /// As it was written.
    pub raw: String,
    /// Whether only the shell knows what it becomes: it has a variable or a substitution.
    pub expands: bool,
    /// Whether it has a pattern (`*`, `?`, `[…]`) or a list (`{a,b}`) that the shell replaces.
    pub varies: bool,
    /// Whether it has a list (`{a,b}`).
    pub lists: bool,
    /// Whether a backslash outside of quotes escapes a blank or an operator.
    pub escapes: bool,
    /// Whether it goes on after a backslash at the end of a line.
    pub continued: bool,
    /// Whether it is text that `"$(cat <<'END' … END)"` hands over unchanged.
    pub document: bool,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Whether the target is written.
    pub writes: bool,
    /// The file, or the number of another redirection (`2>&1`).
    pub target: Word,
    /// Whether the target is such a number.
    pub copies: bool,
}

/// Why a command cannot be split with certainty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsplit {
    /// `$(…)` or backticks.
    #[error("it runs a command within a command (`$(…)` or backticks)")]
    Substitution,
    /// `<(…)` or `>(…)`.
    #[error("it uses the output of a command as a file (`<(…)`)")]
    Process,
    /// `<<END`.
    #[error("it holds a document (`<<`)")]
    Heredoc,
    /// A quote without its end, or a backslash at the end.
    #[error("a quote is not closed")]
    Quote,
    /// `$'…'`, `${x:-…}`.
    #[error("it has an expansion that only a shell understands (`${{…}}` or `$'…'`)")]
    Expansion,
    /// A command whose name is a variable or a pattern.
    #[error("the name of a command is a variable or a pattern")]
    Variable,
    /// `( … )`, `{ … }`, functions, and parentheses that do not fit.
    #[error("it has parentheses or braces of the shell")]
    Group,
    /// `if`, `for`, `while`, `case` and so on.
    #[error("it has loops or conditions of the shell")]
    Control,
    /// `eval`, `source`.
    #[error("it runs text as a command (`eval`, `source`)")]
    Eval,
    /// An operator with nothing on one side.
    #[error("an operator has nothing on one side")]
    Empty,
    /// Beyond any sane nesting.
    #[error("it is nested too deeply")]
    Deep,
}

/// Why the CLI does not check the text of a command that can be split (measured on 2.1.326).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchecked {
    /// `a &`.
    #[error("a part runs in the background (`&`)")]
    Background,
    /// A backslash at the end of a line.
    #[error("a line ends in a backslash")]
    Continuation,
    /// `a\ b`, `\;`.
    #[error("a blank or an operator is escaped with a backslash")]
    Escape,
    /// `{a,b}`.
    #[error("it has a list in braces (`{{a,b}}`)")]
    Braces,
    /// A quoted line that begins with `#`.
    #[error("a quoted text has a line that begins with `#`")]
    QuotedComment,
    /// `$` that is no variable.
    #[error("it has a `$` without a name")]
    Dollar,
    /// `<<<`.
    #[error("it holds a text for its input (`<<<`)")]
    Text,
}

/// A command taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// All parts that can be seen, also within substitutions and loops.
    pub(super) parts: Vec<Part>,
    /// The first reason not to trust them.
    pub(super) doubt: Option<Unsplit>,
    /// The first reason why the CLI does not check the text, although the parts are certain.
    pub(super) unchecked: Option<Unchecked>,
}

/// The parts of a command, or why it cannot be split with certainty.
pub fn split(command: &str) -> Result<Vec<Part>, Unsplit> {
    let Pieces { parts, doubt, .. } = pieces(command);
    doubt.map_or(Ok(parts), Err)
}

/// Takes a command apart as far as possible.
pub(super) fn pieces(command: &str) -> Pieces {
    Scanner::new(command).run()
}

/// Every way to write the parts of a command that a rule may be about: as written, without redirections, without what
/// only wraps them (`A=b`, `sudo`, `timeout 5`), without quotes, without the folder of the program, and with a variable that
/// was set before as the name of the program (measured on 2.1.326).
#[derive(Clone, Debug, Default)]
pub(super) struct Spoken(Vec<String>);

impl Spoken {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut all = Vec::with_capacity(parts.len());
        let mut variables: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let core = part.core();
            if core.is_empty() {
                variables.extend(part.words.iter().filter_map(assigned));
            }
            // Such a name is not put together by the CLI.
            if core.first().is_some_and(|first| first.continued) {
                continue;
            }
            let plain = core.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            let mut texts = vec![part.text.clone(), part.bare(), part.core_text(), plain];
            if let Some((first, rest)) = core.split_first() {
                let name = variable(&first.raw);
                let value = variables.iter().rev().find(|(known, _)| Some(*known) == name);
                let name = value.map_or_else(|| program(&first.text), |(_, value)| value);
                let words = rest.iter().map(|word| word.text.as_str());
                texts.push(std::iter::once(name).chain(words).collect::<Vec<_>>().join(" "));
            }
            texts.dedup();
            all.extend(texts);
        }
        Self(all)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// The name of `$NAME` or `${NAME}`.
fn variable(raw: &str) -> Option<&str> {
    let rest = raw.strip_prefix('$')?;
    Some(rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(rest))
}

/// The name and the value of `NAME=value`.
pub(super) fn assigned(word: &Word) -> Option<(&str, &str)> {
    is_assignment(&word.raw).then(|| word.text.split_once('=')).flatten()
}

/// What runs another command that follows it: the name, its flags that take a value, and how many operands stand
/// before the command.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-T", "-D", "-R"], 0),
    ("doas", &["-u", "-C"], 0),
    ("env", &["-u", "-C", "-S"], 0),
    ("timeout", &["-s", "-k"], 1),
    ("nice", &["-n"], 0),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("time", &["-f", "-o"], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("xargs", &["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E"], 0),
];

/// Wrappers that take assignments before the command; after others `A=b` is the name of one.
const ASSIGNING: &[&str] = &["sudo", "doas", "env"];

impl Part {
    /// Its words with single blanks between, without redirections.
    pub fn bare(&self) -> String {
        joined(&self.words)
    }

    /// The words of the command that really runs: without `A=b` before it and without wrappers such as `sudo`,
    /// `timeout 5` and `xargs`.
    pub fn core(&self) -> &[Word] {
        let mut words = after_assignments(&self.words);
        loop {
            let Some((first, rest)) = words.split_first() else { return words };
            let wrapper = WRAPPERS.iter().find(|(name, ..)| *name == program(&first.text));
            let Some((name, valued, operands)) = wrapper else { return words };
            let mut after = skip_flags(rest, valued).get(*operands..).unwrap_or_default();
            if ASSIGNING.contains(name) {
                after = after_assignments(after);
            }
            if after.is_empty() {
                return words;
            }
            words = after;
        }
    }

    /// The words of [`core`](Self::core) with single blanks between.
    pub fn core_text(&self) -> String {
        joined(self.core())
    }

    /// The wrappers before the command that really runs, by name.
    pub(super) fn wrappers(&self) -> impl Iterator<Item = &str> {
        let before = self.words.len() - self.core().len();
        self.words[..before].iter().map(|word| program(&word.text))
    }

    /// The files that redirections read.
    pub(super) fn read(&self) -> impl Iterator<Item = &Word> {
        let files = self.redirects.iter().filter(|redirect| !redirect.writes && !redirect.copies);
        files.map(|redirect| &redirect.target).filter(|target| target.text != "/dev/null")
    }

    /// As it was written, without the words of the shell's grammar before it.
    pub(super) fn unguarded(&self) -> &str {
        let mut text = self.text.as_str();
        while self.guarded
            && let Some((first, rest)) = text.split_once([' ', '\t'])
            && scan::KEYWORDS.contains(&first)
        {
            text = rest.trim_ascii_start();
        }
        text
    }

    /// As a rule for one command has to spell it: as written, without redirections, keywords and a backslash before it.
    pub(super) fn spelt(&self) -> String {
        let text = if self.redirects.is_empty() && !self.guarded { self.text.clone() } else { self.bare() };
        text.strip_prefix('\\').map_or(text.clone(), str::to_owned)
    }

    /// The files that redirections write. `/dev/null` is none.
    pub fn written(&self) -> impl Iterator<Item = &Word> {
        let files = self.redirects.iter().filter(|redirect| redirect.writes && !redirect.copies);
        files.map(|redirect| &redirect.target).filter(|target| target.text != "/dev/null")
    }
}

/// The name of a program without its version: `python` of `python3.12`.
pub(super) fn unversioned(program: &str) -> &str {
    program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-')
}

/// The name of a program without its folder.
pub(super) fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

pub(super) fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

fn after_assignments(words: &[Word]) -> &[Word] {
    &words[words.iter().take_while(|word| is_assignment(&word.raw)).count()..]
}

/// `NAME=…`, as it stands before a command.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    begins && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn skip_flags<'a>(mut words: &'a [Word], valued: &[&str]) -> &'a [Word] {
    while let Some((first, rest)) = words.split_first() {
        if !first.text.starts_with('-') || first.text == "-" {
            break;
        }
        let takes = if valued.contains(&first.text.as_str()) { 1 } else { 0 };
        words = rest.get(takes..).unwrap_or_default();
        if first.text == "--" {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests;
