//! Decodes requests to the API, as saved sessions of 2.1.291 and later record them: what was sent for each
//! response, and why the server did not find it in its cache.

use std::{
    hash::BuildHasher,
    sync::{Arc, LazyLock},
};

use memchr::memmem::Finder;

use super::{Decoder, Object, Trace, Traces};
use crate::event::{Body, json::Json};

/// An `api-request` record. Its time is when the request began; of several attempts only the last is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest<T> {
    /// Its id, which the lines of its response repeat.
    pub id: Option<T>,
    /// Id of its shape.
    pub shape: Option<T>,
    /// The part of the CLI that sent it.
    pub source: Option<T>,
    /// Requests with the same parameters share them.
    pub parameters: Arc<Parameters<T>>,
    /// The earlier request that it extends; `None` for the first of a process or after a compaction.
    pub base: Option<T>,
    /// Number of messages that it shares with `base`.
    pub kept: u64,
    /// Number of messages that follow them.
    pub added: u64,
}

/// Parameters of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters<T> {
    pub model: Option<T>,
    pub effort: Option<T>,
    /// Beta features, in the order of the record; `None` if it does not list them.
    pub betas: Option<Vec<T>>,
}

impl<T> ApiRequest<T> {
    /// Returns the number of messages.
    pub fn messages(&self) -> u64 {
        self.kept.saturating_add(self.added)
    }
}

/// An `api-request-shape` record: what requests have before their messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape<T> {
    /// Its id, a hash that requests repeat.
    pub id: Option<T>,
    /// Parts of the system prompt.
    pub system: Vec<ShapePart>,
    /// Tools in their order. Those of MCP servers are named `mcp__server__tool`.
    pub tools: Vec<ShapeTool<T>>,
}

/// A tool as it is sent: name, description and schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeTool<T> {
    pub name: T,
    pub definition: ShapePart,
}

/// Length and hash of a text that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePart {
    /// Length of its JSON in bytes.
    pub bytes: u64,
    /// Equal texts have equal hashes, in one run of the program.
    pub hash: u64,
}

/// The server's own reason why it did not find all of a prompt in its cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMiss<T> {
    /// `message.id` of the response.
    pub response: T,
    /// The reason, such as `tools_changed`.
    pub reason: T,
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    /// Decodes an `api-request`.
    pub(super) fn api_request(&mut self, record: &Object<'a>) {
        let id = record.text(&["id"]).map(|id| self.owner.own_id(id));
        let request = ApiRequest {
            id,
            shape: self.text(record, &["shapeHash"]),
            source: self.text(record, &["querySource"]),
            parameters: self.parameters(record.get("params")),
            base: record.text(&["base"]).map(|id| self.owner.own_id(id)),
            kept: record.count(&["keep"]).unwrap_or(0),
            added: added(record),
        };
        self.found.push(Trace::ApiRequest(Box::new(request)));
    }

    /// Decodes the parameters of a request, unless they are those of the last one.
    fn parameters(&mut self, json: Option<Json<'a>>) -> Arc<Parameters<T>> {
        let text = json.map_or("", Json::source);
        if let Some(last) = self.owner.last()
            && let Some((last, parameters)) = &last.parameters
            && **last == *text
        {
            return Arc::clone(parameters);
        }
        let params = json.and_then(Json::object).unwrap_or_default();
        let output = params.object("output_config").unwrap_or_default();
        let betas = params.get("betas").and_then(Json::array);
        let parameters = Arc::new(Parameters {
            model: self.text(&params, &["model"]),
            effort: self.text(&output, &["effort"]),
            betas: betas.map(|all| all.into_iter().filter_map(|one| self.own(one.text())).collect()),
        });
        if let Some(last) = self.owner.last() {
            last.parameters = Some((text.into(), Arc::clone(&parameters)));
        }
        parameters
    }

    /// Decodes an `api-request-shape`.
    pub(super) fn shape(&mut self, record: &Object<'a>) {
        let shape = record.object("shape").unwrap_or_default();
        let mut tools = Vec::new();
        for tool in shape.list("tools") {
            let Some(object) = tool.object() else { continue };
            if let Some(name) = self.text(&object, &["name"]) {
                tools.push(ShapeTool { name, definition: ShapePart::of(tool) });
            }
        }
        let system = shape.list("system").into_iter().map(ShapePart::of).collect();
        let shape = Shape { id: self.text(record, &["shapeHash"]), system, tools };
        self.found.push(Trace::Shape(Box::new(shape)));
    }

    /// Decodes the reason of the server in a message. Few messages have one, so a substring search goes first.
    pub(super) fn cache_miss(&mut self) {
        static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"cache_miss_reason\""));
        let Body::Message(message) = &self.event.body else { return };
        let Some(id) = message.response.as_ref().and_then(|response| response.id.clone()) else { return };
        if !self.wants(Traces::REQUESTS) || NAME.find(self.event.text.as_bytes()).is_none() {
            return;
        }
        let Ok(record) = super::json::object(self.event.text) else { return };
        let diagnostics = record.object("message").and_then(|message| message.object("diagnostics"));
        let reason = diagnostics.and_then(|diagnostics| diagnostics.get("cache_miss_reason"));
        // The API documents an object with a `type`.
        let reason = reason.and_then(|reason| reason.text().or_else(|| reason.object()?.text(&["type"])));
        if let Some(reason) = self.own(reason) {
            let response = self.owner.own_id(id);
            self.found.push(Trace::CacheMiss(Box::new(CacheMiss { response, reason })));
        }
    }
}

