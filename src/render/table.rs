//! Tables for people, within the width of their terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style as Paint};
use comfy_table::{Cell, CellAlignment, LineStyle, Table as Grid, TableStyle};
use unicode_width::UnicodeWidthStr;

use super::{Style, human};
use crate::report::{Line, Report, Section, Table, Tone, Value};

/// Narrower than this a name says nothing any more.
const NARROWEST_NAME: usize = 12;

/// No borders, and a line below the heads.
const LOOK: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Columns between two columns.
const GAP: usize = 2;

pub(super) fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (index, section) in report.screen.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        match section {
            Section::Verdict(line) => write_line(line, style, out)?,
            Section::Attention(lines) => lines.iter().try_for_each(|line| write_line(line, style, out))?,
            Section::Table(table) => write_table(table, style, out)?,
        }
    }
    if !report.screen.is_empty() && !report.notes.is_empty() {
        writeln!(out)?;
    }
    report.notes.iter().try_for_each(|line| write_line(line, style, out))
}

fn write_line(line: &Line, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (mark, paint) = match line.tone {
        Tone::Good => ("✓ ", AnsiColor::Green.on_default().bold()),
        Tone::Warning => ("! ", AnsiColor::Yellow.on_default().bold()),
        Tone::Bad => ("✗ ", AnsiColor::Red.on_default().bold()),
        Tone::Plain => ("", Paint::new()),
    };
    let indent = " ".repeat(mark.width());
    for (index, row) in wrap(&human::words(line), style.width.map(|width| usize::from(width) - indent.len()))
        .iter()
        .enumerate()
    {
        if index == 0 {
            painted(mark, paint, style, out)?;
        } else {
            out.write_all(indent.as_bytes())?;
        }
        writeln!(out, "{row}")?;
    }
    Ok(())
}

fn painted(text: &str, paint: Paint, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if style.color { write!(out, "{paint}{text}{paint:#}") } else { write!(out, "{text}") }
}

/// Cuts a text into rows at blanks; a word that is wider than a row stands alone.
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

fn write_table(table: &Table, style: Style, out: &mut dyn Write) -> io::Result<()> {
    painted(table.title, Paint::new().bold(), style, out)?;
    writeln!(out)?;
    let rows = laid_out(table, style.width.map(usize::from));
    let cell = |(at, text): (usize, &String)| {
        let alignment =
            if table.columns[at].unit.is_numeric() { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(text).set_alignment(alignment)
    };
    let mut grid = Grid::new();
    grid.load_style(LOOK);
    let heads: Vec<String> = table.columns.iter().map(|column| column.head.to_owned()).collect();
    grid.set_header(heads.iter().enumerate().map(cell));
    for row in &rows {
        grid.add_row(row.iter().enumerate().map(cell));
    }
    let last = table.columns.len().saturating_sub(1);
    for (at, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((0, if at == last { 0 } else { 2 }));
    }
    for row in grid.lines() {
        writeln!(out, "{}", row.trim_end())?;
    }
    match &table.more {
        Some(more) => write_line(more, style, out),
        None => Ok(()),
    }
}

/// The cells as text that fits: exact if it can be, else with shorter counts, then with the first column cut.
fn laid_out(table: &Table, width: Option<usize>) -> Vec<Vec<String>> {
    let cells = |show: fn(&Value) -> String| -> Vec<Vec<String>> {
        table.rows.iter().chain(total(table)).map(|row| row.iter().map(show).collect()).collect()
    };
    let exact = cells(human::value);
    let Some(width) = width else { return exact };
    let (mut rows, mut needed) = (exact, 0);
    for (attempt, show) in [human::value, human::short_value].into_iter().enumerate() {
        if attempt > 0 {
            rows = cells(show);
        }
        let widths = widths(table, &rows);
        needed = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        // A name may lose a few letters before numbers lose their digits.
        let spare = widths.first().map_or(0, |&name| name.saturating_sub(NARROWEST_NAME * 2));
        if needed.saturating_sub(spare) <= width {
            break;
        }
    }
    let names = widths(table, &rows).first().copied().unwrap_or(0);
    let room = names.saturating_sub(needed.saturating_sub(width)).max(NARROWEST_NAME);
    for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
        *name = cut_middle(name, room);
    }
    rows
}

/// A row that adds up a single row says nothing.
fn total(table: &Table) -> Option<&Vec<Value>> {
    table.total.as_ref().filter(|_| table.rows.len() > 1)
}

fn widths(table: &Table, rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = table.columns.iter().map(|column| column.head.width()).collect();
    for row in rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(cell.width()));
    }
    widths
}

/// Both ends of a name tell more than its middle: `mcp__very-lo…get_page`.
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
