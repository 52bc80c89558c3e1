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

use super::{buffer, json};
use crate::{
    measure::{Time, Usd},
    report::trace::{Attribute, Attributes, Mark, MarkKind, SessionTrace, Span, SpanBody, SpanId},
};

/// Colour of failures in Chrome.
const FAILED: &str = "terrible";

/// Bytes of events that are written at once.
const MAX_BUFFERED: usize = 64 << 10;

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
        let mut lines = EventLines { process, shared: Vec::new(), own: Attributes::default() };
        members(&mut lines.shared, &session.shared_attributes());
        let mut text = Vec::with_capacity(2 * MAX_BUFFERED);
        for event in names(session, process).iter().chain(&events) {
            buffer::raw(&mut text, if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" });
            lines.put(event, &mut text);
            if text.len() > MAX_BUFFERED {
                self.out.write_all(&text)?;
                text.clear();
            }
        }
        self.out.write_all(&text)
    }

    /// Writes the end of the file.
    pub fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}

/// One trace event.
struct Event<'s> {
    phase: &'static str,
    time: Option<Time>,
    /// Index of the agent.
    lane: usize,
    name: EventName<'s>,
    category: &'static str,
    /// Microseconds of a complete event.
    duration: Option<i64>,
    /// Joins the begin and the end of an asynchronous event.
    id: Option<SpanId>,
    is_failed: bool,
    order: Order,
    arguments: Arguments<'s>,
}

enum EventName<'s> {
    Known(&'s str),
    /// The number of a prompt.
    Prompt(u64),
    Made(String),
}

impl<'s> From<&'s str> for EventName<'s> {
    fn from(name: &'s str) -> Self {
        Self::Known(name)
    }
}

/// Arguments of an event. A session has thousands of events, so those of spans are made when they are written.
enum Arguments<'s> {
    None,
    OfSpan(&'s Span),
    One(&'static str, Attribute<'s>),
    Some(Attributes<'s>),
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

impl<'s> Event<'s> {
    fn new(phase: &'static str, time: Option<Time>, lane: usize, name: impl Into<EventName<'s>>) -> Self {
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
            arguments: Arguments::None,
        }
    }

    /// A marker on the lane of its agent.
    fn mark(mark: &'s Mark) -> Self {
        let name = match (&mark.name, mark.kind) {
            (Some(name), MarkKind::Compaction) => EventName::Made(format!("compaction ({name})")),
            (Some(name), kind) => EventName::Made(format!("{}: {name}", kind.name())),
            (None, kind) => EventName::Known(kind.name()),
        };
        let is_failed = match mark.kind {
            MarkKind::Denial | MarkKind::ToolError | MarkKind::ApiError => true,
            MarkKind::Prompt | MarkKind::Retry | MarkKind::Compaction | MarkKind::OpenCall => false,
        };
        let counts = [("tokens_before", mark.tokens.0), ("tokens_after", mark.tokens.1)];
        let mut arguments: Vec<(&'static str, Attribute<'s>)> =
            counts.into_iter().filter_map(|(key, count)| Some((key, Attribute::Count(count?)))).collect();
        arguments.extend(mark.call.as_ref().map(|call| ("tool_use_id", Attribute::from(call))));
        arguments.extend(mark.message.as_ref().map(|message| ("error", Attribute::from(message))));
        let event = Self::new("i", Some(mark.time), mark.agent, name);
        let arguments = Arguments::Some(Attributes(arguments));
        Self { category: "marker", is_failed, arguments, ..event }
    }
}

/// The names of the process and its lanes.
fn names(session: &SessionTrace, process: u64) -> Vec<Event<'static>> {
    let named = |kind: &'static str, lane: usize, key: &'static str, value: Attribute<'static>| Event {
        arguments: Arguments::One(key, value),
        ..Event::new("M", None, lane, kind)
    };
    let project = session.project.as_deref().map(|project| format!(" · {project}")).unwrap_or_default();
    let title = format!("session {}{project}", session.session);
    let mut events = vec![
        named("process_name", 0, "name", Attribute::Made(title.into())),
        named("process_sort_index", 0, "sort_index", Attribute::Count(process)),
    ];
    for (lane, agent) in session.agents.iter().enumerate() {
        let id = agent.id.as_deref().map(|id| format!(" {id}")).unwrap_or_default();
        let name = format!("{}{id}", agent.name);
        events.push(named("thread_name", lane, "name", Attribute::Made(name.into())));
        events.push(named("thread_sort_index", lane, "sort_index", Attribute::Count(lane as u64)));
    }
    events
}

