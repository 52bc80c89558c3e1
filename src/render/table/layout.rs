//! Fits the columns of a table to a width.

use unicode_width::UnicodeWidthStr;

use super::short::{Shortened, Words, shorten};
use crate::{
    render::human,
    report::{Head, Reader, Shown, Table, Unit, Value},
};

/// Spaces between two columns.
pub(super) const GAP: usize = 2;

/// Minimum width of a shortened name.
const NARROWEST_NAME: usize = 12;

/// Minimum width of a shortened text of a log.
const NARROWEST_TEXT: usize = 16;

/// Width that texts of a log get before columns for wide screens.
const USUAL_TEXT: usize = 40;

/// Other columns than paths and sessions that are left out if all rows have the same name.
const REPEATED: [&str; 2] = ["agent", "mode"];

/// Length of the year in a time, with its separator: `2026-`.
const YEAR: usize = 5;

/// Minimum width of a bar.
const NARROWEST_BAR: usize = 8;

/// One column as text: the cells of all rows, then that of the total.
pub(super) struct Lane<'a> {
    pub(super) head: &'a Head,
    /// Values, in the order of the cells.
    pub(super) values: Vec<&'a Value>,
    pub(super) cells: Vec<String>,
    pub(super) width: usize,
    /// The folder that was left out of every cell.
    pub(super) folder: Option<String>,
    words: Words,
    /// Whether its bars are amounts: all begin at zero.
    is_amount: bool,
    /// Whether the rows are sorted by it.
    is_sorted: bool,
}

/// The columns that fit, and the values of columns that were left out because all rows have the same one.
pub(super) struct Layout<'a> {
    pub(super) lanes: Vec<Lane<'a>>,
    pub(super) shared: Vec<(&'a Head, String)>,
}

impl<'a> Lane<'a> {
    fn of(table: &'a Table, at: usize, reader: &Reader) -> Self {
        let head = &table.columns[at];
        let total = table.total_shown().map(|total| &total[at]);
        let values: Vec<&Value> = table.rows.iter().map(|row| &row[at]).chain(total).collect();
        let (cells, folder) = match head.unit {
            Unit::Text | Unit::List => {
                let Shortened { mut cells, folder } = shorten(head, &values[..table.rows.len()], reader);
                cells.extend(total.map(human::value));
                (cells, folder)
            }
            Unit::Usd => (amounts(&values), None),
            Unit::Number => (numbers(&values), None),
            _ => (values.iter().map(|value| human::value(value)).collect(), None),
        };
        let words = Words::of(head);
        let is_amount = values.iter().all(|value| !matches!(value, Value::Bar(from, _) if *from > 0.0));
        let is_sorted = table.sorted_by == Some(head.key);
        let mut lane = Self { head, values, cells, width: 0, folder, words, is_amount, is_sorted };
        lane.width = lane.natural_width();
        lane
    }

    fn natural_width(&self) -> usize {
        let head = self.head.head.width();
        let cells = self.cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
        // A bar that is drawn again fills its column.
        head.max(if self.is_bar() && cells > 0 { human::BAR } else { cells })
    }

    fn is_bar(&self) -> bool {
        self.head.unit == Unit::Bar
    }

    fn is_text(&self) -> bool {
        matches!(self.head.unit, Unit::Text | Unit::List)
    }

    /// Abbreviates large counts.
    fn abbreviate(&mut self) {
        if matches!(self.head.unit, Unit::Count | Unit::Number) {
            self.cells = self.values.iter().map(|value| human::short_value(value)).collect();
            self.width = self.natural_width();
        }
    }

    /// Leaves out the year if all times have the same.
    fn leave_out_year(&mut self) {
        let is_time = |value: &&Value| matches!(value, Value::Time(_) | Value::Local(..));
        let times = || self.values.iter().zip(&self.cells).filter(|(value, _)| is_time(value));
        let Some(year) = times().next().and_then(|(_, cell)| cell.get(..YEAR)).map(str::to_owned) else {
            return;
        };
        if self.head.unit == Unit::Time && times().all(|(_, cell)| cell.starts_with(&year)) {
            self.cells
                .iter_mut()
                .for_each(|cell| *cell = cell.strip_prefix(&year).unwrap_or(cell).to_owned());
            self.width = self.natural_width();
        }
    }

