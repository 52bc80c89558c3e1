//! Attributes of spans: the names that the CLI's telemetry uses, those of the GenAI semantic conventions, the
//! span kinds of OpenInference, and a few of ccstat.

use super::{Estimated, Interaction, Request, SessionTrace, Span, SpanBody, Tool, Waiting};
use crate::{
    facts::Name,
    measure::{Millis, Usd},
};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A text of ccstat.
    Word(&'static str),
    /// A text of the log.
    Text(Name),
    Count(u64),
    Millis(Millis),
    /// A duration that is written in seconds.
    Seconds(Millis),
    Usd(Usd),
    Flag(bool),
    Texts(Vec<Name>),
}

impl From<&'static str> for Attribute {
    fn from(text: &'static str) -> Self {
        Self::Word(text)
    }
}

impl From<&Name> for Attribute {
    fn from(text: &Name) -> Self {
        Self::Text(Name::clone(text))
    }
}

impl From<u64> for Attribute {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Millis> for Attribute {
    fn from(millis: Millis) -> Self {
        Self::Millis(millis)
    }
}

impl From<Usd> for Attribute {
    fn from(usd: Usd) -> Self {
        Self::Usd(usd)
    }
}

impl From<bool> for Attribute {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Keys and values. Missing values have no key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<(&'static str, Attribute)>);

impl Attributes {
    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Attribute>) {
        self.0.push((key, value.into()));
    }

    pub(super) fn set_some<V: Into<Attribute>>(&mut self, key: &'static str, value: Option<V>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Attribute> {
        self.0.iter().find(|(own, _)| *own == key).map(|(_, value)| value)
    }
}

const PROVIDER: &str = "anthropic";

impl Span {
    /// Returns the attributes of a span of this session.
    pub fn attributes(&self, session: &SessionTrace) -> Attributes {
        let mut all = Attributes::default();
        all.set("session.id", &session.session);
        all.set("gen_ai.conversation.id", &session.session);
        all.set("gen_ai.provider.name", PROVIDER);
        let (kind, span_type, duration) = match &self.body {
            SpanBody::Interaction(_) => ("AGENT", "interaction", "interaction.duration_ms"),
            SpanBody::Request(_) => ("LLM", "llm_request", "duration_ms"),
            SpanBody::Tool(_) => ("TOOL", "tool", "duration_ms"),
            SpanBody::Waiting(_) => ("CHAIN", "tool.blocked_on_user", "duration_ms"),
            SpanBody::Execution(_) => ("CHAIN", "tool.execution", "duration_ms"),
        };
        all.set("openinference.span.kind", kind);
        all.set("span.type", span_type);
        all.set(duration, self.duration());
        match &self.body {
            SpanBody::Interaction(interaction) => interaction.attributes(&mut all),
            SpanBody::Request(request) => request.attributes(&mut all, self.error.is_none()),
            SpanBody::Tool(tool) => tool.attributes(&mut all),
            SpanBody::Waiting(waiting) => waiting.attributes(&mut all),
            SpanBody::Execution(call) => {
                all.set_some("tool_use_id", call.as_ref());
                all.set_some("gen_ai.tool.call.id", call.as_ref());
                all.set("success", self.error.is_none());
            }
        }
        if let Some(error) = &self.error {
            let kind = error.split(':').next().unwrap_or_default();
            all.set("error.type", &Name::from(kind));
        }
        let estimated = self.estimated.names();
        if !estimated.is_empty() {
            all.0.push(("ccstat.estimated", Attribute::Texts(estimated)));
        }
        all
    }
}

impl Estimated {
    /// Returns the names of the estimated parts.
    pub fn names(self) -> Vec<Name> {
        let Self { start, end, usage } = self;
        let names = [
            (start, arcstr::literal!("start")),
            (end, arcstr::literal!("end")),
            (usage, arcstr::literal!("tokens")),
            (usage, arcstr::literal!("cost")),
        ];
        names.into_iter().filter(|(is_estimated, _)| *is_estimated).map(|(_, name)| name).collect()
    }
}

impl Interaction {
    fn attributes(&self, all: &mut Attributes) {
        all.set("gen_ai.operation.name", "invoke_agent");
        all.set("interaction.sequence", self.number);
        all.set_some("ccstat.outcome", self.outcome);
        all.set_some("user_prompt", self.prompt.as_ref());
    }
}

impl Request {
    fn attributes(&self, all: &mut Attributes, success: bool) {
        all.set("gen_ai.operation.name", "chat");
        all.set_some("model", self.model.as_ref());
        all.set_some("gen_ai.request.model", self.model.as_ref());
        all.set_some("gen_ai.response.model", self.answered.as_ref());
        all.set("llm_request.context", if self.agent.is_some() { "tool" } else { "interaction" });
        all.set_some("query_source", self.source.as_ref());
        all.set_some("agent_id", self.agent.as_ref());
        all.set_some("gen_ai.agent.id", self.agent.as_ref());
        all.set("success", success);
        all.set_some("attempt", self.attempts);
        all.set_some("request_id", self.id.as_ref());
        all.set_some("gen_ai.response.id", self.response.as_ref());
        self.usage(all);
        all.set_some("cost_usd", self.cost);
        all.set_some("stop_reason", self.stop_reason.as_ref());
        if let Some(reason) = &self.stop_reason {
            let reasons = Attribute::Texts(vec![Name::clone(reason)]);
            all.0.push(("gen_ai.response.finish_reasons", reasons));
        }
        all.set_some("ccstat.first_block_ms", self.first_token);
        all.set_some("response", self.said.as_ref());
        all.set_some("error", self.message.as_ref());
    }

