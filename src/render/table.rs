//! Tables for terminals, fitted to their width.

pub(super) mod cut;
mod layout;
mod paint;
mod short;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style as Paint};
use unicode_width::UnicodeWidthStr;

use self::{
    cut::cut_end,
    layout::{GAP, Lane, Layout, lay_out, needed},
};
use super::{
    Style, human, sparkline,
    wrap::{fill, wrap},
};
use crate::report::{
    Data, FollowUp, Head, Line, Part, Reader, Report, Section, Shown, Table, Tone, Value, gate_lines,
};

pub(super) fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let is_shown = |section: &&Section| match section {
        Section::Chart(chart) => sparkline::is_shown(chart, style),
        section => !section.is_page_only(),
    };
    for (index, section) in report.screen.iter().filter(is_shown).enumerate() {
        if index > 0 && !matches!(section, Section::About(_)) {
            writeln!(out)?;
        }
        match (section, &report.data) {
            (Section::Verdict(line), _) => write_line(line, style, out)?,
            (Section::About(line), _) => write_marked("  ", Paint::new(), line, style, out)?,
            (Section::Attention(lines), _) => {
                lines.iter().try_for_each(|line| write_line(line, style, out))?
            }
            (Section::Table(table) | Section::ScreenRows(table), _) | (Section::Rows, Data::Rows(table)) => {
                write_table(&table.for_people(), &report.reader, style, out)?;
            }
            (Section::Gates, _) => write_gates(report, style, out)?,
            (Section::Cards, Data::Rows(table)) => write_cards(&table.for_people(), style, out)?,
            (Section::Chart(chart), _) => {
                painted(chart.title, Paint::new().bold(), style, out)?;
                writeln!(out)?;
                for line in sparkline::draw(chart, style) {
                    writeln!(out, "{}", line.trim_end())?;
                }
                write_line(&chart.about(), style, out)?;
            }
            (Section::Rows | Section::Cards, Data::Tree(_) | Data::Bare(_)) => {} // an object has no rows
        }
    }
    if !report.verdicts.is_empty() && !report.screen.contains(&Section::Gates) {
        writeln!(out)?;
        write_gates(report, style, out)?;
    }
    if !report.screen.is_empty() && !report.notes.is_empty() {
        writeln!(out)?;
    }
    report.notes.iter().try_for_each(|line| write_line(line, style, out))
}

fn write_gates(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    painted("Gates", Paint::new().bold(), style, out)?;
    writeln!(out)?;
    gate_lines(&report.verdicts).iter().try_for_each(|(line, hint)| {
        write_line(line, style, out)?;
        hint.iter().try_for_each(|hint| write_marked("  ", Paint::new(), hint, style, out))
    })
}

