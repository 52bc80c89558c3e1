//! JSON: one object with exact numbers and without terminal control characters.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{
    ser::{CompactFormatter, Formatter, PrettyFormatter},
    value::RawValue,
};

use super::{foreign, human::words};
use crate::report::{Data, Head, Report, Table, Value, gates};

/// Incremented when a documented key changes its name or meaning.
pub(super) const SCHEMA_VERSION: u64 = 1;

/// Program and version, written to every report.
pub(super) const GENERATOR: &str = concat!("ccstat ", env!("CARGO_PKG_VERSION"));

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    pretty(&Envelope(report), out)
}

/// Writes indented JSON.
pub(super) fn pretty(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut *out,
        Escaping(PrettyFormatter::new()),
    ))?;
    out.write_all(b"\n")
}

/// Returns JSON on one line.
pub(super) fn compact(value: &impl Serialize) -> io::Result<String> {
    let mut out = Vec::new();
    write_compact(value, &mut out)?;
    String::from_utf8(out).map_err(io::Error::other)
}

/// Writes JSON on one line, without a line end.
pub(super) fn write_compact(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Escaping(CompactFormatter)))?;
    Ok(())
}

/// A report with its envelope: schema version, name, generator, notes and gates.
pub(super) struct Envelope<'a>(pub(super) &'a Report);

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !matches!(self.0.data, Data::Bare(_)) {
            map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
            map.serialize_entry("report", self.0.name)?;
            map.serialize_entry("generator", GENERATOR)?;
        }
        match &self.0.data {
            Data::Tree(entries) | Data::Bare(entries) => {
                for (key, value) in entries {
                    map.serialize_entry(key, &Tree(value))?;
                }
            }
            Data::Rows(table) => {
                let heads = table.for_programs();
                let rows: Vec<Row<'_>> =
                    table.rows.iter().map(|cells| Row { heads: &heads, cells }).collect();
                map.serialize_entry("rows", &rows)?;
                map.serialize_entry("totals", &Totals(table))?;
                let notes: Vec<String> = table.more.iter().chain(&self.0.notes).map(words).collect();
                map.serialize_entry("notes", &notes)?;
            }
        }
        if !self.0.verdicts.is_empty() && !matches!(self.0.data, Data::Bare(_)) {
            map.serialize_entry("gates", &Tree(&gates(&self.0.verdicts, words)))?;
        }
        map.end()
    }
}

/// One row as an object.
pub(super) struct Row<'a> {
    pub(super) heads: &'a [(usize, &'a Head)],
    pub(super) cells: &'a [Value],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.heads.iter().map(|&(at, head)| (head.key, Tree(&self.cells[at]))))
    }
}

/// Totals of the columns that have a sum.
struct Totals<'a>(&'a Table);

impl Serialize for Totals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sums = self.0.for_programs().into_iter().filter(|(_, head)| head.adds);
        let sums = self
            .0
            .total
            .iter()
            .flat_map(|cells| sums.clone().map(move |(at, head)| (head.key, Tree(&cells[at]))));
        serializer.collect_map(sums)
    }
}

/// A value of a report.
pub(super) struct Tree<'a>(pub(super) &'a Value);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Missing => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Count(count) | Value::Bytes(count) => serializer.serialize_u64(*count),
            Value::Usd(amount) => exact(&amount, serializer),
            Value::Millis(duration) => exact(&duration, serializer),
            Value::Time(time) | Value::Local(time, _) => serializer.collect_str(time),
            Value::Number(number) | Value::Share(number) => exact(&short(*number), serializer),
            Value::Change(amount) => Tree(amount).serialize(serializer),
            Value::Bar(from, to) => serializer.collect_seq([from, to]),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::List(values) => serializer.collect_seq(values.iter().map(Tree)),
            Value::Map(entries) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (key, Tree(value))))
            }
        }
    }
}

/// Rounds to six decimals and turns -0 into 0.
pub(super) fn short(number: f64) -> f64 {
    (number * 1e6).round() / 1e6 + 0.0
}

/// Writes a number with all its decimals. As a float, `0.0000001` would be written as `1e-7`.
fn exact<S: Serializer>(number: &dyn std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    match RawValue::from_string(number.to_string()) {
        Ok(raw) => raw.serialize(serializer),
        Err(error) => Err(serde::ser::Error::custom(error)),
    }
}

/// Escapes characters that serde_json does not, but that terminals or build logs interpret.
struct Escaping<F>(F);

/// Hands these methods on to the formatter inside.
macro_rules! forward {
    ($($method:ident($($first:ident: $ty:ty)?),)+) => {
        $(fn $method<W: ?Sized + Write>(&mut self, out: &mut W $(, $first: $ty)?) -> io::Result<()> {
            self.0.$method(out $(, $first)?)
        })+
    };
}

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = 0;
        for (at, letter) in foreign::unsafe_chars(fragment) {
            out.write_all(&fragment.as_bytes()[plain..at])?;
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            plain = at + letter.len_utf8();
        }
        out.write_all(&fragment.as_bytes()[plain..])
    }

    forward! {
        begin_array(),
        end_array(),
        begin_array_value(first: bool),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first: bool),
        begin_object_value(),
        end_object_value(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Usd;

    fn written(value: Value) -> String {
        let report = Report {
            name: "x",
            data: Data::Tree(vec![("k".to_owned(), value)]),
            notes: Vec::new(),
            verdicts: Vec::new(),
            run_outcomes: Vec::new(),
            screen: Vec::new(),
            reader: crate::report::Reader::default(),
        };
        let mut out = Vec::new();
        write(&report, &mut out).expect("written");
        String::from_utf8(out).expect("UTF-8").lines().nth(4).expect("the key").trim().to_owned()
    }

    #[test]
    fn money_has_its_own_decimals_and_missing_is_null() {
        assert_eq!(written(Value::Usd(Usd::from_nanos(100))), r#""k": 0.0000001"#);
        assert_eq!(written(Value::Missing), r#""k": null"#);
    }

    #[test]
    fn a_change_is_a_plain_number_with_its_sign() {
        let change = |value| written(Value::Change(Box::new(value)));
        assert_eq!(change(Value::Number(-3.0)), r#""k": -3"#);
        assert_eq!(change(Value::Number(-0.000_000_1)), r#""k": 0"#);
        assert_eq!(change(Value::Number(2.0 / 3.0)), r#""k": 0.666667"#);
        assert_eq!(change(Value::Usd(Usd::from_nanos(-2_674_000))), r#""k": -0.002674"#);
        assert_eq!(change(Value::Millis(crate::measure::Millis::new(12))), r#""k": 12"#);
    }

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(
            written(Value::text("a\u{1b}b\u{9b}c\u{202e}d\u{e0001}é\"")),
            r#""k": "a\u001bb\u009bc\u202ed\udb40\udc01é\"""#
        );
    }
}
