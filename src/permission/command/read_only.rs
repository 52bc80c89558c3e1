//! Recognizes commands that only read.

use super::{
    super::shell::Word,
    files::non_flags,
    list::{Arguments, FOR_XARGS, Flags, Operands, READ_ONLY, ReadOnlyCommand, SHELL_VARIABLES},
};

/// Returns whether the CLI allows a command without a rule. Wrappers are not removed: `time ls` is asked
/// about.
pub(super) fn is_read_only(words: &[Word]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    if first.raw != first.text {
        return false;
    }
    if first.text == "xargs" {
        return for_xargs(rest);
    }
    // The longest row wins: `git remote show` before `git remote`.
    let rows =
        READ_ONLY.iter().filter(|row| row.programs.contains(&first.text.as_str()) && row.matches(words));
    let Some(row) = rows.max_by_key(|row| row.length()) else { return false };
    let rest = &words[row.length()..];
    let arguments = Arguments { words: rest, operands: non_flags(rest, row.valued) };
    rest.iter().all(|word| is_plain(word, row))
        && row.permits_flags(rest)
        && (row.operands != Operands::None || arguments.operands.is_empty())
        && (row.condition)(&arguments)
}

/// Accepts `xargs` and `xargs echo`. Values of flags must be separate words.
fn for_xargs(rest: &[Word]) -> bool {
    let mut rest = rest;
    while let Some((flag, after)) = rest.split_first().filter(|(flag, _)| flag.text.starts_with('-')) {
        rest = match flag.text.as_str() {
            "-0" | "-r" | "-t" | "-x" => after,
            "-n" | "-L" | "-P" if after.first().is_some_and(|word| word.text.parse::<u32>().is_ok()) => {
                &after[1..]
            }
            _ => return false,
        };
    }
    let target = rest.first().map(|word| word.text.as_str());
    target.is_none_or(|target| FOR_XARGS.contains(&target) && is_read_only(rest))
}

/// Returns whether a word cannot become something else, such as a flag, when the shell expands it.
fn is_plain(word: &Word, row: &ReadOnlyCommand) -> bool {
    let says = matches!(row.programs, ["echo"] | ["printf"]);
    let expands = word.expands && !(says && expands_harmlessly(word));
    // A pattern may become a flag: `file *` is asked about, `cat s*t` is not.
    let flag = word.has_pattern && !matches!(row.flags, Flags::Any);
    // `=x` is a path to some shells (`test x = x` is asked about).
    let equals = word.raw.starts_with('=');
    !expands && !word.is_heredoc && !flag && !equals
}

/// Returns whether all expansions of a word are arithmetic or variables that the shell sets itself.
pub(super) fn expands_harmlessly(word: &Word) -> bool {
    let mut rest = word.raw.as_str();
    while let Some((_, after)) = rest.split_once('$') {
        if let Some(calculation) = after.strip_prefix("((") {
            let Some((inside, after)) = calculation.split_once("))") else { return false };
            if inside.contains('$') {
                return false;
            }
            rest = after;
            continue;
        }
        let braced = after.strip_prefix('{').unwrap_or(after);
        let special = braced.starts_with(['?', '$', '#', '!']);
        let letters = braced.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let length = if special { 1 } else { letters.unwrap_or(braced.len()) };
        if !SHELL_VARIABLES.contains(&&braced[..length]) {
            return false;
        }
        rest = &braced[length..];
    }
    true
}

impl ReadOnlyCommand {
    /// Returns whether all flags among the words are harmless.
    fn permits_flags(&self, rest: &[Word]) -> bool {
        let mut words = rest.iter().take_while(|word| word.text != "--").peekable();
        while let Some(word) = words.next() {
            let flag = word.text.as_str();
            if !flag.starts_with('-') || flag == "-" {
                continue;
            }
            let valued = self.valued.contains(&flag);
            let fine = match self.flags {
                Flags::Any => true,
                Flags::AllExcept(never) => !never.iter().any(|never| is_flag(flag, never)),
                Flags::Only(letters, long) => valued || self.knows(flag, letters, long),
            };
            if !fine {
                return false;
            }
            if valued {
                words.next();
            }
        }
        true
    }

    fn knows(&self, flag: &str, letters: &str, long: &[&str]) -> bool {
        if flag.starts_with("--") {
            let name = flag.split_once('=').map_or(flag, |(name, _)| name);
            return long.contains(&name) || self.valued.contains(&name);
        }
        // The CLI accepts `grep -A3` and `grep -5`, but not `sort -k2`.
        let searches = matches!(self.programs[0], "grep" | "rg");
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let context = flag.trim_start_matches(['-', 'A', 'B', 'C', 'm']);
        searches && flag.len() - context.len() <= 2 && number(context)
            || flag[1..].chars().all(|letter| letters.contains(letter))
    }
}

/// Returns whether a word is this flag, with or without a value.
fn is_flag(word: &str, flag: &str) -> bool {
    let rest = word.strip_prefix(flag);
    let short = flag.len() == 2;
    rest.is_some_and(|rest| rest.is_empty() || short || rest.starts_with('='))
}
