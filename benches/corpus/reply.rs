//! Output of the model: a response is written block by block, with its calls.

use super::Scribe;
use crate::corpus::line::{self, Tool};
use crate::corpus::text;
use crate::corpus::value::{Begun, Block, Ended, Escaped, Final, Id, Placeholders, Put, Start, Uuid, fill};
use crate::corpus::{Shape, Tokens};

/// One API response, and how many of its blocks are written.
struct Reply {
    id: Id,
    request: Id,
    api: Uuid,
    stop: &'static str,
    tokens: Tokens,
    block: u64,
}

/// One `tool_use`, to be answered.
pub(in crate::corpus) struct Call {
    pub(in crate::corpus) id: Id,
    pub(in crate::corpus) tool: &'static Tool,
    pub(in crate::corpus) file: u64,
    pub(in crate::corpus) input: Vec<u8>,
    pub(in crate::corpus) asked: Uuid,
}

impl Scribe<'_> {
    /// Writes a response block by block, and returns its calls, which are open now.
    pub(super) fn response(&mut self, stop: &'static str) -> Vec<Call> {
        self.compact_if_full();
        self.maybe_retry();
        let mut reply = Reply {
            id: self.random.id("msg_01"),
            request: self.random.id("req_01"),
            api: self.random.uuid(),
            stop,
            tokens: self.spend(),
            block: 0,
        };
        self.ask(&reply);
        let calls = if stop == "tool_use" { 1 + u64::from(self.random.percent(16)) } else { 0 };
        if self.random.percent(25) {
            let text = self.text(text::PROSE);
            self.block(&mut reply, &Block::Thinking(text));
        }
        if calls == 0 || self.random.percent(45) {
            let text = self.text(text::PROSE);
            self.block(&mut reply, &Block::Text(text));
        }
        let mut asked: Vec<Call> = (0..calls).map(|_| self.call()).collect();
        for call in &mut asked {
            call.asked = self.block(&mut reply, &Block::Call(call));
        }
        if self.shape == Shape::Events {
            self.event(
                &reply,
                line::MESSAGE_DELTA,
                &[("usage", &Ended(reply.tokens)), ("stop", &reply.stop)],
            );
            self.event(&reply, line::MESSAGE_STOP, &[]);
        }
        let questions = asked.iter().filter(|call| call.tool.name == line::QUESTION).count();
        self.answer.questions += questions as u64;
        self.answer.responses += 1;
        self.answer.calls += calls;
        self.answer.open += calls;
        asked
    }

    fn call(&mut self) -> Call {
        let tool = self.tool();
        let (file, text) = (self.random.below(400), self.text(tool.asks));
        let mut input = Vec::new();
        fill(&mut input, tool.input, &[("text", &text), ("file", &file)], &[]);
        Call { id: self.random.id("toolu_01"), tool, file, input, asked: Uuid::default() }
    }

    /// Returns the tokens of one more response. Tokens written to the cache now are read from it next time.
    fn spend(&mut self) -> Tokens {
        let written = self.random.between(100, 4000);
        let hour = u64::from(self.session.hour_cache);
        let tokens = Tokens {
            input: self.random.between(1, 60),
            output: self.random.between(20, 1500),
            cache_read: self.session.context,
            cache_write_5m: written * (1 - hour),
            cache_write_1h: written * hour,
        };
        self.session.context += written;
        self.session.used.add(tokens);
        self.turn.used.add(tokens);
        tokens
    }

    /// Writes the events before the first block of a response.
    fn ask(&mut self, reply: &Reply) {
        self.clock += self.random.between(20, 900);
        match self.shape {
            Shape::Transcript => {
                let (text, leaf, tail) = (self.turn.text, self.session.leaf, self.random.uuid());
                if self.random.percent(50) {
                    self.record(line::LAST_PROMPT, "", &[("text", &text), ("leaf", &leaf)]);
                    self.record(line::ATIS_LATCH, "", &[]);
                }
                self.record(line::API_REQUEST, "", &[("api", &reply.api), ("tail", &tail)]);
                self.record(line::TOOLS_USED, "", &[]);
            }
            Shape::Stream | Shape::Pretty => {}
            Shape::Events => {
                self.record(line::STATUS, "", &[]);
                let (usage, waited) = (Begun(reply.tokens), self.random.between(300, 3000));
                self.record(
                    line::MESSAGE_START,
                    "",
                    &[("message", &reply.id), ("usage", &usage), ("ms", &waited)],
                );
            }
        }
        self.clock += self.random.between(500, 20_000);
    }

    /// Writes one block: a line of its own, in `Events` preceded by its events.
    fn block(&mut self, reply: &mut Reply, block: &Block<'_>) -> Uuid {
        self.clock += self.random.between(1, 400);
        let index = reply.block;
        reply.block += 1;
        match self.shape {
            Shape::Transcript => {
                let [timing, _] = block.timing();
                let cache = if self.session.hour_cache { "1h" } else { "5m" };
                let placeholders: Placeholders<'_> = &[
                    ("message", &reply.id),
                    ("block", block),
                    ("stop", &reply.stop),
                    ("usage", &Final(reply.tokens)),
                    ("timing", &timing),
                    ("index", &index),
                    ("request", &reply.request),
                    ("api", &reply.api),
                    ("cache", &cache),
                ];
                self.chain(line::ASSISTANT_SAVED, placeholders)
            }
            Shape::Stream | Shape::Pretty => self.block_line(reply, block),
            Shape::Events => {
                self.event(reply, line::BLOCK_START, &[("index", &index), ("start", &Start(block))]);
                self.deltas(reply, index, block);
                let uuid = self.block_line(reply, block);
                self.event(reply, line::BLOCK_STOP, &[("index", &index)]);
                uuid
            }
        }
    }

    fn block_line(&mut self, reply: &Reply, block: &Block<'_>) -> Uuid {
        if let Block::Thinking(text) = block {
            let tokens = text.len() as u64 / 4;
            self.record(line::THINKING_TOKENS, "", &[("tokens", &tokens)]);
        }
        let (usage, [_, timing]) = (Begun(reply.tokens), block.timing());
        let placeholders: Placeholders<'_> = &[
            ("message", &reply.id),
            ("block", block),
            ("usage", &usage),
            ("request", &reply.request),
            ("timing", &timing),
        ];
        self.record(line::ASSISTANT, "", placeholders)
    }

    fn deltas(&mut self, reply: &Reply, index: u64, block: &Block<'_>) {
        let (delta, mut rest) = block.delta();
        while !rest.is_empty() {
            let piece = text::piece(&mut rest, self.random.between(80, 640) as usize);
            let escaped = Escaped(piece);
            let part: &dyn Put = if matches!(block, Block::Call(_)) { &escaped } else { &piece };
            self.event(reply, delta, &[("index", &index), ("piece", part)]);
        }
        if matches!(block, Block::Thinking(_)) {
            self.event(reply, line::SIGNATURE_DELTA, &[("index", &index), ("piece", &line::SIGNATURE)]);
        }
    }

    /// Writes an event of a response; `MESSAGE_START` has more fields than the others and is a line of its
    /// own.
    fn event(&mut self, reply: &Reply, event: &str, placeholders: Placeholders<'_>) {
        let mut inner = Vec::new();
        fill(&mut inner, event, placeholders, &[]);
        self.record(line::STREAM_EVENT, "", &[("event", &inner.as_slice()), ("message", &reply.id)]);
    }

    fn tool(&mut self) -> &'static Tool {
        let mut roll = self.random.below(1000);
        for tool in &line::TOOLS {
            if roll < tool.share {
                return tool;
            }
            roll -= tool.share;
        }
        unreachable!("the shares of the tools are a thousand")
    }
}
