//! Tables for terminals, fitted to their width.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style as Paint};
use comfy_table::{Cell, CellAlignment, LineStyle, Table as Grid, TableStyle};
use unicode_width::UnicodeWidthStr;

use super::{Style, human};
use crate::report::{
    Data, FollowUp, Line, Part, Report, Section, Shown, Table, Tone, Unit, Value, gate_lines,
};

/// Minimum width of a shortened name.
const NARROWEST_NAME: usize = 12;

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
            (Section::Table(table), _) | (Section::Rows, Data::Rows(table)) => {
                write_table(table.for_people(), style, out)?;
            }
            (Section::Rows, Data::Tree(_) | Data::Bare(_)) => {} // an object has no rows
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

/// Wraps text at spaces. A word wider than a row gets its own row.
fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
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

fn write_table(table: Table, style: Style, out: &mut dyn Write) -> io::Result<()> {
    painted(table.title, Paint::new().bold(), style, out)?;
    writeln!(out)?;
    let (table, rows) = laid_out(table, style.width.map(usize::from));
    let mut lines = grid(&table, &rows);
    if table.total_shown().is_some() {
        // Repeat the line below the header above the total.
        lines.insert(lines.len() - 1, lines[1].clone());
    }
    for line in lines {
        writeln!(out, "{}", line.trim_end())?;
    }
    match &table.more {
        Some(more) => write_line(more, style, out),
        None => Ok(()),
    }
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
    while needed(&widths(&table, &rows)) > width {
        let Some(roomy) = table.columns.iter().rposition(|head| head.shown == Shown::Wide) else { break };
        table = table.keeping(|at, _| at != roomy);
        rows = cells(&table, human::value);
    }
    loop {
        let narrow = NARROWEST_NAME * 2;
        let attempts: [(Show, usize); 3] =
            [(human::value, narrow), (human::short_value, narrow), (human::short_value, NARROWEST_NAME)];
        for (show, narrowest) in attempts {
            rows = cells(&table, show);
            let widths = cut_widths(&table, widths(&table, &rows), narrowest, width);
            if needed(&widths) <= width {
                cut(&table, &mut rows, &widths);
                return (table, rows);
            }
        }
        if table.columns.len() < 3 {
            let widths = cut_widths(&table, widths(&table, &rows), NARROWEST_NAME, width);
            cut(&table, &mut rows, &widths);
            return (table, rows);
        }
        let least = least(&table);
        table = table.keeping(|at, _| at != least);
    }
}

/// The column to remove next: the last, unless it is the only cost column, which most readers look for.
fn least(table: &Table) -> usize {
    let is_money = |at: usize| table.columns[at].unit == Unit::Usd;
    let last = table.columns.len() - 1;
    if is_money(last) && !(0..last).any(is_money) { last - 1 } else { last }
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
fn cut_widths(table: &Table, mut widths: Vec<usize>, narrowest: usize, width: usize) -> Vec<usize> {
    let words = |at: &usize| matches!(table.columns[*at].unit, Unit::Text | Unit::List);
    while needed(&widths) > width {
        let floor = |at: usize| narrowest.max(table.columns[at].head.width());
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
            if matches!(table.columns[at].unit, Unit::Text | Unit::List) {
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
    let letter_width = |letter: char| letter.to_string().width();
    let take = |letters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let fits = |letter: &char| {
            used += letter_width(*letter);
            used <= room
        };
        letters.take_while(fits).collect::<Vec<char>>()
    };
    let tail = (room - 1) / 2;
    let head = take(&mut name.chars(), room - 1 - tail);
    let tail = take(&mut name.chars().rev(), tail);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
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

    #[test]
    fn text_is_wrapped_at_blanks() {
        assert_eq!(wrap("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrap("one incomprehensibilities", Some(7)), ["one", "incomprehensibilities"]);
        assert_eq!(wrap("one two three", None), ["one two three"]);
    }
}
