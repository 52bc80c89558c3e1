//! A configuration file: parses TOML into settings with their line numbers.

use std::{
    borrow::Cow,
    collections::HashMap,
    ffi::OsString,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::setting::{Origin, Setting, SettingValue};
use crate::{
    cli::plan::{MAX_CONFIG, read_text},
    error::Error,
    measure::{Prices, PricingError},
};

/// The table of the command `prices`, which also holds the prices of models.
const PRICES: &str = "prices";

/// The table of budgets, which is the option of the same name, and its table of projects.
const BUDGET: &str = "budget";
const PROJECT: &str = "project";

/// Maximum values of one option: each becomes an argument, which takes far more memory than its text.
const MAX_VALUES: usize = 1000;

/// The text of a configuration file.
pub(super) struct File {
    path: PathBuf,
    text: String,
    /// Offsets of the line ends.
    line_ends: Vec<usize>,
}

/// The settings for one command, or for all if `command` is `None`.
pub(super) struct Table {
    pub(super) command: Option<String>,
    pub(super) settings: Vec<Setting>,
}

impl File {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        Ok(Self::of(path, &read_text(path, MAX_CONFIG)?))
    }

    pub(super) fn of(path: &Path, text: &str) -> Self {
        let line_ends = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
        Self { path: path.to_owned(), text: text.to_owned(), line_ends }
    }

    /// Whether the text is valid TOML. A JSON object never is.
    pub(super) fn is_toml(&self) -> bool {
        self.parsed().is_ok()
    }

    /// The tables, the one for all commands first. Every other table must have the name of a command.
    pub(super) fn tables(&self, command: impl Fn(&str) -> Option<String>) -> Result<Vec<Table>, Error> {
        let root = self.parsed()?;
        let mut all = Table { command: None, settings: Vec::new() };
        let mut tables = Vec::new();
        for (key, value) in root.get_ref() {
            let line = self.line(&key.span());
            match (value.get_ref(), command(key.get_ref())) {
                (DeValue::Table(table), Some(command)) => {
                    tables.push(Table {
                        settings: self.settings(table, command == PRICES)?,
                        command: Some(command),
                    });
                }
                (_, Some(command)) => {
                    return Err(Error::Usage(format!(
                        "{} is the name of a command: write its options below `[{command}]`",
                        self.origin(key.get_ref(), line)
                    )));
                }
                (DeValue::Table(table), None) if key.get_ref() == BUDGET => {
                    all.settings.push(self.budgets(key, table)?);
                }
                (_, None) => all.settings.push(self.setting(key, value)?),
            }
        }
        all.settings = Self::sorted_unique(all.settings)?;
        tables.insert(0, all);
        Ok(tables)
    }

    fn parsed(&self) -> Result<Spanned<DeTable<'_>>, Error> {
        DeTable::parse(&self.text).map_err(|error| {
            let line = error.span().map_or(1, |span| self.line(&span));
            Error::Usage(format!("cannot parse `{}`, line {line}: {}", self.path.display(), error.message()))
        })
    }

    /// The options in the table of a command. If it `has_models`, its subtables are prices of models.
    fn settings(&self, table: &DeTable<'_>, has_models: bool) -> Result<Vec<Setting>, Error> {
        let is_option = |value: &DeValue<'_>| !(has_models && value.is_table());
        let options = table.iter().filter(|(_, value)| is_option(value.get_ref()));
        let settings = options.map(|(key, value)| self.setting(key, value)).collect::<Result<Vec<_>, _>>()?;
        Self::sorted_unique(settings)
    }

    fn setting(&self, key: &Spanned<Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Result<Setting, Error> {
        let origin = self.origin(key.get_ref(), self.line(&key.span()));
        let value = match value.get_ref() {
            DeValue::Boolean(on) => SettingValue::Flag(*on),
            DeValue::Array(values) if values.len() > MAX_VALUES => {
                return Err(Error::Usage(format!("{origin} has more than {MAX_VALUES} values")));
            }
            DeValue::Array(values) => {
                let texts = values.iter().map(|value| self.scalar(value, &origin));
                SettingValue::List(texts.collect::<Result<_, _>>()?)
            }
            // A table with an unknown name: the caller, who knows all names, reports it.
            DeValue::Table(_) => SettingValue::List(Vec::new()),
            _ => SettingValue::List(vec![self.scalar(value, &origin)?]),
        };
        Ok(Setting { option: key.get_ref().replace('_', "-"), value, origin })
    }

    /// The table of budgets, as the values of its option: `day=20`, `project:NAME=5`.
    fn budgets(&self, key: &Spanned<Cow<'_, str>>, table: &DeTable<'_>) -> Result<Setting, Error> {
        let origin = self.origin(key.get_ref(), self.line(&key.span()));
        let mut values = Vec::new();
        let mut add = |prefix: &str, name: &str, value: &Spanned<DeValue<'_>>| -> Result<(), Error> {
            let mut text = OsString::from(format!("{prefix}{name}="));
            text.push(self.scalar(value, &self.origin(name, self.line(&value.span())))?);
            values.push(text);
            Ok(())
        };
        for (name, value) in table {
            match value.get_ref() {
                DeValue::Table(projects) if name.get_ref() == PROJECT => {
                    projects.iter().try_for_each(|(name, value)| add("project:", name.get_ref(), value))?;
                }
                _ => add("", name.get_ref(), value)?,
            }
        }
        Ok(Setting { option: BUDGET.to_owned(), value: SettingValue::List(values), origin })
    }

    /// A text or number as it would be typed on the command line.
    fn scalar(&self, value: &Spanned<DeValue<'_>>, origin: &Origin) -> Result<OsString, Error> {
        let written = || self.text.get(value.span()).unwrap_or_default().replace('_', "");
        Ok(match value.get_ref() {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(_) | DeValue::Float(_) => written().into(),
            DeValue::Datetime(time) => time.to_string().into(),
            DeValue::Boolean(on) => on.to_string().into(),
            DeValue::Array(_) | DeValue::Table(_) => {
                return Err(Error::Usage(format!(
                    "{origin} must be a text, a number, true or false, or a list of them"
                )));
            }
        })
    }

    /// Sorts settings by line. Fails if an option is set twice, once with `-` and once with `_`.
    fn sorted_unique(mut settings: Vec<Setting>) -> Result<Vec<Setting>, Error> {
        settings.sort_by_key(|setting| match setting.origin {
            Origin::Key(_, _, line) => line,
            Origin::Variable(_) => 0,
        });
        let mut seen = HashMap::new();
        for setting in &settings {
            if let Some(before) = seen.insert(&*setting.option, setting) {
                return Err(Error::Usage(format!("{} is set again by {}", before.origin, setting.origin)));
            }
        }
        Ok(settings)
    }

    /// The prices of models in this file, in the format of a price file.
    pub(super) fn prices(&self) -> Result<Option<String>, Error> {
        let root = self.parsed()?;
        let Some(DeValue::Table(table)) = root.get_ref().get(PRICES).map(Spanned::get_ref) else {
            return Ok(None);
        };
        let rows = || table.iter().filter(|(_, row)| row.get_ref().is_table());
        let models: serde_json::Map<_, _> =
            rows().map(|(model, row)| (model.get_ref().to_string(), self.json(row))).collect();
        if models.is_empty() {
            return Ok(None);
        }
        let all = serde_json::json!({ "models": models }).to_string();
        let Err(error) = Prices::built_in().with_file(&self.path.to_string_lossy(), &all) else {
            return Ok(Some(all));
        };
        // Check the model alone, so that the error names its line.
        for (model, row) in rows().filter(|(model, _)| names(&error, model.get_ref())) {
            let alone = serde_json::json!({ "models": { model.get_ref().as_ref(): self.json(row) } });
            let place = format!("{}, line {}", self.path.display(), self.line(&model.span()));
            let checked = Prices::built_in().with_file(&place, &alone.to_string());
            checked.map_err(|error| Error::Pricing(renamed(error)))?;
        }
        Err(Error::Pricing(renamed(error)))
    }

    fn json(&self, value: &Spanned<DeValue<'_>>) -> serde_json::Value {
        match value.get_ref() {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Boolean(on) => (*on).into(),
            DeValue::Datetime(time) => time.to_string().into(),
            DeValue::Array(values) => values.iter().map(|value| self.json(value)).collect(),
            DeValue::Table(table) => serde_json::Value::Object(
                table.iter().map(|(key, value)| (key.get_ref().to_string(), self.json(value))).collect(),
            ),
            DeValue::Integer(_) | DeValue::Float(_) => {
                let written = self.text.get(value.span()).unwrap_or_default().replace('_', "");
                serde_json::from_str(written.trim_start_matches('+')).unwrap_or_else(|_| written.into())
            }
        }
    }

    fn origin(&self, key: &str, line: usize) -> Origin {
        Origin::Key(key.to_owned(), self.path.clone(), line)
    }

    /// The line number of a span, from 1.
    fn line(&self, span: &Range<usize>) -> usize {
        self.line_ends.partition_point(|end| *end < span.start) + 1
    }
}

