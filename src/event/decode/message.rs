//! Decodes messages: their blocks, the response they are a part of, API errors, and whether a person typed
//! them.

use smallvec::SmallVec;

use super::{error_name, status_name, usage};
use crate::{
    event::{
        Block, BlockKind, INTERRUPTION, Message, Response, TASK_NOTICE, Text, ToolPart, ToolResult, ToolUse,
        denial::is_refusal,
        fields::{
            BlockFields, BlockKey, CallFields, CallKey, DecisionFields, DecisionKey, MessageKey, PartFields,
            PartKey, RecordFields, RecordKey,
        },
        json::Json,
        record::{Blocks, Parser, RawMessage, Record},
    },
    measure::Version,
};

/// Model name of messages that the CLI wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Prefixes of user messages that no person typed.
pub(in crate::event) const NOT_HUMAN: &[&str] = &[
    "<local-command-",
    "<command-name>",
    TASK_NOTICE,
    INTERRUPTION,
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "This session is being continued from a previous conversation",
];

/// Prefix of messages that report an API error, in versions that have no field for it.
pub(in crate::event) const API_ERROR: &str = "API Error";

/// Decodes a message in place, like a record. `message` must be empty.
pub(super) fn decode_message<'a, P: Parser<'a>>(
    record: &Record<'a>,
    is_assistant: bool,
    message: &mut Message<'a>,
) {
    let Message { blocks, response, api_error } = message;
    let opened = record.message.get();
    let role_of_kind = || if is_assistant { "assistant".into() } else { "user".into() };
    let role = opened.and_then(|message| message.fields.text(MessageKey::Role)).unwrap_or_else(role_of_kind);
    if let Some(opened) = opened {
        decode_blocks::<P>(record, opened, &role, blocks);
    }
    if !is_assistant {
        return;
    }
    let model = opened.and_then(|message| message.fields.text(MessageKey::Model));
    let synthetic = model.as_deref() == Some(SYNTHETIC);
    // An empty `message` has no response, nor has one that the CLI wrote itself.
    if let Some(opened) = opened.filter(|message| !synthetic && message.has_fields) {
        decode_response(&record.fields, opened, model, response.insert(Response::default()));
    }
    *api_error = api_error_of::<P>(record, synthetic);
}

fn decode_response<'a>(
    record: &RecordFields<'a>,
    message: &RawMessage<'a>,
    answered: Option<Text<'a>>,
    response: &mut Response<'a>,
) {
    let Response {
        id,
        model,
        requested,
        usage: tokens,
        stopped,
        stop_reason,
        request,
        request_record,
        request_session,
        version,
        effort,
        skill,
        mcp_server,
    } = response;
    *id = message.fields.text(MessageKey::Id);
    *model = answered;
    *requested = record.text(RecordKey::RequestedModel);
    *tokens = message.usage.get().map(usage);
    *stopped = message.fields.get(MessageKey::StopReason).is_some_and(|reason| !reason.is_null());
    *stop_reason = message.fields.text(MessageKey::StopReason);
    *request = record.text(RecordKey::CamelRequest).or_else(|| record.text(RecordKey::SnakeRequest));
    *request_record = record.text(RecordKey::RequestRef);
    *request_session = record.text(RecordKey::RequestSession);
    *version = record.text(RecordKey::Version).and_then(|version| Version::parse(&version));
    *effort = record.text(RecordKey::Effort);
    *skill = record.text(RecordKey::AttributionSkill);
    *mcp_server = record.text(RecordKey::AttributionServer);
}

