//! Prometheus text format: every number is a gauge in base units, every text a label.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
    rc::Rc,
};

use super::human;
use crate::{
    measure::{Millis, Time, Usd},
    report::{Data, Head, Key, Keys, Report, ReportSpec, Shape, Table, Unit, Value},
};

/// Numbers and times that identify a row, and therefore are labels.
const IDENTITIES: &[&str] = &["line", "offset", "window"];

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut families = Families::default();
    let path = format!("ccstat_{}", report.name.replace('-', "_"));
    match (&report.data, ReportSpec::named(report.name).map(|spec| spec.shape)) {
        (Data::Rows(table), _) => families.rows(table, &path),
        (Data::Tree(members), Some(Shape::Tree(keys))) => families.object(keys, members, &Node::root(path)),
        // Keys without a schema have no unit and no help text.
        (Data::Tree(_), _) => {}
        (Data::Bare(_), _) => return Err(io::Error::other("the format of another program has no metrics")),
    }
    families.gates(report);
    families.write(out)
}

/// Position in an object: prefix of the metric name, help text and labels.
struct Node {
    path: String,
    doc: &'static str,
    labels: Labels,
}

impl Node {
    fn root(path: String) -> Self {
        Self { path, doc: "", labels: Labels::default() }
    }

    /// The node of a key. Drops `_ms` inside a name, since another unit follows at its end.
    fn below(&self, key: &str, doc: &'static str) -> Self {
        let path = self.path.strip_suffix("_ms").unwrap_or(&self.path);
        Self { path: format!("{path}_{key}"), doc, labels: self.labels.clone() }
    }

    fn labelled(&self, name: &str, value: &str) -> Self {
        let mut labels = self.labels.clone();
        labels.push(name, value);
        Self { path: self.path.clone(), doc: self.doc, labels }
    }
}

/// Labels of one series, as written between the braces. All metrics of a row share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Labels(Rc<String>);

impl Labels {
    fn push(&mut self, name: &str, value: &str) {
        let text = Rc::make_mut(&mut self.0);
        if !text.is_empty() {
            text.push(',');
        }
        // `human::text` has already escaped newlines, the third character to escape.
        let value = human::text(value).replace('\\', r"\\").replace('"', "\\\"");
        text.push_str(&format!("{name}=\"{value}\""));
    }

    /// Adds a label from a value. Missing values get no label, which is equivalent to an empty one.
    fn push_value(&mut self, name: &str, value: &Value) {
        let text = match value {
            Value::Missing | Value::Bar(..) | Value::List(_) | Value::Map(_) => return,
            Value::Text(text) => text.to_string(),
            Value::Time(time) | Value::Local(time, _) => time.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Count(count) | Value::Bytes(count) => count.to_string(),
            Value::Usd(amount) => amount.to_string(),
            Value::Millis(duration) => duration.to_string(),
            Value::Number(number) | Value::Share(number) => number.to_string(),
            Value::Change(amount) => return self.push_value(name, amount),
        };
        if !text.is_empty() {
            self.push(name, &text);
        }
    }

    /// Makes repeated labels unique: the second gets `nth="2"`.
    fn distinct(mut self, before: &mut HashMap<Self, u64>) -> Self {
        let count = before.entry(self.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let nth = count.to_string();
            self.push("nth", &nth);
        }
        self
    }
}

/// A metric with all its series.
struct Family {
    name: String,
    help: String,
    samples: Vec<(Labels, String)>,
    labels: HashSet<Labels>,
}

/// All metrics, in order of first use.
#[derive(Default)]
struct Families {
    all: Vec<Family>,
    places: HashMap<String, usize>,
}

impl Families {
    fn sample(&mut self, name: String, help: &str, labels: &Labels, value: &Value) {
        let Some(number) = number(value) else { return };
        let at = *self.places.entry(name.clone()).or_insert(self.all.len());
        if at == self.all.len() {
            self.all.push(Family {
                name,
                help: help.to_owned(),
                samples: Vec::new(),
                labels: HashSet::new(),
            });
        }
        let Family { samples, labels: known, .. } = &mut self.all[at];
        // Two names from a log can be equal once they are escaped.
        let mut labels = labels.clone();
        let mut nth = 1u64;
        let plain = labels.clone();
        while !known.insert(labels.clone()) {
            nth += 1;
            labels = plain.clone();
            labels.push("nth", &nth.to_string());
        }
        samples.push((labels, number));
    }

