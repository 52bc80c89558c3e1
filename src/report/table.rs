//! What a report is made of: values with units, lines of words and values, tables with their columns declared once.

use crate::measure::{Millis, Time, Usd};

/// One cell, or a tree of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known. Missing is not zero.
    Missing,
    /// Words, perhaps out of a log: whoever writes them makes them harmless.
    Text(String),
    /// How many.
    Count(u64),
    /// How many bytes.
    Bytes(u64),
    /// How much money.
    Usd(Usd),
    /// How long.
    Millis(Millis),
    /// When.
    Time(Time),
    /// Yes or no.
    Flag(bool),
    /// Several, in a stated order.
    List(Vec<Value>),
    /// By name, in the order they are shown.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// By name.
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Counts by name.
    pub fn counts<'a, K: AsRef<str> + 'a>(counts: impl IntoIterator<Item = (&'a K, &'a u64)>) -> Self {
        Self::map(counts.into_iter().map(|(key, &count)| (key.as_ref(), Self::Count(count))))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl From<Usd> for Value {
    fn from(amount: Usd) -> Self {
        Self::Usd(amount)
    }
}

impl From<Millis> for Value {
    fn from(duration: Millis) -> Self {
        Self::Millis(duration)
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Self {
        Self::Time(time)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// One column of a table of `R`: every format and every document follows from it.
pub struct Column<R> {
    /// Its key in JSON and CSV.
    pub key: &'static str,
    /// Its heading on a screen.
    pub head: &'static str,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// Its value in a row.
    pub value: fn(&R) -> Value,
}

/// Rows under columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are.
    pub title: &'static str,
    /// Keys and headings.
    pub columns: Vec<(&'static str, &'static str)>,
    /// The cells.
    pub rows: Vec<Vec<Value>>,
    /// A last row that adds the others up.
    pub total: Option<Vec<Value>>,
    /// What was left out, and how to see it.
    pub more: Option<Line>,
}

impl Table {
    /// A table of these rows.
    pub fn of<R>(title: &'static str, columns: &[Column<R>], rows: &[R]) -> Self {
        let cells = |row: &R| columns.iter().map(|column| (column.value)(row)).collect();
        Self {
            title,
            columns: columns.iter().map(|column| (column.key, column.head)).collect(),
            rows: rows.iter().map(cells).collect(),
            total: None,
            more: None,
        }
    }

    /// The same with a last row that adds the others up, where there are several.
    #[must_use]
    pub fn with_total<R>(mut self, columns: &[Column<R>], total: &R) -> Self {
        if self.rows.len() > 1 {
            self.total = Some(columns.iter().map(|column| (column.value)(total)).collect());
        }
        self
    }

    /// The same without the columns in which nothing is known of any row.
    #[must_use]
    pub fn without_unknown(mut self) -> Self {
        let known: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().any(|row| row[at] != Value::Missing)).collect();
        let keep = |cells: &mut Vec<Value>| {
            let mut known = known.iter();
            cells.retain(|_| known.next().copied().unwrap_or(true));
        };
        self.rows.iter_mut().for_each(keep);
        self.total.iter_mut().for_each(keep);
        let mut known = known.iter();
        self.columns.retain(|_| known.next().copied().unwrap_or(true));
        self
    }
}

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It went well.
    Good,
    /// Someone should look at it.
    Warning,
    /// It went wrong.
    Bad,
    /// It is so.
    Plain,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Our own words.
    Word(&'static str),
    /// A value, perhaps out of a log.
    Value(Value),
}

/// A sentence of words and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How it is meant.
    pub tone: Tone,
    /// What it says.
    pub parts: Vec<Part>,
}

impl Line {
    /// Nothing yet.
    pub fn new(tone: Tone) -> Self {
        Self { tone, parts: Vec::new() }
    }

    /// Goes on with words.
    #[must_use]
    pub fn word(mut self, word: &'static str) -> Self {
        self.parts.push(Part::Word(word));
        self
    }

    /// Goes on with a value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.parts.push(Part::Value(value.into()));
        self
    }

    /// Goes on with a count and its noun, in the right number.
    #[must_use]
    pub fn count(self, count: u64, one: &'static str, many: &'static str) -> Self {
        self.value(count).word(if count == 1 { one } else { many })
    }
}

/// A part of what a person sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// The answer in one line.
    Verdict(Line),
    /// What needs attention, a line each.
    Attention(Vec<Line>),
    /// A table.
    Table(Table),
    /// What else is worth knowing, a line each.
    Notes(Vec<Line>),
}

/// What programs read.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Keys of its own.
    Tree(Vec<(String, Value)>),
    /// The rows of a table.
    Rows(Table),
}

/// One report, ready to be written in any format.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its name.
    pub name: &'static str,
    /// What programs read.
    pub data: Data,
    /// What a person sees.
    pub screen: Vec<Section>,
}
