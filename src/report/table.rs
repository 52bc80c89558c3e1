//! What a report is made of: lines of words and values, tables with their columns declared once.

use std::{borrow::Borrow, ops::Range};

use super::{Choice, FollowUp, Line, Members, Part, RunOutcome, Tone, Value, gate::Verdict};
use crate::measure::{Millis, Usd};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Words.
    Text,
    /// How many.
    Count,
    /// How many bytes.
    Bytes,
    /// Numbers that each have a unit of their own, and may be less than nothing.
    Number,
    /// How much money.
    Usd,
    /// How long.
    Millis,
    /// When.
    Time,
    /// A part of a whole.
    Share,
    /// Yes or no.
    Flag,
    /// Several words.
    List,
    /// From when to when within a whole.
    Bar,
}

impl Unit {
    /// Whether the largest or the latest is what one looks for, and comes first.
    pub fn descends(self) -> bool {
        match self {
            Self::Count | Self::Bytes | Self::Number | Self::Usd | Self::Millis | Self::Share => true,
            Self::Time | Self::Flag => true,
            Self::Text | Self::List | Self::Bar => false,
        }
    }

    /// Whether a value of this unit can be missing unless the column says otherwise.
    const fn can_be_missing(self) -> bool {
        match self {
            Self::Text | Self::Number | Self::Usd | Self::Millis | Self::Time | Self::Share => true,
            Self::Count | Self::Bytes | Self::Flag | Self::List | Self::Bar => false,
        }
    }

    /// The sum of nothing.
    fn zero(self) -> Value {
        match self {
            Self::Count => Value::Count(0),
            Self::Bytes => Value::Bytes(0),
            Self::Usd => Value::Usd(Usd::ZERO),
            Self::Millis => Value::Millis(Millis::ZERO),
            Self::Text | Self::Number | Self::Time | Self::Share | Self::Flag | Self::List | Self::Bar => {
                Value::Missing
            }
        }
    }

    /// Whether it is read from the right.
    pub fn is_numeric(self) -> bool {
        match self {
            Self::Count | Self::Bytes | Self::Number | Self::Usd | Self::Millis | Self::Share => true,
            Self::Text | Self::Time | Self::Flag | Self::List | Self::Bar => false,
        }
    }
}

/// Who sees a column unless columns are asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Everyone.
    Always,
    /// Programs, and people whose screen has room.
    Wide,
    /// Programs alone.
    Data,
    /// People alone.
    Screen,
}

/// What a column is, its values apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its key in JSON and CSV.
    pub key: &'static str,
    /// Its heading on a screen.
    pub head: &'static str,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// What its values are.
    pub unit: Unit,
    /// Whether its values can be added up.
    pub adds: bool,
    /// Whether a value can be missing.
    pub missing: bool,
    /// Who sees it.
    pub shown: Shown,
    /// Whether it is there only when it is asked for.
    pub optional: bool,
}

/// One column of a table of `R`: every format and every document follows from it.
pub struct Column<R> {
    /// What it is.
    pub head: Head,
    /// Its value in a row.
    pub value: fn(&R) -> Value,
}

impl<R> Clone for Column<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Column<R> {}

impl<R> Column<R> {
    /// A column of this unit: counts, bytes, money and durations can be added up.
    pub const fn new(
        unit: Unit,
        key: &'static str,
        head: &'static str,
        doc: &'static str,
        value: fn(&R) -> Value,
    ) -> Self {
        let adds = matches!(unit, Unit::Count | Unit::Bytes | Unit::Usd | Unit::Millis);
        let missing = unit.can_be_missing();
        Self {
            head: Head { key, head, doc, unit, adds, missing, shown: Shown::Always, optional: false },
            value,
        }
    }

    /// The same, with values that can be missing, as money, times and texts can without this.
    #[must_use]
    pub const fn nullable(mut self) -> Self {
        self.head.missing = true;
        self
    }

    /// The same, with a value in every row.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.head.missing = false;
        self
    }

    /// The same, but a sum over it means nothing.
    #[must_use]
    pub const fn no_sum(mut self) -> Self {
        self.head.adds = false;
        self
    }

    /// The same, for these readers.
    #[must_use]
    pub const fn shown(mut self, shown: Shown) -> Self {
        self.head.shown = shown;
        self
    }

    /// The same, but there only when it is asked for.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.head.optional = true;
        self
    }

    /// The same, for programs, and for people whose screen has room.
    #[must_use]
    pub const fn wide(self) -> Self {
        self.shown(Shown::Wide)
    }

    /// The same, for programs alone.
    #[must_use]
    pub const fn data(self) -> Self {
        self.shown(Shown::Data)
    }

    /// The same, for people alone.
    #[must_use]
    pub const fn screen(self) -> Self {
        self.shown(Shown::Screen)
    }
}

