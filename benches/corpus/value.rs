//! The values of placeholders: ids, times, money, tokens, blocks.

use std::io::Write;

use memchr::{memchr2, memchr2_iter};

use super::scribe::Call;
use super::text::{DAY, Random};
use super::{Tokens, line as template};

/// Appends a template with its placeholders (`$name`) filled in; line ends of the template itself are
/// dropped.
pub(super) fn fill(
    line: &mut Vec<u8>,
    template: &str,
    placeholders: Placeholders<'_>,
    more: Placeholders<'_>,
) {
    let mut rest = template;
    while let Some(at) = memchr2(b'$', b'\n', rest.as_bytes()) {
        line.extend_from_slice(&rest.as_bytes()[..at]);
        let placeholder = rest.as_bytes()[at] == b'$';
        rest = &rest[at + 1..];
        if !placeholder {
            continue;
        }
        let end = rest.bytes().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let value = placeholders.iter().chain(more).find(|(known, _)| *known == name);
        value.expect("every placeholder of a template has a value").1.put(line);
        rest = after;
    }
    line.extend_from_slice(rest.as_bytes());
}

/// Appends a compact record as `JSON.stringify(record, null, 2)` shows it inside an array.
pub(super) fn indent(page: &mut Vec<u8>, record: &[u8]) {
    let mut depth = 1;
    let mut at = 0;
    while at < record.len() {
        let (byte, next) = (record[at], record.get(at + 1));
        at += 1;
        match byte {
            b'"' => {
                let mut marks = memchr2_iter(b'"', b'\\', &record[at..]);
                let mut from = 0;
                let end = marks.find(|&mark| {
                    let escaped = mark < from;
                    from = if record[at + mark] == b'\\' && !escaped { mark + 2 } else { from };
                    record[at + mark] == b'"' && !escaped
                });
                let end = at + end.expect("every string of a template ends") + 1;
                page.extend_from_slice(&record[at - 1..end]);
                at = end;
            }
            b'{' | b'[' if matches!(next, Some(b'}' | b']')) => {
                page.extend_from_slice(&record[at - 1..=at]);
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                page.push(byte);
                new_line(page, depth);
            }
            b'}' | b']' => {
                depth -= 1;
                new_line(page, depth);
                page.push(byte);
            }
            b',' => {
                page.push(byte);
                new_line(page, depth);
            }
            b':' => page.extend_from_slice(b": "),
            _ => page.push(byte),
        }
    }
}

fn new_line(page: &mut Vec<u8>, depth: usize) {
    page.push(b'\n');
    page.resize(page.len() + 2 * depth, b' ');
}

/// `toolUseResult` of a call that failed.
pub(super) fn error(content: &[u8]) -> Vec<u8> {
    [b"\"Error: ", content, b"\""].concat()
}

/// Names of placeholders with their values.
pub(super) type Placeholders<'h> = &'h [(&'h str, &'h dyn Put)];

/// The value of a placeholder.
pub(super) trait Put {
    fn put(&self, line: &mut Vec<u8>);
}

impl Put for &str {
    fn put(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(self.as_bytes());
    }
}

impl Put for &[u8] {
    fn put(&self, line: &mut Vec<u8>) {
        line.extend_from_slice(self);
    }
}

impl Put for u64 {
    fn put(&self, line: &mut Vec<u8>) {
        write!(line, "{self}").expect("a Vec takes everything");
    }
}

/// JSON as text inside JSON, as in `partial_json`.
pub(super) struct Escaped<'t>(pub(super) &'t [u8]);

