//! Decodes a parsed record into an [`Event`]: the meaning of its fields, whichever parser found them.

mod message;

pub(super) use message::{API_ERROR, NOT_HUMAN};
use std::sync::LazyLock;

use memchr::memmem::Finder;
use message::{decode_message, is_prompt};

use super::{
    Agent, Body, Compaction, Denial, Event, Message, ModelUse, PullRequest, StreamPart, StreamPayload, Text,
    ToolResult, TurnEnd, Usage,
    dialect::{Dialect, DialectHints},
    fields::{
        AgentFields, AgentKey, CallFields, CallKey, CompactionFields, CompactionKey, DeltaKey, EventKey,
        MessageKey, ModelFields, ModelKey, PartFields, PartKey, RecordFields, RecordKey, RunTimeFields,
        RunTimeKey, SearchKey, ServerFields, ServerKey, SplitKey, UsageKey,
    },
    json::{self, Json},
    kind::{Discriminator, Kind, Type},
    obvious::Obvious,
    record::{Models, Parser, RawUsage, Record},
};
use crate::measure::{Millis, Time, Tokens, Usd};

/// Decodes a record into `event`. Returns `None` and leaves `event` unchanged if there is no string `type`.
///
/// The event is written field by field in place. An event that is built and then moved is read back before
/// its fields have arrived in memory, and the processor waits: that took 15 % of the time on short lines.
#[inline]
pub(super) fn decode_record<'a, P: Parser<'a>>(
    record: &Record<'a>,
    text: &'a str,
    event: &mut Event<'a>,
) -> Option<()> {
    let name = record.fields.get(RecordKey::Type)?.string()?;
    decode_typed::<P>(record, name, text, event);
    Some(())
}

/// Decodes a record of type `name`. `event` is destructured, so that the compiler notices a forgotten field,
/// which would keep the value of the record before.
fn decode_typed<'a, P: Parser<'a>>(
    record: &Record<'a>,
    name: Text<'a>,
    whole: &'a str,
    event: &mut Event<'a>,
) {
    let Event { kind, dialect, uuid, session, time, version, prompt, cwd, branch, agent, text, bytes, body } =
        event;
    let fields = &record.fields;
    let named = Type::of(&name);
    let sub = discriminator::<P>(record, named);
    let (camel, snake) = (fields.text(RecordKey::CamelSession), fields.text(RecordKey::SnakeSession));
    *dialect = dialect_hints::<P>(fields, &name, sub.as_deref(), camel.is_some(), snake.is_some()).dialect();
    let written = if *dialect == Dialect::Transcript { RecordKey::Version } else { RecordKey::CliVersion };
    *uuid = if named.is_identified() { fields.text(RecordKey::Uuid) } else { None };
    *session = if *dialect == Dialect::Stream { snake.or(camel) } else { camel.or(snake) };
    *time = time_of(fields);
    *version = fields.text(written);
    *prompt = named == Type::User && is_prompt::<P>(record);
    *cwd = fields.text(RecordKey::Cwd);
    *branch = fields.text(RecordKey::GitBranch);
    decode_agent(fields, agent);
    *text = whole;
    *bytes = whole.len() as u64;
    *kind = Kind::of_type(named, name, sub);
    *body = Body::Plain;
    decode_body::<P>(record, named, *dialect, body);
}

fn decode_agent<'a>(fields: &RecordFields<'a>, agent: &mut Agent<'a>) {
    let Agent { call, id, kind, sidechain } = agent;
    *call = fields.text(RecordKey::ParentToolUse).or_else(|| fields.text(RecordKey::ProgressOf));
    *id = fields.text(RecordKey::CamelAgent).or_else(|| fields.text(RecordKey::SnakeAgent));
    *kind = fields.text(RecordKey::SubagentType).or_else(|| fields.text(RecordKey::AttributionAgent));
    *sidechain = fields.is_true(RecordKey::IsSidechain);
}

