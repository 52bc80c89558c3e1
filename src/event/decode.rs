//! One record's bytes become an [`Event`], the obvious way: check the JSON, open what is needed, look up each field.

use smallvec::SmallVec;

use super::{
    Block, BlockKind, Body, Denial, Event, Flaw, Half, Message, ModelUse, Part, Response, StreamPart, Text,
    ToolResult, TurnEnd, Usage,
    denial::is_refusal,
    dialect::{Dialect, Signs},
    json::{self, Json, Object},
    kind::{Discriminator, Kind},
};
use crate::measure::{Millis, Time, Tokens, Usd};

/// The model name of messages that no model wrote.
const SYNTHETIC: &str = "<synthetic>";

/// Beginnings of user texts that no human typed.
const NOT_HUMAN: &[&str] = &[
    "<local-command-",
    "<command-name>",
    "<task-notification>",
    "[Request interrupted",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "This session is being continued from a previous conversation",
];

/// Judges one record: the whole of `bytes` must be one JSON object with a string `type`.
pub fn decode(bytes: &[u8]) -> Result<Event<'_>, Flaw> {
    let text = simdutf8::basic::from_utf8(bytes).map_err(|_| Flaw::NotUtf8)?;
    if !text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') {
        return Err(json::is_valid(text).map_or_else(|error| not_json(&error), |()| Flaw::NotARecord));
    }
    let record = json::object(text).map_err(|error| not_json(&error))?;
    let kind = record.get("type").and_then(Json::string).ok_or(Flaw::NotARecord)?;
    Ok(event(&record, kind))
}

/// serde_json's words without its position, which counts from the piece, not from the line.
fn not_json(error: &serde_json::Error) -> Flaw {
    let words = error.to_string();
    let words = words.split_once(" at line ").map_or(&*words, |(words, _)| words);
    Flaw::NotJson(words.to_owned(), error.column())
}

fn event<'a>(record: &Object<'a>, kind: Text<'a>) -> Event<'a> {
    let sub = match Discriminator::of(&kind) {
        Discriminator::None => None,
        Discriminator::Field(key) => record.text(key),
        Discriminator::Nested(outer, key) => record.object(outer).and_then(|outer| outer.text(key)),
    };
    let (camel, snake) = (record.text("sessionId"), record.text("session_id"));
    let dialect = signs(record, &kind, sub.as_deref(), camel.is_some(), snake.is_some()).dialect();
    let identified = matches!(&*kind, "assistant" | "user" | "system" | "attachment" | "result");
    let time = record.text("timestamp").and_then(|text| Time::parse(&text));
    Event {
        dialect,
        uuid: if identified { record.text("uuid") } else { None },
        session: if dialect == Dialect::Stream { snake.or(camel) } else { camel.or(snake) },
        time,
        version: record.text(if dialect == Dialect::Transcript { "version" } else { "claude_code_version" }),
        prompt: kind == "user" && is_prompt(record),
        body: body(record, &kind, sub.as_deref(), dialect),
        kind: Kind::of(kind, sub),
    }
}

fn signs<'a>(
    record: &Object<'_>,
    kind: &'a str,
    sub: Option<&'a str>,
    camel_id: bool,
    snake_id: bool,
) -> Signs<'a> {
    let verdict = || record.object("response")?.object("response")?.get("behavior");
    Signs {
        kind,
        sub,
        camel_id,
        snake_id,
        in_a_tree: record.has("parentUuid") || record.has("isSidechain"),
        tools_or_cwd: record.has("tools") || record.has("cwd"),
        total_cost: record.has("total_cost_usd"),
        cost_or_duration: record.has("cost") || record.has("duration"),
        verdict: kind == "control_response" && verdict().is_some(),
    }
}

