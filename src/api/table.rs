//! A report as typed rows.

use std::io::{self, Write};

use super::Unreadable;
use crate::{
    measure::{Millis, Time, Usd},
    render::{self, Format, Style},
    report::{self, Data, Head, Table, Value},
};

/// One report: rows under columns. Rows and columns are those of its JSON and CSV.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    report: report::Report,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    unreadable: Vec<Unreadable>,
}

impl Report {
    pub(super) fn new(report: report::Report, unreadable: Vec<Unreadable>) -> Self {
        let (columns, rows) = match &report.data {
            Data::Rows(table) => typed(table),
            Data::Tree(_) | Data::Bare(_) => Default::default(),
        };
        Self { report, columns, rows, unreadable }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.report.name
    }

    /// Its columns, in the order of their cells.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its rows, in the report's own order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }

    /// Sources that could not be read, or not to their end.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// Writes it. Tables are not limited in width and have no colours.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        render::render(&self.report, format, Style::default(), out)
    }
}

fn typed(table: &Table) -> (Vec<Column>, Vec<Vec<Cell>>) {
    let shown: Vec<(usize, &Head)> =
        table.columns.iter().enumerate().filter(|(_, head)| head.shown.is_for_programs()).collect();
    let columns = shown.iter().map(|(_, head)| Column { key: head.key, title: head.head, doc: head.doc });
    let cells = |row: &Vec<Value>| shown.iter().map(|(at, _)| Cell::new(&row[*at])).collect();
    (columns.collect(), table.rows.iter().map(cells).collect())
}

/// A column of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Its key in JSON and CSV. Keys keep their meaning.
    pub key: &'static str,
    /// Its heading on a screen.
    pub title: &'static str,
    /// Its meaning, in one sentence.
    pub doc: &'static str,
}

/// A row of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
}

impl<'a> Row<'a> {
    /// The cell under this key; `None` if the report has no such column.
    pub fn get(&self, key: &str) -> Option<&'a Cell> {
        self.iter().find(|(column, _)| column.key == key).map(|(_, cell)| cell)
    }

    /// All cells with their columns.
    pub fn iter(&self) -> impl Iterator<Item = (&'a Column, &'a Cell)> + use<'a> {
        self.columns.iter().zip(self.cells)
    }
}

/// The value of a cell, with its unit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cell {
    /// The log does not say. Missing is not zero.
    Missing,
    /// A text, perhaps out of a log: escape it before it goes to a terminal.
    Text(String),
    /// A count, also of bytes.
    Count(u64),
    /// A number without a unit, or one that may be negative.
    Number(f64),
    /// Money: an estimate at API prices.
    Usd(Usd),
    /// A duration.
    Duration(Millis),
    /// A moment.
    Time(Time),
    /// A part of a whole, between 0 and 1.
    Share(f64),
    /// Yes or no.
    Flag(bool),
    /// Several values.
    List(Vec<Cell>),
    /// Values by name.
    Map(Vec<(String, Cell)>),
}

impl Cell {
    fn new(value: &Value) -> Self {
        match value {
            Value::Missing | Value::Bar(..) => Self::Missing,
            Value::Text(text) => Self::Text(text.to_string()),
            Value::Count(count) | Value::Bytes(count) => Self::Count(*count),
            Value::Number(number) => Self::Number(*number),
            Value::Usd(amount) => Self::Usd(*amount),
            Value::Millis(duration) => Self::Duration(*duration),
            Value::Time(time) | Value::Local(time, _) => Self::Time(*time),
            Value::Share(share) => Self::Share(*share),
            Value::Change(amount) => Self::new(amount),
            Value::Flag(flag) => Self::Flag(*flag),
            Value::List(values) => Self::List(values.iter().map(Self::new).collect()),
            Value::Map(values) => {
                Self::Map(values.iter().map(|(key, value)| (key.to_string(), Self::new(value))).collect())
            }
        }
    }
}
