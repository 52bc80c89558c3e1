//! Chooses and orders the records to print: session by session, subagents below the calls that started them.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    io::{self, Write},
};

use super::{
    Printer,
    store::{Item, RecordStore},
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

/// The records of a ledger to print.
pub(in crate::cli) struct Content {
    sessions: Vec<Session>,
    /// The parts of records to print; `None` for all.
    selection: Option<Selection>,
    /// Whether sessions have headings, because there are several.
    has_headings: bool,
}

/// The records of one session.
#[derive(Default)]
struct Session {
    /// The id, or the name of the source if its records have no session id.
    name: String,
    main: Vec<Item>,
    agents: Vec<Agent>,
    /// Index of the agent that each call started.
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
struct Selection {
    responses: HashSet<Name>,
    calls: HashSet<Name>,
    /// Tools that ran on the server, with the places of their records.
    server_uses: HashSet<((SourceId, u64), Name)>,
    /// Places of results.
    turns: HashSet<(SourceId, u64)>,
}

impl Content {
    /// All records of a ledger, before a filter for tools or models was applied: records have neither.
    pub(in crate::cli) fn of(ledger: &Ledger, names: &[Name]) -> Self {
        let mut sessions: Vec<Session> = Vec::new();
        for session in &ledger.sessions {
            let source = || names.get(session.source.0 as usize).map(ToString::to_string).unwrap_or_default();
            let name = session.id.as_deref().map_or_else(source, str::to_owned);
            sessions.push(Session { name, ..Session::default() });
        }
        // Session and index within it, for each subagent.
        let mut positions: Vec<Option<(usize, usize)>> = vec![None; ledger.agents.len()];
        for (index, agent) in ledger.agents.iter().enumerate() {
            let Some(number) = agent.session.map(SessionIndex::get) else { continue };
            let session = &mut sessions[number];
            positions[index] = Some((number, session.agents.len()));
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
            match record.context.agent.map(|agent| positions[agent.get()]) {
                Some(Some((session, agent))) => sessions[session].agents[agent].items.push(item),
                Some(None) => {}
                None => session.main.push(item),
            }
        }
        sessions.retain(|session| session.items().next().is_some());
        sessions.iter_mut().for_each(Session::sort);
        let has_headings = sessions.len() > 1;
        Self { sessions, selection: None, has_headings }
    }

    /// Keeps only the parts that are left in `ledger` after filters for tools and models.
    #[must_use]
    pub(in crate::cli) fn selecting(mut self, ledger: &Ledger) -> Self {
        let turns = ledger.turns.iter().filter_map(|turn| turn.context.location);
        let server_uses = ledger.server_uses.iter();
        self.selection = Some(Selection {
            responses: ledger.responses.iter().filter_map(|one| one.id.clone()).collect(),
            calls: ledger.calls.iter().filter_map(|call| call.id.clone()).collect(),
            server_uses: server_uses
                .filter_map(|one| one.context.location.map(|at| ((at.source, at.offset), one.tool.clone())))
                .collect(),
            turns: turns.map(|at| (at.source, at.offset)).collect(),
        });
        self.has_headings = ledger.sessions.len() > 1;
        self
    }

    /// Prints the records to standard output.
    pub(in crate::cli) fn print(
        mut self,
        printer: Printer,
        store: &mut RecordStore,
        sources: &[Source],
        limits: Limits,
    ) -> io::Result<()> {
        let items: Vec<Item> = self.sessions.iter().flat_map(Session::items).collect();
        store.load_compressed(&items, sources, limits);
        drop(items);
        let has_headings = self.has_headings;
        let sessions = std::mem::take(&mut self.sessions);
        let mut walk = Walk {
            printer,
            store,
            sources,
            selection: self.selection,
            heading: None,
            seen: HashSet::new(),
            hasher: RandomState::new(),
        };
        for session in sessions {
            walk.heading = has_headings.then(|| session.name.clone());
            walk.session(session)?;
        }
        Ok(())
    }
}

impl Session {
    /// Sorts the records log by log: transcripts first, since a stream of the same session has no prompts,
    /// then by the first time in the log.
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

impl Selection {
    /// Whether this part of a record is selected.
    fn contains(&self, item: Item, response: Option<&str>, content: &ContentItem) -> bool {
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
            // These have neither a tool nor a model.
            ContentItem::TurnStart { .. } | ContentItem::Prompt(_) | ContentItem::Retry(_) => false,
        }
    }
}

/// Visits sessions and prints them.
struct Walk<'a> {
    printer: Printer,
    store: &'a mut RecordStore,
    sources: &'a [Source],
    selection: Option<Selection>,
    /// The heading of this session, until its first item is printed.
    heading: Option<String>,
    /// Hashes of the uuids of printed records: forks and the two dialects of one run repeat them.
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// The records of one agent while they are printed.
struct Frame {
    items: std::vec::IntoIter<Item>,
    /// The current record.
    item: Option<Item>,
    response: Option<String>,
    content: std::vec::IntoIter<ContentItem>,
    depth: usize,
    /// Whether the current record says that a subagent wrote it.
    is_subagent: bool,
    /// The type of the subagent, until its first item is printed, if the call that started it is not printed.
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

    /// The depth of the current record: at least 1 if a subagent wrote it, even an unknown one.
    fn depth(&self) -> usize {
        self.depth.max(self.is_subagent.into())
    }
}

impl Walk<'_> {
    /// Prints the main agent with its subagents, then the subagents that no call in the log started.
    fn session(&mut self, mut session: Session) -> io::Result<()> {
        self.frames(Frame::of(std::mem::take(&mut session.main), 0, None), &mut session)?;
        for index in 0..session.agents.len() {
            let agent = std::mem::take(&mut session.agents[index]);
            self.frames(Frame::of(agent.items, 1, Some(label(agent.kind))), &mut session)?;
        }
        Ok(())
    }

    /// Prints a frame and the subagents below it. Uses a stack instead of recursion, because a log may nest
    /// subagents deeply.
    fn frames(&mut self, first: Frame, session: &mut Session) -> io::Result<()> {
        let mut stack = vec![first];
        while let Some(frame) = stack.last_mut() {
            if let (Some(content), Some(item)) = (frame.content.next(), frame.item) {
                let is_selected = self
                    .selection
                    .as_ref()
                    .is_none_or(|selection| selection.contains(item, frame.response.as_deref(), &content));
                if is_selected {
                    self.item(frame, &content);
                }
                let depth = frame.depth() + 1;
                let ContentItem::ToolCall { id: Some(id), .. } = &content else { continue };
                if let Some(index) = session.started.remove(&**id) {
                    let Agent { kind, items } = std::mem::take(&mut session.agents[index]);
                    stack.push(Frame::of(items, depth, (!is_selected).then(|| label(kind))));
                }
            } else if let Some(item) = frame.items.next() {
                let text = self.store.text(item, self.sources).unwrap_or_default();
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

    fn item(&mut self, frame: &mut Frame, content: &ContentItem) {
        if let Some(heading) = self.heading.take() {
            self.printer.heading(&heading);
        }
        if let Some(label) = frame.label.take() {
            self.printer.subagent(&label, frame.depth());
        }
        self.printer.item(content, frame.depth());
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
