//! Fields of responses that only some reports need.

use super::Response;
use crate::{
    facts::Name,
    measure::{Time, Usd},
};

impl Response {
    /// Returns the fields that only some reports need; they are empty if none of them is kept.
    pub fn more(&self) -> &ResponseMore {
        static NOTHING: ResponseMore = ResponseMore::NOTHING;
        self.more.as_deref().unwrap_or(&NOTHING)
    }
}

/// Fields of a response that only some reports need. They are separate, so that a row stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseMore {
    /// The first line of its text, if kept.
    pub said: Option<Name>,
    /// Time of its last line, if timing is kept.
    pub ended: Option<Time>,
    /// Its `stop_reason`, if timing is kept.
    pub stop_reason: Option<Name>,
    /// Id that the API gave to its request, if timing is kept.
    pub request: Option<Name>,
    /// Id of the record of its request, if timing or requests are kept.
    pub request_record: Option<Name>,
    /// Price of a million tokens at the beginning of its prompt, if requests are kept: read from the cache if anything
    /// is, otherwise written to it or not cached.
    pub prefix_price: Option<Usd>,
    /// The effort that was requested, if attributions are kept.
    pub effort: Option<Name>,
    /// The skill that the CLI attributes it to, if attributions are kept.
    pub skill: Option<Name>,
    /// The MCP server that the CLI attributes it to, if attributions are kept.
    pub mcp_server: Option<Name>,
}

impl ResponseMore {
    const NOTHING: Self = Self {
        said: None,
        ended: None,
        stop_reason: None,
        request: None,
        request_record: None,
        prefix_price: None,
        effort: None,
        skill: None,
        mcp_server: None,
    };
}
