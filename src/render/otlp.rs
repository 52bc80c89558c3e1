//! OTLP JSON lines, as the file exporter of the OpenTelemetry Collector writes them: ids in hex, 64-bit
//! numbers as strings, one message per line.
//!
//! A session has thousands of spans, most of whose text is constant. It is written straight into a buffer: building values
//! for a serializer took half of the time.

use std::io::{self, Write};

use super::buffer;
use crate::{
    measure::Time,
    report::trace::{
        Attribute, Attributes, LogRecord, Metric, Point, SEMANTIC_CONVENTIONS, SessionTrace, Span, SpanBody,
    },
};

/// Name of the instrumentation scope.
const SCOPE: &str = "ccstat";

/// `SPAN_KIND_INTERNAL`, as the CLI says it of all its spans.
const INTERNAL: u64 = 1;

const UNSET: u64 = 0;
const ERROR: u64 = 2;

/// `AGGREGATION_TEMPORALITY_DELTA`: a point covers one session.
const DELTA: u64 = 1;

/// Severity numbers of events.
const INFO: (u64, &str) = (9, "INFO");
const FAILED: (u64, &str) = (17, "ERROR");

/// Names of the lists of resources, scopes and elements.
type ListNames = [&'static str; 3];
const SPANS: ListNames = ["resourceSpans", "scopeSpans", "spans"];
const METRICS: ListNames = ["resourceMetrics", "scopeMetrics", "metrics"];
const LOGS: ListNames = ["resourceLogs", "scopeLogs", "logRecords"];

/// The beginning and the end of each message of a session: a resource with one scope.
struct Envelope {
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Envelope {
    fn of(session: &SessionTrace, [resources, scopes, elements]: ListNames) -> Self {
        let (mut start, mut end) = (Vec::new(), Vec::new());
        key(&mut start, "{", resources);
        buffer::raw(&mut start, "[{\"resource\":{\"attributes\":");
        attributes(&mut start, &resource(session));
        key(&mut start, "},", scopes);
        buffer::raw(&mut start, "[{\"scope\":{\"name\":");
        buffer::string(&mut start, SCOPE);
        buffer::raw(&mut start, ",\"version\":");
        buffer::string(&mut start, env!("CARGO_PKG_VERSION"));
        key(&mut start, "},", elements);
        buffer::raw(&mut end, "}],\"schemaUrl\":\"https://opentelemetry.io/schemas/");
        buffer::raw(&mut end, SEMANTIC_CONVENTIONS);
        buffer::raw(&mut end, "\"}]}\n");
        Self { start, end }
    }

    /// Writes a line with these elements, using the buffer `line`.
    fn write<T>(
        &self,
        line: &mut Vec<u8>,
        elements: &[T],
        element: impl FnMut(&mut Vec<u8>, &T),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        line.clear();
        line.extend_from_slice(&self.start);
        list(line, elements, element);
        line.extend_from_slice(&self.end);
        out.write_all(line)
    }
}

/// The attributes of the resource.
fn resource(session: &SessionTrace) -> Attributes<'_> {
    let SessionTrace { version, project, machine, .. } = session;
    let mut attributes = Attributes(vec![("service.name", Attribute::Text("claude-code"))]);
    let known = [("service.version", version), ("host.name", machine), ("ccstat.project", project)];
    let known = known.into_iter().filter_map(|(key, value)| Some((key, Attribute::from(value.as_ref()?))));
    attributes.0.extend(known);
    attributes
}

/// Writes the spans of a session: a line of `TracesData` for each prompt.
pub fn write_spans<'s>(session: &'s SessionTrace, out: &mut dyn Write) -> io::Result<()> {
    let mut spans: Vec<&'s Span> = session.spans.iter().collect();
    // In the order of their interactions.
    let mut traces = std::collections::HashMap::new();
    for span in &session.spans {
        let next = traces.len();
        traces.entry(span.trace).or_insert(next);
    }
    spans.sort_by_cached_key(|span| traces.get(&span.trace).copied());
    let envelope = Envelope::of(session, SPANS);
    let mut shared = Vec::new();
    each_attribute(&mut shared, &session.shared_attributes());
    let (mut line, mut own) = (Vec::new(), Attributes::default());
    for spans in spans.chunk_by(|one, two| one.trace == two.trace) {
        let element = |line: &mut Vec<u8>, span: &&'s Span| {
            span.attributes(&mut own);
            write_span(line, span, &shared, &own);
        };
        envelope.write(&mut line, spans, element, out)?;
    }
    Ok(())
}

