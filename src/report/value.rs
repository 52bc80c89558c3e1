//! Values with units: the cells of a report.

use super::Text;
use crate::measure::{Millis, Time, Usd};

/// One cell, or a tree of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Unknown. Missing is not zero.
    #[default]
    Missing,
    /// Text, possibly from a log: the renderer must escape it.
    Text(Text),
    Count(u64),
    /// A number of bytes.
    Bytes(u64),
    /// A mean or a difference of counts.
    Number(f64),
    /// An amount of money.
    Usd(Usd),
    /// A duration.
    Millis(Millis),
    /// A point in time.
    Time(Time),
    /// A point in time, with its text in the reader's time zone.
    Local(Time, Box<str>),
    /// A ratio; 1 is 100 %.
    Share(f64),
    /// A difference, shown with its sign.
    Change(Box<Value>),
    /// Yes or no.
    Flag(bool),
    /// Start and end of a bar, both between 0 and 1.
    Bar(f64, f64),
    /// A list, in the order shown.
    List(Vec<Value>),
    /// An object: keys and values, in the order shown.
    Map(Members),
}

/// Values by name.
pub type Members = Vec<(String, Value)>;

impl Value {
    /// A text value.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// An object of these entries.
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Sum of two values of the same unit; missing values add nothing.
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

    /// The plain number, whatever its unit.
    #[expect(clippy::cast_precision_loss, reason = "for comparison and rough figures")]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Count(count) | Self::Bytes(count) => Some(*count as f64),
            Self::Number(number) | Self::Share(number) => Some(*number),
            Self::Usd(amount) => Some(amount.nanos() as f64 / 1e9),
            Self::Millis(duration) => Some(duration.as_f64()),
            Self::Change(amount) => amount.number(),
            Self::Missing | Self::Text(_) | Self::Time(_) | Self::Local(..) => None,
            Self::Flag(_) | Self::Bar(..) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// An object of counts.
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
