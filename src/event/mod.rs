//! Lines become events: borrowed, stateless, total. A record is judged alone.
//!
//! Strict about JSON, lenient about fields: a field of the wrong type is missing, the record stays. Nothing here
//! knows files, threads or other records.

mod block;
mod content;
mod decode;
mod denial;
mod dialect;
mod fields;
mod json;
mod kind;
mod mend;
mod obvious;
mod record;
mod skim;
mod trace;
mod words;

use std::borrow::Cow;

use smallvec::SmallVec;

pub use block::{BlockId, BlockKind};
pub use content::{ContentItem, RecordContent, main_input, may_have_content, record_content};
pub use decode::{agent_of_input, agent_of_outcome, servers_of};
pub use dialect::Dialect;
pub use fields::names as field_names;
pub use kind::{Kind, KindId, KindRow, Protocol};
pub use obvious::obvious;
#[doc(hidden)]
pub use skim::kernel;
pub use skim::{KeyPredictor, Skimmer, skim};
pub use trace::trace;
pub use words::{NO_SUCH_TOOL, TASK_NOTICE, deciding};

use crate::measure::{Millis, Time, Tokens, Usd, Version};

/// Judges one record: the whole of `bytes` must be one JSON object with a string `type`.
pub fn decode(bytes: &[u8]) -> Result<Event<'_>, DecodeError> {
    if let Some(event) = simdutf8::basic::from_utf8(bytes).ok().and_then(skim::skim_piece) {
        return Ok(event);
    }
    obvious(bytes)
}

/// For `fuzz/fuzz_targets/kernel.rs` alone: `cargo fuzz` sets this cfg, no other build does.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn kernels_agree(bytes: &[u8], from: usize) {
    skim::kernels_agree(bytes, from);
}

/// Text of a record: borrowed unless it held an escape.
pub type Text<'a> = Cow<'a, str>;

/// One record, as far as any fact needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    /// Who wrote it, and where to.
    pub dialect: Dialect,
    /// Its identity, for the types where a second record with the same one is a copy.
    pub uuid: Option<Text<'a>>,
    /// The session it belongs to.
    pub session: Option<Text<'a>>,
    /// When it was written, where it says so.
    pub time: Option<Time>,
    /// The CLI version that wrote it, where it says so.
    pub version: Option<Text<'a>>,
    /// Whether it is what a human asked.
    pub prompt: bool,
    /// The folder that it was written in, where it says so.
    pub cwd: Option<Text<'a>>,
    /// Whose it is.
    pub agent: Agent<'a>,
    /// As it stands.
    pub text: &'a str,
    /// What facts are read from it.
    pub body: Body<'a>,
}

impl Event<'_> {
    /// What no record tells, to be told over.
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
            agent: Agent::default(),
            text: "",
            body: Body::Plain,
        }
    }
}

/// Whose a record is: nothing of it is said where it is the main agent's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent<'a> {
    /// The call that started the subagent.
    pub call: Option<Text<'a>>,
    /// The subagent's id.
    pub id: Option<Text<'a>>,
    /// Its type.
    pub kind: Option<Text<'a>>,
    /// Whether the record stands beside the main conversation.
    pub sidechain: bool,
}

