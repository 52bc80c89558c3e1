//! `--print text`: prints the assistant's messages and tool calls as readable text.
//!
//! A pipe without filters is printed as it arrives. Everything else is printed at the end, when it is known
//! which records match: `content.rs` chooses and orders them, `store.rs` finds their texts again.

mod content;
mod store;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use anstyle::{AnsiColor, Style as Paint};
use unicode_width::UnicodeWidthStr;

pub(super) use self::{content::Content, store::RecordStore};
use crate::{
    event::{ContentItem, Event, RecordContent, record_content},
    input::Place,
    render::{Style, human, wrap::fill},
    scan::Observer,
};

/// When the records of a stream are printed.
pub(super) enum PrintMode {
    /// As they arrive.
    Live(Printer),
    /// At the end, when it is known which records match. Until then they are stored.
    Deferred(Arc<Mutex<RecordStore>>),
}

impl PrintMode {
    /// Whether [`Observer::batch_end`] would print something.
    pub(super) fn has_output(&self) -> bool {
        match self {
            Self::Live(printer) => printer.has_output(),
            Self::Deferred(_) => false,
        }
    }
}

impl Observer for PrintMode {
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        match self {
            Self::Live(printer) => Observer::record(printer, place, event, text),
            Self::Deferred(store) => {
                if let Ok(mut store) = store.lock() {
                    store.record(place, event, text);
                }
            }
        }
    }

    fn batch_end(&mut self) {
        match self {
            Self::Live(printer) => printer.batch_end(),
            Self::Deferred(_) => {}
        }
    }
}

/// Lines of a tool result that are printed. The log has the rest.
const RESULT_LINES: usize = 5;

/// Characters of a line that is not text of the assistant or of a prompt.
const MAX_LINE: usize = 200;

/// Formats records in the order they are given.
pub(super) struct Printer {
    style: Style,
    /// Formatted text that is not written yet.
    text: String,
    /// Kind of the last block: blocks of different kinds are separated by a blank line.
    last: Option<Kind>,
    /// The session of the last record, in a stream that may have several.
    session: Option<String>,
    /// Standard output cannot be written to any more.
    is_closed: bool,
}

/// Kinds of printed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Prompts, and what the assistant says.
    Text,
    /// Tool calls and their results.
    Tool,
    /// Starts and ends of turns and subagents.
    Turn,
    /// Headings of sessions.
    Heading,
}

impl Printer {
    pub(super) fn new(style: Style) -> Self {
        Self { style, text: String::new(), last: None, session: None, is_closed: false }
    }

    /// Formats a record of a stream, below a heading if its session differs from the last one.
    fn record(&mut self, session: Option<&str>, record: &[u8]) {
        let RecordContent { items, is_subagent, .. } = record_content(record);
        if let (Some(session), false) = (session, items.is_empty()) {
            // The first session has no heading: it is not known yet whether another one follows.
            match self.session.replace(session.to_owned()) {
                Some(before) if before != session => self.heading(session),
                Some(_) | None => {}
            }
        }
        for item in items {
            self.item(&item, is_subagent.into());
        }
    }

    /// Formats the heading of a session.
    fn heading(&mut self, session: &str) {
        self.line(Kind::Heading, "", Paint::new().bold(), "━━ session ", session);
    }

    /// Formats the first line of a subagent whose call is not printed.
    fn subagent(&mut self, kind: &str, depth: usize) {
        self.line(Kind::Turn, &indent(depth), Paint::new().dimmed(), "subagent ", kind);
    }

    /// Whether there is text to write.
    pub(super) fn has_output(&self) -> bool {
        !self.text.is_empty()
    }

    /// Takes the text that is not written yet.
    fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Formats one item; `depth` is 0 for the main agent.
    fn item(&mut self, item: &ContentItem, depth: usize) {
        let (dim, bold) = (Paint::new().dimmed(), Paint::new().bold());
        let indent = &*indent(depth);
        match item {
            ContentItem::TurnStart { model, cwd } => {
                let about: Vec<&str> = [model, cwd].into_iter().flatten().map(String::as_str).collect();
                self.line(Kind::Turn, indent, dim, "", &about.join(" · "));
            }
            ContentItem::Prompt(text) => self.lines(Kind::Text, &format!("{indent}> "), dim, text),
            ContentItem::Text(text) => self.lines(Kind::Text, indent, Paint::new(), text),
            ContentItem::Thinking(text) => self.lines(Kind::Text, &format!("{indent}~ "), dim, text),
            ContentItem::ToolCall { tool, input, .. } => {
                self.line(Kind::Tool, indent, bold, "→ ", &format!("{tool}  {}", first_line(input)));
            }
            ContentItem::ToolResult { failed, text, .. } => self.tool_result(indent, *failed, text),
            ContentItem::Retry(kind) => {
                let paint = AnsiColor::Yellow.on_default();
                self.line(Kind::Tool, indent, paint, "! ", &format!("the API failed ({kind}), retrying"));
            }
            ContentItem::TurnEnd { subtype, failed, reasons } => self.turn_end(subtype, *failed, reasons),
        }
    }

    fn tool_result(&mut self, indent: &str, failed: bool, text: &str) {
        let (mark, paint) =
            if failed { ("✗ ", AnsiColor::Red.on_default()) } else { ("", Paint::new().dimmed()) };
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for (index, line) in lines.iter().take(RESULT_LINES).enumerate() {
            let mark = if index == 0 { mark } else { "" };
            self.line(Kind::Tool, &format!("{indent}  "), paint, mark, line);
        }
        if lines.len() > RESULT_LINES {
            let more = format!("… {} more lines", lines.len() - RESULT_LINES);
            self.line(Kind::Tool, &format!("{indent}  "), Paint::new().dimmed(), "", &more);
        }
    }

