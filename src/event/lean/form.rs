//! Numbers and flags of the compact form, for its reader and its writer.

/// Lower bits of the first byte of a record: its form.
pub(super) const FORM: u8 = 0b11;
pub(super) const PLAIN: u8 = 0;
pub(super) const MESSAGE: u8 = 1;
pub(super) const JSON: u8 = 2;
pub(super) const NOTE: u8 = 3;
/// A note with this flag is a tally.
pub(super) const TALLY: u8 = NOTE | HAS_CONTEXT;

/// Flags of the first byte of a compact record.
pub(super) const HAS_GAP: u8 = 1 << 2;
pub(super) const HAS_CONTEXT: u8 = 1 << 3;
pub(super) const HAS_UUID: u8 = 1 << 4;
pub(super) const HAS_ODD_UUID: u8 = 1 << 5;
pub(super) const HAS_TIME: u8 = 1 << 6;
pub(super) const IS_PROMPT: u8 = 1 << 7;
/// The same bit of a record without a message: it has a text, which only says what was requested.
pub(super) const HAS_TEXT: u8 = IS_PROMPT;

/// Flags of the first byte of a record that is only counted: it has the version or the folder of the shared fields.
pub(super) const HAS_VERSION: u8 = 1 << 3;
pub(super) const HAS_CWD: u8 = 1 << 4;

/// Flags of a message; the number of blocks follows them.
pub(super) const HAS_RESPONSE: u64 = 1;
pub(super) const HAS_API_ERROR: u64 = 1 << 1;
pub(super) const BLOCKS_SHIFT: u32 = 2;

/// Flags of a response.
pub(super) const HAS_ID: u64 = 1;
pub(super) const SAME_ID: u64 = 1 << 1;
pub(super) const HAS_MODEL: u64 = 1 << 2;
pub(super) const HAS_REQUESTED: u64 = 1 << 3;
pub(super) const HAS_USAGE: u64 = 1 << 4;
pub(super) const IS_STOPPED: u64 = 1 << 5;
pub(super) const HAS_REQUEST_SESSION: u64 = 1 << 6;
/// The version of the response is that of the record, or it has one of its own.
pub(super) const RECORD_VERSION: u64 = 1 << 7;
pub(super) const OWN_VERSION: u64 = 1 << 8;
pub(super) const HAS_STOP_REASON: u64 = 1 << 9;
pub(super) const HAS_REQUEST: u64 = 1 << 10;
pub(super) const HAS_REQUEST_RECORD: u64 = 1 << 11;
pub(super) const SAME_REQUEST: u64 = 1 << 12;
pub(super) const HAS_EFFORT: u64 = 1 << 13;
pub(super) const HAS_SKILL: u64 = 1 << 14;
pub(super) const HAS_MCP_SERVER: u64 = 1 << 15;

/// Flags of a usage: one for each of its six counts, then these.
pub(super) const COUNTS: usize = 6;
pub(super) const IS_FAST: u8 = 1 << 6;
pub(super) const IS_IN_US: u8 = 1 << 7;

/// Lower bits of the flags of a block: its part of a call.
pub(super) const PART: u64 = 0b11;
pub(super) const NO_PART: u64 = 0;
pub(super) const CALL: u64 = 1;
pub(super) const SERVER: u64 = 2;
pub(super) const RESULT: u64 = 3;

/// Flags of a call, a tool of the server, or a result.
pub(super) const PART_ID: u64 = 1 << 2;
pub(super) const PART_TOOL: u64 = 1 << 3;
pub(super) const PART_INPUT: u64 = 1 << 4;
pub(super) const IS_ERROR: u64 = 1 << 5;
pub(super) const IS_DENIED: u64 = 1 << 6;
pub(super) const PART_CONTENT: u64 = 1 << 7;
pub(super) const PART_OUTCOME: u64 = 1 << 8;
pub(super) const PART_DECISION: u64 = 1 << 9;
pub(super) const PART_REFUSAL: u64 = 1 << 10;

/// Fields that most records share with the one before.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shared<'a> {
    pub(super) dialect: u8,
    pub(super) is_sidechain: bool,
    pub(super) session: Option<&'a str>,
    pub(super) version: Option<&'a str>,
    pub(super) cwd: Option<&'a str>,
    pub(super) agent_call: Option<&'a str>,
    pub(super) agent_id: Option<&'a str>,
    pub(super) agent_kind: Option<&'a str>,
    pub(super) branch: Option<&'a str>,
}
