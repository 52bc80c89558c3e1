//! The list of prompts, each with the work that it started.

use std::collections::HashMap;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Text, Tone, Value, View,
    column::{columns, shown_as},
    heads,
    sessions::cost_notes,
    sum::{
        HasCalls, HasContext, HasCost, RowContext, Sum, call_columns, cost_columns, has, place_columns, text,
    },
};
use crate::{
    facts::{
        Detail, ToolCount,
        ledger::{Call, Context, Exchange, ExchangeEnd, ExchangeIndex, Exchanges, SessionIndex},
    },
    measure::{Millis, Time, Tokens, Usd, add},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::CALLS.and(Detail::RESPONSES).and(Detail::AGENTS).and(Detail::EVENTS),
    content: Detail::EXCERPTS,
    make: Some(prompts),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "List prompts: what was asked, cost and outcome",
        details: "Newest first. A row has everything from a prompt to the next one in its session, with the subagents that were \
            started there. A printed run has no record of its prompts, so it has a row per turn, without a text. Work that \
            belongs to no prompt is one row per session, so rows always add up to the total.",
        examples: &[
            ("What was asked today, and what came of it", "ccstat prompts --since today"),
            (
                "The most expensive prompts of a project",
                "ccstat prompts --project my-app --sort cost_usd --limit 10",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "prompts",
        "Prompts, one per row: time, steps, calls, cost and outcome of the work that they started.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row {
    exchange: Option<Exchange>,
    /// First line of the prompt.
    prompt: Value,
    /// Time of the first row, if there is no exchange.
    first: Option<Time>,
    turns: u64,
    wall: Option<Millis>,
    calls: ToolCount,
    sum: Sum,
    context: RowContext,
}

has! { HasCost for Row: sum -> Sum }

has! { HasCalls for Row: calls -> ToolCount }

has! { HasContext for Row: context -> RowContext }

impl Row {
    /// Whether the row is a prompt that was not filtered out, or has any activity.
    fn is_something(&self) -> bool {
        let Self { exchange: _, prompt: _, first: _, turns, wall, calls, sum, context: _ } = self;
        self.prompts() + turns + calls.calls + sum.responses > 0
            || wall.is_some()
            || sum.tokens != Tokens::default()
            || sum.cost.is_some_and(|cost| cost != Usd::ZERO)
    }

    fn prompts(&self) -> u64 {
        self.exchange.as_ref().map_or(0, |exchange| exchange.prompt.is_some().into())
    }

    fn asked(&self) -> Option<Time> {
        self.exchange.as_ref().and_then(|exchange| exchange.started).or(self.first)
    }

    /// The logged wall time, else the time from the prompt to the last row.
    fn took(&self) -> Option<Millis> {
        let Exchange { started, ended, .. } = self.exchange.as_ref()?;
        self.wall.or_else(|| started.zip(*ended).map(|(from, to)| to.since(from)))
    }
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time asked "Asked" "Time of the prompt; of the first step if the log has no record of the prompt." => row.asked();
        text prompt "Prompt" [content] "First line of the prompt." => &row.prompt;
        text end "End"
            "How it ended: ok, error, denied (a call was denied), interrupted, open (no end in the log: killed or running)."
            => row.exchange.as_ref().and_then(|exchange| exchange.end).map(ExchangeEnd::name);
        millis took_ms "Time" [nullable, no_sum]
            "Wall time if the log has it, else the time from the prompt to the last step."
            => row.took();
        ..shown_as(Shown::Wide, &["input", "output", "cache_read"], cost_columns_as_steps());
        ..call_columns();
        text session "Session" "Session id." => &row.context.session;
        count number "No." [nullable, no_sum, data] "Number of the prompt or turn in its session, starting at 1."
            => row.exchange.as_ref().map(|exchange| exchange.number);
        text project "Project" [wide] "Working directory of the session." => &row.context.project;
        count prompts "Prompts" [data] "1 for a prompt that a person typed, 0 for other rows." => row.prompts();
        count turns "Turns" [data] "Turns with a result." => row.turns;
        millis wall_ms "Wall" [nullable, data] "Sum of the durations of its turns, as logged." => row.wall;
        text place "Location" [screen] "Location of the prompt, or of the result of the turn."
            => &row.context.place;
        ..place_columns();
    }
}

/// Columns for tokens and cost. On screen, a response is a step.
fn cost_columns_as_steps() -> Vec<Column<Row>> {
    let mut columns = cost_columns::<Row>();
    for column in columns.iter_mut().filter(|column| column.head.key == "responses") {
        column.head.head = "Steps";
        column.head.shown = Shown::Always;
    }
    columns
}

/// The prompt or turn that a row of the ledger belongs to, else its session.
type Key = Result<ExchangeIndex, Option<SessionIndex>>;

/// One row per prompt, newest first.
pub fn prompts(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    let exchanges = Exchanges::of(ledger);
    let key = |context: &Context| -> Key { exchanges.find(context).ok_or(context.session) };
    let mut rows: HashMap<Key, Row> = HashMap::new();
    for (at, exchange) in ExchangeIndex::each(&ledger.exchanges) {
        rows.insert(Ok(at), Row { exchange: Some(exchange.clone()), ..Row::default() });
    }
    let mut calls: HashMap<Key, Vec<&Call>> = HashMap::new();
    ledger.calls.iter().for_each(|call| calls.entry(key(&call.context)).or_default().push(call));
    for (key, calls) in calls {
        rows.entry(key).or_default().calls = ToolCount::of(calls.into_iter());
    }
    ledger.charges.iter().for_each(|charge| rows.entry(key(&charge.context)).or_default().sum.add(charge));
    // A filter for models may keep a response without a charge.
    rows.values_mut().for_each(|row| row.sum.responses = 0);
    for response in &ledger.responses {
        let row = rows.entry(key(&response.context)).or_default();
        row.sum.responses += 1;
        row.first = row.first.into_iter().chain(response.context.time).min();
    }
    for turn in &ledger.turns {
        let row = rows.entry(key(&turn.context)).or_default();
        row.turns += u64::from(turn.counted);
        add(&mut row.wall, turn.wall);
    }
    for turn in &ledger.interactive_turns {
        add(&mut rows.entry(key(&turn.context)).or_default().wall, Some(turn.wall));
    }
    let mut rows: Vec<(Key, Row)> = rows.into_iter().filter(|(_, row)| row.is_something()).collect();
    rows.sort_by_key(|(key, row)| (row.asked().is_none(), std::cmp::Reverse((row.asked(), *key))));
    let rows: Vec<Row> = rows.into_iter().map(|(key, row)| finished(view, key, row)).collect();
    let columns = columns();
    let mut notes = left_out_texts(&rows, ledger.has_content).into_iter().collect::<Vec<Line>>();
    notes.extend(cost_notes(ledger));
    let table = Table::of("Prompts", &columns, &rows).with_sums().on_screen(30);
    Report::of(SPEC.name, table, notes)
}

/// Adds text, session and location.
fn finished(view: &View<'_>, key: Key, row: Row) -> Row {
    let exchange = row.exchange.as_ref();
    let session = key.map_or_else(|session| session, |_| exchange.and_then(|exchange| exchange.session));
    let location = exchange.and_then(|exchange| exchange.location);
    let context = Context { session, location, ..Context::default() };
    let prompt = exchange.and_then(|exchange| exchange.prompt).map(|at| &view.ledger.prompts[at]);
    let prompt = text(prompt.and_then(|prompt| prompt.text.as_ref()));
    Row { prompt, context: RowContext::of(view, &context), ..row }
}

/// A note if a filter left out prompts but not the work that they started.
fn left_out_texts(rows: &[Row], has_content: bool) -> Option<Line> {
    let left_out = |row: &&Row| row.prompts() == 0 && row.exchange.as_ref().is_some_and(|one| one.begins);
    let count = rows.iter().filter(left_out).count() as u64;
    (has_content && count > 0).then(|| {
        Line::new(Tone::Plain)
            .count(count, " prompt is", " prompts are")
            .word(" left out by the filters, but not the work that followed")
    })
}

/// Ids of prompts and turns: the session, or the log if it has no id, and the number in it.
pub(super) struct PromptIds<'a> {
    exchanges: Exchanges<'a>,
    /// The id of each exchange.
    ids: Vec<Text>,
    /// The texts of prompts, as far as they are kept.
    texts: HashMap<Text, Value>,
}

