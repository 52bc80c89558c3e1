//! Which records are printed, and in which order: session by session, subagents below the calls that started them.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    io::{self, Write},
};

use super::{
    Printer,
    shelf::{Item, Shelf},
};
use crate::{
    event::{ContentItem, Dialect, RecordContent, may_have_content, record_content},
    facts::{
        Name,
        ledger::{Ledger, SessionIndex},
    },
    input::{Limits, Source, SourceId},
    measure::Time,
};

/// The records of a ledger that are printed.
pub(in crate::cli) struct Content {
    sessions: Vec<Session>,
    /// Which parts of records; `None` for all.
    chosen: Option<Chosen>,
    /// Whether sessions have headings: there are several.
    headed: bool,
}

/// The records of one session.
#[derive(Default)]
struct Session {
    /// Its id, or the name of the source whose records name none.
    name: String,
    main: Vec<Item>,
    agents: Vec<Agent>,
    /// Which agent each call started.
    started: HashMap<Name, usize>,
    /// For each source, whether it is a stream, and the earliest time of this session in it.
    sources: HashMap<SourceId, (bool, Option<Time>)>,
}

/// The records of one subagent.
#[derive(Default)]
struct Agent {
    kind: Option<Name>,
    items: Vec<Item>,
}

/// The parts of records that filters for tools and models keep.
struct Chosen {
    responses: HashSet<Name>,
    calls: HashSet<Name>,
    /// Tools that ran on the server, with the places of their records.
    server_uses: HashSet<((SourceId, u64), Name)>,
    /// Places of results.
    turns: HashSet<(SourceId, u64)>,
}

impl Content {
    /// The records of a ledger. Tools and models must not have been chosen yet: records have neither.
    pub(in crate::cli) fn of(ledger: &Ledger, names: &[Name]) -> Self {
        let mut sessions: Vec<Session> = Vec::new();
        for session in &ledger.sessions {
            let source = || names.get(session.source.0 as usize).map(ToString::to_string).unwrap_or_default();
            let name = session.id.as_deref().map_or_else(source, str::to_owned);
            sessions.push(Session { name, ..Session::default() });
        }
        // The index of each subagent within its session.
        let mut places: Vec<Option<(usize, usize)>> = vec![None; ledger.agents.len()];
        for (at, agent) in ledger.agents.iter().enumerate() {
            let Some(number) = agent.session.map(SessionIndex::get) else { continue };
            let session = &mut sessions[number];
            places[at] = Some((number, session.agents.len()));
            if let Some(id) = agent.call.and_then(|call| ledger.calls[call].id.clone()) {
                session.started.entry(id).or_insert(session.agents.len());
            }
            session.agents.push(Agent { kind: agent.kind.clone(), items: Vec::new() });
        }
        for record in ledger.records.iter().filter(|record| may_have_content(&record.kind)) {
            let Some(at) = record.context.location else { continue };
            let Some(number) = record.context.session.map(SessionIndex::get) else { continue };
            let item = Item { source: at.source, offset: at.offset, bytes: record.bytes };
            let session = &mut sessions[number];
            let is_stream = record.dialect != Dialect::Transcript;
            let (_, first) = session.sources.entry(at.source).or_insert((is_stream, record.context.time));
            *first = first.iter().copied().chain(record.context.time).min();
            match record.context.agent.map(|agent| places[agent.get()]) {
                Some(Some((session, agent))) => sessions[session].agents[agent].items.push(item),
                Some(None) => {}
                None => session.main.push(item),
            }
        }
        sessions.retain(|session| session.items().next().is_some());
        sessions.iter_mut().for_each(Session::sort);
        let headed = sessions.len() > 1;
        Self { sessions, chosen: None, headed }
    }

    /// The same, with only what filters for tools and models left of the ledger.
    #[must_use]
    pub(in crate::cli) fn choosing(mut self, ledger: &Ledger) -> Self {
        let turns = ledger.turns.iter().filter_map(|turn| turn.context.location);
        let server_uses = ledger.server_uses.iter();
        self.chosen = Some(Chosen {
            responses: ledger.responses.iter().filter_map(|one| one.id.clone()).collect(),
            calls: ledger.calls.iter().filter_map(|call| call.id.clone()).collect(),
            server_uses: server_uses
                .filter_map(|one| one.context.location.map(|at| ((at.source, at.offset), one.tool.clone())))
                .collect(),
            turns: turns.map(|at| (at.source, at.offset)).collect(),
        });
        self.headed = ledger.sessions.len() > 1;
        self
    }

    /// Prints it.
    pub(in crate::cli) fn print(
        mut self,
        printer: Printer,
        shelf: &mut Shelf,
        sources: &[Source],
        limits: Limits,
    ) -> io::Result<()> {
        let items: Vec<Item> = self.sessions.iter().flat_map(Session::items).collect();
        shelf.unpack(&items, sources, limits);
        drop(items);
        let headed = self.headed;
        let sessions = std::mem::take(&mut self.sessions);
        let mut walk = Walk {
            printer,
            shelf,
            sources,
            chosen: self.chosen,
            heading: None,
            seen: HashSet::new(),
            hasher: RandomState::new(),
        };
        for session in sessions {
            walk.heading = headed.then(|| session.name.clone());
            walk.session(session)?;
        }
        Ok(())
    }
}