impl Put for Escaped<'_> {
    fn put(&self, line: &mut Vec<u8>) {
        for &byte in self.0 {
            if matches!(byte, b'"' | b'\\') {
                line.push(b'\\');
            }
            line.push(byte);
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Uuid(u64, u64);

impl Random {
    pub(super) fn uuid(&mut self) -> Uuid {
        Uuid(self.roll() & !0xf000 | 0x4000, self.roll() >> 2 | 1 << 63)
    }

    pub(super) fn id(&mut self, prefix: &'static str) -> Id {
        Id(prefix, self.roll(), self.roll())
    }
}

impl Put for Uuid {
    fn put(&self, line: &mut Vec<u8>) {
        for (half, dashes) in [(self.0, [8, 12]), (self.1, [0, 4])] {
            for nibble in 0..16 {
                if dashes.contains(&nibble) {
                    line.push(b'-');
                }
                line.push(b"0123456789abcdef"[(half >> (60 - 4 * nibble)) as usize & 15]);
            }
        }
    }
}

impl Put for Option<Uuid> {
    fn put(&self, line: &mut Vec<u8>) {
        match self {
            None => line.extend_from_slice(b"null"),
            Some(uuid) => {
                line.push(b'"');
                uuid.put(line);
                line.push(b'"');
            }
        }
    }
}

/// The id of a message, call or request: a prefix and 22 letters and digits.
#[derive(Clone, Copy)]
pub(super) struct Id(&'static str, u64, u64);

impl Put for Id {
    fn put(&self, line: &mut Vec<u8>) {
        const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        line.extend_from_slice(self.0.as_bytes());
        for mut half in [self.1, self.2] {
            for _ in 0..11 {
                line.push(DIGITS[(half % 62) as usize]);
                half /= 62;
            }
        }
    }
}

/// A time in milliseconds since 1970, written as `2026-11-15T23:41:55.887Z`.
pub(super) struct Stamp(pub(super) u64);

impl Put for Stamp {
    fn put(&self, line: &mut Vec<u8>) {
        // Days to a date, by eras of 400 years that begin in March: the leap day is the last of its year.
        let (days, ms) = (self.0 / DAY + 719_468, self.0 % DAY);
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let date = day - (153 * month + 2) / 5 + 1;
        let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        digits(line, era * 400 + year, 4, b'-');
        digits(line, month, 2, b'-');
        digits(line, date, 2, b'T');
        digits(line, hour, 2, b':');
        digits(line, minute, 2, b':');
        digits(line, second, 2, b'.');
        digits(line, ms % 1000, 3, b'Z');
    }
}

fn digits(line: &mut Vec<u8>, number: u64, width: u32, end: u8) {
    line.extend((0..width).rev().map(|place| b'0' + (number / 10_u64.pow(place) % 10) as u8));
    line.push(end);
}

/// Nano-dollars, shown as dollars.
pub(super) struct Usd(pub(super) u64);

impl Put for Usd {
    fn put(&self, line: &mut Vec<u8>) {
        (self.0 / 1_000_000_000).put(line);
        let mut nanos = self.0 % 1_000_000_000;
        if nanos > 0 {
            let mut width = 9;
            while nanos.is_multiple_of(10) {
                nanos /= 10;
                width -= 1;
            }
            line.push(b'.');
            digits(line, nanos, width, b' ');
            line.pop();
        }
    }
}

/// `usage` of a response that has ended, or of a turn.
pub(super) struct Final(pub(super) Tokens);
/// `usage` at the start of a response: the output is a placeholder.
pub(super) struct Begun(pub(super) Tokens);
/// `usage` of a `message_delta`: the final output, without the parts.
pub(super) struct Ended(pub(super) Tokens);
/// A value of `modelUsage` in a result.
pub(super) struct Total(pub(super) Tokens);
/// A value of `modelUsage` in a `cost-state`.
pub(super) struct Saved(pub(super) Tokens);

macro_rules! put_tokens {
    ($($name:ident = $template:expr;)+) => {$(
        impl Put for $name {
            fn put(&self, line: &mut Vec<u8>) {
                let Tokens { input, output, cache_read, cache_write_5m, cache_write_1h } = &self.0;
                let (write, usd) = (self.0.written(), self.0.cost());
                let placeholders: Placeholders<'_> = &[
                    ("in", input), ("out", output), ("read", cache_read), ("write", &write),
                    ("short", cache_write_5m), ("hour", cache_write_1h), ("usd", &usd),
                ];
                fill(line, $template, placeholders, &[]);
            }
        }
    )+};
}

put_tokens! {
    Final = r#"{"input_tokens":$in,"cache_creation_input_tokens":$write,"cache_read_input_tokens":$read,
"output_tokens":$out,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":{"web_search_requests":0,
"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":$hour,
"ephemeral_5m_input_tokens":$short},"inference_geo":"","iterations":[],"speed":"standard","fallback_credit":null}"#;
    Begun = r#"{"input_tokens":$in,"cache_creation_input_tokens":$write,"cache_read_input_tokens":$read,
"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":$short,"ephemeral_1h_input_tokens":$hour},
"service_tier":"standard"}"#;
    Ended = r#"{"input_tokens":$in,"cache_creation_input_tokens":$write,"cache_read_input_tokens":$read,
