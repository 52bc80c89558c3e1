//! The context window of a session when it was largest: its parts, and the cost of carrying MCP servers.
//!
//! The size of the window is exact: it is the prompt of a response. The log has the parts as bytes, so their tokens
//! are estimates. They add up to the size of the window.

use std::collections::{BTreeMap, BTreeSet};

use super::server::parts;
use crate::{
    event::trace::{Shape, Trace},
    facts::{
        Name,
        ledger::{Call, Context, Ledger, Location, Record, Response, SessionIndex, divide},
    },
    measure::{Time, Usd, add},
};

/// Bytes of a token where nothing else is known. Measured on English text and JSON; code has fewer.
const BYTES_PER_TOKEN: u64 = 4;

/// Attachments that are records of the CLI itself: the model does not get them.
const NOT_SENT: &[&str] = &[
    "async_hook_response",
    "budget_usd",
    "command_permissions",
    "hook_",
    "max_turns_reached",
    "prompt_snapshot",
    "session_context",
    "structured_output",
];

/// Attachments with the text of memory files.
const MEMORY: &[&str] = &["nested_memory", "relevant_memories"];

names! {
    /// Kind of part of a context window.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PartKind {
        /// The system prompt.
        System = "system",
        /// The tools of the CLI.
        Tools = "tools",
        /// The tools of an MCP server.
        Server = "server",
        /// Memory files that were attached.
        Memory = "memory",
        /// Other attachments: lists of skills and agents, reminders, files.
        Attachments = "attachments",
        /// Texts and calls.
        Messages = "messages",
        /// Results of a tool.
        Results = "results",
        /// Parts that the log does not have.
        Unknown = "unknown",
    }
}

/// A part of a context window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    /// The server, tool, or kind of message or attachment.
    pub name: Option<Name>,
    /// Number of tools, messages or results.
    pub items: Option<u64>,
    /// Length in the log.
    pub bytes: Option<u64>,
    /// Tokens, an estimate.
    pub tokens: u64,
    /// Calls of the tools in the whole session.
    pub calls: Option<u64>,
    /// Cost of these tokens in all requests of the session that had them, an estimate.
    pub carried: Option<Usd>,
}

/// The context window of a session when it was largest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Context of the response whose prompt it is.
    pub context: Context,
    /// The model of that response.
    pub model: Name,
    /// Tokens of the prompt, as the API counted them.
    pub tokens: u64,
    /// Parts that add up to these tokens.
    pub parts: Vec<Part>,
    /// Whether the log has the system prompt and the tools.
    pub has_shape: bool,
}

/// Position of a row among those of a session.
type Order = (Option<Time>, Option<Location>);

fn order(context: &Context) -> Order {
    (context.time, context.location)
}

/// Returns the largest window of the main agent of a session; `None` if no response has tokens.
pub fn window(ledger: &Ledger, session: SessionIndex) -> Option<Window> {
    let is_own = |context: &Context| context.session == Some(session) && context.agent.is_none();
    let own = ledger.responses.iter().filter(|response| is_own(&response.context));
    // The first of equally large ones.
    let largest =
        own.max_by_key(|response| (response.tokens.prompt(), std::cmp::Reverse(order(&response.context))))?;
    let tokens = largest.tokens.prompt();
    if tokens == 0 {
        return None;
    }
    let end = order(&largest.context);
    let compactions = ledger.compactions.iter().map(|one| &one.context).filter(|context| is_own(context));
    let start: Option<Order> = compactions.map(order).filter(|at| *at < end).max();
    let is_held = |context: &Context| {
        let at = order(context);
        is_own(context) && at < end && start.is_none_or(|start| start < at)
    };
    let requests = Requests::of(ledger, session);
    // A shape without tools was cut: the CLI always sends some.
    let shape = requests.shape(largest).filter(|shape| !shape.tools.is_empty());
    let calls: Vec<&Call> =
        ledger.calls.iter().filter(|call| call.context.session == Some(session)).collect();
    let mut parts = shape.map(|shape| parts_of_shape(shape, &calls)).unwrap_or_default();
    let records = ledger.records.iter().filter(|record| is_held(&record.context));
    parts.extend(parts_of_records(records));
    parts.extend(parts_of_results(calls.iter().copied().filter(|call| is_held(&call.context))));
    estimate(&mut parts, tokens, shape.is_some());
    requests.carry(&mut parts);
    Some(Window {
        context: largest.context.clone(),
        model: Name::clone(&largest.model),
        tokens,
        parts,
        has_shape: shape.is_some(),
    })
}

/// Divides the tokens of the window over its parts by their bytes. If the log lacks parts, what the others do not
/// explain is a part of its own.
fn estimate(parts: &mut Vec<Part>, tokens: u64, is_whole: bool) {
    let bytes = |part: &Part| part.bytes.unwrap_or(0);
    let known: u64 = parts.iter().map(bytes).sum();
    let explained = if is_whole { tokens } else { tokens.min(known / BYTES_PER_TOKEN) };
    let shares = divide(i128::from(explained), parts.iter().map(|part| u128::from(bytes(part))));
    for (part, share) in parts.iter_mut().zip(shares) {
        part.tokens = u64::try_from(share).unwrap_or(0);
    }
    let explained: u64 = parts.iter().map(|part| part.tokens).sum();
    if explained < tokens {
        let rest = Part { kind: PartKind::Unknown, ..Part::new(PartKind::Unknown, None) };
        parts.push(Part { items: None, bytes: None, tokens: tokens - explained, ..rest });
    }
}

impl Part {
    fn new(kind: PartKind, name: Option<Name>) -> Self {
        Self { kind, name, items: Some(0), bytes: Some(0), tokens: 0, calls: None, carried: None }
    }

