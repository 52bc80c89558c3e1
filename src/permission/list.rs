//! Lists of rules in one text: `--allowed-tools` (2) and `allowed-tools` of commands (9.3).

use super::rule::{Rule, RuleError};

/// The rules of a list with commas or blanks between them: `Bash(git:*) Edit` or `Read, Grep, Bash(git:*)`.
///
/// Commas and blanks between parentheses belong to the rule.
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
                take(&text[start..at], &mut rules)?;
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    take(&text[start..], &mut rules)?;
    Ok(rules)
}

fn take(text: &str, rules: &mut Vec<Rule>) -> Result<(), RuleError> {
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
    fn lists_of_the_command_line_and_of_commands_are_read() {
        assert_eq!(texts("Bash(git:*) Edit"), ["Bash(git:*)", "Edit"]);
        assert_eq!(texts("Read, Grep, Glob, Bash(git:*)"), ["Read", "Grep", "Glob", "Bash(git:*)"]);
        assert_eq!(texts("Bash(git log a, b),Read"), ["Bash(git log a, b)", "Read"]);
        assert_eq!(texts(r"Bash(echo \) x) Read"), [r"Bash(echo \) x)", "Read"]);
        assert!(texts(" , ").is_empty());
    }

    #[test]
    fn a_broken_rule_of_a_list_is_told() {
        assert!(rule_list("Read, Bash(git").is_err_and(|error| matches!(error, RuleError::NotClosed(_))));
    }
}
