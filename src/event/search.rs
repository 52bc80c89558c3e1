//! Searches the texts of records.
//!
//! Few records contain a rare word, so the JSON text is searched first and only hits are decoded. A text may be
//! written with escapes there: the search uses a part of the word that is never written with a short escape, and
//! also decodes every record with an escape that may hide a letter of that part (`\u`, `\/`).

use std::{ops::Range, sync::LazyLock};

use memchr::memmem;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{
    ClassUnicode, ClassUnicodeRange,
    literal::{ExtractKind, Extractor},
};

use super::{
    Body, Event, Text,
    json::{self, Json, Object},
    title,
};

/// Minimum length of a literal that a search in JSON text uses, in bytes. Shorter ones are everywhere.
const MIN_LITERAL: usize = 2;

/// U+FFFD as a code unit.
const REPLACEMENT: u16 = 0xfffd;

/// Maximum depth at which the strings of an input are searched.
const MAX_DEPTH: usize = 64;

/// Bytes of a line before and after a match.
const BEFORE: usize = 20;
const AFTER: usize = 160;

/// A text or pattern to search for. It ignores case unless it has capitals.
#[derive(Clone, Debug)]
pub struct Query {
    pattern: Regex,
    /// Matches the JSON text of every record that has a match, unless an escape hides it; `None` if all records
    /// must be decoded.
    raw: Option<Regex>,
    /// The code units of letters in `raw`.
    hidden: Vec<u16>,
    /// Whether `raw` has a slash.
    has_slash: bool,
}

names! {
    /// The speaker of a text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Role {
        /// A person.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool: its input or its result.
        Tool = "tool",
        /// The CLI.
        System = "system",
    }
}

names! {
    /// The part of a record that a text is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TextPart {
        /// A prompt or message.
        Text = "text",
        /// Thinking of the model.
        Thinking = "thinking",
        /// Input of a call.
        Input = "input",
        /// Result of a call.
        Result = "result",
        /// An error of the API or of a turn.
        Error = "error",
        /// Title or summary of a session.
        Title = "title",
    }
}

/// A text of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said<'a> {
    role: Role,
    part: TextPart,
    tool: Option<Text<'a>>,
    /// Id of the call.
    call: Option<Text<'a>>,
    /// An input may have several.
    texts: Vec<Text<'a>>,
}

/// A part of a record that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    pub role: Role,
    pub part: TextPart,
    /// Name of the tool, if the record has it.
    pub tool: Option<Text<'a>>,
    /// Id of the call.
    pub call: Option<Text<'a>>,
    /// Number of matches.
    pub count: u64,
    /// The first match with the line around it.
    pub line: String,
}

impl Query {
    /// A search for a plain text.
    pub fn plain(text: &str) -> Result<Self, String> {
        let ignore_case = !text.chars().any(char::is_uppercase);
        let raw = longest_unescaped(text).map(|part| vec![part.to_owned()]);
        Self::build(&regex::escape(text), raw, ignore_case)
    }

    /// A search for a regular expression.
    pub fn regex(pattern: &str) -> Result<Self, String> {
        let mut escaped = false;
        // `\S` is not a capital.
        let ignore_case = !pattern.chars().any(|letter| {
            let plain = !escaped;
            escaped = plain && letter == '\\';
            plain && letter.is_uppercase()
        });
        Self::build(pattern, literals(pattern, ignore_case), ignore_case)
    }

    fn build(pattern: &str, raw: Option<Vec<String>>, ignore_case: bool) -> Result<Self, String> {
        let regex =
            |pattern: &str| RegexBuilder::new(pattern).case_insensitive(ignore_case).multi_line(true).build();
        let describe = |error: regex::Error| match error {
            regex::Error::CompiledTooBig(limit) => format!("the pattern needs more than {limit} bytes"),
            other => other.to_string(),
        };
        let pattern = regex(pattern).map_err(describe)?;
        // If this is too large, all records are decoded.
        let parts = raw.unwrap_or_default();
        let alternatives: Vec<String> = parts.iter().map(|part| regex::escape(part)).collect();
        let raw = if parts.is_empty() { None } else { regex(&alternatives.join("|")).ok() };
        let has_slash = parts.iter().any(|part| part.contains('/'));
        Ok(Self { pattern, raw, hidden: units(&parts), has_slash })
    }

