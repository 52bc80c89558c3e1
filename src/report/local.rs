//! Converts times to the reader's time zone for people. Programs get UTC.

use super::{Data, Line, Part, Report, Section, Table, Value};
use crate::measure::calendar::Zone;

impl Report {
    /// Adds the local text to every time that people see.
    #[must_use]
    pub fn local(mut self, zone: &Zone) -> Self {
        if let Data::Rows(table) = &mut self.data {
            local_table(table, zone);
        }
        self.notes.iter_mut().for_each(|line| local_line(line, zone));
        for section in &mut self.screen {
            match section {
                Section::Verdict(line) | Section::About(line) => local_line(line, zone),
                Section::Attention(lines) => lines.iter_mut().for_each(|line| local_line(line, zone)),
                Section::Table(table) | Section::ScreenRows(table) => local_table(table, zone),
                // Charts are made with local times.
                Section::Chart(_) | Section::Rows | Section::Cards | Section::Gates => {}
            }
        }
        self
    }
}

fn local_table(table: &mut Table, zone: &Zone) {
    // A page shows more rows than a screen, and no format shows fewer than these.
    let range = table.page_range();
    table.rows[range].iter_mut().flatten().for_each(|value| local(value, zone));
}

fn local_line(line: &mut Line, zone: &Zone) {
    for part in &mut line.parts {
        if let Part::Value(value) = part {
            local(value, zone);
        }
    }
}

fn local(value: &mut Value, zone: &Zone) {
    if let Value::Time(time) = value
        && let Some(text) = zone.minute(*time)
    {
        *value = Value::Local(*time, text.into());
    }
}
