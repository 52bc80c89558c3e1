//! A record taken apart becomes an [`Event`]: what its fields mean, whichever way they were found.

use smallvec::SmallVec;

use super::{
    Block, BlockKind, Body, Denial, Event, Half, Message, ModelUse, Part, Response, StreamPart, Text,
    ToolResult, TurnEnd, Usage,
    denial::is_refusal,
    dialect::{Dialect, Signs},
    fields::{
        BlockFields, BlockKey, CallFields, CallKey, EventFields, EventKey, MessageFields, MessageKey,
        ModelFields, ModelKey, RecordFields, RecordKey, UsageFields, UsageKey,
    },
    json::Json,
    kind::{Discriminator, Kind},
    record::{Blocks, Message as OpenMessage, Open, Record},
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

/// The event that a record tells; `None` if it has no string `type`.
#[inline]
pub(super) fn event<'a, O: Open<'a>>(record: &Record<'a>) -> Option<Event<'a>> {
    let fields = &record.fields;
    let kind = fields.get(RecordKey::Type)?.string()?;
    let sub = discriminator::<O>(record, &kind);
    let (camel, snake) = (fields.text(RecordKey::CamelSession), fields.text(RecordKey::SnakeSession));
    let dialect = signs::<O>(fields, &kind, sub.as_deref(), camel.is_some(), snake.is_some()).dialect();
    let identified = matches!(&*kind, "assistant" | "user" | "system" | "attachment" | "result");
    let version = if dialect == Dialect::Transcript { RecordKey::Version } else { RecordKey::CliVersion };
    Some(Event {
        dialect,
        uuid: if identified { fields.text(RecordKey::Uuid) } else { None },
        session: if dialect == Dialect::Stream { snake.or(camel) } else { camel.or(snake) },
        time: time(fields),
        version: fields.text(version),
        prompt: kind == "user" && is_prompt::<O>(record),
        body: body::<O>(record, &kind, sub.as_deref(), dialect),
        kind: Kind::of(kind, sub),
    })
}

fn time(fields: &RecordFields<'_>) -> Option<Time> {
    fields.text(RecordKey::Timestamp).and_then(|text| Time::parse(&text))
}

/// The second half of a kind's name.
fn discriminator<'a, O: Open<'a>>(record: &Record<'a>, kind: &str) -> Option<Text<'a>> {
    let inside = |key: RecordKey, name: EventKey| {
        record.fields.get(key).and_then(O::fields).and_then(|inner: EventFields<'a>| inner.text(name))
    };
    match Discriminator::of(kind) {
        Discriminator::None => None,
        Discriminator::Subtype => record.fields.text(RecordKey::Subtype),
        Discriminator::Operation => record.fields.text(RecordKey::Operation),
        Discriminator::Event => record.event.as_ref()?.text(EventKey::Type),
        Discriminator::Attachment => record.attachment.as_ref()?.text(EventKey::Type),
        Discriminator::Request => inside(RecordKey::Request, EventKey::Subtype),
        Discriminator::Response => inside(RecordKey::Response, EventKey::Subtype),
        Discriminator::Data => inside(RecordKey::Data, EventKey::Type),
    }
}

fn signs<'a, 's, O: Open<'a>>(
    fields: &RecordFields<'a>,
    kind: &'s str,
    sub: Option<&'s str>,
    camel_id: bool,
    snake_id: bool,
) -> Signs<'s> {
    let verdict = || {
        let response: EventFields<'a> = O::fields(fields.get(RecordKey::Response)?)?;
        let inner: EventFields<'a> = O::fields(response.get(EventKey::Response)?)?;
        inner.get(EventKey::Behavior)
    };
    Signs {
        kind,
        sub,
        camel_id,
        snake_id,
        in_a_tree: fields.has(RecordKey::ParentUuid) || fields.has(RecordKey::IsSidechain),
        tools_or_cwd: fields.has(RecordKey::Tools) || fields.has(RecordKey::Cwd),
        total_cost: fields.has(RecordKey::TotalCost),
        cost_or_duration: fields.has(RecordKey::Cost) || fields.has(RecordKey::Duration),
        verdict: kind == "control_response" && verdict().is_some(),
    }
}

/// What a record says beyond its name. Each arm is returned as it is made: a body is large, and moving it about takes
/// longer than finding out that there is none.
fn body<'a, O: Open<'a>>(record: &Record<'a>, kind: &str, sub: Option<&str>, dialect: Dialect) -> Body<'a> {
    let fields = &record.fields;
    match (kind, sub) {
        ("stream_event", Some(part @ ("message_start" | "message_delta"))) => {
            stream_part::<O>(record, part).map_or(Body::Plain, Body::Stream)
        }
        ("stream_event", _) => Body::Plain,
        ("user" | "assistant", _) => Body::Message(message::<O>(record, kind)),
        ("result", _) => Body::TurnEnd(Box::new(turn_end::<O>(fields, dialect))),
        ("progress", _) => nested::<O>(fields).unwrap_or(Body::Plain),
        ("conversation_reset", _) => Body::Reset,
        ("system", Some("permission_denied")) => Body::Denial(Denial {
            id: fields.text(RecordKey::ToolUse),
            tool: fields.text(RecordKey::ToolName),
        }),
        ("system", Some("api_retry")) => {
            let named = fields.text(RecordKey::Error);
            Body::Retry(named.unwrap_or_else(|| status_name(fields.number(RecordKey::ErrorStatus))))
        }
        ("system", Some("api_error")) => {
            let error: Option<EventFields<'a>> = fields.get(RecordKey::Error).and_then(O::fields);
            Body::Retry(status_name(error.and_then(|error| error.number(EventKey::Status))))
        }
        ("system", Some("turn_duration")) => {
            millis(fields, RecordKey::DurationMs).map_or(Body::Plain, Body::TurnDuration)
        }
        ("cost-state", _) => fields.number(RecordKey::SavedCost).map_or(Body::Plain, |total| {
            let models = model_uses::<O>(fields.get(RecordKey::ModelUsage));
            Body::CostState(Usd::from_dollars(total), models.unwrap_or_default())
        }),
        ("tool_result", _) if dialect == Dialect::Bridge => bridge_answer(fields).unwrap_or(Body::Plain),
        ("reject", _) if dialect == Dialect::Bridge => {
            Body::Denial(Denial { id: fields.text(RecordKey::Id), tool: None })
        }
        _ => Body::Plain,
    }
}

fn bridge_answer<'a>(fields: &RecordFields<'a>) -> Option<Body<'a>> {
    let id = fields.text(RecordKey::BridgeToolUse)?;
    Some(Body::Answer(ToolResult {
        id: Some(id),
        is_error: fields.is_true(RecordKey::BridgeIsError),
        denied: false,
    }))
}

/// A subagent's message that 2.1.12 to 2.1.63 wrote into a `progress` record.
fn nested<'a, O: Open<'a>>(fields: &RecordFields<'a>) -> Option<Body<'a>> {
    let data: EventFields<'a> = fields.get(RecordKey::Data).and_then(O::fields)?;
    let inner = Record::of::<O>(data.get(EventKey::Message).and_then(O::fields)?);
    let kind = inner.fields.text(RecordKey::Type).filter(|kind| matches!(&**kind, "user" | "assistant"))?;
    Some(Body::Nested(message::<O>(&inner, &kind), time(&inner.fields)))
}

fn message<'a, O: Open<'a>>(record: &Record<'a>, kind: &str) -> Message<'a> {
    let role_of_kind = || if kind == "user" { "user".into() } else { "assistant".into() };
    let opened = record.message.as_ref();
    let role = opened.and_then(|message| message.fields.text(MessageKey::Role)).unwrap_or_else(role_of_kind);
    let blocks = opened.map_or_else(SmallVec::new, |message| blocks::<O>(record, message, &role));
    if kind != "assistant" {
        return Message { blocks, ..Message::default() };
    }
    let model = opened.and_then(|message| message.fields.text(MessageKey::Model));
    let synthetic = model.as_deref() == Some(SYNTHETIC);
    // An empty `message` tells of no response, and one that no model wrote is none.
    let told = opened.filter(|message| !synthetic && !message.empty);
    let response = told.map(|message| response(&record.fields, message, model));
    Message { blocks, response, api_error: api_error::<O>(record, synthetic) }
}

fn response<'a>(
    record: &RecordFields<'a>,
    message: &OpenMessage<'a>,
    model: Option<Text<'a>>,
) -> Response<'a> {
    Response {
        id: message.fields.text(MessageKey::Id),
        model,
        requested: record.text(RecordKey::RequestedModel),
        usage: message.usage,
        stopped: message.fields.get(MessageKey::StopReason).is_some_and(|reason| !reason.is_null()),
    }
}

fn blocks<'a, O: Open<'a>>(
    record: &Record<'a>,
    message: &OpenMessage<'a>,
    role: &Text<'a>,
) -> SmallVec<[Block<'a>; 1]> {
    if message.fields.get(MessageKey::Content).is_some_and(Json::is_string) {
        return smallvec::smallvec![Block { kind: BlockKind::of(role, "text".into()), half: Half::Neither }];
    }
    let mut verdicts = None; // read once, and only if there is a result
    let objects = message.blocks.iter().flat_map(|blocks| &blocks.objects);
    let block = |fields: &BlockFields<'a>| {
        let kind = fields.text(BlockKey::Type)?;
        let half = match &*kind {
            "tool_use" => Half::Ask(fields.text(BlockKey::Id), fields.text(BlockKey::Name)),
            "tool_result" => {
                let verdicts = verdicts.get_or_insert_with(|| Verdicts::of::<O>(&record.fields));
                Half::Answer(tool_result::<O>(verdicts, fields))
            }
            _ => Half::Neither,
        };
        Some(Block { kind: BlockKind::of(role, kind), half })
    };
    objects.filter_map(block).collect()
}

