//! The content of a record as people read it: prompts, texts, calls and their results.
//!
//! Only `--print text` needs this. It parses the whole record, which facts never do.

use std::borrow::Cow;

use serde_json::Value;

use super::{json, surrogate::replace_lone_surrogates};

/// A part of a record's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentItem {
    TurnStart {
        model: Option<String>,
        /// `cwd`: the working directory.
        cwd: Option<String>,
    },
    /// A prompt, by a person or a program.
    Prompt(String),
    /// Text of the assistant.
    Text(String),
    /// Thinking of the assistant.
    Thinking(String),
    ToolCall {
        /// Id of the call.
        id: Option<String>,
        /// Name of the tool.
        tool: String,
        /// The main input, see [`main_input`].
        input: String,
    },
    /// The result of a tool call.
    ToolResult {
        /// Id of the call.
        id: Option<String>,
        /// Whether the call failed or was refused.
        failed: bool,
        /// Text of the result.
        text: String,
    },
    /// A request to the API failed and will be repeated: the name of the error.
    Retry(String),
    TurnEnd {
        /// `subtype` of the result.
        subtype: String,
        /// Whether the turn failed.
        failed: bool,
        /// Messages of `errors`.
        reasons: Vec<String>,
    },
}

/// The content of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordContent {
    /// In order; empty if the record is invalid or has no content.
    pub items: Vec<ContentItem>,
    /// Whether the record says that a subagent wrote it.
    pub is_subagent: bool,
    /// `message.id` of the API response that the record is a part of.
    pub response: Option<String>,
    /// `uuid`. Another record with the same one is a copy.
    pub uuid: Option<String>,
}

/// Returns whether a record of this kind can have content. [`record_content`] returns no items for the
/// others.
pub fn may_have_content(kind: &str) -> bool {
    let name = kind.split('/').next().unwrap_or_default();
    ["assistant", "user", "result"].contains(&name) || ["system/init", "system/api_retry"].contains(&kind)
}

/// Parses the content of a record. Invalid JSON has none.
pub fn record_content(record: &[u8]) -> RecordContent {
    let record = std::str::from_utf8(record)
        .ok()
        .and_then(|text| serde_json::from_str(&replace_lone_surrogates(text)).ok());
    let Some::<Value>(record) = record else { return RecordContent::default() };
    let is_subagent = !record["parent_tool_use_id"].is_null() || record["isSidechain"] == true;
    let items = match record["type"].as_str() {
        Some("assistant") => blocks(&record["message"], assistant_block),
        Some("user") if record["isMeta"] == true => Vec::new(),
        Some("user") => blocks(&record["message"], user_block),
        Some("result") => vec![end(&record)],
        Some("system") => system(&record).into_iter().collect(),
        _ => Vec::new(),
    };
    let response = text(&record["message"]["id"]).filter(|_| record["type"] == "assistant");
    RecordContent { items, is_subagent, response, uuid: text(&record["uuid"]) }
}

fn blocks(message: &Value, block: fn(&Value) -> Option<ContentItem>) -> Vec<ContentItem> {
    match &message["content"] {
        Value::Array(all) => all.iter().filter_map(block).collect(),
        // `content` may be a plain string.
        text @ Value::String(_) => {
            block(&serde_json::json!({"type": "text", "text": text})).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn assistant_block(block: &Value) -> Option<ContentItem> {
    match block["type"].as_str()? {
        "text" => Some(ContentItem::Text(text(&block["text"])?)),
        "thinking" => Some(ContentItem::Thinking(text(&block["thinking"])?)),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(ContentItem::ToolCall {
            id: text(&block["id"]),
            tool: text(&block["name"]).unwrap_or_default(),
            input: main_input(&block["input"]),
        }),
        _ => None,
    }
}

fn user_block(block: &Value) -> Option<ContentItem> {
    match block["type"].as_str()? {
        "text" => Some(ContentItem::Prompt(text(&block["text"])?)),
        "tool_result" => {
            let failed = block["is_error"] == true;
            Some(ContentItem::ToolResult {
                id: text(&block["tool_use_id"]),
                failed,
                text: result_text(&block["content"]),
            })
        }
        _ => None,
    }
}

/// Returns the text of a result, which is a string or an array of blocks.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let part = |block: &Value| match text(&block["text"]) {
                Some(text) => text,
                None => format!("[{}]", block["type"].as_str().unwrap_or("block")),
            };
            blocks.iter().map(part).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// The inputs that say most about a call, in the order in which a person looks for them.
const FIRST: &[&str] = &[
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "prompt",
];

/// Bytes from which on a member of an input counts as long.
const LONG: usize = 1 << 10;

/// Returns the input of a call as far as [`main_input`] and permission rules look at it, as JSON. If one
/// member says what the call is about, the other members that are long are left out, such as the content of a
/// file.
pub fn brief_input(input: &str) -> Cow<'_, str> {
    if input.len() <= LONG {
        return input.into();
    }
    let object = json::object(input).unwrap_or_default();
    let says = |key: &&&str| object.text(&[**key]).is_some_and(|text| !text.trim().is_empty());
    let Some(main) = FIRST.iter().find(says) else { return input.into() };
    let mut brief = String::new();
    for (name, value) in object.iter().filter(|(name, value)| value.source().len() <= LONG || name == main) {
        brief.push(if brief.is_empty() { '{' } else { ',' });
        brief.push_str(&Value::from(&*name).to_string());
        brief.push(':');
        brief.push_str(value.source());
    }
    brief.push('}');
    brief.into()
}

/// Returns the same as [`main_input`] for JSON text, without parsing more of it than needed. `None` if it is
/// not JSON.
pub fn main_input_of(input: &str) -> Option<Cow<'_, str>> {
    let object = json::object(input).unwrap_or_default();
    let known = FIRST.iter().find_map(|key| object.text(&[key]).filter(|text| !text.trim().is_empty()));
    known.or_else(|| Some(main_input(&serde_json::from_str(input).ok()?).into()))
}

