//! Makes lean records: records without the texts that no report without content needs.

mod log;
mod message;
mod table;

use std::{borrow::Cow, hash::Hasher};

use siphasher::sip::SipHasher24;

use crate::{
    event::{
        Dialect, Event, decode,
        json::{self, Json, Object},
        lean::Sizes,
    },
    redact::{deciding_prompt, deciding_tool_text, hook_commands_in, is_command_name},
};
#[doc(hidden)]
pub use log::lean_log;
pub(super) use log::{LeanPart, LeanWriter};
use table::Keep;

/// Kinds of records whose own text a person may have typed.
const PROMPT_KINDS: &[&str] = &["system/local_command", "queue-operation/enqueue", "input"];

/// A text that counts as text without content.
const SOME_TEXT: &str = "\".\"";

/// The secret of an archive: the inputs of calls are kept as hashes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Secret(pub(super) [u8; 16]);

impl Secret {
    fn hash(&self, text: &str) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

/// Appends the lean form of a record.
fn write_record(event: &Event<'_>, secret: Secret, out: &mut String) {
    let Ok(record) = json::object(event.text) else { return };
    Sizes::of(event).write(out);
    let kind = event.kind.name();
    let message = record.object("message");
    let context = RecordContext {
        kind: &kind,
        text: event.text,
        dialect: event.dialect,
        is_prompt: kind == "user" || PROMPT_KINDS.contains(&&*kind),
        is_synthetic: message
            .as_ref()
            .and_then(|one| one.text(&["model"]))
            .is_some_and(|model| model == "<synthetic>"),
        is_refused: event.text.contains("refusal"),
        hooks: record
            .list("hookInfos")
            .into_iter()
            .filter_map(Json::object)
            .filter_map(|one| one.text(&["command"]).map(Cow::into_owned))
            .collect(),
        secret,
    };
    let mut writer = Writer { context, out, is_first: false, depth: 0 };
    writer.members(table::Object::Record, &record);
    writer.out.push('}');
}

/// Properties of a record that decide what is kept of its members.
struct RecordContext<'r> {
    kind: &'r str,
    text: &'r str,
    dialect: Dialect,
    is_prompt: bool,
    is_synthetic: bool,
    is_refused: bool,
    /// Commands of hooks in the record.
    hooks: Vec<String>,
    secret: Secret,
}

struct Writer<'w, 'r> {
    context: RecordContext<'r>,
    out: &'w mut String,
    /// Whether the next member is the first of its object.
    is_first: bool,
    depth: usize,
}

/// Objects that are nested deeper than this are kept as empty ones. Real records have seven levels.
const MAX_DEPTH: usize = 32;

