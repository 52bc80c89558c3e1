//! Redacts one record in a single pass: structure, numbers and known keys are copied, strings are redacted by
//! the rules of `table.rs`.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use super::{
    placeholder::{self, Placeholders},
    span::{self, Span},
    table::{self, Object, Rule, Treatment},
};
use crate::event;

/// Kinds of records that hold text typed by a person.
const PROMPT_KINDS: &[&str] =
    &["user", "input", "system/local_command", "queue-operation/enqueue", "attachment/queued_command"];

/// The kind of record whose errors belong to the hook whose command they contain.
const HOOK_SUMMARY: &str = "system/stop_hook_summary";

/// Longest key, in bytes, whose placeholder may be equal to that of another key.
const MAX_SHORT_KEY: usize = 3;

/// Appends a record without its texts. `text` must be one JSON value; so is the output, with as many bytes.
pub(super) fn record(text: &str, kind: &str, placeholders: &mut Placeholders, out: &mut Vec<u8>) {
    let commands = if kind == HOOK_SUMMARY { hook_commands(text) } else { Vec::new() };
    let is_prompt = PROMPT_KINDS.contains(&kind);
    Walk { is_prompt, commands, ..Walk::new(text, Rule::RECORD, placeholders, out) }.run();
}

/// Returns the commands of the hooks in a summary.
fn hook_commands(text: &str) -> Vec<String> {
    let record: Value = serde_json::from_str(text).unwrap_or_default();
    let infos = record["hookInfos"].as_array().into_iter().flatten();
    infos.filter_map(|info| info["command"].as_str().map(str::to_owned)).collect()
}

struct Walk<'w> {
    text: &'w str,
    is_prompt: bool,
    /// Commands of hooks that may occur in the record's errors.
    commands: Vec<String>,
    placeholders: &'w mut Placeholders,
    out: &'w mut Vec<u8>,
    stack: Vec<Frame>,
    /// The rule for the next value.
    rule: Rule,
    /// The next string is a key.
    at_key: bool,
}

/// An open object or list.
struct Frame {
    is_object: bool,
    /// The rule for the object or list, which also applies to the elements of a list.
    rule: Rule,
    /// Offset of its opening bracket in the text.
    start: usize,
    /// The short keys of the object, by their placeholders.
    short_keys: Option<HashMap<Vec<u8>, String>>,
}

impl<'w> Walk<'w> {
    fn new(text: &'w str, rule: Rule, placeholders: &'w mut Placeholders, out: &'w mut Vec<u8>) -> Self {
        let (commands, stack) = (Vec::new(), Vec::new());
        Self { text, is_prompt: false, commands, placeholders, out, stack, rule, at_key: false }
    }