fn time_of(fields: &RecordFields<'_>) -> Option<Time> {
    fields.text(RecordKey::Timestamp).and_then(|text| Time::parse(&text))
}

/// Returns the string `name` of the object `key`.
#[inline(never)]
fn nested_text<'a, P: Parser<'a>>(
    fields: &RecordFields<'a>,
    key: RecordKey,
    name: PartKey,
) -> Option<Text<'a>> {
    let inner: PartFields<'a> = fields.get(key).and_then(P::fields)?;
    inner.text(name)
}

/// Returns the discriminator of a record, the second part of its kind's name.
fn discriminator<'a, P: Parser<'a>>(record: &Record<'a>, kind: Type) -> Option<Text<'a>> {
    match kind.discriminator() {
        Discriminator::None => None,
        Discriminator::Subtype => record.fields.text(RecordKey::Subtype),
        Discriminator::Operation => record.fields.text(RecordKey::Operation),
        Discriminator::Event => record.event.get()?.fields.text(EventKey::Type),
        Discriminator::Attachment => record.attachment.get()?.text(PartKey::Type),
        Discriminator::Request => nested_text::<P>(&record.fields, RecordKey::Request, PartKey::Subtype),
        Discriminator::Response => nested_text::<P>(&record.fields, RecordKey::Response, PartKey::Subtype),
        Discriminator::Data => nested_text::<P>(&record.fields, RecordKey::Data, PartKey::Type),
    }
}

/// Returns `response.response.behavior`, a host's answer to a permission request.
#[inline(never)]
fn permission_behavior<'a, P: Parser<'a>>(fields: &RecordFields<'a>) -> Option<Json<'a>> {
    let response: PartFields<'a> = P::fields(fields.get(RecordKey::Response)?)?;
    let inner: PartFields<'a> = P::fields(response.get(PartKey::Response)?)?;
    inner.get(PartKey::Behavior)
}

fn dialect_hints<'a, 's, P: Parser<'a>>(
    fields: &RecordFields<'a>,
    kind: &'s str,
    sub: Option<&'s str>,
    camel_id: bool,
    snake_id: bool,
) -> DialectHints<'s> {
    DialectHints {
        kind,
        sub,
        camel_id,
        snake_id,
        has_parent: fields.has(RecordKey::ParentUuid) || fields.has(RecordKey::IsSidechain),
        tools_or_cwd: fields.has(RecordKey::Tools) || fields.has(RecordKey::Cwd),
        total_cost: fields.has(RecordKey::TotalCost),
        cost_or_duration: fields.has(RecordKey::Cost) || fields.has(RecordKey::Duration),
        has_behavior: kind == "control_response" && permission_behavior::<P>(fields).is_some(),
    }
}

/// Decodes the body of a record in place. A body is large, and most records have none: moving it took 4 % of
/// the instructions on short lines.
#[inline]
fn decode_body<'a, P: Parser<'a>>(record: &Record<'a>, kind: Type, dialect: Dialect, body: &mut Body<'a>) {
    let fields = &record.fields;
    let bridged = dialect == Dialect::Bridge;
    if matches!(kind, Type::User | Type::Assistant) {
        *body = Body::Message(Message::default());
        if let Body::Message(message) = body {
            decode_message::<P>(record, kind == Type::Assistant, message);
        }
        return;
    }
    *body = match kind {
        Type::StreamEvent => match stream_part(record) {
            Some(part) => Body::Stream(part),
            None => return,
        },
        Type::Result => Body::TurnEnd(Box::new(turn_end::<P>(record, dialect))),
        Type::System => system::<P>(fields),
        Type::Progress => progress_message::<P>(fields).unwrap_or(Body::Plain),
        Type::ConversationReset => Body::Reset,
        Type::CostState => fields.number(RecordKey::SavedCost).map_or(Body::Plain, |total| {
            Body::CostState(
                Usd::from_dollars(total),
                record.models.as_ref().map(model_uses).unwrap_or_default(),
            )
        }),
        Type::PullRequestLink => pull_request(fields).map_or(Body::Plain, Body::PullRequest),
        Type::ToolResult if bridged => bridge_result(fields).unwrap_or(Body::Plain),
        Type::Reject if bridged => Body::Denial(Denial { id: fields.text(RecordKey::Id), tool: None }),
        _ => return,
    };
}

