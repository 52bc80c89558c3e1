//! The JSON objects of a pricing file, each with its path for error messages.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::PricingError;
use crate::measure::price::decimal::scaled;

/// The unit of a number, and the range of plausible values.
pub(super) struct Unit {
    /// Description of the number, for messages.
    must: &'static str,
    /// Description of the range, for messages.
    range: &'static str,
    /// Power of ten that converts the unit of the file to that of the price table.
    power: i32,
    /// Smallest value apart from zero, in the unit of the price table.
    min: u64,
    /// Largest value, in the unit of the price table.
    max: u64,
}

impl Unit {
    /// Dollars per million tokens to pico-dollars per token. A price below the minimum was surely meant per
    /// token.
    pub(super) const PER_MILLION: Self = Self {
        must: "a number of dollars per million tokens",
        range: "between 0.0001 and 1000000, or 0",
        power: 6,
        min: 100,
        max: 1_000_000_000_000,
    };

    /// Dollars per token to pico-dollars per token. A price above the maximum was surely meant per million
    /// tokens.
    pub(super) const PER_TOKEN: Self = Self {
        must: "a number of dollars per token",
        range: "between 0 and 1",
        power: 12,
        min: 0,
        max: 1_000_000_000_000,
    };

    /// Dollars to nano-dollars.
    pub(super) const PER_SEARCH: Self = Self {
        must: "a number of dollars per search",
        range: "between 0 and 1000",
        power: 9,
        min: 0,
        max: 1_000_000_000_000,
    };

    pub(super) const TOKENS: Self = Self {
        must: "a number of tokens",
        range: "between 0 and 1000000000",
        power: 0,
        min: 0,
        max: 1_000_000_000,
    };

    fn read(&self, number: &str) -> Option<u64> {
        scaled(number, self.power).filter(|&value| value <= self.max && (value == 0 || value >= self.min))
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
    /// Parses a file. JSON that is not an object becomes a section without fields.
    pub(super) fn parse(file: &'a str, text: &'a str) -> Result<Self, PricingError> {
        // Some editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let fields = match serde_json::from_str::<Fields<'_>>(text) {
            Ok(fields) => fields,
            Err(error) if error.is_data() || text.trim().is_empty() => Fields::new(),
            Err(source) => return Err(PricingError::Json { file: file.to_owned(), source }),
        };
        Ok(Self { file, path: String::new(), fields })
    }

    /// Returns the name of the file.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Returns the keys in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Returns whether the key exists with a value other than null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Returns whether a key differs from this one by no more than a typing error.
    pub(super) fn nearly_has(&self, key: &str) -> bool {
        self.names().any(|name| distance(name, key) <= 2)
    }

    /// Returns the fields that are objects.
    pub(super) fn sections(&self) -> impl Iterator<Item = (&str, Section<'a>)> {
        self.names().filter_map(|key| Some((key, self.section(key).ok()??)))
    }

    /// Returns the object in a field, if the field exists.
    pub(super) fn section(&self, key: &str) -> Result<Option<Section<'a>>, PricingError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match serde_json::from_str(value) {
            Ok(fields) => Ok(Some(Section { file: self.file, path: self.path_of(key), fields })),
            Err(_) => Err(self.wrong(key, "an object".to_owned(), value)),
        }
    }

    /// Returns the number in a field, if the field exists, in the unit of the price table.
    pub(super) fn number(&self, key: &str, unit: &Unit) -> Result<Option<u64>, PricingError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        if let Some(number) = unit.read(value) {
            return Ok(Some(number));
        }
        let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let must = if is_number { format!("{} {}", unit.must, unit.range) } else { unit.must.to_owned() };
        Err(self.wrong(key, must, value))
    }

    /// Returns the number in a required field.
    pub(super) fn required(&self, key: &str, unit: &Unit) -> Result<u64, PricingError> {
        self.number(key, unit)?.ok_or_else(|| PricingError::Missing {
            file: self.file.to_owned(),
            key: self.path_of(key),
            must: unit.must.to_owned(),
        })
    }

    /// Fails if there is a key that is in neither list.
    pub(super) fn refuse_unknown_keys(&self, known: &[&str], also: &[&str]) -> Result<(), PricingError> {
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

/// Shortens a text and replaces control characters, which a terminal would obey: the file may come from
/// anywhere.
fn printable(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let shown = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let more = if text.chars().nth(MAX_CHARS).is_some() { "…" } else { "" };
    shown.take(MAX_CHARS).chain(more.chars()).collect()
}

/// Returns the Levenshtein distance of two words, ignoring ASCII case.
fn distance(from: &str, to: &str) -> usize {
    strsim::levenshtein(&from.to_ascii_lowercase(), &to.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_number_of_edits() {
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
    fn text_of_a_file_is_shortened_and_without_control_characters() {
        assert_eq!(printable("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(printable(&"x".repeat(99)).chars().count(), 81);
    }
}
