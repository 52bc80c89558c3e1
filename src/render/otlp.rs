//! OTLP JSON lines, as the file exporter of the OpenTelemetry Collector writes them: ids in hex, 64-bit
//! numbers as strings, one message per line.

use std::{
    fmt::{self, Display},
    io::{self, Write},
};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::json;
use crate::{
    measure::Time,
    report::trace::{
        Attribute, Attributes, LogRecord, Metric, Point, SEMANTIC_CONVENTIONS, SessionTrace, Span, SpanBody,
    },
};

/// Name of the instrumentation scope.
const SCOPE: &str = "ccstat";

/// `SPAN_KIND_INTERNAL`, as the CLI says it of all its spans.
const INTERNAL: u8 = 1;

const UNSET: u8 = 0;
const ERROR: u8 = 2;

/// `AGGREGATION_TEMPORALITY_DELTA`: a point covers one session.
const DELTA: u8 = 1;

/// Severity numbers of events.
const INFO: (u8, &str) = (9, "INFO");
const FAILED: (u8, &str) = (17, "ERROR");

/// Writes the spans of a session: a line of `TracesData` for each prompt.
pub fn write_spans(session: &SessionTrace, out: &mut dyn Write) -> io::Result<()> {
    let mut spans: Vec<&Span> = session.spans.iter().collect();
    // In the order of their interactions.
    let mut traces = std::collections::HashMap::new();
    for span in &session.spans {
        let next = traces.len();
        traces.entry(span.trace).or_insert(next);
    }
    spans.sort_by_key(|span| traces.get(&span.trace));
    // A session has thousands of spans, most of whose text is constant: building values for it took half of the time.
    let mut line = Vec::new();
    for spans in spans.chunk_by(|one, two| one.trace == two.trace) {
        line.clear();
        line.extend_from_slice(b"{\"resourceSpans\":[{\"resource\":");
        json::write_compact(&Holder(&resource(session)), &mut line)?;
        line.extend_from_slice(b",\"scopeSpans\":[{\"scope\":");
        json::write_compact(&ScopeName, &mut line)?;
        line.extend_from_slice(b",\"spans\":[");
        for (position, span) in spans.iter().enumerate() {
            if position > 0 {
                line.push(b',');
            }
            write_span(session, span, &mut line)?;
        }
        write!(line, "]}}],\"schemaUrl\":\"{}\"}}]}}", schema())?;
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

fn write_span(session: &SessionTrace, span: &Span, line: &mut Vec<u8>) -> io::Result<()> {
    write!(line, "{{\"traceId\":\"{}\",\"spanId\":\"{}\"", Hex(&span.trace.0), Hex(&span.id.0))?;
    if let Some(parent) = &span.parent {
        write!(line, ",\"parentSpanId\":\"{}\"", Hex(&parent.0))?;
    }
    let (start, end) = (span.start.micros().max(0), span.end.micros().max(0));
    write!(
        line,
        ",\"name\":\"{}\",\"kind\":{INTERNAL},\"startTimeUnixNano\":\"{start}000\",\"endTimeUnixNano\":\"{end}000\"",
        span.body.name()
    )?;
    line.extend_from_slice(b",\"attributes\":[");
    for (position, (key, value)) in span.attributes(session).0.iter().enumerate() {
        line.extend_from_slice(if position > 0 { b",{\"key\":\"" } else { b"{\"key\":\"" });
        line.extend_from_slice(key.as_bytes());
        line.extend_from_slice(b"\",\"value\":");
        write_value(value, line)?;
        line.push(b'}');
    }
    line.push(b']');
    if let SpanBody::Request(request) = &span.body
        && !request.attempt_times.is_empty()
    {
        line.extend_from_slice(b",\"events\":");
        json::write_compact(&Each(request.attempt_times.iter().zip(1..).map(Attempt)), line)?;
    }
    line.extend_from_slice(b",\"status\":");
    match &span.error {
        Some(_) => json::write_compact(&Status(span), line)?,
        None => write!(line, "{{\"code\":{UNSET}}}")?,
    }
    line.push(b'}');
    Ok(())
}

/// Writes a value. Texts that need no escape, and numbers, are most of them.
fn write_value(value: &Attribute, line: &mut Vec<u8>) -> io::Result<()> {
    let is_plain =
        |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    let text = match value {
        Attribute::Word(text) => Some(*text),
        Attribute::Text(text) => Some(&**text),
        _ => None,
    };
    if let Some(text) = text.filter(|text| is_plain(text)) {
        line.extend_from_slice(b"{\"stringValue\":\"");
        line.extend_from_slice(text.as_bytes());
        line.extend_from_slice(b"\"}");
        return Ok(());
    }
    match number(value) {
        Number::Int(count) => write!(line, "{{\"intValue\":\"{count}\"}}"),
        Number::Double(_) | Number::None => json::write_compact(&ValueJson(value), line),
    }
}

/// Writes the metrics of a session as a line of `MetricsData`.
pub fn write_metrics(session: &SessionTrace, out: &mut dyn Write) -> io::Result<()> {
    let metrics = session.metrics();
    if metrics.is_empty() {
        return Ok(());
    }
    let list = Each(metrics.iter().map(MetricJson));
    line(&Data { session, names: ("resourceMetrics", "scopeMetrics", "metrics"), list }, out)
}

/// Writes the events of a session as a line of `LogsData`.
pub fn write_logs(session: &SessionTrace, out: &mut dyn Write) -> io::Result<()> {
    let logs = session.logs();
    if logs.is_empty() {
        return Ok(());
    }
    let list = Each(logs.iter().map(LogJson));
    line(&Data { session, names: ("resourceLogs", "scopeLogs", "logRecords"), list }, out)
}

fn line(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    json::write_compact(value, out)?;
    out.write_all(b"\n")
}

/// An object with these members.
macro_rules! object {
    ($serializer:expr, $($key:literal: $value:expr),* $(,)?) => {{
        let mut map = $serializer.serialize_map(None)?;
        $(map.serialize_entry($key, &$value)?;)*
        map.end()
    }};
}

/// A list whose elements are made while it is written.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for one in self.0.clone() {
            list.serialize_element(&one)?;
        }
        list.end()
    }
}

