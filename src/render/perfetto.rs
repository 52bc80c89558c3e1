//! Chrome trace events, which ui.perfetto.dev and chrome://tracing show: a process per session and a lane per
//! agent.
//!
//! Prompts, requests and calls are complete events on the lane of their agent. Calls that overlap each other or a
//! request are asynchronous events with an id, which are shown side by side; so is everything else that would
//! overlap without being nested.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::json;
use crate::{
    measure::{Time, Usd},
    report::trace::{Attribute, Attributes, Mark, MarkKind, SessionTrace, Span, SpanBody, SpanId},
};

/// Colour of failures in Chrome.
const FAILED: &str = "terrible";

/// Writes one file.
pub struct Writer<'w> {
    out: &'w mut dyn Write,
    /// Number of sessions so far, which is the id of the last process.
    sessions: u64,
    is_first: bool,
}

impl<'w> Writer<'w> {
    /// Writes the beginning of the file.
    pub fn new(out: &'w mut dyn Write) -> io::Result<Self> {
        write!(
            out,
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"generator\":\"{}\"}},\"traceEvents\":[",
            json::GENERATOR
        )?;
        Ok(Self { out, sessions: 0, is_first: true })
    }

    /// Writes the events of a session, by time. A session without times has none.
    pub fn session(&mut self, session: &SessionTrace) -> io::Result<()> {
        self.sessions += 1;
        let process = self.sessions;
        let mut events = spans(session);
        events.extend(session.marks.iter().map(Event::mark));
        events.extend(counters(session));
        if events.is_empty() {
            return Ok(());
        }
        // Stable: of events at the same time, an outer one begins before and ends after an inner one.
        events.sort_by_key(|event| (event.time, event.order));
        for event in names(session, process).iter().chain(&events) {
            let comma: &[u8] = if std::mem::take(&mut self.is_first) { b"\n" } else { b",\n" };
            self.out.write_all(comma)?;
            json::write_compact(&EventJson { event, process }, self.out)?;
        }
        Ok(())
    }

    /// Writes the end of the file.
    pub fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}

/// One trace event.
struct Event {
    phase: &'static str,
    time: Option<Time>,
    /// Index of the agent.
    lane: usize,
    name: String,
    category: &'static str,
    /// Microseconds of a complete event.
    duration: Option<i64>,
    /// Joins the begin and the end of an asynchronous event.
    id: Option<SpanId>,
    is_failed: bool,
    order: Order,
    arguments: Attributes,
}

/// Order of events at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// The end of an event that began before.
    End,
    Begin,
    /// The end of an event without a duration.
    EndAtOnce,
}

impl Event {
    fn new(phase: &'static str, time: Option<Time>, lane: usize, name: impl Into<String>) -> Self {
        Self {
            phase,
            time,
            lane,
            name: name.into(),
            category: "",
            duration: None,
            id: None,
            is_failed: false,
            order: Order::Begin,
            arguments: Attributes::default(),
        }
    }

    /// A marker on the lane of its agent.
    fn mark(mark: &Mark) -> Self {
        let name = match (&mark.name, mark.kind) {
            (Some(name), MarkKind::Compaction) => format!("compaction ({name})"),
            (Some(name), kind) => format!("{}: {name}", kind.name()),
            (None, kind) => kind.name().to_owned(),
        };
        let is_failed = match mark.kind {
            MarkKind::Denial | MarkKind::ToolError | MarkKind::ApiError => true,
            MarkKind::Prompt | MarkKind::Retry | MarkKind::Compaction | MarkKind::OpenCall => false,
        };
        let counts = [("tokens_before", mark.tokens.0), ("tokens_after", mark.tokens.1)];
        let mut arguments: Vec<(&'static str, Attribute)> =
            counts.into_iter().filter_map(|(key, count)| Some((key, Attribute::Count(count?)))).collect();
        arguments.extend(mark.call.as_ref().map(|call| ("tool_use_id", Attribute::from(call))));
        arguments.extend(mark.message.as_ref().map(|message| ("error", Attribute::from(message))));
        let event = Self::new("i", Some(mark.time), mark.agent, name);
        Self { category: "marker", is_failed, arguments: Attributes(arguments), ..event }
    }
}

/// The names of the process and its lanes.
fn names(session: &SessionTrace, process: u64) -> Vec<Event> {
    let named = |kind: &str, lane: usize, key: &'static str, value: Attribute| Event {
        arguments: Attributes(vec![(key, value)]),
        ..Event::new("M", None, lane, kind)
    };
    let project = session.project.as_deref().map(|project| format!(" · {project}")).unwrap_or_default();
    let title = format!("session {}{project}", session.session);
    let mut events = vec![
        named("process_name", 0, "name", Attribute::Text(title.into())),
        named("process_sort_index", 0, "sort_index", Attribute::Count(process)),
    ];
    for (lane, agent) in session.agents.iter().enumerate() {
        let id = agent.id.as_deref().map(|id| format!(" {id}")).unwrap_or_default();
        let name = format!("{}{id}", agent.name);
        events.push(named("thread_name", lane, "name", Attribute::Text(name.into())));
        events.push(named("thread_sort_index", lane, "sort_index", Attribute::Count(lane as u64)));
    }
    events
}