fn body<'a>(record: &Object<'a>, kind: &str, sub: Option<&str>, dialect: Dialect) -> Body<'a> {
    let found = match (kind, sub) {
        ("user" | "assistant", _) => Some(Body::Message(message(record, kind))),
        ("result", _) => Some(Body::TurnEnd(Box::new(turn_end(record, dialect)))),
        ("stream_event", Some(part)) => stream_part(record, part).map(Body::Stream),
        ("progress", _) => nested(record),
        ("conversation_reset", _) => Some(Body::Reset),
        ("system", Some("permission_denied")) => Some(Body::Denial(denial(record))),
        ("system", Some("api_retry")) => Some(Body::Retry(
            record.text("error").unwrap_or_else(|| status_name(record.number("error_status"))),
        )),
        ("system", Some("api_error")) => {
            let status = record.object("error").and_then(|error| error.number("status"));
            Some(Body::Retry(status_name(status)))
        }
        ("system", Some("turn_duration")) => millis(record, "durationMs").map(Body::TurnDuration),
        ("cost-state", _) => dollars(record, "totalCostUSD")
            .map(|total| Body::CostState(total, model_uses(record, "modelUsage").unwrap_or_default())),
        ("tool_result", _) if dialect == Dialect::Bridge => bridge_answer(record),
        ("reject", _) if dialect == Dialect::Bridge => {
            Some(Body::Denial(Denial { id: record.text("id"), tool: None }))
        }
        _ => None,
    };
    found.unwrap_or(Body::Plain)
}

fn bridge_answer<'a>(record: &Object<'a>) -> Option<Body<'a>> {
    let id = record.text("toolUseId")?;
    Some(Body::Answer(ToolResult { id: Some(id), is_error: record.is_true("isError"), denied: false }))
}

/// A subagent's message that 2.1.12 to 2.1.63 wrote into a `progress` record.
fn nested<'a>(record: &Object<'a>) -> Option<Body<'a>> {
    let inner = record.object("data")?.object("message")?;
    let kind = inner.text("type").filter(|kind| matches!(&**kind, "user" | "assistant"))?;
    let time = inner.text("timestamp").and_then(|text| Time::parse(&text));
    Some(Body::Nested(message(&inner, &kind), time))
}

fn message<'a>(record: &Object<'a>, kind: &str) -> Message<'a> {
    let message = record.object("message").unwrap_or_default();
    let content = message.get("content");
    let role = message
        .text("role")
        .unwrap_or_else(|| if kind == "user" { "user".into() } else { "assistant".into() });
    let mut read = Message { blocks: blocks(record, &role, content), ..Message::default() };
    if kind != "assistant" {
        return read;
    }
    let synthetic = message.get("model").and_then(Json::string).is_some_and(|model| model == SYNTHETIC);
    read.api_error = api_error(record, content, synthetic);
    // An empty `message` tells of no response, and one that no model wrote is none.
    let empty = message.entries().is_empty();
    read.response = (!synthetic && !empty).then(|| Response {
        id: message.text("id"),
        model: message.text("model"),
        requested: record.text("requestedModel"),
        usage: usage_of(&message),
        stopped: message.get("stop_reason").is_some_and(|reason| !reason.is_null()),
    });
    read
}

fn blocks<'a>(record: &Object<'a>, role: &Text<'a>, content: Option<Json<'a>>) -> SmallVec<[Block<'a>; 1]> {
    let Some(content) = content else { return SmallVec::new() };
    if content.string().is_some() {
        return smallvec::smallvec![Block { kind: BlockKind::of(role, "text".into()), half: Half::Neither }];
    }
    content
        .array()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|block| self::block(record, role, &block.object()?))
        .collect()
}

fn block<'a>(record: &Object<'a>, role: &Text<'a>, block: &Object<'a>) -> Option<Block<'a>> {
    let kind = block.text("type")?;
    let half = match &*kind {
        "tool_use" => Half::Ask(block.text("id"), block.text("name")),
        "tool_result" => Half::Answer(tool_result(record, block)),
        _ => Half::Neither,
    };
    Some(Block { kind: BlockKind::of(role, kind), half })
}

fn tool_result<'a>(record: &Object<'a>, block: &Object<'a>) -> ToolResult<'a> {
    let (id, is_error) = (block.text("tool_use_id"), block.is_true("is_error"));
    let denied = structured_verdict(record, id.as_deref())
        .unwrap_or_else(|| is_error && is_refusal(&text_of(block.get("content")).unwrap_or_default()));
    ToolResult { id, is_error, denied }
}