/// One message: a resource with one scope.
struct Data<'s, L> {
    session: &'s SessionTrace,
    /// Names of the lists of resources, scopes and elements.
    names: (&'static str, &'static str, &'static str),
    list: L,
}

impl<L: Serialize> Serialize for Data<'_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.names.0, &[Resource(self)])?;
        map.end()
    }
}

struct Resource<'d, 's, L>(&'d Data<'s, L>);

/// The attributes of the resource.
fn resource(session: &SessionTrace) -> Attributes {
    let SessionTrace { version, project, machine, .. } = session;
    let mut attributes = Attributes(vec![("service.name", Attribute::Word("claude-code"))]);
    let known = [("service.version", version), ("host.name", machine), ("ccstat.project", project)];
    let known = known.into_iter().filter_map(|(key, value)| Some((key, Attribute::from(value.as_ref()?))));
    attributes.0.extend(known);
    attributes
}

fn schema() -> String {
    format!("https://opentelemetry.io/schemas/{SEMANTIC_CONVENTIONS}")
}

impl<L: Serialize> Serialize for Resource<'_, '_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resource", &Holder(&resource(self.0.session)))?;
        map.serialize_entry(self.0.names.1, &[Scope(self.0)])?;
        map.serialize_entry("schemaUrl", &schema())?;
        map.end()
    }
}

/// An object that only has attributes.
struct Holder<'a>(&'a Attributes);

impl Serialize for Holder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, "attributes": List(self.0))
    }
}

struct ScopeName;

impl Serialize for ScopeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, "name": SCOPE, "version": env!("CARGO_PKG_VERSION"))
    }
}

struct Scope<'d, 's, L>(&'d Data<'s, L>);

impl<L: Serialize> Serialize for Scope<'_, '_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scope", &ScopeName)?;
        map.serialize_entry(self.0.names.2, &self.0.list)?;
        map.end()
    }
}

/// An attempt of a request: its time and number.
struct Attempt<'a>((&'a Time, u64));

impl Serialize for Attempt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (time, number) = self.0;
        let attributes = Attributes(vec![("attempt", Attribute::Count(number))]);
        object!(serializer,
            "timeUnixNano": Nanos(*time),
            "name": "gen_ai.request.attempt",
            "attributes": List(&attributes),
        )
    }
}

struct Status<'a>(&'a Span);

impl Serialize for Status<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.error {
            Some(error) => object!(serializer, "message": **error, "code": ERROR),
            None => object!(serializer, "code": UNSET),
        }
    }
}

struct MetricJson<'a>(&'a Metric);

impl Serialize for MetricJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Sum<'a>(&'a Metric);
        impl Serialize for Sum<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                object!(serializer,
                    "dataPoints": Each(self.0.points.iter().map(PointJson)),
                    "aggregationTemporality": DELTA,
                    "isMonotonic": true,
                )
            }
        }
        let Metric { name, description, unit, .. } = self.0;
        object!(serializer, "name": name, "description": description, "unit": unit, "sum": Sum(self.0))
    }
}