    /// Returns the parts of a record that match, with their position among its texts.
    pub fn matches<'a>(&self, event: &Event<'a>) -> Vec<(usize, Match<'a>)> {
        if !self.may_match(event.text) {
            return Vec::new();
        }
        let parts = texts(event).into_iter().enumerate();
        parts.filter_map(|(at, said)| Some((at, self.matching(said)?))).collect()
    }

    /// Returns the ranges of a text that match.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        self.pattern.find_iter(text).map(|found| found.range()).collect()
    }

    /// Returns whether a record with this JSON text may have a match. Never false if it has one.
    fn may_match(&self, record: &str) -> bool {
        let Some(raw) = &self.raw else { return true };
        let bytes = record.as_bytes();
        raw.is_match(record)
            || self.has_hidden_letter(bytes)
            || self.has_slash && memmem::find(bytes, br"\/").is_some()
    }

    /// Returns whether a `\u` escape in JSON text may hide a letter.
    fn has_hidden_letter(&self, record: &[u8]) -> bool {
        static ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(br"\u"));
        let is_hidden = |at: usize| {
            let digits = record.get(at + 2..at + 6).unwrap_or_default();
            let digit = |all: u32, &digit: &u8| Some(all << 4 | char::from(digit).to_digit(16)?);
            let unit = digits.iter().try_fold(0, digit).and_then(|unit| u16::try_from(unit).ok());
            unit.is_some_and(|unit| self.hidden.binary_search(&unit).is_ok())
        };
        ESCAPE.find_iter(record).any(is_hidden)
    }

    fn matching<'a>(&self, said: Said<'a>) -> Option<Match<'a>> {
        let Said { role, part, tool, call, texts } = said;
        let mut line = None;
        let mut count = 0;
        for text in &texts {
            for found in self.pattern.find_iter(text) {
                count += 1;
                line.get_or_insert_with(|| excerpt(text, found.start(), found.end()));
            }
        }
        line.map(|line| Match { role, part, tool, call, count, line })
    }
}

/// Returns the UTF-16 code units that a `\u` escape of a letter of these texts may have.
fn units(texts: &[String]) -> Vec<u16> {
    let letters = texts.iter().flat_map(|text| text.chars());
    let mut letters = ClassUnicode::new(letters.map(|letter| ClassUnicodeRange::new(letter, letter)));
    letters.case_fold_simple();
    let all = letters.ranges().iter().flat_map(|range| range.start()..=range.end());
    let mut units: Vec<u16> = all.map(|letter| letter.encode_utf16(&mut [0; 2])[0]).collect();
    if units.contains(&REPLACEMENT) {
        // Lone surrogates are replaced.
        units.extend(0xd800..=0xdfff);
    }
    units.sort_unstable();
    units
}

/// Returns the longest part of a text that JSON does not write with a short escape. `/` may be escaped, but then
/// the record has `\/`.
fn longest_unescaped(text: &str) -> Option<&str> {
    let escaped = |letter: char| letter.is_control() || matches!(letter, '"' | '\\');
    text.split(escaped).max_by_key(|part| part.len()).filter(|part| part.len() >= MIN_LITERAL)
}