    /// The value of all rows, if it is a name that need not be repeated in each of several rows.
    fn shared(&self, rows: usize) -> Option<&str> {
        let is_name = matches!(self.words, Words::Path | Words::Session) || REPEATED.contains(&self.head.key);
        let first = self.cells.first().filter(|_| rows > 1 && is_name && !self.is_sorted)?;
        let is_same =
            self.values[..rows].iter().all(|value| *value == self.values[0] && **value != Value::Missing);
        is_same.then_some(first)
    }

    /// The narrowest that it may become.
    fn floor(&self, name: usize) -> usize {
        let floor = match () {
            () if self.is_text() && self.head.content => name.max(NARROWEST_TEXT.min(name * 2)),
            () if self.is_text() => name,
            () if self.is_bar() => NARROWEST_BAR,
            () => return self.width,
        };
        floor.max(self.head.head.width()).min(self.width)
    }

    /// The width before columns for wide screens are removed. Texts of a log may be as long as the screen is wide, so
    /// they count as long as most of them are; locations can be cut.
    fn wished(&self) -> usize {
        match self.head {
            Head { content: true, .. } => self.width.min(USUAL_TEXT),
            Head { shown: Shown::WideScreen, unit: Unit::Text, .. } => self.width.min(NARROWEST_NAME * 2),
            _ => self.width,
        }
    }

    /// The cell of a row, cut to the width of the column.
    pub(super) fn cell(&self, row: usize) -> String {
        match self.values[row] {
            Value::Bar(_, share) if self.is_amount => human::amount_bar(*share, self.width),
            Value::Bar(from, to) => human::bar(*from, *to, self.width),
            _ if self.is_text() => self.words.cut(&self.cells[row], self.width),
            _ => self.cells[row].clone(),
        }
    }
}

/// Amounts with one number of decimals.
fn amounts(values: &[&Value]) -> Vec<String> {
    let amounts = values.iter().filter_map(|value| match value {
        Value::Usd(amount) => Some(*amount),
        _ => None,
    });
    let decimals = human::column_decimals(amounts);
    let cell = |value: &&Value| match value {
        Value::Usd(amount) => human::column_usd(*amount, decimals),
        other => human::value(other),
    };
    values.iter().map(cell).collect()
}

/// Plain numbers with one number of decimals. Figures of other units are written as always.
fn numbers(values: &[&Value]) -> Vec<String> {
    let plain = values.iter().filter_map(|value| match value {
        Value::Number(number) => Some(*number),
        _ => None,
    });
    let is_plain = values.iter().all(|value| matches!(value, Value::Number(_) | Value::Missing));
    let decimals = human::number_decimals(plain);
    let cell = |value: &&Value| match value {
        Value::Number(number) if is_plain => human::column_number(*number, decimals),
        other => human::value(other),
    };
    values.iter().map(cell).collect()
}

/// Lays out a table. To fit the width, it removes, in this order: names that are the same in all rows, columns for wide
/// screens, parts of bars and of long names, digits of large counts, the year, more characters, then columns from the right.
pub(super) fn lay_out<'a>(table: &'a Table, reader: &Reader, width: Option<usize>) -> Layout<'a> {
    let shown = (0..table.columns.len()).filter(|&at| table.columns[at].shown != Shown::Below);
    let mut lanes: Vec<Lane> = shown.map(|at| Lane::of(table, at, reader)).collect();
    let Some(width) = width else { return Layout { lanes, shared: Vec::new() } };
    let shared = leave_out_shared(&mut lanes, table.rows.len(), width);
    while together(lanes.iter().map(Lane::wished)) > width {
        let is_wide = |lane: &Lane<'_>| lane.head.shown.is_wide() && !lane.is_sorted;
        let Some(wide) = lanes.iter().rposition(is_wide) else { break };
        lanes.remove(wide);
    }
    if narrow(&mut lanes, NARROWEST_NAME * 2, width) {
        return Layout { lanes, shared };
    }
    lanes.iter_mut().for_each(Lane::abbreviate);
    if !narrow(&mut lanes, NARROWEST_NAME * 2, width) {
        lanes.iter_mut().for_each(Lane::leave_out_year);
    }
    while !narrow(&mut lanes, NARROWEST_NAME * 2, width) && !narrow(&mut lanes, NARROWEST_NAME, width) {
        if lanes.len() < 3 {
            // Two columns remain: the text gives way, and the number stays.
            narrow(&mut lanes, 1, width);
            break;
        }
        lanes.remove(least(&lanes));
    }
    Layout { lanes, shared }
}