    fn add(&mut self, items: u64, bytes: u64) {
        self.items = self.items.map(|count| count + items);
        self.bytes = self.bytes.map(|sum| sum.saturating_add(bytes));
    }
}

/// Parts by kind and name, in the order of the kinds, the largest of a kind first.
#[derive(Default)]
struct Parts(BTreeMap<(PartKind, Option<Name>), Part>);

impl Parts {
    fn of(&mut self, kind: PartKind, name: Option<Name>) -> &mut Part {
        self.0.entry((kind, name.clone())).or_insert_with(|| Part::new(kind, name))
    }

    fn sorted(self) -> Vec<Part> {
        let mut parts: Vec<Part> = self.0.into_values().filter(|part| part.items != Some(0)).collect();
        parts.sort_by_key(|part| (part.kind, std::cmp::Reverse(part.bytes)));
        parts
    }
}

/// Returns the server of a tool.
fn server_of(tool: &str) -> Option<Name> {
    parts(tool, |_| false).map(|(server, _)| Name::from(server))
}

fn parts_of_shape(shape: &Shape<Name>, calls: &[&Call]) -> Vec<Part> {
    let mut parts = Parts::default();
    let system = parts.of(PartKind::System, None);
    shape.system.iter().for_each(|part| system.add(1, part.bytes));
    for tool in &shape.tools {
        let server = server_of(&tool.name);
        let kind = if server.is_some() { PartKind::Server } else { PartKind::Tools };
        parts.of(kind, server).add(1, tool.definition.bytes);
    }
    let mut called: BTreeMap<Option<Name>, u64> = BTreeMap::new();
    calls.iter().for_each(|call| *called.entry(server_of(&call.tool)).or_default() += 1);
    let mut parts = parts.sorted();
    for part in parts.iter_mut().filter(|part| part.kind != PartKind::System) {
        part.calls = Some(called.get(&part.name).copied().unwrap_or(0));
    }
    parts
}

fn parts_of_records<'l>(records: impl Iterator<Item = &'l Record>) -> Vec<Part> {
    let mut parts = Parts::default();
    for record in records.filter(|record| !record.copy) {
        if let Some(attachment) = record.kind.strip_prefix("attachment/") {
            if !NOT_SENT.iter().any(|name| attachment.starts_with(name)) {
                let kind =
                    if MEMORY.contains(&attachment) { PartKind::Memory } else { PartKind::Attachments };
                parts.of(kind, Some(attachment.into())).add(1, record.bytes);
            }
            continue;
        }
        for (block, _, bytes) in &record.blocks {
            let name = match &**block {
                // The results of tools are counted by tool.
                "user/tool_result" => continue,
                "assistant/tool_use" => "calls",
                "assistant/thinking" | "assistant/redacted_thinking" => "thinking",
                other if other.starts_with("assistant/") => "assistant",
                _ => "user",
            };
            parts.of(PartKind::Messages, Some(name.into())).add(1, *bytes);
        }
    }
    parts.sorted()
}

fn parts_of_results<'l>(calls: impl Iterator<Item = &'l Call>) -> Vec<Part> {
    let mut parts = Parts::default();
    for call in calls {
        if let Some(bytes) = call.result_bytes {
            parts.of(PartKind::Results, Some(Name::clone(&call.tool))).add(1, bytes);
        }
    }
    parts.sorted()
}

/// The requests of a session: which response had which system prompt and tools.
struct Requests<'l> {
    shapes: BTreeMap<&'l Name, &'l Shape<Name>>,
    /// The shape of each request.
    requests: BTreeMap<&'l Name, &'l Name>,
    responses: Vec<&'l Response>,
}

impl<'l> Requests<'l> {
    fn of(ledger: &'l Ledger, session: SessionIndex) -> Self {
        let (mut shapes, mut requests) = (BTreeMap::new(), BTreeMap::new());
        for row in ledger.traces.iter().filter(|row| row.context.session == Some(session)) {
            match &row.trace {
                Trace::Shape(shape) => {
                    if let Some(id) = &shape.id {
                        shapes.entry(id).or_insert(&**shape);
                    }
                }
                Trace::ApiRequest(request) => {
                    if let (Some(id), Some(shape)) = (&request.id, &request.shape) {
                        requests.entry(id).or_insert(shape);
                    }
                }
                _ => {}
            }
        }
        let responses = ledger.responses.iter();
        let responses = responses.filter(|response| response.context.session == Some(session)).collect();
        Self { shapes, requests, responses }
    }

    fn shape(&self, response: &Response) -> Option<&'l Shape<Name>> {
        let shape = self.requests.get(response.more().request_record.as_ref()?)?;
        self.shapes.get(*shape).copied()
    }

    /// Sets what it cost to carry the tools of each server: the price of their tokens in every request that had
    /// them. Tools are the beginning of a prompt, so they are read from the cache if anything is.
    fn carry(&self, parts: &mut [Part]) {
        for part in parts.iter_mut().filter(|part| matches!(part.kind, PartKind::Server | PartKind::Tools)) {
            let mut cost = None;
            for response in &self.responses {
                let Some(shape) = self.shape(response) else { continue };
                let names: BTreeSet<Option<Name>> =
                    shape.tools.iter().map(|tool| server_of(&tool.name)).collect();
                if let (true, Some(price)) = (names.contains(&part.name), response.more().prefix_price) {
                    add(&mut cost, Usd::from_nanos(price.nanos() * i128::from(part.tokens) / 1_000_000));
                }
            }
            part.carried = cost;
        }
    }
}