impl<'a> PromptIds<'a> {
    pub(super) fn of(view: &View<'a>) -> Self {
        let ledger = view.ledger;
        let id = |exchange: &Exchange| {
            let session = exchange.session.map(|session| &ledger.sessions[session]);
            let name = match session.map(|session| (session.id.as_deref(), session.source)) {
                Some((Some(id), _)) => id,
                Some((None, source)) => view.names.get(source),
                None => "",
            };
            Text::from(format!("{name}#{}", exchange.number))
        };
        let ids: Vec<Text> = ledger.exchanges.iter().map(id).collect();
        let text = |exchange: &Exchange| ledger.prompts[exchange.prompt?].text.as_ref();
        let texts = ledger.exchanges.iter().zip(&ids);
        let texts = texts.filter_map(|(exchange, id)| Some((id.clone(), Value::text(text(exchange)?))));
        Self { exchanges: Exchanges::of(ledger), texts: texts.collect(), ids }
    }

    /// The id of the prompt that a row belongs to.
    pub(super) fn find(&self, context: &Context) -> Option<Text> {
        self.exchanges.find(context).map(|at| self.ids[at.get()].clone())
    }

    /// The text of a prompt, by its id.
    pub(super) fn text(&self, id: &Text) -> Value {
        self.texts.get(id).cloned().unwrap_or_default()
    }
}
