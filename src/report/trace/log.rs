//! The CLI's telemetry events, as far as the log has them.

use super::{Attributes, Mark, MarkKind, SessionTrace, Span, SpanBody, SpanId, TraceId};
use crate::measure::Time;

/// An event.
#[derive(Clone, Debug)]
pub struct LogRecord<'a> {
    pub time: Time,
    /// Name without the prefix `claude_code.`.
    pub name: &'static str,
    /// Trace and span that it belongs to.
    pub span: Option<(TraceId, SpanId)>,
    pub is_error: bool,
    pub attributes: Attributes<'a>,
}

impl SessionTrace {
    /// Returns the events of the session, by time.
    pub fn logs(&self) -> Vec<LogRecord<'_>> {
        let mut records: Vec<LogRecord<'_>> = self.spans.iter().flat_map(|span| self.of_span(span)).collect();
        records.extend(self.marks.iter().filter_map(|mark| self.of_mark(mark)));
        records.sort_by_key(|record| record.time);
        for (record, position) in records.iter_mut().zip(0_u64..) {
            record.attributes.set("event.sequence", position);
        }
        records
    }

    fn record(&self, name: &'static str, time: Time, span: Option<(TraceId, SpanId)>) -> LogRecord<'_> {
        let mut attributes = Attributes::default();
        attributes.set("event.name", name);
        attributes.set("session.id", &self.session);
        LogRecord { time, name, span, is_error: false, attributes }
    }

    fn of_span<'a>(&'a self, span: &'a Span) -> Vec<LogRecord<'a>> {
        let record = |name, time| self.record(name, time, Some((span.trace, span.id)));
        match &span.body {
            SpanBody::Request(request) if span.error.is_none() => {
                let mut one = record("api_request", span.end);
                let all = &mut one.attributes;
                all.set_some("model", request.model.as_ref());
                request.usage(all);
                all.set_some("cost_usd", request.cost);
                all.set("duration_ms", span.duration());
                all.set_some("request_id", request.id.as_ref());
                all.set_some("query_source", request.source.as_ref());
                all.set_some("agent_id", request.agent.as_ref());
                self.estimated(span, all);
                vec![one]
            }
            SpanBody::Tool(tool) => {
                let named = |name, time| {
                    let mut one = record(name, time);
                    one.attributes.set("tool_name", &tool.name);
                    one.attributes.set_some("tool_use_id", tool.id.as_ref());
                    one
                };
                let mut records = Vec::new();
                if tool.decision.allowed.is_some() && tool.decision.source.is_some() {
                    // The log has the decision beside the result, without a time of its own.
                    let mut one = named("tool_decision", span.end);
                    tool.decision.attributes(&mut one.attributes);
                    one.is_error = tool.decision.allowed == Some(false);
                    records.push(one);
                }
                if tool.outcome != "denied" {
                    let mut one = named("tool_result", span.end);
                    one.is_error = span.error.is_some();
                    one.attributes.set("success", span.error.is_none());
                    one.attributes.set("duration_ms", tool.run_time.unwrap_or(span.duration()));
                    one.attributes.set_some("error", tool.failure.as_ref());
                    records.push(one);
                }
                records
            }
            SpanBody::Request(_)
            | SpanBody::Interaction(_)
            | SpanBody::Waiting(_)
            | SpanBody::Execution(_) => Vec::new(),
        }
    }

    fn estimated(&self, span: &Span, all: &mut Attributes<'_>) {
        let names = span.estimated.names();
        if !names.is_empty() {
            all.0.push(("ccstat.estimated", super::Attribute::Texts(names)));
        }
    }

    fn of_mark<'a>(&'a self, mark: &'a Mark) -> Option<LogRecord<'a>> {
        let name = match mark.kind {
            MarkKind::Prompt => "user_prompt",
            MarkKind::ApiError | MarkKind::Retry => "api_error",
            MarkKind::Compaction => "compaction",
            // Results of calls have them.
            MarkKind::Denial | MarkKind::ToolError | MarkKind::OpenCall => return None,
        };
        let mut one = self.record(name, mark.time, mark.span);
        let all = &mut one.attributes;
        match mark.kind {
            MarkKind::ApiError | MarkKind::Retry => {
                all.set_some("error.type", mark.name.as_ref());
                all.set("ccstat.retried", mark.kind == MarkKind::Retry);
                all.set_some("ccstat.retry_delay_ms", mark.took);
                all.set_some("error", mark.message.as_ref());
                one.is_error = true;
            }
            MarkKind::Compaction => {
                all.set_some("trigger", mark.name.as_ref());
                all.set_some("pre_tokens", mark.tokens.0);
                all.set_some("post_tokens", mark.tokens.1);
                all.set_some("duration_ms", mark.took);
            }
            MarkKind::Prompt => {
                let spans = self.spans.iter().find(|span| Some((span.trace, span.id)) == mark.span);
                if let Some(SpanBody::Interaction(interaction)) = spans.map(|span| &span.body) {
                    all.set_some("prompt", interaction.prompt.as_ref());
                }
            }
            MarkKind::Denial | MarkKind::ToolError | MarkKind::OpenCall => {}
        }
        Some(one)
    }
}