fn write_line(line: &Line, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let paint = match line.tone {
        Tone::Good => AnsiColor::Green.on_default().bold(),
        Tone::Warning => AnsiColor::Yellow.on_default().bold(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Running => AnsiColor::Cyan.on_default().bold(),
        Tone::Plain => Paint::new(),
    };
    write_marked(human::mark(line.tone), paint, line, style, out)
}

fn write_marked(mark: &str, paint: Paint, line: &Line, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let indent = " ".repeat(mark.width());
    let text = unbroken(line);
    let width = style.width.map(|width| usize::from(width) - indent.len());
    for (index, row) in wrap(&text, width).iter().enumerate() {
        // Text to copy that is wider than the screen has its own row without indentation.
        let pasted = row.contains(UNBROKEN) && width.is_some_and(|width| row.width() > width);
        if index == 0 {
            painted(mark, paint, style, out)?;
        } else if !pasted {
            out.write_all(indent.as_bytes())?;
        }
        writeln!(out, "{}", row.replace(UNBROKEN, " "))?;
    }
    Ok(())
}

fn painted(text: &str, paint: Paint, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if style.color { write!(out, "{paint}{text}{paint:#}") } else { write!(out, "{text}") }
}

/// Placeholder for a space at which a line must not be broken. A noncharacter, so no text contains it.
const UNBROKEN: char = '\u{fdd0}';

/// The text of a line in which commands and text to copy are not broken.
fn unbroken(line: &Line) -> String {
    let whole = |text: &str| text.replace(' ', &UNBROKEN.to_string());
    let mut line = line.clone();
    for part in &mut line.parts {
        match part {
            Part::Word(_) | Part::Value(_) | Part::Choice(_) => {}
            Part::FollowUp(command) => *command = FollowUp::Typed(whole(&command.to_string())),
            Part::Verbatim(text) => *text = whole(text),
        }
    }
    human::words(&line)
}

fn write_table(table: &Table, reader: &Reader, style: Style, out: &mut dyn Write) -> io::Result<()> {
    painted(table.title, Paint::new().bold(), style, out)?;
    writeln!(out)?;
    let Layout { lanes, shared } = lay_out(table, reader, style.width.map(usize::from));
    let bold = Paint::new().bold();
    let heads = lanes.iter().map(|lane| (lane.head.head.to_owned(), bold));
    write_row(&lanes, heads, style, out)?;
    let rule = |out: &mut dyn Write| {
        painted(&"─".repeat(needed(&lanes)), paint::dim(), style, out)?;
        writeln!(out)
    };
    rule(out)?;
    let more = |out: &mut dyn Write| table.more.iter().try_for_each(|line| write_aside(line, style, out));
    // Rows that are left out are mentioned where they would be: above the newest, or below the most important ones.
    if table.keeps_last {
        more(out)?;
    }
    let indent = indent_below(&lanes);
    for row in 0..table.rows.len() {
        let margin = lanes.iter().find(|lane| lane.head.key == "margin").map(|lane| lane.values[row]);
        let cells = lanes.iter().map(|lane| {
            let value = lane.values[row];
            let paint = match margin {
                Some(margin) if lane.head.key == "change" => paint::change(value, margin),
                _ => paint::cell(lane.head, value),
            };
            (lane.cell(row), paint)
        });
        write_row(&lanes, cells, style, out)?;
        for text in texts_below(table, row) {
            write_text(text, indent, table, style, out)?;
        }
    }
    if !table.keeps_last {
        more(out)?;
    }
    if table.total_shown().is_some() {
        rule(out)?;
        write_row(&lanes, lanes.iter().map(|lane| (lane.cell(table.rows.len()), bold)), style, out)?;
    }
    write_shared(&shared, style, out)?;
    write_folders(&lanes, style, out)
}

/// Names the values that all rows have in columns that were left out.
fn write_shared(shared: &[(&Head, String)], style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (head, name) in shared {
        let line = Line::new(Tone::Plain).word("every ").value(head.head.to_lowercase()).word(" is ");
        write_aside(&line.value(name.as_str()), style, out)?;
    }
    Ok(())
}

/// Writes the cells of a row. Colours end with the text, and no line ends in blanks.
fn write_row(
    lanes: &[Lane<'_>],
    cells: impl Iterator<Item = (String, Paint)>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut blanks = 0;
    for (lane, (text, paint)) in lanes.iter().zip(cells) {
        let rest = lane.width.saturating_sub(text.width());
        let (before, after) = if lane.head.unit.is_numeric() { (rest, 0) } else { (0, rest) };
        if text.is_empty() {
            blanks += rest + GAP;
            continue;
        }
        write!(out, "{:1$}", "", blanks + before)?;
        painted(&text, paint, style, out)?;
        blanks = after + GAP;
    }
    writeln!(out)
}

/// Texts of the columns that are shown below a row.
fn texts_below(table: &Table, row: usize) -> impl Iterator<Item = &str> {
    let cells = table.columns.iter().zip(&table.rows[row]);
    cells.filter(|(head, _)| head.shown == Shown::Below).filter_map(|(_, value)| match value {
        Value::Text(text) => Some(&**text),
        _ => None,
    })
}

/// Texts below a row are aligned with its first text of a log, else with its second cell.
fn indent_below(lanes: &[Lane<'_>]) -> usize {
    let cells = lanes.iter().position(|lane| lane.head.content).unwrap_or(1);
    lanes.iter().take(cells).map(|lane| lane.width + GAP).sum()
}

/// Rows of a text below a row that is not shown to its end.
const EXCERPT_ROWS: usize = 2;

/// Writes a text, wrapped and indented, to its end or the first rows of it.
fn write_text(text: &str, indent: usize, table: &Table, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let room = style.width.map(|width| usize::from(width).saturating_sub(indent).max(1));
    let line = |line: &str| fill(&human::text(&line.trim_end().replace('\t', "    ")), room);
    let mut rows: Vec<String> = text.lines().flat_map(line).collect();
    if let (false, Some(room), true) = (table.whole_texts, room, rows.len() > EXCERPT_ROWS) {
        rows.truncate(EXCERPT_ROWS);
        rows[EXCERPT_ROWS - 1] = cut_end(&format!("{} …", rows[EXCERPT_ROWS - 1]), room);
    }
    for row in rows {
        write!(out, "{:1$}", "", if row.is_empty() { 0 } else { indent })?;
        let mut written = 0;
        for found in table.highlight.as_ref().map(|one| one.ranges(&row)).unwrap_or_default() {
            painted(&row[written..found.start], paint::dim(), style, out)?;
            painted(&row[found.clone()], Paint::new().bold(), style, out)?;
            written = found.end;
        }
        painted(&row[written..], paint::dim(), style, out)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the title and a card for each row, with a blank line between them.
fn write_cards(table: &Table, style: Style, out: &mut dyn Write) -> io::Result<()> {
    painted(table.title, Paint::new().bold(), style, out)?;
    writeln!(out)?;
    for (number, card) in table.cards().iter().enumerate() {
        writeln!(out)?;
        let title = card.title.iter().map(|value| human::value(value));
        let title: Vec<String> = [format!("{}", number + 1)].into_iter().chain(title).collect();
        for row in fill(&title.join(" · "), style.width.map(usize::from)) {
            painted(&row, Paint::new().bold(), style, out)?;
            writeln!(out)?;
        }
        let label = card.fields.iter().map(|(head, _)| head.width()).max().unwrap_or(0);
        for (head, value) in &card.fields {
            write_field(head, value, label, style, out)?;
        }
    }
    table.more.iter().try_for_each(|more| {
        writeln!(out)?;
        write_line(more, style, out)
    })
}

/// Writes one field of a card; the elements of a list have a line each.
fn write_field(head: &str, value: &Value, label: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let indent = GAP + label + GAP;
    let room = style.width.map(|width| usize::from(width).saturating_sub(indent).max(1));
    let shown = match value {
        Value::List(values) => values.iter().map(human::value).collect(),
        Value::Text(text) => text.lines().map(|line| human::text(line).into_owned()).collect(),
        other => vec![human::value(other)],
    };
    let rows = shown.iter().flat_map(|line| fill(line, room));
    for (index, row) in rows.enumerate() {
        let head = if index == 0 { head } else { "" };
        let (gap, room) = (" ".repeat(GAP), label.saturating_sub(head.width()));
        writeln!(out, "{}", format!("{gap}{head}{:room$}{gap}{row}", "").trim_end())?;
    }
    Ok(())
}

/// Names the folders that were left out of all cells of a column.
fn write_folders(lanes: &[Lane<'_>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    for lane in lanes {
        if let Some(folder) = &lane.folder {
            let head = lane.head.head.to_lowercase();
            let line =
                Line::new(Tone::Plain).word("every ").value(head).word(" is in ").value(folder.as_str());
            write_aside(&line, style, out)?;
        }
    }
    Ok(())
}

/// Writes a line that is less important than the rows.
fn write_aside(line: &Line, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for row in wrap(&unbroken(line), style.width.map(usize::from)) {
        painted(&row.replace(UNBROKEN, " "), paint::dim(), style, out)?;
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Shown, Unit};

    /// Project, session and a count.
    type Row = (&'static str, &'static str, u64);

    const COLUMNS: &[Column<Row>] = &[
        Column::new(Unit::Text, "project", "Project", "A name.", |row: &Row| row.0.into()),
        Column::new(Unit::Text, "agent", "Agent", "Another.", |row: &Row| row.1.into()),
        Column::new(Unit::Count, "records", "Records", "A number.", |row: &Row| row.2.into()),
        Column::new(Unit::Count, "bytes", "Bytes", "A number.", |row: &Row| row.2.into()).shown(Shown::Wide),
        Column::new(Unit::Count, "lines", "Lines", "A number.", |row: &Row| row.2.into()),
        Column::new(Unit::Count, "blank", "Blank", "A number.", |row: &Row| row.2.into()).shown(Shown::Wide),
    ];

    const ROWS: &[Row] = &[
        ("short", "5b1f6c1e-0f6b-4c52-9a53-0d6d3f6f5a01-and-some-more", 1_234_567),
        ("a-project", "5b1f6c1e", 3),
    ];

    fn drawn(width: Option<u16>) -> String {
        drawn_table(&Table::of("Rows", COLUMNS, ROWS), width)
    }

    fn drawn_table(table: &Table, width: Option<u16>) -> String {
        let mut out = Vec::new();
        write_table(table, &Reader::default(), Style { width, color: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn heads(width: u16) -> Vec<String> {
        let drawn = drawn(Some(width));
        drawn.lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn columns_for_wide_screens_are_removed_first_from_the_right() {
        assert_eq!(heads(140), ["Project", "Agent", "Records", "Bytes", "Lines", "Blank"]);
        assert_eq!(heads(100), ["Project", "Agent", "Records", "Bytes", "Lines"]);
        assert_eq!(heads(85), ["Project", "Agent", "Records", "Lines"]);
        assert!(drawn(Some(85)).contains("1,234,567") && drawn(Some(85)).contains(ROWS[0].1));
    }

    #[test]
    fn the_column_that_rows_are_sorted_by_is_never_removed() {
        for width in [40, 60, 85, 100] {
            let table = Table { sorted_by: Some("blank"), ..Table::of("Rows", COLUMNS, ROWS) };
            let drawn = drawn_table(&table, Some(width));
            assert!(drawn.lines().nth(1).unwrap().ends_with("Blank"), "{width}:\n{drawn}");
        }
    }

    #[test]
    fn a_name_that_all_rows_have_is_given_once_if_the_columns_do_not_fit() {
        let rows: &[Row] = &[("one", "main", 1), ("two", "main", 2)];
        let table = Table::of("Rows", COLUMNS, rows);
        assert!(drawn_table(&table, Some(140)).lines().nth(3).unwrap().contains("main"));
        let narrow = drawn_table(&table, Some(27));
        assert!(!narrow.lines().nth(1).unwrap().contains("Agent"), "{narrow}");
        assert!(narrow.ends_with("every agent is main\n"), "{narrow}");
    }

    #[test]
    fn the_widest_name_is_cut_and_not_the_first() {
        let drawn = drawn(Some(60));
        assert!(drawn.contains("a-project") && drawn.contains("5b1f6c1e-0f6b…and-some-more"), "{drawn}");
        assert!(drawn.contains("1,234,567"), "{drawn}");
    }

    #[test]
    fn nothing_is_wider_than_the_screen() {
        for width in 40..140 {
            let drawn = drawn(Some(width));
            let widest = drawn.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(widest <= usize::from(width), "{width}:\n{drawn}");
        }
        assert!(drawn(None).contains(ROWS[0].1), "without a screen there is no limit");
    }
}
