//! Decodes lines into events. An event borrows from its line, and each record is decoded by itself.
//!
//! Decoding is strict about JSON and lenient about fields: a field of the wrong type counts as missing, and
//! the record is kept. Nothing here knows files, threads or other records.

mod block;
mod content;
mod decode;
mod denial;
mod dialect;
mod excerpt;
mod fields;
mod glance;
pub(crate) mod json;
mod kind;
pub mod lean;
mod obvious;
mod record;
mod search;
mod skim;
mod surrogate;
pub mod trace;
mod words;

use std::borrow::Cow;

use smallvec::SmallVec;

pub use block::{BlockId, BlockKind};
pub use content::{
    ContentItem, RecordContent, brief_input, main_input, main_input_of, may_have_content, record_content,
};
pub use decode::{agent_of_input, agent_of_outcome, request_of, run_time_of_outcome, servers_of};
pub use denial::Obstacle;
pub use dialect::Dialect;
pub use excerpt::{
    Title, TitleKind, error_line, failure, first_line, is_interruption, message_text, title, turn_failure,
};
pub use fields::names as field_names;
pub use glance::is_free;
pub use json::{next_char, unescape};
pub use kind::{Kind, KindId, KindRow, Protocol};
pub use obvious::obvious;
pub use search::{Match, Query, Role, TextPart};
#[doc(hidden)]
pub use skim::kernel;
pub use skim::{KeyPredictor, Skimmer, skim};
pub use words::{INTERRUPTION, NO_SUCH_TOOL, TASK_NOTICE, deciding_ranges};

use crate::measure::{Millis, Time, Tokens, Usd, Version};

/// Decodes one record: `bytes` must be a single JSON object with a string `type`.
pub fn decode(bytes: &[u8]) -> Result<Event<'_>, DecodeError> {
    if let Some(event) = simdutf8::basic::from_utf8(bytes).ok().and_then(skim::skim_piece) {
        return Ok(event);
    }
    obvious(bytes)
}

/// Only for `fuzz/fuzz_targets/kernel.rs`: no other build than `cargo fuzz` sets this cfg.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn kernels_agree(bytes: &[u8], from: usize) {
    skim::kernels_agree(bytes, from);
}

/// Text of a record: borrowed unless it has an escape.
pub type Text<'a> = Cow<'a, str>;

/// A decoded record: everything that facts are computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// Type and discriminator.
    pub kind: Kind<'a>,
    /// The format that the record is written in.
    pub dialect: Dialect,
    /// `uuid`, for types where a second record with the same one is a copy.
    pub uuid: Option<Text<'a>>,
    /// Id of the session.
    pub session: Option<Text<'a>>,
    /// Time of writing, if the record has it.
    pub time: Option<Time>,
    /// Version of the CLI that wrote the record, if it has it.
    pub version: Option<Text<'a>>,
    /// Whether the record is a prompt that a person typed.
    pub prompt: bool,
    /// Working directory, if the record has it.
    pub cwd: Option<Text<'a>>,
    /// Branch that was checked out, if the record has it.
    pub branch: Option<Text<'a>>,
    /// The subagent that wrote the record, if any.
    pub agent: Agent<'a>,
    /// The JSON text of the record.
    pub text: &'a str,
    /// Length of the record in the log, in bytes.
    pub bytes: u64,
    /// Facts of this kind of record.
    pub body: Body<'a>,
}

impl Event<'_> {
    /// An empty event, to be overwritten.
    fn blank() -> Self {
        Self {
            kind: Kind::of("".into(), None),
            dialect: Dialect::Stream,
            uuid: None,
            session: None,
            time: None,
            version: None,
            prompt: false,
            cwd: None,
            branch: None,
            agent: Agent::default(),
            text: "",
            bytes: 0,
            body: Body::Plain,
        }
    }
}

/// The subagent that wrote a record. All fields are empty for the main agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent<'a> {
    /// Id of the tool call that started the subagent.
    pub call: Option<Text<'a>>,
    /// Id of the subagent.
    pub id: Option<Text<'a>>,
    /// Type of the subagent.
    pub kind: Option<Text<'a>>,
    /// `isSidechain`: whether the record is outside of the main conversation.
    pub sidechain: bool,
}