/// Appends a span. The attributes that all spans begin with are written already.
fn write_span(line: &mut Vec<u8>, span: &Span, shared: &[u8], own: &Attributes<'_>) {
    id(line, "{\"traceId\":", &span.trace.0);
    id(line, ",\"spanId\":", &span.id.0);
    if let Some(parent) = &span.parent {
        id(line, ",\"parentSpanId\":", &parent.0);
    }
    buffer::raw(line, ",\"name\":\"");
    buffer::raw(line, span.body.name());
    buffer::raw(line, "\",\"kind\":");
    buffer::count(line, INTERNAL);
    nanos(line, ",\"startTimeUnixNano\":", span.start);
    nanos(line, ",\"endTimeUnixNano\":", span.end);
    buffer::raw(line, ",\"attributes\":[");
    line.extend_from_slice(shared);
    line.push(b',');
    each_attribute(line, own);
    line.push(b']');
    if let SpanBody::Request(request) = &span.body
        && !request.attempt_times.is_empty()
    {
        buffer::raw(line, ",\"events\":");
        let attempts: Vec<(u64, Time)> = (1..).zip(request.attempt_times.iter().copied()).collect();
        list(line, &attempts, |line, (number, time)| attempt(line, *number, *time));
    }
    buffer::raw(line, ",\"status\":{");
    if let Some(error) = &span.error {
        buffer::raw(line, "\"message\":");
        buffer::string(line, error);
        line.push(b',');
    }
    buffer::raw(line, "\"code\":");
    buffer::count(line, if span.error.is_some() { ERROR } else { UNSET });
    buffer::raw(line, "}}");
}

/// Appends an attempt of a request: its time and number.
fn attempt(line: &mut Vec<u8>, number: u64, time: Time) {
    nanos(line, "{\"timeUnixNano\":", time);
    buffer::raw(line, ",\"name\":\"gen_ai.request.attempt\",\"attributes\":");
    attributes(line, &Attributes(vec![("attempt", Attribute::Count(number))]));
    line.push(b'}');
}

/// Writes the metrics of a session as a line of `MetricsData`.
pub fn write_metrics(session: &SessionTrace, out: &mut dyn Write) -> io::Result<()> {
    let metrics = session.metrics();
    if metrics.is_empty() {
        return Ok(());
    }
    Envelope::of(session, METRICS).write(&mut Vec::new(), &metrics, write_metric, out)
}

fn write_metric(line: &mut Vec<u8>, metric: &Metric<'_>) {
    let Metric { name, description, unit, points } = metric;
    for (key, text) in [("{\"name\":", name), (",\"description\":", description), (",\"unit\":", unit)] {
        buffer::raw(line, key);
        buffer::string(line, text);
    }
    buffer::raw(line, ",\"sum\":{\"dataPoints\":");
    list(line, points, write_point);
    buffer::raw(line, ",\"aggregationTemporality\":");
    buffer::count(line, DELTA);
    buffer::raw(line, ",\"isMonotonic\":true}}");
}

fn write_point(line: &mut Vec<u8>, point: &Point<'_>) {
    let Point { start, end, value, attributes: own } = point;
    buffer::raw(line, "{\"attributes\":");
    attributes(line, own);
    nanos(line, ",\"startTimeUnixNano\":", *start);
    nanos(line, ",\"timeUnixNano\":", *end);
    match number(value) {
        Number::Int(count) => quoted(line, ",\"asInt\":", count),
        Number::Double(amount) => {
            buffer::raw(line, ",\"asDouble\":");
            buffer::float(line, amount);
        }
        Number::None => {}
    }
    line.push(b'}');
}

/// Writes the events of a session as a line of `LogsData`.
pub fn write_logs(session: &SessionTrace, out: &mut dyn Write) -> io::Result<()> {
    let logs = session.logs();
    if logs.is_empty() {
        return Ok(());
    }
    Envelope::of(session, LOGS).write(&mut Vec::new(), &logs, write_log, out)
}

