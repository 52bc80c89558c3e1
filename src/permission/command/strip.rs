//! Removes variables and wrappers before a command, as the CLI does before it searches for an allow rule
//! (measured on 2.1.326).
//!
//! For deny and ask rules the CLI removes more ([`Part::core`](super::super::Part::core)).

use super::super::shell::{Word, assigned};

/// Variables whose assignment before a command is ignored. About half were measured; the others belong to the
/// same families (colours, Go, pytest) and are assumed. `LANG` and `LC_ALL` are not among them: the CLI asked
/// about them.
const VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "BLOCKSIZE",
    "BLOCK_SIZE",
    "CGO_ENABLED",
    "CI",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "GCC_COLORS",
    "GO111MODULE",
    "GOARCH",
    "GOEXPERIMENT",
    "GOOS",
    "GREP_COLOR",
    "GREP_COLORS",
    "LSCOLORS",
    "LS_COLORS",
    "NODE_ENV",
    "NO_COLOR",
    "PYTEST_DEBUG",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TIME_STYLE",
    "TZ",
];

/// Variables that change the meaning of later commands.
const DANGEROUS: &[&str] =
    &["BASH_ENV", "CDPATH", "ENV", "HOME", "IFS", "PATH", "PROMPT_COMMAND", "PS4", "SHELLOPTS"];

/// Removes harmless assignments and wrappers before a command.
pub(super) fn stripped(words: &[Word]) -> &[Word] {
    let mut words = &words[words.iter().take_while(|word| is_harmless(word)).count()..];
    while let Some(after) = unwrapped(words).filter(|after| !after.is_empty()) {
        words = after;
    }
    words
}

/// Returns whether a word is an assignment that allow rules ignore.
fn is_harmless(word: &Word) -> bool {
    assigned(word).is_some_and(|(name, _)| VARIABLES.contains(&name)) && !word.expands
}

/// Returns whether all words are assignments that do not affect later commands.
pub(super) fn sets_harmless(words: &[Word]) -> bool {
    let harmless = |word: &Word| {
        assigned(word).is_some_and(|(name, _)| !DANGEROUS.contains(&name) && !name.starts_with("LD_"))
            && !word.expands
    };
    !words.is_empty() && words.iter().all(harmless)
}

/// Removes one wrapper; `None` if there is none.
fn unwrapped(words: &[Word]) -> Option<&[Word]> {
    let (first, rest) = words.split_first()?;
    let text = |at: usize| rest.get(at).map_or("", |word| word.text.as_str());
    let flag = |at: usize| text(at).starts_with('-');
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let skip = match first.raw.as_str() {
        "nohup" | "time" | "builtin" | "noglob" if !flag(0) => 0,
        "command" if text(0) == "-p" => 1,
        "command" if !flag(0) => 0,
        // With a flag, as in `xargs -n1`, the CLI does not remove it.
        "xargs" if !flag(0) => 0,
        "nice" if text(0) == "-n" && number(text(1).trim_start_matches('-')) => 2,
        "nice" if number(text(0).trim_start_matches('-')) && flag(0) => 1,
        "nice" if !flag(0) => 0,
        "stdbuf" => rest.iter().take_while(|word| is_buffering(&word.text)).count(),
        "timeout" => timeout_arguments(rest)?,
        _ => return None,
    };
    rest.get(skip..)
}

/// Returns whether a word is a flag of `stdbuf`: `-o0`, `-oL`, `-e4K`.
fn is_buffering(text: &str) -> bool {
    ["-i", "-o", "-e"].iter().any(|flag| text.strip_prefix(flag).is_some_and(|mode| !mode.is_empty()))
}

/// Returns the number of words of the flags and the duration of `timeout`.
fn timeout_arguments(words: &[Word]) -> Option<usize> {
    let time = |text: &str| {
        let number = text.trim_end_matches(['s', 'm', 'h', 'd']);
        text.len() - number.len() < 2
            && number.starts_with(|first: char| first.is_ascii_digit())
            && number.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    let mut at = 0;
    loop {
        let text = words.get(at)?.text.as_str();
        at += match text {
            "--foreground" | "--preserve-status" | "-v" | "--verbose" => 1,
            "-k" | "--kill-after" if words.get(at + 1).is_some_and(|word| time(&word.text)) => 2,
            "-s" | "--signal" if words.get(at + 1).is_some_and(|word| !word.expands) => 2,
            _ if text.starts_with("--kill-after=") || text.starts_with("--signal=") => 1,
            _ if time(text) => return Some(at + 1),
            _ => return None,
        };
    }
}
