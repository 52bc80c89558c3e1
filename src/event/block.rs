//! The table of content blocks: the types that each role may use.

use std::borrow::Cow;

/// Types of both roles. A user message repeats blocks of the assistant when history is replayed.
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

/// Types that only users have.
const USER_ONLY: &[&str] =
    &["tool_result", "image", "document", "search_result", "tool_addition", "tool_removal"];

/// Role and type of a block, under which it is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind<'a> {
    /// A row of the table.
    Known(BlockId),
    /// A role or a type that is not in the table.
    Other {
        /// `message.role`, or the record's type if there is none.
        role: Cow<'a, str>,
        /// The block's `type`.
        kind: Cow<'a, str>,
    },
}

/// Index of a row in the table of blocks. The rows of the assistant come first, then those of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u8);

impl BlockId {
    /// Number of rows.
    pub const COUNT: usize = BOTH.len() * 2 + USER_ONLY.len();

    /// Iterates over all rows.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).filter_map(|index| u8::try_from(index).ok().map(Self))
    }

    /// Returns `assistant` or `user`.
    pub fn role(self) -> &'static str {
        if self.index() < BOTH.len() { "assistant" } else { "user" }
    }

    /// Returns the `type` of the block.
    pub fn kind(self) -> &'static str {
        let index = self.index();
        match index.checked_sub(BOTH.len()) {
            None => BOTH[index],
            Some(index) if index < BOTH.len() => BOTH[index],
            Some(index) => USER_ONLY[index - BOTH.len()],
        }
    }

    /// Returns the index as a byte, for compact storage.
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// The reverse of [`number`](Self::number); `None` if there is no such row.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        (usize::from(number) < Self::COUNT).then_some(Self(number))
    }

    /// Returns the index, for tables with an entry per block.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns role and type as one name, such as `user/tool_result`.
    pub fn name(self) -> String {
        format!("{}/{}", self.role(), self.kind())
    }
}

impl<'a> BlockKind<'a> {
    /// Returns the kind of a block by the role of its message and its type.
    pub fn of(role: &Cow<'a, str>, kind: Cow<'a, str>) -> Self {
        let both = || BOTH.iter().position(|&row| row == kind);
        let user_only = || USER_ONLY.iter().position(|&row| row == kind).map(|index| index + 2 * BOTH.len());
        let found = match &**role {
            "assistant" => both(),
            // Most blocks of users are tool results, so their own types are tried first.
            "user" => user_only().or_else(|| Some(both()? + BOTH.len())),
            _ => None,
        };
        match found.and_then(|index| u8::try_from(index).ok()) {
            Some(index) => Self::Known(BlockId(index)),
            None => Self::Other { role: role.clone(), kind },
        }
    }

    /// Returns role and type as one name, such as `user/tool_result`.
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
    fn a_tool_result_of_the_assistant_is_not_in_the_table() {
        let block = BlockKind::of(&"assistant".into(), "tool_result".into());
        assert!(matches!(block, BlockKind::Other { .. }));
        assert_eq!(block.name(), "assistant/tool_result");
    }
}