/// Returns texts of which one is in every text that a regular expression matches, if there are such.
fn literals(pattern: &str, ignore_case: bool) -> Option<Vec<String>> {
    let mut parser = regex_syntax::ParserBuilder::new();
    let hir = parser.case_insensitive(ignore_case).multi_line(true).build().parse(pattern).ok()?;
    let extract = |kind: ExtractKind| {
        let found = Extractor::new().kind(kind).extract(&hir);
        let parts = found.literals()?.iter().map(|literal| {
            let ascii = literal.as_bytes().split(|byte| !byte.is_ascii());
            let longest = ascii.filter_map(|part| longest_unescaped(std::str::from_utf8(part).ok()?));
            longest.max_by_key(|part| part.len()).map(str::to_owned)
        });
        let parts: Vec<String> = parts.collect::<Option<_>>()?;
        (!parts.is_empty()).then_some(parts)
    };
    extract(ExtractKind::Prefix).or_else(|| extract(ExtractKind::Suffix))
}

/// Cuts the line around a match. Long lines are cut near the match.
fn excerpt(text: &str, start: usize, end: usize) -> String {
    let line = text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let from = line + (text[line..start].len() - text[line..start].trim_start().len());
    // The match may span several lines.
    let stop = text[end..].find(['\n', '\r']).map_or(text.len(), |at| end + at);
    let stop = (end + text[end..stop].trim_end().len()).max(end);
    let first = if start - from > BEFORE { text.floor_char_boundary(start - BEFORE) } else { from };
    let last = if stop - start > AFTER { text.floor_char_boundary(start + AFTER).max(start) } else { stop };
    let head = if first > from { "…" } else { "" };
    let tail = if last < stop { "…" } else { "" };
    format!("{head}{}{tail}", &text[first..last])
}

/// Returns the texts of a record that people or models read, in order.
fn texts<'a>(event: &Event<'a>) -> Vec<Said<'a>> {
    let Ok(record) = json::object(event.text) else { return Vec::new() };
    let said = |role, part, texts: Vec<Text<'a>>| Said { role, part, tool: None, call: None, texts };
    let name = event.kind.name();
    match name.split('/').next().unwrap_or_default() {
        "user" => {
            let role = if event.prompt { Role::User } else { Role::System };
            message(&record, said(role, TextPart::Text, Vec::new()))
        }
        "assistant" => {
            let failed = matches!(&event.body, Body::Message(message) if message.api_error.is_some());
            let (role, part) =
                if failed { (Role::System, TextPart::Error) } else { (Role::Assistant, TextPart::Text) };
            message(&record, said(role, part, Vec::new()))
        }
        "result" => {
            let failed = matches!(&event.body, Body::TurnEnd(end) if end.is_error
                || end.subtype.as_deref().is_some_and(|subtype| subtype.starts_with("error")));
            let errors = record.list("errors").into_iter().filter_map(error_text);
            // The result of a turn that succeeded repeats the last message.
            let errors = errors.chain(record.text(&["result"]).filter(|_| failed));
            vec![said(Role::System, TextPart::Error, errors.collect())]
        }
        "system" => {
            let error = record.get("error").and_then(error_text).into_iter();
            let content = record.text(&["content"]).into_iter().chain(record.text(&["message"]));
            vec![
                said(Role::System, TextPart::Error, error.collect()),
                said(Role::System, TextPart::Text, content.collect()),
            ]
        }
        // Typed while the model worked.
        "attachment" if name == "attachment/queued_command" => {
            let attachment = record.object("attachment").unwrap_or_default();
            vec![said(Role::User, TextPart::Text, attachment.text(&["prompt"]).into_iter().collect())]
        }
        // The last prompt has a record of its own.
        "custom-title" | "ai-title" | "summary" => {
            let title = title(event).map(|title| title.text);
            vec![said(Role::System, TextPart::Title, title.into_iter().collect())]
        }
        _ => Vec::new(),
    }
}

