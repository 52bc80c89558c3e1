//! Values of wrong types, for every field at every depth.

use serde_json::Value;

/// Replacements for a value, as JSON text.
const WRONG: &[&str] = &[
    "null",
    "true",
    "0",
    "7",
    "-1",
    "1.5",
    "-0.0",
    "1e308",
    "1e400",
    "18446744073709551616",
    "-9223372036854775809",
    "99999999999999999999999999999999999999999",
    "\"\"",
    "\"x\"",
    "\"1\"",
    "\"\\u0000\\u001b[31m\\n\"",
    "\"\\ud800\"",
    "\"2026-99-99T99:99:99Z\"",
    "\"9999-12-31T23:59:59.999999999Z\"",
    "[]",
    "[null]",
    "[\"a\",1,{}]",
    "{}",
    "{\"type\":\"user\"}",
    "{\"\":[{}]}",
];

/// Depth of the deepest values: beyond the limits of the fast decoder and of the obvious one.
const DEPTHS: &[usize] = &[70, 200];

/// In long lists, only this many elements are changed.
const ELEMENTS: usize = 2;

/// A placeholder that no log contains.
const HOLE: &str = "@@ a hole @@";

/// Returns a record with one field changed, for every field and every replacement; nothing if it is not a
/// record.
pub(crate) fn mutants(line: &[u8]) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let record: Option<Value> = serde_json::from_slice(line).ok().filter(Value::is_object);
    let mut paths = Vec::new();
    record.iter().for_each(|record| walk(record, &mut Vec::new(), &mut paths));
    paths.into_iter().flat_map(move |path| changed(record.as_ref().unwrap_or(&Value::Null), &path))
}

/// A step to a member or an element.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

fn walk(value: &Value, path: &mut Vec<Step>, paths: &mut Vec<Vec<Step>>) {
    let steps: Vec<(Step, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect()
        }
        Value::Array(elements) => {
            elements.iter().enumerate().take(ELEMENTS).map(|(at, value)| (Step::Index(at), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, value) in steps {
        path.push(step);
        paths.push(path.clone());
        walk(value, path, paths);
        path.pop();
    }
}

fn changed(record: &Value, path: &[Step]) -> Vec<(&'static str, Vec<u8>)> {
    let (mut holed, mut removed) = (record.clone(), record.clone());
    let former = std::mem::replace(at(&mut holed, path), Value::from(HOLE)).to_string();
    let (frame, hole) = (holed.to_string(), Value::from(HOLE).to_string());
    let filled = |text: &str| frame.replacen(&hole, text, 1).into_bytes();
    let mut mutants: Vec<_> = WRONG.iter().map(|wrong| ("wrong type", filled(wrong))).collect();
    for &depth in DEPTHS {
        mutants.push(("deep", filled(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)))));
        mutants.push(("deep", filled(&format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)))));
    }
    if let Some((Step::Key(key), parents)) = path.split_last() {
        if let Value::Object(members) = at(&mut removed, parents) {
            members.remove(key);
        }
        mutants.push(("key removed", removed.to_string().into_bytes()));
        let key = Value::from(key.as_str());
        for (one, other) in [("null", &*former), (&*former, "null"), (&*former, "[\"x\"]"), ("7", &*former)] {
            mutants.push(("key doubled", filled(&format!("{one},{key}:{other}"))));
        }
    }
    mutants
}

/// Returns the value at the end of a path.
fn at<'v>(value: &'v mut Value, path: &[Step]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(index) => &mut value[*index],
    })
}
