//! Markdown for a comment on a pull request: the headline on top, the tables collapsed, within GitHub's size
//! limit.

use std::io::{self, Write};

use super::{FIGURES, at, human, markdown};
use crate::report::{Data, Line, Part, Report, Section, Table, Tone, Value, Verdict};

/// GitHub accepts 65,536 characters; the rest is left for text that a bot adds.
const LIMIT: usize = 65_000;

/// Maximum length of a name or path, so that one name cannot take all the room.
const MAX_CHARS: usize = 100;

/// Maximum number of gates listed.
const MAX_GATES: usize = 20;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    // A bot finds its earlier comment by this marker. Reports that judge a run share one, every other report
    // has its own.
    let judges = ["summary", "check"].contains(&report.name);
    let marker = if judges { String::new() } else { format!(" {}", report.name) };
    writeln!(out, "<!-- ccstat{marker} -->\n{}", folded(report))
}

/// The comment without the marker for bots and without a final newline.
pub fn folded(report: &Report) -> String {
    let mut page = Page::default();
    for section in &report.screen {
        if let Section::Verdict(line) = section {
            page.put(&format!("**{}**", markdown::sentence(&short_line(line))));
        }
        if let Section::About(line) = section {
            page.put(&markdown::sentence(&short_line(line)));
        }
    }
    gates(&report.verdicts, &mut page);
    for section in &report.screen {
        if let Section::Attention(lines) = section {
            page.list(lines);
        }
    }
    figures(&report.data, &mut page);
    tables(report, &mut page);
    page.list(&report.notes);
    page.text
}

fn gates(verdicts: &[Verdict], page: &mut Page) {
    let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.held).collect();
    match (failed.len(), verdicts.len()) {
        (_, 0) => return,
        (0, 1) => return page.put("✓ The gate held"),
        (0, all) => return page.put(&format!("✓ All {all} gates held")),
        (some, all) => page.put(&format!("✗ {some} of {all} gates failed:")),
    }
    let mut items: Vec<String> = failed.iter().take(MAX_GATES).map(|verdict| gate(verdict)).collect();
    if failed.len() > MAX_GATES {
        items.push(format!("- and {} more", failed.len() - MAX_GATES));
    }
    page.put_lines(&items);
}

/// A failed gate: description, location and hint.
fn gate(verdict: &Verdict) -> String {
    let said = |line: &Line| markdown::sentence(&Line { tone: Tone::Plain, ..short_line(line) });
    let value = |value: &Value| markdown::cell(&short(value));
    let mut text = format!("- **{}**", verdict.gate);
    if let Some(run) = &verdict.run {
        text += &format!(" in {}", value(&run.as_str().into()));
    }
    text += &format!(": {}", said(&verdict.what));
    if verdict.limit != Value::Missing {
        text += &format!(" (found {}, allowed {})", value(&verdict.figure), value(&verdict.limit));
    }
    if let Some((source, line)) = &verdict.at {
        text += &format!(" at {}:{line}", value(&source.as_str().into()));
    }
    match &verdict.hint {
        Some(hint) => text + "<br>" + &said(hint),
        None => text,
    }
}

fn figures(data: &Data, page: &mut Page) {
    let known: Vec<(&str, &Value)> =
        FIGURES.iter().filter_map(|&(head, path)| Some((head, at(data, path)?))).collect();
    if known.is_empty() {
        return;
    }
    // An incomplete cost is a lower bound, as in the headline.
    let is_low = at(data, "cost.complete") == Some(&Value::Flag(false));
    let cell = |value: &Value| match value {
        Value::Usd(_) if is_low => format!("at least {}", human::value(value)),
        value => human::value(value),
    };
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    page.put_lines(&[
        row(known.iter().map(|(head, _)| (*head).to_owned()).collect()),
        format!("|{}|", vec!["--:"; known.len()].join("|")),
        row(known.iter().map(|(_, value)| cell(value)).collect()),
    ]);
}

fn tables(report: &Report, page: &mut Page) {
    for section in report.screen.iter().filter(|section| !section.is_page_only()) {
        match (section, &report.data) {
            (Section::Table(table) | Section::ScreenRows(table), _)
            | (Section::Rows | Section::Cards, Data::Rows(table)) => page.fold(&table.for_people()),
            (Section::Rows | Section::Cards, Data::Tree(_) | Data::Bare(_))
            | (
                Section::Verdict(_)
                | Section::About(_)
                | Section::Attention(_)
                | Section::Gates
                | Section::Chart(_),
                _,
            ) => {}
        }
    }
}

/// Paragraphs within the size limit. Says so if the rest is left out.
#[derive(Default)]
struct Page {
    text: String,
    length: usize,
    is_full: bool,
}

impl Page {
    /// Room for the sentence that says that the rest is left out.
    const RESERVE: usize = 100;

    /// Length as GitHub counts it, in UTF-16 code units.
    fn length(text: &str) -> usize {
        text.chars().map(char::len_utf16).sum()
    }

    fn left(&self) -> usize {
        (LIMIT - Self::RESERVE).saturating_sub(self.length + 2)
    }

