//! Wildcard matching for names of tools, commands and paths.

/// An element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Letter(char),
    /// Any character.
    Any,
    /// Any text.
    Star,
    /// A character in one of these ranges, or, if inverted, in none of them.
    Class(Vec<(char, char)>, bool),
}

/// Parses a pattern with `*` and `?`; every other character is literal.
pub(super) fn parse_glob(pattern: &str) -> Vec<Token> {
    let token = |letter| match letter {
        '*' => Token::Star,
        '?' => Token::Any,
        letter => Token::Letter(letter),
    };
    pattern.chars().map(token).collect()
}

/// Parses a pattern in which only `*` is special and `\*` is a literal star (rules for commands, measured on
/// 2.1.326).
pub(super) fn parse_wildcard(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        tokens.push(match letter {
            '\\' if letters.peek().is_some_and(|next| "*\\".contains(*next)) => {
                Token::Letter(letters.next().unwrap_or(letter))
            }
            '*' => Token::Star,
            letter => Token::Letter(letter),
        });
    }
    tokens
}

/// Parses one name of a gitignore pattern, in lower case: `*`, `?`, classes and escapes.
pub(super) fn parse_gitignore(pattern: &str) -> Vec<Token> {
    let letters: Vec<char> = pattern.to_lowercase().chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&letter) = letters.get(at) {
        at += 1;
        tokens.push(match letter {
            '*' => Token::Star,
            '?' => Token::Any,
            '\\' => {
                at += 1;
                Token::Letter(letters.get(at - 1).copied().unwrap_or('\\'))
            }
            '[' => match class(&letters[at..]) {
                Some((class, length)) => {
                    at += length;
                    class
                }
                None => Token::Letter('['),
            },
            letter => Token::Letter(letter),
        });
    }
    tokens
}

/// Parses the character class after `[`; returns it with its length, including the `]`.
fn class(letters: &[char]) -> Option<(Token, usize)> {
    let inverted = matches!(letters.first(), Some('!' | '^'));
    let start = usize::from(inverted);
    // A `]` right after the opening bracket is part of the class.
    let length = letters.iter().skip(start + 1).position(|letter| *letter == ']')? + 1;
    let mut inside =
        letters[start..start + length].iter().copied().filter(|letter| *letter != '\\').peekable();
    let mut ranges = Vec::new();
    while let Some(first) = inside.next() {
        if inside.peek() == Some(&'-') {
            inside.next();
            match inside.next() {
                Some(last) => ranges.push((first, last)),
                None => ranges.extend([(first, first), ('-', '-')]),
            }
        } else {
            ranges.push((first, first));
        }
    }
    Some((Token::Class(ranges, inverted), start + length + 1))
}

/// Returns whether a pattern matches a whole text.
pub(super) fn matches(pattern: &[Token], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // The position of the last star, and how much of the text it has matched.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(Token::Star) => {
                star = Some((p, t));
                p += 1;
            }
            Some(token) if token.accepts(text[t]) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|token| *token == Token::Star)
}

impl Token {
    fn accepts(&self, letter: char) -> bool {
        match self {
            Self::Letter(own) => *own == letter,
            Self::Any => true,
            Self::Star => false,
            Self::Class(ranges, inverted) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&letter)) != *inverted
            }
        }
    }
}

/// Returns whether a pattern with `*` and `?` matches a whole name.
pub(super) fn glob(pattern: &str, name: &str) -> bool {
    if pattern.contains(['*', '?']) { matches(&parse_glob(pattern), name) } else { pattern == name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_escapes_work_as_in_gitignore() {
        for (pattern, name, expected) in [
            ("[id].txt", "i.txt", true),
            ("[id].txt", "[id].txt", false),
            ("\\[id\\].txt", "[id].txt", true),
            ("\\[id\\].txt", "i.txt", false),
            ("[[]id].txt", "[id].txt", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[!a-c]x", "dx", true),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("A*", "abc", true),
        ] {
            assert_eq!(matches(&parse_gitignore(pattern), name), expected, "{pattern} and {name}");
        }
        assert!(matches(&parse_wildcard("a\\*?"), "a*?") && !matches(&parse_wildcard("a\\*"), "ab"));
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!glob(&format!("{}b", "*a".repeat(200)), &"a".repeat(2000)));
    }
}