#[inline(never)]
fn system<'a, P: Parser<'a>>(fields: &RecordFields<'a>) -> Body<'a> {
    match fields.text(RecordKey::Subtype).as_deref() {
        Some("permission_denied") => Body::Denial(Denial {
            id: fields.text(RecordKey::ToolUse),
            tool: fields.text(RecordKey::ToolName),
        }),
        Some("api_retry") => {
            let named = fields.text(RecordKey::Error);
            let kind = named.map_or_else(|| status_name(fields.number(RecordKey::ErrorStatus)), error_name);
            Body::Retry(kind, millis(fields, RecordKey::SnakeRetryDelay))
        }
        Some("api_error") => {
            let error: Option<PartFields<'a>> = fields.get(RecordKey::Error).and_then(P::fields);
            let kind = status_name(error.and_then(|error| error.number(PartKey::Status)));
            Body::Retry(kind, millis(fields, RecordKey::CamelRetryDelay))
        }
        Some("turn_duration") => {
            millis(fields, RecordKey::DurationMs).map_or(Body::Plain, Body::TurnDuration)
        }
        Some("compact_boundary") => compaction::<P>(fields),
        Some("init") => {
            let servers = fields.get(RecordKey::McpServers).filter(|json| json.is_array());
            servers.map_or(Body::Plain, |json| Body::Servers(json.source()))
        }
        _ => Body::Plain,
    }
}

fn compaction<'a, P: Parser<'a>>(fields: &RecordFields<'a>) -> Body<'a> {
    let told = [RecordKey::SnakeCompaction, RecordKey::CamelCompaction];
    let told: CompactionFields<'a> =
        told.into_iter().find_map(|key| fields.get(key)).and_then(P::fields).unwrap_or_default();
    let first = |keys: [CompactionKey; 2]| keys.into_iter().find_map(|key| told.get(key));
    let count = |keys| first(keys).filter(|json| json.number().is_some()).map(Json::count);
    let took = first([CompactionKey::SnakeTook, CompactionKey::CamelTook]).and_then(Json::number);
    Body::Compaction(Compaction {
        before: count([CompactionKey::SnakeBefore, CompactionKey::CamelBefore]),
        after: count([CompactionKey::SnakeAfter, CompactionKey::CamelAfter]),
        trigger: told.text(CompactionKey::Trigger),
        took: took.map(Millis::from_f64),
    })
}

/// Decodes a `pr-link` record.
#[inline(never)]
fn pull_request<'a>(fields: &RecordFields<'a>) -> Option<PullRequest<Text<'a>>> {
    let link = PullRequest {
        number: fields.number(RecordKey::PullNumber).map(|_| fields.count(RecordKey::PullNumber)),
        repository: fields.text(RecordKey::PullRepository),
        url: fields.text(RecordKey::PullUrl),
    };
    (link.number.is_some() || link.url.is_some()).then_some(link)
}

fn bridge_result<'a>(fields: &RecordFields<'a>) -> Option<Body<'a>> {
    let id = fields.text(RecordKey::BridgeToolUse)?;
    Some(Body::BridgeResult(ToolResult {
        id: Some(id),
        is_error: fields.is_true(RecordKey::BridgeIsError),
        denied: false,
        content: None,
        bytes: 0,
        outcome: None,
        decision: None,
        refusal: None,
    }))
}

