//! Kinds of `--fail-on`: how each is found, and its messages.

use std::collections::BTreeMap;

use super::{Finding, GateInput};
use crate::{
    facts::ledger::{Call, CallIndex, Context, End, Location, Response, Session, SessionIndex},
    input::SourceId,
    report::{
        Line, Tone, Value,
        repeats::{Loop, failure, loops},
    },
};

/// Maximum number of names in a line.
const EXAMPLES: usize = 5;

names! {
    /// Something that must not occur.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
    pub enum Kind {
        /// A call was denied
        Denial = "denial",
        /// A turn failed, or an API request failed for good
        Error = "error",
        /// A call failed
        ToolError = "tool-error",
        /// A printed run has no result, or a source has no records
        NoResult = "no-result",
        /// A call has no result
        OpenCall = "open-call",
        /// A result has no call
        Orphan = "orphan",
        /// A line or value is not a record
        Invalid = "invalid",
        /// A source ends inside a record
        Truncated = "truncated",
        /// A kind of record or block is not known to ccstat
        Unknown = "unknown",
        /// A model has no price, and the CLI reported no cost
        Unpriced = "unpriced",
        /// The cost is incomplete
        Incomplete = "incomplete",
        /// An MCP server failed to start
        McpFailed = "mcp-failed",
        /// The same tool input was denied or failed three times or more in a session
        Loop = "loop",
    }
}

impl Kind {
    fn spec(self) -> &'static KindSpec {
        match self {
            Self::Denial => &DENIAL,
            Self::Error => &ERROR,
            Self::ToolError => &TOOL_ERROR,
            Self::NoResult => &NO_RESULT,
            Self::OpenCall => &OPEN_CALL,
            Self::Orphan => &ORPHAN,
            Self::Invalid => &INVALID,
            Self::Truncated => &TRUNCATED,
            Self::Unknown => &UNKNOWN,
            Self::Unpriced => &UNPRICED,
            Self::Incomplete => &INCOMPLETE,
            Self::McpFailed => &MCP_FAILED,
            Self::Loop => &LOOP,
        }
    }
}

/// Description of a kind: how to find it, and its messages.
struct KindSpec {
    /// Finds all occurrences, in all runs.
    find: for<'a> fn(&GateInput<'a>) -> Vec<Occurrence<'a>>,
    /// Whether distinct names are counted instead of occurrences.
    by_name: bool,
    /// Message for one and for several.
    words: [&'static str; 2],
    /// Advice.
    hint: Hint,
}

/// Advice for a failed gate.
enum Hint {
    /// Fixed text.
    Words(&'static str),
    /// How to allow the denied tools.
    Allow,
}

/// One occurrence of a kind.
struct Occurrence<'a> {
    /// Session and source determine the run.
    session: Option<SessionIndex>,
    source: Option<SourceId>,
    at: Option<Location>,
    /// Which tool, model, server and so on.
    name: Option<&'a str>,
    /// Id of the call, or the reason why a line is invalid.
    id: Option<&'a str>,
    count: u64,
}

impl<'a> Occurrence<'a> {
    const ONE: Self = Self { session: None, source: None, at: None, name: None, id: None, count: 1 };

    fn of(context: &Context, name: Option<&'a str>, id: Option<&'a str>) -> Self {
        let source = context.location.map(|at| at.source);
        Self { session: context.session, source, at: context.location, name, id, ..Self::ONE }
    }
}

/// Occurrences in one run.
#[derive(Clone, Default)]
pub(super) struct Tally<'a> {
    pub(super) count: u64,
    pub(super) at: Option<Location>,
    /// Name and id of the first occurrence.
    first: (Option<&'a str>, Option<&'a str>),
    names: BTreeMap<&'a str, u64>,
}

impl<'a> Tally<'a> {
    fn add(&mut self, item: &Occurrence<'a>) {
        // One record may contain several, and rows with the same location have no defined order.
        let rank = |at: Option<Location>, (name, id): (Option<&'a str>, Option<&'a str>)| {
            (at.is_none(), at, id, name)
        };
        let first = (item.name, item.id);
        if self.count == 0 || rank(item.at, first) < rank(self.at, self.first) {
            (self.at, self.first) = (item.at, first);
        }
        self.count += item.count;
        if let Some(name) = item.name {
            *self.names.entry(name).or_default() += item.count;
        }
    }

