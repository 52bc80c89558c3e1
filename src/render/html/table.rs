//! Tables of a page.

use super::markup::{Markup, Px};
use crate::{
    render::human,
    report::{Head, Line, Shown, Table, Text, Unit, Value},
};

/// Maximum number of characters of a cell, so that one text cannot fill the page.
const MAX_CHARS: usize = 400;

/// Writes the heading row, the rows that fit into `room` bytes, and the total. `left_out` says how many rows are missing, given
/// the number that did not fit. The line is above the total, or returned if there is no total.
pub(super) fn rows(
    table: &Table,
    room: usize,
    left_out: impl FnOnce(usize) -> Option<Line>,
    page: &mut Markup,
) -> Option<Line> {
    page.open("table", &[("class", &"rows")]);
    page.open("thead", &[]);
    page.open("tr", &[]);
    for head in &table.columns {
        let class = class(head, None);
        page.element("th", &[("scope", &"col"), ("class", &class), ("title", &head.doc)], head.head);
    }
    page.close();
    page.close();
    page.open("tbody", &[]);
    let limit = page.len().saturating_add(room);
    let mut written = 0;
    // If rows are left out, the last ones may be the ones to keep.
    let order: Box<dyn Iterator<Item = &Vec<Value>>> =
        if table.keeps_last { Box::new(table.rows.iter().rev()) } else { Box::new(table.rows.iter()) };
    let mut lines: Vec<Markup> = Vec::new();
    let mut used = page.len();
    for cells in order {
        let mut line = Markup::default();
        row(&table.columns, cells, &mut line);
        used += line.len();
        if used > limit {
            break;
        }
        lines.push(line);
        written += 1;
    }
    if table.keeps_last {
        lines.reverse();
    }
    lines.iter().for_each(|line| page.append(line));
    page.close();
    let mut more = left_out(table.rows.len() - written);
    if let Some(total) = table.total_shown() {
        page.open("tfoot", &[]);
        if let Some(more) = more.take() {
            page.open("tr", &[("class", &"more")]);
            page.element("td", &[("colspan", &table.columns.len())], &human::words(&more));
            page.close();
            page.line();
        }
        row(&table.columns, total, page);
        page.close();
    }
    page.close();
    more
}

fn row(columns: &[Head], cells: &[Value], page: &mut Markup) {
    page.open("tr", &[]);
    columns.iter().zip(cells).for_each(|(head, value)| cell(head, value, page));
    page.close();
    page.line();
}

/// Class of a cell: numbers are aligned, and columns for wide screens are hidden on narrow ones.
fn class(head: &Head, value: Option<&Value>) -> String {
    let mut classes = Vec::new();
    match head.unit {
        unit if unit.is_numeric() => classes.push("n"),
        Unit::Time => classes.push("d"),
        // Names, ids and days are not broken at hyphens.
        _ if value.is_some_and(is_name) => classes.push("k"),
        _ if value.is_some_and(is_id) => classes.extend(["k", "i"]),
        _ => {}
    }
    if head.shown == Shown::Wide {
        classes.push("w");
    }
    if value == Some(&Value::Missing) {
        classes.push("m");
    }
    classes.join(" ")
}

fn is_name(value: &Value) -> bool {
    human::value(value).len() <= 24
}

/// Whether a text is as long as an id, without spaces. It is broken on narrow screens only.
fn is_id(value: &Value) -> bool {
    let shown = human::value(value);
    shown.len() <= 40 && !shown.contains(char::is_whitespace)
}

fn cell(head: &Head, value: &Value, page: &mut Markup) {
    let class = class(head, Some(value));
    let key = sort_key(value);
    let attributes: [(&'static str, &dyn std::fmt::Display); 2] = [("class", &class), ("data-v", &key)];
    let from = usize::from(class.is_empty());
    let to = if key.is_empty() { 1 } else { 2 };
    page.open("td", attributes.get(from..to).unwrap_or_default());
    match value {
        Value::Bar(from, to) => bar(*from, *to, page),
        value => page.text(&short(human::value(value))),
    }
    page.close();
}

/// The value by which the script sorts; empty for texts, which are sorted as they are shown.
fn sort_key(value: &Value) -> String {
    match value {
        Value::Time(time) | Value::Local(time, _) => time.to_string(),
        Value::Bar(from, _) => from.to_string(),
        value => value.number().map(|number| number.to_string()).unwrap_or_default(),
    }
}

fn short(text: String) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A bar within a cell.
fn bar(from: f64, to: f64, page: &mut Markup) {
    let percent = |share: f64| (share.clamp(0.0, 1.0) * 100.0).round();
    let about = format!("from {} to {} %", percent(from), percent(to));
    page.open(
        "svg",
        &[
            ("class", &"when"),
            ("viewBox", &"0 0 100 10"),
            ("preserveAspectRatio", &"none"),
            ("role", &"img"),
            ("aria-label", &about),
        ],
    );
    let from = (from.clamp(0.0, 1.0) * 100.0).min(99.0);
    let width = (to.clamp(0.0, 1.0) * 100.0 - from).max(1.0);
    page.empty("rect", &[("x", &Px(from)), ("y", &0), ("width", &Px(width)), ("height", &10)]);
    page.close();
}

/// The values of a chart, for those who want to read them.
pub(super) fn values(heads: &[Text], rows: &[Vec<Value>], page: &mut Markup) {
    page.open("table", &[]);
    page.open("thead", &[]);
    page.open("tr", &[]);
    for (at, head) in heads.iter().enumerate() {
        let is_number = rows.iter().any(|row| row.get(at).is_some_and(|value| value.number().is_some()));
        page.element("th", &[("scope", &"col"), ("class", &if is_number { "n" } else { "" })], head);
    }
    page.close();
    page.close();
    page.open("tbody", &[]);
    for row in rows {
        page.open("tr", &[]);
        for value in row {
            let class = if value.number().is_some() { "n" } else { "" };
            page.element("td", &[("class", &class)], &short(human::value(value)));
        }
        page.close();
        page.line();
    }
    page.close();
    page.close();
}
