//! Lists of rules in one text: the option `--allowed-tools` (2) and `allowed-tools` of slash commands (9.3).

use super::rule::{Rule, RuleError};

/// Parses rules separated by commas or whitespace: `Bash(git:*) Edit` or `Read, Grep, Bash(git:*)`.
///
/// Commas and whitespace inside parentheses belong to the rule.
pub fn rule_list(text: &str) -> Result<Vec<Rule>, RuleError> {
    let mut rules = Vec::new();
    let mut open = 0_usize;
    let mut start = 0;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ if open == 0 && (letter == ',' || letter.is_whitespace()) => {
                push_rule(&text[start..at], &mut rules)?;
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    push_rule(&text[start..], &mut rules)?;
    Ok(rules)
}

fn push_rule(text: &str, rules: &mut Vec<Rule>) -> Result<(), RuleError> {
    if !text.trim().is_empty() {
        rules.push(Rule::parse(text)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        rule_list(text).expect("a list").iter().map(Rule::to_string).collect()
    }

    #[test]
    fn lists_with_commas_and_spaces_are_parsed() {
        assert_eq!(texts("Bash(git:*) Edit"), ["Bash(git:*)", "Edit"]);
        assert_eq!(texts("Read, Grep, Glob, Bash(git:*)"), ["Read", "Grep", "Glob", "Bash(git:*)"]);
        assert_eq!(texts("Bash(git log a, b),Read"), ["Bash(git log a, b)", "Read"]);
        assert_eq!(texts(r"Bash(echo \) x) Read"), [r"Bash(echo \) x)", "Read"]);
        assert!(texts(" , ").is_empty());
    }

    #[test]
    fn an_invalid_rule_in_a_list_is_an_error() {
        assert!(rule_list("Read, Bash(git").is_err_and(|error| matches!(error, RuleError::NotClosed(_))));
    }
}
