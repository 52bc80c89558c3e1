//! Attributes of spans: the names that the CLI's telemetry uses, those of the GenAI semantic conventions, the
//! span kinds of OpenInference, and a few of ccstat.

use super::{Estimated, Interaction, Request, SessionTrace, Span, SpanBody, Tool, Waiting};
use crate::{
    facts::Name,
    measure::{Millis, Usd},
};

/// The value of an attribute. A session has many thousands, so texts are borrowed if possible.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute<'a> {
    Text(&'a str),
    /// A text that was made for the attribute.
    Made(Name),
    Count(u64),
    Millis(Millis),
    /// A duration that is written in seconds.
    Seconds(Millis),
    Usd(Usd),
    Flag(bool),
    Texts(Vec<&'a str>),
}

impl<'a> From<&'a str> for Attribute<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a Name> for Attribute<'a> {
    fn from(text: &'a Name) -> Self {
        Self::Text(text)
    }
}

impl From<Name> for Attribute<'_> {
    fn from(text: Name) -> Self {
        Self::Made(text)
    }
}

impl From<u64> for Attribute<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Millis> for Attribute<'_> {
    fn from(millis: Millis) -> Self {
        Self::Millis(millis)
    }
}

impl From<Usd> for Attribute<'_> {
    fn from(usd: Usd) -> Self {
        Self::Usd(usd)
    }
}

impl From<bool> for Attribute<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Keys and values. Missing values have no key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes<'a>(pub Vec<(&'static str, Attribute<'a>)>);

impl<'a> Attributes<'a> {
    pub(super) fn set(&mut self, key: &'static str, value: impl Into<Attribute<'a>>) {
        self.0.push((key, value.into()));
    }

    pub(super) fn set_some<V: Into<Attribute<'a>>>(&mut self, key: &'static str, value: Option<V>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
}

const PROVIDER: &str = "anthropic";

impl SessionTrace {
    /// Returns the attributes that all spans begin with.
    pub fn shared_attributes(&self) -> Attributes<'_> {
        let mut all = Attributes::default();
        all.set("session.id", &self.session);
        all.set("gen_ai.conversation.id", &self.session);
        all.set("gen_ai.provider.name", PROVIDER);
        all
    }
}

impl Span {
    /// Sets the attributes of a span, without those that all spans begin with.
    pub fn attributes<'a>(&'a self, all: &mut Attributes<'a>) {
        all.0.clear();
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
            SpanBody::Interaction(interaction) => interaction.attributes(all),
            SpanBody::Request(request) => request.attributes(all, self.error.is_none()),
            SpanBody::Tool(tool) => tool.attributes(all),
            SpanBody::Waiting(waiting) => waiting.attributes(all),
            SpanBody::Execution(call) => {
                all.set_some("tool_use_id", call.as_ref());
                all.set_some("gen_ai.tool.call.id", call.as_ref());
                all.set("success", self.error.is_none());
            }
        }
        if let Some(error) = &self.error {
            let kind = error.split(':').next().unwrap_or_default();
            all.set("error.type", kind);
        }
        let estimated = self.estimated.names();
        if !estimated.is_empty() {
            all.0.push(("ccstat.estimated", Attribute::Texts(estimated)));
        }
    }
}

impl Estimated {
    /// Returns the names of the estimated parts.
    pub fn names(self) -> Vec<&'static str> {
        let Self { start, end, usage } = self;
        let names = [(start, "start"), (end, "end"), (usage, "tokens"), (usage, "cost")];
        names.into_iter().filter(|(is_estimated, _)| *is_estimated).map(|(_, name)| name).collect()
    }
}

impl Interaction {
    fn attributes<'a>(&'a self, all: &mut Attributes<'a>) {
        all.set("gen_ai.operation.name", "invoke_agent");
        all.set("interaction.sequence", self.number);
        all.set_some("ccstat.outcome", self.outcome);
        all.set_some("user_prompt", self.prompt.as_ref());
    }
}

impl Request {
    fn attributes<'a>(&'a self, all: &mut Attributes<'a>, success: bool) {
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
            all.0.push(("gen_ai.response.finish_reasons", Attribute::Texts(vec![reason])));
        }
        all.set_some("ccstat.first_block_ms", self.first_token);
        all.set_some("response", self.said.as_ref());
        all.set_some("error", self.message.as_ref());
    }

    /// Tokens by class. In the conventions, input tokens include those of the cache.
    pub(super) fn usage(&self, all: &mut Attributes<'_>) {
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
    fn attributes<'a>(&'a self, all: &mut Attributes<'a>) {
        all.set("gen_ai.operation.name", "execute_tool");
        all.set("tool_name", &self.name);
        match mcp(&self.name) {
            Some((server, tool)) => {
                all.set("gen_ai.tool.name", tool);
                all.set("anthropic.mcp.server.name", server);
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
    pub(super) fn attributes<'a>(&'a self, all: &mut Attributes<'a>) {
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
