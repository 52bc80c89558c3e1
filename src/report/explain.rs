//! Explains the cost of each session, step by step.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Value, View,
    column::{columns, shown_as},
    heads,
    sessions::cost_notes,
    sum::{HasLocation, has, place_columns},
};
use crate::{
    facts::{
        Detail,
        ledger::{Figure, Session, Step, StepKind},
    },
    measure::{LAST_SURCHARGE_VERSION, Usd},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(explain),
    keeps: Detail::ROWS.and(Detail::COST_STEPS),
    sample: &["explain", "cost"],
    command: Some(CommandSpec {
        group: CommandGroup::Run,
        about: "Explain how the cost of each session is computed, step by step",
        details: "Says which figure is used (the sum of the results, the saved total, or tokens times prices) and why, and how it \
            is computed. The lines that count add up to the session's cost. Filters select sessions; selected sessions \
            are explained in full.",
        examples: &[
            ("Where the cost of a run comes from", "ccstat explain cost run.jsonl"),
            (
                "The same for one saved session, for a spreadsheet",
                "ccstat explain cost ~/.claude/projects --session 0a1b2c3d --format csv",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "explain",
        "How the cost of each session is computed, step by step; the lines that count add up to it.",
        || heads(&columns()),
    )
};

struct Row<'a> {
    step: &'a Step,
    session: &'a Session,
    /// Beginning of the session id, if there are several sessions.
    short: Value,
    source: Value,
}

impl Row<'_> {
    fn all_tokens(&self) -> Option<u64> {
        let all = self.step.tokens.map(|tokens| tokens.prompt().saturating_add(tokens.output));
        all.filter(|&all| all > 0)
    }
}

has! { HasLocation for Row<'_>: source, step.location }

/// Name of a step, for programs.
fn name(kind: &StepKind) -> &'static str {
    match kind {
        StepKind::Figure(_) => "figure",
        StepKind::Result => "result",
        StepKind::Before => "total before",
        StepKind::Difference { .. } => "difference",
        StepKind::Saved => "saved total",
        StepKind::Copied(_) => "copied from origin",
        StepKind::Model => "model",
        StepKind::Price(..) => "price",
        StepKind::Surcharge { .. } => "long-prompt surcharge",
        StepKind::NoModel => "no model",
        StepKind::NoResponse => "no response",
        StepKind::Unpriced(_) => "no price",
        StepKind::Unfinished(_) => "not final",
        StepKind::Unpaid => "not paid",
        StepKind::Computed => "by tokens",
        StepKind::Total => "total",
    }
}

/// Description of a step, short enough for a screen.
fn what(step: &Step) -> String {
    let model = step.model.as_deref().unwrap_or("of no model");
    let responses = |count: u64| if count == 1 { "response" } else { "responses" };
    match &step.kind {
        StepKind::Figure(figure) => because(*figure).to_owned(),
        StepKind::Result => "total so far at the end of a turn".to_owned(),
        StepKind::Before => "less the total before".to_owned(),
        StepKind::Difference { said: true } => "this turn added, as it says itself".to_owned(),
        StepKind::Difference { said: false } => "this turn added".to_owned(),
        StepKind::Saved => "saved with the session".to_owned(),
        StepKind::Copied(count) => format!("copied by the fork: {count} {}", responses(*count)),
        StepKind::Price(tokens, Some(million)) => format!("{model}: {tokens} at ${million}/M"),
        StepKind::Price(searches, None) => format!("{model}: {searches}"),
        StepKind::Surcharge { responses: count, above } => {
            format!("prompts > {above} up to CLI {LAST_SURCHARGE_VERSION}: {count} {}", responses(*count))
        }
        StepKind::Model if step.counts => format!("{model}, together"),
        StepKind::Model => format!("of it {model}"),
        StepKind::NoModel => "of it for no model that is named".to_owned(),
        StepKind::NoResponse => format!("of it for no response: {model}"),
        StepKind::Unpriced(count) => format!("no price: {count} {} {model}", responses(*count)),
        StepKind::Unfinished(count) => format!("no final counts: {count} {} {model}", responses(*count)),
        StepKind::Unpaid => "missing: responses after the last result".to_owned(),
        StepKind::Computed => "by the price table, for comparison".to_owned(),
        StepKind::Total => "cost of the session".to_owned(),
    }
}

/// The description, indented below the figure it belongs to.
fn label(step: &Step) -> String {
    let is_head = matches!(step.kind, StepKind::Figure(_) | StepKind::Total);
    if is_head { what(step) } else { format!("  {}", what(step)) }
}

/// Which figure is used, and why.
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
    columns! { |row: Row<'a>|
        text session "Session" [data] "Id of the session." => &row.session.id;
        text short "Session" [screen] "Beginning of the session id." => &row.short;
        text step "Step" [required, data] "Kind of step: figure, result, total before, difference, saved total, copied from origin, price, long-prompt surcharge, model, total and others."
            => name(&row.step.kind);
        text what "Description" [required, data] "Description of the step." => what(row.step);
        text label "Step" [screen] "Description of the step, indented." => label(row.step);
        text model "Model" [data] "Model of the step." => &row.step.model;
        count tokens "Tokens" [no_sum, nullable] "Tokens of all types." => row.all_tokens();
        count input "Input" [no_sum, nullable, data] "Input tokens that were not cached." => row.step.tokens.map(|tokens| tokens.input);
        count output "Output" [no_sum, nullable, data] "Output tokens." => row.step.tokens.map(|tokens| tokens.output);
        count cache_read "Cache read" [no_sum, nullable, data] "Tokens read from the cache." => row.step.tokens.map(|tokens| tokens.cache_read);
        count cache_write_5m "Write 5m" [no_sum, nullable, data] "Tokens written to the cache for five minutes." => row.step.tokens.map(|tokens| tokens.cache_write_5m);
        count cache_write_1h "Write 1h" [no_sum, nullable, data] "Tokens written to the cache for an hour." => row.step.tokens.map(|tokens| tokens.cache_write_1h);
        usd per_million_usd "Per 1M" [no_sum, data] "Price per million tokens of this type."
            => match &row.step.kind { StepKind::Price(_, million) => (*million).into(), _ => Value::Missing, };
        usd amount_usd "Amount" [no_sum] "Amount." => row.step.amount;
        flag counts "Counts" "Whether the line adds to the session's cost; other lines show how it is derived."
            => row.step.counts;
        ..shown_as(Shown::Wide, &["source", "line"], place_columns());
    }
}

/// The steps of every session, sorted by start time of the session.
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
            source: view.source(step.location),
        }));
    }
    let table = Table::of("Cost", &columns(), &rows).on_screen(200);
    let mut notes = Vec::new();
    if several {
        let steps = told.clone().flat_map(|session| &session.steps).filter(|step| step.counts);
        let total: Usd = steps.filter_map(|step| step.amount).sum();
        notes.push(
            Line::new(Tone::Plain).word("the lines that count add up to ").value(total).word(" in ").count(
                told.count() as u64,
                " session",
                " sessions",
            ),
        );
    }
    notes.extend(cost_notes(ledger));
    Report::of(SPEC.name, table, notes)
}