/// Returns how many messages follow those of `base`. A lean log has their number instead of their hashes.
fn added(record: &Object<'_>) -> u64 {
    match record.get("tail") {
        Some(tail) if tail.is_array() => tail.array().map_or(0, |all| all.len() as u64),
        Some(number) => number.count(),
        None => 0,
    }
}

impl ShapePart {
    /// Measures a text. A lean log has its length and a hash instead of the text.
    fn of(json: Json<'_>) -> Self {
        static SEED: LazyLock<foldhash::quality::RandomState> =
            LazyLock::new(foldhash::quality::RandomState::default);
        let lean = json.object().map(|object| object.list("~")).unwrap_or_default();
        match lean[..] {
            [bytes, hash] => Self { bytes: bytes.count(), hash: SEED.hash_one(hash.source()) },
            _ => Self { bytes: json.length(), hash: SEED.hash_one(json.source()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Text, decode, trace::traces};

    fn traced(record: &str) -> Trace<String> {
        let event = decode(record.as_bytes()).unwrap();
        let mut found = traces(&event, Traces::REQUESTS, &mut |text: Text<'_>| text.into_owned());
        assert_eq!(found.len(), 1, "{record}");
        found.remove(0)
    }

    #[test]
    fn a_request_says_what_was_sent() {
        let record = r#"{"type":"api-request","sessionId":"s","id":"r2","timestamp":"2026-11-15T23:42:53.886Z","querySource":"sdk","shapeHash":"49e6","params":{"model":"claude-opus-5-5","betas":["a-1","b-2"],"max_tokens":9,"output_config":{"effort":"medium"}},"base":"r1","keep":2,"tail":["x","y","z"]}"#;
        let Trace::ApiRequest(request) = traced(record) else { panic!("not a request") };
        assert_eq!(request.messages(), 5);
        let own = |text: &str| Some(text.to_owned());
        let expected = ApiRequest {
            id: own("r2"),
            shape: own("49e6"),
            source: own("sdk"),
            parameters: Arc::new(Parameters {
                model: own("claude-opus-5-5"),
                effort: own("medium"),
                betas: Some(vec!["a-1".to_owned(), "b-2".to_owned()]),
            }),
            base: own("r1"),
            kept: 2,
            added: 3,
        };
        assert_eq!(*request, expected);
    }

    #[test]
    fn a_shape_has_the_length_and_hash_of_each_tool() {
        let record = |schema: &str| {
            format!(
                r#"{{"type":"api-request-shape","sessionId":"s","shapeHash":"49e6","shape":{{"system":[{{"type":"text","text":"You are"}}],"tools":[{{"name":"Bash","input_schema":{schema}}},"[3 entries cut]",{{"name":"mcp__docs__find"}}]}}}}"#
            )
        };
        let (Trace::Shape(one), Trace::Shape(two)) = (traced(&record("{}")), traced(&record("{\"a\":1}")))
        else {
            panic!("not shapes")
        };
        let names = |shape: &Shape<String>| -> Vec<(String, u64)> {
            shape.tools.iter().map(|tool| (tool.name.clone(), tool.definition.bytes)).collect()
        };
        assert_eq!(names(&one), [("Bash".to_owned(), 33), ("mcp__docs__find".to_owned(), 26)]);
        assert_eq!(names(&two)[0].1, 38);
        assert_ne!(one.tools[0].definition.hash, two.tools[0].definition.hash);
        assert_eq!(one.tools[1], two.tools[1]);
        assert_eq!((one.system.len(), &one.system), (1, &two.system));
    }

    #[test]
    fn the_reason_of_the_server_is_a_text_or_an_object_with_a_type() {
        for reason in [r#""tools_changed""#, r#"{"type":"tools_changed","cache_missed_input_tokens":512}"#] {
            let record = format!(
                r#"{{"type":"assistant","sessionId":"s","message":{{"id":"m1","role":"assistant","model":"claude-opus-5-5","content":[],"diagnostics":{{"cache_miss_reason":{reason}}}}}}}"#
            );
            let miss = CacheMiss { response: "m1".to_owned(), reason: "tools_changed".to_owned() };
            assert_eq!(traced(&record), Trace::CacheMiss(Box::new(miss)));
        }
    }
}
