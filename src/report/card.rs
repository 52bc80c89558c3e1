//! Rows as cards, for people: each text has a line of its own.

use super::{Table, Unit, Value};

/// A row as a card.
#[derive(Clone, Debug, PartialEq)]
pub struct Card<'a> {
    /// The first cell, and all values that are not texts.
    pub title: Vec<&'a Value>,
    /// Headings and texts of the other cells.
    pub fields: Vec<(&'static str, &'a Value)>,
}

impl Table {
    /// The rows as cards. Unknown values are left out.
    pub fn cards(&self) -> Vec<Card<'_>> {
        self.rows.iter().map(|row| self.card(row)).collect()
    }

    fn card<'a>(&'a self, row: &'a [Value]) -> Card<'a> {
        let cells = self.columns.iter().zip(row).enumerate();
        let known = cells.filter(|(_, (_, value))| !matches!(value, Value::Missing));
        let in_title = |at: usize, unit| at == 0 || !matches!(unit, Unit::Text | Unit::List);
        let (title, fields): (Vec<_>, Vec<_>) = known.partition(|(at, (head, _))| in_title(*at, head.unit));
        Card {
            title: title.into_iter().map(|(_, (_, value))| value).collect(),
            fields: fields.into_iter().map(|(_, (head, value))| (head.head, value)).collect(),
        }
    }
}
