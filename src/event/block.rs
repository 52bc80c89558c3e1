//! The table of content blocks: who may write which.

use std::borrow::Cow;

/// Blocks that either side may hold; a user's message repeats any of the assistant's when history is replayed.
const BOTH: &[&str] = &[
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "advisor_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "mcp_tool_listing",
    "container_upload",
    "compaction",
    "fallback",
];

/// Blocks of users alone.
const USER: &[&str] = &["tool_result", "image", "document", "search_result", "tool_addition", "tool_removal"];

/// Who wrote a block, and its type: the key it is counted under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind<'a> {
    /// A row of the table.
    Known(BlockId),
    /// A role or a type that the table does not hold.
    Other {
        /// `message.role`, or the record's type where there is none.
        role: Cow<'a, str>,
        /// The block's `type`.
        kind: Cow<'a, str>,
    },
}

/// A row of the table of blocks: the assistant's first, then the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u8);

impl BlockId {
    /// How many rows there are.
    pub const COUNT: usize = BOTH.len() * 2 + USER.len();

    /// All rows.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).filter_map(|index| u8::try_from(index).ok().map(Self))
    }

    /// `assistant` or `user`.
    pub fn role(self) -> &'static str {
        if self.index() < BOTH.len() { "assistant" } else { "user" }
    }

    /// The block's `type`.
    pub fn kind(self) -> &'static str {
        let index = self.index();
        match index.checked_sub(BOTH.len()) {
            None => BOTH[index],
            Some(index) if index < BOTH.len() => BOTH[index],
            Some(index) => USER[index - BOTH.len()],
        }
    }

    /// The row's number, to be kept in a byte.
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// The row with this number.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        (usize::from(number) < Self::COUNT).then_some(Self(number))
    }

    /// The row's position, for tables indexed by block.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The name it is counted under.
    pub fn name(self) -> String {
        format!("{}/{}", self.role(), self.kind())
    }
}

impl<'a> BlockKind<'a> {
    /// The block of this type in a message of this role.
    pub fn of(role: &Cow<'a, str>, kind: Cow<'a, str>) -> Self {
        let both = || BOTH.iter().position(|&row| row == kind);
        let users = || USER.iter().position(|&row| row == kind).map(|index| index + 2 * BOTH.len());
        let found = match &**role {
            "assistant" => both(),
            // Tool results are most of what a user writes, so the user's own are looked at first.
            "user" => users().or_else(|| Some(both()? + BOTH.len())),
            _ => None,
        };
        match found.and_then(|index| u8::try_from(index).ok()) {
            Some(index) => Self::Known(BlockId(index)),
            None => Self::Other { role: role.clone(), kind },
        }
    }

    /// The name it is counted under.
    pub fn name(&self) -> String {
        match self {
            Self::Known(id) => id.name(),
            Self::Other { role, kind } => format!("{role}/{kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_role_and_type() {
        for id in BlockId::all() {
            assert_eq!(BlockKind::of(&id.role().into(), id.kind().into()), BlockKind::Known(id));
        }
    }

    #[test]
    fn an_assistant_gives_no_tool_results() {
        let block = BlockKind::of(&"assistant".into(), "tool_result".into());
        assert!(matches!(block, BlockKind::Other { .. }));
        assert_eq!(block.name(), "assistant/tool_result");
    }
}