fn tool_result<'a, O: Open<'a>>(verdicts: &Verdicts<'a>, block: &BlockFields<'a>) -> ToolResult<'a> {
    let (id, is_error) = (block.text(BlockKey::ToolUse), block.is_true(BlockKey::IsError));
    let refusal = || {
        is_error
            && block.get(BlockKey::Content).is_some_and(|content| is_refusal(&text_of_value::<O>(content)))
    };
    let denied = verdicts.get(id.as_deref()).unwrap_or_else(refusal);
    ToolResult { id, is_error, denied }
}

/// What the fields beside the results of a record say of their permission.
struct Verdicts<'a> {
    /// By id of the call, sorted: whether it was refused.
    by_call: SmallVec<[(Text<'a>, bool); 2]>,
    /// Of the whole record.
    of_all: Option<bool>,
}

impl<'a> Verdicts<'a> {
    fn of<O: Open<'a>>(record: &RecordFields<'a>) -> Self {
        let meta = record.get(RecordKey::ToolResultMeta).and_then(O::elements).unwrap_or_default();
        let by_call = meta.into_iter().filter_map(O::fields).filter_map(|entry: CallFields<'a>| {
            let refused = refused::<O>(entry.get(CallKey::NonExecution), entry.get(CallKey::Decision));
            Some((entry.text(CallKey::Id)?, refused))
        });
        let mut by_call: SmallVec<[(Text<'a>, bool); 2]> = by_call.collect();
        by_call.sort_unstable();
        let (kind, decision) =
            (record.get(RecordKey::ToolDenialKind), record.get(RecordKey::PermissionDecision));
        let said = kind.is_some() || decision.is_some();
        Self { by_call, of_all: said.then(|| refused::<O>(kind, decision)) }
    }

    /// Whether a call was refused, by any field; `None` where the version wrote no such field.
    fn get(&self, call: Option<&str>) -> Option<bool> {
        let own = call.and_then(|call| {
            let first = self.by_call.partition_point(|(id, _)| &**id < call);
            let mut same =
                self.by_call[first..].iter().take_while(|(id, _)| id == call).map(|&(_, refused)| refused);
            let own = same.next()?;
            Some(same.fold(own, |any, refused| any | refused))
        });
        match (own, self.of_all) {
            (Some(own), Some(all)) => Some(own || all),
            (own, all) => own.or(all),
        }
    }
}

fn refused<'a, O: Open<'a>>(kind: Option<Json<'a>>, decision: Option<Json<'a>>) -> bool {
    let decision: Option<EventFields<'a>> = decision.and_then(O::fields);
    let rejected = decision
        .and_then(|decision| decision.text(EventKey::Decision))
        .is_some_and(|decision| decision == "reject");
    rejected || kind.is_some_and(Json::says_something)
}

fn api_error<'a, O: Open<'a>>(record: &Record<'a>, synthetic: bool) -> Option<Text<'a>> {
    let fields = &record.fields;
    let named = fields.text(RecordKey::Error);
    let flagged = named.is_some()
        || fields.is_true(RecordKey::SnakeApiError)
        || fields.is_true(RecordKey::CamelApiError);
    // Streams of 1.0.128 have no flag at all.
    let says_so = || {
        synthetic && record.message.as_ref().is_some_and(|message| text_of(message).starts_with("API Error"))
    };
    if !flagged && !says_so() {
        return None;
    }
    let status = |key| fields.number(key).filter(|&status| status != 0.0);
    Some(named.unwrap_or_else(|| {
        status_name(status(RecordKey::SnakeApiStatus).or_else(|| status(RecordKey::CamelApiStatus)))
    }))
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

/// The text of a message: its string, or the texts of its blocks one after another.
fn text_of<'a>(message: &OpenMessage<'a>) -> Text<'a> {
    if let Some(text) = message.fields.get(MessageKey::Content).and_then(Json::string) {
        return text;
    }
    message.blocks.as_ref().map_or(Text::Borrowed(""), joined)
}

/// The same for a content that was not opened.
fn text_of_value<'a, O: Open<'a>>(content: Json<'a>) -> Text<'a> {
    if let Some(text) = content.string() {
        return text;
    }
    let objects = O::elements(content).unwrap_or_default().into_iter().filter_map(O::fields).collect();
    joined(&Blocks { objects, any: true })
}

fn joined<'a>(blocks: &Blocks<'a>) -> Text<'a> {
    let texts = blocks.objects.iter().filter_map(|block| block.text(BlockKey::Text));
    texts.reduce(|all, text| all + text).unwrap_or_default()
}

