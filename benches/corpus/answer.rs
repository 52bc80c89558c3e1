//! Results of tools: every call is answered, fails or is denied.

use super::{Call, Scribe};
use crate::corpus::value::{Placeholders, error, fill};
use crate::corpus::{Shape, line, text};

impl<'a> Scribe<'a> {
    pub(super) fn answer_ok(&mut self, call: &Call) {
        if self.random.percent(3) {
            self.ask_host(call, true);
        }
        let text = self.result_text();
        let (mut content, mut result) = (Vec::new(), Vec::new());
        let placeholders: Placeholders<'_> = &[("text", &text), ("file", &call.file)];
        fill(&mut content, call.tool.content, placeholders, &[]);
        fill(&mut result, call.tool.result, placeholders, &[]);
        self.answer(call, line::CONTENT, line::ACCEPTED, &content, &result);
        self.answer.ok += 1;
    }

    pub(super) fn answer_error(&mut self, call: &Call) {
        let mut content = b"Exit code 1\\n".to_vec();
        content.extend_from_slice(self.text(text::PROSE));
        self.answer(call, line::CONTENT_ERROR, line::ACCEPTED, &content, &error(&content));
        self.answer.errors += 1;
    }

    /// A denial occurs three times in a stream: at once, in the tool result, and in the result.
    pub(super) fn answer_denied(&mut self, call: &Call) {
        let mut content = Vec::new();
        let placeholders: Placeholders<'_> =
            &[("tool", &call.tool.name), ("call", &call.id), ("input", &call.input.as_slice())];
        fill(&mut content, line::DENIAL_TEXT, placeholders, &[]);
        self.ask_host(call, false);
        if self.shape != Shape::Transcript {
            self.record(
                line::PERMISSION_DENIED,
                "",
                &[placeholders[0], placeholders[1], ("text", &content.as_slice())],
            );
            if !self.turn.denials.is_empty() {
                self.turn.denials.push(b',');
            }
            fill(&mut self.turn.denials, line::PERMISSION_DENIAL, placeholders, &[]);
        }
        self.answer(call, line::CONTENT_ERROR, line::REJECTED, &content, &error(&content));
        self.answer.denied += 1;
    }

    pub(super) fn answer(
        &mut self,
        call: &Call,
        block: &str,
        [saved, streamed]: [&str; 2],
        content: &[u8],
        result: &[u8],
    ) {
        self.clock += self.random.between(5, 4000);
        let prompt = self.turn.prompt;
        let mut inner = Vec::new();
        fill(&mut inner, block, &[("call", &call.id), ("content", &content)], &[]);
        let placeholders: Placeholders<'_> = &[
            ("prompt", &prompt),
            ("block", &inner.as_slice()),
            ("result", &result),
            ("asked", &call.asked),
            ("call", &call.id),
        ];
        if self.shape == Shape::Transcript {
            let uuid = self.record(line::USER_SAVED, saved, placeholders);
            self.session.leaf = Some(uuid);
        } else {
            self.record(line::USER, streamed, placeholders);
        }
    }

    /// Returns the text of a tool result: over 1 MB when one is due, but never in small sessions.
    fn result_text(&mut self) -> &'a [u8] {
        if self.written() > self.huge_at && self.session.longest > 32_000 {
            self.huge_at += 192_000_000;
            let length = self.random.between(1_050_000, 1_600_000);
            return self.pool.cut(&mut self.random, length);
        }
        self.text(match self.shape {
            Shape::Transcript => text::RESULT_SAVED,
            Shape::Stream | Shape::Pretty => text::RESULT_STREAMED,
            Shape::Events => text::PROMPT,
        })
    }
}
