//! Totals over the core facts of a log. Every benchmarked decoder computes them, so that all do the same work
//! and prove it.

use ccstat::internal::{
    event::{Body, Event, Kind, Response, StreamPayload, ToolPart, Usage},
    measure::{Time, Usd},
};
use simd_json::{
    prelude::{ValueAsScalar, ValueIntoString},
    tape::{Object, Value},
};

/// Sums over the records of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) records: u64,
    /// Sum of the indices of record kinds.
    kinds: u64,
    uuids: u64,
    sessions: u64,
    times: u64,
    versions: u64,
    pub(crate) calls: u64,
    /// Bytes of the ids and tool names of calls.
    call_bytes: u64,
    results: u64,
    /// Bytes of the call ids of results.
    result_bytes: u64,
    failed: u64,
    responses: u64,
    /// Bytes of the ids and model names of responses.
    response_bytes: u64,
    stopped: u64,
    lanes: u64,
    /// Input, output, cache read, cache write, cache write for an hour.
    tokens: [u64; 5],
    ends: u64,
    /// Total costs, and costs by model.
    nanos: [i128; 2],
}

impl Totals {
    /// Adds an event of ccstat's decoders.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        self.records += 1;
        self.kind(&event.kind);
        self.uuids += u64::from(event.uuid.is_some());
        self.sessions += u64::from(event.session.is_some());
        self.times += u64::from(event.time.is_some());
        self.versions += u64::from(event.version.is_some());
        match &event.body {
            Body::Message(message) => {
                message.blocks.iter().for_each(|block| self.tool_part(&block.tool_part));
                message.response.iter().for_each(|response| self.response(response));
            }
            Body::Stream(stream) => {
                self.lanes += u64::from(stream.lane.is_some());
                match &stream.payload {
                    StreamPayload::Start(model, usage) => {
                        self.response_bytes += length(stream.id.as_deref()) + length(model.as_deref());
                        self.usage(usage.as_ref());
                    }
                    StreamPayload::Delta(usage, stopped) => {
                        self.stopped += u64::from(*stopped);
                        self.usage(usage.as_ref());
                    }
                }
            }
            Body::TurnEnd(end) => {
                self.ends += 1;
                self.usage(Some(&end.usage));
                self.nanos[0] += end.total.map_or(0, Usd::nanos);
                self.nanos[1] += end.models.iter().flatten().map(|model| model.cost.nanos()).sum::<i128>();
            }
            _ => {}
        }
    }

    fn kind(&mut self, kind: &Kind<'_>) {
        if let Kind::Known(id) = kind {
            self.kinds += id.index() as u64;
        }
    }

    fn tool_part(&mut self, part: &ToolPart<'_>) {
        match part {
            ToolPart::None | ToolPart::Server(_) => {}
            ToolPart::Call(call) => {
                self.calls += 1;
                self.call_bytes += length(call.id.as_deref()) + length(call.tool.as_deref());
            }
            ToolPart::Result(result) => {
                self.results += 1;
                self.result_bytes += length(result.id.as_deref());
                self.failed += u64::from(result.is_error);
            }
        }
    }

    fn response(&mut self, response: &Response<'_>) {
        self.responses += 1;
        self.response_bytes += length(response.id.as_deref()) + length(response.model.as_deref());
        self.stopped += u64::from(response.stopped);
        self.usage(response.usage.as_ref());
    }

    fn usage(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.cache_write_1h];
        self.tokens.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum += tokens);
    }

    /// Adds a record on a simd-json tape. Goes through each object once and skips fields that the totals do
    /// not need.
    pub(crate) fn value(&mut self, record: &Value<'_, '_>) {
        let Some(record) = record.as_object() else { return };
        let mut kind = None;
        let (mut subtype, mut operation) = (None, None);
        let (mut uuid, mut session, mut time, mut version, mut lane) = (None, None, None, None, None);
        let (mut message, mut event, mut attachment, mut usage) = (None, None, None, None);
        let (mut request, mut response) = (None, None);
        let (mut total, mut models) = (None, None);
        for (key, value) in &record {
            match key {
                "type" => kind = value.into_string(),
                "subtype" => subtype = value.into_string(),
                "operation" => operation = value.into_string(),
                "uuid" => uuid = value.into_string(),
                "session_id" | "sessionId" => session = session.or(value.into_string()),
                "timestamp" => time = value.into_string().and_then(Time::parse),
                "version" | "claude_code_version" => version = value.into_string(),
                "parent_tool_use_id" => lane = value.into_string(),
                "message" => message = value.as_object(),
                "event" => event = value.as_object(),
                "attachment" => attachment = value.as_object(),
                "request" => request = value.as_object(),
                "response" => response = value.as_object(),
                "usage" => usage = value.as_object(),
                "total_cost_usd" => total = number(&value),
                "modelUsage" => models = value.as_object(),
                _ => {}
            }
        }
        let Some(kind) = kind else { return };
        self.records += 1;
        self.sessions += u64::from(session.is_some());
        self.times += u64::from(time.is_some());
        self.versions += u64::from(version.is_some());
        if matches!(kind, "assistant" | "user" | "system" | "attachment" | "result") {
            self.uuids += u64::from(uuid.is_some());
        }
        let sub = match kind {
            "stream_event" => event.and_then(|event| self.stream(&event, lane)),
            "attachment" => attachment.and_then(|attachment| attachment.get("type")?.into_string()),
            "control_request" => request.and_then(|request| request.get("subtype")?.into_string()),
            "control_response" => response.and_then(|response| response.get("subtype")?.into_string()),
            "system" | "result" => subtype,
            "queue-operation" => operation,
            _ => None,
        };
        self.kind(&Kind::of(kind.into(), sub.map(Into::into)));
        match (kind, message) {
            ("user" | "assistant", Some(message)) => self.message(&message, kind == "assistant"),
            ("result", _) => self.end(total, usage.as_ref(), models.as_ref()),
            _ => {}
        }
    }

    fn message(&mut self, message: &Object<'_, '_>, assistant: bool) {
        let (mut id, mut model, mut usage, mut stopped) = (None, None, None, false);
        for (key, value) in message {
            match key {
                "id" => id = value.into_string(),
                "model" => model = value.into_string(),
                "usage" => usage = value.as_object(),
                "stop_reason" => stopped = value.into_string().is_some(),
                "content" => value.as_array().iter().flatten().for_each(|block| self.block(&block)),
                _ => {}
            }
        }
        if assistant && model != Some("<synthetic>") {
            self.responses += 1;
            self.response_bytes += length(id) + length(model);
            self.stopped += u64::from(stopped);
            self.tape_usage(usage.as_ref());
        }
    }

    fn block(&mut self, block: &Value<'_, '_>) {
        let Some(block) = block.as_object() else { return };
        let (mut kind, mut id, mut name, mut call, mut failed) = (None, None, None, None, false);
        for (key, value) in &block {
            match key {
                "type" => kind = value.into_string(),
                "id" => id = value.into_string(),
                "name" => name = value.into_string(),
                "tool_use_id" => call = value.into_string(),
                "is_error" => failed = value.as_bool() == Some(true),
                _ => {}
            }
        }
        match kind {
            Some("tool_use") => {
                self.calls += 1;
                self.call_bytes += length(id) + length(name);
            }
            Some("tool_result") => {
                self.results += 1;
                self.result_bytes += length(call);
                self.failed += u64::from(failed);
            }
            _ => {}
        }
    }

    /// Adds a streaming event, and returns its type.
    fn stream<'i>(&mut self, event: &Object<'_, 'i>, lane: Option<&str>) -> Option<&'i str> {
        let (mut kind, mut message, mut delta, mut usage) = (None, None, None, None);
        for (key, value) in event {
            match key {
                "type" => kind = value.into_string(),
                "message" => message = value.as_object(),
                "delta" => delta = value.as_object(),
                "usage" => usage = value.as_object(),
                _ => {}
            }
        }
        match (kind, message) {
            (Some("message_start"), Some(message)) => {
                let text = |key| message.get(key).and_then(ValueIntoString::into_string);
                self.lanes += u64::from(lane.is_some());
                self.response_bytes += length(text("id")) + length(text("model"));
                self.tape_usage(message.get("usage").and_then(|usage| usage.as_object()).as_ref());
            }
            (Some("message_delta"), _) => {
                let reason = delta.and_then(|delta| delta.get("stop_reason")?.into_string());
                self.lanes += u64::from(lane.is_some());
                self.stopped += u64::from(reason.is_some());
                self.tape_usage(usage.as_ref());
            }
            _ => {}
        }
        kind
    }

    fn end(&mut self, total: Option<f64>, usage: Option<&Object<'_, '_>>, models: Option<&Object<'_, '_>>) {
        self.ends += 1;
        self.tape_usage(usage);
        self.nanos[0] += total.map_or(0, |total| Usd::from_dollars(total).nanos());
        for (_, model) in models.into_iter().flatten() {
            let cost = model.get("costUSD").and_then(|cost| number(&cost));
            self.nanos[1] += cost.map_or(0, |cost| Usd::from_dollars(cost).nanos());
        }
    }

    fn tape_usage(&mut self, usage: Option<&Object<'_, '_>>) {
        let (mut five, mut hour, mut all) = (0, 0, [0; 4]);
        for (key, value) in usage.into_iter().flatten() {
            match key {
                "input_tokens" => all[0] = value.as_u64().unwrap_or(0),
                "output_tokens" => all[1] = value.as_u64().unwrap_or(0),
                "cache_read_input_tokens" => all[2] = value.as_u64().unwrap_or(0),
                "cache_creation_input_tokens" => all[3] = value.as_u64().unwrap_or(0),
                "cache_creation" => {
                    for (key, value) in value.as_object().iter().flatten() {
                        match key {
                            "ephemeral_5m_input_tokens" => five = value.as_u64().unwrap_or(0),
                            "ephemeral_1h_input_tokens" => hour = value.as_u64().unwrap_or(0),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let [input, output, read, written] = all;
        let tokens = [input, output, read, written.max(five + hour), hour];
        self.tokens.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum += tokens);
    }
}

fn length(text: Option<&str>) -> u64 {
    text.map_or(0, |text| text.len() as u64)
}

fn number(value: &Value<'_, '_>) -> Option<f64> {
    value.cast_f64()
}