fn decode_blocks<'a, P: Parser<'a>>(
    record: &Record<'a>,
    message: &RawMessage<'a>,
    role: &Text<'a>,
    blocks: &mut SmallVec<[Block<'a>; 1]>,
) {
    if message.fields.get(MessageKey::Content).is_some_and(Json::is_string) {
        let bytes = message.fields.get(MessageKey::Content).map_or(0, Json::length);
        blocks.push(Block { kind: BlockKind::of(role, "text".into()), tool_part: ToolPart::None, bytes });
        return;
    }
    let mut verdicts = None; // built once, and only if there is a result
    for (fields, bytes) in &message.blocks.objects {
        let Some(kind) = fields.text(BlockKey::Type) else { continue };
        let tool_part = match &*kind {
            "tool_use" => ToolPart::Call(ToolUse {
                id: fields.text(BlockKey::Id),
                tool: fields.text(BlockKey::Name),
                input: fields.get(BlockKey::Input).map(Json::source),
            }),
            "server_tool_use" | "mcp_tool_use" => ToolPart::Server(fields.text(BlockKey::Name)),
            "tool_result" => {
                let verdicts = verdicts.get_or_insert_with(|| Verdicts::of::<P>(record));
                ToolPart::Result(tool_result::<P>(record, verdicts, fields))
            }
            _ => ToolPart::None,
        };
        blocks.push(Block { kind: BlockKind::of(role, kind), tool_part, bytes: *bytes });
    }
}

fn tool_result<'a, P: Parser<'a>>(
    record: &Record<'a>,
    verdicts: &Verdicts<'a>,
    block: &BlockFields<'a>,
) -> ToolResult<'a> {
    let (id, is_error) = (block.text(BlockKey::ToolUse), block.is_true(BlockKey::IsError));
    let refusal = || {
        is_error
            && block.get(BlockKey::Content).is_some_and(|content| is_refusal(&text_of_value::<P>(content)))
    };
    let denied = verdicts.get(id.as_deref()).unwrap_or_else(refusal);
    let outcome = [RecordKey::ToolUseResult, RecordKey::SnakeToolUseResult];
    let own = id.as_deref().and_then(|id| meta(record, id));
    let (decision, kind) =
        (own.and_then(|own| own.get(CallKey::Decision)), own.and_then(|own| own.get(CallKey::NonExecution)));
    let saved_kind = || record.fields.get(RecordKey::ToolDenialKind).filter(|_| is_error);
    ToolResult {
        decision: decision.or_else(|| record.fields.get(RecordKey::PermissionDecision)).map(Json::source),
        refusal: kind.or_else(saved_kind).map(Json::source),
        id,
        is_error,
        denied,
        content: block.get(BlockKey::Content).map(Json::source),
        bytes: block.get(BlockKey::Content).map_or(0, Json::length),
        outcome: outcome.into_iter().find_map(|key| record.fields.get(key)).map(Json::source),
    }
}

/// The entry of `tool_result_meta` about a call.
fn meta<'r, 'a>(record: &'r Record<'a>, call: &str) -> Option<&'r CallFields<'a>> {
    let own = |fields: &&CallFields<'a>| fields.text(CallKey::Id).is_some_and(|id| id == call);
    record.result_meta.iter().map(|call| &call.fields).find(own)
}