fn spans(session: &SessionTrace) -> Vec<Event<'_>> {
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
            events.push(Event { duration: Some(micros), ..of_span(span, "X", span.start) });
        } else {
            asynchronous.push(span);
        }
    }
    events.extend(
        asynchronous.iter().map(|span| Event { id: Some(outer(span)), ..of_span(span, "b", span.start) }),
    );
    // Inner spans end first.
    events.extend(asynchronous.iter().rev().map(|span| Event {
        id: Some(outer(span)),
        order: if span.start == span.end { Order::EndAtOnce } else { Order::End },
        ..of_span(span, "e", span.end)
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

fn of_span<'s>(span: &'s Span, phase: &'static str, time: Time) -> Event<'s> {
    let (name, category) = match &span.body {
        SpanBody::Interaction(interaction) => (EventName::Prompt(interaction.number), "interaction"),
        SpanBody::Request(request) if request.compacts => ("compaction".into(), "llm_request"),
        SpanBody::Request(request) => (request.model.as_deref().unwrap_or("request").into(), "llm_request"),
        SpanBody::Tool(tool) => ((*tool.name).into(), "tool"),
        SpanBody::Waiting(_) => ("blocked_on_user".into(), "tool"),
        SpanBody::Execution(_) => ("execution".into(), "tool"),
    };
    Event {
        category,
        is_failed: span.error.is_some(),
        arguments: if phase == "e" { Arguments::None } else { Arguments::OfSpan(span) },
        ..Event::new(phase, Some(time), span.agent, name)
    }
}

/// Tokens of the main agent's conversation, and the cost so far.
fn counters(session: &SessionTrace) -> Vec<Event<'static>> {
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
    let counter = |name: &'static str, time, value| Event {
        arguments: Arguments::One("value", value),
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

/// Writes the events of a session.
struct EventLines<'s> {
    process: u64,
    /// The arguments that all spans begin with.
    shared: Vec<u8>,
    /// Attributes of the last span, reused for the next.
    own: Attributes<'s>,
}

impl<'s> EventLines<'s> {
    fn put(&mut self, event: &Event<'s>, out: &mut Vec<u8>) {
        let Event { phase, time, lane, name, category, duration, id, is_failed, arguments, order: _ } = event;
        buffer::raw(out, "{\"ph\":");
        buffer::string(out, phase);
        buffer::raw(out, ",\"pid\":");
        buffer::count(out, self.process);
        buffer::raw(out, ",\"tid\":");
        buffer::count(out, *lane as u64 + 1);
        if let Some(time) = time {
            buffer::raw(out, ",\"ts\":");
            buffer::integer(out, time.micros().max(0));
        }
        if let Some(duration) = duration {
            buffer::raw(out, ",\"dur\":");
            buffer::integer(out, *duration);
        }
        buffer::raw(out, ",\"name\":");
        match name {
            EventName::Known(name) => buffer::string(out, name),
            EventName::Made(name) => buffer::string(out, name),
            EventName::Prompt(number) => {
                buffer::raw(out, "\"prompt ");
                buffer::count(out, *number);
                out.push(b'"');
            }
        }
        if !category.is_empty() {
            buffer::raw(out, ",\"cat\":");
            buffer::string(out, category);
        }
        if let Some(id) = id {
            buffer::raw(out, ",\"id\":\"0x");
            buffer::hex(out, &id.0);
            out.push(b'"');
        }
        if *phase == "i" {
            buffer::raw(out, ",\"s\":\"t\"");
        }
        if *is_failed {
            buffer::raw(out, ",\"cname\":");
            buffer::string(out, FAILED);
        }
        self.arguments(arguments, out);
        out.push(b'}');
    }

    fn arguments(&mut self, arguments: &Arguments<'s>, out: &mut Vec<u8>) {
        let start = ",\"args\":{";
        match arguments {
            Arguments::None => return,
            Arguments::Some(all) if all.0.is_empty() => return,
            Arguments::Some(all) => {
                buffer::raw(out, start);
                members(out, all);
            }
            Arguments::One(key, value) => {
                buffer::raw(out, start);
                member(out, key, value);
            }
            Arguments::OfSpan(span) => {
                span.attributes(&mut self.own);
                buffer::raw(out, start);
                out.extend_from_slice(&self.shared);
                out.push(b',');
                members(out, &self.own);
            }
        }
        out.push(b'}');
    }
}

/// Attributes as the members of an object.
fn members(out: &mut Vec<u8>, attributes: &Attributes<'_>) {
    for (position, (key, value)) in attributes.0.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        member(out, key, value);
    }
}

#[expect(clippy::cast_precision_loss, reason = "for showing")]
fn member(out: &mut Vec<u8>, key: &str, value: &Attribute<'_>) {
    out.push(b'"');
    buffer::raw(out, key);
    buffer::raw(out, "\":");
    match value {
        Attribute::Text(text) => buffer::string(out, text),
        Attribute::Made(text) => buffer::string(out, text),
        Attribute::Count(count) => buffer::count(out, *count),
        Attribute::Millis(millis) => buffer::float(out, millis.as_f64()),
        Attribute::Seconds(millis) => buffer::float(out, millis.as_f64() / 1000.0),
        Attribute::Usd(usd) => buffer::float(out, usd.nanos() as f64 / 1e9),
        Attribute::Flag(flag) => buffer::raw(out, if *flag { "true" } else { "false" }),
        Attribute::Texts(texts) => {
            out.push(b'[');
            for (position, text) in texts.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                buffer::string(out, text);
            }
            out.push(b']');
        }
    }
}