    fn turn_end(&mut self, subtype: &str, failed: bool, reasons: &[String]) {
        let (mark, paint) = if failed {
            ("✗ ", AnsiColor::Red.on_default().bold())
        } else {
            ("✓ ", AnsiColor::Green.on_default().bold())
        };
        self.line(Kind::Turn, "", paint, mark, subtype);
        for reason in reasons {
            self.line(Kind::Turn, "  ", Paint::new(), "", first_line(reason));
        }
    }

    /// Formats all lines of a text.
    fn lines(&mut self, kind: Kind, before: &str, paint: Paint, text: &str) {
        self.separate(kind);
        for line in text.trim_end().lines() {
            self.write(before, paint, "", line);
        }
    }

    /// Formats one line, truncated to [`MAX_LINE`].
    fn line(&mut self, kind: Kind, before: &str, paint: Paint, mark: &str, text: &str) {
        self.separate(kind);
        match text.char_indices().nth(MAX_LINE) {
            Some((end, _)) => self.write(before, paint, mark, &format!("{}…", &text[..end])),
            None => self.write(before, paint, mark, text),
        }
    }

    /// Starts a block of this kind, with a blank line before it if needed.
    fn separate(&mut self, kind: Kind) {
        if self.last.is_some_and(|last| last != kind || kind == Kind::Text) {
            self.text.push('\n');
        }
        self.last = Some(kind);
    }

    /// The only function that takes text from a log: it escapes everything that a terminal would interpret.
    fn write(&mut self, before: &str, paint: Paint, mark: &str, text: &str) {
        let text = text.trim_end_matches('\r').replace('\t', "    ");
        let text = human::text(text.trim_end());
        let room = |width: u16| usize::from(width).saturating_sub(before.width() + mark.width()).max(1);
        for (index, row) in fill(&text, self.style.width.map(room)).iter().enumerate() {
            // Rows after the first are aligned with the text.
            let mark = if index == 0 { mark.to_owned() } else { " ".repeat(mark.width()) };
            let line = if self.style.color && !row.is_empty() {
                format!("{before}{paint}{mark}{row}{paint:#}\n")
            } else {
                format!("{before}{mark}{row}\n")
            };
            self.text.push_str(&line);
        }
    }
}

/// The indentation of a subagent at this depth. Beyond six levels, all have the same.
fn indent(depth: usize) -> String {
    "    ".repeat(depth.min(6))
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

impl Observer for Printer {
    fn record(&mut self, _: Place, event: &Event<'_>, text: &[u8]) {
        Self::record(self, event.session.as_deref(), text);
    }

    fn batch_end(&mut self) {
        let text = self.take();
        if !self.is_closed && !text.is_empty() {
            let mut out = io::stdout().lock();
            self.is_closed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(records: &[&str]) -> String {
        let mut printer = Printer::new(Style::default());
        records.iter().for_each(|record| printer.record(None, record.as_bytes()));
        printer.take()
    }

    #[test]
    fn text_tools_and_turns_are_separated_by_blank_lines() {
        let text = printed(&[
            r#"{"type":"system","subtype":"init","model":"m","cwd":"/w"}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look.\nThen I write."}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls\nrm"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"a\nb\nc\nd\ne\nf\ng"}]}}"#,
            r#"{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"tool_use","name":"Write","input":{}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"no"}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false}"#,
        ]);
        let wanted = "m · /w\n\nI look.\nThen I write.\n\n→ Bash  ls\n  a\n  b\n  c\n  d\n  e\n  … 2 more lines\n    → Write\n  ✗ no\n\n✓ success\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn text_is_wrapped_at_words_and_keeps_its_indent() {
        let mut printer = Printer::new(Style { width: Some(20), color: false });
        for record in [
            r#"{"type":"user","message":{"role":"user","content":"Please fix the broken tests"},"parentUuid":null,"isSidechain":false}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"  - one item that is long"}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"something went badly wrong"}]}}"#,
        ] {
            printer.record(None, record.as_bytes());
        }
        let wanted = "> Please fix the\n> broken tests\n\n  - one item that is\n  long\n\n  ✗ something went\n    badly wrong\n";
        assert_eq!(printer.take(), wanted);
    }

    #[test]
    fn a_second_session_of_a_stream_has_a_heading() {
        let mut printer = Printer::new(Style::default());
        let record = br#"{"type":"result","subtype":"success"}"#;
        for session in [Some("a"), None, Some("a"), Some("b")] {
            printer.record(session, record);
        }
        assert_eq!(printer.take(), "✓ success\n✓ success\n✓ success\n\n━━ session b\n\n✓ success\n");
    }

    #[test]
    fn control_characters_of_a_log_never_reach_the_terminal() {
        let text = printed(&[
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\u001b[2Jb\u202ec\rd"}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"\u001b[1m","input":{"command":"\u0007"}}]}}"#,
            r#"{"type":"result","subtype":"\u009b31m","errors":["\u001b]0;x\u0007"]}"#,
        ]);
        assert!(
            !text.chars().any(|letter| letter != '\n' && letter.is_control() || letter == '\u{202e}'),
            "{text:?}"
        );
    }
}