/// Whether an error may be about this model.
fn names(error: &PricingError, model: &str) -> bool {
    match error {
        PricingError::UnknownKey { key, .. }
        | PricingError::Missing { key, .. }
        | PricingError::Value { key, .. } => {
            key.strip_prefix("models.").is_some_and(|key| key.starts_with(model))
        }
        PricingError::Json { .. } | PricingError::NoPrices { .. } => false,
    }
}

/// Replaces the keys of a price file by those of a configuration file.
fn renamed(error: PricingError) -> PricingError {
    let mut error = error;
    match &mut error {
        PricingError::UnknownKey { key, .. }
        | PricingError::Missing { key, .. }
        | PricingError::Value { key, .. } => {
            *key = key.replacen("models.", "prices.", 1);
        }
        PricingError::Json { .. } | PricingError::NoPrices { .. } => {}
    }
    error
}

/// Asserts what holds for any text: invalid TOML is an error for settings and prices, errors have a message,
/// and every setting has an existing line.
#[cfg(any(test, fuzzing))]
pub(super) fn check(text: &str) {
    let file = File::of(Path::new("ccstat.toml"), text);
    let tables = file.tables(|key| ["summarize", "prices", "check"].contains(&key).then(|| key.to_owned()));
    let prices = file.prices();
    if !file.is_toml() {
        assert!(tables.is_err() && prices.is_err(), "{text:?}");
    }
    let lines = text.split('\n').count();
    for setting in tables.iter().flatten().flat_map(|table| &table.settings) {
        assert!(matches!(setting.origin, Origin::Key(_, _, line) if (1..=lines).contains(&line)), "{text:?}");
    }
    for message in [tables.err().map(|error| error.to_string()), prices.err().map(|error| error.to_string())]
    {
        assert_ne!(message.as_deref(), Some(""), "{text:?}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces of valid and invalid files.
    const WORDS: &[&str] = &[
        "format",
        "max-cost",
        "max_cost",
        "summarize",
        "prices",
        "claude-x",
        "input",
        "output",
        "[",
        "]",
        "[[",
        "=",
        " = ",
        "\n",
        "\"",
        "'",
        "\"\"\"",
        "{",
        "}",
        ",",
        ".",
        "#",
        "1",
        "-1",
        "1e400",
        "0x_f",
        "1_000",
        "inf",
        "nan",
        "true",
        "false",
        "2026-11-16",
        "07:32:00Z",
        "\\u0000",
        "\\U0010ffff",
        "é",
        "\r",
        "\t",
        "\u{feff}",
        "\0",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_the_parser_of_configuration_files_panic(
            words in prop::collection::vec(prop::sample::select(WORDS), 0..30),
            text in any::<String>(),
        ) {
            check(&words.concat());
            check(&text);
        }
    }
}
