//! How the cost of each session came about, line by line.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Unit, Value, View,
    heads,
    sessions::cost_notes,
    sum::{Stands, place_columns, text},
};
use crate::{
    facts::ledger::{At, Figure, Session, Step, Told},
    measure::{LAST_SURCHARGE_VERSION, Usd},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(explain),
    sample: &["explain", "cost"],
    command: Some(CommandSpec {
        group: CommandGroup::Run,
        about: "Explain how the cost of each session came about, line by line",
        details: "Says which figure counts (what the results add up to, the saved total, or tokens times prices) and why, and \
            how it is put together. The lines that count add up to the session's cost. Filters choose sessions; those \
            that are chosen are explained whole.",
        examples: &[
            ("Where the cost of a run comes from", "ccstat explain cost run.jsonl"),
            (
                "The same of one saved session, for a spreadsheet",
                "ccstat explain cost ~/.claude/projects --session 0a1b2c3d --format csv",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "explain",
        "How the cost of each session came about, line by line: the lines that count add up to it.",
        || heads(&columns()),
    )
};

struct Row<'a> {
    step: &'a Step,
    session: &'a Session,
    /// Its beginning, where there are several.
    short: Value,
    source: Value,
}

impl Stands for Row<'_> {
    fn source(&self) -> &Value {
        &self.source
    }

    fn at(&self) -> Option<At> {
        self.step.at
    }
}

/// The name of a step, for programs.
fn name(told: &Told) -> &'static str {
    match told {
        Told::Figure(_) => "figure",
        Told::Result => "result",
        Told::Before => "total before",
        Told::Difference { .. } => "difference",
        Told::Saved => "saved total",
        Told::Copied(_) => "copied from origin",
        Told::Model => "model",
        Told::Price(..) => "price",
        Told::Surcharge { .. } => "long-prompt surcharge",
        Told::NoModel => "no model",
        Told::NoResponse => "no response",
        Told::Unpriced(_) => "no price",
        Told::Unfinished(_) => "not final",
        Told::Unpaid => "not paid",
        Told::Computed => "by tokens",
        Told::Total => "total",
    }
}

/// What a step says, short enough for a screen.
fn what(step: &Step) -> String {
    let model = step.model.as_deref().unwrap_or("of no model");
    let responses = |count: u64| if count == 1 { "response" } else { "responses" };
    match &step.told {
        Told::Figure(figure) => because(*figure).to_owned(),
        Told::Result => "total so far at the end of a turn".to_owned(),
        Told::Before => "less the total before".to_owned(),
        Told::Difference { said: true } => "this turn added, as it says itself".to_owned(),
        Told::Difference { said: false } => "this turn added".to_owned(),
        Told::Saved => "saved with the session".to_owned(),
        Told::Copied(count) => format!("copied by the fork: {count} {}", responses(*count)),
        Told::Price(tokens, Some(million)) => format!("{model}: {tokens} at ${million}/M"),
        Told::Price(searches, None) => format!("{model}: {searches}"),
        Told::Surcharge { responses: count, above } => {
            format!("prompts > {above} up to CLI {LAST_SURCHARGE_VERSION}: {count} {}", responses(*count))
        }
        Told::Model if step.counts => format!("{model}, together"),
        Told::Model => format!("of it {model}"),
        Told::NoModel => "of it for no model that is named".to_owned(),
        Told::NoResponse => format!("of it for no response: {model}"),
        Told::Unpriced(count) => format!("no price: {count} {} {model}", responses(*count)),
        Told::Unfinished(count) => format!("no final counts: {count} {} {model}", responses(*count)),
        Told::Unpaid => "missing: responses after the last result".to_owned(),
        Told::Computed => "by the price table, for comparison".to_owned(),
        Told::Total => "cost of the session".to_owned(),
    }
}

/// The same below what it belongs to.
fn label(step: &Step) -> String {
    let is_head = matches!(step.told, Told::Figure(_) | Told::Total);
    if is_head { what(step) } else { format!("  {}", what(step)) }
}