fn error_text(error: Json<'_>) -> Option<Text<'_>> {
    error.text().or_else(|| error.object()?.text(&["message"]))
}

/// Returns the texts of a message; `plain` is one that it says itself.
fn message<'a>(record: &Object<'a>, plain: Said<'a>) -> Vec<Said<'a>> {
    let Some(content) = record.object("message").and_then(|message| message.get("content")) else {
        return Vec::new();
    };
    if let Some(text) = content.string() {
        return vec![Said { texts: vec![text], ..plain }];
    }
    let blocks = content.array().into_iter().flatten().filter_map(Json::object);
    blocks.filter_map(|block| block_texts(&block, &plain)).collect()
}

fn block_texts<'a>(block: &Object<'a>, plain: &Said<'a>) -> Option<Said<'a>> {
    let kind = block.text(&["type"])?;
    let tool = |part, call: &str, texts| Said {
        role: Role::Tool,
        part,
        tool: block.text(&["name"]),
        call: block.text(&[call]),
        texts,
    };
    let own =
        |part, key: &str| Said { part, texts: block.text(&[key]).into_iter().collect(), ..plain.clone() };
    match &*kind {
        "text" => Some(own(plain.part, "text")),
        "thinking" => Some(own(TextPart::Thinking, "thinking")),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            Some(tool(TextPart::Input, "id", block.get("input").map(strings).unwrap_or_default()))
        }
        "tool_result" | "mcp_tool_result" => {
            let content = block.get("content")?;
            let blocks = content.array().into_iter().flatten();
            let texts = blocks.filter_map(|block| block.object()?.text(&["text"]));
            Some(tool(TextPart::Result, "tool_use_id", content.string().into_iter().chain(texts).collect()))
        }
        _ => None,
    }
}

