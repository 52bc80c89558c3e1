//! Rows of texts that a search found.

use super::{
    CallIndex, Context, ResponseIndex,
    build::{LedgerBuilder, merged_rows},
};
pub use crate::event::{Query, Role, TextPart};
use crate::facts::Name;

/// A text that matches a query. A text that several logs contain is one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Session, agent, time and location.
    pub context: Context,
    /// The speaker.
    pub role: Role,
    pub part: TextPart,
    /// The tool, if it is an input or a result.
    pub tool: Option<Name>,
    /// The call, if calls are kept.
    pub call: Option<CallIndex>,
    /// The response that says it, if responses are kept.
    pub response: Option<ResponseIndex>,
    /// Number of matches.
    pub count: u64,
    /// The line around the first match, if kept.
    pub line: Option<Name>,
}

impl LedgerBuilder<'_> {
    /// Adds the texts that a search found, in log order.
    pub(super) fn found(&mut self) {
        let settled = self.settled;
        self.ledger.query = self.details.query.0.clone();
        for (_, merged, row) in merged_rows(&self.details.found, |row| &row.context, &settled.owners) {
            let call = row.call.and_then(|id| settled.call(id));
            let tool = row.tool.clone().or_else(|| call.map(|call| Name::clone(call.tool)));
            let found = Found {
                context: self.context(&merged),
                role: row.role,
                part: row.part,
                tool,
                call: row.call.and_then(|id| self.calls.get(&id)).copied(),
                response: row.response.and_then(|id| self.responses.get(&id)).copied(),
                count: row.count,
                line: row.line.clone(),
            };
            self.ledger.found.push(found);
        }
    }
}