/// Leaves out columns with the same name in all rows, if the columns for all screens do not fit otherwise.
fn leave_out_shared<'a>(lanes: &mut Vec<Lane<'a>>, rows: usize, width: usize) -> Vec<(&'a Head, String)> {
    let mut shared = Vec::new();
    let needed = |lanes: &[Lane<'_>]| {
        let kept: Vec<usize> =
            lanes.iter().filter(|lane| !lane.head.shown.is_wide()).map(Lane::wished).collect();
        together(kept.into_iter())
    };
    while needed(lanes) > width {
        let is_shared = |lane: &Lane<'_>| !lane.head.shown.is_wide() && lane.shared(rows).is_some();
        let Some(at) = lanes.iter().rposition(is_shared).filter(|at| *at > 0) else { break };
        let lane = lanes.remove(at);
        shared.extend(lane.shared(rows).map(|name| (lane.head, name.to_owned())));
    }
    shared
}

/// Width of the table.
pub(super) fn needed(lanes: &[Lane<'_>]) -> usize {
    together(lanes.iter().map(|lane| lane.width))
}

/// Width of columns with gaps between them.
fn together(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = GAP * widths.len().saturating_sub(1);
    widths.sum::<usize>() + gaps
}

/// The column to remove next: the last, except the one that rows are sorted by and the only cost column, which most readers
/// look for.
fn least(lanes: &[Lane<'_>]) -> usize {
    let is_money = |lane: &&Lane<'_>| lane.head.unit == Unit::Usd;
    let is_only = lanes.iter().filter(is_money).count() == 1;
    let is_kept = |lane: &Lane<'_>| lane.is_sorted || (is_only && is_money(&lane));
    lanes.iter().rposition(|lane| !is_kept(lane)).unwrap_or(lanes.len() - 1)
}

/// Narrows bars, then names for wide screens beside texts of a log, then the widest text columns, until the table fits. Changes nothing if it cannot.
fn narrow(lanes: &mut [Lane<'_>], name: usize, width: usize) -> bool {
    let floors: Vec<usize> = lanes.iter().map(|lane| lane.floor(name)).collect();
    if together(floors.iter().copied()) > width && name > 1 {
        return false;
    }
    let mut excess = needed(lanes).saturating_sub(width);
    for (lane, floor) in lanes.iter_mut().zip(&floors).filter(|(lane, _)| lane.is_bar()) {
        let cut = excess.min(lane.width - floor);
        lane.width -= cut;
        excess -= cut;
    }
    // Beside texts of a log, locations and other names for wide screens give way first.
    let has_content = lanes.iter().any(|lane| lane.head.content);
    let gives_way = |lane: &Lane<'_>| has_content && !lane.head.content && lane.head.shown.is_wide();
    for (lane, floor) in lanes.iter_mut().zip(&floors).filter(|(lane, _)| lane.is_text() && gives_way(lane)) {
        let cut = excess.min(lane.width - floor);
        lane.width -= cut;
        excess -= cut;
    }
    let limit = lanes.iter().filter(|lane| lane.is_text()).map(|lane| lane.width).max().unwrap_or(0);
    let cap = text_cap(lanes, &floors, limit, excess);
    for (lane, floor) in lanes.iter_mut().zip(&floors).filter(|(lane, _)| lane.is_text()) {
        let cut = excess.min(lane.width.saturating_sub(cap.max(*floor)));
        lane.width -= cut;
        excess -= cut;
    }
    true
}

/// The largest width of text columns with which at least `excess` characters are saved.
fn text_cap(lanes: &[Lane<'_>], floors: &[usize], limit: usize, excess: usize) -> usize {
    let saved = |cap: usize| -> usize {
        let texts = lanes.iter().zip(floors).filter(|(lane, _)| lane.is_text());
        texts.map(|(lane, floor)| lane.width.saturating_sub(cap.max(*floor))).sum()
    };
    let (mut low, mut high) = (0, limit);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if saved(middle) >= excess { low = middle } else { high = middle - 1 }
    }
    low
}