"output_tokens":$out}"#;
    Total = r#"{"claude-opus-5-5":{"inputTokens":$in,"outputTokens":$out,"cacheReadInputTokens":$read,
"cacheCreationInputTokens":$write,"webSearchRequests":0,"costUSD":$usd,"contextWindow":1000000,
"maxOutputTokens":128000,"thinkingTokens":0,"cacheCreationEphemeral5mInputTokens":$short,
"cacheCreationEphemeral1hInputTokens":$hour,"canonicalModel":"claude-opus-5-5","provider":"firstParty",
"costBasis":"list"}}"#;
    Saved = r#"{"claude-opus-5-5":{"inputTokens":$in,"outputTokens":$out,"thinkingTokens":0,
"cacheReadInputTokens":$read,"cacheCreationInputTokens":$write,"cacheCreationEphemeral5mInputTokens":$short,
"cacheCreationEphemeral1hInputTokens":$hour,"webSearchRequests":0,"costUSD":$usd}}"#;
}

/// An element of `message.content` that the model wrote.
pub(super) enum Block<'t> {
    Text(&'t [u8]),
    Thinking(&'t [u8]),
    Call(&'t Call),
}

impl<'t> Block<'t> {
    /// The template of its deltas, and their text piece by piece.
    pub(super) fn delta(&self) -> (&'static str, &'t [u8]) {
        match self {
            Self::Text(text) => (template::TEXT_DELTA, text),
            Self::Thinking(text) => (template::THINKING_DELTA, text),
            Self::Call(call) => (template::INPUT_DELTA, &call.input),
        }
    }

    /// How long it took, as in the line of the block: saved, streamed.
    pub(super) fn timing(&self) -> [&'static str; 2] {
        match self {
            Self::Text(_) => ["", ""],
            Self::Thinking(_) => template::THINKING_TIMING,
            Self::Call(_) => [r#""toolInputStreamMs":6,"#, ""],
        }
    }
}

impl Put for Block<'_> {
    fn put(&self, line: &mut Vec<u8>) {
        match self {
            Self::Text(text) => fill(line, template::TEXT, &[("text", text)], &[]),
            Self::Thinking(text) => {
                fill(line, template::THINKING, &[("text", text), ("sign", &template::SIGNATURE)], &[])
            }
            Self::Call(Call { id, tool, input, .. }) => {
                fill(
                    line,
                    template::TOOL_USE,
                    &[("tool", &tool.name), ("input", &input.as_slice()), ("call", id)],
                    &[],
                );
            }
        }
    }
}

/// A block as in `content_block_start`: still empty.
pub(super) struct Start<'b, 't>(pub(super) &'b Block<'t>);

impl Put for Start<'_, '_> {
    fn put(&self, line: &mut Vec<u8>) {
        match self.0 {
            Block::Text(_) => fill(line, template::TEXT, &[("text", &"")], &[]),
            Block::Thinking(_) => fill(line, template::THINKING, &[("text", &""), ("sign", &"")], &[]),
            Block::Call(Call { id, tool, .. }) => {
                fill(line, template::TOOL_USE, &[("tool", &tool.name), ("input", &"{}"), ("call", id)], &[]);
            }
        }
    }
}