/// What these columns are, their values apart.
pub fn heads<R>(columns: &[Column<R>]) -> Vec<Head> {
    columns.iter().map(|column| column.head).collect()
}

/// Rows under columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are.
    pub title: &'static str,
    /// What the columns are.
    pub columns: Vec<Head>,
    /// The cells.
    pub rows: Vec<Vec<Value>>,
    /// A last row that adds the others up, also those that were left out.
    pub total: Option<Vec<Value>>,
    /// What was left out, and how to see it.
    pub more: Option<Line>,
    /// Rows that a person reads before asking for more; `None` for all.
    pub screen_rows: Option<usize>,
    /// What the rows are that a person has to ask for, one and several of them; `None` for just more rows.
    pub rest: Option<(&'static str, &'static str)>,
    /// Whether rows are left out at the beginning: the last ones are the newest.
    pub keeps_last: bool,
    /// What shows all rows: the command, and the choice in words.
    pub all: Box<[Part; 2]>,
}

impl Table {
    /// A table of these rows, owned or borrowed.
    pub fn of<R>(
        title: &'static str,
        columns: &[Column<R>],
        rows: impl IntoIterator<Item: Borrow<R>>,
    ) -> Self {
        let cells = |row: &R| columns.iter().map(|column| (column.value)(row)).collect();
        Self {
            title,
            columns: heads(columns),
            rows: rows.into_iter().map(|row| cells(row.borrow())).collect(),
            total: None,
            more: None,
            screen_rows: None,
            rest: None,
            keeps_last: false,
            all: Box::new([Part::FollowUp(FollowUp::AllRows), Part::Choice(Choice::AllRows)]),
        }
    }

    /// The same, with at most this many rows for people who did not ask for more.
    #[must_use]
    pub fn on_screen(mut self, rows: usize) -> Self {
        self.screen_rows = Some(rows);
        self
    }

    /// The same, but where rows are left out, the last ones stay.
    #[must_use]
    pub fn keeping_last(mut self) -> Self {
        self.keeps_last = true;
        self
    }

    /// The same, saying of the rows that a screen leaves out what they are.
    #[must_use]
    pub fn leaving_out(mut self, rest: (&'static str, &'static str)) -> Self {
        self.rest = Some(rest);
        self
    }

    /// The same with a last row of sums: what a column that can be added up comes to.
    #[must_use]
    pub fn with_sums(mut self) -> Self {
        let sum = |(at, head): (usize, &Head)| match head.adds {
            true if head.missing => self.rows.iter().fold(Value::Missing, |sum, row| sum.plus(&row[at])),
            true => self.rows.iter().fold(head.unit.zero(), |sum, row| sum.plus(&row[at])),
            false => Value::Missing,
        };
        self.total = Some(self.columns.iter().enumerate().map(sum).collect());
        self
    }

    /// The same with a last row that is made of everything, as the others are of a part: medians and rates do not add up.
    #[must_use]
    pub fn with_total<R>(mut self, columns: &[Column<R>], total: &R) -> Self {
        let cell = |column: &Column<R>| match column.head.unit {
            // Of several rows there is no one moment and no yes or no.
            Unit::Time | Unit::Flag | Unit::Bar | Unit::List => Value::Missing,
            _ => (column.value)(total),
        };
        self.total = Some(columns.iter().map(cell).collect());
        self
    }

    /// The columns that programs read, with their places.
    pub fn for_programs(&self) -> Vec<(usize, &Head)> {
        self.columns.iter().enumerate().filter(|(_, head)| head.shown != Shown::Screen).collect()
    }

    /// The rows that people read.
    pub(super) fn screen_range(&self) -> Range<usize> {
        let left_out = self.rows.len().saturating_sub(self.screen_rows.unwrap_or(usize::MAX));
        // A line that only says that one row is missing takes the place of that row.
        let left_out = if left_out > 1 || self.rest.is_some() { left_out } else { 0 };
        if self.keeps_last { left_out..self.rows.len() } else { 0..self.rows.len() - left_out }
    }

