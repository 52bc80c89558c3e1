//! Explains the cost of each session, step by step.

use super::{
    Column, CommandGroup, CommandSpec, Report, ReportSpec, Shown, Table, Value, View,
    column::{columns, shown_as},
    heads,
    sessions::cost_notes,
    short_id,
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

/// Maximum number of rows on screen.
const ON_SCREEN: usize = 200;

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
        StepKind::Result => "total so far, in a result".to_owned(),
        StepKind::Before => "less the total before".to_owned(),
        StepKind::Difference { said: true } => "this prompt added, as the result says".to_owned(),
        StepKind::Difference { said: false } => "this prompt added".to_owned(),
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

/// Position of a step in the calculation of a session's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The heading of a session.
    Heading,
    /// How an amount is derived.
    Derivation,
    /// An amount that adds to the session's cost.
    Amount,
    /// The session's cost.
    Session,
}

impl Level {
    fn of(step: &Step) -> Self {
        match step.kind {
            StepKind::Figure(_) => Self::Heading,
            StepKind::Total => Self::Session,
            _ if step.counts => Self::Amount,
            _ => Self::Derivation,
        }
    }
}

impl Row<'_> {
    /// The amount, if the step is at this level.
    fn amount(&self, level: Level) -> Option<Usd> {
        self.step.amount.filter(|_| Level::of(self.step) == level)
    }

    /// The description, indented by its level. The heading names the session.
    fn label(&self) -> String {
        let what = what(self.step);
        match (Level::of(self.step), &self.short) {
            (Level::Heading, Value::Text(short)) => format!("{}: {what}", &**short),
            (Level::Session, _) if self.step.amount.is_none() => format!("{what}: unknown"),
            (Level::Heading | Level::Session, _) => what,
            (Level::Amount, _) => format!("  {}", without_vendor(&what)),
            (Level::Derivation, _) => format!("    {}", without_vendor(&what)),
        }
    }
}

/// A description without the part of a model's name that all of them share.
fn without_vendor(what: &str) -> String {
    what.replacen("claude-", "", 1)
}

/// Which figure is used, and why.
fn because(figure: Figure) -> &'static str {
    match figure {
        Figure::Results => "reported: the sum of its results",
        Figure::ResultsOverSaved => "reported: its results, no less than was saved",
        Figure::Saved => "reported: the saved total, without results",
        Figure::SavedOverResults => "reported: the saved total, above its results",
        Figure::Computed => "computed, as none was reported",
        Figure::Nothing => "unknown: none reported, none computable",
    }
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        text session "Session" [data] "Id of the session." => &row.session.id;
        text step "Step" [required, data] "Kind of step: figure, result, total before, difference, saved total, copied from origin, price, long-prompt surcharge, model, total and others."
            => name(&row.step.kind);
        text what "Description" [required, data] "Description of the step." => what(row.step);
        text label "Calculation" [screen] "Description of the step, indented." => row.label();
        text model "Model" [data] "Model of the step." => &row.step.model;
        count tokens "Tokens" [no_sum, nullable] "Tokens of all types." => row.all_tokens();
        count input "Input" [no_sum, nullable, data] "Input tokens that were not cached." => row.step.tokens.map(|tokens| tokens.input);
        count output "Output" [no_sum, nullable, data] "Output tokens." => row.step.tokens.map(|tokens| tokens.output);
        count cache_read "Cache read" [no_sum, nullable, data] "Tokens read from the cache." => row.step.tokens.map(|tokens| tokens.cache_read);
        count cache_write_5m "Write 5m" [no_sum, nullable, data] "Tokens written to the cache for five minutes." => row.step.tokens.map(|tokens| tokens.cache_write_5m);
        count cache_write_1h "Write 1h" [no_sum, nullable, data] "Tokens written to the cache for an hour." => row.step.tokens.map(|tokens| tokens.cache_write_1h);
        usd per_million_usd "Per 1M" [no_sum, data] "Price per million tokens of this type."
            => match &row.step.kind { StepKind::Price(_, million) => (*million).into(), _ => Value::Missing, };
        usd amount_usd "Amount" [no_sum, data] "Amount." => row.step.amount;
        usd derived_usd "Derived" [no_sum, screen] "Amount of a line that shows how others are derived." => row.amount(Level::Derivation);
        usd added_usd "Amount" [no_sum, screen] "Amount that adds to the session's cost." => row.amount(Level::Amount);
        usd session_usd "Cost" [screen] "Cost of the session." => row.amount(Level::Session);
        flag counts "Counts" [data] "Whether the line adds to the session's cost; other lines show how it is derived."
            => row.step.counts;
        ..shown_as(Shown::Wide, &["source", "line"], place_columns());
    }
}

/// The steps of every session: the oldest session first for programs, the newest first for people.
pub fn explain(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    let told = ledger.sessions.iter().filter(|session| !session.steps.is_empty());
    let several = told.clone().count() > 1;
    let mut ids: Vec<&str> = ledger.sessions.iter().filter_map(|session| session.id.as_deref()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut rows = Vec::new();
    for session in told.clone() {
        let short = session.id.as_deref().filter(|_| several);
        let short: Value = short.and_then(|id| short_id(id, &ids)).into();
        rows.extend(session.steps.iter().map(|step| Row {
            step,
            session,
            short: short.clone(),
            source: view.source(step.location),
        }));
    }
    let table = Table::of("Cost", &columns(), &rows).on_screen(ON_SCREEN);
    // The steps of a session stay in order.
    let newest_first = rows.chunk_by(|one, two| std::ptr::eq(one.session, two.session)).rev().flatten();
    let screen = Table::of("Cost", &columns(), newest_first).with_sums().on_screen(ON_SCREEN);
    let screen = Table { total: screen.total.filter(|_| several), leaves_blanks: true, ..screen };
    let mut notes = Vec::new();
    notes.extend(cost_notes(ledger));
    Report::of(SPEC.name, table, notes).with_screen_rows(screen)
}