/// Returns the input of a call that says most about it, such as the command or the path; else the whole input
/// as JSON.
pub fn main_input(input: &Value) -> String {
    let question = || text(&input["questions"][0]["question"]);
    let known = FIRST.iter().find_map(|key| text(&input[*key])).or_else(question);
    known.unwrap_or_else(|| match input {
        Value::Object(keys) if keys.is_empty() => String::new(),
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

fn system(record: &Value) -> Option<ContentItem> {
    match record["subtype"].as_str()? {
        "init" => Some(ContentItem::TurnStart { model: text(&record["model"]), cwd: text(&record["cwd"]) }),
        "api_retry" => {
            Some(ContentItem::Retry(text(&record["error"]).unwrap_or_else(|| "unknown".to_owned())))
        }
        _ => None,
    }
}

fn end(record: &Value) -> ContentItem {
    let subtype = text(&record["subtype"]).unwrap_or_else(|| "result".to_owned());
    let failed = record["is_error"] == true || subtype.starts_with("error");
    // The CLI writes strings; the seed documents have objects.
    let message = |error: &Value| text(error).or_else(|| text(&error["message"]));
    let reasons = record["errors"].as_array().into_iter().flatten().filter_map(message).collect();
    ContentItem::TurnEnd { subtype, failed, reasons }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_input_is_about_the_same() {
        let long = "x".repeat(LONG);
        let write = format!(r#"{{"content":"{long}","file_path":"/a","x":"1"}}"#);
        assert_eq!(brief_input(&write), r#"{"file_path":"/a","x":"1"}"#);
        assert_eq!(main_input_of(&write).as_deref(), Some("/a"));
        assert_eq!(main_input_of(r#"{"x":1}"#).as_deref(), Some(r#"{"x":1}"#));
        let bash = format!(r#"{{"command":"{long}"}}"#);
        assert_eq!(brief_input(&bash), bash);
        let other = format!(r#"{{"plan":"{long}"}}"#);
        assert_eq!(brief_input(&other), other);
    }

    fn only(record: &str) -> ContentItem {
        let RecordContent { mut items, .. } = record_content(record.as_bytes());
        assert_eq!(items.len(), 1, "{record}");
        items.remove(0)
    }

    #[test]
    fn a_call_shows_its_main_input() {
        let call = |input: &str| {
            only(&format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"c","name":"T","input":{input}}}]}}}}"#
            ))
        };
        let expected = |input: &str| ContentItem::ToolCall {
            id: Some("c".to_owned()),
            tool: "T".to_owned(),
            input: input.to_owned(),
        };
        assert_eq!(call(r#"{"description":"run","command":"npm test"}"#), expected("npm test"));
        assert_eq!(call(r#"{"x":1}"#), expected(r#"{"x":1}"#));
        assert_eq!(call("{}"), expected(""));
    }

    #[test]
    fn a_result_of_blocks_joins_their_texts() {
        let record = r#"{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"tool_result","is_error":true,
            "content":[{"type":"text","text":"a"},{"type":"image"}]}]}}"#;
        let result = ContentItem::ToolResult { id: None, failed: true, text: "a\n[image]".to_owned() };
        assert_eq!(
            record_content(record.as_bytes()),
            RecordContent { items: vec![result], is_subagent: true, ..RecordContent::default() }
        );
    }

    #[test]
    fn errors_of_a_turn_may_be_strings_or_objects() {
        let end =
            |errors: &str| only(&format!(r#"{{"type":"result","subtype":"error_x","errors":{errors}}}"#));
        let expected = ContentItem::TurnEnd {
            subtype: "error_x".to_owned(),
            failed: true,
            reasons: vec!["no".to_owned()],
        };
        assert_eq!(end(r#"["no"]"#), expected);
        assert_eq!(end(r#"[{"type":"e","message":"no"}]"#), expected);
    }

    #[test]
    fn a_lone_surrogate_becomes_a_replacement_character() {
        let record = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
        assert_eq!(only(record), ContentItem::Text("cut \u{fffd}".to_owned()));
    }

    #[test]
    fn kinds_that_may_have_content() {
        for kind in ["assistant", "user", "result/success", "result", "system/init", "system/api_retry"] {
            assert!(may_have_content(kind), "{kind}");
        }
        for kind in ["system/hook_started", "summary", "stream_event/message_start", "resultant", ""] {
            assert!(!may_have_content(kind), "{kind}");
        }
    }

    #[test]
    fn invalid_records_have_no_content() {
        assert_eq!(record_content(b"{"), RecordContent::default());
        assert_eq!(record_content(br#"{"type":7}"#), RecordContent::default());
    }
}