/// Decodes the subagent's message in a `progress` record, which 2.1.12 to 2.1.63 wrote.
#[inline(never)]
fn progress_message<'a, P: Parser<'a>>(fields: &RecordFields<'a>) -> Option<Body<'a>> {
    let data: PartFields<'a> = fields.get(RecordKey::Data).and_then(P::fields)?;
    let inner = Record::from_fields::<P>(data.get(PartKey::Message).and_then(P::fields)?);
    let kind = inner.fields.text(RecordKey::Type).filter(|kind| matches!(&**kind, "user" | "assistant"))?;
    let mut message = Message::default();
    decode_message::<P>(&inner, kind == "assistant", &mut message);
    Some(Body::Nested(message, time_of(&inner.fields)))
}

fn stream_part<'a>(record: &Record<'a>) -> Option<StreamPart<'a>> {
    let event = record.event.get()?;
    let api_id = || record.fields.text(RecordKey::ApiMessage);
    let lane = || record.fields.text(RecordKey::ParentToolUse);
    match &*event.fields.text(EventKey::Type)? {
        "message_start" => {
            let message = event.message.get()?;
            Some(StreamPart {
                id: Some(message.fields.text(MessageKey::Id)?),
                lane: lane(),
                has_api_id: api_id().is_some(),
                payload: StreamPayload::Start(
                    message.fields.text(MessageKey::Model),
                    message.usage.get().map(usage),
                ),
            })
        }
        "message_delta" => {
            let stopped = event.delta.text(DeltaKey::StopReason).is_some();
            let payload = StreamPayload::Delta(event.usage.get().map(usage), stopped);
            let id = api_id();
            Some(StreamPart { has_api_id: id.is_some(), id, lane: lane(), payload })
        }
        _ => None,
    }
}

/// Returns the name of an API error. Names are one word; anything else is a message, and reports show none of
/// those.
fn error_name(name: Text<'_>) -> Text<'_> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    if name.len() <= 64 && name.bytes().all(plain) { name } else { "unknown".into() }
}

/// Returns the API's name for an HTTP status.
fn status_name(status: Option<f64>) -> Text<'static> {
    let Some(status) = status else { return "unknown".into() };
    #[expect(clippy::cast_possible_truncation, reason = "a number that is not a status is unknown anyway")]
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

#[inline(never)]
fn turn_end<'a, P: Parser<'a>>(record: &Record<'a>, dialect: Dialect) -> TurnEnd<'a> {
    let fields = &record.fields;
    let (cost, wall) = match dialect {
        Dialect::Bridge => (RecordKey::Cost, RecordKey::Duration),
        _ => (RecordKey::TotalCost, RecordKey::WallMillis),
    };
    let denials = fields.get(RecordKey::Denials).and_then(P::elements).unwrap_or_default();
    TurnEnd {
        subtype: fields.text(RecordKey::Subtype),
        is_error: fields.is_true(RecordKey::IsError),
        num_turns: fields.number(RecordKey::NumTurns).map(|_| fields.count(RecordKey::NumTurns)),
        total: fields.number(cost).map(Usd::from_dollars),
        models: record.models.as_ref().map(model_uses),
        since_last: record.since_last.as_ref().map(model_uses),
        usage: record.usage.get().map(usage).unwrap_or_default(),
        api: millis(fields, RecordKey::ApiMillis),
        wall: millis(fields, wall),
        first_token: millis(fields, RecordKey::FirstToken),
        time_to_request: millis(fields, RecordKey::TimeToRequest),
        denials: denials.into_iter().filter_map(P::fields).map(|entry| denial(&entry)).collect(),
    }
}

fn denial<'a>(entry: &CallFields<'a>) -> Denial<'a> {
    Denial { id: entry.text(CallKey::ToolUse), tool: entry.text(CallKey::ToolName) }
}

/// Decodes the `usage` of a message, an event or a result.
fn usage(usage: &RawUsage<'_>) -> Usage {
    let RawUsage { fields, cache_creation, server_tools } = usage;
    let (five, hour) = (cache_creation.count(SplitKey::FiveMinutes), cache_creation.count(SplitKey::OneHour));
    let cache_write = fields.count(UsageKey::CacheWrite).max(five.saturating_add(hour));
    Usage {
        input: fields.count(UsageKey::Input),
        output: fields.count(UsageKey::Output),
        cache_read: fields.count(UsageKey::CacheRead),
        cache_write,
        cache_write_1h: hour.min(cache_write),
        web_searches: server_tools.count(SearchKey::WebSearches),
        fast: fields.text(UsageKey::Speed).is_some_and(|speed| speed == "fast"),
        in_us: fields.text(UsageKey::Geo).is_some_and(|geo| geo == "us"),
    }
}