impl Writer<'_, '_> {
    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        self.out.push_str(&quoted(key));
        self.out.push(':');
    }

    fn member(&mut self, key: &str, json: &str) {
        self.key(key);
        self.out.push_str(json);
    }

    /// Writes an object with the members that are kept.
    fn object(&mut self, kind: table::Object, object: &Object<'_>) {
        self.out.push('{');
        self.is_first = true;
        self.members(kind, object);
        if self.is_first && object.len() > 0 && matches!(kind, table::Object::Message) {
            self.member("~", "0"); // an empty message has no response
        }
        if matches!(kind, table::Object::ResponseBody) && object.len() > 1 {
            self.member("~", "0"); // some responses are known by their only member
        }
        self.is_first = false;
        self.out.push('}');
    }

    fn members(&mut self, kind: table::Object, object: &Object<'_>) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let mut has_parent = false;
        for (key, value) in object.iter() {
            match table::keep(kind, &key) {
                None => {}
                Some(Keep::Special) => has_parent |= self.special(kind, object, &key, value),
                Some(keep) => self.keep(keep, &key, value),
            }
        }
        if has_parent {
            self.member("parentUuid", "0");
        }
        self.depth -= 1;
    }

    fn keep(&mut self, keep: Keep, key: &str, value: Json<'_>) {
        match keep {
            Keep::Copy => self.member(key, stand_in(value)),
            Keep::Set if !matches!(value.source(), "0" | "false" | "null" | "\"\"") => {
                self.member(key, stand_in(value));
            }
            Keep::Set => {}
            Keep::Word => match value.string() {
                Some(word) if !is_word(&word) => self.member(key, SOME_TEXT),
                _ => self.member(key, stand_in(value)),
            },
            Keep::Presence => self.member(key, "0"),
            Keep::FirstWord => {
                if let Some(text) = value.text() {
                    self.member(key, &quoted(first_word(&text)));
                }
            }
            Keep::ToolText => self.text(key, value, deciding_tool_text),
            Keep::Prompt => self.text(key, value, deciding_prompt),
            Keep::HookJson => self.hook_json(key, value),
            Keep::Object(kind) => match value.object() {
                Some(object) => {
                    self.key(key);
                    self.object(kind, &object);
                }
                None => self.member(key, not_an_object(value)),
            },
            Keep::Each(kind) => self.each(key, value, |writer, element| match element.object() {
                Some(object) => writer.object(kind, &object),
                None => writer.out.push('0'),
            }),
            Keep::Map(kind) => match value.object() {
                Some(object) => self.map(key, kind, &object),
                None => self.member(key, not_an_object(value)),
            },
            Keep::Names => self.names(key, value),
            Keep::McpTools => self.mcp_tools(key, value),
            Keep::Words => self.each(key, value, |writer, element| match element.string() {
                Some(word) if is_word(&word) => writer.out.push_str(element.source()),
                _ => writer.out.push('0'),
            }),
            Keep::Length => match value.array() {
                Some(all) => self.member(key, &all.len().to_string()),
                None => self.member(key, not_an_object(value)),
            },
            Keep::Measured => self.each(key, value, Self::measure),
            Keep::Special => {}
        }
    }

    /// Writes a list, element by element.
    fn each(&mut self, key: &str, value: Json<'_>, mut write: impl FnMut(&mut Self, Json<'_>)) {
        let Some(elements) = value.array() else { return self.member(key, not_an_object(value)) };
        self.key(key);
        self.out.push('[');
        for (at, element) in elements.into_iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            write(self, element);
        }
        self.out.push(']');
    }

    fn map(&mut self, key: &str, kind: table::Object, object: &Object<'_>) {
        self.key(key);
        self.out.push('{');
        self.is_first = true;
        for (name, value) in object.iter() {
            match value.object() {
                Some(inner) => {
                    self.key(&name);
                    self.object(kind, &inner);
                }
                None => self.member(&name, not_an_object(value)),
            }
        }
        self.is_first = false;
        self.out.push('}');
    }

    /// Keeps the words of a text that decide how it counts.
    fn text(&mut self, key: &str, value: Json<'_>, words: fn(&str) -> String) {
        match value.string() {
            Some(text) => self.member(key, &quoted(&words(&text))),
            None => self.member(key, not_an_object(value)),
        }
    }

    fn names(&mut self, key: &str, value: Json<'_>) {
        let Some(all) = value.array() else { return };
        let name = |one: Json<'_>| one.text().or_else(|| one.object()?.text(&["name"])).map(Cow::into_owned);
        let names: Vec<String> = all
            .into_iter()
            .filter_map(name)
            .filter(|name| is_command_name(name))
            .map(|name| quoted(&name))
            .collect();
        self.member(key, &format!("[{}]", names.join(",")));
    }

    fn mcp_tools(&mut self, key: &str, value: Json<'_>) {
        let Some(all) = value.array() else { return self.member(key, not_an_object(value)) };
        let tools: Vec<&str> =
            all.iter().map(|tool| tool.source()).filter(|tool| tool.starts_with("\"mcp__")).collect();
        self.member(key, &format!("[{}]", tools.join(",")));
    }

    /// Writes the name of an element, its length and a hash of it.
    fn measure(&mut self, element: Json<'_>) {
        let name = element.object().and_then(|object| object.text(&["name"]).map(|name| quoted(&name)));
        let name = name.map(|name| format!("\"name\":{name},")).unwrap_or_default();
        let hash = self.context.secret.hash(element.source());
        self.out.push_str(&format!("{{{name}\"~\":[{},\"{hash:016x}\"]}}", element.length()));
    }

    fn hook_json(&mut self, key: &str, value: Json<'_>) {
        let Some(text) = value.text() else { return };
        let Ok(output) = json::object(&text) else { return };
        let mut inner = String::new();
        std::mem::swap(self.out, &mut inner);
        self.object(table::Object::HookOutput, &output);
        std::mem::swap(self.out, &mut inner);
        self.member(key, &quoted(&inner));
    }

    /// Handles members whose treatment depends on the record. Returns whether the member says that the record has
    /// a parent.
    fn special(&mut self, kind: table::Object, object: &Object<'_>, key: &str, value: Json<'_>) -> bool {
        use table::Object as O;
        match (kind, key) {
            (O::Record, "parentUuid") => return true,
            (O::Record, "isSidechain") => {
                if value.is_true() {
                    self.member(key, "true");
                }
                return true;
            }
            (O::Record, "message") => match value.object() {
                Some(message) => {
                    self.key(key);
                    self.object(O::Message, &message);
                }
                None if self.context.kind == "system/permission_denied" => {
                    self.keep(Keep::ToolText, key, value)
                }
                None => self.member(key, not_an_object(value)),
            },
            (O::Record, "error") => match value.object() {
                Some(error) => {
                    self.key(key);
                    self.object(O::ApiError, &error);
                }
                None => self.keep(Keep::Word, key, value),
            },
            (O::Record, "id")
                if self.context.dialect != Dialect::Transcript || self.context.kind == "api-request" =>
            {
                self.keep(Keep::Copy, key, value)
            }
            (O::Diagnostics, "cache_miss_reason") => match value.object() {
                Some(_) => self.keep(Keep::Object(O::MissReason), key, value),
                None => self.keep(Keep::Word, key, value),
            },
            (O::Record, "request_id" | "requestId") if self.needs_request_id() => {
                self.keep(Keep::Copy, key, value)
            }
            (O::Record, "content" | "text") if PROMPT_KINDS.contains(&self.context.kind) => {
                self.keep(Keep::Prompt, key, value);
            }
            (O::Record, "toolUseResult" | "tool_use_result") => self.outcome(key, value),
            (O::Record, "hookErrors") => {
                let commands = std::mem::take(&mut self.context.hooks);
                self.each(key, value, |writer, error| match error.string() {
                    Some(error) => writer.out.push_str(&quoted(&hook_commands_in(&error, &commands))),
                    None => writer.out.push('0'),
                });
                self.context.hooks = commands;
            }
            (O::Record | O::Message | O::Delta, "stop_reason") => self.stop_reason(key, value),
            (O::Message, "content") => self.content(value),
            (O::Usage, "speed") if value.source() == "\"fast\"" => self.member(key, "\"fast\""),
            (O::Usage, "inference_geo") if value.source() == "\"us\"" => self.member(key, "\"us\""),
            (O::Attachment | O::Progress, "command") if object.get("hookEvent").is_some() => {
                self.keep(Keep::Copy, key, value);
            }
            (O::Request, "input") if object.text(&["subtype"]).as_deref() == Some("hook_callback") => {
                self.keep(Keep::Object(O::HookInput), key, value);
            }
            (O::HookOutput, "decision") => match value.object() {
                Some(_) => self.keep(Keep::Object(O::HookDecision), key, value),
                None => self.keep(Keep::Word, key, value),
            },
            _ => {}
        }
        false
    }

    fn needs_request_id(&self) -> bool {
        let kind = self.context.kind;
        kind == "assistant"
            || self.context.is_refused
            || kind.starts_with("control_")
            || kind.starts_with("system/model_")
    }

    /// A refusal is found by its compact form, so a reason that is written with spaces keeps them.
    fn stop_reason(&mut self, key: &str, value: Json<'_>) {
        self.member(key, "");
        if value.source() == "\"refusal\"" && !self.context.text.contains("\"stop_reason\":\"refusal\"") {
            self.out.push(' ');
        }
        self.out.push_str(stand_in(value));
    }

    /// The result of a tool for the CLI. Beside a tool result, a prompt is impossible and one without ids is not
    /// needed.
    fn outcome(&mut self, key: &str, value: Json<'_>) {
        let Some(outcome) = value.object() else {
            return self.member(key, if value.is_null() { "null" } else { "0" });
        };
        self.key(key);
        self.object(table::Object::Outcome, &outcome);
    }
}