    fn run(mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = self.string_literal(at);
                    continue;
                }
                b'{' | b'[' => {
                    let is_object = byte == b'{';
                    self.stack.push(Frame { is_object, rule: self.rule, start: at, short_keys: None });
                    self.at_key = is_object;
                }
                b'}' | b']' => drop(self.stack.pop()),
                b',' => {
                    let open = self.stack.last();
                    self.at_key = open.is_some_and(|frame| frame.is_object);
                    self.rule = open.map_or(Rule::REPLACE_ALL, |frame| frame.rule);
                }
                b':' => self.at_key = false,
                _ => {}
            }
            self.out.push(byte);
            at += 1;
        }
    }

    /// Redacts the string that opens at `open`, and returns the offset after its closing quote.
    fn string_literal(&mut self, open: usize) -> usize {
        let close = string_end(self.text.as_bytes(), open + 1);
        let raw = &self.text[open + 1..close];
        self.out.push(b'"');
        if self.at_key {
            self.key(raw);
        } else {
            self.string(self.rule.treatment, raw);
        }
        if close < self.text.len() {
            self.out.push(b'"');
        }
        close + 1
    }

    fn key(&mut self, raw: &str) {
        let plain = unescaped(raw);
        let Some(frame) = self.stack.last_mut() else { return self.placeholders.replace(raw, self.out) };
        let object = frame.rule.object;
        let start = frame.start;
        let text = self.text;
        self.rule = table::rule(object, &plain, |key| sibling(text, start, key));
        let begin = self.out.len();
        if table::keeps_key(object, &plain) {
            return self.out.extend_from_slice(raw.as_bytes());
        }
        if span::is_path(&plain) {
            return self.spans(raw, &plain, span::of_path(&plain));
        }
        self.placeholders.replace(raw, self.out);
        // Two keys of an object must not become equal: the last would hide the first.
        if raw.len() <= MAX_SHORT_KEY && !raw.contains('\\') {
            let taken = frame.short_keys.get_or_insert_default();
            let mut attempts: u32 = 1 << 16;
            while taken.get(&self.out[begin..]).is_some_and(|other| other != raw) && attempts > 0 {
                next(&mut self.out[begin..]);
                attempts -= 1;
            }
            taken.insert(self.out[begin..].to_vec(), raw.to_owned());
        }
    }

    fn string(&mut self, treatment: Treatment, raw: &str) {
        let plain = unescaped(raw);
        let keep = match treatment {
            Treatment::Keep => true,
            Treatment::KeepWord => table::is_word(&plain),
            Treatment::KeepName => table::is_name(&plain),
            Treatment::KeepStatus => table::is_status(&plain),
            Treatment::KeepCommand => span::is_command(&plain),
            Treatment::CommandLine => return self.command_line(raw, &plain),
            Treatment::Replace if span::is_path(&plain) => {
                return self.spans(raw, &plain, span::of_path(&plain));
            }
            Treatment::Path => return self.spans(raw, &plain, span::of_path(&plain)),
            Treatment::Prompt if self.is_prompt => return self.spans(raw, &plain, span::of_prompt(&plain)),
            Treatment::ToolText | Treatment::Prompt => {
                return self.spans(raw, &plain, span::of_tool_text(&plain));
            }
            Treatment::HookErrors => {
                return self.spans(raw, &plain, span::of_hook_errors(&plain, &self.commands));
            }
            Treatment::HookJson => return self.hook_json(raw, &plain),
            Treatment::Replace => false,
        };
        if keep {
            self.out.extend_from_slice(raw.as_bytes());
        } else {
            self.placeholders.replace(raw, self.out);
        }
    }

    /// Keeps the name of a command and replaces its arguments.
    fn command_line(&mut self, raw: &str, plain: &str) {
        let slash = usize::from(plain.starts_with('/'));
        let name = span::command_and_space(&plain[slash..]).map(|length| Span::Keep(0..slash + length));
        self.spans(raw, plain, name.into_iter().collect());
    }

    /// Redacts a string span by span. The text between two spans gets one placeholder.
    fn spans(&mut self, raw: &str, plain: &str, spans: Vec<Span>) {
        let offset = |at: usize| if raw.len() == plain.len() { at } else { placeholder::raw_offset(raw, at) };
        let mut done = 0;
        for span in spans {
            let (Span::Keep(range) | Span::Replace(range)) = &span;
            let (start, end) = (offset(range.start), offset(range.end));
            self.placeholders.replace(&raw[done..start], self.out);
            match span {
                Span::Keep(_) => self.out.extend_from_slice(&raw.as_bytes()[start..end]),
                Span::Replace(_) => self.string(Treatment::Replace, &raw[start..end]),
            }
            done = end;
        }
        self.placeholders.replace(&raw[done..], self.out);
    }

    /// Redacts the output of a hook: of JSON, the decision is kept.
    fn hook_json(&mut self, raw: &str, plain: &str) {
        let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(plain).is_ok();
        if !plain.trim_start().starts_with('{') || !is_json() {
            return self.placeholders.replace(raw, self.out);
        }
        let mut inner = Vec::new();
        let rule = Rule { treatment: Treatment::Replace, object: Object::HookOutput };
        Walk::new(plain, rule, self.placeholders, &mut inner).run();
        let quoted = serde_json::to_string(&String::from_utf8_lossy(&inner)).unwrap_or_default();
        let written = quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default();
        if written.is_empty() || written.len() > raw.len() {
            return self.placeholders.replace(raw, self.out);
        }
        self.out.extend_from_slice(written.as_bytes());
        // Escapes that were longer than necessary leave room, which is filled with spaces.
        let end = self.out.len() + raw.len() - written.len();
        self.out.resize(end, b' ');
    }
}

/// Returns the offset of the closing quote of a string, or the length of the text without one.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

fn unescaped(raw: &str) -> Cow<'_, str> {
    if raw.as_bytes().contains(&b'\\') { Cow::Owned(event::unescape(raw)) } else { Cow::Borrowed(raw) }
}

/// Returns the string under a key of the object that begins at `start`; the last one if the key occurs twice.
fn sibling(text: &str, start: usize, wanted: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut at_key, mut found) = (start, 0, false, false);
    let mut value = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let close = string_end(bytes, at + 1);
                let raw = &text[at + 1..close];
                if depth == 1 && at_key {
                    found = unescaped(raw) == wanted;
                } else if depth == 1 && found {
                    value = Some(unescaped(raw).into_owned());
                }
                at = close;
            }
            b'{' | b'[' => {
                depth += 1;
                at_key = depth == 1;
            }
            b'}' | b']' => depth -= 1,
            b',' => at_key = depth == 1,
            b':' => at_key = false,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at += 1;
    }
    value
}

/// Changes a placeholder to the next one of the same length.
fn next(placeholder: &mut [u8]) {
    for byte in placeholder {
        *byte = if *byte < b'#' || *byte >= b'~' { b'#' } else { *byte + 1 };
        if *byte == b'\\' {
            *byte += 1;
        }
        if *byte != b'#' {
            return;
        }
    }
}