fn spans(session: &SessionTrace) -> Vec<Event> {
    let mut events = Vec::with_capacity(session.spans.len() * 2);
    let overlapping = overlapping(session);
    // The parts of a call are where the call is, and have its id, so that they are nested in it.
    let outer = |span: &Span| match span.body {
        SpanBody::Waiting(_) | SpanBody::Execution(_) => span.parent.unwrap_or(span.id),
        SpanBody::Interaction(_) | SpanBody::Request(_) | SpanBody::Tool(_) => span.id,
    };
    // Ends of the complete events that are open on each lane.
    let mut open: Vec<Vec<Time>> = vec![Vec::new(); session.agents.len()];
    let mut asynchronous: Vec<&Span> = Vec::new();
    for span in &session.spans {
        let lane = &mut open[span.agent];
        while lane.last().is_some_and(|&end| end <= span.start) {
            lane.pop();
        }
        let is_nested = lane.last().is_none_or(|&end| span.end <= end);
        if is_nested && !overlapping.contains(&outer(span)) {
            lane.push(span.end);
            let micros = span.end.micros().saturating_sub(span.start.micros());
            events.push(Event { duration: Some(micros), ..of_span(session, span, "X", span.start) });
        } else {
            asynchronous.push(span);
        }
    }
    events.extend(
        asynchronous
            .iter()
            .map(|span| Event { id: Some(outer(span)), ..of_span(session, span, "b", span.start) }),
    );
    // Inner spans end first.
    events.extend(asynchronous.iter().rev().map(|span| Event {
        id: Some(outer(span)),
        order: if span.start == span.end { Order::EndAtOnce } else { Order::End },
        ..of_span(session, span, "e", span.end)
    }));
    events
}

/// Returns the calls that overlap another call or a request of their agent.
fn overlapping(session: &SessionTrace) -> HashSet<SpanId> {
    let mut found = HashSet::new();
    // The calls and requests of each agent that overlap so far, and their last end.
    let mut groups: Vec<(Vec<&Span>, Option<Time>)> = vec![(Vec::new(), None); session.agents.len()];
    for span in &session.spans {
        if !matches!(span.body, SpanBody::Request(_) | SpanBody::Tool(_)) {
            continue;
        }
        let (group, end) = &mut groups[span.agent];
        if end.is_none_or(|end| end <= span.start) {
            group.clear();
        }
        group.push(span);
        *end = (*end).max(Some(span.end));
        if group.len() > 1 {
            let calls = group.iter().filter(|span| matches!(span.body, SpanBody::Tool(_)));
            found.extend(calls.map(|span| span.id));
            // They are found; only their end matters from here on.
            group.truncate(2);
        }
    }
    found
}

fn of_span(session: &SessionTrace, span: &Span, phase: &'static str, time: Time) -> Event {
    let (name, category) = match &span.body {
        SpanBody::Interaction(interaction) => (format!("prompt {}", interaction.number), "interaction"),
        SpanBody::Request(request) if request.compacts => ("compaction".to_owned(), "llm_request"),
        SpanBody::Request(request) => {
            (request.model.as_deref().unwrap_or("request").to_owned(), "llm_request")
        }
        SpanBody::Tool(tool) => (tool.name.to_string(), "tool"),
        SpanBody::Waiting(_) => ("blocked_on_user".to_owned(), "tool"),
        SpanBody::Execution(_) => ("execution".to_owned(), "tool"),
    };
    Event {
        category,
        is_failed: span.error.is_some(),
        arguments: if phase == "e" { Attributes::default() } else { span.attributes(session) },
        ..Event::new(phase, Some(time), span.agent, name)
    }
}