/// The first word of a text with its slash, if it can be the name of a command.
fn first_word(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or(".");
    if is_command_name(word.strip_prefix('/').unwrap_or(word)) { word } else { "." }
}

/// A value, or a stand-in for an object or a list.
fn stand_in<'a>(value: Json<'a>) -> &'a str {
    match value.source() {
        object if value.is_object() => {
            if object == "{}" {
                "{}"
            } else {
                "{\"~\":0}"
            }
        }
        list if value.is_array() => {
            if list == "[]" {
                "[]"
            } else {
                "[0]"
            }
        }
        plain => plain,
    }
}

/// A stand-in for a value where an object or a list is expected: a text may be content.
fn not_an_object<'a>(value: Json<'a>) -> &'a str {
    match value.source() {
        "\"\"" => "\"\"",
        _ if value.is_string() => SOME_TEXT,
        _ => stand_in(value),
    }
}

/// Whether a text is one word, as the names of errors and decisions are.
fn is_word(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns the lean form of a record, for tests; `None` if it is not a record.
#[doc(hidden)]
pub fn lean_record(bytes: &[u8]) -> Option<String> {
    let event = decode(bytes).ok()?;
    let mut line = String::new();
    write_record(&event, Secret([7; 16]), &mut line);
    Some(line)
}
