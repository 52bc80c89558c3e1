//! The dialect of a record: which program wrote it, and for whom. Each record is decided by itself.

use super::kind::{Protocol, protocol_of};

names! {
    /// The four formats of records.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Dialect {
        /// Output of the CLI (`--output-format stream-json`).
        Stream = "stream",
        /// Saved sessions of the CLI.
        Transcript = "transcript",
        /// Input that a host sends to the CLI.
        Input = "input",
        /// The bridge protocol of the seed documents.
        Bridge = "bridge",
    }
}

/// The properties of a record that decide its dialect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DialectHints<'a> {
    /// `type`.
    pub(super) kind: &'a str,
    /// The discriminator.
    pub(super) sub: Option<&'a str>,
    /// It has `parentUuid` or `isSidechain`, with any value.
    pub(super) has_parent: bool,
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
    /// `response.response` has `behavior`: a host's answer to a permission request.
    pub(super) has_behavior: bool,
}

/// Control requests that the CLI sends to its host. The host sends all others to the CLI.
const TO_HOST: &[&str] =
    &["can_use_tool", "hook_callback", "mcp_message", "elicitation", "request_user_dialog"];

impl DialectHints<'_> {
    pub(super) fn dialect(&self) -> Dialect {
        if self.has_parent {
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
        // The seed documents have `sessionId` in the `init` of a stream.
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
            ("control_response", _) if self.has_behavior => Dialect::Input,
            _ => Dialect::Stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_decides_the_dialect() {
        let rules = [
            (
                DialectHints { kind: "user", has_parent: true, snake_id: true, ..DialectHints::default() },
                Dialect::Transcript,
            ),
            (
                DialectHints { kind: "cost-state", camel_id: true, ..DialectHints::default() },
                Dialect::Transcript,
            ),
            (DialectHints { kind: "user", snake_id: true, ..DialectHints::default() }, Dialect::Stream),
            (DialectHints { kind: "user", ..DialectHints::default() }, Dialect::Input),
            (DialectHints { kind: "assistant", ..DialectHints::default() }, Dialect::Stream),
            (DialectHints { kind: "summary", ..DialectHints::default() }, Dialect::Transcript),
            (DialectHints { kind: "approve", ..DialectHints::default() }, Dialect::Bridge),
            (DialectHints { kind: "status", camel_id: true, ..DialectHints::default() }, Dialect::Bridge),
            (DialectHints { kind: "result", camel_id: true, ..DialectHints::default() }, Dialect::Bridge),
            (
                DialectHints { kind: "result", camel_id: true, snake_id: true, ..DialectHints::default() },
                Dialect::Transcript,
            ),
            (
                DialectHints { kind: "result", cost_or_duration: true, ..DialectHints::default() },
                Dialect::Bridge,
            ),
            (
                DialectHints {
                    kind: "result",
                    cost_or_duration: true,
                    total_cost: true,
                    ..DialectHints::default()
                },
                Dialect::Stream,
            ),
            (
                DialectHints {
                    kind: "control_request",
                    sub: Some("can_use_tool"),
                    ..DialectHints::default()
                },
                Dialect::Stream,
            ),
            (
                DialectHints { kind: "control_request", sub: Some("interrupt"), ..DialectHints::default() },
                Dialect::Input,
            ),
            (
                DialectHints { kind: "control_response", has_behavior: true, ..DialectHints::default() },
                Dialect::Input,
            ),
            (DialectHints { kind: "control_response", ..DialectHints::default() }, Dialect::Stream),
        ];
        for (hints, dialect) in rules {
            assert_eq!(hints.dialect(), dialect, "{hints:?}");
        }
    }

    #[test]
    fn an_init_with_tools_and_a_camel_case_id_is_a_stream() {
        let init =
            DialectHints { kind: "system", sub: Some("init"), camel_id: true, ..DialectHints::default() };
        assert_eq!(init.dialect(), Dialect::Bridge);
        assert_eq!(DialectHints { tools_or_cwd: true, ..init }.dialect(), Dialect::Stream);
    }
}
