//! One walk over a record: structure, numbers and known keys stay as they are, strings become what the table says.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use super::{
    said::{self, Span},
    table::{self, Fate, Rule, Zone},
    text::{self, Numbers},
};

/// Kinds of records that hold what a person typed.
const TYPED: &[&str] =
    &["user", "input", "system/local_command", "queue-operation/enqueue", "attachment/queued_command"];

/// The kind whose errors are told from each other by the commands in them.
const SUMMARY: &str = "system/stop_hook_summary";

/// Replaced keys up to this long may turn out equal to others of their object.
const TINY: usize = 3;

/// Writes a record without its texts. What is given is one JSON value, and so is what is written, with as many bytes.
pub(super) fn record(text: &str, kind: &str, numbers: &mut Numbers, out: &mut Vec<u8>) {
    let commands = if kind == SUMMARY { commands(text) } else { Vec::new() };
    let typed = TYPED.contains(&kind);
    Walk { text, typed, commands, numbers, out, stack: Vec::new(), rule: Rule::RECORD, at_key: false }.run();
}

/// The commands of the hooks in a summary.
fn commands(text: &str) -> Vec<String> {
    let record: Value = serde_json::from_str(text).unwrap_or_default();
    let infos = record["hookInfos"].as_array().into_iter().flatten();
    infos.filter_map(|info| info["command"].as_str().map(str::to_owned)).collect()
}

struct Walk<'w> {
    text: &'w str,
    typed: bool,
    commands: Vec<String>,
    numbers: &'w mut Numbers,
    out: &'w mut Vec<u8>,
    stack: Vec<Frame>,
    /// Of the value that comes next.
    rule: Rule,
    /// What comes next is a key.
    at_key: bool,
}

/// An object or a list that is open.
struct Frame {
    is_object: bool,
    /// Of its elements, or of its keys.
    rule: Rule,
    /// Where it begins.
    start: usize,
    /// Tiny keys as they are written, and as they stood.
    tiny: Option<HashMap<Vec<u8>, String>>,
}