fn is_prompt<'a, O: Open<'a>>(record: &Record<'a>) -> bool {
    use RecordKey::{IsCompactSummary, IsMeta, IsReplay, IsSidechain, IsSynthetic};
    let fields = &record.fields;
    let Some(message) = &record.message else { return false };
    let is_text = message.fields.get(MessageKey::Content).is_some_and(Json::is_string);
    let is_result =
        |block: &BlockFields<'_>| block.text(BlockKey::Type).is_some_and(|kind| kind == "tool_result");
    let said = is_text
        || message.blocks.as_ref().is_some_and(|blocks| blocks.any && !blocks.objects.iter().any(is_result));
    let another_origin = || {
        let origin: EventFields<'a> = fields.get(RecordKey::Origin).and_then(O::fields)?;
        Some(origin.get(EventKey::Kind)?.string().is_none_or(|kind| kind != "human"))
    };
    if !said
        || [IsReplay, IsSynthetic, IsMeta, IsCompactSummary, IsSidechain]
            .into_iter()
            .any(|flag| fields.is_true(flag))
        || fields.get(RecordKey::ParentToolUse).is_some_and(Json::says_something)
        || fields.get(RecordKey::ToolUseResult).is_some_and(|result| !result.is_null())
        || another_origin() == Some(true)
    {
        return false;
    }
    let text = text_of(message);
    let text = text.trim_start();
    !NOT_HUMAN.iter().any(|start| text.starts_with(start))
}

