//! Messages of lean records: their blocks, and the words that decide how a text counts.

use std::fmt::Write;

use super::{Writer, first_word, quoted, table::Keep};
use crate::{
    event::json::{Json, Object},
    redact::{deciding_prompt, deciding_tool_text},
};

/// Tools whose input names a subagent, a skill or a command, with the members that do.
const NAMING_TOOLS: &[(&str, &[&str])] = &[
    ("Agent", &["subagent_type"]),
    ("Task", &["subagent_type"]),
    ("Skill", &["skill", "command"]),
    ("SlashCommand", &["command"]),
];

impl Writer<'_, '_> {
    pub(super) fn content(&mut self, value: Json<'_>) {
        if value.is_string() {
            let words = self.own_text(value.string().unwrap_or_default().as_ref());
            return self.member("content", &quoted(&words));
        }
        self.each("content", value, |writer, block| match block.object() {
            Some(block) => writer.block(&block),
            None => writer.out.push('0'),
        });
    }

    /// The words of a message that decide how it counts.
    fn own_text(&self, text: &str) -> String {
        match () {
            () if text.is_empty() => String::new(),
            () if self.context.is_prompt => deciding_prompt(text),
            () => deciding_tool_text(text),
        }
    }

    fn block(&mut self, block: &Object<'_>) {
        self.out.push('{');
        self.is_first = true;
        let kind = block.text(&["type"]).unwrap_or_default().into_owned();
        let failed = block.is_true("is_error");
        for (key, value) in block.iter() {
            match &*key {
                "type" => self.keep(Keep::Copy, &key, value),
                "name" if kind.ends_with("tool_use") => self.keep(Keep::Copy, &key, value),
                "id" if kind == "tool_use" => self.keep(Keep::Copy, &key, value),
                "tool_use_id" => self.keep(Keep::Copy, &key, value),
                "is_error" => self.keep(Keep::Set, &key, value),
                "input" if kind == "tool_use" => self.input(block, value),
                "content" if kind == "tool_result" && failed => self.failure(value),
                "text" => {
                    if let Some(text) =
                        value.text().filter(|_| self.context.is_prompt || self.context.is_synthetic)
                    {
                        let words = self.own_text(&text);
                        self.member("text", &quoted(&words));
                    }
                }
                _ => {}
            }
        }
        self.is_first = false;
        self.out.push('}');
    }

    /// The text of a failed result, which may say that the call was denied.
    fn failure(&mut self, value: Json<'_>) {
        if value.is_string() {
            return self.keep(Keep::ToolText, "content", value);
        }
        self.each("content", value, |writer, part| {
            let Some(part) = part.object() else { return writer.out.push('0') };
            writer.out.push('{');
            writer.is_first = true;
            if let Some(text) = part.get("text") {
                writer.keep(Keep::ToolText, "text", text);
            }
            writer.is_first = false;
            writer.out.push('}');
        });
    }

    /// The input of a call: a hash, to find repetitions, and the names in it.
    fn input(&mut self, block: &Object<'_>, value: Json<'_>) {
        let hash = self.context.secret.hash(value.source());
        let tool = block.text(&["name"]).unwrap_or_default();
        let naming = NAMING_TOOLS.iter().find(|(name, _)| *name == tool);
        let (Some((_, keys)), Some(input)) = (naming, value.object()) else {
            return self.member("input", &format!("\"{hash:016x}\""));
        };
        let mut named = format!("{{\"~\":\"{hash:016x}\"");
        for key in *keys {
            if let Some(text) = input.text(&[key]) {
                let word = if *key == "subagent_type" { &*text } else { first_word(&text) };
                let _ = write!(named, ",{}:{}", quoted(key), quoted(word));
            }
        }
        named.push('}');
        self.member("input", &named);
    }
}
