//! The `columns!` macro, which declares one column per line, and `Cell`, which converts fields of rows to
//! values.

use super::{Column, Shown, Text, Unit, Value};
use crate::{
    facts::Name,
    measure::{Millis, Time, Usd},
};

/// Declares the columns of a row type, in the order of the data:
///
/// ```text
/// columns! { |row: Row|
///     count runs "Runs" "How often it ran." => row.runs;
///     text  hook "Hook" [data] "Name of the hook." => &row.hook;
///     ..place_columns();
/// }
/// ```
///
/// A line has the unit, the key in data, the heading on screen, flags in brackets, a description, and the value of
/// the cell. Flags are methods of `Column`: `data`, `wide` and `screen` say who sees it; `nullable`, `required`,
/// `no_sum` and `optional` say what to expect; `content` marks text of the log. `..` includes other columns.
macro_rules! columns {
    (@into $columns:ident $row:ident $ty:ty;) => {};
    (@into $columns:ident $row:ident $ty:ty; ..$more:expr; $($rest:tt)*) => {
        $columns.extend($more);
        $crate::report::column::columns!(@into $columns $row $ty; $($rest)*);
    };
    (@into $columns:ident $row:ident $ty:ty;
        $unit:ident $key:ident $head:literal $([$($flag:ident),*])? $doc:literal => $value:expr; $($rest:tt)*) => {
        $columns.extend([$crate::report::Column::new(
            $crate::report::column::columns!(@unit $unit), stringify!($key), $head, $doc,
            |$row: &$ty| $crate::report::column::Cell::cell($value, $crate::report::column::columns!(@unit $unit)),
        )$($(.$flag())*)?]);
        $crate::report::column::columns!(@into $columns $row $ty; $($rest)*);
    };
    (@unit text) => { $crate::report::Unit::Text };
    (@unit count) => { $crate::report::Unit::Count };
    (@unit bytes) => { $crate::report::Unit::Bytes };
    (@unit number) => { $crate::report::Unit::Number };
    (@unit usd) => { $crate::report::Unit::Usd };
    (@unit millis) => { $crate::report::Unit::Millis };
    (@unit time) => { $crate::report::Unit::Time };
    (@unit share) => { $crate::report::Unit::Share };
    (@unit flag) => { $crate::report::Unit::Flag };
    (@unit list) => { $crate::report::Unit::List };
    (@unit bar) => { $crate::report::Unit::Bar };
    (|$row:ident: $ty:ty| $($rest:tt)*) => {{
        let mut columns: Vec<$crate::report::Column<$ty>> = Vec::new();
        $crate::report::column::columns!(@into columns $row $ty; $($rest)*);
        columns
    }};
}
pub(crate) use columns;

/// Conversion of a row's field to a cell of a column with the given unit.
pub(crate) trait Cell {
    fn cell(self, unit: Unit) -> Value;
}

impl Cell for Value {
    fn cell(self, _: Unit) -> Value {
        self
    }
}

impl Cell for &Value {
    fn cell(self, _: Unit) -> Value {
        self.clone()
    }
}

impl Cell for u64 {
    fn cell(self, unit: Unit) -> Value {
        if unit == Unit::Bytes { Value::Bytes(self) } else { Value::Count(self) }
    }
}

impl Cell for f64 {
    fn cell(self, unit: Unit) -> Value {
        if unit == Unit::Share { Value::Share(self) } else { Value::Number(self) }
    }
}

impl Cell for bool {
    fn cell(self, _: Unit) -> Value {
        Value::Flag(self)
    }
}

impl<T: Cell> Cell for Option<T> {
    fn cell(self, unit: Unit) -> Value {
        self.map_or(Value::Missing, |value| value.cell(unit))
    }
}

impl<'a, T> Cell for &'a Option<T>
where
    &'a T: Cell,
{
    fn cell(self, unit: Unit) -> Value {
        self.as_ref().cell(unit)
    }
}

impl Cell for &Name {
    fn cell(self, _: Unit) -> Value {
        Value::text(self)
    }
}

impl Cell for Text {
    fn cell(self, _: Unit) -> Value {
        Value::Text(self)
    }
}

impl Cell for &String {
    fn cell(self, _: Unit) -> Value {
        Value::text(self.as_str())
    }
}

/// Types whose value does not depend on the unit of the column.
macro_rules! cells {
    ($($ty:ty),*) => {
        $(impl Cell for $ty {
            fn cell(self, _: Unit) -> Value {
                self.into()
            }
        })*
    };
}
cells!(Usd, Millis, Time, &str, String);

/// Changes who sees the columns with these keys.
pub(super) fn shown_as<R>(shown: Shown, keys: &[&str], mut columns: Vec<Column<R>>) -> Vec<Column<R>> {
    for column in columns.iter_mut().filter(|column| keys.contains(&column.head.key)) {
        column.head.shown = shown;
    }
    columns
}