/// What the fields beside a result say of its permission; `None` where the version wrote no such field.
fn structured_verdict(record: &Object<'_>, id: Option<&str>) -> Option<bool> {
    let mut verdict = None;
    for entry in record.array("tool_result_meta").into_iter().filter_map(Json::object) {
        if id.is_some() && entry.get("id").and_then(Json::string).as_deref() == id {
            let refused = refused(&entry, "non_execution_kind", "permission_decision");
            verdict = Some(verdict.unwrap_or(false) || refused);
        }
    }
    if record.has("toolDenialKind") || record.has("permissionDecision") {
        verdict = Some(verdict.unwrap_or(false) || refused(record, "toolDenialKind", "permissionDecision"));
    }
    verdict
}

fn refused(fields: &Object<'_>, kind: &str, decision: &str) -> bool {
    let rejected = || fields.object(decision)?.text("decision").filter(|decision| decision == "reject");
    fields.get(kind).is_some_and(Json::says_something) || rejected().is_some()
}

fn api_error<'a>(record: &Object<'a>, content: Option<Json<'a>>, synthetic: bool) -> Option<Text<'a>> {
    let named = record.text("error");
    let flagged =
        named.is_some() || record.is_true("is_api_error_message") || record.is_true("isApiErrorMessage");
    // Streams of 1.0.128 have no flag at all.
    let says_so = || synthetic && text_of(content).is_some_and(|text| text.starts_with("API Error"));
    if !flagged && !says_so() {
        return None;
    }
    let status = || {
        ["api_error_status", "apiErrorStatus"].iter().find_map(|key| record.number(key).filter(|&n| n != 0.0))
    };
    Some(named.unwrap_or_else(|| status_name(status())))
}

/// The API's name for an HTTP status.
fn status_name(status: Option<f64>) -> Text<'static> {
    let Some(status) = status else { return "unknown".into() };
    #[expect(clippy::cast_possible_truncation, reason = "what is no status is unknown anyway")]
    let name = match status as i64 {
        _ if status.fract() != 0.0 && status < 500.0 => "unknown",
        400 | 413 => "invalid_request",
        401 | 403 => "authentication_failed",
        404 => "model_not_found",
        429 => "rate_limit",
        529 => "overloaded",
        500.. => "server_error",
        _ => "unknown",
    };
    name.into()
}

/// The text of a content: the string, or the texts of its blocks one after another.
fn text_of(content: Option<Json<'_>>) -> Option<Text<'_>> {
    let content = content?;
    if let Some(text) = content.string() {
        return Some(text);
    }
    let mut texts = content.array()?.into_iter().filter_map(|block| block.object()?.text("text"));
    let first = texts.next()?;
    Some(texts.fold(first, |all, text| all + text))
}

fn is_prompt(record: &Object<'_>) -> bool {
    const FLAGS: &[&str] = &["isReplay", "isSynthetic", "isMeta", "isCompactSummary", "isSidechain"];
    let Some(message) = record.object("message") else { return false };
    let Some(content) = message.get("content") else { return false };
    let blocks = content.array().unwrap_or_default();
    let is_result = |block: &Json<'_>| {
        block.object().and_then(|block| block.text("type")).is_some_and(|kind| kind == "tool_result")
    };
    let another_origin = || {
        let kind = record.object("origin")?.get("kind")?;
        Some(kind.string().is_none_or(|kind| kind != "human"))
    };
    if (content.string().is_none() && blocks.is_empty())
        || blocks.iter().any(is_result)
        || FLAGS.iter().any(|flag| record.is_true(flag))
        || record.get("parent_tool_use_id").is_some_and(Json::says_something)
        || record.get("toolUseResult").is_some_and(|result| !result.is_null())
        || another_origin() == Some(true)
    {
        return false;
    }
    let text = text_of(Some(content)).unwrap_or_default();
    let text = text.trim_start();
    !NOT_HUMAN.iter().any(|start| text.starts_with(start))
}