    /// Adds the rows of a table. Leaves out totals, which queries can compute, and lists, since a longer list
    /// would be another series.
    fn rows(&mut self, table: &Table, path: &str) {
        let heads = table.for_programs();
        let is_label = |head: &Head| head.unit == Unit::Text || IDENTITIES.contains(&head.key);
        let mut before = HashMap::new();
        let labels = |row: &Vec<Value>| {
            let mut labels = Labels::default();
            for &(at, head) in heads.iter().filter(|(_, head)| is_label(head)) {
                labels.push_value(head.key, &row[at]);
            }
            labels.distinct(&mut before)
        };
        let labels: Vec<Labels> = table.rows.iter().map(labels).collect();
        let count = Value::Count(table.rows.len() as u64);
        self.sample(format!("{path}_rows"), "Rows of the report.", &Labels::default(), &count);
        for &(at, head) in heads.iter().filter(|(_, head)| !is_label(head)) {
            let name = name(&format!("{path}_{}", head.key), head.unit);
            for (row, labels) in table.rows.iter().zip(&labels) {
                // If each row has its own unit, a label names it, and the number is the same as in JSON.
                let value = if head.unit == Unit::Number { plain(&row[at]) } else { row[at].clone() };
                self.sample(name.clone(), head.doc, labels, &value);
            }
        }
    }

    /// Adds an object. Its texts are labels of its numbers.
    fn object(&mut self, keys: Keys, members: &[(String, Value)], node: &Node) {
        let found = |key: &str| members.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        let is_label = |key: &str, what: Key| unit(what) == Some(Unit::Text) || IDENTITIES.contains(&key);
        let mut node = Node { path: node.path.clone(), doc: node.doc, labels: node.labels.clone() };
        for &(key, _, what) in keys.iter().filter(|(key, _, what)| is_label(key, *what)) {
            let value = found(key).filter(|_| unit(what).is_some());
            node.labels.push_value(key, value.unwrap_or(&Value::Missing));
        }
        for &(key, doc, what) in keys.iter().filter(|(key, _, what)| !is_label(key, *what)) {
            if let Some(value) = found(key) {
                self.value(what, value, &node.below(key, doc), node.doc);
            }
        }
    }

    fn value(&mut self, key: Key, value: &Value, node: &Node, above: &'static str) {
        match (key, value) {
            (Key::Maybe(key), value) => self.value(*key, value, node, above),
            (Key::One(unit), value) => {
                self.sample(name(&node.path, unit), &help(above, node.doc), &node.labels, value);
            }
            (Key::Object(keys), Value::Map(members)) => self.object(keys, members, node),
            (Key::ByName(key), Value::Map(members)) => {
                for (name, value) in members {
                    self.value(*key, value, &node.labelled(singular(&node.path), name), above);
                }
            }
            (Key::List(Key::One(_)), Value::List(values)) => {
                for value in values {
                    let mut labels = node.labels.clone();
                    labels.push_value(singular(&node.path), value);
                    self.sample(node.path.clone(), &help(above, node.doc), &labels, &Value::Count(1));
                }
            }
            (Key::List(key), Value::List(values)) => {
                values.iter().for_each(|value| self.value(*key, value, node, above));
            }
            // Missing. A test ensures that values match the schema.
            (Key::Object(_) | Key::ByName(_) | Key::List(_), _) => {}
        }
    }