fn model_uses<'a>(models: &Models<'a>) -> Vec<ModelUse<'a>> {
    models.iter().map(|(model, fields)| model_use(model.clone(), fields)).collect()
}

fn model_use<'a>(model: Text<'a>, fields: &ModelFields<'a>) -> ModelUse<'a> {
    let written = fields.count(ModelKey::CacheWrite);
    let hour = fields.count(ModelKey::OneHour).min(written);
    let tokens = Tokens {
        input: fields.count(ModelKey::Input),
        output: fields.count(ModelKey::Output),
        cache_read: fields.count(ModelKey::CacheRead),
        cache_write_5m: written - hour,
        cache_write_1h: hour,
        web_searches: fields.count(ModelKey::WebSearches),
    };
    let cost = fields.number(ModelKey::Cost).map(Usd::from_dollars).unwrap_or_default();
    ModelUse { model, tokens, cost }
}

/// Returns the type of the subagent that a call requests.
pub fn agent_of_input(input: &str) -> Option<Text<'_>> {
    let fields: AgentFields<'_> = Obvious::fields(Json::checked(input))?;
    fields.text(AgentKey::Wanted)
}

/// Returns the id and type of the subagent that a call started, from the `toolUseResult`.
///
/// These results are large, and only those of one tool have an agent, so a substring search goes first.
pub fn agent_of_outcome(outcome: &str) -> Option<(Text<'_>, Option<Text<'_>>)> {
    static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"agentId\""));
    NAME.find(outcome.as_bytes())?;
    let fields: AgentFields<'_> = Obvious::fields(Json::checked(outcome))?;
    Some((fields.text(AgentKey::Id)?, fields.text(AgentKey::Type)))
}

/// Returns how long a tool ran, from its result object. Most tools do not say it.
pub fn run_time_of_outcome(outcome: &str) -> Option<Millis> {
    static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("uration"));
    NAME.find(outcome.as_bytes())?;
    let fields: RunTimeFields<'_> = Obvious::fields(Json::checked(outcome))?;
    let millis = fields.number(RunTimeKey::Total).or_else(|| fields.number(RunTimeKey::Millis));
    let seconds = || fields.number(RunTimeKey::Seconds).map(|seconds| seconds * 1000.0);
    millis.or_else(seconds).filter(|&millis| millis >= 0.0).map(Millis::from_f64)
}

/// Returns the `id` and the `querySource` of a record of a request.
pub fn request_of(record: &str) -> (Option<Text<'_>>, Option<Text<'_>>) {
    static NAMES: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| ["\"id\"", "\"querySource\""].map(Finder::new));
    let [id, source] = json::plain_members(record, &NAMES).unwrap_or_else(|| {
        let record = json::object(record).unwrap_or_default();
        ["id", "querySource"].map(|name| record.text(&[name]))
    });
    (id, source)
}

/// Returns the name and status of each MCP server in an `mcp_servers` array. Servers without a name are
/// skipped.
pub fn servers_of(servers: &str) -> Vec<(Text<'_>, Option<Text<'_>>)> {
    let all = Obvious::elements(Json::checked(servers)).unwrap_or_default();
    let server = |json| {
        let fields: ServerFields<'_> = Obvious::fields(json)?;
        Some((fields.text(ServerKey::Name)?, fields.text(ServerKey::Status)))
    };
    all.into_iter().filter_map(server).collect()
}

fn millis(fields: &RecordFields<'_>, key: RecordKey) -> Option<Millis> {
    fields.number(key).map(Millis::from_f64)
}