/// What a record says beyond its name.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<'a> {
    /// Nothing that counts.
    Plain,
    /// A user's or the assistant's message, or one block of it.
    Message(Message<'a>),
    /// A subagent's message inside a `progress` record, with a time of its own.
    Nested(Message<'a>, Option<Time>),
    /// End of a turn.
    TurnEnd(Box<TurnEnd<'a>>),
    /// `/clear`: totals begin anew.
    Reset,
    /// A streamed response begins or ends.
    Stream(StreamPart<'a>),
    /// A call was refused.
    Denial(Denial<'a>),
    /// An attempt at the API failed and is repeated: what failed, and the wait before the next.
    Retry(Text<'a>, Option<Millis>),
    /// The conversation was summarised: tokens before and after.
    Compaction(Option<u64>, Option<u64>),
    /// Wall time of a turn in an interactive session.
    TurnDuration(Millis),
    /// What a saved session cost so far.
    CostState(Usd, Vec<ModelUse<'a>>),
    /// The bridge's form of a tool result.
    Answer(ToolResult<'a>),
    /// A process begins: its MCP servers, as JSON text.
    Servers(&'a str),
}

/// A message and what stands beside it in its record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message<'a> {
    /// Its blocks, in order. Nearly all messages have one.
    pub blocks: SmallVec<[Block<'a>; 1]>,
    /// The API response it is a part of.
    pub response: Option<Response<'a>>,
    /// Kind of API failure that this message tells of.
    pub api_error: Option<Text<'a>>,
}

/// One element of `message.content` with a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<'a> {
    /// Role and type.
    pub kind: BlockKind<'a>,
    /// What it says about a tool call.
    pub tool_part: ToolPart<'a>,
    /// Its length.
    pub bytes: u64,
}

/// A block's part in a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolPart<'a> {
    /// None.
    None,
    /// The call.
    Call(ToolUse<'a>),
    /// A tool that ran on the server, within the response: no call, but a use of that tool.
    Server(Option<Text<'a>>),
    /// The answer.
    Result(ToolResult<'a>),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse<'a> {
    /// Its id.
    pub id: Option<Text<'a>>,
    /// Which tool.
    pub tool: Option<Text<'a>>,
    /// What it was given, as JSON text.
    pub input: Option<&'a str>,
}

/// The answer to a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult<'a> {
    /// Which call it answers.
    pub id: Option<Text<'a>>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the call was refused, by a structured field or else by its text.
    pub denied: bool,
    /// What it says, as JSON text.
    pub content: Option<&'a str>,
    /// What the tool returned to the CLI, as JSON text.
    pub outcome: Option<&'a str>,
}

/// A refused call.
#[derive(Clone, Debug, PartialEq)]
pub struct Denial<'a> {
    /// Which call.
    pub id: Option<Text<'a>>,
    /// Which tool.
    pub tool: Option<Text<'a>>,
}

/// What a message tells of the API response it is a part of.
#[derive(Clone, Debug, PartialEq)]
pub struct Response<'a> {
    /// `message.id`.
    pub id: Option<Text<'a>>,
    /// The model that answered.
    pub model: Option<Text<'a>>,
    /// The model that was asked, which is the one that is charged.
    pub requested: Option<Text<'a>>,
    /// Tokens, where it has `usage`.
    pub usage: Option<Usage>,
    /// Whether it says why it stopped; then its counts are final, if it was saved.
    pub stopped: bool,
    /// The session that asked for it, on lines that a fork copied (2.1.326 on).
    pub request_session: Option<Text<'a>>,
    /// The version that wrote the line, where it says so itself.
    pub version: Option<Version>,
}

/// A `usage` object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that came from no cache.
    pub input: u64,
    /// Tokens written, or a placeholder.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// All tokens written to the cache.
    pub cache_write: u64,
    /// Those of them kept for an hour.
    pub cache_write_1h: u64,
    /// Web searches.
    pub web_searches: u64,
    /// Whether the fast table applies.
    pub fast: bool,
    /// Whether it was computed where that is dearer: `inference_geo` is `us`.
    pub in_us: bool,
}

impl Usage {
    /// Tokens of the whole prompt, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

/// A streamed response's first or last word.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPart<'a> {
    /// The response's id: of `message_start`, or beside the event in recent versions.
    pub id: Option<Text<'a>>,
    /// What tells parallel responses apart where events carry no id.
    pub lane: Option<Text<'a>>,
    /// Whether events of this version carry the response's id.
    pub has_api_id: bool,
    /// Its first or last word.
    pub payload: StreamPayload<'a>,
}

/// Which part of a streamed response.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamPayload<'a> {
    /// `message_start`: the model and the first usage.
    Start(Option<Text<'a>>, Option<Usage>),
    /// `message_delta`: the usage so far, and whether it is final.
    Delta(Option<Usage>, bool),
}

/// A `result` record.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd<'a> {
    /// How it ended.
    pub subtype: Option<Text<'a>>,
    /// Whether it says that it failed.
    pub is_error: bool,
    /// Its own count of turns.
    pub num_turns: Option<u64>,
    /// Cost so far in this process or session.
    pub total: Option<Usd>,
    /// Tokens and cost so far, by model; `None` where the record has no such field.
    pub models: Option<Vec<ModelUse<'a>>>,
    /// The same since the last result, in recent versions.
    pub since_last: Option<Vec<ModelUse<'a>>>,
    /// Tokens of this turn, main loop only.
    pub usage: Usage,
    /// API time so far.
    pub api: Option<Millis>,
    /// Wall time of this turn.
    pub wall: Option<Millis>,
    /// Time until the first token.
    pub first_token: Option<Millis>,
    /// What was refused in this turn.
    pub denials: Vec<Denial<'a>>,
}

/// Tokens and cost of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse<'a> {
    /// Its name as the log writes it.
    pub model: Text<'a>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its cost.
    pub cost: Usd,
}

/// Why something is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not JSON; what was wrong, and the byte where.
    NotJson(String, usize),
    /// JSON, but not an object with a string `type`.
    NotARecord,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::NotJson(what, _) => f.write_str(what),
            Self::NotARecord => f.write_str("not an object with a string `type`"),
        }
    }
}