impl Walk<'_> {
    fn run(mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = self.quoted(at);
                    continue;
                }
                b'{' | b'[' => {
                    let is_object = byte == b'{';
                    self.stack.push(Frame { is_object, rule: self.rule, start: at, tiny: None });
                    self.at_key = is_object;
                }
                b'}' | b']' => drop(self.stack.pop()),
                b',' => {
                    let open = self.stack.last();
                    self.at_key = open.is_some_and(|frame| frame.is_object);
                    self.rule = open.map_or(Rule::NOTHING, |frame| frame.rule);
                }
                b':' => self.at_key = false,
                _ => {}
            }
            self.out.push(byte);
            at += 1;
        }
    }

    /// A string and its quotes; where it ends.
    fn quoted(&mut self, open: usize) -> usize {
        let close = string_end(self.text.as_bytes(), open + 1);
        let raw = &self.text[open + 1..close];
        self.out.push(b'"');
        if self.at_key {
            self.key(raw);
        } else {
            self.string(self.rule.fate, raw);
        }
        if close < self.text.len() {
            self.out.push(b'"');
        }
        close + 1
    }

    fn key(&mut self, raw: &str) {
        let said = said_by(raw);
        let Some(frame) = self.stack.last_mut() else { return self.numbers.replace(raw, self.out) };
        let zone = frame.rule.zone;
        let start = frame.start;
        let text = self.text;
        self.rule = table::rule(zone, &said, |key| sibling(text, start, key));
        let begin = self.out.len();
        if table::stays(zone, &said) {
            return self.out.extend_from_slice(raw.as_bytes());
        }
        if said::is_path(&said) {
            return self.spanned(raw, &said, said::of_path(&said));
        }
        self.numbers.replace(raw, self.out);
        if raw.len() <= TINY && !raw.contains('\\') {
            let taken = frame.tiny.get_or_insert_default();
            let mut left: u32 = 1 << 16;
            while taken.get(&self.out[begin..]).is_some_and(|other| other != raw) && left > 0 {
                next(&mut self.out[begin..]);
                left -= 1;
            }
            taken.insert(self.out[begin..].to_vec(), raw.to_owned());
        }
    }

    fn string(&mut self, fate: Fate, raw: &str) {
        let said = said_by(raw);
        let stays = match fate {
            Fate::Stays => true,
            Fate::Word => table::is_word(&said),
            Fate::Name => table::is_name(&said),
            Fate::Status => table::is_status(&said),
            Fate::Listed => said::is_command(&said),
            Fate::Command => return self.command(raw, &said),
            Fate::Text if said::is_path(&said) => return self.spanned(raw, &said, said::of_path(&said)),
            Fate::Path => return self.spanned(raw, &said, said::of_path(&said)),
            Fate::Typed if self.typed => return self.spanned(raw, &said, said::of_typed(&said)),
            Fate::Said | Fate::Typed => return self.spanned(raw, &said, said::of_said(&said)),
            Fate::Mentions => return self.spanned(raw, &said, said::of_mentions(&said, &self.commands)),
            Fate::Json => return self.json(raw, &said),
            Fate::Text => false,
        };
        if stays {
            self.out.extend_from_slice(raw.as_bytes());
        } else {
            self.numbers.replace(raw, self.out);
        }
    }

    /// A command: its name stays, what follows does not.
    fn command(&mut self, raw: &str, said: &str) {
        let slash = usize::from(said.starts_with('/'));
        let name = said::command_and_blank(&said[slash..]).map(|length| Span::Stays(0..slash + length));
        self.spanned(raw, said, name.into_iter().collect());
    }

    /// A text of which some parts stay; all that is not named is one text from part to part.
    fn spanned(&mut self, raw: &str, said: &str, spans: Vec<Span>) {
        let offset = |at: usize| if raw.len() == said.len() { at } else { text::raw_offset(raw, at) };
        let mut done = 0;
        for span in spans {
            let (Span::Stays(range) | Span::Apart(range)) = &span;
            let (start, end) = (offset(range.start), offset(range.end));
            self.numbers.replace(&raw[done..start], self.out);
            match span {
                Span::Stays(_) => self.out.extend_from_slice(&raw.as_bytes()[start..end]),
                Span::Apart(_) => self.string(Fate::Text, &raw[start..end]),
            }
            done = end;
        }
        self.numbers.replace(&raw[done..], self.out);
    }

    /// What a hook wrote: if it is JSON, its decision stays.
    fn json(&mut self, raw: &str, said: &str) {
        if !said.trim_start().starts_with('{') || serde_json::from_str::<serde::de::IgnoredAny>(said).is_err()
        {
            return self.numbers.replace(raw, self.out);
        }
        let mut inner = Vec::new();
        let rule = Rule { fate: Fate::Text, zone: Zone::HookAnswer };
        Walk {
            text: said,
            typed: false,
            commands: Vec::new(),
            numbers: self.numbers,
            out: &mut inner,
            stack: Vec::new(),
            rule,
            at_key: false,
        }
        .run();
        let quoted = serde_json::to_string(&String::from_utf8_lossy(&inner)).unwrap_or_default();
        let written = quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default();
        if written.is_empty() || written.len() > raw.len() {
            return self.numbers.replace(raw, self.out);
        }
        self.out.extend_from_slice(written.as_bytes());
        // An escape that was longer than it had to be leaves room, which is blank in JSON.
        let end = self.out.len() + raw.len() - written.len();
        self.out.resize(end, b' ');
    }
}

/// Where the quote stands that ends a string, or the end of the text.
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

fn said_by(raw: &str) -> Cow<'_, str> {
    if raw.as_bytes().contains(&b'\\') { Cow::Owned(text::said(raw)) } else { Cow::Borrowed(raw) }
}

/// The string under a key of the object that begins here, the last one if there are several.
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
                    found = said_by(raw) == wanted;
                } else if depth == 1 && found {
                    value = Some(said_by(raw).into_owned());
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

/// The next of all placeholders that are as long.
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