    /// `: Bash, Write; first toolu_01 (Write)`.
    pub(super) fn named(&self, mut line: Line) -> Line {
        // Most frequent names first.
        let mut names: Vec<(&str, u64)> = self.names.iter().map(|(&name, &count)| (name, count)).collect();
        names.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        for (at, (name, _)) in names.iter().take(EXAMPLES).enumerate() {
            line = line.word(if at == 0 { ": " } else { ", " }).value(*name);
        }
        if let Some(more @ 1..) = names.len().checked_sub(EXAMPLES) {
            line = line.word(" and ").value(more as u64).word(" more");
        }
        match self.first {
            (Some(name), Some(id)) => line.word("; first ").value(id).word(" (").value(name).word(")"),
            (None, Some(id)) => line.word("; first: ").value(id),
            (_, None) => line,
        }
    }
}

/// Counts a kind in each run.
pub(super) fn tallies<'a>(input: &GateInput<'a>, kind: Kind) -> Vec<Tally<'a>> {
    let spec = kind.spec();
    let mut tallies: Vec<Tally<'a>> = vec![Tally::default(); input.runs.len()];
    for item in (spec.find)(input) {
        let run = input.runs.of(item.session, item.source);
        if let Some(tally) = run.and_then(|run| tallies.get_mut(run)) {
            tally.add(&item);
        }
    }
    if spec.by_name {
        tallies.iter_mut().for_each(|tally| tally.count = tally.names.len() as u64);
    }
    tallies
}

/// Evaluates each run by its number of occurrences.
pub(super) fn counted(input: &GateInput<'_>, kind: Kind, most: u64) -> Vec<Finding> {
    let spec = kind.spec();
    let found = |tally: &Tally<'_>| {
        let held = tally.count <= most;
        let tone = if held { Tone::Good } else { Tone::Bad };
        let [one, many] = spec.words;
        Finding {
            held,
            figure: Value::Count(tally.count),
            at: tally.at,
            what: tally.named(Line::new(tone).count(tally.count, one, many)),
            hint: Some(match spec.hint {
                Hint::Words(words) => Line::new(Tone::Plain).words(words),
                Hint::Allow => allow(tally),
            }),
        }
    };
    tallies(input, kind).iter().map(found).collect()
}

/// Advice on how to allow the denied tools. Names with unusual characters are left out of the command.
fn allow(tally: &Tally<'_>) -> Line {
    let is_plain =
        |name: &&str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:".contains(letter));
    let tools: Vec<&str> = tally.names.keys().copied().filter(is_plain).collect();
    let line = Line::new(Tone::Plain).word("to allow it, add --allowedTools ");
    let line =
        if tools.is_empty() { line.word("TOOL") } else { line.word("\"").value(tools.join(",")).word("\"") };
    line.word(
        " to the claude command, add a rule to permissions.allow in settings.json, or choose another \
         --permission-mode; deny rules and hooks take precedence",
    )
}

const DENIAL: KindSpec = KindSpec {
    find: |input| {
        let ledger = input.view.ledger;
        let id = |call: Option<CallIndex>| call.and_then(|call| ledger.calls[call].id.as_deref());
        ledger.denials.iter().map(|one| Occurrence::of(&one.context, Some(&one.tool), id(one.call))).collect()
    },
    by_name: false,
    words: [" call was denied", " calls were denied"],
    hint: Hint::Allow,
};

const ERROR: KindSpec = KindSpec {
    find: |input| {
        let ledger = input.view.ledger;
        let turns = ledger.turns.iter().filter(|turn| turn.counted && !turn.ok);
        let turns = turns.map(|turn| Occurrence::of(&turn.context, Some(failure(turn)), None));
        let api_failures = ledger.api_failures.iter().filter(|failure| !failure.retried);
        turns
            .chain(api_failures.map(|failure| Occurrence::of(&failure.context, Some(&failure.kind), None)))
            .collect()
    },
    by_name: false,
    words: [" prompt or API request failed", " prompts and API requests failed"],
    hint: Hint::Words("list them with their locations: {errors}"),
};

