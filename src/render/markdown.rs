//! Markdown: the screen as headings, lists and pipe tables. Text from logs is never markup.

use std::io::{self, Write};

use super::human;
use crate::report::{Data, Head, Line, Part, Report, Section, Table, Value, gate_lines};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut paragraphs: Vec<String> = Vec::new();
    for section in report.screen.iter().filter(|section| !section.is_page_only()) {
        match (section, &report.data) {
            (Section::Verdict(line), _) => paragraphs.push(format!("**{}**", sentence(line))),
            (Section::About(line), _) => paragraphs.push(sentence(line)),
            (Section::Attention(lines), _) => paragraphs.push(list(lines)),
            (Section::Gates, _) => paragraphs.extend(gates(report)),
            (Section::Table(table) | Section::ScreenRows(table), _) | (Section::Rows, Data::Rows(table)) => {
                paragraphs.extend(drawn(&table.for_people()));
            }
            (Section::Cards, Data::Rows(table)) => paragraphs.extend(cards(&table.for_people())),
            (Section::Chart(_), _) => {} // Markdown cannot draw
            (Section::Rows | Section::Cards, Data::Tree(_) | Data::Bare(_)) => {} // an object has no rows
        }
    }
    if !report.verdicts.is_empty() && !report.screen.contains(&Section::Gates) {
        paragraphs.extend(gates(report));
    }
    if !report.notes.is_empty() {
        paragraphs.push(list(&report.notes));
    }
    writeln!(out, "{}", paragraphs.join("\n\n"))
}

/// The title and a list of the gates.
fn gates(report: &Report) -> [String; 2] {
    let item = |(line, hint): &(Line, Option<Line>)| {
        let hint = hint.as_ref().map(|hint| format!("\n  - {}", sentence(hint)));
        format!("- {}{}", sentence(line), hint.unwrap_or_default())
    };
    let items: Vec<String> = gate_lines(&report.verdicts).iter().map(item).collect();
    ["### Gates".to_owned(), items.join("\n")]
}

pub(super) fn list(lines: &[Line]) -> String {
    let item = |line: &Line| format!("- {}", sentence(line));
    lines.iter().map(item).collect::<Vec<_>>().join("\n")
}

pub(super) fn sentence(line: &Line) -> String {
    sentence_with(line, str::to_owned)
}

/// A line as text, with code spans that `escape` has changed.
fn sentence_with(line: &Line, escape: impl Fn(&str) -> String) -> String {
    let mut text = human::mark(line.tone).to_owned();
    for part in &line.parts {
        match part {
            Part::Word(word) => text += word,
            Part::Value(value) => text += &cell(value),
            // The text before it may have opened a code span already.
            Part::FollowUp(command) if text.ends_with('`') => text += &human::text(&command.to_string()),
            Part::FollowUp(command) => text += &escape(&code(&command.to_string())),
            Part::Choice(choice) => text += choice.words(),
            Part::Verbatim(verbatim) => text += &cell(&Value::text(&**verbatim)),
        }
    }
    text
}

/// A code span whose fence is longer than any run of backticks in the text.
pub fn code(text: &str) -> String {
    let text = &*human::text(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let room = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{room}{text}{room}{fence}")
}

/// The title, the table, and the line about rows left out.
fn drawn(table: &Table) -> Vec<String> {
    let (title, mut rows) = (format!("### {}", table.title), pipes(table));
    let more = mention_left_out(table, &mut rows);
    let rows = rows.join("\n");
    match more {
        Some(more) if table.keeps_last => vec![title, more, rows],
        more => [title, rows].into_iter().chain(more).collect(),
    }
}

/// Adds a row that says which rows were left out, so that the total is below it. Without a total, returns a paragraph.
pub(super) fn mention_left_out(table: &Table, rows: &mut Vec<String>) -> Option<String> {
    let more = table.more.as_ref()?;
    if table.total_shown().is_none() || rows.len() <= HEAD_LINES {
        return Some(sentence(more));
    }
    // A pipe ends a cell even within code.
    let text = sentence_with(more, |code| code.replace('|', r"\|"));
    let row = format!("| {text} |{}", " |".repeat(table.columns.len().saturating_sub(1)));
    rows.insert(if table.keeps_last { HEAD_LINES } else { rows.len() - 1 }, row);
    None
}

/// The title, a heading and a list for each row, and the line about rows left out.
fn cards(table: &Table) -> Vec<String> {
    let mut paragraphs = vec![format!("### {}", table.title)];
    for (number, card) in table.cards().iter().enumerate() {
        let title: Vec<String> = card.title.iter().map(|value| cell(value)).collect();
        paragraphs.push(format!("#### {}", [vec![format!("{}", number + 1)], title].concat().join(" · ")));
        let field = |(head, value): &(&str, &Value)| format!("- **{head}:** {}", cell(value));
        paragraphs.push(card.fields.iter().map(field).collect::<Vec<_>>().join("\n"));
    }
    paragraphs.extend(table.more.iter().map(sentence));
    paragraphs
}

/// Number of lines above the rows of a table: header and separator.
pub(super) const HEAD_LINES: usize = 2;

/// The lines of a table: header, separator, rows.
pub(super) fn pipes(table: &Table) -> Vec<String> {
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rule = |head: &Head| if head.unit.is_numeric() { "--:" } else { ":--" };
    let heads = table.columns.iter().map(|head| head.head.to_owned()).collect();
    let rules: Vec<&str> = table.columns.iter().map(rule).collect();
    let mut rows = vec![row(heads), format!("|{}|", rules.join("|"))];
    rows.extend(table.rows.iter().map(|cells| row(cells.iter().map(cell).collect())));
    if let Some(total) = table.total_shown() {
        rows.push(row(total.iter().map(|value| bold(&cell(value))).collect()));
    }
    rows
}

fn bold(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("**{text}**") }
}

pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Text(_) | Value::List(_) | Value::Map(_) => text(&human::value(value)),
        // Such a bar begins with spaces, which Markdown would collapse.
        Value::Bar(from, _) if *from > 0.0 => format!("`{}`", human::value(value)),
        other => human::value(other),
    }
}

/// An empty comment, which prevents links and mentions where escaping does not.
const APART: &str = "<!-- -->";

/// Escapes text so that it is shown literally: no link, image, HTML, emphasis or cell separator.
fn text(text: &str) -> String {
    let letters: Vec<char> = human::text(text).chars().collect();
    let mut safe = String::with_capacity(text.len() + 8);
    for (at, &letter) in letters.iter().enumerate() {
        if is_markup(letter, at, &letters) {
            safe.push('\\');
        }
        safe.push(letter);
        let is_scheme = letter == ':' && letters[at + 1..].starts_with(&['/', '/']);
        if letter == '@' || is_scheme || ends_www(at, &letters) {
            safe.push_str(APART);
        }
    }
    safe
}

fn is_markup(letter: char, at: usize, letters: &[char]) -> bool {
    match letter {
        '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '$' | '&' | '!' => true,
        // Only at the start do these make a list, heading or rule.
        '-' | '+' | '=' | '#' => at == 0,
        // `snake_case` and `mcp__server__tool` are not emphasis, and easier to read without backslashes.
        '_' => {
            let inner = |side: Option<&char>| side.is_some_and(|side| side.is_alphanumeric());
            let before = letters[..at].iter().rfind(|&&letter| letter != '_');
            let after = letters[at..].iter().find(|&&letter| letter != '_');
            !(inner(before) && inner(after))
        }
        // `1. ` makes a list.
        '.' | ')' => letters[..at].iter().all(char::is_ascii_digit) && letters.get(at + 1) == Some(&' '),
        _ => false,
    }
}

/// Whether this is the last letter of `www`, which GitHub turns into a link.
fn ends_www(at: usize, letters: &[char]) -> bool {
    at >= 2 && letters[at - 2..=at].iter().all(|letter| letter.eq_ignore_ascii_case(&'w'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Unit};

    #[test]
    fn the_total_is_below_all_rows_and_the_line_about_the_others() {
        let columns = [Column::new(Unit::Count, "n", "N", "A number.", |row: &u64| (*row).into())];
        let rows: Vec<u64> = (1..9).collect();
        let table = Table::of("Rows", &columns, &rows).with_sums().on_screen(3);
        let drawn = super::drawn(&table.clone().for_people()).join("\n");
        let lines: Vec<&str> = drawn.lines().skip(3).collect();
        assert_eq!(lines[..3], ["| 1 |", "| 2 |", "| 3 |"]);
        assert!(lines[3].starts_with("| and 5 more rows"), "{drawn}");
        assert_eq!(lines[4..], ["| **36** |"]);
        let drawn = super::drawn(&table.keeping_last().for_people()).join("\n");
        let lines: Vec<&str> = drawn.lines().skip(3).collect();
        assert!(lines[0].starts_with("| 5 earlier rows"), "{drawn}");
        assert_eq!(lines[1..], ["| 6 |", "| 7 |", "| 8 |", "| **36** |"]);
    }

    #[test]
    fn text_from_a_log_is_not_markup() {
        assert_eq!(text("mcp__docs__get_page"), "mcp__docs__get_page");
        assert_eq!(text("_a_ __b__ *c*"), r"\_a\_ \_\_b\_\_ \*c\*");
        assert_eq!(text("![x](y)|<b>&amp;"), r"\!\[x\](y)\|\<b\>\&amp;");
        assert_eq!(text("https://x www.x a@b"), "https:<!-- -->//x www<!-- -->.x a@<!-- -->b");
        assert_eq!(text("- a"), r"\- a");
        assert_eq!(text("1. a"), r"1\. a");
        assert_eq!(text("2.1.325"), "2.1.325");
        assert_eq!(text("a\nb\u{202e}"), r"a\\u{a}b\\u{202e}");
    }
}