/// Facts of a record that depend on its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<'a> {
    /// None: the record is only counted.
    Plain,
    /// A message of the user or the assistant, or one block of it.
    Message(Message<'a>),
    /// A subagent's message inside a `progress` record, and the time of that message.
    Nested(Message<'a>, Option<Time>),
    /// The end of a turn.
    TurnEnd(Box<TurnEnd<'a>>),
    /// `/clear`: cumulative totals restart at zero.
    Reset,
    /// The start or end of a streamed response.
    Stream(StreamPart<'a>),
    /// A refused call.
    Denial(Denial<'a>),
    /// A request to the API failed and will be repeated: the name of the error, and the delay.
    Retry(Text<'a>, Option<Millis>),
    /// The conversation was summarised.
    Compaction(Compaction<Text<'a>>),
    /// Wall time of a turn in an interactive session.
    TurnDuration(Millis),
    /// Cumulative cost of a saved session, in total and by model.
    CostState(Usd, Vec<ModelUse<'a>>),
    /// A tool result in the format of the bridge.
    BridgeResult(ToolResult<'a>),
    /// A process starts: its MCP servers as JSON, see [`servers_of`].
    Servers(&'a str),
    /// The session works on a pull request. The CLI repeats the record.
    PullRequest(PullRequest<Text<'a>>),
}

/// A pull request: at least its number or its address is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequest<T> {
    pub number: Option<u64>,
    /// `owner/name`.
    pub repository: Option<T>,
    /// Its address.
    pub url: Option<T>,
}

/// A message, and the fields of its record that belong to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message<'a> {
    /// Content blocks, in order. Nearly all messages have one.
    pub blocks: SmallVec<[Block<'a>; 1]>,
    /// The API response that the message is a part of.
    pub response: Option<Response<'a>>,
    /// Name of the API error that the message reports.
    pub api_error: Option<Text<'a>>,
}

/// An element of `message.content` that has a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<'a> {
    /// Role and type.
    pub kind: BlockKind<'a>,
    /// The part of a tool call that the block is, if any.
    pub tool_part: ToolPart<'a>,
    /// Length of the block's JSON text.
    pub bytes: u64,
}

/// The part of a tool call that a block is.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolPart<'a> {
    /// The block is not part of a tool call.
    None,
    Call(ToolUse<'a>),
    /// The name of a tool that ran on the server during the response. It counts as a use of the tool, not as
    /// a call.
    Server(Option<Text<'a>>),
    /// The result of a call.
    Result(ToolResult<'a>),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse<'a> {
    /// Id of the call.
    pub id: Option<Text<'a>>,
    /// Name of the tool.
    pub tool: Option<Text<'a>>,
    /// Input of the call as JSON.
    pub input: Option<&'a str>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult<'a> {
    /// Id of the call.
    pub id: Option<Text<'a>>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the call was refused, by a structured field or else by its text.
    pub denied: bool,
    /// `content` of the block as JSON: the result as the model sees it.
    pub content: Option<&'a str>,
    /// Length of `content` in the log, in bytes; 0 if there is none.
    pub bytes: u64,
    /// `toolUseResult` as JSON: the result as the tool returned it to the CLI.
    pub outcome: Option<&'a str>,
    /// The decision about the call, as JSON text.
    pub decision: Option<&'a str>,
    /// Kind of denial from the fields beside a failed result, as JSON text.
    pub refusal: Option<&'a str>,
}

/// A summary of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction<T> {
    /// Tokens before.
    pub before: Option<u64>,
    /// Tokens after.
    pub after: Option<u64>,
    /// `auto`, or `manual` if a person asked for it.
    pub trigger: Option<T>,
    /// How long it took.
    pub took: Option<Millis>,
}

/// A refused call.
#[derive(Clone, Debug, PartialEq)]
pub struct Denial<'a> {
    /// Id of the call.
    pub id: Option<Text<'a>>,
    /// Name of the tool.
    pub tool: Option<Text<'a>>,
}

/// Fields of a message that describe the API response it is a part of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response<'a> {
    /// `message.id`.
    pub id: Option<Text<'a>>,
    /// The model that answered.
    pub model: Option<Text<'a>>,
    /// The model that was requested. Its prices apply.
    pub requested: Option<Text<'a>>,
    /// Tokens, if the message has `usage`.
    pub usage: Option<Usage>,
    /// Whether there is a `stop_reason`. In a saved message the counts of tokens are final then.
    pub stopped: bool,
    /// The `stop_reason`, if it is a text.
    pub stop_reason: Option<Text<'a>>,
    /// Id that the API gave to the request.
    pub request: Option<Text<'a>>,
    /// `id` of the `api-request` record that the message answers (2.1.291 and later).
    pub request_record: Option<Text<'a>>,
    /// The session that made the request, on lines that a fork copied (2.1.326 and later).
    pub request_session: Option<Text<'a>>,
    /// The version that wrote the line, if the line has it.
    pub version: Option<Version>,
    /// The effort that was requested, such as `medium`.
    pub effort: Option<Text<'a>>,
    /// The skill or custom command that the CLI attributes the response to.
    pub skill: Option<Text<'a>>,
    /// The MCP server that the CLI attributes the response to: it reads the result of a call of that server.
    pub mcp_server: Option<Text<'a>>,
}

/// A `usage` object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens. Early parts of a response have a placeholder.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache, for five minutes or an hour.
    pub cache_write: u64,
    /// The part of `cache_write` that is cached for an hour.
    pub cache_write_1h: u64,
    /// Number of web searches on the server.
    pub web_searches: u64,
    /// Whether the prices of the fast mode apply.
    pub fast: bool,
    /// Whether `inference_geo` is `us`, which costs extra.
    pub in_us: bool,
}

impl Usage {
    /// Returns the tokens of the whole prompt, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

/// The start or end of a streamed response.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPart<'a> {
    /// Id of the response: in `message_start`, and in recent versions also in `api_message_id`.
    pub id: Option<Text<'a>>,
    /// `parent_tool_use_id`, which separates parallel responses whose events have no id.
    pub lane: Option<Text<'a>>,
    /// Whether the record has `api_message_id`.
    pub has_api_id: bool,
    /// The data of the event.
    pub payload: StreamPayload<'a>,
}

/// The data of a streaming event.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamPayload<'a> {
    /// `message_start`: the model and the first usage.
    Start(Option<Text<'a>>, Option<Usage>),
    /// `message_delta`: the usage so far, and whether it has a `stop_reason` and is therefore final.
    Delta(Option<Usage>, bool),
}

/// A `result` record.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd<'a> {
    /// `subtype`, such as `success` or `error_max_turns`.
    pub subtype: Option<Text<'a>>,
    pub is_error: bool,
    /// `num_turns`, the number of turns as the CLI counts them.
    pub num_turns: Option<u64>,
    /// Cumulative cost of the process or session.
    pub total: Option<Usd>,
    /// Cumulative tokens and cost by model; `None` if the record lacks `modelUsage`.
    pub models: Option<Vec<ModelUse<'a>>>,
    /// Tokens and cost by model since the last result, in recent versions.
    pub since_last: Option<Vec<ModelUse<'a>>>,
    /// Tokens of this turn, without those of subagents.
    pub usage: Usage,
    /// Cumulative API time.
    pub api: Option<Millis>,
    /// Wall time of this turn.
    pub wall: Option<Millis>,
    /// Time until the first token.
    pub first_token: Option<Millis>,
    /// Time until the first request.
    pub time_to_request: Option<Millis>,
    /// Refused calls of this turn.
    pub denials: Vec<Denial<'a>>,
}

/// Tokens and cost of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse<'a> {
    /// Name of the model as the log has it.
    pub model: Text<'a>,
    /// Tokens and web searches.
    pub tokens: Tokens,
    /// Cost as the log has it.
    pub cost: Usd,
}

/// The reason why a text is not a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("not UTF-8")]
    NotUtf8,
    /// The error message, and the byte it refers to.
    #[error("{0}")]
    NotJson(String, usize),
    #[error("not an object with a string `type`")]
    NotARecord,
}