    fn gates(&mut self, report: &Report) {
        for verdict in &report.verdicts {
            let mut labels = Labels::default();
            labels.push("gate", verdict.gate);
            labels.push_value("run", &verdict.run.clone().into());
            let held = Value::Flag(verdict.held);
            self.sample("ccstat_gate_held".to_owned(), "Whether the gate held.", &labels, &held);
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for Family { name, help, samples, .. } in &self.all {
            let help = help.replace('\\', r"\\").replace('\n', r"\n");
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge")?;
            for (Labels(labels), number) in samples {
                match labels.as_str() {
                    "" => writeln!(out, "{name} {number}")?,
                    labels => writeln!(out, "{name}{{{labels}}} {number}")?,
                }
            }
        }
        Ok(())
    }
}

/// Unit of a single value.
fn unit(key: Key) -> Option<Unit> {
    match key {
        Key::One(unit) => Some(unit),
        Key::Maybe(key) => unit(*key),
        Key::List(_) | Key::Object(_) | Key::ByName(_) => None,
    }
}

/// Label of a key: `name` for `tools_by_name`, `model` for `models`.
fn singular(path: &str) -> &str {
    let last = path.rsplit('_').next().unwrap_or(path);
    last.strip_suffix('s').unwrap_or(last)
}

/// Metric name with its base unit, without suffixes reserved for counters and histograms.
fn name(path: &str, unit: Unit) -> String {
    let without = |suffix: &str| path.strip_suffix(suffix).unwrap_or(path).to_owned();
    match unit {
        Unit::Millis => without("_ms") + "_seconds",
        Unit::Usd => without("_usd") + "_usd",
        Unit::Bytes => without("_bytes") + "_bytes",
        Unit::Share => without("_rate") + "_ratio",
        Unit::Time => without("_time") + "_timestamp_seconds",
        // The total beside a mean; both are gauges.
        Unit::Number if path.ends_with("_total") => without("_total") + "_all",
        Unit::Count | Unit::Number | Unit::Flag | Unit::Text | Unit::List | Unit::Bar => {
            match path.strip_suffix("_count") {
                Some(counted) => counted.to_owned() + "_number",
                None => without("_total"),
            }
        }
    }
}

/// Help text. Includes the description of the parent, since `All.` alone is meaningless.
fn help(above: &str, doc: &str) -> String {
    let Some(above) = above.strip_suffix('.') else { return doc.to_owned() };
    let mut letters = doc.chars();
    let is_word = doc.chars().nth(1).is_some_and(char::is_lowercase);
    match letters.next().filter(|_| is_word) {
        Some(first) => format!("{above}: {}{}", first.to_lowercase(), letters.as_str()),
        None => format!("{above}: {doc}"),
    }
}

/// The number as in JSON, without its unit.
fn plain(value: &Value) -> Value {
    match value {
        Value::Millis(duration) => Value::Number(duration.as_f64()),
        Value::Change(amount) => plain(amount),
        other => other.clone(),
    }
}

/// The number in base units; `None` for values that are missing or not numbers.
fn number(value: &Value) -> Option<String> {
    let seconds = |micros: i64| Usd::from_nanos(i128::from(micros) * 1000).to_string();
    Some(match value {
        Value::Count(count) | Value::Bytes(count) => count.to_string(),
        Value::Usd(amount) => amount.to_string(),
        Value::Millis(duration) => seconds(Millis::micros(*duration)),
        Value::Time(time) | Value::Local(time, _) => seconds(Time::micros(*time)),
        Value::Number(number) | Value::Share(number) => ((number * 1e6).round() / 1e6 + 0.0).to_string(), // never -0
        Value::Change(amount) => return number(amount),
        Value::Flag(flag) => u8::from(*flag).to_string(),
        Value::Missing | Value::Text(_) | Value::Bar(..) | Value::List(_) | Value::Map(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::held, *};
    use crate::report::{Column, Verdict};

    fn written(report: &Report) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_end_with_their_base_unit() {
        assert_eq!(name("x_wall_ms", Unit::Millis), "x_wall_seconds");
        assert_eq!(name("x_input", Unit::Usd), "x_input_usd");
        assert_eq!(name("x_error_rate", Unit::Share), "x_error_ratio");
        assert_eq!(name("x_turns_total", Unit::Count), "x_turns");
        assert_eq!(name("x_count", Unit::Count), "x_number");
        assert_eq!(name("x_first", Unit::Time), "x_first_timestamp_seconds");
        assert_eq!(number(&Value::Millis(Millis::from_f64(68.123))).as_deref(), Some("0.068123"));
        assert_eq!(number(&Time::parse("1970-01-01T00:00:01.500Z").into()).as_deref(), Some("1.5"));
    }

    #[test]
    fn equal_rows_stay_distinct_and_missing_values_have_no_sample() {
        type Row = (&'static str, Option<u64>);
        let columns: &[Column<Row>] = &[
            Column::new(Unit::Text, "tool", "Tool", "Name.", |row| row.0.into()),
            Column::new(Unit::Count, "calls", "Calls", "Times.", |row| row.1.into()),
            Column::new(Unit::Flag, "known", "Known", "Known.", |_| Value::Flag(true)),
        ];
        let rows: &[Row] =
            &[("a", Some(1)), ("a", None), ("a", Some(3)), ("a\n\"\\", Some(4)), ("", Some(5))];
        let report = Report::of("x", Table::of("X", columns, rows), Vec::new());
        assert_eq!(
            written(&report),
            r#"# HELP ccstat_x_rows Rows of the report.
# TYPE ccstat_x_rows gauge
ccstat_x_rows 5
# HELP ccstat_x_calls Times.
# TYPE ccstat_x_calls gauge
ccstat_x_calls{tool="a"} 1
ccstat_x_calls{tool="a",nth="3"} 3
ccstat_x_calls{tool="a\\u{a}\"\\"} 4
ccstat_x_calls 5
# HELP ccstat_x_known Known.
# TYPE ccstat_x_known gauge
ccstat_x_known{tool="a"} 1
ccstat_x_known{tool="a",nth="2"} 1
ccstat_x_known{tool="a",nth="3"} 1
ccstat_x_known{tool="a\\u{a}\"\\"} 1
ccstat_x_known 1
"#
        );
    }

    #[test]
    fn gates_are_zero_or_one_for_each_run() {
        let columns: &[Column<()>] = &[];
        let mut report = Report::of("check", Table::of("Gates", columns, [(); 0]), Vec::new());
        report.verdicts = vec![Verdict { held: false, ..held("max-cost", Some("r1")) }];
        report.verdicts.push(held("denial", None));
        let text = written(&report);
        assert!(text.contains("ccstat_gate_held{gate=\"max-cost\",run=\"r1\"} 0\n"), "{text}");
        assert!(text.contains("ccstat_gate_held{gate=\"denial\"} 1\n"), "{text}");
    }
}
