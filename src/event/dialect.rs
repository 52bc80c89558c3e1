//! Who wrote a record, and to whom. Decided record by record.

use super::kind::{Protocol, protocol_of};

/// The four ways records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// What the CLI prints.
    Stream,
    /// What the CLI saves.
    Transcript,
    /// What a host writes to the CLI.
    Input,
    /// The bridge of the seed documents.
    Bridge,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Stream, Self::Transcript, Self::Input, Self::Bridge];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Transcript => "transcript",
            Self::Input => "input",
            Self::Bridge => "bridge",
        }
    }
}

/// What the dialect of a record is decided by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs<'a> {
    /// Its `type`.
    pub(super) kind: &'a str,
    /// Its discriminator.
    pub(super) sub: Option<&'a str>,
    /// It has `parentUuid` or `isSidechain`, with whatever value.
    pub(super) in_a_tree: bool,
    /// It has a `sessionId` that is not empty.
    pub(super) camel_id: bool,
    /// It has a `session_id` that is not empty.
    pub(super) snake_id: bool,
    /// It has `tools` or `cwd`.
    pub(super) tools_or_cwd: bool,
    /// It has `total_cost_usd`.
    pub(super) total_cost: bool,
    /// It has `cost` or `duration`.
    pub(super) cost_or_duration: bool,
    /// Its `response.response` has `behavior`: a host's verdict on a permission request.
    pub(super) verdict: bool,
}

/// Control requests that the CLI sends to its host; all others go the other way.
const TO_HOST: &[&str] =
    &["can_use_tool", "hook_callback", "mcp_message", "elicitation", "request_user_dialog"];

impl Signs<'_> {
    pub(super) fn dialect(&self) -> Dialect {
        if self.in_a_tree {
            return Dialect::Transcript;
        }
        if self.camel_id {
            return self.with_camel_id();
        }
        if self.snake_id {
            return Dialect::Stream;
        }
        self.without_id()
    }

    fn with_camel_id(&self) -> Dialect {
        // The seed documents spell a stream's init with `sessionId`.
        if self.kind == "system" && self.sub == Some("init") && self.tools_or_cwd {
            return Dialect::Stream;
        }
        let bridged = matches!(self.kind, "result" | "system") && !self.snake_id;
        if bridged || protocol_of(self.kind) == Some(Protocol::Bridge) {
            Dialect::Bridge
        } else {
            Dialect::Transcript
        }
    }

    fn without_id(&self) -> Dialect {
        match (self.kind, protocol_of(self.kind)) {
            (_, Some(Protocol::Transcript)) => Dialect::Transcript,
            (_, Some(Protocol::Bridge)) => Dialect::Bridge,
            ("result", _) if !self.total_cost && self.cost_or_duration => Dialect::Bridge,
            ("user", _) => Dialect::Input,
            ("control_request", _) if !self.sub.is_some_and(|sub| TO_HOST.contains(&sub)) => Dialect::Input,
            ("control_response", _) if self.verdict => Dialect::Input,
            _ => Dialect::Stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_decides_alone() {
        let rules = [
            (
                Signs { kind: "user", in_a_tree: true, snake_id: true, ..Signs::default() },
                Dialect::Transcript,
            ),
            (Signs { kind: "cost-state", camel_id: true, ..Signs::default() }, Dialect::Transcript),
            (Signs { kind: "user", snake_id: true, ..Signs::default() }, Dialect::Stream),
            (Signs { kind: "user", ..Signs::default() }, Dialect::Input),
            (Signs { kind: "assistant", ..Signs::default() }, Dialect::Stream),
            (Signs { kind: "summary", ..Signs::default() }, Dialect::Transcript),
            (Signs { kind: "approve", ..Signs::default() }, Dialect::Bridge),
            (Signs { kind: "status", camel_id: true, ..Signs::default() }, Dialect::Bridge),
            (Signs { kind: "result", camel_id: true, ..Signs::default() }, Dialect::Bridge),
            (
                Signs { kind: "result", camel_id: true, snake_id: true, ..Signs::default() },
                Dialect::Transcript,
            ),
            (Signs { kind: "result", cost_or_duration: true, ..Signs::default() }, Dialect::Bridge),
            (
                Signs { kind: "result", cost_or_duration: true, total_cost: true, ..Signs::default() },
                Dialect::Stream,
            ),
            (
                Signs { kind: "control_request", sub: Some("can_use_tool"), ..Signs::default() },
                Dialect::Stream,
            ),
            (Signs { kind: "control_request", sub: Some("interrupt"), ..Signs::default() }, Dialect::Input),
            (Signs { kind: "control_response", verdict: true, ..Signs::default() }, Dialect::Input),
            (Signs { kind: "control_response", ..Signs::default() }, Dialect::Stream),
        ];
        for (signs, dialect) in rules {
            assert_eq!(signs.dialect(), dialect, "{signs:?}");
        }
    }

    #[test]
    fn an_init_in_the_spelling_of_the_seed_documents_is_a_stream() {
        let init = Signs { kind: "system", sub: Some("init"), camel_id: true, ..Signs::default() };
        assert_eq!(init.dialect(), Dialect::Bridge);
        assert_eq!(Signs { tools_or_cwd: true, ..init }.dialect(), Dialect::Stream);
    }
}
