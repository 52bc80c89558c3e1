//! Excerpts: the short content of a record that answers a question, such as the first line of a prompt or an
//! error.
//!
//! Only reports that show content ask for them. They are decoded from the text of the record.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem::Finder;

use super::{
    Body, Event, Text, ToolResult,
    json::{self, Json},
    trace::content,
};

/// Maximum length of an excerpt, in bytes.
const MAX_EXCERPT: usize = 240;

/// Kinds of titles of a session, the most important last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleKind {
    /// The last prompt.
    LastPrompt,
    /// A summary of an earlier conversation, in old versions.
    Summary,
    /// A title that a model wrote.
    Model,
    /// A title that a person typed.
    Person,
}

/// A title of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title<'a> {
    pub kind: TitleKind,
    pub text: Text<'a>,
    /// `leafUuid`: a record of the session that a summary is about. The summary itself names no session.
    pub leaf: Option<Text<'a>>,
}

/// Returns the title in a record, if its kind has one.
pub fn title<'a>(event: &Event<'a>) -> Option<Title<'a>> {
    let (kind, key) = match &*event.kind.name() {
        "custom-title" => (TitleKind::Person, "customTitle"),
        "ai-title" => (TitleKind::Model, "aiTitle"),
        "summary" => (TitleKind::Summary, "summary"),
        "last-prompt" => (TitleKind::LastPrompt, "lastPrompt"),
        _ => return None,
    };
    let record = json::object(event.text).ok()?;
    let text = record.text(&[key]).filter(|text| !text.trim().is_empty())?;
    Some(Title { kind, text, leaf: record.text(&["leafUuid"]) })
}

/// Returns the text of a message: what a person typed, or what the model said. `None` if it has none.
pub fn message_text<'a>(event: &Event<'a>) -> Option<Text<'a>> {
    let content = json::object(event.text).ok()?.object("message")?.get("content")?;
    let blocks = content.array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block.object()?.text(&["text"]));
    // An editor and the CLI add blocks in tags before the text that was typed.
    let own = content.string().into_iter().chain(texts).filter(|text| !text.trim().is_empty());
    let mut own = own.peekable();
    let first = own.peek().cloned()?;
    let said = own.find(|text| !ADDED.iter().any(|tag| text.trim_start().starts_with(tag))).unwrap_or(first);
    Some(typed_command(&said).map_or(said, Cow::Owned))
}

/// Returns whether a record says that a person interrupted the run.
pub fn is_interruption(event: &Event<'_>) -> bool {
    // The record has little more than this text; the records of results may be long.
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(INTERRUPTED));
    let Body::Message(_) = &event.body else { return false };
    !event.prompt
        && event.text.len() < MAX_INTERRUPTION
        && &*event.kind.name() == "user"
        && FINDER.find(event.text.as_bytes()).is_some()
        && message_text(event).is_some_and(|text| text.starts_with(INTERRUPTED))
}

/// Text of the message that reports an interruption, in all versions.
const INTERRUPTED: &str = "[Request interrupted";

/// Maximum length of a record that reports an interruption, in bytes.
const MAX_INTERRUPTION: usize = 8 << 10;

/// Beginnings of texts that were added to a prompt.
const ADDED: [&str; 3] = ["<system-reminder>", "<ide_", "<local-command-caveat>"];

/// Returns a slash command as it was typed; the log has it in tags.
fn typed_command(said: &str) -> Option<String> {
    let tag = |name: &str| {
        let (_, rest) = said.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    };
    let name = tag("command-name").filter(|_| said.trim_start().starts_with("<command-"))?;
    let name = name.strip_prefix('/').unwrap_or(name);
    let arguments = tag("command-args").unwrap_or_default();
    Some(format!("/{name} {arguments}").trim_end().to_owned())
}

/// Returns the text of a failed result.
pub fn failure<'a>(result: &ToolResult<'a>) -> Option<Text<'a>> {
    content(Json::checked(result.content?)).filter(|text| !text.trim().is_empty())
}

