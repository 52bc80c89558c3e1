//! Objects of a pricing file that know where they stand, for the sake of messages.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::PricingError;
use crate::measure::price::decimal::scaled;

/// What a number counts, and which numbers are plausible.
pub(super) struct Unit {
    must: &'static str,
    range: &'static str,
    /// Power of ten from the unit in the file to the one in the table.
    power: i32,
    /// The smallest number but zero, as in the table.
    least: u64,
    most: u64,
}

impl Unit {
    /// Dollars per million tokens to pico-dollars per token. Less than the least is surely meant per token.
    pub(super) const PER_MILLION: Self = Self {
        must: "a number of dollars per million tokens",
        range: "between 0.0001 and 1000000, or 0",
        power: 6,
        least: 100,
        most: 1_000_000_000_000,
    };

    /// Dollars per token to pico-dollars per token. More than the most is surely meant per million.
    pub(super) const PER_TOKEN: Self = Self {
        must: "a number of dollars per token",
        range: "between 0 and 1",
        power: 12,
        least: 0,
        most: 1_000_000_000_000,
    };

    /// Dollars to nano-dollars.
    pub(super) const PER_SEARCH: Self = Self {
        must: "a number of dollars per search",
        range: "between 0 and 1000",
        power: 9,
        least: 0,
        most: 1_000_000_000_000,
    };

    /// Tokens.
    pub(super) const TOKENS: Self = Self {
        must: "a number of tokens",
        range: "between 0 and 1000000000",
        power: 0,
        least: 0,
        most: 1_000_000_000,
    };

    fn read(&self, number: &str) -> Option<u64> {
        scaled(number, self.power).filter(|&value| value <= self.most && (value == 0 || value >= self.least))
    }
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// One JSON object of a pricing file.
pub(super) struct Section<'a> {
    file: &'a str,
    path: String,
    fields: Fields<'a>,
}

impl<'a> Section<'a> {
    /// The outermost object. JSON of another type has no fields.
    pub(super) fn whole(file: &'a str, text: &'a str) -> Result<Self, PricingError> {
        // Some editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let fields = match serde_json::from_str::<Fields<'_>>(text) {
            Ok(fields) => fields,
            Err(error) if error.is_data() || text.trim().is_empty() => Fields::new(),
            Err(source) => return Err(PricingError::Json { file: file.to_owned(), source }),
        };
        Ok(Self { file, path: String::new(), fields })
    }

    /// Name of the file.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Keys in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Whether there is such a key with a value other than null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Whether there is a key that differs from this one in little more than a typing error.
    pub(super) fn nearly_has(&self, key: &str) -> bool {
        self.names().any(|name| distance(name, key) <= 2)
    }

    /// Fields that are objects; others are skipped.
    pub(super) fn sections(&self) -> impl Iterator<Item = (&str, Section<'a>)> {
        self.names().filter_map(|key| Some((key, self.section(key).ok()??)))
    }

    /// The object in a field, if the field is there.
    pub(super) fn section(&self, key: &str) -> Result<Option<Section<'a>>, PricingError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match serde_json::from_str(value) {
            Ok(fields) => Ok(Some(Section { file: self.file, path: self.path_of(key), fields })),
            Err(_) => Err(self.wrong(key, "an object".to_owned(), value)),
        }
    }

    /// The number in a field, if the field is there, in the unit of the table.
    pub(super) fn number(&self, key: &str, unit: &Unit) -> Result<Option<u64>, PricingError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        if let Some(number) = unit.read(value) {
            return Ok(Some(number));
        }
        let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let must = if is_number { format!("{} {}", unit.must, unit.range) } else { unit.must.to_owned() };
        Err(self.wrong(key, must, value))
    }

    /// The number in a field that has to be there.
    pub(super) fn needed(&self, key: &str, unit: &Unit) -> Result<u64, PricingError> {
        self.number(key, unit)?.ok_or_else(|| PricingError::Missing {
            file: self.file.to_owned(),
            key: self.path_of(key),
            must: unit.must.to_owned(),
        })
    }

    /// Refuses keys that are in neither list.
    pub(super) fn only(&self, known: &[&str], also: &[&str]) -> Result<(), PricingError> {
        let all = || known.iter().chain(also).copied();
        let Some(key) = self.names().find(|&name| !all().any(|key| key == name)) else { return Ok(()) };
        Err(PricingError::UnknownKey {
            file: self.file.to_owned(),
            key: self.path_of(key),
            nearest: all().min_by_key(|name| distance(name, key)).unwrap_or_default().to_owned(),
            known: all().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        })
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.fields.get(key).map(|value| value.get()).filter(|&value| value != "null")
    }

    fn path_of(&self, key: &str) -> String {
        let key = printable(key);
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    fn wrong(&self, key: &str, must: String, value: &str) -> PricingError {
        let (file, key, value) = (self.file.to_owned(), self.path_of(key), printable(value));
        PricingError::Value { file, key, must, value }
    }
}

/// Short, and with nothing that a terminal would obey: the file may have come from anywhere.
fn printable(text: &str) -> String {
    const MOST: usize = 80;
    let shown = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let more = if text.chars().nth(MOST).is_some() { "…" } else { "" };
    shown.take(MOST).chain(more.chars()).collect()
}

/// How many letters have to be put in, left out or changed to make one word of the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in to.chars().enumerate() {
            let changed = diagonal + usize::from(!a.eq_ignore_ascii_case(&b));
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_words_counts_letters() {
        for (from, to, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("input", "inptu", 2),
            ("Model", "models", 1),
            ("sitting", "kitten", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn foreign_text_is_short_and_harmless() {
        assert_eq!(printable("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(printable(&"x".repeat(99)).chars().count(), 81);
    }
}
