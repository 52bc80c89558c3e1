//! A seeded log of any size together with its known answer: benches read the log and must find the answer.
//!
//! The lines have the fields and the spelling of Claude Code 2.1.325 (see `testdata/`); only their texts are
//! made up. The answer is counted while the lines are written, independent of any parser. Line lengths, and
//! the share of tool results in the bytes, follow real logs: half of the lines are about 1 kB, one in ten is
//! over 5 kB, one in a hundred over 30 kB, and now and then one is over 1 MB. Hooks, tasks, compactions,
//! questions and typed commands have the rates of real logs, too.

#![allow(dead_code, reason = "an example, a bench and a test include it, and each uses its own part")]

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use scribe::Scribe;
use text::Pool;
use value::{Put, Usd};

#[path = "corpus/line.rs"]
mod line;
#[path = "corpus/scribe.rs"]
mod scribe;
#[path = "corpus/text.rs"]
mod text;
#[path = "corpus/value.rs"]
mod value;

/// The shape of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Saved sessions, as below `~/.claude/projects`: one file each.
    Transcript,
    /// Runs of `--output-format stream-json`, one after another.
    Stream,
    /// The same with `--include-partial-messages`: nearly all lines are `stream_event`.
    Events,
    /// The records of `Stream` as one pretty-printed array.
    Pretty,
}

impl Shape {
    /// All shapes.
    pub(crate) const ALL: [Self; 4] = [Self::Transcript, Self::Stream, Self::Events, Self::Pretty];
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transcript => "transcript",
            Self::Stream => "stream",
            Self::Events => "events",
            Self::Pretty => "pretty",
        })
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|shape| shape.to_string() == name);
        found.ok_or_else(|| format!("not a shape: `{name}`; give transcript, stream, events or pretty"))
    }
}

/// A log to be written: the same four values always give the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Corpus {
    /// The shape of the log.
    pub(crate) shape: Shape,
    /// Seed of the random numbers.
    pub(crate) seed: u64,
    /// Bytes to write; the last turn may go a little over.
    pub(crate) size: u64,
    /// Number of sessions that share the bytes, unevenly.
    pub(crate) sessions: u64,
}

impl Corpus {
    /// A log of `size` bytes in sessions of about 2 MB.
    pub(crate) fn new(shape: Shape, seed: u64, size: u64) -> Self {
        Self { shape, seed, size, sessions: (size / 2_000_000).max(1) }
    }

    /// Writes everything into one writer, in memory that does not grow with the size.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<Answer> {
        let pool = Pool::new(self.seed);
        let mut scribe = Scribe::new(self, &pool);
        for number in 0..self.sessions {
            scribe.open(self, number);
            scribe.session(out)?;
        }
        scribe.close(out)
    }

    /// Writes one file per session, named `<project>/<session>.jsonl`, into the writers that `create` makes.
    pub(crate) fn write_files<W: Write>(
        &self,
        mut create: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<Answer> {
        let pool = Pool::new(self.seed);
        let mut scribe = Scribe::new(self, &pool);
        for number in 0..self.sessions {
            scribe.open(self, number);
            let mut out = create(&scribe.name())?;
            scribe.session(&mut out)?;
            out.flush()?;
        }
        scribe.close(&mut io::sink())
    }
}

/// The expected answer, with the meanings that CONTRACT.md gives to these words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) records: u64,
    pub(crate) sessions: u64,
    pub(crate) prompts: u64,
    pub(crate) responses: u64,
    pub(crate) turns: u64,
    pub(crate) calls: u64,
    pub(crate) ok: u64,
    pub(crate) errors: u64,
    pub(crate) denied: u64,
    pub(crate) open: u64,
    pub(crate) tokens: Tokens,
    /// Nano-dollars.
    pub(crate) cost: u64,
    /// Runs of hooks, without those at the end of a turn.
    pub(crate) hooks: u64,
    /// Tasks in the background.
    pub(crate) tasks: u64,
    pub(crate) compactions: u64,
    /// Questions to people.
    pub(crate) questions: u64,
    /// Commands that were typed.
    pub(crate) commands: u64,
    /// Requests to the host of a stream.
    pub(crate) control: u64,
}

impl Answer {
    /// Returns the part of `ccstat summarize --format json` that is known beforehand, under the same keys.
    pub(crate) fn to_json(&self) -> String {
        let Self { bytes, lines, records, sessions, prompts, responses, turns, .. } = self;
        let Self { calls, ok, errors, denied, open, tokens, cost, .. } = self;
        let Tokens { input, output, cache_read, cache_write_5m, cache_write_1h } = tokens;
        let mut usd = Vec::new();
        Usd(*cost).put(&mut usd);
        format!(
            r#"{{
  "input": {{"bytes": {bytes}, "lines": {lines}, "records": {records}, "invalid": 0, "copies": 0}},
  "sessions": {sessions},
  "prompts": {prompts},
  "responses": {responses},
  "turns": {{"total": {turns}}},
  "tools": {{"calls": {calls}, "ok": {ok}, "errors": {errors}, "denied": {denied}, "open": {open}, "orphans": 0}},
  "tokens": {{"input": {input}, "output": {output}, "cache_read": {cache_read}, "cache_write_5m": {cache_write_5m}, "cache_write_1h": {cache_write_1h}}},
  "cost": {{"total_usd": {}}}
}}
"#,
            String::from_utf8_lossy(&usd)
        )
    }
}

/// Tokens of a response, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write_5m: u64,
    pub(crate) cache_write_1h: u64,
}

impl Tokens {
    fn add(&mut self, other: Self) {
        let Self { input, output, cache_read, cache_write_5m, cache_write_1h } = other;
        self.input += input;
        self.output += output;
        self.cache_read += cache_read;
        self.cache_write_5m += cache_write_5m;
        self.cache_write_1h += cache_write_1h;
    }

    /// Prices of claude-opus-5-5: 4, 20, 0.2, 5 and 8 USD per million tokens.
    fn cost(self) -> Usd {
        let Self { input, output, cache_read, cache_write_5m, cache_write_1h } = self;
        Usd(input * 4000 + output * 20_000 + cache_read * 200 + cache_write_5m * 5000 + cache_write_1h * 8000)
    }

    fn written(self) -> u64 {
        self.cache_write_5m + self.cache_write_1h
    }
}
