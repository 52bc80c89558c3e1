//! `trace`: spans, metrics and events against the CLI's own telemetry of the same runs, and the rules of the
//! formats.
//!
//! `telemetry/telemetry.jsonl` has what ten runs of 2.1.326 sent to a collector, reduced to what is compared here;
//! `telemetry/transcript` has the sessions that the same runs saved.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::support::{ccstat, log, run, run_with, testdata};

const SAVED: &str = "telemetry/transcript";

/// Spans that must be the same in both.
const COMPARED: [&str; 3] = ["claude_code.interaction", "claude_code.llm_request", "claude_code.tool"];

/// A span, from either side.
#[derive(Clone, Debug)]
struct Span {
    session: String,
    name: String,
    trace: String,
    id: String,
    parent: Option<String>,
    start: i64,
    end: i64,
    attributes: BTreeMap<String, Value>,
    /// Code and message.
    status: (u64, Option<String>),
}

impl Span {
    fn text(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).and_then(Value::as_str)
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.attributes.get(key).and_then(Value::as_u64)
    }

    /// Subject of the span, the same on both sides.
    fn key(&self) -> String {
        let own = match &*self.name {
            "claude_code.interaction" => self.count("interaction.sequence").map(|number| number.to_string()),
            // The request of a compaction has no record, and is the only one without an id.
            "claude_code.llm_request" => Some(self.text("request_id").unwrap_or("req_stub000002").to_owned()),
            _ => self.text("tool_use_id").map(str::to_owned),
        };
        format!("{} {} {}", &self.session[34..], self.name, own.unwrap_or_default())
    }
}

/// Reads an attribute's value.
fn value(value: &Value) -> Value {
    let (kind, inner) = value.as_object().unwrap().iter().next().unwrap();
    match &**kind {
        "intValue" => inner.as_str().unwrap().parse::<i64>().unwrap().into(),
        "arrayValue" => {
            inner["values"].as_array().unwrap().iter().map(self::value).collect::<Vec<_>>().into()
        }
        _ => inner.clone(),
    }
}

fn attributes(list: &Value) -> BTreeMap<String, Value> {
    let all = list.as_array().unwrap().iter();
    all.map(|one| (one["key"].as_str().unwrap().to_owned(), value(&one["value"]))).collect()
}

fn nanos(value: &Value) -> i64 {
    value.as_str().expect("nanoseconds are strings").parse().unwrap()
}

/// The folders of the ten runs. Each is read on its own: the API of these runs was a script that gave the responses of
/// every run the same ids.
fn runs() -> Vec<String> {
    let names = std::fs::read_dir(testdata(SAVED)).unwrap().map(|entry| entry.unwrap().file_name());
    let mut runs: Vec<String> = names.map(|name| format!("{SAVED}/{}", name.to_str().unwrap())).collect();
    runs.sort();
    assert_eq!(runs.len(), 10);
    runs
}

/// The lines of all ten runs.
fn lines_of_runs(arguments: &[&str]) -> Vec<Value> {
    runs().iter().flat_map(|run| lines(&[arguments, &[&**run]].concat()).0).collect()
}

/// The spans of all ten runs.
fn spans_of_runs() -> Vec<Span> {
    runs().iter().flat_map(|run| spans(&[run])).collect()
}

/// Runs `trace` and returns its lines and messages.
fn lines(arguments: &[&str]) -> (Vec<Value>, String) {
    let (code, stdout, stderr) = run_with(&[&["trace"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    (stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), stderr)
}

/// The elements of a line: all lines have one resource with one scope.
fn elements<'a>(line: &'a Value, resources: &str, scopes: &str, list: &str) -> &'a [Value] {
    line[resources][0][scopes][0][list].as_array().unwrap_or_else(|| panic!("{line}"))
}