/// Tokens of the main agent's conversation, and the cost so far.
fn counters(session: &SessionTrace) -> Vec<Event> {
    let mut used: Vec<(Time, Option<u64>, Option<Usd>)> = session
        .spans
        .iter()
        .filter_map(|span| match &span.body {
            SpanBody::Request(request) => {
                let is_main = span.agent == 0 && !request.compacts;
                let context = request.tokens.filter(|_| is_main).map(|tokens| tokens.prompt());
                Some((span.end, context, request.cost))
            }
            SpanBody::Interaction(_) | SpanBody::Tool(_) | SpanBody::Waiting(_) | SpanBody::Execution(_) => {
                None
            }
        })
        .collect();
    let compactions = session.marks.iter().filter(|mark| mark.kind == MarkKind::Compaction);
    used.extend(compactions.map(|mark| (mark.time, mark.tokens.1, None)));
    used.sort_by_key(|&(time, ..)| time);
    let mut events = Vec::with_capacity(used.len() * 2);
    let mut total = Usd::ZERO;
    let counter = |name: &str, time, value| Event {
        arguments: Attributes(vec![("value", value)]),
        ..Event::new("C", Some(time), 0, name)
    };
    for (time, context, cost) in used {
        events.extend(context.map(|tokens| counter("context tokens", time, Attribute::Count(tokens))));
        if let Some(cost) = cost {
            total += cost;
            events.push(counter("cost USD", time, Attribute::Usd(total)));
        }
    }
    events
}

struct EventJson<'a> {
    event: &'a Event,
    process: u64,
}

impl Serialize for EventJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Event { phase, time, lane, name, category, duration, id, is_failed, arguments, order: _ } =
            self.event;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ph", phase)?;
        map.serialize_entry("pid", &self.process)?;
        map.serialize_entry("tid", &(lane + 1))?;
        if let Some(time) = time {
            map.serialize_entry("ts", &time.micros().max(0))?;
        }
        if let Some(duration) = duration {
            map.serialize_entry("dur", duration)?;
        }
        map.serialize_entry("name", name)?;
        if !category.is_empty() {
            map.serialize_entry("cat", category)?;
        }
        if let Some(id) = id {
            map.serialize_entry("id", &format!("0x{:016x}", u64::from_be_bytes(id.0)))?;
        }
        if *phase == "i" {
            map.serialize_entry("s", "t")?;
        }
        if *is_failed {
            map.serialize_entry("cname", FAILED)?;
        }
        if !arguments.0.is_empty() {
            map.serialize_entry("args", &Arguments(arguments))?;
        }
        map.end()
    }
}

/// Attributes as the members of an object.
struct Arguments<'a>(&'a Attributes);

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.0.0 {
            map.serialize_entry(key, &Argument(value))?;
        }
        map.end()
    }
}

struct Argument<'a>(&'a Attribute);

impl Serialize for Argument<'_> {
    #[expect(clippy::cast_precision_loss, reason = "for showing")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Attribute::Word(text) => serializer.serialize_str(text),
            Attribute::Text(text) => serializer.serialize_str(text),
            Attribute::Count(count) => serializer.serialize_u64(*count),
            Attribute::Millis(millis) => serializer.serialize_f64(millis.as_f64()),
            Attribute::Seconds(millis) => serializer.serialize_f64(millis.as_f64() / 1000.0),
            Attribute::Usd(usd) => serializer.serialize_f64(usd.nanos() as f64 / 1e9),
            Attribute::Flag(flag) => serializer.serialize_bool(*flag),
            Attribute::Texts(texts) => {
                let mut list = serializer.serialize_seq(None)?;
                texts.iter().try_for_each(|text| list.serialize_element(&**text))?;
                list.end()
            }
        }
    }
}
