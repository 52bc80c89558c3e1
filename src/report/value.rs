//! Values with units: what the cells of a report are.

use super::Text;
use crate::measure::{Millis, Time, Usd};

/// One cell, or a tree of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Not known. Missing is not zero.
    #[default]
    Missing,
    /// Words, perhaps out of a log: whoever writes them makes them harmless.
    Text(Text),
    /// How many.
    Count(u64),
    /// How many bytes.
    Bytes(u64),
    /// How many on average, or how many more or less.
    Number(f64),
    /// How much money.
    Usd(Usd),
    /// How long.
    Millis(Millis),
    /// When.
    Time(Time),
    /// When, and how that reads where the reader lives.
    Local(Time, Box<str>),
    /// A part of a whole, 1 for all of it.
    Share(f64),
    /// By how much more or less, which people read with its sign.
    Change(Box<Value>),
    /// Yes or no.
    Flag(bool),
    /// From when to when within a whole, both between 0 and 1.
    Bar(f64, f64),
    /// Several, in a stated order.
    List(Vec<Value>),
    /// By name, in the order they are shown.
    Map(Members),
}

/// Values by name.
pub type Members = Vec<(String, Value)>;

impl Value {
    /// Words.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// By name.
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// The sum of two; what is missing adds nothing.
    pub(super) fn plus(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Missing, other) => other.clone(),
            (Self::Count(one), Self::Count(two)) => Self::Count(one.saturating_add(*two)),
            (Self::Bytes(one), Self::Bytes(two)) => Self::Bytes(one.saturating_add(*two)),
            (Self::Usd(mut one), Self::Usd(two)) => {
                one += *two;
                Self::Usd(one)
            }
            (Self::Millis(mut one), Self::Millis(two)) => {
                one += *two;
                Self::Millis(one)
            }
            (one, _) => one,
        }
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

impl From<Members> for Value {
    fn from(members: Members) -> Self {
        Self::Map(members)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
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
        Self::text(text)
    }
}
