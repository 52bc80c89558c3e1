//! The data model of reports: tables, columns, sections and the report itself.

mod people;

use std::borrow::Borrow;

use super::{
    Chart, Choice, FollowUp, Highlight, Line, Members, Part, Reader, RunOutcome, Unit, Value, gate::Verdict,
};

/// The readers that see a column, unless columns are selected by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Everyone.
    Always,
    /// Programs, and people if the screen is wide enough.
    Wide,
    /// Programs only.
    Data,
    /// People only.
    Screen,
    /// People only, if the screen is wide enough.
    WideScreen,
    /// People only, as text below the row.
    Below,
}

impl Shown {
    /// Whether programs see it too.
    pub fn is_for_programs(self) -> bool {
        match self {
            Self::Always | Self::Wide | Self::Data => true,
            Self::Screen | Self::WideScreen | Self::Below => false,
        }
    }

    /// Whether the column needs a wide screen.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Wide | Self::WideScreen)
    }
}

/// Description of a column, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Key in JSON and CSV.
    pub key: &'static str,
    /// Heading on screen.
    pub head: &'static str,
    /// Meaning, in one sentence.
    pub doc: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// Whether a sum of the values is meaningful.
    pub adds: bool,
    /// Whether a value can be missing.
    pub missing: bool,
    /// The readers that see the column.
    pub shown: Shown,
    /// Whether the column exists only on request.
    pub optional: bool,
    /// Whether it shows text of the log, so that it exists only where content may be shown.
    pub content: bool,
}

/// One column of a table of `R`. Every format and every document derives from it.
pub struct Column<R> {
    /// Description.
    pub head: Head,
    /// Returns the value of a row.
    pub value: fn(&R) -> Value,
}

impl<R> Clone for Column<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Column<R> {}

impl<R> Column<R> {
    /// A column of this unit. Counts, bytes, amounts and durations are summed.
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
            head: Head {
                key,
                head,
                doc,
                unit,
                adds,
                missing,
                shown: Shown::Always,
                optional: false,
                content: false,
            },
            value,
        }
    }

    /// Values may be missing; amounts, times and texts are nullable by default.
    #[must_use]
    pub const fn nullable(mut self) -> Self {
        self.head.missing = true;
        self
    }

    /// Every row has a value.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.head.missing = false;
        self
    }

    /// A sum of the values is meaningless.
    #[must_use]
    pub const fn no_sum(mut self) -> Self {
        self.head.adds = false;
        self
    }

    /// Sets who sees the column.
    #[must_use]
    pub const fn shown(mut self, shown: Shown) -> Self {
        self.head.shown = shown;
        self
    }

    /// The column exists only on request.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.head.optional = true;
        self
    }

    /// The column shows text of the log: it exists only where content may be shown.
    #[must_use]
    pub const fn content(mut self) -> Self {
        self.head.content = true;
        self.optional()
    }

    /// Shown to programs, and to people if the screen is wide enough.
    #[must_use]
    pub const fn wide(self) -> Self {
        self.shown(Shown::Wide)
    }

    /// Shown to programs only.
    #[must_use]
    pub const fn data(self) -> Self {
        self.shown(Shown::Data)
    }

    /// Shown to people only.
    #[must_use]
    pub const fn screen(self) -> Self {
        self.shown(Shown::Screen)
    }

    /// Shown to people only, if the screen is wide enough.
    #[must_use]
    pub const fn wide_screen(self) -> Self {
        self.shown(Shown::WideScreen)
    }

    /// Shown to people only, below the row.
    #[must_use]
    pub const fn below(self) -> Self {
        self.shown(Shown::Below)
    }
}

/// Descriptions of these columns.
pub fn heads<R>(columns: &[Column<R>]) -> Vec<Head> {
    columns.iter().map(|column| column.head).collect()
}

/// Maximum number of rows of a table on a page.
pub const PAGE_ROWS: usize = 1000;

/// Rows under columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Title shown above the table.
    pub title: &'static str,
    /// Columns, in the order of the cells.
    pub columns: Vec<Head>,
    /// Cells, row by row.
    pub rows: Vec<Vec<Value>>,
    /// Total of all rows, including those that were left out.
    pub total: Option<Vec<Value>>,
    /// Which rows were left out, and how to see them.
    pub more: Option<Line>,
    /// Maximum number of rows on screen; `None` for all.
    pub screen_rows: Option<usize>,
    /// Singular and plural noun for the rows that a screen leaves out; `None` for "more rows".
    pub rest: Option<(&'static str, &'static str)>,
    /// Whether rows are left out at the beginning, because the last ones are the newest.
    pub keeps_last: bool,
    /// Key of the column that rows were sorted by on request. It is shown however narrow the screen is.
    pub sorted_by: Option<&'static str>,
    /// Whether only pages show it.
    pub is_page_only: bool,
    /// Whether texts below a row are shown to their end.
    pub whole_texts: bool,
    /// Whether cells without a value do not apply, as in a calculation, and are left blank.
    pub leaves_blanks: bool,
    /// Matches of this query are highlighted in texts below rows.
    pub highlight: Option<Highlight>,
    /// How to see all rows: the command, and the option.
    pub all: Box<[Part; 2]>,
}