    fn put(&mut self, paragraph: &str) {
        if self.is_full {
            return;
        }
        self.is_full = Self::length(paragraph) > self.left();
        let paragraph =
            if self.is_full { "The rest is left out: too long for a comment." } else { paragraph };
        let blank = if self.text.is_empty() { "" } else { "\n\n" };
        self.text.push_str(blank);
        self.text.push_str(paragraph);
        self.length += Self::length(paragraph) + blank.len();
    }

    fn put_lines(&mut self, lines: &[String]) {
        self.put(&lines.join("\n"));
    }

    fn list(&mut self, lines: &[Line]) {
        if !lines.is_empty() {
            let lines: Vec<Line> = lines.iter().map(short_line).collect();
            self.put(&markdown::list(&lines));
        }
    }

    /// A collapsed table with as many rows as there is room for.
    fn fold(&mut self, table: &Table) {
        let mut table = table.clone();
        table.rows.iter_mut().flatten().for_each(|cell| *cell = short(cell));
        let lines = markdown::pipes(&table);
        let open = format!("<details><summary>{}</summary>\n", table.title);
        let mut left = self.left().saturating_sub(Self::length(&open) + 200);
        let fits = |line: &&String| match left.checked_sub(Self::length(line) + 1) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let (head, rows) = (markdown::HEAD_LINES, table.rows.len());
        let mut kept: Vec<String> = if table.keeps_last {
            let (heads, last) = lines.split_at(head);
            let mut kept: Vec<String> =
                heads.iter().chain(last.iter().rev()).take_while(fits).cloned().collect();
            kept.get_mut(head..).unwrap_or_default().reverse();
            kept
        } else {
            lines.iter().take_while(fits).cloned().collect()
        };
        let cut = rows.saturating_sub(kept.len().saturating_sub(head));
        let more = if cut > 0 && kept.len() > head {
            let which = if table.keeps_last { "earlier" } else { "more" };
            Some(format!("and {cut} {which} (no room in this comment)"))
        } else {
            markdown::mention_left_out(&table, &mut kept)
        };
        let mut text = [&[open][..], &kept].concat().join("\n");
        text.extend(more.map(|more| format!("\n\n{more}")));
        self.put(&(text + "\n\n</details>"));
    }
}

fn short_line(line: &Line) -> Line {
    let part = |part: &Part| match part {
        Part::Word(word) => Part::Word(word),
        Part::Value(value) => Part::Value(short(value)),
        Part::FollowUp(command) => Part::FollowUp(command.clone()), // a command is never cut
        Part::Choice(choice) => Part::Choice(*choice),
        Part::Verbatim(text) => Part::Verbatim(text.clone()),
    };
    Line { tone: line.tone, parts: line.parts.iter().map(part).collect() }
}

/// Shortens long texts.
fn short(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.chars().nth(MAX_CHARS).is_some() => {
            Value::text(text.chars().take(MAX_CHARS - 1).chain(['…']).collect::<String>())
        }
        Value::List(values) => Value::List(values.iter().map(short).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::held, *};
    use crate::report::{Column, Unit};

    fn written(report: &Report) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_failed_gate_says_what_where_and_what_to_do() {
        let columns: &[Column<()>] = &[];
        let mut report = Report::of("check", Table::of("Gates", columns, [(); 0]), Vec::new());
        report.verdicts = vec![
            Verdict {
                held: false,
                limit: Value::Count(0),
                figure: Value::Count(2),
                at: Some(("a|b.jsonl".to_owned(), 7)),
                what: Line::new(Tone::Bad).word("2 calls denied: ").value("<b>Bash"),
                hint: Some(Line::new(Tone::Plain).word("allow it")),
                ..held("denial", Some("s1"))
            },
            held("max-cost", None),
        ];
        let text = written(&report);
        assert!(text.starts_with("<!-- ccstat -->\n✗ 1 of 2 gates failed:\n\n"), "{text}");
        let item =
            r"- **denial** in s1: 2 calls denied: \<b\>Bash (found 2, allowed 0) at a\|b.jsonl:7<br>allow it";
        assert!(text.lines().any(|line| line == item), "{text}");
    }

    #[test]
    fn a_comment_is_never_too_long_to_be_posted() {
        let columns: &[Column<String>] = &[
            Column::new(Unit::Text, "tool", "Tool", "Name.", |row: &String| Value::text(row.as_str())),
            Column::new(Unit::Count, "calls", "Calls", "Times.", |_| Value::Count(1)),
        ];
        let rows: Vec<String> =
            (0..1500).map(|at| format!("{at}{}", "\u{e0001}😀".repeat(at % 300))).collect();
        let lines: Vec<Line> = rows.iter().map(|row| Line::new(Tone::Plain).value(row.as_str())).collect();
        for (rows, notes) in [(&rows[..], &lines[..3]), (&rows[..], &lines[..]), (&rows[..0], &lines[..])] {
            let report = Report::of("tools", Table::of("Tools", columns, rows), notes.to_vec());
            let text = written(&report);
            let length = text.encode_utf16().count();
            assert!(length <= 65_536 && text.ends_with('\n'), "{length}");
            assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
            assert!(text.contains("left out") || text.contains("no room"), "{length}");
        }
    }
}