/// Returns all strings in a value, without the keys of objects.
fn strings(value: Json<'_>) -> Vec<Text<'_>> {
    let mut found = Vec::new();
    let mut stack = vec![(value, 0)];
    while let Some((value, depth)) = stack.pop() {
        found.extend(value.string());
        if depth < MAX_DEPTH {
            let members = value.object().unwrap_or_default();
            let inner: Vec<Json<'_>> = members.iter().map(|(_, value)| value).collect();
            let inner = inner.into_iter().chain(value.array().into_iter().flatten());
            let inner: Vec<(Json<'_>, usize)> = inner.map(|value| (value, depth + 1)).collect();
            stack.extend(inner.into_iter().rev());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::event::decode;

    /// Writes a text as JSON, each letter as `how` says.
    fn written(text: &str, how: &[u8]) -> String {
        let mut json = String::from("\"");
        let unicode = |letter: char| {
            let mut units = [0; 2];
            letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
        };
        for (letter, how) in text.chars().zip(how.iter().cycle()) {
            let short = match letter {
                '\n' => Some("\\n"),
                '\t' => Some("\\t"),
                '"' => Some("\\\""),
                '\\' => Some("\\\\"),
                '/' => Some("\\/"),
                _ => None,
            };
            match (how % 3, short) {
                (0, _) => json.push_str(&unicode(letter)),
                (1, Some(short)) => json.push_str(short),
                (_, Some(short)) if letter != '/' => json.push_str(short),
                _ => json.push(letter),
            }
        }
        json + "\""
    }

    fn letters() -> impl Strategy<Value = String> {
        let letter = select(
            &[
                'a', 'b', 'A', 'B', 'k', 'ä', 'Ä', 'ſ', 's', 'K', '😀', '\u{fffd}', '\n', '\t', '"', '\\',
                '/', ' ', 'u',
            ][..],
        );
        prop::collection::vec(letter, 0..12).prop_map(|letters| letters.into_iter().collect())
    }

    fn record(json: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":{json}}}]}}}}"#
        )
    }

    fn query(text: &str) -> Query {
        Query::plain(text).unwrap()
    }

    fn found(query: &Query, record: &str) -> Option<u64> {
        let event = decode(record.as_bytes()).unwrap();
        query.matches(&event).first().map(|(_, found)| found.count)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn searching_json_finds_what_decoding_first_finds(
            text in letters(),
            word in letters(),
            inside in any::<bool>(),
            (from, length) in (0usize..12, 1usize..6),
            how in prop::collection::vec(0u8..3, 1..6),
            regex in any::<bool>(),
        ) {
            let part: String = text.chars().skip(from).take(length).collect();
            let word = if inside { part } else { word };
            prop_assume!(!word.is_empty());
            let query = if regex { Query::regex(&regex::escape(&word)) } else { Query::plain(&word) }.unwrap();
            let json = written(&text, &how);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text.clone());
            let expected = query.pattern.find_iter(&text).count() as u64;
            prop_assert_eq!(found(&query, &record(&json)).unwrap_or(0), expected, "{:?} in {}", word, json);
            // An independent oracle, where case folding is simple.
            if word.chars().any(char::is_uppercase) {
                prop_assert_eq!(expected > 0, text.contains(&word));
            } else if word.is_ascii() && text.is_ascii() {
                prop_assert_eq!(expected > 0, text.to_lowercase().contains(&word.to_lowercase()));
            }
        }
    }

    #[test]
    fn case_is_ignored_unless_there_are_capitals() {
        let record = record(r#""The ÄPFEL are at C:\\Temp""#);
        for (word, count) in [("äpfel", 1), ("the", 1), ("THE", 0), ("Äpfel", 0), ("c:\\temp", 1)] {
            assert_eq!(found(&Query::plain(word).unwrap(), &record).unwrap_or(0), count, "{word}");
        }
        for (pattern, count) in
            [(r"t\S+", 2), (r"T\S+", 2), ("p.*e", 1), ("P.*e", 1), ("^the", 1), (r"\w{4,}", 2)]
        {
            assert_eq!(found(&Query::regex(pattern).unwrap(), &record).unwrap_or(0), count, "{pattern}");
        }
        assert!(Query::regex("(").is_err());
    }

    #[test]
    fn records_without_the_word_are_not_decoded() {
        let query = Query::plain("needle\nhay").unwrap();
        assert!(!query.may_match(r#"{"a":"nothing \n here"}"#));
        assert!(!query.may_match(r#"{"a":"\u001b[1m \u2026"}"#), "no letter of the word");
        assert!(query.may_match(r#"{"a":"NEEDLE"}"#) && query.may_match(r#"{"a":"\u006eeedle"}"#));
        assert!(!Query::regex("needle[0-9]+").unwrap().may_match(r#"{"a":"hay 1"}"#));
        assert!(Query::plain("\"").unwrap().may_match("{}"), "too short to search for");
    }

    #[test]
    fn ids_signatures_and_images_are_not_searched() {
        let needle = query("needle");
        let record = r#"{"type":"user","uuid":"needle","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"needle",
            "content":[{"type":"image","source":{"data":"needle"}},{"type":"text","text":"hay"}]},
            {"type":"thinking","thinking":"x","signature":"needle"}]},"toolUseResult":"needle"}"#;
        assert_eq!(needle.matches(&decode(record.as_bytes()).unwrap()), []);
    }

    #[test]
    fn inputs_are_searched_at_any_depth_and_results_know_their_call() {
        let needle = query("needle");
        let call = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"Edit",
            "input":{"needle":1,"edits":[{"old":"a needle"},{"new":"needle needle"}]}}]}}"#;
        let matches = needle.matches(&decode(call.as_bytes()).unwrap());
        let [(1, found)] = &matches[..] else { panic!("{matches:?}") };
        assert_eq!((found.role, found.part, found.count), (Role::Tool, TextPart::Input, 3));
        assert_eq!((found.tool.as_deref(), found.call.as_deref()), (Some("Edit"), Some("c")));
        assert_eq!(found.line, "a needle");
    }

    #[test]
    fn an_excerpt_is_the_line_around_the_match() {
        let text = format!("first\n  {} needle {}\nlast", "x".repeat(100), "ä".repeat(200));
        let start = text.find("needle").unwrap();
        let cut = excerpt(&text, start, start + 6);
        assert!(cut.starts_with("…xxx") && cut.contains("x needle ä") && cut.ends_with("ä…"), "{cut}");
        assert_eq!(excerpt("one\n  two needle \nthree", 10, 16), "two needle");
        assert_eq!(query("needle").find("a needle, Needle"), [2..8, 10..16]);
    }
}
