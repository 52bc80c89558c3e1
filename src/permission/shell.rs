//! Splits shell commands at `&&`, `||`, `;`, `|`, `&` and line ends, respecting quotes and escapes.
//!
//! This is not a complete shell parser. If it cannot split a command with certainty, it returns a
//! [`SplitError`] and does not guess. The parts of such a command only show what dangerous commands it
//! contains.

mod builder;
mod scan;

use scan::Scanner;

/// One simple command of a compound one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Part {
    /// The part as written, without the operators around it.
    pub text: String,
    /// The words, without redirections.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Number of the pipeline: parts with the same number are joined by pipes.
    pub pipeline: usize,
    /// Whether keywords of the shell (`if`, `then`, `!`) before it were removed from `words`.
    pub after_keyword: bool,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Word {
    /// The word without quotes and escapes.
    pub text: String,
    /// The word as written.
    pub raw: String,
    /// Whether it has a variable or a substitution, so that only the shell knows its value.
    pub expands: bool,
    /// Whether it has a pattern (`*`, `?`, `[…]`) or a list (`{a,b}`) that the shell expands.
    pub has_pattern: bool,
    /// Whether it has a list (`{a,b}`).
    pub has_braces: bool,
    /// Whether a backslash outside of quotes escapes a space or an operator.
    pub has_escape: bool,
    /// Whether it continues after a backslash at the end of a line.
    pub continued: bool,
    /// Whether it contains `"$(cat <<'END' … END)"`, which inserts literal text.
    pub is_heredoc: bool,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Whether the target is written.
    pub writes: bool,
    /// The file, or the number of another redirection (`2>&1`).
    pub target: Word,
    /// Whether the target is the number of another redirection.
    pub duplicates: bool,
}

/// Why a command cannot be split with certainty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
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
    /// `( … )`, `{ … }`, functions, and unbalanced parentheses.
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
    /// Nested deeper than the parser accepts.
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
    /// `$` that does not start a variable.
    #[error("it has a `$` without a name")]
    Dollar,
    /// `<<<`.
    #[error("it holds a text for its input (`<<<`)")]
    Text,
}

/// A parsed command.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedCommand {
    /// All recognizable parts, also those in substitutions and loops.
    pub(super) parts: Vec<Part>,
    /// The first reason why the parts are not certain.
    pub(super) split_error: Option<SplitError>,
    /// The first reason why the CLI does not check the text although it can be split.
    pub(super) unchecked: Option<Unchecked>,
}

/// Splits a command into its parts; fails if they are not certain.
pub fn split(command: &str) -> Result<Vec<Part>, SplitError> {
    let ParsedCommand { parts, split_error, .. } = parse(command);
    split_error.map_or(Ok(parts), Err)
}

/// Parses a command as far as possible.
pub(super) fn parse(command: &str) -> ParsedCommand {
    Scanner::new(command).run()
}

/// All spellings of the parts of a command that a deny or ask rule may match (measured on 2.1.326).
///
/// These are: as written, without redirections, without wrappers (`A=b`, `sudo`, `timeout 5`), without
/// quotes, without the folder of the program, and with the value of an earlier variable as the name of the
/// program.
#[derive(Clone, Debug, Default)]
pub(super) struct Spellings(Vec<String>);

impl Spellings {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut all = Vec::with_capacity(parts.len());
        let mut variables: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let core = part.core();
            if core.is_empty() {
                variables.extend(part.words.iter().filter_map(assigned));
            }
            // The CLI does not join a name that continues on the next line.
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

/// Returns the name of `$NAME` or `${NAME}`.
fn variable(raw: &str) -> Option<&str> {
    let rest = raw.strip_prefix('$')?;
    Some(rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(rest))
}

/// Returns name and value of `NAME=value`.
pub(super) fn assigned(word: &Word) -> Option<(&str, &str)> {
    is_assignment(&word.raw).then(|| word.text.split_once('=')).flatten()
}

/// Programs that run the command after them: the name, the flags that take a value, and the number of
/// operands before the command.
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

/// Wrappers that accept assignments before the command. After the others, `A=b` is the name of a command.
const ASSIGNING: &[&str] = &["sudo", "doas", "env"];

impl Part {
    /// Returns the words joined by single spaces, without redirections.
    pub fn bare(&self) -> String {
        joined(&self.words)
    }

    /// Returns the words of the command that actually runs, without assignments (`A=b`) and wrappers such as
    /// `sudo`, `timeout 5` and `xargs`.
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

    /// Returns the words of [`core`](Self::core), joined by single spaces.
    pub fn core_text(&self) -> String {
        joined(self.core())
    }

    /// Returns the names of the wrappers before the command that actually runs.
    pub(super) fn wrappers(&self) -> impl Iterator<Item = &str> {
        let before = self.words.len() - self.core().len();
        self.words[..before].iter().map(|word| program(&word.text))
    }

    /// Returns the files that redirections read.
    pub(super) fn read(&self) -> impl Iterator<Item = &Word> {
        let files = self.redirects.iter().filter(|redirect| !redirect.writes && !redirect.duplicates);
        files.map(|redirect| &redirect.target).filter(|target| target.text != "/dev/null")
    }

    /// Returns the part as written, without keywords of the shell before it.
    pub(super) fn without_keywords(&self) -> &str {
        let mut text = self.text.as_str();
        while self.after_keyword
            && let Some((first, rest)) = text.split_once([' ', '\t'])
            && scan::KEYWORDS.contains(&first)
        {
            text = rest.trim_ascii_start();
        }
        text
    }

    /// Returns the text that an exact rule for the part must have: as written, without redirections, keywords
    /// and a leading backslash.
    pub(super) fn rule_text(&self) -> String {
        let text =
            if self.redirects.is_empty() && !self.after_keyword { self.text.clone() } else { self.bare() };
        text.strip_prefix('\\').map_or(text.clone(), str::to_owned)
    }

    /// Returns the files that redirections write, except `/dev/null`.
    pub fn written(&self) -> impl Iterator<Item = &Word> {
        let files = self.redirects.iter().filter(|redirect| redirect.writes && !redirect.duplicates);
        files.map(|redirect| &redirect.target).filter(|target| target.text != "/dev/null")
    }
}

/// Removes the version from the name of a program: `python3.12` becomes `python`.
pub(super) fn unversioned(program: &str) -> &str {
    program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-')
}

/// Removes the folder from the name of a program.
pub(super) fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

pub(super) fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

fn after_assignments(words: &[Word]) -> &[Word] {
    &words[words.iter().take_while(|word| is_assignment(&word.raw)).count()..]
}

/// Returns whether a word is an assignment `NAME=…`.
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
