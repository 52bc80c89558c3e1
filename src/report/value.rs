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
            (Self::Usd(one), Self::Usd(two)) => Self::Usd(one + *two),
            (Self::Millis(one), Self::Millis(two)) => Self::Millis(one + *two),
            (Self::Number(one), Self::Number(two)) => Self::Number(one + two),
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

    /// The number as a length to draw: never negative, and zero if it is missing.
    pub fn size(&self) -> f64 {
        self.number().filter(|number| number.is_finite()).unwrap_or(0.0).max(0.0)
    }

    /// A value of the same unit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
    pub fn like(&self, number: f64) -> Self {
        match self {
            Self::Usd(_) => Self::Usd(Usd::from_dollars(number)),
            Self::Millis(_) => Self::Millis(Millis::from_f64(number)),
            Self::Bytes(_) => Self::Bytes(number.round() as u64),
            Self::Count(_) => Self::Count(number.round() as u64),
            Self::Share(_) => Self::Share(number),
            _ => Self::Number(number),
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

macro_rules! values {
    ($($type:ty => $variant:expr;)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                $variant(value)
            }
        })*
    };
}

values! {
    Members => Self::Map;
    bool => Self::Flag;
    Usd => Self::Usd;
    Millis => Self::Millis;
    Time => Self::Time;
    u64 => Self::Count;
    &str => Self::text;
    String => Self::text;
}
