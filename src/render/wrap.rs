//! Wraps text at spaces.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Wraps text at spaces. A word wider than a row gets its own row.
pub fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if row.width() + 1 + word.width() <= width => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// Wraps a line of foreign text: all rows keep its leading spaces, and words that are too wide are broken.
pub fn fill(line: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![line.to_owned()] };
    let words = line.trim_start_matches(' ');
    // Some characters are two columns wide.
    let indent = (line.len() - words.len()).min(width / 2).min(width.saturating_sub(2));
    let room = width.saturating_sub(indent).max(1);
    let rows = wrap(words, Some(room)).into_iter().flat_map(|row| broken(&row, room));
    rows.map(|row| format!("{:indent$}{row}", "")).collect()
}

/// Breaks a row that is too wide between characters.
fn broken(row: &str, room: usize) -> Vec<String> {
    let (mut rows, mut used) = (vec![String::new()], 0);
    for letter in row.chars() {
        let width = letter.width().unwrap_or(0);
        if used + width > room && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(letter);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_blanks() {
        assert_eq!(wrap("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrap("one incomprehensibilities", Some(7)), ["one", "incomprehensibilities"]);
        assert_eq!(wrap("one two three", None), ["one two three"]);
    }

    #[test]
    fn foreign_text_keeps_its_indent_and_is_never_wider() {
        assert_eq!(fill("  one two three", Some(9)), ["  one two", "  three"]);
        assert_eq!(fill("one incomprehensible", Some(8)), ["one", "incompre", "hensible"]);
        assert_eq!(fill("日本語日本語", Some(5)), ["日本", "語日", "本語"]);
        assert_eq!(fill("", Some(8)), [""]);
        for width in 1..20 {
            let rows = fill("      deep日 and-a-very-long-word x", Some(width));
            let widest = rows.iter().map(|row| row.width()).max().unwrap();
            assert!(widest <= width.max(2), "{width}: {rows:?}");
        }
    }
}
