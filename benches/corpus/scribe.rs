//! Writes sessions turn by turn and line by line, and counts the answer meanwhile.

use std::io::{self, Write};
use std::mem;

use memchr::memchr_iter;

use super::line;
use super::text::{self, DAY, Pool, Random};
use super::value::{Final, Placeholders, Put, Saved, Stamp, Total, Uuid, fill, indent};
use super::{Answer, Corpus, Shape, Tokens};

mod answer;
mod around;
mod reply;

use around::{Hook, Running};
pub(super) use reply::Call;

const PROJECTS: [&str; 8] = ["alpha", "api", "bench", "docs", "infra", "parser", "site", "tools"];

/// Writes sessions line by line and keeps the answer.
pub(super) struct Scribe<'a> {
    shape: Shape,
    pool: &'a Pool,
    random: Random,
    clock: u64,
    /// The corpus length at which the next line over 1 MB is due.
    huge_at: u64,
    line: Vec<u8>,
    page: Vec<u8>,
    session: Session,
    turn: Turn<'a>,
    answer: Answer,
}

#[derive(Default)]
struct Session {
    id: Uuid,
    project: &'static str,
    /// The corpus length at which this session ends, and the longest text it may have.
    end: u64,
    longest: u64,
    began: u64,
    leaf: Option<Uuid>,
    hour_cache: bool,
    /// Its project has hooks.
    hooked: bool,
    /// A host decides what is allowed.
    hosted: bool,
    context: u64,
    turns: u64,
    used: Tokens,
    running: Vec<Running>,
}

#[derive(Default)]
struct Turn<'a> {
    prompt: Uuid,
    text: &'a [u8],
    began: u64,
    answers: u64,
    denials: Vec<u8>,
    used: Tokens,
}

impl<'a> Scribe<'a> {
    pub(super) fn new(corpus: &Corpus, pool: &'a Pool) -> Self {
        Self {
            shape: corpus.shape,
            pool,
            random: Random(corpus.seed),
            clock: 0,
            huge_at: 4_000_000,
            line: Vec::new(),
            page: Vec::new(),
            session: Session::default(),
            turn: Turn::default(),
            answer: Answer::default(),
        }
    }

    /// Starts the session of this number. Sessions end up to half a share early or late: real ones differ in
    /// length.
    pub(super) fn open(&mut self, corpus: &Corpus, number: u64) {
        let share = corpus.size / corpus.sessions;
        let last = number + 1 == corpus.sessions;
        let end =
            if last { corpus.size } else { share * number + share / 2 + self.random.below(share.max(1)) };
        self.clock = 1_788_000_000_000 + self.random.below(90 * DAY);
        self.session = Session {
            id: self.random.uuid(),
            project: self.random.pick(&PROJECTS),
            end,
            longest: share / 16,
            began: self.clock,
            hour_cache: self.random.percent(25),
            hooked: self.random.percent(30),
            hosted: self.random.percent(20),
            ..Session::default()
        };
        self.answer.sessions += 1;
    }

    pub(super) fn name(&self) -> String {
        let mut id = Vec::new();
        self.session.id.put(&mut id);
        format!("-home-dev-{}/{}.jsonl", self.session.project, String::from_utf8_lossy(&id))
    }