impl Session {
    /// Puts the records of several logs in order, log after log: saved sessions first, since a stream of the same session
    /// has no prompts, then those that begin first.
    fn sort(&mut self) {
        let Self { name: _, main, agents, started: _, sources } = self;
        let order = |item: &Item| {
            let (is_stream, time) = sources.get(&item.source).copied().unwrap_or_default();
            (is_stream, time.is_none(), time, item.source, item.offset)
        };
        main.sort_by_key(order);
        agents.iter_mut().for_each(|agent| agent.items.sort_by_key(order));
    }

    fn items(&self) -> impl Iterator<Item = Item> {
        self.main.iter().chain(self.agents.iter().flat_map(|agent| &agent.items)).copied()
    }
}

impl Chosen {
    /// Whether a part of a record is left.
    fn has(&self, item: Item, response: Option<&str>, content: &ContentItem) -> bool {
        match content {
            ContentItem::Text(_) | ContentItem::Thinking(_) => {
                response.is_some_and(|id| self.responses.contains(id))
            }
            ContentItem::ToolCall { id, tool, .. } => {
                id.as_deref().is_some_and(|id| self.calls.contains(id))
                    || self.server_uses.contains(&(item.key(), Name::from(&**tool)))
            }
            ContentItem::ToolResult { id, .. } => id.as_deref().is_some_and(|id| self.calls.contains(id)),
            ContentItem::TurnEnd { .. } => self.turns.contains(&item.key()),
            // A filter for tools or models leaves these out.
            ContentItem::TurnStart { .. } | ContentItem::Prompt(_) | ContentItem::Retry(_) => false,
        }
    }
}

/// Walks over sessions and prints them.
struct Walk<'a> {
    printer: Printer,
    shelf: &'a mut Shelf,
    sources: &'a [Source],
    chosen: Option<Chosen>,
    /// The heading of this session, until something of it is printed.
    heading: Option<String>,
    /// Hashes of the identities of records that were printed: forks and the two dialects of one run repeat them.
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// Records that are printed one after another, at one depth.
struct Frame {
    items: std::vec::IntoIter<Item>,
    /// The record that is printed now.
    item: Option<Item>,
    response: Option<String>,
    content: std::vec::IntoIter<ContentItem>,
    depth: usize,
    /// Whether the record says that a subagent wrote it.
    is_subagent: bool,
    /// Whose they are, until something is printed, if the call that started it is not.
    label: Option<String>,
}

impl Frame {
    fn of(items: Vec<Item>, depth: usize, label: Option<String>) -> Self {
        let content = Vec::new().into_iter();
        Self {
            items: items.into_iter(),
            item: None,
            response: None,
            content,
            depth,
            is_subagent: false,
            label,
        }
    }

    /// How deep its record stands: one of a subagent that nothing more is known of stands below the main agent.
    fn depth(&self) -> usize {
        self.depth.max(self.is_subagent.into())
    }
}

impl Walk<'_> {
    /// The main agent with its subagents, then those that no call in the log started.
    fn session(&mut self, mut session: Session) -> io::Result<()> {
        self.frames(Frame::of(std::mem::take(&mut session.main), 0, None), &mut session)?;
        for at in 0..session.agents.len() {
            let agent = std::mem::take(&mut session.agents[at]);
            self.frames(Frame::of(agent.items, 1, Some(label(agent.kind))), &mut session)?;
        }
        Ok(())
    }

    /// A stack and no recursion: a log may nest subagents as deep as it likes.
    fn frames(&mut self, first: Frame, session: &mut Session) -> io::Result<()> {
        let mut stack = vec![first];
        while let Some(frame) = stack.last_mut() {
            if let (Some(content), Some(item)) = (frame.content.next(), frame.item) {
                let is_chosen = self
                    .chosen
                    .as_ref()
                    .is_none_or(|chosen| chosen.has(item, frame.response.as_deref(), &content));
                if is_chosen {
                    self.say(frame, &content);
                }
                let depth = frame.depth() + 1;
                let ContentItem::ToolCall { id: Some(id), .. } = &content else { continue };
                if let Some(at) = session.started.remove(&**id) {
                    let Agent { kind, items } = std::mem::take(&mut session.agents[at]);
                    stack.push(Frame::of(items, depth, (!is_chosen).then(|| label(kind))));
                }
            } else if let Some(item) = frame.items.next() {
                let text = self.shelf.text(item, self.sources).unwrap_or_default();
                let RecordContent { items, is_subagent, response, uuid } = record_content(&text);
                if uuid.is_some_and(|uuid| !self.seen.insert(self.hasher.hash_one(uuid))) {
                    continue;
                }
                (frame.item, frame.content) = (Some(item), items.into_iter());
                (frame.response, frame.is_subagent) = (response, is_subagent);
                self.flush()?;
            } else {
                stack.pop();
            }
        }
        self.flush()
    }

    fn say(&mut self, frame: &mut Frame, content: &ContentItem) {
        if let Some(heading) = self.heading.take() {
            self.printer.heading(&heading);
        }
        if let Some(label) = frame.label.take() {
            self.printer.subagent(&label, frame.depth());
        }
        self.printer.say(content, frame.depth());
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = self.printer.take();
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    }
}

fn label(kind: Option<Name>) -> String {
    kind.map_or_else(|| "without a type".to_owned(), |kind| kind.to_string())
}