fn spans(arguments: &[&str]) -> Vec<Span> {
    let (lines, _) = lines(arguments);
    let all = lines.iter().flat_map(|line| elements(line, "resourceSpans", "scopeSpans", "spans"));
    all.map(|span| {
        let attributes = attributes(&span["attributes"]);
        Span {
            session: attributes["session.id"].as_str().unwrap().to_owned(),
            name: span["name"].as_str().unwrap().to_owned(),
            trace: span["traceId"].as_str().unwrap().to_owned(),
            id: span["spanId"].as_str().unwrap().to_owned(),
            parent: span["parentSpanId"].as_str().map(str::to_owned),
            start: nanos(&span["startTimeUnixNano"]),
            end: nanos(&span["endTimeUnixNano"]),
            status: (
                span["status"]["code"].as_u64().unwrap(),
                span["status"]["message"].as_str().map(str::to_owned),
            ),
            attributes,
        }
    })
    .collect()
}

/// The rows of the telemetry that have this key.
fn telemetry(key: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(testdata("telemetry/telemetry.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row.get(key).is_some()).collect()
}

fn telemetry_spans() -> Vec<Span> {
    let span = |row: &Value| {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        Span {
            session: text("session").unwrap(),
            name: text("name").unwrap(),
            trace: text("trace").unwrap(),
            id: text("id").unwrap(),
            parent: text("parent"),
            start: row["start"].as_i64().unwrap(),
            end: row["end"].as_i64().unwrap(),
            attributes: row.as_object().unwrap().clone().into_iter().collect(),
            status: (0, None),
        }
    };
    telemetry("trace").iter().map(span).collect()
}

/// The key of each compared span with the key of its nearest compared ancestor, and with its trace's first.
fn tree(spans: &[Span]) -> BTreeSet<(String, Option<String>)> {
    let by_id: HashMap<&str, &Span> = spans.iter().map(|span| (&*span.id, span)).collect();
    let compared = |span: &&Span| COMPARED.contains(&&*span.name);
    let parent = |span: &Span| {
        let mut next = span.parent.as_deref();
        loop {
            let above = *by_id.get(next?).unwrap_or_else(|| panic!("{} has an unknown parent", span.key()));
            assert_eq!(above.trace, span.trace, "{}", span.key());
            if compared(&above) {
                return Some(above.key());
            }
            next = above.parent.as_deref();
        }
    };
    spans.iter().filter(compared).map(|span| (span.key(), parent(span))).collect()
}

#[test]
fn ten_runs_have_the_spans_of_their_telemetry() {
    let (own, told) = (spans_of_runs(), telemetry_spans());
    assert_eq!(tree(&own), tree(&told));
    let counts = |spans: &[Span]| {
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for span in spans.iter().filter(|span| COMPARED.contains(&&*span.name)) {
            *counts.entry((span.session.clone(), span.name.clone())).or_default() += 1;
        }
        counts
    };
    assert_eq!(counts(&own), counts(&told));
    assert_eq!(counts(&own).len(), 28, "two of the ten runs have no tool");
    let traces: BTreeSet<&str> = own.iter().map(|span| &*span.trace).collect();
    assert_eq!(traces.len(), 12, "a trace for each prompt");
}

#[test]
fn tokens_models_and_attempts_of_all_requests_are_those_of_the_telemetry() {
    let own: HashMap<String, Span> = spans_of_runs().into_iter().map(|span| (span.key(), span)).collect();
    let told = telemetry_spans();
    let requests: Vec<&Span> = told.iter().filter(|span| span.name == "claude_code.llm_request").collect();
    assert_eq!(requests.len(), 25);
    for told in requests {
        let own = &own[&told.key()];
        for key in ["input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"] {
            assert!(own.count(key).is_some(), "{}: {key}", told.key());
            assert_eq!(own.count(key), told.count(key), "{}: {key}", told.key());
        }
        assert_eq!(own.text("model"), told.text("model"), "{}", told.key());
        assert_eq!(own.text("agent_id"), told.text("agent_id"), "{}", told.key());
        let compacts = own.text("query_source") == Some("compact");
        if !compacts {
            assert_eq!(own.count("attempt"), told.count("attempt"), "{}", told.key());
            assert_eq!(own.text("stop_reason"), told.text("stop_reason"), "{}", told.key());
        }
        let estimated = own.attributes.get("ccstat.estimated");
        assert_eq!(estimated.is_some(), compacts, "{}: {estimated:?}", told.key());
    }
}

#[test]
fn decisions_and_outcomes_of_all_calls_are_those_of_the_telemetry() {
    let own = spans_of_runs();
    let told = telemetry_spans();
    for waiting in told.iter().filter(|span| span.name == "claude_code.tool.blocked_on_user") {
        let tool = told.iter().find(|span| Some(&span.id) == waiting.parent.as_ref()).unwrap();
        let own = own.iter().find(|span| span.key() == tool.key() && span.name == tool.name).unwrap();
        assert_eq!(own.text("decision"), waiting.text("decision"), "{}", tool.key());
        assert_eq!(own.text("source"), waiting.text("source"), "{}", tool.key());
        assert_eq!(own.text("tool_name"), tool.text("tool_name"));
        let ran = told
            .iter()
            .find(|span| span.parent.as_ref() == Some(&tool.id) && span.name.ends_with("execution"));
        let succeeded = ran.is_some_and(|ran| ran.attributes["success"] == true);
        // Telemetry does not say that a denied call failed.
        assert_eq!(own.status.0, if succeeded { 0 } else { 2 }, "{}", tool.key());
        if waiting.text("decision") == Some("reject") {
            assert!(
                own.status.1.as_deref().is_some_and(|why| why.starts_with("denied: ")),
                "{:?}",
                own.status
            );
            assert_eq!(own.text("error.type"), Some("denied"));
        }
    }
}

/// Differences of starts and ends in milliseconds, by kind of span.
fn differences() -> BTreeMap<(String, &'static str), Vec<f64>> {
    let own: HashMap<String, Span> = spans_of_runs().into_iter().map(|span| (span.key(), span)).collect();
    let mut all: BTreeMap<(String, &'static str), Vec<f64>> = BTreeMap::new();
    for told in telemetry_spans().iter().filter(|span| COMPARED.contains(&&*span.name)) {
        let own = &own[&told.key()];
        for (border, difference) in [("start", own.start - told.start), ("end", own.end - told.end)] {
            all.entry((told.name.clone(), border)).or_default().push(difference as f64 / 1e6);
        }
    }
    all
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[test]
fn times_differ_from_the_telemetry_by_less_than_30_ms_in_the_median_as_the_documentation_says() {
    let all = differences();
    let sizes = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.abs()).collect() };
    let row = |name: &str, border: &str, values: &[f64]| {
        let largest = sizes(values).into_iter().fold(0.0, f64::max);
        format!(
            "| {name} | {border} | {} | {:.0} ms | {:.0} ms | {:+.0} ms |\n",
            values.len(),
            median(sizes(values)),
            largest,
            median(values.to_vec())
        )
    };
    let mut table = String::from(
        "| span | border | compared | median difference | largest | median with its sign |\n|---|---|---|---|---|---|\n",
    );
    for ((name, border), values) in &all {
        table += &row(&format!("`{name}`"), border, values);
    }
    let together: Vec<f64> = all.values().flatten().copied().collect();
    table += &row("all", "both", &together);
    assert!(median(sizes(&together)) <= 30.0, "{table}");
    let page = std::fs::read_to_string(testdata("../docs/traces.md")).unwrap().replace("\r\n", "\n");
    assert!(page.contains(&table), "put this into docs/traces.md:\n{table}");
}

#[test]
fn waiting_and_execution_have_spans_only_if_the_log_has_the_time_between_them() {
    let own = spans_of_runs();
    let stderr: String = runs().iter().map(|run| lines(&[run]).1).collect();
    let of = |name: &str| own.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    // The Agent call says how long it ran, and two calls were denied.
    assert_eq!(of("claude_code.tool.execution").len(), 1);
    assert_eq!(of("claude_code.tool.blocked_on_user").len(), 3);
    assert_eq!(of("claude_code.tool").len(), 12);
    let counts = stderr.lines().map(|line| {
        let words = line.strip_prefix("ccstat: no span for ").unwrap();
        let (count, rest) = words.split_once(' ').unwrap();
        assert!(rest.contains("the log has no time between waiting and execution"), "{line}");
        count.parse::<u64>().unwrap()
    });
    assert_eq!(counts.sum::<u64>(), 9, "{stderr}");
    let execution = of("claude_code.tool.execution")[0];
    assert_eq!(execution.attributes["ccstat.estimated"], serde_json::json!(["start"]));
}

#[test]
fn every_line_is_what_the_file_exporter_of_a_collector_writes() {
    let is_hex = |value: &Value, length: usize| {
        let text = value.as_str().unwrap();
        text.len() == length
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && text.bytes().any(|byte| byte != b'0')
    };
    let lines = lines_of_runs(&[]);
    assert_eq!(lines.len(), 12, "a line for each prompt");
    for line in &lines {
        let resource = &line["resourceSpans"][0];
        assert_eq!(resource["schemaUrl"], "https://opentelemetry.io/schemas/1.42.0");
        assert_eq!(attributes(&resource["resource"]["attributes"])["service.name"], "claude-code");
        for span in elements(line, "resourceSpans", "scopeSpans", "spans") {
            assert!(is_hex(&span["traceId"], 32) && is_hex(&span["spanId"], 16), "{span}");
            assert!(span.get("parentSpanId").is_none_or(|parent| is_hex(parent, 16)), "{span}");
            assert!(nanos(&span["startTimeUnixNano"]) <= nanos(&span["endTimeUnixNano"]), "{span}");
        }
    }
}

#[test]
fn a_second_export_has_the_same_ids_and_more_of_the_log_keeps_them() {
    let story =
        std::fs::read_to_string(testdata(SAVED).join("11-edit/00000000-0000-4000-8000-000000000011.jsonl"))
            .unwrap();
    let ids = |log_lines: usize| -> BTreeMap<String, String> {
        let text: String = story.split_inclusive('\n').take(log_lines).collect();
        let file = log(text);
        let spans = spans(&[file.path().to_str().unwrap()]);
        spans.into_iter().map(|span| (span.key(), format!("{} {}", span.trace, span.id))).collect()
    };
    let whole = ids(usize::MAX);
    assert_eq!(whole, ids(usize::MAX));
    let first = ids(30);
    assert!(first.len() > 1 && first.len() < whole.len(), "{first:?}");
    for (key, id) in first {
        assert_eq!(whole[&key], id, "{key}");
    }
    let all: BTreeSet<&String> = whole.values().collect();
    assert_eq!(all.len(), whole.len());
}

#[test]
fn metrics_are_those_of_the_telemetry() {
    let lines = lines_of_runs(&["--metrics"]);
    let mut own: BTreeMap<String, f64> = BTreeMap::new();
    for line in &lines {
        for metric in elements(line, "resourceMetrics", "scopeMetrics", "metrics") {
            assert_eq!(
                (&metric["sum"]["aggregationTemporality"], &metric["sum"]["isMonotonic"]),
                (&1.into(), &true.into())
            );
            for point in metric["sum"]["dataPoints"].as_array().unwrap() {
                let attributes = attributes(&point["attributes"]);
                let number = point["asInt"].as_str().map(|count| count.parse().unwrap());
                let number = number.or(point["asDouble"].as_f64()).unwrap();
                *own.entry(point_key(metric["name"].as_str().unwrap(), &attributes)).or_default() += number;
            }
        }
    }
    let mut told: BTreeMap<String, f64> = BTreeMap::new();
    for row in telemetry("metric") {
        let attributes: BTreeMap<String, Value> = row.as_object().unwrap().clone().into_iter().collect();
        let mut attributes = attributes;
        attributes.insert("session.id".to_owned(), row["session"].clone());
        let key = point_key(row["metric"].as_str().unwrap(), &attributes);
        *told.entry(key).or_default() += row["value"].as_f64().unwrap();
    }
    // A log does not count lines of code, and active time is that of spans, which differ by some milliseconds.
    told.retain(|key, _| !key.starts_with("claude_code.lines_of_code"));
    assert_eq!(own.keys().collect::<Vec<_>>(), told.keys().collect::<Vec<_>>());
    for (key, told) in told {
        let allowed = if key.starts_with("claude_code.active_time") { 0.45 } else { 1e-9 };
        assert!((own[&key] - told).abs() <= allowed, "{key}: {} and {told}", own[&key]);
    }
}

fn point_key(name: &str, attributes: &BTreeMap<String, Value>) -> String {
    let keys = ["session.id", "type", "model", "query_source", "tool_name", "decision", "source"];
    let values = keys.map(|key| attributes.get(key).and_then(Value::as_str).unwrap_or("-"));
    format!("{name} {}", values.join(" "))
}

#[test]
fn events_are_those_of_the_telemetry() {
    let lines = lines_of_runs(&["--logs"]);
    let mut own: BTreeMap<String, Vec<BTreeMap<String, Value>>> = BTreeMap::new();
    for line in &lines {
        let mut last = 0;
        for record in elements(line, "resourceLogs", "scopeLogs", "logRecords") {
            let attributes = attributes(&record["attributes"]);
            assert_eq!(
                record["body"]["stringValue"],
                format!("claude_code.{}", attributes["event.name"].as_str().unwrap())
            );
            assert!(nanos(&record["timeUnixNano"]) >= last, "events are in order");
            last = nanos(&record["timeUnixNano"]);
            own.entry(attributes["event.name"].as_str().unwrap().to_owned()).or_default().push(attributes);
        }
    }
    let told = telemetry("event");
    let count = |name: &str| told.iter().filter(|row| row["event"] == name).count();
    // A command that a person typed is a prompt for telemetry, but the log marks it as one of the CLI.
    assert_eq!((own["user_prompt"].len(), count("user_prompt")), (11, 12));
    for name in ["tool_decision", "api_request", "tool_result", "compaction"] {
        assert_eq!(own[name].len(), count(name), "{name}");
    }
    for row in told.iter().filter(|row| row["event"] == "api_request") {
        let request = &row["request_id"];
        let is_own = |one: &&BTreeMap<String, Value>| {
            one["session.id"] == row["session"] && one.get("request_id").is_none_or(|own| own == request)
        };
        let own = own["api_request"].iter().filter(is_own);
        let own = own.max_by_key(|one| one.contains_key("request_id")).unwrap();
        let (cost, told) = (own["cost_usd"].as_f64().unwrap(), row["cost_usd"].as_f64().unwrap());
        assert!((cost - told).abs() < 1e-9, "{row}: {cost}");
    }
    assert_eq!(own["api_error"].len(), 2, "two attempts failed and were repeated");
}

#[test]
fn content_is_written_only_on_request() {
    let of = |arguments: &[&str]| -> String {
        runs().iter().map(|run| run_with(&[&["trace", "-q", run], arguments].concat()).1).collect()
    };
    for arguments in [&[][..], &["--format", "perfetto"], &["--logs"], &["--metrics"]] {
        let text = of(arguments);
        assert!(!text.is_empty());
        for word in ["tool-use-test-output", "do it", "denied.txt", "does-not-exist"] {
            assert!(!text.contains(word), "{arguments:?} has {word:?}");
        }
    }
    let text = of(&["--content"]);
    for word in ["echo tool-use-test-output", "\"do it\"", "denied.txt", "File does not exist"] {
        assert!(text.contains(word), "no {word:?}");
    }
    assert!(of(&["--content", "--format", "perfetto"]).contains("echo tool-use-test-output"));
    assert!(of(&["--content", "--logs"]).contains("\"do it\""));
}

#[test]
fn one_session_is_chosen_by_its_id_and_a_path_is_not_an_id() {
    let chosen = |arguments: &[&str]| -> BTreeSet<String> {
        spans(arguments).into_iter().map(|span| span.session[34..].to_owned()).collect()
    };
    assert_eq!(chosen(&["00000000-0000-4000-8000-000000000036", SAVED]), BTreeSet::from(["36".to_owned()]));
    assert_eq!(chosen(&["latest", SAVED]), BTreeSet::from(["74".to_owned()]));
    assert_eq!(chosen(&[SAVED]).len(), 10);
    assert_eq!(chosen(&["--session", "00000000-0000-4000-8000-000000000040", SAVED]).len(), 1);
    assert_eq!(chosen(&["--last", "2", SAVED]).len(), 2);
    let (code, stdout, stderr) = run_with(&["trace", "ffff", SAVED]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("no session starts with `ffff`"), "{stderr}");
    let (code, _, stderr) = run_with(&["trace", "--metrics", "--format", "perfetto", SAVED]);
    assert_eq!(code, 2, "{stderr}");
}

#[test]
fn reading_session_by_session_gives_the_same_spans_as_reading_all_at_once() {
    for folder in ["logs/week", "recordings/2.1.325/transcript/50-resume"] {
        let mut paths: Vec<_> = walk(&testdata(folder));
        paths.sort();
        let all: Vec<u8> = paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
        let sorted = |text: String| -> Vec<String> {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let (code, apart, _) = run_with(&["trace", "-q", folder]);
        assert_eq!(code, 0);
        let (code, together, _) = run(ccstat(&["trace", "-q"]).write_stdin(all));
        assert_eq!(code, 0);
        assert!(!apart.is_empty());
        let (apart, together) = (sorted(apart), sorted(together));
        let differ = apart.iter().zip(&together).find(|(one, two)| one != two);
        assert!(differ.is_none() && apart.len() == together.len(), "{folder}: {differ:?}");
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => walk(&path),
            false => Some(path)
                .filter(|path| path.extension().is_some_and(|one| one == "jsonl"))
                .into_iter()
                .collect(),
        })
        .collect()
}

#[test]
fn a_log_without_times_has_no_spans_and_says_so() {
    let old = "recordings/2.1.50/stream/02-single-bash.jsonl";
    let (code, stdout, stderr) = run_with(&["trace", old]);
    assert_eq!((code, &*stdout), (0, ""));
    assert_eq!(stderr, "ccstat: no span for 2 requests without a time, 1 call without a time\n");
    let (_, stdout, _) = run_with(&["trace", "--format", "perfetto", old]);
    let file: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(file["traceEvents"], serde_json::json!([]));
}

#[test]
fn a_call_without_a_result_has_no_span_but_a_marker() {
    let killed = "recordings/2.1.325/transcript/49-killed-midway";
    let (_, stderr) = lines(&[killed]);
    assert!(stderr.contains("1 call without a result"), "{stderr}");
    let events = events(&[killed]);
    assert_eq!(events.iter().filter(|event| event["name"] == "open_call: Bash").count(), 1);
}

#[test]
fn every_recording_gives_a_valid_file_of_each_format() {
    for folder in
        ["recordings/2.1.325/stream", "recordings/2.1.325/transcript", "recordings/2.1.50/transcript", "logs"]
    {
        check_events(&events(&[folder]), folder);
        let spans = spans(&[folder]);
        assert!(spans.len() > 10, "{folder}");
        let ids: BTreeSet<(&str, &str)> = spans.iter().map(|span| (&*span.trace, &*span.id)).collect();
        assert_eq!(ids.len(), spans.len(), "{folder}: ids are unique");
        for span in &spans {
            let parent = span.parent.as_deref();
            assert!(parent.is_none_or(|parent| ids.contains(&(&*span.trace, parent))), "{folder}: {span:?}");
            assert!(span.start <= span.end, "{span:?}");
        }
        lines(&["--metrics", folder]);
        lines(&["--logs", folder]);
    }
}

/// The events of a Perfetto file.
fn events(arguments: &[&str]) -> Vec<Value> {
    let (code, stdout, stderr) = run_with(&[&["trace", "-q", "--format", "perfetto"], arguments].concat());
    assert_eq!(code, 0, "{stderr}");
    let file: Value = serde_json::from_str(&stdout).unwrap();
    file["traceEvents"].as_array().unwrap().clone()
}

/// Holds events to the rules of the format: phases with their fields, balanced ids, no overlap on a lane,
/// counters in the order of time.
fn check_events(events: &[Value], name: &str) {
    let number = |event: &Value, key: &str| {
        event[key].as_i64().unwrap_or_else(|| panic!("{name}: {event} has no {key}"))
    };
    let mut open: BTreeMap<String, Vec<(String, i64)>> = BTreeMap::new();
    let mut lanes: BTreeMap<(i64, i64), Vec<(i64, i64)>> = BTreeMap::new();
    let mut counters: BTreeMap<(i64, String), i64> = BTreeMap::new();
    let (mut last, mut named) = (BTreeMap::new(), BTreeSet::new());
    for event in events {
        let (process, lane) = (number(event, "pid"), number(event, "tid"));
        let title = event["name"].as_str().unwrap().to_owned();
        let phase = event["ph"].as_str().unwrap();
        if phase == "M" {
            assert!(named.insert((process, lane, title)), "{name}: named twice: {event}");
            continue;
        }
        assert!(named.contains(&(process, 1, "process_name".to_owned())), "{name}: {event}");
        assert!(named.contains(&(process, lane, "thread_name".to_owned())), "{name}: {event}");
        let time = number(event, "ts");
        assert!(time >= last.insert(process, time).unwrap_or(0), "{name}: not in order: {event}");
        let id = || format!("{process} {} {}", event["cat"], event["id"].as_str().unwrap());
        match phase {
            "X" => lanes.entry((process, lane)).or_default().push((time, time + number(event, "dur"))),
            "b" => open.entry(id()).or_default().push((title, time)),
            "e" => {
                let begun = open.get_mut(&id()).and_then(Vec::pop);
                let (begun, at) = begun.unwrap_or_else(|| panic!("{name}: ends without a begin: {event}"));
                assert!(begun == title && at <= time, "{name}: {begun} is open: {event}");
            }
            "i" => assert_eq!(event["s"], "t"),
            "C" => {
                assert!(event["args"]["value"].is_number(), "{event}");
                let before = counters.insert((process, title), time).unwrap_or(0);
                assert!(before <= time, "{name}: a counter goes back in time: {event}");
            }
            _ => panic!("{name}: unknown phase: {event}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "{name}: never ends: {open:?}");
    for (lane, mut events) in lanes {
        events.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
        let mut ends: Vec<i64> = Vec::new();
        for (start, end) in events {
            while ends.last().is_some_and(|&outer| outer <= start) {
                ends.pop();
            }
            assert!(ends.last().is_none_or(|&outer| end <= outer), "{name}: events overlap on lane {lane:?}");
            ends.push(end);
        }
    }
}

#[test]
fn a_perfetto_file_has_a_process_per_session_a_lane_per_agent_counters_and_markers() {
    let mut events = Vec::new();
    for (run, number) in runs().iter().zip(0..) {
        let mut own = self::events(&[run]);
        check_events(&own, run);
        assert!(own.iter().all(|event| event["pid"] == 1), "one session");
        own.iter_mut().for_each(|event| event["pid"] = (number + 1).into());
        events.extend(own);
    }
    let of = |phase: &str, name: &str| -> Vec<&Value> {
        events.iter().filter(|event| event["ph"] == phase && event["name"] == name).collect()
    };
    assert_eq!(of("M", "process_name").len(), 10);
    assert_eq!(of("M", "thread_name").len(), 11, "one run has a subagent");
    assert_eq!(of("i", "prompt").len(), 11);
    assert_eq!(of("i", "denial: Bash").len() + of("i", "denial: Write").len(), 2);
    assert_eq!(of("i", "tool_error: Read").len(), 1);
    assert_eq!(of("i", "compaction (manual)").len(), 1);
    assert_eq!(of("X", "Bash").len(), 5, "calls that do not overlap are on the lane of their agent");
    assert_eq!(of("X", "Agent").len(), 1);
    let cost = |process: i64| -> f64 {
        let mut points = of("C", "cost USD").into_iter().filter(|event| event["pid"] == process);
        points.next_back().unwrap()["args"]["value"].as_f64().unwrap()
    };
    let total: f64 = (1..=10).map(cost).sum();
    let told: f64 = telemetry("metric")
        .iter()
        .filter(|row| row["metric"] == "claude_code.cost.usage")
        .filter_map(|row| row["value"].as_f64())
        .sum();
    assert!((total - told).abs() < 1e-9, "{total} and {told}");
    assert!(of("C", "context tokens").len() > 20);
}

#[test]
fn overlapping_calls_are_side_by_side() {
    let call = |id: &str, time: &str| {
        format!(
            r#"{{"type":"assistant","timestamp":"2026-11-17T10:00:0{time}Z","uuid":"a{id}","sessionId":"s","message":{{"id":"m","role":"assistant","model":"claude-opus-4-8","stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":1}},"content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}"#
        )
    };
    let result = |id: &str, time: &str| {
        format!(
            r#"{{"type":"user","timestamp":"2026-11-17T10:00:0{time}Z","uuid":"u{id}","sessionId":"s","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]}}}}"#
        )
    };
    let file = log([call("1", "1"), call("2", "2"), result("1", "3"), result("2", "4")].join("\n") + "\n");
    let events = events(&[file.path().to_str().unwrap()]);
    check_events(&events, "overlapping");
    let phases: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "Bash")
        .map(|event| event["ph"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["b", "b", "e", "e"]);
    let ids: BTreeSet<&str> = events.iter().filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ids.len(), 2);
}

#[test]
fn split_writes_a_file_for_each_session_and_never_a_log_over() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("traces");
    let into = into.to_str().unwrap();
    for (format, ending) in [("otlp", "otlp.jsonl"), ("perfetto", "perfetto.json")] {
        let (code, stdout, stderr) =
            run_with(&["trace", "-q", "--split", "-o", into, "--format", format, SAVED]);
        assert_eq!((code, &*stdout, &*stderr), (0, "", ""));
        let names =
            std::fs::read_dir(into).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
        assert_eq!(names.len(), 10);
        assert!(names.contains(&format!("00000000-0000-4000-8000-000000000036.{ending}")), "{names:?}");
    }
    let text = std::fs::read_to_string(format!("{into}/00000000-0000-4000-8000-000000000034.perfetto.json"))
        .unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    check_events(file["traceEvents"].as_array().unwrap(), "34");
    // A session id is foreign text: it must not lead out of the folder.
    let hostile = log(
        "{\"type\":\"user\",\"timestamp\":\"2026-11-17T10:00:00Z\",\"sessionId\":\"../../out\",\"uuid\":\"1\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
    );
    let (code, _, stderr) = run_with(&["trace", "--split", "-o", into, hostile.path().to_str().unwrap()]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(std::fs::exists(format!("{into}/______out.otlp.jsonl")).unwrap());
    let path = hostile.path().to_str().unwrap();
    let (code, _, stderr) = run_with(&["trace", "-o", path, path]);
    assert!(code == 2 && stderr.contains("would take the place of a log"), "{stderr}");
    let (code, _, stderr) = run_with(&["trace", "--split", SAVED]);
    assert!(code == 2 && stderr.contains("--into"), "{stderr}");
}

#[test]
fn the_name_of_a_file_chooses_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str| {
        let path = folder.path().join(name);
        let (code, stdout, _) = run_with(&["trace", "-q", "-o", path.to_str().unwrap(), SAVED]);
        assert_eq!((code, &*stdout), (0, ""));
        std::fs::read_to_string(path).unwrap()
    };
    assert!(written("run.otlp.jsonl").starts_with("{\"resourceSpans\""));
    assert!(written("run.json").starts_with("{\"displayTimeUnit\""));
}
