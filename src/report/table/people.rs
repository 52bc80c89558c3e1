//! Tables as people see them: the rows of a screen or a page, and what is left out.

use std::ops::Range;

use super::{Head, PAGE_ROWS, Shown, Table};
use crate::report::{Line, Tone, Unit, Value};

impl Table {
    /// Rows that are shown on screen.
    pub(in crate::report) fn screen_range(&self) -> Range<usize> {
        let left_out = self.rows.len().saturating_sub(self.screen_rows.unwrap_or(usize::MAX));
        // A line that says "1 more row" takes as much room as the row itself.
        self.range(if left_out > 1 || self.rest.is_some() { left_out } else { 0 })
    }

    /// Rows that a page or a screen shows.
    pub(in crate::report) fn page_range(&self) -> Range<usize> {
        let (page, screen) = (self.range(self.rows.len().saturating_sub(PAGE_ROWS)), self.screen_range());
        page.start.min(screen.start)..page.end.max(screen.end)
    }

    /// All rows but `left_out`.
    fn range(&self, left_out: usize) -> Range<usize> {
        if self.keeps_last { left_out..self.rows.len() } else { 0..self.rows.len() - left_out }
    }

    /// Reduces the table to the rows and columns for people.
    #[must_use]
    pub fn for_people(&self) -> Self {
        let rows = self.rows[self.screen_range()].to_vec();
        let left_out = self.rows.len() - rows.len();
        let more = if left_out > 0 { Some(self.left_out(left_out)) } else { self.more.clone() };
        let (columns, total, all) = (self.columns.clone(), self.total.clone(), self.all.clone());
        let highlight = self.highlight.clone();
        let table = Self { rows, more, columns, total, all, highlight, ..*self };
        let known = |at: usize| self.rows.is_empty() || self.rows.iter().any(|row| row[at] != Value::Missing);
        // An unknown cost is worth a column.
        let shown = |at: usize, head: &Head| head.unit == Unit::Usd || known(at);
        let mut table = table.keeping(|at, head| head.shown != Shown::Data && shown(at, head));
        let cells = table.total.iter_mut().flatten().zip(&table.columns).enumerate();
        for (at, (cell, head)) in cells.filter(|(_, (cell, _))| **cell == Value::Missing) {
            match at {
                0 => *cell = "Total".into(),
                // A column without a sum is empty, not unknown.
                _ if !head.adds => *cell = "".into(),
                _ => {}
            }
        }
        if table.leaves_blanks {
            let missing = table.rows.iter_mut().flatten().filter(|cell| **cell == Value::Missing);
            missing.for_each(|cell| *cell = "".into());
        }
        table
    }

    /// Reduces the table to the columns for people and the rows of a page.
    #[must_use]
    pub fn for_page(&self) -> Self {
        Self { screen_rows: None, ..self.at_most(PAGE_ROWS) }.for_people()
    }

    /// Keeps at most this many rows, and says how many were left out of a page.
    #[must_use]
    pub fn at_most(&self, rows: usize) -> Self {
        let left_out = self.rows.len().saturating_sub(rows);
        let kept = self.range(left_out);
        let more = if left_out > 0 { Some(self.left_out_of_page(left_out)) } else { self.more.clone() };
        let (columns, total, all) = (self.columns.clone(), self.total.clone(), self.all.clone());
        Self {
            rows: self.rows[kept].to_vec(),
            more,
            columns,
            total,
            all,
            highlight: self.highlight.clone(),
            ..*self
        }
    }

    /// The total row, unless it would repeat the only row or there are no rows.
    pub fn total_shown(&self) -> Option<&Vec<Value>> {
        self.total.as_ref().filter(|_| self.rows.len() > 1 || (self.more.is_some() && !self.rows.is_empty()))
    }

    /// The line below a table that says how many rows were left out.
    pub fn left_out(&self, rows: usize) -> Line {
        let [command, choice] = (*self.all).clone();
        // Another report has all rows: no option of this one shows them.
        if command == choice {
            return self.left_out_of_page(rows);
        }
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

    /// The same for a page, with the whole command: its reader may not have typed one, and the option alone would make
    /// the same page again.
    pub fn left_out_of_page(&self, rows: usize) -> Line {
        let [command, _] = (*self.all).clone();
        let counted = if self.total.is_some() { ", counted in the total" } else { "" };
        let line = Line::new(Tone::Plain);
        let line = match self.keeps_last {
            true => line.count(rows as u64, " earlier row is left out", " earlier rows are left out"),
            false => line.word("and ").count(rows as u64, " more row", " more rows").word(counted),
        };
        line.word("; all of them: ").part(command)
    }
}
