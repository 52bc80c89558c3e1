//! What a report promises before it is made: its name, and the keys that programs find in it.

use super::{Column, Head, REPORTS, Report, Table, Unit};

/// One report.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it says, in one sentence.
    pub doc: &'static str,
    /// What programs find in it.
    pub shape: Shape,
    /// Whether gates can be asked for with it: then programs find `gates` too.
    pub gated: bool,
}

/// What programs find in a report.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Rows of these columns.
    Rows(fn() -> Vec<Head>),
    /// Keys of its own.
    Tree(Keys),
}

/// The keys of an object.
pub type Keys = &'static [(&'static str, &'static str, Key)];

/// What is found under a key.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// A value of this unit.
    One(Unit),
    /// The same, or nothing where it is not known.
    Maybe(&'static Key),
    /// Several.
    List(&'static Key),
    /// An object with these keys; each has a sentence that says what it is.
    Object(Keys),
    /// An object keyed by names out of the log.
    ByName(&'static Key),
}

impl Entry {
    /// A report of rows.
    pub const fn rows(name: &'static str, doc: &'static str, heads: fn() -> Vec<Head>) -> Self {
        Self { name, doc, shape: Shape::Rows(heads), gated: false }
    }

    /// A report with keys of its own.
    pub const fn tree(name: &'static str, doc: &'static str, keys: Keys) -> Self {
        Self { name, doc, shape: Shape::Tree(keys), gated: false }
    }

    /// The same, with gates that can be asked for.
    #[must_use]
    pub const fn gated(mut self) -> Self {
        self.gated = true;
        self
    }

    /// The report of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REPORTS.iter().find(|entry| entry.name == name)
    }

    /// Its columns; none if it has keys of its own.
    pub fn heads(&self) -> Vec<Head> {
        match self.shape {
            Shape::Rows(heads) => heads(),
            Shape::Tree(_) => Vec::new(),
        }
    }
}

const COLUMNS: &[Column<Entry>] = &[
    Column::new(Unit::Text, "report", "Report", "Its name.", |entry| entry.name.into()),
    Column::new(Unit::Text, "doc", "What it says", "What it says.", |entry| entry.doc.into()),
];

/// The list of the reports themselves.
pub fn reports() -> Report {
    Report::of("reports", Table::of("Reports", COLUMNS, REPORTS), Vec::new())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_keys_are_unique_and_everything_is_explained() {
        let names: BTreeSet<&str> = REPORTS.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), REPORTS.len());
        for entry in REPORTS {
            assert!(entry.doc.ends_with('.'), "{}", entry.name);
            let heads = entry.heads();
            let keys: BTreeSet<&str> = heads.iter().map(|head| head.key).collect();
            assert_eq!(keys.len(), heads.len(), "{}: a key stands twice", entry.name);
            for head in heads {
                assert!(head.doc.ends_with('.'), "{}.{}: {}", entry.name, head.key, head.doc);
                let plain =
                    |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
                assert!(head.key.chars().all(plain), "{}.{}", entry.name, head.key);
            }
        }
    }
}
