//! What a record says to a person: the words of the assistant, its calls, what came of them.
//!
//! Only `--print text` asks for this. It builds the whole record, which facts never do.

use serde_json::Value;

use super::mend::mend;

/// Something that a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A turn begins: with this model, in this folder.
    Begin {
        /// The model.
        model: Option<String>,
        /// The folder.
        cwd: Option<String>,
    },
    /// A person or a program asks.
    Prompt(String),
    /// The assistant says.
    Text(String),
    /// The assistant thinks.
    Thinking(String),
    /// The assistant calls a tool.
    Call {
        /// The id of the call.
        id: Option<String>,
        /// Which.
        tool: String,
        /// With what, in one line.
        input: String,
    },
    /// A tool answers.
    Answer {
        /// The id of the call.
        id: Option<String>,
        /// Whether it failed or was refused.
        failed: bool,
        /// What it says.
        text: String,
    },
    /// An attempt at the API failed, and will be repeated.
    Retry(String),
    /// A turn ends.
    End {
        /// Its subtype.
        subtype: String,
        /// Whether it failed.
        failed: bool,
        /// Why, where it says so.
        why: Vec<String>,
    },
}

/// What one record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saying {
    /// Its parts, in order; none if it is no record or says nothing.
    pub said: Vec<Said>,
    /// Whether a subagent says it.
    pub beside: bool,
    /// `message.id` of the API response that it is a part of.
    pub response: Option<String>,
    /// Its identity: another record with the same one says the same.
    pub uuid: Option<String>,
}

/// Whether records of this kind can say something: the others need not be looked at.
pub fn can_say(kind: &str) -> bool {
    let name = kind.split('/').next().unwrap_or_default();
    ["assistant", "user", "result"].contains(&name) || ["system/init", "system/api_retry"].contains(&kind)
}

/// What a record says.
pub fn said(record: &[u8]) -> Saying {
    let record = std::str::from_utf8(record).ok().and_then(|text| serde_json::from_str(&mend(text)).ok());
    let Some::<Value>(record) = record else { return Saying::default() };
    let beside = !record["parent_tool_use_id"].is_null() || record["isSidechain"] == true;
    let said = match record["type"].as_str() {
        Some("assistant") => blocks(&record["message"], assistant_block),
        Some("user") if record["isMeta"] == true => Vec::new(),
        Some("user") => blocks(&record["message"], user_block),
        Some("result") => vec![end(&record)],
        Some("system") => system(&record).into_iter().collect(),
        _ => Vec::new(),
    };
    let response = text(&record["message"]["id"]).filter(|_| record["type"] == "assistant");
    Saying { said, beside, response, uuid: text(&record["uuid"]) }
}

fn blocks(message: &Value, block: fn(&Value) -> Option<Said>) -> Vec<Said> {
    match &message["content"] {
        Value::Array(all) => all.iter().filter_map(block).collect(),
        // A message may be one string.
        text @ Value::String(_) => {
            block(&serde_json::json!({"type": "text", "text": text})).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn assistant_block(block: &Value) -> Option<Said> {
    match block["type"].as_str()? {
        "text" => Some(Said::Text(text(&block["text"])?)),
        "thinking" => Some(Said::Thinking(text(&block["thinking"])?)),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(Said::Call {
            id: text(&block["id"]),
            tool: text(&block["name"]).unwrap_or_default(),
            input: main_input(&block["input"]),
        }),
        _ => None,
    }
}

fn user_block(block: &Value) -> Option<Said> {
    match block["type"].as_str()? {
        "text" => Some(Said::Prompt(text(&block["text"])?)),
        "tool_result" => {
            let failed = block["is_error"] == true;
            Some(Said::Answer { id: text(&block["tool_use_id"]), failed, text: answer(&block["content"]) })
        }
        _ => None,
    }
}

/// The text of an answer, which is a string or blocks of which some are texts.
fn answer(content: &Value) -> String {
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

/// What a call is about: the one input that a person looks for first, else all of it.
pub fn main_input(input: &Value) -> String {
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
    let question = || text(&input["questions"][0]["question"]);
    let known = FIRST.iter().find_map(|key| text(&input[*key])).or_else(question);
    known.unwrap_or_else(|| match input {
        Value::Object(keys) if keys.is_empty() => String::new(),
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

fn system(record: &Value) -> Option<Said> {
    match record["subtype"].as_str()? {
        "init" => Some(Said::Begin { model: text(&record["model"]), cwd: text(&record["cwd"]) }),
        "api_retry" => Some(Said::Retry(text(&record["error"]).unwrap_or_else(|| "unknown".to_owned()))),
        _ => None,
    }
}

fn end(record: &Value) -> Said {
    let subtype = text(&record["subtype"]).unwrap_or_else(|| "result".to_owned());
    let failed = record["is_error"] == true || subtype.starts_with("error");
    // The seed documents write objects, the CLI strings.
    let why = |error: &Value| text(error).or_else(|| text(&error["message"]));
    let why = record["errors"].as_array().into_iter().flatten().filter_map(why).collect();
    Said::End { subtype, failed, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(record: &str) -> Said {
        let Saying { mut said, .. } = said(record.as_bytes());
        assert_eq!(said.len(), 1, "{record}");
        said.remove(0)
    }

    #[test]
    fn a_call_is_told_by_the_input_that_matters() {
        let call = |input: &str| {
            only(&format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"c","name":"T","input":{input}}}]}}}}"#
            ))
        };
        let told = |input: &str| Said::Call {
            id: Some("c".to_owned()),
            tool: "T".to_owned(),
            input: input.to_owned(),
        };
        assert_eq!(call(r#"{"description":"run","command":"npm test"}"#), told("npm test"));
        assert_eq!(call(r#"{"x":1}"#), told(r#"{"x":1}"#));
        assert_eq!(call("{}"), told(""));
    }

    #[test]
    fn an_answer_of_blocks_is_its_texts() {
        let record = r#"{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"tool_result","is_error":true,
            "content":[{"type":"text","text":"a"},{"type":"image"}]}]}}"#;
        let answer = Said::Answer { id: None, failed: true, text: "a\n[image]".to_owned() };
        assert_eq!(said(record.as_bytes()), Saying { said: vec![answer], beside: true, ..Saying::default() });
    }

    #[test]
    fn an_end_says_why_in_both_spellings() {
        let end =
            |errors: &str| only(&format!(r#"{{"type":"result","subtype":"error_x","errors":{errors}}}"#));
        let told = Said::End { subtype: "error_x".to_owned(), failed: true, why: vec!["no".to_owned()] };
        assert_eq!(end(r#"["no"]"#), told);
        assert_eq!(end(r#"[{"type":"e","message":"no"}]"#), told);
    }

    #[test]
    fn half_an_emoji_costs_no_more_than_itself() {
        let record = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
        assert_eq!(only(record), Said::Text("cut \u{fffd}".to_owned()));
    }

    #[test]
    fn every_kind_that_says_something_is_one_that_can() {
        for kind in ["assistant", "user", "result/success", "result", "system/init", "system/api_retry"] {
            assert!(can_say(kind), "{kind}");
        }
        for kind in ["system/hook_started", "summary", "stream_event/message_start", "resultant", ""] {
            assert!(!can_say(kind), "{kind}");
        }
    }

    #[test]
    fn what_is_no_record_says_nothing() {
        assert_eq!(said(b"{"), Saying::default());
        assert_eq!(said(br#"{"type":7}"#), Saying::default());
    }
}