/// The permission decisions of a record's tool results, from the fields beside them.
struct Verdicts<'a> {
    /// Ids of calls and whether they were refused, sorted.
    by_call: SmallVec<[(Text<'a>, bool); 2]>,
    /// The decision for the whole record.
    of_record: Option<bool>,
}

impl<'a> Verdicts<'a> {
    fn of<P: Parser<'a>>(record: &Record<'a>) -> Self {
        let by_call = record.result_meta.iter().filter_map(|call| {
            let refused = refused(call.fields.get(CallKey::NonExecution), &call.decision);
            Some((call.fields.text(CallKey::Id)?, refused))
        });
        let mut by_call: SmallVec<[(Text<'a>, bool); 2]> = by_call.collect();
        by_call.sort_unstable();
        let fields = &record.fields;
        let (kind, decision) =
            (fields.get(RecordKey::ToolDenialKind), fields.get(RecordKey::PermissionDecision));
        let is_decided = kind.is_some() || decision.is_some();
        let of_record = is_decided.then(|| refused(kind, &decision.and_then(P::fields).unwrap_or_default()));
        Self { by_call, of_record }
    }

    /// Returns whether any field says that a call was refused; `None` if the version does not write these
    /// fields.
    fn get(&self, call: Option<&str>) -> Option<bool> {
        let own = call.and_then(|call| {
            let first = self.by_call.partition_point(|(id, _)| &**id < call);
            let mut same =
                self.by_call[first..].iter().take_while(|(id, _)| id == call).map(|&(_, refused)| refused);
            let own = same.next()?;
            Some(same.fold(own, |any, refused| any | refused))
        });
        match (own, self.of_record) {
            (Some(own), Some(all)) => Some(own || all),
            (own, all) => own.or(all),
        }
    }
}

fn refused(kind: Option<Json<'_>>, decision: &DecisionFields<'_>) -> bool {
    let rejected = decision.text(DecisionKey::Decision).is_some_and(|decision| decision == "reject");
    rejected || kind.is_some_and(Json::is_set)
}

fn api_error_of<'a, P: Parser<'a>>(record: &Record<'a>, synthetic: bool) -> Option<Text<'a>> {
    let fields = &record.fields;
    let named = fields.text(RecordKey::Error);
    let flagged = named.is_some()
        || fields.is_true(RecordKey::SnakeApiError)
        || fields.is_true(RecordKey::CamelApiError);
    // Streams of 1.0.128 have no such flag.
    let has_error_text =
        || synthetic && record.message.get().is_some_and(|message| text_of(message).starts_with(API_ERROR));
    if !flagged && !has_error_text() {
        return None;
    }
    let status = |key| fields.number(key).filter(|&status| status != 0.0);
    let by_status =
        || status_name(status(RecordKey::SnakeApiStatus).or_else(|| status(RecordKey::CamelApiStatus)));
    Some(named.map_or_else(by_status, error_name))
}

/// Returns the text of a message: `content` if it is a string, else the joined texts of its blocks.
fn text_of<'a>(message: &RawMessage<'a>) -> Text<'a> {
    if let Some(text) = message.fields.get(MessageKey::Content).and_then(Json::string) {
        return text;
    }
    joined(&message.blocks)
}

/// Like [`text_of`], for a `content` that is not parsed yet.
fn text_of_value<'a, P: Parser<'a>>(content: Json<'a>) -> Text<'a> {
    if let Some(text) = content.string() {
        return text;
    }
    let objects = P::elements(content).unwrap_or_default().into_iter().filter_map(P::fields);
    joined(&Blocks { objects: objects.map(|fields| (fields, 0)).collect(), has_elements: true })
}

fn joined<'a>(blocks: &Blocks<'a>) -> Text<'a> {
    let texts = blocks.objects.iter().filter_map(|(block, _)| block.text(BlockKey::Text));
    texts.reduce(|all, text| all + text).unwrap_or_default()
}

/// Returns whether a user record is a prompt that a person typed.
pub(super) fn is_prompt<'a, P: Parser<'a>>(record: &Record<'a>) -> bool {
    use RecordKey::{IsCompactSummary, IsMeta, IsReplay, IsSidechain, IsSynthetic};
    let fields = &record.fields;
    let Some(message) = record.message.get() else { return false };
    let is_text = message.fields.get(MessageKey::Content).is_some_and(Json::is_string);
    let is_result = |(block, _): &(BlockFields<'_>, u64)| {
        block.text(BlockKey::Type).is_some_and(|kind| kind == "tool_result")
    };
    let has_content = is_text || message.blocks.has_elements && !message.blocks.objects.iter().any(is_result);
    let another_origin = || {
        let origin: PartFields<'a> = fields.get(RecordKey::Origin).and_then(P::fields)?;
        Some(origin.get(PartKey::Kind)?.string().is_none_or(|kind| kind != "human"))
    };
    if !has_content
        || [IsReplay, IsSynthetic, IsMeta, IsCompactSummary, IsSidechain]
            .into_iter()
            .any(|flag| fields.is_true(flag))
        || fields.get(RecordKey::ParentToolUse).is_some_and(Json::is_set)
        || fields.text(RecordKey::SourceToolUse).is_some() // written by a tool: SlashCommand of 2.0.67
        || fields.get(RecordKey::ToolUseResult).is_some_and(|result| !result.is_null())
        || another_origin() == Some(true)
    {
        return false;
    }
    let text = text_of(message);
    let text = text.trim_start();
    !NOT_HUMAN.iter().any(|start| text.starts_with(start))
}