    pub(super) fn session(&mut self, out: &mut impl Write) -> io::Result<()> {
        let killed = self.random.percent(10);
        while self.session.turns == 0 || self.written() < self.session.end {
            self.begin_turn();
            let mut left = self.random.between(2, 24);
            while left > 0 && self.written() < self.session.end {
                self.step();
                self.send(out, 256 << 10)?;
                left -= 1;
            }
            let stopped = killed && self.written() >= self.session.end;
            let refused = self.shape == Shape::Transcript && self.random.below(1000) < 5;
            self.response(if stopped {
                "tool_use"
            } else if refused {
                "refusal"
            } else {
                "end_turn"
            });
            self.meet_limit();
            self.end_tasks();
            self.end_turn(stopped);
        }
        if self.shape == Shape::Transcript {
            let (used, began) = (self.session.used, self.session.began);
            let placeholders: Placeholders<'_> = &[
                ("usd", &used.cost()),
                ("model", &Saved(used)),
                ("ms", &(self.clock - began)),
                ("began", &began),
            ];
            self.record(line::COST_STATE, "", placeholders);
        }
        self.answer.tokens.add(self.session.used);
        self.answer.cost += self.session.used.cost().0;
        self.send(out, 0)
    }

    pub(super) fn close(mut self, out: &mut impl Write) -> io::Result<Answer> {
        if self.shape == Shape::Pretty {
            self.page.extend_from_slice(b"\n]\n");
        }
        self.send(out, 0)?;
        out.flush()?;
        Ok(self.answer)
    }

    /// A response with calls and their answers.
    fn step(&mut self) {
        for call in self.response("tool_use") {
            let roll = self.random.below(1000);
            self.hook_of("PreToolUse", &call);
            match roll {
                0..50 => self.answer_error(&call),
                50..60 => self.answer_denied(&call),
                60..66 if call.tool.name == line::SHELL => self.answer_background(&call),
                _ => self.answer_ok(&call),
            }
            self.hook_of("PostToolUse", &call);
            self.answer.open -= 1;
            self.turn.answers += 1;
        }
    }

    fn begin_turn(&mut self) {
        let text = self.text(text::PROMPT);
        self.turn = Turn { prompt: self.random.uuid(), text, began: self.clock, ..Turn::default() };
        if self.shape != Shape::Transcript {
            self.record(line::INIT, "", &[]);
            return self.hook_prompt();
        }
        if self.random.percent(2) {
            self.local_command();
        }
        self.record(line::ENQUEUE, "", &[("text", &text)]);
        self.record(line::DEQUEUE, "", &[]);
        let (prompt, turns) = (self.turn.prompt, self.session.turns);
        if self.random.percent(5) {
            self.typed_command();
        } else {
            self.chain(line::PROMPT_LINE, &[("text", &text), ("prompt", &prompt), ("turns", &turns)]);
        }
        self.answer.prompts += 1;
        if turns == 0 {
            for line in line::ATTACHMENTS {
                let text = self.text(text::PROSE);
                self.chain(line, &[("text", &text)]);
            }
        }
        self.hook_prompt();
    }

    fn hook_prompt(&mut self) {
        if self.session.hooked {
            let prompt = self.turn.prompt;
            self.hook(Hook { event: "UserPromptSubmit", tool: None, cause: &prompt, blocks: false });
        }
    }

    fn end_turn(&mut self, stopped: bool) {
        let Turn { text, began, answers, used, prompt, .. } = self.turn;
        let (index, total, wall) = (self.session.turns, self.session.used, self.clock - began);
        self.session.turns += 1;
        if self.shape == Shape::Transcript {
            self.chain(line::STOP_HOOKS, &[("ms", &(wall % 40)), ("prompt", &prompt)]);
            let leaf = self.session.leaf;
            self.record(line::LAST_PROMPT, "", &[("text", &text), ("leaf", &leaf)]);
            return;
        }
        let denials = mem::take(&mut self.turn.denials);
        let said = self.text(text::PROSE);
        let (tail, stop, reason) = if stopped {
            (line::RESULT_STOPPED, "tool_use", "aborted_tools")
        } else {
            (line::RESULT_SUCCESS, "end_turn", "completed")
        };
        let placeholders: Placeholders<'_> = &[
            ("stop", &stop),
            ("reason", &reason),
            ("api", &(self.clock - self.session.began)),
            ("usd", &total.cost()),
            ("usage", &Final(used)),
            ("model", &Total(total)),
            ("since", &Total(used)),
            ("denials", &denials.as_slice()),
            ("turns", &(answers + 1)),
            ("text", &said),
            ("wall", &wall),
            ("index", &index),
        ];
        self.record(line::RESULT, tail, placeholders);
        self.answer.turns += 1;
    }

    fn text(&mut self, lengths: &[(u64, u64)]) -> &'a [u8] {
        let length = self.random.length(lengths).min(self.session.longest);
        self.pool.cut(&mut self.random, length)
    }

    /// Writes a message line of a transcript, which names the one before.
    fn chain(&mut self, line: &str, placeholders: Placeholders<'_>) -> Uuid {
        let uuid = self.record(line, line::SAVED_TAIL, placeholders);
        self.session.leaf = Some(uuid);
        uuid
    }

    /// Writes one record. Every template may use the session, the time, a new uuid and the uuid before it.
    fn record(&mut self, line: &str, tail: &str, placeholders: Placeholders<'_>) -> Uuid {
        let (uuid, time) = (self.random.uuid(), Stamp(self.clock));
        let Session { id, leaf, project, .. } = &self.session;
        let common: Placeholders<'_> =
            &[("uuid", &uuid), ("session", id), ("time", &time), ("parent", leaf), ("project", project)];
        self.line.clear();
        fill(&mut self.line, line, placeholders, common);
        fill(&mut self.line, tail, placeholders, common);
        if self.shape == Shape::Pretty {
            self.page.extend_from_slice(if self.answer.records == 0 { b"[\n  " } else { b",\n  " });
            indent(&mut self.page, &self.line);
        } else {
            self.page.extend_from_slice(&self.line);
            self.page.push(b'\n');
        }
        self.answer.records += 1;
        uuid
    }

    fn written(&self) -> u64 {
        self.answer.bytes + self.page.len() as u64
    }

    /// Writes the page out when it is longer than `limit`.
    fn send(&mut self, out: &mut impl Write, limit: usize) -> io::Result<()> {
        if self.page.len() > limit {
            out.write_all(&self.page)?;
            self.answer.bytes += self.page.len() as u64;
            self.answer.lines += memchr_iter(b'\n', &self.page).count() as u64;
            self.page.clear();
        }
        Ok(())
    }
}
