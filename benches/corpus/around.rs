//! Events around calls: hooks, tasks, compactions, limits, typed commands and control requests.
//!
//! The rates are those of real logs: a few hooks per hundred records, one background task in several hundred
//! calls, one compaction when the context is full, and a typed command every now and then.

use super::{Call, Scribe};
use crate::corpus::value::{Id, Placeholders, Put, fill};
use crate::corpus::{Shape, line, text};

/// Tokens at which a conversation is compacted, and the tokens left afterwards.
const CONTEXT: u64 = 180_000;
const COMPACTED: u64 = 4_000;

/// A command that runs in the background.
pub(super) struct Running {
    task: Id,
    call: Id,
}

/// A hook in the settings of a project.
#[derive(Clone, Copy)]
pub(super) struct Hook<'h> {
    pub(super) event: &'static str,
    /// The tool that it matched.
    pub(super) tool: Option<&'static str>,
    /// The call or prompt that it ran for.
    pub(super) cause: &'h dyn Put,
    pub(super) blocks: bool,
}

impl<'a> Scribe<'a> {
    pub(super) fn hook(&mut self, Hook { event, tool, cause, blocks }: Hook<'_>) {
        let name = tool.map_or(event.to_owned(), |tool| format!("{event}:{tool}"));
        let (ms, id) = (self.random.between(8, 400), self.random.uuid());
        let placeholders: Placeholders<'_> =
            &[("event", &event), ("name", &&*name), ("cause", cause), ("ms", &ms), ("hook", &id)];
        if self.shape == Shape::Transcript {
            self.chain(if blocks { line::HOOK_BLOCKED } else { line::HOOK_DONE }, placeholders);
        } else {
            self.record(line::HOOK_STARTED, "", placeholders);
            self.clock += ms;
            self.record(if blocks { line::HOOK_REFUSED } else { line::HOOK_RESPONSE }, "", placeholders);
        }
        self.answer.hooks += 1;
    }

    /// The hooks before or after a call, in projects that have some.
    pub(super) fn hook_of(&mut self, event: &'static str, call: &Call) {
        if !self.session.hooked || !self.random.percent(12) {
            return;
        }
        let blocks = event == "PostToolUse" && self.random.percent(4);
        self.hook(Hook { event, tool: Some(call.tool.name), cause: &call.id, blocks });
    }

    /// Answers a call with a task that continues in the background.
    pub(super) fn answer_background(&mut self, call: &Call) {
        let task = self.random.id("b");
        let (mut content, mut result) = (Vec::new(), Vec::new());
        fill(&mut content, line::BACKGROUND_CONTENT, &[("task", &task)], &[]);
        fill(&mut result, line::BACKGROUND_RESULT, &[("task", &task)], &[]);
        if self.shape != Shape::Transcript {
            self.record(line::TASK_STARTED, "", &[("task", &task), ("call", &call.id)]);
        }
        self.answer(call, line::CONTENT, line::ACCEPTED, &content, &result);
        self.answer.ok += 1;
        self.answer.tasks += 1;
        self.session.running.push(Running { task, call: call.id });
    }

    /// Notifies the model that its tasks have ended.
    pub(super) fn end_tasks(&mut self) {
        for Running { task, call } in std::mem::take(&mut self.session.running) {
            self.clock += self.random.between(1000, 60_000);
            let placeholders: Placeholders<'_> = &[("task", &task), ("call", &call)];
            if self.shape != Shape::Transcript {
                self.record(line::TASK_NOTIFICATION, "", placeholders);
                continue;
            }
            let mut text = Vec::new();
            fill(&mut text, line::NOTICE, placeholders, &[]);
            let (text, prompt) = (text.as_slice(), self.random.uuid());
            self.record(line::ENQUEUE, "", &[("text", &text)]);
            self.record(line::DEQUEUE, "", &[]);
            self.chain(line::NOTICE_LINE, &[("text", &text), ("prompt", &prompt)]);
        }
    }

    /// Compacts the conversation if its context is full.
    pub(super) fn compact_if_full(&mut self) {
        let before = self.session.context;
        if before < CONTEXT {
            return;
        }
        let ms = self.random.between(5000, 60_000);
        self.clock += ms;
        let (prompt, text) = (self.turn.prompt, self.text(text::PROSE));
        let placeholders: Placeholders<'_> =
            &[("before", &before), ("after", &COMPACTED), ("ms", &ms), ("prompt", &prompt), ("text", &text)];
        if self.shape == Shape::Transcript {
            self.chain(line::COMPACTED_SAVED, placeholders);
            self.chain(line::SUMMARY_SAVED, placeholders);
        } else {
            self.record(line::COMPACTED, "", placeholders);
            self.record(line::SUMMARY, "", placeholders);
        }
        self.session.context = COMPACTED;
        self.answer.compactions += 1;
    }

    /// Writes API errors before a response, and their retries.
    pub(super) fn maybe_retry(&mut self) {
        if self.shape == Shape::Transcript && self.random.below(1000) < 4 {
            let (request, ms) = (self.random.id("req_01"), self.random.between(500, 2000));
            self.chain(line::RETRY, &[("request", &request), ("ms", &ms)]);
            self.clock += ms;
        }
    }

    /// Writes limits at the end of a turn.
    pub(super) fn meet_limit(&mut self) {
        if self.shape == Shape::Transcript {
            if self.random.percent(1) {
                self.chain(line::MAX_TURNS, &[]);
            }
        } else if self.random.percent(5) {
            let resets = (self.clock + 3_600_000) / 1000;
            self.record(line::RATE_LIMIT, "", &[("resets", &resets)]);
        }
    }

    /// Writes a command that the CLI itself answers, such as `/context`.
    pub(super) fn local_command(&mut self) {
        let (prompt, said) = (self.random.uuid(), self.text(text::PROSE));
        let placeholders: Placeholders<'_> = &[("prompt", &prompt), ("text", &said)];
        for line in [line::CAVEAT, line::LOCAL_COMMAND, line::LOCAL_ANSWER] {
            self.chain(line, placeholders);
        }
        self.answer.commands += 1;
    }

    /// Starts a turn with a command of the project, such as `/review`: a prompt, and its expansion.
    pub(super) fn typed_command(&mut self) {
        let (prompt, turns, typed) = (self.turn.prompt, self.session.turns, self.turn.text);
        let mut text = Vec::new();
        fill(&mut text, line::COMMAND_TEXT, &[("text", &typed)], &[]);
        self.chain(line::PROMPT_LINE, &[("text", &text.as_slice()), ("prompt", &prompt), ("turns", &turns)]);
        let expanded = self.text(text::PROSE);
        self.chain(line::COMPANION, &[("prompt", &prompt), ("text", &expanded)]);
        self.answer.commands += 1;
    }

    /// Asks the host of a stream whether a call is allowed.
    pub(super) fn ask_host(&mut self, call: &Call, allowed: bool) {
        if self.shape == Shape::Transcript || !self.session.hosted {
            return;
        }
        let (request, input) = (self.random.uuid(), call.input.as_slice());
        let placeholders: Placeholders<'_> =
            &[("request", &request), ("tool", &call.tool.name), ("input", &input), ("call", &call.id)];
        self.record(line::CAN_USE_TOOL, "", placeholders);
        self.clock += self.random.between(500, 9000);
        self.record(if allowed { line::HOST_ALLOWS } else { line::HOST_DENIES }, "", placeholders);
        self.answer.control += 1;
    }
}