fn stream_part<'a, O: Open<'a>>(record: &Record<'a>, part: &str) -> Option<StreamPart<'a>> {
    let event = record.event.as_ref()?;
    let api_id = || record.fields.text(RecordKey::ApiMessage);
    let lane = || record.fields.text(RecordKey::ParentToolUse);
    match part {
        "message_start" => {
            let message: MessageFields<'a> = event.get(EventKey::Message).and_then(O::fields)?;
            let part =
                Part::Start(message.text(MessageKey::Model), usage::<O>(message.get(MessageKey::Usage)));
            Some(StreamPart {
                id: Some(message.text(MessageKey::Id)?),
                lane: lane(),
                has_api_id: api_id().is_some(),
                part,
            })
        }
        "message_delta" => {
            let delta: Option<EventFields<'a>> = event.get(EventKey::Delta).and_then(O::fields);
            let stopped = delta.is_some_and(|delta| delta.text(EventKey::StopReason).is_some());
            let part = Part::Delta(usage::<O>(event.get(EventKey::Usage)), stopped);
            let id = api_id();
            Some(StreamPart { has_api_id: id.is_some(), id, lane: lane(), part })
        }
        _ => None,
    }
}

fn turn_end<'a, O: Open<'a>>(fields: &RecordFields<'a>, dialect: Dialect) -> TurnEnd<'a> {
    let (cost, wall) = match dialect {
        Dialect::Bridge => (RecordKey::Cost, RecordKey::Duration),
        _ => (RecordKey::TotalCost, RecordKey::WallMillis),
    };
    let denials = fields.get(RecordKey::Denials).and_then(O::elements).unwrap_or_default();
    TurnEnd {
        subtype: fields.text(RecordKey::Subtype),
        is_error: fields.is_true(RecordKey::IsError),
        num_turns: fields.number(RecordKey::NumTurns).map(|_| fields.count(RecordKey::NumTurns)),
        total: fields.number(cost).map(Usd::from_dollars),
        models: model_uses::<O>(fields.get(RecordKey::ModelUsage)),
        since_last: model_uses::<O>(fields.get(RecordKey::SinceLast)),
        usage: usage::<O>(fields.get(RecordKey::Usage)).unwrap_or_default(),
        api: millis(fields, RecordKey::ApiMillis),
        wall: millis(fields, wall),
        denials: denials.into_iter().filter_map(O::fields).map(|entry| denial(&entry)).collect(),
    }
}

fn denial<'a>(entry: &CallFields<'a>) -> Denial<'a> {
    Denial { id: entry.text(CallKey::ToolUse), tool: entry.text(CallKey::ToolName) }
}