/// Which figure counts, and why.
fn because(figure: Figure) -> &'static str {
    match figure {
        Figure::Results => "reported: its turns, by their results",
        Figure::ResultsOverSaved => "reported: its turns, no less than was saved",
        Figure::Saved => "reported: the saved total, without results",
        Figure::SavedOverResults => "reported: the saved total, above its turns",
        Figure::Computed => "computed from tokens: none was reported",
        Figure::Nothing => "unknown: none reported, none computable",
    }
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    let mut columns: Vec<Column<Row<'a>>> = vec![
        Column::new(Unit::Text, "session", "Session", "Id of the session.", |row: &Row<'_>| {
            text(row.session.id.as_deref())
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "short", "Session", "Beginning of its id.", |row: &Row<'_>| row.short.clone())
            .shown(Shown::Screen),
        Column::new(
            Unit::Text,
            "step",
            "Step",
            "Kind of the line: figure, result, total before, difference, saved total, copied from origin, price, long-prompt surcharge, model, total and others.",
            |row: &Row<'_>| name(&row.step.told).into(),
        )
        .known()
        .shown(Shown::Data),
        Column::new(Unit::Text, "what", "What", "What the line says.", |row: &Row<'_>| what(row.step).into())
            .known()
            .shown(Shown::Data),
        Column::new(Unit::Text, "label", "How the cost came about", "The same on a screen.", |row: &Row<'_>| {
            label(row.step).into()
        })
        .shown(Shown::Screen),
        Column::new(Unit::Text, "model", "Model", "The model that it is about.", |row: &Row<'_>| {
            text(row.step.model.as_deref())
        })
        .shown(Shown::Data),
    ];
    columns.extend(tokens());
    columns.extend(amounts());
    columns.extend(place_columns());
    for place in columns.iter_mut().filter(|column| ["source", "line"].contains(&column.head.key)) {
        place.head.shown = Shown::Roomy;
    }
    columns
}

/// How many tokens, and of which type.
fn tokens<'a>() -> [Column<Row<'a>>; 6] {
    macro_rules! column {
        ($key:ident, $head:literal, $doc:literal) => {
            Column::new(Unit::Count, stringify!($key), $head, $doc, |row: &Row<'_>| {
                row.step.tokens.map(|tokens| tokens.$key).into()
            })
            .alone()
            .maybe()
            .shown(Shown::Data)
        };
    }
    [
        Column::new(Unit::Count, "tokens", "Tokens", "Tokens of all types.", |row: &Row<'_>| {
            let all = row.step.tokens.map(|tokens| tokens.prompt().saturating_add(tokens.output));
            all.filter(|&all| all > 0).into()
        })
        .alone()
        .maybe(),
        column!(input, "Input", "Tokens that came from no cache."),
        column!(output, "Output", "Tokens that the model wrote."),
        column!(cache_read, "Cache read", "Tokens read from the cache."),
        column!(cache_write_5m, "Write 5m", "Tokens written to the cache for five minutes."),
        column!(cache_write_1h, "Write 1h", "Tokens written to the cache for an hour."),
    ]
}

fn amounts<'a>() -> [Column<Row<'a>>; 3] {
    [
        Column::new(
            Unit::Usd,
            "per_million_usd",
            "Per 1M",
            "Price of a million tokens of this type.",
            |row: &Row<'_>| match &row.step.told {
                Told::Price(_, million) => (*million).into(),
                _ => Value::Missing,
            },
        )
        .alone()
        .shown(Shown::Data),
        Column::new(Unit::Usd, "amount_usd", "Amount", "How much.", |row: &Row<'_>| row.step.amount.into())
            .alone(),
        Column::new(
            Unit::Flag,
            "counts",
            "Counts",
            "Whether the line adds to the session's cost; the others say where it comes from.",
            |row: &Row<'_>| Value::Flag(row.step.counts),
        ),
    ]
}

/// The steps of every session, in the order of their beginnings.
pub fn explain(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    let told = ledger.sessions.iter().filter(|session| !session.steps.is_empty());
    let several = told.clone().count() > 1;
    let mut rows = Vec::new();
    for session in told.clone() {
        let short = session.id.as_deref().filter(|_| several);
        let short: Value = short.map(|id| id.chars().take(8).collect::<String>()).into();
        rows.extend(session.steps.iter().map(|step| Row {
            step,
            session,
            short: short.clone(),
            source: view.source(step.at),
        }));
    }
    let table = Table::of("Cost", &columns(), &rows).on_screen(200);
    let mut notes = Vec::new();
    if several {
        let steps = told.clone().flat_map(|session| &session.steps).filter(|step| step.counts);
        let total: Usd = steps.filter_map(|step| step.amount).sum();
        notes.push(
            Line::new(Tone::Plain).word("the lines that count come to ").value(total).word(" in ").count(
                told.count() as u64,
                " session",
                " sessions",
            ),
        );
    }
    notes.extend(cost_notes(ledger));
    Report::of(SPEC.name, table, notes)
}