/// Returns why a turn failed: the first of its errors, or its text.
pub fn turn_failure<'a>(event: &Event<'a>) -> Option<Text<'a>> {
    let Body::TurnEnd(_) = &event.body else { return None };
    let record = json::object(event.text).ok()?;
    let error = |json: Json<'a>| json.text().or_else(|| json.object()?.text(&["message"]));
    let errors = record.list("errors").into_iter().find_map(error);
    errors.or_else(|| record.text(&["result"])).filter(|text| !text.trim().is_empty())
}

/// Cuts a text to its first line that is not blank. A text that goes on ends with an ellipsis.
pub fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or_default();
    let short = cut(line);
    let goes_on = short.len() < line.len() || lines.next().is_some();
    if goes_on { format!("{short} …") } else { short.to_owned() }
}

/// Cuts an error to the line that says what went wrong: the first one that is more than an exit code.
pub fn error_line(text: &str) -> String {
    let text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let first = lines.peek().copied().unwrap_or_default();
    cut(lines.find(|line| !is_exit_code(line)).unwrap_or(first)).to_owned()
}

/// Returns whether a line is `Exit code 1` or `Error: Exit code 1`, which the Bash tool writes first.
fn is_exit_code(line: &str) -> bool {
    let line = line.strip_prefix("Error: ").unwrap_or(line);
    line.strip_prefix("Exit code ").is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_digit()))
}

fn cut(line: &str) -> &str {
    line[..line.floor_char_boundary(MAX_EXCERPT)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::decode;

    fn said(content: &str) -> Option<String> {
        let record = format!(r#"{{"type":"user","message":{{"role":"user","content":{content}}}}}"#);
        message_text(&decode(record.as_bytes()).unwrap()).map(Cow::into_owned)
    }

    #[test]
    fn a_prompt_is_the_text_that_was_typed() {
        assert_eq!(said(r#""fix it""#).as_deref(), Some("fix it"));
        let blocks =
            r#"[{"type":"text","text":"<ide_selection>x</ide_selection>"},{"type":"text","text":"fix it"}]"#;
        assert_eq!(said(blocks).as_deref(), Some("fix it"));
        assert_eq!(said(r#"[{"type":"tool_result","content":"x"}]"#), None);
        assert_eq!(said(r#""  ""#), None);
    }

    #[test]
    fn a_command_is_shown_as_it_was_typed() {
        let tagged = r#""<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>42 now</command-args>""#;
        assert_eq!(said(tagged).as_deref(), Some("/review 42 now"));
    }

    #[test]
    fn a_title_knows_its_kind() {
        let of = |record: &str| {
            let event = decode(record.as_bytes()).unwrap();
            title(&event).map(|title| (title.kind, title.text.into_owned()))
        };
        let named = r#"{"type":"custom-title","customTitle":"Shop","sessionId":"s"}"#;
        assert_eq!(of(named), Some((TitleKind::Person, "Shop".to_owned())));
        assert_eq!(of(r#"{"type":"last-prompt","leafUuid":"x","sessionId":"s"}"#), None);
        assert!(TitleKind::Person > TitleKind::Model && TitleKind::Model > TitleKind::Summary);
    }

    #[test]
    fn an_error_is_the_line_after_the_exit_code() {
        assert_eq!(error_line("Exit code 1\nnpm error 403 Forbidden\nmore"), "npm error 403 Forbidden");
        assert_eq!(error_line("Error: Exit code 127"), "Error: Exit code 127");
        assert_eq!(
            error_line("<tool_use_error>File has not been read</tool_use_error>"),
            "File has not been read"
        );
        assert_eq!(error_line("\n\n"), "");
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(first_line("\n one \n\n"), "one");
        assert_eq!(first_line("one\ntwo"), "one …");
        let long = first_line(&"ä".repeat(400));
        assert!(long.len() <= MAX_EXCERPT + " …".len() && long.ends_with("ä …"), "{long}");
    }
}
