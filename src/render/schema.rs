//! JSON Schema (draft 2020-12) of reports, generated from their columns and keys.

use std::io::{self, Write};

use super::json::{SCHEMA_VERSION, Tree, pretty};
use crate::report::{GATES, Head, Key, Keys, ReportSpec, Shape, Unit, Value};

/// Writes the JSON Schema of a report.
pub fn schema(spec: &ReportSpec, out: &mut dyn Write) -> io::Result<()> {
    let mut properties = vec![
        ("schema_version", object([("const", Value::Count(SCHEMA_VERSION))])),
        ("report", object([("const", spec.name.into())])),
        ("generator", described(of_unit(Unit::Text), "Program that wrote it: `ccstat` and its version.")),
    ];
    match spec.shape {
        Shape::Tree(keys) => {
            properties.extend(keys.iter().map(|&(key, doc, what)| (key, described(of_key(what), doc))))
        }
        Shape::Rows(heads) => {
            let heads = heads();
            properties.push(("rows", rows(&heads)));
            properties.push(("totals", totals(&heads)));
            let notes = list(of_unit(Unit::Text));
            properties.push(("notes", described(notes, "Remarks about the figures.")));
        }
    }
    let mut whole = vec![
        ("$schema", "https://json-schema.org/draft/2020-12/schema".into()),
        ("title", Value::text(format!("ccstat {}", spec.name))),
        ("description", spec.doc.into()),
    ];
    let mut members = members(properties);
    if spec.is_gated {
        optional(&mut members, "gates", described(of_key(GATES), "Results of the requested gates."));
    }
    whole.extend(members);
    pretty(&Tree(&Value::map(whole)), out)
}

type Members = Vec<(&'static str, Value)>;

fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Members {
    members.into_iter().collect()
}

/// An object with these keys, all required. Other keys are allowed, since new ones may be added.
fn members(properties: Vec<(&'static str, Members)>) -> Members {
    let required = Value::List(properties.iter().map(|(key, _)| (*key).into()).collect());
    let properties = Value::map(properties.into_iter().map(|(key, schema)| (key, Value::map(schema))));
    object([("type", "object".into()), ("properties", properties), ("required", required)])
}

/// Adds an optional key.
fn optional(members: &mut Members, key: &str, schema: Members) {
    let properties = members.iter_mut().find(|(name, _)| *name == "properties");
    if let Some((_, Value::Map(all))) = properties {
        all.push((key.to_owned(), Value::map(schema)));
    }
}

fn rows(heads: &[Head]) -> Members {
    let column = |head: &Head| (head.key, described(typed(of_head(head), head.unit), head.doc));
    let mut row = members(heads.iter().filter(|head| is_data(head)).map(column).collect());
    let always = heads.iter().filter(|head| is_data(head) && !head.optional).map(|head| head.key.into());
    row.retain(|(key, _)| *key != "required");
    row.push(("required", Value::List(always.collect())));
    described(list(row), "The rows; with `--columns`, only the selected keys.")
}

/// Adds the type of the column in Parquet.
#[cfg(feature = "parquet")]
fn typed(mut schema: Members, unit: Unit) -> Members {
    schema.push(("parquet", super::parquet::type_name(unit).into()));
    schema
}

#[cfg(not(feature = "parquet"))]
fn typed(schema: Members, _: Unit) -> Members {
    schema
}

/// Whether the column is in data by default.
fn is_data(head: &Head) -> bool {
    head.shown.is_for_programs()
}

/// Totals. No key is required, since some reports have none.
fn totals(heads: &[Head]) -> Members {
    let sums = heads.iter().filter(|head| head.adds && is_data(head));
    let sums = sums.map(|head| (head.key, Value::map(maybe(of_unit(head.unit)))));
    let totals = object([("type", "object".into()), ("properties", Value::map(sums))]);
    described(totals, "Totals of all rows, including those that `--limit` left out.")
}

fn of_head(head: &Head) -> Members {
    let schema = of_unit(head.unit);
    if head.missing { maybe(schema) } else { schema }
}

fn of_key(key: Key) -> Members {
    let all = |keys: Keys| keys.iter().map(|&(key, doc, what)| (key, described(of_key(what), doc))).collect();
    match key {
        Key::One(unit) => of_unit(unit),
        Key::Maybe(key) => maybe(of_key(*key)),
        Key::List(key) => list(of_key(*key)),
        Key::Object(keys) => members(all(keys)),
        Key::ByName(key) => {
            object([("type", "object".into()), ("additionalProperties", Value::map(of_key(*key)))])
        }
    }
}

/// Schema of a value of this unit.
fn of_unit(unit: Unit) -> Members {
    let number = |name: &str| object([("type", name.into()), ("minimum", Value::Count(0))]);
    match unit {
        Unit::Text => object([("type", "string".into())]),
        Unit::Count | Unit::Bytes => number("integer"),
        Unit::Usd | Unit::Share | Unit::Number => object([("type", "number".into())]),
        Unit::Millis => number("number"),
        Unit::Time => object([("type", "string".into()), ("format", "date-time".into())]),
        Unit::Flag => object([("type", "boolean".into())]),
        Unit::List => list(of_unit(Unit::Text)),
        Unit::Bar => list(object([("type", "number".into())])),
    }
}

fn list(items: Members) -> Members {
    object([("type", "array".into()), ("items", Value::map(items))])
}

fn described(mut schema: Members, doc: &str) -> Members {
    schema.insert(0, ("description", doc.into()));
    schema
}

/// Allows null.
fn maybe(mut schema: Members) -> Members {
    for (_, value) in schema.iter_mut().filter(|(key, _)| *key == "type") {
        *value = Value::List(vec![value.clone(), "null".into()]);
    }
    schema
}
