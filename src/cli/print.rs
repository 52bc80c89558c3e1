//! `--print text`: what the assistant says and which tools it calls, as a person reads it.
//!
//! A pipe without filters is printed as it comes. Everything else is printed at the end, when it is known which records
//! match: `shelf.rs` finds their texts again, `content.rs` knows which ones and in which order.

mod content;
mod shelf;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use anstyle::{AnsiColor, Style as Paint};

pub(super) use self::{content::Content, shelf::Shelf};
use crate::{
    event::{ContentItem, Event, RecordContent, record_content},
    input::Place,
    render::human,
    scan::Observer,
};

/// How the records of a stream are printed.
pub(super) enum Prints {
    /// They are printed as they come.
    Live(Printer),
    /// They are kept until it is known which of them match.
    Held(Arc<Mutex<Shelf>>),
}

impl Prints {
    /// Whether there is something to be printed.
    pub(super) fn has_something(&self) -> bool {
        match self {
            Self::Live(printer) => printer.has_something(),
            Self::Held(_) => false,
        }
    }
}

impl Observer for Prints {
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        match self {
            Self::Live(printer) => Observer::record(printer, place, event, text),
            Self::Held(shelf) => {
                if let Ok(mut shelf) = shelf.lock() {
                    shelf.record(place, event, text);
                }
            }
        }
    }

    fn batch_end(&mut self) {
        match self {
            Self::Live(printer) => printer.batch_end(),
            Self::Held(_) => {}
        }
    }
}

/// Lines of an answer that are shown; whoever wants the rest has the log.
const ANSWER_LINES: usize = 5;

/// Letters of a line that is not the assistant's own words.
const LINE: usize = 200;

/// Writes what records say, in the order they come.
pub(super) struct Printer {
    color: bool,
    text: String,
    /// What was printed last: another sort of thing is set off by a blank line.
    last: Option<Sort>,
    /// The session that is printed, in a stream that may have several.
    session: Option<String>,
    /// Whoever read it went away.
    is_gone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Words,
    Work,
    Frame,
    Heading,
}

impl Printer {
    pub(super) fn new(color: bool) -> Self {
        Self { color, text: String::new(), last: None, session: None, is_gone: false }
    }

    /// Takes in a record of a stream, and the session that it names.
    fn record(&mut self, session: Option<&str>, record: &[u8]) {
        let RecordContent { items, is_subagent, .. } = record_content(record);
        if let (Some(session), false) = (session, items.is_empty()) {
            // A stream cannot tell at its first session that another one follows.
            match self.session.replace(session.to_owned()) {
                Some(before) if before != session => self.heading(session),
                Some(_) | None => {}
            }
        }
        for item in items {
            self.say(&item, is_subagent.into());
        }
    }

    /// Begins another session.
    fn heading(&mut self, session: &str) {
        self.line(Sort::Heading, "", Paint::new().bold(), "━━ session ", session);
    }

    /// Begins a subagent whose call is not printed.
    fn subagent(&mut self, kind: &str, depth: usize) {
        self.line(Sort::Frame, &indent(depth), Paint::new().dimmed(), "subagent ", kind);
    }

    /// Whether there is something to be printed.
    pub(super) fn has_something(&self) -> bool {
        !self.text.is_empty()
    }

    /// What is to be printed by now.
    fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Says something, as deep below the main agent as this.
    fn say(&mut self, item: &ContentItem, depth: usize) {
        let (dim, bold) = (Paint::new().dimmed(), Paint::new().bold());
        let indent = &*indent(depth);
        match item {
            ContentItem::TurnStart { model, cwd } => {
                let about: Vec<&str> = [model, cwd].into_iter().flatten().map(String::as_str).collect();
                self.line(Sort::Frame, indent, dim, "", &about.join(" · "));
            }
            ContentItem::Prompt(text) => self.lines(Sort::Words, &format!("{indent}> "), dim, text),
            ContentItem::Text(text) => self.lines(Sort::Words, indent, Paint::new(), text),
            ContentItem::Thinking(text) => self.lines(Sort::Words, &format!("{indent}~ "), dim, text),
            ContentItem::ToolCall { tool, input, .. } => {
                self.line(Sort::Work, indent, bold, "→ ", &format!("{tool}  {}", first_line(input)));
            }
            ContentItem::ToolResult { failed, text, .. } => self.answer(indent, *failed, text),
            ContentItem::Retry(kind) => {
                let paint = AnsiColor::Yellow.on_default();
                self.line(Sort::Work, indent, paint, "! ", &format!("the API failed ({kind}), trying again"));
            }
            ContentItem::TurnEnd { subtype, failed, reasons } => self.end(subtype, *failed, reasons),
        }
    }

