//! Tables for terminals, fitted to their width.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style as Paint};
use comfy_table::{Cell, CellAlignment, LineStyle, Table as Grid, TableStyle};
use unicode_width::UnicodeWidthStr;

use super::{
    Style, human,
    wrap::{fill, wrap},
};
use crate::report::{
    Data, FollowUp, Head, Line, Part, Report, Section, Shown, Table, Text, Tone, Unit, Value, gate_lines,
};

/// Minimum width of a shortened name.
const NARROWEST_NAME: usize = 12;

/// Minimum width of a shortened text of a log.
const NARROWEST_TEXT: usize = 24;

/// Width that texts of a log get before columns for wide screens.
const USUAL_TEXT: usize = 40;

/// No borders, and a line below the header.
const LOOK: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Spaces between two columns.
const GAP: usize = 2;

pub(super) fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (index, section) in report.screen.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        match (section, &report.data) {
            (Section::Verdict(line), _) => write_line(line, style, out)?,
            (Section::Attention(lines), _) => {
                lines.iter().try_for_each(|line| write_line(line, style, out))?
            }
            (Section::Table(table) | Section::ScreenRows(table), _) | (Section::Rows, Data::Rows(table)) => {
                write_table(table.for_people(), style, out)?;
            }
            (Section::Cards, Data::Rows(table)) => write_cards(&table.for_people(), style, out)?,
            (Section::Rows | Section::Cards, Data::Tree(_) | Data::Bare(_)) => {} // an object has no rows
        }
    }
    if !report.verdicts.is_empty() {
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
    let (mark, paint) = match line.tone {
        Tone::Good => ("✓ ", AnsiColor::Green.on_default().bold()),
        Tone::Warning => ("! ", AnsiColor::Yellow.on_default().bold()),
        Tone::Bad => ("✗ ", AnsiColor::Red.on_default().bold()),
        Tone::Plain => ("", Paint::new()),
    };
    write_marked(mark, paint, line, style, out)
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

fn write_table(table: Table, style: Style, out: &mut dyn Write) -> io::Result<()> {
    painted(table.title, Paint::new().bold(), style, out)?;
    writeln!(out)?;
    let (table, below) = without_below(table);
    let (table, rows) = laid_out(table, style.width.map(usize::from));
    let mut lines = grid(&table, &rows);
    if table.total_shown().is_some() {
        // Repeat the line below the header above the total.
        lines.insert(lines.len() - 1, lines[1].clone());
    }
    let indent = indent_below(&table, &rows);
    for (index, line) in lines.iter().enumerate() {
        writeln!(out, "{}", line.trim_end())?;
        let texts = index.checked_sub(HEADER_LINES).and_then(|row| below.get(row));
        for text in texts.into_iter().flatten() {
            write_text(text, indent, table.whole_texts, style, out)?;
        }
    }
    match &table.more {
        Some(more) => write_line(more, style, out),
        None => Ok(()),
    }
}

/// Lines above the rows: header and separator.
const HEADER_LINES: usize = 2;

/// Removes the columns that are shown below their rows. Returns the texts of each row.
fn without_below(table: Table) -> (Table, Vec<Vec<Text>>) {
    let is_below = |head: &Head| head.shown == Shown::Below;
    let texts = |row: &Vec<Value>| {
        let cells = table.columns.iter().zip(row).filter(|(head, _)| is_below(head));
        let text = |(_, value): (&Head, &Value)| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        cells.filter_map(text).collect()
    };
    let below = table.rows.iter().map(texts).collect();
    (table.keeping(|_, head| !is_below(head)), below)
}

/// Texts below a row are aligned with its first text of a log, else with its second cell.
fn indent_below(table: &Table, rows: &[Vec<String>]) -> usize {
    let cells = table.columns.iter().position(|head| head.content).unwrap_or(1);
    widths(table, rows).iter().take(cells).map(|width| width + GAP).sum()
}

/// Rows of a text below a row that is not shown to its end.
const EXCERPT_ROWS: usize = 2;

/// Writes a text, wrapped and indented, to its end or the first rows of it.
fn write_text(text: &str, indent: usize, whole: bool, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let room = style.width.map(|width| usize::from(width).saturating_sub(indent).max(1));
    let line = |line: &str| fill(&human::text(&line.trim_end().replace('\t', "    ")), room);
    let mut rows: Vec<String> = text.lines().flat_map(line).collect();
    if let (false, Some(room), true) = (whole, room, rows.len() > EXCERPT_ROWS) {
        rows.truncate(EXCERPT_ROWS);
        rows[EXCERPT_ROWS - 1] = cut_end(&format!("{} …", rows[EXCERPT_ROWS - 1]), room);
    }
    rows.iter().try_for_each(|row| writeln!(out, "{}", format!("{:indent$}{row}", "").trim_end()))
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

/// Header, separator and rows, one line each.
fn grid(table: &Table, rows: &[Vec<String>]) -> Vec<String> {
    let cell = |(at, text): (usize, &String)| {
        let alignment =
            if table.columns[at].unit.is_numeric() { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(text).set_alignment(alignment)
    };
    let mut grid = Grid::new();
    grid.load_style(LOOK);
    let heads: Vec<String> = table.columns.iter().map(|column| column.head.to_owned()).collect();
    grid.set_header(heads.iter().enumerate().map(cell));
    for row in rows {
        grid.add_row(row.iter().enumerate().map(cell));
    }
    let last = table.columns.len().saturating_sub(1);
    for (at, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((0, if at == last { 0 } else { 2 }));
    }
    grid.lines().map(|line| line.to_string()).collect()
}

/// Fits the table to the width. Removes, in this order: columns for wide screens, characters of long names,
/// digits of large counts, more characters, then columns from the right.
fn laid_out(mut table: Table, width: Option<usize>) -> (Table, Vec<Vec<String>>) {
    let exact = cells(&table, human::value);
    let Some(width) = width else { return (table, exact) };
    let mut rows = exact;
    while needed(&wished(&table, &rows)) > width {
        let Some(roomy) = table.columns.iter().rposition(|head| head.shown.is_wide()) else { break };
        table = table.keeping(|at, _| at != roomy);
        rows = cells(&table, human::value);
    }
    loop {
        let wide = Floors { name: NARROWEST_NAME * 2, text: NARROWEST_TEXT };
        let narrow = Floors { name: NARROWEST_NAME, ..wide };
        let attempts: [(Show, Floors); 3] =
            [(human::value, wide), (human::short_value, wide), (human::short_value, narrow)];
        for (show, floors) in attempts {
            rows = cells(&table, show);
            let widths = cut_widths(&table, widths(&table, &rows), floors, width);
            if needed(&widths) <= width {
                cut(&table, &mut rows, &widths);
                return (table, rows);
            }
        }
        if table.columns.len() < 3 {
            let narrow = Floors { name: NARROWEST_NAME, text: NARROWEST_NAME };
            let widths = cut_widths(&table, widths(&table, &rows), narrow, width);
            cut(&table, &mut rows, &widths);
            return (table, rows);
        }
        let least = least(&table);
        table = table.keeping(|at, _| at != least);
    }
}

/// Widths of the columns before others are removed for them. Texts of a log may be as long as the screen is wide, so
/// they are counted as long as most of them are; locations can be cut.
fn wished(table: &Table, rows: &[Vec<String>]) -> Vec<usize> {
    let widths = widths(table, rows).into_iter().zip(&table.columns);
    let wished = |(width, head): (usize, &Head)| match head {
        Head { content: true, .. } => width.min(USUAL_TEXT),
        Head { shown: Shown::WideScreen, unit: Unit::Text, .. } => width.min(NARROWEST_NAME * 2),
        _ => width,
    };
    widths.map(wished).collect()
}

/// The column to remove next: the last, unless it is the only cost column, which most readers look for.
fn least(table: &Table) -> usize {
    let is_money = |at: usize| table.columns[at].unit == Unit::Usd;
    let last = table.columns.len() - 1;
    if is_money(last) && !(0..last).any(is_money) { last - 1 } else { last }
}

/// Minimum widths of names and of texts of a log.
#[derive(Clone, Copy)]
struct Floors {
    name: usize,
    text: usize,
}

/// Formats a value.
type Show = fn(&Value) -> String;

fn cells(table: &Table, show: Show) -> Vec<Vec<String>> {
    table.rows.iter().chain(table.total_shown()).map(|row| row.iter().map(show).collect()).collect()
}

/// Widths of the columns.
fn widths(table: &Table, rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = table.columns.iter().map(|column| column.head.width()).collect();
    for row in rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(cell.width()));
    }
    widths
}

/// Width of the table.
fn needed(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Narrows the widest text columns, one character at a time, until the table fits or all are at their
/// minimum.
fn cut_widths(table: &Table, mut widths: Vec<usize>, floors: Floors, width: usize) -> Vec<usize> {
    let words = |at: &usize| matches!(table.columns[*at].unit, Unit::Text | Unit::List);
    while needed(&widths) > width {
        let floor = |at: usize| {
            let narrowest = if table.columns[at].content { floors.text } else { floors.name };
            narrowest.max(table.columns[at].head.width())
        };
        let wide = (0..widths.len()).filter(words).filter(|&at| widths[at] > floor(at));
        // If several are equally wide, the last, since the first column names the row.
        let Some(widest) = wide.max_by_key(|&at| widths[at]) else { break };
        widths[widest] -= 1;
    }
    widths
}

fn cut(table: &Table, rows: &mut [Vec<String>], widths: &[usize]) {
    for row in rows {
        for (at, cell) in row.iter_mut().enumerate() {
            let head = &table.columns[at];
            // A sentence is read from its beginning; names and paths differ at both ends.
            if head.content && cell.contains(' ') {
                *cell = cut_end(cell, widths[at]);
            } else if matches!(head.unit, Unit::Text | Unit::List) {
                *cell = cut_middle(cell, widths[at]);
            }
        }
    }
}

/// Shortens a name in the middle, since both ends matter more: `mcp__very-lo…get_page`.
fn cut_middle(name: &str, room: usize) -> String {
    if name.width() <= room {
        return name.to_owned();
    }
    let tail = (room - 1) / 2;
    let head = fitting(name.chars(), room - 1 - tail);
    let tail = fitting(name.chars().rev(), tail);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// Shortens a sentence at its end.
fn cut_end(sentence: &str, room: usize) -> String {
    if sentence.width() <= room {
        return sentence.to_owned();
    }
    let head: String = fitting(sentence.chars(), room - 1).into_iter().collect();
    format!("{}…", head.trim_end())
}

/// The letters that fit into this width.
fn fitting(letters: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.to_string().width();
        used <= room
    };
    letters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Column;

    /// Project, session and a count.
    type Row = (&'static str, &'static str, u64);

    const COLUMNS: &[Column<Row>] = &[
        Column::new(Unit::Text, "project", "Project", "A name.", |row: &Row| row.0.into()),
        Column::new(Unit::Text, "session", "Session", "Another.", |row: &Row| row.1.into()),
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
        let mut out = Vec::new();
        write_table(Table::of("Rows", COLUMNS, ROWS), Style { width, color: false }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn heads(width: u16) -> Vec<String> {
        let drawn = drawn(Some(width));
        drawn.lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn columns_for_wide_screens_are_removed_first_from_the_right() {
        assert_eq!(heads(140), ["Project", "Session", "Records", "Bytes", "Lines", "Blank"]);
        assert_eq!(heads(100), ["Project", "Session", "Records", "Bytes", "Lines"]);
        assert_eq!(heads(85), ["Project", "Session", "Records", "Lines"]);
        assert!(drawn(Some(85)).contains("1,234,567") && drawn(Some(85)).contains(ROWS[0].1));
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

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(cut_middle("mcp__confluence__get_page", 13), "mcp__c…t_page");
        assert_eq!(cut_middle("Bash", 13), "Bash");
        assert_eq!(cut_middle("日本語日本語日本語", 9).width(), 9);
    }
}
