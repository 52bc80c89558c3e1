//! Suggestions for misspelled commands, options and values: only near ones.

use clap::error::{ContextKind, ContextValue};

use crate::report::is_slip;

/// The contexts of a clap error that hold the typed word, and those that hold what may have been meant.
const PAIRS: [(ContextKind, ContextKind); 3] = [
    (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
    (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    (ContextKind::InvalidValue, ContextKind::SuggestedValue),
];

/// Removes suggestions that are not misspellings: clap suggests `turns` for `runs`, and `--no-config` for `--notify`.
pub(super) fn keep_near(mut error: clap::Error) -> clap::Error {
    for (typed, meant) in PAIRS {
        let Some(ContextValue::String(typed)) = error.get(typed).cloned() else { continue };
        let is_near = |word: &String| is_slip(name(&typed), name(word));
        let near = match error.remove(meant) {
            Some(ContextValue::String(word)) => Some(word).filter(is_near).map(ContextValue::String),
            Some(ContextValue::Strings(words)) => {
                let near: Vec<String> = words.into_iter().filter(is_near).collect();
                Some(near).filter(|near| !near.is_empty()).map(ContextValue::Strings)
            }
            other => other,
        };
        if let Some(near) = near {
            error.insert(meant, near);
        }
    }
    error
}

/// The name of an option without dashes and value.
fn name(word: &str) -> &str {
    word.trim_start_matches('-').split(['=', ' ']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help;

    fn said(words: &[&str]) -> String {
        let error = help::command().try_get_matches_from(["ccstat"].iter().chain(words)).unwrap_err();
        keep_near(error).to_string()
    }

    #[test]
    fn a_slip_is_suggested_and_a_guess_is_not() {
        assert!(said(&["sesions"]).contains("'sessions'"));
        assert!(said(&["tools", "--sotr", "x"]).contains("'--sort'"));
        assert!(said(&["tools", "--format", "jsno"]).contains("'json'"));
        for words in
            [&["runs2go"][..], &["sumary-of-all"], &["tools", "--notify"], &["tools", "--format", "pdf"]]
        {
            assert!(!said(words).contains("similar"), "{words:?}: {}", said(words));
        }
    }
}