/// The `usage` of a message, an event or a result.
pub(super) fn usage<'a, O: Open<'a>>(json: Option<Json<'a>>) -> Option<Usage> {
    let fields: UsageFields<'a> = json.and_then(O::fields)?;
    let inside = |key| -> UsageFields<'a> { fields.get(key).and_then(O::fields).unwrap_or_default() };
    Some(usage_of(&fields, &inside(UsageKey::CacheCreation), &inside(UsageKey::ServerToolUse)))
}

/// The same from its fields, those of `cache_creation`, and those of `server_tool_use`.
pub(super) fn usage_of(fields: &UsageFields<'_>, split: &UsageFields<'_>, server: &UsageFields<'_>) -> Usage {
    let (five, hour) = (split.count(UsageKey::FiveMinutes), split.count(UsageKey::OneHour));
    let cache_write = fields.count(UsageKey::CacheWrite).max(five.saturating_add(hour));
    Usage {
        input: fields.count(UsageKey::Input),
        output: fields.count(UsageKey::Output),
        cache_read: fields.count(UsageKey::CacheRead),
        cache_write,
        cache_write_1h: hour.min(cache_write),
        web_searches: server.count(UsageKey::WebSearches),
        fast: fields.text(UsageKey::Speed).is_some_and(|speed| speed == "fast"),
        in_us: fields.text(UsageKey::Geo).is_some_and(|geo| geo == "us"),
    }
}

fn model_uses<'a, O: Open<'a>>(json: Option<Json<'a>>) -> Option<Vec<ModelUse<'a>>> {
    let models = json.and_then(O::entries)?;
    Some(
        models
            .into_iter()
            .map(|(model, fields)| model_use(model, &O::fields(fields).unwrap_or_default()))
            .collect(),
    )
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

fn millis(fields: &RecordFields<'_>, key: RecordKey) -> Option<Millis> {
    fields.number(key).map(Millis::from_number)
}