struct PointJson<'a>(&'a Point);

impl Serialize for PointJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Point { start, end, value, attributes } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("attributes", &List(attributes))?;
        map.serialize_entry("startTimeUnixNano", &Nanos(*start))?;
        map.serialize_entry("timeUnixNano", &Nanos(*end))?;
        match number(value) {
            Number::Int(count) => map.serialize_entry("asInt", &Quoted(count))?,
            Number::Double(amount) => map.serialize_entry("asDouble", &amount)?,
            Number::None => {}
        }
        map.end()
    }
}

struct LogJson<'a>(&'a LogRecord);

impl Serialize for LogJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let LogRecord { time, name, span, is_error, attributes } = self.0;
        let (number, word) = if *is_error { FAILED } else { INFO };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("timeUnixNano", &Nanos(*time))?;
        map.serialize_entry("observedTimeUnixNano", &Nanos(*time))?;
        map.serialize_entry("severityNumber", &number)?;
        map.serialize_entry("severityText", word)?;
        map.serialize_entry("eventName", &Shown(format_args!("claude_code.{name}")))?;
        let body = Attribute::Text(format!("claude_code.{name}").into());
        map.serialize_entry("body", &ValueJson(&body))?;
        map.serialize_entry("attributes", &List(attributes))?;
        if let Some((trace, span)) = span {
            map.serialize_entry("traceId", &Hex(&trace.0))?;
            map.serialize_entry("spanId", &Hex(&span.0))?;
        }
        map.end()
    }
}

/// Attributes as a list of keys and values.
struct List<'a>(&'a Attributes);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Pair<'a>((&'a str, &'a Attribute));
        impl Serialize for Pair<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                object!(serializer, "key": self.0.0, "value": ValueJson(self.0.1))
            }
        }
        let mut list = serializer.serialize_seq(None)?;
        for (key, value) in &self.0.0 {
            list.serialize_element(&Pair((key, value)))?;
        }
        list.end()
    }
}

/// A value with the name of its type.
struct ValueJson<'a>(&'a Attribute);

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Attribute::Word(text) => object!(serializer, "stringValue": text),
            Attribute::Text(text) => object!(serializer, "stringValue": **text),
            Attribute::Flag(flag) => object!(serializer, "boolValue": flag),
            Attribute::Texts(texts) => object!(serializer, "arrayValue": Texts(texts)),
            number_like => match number(number_like) {
                Number::Int(count) => object!(serializer, "intValue": Quoted(count)),
                Number::Double(amount) => object!(serializer, "doubleValue": amount),
                Number::None => serializer.serialize_map(None)?.end(),
            },
        }
    }
}

struct Texts<'a>(&'a [crate::report::Text]);

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct One<'a>(&'a str);
        impl Serialize for One<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                object!(serializer, "stringValue": self.0)
            }
        }
        object!(serializer, "values": Each(self.0.iter().map(|text| One(text))))
    }
}

/// A number of OTLP.
enum Number {
    Int(i64),
    Double(f64),
    None,
}

#[expect(clippy::cast_precision_loss, reason = "OTLP has no exact decimals; 15 digits of a dollar remain")]
fn number(value: &Attribute) -> Number {
    match value {
        Attribute::Count(count) => Number::Int(i64::try_from(*count).unwrap_or(i64::MAX)),
        Attribute::Millis(millis) => Number::Int((millis.micros() + 500) / 1000),
        Attribute::Seconds(millis) => Number::Double(millis.as_f64() / 1000.0),
        Attribute::Usd(usd) => Number::Double(usd.nanos() as f64 / 1e9),
        Attribute::Word(_) | Attribute::Text(_) | Attribute::Flag(_) | Attribute::Texts(_) => Number::None,
    }
}

/// A number as a string.
struct Quoted(i64);

impl Serialize for Quoted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Something displayed, as a string.
struct Shown<D>(D);

impl<D: Display> Serialize for Shown<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Nanoseconds since 1970. Times before are not in the format.
struct Nanos(Time);

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}000", self.0.micros().max(0)))
    }
}

struct Hex<'a>(&'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 32];
        for (byte, pair) in self.0.iter().zip(text.chunks_exact_mut(2)) {
            (pair[0], pair[1]) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
        }
        f.write_str(str::from_utf8(&text[..self.0.len() * 2]).unwrap_or_default())
    }
}

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