fn stream_part<'a>(record: &Object<'a>, part: &str) -> Option<StreamPart<'a>> {
    let event = record.object("event")?;
    let api_id = record.text("api_message_id");
    let has_api_id = api_id.is_some();
    let lane = record.text("parent_tool_use_id");
    match part {
        "message_start" => {
            let message = event.object("message")?;
            let part = Part::Start(message.text("model"), usage_of(&message));
            Some(StreamPart { id: Some(message.text("id")?), lane, has_api_id, part })
        }
        "message_delta" => {
            let stopped = event.object("delta").and_then(|delta| delta.text("stop_reason")).is_some();
            let part = Part::Delta(usage_of(&event), stopped);
            Some(StreamPart { id: api_id, lane, has_api_id, part })
        }
        _ => None,
    }
}

fn turn_end<'a>(record: &Object<'a>, dialect: Dialect) -> TurnEnd<'a> {
    let (cost, wall) =
        if dialect == Dialect::Bridge { ("cost", "duration") } else { ("total_cost_usd", "duration_ms") };
    TurnEnd {
        subtype: record.text("subtype"),
        is_error: record.is_true("is_error"),
        num_turns: record.number("num_turns").map(|_| record.count("num_turns")),
        total: dollars(record, cost),
        models: model_uses(record, "modelUsage"),
        since_last: model_uses(record, "model_usage_since_last_result"),
        usage: usage_of(record).unwrap_or_default(),
        api: millis(record, "duration_api_ms"),
        wall: millis(record, wall),
        denials: record
            .array("permission_denials")
            .into_iter()
            .filter_map(Json::object)
            .map(|entry| denial(&entry))
            .collect(),
    }
}

fn denial<'a>(entry: &Object<'a>) -> Denial<'a> {
    Denial { id: entry.text("tool_use_id"), tool: entry.text("tool_name") }
}

/// The `usage` of a message, an event or a result.
fn usage_of<'a>(holder: &Object<'a>) -> Option<Usage<'a>> {
    let usage = holder.object("usage")?;
    let split = usage.object("cache_creation").unwrap_or_default();
    let (five, hour) = (split.count("ephemeral_5m_input_tokens"), split.count("ephemeral_1h_input_tokens"));
    let cache_write = usage.count("cache_creation_input_tokens").max(five.saturating_add(hour));
    Some(Usage {
        input: usage.count("input_tokens"),
        output: usage.count("output_tokens"),
        cache_read: usage.count("cache_read_input_tokens"),
        cache_write,
        cache_write_1h: hour.min(cache_write),
        web_searches: usage.object("server_tool_use").map_or(0, |server| server.count("web_search_requests")),
        fast: usage.text("speed").is_some_and(|speed| speed == "fast"),
        geo: usage.text("inference_geo"),
    })
}

fn model_uses<'a>(holder: &Object<'a>, key: &str) -> Option<Vec<ModelUse<'a>>> {
    let models = holder.object(key)?.entries();
    Some(
        models
            .into_iter()
            .map(|(model, fields)| model_use(model, &fields.object().unwrap_or_default()))
            .collect(),
    )
}

fn model_use<'a>(model: Text<'a>, fields: &Object<'a>) -> ModelUse<'a> {
    let written = fields.count("cacheCreationInputTokens");
    let hour = fields.count("cacheCreationEphemeral1hInputTokens").min(written);
    let tokens = Tokens {
        input: fields.count("inputTokens"),
        output: fields.count("outputTokens"),
        cache_read: fields.count("cacheReadInputTokens"),
        cache_write_5m: written - hour,
        cache_write_1h: hour,
        web_searches: fields.count("webSearchRequests"),
    };
    ModelUse { model, tokens, cost: dollars(fields, "costUSD").unwrap_or_default() }
}

fn dollars(fields: &Object<'_>, key: &str) -> Option<Usd> {
    fields.number(key).map(Usd::from_dollars)
}

fn millis(fields: &Object<'_>, key: &str) -> Option<Millis> {
    fields.number(key).map(Millis::from_number)
}