    /// Tokens by class. In the conventions, input tokens include those of the cache.
    pub(super) fn usage(&self, all: &mut Attributes) {
        let Some(tokens) = &self.tokens else { return };
        let output = self.has_output.then_some(tokens.output);
        all.set("input_tokens", tokens.input);
        all.set_some("output_tokens", output);
        all.set("cache_read_tokens", tokens.cache_read);
        all.set("cache_creation_tokens", tokens.cache_write());
        if tokens.cache_write_1h > 0 {
            all.set("cache_creation_5m_tokens", tokens.cache_write_5m);
            all.set("cache_creation_1h_tokens", tokens.cache_write_1h);
        }
        all.set("gen_ai.usage.input_tokens", tokens.prompt());
        all.set_some("gen_ai.usage.output_tokens", output);
        all.set("gen_ai.usage.cache_read.input_tokens", tokens.cache_read);
        all.set("gen_ai.usage.cache_creation.input_tokens", tokens.cache_write());
    }
}

impl Tool {
    fn attributes(&self, all: &mut Attributes) {
        all.set("gen_ai.operation.name", "execute_tool");
        all.set("tool_name", &self.name);
        match mcp(&self.name) {
            Some((server, tool)) => {
                all.set("gen_ai.tool.name", &Name::from(tool));
                all.set("anthropic.mcp.server.name", &Name::from(server));
            }
            None => all.set("gen_ai.tool.name", &self.name),
        }
        all.set_some("tool_use_id", self.id.as_ref());
        all.set_some("gen_ai.tool.call.id", self.id.as_ref());
        all.set_some("agent_id", self.agent.as_ref());
        all.set_some("gen_ai.agent.id", self.agent.as_ref());
        all.set_some("subagent_type", self.subagent.as_ref());
        all.set("ccstat.outcome", self.outcome);
        self.decision.attributes(all);
        all.set_some("ccstat.result_bytes", self.result_bytes);
        all.set_some(input_key(&self.name), self.input.as_ref());
        all.set_some("error", self.failure.as_ref());
    }
}

impl Waiting {
    pub(super) fn attributes(&self, all: &mut Attributes) {
        all.set_some("decision", self.allowed.map(|allowed| if allowed { "accept" } else { "reject" }));
        all.set_some("source", self.source.as_ref());
        all.set_some("ccstat.decision_reason", self.reason.as_ref());
    }
}

/// Splits the name of an MCP tool into server and tool.
fn mcp(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// Key of the main input of a tool, as the CLI names it.
fn input_key(tool: &str) -> &'static str {
    match tool {
        "Bash" => "full_command",
        "Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => "file_path",
        _ => "tool_input",
    }
}