fn calls<'a>(input: &GateInput<'a>, end: End) -> Vec<Occurrence<'a>> {
    let calls = input.view.ledger.calls.iter().filter(|call: &&Call| call.end == end);
    calls.map(|call| Occurrence::of(&call.context, Some(&call.tool), call.id.as_deref())).collect()
}

const TOOL_ERROR: KindSpec = KindSpec {
    find: |input| calls(input, End::Error),
    by_name: false,
    words: [" call failed", " calls failed"],
    hint: Hint::Words("list them with their locations: {calls}"),
};

const NO_RESULT: KindSpec = KindSpec {
    find: no_result,
    by_name: false,
    words: [" run has no result", " runs have no result"],
    hint: Hint::Words("it was killed, is still running, or its log is truncated or empty"),
};

/// Printed sessions without a result, located at their last response or call, and sources without records.
fn no_result<'a>(input: &GateInput<'a>) -> Vec<Occurrence<'a>> {
    let (ledger, names) = (input.view.ledger, input.view.names);
    let mut last: Vec<Option<Location>> = vec![None; ledger.sessions.len()];
    let contexts =
        ledger.responses.iter().map(|one| &one.context).chain(ledger.calls.iter().map(|one| &one.context));
    for context in contexts {
        if let Some(session) = context.session {
            let last = &mut last[session.get()];
            *last = (*last).max(context.location);
        }
    }
    let begins = |source| Location { source, line: 1, offset: 0 };
    let open = |session: &Session| session.lacks_result();
    let open =
        SessionIndex::each(&ledger.sessions).filter(|(_, session)| open(session)).map(|(at, session)| {
            Occurrence {
                session: Some(at),
                at: last[at.get()].or(Some(begins(session.source))),
                name: session.id.as_deref(),
                ..Occurrence::ONE
            }
        });
    let empty = ledger.sources.iter().filter(|source| source.sessions.is_empty()).map(|source| Occurrence {
        source: Some(source.id),
        at: Some(begins(source.id)),
        name: Some(names.get(source.id)),
        ..Occurrence::ONE
    });
    open.chain(empty).collect()
}

const OPEN_CALL: KindSpec = KindSpec {
    find: |input| calls(input, End::Open),
    by_name: false,
    words: [" call has no result", " calls have no result"],
    hint: Hint::Words("the run or its log ended before the tool returned a result"),
};

const ORPHAN: KindSpec = KindSpec {
    find: |input| {
        input.view.ledger.orphans.iter().map(|context| Occurrence::of(context, None, None)).collect()
    },
    by_name: false,
    words: [" tool result has no call", " tool results have no call"],
    hint: Hint::Words("the beginning of the log is missing, or the call is in a file that was not read"),
};

const INVALID: KindSpec = KindSpec {
    find: invalid,
    by_name: false,
    words: [" line is not a record", " lines are not records"],
    hint: Hint::Words(
        "keep other output out of the log: standard error, and the output of hooks and wrappers",
    ),
};

/// Lines and values that are not records. Filters do not apply to them.
fn invalid<'a>(input: &GateInput<'a>) -> Vec<Occurrence<'a>> {
    let ledger = input.view.ledger;
    let first = |source: Option<SourceId>| {
        let mut places = ledger.input.invalid_places.iter();
        places.find(|place| source.is_none_or(|source| source == place.source))
    };
    let item = |source: SourceId, count: u64, only: Option<SourceId>| {
        let place = first(only);
        Occurrence {
            source: Some(source),
            at: place.map(|place| Location { source: place.source, line: place.line, offset: place.offset }),
            id: place.map(|place| &*place.reason),
            count,
            ..Occurrence::ONE
        }
    };
    if input.runs.is_whole() {
        let any = ledger.input.invalid > 0;
        return any.then(|| item(SourceId(0), ledger.input.invalid, None)).into_iter().collect();
    }
    let broken = ledger.sources.iter().filter(|source| source.invalid > 0);
    broken.map(|source| item(source.id, source.invalid, Some(source.id))).collect()
}