    fn answer(&mut self, indent: &str, failed: bool, text: &str) {
        let (mark, paint) =
            if failed { ("✗ ", AnsiColor::Red.on_default()) } else { ("", Paint::new().dimmed()) };
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for (at, line) in lines.iter().take(ANSWER_LINES).enumerate() {
            let mark = if at == 0 { mark } else { "" };
            self.line(Sort::Work, &format!("{indent}  "), paint, mark, line);
        }
        if lines.len() > ANSWER_LINES {
            let more = format!("… {} more lines", lines.len() - ANSWER_LINES);
            self.line(Sort::Work, &format!("{indent}  "), Paint::new().dimmed(), "", &more);
        }
    }

    fn end(&mut self, subtype: &str, failed: bool, why: &[String]) {
        let (mark, paint) = if failed {
            ("✗ ", AnsiColor::Red.on_default().bold())
        } else {
            ("✓ ", AnsiColor::Green.on_default().bold())
        };
        self.line(Sort::Frame, "", paint, mark, subtype);
        why.iter().for_each(|why| self.line(Sort::Frame, "  ", Paint::new(), "", first_line(why)));
    }

    /// All lines of a text.
    fn lines(&mut self, sort: Sort, before: &str, paint: Paint, text: &str) {
        self.set_off(sort);
        for line in text.trim_end().lines() {
            self.write(before, paint, "", line);
        }
    }

    /// One line, cut where it is long.
    fn line(&mut self, sort: Sort, before: &str, paint: Paint, mark: &str, text: &str) {
        self.set_off(sort);
        match text.char_indices().nth(LINE) {
            Some((end, _)) => self.write(before, paint, mark, &format!("{}…", &text[..end])),
            None => self.write(before, paint, mark, text),
        }
    }

    fn set_off(&mut self, sort: Sort) {
        if self.last.is_some_and(|last| last != sort || sort == Sort::Words) {
            self.text.push('\n');
        }
        self.last = Some(sort);
    }

    /// The one place where words out of a log are written: nothing of them reaches a terminal raw.
    fn write(&mut self, before: &str, paint: Paint, mark: &str, text: &str) {
        let text = text.trim_end_matches('\r').replace('\t', "    ");
        let text = human::text(text.trim_end());
        let line = if self.color && !text.is_empty() {
            format!("{before}{paint}{mark}{text}{paint:#}\n")
        } else {
            format!("{before}{mark}{text}\n")
        };
        self.text.push_str(&line);
    }
}

/// The room before what a subagent of this depth says. Deeper ones than a screen has room for stand with the deepest.
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
        if !self.is_gone && !text.is_empty() {
            let mut out = io::stdout().lock();
            self.is_gone = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(records: &[&str]) -> String {
        let mut printer = Printer::new(false);
        records.iter().for_each(|record| printer.record(None, record.as_bytes()));
        printer.take()
    }

    #[test]
    fn words_and_work_are_told_apart() {
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
    fn another_session_of_a_stream_has_a_heading() {
        let mut printer = Printer::new(false);
        let record = br#"{"type":"result","subtype":"success"}"#;
        for session in [Some("a"), None, Some("a"), Some("b")] {
            printer.record(session, record);
        }
        assert_eq!(printer.take(), "✓ success\n✓ success\n✓ success\n\n━━ session b\n\n✓ success\n");
    }

    #[test]
    fn nothing_of_a_log_reaches_the_terminal_raw() {
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