impl Table {
    /// Builds a table from rows, owned or borrowed.
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
            sorted_by: None,
            is_page_only: false,
            whole_texts: false,
            leaves_blanks: false,
            highlight: None,
            all: Box::new([Part::FollowUp(FollowUp::AllRows), Part::Choice(Choice::AllRows)]),
        }
    }

    /// Shows at most this many rows on screen unless `--limit` is given.
    #[must_use]
    pub fn on_screen(mut self, rows: usize) -> Self {
        self.screen_rows = Some(rows);
        self
    }

    /// Keeps the last rows instead of the first when rows are left out.
    #[must_use]
    pub fn keeping_last(mut self) -> Self {
        self.keeps_last = true;
        self
    }

    /// Leaves the table out of everything but pages.
    #[must_use]
    pub(super) fn page_only(mut self) -> Self {
        self.is_page_only = true;
        self
    }

    /// Names another report that has all rows.
    #[must_use]
    pub(super) fn all_in(mut self, report: &'static str) -> Self {
        let command = Part::FollowUp(FollowUp::AllRowsOf(report));
        self.all = Box::new([command.clone(), command]);
        self
    }

    /// Names the rows that a screen leaves out: singular and plural.
    #[must_use]
    pub fn leaving_out(mut self, rest: (&'static str, &'static str)) -> Self {
        self.rest = Some(rest);
        self
    }

    /// Adds a total row with the sum of every column that has one.
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

    /// Adds a total row computed from all data, since medians and rates cannot be summed.
    #[must_use]
    pub fn with_total<R>(mut self, columns: &[Column<R>], total: &R) -> Self {
        let cell = |column: &Column<R>| match column.head.unit {
            // A time or a flag of several rows is meaningless.
            Unit::Time | Unit::Flag | Unit::Bar | Unit::List => Value::Missing,
            _ => (column.value)(total),
        };
        self.total = Some(columns.iter().map(cell).collect());
        self
    }

    /// Columns for programs, with their index.
    pub fn for_programs(&self) -> Vec<(usize, &Head)> {
        self.columns.iter().enumerate().filter(|(_, head)| head.shown.is_for_programs()).collect()
    }

    /// Keeps only the columns for which `keep` is true.
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

    /// Removes columns without any known value.
    #[must_use]
    pub fn without_unknown(self) -> Self {
        let known: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().any(|row| row[at] != Value::Missing)).collect();
        self.keeping(|at, _| known[at])
    }
}

/// A section of the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// The headline.
    Verdict(Line),
    /// The line below the headline: which run it is about.
    About(Line),
    /// Findings that need attention, one per line.
    Attention(Vec<Line>),
    Table(Table),
    /// A picture, for formats that can draw.
    Chart(Chart),
    /// The rows of the report, the same table that programs read.
    Rows,
    /// The rows of the report as cards: texts are wrapped, not cut.
    Cards,
    /// The verdicts of the gates. Without this section they follow the other sections.
    Gates,
    /// The rows of the report as people read them, in groups or in another order. They have the columns of the
    /// rows that programs read, and are arranged like them.
    ScreenRows(Table),
}

impl Section {
    /// Whether only pages show it.
    pub fn is_page_only(&self) -> bool {
        match self {
            Self::Table(table) | Self::ScreenRows(table) => table.is_page_only,
            Self::Chart(chart) => chart.is_page_only,
            Self::Verdict(_) | Self::About(_) | Self::Attention(_) => false,
            Self::Rows | Self::Cards | Self::Gates => false,
        }
    }
}

/// The data that programs read.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// An object with fixed keys.
    Tree(Members),
    /// The same without `schema_version` and the other envelope keys, in the format of another program.
    Bare(Vec<(String, Value)>),
    Rows(Table),
}

/// One report, ready to be written in any format.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Name of the report.
    pub name: &'static str,
    /// The data that programs read.
    pub data: Data,
    /// Remarks about the figures.
    pub notes: Vec<Line>,
    /// Results of the requested gates.
    pub verdicts: Vec<Verdict>,
    /// How each run ended, for formats that judge runs.
    pub run_outcomes: Vec<RunOutcome>,
    /// Sections for people, except the notes.
    pub screen: Vec<Section>,
    /// Facts by which names are shortened for people.
    pub reader: Reader,
}

impl Report {
    /// A report that consists of one table.
    pub fn of(name: &'static str, table: Table, notes: Vec<Line>) -> Self {
        let (verdicts, run_outcomes, reader) = (Vec::new(), Vec::new(), Reader::default());
        let screen = vec![Section::Rows];
        Self { name, data: Data::Rows(table), notes, verdicts, run_outcomes, screen, reader }
    }

    /// Shows people these rows instead of those that programs read.
    #[must_use]
    pub(super) fn with_screen_rows(mut self, table: Table) -> Self {
        self.screen = vec![Section::ScreenRows(table)];
        self
    }

    /// Removes the columns that show text of the log.
    #[must_use]
    pub fn without_content(mut self) -> Self {
        let plain = |table: Table| table.keeping(|_, head| !head.content);
        if let Data::Rows(table) = self.data {
            self.data = Data::Rows(plain(table));
        }
        let section = |section| match section {
            Section::Table(table) => Section::Table(plain(table)),
            Section::ScreenRows(table) => Section::ScreenRows(plain(table)),
            other => other,
        };
        self.screen = self.screen.into_iter().map(section).collect();
        self
    }

    /// Failed gates.
    pub fn failed(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| !verdict.held)
    }
}