fn write_log(line: &mut Vec<u8>, log: &LogRecord<'_>) {
    let LogRecord { time, name, span, is_error, attributes: own } = log;
    let (severity, word) = if *is_error { FAILED } else { INFO };
    nanos(line, "{\"timeUnixNano\":", *time);
    nanos(line, ",\"observedTimeUnixNano\":", *time);
    buffer::raw(line, ",\"severityNumber\":");
    buffer::count(line, severity);
    buffer::raw(line, ",\"severityText\":");
    buffer::string(line, word);
    for key in [",\"eventName\":\"claude_code.", ",\"body\":{\"stringValue\":\"claude_code."] {
        buffer::raw(line, key);
        buffer::raw(line, name);
        line.push(b'"');
    }
    buffer::raw(line, "},\"attributes\":");
    attributes(line, own);
    if let Some((trace, span)) = span {
        id(line, ",\"traceId\":", &trace.0);
        id(line, ",\"spanId\":", &span.0);
    }
    line.push(b'}');
}

/// Appends a constant key after other text.
fn key(line: &mut Vec<u8>, before: &str, key: &str) {
    buffer::raw(line, before);
    buffer::string(line, key);
    line.push(b':');
}

fn list<T>(line: &mut Vec<u8>, elements: &[T], mut element: impl FnMut(&mut Vec<u8>, &T)) {
    line.push(b'[');
    for (position, one) in elements.iter().enumerate() {
        if position > 0 {
            line.push(b',');
        }
        element(line, one);
    }
    line.push(b']');
}

/// Attributes as a list of keys and values.
fn attributes(line: &mut Vec<u8>, attributes: &Attributes<'_>) {
    line.push(b'[');
    each_attribute(line, attributes);
    line.push(b']');
}

fn each_attribute(line: &mut Vec<u8>, attributes: &Attributes<'_>) {
    for (position, (key, one)) in attributes.0.iter().enumerate() {
        buffer::raw(line, if position > 0 { ",{\"key\":\"" } else { "{\"key\":\"" });
        buffer::raw(line, key);
        buffer::raw(line, "\",\"value\":");
        value(line, one);
        line.push(b'}');
    }
}

/// A value with the name of its type.
fn value(line: &mut Vec<u8>, value: &Attribute<'_>) {
    let text = |line: &mut Vec<u8>, text: &str| {
        buffer::raw(line, "{\"stringValue\":");
        buffer::string(line, text);
        line.push(b'}');
    };
    match value {
        Attribute::Text(own) => text(line, own),
        Attribute::Made(own) => text(line, own),
        Attribute::Flag(true) => buffer::raw(line, "{\"boolValue\":true}"),
        Attribute::Flag(false) => buffer::raw(line, "{\"boolValue\":false}"),
        Attribute::Texts(texts) => {
            buffer::raw(line, "{\"arrayValue\":{\"values\":");
            list(line, texts, |line, own| text(line, own));
            buffer::raw(line, "}}");
        }
        number_like => match number(number_like) {
            Number::Int(count) => {
                quoted(line, "{\"intValue\":", count);
                line.push(b'}');
            }
            Number::Double(amount) => {
                buffer::raw(line, "{\"doubleValue\":");
                buffer::float(line, amount);
                line.push(b'}');
            }
            Number::None => buffer::raw(line, "{}"),
        },
    }
}

/// A number of OTLP.
enum Number {
    Int(i64),
    Double(f64),
    None,
}

#[expect(clippy::cast_precision_loss, reason = "OTLP has no exact decimals; 15 digits of a dollar remain")]
fn number(value: &Attribute<'_>) -> Number {
    match value {
        Attribute::Count(count) => Number::Int(i64::try_from(*count).unwrap_or(i64::MAX)),
        Attribute::Millis(millis) => Number::Int((millis.micros() + 500) / 1000),
        Attribute::Seconds(millis) => Number::Double(millis.as_f64() / 1000.0),
        Attribute::Usd(usd) => Number::Double(usd.nanos() as f64 / 1e9),
        Attribute::Text(_) | Attribute::Made(_) | Attribute::Flag(_) | Attribute::Texts(_) => Number::None,
    }
}

/// Appends a number as a string, after a key.
fn quoted(line: &mut Vec<u8>, key: &str, number: i64) {
    buffer::raw(line, key);
    line.push(b'"');
    buffer::integer(line, number);
    line.push(b'"');
}

/// Appends nanoseconds since 1970, after a key. Times before are not in the format.
fn nanos(line: &mut Vec<u8>, key: &str, time: Time) {
    buffer::raw(line, key);
    line.push(b'"');
    buffer::integer(line, time.micros().max(0));
    buffer::raw(line, "000\"");
}

/// Appends an id in hex, after a key.
fn id(line: &mut Vec<u8>, key: &str, id: &[u8]) {
    buffer::raw(line, key);
    line.push(b'"');
    buffer::hex(line, id);
    line.push(b'"');
}
