//! Units of values.

use super::Value;
use crate::measure::{Millis, Usd};

/// Unit of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Text,
    Count,
    Bytes,
    /// Numbers, possibly negative, where each row may have its own unit.
    Number,
    /// Amounts of money.
    Usd,
    /// Durations.
    Millis,
    /// Points in time.
    Time,
    /// Ratios.
    Share,
    /// Booleans.
    Flag,
    /// Lists of texts.
    List,
    /// Bars on a timeline.
    Bar,
}

impl Unit {
    /// Whether the largest or latest value comes first when sorting without an explicit order.
    pub fn descends(self) -> bool {
        match self {
            Self::Count | Self::Bytes | Self::Number | Self::Usd | Self::Millis | Self::Share => true,
            Self::Time | Self::Flag => true,
            Self::Text | Self::List | Self::Bar => false,
        }
    }

    /// Whether values may be missing, unless the column says otherwise.
    pub(super) const fn can_be_missing(self) -> bool {
        match self {
            Self::Text | Self::Number | Self::Usd | Self::Millis | Self::Time | Self::Share => true,
            Self::Count | Self::Bytes | Self::Flag | Self::List | Self::Bar => false,
        }
    }

    /// Sum of zero rows.
    pub(super) fn zero(self) -> Value {
        match self {
            Self::Count => Value::Count(0),
            Self::Bytes => Value::Bytes(0),
            Self::Usd => Value::Usd(Usd::ZERO),
            Self::Millis => Value::Millis(Millis::ZERO),
            Self::Text | Self::Number | Self::Time | Self::Share | Self::Flag | Self::List | Self::Bar => {
                Value::Missing
            }
        }
    }

    /// Whether cells are right-aligned.
    pub fn is_numeric(self) -> bool {
        match self {
            Self::Count | Self::Bytes | Self::Number | Self::Usd | Self::Millis | Self::Share => true,
            Self::Text | Self::Time | Self::Flag | Self::List | Self::Bar => false,
        }
    }
}