const TRUNCATED: KindSpec = KindSpec {
    find: |input| {
        let (ledger, names) = (input.view.ledger, input.view.names);
        let torn =
            ledger.sources.iter().filter(|source| source.truncated.is_some()).map(|source| Occurrence {
                source: Some(source.id),
                at: source.truncated,
                name: Some(names.get(source.id)),
                ..Occurrence::ONE
            });
        torn.collect()
    },
    by_name: false,
    words: [" source ends inside a record", " sources end inside a record"],
    hint: Hint::Words("the writer was stopped, or is still writing"),
};

const UNKNOWN: KindSpec = KindSpec {
    find: |input| {
        let mut items = Vec::new();
        for record in &input.view.ledger.records {
            let kind = (!record.known).then_some(&*record.kind);
            let blocks = record.blocks.iter().filter(|(_, known, _)| !known).map(|(name, ..)| &**name);
            items.extend(
                kind.into_iter().chain(blocks).map(|name| Occurrence::of(&record.context, Some(name), None)),
            );
        }
        items
    },
    by_name: true,
    words: [" unknown kind or block", " unknown kinds and blocks"],
    hint: Hint::Words("list them with their locations: {kinds}; a newer ccstat may know them"),
};

const UNPRICED: KindSpec = KindSpec {
    find: |input| {
        let ledger = input.view.ledger;
        let lacks = |one: &&Response| {
            ledger.session(&one.context).is_some_and(|session| session.unpriced.contains(&one.model))
        };
        let told = ledger.responses.iter().filter(lacks);
        told.map(|one| Occurrence::of(&one.context, Some(&one.model), one.id.as_deref())).collect()
    },
    by_name: true,
    words: [" model has no price", " models have no price"],
    hint: Hint::Words("add a price with {a price file}"),
};

const INCOMPLETE: KindSpec = KindSpec {
    find: |input| {
        let ledger = input.view.ledger;
        let first = |counts: fn(&Response) -> bool| {
            let mut first: Vec<Option<Location>> = vec![None; ledger.sessions.len()];
            let all = ledger.responses.iter().rev().filter(|one| counts(one));
            for one in all {
                if let Some(session) = one.context.session {
                    first[session.get()] = one.context.location;
                }
            }
            first
        };
        let (unbilled, unfinished) = (first(|one| one.unbilled.is_some()), first(|one| !one.is_final));
        let open = SessionIndex::each(&ledger.sessions).filter(|(_, session)| !session.complete);
        open.map(|(at, session)| Occurrence {
            session: Some(at),
            at: unbilled[at.get()].or(unfinished[at.get()]),
            name: session.id.as_deref(),
            ..Occurrence::ONE
        })
        .collect()
    },
    by_name: false,
    words: [" session has an incomplete cost", " sessions have incomplete costs"],
    hint: Hint::Words(
        "let the run end with a result, read the saved session too, or add --include-partial-messages to the claude command",
    ),
};

const MCP_FAILED: KindSpec = KindSpec {
    find: |input| {
        let servers = input.view.ledger.servers.iter();
        let failed = servers.filter(|server| server.status.as_deref() == Some("failed"));
        failed.map(|server| Occurrence::of(&server.context, Some(&server.name), None)).collect()
    },
    by_name: false,
    words: [" MCP server failed", " MCP servers failed"],
    hint: Hint::Words("find out why with claude mcp list, or run the claude command with --debug"),
};

fn looped<'a>(input: &GateInput<'a>) -> Vec<Occurrence<'a>> {
    let item = |one: Loop<'a>| Occurrence {
        session: one.session,
        source: one.at.map(|at| at.source),
        at: one.at,
        name: Some(one.tool),
        ..Occurrence::ONE
    };
    loops(input.view).into_iter().map(item).collect()
}

const LOOP: KindSpec = KindSpec {
    find: looped,
    by_name: false,
    words: [
        " loop: the same input was denied or failed repeatedly",
        " loops: the same input was denied or failed repeatedly",
    ],
    hint: Hint::Words("list them: {denials}; {errors}"),
};