    /// The rows and columns that people read.
    #[must_use]
    pub fn for_people(&self) -> Self {
        let rows = self.rows[self.screen_range()].to_vec();
        let left_out = self.rows.len() - rows.len();
        let more = if left_out > 0 { Some(self.left_out(left_out)) } else { self.more.clone() };
        let (columns, total, all) = (self.columns.clone(), self.total.clone(), self.all.clone());
        let table = Self { rows, more, columns, total, all, ..*self };
        let known = |at: usize| self.rows.is_empty() || self.rows.iter().any(|row| row[at] != Value::Missing);
        // That a cost is not known is worth a column.
        let shown = |at: usize, head: &Head| head.unit == Unit::Usd || known(at);
        let mut table = table.keeping(|at, head| head.shown != Shown::Data && shown(at, head));
        let cells = table.total.iter_mut().flatten().zip(&table.columns).enumerate();
        for (at, (cell, head)) in cells.filter(|(_, (cell, _))| **cell == Value::Missing) {
            match at {
                0 => *cell = "Total".into(),
                // What cannot be added up is not unknown.
                _ if !head.adds => *cell = "".into(),
                _ => {}
            }
        }
        table
    }

    /// The last row, unless it would repeat the only other one or add up nothing.
    pub fn total_shown(&self) -> Option<&Vec<Value>> {
        self.total.as_ref().filter(|_| self.rows.len() > 1 || (self.more.is_some() && !self.rows.is_empty()))
    }

    /// The sentence about rows that are not there.
    pub(super) fn left_out(&self, rows: usize) -> Line {
        let [command, choice] = (*self.all).clone();
        if let Some((one, many)) = self.rest {
            let line = Line::new(Tone::Plain).count(rows as u64, one, many).word(" (");
            return line.part(choice).word(if rows == 1 { " lists it)" } else { " lists them)" });
        }
        let line = Line::new(Tone::Plain);
        if self.keeps_last {
            let line = line.count(rows as u64, " earlier row is left out", " earlier rows are left out");
            return line.word("; all of them: ").part(command);
        }
        let line = line.word("and ").count(rows as u64, " more row", " more rows");
        let line = line.word(if self.total.is_some() { ", counted in the total (" } else { " (" });
        line.part(choice).word(" shows all)")
    }

    /// The same without the columns that are not kept.
    #[must_use]
    pub fn keeping(mut self, keep: impl Fn(usize, &Head) -> bool) -> Self {
        let kept: Vec<bool> = self.columns.iter().enumerate().map(|(at, head)| keep(at, head)).collect();
        let thin = |cells: &mut Vec<Value>| {
            let mut kept = kept.iter();
            cells.retain(|_| kept.next().copied().unwrap_or(true));
        };
        self.rows.iter_mut().for_each(thin);
        self.total.iter_mut().for_each(thin);
        let mut kept = kept.iter();
        self.columns.retain(|_| kept.next().copied().unwrap_or(true));
        self
    }

    /// The same without the columns in which nothing is known of any row.
    #[must_use]
    pub fn without_unknown(self) -> Self {
        let known: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().any(|row| row[at] != Value::Missing)).collect();
        self.keeping(|at, _| known[at])
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
    /// The rows of the report: the table that programs read.
    Rows,
}

/// What programs read.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Keys of its own.
    Tree(Members),
    /// The same with nothing around them, for programs that read another's shape.
    Bare(Vec<(String, Value)>),
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
    /// What is worth knowing about the figures.
    pub notes: Vec<Line>,
    /// The gates that were asked for, and how they turned out.
    pub verdicts: Vec<Verdict>,
    /// How the runs ended that it judges.
    pub run_outcomes: Vec<RunOutcome>,
    /// What a person sees, the notes apart.
    pub screen: Vec<Section>,
}

impl Report {
    /// A report that is one table. Who sees which column is decided when it is written.
    pub fn of(name: &'static str, table: Table, notes: Vec<Line>) -> Self {
        let (verdicts, run_outcomes) = (Vec::new(), Vec::new());
        Self { name, data: Data::Rows(table), notes, verdicts, run_outcomes, screen: vec![Section::Rows] }
    }

    /// The gates that did not hold.
    pub fn failed(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| !verdict.held)
    }
}
